"""Finished runs as one reads them when judging a paper: looked up by labels, one value a seed, curves over a label.

A paper's own metrics are functions of a run (`Measure`); this module knows none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..run.table import Curve, Run
from ..stats import Interval, mean_interval
from .claims import Scale

if TYPE_CHECKING:
    import polars as pl

    from ..run.study import Label

Floats: TypeAlias = NDArray[np.float64]
Measure: TypeAlias = Callable[[Run], "float | None"]
Vocabulary: TypeAlias = Mapping[str, Callable[["Label"], str]]
"""Label name -> its value in words."""
T = TypeVar("T")


# --- Writing experiments down ---------------------------------------------------------------------------------------


def quantity(value: float, unit: str) -> str:
    """``quantity(2.5, "Mbit/s") == "2.5 Mbit/s"``: as short as exact, so that equal settings are equal text."""
    return f"{value:.12g} {unit}"


def at(scale: Scale, paper: Sequence[T], quick: Sequence[T]) -> Sequence[T]:
    """The paper's grid, or the thinner one."""
    return paper if scale == "paper" else quick


# --- Reading finished runs ------------------------------------------------------------------------------------------


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


def over(top: float | None, bottom: float | None) -> float | None:
    """A quotient of two numbers of a run: infinite where nothing is below, undefined where nothing is in either."""
    if top is None or bottom is None or (top == 0 and bottom == 0):
        return None
    return top / bottom if bottom > 0 else math.inf


def quotient(a: Floats, b: Floats) -> Floats:
    """The same of two arrays, element by element."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.asarray(a, dtype=np.float64) / np.asarray(b, dtype=np.float64)
    return found


def scaled(value: float | None, factor: float) -> float | None:
    """A number of a run in another unit; undefined where it is."""
    return None if value is None else value * factor


def of_arrived(found: Mapping[str, Any], what: str) -> float | None:
    """Share of the packets arriving at a link that it marked (`what` is "marks") or dropped ("drops").

    Args:
        found: the record's table of the link, or of one class at it.
    """
    arrived = found["arrived_packets"]
    return float(sum(found[what].values())) / float(arrived) if arrived else None


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


def _extreme(curve: Floats) -> int:
    """Where the mean curve is highest; the first place if it is defined nowhere."""
    known = ~np.isnan(curve)
    means = np.where(known, curve, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return int(np.where(known.any(axis=1), means, -math.inf).argmax())


def peak(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is highest, and each seed's value at the place that the other seeds choose."""
    return grid[_extreme(curve)], chosen_by_others(curve, range(len(grid)))


def trough(grid: Sequence[float], curve: Floats) -> tuple[float, Floats]:
    """Where the mean curve is lowest, and each seed's value at the place that the other seeds choose."""
    found = chosen_by_others(curve, range(len(grid)), lowest=True)
    return grid[_extreme(-np.asarray(curve))], found


def rank_correlation(grid: Sequence[float], curve: Floats) -> Floats:
    """Spearman's rank correlation between x and the curve, for each seed."""

    def ranks(values: Floats) -> Floats:
        found: Floats = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
        return found

    return linear_correlation(list(ranks(np.asarray(grid, dtype=np.float64))), np.apply_along_axis(ranks, 0, curve))


def linear_correlation(grid: Sequence[float], curve: Floats) -> Floats:
    """Pearson's correlation between x and the curve, for each seed."""
    return np.array([float(np.corrcoef(grid, seed)[0, 1]) for seed in curve.T])


# --- Numbers behind a figure ----------------------------------------------------------------------------------------


def finite(value: float) -> float | None:
    """The value, or None where a table has an empty cell."""
    return value if math.isfinite(value) else None


def cells(name: str, i: Interval) -> dict[str, float | None]:
    """A mean and its bounds as three columns; empty where they are not finite."""
    return {name: finite(i.mean), f"{name}_lo": finite(i.lo), f"{name}_hi": finite(i.hi)}


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a table; a column that no row fills is left out."""
    import polars as pl

    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if any(row.get(name) is not None for row in rows)
    ]
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in columns}, strict=False)


def curve_of(x: Sequence[float] | Floats, values: Floats, level: float) -> Curve:
    """Means and bounds of values of shape (x, seeds), in the order given."""
    found = [mean_interval(each, level) for each in values]
    return Curve(
        x=np.asarray(x, dtype=np.float64),
        mean=np.array([i.mean for i in found]),
        lo=np.array([i.lo for i in found]),
        hi=np.array([i.hi for i in found]),
        n=np.array([i.n for i in found]),
    )
