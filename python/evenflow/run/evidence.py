"""Validation of mechanisms: the shipped results of `make validate`, and conformance vectors.

`tools/generate.py` writes both. Each result is one number with check, point, reference (`against`), metric, reference
value and measured value with its 95 % interval over seeds. It has a verdict and, for a difference, a reason. `program`
names the reference program if `against` differs, and `engine` another engine than the rest. `judged` is "means" where
overlapping intervals are not enough for a verdict.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent / "validation.json"
VECTORS = Path(__file__).parent / "vectors.json"

Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Any] | None:
    """The whole document, or None where none was recorded."""
    if not SHIPPED.exists():
        return None
    document: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    reasons = document["reasons"]
    rows = [{**row, "reason": reasons[row["reason"]] if "reason" in row else ""} for row in document["rows"]]
    return {**document, "rows": rows}


def of(kind: str) -> dict[str, Any]:
    """The rows that are evidence for a mechanism, and the engines that made them; no rows where there are none."""
    document = shipped()
    if document is None:
        return {"engine": None, "engines": [], "programs": {}, "rows": []}
    rows = [{key: row[key] for key in row if key != "of"} for row in document["rows"] if kind in row["of"]]
    asked = {row.get("program", row["against"]) for row in rows}
    programs = {name: text for name, text in document["programs"].items() if name in asked}
    engines = list(dict.fromkeys(row.get("engine", document["engine"]) for row in rows)) or [document["engine"]]
    return {"engine": engines[0], "engines": engines, "programs": programs, "rows": rows}


@lru_cache(maxsize=1)
def _vectors() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return found


def vectors(kind: str) -> list[dict[str, Any]]:
    """The folders of tests/conformance whose vectors a mechanism meets: `folder`, `what` it is about, the `documents`
    that a second implementation was written from, how many `vectors` and `events` there are."""
    return [{key: row[key] for key in row if key != "of"} for row in _vectors() if kind in row["of"]]


def packed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as it ships: each reason once, and a row says which."""
    reasons = list(dict.fromkeys(row["reason"] for row in document["rows"] if row["reason"]))
    rows = [
        {key: value for key, value in row.items() if key != "reason"}
        | ({"reason": reasons.index(row["reason"])} if row["reason"] else {})
        for row in document["rows"]
    ]
    kept = ("engine", "parts", "programs")
    return {**{key: document[key] for key in kept}, "reasons": reasons, "rows": rows}


def joined(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Replace rows of the first document by the second's rows of the same check and program.

    The document names the engine of most rows. Rows of another engine name it. Raises `ValueError` if rows of two
    releases of a program would remain.
    """
    renewed = {(row["check"], row["against"]) for row in more["rows"]}
    kept = [row for row in before["rows"] if (row["check"], row["against"]) not in renewed]
    programs = {**before["programs"], **more["programs"]}
    for row in kept:
        name = row.get("program", row["against"])
        if programs.get(name) != before["programs"].get(name):
            raise ValueError(
                f"{row['check']} was recorded with another {name} ({before['programs'].get(name)}) than the new rows "
                f"({programs[name]}): run all parts with one of them"
            )
    rows = [(row.get("engine", before["engine"]), row) for row in kept]
    rows += [(more["engine"], row) for row in more["rows"]]
    engine = Counter(own for own, _ in rows).most_common(1)[0][0] if rows else before["engine"]
    return {
        "engine": engine,
        "parts": list(dict.fromkeys([*before["parts"], *more["parts"]])),
        "programs": programs,
        "rows": [
            {key: value for key, value in row.items() if key != "engine"} | ({} if own == engine else {"engine": own})
            for own, row in rows
        ],
    }


def difference(row: Row) -> float | None:
    """Measured value relative to the reference; None for a reference of zero."""
    theirs, ours = row["theirs"]["mean"], row["ours"]["mean"]
    if not theirs:
        return None
    return float(ours / theirs - 1)


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each check and what it was checked against: how many numbers, how many agree, which is farthest."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["check"], row["against"]), []).append(row)
    lines = []
    for (check, against), members in found.items():
        differing = [row for row in members if row["verdict"] != "agrees"]
        lines.append(
            {
                "check": check,
                "against": against,
                "numbers": len(members),
                "agree": len(members) - len(differing),
                "farthest": max(members, key=lambda row: abs(difference(row) or 0.0)),
            }
        )
    return lines


def differing(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows that do not agree, by reason."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] != "agrees":
            found.setdefault(row["reason"], []).append(row)
    return found


def place(row: Row) -> str:
    """The point of a row, in words."""
    return ", ".join(f"{key} {value}".strip() for key, value in row["point"].items())
