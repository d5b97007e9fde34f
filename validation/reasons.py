"""differences.toml: why a comparison differs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIFFERENCES = Path(__file__).resolve().parent / "differences.toml"
UNKNOWN = "unknown: not yet looked into"


class Reasons:
    """Known reasons by peer, scenario, metric and point; the first entry that fits is quoted."""

    def __init__(self, path: Path = DIFFERENCES) -> None:
        with path.open("rb") as file:
            self._entries: list[dict[str, Any]] = tomllib.load(file).get("difference", [])

    def find(self, peer: str, scenario: str, metric: str, point: Mapping[str, Any]) -> str:
        """The reason in one line, or that it is unknown."""
        for entry in self._entries:
            peers = [entry["peer"]] if isinstance(entry["peer"], str) else entry["peer"]
            if peer not in peers or entry["scenario"] != scenario or not metric.startswith(tuple(entry["metrics"])):
                continue
            if all(point.get(key) in allowed for key, allowed in entry.get("where", {}).items()):
                return " ".join(f"{entry['whose']}: {entry['why']}".split())
        return UNKNOWN
