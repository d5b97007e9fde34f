"""Figures 14 to 17: the queue's size and RED's parameters; and what the paper does not say of RED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from evenflow.claims import Scale
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import drawing
from .. import network as net
from ..choices import Options
from ..grids import BAND, NETWORK, UNFAIRNESS, both, experiment
from ..measures import Figure

QUEUE, LOW, HIGH, PROBABILITY = "queue_ms", "min_threshold", "max_threshold", "max_probability"
VALUES: Mapping[str, Sequence[float]] = {
    QUEUE: net.QUEUES_MS,
    LOW: net.MIN_THRESHOLDS,
    HIGH: net.MAX_THRESHOLDS,
    PROBABILITY: net.PROBABILITIES,
}
FIGURES = {QUEUE: "fig14", LOW: "fig15", HIGH: "fig16", PROBABILITY: "fig17"}
ALMOST_FREE = (0.1, 0.25)
"""Maximum marking probabilities of which the paper says that at r above 90 heavy users are almost not policed."""
JUST_ABOVE = 120.0


def of(parameter: str) -> Figure:
    """Figure 14, 15, 16 or 17: a curve a value of the parameter."""
    return Figure(parameter)


def sweep(o: Options, parameter: str, scale: Scale) -> list[Point]:
    """Unfairness and delay for each value of one parameter of the queue."""
    points: list[Point] = []
    for value in VALUES[parameter]:
        setting = net.Setting().varied(parameter, value)
        points += both(o, scale, setting, {parameter: value})
        # the first look's grid lacks the one rate that c46 is about
        if parameter == PROBABILITY and value in ALMOST_FREE and scale == "quick":
            scenario = net.bulk(o, setting.policed(JUST_ABOVE))
            points.append(Point({"policing": "on", parameter: value, "r": JUST_ABOVE}, scenario))
    return points


WEIGHT, SPREAD = "weight", "spread"
VARIED: Mapping[str, Mapping[str, str]] = {
    "as ns-2": {},
    "weight 0.002": {"red_weight": "0.002"},
    "spread as in 1993": {"red_spread": "floyd"},
    "independent marks": {"red_spread": "bernoulli"},
}
"""Values of the label ``red``."""


def x05(o: Options, scale: Scale) -> list[Point]:
    """The default series with other weights and spreads of RED."""
    return [
        point
        for name, options in VARIED.items()
        for point in both(o.varied(options), scale, net.Setting(), {"red": name})
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    titles = {
        QUEUE: "the queue's size",
        LOW: "the minimum threshold",
        HIGH: "the maximum threshold",
        PROBABILITY: "the maximum marking probability",
    }
    policer = "FullConEx, mild policer, depth 45 packets; thin lines: no policing."
    figures = tuple(
        experiment(
            FIGURES[parameter],
            f"Unfairness and delay for five values of {title}",
            partial(sweep, o, parameter),
            partial(drawing.unfairness_and_delay, figure=of(parameter)),
            f"{NETWORK} {policer} {BAND}",
            UNFAIRNESS,
        )
        for parameter, title in titles.items()
    )
    return (
        *figures,
        experiment(
            "x05",
            "What is not said of RED: weight and spread",
            partial(x05, o),
            partial(drawing.unfairness_and_delay, figure=Figure("red")),
            f"{NETWORK} {policer} {BAND}",
            UNFAIRNESS,
            net.FEW_SEEDS,
        ),
    )
