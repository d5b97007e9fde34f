"""Result folders: a finished study or run, to be opened again.

A study's folder has two files:

- `study.json`: scenario with its `[sweep]`, seeds, command, engine, version, folder of the store.
- `records.parquet`, one row per run: point, seed, labels, record, and file and digest of its series in the store.

A run's folder has `record.json` and, where series were recorded, `series.parquet`. The JSON file is the head: it has
the SHA-256 of the other files and of itself, and is written last. `open_` refuses a folder that differs from its head.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError, UsageError, first_line, nearest
from ..scenario.scenario import Scenario
from .files import (
    csv_bytes,
    digest_of,
    make_folder,
    open_ordinary,
    read_json,
    reason,
    sync_folder,
    unwritable,
    write_whole,
)
from .locks import NO_LOCKS, Lock
from .record import TRACE, Record
from .store import SeriesFile
from .study import Origin, Run, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from .notes import Note
    from .store import Store

STUDY = "study.json"
RECORDS = "records.parquet"
RECORD = "record.json"
SERIES = "series.parquet"
LOCK = ".evenflow.lock"
FORMAT = 2
"""Of result folders; since 2 heads have digests."""
MOST_HEAD = 2**28
"""Bytes of a head: a record has a number for each of a million users."""
PATIENCE_S = 60.0
"""How long to wait for another command that writes into the folder."""
UNSTABLE = ("wall_s", "cpu_s")
"""Fields that differ between equal runs and are not saved."""


@contextlib.contextmanager
def replacing(folder: Path) -> Iterator[None]:
    """Lock a result folder and remove its head, so that it is refused until `seal` has written the next one.

    Raises:
        StoreError: it cannot be written, or another command writes into it.
    """
    with contextlib.ExitStack() as locked:
        try:
            make_folder(folder)
            try:
                locked.enter_context(Lock(folder / LOCK, exclusive=True, patience_s=PATIENCE_S))
                locked.callback((folder / LOCK).unlink, missing_ok=True)
            except TimeoutError:
                raise StoreError(
                    f"Another command writes its results into {folder}. Name another with --out."
                ) from None
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
            for head in (STUDY, RECORD):
                (folder / head).unlink(missing_ok=True)
            sync_folder(folder)
        except OSError as error:
            raise unwritable(folder, error) from None
        yield


def seal(folder: Path, head: str, document: Mapping[str, Any], files: Iterable[str]) -> Path:
    """Write the head of a result folder: the document with the digests of the other files and of itself."""
    digests = {name: digest_of(folder / name) for name in files}
    whole = {**document, "format": FORMAT, "files": digests}
    # other values become text; file names that are not UTF-8 become JSON escapes
    whole = json.loads(json.dumps(whole, default=str))
    text = json.dumps({**whole, "sha256": _digest(whole)}, ensure_ascii=False, indent=1) + "\n"
    write_whole(folder / head, text.encode(errors="backslashreplace"))
    return folder / head


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _unsealed(folder: Path, head: str) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The document of a head and the digests of the other files, if all are as they were written.

    Raises:
        StoreError: they are not, or cannot be read.
    """
    path = folder / head
    try:
        document = read_json(path, MOST_HEAD)
        if not isinstance(document, dict) or "sha256" not in document:
            found = document.get("format", 1) if isinstance(document, dict) else None
            raise StoreError(
                f"{path} has no digests (format {found}; this version reads format {FORMAT}): an earlier version wrote "
                "it, or it is damaged. Run the same command again; finished runs come from the store."
            )
        if document.pop("sha256") != _digest(document):
            raise ValueError("its digest differs")
        if document.pop("format") != FORMAT:
            raise StoreError(f"{path}: written by another version of Evenflow; this one reads format {FORMAT}.")
        files = document.pop("files")
        for name, sha256 in files.items():
            if digest_of(folder / name) != sha256:
                raise StoreError(
                    f"{folder / name} is missing or was changed: its digest differs from that in {head}. Run the same "
                    "command again; finished runs come from the store."
                )
    except OSError as error:
        named = Path(error.filename) if isinstance(error.filename, str) else path
        raise StoreError(f"{named} cannot be read: {reason(error)}.") from None
    except _DAMAGE as error:
        raise damaged(path, error) from None
    return document, files


def sealed(folder: Path) -> list[Path]:
    """The files of a result folder, as its head names them; not checked."""
    with contextlib.suppress(OSError, *_DAMAGE):
        head = next((folder / name for name in (STUDY, RECORD) if (folder / name).is_file()), None)
        return [] if head is None else [head, *(folder / name for name in read_json(head, MOST_HEAD)["files"])]
    return []


def study_records(table: Table, store: Store | None = None) -> bytes:
    """`records.parquet`: the same for the same study, however it was run."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for run in table.runs:
        document = {name: value for name, value in run.json.items() if name not in UNSTABLE}
        file = run.record.series_file if store is not None else None
        rows.append(
            {
                "point": run.point,
                "seed": run.seed,
                "labels": json.dumps(dict(run.labels), ensure_ascii=False),
                "record_hash": run.record.record_hash,
                "series": "" if store is None or file is None else os.path.relpath(file, store.folder),
                "series_sha256": "" if file is None else run.record.series_sha256,
                "record": json.dumps(document, ensure_ascii=False),
            }
        )
    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out, compression="zstd")
    return out.getvalue()


def study_head(
    table: Table, scenario: Scenario, folder: Path, *, command: str = "", store: Store | None = None
) -> dict[str, Any]:
    """The document of `study.json`."""
    from .._core import __version__

    engines = table.engines
    in_store = store is not None and any(run.record.series_file is not None for run in table)
    return {
        "title": scenario.title,
        "source": scenario.source,
        "command": command,
        "engine": engines[0] if len(engines) == 1 else engines,
        "version": str(__version__),
        "seeds": sorted({run.seed for run in table}),
        "points": len(table.points()),
        "runs": len(table),
        "records": RECORDS,
        "series": _beside(store.folder, folder) if store is not None and in_store else None,
        "scenario": scenario.written_out().tree,
    }


def _beside(store: Path, folder: Path) -> str:
    """The store as seen from the study's folder, so that both can be moved together."""
    try:
        return os.path.relpath(store.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(store.resolve())


def open_(path: str | Path) -> Table | Record:
    """A finished study's `Table`, or a run's `Record`, from the folder that `study` or `run --out` wrote.

    Raises:
        UsageError: no such folder, or neither a study's nor a run's.
        StoreError: damaged, changed, unfinished, or of another version.
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
    if (folder / "results.parquet").is_file() or (folder / SERIES).is_file():
        raise StoreError(
            f"{path}: has results, but no {STUDY} or {RECORD}: the command that writes it was interrupted or still "
            "runs. Run it again; finished runs come from the store."
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
    head, _ = _unsealed(folder, STUDY)
    store = None if head["series"] is None else folder / head["series"]
    try:
        runs = [_run(row, store) for row in _rows(folder / RECORDS).to_dicts()]
        engine = head["engine"]
        origin = Origin(
            scenario=Scenario(head["scenario"], source=head["source"]),
            seeds=tuple(head["seeds"]),
            engine=engine if isinstance(engine, str) else ", ".join(engine),
            version=head["version"],
            command=head["command"],
        )
    except _DAMAGE as error:
        raise damaged(folder / STUDY, error) from None
    return Table(runs, origin=origin)


def _rows(path: Path) -> pl.DataFrame:
    """A Parquet file; Polars takes no name that is no UTF-8."""
    import polars as pl

    try:
        with open_ordinary(path) as file:
            return pl.read_parquet(file)
    except (Exception, pl.exceptions.PanicException) as error:
        why = reason(error) if isinstance(error, OSError) else first_line(error)
        raise StoreError(f"{path} cannot be read: {why}.") from None


_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""Errors of reading a document of the wrong shape."""


def damaged(path: Path, error: BaseException) -> StoreError:
    """The message for a file that is not as Evenflow writes it."""
    return StoreError(f"{path} is damaged ({first_line(error)}). Run the same command again.")


def _run(row: Mapping[str, Any], store: Path | None) -> Run:
    """A row of `records.parquet`."""
    kept = row["series"]
    series = SeriesFile(store / kept, row["series_sha256"]) if kept and store is not None else None
    record = Record(row["record"], row["record_hash"], series)
    return Run(row["point"], json.loads(row["labels"]), row["seed"], record, cached=True)


def run_head(record: Record, notes: Sequence[Note] = ()) -> dict[str, Any]:
    """The document of `record.json`: the record as `run --json` prints it."""
    return {**record.json, "record_hash": record.record_hash, "notes": [note.to_json() for note in notes]}


def run_files(record: Record) -> dict[str, bytes]:
    """The files of a run's folder besides its head: series as Parquet and CSV, a trace as CSV."""
    files = {}
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

    document, files = _unsealed(folder, RECORD)
    series: dict[str, tuple[bytes, bytes]] = {}
    if SERIES in files:
        for part in _rows(folder / SERIES).partition_by("series", maintain_order=True):
            times, values = (part[c].to_numpy().astype("<f8") for c in ("time_s", "value"))
            series[part["series"][0]] = (np.ascontiguousarray(times).tobytes(), np.ascontiguousarray(values).tobytes())
    return Record(json.dumps(document, ensure_ascii=False), document["record_hash"], series)
