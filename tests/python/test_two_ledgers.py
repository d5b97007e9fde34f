"""A paper that ships a ledger for a choice of its options besides its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli, announce
from evenflow import papers
from evenflow.papers import reproduce
from test_options import PAPER

LEDGER = {
    "scale": "paper",
    "complete": True,
    "level": 0.95,
    "paper": "open",
    "title": "An open paper",
    "experiments": [],
}


@pytest.fixture
def _open_paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    announce(monkeypatch, PAPER)
    monkeypatch.setattr(papers, "folder", lambda key: tmp_path / key)


def ship(place: Path, verdict: str) -> None:
    row = {
        "id": "open-c1",
        "verdict": verdict,
        "relaxed": None,
        "measured": "1",
        "why": "It is made up.",
        "apart": None,
    }
    counts = {"literal": {}, "relaxed": {}, "close": 0, "by_mean": 0, "apart": 0}
    reproduce.ship({**LEDGER, "counts": counts, "claims": [row], "engine": "e"}, place)


@pytest.mark.usefixtures("_open_paper")
def test_each_choice_has_its_own_ledger(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "open" / "delay=50").mkdir(parents=True)
    ship(tmp_path / "open", "holds")
    ship(tmp_path / "open" / "delay=50", "fails")
    assert [row["verdict"] for row in (reproduce.read_shipped("open") or {})["claims"]] == ["holds"]
    assert [row["verdict"] for row in (reproduce.read_shipped("open", {"delay": "50"}) or {})["claims"]] == ["fails"]
    done = cli("claims", "open", "--option", "delay=50", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["claims"][0]["verdict"] == "fails"
    usual = cli("claims", "open", "--option", "delay=5", "--json")
    assert json.loads(usual.out)["claims"][0]["verdict"] == "holds"


@pytest.mark.usefixtures("_open_paper")
def test_where_there_is_none_the_command_says_what_to_run(cli: Cli) -> None:
    done = cli("claims", "open", "--option", "delay=50")
    assert done.code == 2
    assert "evenflow reproduce open --option delay=50 --scale quick" in done.err
