"""What the paper leaves open: as named options, each with its values, the default and why; and all of it in words."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.paper import Choices, Deviation, Option, varied_by

OPTIONS: tuple[Option, ...] = (
    Option(
        "flavour",
        ("reno", "newreno", "sack"),
        "How TCP repairs losses",
        "The paper names Reno (Fig. 13). Which scheme is ahead depends on it.",
    ),
    Option(
        "red",
        ("uniform", "ns2"),
        "RED's spread and weight: spread uniformly with 0.002, or ns-2's rule, which waits first, with 1.6e-4",
        "Not stated; the paper used ns-2.30, whose automatic weight is 1.6e-4 for this link.",
    ),
    Option("duration", ("300", "600"), "Length of a run, s", "Not stated."),
    Option(
        "credit_at_queues",
        ("marked", "dropped"),
        "What a queue that marks does with FNE: it counts as ECN-capable, or is dropped as RFC 3168 would",
        "draft-briscoe-tsvwg-re-ecn-tcp allows both; the first only where FNE is limited in rate.",
    ),
    Option(
        "reinsertion",
        ("split", "police"),
        "What slows senders down inside the network: marks that the gateway passes on, or the policer alone",
        "Not stated. As simulated, senders stand at the gateway (section IV).",
    ),
    Option(
        "event_merge",
        ("on", "off"),
        "Whether policer A charges once per round trip or every positive packet",
        "TCP answers once per round trip; off is the draft's pseudo-code.",
    ),
    Option(
        "rtt_from",
        ("given", "base", "handshake", "srtt"),
        "Where policer A has T from: told, the delays of the path, the handshake, the sender",
        "Not stated. 600 ms is the path's; queues add 1 to 2 %.",
    ),
    Option(
        "retransmissions",
        ("not-ect", "ect"),
        "Whether what is sent again is ECN-capable",
        "The draft forbids it; RFC 8311 allows it to try.",
    ),
    Option(
        "counter",
        ("three-bits", "unlimited"),
        "Whether the echo of marks wraps at 8",
        "The draft's has three bits; an unlimited one shows what is lost.",
    ),
    Option("greedy_window", ("75", "150"), "Window of a greedy flow, packets (figure 7)", "Not stated."),
)


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option; the defaults are the first values above."""

    flavour: str = "reno"
    red: str = "uniform"
    duration: float = 300.0
    credit_at_queues: str = "marked"
    reinsertion: str = "split"
    event_merge: str = "on"
    rtt_from: str = "given"
    retransmissions: str = "not-ect"
    counter: str = "three-bits"
    greedy_window: float = 75.0


NOT_VARIED = "Not varied."


def _open(id: str, subject: str, says: str, do: str, other: str, option: str = "") -> Deviation:
    sensitivity = varied_by(option) if option else NOT_VARIED
    return Deviation(id=id, subject=subject, paper_says=says, we_do=do, alternatives=other, sensitivity=sensitivity)


DEVIATIONS: tuple[Deviation, ...] = (
    _open(
        "tokens",
        "What tokens are",
        "“tokens/sec” in Fig. 5; seconds, bytes and bytes of congestion in the text.",
        "Policer A: seconds, for flows. B: bytes of congestion, for users. A' is in x-flood.",
        "All three are rules of congestion-policer.",
    ),
    _open(
        "flavour",
        "TCP",
        "Reno, in ns-2.30, nothing else.",
        "Plain Reno, 1000-byte packets, an ACK for each, initial window 2, timeout of 1 s at least.",
        "NewReno, SACK (option flavour; for figures 6, 11, 12 and 16 side by side in x-tcp06, x-tcp11, x-tcp16).",
        "flavour",
    ),
    _open(
        "red",
        "RED",
        "A probability, two thresholds, and from p to 1 above.",
        "31 and 94 packets of 250, gentle, probability 0.1, weight 0.002, marks spread uniformly, no drops where it "
        "marks.",
        "ns-2's spread and weight (option red; side by side in x-tcp06, x-tcp11, x-tcp16).",
        "red",
    ),
    _open(
        "probability",
        "“Marking probability p” of Figs. 6 and 16",
        "p.",
        "RED's maximum probability; beside it a constant probability, in the same experiment.",
        "The constant one, which the prose fits as well.",
    ),
    _open("duration", "Run length", "Not stated.", "300 s.", "600 s (option duration).", "duration"),
    _open(
        "policer",
        "Values of r, b_start, b_max, and the sanction",
        "Named, without values.",
        "r = 1, b_start = 20 s, b_max = 400 s; drop one packet for honest traffic, all while empty or for ever in "
        "Fig. 14; one charge per round trip.",
        "Charges for every positive packet (option event_merge); T by other means (option rtt_from).",
        "event_merge",
    ),
    _open("rtt", "T of policer A", "Not stated.", "600 ms, the path's.", "Option rtt_from.", "rtt_from"),
    _open(
        "dropper",
        "ρ and h of the dropper's formula",
        "pd = (1 − ρ) p − h, both undefined.",
        "ρ the share of reports that it sees, p the marked share.",
        "ρ given (a setting of auditor); strict, ratio.",
    ),
    _open(
        "population",
        "Senders of Fig. 7",
        "Goodput up, fairness down, because greedy flows are punished later.",
        "A fifth of the flows greedy: a window that nothing reduces, and honest reports. All honest beside it.",
        "Other windows (option greedy_window).",
        "greedy_window",
    ),
    _open(
        "reinsertion",
        "What answers marks inside the network",
        "Terminals are untouched.",
        "The sender stands at the gateway, which sets ECE once per round trip of reports.",
        "Nobody but the policer (option reinsertion).",
        "reinsertion",
    ),
    _open(
        "tunnel",
        "Marks on packets that are not ECN-capable",
        "The outer header is ECN-capable; RFC 6040 is cited, which forbids what follows.",
        "The paper's rule: forwarded, and counted.",
        "RFC 6040, RFC 4301, RFC 3168 (docs/tunnels.md; x-gtp has RFC 6040 beside it).",
    ),
    _open(
        "sgw",
        "Tunnels at the S-GW",
        "GTP tunnels from hop to hop.",
        "One tunnel from gateway to base station: the S-GW passes the outer header on.",
        "Two tunnels, which lose declared congestion where what is inside cannot carry it.",
    ),
    _open(
        "credit",
        "FNE at queues",
        "Not stated.",
        "It counts as ECN-capable.",
        "Dropped (option credit_at_queues).",
        "credit_at_queues",
    ),
    _open(
        "radio",
        "Radio errors",
        "EURANE.",
        "Independent losses of downlink packets of all cells, no retransmission below TCP.",
        "Losses in bursts of five, and RLC that repairs them: fig13-radio.",
    ),
    _open(
        "attack",
        "Attackers",
        "Ten times the bandwidth.",
        "Ten sources of ten times a fair share each, whose marks are declared honestly; legacy ones beside it.",
        "One attacker of 45 Mbit/s, cheating ones, five sanctions: in the same experiment.",
    ),
    _open(
        "traffic",
        "Traffic",
        "Not stated.",
        "Bulk transfers that begin within 5 s; pages of 30 kB, 1 s to think, in Fig. 15.",
        "Short and long flows together: x-mix.",
    ),
    _open(
        "delay",
        "“This link” in Fig. 9",
        "5 to 200 ms.",
        "The radio link.",
        "The wired bottleneck: fig09-wired. Five delays in one run: fig09-mixed.",
    ),
    _open("hops", "Hops of Fig. 10", "Not listed.", "2 to 12 wired links of 20 ms.", "All of 50 Mbit/s: fig10-narrow."),
    _open(
        "level",
        "Congestion of Fig. 8",
        "Not defined.",
        "The number of flows.",
        "Constant-rate traffic beside them: fig08-background.",
    ),
    _open("counter", "The echo of marks", "Not stated.", "Three bits.", "Option counter.", "counter"),
    _open(
        "retransmissions",
        "What is sent again",
        "Not stated.",
        "Not ECN-capable.",
        "Option retransmissions.",
        "retransmissions",
    ),
    _open(
        "runs",
        "Runs",
        "5, averaged.",
        "10: a verdict over a grid needs them.",
        "5.",
    ),
)
