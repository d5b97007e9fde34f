"""Figures 4 and 5: a heavy TCP user with many flows against a light one with a single flow."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, DEAD, LINK, PRIORITY, ef_schemes, experiment, tcp_points
from . import figures


def fig04(o: Options, scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the heavy user's flows, best effort only."""
    return list(tcp_points(o, scale, {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}))


def fig05(o: Options, scale: Scale) -> list[Point]:
    """The same with the heavy user's packets as EF, counted once or three times."""
    return list(tcp_points(o, scale, ef_schemes(), priority=True))


def fig05n(o: Options, scale: Scale) -> list[Point]:
    """Figure 5's setting without ABC, which the paper reports in words (section IV-C2)."""
    schemes = {net.NO_ABC_STRICT: net.strict(net.drop_tail()), net.NO_ABC_MEDF: net.medf(net.drop_tail())}
    return list(tcp_points(o, scale, schemes, at(scale, (1, 2, 5, 10, 20), (2, 10)), priority=True))


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig04",
            "A heavy TCP user with many flows against a light one with a single flow",
            partial(fig04, o),
            figures.fig04,
            "Throughput ratio of heavy to light user (a), mean queue (b) and utilisation (c) over the heavy user's "
            f"number of flows. {LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig05",
            "As figure 4 with ABC, the heavy user's packets as EF",
            partial(fig05, o),
            figures.fig05,
            "Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the heavy user's "
            "packets are EF under MEDF, counted "
            f"once or three times by its meter. {LINK} {BAND}",
            PRIORITY,
        ),
        experiment(
            "fig05n",
            "As figure 5 without ABC (in the paper without figure)",
            partial(fig05n, o),
            figures.fig05n,
            "Throughput ratio when the heavy TCP user's packets are EF and nothing else protects the light one. Ratio "
            "of "
            "the means over all runs, as a run's light "
            "user may get nothing; bands are Fieller's 95 % intervals where they are bounded.",
            {**PRIORITY, **DEAD},
        ),
    )
