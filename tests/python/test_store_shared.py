"""Processes that share a store: each run once, claims of the dead taken over, readers beside writers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from conftest import FAKE, environment, spawn
from evenflow.errors import StoreError
from evenflow.run.store import Store
from test_store import count, result

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")


def computed(log: Path) -> Counter[tuple[str, str]]:
    """How often each (scenario, seed) was computed, by all processes."""
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter((scenario, seed) for scenario, seed, _ in map(str.split, lines))


def study(work: Path, runs: int, sleep: float, name: str = "f.toml") -> None:
    (work / name).write_text(f"sleep = {sleep}\n{FAKE}[sweep]\nreplications = {runs}\n")


def ended(processes: list[subprocess.Popen[str]]) -> list[str]:
    out = []
    for process in processes:
        text, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert err == ""
        out.append(text)
    return out


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow("several processes on one cache")
@pytest.mark.parametrize("processes", [2, 4])
def test_processes_on_one_study_compute_each_run_once(work: Path, processes: int) -> None:
    study(work, 90, 0.01)
    log = work / "log"
    started = [
        spawn("study", "f.toml", "--jobs", 2, "--out", f"o{i}", fake=True, cwd=work, FAKE_LOG=str(log))
        for i in range(processes)
    ]
    ended(started)
    assert Counter(computed(log).values()) == {1: 90}
    assert len({(work / f"o{i}" / "results.csv").read_bytes() for i in range(processes)}) == 1
    with sqlite3.connect(work / "out" / "store" / "runs.sqlite3") as db:
        assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM owners").fetchone() == (0,)
    assert list((work / "out" / "store" / "owners").iterdir()) == []


@pytest.mark.slow("several processes on one cache")
@posix
def test_what_a_killed_process_had_claimed_is_taken_over(work: Path) -> None:
    study(work, 40, 0.2)
    log = work / "log"
    both = [
        spawn("study", "f.toml", "--jobs", 2, "--out", f"o{i}", fake=True, cwd=work, FAKE_LOG=str(log))
        for i in range(2)
    ]

    def claimants() -> int:
        with sqlite3.connect(f"file:{work}/out/store/runs.sqlite3?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(DISTINCT owner) FROM claims").fetchone()[0])

    until(lambda: count(work / "out" / "store") >= 6)
    until(lambda: claimants() == 2)
    both[0].kill()
    both[0].communicate()
    started = time.monotonic()
    ended(both[1:])
    assert time.monotonic() - started < 20
    assert count(work / "out" / "store") == 40
    # only what was computed and not yet put when it was killed may be computed again
    doubled = [key for key, times in computed(log).items() if times > 1]
    assert len(doubled) <= 4
    assert max(computed(log).values()) <= 2


@pytest.mark.slow("several processes on one cache")
@posix
def test_a_stopped_process_keeps_what_it_claimed(work: Path) -> None:
    study(work, 8, 0.3)
    log = work / "log"
    first = spawn("study", "f.toml", "--jobs", 1, fake=True, cwd=work, FAKE_LOG=str(log))
    until(lambda: count(work / "out" / "store") >= 1)
    os.kill(first.pid, signal.SIGSTOP)
    second = spawn("study", "f.toml", "--jobs", 2, "--out", "o2", fake=True, cwd=work, FAKE_LOG=str(log))
    until(lambda: count(work / "out" / "store") >= 6)
    time.sleep(0.5)
    assert second.poll() is None
    os.kill(first.pid, signal.SIGCONT)
    ended([first, second])
    assert Counter(computed(log).values()) == {1: 8}


@pytest.mark.slow("several processes on one cache")
def test_ctrl_c_gives_claims_back(work: Path) -> None:
    study(work, 30, 0.3)
    process = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    until(lambda: count(work / "out" / "store") >= 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    with sqlite3.connect(work / "out" / "store" / "runs.sqlite3") as db:
        assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)


@pytest.fixture
def two(work: Path, fake: ModuleType) -> tuple[Store, Store]:
    return Store(work / "store"), Store(work / "store")


KEYS = [f"{i:064x}" for i in range(40)]


def test_claims_in_batches(two: tuple[Store, Store]) -> None:
    a, b = two
    assert a.claim(KEYS, 3).mine == KEYS[:3]
    assert b.claim(KEYS, 2) == type(b.claim([], 0))(KEYS[3:5], [], KEYS[:3])
    a.put(KEYS[1], "s", 1, result())
    again = b.claim(KEYS[:4], 9)
    assert (again.mine, again.finished, again.elsewhere) == ([KEYS[3]], [KEYS[1]], [KEYS[0], KEYS[2]])
    a.release()
    assert b.claim(KEYS[:3], 9).mine == [KEYS[0], KEYS[2]]


def test_claims_end_with_their_owner(two: tuple[Store, Store]) -> None:
    a, b = two
    a.claim(KEYS, 5)
    assert b.claim(KEYS, 1).mine == [KEYS[5]]
    a.close()
    assert b.claim(KEYS, 5).mine == KEYS[:5]


@pytest.mark.slow("several processes on one cache")
def test_a_reader_reads_while_others_write(work: Path) -> None:
    study(work, 150, 0.01)
    writers = [spawn("study", "f.toml", "--jobs", 2, "--out", f"o{i}", fake=True, cwd=work) for i in range(2)]
    seen = []
    until(lambda: count(work / "out" / "store") >= 1)
    while any(writer.poll() is None for writer in writers):
        with Store(work / "out" / "store") as store:
            seen.append(len(store))
            keys = [row[0] for row in store._db.execute("SELECT key FROM runs").fetchall()]
            assert all(store.get(key) is not None for key in keys)
            assert store.recomputed == 0
    ended(writers)
    assert seen == sorted(seen)
    assert len(seen) > 3


@posix
def test_a_forked_child_does_not_hold_its_parent_s_claims(work: Path, fake: ModuleType) -> None:
    """A worker process that outlives its parent must not keep the parent's runs from being done."""
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        store = Store(work / "store")
        store.claim(KEYS, 3)
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
        os.write(write, str(child).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    orphan = int(os.read(read, 100))
    os.waitpid(parent, 0)
    try:
        assert Store(work / "store").claim(KEYS, 3).mine == KEYS[:3]
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_a_damaged_run_is_computed_again_by_one_of_them(two: tuple[Store, Store]) -> None:
    a, b = two
    a.put(KEYS[0], "s", 1, result())
    with sqlite3.connect(a.folder / "runs.sqlite3") as db:
        db.execute("UPDATE runs SET document = 'x'")
    assert a.claim(KEYS, 1).finished == KEYS[:1]
    assert a.get(KEYS[0]) is None
    assert a.claim(KEYS, 1).mine == KEYS[:1]
    b.put(KEYS[0], "s", 1, result())
    a._write(lambda: a._discard(KEYS[0], KEYS[0]))  # another process has put it again: it stays
    assert b.get(KEYS[0]) is not None


def test_a_store_that_can_only_be_read_is_not_claimed_from(work: Path, fake: ModuleType) -> None:
    with Store(work / "store") as store:
        store.put(KEYS[0], "s", 1, result())
    reader = Store(work / "store")
    reader.read_only = True
    with pytest.raises(StoreError, match="can only be read"):
        reader.claim(KEYS, 1)


@posix
def test_the_end_of_a_forked_child_ends_no_claim_of_its_parent(work: Path, fake: ModuleType) -> None:
    script = """
import os, sys
import fake_core
fake_core.install()
from evenflow.errors import StoreError
from evenflow.store import Store
store = Store("store")
store.claim(["a" * 64], 1)
child = os.fork()
if child == 0:
    try:
        store.get("a" * 64)
    except StoreError as error:
        print(error)
    store.close()
    sys.exit(0)
os.waitpid(child, 0)
print(Store("store").claim(["a" * 64], 1).elsewhere == ["a" * 64])
store.put_all([])
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=work, env=environment(), capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == "The store store was opened by another thread or process; open it here as well.\nTrue\n"
