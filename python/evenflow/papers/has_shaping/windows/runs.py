"""Figures 2 to 9: scenario 1 with window and threshold of client 1's server as series, in all runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from evenflow.claims import Scale
from evenflow.lab import Lab
from evenflow.paper import Experiment
from evenflow.study import Labels, Point, Run, Table

from .. import network as net
from ..choices import Options
from ..grids import cell, experiment
from ..measures import numbers
from . import figures
from .measures import FIGURES, representative

CAPTION = (
    "Client 1's server in the run whose five measures are nearest to their means over all runs: congestion window and "
    "slow-start threshold; dotted line: the moment of convergence, where there is one. Values are cut after two "
    "decimals, as the paper's."
)


def _one(o: Options, control: str, method: str, scale: Scale) -> list[Point]:
    return [cell(o, net.S1, control, method, record=net.RECORD)]


def _thresholds(o: Options, scale: Scale) -> list[Point]:
    found = []
    for segments in net.MIXED:
        labels: Labels = {
            "scenario": net.S1,
            "control": net.NEWRENO,
            "method": net.RWTM,
            "threshold": float(segments),
        }
        made = net.scenario(o, net.S1, net.NEWRENO, net.RWTM, threshold=segments, record=net.RECORD)
        found.append(Point(labels, made))
    return found


def _viewed(o: Options, table: Table) -> Run:
    """The run that is drawn, of figure 3 that of panel a."""
    return representative(o, next(spot for _, spot in Lab(table).points()))


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments, in the order of the figures."""
    made = {
        name: experiment(
            name,
            f"Windows of {control} with {method}",
            partial(_one, o, control, method),
            partial(figures.one, o),
            f"Scenario 1, {control} with {method}. {CAPTION}",
            numbers(o),
        )
        for name, (control, method) in FIGURES.items()
    }
    made["fig03"] = experiment(
        "fig03",
        "Windows of NewReno with RWTM from two thresholds",
        partial(_thresholds, o),
        partial(figures.fig03, o),
        f"Scenario 1, NewReno with RWTM, first slow-start threshold 27 and 69 segments. {CAPTION}",
        numbers(o),
    )
    return tuple(replace(made[name], view=partial(_viewed, o)) for name in sorted(made))
