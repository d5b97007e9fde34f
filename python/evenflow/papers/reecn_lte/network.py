"""The paper's network (section IV) as scenarios, by `evenflow.lte`.

Every experiment builds its points here, so that equal settings give equal scenarios and share their runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenflow.lab import quantity, seeds
from evenflow.scenario import Scenario
from evenflow.scenario.lte import BOTTLENECK, lte, marker, sender
from evenflow.scenario.lte import RADIO as RADIO

from .choices import Options

CAPACITY_MBPS = 50.0
"""R2 to R3 (section IV)."""
RTT_S = 0.6
"""Five wired links of 20 ms and 200 ms of radio, both ways."""
PACKET_BYTES = 1000
"""Not stated."""
HEADER_BYTES = 40
"""Of IP and TCP; a SYN has no more."""
K = 1.5**0.5
"""Of TCP's rate, an ACK for each packet."""
PHONES, GREEDY, ATTACK, SHORT, WEB = "phones", "greedy", "attack", "short", "web"
BACKGROUND = "background"
LINK = BOTTLENECK
DT, RED, ECN, REECN, POLICED = "droptail", "red", "ecn", "re-ecn", "re-ecn policed"
SCHEMES = (DT, RED, ECN, REECN)
"""Values of the label ``scheme``; `POLICED` has policer and dropper."""
FLOWS = (10, 100)
LONG_S = 600.0
"""Ten flows are shown after such a run too: after 300 s they are all transient."""
LEVEL = 0.95
SEEDS = seeds(10, 3)
SEEDS_BESIDE = seeds(5, 3)
"""Of variants that no claim is judged on: the paper's own number."""
BIN_S = 5.0
"""Bins of Figs. 11, 14 and 16."""
WINDOW_S = 10.0
"""The shortest window over which Fig. 12 has fairness."""
ATTACK_S = (100.0, 200.0)
"""Section V-B."""
LATE = "late"
"""The class of packets that a policer lets go last."""
SOURCE, SINK = "declare", "hear"
"""Stages that make a source of datagrams declare every mark."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Policer:
    """A policer; defaults as in the dossier of values that the paper does not give.

    Attributes:
        rule: "A" (seconds, by flow), "A'" (bytes, by flow) or "B" (bytes of congestion, by user).
        r: tokens per second; for B bytes per second.
        start, most: seconds; for A' and B bytes.
        action: the sanction.
    """

    rule: str = "A"
    r: float = 1.0
    start: float = 20.0
    most: float = 400.0
    action: str = "drop-one"

    def table(self, o: Options, strangers: str = "own") -> dict[str, Any]:
        """The stage."""
        if self.rule == "B":
            return {
                "kind": "congestion-policer",
                "per": "user",
                "rule": "volume",
                "rate": quantity(self.r * 8, "bit/s"),
                "depth": quantity(self.most, "B"),
                "level": self.start / self.most,
                "action": self.action,
            }
        rtt = {"rtt": quantity(RTT_S * 1e3, "ms")} if o.rtt_from == "given" else {"rtt_from": o.rtt_from}
        if self.rule == "A'":
            return {
                "kind": "congestion-policer",
                "per": "user",
                "rule": "rate-bytes",
                "factor": self.r,
                "depth": quantity(self.most, "B"),
                "level": self.start / self.most,
                "action": self.action,
                "strangers": strangers,
                **rtt,
            }
        return {
            "kind": "congestion-policer",
            "per": "user",
            "rule": "tcp-rate",
            "factor": self.r,
            "start": quantity(self.start, "s"),
            "most": quantity(self.most, "s"),
            "action": self.action,
            "event_merge": o.event_merge == "on",
            "strangers": strangers,
            **({"class": LATE} if self.action == DEMOTE else {}),
            **rtt,
        }


def dropper(rule: str = "strict", **changed: Any) -> dict[str, Any]:
    """The egress dropper: late by two round trips, three packets of allowance; marks alone are held against a flow."""
    marks = {"audit": "ecn"} if rule == "ratio" else {}
    return {"kind": "auditor", "rule": rule, "per": "user", "delay": quantity(2 * RTT_S, "s"), **marks, **changed}


def queue(o: Options, scheme: str, **changed: Any) -> dict[str, Any]:
    """The queue from R2 to R3."""
    if scheme == DT:
        return marker(DT, **changed)
    table = marker(scheme)
    if o.red == "ns2":
        table |= {"spread": "ns2", "weight": 1.6e-4}
    if scheme == REECN and o.credit_at_queues == "dropped":
        table["action"] = "mark"
    return {**table, **changed}


def fixed(o: Options, p: float) -> dict[str, Any]:
    """A queue that marks a constant share of its packets."""
    action = "mark-re-ecn" if o.credit_at_queues == "marked" else "mark"
    return {"kind": "constant-probability", "probability": p, "action": action, "limit": "250 packets"}


def tcp(o: Options, scheme: str, **changed: Any) -> dict[str, Any]:
    """The senders of a scheme."""
    found = sender(scheme, o.flavour)
    if scheme == REECN and o.counter == "unlimited":
        found["ecn"] = "re-ecn-unlimited"
    if scheme in (REECN, ECN) and o.retransmissions == "ect":
        found["ecn_on_retransmissions"] = True
    return {**found, **changed}


def series(*names: str, every: float = BIN_S) -> dict[str, Any]:
    """What is recorded in bins."""
    return {"series": [{"of": name, "every": quantity(every, "s")} for name in names]}


THROUGHPUT = f"links.{LINK}.delivered_bytes"
VICTIMS = f"groups.{PHONES}.users[*].flows[0].received_bytes"
ATTACKERS = f"groups.{ATTACK}.users[*].flows[0].received_bytes"


def bulk(
    o: Options,
    scheme: str,
    flows: int,
    *,
    policer: Policer | None = None,
    with_dropper: bool = False,
    greedy: float = 0.0,
    record: Table | None = None,
    duration: float | None = None,
    groups: Table | None = None,
    **more: Any,
) -> Scenario:
    """Section IV: long flows from the gateway to phones, all at once, with terminals that speak the scheme."""
    of = {PHONES: {"users": round(flows * (1 - greedy)), "tcp": tcp(o, scheme)}} if groups is None else groups
    if greedy:
        constant = {"kind": "constant", "window": quantity(o.greedy_window, "packets")}
        of = {**of, GREEDY: {"users": round(flows * greedy), "tcp": tcp(o, scheme, congestion_control=constant)}}
    if record is not None:
        more["record"] = dict(record)
    return lte(
        of,
        scheme=scheme,
        flavour=o.flavour,
        policer=None if policer is None else policer.table(o),
        dropper=dropper() if with_dropper else None,
        duration=quantity(duration or o.duration, "s"),
        **{"queue": queue(o, scheme), **more},
    )


def inside(
    o: Options,
    flows: int,
    *,
    every: float = 0.2,
    with_dropper: bool = False,
    policer: Policer | None = None,
    groups: Table | None = None,
    duration: float | None = None,
    **more: Any,
) -> Scenario:
    """The same with re-ECN inside the network; reports every `every` seconds, a round trip of the tunnel."""
    return lte(
        {PHONES: {"users": flows}} if groups is None else groups,
        deployment="infrastructure",
        flavour=o.flavour,
        policer=None if policer is None else policer.table(o),
        dropper=dropper() if with_dropper else None,
        report={"every": quantity(every * 1e3, "ms"), **more.pop("report", {})},
        gateway={"mode": o.reinsertion},
        duration=quantity(duration or o.duration, "s"),
        **{"queue": queue(o, REECN), **more},
    )


def wide(
    o: Options,
    p: float,
    *,
    flows: int = 1,
    duration: float | None = None,
    declared: float = 1.0,
    policer: Policer | None = None,
    control: Table | str = "newreno",
    conex: Table | None = None,
    **more: Any,
) -> Scenario:
    """Flows on a link that never fills and marks a constant share."""
    speaks = tcp(o, REECN, congestion_control=control)
    speaks["conex"] = {**speaks["conex"], "declared": declared, **(conex or {})}
    return lte(
        {PHONES: {"users": flows, "tcp": speaks}},
        flavour=o.flavour,
        bottleneck="1 Gbit/s",
        rate="1 Gbit/s",
        queue={**fixed(o, p), "limit": "10000 packets"},
        policer=None if policer is None else policer.table(o),
        duration=quantity(duration or o.duration, "s"),
        **more,
    )


def flood(mbps: float, users: int, start: float, until: float, path: Sequence[str]) -> dict[str, Any]:
    """Sources of datagrams that answer no mark and declare all: a round trip of reports to a stage in front of them."""
    return {
        "users": users,
        "path": list(path),
        "traffic": {
            "kind": "cbr",
            "rate": quantity(mbps, "Mbit/s"),
            "packet": quantity(PACKET_BYTES, "B"),
            "start": quantity(start, "s"),
            "until": quantity(until, "s"),
        },
    }


REPORTS: Mapping[str, Table] = {
    SOURCE: {"kind": "congestion-controller", "peer": SINK, "per": "user"},
    SINK: {"kind": "congestion-reporter", "peer": SOURCE, "per": "user", "every": "600 ms", "size": "40 B"},
}


HONEST, CHEAT, LEGACY = "honest", "cheat", "legacy"
"""Attackers: they declare every mark; they pass as re-ECN and declare nothing; they are not ECN-capable."""
DISGUISE: Table = {"kind": "rewriter", "ecn": "ect1", "re": True, "direction": "forward"}
"""What a cheat's packets all are: neutral, RECT."""
USUAL = "usual"
"""The one class of everybody else then."""
DEMOTE = "class"
"""The sanction that lets a packet go last."""


def attacked(
    o: Options,
    scheme: str,
    flows: int,
    policer: Policer | None,
    kind: str = HONEST,
    *,
    attackers: int | None = None,
    mbps: float | None = None,
    duration: float = 300.0,
    **more: Any,
) -> Scenario:
    """Section V-B: attackers at ten times a fair share each, beside long flows and a few users of pages.

    Args:
        policer: with a cheat the strict dropper stands at the base station as well.
        attackers: one for ten flows, unless it is said; 0: none.
        mbps: what each of them sends, unless it is ten times a fair share.
    """
    number = flows // 10 if attackers is None else attackers
    each = 10 * CAPACITY_MBPS / (flows + number) if mbps is None else mbps
    chain = ["pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb"]
    police = [] if policer is None else ["police"]
    drop = ["drop"] if kind == CHEAT and policer is not None else []
    path = {
        HONEST: [SOURCE, *police, *chain, SINK, RADIO],
        CHEAT: ["disguise", *police, *chain, *drop, RADIO],
        LEGACY: [*police, *chain, RADIO],
    }[kind]
    pages = {
        "kind": "web",
        "page_size": "30 kB",
        "think": {"exponential": "1 s"},
        "start": {"uniform": ["0 s", "5 s"]},
    }
    groups: dict[str, Any] = {
        PHONES: {"users": flows, "tcp": tcp(o, scheme)},
        WEB: {"users": 20, "tcp": tcp(o, scheme), "traffic": pages},
    }
    stages: dict[str, Any] = {}
    if number:
        groups[ATTACK] = flood(each, number, *ATTACK_S, path)
        disguise: dict[str, Any] = {"disguise": dict(DISGUISE)}
        stages = {HONEST: dict(REPORTS), CHEAT: disguise, LEGACY: {}}[kind]
    marker = queue(o, scheme)
    if policer is not None and policer.action == DEMOTE:
        # one class for everybody, so that nothing but the sanction decides which packets wait
        groups = {name: {**table, "class": USUAL} for name, table in groups.items()}
        marker["scheduler"] = {"kind": "strict", "order": [USUAL, LATE]}
    return bulk(
        o,
        scheme,
        flows,
        groups=groups,
        policer=policer,
        with_dropper=bool(drop) and bool(number),
        duration=duration,
        stages=stages,
        queue=marker,
        **more,
    )


CLASSES: Mapping[str, float] = {"one": 0.01, "two": 0.05, "three": 0.1, "four": 0.2}
"""p of the classes of Fig. 16; not stated."""
PREMIUM = "premium"


def classes(o: Options, flows: int, marks: str, premium: bool = False, **red: Any) -> Scenario:
    """Section V-B: flows of classes that one queue marks with different probabilities; `red` changes the queue."""
    p = {**CLASSES, **({PREMIUM: 0.0} if premium else {})}
    groups = {name: {"users": flows // len(p), "class": name, "tcp": tcp(o, REECN)} for name in p}
    if marks == "red":
        table = queue(o, REECN, class_probability=dict(p), **red)
    else:
        table = {**fixed(o, 0.0), "class_probability": dict(p)}
    record = series(*(f"groups.{name}.users[*].flows[0].received_bytes" for name in p))
    return bulk(o, REECN, flows, groups=groups, queue=table, record=record)
