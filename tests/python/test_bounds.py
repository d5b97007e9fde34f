"""What `make bounds` reports of advisories, whatever tools there are."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
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


SKIPPED = {"name": "rich", "skip_reason": "Dependency not found on PyPI and could not be audited: rich (15.0.0)"}
SOUND = {"name": "numpy", "version": "2.0.0", "vulns": []}
HURT = {"name": "jinja2", "version": "3.0", "vulns": [{"id": "PYSEC-2021-66"}]}


@pytest.mark.parametrize(
    ("packages", "bad", "says"),
    [
        ([SOUND], False, ["none known for the 1 checked"]),
        ([SKIPPED], False, ["not checked for every package (Dependency not found on PyPI"]),
        ([SOUND, SKIPPED], False, ["none known for the 1 checked", "not checked for rich"]),
        ([HURT, SKIPPED], True, ["1 known for the 1 checked", "jinja2 3.0: PYSEC-2021-66", "not checked for rich"]),
        ([], False, ["not checked for every package"]),
        (None, False, ["not checked, the database cannot be reached (no network)"]),
    ],
)
def test_advisories_of_packages(
    bounds: ModuleType,
    work: Path,
    capsys: pytest.CaptureFixture[str],
    packages: list[dict[str, object]] | None,
    bad: bool,
    says: list[str],
) -> None:
    """pip-audit without data skips every package, prints "No known vulnerabilities found" and ends with 0."""
    answer = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    stand_in = work / "audit.py"
    last = "No known vulnerabilities found" if packages is not None else "no network"
    stand_in.write_text(f"import sys\nprint({answer!r})\nprint({last!r}, file=sys.stderr)\n")
    assert bounds.package_advisories([sys.executable, str(stand_in)]) is bad
    out = capsys.readouterr().out
    for one in says:
        assert one in out
    assert ("none known" in out) is any("none known" in one for one in says)
