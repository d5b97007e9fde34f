"""What metrics can be, as the program's own list of metrics and the tables of its mechanisms describe them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Place = tuple[str, ...]

SIGNED = {"infidelity", "balance", "least_balance", "worth", "tokens", "ctokens", "activity", "average", "threshold"}
"""Observables that may be less than zero though their descriptions do not say so in these words: a difference, a debt,
and the logarithm that an activity is."""
SHARES = re.compile(r"\.(jain|[a-z_]*share|[a-z_]*fraction)$")
"""Names of shares that no description calls one."""
ROUNDED = {"p50": 0.004, "p95": 0.004, "p99": 1e-9, "mean": 1e-9}
"""How far above the longest a quantile may be: those of transfers are read within 0.3 %."""


@dataclass(frozen=True)
class Range:
    """A metric or an observable: whether it may be less than zero, and whether it is a share."""

    signed: bool
    share: bool


def of(description: dict[str, Any]) -> Range:
    """The range that a description gives."""
    words = f"{description.get('formula', '')}. {description['doc']}"
    share = re.match(
        r"(\. )?share |.*?\. (Their s|S|A s)hare |.*\bprobability p_|.*: 0 or 1\.|.*[Pp]robability[ .]", words
    )
    signed = re.search(r"less than zero|[Nn]egative(:| if| when)", words) is not None
    return Range(signed, description["unit"] == "1" and share is not None)


@functools.lru_cache(maxsize=1)
def described() -> tuple[dict[Place, Range], dict[str, Range]]:
    """Metrics by the parts of their names, and observables by name: of several with one name, the widest."""
    from evenflow.mechanism import schema

    metrics: dict[Place, Range] = {}
    before = Range(False, False)
    for one in schema()["metrics"]:
        before = before if one["doc"].startswith(("The same of", "As ")) else of(one)
        metrics[tuple(one["name"].split("."))] = before
    observables: dict[str, Range] = {}
    for mechanism in schema()["mechanisms"]:
        for one in mechanism["observables"]:
            new = of(one)
            old = observables.get(one["name"], new)
            signed = new.signed or old.signed or one["name"] in SIGNED
            observables[one["name"]] = Range(signed, new.share and old.share)
    return metrics, observables


def matches(name: Place, place: Place) -> str | None:
    """Whether a metric's name, with capitals for what a scenario names, is that of a place; what the observable's name
    there is, or the metric's own last part."""
    if len(place) < len(name):
        return None
    last = name[-1]
    for part, found in zip(name, place, strict=False):
        if part.endswith("OBSERVABLE"):
            return found.removeprefix(part.removesuffix("OBSERVABLE")) if found.startswith(part[:-10]) else None
        if part != found and not part.isupper():
            return None
    return last if len(place) == len(name) else None


def range_of(place: Place) -> Range | None:
    """The range of what stands at a place of a record; None if nothing describes it."""
    metrics, observables = described()
    place = tuple(part for part in place if part != "reverse") or place
    if place in metrics:
        return metrics[place]
    for name, own in metrics.items():
        found = matches(name, place)
        if found is not None and not name[-1].endswith("OBSERVABLE"):
            return own
    for name in metrics:
        found = matches(name, place) if name[-1].endswith("OBSERVABLE") else None
        if found is not None and found in observables:
            return observables[found]
    return None


def senseless(record: Any, place: Place = ()) -> Iterator[str]:
    """Metrics of a record that are outside what their descriptions say: no number, below zero, or a share above one; a
    mean or a quantile above the longest."""
    said = "".join(f".{part}" for part in place)
    if isinstance(record, dict):
        for key, value in record.items():
            yield from senseless(value, (*place, key))
        for key, longest in record.items():
            stem = key.removesuffix("max")
            if stem == key or isinstance(longest, str | dict | list) or longest is None:
                continue
            for end, more in ROUNDED.items():
                one = record.get(stem + end)
                if one is not None and one > longest * (1 + more) + 1e-9:
                    yield f"{said}.{stem}{end} is {one}, and the longest {longest}"
    elif isinstance(record, list):
        for value in record:
            yield from senseless(value, place)
    elif isinstance(record, int | float) and not isinstance(record, bool):
        own = range_of(place)
        if record != record or record in (float("inf"), float("-inf")):
            yield f"{said} is {record}"
        elif record < 0 and not (own is not None and own.signed):
            yield f"{said} is {record}, less than zero"
        elif record > 1 + 1e-9 and (SHARES.search(said) if own is None else own.share):
            yield f"{said} is {record}, no share"
