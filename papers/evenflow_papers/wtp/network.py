"""The paper's two networks as scenarios: one link, and R1–R2–R3 with connections over one link or both (Fig. 2).

One function a setting, with the labels that an experiment gives a point. Equal settings give equal scenarios, so that
experiments share runs. Rates count packets of `Options.packet` bytes with every header. No packet is ever dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evenflow.lab import quantity
from evenflow.paper import Choices
from evenflow.scenario import Scenario

CAPACITY_MBPS = 10.0
"""Every link of the paper, Mbit/s (captions of Figs. 3 to 11)."""
RTT_MS = 200.0
"""Round trip of the single link: propagation, both directions (captions of Figs. 3, 4, 8 to 11)."""
RTT_S = RTT_MS / 1e3
RTT23_MS = 100.0
"""Round trip of R2–R3."""
BUFFER_PACKETS = 30
"""B: the buffer that the virtual queue imitates, and RED's mark-always threshold; the real buffer is unlimited."""
GAIN = 0.5
"""κ̄, gain per round trip (captions of Figs. 3 to 11)."""
CONNECTIONS = 10
"""N of Figs. 3, 4 and 11."""
EACH = 5
"""Connections of each class on two links (captions of Figs. 5 to 7)."""
HEADER_BYTES = 40
DURATION_S = 180.0
WARMUP_S = 60.0
"""Throughput is that of [60, 180] s (section 5.1)."""
START: Mapping[str, Any] = {"uniform": ["0 s", "5 s"]}
"""Start of each connection (section 5.1)."""
NEAR_MS = 40.0
"""One-way delay of the access links; the rest of half a round trip is behind. Enough to spread round trips by 25 %."""
FAR_MS = 15.0
"""The same for connections that enter at R2, and behind R3 for those that cross both links."""
LEVEL = 0.90
"""Confidence level of the paper's intervals (section 5.1)."""

RED, VQ, LB = "RED", "VQ", "LB"
MARKERS = (RED, VQ, LB)
"""Values of the label ``marker``."""
PI, IPD = "PI", "IPD"
"""Values of the label ``form``: proportional increase (Eq. 4) and inversely proportional decrease (Eq. 6)."""
FORMS = {PI: "proportional-increase", IPD: "inverse-decrease"}
WTP, MULTCP = "WTP", "MulTCP"
"""Values of the label ``control``."""

LINK = "bottleneck"
R12, R23, R34 = "r1-r2", "r2-r3", "r3-r4"
"""Links of the second network; groups ``one`` (R1–R2), ``two`` (R2–R3), ``both``; with a third ``three``, ``all``."""
WINDOW = "groups.tagged.users[0].flows[0].window"
QUEUE_SERIES = f"links.{LINK}.queue.packets"
PROBABILITY_SERIES = f"links.{LINK}.queue.probability"
"""Load-based marking's probability."""
LOAD_SERIES = f"links.{LINK}.queue.load"
MARKING_SERIES = f"links.{LINK}.queue.marking"
"""1 while a virtual queue's overflow lasts."""
ARRIVED_SERIES = f"links.{LINK}.arrived_bytes"
"""Bytes offered since the previous sample."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option of choices.toml."""

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
    base_weight: float = 1.0
    marked_ack: str = "increase"


# --- Markers (section 4) --------------------------------------------------------------------------------------------


def red(
    o: Options, min_threshold: float = 5, max_threshold: float = 15, max_probability: float = 0.1, weight: float = 0.002
) -> Table:
    """RED in its gentle form that marks where it would drop (section 4.1); thresholds in packets."""
    table = {
        "kind": "red",
        "variant": "ns2",
        "spread": "bernoulli" if o.red_spread == "none" else o.red_spread,
        "gentle": True,
        "min_threshold": quantity(min_threshold, "packets"),
        "max_threshold": quantity(max_threshold, "packets"),
        "max_probability": max_probability,
        "weight": weight,
        "mean_packet": quantity(o.packet, "B"),
        "action": "mark-everything",
    }
    return table | ({"mark_all_above": quantity(BUFFER_PACKETS, "packets")} if o.red_limit == "mark" else {})


def virtual_queue(
    o: Options, theta: float = 0.95, buffer: float = BUFFER_PACKETS, buffer_factor: float | None = None
) -> Table:
    """A virtual buffer of θB served at θC (section 4.2); `buffer_factor` where θ is another for the buffer."""
    return {
        "kind": "virtual-queue",
        "rate_factor": theta,
        "buffer_factor": theta if buffer_factor is None else buffer_factor,
        "buffer": quantity(buffer, "packets"),
        "mark": o.vq_mark,
    }


def load_based(o: Options, target: float = 0.6, gain: float = 0.71, interval_s: float = 0.5) -> Table:
    """Marks with probability min(α(ρ − ρ0), 1), ρ measured over t_avg (section 4.3)."""
    return {
        "kind": "load-based",
        "target": target,
        "gain": gain,
        "interval": quantity(interval_s, "s"),
        "count": o.load_count,
        "window": o.load_window,
    }


def constant(probability: float) -> Table:
    """Independent marks with one probability, whatever the load."""
    return {"kind": "constant-probability", "probability": probability}


def standard(o: Options) -> Mapping[str, Table]:
    """The three markers with the parameters of Figs. 3 to 7."""
    return {RED: red(o), VQ: virtual_queue(o), LB: load_based(o)}


def of_figure_8(o: Options) -> Mapping[str, Table]:
    """The three markers with the parameters of Fig. 8."""
    return {**standard(o), RED: red(o, 2, 6, 0.1, 0.02)}


# --- Connections (section 3) ----------------------------------------------------------------------------------------


def wtp(o: Options, form: str = PI, *, gain: float = GAIN, weights: tuple[float, float] | None = None) -> Table:
    """Willingness to pay with its per-packet feedback; `weights` are (increase, decrease), else the group's weight."""
    control: dict[str, Any] = {"kind": "wtp", "gain": gain, "start": o.start}
    if o.marked_ack != "increase":
        control["marked_ack"] = o.marked_ack
    if weights is None:
        control["form"] = FORMS[form]
    else:
        control |= {"form": "general", "increase_weight": weights[0], "decrease_weight": weights[1]}
    return _tcp(o, control, "per-packet")


EACH_OWN, ECHO, EVERY = "once per round trip", "once per round trip, echo of RFC 3168", "at every mark"
"""Values of the label ``reaction``."""
REACTIONS = {
    EACH_OWN: ("once-per-rtt", "per-packet"),
    ECHO: ("once-per-rtt", "classic"),
    EVERY: ("every-mark", "per-packet"),
}


def multcp(o: Options, reaction: str = "") -> Table:
    """MulTCP, whose N is the group's weight (Crowcroft and Oechslin 1998); with a reaction whatever the options say."""
    react, feedback = REACTIONS.get(reaction, (o.multcp_react, o.multcp_feedback))
    # a reaction to each mark needs the per-packet echo: no other reports each mark
    feedback = "per-packet" if react == "every-mark" else feedback
    return _tcp(o, {"kind": "multcp", "react": react}, feedback)


def controlled(o: Options, control: str, reaction: str = "") -> Table:
    """One of the two controls with proportional increase."""
    return wtp(o) if control == WTP else multcp(o, reaction)


def _tcp(o: Options, control: Table, feedback: str) -> Table:
    return {
        "stack": "ns2",
        "congestion_control": dict(control),
        "ecn": feedback,
        "mss": quantity(o.packet - HEADER_BYTES, "B"),
        "header": quantity(HEADER_BYTES, "B"),
    }


@dataclass(frozen=True)
class Connections:
    """`count` endless connections of one weight; `tcp` as `wtp` or `multcp` give it."""

    count: int
    tcp: Table
    weight: float = 1.0
    start: Any = field(default_factory=lambda: dict(START))


Groups = dict[str, Connections]


def pair(o: Options, population: str, r: float, tcp: Table, base: float = 1.0) -> Groups:
    """Figs. 3, 4 and 11a: groups ``light`` (weight `base`) and ``heavy`` (r times that); A is 5 + 5, B is 9 + 1."""
    light, heavy = {"A": (5, 5), "B": (9, 1)}[population]
    return {"light": Connections(light, tcp, base), "heavy": Connections(heavy, tcp, r * base)}


def ladder(tcp: Table, base: float = 1.0, most: int = CONNECTIONS) -> Groups:
    """Population C: one connection of each weight from `base` to `most` times that, groups ``w1``, ``w2``, …"""
    return {f"w{weight}": Connections(1, tcp, weight * base) for weight in range(1, most + 1)}


def halves(n: int, tcp: Table, weights: tuple[float, float] = (1.0, 6.0)) -> Groups:
    """Figs. 8 to 10: half of `n` connections with each weight, an odd one with the lower (``light`` and ``heavy``)."""
    groups = {"light": Connections(n - n // 2, tcp, weights[0]), "heavy": Connections(n // 2, tcp, weights[1])}
    return {name: group for name, group in groups.items() if group.count > 0}


MIXED, ONES = "1 and 6", "1"
MIXES: Mapping[str, tuple[float, ...]] = {MIXED: (1.0, 6.0), ONES: (1.0,), "6": (6.0,)}
"""Values of the label ``weights``: half of the connections with each weight, or one weight for all."""
MEAN_WEIGHT = 3.5


def mixes(o: Options) -> tuple[str, ...]:
    """The experiments that "w = 1 and 6" stands for."""
    return (MIXED,) if o.mixture == "half" else (ONES, "6")


def mean_weight(mix: str) -> float:
    """Of a connection."""
    return sum(MIXES[mix]) / len(MIXES[mix])


def count(mix: str, n: int) -> int:
    """Connections with the sum of weights of `n` connections of weights 1 and 6."""
    return max(1, round(n * MEAN_WEIGHT / mean_weight(mix)))


def mixed(mix: str, n: int, tcp: Table, factor: float = 1.0) -> Groups:
    """`n` connections whose weights are `factor` times those of the mix."""
    low, *high = (weight * factor for weight in MIXES[mix])
    return halves(n, tcp, (low, high[0])) if high else {"all": Connections(n, tcp, low)}


# --- Networks (Fig. 2) ----------------------------------------------------------------------------------------------


def single_link(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    *,
    rtt_ms: float = RTT_MS,
    spread: float | None = None,
    record: Table | None = None,
    duration_s: float = DURATION_S,
    warmup_s: float = WARMUP_S,
) -> Scenario:
    """Fig. 2a. `spread` replaces `Options.rtt_spread`; the link is named ``bottleneck``."""
    share = o.rtt_spread if spread is None else spread
    # long round trips, too, can be spread by 25 %
    near_ms = max(NEAR_MS, rtt_ms / 8)
    links: dict[str, Any] = {LINK: _link(marker, rtt_ms / 2 - near_ms)}
    paths = {
        name: [_access(o, links, name, group.count, rtt_ms, share, near_ms), LINK] for name, group in groups.items()
    }
    return _scenario(links, groups, paths, record, duration_s, warmup_s)


def two_links(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    *,
    rtt12_ms: float = RTT_MS,
    capacity23_mbps: float = CAPACITY_MBPS,
) -> Scenario:
    """Fig. 2b: R1–R2–R3, both links with the same marker; groups ``one``, ``two``, ``both`` (any of them).

    A connection over both links has the sum of the two round trips, the first half of the first before R2.
    """
    hops = {"one": (R12, rtt12_ms, CAPACITY_MBPS), "two": (R23, RTT23_MS, capacity23_mbps)}
    return _chain(o, marker, groups, hops, "both")


def three_links(o: Options, marker: Table, groups: Mapping[str, Connections]) -> Scenario:
    """Fig. 2b with a link more: R1–R2–R3–R4, all with the same marker; groups ``one``, ``two``, ``three``, ``all``."""
    rtts_ms = {"one": (R12, RTT_MS), "two": (R23, RTT23_MS), "three": (R34, RTT23_MS)}
    return _chain(o, marker, groups, {name: (*hop, CAPACITY_MBPS) for name, hop in rtts_ms.items()}, "all")


def _chain(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    hops: Mapping[str, tuple[str, float, float]],
    long: str,
) -> Scenario:
    """Links in a row, each with the group that crosses it alone, and the group ``long`` over all of them.

    Args:
        hops: by group its link, the link's round trip in ms and its rate in Mbit/s.
    """
    links: dict[str, Any] = {}
    ways: dict[str, tuple[float, float, list[str]]] = {}
    whole_ms = sum(rtt_ms for _, rtt_ms, _ in hops.values())
    entry_ms = max(NEAR_MS, whole_ms / 8)
    for name, (link, rtt_ms, mbps) in hops.items():
        near_ms = FAR_MS if links else entry_ms
        links[link] = _link(marker, rtt_ms / 2 - near_ms, mbps)
        ways[name] = (near_ms, rtt_ms, [link])
    # a long connection has no access links at the inner routers: their delays follow behind the last
    ways[long] = (entry_ms, whole_ms, [*links, "behind"])
    links["behind"] = {"delay": quantity(FAR_MS * (len(hops) - 1), "ms")}
    paths = {}
    for name, group in groups.items():
        near_ms, rtt_ms, way = ways[name]
        # one access link a group: the groups' delays differ
        paths[name] = [_access(o, links, name, group.count, rtt_ms, o.rtt_spread, near_ms, own=True), *way]
    used = {link for path in paths.values() for link in path}
    return _scenario({n: t for n, t in links.items() if n in used}, groups, paths)


def _link(marker: Table, delay_ms: float, rate_mbps: float = CAPACITY_MBPS) -> dict[str, Any]:
    return {"rate": quantity(rate_mbps, "Mbit/s"), "delay": quantity(delay_ms, "ms"), "queue": dict(marker)}


def _access(
    o: Options,
    links: dict[str, Any],
    group: str,
    count: int,
    rtt_ms: float,
    spread: float,
    near_ms: float,
    *,
    own: bool = False,
) -> str:
    """Add the access links of a group and return their name; with a spread, delays evenly dealt around the middle."""
    name = f"access-{group}" if own or spread else "access"
    delay: Any = quantity(near_ms, "ms")
    if spread:
        delay = {"values": [quantity(near_ms + rtt_ms / 2 * spread * at, "ms") for at in evenly(count)]}
    links[name] = {"rate": quantity(o.access, "Mbit/s"), "delay": delay, "per": "user"}
    return name


def evenly(count: int) -> list[float]:
    """`count` places from −1 to 1 with equal steps; a single one is in the middle."""
    return [2 * i / (count - 1) - 1 for i in range(count)] if count > 1 else [0.0]


def _scenario(
    links: Mapping[str, Any],
    groups: Mapping[str, Connections],
    paths: Mapping[str, Sequence[str]],
    record: Table | None = None,
    duration_s: float = DURATION_S,
    warmup_s: float = WARMUP_S,
) -> Scenario:
    tree: dict[str, Any] = {
        "duration": quantity(duration_s, "s"),
        "warmup": quantity(warmup_s, "s"),
        "links": dict(links),
        "groups": {
            name: {
                "users": group.count,
                "path": list(paths[name]),
                "traffic": {"kind": "bulk", "start": group.start},
                "tcp": dict(group.tcp),
            }
            # the control itself has the explicit weights of the general form
            | ({} if group.weight == 1 else {"weight": group.weight})
            for name, group in groups.items()
        },
    }
    return Scenario(tree | ({"record": dict(record)} if record else {}))


def series(every: str, *names: str) -> list[Table]:
    """Recorded series."""
    return [{"of": name, "every": every} for name in names]


# --- Figures 1, 3 and 4: one link -----------------------------------------------------------------------------------

TAGGED, OTHERS = "tagged", "others"
"""Figure 1's connection, and those around it."""
CONSTANT, NETWORK = "constant probability", "among ten"
"""Values of the label ``place``: independent marks, or one of ten connections under load-based marking."""
TAGGED_START_S = 60.0
"""In the network: when the nine others have settled."""
OTHERS_WEIGHT = 2.0
"""Of each of the nine others: ten connections then see about the probability of the other setting, 0.1."""
LOOK = "200 ms"
"""How often windows are sampled: once a round trip."""


def traced(o: Options, place: str, increase: float, decrease: float, p: float = 0.1) -> Scenario:
    """Figure 1: the window of one connection under independent marks, or of one that joins nine others."""
    look = {"series": series(LOOK, WINDOW)}
    tcp = wtp(o, weights=(increase, decrease))
    if place == CONSTANT:
        alone = {TAGGED: Connections(1, tcp, start="0 s")}
        return single_link(o, constant(p), alone, record=look, warmup_s=100, duration_s=220)
    tagged = Connections(1, tcp, start=quantity(TAGGED_START_S, "s"))
    groups = {TAGGED: tagged, OTHERS: Connections(CONNECTIONS - 1, wtp(o), OTHERS_WEIGHT)}
    return single_link(o, load_based(o), groups, record=look, warmup_s=160, duration_s=280)


def shared(
    o: Options,
    marker: str,
    population: str,
    r: float = 1.0,
    form: str = PI,
    base_weight: float | None = None,
    gain: float = GAIN,
    spread: float | None = None,
    record: Table | None = None,
    **how: Any,
) -> Scenario:
    """Figures 3 and 4: ten connections of a population on one link."""
    base = o.base_weight if base_weight is None else base_weight
    tcp = wtp(o, form, gain=gain)
    groups = ladder(tcp, base) if population == "C" else pair(o, population, r, tcp, base)
    return single_link(o, standard(o)[marker], groups, spread=spread, record=record, **how)


def equal(o: Options, marker: str) -> Scenario:
    """Ten equal connections."""
    return single_link(o, standard(o)[marker], {"equal": Connections(CONNECTIONS, wtp(o))})


def windows(o: Options, marker: str, form: str, r: float) -> Scenario:
    """Population A with every window recorded."""
    names = (f"groups.{group}.users[*].flows[0].window" for group in ("light", "heavy"))
    return shared(o, marker, "A", r, form, record={"series": series(LOOK, *names)})


PACKETS_WARMUP_S = {PI: 20.0, IPD: 60.0}
PACKETS_S = 30.0
"""Runs of which every packet is recorded are short: a proportional increase settles within 5 s at these
probabilities, an inversely proportional decrease in 10 times that at r = 10."""


def packets(o: Options, marker: str, form: str, r: float) -> Scenario:
    """Population A with every arrival recorded, for a short time."""
    start = PACKETS_WARMUP_S[form]
    record = {"events": ["arrival"]}
    return shared(o, marker, "A", r, form, record=record, warmup_s=start, duration_s=start + PACKETS_S)


OVERFLOW = "marks the overflow only"
"""The variant that can mark at most 1 − θ of the packets: windows grow until the round trip does."""
GAINS = (0.25, 1.0, 2.0)
"""Other gains than the paper's 0.5."""


@dataclass(frozen=True)
class Variant:
    """One setting that differs from figures 3 and 4; `red`: whether it matters under RED."""

    options: Options
    population: str
    spread: float | None = None
    red: bool = True
    gain: float = GAIN


def variants(o: Options) -> dict[str, Variant]:
    """In words, the settings that differ; the first is figures 3 and 4 themselves."""
    usual = Variant(o, o.population if o.population != "C" else "A")
    other = "B" if usual.population == "A" else "A"

    def with_options(**changes: Any) -> Variant:
        return replace(usual, options=replace(o, **changes), red="vq_mark" not in changes)

    found = {
        f"population {usual.population}": usual,
        f"population {other}": replace(usual, population=other),
        "population C": replace(usual, population="C"),
        "marks at departure": with_options(vq_mark="busy-departure"),
        OVERFLOW: with_options(vq_mark="overflow"),
    }
    found |= {f"RTT ± {share:.0%}": replace(usual, spread=share) for share in (0.05, 0.25)}
    found |= {f"access at {mbps} Mbit/s": with_options(access=mbps) for mbps in (20, 1000)}
    found |= {f"packets of {size} B": with_options(packet=size) for size in (500, 1500)}
    found["slow start until a mark"] = with_options(start="slow-start-until-mark")
    return found | {f"gain {gain:g}": replace(usual, gain=gain) for gain in GAINS}


def varied(o: Options, variant: str, form: str, marker: str, r: float = 1.0) -> Scenario:
    """Figures 3 and 4 with one setting that differs."""
    it = variants(o)[variant]
    return shared(it.options, marker, it.population, r, form, o.base_weight, it.gain, it.spread)


# --- Figures 5 to 7 and Table 1: two links --------------------------------------------------------------------------

NARROW, WIDE = "R2–R3 at 5 Mbit/s", "R2–R3 at 20 Mbit/s"
CHAIN, SHARED = "three links", "three links, each shared"
TOPOLOGIES = (NARROW, WIDE, CHAIN, SHARED)
"""Values of the label ``topology``: Fig. 6 with another second link, and over three links. In the last, five
connections cross each link alone."""
SMALLER_PACKET = 920
"""Bytes with which Table 1's marking probabilities come out."""


def rtt_of(group: str, rtt12_ms: float = RTT_MS) -> float:
    """Round trip of a group of two or three links, ms."""
    trips = {"one": rtt12_ms, "two": RTT23_MS, "three": RTT23_MS, "both": rtt12_ms + RTT23_MS}
    return {**trips, "all": rtt12_ms + 2 * RTT23_MS}[group]


def per_round_trip(o: Options, marker: str, r: float, rtt12_ms: float, third: bool = True) -> Scenario:
    """Figs. 5 and 7 (with a third class, over R2–R3 alone): w̄ = 1 a round trip, and r over both links."""
    tcp = wtp(o)
    groups = {"one": Connections(EACH, tcp), "both": Connections(EACH, tcp, r)}
    if third:
        groups["two"] = Connections(EACH, tcp)
    return two_links(o, standard(o)[marker], groups, rtt12_ms=rtt12_ms)


def _per_second(tcp: Table, groups: Sequence[str], long: str, r: float) -> Groups:
    """Five connections a group, w̄ in proportion to the round trip; the long ones have r times that."""
    return {
        name: Connections(EACH, tcp, weight * rtt_of(name) / RTT_MS)
        for name, weight in (*((group, 1.0) for group in groups), (long, float(r)))
    }


def per_second(o: Options, marker: str, r: float, capacity23_mbps: float = CAPACITY_MBPS) -> Scenario:
    """Fig. 6: w̄ in proportion to the round trip, so that r is the ratio of willingness to pay per second."""
    groups = _per_second(wtp(o), ["one"], "both", r)
    return two_links(o, standard(o)[marker], groups, capacity23_mbps=capacity23_mbps)


def topology(o: Options, topology: str, marker: str, r: float) -> Scenario:
    """One of `TOPOLOGIES`, w̄ in proportion to the round trip."""
    if topology in (NARROW, WIDE):
        return per_second(o, marker, r, {NARROW: 5.0, WIDE: 20.0}[topology])
    groups = ["one", "two", "three"] if topology == SHARED else ["one"]
    return three_links(o, standard(o)[marker], _per_second(wtp(o), groups, "all", r))


def table_ways(o: Options) -> dict[str, Options]:
    """Table 1 with one setting that differs: in words, the options."""
    return {
        "as in Table 1": o,
        "independent marks": replace(o, red_spread="bernoulli"),
        "ns-2's count rule": replace(o, red_spread="ns2"),
        "nothing marked for B": replace(o, red_limit="ignore"),
        "no increase on a marked ACK": replace(o, marked_ack="none"),
        f"packets of {SMALLER_PACKET} B": replace(o, packet=SMALLER_PACKET),
        "slow start until a mark": replace(o, start="slow-start-until-mark"),
        "access at 20 Mbit/s": replace(o, access=20),
        "access at 1000 Mbit/s": replace(o, access=1000),
        "round trips ± 5 %": replace(o, rtt_spread=0.05),
    }


def table_1(o: Options, marker: str, r: float, rtt12_ms: float, how: str = "as in Table 1") -> Scenario:
    """A row of Table 1, which is Fig. 7 at r = 1."""
    return per_round_trip(table_ways(o)[how], marker, r, rtt12_ms)


def by_figure(o: Options, marker: str, r: float, figure: str, rtt12_ms: float = RTT_MS) -> Scenario:
    """A point of Fig. 3 or 4 (population A), 5, 6, 7 or Table 1."""
    if figure in ("fig03", "fig04"):
        return shared(o, marker, "A", r, PI if figure == "fig03" else IPD)
    return per_second(o, marker, r) if figure == "fig06" else per_round_trip(o, marker, r, rtt12_ms, figure != "fig05")


# --- Figures 8 to 10: marking probability against utilisation -------------------------------------------------------

STEP_S = 100.0
"""When the load steps up, s."""
STEP_N = 8
"""Step of the load: 8 connections, and 8 more (section 5.4)."""
USUAL, DEAF = "as in the paper", "Poisson"
"""Values of the label ``how``; `DEAF`: traffic that ignores marks, whose ``n`` is the offered load in percent."""
SMALL_GAINS = (0.25, 0.125, 0.05)
LONG_RTT_MS = 800.0
"""Longer than any marking period."""
BUFFER_WAYS: Mapping[str, Mapping[str, Any]] = {
    USUAL: {},
    **{f"κ̄ = {gain:g}": {"gain": gain} for gain in SMALL_GAINS},
    # the same weights per second, so that the loads are the same
    f"round trip {LONG_RTT_MS:g} ms": {"factor": LONG_RTT_MS / RTT_MS, "rtt_ms": LONG_RTT_MS},
}


def loaded(
    o: Options,
    marker: Table,
    weights: str,
    n: int,
    form: str = PI,
    *,
    gain: float = GAIN,
    factor: float = 1.0,
    tcp: Table | None = None,
    **how: Any,
) -> Scenario:
    """One link with `n` connections of a mix.

    Args:
        factor: on all weights.
        tcp: parameters of the connections that replace the usual ones.
        how: further arguments of `single_link`.
    """
    return single_link(o, marker, mixed(weights, n, {**wtp(o, form, gain=gain), **(tcp or {})}, factor), **how)


def figure_8(o: Options, marker: str, form: str, weights: str, n: int) -> Scenario:
    """A load under one of the three markers."""
    return loaded(o, of_figure_8(o)[marker], weights, n, form)


def figure_9(o: Options, marker: str, weights: str, n: int) -> Scenario:
    """A load under markers that are tuned to be alike."""
    alike = {RED: red(o, 3, 9, 0.95, 0.002), VQ: virtual_queue(o), LB: load_based(o, 0.7, 2)}
    return loaded(o, alike[marker], weights, n)


def figure_10(o: Options, theta: float, buffer: float, weights: str, n: int) -> Scenario:
    """A load under the virtual queue."""
    return loaded(o, virtual_queue(o, theta, buffer), weights, n)


def other_trip(o: Options, marker: str, rtt_ms: float, weights: str, n: int) -> Scenario:
    """A round trip with gain and weights per second kept: κ̄ and the weights grow with it (section 5.2)."""
    factor = rtt_ms / RTT_MS
    return loaded(o, of_figure_8(o)[marker], weights, n, gain=GAIN * factor, factor=factor, rtt_ms=rtt_ms)


def load_marked(o: Options, alpha: float, rho0: float, t_avg: float, weights: str, n: int) -> Scenario:
    """A load under load-based marking."""
    return loaded(o, load_based(o, rho0, alpha, t_avg), weights, n)


def load_step(o: Options, t_avg: float, panel: str) -> Scenario:
    """8 connections, and with the step 8 more at 100 s: measured from there on."""
    tcp, stepped = wtp(o), panel == "step"
    late = {"uniform": [quantity(STEP_S, "s"), quantity(STEP_S + RTT_S, "s")]}
    groups = {
        f"{when}-{weight:g}": Connections(STEP_N // 2, tcp, weight, start)
        for when, start in (("early", dict(START)), *([("late", late)] if stepped else []))
        for weight in MIXES[MIXED]
    }
    looks = series("100 ms", PROBABILITY_SERIES) + (series("10 ms", QUEUE_SERIES) if stepped else [])
    return single_link(o, load_based(o, interval_s=t_avg), groups, warmup_s=STEP_S, record={"series": looks})


def red_marked(o: Options, max_p: float, weights: str, n: int) -> Scenario:
    """A load under RED with thresholds of 3 and 9 packets."""
    return loaded(o, red(o, 3, 9, max_p, 0.002), weights, n)


def bursts(o: Options, marker: str, form: str, weights: str, n: int) -> Scenario:
    """A load with queue, windows and arrivals recorded."""
    names = (f"groups.{group}.users[*].flows[*].window" for group in mixed(weights, 2, {}))
    record = {"series": series("10 ms", ARRIVED_SERIES, QUEUE_SERIES) + series(LOOK, *names)}
    return loaded(o, of_figure_8(o)[marker], weights, n, form, record=record)


def periods(o: Options, buffer: float, weights: str, n: int) -> Scenario:
    """The virtual queue's state at every packet."""
    record = {"series": series("packet", MARKING_SERIES)}
    return loaded(o, virtual_queue(o, buffer=buffer), weights, n, record=record, duration_s=120)


def factors(o: Options, buffer: float, how: str, weights: str, n: int) -> Scenario:
    """Footnote 5: a buffer B at θ, or a buffer 2B with half of θ as the buffer's factor: the same virtual buffer."""
    same = virtual_queue(o, buffer=2 * buffer, buffer_factor=0.95 / 2)
    return loaded(o, virtual_queue(o, buffer=buffer) if how == "one factor" else same, weights, n)


def other_buffer(o: Options, how: str, buffer: float, weights: str, n: int) -> Scenario:
    """Fig. 10b with a smaller gain, with a longer round trip, or under traffic that ignores marks."""
    marker = virtual_queue(o, buffer=buffer)
    return deaf(o, marker, n) if how == DEAF else loaded(o, marker, weights, n, **BUFFER_WAYS[how])


def deaf(o: Options, marker: Table, percent: float) -> Scenario:
    """Poisson datagrams that take a share of the link, whatever is marked."""
    traffic = {
        "kind": "poisson",
        "ecn_capable": True,
        "packet": quantity(o.packet, "B"),
        "rate": quantity(CAPACITY_MBPS * percent / 100, "Mbit/s"),
    }
    return Scenario(
        {
            "duration": quantity(DURATION_S, "s"),
            "warmup": quantity(WARMUP_S, "s"),
            "links": {LINK: _link(marker, RTT_MS / 2)},
            "groups": {"deaf": {"users": 1, "path": [LINK], "traffic": traffic}},
        }
    )


def low_ways(o: Options) -> dict[str, Callable[[str, int], Scenario]]:
    """RED of Fig. 8 with one setting that differs, and might bring it below a utilisation of 0.80."""
    usual = of_figure_8(o)[RED]
    limited = {"congestion_control": dict(wtp(o)["congestion_control"]) | {"max_window": "20 packets"}}

    def changed(marker: Table = usual, form: str = PI, o: Options = o, **how: Any) -> Callable[[str, int], Scenario]:
        return lambda weights, n: loaded(o, marker, weights, n, form, **how)

    return {
        USUAL: changed(),
        "ns-2's count rule": changed({**usual, "spread": "ns2"}),
        "independent marks": changed({**usual, "spread": "bernoulli"}),
        "no exemption of short queues": changed({**usual, "spare_short_queue": False}),
        "the queue itself, no average": changed(red(o, 2, 6, 0.1, 1)),
        "slow start until the first mark": changed(o=replace(o, start="slow-start-until-mark")),
        "access at 1000 Mbit/s": changed(o=replace(o, access=1000)),
        "access at 20 Mbit/s": changed(o=replace(o, access=20)),
        "round trips ± 25 %": changed(spread=0.25),
        "inversely proportional decrease": changed(form=IPD),
        "windows of at most 20 packets": changed(tcp=limited),
        "twice the gain": changed(gain=2 * GAIN),
        "four times the gain": changed(gain=4 * GAIN),
    }


def low_load(o: Options, how: str, marker: str, weights: str, n: int) -> Scenario:
    """One of `low_ways`, or a marker of Fig. 8 under traffic that ignores marks."""
    return deaf(o, of_figure_8(o)[marker], n) if how == DEAF else low_ways(o)[how](weights, n)


# --- Table 2 and Fig. 11 --------------------------------------------------------------------------------------------

RED_5, RED_3, VQ_95, LB_07 = (
    *("RED (5, 15, 0.1)", "RED (3, 9, 0.95)"),
    *("virtual queue (0.95)", "load-based (0.5 s, 0.7, 2)"),
)
ROWS = (RED_5, RED_3, VQ_95, LB_07)
"""Values of the label ``marker``: the rows of Table 2 with their parameters."""
TABLE_MIXES = {f"weights {MIXED}": MIXED, f"weight {ONES}": ONES, "weight 6": "6"}
"""Values of the label ``mix``."""
AS_TABLE, ALL_ONES, ALL_SIXES = "as in table 2", "all of weight 1", "all of weight 6"
EQUAL_TRIPS, WIDE_TRIPS = "equal round trips", "round trips ± 25 %"
FAST, SLOW = "access at 1 Gbit/s", "access at 20 Mbit/s"
EAGER = "gain 1 instead of 0.5"
VARIANTS = (ALL_ONES, ALL_SIXES, EQUAL_TRIPS, WIDE_TRIPS, FAST, SLOW, EAGER)
"""Values of the label ``variant``: row 1 with one setting that differs."""


def table_mixes(o: Options) -> list[str]:
    """The values of ``mix`` that the option `mixture` asks for."""
    return [name for name, mix in TABLE_MIXES.items() if mix in mixes(o)]


def row(o: Options, marker: str) -> Table:
    """The marker of a row of Table 2."""
    load = load_based(o, 0.7, 2.0)
    return {RED_5: red(o), RED_3: red(o, 3, 9, 0.95), VQ_95: virtual_queue(o), LB_07: load}[marker]


def table_2(o: Options, marker: str, mix: str, n: int, variant: str = AS_TABLE) -> Scenario:
    """A row of Table 2 at a load, round trips spread as the option `rtt_spread_delay` says; or row 1 otherwise."""
    access = {FAST: 1000, SLOW: 20}.get(variant, o.access)
    spread = {EQUAL_TRIPS: 0.0, WIDE_TRIPS: 0.25}.get(variant, o.rtt_spread_delay)
    gain = 1.0 if variant == EAGER else GAIN
    return loaded(replace(o, access=access), row(o, marker), TABLE_MIXES[mix], n, gain=gain, spread=spread)


def variant_mix(o: Options, variant: str) -> str:
    """The mix of a variant of row 1."""
    wanted = {ALL_ONES: ONES, ALL_SIXES: "6"}.get(variant)
    return next((name for name, mix in TABLE_MIXES.items() if mix == wanted), table_mixes(o)[0])


def controls(o: Options, control: str, population: str, r: float = 1.0, reaction: str = "") -> Scenario:
    """Fig. 11a: a population under RED with one of the two controls."""
    tcp = controlled(o, control, reaction)
    return single_link(o, red(o), ladder(tcp) if population == "C" else pair(o, population, r, tcp))


def common(o: Options, control: str, w: float, panel: str, reaction: str = "") -> Scenario:
    """Fig. 11b: all ten connections of one weight; panel c counts arrivals in bins of 50 ms."""
    groups = {"all": Connections(CONNECTIONS, controlled(o, control, reaction), w)}
    record = {"series": series("50 ms", ARRIVED_SERIES)} if panel == "c" else None
    return single_link(o, red(o), groups, record=record)


def law(o: Options, control: str, reaction: str, w: float, p: float) -> Scenario:
    """A single connection under independent marks."""
    return single_link(o, constant(p), {"all": Connections(1, controlled(o, control, reaction), w)})


# --- Sections 2 and 3 -----------------------------------------------------------------------------------------------

EQUILIBRIUM = 0.8
"""Load at the equilibrium of the loops with load-based marking."""
SETTINGS = {"α = 0.71": (0.6, 0.71), "α = 2": (0.7, 2.0)}
"""Load-based marking of Figs. 3 to 8 and of Fig. 9: (ρ0, α)."""
INTERVAL_S = 0.5
"""t_avg of both."""
CROWD = 20
CROWD_SPREAD = 0.25
"""Round trips differ by 25 % to either side, lest trains of packets return together."""


def capacity(o: Options) -> float:
    """Packets a second that a link carries."""
    return CAPACITY_MBPS * 1e6 / (8 * o.packet)


def alone(o: Options, p: float, increase: float, decrease: float) -> Scenario:
    """One connection from time 0, alone on the link."""
    tcp = wtp(o, weights=(increase, decrease))
    return single_link(o, constant(p), {"alone": Connections(1, tcp, start="0 s")})


def crowd(o: Options, marker: str, value: float) -> Scenario:
    """Load-based marking at one equilibrium, with the gain that gives `value` = a (T + t_avg)."""
    target, slope = SETTINGS[marker]
    price, rise = slope * (EQUILIBRIUM - target), slope * EQUILIBRIUM
    gain = value / ((price + rise) * (1 + INTERVAL_S / RTT_S))
    weight = EQUILIBRIUM * capacity(o) * RTT_S * price / CROWD
    groups = {"all": Connections(CROWD, wtp(o, gain=gain, weights=(weight, 1.0)))}
    record = {"series": series(quantity(INTERVAL_S, "s"), LOAD_SERIES)}
    return single_link(o, load_based(o, target, slope, INTERVAL_S), groups, spread=CROWD_SPREAD, record=record)
