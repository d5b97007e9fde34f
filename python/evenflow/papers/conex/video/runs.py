"""Figures 21 and 22: videos beside heavy users with CUBIC, policed or not, and with LEDBAT; and LEDBAT's target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from evenflow.claims import Scale
from evenflow.paper import Experiment
from evenflow.study import Labels, Point

from .. import network as net
from ..choices import Options
from ..grids import BAND, experiment, rates
from ..measures import ON
from . import figures
from . import measures as here

TRACED = (15.0, 5.0)
"""Filling rates of figure 21."""
RECORD = {"series": [{"of": name, "every": "1 s"} for name in (*here.HEAVY_BYTES, here.ALL_BYTES)]}
TARGETS_MS = (25.0, 60.0, 100.0)


def _policer(r: float) -> net.Policer:
    return net.Policer(r, harshness=net.STRICT)


def _free(o: Options, control: str) -> Point:
    labels: Labels = {"control": control, "policing": net.NONE}
    return Point(labels, net.video(o, None, control, record=RECORD))


def _policed(o: Options, r: float) -> Point:
    record = RECORD if r in TRACED else None
    return Point({"control": net.CUBIC, "policing": ON, "r": r}, net.video(o, _policer(r), net.CUBIC, record=record))


def fig21(o: Options, scale: Scale) -> list[Point]:
    """CUBIC without policing, at 15 and at 5 tokens/s, and LEDBAT: throughput by second."""
    return [_free(o, net.CUBIC), *(_policed(o, r) for r in TRACED), _free(o, net.LEDBAT)]


def fig22(o: Options, scale: Scale) -> list[Point]:
    """The same at every filling rate: what the videos are like."""
    return [_free(o, net.CUBIC), *(_policed(o, r) for r in rates(scale)), _free(o, net.LEDBAT)]


def x06(o: Options, scale: Scale) -> list[Point]:
    """LEDBAT with three targets."""
    return [
        Point({"target_ms": target}, net.video(replace(o, ledbat_target=target), None, net.LEDBAT, record=RECORD))
        for target in TARGETS_MS
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    setting = (
        "Ten heavy users with 20 flows each; 50 light users each ask for a video of 300 s between 100 and 200 s. "
        "DTConEx, strict policer, depth 45 packets."
    )
    return (
        experiment(
            "fig21",
            "Throughput through a video evening",
            partial(fig21, o),
            figures.fig21,
            f"{setting} Throughput of (a) a heavy user and (b) a light one, means of five seconds; upright lines: "
            f"the ends of the periods. {BAND}",
            here.TRACED_NUMBERS,
        ),
        experiment(
            "fig22",
            "Quality of experience, stalls and their duration over the filling rate",
            partial(fig22, o),
            figures.fig22,
            f"{setting} (a) mean QoE by equation 2, (b) stalls a light user, (c) duration of a stall; thin lines: "
            f"CUBIC and LEDBAT without policing. {BAND}",
            here.NUMBERS,
        ),
        experiment(
            "x06",
            "LEDBAT with other targets",
            partial(x06, o),
            figures.x06,
            f"{setting} Heavy users with LEDBAT and three targets, nobody policed. Throughput of (a) a heavy user and "
            f"(b) a light one, (c) mean QoE. {BAND}",
            {**here.NUMBERS, **here.TRACED_NUMBERS},
            net.FEW_SEEDS,
        ),
    )
