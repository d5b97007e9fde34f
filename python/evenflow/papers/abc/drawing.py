"""What the topics' figures share: lines, axes, legends, and a figure's numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow import lab, plots
from evenflow.lab import Floats, Measure
from evenflow.stats import LEVEL, mean_interval, ratio_of_means
from evenflow.study import Curve, Label, Run, Table

from . import network as net
from .measures import Lab, ratio, t0

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASH = {5: "-", 25: "-.", 50: "--"}
"""One line style a one-way delay, in all figures."""
LONG_HANDLE = 3.6
"""Legend samples long enough to show a line's dashes beside its marker."""
MOST_LINEAR = 3.0
"""End of the linear axis of a ratio that is also drawn logarithmically."""
RATE_0 = "transmission rate R0 of user 0 (Mbit/s)"
FLOWS_0 = "TCP flows f0 of the heavy user"
RATIO = "throughput ratio TR"
QUEUE = "mean queue (packets)"
USE = "utilisation (%)"
T0 = "throughput T0 of user 0 (Mbit/s)"


@dataclass(frozen=True)
class Line:
    """One curve: the labels that single it out, its words, its colour number and its line style."""

    where: Mapping[str, Label]
    words: str
    colour: int
    dashes: str = "-"


def percent(measure: Measure) -> Measure:
    """A share as percent."""

    def scaled(run: Run) -> float | None:
        value = measure(run)
        return None if value is None else 100 * value

    return scaled


def draw(ax: Axes, table: Table, measure: Measure, x: str, lines: Sequence[Line]) -> None:
    """Means with bands over a label, one line each."""
    for line in lines:
        plots.line_with_band(ax, table, measure, x, line.where, label=line.words, index=line.colour, dashes=line.dashes)


def draw_ratio_of_means(ax: Axes, table: Table, x: str, lines: Sequence[Line], most: float | None = None) -> None:
    """TR as mean T0 over mean T1 with Fieller's band: a run's T1 may be zero.

    On a logarithmic axis; on a linear one from 0 to ``most`` if that is given, for what is claimed near 1.
    """
    for line in lines:
        curve = ratio_of_means_curve(table, x, line.where)
        plots.band(ax, curve, label=line.words, index=line.colour, dashes=line.dashes)
    if most is None:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, most)


def ratio_of_means_curve(table: Table, x: str, where: Mapping[str, Label]) -> Curve:
    """Mean T0 over mean T1 along a label; points at which nobody but the heavy user got anything are left out."""
    runs = Lab(table.where(where))
    grid = runs.grid(x)
    found = [runs.at(**{x: value}).ratio_of_means() for value in grid]
    return Curve(
        x=np.array(grid),
        mean=np.array([i.mean if math.isfinite(i.mean) else math.nan for i in found]),
        lo=np.array([max(i.lo, 1e-3) for i in found]),
        hi=np.array([i.hi for i in found]),
        n=np.array([i.n for i in found]),
    )


def legend_below(figure: Figure, ax: Axes, columns: int = 2) -> None:
    """One legend for panels that share their lines."""
    handles, words = ax.get_legend_handles_labels()
    figure.legend(
        handles, words, loc="outside lower center", ncols=columns, frameon=False, fontsize=8, handlelength=LONG_HANDLE
    )


def legend_under(ax: Axes, columns: int = 1) -> None:
    """A legend under a panel whose lines are its own."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7, ncols=columns, handlelength=LONG_HANDLE)


def whole_numbers(ax: Axes) -> None:
    """Ticks at whole numbers only, for numbers of flows."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))


def panels(count: int, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Panels side by side."""
    return plots.figure(1, count, size=(plots.PANEL * count, height))


def fair_line(ax: Axes) -> None:
    """The ratio everyone wants."""
    ax.axhline(1.0, color="0.5", linewidth=0.8, zorder=0)


def scheme_and_delay(schemes: Mapping[str, str], delays: Sequence[int] = (5, 50), **also: Label) -> list[Line]:
    """Colour by scheme, dashes by delay; the words say both."""
    return [
        Line({"scheme": scheme, "delay_ms": delay, **also}, f"{words}, one-way delay {delay} ms", index, DASH[delay])
        for index, (scheme, words) in enumerate(schemes.items())
        for delay in delays
    ]


PLAIN = {net.NO_ABC: "without ABC", net.ABC: "with ABC"}
PRIORITY = {net.EF1: "EF bytes counted once", net.EF3: "EF bytes counted three times"}


def three_measures(
    table: Table, x: str, title: str, lines: Sequence[Line], measures: Sequence[tuple[Measure, str]], columns: int = 2
) -> Figure:
    """Three panels over one axis, with one legend below."""
    figure, axes = panels(3)
    for ax, letter, (measure, words) in zip(axes, "abc", measures, strict=True):
        draw(ax, table, measure, x, lines)
        plots.name_axes(ax, title, words, title=letter, legend=False)
    legend_below(figure, axes[0], columns)
    return figure


def comparison(table: Table, schemes: Mapping[str, str], r1s: Sequence[float], log_ratio: bool) -> Figure:
    """The settings of figures 3a, 4a and 6a side by side; with ``log_ratio`` the last once more, on a linear axis."""
    figure, (a, b, c, *linear) = panels(4 if log_ratio else 3, 4.4)
    styles = ("-", "--", "-.", ":")
    draw(
        a,
        table,
        t0,
        "r0",
        [
            Line(
                {"panel": "a", "scheme": scheme, "r1": r1},
                f"{words}, user 1 sends {r1:g} Mbit/s",
                index,
                styles[number],
            )
            for index, r1 in enumerate(r1s)
            for number, (scheme, words) in enumerate(schemes.items())
        ],
    )
    plots.name_axes(a, RATE_0, T0, title="a", legend=False)
    draw(b, table, ratio, "f0", scheme_and_delay(schemes, panel="b"))
    plots.name_axes(b, FLOWS_0, RATIO, title="b", legend=False)
    if log_ratio:
        draw_ratio_of_means(c, table, "r0", scheme_and_delay(schemes, panel="c"))
        plots.name_axes(c, RATE_0, f"{RATIO} (ratio of means)", title="c", zero=False, legend=False)
        c.set_ylim(bottom=0.02)
        draw_ratio_of_means(linear[0], table, "r0", scheme_and_delay(schemes, panel="c"), MOST_LINEAR)
        plots.name_axes(linear[0], RATE_0, f"{RATIO} (ratio of means)", title="c   0 to 3", zero=False, legend=False)
    else:
        draw(c, table, ratio, "r0", scheme_and_delay(schemes, panel="c"))
        plots.name_axes(c, RATE_0, RATIO, title="c", legend=False)
    for ax in (b, c, *linear):
        fair_line(ax)
    whole_numbers(b)
    for ax in (a, b, c, *linear):
        legend_under(ax)
    return figure


def dots(ax: Axes, rows: Sequence[tuple[str, Floats]], xlabel: str) -> None:
    """Means with intervals, one row each, the first on top."""
    for index, (_, values) in enumerate(rows):
        i = mean_interval(values)
        if math.isfinite(i.mean):
            width = [[i.mean - i.lo], [i.hi - i.mean]] if math.isfinite(i.lo) else None
            ax.errorbar(i.mean, len(rows) - 1 - index, xerr=width, fmt="o", color=plots.COLOURS[0], capsize=2)
    ax.set_yticks(range(len(rows)), [words for words, _ in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(xlabel)


def data(numbers: Mapping[str, Measure]) -> Callable[[Table], pl.DataFrame]:
    """A figure's numbers: one row a point; beside TR, the mean of ratios, the ratio of means."""
    return partial(_data, numbers=numbers)


def _data(table: Table, numbers: Mapping[str, Measure]) -> pl.DataFrame:
    rows = []
    for labels, spot in Lab(table).points():
        row = lab.row(labels, spot, numbers, LEVEL)
        if "TR" in numbers:
            row["TR_of_means"] = lab.finite(ratio_of_means(spot.t0, spot.t1).mean)
        rows.append(row)
    return lab.frame(rows)
