"""Figures 2 and 6 and table I: as printed, and as the simulator's own objects have them.

The simulator is stepped by hand: RED with an average that is the queue itself and independent picks, a policer whose
level reports have brought down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evenflow.mechanism import mechanism

from .. import network as net
from ..choices import Options

DRAWS = 4000
"""Packets shown to a mechanism to measure a probability: 1.5 points of half-width."""


@dataclass(frozen=True)
class Codepoint:
    """A row of table I.

    Attributes:
        ecn: the two bits of the ECN field.
        re: bit 48 of the IPv4 header.
        means: the paper's words.
        ecn_word, charged: what the simulator calls the field, and the tokens that a policer takes.
        marked: what a queue that marks makes of it; None where it drops instead.
    """

    ecn: str
    re: bool
    means: str
    ecn_word: str
    charged: int
    marked: str | None


TABLE_1: tuple[Codepoint, ...] = (
    Codepoint("00", True, "Credit (used with the auditor)", "not-capable", 0, None),
    Codepoint("01", True, "ConEx-Not-Marked (ConEx-capable)", "ect1", 0, "marked"),
    Codepoint("01", False, "Re-Echo-ECN or Re-Echo-Loss", "ect1", 1, "marked"),
    Codepoint("11", True, "ECN marked packet", "marked", 0, "marked"),
    Codepoint("11", False, "Re-Echo packet and ECN-marked", "marked", 1, "marked"),
    Codepoint("10", False, "ECN legacy (not-ConEx)", "ect0", 0, "marked"),
    Codepoint("00", False, "Not-ECN (not-ConEx)", "not-capable", 0, None),
    Codepoint("10", True, "Unused", "ect0", 0, "marked"),
)
"""Table I in its order; a policer stands before the queues, so that a report that is marked already costs what a report
does."""


def red_by_hand(share: float) -> float:
    """Share of packets that RED picks at an average queue of this share of the buffer."""
    o = Options(red_spread="bernoulli")
    table = {**net.queue(o, net.Setting()), "weight": 1.0, "action": "drop"}
    waiting = round(share * net.limit_packets(net.Setting().queue_ms))
    rule = mechanism(table.pop("kind"), **table, link_rate=f"{net.CAPACITY_MBPS:g} Mbit/s")
    gap = net.PACKET_BYTES * 8 / net.CAPACITY_MBPS / 1e6
    rate = net.CAPACITY_MBPS * 1e6
    picked = sum(
        1
        for k in range(DRAWS)
        if rule.admit(now_s=gap * k, bytes=net.PACKET_BYTES, packets=waiting, rate_bps=rate)["verdict"] == "drop"
    )
    return picked / DRAWS


@cache
def red_points(shares: Sequence[float]) -> list[tuple[float, float]]:
    """`red_by_hand` at several shares."""
    return [(share, red_by_hand(share)) for share in shares]


def policer_by_hand(harshness: str, level: float, depth: float = float(net.WINDOW_PACKETS)) -> float:
    """Share of packets that a policer drops at this level, tokens; a multiple of one below the depth."""
    o = Options(charge="arrival")
    table = net.Policer(1e-6, depth, harshness).table(o)
    table.pop("per")
    stage = mechanism(table.pop("kind"), **table)
    for _ in range(round(depth - level)):
        stage.forward(now_s=0.0, bytes=net.PACKET_BYTES, ecn="ect1", re=False)
    dropped = sum(
        1
        for _ in range(DRAWS)
        if stage.forward(now_s=0.0, bytes=net.PACKET_BYTES, ecn="ect1", re=True)["verdict"] == "drop"
    )
    return dropped / DRAWS


@cache
def policer_points(harshness: str, levels: Sequence[float]) -> list[tuple[float, float]]:
    """`policer_by_hand` at several levels."""
    return [(level, policer_by_hand(harshness, level)) for level in levels]


def table_1() -> list[dict[str, Any]]:
    """Table I, a row a codepoint, with what follows from it."""
    return [
        {
            "ecn": row.ecn,
            "re": int(row.re),
            "signal": row.means,
            "tokens": row.charged,
            "red_that_marks": "drops" if row.marked is None else ("leaves" if row.ecn == "11" else "marks"),
        }
        for row in TABLE_1
    ]


def table_2() -> list[dict[str, Any]]:
    """Table II: a row a parameter, its values, and the default of `network.Setting`."""
    usual = net.Setting(net.Policer(net.RATES[0]))
    assert usual.policer is not None, "it has one"
    rows: Mapping[str, tuple[Sequence[Any], Any]] = {
        "policer filling rate r (packets/s)": (net.RATES, None),
        "policer depth d (packets)": (net.DEPTHS, usual.policer.depth),
        "policer harshness": (net.HARSHNESSES, usual.policer.harshness),
        "fixed RTT (ms)": (net.RTTS_MS, usual.rtt_ms),
        "TCP congestion control": (net.CONTROLS, usual.control),
        "queue size q (ms)": (net.QUEUES_MS, usual.queue_ms),
        "queue MinThresh (% q)": (net.MIN_THRESHOLDS, usual.min_threshold),
        "queue MaxThresh (% q)": (net.MAX_THRESHOLDS, usual.max_threshold),
        "queue maximum mark/drop probability": (net.PROBABILITIES, usual.max_probability),
        "ConEx complexity": (net.VARIANTS, usual.variant),
    }
    return [
        {
            "parameter": name,
            "values": " – ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values),
            "default": "" if default is None else (f"{default:g}" if isinstance(default, float) else str(default)),
        }
        for name, (values, default) in rows.items()
    ]


def table_3() -> list[dict[str, Any]]:
    """Table III: a row a variant, and the scenario's settings that follow."""
    o = Options()
    rows = []
    for name, variant in net.TABLE_3.items():
        queue, tcp = net.queue(o, net.Setting(variant=name)), net.tcp(o, name)
        rows.append(
            {
                "case": name,
                "queue": variant.queue,
                "sender": variant.sender,
                "receiver": variant.receiver,
                "queue_kind": queue["kind"],
                "action": queue.get("action", "drop"),
                "ecn": tcp["ecn"],
                "report": tcp["conex"]["report"],
            }
        )
    return rows


def tokens_taken(row: Codepoint) -> float:
    """Tokens that a policer takes for a packet with this codepoint."""
    table = net.Policer(1e-6).table(Options())
    table.pop("per")
    stage = mechanism(table.pop("kind"), **table)
    stage.forward(now_s=0.0, bytes=net.PACKET_BYTES, ecn=row.ecn_word, re=row.re)
    return float(stage.observe(now_s=0.0)["charged"])


def verdicts(queue: Mapping[str, Any], ecn: str) -> set[str]:
    """What a RED that picks every other packet does with packets of this ECN field."""
    table = {**queue, "weight": 1.0, "spread": "bernoulli"}
    rule = mechanism(table.pop("kind"), **table, link_rate=f"{net.CAPACITY_MBPS:g} Mbit/s")
    waiting = net.limit_packets(net.Setting().queue_ms) // 2
    return {
        rule.admit(now_s=1e-3 * k, bytes=net.PACKET_BYTES, packets=waiting, rate_bps=net.CAPACITY_MBPS * 1e6, ecn=ecn)[
            "verdict"
        ]
        for k in range(100)
    }


def after_red(row: Codepoint) -> str | None:
    """The ECN field of a packet that a marking RED has picked; None where it drops it."""
    table = {**net.queue(Options(), net.Setting()), "weight": 1.0, "spread": "bernoulli"}
    rule = mechanism(table.pop("kind"), **table, link_rate=f"{net.CAPACITY_MBPS:g} Mbit/s")
    # above the highest threshold every packet is picked; the buffer is not full yet
    waiting = net.limit_packets(net.Setting().queue_ms) - 1
    for k in range(1000):
        found = rule.admit(
            now_s=1e-3 * k,
            bytes=net.PACKET_BYTES,
            packets=waiting,
            rate_bps=net.CAPACITY_MBPS * 1e6,
            ecn=row.ecn_word,
        )
        if found["verdict"] == "drop":
            return None
        if found["verdict"] == "mark" or row.ecn_word == "marked":
            return str(found["ecn"])
    return str(found["ecn"])
