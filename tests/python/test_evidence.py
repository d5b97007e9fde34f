"""What `describe` says a mechanism was checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from evenflow.mechanism import describe, kinds, schema
from evenflow.run import evidence


def row(metric: str, theirs: float, ours: float, verdict: str, reason: str = "") -> dict[str, Any]:
    def span(value: float) -> dict[str, float]:
        return {"mean": value, "lo": 0.9 * value, "hi": 1.1 * value, "n": 10}

    return {
        "of": ["droptail"],
        "check": "some-scenario",
        "point": {"flows": 8},
        "against": "ns-2",
        "metric": metric,
        "theirs": span(theirs),
        "ours": span(ours),
        "tolerance": 0.05,
        "verdict": verdict,
        "reason": reason,
        "source": "",
    }


ROWS = [
    row("utilisation", 1.0, 0.99, "agrees"),
    row("loss", 0.02, 0.03, "differs", "theirs: it counts twice"),
    row("mean queue (packets)", 10.0, 12.0, "differs", "theirs: it counts twice"),
    row("drops per packet", 0.0, 0.0, "agrees"),
]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = {"engine": "0123456789abcdef0123", "parts": ["x"], "programs": {"ns-2": "ns2 2.35", "ns-3": "3.37"}}
    path = tmp_path / "validation.json"
    path.write_text(json.dumps(evidence.packed({**found, "whole": True, "rows": ROWS})))
    monkeypatch.setattr(evidence, "SHIPPED", path)
    evidence.shipped.cache_clear()
    yield
    evidence.shipped.cache_clear()


@pytest.mark.usefixtures("recorded")
def test_packing_keeps_every_row_and_each_reason_once() -> None:
    assert json.loads(evidence.SHIPPED.read_text())["reasons"] == ["theirs: it counts twice"]
    document = evidence.shipped()
    assert document is not None
    assert document["rows"] == ROWS


def test_a_row_may_name_a_program_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {
        **row("drops per packet", 0.2, 0.2, "agrees"),
        "of": ["codel"],
        "against": "Linux",
        "program": "Linux: aqm",
    }
    programs = {"Linux": "its TCP", "Linux: aqm": "its disciplines"}
    found = {"engine": "0", "parts": ["aqm"], "programs": programs, "rows": [asked]}
    path = tmp_path / "validation.json"
    path.write_text(json.dumps(evidence.packed(found)))
    monkeypatch.setattr(evidence, "SHIPPED", path)
    evidence.shipped.cache_clear()
    try:
        assert evidence.of("codel")["programs"] == {"Linux: aqm": "its disciplines"}
    finally:
        evidence.shipped.cache_clear()


@pytest.mark.usefixtures("recorded")
def test_describe_has_the_rows_of_its_mechanism_alone() -> None:
    found = describe("droptail")["validation"]
    assert [r["metric"] for r in found["rows"]] == [r["metric"] for r in ROWS]
    assert found["engine"] == "0123456789abcdef0123"
    assert found["programs"] == {"ns-2": "ns2 2.35"}
    assert describe("poisson")["validation"]["rows"] == []


@pytest.mark.usefixtures("recorded")
def test_describe_prints_counts_and_every_reason(cli: Cli) -> None:
    said = " ".join(cli("describe", "droptail", "--validation").out.split())
    for words in ("2 of 4", "+50.0%", "loss at flows 8", "2 differ", "it counts twice", "engine 0123456789abcdef"):
        assert words in said, words
    assert "Validation" not in cli("describe", "poisson", "--all").out


def test_without_a_record_describe_says_nothing_of_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "SHIPPED", tmp_path / "none.json")
    evidence.shipped.cache_clear()
    try:
        assert "Validation" not in cli("describe", "droptail", "--all").out
    finally:
        evidence.shipped.cache_clear()


def test_a_stack_profile_is_described_by_its_lines(cli: Cli) -> None:
    lines = {p["name"]: p for p in describe("ns2_linux")["params"]}
    assert (lines["min_rto"]["default"], lines["min_rto"]["type"]) == ("0.2 s", "duration")
    assert "prr" in cli("describe", "rfc", "--all").out
    assert "ns2-linux" in cli("describe", "ns2-linxu").err


def test_what_ships_names_known_mechanisms_and_leaves_no_difference_without_a_reason() -> None:
    document = evidence.shipped()
    assert document is not None, "nothing ships: make evidence"
    known = {*kinds(), *(profile["name"] for profile in schema()["profiles"])}
    for found in document["rows"]:
        assert set(found["of"]) <= known, found["of"]
        assert (found["verdict"] == "agrees") == (found["reason"] == ""), found
        assert found["verdict"] in ("agrees", "differs")


def test_a_part_joins_what_ships_and_replaces_its_own_checks() -> None:
    def document(part: str, *checks: tuple[str, str, int]) -> dict[str, object]:
        rows = [{"check": check, "against": against, "metric": n, "reason": ""} for check, against, n in checks]
        return {"engine": "e", "parts": [part], "programs": {part: part}, "rows": rows}

    before = document("a", ("red", "ns-2", 1), ("red", "ns-3", 2), ("cubic", "ns-3", 3))
    after = document("b", ("red", "ns-2", 4), ("red", "ns-3-dev", 5))
    both = evidence.joined(before, after)
    assert [(row["check"], row["against"], row["metric"]) for row in both["rows"]] == [
        ("red", "ns-3", 2),
        ("cubic", "ns-3", 3),
        ("red", "ns-2", 4),
        ("red", "ns-3-dev", 5),
    ]
    assert (both["parts"], both["programs"]) == (["a", "b"], {"a": "a", "b": "b"})


def test_a_part_of_a_later_engine_names_it() -> None:
    before = {"engine": "e", "parts": ["a"], "programs": {}, "rows": [{"check": "red", "against": "ns-2"}]}
    after = {"engine": "f", "parts": ["b"], "programs": {}, "rows": [{"check": "flows", "against": "ns-2"}]}
    both = evidence.joined(before, after)
    assert both["engine"] == "e"
    assert [row.get("engine") for row in both["rows"]] == [None, "f"]
    again = evidence.joined(both, {**after, "engine": "e"})
    assert [row.get("engine") for row in again["rows"]] == [None, None]


def test_the_engine_of_most_rows_names_the_document() -> None:
    before = {"engine": "e", "parts": [], "programs": {}, "rows": [{"check": it, "against": "ns-2"} for it in "abc"]}
    after = {"engine": "f", "parts": [], "programs": {}, "rows": [{"check": it, "against": "ns-2"} for it in "bc"]}
    both = evidence.joined(before, after)
    assert both["engine"] == "f"
    assert [(row["check"], row.get("engine")) for row in both["rows"]] == [("a", "e"), ("b", None), ("c", None)]


def test_one_name_never_stands_for_two_releases() -> None:
    def document(release: str, *checks: str) -> dict[str, object]:
        rows = [{"check": check, "against": "ns-3-dev"} for check in checks]
        return {"engine": "e", "parts": [], "programs": {"ns-3-dev": release}, "rows": rows}

    with pytest.raises(ValueError, match=r"cubic was recorded with another ns-3-dev \(July\)"):
        evidence.joined(document("July", "red", "cubic"), document("August", "red"))
    both = evidence.joined(document("July", "red", "cubic"), document("August", "red", "cubic"))
    assert both["programs"] == {"ns-3-dev": "August"}
    assert len(both["rows"]) == 2


def test_describe_names_the_vectors_that_a_mechanism_meets(cli: Cli) -> None:
    folders = {row["folder"]: row for row in describe("congestion-policer")["vectors"]}
    assert set(folders) == {"congestion-policer", "reecn-policer", "wire/ipv4", "wire/conex-option"}
    assert folders["congestion-policer"]["documents"].startswith("RFC 7713")
    said = " ".join(cli("describe", "congestion-reporter", "--validation").out.split())
    assert "Conformance vectors" in said
    assert "Zhang et al. 2011" in said
    assert "Conformance vectors" not in cli("describe", "poisson", "--all").out


def test_every_folder_of_vectors_is_of_a_mechanism() -> None:
    known = set(kinds())
    rows = json.loads(evidence.VECTORS.read_text(encoding="utf-8"))
    assert {kind for row in rows for kind in row["of"]} <= known
    here = Path(__file__).resolve().parents[1] / "conformance"
    folders = {path.name for path in here.iterdir() if path.is_dir() and any(path.glob("*.json"))}
    assert {row["folder"].split("/")[0] for row in rows} == folders
    assert sum(row["vectors"] for row in rows) == len(list(here.glob("*/*.json"))), "each is counted once"
