"""Table 9, from the runs of tables 5 and 7 and figure 10; and what a window told brings (section 2.1)."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import network as net
from ..choices import Options
from ..grids import deviations, experiment, lone, three_scenarios
from . import figures
from .claims import told


def table09(o: Options, scale: Scale) -> list[Point]:
    """The points of tables 5, 7 and figure 10 that have a score."""
    found = [Point({"group": "1 to 3", **point.labels}, point.scenario) for point in three_scenarios(o, scale)]
    found += [
        Point({"group": "4", **point.labels}, point.scenario)
        for point in lone(o, scale)
        if point.labels.get("loss") == net.ACKS
    ]
    found += [
        Point({"group": "5", **point.labels}, point.scenario)
        for point in deviations(o, scale)
        if float(point.labels["deviation_ms"]) <= net.DEVIATIONS_MS[-1]
    ]
    return found


def law(o: Options, scale: Scale) -> list[Point]:
    """A transfer without end behind the tuner."""
    return [Point({"control": control, "method": net.RWTM}, net.bulk(o, control)) for control in net.CONTROLS]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    return (
        Experiment(
            "has_shaping-table09",
            "Table 9: scores",
            partial(table09, o),
            net.SEEDS,
            partial(figures.table09, o),
            "How bad a combination is: IS, IF and V of client 1, each over its mean over the four "
            "combinations, averaged over the three and over the scenarios' points. Lower is better. Numbers: "
            "places by Table 9; scenario 4 with half of the ACKs lost. Bars are 95 % confidence intervals.",
            partial(figures.rows, o),
        ),
        experiment(
            "law",
            "What a window told brings",
            partial(law, o),
            partial(figures.law, o),
            "A transfer without end behind the tuner, without deviation of the round trip: goodput, and the "
            "whole segments of the window told over a measured round trip. Bars are 95 % confidence intervals.",
            {
                "goodput_mbps": lambda run: float(run.json["groups"][net.CLIENT_1]["goodput_bps"]) / 1e6,
                "told_mbps": told,
            },
            net.FEW_SEEDS,
        ),
    )
