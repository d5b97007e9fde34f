"""Table 2 and Fig. 11 as pictures, with their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, Measure, curve_of, frame, row
from evenflow.stats import Interval, mean_interval
from evenflow.study import Label

from .. import measures
from .. import network as net
from ..choices import Options
from ..network import LEVEL
from . import measures as perf

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table

CONTROLS = {net.WTP: 0, net.MULTCP: 1}
POPULATION_DASHES = {"A": "-", "B": "--", "C": ":"}
POPULATION_WORDS = {"A": "5 and 5", "B": "9 and 1", "C": "weights 1 to 10"}
LONG_HANDLE = 3.2


def _legend(
    figure: Figure, ax: Axes, where: Literal["outside upper center", "outside lower center"], columns: int
) -> None:
    """One legend for panels that share their lines."""
    handles, words = ax.get_legend_handles_labels()
    figure.legend(handles, words, loc=where, ncols=columns, frameon=False, fontsize=8, handlelength=LONG_HANDLE)


def _plain_log(ax: Axes, which: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """A logarithmic axis with plain numbers."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


# --- Table 2 --------------------------------------------------------------------------------------------------------


def tab02_data(o: Options, table: Table) -> pl.DataFrame:
    """The whole scan; `chosen` marks the points that stand in Table 2, `longest_ms` is the maximum of all runs."""
    lab = Lab(table)
    numbers = perf.delay_numbers(o)
    chosen = {
        (name, mix): perf.operating_point(lab, marker=name, mix=mix) for name in perf.ROWS for mix in perf.mixes(o)
    }
    rows = []
    for labels, spot in lab.points():
        found = row(labels, spot, numbers, LEVEL)
        found["longest_ms"] = float(spot.of(partial(measures.delay_ms, "max")).max())
        found["chosen"] = chosen[str(labels["marker"]), str(labels["mix"])] == labels["n"]
        rows.append(found)
    return frame(rows)


def tab02(o: Options, table: Table) -> Figure:
    """Every cell of Table 2: the paper's value, what is accepted, ours."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 3, size=(10.2, 3.4), sharey=True)
    kinds = perf.mixes(o)
    for column, (ax, (what, words)) in enumerate(zip(axes, perf.DELAYS, strict=True)):
        for place, name in enumerate(perf.ROWS):
            paper, factor = perf.PAPER[name][column], perf.FACTOR[name]
            ax.fill_betweenx([place - 0.32, place + 0.32], paper / factor, paper * factor, color="0.88", zorder=1)
            ax.plot([paper], [place], "D", color="black", fillstyle="none", zorder=3, label="paper")
            for index, mix in enumerate(kinds):
                n = perf.operating_point(lab, marker=name, mix=mix)
                values = lab.at(marker=name, mix=mix, n=n).of(partial(measures.delay_ms, what))
                here = place + (index - (len(kinds) - 1) / 2) * 0.3
                words_here = "here" if len(kinds) == 1 else f"here, {mix}"
                _dot(ax, mean_interval(values, LEVEL), here, index, words_here)
                if what == "max":
                    colour = plots.COLOURS[index]
                    ax.plot([values.max()], [here], ">", color=colour, fillstyle="none", label="longest of all runs")
        ax.set_yticks(range(len(perf.ROWS)), [_row_words(o, lab, name) for name in perf.ROWS])
        ax.set_ylim(len(perf.ROWS) - 0.5, -0.5)
        _plain_log(ax, "x", (1, 2, 5, 10, 20, 50, 100, 200))
        ax.set_xlabel(f"{words} (ms)")
        ax.set_title(f"({'abc'[column]})", loc="left")
    found = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _row_words(o: Options, lab: Lab, name: str) -> str:
    places = [(mix, perf.operating_point(lab, marker=name, mix=mix)) for mix in perf.mixes(o)]
    loads = [
        f"N = {n}, ρ = {lab.at(marker=name, mix=mix, n=n).of(measures.utilisation).mean():.3f}" for mix, n in places
    ]
    return "\n".join([name, *loads])


def _dot(ax: Axes, i: Interval, y: float, index: int, label: str) -> None:
    low, high = (i.mean - i.lo, i.hi - i.mean) if math.isfinite(i.lo) else (0.0, 0.0)
    ax.errorbar(
        [i.mean],
        [y],
        xerr=[[low], [high]],
        fmt=plots.MARKERS[index],
        color=plots.COLOURS[index],
        capsize=3,
        zorder=4,
        label=label,
    )


def x_load(o: Options, table: Table) -> Figure:
    """Delay over utilisation: the rows of Table 2 above, row 1 otherwise below."""
    lab = Lab(table)
    figure, axes = plots.figure(2, 3, size=(10.2, 7.4), sharex=True)
    mix = perf.mixes(o)[0]
    for column, (what, words) in enumerate(perf.DELAYS):
        upper, lower = axes[column], axes[3 + column]
        for index, name in enumerate(perf.ROWS):
            _over_load(upper, lab, what, name, index, variant=perf.AS_TABLE, marker=name, mix=mix)
            upper.plot(
                [perf.TARGET],
                [perf.PAPER[name][column]],
                "*",
                color=plots.COLOURS[index],
                markersize=10,
                markeredgecolor="black",
                markeredgewidth=0.5,
                zorder=5,
            )
        _over_load(lower, lab, what, perf.AS_TABLE, 0, variant=perf.AS_TABLE, marker=perf.RED_5, mix=mix)
        for index, name in enumerate(perf.VARIANTS, start=1):
            _over_load(lower, lab, what, name, index, variant=name)
        lower.plot(
            [perf.TARGET],
            [perf.PAPER[perf.RED_5][column]],
            "*",
            color=plots.COLOURS[0],
            markersize=10,
            markeredgecolor="black",
            markeredgewidth=0.5,
            zorder=5,
        )
        for ax, letter in ((upper, "abc"[column]), (lower, "def"[column])):
            ax.axvline(perf.TARGET, color="0.5", linewidth=0.8, zorder=0)
            plots.name_axes(ax, "utilisation ρ", f"{words} (ms)", title=f"({letter})", legend=False)
    _legend(figure, axes[1], "outside upper center", 4)
    _legend(figure, axes[4], "outside lower center", 4)
    return figure


def _over_load(ax: Axes, lab: Lab, what: str, words: str, index: int, **labels: str) -> None:
    _, rho = lab.curve("n", measures.utilisation, **labels)
    _, delay = lab.curve("n", partial(measures.delay_ms, what), **labels)
    dashes = plots.DASHES[index // len(plots.COLOURS)]
    plots.band(ax, curve_of(rho.mean(axis=1), delay, LEVEL), label=words, index=index, dashes=dashes, linewidth=1.0)


# --- Fig. 11 --------------------------------------------------------------------------------------------------------


def fig11_data(o: Options, numbers: Mapping[str, Measure], table: Table) -> pl.DataFrame:
    """Every point; the ladder of population C as one row a weight."""
    lab = Lab(table)
    rows = []
    for labels, spot in lab.points():
        if labels.get("population") == "C":
            for r, values in perf.ratio_curve(o, lab, str(labels["control"]), "C").items():
                i = mean_interval(values, LEVEL)
                rows.append({**labels, "r": r, "runs": len(spot.runs), "R": i.mean, "R_lo": i.lo, "R_hi": i.hi})
            continue
        also = {"dispersion": perf.dispersion(o)} if labels["panel"] == "c" else {}
        rows.append(row(labels, spot, {**numbers, **also}, LEVEL))
    return frame(rows)


def fig11(o: Options, table: Table) -> Figure:
    """R over r (a), utilisation over a common weight (b), burstiness (c)."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(10.8, 4.2))
    for control, index in CONTROLS.items():
        for who, dashes in POPULATION_DASHES.items():
            found = perf.ratio_curve(o, lab, control, who)
            drawn = curve_of(list(found), np.array(list(found.values())), LEVEL)
            plots.band(a, drawn, label=f"{control}, {POPULATION_WORDS[who]}", index=index, dashes=dashes)
        grid, rho = lab.curve("w", measures.utilisation, panel="b", control=control)
        plots.band(b, curve_of(grid, rho, LEVEL), label=control, index=index)
        grid, bursts = lab.curve("w", perf.dispersion(o), panel="c", control=control)
        plots.band(c, curve_of(grid, bursts, LEVEL), label=control, index=index)
    _diagonal(a)
    plots.name_axes(a, "weight ratio r", "throughput ratio R", title="(a)", zero=False, legend=False)
    plots.name_axes(b, "weight w of every connection", "utilisation ρ", title="(b)", zero=False)
    plots.name_axes(c, "weight w of every connection", "index of dispersion", title="(c)")
    c.axhline(1.0, color="0.5", linewidth=0.8, zorder=0)
    _legend(figure, a, "outside lower center", 4)
    return figure


def _diagonal(ax: Axes) -> None:
    """R = r, on a logarithmic axis."""
    _plain_log(ax, "y", (1, 2, 5, 10, 20, 50, 100))
    r = np.array(perf.RATIOS, dtype=np.float64)
    ax.plot(r, r, color="0.5", linewidth=0.8, zorder=0, label="R = r")


REACTION_COLOURS = {reaction: index for index, reaction in enumerate(perf.REACTIONS, start=1)}
LAW_DASHES = {1: "-", 3: "--"}


def x_multcp(o: Options, table: Table) -> Figure:
    """R over r (a) and utilisation (b) for each reaction of MulTCP; rate over marking probability (c)."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(10.8, 4.4))
    ratio = measures.throughput_ratio(o)
    for reaction, index in REACTION_COLOURS.items():
        words = f"MulTCP, {reaction}"
        grid, curve = lab.curve("r", ratio, panel="a", reaction=reaction)
        plots.band(a, curve_of(grid, curve, LEVEL), label=words, index=index)
        grid, rho = lab.curve("w", measures.utilisation, panel="b", reaction=reaction)
        plots.band(b, curve_of(grid, rho, LEVEL), label=words, index=index)
    laws = [(net.WTP, "", 0), *((net.MULTCP, reaction, index) for reaction, index in REACTION_COLOURS.items())]
    for control, reaction, index in laws:
        for weight, dashes in LAW_DASHES.items():
            where: Mapping[str, Label] = {"panel": "c", "control": control, "reaction": reaction, "w": weight}
            grid, rate = lab.curve("p", perf.alone_mbps, **where)
            words = f"{control}{', ' + reaction if reaction else ''}, weight {weight}"
            plots.band(c, curve_of(grid, rate, LEVEL), label=words, index=index, dashes=dashes)
    _diagonal(a)
    plots.name_axes(a, "weight ratio r", "throughput ratio R", title="(a)", zero=False, legend=False)
    plots.name_axes(b, "weight w of every connection", "utilisation ρ", title="(b)", zero=False, legend=False)
    _plain_log(c, "x", perf.LAW_PRICES)
    _plain_log(c, "y", (0.1, 0.2, 0.5, 1, 2, 5, 10))
    plots.name_axes(c, "marking probability p", "rate (Mbit/s)", title="(c)", zero=False, legend=False)
    _legend(figure, c, "outside lower center", 2)
    return figure
