"""Compare two results of a paper: verdicts, measured values, figures and runs. Exit code 1 if they differ.

    python tools/compare_ledgers.py BEFORE AFTER [--tolerance 1e-9]

A result is an output folder of `evenflow reproduce`, the folder of a shipped ledger, or a document of
`evenflow reproduce --json`. Shipped ledgers and documents have no figures, documents have no runs.
Comparisons are matched by label, in any order. Not compared: notes (`why`), wall-clock times, host and engine.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenflow.papers.carry import RUNS
from evenflow.papers.reproduce import COMPARISONS, LEDGER

DOCUMENT = ("paper", "scale", "options", "level", "complete", "counts", "sensitivity")
CLAIM = (
    "verdict", "relaxed", "by_mean", "relaxed_by_mean", "close", "runs_to_decide", "apart", "experiments", "checks",
    "relaxed_checks",
)  # fmt: skip
"""Fields of a claim that are results. `measured` quotes the first comparisons."""


def read(path: Path) -> dict[str, Any]:
    """The results in a folder or a document, by name."""
    folder = path if path.is_dir() else None
    document = json.loads((folder / LEDGER if folder else path).read_text(encoding="utf-8"))
    found: dict[str, Any] = {name: document.get(name) for name in DOCUMENT}
    found["claims"] = {row["id"]: {name: row.get(name) for name in CLAIM} for row in document["claims"]}
    found["experiments"] = {row["id"]: {"runs": row["runs"]} for row in document["experiments"]}
    if folder is not None and (folder / COMPARISONS).exists():
        for name, checks in json.loads(gzip.decompress((folder / COMPARISONS).read_bytes())).items():
            found["claims"][name] |= checks
    elif folder is not None:
        found["figures"] = {file.stem: table(file) for file in sorted((folder / "figures").glob("*.csv"))}
    for claim in found["claims"].values():
        claim |= {name: by_label(claim[name]) for name in ("checks", "relaxed_checks")}
    if folder is not None:
        found["run"] = runs(folder / RUNS)
    return found


def by_label(checks: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The comparisons of a claim in an order that does not depend on the code."""
    return None if checks is None else sorted(checks, key=lambda check: str(check["label"]))


def table(file: Path) -> list[dict[str, float | str]]:
    """The rows of a figure's data."""

    def cell(text: str) -> float | str:
        try:
            return float(text)
        except ValueError:
            return text

    with file.open(encoding="utf-8", newline="") as lines:
        return [{name: cell(text) for name, text in row.items()} for row in csv.DictReader(lines)]


def runs(file: Path) -> dict[str, dict[str, str]]:
    """By experiment the hash of each run's record."""
    experiments = json.loads(lzma.decompress(file.read_bytes()))["experiments"]
    return {
        name: {
            f"{json.dumps(labels, sort_keys=True, ensure_ascii=False)} seed {seed}": record_hash
            for labels, _, seeds, hashes in points
            for seed, record_hash in zip(seeds, hashes, strict=True)
        }
        for name, points in experiments.items()
    }


def differences(before: Any, after: Any, tolerance: float = 0.0, where: str = "") -> Iterator[str]:
    """A line for each difference between two results."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            place = f"{where}: {name}" if where else name
            if name not in after:
                yield f"{place}: only before"
            elif name not in before:
                yield f"{place}: only after"
            else:
                yield from differences(before[name], after[name], tolerance, place)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} before, {len(after)} after"
        for number, (one, other) in enumerate(zip(before, after, strict=False), 1):
            yield from differences(one, other, tolerance, f"{where} {number}")
    elif not equal(before, after, tolerance):
        yield f"{where}: {before} before, {after} after"


def equal(before: Any, after: Any, tolerance: float) -> bool:
    """Whether two values are the same; numbers up to a relative tolerance."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        return math.isclose(before, after, rel_tol=tolerance) or (math.isnan(before) and math.isnan(after))
    return bool(before == after)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.0, help="relative, of numbers; default: none")
    asked = parser.parse_args(arguments)
    try:
        before, after = read(asked.before), read(asked.after)
    except OSError as error:
        parser.error(f"{error.filename} cannot be read: {error.strerror}")
    both = [name for name in before if name in after]
    found = list(
        differences({name: before[name] for name in both}, {name: after[name] for name in both}, asked.tolerance)
    )
    print(*found, sep="\n", end="\n" if found else "")
    counts = [f"{len(after['claims'])} claims"]
    counts.append(f"{len(after['figures'])} figures" if "figures" in both else "no figures")
    counts.append(f"{sum(map(len, after['run'].values())):,} runs" if "run" in both else "no runs")
    print(f"{', '.join(counts)} compared: {len(found) or 'no'} difference{'' if len(found) == 1 else 's'}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
