"""Figures 18 and 19 and table IV: four variants, and heavy users with 9 to 36 flows."""

from __future__ import annotations

from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import frame
from evenflow.paper import Experiment
from evenflow.study import Point, Table

from .. import network as net
from ..choices import Options
from ..grids import BAND, LIGHT_USERS, NETWORK, UNFAIRNESS, both, experiment
from ..measures import Figure
from . import figures
from .measures import table_4

MOST_FLOWS = net.FLOWS[-1]


def panel(flows: int) -> Figure:
    """A panel of figure 18: a curve a variant."""
    return Figure("variant", where={"flows": flows})


def fig18(o: Options, scale: Scale) -> list[Point]:
    """Unfairness for each variant and number of flows."""
    return [
        point
        for flows, variant in product(net.FLOWS, net.VARIANTS)
        for point in both(o, scale, net.Setting(variant=variant, flows=flows), {"flows": flows, "variant": variant})
    ]


def fig19(o: Options, scale: Scale) -> list[Point]:
    """The same with 36 flows: what light users meet at the bottleneck."""
    return [point for point in fig18(o, scale) if point.labels["flows"] == MOST_FLOWS]


def _stars(table: Table) -> object:
    return frame(table_4(panel(MOST_FLOWS).series(table)))


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    policer = "Mild policer, depth 45 packets; thin lines: no policing."
    return (
        experiment(
            "fig18",
            "Unfairness over the filling rate for four variants and four numbers of flows",
            partial(fig18, o),
            figures.fig18,
            f"{NETWORK.replace('36 flows', '9 to 36 flows')} {policer} {BAND}",
            UNFAIRNESS,
        ),
        experiment(
            "fig19",
            "Delay and loss of a light user for four variants",
            partial(fig19, o),
            figures.fig19,
            f"{NETWORK} {policer} (a) mean queueing delay of the light users' packets, (b) share of them that the "
            f"bottleneck drops. {BAND}",
            LIGHT_USERS,
        ),
        Experiment(
            "conex-tab04",
            "Table IV: variants ranked",
            partial(fig19, o),
            net.SEEDS,
            figures.tab04,
            "Ranks by U averaged over r from 5 to 45, by the light users' loss averaged over r, and by their delay "
            "without policing and at r = 180; values within 15 % share a rank. Deployability counts what must change. "
            "In brackets: the paper's stars.",
            _stars,  # type: ignore[arg-type]
        ),
    )
