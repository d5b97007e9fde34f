"""Figure 20: flows of ten packets; and the paper's conjecture about a larger initial window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from evenflow.claims import Scale
from evenflow.lab import Measure
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import BAND, experiment, rates
from ..measures import ON
from . import figures

STRICT = net.STRICT
MOST = net.RATES[-1]
WINDOWS = (2, 10)


def fig20(o: Options, scale: Scale) -> list[Point]:
    """Completion times at every filling rate, and without policing."""
    points = [Point({"policing": net.NONE}, net.short_flows(o, None))]
    points += [
        Point({"policing": ON, "r": r}, net.short_flows(o, net.Policer(r, harshness=STRICT))) for r in rates(scale)
    ]
    return points


def x03(o: Options, scale: Scale) -> list[Point]:
    """The largest filling rate with initial windows of 2 and 10 packets."""
    return [
        Point(
            {"initial_window": window},
            net.short_flows(o, net.Policer(MOST, harshness=STRICT), initial_window=window),
        )
        for window in WINDOWS
    ]


def x_empty(o: Options, scale: Scale) -> list[Point]:
    """A single flow in an empty network."""
    return [Point({"policing": net.NONE}, net.one_flow(o))]


def numbers(o: Options) -> Mapping[str, Measure]:
    """A point's numbers, heavy and light."""
    found: dict[str, Measure] = {}
    for group in (net.HEAVY, net.LIGHT):
        found |= {
            f"completion_{group}_s": partial(measures.completion, o, group),
            f"completed_{group}_percent": partial(measures.completed, group),
            f"policed_{group}_percent": partial(measures.policed, group),
            f"reports_{group}_per_s": partial(measures.reports, group),
        }
    return found | {"D_ms": measures.delay}


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    setting = (
        "Flows of ten packets, one every 6 ms on average, four of five of them of the ten heavy users, beside 90 "
        "Mbit/s of datagrams. FullConEx, strict policer, depth 45 packets."
    )
    return (
        experiment(
            "fig20",
            "Completion time of short flows",
            partial(fig20, o),
            partial(figures.fig20, o=o),
            f"{setting} (a) Mean completion time, (b) flows completed within the run, (c) share of the packets "
            f"that the policers drop; thin lines: no policing. {BAND}",
            numbers(o),
        ),
        experiment(
            "x03",
            "Short flows that begin with ten packets",
            partial(x03, o),
            partial(figures.x03, o=o),
            f"{setting} Filling rate of 180 tokens/s, at which nobody is policed. Reports a completed flow, and its "
            f"completion time, with initial windows of 2 and 10 packets. Bars are 95 % confidence intervals.",
            {**numbers(o), "reports_a_flow": partial(measures.reports_a_flow, net.HEAVY)},
        ),
        experiment(
            "x-empty",
            "One short flow in an empty network",
            partial(x_empty, o),
            None,
            "",
            {"completion_s": partial(measures.completion, o, net.LIGHT)},
        ),
    )
