"""The paper on re-ECN in LTE: its scenarios, its claims on real runs, and on runs that are not as it says."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from evenflow.claims import Entry, judge_claim
from evenflow.plots import style, svg
from evenflow.show.drawing import draw
from evenflow.study import Point, Study, Table, run_study
from evenflow_papers.reecn_lte import PAPER, diagram, measures, network
from evenflow_papers.reecn_lte.experiments import experiment as written
from evenflow_papers.reecn_lte.network import Options

BY_ID = {claim.id.removeprefix("reecn_lte-"): claim for claim in PAPER.claims}
EXACT = ("c01", "c02", "c05", "c22", "c23", "c24")
"""Claims that need no sampling."""


@cache
def made(name: str, seconds: float = 0.0) -> Table:
    """Two runs of each quick point; shorter ones where `seconds` says so."""
    points = PAPER.experiment(name).points("quick")
    if seconds:
        points = [Point(p.labels, p.scenario.set("duration", f"{seconds:g} s")) for p in points]
    return run_study(Study(list(points), [1, 2]), store=None, jobs=1)


def judged(name: str, data: dict[str, Table]) -> Entry:
    entry = judge_claim(BY_ID[name], data, scale="paper", paper_runs=2)
    assert not entry.broken, entry.broken
    return entry


def test_there_are_69() -> None:
    assert list(BY_ID) == [f"c{n:02d}" for n in range(1, 70)]


@pytest.mark.parametrize("experiment", [e.id for e in PAPER.experiments])
def test_every_point_can_run(experiment: str) -> None:
    found = PAPER.experiment(experiment)
    points = found.points("paper")
    assert len({tuple(sorted(p.labels.items())) for p in points}) == len(points)
    for point in points:
        point.scenario.check()
    quick = {tuple(sorted(p.labels.items())) for p in found.points("quick")}
    assert quick <= {tuple(sorted(p.labels.items())) for p in points}


@pytest.mark.parametrize("option", PAPER.options, ids=lambda option: option.name)
def test_every_value_of_an_option_changes_some_scenario(option: object) -> None:
    def hashes(o: Options) -> set[str]:
        names = ("fig07", "fig11", "x-int")
        return {p.scenario.hash for e in written.build(o) if e.id[10:] in names for p in e.points("quick")}

    base = hashes(Options())
    for value in option.values[1:]:  # type: ignore[attr-defined]
        assert hashes(Options().varied({option.name: value})) != base  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", EXACT)
def test_what_adds_up_holds_exactly(name: str) -> None:
    data = {experiment: made(experiment.removeprefix("reecn_lte-")) for experiment in BY_ID[name].experiments}
    assert judged(name, data).literal.verdict == "holds"


def test_reports_are_not_exact_before_the_last_has_come() -> None:
    """The run ends while packets and reports are on their way."""
    points = [Point(p.labels, p.scenario.set("duration", "30 s")) for p in PAPER.experiment("x-gtp").points("quick")]
    table = run_study(Study(points, [1, 2]), store=None, jobs=1)
    assert judged("c23", {"reecn_lte-x-gtp": table}).literal.verdict != "holds"


def test_drop_preference_is_an_order() -> None:
    assert judged("c26", {"reecn_lte-x-prio": made("x-prio")}).literal.verdict == "holds"


def test_the_formula_of_the_rate() -> None:
    # 1000 B, T = 0.6 s, p = 0.01: 20,412 B/s
    assert measures.formula_mbps(0.01) * 1e6 / 8 == pytest.approx(20_412, abs=1)
    assert math.isclose(network.K**2, 1.5)


def test_an_attack_is_ten_fair_shares_each() -> None:
    tree = network.attacked(Options(), network.ECN, 100, None).tree
    assert tree["groups"]["attack"]["users"] == 10
    assert float(tree["groups"]["attack"]["traffic"]["rate"].split()[0]) == pytest.approx(10 * 50 / 110)


@pytest.mark.slow("draws figures of short runs", only="fig(08|1[136])")
@pytest.mark.parametrize(
    "experiment",
    [
        *("fig01", "fig02", "fig03", "fig04", "fig05", "fig08", "fig11", "fig12", "fig13", "fig16"),
        *("x-int", "x-cust", "x-bleach"),
    ],
)
def test_a_figure_is_drawn_and_has_its_numbers(experiment: str) -> None:
    found = next(e for e in written.build(replace(Options(), duration=120.0)) if e.id == f"reecn_lte-{experiment}")
    points = [Point(p.labels, p.scenario.set("duration", "8 s")) for p in found.points("quick")]
    table = run_study(Study(points, [1]), store=None, jobs=1)
    assert found.figure is not None
    with style():
        assert svg(draw(found.figure(table))).count("<path") > 5
    assert found.data is not None
    assert found.data(table).height >= 1


def test_drawings_say_what_the_scenarios_have() -> None:
    """Figures 2 and 4: the places of policer, dropper and tunnel, and the narrow link, are read from the tree."""

    def words(setup: str, rates: bool = False) -> set[str]:
        drawn = diagram.network(setup, rates)
        return {it.words for it in (*drawn.boxes, *drawn.arrows)}

    end, inside, numbers = words("end to end"), words("inside the network"), words("", rates=True)
    assert {"policer", "dropper"} <= end
    assert not {"counts", "declares"} & end
    assert {"policer", "dropper", "counts", "declares"} <= inside
    assert any("GTP-U" in text for text in inside)
    assert not any("GTP-U" in text for text in end)
    assert "50 Mbit/s\n20 ms\nRED, 250 packets" in numbers
    nodes = diagram.stops(diagram.SETUPS["inside the network"](Options()).tree)[0]
    assert nodes == ["pgw", "r1", "sgw", "r2", "r3", "enb"]
    drawn = PAPER.experiment("fig02").figure
    assert drawn is not None
    assert [panel.title for panel in drawn(Table([])).panels] == ["end to end", "inside the network"]
    # what a node does is written below it, line by line
    assert [(it.words, it.y) for it in diagram.network("inside the network").boxes if it.x == 0] == [
        ("PDN-GW", 0),
        ("declares", -0.5),
        ("policer", -1),
    ]


def test_drawings_cost_no_runs() -> None:
    theirs = {p.scenario.hash for p in PAPER.experiment("fig11").points("quick")}
    for name in ("fig01", "fig02", "fig03", "fig04"):
        assert {p.scenario.hash for p in PAPER.experiment(name).points("paper")} <= theirs


def test_the_readme_has_all_25_places_that_can_be_read_otherwise() -> None:
    """Each row says what varies it: an option, an experiment, or that nothing does."""
    readme = (Path(measures.__file__).parent / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## The 25 places")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if re.match(r"\| \d", line)
    ]
    assert [int(row[0]) for row in rows] == list(range(1, 26))
    experiments = {e.id.removeprefix("reecn_lte-") for e in PAPER.experiments}
    options = {option.name for option in PAPER.options}
    named = re.compile(r"\bfig\d\d(?:-[a-z]+)?|\bx-[a-z0-9]+")
    for number, what, here, varies in rows:
        assert what
        assert here
        assert named.search(varies) or "`" in varies or "not varied" in varies, number
    said = "\n".join(row[3] for row in rows)
    assert set(re.findall(r"`(\w+)`", said)) <= options
    assert set(named.findall(said)) <= experiments
