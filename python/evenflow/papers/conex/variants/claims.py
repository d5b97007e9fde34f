"""Claims c49 to c67 and c94: the four variants."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Measure, chosen_by_others, quotient, short

from .. import measures
from .. import network as net
from ..claims import claims
from ..forms import at_most_values, each_r, free_steps, rank_over_r, ranks_agree
from ..measures import Series, words
from ..policer.claims import MIDDLE
from . import measures as here
from .runs import MOST_FLOWS, panel

ACCURATE = (net.FULL, net.ECN)
QUEUES = (net.RED, net.ECN, net.FULL)
HIGH = (45.0, 150.0)
IMPROVES = 0.9
"""Share of the unfairness without policing below which a filling rate improves fairness (c51)."""


def _panels(data: Data, experiment: str = "fig18") -> list[tuple[int, Series]]:
    table = data[f"conex-{experiment}"]
    flows = net.FLOWS if experiment == "fig18" else (MOST_FLOWS,)
    return [(n, panel(n).series(table)) for n in flows]


def _most(data: Data, experiment: str = "fig19") -> Series:
    return panel(MOST_FLOWS).series(data[f"conex-{experiment}"])


def _difference(series: Series, one: str, other: str, measure: Measure, r: float | None) -> Floats:
    """One variant less another at a filling rate, or without policing."""
    a, b = (series.free(v) if r is None else series.at(v, r) for v in (one, other))
    found: Floats = a.of(measure) - b.of(measure)
    return found


def _differences(
    series: Series, one: str, other: str, measure: Measure, lo: float = -math.inf, hi: float = math.inf
) -> list[tuple[str, Floats]]:
    """The same at each filling rate, with its label."""
    return each_r(series, lambda r: _difference(series, one, other, measure, r), lo, hi)


def _where(r: float | None) -> str:
    return "no policing" if r is None else words(r=r)


# --- Figure 18 ------------------------------------------------------------------------------------------------------


@claims.measure("c49")
def _flows_to_one(data: Data, accept: Accept) -> list[Check]:
    return [
        accept(
            "droptail" if variant == net.DT else "ratio",
            words(flows=flows, variant=variant),
            series.free(variant).of(measures.unfairness) / flows,
        )
        for flows, series in _panels(data)
        for variant in net.VARIANTS
    ]


@claims.measure("c50")
def _more_reports_with_flows(data: Data, accept: Accept) -> list[Check]:
    panels = _panels(data)
    return [
        check
        for variant in net.VARIANTS
        for check in kit.order(
            accept,
            "step",
            [
                (words(flows=flows, variant=variant), series.free(variant).of(measures.heavy_reports))
                for flows, series in panels
            ],
        )
    ]


def _improving(series: Series) -> Floats:
    """At how many r FullConEx improves fairness, one value a run."""
    free = series.free(net.FULL).of(measures.unfairness)
    found: Floats = (series.over_r(net.FULL, measures.unfairness)[1] < IMPROVES * free).sum(axis=0).astype(np.float64)
    return found


@claims.measure("c51")
def _wider_with_flows(data: Data, accept: Accept) -> list[Check]:
    widths = [(words(flows=flows), _improving(series)) for flows, series in _panels(data)]
    return [
        *kit.order(accept, "step", widths),
        accept("whole", f"{widths[-1][0]} − {widths[0][0]}", widths[-1][1] - widths[0][1]),
    ]


@claims.measure("c52")
def _alike(data: Data, accept: Accept) -> list[Check]:
    found = []
    for flows, series in _panels(data):
        full, ecn = (series.over_r(v, measures.unfairness)[1] for v in ACCURATE)
        rank = np.array([ranks_agree(a, b) for a, b in zip(full.T, ecn.T, strict=True)])
        found.append(accept("rank", f"{words(flows=flows)}: rank correlation", rank))
        full, ecn = (series.over_r(v, measures.unfairness, hi=45)[1] for v in ACCURATE)
        distance = np.median(np.abs(quotient(ecn - full, full)), axis=0)
        found.append(accept("distance", f"{words(flows=flows)}: |ECN − Full| / Full", distance))
    return found


@claims.note("c52")
def _one_mark_per_round_trip_note(data: Data, judgement: Judgement) -> str:
    """Classic feedback tells of fewer marks, and what a bucket pays for is reports."""
    said = []
    for flows, series in _panels(data):
        ecn, full = (short(series.free(v).of(measures.heavy_reports)) for v in (net.ECN, net.FULL))
        said.append(f"{ecn} and {full} per second with {words(flows=flows)}")
    return (
        f"Reports of a heavy user without policing, {net.ECN} and {net.FULL}: {'; '.join(said)}. Classic feedback "
        "tells of at most one mark per round trip. For equal tokens a sender that reports fewer of its marks has more "
        "throughput."
    )


@claims.measure("c53")
def _below_red(data: Data, accept: Accept) -> list[Check]:
    found = []
    for (flows, series), variant in product(_panels(data), ACCURATE):
        points = _differences(series, variant, net.RED, measures.unfairness, *MIDDLE)
        found.append(at_most_values(accept, "difference", f"{words(flows=flows)}: {variant} − {net.RED}", points))
    return found


def _mean_gap(series: Series) -> Floats:
    return measures.mean_of(
        *(_difference(series, net.FULL, net.ECN, measures.unfairness, r) for r in series.rates(*HIGH))
    )


@claims.measure("c54")
def _full_below_ecn(data: Data, accept: Accept) -> list[Check]:
    found, panels = [], _panels(data)
    for flows, series in panels:
        points = _differences(series, net.FULL, net.ECN, measures.unfairness, *HIGH)
        found.append(at_most_values(accept, "difference", f"{words(flows=flows)}: Full − ECN", points))
    gap = _mean_gap(panels[-1][1]) - _mean_gap(panels[0][1])
    return [*found, accept("gap", "Full − ECN, 36 flows − 9 flows", gap)]


def _around_lowest(series: Series, other: str) -> tuple[Floats, Floats]:
    """U of DT less another variant's, where DT is lowest in the other runs, and at the lower one of the neighbours."""
    dt = series.over_r(net.DT, measures.unfairness)[1]
    less = dt - series.over_r(other, measures.unfairness)[1]
    rows, seeds = dt.shape
    at, beside = np.full(seeds, np.nan), np.full(seeds, np.nan)
    for seed in range(seeds if seeds > 1 else 0):
        others = np.delete(dt, seed, axis=1).mean(axis=1)
        lowest = int(np.argmin(others))
        near = min((i for i in (lowest - 1, lowest + 1) if 0 <= i < rows), key=lambda i: float(others[i]))
        at[seed], beside[seed] = less[lowest, seed], less[near, seed]
    return at, beside


@claims.measure("c55")
def _droptail_lowest(data: Data, accept: Accept) -> list[Check]:
    found = []
    for (flows, series), other in product(_panels(data), QUEUES):
        at, beside = _around_lowest(series, other)
        label = f"{words(flows=flows)}: DT − {other}"
        found += [
            accept("difference", f"{label}, at DT's lowest", at),
            accept("difference", f"{label}, beside", beside),
        ]
    return found


@claims.measure("c56")
def _who_reports_most(data: Data, accept: Accept) -> list[Check]:
    return free_steps(accept, "step", _most(data, "fig18"), measures.heavy_reports)


@claims.measure("c94")
def _simplest_helps(data: Data, accept: Accept) -> list[Check]:
    found = []
    for flows, series in _panels(data):
        curve = series.over_r(net.DT, measures.unfairness)[1]
        best = chosen_by_others(curve, range(curve.shape[0]), lowest=True)
        found.append(accept("ratio", words(flows=flows), quotient(best, series.free(net.DT).of(measures.unfairness))))
    return found


# --- Figure 19 ------------------------------------------------------------------------------------------------------


@claims.measure("c57")
def _full_queue(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    found = [accept("delay", "no policing", series.free(net.DT).of(measures.light_delay))]
    return found + [
        accept("delay", words(r=r), series.at(net.DT, r).of(measures.light_delay)) for r in series.rates(45)
    ]


@claims.measure("c58")
def _red_has_less_delay(data: Data, accept: Accept) -> list[Check]:
    series, found = _most(data), []
    for other in ACCURATE:
        label = f"{net.RED} − {other}"
        found += [
            accept(
                "difference",
                f"{_where(r)}: {label}",
                _difference(series, net.RED, other, measures.light_delay, r),
            )
            for r in (None, here.MOST)
        ]
        points = _differences(series, net.RED, other, measures.light_delay)
        found.append(at_most_values(accept, "difference", label, points))
    return found


@claims.measure("c59")
def _marking_has_less_delay(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    return [
        accept(
            "difference",
            f"{words(r=r)}: {variant} − {net.DT}",
            _difference(series, variant, net.DT, measures.light_delay, r),
        )
        for variant in ACCURATE
        for r in series.rates()
    ]


@claims.measure("c60")
def _delay_rises_with_r(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    return [rank_over_r(accept, "rank", variant, *series.over_r(variant, measures.light_delay)) for variant in QUEUES]


@claims.measure("c61")
def _loss_falls(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    return [
        accept(
            "ratio",
            variant,
            quotient(
                series.at(variant, 5.0).of(measures.light_lost),
                series.at(variant, here.MOST).of(measures.light_lost),
            ),
        )
        for variant in (net.DT, net.RED)
    ]


@claims.measure("c62")
def _red_loses_more(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    return [
        accept("difference", _where(r), _difference(series, net.RED, net.DT, measures.light_lost, r))
        for r in (None, *series.rates())
    ]


@claims.measure("c63")
def _marking_loses_less(data: Data, accept: Accept) -> list[Check]:
    series, found = _most(data), []
    for variant, other in product(ACCURATE, (net.DT, net.RED)):
        for r in (None, *series.rates(30)):
            mine, theirs = (
                (series.free(v) if r is None else series.at(v, r)).of(measures.light_lost) for v in (variant, other)
            )
            found.append(accept("ratio", f"{_where(r)}: {variant} over {other}", quotient(mine, theirs)))
    return found


# --- Table IV -------------------------------------------------------------------------------------------------------


def _ranked(
    accept: Accept, values: dict[str, Floats], order: tuple[tuple[str, ...], ...], label: str = ""
) -> list[Check]:
    """Every variant of a rank less every one of the rank before."""
    return [
        accept("order", f"{label}{b} − {a}", values[b] - values[a])
        for better, worse in pairwise(order)
        for a, b in product(better, worse)
    ]


@claims.measure("c64")
def _fairness_order(data: Data, accept: Accept) -> list[Check]:
    series = _most(data, "fig18")
    u = {variant: here.fairness(series, variant) for variant in net.VARIANTS}
    return [
        *_ranked(accept, u, ((net.DT,), (net.ECN, net.FULL), (net.RED,))),
        accept("equal", "ECN over Full", quotient(u[net.ECN], u[net.FULL])),
    ]


@claims.note("c53", "c55", "c64")
def _who_reports_little_note(data: Data, judgement: Judgement) -> str:
    """A variant that reports less is policed less at the same r."""
    series = _most(data, "fig18")
    said = [
        f"{v} {short(series.free(v).of(measures.heavy_reports))} a second without policing, "
        f"U = {short(series.at(v, HIGH[0]).of(measures.unfairness))} at r = {HIGH[0]:g}"
        for v in net.VARIANTS
    ]
    return (
        f"Reports of a heavy user with {MOST_FLOWS} flows, and unfairness: {'; '.join(said)}. The less a variant "
        "reports, the lower the r from which on it hardly polices. At equal r DTConEx, which reports least, is "
        "therefore the least fair; lowest are all at the least r."
    )


@claims.note("c62")
def _policed_unlike_note(data: Data, judgement: Judgement) -> str:
    series, r = _most(data), HIGH[0]
    lost = {v: short(series.at(v, r).of(measures.light_lost)) for v in (net.DT, net.RED)}
    u = {v: short(series.at(v, r).of(measures.unfairness)) for v in (net.DT, net.RED)}
    return (
        f"At r = {r:g} heavy users of DTConEx are hardly policed (U = {u[net.DT]}) and fill the queue, so that light "
        f"users lose {lost[net.DT]} % of their packets; those of REDConEx are (U = {u[net.RED]}), and it is "
        f"{lost[net.RED]} %."
    )


@claims.measure("c65")
def _loss_order(data: Data, accept: Accept) -> list[Check]:
    series = _most(data)
    lost = {variant: here.loss(series, variant) for variant in net.VARIANTS}
    return [
        *_ranked(accept, lost, ((net.ECN, net.FULL), (net.DT,), (net.RED,))),
        accept("equal", "ECN − Full, over DT", quotient(lost[net.ECN] - lost[net.FULL], lost[net.DT])),
    ]


@claims.measure("c66")
def _delay_order(data: Data, accept: Accept) -> list[Check]:
    series, found = _most(data), []
    for r in (None, here.MOST):
        spots = {v: series.free(v) if r is None else series.at(v, r) for v in net.VARIANTS}
        waits = {variant: spot.of(measures.light_delay) for variant, spot in spots.items()}
        found += _ranked(accept, waits, ((net.RED,), (net.ECN, net.FULL), (net.DT,)), f"{_where(r)}: ")
        found.append(accept("equal", f"{_where(r)}: ECN over Full", quotient(waits[net.ECN], waits[net.FULL])))
    return found


@claims.measure("c67")
def _deployable(data: Data, accept: Accept) -> list[Check]:
    names = {net.DT: "dt", net.RED: "red", net.ECN: "ecn", net.FULL: "full"}
    return [accept(names[variant], variant, float(here.deployability(variant))) for variant in net.VARIANTS]
