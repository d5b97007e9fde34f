"""The congestion exposure paper's claims, each on runs that are as it says and on runs that are not."""

from __future__ import annotations

from functools import cache

import pytest
from conex_worlds import RUNS, table
from evenflow.claims import Entry, judge_claim
from evenflow.plots import svg
from evenflow.show.drawing import draw
from evenflow.study import Table
from evenflow_papers.conex import PAPER

BY_ID = {claim.id.removeprefix("conex-"): claim for claim in PAPER.claims}
ALWAYS = ("c03", "c67", "c89")
"""Claims that no run can deny."""

made = cache(table)


def judged(name: str, true: bool) -> Entry:
    claim = BY_ID[name]
    data: dict[str, Table] = {experiment: made(experiment, true) for experiment in claim.experiments}
    entry = judge_claim(claim, data, scale="paper", paper_runs=RUNS)
    assert not entry.broken, entry.broken
    return entry


def test_there_are_98() -> None:
    assert list(BY_ID) == [f"c{n:02d}" for n in range(1, 99)]


@pytest.mark.parametrize("name", BY_ID)
def test_a_claim_holds_where_it_is_true(name: str) -> None:
    entry = judged(name, True)
    assert entry.literal.verdict == "holds", (entry.literal.measured, entry.literal.why)
    assert entry.relaxed is None or entry.relaxed.verdict == "holds"


@pytest.mark.parametrize("name", [name for name in BY_ID if name not in ALWAYS])
def test_a_claim_fails_where_it_is_not(name: str) -> None:
    entry = judged(name, False)
    assert entry.literal.verdict == "fails", (entry.literal.measured, entry.literal.why)


@pytest.mark.parametrize("name", ALWAYS)
def test_what_no_run_can_deny_is_counted_apart(name: str) -> None:
    assert BY_ID[name].apart
    assert judged(name, False).literal.verdict == "holds"


@pytest.mark.slow("draws figures", only="^(?!.*fig08)")
@pytest.mark.parametrize("experiment", [e.id for e in PAPER.experiments])
def test_a_figure_is_drawn_and_has_its_numbers(experiment: str) -> None:
    found = PAPER.experiment(experiment)
    runs = made(experiment, True)
    if found.figure is not None:
        text = svg(draw(found.figure(runs)))
        assert text.count("<path") > 5
    assert found.data is not None
    frame = found.data(runs)
    assert frame.height >= 1


def test_a_logarithmic_axis_begins_where_the_data_do() -> None:
    figure = PAPER.experiment("fig08").figure
    assert figure is not None
    linear, logarithmic = draw(figure(made("fig08", True))).axes
    assert linear.get_ylim()[0] == 0
    assert 0.1 < logarithmic.get_ylim()[0] < 1
