"""Finished work in folders: what a study's or a run's folder must hold to be opened again.

A study's folder has `study.json` (the scenario with its `[sweep]`, seeds, command, engine, version, and where the
series are) and `records.parquet` (one row a run: point, seed, labels as JSON, record hash, record, and its series' file
in the store). A run's folder has
`record.json` and, where series were recorded, `series.parquet`. Neither needs the store, but for series of studies,
which stay there.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError, UsageError, nearest
from ..scenario.scenario import Scenario
from .files import csv_bytes
from .record import TRACE, Record
from .store import SeriesFile
from .study import Origin, Run, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .notes import Note
    from .store import Store

STUDY = "study.json"
RECORDS = "records.parquet"
RECORD = "record.json"
SERIES = "series.parquet"
FORMAT = 1
UNSTABLE = ("wall_s", "cpu_s")
"""What differs between equal runs and is no part of a saved study."""


def study_files(
    table: Table, scenario: Scenario, *, command: str = "", store: Store | None = None, folder: Path | None = None
) -> dict[str, bytes]:
    """What makes a study's folder loadable, by name. The same for the same study, however it was run."""
    import polars as pl

    from .. import __version__

    rows: list[dict[str, Any]] = []
    for run in table.runs:
        document = {name: value for name, value in run.json.items() if name not in UNSTABLE}
        kept = run.record.series_file
        series = "" if store is None or kept is None else os.path.relpath(kept, store.folder)
        rows.append(
            {
                "point": run.point,
                "seed": run.seed,
                "labels": json.dumps(dict(run.labels), ensure_ascii=False),
                "record_hash": run.record.record_hash,
                "series": series,
                "record": json.dumps(document, ensure_ascii=False),
            }
        )
    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out, compression="zstd")
    engines = table.engines
    head = {
        "format": FORMAT,
        "title": scenario.title,
        "source": scenario.source,
        "command": command,
        "engine": engines[0] if len(engines) == 1 else engines,
        "version": str(__version__),
        "seeds": sorted({run.seed for run in table}),
        "points": len(table.points()),
        "runs": len(table),
        "records": RECORDS,
        "series": _beside(store.folder, folder) if store is not None and any(row["series"] for row in rows) else None,
        "scenario": scenario.written_out().tree,
    }
    return {
        STUDY: (json.dumps(head, ensure_ascii=False, indent=1, default=str) + "\n").encode(),
        RECORDS: out.getvalue(),
    }


def _beside(store: Path, folder: Path | None) -> str:
    """The store as seen from the study's folder, so that both can be moved together."""
    if folder is None:
        return str(store.resolve())
    try:
        return os.path.relpath(store.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(store.resolve())


def open_(path: str | Path) -> Table | Record:
    """A finished study's `Table`, or a run's `Record`, from the folder that `study` or `run --out` wrote.

    Raises:
        UsageError: no such folder, or neither a study's nor a run's.
        StoreError: damaged, or of a later version.
    """
    folder = Path(path)
    if folder.name in (STUDY, RECORD) and folder.is_file():
        folder = folder.parent
    if not folder.exists():
        raise UsageError(f"{path}: there is no such folder.{_near(folder)}")
    if not folder.is_dir():
        raise UsageError(f"{path}: is a file; a finished study is a folder such as out/STUDY.")
    if (folder / STUDY).is_file():
        return _study(folder)
    if (folder / RECORD).is_file():
        return _record(folder)
    if (folder / "results.parquet").is_file():
        raise UsageError(
            f"{path}: has results, but no {STUDY}: an earlier version wrote it. Run the study again; finished runs "
            "come from the store."
        )
    if (folder / "ledger.json").is_file():
        raise UsageError(f"{path}: is the report of a paper; its figures are in {folder / 'figures'}.")
    inside = sorted(p.parent.name for p in folder.glob(f"*/{STUDY}"))
    more = f" It holds the studies {', '.join(inside)}." if inside else _near(folder)
    raise UsageError(f"{path}: is not the folder of a finished study or run: it has no {STUDY} and no {RECORD}.{more}")


def _near(folder: Path) -> str:
    try:
        known = [p.name for p in folder.parent.iterdir() if (p / STUDY).is_file() or (p / RECORD).is_file()]
    except OSError:
        return ""
    guess = nearest(folder.name, known)
    return f" Did you mean {folder.with_name(guess)}?" if guess and guess != folder.name else ""


def _study(folder: Path) -> Table:
    import polars as pl

    head = _json(folder / STUDY)
    if head.get("format") != FORMAT:
        raise StoreError(f"{folder / STUDY}: of format {head.get('format')}; this version reads format {FORMAT}.")
    records = folder / RECORDS
    try:
        rows = pl.read_parquet(records).to_dicts()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"{records} cannot be read: {error}. Run the study again.") from None
    store = None if head.get("series") is None else (folder / str(head["series"]))
    runs = []
    for row in rows:
        kept = row["series"]
        series = SeriesFile(store / kept) if kept and store is not None else None
        record = Record(row["record"], row["record_hash"], series)
        runs.append(Run(row["point"], json.loads(row["labels"]), row["seed"], record, cached=True))
    engine = head.get("engine", "")
    origin = Origin(
        scenario=Scenario(head["scenario"], source=head.get("source")),
        seeds=tuple(head.get("seeds", ())),
        engine=engine if isinstance(engine, str) else ", ".join(engine),
        version=str(head.get("version", "")),
        command=str(head.get("command", "")),
    )
    return Table(runs, origin=origin)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}.") from None
    if not isinstance(found, dict):
        raise StoreError(f"{path} is damaged: it is no table.")
    return found


def run_files(record: Record, notes: Sequence[Note] = ()) -> dict[str, bytes]:
    """What a run's folder holds: its record as `run --json` prints it, its series as Parquet and CSV, trace as CSV."""
    document = {**record.json, "record_hash": record.record_hash, "notes": [note.to_json() for note in notes]}
    files = {RECORD: (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()}
    if record.series_names:
        frame = record.frame
        out = io.BytesIO()
        frame.write_parquet(out)
        files[SERIES] = out.getvalue()
        files["series.csv"] = csv_bytes(frame.filter(~frame["series"].str.starts_with(TRACE)))
        if record.is_traced:
            files["trace.csv"] = csv_bytes(record.trace())
    return files


def _record(folder: Path) -> Record:
    import numpy as np
    import polars as pl

    document = _json(folder / RECORD)
    record_hash = str(document.get("record_hash", ""))
    series: dict[str, tuple[bytes, bytes]] = {}
    if (folder / SERIES).is_file():
        try:
            frame = pl.read_parquet(folder / SERIES)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(f"{folder / SERIES} cannot be read: {error}.") from None
        for part in frame.partition_by("series", maintain_order=True):
            times, values = (part[c].to_numpy().astype("<f8") for c in ("time_s", "value"))
            series[part["series"][0]] = (np.ascontiguousarray(times).tobytes(), np.ascontiguousarray(values).tobytes())
    return Record(json.dumps(document, ensure_ascii=False), record_hash, series)
