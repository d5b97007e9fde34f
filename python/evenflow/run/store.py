"""The run store: one SQLite row for each finished run, committed as it finishes; series as files.

Nothing that was finished is lost when a process is killed or a disk is full, and nothing damaged is believed: every
row and every file carries a checksum, and what does not match is computed again. Several processes may share a store.

Layout of a store folder: `runs.sqlite3` (table `runs`, records as JSON text; `carried`, `provenance`: runs of earlier
engines that stand for later ones) and `series/ab/<key>.npz` (one array
of shape (2, n) for each
series: times in s, values).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import logging
import os
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StoreError
from .record import Record

if TYPE_CHECKING:
    from .engine import Result

ENVIRONMENT = "EVENFLOW_STORE"
DEFAULT = Path("out") / "store"
BUSY_S = 60.0
"""How long to wait for another process that is writing."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    scenario_hash TEXT NOT NULL,
    seed INTEGER NOT NULL,
    engine TEXT NOT NULL,
    record_hash TEXT NOT NULL,
    series_sha256 TEXT,
    record TEXT NOT NULL,
    checksum TEXT NOT NULL
) WITHOUT ROWID
"""
_CARRIED = (
    "CREATE TABLE IF NOT EXISTS carried (key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS provenance (engine TEXT, source TEXT, document TEXT, PRIMARY KEY (engine, source))",
)
"""Keys of later engines that stand for a run of an earlier one, and by what right."""

T = TypeVar("T")


@cache
def _engine() -> str:
    from .. import _core

    return _core.ENGINE_ID


def key_of(scenario_hash: str, seed: int, engine: str | None = None) -> str:
    """A run's key: hash of the canonical scenario, the seed and the engine (this process's unless given)."""
    text = f"{scenario_hash}:{seed}:{engine or _engine()}"
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(key: str, seed: int, record_hash: str, series: str | None, record: str) -> str:
    return hashlib.sha256("\n".join((key, str(seed), record_hash, series or "", record)).encode()).hexdigest()


class Store:
    """A folder of finished runs. Use it from the thread that made it; other processes may use the same folder.

    Args:
        folder: made if it is not there; default: `EVENFLOW_STORE`, else `./out/store`.

    Raises:
        StoreError: it cannot be made or written.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get(ENVIRONMENT) or DEFAULT)
        self.recomputed = 0
        """Entries found damaged and thrown away, so that they are computed again."""
        self.warnings: list[str] = []
        self._file = self.folder / "runs.sqlite3"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store folder {self.folder} cannot be made: {_reason(error)}. "
                f"Name another with the environment variable {ENVIRONMENT}."
            ) from None
        self._db = self._open()

    def get(self, key: str) -> Record | None:
        """A finished run, or None if it is not there, or damaged (then it is thrown away)."""

        def read() -> tuple[int, str, str | None, str, str] | None:
            found: tuple[int, str, str | None, str, str] | None = self._db.execute(
                "SELECT seed, record_hash, series_sha256, record, checksum FROM runs WHERE key = ?", (key,)
            ).fetchone()
            return found

        row = self._guard(read)
        if row is None:
            carried = self._guard(lambda: self._db.execute("SELECT run FROM carried WHERE key = ?", (key,)).fetchone())
            return None if carried is None or carried[0] == key else self.get(carried[0])
        seed, record_hash, series_sha256, record, checksum = row
        series = self._series(key, series_sha256)
        try:
            sound = checksum == _checksum(key, seed, record_hash, series_sha256, record)
        except (TypeError, AttributeError):  # a column of another type than was written
            sound = False
        if not sound or series is None:
            self.recomputed += 1
            self._guard(lambda: self._db.execute("DELETE FROM runs WHERE key = ?", (key,)))
            return None
        return Record(record, record_hash, series)

    def put(self, key: str, scenario_hash: str, seed: int, result: Result) -> Record:
        """Keep a finished run; on return it survives the end of this process.

        Returns:
            The run's record, whose series are read from the store when they are looked at.

        Raises:
            StoreError: no space or no permission; what was kept before stays.
        """
        series_sha256 = self._write_series(key, result.series) if result.series else None
        checksum = _checksum(key, seed, result.record_hash, series_sha256, result.text)
        row = (key, scenario_hash, seed, result.engine, result.record_hash, series_sha256, result.text, checksum)
        self._guard(lambda: self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row))
        return Record(result.text, result.record_hash, SeriesFile(self._series_file(key)) if series_sha256 else {})

    def made_by(self, engine: str) -> list[tuple[str, str, int, str]]:
        """The runs of an engine: key, scenario hash, seed, record hash."""
        ask = "SELECT key, scenario_hash, seed, record_hash FROM runs WHERE engine = ?"
        return self._guard(lambda: self._db.execute(ask, (engine,)).fetchall())

    def carry(self, aliases: Sequence[tuple[str, str]], provenance: Mapping[str, Any]) -> None:
        """Let runs of an earlier engine stand for this one: all of them, or none.

        Args:
            aliases: (key of this engine, key of the run that stands for it).
            provenance: by what right (`papers.carry.Carried.to_json`).
        """
        document = (provenance["to"], provenance["from"], json.dumps(provenance, ensure_ascii=False))

        def write() -> None:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR REPLACE INTO carried VALUES (?, ?)", aliases)
                self._db.execute("INSERT OR REPLACE INTO provenance VALUES (?, ?, ?)", document)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

        self._guard(write)

    def provenance(self, engine: str) -> list[dict[str, Any]]:
        """By what right runs of earlier engines stand for this one, one document for each earlier engine."""
        ask = "SELECT document FROM provenance WHERE engine = ? ORDER BY source"
        return [json.loads(row[0]) for row in self._guard(lambda: self._db.execute(ask, (engine,)).fetchall())]

    def __len__(self) -> int:
        return int(self._guard(lambda: self._db.execute("SELECT count(*) FROM runs").fetchone()[0]))

    def close(self) -> None:
        """Fold the log into the database and let go of it."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the database

    def _open(self) -> sqlite3.Connection:
        for attempt in range(2):
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if attempt or not _is_corrupt(error):
                    raise self._sentence(error) from None
                self._move_aside()
        raise AssertionError("unreachable")

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._file, timeout=BUSY_S, isolation_level=None)
        try:
            # WAL: readers and one writer at once, and a killed process leaves no half of a row. Network drives
            # cannot; they get the rollback journal, which SQLite answers with by itself.
            _write_ahead(db)
            db.execute("PRAGMA synchronous = NORMAL")
            for statement in (_SCHEMA, *_CARRIED):
                db.execute(statement)
            found = db.execute("PRAGMA quick_check(1)").fetchone()
            if found is None or found[0] != "ok":
                raise sqlite3.DatabaseError("database disk image is malformed")
        except BaseException:
            db.close()
            raise
        return db

    def _move_aside(self) -> None:
        number = 1
        while (aside := self._file.with_name(f"{self._file.name}.damaged-{number}")).exists():
            number += 1
        try:
            self._file.rename(aside)
            for suffix in ("-wal", "-shm"):
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store {self._file} is damaged and cannot be moved aside: {_reason(error)}."
            ) from None
        message = f"The store {self._file} was damaged; it is kept as {aside.name}, and its runs are computed again."
        self.warnings.append(message)
        logging.getLogger("evenflow").warning(message)

    def _guard(self, work: Callable[[], T]) -> T:
        """Do something with the database; a damaged one is replaced, everything else becomes a sentence."""
        for attempt in range(2):
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if attempt or not _is_corrupt(error):
                    raise self._sentence(error) from None
                self.close()
                self._move_aside()
                self._db = self._open()
        raise AssertionError("unreachable")

    def _sentence(self, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if "full" in text or "disk I/O" in text:
            return _full(self.folder, text)
        if "locked" in text or "busy" in text:
            return StoreError(
                f"The store {self._file} has been locked by another process for {BUSY_S:.0f} s. Try again later."
            )
        return StoreError(
            f"The store {self._file} cannot be used: {text}. Name another with the environment variable {ENVIRONMENT}."
        )

    # --- series

    def _series_file(self, key: str) -> Path:
        return self.folder / "series" / key[:2] / f"{key}.npz"

    def _write_series(self, key: str, series: dict[str, tuple[bytes, bytes]]) -> str:
        """Write all series of a run into one file: beside its place, synced, then renamed. Returns the checksum."""
        import numpy as np

        buffer = io.BytesIO()
        arrays = {
            name: np.stack([np.frombuffer(times, "<f8"), np.frombuffer(values, "<f8")])
            for name, (times, values) in series.items()
        }
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        data = buffer.getvalue()
        path = self._series_file(key)
        write_whole(path, data)
        return hashlib.sha256(data).hexdigest()

    def _series(self, key: str, sha256: str | None) -> Mapping[str, tuple[bytes, bytes]] | None:
        """The series of a run, to be read when somebody looks; None if the file is not what was written."""
        if sha256 is None:
            return {}
        path = self._series_file(key)
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        return SeriesFile(path) if found == sha256 else None


class SeriesFile(Mapping[str, tuple[bytes, bytes]]):
    """A run's series on disk.

    (times, values) as little-endian f64 bytes, read anew at every look so that memory stays free. Where each series
    begins is read once: a look takes the same time however many series there are.

    Raises:
        StoreError: the file is gone or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts: dict[str, int] | None = None

    def _index(self) -> dict[str, int]:
        if self._starts is None:
            with self._readable(), zipfile.ZipFile(self.path) as file:
                self._starts = {i.filename.removesuffix(".npy"): i.header_offset for i in file.infolist()}
        return self._starts

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            why = _reason(error) if isinstance(error, OSError) else str(error)
            raise StoreError(
                f"The series in {self.path} cannot be read: {why}. Run the study again to have them computed."
            ) from None

    def __getitem__(self, name: str) -> tuple[bytes, bytes]:
        import numpy as np

        start = self._index()[name]
        with self._readable(), self.path.open("rb") as file:
            file.seek(start)
            header = file.read(30)
            if len(header) < 30 or header[:4] != b"PK\x03\x04" or header[8:10] != b"\x00\x00":
                raise ValueError(f"no series begins at byte {start}")
            # PKWARE's APPNOTE 4.3.7: after 30 bytes follow the name and the extra field, then the data, stored as is
            file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
            both = np.lib.format.read_array(file, allow_pickle=False)
        return both[0].tobytes(), both[1].tobytes()

    def __contains__(self, name: object) -> bool:
        return name in self._index()

    def __iter__(self) -> Iterator[str]:
        return iter(self._index())

    def __len__(self) -> int:
        return len(self._index())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is either there completely or not at all.

    Raises:
        StoreError: no space, no permission, a folder in the way.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> StoreError:
    """The sentence for a file that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return _full(path.parent, _reason(error))
    return StoreError(f"{path} cannot be written: {_reason(error)}. Name another folder with --out.")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into a sentence."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def _full(folder: Path, reason: str) -> StoreError:
    return StoreError(
        f"There is no space left for {folder} ({reason}). Finished runs are kept: make space and run the same command "
        "again to go on from there."
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. Unlike other statements this one does not wait for a lock by itself."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    return primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "malformed" in str(error)


def prepare(folder: Path) -> None:
    """Find out now, not after an hour of runs, whether results can be written.

    Raises:
        StoreError: they cannot.
    """
    probe = folder / ".writable"
    write_whole(probe, b"")
    probe.unlink(missing_ok=True)
