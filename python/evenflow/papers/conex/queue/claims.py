"""Claims c28 to c48: the queue."""

from __future__ import annotations

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Measure, quotient, short

from .. import measures
from .. import network as net
from ..claims import claims
from ..environment.runs import RTT
from ..forms import at_most_values, each_r, first_over_last, free_steps, neighbours, rank_over_r
from ..measures import Series, relative_spread, spread, words
from .runs import ALMOST_FREE, FIGURES, HIGH, JUST_ABOVE, LOW, PROBABILITY, QUEUE, of

MARKING = ("fig08", "fig12", "fig14", "fig15", "fig16", "fig17")
"""Experiments in which RED marks."""
LOW_U = 20.0
"""Filling rates up to here leave little unfairness (c35, c47)."""
MOST = net.RATES[-1]
LEAST_LOOKED_AT = 5.0


def _series(data: Data, parameter: str) -> Series:
    return of(parameter).series(data[f"conex-{FIGURES[parameter]}"])


@claims.measure("c28")
def _no_early_drops(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("early", f"conex-{name}", float(sum(measures.early_drops(run) for run in data[f"conex-{name}"])))
        for name in MARKING
    ]


# --- Figure 14 ------------------------------------------------------------------------------------------------------


@claims.measure("c29")
def _rises_with_queue(data: Data, accept: Accept) -> list[Check]:
    points = neighbours(_series(data, QUEUE), measures.unfairness)
    return [at_most_values(accept, "step", "steps up", points)]


@claims.measure("c30")
def _marks_fall(data: Data, accept: Accept) -> list[Check]:
    return free_steps(accept, "step", _series(data, QUEUE), measures.marked)


@claims.measure("c31")
def _delay_rises_with_r(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, QUEUE)
    return [
        rank_over_r(accept, "rank", series.words(value), *series.over_r(value, measures.delay))
        for value in series.values()
    ]


def _at_most_over_free(series: Series, value: float) -> Floats:
    return quotient(series.at(value, MOST).of(measures.delay), series.free(value).of(measures.delay))


@claims.measure("c32")
def _delay_as_free(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, QUEUE)
    return [accept("ratio", series.words(value), _at_most_over_free(series, float(value))) for value in series.values()]


@claims.measure("c32", reading="wider")
def _delay_as_free_by_default(data: Data, accept: Accept) -> list[Check]:
    usual = net.Setting().queue_ms
    return [accept("ratio", words(queue_ms=usual), _at_most_over_free(_series(data, QUEUE), usual))]


def _delay_less_unfairness(series: Series, r: float) -> Floats:
    delay, unfair = (relative_spread(series.across(r, m)) for m in (measures.delay, measures.unfairness))
    found: Floats = delay - unfair
    return found


@claims.measure("c33")
def _queue_moves_delay(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, QUEUE)
    return kit.each(accept, "more", each_r(series, lambda r: _delay_less_unfairness(series, r), hi=30))


# --- Figure 15 ------------------------------------------------------------------------------------------------------


def _slightly(data: Data, accept: Accept, parameter: str) -> list[Check]:
    series = _series(data, parameter)
    ratios = first_over_last(series, measures.unfairness)
    return [
        at_most_values(accept, "step", "steps up", neighbours(series, measures.unfairness)),
        at_most_values(accept, "ratio", "lowest over highest", ratios),
    ]


@claims.measure("c34")
def _low_slightly(data: Data, accept: Accept) -> list[Check]:
    return _slightly(data, accept, LOW)


def _mean_spread(series: Series) -> Floats:
    found: Floats = np.mean([spread(series.across(r, measures.unfairness)) for r in series.rates()], axis=0)
    return found


@claims.measure("c34", reading="wider")
def _low_less_than_rtt(data: Data, accept: Accept) -> list[Check]:
    rtt = _mean_spread(RTT.series(data["conex-fig12"]))
    ratio = quotient(_mean_spread(_series(data, LOW)), rtt)
    return [accept("range", "thresholds over round trips", ratio)]


@claims.measure("c35")
def _least_where_low(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, LOW)
    most = spread(series.across(MOST, measures.unfairness))
    points = each_r(series, lambda r: most - spread(series.across(r, measures.unfairness)), hi=LOW_U)
    return kit.each(accept, "more", points)


@claims.measure("c36")
def _low_moves_delay(data: Data, accept: Accept) -> list[Check]:
    return kit.each(accept, "ratio", first_over_last(_series(data, LOW), measures.delay, turned=True, hi=30))


# --- Figure 16 ------------------------------------------------------------------------------------------------------


@claims.measure("c37")
def _high_slightly(data: Data, accept: Accept) -> list[Check]:
    return _slightly(data, accept, HIGH)


def _ends(series: Series) -> tuple[float, float]:
    values = [float(value) for value in series.values()]
    return values[0], values[-1]


@claims.measure("c38")
def _high_moves_delay(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, HIGH)
    low, high = (series.free(value).of(measures.delay) for value in _ends(series))
    return [accept("ratio", "no policing: 20 % over 100 %", quotient(low, high))]


@claims.measure("c39")
def _marked_and_kept_down(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, HIGH)
    low, high = _ends(series)

    def marks(value: float) -> Floats:
        return series.free(value).of(measures.light_marked)

    def gain(value: float, r: float) -> Floats:
        return quotient(series.at(value, r).of(light), series.free(value).of(light))

    light: Measure = measures.light_throughput
    found = [accept("marked", "no policing", marks(low) - marks(high))]
    for r in series.rates(hi=45):
        more = series.at(low, r).of(measures.light_marked) - series.at(high, r).of(measures.light_marked)
        found.append(accept("marked", words(r=r), more))
        found.append(accept("gain", f"{words(r=r)}: gain of X_L", gain(low, r) - gain(high, r)))
    return found


# --- Figure 17 ------------------------------------------------------------------------------------------------------


@claims.measure("c40")
def _falls_with_probability(data: Data, accept: Accept) -> list[Check]:
    points = neighbours(_series(data, PROBABILITY), measures.unfairness, 30, 150)
    return [at_most_values(accept, "step", "steps down", points)]


@claims.measure("c41")
def _delay_falls_with_probability(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, PROBABILITY)
    return [
        *free_steps(accept, "step", series, measures.delay),
        *kit.each(accept, "step", neighbours(series, measures.delay)),
    ]


@claims.measure("c42")
def _full_queues(data: Data, accept: Accept) -> list[Check]:
    series, whole = _series(data, PROBABILITY), net.Setting().queue_ms
    return [
        accept(name, f"no policing, {words(max_probability=p)}", series.free(p).of(measures.delay) / whole)
        for name, p in zip(("completely", "largely"), ALMOST_FREE, strict=True)
    ]


@claims.measure("c43")
def _less_delay_at_low_rates(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, PROBABILITY)
    return [
        accept(
            "difference",
            series.words(p),
            series.at(p, LEAST_LOOKED_AT).of(measures.delay) - series.at(p, MOST).of(measures.delay),
        )
        for p in series.values()
    ]


@claims.measure("c44")
def _limited_at_low_rates(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, PROBABILITY)
    points = each_r(series, lambda r: spread(series.across(r, measures.unfairness)), hi=19.99)
    return kit.each(accept, "range", points)


@claims.measure("c45")
def _limited_at_the_highest(data: Data, accept: Accept) -> list[Check]:
    series = _series(data, PROBABILITY)
    return [accept("range", words(r=MOST), spread(series.across(MOST, measures.unfairness)))]


@claims.measure("c46")
def _almost_not_policed(data: Data, accept: Accept) -> list[Check]:
    series, found = _series(data, PROBABILITY), []
    for p in ALMOST_FREE:
        spot, label = series.at(p, JUST_ABOVE), words(max_probability=p, r=JUST_ABOVE)
        found.append(accept("dropped", label, spot.of(measures.heavy_policed)))
        found.append(accept("unfairness", f"{label}: U", spot.of(measures.unfairness)))
    return found


# --- All of them ----------------------------------------------------------------------------------------------------


@claims.measure("c47")
def _delay_more_than_unfairness(data: Data, accept: Accept) -> list[Check]:
    found = []
    for parameter in (LOW, HIGH, PROBABILITY):
        series = _series(data, parameter)
        for r in series.rates(hi=LOW_U):
            delay, unfair = (relative_spread(series.across(r, m)) for m in (measures.delay, measures.unfairness))
            found.append(accept("ratio", f"{FIGURES[parameter]}, {words(r=r)}", quotient(delay, unfair)))
    return found


def _congestion_rates(data: Data, parameter: str) -> str:
    """What a heavy user causes without policing decides up to which filling rate he is policed."""
    series = _series(data, parameter)
    said = [f"{short(series.free(v).of(measures.heavy_reports))} at {series.words(v)}" for v in series.values()]
    return (
        f"Reports a second of a heavy user without policing: {', '.join(said)}. Where that is above the highest r he "
        "is policed at every r, where it is below he is not at the highest."
    )


@claims.note("c29", "c32")
def _rates_of_sizes_note(data: Data, judgement: Judgement) -> str:
    return _congestion_rates(data, QUEUE)


@claims.note("c34")
def _rates_of_low_note(data: Data, judgement: Judgement) -> str:
    return _congestion_rates(data, LOW)


@claims.note("c37", "c39")
def _rates_of_high_note(data: Data, judgement: Judgement) -> str:
    return _congestion_rates(data, HIGH)


@claims.note("c46")
def _first_seconds_note(data: Data, judgement: Judgement) -> str:
    series = _series(data, PROBABILITY)
    said = [
        f"{series.words(v)}: {short(series.free(v).of(measures.heavy_reports))} reports a second without policing, "
        f"{short(series.at(v, JUST_ABOVE).of(measures.heavy_policed))} % dropped at r = {JUST_ABOVE:g}, "
        f"U = {short(series.at(v, JUST_ABOVE).of(measures.unfairness))}"
        for v in ALMOST_FREE
    ]
    return (
        f"{'. '.join(said)}. Hardly anything is dropped, but in the first seconds: 36 flows that start together lose "
        "more than the bucket pays for, and a mean over the whole run keeps that."
    )


@claims.measure("c48")
def _always_less_delay(data: Data, accept: Accept) -> list[Check]:
    found = []
    for parameter in FIGURES:
        series = _series(data, parameter)
        for value in series.values():
            less = series.at(value, LEAST_LOOKED_AT).of(measures.delay) - series.free(value).of(measures.delay)
            found.append(accept("difference", series.words(value), less))
    return found
