"""What the paper leaves open: as named options, each with its values, the default and why; and all of it in words.

An option is chosen with `evenflow reproduce conex --option NAME=VALUE`; the same options make the sensitivity table,
which says for each other value which claims change their verdict. `charge` has two ledgers of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.paper import Choices, Deviation, Option, varied_by

OPTIONS: tuple[Option, ...] = (
    Option(
        "charge",
        ("arrival", "pass"),
        "Which packets with a report cost tokens: all that reach the policer, or those that it lets pass",
        "Section III-F takes tokens for the reports “sent by a user”. Sent is before the policer; so the level may "
        "sink without end while its drops cause ever more reports, which section IV-B warns of.",
    ),
    Option(
        "floor",
        ("none", "end"),
        "How far below zero the level may sink when packets are charged on arrival: without end, or to where the drop "
        "function is 1",
        "The drop functions end at −d/10 and −d; that the level does too is not said.",
    ),
    Option(
        "level",
        ("full", "empty"),
        "What is in the bucket at the start",
        "Not stated. A depth is the burst that is allowed (section III-F), so it is there at the start. Of 45 tokens a "
        "light user at 1 packet/s lives for the whole run (c06, c09).",
    ),
    Option(
        "red_weight",
        ("automatic", "0.002"),
        "Weight of RED's average",
        "Section IV-A lists every other setting of RED. ns-2's own default is the automatic rule, 1.2e-4 for this "
        "link: an average over a second.",
    ),
    Option(
        "red_spread",
        ("ns2", "floyd", "bernoulli"),
        "How RED's marks are spread: ns-2's rule, which waits first, the rule of 1993, or independent marks",
        "ns-2's default since 2001. At equal queues the three differ by up to three times in marks.",
    ),
    Option(
        "rto",
        ("any-ack", "linux", "rfc6298"),
        "The retransmission timer: ns-2's, which every ACK restarts; Linux's, with 200 ms on top of the smoothed round "
        "trip; or RFC 6298's, with a floor of 200 ms",
        "The paper used ns-2.",
    ),
    Option(
        "cubic",
        ("linux-2.6.22", "rfc"),
        "Which CUBIC: the module that ns-2 ships, which keeps 0.8 of its window, or RFC 9438, which keeps 0.7",
        "The paper used ns-2.",
    ),
    Option(
        "buffer",
        ("fixed", "rtt"),
        "Whether the queue stays 100 ms long when the round trip is another (figure 12), or is as long as it",
        "Table II lists both apart; section IV-A calls 100 ms the bandwidth-delay product.",
    ),
    Option(
        "gamma",
        ("1", "0.3", "0.5"),
        "Shape of the gamma law of the gaps between short flows (figure 20)",
        "Not stated; 1 is the exponential law, less is burstier.",
    ),
    Option(
        "leftover",
        ("carry", "drop"),
        "What becomes of reports that a short flow owes when it ends: the user's next flow sends them, or nobody",
        "Not stated. Without policing a heavy user gets some 15 marks a second (133 packets/s, 11 % marked), which the "
        "paper's “r < 15 packets” fits; marks of a flow's last packets come back when it has nothing left to "
        "report on.",
    ),
    Option(
        "ledbat_target",
        ("25", "60", "100"),
        "LEDBAT's target, ms (figures 21 and 22)",
        "Not stated; 25 is the default of the module for ns-2 that the paper cites.",
    ),
    Option(
        "flows",
        ("completed", "all"),
        "Whose completion time is averaged in figure 20: flows that completed, or all, with what those in progress "
        "have waited so far",
        "“Average completion time”: a flow that did not complete has none.",
    ),
    Option(
        "video",
        ("payload", "wire"),
        "What 1128 kbit/s of video are: application bytes, of which a packet carries 1460, or bytes on the wire",
        "The bit rate is the video's (section VI-C).",
    ),
)


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option; the defaults are the first values above."""

    charge: str = "arrival"
    floor: str = "none"
    level: str = "full"
    red_weight: str = "automatic"
    red_spread: str = "ns2"
    rto: str = "any-ack"
    cubic: str = "linux-2.6.22"
    buffer: str = "fixed"
    gamma: float = 1.0
    leftover: str = "carry"
    ledbat_target: float = 25.0
    flows: str = "completed"
    video: str = "payload"


NOT_VARIED = "Not varied."

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        id="charge",
        subject="Which reports cost tokens, and how far below zero a level may sink",
        paper_says=(
            "Tokens leave the bucket for reports sent by a user (section III-F); the drop functions run to −d/10 "
            "and −d (Fig. 6)."
        ),
        we_do="Every report that reaches the policer costs a token, dropped or not, and the level has no floor.",
        alternatives=(
            "Only reports that pass cost (option charge=pass, with a ledger of its own); a floor where the drop "
            "function is 1 (option floor=end)."
        ),
        sensitivity=f"{varied_by('charge', 'floor')} conex-x04 has figure 8 for all three.",
    ),
    Deviation(
        id="level",
        subject="What is in the bucket at the start",
        paper_says="Not stated.",
        we_do="It is full.",
        alternatives="Empty (option level).",
        sensitivity=f"{varied_by('level')} conex-x-left has the lowest filling rates both ways, and for 400 s.",
    ),
    Deviation(
        id="policed",
        subject="Which packets an empty bucket discards",
        paper_says="“the packets of the user who exceeded his allowed Congestion-Volume” (section III-F).",
        we_do="All of the user's ConEx-capable packets, with a report or without. Others pass.",
        alternatives="Only packets with a report.",
        sensitivity=NOT_VARIED,
    ),
    Deviation(
        id="depth",
        subject="64 KB or 45 packets",
        paper_says="Depth and window are 64 KB, “or 45 packets” (section IV-A). 64 KiB are 43.7 packets of 1500 B.",
        we_do=(
            "45 packets for both: 65,536 B over a payload of 1,460 B, rounded up. The window is 65,700 B, because a "
            "sender of whole segments would fit 44 in 64 KiB."
        ),
        alternatives="43 or 44.",
        sensitivity="Not varied: windows are of a few packets, and figures 9 to 11 vary the depth.",
    ),
    Deviation(
        id="rate",
        subject="The unit of the filling rate",
        paper_says="packets/s in Table II and section VI, “r < 15 packets” in section V.",
        we_do="Tokens a second and user; a token is a packet with a report.",
        alternatives="Bytes (conex-x01).",
        sensitivity="None where all packets have one size.",
    ),
    Deviation(
        id="red",
        subject="What is not said of RED",
        paper_says="Thresholds, maximum probability and the length of the queue.",
        we_do=(
            "ns-2's RED in packets, its automatic weight for a link of 100 Mbit/s and 100 ms (1.2e-4) in every "
            "experiment, its spreading of marks, and no drops where it marks: neither where the probability exceeds "
            "ns-2's mark_p, nor where the average picks every packet."
        ),
        alternatives="A weight of 0.002 (option red_weight); other spreads (option red_spread).",
        sensitivity=f"{varied_by('red_weight', 'red_spread')} conex-x05 has the default series for all of them.",
    ),
    Deviation(
        id="sender",
        subject="What is not said of TCP",
        paper_says="CUBIC, SACK, timestamps, 64 KB, packets of 1500 B, in ns-2.",
        we_do=(
            "ns-2's Linux agent: an ACK for each packet, initial window 2, a timer that every ACK restarts, no "
            "handshake; windows are whole packets. Flows of ten packets in three round trips (section V) ask for ACKs "
            "of single packets. Without policing this is ns-2's own result (docs/validation.md)."
        ),
        alternatives="Other timers (option rto), RFC 9438's CUBIC (option cubic).",
        sensitivity=varied_by("rto", "cubic"),
    ),
    Deviation(
        id="retransmissions",
        subject="Whether retransmissions are ECN-capable",
        paper_says="RED only drops where it overflows (section IV-F).",
        we_do="They are: RED would drop others early. RFC 3168 section 6.1.5 forbids it; RFC 8311 allows it to try.",
        alternatives="Not ECN-capable.",
        sensitivity="Not varied: c28 could not hold.",
    ),
    Deviation(
        id="variants",
        subject="Codepoints of the variants without ECN",
        paper_says="“No ECN” (Table III), and ConEx-capable packets carry ECT(1) (Table I).",
        we_do="They carry the codepoints of Table I, and RED drops what it picks.",
        alternatives="A RED that marks would turn REDConEx into ECNConEx.",
        sensitivity="Not varied; a test keeps REDConEx from being marked.",
    ),
    Deviation(
        id="classic",
        subject="What an accurate sender reports to a classic receiver",
        paper_says="One congestion notification a round trip (section IV-G).",
        we_do="One report for each window that was reduced for a mark.",
        alternatives="One for each ACK with an echo.",
        sensitivity=NOT_VARIED,
    ),
    Deviation(
        id="reports",
        subject="What a lost report owes, and which report goes first",
        paper_says="Not stated.",
        we_do="A lost packet costs the report of its own loss and no second one for what it carried; losses go first.",
        alternatives="Both.",
        sensitivity=NOT_VARIED,
    ),
    Deviation(
        id="access",
        subject="Access links and the split of the round trip",
        paper_says="Drawn in Fig. 7 without numbers.",
        we_do="1 Gbit/s and 1 ms a user before the policer; the rest of the round trip lies behind the bottleneck.",
        alternatives="Other rates and splits.",
        sensitivity="Not varied. Round trips are equal, so that drop-tail may lock flows; intervals show by how much.",
    ),
    Deviation(
        id="buffer",
        subject="The queue when the round trip is another",
        paper_says="The queue holds the bandwidth-delay product, 100 ms (section IV-A); Table II lists both apart.",
        we_do="It stays 100 ms long.",
        alternatives="As long as the round trip (option buffer).",
        sensitivity=f"{varied_by('buffer')} Only figure 12 is touched.",
    ),
    Deviation(
        id="compound",
        subject="Compound in figure 13",
        paper_says="Compound TCP.",
        we_do="Compound with the low window of 38 packets.",
        alternatives="41, as in Microsoft's draft.",
        sensitivity="None: windows here are below 15 packets, where both are plain Reno.",
    ),
    Deviation(
        id="throughput",
        subject="What throughput and unfairness are",
        paper_says="Throughput of a heavy user over that of a light user (Eq. 1).",
        we_do=(
            "Payload delivered in order over the whole run, the start included; the mean over the heavy users over the "
            "mean over the light users, run by run, then the mean over runs with Student's interval."
        ),
        alternatives="Bytes on the wire; a warm-up.",
        sensitivity="Not varied: in ratios both cancel.",
    ),
    Deviation(
        id="delay",
        subject="What the queueing delay is",
        paper_says="The mean queueing delay (Figs. 14 to 17), that of a light user (Fig. 19).",
        we_do="From acceptance to the start of transmission, over packets: of all users, and of the light ones.",
        alternatives="A time average of the queue.",
        sensitivity=NOT_VARIED,
    ),
    Deviation(
        id="short-flows",
        subject="What is not said of short flows",
        paper_says="10 packets, gamma gaps of 6 ms on average, 80 % of the flows heavy, cross traffic of 90 Mbit/s.",
        we_do=(
            "No handshake: with one, 380 ms would not suffice. Shape 1. Reports owed at the end of a flow go to the "
            "user's next. Cross traffic is not ECN-capable, of 1500 B, with gaps uniform within half of the mean."
        ),
        alternatives="Options gamma and leftover.",
        sensitivity=varied_by("gamma", "leftover"),
    ),
    Deviation(
        id="unfinished",
        subject="Flows that do not complete",
        paper_says="The average completion time.",
        we_do="That of the flows that completed within the run; how many did stands beside it.",
        alternatives="All flows, those in progress with the time that they have waited (option flows).",
        sensitivity=varied_by("flows"),
    ),
    Deviation(
        id="video",
        subject="What is not said of the videos",
        paper_says="300 s at 1128 kbit/s, a burst of 40 s, then chunks of 64 KB at 1.25 times the bit rate.",
        we_do=(
            "Payload: 42.3 MB are 28,973 packets. A chunk that a full socket blocked is written when there is room. "
            "Stalls at the end of the run count with the length they have."
        ),
        alternatives="Bytes on the wire, 28,200 packets (option video).",
        sensitivity=varied_by("video"),
    ),
    Deviation(
        id="ledbat",
        subject="LEDBAT's target",
        paper_says="LEDBAT as implemented for ns-2 (reference 27, which the list lacks).",
        we_do="The module of Rossi and others 2010 and its target of 25 ms.",
        alternatives="60 or 100 ms (option ledbat_target).",
        sensitivity=f"{varied_by('ledbat_target')} conex-x06 has all three.",
    ),
    Deviation(
        id="runs-of-section-6",
        subject="Runs a point in section VI",
        paper_says="30 runs (sections IV and V).",
        we_do="30 here too.",
        alternatives="Fewer.",
        sensitivity="None on means.",
    ),
    Deviation(
        id="slip-rtt",
        subject="“decreases with the RTT” (section IV-D)",
        paper_says="“the unfairness significantly decreases with the RTT”.",
        we_do="It falls where the round trip falls, as the next sentences have it.",
        alternatives="The opposite.",
        sensitivity="c20 would turn around.",
    ),
    Deviation(
        id="slip-compound",
        subject="What figure 13 shows",
        paper_says="CUBIC is expected to have less unfairness, is found to have more, and both are called alike.",
        we_do="All three statements are judged as they stand (c24 to c27).",
        alternatives="None.",
        sensitivity="c24 and c27 can hardly both hold.",
    ),
    Deviation(
        id="slip-stalls",
        subject="Stalls of about 10 s",
        paper_says="Stalls last close to 10 s without policing (section VI-C1).",
        we_do=(
            "Judged as printed (c81). With 20 flows a heavy user, the fair share of a video is 0.4 Mbit/s, at "
            "which the player's thresholds make stalls of 5.08 s; 10 s need 0.2 Mbit/s, as with 45 flows."
        ),
        alternatives="36 flows, as in section IV: 8.3 s.",
        sensitivity=NOT_VARIED,
    ),
)
