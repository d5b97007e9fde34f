"""Metrics of figures 8 to 11."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow.lab import Floats, Measure, chosen_by_others

from .. import measures
from ..forms import ranks_agree
from ..network import HEAVY, LAST

if TYPE_CHECKING:
    from evenflow.lab import Spot
    from evenflow.study import Run

ALONE_S = 50.0
"""When all others stop (`x-artefact`)."""
ARTEFACT_S = 100.0
GOT = f"groups.{LAST}.users[0].flows[*].received_bytes"
"""What the user who stays receives."""

WITHOUT, WITH, PASSING = "charge on arrival", "charge on arrival, floor", "charge what passes"
RULES: Mapping[str, Mapping[str, str]] = {
    WITHOUT: {"charge": "arrival", "floor": "none"},
    PASSING: {"charge": "pass", "floor": "none"},
    WITH: {"charge": "arrival", "floor": "end"},
}
"""Values of the label ``rule``."""

loss_reports: Measure = partial(measures.loss_reports, HEAVY)
policers_share: Measure = partial(measures.policers_share, HEAVY)
first_drop: Measure = partial(measures.first_drop, HEAVY)

LOSSES: Mapping[str, Measure] = {
    "loss_reports_heavy_per_s": loss_reports,
    "policers_share_of_losses_percent": policers_share,
}


def received(run: Run) -> tuple[Floats, Floats]:
    """Ends of the seconds, and what the user who stays received in each, Mbit/s."""
    names = [name for name in run.record.series_names if name.startswith(f"groups.{LAST}.")]
    times = run.series(names[0])[0]
    total: Floats = np.sum([run.series(name)[1] for name in names], axis=0)
    return times, total * 8 / 1e6


def slow_s(policed: Spot, free: Spot) -> Floats:
    """How long after `ALONE_S` the user first has half of what he has without a policer; all of it if never."""
    found = []
    for run, other in zip(policed.runs, free.runs, strict=True):
        times, rate = received(run)
        after = times > ALONE_S
        enough = after & (rate >= 0.5 * received(other)[1])
        # a second is named by its end
        found.append((float(times[enough][0]) - 1 if enough.any() else float(times[-1])) - ALONE_S)
    return np.array(found)


def right_of_minimum(curve: Floats) -> Floats:
    """Rank correlation with r from the lowest point on, run by run; the place is where the other runs are lowest."""
    seeds = curve.shape[1]
    found = np.full(seeds, math.nan)
    for seed in range(seeds):
        others = np.delete(curve, seed, axis=1).mean(axis=1)
        if seeds < 2 or np.isnan(others).any():
            continue
        mine = curve[int(np.argmin(others)) :, seed]
        if mine.size >= 3:
            found[seed] = ranks_agree(np.arange(mine.size, dtype=np.float64), mine)
    return found


def at_lowest(curve: Floats, of: Floats, first: int = 0) -> Floats:
    """Another quantity where U is lowest, run by run; the place, from `first` on, is where the other runs are lowest.

    Both of shape (rates, seeds).
    """
    seeds = curve.shape[1]
    found = np.full(seeds, math.nan)
    for seed in range(seeds if seeds > 1 else 0):
        others = np.delete(curve, seed, axis=1).mean(axis=1)
        if not np.isnan(others).any():
            found[seed] = of[first + int(np.argmin(others[first:])), seed]
    return found


def best(curve: Floats) -> Floats:
    """U at the r at which the other runs are lowest, run by run."""
    return chosen_by_others(curve, range(curve.shape[0]), lowest=True)


def lowest_place(curve: Floats) -> Floats:
    """The place on the grid at which each run's own curve is lowest."""
    found: Floats = np.argmin(curve, axis=0).astype(np.float64)
    return found
