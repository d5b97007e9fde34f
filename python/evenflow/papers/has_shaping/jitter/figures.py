"""Figures 10 and 11: the five measures over the round trip's deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Lab, curve_of

from .. import network as net
from ..choices import Options
from ..drawing import GREY, Y, legend_below
from ..measures import of
from ..published import TABLE_7, TABLE_8

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.study import Table

X = "deviation of the round trip (ms)"


def over_deviation(o: Options, names: Sequence[str], table: Table) -> Figure:
    """A panel a measure, a line each combination; crosses: the printed values at 7 ms."""
    lab = Lab(table)
    figure, axes = plots.figure(1, len(names), size=(3.8 * len(names), 3.5))
    printed = {**TABLE_7, **TABLE_8}
    for ax, name, title in zip(axes, names, "abc", strict=False):
        number = 0
        for control in net.GOOD:
            for method in net.SHAPED:
                grid, values = lab.curve("deviation_ms", of(o, name), control=control, method=method)
                plots.band(ax, curve_of(grid, values, net.LEVEL), label=f"{control}, {method}", index=number)
                there = printed[name, net.WL, control, method]
                colour = plots.COLOURS[number]
                ax.plot([net.JITTER_MS], [there], marker="x", color=colour, linestyle="", markersize=6)
                number += 1
        ax.axvline(net.DEVIATIONS_MS[-1], color=GREY, linewidth=0.6, linestyle=":")
        if name == "CNG":
            ax.set_yscale("symlog", linthresh=1)
        plots.name_axes(ax, X, Y[name], title=title, legend=False)
    legend_below(figure, axes[0], 4)
    return figure
