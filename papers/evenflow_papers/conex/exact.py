"""Figures 2, 6 and 7 and tables I to III: what needs no runs.

RED and policers are stepped directly: RED with an average that is the queue itself and independent picks, a policer
whose level reports have brought down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evenflow.figures import Arrow, Box, Spec, diagram, table
from evenflow.lab import plain
from evenflow.mechanism import mechanism
from evenflow.values import Shown, computed, joined

from . import network as net
from .network import MILD, SOFT, STRICT, Options, Setting

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


def red(queue: Mapping[str, Any], **changed: Any) -> Any:
    """The bottleneck's RED, whose average is the queue itself."""
    table = {**queue, "weight": 1.0, "spread": "bernoulli", **changed}
    return mechanism(table.pop("kind"), **table, link_rate=f"{net.CAPACITY_MBPS:g} Mbit/s")


PACKET: Mapping[str, Any] = {"bytes": net.PACKET_BYTES, "rate_bps": net.CAPACITY_MBPS * 1e6}


@cache
def red_by_hand(share: float) -> float:
    """Share of packets that RED picks at an average queue of this share of the buffer."""
    rule = red(net.queue(Options(), Setting()), action="drop")
    waiting = round(share * net.limit_packets(Setting().queue_ms))
    gap = net.PACKET_BYTES * 8 / net.CAPACITY_MBPS / 1e6
    picked = [rule.admit(now_s=gap * k, packets=waiting, **PACKET)["verdict"] for k in range(DRAWS)]
    return picked.count("drop") / DRAWS


@cache
def policer_by_hand(harshness: str, level: float, depth: float = float(net.WINDOW_PACKETS)) -> float:
    """Share of packets that a policer drops at this level, tokens; a multiple of one below the depth."""
    table = Setting(net.ON, 1e-6, depth, harshness).policer(Options())
    table.pop("per")
    stage = mechanism(table.pop("kind"), **table)
    packet = {"now_s": 0.0, "bytes": net.PACKET_BYTES, "ecn": "ect1"}
    for _ in range(round(depth - level)):
        stage.forward(**packet, re=False)
    dropped = [stage.forward(**packet, re=True)["verdict"] for _ in range(DRAWS)]
    return dropped.count("drop") / DRAWS


def verdicts(queue: Mapping[str, Any], ecn: str) -> set[str]:
    """What a RED that picks every other packet does with packets of this ECN field."""
    rule, waiting = red(queue), net.limit_packets(Setting().queue_ms) // 2
    return {rule.admit(now_s=1e-3 * k, packets=waiting, ecn=ecn, **PACKET)["verdict"] for k in range(100)}


# --- Figures 2, 6 and 7 ---------------------------------------------------------------------------------------------

Rows = list[dict[str, Any]]
SHARES = tuple(k / 10 for k in range(11))
LEVELS: Mapping[str, Sequence[float]] = {
    STRICT: (2.0, 1.0, 0.0, -1.0, -2.0),
    MILD: (1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0),
    SOFT: (0.0, -9.0, -18.0, -27.0, -36.0, -45.0, -48.0),
}
"""Levels at which policers are stepped; whole tokens from a bucket of 45."""
CORNERS = {STRICT: (-50.0, 0.0, 1e-9, 5.0), MILD: (-50.0, -4.5, 0.0, 5.0), SOFT: (-50.0, -45.0, 0.0, 5.0)}
"""Levels between which a drop function is straight."""
RED_LINES = joined(
    computed(net.red_probability, share=SHARES).labelled(who="function"),
    computed(red_by_hand, share=SHARES).labelled(who="RED, stepped"),
)


DROP_LINES = joined(
    *(
        computed(function, harshness=[it], level=levels[it]).labelled(who=words)
        for it in LEVELS
        for function, levels, words in ((net.drop_probability, CORNERS, ""), (policer_by_hand, LEVELS, ", stepped"))
    )
)


def fig02(o: Options) -> Rows:
    """The function and what was found by hand."""
    return [
        {"average_share": share, "probability": net.red_probability(share), "by_hand": red_by_hand(share)}
        for share in SHARES
    ]


def fig06(o: Options) -> Rows:
    """The functions and what was found by hand."""
    return [
        {
            "harshness": it,
            "level": level,
            "probability": net.drop_probability(it, level),
            "by_hand": policer_by_hand(it, level),
        }
        for it, levels in LEVELS.items()
        for level in levels
    ]


def fig07(o: Options) -> Rows:
    """The scenario's links and groups."""
    tree = net.bulk(o, policing=net.ON, r=net.RATES[0]).tree
    rows: Rows = [
        {"what": f"link {name}", "rate": link.get("rate", ""), "delay": link["delay"], "per": link.get("per", "")}
        for name, link in tree["links"].items()
    ]
    rows += [
        {
            "what": f"group {name}",
            "users": group["users"],
            "flows": group["traffic"].get("flows", 1),
            "path": " → ".join(group["path"]),
        }
        for name, group in tree["groups"].items()
    ]
    return rows


def network() -> Spec:
    """The network, from a run's scenario."""
    tree = net.bulk(Options(), policing=net.ON, r=net.RATES[0]).tree
    access, link = tree["links"]["access"], tree["links"][net.LINK]
    boxes, arrows = [], []
    for name, y in ((net.HEAVY, 3.1), (net.LIGHT, 0.9)):
        group = tree["groups"][name]
        users, flows = f"{group['users']} {name} users", group["traffic"].get("flows", 1)
        flows = f"{flows} flow{'s' if flows > 1 else ''} each"
        boxes += [Box(0.9, y, f"{users}\n{flows}"), Box(3.1, y, "policers"), Box(9.1, y, users)]
        arrows.append(Arrow((1.5, y), (2.75, y), f"{access['rate']}\n{access['delay']}"))
        arrows += [Arrow((3.45, y), (4.52, 2.0)), Arrow((7.55, 2.0), (8.5, y))]
    boxes += [Box(5.0, 2.0, f"{link['queue']['kind'].upper()}\n{link['queue']['limit']}"), Box(7.2, 2.0, "router")]
    return diagram(boxes, [*arrows, Arrow((5.48, 2.0), (6.85, 2.0), f"{link['rate']}\n{link['delay']}")])


# --- Tables I to III ------------------------------------------------------------------------------------------------


def table_1(o: Options) -> Rows:
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


def table_2(o: Options) -> Rows:
    """Table II: a row a parameter, its values, and the default of `network.Setting`."""
    usual = Setting()
    rows: Mapping[str, tuple[Sequence[Any], Any]] = {
        "policer filling rate r (packets/s)": (net.RATES, None),
        "policer depth d (packets)": (net.DEPTHS, usual.depth),
        "policer harshness": (net.HARSHNESSES, usual.harshness),
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
            "values": " – ".join(map(plain, values)),
            "default": "" if default is None else plain(default),
        }
        for name, (values, default) in rows.items()
    ]


def table_3(o: Options) -> Rows:
    """Table III: a row a variant, and the scenario's settings that follow."""
    rows = []
    for name, variant in net.TABLE_3.items():
        queue, tcp = net.queue(Options(), Setting(variant=name)), net.tcp(Options(), name)
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


ABBREVIATIONS = ("ecn", "re", "red")


def as_table(rows: Callable[[Options], Rows]) -> Spec:
    """Rows as a picture; abbreviations in the headings in capitals."""

    def cells(shown: Shown) -> list[list[str]]:
        found = rows(shown.options)
        heads = [
            " ".join(word.upper() if word in ABBREVIATIONS else word for word in head.split("_")) for head in found[0]
        ]
        return [heads, *([str(it) for it in row.values()] for row in found)]

    return table(cells)
