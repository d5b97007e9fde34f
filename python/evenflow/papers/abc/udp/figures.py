"""Figure 3: two users who send Poisson traffic whatever the network does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.study import Table

from .. import network as net
from ..drawing import PRIORITY, RATE_0, T0, Line, draw, legend_under, panels
from ..measures import delay_be, delay_ef, t0

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig03(table: Table) -> Figure:
    """T0 over R0: without priority (a), with (b); waits by class (c)."""
    figure, (a, b, c) = panels(3, 4.2)
    r1s = (2.5, 7.5, 10)
    draw(
        a,
        table,
        t0,
        "r0",
        [
            Line({"scheme": scheme, "r1": r1}, f"{words}, user 1 sends {r1:g} Mbit/s", index, dashes)
            for index, r1 in enumerate(r1s)
            for scheme, words, dashes in ((net.NO_ABC, "without ABC", "--"), (net.ABC, "with ABC", "-"))
        ],
    )
    plots.name_axes(a, RATE_0, T0, title="a", legend=False)
    prioritised = {
        net.ABC: "best effort",
        net.EF1: "as EF, bytes counted once",
        net.EF3: "as EF, bytes counted three times",
    }
    draw(
        b,
        table,
        t0,
        "r0",
        [Line({"scheme": s, "r1": 7.5}, words, i) for i, (s, words) in enumerate(prioritised.items())],
    )
    plots.name_axes(b, RATE_0, T0, title="b", legend=False)
    for index, (scheme, words) in enumerate(PRIORITY.items(), 1):
        for measure, who, dashes in ((delay_be, "best-effort user 1", "-"), (delay_ef, "EF user 0", "--")):
            draw(c, table, measure, "r0", [Line({"scheme": scheme, "r1": 7.5}, f"{who}, {words}", index, dashes)])
    c.axhline(net.DRAIN_TIME_MS, color="0.5", linewidth=0.8, zorder=0)
    c.annotate("a full buffer", (20, net.DRAIN_TIME_MS), ha="right", va="bottom", fontsize=7, color="0.4")
    plots.name_axes(c, RATE_0, "mean queueing delay (ms)", title="c", legend=False)
    for ax in (a, b, c):
        legend_under(ax)
    return figure
