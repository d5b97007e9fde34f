"""What the notes of claims share: numbers taken from the runs that are shown, in words.

A note says nothing about runs that are not there: at scale "quick", or where an experiment was not asked for, the
sentence is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Data, Judgement, number

from . import network as net
from .measures import Lab, Spot

if TYPE_CHECKING:
    from evenflow.lab import Floats
    from evenflow.study import Label

FEW = 3
"""With fewer runs a note says nothing about how runs differ."""


def spot(data: Data, experiment: str, **labels: Label) -> Spot | None:
    """The runs of a point, or None where it is not among those shown."""
    table = data.get(f"abc-{experiment}")
    if table is None:
        return None
    lab = Lab(table)
    return lab.at(**labels) if lab.has(**labels) else None


def mean(values: Floats | float) -> str:
    """The mean of the runs in which the value is defined, in three digits."""
    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    return short(float(found.mean())) if found.size else "undefined"


def short(value: float) -> str:
    """Three digits, two behind the point at most."""
    return number(float(f"{value:.3g}") if abs(value) >= 10 or abs(value) < 0.1 else round(value, 2))


def span(values: Iterable[float]) -> str:
    """ "0.40 to 0.48": the smallest and the largest."""
    found = [value for value in values if math.isfinite(value)]
    if not found:
        return "undefined"
    lo, hi = short(min(found)), short(max(found))
    return lo if lo == hi else f"{lo} to {hi}"


def means(values: Iterable[Floats]) -> str:
    """The range of the means of several points."""
    return span(float(np.nanmean(each)) for each in values)


def sentences(*parts: str) -> str:
    """What there is to say, one sentence after the other."""
    return " ".join(part for part in parts if part)


def hosts(data: Data, setting: str, delay_ms: int, how: str) -> Spot | None:
    """A point of the comparison of hosts that answer at once ("none") with such that take their time ("1.2 ms")."""
    from .beyond.runs import SENSITIVITY_HOSTS

    return spot(data, "x-sensitivity", what=SENSITIVITY_HOSTS, how=how, setting=setting, delay_ms=delay_ms)


def step_note(data: Data, _: Judgement) -> str:
    """Identical flows in step: what one flow against one does, at once and with random processing."""
    text = "Identical flows of hosts that answer at once fall into step behind a drop-tail queue."
    at_once = spot(data, "fig04", scheme=net.NO_ABC, f0=1, delay_ms=5)
    shown = ""
    if at_once is not None and len(at_once.runs) >= FEW:
        shown = f"With one flow each at 5 ms, TR is {span(at_once.ratio)} in {len(at_once.runs)} runs."
    slower = hosts(data, "figure 4a without ABC, one flow each", 5, "1.2 ms")
    apart = ""
    if slower is not None:
        apart = f"With random processing times of up to 1.2 ms a packet it is {span(slower.ratio)} (abc-x-sensitivity)."
    return sentences(text, shown, apart)
