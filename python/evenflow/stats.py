"""Confidence intervals and paired comparisons, in the few forms a study needs.

All intervals assume independent replications. Replications of different points share their seeds, so a difference
or a ratio
of two points is judged on pairs of equal seeds: what is common to both (starting times, arrival gaps) cancels.

Sources: W. S. Gosset ("Student"), "The probable error of a mean", Biometrika 6 (1908); E. C. Fieller, "Some problems in
interval estimation", J. Royal Statistical Society B 16 (1954), for the ratio of two means; A. M. Law, "Simulation
Modeling and Analysis", 5th ed. (2015), sections 9.4 and 10.2, for replications and common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval.

    `n` counts the values used, `undefined` those left out because a run could not define them (a mean delay of no
    packets).
    With one value, or with an infinite one, nothing can be said about the spread: `sd` is NaN and the bounds are
    infinite.
    `again` computes it at another confidence level, and `runs` has the quantity run by run (of a ratio of means, the
    ratio), for `modes`; all functions here give both.
    """

    mean: float
    lo: float
    hi: float
    n: int
    sd: float
    undefined: int = 0
    again: Callable[[float], Interval] | None = field(default=None, repr=False, compare=False)
    runs: Floats | None = field(default=None, repr=False, compare=False)

    def at(self, level: float) -> Interval:
        """The same at another confidence level.

        One put together without `again` is taken for a Student interval at `LEVEL`.
        """
        if self.again is not None:
            return self.again(level)
        if self.lo == self.hi or not (math.isfinite(self.lo) or math.isfinite(self.hi)) or self.n < 2:
            return self
        wider = student_t(level, self.n - 1) / student_t(LEVEL, self.n - 1)
        return replace(self, lo=self.mean - wider * (self.mean - self.lo), hi=self.mean + wider * (self.hi - self.mean))

    def map(self, increasing: Callable[[float], float]) -> Interval:
        """The interval of an increasing function of the quantity, at any level; bounds that are infinite stay so.

        `sd` is stretched as the interval is.
        """
        mean, lo, hi = (increasing(x) if math.isfinite(x) else x for x in (self.mean, self.lo, self.hi))
        stretched = (hi - lo) / (self.hi - self.lo) if math.isfinite(self.hi - self.lo) and self.hi > self.lo else 1.0
        import numpy as np

        runs = None if self.runs is None else np.array([increasing(x) if math.isfinite(x) else x for x in self.runs])
        again = lambda level: self.at(level).map(increasing)  # noqa: E731
        return Interval(mean, lo, hi, self.n, self.sd * stretched, self.undefined, again, runs)

    @property
    def half_width(self) -> float:
        """Half the interval's length, in the unit of the values."""
        return (self.hi - self.lo) / 2

    def _repr_html_(self) -> str:
        from html import escape

        if self.n == 0 and self.lo == self.hi:
            return escape(f"{self.mean:.4g} (exact)")
        left_out = f", {self.undefined} undefined" if self.undefined else ""
        bounds = f"[{self.lo:.4g}, {self.hi:.4g}]" if math.isfinite(self.half_width) else "no interval"
        return escape(f"{self.mean:.4g} {bounds} (95 % unless asked otherwise, n = {self.n}{left_out})")

    @staticmethod
    def exact(value: float) -> Interval:
        """A number known without sampling, such as the result of a formula: an interval of no length."""
        return Interval(mean=value, lo=value, hi=value, n=0, sd=0.0)


def student_t(level: float, df: int) -> float:
    """Two-sided Student-t quantile: P(|T| <= t) = level with `df` degrees of freedom."""
    from scipy.special import stdtrit  # scipy.stats would cost half a second at import

    return float(stdtrit(df, 0.5 + level / 2))


def _array(values: Floats | Sequence[float]) -> Floats:
    import numpy as np

    return np.asarray(values, dtype=np.float64).ravel()


def mean_interval(values: Floats | Sequence[float], level: float = LEVEL) -> Interval:
    """Mean and Student-t interval of independent replications.

    Args:
        values: shape (n,), one value a seed; NaN = undefined in that run.
        level: two-sided confidence level.
    """
    import numpy as np

    array = _array(values)
    used = array[~np.isnan(array)]
    n, undefined = int(used.size), int(array.size - used.size)
    if n == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, math.nan, undefined)
    mean, again, runs = float(used.mean()), partial(mean_interval, values), array
    if n == 1 or not math.isfinite(mean):
        return Interval(mean, -math.inf, math.inf, n, math.nan, undefined, again, runs)
    sd = float(used.std(ddof=1))
    half = student_t(level, n - 1) * sd / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n, sd, undefined, again, runs)


def _pairs(a: Floats | Sequence[float], b: Floats | Sequence[float]) -> tuple[Floats, Floats, int]:
    import numpy as np

    left, right = _array(a), _array(b)
    if left.size != right.size:
        raise ValueError(f"paired values need equal seeds: got {left.size} and {right.size} values")
    defined = ~(np.isnan(left) | np.isnan(right))
    return left[defined], right[defined], int(left.size - defined.sum())


def difference(a: Floats | Sequence[float], b: Floats | Sequence[float], level: float = LEVEL) -> Interval:
    """Mean of a − b with its interval, paired by seed; both of shape (n,) in the same seed order."""
    left, right, undefined = _pairs(a, b)
    found = mean_interval(left - right, level)
    return replace(found, undefined=undefined, again=partial(difference, a, b))


def mean_of_ratios(a: Floats | Sequence[float], b: Floats | Sequence[float], level: float = LEVEL) -> Interval:
    """Mean over runs of a / b with its interval. Infinite as soon as one run's b is 0: then use `ratio_of_means`."""
    import numpy as np

    left, right, undefined = _pairs(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = mean_interval(left / right, level)
    return replace(found, undefined=undefined + found.undefined, again=partial(mean_of_ratios, a, b))


def ratio_of_means(a: Floats | Sequence[float], b: Floats | Sequence[float], level: float = LEVEL) -> Interval:
    """mean(a) / mean(b) with Fieller's interval (1954), paired by seed.

    Fieller's set is what is left when every ratio r with mean(a) − r·mean(b) significantly different from 0 is
    struck out. If b is not significantly different from 0 the set is unbounded, and the bounds returned are
    infinite. `sd` is that of the residuals a − r·b over mean(b): the spread a single run adds to the ratio.
    """
    import numpy as np

    x, y, undefined = _pairs(a, b)
    n = int(x.size)
    if n == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, math.nan, undefined)
    mx, my = float(x.mean()), float(y.mean())
    if my == 0.0:
        return Interval(math.inf if mx > 0 else math.nan, -math.inf, math.inf, n, math.nan, undefined)
    ratio, again = mx / my, partial(ratio_of_means, a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        runs = x / y
    if n == 1:
        return Interval(ratio, -math.inf, math.inf, n, math.nan, undefined, again, runs)
    cov = np.cov(x, y, ddof=1)
    vxx, vxy, vyy = (float(cov[0, 0]) / n, float(cov[0, 1]) / n, float(cov[1, 1]) / n)
    sd = float((x - ratio * y).std(ddof=1)) / abs(my)
    t2 = student_t(level, n - 1) ** 2
    # r solves (mx − r·my)² = t²·(vxx − 2r·vxy + r²·vyy)
    qa, qb, qc = my * my - t2 * vyy, mx * my - t2 * vxy, mx * mx - t2 * vxx
    disc = qb * qb - qa * qc
    if qa <= 0 or disc < 0:
        return Interval(ratio, -math.inf, math.inf, n, sd, undefined, again, runs)
    root = math.sqrt(disc)
    return Interval(ratio, (qb - root) / qa, (qb + root) / qa, n, sd, undefined, again, runs)


def median_interval(values: Floats | Sequence[float], level: float = LEVEL) -> Interval:
    """Median with the distribution-free interval between two order statistics (binomial; conservative).

    For results with a heavy tail, where one run can move a mean anywhere. Fewer than 6 values cannot give 95 %: the
    bounds are infinite.
    """
    import numpy as np
    from scipy.special import bdtr

    array = _array(values)
    used = np.sort(array[~np.isnan(array)])
    n, undefined = int(used.size), int(array.size - used.size)
    if n == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, math.nan, undefined)
    middle, again, runs = float(np.median(used)), partial(median_interval, values), array
    sd = float(used.std(ddof=1)) if n > 1 and bool(np.isfinite(used).all()) else math.nan
    # the widest k with P(Binomial(n, 1/2) < k) <= (1 − level)/2
    k = 0
    while k < n // 2 and bdtr(k, n, 0.5) <= (1 - level) / 2:
        k += 1
    if k == 0:
        return Interval(middle, -math.inf, math.inf, n, sd, undefined, again, runs)
    return Interval(middle, float(used[k - 1]), float(used[n - k]), n, sd, undefined, again, runs)


@dataclass(frozen=True)
class Mode:
    """Runs that keep together: their mean, and how many of how many they are."""

    value: float
    runs: int
    of: int

    @property
    def share(self) -> float:
        """Of the runs, in 0 to 1."""
        return self.runs / self.of


GAP = (0.874, 0.796, 0.730, 0.670, 0.619, 0.579, 0.544, 0.513, 0.484, 0.459)
"""For 5 to 14 runs: a single gap makes more of their mutual distance in 1 of 200 normal samples (simulated, 500,000
samples each; tests/python/test_verdicts.py simulates it again)."""
GAP_OF_MANY = 0.45
"""For 15 runs and more, where chance alone would be satisfied with less, but the tail of a single heap too."""
APART = 0.15
"""Modes that are closer than this share of the larger one are about the same value."""


def modes(values: Floats | Sequence[float]) -> tuple[Mode, ...]:
    """The values that runs fall into, ascending; empty if they are one heap, or fewer than five.

    A test by gaps, after H. Wainer and S. Schacht, "Gapping", Psychometrika 43 (1978): with the values in order, the
    gap between the i-th and the next is part of i(n − i) of the distances between two runs. Where a single gap makes
    more than `GAP` of the sum of all distances, the runs fall apart there; each side is then looked at in the same
    way. NaN is left out; an infinite value counts, in the scale x/(1 + |x|).
    """
    import numpy as np

    array = _array(values)
    ordered = np.sort(array[~np.isnan(array)])
    groups = _split(ordered)
    if len(groups) < 2:
        return ()
    return tuple(Mode(float(group.mean()), int(group.size), int(ordered.size)) for group in groups)


def _split(ordered: Floats) -> list[Floats]:
    import numpy as np

    n = int(ordered.size)
    if n < 5:
        return [ordered]
    scaled = ordered
    if not np.isfinite(ordered).all():
        with np.errstate(invalid="ignore"):
            scaled = np.where(np.isinf(ordered), np.sign(ordered), ordered / (1 + np.abs(ordered)))
    below = np.arange(1, n)
    parts = below * (n - below) * np.diff(scaled)
    at = int(parts.argmax())
    critical = GAP[n - 5] if n - 5 < len(GAP) else GAP_OF_MANY
    low, high = ordered[: at + 1], ordered[at + 1 :]
    one, other = float(low.mean()), float(high.mean())
    near = math.isfinite(one) and math.isfinite(other) and other - one < APART * max(abs(one), abs(other))
    if near or parts[at] <= critical * parts.sum():
        return [ordered]
    return [*_split(low), *_split(high)]


def runs_needed(
    found: Interval | Floats | Sequence[float],
    lo: float | None,
    hi: float | None,
    level: float = LEVEL,
    most: int = 1_000_000,
) -> int | None:
    """How many runs would bring the interval wholly inside or wholly outside [lo, hi], if mean and spread stay as
    they are.

    A planning figure: it takes the standard deviation found so far at its word. None when no number of runs is
    foreseeable (fewer than two values, a mean on the very edge, or more than `most`).
    """
    interval = found if isinstance(found, Interval) else mean_interval(found, level)
    if interval.n < 2 or not math.isfinite(interval.sd) or not math.isfinite(interval.mean):
        return None
    margins = [abs(interval.mean - edge) for edge in (lo, hi) if edge is not None]
    margin = min(margins, default=math.inf)
    if margin == 0:
        return None
    if interval.sd == 0 or math.isinf(margin):
        return interval.n

    def enough(n: int) -> bool:
        return student_t(level, n - 1) * interval.sd / math.sqrt(n) < margin

    low, high = 2, 2
    while not enough(high):
        low, high = high, high * 2
        if high > most:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def jain(rates: Floats | Sequence[float]) -> float:
    """Jain's fairness index of shares: (Σx)² / (n·Σx²); 1 = equal, 1/n = one takes all; NaN for no or all-zero shares.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination", DEC-TR-301 (1984).
    """
    array = _array(rates)
    squares = float((array * array).sum())
    return float(array.sum()) ** 2 / (array.size * squares) if squares > 0 else math.nan
