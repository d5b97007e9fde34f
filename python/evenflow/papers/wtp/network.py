"""The paper's two networks as scenarios: one link, and R1–R2–R3 with connections over one link or both (Fig. 2).

Every experiment builds its points here, so that equal settings give equal scenarios and therefore share their runs.
Rates are packets of `Options.packet` bytes with every header; nothing is ever dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenflow.lab import quantity, seeds
from evenflow.scenario import Scenario

from .choices import Options

CAPACITY_MBPS = 10.0
"""Every link of the paper, Mbit/s (captions of Figs. 3 to 11)."""
RTT_MS = 200.0
"""Round trip of the single link: propagation, both ways (captions of Figs. 3, 4, 8 to 11)."""
BUFFER_PACKETS = 30
"""B: the buffer that the virtual queue imitates, and RED's mark-always threshold; the real buffer is unlimited."""
GAIN = 0.5
"""κ̄, gain per round trip (captions of Figs. 3 to 11)."""
CONNECTIONS = 10
"""N of Figs. 3, 4 and 11."""
HEADER_BYTES = 40
DURATION_S = 180.0
WARMUP_S = 60.0
"""Throughput is that of [60, 180] s (section 5.1)."""
START: Mapping[str, Any] = {"uniform": ["0 s", "5 s"]}
"""Start of each connection (section 5.1)."""
NEAR_MS = 40.0
"""One-way delay of the access links; the rest of a round trip's half lies behind. Enough to spread round trips by a
quarter."""
FAR_MS = 15.0
"""The same for connections that enter at R2, and of the way behind R3 for those that cross both links."""

RED, VQ, LB = "RED", "VQ", "LB"
MARKERS = (RED, VQ, LB)
"""Values of the label ``marker``."""
PI, IPD = "PI", "IPD"
"""Values of the label ``form``: proportional increase (Eq. 4) and inversely proportional decrease (Eq. 6)."""
FORMS = {PI: "proportional-increase", IPD: "inverse-decrease"}
WTP, MULTCP = "WTP", "MulTCP"
"""Values of the label ``control``."""

LEVEL = 0.90
"""Confidence level of the paper's intervals (section 5.1)."""

SEEDS = seeds(10, 3)
"""10 runs a point (section 5.1), 3 for a first look."""

LINK = "bottleneck"
R12, R23, R34 = "r1-r2", "r2-r3", "r3-r4"
"""The links of the second network; its groups say where they go: ``one`` (R1–R2), ``two`` (R2–R3), ``both``. With a
third link behind, ``three`` (R3–R4) and ``all`` in place of ``both``."""

Table = Mapping[str, Any]


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


def multcp(o: Options) -> Table:
    """MulTCP, whose N is the group's weight (Crowcroft and Oechslin 1998)."""
    # only the per-packet echo tells each mark, so that reacting to each needs it
    feedback = "per-packet" if o.multcp_react == "every-mark" else o.multcp_feedback
    return _tcp(o, {"kind": "multcp", "react": o.multcp_react}, feedback)


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


def pair(o: Options, population: str, r: float, tcp: Table, base: float = 1.0) -> dict[str, Connections]:
    """Figs. 3, 4 and 11a: groups ``light`` (weight `base`) and ``heavy`` (r times that); A is 5 + 5, B is 9 + 1."""
    light, heavy = {"A": (5, 5), "B": (9, 1)}[population]
    return {"light": Connections(light, tcp, base), "heavy": Connections(heavy, tcp, r * base)}


def ladder(tcp: Table, base: float = 1.0, most: int = CONNECTIONS) -> dict[str, Connections]:
    """Population C: one connection of each weight from `base` to `most` times that, groups ``w1``, ``w2``, …"""
    return {f"w{weight}": Connections(1, tcp, weight * base) for weight in range(1, most + 1)}


def halves(n: int, tcp: Table, weights: tuple[float, float] = (1.0, 6.0)) -> dict[str, Connections]:
    """Figs. 8 to 10: half of `n` connections with each weight, an odd one with the lower (``light`` and ``heavy``)."""
    groups = {"light": Connections(n - n // 2, tcp, weights[0]), "heavy": Connections(n // 2, tcp, weights[1])}
    return {name: group for name, group in groups.items() if group.count > 0}


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
    title: str = "",
) -> Scenario:
    """Fig. 2a. `spread` replaces `Options.rtt_spread`; the link is named ``bottleneck``."""
    share = o.rtt_spread if spread is None else spread
    # long round trips, too, can be spread by a quarter
    near_ms = max(NEAR_MS, rtt_ms / 8)
    links: dict[str, Any] = {LINK: _link(marker, rtt_ms / 2 - near_ms)}
    paths = {}
    for name, group in groups.items():
        access = _access(o, links, name, group.count, rtt_ms, share, near_ms)
        paths[name] = [access, LINK]
    return _scenario(o, links, groups, paths, record, duration_s, warmup_s, title)


def two_links(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    *,
    rtt12_ms: float = RTT_MS,
    rtt23_ms: float = 100.0,
    capacity23_mbps: float = CAPACITY_MBPS,
    spread: float | None = None,
    record: Table | None = None,
    title: str = "",
) -> Scenario:
    """Fig. 2b: R1–R2–R3, both links with the same marker; groups ``one``, ``two``, ``both`` (any of them).

    A connection over both links has the sum of the two round trips, the first half of the first before R2.
    """
    share = o.rtt_spread if spread is None else spread
    hops = {"one": _Hop(R12, rtt12_ms), "two": _Hop(R23, rtt23_ms, capacity23_mbps)}
    return _chain(o, marker, groups, hops, "both", share, record, title)


def three_links(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    *,
    rtts_ms: tuple[float, float, float] = (RTT_MS, 100.0, 100.0),
    title: str = "",
) -> Scenario:
    """Fig. 2b with a link more: R1–R2–R3–R4, all with the same marker; groups ``one``, ``two``, ``three``, ``all``."""
    hops = {
        name: _Hop(link, rtt_ms)
        for name, link, rtt_ms in zip(("one", "two", "three"), (R12, R23, R34), rtts_ms, strict=True)
    }
    return _chain(o, marker, groups, hops, "all", o.rtt_spread, None, title)


@dataclass(frozen=True)
class _Hop:
    """A link of a chain and the round trip of the connections that cross it alone."""

    link: str
    rtt_ms: float
    capacity_mbps: float = CAPACITY_MBPS


def _chain(
    o: Options,
    marker: Table,
    groups: Mapping[str, Connections],
    hops: Mapping[str, _Hop],
    long: str,
    share: float,
    record: Table | None,
    title: str,
) -> Scenario:
    """Links in a row, each with the group that crosses it alone, and the group ``long`` over all of them."""
    links: dict[str, Any] = {}
    ways: dict[str, tuple[float, float, list[str]]] = {}
    rtt_ms = sum(hop.rtt_ms for hop in hops.values())
    entry_ms = max(NEAR_MS, rtt_ms / 8)
    for name, hop in hops.items():
        near_ms = FAR_MS if links else entry_ms
        links[hop.link] = _link(marker, hop.rtt_ms / 2 - near_ms, hop.capacity_mbps)
        ways[name] = (near_ms, hop.rtt_ms, [hop.link])
    # a long connection has no access links at the inner routers: their delays follow behind the last
    ways[long] = (entry_ms, rtt_ms, [*links, "behind"])
    links["behind"] = {"delay": quantity(FAR_MS * (len(hops) - 1), "ms")}
    paths = {}
    for name, group in groups.items():
        near_ms, rtt_ms, way = ways[name]
        # one access link a group here: the groups' delays differ
        paths[name] = [_access(o, links, name, group.count, rtt_ms, share, near_ms, own=True), *way]
    used = {link for path in paths.values() for link in path}
    return _scenario(
        o, {n: t for n, t in links.items() if n in used}, groups, paths, record, DURATION_S, WARMUP_S, title
    )


def rtt_of(group: str, rtt12_ms: float, rtt23_ms: float) -> float:
    """Round trip of a group of the second network, ms: one hop's, or the sum of both."""
    return {"one": rtt12_ms, "two": rtt23_ms, "both": rtt12_ms + rtt23_ms}[group]


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
    """`count` places from −1 to 1 with equal steps; a single one stands in the middle."""
    return [2 * i / (count - 1) - 1 for i in range(count)] if count > 1 else [0.0]


def _scenario(
    o: Options,
    links: Mapping[str, Any],
    groups: Mapping[str, Connections],
    paths: Mapping[str, Sequence[str]],
    record: Table | None,
    duration_s: float,
    warmup_s: float,
    title: str,
) -> Scenario:
    tree: dict[str, Any] = {
        "title": title,
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
            # explicit weights of the general form stand in the control itself
            | ({} if group.weight == 1 else {"weight": group.weight})
            for name, group in groups.items()
        },
    }
    if record:
        tree["record"] = dict(record)
    return Scenario(tree)
