"""Cells of tables 2 to 8 and their verdicts, which are those of their claims."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenflow.papers import reproduce
from evenflow.record import Record
from evenflow.study import Run, Table
from evenflow.values import Shown
from evenflow_papers.has_shaping import claims, experiments
from evenflow_papers.has_shaping import measures as reading
from evenflow_papers.has_shaping import network as net
from evenflow_papers.has_shaping import published as printed

USUAL = net.Options()
NOISE = np.linspace(-1e-4, 1e-4, net.RUNS)
Labels = dict[str, Any]


def _cells() -> list[tuple[Labels, float]]:
    """Every printed cell by its labels; of scenario 4 with lost ACKs."""
    found: list[tuple[Labels, float]] = []
    for client, table in printed.PRINTED.items():
        for (measure, scenario, control, method), value in table.items():
            if scenario != printed.MEAN:
                labels = {"measure": measure, "client": client, "control": control, "method": method}
                lost = {"loss": net.ACKS} if scenario == net.S4 else {}
                found.append((labels | {"scenario": scenario} | lost, value))
    return found


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's labels have its measures: the cell's value and a noise."""
    monkeypatch.setattr(reading, "value", lambda o, client, name, run: run.json["facts"].get(f"{name} {client}"))


def _shown(cells: list[tuple[Labels, Any]], o: net.Options = USUAL) -> Shown:
    """A table whose cells have these values, one a run."""
    points: dict[tuple[Any, ...], dict[str, Any]] = {}
    for labels, values in cells:
        where = tuple((name, labels[name]) for name in ("scenario", "control", "method", "loss") if name in labels)
        points.setdefault(where, {})[f"{labels['measure']} {labels['client']}"] = np.asarray(values)
    runs = []
    for place, (where, facts) in enumerate(points.items()):
        for seed in range(len(next(iter(facts.values())))):
            document = {"facts": {name: float(values[seed]) for name, values in facts.items()}}
            runs.append(Run(place, dict(where), seed + 1, Record(json.dumps(document), "")))
    return Shown("has_shaping", {"has_shaping-table": Table(runs)}, "table", o)


def _verdicts(cells: list[tuple[Labels, Any]]) -> list[tuple[str | None, str | None]]:
    """The literal and the wider verdict of each cell."""
    check = claims.judged(_shown(cells))
    return [
        (claims.verdict_of(check("literal", labels)), claims.verdict_of(check("wider", labels))) for labels, _ in cells
    ]


def test_every_printed_cell_has_a_claim_that_accepts_what_is_printed() -> None:
    cells = [(labels, value + NOISE) for labels, value in _cells()]
    for (labels, _), (literal, wider) in zip(cells, _verdicts(cells), strict=True):
        assert literal == "holds", labels
        # a cell without loss that is certain has no wider reading (c26)
        assert wider in ((None,) if "loss" in labels else (None, "holds")), labels
        assert wider is not None or labels["scenario"] in (net.S4, net.WL), labels


def test_what_is_far_from_the_printed_value_fails() -> None:
    cells = [(labels, 40 * value + 500 + NOISE) for labels, value in _cells()]
    assert {literal for literal, _ in _verdicts(cells)} == {"fails"}


def test_no_claim_about_a_cell_is_left_out() -> None:
    """Each comparison of these claims is a cell that has verdicts."""
    built = {claim.id.removeprefix("has_shaping-"): claim for claim in claims.claim.build(USUAL)}
    assert set(built).issuperset(claims.CELLS)
    (table,) = _shown([(labels, value + NOISE) for labels, value in _cells()]).data.values()
    data = {f"has_shaping-{name}": table for name in ("table02", "table05", "table07")}
    compared = {check.label for name in claims.CELLS for check in built[name].literal(data)}
    assert len(compared) == len({tuple(labels.items()) for labels, _ in _cells()})


def test_the_readme_counts_cells_within_the_sets() -> None:
    readme = Path(claims.__file__).with_name("README.md").read_text(encoding="utf-8")
    shown = {row[0]: row[1].split(" | ") for row in re.findall(r"^\| (\d) \| (\d+ \| \d+, \d+.*) \|$", readme, re.M)}
    shipped = [reproduce.read_comparisons("has_shaping", it) for it in (None, {"setup": "reconstructed"})]
    found = [claims.within(it) for it in shipped if it]
    assert sum(cells for _, _, cells in found[0].values()) == 176
    for table, (_, _, cells) in found[0].items():
        assert shown[str(table)] == [str(cells), *(f"{it[table][0]}, {it[table][1]}" for it in found)], table


def test_lost_data_is_the_wider_reading() -> None:
    where = {"measure": "IF", "client": 1, "scenario": net.S4, "control": net.CUBIC, "method": net.HTBM}
    value = printed.TABLE_7["IF", net.S4, net.CUBIC, net.HTBM] + NOISE
    cells = [(where | {"loss": loss}, value) for loss in (net.ACKS, net.DATA, net.BOTH)]
    assert _verdicts(cells) == [("holds", None), (None, "holds"), (None, None)]
    assert _verdicts([(where | {"loss": net.DATA}, value + 500)]) == [(None, "fails")]


def test_few_runs_leave_a_cell_undecided() -> None:
    labels = {"measure": "IS", "client": 1, "scenario": net.S1, "control": net.CUBIC, "method": net.HTBM}
    value = printed.TABLE_2["IS", net.S1, net.CUBIC, net.HTBM]
    assert _verdicts([(labels, value + np.array([-0.3, 0.9, -0.6, 0.3]))]) == [("undecided", "undecided")]


@pytest.mark.parametrize("value", ["unbounded", "mixture"])
def test_rows_have_interval_difference_and_verdicts(value: str) -> None:
    o = USUAL.varied({"threshold": value})
    where = {"client": 1, "scenario": net.S1, "control": net.NEWRENO, "method": net.RWTM}
    names = ("IS", *reading.OTHERS)
    shown = _shown([(where | {"measure": name}, 2.5 + NOISE) for name in names], o)
    settings = {"RWTM": {"scenario": net.S1, "method": [net.RWTM]}}
    rows = experiments.cell_rows(settings, ("IS",), 1, shown)
    assert rows["measure"].to_list() == list(names)
    assert rows["literal"].to_list() == ["fails", *[None] * len(reading.OTHERS)]
    assert rows["wider"].to_list() == ["fails", *[None] * len(reading.OTHERS)]
    assert rows["difference"][0] == pytest.approx(2.5 - 1.69)
    assert rows["lo"][0] < 2.5 < rows["hi"][0]
