"""The run store: one SQLite row for each finished run, committed as it finishes; series as files.

Nothing that was finished is lost when a process is killed, the power fails or a disk is full, and nothing damaged is
believed: every row and every file carries a checksum, and what does not match is computed again. Processes may share a
store: each claims the runs that it is about to compute, so that no run is computed twice.

Layout of a store folder: `runs.sqlite3` (table `runs`, records as JSON text compressed by zlib; `carried`,
`provenance`: runs of earlier engines that stand for later ones; `claims`, `owners`: who computes what at present),
`series/ab/<key>.npz` (one array of shape (2, n) for each series: times in s, values), `store.lock`, and
`owners/<id>`, a locked file for each process that computes (`locks.py`); `failed/<scenario>-seed-<seed>.toml`, the
scenarios of runs that broke.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import json
import logging
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StoreError
from ..scenario.toml_text import toml_text
from ..words import clean
from .files import (
    csv_bytes,
    full,
    make_folder,
    open_ordinary,
    out_of_space,
    prepare,
    reason,
    sweep,
    sync_folder,
    unwritable,
    write_whole,
    writing,
)
from .locks import FileLock, Owner
from .record import Record

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .engine import Result

__all__ = [
    "DEFAULT",
    "ENVIRONMENT",
    "Claimed",
    "SeriesFile",
    "Store",
    "csv_bytes",
    "key_of",
    "prepare",
    "unwritable",
    "write_whole",
    "writing",
]

ENVIRONMENT = "EVENFLOW_STORE"
DEFAULT = Path("out") / "store"
_ANOTHER = f"Name another folder with the environment variable {ENVIRONMENT}."
BUSY_S = 60.0
"""How long to wait for another process that is writing."""
BROKEN = "failed"
"""The folder of the scenarios of runs that broke."""
_BESIDE = ("-wal", "-journal", "-shm", "")
"""How the names of a database's files go on; the database itself last."""
_RESCUE = ".rescue-"
ASKED = 500
"""Keys that one query asks for; SQLite's least limit of variables is 999."""
LOOKED_AT = 2000
"""Most keys that one claim looks at, so that it holds the database for milliseconds only."""

APPLICATION_ID = 0x4576464C
"""“EvFL” in the header of the database: it is a run store."""
VERSION = 2
"""Of the tables; rises whenever one of them changes. Since 2 records are compressed, in a column of another name."""
MOST_RECORD = 2**30
"""Bytes of the longest record's text: lists of 64 million users."""
PIECE = 2**24
"""Bytes of a record's text that are looked at at once."""
_LIKELY_VERSION = 63
"""Beyond this a version is taken for damage: they count up from 1."""
LEVEL = 6
"""Of zlib: a record with lists of 100 users, 20.7 kB of text, comes to 5.3 kB in 0.6 ms."""
_TABLES = {
    "runs": """CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    scenario_hash TEXT NOT NULL,
    seed INTEGER NOT NULL,
    engine TEXT NOT NULL,
    record_hash TEXT NOT NULL,
    series_sha256 TEXT,
    document TEXT NOT NULL,
    checksum TEXT NOT NULL
) WITHOUT ROWID""",
    # keys of later engines that stand for a run of an earlier one, and by what right
    "carried": "CREATE TABLE IF NOT EXISTS carried (key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID",
    "provenance": "CREATE TABLE IF NOT EXISTS provenance "
    "(engine TEXT, source TEXT, document TEXT, PRIMARY KEY (engine, source))",
    # runs that are being computed, and the processes that compute them with their places in line
    "claims": "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
    "owners": "CREATE TABLE IF NOT EXISTS owners (id TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID",
}
_BEFORE_CLAIMS = ("runs", "carried", "provenance")
"""The tables of stores before version 1; the latter two came later than the first."""
_OF_VERSION_1 = "record"
"""The column `document` up to version 1, when it held the text itself: a program of that time refuses what it cannot
read instead of taking it for damage."""
_LEFT_IN_SERIES = re.compile(r"\..+\.npz\..+|\.[0-9a-f]{40}\..+")
"""Files of series that are being written, by this version and by earlier ones."""

_NETWORKS = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "fuse.sshfs", "fuse.glusterfs")

T = TypeVar("T")
Identity = tuple[int, int]


class _Damaged(Exception):
    """The database is ours and cannot be believed."""


class _Unready(Exception):
    """There is no database yet, or one of an earlier version."""


@dataclass(frozen=True)
class Claimed:
    """What `Store.claim` found out about the keys that it looked at, in their order.

    Attributes:
        mine: this process computes them; nobody else does until it has put them, released them, or died.
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


def _checksum(key: str, seed: int, record_hash: str, series: str | None, record: Iterable[bytes]) -> str:
    """Of a row; the record's text comes in pieces."""
    made = hashlib.sha256("\n".join((key, str(seed), record_hash, series or "", "")).encode())
    for piece in record:
        made.update(piece)
    return made.hexdigest()


def _pieces(packed: bytes) -> Iterator[bytes]:
    """A compressed record in pieces, so that a damaged row takes no more memory than a small one.

    Raises:
        zlib.error: it is damaged, or longer than any record.
    """
    unpacking, length = zlib.decompressobj(), 0
    while not unpacking.eof:
        piece = unpacking.decompress(packed, PIECE)
        packed = unpacking.unconsumed_tail
        length += len(piece)
        if (not piece and not packed and not unpacking.eof) or length > MOST_RECORD:
            raise zlib.error("it ends early, or never")
        yield piece


class Store:
    """A folder of finished runs. Use it from the thread that made it; other processes may use the same folder.

    A folder that may not be written can be read: `read_only` is then true, and `put` and `claim` raise.

    Args:
        folder: made if it is not there; default: `EVENFLOW_STORE`, else `./out/store`.

    Raises:
        StoreError: it cannot be made, read or written; it is another program's, or of a later version.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get(ENVIRONMENT) or DEFAULT)
        self.recomputed = 0
        """Entries found damaged and thrown away, so that they are computed again."""
        self.warnings: list[str] = []
        self._file = self.folder / "runs.sqlite3"
        self._lock = FileLock(self.folder / "store.lock", lambda: BUSY_S)
        self._owner: Owner | None = None
        self._claims: set[str] = set()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            make_folder(self.folder)
        except OSError as error:
            raise StoreError(
                f"The store folder {self.folder} cannot be made: {reason(error)}. "
                f"Name another with the environment variable {ENVIRONMENT}."
            ) from None
        self.read_only = self._is_read_only()
        """Whether runs can only be read from it."""
        if self.read_only:
            self._db = self._open_read_only()
            self._identity = _identity(self._file)
        else:
            self._db = self._open()
            sweep(self._series_folders(), _LEFT_IN_SERIES)
        self._own()

    # --- runs

    def get(self, key: str) -> Record | None:
        """A finished run, or None if it is not there, or damaged (then it is thrown away)."""
        row = self._guard(lambda: self._row(key))
        if row is None:
            carried = self._guard(lambda: self._db.execute("SELECT run FROM carried WHERE key = ?", (key,)).fetchone())
            if carried is None:
                return None
            run = carried[0]  # a run itself: a row that leads to another such row is damage
            row = self._guard(lambda: self._row(run))
            found = None if row is None else self._believed(run, row)
            if found is None:
                if row is not None:
                    self._throw_away(run)
                self._throw_away(key)
            return found
        found = self._believed(key, row)
        if found is None:
            self._throw_away(key)
        return found

    def there(self, keys: Sequence[str]) -> set[str]:
        """Which of these are in the store, or carried; whether they can be believed, `get` says."""
        found: set[str] = set()

        def work(some: Sequence[str]) -> None:
            marks = ", ".join("?" * len(some))
            for table in ("runs", "carried"):
                found.update(
                    key for (key,) in self._db.execute(f"SELECT key FROM {table} WHERE key IN ({marks})", some)
                )

        for at in range(0, len(keys), ASKED):
            self._guard(partial(work, keys[at : at + ASKED]))
        return found

    def _row(self, key: str) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._db.execute(
            "SELECT seed, record_hash, series_sha256, document, checksum FROM runs WHERE key = ?", (key,)
        ).fetchone()
        return found

    def _believed(self, key: str, row: Sequence[Any]) -> Record | None:
        """The record of a row, if row and series are what was written."""
        seed, record_hash, series_sha256, document, checksum = row
        record = _sound(key, seed, record_hash, series_sha256, document, checksum)
        if record is None:
            return None
        series = self._series(key, series_sha256)
        return None if series is None else Record(record, record_hash, series)

    def _throw_away(self, key: str) -> None:
        """Delete what is kept of a run, unless another process has put it anew meanwhile."""
        self.recomputed += 1
        if self.read_only:
            return

        def work() -> None:
            row = self._row(key)
            if row is not None and self._believed(key, row) is None:
                self._db.execute("DELETE FROM runs WHERE key = ?", (key,))
                row = None
            if row is None:
                self._db.execute("DELETE FROM carried WHERE key = ?", (key,))

        self._write(work)

    def put(self, key: str, scenario_hash: str, seed: int, result: Result) -> Record:
        """Keep a finished run; on return it survives the end of this process, and a power cut.

        Returns:
            The run's record, whose series are read from the store when they are looked at.

        Raises:
            StoreError: no space or no permission; what was kept before stays.
        """
        return self.put_all([(key, scenario_hash, seed, result)])[0]

    def put_all(self, runs: Sequence[tuple[str, str, int, Result]]) -> list[Record]:
        """Keep finished runs, all in one transaction: (key, scenario hash, seed, result). See `put`."""
        self._require_writable()
        rows, records = [], []
        for key, scenario_hash, seed, result in runs:
            sha256 = self._write_series(key, result.series) if result.series else None
            text = result.text.encode()
            checksum = _checksum(key, seed, result.record_hash, sha256, [text])
            document = zlib.compress(text, LEVEL)
            rows.append((key, scenario_hash, seed, result.engine, result.record_hash, sha256, document, checksum))
            series = SeriesFile(self._series_file(key)) if sha256 else {}
            records.append(Record(result.text, result.record_hash, series))

        def work() -> None:
            self._db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM claims WHERE key = ?", [(row[0],) for row in rows])

        self._write(work)
        self._claims.difference_update(row[0] for row in rows)
        return records

    def keep_broken(self, scenario: Scenario, seed: int, why: str) -> Path:
        """Write the scenario of a run that broke, so that it can be run again by itself. Returns the file.

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
        ask = (
            "SELECT key, scenario_hash, seed, record_hash, series_sha256, document, checksum FROM runs WHERE engine = ?"
        )

        def work() -> list[tuple[str, str, int, str]]:
            return [
                (key, scenario_hash, seed, record_hash)
                for key, scenario_hash, seed, record_hash, *rest in self._db.execute(ask, (engine,))
                if _sound(key, seed, record_hash, *rest) is not None
            ]

        return self._guard(work)

    def carry(self, aliases: Sequence[tuple[str, str]], provenance: Mapping[str, Any]) -> None:
        """Let runs of an earlier engine stand for this one: all of them, or none.

        Args:
            aliases: (key of this engine, key of the run that stands for it).
            provenance: by what right (`papers.carry.Carried.to_json`).
        """
        self._require_writable()
        document = (provenance["to"], provenance["from"], json.dumps(provenance, ensure_ascii=False))

        def work() -> None:
            self._db.executemany("INSERT OR REPLACE INTO carried VALUES (?, ?)", aliases)
            self._db.execute("INSERT OR REPLACE INTO provenance VALUES (?, ?, ?)", document)

        self._write(work)

    def provenance(self, engine: str) -> list[dict[str, Any]]:
        """By what right runs of earlier engines stand for this one, one document for each earlier engine."""
        ask = "SELECT document FROM provenance WHERE engine = ? ORDER BY source"
        found = []
        for (text,) in self._guard(lambda: self._db.execute(ask, (engine,)).fetchall()):
            with contextlib.suppress(TypeError, ValueError, RecursionError):  # damaged: then nothing was carried
                found.append(json.loads(text))
        return [document for document in found if isinstance(document, dict)]

    def __len__(self) -> int:
        return int(self._guard(lambda: self._db.execute("SELECT count(*) FROM runs").fetchone()[0]))

    # --- claims of work

    def claim(self, keys: Iterable[str], most: int) -> Claimed:
        """Claim runs to compute, in the order given, until `most` are this process's.

        A claim lasts until the run is put or released, or until this process ends, however it ends. Claims of
        processes that are dead are taken over. Few keys at a time are looked at: ask again where
        `looked_at` is less than there are.

        Raises:
            StoreError: the store cannot be written.
        """
        self._require_writable()
        wanted = list(islice(keys, LOOKED_AT))

        def work() -> Claimed:
            owner = self._join()
            found = Claimed()
            alive: dict[str, bool] = {}
            new = []
            for key in wanted:
                if len(found.mine) == most:
                    break
                ask = "SELECT 1 FROM runs WHERE key = :k UNION ALL SELECT 1 FROM carried WHERE key = :k"
                if self._db.execute(ask, {"k": key}).fetchone() is not None:
                    found.finished.append(key)
                    continue
                other = self._db.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
                if other is not None and other[0] != owner.id:
                    if other[0] not in alive:
                        alive[other[0]] = isinstance(other[0], str) and owner.sees_alive(other[0])
                    if alive[other[0]]:
                        found.elsewhere.append(key)
                        continue
                found.mine.append(key)
                new.append((key, owner.id))
            self._db.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", new)
            return found

        found = self._write(work, durable=False)
        self._claims.update(found.mine)
        return found

    def release(self, keys: Sequence[str] | None = None) -> None:
        """Give back what this process has claimed and not put: all of it, or some keys."""
        if self._owner is None:
            return
        owner = self._owner.id
        given = list(self._claims if keys is None else keys)
        self._claims.difference_update(given)

        def work() -> None:
            if keys is None:
                self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
            else:
                self._db.executemany("DELETE FROM claims WHERE owner = ? AND key = ?", [(owner, key) for key in given])

        self._write(work, durable=False)

    def start_at(self, count: int) -> int:
        """Where in a line of so many this process begins, so that those that share a study begin far apart.

        The first begins at 0, the second in the middle, the next at a quarter and at three quarters, and so on.
        """
        self._require_writable()
        owner = self._write(self._join, durable=False).id
        row = self._guard(lambda: self._db.execute("SELECT place FROM owners WHERE id = ?", (owner,)).fetchone())
        place, share, step = int(row[0]) if row is not None else 0, 0.0, 0.5
        while place:  # van der Corput's sequence: the binary digits mirrored at the point
            share += step * (place & 1)
            place, step = place >> 1, step / 2
        return int(share * count)

    def _join(self) -> Owner:
        """Take a place among those that compute, and the claims of this process again where the database is new.

        Only within a transaction.
        """
        if self._owner is None or self._owner.process != os.getpid():
            self._owner, self._claims = Owner(self.folder / "owners"), set()
            weakref.finalize(self, self._owner.close)
        owner = self._owner
        if self._db.execute("SELECT 1 FROM owners WHERE id = ?", (owner.id,)).fetchone() is not None:
            return owner
        taken = set()
        for other, place in self._db.execute("SELECT id, place FROM owners").fetchall():
            if isinstance(other, str) and owner.sees_alive(other):
                taken.add(place)
            else:
                self._db.execute("DELETE FROM owners WHERE id = ?", (other,))
                self._db.execute("DELETE FROM claims WHERE owner = ?", (other,))
                owner.bury(str(other))
        owner.sweep()
        place = next(place for place in range(len(taken) + 1) if place not in taken)
        self._db.execute("INSERT INTO owners VALUES (?, ?)", (owner.id, place))
        self._db.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?)", [(key, owner.id) for key in self._claims])
        return owner

    def _leave(self) -> None:
        owner = self._owner
        if owner is None or owner.process != os.getpid():
            return
        with contextlib.suppress(StoreError):

            def work() -> None:
                self._db.execute("DELETE FROM claims WHERE owner = ?", (owner.id,))
                self._db.execute("DELETE FROM owners WHERE id = ?", (owner.id,))

            self._write(work, durable=False)
        owner.close()
        self._owner = None

    # --- end

    def close(self) -> None:
        """Give back claims, fold the log into the database and let go of it."""
        if not self._finalizer.alive:
            return
        self._leave()
        self._finalizer()
        self._lock.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the database

    def _guard(self, work: Callable[[], T]) -> T:
        """Do something with the database; a damaged one is replaced, everything else becomes a sentence.

        The lock is held meanwhile, so that nobody moves the database aside, and what is at its path is looked at
        first: another process may have replaced it.
        """
        suspect: Identity | None = None
        for attempt in range(3):
            try:
                if self.read_only:
                    return work()
                with self._lock.held(exclusive=False):
                    if self._process == os.getpid() and _identity(self._file) == self._identity:
                        return work()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if attempt == 2 or not _is_corrupt(error):
                    raise self._sentence(error) from None
                if self.read_only:
                    raise self._unmendable() from None
                # the first time it is looked at as a whole: somebody may have mended it meanwhile
                suspect = self._identity if attempt else None
            except TimeoutError:
                raise self._locked() from None
            except OSError as error:
                raise self._refused(error, self._lock.path) from None
            self._reopen(suspect)
        raise self._unmendable()

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

        return self._guard(transaction)

    def _reopen(self, suspect: Identity | None) -> None:
        """Let go of a database that is damaged or no longer there, and open the one that is."""
        self._finalizer()
        try:
            make_folder(self.folder)
        except OSError as error:
            raise self._refused(error, self.folder) from None
        self._db = self._open(suspect)
        self._own()

    def _own(self) -> None:
        """See to it that the database is let go of in the right way, however this object or the process ends."""
        self._process = os.getpid()
        self._finalizer = weakref.finalize(
            self, _let_go, self._db, self._lock, self._file, self._identity, self._process
        )

    def _open(self, suspect: Identity | None = None) -> sqlite3.Connection:
        """A sound database: the one that is there, or, under the exclusive lock, a new one.

        Args:
            suspect: a file in which damage was found; it is moved aside if it is still there.
        """
        try:
            if suspect is None:
                with contextlib.suppress(_Damaged, _Unready), self._lock.held(exclusive=False):
                    return self._existing()
            with self._lock.held(exclusive=True):
                aside: Path | None = None
                try:
                    if suspect is not None and suspect == _identity(self._file):
                        raise _Damaged
                    return self._existing()
                except _Unready:
                    pass
                except _Damaged:
                    aside = self._move_aside()
                db = self._made()
                if aside is not None:
                    self._report(aside, _rescue(aside, db))
                return db
        except sqlite3.Error as error:
            raise self._sentence(error) from None
        except TimeoutError:
            raise self._locked() from None
        except OSError as error:
            raise self._refused(error, self._lock.path) from None

    def _existing(self) -> sqlite3.Connection:
        """The database that is there, checked.

        Raises:
            _Unready, _Damaged: it cannot be used as it is.
            StoreError: it is somebody else's.
        """
        self._require_a_file()
        if not self._file.exists():
            raise _Unready
        db = _connected(self._file, "rw")
        try:
            self._check(db)
            # WAL: readers and one writer at once, and a killed process leaves no half of a row.
            _set_journal(db, "DELETE" if _on_network(self.folder) else "WAL")
        except UnicodeDecodeError:  # in a message of SQLite about the damage
            db.close()
            raise _Damaged from None
        except sqlite3.DatabaseError as error:
            db.close()
            if _is_corrupt(error):
                raise _Damaged from None
            raise
        except BaseException:
            db.close()
            raise
        self._identity = _identity(self._file)
        return db

    def _made(self) -> sqlite3.Connection:
        """Make the database, or what it lacks; then it is there."""
        db = _connected(self._file, "rwc")
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            if _OF_VERSION_1 in _columns(db):
                db.execute(f"ALTER TABLE runs RENAME COLUMN {_OF_VERSION_1} TO document")
            for statement in _TABLES.values():
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("COMMIT")
        finally:
            db.close()
        sync_folder(self.folder)
        try:
            return self._existing()
        except (_Damaged, _Unready):
            raise self._unmendable() from None

    def _check(self, db: sqlite3.Connection) -> None:
        """Whether a database is a run store, of this version, and whole. Writes nothing.

        Raises:
            _Unready, _Damaged, StoreError: as `_existing`.
        """
        program = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        rows = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        found = {name: sql for kind, name, sql in rows if kind == "table"}
        # A trigger or an index may drop rows in silence when they are written. SQLite's own indexes have no text.
        more = any(kind != "table" and (kind, sql) != ("index", None) for kind, _, sql in rows)
        wanted = _schema()
        same = all(found.get(name) == sql for name, sql in wanted.items())
        ours = program == APPLICATION_ID
        # With the tables of this version one bit that flipped is put right: a number that no program has is no version.
        if ours and version > VERSION and not (same and version > _LIKELY_VERSION and _one_bit(version, VERSION)):
            raise StoreError(
                f"The store {self._file} was written by a later version of Evenflow (format {version}; this one "
                f"reads up to {VERSION}). Name another with the environment variable {ENVIRONMENT}."
            )
        if same and program not in (0, APPLICATION_ID) and not _one_bit(program, APPLICATION_ID):
            raise self._foreign(f"its application_id is {program}")
        if not same:
            if not rows and program in (0, APPLICATION_ID):
                raise _Unready
            before = {**wanted, "runs": wanted["runs"].replace("document", _OF_VERSION_1)}
            known = {name: sql for name, sql in found.items() if ours or name in _BEFORE_CLAIMS}
            earlier = "runs" in known and all(sql == before.get(name) for name, sql in known.items())
            if ours:
                earlier = earlier and version == 1 and len(known) == len(before)
            likely = (*wanted.values(), before["runs"])
            if not earlier and (ours or (program == 0 and any(_nearly(s, w) for s in found.values() for w in likely))):
                raise _Damaged
            if not earlier or program not in (0, APPLICATION_ID):
                raise self._foreign("it has not the tables of a run store")
        if more and not self.read_only:
            raise _Damaged
        if (sound := db.execute("PRAGMA quick_check(1)").fetchone()) is None or sound[0] != "ok":
            raise _Damaged
        if not same or (program, version) != (APPLICATION_ID, VERSION):
            raise _Unready

    def _move_aside(self) -> Path:
        """Give the damaged database another name, with its log. Only under the exclusive lock."""
        aside = _aside(self._file)
        try:
            for suffix in _BESIDE:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self._file}{suffix}", f"{aside}{suffix}")
            sync_folder(self.folder)
        except OSError as error:
            raise StoreError(f"The store {self._file} is damaged and cannot be moved aside: {reason(error)}.") from None
        return aside

    def _report(self, aside: Path, rescued: int) -> None:
        rest = f"{rescued:,} of its runs were whole and are kept; " if rescued else ""
        message = (
            f"The store {self._file} was damaged; it is kept as {aside.name}. "
            f"{rest or 'Its'}{'the others are' if rest else ' runs are'} computed again."
        )
        self._warn(message)

    def _warn(self, message: str) -> None:
        self.warnings.append(message)
        logging.getLogger("evenflow").warning(message)

    # --- a store that can only be read

    def _is_read_only(self) -> bool:
        if not os.access(self.folder, os.W_OK | os.X_OK):
            return True
        return self._file.exists() and not os.access(self._file, os.W_OK)

    def _open_read_only(self) -> sqlite3.Connection:
        """The database as it is. Where SQLite needs files beside it that it cannot make, a copy, or without its log."""
        self._require_a_file()
        if not self._file.exists():
            raise StoreError(
                f"The store folder {self.folder} cannot be written, and holds no runs. "
                f"Name another with the environment variable {ENVIRONMENT}."
            )
        try:
            try:
                return self._readable(self._file, "ro")
            except sqlite3.OperationalError as error:
                if _primary(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
                    raise
            log = Path(f"{self._file}-wal")
            if not log.exists() or log.stat().st_size == 0:
                return self._readable(self._file, "ro&immutable=1")
            self._copy = tempfile.TemporaryDirectory(prefix="evenflow-store-")
            copy = Path(self._copy.name) / self._file.name
            copy.write_bytes(self._file.read_bytes())
            Path(f"{copy}-wal").write_bytes(log.read_bytes())
            return self._readable(copy, "rw")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if _is_corrupt(error):
                raise self._unmendable() from None
            raise self._sentence(error) from None
        except OSError as error:
            raise StoreError(f"The store {self._file} cannot be read: {reason(error)}.") from None

    def _readable(self, file: Path, mode: str) -> sqlite3.Connection:
        db = _connected(file, mode)
        try:
            with contextlib.suppress(_Unready):
                self._check(db)
            if _OF_VERSION_1 in _columns(db):
                db.execute(f"CREATE TEMP VIEW runs AS SELECT *, {_OF_VERSION_1} AS document FROM main.runs")
            if db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'carried'").fetchone()[0] == 0:
                db.execute("CREATE TEMP TABLE carried (key TEXT, run TEXT)")
                db.execute("CREATE TEMP TABLE provenance (engine TEXT, source TEXT, document TEXT)")
        except _Damaged:
            db.close()
            raise self._unmendable() from None
        except BaseException:
            db.close()
            raise
        return db

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError(
                f"The store {self.folder} can only be read, so nothing can be kept there. "
                f"Name another with the environment variable {ENVIRONMENT}."
            )

    # --- sentences

    def _require_a_file(self) -> None:
        """A folder or a pipe in the place of a database's file would be waited for, or be called a full disk."""
        for suffix in _BESIDE:
            path = Path(f"{self._file}{suffix}")
            try:
                mode = path.stat().st_mode
            except OSError:
                continue
            if not stat.S_ISREG(mode):
                raise StoreError(f"The store {path} is no file. {_ANOTHER}")

    def _refused(self, error: OSError, path: Path) -> StoreError:
        """What the system says of a file of the store: the one that it names, else this one."""
        return unwritable(Path(error.filename) if isinstance(error.filename, str) else path, error, _ANOTHER)

    def _foreign(self, why: str) -> StoreError:
        return StoreError(
            f"{self._file} is another program's database: {why}. "
            f"Name another folder with the environment variable {ENVIRONMENT}."
        )

    def _unmendable(self) -> StoreError:
        why = "can only be read, so that it cannot be mended" if self.read_only else "does not stay whole"
        return StoreError(
            f"The store {self._file} is damaged and {why}. Name another with the environment variable {ENVIRONMENT}."
        )

    def _locked(self) -> StoreError:
        return StoreError(
            f"The store {self._file} has been locked by another process for {BUSY_S:.0f} s. Try again later."
        )

    def _sentence(self, error: Exception) -> StoreError:
        text = str(error)
        name = getattr(error, "sqlite_errorname", "")
        primary = _primary(error)
        another = f"Name another with the environment variable {ENVIRONMENT}."
        if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and out_of_space(self.folder)):
            return full(self.folder, text)
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            return self._locked()
        if primary == sqlite3.SQLITE_IOERR:
            return StoreError(
                f"The disk or filesystem of the store {self._file} failed ({text}, {name}). Runs that were finished "
                f"before are kept as far as it can still be read. Look at the disk, then run the same command again. "
                f"{another}"
            )
        if primary == sqlite3.SQLITE_READONLY:
            return StoreError(f"The store {self._file} may not be written ({text}). {another}")
        return StoreError(f"The store {self._file} cannot be used: {text}. {another}")

    # --- series

    def _series_folders(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return [Path(entry.path) for entry in os.scandir(self.folder / "series") if entry.is_dir()]
        return []

    def _series_file(self, key: str) -> Path:
        return self.folder / "series" / key[:2] / f"{key}.npz"

    def _write_series(self, key: str, series: dict[str, tuple[bytes, bytes]]) -> str:
        """Write all series of a run into one file: beside its place, synced, then renamed. Returns the checksum.

        The same series give the same bytes, so that it does not matter who wrote them last.
        """
        import numpy as np

        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, (times, values) in series.items():
                both = np.stack([np.frombuffer(times, "<f8"), np.frombuffer(values, "<f8")])
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, both, allow_pickle=False)
        data = buffer.getbuffer()
        path = self._series_file(key)
        self._clear(path)
        write_whole(path, data, _ANOTHER)
        return hashlib.sha256(data).hexdigest()

    def _clear(self, path: Path) -> None:
        """Give a folder in a file's place another name; files, links and pipes are replaced anyway."""
        if not os.path.isdir(path) or os.path.islink(path):
            return
        aside = _aside(path)
        try:
            os.replace(path, aside)
        except OSError as error:
            raise StoreError(f"The folder {path} is in the way and cannot be moved: {reason(error)}.") from None
        self._warn(f"The folder {path} was in the place of a file of series; it is kept as {aside.name}.")

    def _series(self, key: str, sha256: str | None) -> Mapping[str, tuple[bytes, bytes]] | None:
        """The series of a run, to be read when somebody looks; None if the file is not what was written."""
        if sha256 is None:
            return {}
        path = self._series_file(key)
        try:
            with open_ordinary(path) as file:
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
            with self._readable(), open_ordinary(self.path) as opened, zipfile.ZipFile(opened) as file:
                self._starts = {i.filename.removesuffix(".npy"): i.header_offset for i in file.infolist()}
        return self._starts

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise StoreError(
                f"The series in {self.path} cannot be read: {why}. Run the study again to have them computed."
            ) from None

    def __getitem__(self, name: str) -> tuple[bytes, bytes]:
        import numpy as np

        start = self._index()[name]
        with self._readable(), open_ordinary(self.path) as file:
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


def _sound(key: Any, seed: Any, record_hash: Any, series: Any, document: Any, checksum: Any) -> str | None:
    """The record's text, or None if a column is not what was written."""
    try:
        if not isinstance(document, bytes):  # before version 2 the text itself was kept
            return document if checksum == _checksum(key, seed, record_hash, series, [document.encode()]) else None
        pieces = _pieces(document)
        first = next(pieces, b"")
        rest = next(pieces, None)
        if rest is None:
            return first.decode() if checksum == _checksum(key, seed, record_hash, series, [first]) else None
        # a long one is judged before it is held; a record is a table
        if first[:1] != b"{" or checksum != _checksum(key, seed, record_hash, series, chain((first, rest), pieces)):
            return None
        return b"".join(_pieces(document)).decode()
    except (TypeError, AttributeError, UnicodeError, zlib.error, MemoryError):  # another type, or damaged
        return None


def _connected(file: Path, mode: str) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)
    # Texts are judged by their checksum, so that a flipped bit in one is damage like any other.
    db.text_factory = lambda text: text.decode("utf-8", "replace")
    return db


def _aside(path: Path) -> Path:
    """A free name for what is damaged."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.damaged-{number}")):
        number += 1
    return aside


def _identity(file: Path) -> Identity | None:
    """What tells a file from another of the same name."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _let_go(db: sqlite3.Connection, lock: FileLock, file: Path, identity: Identity | None, process: int) -> None:
    """Close a database, if it is this process's and still the one at its path.

    SQLite removes the log by its name when it closes: if the file was moved aside meanwhile, that would be the log of
    the new database, and runs would be lost. Then it is left open.
    """
    if process != os.getpid():
        _leave_open(db)
        return
    try:
        with lock.held(exclusive=False):
            if _identity(file) == identity:
                db.close()
                return
    except (sqlite3.Error, OSError):
        if lock.path.parent.is_dir() and not os.access(lock.path.parent, os.W_OK):  # nobody can move it aside
            with contextlib.suppress(sqlite3.Error):
                db.close()
                return
    _leave_open(db)


def _leave_open(db: sqlite3.Connection) -> None:
    """Keep a connection from being closed, also at the end of the process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


@cache
def _schema() -> dict[str, str]:
    """The tables as SQLite writes them down."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        for statement in _TABLES.values():
            db.execute(statement)
        return dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())


def _columns(db: sqlite3.Connection) -> list[str]:
    """The columns of the table of runs; none if there is no such table."""
    return [row[1] for row in db.execute("PRAGMA main.table_info(runs)")]


def _one_bit(found: int, wanted: int) -> bool:
    """Whether a number of the header is another one with a bit flipped."""
    return ((found ^ wanted) & 0xFFFFFFFF).bit_count() == 1


def _nearly(found: object, wanted: str) -> bool:
    """Whether a text is another one with a few letters damaged."""
    if not isinstance(found, str):
        return False
    return len(found) == len(wanted) and 0 < sum(a != b for a, b in zip(found, wanted, strict=True)) <= 4


def _rescue(aside: Path, db: sqlite3.Connection) -> int:
    """Take over from a damaged database what is whole: runs by their checksums. Returns how many runs.

    It is read from a copy, so that the file that is kept stays as it was found.
    """
    for left in aside.parent.glob(f"{_RESCUE}*"):
        shutil.rmtree(left, ignore_errors=True)
    with (
        contextlib.suppress(sqlite3.Error, OSError),
        tempfile.TemporaryDirectory(dir=aside.parent, prefix=_RESCUE) as to,
    ):
        for suffix in _BESIDE:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{aside}{suffix}", f"{Path(to) / aside.name}{suffix}")
        copy = Path(to) / aside.name
        with contextlib.suppress(*_UNREADABLE), contextlib.closing(_connected(copy, "rw")) as old:
            _mend_schema(old)
        with contextlib.closing(_connected(copy, "rw")) as old:
            with contextlib.suppress(*_UNREADABLE):
                old.execute("PRAGMA writable_schema = ON")
            return _taken_over(old, db)
    return 0


def _mend_schema(old: sqlite3.Connection) -> None:
    """Write the definitions of the tables anew, and leave out what else there is: one line that cannot be read hides
    all tables."""
    old.execute("PRAGMA writable_schema = ON")  # also: read on where a definition is damaged
    mended = []
    for name, sql in _schema().items():
        # a damaged line is told by what is left of it
        for what, value in (("name = ?", name), ("type = 'table' AND tbl_name = ?", name), ("sql = ?", sql)):
            row = old.execute(f"SELECT rowid FROM sqlite_master WHERE rootpage > 0 AND {what}", (value,)).fetchone()
            if row is not None:
                line = ("table", name, name, sql, row[0])
                old.execute("UPDATE sqlite_master SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?", line)
                mended.append(row[0])
                break
    own = "type = 'index' AND sql IS NULL AND tbl_name = 'provenance'"  # made by SQLite for its primary key
    marks = ", ".join("?" * len(mended))
    old.execute(f"DELETE FROM sqlite_master WHERE rowid NOT IN ({marks}) AND NOT ({own})", mended)


_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged database raises: the messages of SQLite name what it found there, which may be no UTF-8."""


def _taken_over(old: sqlite3.Connection, db: sqlite3.Connection) -> int:
    found = 0
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")
    try:
        for way in ("ASC", "DESC"):  # from both ends, as far as it can be read
            for row in _as_far_as_it_goes(old, f"SELECT * FROM runs ORDER BY key {way}"):
                if len(row) == 8 and _sound(row[0], row[2], *row[4:]) is not None:
                    found += db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount
        for table, columns in (("carried", 2), ("provenance", 3), ("owners", 2), ("claims", 2)):
            for row in _as_far_as_it_goes(old, f"SELECT * FROM {table}"):
                if len(row) == columns and None not in row:
                    db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * columns)})", row)
        db.execute("COMMIT")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return found


def _as_far_as_it_goes(old: sqlite3.Connection, ask: str) -> Iterator[tuple[Any, ...]]:
    with contextlib.suppress(*_UNREADABLE):
        yield from old.execute(ask)


def _primary(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_corrupt(error: Exception) -> bool:
    """Whether an error says that the database is damaged; a table or column that is missing was there once."""
    return (
        isinstance(error, UnicodeDecodeError)
        or _primary(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH)
        or "malformed" in str(error)
        or str(error).startswith(("no such table", "no such column", "table runs has"))
    )


def _set_journal(db: sqlite3.Connection, mode: str) -> None:
    """Switch to a kind of journal. Unlike other statements this one does not wait for a lock by itself."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            db.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite3.OperationalError as error:
            if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _on_network(folder: Path) -> bool:
    """Whether a folder is on a filesystem that machines share: their processes cannot share the memory of WAL."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        device = folder.stat().st_dev
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = {line.split(" - ")[1].split()[0] for line in mounts if line.split()[2] == wanted and " - " in line}
    return any(kind.startswith(_NETWORKS) for kind in kinds)
