"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""

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
from ..grids import ALL, BAND, DELAYS_MS, LINK, experiment, point, three_panels
from . import figures

R1_FIG3 = (2.5, 7.5, 10)
R1_FIG14 = (2.5, 5, 7.5)


def fig14(o: Options, scale: Scale) -> list[Point]:
    """The fair activity meter beside the normal one in the settings of figures 3a, 4a and 6a."""
    return three_panels(o, scale, {net.ABC: net.abc(), net.FAIR: net.abc(fair=True)}, R1_FIG14)


def fig15(o: Options, scale: Scale) -> list[Point]:
    """CSFQ in the settings of figures 3a, 4a and 6a."""
    return three_panels(o, scale, {net.CSFQ: net.csfq()}, R1_FIG3)


def fig16(o: Options, scale: Scale) -> list[Point]:
    """Queue lengths met by dropped packets; and two CSFQ variants the text discusses (sections V-E1 and V-E2)."""
    schemes = {
        net.ABC: net.abc(),
        net.CSFQ: net.csfq(),
        net.CSFQ_Q_MIN: net.csfq(q_min=12),
        net.CSFQ_WRONG: net.csfq(capacity_mbps=12),
    }
    return [point(net.crowd(scheme, 50, **o.stack), scheme=label) for label, scheme in schemes.items()]


TOLD_MBPS = (8, 10, 12)
"""What CSFQ is told about the 10 Mbit/s link."""
TOLD_RIGHT, TOLD_TOO_MUCH = 10.0, 12.0


def x_capacity(o: Options, scale: Scale) -> list[Point]:
    """Section V-E2: the crowd of figure 16 when CSFQ is told 20 % too little or too much."""
    return [
        point(net.crowd(net.csfq(capacity_mbps=told), delay, **o.stack), told=float(told), delay_ms=delay)
        for delay, told in product(DELAYS_MS, at(scale, TOLD_MBPS, TOLD_MBPS[1:]))
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig14",
            "The fair activity meter in the settings of figures 3a, 4a and 6a",
            partial(fig14, o),
            figures.fig14,
            "Normal and fair activity meter: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c). "
            f"{LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig15",
            "CSFQ in the settings of figures 3a, 4a and 6a",
            partial(fig15, o),
            figures.fig15,
            "Core-stateless fair queueing: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c: "
            "ratio "
            "of the means, on a logarithmic axis and from 0 to 3). "
            f"{LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig16",
            "Queue lengths at drops under ABC and CSFQ",
            partial(fig16, o),
            figures.fig16,
            "Distribution of the queue length that dropped packets met: means over the runs, with 95 % confidence "
            "intervals. One TCP user with 10 flows "
            "among 10 users with one, one-way delay 50 ms. "
            f"{LINK}",
            {
                **ALL,
                "share_at_0": partial(measures.share_below, net.AT_DROP, 1),
                "share_below_12": partial(measures.share_below, net.AT_DROP, 12),
                "share_at_24": partial(measures.share_from, net.AT_DROP, 24),
            },
        ),
        experiment(
            "x-capacity",
            "CSFQ told a capacity that the link does not have (in the paper without figure)",
            partial(x_capacity, o),
            figures.x_capacity,
            "Throughput ratio (a) and utilisation (b) under CSFQ over the capacity that it is told; the link has 10 "
            "Mbit/s. One TCP user with 10 flows among 10 users with one. Bands are 95 % confidence intervals.",
            ALL,
        ),
    )
