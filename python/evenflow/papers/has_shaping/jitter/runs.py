"""Figures 10 and 11: scenario 5, a lone client over the round trip's deviation."""

from __future__ import annotations

from functools import partial

from evenflow.paper import Experiment

from .. import network as net
from ..choices import Options
from ..grids import LINES, deviations, experiment
from ..measures import METRICS, QUALITY, numbers
from . import figures

SETTING = (
    f"A lone client for 180 s. The round trip's mean is {net.RTT_MS:g} ms; its deviation is on the axis, to the dotted "
    "line as in the paper, whose own axis is lost. Crosses: the printed values at 7 ms (Tables 7 and 8)."
)


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    return tuple(
        experiment(
            f"fig{number}",
            title,
            partial(deviations, o),
            partial(figures.over_deviation, o, names),
            f"{SETTING} {', '.join(names)}. {LINES}",
            numbers(o),
        )
        for number, names, title in (
            (10, QUALITY, "Quality over the round trip's deviation"),
            (11, METRICS[3:], "Congestion and off periods over the round trip's deviation"),
        )
    )
