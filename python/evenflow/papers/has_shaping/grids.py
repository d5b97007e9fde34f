"""What the topics' runs share: cells of the tables as points, and how an experiment is written down.

Equal settings give equal scenarios: scenario 1 stands in five tables and is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenflow.claims import Scale
from evenflow.lab import Floats, Measure, Spot, data
from evenflow.paper import Experiment
from evenflow.study import Label, Labels, Point, Table

from . import network as net
from .choices import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cell(o: Options, scenario: str, control: str, method: str, **more: Any) -> Point:
    """A cell of a table; `loss` is a label too."""
    labels: dict[str, Label] = {"scenario": scenario, "control": control, "method": method}
    if "loss" in more:
        labels["loss"] = more["loss"]
    return Point(labels, net.scenario(o, scenario, control, method, **more))


def first_scenario(o: Options, scale: Scale) -> list[Point]:
    """Two clients that start together: four controls, without shaping and with both methods."""
    return [cell(o, net.S1, control, method) for method in net.METHODS for control in net.CONTROLS]


def three_scenarios(o: Options, scale: Scale) -> list[Point]:
    """Scenarios 1 to 3: both clients, one joins, one leaves."""
    return [
        cell(o, name, control, method)
        for name in (net.S1, net.S2, net.S3)
        for control in net.GOOD
        for method in net.SHAPED
    ]


def lone(o: Options, scale: Scale) -> list[Point]:
    """A lone client, without loss and in scenario 4 by both readings of what is lost."""
    found = []
    for control in net.GOOD:
        for method in net.SHAPED:
            found.append(cell(o, net.WL, control, method))
            found += [cell(o, net.S4, control, method, loss=which) for which in (net.ACKS, net.DATA)]
    return found


def deviations(o: Options, scale: Scale) -> list[Point]:
    """Scenario 5: a lone client, over the round trip's deviation."""
    found = []
    for control in net.GOOD:
        for method in net.SHAPED:
            for deviation in (*net.DEVIATIONS_MS, net.FAR_MS):
                labels: Labels = {"control": control, "method": method, "deviation_ms": deviation}
                made = net.scenario(o, net.WL, control, method, deviation_ms=deviation)
                found.append(Point(labels, made))
    return found


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
    return Experiment(f"has_shaping-{name}", title, points, runs, figure, caption, data(numbers, net.LEVEL, also))


BAND = "Marks are means over the runs, bars their 95 % confidence intervals, crosses what the paper prints."
HOLLOW = (
    f"{BAND} A mark is hollow where the cell by itself fails what is literally accepted; its table has the difference "
    "and both verdicts of each cell."
)
LINES = "Lines are means over the runs, bands their 95 % confidence intervals."
