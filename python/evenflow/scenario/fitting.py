"""The memory of series, and single values with which a scenario fits into memory, by the engine's lower bound."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import ScenarioError
from . import paths

if TYPE_CHECKING:
    from .scenario import Scenario

LEVERS = ("duration", "users", "flows", "every")
"""Keys whose values memory follows; of `every` it follows the inverse."""
MOST_NAMED = 3
MOST_TRIED = 40
PATIENCE_S = 1.0
"""Most time for trying, on behalf of a sentence."""
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)( ?[A-Za-z/]+)")


def series_bytes(scenario: Scenario) -> int:
    """The part of the bound for recorded series."""
    record = scenario.get("record") if "record" in scenario.tree else {}
    if not isinstance(record, dict) or not record.get("series"):
        return 0
    bare = scenario.unset("record.series")
    return int(max(0, scenario.core.memory_bytes - bare.core.memory_bytes))


def needed(scenario: Scenario, copies: int) -> int:
    """The engine's bound, and so many copies of the series in addition."""
    return int(scenario.core.memory_bytes) + (copies * series_bytes(scenario) if copies else 0)


def that_fit(scenario: Scenario, copies: int, free: int) -> list[str]:
    """Single values with which a scenario would fit into so much memory, as they are written; [] if no one suffices.

    Each is tried on the bound (`needed`), not computed by proportion.
    """
    until = time.monotonic() + PATIENCE_S
    wanted = free / needed(scenario, copies)
    found: list[str] = []
    for path, value in list(_levers(scenario))[:MOST_TRIED]:
        if len(found) == MOST_NAMED or time.monotonic() > until:
            break
        share = 0.9 * wanted
        # the rest of the scenario takes some of it: then a little less of this value may do
        for smaller in (share, share / 2, share / 8):
            less = _scaled(value, 1 / smaller if path[-1] == "every" else smaller)
            if less is not None and _fits(scenario.with_value(path, less), copies, free):
                shown = paths.quoted(less) if isinstance(less, str) else f"{less:,}"
                found.append(f"{paths.render(path)} = {shown}")
                break
    return found


def _levers(scenario: Scenario) -> Iterator[tuple[paths.Path, Any]]:
    """Duration first, which shortens everything."""
    leaves = [(path, value) for path, value in paths.leaves(scenario.tree) if path[0] != "sweep" and path]
    own = [(path, value) for path, value in leaves if path[-1] in LEVERS and not isinstance(value, bool)]
    yield from sorted(own, key=lambda leaf: LEVERS.index(str(leaf[0][-1])))


def _scaled(value: Any, by: float) -> Any:
    """A value times a factor with two digits, downwards; None where it is none that can be scaled."""
    if isinstance(value, int):
        return int(value * by) if value * by >= 1 else None
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    scaled = float(match[1].replace("_", "")) * by
    if match[2].strip() in ("packets", "packet", "B"):
        return f"{int(scaled)}{match[2]}" if scaled >= 1 else None
    return f"{scaled:.2g}{match[2]}" if "e" not in f"{scaled:.2g}" else f"{scaled:.1e}{match[2]}"


def _fits(scenario: Scenario, copies: int, free: int) -> bool:
    try:
        return needed(scenario, copies) <= free
    except ScenarioError:
        return False
