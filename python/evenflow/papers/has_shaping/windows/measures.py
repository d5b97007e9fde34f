"""What is read from a sender's window over time: thresholds, avoidance, regions of CUBIC, falls before and after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenflow import qoe
from evenflow.lab import Floats, Spot

from .. import network as net
from ..measures import METRICS, falls, of, windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenflow.study import Run

    from ..choices import Options

FIGURES = {
    "fig02": (net.NEWRENO, net.HTBM),
    "fig04": (net.VEGAS, net.HTBM),
    "fig05": (net.VEGAS, net.RWTM),
    "fig06": (net.ILLINOIS, net.HTBM),
    "fig07": (net.ILLINOIS, net.RWTM),
    "fig08": (net.CUBIC, net.HTBM),
    "fig09": (net.CUBIC, net.RWTM),
}
"""Whose windows a figure shows, of client 1 in scenario 1."""
BUFFERING_S = 30.0
"""Early: before the buffer can be full."""


def converged_s(o: Options, run: Run) -> float:
    """V, or not a number where the run never converges."""
    at = of(o, "V")(run)
    return math.nan if at is None or at >= net.DURATION_S else at


def representative(o: Options, spot: Spot) -> Run:
    """The run whose five measures are nearest to their means."""
    rows = np.array([spot.of(of(o, name)) for name in METRICS]).T
    return spot.runs[qoe.most_representative(rows)]


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if values.size else math.nan


def avoidance(o: Options, run: Run) -> float:
    """Share of the time with the window above the threshold, after convergence less before it."""
    at = converged_s(o, run)
    times, window, threshold = windows(run)
    above = window > threshold
    return _mean(above[times > at].astype(np.float64)) - _mean(above[times <= at].astype(np.float64))


def falls_a_second(o: Options, after: bool, run: Run) -> float:
    """Falls of the threshold in 100 s, before or after convergence, as a log every 50 ms has them."""
    at = converged_s(o, run)
    times, _, threshold = windows(run)
    when = times[falls(threshold)]
    length = net.DURATION_S - at if after else at
    count = float(np.sum(when > at if after else when <= at))
    return 100 * count / length if length > 0 else math.nan


def settled(o: Options, run: Run) -> float:
    """Median of the threshold after convergence, segments; of the second half of the run where it never converges."""
    at = converged_s(o, run)
    times, _, threshold = windows(run)
    known = threshold[(times > (net.DURATION_S / 2 if math.isnan(at) else at)) & ~np.isnan(threshold)]
    return float(np.median(known)) if known.size else math.nan


def first(run: Run) -> float:
    """The first threshold that is not unbounded, segments."""
    threshold = windows(run)[2]
    known = threshold[~np.isnan(threshold)]
    return float(known[0]) if known.size else math.nan


def last(run: Run) -> float:
    """The threshold at the end, segments."""
    return float(windows(run)[2][-1])


def raised(run: Run) -> float:
    """The threshold at the end of the buffering less the first one, segments."""
    times, _, threshold = windows(run)
    return float(threshold[np.searchsorted(times, BUFFERING_S)]) - first(run)


def step_down(o: Options, run: Run) -> float:
    """Median step by which the window falls in avoidance after convergence, segments."""
    at = converged_s(o, run)
    times, window, threshold = windows(run)
    down = -np.diff(window)
    mine = down[(down > 0) & (times[1:] > at) & (window[:-1] > threshold[:-1])]
    return float(np.median(mine)) if mine.size else math.nan


def reductions(run: Run) -> tuple[NDArray[np.intp], Floats]:
    """Where the window and the threshold fall together, and the window just before: CUBIC's last maximum."""
    _, window, threshold = windows(run)
    where = falls(threshold)
    down = where[window[where] < window[where - 1]]
    return down, np.asarray(window[down - 1], dtype=np.float64)


def maximum(run: Run) -> float:
    """Median window just before a reduction, segments."""
    found = reductions(run)[1]
    return float(np.median(found)) if found.size else math.nan


def convex(run: Run) -> float:
    """Share of the time after the first reduction in which the window is above its last maximum."""
    where, before = reductions(run)
    window = windows(run)[1]
    if not where.size:
        return math.nan
    last_maximum = before[np.searchsorted(where, np.arange(where[0], window.size), side="right") - 1]
    return _mean((window[where[0] :] > last_maximum).astype(np.float64))


def losses(run: Run) -> float:
    """Reductions of the window that are none of an idle time."""
    return float(reductions(run)[0].size)


def early_falls(run: Run) -> float:
    """Falls of the threshold while the buffer fills; that from unbounded counts."""
    times, _, threshold = windows(run)
    return float(np.sum(times[falls(threshold)] <= BUFFERING_S))


def at_the_top(since_s: float, run: Run) -> float:
    """Share of the time from then on at which level 4 is asked for."""
    changes = [(float(at), int(level)) for at, level in run.json["groups"][net.CLIENT_1]["video"]["users_levels"][0]]
    levels = qoe.levels_at(changes, np.arange(since_s, net.DURATION_S, 0.1))
    return float(np.mean(levels == net.TOP))


def longest_stretch(run: Run) -> float:
    """The longest time in one stretch at level 4, s."""
    changes = [(float(at), int(level)) for at, level in run.json["groups"][net.CLIENT_1]["video"]["users_levels"][0]]
    ends = [*(at for at, _ in changes[1:]), net.DURATION_S]
    spans = [end - at for (at, level), end in zip(changes, ends, strict=True) if level == net.TOP]
    return max(spans, default=0.0)
