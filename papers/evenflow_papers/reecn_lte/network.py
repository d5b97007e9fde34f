"""The paper's network (section IV) as scenarios, by `evenflow.lte`; one function a setting.

Equal settings give equal scenarios, so that experiments share runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenflow.lab import quantity
from evenflow.paper import Choices
from evenflow.scenario import Scenario
from evenflow.scenario.lte import BOTTLENECK, WIRED, lte, marker, sender
from evenflow.scenario.lte import RADIO as RADIO

CAPACITY_MBPS = 50.0
"""R2 to R3 (section IV)."""
RTT_S = 0.6
"""Five wired links of 20 ms and 200 ms of radio, both directions."""
PACKET_BYTES = 1000
"""Not stated."""
HEADER_BYTES = 40
"""IP and TCP; a SYN has no more."""
K = 1.5**0.5
"""Constant of TCP's rate with an ACK for each packet."""
PHONES, GREEDY, UNDER, ATTACK, SHORT, WEB = "phones", "greedy", "understating", "attack", "short", "web"
BACKGROUND, QUIET, CROSS = "background", "trickle", "cross"
LINK = BOTTLENECK
DT, RED, ECN, REECN, POLICED = "droptail", "red", "ecn", "re-ecn", "re-ecn policed"
SCHEMES = (DT, RED, ECN, REECN)
"""Values of the label `scheme`; `POLICED` has policer and dropper."""
INSIDE, END, RENO = "inside Re-ECN", "ECN", "Reno"
"""The schemes of figure 13."""
FLOWS = (10, 100)
DECIDES = 100
"""The flows that decide: after 300 s ten flows are all transient."""
LONG_S = 600.0
"""Ten flows are shown after such a run too."""
LEVEL = 0.95
BIN_S = 5.0
"""Bins of Figs. 11, 14 and 16."""
WINDOW_S = 10.0
"""The shortest window over which Fig. 12 has fairness."""
ATTACK_S = (100.0, 200.0)
"""Section V-B."""
SOURCE, SINK = "declare", "hear"
"""Stages that make a source of datagrams declare every mark."""
TIGHT = "A, tight"
"""Policer A that begins with 5 s and holds 20."""
METERS = ("before", "router", "between", "core", "behind", "station", "phone")
"""Of x-bal: before the first link, and behind each; the second and the fourth link mark."""
FAR, NEAR = "far", "near"
SENT, GOT = "sent", "got"
"""Meters of x-adds, before the first link and behind the last that marks."""
OUTSIDE = "internet"
"""The link before the tunnel of x-or."""
LEVELS = {"police": "tokens", "drop": "balance"}
"""Series of x-levels for every flow."""
ONE, TEN = "one-flow", "ten-flows"
CUST_R, CUST_DEPTH = 50.0, 2e4
"""Policer B of x-cust: bytes of congestion a second, and its depth."""
CHARGE_START = 1e5
"""Initial tokens of policer A in x-charge, s."""
POSITIVE, NEUTRAL, NO_ECN = "positive", "neutral", "legacy"
"""Classes of x-prio."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option of choices.toml."""

    flavour: str = "reno"
    red: str = "ns2"
    duration: float = 300.0
    credit_at_queues: str = "marked"
    reinsertion: str = "split"
    event_merge: str = "on"
    rtt_from: str = "given"
    retransmissions: str = "not-ect"
    counter: str = "three-bits"
    greedy_window: float = 75.0
    sanction: str = "drop-one"

    def with_tcp(self, tcp: str, red: str) -> Options:
        """The same with another TCP and RED, where a point names them."""
        return replace(self, flavour=tcp or self.flavour, red=red or self.red)

    @property
    def greedy(self) -> dict[str, Any]:
        """The congestion control of a greedy flow: a window that nothing reduces."""
        return {"kind": "constant", "window": quantity(self.greedy_window, "packets")}


@dataclass(frozen=True)
class Policer:
    """A policer; the paper gives no values.

    Attributes:
        rule: "A" (seconds, by flow), "A'" (bytes, by flow) or "B" (bytes of congestion, by user).
        r: tokens per second; for B bytes per second.
        start, most: seconds; for A' and B bytes.
        action: the sanction; empty: the option's.
    """

    rule: str = "A"
    r: float = 1.0
    start: float = 20.0
    most: float = 400.0
    action: str = ""

    def table(self, o: Options) -> dict[str, Any]:
        """The stage."""
        found: dict[str, Any] = {"kind": "congestion-policer", "per": "user", "action": self.action or o.sanction}
        bucket = {"depth": quantity(self.most, "B"), "level": self.start / self.most}
        if self.rule == "B":
            return {**found, "rule": "volume", "rate": quantity(self.r * 8, "bit/s"), **bucket}
        rtt = {"rtt": quantity(RTT_S * 1e3, "ms")} if o.rtt_from == "given" else {"rtt_from": o.rtt_from}
        found |= {"factor": self.r, "strangers": "own", **rtt}
        if self.rule == "A'":
            return {**found, "rule": "rate-bytes", **bucket}
        levels = {"start": quantity(self.start, "s"), "most": quantity(self.most, "s")}
        late = {"class": LATE} if self.action == DEMOTE else {}
        return {**found, "rule": "tcp-rate", **levels, "event_merge": o.event_merge == "on", **late}


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
        of = {**of, GREEDY: {"users": round(flows * greedy), "tcp": tcp(o, scheme, congestion_control=o.greedy)}}
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


def of_scheme(o: Options, scheme: str, n: int, **more: Any) -> Scenario:
    """A scheme by its label; `POLICED` has the default policer and the strict dropper."""
    if scheme == POLICED:
        return bulk(o, REECN, n, policer=Policer(), with_dropper=True, **more)
    return bulk(o, scheme, n, **more)


# --- Figures 5 to 13 --------------------------------------------------------------------------------------------------

BY_RATE = {"A": Policer(), TIGHT: Policer(start=5.0, most=20.0), "B": Policer("B", 100.0, 2e4, 6e4)}


def in_bytes(it: Policer, n: int) -> Policer:
    """Policer A', full at first: its bucket holds the bytes of a fair share in the initial seconds of a policer A."""
    bucket = it.start * CAPACITY_MBPS * 1e6 / 8 / n
    return replace(it, rule="A'", start=bucket, most=bucket)


def fill_rate(o: Options, policer: str, n: int, seconds: float, r: float) -> Scenario:
    """Figure 5."""
    it = in_bytes(Policer(), n) if policer == "A'" else BY_RATE[policer]
    return bulk(o, REECN, n, policer=replace(it, r=r), duration=seconds)


def marking(o: Options, marks: str, n: int, p: float, seconds: float = 0, tcp: str = "", red: str = "") -> Scenario:
    """Figure 6: p as RED's maximum, or constant."""
    it = o.with_tcp(tcp, red)
    marker = queue(it, REECN, max_probability=p) if marks == "red" else fixed(it, p)
    return bulk(it, REECN, n, queue=marker, duration=seconds)


def initial_tokens(o: Options, policer: str, n: int, seconds: float, greedy: float, start: float) -> Scenario:
    """Figure 7."""
    it = Policer("B", 100.0, start, 2e5) if policer == "B" else Policer(start=start)
    return bulk(o, REECN, n, policer=in_bytes(it, n) if policer == "A'" else it, greedy=greedy, duration=seconds)


def radio_delay(o: Options, scheme: str, n: int, delay: float) -> Scenario:
    """Figure 9."""
    return bulk(o, scheme, n, radio={"delay": quantity(delay, "ms")})


def wired_delay(o: Options, scheme: str, n: int, delay: float) -> Scenario:
    """Figure 9 with the delay of R2 to R3 varied, and 200 ms of radio."""
    return bulk(o, scheme, n).set(f"links.{LINK}.delay", quantity(delay, "ms"))


MIXED_MS = (5.0, 20.0, 50.0, 100.0, 200.0)
"""Delays of the radio links of one run, a fifth of the flows each."""


def delay_group(delay_ms: float) -> str:
    """The flows whose radio link has this delay."""
    return f"radio-{delay_ms:g}ms"


def mixed_delays(o: Options, scheme: str, n: int) -> Scenario:
    """Figure 9 with radio links of five delays in one run."""
    groups = {delay_group(d): {"users": n // len(MIXED_MS), "tcp": tcp(o, scheme)} for d in MIXED_MS}
    scenario = bulk(o, scheme, n, groups=groups)
    radio = dict(scenario.get(f"links.{RADIO}"))
    for d in MIXED_MS:
        path = list(scenario.get(f"groups.{delay_group(d)}.path"))
        scenario = scenario.set(f"links.{delay_group(d)}", {**radio, "delay": quantity(d, "ms")})
        scenario = scenario.set(f"groups.{delay_group(d)}.path", [*path[:-1], delay_group(d)])
    return scenario.unset(f"links.{RADIO}")


def wired_hops(o: Options, scheme: str, n: int, hops: int) -> Scenario:
    """Figure 10."""
    return bulk(o, scheme, n, hops=hops)


def narrow_hops(o: Options, scheme: str, n: int, hops: int) -> Scenario:
    """Every wired hop marks as R2 to R3 does; a fifth as many flows as cross the whole network cross it alone."""
    scenario = bulk(o, scheme, n, hops=hops)
    phones = scenario.get(f"groups.{PHONES}")
    chain = [it for it in phones["path"] if it not in (RADIO, WIRED[-1])]
    for link in (*chain, WIRED[-1]):
        scenario = scenario.set(f"links.{link}.rate", quantity(CAPACITY_MBPS, "Mbit/s"))
    for link in chain:
        mine = {**phones, "users": n // 5, "class": f"{CROSS}-{link}", "path": [link, RADIO]}
        scenario = scenario.set(f"links.{link}.queue", queue(o, scheme)).set(f"groups.{CROSS}-{link}", mine)
    return scenario


def background(o: Options, scheme: str, n: int, background: float) -> Scenario:
    """Figure 8 with datagrams at a constant rate from R2 on, instead of more flows."""
    groups: dict[str, Any] = {PHONES: {"users": n, "tcp": tcp(o, scheme)}}
    if background:
        traffic = {"kind": "cbr", "rate": quantity(background * CAPACITY_MBPS, "Mbit/s"), "packet": "1000 B"}
        groups[BACKGROUND] = {"users": 1, "path": [LINK, "r3-enb", RADIO], "traffic": traffic}
    return bulk(o, scheme, n, groups=groups)


def over_time(o: Options, scheme: str, n: int, seconds: float = 0, tcp: str = "", red: str = "") -> Scenario:
    """Figures 11 and 12: a scheme with its throughput, and every flow's."""
    both = [*series(THROUGHPUT)["series"], *series(VICTIMS, every=WINDOW_S)["series"]]
    return of_scheme(o.with_tcp(tcp, red), scheme, n, record={"series": both}, duration=seconds)


RADIOS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "independent": lambda e: {"loss": e},
    "bursts": lambda e: {"loss": {"probability": e, "burst": 5}},
    "RLC": lambda e: {"loss": {"probability": e, "retransmissions": 3, "retransmission_delay": "8 ms"}},
}
"""Radio errors one by one, in bursts of five (Gilbert-Elliott), and repaired below TCP (acknowledged mode)."""


def radio_errors(o: Options, scheme: str, n: int, e: float, seconds: float = 0, radio: str = "independent") -> Scenario:
    """Figure 13: re-ECN inside the network, ECN between terminals, Reno."""
    link = RADIOS[radio](e) if e else {}
    if scheme == INSIDE:
        return inside(o, n, radio=link, duration=seconds)
    return bulk(o, ECN if scheme == END else RED, n, radio=link, duration=seconds)


# --- Figures 14 to 16 -------------------------------------------------------------------------------------------------

HONEST, CHEAT, LEGACY, SINGLE = "honest", "cheat", "legacy", "single"
"""Attackers: they declare every mark; they pass as re-ECN and declare nothing; they are not ECN-capable; one honest
attacker of 45 Mbit/s with a hundred flows."""
FIRST = ("none", "drop-while-empty", "block")
"""The sanctions that the claims are about."""
DEMOTE = "class"
"""The sanction that lets a packet go last."""
SANCTIONS = ("none", "drop-one", "drop-while-empty", "block", "probability", DEMOTE)
LATE, USUAL = "late", "usual"
"""With `DEMOTE` the class of packets that go last, and the class of all others."""
REPORTS: Mapping[str, Table] = {
    SOURCE: {"kind": "congestion-controller", "peer": SINK, "per": "user"},
    SINK: {"kind": "congestion-reporter", "peer": SOURCE, "per": "user", "every": "600 ms", "size": "40 B"},
}
DISGUISE: Table = {"kind": "rewriter", "ecn": "ect1", "re": True, "direction": "forward"}
"""All packets of a cheat are neutral, RECT."""


def flood(mbps: float, users: int, start: float, until: float, path: Sequence[str]) -> dict[str, Any]:
    """Sources of datagrams that answer no mark."""
    traffic = {"kind": "cbr", "rate": quantity(mbps, "Mbit/s"), "packet": quantity(PACKET_BYTES, "B")}
    times = {"start": quantity(start, "s"), "until": quantity(until, "s")}
    return {"users": users, "path": list(path), "traffic": {**traffic, **times}}


def sanctioning(name: str, n: int) -> Policer | None:
    """The policer with a sanction.

    Policer A knows no rate whose excess could be dropped with a probability: that sanction is of A', whose bucket holds
    20 s of a fair share and is full at first.
    """
    if name == "none":
        return None
    if name != "probability":
        return Policer(action=name)
    return in_bytes(Policer(action=name), n)


def attacked(
    o: Options, scheme: str, flows: int, policer: Policer | None, kind: str = HONEST, number: int = 1, **more: Any
) -> Scenario:
    """Section V-B: `number` attackers for ten flows at ten times a fair share each, long flows, and users of pages.

    With a policer and cheats the strict dropper is at the base station too.
    """
    attackers = flows // 10 * number
    each = 10 * CAPACITY_MBPS / (flows + attackers)
    if kind == SINGLE:
        kind, attackers, each = HONEST, 1, 45.0
    chain = ["pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb"]
    police = [] if policer is None else ["police"]
    drop = ["drop"] if kind == CHEAT and policer is not None else []
    path, stages = {
        HONEST: ([SOURCE, *police, *chain, SINK, RADIO], dict(REPORTS)),
        CHEAT: (["disguise", *police, *chain, *drop, RADIO], {"disguise": dict(DISGUISE)}),
        LEGACY: ([*police, *chain, RADIO], {}),
    }[kind]
    start = {"uniform": ["0 s", "5 s"]}
    pages = {"kind": "web", "page_size": "30 kB", "think": {"exponential": "1 s"}, "start": start}
    groups: dict[str, Any] = {
        PHONES: {"users": flows, "tcp": tcp(o, scheme)},
        WEB: {"users": 20, "tcp": tcp(o, scheme), "traffic": pages},
    }
    if attackers:
        groups[ATTACK] = flood(each, attackers, *ATTACK_S, path)
    marker = queue(o, scheme)
    if policer is not None and policer.action == DEMOTE:
        # one class for all others, so that only the sanction decides which packets wait
        groups = {name: {**table, "class": USUAL} for name, table in groups.items()}
        marker["scheduler"] = {"kind": "strict", "order": [USUAL, LATE]}
    options: dict[str, Any] = {"groups": groups, "policer": policer, "with_dropper": bool(drop), "queue": marker}
    return bulk(o, scheme, flows, **options, stages=stages if attackers else {}, **{"duration": 300.0, **more})


def attack(o: Options, sanction: str, n: int, attackers: str, **more: Any) -> Scenario:
    """Figure 14: attackers of a kind, and a sanction."""
    record = series(THROUGHPUT, VICTIMS, ATTACKERS)
    it = sanctioning(sanction, n)
    return attacked(o, ECN if it is None else REECN, n, it, attackers, record=record, **more)


def pages(o: Options, sanction: str, n: int, attack: int) -> Scenario:
    """Figure 15: the attack alone, measured from its tenth second on."""
    it = sanctioning(sanction, n)
    scheme = ECN if it is None else REECN
    return attacked(o, scheme, n, it, number=attack, duration=200.0, warmup="110 s")


_tcp = tcp
CLASSES: Mapping[str, float] = {"one": 0.01, "two": 0.05, "three": 0.1, "four": 0.2}
"""p of the classes of Fig. 16; not stated."""
PREMIUM = "premium"


def classes(
    o: Options, marks: str, n: int = DECIDES, premium: int = 0, tcp: str = "", red: str = "", **changed: Any
) -> Scenario:
    """Figure 16: flows of classes that one queue marks with different probabilities; `changed`: of RED."""
    it = o.with_tcp(tcp, red)
    p = {**CLASSES, **({PREMIUM: 0.0} if premium else {})}
    groups = {name: {"users": n // len(p), "class": name, "tcp": _tcp(it, REECN)} for name in p}
    if marks == "red":
        table = queue(it, REECN, class_probability=dict(p), **changed)
    else:
        table = {**fixed(it, 0.0), "class_probability": dict(p)}
    record = series(*(f"groups.{name}.users[*].flows[0].received_bytes" for name in p))
    return bulk(it, REECN, n, groups=groups, queue=table, record=record)


PREMIUM_REDS = {"gentle": (True, 94), "hard": (False, 94), "far": (True, 188)}
"""RED's upper piece: as elsewhere, none (all is marked above the threshold), and out of the queue's reach."""


def premium(o: Options, upper: str) -> Scenario:
    """x-premium: a class of p = 0 under three upper pieces of RED."""
    gentle, most = PREMIUM_REDS[upper]
    return classes(o, "red", premium=1, gentle=gentle, max_threshold=f"{most} packets", limit="500 packets")


# --- Beyond the paper's figures ---------------------------------------------------------------------------------------

POLICERS = {
    0: Policer(r=1.0, start=CHARGE_START, most=1e6),
    1: Policer(start=20.0, most=40.0),
    2: Policer(start=20.0, most=40.0),
}
"""Of x-rate: a bucket that is never empty; a tight one; one that charges every positive packet."""
CHARGED = {"A": Policer(start=CHARGE_START, most=1e6), "B": Policer("B", 1e6, 1e9, 1e9)}
"""Of x-charge."""
TUNNEL = ("into", "gateway", "report", "out")


def constant_p(o: Options, p: float, declared: float, policed: int) -> Scenario:
    """x-rate: ten flows under a constant probability, with a policer."""
    it = replace(o, event_merge="off") if policed == 2 else o
    return wide(it, p, flows=10, declared=declared, policer=POLICERS[policed])


def _second_marker(o: Options, rate: str, p: float, limit: int) -> dict[str, Any]:
    """R1 to S-GW as a link that marks too."""
    return {"r1-sgw": {"rate": rate, "delay": "20 ms", "queue": {**fixed(o, p), "limit": f"{limit} packets"}}}


def _meters(*names: str) -> dict[str, Any]:
    return {name: {"kind": "congestion-meter"} for name in names}


def _without_marks(scenario: Scenario, duration: str) -> Scenario:
    """The same without marks, and an end before any window fills a link."""
    links = (f"links.{name}.queue.probability" for name in ("r1-sgw", LINK))
    return scenario.with_settings({**dict.fromkeys(links, 0.0), "duration": duration})


def balance(o: Options, p: float) -> Scenario:
    """x-bal: two queues that mark 1 and 2 %, with a meter before the first link, and behind each; or no marks."""
    links = _second_marker(o, "1 Gbit/s", 0.01, 10000)
    scenario = wide(o, 0.02, flows=20, duration=600.0, links=links, stages=_meters(*METERS))
    chain = ("pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb", RADIO)
    path = [METERS[0], *(it for pair in zip(chain, METERS[1:], strict=True) for it in pair)]
    both = scenario.set(f"groups.{PHONES}.path", path)
    return both if p else _without_marks(both, "7 s")


def sums(o: Options, run: str) -> Scenario:
    """x-adds: transfers that end long before the run does, so that no packet is in flight.

    "two paths": flows from afar cross two queues that mark, others the second alone. "colours": no link fills, so that
    nothing is lost. "answers": a server's first packets to a phone that asks.
    """
    chain = ["sgw-r2", LINK, GOT, "r3-enb", RADIO]
    afar = [SENT, "pgw-r1", "r1-sgw", *chain]
    start = {"uniform": ["0 s", "5 s"]}
    if run == "two paths":
        traffic = {"kind": "bulk", "start": start, "until": "60 s"}
        groups = {name: {"users": 20, "tcp": tcp(o, REECN), "traffic": traffic} for name in (FAR, NEAR)}
        links = _second_marker(o, "100 Mbit/s", 0.01, 1000)
        scenario = bulk(o, REECN, 40, groups=groups, duration=120.0, links=links, stages=_meters(SENT, GOT))
        return scenario.with_settings({f"groups.{FAR}.path": afar, f"groups.{NEAR}.path": [SENT, *chain]})
    links = _second_marker(o, "1 Gbit/s", 0.01, 10000)
    scenario = wide(o, 0.02, flows=20, duration=120.0, links=links, stages=_meters(SENT, GOT))
    scenario = scenario.with_settings({f"groups.{PHONES}.path": afar, f"groups.{PHONES}.traffic.until": "60 s"})
    if run == "colours":
        return scenario
    page = {"kind": "web", "page_size": "6 kB", "think": "1000 s", "start": {"uniform": ["0 s", "1 s"]}}
    return _without_marks(scenario, "10 s").set(f"groups.{PHONES}.traffic", page)


def charge(o: Options, policer: str, declared: float) -> Scenario:
    """x-charge: flows that declare all, or declare nothing and give no credit."""
    given = {} if declared else {"credit": "none"}
    return wide(o, 0.01, flows=10, declared=declared, policer=CHARGED[policer], conex=given, duration=100.0)


def _trickle() -> dict[str, Any]:
    """A source that keeps reports coming."""
    return {"users": 1, "traffic": {"kind": "cbr", "rate": "8 kbit/s", "packet": "1000 B"}}


def _one_tunnel(scenario: Scenario) -> Scenario:
    for stage in TUNNEL:
        scenario = scenario.unset(f"stages.{stage}.per")
    return scenario


def or_marks(o: Options) -> Scenario:
    """x-or: packets are marked before a tunnel, inside it and at the base station, and lost there.

    Sources stop before the run does, so that the last report arrives.
    """
    load = {"kind": "poisson", "rate": "4.6 Mbit/s", "packet": "1000 B", "until": "40 s", "ecn_capable": True}
    queue = {**fixed(o, 0.01), "action": "mark", "limit": "1000 packets"}
    marks = {"rate": "100 Mbit/s", "delay": "20 ms", "queue": queue}
    lossy = {**marks, "loss": 0.002}
    groups = {PHONES: {"users": 10, "traffic": load}, QUIET: _trickle()}
    links = {OUTSIDE: marks, "r1-sgw": lossy, "r3-enb": lossy}
    scenario = _one_tunnel(inside(o, 10, groups=groups, duration=60.0, links=links))
    # one link to all base stations: its marks and losses are compared with those of one tunnel. No source answers marks
    scenario = scenario.unset("links.r3-enb.per").set("stages.gateway.mode", "police")
    return scenario.set(f"groups.{PHONES}.path", [OUTSIDE, *scenario.get(f"groups.{PHONES}.path")])


def reports(o: Options, lost: float, rule: str) -> Scenario:
    """x-gtp: one tunnel for all, whose packets stop before the run does; two queues that mark; reports lost."""
    load = {"kind": "poisson", "rate": "5.2 Mbit/s", "packet": "1000 B", "until": "40 s"}
    groups = {PHONES: {"users": 10, "traffic": load}, QUIET: _trickle()}
    links = _second_marker(o, "100 Mbit/s", 0.005, 1000)
    scenario = inside(o, 10, groups=groups, report={"loss": lost}, duration=60.0, links=links)
    return _one_tunnel(scenario).set("stages.out.ecn", rule)


def blind(o: Options, sender: str, e: float) -> Scenario:
    """x-blind: senders that know their share and take no loss for congestion; and re-ECN."""
    radio = {"loss": e} if e else {}
    if sender == REECN:
        return bulk(o, REECN, DECIDES, radio=radio)
    share = int(CAPACITY_MBPS * 1e6 * RTT_S / (8 * PACKET_BYTES) / DECIDES)
    sack = replace(o, flavour="sack")
    oracle = tcp(sack, RED, congestion_control={"kind": "constant", "window": f"{share} packets"})
    return bulk(sack, RED, DECIDES, groups={PHONES: {"users": DECIDES, "tcp": oracle}}, radio=radio)


def levels(o: Options, n: int) -> Scenario:
    """x-levels: tokens and balance over time of honest, greedy and understating flows."""
    record = series(*(f"stages.{stage}[*].{what}" for stage, what in LEVELS.items()))
    speaks = tcp(o, REECN)
    groups = {
        PHONES: {"users": round(0.8 * n), "tcp": speaks},
        GREEDY: {"users": round(0.1 * n), "tcp": {**speaks, "congestion_control": o.greedy}},
        UNDER: {"users": round(0.1 * n), "tcp": {**speaks, "conex": {**speaks["conex"], "declared": 0.5}}},
    }
    police = Policer(action="drop-while-empty")
    return bulk(o, REECN, n, groups=groups, policer=police, with_dropper=True, record=record)


def depth(o: Options, n: int, depth: float) -> Scenario:
    """x-depth: honest flows behind buckets of several depths."""
    return bulk(o, REECN, n, policer=Policer(start=min(20.0, depth), most=depth))


def unresponsive(o: Options, mbps: float) -> Scenario:
    """x-flood: one unresponsive source behind policer A', under a constant probability of 1 %."""
    path = [SOURCE, "police", "pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb", SINK, RADIO]
    police = {"kind": "congestion-policer", "per": "user", "rule": "rate-bytes", "depth": "20 kB", "rtt": "600 ms"}
    stages = {"police": {**police, "strangers": "own"}, **REPORTS}
    groups = {ATTACK: flood(mbps, 1, 1.0, 300.0, path)}
    return bulk(o, REECN, 1, groups=groups, queue=fixed(o, 0.01), stages=stages, warmup="50 s", duration=300.0)


def understating(o: Options, rule: str, declared: float, control: str) -> Scenario:
    """x-cheat: TCP flows that declare a share of their congestion, or an unresponsive one."""
    if control == "TCP":
        return wide(o, 0.01, flows=10, declared=declared, dropper=dropper(rule))
    flat = {"kind": "constant", "window": "100 packets"}
    return wide(o, 0.05, flows=10, declared=declared, control=flat, dropper=dropper(rule), warmup="30 s")


def customers(o: Options, policed: int) -> Scenario:
    """x-cust: customers with one and with ten flows, behind policer B and without."""
    start = {"uniform": ["0 s", "5 s"]}
    groups = {
        name: {
            "users": users,
            "class": name,
            "tcp": tcp(o, REECN),
            "traffic": {"kind": "bulk", "flows": flows, "start": start},
        }
        for name, users, flows in ((ONE, 10, 1), (TEN, 9, 10))
    }
    tight = Policer("B", CUST_R, CUST_DEPTH, CUST_DEPTH, "drop-while-empty")
    return bulk(o, REECN, 100, groups=groups, policer=tight if policed else None)


def report_interval(o: Options, trips: int, dropper: int) -> Scenario:
    """x-int: reports once in so many round trips; and with a dropper."""
    return inside(o, 100, every=0.2 * trips, with_dropper=bool(dropper))


def first_seconds(o: Options, n: int) -> Scenario:
    """x-rank: the first ten seconds of an attack inside the network."""
    traffic = {"kind": "cbr", "rate": "4.5 Mbit/s", "packet": "1000 B", "start": "100 s"}
    groups = {PHONES: {"users": n}, ATTACK: {"users": 10, "traffic": traffic}}
    return inside(o, n, groups=groups, duration=110.0, warmup="100 s")


def bleached(o: Options, scheme: str, washed: int) -> Scenario:
    """x-bleach: terminals behind a middlebox that clears the ECN field and RE."""
    wash = {"wash": {"kind": "rewriter", "ecn": "not-ect", "re": False, "direction": "forward"}}
    stages = wash if washed else {}
    it = inside(o, 100, stages=stages) if scheme == INSIDE else bulk(o, REECN, 100, stages=stages)
    *path, last = it.get(f"groups.{PHONES}.path")
    return it.set(f"groups.{PHONES}.path", [*path, "wash", last]) if washed else it


def preference(o: Options) -> Scenario:
    """x-prio: an overloaded queue with drop preference: legacy packets, neutral ones and ones that all declare."""
    groups = {}
    for name, declared in ((POSITIVE, 100.0), (NEUTRAL, 0.0), (NO_ECN, None)):
        flat = {"kind": "constant", "window": "400 packets"}
        speaks = tcp(o, RED if declared is None else REECN, congestion_control=flat)
        if declared is not None:
            # this queue marks nothing: there are only losses to declare
            speaks["conex"] = {**speaks["conex"], "report": "loss", "declared": declared}
        groups[name] = {"users": 5, "class": name, "tcp": speaks}
    queue = {"kind": "drop-preference", "limit": "250 packets", "step": "40 packets"}
    return bulk(o, REECN, 15, groups=groups, queue=queue, duration=120.0)


def short_and_long(o: Options, scheme: str, n: int) -> Scenario:
    """x-mix: long flows with many short ones."""
    speaks = tcp(o, REECN if scheme == POLICED else scheme)
    short = {"kind": "short-flows", "interval": {"exponential": "4 s"}, "size": {"pareto": ["30 kB", 1.2]}}
    groups = {
        PHONES: {"users": n // 5, "tcp": speaks},
        SHORT: {"users": n - n // 5, "tcp": speaks, "traffic": short},
    }
    return of_scheme(o, scheme, n, groups=groups)
