"""What the paper leaves open: as named options, each with its values, the default and why; and all of it in words.

An option is chosen with `evenflow reproduce has-shaping --option NAME=VALUE`. `netem`, `cache`, `playing` and `htb`
were settled on the calibration's runs alone (`calibration`), before any other run was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.paper import Choices, Deviation, Option, varied_by

TABLES = ("table02", "table07")
"""Over which options are examined: scenario 1, a lone client, and scenario 4."""
WIDE = (*TABLES, "table05", "fig10")
"""Over which those are examined that touch the deviation, the gateway or the player: all scenarios, and so table 9."""

OPTIONS: tuple[Option, ...] = (
    Option(
        "netem",
        ("ack-reorder", "ack-keep", "data-reorder", "data-keep", "split-reorder", "split-keep"),
        "On which side of the gateway the round trip's delay and deviation are (towards the server, towards "
        "the client, or half on each), and whether packets overtake one another there",
        "“Netem delay” in “the gateway machine interface” (section 3.3): one interface; which one is not said. As it "
        "comes, netem lets packets overtake.",
        over=WIDE,
    ),
    Option(
        "deviation",
        ("packet", "run"),
        "Whether each packet's delay is drawn for itself, or one round trip for the whole run",
        "“7 %” of the round trip (section 3.3) does not say of what it is the deviation; netem draws for each packet.",
        over=WIDE,
    ),
    Option(
        "cache",
        ("cold", "warm"),
        "Whether a connection knows the reordering that earlier ones have met (100 segments)",
        "Runs follow one another on the same machines, whose Linux keeps such metrics; nothing is said of "
        "clearing them.",
        over=WIDE,
    ),
    Option(
        "playing",
        ("P2", "P1", "P3"),
        "When the video starts: with a full buffer (P2), with the first chunk (P1), or with the first chunk and asking "
        "periodically after eight (P3)",
        "“A new chunk as soon as a previous chunk has been downloaded, until the playback buffer is filled” (section "
        "1): a buffer that is watched meanwhile never fills at the best level.",
        over=WIDE,
    ),
    Option(
        "resume",
        ("chunk", "start"),
        "How much is in the buffer when a video goes on after a stall: a chunk, or as much as at the start (P2)",
        "Stalls are not mentioned.",
        over=WIDE,
    ),
    Option(
        "level",
        ("asked", "received", "shown"),
        "The level at an instant: of the chunk last asked for, last received, or shown",
        "Convergence after 4 s is possible with the level asked for alone: a chunk lasts 2 s.",
        over=TABLES,
    ),
    Option(
        "estimate",
        ("request", "first-byte", "smoothed"),
        "What the player divides a chunk's size by: the time from its request, or from its first byte; or a harmonic "
        "mean of three chunks",
        "“Dividing the chunk size by its download duration” (section 1).",
        over=WIDE,
    ),
    Option(
        "threshold",
        ("unbounded", "mixture", "27", "69", "120"),
        "The first slow-start threshold, segments; mixture: with NewReno and RWTM 27 in 43 of 100 runs, else 69",
        "A connection of its own begins unbounded. What figures 3, 7 and 9 begin with are metrics of earlier runs.",
        over=(*TABLES, "fig03"),
    ),
    Option(
        "clients",
        ("bitrate", "fixed", "fidelity"),
        "Who is client 1 without shaping: who has the higher mean bitrate, always the same, or who is nearer "
        "to level 4",
        "“The client who gets the highest quality level n° 4 is identified as client 1” (section 4.1).",
        over=TABLES,
    ),
    Option(
        "lost",
        ("received", "sent", "both"),
        "Half of which packets scenario 4 loses: of those that the server receives, that it sends, or of both",
        "“Packet loss of 50% of the received packets at the server” (section 3.2), which carry requests and ACKs.",
        over=TABLES,
    ),
    Option(
        "loss_place",
        ("before", "after"),
        "Whether scenario 4's losses are before or behind the gateway's queue",
        "“Packet loss of 50% of the received packets at the server” (section 3.2).",
        over=TABLES,
    ),
    Option(
        "loss_law",
        ("random", "alternate"),
        "Whether each packet is lost with probability 0.5, or every second one",
        "netem's loss is random.",
        over=TABLES,
    ),
    Option(
        "rate",
        ("raw", "probed", "loss"),
        "What counts as congestion: all falls of the slow-start threshold, those in the log of tcp_probe, or windows "
        "reduced after losses and timeouts alone",
        "“The number of times the ssthresh has been decreased” (section 3.1.4). The log has max(ssthresh, ¾ cwnd), "
        "which falls with the window where there is no congestion.",
        over=TABLES,
    ),
    Option(
        "tuner",
        ("request", "handshake", "timestamps"),
        "How the gateway measures the round trip of a chunk",
        "“Performed only once per chunk” (section 4.1.1), on packets of the client (section 2.2).",
        over=WIDE,
    ),
    Option(
        "acks",
        ("acks", "pure-acks"),
        "Whether the gateway rewrites all segments with an ACK, requests included, or pure ACKs only",
        "Not stated.",
        over=WIDE,
    ),
    Option(
        "rounding",
        ("none", "floor", "nearest", "ceil"),
        "To how many whole segments the window told is rounded, or to none",
        "The window is rate times round trip (section 2.2); rounding is not mentioned. A sender of whole segments "
        "leaves the rest unused.",
        over=WIDE,
    ),
    Option(
        "queue",
        ("67", "66", "69"),
        "Length of SFQ, packets",
        "The bandwidth-delay product is 100 kB: 66.05 frames, or 69.06 full payloads; a queue of 66 would be less.",
        over=WIDE,
    ),
    Option(
        "shaper",
        ("line", "htb", "tbf"),
        "What makes 8 Mbit/s without HTBM: a line of that rate, a class of HTB with a bucket of a packet, or a "
        "token-bucket filter with a bucket of a packet, which is a FIFO",
        "Not described. The two differ by a packet; with a line the record tells the clients' delays apart.",
        over=WIDE,
    ),
    Option(
        "ceil",
        ("rate", "line"),
        "Whether an HTB class may borrow up to the line's rate",
        "Section 2.2 has a threshold that is not given. With 8 Mbit/s a lone client has an off period after "
        "each chunk; Table 8 has 3 in 100.",
        over=WIDE,
    ),
    Option(
        "htb",
        ("shared", "keep", "flush", "quantum", "other"),
        "How HTBM's leaves and classes are: one limit of 67 packets for all leaves; one for each (keep); "
        "classes deleted with what waits when a session comes or goes; turns of a packet; other traffic of 100 "
        "kbit/s in the home",
        "A second client makes CUBIC's congestion rate with HTBM five times as high (Tables 4 and 8), which nothing "
        "stated explains. Of these the shared limit comes nearest to what was calibrated on (has_shaping-cal).",
        over=WIDE,
    ),
    Option(
        "restart",
        ("linux", "paper"),
        "The window after an idle time: Linux 3.2's rule, down to ten segments, or down to one",
        "The paper's algorithm 2 goes down to a segment; the kernel that it names does not.",
        over=WIDE,
    ),
)


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option; the defaults are the first values above."""

    netem: str = "ack-reorder"
    deviation: str = "packet"
    cache: str = "cold"
    playing: str = "P2"
    resume: str = "chunk"
    level: str = "asked"
    estimate: str = "request"
    threshold: str = "unbounded"
    clients: str = "bitrate"
    lost: str = "received"
    loss_place: str = "before"
    loss_law: str = "random"
    rate: str = "raw"
    tuner: str = "request"
    acks: str = "acks"
    rounding: str = "none"
    queue: str = "67"
    shaper: str = "line"
    ceil: str = "rate"
    htb: str = "shared"
    restart: str = "linux"


NOT_VARIED = "Not varied."

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        id="instability",
        subject="The weights of equation 1",
        paper_says="w(i) = K − i, of the i-th second from the end: the last seconds weigh most.",
        we_do=(
            "Both readings of each claim about instability weigh the first seconds most. One jump from level 0 to 4 in "
            "second 4 gives 1.067 % so, which Table 7 has as 1.07 and 1.08, and 0.023 % by the equation as printed."
        ),
        alternatives="As printed: a column of its own in the tables (IS_printed).",
        sensitivity="Equation 1 as printed cannot give the paper's tables.",
    ),
    Deviation(
        id="netem",
        subject="Where the round trip's deviation is",
        paper_says="“Netem delay”, in the gateway's interface, normal, mean a, deviation 0.07 a (section 3.3).",
        we_do="See the option netem; each packet's delay is drawn for itself, cut at four deviations and at zero.",
        alternatives=(
            "The other interface, half on each; a FIFO inside, which keeps the order (option netem); one round trip "
            "for the whole run (option deviation)."
        ),
        sensitivity=varied_by("netem", "deviation", "cache"),
    ),
    Deviation(
        id="playing",
        subject="When playback starts, and ends after a stall",
        paper_says="The buffer holds 15 chunks and is filled first (sections 1 and 3.3).",
        we_do="The video starts with 15 chunks, and goes on after a stall with one.",
        alternatives="Options playing and resume.",
        sensitivity=varied_by("playing", "resume"),
    ),
    Deviation(
        id="loss",
        subject="What scenario 4 loses",
        paper_says="“50% of the received packets at the server over a 1-second period” (section 3.2).",
        we_do="Literal: half of the packets that the server receives. Wider: half of those that it sends.",
        alternatives="Both directions (option lost, has_shaping-x04); behind the queue; every second packet (options).",
        sensitivity=varied_by("lost", "loss_place", "loss_law"),
    ),
    Deviation(
        id="threshold",
        subject="The first slow-start threshold",
        paper_says="“This value may be arbitrarily chosen” (section 4.1.2); figure 3 has 27 and 69.",
        we_do="Unbounded everywhere but in figure 3.",
        alternatives=(
            "27, 69 or 120; NewReno with RWTM at 27 in 43 of 100 runs and 69 else. The share comes from Table "
            "2's cell of NewReno and RWTM, so that it is no reading of the claims about that cell, but a finding."
        ),
        sensitivity=varied_by("threshold"),
    ),
    Deviation(
        id="clients",
        subject="Which client is client 1",
        paper_says="Who gets level 4 (section 4.1).",
        we_do=(
            "With shaping the session that opens first: it starts at 0, the other within 100 ms. Without, who has the "
            "higher mean bitrate in that run."
        ),
        alternatives="Always the same; who is nearer to level 4 (option clients).",
        sensitivity=varied_by("clients"),
    ),
    Deviation(
        id="shaper",
        subject="The line of 8 Mbit/s without HTBM",
        paper_says="“Limited to 8 Mbps” (section 3.3).",
        we_do=(
            "A line with SFQ. Its rate is of frames: packets of 1500 B have 7.93 Mbit/s. In HTB each packet costs its "
            "frame, in cells of 8 bytes, as in Linux 3.2."
        ),
        alternatives="A class of HTB, or TBF (option shaper).",
        sensitivity=varied_by("shaper"),
    ),
    Deviation(
        id="shaping",
        subject="How HTBM and RWTM work in detail",
        paper_says="HTB with a rate for each session; the window is rate times round trip, once a chunk (section 2.2).",
        we_do=(
            "Rates are ceilings; the classes change in place; each session has an SFQ of its own, all within "
            "one limit. The window is lowered in every ACK of the client, requests included, in units of the "
            "window scale."
        ),
        alternatives="Options ceil, htb, queue, tuner, acks and rounding.",
        sensitivity=varied_by("ceil", "htb", "queue", "tuner", "acks", "rounding"),
    ),
    Deviation(
        id="rate",
        subject="What a congestion event is",
        paper_says="Each fall of the slow-start threshold, seen by tcp_probe.",
        we_do="Each fall in the sender itself, whether it was undone or not; what the probe's log shows stands beside.",
        alternatives="The falls of the log; reductions after losses and timeouts alone (option rate).",
        sensitivity=varied_by("rate"),
    ),
    Deviation(
        id="level",
        subject="Which level counts, and how it is estimated",
        paper_says="L(i), “requested”; download rates of chunks (sections 1 and 3.1).",
        we_do="The level asked for last; size over the time from request to last byte, of one chunk.",
        alternatives="Options level and estimate.",
        sensitivity=varied_by("level", "estimate"),
    ),
    Deviation(
        id="continuous",
        subject="Infidelity in seconds or in continuous time",
        paper_says="A sum over seconds (equation 2); captions have values that are no multiples of 1/180.",
        we_do="The share of the time. By seconds it is a column of its own (IF_by_second).",
        alternatives="Seconds.",
        sensitivity="Below 0.6 points.",
    ),
    Deviation(
        id="restart",
        subject="The window after an off period",
        paper_says=(
            "Algorithm 2: halved for each timeout, of the smaller of congestion and receive window, down to 1 MSS."
        ),
        we_do="Linux 3.2's: down to ten segments, whatever the receive window.",
        alternatives="Down to one (option restart).",
        sensitivity=varied_by("restart"),
    ),
    Deviation(
        id="unstated",
        subject="Sizes and times that the paper does not give",
        paper_says="Nothing.",
        we_do=(
            "Requests of 250 B, headers of 300 B, 0 to 1 ms of thought in the server, 100 Mbit/s beyond the gateway, "
            "client windows of 256 KiB, a start of client 2 within 100 ms of client 1's."
        ),
        alternatives="None was tried.",
        sensitivity=NOT_VARIED,
    ),
    Deviation(
        id="s5",
        subject="Which deviations figures 10 and 11 have",
        paper_says="The axis is lost; the text names 14, 20, 35 and 40 ms.",
        we_do="Multiples of 7 ms to 49 ms, and 70 ms, which the paper does not have.",
        alternatives="None was tried.",
        sensitivity=NOT_VARIED,
    ),
)
