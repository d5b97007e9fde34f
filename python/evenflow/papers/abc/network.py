"""The paper's network as scenarios: a one-sided dumbbell with one mechanism under test at its bottleneck.

Every experiment builds its points here, so that equal settings give equal scenarios and therefore share their runs.
Group ``heavy`` is the paper's user group 0, group ``light`` its user group 1, whichever sends more in a given point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenflow.lab import quantity
from evenflow.scenario import Scenario

BOTTLENECK_MBPS = 10.0
"""Bottleneck rate C_b, Mbit/s (Table 1)."""
BUFFER_PACKETS = 24
"""Bottleneck buffer Q_max: waiting packets of any size (Table 1)."""
PACKET_BYTES = 1500
"""A full packet with every header (section IV-A1)."""
DRAIN_TIME_MS = BUFFER_PACKETS * PACKET_BYTES * 8 / (BOTTLENECK_MBPS * 1e3)
"""Time the bottleneck needs for a full buffer: 28.8 ms (section 3.2 of the paper scales its BE offset with it)."""
WARMUP_S = 100.0
DURATION_S = 200.0
"""100 s are discarded, the next 100 s are measured (section IV-A5)."""
REFERENCE_RATE_KBPS = 10.0
START: Mapping[str, Any] = {"uniform": ["0 s", "15 s"]}
"""When a flow starts (section IV-A5)."""

NO_ABC = "no ABC"
ABC = "ABC"
FAIR = "ABC, fair meter"
CSFQ = "CSFQ"
CSFQ_Q_MIN = "CSFQ, no random drop below 12 packets"
CSFQ_WRONG = "CSFQ, capacity set to 12 Mbit/s"
DRR = "DRR per user"
EF1 = "ABC, heavy user EF, a_EF = 1"
EF3 = "ABC, heavy user EF, a_EF = 3"
EF3_STRICT = "ABC, heavy user EF, a_EF = 3, strict priority"
NO_ABC_STRICT = "no ABC, heavy user EF, strict priority"
NO_ABC_MEDF = "no ABC, heavy user EF, MEDF"
"""What the label ``scheme`` of a point can be."""

AT_DROP = "links.bottleneck.queue.at_drop"
QUEUE_LENGTHS = "links.bottleneck.queue.packets"


@dataclass(frozen=True)
class Scheme:
    """What guards the bottleneck: its queue and, where the scheme needs one, a stage at the network's edge."""

    queue: Mapping[str, Any]
    edge: str | None = None
    """Name of the stage that every user's traffic passes, or None."""
    stage: Mapping[str, Any] | None = None


def drop_tail() -> Scheme:
    """What the paper calls "without ABC": nothing but the buffer's limit."""
    return Scheme({"kind": "droptail", "limit": quantity(BUFFER_PACKETS, "packets")})


def abc(
    *,
    fair: bool = False,
    meter_memory_s: float = 3.0,
    averager_memory_s: float = 0.3,
    q_min: float = 12,
    q_base: float = 20,
    gamma: float = 16,
    reference_rate_kbps: float = REFERENCE_RATE_KBPS,
    meter_start: str = "run",
    average_over: str = "accepted",
) -> Scheme:
    """Activity meters at the edge, the activity AQM at the bottleneck; defaults are Table 1's."""
    return Scheme(
        queue={
            "kind": "activity-aqm",
            "limit": quantity(BUFFER_PACKETS, "packets"),
            "q_min": quantity(q_min, "packets"),
            "q_base": quantity(q_base, "packets"),
            "gamma": quantity(gamma, "packets"),
            "memory": quantity(averager_memory_s, "s"),
            "average_over": average_over,
        },
        edge="meter",
        stage={
            "kind": "fair-activity-meter" if fair else "activity-meter",
            "per": "user",
            "memory": quantity(meter_memory_s, "s"),
            "reference_rate": quantity(reference_rate_kbps, "kbit/s"),
            "start": meter_start,
        },
    )


def abc_by_delay() -> Scheme:
    """The activity AQM for links of varying rate: thresholds are delays, equal to Table 1's at 10 Mbit/s."""
    packet_ms = DRAIN_TIME_MS / BUFFER_PACKETS
    scheme = abc()
    thresholds = {"q_min": 12 * packet_ms, "q_base": 20 * packet_ms, "gamma": 16 * packet_ms}
    return replace(
        scheme,
        queue={
            **scheme.queue,
            **{name: quantity(value, "ms") for name, value in thresholds.items()},
            "rate_estimate": "departures",
        },
    )


def csfq(
    *,
    q_min: float = 0,
    q_threshold: float = 12,
    form: str = "ns2",
    capacity_mbps: float = BOTTLENECK_MBPS,
) -> Scheme:
    """Core-stateless fair queueing with all its memories at 100 ms (section V-A), one label per user."""
    return Scheme(
        queue={
            "kind": "csfq",
            "limit": quantity(BUFFER_PACKETS, "packets"),
            "memory": "100 ms",
            "interval": "100 ms",
            "capacity": quantity(capacity_mbps, "Mbit/s"),
            "q_threshold": quantity(q_threshold, "packets"),
            "q_min": quantity(q_min, "packets"),
            "form": form,
        },
        edge="edge",
        stage={"kind": "csfq-edge", "per": "user", "memory": "100 ms"},
    )


def drr() -> Scheme:
    """Deficit round robin with a queue per user in the same 24-packet buffer; not in the paper, but the yardstick."""
    return Scheme(
        {
            "kind": "droptail",
            "limit": quantity(BUFFER_PACKETS, "packets"),
            "scheduler": {"kind": "drr", "per": "user", "quantum": quantity(PACKET_BYTES, "B"), "overflow": "longest"},
        }
    )


def medf(scheme: Scheme, *, delta_be: float = 2.0) -> Scheme:
    """The same scheme serving EF and BE by MEDF; the BE offset is ``delta_be`` times the buffer's drain time."""
    offsets = {"ef": "0 ms", "be": quantity(delta_be * DRAIN_TIME_MS, "ms")}
    return replace(scheme, queue={**scheme.queue, "scheduler": {"kind": "medf", "per": "class", "offsets": offsets}})


def strict(scheme: Scheme) -> Scheme:
    """The same scheme serving every waiting EF packet before any BE packet."""
    return replace(
        scheme, queue={**scheme.queue, "scheduler": {"kind": "strict", "per": "class", "order": ["ef", "be"]}}
    )


def accounting(scheme: Scheme, a_ef: float) -> Scheme:
    """The same scheme metering each EF byte ``a_ef`` times (section III-D1); needs an activity meter."""
    if scheme.stage is None:
        raise ValueError("only a scheme with a meter counts EF bytes differently")
    return replace(scheme, stage={**scheme.stage, "accounting": {"ef": a_ef, "be": 1}})


@dataclass(frozen=True)
class Users:
    """One of the paper's two user groups."""

    traffic: Mapping[str, Any]
    tcp: Mapping[str, Any] | None = None
    users: int = 1
    priority: bool = False
    """Send as EF instead of BE."""
    weight: float = 1.0
    """Scales the user's reference rate."""


def udp(rate_mbps: float, *, priority: bool = False) -> Users:
    """One user sending full-size UDP packets as a Poisson process; the rate counts whole packets."""
    traffic = {
        "kind": "poisson",
        "rate": quantity(rate_mbps, "Mbit/s"),
        "packet": quantity(PACKET_BYTES, "B"),
        "start": START,
    }
    return Users(traffic, priority=priority)


def tcp(
    flows: int,
    *,
    users: int = 1,
    priority: bool = False,
    weight: float = 1.0,
    start: Any = START,
    **overrides: Any,
) -> Users:
    """Users with ``flows`` saturated NewReno flows each, as in ns-3.26; ``overrides`` change lines of the stack."""
    stack = {"congestion_control": "newreno", "stack": "ns3.26", **overrides}
    return Users({"kind": "bulk", "flows": flows, "start": start}, stack, users, priority, weight)


def upload(start_s: float, **overrides: Any) -> Users:
    """One user whose single, endless upload begins at ``start_s``, after its meter has long been running."""
    stack = {"congestion_control": "newreno", "stack": "ns3.26", **overrides}
    return Users({"kind": "upload", "flows": 1, "start": quantity(start_s, "s")}, stack)


def dumbbell(
    scheme: Scheme,
    *,
    delay_ms: float,
    heavy: Users | None = None,
    light: Users | None = None,
    record: Mapping[str, Any] | None = None,
    rate: Any = None,
    warmup_s: float = WARMUP_S,
    duration_s: float = DURATION_S,
    after: Mapping[str, Any] | None = None,
    title: str = "",
) -> Scenario:
    """Figure 2 of the paper: access links, an edge with the meters, one bottleneck to the server.

    ``delay_ms`` is the bottleneck's one-way delay D_b; ``rate`` replaces its 10 Mbit/s (a quantity or steps);
    ``after`` is a stage behind the bottleneck, named ``monitor``.
    """
    tree: dict[str, Any] = {
        "title": title,
        "duration": quantity(duration_s, "s"),
        "warmup": quantity(warmup_s, "s"),
        "links": {
            "access": {
                "rate": "100 Mbit/s",
                "delay": "0.1 ms",
                "per": "user",
                "queue": {"kind": "droptail", "limit": "50 packets"},
            },
            "bottleneck": {
                "rate": quantity(BOTTLENECK_MBPS, "Mbit/s") if rate is None else rate,
                "delay": quantity(delay_ms, "ms"),
                "queue": dict(scheme.queue),
            },
        },
        "groups": {},
    }
    path = ["access", "bottleneck"]
    stages: dict[str, Any] = {}
    if scheme.edge is not None and scheme.stage is not None:
        stages[scheme.edge] = dict(scheme.stage)
        path.insert(1, scheme.edge)
    if after is not None:
        stages["monitor"] = dict(after)
        path.append("monitor")
    if stages:
        tree["stages"] = stages
    for name, group in (("heavy", heavy), ("light", light)):
        if group is not None:
            tree["groups"][name] = _group(group, path)
    if record:
        tree["record"] = dict(record)
    return Scenario(tree)


def _group(group: Users, path: Sequence[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"users": group.users, "path": list(path), "traffic": dict(group.traffic)}
    if group.tcp is not None:
        table["tcp"] = dict(group.tcp)
    if group.priority:
        table["class"] = "ef"
    if group.weight != 1.0:
        table["weight"] = group.weight
    return table


def with_processing(scenario: Scenario, most_ms: float) -> Scenario:
    """The same with hosts that spend a random time on each packet, up to ``most_ms``: flows then fall out of step."""
    processing = {"uniform": ["0 s", quantity(most_ms, "ms")]}
    groups = scenario.tree["groups"]
    return scenario.with_settings({f"groups.{name}.processing": processing for name in groups})


def udp_pair(scheme: Scheme, r0: float, r1: float, *, priority: bool = False) -> Scenario:
    """Two Poisson users at D_b = 5 ms (figures 3, 14a, 15a); with ABC the time at each queue length is recorded."""
    is_abc = scheme.queue["kind"] == "activity-aqm"
    return dumbbell(
        scheme,
        delay_ms=5,
        heavy=udp(r0, priority=priority),
        light=udp(r1),
        record={"histograms": [QUEUE_LENGTHS]} if is_abc else None,
        title=f"Poisson users at {r0:g} and {r1:g} Mbit/s",
    )


def tcp_pair(scheme: Scheme, f0: int, delay_ms: float, *, priority: bool = False, **stack: Any) -> Scenario:
    """A heavy TCP user with ``f0`` flows against a light one with a single flow (figures 4, 5, 14b, 15b).

    ``stack`` changes lines of both users' stack.
    """
    return dumbbell(
        scheme,
        delay_ms=delay_ms,
        heavy=tcp(f0, priority=priority, **stack),
        light=tcp(1, **stack),
        title=f"TCP users with {f0} flows and one flow",
    )


def mixed_pair(scheme: Scheme, r0: float, delay_ms: float, *, priority: bool = False, **stack: Any) -> Scenario:
    """A Poisson user against a user with one TCP flow (figures 6, 7, 14c, 15c)."""
    return dumbbell(
        scheme,
        delay_ms=delay_ms,
        heavy=udp(r0, priority=priority),
        light=tcp(1, **stack),
        title=f"A Poisson user at {r0:g} Mbit/s and one TCP flow",
    )


def crowd(scheme: Scheme, delay_ms: float, *, rate: Any = None, **stack: Any) -> Scenario:
    """One heavy user with 10 TCP flows and 10 light users with one each (figures 9, 10, 12, 16).

    The queue length at every drop is counted in each of them, so that they share runs at equal settings.
    """
    return dumbbell(
        scheme,
        delay_ms=delay_ms,
        heavy=tcp(10, **stack),
        light=tcp(1, users=10, **stack),
        record={"histograms": [AT_DROP]},
        rate=rate,
        title="One TCP user with 10 flows among 10 users with one flow",
    )
