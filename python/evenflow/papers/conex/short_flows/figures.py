"""Figure 20, and initial windows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Lab, curve_of
from evenflow.stats import mean_interval

from .. import measures
from ..choices import Options
from ..drawing import R, legend_below, rate_axis
from ..measures import ON
from ..network import HEAVY, LEVEL, LIGHT, NONE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.study import Table


def fig20(table: Table, o: Options) -> Figure:
    """Completion times, completion, and policing of both classes over r."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 3, size=(11.4, 3.6))
    panels = (
        (axes[0], partial(measures.completion, o), "completion time of a flow (s)", "a"),
        (axes[1], measures.completed, "flows completed (%)", "b"),
        (axes[2], measures.policed, "packets dropped by the policer (%)", "c"),
    )
    for ax, of, y, title in panels:
        for index, group in enumerate((HEAVY, LIGHT)):
            grid, values = lab.curve("r", partial(of, group), policing=ON)
            plots.band(ax, curve_of(grid, values, LEVEL), label=f"{group} user", index=index)
            if of is measures.policed:
                continue
            i = mean_interval(lab.at(policing=NONE).of(partial(of, group)), LEVEL)
            words = f"{group} user, no policing"
            ax.axhline(i.mean, color=plots.COLOURS[index], linewidth=0.8, linestyle=(0, (6, 2)), label=words)
            ax.axhspan(i.lo, i.hi, color=plots.COLOURS[index], alpha=0.12, linewidth=0)
        rate_axis(ax)
        plots.name_axes(ax, R, y, title=title, legend=False)
    axes[0].set_ylim(0, 1.15 * axes[0].get_ylim()[1])
    axes[2].set_ylim(0, 100)
    legend_below(figure, axes[0], 4)
    return figure


def x03(table: Table, o: Options) -> Figure:
    """Reports and completion times for two initial windows."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 2, size=(7.2, 3.2))
    windows = lab.grid("initial_window")
    for index, group in enumerate((HEAVY, LIGHT)):
        for ax, of in (
            (axes[0], partial(measures.reports_a_flow, group)),
            (axes[1], partial(measures.completion, o, group)),
        ):
            found = [mean_interval(lab.at(initial_window=w).of(of), LEVEL) for w in windows]
            ax.errorbar(
                [place + 0.08 * (2 * index - 1) for place in range(len(windows))],
                [i.mean for i in found],
                yerr=[[i.mean - i.lo for i in found], [i.hi - i.mean for i in found]],
                fmt=plots.MARKERS[index],
                color=plots.COLOURS[index],
                label=f"{group} user",
            )
    for ax, y, title in ((axes[0], "reports sent per flow", "a"), (axes[1], "completion time (s)", "b")):
        ax.set_xticks(range(len(windows)), [f"{w:g} packets" for w in windows])
        ax.set_xlim(-0.5, len(windows) - 0.5)
        plots.name_axes(ax, "initial window", y, title=title, legend=False)
        ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    legend_below(figure, axes[0], 2)
    return figure
