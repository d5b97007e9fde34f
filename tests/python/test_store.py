"""The store: nothing finished is lost, nothing damaged is believed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import FAKE, environment, spawn
from evenflow.errors import StoreError
from evenflow.run import store as store_module
from evenflow.run.engine import Result
from evenflow.scenario import Scenario
from evenflow.store import Store, key_of, prepare, write_whole
from evenflow.study import Study, run_study

SERIES = {"links.a.queue.packets": (struct.pack("<2d", 0.0, 0.5), struct.pack("<2d", 3.0, 4.0))}


def result(seed: int = 1, series: bool = False) -> Result:
    text = json.dumps({"seed": seed, "x": 1.5})
    return Result(text, f"hash{seed}", "engine", SERIES if series else {})


PACKED = zlib.compress(result(2).text.encode(), store_module.LEVEL)


@pytest.fixture
def store(work: Path, fake: ModuleType) -> Store:
    return Store(work / "store")


def test_what_is_put_comes_back(store: Store) -> None:
    store.put("k", "s", 1, result())
    found = store.get("k")
    assert found is not None
    assert found.json == {"seed": 1, "x": 1.5}
    assert found.record_hash == "hash1"
    assert store.get("other") is None
    assert len(store) == 1


def test_series_come_back_bit_for_bit(store: Store) -> None:
    kept = store.put("k", "s", 1, result(series=True))
    again = Store(store.folder).get("k")
    assert again is not None
    for record in (kept, again):
        assert record.series_names == ["links.a.queue.packets"]
        assert record.raw_series == SERIES


def test_keys_depend_on_scenario_seed_and_engine(fake: ModuleType) -> None:
    keys = {key_of("a", 1), key_of("b", 1), key_of("a", 2), key_of("a", 1, "another engine")}
    assert len(keys) == 4
    assert key_of("a", 1) == key_of("a", 1, fake.ENGINE_ID)


def test_default_folder_and_environment(work: Path, fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store().folder == Path("out/store")
    monkeypatch.setenv("EVENFLOW_STORE", str(work / "elsewhere"))
    assert Store().folder == work / "elsewhere"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET document = '{}'",
        "UPDATE runs SET record_hash = 'other'",
        "UPDATE runs SET seed = 2",
        "UPDATE runs SET checksum = ''",
        "UPDATE runs SET document = substr(document, 1, 5)",
        "UPDATE runs SET document = x'00ff'",
        "UPDATE runs SET series_sha256 = NULL",
    ],
)
def test_a_damaged_row_is_thrown_away(store: Store, damage: str) -> None:
    store.put("k", "s", 1, result(series=True))
    with sqlite3.connect(store.folder / "runs.sqlite3") as db:
        db.execute(damage)
    assert store.get("k") is None
    assert store.recomputed == 1
    assert len(store) == 0


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_damaged_series_are_thrown_away(store: Store, damage: str) -> None:
    store.put("k", "s", 1, result(series=True))
    (file,) = (store.folder / "series").rglob("*.npz")
    data = file.read_bytes()
    if damage == "truncate":
        file.write_bytes(data[:-20])
    elif damage == "flip":
        file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    else:
        file.unlink()
    assert store.get("k") is None
    assert store.recomputed == 1


@pytest.mark.parametrize("what", ["pipe", "device", "loop", "socket", "folder"])
def test_what_is_no_file_in_the_place_of_series_is_replaced(store: Store, what: str) -> None:
    """A pipe would be waited for, and /dev/zero never ends. A folder is not removed: the message names it."""
    kept = store.put("k", "s", 1, result(series=True))
    path = store.folder / "series" / "k" / "k.npz"
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        with contextlib.chdir(path.parent), contextlib.closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(path.name)
    else:
        path.symlink_to("/dev/zero" if what == "device" else path)
    with pytest.raises(StoreError, match="cannot be read"):
        _ = kept.raw_series
    assert store.get("k") is None
    assert store.recomputed == 1
    if what == "folder":
        with pytest.raises(StoreError, match=r"k\.npz cannot be written: Is a directory"):
            store.put("k", "s", 1, result(series=True))
        path.rmdir()
    store.put("k", "s", 1, result(series=True))
    found = store.get("k")
    assert found is not None
    assert found.raw_series == SERIES


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES, errno.ENOMEM, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "stat"])
def test_a_read_error_discards_no_run(store: Store, monkeypatch: pytest.MonkeyPatch, code: int, call: str) -> None:
    store.put("k", "s", 1, result(series=True))
    real = getattr(os, call)

    def fails(path: Any, *arguments: Any, **more: Any) -> Any:
        if str(path).endswith(".npz"):
            raise OSError(code, os.strerror(code), str(path))
        return real(path, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fails)
        with pytest.raises(StoreError, match=r"k\.npz cannot be read.*kept"):
            store.get("k")
    assert (len(store), store.recomputed) == (1, 0)
    assert store.get("k") is not None


def test_too_few_descriptors_discard_no_run(work: Path, fake: ModuleType) -> None:
    script = """
import resource, sys
import fake_core
fake_core.install()
from evenflow.errors import StoreError
from evenflow.store import Store
from test_store import result
import numpy
store = Store("store")
for seed in range(6):
    store.put(f"k{seed}", "s", seed, result(seed, series=True))
least = len(__import__("os").listdir("/proc/self/fd")) - 1
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (least, limits[1]))
said = 0
for seed in range(6):
    try:
        store.get(f"k{seed}")
    except StoreError as error:
        said += "Too many open files" in str(error)
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
print(said, len(store), sum(store.get(f"k{seed}") is not None for seed in range(6)))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=work, env=environment(), capture_output=True, text=True)
    assert done.stdout == "6 6 6\n", done.stderr


def test_too_little_memory_discards_no_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("k", "s", 1, result())

    def short(_: bytes) -> bytes:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(zlib, "decompress", short)
        with pytest.raises(StoreError, match=r"cannot be read: MemoryError\. Its run is kept"):
            store.get("k")
    assert store.get("k") is not None


@pytest.mark.parametrize("owner", [".", "..", "../../x", "", "a/b", "a" * 300, "nul\0", "\udcff", "é", 7, 2.5, b"\xff"])
def test_an_owner_that_is_no_id_is_dead(store: Store, owner: object) -> None:
    """Nor is a file outside of the folder of owners touched."""
    outside = store.folder.parent / "x"
    outside.write_text("{}")
    store.close()
    if isinstance(owner, str) and "\udcff" in owner:
        owner = sqlite3.Binary(owner.encode(errors="surrogateescape"))
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3")) as db, db:
        db.execute("INSERT INTO claims VALUES ('k', ?)", (owner,))
        db.execute("INSERT INTO owners VALUES (?, 0)", (owner,))
    with Store(store.folder) as again:
        assert again.claim(["k"], 1).mine == ["k"]
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3")) as db, db:
        db.execute("INSERT INTO claims VALUES ('l', ?)", (owner,))
    with Store(store.folder) as again:
        assert again.claim(["k", "l"], 2).mine == ["k", "l"]
    assert outside.exists()


def test_a_database_that_is_none_is_moved_aside(work: Path, fake: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    folder = work / "store"
    folder.mkdir()
    (folder / "runs.sqlite3").write_text("this is no database, but it is long enough to look at " * 20)
    store = Store(folder)
    store.put("k", "s", 1, result())
    assert store.get("k") is not None
    assert (folder / "runs.sqlite3.damaged-1").exists()
    assert "was damaged" in caplog.text


def test_a_corrupt_database_is_moved_aside(store: Store) -> None:
    for seed in range(400):
        store.put(f"key{seed}", "s", seed, result(seed))
    store.close()
    file = store.folder / "runs.sqlite3"
    data = bytearray(file.read_bytes())
    for at in range(4096, len(data), 4096):  # every page but the first
        data[at : at + 64] = b"\xff" * 64
    file.write_bytes(data)
    again = Store(store.folder)
    assert again.get("key3") is None
    again.put("key3", "s", 3, result(3))
    assert again.get("key3") is not None
    assert len(again.warnings) == 1


@pytest.mark.slow("several processes on one cache")
def test_two_processes_may_write_at_once(work: Path) -> None:
    (work / "f.toml").write_text(FAKE + "[sweep]\nreplications = 60\nspread = [0.1, 0.2]\n")
    both = [spawn("study", "f.toml", "--out", f"o{i}", "--jobs", 2, fake=True, cwd=work) for i in range(2)]
    for process in both:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert (work / "o0" / "results.csv").read_bytes() == (work / "o1" / "results.csv").read_bytes()
    with sqlite3.connect(work / "out" / "store" / "runs.sqlite3") as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (120,)


def test_a_store_locked_for_long_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    other = sqlite3.connect(store.folder / "runs.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(store_module, "BUSY_S", 0.05)
    with Store(store.folder) as impatient, pytest.raises(StoreError, match="locked by another process"):
        impatient.put("k", "s", 1, result())
    other.execute("ROLLBACK")
    store.put("k", "s", 1, result())


def test_a_filesystem_without_locks_is_no_other_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite reports ENOLCK as a lock of another process."""
    fcntl = pytest.importorskip("fcntl", reason="flock is POSIX; run it on Linux or macOS")

    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", fails)
    told = r"filesystem of .* has no file locks \(No locks available\)\. Name another folder"
    with pytest.raises(StoreError, match=told):
        Store(store.folder.parent / "new")
    monkeypatch.setattr(store_module, "BUSY_S", 0.05)
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Store(store.folder) as impatient, pytest.raises(StoreError, match=told):
            impatient.put("k", "s", 1, result())


def count(folder: Path) -> int:
    try:
        with sqlite3.connect(f"file:{folder}/runs.sqlite3?mode=ro", uri=True, timeout=5) as db:
            return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.slow("several processes on one cache")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")
def test_kill_9_loses_nothing_finished_and_nothing_is_repeated(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 0.05\n" + FAKE + "[sweep]\nreplications = 60\n")
    folder = work / "out" / "store"
    process = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    deadline = time.monotonic() + 30
    while count(folder) < 12 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = count(folder)
    assert 12 <= kept < 60
    again = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert "60 runs in" in out
    assert f"{kept} from the cache" in out


@pytest.mark.slow("three processes, each with a study and its figures")
@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no limit on file sizes: run it on Linux")
def test_no_space_is_said_and_what_was_kept_stays(work: Path) -> None:
    """A limit on file sizes stands for a full disk: SQLite and the system report it the same way."""
    (work / "f.toml").write_text(FAKE + "[sweep]\nreplications = 400\n")
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000));"
        "sys.argv = ['evenflow', 'study', 'f.toml', '--jobs', '2'];"
        "import runpy; runpy.run_module('fake_cli', run_name='__main__')"
    )
    full = subprocess.run([sys.executable, "-c", script], cwd=work, env=environment(), capture_output=True, text=True)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "failed or is full" in full.stderr
    kept = count(work / "out" / "store")
    assert 0 < kept < 400
    again = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert f"{kept} from the cache" in out


def test_a_full_disk_by_sqlite_s_own_word(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("before", "s", 1, result())
    store._db.execute("PRAGMA max_page_count = 4")

    def fill() -> None:
        for seed in range(200):
            store.put(f"k{seed}", "s", seed, result(seed))

    with pytest.raises(StoreError, match="no space left"):
        fill()
    store._db.execute("PRAGMA max_page_count = 100000")
    assert store.get("before") is not None


def test_files_are_whole_or_not_there(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = work / "file"
    write_whole(target, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space left"):
        write_whole(target, b"new and longer")
    assert target.read_bytes() == b"old"
    assert list(work.iterdir()) == [target]


def test_ctrl_c_while_a_file_is_written_leaves_nothing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(work / "file", b"x")
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "/", "nul\0", "\ud800"])
def test_what_is_no_name_of_a_file_is_a_sentence(work: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_whole(Path(name), b"x")


def test_a_long_name_of_letters_of_four_bytes(work: Path) -> None:
    path = work / ("\U0001f600" * 60)
    write_whole(path, b"x")
    assert path.read_bytes() == b"x"


def test_an_unusable_folder_is_a_sentence(work: Path, fake: ModuleType) -> None:
    (work / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(work / "file" / "store")


@pytest.mark.parametrize("leads", ["none", "store", "file"])
@pytest.mark.parametrize("below", ["", "more"])
def test_a_link_that_leads_nowhere_is_said_to(work: Path, fake: ModuleType, leads: str, below: str) -> None:
    (work / "file").write_text("in the way")
    (work / "store").symlink_to(work / leads)
    says = "Not a directory" if leads == "file" else "the link leads nowhere"
    with pytest.raises(StoreError, match=f"cannot be made: {says}"):
        Store(work / "store" / below)


@pytest.mark.parametrize(
    ("name", "what", "says"),
    [
        ("store.lock", "folder", "Is a directory"),
        ("store.lock", "dangling", "No such file or directory"),
        ("store.lock", "loop", "Too many levels of symbolic links"),
        ("owners", "file", "Not a directory"),
        ("owners", "dangling", "the link leads nowhere"),
        ("series", "loop", "the link leads nowhere"),
        ("series", "file", "Not a directory"),
    ],
)
def test_what_is_in_the_way_in_a_store_is_named_itself(
    work: Path, fake: ModuleType, name: str, what: str, says: str
) -> None:
    folder = work / "store"
    folder.mkdir()
    path = folder / name
    if what == "folder":
        path.mkdir()
    elif what == "file":
        path.write_text("x")
    else:
        path.symlink_to(path if what == "loop" else work / "none" / "there")

    def use() -> None:
        with Store(folder) as store:
            store.claim(["k"], 1)
            store.put("k", "s", 1, result(series=True))

    with pytest.raises(StoreError) as caught:
        use()
    said = str(caught.value)
    assert said.startswith(str(path))
    assert says in said
    assert said.endswith("Name another folder with the environment variable EVENFLOW_STORE.")


@pytest.mark.parametrize("name", ["store.lock", "owners"])
def test_what_may_not_be_read_in_a_store_is_named_itself(
    work: Path, fake: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(work / "store" / name)
    open_ = os.open

    def opened(file: Any, *arguments: Any, **more: Any) -> int:
        if str(file).startswith(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return open_(file, *arguments, **more)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(StoreError) as caught, Store(work / "store") as store:
        store.claim(["k"], 1)
    assert str(caught.value).startswith(path)
    assert "Permission denied. Name another folder with the environment variable EVENFLOW_STORE." in str(caught.value)


def test_a_store_belongs_to_one_thread_but_reads_do_not_corrupt(store: Store) -> None:
    caught: list[BaseException] = []

    def other() -> None:
        try:
            store.get("k")
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert isinstance(caught[0], StoreError)


# --- damage of every kind


def bytes_of(store: Store, find: bytes, change: Callable[[bytearray, int], None]) -> None:
    """Change the bytes of a closed store at the first place of a text."""
    store.close()
    file = store.folder / "runs.sqlite3"
    data = bytearray(file.read_bytes())
    at = data.find(find)
    assert at >= 0
    change(data, at)
    file.write_bytes(data)


def flip(bit: int) -> Callable[[bytearray, int], None]:
    def change(data: bytearray, at: int) -> None:
        data[at] ^= 1 << bit

    return change


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("find", [PACKED, b"hash2", b"record_hash TEXT", b"CREATE TABLE runs", b"claims (key"])
def test_one_flipped_bit_never_sticks(store: Store, find: bytes, bit: int) -> None:
    """A damaged row costs one run, a damaged schema all of them; then everything works."""
    for seed in range(1, 6):
        store.put(f"key{seed}", "s", seed, result(seed))
    bytes_of(store, find, flip(bit))
    with Store(store.folder) as again:
        found = {seed: again.get(f"key{seed}") for seed in range(1, 6)}
        assert sum(record is None for record in found.values()) == (1 if find in (PACKED, b"hash2") else 5)
        assert len(again.warnings) == (find not in (PACKED, b"hash2"))
        for seed, record in found.items():
            if record is None:
                again.put(f"key{seed}", "s", seed, result(seed))
            else:
                assert record.json == {"seed": seed, "x": 1.5}
        again.claim(["more"], 1)
    with Store(store.folder) as third:
        assert all(third.get(f"key{seed}") is not None for seed in range(1, 6))
        assert (third.recomputed, third.warnings) == (0, [])


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE claims",
        "DROP TABLE runs",
        "ALTER TABLE runs RENAME COLUMN record_hash TO rekord_hash",
        "ALTER TABLE owners ADD COLUMN more TEXT",
        "CREATE TRIGGER j BEFORE INSERT ON runs BEGIN SELECT raise(ignore); END",
        "CREATE UNIQUE INDEX j ON runs(scenario_hash)",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = x'ff' WHERE name = 'claims'",
    ],
)
def test_a_database_with_other_tables_is_moved_aside(store: Store, damage: str) -> None:
    """A trigger or an index may drop runs in silence."""
    store.put("k", "s", 1, result())
    store.close()
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3")) as db:
        db.executescript(damage)
    with Store(store.folder) as again:
        assert len(again.warnings) == 1
        assert (store.folder / "runs.sqlite3.damaged-1").exists()
        again.put("k", "s", 1, result())
        assert again.claim(["other"], 1).mine == ["other"]
    with Store(store.folder) as third:
        assert third.get("k") is not None
        assert third.warnings == []


def test_a_damaged_database_that_another_process_has_open_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renamed under it, its runs would be lost, and its end would remove the log of the new database."""
    store.put("k", "s", 1, result())
    file = store.folder / "runs.sqlite3"
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("ALTER TABLE owners ADD COLUMN more TEXT")
    monkeypatch.setattr(store_module, "BUSY_S", 0.1)
    with pytest.raises(StoreError, match="damaged, and locked by another process"):
        Store(store.folder)
    store.put("later", "s", 2, result(2))
    store.close()
    with Store(store.folder) as again:
        assert len(again.warnings) == 1


def test_a_record_kept_as_text_is_read(store: Store) -> None:
    """Databases that began as version 1 have such rows."""
    store.put("k", "s", 1, result())
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3")) as db, db:
        (document,) = db.execute("SELECT document FROM runs").fetchone()
        db.execute("UPDATE runs SET document = ?", (zlib.decompress(document).decode(),))
    found = store.get("k")
    assert found is not None
    assert found.json == {"seed": 1, "x": 1.5}


def test_damage_found_in_the_middle(store: Store) -> None:
    store.put("k", "s", 1, result())
    with sqlite3.connect(store.folder / "runs.sqlite3") as db:
        db.execute("ALTER TABLE runs RENAME TO rans")
    assert store.get("k") is None or store.get("k").json == {"seed": 1, "x": 1.5}  # type: ignore[union-attr]
    store.put("k", "s", 1, result())
    assert store.get("k") is not None


def test_a_compressed_record_that_is_damaged_is_computed_again(work: Path, fake: ModuleType) -> None:
    folder = work / "store"
    with Store(folder) as store:
        store.put("k", "s", 1, result())
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite3")) as db, db:
        (document,) = db.execute("SELECT document FROM runs").fetchone()
        db.execute("UPDATE runs SET document = ?", (document[::-1],))
    with Store(folder) as again:
        assert again.get("k") is None
        assert again.recomputed == 1


def test_a_provenance_of_deep_nesting_is_damage(store: Store) -> None:
    store.carry([("k0", "run")], {"to": "a", "from": "b"})
    with contextlib.closing(sqlite3.connect(store.folder / "runs.sqlite3")) as db, db:
        db.execute("UPDATE provenance SET document = ?", ('{"a":' * 100_000,))
    assert store.provenance("a") == []


@pytest.mark.parametrize(
    "rows", [[("k0", "k1"), ("k1", "k0")], [("k0", "k0")], [("k0", "k1"), ("k1", "run")], [("k0", "none")]]
)
def test_what_is_carried_leads_to_a_run(store: Store, rows: list[tuple[str, str]]) -> None:
    store.put("run", "s", 1, result())
    store.carry([("good", "run"), *rows], {"to": "a", "from": "b"})
    assert store.get("good") is not None
    assert store.get("k0") is None
    assert store.recomputed == 1
    assert store.claim(["k0", "good"], 2).mine == ["k0"]  # to be computed
    assert store.get("good") is not None


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["CREATE TABLE runs (key TEXT, other TEXT)"], "another program's database"),
        (["CREATE TABLE songs (title TEXT)"], "another program's database"),
        (["PRAGMA application_id = 77"], "another program's database"),
        (
            [
                f"PRAGMA application_id = {store_module.APPLICATION_ID}",
                "PRAGMA user_version = 9",
                "CREATE TABLE runs (key TEXT, more TEXT)",
            ],
            "later version of Evenflow",
        ),
    ],
)
def test_other_databases_are_refused_untouched(work: Path, fake: ModuleType, statements: list[str], says: str) -> None:
    folder = work / "store"
    folder.mkdir()
    file = folder / "runs.sqlite3"
    with sqlite3.connect(file) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match=says):
        Store(folder)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 3", r"a later version of Evenflow \(format 3; this one reads format 2\)"),
        ("PRAGMA user_version = 1", "an earlier version of Evenflow"),
        ("PRAGMA user_version = 1000", "later version of Evenflow"),
        ("PRAGMA application_id = 1234", "another program's database .application_id 1234"),
    ],
)
def test_a_whole_store_of_another_version_or_program_is_refused_untouched(
    store: Store, statement: str, says: str
) -> None:
    store.put("k", "s", 1, result())
    store.close()
    file = store.folder / "runs.sqlite3"
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute(statement)
    before = file.read_bytes()
    for mode in (0o755, 0o555):
        store.folder.chmod(mode)
        with pytest.raises(StoreError, match=says):
            Store(store.folder)
        assert file.read_bytes() == before
    store.folder.chmod(0o755)


@pytest.mark.parametrize("name", ["runs.sqlite3", "runs.sqlite3-journal", "runs.sqlite3-wal"])
@pytest.mark.parametrize("what", ["folder", "pipe"])
def test_what_is_no_file_is_said_to_be_none(work: Path, fake: ModuleType, what: str, name: str) -> None:
    Store(work / "store").close()
    path = work / "store" / name
    path.unlink(missing_ok=True)
    if what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(StoreError, match="is no file"):
        Store(work / "store")


# --- files


def test_files_left_in_writing_are_swept_after_an_hour(store: Store) -> None:
    key = "ab" + "0" * 62
    store.put(key, "s", 1, result(series=True))
    store.close()
    series = store.folder / "series" / "ab"
    old, fresh = (series / f".{key[:50]}.{n}2345678.partial" for n in (1, 2))
    other = series / "notes.txt"
    for path in (old, fresh, other):
        path.write_bytes(b"half")
    for path in (old, other, series / f"{key}.npz"):
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    with Store(store.folder) as again:
        assert again.get(key) is not None
    assert sorted(series.iterdir()) == sorted([fresh, other, series / f"{key}.npz"])


def test_results_folders_are_swept_too(work: Path) -> None:
    write_whole(work / "out" / "file", b"x")
    left, other = work / "out" / ".file.12345678.partial", work / "out" / ".hidden"
    for path in (left, other):
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    prepare(work / "out")
    assert sorted(p.name for p in (work / "out").iterdir()) == [".hidden", "file"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions: run it under WSL")
@pytest.mark.parametrize("mask", [0o077, 0o027, 0o002])
def test_permissions_follow_the_umask(work: Path, fake: ModuleType, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(work / "file", b"x")
        with Store(work / "store") as store:
            store.put("k", "s", 1, result(series=True))
            store.claim(["x"], 1)
            found = [work / "file", *(p for p in (work / "store").rglob("*") if p.is_file())]
            assert len(found) >= 5
            assert {p.name: p.stat().st_mode & 0o777 & ~0o666 for p in found} == {p.name: 0 for p in found}
            assert {p.name: oct(p.stat().st_mode & mask) for p in found} == {p.name: "0o0" for p in found}
    finally:
        os.umask(before)


# --- a store that can only be read


def as_nobody(work: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """The command line without root's right to write what may not be written."""
    script = (
        "import ctypes, os, runpy, sys;"
        "os.geteuid() or ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)());"
        "sys.argv = ['evenflow', *sys.argv[1:]];"
        "runpy.run_module('fake_cli', run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=work,
        env=environment(**more),
        capture_output=True,
        text=True,
    )


@pytest.fixture
def published(work: Path, fake: ModuleType, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A store with 12 runs of f.toml that nobody may write; "log": with runs in its log only."""
    (work / "f.toml").write_text(
        FAKE + '[record]\nseries = [{ of = "x", every = "1 s" }]\n[sweep]\nreplications = 12\n'
    )
    kept = getattr(request, "param", "closed")
    folder = work / "out" / "store"
    with Store(folder) as store:
        run_study(Study.from_scenario(Scenario.load(work / "f.toml")), store=store)
    if kept == "log":
        script = """
import fake_core, os
fake_core.install()
from evenflow.store import Store
store = Store()
db = store._db
rows = db.execute("SELECT * FROM runs WHERE seed > 8").fetchall()
db.execute("DELETE FROM runs WHERE seed > 8")
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
db.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
os._exit(0)
"""
        subprocess.run([sys.executable, "-c", script], cwd=work, env=environment(), check=True)
        assert (folder / "runs.sqlite3-wal").stat().st_size > 0
        (folder / "runs.sqlite3-shm").unlink()
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


@pytest.mark.slow("a study with its figures, twice", only="log")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions: run it under WSL")
@pytest.mark.parametrize("published", ["closed", "log"], indirect=True)
def test_a_read_only_store_is_read_and_exported(published: Path, work: Path) -> None:
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in published.rglob("*")}
    done = as_nobody(work, "study", "f.toml", "--out", "results")
    assert (done.returncode, done.stderr) == (0, "")
    assert "12 from the cache" in done.stdout
    assert (work / "results" / "results.csv").read_text().count("\n") == 13
    assert before == {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in published.rglob("*")}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions: run it under WSL")
def test_a_read_only_store_without_the_runs_is_a_sentence(published: Path, work: Path) -> None:
    done = as_nobody(work, "study", "f.toml", "--out", "results", "--replications", 20)
    assert done.returncode == 1
    assert "8 of 20 runs are not in the store out/store, which can only be read" in done.stderr
    assert done.stderr.count("\n") == 1
    empty = as_nobody(work, "study", "f.toml", "--out", "results", EVENFLOW_STORE="/proc")
    assert empty.returncode == 1
    assert "can only be read, and holds no runs" in empty.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions: run it under WSL")
def test_a_damaged_read_only_store_is_a_sentence(published: Path, work: Path) -> None:
    file = published / "runs.sqlite3"
    file.chmod(0o644)
    file.write_bytes(b"no database " * 500)
    file.chmod(0o444)
    done = as_nobody(work, "study", "f.toml", "--out", "results")
    assert done.returncode == 1
    assert "damaged and can only be read" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions: run it under WSL")
@pytest.mark.parametrize("what", [".", "runs.sqlite3", "series"])
def test_what_may_not_be_read_is_not_called_missing(published: Path, work: Path, what: str) -> None:
    (published / what).chmod(0)
    done = as_nobody(work, "study", "f.toml", "--out", "results")
    assert done.returncode == 1
    assert "cannot be read: Permission denied." in done.stderr
    assert done.stderr.count("\n") == 1
    (published / what).chmod(0o755)


def test_a_row_damaged_in_a_read_only_store_is_missing(published: Path, work: Path) -> None:
    with sqlite3.connect(published / "runs.sqlite3") as db:
        db.execute("UPDATE runs SET document = x'ff00' WHERE seed = 3")
    db.close()
    done = as_nobody(work, "study", "f.toml", "--out", "results")
    assert done.returncode == 1
    assert "1 of 12 runs are not in the store" in done.stderr
