"""Ctrl-C: one line, exit code 130, what was finished is kept, and the same command goes on from there."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from conftest import FAKE, SMALL, spawn
from test_store import count

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")


def interrupt_when(process: object, ready: object) -> tuple[str, str, float]:
    deadline = time.monotonic() + 30
    while not ready() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)  # type: ignore[attr-defined]
    out, err = process.communicate(timeout=30)  # type: ignore[attr-defined]
    return out, err, time.monotonic() - sent


def test_a_study_keeps_what_was_finished(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 0.1\n" + FAKE + "[sweep]\nreplications = 200\n")
    folder = work / "out" / "store"
    process = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    out, err, took = interrupt_when(process, lambda: count(folder) >= 5)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert "kept in" in err
    assert "same command again" in err
    assert took < 3
    kept = count(folder)
    assert kept >= 5
    again = spawn("study", "f.toml", "--replications", kept, "--jobs", 2, fake=True, cwd=work)
    out, _ = again.communicate(timeout=60)
    assert f"{kept} of them from the store" in out


def test_a_run_ends_at_once(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 60\n" + FAKE)
    process = spawn("run", "f.toml", fake=True, cwd=work)
    started = time.monotonic()
    _, err, took = interrupt_when(process, lambda: time.monotonic() - started > 1.5)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert took < 3


def test_the_real_engine_hears_it_too(work: Path) -> None:
    (work / "long.toml").write_text(SMALL.replace('"4 s"', '"4000000 s"'))
    process = spawn("run", "long.toml", cwd=work)
    started = time.monotonic()
    _, err, took = interrupt_when(process, lambda: time.monotonic() - started > 1.5)
    assert process.returncode == 130, err
    assert "Interrupted" in err
    assert took < 3
