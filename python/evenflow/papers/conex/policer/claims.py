"""Claims c01 to c19: harshness and depth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, chosen_by_others, quotient, short
from evenflow.stats import mean_interval

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from ..forms import at_most_values, mean_rank, neighbours
from ..measures import ON, Series, spread, words
from . import measures as here
from .runs import HARSHNESS, of_depth

DEPTH_FIGURES = dict(zip(net.HARSHNESSES, ("fig09", "fig10", "fig11"), strict=True))
MIDDLE = (10.0, 150.0)
"""Filling rates at which harshness and depth are compared: policers act, and are not what stops light users."""
REACTION_RATE = 45.0


def _harshness(data: Data) -> Series:
    return HARSHNESS.series(data["conex-fig08"])


def _depths(data: Data, harshness: str) -> Series:
    return of_depth(harshness).series(data[f"conex-{DEPTH_FIGURES[harshness]}"])


# --- Figure 8 -------------------------------------------------------------------------------------------------------


@claims.measure("c01")
def _share_of_packets(data: Data, accept: Accept) -> list[Check]:
    return [accept("share", "no policing", _harshness(data).free("").of(measures.share_of_packets))]


@claims.measure("c02")
def _flows_to_one(data: Data, accept: Accept) -> list[Check]:
    return [accept("unfairness", "no policing", _harshness(data).free("").of(measures.unfairness))]


@claims.measure("c03")
def _one_line(data: Data, accept: Accept, o: Options) -> list[Check]:
    free = {net.bulk(o, net.Setting()).hash for _ in net.RATES}
    return [accept("scenarios", "all r", float(len(free)))]


@claims.measure("c04")
def _heavy_users_most(data: Data, accept: Accept) -> list[Check]:
    series = _harshness(data)
    return [
        accept(
            "difference",
            words(harshness=h, r=r),
            series.at(h, r).of(measures.heavy_policed) - series.at(h, r).of(measures.light_policed),
        )
        for h in series.values()
        for r in series.rates(hi=120)
    ]


@claims.measure("c05")
def _policing_helps(data: Data, accept: Accept) -> list[Check]:
    series, found = _harshness(data), []
    for h in series.values():
        for r in series.rates(2, 120):
            spot, free = series.at(h, r), series.free(h)
            gain = spot.of(measures.light_throughput) - free.of(measures.light_throughput)
            found.append(accept("light", f"{words(harshness=h, r=r)}: X_L", gain))
            fall = spot.of(measures.unfairness) - free.of(measures.unfairness)
            found.append(accept("unfairness", f"{words(harshness=h, r=r)}: U", fall))
    return found


def _over_r(series: Series) -> Iterator[tuple[str, list[float], Floats]]:
    for value in series.values():
        yield (series.words(value), *series.over_r(value, measures.unfairness))


@claims.measure("c06")
def _minimum_inside(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("rise", f"{label}: r = 1 − best", curve[0] - here.best(curve[1:]))
        for label, _, curve in _over_r(_harshness(data))
    ]


@claims.note("c06", "c09", "c10")
def _no_left_side_note(data: Data, judgement: Judgement, o: Options) -> str:
    """Heavy users lose far more than light ones at the least r, so that U only falls."""
    series, least = _harshness(data), net.RATES[0]
    spot, free = series.at(net.MILD, least), series.free(net.MILD)
    heavy, light = (spot.of(of) for of in (measures.heavy_throughput, measures.light_throughput))
    begins = (
        f"The {net.WINDOW_PACKETS} tokens that he begins with pay for nearly all of what r does not. "
        if o.level == "full"
        else ""
    )
    return (
        f"At r = {least:g} (mild) a light user sends {short(spot.of(measures.light_reports))} reports a second. "
        f"{begins}He keeps {short(light)} Mbit/s, {short(quotient(light, free.of(measures.light_throughput)))} times "
        f"what he has without policing. A heavy user has {short(heavy)} Mbit/s left, and U falls towards the least r. "
        "conex-x-left has an empty bucket and 400 s."
    )


@claims.measure("c07")
def _right_of_minimum(data: Data, accept: Accept) -> list[Check]:
    found = []
    for label, grid, curve in _over_r(_harshness(data)):
        first = int(np.argmin(curve.mean(axis=1)))
        right = [
            (f"{label}, r = {grid[i]:g} → {grid[i + 1]:g}", curve[i + 1] - curve[i])
            for i in range(first, len(grid) - 1)
        ]
        found.append(at_most_values(accept, "step", f"{label}: steps up", right))
        found.append(accept("rank", f"{label}: rank correlation", here.right_of_minimum(curve)))
    return found


@claims.measure("c08")
def _reaches(data: Data, accept: Accept) -> list[Check]:
    series, most = _harshness(data), net.RATES[-1]
    return [
        accept("unfairness", words(harshness=h, r=most), series.at(h, most).of(measures.unfairness))
        for h in series.values()
    ]


@claims.measure("c09")
def _light_users_policed(data: Data, accept: Accept) -> list[Check]:
    series, found, least = _harshness(data), [], net.RATES[0]
    for h in series.values():
        spot = series.at(h, least)
        found.append(accept("dropped", words(harshness=h, r=least), spot.of(measures.light_policed)))
        curve = series.over_r(h, measures.unfairness)[1]
        light = series.over_r(h, measures.light_throughput)[1]
        at_best = here.at_lowest(curve, light, first=1)
        found.append(accept("light", f"{words(harshness=h)}: X_L at r = 1 − best", light[0] - at_best))
    return found


@claims.measure("c10")
def _same_optimum(data: Data, accept: Accept) -> list[Check]:
    lowest = {label: here.lowest_place(curve) for label, _, curve in _over_r(_harshness(data))}
    return [accept("places", f"{a}, {b}", np.abs(lowest[a] - lowest[b])) for a, b in combinations(lowest, 2)]


@claims.measure("c11")
def _harsher_is_lower(data: Data, accept: Accept) -> list[Check]:
    series, found = _harshness(data), []
    for harsher, milder in ((net.STRICT, net.MILD), (net.MILD, net.SOFT)):
        points = [
            (
                words(r=r),
                series.at(milder, r).of(measures.unfairness) - series.at(harsher, r).of(measures.unfairness),
            )
            for r in series.rates(*MIDDLE)
        ]
        found.append(at_most_values(accept, "step", f"{milder} − {harsher}", points))
    return found


@claims.note("c11", "c12", "c15")
def _debt_note(data: Data, judgement: Judgement, o: Options) -> str:
    """Equal reports a second, but more of them about the policer's own drops."""
    if "conex-fig08" not in data:
        return ""
    series = _harshness(data)
    rates = [r for r in series.rates(*MIDDLE) if r <= REACTION_RATE]
    said = []
    for r in (rates[0], rates[-1]):
        each = [
            f"{h} {short(series.at(h, r).of(measures.heavy_reports))} reports a second, "
            f"{short(series.at(h, r).of(measures.heavy_policed))} % of the packets dropped, "
            f"U = {short(series.at(h, r).of(measures.unfairness))}"
            for h in series.values()
        ]
        said.append(f"{words(r=r)}: {'; '.join(each)}")
    why = (
        " A wide drop function keeps him sending in debt, and most of his reports are of packets that the policer "
        "itself has dropped; a steep one silences him until he has tokens again."
        if o.charge == "arrival"
        else " What a policer drops costs nothing, so that he gets on with equal tokens alike."
    )
    return f"A heavy user behind each policer: {'. '.join(said)}.{why}"


@claims.measure("c12")
def _substantial(data: Data, accept: Accept) -> list[Check]:
    series = _harshness(data)
    grid, soft = series.over_r(net.SOFT, measures.unfairness, *MIDDLE)
    strict = series.over_r(net.STRICT, measures.unfairness, *MIDDLE)[1]
    share = 100 * quotient(soft - strict, soft)
    return [accept("difference", "soft − strict, largest", chosen_by_others(share, range(len(grid))))]


@claims.measure("c13")
def _policers_cause_reports(data: Data, accept: Accept) -> list[Check]:
    series, found = _harshness(data), []
    for h in series.values():
        free = series.free(h).of(here.loss_reports)
        for r in series.rates(hi=45):
            spot = series.at(h, r)
            found.append(accept("more", words(harshness=h, r=r), spot.of(here.loss_reports) - free))
            found.append(accept("share", f"{words(harshness=h, r=r)}: policer", spot.of(here.policers_share)))
    return found


@claims.measure("c14")
def _stays_slow(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["conex-x-artefact"])
    free = lab.at(policing=net.NONE)
    times = np.array([here.slow_s(lab.at(policing=ON, r=r), free) for r in lab.grid("r", policing=ON)])
    return [accept("slow", "strict, longest", chosen_by_others(times, range(times.shape[0])))]


@claims.note("c14")
def _how_slow(data: Data, judgement: Judgement) -> str:
    lab = Lab(data["conex-x-artefact"])
    free = lab.at(policing=net.NONE)
    said = [
        f"{mean_interval(here.slow_s(lab.at(policing=ON, r=r), free), net.LEVEL).mean:.3g} s at r = {r:g}"
        for r in lab.grid("r", policing=ON)
    ]
    return f"He is slow for {', '.join(said)}."


# --- Figures 9 to 11 ------------------------------------------------------------------------------------------------


def _rises_with_depth(data: Data, accept: Accept, harshness: str) -> list[Check]:
    series = _depths(data, harshness)
    rates = series.rates(*MIDDLE)
    rank = mean_rank(
        [float(d) for d in series.values()],
        [series.across(r, measures.unfairness) for r in rates],
    )
    return [
        at_most_values(accept, "step", "steps up", neighbours(series, measures.unfairness, *MIDDLE)),
        accept("rank", "rank correlation, mean over r", rank),
    ]


@claims.measure("c15")
def _soft_rises(data: Data, accept: Accept) -> list[Check]:
    return _rises_with_depth(data, accept, net.SOFT)


@claims.measure("c16")
def _mild_rises(data: Data, accept: Accept) -> list[Check]:
    return _rises_with_depth(data, accept, net.MILD)


def _mean_relative_spread(series: Series) -> Floats:
    each = [measures.relative_spread(series.across(r, measures.unfairness)) for r in series.rates(10)]
    return measures.mean_of(*each)


@claims.measure("c17")
def _strict_hardly(data: Data, accept: Accept) -> list[Check]:
    strict, usual = _depths(data, net.STRICT), float(net.WINDOW_PACKETS)
    found = [
        accept(
            "ratio",
            words(depth=d, r=r),
            quotient(strict.at(d, r).of(measures.unfairness), strict.at(usual, r).of(measures.unfairness)),
        )
        for r in strict.rates(10)
        for d in strict.values()
        if d != usual
    ]
    less = _mean_relative_spread(_depths(data, net.SOFT)) - _mean_relative_spread(strict)
    return [*found, accept("less", "spread, soft − strict", less)]


@claims.note("c17")
def _even_load_note(data: Data, judgement: Judgement) -> str:
    strict, most = _depths(data, net.STRICT), net.RATES[-1]
    free = short(strict.free(strict.values()[0]).of(measures.heavy_reports))
    said = [f"{short(strict.at(d, most).of(measures.heavy_policed))} % at {words(depth=d)}" for d in strict.values()]
    return (
        f"Without policing a heavy user sends {free} reports a second, about as many as r = {most:g} pays for. A "
        f"strict policer drops {', '.join(said)} there: a small bucket evens out next to nothing."
    )


@claims.measure("c18")
def _rate_matters_more(data: Data, accept: Accept) -> list[Check]:
    found = []
    for harshness in net.HARSHNESSES:
        series = _depths(data, harshness)
        curves = np.array([series.over_r(d, measures.unfairness)[1] for d in series.values()])
        over_r = np.mean([spread(curve) for curve in curves], axis=0)
        over_d = np.mean([spread(curves[:, i]) for i in range(curves.shape[1])], axis=0)
        found.append(accept("more", harshness, over_r - over_d))
    return found


@claims.measure("c19")
def _reacts_later(data: Data, accept: Accept) -> list[Check]:
    found = []
    for harshness in net.HARSHNESSES:
        series = _depths(data, harshness)
        items = [
            (words(harshness=harshness, depth=d), series.at(d, REACTION_RATE).of(here.first_drop))
            for d in series.values()
        ]
        found += kit.order(accept, "step", items)
    return found
