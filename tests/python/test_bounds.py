"""What `make bounds` says of the advisories of crates, whatever tools there are."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture
def bounds() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bounds", ROOT / "tools" / "bounds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_in(folder: Path, tool: str, script: str) -> None:
    """A tool and a cargo that do what is wanted."""
    for name in (tool, "cargo"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="stand-ins are shell scripts: run it under WSL")
@pytest.mark.parametrize(
    ("tool", "script", "bad", "says"),
    [
        ("cargo-audit", "exit 0", False, "none known to cargo-audit"),
        ("cargo-deny", "exit 0", False, "none known to cargo-deny"),
        ("cargo-audit", "echo ID: RUSTSEC-2021-0001; exit 1", True, "RUSTSEC-2021-0001"),
        (
            "cargo-audit",
            "echo no network >&2; exit 1",
            False,
            "not checked, cargo-audit cannot reach its database (no n",
        ),
        ("other", "exit 0", False, "not checked, cargo-audit is not here (cargo install cargo-audit)"),
    ],
)
def test_advisories_of_crates(
    bounds: ModuleType,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tool: str,
    script: str,
    bad: bool,
    says: str,
) -> None:
    stand_in(work, tool, script)
    monkeypatch.setenv("PATH", str(work))
    assert shutil.which("sh") is None
    assert bounds.crate_advisories() is bad
    assert says in capsys.readouterr().out
