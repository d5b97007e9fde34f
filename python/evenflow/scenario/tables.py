"""What the generated dataclasses of `evenflow.types` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

Quantity: TypeAlias = "str | Mapping[str, Any]"
"""A number with its unit ("5 ms"), or a law ({"uniform": ["0 s", "15 s"]}, {"gamma": ["6 ms", 0.5]}, …)."""
Number: TypeAlias = "float | Mapping[str, Any]"
"""A pure number, or a law."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a scenario file. Fields left None are not written, so that the core's default holds."""

    KIND: ClassVar[str | None] = None

    def to_tree(self) -> dict[str, Any]:
        """The table as it stands in a file: plain values, `kind` first."""
        tree: dict[str, Any] = {} if self.KIND is None else {"kind": self.KIND}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                tree[field.name.removesuffix("_")] = _plain(value)
        return tree


def _plain(value: Any) -> Any:
    if isinstance(value, Table):
        return value.to_tree()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
