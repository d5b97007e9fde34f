"""The paper's experiments as points, seeds and figures; one `Experiment` for each of its figures.

Grids: the values that the paper's text gives are all there; it gives few, so the rest is ours. ``paper`` runs every
point for 200 s with 10 seeds, as the paper did; ``quick`` keeps the length of the runs and thins grid and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.claims import Scale
from evenflow.lab import Measure, optional
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point, Run, Table

from . import figures, measures
from . import scenarios as net

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

DELAYS_MS = (5, 50)
"""One-way delays D_b of the bottleneck, ms (Table 1)."""

R0_UDP = (1, 2, 2.5, 3, 4, 5, 6, 6.5, 7, 7.25, 7.5, 7.75, 8, 9, 9.5, 10, 10.5, 11, 12.5, 15, 20)
R0_UDP_QUICK = (2.5, 5, 6, 7, 8, 10, 20)
R0_UDP_FEW = (2.5, 5, 8, 10, 20)
"""Quick grid where figure 3a's setting is run again under another scheme."""
R0_MIXED = (0.5, 1, 2, 2.5, 3, 4, 5, 6, 7, 7.5, 8, 9, 10, 11, 12.5, 15, 17.5, 20)
R0_MIXED_QUICK = (1, 2.5, 5, 6, 8, 10, 12.5, 20)
R0_MIXED_FEW = (2.5, 5, 6, 8, 12.5, 20)
F0 = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
F0_QUICK = (1, 2, 5, 10, 20)
R1_FIG3 = (2.5, 7.5, 10)
R1_FIG14 = (2.5, 5, 7.5)
R1_WITH_PRIORITY = 7.5

UPLOAD_START_S = 115.0
"""100 s after the last possible start of a background flow (section IV-G2)."""
UPLOAD_S = 100.0
MEMORIES_FIG11_S = (1, 3, 10)
SINGLE_FLOW_START_S = 1.0
SINGLE_FLOW_S = 30.0

RECEIVED = "groups.heavy.users[0].flows[0].received_bytes"
THRESHOLD = "links.bottleneck.queue.threshold"
AVERAGE = "links.bottleneck.queue.average"
MONITOR_RATE = "stages.monitor.rate"
ARRIVED = "links.access.arrived_bytes"
WINDOW = "groups.light.users[0].flows[0].window"


def at(scale: Scale, paper: Sequence[T], quick: Sequence[T]) -> Sequence[T]:
    """The paper's grid, or the thinner one."""
    return paper if scale == "paper" else quick


def seeds(scale: Scale) -> list[int]:
    """10 runs a point as in the paper (section IV-A5), 3 for a first look."""
    return list(range(1, 11 if scale == "paper" else 4))


def _one_run(scale: Scale) -> list[int]:
    """Where the paper shows individual runs (figure 13)."""
    return [1]


def _point(scenario: Scenario, **labels: str | float | int | bool) -> Point:
    return Point(labels, scenario)


# --- Figure 3: two users that do not listen -------------------------------------------------------------------------


def fig03(scale: Scale) -> list[Point]:
    """T0 over R0 for three R1, with and without ABC; at R1 = 7.5 Mbit/s also with user 0 as EF."""
    plain = {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}
    grid = at(scale, R0_UDP, R0_UDP_QUICK)
    points = [
        _point(net.udp_pair(scheme, r0, r1), scheme=label, r0=float(r0), r1=float(r1))
        for (label, scheme), r1, r0 in product(plain.items(), R1_FIG3, grid)
    ]
    for (label, a_ef), r0 in product(((net.EF1, 1), (net.EF3, 3)), grid):
        scheme = net.medf(net.accounting(net.abc(), a_ef))
        scenario = net.udp_pair(scheme, r0, R1_WITH_PRIORITY, priority=True)
        points.append(_point(scenario, scheme=label, r0=float(r0), r1=R1_WITH_PRIORITY))
    return points


# --- Figures 4 and 5: a heavy TCP user against a light one ----------------------------------------------------------


def _tcp_points(
    scale: Scale, schemes: dict[str, net.Scheme], f0s: Sequence[int] | None = None, **how: Any
) -> Iterator[Point]:
    grid = at(scale, F0, F0_QUICK) if f0s is None else f0s
    for (label, scheme), delay, f0 in product(schemes.items(), DELAYS_MS, grid):
        yield _point(net.tcp_pair(scheme, f0, delay, **how), scheme=label, f0=f0, delay_ms=delay)


def _mixed_points(
    scale: Scale, schemes: dict[str, net.Scheme], r0s: Sequence[float] | None = None, **how: Any
) -> Iterator[Point]:
    grid = at(scale, R0_MIXED, R0_MIXED_QUICK) if r0s is None else r0s
    for (label, scheme), delay, r0 in product(schemes.items(), DELAYS_MS, grid):
        yield _point(net.mixed_pair(scheme, r0, delay, **how), scheme=label, r0=float(r0), delay_ms=delay)


def _ef_schemes() -> dict[str, net.Scheme]:
    return {
        net.EF1: net.medf(net.accounting(net.abc(), 1)),
        net.EF3: net.medf(net.accounting(net.abc(), 3)),
    }


def fig04(scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the heavy user's flows, best effort only."""
    return list(_tcp_points(scale, {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}))


def fig05(scale: Scale) -> list[Point]:
    """The same with the heavy user's packets as EF, counted once or three times."""
    return list(_tcp_points(scale, _ef_schemes(), priority=True))


def fig05n(scale: Scale) -> list[Point]:
    """Figure 5's setting without ABC, which the paper reports in words (section IV-C2)."""
    schemes = {net.NO_ABC_STRICT: net.strict(net.drop_tail()), net.NO_ABC_MEDF: net.medf(net.drop_tail())}
    return list(_tcp_points(scale, schemes, at(scale, (1, 2, 5, 10, 20), (2, 10)), priority=True))


# --- Figures 6 and 7: a user that does not listen against a TCP flow ------------------------------------------------


def fig06(scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the UDP user's rate, best effort only."""
    return list(_mixed_points(scale, {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}))


def fig07(scale: Scale) -> list[Point]:
    """The same with the UDP user's packets as EF."""
    return list(_mixed_points(scale, _ef_schemes(), at(scale, R0_MIXED, R0_MIXED_FEW), priority=True))


def fig07n(scale: Scale) -> list[Point]:
    """Priority without ABC, and ABC under strict priority: both reported in words (section IV-D)."""
    schemes = {
        net.NO_ABC_MEDF: net.medf(net.drop_tail()),
        net.NO_ABC_STRICT: net.strict(net.drop_tail()),
        net.EF3_STRICT: net.strict(net.accounting(net.abc(), 3)),
    }
    return list(_mixed_points(scale, schemes, at(scale, (5, 8, 10, 12.5, 15, 20), (5, 10, 20)), priority=True))


# --- Figures 8 to 12: parameters ------------------------------------------------------------------------------------


def fig08(scale: Scale) -> list[Point]:
    """TR over the factor s between the two users' reference rates."""
    grid = at(scale, (1, 2, 4, 8, 12, 16), (1, 4, 8, 16))
    return [
        _point(
            net.dumbbell(
                net.abc(),
                delay_ms=delay,
                heavy=net.tcp(flows, weight=s),
                light=net.tcp(flows),
                title=f"Reference rates {s:g} to 1, {flows} flows each",
            ),
            s=s,
            flows=flows,
            delay_ms=delay,
        )
        for flows, delay, s in product((1, 2), DELAYS_MS, grid)
    ]


def fig09(scale: Scale) -> list[Point]:
    """TR, queue and utilisation over gamma for several Q_min; and without ABC."""
    gammas = at(scale, (0.5, 1, 2, 4, 8, 16, 32, 64, 128), (1, 4, 16, 128))
    q_mins = at(scale, (3, 6, 12, 18), (3, 12))
    points = [
        _point(
            net.crowd(net.abc(gamma=gamma, q_min=q_min), delay),
            scheme=net.ABC,
            gamma=gamma,
            q_min=q_min,
            delay_ms=delay,
        )
        for q_min, delay, gamma in product(q_mins, DELAYS_MS, gammas)
    ]
    points += [_point(net.crowd(net.drop_tail(), delay), scheme=net.NO_ABC, delay_ms=delay) for delay in DELAYS_MS]
    return points


def fig10(scale: Scale) -> list[Point]:
    """TR, queue and share of tail drops over Q_base for several gamma."""
    bases = at(scale, (12, 14, 16, 18, 20, 22, 23, 24), (16, 20, 22, 24))
    gammas = at(scale, (1, 4, 16, 64), (1, 16))
    return [
        _point(
            net.crowd(net.abc(gamma=gamma, q_base=q_base, q_min=min(12, q_base)), delay),
            gamma=gamma,
            q_base=q_base,
            delay_ms=delay,
        )
        for gamma, delay, q_base in product(gammas, DELAYS_MS, bases)
    ]


def _upload(scheme: net.Scheme, f1: int, delay_ms: float) -> Scenario:
    return net.dumbbell(
        scheme,
        delay_ms=delay_ms,
        heavy=net.upload(UPLOAD_START_S),
        light=net.tcp(f1, users=10),
        record={"series": [{"of": RECEIVED, "every": "10 ms"}]},
        warmup_s=UPLOAD_START_S,
        duration_s=UPLOAD_START_S + UPLOAD_S,
        title=f"A sudden upload among 10 users with {f1} flows each",
    )


def upload_label(memory_s: float) -> str:
    """The scheme label of figure 11's curves with ABC."""
    return f"ABC, meter memory {memory_s:g} s"


def fig11(scale: Scale) -> list[Point]:
    """Bytes received of an upload that starts long after everyone else, over the time since its start."""
    schemes = {net.NO_ABC: net.drop_tail()}
    schemes |= {upload_label(memory): net.abc(meter_memory_s=memory) for memory in MEMORIES_FIG11_S}
    return [
        _point(_upload(scheme, f1, delay), scheme=label, f1=f1, delay_ms=delay)
        for (label, scheme), f1, delay in product(schemes.items(), (1, 2), DELAYS_MS)
    ]


def fig12(scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the meters' memory for several averager memories."""
    meters = at(scale, (0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 10), (0.25, 1, 3, 10))
    averagers = at(scale, (0.1, 0.3, 1), (0.3, 1))
    return [
        _point(
            net.crowd(net.abc(meter_memory_s=m_am, averager_memory_s=m_aa), delay), m_am=m_am, m_aa=m_aa, delay_ms=delay
        )
        for m_aa, delay, m_am in product(averagers, DELAYS_MS, meters)
    ]


# --- Figure 13: one TCP flow alone ----------------------------------------------------------------------------------


def _single_flow(scheme: net.Scheme, delay_ms: float) -> Scenario:
    series: list[dict[str, str]] = [{"of": MONITOR_RATE, "every": "10 ms"}]
    if scheme.queue["kind"] == "activity-aqm":
        series.append({"of": THRESHOLD, "every": "packet"})
    return net.dumbbell(
        scheme,
        delay_ms=delay_ms,
        light=net.tcp(1, start=net.quantity(SINGLE_FLOW_START_S, "s")),
        record={"series": series},
        warmup_s=0,
        duration_s=SINGLE_FLOW_START_S + SINGLE_FLOW_S,
        after={"kind": "rate-meter", "memory": "0.5 s", "start": "first-packet"},
        title="A single TCP flow",
    )


def fig13(scale: Scale) -> list[Point]:
    """One flow's rate after its start, and the drop threshold it meets. Nothing in these runs is random."""
    delays = (5, 25, 50)
    points = [
        _point(_single_flow(scheme, delay), scheme=label, m_aa=0.3, delay_ms=delay)
        for (label, scheme), delay in product({net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}.items(), delays)
    ]
    points += [
        _point(_single_flow(net.abc(averager_memory_s=m_aa), delay), scheme=net.ABC, m_aa=m_aa, delay_ms=delay)
        for m_aa, delay in product((0.1, 1), delays)
    ]
    return points


# --- Figures 14 and 15: the fair meter, and CSFQ --------------------------------------------------------------------


def _three_panels(scale: Scale, schemes: dict[str, net.Scheme], rates_of_user_1: Sequence[float]) -> list[Point]:
    """The settings of figures 3a, 4a and 6a. Labels: panel, scheme; r0, r1 (a), f0, delay_ms (b), r0, delay_ms (c)."""
    grid = at(scale, R0_UDP, R0_UDP_FEW)
    points = [
        _point(net.udp_pair(scheme, r0, r1), panel="a", scheme=label, r0=float(r0), r1=float(r1))
        for (label, scheme), r1, r0 in product(schemes.items(), rates_of_user_1, grid)
    ]
    points += [Point({"panel": "b", **point.labels}, point.scenario) for point in _tcp_points(scale, schemes)]
    mixed = _mixed_points(scale, schemes, at(scale, R0_MIXED, R0_MIXED_FEW))
    points += [Point({"panel": "c", **point.labels}, point.scenario) for point in mixed]
    return points


def fig14(scale: Scale) -> list[Point]:
    """The fair activity meter beside the normal one in the settings of figures 3a, 4a and 6a."""
    return _three_panels(scale, {net.ABC: net.abc(), net.FAIR: net.abc(fair=True)}, R1_FIG14)


def fig15(scale: Scale) -> list[Point]:
    """CSFQ in the settings of figures 3a, 4a and 6a."""
    return _three_panels(scale, {net.CSFQ: net.csfq()}, R1_FIG3)


def fig16(scale: Scale) -> list[Point]:
    """Queue lengths met by dropped packets; and two CSFQ variants the text discusses (sections V-E1 and V-E2)."""
    schemes = {
        net.ABC: net.abc(),
        net.CSFQ: net.csfq(),
        net.CSFQ_Q_MIN: net.csfq(q_min=12),
        net.CSFQ_WRONG: net.csfq(capacity_mbps=12),
    }
    return [_point(net.crowd(scheme, 50), scheme=label) for label, scheme in schemes.items()]


# --- beyond the figures ---------------------------------------------------------------------------------------------

CHECK_POISSON = "Poisson source"
CHECK_RTT = "round-trip time"


def x_checks(scale: Scale) -> list[Point]:
    """What the method section states in passing: how much a Poisson source varies, and how long a round trip takes.

    The round trip is read off the window of a flow that grows with every ACK: it takes one, on an empty path, from two
    packets to three.
    """
    points = [
        _point(
            Scenario(
                {
                    "title": f"A Poisson source at {rate:g} Mbit/s alone",
                    "duration": "1000 s",
                    "warmup": "0 s",
                    "links": {"access": {"rate": "100 Mbit/s", "delay": "0.1 ms"}},
                    "groups": {
                        "heavy": {
                            "users": 1,
                            "path": ["access"],
                            "traffic": {"kind": "poisson", "rate": net.quantity(rate, "Mbit/s"), "packet": "1500 B"},
                        }
                    },
                    "record": {"series": [{"of": ARRIVED, "every": "1 s"}]},
                }
            ),
            what=CHECK_POISSON,
            rate_mbps=float(rate),
            delay_ms=0,
        )
        for rate in (1, 10)
    ]
    points += [
        _point(
            net.dumbbell(
                net.drop_tail(),
                delay_ms=delay,
                light=net.tcp(1, start="0 s", ack_every=1),
                record={"series": [{"of": WINDOW, "every": "0.05 ms"}]},
                warmup_s=0,
                duration_s=0.6,
                title="The first round trips of a TCP flow",
            ),
            what=CHECK_RTT,
            rate_mbps=0.0,
            delay_ms=delay,
        )
        for delay in (5, 25, 50)
    ]
    return points


def x_scale(scale: Scale) -> list[Point]:
    """Figure 4's point with ten flows and 5 ms, all reference rates scaled; every drop is recorded (section IV-E1)."""
    factors = at(scale, (1e-3, 0.5, 1, 2, 10, 1e3, 1e6), (1e-3, 0.5, 1, 2))
    return [
        _point(
            net.dumbbell(
                net.abc(reference_rate_kbps=factor * net.REFERENCE_RATE_KBPS),
                delay_ms=5,
                heavy=net.tcp(10),
                light=net.tcp(1),
                record={"events": ["drop"]},
                title=f"Reference rates of {factor * net.REFERENCE_RATE_KBPS:g} kbit/s",
            ),
            factor=float(factor),
        )
        for factor in factors
    ]


ACCEPTED = "average over accepted packets"
RECEIVED_TOO = "average over all received packets"


def x_average(scale: Scale) -> list[Point]:
    """Section III-C3: what averaging the activity of all received packets, instead of the accepted ones, would do."""
    schemes = {ACCEPTED: net.abc(), RECEIVED_TOO: net.abc(average_over="received")}
    every = {"series": [{"of": AVERAGE, "every": "100 ms"}]}
    light = {"UDP 7.5 Mbit/s": net.udp(7.5), "one TCP flow": net.tcp(1)}
    return [
        _point(
            net.dumbbell(scheme, delay_ms=5, heavy=net.udp(r0), light=user, record=every, title=f"Overload, {label}"),
            scheme=label,
            light=who,
            r0=float(r0),
        )
        for (label, scheme), (who, user), r0 in product(
            schemes.items(), light.items(), at(scale, (12.5, 15, 20), (12.5, 20))
        )
    ]


BY_PACKETS = "ABC, thresholds in packets"
BY_DELAY = "ABC, thresholds in delay"
CSFQ_STALE = "CSFQ, told 10 Mbit/s throughout"


def x_rate(scale: Scale) -> list[Point]:
    """Beyond the paper: the bottleneck's rate halves for 35 s in the measured time."""
    steps = {"steps": [["0 s", "10 Mbit/s"], ["130 s", "5 Mbit/s"], ["165 s", "10 Mbit/s"]]}
    schemes = {BY_PACKETS: net.abc(), BY_DELAY: net.abc_by_delay(), CSFQ_STALE: net.csfq()}
    return [
        _point(net.crowd(scheme, delay, rate=steps), scheme=label, delay_ms=delay)
        for (label, scheme), delay in product(schemes.items(), DELAYS_MS)
    ]


def x_drr(scale: Scale) -> list[Point]:
    """What per-user state buys: deficit round robin in the settings of figures 3a, 4a and 6a, beside ABC."""
    return _three_panels(scale, {net.ABC: net.abc(), net.DRR: net.drr()}, (7.5,))


SENSITIVITY_PRIORITY = "BE offset of the MEDF scheduler"
SENSITIVITY_WINDOW = "TCP window"
SENSITIVITY_USE = "TCP window and utilisation"
SENSITIVITY_CSFQ = "CSFQ variant"
SENSITIVITY_METER = "start of the activity meter"
SENSITIVITY_HOSTS = "time hosts spend on each packet, random up to"

WINDOWS = ("115000 B", "119000 B", "123000 B", "127000 B", "131072 B", "1048576 B")
"""Around ns-3.26's 131072 B, and one that never binds."""
SENSITIVITY_MEASURES: Mapping[str, tuple[Measure, str]] = {
    SENSITIVITY_PRIORITY: (measures.delay_ef, "mean queueing delay of EF (ms)"),
    SENSITIVITY_WINDOW: (measures.ratio, "throughput ratio TR"),
    SENSITIVITY_USE: (measures.utilisation, "utilisation"),
    SENSITIVITY_CSFQ: (measures.ratio, "throughput ratio TR"),
    SENSITIVITY_HOSTS: (measures.t1, "throughput T1 of the light user (Mbit/s)"),
    SENSITIVITY_METER: (
        lambda run: measures.received_by(RECEIVED, UPLOAD_START_S, 1.0, run) / 1e3,
        "received after 1 s (kB)",
    ),
}


def x_sensitivity(scale: Scale) -> list[Point]:
    """The alternatives to choices the paper leaves open, at the points where claims depend on them.

    Labels: what is varied, how, at which setting; and the delay. At scale "quick" the TCP window alone.
    """

    def varied(what: str, how: str, setting: str, delay_ms: int, scenario: Scenario) -> Point:
        return _point(scenario, what=what, how=how, setting=setting, delay_ms=delay_ms)

    points: list[Point] = []
    for window, flows in product(at(scale, WINDOWS, WINDOWS[1::3]), at(scale, (1, 2), (1,))):
        scenario = net.dumbbell(
            net.abc(),
            delay_ms=50,
            heavy=net.tcp(flows, weight=16, max_window=window),
            light=net.tcp(flows, max_window=window),
            title=f"Reference rates 16 to 1, window {window}",
        )
        points.append(varied(SENSITIVITY_WINDOW, window, f"figure 8, s = 16, flows: {flows}", 50, scenario))
    if scale == "quick":
        return points
    for delta, r0 in product((1.5, 2.0), (6, 6.5, 7, 7.25, 7.5, 7.75, 8)):
        scheme = net.medf(net.accounting(net.abc(), 1), delta_be=delta)
        scenario = net.udp_pair(scheme, r0, R1_WITH_PRIORITY, priority=True)
        points.append(varied(SENSITIVITY_PRIORITY, f"{delta:g}", f"R0 = {r0:g} Mbit/s", 5, scenario))
    for window, r0 in product(WINDOWS[-2:], (1, 2)):
        scenario = net.mixed_pair(net.drop_tail(), r0, 50, max_window=window)
        points.append(varied(SENSITIVITY_USE, window, f"figure 6c, R0 = {r0:g} Mbit/s", 50, scenario))
    variants = {
        "code, threshold 12 packets": net.csfq(),
        "code, threshold 6 packets": net.csfq(q_threshold=6),
        "paper form": net.csfq(form="paper"),
    }
    for (how, scheme), delay in product(variants.items(), DELAYS_MS):
        points.append(varied(SENSITIVITY_CSFQ, how, "figure 15b, f0 = 10", delay, net.tcp_pair(scheme, 10, delay)))
        points.append(
            varied(SENSITIVITY_CSFQ, how, "figure 15c, R0 = 12.5 Mbit/s", delay, net.mixed_pair(scheme, 12.5, delay))
        )
        points.append(varied(SENSITIVITY_CSFQ, how, "figure 16", delay, net.crowd(scheme, delay)))
    in_step = {
        "figure 4a without ABC, one flow each": partial(net.tcp_pair, net.drop_tail(), 1),
        "without ABC, strict priority, f0 = 2": partial(net.tcp_pair, net.strict(net.drop_tail()), 2, priority=True),
    }
    for (setting, make), delay in product(in_step.items(), DELAYS_MS):
        scenario = make(delay)
        points.append(varied(SENSITIVITY_HOSTS, "none", setting, delay, scenario))
        points.append(varied(SENSITIVITY_HOSTS, "1.2 ms", setting, delay, net.with_processing(scenario, 1.2)))
    for how, delay in product(("run", "first-packet"), DELAYS_MS):
        scenario = _upload(net.abc(meter_start=how), 1, delay)
        points.append(varied(SENSITIVITY_METER, how, "figure 11, f1 = 1", delay, scenario))
    return points


ACTIVITY = "stages.meter[{copy}].activity"
MEMORY_START_S = 60.0


def x_memory(scale: Scale) -> list[Point]:
    """Section IV-G1 as a picture: a user who starts from silence beside one long steady; nothing is dropped."""
    users = {"heavy": ("20 Mbit/s", MEMORY_START_S), "light": ("5 Mbit/s", 0.0)}
    return [
        _point(
            Scenario(
                {
                    "title": f"The head start of an idle user, meter memory {memory:g} s",
                    "duration": net.quantity(MEMORY_START_S + 12, "s"),
                    "warmup": "0 s",
                    "links": {"wide": {"rate": "100 Mbit/s", "delay": "1 ms"}},
                    "stages": {"meter": dict(net.abc(meter_memory_s=memory).stage or {})},
                    "groups": {
                        name: {
                            "users": 1,
                            "path": ["meter", "wide"],
                            "traffic": {
                                "kind": "cbr",
                                "rate": rate,
                                "packet": "1500 B",
                                "start": net.quantity(start, "s"),
                            },
                        }
                        for name, (rate, start) in users.items()
                    },
                    "record": {"series": [{"of": ACTIVITY.format(copy=copy), "every": "20 ms"} for copy in (0, 1)]},
                }
            ),
            m_am=float(memory),
        )
        for memory in MEMORIES_FIG11_S
    ]


UPLOAD_WORDS = {
    net.NO_ABC: "without ABC",
    **{upload_label(memory): f"ABC with {memory:g} s of meter memory" for memory in MEMORIES_FIG11_S},
}


def _experiment(
    name: str,
    title: str,
    points: Callable[[Scale], Sequence[Point]],
    figure: Callable[[Table], Figure] | None,
    caption: str,
    numbers: Mapping[str, Measure],
    runs: Callable[[Scale], Sequence[int]] = seeds,
) -> Experiment:
    return Experiment(
        id=f"abc-{name}",
        title=title,
        points=points,
        seeds=runs,
        figure=figure,
        caption=caption,
        data=figures.data(numbers),
    )


BAND = "Lines are means over the runs, bands their 95 % confidence intervals."
LINK = "Bottleneck of 10 Mbit/s with 24 packets of buffer."
SHARES: Mapping[str, Measure] = {"T0_mbps": measures.t0, "T1_mbps": measures.t1, "TR": measures.ratio}
LINK_MEASURES: Mapping[str, Measure] = {"Q_packets": measures.queue, "U": measures.utilisation}
ALL: Mapping[str, Measure] = {**SHARES, **LINK_MEASURES}
PRIORITY: Mapping[str, Measure] = {**ALL, "dBE_ms": measures.delay_be, "dEF_ms": measures.delay_ef}
DEAD: Mapping[str, Measure] = {"dead_light_flows": partial(measures.dead_flows, "light")}


def _received(after_s: float) -> Measure:
    def kilobytes(run: Run) -> float:
        return measures.received_by(RECEIVED, UPLOAD_START_S, after_s, run) / 1e3

    return kilobytes


EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "fig03",
        "Two UDP users: throughput of user 0 over its rate, without and with ABC, without and with priority",
        fig03,
        figures.fig03,
        "Two users send Poisson traffic, one-way delay 5 ms. Throughput of user 0 without priority (a), and with its "
        "packets as EF against 7.5 Mbit/s "
        f"of best effort (b); mean queueing delay by class (c). {LINK} {BAND}",
        {
            **SHARES,
            "Q_packets": measures.queue,
            "U": measures.utilisation,
            "dBE_ms": measures.delay_be,
            "dEF_ms": measures.delay_ef,
        },
    ),
    _experiment(
        "fig04",
        "A heavy TCP user with many flows against a light one with a single flow",
        fig04,
        figures.fig04,
        "Throughput ratio of heavy to light user (a), mean queue (b) and utilisation (c) over the heavy user's "
        f"number of flows. {LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "fig05",
        "As figure 4 with ABC, the heavy user's packets as EF",
        fig05,
        figures.fig05,
        "Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the heavy user's "
        "packets are EF under MEDF, counted "
        f"once or three times by its meter. {LINK} {BAND}",
        PRIORITY,
    ),
    _experiment(
        "fig05n",
        "As figure 5 without ABC (in the paper without figure)",
        fig05n,
        figures.fig05n,
        "Throughput ratio when the heavy TCP user's packets are EF and nothing else protects the light one. Ratio of "
        "the means over all runs, as a run's light "
        "user may get nothing; bands are Fieller's 95 % intervals where they are bounded.",
        {**PRIORITY, **DEAD},
    ),
    _experiment(
        "fig06",
        "A UDP user against a user with one TCP flow",
        fig06,
        figures.fig06,
        "Throughput ratio of UDP to TCP user (a: ratio of the means over all runs, logarithmic), mean queue (b) and "
        "utilisation (c) over the UDP user's rate. "
        f"{LINK} {BAND}",
        {**ALL, **DEAD},
    ),
    _experiment(
        "fig07",
        "As figure 6 with ABC, the UDP user's packets as EF",
        fig07,
        figures.fig07,
        "Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the UDP user's packets "
        "are EF under MEDF, counted once or three "
        f"times by its meter. {LINK} {BAND}",
        PRIORITY,
    ),
    _experiment(
        "fig07n",
        "As figure 7 without ABC, and ABC under strict priority (in the paper without figure)",
        fig07n,
        figures.fig07n,
        "Throughput ratio (a: ratio of the means) and throughput of the TCP user (b) when the UDP user's packets are "
        f"EF. {LINK} {BAND}",
        {**PRIORITY, **DEAD},
    ),
    _experiment(
        "fig08",
        "Two TCP users with different reference rates",
        fig08,
        figures.fig08,
        "Throughput ratio over the ratio of the users' reference rates; with perfect control it would be the grey "
        f"line. {LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "fig09",
        "Parameters γ and Q_min: one heavy TCP user among ten light ones",
        fig09,
        figures.fig09,
        "Throughput ratio (a), mean queue (b) and utilisation (c) over γ. The heavy user has 10 flows, each of 10 "
        "light users one. "
        f"{LINK} {BAND}",
        {**ALL, "tail_share": measures.tail_share},
    ),
    _experiment(
        "fig10",
        "Parameter Q_base: one heavy TCP user among ten light ones",
        fig10,
        figures.fig10,
        "Throughput ratio (a), mean queue (b) and share of drops that a full buffer caused (c) over Q_base. The heavy "
        "user has 10 flows, each of 10 light "
        f"users one. {LINK} {BAND}",
        {**ALL, "tail_share": measures.tail_share},
    ),
    _experiment(
        "fig11",
        "A sudden upload among ten users with one or two flows each",
        fig11,
        lambda table: figures.fig11(table, RECEIVED, UPLOAD_START_S, UPLOAD_S, UPLOAD_WORDS),
        "Bytes of an upload that the server has received in order, over the time since its start, at 5 ms (a) and 50 "
        "ms (b) of one-way delay. The upload's "
        f"meter has long been running. {LINK} {BAND}",
        {f"received_kB_after_{after:g}_s": _received(after) for after in (1, 2, 5, 10, 20, 50, 100)},
    ),
    _experiment(
        "fig12",
        "Memories of meters and averager: one heavy TCP user among ten light ones",
        fig12,
        figures.fig12,
        "Throughput ratio (a), mean queue (b) and utilisation (c) over the meters' memory. The heavy user has 10 "
        "flows, each of 10 light users one. "
        f"{LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "fig13",
        "A single TCP flow: its rate after the start, and the threshold it meets",
        fig13,
        lambda table: figures.fig13(table, MONITOR_RATE, THRESHOLD, SINGLE_FLOW_START_S),
        "Rate of one flow behind the bottleneck, measured with 0.5 s of memory (a), and the drop threshold of its "
        "packets at 5 ms, clipped to 12 and 24 "
        f"packets (b). Single runs without any randomness. {LINK}",
        {"seconds_to_98_percent": partial(measures.time_to_rate, MONITOR_RATE, SINGLE_FLOW_START_S, 9.8e6)},
        _one_run,
    ),
    _experiment(
        "fig14",
        "The fair activity meter in the settings of figures 3a, 4a and 6a",
        fig14,
        figures.fig14,
        "Normal and fair activity meter: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c). "
        f"{LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "fig15",
        "CSFQ in the settings of figures 3a, 4a and 6a",
        fig15,
        figures.fig15,
        "Core-stateless fair queueing: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c: ratio "
        "of the means, logarithmic). "
        f"{LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "fig16",
        "Queue lengths at drops under ABC and CSFQ",
        fig16,
        figures.fig16,
        "Distribution of the queue length that dropped packets met, all runs together. One TCP user with 10 flows "
        "among 10 users with one, one-way delay 50 ms. "
        f"{LINK}",
        {
            **ALL,
            "share_at_0": partial(measures.share_below, net.AT_DROP, 1),
            "share_below_12": partial(measures.share_below, net.AT_DROP, 12),
            "share_at_24": partial(measures.share_from, net.AT_DROP, 24),
        },
    ),
    _experiment(
        "x-checks",
        "What the method section states in passing: Poisson sources and round-trip times",
        x_checks,
        None,
        "",
        {"T0_mbps": optional(measures.t0), "T1_mbps": optional(measures.t1)},
    ),
    _experiment(
        "x-scale",
        "Scaling all reference rates by one factor",
        x_scale,
        figures.x_scale,
        f"Throughput ratio with 10 flows against one at 5 ms, over a factor on all reference rates. {LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "x-memory",
        "The head start of a user who was idle",
        x_memory,
        lambda table: figures.x_memory(table, ACTIVITY, MEMORY_START_S),
        "Activities of a user who begins to send 20 Mbit/s after a long silence and of one who has sent 5 Mbit/s all "
        "the time, on a link that drops nothing. "
        "The curves cross after the volume that the head start is worth.",
        {},
        _one_run,
    ),
    _experiment(
        "x-average",
        "Averaging the activity of all received packets, as the earlier design did",
        x_average,
        figures.x_average,
        f"Throughput of user 1 (a) and mean queue (b) in overload by user 0, one-way delay 5 ms. {LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "x-rate",
        "Beyond the paper: a bottleneck whose rate halves for 35 s",
        x_rate,
        figures.x_rate,
        "Throughput ratio and utilisation when the bottleneck has 10, then 5, then again 10 Mbit/s in the measured "
        "time; one TCP user with 10 flows among "
        "10 users with one. Bars are 95 % confidence intervals.",
        ALL,
    ),
    _experiment(
        "x-drr",
        "Beyond the paper: deficit round robin per user",
        x_drr,
        figures.x_drr,
        "What per-user state in the bottleneck achieves in the settings of figures 3a, 4a and 6a, beside ABC. "
        f"{LINK} {BAND}",
        ALL,
    ),
    _experiment(
        "x-sensitivity",
        "Alternatives to what the paper leaves open",
        x_sensitivity,
        lambda table: figures.x_sensitivity(table, SENSITIVITY_MEASURES),
        "Each open choice with its alternatives, at the points where claims depend on it. Bars are 95 % confidence "
        "intervals.",
        PRIORITY,
    ),
)
