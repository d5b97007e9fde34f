"""Figures 21 and 22."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, Spot, curve_of, plain
from evenflow.stats import mean_interval

from .. import network as net
from ..drawing import GREY, R, legend_below, rate_axis
from ..measures import ON
from . import measures as here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table


def _traces(axes: Sequence[Axes], spot: Spot, words: str, index: int) -> None:
    """Throughput of a heavy user in the first panel, of a light one in the second."""
    found = [here.by_time(run) for run in spot.runs]
    times = found[0][0] - 2.5
    for ax, which in zip(axes, (1, 2), strict=True):
        curve = curve_of(times, np.array([each[which] for each in found]).T, net.LEVEL)
        plots.band(ax, curve, label=words, index=index, marker="")


def _periods(axes: Sequence[Axes]) -> None:
    """Axes of `_traces`, with the ends of the periods."""
    for ax, who, title in zip(axes, ("heavy", "light"), ("a", "b"), strict=True):
        for end in net.PERIODS_S:
            ax.axvline(end, color=GREY, linewidth=0.8, zorder=0)
        plots.name_axes(ax, "time (s)", f"throughput of a {who} user (Mbit/s)", title=title, legend=False)
        ax.set_ylim(0, FAIR_SHARE_MBPS[who] * 1.08)


FAIR_SHARE_MBPS = {net.HEAVY: net.CAPACITY_MBPS / net.HEAVY_USERS, net.LIGHT: net.CAPACITY_MBPS / net.VIDEO_LIGHT_USERS}
"""What a user has where those of his group share the link alone."""


def fig21(table: Table) -> Figure:
    """Throughput of heavy and of light users over time, in four cases."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 2, size=(10.4, 3.8))
    _traces(axes, lab.at(control=net.CUBIC, policing=net.NONE), "CUBIC, no policing", 0)
    for index, r in enumerate(sorted(lab.grid("r", policing=ON), reverse=True), 1):
        _traces(axes, lab.at(control=net.CUBIC, policing=ON, r=r), f"CUBIC, r = {plain(r)}", index)
    _traces(axes, lab.at(control=net.LEDBAT, policing=net.NONE), "LEDBAT, no policing", 3)
    _periods(axes)
    legend_below(figure, axes[0], 4)
    return figure


def fig22(table: Table) -> Figure:
    """QoE, stalls and stall duration over r."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 3, size=(11.4, 3.6))
    panels = ((here.quality, "mean QoE", "a"), (here.stalls, "stalls per user", "b"), (here.stall_s, "stall (s)", "c"))
    for ax, (measure, y, title) in zip(axes, panels, strict=True):
        grid, values = lab.curve("r", measure, control=net.CUBIC, policing=ON)
        plots.band(ax, curve_of(grid, values, net.LEVEL), label="CUBIC with ConEx", index=0)
        for index, control in ((1, net.CUBIC), (2, net.LEDBAT)):
            i = mean_interval(lab.at(control=control, policing=net.NONE).of(measure), net.LEVEL)
            if not np.isfinite(i.mean):
                continue
            words = f"{control}, no policing"
            ax.axhline(i.mean, color=plots.COLOURS[index], linewidth=0.9, linestyle=(0, (6, 2)), label=words)
            if np.isfinite(i.half_width):
                ax.axhspan(i.lo, i.hi, color=plots.COLOURS[index], alpha=0.12, linewidth=0)
        rate_axis(ax)
        plots.name_axes(ax, R, y, title=title, legend=False)
    axes[0].set_ylim(1, 5.2)
    legend_below(figure, axes[1], 3)
    return figure


def x06(table: Table) -> Figure:
    """Throughput over time and QoE for three targets of LEDBAT."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(11.4, 3.6))
    targets = lab.grid("target_ms")
    for index, target in enumerate(targets):
        spot = lab.at(target_ms=target)
        _traces((a, b), spot, f"target {plain(target)} ms", index)
        i = mean_interval(spot.of(here.quality), net.LEVEL)
        c.errorbar(
            [index],
            [i.mean],
            yerr=[[i.half_width if np.isfinite(i.half_width) else 0.0]] * 2,
            fmt=plots.MARKERS[index],
            color=plots.COLOURS[index],
        )
    _periods((a, b))
    c.set_xticks(range(len(targets)), [plain(target) for target in targets])
    c.set_xlim(-0.5, len(targets) - 0.5)
    plots.name_axes(c, "LEDBAT's target (ms)", "mean QoE", title="c", legend=False)
    c.set_ylim(1, 5.2)
    legend_below(figure, a, 3)
    return figure
