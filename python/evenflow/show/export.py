"""A study's results as files: CSV and Parquet of every run, the points' means, and a report to look at."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..run.files import csv_bytes, write_whole

if TYPE_CHECKING:
    from ..run.store import Store
    from ..run.study import Table
    from ..scenario.scenario import Scenario
    from .pictures import Choice
    from .report import StudyFigures


def write_study(
    table: Table,
    scenario: Scenario,
    folder: Path,
    *,
    choice: Choice | None = None,
    command: str = "",
    store: Store | None = None,
    figures: StudyFigures | None = None,
    headings: Sequence[str] | None = None,
) -> list[Path]:
    """Write `results.csv` and `results.parquet` (one row a run), `summary.csv` (one row a point and metric),
    `notes.json`, `report.html`, its figures as SVG and PDF, and what opens the study again (`evenflow.open`).

    Every file is the same whatever the number of jobs and however often the study was interrupted.

    Args:
        choice: what the figures and the report's table show; default: what tells most.
        command: what gives these results again, for the report.
        store: where series are kept.
        figures, headings: of the report, instead of those that follow from `choice`.
    """
    from ..run.saved import RECORDS, STUDY, replacing, seal, study_head, study_records
    from .report import render_study, study_figures

    figures = figures or study_figures(table, choice)
    report = render_study(table, scenario, figures, choice=choice, command=command, headings=headings)
    runs = table.frame()
    parquet = io.BytesIO()
    runs.write_parquet(parquet)
    files = {
        "results.csv": csv_bytes(runs),
        "results.parquet": parquet.getvalue(),
        "summary.csv": csv_bytes(table.summary()),
        "notes.json": (json.dumps(notes_json(table), ensure_ascii=False, indent=2) + "\n").encode(),
        "report.html": report.encode(),
        **{name: data for figure in figures.drawn for name, data in figure.files.items()},
        RECORDS: study_records(table, store),
    }
    head = study_head(table, scenario, folder, command=command, store=store)
    with replacing(folder):
        for name, data in files.items():
            write_whole(folder / name, data)
        return [*(folder / name for name in files), seal(folder, STUDY, head, files)]


def notes_json(table: Table) -> list[dict[str, Any]]:
    """A study's notes as `--json` and `notes.json` have them; `points` are places in the list of points, from 0."""
    return [{**note.to_json(), "points": points} for note, points in table.notes()]
