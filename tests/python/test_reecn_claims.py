"""The claims of the paper on re-ECN, each on runs that are as it says and on runs that are not."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from evenflow.claims import Entry, judge_claim
from evenflow.record import Record
from evenflow.study import Run, Table
from evenflow_papers.reecn_lte import PAPER, beside, claims, measures, network
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


def test_fairness_over_windows_counts_the_last_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two users receives everything in the first window; both receive the same in the second."""
    values = np.repeat([[2.0, 1.0], [0.0, 1.0]], 4, axis=1)
    monkeypatch.setattr(measures, "each", lambda run, group: (np.arange(8.0), values))
    assert measures.fairness_over(4 * measures.WINDOW_S, Run(0, {}, 1, Record("{}", ""))) == 0.75


def test_a_premium_is_compared_with_every_class() -> None:
    compared = {outcome.check.label for outcome in judged("c59", True).literal.outcomes}
    assert compared >= {f"over {name}" for name in network.CLASSES}


def test_reductions_that_no_mark_caused() -> None:
    document = {"groups": {claims.PHONES: {"senders": {"reductions": {"mark": 1, "loss": 2, "timeout": 1}}}}}
    assert claims.not_by_marks(Run(0, {}, 1, Record(json.dumps(document), ""))) == 75


@pytest.mark.parametrize("name", ALWAYS)
def test_what_no_run_can_deny_is_counted_apart(name: str) -> None:
    assert BY_ID[name].apart


def figures(name: str) -> set[str]:
    """The figures that a claim is judged on."""
    return {it.removeprefix("reecn_lte-") for it in BY_ID[name].experiments}


CHOSEN = [name for name in BY_ID if figures(name) and figures(name) <= {"fig06", "fig11", "fig12", "fig16"}]
TEN = [name for name in BY_ID if not figures(name).isdisjoint(beside.BESIDE)]


def test_claims_on_the_figures_that_are_published_both_ways() -> None:
    assert ["c27", *(f"c{n}" for n in range(32, 45)), "c57", "c58", "c59", "c64", "c65"] == CHOSEN
    assert {"c14", *(f"c{n}" for n in (*range(27, 57), 62, 64, 65))} == set(TEN)


@pytest.mark.parametrize("true", [True, False])
@pytest.mark.parametrize("name", dict.fromkeys((*CHOSEN, *TEN)))
def test_other_choices_and_ten_flows_stand_beside_every_verdict(name: str, true: bool) -> None:
    claim = BY_ID[name]
    shown = {*figures(name), *(beside.BY_CHOICE[it] for it in figures(name) if name in CHOSEN)}
    data = {f"reecn_lte-{it}": made(f"reecn_lte-{it}", true) for it in shown}
    entry = judge_claim(claim, data, scale="paper", paper_runs=RUNS)
    assert not entry.broken, entry.broken
    assert entry.literal.verdict == ("holds" if true else "fails")
    why = entry.literal.why
    if name in CHOSEN:
        for tcp in ("reno", "newreno", "sack"):
            for red in ("uniform", "ns2"):
                assert f"{tcp}, {red}: " in why
    assert ("Ten flows" in why) == (name in TEN)
    if name in TEN and figures(name).isdisjoint({"fig10", "fig14", "fig15"}):
        assert "after 300 s: " in why
        assert "after 600 s: " in why


def test_the_last_seconds_are_those_of_a_run_whatever_its_length() -> None:
    """Ten flows stand beside after 600 s, of which 200 to 300 s are not the end."""
    ends = np.arange(1, 121) * 5.0
    bins = np.where(ends > 500, 2.0, 1.0) * 5e6 / 8
    series = {network.THROUGHPUT: (ends.tobytes(), bins.tobytes())}
    run = Run(0, {}, 1, Record('{"window_s": [0, 600]}', "", series))
    assert measures.last(100.0, run) == pytest.approx(2.0)
