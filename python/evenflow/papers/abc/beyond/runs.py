"""Beyond the figures: the earlier averager, a link of varying rate, queues per user, alternatives to open choices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import Measure, at
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, DELAYS_MS, LINK, PRIORITY, R1_WITH_PRIORITY, experiment, point, three_panels
from ..memories.runs import RECEIVED, UPLOAD_START_S, upload
from . import figures

AVERAGE = "links.bottleneck.queue.average"
ACCEPTED = "average over accepted packets"
RECEIVED_TOO = "average over all received packets"


def x_average(o: Options, scale: Scale) -> list[Point]:
    """Section III-C3: what averaging the activity of all received packets, instead of the accepted ones, would do."""
    schemes = {ACCEPTED: net.abc(), RECEIVED_TOO: net.abc(average_over="received")}
    every = {"series": [{"of": AVERAGE, "every": "100 ms"}]}
    light = {"UDP 7.5 Mbit/s": net.udp(7.5), "one TCP flow": net.tcp(1, **o.stack)}
    return [
        point(
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


def x_rate(o: Options, scale: Scale) -> list[Point]:
    """Beyond the paper: the bottleneck's rate halves for 35 s in the measured time."""
    steps = {"steps": [["0 s", "10 Mbit/s"], ["130 s", "5 Mbit/s"], ["165 s", "10 Mbit/s"]]}
    schemes = {BY_PACKETS: net.abc(), BY_DELAY: net.abc_by_delay(), CSFQ_STALE: net.csfq()}
    return [
        point(net.crowd(scheme, delay, rate=steps, **o.stack), scheme=label, delay_ms=delay)
        for (label, scheme), delay in product(schemes.items(), DELAYS_MS)
    ]


def x_drr(o: Options, scale: Scale) -> list[Point]:
    """What per-user state buys: deficit round robin in the settings of figures 3a, 4a and 6a, beside ABC."""
    return three_panels(o, scale, {net.ABC: net.abc(), net.DRR: net.drr()}, (7.5,))


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


def x_sensitivity(o: Options, scale: Scale) -> list[Point]:
    """The alternatives to choices the paper leaves open, at the points where claims depend on them.

    Labels: what is varied, how, at which setting; and the delay. At scale "quick" the TCP window alone.
    """

    def varied(what: str, how: str, setting: str, delay_ms: int, scenario: Scenario) -> Point:
        return point(scenario, what=what, how=how, setting=setting, delay_ms=delay_ms)

    points: list[Point] = []
    for window, flows in product(at(scale, WINDOWS, WINDOWS[1::3]), at(scale, (1, 2), (1,))):
        scenario = net.dumbbell(
            net.abc(),
            delay_ms=50,
            heavy=net.tcp(flows, weight=16, max_window=window, **o.stack),
            light=net.tcp(flows, max_window=window, **o.stack),
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
        scenario = net.mixed_pair(net.drop_tail(), r0, 50, max_window=window, **o.stack)
        points.append(varied(SENSITIVITY_USE, window, f"figure 6c, R0 = {r0:g} Mbit/s", 50, scenario))
    variants = {
        "code, threshold 12 packets": net.csfq(),
        "code, threshold 6 packets": net.csfq(q_threshold=6),
        "paper form": net.csfq(form="paper"),
    }
    for (how, scheme), delay in product(variants.items(), DELAYS_MS):
        settings = {
            "figure 15b, f0 = 10": net.tcp_pair(scheme, 10, delay, **o.stack),
            "figure 15c, R0 = 12.5 Mbit/s": net.mixed_pair(scheme, 12.5, delay, **o.stack),
            "figure 16": net.crowd(scheme, delay, **o.stack),
        }
        points += [varied(SENSITIVITY_CSFQ, how, setting, delay, scenario) for setting, scenario in settings.items()]
    in_step = {
        "figure 4a without ABC, one flow each": partial(net.tcp_pair, net.drop_tail(), 1),
        "without ABC, strict priority, f0 = 2": partial(net.tcp_pair, net.strict(net.drop_tail()), 2, priority=True),
    }
    for (setting, make), delay in product(in_step.items(), DELAYS_MS):
        scenario = make(delay, **o.stack)
        points.append(varied(SENSITIVITY_HOSTS, "none", setting, delay, scenario))
        points.append(varied(SENSITIVITY_HOSTS, "1.2 ms", setting, delay, net.with_processing(scenario, 1.2)))
    for how, delay in product(("run", "first-packet"), DELAYS_MS):
        scenario = upload(net.abc(meter_start=how), 1, delay, **o.stack)
        points.append(varied(SENSITIVITY_METER, how, "figure 11, f1 = 1", delay, scenario))
    return points


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "x-average",
            "Averaging the activity of all received packets, as the earlier design did",
            partial(x_average, o),
            figures.x_average,
            f"Throughput of user 1 (a) and mean queue (b) in overload by user 0, one-way delay 5 ms. {LINK} {BAND}",
            ALL,
        ),
        experiment(
            "x-rate",
            "Beyond the paper: a bottleneck whose rate halves for 35 s",
            partial(x_rate, o),
            figures.x_rate,
            "Throughput ratio and utilisation when the bottleneck has 10, then 5, then again 10 Mbit/s in the measured "
            "time; one TCP user with 10 flows among "
            "10 users with one. Bars are 95 % confidence intervals.",
            ALL,
        ),
        experiment(
            "x-drr",
            "Beyond the paper: deficit round robin per user",
            partial(x_drr, o),
            figures.x_drr,
            "What per-user state in the bottleneck achieves in the settings of figures 3a, 4a and 6a, beside ABC. "
            f"{LINK} {BAND}",
            ALL,
        ),
        experiment(
            "x-sensitivity",
            "Alternatives to what the paper leaves open",
            partial(x_sensitivity, o),
            lambda table: figures.x_sensitivity(table, SENSITIVITY_MEASURES),
            "Each open choice with its alternatives, at the points where claims depend on it. Bars are 95 % confidence "
            "intervals.",
            PRIORITY,
        ),
    )
