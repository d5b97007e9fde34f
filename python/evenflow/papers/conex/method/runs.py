"""Figures 2, 6 and 7 and tables I to III: exact, beside one run without policing.

A study has runs; here it is the first of figure 8's without policing, which is there anyhow. Tables II and III say what
its network is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.claims import Scale
from evenflow.lab import frame
from evenflow.paper import Experiment
from evenflow.study import Point, Table

from .. import network as net
from ..choices import Options
from ..grids import free
from . import exact, figures

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def one(o: Options, scale: Scale) -> list[Point]:
    """The network without policing."""
    return [free(o, net.Setting())]


def _one_run(scale: Scale) -> list[int]:
    return [1]


def _rows(rows: Callable[[], Sequence[Mapping[str, Any]]], table: Table) -> pl.DataFrame:
    return frame(rows())


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""

    def experiment(
        name: str,
        title: str,
        figure: Callable[[Table], Figure],
        caption: str,
        rows: Callable[[], Sequence[Mapping[str, Any]]],
    ) -> Experiment:
        return Experiment(f"conex-{name}", title, partial(one, o), _one_run, figure, caption, partial(_rows, rows))

    return (
        experiment(
            "fig02",
            "RED's probability over the average queue",
            figures.fig02,
            "Line: the function. Dots: share of 4,000 packets that the simulator's RED picks, stepped by hand with an "
            "average that is the queue itself and independent picks.",
            figures.fig02_rows,
        ),
        experiment(
            "fig06",
            "Drop functions of the three policers",
            figures.fig06,
            "Lines: the functions. Dots: share of 4,000 packets that the simulator's policer drops, stepped by hand, "
            "after reports have brought its level down.",
            figures.fig06_rows,
        ),
        experiment(
            "fig07",
            "The network",
            figures.fig07,
            "Drawn from a run's scenario: the default series, policed.",
            partial(figures.fig07_rows, o),
        ),
        experiment(
            "tab01",
            "Table I: codepoints",
            partial(figures.as_table, rows=exact.table_1),
            "ECN field, RE flag and signal as in Table I; tokens that a policer takes, and what a RED that marks does "
            "with the packets it picks.",
            exact.table_1,
        ),
        experiment(
            "tab02",
            "Table II: parameters",
            partial(figures.as_table, rows=exact.table_2),
            "Values that the runs have, and the defaults.",
            exact.table_2,
        ),
        experiment(
            "tab03",
            "Table III: variants",
            partial(figures.as_table, rows=exact.table_3),
            "The variants as in Table III, and the settings of their scenarios.",
            exact.table_3,
        ),
    )
