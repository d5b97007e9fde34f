"""The claims of the paper on re-ECN, each on runs that are as it says and on runs that are not."""

from __future__ import annotations

from functools import cache

import pytest
from evenflow.claims import Entry, judge_claim
from evenflow.papers.reecn_lte import PAPER
from evenflow.study import Table
from reecn_worlds import FIGURES, RUNS, table

BY_ID = {claim.id.removeprefix("reecn_lte-"): claim for claim in PAPER.claims}
EXACT = ("c01", "c02", "c05", "c10", "c22", "c23", "c24")
"""On counters of one run that have to agree: test_reecn_lte judges them on real runs."""
ALWAYS = ("c60", "c69")
"""Claims that no run can deny."""
WORLDLY = [name for name in BY_ID if name not in (*EXACT, *ALWAYS)]

made = cache(table)


def judged(name: str, true: bool) -> Entry:
    claim = BY_ID[name]
    data: dict[str, Table] = {experiment: made(experiment, true) for experiment in claim.experiments}
    entry = judge_claim(claim, data, scale="paper", paper_runs=RUNS)
    assert not entry.broken, entry.broken
    return entry


def test_the_worlds_have_every_experiment_that_is_judged() -> None:
    wanted = {name.removeprefix("reecn_lte-") for it in WORLDLY for name in BY_ID[it].experiments}
    assert wanted <= set(FIGURES)


@pytest.mark.parametrize("name", WORLDLY)
def test_a_claim_holds_where_it_is_true(name: str) -> None:
    entry = judged(name, True)
    assert entry.literal.verdict == "holds", (entry.literal.measured, entry.literal.why)


@pytest.mark.parametrize("name", WORLDLY)
def test_a_claim_fails_where_it_is_not(name: str) -> None:
    entry = judged(name, False)
    assert entry.literal.verdict == "fails", (entry.literal.measured, entry.literal.why)


@pytest.mark.parametrize("name", ALWAYS)
def test_what_no_run_can_deny_is_counted_apart(name: str) -> None:
    assert BY_ID[name].apart
