"""Scenarios at the ends of ranges: every parameter of every mechanism at its least and its most, and every two of one
mechanism together, as the engine's own tables have them."""

from __future__ import annotations

import copy
import functools
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LEAST = re.compile(r"at least ([-\d.e+]+)")
MORE = re.compile(r"more than ([-\d.e+]+)")
MOST = re.compile(r"at most ([-\d.e+]+)")

UNITS: dict[str, list[str]] = {
    "rate": [" bit/s"],
    "duration": [" s"],
    "bytes": [" B"],
    "packets": [" packets"],
    "packets, bytes or time": [" packets", " B", " s"],
    "packets or time": [" packets", " s"],
    "packets or bytes": [" packets", " B"],
    "rate or packet rate": [" bit/s", " packets/s"],
    "number": [""],
    "whole number": [""],
}
"""Units by a parameter's type."""
FAR = {"": 1e12, " packets": 1e12, " s": 1e9, " bit/s": 1e15, " B": 1e12, " packets/s": 1e12}
"""What stands for the end of a range that has none."""
NEAR = {"": 1e-9, " packets": 1e-3, " s": 1e-9, " bit/s": 1e-3, " B": 1.0, " packets/s": 1e-3}
"""How far from an end that is not itself allowed."""

PARTNERS: dict[tuple[str, str], dict[str, Any]] = {
    ("wtp", "increase_weight"): {"form": "general", "decrease_weight": 1},
    ("wtp", "decrease_weight"): {"form": "general", "increase_weight": 1},
}
"""What a parameter cannot do without, by kind and name."""
FEEDBACK = {"ecn": "per-packet", "ack_every": 1}
"""What a stack is given for controls that answer single marks."""


def ends(parameter: Mapping[str, Any]) -> list[Any]:
    """The values at the ends of a parameter's range, of every unit it may have; none for tables, lists and names."""
    kind, _, _ = parameter["type"].partition(", or ")
    if kind == "flag":
        return [True, False]
    if kind.startswith("one of "):
        return list(kind.removeprefix("one of ").split(", "))
    word = re.match(r'whole number or "(\w+)"', parameter["type"])
    values: list[Any] = [word[1]] if word else []
    if word:
        kind = "whole number"
    said = parameter["range"]
    for unit in UNITS.get(kind, []):
        least, more, most = LEAST.search(said), MORE.search(said), MOST.search(said)
        low = float(least[1]) if least else float(more[1]) + NEAR[unit] if more else 0.0
        high = float(most[1]) if most else FAR[unit]
        for x in (low, high):
            if unit:
                values.append(f"{x!r}{unit}")
            else:
                values.append(int(x) if kind == "whole number" else x)
    return values


def tables(tree: Any, name: str, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of the tables of a mechanism."""
    if isinstance(tree, dict):
        if tree.get("kind") == name:
            yield above
        for key, value in tree.items():
            yield from tables(value, name, (*above, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from tables(value, name, (*above, index))


class Mechanism:
    """A scenario with a mechanism in it, and the values at the ends of its parameters' ranges."""

    def __init__(self, name: str, tree: dict[str, Any], place: tuple[Any, ...], params: Sequence[Any]) -> None:
        self.name, self.tree, self.place = name, tree, place
        self.ends = {p["name"]: found for p in params if (found := ends(p))}

    def at(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario with these parameters, and what they cannot do without."""
        tree = copy.deepcopy(self.tree)
        table = tree
        for key in self.place:
            table = table[key]
        for name in values:
            table.update(PARTNERS.get((self.name, name), {}))
        table.update(values)
        return tree

    def sets(self) -> Iterator[dict[str, Any]]:
        """Every parameter at each end, then every two of them."""
        for name, values in self.ends.items():
            yield from ({name: value} for value in values)
        for (a, first), (b, second) in itertools.combinations(self.ends.items(), 2):
            yield from ({a: x, b: y} for x, y in itertools.product(first, second))


@functools.lru_cache(maxsize=1)
def mechanisms_at_hand() -> tuple[Mechanism, ...]:
    """Every mechanism of the engine, in the bench's network with three users for half a second."""
    import mechanisms
    from evenflow.mechanism import schema

    params = {one["kind"]: one["params"] for one in schema()["mechanisms"]}
    base = mechanisms.base_scenario()
    stack = base.with_settings({"groups.all.tcp": base.get("groups.all.tcp")}).tree
    found = [("tcp", stack, ("groups", "all", "tcp"))]
    for swap in mechanisms.swaps():
        tree = base.with_settings(swap.settings).tree
        if swap.room == "congestion-control":
            tcp = tree["groups"]["all"]["tcp"]
            control = tcp["congestion_control"]
            tcp["congestion_control"] = control if isinstance(control, dict) else {"kind": control}
            if tcp.get("ecn") == FEEDBACK["ecn"]:
                tcp.update(FEEDBACK)
        place = next(tables(tree, swap.name), None)
        if place is not None:
            found.append((swap.name, tree, place))
    for _, tree, _ in found:
        tree.pop("sweep", None)
        tree.update(duration="500 ms", warmup="0 s")
        tree["groups"]["all"]["users"] = 3
    return tuple(Mechanism(name, tree, place, params.get(name, [])) for name, tree, place in found)


def every() -> Iterator[dict[str, Any]]:
    """All of them, each mechanism in turn."""
    for mechanism in mechanisms_at_hand():
        yield from map(mechanism.at, mechanism.sets())


def make(rng: random.Random) -> dict[str, Any]:
    """One of them, some with more than two parameters at ends, where no list of all would end."""
    mechanism = rng.choice([one for one in mechanisms_at_hand() if one.ends])
    count = min(rng.choice([1, 2, 2, 3, 4]), len(mechanism.ends))
    names = rng.sample(sorted(mechanism.ends), count)
    return mechanism.at({name: rng.choice(mechanism.ends[name]) for name in names})
