"""The sources, the network, the meter and the AQM, before any fairness is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.study import Table

from ..drawing import RATIO, Line, draw, fair_line
from ..measures import Lab, ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def x_memory(table: Table, activity: str, start_s: float) -> Figure:
    """Activities of a steady user and of one who starts from silence four times as fast."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    lab = Lab(table)
    for index, memory in enumerate(lab.grid("m_am")):
        (run,) = lab.at(m_am=memory).runs
        for copy, who, dashes in ((0, "starts at 20 Mbit/s", "-"), (1, "steady at 5 Mbit/s", "--")):
            times, values = run.series(activity.format(copy=copy))
            shown = times >= start_s
            ax.plot(
                times[shown] - start_s,
                values[shown],
                dashes,
                color=plots.COLOURS[index],
                label=f"meter memory {memory:g} s, user {who}",
            )
    ax.set_ylim(4, 11.5)
    plots.name_axes(ax, "time since the second user's start (s)", "activity A", zero=False)
    return figure


def x_scale(table: Table) -> Figure:
    """TR over the common factor of all reference rates."""
    figure, (ax,) = plots.figure()
    draw(ax, table, ratio, "factor", [Line({}, "TR", 0)])
    ax.set_xscale("log")
    fair_line(ax)
    plots.name_axes(ax, "factor on all reference rates", RATIO)
    return figure
