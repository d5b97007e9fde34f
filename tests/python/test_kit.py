"""Claims as data: what the file and the code must say to each other, and the forms of comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenflow import kit
from evenflow.claims import Check, Verdict, judge, judge_claim
from evenflow.lab import rank_correlation
from evenflow.stats import Interval, difference, mean_interval, mean_of_ratios, median_interval, ratio_of_means

GOOD = """
[c46]
source = "Fig. 4c"
quote = "almost identical link utilization"
statement = "The link is used alike."
expected = "equal"
judged = "the difference, at every number of flows"
on = ["fig04"]
runs = 5
[c46.literal]
tolerance = "± 1.5 points"
accepted = { alone = { max = 0, unit = "%" }, elsewhere = { about = 0, by = 1.5 } }
[c46.wider]
reading = "read off a curve"
accepted = { elsewhere = { min = -2, max = 2 } }

[c47]
source = "section 3"
statement = "Two is two."
expected = "2"
judged = "the sum"
apart = "arithmetic"
[c47.literal]
tolerance = "exact"
accepted = { it = 2 }
"""


def claims(tmp_path: Path, text: str = GOOD) -> kit.Claims:
    (tmp_path / "claims.toml").write_text(text, encoding="utf-8")
    return kit.Claims("tiny", tmp_path)


def sound(tmp_path: Path, text: str = GOOD) -> kit.Claims:
    it = claims(tmp_path, text)

    @it.measure("c46")
    def _(data: Any, accept: kit.Accept) -> Sequence[Check]:
        return [accept("alone", "1 flow", [-1.0, -1.1]), accept("elsewhere", "2 flows", [1.70, 1.71])]

    @it.measure("c47")
    def _(data: Any, accept: kit.Accept) -> Sequence[Check]:
        return [accept("it", "", 2.0)]

    return it


def told(build: Callable[[], object]) -> str:
    with pytest.raises(kit.ClaimsError) as error:
        build()
    return str(error.value)


def test_file_and_code_together_are_claims(tmp_path: Path) -> None:
    one, two = sound(tmp_path).build()
    assert (one.id, one.experiments, one.paper_runs) == ("tiny-c46", ("tiny-fig04",), 5)
    assert one.judged == "the difference, at every number of flows"
    assert (one.apart, two.apart) == (None, "arithmetic")
    entry = judge_claim(one, {}, scale="paper", paper_runs=2)
    assert entry.literal.verdict is Verdict.FAILS
    assert entry.relaxed is not None
    assert entry.relaxed.verdict is Verdict.HOLDS
    alone, elsewhere = entry.relaxed.outcomes
    assert alone.check.unit == "%"
    assert (elsewhere.check.lo, elsewhere.check.hi) == (-2, 2)


def test_a_wider_reading_keeps_the_literal_sets_it_does_not_name(tmp_path: Path) -> None:
    relaxed = sound(tmp_path).build()[0].relaxed
    assert relaxed is not None
    assert relaxed({})[0].hi == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("min = -2, max = 2", "min = -1, max = 2", "c46.wider: the set “elsewhere” does not contain the strict one"),
        ("accepted = { elsewhere = { min", "accepted = { elswhere = { min", "Did you mean “elsewhere”?"),
        ('tolerance = "exact"', 'tolerence = "exact"', "tolerence is not a key. Did you mean “tolerance”?"),
        ('judged = "the sum"', "", "c47: judged is missing"),
        ('apart = "arithmetic"', 'apart = "trivial"', "one of by-construction, arithmetic, calibrated, ours"),
        ("{ it = 2 }", "{ it = { min = 3, max = 2 } }", "min = 3 is above max = 2"),
        ("{ it = 2 }", "{ it = { about = 2 } }", "about goes with share"),
        ("{ it = 2 }", "{ it = {} }", "decides nothing"),
        ("{ it = 2 }", "{ it = 2, other = 3 }", "nothing is compared with the set “other”"),
        ("[c47", "[c48", "c47: it is measured, but claims.toml has no such claim"),
        ("runs = 5", "runs = 0", "a number of runs"),
        ("runs = 5", 'undefined = "zero"', "c46.undefined: “left out”, or nothing"),
        ('reading = "read off a curve"', 'reading = "x"\nof = "other runs"', "needs a function that measures it"),
        ('reading = "read off a curve"', 'reading = "x"\nof = "taste"', "other runs or another quantity"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in GOOD
    assert message in told(sound(tmp_path, GOOD.replace(before, after)).build)


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("runs = 5", "runs = -5\nquoth = 3").replace("[c47", "[c99")
    message = told(sound(tmp_path, text).build)
    assert message.count("\n") >= 4
    for word in (
        "quoth is not a key. Did you mean “quote”?",
        "runs",
        "c99: nothing measures it",
        "c47: it is measured",
    ):
        assert word in message


def test_a_missing_file_and_a_broken_one(tmp_path: Path) -> None:
    assert "cannot be read" in told(kit.Claims("x", tmp_path / "nowhere" / "a.py").build)
    assert "Expected" in told(claims(tmp_path, "[c1").build)


def test_an_unknown_set_names_the_nearest(tmp_path: Path) -> None:
    accept = kit.Accept("c1", {"elsewhere": kit.Set(0, 1)})
    assert "Did you mean “elsewhere”?" in told(lambda: accept("elsewere", "", 1.0))


def test_a_set_may_be_in_multiples(tmp_path: Path) -> None:
    check = kit.Accept("c1", {"it": kit.Set(0.85, 1.15)})("it", "5 flows", [5.0], times=5)
    assert (check.lo, check.hi) == (4.25, 5.75)


def test_a_wider_reading_of_another_quantity_is_the_better_of_two(tmp_path: Path) -> None:
    text = GOOD.replace('reading = "read off a curve"', 'reading = "medians"\nof = "another quantity"')
    it = sound(tmp_path, text)

    @it.measure("c46", reading="wider")
    def _(data: Any, accept: kit.Accept) -> Sequence[Check]:
        return [accept("elsewhere", "median", 7.0)]

    made = it.build()[0]
    entry = judge_claim(made, {}, scale="paper", paper_runs=2)
    assert (entry.literal.verdict, entry.relaxed and entry.relaxed.verdict) == (Verdict.FAILS, Verdict.FAILS)

    it._measures["c46", "literal"] = lambda data, accept: [accept("alone", "", -1.0), accept("elsewhere", "", 0.0)]
    entry = judge_claim(it.build()[0], {}, scale="paper", paper_runs=2)
    assert (entry.literal.verdict, entry.relaxed and entry.relaxed.verdict) == (Verdict.HOLDS, Verdict.HOLDS)


def test_a_claim_may_leave_undefined_runs_out(tmp_path: Path) -> None:
    for text, verdict in (
        (GOOD, Verdict.UNDECIDED),
        (GOOD.replace("runs = 5", 'undefined = "left out"'), Verdict.HOLDS),
    ):
        it = sound(tmp_path, text)
        it._measures["c46", "literal"] = lambda data, accept: [
            accept("alone", "", -1.0),
            accept("elsewhere", "", [0.0, 0.01, 0.02, math.nan]),
        ]
        assert judge_claim(it.build()[0], {}, scale="paper", paper_runs=3).literal.verdict is verdict


def test_options_reach_those_who_ask(tmp_path: Path) -> None:
    it = sound(tmp_path)
    it._measures["c47", "literal"] = lambda data, accept, o: [accept("it", "", float(o))]
    assert judge_claim(it.build(2)[1], {}, scale="paper", paper_runs=1).literal.verdict is Verdict.HOLDS
    assert judge_claim(it.build(3)[1], {}, scale="paper", paper_runs=1).literal.verdict is Verdict.FAILS


def test_a_note_beside_the_verdict_is_one_of_its_own(tmp_path: Path) -> None:
    it = sound(tmp_path)
    it.note("c47")(lambda data, judgement: "Why not.")
    it.note("c47", beside=True)(lambda data, judgement, o: f"With {o}.")
    assert judge_claim(it.build(2)[1], {}, scale="paper", paper_runs=1).literal.why == "With 2."
    it.note("c47", beside=True)(lambda data, judgement: "")
    it.note("c4", beside=True)(lambda data, judgement: "")
    message = told(it.build)
    assert "c47: it has two notes beside its verdict." in message
    assert "c4: it has a note, but claims.toml has no such claim" in message


# --- Forms ----------------------------------------------------------------------------------------------------------

ANY = kit.Accept("c1", {"up": kit.Set(0.0, None), "range": kit.Set(3, 5)})


def test_rank_has_one_value_a_seed() -> None:
    curve = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    assert list(rank_correlation([1, 2, 3], curve)) == [1, -1]


def test_a_peak_inside_a_range_is_found_and_one_outside_is_not() -> None:
    rng, grid = np.random.default_rng(1), [1, 2, 3, 4, 5, 6, 7]
    for top, verdict in ((4, Verdict.HOLDS), (7, Verdict.FAILS)):
        curve = np.array([[-abs(x - top)] * 10 for x in grid]) + 0.1 * rng.normal(size=(7, 10))
        check = kit.extremum(ANY, "range", "TR", grid, curve)
        assert judge([check], scale="paper", paper_runs=10).verdict is verdict
        check = kit.extremum(ANY, "range", "TR", grid, -curve, lowest=True)
        assert judge([check], scale="paper", paper_runs=10).verdict is verdict
    assert check.label == "TR: lowest at 3 to 5, outside − inside"


def test_what_is_chosen_by_looking_is_chosen_on_other_seeds() -> None:
    """The peak of pure noise is not above zero, though the largest of twenty means is."""
    from evenflow.lab import peak

    rng = np.random.default_rng(2)
    chosen, largest = [], []
    for _ in range(400):
        curve = rng.normal(size=(20, 10))
        chosen.append(peak(range(20), curve)[1].mean())
        largest.append(curve.mean(axis=1).max())
    assert abs(np.mean(chosen)) < 0.05
    assert np.mean(largest) > 0.5


def test_one_seed_chooses_nothing() -> None:
    assert np.isnan(kit.extremum(ANY, "range", "", [1, 4], np.array([[1.0], [2.0]])).values).all()  # type: ignore[arg-type]


def noisy(rng: np.random.Generator, means: Sequence[float], runs: int = 10) -> list[tuple[str, Any]]:
    return [(str(i), m + rng.normal(size=runs)) for i, m in enumerate(means)]


def test_most_holds_where_most_are_clearly_inside() -> None:
    rng = np.random.default_rng(3)
    for means, verdict in (
        ([9.0] * 9 + [-9.0], Verdict.HOLDS),
        ([9.0] * 5 + [-9.0] * 5, Verdict.FAILS),
        ([9.0] * 5 + [0.0] * 5, Verdict.UNDECIDED),
    ):
        check = kit.most(ANY, "up", "above", noisy(rng, means), share=0.8)
        assert judge([check], scale="quick", paper_runs=20).verdict is verdict
    assert len(check.parts) == 10


@pytest.mark.slow("statistics of many judgements")
def test_most_errs_rarely() -> None:
    """With 8 of 10 just inside it does not fail by chance, with 3 of 10 just outside it does not hold."""
    rng = np.random.default_rng(4)
    wrong = {Verdict.HOLDS: 0, Verdict.FAILS: 0}
    tries = 400
    for _ in range(tries):
        for asserted, means in ((Verdict.HOLDS, [3.0] * 7 + [-0.001] * 3), (Verdict.FAILS, [0.001] * 8 + [-3.0] * 2)):
            check = kit.most(ANY, "up", "", noisy(rng, means), share=0.8)
            wrong[asserted] += judge([check], scale="quick", paper_runs=20).verdict is asserted
    assert max(wrong.values()) / tries < 0.07  # 5 % and what 400 tries scatter


def test_an_undefined_point_is_neither_inside_nor_outside() -> None:
    torn = [("a", [9.0, 9.1, math.nan])] + [(str(i), [9.0, 9.1, 9.2]) for i in range(9)]
    assert judge([kit.most(ANY, "up", "", torn, share=0.9)], scale="paper", paper_runs=3).verdict is Verdict.HOLDS
    assert judge([kit.most(ANY, "up", "", torn, share=1)], scale="paper", paper_runs=3).verdict is Verdict.UNDECIDED


def test_most_of_all_is_every_one() -> None:
    exact = [(str(x), float(x)) for x in range(4)]
    assert judge([kit.most(ANY, "up", "", exact, share=1)], scale="quick", paper_runs=9).verdict is Verdict.HOLDS
    with pytest.raises(ValueError, match="share"):
        kit.most(ANY, "up", "", exact, share=1.5)


# --- Intervals at any level -----------------------------------------------------------------------------------------

A, B = np.array([4.0, 5, 6, 5.5, 4.4, 5.1, 6.2, 5.9]), np.array([2.0, 2.2, 2.9, 2.4, 2.1, 2.4, 3.0, 2.6])


@pytest.mark.parametrize(
    "made",
    [
        lambda level: ratio_of_means(A, B, level),
        lambda level: difference(A, B, level),
        lambda level: mean_of_ratios(A, B, level),
        lambda level: median_interval(A, level),
        lambda level: ratio_of_means(A, B, level).map(math.sqrt),
    ],
)
def test_an_interval_can_be_had_at_any_level(made: Callable[[float], Interval]) -> None:
    for level in (0.9, 0.99):
        assert made(0.95).at(level).lo == made(level).lo
        assert made(0.95).at(level).hi == made(level).hi
    assert made(0.99).hi >= made(0.95).hi


def test_an_interval_put_together_by_hand_is_taken_for_students() -> None:
    made = mean_interval(A)
    by_hand = Interval(made.mean, made.lo, made.hi, made.n, made.sd).at(0.99)
    assert by_hand.lo == pytest.approx(mean_interval(A, 0.99).lo)
    assert by_hand.hi == pytest.approx(mean_interval(A, 0.99).hi)
