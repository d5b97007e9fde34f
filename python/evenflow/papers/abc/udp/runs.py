"""Figure 3: two users who send Poisson traffic whatever the network does."""

from __future__ import annotations

from itertools import product

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import BAND, LINK, R0_UDP, R0_UDP_QUICK, R1_WITH_PRIORITY, SHARES, experiment, point
from . import figures

R1_FIG3 = (2.5, 7.5, 10)


def fig03(scale: Scale) -> list[Point]:
    """T0 over R0 for three R1, with and without ABC; at R1 = 7.5 Mbit/s also with user 0 as EF."""
    plain = {net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}
    grid = at(scale, R0_UDP, R0_UDP_QUICK)
    points = [
        point(net.udp_pair(scheme, r0, r1), scheme=label, r0=float(r0), r1=float(r1))
        for (label, scheme), r1, r0 in product(plain.items(), R1_FIG3, grid)
    ]
    for (label, a_ef), r0 in product(((net.EF1, 1), (net.EF3, 3)), grid):
        scheme = net.medf(net.accounting(net.abc(), a_ef))
        scenario = net.udp_pair(scheme, r0, R1_WITH_PRIORITY, priority=True)
        points.append(point(scenario, scheme=label, r0=float(r0), r1=R1_WITH_PRIORITY))
    return points


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig03",
            "Two UDP users: throughput of user 0 over its rate, without and with ABC, without and with priority",
            fig03,
            figures.fig03,
            "Two users send Poisson traffic, one-way delay 5 ms. Throughput of user 0 without priority (a), and with "
            "its "
            "packets as EF against 7.5 Mbit/s "
            f"of best effort (b); mean queueing delay by class (c). {LINK} {BAND}",
            {
                **SHARES,
                "Q_packets": measures.queue,
                "U": measures.utilisation,
                "dBE_ms": measures.delay_be,
                "dEF_ms": measures.delay_ef,
            },
        ),
    )
