"""What the claims make of each cell of tables 2 to 8: whether it is accepted, literally and by the wider reading.

What is accepted is taken from the claims themselves: they are asked about runs in which nobody watched anything, so
that their comparisons have labels and accepted sets, and no values. A cell is then judged by itself, as a claim of one
comparison; a claim of several asks for more before it fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from evenflow.claims import Check, Verdict, judge_one
from evenflow.lab import Floats
from evenflow.record import Record
from evenflow.study import Label, Labels, Run, Table

from . import network as net
from .claims import claims
from .forms import label
from .measures import METRICS, ONE

if TYPE_CHECKING:
    from .choices import Options

CELLS = (
    *(f"c{n:02d}" for n in (*range(1, 22), 23, 24, *range(26, 32))),
    *("c30w", "c31w"),
)
"""Claims whose comparisons are single cells of tables 2 to 8; c22 and c25 are arithmetic on printed numbers."""
UNSEEN = json.dumps({"groups": {name: {"video": {"users_asked_s": [None]}} for name in (net.CLIENT_1, net.CLIENT_2)}})
"""A record of a run in which nobody asked for a video."""

Verdicts = tuple[Verdict | None, Verdict | None]
"""By the literal and by the wider reading; None where no claim judges the cell so."""


def _unseen(points: list[Labels]) -> Table:
    return Table(Run(place, labels, 1, Record(UNSEEN, "")) for place, labels in enumerate(points))


def _points() -> dict[str, list[Labels]]:
    """The cells that the claims ask for, by experiment."""

    def all_of(scenario: str, controls: tuple[str, ...], methods: tuple[str, ...], **more: Label) -> list[Labels]:
        return [
            {"scenario": scenario, "control": control, "method": method, **more}
            for control in controls
            for method in methods
        ]

    lone = all_of(net.WL, net.GOOD, net.SHAPED)
    lone += [cell for lost in (net.ACKS, net.DATA) for cell in all_of(net.S4, net.GOOD, net.SHAPED, loss=lost)]
    return {
        "table02": all_of(net.S1, net.CONTROLS, net.METHODS),
        "table05": [cell for name in (net.S1, net.S2, net.S3) for cell in all_of(name, net.GOOD, net.SHAPED)],
        "table07": lone,
        # what the option threshold=mixture takes for a cell of table 2
        "fig03": [{"threshold": float(segments)} for segments in net.MIXED],
    }


@cache
def accepted(o: Options) -> Mapping[str, tuple[Check, Check | None]]:
    """Label of a cell -> the comparisons of the literal and of the wider reading, without values."""
    data = {f"has_shaping-{name}": _unseen(points) for name, points in _points().items()}
    found: dict[str, tuple[Check, Check | None]] = {}
    for claim in claims.build(o):
        if claim.id.removeprefix("has_shaping-") not in CELLS:
            continue
        wider = {check.label: check for check in claim.relaxed(data)} if claim.relaxed else {}
        for check in claim.literal(data):
            found[check.label] = (check, wider.get(check.label))
    return found


def of(o: Options, labels: Mapping[str, Label], values: Floats) -> Verdicts:
    """The verdicts of a cell: by the claim that compares it, literally and by the wider reading.

    In scenario 4 the literal reading is of lost ACKs and the wider one of lost data, so that each has one of the two.

    Args:
        labels: "measure", "control", "method"; "client" and "scenario" where they are not 1 and scenario 1; "loss".
        values: of the runs, shape (seeds,).
    """
    name, client = str(labels["measure"]), int(labels.get("client", ONE))
    scenario, control, method = str(labels.get("scenario", net.S1)), str(labels["control"]), str(labels["method"])
    if name not in METRICS:
        return None, None
    literal, wider = accepted(o).get(label(name, scenario, control, method, client), (None, None))
    lost = labels.get("loss")
    if lost is not None:
        literal, wider = literal if lost == net.ACKS else None, wider if lost == net.DATA else None
    return _judged(literal, values), _judged(wider, values)


def outside(verdicts: Verdicts) -> bool:
    """Whether a cell fails: literally, or by the wider reading where that alone judges it."""
    literal, wider = verdicts
    return (wider if literal is None else literal) is Verdict.FAILS


def _judged(check: Check | None, values: Floats) -> Verdict | None:
    if check is None:
        return None
    return judge_one(replace(check, values=values), paper_runs=net.RUNS, level=net.LEVEL).verdict
