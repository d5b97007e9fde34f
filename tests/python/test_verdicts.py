"""Why the verdict rule is as it is: each reason as a case, and how often the rule errs, by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from evenflow.claims import Check, Claim, Early, Verdict, count, judge, judge_claim
from evenflow.record import Record
from evenflow.stats import Mode, median_interval, modes, ratio_of_means
from evenflow.study import Run, Table
from evenflow.values import Wanted, points


def at_paper(*checks: Check, runs: int = 10, **more: object) -> Verdict:
    return judge(checks, scale="paper", paper_runs=runs, **more).verdict  # type: ignore[arg-type]


def spread(mean: float, half: float = 0.3, runs: int = 10) -> list[float]:
    """Values with this mean and an interval of about ± half / 1.4."""
    return list(mean + half * np.linspace(-1.5, 1.5, runs))


# --- Undefined and infinite values ----------------------------------------------------------------------------------


def test_nine_runs_of_one_and_one_infinite_are_not_at_least_1_3() -> None:
    found = judge([Check("", [1.0] * 9 + [math.inf], lo=1.3)], scale="paper", paper_runs=10)
    assert found.verdict is Verdict.UNDECIDED
    assert "nfinite" in found.why


@pytest.mark.parametrize("value", [1.0, 5.0])
def test_two_defined_runs_of_ten_decide_nothing(value: float) -> None:
    found = judge([Check("x", [value, value] + [math.nan] * 8, lo=1.3)], scale="paper", paper_runs=10)
    assert found.verdict is Verdict.UNDECIDED
    assert "ndefined in 8 of 10 runs (x)" in found.why


def test_a_claim_may_say_beforehand_that_undefined_runs_are_left_out() -> None:
    assert at_paper(Check("", [5.0, 5.1, 5.2, math.nan], lo=1.3, left_out=True), runs=4) is Verdict.HOLDS
    assert at_paper(Check("", [5.0, math.nan, math.nan], lo=1.3, left_out=True), runs=3) is Verdict.UNDECIDED


def test_an_undefined_comparison_does_not_save_a_clear_failure() -> None:
    assert at_paper(Check("a", [math.nan] * 10, lo=1), Check("b", spread(-5, 0.1), lo=1)) is Verdict.FAILS


# --- Many comparisons -----------------------------------------------------------------------------------------------


def test_by_its_means_a_claim_of_several_holds_but_does_not_fail() -> None:
    just_in, just_out = Check("in", spread(0.1), lo=0), Check("out", spread(-0.1), lo=0)
    found = judge([just_in, Check("far", spread(3), lo=0)], scale="paper", paper_runs=10)
    assert (found.verdict, found.by_mean, found.close) == (Verdict.HOLDS, True, True)
    assert "1 of 2 intervals" in found.why
    found = judge([just_in, just_out], scale="paper", paper_runs=10)
    assert (found.verdict, found.by_mean) == (Verdict.UNDECIDED, False)
    assert found.measured.startswith("out")
    assert "would decide" in found.why
    found = judge([just_out], scale="paper", paper_runs=10)
    assert (found.verdict, found.by_mean) == (Verdict.FAILS, True)
    assert judge([just_out, Check("exact", 1.0, lo=0)], scale="paper", paper_runs=10).by_mean


def test_an_interval_outside_fails_at_the_corrected_confidence_only() -> None:
    values = spread(-0.3)  # outside at 95 %, not at 99.9 %
    others = [Check(f"{i}", spread(5), lo=0) for i in range(49)]
    assert at_paper(Check("one", values, lo=0)) is Verdict.FAILS
    assert not judge([Check("one", values, lo=0)], scale="paper", paper_runs=10).by_mean
    assert at_paper(Check("one", values, lo=0), *others) is Verdict.UNDECIDED
    assert at_paper(Check("one", spread(-3), lo=0), *others) is Verdict.FAILS


def test_every_form_of_interval_is_asked_again_at_the_corrected_confidence() -> None:
    rng = np.random.default_rng(5)
    a, b = 0.9 + 0.1 * rng.normal(size=(2, 20))
    for made in (ratio_of_means(a, b), median_interval(a), ratio_of_means(a, b).map(math.sqrt)):
        checks = [Check("x", made, lo=0.5), *(Check(str(i), spread(1), lo=0) for i in range(9))]
        wide = judge(checks, scale="paper", paper_runs=10).outcomes[0].to_fail
        assert wide is not None
        assert wide.lo <= made.at(0.995).lo < made.lo


def test_exact_numbers_do_not_count_among_the_sampled() -> None:
    exact = [Check(f"{i}", 1.0, lo=0) for i in range(99)]
    assert at_paper(Check("one", spread(-0.3), lo=0), *exact) is Verdict.FAILS


def test_what_lies_clearly_outside_is_named_before_what_is_close() -> None:
    close, clear = Check("close", spread(-0.1), lo=0), Check("clear", spread(-9), lo=0)
    for checks in ([close, clear], [clear, close]):
        found = judge(checks, scale="paper", paper_runs=10)
        assert found.measured.startswith("clear")
        assert "(clear)" in found.why
        assert found.worst is not None
        assert found.worst.check.label == "clear"
        assert not found.by_mean


def test_every_failing_comparison_is_named_and_of_many_the_first_three() -> None:
    inside = Check("inside", spread(9), lo=0)
    failing = [Check(f"cell {n}", spread(-9 - n), lo=0) for n in range(7)]
    found = judge([inside, *failing[:6]], scale="paper", paper_runs=10)
    assert "6 of 7 comparisons are outside the accepted range at 99.29 % confidence" in found.why
    assert f"({'; '.join(c.label for c in failing[:6])})" in found.why
    found = judge([inside, *failing], scale="paper", paper_runs=10)
    assert "(cell 0; cell 1; cell 2; and 4 more)" in found.why


# --- Bistable points ------------------------------------------------------------------------------------------------

TORN = [0.64, 0.65, 0.63, 0.64, 0.66, 1.55, 1.56, 1.57, 1.56, 1.55]


def test_runs_that_fall_into_two_values_are_named() -> None:
    found = judge([Check("50 ms", TORN, lo=0.5)], scale="paper", paper_runs=10)
    assert found.verdict is Verdict.HOLDS
    assert "Bistable: 50 ms: 0.644 in 5 of 10 runs, 1.558 in 5." in found.why
    row = found.outcomes[0].to_json()
    assert [(m["runs"], m["share"]) for m in row["modes"]] == [(5, 0.5), (5, 0.5)]


def test_the_mean_decides_the_literal_reading_and_the_median_may_the_wider() -> None:
    starved = [0.0] * 9 + [8.0]
    claim = Claim("x", "s", "st", "e", "t", (), literal=lambda _: [Check("p", starved, hi=0.5)])
    entry = judge_claim(claim, {}, scale="paper", paper_runs=10)
    assert (entry.literal.verdict, entry.literal.by_mean) == (Verdict.FAILS, True)
    assert entry.relaxed is not None
    assert entry.relaxed.verdict is Verdict.HOLDS
    assert "median" in (entry.to_json()["relaxed_reading"] or "")
    holds = Claim("x", "s", "st", "e", "t", (), literal=lambda _: [Check("p", TORN, lo=0.5)])
    assert judge_claim(holds, {}, scale="paper", paper_runs=10).relaxed is None


def test_fewer_runs_decide_nothing_where_the_ledger_that_ships_names_a_point_bistable() -> None:
    check = Check("p", [0.64, 0.65, 0.63], hi=1.0)
    assert judge([check], scale="quick", paper_runs=10).verdict is Verdict.HOLDS
    found = judge([check], scale="quick", paper_runs=10, bistable={"p"})
    assert found.verdict is Verdict.UNDECIDED
    assert "modes" in found.why
    assert judge([Check("p", TORN, hi=5)], scale="paper", paper_runs=10, bistable={"p"}).verdict is Verdict.HOLDS


@pytest.mark.parametrize("runs", [5, 7, 10, 14, 15, 30, 60])
def test_normal_runs_are_one_heap_99_times_in_100(runs: int) -> None:
    rng = np.random.default_rng(runs)
    named = sum(bool(modes(values)) for values in rng.normal(size=(3000, runs)))
    assert named / 3000 < 0.01


@pytest.mark.parametrize("runs", [6, 10, 20, 60])
def test_two_values_with_a_little_scatter_are_two_modes(runs: int) -> None:
    rng = np.random.default_rng(runs)
    where = np.where(np.arange(runs) < runs // 2, 0.64, 1.56)
    found = [modes(where + 0.03 * rng.normal(size=runs)) for _ in range(300)]
    assert sum(len(it) == 2 for it in found) > 290
    assert all(it[0].runs == runs // 2 for it in found if it)


def test_modes_by_hand() -> None:
    assert modes([1, 1, 1, 1, 9]) == (Mode(1, 4, 5), Mode(9, 1, 5))
    assert [m.value for m in modes([1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9])] == [1, 5, 9]
    assert modes([1, 1, 9, 9]) == ()  # fewer than five runs
    assert modes([1.0, 1.0, 1.0, 1.1, 1.1, 1.1]) == ()  # two values, and about the same
    assert modes([3.0] * 10) == ()
    assert [m.runs for m in modes([2.0] * 6 + [math.inf] * 4)] == [6, 4]
    assert modes([2.0] * 6 + [math.nan] * 4) == ()


# --- Fewer runs than the paper's ------------------------------------------------------------------------------------


def test_fewer_runs_never_show_that_something_is_absent() -> None:
    none = Check("drops", [0.0, 0.0, 0.0], hi=0)
    found = judge([none], scale="quick", paper_runs=10, absence=True)
    assert found.verdict is Verdict.UNDECIDED
    assert "absent" in found.why
    exact = Check("drops in all runs", 0.0, hi=0)
    assert judge([exact], scale="quick", paper_runs=10, absence=True, fewer=True).verdict is Verdict.UNDECIDED
    assert judge([Check("", [0.0] * 10, hi=0)], scale="paper", paper_runs=10, absence=True).verdict is Verdict.HOLDS
    some = Check("drops", [5.0, 5.1, 5.2], hi=0)
    assert judge([some], scale="quick", paper_runs=10, absence=True).verdict is Verdict.FAILS


def thin(x: Sequence[int], left_out: Sequence[int]) -> Table:
    runs = [
        Run(i, {"x": at, "y": 1}, s, Record(f'{{"v": {1.0 + 0.001 * s}}}', ""))
        for i, at in enumerate(x)
        for s in range(3)
    ]
    return Table(runs, left_out=[{"x": at, "y": 1} for at in left_out])


def test_a_claim_about_a_grid_does_not_hold_on_a_part_of_it() -> None:
    def measured(data: object, **wanted: Wanted) -> list[Check]:
        found = points(data["t"], wanted)  # type: ignore[index]
        return [Check(f"{labels}", [run.metric("v") for run in runs], lo=0) for labels, runs in found]

    def everywhere(data: object) -> list[Check]:
        return measured(data)

    def one_point(data: object) -> list[Check]:
        return measured(data, x=1)

    def other_label(data: object) -> list[Check]:
        return measured(data, x=1, y=[1])

    def by_table(data: object) -> list[Check]:
        table = data["t"]  # type: ignore[index]
        return [Check("", table.values("v", point), lo=0) for point in table.points()]

    def verdict(predicate: object, left_out: Sequence[int]) -> Verdict:
        claim = Claim("x", "s", "st", "e", "t", ("t",), literal=predicate)  # type: ignore[arg-type]
        entry = judge_claim(claim, {"t": thin([1, 2], left_out)}, scale="quick", paper_runs=10)
        assert not entry.broken
        return entry.literal.verdict

    for predicate in (everywhere, by_table):
        assert verdict(predicate, []) is Verdict.HOLDS
        assert verdict(predicate, [3]) is Verdict.UNDECIDED
    for predicate in (one_point, other_label):
        assert verdict(predicate, [3]) is Verdict.HOLDS


# --- Counts ---------------------------------------------------------------------------------------------------------


def test_by_mean_and_apart_are_columns_of_their_own() -> None:
    rows = [
        {"id": "a", "verdict": "holds", "relaxed": None, "by_mean": True},
        {"id": "b", "verdict": "holds", "relaxed": None},
        {"id": "c", "verdict": "fails", "relaxed": "holds", "by_mean": True, "relaxed_by_mean": True},
        {"id": "d", "verdict": "holds", "relaxed": None, "apart": "arithmetic"},
    ]
    c = count(rows)
    assert (c.holds, c.holds_by_mean, c.fails, c.fails_by_mean, c.apart) == (2, 1, 1, 1, 1)
    assert (c.relaxed_holds, c.relaxed_holds_by_mean, c.judged, c.total) == (3, 2, 3, 4)
    assert c.to_json()["literal"] == {"holds": 2, "fails": 1, "undecided": 0, "holds_by_mean": 1, "fails_by_mean": 1}


# --- How often it errs ----------------------------------------------------------------------------------------------


def verdicts(comparisons: int, effect: float, tries: int, seed: int) -> dict[Verdict, float]:
    """Verdicts of "at most zero everywhere" where one point lies `effect` standard deviations above; ten runs each."""
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(Verdict, 0.0)
    for values in rng.normal(size=(tries, comparisons, 10)):
        values[0] += effect
        found[at_paper(*(Check("", v, hi=0) for v in values))] += 1 / tries
    return found


@pytest.mark.slow("statistics of many judgements")
@pytest.mark.parametrize(("comparisons", "power"), [(5, 0.40), (25, 0.20), (54, 0.12)])
def test_a_flat_curve_is_not_failed_by_chance(comparisons: int, power: float) -> None:
    """False failures below 5 %; and what is left of the power for a true effect of one standard deviation."""
    assert verdicts(comparisons, 0.0, 300, comparisons)[Verdict.FAILS] < 0.05
    assert verdicts(comparisons, 1.0, 300, comparisons)[Verdict.FAILS] > power


def early_verdicts(mean: float, comparisons: int, tries: int, seed: int) -> dict[Verdict, float]:
    """Early verdicts of "at most zero everywhere", judged after 5, 10 and 20 of 30 runs."""
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(Verdict, 0.0)
    for values in rng.normal(mean, size=(tries, comparisons, 30)):
        for runs in (5, 10, 20):
            checks = [Check("", v[:runs], hi=0) for v in values]
            claim = Claim("x", "s", "st", "e", "t", (), literal=lambda _, checks=checks: checks)  # type: ignore[misc]
            entry = judge_claim(claim, {}, scale="paper", paper_runs=30, fewer=True, early=Early(runs, 30, 3))
            assert not entry.literal.by_mean
            if entry.early_runs:
                assert entry.early_runs == runs
                found[entry.literal.verdict] += 1 / tries
                break
    return found


@pytest.mark.parametrize("comparisons", [1, 5])
def test_three_early_looks_together_err_less_often_than_one_in_twenty(comparisons: int) -> None:
    """On the edge of the accepted set, where each early verdict is false: of one side by definition."""
    edge = early_verdicts(0.0, comparisons, 300, comparisons)
    assert edge[Verdict.FAILS] < 0.05
    assert edge[Verdict.HOLDS] < 0.05
    assert early_verdicts(-2.5, comparisons, 100, 9)[Verdict.HOLDS] > 0.9
    assert early_verdicts(2.5, comparisons, 100, 9)[Verdict.FAILS] > 0.9


def test_an_absence_is_not_shown_early() -> None:
    claim = Claim("x", "s", "st", "e", "t", (), literal=lambda _: [Check("", [0.0] * 5, hi=0)], absence=True)
    entry = judge_claim(claim, {}, scale="paper", paper_runs=10, fewer=True, early=Early(5, 10, 1))
    assert (entry.literal.verdict, entry.early_runs) == (Verdict.UNDECIDED, None)


def test_the_rule_before_would_have_failed_a_flat_curve() -> None:
    """With the means deciding everywhere, 54 comparisons on the edge almost never hold."""
    rng = np.random.default_rng(1)
    strays = (rng.normal(size=(500, 54, 10)).mean(axis=2) > 0).any(axis=1).mean()
    assert strays > 0.97
