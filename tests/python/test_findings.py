"""The page on whom a virtual queue favours: its tables and figures are those that its numbers give."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from evenflow.plots import style, svg

ROOT = Path(__file__).parents[2]


@pytest.fixture
def findings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("findings", ROOT / "tools" / "findings.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_page_has_the_tables_that_its_numbers_give(findings: ModuleType) -> None:
    text = findings.PAGE.read_text(encoding="utf-8")
    assert findings.filled(text) == text


def test_other_numbers_give_another_page(findings: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = findings.PAGE.read_text(encoding="utf-8")
    for name in findings.NUMBERS:
        shutil.copyfile(findings.FOLDER / f"{name}.csv", tmp_path / f"{name}.csv")
    other = findings.numbers(findings.MAP).with_columns(vq_minus_red_lo=pl.lit(0.01))
    other.write_csv(tmp_path / f"{findings.MAP}.csv")
    monkeypatch.setattr(findings, "FOLDER", tmp_path)
    assert findings.filled(text) != text
    above = [int(line.split("|")[4]) for line in findings.counts()[2:]]
    assert above == [18] * 8  # every point is now above RED's


def test_the_map_is_whole(findings: ModuleType) -> None:
    rows = findings.numbers(findings.MAP)
    assert rows.height == 2 * 4 * 3 * 6  # forms, base weights, populations, r from 5 to 10
    assert rows["runs"].unique().to_list() == [10]


def test_its_figures_are_drawn_with_intervals(findings: ModuleType) -> None:
    for draw in (findings.cause, findings.the_map):
        with style():
            drawn = draw()
            assert any(ax.containers for ax in drawn.axes)
            assert svg(drawn).startswith("<?xml")


def test_numbers_are_taken_from_a_whole_run_alone(findings: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no results of wtp"):
        findings.take(tmp_path)
