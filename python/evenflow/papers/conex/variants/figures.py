"""Figures 18 and 19, and table IV as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import plain

from .. import measures
from .. import network as net
from ..drawing import D, R, U, curves, legend_below, rate_axis
from ..measures import Series
from .measures import PRINTED, table_4

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.study import Table


def fig18(table: Table) -> Figure:
    """U over r, a panel for each number of flows; below on a logarithmic axis."""
    columns = len(net.FLOWS)
    figure, axes = plots.figure(2, columns, size=(2.9 * columns, 6.2))
    for place, flows in enumerate(net.FLOWS):
        series = Series(table, "variant", flows=flows)
        for row in (0, 1):
            ax = axes[row * columns + place]
            curves(ax, series, measures.unfairness)
            rate_axis(ax)
            title = f"{flows} flows per heavy user" if row == 0 else ""
            plots.name_axes(ax, R if row else "", "" if place else U, title=title, zero=not row, legend=False)
            if row:
                ax.set_yscale("log")
    legend_below(figure, axes[0], 4)
    return figure


def fig19(table: Table) -> Figure:
    """Delay and loss of a light user over r."""
    series = Series(table, "variant", flows=net.FLOWS[-1])
    figure, (a, b) = plots.figure(1, 2, size=(8.6, 3.6))
    for ax, measure, y, title in (
        (a, measures.light_delay, D, "a"),
        (b, measures.light_lost, "light user's packets lost in the queue (%)", "b"),
    ):
        curves(ax, series, measure)
        rate_axis(ax)
        plots.name_axes(ax, R, y, title=title, legend=False)
    legend_below(figure, a, 4)
    return figure


def tab04(table: Table) -> Figure:
    """Ranks in a grid, the paper's stars in brackets."""
    rows = table_4(Series(table, "variant", flows=net.FLOWS[-1]))
    names = list(PRINTED)
    figure, (ax,) = plots.figure(size=(7.2, 2.2))
    ax.set_axis_off()
    shown = []
    for row in rows:
        cells = [str(row["variant"])]
        for name in names:
            stars = f"({'★' * PRINTED[name][str(row['variant'])]})"
            if name == "deployability":
                cells.append(f"{'★' * int(row['deployability_stars'])} {stars}")
            else:
                cells.append(f"{plain(float(f'{row[name]:.3g}'))}: rank {row[f'{name}_rank']} {stars}")
        shown.append(cells)
    heads = ["", "fairness: U", "loss (%)", "delay (ms)", "deployability"]
    made = ax.table(cellText=shown, colLabels=heads, loc="center", cellLoc="left")
    made.auto_set_font_size(False)
    made.set_fontsize(8)
    made.auto_set_column_width(list(range(len(heads))))
    made.scale(1, 1.4)
    return figure
