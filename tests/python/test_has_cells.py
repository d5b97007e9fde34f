"""Cells of tables 2 to 8 and the verdicts beside them, which are those of their claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evenflow.papers.has_shaping import drawing, verdicts
from evenflow.papers.has_shaping import network as net
from evenflow.papers.has_shaping import published as printed
from evenflow.papers.has_shaping.choices import Options
from evenflow.papers.has_shaping.claims import claims

USUAL = Options()
NOISE = np.linspace(-1e-4, 1e-4, net.RUNS)


def _cells() -> list[tuple[dict[str, Any], float]]:
    """Every printed cell by its labels; of scenario 4 with lost ACKs."""
    found: list[tuple[dict[str, Any], float]] = []
    for client, table in ((1, printed.TABLE_2), (2, printed.TABLE_3), (1, printed.TABLE_4)):
        for (name, method, control), value in table.items():
            found.append(({"client": client, "measure": name, "method": method, "control": control}, value))
    for table in (printed.TABLE_5, printed.TABLE_6, printed.TABLE_7, printed.TABLE_8):
        for (name, scenario, control, method), value in table.items():
            lost = {"loss": net.ACKS} if scenario == net.S4 else {}
            labels = {"measure": name, "scenario": scenario, "control": control, "method": method, **lost}
            found.append((labels, value))
    return found


def test_every_printed_cell_has_a_claim_that_accepts_what_is_printed() -> None:
    for labels, value in _cells():
        literal, wider = verdicts.of(USUAL, labels, value + NOISE)
        assert literal == "holds", labels
        # a cell without loss that is certain has no wider reading (c26)
        assert wider in ((None,) if "loss" in labels else (None, "holds")), labels
        assert wider is not None or labels.get("scenario") in (net.S4, net.WL), labels


def test_what_is_far_from_the_printed_value_fails() -> None:
    for labels, value in _cells():
        found = verdicts.of(USUAL, labels, 40 * value + 500 + NOISE)
        assert found[0] == "fails", labels
        assert verdicts.outside(found)


def test_no_claim_about_a_cell_is_left_out() -> None:
    """Each comparison of these claims is a cell that has verdicts."""
    there = {claim.id.removeprefix("has_shaping-") for claim in claims.build(USUAL)}
    assert there.issuperset(verdicts.CELLS)
    names = ("measure", "control", "method")
    wanted = {
        (*(labels[name] for name in names), labels.get("scenario", net.S1), labels.get("client", 1))
        for labels, _ in _cells()
    }
    assert len(verdicts.accepted(USUAL)) == len(wanted)


def test_lost_data_is_the_wider_reading() -> None:
    labels = {"measure": "IF", "scenario": net.S4, "control": net.CUBIC, "method": net.HTBM}
    value = printed.TABLE_7["IF", net.S4, net.CUBIC, net.HTBM] + NOISE
    assert verdicts.of(USUAL, labels | {"loss": net.ACKS}, value) == ("holds", None)
    assert verdicts.of(USUAL, labels | {"loss": net.DATA}, value) == (None, "holds")
    assert verdicts.of(USUAL, labels | {"loss": net.BOTH}, value) == (None, None)
    assert verdicts.outside(verdicts.of(USUAL, labels | {"loss": net.DATA}, value + 500))


def test_few_runs_leave_a_cell_undecided() -> None:
    labels = {"measure": "IS", "control": net.CUBIC, "method": net.HTBM}
    value = printed.TABLE_2["IS", net.HTBM, net.CUBIC]
    assert verdicts.of(USUAL, labels, value + np.array([-0.3, 0.9, -0.6, 0.3])) == ("undecided", "undecided")


@pytest.mark.parametrize("value", ["unbounded", "mixture"])
def test_rows_have_interval_difference_and_verdicts(value: str) -> None:
    o = USUAL.varied({"threshold": value})
    labels = {"client": 1, "method": net.RWTM, "control": net.NEWRENO}
    rows = drawing.compared(
        o, [({**labels, "measure": name}, 2.5 + NOISE, at) for name, at in (("IS", 1.69), ("IS_printed", None))]
    )
    assert rows["literal"].to_list() == ["fails", None]
    assert rows["wider"].to_list() == ["fails", None]
    assert rows["difference"][0] == pytest.approx(2.5 - 1.69)
    assert rows["lo"][0] < 2.5 < rows["hi"][0]
