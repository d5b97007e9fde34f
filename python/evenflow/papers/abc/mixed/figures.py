"""Figures 6 and 7: a UDP user who does not listen against a user with one TCP flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.study import Table

from .. import network as net
from ..drawing import (
    MOST_LINEAR,
    PLAIN,
    PRIORITY,
    QUEUE,
    RATE_0,
    RATIO,
    USE,
    draw,
    draw_ratio_of_means,
    fair_line,
    legend_below,
    panels,
    percent,
    scheme_and_delay,
    three_measures,
)
from ..measures import delay_be, queue, ratio, t1, utilisation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig06(table: Table) -> Figure:
    """TR on a logarithmic axis and on a linear one, queue, utilisation over R0 against one TCP flow."""
    figure, (log, linear, b, c) = panels(4)
    lines = scheme_and_delay(PLAIN)
    for ax, title, most in ((log, "a", None), (linear, "a   0 to 3", MOST_LINEAR)):
        draw_ratio_of_means(ax, table, "r0", lines, most)
        fair_line(ax)
        plots.name_axes(ax, RATE_0, f"{RATIO} (ratio of means)", title=title, zero=False, legend=False)
    log.set_ylim(0.02, 1e5)
    for ax, letter, measure, words in ((b, "b", queue, QUEUE), (c, "c", percent(utilisation), USE)):
        draw(ax, table, measure, "r0", lines)
        plots.name_axes(ax, RATE_0, words, title=letter, legend=False)
    c.set_ylim(50, 101)
    legend_below(figure, b, 4)
    return figure


def fig07(table: Table) -> Figure:
    """TR, wait of best effort, utilisation over R0, the UDP user as EF."""
    measures = ((ratio, RATIO), (delay_be, "mean queueing delay of best effort (ms)"), (percent(utilisation), USE))
    figure = three_measures(table, "r0", RATE_0, scheme_and_delay(PRIORITY), measures)
    fair_line(figure.axes[0])
    figure.axes[2].set_ylim(50, 101)
    return figure


def fig07n(table: Table) -> Figure:
    """Priority without ABC, and ABC under strict priority: TR and what is left to the TCP user."""
    figure, (a, b) = panels(2, 4.0)
    schemes = {
        net.NO_ABC_MEDF: "without ABC, MEDF",
        net.NO_ABC_STRICT: "without ABC, strict priority",
        net.EF3_STRICT: "with ABC, strict priority",
    }
    lines = scheme_and_delay(schemes)
    draw_ratio_of_means(a, table, "r0", lines)
    plots.name_axes(a, RATE_0, f"{RATIO} (ratio of means)", title="a", zero=False, legend=False)
    draw(b, table, t1, "r0", lines)
    plots.name_axes(b, RATE_0, "throughput T1 of the TCP user (Mbit/s)", title="b", legend=False)
    legend_below(figure, b)
    return figure
