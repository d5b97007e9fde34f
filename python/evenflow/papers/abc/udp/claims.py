"""Measures of claims c16 to c36: figure 3, two users who send Poisson traffic whatever the network does."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept, extremum
from evenflow.lab import Floats, Measure, peak, plain, select

from .. import network as net
from ..claims import claims
from ..measures import Lab, delay_be, delay_ef, loss, share_below, t0, words
from ..notes import span

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


def _steps(accept: Accept, name: str, what: str, grid: list[float], curve: Floats) -> list[Check]:
    """Each step of a curve over R0, paired by seed."""
    return [
        accept(name, f"{what}, step {plain(a)} → {plain(b)} Mbit/s", high - low)
        for (a, low), (b, high) in pairwise(zip(grid, curve, strict=True))
    ]


@claims.measure("c16")
def without_abc_more_gives_more(data: Data, accept: Accept) -> list[Check]:
    """Steps of T0 over R0 without ABC."""
    lab = _lab(data)
    return [
        check
        for r1 in lab.grid("r1", scheme=net.NO_ABC)
        for check in _steps(accept, "step", f"T0, {words(r1=r1)}", *lab.curve("r0", t0, scheme=net.NO_ABC, r1=r1))
    ]


@claims.measure("c17")
def overload_fills_the_queue(data: Data, accept: Accept) -> list[Check]:
    """Utilisation and queue in overload without ABC."""
    lab = _lab(data)
    found = []
    for r0, r1 in _pairs(lab, net.NO_ABC, OVERLOADED_MBPS):
        spot = lab.at(scheme=net.NO_ABC, r0=r0, r1=r1)
        found.append(accept("utilisation", f"{words(r0=r0, r1=r1)}: utilisation", spot.utilisation))
        found.append(accept("queue", f"{words(r0=r0, r1=r1)}: queue", spot.queue))
    return found


@claims.measure("c18")
def harmless_without_overload(data: Data, accept: Accept) -> list[Check]:
    """T0 with ABC over T0 without."""
    lab = _lab(data)
    return [
        accept(
            "relative",
            f"{words(r0=r0, r1=r1)}: T0 with ABC over T0 without",
            lab.at(scheme=net.ABC, r0=r0, r1=r1).t0 / lab.at(scheme=net.NO_ABC, r0=r0, r1=r1).t0,
        )
        for r0, r1 in _pairs(lab, net.ABC, 0.0, SATURATED_MBPS)
    ]


@claims.measure("c19")
def plateau(data: Data, accept: Accept) -> list[Check]:
    """Both throughputs where user 1 sends 2.5 Mbit/s and user 0 overloads the link."""
    lab = _lab(data)
    found = []
    for r0 in select(lab.grid("r0", scheme=net.ABC, r1=2.5), 9):
        spot = lab.at(scheme=net.ABC, r0=r0, r1=2.5)
        found.append(accept("t0", f"{words(r0=r0)}: T0", spot.t0))
        found.append(accept("t1", f"{words(r0=r0)}: T1", spot.t1))
    return found


@claims.measure("c20")
def rises_to_plateau(data: Data, accept: Accept) -> list[Check]:
    """Steps of T0 over R0 with ABC, user 1 at 2.5 Mbit/s."""
    return _steps(accept, "step", "T0", *_lab(data).curve("r0", t0, scheme=net.ABC, r1=2.5))


@claims.measure("c21")
def peak_below(data: Data, accept: Accept) -> list[Check]:
    """T0 over R0 below the peak, the peak's height and its place."""
    lab = _lab(data)
    grid, curve = lab.curve("r0", t0, scheme=net.ABC, r1=R1)
    _, highest = peak(grid, curve)
    return [
        *(
            accept("tracks", f"{words(r0=r0)}: T0 over R0", lab.at(scheme=net.ABC, r0=r0, r1=R1).t0 / r0)
            for r0 in select(grid, hi=6)
        ),
        accept("height", "highest T0", highest),
        extremum(accept, "place", "T0", grid, curve, unit="Mbit/s"),
    ]


@claims.note("c21")
def peak_note(_: Data, __: Judgement) -> str:
    """Why the peak is round."""
    near = math.log2(7.5 / 7)
    return (
        f"Near R0 = R1 the two activities differ by less than their noise: log2(7.5 / 7) = {near:.1f} is a difference "
        f"of thresholds of {16 * near:.1f} packets. The peak is therefore rounded and lies before 7.5 Mbit/s."
    )


@claims.measure("c22")
def pushed_down(data: Data, accept: Accept) -> list[Check]:
    """The fall beyond R0 = R1, and what is left at its foot."""
    lab = _lab(data)
    grid, curve = lab.curve("r0", t0, scheme=net.ABC, r1=R1)
    falling = [k for k, r0 in enumerate(grid) if 7.5 <= r0 <= 9]
    found = _steps(accept, "step", "T0", [grid[k] for k in falling], curve[falling])
    for r0 in select(grid, 9):
        spot = lab.at(scheme=net.ABC, r0=r0, r1=R1)
        found.append(accept("t0", f"{words(r0=r0)}: T0", spot.t0))
        found.append(accept("t1", f"{words(r0=r0)}: T1", spot.t1))
    return found


@claims.measure("c23")
def collapses_above_ten(data: Data, accept: Accept) -> list[Check]:
    """T0 below and above 10 Mbit/s where user 1 sends 10 Mbit/s."""
    lab = _lab(data)
    grid, curve = lab.curve("r0", t0, scheme=net.ABC, r1=10)
    falling = [k for k, r0 in enumerate(grid) if 10 <= r0 <= 12.5]
    return [
        *(
            accept("tracks", f"{words(r0=r0)}: T0 over R0", lab.at(scheme=net.ABC, r0=r0, r1=10).t0 / r0)
            for r0 in select(grid, hi=7.5)
        ),
        *_steps(accept, "step", "T0", [grid[k] for k in falling], curve[falling]),
        *(accept("t0", f"{words(r0=r0)}: T0", lab.at(scheme=net.ABC, r0=r0, r1=10).t0) for r0 in select(grid, 12.5)),
    ]


@claims.measure("c24")
def equal_rates(data: Data, accept: Accept) -> list[Check]:
    """T0 of users who send alike."""
    lab = _lab(data)
    return [
        accept("t0", f"R0 = R1 = {r:g} Mbit/s: T0", lab.at(scheme=net.ABC, r0=r, r1=r).t0)
        for r in (7.5, 10.0)
        if lab.has(scheme=net.ABC, r0=r, r1=r)
    ]


@claims.measure("c25")
def faster_loses_more(data: Data, accept: Accept) -> list[Check]:
    """Loss ratio of the faster user less that of the slower one."""
    lab = _lab(data)
    heavy, light = partial(loss, "heavy"), partial(loss, "light")
    found = []
    for r0, r1 in _pairs(lab, net.ABC, 10.0 + 1e-6):
        if abs(math.log(r0 / r1)) < 0.1:
            continue
        spot = lab.at(scheme=net.ABC, r0=r0, r1=r1)
        faster, slower = (heavy, light) if r0 > r1 else (light, heavy)
        label = f"{words(r0=r0, r1=r1)}: loss ratio, faster − slower"
        found.append(accept("more", label, spot.of(faster) - spot.of(slower)))
    return found


@claims.measure("c26")
def shorter_queue_full_link(data: Data, accept: Accept) -> list[Check]:
    """Queue with ABC over that without, and the utilisation with it."""
    lab = _lab(data)
    found = []
    for r0, r1 in _pairs(lab, net.ABC, OVERLOADED_MBPS):
        abc, tail = lab.at(scheme=net.ABC, r0=r0, r1=r1), lab.at(scheme=net.NO_ABC, r0=r0, r1=r1)
        found.append(accept("relative", f"{words(r0=r0, r1=r1)}: queue with ABC over without", abc.queue / tail.queue))
        found.append(accept("utilisation", f"{words(r0=r0, r1=r1)}: utilisation with ABC", abc.utilisation))
    return found


@claims.note("c26")
def shorter_note(_: Data, __: Judgement) -> str:
    """Where the queue is longest."""
    return (
        "How far the queue stays below the buffer depends on the rates: where both users send alike, both may fill it "
        "up to Q_base = 20."
    )


@claims.measure("c27")
def mostly_below_q_base(data: Data, accept: Accept) -> list[Check]:
    """Share of time with a queue below Q_base."""
    lab = _lab(data)
    share = partial(share_below, net.QUEUE_LENGTHS, 20)
    return [
        accept(
            "share", f"{words(r0=r0, r1=r1)}: share of time with Q < 20", lab.at(scheme=net.ABC, r0=r0, r1=r1).of(share)
        )
        for r0, r1 in _pairs(lab, net.ABC, OVERLOADED_MBPS)
        if abs(r0 / r1 - 1) > 0.15
    ]


@claims.note("c27")
def mostly_note(_: Data, judged: Judgement) -> str:
    """The points that miss, and why a queue may be longer than Q_base."""
    missed = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(f"{o.check.label.partition(':')[0]}: {100 * o.interval.mean:.0f} %" for o in missed)
    return (
        (f"{len(missed)} of {len(judged.outcomes)} points miss: {said} of the time. " if missed else "")
        + "Q_base is the threshold of a packet of average activity; a user below the average may fill the queue "
        "further, and does where it has no need to yield."
    )


@claims.measure("c28")
def priority_costs_nothing(data: Data, accept: Accept) -> list[Check]:
    """T0 as EF less T0 as BE, EF bytes counted once."""
    lab = _lab(data)
    return [
        accept(
            "difference",
            f"{words(r0=r0)}: T0 as EF − T0 as BE",
            lab.at(scheme=net.EF1, r0=r0, r1=R1).t0 - lab.at(scheme=net.ABC, r0=r0, r1=R1).t0,
        )
        for r0 in lab.grid("r0", scheme=net.EF1)
    ]


@claims.measure("c29")
def priority_counted_thrice(data: Data, accept: Accept) -> list[Check]:
    """T0 with EF bytes counted three times, over that with bytes counted once, and by itself."""
    lab = _lab(data)
    grid = lab.grid("r0", scheme=net.EF3)
    return [
        *(
            accept(
                "relative",
                f"{words(r0=r0)}: T0 at a_EF 3 over T0 at a_EF 1",
                lab.at(scheme=net.EF3, r0=r0, r1=R1).t0 / lab.at(scheme=net.EF1, r0=r0, r1=R1).t0,
            )
            for r0 in select(grid, 3, 7.5)
        ),
        *(
            accept("t0", f"{words(r0=r0)}: T0 at a_EF 3", lab.at(scheme=net.EF3, r0=r0, r1=R1).t0)
            for r0 in select(grid, 3)
        ),
    ]


@claims.measure("c30")
def ef_hardly_waits(data: Data, accept: Accept) -> list[Check]:
    """Mean wait of EF packets but near R0 = 7 Mbit/s."""
    lab = _lab(data)
    return [
        accept(
            "wait",
            f"{scheme.removeprefix('ABC, heavy user EF, ')}, {words(r0=r0)}",
            lab.at(scheme=scheme, r0=r0, r1=R1).delay_ef,
        )
        for scheme in (net.EF1, net.EF3)
        for r0 in lab.grid("r0", scheme=scheme)
        if r0 <= 5 or r0 >= 8
    ]


def _waits(data: Data, scheme: str, measure: Measure) -> tuple[list[float], Floats]:
    return _lab(data).curve("r0", measure, scheme=scheme, r1=R1)


@claims.measure("c31")
def ef_peak(data: Data, accept: Accept) -> list[Check]:
    """How long EF packets wait at most, and where."""
    grid, curve = _waits(data, net.EF1, delay_ef)
    _, highest = peak(grid, curve)
    return [
        accept("height", "longest mean wait of EF", highest),
        extremum(accept, "place", "mean wait of EF", grid, curve, unit="ms"),
    ]


@claims.note("c31")
def ef_peak_note(_: Data, __: Judgement) -> str:
    """What the peak depends on."""
    return (
        "Depends on the BE offset of the scheduler, for which the paper gives 2 (text) and 1.5 (Table 1): see the "
        "deviation “BE offset”."
    )


@claims.measure("c32", "c33")
def be_peak(data: Data, accept: Accept) -> list[Check]:
    """How long BE packets wait at most, EF bytes counted once."""
    grid, curve = _waits(data, net.EF1, delay_be)
    where, highest = peak(grid, curve)
    return [accept("longest", f"longest mean wait of BE, at {words(r0=where)}", highest)]


@claims.measure("c34")
def be_limit(data: Data, accept: Accept) -> list[Check]:
    """How long BE packets wait, EF bytes counted three times."""
    grid, curve = _waits(data, net.EF3, delay_be)
    return [accept("wait", words(r0=r0), values) for r0, values in zip(grid, curve, strict=True)]


@claims.measure("c35")
def be_waits_longer(data: Data, accept: Accept) -> list[Check]:
    """Wait of BE with EF bytes counted once, less that with three times."""
    lab = _lab(data)
    return [
        accept(
            "more",
            f"{words(r0=r0)}: BE wait at a_EF 1 − at a_EF 3",
            lab.at(scheme=net.EF1, r0=r0, r1=R1).delay_be - lab.at(scheme=net.EF3, r0=r0, r1=R1).delay_be,
        )
        for r0 in select(lab.grid("r0", scheme=net.EF1), 4, 10)
    ]


@claims.measure("c36")
def ef_waits_less(data: Data, accept: Accept) -> list[Check]:
    """Wait of EF with bytes counted three times, less that with bytes counted once."""
    lab = _lab(data)
    found = []
    for r0 in select(lab.grid("r0", scheme=net.EF1), 3):
        more = lab.at(scheme=net.EF3, r0=r0, r1=R1).delay_ef - lab.at(scheme=net.EF1, r0=r0, r1=R1).delay_ef
        if not np.isnan(more).all():
            found.append(accept("less", f"{words(r0=r0)}: EF wait at a_EF 3 − at a_EF 1", more))
    return found


@claims.note("c36")
def ef_waits_less_note(data: Data, judged: Judgement) -> str:
    """Where both factors let the same traffic pass."""
    lab = _lab(data)
    missed = [o for o in judged.outcomes if not o.mean_inside]
    alike = [
        r0
        for r0 in select(lab.grid("r0", scheme=net.EF1), 3)
        if abs(float((lab.at(scheme=net.EF1, r0=r0, r1=R1).t0 / lab.at(scheme=net.EF3, r0=r0, r1=R1).t0).mean()) - 1)
        < 0.01
    ]
    return (
        f"At {len(missed)} of {len(judged.outcomes)} points the mean is not below, by up to "
        f"{1e3 * max(o.interval.mean for o in missed):.2g} µs, where both factors let the same EF traffic "
        f"pass (to 1 %: R0 = {span(alike)} Mbit/s)."
        if missed
        else ""
    )
