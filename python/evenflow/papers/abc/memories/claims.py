"""Claims c94 to c109: figures 11 to 13, uploads, memories, and one TCP flow alone."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from evenflow.claims import Check, Claim, Data
from evenflow.lab import Floats, rising, select
from evenflow.stats import ratio_of_means

from .. import network as net
from ..ledger import SIGN, claim
from ..measures import Lab, queue, received_by, time_to_rate, words
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


def _early_gain(data: Data) -> list[Check]:
    return [
        Check(
            f"{words(f1=f1)}: kB after 1 s, with ABC − 2.5 × without",
            _received_kb(data, upload_label(3), f1, 5, 1) - 2.5 * _received_kb(data, net.NO_ABC, f1, 5, 1),
            lo=0,
            unit="kB",
        )
        for f1 in (1, 2)
    ]


def _early_gain_grows(data: Data) -> list[Check]:
    found = []
    for f1 in (1, 2):
        grid = (1.0, 3.0, 10.0)
        curve = np.array([_received_kb(data, upload_label(memory), f1, 5, 1) for memory in grid])
        found += rising(f"{words(f1=f1)}: received after 1 s, meter memory", grid, curve, unit="kB", x=" s")
    return found


def _memories_converge(data: Data) -> list[Check]:
    def spread(f1: int, after_s: float) -> Floats:
        most, least = (_received_kb(data, upload_label(memory), f1, 5, after_s) for memory in (10, 1))
        return most / np.where(least > 0, least, math.nan)

    return [
        Check(
            f"{words(f1=f1)}: received with 10 s over 1 s of memory, after 2 s − after 50 s",
            spread(f1, 2) - spread(f1, 50),
            lo=0,
        )
        for f1 in (1, 2)
    ]


def _gain_at_the_end(data: Data, f1: int, delay: int, lo: float | None, hi: float | None) -> list[Check]:
    with_abc, without = (_received_kb(data, scheme, f1, delay, 50) for scheme in (upload_label(3), net.NO_ABC))
    return [
        Check(
            f"{words(f1=f1, delay_ms=delay)}: received after 50 s, with ABC over without",
            ratio_of_means(with_abc, without),
            lo=lo,
            hi=hi,
        )
    ]


def _gain_smaller_at_long_delay(data: Data) -> list[Check]:
    def gain(f1: int, delay: int, after_s: float) -> Floats:
        return _received_kb(data, upload_label(3), f1, delay, after_s) - _received_kb(
            data, net.NO_ABC, f1, delay, after_s
        )

    early = [
        Check(
            f"{words(f1=f1)}: gain by ABC after {after:g} s, at 5 ms − at 50 ms",
            gain(f1, 5, after) - gain(f1, 50, after),
            lo=0,
            unit="kB",
        )
        for f1 in (1, 2)
        for after in (1.0, 2.0)
    ]
    return early + _gain_at_the_end(data, 2, 50, 1.5, None)


# --- Figure 12 ------------------------------------------------------------------------------------------------------


def _fig12(data: Data) -> Lab:
    return Lab(data["abc-fig12"])


def _ratio_over_memory(data: Data, least_s: float, most_s: float, lo: float, hi: float | None) -> list[Check]:
    lab = _fig12(data)
    return [
        Check(
            f"{words(m_am=m_am, delay_ms=delay)}: TR", lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).ratio, lo=lo, hi=hi
        )
        for delay in lab.grid("delay_ms")
        for m_am in select(lab.grid("m_am", m_aa=0.3, delay_ms=delay), least_s, most_s)
    ]


def _queue_over_memory(data: Data, least_s: float) -> list[Check]:
    lab = _fig12(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("m_am", queue, m_aa=0.3, delay_ms=delay)
        first = next(k for k, m_am in enumerate(grid) if m_am >= least_s)
        found += rising(
            f"queue, {words(delay_ms=delay)}, meter memory", grid[first:], curve[first:], unit="packets", x=" s"
        )
    for m_am in lab.grid("m_am", m_aa=0.3):
        short, long = (lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).queue for delay in (5, 50))
        found.append(Check(f"{words(m_am=m_am)}: queue at 5 ms − at 50 ms", short - long, lo=0, unit="packets"))
    return found


def _use_over_memory(data: Data) -> list[Check]:
    lab = _fig12(data)
    found = []
    for delay in lab.grid("delay_ms"):
        chosen = lab.at(m_am=3, m_aa=0.3, delay_ms=delay).utilisation
        for m_am in lab.grid("m_am", m_aa=0.3, delay_ms=delay):
            if m_am <= 0.5 or m_am == 3:
                continue
            other = lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).utilisation
            found.append(
                Check(
                    f"{words(m_am=m_am, delay_ms=delay)}: utilisation over that at 3 s",
                    other / chosen,
                    lo=0.995,
                    hi=1.005,
                )
            )
    return found


def _averager_hardly_matters(data: Data) -> list[Check]:
    lab = _fig12(data)
    return [
        Check(
            f"{words(m_am=m_am, delay_ms=delay)}: TR at averager memory {m_aa:g} s − at 0.3 s",
            lab.at(m_am=m_am, m_aa=m_aa, delay_ms=delay).ratio - lab.at(m_am=m_am, m_aa=0.3, delay_ms=delay).ratio,
            lo=-0.1,
            hi=0.1,
        )
        for m_aa in lab.grid("m_aa")
        if m_aa != 0.3
        for delay in lab.grid("delay_ms")
        for m_am in select(lab.grid("m_am", m_aa=m_aa), 0.5)
    ]


# --- Figure 13: single runs, nothing in them is random --------------------------------------------------------------

NINETY_EIGHT_PERCENT_BPS = 0.98 * net.BOTTLENECK_MBPS * 1e6


def _seconds_to_full_rate(data: Data, scheme: str, delay: float) -> float:
    """Until the flow's rate first reaches 98 % of the link's; the length of the run if it never does."""
    (run,) = Lab(data["abc-fig13"]).at(scheme=scheme, m_aa=0.3, delay_ms=delay).runs
    found = time_to_rate(MONITOR_RATE, SINGLE_FLOW_START_S, NINETY_EIGHT_PERCENT_BPS, run)
    return SINGLE_FLOW_S if found is None else found


def _start_up(data: Data, slack: float) -> list[Check]:
    ranges: dict[int, tuple[float | None, float | None]] = {
        5: (None, 3 * (1 + slack)),
        25: (2 * (1 - slack), 10 * (1 + slack)),
        50: (10 * (1 - slack), None),
    }
    return [
        Check(f"{scheme}, {words(delay_ms=delay)}", _seconds_to_full_rate(data, scheme, delay), lo=lo, hi=hi, unit="s")
        for delay, (lo, hi) in ranges.items()
        for scheme in (net.NO_ABC, net.ABC)
    ]


def _abc_starts(data: Data, delay: int, faster: bool) -> list[Check]:
    gain = _seconds_to_full_rate(data, net.NO_ABC, delay) - _seconds_to_full_rate(data, net.ABC, delay)
    label = f"{words(delay_ms=delay)}: seconds to full rate, without − with ABC"
    return [Check(label, gain, lo=0 if faster else None, hi=None if faster else 0, unit="s")]


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


def _threshold_adapts(data: Data) -> list[Check]:
    found = []
    for m_aa, limit in ((0.1, 2.0), (0.3, 3.0), (1.0, 7.0)):
        _, values = _thresholds(data, m_aa, 5)
        label = words(m_aa=m_aa)
        found.append(Check(f"{label}: first data segment", float(values[0]), lo=12, hi=12.5, unit="packets"))
        found.append(Check(f"{label}: smallest", float(values.min()), lo=12, unit="packets"))
        found.append(Check(f"{label}: time to 19 packets", _adaptation_s(data, m_aa, 5), hi=limit, unit="s"))
    return found


def _shorter_memory_adapts_faster(data: Data) -> list[Check]:
    found = []
    for delay in (5, 25, 50):
        times = [_adaptation_s(data, m_aa, delay) for m_aa in (0.1, 0.3, 1.0)]
        for (a, b), (fast, slow) in zip((("0.1", "0.3"), ("0.3", "1")), pairwise(times), strict=True):
            found.append(
                Check(
                    f"{words(delay_ms=delay)}: time to 19 packets, averager memory {b} s − {a} s",
                    slow - fast,
                    lo=0,
                    unit="s",
                )
            )
    return found


FIG11, FIG12, FIG13 = ("fig11",), ("fig12",), ("fig13",)

CLAIMS: list[Claim] = [
    claim(
        94,
        "Fig. 11a, section IV-G2",
        "At 5 ms an upload that starts from silence has brought significantly more after 1 s with ABC.",
        expected="significantly more",
        tolerance="at least 2.5 times as much, meter memory 3 s",
        on=FIG11,
        literal=_early_gain,
    ),
    claim(
        95,
        "Fig. 11a, section IV-G2",
        "What has been received after 1 s grows with the meter's memory.",
        expected="increasing",
        tolerance="each step of 1, 3, 10 s, paired by seed",
        on=FIG11,
        literal=_early_gain_grows,
    ),
    claim(
        96,
        "Fig. 11a, section IV-G2",
        "The relative difference between memories shrinks with time.",
        expected="shrinking",
        tolerance="ratio of 10 s to 1 s of memory smaller after 50 s than after 2 s",
        on=FIG11,
        literal=_memories_converge,
    ),
    claim(
        97,
        "Fig. 11a, section IV-G2",
        "With one flow a background user the relative gain by ABC vanishes over time.",
        expected="ratio 1",
        tolerance="0.85 to 1.15 after 50 s, meter memory 3 s",
        on=FIG11,
        literal=partial(_gain_at_the_end, f1=1, delay=5, lo=0.85, hi=1.15),
    ),
    claim(
        98,
        "Fig. 11a, section IV-G2",
        "With two flows a background user the upload stays faster with ABC.",
        expected="ratio near 21/11: a fair share by users against one by flows",
        tolerance="1.6 to 2.2 after 50 s, meter memory 3 s",
        on=FIG11,
        literal=partial(_gain_at_the_end, f1=2, delay=5, lo=1.6, hi=2.2),
    ),
    claim(
        99,
        "Fig. 11b, section IV-G2",
        "At 50 ms ABC gains less, but with two flows a background user the upload still is faster.",
        expected="smaller gain; faster with two flows",
        tolerance=f"{SIGN} after 1 and 2 s; ratio ≥ 1.5 after 50 s",
        on=FIG11,
        literal=_gain_smaller_at_long_delay,
    ),
    claim(
        100,
        "Fig. 12a, section IV-G3",
        "The ratio is good for meter memories of 2 s and more.",
        expected="TR about 1",
        tolerance="0.88 to 1.1",
        on=FIG12,
        literal=partial(_ratio_over_memory, least_s=2.0, most_s=math.inf, lo=0.88, hi=1.1),
    ),
    claim(
        101,
        "Fig. 12a, section IV-G3",
        "Meter memories of 0.25 s and less can degrade the ratio significantly.",
        expected="TR clearly above 1",
        tolerance="≥ 1.3",
        on=FIG12,
        literal=partial(_ratio_over_memory, least_s=0.0, most_s=0.25, lo=1.3, hi=None),
    ),
    claim(
        102,
        "Fig. 12b, section IV-G3",
        "The mean queue grows with the meter's memory, and is longer at 5 ms than at 50 ms.",
        expected="monotone; Q(5 ms) > Q(50 ms)",
        tolerance="each step up, paired by seed",
        on=FIG12,
        literal=partial(_queue_over_memory, least_s=0.0),
        relaxed=partial(_queue_over_memory, least_s=0.5),
        reading="From 0.5 s on, where the meter's memory exceeds the averager's.",
        note=(
            "Below 0.5 s the queue at 5 ms falls by 0.05 packets from step to step, which no plot would show; "
            "from 0.5 s on it grows as the paper says."
        ),
    ),
    claim(
        103,
        "Fig. 12c, section IV-G3",
        "The meter's memory does not harm the utilisation beyond 0.5 s.",
        expected="as at 3 s",
        tolerance="±0.5 %",
        on=FIG12,
        literal=_use_over_memory,
    ),
    claim(
        104,
        "Fig. 12, sections IV-G3 and IV-G4",
        "The averager's memory has hardly any influence.",
        expected="equal TR",
        tolerance="±0.1 against 0.3 s, averager memory 0.1 to 1 s, meter memory from 0.5 s on",
        on=FIG12,
        literal=_averager_hardly_matters,
    ),
    claim(
        105,
        "Fig. 13a, section IV-G5",
        "A single TCP flow uses the link fully quickly at 5 ms, after a few seconds at 25 ms, after more than 10 s at "
        "50 ms.",
        expected="quickly; a few seconds; > 10 s",
        tolerance="< 3 s; 2 to 10 s; > 10 s until 98 % of the link, with and without ABC",
        on=FIG13,
        literal=partial(_start_up, slack=0.0),
        relaxed=partial(_start_up, slack=0.4),
        reading="±40 %: these are single runs, and where slow start ends moves them a lot.",
        note=(
            "The > 10 s at 50 ms need the TCP window of ns-3.26; where slow start meets its first loss decides about "
            "the rest."
        ),
    ),
    claim(
        106,
        "Fig. 13a, section IV-G5",
        "At 25 ms the flow gets up to speed faster with ABC.",
        expected="faster",
        tolerance="sign, single runs",
        on=FIG13,
        literal=partial(_abc_starts, delay=25, faster=True),
    ),
    claim(
        107,
        "Fig. 13a, section IV-G5",
        "At 50 ms the flow gets up to speed more slowly with ABC.",
        expected="slower",
        tolerance="sign, single runs",
        on=FIG13,
        literal=partial(_abc_starts, delay=50, faster=False),
    ),
    claim(
        108,
        "Fig. 13b, section IV-G5",
        "The drop threshold of a starting flow begins at Q_min = 12 packets and converges to Q_base = 20.",
        expected="from 12 to 20 packets",
        tolerance=(
            "≥ 19 packets within 2, 3 and 7 s for averager memories of 0.1, 0.3 and 1 s; never below 12; from the "
            "first data segment on"
        ),
        on=FIG13,
        literal=_threshold_adapts,
        note=(
            "The handshake's small packets, metered below the reference rate, meet A_avg = 0 and a threshold above "
            "Q_base: data segments count."
        ),
    ),
    claim(
        109,
        "Fig. 13b, section IV-G5",
        "The shorter the averager's memory, the faster the threshold adapts, at every delay.",
        expected="times ordered as the memories",
        tolerance="exact order at 5, 25 and 50 ms",
        on=FIG13,
        literal=_shorter_memory_adapts_faster,
    ),
]
