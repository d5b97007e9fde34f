"""What tunnels do to the ECN field: the page says what the code does, and the code what the RFC's figures say."""

from __future__ import annotations

import json

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow import cli
from evenflow.run.tunnels import FROM

PAGE = ROOT / "docs" / "tunnels.md"
FOUND = ef.tunnel_table()
FIELDS = ["Not-ECT", "ECT(0)", "ECT(1)", "CE"]


def between(name: str) -> list[list[str]]:
    """The cells of the page's table `name`, without heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]


def ingress() -> list[list[str]]:
    return [[inner, *(FOUND["rules"][rules]["ingress"][inner] for rules in FROM)] for inner in FIELDS]


def egress() -> list[list[str]]:
    marks = {"dangerous": " !!!", "possibly-dangerous": " !", None: ""}

    def cell(inner: str, outer: str) -> str:
        by_result: dict[str, list[str]] = {}
        for rules in FROM:
            by_result.setdefault(FOUND["rules"][rules]["egress"][inner][outer] or "dropped", []).append(f"`{rules}`")
        if len(by_result) == 1:
            return next(iter(by_result)) + marks[FOUND["alarms"][inner][outer]]
        said = "; ".join(f"{result}: {', '.join(who)}" for result, who in by_result.items())
        return said + marks[FOUND["alarms"][inner][outer]]

    return [[inner, *(cell(inner, outer) for outer in FIELDS)] for inner in FIELDS]


def test_the_page_has_the_tables() -> None:
    assert between("ingress") == ingress()
    assert between("egress") == egress()


def test_all_sixteen_pairs_of_figure_4_of_rfc_6040() -> None:
    figure = {
        "Not-ECT": ["Not-ECT", "Not-ECT", "Not-ECT", None],
        "ECT(0)": ["ECT(0)", "ECT(0)", "ECT(1)", "CE"],
        "ECT(1)": ["ECT(1)", "ECT(1)", "ECT(1)", "CE"],
        "CE": ["CE", "CE", "CE", "CE"],
    }
    found = FOUND["rules"]["rfc6040"]["egress"]
    assert {inner: [found[inner][outer] for outer in FIELDS] for inner in FIELDS} == figure


def test_the_command_prints_every_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["tunnel-table"]) == 0
    shown = capsys.readouterr().out
    assert all(rules in shown for rules in FROM)
    assert shown.count("(!!!)") == 5  # four pairs and the legend
    assert cli.invoke(["tunnel-table", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND
