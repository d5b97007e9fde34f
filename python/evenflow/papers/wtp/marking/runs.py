"""Figures 8 to 10: marking probability against utilisation, the load swept by the number of connections.

The sweeps are `loads.sweep`'s. Beside the figures: other round trips (section 5.2), the parameters of load-based
marking and of RED (section 5.4), how bursty queue and arrivals are (section 5.2), and how long a virtual queue's
marking periods last (section 5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from evenflow.claims import Scale
from evenflow.lab import at, data, quantity, seeds
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Label, Point

from .. import network as net
from ..choices import Options
from ..network import IPD, LB, LEVEL, PI, RED, VQ, Connections, single_link, wtp
from . import figures
from .loads import LOADS, LOADS_QUICK, WEIGHTS, Place, mixes, sweep
from .measures import (
    ARRIVED_SERIES,
    EQUAL_LOAD,
    MARKING_SERIES,
    PROBABILITY_SERIES,
    QUEUE_SERIES,
    STEP_S,
)

THETAS = (0.80, 0.85, 0.90, 0.95, 1.00)
BUFFERS = (10, 20, 30, 50, 100)
"""θ and B of Fig. 10 are in no text; these lie around the paper's 0.95 and 30 packets."""
RTTS_MS = (100.0, 200.0, 400.0)
MAX_PROBABILITIES = (0.1, 0.3, 0.6, 0.95)
LB_SLOPES = ((0.71, 0.6), (0.5, 0.6), (1.0, 0.6), (2.0, 0.6), (0.71, 0.5), (0.71, 0.7))
"""α and ρ0: the paper's (Fig. 8), then one of them changed."""
INTERVALS_S = (0.1, 0.5, 2.0)
LB_LOADS = (2, 4, 6, 8, 10, 12, 14)
"""Loads that leave every load-based marker of `LB_SLOPES` below saturation, or nearly."""
LB_LOADS_QUICK = (4, 8, 12)
STEP_N = 8
"""Step of the load: 8 connections, and 8 more (section 5.4)."""
BURST_LOADS = (8, 16, 26)
BURST_N = {
    (RED, PI): (EQUAL_LOAD[RED],),
    (VQ, PI): (*BURST_LOADS, EQUAL_LOAD[VQ]),
    (VQ, IPD): BURST_LOADS,
    (LB, PI): (EQUAL_LOAD[LB],),
}
PERIOD_N = (8, 26)
PERIOD_BUFFERS = (10, 30, 100)
FACTOR_BUFFERS = (10, 20, 50)
USUAL = "as in the paper"
SMALL_GAINS = (0.25, 0.125, 0.05)
LONG_RTT_MS = 800.0
"""Longer than any marking period of `PERIOD_BUFFERS`."""
DEAF = "Poisson"
"""Traffic that does not answer to marks; as ``n`` its points carry the offered load in percent."""
DEAF_LOADS = (0.70, 0.75, 0.80, 0.85, 0.90, 0.93, 0.95, 0.97)
LOW_LOADS = (2, 4, 6, 8, 12, 20, 40)


few_seeds = seeds(paper=5)
"""Where every packet is recorded, and where causes are looked for."""


def _points(places: Sequence[Place], **labels: Label) -> list[Point]:
    return [Point({**labels, **place.labels}, place.scenario) for place in places]


def fig08(scale: Scale, o: Options) -> list[Point]:
    """The three markers under proportional increase (a) and inversely proportional decrease (b)."""
    markers = {RED: net.red(o, 2, 6, 0.1, 0.02), VQ: net.virtual_queue(o), LB: net.load_based(o)}
    return [
        point
        for (name, marker), form in product(markers.items(), (PI, IPD))
        for point in _points(sweep(o, marker, form, LOADS), marker=name, form=form)
    ]


def fig09(scale: Scale, o: Options) -> list[Point]:
    """The three markers with parameters that make the curves alike."""
    markers = {RED: net.red(o, 3, 9, 0.95, 0.002), VQ: net.virtual_queue(o), LB: net.load_based(o, 0.7, 2)}
    return [point for name, marker in markers.items() for point in _points(sweep(o, marker, PI, LOADS), marker=name)]


def fig10(scale: Scale, o: Options) -> list[Point]:
    """The virtual queue for several θ (a) and B (b); the paper's own setting belongs to both."""
    usual = (0.95, net.BUFFER_PACKETS)
    settings = dict.fromkeys([*((theta, usual[1]) for theta in THETAS), *((usual[0], buffer) for buffer in BUFFERS)])
    return [
        point
        for theta, buffer in settings
        for point in _points(
            sweep(o, net.virtual_queue(o, theta, buffer), PI, LOADS), theta=theta, buffer=float(buffer)
        )
    ]


def x_rtt(scale: Scale, o: Options) -> list[Point]:
    """Round trips with gain and weights per second kept: κ̄ and the weights grow with the round trip (section 5.2)."""
    markers = {RED: net.red(o, 2, 6, 0.1, 0.02), VQ: net.virtual_queue(o), LB: net.load_based(o)}
    ns = at(scale, LOADS, LOADS_QUICK)
    return [
        point
        for (name, marker), rtt in product(markers.items(), RTTS_MS)
        for point in _points(
            sweep(o, marker, PI, ns, gain=net.GAIN * rtt / net.RTT_MS, factor=rtt / net.RTT_MS, rtt_ms=rtt),
            marker=name,
            rtt_ms=rtt,
        )
    ]


def x_lb(scale: Scale, o: Options) -> list[Point]:
    """Load-based marking: α and ρ0, t_avg, and a step of the load for each t_avg; the panel is a label."""
    ns = at(scale, LB_LOADS, LB_LOADS_QUICK)
    settings = [*((alpha, rho0, 0.5) for alpha, rho0 in LB_SLOPES), *((0.71, 0.6, t) for t in INTERVALS_S if t != 0.5)]
    found = [
        point
        for alpha, rho0, interval in settings
        for point in _points(
            sweep(
                o,
                net.load_based(o, rho0, alpha, interval),
                PI,
                ns,
            ),
            panel="curve",
            alpha=alpha,
            rho0=rho0,
            t_avg=interval,
        )
    ]
    return found + [_step(o, interval, panel) for interval in INTERVALS_S for panel in ("step", "no step")]


def _step(o: Options, interval: float, panel: str) -> Point:
    """8 connections, and with the step 8 more at 100 s: measured from there on."""
    tcp = wtp(o)
    late = {"uniform": [quantity(STEP_S, "s"), quantity(STEP_S + net.RTT_MS / 1000, "s")]}
    groups = {
        f"{when}-{weight:g}": Connections(STEP_N // 2, tcp, weight, start)
        for when, start in (("early", dict(net.START)), *([("late", late)] if panel == "step" else []))
        for weight in WEIGHTS
    }
    scenario = single_link(
        o,
        net.load_based(o, interval_s=interval),
        groups,
        warmup_s=STEP_S,
        record={
            "series": [
                {"of": PROBABILITY_SERIES, "every": "100 ms"},
                *([{"of": QUEUE_SERIES, "every": "10 ms"}] if panel == "step" else []),
            ]
        },
    )
    return Point({"panel": panel, "alpha": 0.71, "rho0": 0.6, "t_avg": interval}, scenario)


def x_red(scale: Scale, o: Options) -> list[Point]:
    """RED from a small to a large largest probability, thresholds 3 and 9 packets (section 5.4)."""
    return [
        point
        for largest in MAX_PROBABILITIES
        for point in _points(sweep(o, net.red(o, 3, 9, largest, 0.002), PI, LOADS), max_p=largest)
    ]


def x_bursts(scale: Scale, o: Options) -> list[Point]:
    """Fig. 8's markers with queue, windows and arrivals recorded."""
    markers = {RED: net.red(o, 2, 6, 0.1, 0.02), VQ: net.virtual_queue(o), LB: net.load_based(o)}
    found = []
    for (name, form), ns in BURST_N.items():
        for mix in mixes(o):
            groups = mix.groups(2, {})
            record = {
                "series": [
                    {"of": ARRIVED_SERIES, "every": "10 ms"},
                    {"of": QUEUE_SERIES, "every": "10 ms"},
                    *({"of": f"groups.{group}.users[*].flows[*].window", "every": "200 ms"} for group in groups),
                ]
            }
            places = sweep(o, markers[name], form, ns, who=(mix,), record=record)
            for n, place in zip(ns, places, strict=True):
                found += _points([place], marker=name, form=form, load=n)
    return found


def x_periods(scale: Scale, o: Options) -> list[Point]:
    """The virtual queue's state at every packet, for three buffers."""
    record = {"series": [{"of": MARKING_SERIES, "every": "packet"}]}
    return [
        point
        for buffer, n in product(PERIOD_BUFFERS, PERIOD_N)
        for place in [sweep(o, net.virtual_queue(o, buffer=buffer), PI, (n,), record=record, duration_s=120)]
        for point in _points(place, buffer=float(buffer), load=n)
    ]


def x_factors(scale: Scale, o: Options) -> list[Point]:
    """Footnote 5: a buffer B at θ, and a buffer 2B with half of θ as the buffer's own factor: the same virtual room."""
    found = []
    for buffer in FACTOR_BUFFERS:
        same = net.virtual_queue(o, buffer=2 * buffer, buffer_factor=0.95 / 2)
        for how, marker in (("one factor", net.virtual_queue(o, buffer=buffer)), ("two factors", same)):
            found += _points(sweep(o, marker, PI, (16,)), buffer=float(buffer), how=how)
    return found


def x_buffer(scale: Scale, o: Options) -> list[Point]:
    """Fig. 10b with smaller gains, with a longer round trip, and under traffic that does not answer (Poisson)."""
    ns = at(scale, LOADS, LOADS_QUICK)
    longer = LONG_RTT_MS / net.RTT_MS
    ways: dict[str, dict[str, Any]] = {
        USUAL: {},
        **{f"κ̄ = {gain:g}": {"gain": gain} for gain in SMALL_GAINS},
        # the same weights per second, so that the same loads are made
        f"round trip {LONG_RTT_MS:g} ms": {"factor": longer, "rtt_ms": LONG_RTT_MS},
    }
    found = [
        point
        for (how, changed), buffer in product(ways.items(), PERIOD_BUFFERS)
        for point in _points(
            sweep(o, net.virtual_queue(o, buffer=buffer), PI, ns, **changed), how=how, buffer=float(buffer)
        )
    ]
    return found + [
        Point(
            {"how": DEAF, "weights": DEAF, "buffer": float(buffer), "n": round(100 * rho)},
            _deaf(o, net.virtual_queue(o, buffer=buffer), rho),
        )
        for buffer, rho in product(PERIOD_BUFFERS, DEAF_LOADS)
    ]


def _deaf(o: Options, marker: net.Table, rho: float) -> Scenario:
    """Poisson datagrams that take a share `rho` of the link, whatever is marked."""
    traffic = {
        "kind": "poisson",
        "ecn_capable": True,
        "packet": quantity(o.packet, "B"),
        "rate": quantity(net.CAPACITY_MBPS * rho, "Mbit/s"),
    }
    return Scenario(
        {
            "duration": quantity(net.DURATION_S, "s"),
            "warmup": quantity(net.WARMUP_S, "s"),
            "links": {
                net.LINK: {
                    "rate": quantity(net.CAPACITY_MBPS, "Mbit/s"),
                    "delay": quantity(net.RTT_MS / 2, "ms"),
                    "queue": dict(marker),
                }
            },
            "groups": {"deaf": {"users": 1, "path": [net.LINK], "traffic": traffic}},
        }
    )


def x_low_load(scale: Scale, o: Options) -> list[Point]:
    """What might bring RED of Fig. 8a below a utilisation of 0.80: one thing changed at a time."""
    usual = net.red(o, 2, 6, 0.1, 0.02)
    limited = {"congestion_control": dict(wtp(o)["congestion_control"]) | {"max_window": "20 packets"}}
    ways: dict[str, list[Place]] = {
        USUAL: sweep(o, usual, PI, LOW_LOADS),
        "ns-2's count rule": sweep(o, dict(usual) | {"spread": "ns2"}, PI, LOW_LOADS),
        "independent marks": sweep(o, dict(usual) | {"spread": "bernoulli"}, PI, LOW_LOADS),
        "no exemption of short queues": sweep(o, dict(usual) | {"spare_short_queue": False}, PI, LOW_LOADS),
        "the queue itself, no average": sweep(o, net.red(o, 2, 6, 0.1, 1), PI, LOW_LOADS),
        "slow start until the first mark": sweep(replace(o, start="slow-start-until-mark"), usual, PI, LOW_LOADS),
        "access at 1000 Mbit/s": sweep(replace(o, access=1000), usual, PI, LOW_LOADS),
        "access at 20 Mbit/s": sweep(replace(o, access=20), usual, PI, LOW_LOADS),
        "round trips ± 25 %": sweep(o, usual, PI, LOW_LOADS, spread=0.25),
        "inversely proportional decrease": sweep(o, usual, IPD, LOW_LOADS),
        "windows of at most 20 packets": sweep(o, usual, PI, LOW_LOADS, tcp=limited),
        "twice the gain": sweep(o, usual, PI, LOW_LOADS, gain=2 * net.GAIN),
        "four times the gain": sweep(o, usual, PI, LOW_LOADS, gain=4 * net.GAIN),
    }
    found = [point for how, places in ways.items() for point in _points(places, how=how, marker=RED)]
    markers = {RED: usual, VQ: net.virtual_queue(o), LB: net.load_based(o)}
    return found + [
        Point(
            {"how": DEAF, "marker": name, "weights": DEAF, "n": round(100 * rho)},
            _deaf(o, marker, rho),
        )
        for (name, marker), rho in product(markers.items(), DEAF_LOADS)
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""

    numbers = data(figures.numbers, LEVEL)

    def points(make: Callable[[Scale, Options], list[Point]]) -> Callable[[Scale], list[Point]]:
        return lambda scale: make(scale, o)

    return (
        Experiment(
            "wtp-fig08",
            "Marking probability over utilisation for three markers and two window controls",
            points(fig08),
            net.SEEDS,
            figures.fig08,
            "Share of packets marked over the utilisation of the link, the load swept by the number of connections, "
            "half of them of weight 1 and half of 6; bars: 90 % intervals of both, over runs. a: proportional "
            "increase; b: inversely proportional decrease, with a's curves in pale. Dotted with hollow marks: fewer "
            "than eight connections under RED, where the curve folds back; crosses: the link is always busy.",
            numbers,
        ),
        Experiment(
            "wtp-fig09",
            "Marking probability over utilisation for three markers tuned to be alike",
            points(fig09),
            net.SEEDS,
            figures.fig09,
            "As Fig. 8a, with RED at 3, 9, 0.95, 0.002, the virtual queue at θ = 0.95 and load-based marking at "
            "ρ0 = 0.7, α = 2. Bars: 90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-fig10",
            "Marking probability over utilisation for several θ and B of the virtual queue",
            points(fig10),
            net.SEEDS,
            figures.fig10,
            "As Fig. 8a under the virtual queue. a: θ, at B = 30 packets; b: B, at θ = 0.95. Bars: 90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-x-rtt",
            "Fig. 8a with other round trips, gain and weights per second kept",
            points(x_rtt),
            net.SEEDS,
            figures.x_rtt,
            "As Fig. 8a for round trips of 100, 200 and 400 ms; gain and weights per round trip grow with it. Bars: "
            "90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-x-lb",
            "Parameters of load-based marking: slope, target, and the averaging interval at a step of the load",
            points(x_lb),
            net.SEEDS,
            figures.x_lb,
            "a: marking probability over utilisation for several α and ρ0, with the law α(ρ − ρ0) as thin lines. "
            "b, c: probability and queue of waiting packets after the number of connections doubled, means over "
            "runs with 90 % bands.",
            numbers,
        ),
        Experiment(
            "wtp-x-red",
            "RED's marking probability over utilisation for several largest probabilities",
            points(x_red),
            net.SEEDS,
            figures.x_red,
            "As Fig. 8a under RED with thresholds of 3 and 9 packets. Bars: 90 % intervals; dotted with hollow "
            "marks: fewer than eight connections.",
            numbers,
        ),
        Experiment(
            "wtp-x-bursts",
            "How bursty arrivals are, and how much queue and windows fluctuate",
            points(x_bursts),
            net.SEEDS,
            figures.x_bursts,
            "a: variance over mean of the packets that arrive in 10 ms under the virtual queue, for both window "
            "controls. b: standard deviation over mean, at a utilisation of about 0.9, of the queue averaged over "
            "200 ms and of the sum of all windows. Bars: 90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-x-periods",
            "How often a virtual queue overflows and how long it then marks",
            points(x_periods),
            few_seeds,
            figures.x_periods,
            "a: beginnings of marking periods per second; b: their mean length; over B. Bands: 90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-x-factors",
            "One factor for the virtual queue's rate and room, or two (footnote 5)",
            points(x_factors),
            net.SEEDS,
            None,
            "The paper's θ with a buffer B, and the same room made with a buffer 2B and its own factor θ/2.",
            numbers,
        ),
        Experiment(
            "wtp-x-buffer",
            "Fig. 10b with smaller gains, a longer round trip, and traffic that does not answer to marks",
            points(x_buffer),
            few_seeds,
            figures.x_buffer,
            "As Fig. 10b, each panel with one thing changed; the last: Poisson datagrams. Bars: 90 % intervals.",
            numbers,
        ),
        Experiment(
            "wtp-x-low-load",
            "What might bring RED to utilisations below 0.80",
            points(x_low_load),
            few_seeds,
            figures.x_low_load,
            "a: RED of Fig. 8a with one thing changed at a time. b: the three markers of Fig. 8a under Poisson "
            "datagrams that do not answer to marks. Bars: 90 % intervals.",
            numbers,
        ),
    )
