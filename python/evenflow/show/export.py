"""A study's results as files: CSV and Parquet of every run, the points' means, and a report to look at."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..run.store import write_whole

if TYPE_CHECKING:
    from ..run.study import Table
    from ..scenario.scenario import Scenario


def write_study(table: Table, scenario: Scenario, folder: Path) -> list[Path]:
    """Write `results.csv` and `results.parquet` (one row a run), `summary.csv` (one row a point and metric),
    `notes.json`, `report.html`.

    Every file is the same whatever the number of jobs and however often the study was interrupted.
    """
    from .report import render_study

    runs = table.frame()
    parquet = io.BytesIO()
    runs.write_parquet(parquet)
    files = {
        folder / "results.csv": runs.write_csv().encode(),
        folder / "results.parquet": parquet.getvalue(),
        folder / "summary.csv": table.summary().write_csv().encode(),
        folder / "notes.json": (json.dumps(notes_json(table), ensure_ascii=False, indent=2) + "\n").encode(),
        folder / "report.html": render_study(table, scenario).encode(),
    }
    for path, data in files.items():
        write_whole(path, data)
    return list(files)


def notes_json(table: Table) -> list[dict[str, Any]]:
    """A study's notes as `--json` and `notes.json` have them; `points` are places in the list of points, from 0."""
    return [{**note.to_json(), "points": points} for note, points in table.notes()]
