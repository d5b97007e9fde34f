"""How queues, windows, arrivals and marks change within a run: measures of recorded series (sections 5.2 and 5.4)."""

from __future__ import annotations

import numpy as np

from evenflow.lab import Floats, Lab, Measure
from evenflow.study import Run

from ..choices import Options
from ..network import LB, LINK, RED, VQ

PROBABILITY_SERIES = f"links.{LINK}.queue.probability"
"""Load-based marking's probability."""
MARKING_SERIES = f"links.{LINK}.queue.marking"
"""1 while a virtual queue's overflow lasts."""
QUEUE_SERIES = f"links.{LINK}.queue.packets"
ARRIVED_SERIES = f"links.{LINK}.arrived_bytes"
"""Bytes offered since the last look."""

EQUAL_LOAD = {RED: 24, VQ: 22, LB: 14}
"""Connections of weights 1 and 6 that take each of Fig. 8's markers to a utilisation of about 0.90."""
STEP_S = 100.0
"""When the load steps up, s."""
QUEUE_BINS = 20
"""Samples of 10 ms in a round trip."""
SECOND = 10
"""Samples of 100 ms in a second."""


def queue_fluctuation(run: Run) -> float | None:
    """Standard deviation over mean of the queue averaged over round trips (200 ms), from the warm-up on."""
    return _variation(_blocks(_after(run, QUEUE_SERIES), QUEUE_BINS))


def window_fluctuation(run: Run) -> float | None:
    """Standard deviation over mean of the sum of all windows, sampled once a round trip, from the warm-up on."""
    names = [name for name in run.record.series_names if name.endswith(".window")]
    return _variation(np.sum([_after(run, name) for name in names], axis=0))


def arrival_variance(o: Options) -> Measure:
    """Variance of the number of packets that arrive in 10 ms, from the warm-up on."""
    return lambda run: float((_after(run, ARRIVED_SERIES) / o.packet).var(ddof=1))


def arrival_dispersion(o: Options) -> Measure:
    """The same over the mean number."""

    def dispersion(run: Run) -> float | None:
        counts = _after(run, ARRIVED_SERIES) / o.packet
        return float(counts.var(ddof=1) / counts.mean()) if counts.any() else None

    return dispersion


def _after(run: Run, name: str) -> Floats:
    times, values = run.series(name)
    kept: Floats = np.nan_to_num(values[times > float(run.json["window_s"][0]) + 1e-9])
    return kept


def _blocks(values: Floats, length: int) -> Floats:
    whole = len(values) // length * length
    found: Floats = values[:whole].reshape(-1, length).mean(axis=1)
    return found


def _variation(values: Floats) -> float | None:
    return float(values.std(ddof=1) / values.mean()) if values.mean() > 0 else None


def marking_periods(run: Run) -> tuple[int, float]:
    """Marking periods that begin in the window, and the time marked in it, s; seen at packets."""
    times, values = run.series(MARKING_SERIES)
    kept = times > float(run.json["window_s"][0])
    t, on = times[kept], values[kept] > 0.5
    begins = int((on[1:] & ~on[:-1]).sum())
    return begins, float(np.diff(t)[on[:-1]].sum())


def periods_per_s(run: Run) -> float | None:
    """Beginnings of marking periods per second."""
    start, end = run.json["window_s"]
    return marking_periods(run)[0] / (float(end) - float(start))


def period_s(run: Run) -> float | None:
    """Mean length of a marking period, s."""
    begins, marked = marking_periods(run)
    return marked / begins if begins else None


def response_s(with_step: Run, without: Run) -> float:
    """From the step until the probability, averaged over a second, has come half of its way; NaN if it never does.

    Its way is measured from the same run (equal seed) without the step: until the step the two are one, and with long
    averaging intervals the probability swings by itself as much as the step moves it.
    """
    times, values = with_step.series(PROBABILITY_SERIES)
    moved = np.nan_to_num(values) - np.nan_to_num(without.series(PROBABILITY_SERIES)[1])
    after = float(moved[times > STEP_S + 40].mean())
    mean = np.convolve(moved, np.ones(SECOND) / SECOND)[: len(moved)]
    there = (times > STEP_S) & (mean >= after / 2)
    return float(times[there][0] - STEP_S) if there.any() else float("nan")


def backlog(run: Run) -> float:
    """Most packets that waited in the ten seconds after the step."""
    times, values = run.series(QUEUE_SERIES)
    return float(values[(times > STEP_S) & (times <= STEP_S + 10)].max())


def step_responses(lab: Lab, interval: float) -> Floats:
    """`response_s` of every seed."""
    pairs = zip(lab.at(panel="step", t_avg=interval).runs, lab.at(panel="no step", t_avg=interval).runs, strict=True)
    return np.array([response_s(stepped, still) for stepped, still in pairs])
