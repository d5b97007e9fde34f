"""Comparisons of a claim: measured values, the accepted set that they are compared with, and their labels in words.

    claim("c40", each("relative", "{f0}: TR at 5 ms over TR at 50 ms", TR(delay_ms=5) / TR(delay_ms=50)))

`relative` is an accepted set in `claims.toml`. `{f0}` is the point's label in the paper's words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..run.study import Curve
from . import kit
from .values import Labels, Shown, Values, computed, worded

if TYPE_CHECKING:
    from .claims import Check
    from .kit import Accept
    from .lab import Vocabulary

Checks: TypeAlias = "Callable[[Shown, Accept, Vocabulary], list[Check]]"


@dataclass(frozen=True)
class Comparison:
    """Comparisons with one accepted set; `name` may have labels in it: "{control:short}"."""

    name: str
    checks: Checks
    needs: tuple[str, ...] = ()
    """Other sets that it reads."""


def each(name: str, label: str, values: Values | float, *, defined: bool = False) -> Comparison:
    """Every cell lies in the set.

    Args:
        name: of the accepted set.
        label: a template, "{r0}: T0".
        values: what is measured; a number where nothing is sampled.
        defined: leave out cells that are undefined in every run.
    """
    measured = values if isinstance(values, Values) else computed(lambda: float(values))

    def checks(shown: Shown, accept: Accept, vocabulary: Vocabulary) -> list[Check]:
        found = []
        for labels, value in measured.cells(shown):
            if isinstance(value, (Curve, list)):
                raise TypeError("a curve is drawn; compared are its values")
            if not (defined and isinstance(value, np.ndarray) and np.isnan(value).all()):
                found.append(accept(worded(name, labels, vocabulary), worded(label, labels, vocabulary), value))
        return found

    return Comparison(name, checks)


def extremum(name: str, label: str, values: Values, along: str, *, lowest: bool = False, unit: str = "") -> Comparison:
    """Each curve along a label is highest, or lowest, inside the set, which is a range of the label."""

    def checks(shown: Shown, accept: Accept, vocabulary: Vocabulary) -> list[Check]:
        return [
            kit.extremum(accept, name, worded(label, rest, vocabulary), grid, curve, lowest=lowest, unit=unit)
            for rest, grid, curve in values.curves(shown, along)
        ]

    return Comparison(name, checks)


def most(name: str, label: str, where: str, values: Values, *, by: Sequence[str] = ()) -> Comparison:
    """Compare: at least the share `share` of the cells lies in the set `name`.

    Args:
        label: of the comparison; a template of the labels `by`.
        where: of a cell.
        by: labels; each combination is a separate comparison.
    """

    def checks(shown: Shown, accept: Accept, vocabulary: Vocabulary) -> list[Check]:
        groups: dict[tuple[object, ...], tuple[Labels, list[tuple[str, object]]]] = {} if by else {(): ({}, [])}
        for labels, value in values.cells(shown):
            key = tuple(labels[it] for it in by)
            groups.setdefault(key, (labels, []))[1].append((worded(where, labels, vocabulary), value))
        share = accept.set("share").lo or math.nan
        return [
            kit.most(accept, name, worded(label, labels, vocabulary), found, share=share)  # type: ignore[arg-type]
            for labels, found in groups.values()
        ]

    return Comparison(name, checks, needs=("share",))
