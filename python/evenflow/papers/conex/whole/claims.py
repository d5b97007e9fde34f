"""Claims c90, c91, c93 and c96: all series of figures 8 to 18."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Measure, chosen_by_others, quotient, short
from evenflow.study import Label

from .. import measures
from .. import network as net
from ..claims import claims
from ..environment.runs import CONTROL, RTT
from ..forms import at_most_values
from ..measures import Series, words
from ..policer.claims import DEPTH_FIGURES
from ..policer.runs import HARSHNESS, of_depth
from ..queue import runs as queue
from ..variants import runs as variants

VISIBLE = 2.0
"""Mean unfairness from which on an interval of 1 % can be asked for (c90)."""
MOST_POLICED = 120.0


def figures(data: Data) -> Iterator[tuple[str, Series]]:
    """Every figure, panel by panel, with its curves."""
    yield "fig08", HARSHNESS.series(data["conex-fig08"])
    for harshness, name in DEPTH_FIGURES.items():
        yield name, of_depth(harshness).series(data[f"conex-{name}"])
    yield "fig12", RTT.series(data["conex-fig12"])
    yield "fig13", CONTROL.series(data["conex-fig13"])
    for parameter, name in queue.FIGURES.items():
        yield name, queue.of(parameter).series(data[f"conex-{name}"])
    for flows in net.FLOWS:
        yield f"fig18, {words(flows=flows)}", variants.panel(flows).series(data["conex-fig18"])


def _curve(series: Series, value: Label) -> tuple[list[float], Floats]:
    return series.over_r(value, measures.unfairness)


@claims.measure("c90")
def _narrow(data: Data, accept: Accept) -> list[Check]:
    found = []
    for name, series in figures(data):
        points = []
        for value in series.values():
            curve = [*zip(*_curve(series, value), strict=True)]
            points += [
                (f"{series.words(value)}, {words(r=r)}", measures.relative_half_width(row, net.LEVEL))
                for r, row in curve
                if np.mean(row) >= VISIBLE
            ]
        least = accept.set("share").lo
        assert least is not None, "a share has a least"
        found.append(kit.most(accept, "width", f"{name}: points", points, share=least))
    return found


@claims.note("c90")
def _heavy_spread_note(data: Data, judgement: Judgement) -> str:
    """Whose throughput it is that differs from run to run."""
    series = HARSHNESS.series(data["conex-fig08"])

    def widths(of: Measure, rates: Sequence[float]) -> str:
        found = [
            measures.relative_half_width(series.at(h, r).of(of), net.LEVEL).mean for h in series.values() for r in rates
        ]
        return f"{short(min(found))} to {short(max(found))} %"

    every = series.rates()
    ends = [r for r in every if r < 4 or r == max(every)]
    policed = [r for r in every if r not in ends]
    heavy, light = measures.heavy_throughput, measures.light_throughput
    return (
        f"Half-widths of 30 runs in figure 8: at {words(r=policed[0])} to {policed[-1]:g} of heavy users' throughput "
        f"{widths(heavy, policed)} and of light users' {widths(light, policed)}; at the other r of heavy users' "
        f"{widths(heavy, ends)}. What is left to ten heavy users is small where they are policed, and so its relative "
        "spread is large; it makes that of the unfairness."
    )


@claims.measure("c91")
def _robust(data: Data, accept: Accept) -> list[Check]:
    found = []
    for name, series in figures(data):
        for value in series.values():
            curve = _curve(series, value)[1]
            best = chosen_by_others(curve, range(curve.shape[0]), lowest=True)
            ratio = quotient(best, series.free(value).of(measures.unfairness))
            found.append(accept("ratio", f"{name}: {series.words(value)}", ratio))
    return found


@claims.measure("c93")
def _less_for_heavy_users(data: Data, accept: Accept) -> list[Check]:
    found = []
    for name, series in figures(data):
        points = []
        for value in series.values():
            free = series.free(value)
            most = min(MOST_POLICED, float(free.of(measures.heavy_reports).mean()))
            alone = free.of(measures.heavy_throughput)
            points += [
                (
                    f"{series.words(value)}, {words(r=r)}",
                    series.at(value, r).of(measures.heavy_throughput) - alone,
                )
                for r in series.rates(hi=most, value=value)
            ]
        if points:
            found.append(at_most_values(accept, "difference", f"{name}: points", points))
    return found


@claims.measure("c96")
def _depth_and_best(data: Data, accept: Accept) -> list[Check]:
    found = []
    for harshness, name in DEPTH_FIGURES.items():
        series = of_depth(harshness).series(data[f"conex-{name}"])
        best = {}
        for depth in series.values():
            curve = _curve(series, depth)[1]
            best[depth] = chosen_by_others(curve, range(curve.shape[0]), lowest=True)
        usual = float(net.WINDOW_PACKETS)
        found += [
            accept("difference", words(harshness=harshness, depth=depth), values - best[usual])
            for depth, values in best.items()
            if depth != usual
        ]
    return found
