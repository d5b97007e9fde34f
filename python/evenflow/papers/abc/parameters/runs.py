"""Figures 8 to 10: reference rates, and the parameters of the activity AQM."""

from __future__ import annotations

from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, DELAYS_MS, LINK, experiment, point
from . import figures


def fig08(o: Options, scale: Scale) -> list[Point]:
    """TR over the factor s between the two users' reference rates."""
    grid = at(scale, (1, 2, 4, 8, 12, 16), (1, 4, 8, 16))
    return [
        point(
            net.dumbbell(
                net.abc(),
                delay_ms=delay,
                heavy=net.tcp(flows, weight=s, **o.stack),
                light=net.tcp(flows, **o.stack),
                title=f"Reference rates {s:g} to 1, {flows} flows each",
            ),
            s=s,
            flows=flows,
            delay_ms=delay,
        )
        for flows, delay, s in product((1, 2), DELAYS_MS, grid)
    ]


def fig09(o: Options, scale: Scale) -> list[Point]:
    """TR, queue and utilisation over gamma for several Q_min; and without ABC."""
    gammas = at(scale, (0.5, 1, 2, 4, 8, 16, 32, 64, 128), (1, 4, 16, 128))
    q_mins = at(scale, (3, 6, 12, 18), (3, 12))
    points = [
        point(
            net.crowd(net.abc(gamma=gamma, q_min=q_min), delay, **o.stack),
            scheme=net.ABC,
            gamma=gamma,
            q_min=q_min,
            delay_ms=delay,
        )
        for q_min, delay, gamma in product(q_mins, DELAYS_MS, gammas)
    ]
    points += [
        point(net.crowd(net.drop_tail(), delay, **o.stack), scheme=net.NO_ABC, delay_ms=delay) for delay in DELAYS_MS
    ]
    return points


def fig10(o: Options, scale: Scale) -> list[Point]:
    """TR, queue and share of tail drops over Q_base for several gamma."""
    bases = at(scale, (12, 14, 16, 18, 20, 22, 23, 24), (16, 20, 22, 24))
    gammas = at(scale, (1, 4, 16, 64), (1, 16))
    return [
        point(
            net.crowd(net.abc(gamma=gamma, q_base=q_base, q_min=min(12, q_base)), delay, **o.stack),
            gamma=gamma,
            q_base=q_base,
            delay_ms=delay,
        )
        for gamma, delay, q_base in product(gammas, DELAYS_MS, bases)
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig08",
            "Two TCP users with different reference rates",
            partial(fig08, o),
            figures.fig08,
            "Throughput ratio over the ratio of the users' reference rates; with perfect control it would be the grey "
            f"line. {LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig09",
            "Parameters γ and Q_min: one heavy TCP user among ten light ones",
            partial(fig09, o),
            figures.fig09,
            "Throughput ratio (a), mean queue (b) and utilisation (c) over γ. The heavy user has 10 flows, each of 10 "
            "light users one. "
            f"{LINK} {BAND}",
            {**ALL, "tail_share": measures.tail_share},
        ),
        experiment(
            "fig10",
            "Parameter Q_base: one heavy TCP user among ten light ones",
            partial(fig10, o),
            figures.fig10,
            "Throughput ratio (a), mean queue (b) and share of drops that a full buffer caused (c) over Q_base. The "
            "heavy "
            "user has 10 flows, each of 10 light "
            f"users one. {LINK} {BAND}",
            {**ALL, "tail_share": measures.tail_share},
        ),
    )
