"""Claims c20 to c27, c92 and c97: round trip and congestion control."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Measure, quotient, short

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from ..forms import at_most_values, first_over_last, free_steps, neighbours, ranks_agree
from ..measures import Series, words
from .runs import CONTROL, RTT

light_met: Measure = partial(measures.met, net.LIGHT)
heavy_lost: Measure = partial(measures.lost, net.HEAVY)
heavy_arrived: Measure = partial(measures.arrived, net.HEAVY)


def _rtts(data: Data) -> Series:
    return RTT.series(data["conex-fig12"])


def _controls(data: Data) -> Series:
    return CONTROL.series(data["conex-fig13"])


# --- Figure 12 ------------------------------------------------------------------------------------------------------


@claims.measure("c20")
def _rises_with_rtt(data: Data, accept: Accept) -> list[Check]:
    series = _rtts(data)
    return [
        at_most_values(accept, "step", "steps up", neighbours(series, measures.unfairness)),
        at_most_values(
            accept, "ratio", "longest over shortest", first_over_last(series, measures.unfairness, turned=True)
        ),
    ]


@claims.measure("c21")
def _low_below_100(data: Data, accept: Accept) -> list[Check]:
    series, most = _rtts(data), net.RATES[-1]
    return [
        accept("unfairness", words(rtt_ms=rtt, r=most), series.at(rtt, most).of(measures.unfairness))
        for rtt in (20.0, 50.0)
    ]


@claims.measure("c22")
def _farther_below_100(data: Data, accept: Accept) -> list[Check]:
    series, most = _rtts(data), net.RATES[-1]
    u = {rtt: series.at(rtt, most).of(measures.unfairness) for rtt in (20.0, 100.0, 150.0, 200.0)}
    return [accept("more", words(r=most), (u[100.0] - u[20.0]) - (u[200.0] - u[150.0]))]


@claims.measure("c23")
def _more_reports(data: Data, accept: Accept) -> list[Check]:
    return free_steps(accept, "step", _rtts(data), measures.heavy_reports)


@claims.measure("c97")
def _more_drops(data: Data, accept: Accept) -> list[Check]:
    return [at_most_values(accept, "step", "steps down", neighbours(_rtts(data), measures.heavy_policed, 45))]


@claims.note("c20", "c23", "c97")
def _timer_note(data: Data, judgement: Judgement, o: Options) -> str:
    """At 200 ms ns-2's timer, whose floor is 200 ms, sends again what is under way."""
    series, loss = _rtts(data), partial(measures.loss_reports, net.HEAVY)
    said = []
    for rtt in (150.0, 200.0):
        free = series.free(rtt)
        lost = free.of(heavy_lost) / 100 * free.of(heavy_arrived)
        said.append(
            f"{words(rtt_ms=rtt)}: {short(free.of(measures.heavy_reports))} reports a second, {short(free.of(loss))} "
            f"of them of losses, where the bottleneck drops {short(lost)}"
        )
    why = (
        " The rest is sent again needlessly: the timer's floor in ns-2 is 200 ms, no longer than this round trip. With "
        "Linux's timer (option rto=linux) it is not."
        if o.rto == "any-ack"
        else ""
    )
    return f"Without policing, {'; '.join(said)}.{why}"


# --- Figure 13 ------------------------------------------------------------------------------------------------------


def _gaps(series: Series) -> tuple[list[float], Floats]:
    grid, cubic = series.over_r(net.CUBIC, measures.unfairness, 10)
    compound = series.over_r(net.COMPOUND, measures.unfairness, 10)[1]
    return grid, cubic - compound


def _compound_lower(data: Data, accept: Accept) -> list[Check]:
    grid, gaps = _gaps(_controls(data))
    points = [(words(r=r), gap) for r, gap in zip(grid, gaps, strict=True)]
    return [at_most_values(accept, "difference", "CUBIC − Compound", points)]


@claims.measure("c24")
def _compound_more_effective(data: Data, accept: Accept) -> list[Check]:
    return _compound_lower(data, accept)


@claims.note("c24", "c25", "c26", "c27", "c92")
def _same_windows_note(data: Data, judgement: Judgement) -> str:
    series = _controls(data)
    said = [
        f"{control} {short(free.of(measures.heavy_reports))} reports a second at {short(free.of(measures.marked))} "
        "marks per packet"
        for control in series.values()
        for free in (series.free(control),)
    ]
    grid, gaps = _gaps(series)
    lower = [f"{r:g}" for r, gap in zip(grid, gaps, strict=True) if gap.mean() < 0]
    return (
        f"Without policing a heavy user sends, with {' and with '.join(said)}. Windows are of a few packets, where "
        f"both grow as Reno does. Compound has more unfairness at r = {', '.join(lower) or 'none'}, less at the others."
    )


@claims.measure("c25")
def _constant_gap(data: Data, accept: Accept) -> list[Check]:
    gaps = _gaps(_controls(data))[1]
    return [accept("variation", "std/mean of CUBIC − Compound", quotient(np.std(gaps, axis=0), np.mean(gaps, axis=0)))]


@claims.measure("c26")
def _cubic_meets_more(data: Data, accept: Accept) -> list[Check]:
    series = _controls(data)
    return [
        accept("more", words(r=r), series.at(net.CUBIC, r).of(light_met) - series.at(net.COMPOUND, r).of(light_met))
        for r in series.rates(45)
    ]


def _alike(data: Data, accept: Accept) -> list[Check]:
    series = _controls(data)
    grid, cubic = series.over_r(net.CUBIC, measures.unfairness)
    compound = series.over_r(net.COMPOUND, measures.unfairness)[1]
    rank = np.array([ranks_agree(a, b) for a, b in zip(cubic.T, compound.T, strict=True)])
    return [
        accept("rank", "CUBIC and Compound: rank correlation", rank),
        *(
            accept("ratio", f"{words(r=r)}: Compound over CUBIC", quotient(b, a))
            for r, a, b in zip(grid, cubic, compound, strict=True)
        ),
    ]


@claims.measure("c27")
def _same_level(data: Data, accept: Accept) -> list[Check]:
    return _alike(data, accept)


@claims.measure("c92")
def _insensitive(data: Data, accept: Accept) -> list[Check]:
    return [*_compound_lower(data, accept), *_alike(data, accept)]
