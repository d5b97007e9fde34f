"""What was settled on Table 4's shaped rows and on a lone client, by how far these are from what is printed.

Of scenario 1 only CNG and fr are read: its runs carry Tables 2 and 3 as well. Seeds are others than the tables'.

The distance of a choice is the mean over cells of |ln((measured + e)/(printed + e))|; e is one event: a fall in 180 s
for CNG, a chunk in 90 for fr, a second in 180 for IF, and nothing for IS and V, which are never zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.claims import Scale
from evenflow.lab import Lab, finite, frame
from evenflow.paper import Experiment
from evenflow.study import Labels, Point

from .. import network as net
from ..choices import OPTIONS, Options
from ..measures import METRICS, of
from ..published import TABLE_4, TABLE_7, TABLE_8

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.study import Table

FIRST_SEED = 1001
ONE_EVENT = {"CNG": 100 / net.DURATION_S, "fr": 1 / 90, "IF": 100 / net.DURATION_S, "IS": 0.0, "V": 0.0}
GRID = ("netem", "cache", "playing")
"""Varied together."""
BASE = {"threshold": "unbounded", "htb": "keep"}
"""What the grid has; then each of these otherwise, one at a time."""
LEFT = ("mixture",)
"""A value that is read off a cell that is claimed: no candidate."""


def values(name: str) -> Sequence[str]:
    """An option's values."""
    return next(option.values for option in OPTIONS if option.name == name)


def candidates() -> Iterator[dict[str, str]]:
    """The choices that are compared: the grid, then one thing at a time from the defaults."""
    for netem in values("netem"):
        for cache in values("cache"):
            for playing in values("playing"):
                yield {"netem": netem, "cache": cache, "playing": playing}
    for name, usual in BASE.items():
        for value in values(name):
            if value not in (usual, *LEFT):
                yield {name: value}


def seeds(scale: Scale) -> list[int]:
    """Five, of its own."""
    return list(range(FIRST_SEED, FIRST_SEED + (5 if scale == "paper" else 2)))


def points(o: Options, scale: Scale) -> list[Point]:
    """Twelve cells for each choice."""
    found = []
    for chosen in candidates():
        mine = replace(o, **{**BASE, **chosen})
        labels: Labels = dict(chosen)
        cells = [(net.S1, control, method) for control in net.CONTROLS for method in net.SHAPED]
        cells += [(net.WL, control, method) for control in net.GOOD for method in net.SHAPED]
        for scenario, control, method in cells:
            where: Labels = {**labels, "scenario": scenario, "control": control, "method": method}
            found.append(Point(where, net.scenario(mine, scenario, control, method)))
    return found


def distances(o: Options, table: Table) -> list[tuple[dict[str, str], dict[str, float]]]:
    """Each choice with the distance of every cell from what is printed."""
    lab = Lab(table)
    found = []
    for chosen in candidates():
        mine = replace(o, **{**BASE, **chosen})
        far = {}
        for labels, spot in lab.points():
            if {name: str(labels[name]) for name in labels if name in {*GRID, *BASE}} != chosen:
                continue
            scenario, control, method = (str(labels[name]) for name in ("scenario", "control", "method"))
            for name in METRICS if scenario == net.WL else METRICS[3:]:
                printed = (
                    {**TABLE_7, **TABLE_8}[name, scenario, control, method]
                    if scenario == net.WL
                    else TABLE_4[name, method, control]
                )
                here = float(np.nanmean(spot.of(of(mine, name))))
                e = ONE_EVENT[name]
                far[f"{name}, {scenario}, {control}, {method}"] = abs(math.log((here + e) / (printed + e)))
        found.append((chosen, far))
    return found


def rows(o: Options, table: Table) -> pl.DataFrame:
    """A row a choice: the mean distance, and that of its parts."""

    def part(far: Mapping[str, float], *having: str) -> float | None:
        some = [value for label, value in far.items() if all(word in label for word in having)]
        return finite(float(np.mean(some))) if some else None

    found: list[dict[str, Any]] = []
    for chosen, far in distances(o, table):
        found.append(
            {
                "choice": words(chosen),
                "distance": part(far),
                **{
                    f"{scenario}_{method}": part(far, scenario, method)
                    for scenario in (net.S1, net.WL)
                    for method in net.SHAPED
                },
                **{name: part(far, f"{name},") for name in METRICS},
            }
        )
    return frame(sorted(found, key=lambda row: row["distance"] or math.inf))


def words(chosen: Mapping[str, str]) -> str:
    """A choice as it is typed."""
    return ", ".join(f"{name}={value}" for name, value in chosen.items())


def figure(o: Options, table: Table) -> Figure:
    """Mean distance of every choice, nearest first."""
    found = sorted(
        ((words(chosen), float(np.mean(list(far.values())))) for chosen, far in distances(o, table)),
        key=lambda row: row[1],
    )
    made, (ax,) = plots.figure(size=(9.0, 0.9 + 0.17 * len(found)))
    y = np.arange(len(found))
    ax.plot([value for _, value in found], y, marker="o", linestyle="", color=plots.COLOURS[0])
    ax.set_yticks(y, [label for label, _ in found], fontsize=6.5)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    plots.name_axes(ax, "mean distance |ln(measured / printed)|", "", zero=False, legend=False)
    return made


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The calibration."""
    return (
        Experiment(
            "has_shaping-cal",
            "What was settled before the results",
            partial(points, o),
            seeds,
            partial(figure, o),
            "Distance of Table 4's rows with HTBM and RWTM (CNG, fr) and of a lone client without loss (IS, "
            "IF, V, CNG, fr) from what is printed, mean of |ln(measured / printed)| over 36 cells, for each choice "
            "of netem, cache and playing, and from the defaults for threshold and htb. Runs and seeds are its own.",
            partial(rows, o),
        ),
    )
