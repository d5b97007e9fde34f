"""The paper's network as scenarios: a one-sided dumbbell with one mechanism under test at its bottleneck.

Equal settings give equal scenarios, so that experiments share runs. Group `heavy` is the paper's user group 0, group
`light` its user group 1, whichever sends more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from evenflow.lab import quantity
from evenflow.paper import Choices
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

BY_PACKETS = "ABC, thresholds in packets"
BY_DELAY = "ABC, thresholds in delay"
CSFQ_STALE = "CSFQ, told 10 Mbit/s throughout"
ACCEPTED = "average over accepted packets"
RECEIVED_TOO = "average over all received packets"

AT_DROP = "links.bottleneck.queue.at_drop"
QUEUE_LENGTHS = "links.bottleneck.queue.packets"
AVERAGE = "links.bottleneck.queue.average"
THRESHOLD = "links.bottleneck.queue.threshold"
MONITOR_RATE = "stages.monitor.rate"
ARRIVED = "links.access.arrived_bytes"
WINDOW = "groups.light.users[0].flows[0].window"
ACTIVITY = "stages.meter[{copy}].activity"
RECEIVED = "groups.heavy.users[0].flows[0].received_bytes"

UPLOAD_START_S = 115.0
"""100 s after the last possible start of a background flow (section IV-G2)."""
UPLOAD_S = 100.0
SINGLE_FLOW_START_S = 1.0
SINGLE_FLOW_S = 30.0
MEMORY_START_S = 60.0


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option of choices.toml."""

    write: str = "512"
    timeout_window_once: str = "true"

    @property
    def stack(self) -> Mapping[str, Any]:
        """Lines of every TCP user's stack that differ from ns-3.26's; none by default, so that scenarios stay equal."""
        usual = {line.name: line.default for line in fields(self)}
        values: Mapping[str, Any] = {"write": "any", "timeout_window_once": False}
        return {name: value for name, value in values.items() if getattr(self, name) != usual[name]}


@dataclass(frozen=True)
class Scheme:
    """What guards the bottleneck: its queue and, where the scheme needs one, a stage at the network's edge."""

    queue: Mapping[str, Any]
    edge: str | None = None
    """Name of the stage that every user's traffic passes, or None."""
    stage: Mapping[str, Any] | None = None
    priority: bool = False
    """The heavy user sends as EF."""


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


def ef(scheme: Scheme) -> Scheme:
    """The same scheme, the heavy user's packets as EF."""
    return replace(scheme, priority=True)


def upload_label(memory_s: float) -> str:
    """The scheme label of figure 11's curves with ABC."""
    return f"ABC, meter memory {memory_s:g} s"


SCHEMES: Mapping[str, Scheme] = {
    NO_ABC: drop_tail(),
    ABC: abc(),
    FAIR: abc(fair=True),
    CSFQ: csfq(),
    CSFQ_Q_MIN: csfq(q_min=12),
    CSFQ_WRONG: csfq(capacity_mbps=12),
    DRR: drr(),
    EF1: ef(medf(accounting(abc(), 1))),
    EF3: ef(medf(accounting(abc(), 3))),
    EF3_STRICT: ef(strict(accounting(abc(), 3))),
    NO_ABC_STRICT: ef(strict(drop_tail())),
    NO_ABC_MEDF: ef(medf(drop_tail())),
    BY_PACKETS: abc(),
    BY_DELAY: abc_by_delay(),
    CSFQ_STALE: csfq(),
    ACCEPTED: abc(),
    RECEIVED_TOO: abc(average_over="received"),
    **{upload_label(memory): abc(meter_memory_s=memory) for memory in (1, 3, 10)},
}
"""By the label `scheme` of a point."""


def named(scheme: str | Scheme) -> Scheme:
    """A scheme by its label."""
    return SCHEMES[scheme] if isinstance(scheme, str) else scheme


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


# --- Scenarios of points: from the options, a scheme and the point's other labels -------------------------------------


def udp_pair(o: Options, scheme: str | Scheme, r0: float, r1: float) -> Scenario:
    """Two Poisson users at D_b = 5 ms (figures 3, 14a, 15a); with ABC the time at each queue length is recorded."""
    it = named(scheme)
    is_abc = it.queue["kind"] == "activity-aqm"
    return dumbbell(
        it,
        delay_ms=5,
        heavy=udp(r0, priority=it.priority),
        light=udp(r1),
        record={"histograms": [QUEUE_LENGTHS]} if is_abc else None,
        title=f"Poisson users at {r0:g} and {r1:g} Mbit/s",
    )


def tcp_pair(o: Options, scheme: str | Scheme, f0: int, delay_ms: float) -> Scenario:
    """A heavy TCP user with `f0` flows against a light one with a single flow (figures 4, 5, 14b, 15b)."""
    it = named(scheme)
    return dumbbell(
        it,
        delay_ms=delay_ms,
        heavy=tcp(f0, priority=it.priority, **o.stack),
        light=tcp(1, **o.stack),
        title=f"TCP users with {f0} flows and one flow",
    )


def _window(max_window: str | None, o: Options) -> Mapping[str, Any]:
    """Lines of a stack: the options', and a window of its own."""
    return {**o.stack, **({} if max_window is None else {"max_window": max_window})}


def mixed_pair(o: Options, scheme: str | Scheme, r0: float, delay_ms: float, max_window: str | None = None) -> Scenario:
    """A Poisson user against a user with one TCP flow (figures 6, 7, 14c, 15c)."""
    it = named(scheme)
    return dumbbell(
        it,
        delay_ms=delay_ms,
        heavy=udp(r0, priority=it.priority),
        light=tcp(1, **_window(max_window, o)),
        title=f"A Poisson user at {r0:g} Mbit/s and one TCP flow",
    )


def crowd(o: Options, scheme: str | Scheme, delay_ms: float = 50, *, rate: Any = None) -> Scenario:
    """One heavy user with 10 TCP flows and 10 light users with one each (figures 9, 10, 12, 16).

    The queue length at every drop is counted in each of them, so that they share runs at equal settings.
    """
    return dumbbell(
        named(scheme),
        delay_ms=delay_ms,
        heavy=tcp(10, **o.stack),
        light=tcp(1, users=10, **o.stack),
        record={"histograms": [AT_DROP]},
        rate=rate,
        title="One TCP user with 10 flows among 10 users with one flow",
    )


def halving(o: Options, scheme: str, delay_ms: float) -> Scenario:
    """The crowd at a bottleneck whose rate halves for 35 s in the measured time."""
    steps = [["0 s", "10 Mbit/s"], ["130 s", "5 Mbit/s"], ["165 s", "10 Mbit/s"]]
    return crowd(o, scheme, delay_ms, rate={"steps": steps})


def weighted(o: Options, s: float, flows: int, delay_ms: float, max_window: str | None = None) -> Scenario:
    """Two TCP users whose reference rates differ by the factor `s` (figure 8)."""
    return dumbbell(
        abc(),
        delay_ms=delay_ms,
        heavy=tcp(flows, weight=s, **_window(max_window, o)),
        light=tcp(flows, **_window(max_window, o)),
        title=f"Reference rates {s:g} to 1, {flows} flows each",
    )


def averaged(o: Options, scheme: str, light: str, r0: float) -> Scenario:
    """Overload by user 0 where A_avg is over accepted or all received packets (section III-C3)."""
    users = {"UDP 7.5 Mbit/s": udp(7.5), "one TCP flow": tcp(1, **o.stack)}
    every = {"series": [{"of": AVERAGE, "every": "100 ms"}]}
    return dumbbell(
        named(scheme), delay_ms=5, heavy=udp(r0), light=users[light], record=every, title=f"Overload, {scheme}"
    )


def late_upload(o: Options, scheme: str | Scheme, f1: int, delay_ms: float) -> Scenario:
    """One upload that begins long after ten users of `f1` flows each (figure 11)."""
    return dumbbell(
        named(scheme),
        delay_ms=delay_ms,
        heavy=upload(UPLOAD_START_S, **o.stack),
        light=tcp(f1, users=10, **o.stack),
        record={"series": [{"of": RECEIVED, "every": "10 ms"}]},
        warmup_s=UPLOAD_START_S,
        duration_s=UPLOAD_START_S + UPLOAD_S,
        title=f"A sudden upload among 10 users with {f1} flows each",
    )


def single_flow(o: Options, scheme: str, m_aa: float, delay_ms: float) -> Scenario:
    """One TCP flow alone: its rate behind the bottleneck, and with ABC the threshold it meets (figure 13)."""
    it = drop_tail() if scheme == NO_ABC else abc(averager_memory_s=m_aa)
    series: list[dict[str, str]] = [{"of": MONITOR_RATE, "every": "10 ms"}]
    if scheme != NO_ABC:
        series.append({"of": THRESHOLD, "every": "packet"})
    return dumbbell(
        it,
        delay_ms=delay_ms,
        light=tcp(1, start=quantity(SINGLE_FLOW_START_S, "s"), **o.stack),
        record={"series": series},
        warmup_s=0,
        duration_s=SINGLE_FLOW_START_S + SINGLE_FLOW_S,
        after={"kind": "rate-meter", "memory": "0.5 s", "start": "first-packet"},
        title="A single TCP flow",
    )


def scaled(o: Options, factor: float) -> Scenario:
    """Figure 4's point with ten flows and 5 ms, all reference rates scaled; every drop is recorded (section IV-E1)."""
    rate = factor * REFERENCE_RATE_KBPS
    return dumbbell(
        abc(reference_rate_kbps=rate),
        delay_ms=5,
        heavy=tcp(10, **o.stack),
        light=tcp(1, **o.stack),
        record={"events": ["drop"]},
        title=f"Reference rates of {rate:g} kbit/s",
    )


def _alone(title: str, duration_s: float, link: str, groups: Mapping[str, Any], record: Any, **more: Any) -> Scenario:
    """Users on one link of 100 Mbit/s that drops nothing."""
    delay = "0.1 ms" if link == "access" else "1 ms"
    links = {link: {"rate": "100 Mbit/s", "delay": delay}}
    tree = {"title": title, "duration": quantity(duration_s, "s"), "warmup": "0 s", "links": links, "groups": groups}
    return Scenario({**tree, "record": {"series": record}, **more})


def poisson_alone(o: Options, rate_mbps: float) -> Scenario:
    """A Poisson source alone, its bytes counted each second."""
    traffic = {"kind": "poisson", "rate": quantity(rate_mbps, "Mbit/s"), "packet": "1500 B"}
    return _alone(
        f"A Poisson source at {rate_mbps:g} Mbit/s alone",
        1000,
        "access",
        {"heavy": {"users": 1, "path": ["access"], "traffic": traffic}},
        [{"of": ARRIVED, "every": "1 s"}],
    )


def first_round_trips(o: Options, delay_ms: float) -> Scenario:
    """A flow that grows with every ACK: on an empty path its window takes a round trip from two packets to three."""
    return dumbbell(
        drop_tail(),
        delay_ms=delay_ms,
        light=tcp(1, start="0 s", ack_every=1),
        record={"series": [{"of": WINDOW, "every": "0.05 ms"}]},
        warmup_s=0,
        duration_s=0.6,
        title="The first round trips of a TCP flow",
    )


def head_start(o: Options, m_am: float) -> Scenario:
    """A user who starts from silence beside one long steady (section IV-G1)."""
    users = {"heavy": ("20 Mbit/s", MEMORY_START_S), "light": ("5 Mbit/s", 0.0)}
    groups = {
        name: {
            "users": 1,
            "path": ["meter", "wide"],
            "traffic": {"kind": "cbr", "rate": rate, "packet": "1500 B", "start": quantity(start, "s")},
        }
        for name, (rate, start) in users.items()
    }
    return _alone(
        f"The head start of an idle user, meter memory {m_am:g} s",
        MEMORY_START_S + 12,
        "wide",
        groups,
        [{"of": ACTIVITY.format(copy=copy), "every": "20 ms"} for copy in (0, 1)],
        stages={"meter": dict(abc(meter_memory_s=m_am).stage or {})},
    )
