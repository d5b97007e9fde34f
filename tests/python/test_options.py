"""A paper's open choices: chosen by name, refused by name, and varied one at a time."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from conftest import FAKE, Cli, announce
from evenflow import UsageError
from evenflow.claims import Check, Claim, Scale
from evenflow.paper import Experiment, Option, Paper, Parts
from evenflow.scenario import Scenario
from evenflow.study import Point

HEAVY = "groups.heavy.throughput_bps"


def build(chosen: Mapping[str, str]) -> Parts:
    delay, least = chosen.get("delay", "5"), float(chosen.get("least", "0"))
    base = Scenario(tomllib.loads(FAKE))

    def points(_: Scale) -> list[Point]:
        return [Point({"x": 1}, base.set("links.bottleneck.delay", f"{delay} ms"))]

    def other(_: Scale) -> list[Point]:
        return [Point({"x": 1}, base)]

    def claim(number: int, name: str, lo: float, hi: float) -> Claim:
        return Claim(
            id=f"open-c{number}",
            source="",
            statement="",
            expected="",
            tolerance="",
            experiments=(name,),
            literal=lambda data: [Check("", data[name].values(HEAVY, x=1) / 1e6, lo, hi)],
        )

    return (
        (
            Experiment("open-one", "", points, lambda _: range(1, 4)),
            Experiment("open-two", "", other, lambda _: [1, 2]),
        ),
        (claim(1, "open-one", least, 100), claim(2, "open-two", 0, 100)),
    )


OPTIONS = (
    Option("delay", ("5", "50"), "delay of the link, ms", "the caption says so"),
    Option("least", ("0", "90"), "what is accepted", "nothing else is known"),
)
PAPER = Paper("open", "An open paper", "nobody", *build({}), runs=3, options=OPTIONS, build=build)


@pytest.fixture
def paper(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, PAPER)


def test_the_default_chosen_by_hand_is_the_paper_as_it_is() -> None:
    assert PAPER.with_options({"delay": "5"}) is PAPER
    other = PAPER.with_options({"delay": "50", "least": "0"})
    assert other.chosen == {"delay": "50"}
    assert other.folder == "open-delay=50"
    assert other.experiments[0].points("paper")[0].scenario.get("links.bottleneck.delay") == "50 ms"
    assert other.with_options({"delay": "5"}).chosen == {}


def test_all_wrong_options_are_named_at_once() -> None:
    with pytest.raises(UsageError) as error:
        PAPER.with_options({"delai": "5", "least": "9"})
    assert "“delay”" in str(error.value)
    assert "“9”" in str(error.value)


@pytest.mark.usefixtures("paper")
class TestCommand:
    def test_a_choice_has_a_folder_of_its_own(self, cli: Cli, tmp_path: Path) -> None:
        done = cli("reproduce", "open", "--option", "delay=50")
        assert done.code == 0, done.err
        assert "Options: delay = 50." in done.out
        document = json.loads(Path("out/open-delay=50/ledger.json").read_text())
        assert document["options"] == {"delay": "50"}
        assert "--option delay=50" in Path("out/open-delay=50/report.html").read_text()

    def test_sensitivity_says_which_verdicts_change_and_runs_only_what_is_touched(self, cli: Cli) -> None:
        document = json.loads(cli("reproduce", "open", "--sensitivity", "--json").out)
        rows = {(row["option"], row["value"]): row for row in document["sensitivity"]}
        assert set(rows) == {("delay", "50"), ("least", "90")}
        assert rows["delay", "50"]["experiments"] == ["open-one"]
        assert rows["least", "90"]["experiments"] == []
        assert [(c["id"], c["before"], c["after"]) for c in rows["least", "90"]["changes"]] == [
            ("open-c1", "holds", "fails")
        ]
        assert "open-c1" in Path("out/open/report.html").read_text().partition('id="sensitivity"')[2]

    def test_an_option_may_ask_for_the_papers_scale(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """At quick scale there are too few runs to decide, at the paper's there are enough: the row says which it "
        "is."""
        one = PAPER.experiments[0]
        few = replace(one, seeds=lambda scale: range(1, 4 if scale == "paper" else 2))
        asked = replace(OPTIONS[1], paper_scale=("one",))

        def thin(chosen: Mapping[str, str]) -> Parts:
            (first, second), found = build(chosen)
            return (replace(first, seeds=few.seeds), second), found

        other = replace(PAPER, experiments=(few, PAPER.experiments[1]), options=(OPTIONS[0], asked), build=thin)
        monkeypatch.setattr(sys.modules["paper_open"], "PAPER", other)
        rows = {
            r["option"]: r for r in json.loads(cli("reproduce", "open", "--sensitivity", "--json").out)["sensitivity"]
        }
        assert (rows["delay"]["scale"], rows["least"]["scale"]) == ("quick", "paper")
        assert [(c["id"], c["before"], c["after"]) for c in rows["least"]["changes"]] == [("open-c1", "holds", "fails")]

    def test_an_option_may_name_the_experiments_it_is_examined_over(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = replace(PAPER, options=(replace(OPTIONS[0], over=("two",)), OPTIONS[1]))
        monkeypatch.setattr(sys.modules["paper_open"], "PAPER", other)
        rows = {
            r["option"]: r for r in json.loads(cli("reproduce", "open", "--sensitivity", "--json").out)["sensitivity"]
        }
        assert (rows["delay"]["over"], rows["delay"]["judged"], rows["delay"]["experiments"]) == (["two"], 1, [])
        assert "over" not in rows["least"]
        assert rows["least"]["judged"] == 2

    def test_sensitivity_of_another_choice_starts_from_that_choice(self, cli: Cli) -> None:
        document = json.loads(cli("reproduce", "open", "--option", "delay=50", "--sensitivity", "--json").out)
        rows = {row["option"]: (row["value"], row["instead_of"]) for row in document["sensitivity"]}
        assert rows == {"delay": ("5", "50"), "least": ("90", "0")}

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            (["--option", "delay"], "write NAME=VALUE"),
            (["--option", "delay=5", "--option", "delay=50"], "given twice"),
            (["--option", "delay=7"], "“7”"),
        ],
    )
    def test_bad_options(self, cli: Cli, more: list[str], said: str) -> None:
        done = cli("reproduce", "open", *more)
        assert done.code == 2
        assert said in done.err

    def test_wrong_experiments_and_options_are_named_at_once(self, cli: Cli) -> None:
        done = cli("reproduce", "open", "oen", "tow", "--option", "delay=7")
        assert done.code == 2
        assert [name in done.err for name in ("“oen”", "“tow”", "“7”")] == [True] * 3

    def test_a_paper_without_options_cannot_be_varied(self, cli: Cli) -> None:
        sys.modules["paper_open"].PAPER = replace(PAPER, options=())  # type: ignore[attr-defined]
        done = cli("reproduce", "open", "--sensitivity")
        assert done.code == 2
        assert "no options" in done.err
