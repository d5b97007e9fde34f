"""`make` on a machine that lacks something: one sentence, a non-zero exit, no trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None, reason="make is not installed (sudo apt-get install make)"
)


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def bare(work: Path) -> Path:
    """A search path with the usual commands, and neither Python nor Rust."""
    folder = work / "bin"
    folder.mkdir()
    for name in [
        "sh",
        "sed",
        "grep",
        "find",
        "make",
        "test",
        "echo",
        "cut",
        "head",
        "cat",
        "touch",
        "rm",
        "mkdir",
        "dirname",
        "uname",
        "env",
        "expand",
        "cc",
        "gcc",
    ]:
        found = shutil.which(name)
        if found is not None:
            (folder / name).symlink_to(found)
    return folder


def make(bare: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(bare), "HOME": str(bare), "LC_ALL": "C"}
    return subprocess.run(
        ["make", "-s", "-C", str(ROOT), "check-tools", *arguments], env=env, capture_output=True, text=True
    )


def python(bare: Path) -> None:
    tool(bare, "python3", f'exec "{sys.executable}" "$@"')


def cargo(bare: Path, version: str = "1.95.0") -> None:
    tool(bare, "cargo", f'echo "cargo {version} (abc 2026-01-01)"')


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_all_there(bare: Path) -> None:
    python(bare)
    cargo(bare)
    done = make(bare)
    assert done.returncode == 0, done.stderr


def test_no_python(bare: Path) -> None:
    cargo(bare)
    assert "needs Python 3.11 or newer" in sentence(make(bare))


def test_old_python(bare: Path) -> None:
    cargo(bare)
    tool(bare, "python3", 'case "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    assert "needs Python 3.11 or newer" in sentence(make(bare))
    said = sentence(make(bare, f"PYTHON={bare / 'python3'}"))
    assert "Python 3.9.2" in said


def test_no_venv_module(bare: Path) -> None:
    cargo(bare)
    tool(bare, "python3", f'case "$2" in *venv*) exit 1;; *) exec "{sys.executable}" "$@";; esac')
    assert "python3-venv" in sentence(make(bare))


def test_no_rust(bare: Path) -> None:
    python(bare)
    assert "needs Rust" in sentence(make(bare))


def test_old_rust(bare: Path) -> None:
    python(bare)
    cargo(bare, "1.70.0")
    assert "1.70.0" in sentence(make(bare))


def test_broken_rust(bare: Path) -> None:
    python(bare)
    tool(bare, "cargo", "exit 1")
    assert "does not work" in sentence(make(bare))


def test_no_c_compiler(bare: Path) -> None:
    python(bare)
    cargo(bare)
    for name in ("cc", "gcc", "clang"):
        (bare / name).unlink(missing_ok=True)
    assert "C compiler" in sentence(make(bare))


def test_help_lists_what_a_person_needs(bare: Path) -> None:
    done = subprocess.run(["make", "-s", "-C", str(ROOT), "help"], capture_output=True, text=True, env=dict(os.environ))
    for target in ["setup", "demo", "test", "lint", "bench", "papers", "validate", "clean", "help"]:
        assert target in done.stdout
