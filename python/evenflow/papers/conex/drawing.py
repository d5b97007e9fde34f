"""What the topics' figures share: curves over the filling rate beside what is without policing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Measure, curve_of, plain
from evenflow.stats import mean_interval

from . import measures
from .measures import Series
from .network import LEVEL, RATES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Label, Table

R = "filling rate r (tokens/s)"
U = "unfairness U"
D = "mean queueing delay (ms)"
GREY = "0.45"
TICKS = (1, 2, 5, 10, 20, 45, 90, 180)


def rate_axis(ax: Axes, most: float = RATES[-1]) -> None:
    """Filling rates up to `most` on a logarithmic axis, the same in all panels, with the values written out."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    ax.set_xscale("log")
    ax.set_xlim(RATES[0] / 1.15, most * 1.15)
    ax.xaxis.set_major_locator(FixedLocator(TICKS))
    ax.xaxis.set_major_formatter(FixedFormatter([plain(tick) for tick in TICKS]))
    ax.xaxis.set_minor_locator(NullLocator())


def curves(ax: Axes, series: Series, measure: Measure, *, free: bool = True) -> None:
    """A line with its band for each curve, and a level line for what is without policing.

    Curves are named by what tells them apart; what they have in common stands in titles.
    """
    found = series.values()
    for number, value in enumerate(found):
        grid, values = series.over_r(value, measure)
        label = measures.words(**{series.label: value})
        plots.band(ax, curve_of(grid, values, LEVEL), label=label, index=number)
        if free and not series.shared:
            level(ax, series, value, measure, plots.COLOURS[number % len(plots.COLOURS)])
    if free and series.shared and found:
        level(ax, series, found[0], measure, GREY, "no policing")


def level(ax: Axes, series: Series, value: Label, measure: Measure, colour: str, words: str | None = None) -> None:
    """What is without policing: its mean as a thin line across, its interval as a band."""
    i = mean_interval(series.free(value).of(measure), LEVEL)
    if np.isnan(i.mean):
        return
    ax.axhline(i.mean, color=colour, linewidth=0.8, linestyle=(0, (6, 2)), label=words)
    if np.isfinite(i.lo) and np.isfinite(i.hi):
        ax.axhspan(i.lo, i.hi, color=colour, alpha=0.12, linewidth=0)


def unfairness(table: Table, figure: measures.Figure) -> Figure:
    """U over r, linear as in the paper and logarithmic, where what is below 1 can be seen."""
    series = figure.series(table)
    made, (a, b) = plots.figure(1, 2, size=(8.6, 3.6))
    for ax, title in ((a, "a"), (b, "b  the same, logarithmic")):
        curves(ax, series, measures.unfairness)
        rate_axis(ax)
        plots.name_axes(ax, R, U, title=title, zero=ax is a, legend=False)
    b.set_yscale("log")
    legend_below(made, a)
    return made


def unfairness_and_delay(table: Table, figure: measures.Figure) -> Figure:
    """U and D over r, and U on a logarithmic axis."""
    series = figure.series(table)
    made, axes = plots.figure(1, 3, size=(11.4, 3.6))
    panels = (("a", measures.unfairness, U), ("b", measures.unfairness, U), ("c", measures.delay, D))
    for ax, (title, measure, words) in zip(axes, panels, strict=True):
        curves(ax, series, measure)
        rate_axis(ax)
        plots.name_axes(ax, R, words, title=title, zero=ax is not axes[1], legend=False)
    axes[1].set_yscale("log")
    axes[1].set_title("b  the same, logarithmic", loc="left")
    legend_below(made, axes[0])
    return made


def legend_below(figure: Figure, ax: Axes, columns: int = 6) -> None:
    """One legend for all panels, under them; each entry once."""
    handles, words = ax.get_legend_handles_labels()
    kept = dict(zip(reversed(words), reversed(handles), strict=True))
    names = list(dict.fromkeys(words))
    figure.legend(
        [kept[name] for name in names], names, loc="outside lower center", ncols=max(1, min(columns, len(names)))
    )


def places(ax: Axes, names: Sequence[str]) -> None:
    """Words instead of numbers on the horizontal axis."""
    ax.set_xticks(range(len(names)), list(names))
