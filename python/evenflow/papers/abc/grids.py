"""What the topics' runs share: the grids of the paper's figures, the seeds, and how an experiment is written down.

Grids: the values that the paper's text gives are all there; it gives few, so the rest is ours. ``paper`` runs every
point for 200 s with 10 seeds, as the paper did; ``quick`` keeps the length of the runs and thins grid and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from evenflow.claims import Scale
from evenflow.lab import Measure, at
from evenflow.lab import seeds as seeds_of
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point, Table

from . import drawing, measures
from . import network as net
from .choices import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELAYS_MS = (5, 50)
"""One-way delays D_b of the bottleneck, ms (Table 1)."""
R0_UDP = (1, 2, 2.5, 3, 4, 5, 6, 6.5, 7, 7.25, 7.5, 7.75, 8, 9, 9.5, 10, 10.5, 11, 12.5, 15, 20)
R0_UDP_QUICK = (2.5, 5, 6, 7, 8, 10, 20)
R0_UDP_FEW = (2.5, 5, 8, 10, 20)
"""Quick grid where figure 3a's setting is run again under another scheme."""
R0_MIXED = (0.5, 1, 2, 2.5, 3, 4, 5, 6, 7, 7.5, 8, 9, 10, 11, 12.5, 15, 17.5, 20)
R0_MIXED_QUICK = (1, 2.5, 5, 6, 8, 10, 12.5, 20)
R0_MIXED_FEW = (2.5, 5, 6, 8, 12.5, 20)
F0 = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
F0_QUICK = (1, 2, 5, 10, 20)
R1_WITH_PRIORITY = 7.5


seeds = seeds_of(10, 3)
"""10 runs a point as in the paper (section IV-A5), 3 for a first look."""


def one_run(scale: Scale) -> list[int]:
    """Where the paper shows individual runs (figure 13)."""
    return [1]


def point(scenario: Scenario, **labels: str | float | int | bool) -> Point:
    """A point of a study with its labels."""
    return Point(labels, scenario)


def tcp_points(
    o: Options, scale: Scale, schemes: dict[str, net.Scheme], f0s: Sequence[int] | None = None, **how: Any
) -> Iterator[Point]:
    """A heavy TCP user against one flow, at both delays."""
    grid = at(scale, F0, F0_QUICK) if f0s is None else f0s
    for (label, scheme), delay, f0 in product(schemes.items(), DELAYS_MS, grid):
        yield point(net.tcp_pair(scheme, f0, delay, **how, **o.stack), scheme=label, f0=f0, delay_ms=delay)


def mixed_points(
    o: Options, scale: Scale, schemes: dict[str, net.Scheme], r0s: Sequence[float] | None = None, **how: Any
) -> Iterator[Point]:
    """A UDP user against one TCP flow, at both delays."""
    grid = at(scale, R0_MIXED, R0_MIXED_QUICK) if r0s is None else r0s
    for (label, scheme), delay, r0 in product(schemes.items(), DELAYS_MS, grid):
        yield point(net.mixed_pair(scheme, r0, delay, **how, **o.stack), scheme=label, r0=float(r0), delay_ms=delay)


def ef_schemes() -> dict[str, net.Scheme]:
    """The heavy user as EF, counted once and three times."""
    return {
        net.EF1: net.medf(net.accounting(net.abc(), 1)),
        net.EF3: net.medf(net.accounting(net.abc(), 3)),
    }


def three_panels(
    o: Options, scale: Scale, schemes: dict[str, net.Scheme], rates_of_user_1: Sequence[float]
) -> list[Point]:
    """The settings of figures 3a, 4a and 6a. Labels: panel, scheme; r0, r1 (a), f0, delay_ms (b), r0, delay_ms (c)."""
    grid = at(scale, R0_UDP, R0_UDP_FEW)
    points = [
        point(net.udp_pair(scheme, r0, r1), panel="a", scheme=label, r0=float(r0), r1=float(r1))
        for (label, scheme), r1, r0 in product(schemes.items(), rates_of_user_1, grid)
    ]
    points += [Point({"panel": "b", **found.labels}, found.scenario) for found in tcp_points(o, scale, schemes)]
    mixed = mixed_points(o, scale, schemes, at(scale, R0_MIXED, R0_MIXED_FEW))
    points += [Point({"panel": "c", **found.labels}, found.scenario) for found in mixed]
    return points


BAND = "Lines are means over the runs, bands their 95 % confidence intervals."
LINK = "Bottleneck of 10 Mbit/s with 24 packets of buffer."
SHARES: Mapping[str, Measure] = {"T0_mbps": measures.t0, "T1_mbps": measures.t1, "TR": measures.ratio}
LINK_MEASURES: Mapping[str, Measure] = {"Q_packets": measures.queue, "U": measures.utilisation}
ALL: Mapping[str, Measure] = {**SHARES, **LINK_MEASURES}
PRIORITY: Mapping[str, Measure] = {**ALL, "dBE_ms": measures.delay_be, "dEF_ms": measures.delay_ef}
DEAD: Mapping[str, Measure] = {"dead_light_flows": partial(measures.dead_flows, "light")}


def experiment(
    name: str,
    title: str,
    points: Callable[[Scale], Sequence[Point]],
    figure: Callable[[Table], Figure] | None,
    caption: str,
    numbers: Mapping[str, Measure],
    runs: Callable[[Scale], Sequence[int]] = seeds,
) -> Experiment:
    """One experiment, its figure's numbers as a table included."""
    return Experiment(
        id=f"abc-{name}",
        title=title,
        points=points,
        seeds=runs,
        figure=figure,
        caption=caption,
        data=drawing.data(numbers),
    )
