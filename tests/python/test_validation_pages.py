"""The validation's summary is one page, its topic pages have every check, and every row quotes its reason."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from conftest import ROOT
from evenflow.run import evidence

sys.path.insert(0, str(ROOT / "tools"))

import validation_pages as pages


def shipped() -> dict[str, Any]:
    document = evidence.shipped()
    assert document is not None
    return dict(document)


def test_every_check_has_one_part_and_stands_on_a_page() -> None:
    known = pages.topics()
    for row in shipped()["rows"]:
        topic = pages.topic_of(row["check"], known)
        page = ROOT / "docs" / "validation" / topic["page"].partition("#")[0]
        assert page.exists(), topic["page"]
        if row["against"] != pages.THEORY:
            assert f"<!-- validation:{row['check']} -->" in page.read_text(encoding="utf-8"), row["check"]


def test_the_summary_counts_every_row() -> None:
    rows = shipped()["rows"]
    names = pages.Names(shipped()["programs"])
    last = pages.summary_of(rows, names)[-2]
    counted = [tuple(map(int, found)) for found in re.findall(r"(\d+) of (\d+)", last)]
    assert sum(total for _, total in counted) == len(rows)
    assert sum(agree for agree, _ in counted) == sum(row["verdict"] == "agrees" for row in rows)


def test_the_summary_is_one_page() -> None:
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 70
    assert len(re.sub(r"\(\S+\)", "", text).split()) <= 1150


def test_anchors_of_the_summary_exist() -> None:
    for topic in pages.topics():
        name, _, anchor = topic["page"].partition("#")
        text = (ROOT / "docs" / "validation" / name).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, topic["page"]


def row(check: str, against: str, theirs: float, ours: float, reason: str = "") -> dict[str, Any]:
    def span(value: float) -> dict[str, float]:
        return {"mean": value, "lo": value, "hi": value, "n": 5}

    return {
        "check": check,
        "point": {"flows": 2},
        "metric": "loss",
        "against": against,
        "theirs": span(theirs),
        "ours": span(ours),
        "verdict": "differs" if reason else "agrees",
        "reason": reason,
    }


def test_a_newer_release_stands_beside_the_packaged_one() -> None:
    rows = [
        row("red-drop", "ns-3", 0.5, 0.4, "theirs: it halves less"),
        row("red-drop", "ns-3-dev", 0.41, 0.4),
        row("red-ecn", "ns-3", 0.4, 0.4),
        row("red-ecn", "ns-3-dev", 0.6, 0.4, "unknown: not yet looked into"),
    ]
    names = pages.Names({"ns-3": "libns3-dev 3.37-2 as packaged"})
    lines = pages.releases_of(rows, names)
    assert "| red-drop | 1 | 1 | 1 | 0 | 0 |" in lines
    assert "| red-ecn | 1 | 0 | 0 | 0 | 1 |" in lines
    assert "| **all** | 2 | 1 | 1 | 0 | 1 |" in lines
    assert r"| red-drop: flows 2 | loss | 0.5 \* | 0.41 | 0.4 |" in lines
    said = "\n".join(pages.differences_of(rows, names))
    assert "**ns-3.37**, 1 of 2 numbers (loss); cause: ns-3.37. It halves less." in said


def test_a_check_of_no_part_is_an_error() -> None:
    with pytest.raises(SystemExit, match="belongs to 0 parts"):
        pages.topic_of("something-new", pages.topics())
