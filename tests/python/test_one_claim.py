"""One claim whole: on the terminal, in ASCII, as JSON, and behind its row in the report; and what became of it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from conftest import Cli, announce
from evenflow import kit, papers
from evenflow.judge.history import Change, HistoryError
from evenflow.papers.reproduce import COMPARISONS, read_comparisons, read_ledger, read_shipped, ship, shipped_ledger
from evenflow.show import one_claim
from test_reproduce import TINY

CHANGE = Change("2026-11-22", ("fails",), "8 to 9 instead of 5 to 9", "The text says so.", "holds", "fails")

CHECK = {
    "label": "50 ms",
    "mean": 1.0,
    "ci": [0.5, 1.5],
    "ci_to_fail": [0.4, 1.6],
    "n": 10,
    "accepted": [0.0, 2.0],
    "unit": "ms",
    "verdict": "holds",
    "close": False,
    "runs_to_decide": None,
    "modes": [],
    "open": "",
}


@pytest.fixture
def tiny(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, dataclasses.replace(TINY, changes=(CHANGE,)))


def test_a_picture_by_hand() -> None:
    assert one_claim.picture(CHECK, 0.0, 2.0, width=21) == "░░░░░├────●────┤░░░░░"
    outside = {**CHECK, "accepted": [None, 0.5], "mean": 1.0}
    assert one_claim.picture(outside, 0.0, 2.0, width=21) == "░░░░░├────●────┤     "
    torn = {**CHECK, "modes": [{"value": 0.1, "runs": 5, "share": 0.5}, {"value": 1.9, "runs": 5, "share": 0.5}]}
    assert one_claim.picture(torn, 0.0, 2.0, width=21).count("◆") == 2
    assert one_claim.picture({**CHECK, "mean": None}, 0.0, 2.0, width=21) == "░" * 21
    assert one_claim.picture({**CHECK, "ci": [None, None]}, 0.0, 2.0, width=5) == "──●──"


def test_an_axis_shows_everything_it_has_to() -> None:
    lo, hi = one_claim.axis([CHECK, {**CHECK, "mean": 7.0, "ci": [None, 8.0]}])
    assert lo < 0.0
    assert hi > 8.0
    assert one_claim.axis([{**CHECK, "mean": None, "ci": [None, None], "accepted": [None, None]}]) == (0.0, 1.0)


@pytest.mark.usefixtures("tiny")
class TestCommand:
    def test_one_claim_whole(self, cli: Cli) -> None:
        cli("reproduce", "tiny", "--json")
        done = cli("claims", "tiny", "--claim", "fails")
        assert done.code == 0, done.err
        for part in (
            "tiny-fails · Fig. 1 · not supported",
            "Expected: about 6 Mbit/s",
            "Accepted: 8 to 9 Mbit/s",
            "50 ms",
        ):
            assert part in done.out
        assert "Strict criterion: 2 comparisons" in done.out
        assert "Lenient criterion (supported): a wider range" in done.out
        assert "2026-11-22: 8 to 9 instead of 5 to 9 Why: The text says so." in " ".join(done.out.split())
        assert max(len(line) for line in done.out.splitlines()) <= one_claim.WIDTH
        assert re.search(r"[░ ]*├─*●─*┤|●", done.out)

    def test_other_claims_have_no_part_in_it(self, cli: Cli) -> None:
        cli("reproduce", "tiny", "--json")
        out = cli("claims", "tiny", "--claim", "tiny-open").out
        assert "Changes of its acceptance criterion:\n  none" in out
        assert "tiny-fails" not in out

    def test_ascii(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        cli("reproduce", "tiny", "--json")
        monkeypatch.setattr(one_claim, "speaks_unicode", lambda: False)
        out = cli("claims", "tiny", "--claim", "fails").out
        assert out.isascii()
        assert "o" in out
        assert "?" not in out.replace("? ", "")

    def test_json(self, cli: Cli) -> None:
        cli("reproduce", "tiny", "--json")
        document = json.loads(cli("claims", "tiny", "--claim", "fails", "--json").out)
        (row,) = document["claims"]
        assert row["id"] == "tiny-fails"
        assert len(row["checks"]) == 2
        assert document["history"] == [CHANGE.to_json()]

    def test_an_unknown_claim_names_the_nearest(self, cli: Cli) -> None:
        cli("reproduce", "tiny", "--json")
        done = cli("claims", "tiny", "--claim", "fials")
        assert done.code == 2
        assert "fails" in done.err
        assert done.out == ""

    def test_the_report_has_it_behind_each_row(self, cli: Cli) -> None:
        cli("reproduce", "tiny", "--json")
        html = Path("out/tiny/report.html").read_text(encoding="utf-8")
        assert html.count("<details>") == len(TINY.claims) + 1  # the fold of inconclusive claims
        assert html.count('class="comparison"') >= 6
        assert "8 to 9 instead of 5 to 9" in html
        assert "max-width: 700px" in html


# --- What ships -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", list(papers.installed()))
def test_all_comparisons_of_a_shipped_ledger_ship(key: str) -> None:
    document = read_shipped(key)
    if document is None:
        pytest.skip(f"{key} has no ledger that ships; record one: make ledger PAPER={key}")
    comparisons = read_comparisons(key)
    assert set(comparisons) == {row["id"] for row in document["claims"]}
    for row in document["claims"]:
        assert row["checks"] or row["verdict"] == "undecided"
    assert shipped_ledger(key).with_name(COMPARISONS).stat().st_size < 400_000


def test_what_is_shipped_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"id": "x-c1", "verdict": "holds", "checks": [CHECK], "relaxed_checks": None}
    ship({"claims": [row], "report": "r"}, tmp_path)
    from evenflow.papers import reproduce

    monkeypatch.setattr(reproduce, "shipped_ledger", lambda _: tmp_path / "ledger.json")
    assert read_ledger(tmp_path / "ledger.json") == {"claims": [{"id": "x-c1", "verdict": "holds"}]}
    assert (read_shipped("x") or {})["claims"] == [row]
    first = (tmp_path / COMPARISONS).read_bytes()
    ship({"claims": [row]}, tmp_path)
    assert (tmp_path / COMPARISONS).read_bytes() == first


# --- History --------------------------------------------------------------------------------------------------------

GOOD = """
[[change]]
date = 2026-11-22
claim = ["c2", "c3"]
what = "b"
why = "c"
before = "holds"
after = "fails"
[[change]]
date = 2026-11-21
claim = "all"
what = "a"
why = "c"
before = "holds"
after = "holds"
"""


def test_history_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    assert kit.history(tmp_path) == ()
    (tmp_path / "history.toml").write_text(GOOD)
    first, second = kit.history(tmp_path / "__init__.py")
    assert (first.what, second.what) == ("a", "b")
    assert second.concerns("x-c3")
    assert not second.concerns("x-c4")
    assert first.concerns("x-c4")


def test_everything_wrong_in_a_history_is_said(tmp_path: Path) -> None:
    text = GOOD.replace('why = "c"\n', "wyh = 3\n", 1).replace("2026-11-21", '"yesterday"').replace('"all"', "7")
    (tmp_path / "history.toml").write_text(text)
    with pytest.raises(HistoryError) as error:
        kit.history(tmp_path)
    for part in (
        "change 1: wyh is not a key. Did you mean “why”?",
        "change 1: why is missing",
        "change 2: date",
        "change 2: claim",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize("key", list(papers.installed()))
def test_a_history_is_of_claims_that_there_are_or_were(key: str) -> None:
    paper = papers.load(key)
    ids = {claim.id.rpartition("-")[2] for claim in paper.claims}
    for change in paper.changes:
        assert set(change.claims) <= ids | {"all"} or "dropped" in change.after, change
