"""Metrics of figures 21 and 22: throughput in a part of the run, and what a video is like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow import qoe
from evenflow.lab import Floats, Measure
from evenflow.stats import jain

from .. import measures
from ..network import EXIT, HEAVY_USERS, LIGHT, LINK, PERIODS_S, VIDEO_ASKED_S, VIDEO_LIGHT_USERS

if TYPE_CHECKING:
    from evenflow.study import Run

HEAVY_BYTES = tuple(f"links.{EXIT}[{user}].delivered_bytes" for user in range(HEAVY_USERS))
"""What each heavy user receives."""
ALL_BYTES = f"links.{LINK}.delivered_bytes"
MODEL = "hossfeld-2013"
"""Equation 2."""
BEFORE = (50.0, 100.0)
FIRST = (0.0, PERIODS_S[0])
SETTLED = (20.0, PERIODS_S[0])
ASKED = VIDEO_ASKED_S
ASKING = (200.0, 300.0)
WATCHING = (200.0, 400.0)
SECOND = (200.0, PERIODS_S[1])
SECOND_SETTLED = (220.0, PERIODS_S[1])
THIRD = (PERIODS_S[1], 600.0)
"""Parts of the run, s."""
IN_TIME_S = PERIODS_S[1]
AND_STARTUP_S = 505.0
"""By when a video is over: the end of the second period, and a little later."""


def _mbps(run: Run, names: Sequence[str], part: tuple[float, float]) -> float:
    """Bytes of these series in a part of the run, Mbit/s."""
    times = run.series(names[0])[0]
    inside = (times > part[0] + 1e-9) & (times <= part[1] + 1e-9)
    total = sum(float(run.series(name)[1][inside].sum()) for name in names)
    return total * 8 / 1e6 / (part[1] - part[0])


def heavy(part: tuple[float, float], run: Run) -> float:
    """Throughput of a heavy user in a part of the run, all bytes of packets, Mbit/s."""
    return _mbps(run, HEAVY_BYTES, part) / HEAVY_USERS


def light(part: tuple[float, float], run: Run) -> float:
    """The same of a light user."""
    return (_mbps(run, [ALL_BYTES], part) - _mbps(run, HEAVY_BYTES, part)) / VIDEO_LIGHT_USERS


def heavy_share(part: tuple[float, float], run: Run) -> float:
    """The heavy users' share of the throughput, %."""
    return 100 * _mbps(run, HEAVY_BYTES, part) / _mbps(run, [ALL_BYTES], part)


def fairness(part: tuple[float, float], run: Run) -> float:
    """Jain's index of the heavy users' throughputs."""
    return jain([_mbps(run, [name], part) for name in HEAVY_BYTES])


def by_time(run: Run, bin_s: float = 5.0) -> tuple[Floats, Floats, Floats]:
    """Ends of the bins, throughput of a heavy and of a light user in each, Mbit/s."""
    times = run.series(ALL_BYTES)[0]
    bins = np.ceil(times / bin_s - 1e-9).astype(int) - 1
    size = int(bins.max()) + 1

    def summed(name: str) -> Floats:
        return np.asarray(np.bincount(bins, weights=run.series(name)[1], minlength=size), dtype=np.float64)

    mine: Floats = np.sum([summed(name) for name in HEAVY_BYTES], axis=0)
    scale = 8 / 1e6 / bin_s
    ends: Floats = bin_s * (np.arange(size, dtype=np.float64) + 1.0)
    heavy_mbps: Floats = mine * scale / HEAVY_USERS
    light_mbps: Floats = (summed(ALL_BYTES) - mine) * scale / VIDEO_LIGHT_USERS
    return ends, heavy_mbps, light_mbps


# --- Videos ---------------------------------------------------------------------------------------------------------


def quality(run: Run) -> float:
    """Mean QoE of the light users by equation 2."""
    return float(np.nanmean(qoe.of(run.record, LIGHT, model=MODEL)))


def stalls(run: Run) -> float:
    """Stalls a light user."""
    found = run.json["groups"][LIGHT]["video"]
    return float(sum(found["users_stalls"])) / len(found["users_stalls"])


def stall_s(run: Run) -> float | None:
    """Mean duration of a stall, s; undefined without stalls."""
    return run.metric(f"groups.{LIGHT}.video.stall_s_mean")


def finished(by_s: float, run: Run) -> float:
    """Videos played to the end by then, % of the users."""
    ends = run.json["groups"][LIGHT]["video"]["users_finished_s"]
    return 100.0 * sum(1 for end in ends if end is not None and end <= by_s) / len(ends)


NUMBERS: Mapping[str, Measure] = {
    "QoE": quality,
    "stalls": stalls,
    "stall_s": stall_s,
    "finished_in_time_percent": partial(finished, IN_TIME_S),
    "reports_heavy_per_s": measures.heavy_reports,
    "policed_heavy_percent": measures.heavy_policed,
}
TRACED_NUMBERS: Mapping[str, Measure] = {
    **{
        f"{name}_{int(part[0])}_{int(part[1])}_mbps": partial(of, part)
        for name, of in (("heavy", heavy), ("light", light))
        for part in (FIRST, SECOND, THIRD)
    },
    "heavy_share_percent": partial(heavy_share, SECOND_SETTLED),
}
