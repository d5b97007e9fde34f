"""[sweep]: what becomes of it, and what is said about a wrong one (on the stand-in core)."""

from __future__ import annotations

import re
import tomllib
from types import ModuleType
from typing import Any

import pytest
from conftest import FAKE
from evenflow.errors import ScenarioError
from evenflow.scenario import Scenario
from evenflow.study import Study
from evenflow.sweep import Expansion, expand

pytestmark = pytest.mark.usefixtures("fake")


def scenario(sweep: str = "") -> Scenario:
    return Scenario(tomllib.loads(FAKE + sweep), source="s.toml")


def found(sweep: str, **pins: Any) -> Expansion:
    return expand(scenario(sweep), {path.replace("__", "."): value for path, value in pins.items()})


def labels(sweep: str, **pins: Any) -> list[dict[str, Any]]:
    done = found(sweep, **pins)
    assert done.errors == []
    return [dict(point.labels) for point in done.points]


def errors(sweep: str) -> dict[str, str]:
    return dict(found(sweep).errors)


def test_no_sweep_is_one_point_and_ten_replications() -> None:
    study = Study.from_scenario(scenario())
    assert [dict(p.labels) for p in study.points] == [{}]
    assert list(study.seeds) == list(range(1, 11))


def test_lists_multiply_the_first_slowest() -> None:
    made = labels('[sweep]\nspread = [1, 2]\n"links.bottleneck.delay" = ["5 ms", "50 ms"]\n')
    assert made == [{"spread": s, "links.bottleneck.delay": d} for s in (1, 2) for d in ("5 ms", "50 ms")]


def test_dotted_paths_may_be_quoted_or_not() -> None:
    quoted = found('[sweep]\n"links.bottleneck.delay" = ["1 ms", "2 ms"]\n')
    plain = found('[sweep]\nlinks.bottleneck.delay = ["1 ms", "2 ms"]\n')
    half = found('[sweep]\nlinks."bottleneck.delay" = ["1 ms", "2 ms"]\n')
    assert quoted.points == plain.points == half.points
    assert quoted.points[1].scenario.get("links.bottleneck.delay") == "2 ms"


def test_together_moves_in_step() -> None:
    made = labels('[[sweep.together]]\nspread = [1, 2]\nlinks.bottleneck.delay = ["5 ms", "6 ms"]\n')
    assert made == [
        {"spread": 1, "links.bottleneck.delay": "5 ms"},
        {"spread": 2, "links.bottleneck.delay": "6 ms"},
    ]


def test_two_together_tables_multiply() -> None:
    made = labels("[[sweep.together]]\nspread = [1, 2]\n[[sweep.together]]\nsleep = [0, 1]\n")
    assert len(made) == 4


def test_cases_override_and_a_table_replaces_the_whole_table() -> None:
    done = found('[sweep.cases.scheme]\n"fast" = { "links.bottleneck" = { rate = "1" } }\n"as is" = {}\n')
    assert [dict(p.labels) for p in done.points] == [{"scheme": "fast"}, {"scheme": "as is"}]
    assert done.points[0].scenario.get("links.bottleneck") == {"rate": "1"}
    assert done.points[1].scenario.get("links.bottleneck") == {"delay": "5 ms"}


def test_a_grid_refines_what_a_case_put_in_place() -> None:
    done = found(
        '[sweep]\nlinks.bottleneck.delay = ["7 ms"]\n[sweep.cases.c]\n"x" = { "links.bottleneck" = { rate = "1" } }\n'
    )
    assert done.points[0].scenario.get("links.bottleneck") == {"rate": "1", "delay": "7 ms"}


def test_a_pin_takes_a_swept_path_out() -> None:
    sweep = '[sweep]\nspread = [1, 2]\nlinks.bottleneck.delay = ["5 ms", "50 ms"]\n'
    assert labels(sweep, spread=1) == [{"links.bottleneck.delay": d} for d in ("5 ms", "50 ms")]


def test_a_pin_wins_over_a_case_that_replaces_its_table() -> None:
    done = found('[sweep.cases.c]\n"x" = { "links.bottleneck" = { rate = "1" } }\n', links__bottleneck__delay="9 ms")
    assert done.points[0].scenario.get("links.bottleneck.delay") == "9 ms"


def test_a_pin_above_a_swept_path_does_not_undo_the_sweep() -> None:
    base = scenario('[sweep]\nlinks.bottleneck.delay = ["1 ms", "2 ms"]\n')
    pins = {"links.bottleneck": {"delay": "9 ms", "rate": "1"}}
    done = expand(base.with_settings(pins), pins)
    assert [p.scenario.get("links.bottleneck.delay") for p in done.points] == ["1 ms", "2 ms"]


def test_replications_come_from_argument_then_file() -> None:
    with_file = scenario("[sweep]\nreplications = 3\n")
    assert list(Study.from_scenario(with_file).seeds) == [1, 2, 3]
    assert list(Study.from_scenario(with_file, 2).seeds) == [1, 2]


def test_a_path_that_does_not_exist_names_the_nearest() -> None:
    said = errors('[sweep]\n"links.botleneck.delay" = ["5 ms"]\n')
    assert list(said) == ['sweep."links.botleneck.delay"']
    assert "links.bottleneck" in said['sweep."links.botleneck.delay"']


def test_every_wrong_value_is_shown_at_its_place_in_the_sweep() -> None:
    said = errors('[sweep]\nlinks.bottleneck.delay = ["-5 ms", "5 ms", 3]\n')
    assert set(said) == {"sweep.links.bottleneck.delay[0]", "sweep.links.bottleneck.delay[2]"}


def test_a_wrong_case_is_shown_at_its_case() -> None:
    said = errors('[sweep.cases.c]\n"bad one" = { "links.bottleneck" = { delay = "-1 s" } }\n')
    assert list(said) == ['sweep.cases.c."bad one"."links.bottleneck".delay']


def test_unequal_steps_are_an_error() -> None:
    said = errors('[[sweep.together]]\nspread = [1, 2]\nlinks.bottleneck.delay = ["5 ms"]\n')
    assert "spread has 2" in said["sweep.together[0]"]


@pytest.mark.parametrize(
    ("sweep", "place", "word"),
    [
        ("[sweep]\nspread = 3\n", "sweep.spread", "list"),
        ("[sweep]\nspread = []\n", "sweep.spread", "empty"),
        ("[sweep]\nspread = [1, 1]\n", "sweep.spread[1]", "twice"),
        ("[sweep]\nreplications = 0\n", "sweep.replications", "at least 1"),
        ("[sweep]\nreplications = 1.5\n", "sweep.replications", "whole"),
        ("[sweep]\nreplications = true\n", "sweep.replications", "whole"),
        ("[sweep]\ncases = 3\n", "sweep.cases", "tables"),
        ("[sweep.cases]\nc = {}\n", "sweep.cases.c", "named cases"),
        ("[sweep.cases.c]\nx = 3\n", "sweep.cases.c.x", "table"),
        ("[sweep]\ntogether = { spread = [1] }\n", "sweep.together", "[[sweep.together]]"),
        ("[sweep]\n'a..b' = [1]\n", "sweep", "dotted path"),
    ],
)
def test_wrong_sweeps(sweep: str, place: str, word: str) -> None:
    assert word in errors(sweep)[place]


def test_the_same_path_twice_is_an_error() -> None:
    said = errors("[sweep]\nspread = [1]\n[[sweep.together]]\nspread = [2]\n")
    assert "already swept" in " ".join(said.values())


def test_all_errors_come_at_once() -> None:
    sweep = '[sweep]\nreplications = 0\nspread = 3\n"links.nosuch.delay" = ["1 s"]\n[sweep.cases.c]\nx = 1\n'
    with pytest.raises(ScenarioError) as caught:
        Study.from_scenario(scenario(sweep))
    assert len(caught.value.errors) == 4


def test_too_many_points_are_refused_before_they_are_made() -> None:
    many = ", ".join(map(str, range(400)))
    said = errors(f"[sweep]\nspread = [{many}]\nsleep = [{many}]\n")
    assert "160,000 points" in said["sweep"]


def test_as_many_points_as_there_may_be_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenflow.scenario.sweep.MOST_POINTS", 3)
    assert len(labels("[sweep]\nspread = [1, 2, 3]\n")) == 3
    assert list(errors("[sweep]\nspread = [1, 2, 3, 4]\n")) == ["sweep.spread"]


def test_equal_scenarios_are_shown_at_the_first_list_of_a_row() -> None:
    """Of lists that move in step the place is that in the first of them."""
    said = errors('[[sweep.together]]\nsleep = [0.5, 0.5]\n"links.bottleneck.delay" = ["5 ms", "5 ms"]\n')
    assert list(said) == ["sweep.together[0].sleep[1]"]
    assert said["sweep.together[0].sleep[1]"] == "0.5, 5 ms and 0.5, 5 ms are the same scenario: one point twice."


def test_a_value_that_finds_no_place_makes_no_point() -> None:
    done = found('[sweep.cases.c]\ngood = { spread = 1 }\nbad = { "title.x" = 1 }\n')
    assert [place for place, _ in done.errors] == ['sweep.cases.c.bad."title.x"']
    assert [dict(point.labels) for point in done.points] == [{"c": "good"}]


def test_run_validates_the_sweep_and_ignores_it(fake: ModuleType) -> None:
    good = scenario("[sweep]\nspread = [1, 2]\n")
    good.check()
    assert good.hash == scenario().hash
    with pytest.raises(ScenarioError):
        scenario("[sweep]\nspread = 3\n").check()


def test_check_says_the_file_s_own_errors_once() -> None:
    broken = Scenario({**tomllib.loads(FAKE), "typo": 1, "sweep": {"spread": [1, 2, 3]}})
    with pytest.raises(ScenarioError) as caught:
        broken.check()
    assert caught.value.errors == [("typo", "unknown key.")]


@pytest.mark.parametrize(
    "sweep",
    [
        """"links.bottleneck.delay" = ["1 ms", "2 ms"]
        "links.bottleneck" = [{ rate = "1 Mbit/s", delay = "3 ms" }]""",
        """"links.bottleneck" = [{ rate = "1 Mbit/s", delay = "3 ms" }]
        links.bottleneck.delay = ["1 ms", "2 ms"]""",
        """"links.bottleneck" = [{ rate = "1 Mbit/s", delay = "3 ms" }]
        [[sweep.together]]
        "links.bottleneck.delay" = ["1 ms", "2 ms"]""",
        """[[sweep.together]]
        "links.bottleneck" = [{ rate = "1 Mbit/s", delay = "3 ms" }]
        "links.bottleneck.delay" = ["1 ms"]""",
    ],
)
def test_a_table_and_a_part_of_it_are_not_swept_both(sweep: str) -> None:
    [(place, said)] = found(f"[sweep]\n{sweep}").errors
    both = {'sweep."links.bottleneck"', 'sweep."links.bottleneck.delay"', "sweep.links.bottleneck.delay"}
    both |= {f'sweep.together[0]."{name}"' for name in ("links.bottleneck", "links.bottleneck.delay")}
    assert place in both
    other = re.match(r"overlaps with (.*): links.bottleneck.delay is a part of links.bottleneck, ", said)
    assert other is not None
    assert other[1] in both - {place}


def test_a_part_of_a_swept_table_is_not_pinned() -> None:
    sweep = '[sweep]\n"links.bottleneck" = [{ rate = "1 Mbit/s", delay = "3 ms" }]'
    [(place, said)] = found(sweep, links__bottleneck__delay="9 ms").errors
    assert place == 'sweep."links.bottleneck"'
    assert said.startswith("overlaps with --set links.bottleneck.delay: ")
    assert not found(sweep, links__bottleneck={"rate": "1 Mbit/s", "delay": "3 ms"}).errors
