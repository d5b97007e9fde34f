"""Figures 6 and 7: a UDP user who does not listen against a user with one TCP flow."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, DEAD, LINK, PRIORITY, R0_MIXED, R0_MIXED_FEW, ef_schemes, experiment, mixed_points
from . import figures


def fig06(o: Options, scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the UDP user's rate, best effort only."""
    return list(mixed_points(o, scale, {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}))


def fig07(o: Options, scale: Scale) -> list[Point]:
    """The same with the UDP user's packets as EF."""
    return list(mixed_points(o, scale, ef_schemes(), at(scale, R0_MIXED, R0_MIXED_FEW), priority=True))


def fig07n(o: Options, scale: Scale) -> list[Point]:
    """Priority without ABC, and ABC under strict priority: both reported in words (section IV-D)."""
    schemes = {
        net.NO_ABC_MEDF: net.medf(net.drop_tail()),
        net.NO_ABC_STRICT: net.strict(net.drop_tail()),
        net.EF3_STRICT: net.strict(net.accounting(net.abc(), 3)),
    }
    return list(mixed_points(o, scale, schemes, at(scale, (5, 8, 10, 12.5, 15, 20), (5, 10, 20)), priority=True))


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig06",
            "A UDP user against a user with one TCP flow",
            partial(fig06, o),
            figures.fig06,
            "Throughput ratio of UDP to TCP user (a: ratio of the means over all runs, on a logarithmic axis and from "
            "0 to 3), mean queue (b) "
            "and "
            "utilisation (c) over the UDP user's rate. "
            f"{LINK} {BAND}",
            {**ALL, **DEAD},
        ),
        experiment(
            "fig07",
            "As figure 6 with ABC, the UDP user's packets as EF",
            partial(fig07, o),
            figures.fig07,
            "Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the UDP user's "
            "packets "
            "are EF under MEDF, counted once or three "
            f"times by its meter. {LINK} {BAND}",
            PRIORITY,
        ),
        experiment(
            "fig07n",
            "As figure 7 without ABC, and ABC under strict priority (in the paper without figure)",
            partial(fig07n, o),
            figures.fig07n,
            "Throughput ratio (a: ratio of the means) and throughput of the TCP user (b) when the UDP user's packets "
            "are "
            f"EF. {LINK} {BAND}",
            {**PRIORITY, **DEAD},
        ),
    )
