"""The engine's tables are the only registry: a mechanism's name appears in its own file only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import literals  # noqa: E402


def test_only_a_mechanism_s_own_file_names_it() -> None:
    assert sorted(literals.literals()) == []


def test_every_exception_is_needed() -> None:
    names = {path: set(literals.LITERAL.findall(literals.code(ROOT / path))) for path in literals.ELSEWHERE}
    declared = set(literals.kinds())
    for path, (reason, words) in literals.ELSEWHERE.items():
        assert reason
        assert names[path] & declared, path
        assert words <= names[path], path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"kind": "red"}', []),
        ('queue.scheduler = { kind = "drr" }', []),
        ('if rule["kind"] == "red"', ["kind", "red"]),
        ('if kind == "red"', ["red"]),
        ('QUEUES = ("red", "drr")', ["red", "drr"]),
    ],
)
def test_a_written_scenario_does_not_count_and_a_comparison_does(text: str, names: list[str]) -> None:
    assert literals.LITERAL.findall(literals.WRITTEN.sub("", text)) == names
