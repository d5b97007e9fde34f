"""The verdict rule, case by case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from evenflow import claims
from evenflow.claims import Check, Claim, Verdict, judge, judge_claim
from evenflow.stats import Interval


def interval(mean: float, half: float, n: int = 10) -> Interval:
    return Interval(mean, mean - half, mean + half, n, half)


@pytest.mark.parametrize(
    ("mean", "half", "n", "verdict", "close"),
    [
        (1.0, 0.05, 3, Verdict.HOLDS, False),  # inside
        (1.0, 0.10, 3, Verdict.HOLDS, False),  # touching the edge from inside: the accepted set is closed
        (1.3, 0.10, 3, Verdict.FAILS, False),  # outside
        (1.1, 0.05, 3, Verdict.UNDECIDED, False),  # straddles, fewer runs than the paper's
        (1.09, 0.05, 10, Verdict.HOLDS, True),  # straddles, paper's runs: the mean decides
        (1.11, 0.05, 10, Verdict.FAILS, True),
        (1.0, 9.0, 3, Verdict.UNDECIDED, False),  # wider than what is accepted
    ],
)
def test_the_rule(mean: float, half: float, n: int, verdict: Verdict, close: bool) -> None:
    found = judge([Check("", interval(mean, half, n), 0.9, 1.1)], scale="quick", paper_runs=10)
    assert (found.verdict, found.close) == (verdict, close)


def test_an_open_side_accepts_everything_there() -> None:
    assert judge([Check("", interval(50, 5), lo=40)], scale="quick", paper_runs=10).verdict is Verdict.HOLDS
    assert judge([Check("", interval(50, 5), hi=40)], scale="quick", paper_runs=10).verdict is Verdict.FAILS


def test_one_run_decides_nothing_even_for_an_open_set() -> None:
    one = Check("", [50.0], lo=40)
    assert judge([one], scale="quick", paper_runs=10).verdict is Verdict.UNDECIDED
    decided = judge([one], scale="paper", paper_runs=1)  # a paper that shows single runs
    assert (decided.verdict, decided.close) == (Verdict.HOLDS, True)


def test_undefined_and_infinite_values() -> None:
    nan = judge([Check("", [math.nan, math.nan], 0, 1)], scale="paper", paper_runs=2)
    assert nan.verdict is Verdict.UNDECIDED
    assert "ndefined" in nan.why
    inf = Check("", [1.0, math.inf, 2.0], hi=5)
    assert judge([inf], scale="quick", paper_runs=10).verdict is Verdict.UNDECIDED
    assert judge([inf], scale="paper", paper_runs=3).verdict is Verdict.UNDECIDED


def test_exact_numbers_need_no_runs() -> None:
    assert judge([Check("", 4.0, 4.0, 4.0)], scale="quick", paper_runs=10, shortened=True).verdict is Verdict.HOLDS
    wrong = judge([Check("", 4.1, 4.0, 4.0)], scale="quick", paper_runs=10)
    assert (wrong.verdict, wrong.close) == (Verdict.FAILS, False)


def test_many_points_fail_if_one_does() -> None:
    good, bad, open_ = (
        Check(name, interval(m, h, 3), 0, 1) for name, m, h in (("g", 0.5, 0.1), ("b", 2, 0.1), ("o", 1, 0.2))
    )
    assert judge([good, open_], scale="quick", paper_runs=10).verdict is Verdict.UNDECIDED
    found = judge([good, open_, bad], scale="quick", paper_runs=10)
    assert found.verdict is Verdict.FAILS
    assert found.measured.startswith("b: 2 ")  # what decided comes first
    assert "1 of 3" in found.why


def test_undecided_says_how_many_runs_would_decide() -> None:
    found = judge([Check("x", [0.8, 1.0, 1.3], lo=0.9)], scale="quick", paper_runs=10)
    assert found.verdict is Verdict.UNDECIDED
    assert found.runs_to_decide is not None
    assert found.runs_to_decide > 3
    assert f"about {found.runs_to_decide} runs" in found.why


def test_shortened_runs_decide_nothing() -> None:
    found = judge([Check("", interval(0.5, 0.01), 0, 1)], scale="quick", paper_runs=3, shortened=True)
    assert found.verdict is Verdict.UNDECIDED
    assert "shorter" in found.why


def test_no_comparison_is_no_verdict() -> None:
    assert judge([], scale="paper", paper_runs=1).verdict is Verdict.UNDECIDED


def claim(literal: Sequence[Check], relaxed: Sequence[Check] | None = None, note: str = "") -> Claim:
    return Claim(
        id="x-c01",
        source="Fig. 1",
        statement="It is so.",
        expected="about 1",
        tolerance="± 15 %",
        experiments=(),
        literal=lambda _: literal,
        relaxed=None if relaxed is None else lambda _: relaxed,
        relaxed_reading=None if relaxed is None else "wider",
        note=note,
    )


def test_both_readings_are_kept_apart() -> None:
    row = judge_claim(
        claim([Check("", 2.0, 0, 1)], [Check("", 2.0, 0, 3)], note="The paper forgot a factor."),
        {},
        scale="quick",
        paper_runs=10,
    ).to_json()
    assert (row["verdict"], row["relaxed"]) == ("fails", "holds")
    assert row["why"].startswith("The paper forgot a factor.")
    for name in ("id", "verdict", "relaxed", "measured", "expected", "tolerance", "source", "why"):
        assert name in row


def test_a_claim_that_holds_keeps_quiet_about_its_note() -> None:
    assert (
        judge_claim(claim([Check("", 1.0, 0, 1)], note="gossip"), {}, scale="quick", paper_runs=1).to_json()["why"]
        == ""
    )


@pytest.mark.parametrize(("value", "why"), [(1.0, "With SACK: holds."), (2.0, "Gossip. With SACK: holds. The comp")])
def test_what_stands_beside_a_verdict_is_said_whatever_it_is(value: float, why: str) -> None:
    noted = replace(claim([Check("", value, 0, 1)], note="Gossip."), beside=lambda data, judgement: "With SACK: holds.")
    said = judge_claim(noted, {}, scale="paper", paper_runs=1).literal.why
    assert said.startswith(why)
    assert said == why or value == 2.0


def test_why_is_never_empty_for_what_does_not_hold() -> None:
    for check in (Check("", 2.0, 0, 1), Check("", [1.0], 0, 1), Check("", [math.nan], 0, 1)):
        row = judge_claim(claim([check]), {}, scale="quick", paper_runs=5).to_json()
        assert row["verdict"] != "holds"
        assert row["why"]


def test_a_broken_predicate_is_reported_and_costs_no_other_claim() -> None:
    def broken(_: object) -> list[Check]:
        raise KeyError("no point has flows = 7")

    entry = judge_claim(Claim("x", "s", "st", "e", "t", (), literal=broken), {}, scale="quick", paper_runs=1)
    assert entry.literal.verdict is Verdict.UNDECIDED
    assert "flows = 7" in entry.broken
    assert "defect" in entry.literal.why


def test_worst_first_and_counts() -> None:
    rows = [
        {"id": "a", "verdict": "holds", "relaxed": None},
        {"id": "b", "verdict": "undecided", "relaxed": "holds"},
        {"id": "c", "verdict": "fails", "relaxed": "holds"},
        {"id": "d", "verdict": "fails", "relaxed": "fails"},
        {"id": "e", "verdict": "holds", "relaxed": None, "close": True},
    ]
    assert [row["id"] for row in claims.worst_first(rows)] == ["d", "c", "b", "e", "a"]
    c = claims.count(rows)
    assert (c.holds, c.fails, c.undecided, c.total) == (2, 2, 1, 5)
    assert (c.relaxed_holds, c.relaxed_fails, c.relaxed_undecided, c.close) == (4, 1, 0, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.23456, "1.235"), (-2.5, "−2.5"), (1e-5, "1e-05"), (12345.6, "12346"), (math.inf, "∞")],
)
def test_numbers_for_people(value: float, text: str) -> None:
    assert claims.number(value) == text


def test_accepted_sets_in_words() -> None:
    assert Check("", 1.0, 0.9, 1.1, "ms").accepted == "0.9 to 1.1 ms"
    assert Check("", 1.0, lo=2).accepted == "≥ 2"
    assert Check("", 1.0, hi=2).accepted == "≤ 2"


def test_one_defined_run_among_many_decides_nothing() -> None:
    values = [2.0] + [math.nan] * 9
    assert claims.judge_one(Check("", values, lo=1.0), paper_runs=10).verdict is Verdict.UNDECIDED
    assert claims.judge_one(Check("", [2.0], lo=1.0), paper_runs=1).verdict is Verdict.HOLDS
