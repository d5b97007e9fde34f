"""Runs of an earlier engine stand for a later one if a sample gives the same numbers."""

from __future__ import annotations

import dataclasses
import json
import lzma
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import Cli, announce
from evenflow import papers
from evenflow.errors import EvenflowError, UsageError
from evenflow.judge.paper import Option
from evenflow.papers import carry
from evenflow.run import store as store_module
from test_reproduce import TINY

OTHER = "b0b0b0b0b0b0b0b0"
THIRD = "c0c0c0c0c0c0c0c0"


@pytest.fixture
def tiny(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "entry_points", lambda group: ())
    announce(monkeypatch, TINY)
    monkeypatch.setattr(fake, "ENGINE_ID", fake.ENGINE_ID)  # put back at the end
    store_module._engine.cache_clear()


def become(fake: ModuleType, engine: str) -> None:
    """This process has another engine from now on."""
    fake.ENGINE_ID = engine
    store_module._engine.cache_clear()


def whole(cli: Cli) -> dict[str, object]:
    done = cli("reproduce", "tiny", "--scale", "paper", "--json")
    assert done.code == 0, done.err
    document: dict[str, object] = json.loads(done.out)
    return document


@pytest.mark.usefixtures("tiny")
class TestCarry:
    def test_equal_runs_stand(self, cli: Cli, fake: ModuleType) -> None:
        maker = fake.ENGINE_ID
        before = whole(cli)
        assert before["carried"] == []
        runs = sum(e["runs"] for e in before["experiments"])  # type: ignore[attr-defined]
        become(fake, OTHER)
        ran = len(fake.calls)
        done = cli("store", "carry", "--from", maker[:6], "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert (found["from"], found["to"], found["of"], found["in_store"]) == (maker, OTHER, runs, runs)
        assert found["repeated"] == len(fake.calls) - ran == 2, "one of each stratum at least"
        assert found["fewer_than"] == pytest.approx(1 - 0.05**0.5)
        # the ledger of before says so, and the next one is made without a run and says so too
        assert f"Revalidated from engine {maker}: 2 of {runs} runs repeated" in cli("claims", "tiny").out
        ran = len(fake.calls)
        again = whole(cli)
        assert len(fake.calls) == ran
        assert again["claims"] == before["claims"]
        assert [c["from"] for c in again["carried"]] == [maker]  # type: ignore[attr-defined]
        assert "Revalidated from engine" in Path("out/tiny/report.html").read_text()
        # a third engine is compared with the maker, not with the second
        become(fake, THIRD)
        assert cli("store", "carry", "--from", OTHER).code == 2
        assert cli("store", "carry", "--from", maker).code == 0
        ran = len(fake.calls)
        whole(cli)
        assert len(fake.calls) == ran

    def test_one_difference_and_nothing_is_carried(
        self, cli: Cli, fake: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        maker = fake.ENGINE_ID
        runs = sum(e["runs"] for e in whole(cli)["experiments"])  # type: ignore[attr-defined]
        become(fake, OTHER)
        honest = fake.record_hash
        calls = []

        def wrong_once(text: str, series: list[tuple[str, bytes, bytes]], version: int | None = None) -> str:
            calls.append(text)
            return "0" * 16 if len(calls) == 3 else honest(text, series, version)

        monkeypatch.setattr(fake, "record_hash", wrong_once)
        done = cli("store", "carry", "--from", maker, "--sample", "100%")
        assert done.code == 1
        assert f"Revalidation failed: 1 of {runs} repeated runs differ from those of engine {maker}" in done.err
        assert "tiny-one, delay_ms = " in done.err
        assert not Path("out/tiny/carried.json").exists()
        ran = len(fake.calls)
        whole(cli)
        assert len(fake.calls) == ran + len(set(fake.calls)), "every run is made again, once"

    def test_what_is_made_again_is_not_carried(
        self, cli: Cli, fake: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = dataclasses.replace(TINY.experiments[1], points=lambda scale: TINY.experiments[1].points(scale)[:1])
        paper = dataclasses.replace(TINY, experiments=(TINY.experiments[0], other))
        monkeypatch.setattr(sys.modules["paper_tiny"], "PAPER", paper)
        maker = fake.ENGINE_ID
        made = {e["id"]: e["runs"] for e in whole(cli)["experiments"]}  # type: ignore[attr-defined]
        become(fake, OTHER)
        wrong = cli("store", "carry", "--from", maker, "--except", "tiny-tow")
        assert (wrong.code, "tiny-two" in wrong.err) == (2, True)
        done = cli("store", "carry", "--from", maker, "--except", "tiny-two", "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        # the runs of tiny-two stand in tiny-one as well: none of them is carried under that name either
        assert (found["of"], found["made_again"]) == (made["tiny-one"] - made["tiny-two"], ["tiny-two"])
        assert "Recomputed by this engine: tiny-two." in cli("claims", "tiny").out
        ran = len(fake.calls)
        whole(cli)
        assert len(fake.calls) - ran == made["tiny-two"]

    def test_a_clone_has_no_store(self, cli: Cli, fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        maker = fake.ENGINE_ID
        whole(cli)
        become(fake, OTHER)
        monkeypatch.setenv("EVENFLOW_STORE", "elsewhere")
        done = cli("store", "carry", "--from", maker)
        assert done.code == 0, done.err
        assert "0 cached runs" in done.out
        assert "Revalidated from engine" in cli("claims", "tiny").out

    def test_bad_input(self, cli: Cli, fake: ModuleType) -> None:
        nothing = cli("store", "carry", "--from", "aaaa")
        assert (nothing.code, "aaaa" in nothing.err) == (2, True)
        whole(cli)
        same = cli("store", "carry", "--from", fake.ENGINE_ID)
        assert same.code == 2
        assert "this engine" in same.err
        for sample in ("0", "2 percent", "-1%", "101%", "nan"):
            assert cli("store", "carry", "--from", fake.ENGINE_ID, "--sample", sample).code == 2
        assert "tiny" in cli("store", "carry", "--from", fake.ENGINE_ID, "tinny").err
        Path("out/tiny/runs.json.xz").write_bytes(b"no archive")
        damaged = cli("store", "carry", "--from", fake.ENGINE_ID)
        assert damaged.code == 1
        assert "is damaged" in damaged.err

    def test_quick_runs_are_not_carried(self, cli: Cli, fake: ModuleType) -> None:
        assert cli("reproduce", "tiny", "--json").code == 0
        assert carry.read_runs(Path("out/tiny/runs.json.xz")) == []


def test_a_choice_has_a_ledger_of_its_own(
    cli: Cli, fake: ModuleType, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of `reproduce --option` are carried under the name of their folder, beside those of the default."""
    load = Option("load", ("low", "high-one"), "How much is sent.", "It is not said.")
    build = lambda _: (TINY.experiments[:1], TINY.claims[:1])  # noqa: E731
    monkeypatch.setattr(sys.modules["paper_tiny"], "PAPER", dataclasses.replace(TINY, options=(load,), build=build))
    maker = fake.ENGINE_ID
    assert cli("reproduce", "tiny", "--scale", "paper", "--option", "load=high-one").code == 0
    become(fake, OTHER)
    assert cli("store", "carry", "--from", maker, "tiny").code == 2, "nothing was run with the default"
    done = cli("store", "carry", "--from", maker, "tiny-load=high-one", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["papers"] == ["tiny-load=high-one"]
    assert "Revalidated from engine" in cli("claims", "tiny", "--option", "load=high-one").out
    assert "high-two" in cli("store", "carry", "--from", maker, "tiny-load=high-two").err


def test_names_of_choices() -> None:
    assert papers.load_with_options("conex-charge=pass-rto=any-ack").folder == "conex-charge=pass"
    assert papers.load_with_options("has-shaping").folder == "has_shaping"
    with pytest.raises(UsageError, match="charge"):
        papers.load_with_options("conex-charg=pass")


def test_strata_and_the_share_of_each() -> None:
    runs = [
        carry.Planned(carry.Kept(name, "{}", seed, "e", 1, "h"), None, (name, kind))  # type: ignore[arg-type]
        for name, kind, count in (("a", "red", 100), ("a", "codel", 1), ("b", "red", 50))
        for seed in range(count)
    ]
    drawn, strata = carry._drawn(runs, 0.02, "seed")
    assert strata == 3
    assert sorted(run.stratum for run in drawn) == [("a", "codel"), ("a", "red"), ("a", "red"), ("b", "red")]
    assert carry._drawn(runs, 0.02, "seed") == (drawn, 3)
    assert carry._drawn(runs, 0.02, "other")[0] != drawn
    everything, _ = carry._drawn(runs, 1.0, "seed")
    assert sorted(map(id, everything)) == sorted(map(id, runs)), "each once"


def test_damaged_provenance_carries_nothing(tmp_path: Path) -> None:
    path = tmp_path / "carried.json"
    for text in ("", "[]", "{}", '{"from": "a"}', '{"from": "a", "to": "b", "fewer_than": "x"}'):
        path.write_text(text)
        assert carry.read_carried(path) is None
    with pytest.raises(EvenflowError):
        carry.carry([], "", None)  # type: ignore[arg-type]


def test_runs_of_one_experiment_replace_those_that_ship(tmp_path: Path) -> None:
    """What another engine made stands beside the rest, and says whose it is."""

    def write(name: str, engines: list[str], experiments: dict[str, list[Any]]) -> Path:
        document = {
            "paper": "tiny",
            "scale": "paper",
            "engines": [{"id": engine, "record_version": 3} for engine in engines],
            "experiments": experiments,
        }
        path = tmp_path / name
        path.write_bytes(lzma.compress(json.dumps(document).encode()))
        return path

    ours = write("ours", ["aa"], {"one": [[{"n": 1}, 0, [1, 2], ["h1", "h2"]]], "two": [[{}, 0, [1], ["h3"]]]})
    theirs = write("theirs", ["bb", "aa"], {"two": [[{}, 0, [1], ["h4"]], [{"n": 2}, 1, [7], ["h5"]]]})
    carry.replace_runs(ours, theirs)
    found = {(k.experiment, k.labels, k.seed): (k.engine, k.version, k.record_hash) for k in carry.read_runs(ours)}
    assert found == {
        ("one", '{"n": 1}', 1): ("aa", 3, "h1"),
        ("one", '{"n": 1}', 2): ("aa", 3, "h2"),
        ("two", "{}", 1): ("bb", 3, "h4"),
        ("two", '{"n": 2}', 7): ("aa", 3, "h5"),
    }
    ours.rename(tmp_path / carry.RUNS)
    assert {kept.engine for kept in carry.runs_of("aa", tmp_path / "none", tmp_path)} == {"aa", "bb"}
    assert carry.runs_of("cc", tmp_path, tmp_path) == []
