"""Claims c60 to c78: figures 6 and 7, a UDP user who does not listen against a user with one TCP flow."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Check, Claim, Data
from evenflow.lab import Floats, peak, select, trough, within
from evenflow.stats import median_interval

from .. import network as net
from ..ledger import FIFTEEN, SIGN, claim
from ..measures import Lab, Spot, delay_be, ratio, utilisation, words

OVERLOAD_MBPS = 12.5
"""R0 from which the UDP user alone clearly overloads the link."""
BISTABLE = (11.0, 50.0)
"""(R0, D_b) where single runs settle at a ratio below 1 or in the tens: judged by the median."""


def _fig06(data: Data) -> Lab:
    return Lab(data["abc-fig06"])


def _fig07(data: Data) -> Lab:
    return Lab(data["abc-fig07"])


def _dominates(data: Data) -> list[Check]:
    """TR of at least 1.3 and 3, asked of the inverse, which stays finite where the TCP flow gets nothing."""
    lab = _fig06(data)
    return [
        Check(
            f"{words(r0=r0, delay_ms=delay)}: mean T1 over mean T0",
            lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).inverse_ratio_of_means(),
            hi=1 / least,
        )
        for r0, least in ((6.0, 1.3), (8.0, 3.0))
        for delay in lab.grid("delay_ms")
    ]


def _queue_full(data: Data, at_ten: float) -> list[Check]:
    lab = _fig06(data)
    return [
        Check(
            f"{words(r0=r0, delay_ms=delay)}: queue",
            lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).queue,
            lo=least,
            unit="packets",
        )
        for r0, least in ((10.0, at_ten), (12.5, 21.0))
        for delay in lab.grid("delay_ms")
    ]


def _fully_used_at_short_delay(data: Data) -> list[Check]:
    lab = _fig06(data)
    return [
        Check(words(r0=r0), lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=5).utilisation, lo=0.97)
        for r0 in lab.grid("r0", scheme=net.NO_ABC, delay_ms=5)
    ]


def _use_rises_at_long_delay(data: Data) -> list[Check]:
    lab = _fig06(data)
    grid, curve = lab.curve("r0", utilisation, scheme=net.NO_ABC, delay_ms=50)
    where, lowest = trough(grid, curve)
    return [
        Check(f"lowest, at {words(r0=where)}", lowest, lo=0.69, hi=0.81),
        Check("R0 of the lowest", where, hi=2, unit="Mbit/s"),
        *(
            Check(words(r0=r0), lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=50).utilisation, lo=0.99)
            for r0 in select(grid, 11)
        ),
    ]


def _highest_ratio(lab: Lab, scheme: str, lo: float | None, hi: float) -> list[Check]:
    """The peak of TR up to R0 = 10 Mbit/s at each delay."""
    found = []
    for delay in lab.grid("delay_ms", scheme=scheme):
        grid, curve = lab.curve("r0", ratio, scheme=scheme, delay_ms=delay)
        upto = len(select(grid, hi=10))
        where, highest = peak(grid[:upto], curve[:upto])
        found.append(Check(f"{words(delay_ms=delay)}: highest TR, at {words(r0=where)}", highest, lo=lo, hi=hi))
    return found


def _abc_peak(data: Data, lo: float, hi: float) -> list[Check]:
    return _highest_ratio(_fig06(data), net.ABC, lo, hi)


def _vanishes(lab: Lab, scheme: str) -> list[Check]:
    return [
        Check(f"{words(r0=r0, delay_ms=delay)}: TR", lab.at(scheme=scheme, r0=r0, delay_ms=delay).ratio, hi=0.3)
        for delay in lab.grid("delay_ms", scheme=scheme)
        for r0 in select(lab.grid("r0", scheme=scheme, delay_ms=delay), OVERLOAD_MBPS)
    ]


def _plateau_then_fall(data: Data) -> list[Check]:
    lab = _fig06(data)
    plateau = [
        Check(f"{words(r0=r0, delay_ms=50)}: TR", lab.at(scheme=net.ABC, r0=r0, delay_ms=50).ratio, lo=0.7, hi=1.3)
        for r0 in select(lab.grid("r0", scheme=net.ABC), 5, 10)
    ]
    return plateau + _vanishes(lab, net.ABC)


def _never_starved(data: Data) -> list[Check]:
    lab = _fig06(data)
    return [
        Check(
            f"{words(r0=20, delay_ms=delay)}: T0",
            lab.at(scheme=net.ABC, r0=20, delay_ms=delay).t0,
            lo=0.2,
            unit="Mbit/s",
        )
        for delay in lab.grid("delay_ms")
    ]


def _shorter_queue(data: Data) -> list[Check]:
    lab = _fig06(data)
    return [
        Check(
            f"{words(r0=r0, delay_ms=delay)}: queue without − with ABC",
            lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).queue
            - lab.at(scheme=net.ABC, r0=r0, delay_ms=delay).queue,
            lo=3,
            unit="packets",
        )
        for delay in lab.grid("delay_ms")
        for r0 in lab.grid("r0", scheme=net.ABC, delay_ms=delay)
        if r0 > 10
    ]


def _use_crosses(data: Data) -> list[Check]:
    lab = _fig06(data)

    def gain(r0: float) -> Check:
        with_abc, without = (lab.at(scheme=s, r0=r0, delay_ms=50).utilisation for s in (net.ABC, net.NO_ABC))
        small = r0 <= 2
        return Check(
            f"{words(r0=r0)}: utilisation with − without ABC",
            with_abc - without,
            lo=None if small else 0,
            hi=0 if small else None,
        )

    grid = lab.grid("r0", scheme=net.ABC)
    return [gain(r0) for r0 in [*select(grid, 1, 2), *select(grid, 5, 9)]]


def _protected(data: Data) -> list[Check]:
    lab = _fig06(data)
    found = []
    for delay in lab.grid("delay_ms"):
        for r0 in lab.grid("r0", scheme=net.ABC, delay_ms=delay):
            spot = lab.at(scheme=net.ABC, r0=r0, delay_ms=delay)
            label = f"{words(r0=r0, delay_ms=delay)}: TR with ABC"
            if (r0, delay) == BISTABLE:
                found.append(Check(f"{label}, median", median_interval(spot.ratio), hi=1.5))
            else:
                found.append(Check(label, spot.ratio, hi=1.5))
        for r0 in select(lab.grid("r0", scheme=net.NO_ABC, delay_ms=delay), 10):
            spot = lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay)
            label = f"{words(r0=r0, delay_ms=delay)}: mean T1 over mean T0 without ABC"
            found.append(Check(label, spot.inverse_ratio_of_means(), hi=0.1))
    return found


def _strict_starves(data: Data, above: float) -> list[Check]:
    strict, medf = Lab(data["abc-fig07n"]), _fig07(data)
    found = []
    for delay in strict.grid("delay_ms"):
        for r0 in strict.grid("r0", scheme=net.EF3_STRICT, delay_ms=delay):
            if r0 < above:
                continue
            starved = strict.at(scheme=net.EF3_STRICT, r0=r0, delay_ms=delay).t1
            kept = medf.at(scheme=net.EF3, r0=r0, delay_ms=delay).t1
            found.append(Check(f"{words(r0=r0, delay_ms=delay)}: T1, strict priority", starved, hi=0.3, unit="Mbit/s"))
            found.append(Check(f"{words(r0=r0, delay_ms=delay)}: T1, MEDF", kept, lo=4, unit="Mbit/s"))
    return found


def _inverse(spot: Spot) -> Floats:
    """T1 / T0 run by run: finite where the TCP flow gets nothing."""
    return spot.t1 / spot.t0


def _priority_worsens(data: Data, schemes: tuple[str, ...], slack: float, least_r0: float) -> list[Check]:
    """TR with priority at least ``slack`` times TR without, asked of the inverse ratios."""
    with_priority, plain = Lab(data["abc-fig07n"]), _fig06(data)
    return [
        Check(
            f"{scheme.rpartition(', ')[2]}, {words(r0=r0, delay_ms=delay)}: T1/T0, BE over {slack:g} − EF",
            _inverse(plain.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay)) / slack
            - _inverse(with_priority.at(scheme=scheme, r0=r0, delay_ms=delay)),
            lo=0,
        )
        for scheme in schemes
        for delay in with_priority.grid("delay_ms")
        for r0 in select(with_priority.grid("r0", scheme=scheme), least_r0)
    ]


def _priority_like_plain(data: Data) -> list[Check]:
    lab = _fig07(data)
    return _highest_ratio(lab, net.EF1, 0.9, 1.35) + _vanishes(lab, net.EF1)


def _accounting_lowers_ratio(data: Data) -> list[Check]:
    return _highest_ratio(_fig07(data), net.EF3, None, 0.6)


def _be_wait_peaks(data: Data, lo: float, hi: float) -> list[Check]:
    lab = _fig07(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("r0", delay_be, scheme=net.EF1, delay_ms=delay)
        where, highest = peak(grid, curve)
        last = curve[grid.index(20.0)]
        found.append(Check(f"{words(delay_ms=delay)}: longest mean wait", highest, lo=lo, hi=hi, unit="ms"))
        found.append(Check(f"{words(delay_ms=delay)}: R0 of the longest wait", where, lo=5, hi=8, unit="Mbit/s"))
        found.append(Check(f"{words(delay_ms=delay)}: wait at 20 Mbit/s over the longest", last / highest, hi=0.8))
    return found


def _accounting_shortens_wait(data: Data) -> list[Check]:
    lab = _fig07(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("r0", delay_be, scheme=net.EF1, delay_ms=delay)
        where, highest = peak(grid, curve)
        other = lab.at(scheme=net.EF3, r0=where, delay_ms=delay).delay_be
        found.append(
            Check(f"{words(r0=where, delay_ms=delay)}: BE wait at a_EF 3 − at a_EF 1", other - highest, hi=0, unit="ms")
        )
    return found


def _ef_hardly_waits(data: Data) -> list[Check]:
    lab = _fig07(data)
    return [
        Check(
            f"{scheme.rpartition(', ')[2]}, {words(r0=r0, delay_ms=delay)}",
            lab.at(scheme=scheme, r0=r0, delay_ms=delay).delay_ef,
            hi=5,
            unit="ms",
        )
        for scheme in (net.EF1, net.EF3)
        for delay in lab.grid("delay_ms")
        for r0 in lab.grid("r0", scheme=scheme, delay_ms=delay)
    ]


def _accounting_raises_use(data: Data) -> list[Check]:
    lab = _fig07(data)
    return [
        Check(
            f"{words(r0=r0)}: utilisation at a_EF 3 − at a_EF 1",
            lab.at(scheme=net.EF3, r0=r0, delay_ms=50).utilisation
            - lab.at(scheme=net.EF1, r0=r0, delay_ms=50).utilisation,
            lo=0.02,
        )
        for r0 in select(lab.grid("r0", scheme=net.EF3, delay_ms=50), 2, 3)
    ]


def _use_alike(data: Data) -> list[Check]:
    plain, priority = _fig06(data), _fig07(data)
    return [
        Check(
            f"{words(r0=r0, delay_ms=delay)}: utilisation with − without priority",
            priority.at(scheme=net.EF1, r0=r0, delay_ms=delay).utilisation
            - plain.at(scheme=net.ABC, r0=r0, delay_ms=delay).utilisation,
            lo=-0.05,
            hi=0.05,
        )
        for delay in priority.grid("delay_ms")
        for r0 in priority.grid("r0", scheme=net.EF1, delay_ms=delay)
    ]


FIG6, FIG7 = ("fig06",), ("fig07",)
_LO, _HI = within(1.2, 0.15)
WINDOW_NOTE = "Depends on the TCP window of ns-3.26 (131072 B, 90.6 packets): see the deviation “TCP window”."

CLAIMS: list[Claim] = [
    claim(
        60,
        "Fig. 6a, section IV-D1",
        "Without ABC the UDP user takes most of the link once it sends more than 5 Mbit/s.",
        expected="TR well above 1 for R0 > 5 Mbit/s",
        tolerance="TR > 1.3 at 6 and > 3 at 8 Mbit/s, both delays, ratio of means",
        on=FIG6,
        literal=_dominates,
    ),
    claim(
        61,
        "Fig. 6b, section IV-D1",
        "Without ABC the queue is mostly full as soon as the UDP user sends 10 Mbit/s.",
        expected="about 24 packets at R0 = 10 Mbit/s",
        tolerance="≥ 20.4 packets (24 less 15 %) at 10 and ≥ 21 at 12.5 Mbit/s",
        on=FIG6,
        literal=partial(_queue_full, at_ten=20.4),
        relaxed=partial(_queue_full, at_ten=13.0),
        reading="≥ 13 packets at 10 Mbit/s: a queue that is full more often than not rather than nearly always.",
        note=(
            "At R0 = 10 Mbit/s the UDP traffic alone just fills the link and the TCP flow hardly sends: the "
            "length of such a queue is a random walk between 0 and 24 with a mean near the middle (15 and 14 "
            "packets). It is full from 12.5 Mbit/s on (21.9)."
        ),
    ),
    claim(
        62,
        "Fig. 6c, section IV-D1",
        "Without ABC and at 5 ms the link is close to fully used for any rate of the UDP user.",
        expected="close to 100 %",
        tolerance="≥ 0.97",
        on=FIG6,
        literal=_fully_used_at_short_delay,
    ),
    claim(
        63,
        "Fig. 6c, section IV-D1",
        "Without ABC and at 50 ms the utilisation rises with the UDP user's rate from 75 % to 100 %.",
        expected="0.75 to 1",
        tolerance="lowest value 0.75 ± 0.06, at R0 ≤ 2 Mbit/s; ≥ 0.99 from 11 Mbit/s on",
        on=FIG6,
        literal=_use_rises_at_long_delay,
        note=WINDOW_NOTE,
    ),
    claim(
        64,
        "Fig. 6a, section IV-D1",
        "With ABC the ratio rises to 1.2 at most, at both delays.",
        expected="TR up to 1.2",
        tolerance=f"{FIFTEEN}, highest TR for R0 ≤ 10 Mbit/s at each delay",
        on=FIG6,
        literal=partial(_abc_peak, lo=_LO, hi=_HI),
        relaxed=partial(_abc_peak, lo=0.95, hi=1.35),
        reading="0.95 to 1.35: the paper adds that the two delays show this “to a different extent”.",
        note=(
            "The two delays differ: TR reaches 1.00 at 5 ms and 1.18 at 50 ms. The paper gives one height for "
            "both but adds that they show it to a different extent."
        ),
    ),
    claim(
        65,
        "Fig. 6a, section IV-D1",
        "With ABC the ratio stays at its height over a broad range and falls almost to 0 when the UDP user sends more "
        "than 10 Mbit/s.",
        expected="a plateau, then almost 0",
        tolerance="0.7 to 1.3 from 5 to 10 Mbit/s at 50 ms; ≤ 0.3 from 12.5 Mbit/s on at both delays",
        on=FIG6,
        literal=_plateau_then_fall,
        note=(
            "Near R0 = 10 Mbit/s and at 50 ms runs are bistable: a starved TCP flow cannot raise its share while the "
            "UDP user's activity dominates the average."
        ),
    ),
    claim(
        66,
        "section IV-D1",
        "With ABC the UDP user is never starved completely.",
        expected="T0 > 0",
        tolerance="≥ 0.2 Mbit/s at R0 = 20 Mbit/s",
        on=FIG6,
        literal=_never_starved,
    ),
    claim(
        67,
        "Fig. 6b, section IV-D1",
        "With ABC the queue is significantly shorter than without once the UDP user sends more than 10 Mbit/s.",
        expected="shorter",
        tolerance="by at least 3 packets",
        on=FIG6,
        literal=_shorter_queue,
    ),
    claim(
        68,
        "Fig. 6c, section IV-D1",
        "With ABC the link is used less than without at small rates of the UDP user, and more at larger ones.",
        expected="less, then more",
        tolerance=f"{SIGN}, at 50 ms: 1 to 2 and 5 to 9 Mbit/s",
        on=FIG6,
        literal=_use_crosses,
    ),
    claim(
        69,
        "section IV-D1",
        "With ABC a user who does not listen cannot dominate a TCP user; without ABC it does.",
        expected="TR about 1 with ABC, large without",
        tolerance=(
            "TR ≤ 1.5 everywhere with ABC (at 11 Mbit/s and 50 ms the median, as runs are bistable); ≥ 10 without "
            "from 10 Mbit/s on, ratio of means"
        ),
        on=FIG6,
        literal=_protected,
        note=(
            "Near R0 = 9 to 12 Mbit/s and at 50 ms runs are bistable: single runs end at a ratio below 1 or in the "
            "tens."
        ),
    ),
    claim(
        70,
        "section IV-D1",
        "With ABC and strict priority BE traffic starves once the EF user sends more than 10 Mbit/s; MEDF prevents "
        "that.",
        expected="T1 about 0 under strict priority, not under MEDF",
        tolerance="T1 ≤ 0.3 Mbit/s against ≥ 4 Mbit/s for R0 > 10 Mbit/s",
        on=("fig07", "fig07n"),
        literal=partial(_strict_starves, above=10.1),
        relaxed=partial(_strict_starves, above=15.0),
        reading="From 15 Mbit/s on, where the overload leaves no doubt.",
        note=(
            "From 15 Mbit/s on nothing is left to BE under strict priority. At 12.5 Mbit/s runs are bistable: in "
            "6 or 7 of 10 the TCP user starves, in the others it keeps 2 to 8 Mbit/s, because EF traffic of a "
            "user whose activity is high is dropped as soon as the queue exceeds Q_min. Starvation thus needs "
            "more overload than the paper says."
        ),
    ),
    claim(
        71,
        "section IV-D2",
        "Without ABC, priority for the UDP user raises the ratio faster than without priority.",
        expected="TR higher with priority",
        tolerance=f"{SIGN} of the inverse ratios, strict priority, R0 ≥ 5 Mbit/s",
        on=("fig06", "fig07n"),
        literal=partial(_priority_worsens, schemes=(net.NO_ABC_STRICT,), slack=1.0, least_r0=5.0),
        relaxed=partial(_priority_worsens, schemes=(net.NO_ABC_STRICT, net.NO_ABC_MEDF), slack=0.85, least_r0=10.0),
        reading=(
            "From 10 Mbit/s on, at least 0.85 times the ratio without priority, under both schedulers: the paper "
            "shows no figure."
        ),
        note=(
            "Under strict priority the ratio is higher with priority from 12.5 Mbit/s on (from 10 Mbit/s at 50 ms), "
            "where "
            "hardly anything is left to the TCP user, but lower at 5 and 8 Mbit/s, by 1 to 3 % of T0. With the wider "
            "reading "
            "two kinds of points remain: 10 Mbit/s at 5 ms, and 20 Mbit/s under MEDF, where T1 is a few packets. The "
            "paper "
            "says this in words without a figure and does not name the scheduler."
        ),
    ),
    claim(
        72,
        "Fig. 7a, section IV-D2",
        "With ABC, priority and a_EF = 1, the ratio is much as without priority.",
        expected="as in Fig. 6a",
        tolerance="highest TR 0.9 to 1.35; ≤ 0.3 from 12.5 Mbit/s on",
        on=FIG7,
        literal=_priority_like_plain,
        note=(
            "The heights agree, the fall does not at 5 ms: TR is 0.52 at 12.5 Mbit/s where it is 0.16 without "
            "priority, and 0.28 to 0.30 beyond. Best-effort packets wait 24 ms there, twice the empty round trip, "
            "so that the TCP flow recovers from its losses more slowly and leaves more to the UDP user. At 50 ms, "
            "where the wait matters less, the fall is as in Fig. 6a."
        ),
    ),
    claim(
        73,
        "Fig. 7a, section IV-D2",
        "With a_EF = 3 the ratio is significantly lower.",
        expected="clearly below 1",
        tolerance="highest TR ≤ 0.6",
        on=FIG7,
        literal=_accounting_lowers_ratio,
    ),
    claim(
        74,
        "Fig. 7b, section IV-D2",
        "With a_EF = 1 the wait of BE packets rises to around 30 ms and falls again for larger rates.",
        expected="30 ms",
        tolerance="26 to 34.5 ms (±15 %, narrower below), at 5 to 8 Mbit/s; at 20 Mbit/s at most 0.8 of it",
        on=FIG7,
        literal=partial(_be_wait_peaks, lo=26.0, hi=34.5),
        relaxed=partial(_be_wait_peaks, lo=26.0, hi=36.0),
        reading="26 to 36 ms, for a number called “around”.",
    ),
    claim(
        75,
        "Fig. 7b, section IV-D2",
        "With a_EF = 3 BE packets wait less.",
        expected="less",
        tolerance=f"{SIGN}, where the wait with a_EF = 1 is longest",
        on=FIG7,
        literal=_accounting_shortens_wait,
    ),
    claim(
        76,
        "section IV-D2",
        "The EF packets of the UDP user hardly wait.",
        expected="about 0 ms",
        tolerance="≤ 5 ms",
        on=FIG7,
        literal=_ef_hardly_waits,
    ),
    claim(
        77,
        "Fig. 7c, section IV-D2",
        "a_EF = 3 raises the utilisation at small rates of the UDP user.",
        expected="higher",
        tolerance="by at least 0.02 at 2 to 3 Mbit/s and 50 ms",
        on=FIG7,
        literal=_accounting_raises_use,
    ),
    claim(
        78,
        "Fig. 7c and 6c, section IV-D2",
        "With ABC the link is used almost equally with and without priority.",
        expected="almost equal",
        tolerance="±0.05, a_EF = 1",
        on=("fig06", "fig07"),
        literal=_use_alike,
    ),
]
