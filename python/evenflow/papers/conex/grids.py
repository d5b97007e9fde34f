"""What the topics' runs share: points over the filling rate, and how an experiment is written down.

Equal settings give equal scenarios: the default series is in nine figures and is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.claims import Scale
from evenflow.lab import Floats, Measure, Spot, at, data
from evenflow.paper import Experiment
from evenflow.study import Labels, Point, Table

from . import measures
from . import network as net
from .choices import Options
from .measures import ON

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rates(scale: Scale) -> Sequence[float]:
    """R14, or fewer for a first look."""
    return at(scale, net.RATES, net.RATES_QUICK)


def free(o: Options, setting: net.Setting, labels: Labels | None = None) -> Point:
    """A point without policing."""
    return Point({"policing": net.NONE, **(labels or {})}, net.bulk(o, replace(setting, policer=None)))


def policed(
    o: Options,
    scale: Scale,
    setting: net.Setting,
    labels: Labels | None = None,
    *,
    harshness: str = net.MILD,
    depth: float = float(net.WINDOW_PACKETS),
) -> Iterator[Point]:
    """A setting at every filling rate."""
    for r in rates(scale):
        scenario = net.bulk(o, setting.policed(r, harshness, depth))
        yield Point({"policing": ON, **(labels or {}), "r": r}, scenario)


def both(o: Options, scale: Scale, setting: net.Setting, labels: Labels | None = None) -> Iterator[Point]:
    """A setting without policing and at every filling rate."""
    yield free(o, setting, labels)
    yield from policed(o, scale, setting, labels)


UNFAIRNESS: Mapping[str, Measure] = {
    "U": measures.unfairness,
    "X_heavy_mbps": measures.heavy_throughput,
    "X_light_mbps": measures.light_throughput,
    "reports_heavy_per_s": measures.heavy_reports,
    "reports_light_per_s": measures.light_reports,
    "policed_heavy_percent": measures.heavy_policed,
    "policed_light_percent": measures.light_policed,
    "D_ms": measures.delay,
    "marked": measures.marked,
    "utilisation_percent": measures.utilisation,
}
"""The numbers of a figure of section IV."""
LIGHT_USERS: Mapping[str, Measure] = {
    "D_light_ms": measures.light_delay,
    "lost_light_percent": measures.light_lost,
    "marked_light_percent": measures.light_marked,
}

BAND = "Lines are means over the runs, bands their 95 % confidence intervals."
NETWORK = "Ten heavy users with 36 flows each and 90 light ones with one share 100 Mbit/s; round trip 100 ms."


def experiment(
    name: str,
    title: str,
    points: Callable[[Scale], Sequence[Point]],
    figure: Callable[[Table], Figure] | None,
    caption: str,
    numbers: Mapping[str, Measure] | Callable[[Spot], Mapping[str, Floats]],
    runs: Callable[[Scale], Sequence[int]] = net.SEEDS,
    also: Callable[[Labels], Mapping[str, float | None]] | None = None,
) -> Experiment:
    """One experiment, its figure's numbers as a table included."""
    return Experiment(f"conex-{name}", title, points, runs, figure, caption, data(numbers, net.LEVEL, also))
