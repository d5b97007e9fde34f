"""What the paper leaves open, as named options: each with its values, the default and why it is the default.

An option is chosen with `evenflow reproduce wtp --option NAME=VALUE`; the same options make the sensitivity table,
which says for each other value which claims change their verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from evenflow.paper import Option

OPTIONS: tuple[Option, ...] = (
    Option(
        "packet",
        ("1000", "500", "1500"),
        "Bytes of a data packet on the wire",
        "Not stated. Three of Table 2's four maxima are whole multiples of 0.8 ms, which 1000 B take at 10 Mbit/s "
        "(112, 28 "
        "and 48 packets); 1000 B is ns-2's default, headers not counted until late 2001.",
    ),
    Option(
        "red_limit",
        ("mark", "ignore"),
        "What B = 30 packets means for RED: all packets marked at a queue that long, or nothing",
        "Table 2 has waits of 89.6 ms, 112 packets, so B is no physical buffer; section 4.1 marks instead of "
        "dropping when the "
        "buffer limit is exceeded.",
    ),
    Option(
        "red_spread",
        ("floyd", "ns2", "bernoulli"),
        "RED's count rule: marks evenly spread as published in 1993, ns-2's later default (`wait`), or independent",
        "With ns-2's rule figure 9's RED never runs below a utilisation of 0.92, outside the paper's axis; the rule "
        "of 1993 "
        "fits figure 9 and Table 2.",
    ),
    Option(
        "population",
        ("A", "B", "C"),
        "Who has which weight in figures 3, 4 and 11a: 5 connections of weight 1 and 5 of weight r (A), 9 and 1 (B), "
        "or one "
        "each of 1 to 10 in a single run (C)",
        "The caption gives N = 10 alone; A mirrors the two-link captions. A, B and C are all run and drawn; the "
        "option says "
        "which one the claims look at.",
    ),
    Option(
        "ratio",
        ("class-means", "tagged"),
        "Of what the throughput ratio is made: the classes' means, or one connection of each",
        "The axis says ratio of throughput, the text of figure 5 “two connections”; class means are less noisy.",
    ),
    Option(
        "rtt_spread",
        ("0", "0.05", "0.25"),
        "Spread of round-trip times within a class, as a share to either side, dealt evenly (throughput experiments)",
        "Captions give one round-trip time.",
    ),
    Option(
        "rtt_spread_delay",
        ("0.05", "0"),
        "The same for Table 2's queueing delays",
        "With exactly equal round-trip times self-clocked trains of packets serialise themselves and queues are "
        "unrealistically "
        "short; Table 2's deviations, smaller than the means, fit mixed phases.",
    ),
    Option(
        "start",
        ("none", "slow-start-until-mark"),
        "How a willingness-to-pay connection begins: with a window of one packet, or by slow start until its first "
        "mark",
        "Slow start is not described; only congestion avoidance is to be observed.",
    ),
    Option(
        "access",
        ("100", "1000", "20"),
        "Rate of the access links, Mbit/s",
        "Not stated; fast enough not to matter, slow enough not to send a window as one instant.",
    ),
    Option(
        "mixture",
        ("half", "separate"),
        "Figures 8 to 10: half of the connections with weight 1 and half with 6, or two homogeneous experiments",
        "“w_inc = 1 and 6” in the captions; one curve a marker is drawn.",
    ),
    Option(
        "vq_mark",
        ("busy-arrival", "busy-departure", "overflow"),
        "Which packets a virtual queue marks",
        "Section 4.2: all that arrive from the virtual loss until the virtual buffer first becomes empty.",
    ),
    Option(
        "load_count",
        ("arrivals", "departures"),
        "What load-based marking counts",
        "Section 4.3 leaves it open; departures cannot show an overload.",
    ),
    Option(
        "load_window",
        ("fixed", "sliding"),
        "How load-based marking averages: one interval after the other, or sliding",
        "Section 4.3 leaves it open; fixed is the simplest.",
    ),
    Option(
        "multcp_react",
        ("once-per-rtt", "every-mark"),
        "Whether MulTCP takes the marks of a round trip as one congestion event",
        "Crowcroft and Oechslin 1998, section 3: as TCP does.",
    ),
    Option(
        "multcp_feedback",
        ("per-packet", "classic"),
        "MulTCP's feedback: each ACK has its own packet's mark, or the echo of RFC 3168 until the window was reduced",
        "Not stated; the same feedback as for willingness to pay makes the comparison one of window rules.",
    ),
)


@dataclass(frozen=True)
class Options:
    """One choice for each option; the defaults are the first values above."""

    packet: int = 1000
    red_limit: str = "mark"
    red_spread: str = "floyd"
    population: str = "A"
    ratio: str = "class-means"
    rtt_spread: float = 0.0
    rtt_spread_delay: float = 0.05
    start: str = "none"
    access: int = 100
    mixture: str = "half"
    vq_mark: str = "busy-arrival"
    load_count: str = "arrivals"
    load_window: str = "fixed"
    multcp_react: str = "once-per-rtt"
    multcp_feedback: str = "per-packet"

    @staticmethod
    def chosen(values: Mapping[str, str]) -> Options:
        """From names and values as typed; both are already known to be among `OPTIONS`."""
        usual = asdict(Options())
        return Options(**{name: type(usual[name])(value) for name, value in values.items()})
