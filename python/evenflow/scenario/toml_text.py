"""A scenario's tree written as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import paths


def toml_text(tree: Mapping[str, Any]) -> str:
    """A tree of plain values as TOML, one line a value. What is None is left out: TOML has no word for it."""
    lines: list[str] = []

    def write(table: Mapping[str, Any], above: tuple[str, ...]) -> None:
        plain = {k: v for k, v in table.items() if not (isinstance(v, Mapping) and len(above) < 2) and v is not None}
        if above and (plain or not table):
            lines.extend(["", f"[{paths.render(above)}]"])
        lines.extend(f"{_key(k)} = {toml_value(v)}" for k, v in plain.items())
        for k, v in table.items():
            if isinstance(v, Mapping) and k not in plain:
                write(v, (*above, str(k)))

    write(tree, ())
    return "\n".join(lines).strip() + "\n"


def _key(name: object) -> str:
    return paths.render((str(name),))


def toml_value(value: Any) -> str:
    """A value as it stands behind a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    return paths.quoted(value) if isinstance(value, str) else str(value)
