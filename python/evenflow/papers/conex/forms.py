"""Forms of comparison that the topics share: steps between curves, at most values of r."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from evenflow import kit
from evenflow.claims import Check
from evenflow.kit import Accept
from evenflow.lab import Floats, Measure, quotient

from .measures import Series, words


def at_most_values(accept: Accept, name: str, label: str, points: Sequence[tuple[str, Floats]]) -> Check:
    """At the share of the points that the claim's set `share` says, one comparison."""
    least = accept.set("share").lo
    assert least is not None, "a share has a least"
    return kit.most(accept, name, label, points, share=least)


def neighbours(
    series: Series, measure: Measure, lo: float = -math.inf, hi: float = math.inf
) -> list[tuple[str, Floats]]:
    """Each curve less its neighbour, at each r; paired by seed."""
    found = []
    for r in series.rates(lo, hi):
        values = [(series.words(value), series.at(value, r).of(measure)) for value in series.values()]
        for (before, a), (label, b) in pairwise(values):
            found.append((f"{words(r=r)}: {label} − {before}", b - a))
    return found


def free_steps(accept: Accept, name: str, series: Series, measure: Measure) -> list[Check]:
    """Without policing: each curve's level less its neighbour's."""
    return kit.order(accept, name, [(series.words(v), series.free(v).of(measure)) for v in series.values()])


def first_over_last(
    series: Series, measure: Measure, *, turned: bool = False, lo: float = -math.inf, hi: float = math.inf
) -> list[tuple[str, Floats]]:
    """The first curve over the last at each r, run by run; `turned`: the last over the first."""
    values = series.values()
    low, high = (values[-1], values[0]) if turned else (values[0], values[-1])
    found = []
    for r in series.rates(lo, hi):
        label = f"{words(r=r)}: {series.words(low)} over {series.words(high)}"
        found.append((label, quotient(series.at(low, r).of(measure), series.at(high, r).of(measure))))
    return found


def rank_over_r(accept: Accept, name: str, label: str, grid: Sequence[float], curve: Floats) -> Check:
    """Rank correlation of a curve of shape (rates, seeds) with r, run by run."""
    return accept(name, f"{label}: rank correlation", ranks_over(grid, curve))


def mean_rank(grids: Sequence[float], curves: Sequence[Floats]) -> Floats:
    """Rank correlations with the same x of several curves of shape (x, seeds), averaged: shape (seeds,)."""
    found: Floats = np.mean([ranks_over(grids, curve) for curve in curves], axis=0)
    return found


def ranks_over(grid: Sequence[float], curve: Floats) -> Floats:
    """Rank correlation of each run's curve with its x: shape (seeds,)."""
    return np.array([ranks_agree(np.asarray(grid, dtype=np.float64), run) for run in np.asarray(curve).T])


def ranks_agree(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation; equal values share their mean rank. Undefined where all are equal.

    Videos without a stall all have the same quality, so that ties are the rule at low filling rates.
    """
    from scipy.stats import rankdata

    if np.isnan(a).any() or np.isnan(b).any():
        return math.nan
    x, y = rankdata(a), rankdata(b)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def each_r(
    series: Series,
    of: Callable[[float], Floats],
    lo: float = -math.inf,
    hi: float = math.inf,
    label: str = "",
) -> list[tuple[str, Floats]]:
    """A quantity at each r, with its label."""
    return [(f"{words(r=r)}{label}", of(r)) for r in series.rates(lo, hi)]
