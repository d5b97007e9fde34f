"""Finished runs as one reads them when judging a paper: looked up by labels, one value a seed, curves over a label.

A paper's own metrics are functions of a run (`Measure`); this module knows none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..run.study import Run
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
        self._points: dict[int, tuple[Mapping[str, Label], list[Run]]] = {}
        for run in table.runs:
            self._points.setdefault(run.point, (run.labels, []))[1].append(run)

    def _matching(self, wanted: Mapping[str, Label]) -> list[tuple[Mapping[str, Label], list[Run]]]:
        return [
            (labels, runs)
            for labels, runs in self._points.values()
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
        return len(self._matching(labels)) == 1

    def grid(self, name: str, **labels: Label) -> list[float]:
        """The values of a numeric label among the points with these labels, ascending, each once."""
        return sorted({float(found[name]) for found, _ in self._matching(labels) if name in found})

    def points(self) -> list[tuple[Mapping[str, Label], S]]:
        """Every point with its labels, in order."""
        return [(labels, self._spot(runs)) for labels, runs in self._points.values()]

    def runs(self, **labels: Label) -> list[Run]:
        """Every run with these labels."""
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


def peak(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is highest, and the values of all seeds there."""
    best = int(np.nanargmax(np.nanmean(curve, axis=1)))
    return grid[best], curve[best]


def trough(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is lowest, and the values of all seeds there."""
    worst = int(np.nanargmin(np.nanmean(curve, axis=1)))
    return grid[worst], curve[worst]


def argmax_by_seed(grid: Sequence[float], curve: Floats) -> Floats:
    """The x at which each seed's curve is highest, shape (seeds,)."""
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
