"""The engine's tables are the only registry: names of mechanisms appear in few other places."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import literals  # noqa: E402

FREE = ("crates/sim/", "crates/link/", "crates/wire/", "python/evenflow/show/names.py")
"""Places that take all names from the tables."""
MOST = 297
"""Names elsewhere; lower this number with them."""


def test_these_places_name_no_mechanism() -> None:
    assert [(path, name) for path, name in literals.literals() if path.startswith(FREE)] == []


def test_other_places_name_no_more_than_now() -> None:
    assert sum(literals.literals().values()) <= MOST
