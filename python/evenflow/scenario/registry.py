"""The engine's tables, one per mechanism: other code asks a table for a property and names no mechanism."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Every mechanism's declarative table and every metric, as the core publishes them."""
    from .. import _core

    loaded: dict[str, Any] = json.loads(_core.schema())
    return loaded


@lru_cache(maxsize=1)
def by_kind() -> dict[str, dict[str, Any]]:
    """The tables of mechanisms by name."""
    return {table["kind"]: table for table in schema()["mechanisms"] if table["room"] != "scenario"}


def table_of(kind: Any) -> Mapping[str, Any]:
    """The table of a mechanism, by its name or by a scenario's table of it; empty for an unknown one."""
    name = kind.get("kind") if isinstance(kind, Mapping) else kind
    return by_kind().get(name, {}) if isinstance(name, str) else {}


def has(kind: Any, trait: str) -> bool:
    """Whether a mechanism has a trait: a flag of `Traits` in crates/base/src/schema.rs."""
    return trait in table_of(kind).get("traits", ())


def draws(rule: Mapping[str, Any]) -> bool:
    """Whether a mechanism with these canonical parameters draws random numbers."""
    key, _, word = table_of(rule).get("draws", "").partition(" = ")
    return bool(key) and (not word or rule[key] == word)


def default(room: str) -> str:
    """The mechanism of a room where a scenario names none."""
    found = (kind for kind, table in by_kind().items() if table["room"] == room and "default" in table["traits"])
    return next(found, "")
