"""The run cache: finished runs in one SQLite file with a checksum per run; series in files.

- `runs.sqlite3`: table `runs` has records as compressed JSON. Tables `carried` and `provenance` have runs of earlier
  engines that count for later ones; `claims` and `owners` have active runs and their processes.
- `series/ab/<key>.npz`: one array of shape (2, n) per series, times in s and values
- `store.lock`: shared by all processes that have the database open
- `owners/<id>`: locked by each process that computes
- `failed/<scenario>-seed-<seed>.toml`: scenarios of runs that failed
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import os
import sqlite3
import tempfile
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StoreError
from ..scenario.toml_text import toml_text
from ..words import clean
from .files import digest_of, full, make_folder, open_ordinary, reason, sweep, sync_folder, unwritable, write_whole
from .locks import NO_LOCKS, Lock, Owner, require_locks
from .record import Record

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .engine import Result

__all__ = ["DEFAULT", "ENVIRONMENT", "Claimed", "SeriesFile", "Store", "key_of"]

ENVIRONMENT = "EVENFLOW_STORE"
DEFAULT = Path("out") / "store"
_ANOTHER = f"Name another folder with the environment variable {ENVIRONMENT}."
_LATER = "Try again later."
BUSY_S = 60.0
"""How long to wait for another process."""
BROKEN = "failed"
"""The folder of the scenarios of runs that broke."""
LEVEL = 6
"""Of zlib: a record with lists of 100 users, 20.7 kB of text, comes to 5.3 kB in 0.6 ms."""
LOOKED_AT = 2000
"""Most keys of one claim, so that it locks the database for milliseconds only."""
APPLICATION_ID = 0x4576464C
"""“EvFL” in the header of the database."""
VERSION = 2
"""Of the tables; rises whenever one of them changes."""
_TABLES = (
    """CREATE TABLE runs (
    key TEXT PRIMARY KEY,
    scenario_hash TEXT NOT NULL,
    seed INTEGER NOT NULL,
    engine TEXT NOT NULL,
    record_hash TEXT NOT NULL,
    series_sha256 TEXT,
    document TEXT NOT NULL,
    checksum TEXT NOT NULL
) WITHOUT ROWID""",
    "CREATE TABLE carried (key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE provenance (engine TEXT, source TEXT, document TEXT, PRIMARY KEY (engine, source))",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE owners (id TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID",  # place: 0, not used
)
_NETWORKS = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "fuse.sshfs", "fuse.glusterfs")

T = TypeVar("T")
Row = tuple[str, str, int, "Result"]
"""Key, scenario hash, seed and result of a finished run."""


class _Absent(Exception):
    """There is no database yet."""


class _Damaged(Exception):
    """The database is Evenflow's and is damaged."""


@dataclass(frozen=True)
class Claimed:
    """The answer of `Store.claim`: the keys that it looked at, in their order.

    Attributes:
        mine: for this process to compute; no other does until it has put them, released them, or died.
        finished: in the store, or carried.
        elsewhere: another living process computes them.
    """

    mine: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    @property
    def looked_at(self) -> int:
        """How many keys from the front were looked at."""
        return len(self.mine) + len(self.finished) + len(self.elsewhere)


@cache
def _engine() -> str:
    from .. import _core

    return _core.ENGINE_ID


def key_of(scenario_hash: str, seed: int, engine: str | None = None) -> str:
    """A run's key: hash of the canonical scenario, the seed and the engine (this process's unless given)."""
    text = f"{scenario_hash}:{seed}:{engine or _engine()}"
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(key: object, seed: object, record_hash: object, series: object, text: bytes) -> str:
    head = "\n".join(map(str, (key, seed, record_hash, series or "", "")))
    return hashlib.sha256(head.encode() + text).hexdigest()


def _sound(key: str, seed: Any, record_hash: Any, series: Any, document: Any, checksum: Any) -> str | None:
    """The record's text, or None if a column differs from the written one."""
    try:
        text = zlib.decompress(document) if isinstance(document, bytes) else str(document).encode()
    except zlib.error:
        return None
    return text.decode() if checksum == _checksum(key, seed, record_hash, series, text) else None


def default_folder() -> Path:
    """The folder of the environment, `~` expanded; else `./out/store`."""
    return Path(os.path.expanduser(os.environ.get(ENVIRONMENT) or DEFAULT))


class Store:
    """A folder of finished runs, for the thread that opened it; other processes may use the same folder.

    A folder without permission to write can be read: `read_only` is then true, and `put` and `claim` raise.

    Args:
        folder: made if it is missing; default: `EVENFLOW_STORE`, else `./out/store`.

    Raises:
        StoreError: it cannot be made, read or written; it belongs to another program or another version.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder else default_folder()
        self.recomputed = 0
        """Damaged runs that were discarded, to be recomputed."""
        self.warnings: list[str] = []
        self._file = self.folder / "runs.sqlite3"
        self._user = (os.getpid(), threading.get_ident())
        self._owner: Owner | None = None
        self._claims: set[str] = set()
        try:
            make_folder(self.folder)
        except OSError as error:
            raise StoreError(f"The store folder {self.folder} cannot be made: {reason(error)}. {_ANOTHER}") from None
        self.read_only = not os.access(self.folder, os.W_OK | os.X_OK) or (
            self._file.exists() and not os.access(self._file, os.W_OK)
        )
        """Whether runs can only be read from it."""
        self._open()
        if not self.read_only:
            for part in (self.folder / "series").glob("??"):
                sweep(part)

    # --- runs

    def get(self, key: str) -> Record | None:
        """A finished run, or None if it is missing or damaged; then it is discarded.

        Raises:
            StoreError: it cannot be read at present; it stays.
        """
        run = self._do(lambda: self._run_of(key))
        if run is None:
            return None
        found = self._do(lambda: self._record(run))
        if found is None:
            self.recomputed += 1
            if not self.read_only:
                self._write(lambda: self._discard(key, run))
        return found

    def _run_of(self, key: str) -> str | None:
        """The key of the row: this one, or the one that was carried for it."""
        if self._db.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone() is not None:
            return key
        found = self._db.execute("SELECT run FROM carried WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def _record(self, key: str) -> Record | None:
        """The record of a row; None if row or series are missing or differ from the written ones."""
        ask = "SELECT seed, record_hash, series_sha256, document, checksum FROM runs WHERE key = ?"
        try:
            row = self._db.execute(ask, (key,)).fetchone()
            text = None if row is None else _sound(key, *row)
            if text is None:
                return None
            if row[2] is None:
                return Record(text, row[1])
            path = self._series_file(key)
            return Record(text, row[1], SeriesFile(path, row[2])) if digest_of(path) == row[2] else None
        except (OSError, MemoryError) as error:
            named = getattr(error, "filename", None) or self._file
            raise StoreError(
                f"{named} cannot be read: {reason(error)}. Its run is kept; run the same command again."
            ) from None

    def _discard(self, key: str, run: str) -> None:
        if self._record(run) is None:  # else another process has put it again
            self._db.execute("DELETE FROM runs WHERE key = ?", (run,))
            self._db.execute("DELETE FROM carried WHERE key = ?", (key,))

    def there(self, keys: Sequence[str]) -> set[str]:
        """Which of these are in the store, or carried; `get` checks them."""
        wanted = "WHERE key IN (SELECT value FROM json_each(:keys))"
        ask = f"SELECT key FROM runs {wanted} UNION SELECT key FROM carried {wanted}"
        given = {"keys": json.dumps(list(keys))}
        return self._do(lambda: {key for (key,) in self._db.execute(ask, given)})

    def put(self, key: str, scenario_hash: str, seed: int, result: Result) -> Record:
        """Keep a finished run: on return it survives the end of this process and a power cut.

        Returns:
            The run's record, whose series are read from the store when needed.

        Raises:
            StoreError: no space or no permission; earlier runs stay.
        """
        return self.put_all([(key, scenario_hash, seed, result)])[0]

    def put_all(self, runs: Sequence[Row]) -> list[Record]:
        """Keep finished runs in one transaction. See `put`."""
        self._require_writable()
        rows, records = [], []
        for key, scenario_hash, seed, result in runs:
            sha256 = self._write_series(key, result.series) if result.series else None
            text = result.text.encode()
            checksum = _checksum(key, seed, result.record_hash, sha256, text)
            document = zlib.compress(text, LEVEL)
            rows.append((key, scenario_hash, seed, result.engine, result.record_hash, sha256, document, checksum))
            series = SeriesFile(self._series_file(key), sha256) if sha256 else {}
            records.append(Record(result.text, result.record_hash, series))

        def work() -> None:
            self._db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM claims WHERE key = ?", [(row[0],) for row in rows])

        self._write(work)
        self._claims.difference_update(row[0] for row in rows)
        return records

    def keep_broken(self, scenario: Scenario, seed: int, why: str) -> Path:
        """Write the scenario of a run that broke, so that it can be repeated. Returns the file.

        Raises:
            StoreError: it cannot be written.
        """
        file = self.folder / BROKEN / f"{scenario.hash[:16]}-seed-{seed}.toml"
        said = [
            *clean(why).splitlines(),
            f"Engine {_engine()}; to run it again: evenflow run {file.name} --seed {seed}",
        ]
        comments = "".join(f"# {line}\n" for line in said)
        write_whole(file, f"{comments}\n{toml_text(scenario.written_out().without_sweep().tree)}".encode(), _ANOTHER)
        return file

    def made_by(self, engine: str) -> list[tuple[str, str, int, str]]:
        """The runs of an engine: key, scenario hash, seed, record hash. Damaged rows are left out."""
        columns = "key, scenario_hash, seed, record_hash, series_sha256, document, checksum"

        ask = f"SELECT {columns} FROM runs WHERE engine = ?"
        return self._do(
            lambda: [
                (key, scenario_hash, seed, record_hash)
                for key, scenario_hash, seed, record_hash, *rest in self._db.execute(ask, (engine,))
                if _sound(key, seed, record_hash, *rest) is not None
            ]
        )

    def carry(self, aliases: Sequence[tuple[str, str]], provenance: Mapping[str, Any]) -> None:
        """Let runs of an earlier engine count for this one: all of them, or none.

        Args:
            aliases: (key of this engine, key of the earlier run).
            provenance: the proof (`papers.carry.Carried.to_json`).
        """
        self._require_writable()
        document = (provenance["to"], provenance["from"], json.dumps(provenance, ensure_ascii=False))

        def work() -> None:
            self._db.executemany("INSERT OR REPLACE INTO carried VALUES (?, ?)", aliases)
            self._db.execute("INSERT OR REPLACE INTO provenance VALUES (?, ?, ?)", document)

        self._write(work)

    def provenance(self, engine: str) -> list[dict[str, Any]]:
        """The proofs for runs of earlier engines that count for this one, one for each earlier engine."""
        ask = "SELECT document FROM provenance WHERE engine = ? ORDER BY source"
        found = []
        for (text,) in self._do(lambda: self._db.execute(ask, (engine,)).fetchall()):
            with contextlib.suppress(TypeError, ValueError, RecursionError):  # damaged
                found.append(json.loads(text))
        return [document for document in found if isinstance(document, dict)]

    def __len__(self) -> int:
        return int(self._do(lambda: self._db.execute("SELECT count(*) FROM runs").fetchone()[0]))

    # --- claims of work

    def claim(self, keys: Iterable[str], most: int) -> Claimed:
        """Claim runs to compute, in the order given, until `most` are this process's.

        A claim lasts until the run is put or released, or until this process ends. Claims of dead processes are taken
        over. Few keys are looked at: ask again where `looked_at` is less than their number.

        Raises:
            StoreError: the store cannot be written.
        """
        self._require_writable()
        wanted = list(islice(keys, LOOKED_AT))

        def work() -> Claimed:
            owner = self._join()
            found = Claimed()
            alive = {owner.id: False}
            for key in wanted:
                if len(found.mine) == most:
                    break
                if self._run_of(key) is not None:
                    found.finished.append(key)
                    continue
                other = self._db.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
                if other is not None and other[0] not in alive:
                    alive[other[0]] = owner.sees_alive(other[0])
                (found.elsewhere if other is not None and alive[other[0]] else found.mine).append(key)
            claims = [(key, owner.id) for key in found.mine]
            self._db.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", claims)
            return found

        found = self._write(work, durable=False)
        self._claims.update(found.mine)
        return found

    def release(self, keys: Sequence[str] | None = None) -> None:
        """Give claims of this process back: all of them, or those of some keys."""
        if self._owner is None:
            return
        given = [(self._owner.id, key) for key in (self._claims if keys is None else keys)]
        self._claims.difference_update([key for _, key in given])
        ask = "DELETE FROM claims WHERE owner = ? AND key = ?"
        self._write(lambda: self._db.executemany(ask, given), durable=False)

    def _join(self) -> Owner:
        """This process among the owners, and its claims if the database is new. Only within a transaction."""
        if self._owner is None:
            self._owner = Owner(self.folder / "owners")
            weakref.finalize(self, self._owner.close)
        owner = self._owner
        if self._db.execute("SELECT 1 FROM owners WHERE id = ?", (owner.id,)).fetchone() is None:
            for (other,) in self._db.execute("SELECT id FROM owners").fetchall():
                if not owner.sees_alive(other):
                    self._db.execute("DELETE FROM owners WHERE id = ?", (other,))
                    self._db.execute("DELETE FROM claims WHERE owner = ?", (other,))
            self._db.execute("INSERT INTO owners VALUES (?, 0)", (owner.id,))
            mine = [(key, owner.id) for key in self._claims]
            self._db.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?)", mine)
        return owner

    # --- end

    def close(self) -> None:
        """Give claims back and close the database."""
        if not self._finalizer.alive or self._user[0] != os.getpid():
            return
        owner = self._owner
        if owner is not None:

            def work() -> None:
                self._db.execute("DELETE FROM claims WHERE owner = ?", (owner.id,))
                self._db.execute("DELETE FROM owners WHERE id = ?", (owner.id,))

            with contextlib.suppress(StoreError):
                self._write(work, durable=False)
            owner.close()
        self._finalizer()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the database

    def _do(self, work: Callable[[], T]) -> T:
        """Use the database. A damaged one is replaced once; other errors become messages."""
        if self._user != (os.getpid(), threading.get_ident()):
            raise StoreError(f"The store {self.folder} was opened by another thread or process; open it here as well.")
        try:
            return work()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if self.read_only or not _is_damage(error):
                raise self._message(error) from None
        self._finalizer()
        self._open(suspect=True)
        try:
            return work()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._message(error) from None

    def _write(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """Do something in one transaction: all of it or nothing.

        Args:
            durable: on the disk before this returns; else a power cut may undo it.
        """

        def transaction() -> T:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                done = work()
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                raise
            return done

        try:
            return self._do(transaction)
        except OSError as error:  # of the owner's file
            raise self._refused(error) from None

    def _open(self, *, suspect: bool = False) -> None:
        """Open the database; under the exclusive lock make a missing one and move a damaged one aside.

        A process with the database open holds the lock shared: SQLite removes the log by its name when it closes, so a
        database is renamed only while no process has it open.

        Args:
            suspect: it was found damaged, so all of it is checked.
        """
        path = self.folder / "store.lock"
        try:
            if self.read_only:
                return self._open_read_only()
            for _ in range(3):
                with contextlib.ExitStack() as opened:
                    opened.enter_context(Lock(path, exclusive=False, patience_s=BUSY_S))
                    with contextlib.suppress(_Absent, _Damaged):
                        return self._own(self._checked(suspect), opened)
                with Lock(path, exclusive=True, patience_s=BUSY_S):
                    try:
                        self._checked(suspect).close()
                    except _Absent:
                        self._make()
                    except _Damaged:
                        self._move_aside()
                        self._make()
        except sqlite3.Error as error:
            raise self._message(error) from None
        except TimeoutError:
            raise StoreError(
                f"The store {self._file} is missing or damaged, and locked by another process. {_LATER}"
            ) from None
        except OSError as error:
            raise self._refused(error) from None
        raise self._damaged("does not stay whole")

    def _open_read_only(self) -> None:
        """The database as it is; a copy where its log would need files that cannot be made."""
        log = Path(f"{self._file}-wal")
        try:
            with contextlib.suppress(FileNotFoundError):
                open_ordinary(self._file).close()
        except OSError as error:
            raise StoreError(f"{self._file} cannot be read: {reason(error)}. {_ANOTHER}") from None
        try:
            with contextlib.ExitStack() as opened:
                if not log.exists() or log.stat().st_size == 0:
                    return self._own(self._checked(mode="ro&immutable=1"), opened)
                folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="evenflow-store-"))
                copy = Path(folder) / self._file.name
                copy.write_bytes(self._file.read_bytes())
                Path(f"{copy}-wal").write_bytes(log.read_bytes())
                return self._own(self._checked(file=copy, mode="rwc"), opened)
        except _Absent:
            raise StoreError(f"The store {self.folder} can only be read, and holds no runs. {_ANOTHER}") from None
        except _Damaged:
            raise self._damaged("can only be read") from None

    def _own(self, db: sqlite3.Connection, opened: contextlib.ExitStack) -> None:
        """Use a database until this object ends; then what was opened is closed, the database first."""
        opened.callback(db.close)
        self._db = db
        self._finalizer = weakref.finalize(self, _close, opened.pop_all(), os.getpid())

    def _checked(self, thorough: bool = False, *, file: Path | None = None, mode: str = "rw") -> sqlite3.Connection:
        """The database, if it is Evenflow's, of this version and whole.

        Raises:
            _Absent, _Damaged: it is not there, or not whole.
            StoreError: it belongs to another program or another version; it stays untouched.
        """
        for suffix in ("", "-wal", "-journal"):  # SQLite would wait for a pipe
            part = Path(f"{self._file}{suffix}")
            if part.exists() and not part.is_file():
                raise StoreError(f"The store {part} is no file. {_ANOTHER}")
        if not self._file.exists():
            raise _Absent
        db = _connected(file or self._file, mode)
        try:
            program = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
            if not tables and program in (0, APPLICATION_ID):
                raise _Absent
            if program != APPLICATION_ID:
                raise StoreError(f"{self._file} is another program's database (application_id {program}). {_ANOTHER}")
            if version != VERSION:
                age = "a later" if version > VERSION else "an earlier"
                raise StoreError(
                    f"The store {self._file} was written by {age} version of Evenflow (format {version}; this one "
                    f"reads format {VERSION}). {_ANOTHER}"
                )
            check = "integrity_check" if thorough else "quick_check"
            if tables != set(_TABLES) or db.execute(f"PRAGMA {check}(1)").fetchone() != ("ok",):
                raise _Damaged
            if mode == "rw":
                db.execute(f"PRAGMA journal_mode = {self._journal()}")
        except BaseException as error:
            db.close()
            if _is_damage(error):
                raise _Damaged from None
            raise
        return db

    def _journal(self) -> str:
        """WAL lets readers and a writer work at once, but only within one machine."""
        return "DELETE" if _on_network(self.folder) else "WAL"

    def _make(self) -> None:
        """Make the database. Only under the exclusive lock."""
        require_locks(self.folder)
        with contextlib.closing(_connected(self._file, "rwc")) as db:
            db.execute(f"PRAGMA journal_mode = {self._journal()}")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("COMMIT")
        sync_folder(self.folder)

    def _move_aside(self) -> None:
        """Rename the damaged database and its log. Only under the exclusive lock."""
        number = 1
        while os.path.lexists(aside := self.folder / f"{self._file.name}.damaged-{number}"):
            number += 1
        for suffix in ("-wal", "-journal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self._file}{suffix}", f"{aside}{suffix}")
        sync_folder(self.folder)
        self.warnings.append(
            f"The store {self._file} was damaged; it is kept as {aside.name}, and its runs are computed again."
        )
        logging.getLogger("evenflow").warning(self.warnings[-1])

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"The store {self.folder} can only be read, so nothing can be kept there. {_ANOTHER}")

    # --- messages

    def _refused(self, error: OSError) -> StoreError:
        path = Path(error.filename) if isinstance(error.filename, str) else self._file
        if error.errno in NO_LOCKS:
            return StoreError(f"The filesystem of {path} has no file locks ({reason(error)}). {_ANOTHER}")
        return unwritable(path, error, _ANOTHER)

    def _damaged(self, why: str) -> StoreError:
        return StoreError(f"The store {self._file} is damaged and {why}. {_ANOTHER}")

    def _message(self, error: Exception) -> StoreError:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary == sqlite3.SQLITE_FULL:
            return full(self.folder, str(error))
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            try:
                require_locks(self.folder)
            except OSError as missing:
                if missing.errno in NO_LOCKS:
                    return self._refused(missing)
            return StoreError(f"The store {self._file} has been locked by another process for {BUSY_S:.0f} s. {_LATER}")
        if primary == sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "")
            return StoreError(
                f"The disk of the store {self._file} failed or is full ({error}, {name}). Finished runs are kept. "
                f"Check the disk, then run the same command again. {_ANOTHER}"
            )
        if _is_damage(error):
            return self._damaged("can only be read" if self.read_only else "does not stay whole")
        return StoreError(f"The store {self._file} cannot be used: {error}. {_ANOTHER}")

    # --- series

    def _series_file(self, key: str) -> Path:
        return self.folder / "series" / key[:2] / f"{key}.npz"

    def _write_series(self, key: str, series: dict[str, tuple[bytes, bytes]]) -> str:
        """Write all series of a run into one file; equal series give equal bytes. Returns its SHA-256."""
        import numpy as np

        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, (times, values) in series.items():
                both = np.stack([np.frombuffer(times, "<f8"), np.frombuffer(values, "<f8")])
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, both, allow_pickle=False)
        data = buffer.getbuffer()
        write_whole(self._series_file(key), data, _ANOTHER)
        return hashlib.sha256(data).hexdigest()


class SeriesFile(Mapping[str, tuple[bytes, bytes]]):
    """A run's series on disk: (times, values) as little-endian f64 bytes.

    Each access reads its series only. The places of the series in the file are read once.

    Args:
        sha256: of the file, checked at the first access.

    Raises:
        StoreError: the file is missing or damaged.
    """

    def __init__(self, path: Path, sha256: str) -> None:
        self.path = path
        self.sha256 = sha256
        self._starts: dict[str, int] | None = None

    def _index(self) -> dict[str, int]:
        if self._starts is None:
            with self._readable(), open_ordinary(self.path) as opened, zipfile.ZipFile(opened) as file:
                if digest_of(self.path) != self.sha256:
                    raise ValueError("it was changed")
                self._starts = {i.filename.removesuffix(".npy"): i.header_offset for i in file.infolist()}
        return self._starts

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            raise StoreError(
                f"The series in {self.path} cannot be read: {reason(error)}. Run the study again to recompute them."
            ) from None

    def __getitem__(self, name: str) -> tuple[bytes, bytes]:
        import numpy as np

        start = self._index()[name]
        with self._readable(), open_ordinary(self.path) as file:
            file.seek(start)
            header = file.read(30)
            if len(header) < 30 or header[:4] != b"PK\x03\x04" or header[8:10] != b"\x00\x00":
                raise ValueError(f"no series begins at byte {start}")
            # PKWARE's APPNOTE 4.3.7: after 30 bytes follow the name and the extra field, then the data, uncompressed
            file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
            both = np.lib.format.read_array(file, allow_pickle=False)
        return both[0].tobytes(), both[1].tobytes()

    def __contains__(self, name: object) -> bool:
        return name in self._index()

    def __iter__(self) -> Iterator[str]:
        return iter(self._index())

    def __len__(self) -> int:
        return len(self._index())


def _connected(file: Path, mode: str) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)
    db.text_factory = lambda text: text.decode("utf-8", "replace")  # judged by the checksum
    return db


def _close(opened: contextlib.ExitStack, process: int) -> None:
    """Close the database and give its lock back. In a forked child both belong to the parent."""
    if process == os.getpid():
        with contextlib.suppress(sqlite3.Error, OSError):
            opened.close()


def _is_damage(error: BaseException) -> bool:
    """Whether an error shows a damaged database. Errors of the disk, of memory and of locks do not."""
    if isinstance(error, UnicodeDecodeError):  # a message of SQLite with damaged text
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, sqlite3.Error) and (
        code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        or any(words in str(error) for words in ("malformed", "unsupported file format", "no such table"))
    )


def _on_network(folder: Path) -> bool:
    """Whether machines share the filesystem of a folder."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        device = folder.stat().st_dev
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = {line.split(" - ")[1].split()[0] for line in mounts if line.split()[2] == wanted and " - " in line}
    return any(kind.startswith(_NETWORKS) for kind in kinds)
