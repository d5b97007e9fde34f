"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, LINK, experiment, point, three_panels
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
            "of the means, logarithmic). "
            f"{LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig16",
            "Queue lengths at drops under ABC and CSFQ",
            partial(fig16, o),
            figures.fig16,
            "Distribution of the queue length that dropped packets met, all runs together. One TCP user with 10 flows "
            "among 10 users with one, one-way delay 50 ms. "
            f"{LINK}",
            {
                **ALL,
                "share_at_0": partial(measures.share_below, net.AT_DROP, 1),
                "share_below_12": partial(measures.share_below, net.AT_DROP, 12),
                "share_at_24": partial(measures.share_from, net.AT_DROP, 24),
            },
        ),
    )
