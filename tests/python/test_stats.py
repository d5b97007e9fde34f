"""Statistics against numbers worked out by hand or found in tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evenflow import stats
from hypothesis import given
from hypothesis import strategies as st


def test_student_t_table() -> None:
    assert stats.student_t(0.95, 1) == pytest.approx(12.7062, abs=1e-4)
    assert stats.student_t(0.95, 9) == pytest.approx(2.2622, abs=1e-4)
    assert stats.student_t(0.99, 4) == pytest.approx(4.6041, abs=1e-4)


def test_mean_interval_by_hand() -> None:
    found = stats.mean_interval([1, 2, 3, 4, 5])
    # sd = sqrt(10/4); t(0.975, 4) = 2.7764; half-width = 2.7764 * sd / sqrt(5)
    assert found.mean == 3
    assert found.sd == pytest.approx(math.sqrt(2.5))
    assert found.half_width == pytest.approx(2.776445 * math.sqrt(2.5) / math.sqrt(5), rel=1e-6)
    assert (found.n, found.undefined) == (5, 0)


def test_undefined_values_are_left_out_and_counted() -> None:
    found = stats.mean_interval([1.0, math.nan, 3.0])
    assert (found.mean, found.n, found.undefined) == (2.0, 2, 1)


@pytest.mark.parametrize("values", [[], [math.nan], [5.0], [1.0, math.inf]])
def test_nothing_is_claimed_where_nothing_can_be(values: list[float]) -> None:
    found = stats.mean_interval(values)
    assert (found.lo, found.hi) == (-math.inf, math.inf)


def test_pairing_removes_what_is_common() -> None:
    common = np.array([0.0, 5.0, -3.0, 11.0])
    a, b = np.add(common, [1.0, 1.1, 0.9, 1.0]), common
    assert stats.difference(a, b).half_width < 0.2
    unpaired = stats.mean_interval(a)
    assert unpaired.half_width > 5


def test_pairs_need_equal_numbers() -> None:
    with pytest.raises(ValueError, match="equal seeds"):
        stats.difference([1.0], [1.0, 2.0])


def test_fieller_solves_its_own_equation() -> None:
    a, b = np.array([4.0, 5.0, 6.0, 5.5]), np.array([2.0, 2.2, 2.9, 2.4])
    found = stats.ratio_of_means(a, b)
    t = stats.student_t(0.95, 3)
    for bound in (found.lo, found.hi):
        residual = a - bound * b
        # at a bound the t statistic of mean(a) - r mean(b) is exactly the quantile
        assert abs(residual.mean()) / (residual.std(ddof=1) / 2) == pytest.approx(t, rel=1e-9)
    assert found.lo < found.mean < found.hi
    assert found.mean == pytest.approx(20.5 / 9.5)


def test_fieller_is_unbounded_where_the_denominator_may_be_zero() -> None:
    found = stats.ratio_of_means([5.0, 6.0, 7.0], [0.0, 0.1, -0.1 + 1e-3])
    assert (found.lo, found.hi) == (-math.inf, math.inf)


def test_ratio_kinds_differ() -> None:
    a, b = [1.0, 9.0], [1.0, 3.0]
    assert stats.mean_of_ratios(a, b).mean == 2.0
    assert stats.ratio_of_means(a, b).mean == 2.5
    assert math.isinf(stats.mean_of_ratios([1.0, 1.0], [0.0, 1.0]).mean)


def test_median_interval_uses_the_known_order_statistics() -> None:
    # n = 10: P(X_(2) < median < X_(9)) = 0.979, the narrowest pair above 0.95 (Conover, table A4)
    found = stats.median_interval(list(range(1, 11)))
    assert (found.mean, found.lo, found.hi) == (5.5, 2, 9)
    assert math.isinf(stats.median_interval([1, 2, 3, 4, 5]).hi)
    assert stats.median_interval([1, 2, 3, 4, 5, 6]).hi == 6


def test_median_interval_survives_an_outlier() -> None:
    assert stats.median_interval([1, 2, 3, 4, 5, 6, 7, 8, 9, math.inf]).hi == 9


def test_runs_needed_by_hand() -> None:
    # half-width must be below 0.1 with sd 0.1: t(n-1)/sqrt(n) < 1, first true at n = 7 (2.447/2.646)
    found = stats.Interval(mean=1.0, lo=0.0, hi=2.0, n=3, sd=0.1)
    assert stats.runs_needed(found, lo=0.9, hi=None) == 7
    assert stats.runs_needed(found, lo=1.0, hi=None) is None
    assert stats.runs_needed([1.0], lo=0.5, hi=None) is None


@given(st.floats(0.001, 10), st.floats(0.01, 5))
def test_runs_needed_is_enough_and_not_one_too_many(sd: float, margin: float) -> None:
    found = stats.Interval(mean=margin, lo=-1, hi=20, n=5, sd=sd)
    n = stats.runs_needed(found, lo=0.0, hi=None)
    if n is not None:
        assert stats.student_t(0.95, n - 1) * sd / math.sqrt(n) < margin
        assert n == 2 or stats.student_t(0.95, n - 2) * sd / math.sqrt(n - 1) >= margin


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-10, 10), st.floats(0.1, 10))
def test_intervals_move_and_stretch_with_the_unit(values: list[float], shift: float, factor: float) -> None:
    plain = stats.mean_interval(values)
    moved = stats.mean_interval([v * factor + shift for v in values])
    assert moved.lo == pytest.approx(plain.lo * factor + shift, rel=1e-6, abs=1e-4)
    assert moved.hi == pytest.approx(plain.hi * factor + shift, rel=1e-6, abs=1e-4)


def test_jain() -> None:
    assert stats.jain([3, 3, 3]) == 1
    assert stats.jain([1, 0, 0, 0]) == 0.25
    assert math.isnan(stats.jain([0, 0]))


def test_an_interval_at_another_level_by_hand() -> None:
    """Half-widths are as t(0.995, 9) = 3.2498 to t(0.975, 9) = 2.2622; else nothing changes."""
    found = stats.Interval(mean=10.0, lo=9.0, hi=11.0, n=10, sd=1.0).at(0.99)
    assert found.half_width == pytest.approx(3.24984 / 2.26216, rel=1e-4)
    one = stats.Interval(mean=10.0, lo=9.0, hi=11.0, n=1, sd=1.0)
    assert one.at(0.99) == one
    open_ = stats.Interval(mean=10.0, lo=-math.inf, hi=math.inf, n=10, sd=1.0)
    assert open_.at(0.99) == open_
    exact = stats.Interval(mean=10.0, lo=10.0, hi=10.0, n=0, sd=0.0)
    assert "exact" in exact._repr_html_()
    assert "exact" not in stats.Interval(mean=10.0, lo=10.0, hi=10.0, n=1, sd=0.0)._repr_html_()
