"""Limits in bandwidth-delay products: `limit = "0.5 BDP"`.

The product is the link's rate times the longest base round trip of the paths that cross it. A base round trip is
propagation and transmission in both directions, without waiting. A scenario is read with bytes in place of products.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import paths
from .outline import Outline

if TYPE_CHECKING:
    from .. import _core
    from .scenario import Scenario

_PRODUCT = re.compile(r"(\d+\.?\d*|\.\d+) ?BDP", re.ASCII)
_STAND_IN = "1000 packets"


class _Checked(NamedTuple):
    """The parts of a scenario that an outline reads."""

    core: _core.Scenario
    tree: dict[str, Any]


def _checked(tree: dict[str, Any]) -> Scenario | None:
    from .. import _core

    try:
        core = _core.Scenario(json.dumps({name: value for name, value in tree.items() if name != "sweep"}))
    except (_core.ScenarioError, TypeError, ValueError):
        return None
    return cast("Scenario", _Checked(core, tree))


def written_out(tree: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[tuple[paths.Path, str]]]:
    """A scenario's tree with bytes in place of products, and what is wrong with them. The tree itself stays."""
    found = list(_limits(tree))
    if not found:
        return tree, []
    plain = dict(tree)
    for path, _ in found:
        plain = paths.assigned(plain, path, _STAND_IN)
    checked = _checked(plain)
    if checked is None:
        return plain, []  # the core reports the errors
    outline = Outline(checked)
    errors: list[tuple[paths.Path, str]] = []
    for path, products in found:
        way = outline.ways[str(path[1]), path[2] == "queue"]
        trips = [one.round_trip_s for one in outline.sources if way in (*one.ways, *one.back)]
        if not trips or not way.rate:
            why = "no path crosses this link, so it has no round trip; write packets or bytes."
            errors.append((path, why if way.rate else "the link has no rate; write packets or bytes."))
        elif products == 0:
            errors.append((path, "must be above 0."))
        else:
            plain = paths.assigned(plain, path, f"{max(round(products * way.rate * max(trips) / 8), 1)} B")
    return plain, errors


def _limits(tree: Mapping[str, Any]) -> Iterator[tuple[paths.Path, float]]:
    """Limits of queues in products, and their paths."""
    links = tree.get("links")
    for name, link in links.items() if isinstance(links, Mapping) else ():
        for below in (("queue", "limit"), ("reverse", "queue", "limit")):
            value: Any = link
            for key in below:
                value = value.get(key) if isinstance(value, Mapping) else None
            match = _PRODUCT.fullmatch(value) if isinstance(value, str) else None
            if match:
                yield ("links", name, *below), float(match[1])
