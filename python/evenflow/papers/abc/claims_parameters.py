"""Claims c79 to c109: figures 8 to 13, reference rates, AQM parameters, memories, and one TCP flow alone."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from evenflow.claims import Check, Claim, Data
from evenflow.lab import Floats, falling, rising, select, within
from evenflow.stats import ratio_of_means

from . import scenarios as net
from .experiments import (
    MONITOR_RATE,
    RECEIVED,
    SINGLE_FLOW_S,
    SINGLE_FLOW_START_S,
    THRESHOLD,
    UPLOAD_START_S,
    upload_label,
)
from .ledger import FIFTEEN, SIGN, claim
from .measures import PAPER_TOLERANCE, Lab, queue, ratio, received_by, tail_share, time_to_rate, words

CHOSEN = {"gamma": 16.0, "q_min": 12.0}
"""What the paper settles on (section IV-F1)."""
PAPER_Q_MINS = (3.0, 6.0, 12.0)
"""Figure 9's; our 18 is extra and no claim covers it."""


# --- Figure 8 -------------------------------------------------------------------------------------------------------


def _scaled_shares(data: Data) -> list[Check]:
    lab = Lab(data["abc-fig08"])
    lo, hi = within(1.0, PAPER_TOLERANCE)
    return [
        Check(f"{words(s=s, flows=flows)}: TR over s", lab.at(s=s, flows=flows, delay_ms=5).ratio / s, lo=lo, hi=hi)
        for flows in lab.grid("flows")
        for s in lab.grid("s", flows=flows, delay_ms=5)
    ]


def _share_at_sixteen(data: Data, flows: int, accepted: tuple[float, float]) -> list[Check]:
    lab = Lab(data["abc-fig08"])
    lo, hi = accepted
    return [Check(words(s=16, flows=flows, delay_ms=50), lab.at(s=16, flows=flows, delay_ms=50).ratio, lo=lo, hi=hi)]


def _more_flows_closer(data: Data) -> list[Check]:
    lab = Lab(data["abc-fig08"])
    found = []
    for s in (8.0, 16.0):
        one, two = (lab.at(s=s, flows=flows, delay_ms=50).ratio for flows in (1, 2))
        found.append(
            Check(f"{words(s=s)}: distance to s with one flow − with two", np.abs(s - one) - np.abs(s - two), lo=0)
        )
        for flows, long in ((1, one), (2, two)):
            short = lab.at(s=s, flows=flows, delay_ms=5).ratio
            found.append(Check(f"{words(s=s, flows=flows)}: TR at 5 ms − at 50 ms", short - long, lo=0))
    return found


# --- Figure 9 -------------------------------------------------------------------------------------------------------


def _fig09(data: Data) -> Lab:
    return Lab(data["abc-fig09"])


def _q_mins(lab: Lab) -> list[float]:
    return [q for q in lab.grid("q_min") if q in PAPER_Q_MINS]


def _ratio_at_gamma_one(data: Data, accepted: tuple[float, float]) -> list[Check]:
    lab = _fig09(data)
    lo, hi = accepted
    return [
        Check(
            f"{words(gamma=1, q_min=q_min, delay_ms=delay)}: TR",
            lab.at(scheme=net.ABC, gamma=1, q_min=q_min, delay_ms=delay).ratio,
            lo=lo,
            hi=hi,
        )
        for delay in lab.grid("delay_ms")
        for q_min in _q_mins(lab)
    ]


def _ratio_at_larger_gamma(data: Data) -> list[Check]:
    lab = _fig09(data)
    return [
        Check(
            f"{words(gamma=gamma, delay_ms=delay)}: TR",
            lab.at(scheme=net.ABC, gamma=gamma, q_min=12, delay_ms=delay).ratio,
            lo=0.93,
            hi=1.15,
        )
        for delay in lab.grid("delay_ms")
        for gamma in select(lab.grid("gamma", q_min=12), 8, 32)
    ]


def _ratio_rises_again(data: Data) -> list[Check]:
    lab = _fig09(data)
    found = []
    for delay in lab.grid("delay_ms"):
        most, chosen = (lab.at(scheme=net.ABC, gamma=g, q_min=12, delay_ms=delay).ratio for g in (128, 16))
        found.append(Check(f"{words(delay_ms=delay)}: TR at γ = 128 − at γ = 16", most - chosen, lo=0, hi=0.5))
    return found


def _short_delay_fairer(data: Data) -> list[Check]:
    lab = _fig09(data)
    found = []
    for gamma in select(lab.grid("gamma", q_min=12), hi=32):
        short, long = (lab.at(scheme=net.ABC, gamma=gamma, q_min=12, delay_ms=delay).ratio for delay in (5, 50))
        found.append(Check(f"{words(gamma=gamma)}: TR at 5 ms − at 50 ms", short - long, hi=0))
    return found


def _q_min_hardly_matters(data: Data) -> list[Check]:
    lab = _fig09(data)
    found = []
    for delay in lab.grid("delay_ms"):
        for gamma in select(lab.grid("gamma", q_min=12), hi=16):
            chosen = lab.at(scheme=net.ABC, gamma=gamma, q_min=12, delay_ms=delay)
            for q_min in _q_mins(lab):
                if q_min == 12:
                    continue
                other = lab.at(scheme=net.ABC, gamma=gamma, q_min=q_min, delay_ms=delay)
                label = words(gamma=gamma, delay_ms=delay)
                found.append(
                    Check(f"{label}: TR at Q_min {q_min:g} − at 12", other.ratio - chosen.ratio, lo=-0.1, hi=0.1)
                )
                found.append(
                    Check(
                        f"{label}: queue at Q_min {q_min:g} − at 12",
                        other.queue - chosen.queue,
                        lo=-1,
                        hi=1,
                        unit="packets",
                    )
                )
    return found


def _queue_falls_with_gamma(data: Data) -> list[Check]:
    lab = _fig09(data)
    found = []
    for q_min in _q_mins(lab):
        for delay in lab.grid("delay_ms"):
            grid, curve = lab.curve("gamma", queue, scheme=net.ABC, q_min=q_min, delay_ms=delay)
            found += falling(f"queue, {words(q_min=q_min, delay_ms=delay)}", grid, curve, slack=0.3, unit="packets")
        for gamma in lab.grid("gamma", q_min=q_min):
            short, long = (lab.at(scheme=net.ABC, gamma=gamma, q_min=q_min, delay_ms=delay).queue for delay in (5, 50))
            found.append(
                Check(
                    f"{words(gamma=gamma, q_min=q_min)}: queue at 5 ms − at 50 ms", short - long, lo=0, unit="packets"
                )
            )
    return found


def _full_use(data: Data) -> list[Check]:
    lab = _fig09(data)
    return [
        Check("ABC, 5 ms", lab.at(scheme=net.ABC, delay_ms=5, **CHOSEN).utilisation, lo=0.998),
        Check("ABC, 50 ms", lab.at(scheme=net.ABC, delay_ms=50, **CHOSEN).utilisation, lo=0.993, hi=0.999),
        Check("no ABC, 50 ms", lab.at(scheme=net.NO_ABC, delay_ms=50).utilisation, lo=0.993, hi=1.0),
    ]


def _large_gamma_costs_use(data: Data) -> list[Check]:
    lab = _fig09(data)
    found = []
    for q_min in _q_mins(lab):
        most, chosen = (lab.at(scheme=net.ABC, gamma=g, q_min=q_min, delay_ms=50).utilisation for g in (128, 16))
        found.append(Check(f"{words(q_min=q_min)}: utilisation at γ = 128 − at γ = 16", most - chosen, hi=0))
    grid = _q_mins(lab)
    curve = np.array([lab.at(scheme=net.ABC, gamma=128, q_min=q_min, delay_ms=50).utilisation for q_min in grid])
    return found + rising("utilisation at γ = 128 over Q_min", grid, curve)


# --- Figure 10 ------------------------------------------------------------------------------------------------------


def _fig10(data: Data) -> Lab:
    return Lab(data["abc-fig10"])


def _q_base_hardly_matters(data: Data) -> list[Check]:
    lab = _fig10(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("q_base", ratio, gamma=16, delay_ms=delay)
        chosen = [values for q_base, values in zip(grid, curve, strict=True) if 16 <= q_base <= 22]
        order = sorted(chosen, key=lambda values: float(np.nanmean(values)))
        found.append(
            Check(
                f"{words(gamma=16, delay_ms=delay)}: largest − smallest TR, Q_base 16 to 22",
                order[-1] - order[0],
                hi=0.1,
            )
        )
        for gamma in select(lab.grid("gamma"), hi=4):
            full, below = (lab.at(gamma=gamma, q_base=q, delay_ms=delay).ratio for q in (24, 22))
            found.append(Check(f"{words(gamma=gamma, delay_ms=delay)}: TR at Q_base 24 over 22", full / below, lo=1.08))
    return found


def _queue_grows_with_q_base(data: Data) -> list[Check]:
    lab = _fig10(data)
    found = []
    for gamma in lab.grid("gamma"):
        for delay in lab.grid("delay_ms"):
            grid, curve = lab.curve("q_base", queue, gamma=gamma, delay_ms=delay)
            found += rising(f"queue, {words(gamma=gamma, delay_ms=delay)}", grid, curve, unit="packets")
    return found


def _tail_drops(data: Data) -> list[Check]:
    lab = _fig10(data)
    found = []
    for gamma in lab.grid("gamma"):
        for delay in lab.grid("delay_ms"):
            for q_base in lab.grid("q_base", gamma=gamma, delay_ms=delay):
                share = lab.at(gamma=gamma, q_base=q_base, delay_ms=delay).of(tail_share)
                label = f"{words(gamma=gamma, q_base=q_base, delay_ms=delay)}: tail drops of all drops"
                if q_base <= 22:
                    found.append(Check(label, share, hi=0.01))
                elif q_base == 24 and gamma <= 16:
                    found.append(Check(label, share, lo=0.03))
    return found


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


FIG8, FIG9, FIG10, FIG11, FIG12, FIG13 = (("fig08",), ("fig09",), ("fig10",), ("fig11",), ("fig12",), ("fig13",))

CLAIMS: list[Claim] = [
    claim(
        79,
        "Fig. 8, section IV-E2",
        "At 5 ms a user's share scales with its reference rate, with one and with two flows.",
        expected="TR = s",
        tolerance=FIFTEEN,
        on=FIG8,
        literal=_scaled_shares,
        note=(
            "One point misses: s = 8 with one flow each. Its runs end at one of two ratios, 4.9 or 7.9, as the "
            "two flows fall into step or not; with a random processing time of up to 1.2 ms in hosts they lie "
            "between 6.4 and 7.6. All other points lie within 15 % of s."
        ),
    ),
    claim(
        80,
        "Fig. 8, section IV-E2",
        "At 50 ms a 16-fold reference rate brings a user with one flow only 12 times the throughput.",
        expected="TR = 12",
        tolerance=FIFTEEN,
        on=FIG8,
        literal=partial(_share_at_sixteen, flows=1, accepted=within(12.0, PAPER_TOLERANCE)),
        relaxed=partial(_share_at_sixteen, flows=1, accepted=(3.0, 16.0)),
        reading=(
            "3 to 16: a knife-edge on the TCP window. Just below it the flow never loses a packet, just above it "
            "loses one every half minute."
        ),
        note=(
            "With 131072 B of window the heavy flow just touches Q_base, loses a packet and recovers slowly: TR "
            "is 3.6. With 115 to 127 kB, where it never loses one, TR is 11.3 to 14.1, which contains the paper's "
            "12; with a window that never binds it is 8.2 (abc-x-sensitivity). The paper's value fits a window "
            "slightly below ns-3.26's default."
        ),
    ),
    claim(
        81,
        "Fig. 8, section IV-E2",
        "At 50 ms a 16-fold reference rate brings a user with two flows 15 times the throughput.",
        expected="TR = 15",
        tolerance=FIFTEEN,
        on=FIG8,
        literal=partial(_share_at_sixteen, flows=2, accepted=within(15.0, PAPER_TOLERANCE)),
        relaxed=partial(_share_at_sixteen, flows=2, accepted=(9.0, 17.0)),
        reading="9 to 17, for a value that depends on rare losses of two flows.",
        note=(
            "TR lies between 9.7 and 11 for every window tried, and random processing in hosts does not change it "
            "(10.2). The direction of the claim holds, two flows come closer to 16 than one (c82); what gives 15 "
            "in the paper is not explained."
        ),
    ),
    claim(
        82,
        "Fig. 8, section IV-E2",
        "At 50 ms two flows come closer to s than one does, and both stay below the ratio at 5 ms.",
        expected="|s − TR| smaller with two flows; TR(50 ms) < TR(5 ms)",
        tolerance=f"{SIGN}, s = 8 and 16",
        on=FIG8,
        literal=_more_flows_closer,
    ),
    claim(
        83,
        "Fig. 9a, section IV-F1",
        "A small γ of one packet already brings the ratio from 10 to about 2.",
        expected="TR = 2",
        tolerance=FIFTEEN,
        on=FIG9,
        literal=partial(_ratio_at_gamma_one, accepted=within(2.0, PAPER_TOLERANCE)),
        relaxed=partial(_ratio_at_gamma_one, accepted=(1.5, 2.6)),
        reading="1.5 to 2.6: one number given for two delays whose curves differ.",
        note=(
            "The paper gives one number for six curves. We find 1.6 at 5 ms and 2.3 at 50 ms, whatever Q_min: on "
            "either side of it, in the order that the paper describes."
        ),
    ),
    claim(
        84,
        "Fig. 9a, section IV-F1",
        "Larger γ brings the ratio to 1.0 to 1.1.",
        expected="1.0 ≤ TR ≤ 1.1",
        tolerance="0.93 to 1.15, γ from 8 to 32 packets",
        on=FIG9,
        literal=_ratio_at_larger_gamma,
    ),
    claim(
        85,
        "Fig. 9a, section IV-F1",
        "Still larger γ raises the ratio slightly again.",
        expected="slightly higher",
        tolerance="by 0 to 0.5 from γ = 16 to 128",
        on=FIG9,
        literal=_ratio_rises_again,
    ),
    claim(
        86,
        "Fig. 9a, section IV-F1",
        "The ratio is smaller at 5 ms than at 50 ms.",
        expected="TR(5 ms) < TR(50 ms)",
        tolerance=f"{SIGN}, γ up to 32, Q_min = 12",
        on=FIG9,
        literal=_short_delay_fairer,
    ),
    claim(
        87,
        "Fig. 9a and 9b, section IV-F1",
        "Q_min matters only where it is small and γ very large.",
        expected="no visible difference",
        tolerance="TR ±0.1, queue ±1 packet against Q_min = 12, γ up to 16",
        on=FIG9,
        literal=_q_min_hardly_matters,
    ),
    claim(
        88,
        "Fig. 9b, section IV-F1",
        "The mean queue falls with γ, and is longer at 5 ms than at 50 ms.",
        expected="monotone; Q(5 ms) > Q(50 ms)",
        tolerance="0.3 packets for noise in each step",
        on=FIG9,
        literal=_queue_falls_with_gamma,
    ),
    claim(
        89,
        "Fig. 9c, section IV-F1",
        "The chosen parameters use the link fully at 5 ms and to 99.6 % at 50 ms, where it is 99.7 % without ABC.",
        expected="1; 0.996; 0.997",
        tolerance="≥ 0.998; ±0.003; ±0.004",
        on=FIG9,
        literal=_full_use,
    ),
    claim(
        90,
        "Fig. 9c, section IV-F1",
        "A very large γ may lower the utilisation slightly; a larger Q_min mitigates that.",
        expected="U(γ = 128) ≤ U(γ = 16); U rises with Q_min at γ = 128",
        tolerance=f"{SIGN}, at 50 ms",
        on=FIG9,
        literal=_large_gamma_costs_use,
    ),
    claim(
        91,
        "Fig. 10a, section IV-F2",
        "Q_base hardly influences the ratio; only at 24 packets, the buffer's size, it is higher.",
        expected="no influence below 24",
        tolerance="γ = 16: spread ≤ 0.1 from 16 to 22; γ ≤ 4: at least 8 % higher at 24 than at 22",
        on=FIG10,
        literal=_q_base_hardly_matters,
    ),
    claim(
        92,
        "Fig. 10b, section IV-F2",
        "The mean queue grows with Q_base.",
        expected="monotone",
        tolerance="each step up, paired by seed",
        on=FIG10,
        literal=_queue_grows_with_q_base,
    ),
    claim(
        93,
        "Fig. 10c, section IV-F2",
        "The buffer overflows for hardly any Q_base below 24 packets, and significantly at 24.",
        expected="0 below 24; significant at 24",
        tolerance="≤ 1 % of all drops up to 22; ≥ 3 % at 24 for γ ≤ 16",
        on=FIG10,
        literal=_tail_drops,
        note=(
            "One point misses by a hair: γ = 4, Q_base = 22 at 50 ms has 1.06 % of tail drops. All others up to "
            "22 have less than 1 %, and 24 has 3 to 77 %."
        ),
    ),
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
