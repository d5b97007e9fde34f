"""The theory of sections 2 and 3: one connection under constant marking, beside the equation it should follow.

The delay equation's own trajectories need no runs; they are computed where the figure and the claims want them.
"""

from __future__ import annotations

from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import at, quantity, seeds
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import network as net
from ..choices import Options
from . import equations as fluid
from . import figures

PROBABILITIES = (0.03, 0.05, 0.1)
PROBABILITIES_QUICK = (0.03, 0.1)
"""The least at which a connection of weight 4 does not fill the link with packets of 1500 B either."""
WEIGHTS = ((1.0, 1.0), (4.0, 1.0), (2.0, 2.0), (1.0, 4.0))
"""(wb_inc, wb_dec): weight 1, and the three ways to weight 4 of Fig. 1 and between."""


def windows(o: Options, scale: Scale) -> list[Point]:
    """One connection from time 0, alone on the link; the weights of Fig. 1 under three marking probabilities."""
    grid = at(scale, PROBABILITIES, PROBABILITIES_QUICK)
    return [
        Point(
            {"p": p, "increase": up, "decrease": down},
            net.single_link(
                o,
                net.constant(p),
                {"alone": net.Connections(1, net.wtp(o, weights=(up, down)), start="0 s")},
            ),
        )
        for p, (up, down) in product(grid, WEIGHTS)
    ]


VALUES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
VALUES_QUICK = (1.0, 2.0, 3.0, 5.0)
"""a (T + t_avg)."""
LOAD = "links.bottleneck.queue.load"
CROWD = 20
CROWD_SPREAD = 0.25
"""Round trips differ by a quarter to either side, lest trains of packets return together."""


def cycles(o: Options, scale: Scale) -> list[Point]:
    """Load-based marking at one equilibrium under ever larger gains: aT = kb α(2ρ − ρ0), times 1 + t_avg/T."""
    grid = at(scale, VALUES, VALUES_QUICK)
    found = []
    for (words, (target, slope)), value in product(figures.SETTINGS.items(), grid):
        price, rise = slope * (fluid.LOAD - target), slope * fluid.LOAD
        gain = value / ((price + rise) * (1 + figures.INTERVAL_S / fluid.RTT_S))
        weight = fluid.LOAD * fluid.capacity(o) * fluid.RTT_S * price / CROWD
        tcp = net.wtp(o, gain=gain, weights=(weight, 1.0))
        record = {"series": [{"of": LOAD, "every": quantity(figures.INTERVAL_S, "s")}]}
        scenario = net.single_link(
            o,
            net.load_based(o, target, slope, figures.INTERVAL_S),
            {"all": net.Connections(CROWD, tcp)},
            spread=CROWD_SPREAD,
            record=record,
        )
        found.append(Point({"marker": words, "value": value}, scenario))
    return found


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    shown = ", ".join(f"{value:g}" for value in fluid.DRAWN)
    return (
        Experiment(
            id="wtp-x-ode",
            title="delayed rate equation and its stability; one connection's mean rate beside the equation's",
            points=partial(windows, o),
            seeds=seeds(),
            figure=partial(figures.ode, o),
            caption=f"a: a disturbance of du/dt = −a u(t − T) for aT = {shown} (borders 1/e and π/2). b: mean rate of "
            "one connection under marks of constant probability over that of equation 5, less half a packet a round "
            "trip; 90 % confidence intervals, ± 3 % shaded. c: the gain per round trip at which the equation of one "
            "link with load-based marking begins to oscillate and to grow, over w_dec; lines: equation 7.",
            data=partial(figures.ode_data, o),
        ),
        Experiment(
            id="wtp-x-settle",
            title="does load-based marking settle where theory says: gain raised at one equilibrium",
            points=partial(cycles, o),
            seeds=seeds(),
            figure=figures.settle,
            caption="Standard deviation of the load of an interval of 0.5 s over a(T + t_avg), for 20 connections with "
            "round trips of 200 ms ± 25 % at an equilibrium load of 0.8; 90 % confidence bands. Dotted: π/2, where the "
            "delayed rate equation with averaging taken as delay begins to grow. Dashed: where windows clocked by "
            "acknowledgements should.",
            data=figures.settle_data,
        ),
    )
