"""Figures 12 and 13: round trip and congestion control."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.paper import Experiment
from evenflow.study import Point

from .. import drawing
from .. import network as net
from ..choices import Options
from ..grids import BAND, NETWORK, UNFAIRNESS, both, experiment
from ..measures import Figure

RTT = Figure("rtt_ms")
CONTROL = Figure("control")


def fig12(o: Options, scale: Scale) -> list[Point]:
    """Unfairness for each round trip."""
    return [p for rtt in net.RTTS_MS for p in both(o, scale, net.Setting(rtt_ms=rtt), {"rtt_ms": rtt})]


def fig13(o: Options, scale: Scale) -> list[Point]:
    """Unfairness with CUBIC and with Compound."""
    return [p for name in net.CONTROLS for p in both(o, scale, net.Setting(control=name), {"control": name})]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    policer = "FullConEx, mild policer, depth 45 packets"
    return (
        experiment(
            "fig12",
            "Unfairness over the filling rate for five round trips",
            partial(fig12, o),
            partial(drawing.unfairness, figure=RTT),
            f"{NETWORK.replace('; round trip 100 ms', '')} {policer}; thin lines: no policing. {BAND}",
            UNFAIRNESS,
        ),
        experiment(
            "fig13",
            "Unfairness over the filling rate with CUBIC and with Compound",
            partial(fig13, o),
            partial(drawing.unfairness, figure=CONTROL),
            f"{NETWORK} {policer}; thin lines: no policing. {BAND}",
            UNFAIRNESS,
        ),
    )
