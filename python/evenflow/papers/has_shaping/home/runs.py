"""Tables 2 to 4: two clients that start together, four controls, no shaping and both methods; and figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from evenflow.claims import Scale
from evenflow.lab import frame
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import network as net
from ..choices import Options
from ..grids import HOLLOW, cell, first_scenario
from . import figures

SETTING = "Two clients that start together and play for 180 s."


def _one(o: Options, scale: Scale) -> list[Point]:
    return [cell(o, net.S1, net.CUBIC, net.HTBM)]


def _one_run(scale: Scale) -> Sequence[int]:
    return [1]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    made = [
        Experiment(
            "has_shaping-fig01",
            "The home",
            partial(_one, o),
            _one_run,
            figures.fig01,
            "Drawn from a run's scenario: scenario 1 with HTBM.",
            lambda table: frame(figures.fig01_rows(o)),
        )
    ]
    for number, (client, names), what in (
        (2, figures.SECOND_TABLE, "Quality of client 1"),
        (3, figures.THIRD_TABLE, "Quality of client 2"),
        (4, figures.FOURTH_TABLE, "Congestion and off periods of client 1"),
    ):
        made.append(
            Experiment(
                f"has_shaping-table{number:02d}",
                f"Table {number}: {what[0].lower()}{what[1:]}, scenario 1",
                partial(first_scenario, o),
                net.SEEDS,
                partial(figures.table, o, client, names),
                f"{SETTING} {what}: {', '.join(names)}. {HOLLOW}",
                partial(figures.rows, o, client, names),
            )
        )
    return tuple(made)
