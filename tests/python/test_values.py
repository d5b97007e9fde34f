"""Values by label and seed, their comparisons, the notes that quote them, and the panels that show them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenflow.claims import Verdict, judge_claim
from evenflow.errors import EvenflowError
from evenflow.experiments import Experiments, grid, thin
from evenflow.figures import Arrow, Box, Figures, Looks, Mark, bars, curves, diagram, dots, drawn, scatter
from evenflow.figures import table as text_table
from evenflow.judge import choices
from evenflow.judge.values import Shown, filled, worded
from evenflow.kit import Claims, ClaimsError
from evenflow.record import Record
from evenflow.run.table import noticing_gaps
from evenflow.scenario import Scenario
from evenflow.show.drawing import draw
from evenflow.stats import Interval
from evenflow.study import Curve, Point, Run, Table
from evenflow.values import (
    Metric,
    Values,
    between,
    computed,
    each,
    given,
    joined,
    listed,
    most,
    of_runs,
    pooled,
    ratio_of_means,
    together,
)

V = Metric("v", "value (1)")
WORDS = {"x": lambda v: f"X = {v:g}", "x:name": lambda v: f"x{v:g}", "s": str}


def table(points: Sequence[tuple[Mapping[str, Any], float]], left_out: Sequence[Mapping[str, Any]] = ()) -> Table:
    """Points with their mean, each with three seeds one apart."""
    runs = [
        Run(number, labels, seed, Record(json.dumps({"v": mean + seed - 2}), ""))
        for number, (labels, mean) in enumerate(points)
        for seed in (1, 2, 3)
    ]
    return Table(runs, left_out=left_out)


TWO = table([({"s": s, "x": x}, (10 if s == "a" else 1) * x) for s in "ab" for x in (1, 2, 4)])
SHOWN = Shown("k", {"k-one": TWO, "k-other": table([({"x": x}, 2.0 * x) for x in (2, 4)])}, "one")


def means(values: Values, shown: Shown = SHOWN) -> list[tuple[dict[str, Any], float]]:
    return [(dict(labels), float(np.mean(it))) for labels, it in values.cells(shown)]  # type: ignore[arg-type]


def test_a_run_computes_a_value_once_for_each_choice_of_options() -> None:
    asked: list[tuple[int, str]] = []

    def measure(run: Run, options: str) -> float:
        asked.append((run.seed, options))
        return float(len(options))

    first, second = Metric(measure), Metric(measure, per=2.0)
    shown = Shown("k", {"k-one": table([({"x": 1}, 1.0)])}, "one", "short")
    assert means(first(), shown) == [({"x": 1}, 5.0)]
    assert means(second(), shown) == [({"x": 1}, 2.5)]
    assert means(first(), replace(shown, options="longer")) == [({"x": 1}, 6.0)]
    assert asked == [(seed, options) for options in ("short", "longer") for seed in (1, 2, 3)]


def test_one_value_selects_and_is_gone_a_list_or_a_condition_stays() -> None:
    assert means(V(s="a")) == [({"x": 1}, 10), ({"x": 2}, 20), ({"x": 4}, 40)]
    assert means(V(s=["b"], x=[1, 4])) == [({"s": "b", "x": 1}, 1), ({"s": "b", "x": 4}, 4)]
    assert means(V(s="b", x=between(2))) == [({"x": 2}, 2), ({"x": 4}, 4)]
    assert means(V(s="b").where(lambda x: x % 4 == 0)) == [({"x": 4}, 4)]
    assert means(V(s="b", x=2).labelled(who="me")) == [({"who": "me"}, 2)]


def test_the_ends_of_curves() -> None:
    assert means(V(s="a").last_less_first("x")) == [({"before": 1, "after": 4}, 30)]
    assert means(V(s="a").last_over_first("x").map(np.round)) == [({"before": 1, "after": 4}, 4)]


def test_several_curves_at_once() -> None:
    assert means(V().ends("x", lambda first, last: first + last)) == [
        ({"s": "a", "before": 1, "after": 4}, 50),
        ({"s": "b", "before": 1, "after": 4}, 5),
    ]
    both = together(lambda a, b: (a - b).max(axis=0), V(s="a"), V(s="b"), along="x")
    assert means(both) == [({}, 36)]


def test_values_that_an_option_gives() -> None:
    chosen = Shown("k", SHOWN.data, "one", 3)
    assert means(given(lambda o: o == 3, V(s="a", x=1)), chosen) == [({}, 10)]
    assert means(given(lambda o: o == 3, 2.0), chosen) == [({}, 2)]
    assert means(given(lambda o: o == 4, V(s="a")), chosen) == []


def test_arithmetic_pairs_by_labels_and_by_seed() -> None:
    ratio = (V(s="a") / V(s="b")).cells(SHOWN)
    assert [labels for labels, _ in ratio] == [{"x": 1}, {"x": 2}, {"x": 4}]
    assert np.asarray(ratio[1][1]).tolist() == [19 / 1, 20 / 2, 21 / 3]
    assert means(V(s="a", x=[2, 4]) - V("other")) == [({"x": 2}, 16), ({"x": 4}, 32)]
    assert means(1 - 2 * V(s="b", x=1) + 3) == [({}, 2)]
    assert means(V(s="b").map(lambda v, x: v / x)) == [({"x": 1}, 1), ({"x": 2}, 1), ({"x": 4}, 1)]
    ((_, interval),) = ratio_of_means(V(s="a", x=1), V(s="b", x=1)).cells(SHOWN)
    assert isinstance(interval, Interval)
    assert interval.mean == 10


def test_a_missing_partner_is_a_gap_or_an_error() -> None:
    with pytest.raises(KeyError, match="no point matches"):
        (V(s="a") - V("other")).cells(SHOWN)
    with pytest.raises(KeyError, match="3 points match"):
        (V("other") - V(s="a").unlabelled("x")).cells(SHOWN)
    thinner = Shown("k", {**SHOWN.data, "k-other": table([({"x": 2}, 4.0)], [{"x": 1}, {"x": 4}])}, "one")
    with noticing_gaps() as gaps:
        assert means(V(s="a", x=[1, 2]) - V("other"), thinner) == [({"x": 2}, 16)]
    assert gaps


def test_a_thinner_grid_is_noticed_where_it_is_asked_for() -> None:
    shown = Shown("k", {"k-one": table([({"s": "a", "x": 1}, 1.0)], [{"s": "a", "x": 2}, {"s": "b", "x": 1}])}, "one")
    for values, gap in ((V(s="a"), True), (V(s="a", x=between(2)), True), (V(s="a", x=1), False), (V(x=[1]), True)):
        with noticing_gaps() as gaps:
            values.cells(shown)
        assert bool(gaps) is gap


def test_curves() -> None:
    assert means(V(s="b").steps("x")) == [({"before": 1, "after": 2}, 1), ({"before": 2, "after": 4}, 2)]
    assert [labels for labels, _ in V().peak("x").cells(SHOWN)] == [{"s": "a", "x": 4}, {"s": "b", "x": 4}]
    assert [labels["x"] for labels, _ in V().trough("x").cells(SHOWN)] == [1, 1]
    assert means(V(s="b").reduce("x", lambda grid, curve: curve.sum(axis=0) + grid[0])) == [({}, 8)]
    ((labels, ratio),) = V(s="b").last_over_first("x").cells(SHOWN)
    assert (labels, np.asarray(ratio).tolist()) == ({"before": 1, "after": 4}, [math.inf, 4, 2.5])
    both = joined(V(s="a", x=1).labelled(n=2), V(s="b", x=1).labelled(n=1)).steps("n")
    assert means(both) == [({"before": 1, "after": 2}, 9)]


def test_values_that_are_no_metric() -> None:
    assert computed(lambda n: n * 2.0, n=(1, 2)).cells(SHOWN) == [({"n": 1}, 2.0), ({"n": 2}, 4.0)]
    assert of_runs(lambda runs: float(len(runs)), s="a", x=1).cells(SHOWN) == [({}, 3.0)]
    assert pooled(lambda runs: float(len(runs)), s="a").cells(SHOWN) == [({}, 9.0)]
    assert means(V(s="a").at_points_of(V("other"))) == [({"x": 2}, 20), ({"x": 4}, 40)]
    options = Metric(lambda run, o: run.metric("v") * o)
    assert means(options(s="b", x=4), Shown("k", SHOWN.data, "one", 3)) == [({}, 12)]


def test_labels_in_words() -> None:
    labels = {"x": 2.5, "n": 3, "before": 1.0}
    assert worded("{x}, {n}, {before} {x:name} {x:.2f}", labels, WORDS) == "X = 2.5, n = 3, 1 x2.5 2.50"
    assert worded("{before:x} {n:x}", labels, {"x": lambda v: f"X{v:g}"} | {"n:x": lambda v: "three"}) == "X1 three"


def test_a_sentence_without_its_values_is_left_out() -> None:
    values = {"a": V(s="a"), "none": V(s="c"), "runs": listed("{value:runs} at {x}", V(s="b", x=[1, 2]), ", ")}
    parts = ["It is {a}.", "Not {none}.", "Runs: {runs}.", "Most {a:max}.", "{n} of them."]
    assert filled(parts, values, SHOWN, WORDS, {"n": 0}) == (
        "It is 10 to 40. Runs: 0 to 2 at X = 1, 1 to 3 at X = 2. Most 40."
    )
    with pytest.raises(KeyError, match="k-gone"):
        filled(["{gone}"], {"gone": V("gone")}, SHOWN, WORDS)


CLAIMS = """
[c1]
source = "here"
statement = "It is so."
expected = "1"
judged = "each"
on = ["one"]
note = "{missed} of {points} miss ({misses}); the others are {means}; {x1}; {extra}."
[c1.literal]
tolerance = "exact"
accepted = { x1 = { about = 1, by = 5 }, x4 = { about = 1, by = 0.5 } }
"""


def claims_of(folder: Path, text: str = CLAIMS) -> Claims:
    (folder / "claims.toml").write_text(text, encoding="utf-8")
    return Claims("k", folder, words=WORDS)


def test_a_claim_compares_and_its_note_quotes(tmp_path: Path) -> None:
    claim = claims_of(tmp_path)
    claim("c1", each("{x:name}", "{x}: v", V(s="b", x=[1, 4])), extra=V(s="a", x=1))
    (built,) = claim.build()
    entry = judge_claim(built, SHOWN.data, scale="paper", paper_runs=3)
    assert not entry.broken
    assert [o.check.label for o in entry.literal.outcomes] == ["X = 1: v", "X = 4: v"]
    assert entry.literal.verdict is not Verdict.HOLDS
    assert entry.literal.why.startswith("1 of 2 miss (X = 4: v 4); the others are 1 to 4; 1; 10.")


def test_a_note_of_another_claim(tmp_path: Path) -> None:
    again = CLAIMS.replace("[c1", "[c2").replace(CLAIMS.splitlines()[7], 'note_of = "c1"')
    claim = claims_of(tmp_path, CLAIMS + again)
    claim("c1", each("{x:name}", "{x}: v", V(s="b", x=[1, 4])), extra=V(s="a", x=1))
    claim("c2", each("{x:name}", "{x}: v", V(s="b", x=[1, 4]) + 1))
    _, built = claim.build()
    why = judge_claim(built, SHOWN.data, scale="paper", paper_runs=3).literal.why
    assert why.startswith("1 of 2 miss (X = 4: v 5); the others are 2 to 5; 2; 10.")
    wrong = claims_of(tmp_path, CLAIMS + again.replace('note_of = "c1"', 'note_of = "c3"'))
    with pytest.raises(ClaimsError, match=r"c2\.note_of: another claim with a note"):
        wrong.build()


@pytest.mark.parametrize(
    ("comparison", "values", "said"),
    [
        (each("x5", "v", V()), {"extra": 1.0}, "no accepted set is called “x5”"),
        (each("x1", "v", V()), {"extra": 1.0}, "nothing is compared with the set “x4”"),
        (each("{x:name}", "v", V()), {}, "there is no value “extra”"),
    ],
)
def test_file_and_code_that_do_not_fit(tmp_path: Path, comparison: Any, values: Any, said: str) -> None:
    claim = claims_of(tmp_path)
    claim("c1", comparison, **values)
    with pytest.raises(ClaimsError, match=said):
        claim.build()


def test_most_of_the_points(tmp_path: Path) -> None:
    def written(sets: str) -> Claims:
        text = CLAIMS.replace(CLAIMS.splitlines()[-1], f"accepted = {{ {sets} }}").replace("; {x1}; {extra}", "")
        claim = claims_of(tmp_path, text)
        claim("c1", most("step", "rises, {s}", "{before}", V().steps("x"), by=["s"]))
        return claim

    with pytest.raises(ClaimsError, match="no accepted set is called “share”"):
        written("step = { min = 0 }").build()
    assert len(written("step = { min = 0 }, share = { min = 0.5 }").build()) == 1


def test_most_of_no_points_decides_nothing(tmp_path: Path) -> None:
    text = CLAIMS.replace(CLAIMS.splitlines()[-1], "accepted = { step = { min = 0 }, share = { min = 0.5 } }")
    claim = claims_of(tmp_path, text.replace("; {x1}; {extra}", ""))
    claim("c1", most("step", "rises", "{before}", V(s="c").steps("x")))
    (built,) = claim.build()
    judgement = judge_claim(built, SHOWN.data, scale="paper", paper_runs=3).literal
    assert [o.check.label for o in judgement.outcomes] == ["rises"]
    assert judgement.verdict is Verdict.UNDECIDED


def test_experiments() -> None:
    def make(o: float, x: float) -> Scenario:
        return Scenario({"duration": f"{o + x:g} s", "links": {"l": {"rate": "1 Mbit/s"}}})

    experiment = Experiments("k", runs=(5, 2))
    experiment("one", "One", grid(make, "x", x=thin((1, 2), (1,)), s=["a", "b"]), columns={"v": V, "n": len})
    (one,) = experiment.build(10.0)
    points = one.points("paper")
    assert [dict(p.labels) for p in points] == [{"x": x, "s": s} for s in "ab" for x in (1, 2)]
    assert [p.scenario.tree["duration"] for p in points] == ["11 s", "12 s", "11 s", "12 s"]
    assert isinstance(points[0], Point)
    assert [list(one.seeds(scale)) for scale in ("paper", "quick")] == [[1, 2, 3, 4, 5], [1, 2]]
    assert len(one.points("quick")) == 2
    assert one.data is not None
    assert one.data(TWO).columns == ["s", "x", "runs", "v", "v_lo", "v_hi", "n"]


def test_a_paper_whose_file_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "choices.toml").write_text('[paper]\ntitel = "T"\n[option.a]\nvalues = ["1"]\n[other.b]\n')
    with pytest.raises(EvenflowError) as error:
        choices.assembled(Experiments("k"), claims_of(tmp_path))
    for part in ("paper: title is missing", "Did you mean “title”?", "option.a: why is missing", "other: there is no"):
        assert part in str(error.value)


def test_a_deviation_names_its_sensitivity_or_an_option(tmp_path: Path) -> None:
    head = '[paper]\ntitle = "T"\nreference = "R"\nsummary = "S"\n[deviation.one]\n'
    about = 'subject = "s"\npaper_says = "p"\nwe_do = "w"\nalternatives = "a"\n'
    (tmp_path / "claims.toml").write_text("")
    (tmp_path / "history.toml").write_text("")
    (tmp_path / "choices.toml").write_text(head + about)
    with pytest.raises(EvenflowError, match=r"deviation.one: sensitivity is missing, or the option"):
        choices.assembled(Experiments("k"), Claims("k", tmp_path))
    (tmp_path / "choices.toml").write_text(head + about + 'option = "tcp"\n')
    (found,) = choices.assembled(Experiments("k"), Claims("k", tmp_path)).deviations
    assert "the option “tcp”" in found.said({})
    (tmp_path / "choices.toml").write_text(head + about + 'option = ["tcp", "red"]\nsensitivity = "And more."\n')
    (found,) = choices.assembled(Experiments("k"), Claims("k", tmp_path)).deviations
    assert found.said({}).startswith("Varied by the options “tcp” and “red”")
    assert found.said({}).endswith(" And more.")


figure = Figures(WORDS, {"x": "axis (1)"})


def test_a_panel_of_curves() -> None:
    made = figure(
        curves(V(), x="x", log="xy", least=0.5, marks=[Mark(y=1, words="one"), Mark(x=(1, 2)), Mark()]),
        curves(V(s=["a"]), x="x", levels=(V(s=["b"], x=1),), y="other"),
        looks=Looks("s", legend="{s}"),
    )(SHOWN)
    first, second = made.panels
    assert [(line.words, line.colour) for line in first.lines] == [("a", 0), ("b", 1)]
    assert first.lines[1].y.tolist() == [1, 2, 4]
    assert first.lines[1].lo.min() == 0.5
    assert (first.x.title, first.y.title, first.title, second.y.title) == ("axis (1)", "value (1)", "a", "other")
    a, b = draw(made).axes
    assert (a.get_xscale(), a.get_yscale(), b.get_yscale()) == ("log", "log", "linear")
    assert b.get_ylim()[0] == 0
    assert 0.1 < a.get_ylim()[0] <= 0.5


@pytest.mark.slow("draws figures")
def test_a_figure_repeats_its_panels_by_label() -> None:
    shown = Shown(
        "k", {"k-one": table([({"s": s, "x": x, "n": n}, x * n) for n in (9, 3) for s in "ab" for x in (0, 2)])}
    )
    shown = Shown("k", shown.data, "one")
    spec = curves(V(), V(s=["b"], n=3).labelled(s="all"), x="x", log="x", linear=1.0, levels=(V(x=2),))
    picture = figure(spec, by=("n",), columns=2, width=5.0, looks=Looks(("s", "x"), legend="{s}"))(shown)
    assert [panel.title for panel in picture.panels] == ["a   n = 9", "b   n = 3"]
    for panel, last in zip(picture.panels, (18, 6), strict=True):
        assert [(line.words, line.colour, line.y[-1]) for line in panel.lines] == [
            ("a", 0, last),
            ("b", 1, last),
            ("all", 2, 6),
        ]
        assert [(line.words, line.colour, line.y[0]) for line in panel.levels] == [("a", 0, last), ("b", 1, last)]
    assert picture.size == (10.0, 3.6)
    assert {ax.get_xscale() for ax in draw(picture).axes} == {"symlog"}
    sparse = Shown(
        "k", {"k-one": table([({"n": 1, "s": "b"}, 1.0), ({"n": 2, "s": "a"}, 1.0), ({"n": 2, "s": "b"}, 2.0)])}
    )
    first, second = figure(dots(V("one"), row="{s}"), by=("n",), looks=Looks("s", legend="{s}"))(sparse).panels
    assert first.lines[0].colour == second.lines[1].colour


def test_dots_with_what_is_printed() -> None:
    spec = dots(
        V(),
        row="{x}",
        looks=Looks("s", legend="{s}"),
        printed=lambda x: 2.0 * x if x > 1 else None,
        accepted=lambda x: (x - 1.0, x + 1.0),
    )
    (panel,) = figure(spec, height=0)(SHOWN).panels
    assert panel.categories == ["X = 1", "X = 2", "X = 4"]
    assert [line.words for line in panel.lines] == ["a", "b"]
    one = panel.lines[0]
    assert one.printed is not None
    assert np.isnan(one.printed[0])
    assert one.printed[1:].tolist() == [4, 8]
    (ax,) = draw(figure(spec, height=0)(SHOWN)).axes
    assert len(ax.patches) == 6
    assert "as printed" in {text.get_text() for text in draw(figure(spec)(SHOWN)).legends[0].get_texts()}


@pytest.mark.slow("draws figures")
def test_other_panels() -> None:
    x = np.arange(3.0)
    run = [Curve(x, x + k, x, x + 2, np.ones(3, dtype=np.int64)) for k in range(3)]
    made = figure(
        drawn(of_runs(lambda runs: run, s="a", x=1), x_title="time (s)", steps=True),
        bars(V(s="a"), x="x"),
        diagram([Box(0, 0, "one"), Box(2, 0, "two", frame=False)], [Arrow((0, 0), (2, 0), "to")]),
        text_table(lambda shown: [["a", "b"], ["1", "2"]]),
    )(SHOWN)
    assert len(made.panels[0].lines[0].each) == 2
    steps, bar, boxes, cells = draw(made).axes
    assert len(steps.get_lines()) == 3
    assert len(bar.patches) == 3
    assert {text.get_text() for text in boxes.texts} >= {"one", "two", "to"}
    assert len(cells.tables) == 1


def test_a_scatter_plot() -> None:
    spec = scatter(V(s=["a", "b"]), V(s=["a", "b"]) * 2, looks=Looks("s", legend="{s}"), y="twice")
    (panel,) = figure(spec)(SHOWN).panels
    assert [line.words for line in panel.lines] == ["a", "b"]
    assert panel.lines[1].x.tolist() == [1, 2, 4]
    assert panel.lines[1].y.tolist() == [2, 4, 8]
    assert panel.lines[1].x_lo is not None
    assert (panel.x.title, panel.y.title) == ("value (1)", "twice")
    assert draw(figure(spec)(SHOWN)).axes[0].get_xlabel() == "value (1)"


def test_columns_and_labels_that_depend_on_options() -> None:
    def make(o: int, x: float) -> Scenario:
        return Scenario({"duration": f"{o + x:g} s"})

    def several(runs: list[Run], o: int) -> dict[str, Any]:
        return {"twice": np.array([o * V.of(run) for run in runs])}

    def any_labels(o: int, **labels: float) -> Scenario:
        return Scenario({"duration": f"{labels['x'] + labels['y']:g} s"})

    experiment = Experiments("k")
    (point,) = grid(any_labels, x=1, y=2).points(3, "paper")
    assert point.scenario.tree["duration"] == "3 s"
    experiment("one", "One", grid(make, x=lambda o: [o, 2 * o]), columns=several)
    one_number = {"o": lambda runs, o: float(o), "n": lambda runs, o=7: float(o)}
    experiment("zero", "Zero", grid(make, x=1), caption=lambda o: f"Of {o}.")
    experiment("two", "Two", grid(make, x=1), columns=one_number, view=lambda shown: shown.table("").runs[0])
    experiment("three", "Three", grid(make, x=1), data=lambda shown: shown.table("").frame())
    zero, one, two, three = sorted(experiment.build(3), key=lambda it: it.title != "Zero")
    assert zero.caption == "Of 3."
    assert [point.labels["x"] for point in one.points("paper")] == [3, 6]
    assert one.data is not None
    assert one.data(TWO)["twice"].to_list() == [30, 60, 120, 3, 6, 12]
    assert two.data is not None
    assert set(two.data(TWO)["o"]) == {3.0}
    assert set(two.data(TWO)["n"]) == {7.0}
    assert two.view is not None
    assert two.view(TWO) is TWO.runs[0]
    assert three.data is not None
    assert three.data(TWO).height == len(TWO)
