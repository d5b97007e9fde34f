"""Claims c16 to c36: figure 3, two users who send Poisson traffic whatever the network does."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from evenflow.claims import Check, Claim, Data
from evenflow.lab import argmax_by_seed, peak, rising, select

from .. import network as net
from ..ledger import SIGN, claim
from ..measures import Lab, delay_be, delay_ef, loss, share_below, t0, words

OVERLOADED_MBPS = 12.5
"""Offered load from which the bottleneck counts as clearly overloaded: 1.25 times its capacity."""
SATURATED_MBPS = 8.5
"""Offered load up to which it counts as clearly not overloaded."""

R1 = 7.5
"""User 1's rate in the experiments with priority, Mbit/s."""


def _lab(data: Data) -> Lab:
    return Lab(data["abc-fig03"])


def _pairs(lab: Lab, scheme: str, least_load: float = 0.0, most_load: float = math.inf) -> list[tuple[float, float]]:
    """(R0, R1) of the points of a scheme with an offered load in the range."""
    return [
        (r0, r1)
        for r1 in lab.grid("r1", scheme=scheme)
        for r0 in lab.grid("r0", scheme=scheme, r1=r1)
        if least_load <= r0 + r1 <= most_load
    ]


def _without_abc_more_gives_more(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r1 in lab.grid("r1", scheme=net.NO_ABC):
        grid, curve = lab.curve("r0", t0, scheme=net.NO_ABC, r1=r1)
        found += rising(f"T0, {words(r1=r1)}", grid, curve, slack=0.02, unit="Mbit/s")
    return found


def _overload_fills_the_queue(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r0, r1 in _pairs(lab, net.NO_ABC, OVERLOADED_MBPS):
        spot = lab.at(scheme=net.NO_ABC, r0=r0, r1=r1)
        found.append(Check(f"{words(r0=r0, r1=r1)}: utilisation", spot.utilisation, lo=0.995))
        found.append(Check(f"{words(r0=r0, r1=r1)}: queue", spot.queue, lo=20, unit="packets"))
    return found


def _harmless_without_overload(data: Data) -> list[Check]:
    lab = _lab(data)
    return [
        Check(
            f"{words(r0=r0, r1=r1)}: T0 with ABC over T0 without",
            lab.at(scheme=net.ABC, r0=r0, r1=r1).t0 / lab.at(scheme=net.NO_ABC, r0=r0, r1=r1).t0,
            lo=0.98,
            hi=1.02,
        )
        for r0, r1 in _pairs(lab, net.ABC, 0.0, SATURATED_MBPS)
    ]


def _plateau(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r0 in select(lab.grid("r0", scheme=net.ABC, r1=2.5), 9):
        spot = lab.at(scheme=net.ABC, r0=r0, r1=2.5)
        found.append(Check(f"{words(r0=r0)}: T0", spot.t0, lo=7.4, hi=7.6, unit="Mbit/s"))
        found.append(Check(f"{words(r0=r0)}: T1", spot.t1, lo=2.4, hi=2.6, unit="Mbit/s"))
    return found


def _rises_to_plateau(data: Data) -> list[Check]:
    grid, curve = _lab(data).curve("r0", t0, scheme=net.ABC, r1=2.5)
    return rising("T0", grid, curve, slack=0.03, unit="Mbit/s")


def _peak_below(data: Data, height: tuple[float, float], place: tuple[float, float]) -> list[Check]:
    lab = _lab(data)
    grid, curve = lab.curve("r0", t0, scheme=net.ABC, r1=R1)
    found = [
        Check(f"{words(r0=r0)}: T0 over R0", lab.at(scheme=net.ABC, r0=r0, r1=R1).t0 / r0, lo=0.97, hi=1.03)
        for r0 in select(grid, hi=6)
    ]
    _, highest = peak(grid, curve)
    found.append(Check("highest T0", highest, lo=height[0], hi=height[1], unit="Mbit/s"))
    found.append(Check("R0 at the highest T0", argmax_by_seed(grid, curve), lo=place[0], hi=place[1], unit="Mbit/s"))
    return found


def _pushed_down(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r0 in select(lab.grid("r0", scheme=net.ABC, r1=R1), 8):
        tolerance = 0.2 if r0 >= 9 else 1.0
        spot = lab.at(scheme=net.ABC, r0=r0, r1=R1)
        found.append(Check(f"{words(r0=r0)}: T0", spot.t0, lo=2.5 - tolerance, hi=2.5 + tolerance, unit="Mbit/s"))
        found.append(Check(f"{words(r0=r0)}: T1", spot.t1, lo=7.5 - tolerance, hi=7.5 + tolerance, unit="Mbit/s"))
    return found


def _collapses_above_ten(data: Data) -> list[Check]:
    lab = _lab(data)
    grid = lab.grid("r0", scheme=net.ABC, r1=10)
    below = [
        Check(f"{words(r0=r0)}: T0 over R0", lab.at(scheme=net.ABC, r0=r0, r1=10).t0 / r0, lo=0.97)
        for r0 in select(grid, hi=7.5)
    ]
    above = [
        Check(f"{words(r0=r0)}: T0", lab.at(scheme=net.ABC, r0=r0, r1=10).t0, hi=1.0, unit="Mbit/s")
        for r0 in select(grid, 12.5)
    ]
    return below + above


def _equal_rates(data: Data) -> list[Check]:
    lab = _lab(data)
    return [
        Check(f"R0 = R1 = {r:g} Mbit/s: T0", lab.at(scheme=net.ABC, r0=r, r1=r).t0, lo=4.5, hi=5.5, unit="Mbit/s")
        for r in (7.5, 10.0)
        if lab.has(scheme=net.ABC, r0=r, r1=r)
    ]


def _faster_loses_more(data: Data) -> list[Check]:
    lab = _lab(data)
    heavy, light = partial(loss, "heavy"), partial(loss, "light")
    found = []
    for r0, r1 in _pairs(lab, net.ABC, 10.0 + 1e-6):
        if abs(math.log(r0 / r1)) < 0.1:
            continue
        spot = lab.at(scheme=net.ABC, r0=r0, r1=r1)
        faster, slower = (heavy, light) if r0 > r1 else (light, heavy)
        found.append(
            Check(f"{words(r0=r0, r1=r1)}: loss ratio, faster − slower", spot.of(faster) - spot.of(slower), lo=0)
        )
    return found


def _shorter_queue_full_link(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r0, r1 in _pairs(lab, net.ABC, OVERLOADED_MBPS):
        abc, plain = lab.at(scheme=net.ABC, r0=r0, r1=r1), lab.at(scheme=net.NO_ABC, r0=r0, r1=r1)
        found.append(
            Check(f"{words(r0=r0, r1=r1)}: queue without − with ABC", plain.queue - abc.queue, lo=2, unit="packets")
        )
        found.append(Check(f"{words(r0=r0, r1=r1)}: utilisation with ABC", abc.utilisation, lo=0.995))
    return found


def _mostly_below_q_base(data: Data) -> list[Check]:
    lab = _lab(data)
    share = partial(share_below, net.QUEUE_LENGTHS, 20)
    return [
        Check(
            f"{words(r0=r0, r1=r1)}: share of time with Q < 20", lab.at(scheme=net.ABC, r0=r0, r1=r1).of(share), lo=0.8
        )
        for r0, r1 in _pairs(lab, net.ABC, OVERLOADED_MBPS)
        if abs(r0 / r1 - 1) > 0.15
    ]


def _priority_costs_nothing(data: Data) -> list[Check]:
    lab = _lab(data)
    return [
        Check(
            f"{words(r0=r0)}: T0 as EF − T0 as BE",
            lab.at(scheme=net.EF1, r0=r0, r1=R1).t0 - lab.at(scheme=net.ABC, r0=r0, r1=R1).t0,
            lo=-0.1,
            hi=0.1,
            unit="Mbit/s",
        )
        for r0 in lab.grid("r0", scheme=net.EF1)
    ]


def _priority_counted_thrice(data: Data) -> list[Check]:
    lab = _lab(data)
    grid = lab.grid("r0", scheme=net.EF3)
    lower = [
        Check(
            f"{words(r0=r0)}: T0 at a_EF 3 − T0 at a_EF 1",
            lab.at(scheme=net.EF3, r0=r0, r1=R1).t0 - lab.at(scheme=net.EF1, r0=r0, r1=R1).t0,
            hi=0,
            unit="Mbit/s",
        )
        for r0 in select(grid, 3, 7.5)
    ]
    level = [
        Check(f"{words(r0=r0)}: T0 at a_EF 3", lab.at(scheme=net.EF3, r0=r0, r1=R1).t0, lo=2.35, hi=2.65, unit="Mbit/s")
        for r0 in select(grid, 3)
    ]
    return lower + level


def _ef_hardly_waits(data: Data) -> list[Check]:
    lab = _lab(data)
    return [
        Check(
            f"{scheme.removeprefix('ABC, heavy user EF, ')}, {words(r0=r0)}",
            lab.at(scheme=scheme, r0=r0, r1=R1).delay_ef,
            hi=2,
            unit="ms",
        )
        for scheme in (net.EF1, net.EF3)
        for r0 in lab.grid("r0", scheme=scheme)
        if r0 <= 5 or r0 >= 8
    ]


def _ef_peak(data: Data) -> list[Check]:
    grid, curve = _lab(data).curve("r0", delay_ef, scheme=net.EF1, r1=R1)
    _, highest = peak(grid, curve)
    return [
        Check("longest mean wait of EF", highest, lo=2, hi=5, unit="ms"),
        Check("R0 at the longest wait", argmax_by_seed(grid, curve), lo=6, hi=7.5, unit="Mbit/s"),
    ]


def _be_peak(data: Data, lo: float | None, hi: float, scheme: str) -> list[Check]:
    grid, curve = _lab(data).curve("r0", delay_be, scheme=scheme, r1=R1)
    where, highest = peak(grid, curve)
    return [Check(f"longest mean wait of BE, at {words(r0=where)}", highest, lo=lo, hi=hi, unit="ms")]


def _beyond_the_buffer(data: Data) -> list[Check]:
    grid, curve = _lab(data).curve("r0", delay_be, scheme=net.EF1, r1=R1)
    return [
        Check(f"{words(r0=r0)}", values, lo=net.DRAIN_TIME_MS, unit="ms")
        for r0, values in zip(grid, curve, strict=True)
        if 5 <= r0 <= 8
    ]


def _be_waits_longer(data: Data) -> list[Check]:
    lab = _lab(data)
    return [
        Check(
            f"{words(r0=r0)}: BE wait at a_EF 1 − at a_EF 3",
            lab.at(scheme=net.EF1, r0=r0, r1=R1).delay_be - lab.at(scheme=net.EF3, r0=r0, r1=R1).delay_be,
            lo=0,
            unit="ms",
        )
        for r0 in select(lab.grid("r0", scheme=net.EF1), 4, 10)
    ]


def _ef_waits_less(data: Data) -> list[Check]:
    lab = _lab(data)
    found = []
    for r0 in lab.grid("r0", scheme=net.EF1):
        more = lab.at(scheme=net.EF3, r0=r0, r1=R1).delay_ef - lab.at(scheme=net.EF1, r0=r0, r1=R1).delay_ef
        if not np.isnan(more).all():
            found.append(Check(f"{words(r0=r0)}: EF wait at a_EF 3 − at a_EF 1", more, hi=0.1, unit="ms"))
    return found


FIG = ("fig03",)

CLAIMS: list[Claim] = [
    claim(
        16,
        "Fig. 3a, section IV-B1",
        "Without ABC user 0 gains by sending more, even into an overloaded link.",
        expected="T0 increases with R0",
        tolerance="each step up, less 0.02 Mbit/s for noise",
        on=FIG,
        literal=_without_abc_more_gives_more,
    ),
    claim(
        17,
        "section IV-B1",
        "Without ABC an overloaded link is fully used and its queue is full.",
        expected="100 % utilisation, 24 packets",
        tolerance="utilisation ≥ 0.995 and queue ≥ 20 packets from 1.25 times the capacity on",
        on=FIG,
        literal=_overload_fills_the_queue,
    ),
    claim(
        18,
        "section IV-B1",
        "While the link is not overloaded, users get the same with and without ABC.",
        expected="equal T0",
        tolerance="±2 % up to 0.85 times the capacity",
        on=FIG,
        literal=_harmless_without_overload,
    ),
    claim(
        19,
        "Fig. 3a, section IV-B1",
        "With ABC and R1 = 2.5 Mbit/s user 0 gets 7.5 Mbit/s however much it sends, and user 1 its 2.5 Mbit/s.",
        expected="T0 = 7.5, T1 = 2.5 Mbit/s",
        tolerance="±0.1 Mbit/s for R0 ≥ 9 Mbit/s",
        on=FIG,
        literal=_plateau,
    ),
    claim(
        20,
        "Fig. 3a",
        "With ABC and R1 = 2.5 Mbit/s user 0's throughput rises to that plateau and never falls.",
        expected="T0 does not decrease",
        tolerance="0.03 Mbit/s for noise",
        on=FIG,
        literal=_rises_to_plateau,
    ),
    claim(
        21,
        "Fig. 3a, section IV-B1",
        "With ABC and R1 = 7.5 Mbit/s user 0 gets all it sends until it sends nearly as much as user 1, and reaches "
        "shortly below 7.5 Mbit/s.",
        expected="T0 = R0 up to a peak shortly below 7.5 Mbit/s at R0 = 7.5 Mbit/s",
        tolerance="T0/R0 ±3 % up to 6 Mbit/s; height and place of the peak 7.5 Mbit/s less 15 %",
        on=FIG,
        literal=partial(_peak_below, height=(6.375, 7.5), place=(6.375, 7.5)),
        relaxed=partial(_peak_below, height=(6.0, 7.5), place=(6.0, 7.5)),
        reading=(
            "A rounded peak of at least 6 Mbit/s at 6 Mbit/s or more: near equal rates the two thresholds differ by "
            "less than two packets, and the "
            "meters' noise decides who is dropped."
        ),
        note=(
            "Near R0 = R1 the two activities differ by less than their noise: log2(7.5/7) = 0.1 is a threshold "
            "difference of 1.6 packets. "
            "The peak is therefore rounded and lies before 7.5 Mbit/s."
        ),
    ),
    claim(
        22,
        "Fig. 3a, section IV-B1",
        "With ABC and R1 = 7.5 Mbit/s, user 0 is pushed down to 2.5 Mbit/s once it sends more than user 1, who keeps "
        "7.5 Mbit/s.",
        expected="T0 = 2.5, T1 = 7.5 Mbit/s",
        tolerance="±0.2 Mbit/s for R0 ≥ 9 Mbit/s; ±1 Mbit/s at 8 Mbit/s, where the curve still falls",
        on=FIG,
        literal=_pushed_down,
    ),
    claim(
        23,
        "Fig. 3a, section IV-B1",
        "The same for R1 = 10 Mbit/s: user 0 gets what it sends below, and hardly anything above.",
        expected="T0 = R0 below; above, the whole link to the slower user",
        tolerance=(
            "T0/R0 ≥ 0.97 up to 7.5 Mbit/s; T0 ≤ 1 Mbit/s from 12.5 Mbit/s on. The text gives the link to “user 0” "
            "there, "
            "which its own sentence contradicts: read as user 1"
        ),
        on=FIG,
        literal=_collapses_above_ten,
    ),
    claim(
        24,
        "section IV-B1",
        "With ABC two users who send equally much into an overloaded link share it equally.",
        expected="T0 = 5 Mbit/s",
        tolerance="±0.5 Mbit/s: the shares drift slowly",
        on=FIG,
        literal=_equal_rates,
    ),
    claim(
        25,
        "section IV-B1",
        "With ABC the faster user loses the larger share of its packets, on both sides of R0 = R1.",
        expected="loss ratio of the faster above that of the slower",
        tolerance=f"{SIGN}; rates at least 10 % apart, load above the capacity",
        on=FIG,
        literal=_faster_loses_more,
    ),
    claim(
        26,
        "section IV-B1",
        "In overload ABC keeps the queue clearly shorter than drop-tail does, and the link fully used.",
        expected="shorter queue, 100 % utilisation",
        tolerance="≥ 2 packets shorter; utilisation ≥ 0.995",
        on=FIG,
        literal=_shorter_queue_full_link,
        note=(
            "How far the queue stays below the buffer depends on the rates: where both users send alike, both may "
            "fill it up to Q_base = 20."
        ),
    ),
    claim(
        27,
        "section IV-B1",
        "In overload ABC mostly keeps the queue below Q_base.",
        expected="Q < 20 packets most of the time",
        tolerance="at least 80 % of the time, except within 15 % of equal rates",
        on=FIG,
        literal=_mostly_below_q_base,
        note=(
            "One point misses the 80 %: R0 = 12.5 against R1 = 10 Mbit/s, where user 1 alone fills the link (75 % "
            "of the time below 20 packets). Q_base is the threshold of a packet of average activity; a user below "
            "the average may fill the queue further, and does where it has no need to yield."
        ),
    ),
    claim(
        28,
        "Fig. 3b, section IV-B2",
        "With EF bytes counted once, sending as EF does not change user 0's throughput.",
        expected="T0 as without priority",
        tolerance="±0.1 Mbit/s: the AQM's decisions ignore the class",
        on=FIG,
        literal=_priority_costs_nothing,
    ),
    claim(
        29,
        "Fig. 3b, section IV-B2",
        "With EF bytes counted three times user 0 gets clearly less: the activities meet at a third of user 1's rate.",
        expected="T0 = 2.5 Mbit/s for R0 ≥ 3 Mbit/s",
        tolerance="±0.15 Mbit/s; and below a_EF = 1 between 3 and 7.5 Mbit/s",
        on=FIG,
        literal=_priority_counted_thrice,
    ),
    claim(
        30,
        "Fig. 3c, section IV-B2",
        "EF packets hardly wait under most conditions.",
        expected="about 0 ms",
        tolerance="≤ 2 ms for R0 ≤ 5 and ≥ 8 Mbit/s; 0.6 ms are the rest of the packet in service",
        on=FIG,
        literal=_ef_hardly_waits,
    ),
    claim(
        31,
        "Fig. 3c, section IV-B2",
        "With a_EF = 1 EF packets wait longest near R0 = 7 Mbit/s, and not longer than 5 ms.",
        expected="peak at 7 Mbit/s, ≤ 5 ms",
        tolerance="2 to 5 ms, between 6 and 7.5 Mbit/s",
        on=FIG,
        literal=_ef_peak,
        note=(
            "Depends on the BE offset of the scheduler, for which the paper gives 2 (text) and 1.5 (Table 1): see the "
            "deviation “BE offset”."
        ),
    ),
    claim(
        32,
        "Fig. 3c, section IV-B2",
        "With a_EF = 1 BE packets wait up to about 50 ms.",
        expected="50 ms",
        tolerance="44 to 57.5 ms (±15 %, narrower below)",
        on=FIG,
        literal=partial(_be_peak, lo=44.0, hi=57.5, scheme=net.EF1),
        relaxed=partial(_be_peak, lo=44.0, hi=58.0, scheme=net.EF1),
        reading="Up to 58 ms: just above the BE offset of 57.6 ms.",
    ),
    claim(
        33,
        "Fig. 3c, section IV-B2",
        "With a_EF = 1 BE packets can wait longer than a full first-in-first-out buffer would take.",
        expected="> 28.8 ms (the paper prints 31.6 ms)",
        tolerance="for R0 from 5 to 8 Mbit/s",
        on=FIG,
        literal=_beyond_the_buffer,
    ),
    claim(
        34,
        "Fig. 3c, section IV-B2",
        "With a_EF = 3 BE packets wait at most about 20 ms.",
        expected="20 ms",
        tolerance="≤ 22 ms",
        on=FIG,
        literal=partial(_be_peak, lo=None, hi=22.0, scheme=net.EF3),
    ),
    claim(
        35,
        "Fig. 3c, section IV-B2",
        "BE packets wait longer with a_EF = 1 than with a_EF = 3.",
        expected="longer",
        tolerance=f"{SIGN}, R0 from 4 to 10 Mbit/s",
        on=FIG,
        literal=_be_waits_longer,
    ),
    claim(
        36,
        "Fig. 3c, section IV-B2",
        "EF packets wait less with a_EF = 3 than with a_EF = 1.",
        expected="less",
        tolerance="by no more than 0.1 ms longer",
        on=FIG,
        literal=_ef_waits_less,
    ),
]
