"""Guides of CONTRIBUTING.md, followed to the letter in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "guides"
"""Kept between runs, so that only the first one compiles everything."""


@dataclass(frozen=True)
class Block:
    """A block of code, with the text between it and the one before."""

    language: str
    code: str
    before: str


def guide(title: str) -> list[Block]:
    """The blocks of the section "## {title}" of CONTRIBUTING.md. AssertionError where there is no such section."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, f"CONTRIBUTING.md has no section “{title}”"
    blocks = re.finditer(r"(?P<before>.*?)^```(?P<language>\w+)\n(?P<code>.*?)^```$", found[1], re.M | re.S)
    return [Block(b["language"], b["code"], b["before"]) for b in blocks]


def sources(folder: Path) -> Path:
    """A copy of everything that cargo needs."""
    shutil.copytree(ROOT / "crates", folder / "crates")
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def cargo(folder: Path, *arguments: str) -> str:
    """What a cargo command prints. AssertionError with its messages where it fails."""
    program = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"cargo {' '.join(arguments)}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout
