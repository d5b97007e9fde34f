"""The store: nothing finished is lost, nothing damaged is believed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import struct
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest
from conftest import FAKE, spawn
from evenflow.errors import StoreError
from evenflow.run import store as store_module
from evenflow.run.engine import Result
from evenflow.store import Store, key_of, write_whole

SERIES = {"links.a.queue.packets": (struct.pack("<2d", 0.0, 0.5), struct.pack("<2d", 3.0, 4.0))}


def result(seed: int = 1, series: bool = False) -> Result:
    text = json.dumps({"seed": seed, "x": 1.5})
    return Result(text, f"hash{seed}", "engine", SERIES if series else {})


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
        "UPDATE runs SET record = replace(record, '1.5', '1.6')",
        "UPDATE runs SET record_hash = 'other'",
        "UPDATE runs SET seed = 2",
        "UPDATE runs SET checksum = ''",
        "UPDATE runs SET record = substr(record, 1, 5)",
        "UPDATE runs SET record = x'00ff'",
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
    with Store.__new__(Store) as impatient:
        impatient.__dict__.update(store.__dict__)
        impatient._db = impatient._db.__class__(store.folder / "runs.sqlite3", timeout=0.05, isolation_level=None)
        with pytest.raises(StoreError, match="locked by another process"):
            impatient.put("k", "s", 1, result())
    other.execute("ROLLBACK")
    store.put("k", "s", 1, result())


def count(folder: Path) -> int:
    try:
        with sqlite3.connect(f"file:{folder}/runs.sqlite3?mode=ro", uri=True, timeout=5) as db:
            return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
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
    assert f"{kept} of them from the store" in out


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs RLIMIT_FSIZE")
def test_no_space_is_said_and_what_was_kept_stays(work: Path) -> None:
    """A limit on file sizes stands for a full disk: SQLite and the system report it the same way."""
    (work / "f.toml").write_text(FAKE + "[sweep]\nreplications = 400\n")
    import subprocess

    from conftest import environment

    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000));"
        "sys.argv = ['evenflow', 'study', 'f.toml', '--jobs', '2'];"
        "import runpy; runpy.run_module('fake_cli', run_name='__main__')"
    )
    full = subprocess.run([sys.executable, "-c", script], cwd=work, env=environment(), capture_output=True, text=True)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "no space left" in full.stderr
    kept = count(work / "out" / "store")
    assert 0 < kept < 400
    again = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert f"{kept} of them from the store" in out


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


def test_an_unusable_folder_is_a_sentence(work: Path, fake: ModuleType) -> None:
    (work / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(work / "file" / "store")


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
