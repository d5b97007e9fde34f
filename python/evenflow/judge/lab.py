"""Finished runs as one reads them when judging a paper: looked up by labels, one value a seed, curves over a label.

A paper's own metrics are functions of a run (`Measure`); this module knows none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..run.study import Run, notice
from .claims import Check

if TYPE_CHECKING:
    from ..run.study import Label, Table

Floats: TypeAlias = NDArray[np.float64]
Measure: TypeAlias = Callable[[Run], "float | None"]
Vocabulary: TypeAlias = Mapping[str, Callable[["Label"], str]]
"""Label name -> its value in words."""


def optional(measure: Measure) -> Measure:
    """A measure of runs that may lack the group it is about: undefined there."""

    def lenient(run: Run) -> float | None:
        try:
            return measure(run)
        except KeyError:
            return None

    return lenient


def plain(value: Label) -> str:
    """A label's value as short as exact: "2.5", "RED"."""
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def in_words(vocabulary: Vocabulary, labels: Mapping[str, Label]) -> str:
    """Labels as a reader says them: "10 heavy flows, D_b = 50 ms"; a name not in the vocabulary as "name = value"."""
    return ", ".join(
        vocabulary[name](value) if name in vocabulary else f"{name} = {plain(value)}" for name, value in labels.items()
    )


class Spot:
    """The runs of one point, in seed order."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)

    def of(self, measure: Measure | str) -> Floats:
        """A measure of every run, shape (seeds,); NaN where undefined."""
        found = [run.metric(measure) if isinstance(measure, str) else measure(run) for run in self.runs]
        return np.array([math.nan if value is None else value for value in found], dtype=np.float64)


S = TypeVar("S", bound=Spot)


class LabOf(Generic[S]):
    """A table of finished runs, looked up by labels; labels not named must not distinguish points."""

    def __init__(self, table: Table, spot: Callable[[Sequence[Run]], S]) -> None:
        self._spot = spot
        self._left_out = table.left_out
        self._points: dict[int, tuple[Mapping[str, Label], list[Run]]] = {}
        for run in table.runs:
            self._points.setdefault(run.point, (run.labels, []))[1].append(run)

    def _matching(self, wanted: Mapping[str, Label]) -> list[tuple[Mapping[str, Label], list[Run]]]:
        return [
            (labels, runs)
            for labels, runs in self._points.values()
            if all(name in labels and labels[name] == value for name, value in wanted.items())
        ]

    def _missing(self, wanted: Mapping[str, Label]) -> list[Mapping[str, Label]]:
        """The points with these labels that were left out at this scale."""
        return [
            labels
            for labels in self._left_out
            if all(name in labels and labels[name] == value for name, value in wanted.items())
        ]

    def at(self, **labels: Label) -> S:
        """The one point with these labels.

        Raises:
            KeyError: no point or more than one has them.
        """
        found = self._matching(labels)
        if len(found) != 1:
            raise KeyError(f"{len(found)} points have {labels}")
        return self._spot(found[0][1])

    def has(self, **labels: Label) -> bool:
        """Whether the grid of this scale has the point."""
        found = len(self._matching(labels)) == 1
        if not found:
            notice(self._missing(labels))
        return found

    def grid(self, name: str, **labels: Label) -> list[float]:
        """The values of a numeric label among the points with these labels, ascending, each once."""
        there = {float(found[name]) for found, _ in self._matching(labels) if name in found}
        notice(it for it in self._missing(labels) if name in it and float(it[name]) not in there)
        return sorted(there)

    def points(self) -> list[tuple[Mapping[str, Label], S]]:
        """Every point with its labels, in order."""
        notice(self._left_out)
        return [(labels, self._spot(runs)) for labels, runs in self._points.values()]

    def runs(self, **labels: Label) -> list[Run]:
        """Every run with these labels."""
        notice(self._missing(labels))
        return [run for _, runs in self._matching(labels) for run in runs]

    def curve(self, name: str, measure: Measure | str, **labels: Label) -> tuple[list[float], Floats]:
        """A measure over a label: its grid, and the values of shape (grid, seeds)."""
        grid = self.grid(name, **labels)
        return grid, np.array([self.at(**labels, **{name: x}).of(measure) for x in grid])


class Lab(LabOf[Spot]):
    """A table whose points are plain `Spot`s."""

    def __init__(self, table: Table) -> None:
        super().__init__(table, Spot)


def rising(
    label: str, grid: Sequence[float], curve: Floats, *, slack: float = 0.0, unit: str = "", x: str = ""
) -> list[Check]:
    """Each step of a curve up, or down by no more than ``slack``; paired by seed."""
    return [
        Check(f"{label}, step {plain(a)} → {plain(b)}{x}", high - low, lo=0.0 - slack, unit=unit)
        for a, b, low, high in zip(grid, grid[1:], curve, curve[1:], strict=False)
    ]


def falling(
    label: str, grid: Sequence[float], curve: Floats, *, slack: float = 0.0, unit: str = "", x: str = ""
) -> list[Check]:
    """Each step of a curve down, or up by no more than ``slack``; paired by seed."""
    return [
        Check(f"{label}, step {plain(a)} → {plain(b)}{x}", high - low, hi=slack, unit=unit)
        for a, b, low, high in zip(grid, grid[1:], curve, curve[1:], strict=False)
    ]


def chosen_by_others(curve: Floats, places: Sequence[int], *, lowest: bool = False) -> Floats:
    """Each seed's value where the mean of the *other* seeds is highest, or lowest; shape (seeds,).

    A value that is chosen by looking (the largest of many) is biased upwards by the very noise that its interval is
    about. Chosen on other seeds it is not, and no run is lost. With one seed nothing can be chosen: undefined.

    Args:
        curve: shape (grid, seeds).
        places: the rows to choose from.
        lowest: choose the lowest mean instead of the highest.
    """
    values = np.asarray(curve, dtype=np.float64)[list(places)]
    rows, seeds = values.shape
    found = np.full(seeds, math.nan)
    if rows == 0 or seeds < 2:
        return found
    for seed in range(seeds):
        others = np.delete(values, seed, axis=1)
        known = ~np.isnan(others)
        counts = known.sum(axis=1)
        means = np.where(counts > 0, np.where(known, others, 0.0).sum(axis=1) / np.maximum(counts, 1), math.nan)
        if not np.isnan(means).all():
            found[seed] = values[int(np.nanargmin(means) if lowest else np.nanargmax(means)), seed]
    return found


def extremum_difference(grid: Sequence[float], curve: Floats, lo: float, hi: float, *, lowest: bool = False) -> Floats:
    """How much higher a curve's highest point in [lo, hi] is than its highest point elsewhere; shape (seeds,).

    With `lowest`, how much lower its lowest point is. Both points are chosen for each seed by the other seeds
    (`chosen_by_others`). Undefined where the grid has no point inside or none outside.
    """
    inside = [i for i, x in enumerate(grid) if lo - 1e-9 <= x <= hi + 1e-9]
    outside = [i for i in range(len(grid)) if i not in inside]
    best, other = (chosen_by_others(curve, places, lowest=lowest) for places in (inside, outside))
    return other - best if lowest else best - other


def peak(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is highest, and each seed's value at the place that the other seeds choose."""
    return grid[int(np.nanargmax(np.nanmean(curve, axis=1)))], chosen_by_others(curve, range(len(grid)))


def trough(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is lowest, and each seed's value at the place that the other seeds choose."""
    found = chosen_by_others(curve, range(len(grid)), lowest=True)
    return grid[int(np.nanargmin(np.nanmean(curve, axis=1)))], found


def argmax_by_seed(grid: Sequence[float], curve: Floats) -> Floats:
    """The x at which each seed's own curve is highest, shape (seeds,).

    A statistic of one run, whose scatter its interval has; not the place of the mean curve's peak (`kit.extremum`).
    """
    places: Floats = np.asarray(grid, dtype=np.float64)[np.argmax(curve, axis=0)]
    return places


def rank_correlation(grid: Sequence[float], curve: Floats) -> Floats:
    """Spearman's rank correlation between x and the curve, for each seed."""

    def ranks(values: Floats) -> Floats:
        found: Floats = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
        return found

    return linear_correlation(list(ranks(np.asarray(grid, dtype=np.float64))), np.apply_along_axis(ranks, 0, curve))


def linear_correlation(grid: Sequence[float], curve: Floats) -> Floats:
    """Pearson's correlation between x and the curve, for each seed."""
    return np.array([float(np.corrcoef(grid, seed)[0, 1]) for seed in curve.T])


def within(value: float, share: float) -> tuple[float, float]:
    """``value`` ± ``share`` of it: the accepted set around a number of the paper."""
    return value * (1 - share), value * (1 + share)


def select(grid: Iterable[float], lo: float = -math.inf, hi: float = math.inf) -> list[float]:
    """Grid values from ``lo`` to ``hi``, both included."""
    return [x for x in grid if lo - 1e-9 <= x <= hi + 1e-9]
