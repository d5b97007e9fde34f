"""Figures 4 and 5: a heavy TCP user with many flows against a light one with a single flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.study import Table

from .. import network as net
from ..drawing import (
    FLOWS_0,
    PLAIN,
    PRIORITY,
    QUEUE,
    RATIO,
    USE,
    draw_ratio_of_means,
    fair_line,
    percent,
    scheme_and_delay,
    three_measures,
    whole_numbers,
)
from ..measures import delay_be, queue, ratio, utilisation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig04(table: Table) -> Figure:
    """TR, queue, utilisation over f0."""
    measures = ((ratio, RATIO), (queue, QUEUE), (percent(utilisation), USE))
    figure = three_measures(table, "f0", FLOWS_0, scheme_and_delay(PLAIN), measures)
    fair_line(figure.axes[0])
    figure.axes[0].set_ylim(0.7, 40)
    figure.axes[0].set_yscale("log")
    figure.axes[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    figure.axes[2].set_ylim(80, 100.5)
    for ax in figure.axes:
        whole_numbers(ax)
    return figure


def fig05(table: Table) -> Figure:
    """TR, wait of best effort, utilisation over f0, the heavy user as EF."""
    measures = ((ratio, RATIO), (delay_be, "mean queueing delay of best effort (ms)"), (percent(utilisation), USE))
    figure = three_measures(table, "f0", FLOWS_0, scheme_and_delay(PRIORITY), measures)
    fair_line(figure.axes[0])
    figure.axes[2].set_ylim(80, 100.5)
    for ax in figure.axes:
        whole_numbers(ax)
    return figure


def fig05n(table: Table) -> Figure:
    """TR over f0 without ABC, the heavy user as EF under two schedulers."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    schemes = {net.NO_ABC_STRICT: "strict priority", net.NO_ABC_MEDF: "MEDF"}
    draw_ratio_of_means(ax, table, "f0", scheme_and_delay(schemes))
    plots.name_axes(ax, FLOWS_0, f"{RATIO} (ratio of means)", zero=False)
    return figure
