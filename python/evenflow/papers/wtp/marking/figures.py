"""Figures 8 to 10 and the ones beyond them, drawn from finished runs; and their numbers as tables.

Every point of a curve is one load: the utilisation it made and the share of packets that were marked, each with the
interval over runs (`evenflow.marking`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenflow import plots
from evenflow.lab import Lab, Measure, Spot, curve_of, optional, plain
from evenflow.marking import Band, MarkingPoints, marking_curve
from evenflow.stats import Interval, mean_interval
from evenflow.study import Curve

from ..choices import Options
from ..measures import delay_ms, probability, utilisation
from ..network import IPD, LB, LEVEL, LINK, MARKERS, PI, RED, VQ
from .loads import BRANCH_N, MIXED, SATURATED, WEIGHTS
from .measures import (
    EQUAL_LOAD,
    PROBABILITY_SERIES,
    QUEUE_SERIES,
    STEP_S,
    arrival_dispersion,
    period_s,
    periods_per_s,
    queue_fluctuation,
    window_fluctuation,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.lab import Floats
    from evenflow.study import Label, Table

RHO = "utilisation ρ"
P = "marking probability p"
NAMES = {RED: "RED", VQ: "virtual queue", LB: "load-based"}
MEAN_WEIGHT = sum(WEIGHTS) / len(WEIGHTS)


@dataclass(frozen=True)
class Line:
    """One curve: the labels that single it out, its words, its colour number; `folds`: RED, few connections apart."""

    where: Mapping[str, Label]
    words: str
    colour: int
    folds: bool = False
    pale: bool = False


def _weights(table: Table, where: Mapping[str, Label]) -> list[str]:
    return [str(value) for value in table.where(where).label_values("weights")]


def _some(points: MarkingPoints, kept: NDArray[np.bool_]) -> MarkingPoints:
    def part(band: Band) -> Band:
        return Band(band.mean[kept], band.lo[kept], band.hi[kept])

    return MarkingPoints(
        points.link,
        points.flows[kept],
        part(points.utilisation),
        part(points.probability),
        part(points.delay_s),
        points.level,
    )


def _draw(ax: Axes, table: Table, lines: Sequence[Line]) -> None:
    """Each line as its judged branch; what is folded back is dotted and hollow, what is saturated a cross."""
    for line in lines:
        kinds = _weights(table, line.where)
        for kind, dashes in zip(kinds, plots.DASHES, strict=False):
            points = marking_curve(table, LINK, {**line.where, "weights": kind}, level=LEVEL)
            words = line.words if len(kinds) == 1 else f"{line.words}, weight {kind}"
            _curve(ax, points, line, kind, words, dashes)


def _curve(ax: Axes, points: MarkingPoints, line: Line, kind: str, words: str, dashes: str) -> None:
    per_connection = 1.0 if kind == MIXED else float(kind) / MEAN_WEIGHT if kind.isdigit() else np.inf
    busy = points.utilisation.mean >= SATURATED
    few = (points.flows * per_connection < BRANCH_N - 0.5) & line.folds & ~busy
    colour = plots.COLOURS[line.colour % len(plots.COLOURS)]
    marker = plots.MARKERS[line.colour % len(plots.MARKERS)]
    if line.pale:
        kept = _some(points, ~busy)
        ax.plot(
            kept.utilisation.mean, kept.probability.mean, dashes, color=colour, alpha=0.35, label=words, linewidth=1
        )
        return
    _some(points, ~busy & ~few).draw(ax, label=words, index=line.colour, dashes=dashes)
    if few.any():
        # up to the first judged point, so that the fold is seen to be one curve
        last = int(np.flatnonzero(few)[-1]) + 2
        fold = _some(points, np.arange(len(points.flows)) < last)
        ax.plot(
            fold.utilisation.mean,
            fold.probability.mean,
            ":",
            color=colour,
            marker=marker,
            markerfacecolor="none",
            zorder=1,
        )
    if busy.any():
        full = _some(points, busy)
        ax.plot(full.utilisation.mean, full.probability.mean, "x", color=colour, linestyle="none")


def _finish(ax: Axes, title: str | None = None, *, legend: bool = True) -> None:
    plots.name_axes(ax, RHO, P, title=title, legend=False)
    if legend and ax.get_legend_handles_labels()[1]:
        ax.legend(loc="upper left", fontsize=7, frameon=False)


def _panels(count: int, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    return plots.figure(1, count, size=(plots.PANEL * count, height))


def _legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    handles, words = ax.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def fig08(table: Table) -> Figure:
    """p over ρ for three markers: proportional increase (a), inversely proportional decrease (b)."""
    figure, (a, b) = _panels(2, 4.0)
    for ax, letter, form, words in ((a, "a", PI, "proportional increase"), (b, "b", IPD, "inverse decrease")):
        if form == IPD:
            _draw(
                ax,
                table,
                [
                    Line({"marker": name, "form": PI}, f"{NAMES[name]}, proportional increase", i, pale=True)
                    for i, name in enumerate(MARKERS)
                ],
            )
        _draw(
            ax,
            table,
            [Line({"marker": name, "form": form}, NAMES[name], i, folds=name == RED) for i, name in enumerate(MARKERS)],
        )
        _finish(ax, f"{letter}   {words}", legend=False)
        ax.set_xlim(0.64, 1.01)
        ax.set_ylim(0, 0.7)
    _legend_below(figure, b, 2)
    return figure


def fig09(table: Table) -> Figure:
    """p over ρ for three markers tuned to be alike."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    told = {RED: "RED, 3, 9, 0.95, 0.002", VQ: "virtual queue, θ = 0.95", LB: "load-based, ρ0 = 0.7, α = 2"}
    _draw(ax, table, [Line({"marker": m}, told[m], i, folds=m == RED) for i, m in enumerate(MARKERS)])
    _finish(ax)
    return figure


def fig10(table: Table) -> Figure:
    """p over ρ under the virtual queue for several θ (a) and B (b)."""
    figure, (a, b) = _panels(2, 4.0)
    lab = Lab(table)
    usual = 30.0
    thetas = lab.grid("theta", buffer=usual)
    _draw(a, table, [Line({"theta": t, "buffer": usual}, f"θ = {t:g}", i) for i, t in enumerate(thetas)])
    _finish(a, "a   B = 30 packets")
    buffers = lab.grid("buffer", theta=0.95)
    _draw(b, table, [Line({"theta": 0.95, "buffer": v}, f"B = {v:g} packets", i) for i, v in enumerate(buffers)])
    _finish(b, "b   θ = 0.95")
    for ax in (a, b):
        ax.set_xlim(0.5, 1.01)
    return figure


def x_rtt(table: Table) -> Figure:
    """p over ρ for three round trips, a panel a marker."""
    figure, axes = _panels(3)
    for ax, letter, name in zip(axes, "abc", MARKERS, strict=True):
        lines = [
            Line({"marker": name, "rtt_ms": rtt}, f"{rtt:g} ms", i, folds=name == RED)
            for i, rtt in enumerate(Lab(table).grid("rtt_ms", marker=name))
        ]
        _draw(ax, table, lines)
        _finish(ax, f"{letter}   {NAMES[name]}")
        ax.set_xlim(0.6, 1.01)
    return figure


def x_red(table: Table) -> Figure:
    """p over ρ under RED for several largest probabilities."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    largest = Lab(table).grid("max_p")
    _draw(ax, table, [Line({"max_p": p}, f"largest probability {p:g}", i, folds=True) for i, p in enumerate(largest)])
    _finish(ax)
    return figure


def x_lb(table: Table) -> Figure:
    """p over ρ for several α and ρ0 (a); p (b) and the queue (c) around a step of the load for each t_avg."""
    figure, (a, b, c) = _panels(3, 4.0)
    curves = table.where(panel="curve", t_avg=0.5)
    settings = list(dict.fromkeys((labels["alpha"], labels["rho0"]) for labels in curves.points()))
    for index, (alpha, rho0) in enumerate(settings):
        where: dict[str, Label] = {"alpha": alpha, "rho0": rho0}
        _draw(a, curves, [Line(where, f"α = {plain(alpha)}, ρ0 = {plain(rho0)}", index)])
        law = np.array([float(rho0), 1.0])
        a.plot(
            law,
            float(alpha) * (law - float(rho0)),
            color=plots.COLOURS[index % len(plots.COLOURS)],
            linewidth=0.6,
            zorder=0,
        )
    _finish(a, "a")
    a.set_ylim(0, 0.6)
    lab = Lab(table)
    for index, interval in enumerate(lab.grid("t_avg", panel="step")):
        runs = lab.at(panel="step", t_avg=interval).runs
        for ax, name, width in ((b, PROBABILITY_SERIES, 5), (c, QUEUE_SERIES, 50)):
            shown = _around([run.series(name) for run in runs], width)
            plots.band(ax, shown, label=f"t_avg = {interval:g} s", index=index, marker="")
    for ax, letter, words in ((b, "b", f"{P} (mean over 0.5 s)"), (c, "c", "waiting packets (mean over 0.5 s)")):
        ax.axvline(0, color="0.5", linewidth=0.8, zorder=0)
        plots.name_axes(ax, "time since the step (s)", words, title=letter, legend=False)
        ax.legend(loc="upper left", fontsize=7, frameon=False)
    return figure


def _around(series: Sequence[tuple[Floats, Floats]], width: int, before_s: float = 10, after_s: float = 20) -> Curve:
    """Mean over runs with its band around the step, `width` samples averaged into one."""
    times = series[0][0]
    kept = (times > STEP_S - before_s) & (times <= STEP_S + after_s)
    whole = int(kept.sum()) // width * width

    def blocks(values: Floats) -> Floats:
        found: Floats = np.nan_to_num(values[kept][:whole]).reshape(-1, width).mean(axis=1)
        return found

    return curve_of(blocks(times) - STEP_S, np.array([blocks(values) for _, values in series]).T, LEVEL)


def x_bursts(table: Table) -> Figure:
    """Dispersion of arrivals for both window controls (a); fluctuation of queue and windows for three markers (b)."""
    figure, (a, b) = _panels(2)
    dispersion = arrival_dispersion(Options(packet=_packet(table)))
    kinds = _weights(table, {})
    names = {PI: "proportional increase", IPD: "inverse decrease"}
    shared = Lab(table).grid("load", marker=VQ, form=IPD)
    for index, (form, words) in enumerate(names.items()):
        for kind, dashes in zip(kinds, plots.DASHES, strict=False):
            lab = Lab(table.where(marker=VQ, form=form, weights=kind))
            found = [mean_interval(lab.at(load=n).of(dispersion), LEVEL) for n in shared]
            told = words if len(kinds) == 1 else f"{words}, weight {kind}"
            _error_line(a, np.array(shared), found, told, index, dashes)
    a.set_xticks(shared)
    a.set_ylim(0, 0.8)
    plots.name_axes(a, "connections N", "variance over mean of packets in 10 ms", title="a", legend=False)
    a.legend(loc="upper right", frameon=False)
    lab = Lab(table)
    spots = {
        NAMES[m] if len(kinds) == 1 else f"{NAMES[m]}, weight {kind}": lab.at(marker=m, form=PI, load=n, weights=kind)
        for m, n in EQUAL_LOAD.items()
        for kind in kinds
    }
    for index, (measure, words) in enumerate(((queue_fluctuation, "queue"), (window_fluctuation, "sum of windows"))):
        found = [mean_interval(spot.of(measure), LEVEL) for spot in spots.values()]
        _error_line(b, np.arange(float(len(found))) + 0.12 * (index - 0.5), found, words, index, "none")
    b.set_xticks(range(len(spots)), list(spots))
    b.set_xlim(-0.5, len(spots) - 0.5)
    plots.name_axes(b, "marker, at a utilisation of about 0.9", "standard deviation over mean", title="b", legend=False)
    b.set_ylim(0, 1.6)
    b.legend(loc="upper right", frameon=False)
    return figure


def _packet(table: Table) -> int:
    """Bytes of a data packet, from what a group sent: throughput over packets."""
    tree = table.runs[0].json
    group = next(iter(tree["groups"].values()))
    seconds = tree["window_s"][1] - tree["window_s"][0]
    return round(float(group["throughput_bps"] * group["users"] * seconds / 8 / group["delivered_packets"]))


def _error_line(
    ax: Axes, x: NDArray[np.floating], found: Sequence[Interval], words: str, index: int, dashes: str
) -> None:
    mean = np.array([i.mean for i in found])
    reach = np.array([[i.mean - i.lo for i in found], [i.hi - i.mean for i in found]])
    ax.errorbar(
        x,
        mean,
        yerr=np.where(np.isfinite(reach), reach, 0.0),
        linestyle=dashes,
        marker=plots.MARKERS[index],
        color=plots.COLOURS[index],
        capsize=2,
        label=words,
    )


def x_periods(table: Table) -> Figure:
    """How often marking periods begin (a) and how long they last (b), over B."""
    figure, (a, b) = _panels(2)
    kinds = _weights(table, {})
    for ax, letter, measure, words in (
        (a, "a", periods_per_s, "marking periods per second"),
        (b, "b", period_s, "mean length of a marking period (s)"),
    ):
        for index, n in enumerate(Lab(table).grid("load")):
            for kind, dashes in zip(kinds, plots.DASHES, strict=False):
                lab = Lab(table.where(load=int(n), weights=kind))
                grid = lab.grid("buffer")
                found = np.array([lab.at(buffer=value).of(measure) for value in grid])
                told = f"N = {n:g}" if len(kinds) == 1 else f"N = {n:g}, weight {kind}"
                plots.band(ax, curve_of(grid, found, LEVEL), label=told, index=index, dashes=dashes)
        plots.name_axes(ax, "buffer B (packets)", words, title=letter)
    b.axhline(0.2, color="0.5", linewidth=0.8, zorder=0)
    b.annotate("a round trip", (100, 0.2), ha="right", va="bottom", fontsize=7, color="0.4")
    return figure


def x_buffer(table: Table) -> Figure:
    """p over ρ for three B, a panel for each thing that is changed."""
    ways = [str(value) for value in table.label_values("how")]
    figure, axes = plots.figure(2, 3, size=(3 * plots.PANEL, 6.6), sharey=True)
    for ax, letter, how in zip(axes, "abcdef", ways, strict=True):
        buffers = Lab(table).grid("buffer", how=how)
        _draw(ax, table, [Line({"how": how, "buffer": v}, f"B = {v:g} packets", i) for i, v in enumerate(buffers)])
        _finish(ax, f"{letter}   {how}", legend=ax is axes[0])
        ax.set_xlim(0.6, 1.01)
        ax.set_ylim(0, 1)
    return figure


LOW_SHOWN = (
    "as in the paper",
    "round trips ± 25 %",
    "no exemption of short queues",
    "windows of at most 20 packets",
    "inversely proportional decrease",
    "twice the gain",
    "four times the gain",
)
"""Those changes that change the curve."""


def x_low_load(table: Table) -> Figure:
    """RED with one thing changed at a time (a), and the markers under traffic that does not answer (b)."""
    figure, (a, b) = plots.figure(1, 2, size=(2.4 * plots.PANEL, 4.8), sharey=True)
    _draw(a, table, [Line({"how": how, "marker": RED}, how, i) for i, how in enumerate(LOW_SHOWN)])
    _finish(a, "a   RED", legend=False)
    a.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=7, ncols=2, frameon=False)
    deaf = table.where(how="Poisson")
    _draw(b, deaf, [Line({"marker": name}, NAMES[name], i) for i, name in enumerate(MARKERS)])
    _finish(b, "b   deaf Poisson traffic")
    a.set_xlim(0.55, 1.01)
    a.set_ylim(0, 0.75)
    return figure


_OF_ALL: Mapping[str, Measure] = {
    "rho": utilisation,
    "p": probability,
    **{f"delay_ms_{what}": partial(delay_ms, what) for what in ("mean", "max")},
}
_SERIES: Mapping[str, Measure] = {
    "queue_sd_over_mean": queue_fluctuation,
    "windows_sd_over_mean": window_fluctuation,
    "periods_per_s": periods_per_s,
    "period_s": period_s,
}


def numbers(spot: Spot) -> dict[str, Floats]:
    """ρ, p and delays of a point, and what its recorded series allow, one value a run."""
    found = {name: spot.of(measure) for name, measure in _OF_ALL.items()}
    if spot.runs[0].record.series_names:
        found |= {name: spot.of(optional(measure)) for name, measure in _SERIES.items()}
    return found
