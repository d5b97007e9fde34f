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
from .cluster import first_line
from .files import csv_bytes, open_ordinary, read_json, reason
from .record import TRACE, Record
from .store import SeriesFile
from .study import Origin, Run, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .notes import Note
    from .store import Store

STUDY = "study.json"
RECORDS = "records.parquet"
RECORD = "record.json"
SERIES = "series.parquet"
FORMAT = 1
MOST_HEAD = 2**28
"""Bytes of a study's head or of a run's record: a number for each of a million users."""
UNSTABLE = ("wall_s", "cpu_s")
"""What differs between equal runs and is no part of a saved study."""
BESIDE = ("record_hash", "notes")
"""What a run's file has beside the record."""


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
        # names of files may be no UTF-8; what Python makes of them is written as JSON's escapes
        STUDY: (json.dumps(head, ensure_ascii=False, indent=1, default=str) + "\n").encode(errors="backslashreplace"),
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
    if head.get("format") == FORMAT and not _is_head(head):
        raise damaged(folder / STUDY)
    if head.get("format") != FORMAT:
        raise StoreError(f"{folder / STUDY}: of format {head.get('format')}; this version reads format {FORMAT}.")
    records = folder / RECORDS
    try:
        with open_ordinary(records) as file:  # Polars takes no name that is no UTF-8
            rows = pl.read_parquet(file).to_dicts()
    except (OSError, pl.exceptions.PolarsError) as error:
        why = reason(error) if isinstance(error, OSError) else first_line(error)
        raise StoreError(f"{records} cannot be read: {why}. Run the study again.") from None
    except (Exception, pl.exceptions.PanicException) as error:
        raise damaged(records, error) from None
    store = None if head.get("series") is None else (folder / str(head["series"]))
    try:
        runs = [_run(row, store) for row in rows]
    except _DAMAGE:
        raise damaged(records) from None
    engine = head.get("engine", "")
    try:
        scenario = Scenario(head["scenario"], source=head.get("source"))
    except (UsageError, RecursionError):
        raise damaged(folder / STUDY) from None
    origin = Origin(
        scenario=scenario,
        seeds=tuple(head.get("seeds", ())),
        engine=engine if isinstance(engine, str) else ", ".join(engine),
        version=str(head.get("version", "")),
        command=str(head.get("command", "")),
    )
    return Table(runs, origin=origin)


_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading a document of the wrong shape raises."""


def damaged(path: Path, error: BaseException | None = None) -> StoreError:
    """The sentence for a file that is not as Evenflow writes it: it may come from somebody else."""
    why = f" ({first_line(error)})" if error is not None else ""
    return StoreError(f"{path} is damaged{why}: make it again from its scenario.")


def _is_head(head: Mapping[str, Any]) -> bool:
    """Whether a study's head holds what its readers need, each of the right kind."""
    engine, seeds = head.get("engine", ""), head.get("seeds", [])
    return (
        isinstance(head.get("scenario"), dict)
        and isinstance(seeds, list)
        and all(type(seed) is int for seed in seeds)
        and (isinstance(engine, str) or (isinstance(engine, list) and all(isinstance(e, str) for e in engine)))
        and all(isinstance(head.get(name), (str, type(None))) for name in ("source", "series", "title"))
    )


def _run(row: Mapping[str, Any], store: Path | None) -> Run:
    """A row of `records.parquet`.

    Raises:
        _DAMAGE: it is none.
    """
    labels = json.loads(row["labels"])
    kept, point, seed = row["series"], row["point"], row["seed"]
    if not isinstance(labels, dict) or not all(isinstance(label, (str, int, float)) for label in labels.values()):
        raise ValueError("labels")
    if not (type(point) is int and type(seed) is int and isinstance(row["record_hash"], str)):
        raise TypeError("point")
    series = SeriesFile(store / kept) if kept and store is not None else None
    record = Record(row["record"], row["record_hash"], series)
    _require_record(record.json)
    return Run(point, labels, seed, record, cached=True)


def _require_record(document: Mapping[str, Any]) -> None:
    """Every record has tables of groups, links and stages.

    Raises:
        ValueError: this one has not.
    """
    for room in ("groups", "links"):
        tables = document[room]
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise ValueError(room)


def require_whole(found: Table | Record, folder: Path) -> None:
    """Look whether the numbers of a folder are those that were measured: each record has its hash beside it.

    Raises:
        StoreError: they are not.
    """
    records = [found] if isinstance(found, Record) else [run.record for run in found]
    path = folder / (RECORD if isinstance(found, Record) else RECORDS)
    for record in records:
        try:
            document = {name: value for name, value in record.json.items() if name not in BESIDE}
            measured = Record(json.dumps(document, ensure_ascii=False), "", record.raw_series)
            whole = measured.hash_as_of(int(document["record_version"])) == record.record_hash
        except (*_DAMAGE, OSError):
            whole = False
        if not whole:
            raise damaged(path)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path, MOST_HEAD)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from None
    if not isinstance(found, dict):
        raise damaged(path)
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
    try:
        _require_record(document)
    except _DAMAGE:
        raise damaged(folder / RECORD) from None
    record_hash = str(document.get("record_hash", ""))
    series: dict[str, tuple[bytes, bytes]] = {}
    if (folder / SERIES).is_file():
        try:
            with open_ordinary(folder / SERIES) as file:
                frame = pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            why = reason(error) if isinstance(error, OSError) else first_line(error)
            raise StoreError(f"{folder / SERIES} cannot be read: {why}.") from None
        except (Exception, pl.exceptions.PanicException) as error:
            raise damaged(folder / SERIES, error) from None
        if dict(frame.schema) != {"series": pl.String, "time_s": pl.Float64, "value": pl.Float64}:
            raise damaged(folder / SERIES)
        for part in frame.partition_by("series", maintain_order=True):
            times, values = (part[c].to_numpy().astype("<f8") for c in ("time_s", "value"))
            series[part["series"][0]] = (np.ascontiguousarray(times).tobytes(), np.ascontiguousarray(values).tobytes())
    return Record(json.dumps(document, ensure_ascii=False), record_hash, series)
