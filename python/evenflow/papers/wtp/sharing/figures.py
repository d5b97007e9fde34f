"""Figures 1, 3 and 4, and the ones that explain their virtual queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Floats, Lab, Spot, cells, curve_of, frame
from evenflow.stats import mean_interval
from evenflow.study import Labels, Table

from .. import network as net
from ..choices import Options
from ..network import LEVEL
from . import measures as sharing
from .measures import CONSTANT, NETWORK, SETTLED, WINDOW

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

R = "weight ratio r"
THROUGHPUTS = "throughput ratio R"
MARKS = "ratio of received marks M"
GREY = "0.45"


def theory_numbers(labels: Labels, o: Options, form: str) -> dict[str, float | None]:
    """R and both rates of a point of population A as the fluid theory has them."""
    if labels["population"] != "A":
        return {}
    found = sharing.predicted(o, form, str(labels["marker"]), float(labels["r"]))
    row: dict[str, float | None] = {}
    for name, column in zip(("pure", "corrected"), found or (), strict=False):
        row |= {
            f"R_{name}": column.ratio,
            f"light_{name}_bps": column.light_bps,
            f"heavy_{name}_bps": column.heavy_bps,
        }
    return row


def _legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    handles, words = ax.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2)


# --- Figure 1 -------------------------------------------------------------------------------------------------------


def split(increase: float, decrease: float) -> str:
    """How a weight is split, in words."""
    return f"increase {increase:g}, decrease {decrease:g}"


def fig01(table: Table, network_start_s: float, pairs: Sequence[tuple[float, float]]) -> Figure:
    """Traces in both settings, and the trade-off between speed and steadiness."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(3.6 * 3, 3.7))
    for ax, place, start_s in ((a, CONSTANT, 0.0), (b, NETWORK, network_start_s)):
        for index, (increase, decrease) in enumerate(pairs):
            spot = _fig01_spot(lab, place, increase, decrease)
            if (increase, decrease) in (pairs[0], pairs[-1]):
                _trace(ax, spot, start_s, index, split(increase, decrease))
            x, y = mean_interval(sharing.settling_s(spot, start_s), LEVEL), _deviation(spot)
            c.errorbar(
                x.mean,
                y[0],
                xerr=[[x.mean - x.lo], [x.hi - x.mean]],
                yerr=[[y[0] - y[1]], [y[2] - y[0]]],
                fmt=plots.MARKERS[index],
                color=plots.COLOURS[index],
                fillstyle="full" if place == CONSTANT else "none",
                label=f"({increase:g}, {decrease:g}) {'independent marks' if place == CONSTANT else 'one of ten'}",
            )
    plots.name_axes(a, "time since start (s)", "congestion window (packets)", title="a  independent marks, p = 0.1")
    plots.name_axes(b, "time since start (s)", "congestion window (packets)", title="b  one of ten, load-based marking")
    a.legend(loc="lower right")
    b.legend(loc="lower right")
    plots.name_axes(
        c,
        f"time to reach {SETTLED:.0%} of the mean (s)",
        "std of the window (packets)",
        title="c  the trade-off",
        legend=False,
    )
    c.set_xlim(left=0)
    c.set_ylim(0, 5)
    c.legend(loc="upper right", fontsize=7)
    return figure


def _fig01_spot(lab: Lab, place: str, increase: float, decrease: float) -> Spot:
    if place == CONSTANT:
        return lab.at(place=place, p=0.1, increase=increase, decrease=decrease)
    return lab.at(place=place, increase=increase, decrease=decrease)


def _deviation(spot: Spot) -> tuple[float, float, float]:
    i = mean_interval(sharing.variances(spot), LEVEL)
    return math.sqrt(i.mean), math.sqrt(max(i.lo, 0.0)), math.sqrt(i.hi)


def _trace(ax: Axes, spot: Spot, start_s: float, index: int, words: str, shown_s: float = 120.0) -> None:
    times = spot.runs[0].record.arrays(WINDOW)[0]
    here = (times > start_s) & (times <= start_s + shown_s)
    every = np.array([run.record.arrays(WINDOW)[1][here] for run in spot.runs]).T
    found = curve_of(times[here] - start_s, every, LEVEL)
    colour = plots.COLOURS[index]
    ax.plot(found.x, every[:, 0], color=colour, linewidth=0.6, alpha=0.8)
    ax.plot(found.x, found.mean, color=colour, linewidth=1.8, label=words, linestyle=plots.DASHES[index % 4])
    ax.fill_between(found.x, found.lo, found.hi, color=colour, alpha=0.25, linewidth=0)


# --- Figures 3 and 4 ------------------------------------------------------------------------------------------------

POPULATIONS = {
    "A": "5 of weight 1, 5 of weight r",
    "B": "9 of weight 1, 1 of weight r",
    "C": "weights 1 to 10, one each",
}


def shares(table: Table, o: Options, form: str) -> Figure:
    """R and M as in the paper, and both relative to what proportional sharing gives; a column for each population."""
    lab = Lab(table)
    figure, axes = plots.figure(4, 3, size=(10.4, 11.2))
    for column, (population, words) in enumerate(POPULATIONS.items()):
        a, b, c, d = (axes[3 * row + column] for row in range(4))
        for index, marker in enumerate(net.MARKERS):
            grid, ratios = sharing.over_r(lab, o, population, marker, sharing.of_throughput)
            marks = sharing.over_r(lab, o, population, marker, sharing.of_marks)[1]
            prices = sharing.over_r(lab, o, population, marker, sharing.of_marks_per_packet)[1]
            plots.band(a, curve_of(grid, ratios, LEVEL), label=marker, index=index)
            _both_ways(b, ratios, marks, index, marker)
            plots.band(c, curve_of(grid, ratios / np.asarray(grid)[:, None], LEVEL), label=marker, index=index)
            plots.band(d, curve_of(grid, prices, LEVEL), label=marker, index=index)
            if population == "A":
                _theory(c, o, form, marker, grid, index)
        for ax in (a, b):
            ax.axline((0, 0), slope=1, color=GREY, linewidth=0.8, zorder=0)
        for ax in (c, d):
            ax.axhline(1, color=GREY, linewidth=0.8, zorder=0)
        judged = ", judged" if population == o.population else ""
        plots.name_axes(a, R, THROUGHPUTS, title=f"a  population {population}{judged}\n{words}", legend=False)
        plots.name_axes(b, THROUGHPUTS, MARKS, title="b", legend=False)
        plots.name_axes(c, R, "R over r", title="c", legend=False, zero=False)
        plots.name_axes(d, R, "M over R", title="d", legend=False, zero=False)
        for ax in (a, b):
            ax.set_xlim(0, None)
    for row in (2, 3):
        panels = axes[3 * row : 3 * row + 3]
        lowest, highest = min(ax.get_ylim()[0] for ax in panels), max(ax.get_ylim()[1] for ax in panels)
        for ax in panels:
            ax.set_ylim(lowest, highest)
    _legend_below(figure, axes[0], 3)
    return figure


def _theory(ax: Axes, o: Options, form: str, marker: str, grid: Sequence[float], index: int) -> None:
    """The corrected column of the fluid theory over r; its pure column is R = r."""
    found = [(r, sharing.predicted(o, form, marker, r)) for r in grid]
    points = [(r, columns[1].ratio / r) for r, columns in found if columns is not None and columns[1].ratio]
    if points:
        ax.plot(*zip(*points, strict=True), color=plots.COLOURS[index], linewidth=0.9, linestyle=":")


def _both_ways(ax: Axes, x: Floats, y: Floats, index: int, words: str) -> None:
    """A line through means of x and y of shape (points, seeds), with the intervals of both."""
    across, up = ([mean_interval(row, LEVEL) for row in values] for values in (x, y))
    ax.errorbar(
        [i.mean for i in across],
        [i.mean for i in up],
        xerr=np.nan_to_num([i.half_width for i in across], posinf=0.0),
        yerr=np.nan_to_num([i.half_width for i in up], posinf=0.0),
        color=plots.COLOURS[index],
        marker=plots.MARKERS[index],
        elinewidth=0.8,
        label=words,
    )


# --- What explains them ---------------------------------------------------------------------------------------------


def x_phase(table: Table) -> Figure:
    """Distribution over the seeds of the largest over the smallest throughput."""
    lab = Lab(table)
    figure, (ax,) = plots.figure()
    for index, marker in enumerate((net.VQ, net.RED)):
        found = np.sort(lab.at(marker=marker).of(sharing.largest_over_smallest))
        ax.step(
            found,
            100 * np.arange(1, found.size + 1) / found.size,
            where="post",
            color=plots.COLOURS[index],
            linestyle=plots.DASHES[index],
            label=f"{marker}, {found.size} seeds",
        )
    ax.axvline(2, color=GREY, linewidth=0.8, zorder=0)
    plots.name_axes(ax, "largest over smallest throughput of ten equal connections", "share of the seeds (%)")
    ax.set_xlim(left=1)
    ax.legend(loc="lower right")
    return figure


def x_burst(table: Table, o: Options) -> Figure:
    """p_high over p_low: a row for each variant, a panel for each form."""
    lab = Lab(table)
    names = list(dict.fromkeys(str(labels["variant"]) for labels, _ in lab.points()))
    figure, axes = plots.figure(1, 2, size=(9.2, 0.34 * len(names) + 1.5), sharey=True, sharex=True)
    for ax, form, title in zip(
        axes, (net.PI, net.IPD), ("a  proportional increase", "b  inversely proportional decrease"), strict=True
    ):
        for index, marker in enumerate((net.VQ, net.RED)):
            for filled, r in ((True, 10.0), (False, 6.0)):
                rows, found = [], []
                for row, name in enumerate(names):
                    values = sharing.of_variant(lab, o, name, form, marker, r, sharing.of_probabilities)
                    if values is not None:
                        rows.append(row + (0.14 if index else -0.14) + (0.0 if filled else 0.1))
                        found.append(mean_interval(values, LEVEL))
                if not found:
                    continue
                ax.errorbar(
                    [i.mean for i in found],
                    rows,
                    xerr=[i.half_width if math.isfinite(i.half_width) else 0.0 for i in found],
                    fmt=plots.MARKERS[index],
                    color=plots.COLOURS[index],
                    fillstyle="full" if filled else "none",
                    elinewidth=0.9,
                    label=f"{marker}, r = {r:g}",
                )
        ax.axvline(1, color=GREY, linewidth=0.8, zorder=0)
        plots.name_axes(ax, "marking probability, high weight over low", "", title=title, zero=False, legend=False)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    _legend_below(figure, axes[0], 4)
    return figure


def x_base_weight(table: Table, o: Options) -> Figure:
    """R over r under the virtual queue and under RED: a column for each base weight, a row for each form."""
    lab = Lab(table)
    bases = lab.grid("base_weight")
    figure, axes = plots.figure(2, len(bases), size=(2.6 * len(bases), 6.2), sharex=True, sharey=True)
    forms = ((net.PI, "proportional increase"), (net.IPD, "inverse decrease"))
    for row, (form, words) in enumerate(forms):
        found = sharing.base_weight_cells(lab, o, form)
        for column, base in enumerate(bases):
            ax = axes[row * len(bases) + column]
            for index, population in enumerate(POPULATIONS):
                mine = [cell for cell in found if cell.base_weight == base and cell.population == population]
                grid = [cell.r for cell in mine]
                for marker, values in ((net.VQ, [c.vq for c in mine]), (net.RED, [c.red for c in mine])):
                    plots.band(
                        ax,
                        curve_of(grid, np.array(values), LEVEL),
                        label=f"{marker}, population {population}",
                        index=index,
                        dashes="-" if marker == net.VQ else ":",
                    )
            ax.axhline(1, color=GREY, linewidth=0.8, zorder=0)
            title = f"{words}\nbase weight {base:g}"
            plots.name_axes(ax, R if row else "", "" if column else "R over r", title=title, zero=False, legend=False)
    _legend_below(figure, axes[0], 3)
    return figure


def base_weight_data(table: Table, o: Options) -> pl.DataFrame:
    """The map's numbers, one row a cell: R/r under both markers, their paired difference, p_high/p_low under VQ."""
    lab, rows = Lab(table), []
    for form in (net.PI, net.IPD):
        for cell in sharing.base_weight_cells(lab, o, form):
            row: dict[str, Any] = {
                "form": form,
                "base_weight": cell.base_weight,
                "population": cell.population,
                "r": cell.r,
                "runs": int(cell.vq.size),
            }
            for name, values in (("vq", cell.vq), ("red", cell.red)):
                row |= cells(f"{name}_R_over_r", mean_interval(values, LEVEL))
            row |= cells("vq_minus_red", cell.beyond)
            row |= cells("p_high_over_p_low", mean_interval(cell.p_high_over_p_low, LEVEL))
            row |= cells("light_at_floor", mean_interval(cell.light_at_floor, LEVEL))
            rows.append(row)
    return frame(rows)


def x_windows(table: Table) -> Figure:
    """Relative fluctuation of windows: a panel for each form, by marker and class."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 2, size=(7.6, 3.3), sharey=True)
    panels = ((net.PI, "a  proportional increase"), (net.IPD, "b  inversely proportional decrease"))
    for ax, (form, _) in zip(axes, panels, strict=True):
        grid = lab.grid("r", form=form)
        for index, marker in enumerate(net.MARKERS):
            numbers = [sharing.window_numbers(lab.at(form=form, marker=marker, r=r)) for r in grid]
            for group, words, fill in (("light", "weight 1", "none"), ("heavy", "weight r", "full")):
                found = [mean_interval(row[group], LEVEL) for row in numbers]
                ax.errorbar(
                    np.arange(len(grid)) + 0.22 * (index - 1) + (0.04 if group == "heavy" else -0.04),
                    [i.mean for i in found],
                    yerr=[i.half_width if math.isfinite(i.half_width) else 0.0 for i in found],
                    fmt=plots.MARKERS[index],
                    color=plots.COLOURS[index],
                    fillstyle=fill,
                    label=f"{marker}, {words}",
                )
        ax.set_xticks(range(len(grid)), [f"r = {r:g}" for r in grid])
        ax.set_xlim(-0.6, len(grid) - 0.4)
    # limits only when everything is drawn: the panels share them
    for ax, (form, title) in zip(axes, panels, strict=True):
        plots.name_axes(ax, "", "std / mean of a window" if form == net.PI else "", title=title, legend=False)
    _legend_below(figure, axes[0], 3)
    return figure


def x_marks(table: Table, shown_s: float = 15.0) -> Figure:
    """Lengths of runs of marks; and both classes' sending beside the times of marking."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(3.6 * 3, 3.6))
    for index, marker in enumerate(net.MARKERS):
        spot = lab.at(form=net.PI, marker=marker, r=4.0)
        lengths = np.sort(np.concatenate([sharing.Packets(run).run_lengths() for run in spot.runs]))
        longer = 1 - np.cumsum(lengths) / lengths.sum()
        a.step(
            [1, *lengths],
            [100, *(100 * longer)],
            where="post",
            color=plots.COLOURS[index],
            linestyle=plots.DASHES[index],
            label=f"{marker}, mean {lengths.mean():.3g}",
        )
    a.set_xscale("log")
    plots.name_axes(a, "marked packets in a row", "share of marks in longer runs (%)", title="a")
    for ax, form, title in (
        (b, net.PI, "b  proportional increase"),
        (c, net.IPD, "c  inversely proportional decrease"),
    ):
        run = lab.at(form=form, marker=net.VQ, r=10.0).runs[0]
        packets, width = sharing.Packets(run), sharing.ROUND_TRIP_S
        start = run.json["window_s"][0]
        for index, (group, words) in enumerate((("light", "weight 1"), ("heavy", "weight 10"))):
            found = packets.counts(packets.of(group), width)
            times = start + width * (np.arange(found.size) + 0.5)
            ax.plot(times, found / found.mean(), color=plots.COLOURS[index], linestyle=plots.DASHES[index], label=words)
        _shade(ax, packets)
        ax.set_xlim(start, start + shown_s)
        plots.name_axes(ax, "time (s)", "packets per round trip over their mean", title=title)
        ax.set_ylim(0.4, 1.7)
        ax.legend(loc="lower right", ncols=2)
    return figure


def _shade(ax: Axes, packets: sharing.Packets) -> None:
    """The times in which every packet was marked."""
    edges = np.diff(np.concatenate([[0], packets.marked.astype(int), [0]]))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    for begin, end in zip(packets.time_s[first], packets.time_s[last], strict=True):
        ax.axvspan(float(begin), float(end), color="0.88", linewidth=0, zorder=0)
