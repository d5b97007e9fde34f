"""Measures of claims c94 to c109: figures 11 to 13, uploads, memories, and one TCP flow alone."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, plain, select
from evenflow.stats import ratio_of_means

from .. import network as net
from ..claims import claims
from ..measures import Lab, queue, received_by, time_to_rate, words
from ..notes import mean
from .runs import (
    MONITOR_RATE,
    RECEIVED,
    SINGLE_FLOW_S,
    SINGLE_FLOW_START_S,
    THRESHOLD,
    UPLOAD_START_S,
    upload_label,
)

# --- Figure 11 ------------------------------------------------------------------------------------------------------


def _received_kb(data: Data, scheme: str, f1: int, delay: int, after_s: float) -> Floats:
    lab = Lab(data["abc-fig11"])
    return (
        lab.at(scheme=scheme, f1=f1, delay_ms=delay).of(partial(received_by, RECEIVED, UPLOAD_START_S, after_s)) / 1e3
    )


@claims.measure("c94")
def early_gain(data: Data, accept: Accept) -> list[Check]:
    """Received after 1 s with ABC over that without."""
    return [
        accept(
            "relative",
            f"{words(f1=f1)}: received after 1 s, with ABC over without",
            ratio_of_means(_received_kb(data, upload_label(3), f1, 5, 1), _received_kb(data, net.NO_ABC, f1, 5, 1)),
        )
        for f1 in (1, 2)
    ]


def _steps(accept: Accept, label: str, grid: list[float], curve: Floats) -> list[Check]:
    """Each step of a curve over a memory, paired by seed."""
    return [
        accept("step", f"{label}, step {plain(a)} → {plain(b)} s", high - low)
        for (a, low), (b, high) in pairwise(zip(grid, curve, strict=True))
    ]


@claims.measure("c95")
def early_gain_grows(data: Data, accept: Accept) -> list[Check]:
    """Steps of what has been received after 1 s over the meter's memory."""
    grid = [1.0, 3.0, 10.0]
    return [
        check
        for f1 in (1, 2)
        for check in _steps(
            accept,
            f"{words(f1=f1)}: received after 1 s, meter memory",
            grid,
            np.array([_received_kb(data, upload_label(memory), f1, 5, 1) for memory in grid]),
        )
    ]


@claims.measure("c96")
def memories_converge(data: Data, accept: Accept) -> list[Check]:
    """Received with the longest memory over that with the shortest, early less late."""

    def spread(f1: int, after_s: float) -> Floats:
        most, least = (_received_kb(data, upload_label(memory), f1, 5, after_s) for memory in (10, 1))
        return most / np.where(least > 0, least, math.nan)

    return [
        accept(
            "less",
            f"{words(f1=f1)}: received with 10 s over 1 s of memory, after 2 s − after 50 s",
            spread(f1, 2) - spread(f1, 50),
        )
        for f1 in (1, 2)
    ]


def _gain_at_the_end(data: Data, accept: Accept, f1: int, delay: int) -> list[Check]:
    """Received after 50 s with ABC over that without."""
    with_abc, without = (_received_kb(data, scheme, f1, delay, 50) for scheme in (upload_label(3), net.NO_ABC))
    label = f"{words(f1=f1, delay_ms=delay)}: received after 50 s, with ABC over without"
    return [accept("end", label, ratio_of_means(with_abc, without))]


claims.measure("c97")(partial(_gain_at_the_end, f1=1, delay=5))
claims.measure("c98")(partial(_gain_at_the_end, f1=2, delay=5))


@claims.measure("c99")
def gain_smaller_at_long_delay(data: Data, accept: Accept) -> list[Check]:
    """The early gain at 5 ms less that at 50 ms, and the ratio at the end."""

    def gain(f1: int, delay: int, after_s: float) -> Floats:
        return _received_kb(data, upload_label(3), f1, delay, after_s) - _received_kb(
            data, net.NO_ABC, f1, delay, after_s
        )

    early = [
        accept(
            "smaller",
            f"{words(f1=f1)}: gain by ABC after {after:g} s, at 5 ms − at 50 ms",
            gain(f1, 5, after) - gain(f1, 50, after),
        )
        for f1 in (1, 2)
        for after in (1.0, 2.0)
    ]
    return early + _gain_at_the_end(data, accept, 2, 50)


# --- Figure 12 ------------------------------------------------------------------------------------------------------


def _fig12(data: Data) -> Lab:
    return Lab(data["abc-fig12"])


def _ratio_over_memory(data: Data, accept: Accept, least_s: float, most_s: float) -> list[Check]:
    """TR for a range of meter memories."""
    lab = _fig12(data)
    return [
        accept("ratio", f"{words(m_am=m_am, delay_ms=delay)}: TR", lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).ratio)
        for delay in lab.grid("delay_ms")
        for m_am in select(lab.grid("m_am", m_aa=0.3, delay_ms=delay), least_s, most_s)
    ]


claims.measure("c100")(partial(_ratio_over_memory, least_s=2.0, most_s=math.inf))
claims.measure("c101")(partial(_ratio_over_memory, least_s=0.0, most_s=0.25))


@claims.measure("c102")
def queue_over_memory(data: Data, accept: Accept) -> list[Check]:
    """Steps of the queue over the meter's memory, and the queue at 5 ms less that at 50 ms."""
    lab = _fig12(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("m_am", queue, m_aa=0.3, delay_ms=delay)
        found += _steps(accept, f"queue, {words(delay_ms=delay)}, meter memory", grid, curve)
    for m_am in lab.grid("m_am", m_aa=0.3):
        short, long = (lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).queue for delay in (5, 50))
        found.append(accept("longer", f"{words(m_am=m_am)}: queue at 5 ms − at 50 ms", short - long))
    return found


@claims.note("c102")
def memory_note(_: Data, judged: Judgement) -> str:
    """The steps that fall, and by how much."""
    falls = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(f"{o.check.label}: {mean(o.interval.mean)} packets" for o in falls)
    return (
        f"The queue does not grow at {len(falls)} of {len(judged.outcomes)} steps ({said}), which no plot would show; "
        "elsewhere it grows as the paper says."
        if falls
        else ""
    )


@claims.measure("c103")
def use_over_memory(data: Data, accept: Accept) -> list[Check]:
    """Utilisation over that with the chosen memory."""
    lab = _fig12(data)
    found = []
    for delay in lab.grid("delay_ms"):
        chosen = lab.at(m_am=3, m_aa=0.3, delay_ms=delay).utilisation
        for m_am in lab.grid("m_am", m_aa=0.3, delay_ms=delay):
            if m_am <= 0.5 or m_am == 3:
                continue
            other = lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).utilisation
            label = f"{words(m_am=m_am, delay_ms=delay)}: utilisation over that at 3 s"
            found.append(accept("relative", label, other / chosen))
    return found


@claims.measure("c104")
def averager_hardly_matters(data: Data, accept: Accept) -> list[Check]:
    """TR, queue and utilisation against those with 0.3 s of averager memory."""
    lab = _fig12(data)
    found = []
    for m_aa in lab.grid("m_aa"):
        if m_aa == 0.3:
            continue
        for delay in lab.grid("delay_ms"):
            for m_am in select(lab.grid("m_am", m_aa=m_aa), 0.5):
                other, chosen = (lab.at(m_am=m_am, m_aa=it, delay_ms=delay) for it in (m_aa, 0.3))
                where = words(m_am=m_am, delay_ms=delay)
                at = f"at averager memory {m_aa:g} s"
                found.append(accept("ratio", f"{where}: TR {at} − at 0.3 s", other.ratio - chosen.ratio))
                found.append(accept("queue", f"{where}: queue {at} over 0.3 s", other.queue / chosen.queue))
                use = other.utilisation / chosen.utilisation
                found.append(accept("utilisation", f"{where}: utilisation {at} over 0.3 s", use))
    return found


# --- Figure 13: single runs, nothing in them is random --------------------------------------------------------------

NINETY_EIGHT_PERCENT_BPS = 0.98 * net.BOTTLENECK_MBPS * 1e6


def _seconds_to_full_rate(data: Data, scheme: str, delay: float) -> float:
    """Until the flow's rate first reaches 98 % of the link's; the length of the run if it never does."""
    (run,) = Lab(data["abc-fig13"]).at(scheme=scheme, m_aa=0.3, delay_ms=delay).runs
    found = time_to_rate(MONITOR_RATE, SINGLE_FLOW_START_S, NINETY_EIGHT_PERCENT_BPS, run)
    return SINGLE_FLOW_S if found is None else found


@claims.measure("c105")
def start_up(data: Data, accept: Accept) -> list[Check]:
    """Seconds until the flow's rate first reaches 98 % of the link's."""
    return [
        accept(f"at_{delay}_ms", f"{scheme}, {words(delay_ms=delay)}", _seconds_to_full_rate(data, scheme, delay))
        for delay in (5, 25, 50)
        for scheme in (net.NO_ABC, net.ABC)
    ]


@claims.note("c105")
def start_up_note(_: Data, __: Judgement) -> str:
    """What the start hangs on."""
    return (
        "The > 10 s at 50 ms need the TCP window of ns-3.26; where slow start meets its first loss decides about the "
        "rest."
    )


def _abc_starts(data: Data, accept: Accept, delay: int) -> list[Check]:
    """Seconds to full rate without ABC less those with."""
    gain = _seconds_to_full_rate(data, net.NO_ABC, delay) - _seconds_to_full_rate(data, net.ABC, delay)
    return [accept("gain", f"{words(delay_ms=delay)}: seconds to full rate, without − with ABC", gain)]


claims.measure("c106")(partial(_abc_starts, delay=25))
claims.measure("c107")(partial(_abc_starts, delay=50))


def _thresholds(data: Data, m_aa: float, delay: float) -> tuple[Floats, Floats]:
    """Times since the flow's start and drop thresholds, without the packets of the handshake."""
    (run,) = Lab(data["abc-fig13"]).at(scheme=net.ABC, m_aa=m_aa, delay_ms=delay).runs
    times, values = run.series(THRESHOLD)
    handshake_s = SINGLE_FLOW_START_S + 2 * (delay + 0.1) / 1e3
    # the acknowledgement of the handshake leaves together with the first data segment and is shorter: it arrives first
    data_segments = np.flatnonzero(times > handshake_s)[1:]
    return times[data_segments] - SINGLE_FLOW_START_S, values[data_segments]


def _adaptation_s(data: Data, m_aa: float, delay: float) -> float:
    """Seconds from the flow's start until the threshold, once it has been at its minimum, first reaches 19 packets."""
    times, values = _thresholds(data, m_aa, delay)
    low = np.flatnonzero(values <= 12.5)
    if not low.size:
        return math.nan
    reached = np.flatnonzero(values[low[0] :] >= 19)
    return float(times[low[0] + reached[0]]) if reached.size else SINGLE_FLOW_S


@claims.measure("c108")
def threshold_adapts(data: Data, accept: Accept) -> list[Check]:
    """The threshold's first and smallest value, and how long it takes to 19 packets."""
    found = []
    for m_aa, name in ((0.1, "time_at_0_1_s"), (0.3, "time_at_0_3_s"), (1.0, "time_at_1_s")):
        _, values = _thresholds(data, m_aa, 5)
        label = words(m_aa=m_aa)
        found.append(accept("first", f"{label}: first data segment", float(values[0])))
        found.append(accept("smallest", f"{label}: smallest", float(values.min())))
        found.append(accept(name, f"{label}: time to 19 packets", _adaptation_s(data, m_aa, 5)))
    return found


@claims.note("c108")
def handshake_note(_: Data, __: Judgement) -> str:
    """Why data segments count."""
    return (
        "The handshake's small packets, metered below the reference rate, meet A_avg = 0 and a threshold above Q_base: "
        "data segments count."
    )


@claims.measure("c109")
def shorter_memory_adapts_faster(data: Data, accept: Accept) -> list[Check]:
    """Times to 19 packets, one averager memory against the next shorter."""
    found = []
    for delay in (5, 25, 50):
        times = [_adaptation_s(data, m_aa, delay) for m_aa in (0.1, 0.3, 1.0)]
        for (a, b), (fast, slow) in zip((("0.1", "0.3"), ("0.3", "1")), pairwise(times), strict=True):
            label = f"{words(delay_ms=delay)}: time to 19 packets, averager memory {b} s − {a} s"
            found.append(accept("later", label, slow - fast))
    return found
