"""Figures of the policer beyond 8 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, curve_of, plain

from .. import measures
from ..drawing import GREY, R, U, curves, legend_below, level, rate_axis
from ..measures import ON, Series
from ..network import LEVEL, NONE
from . import measures as here

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.study import Table


def x_artefact(table: Table) -> Figure:
    """Throughput of the user who stays, by second."""
    lab = Lab(table)
    figure, (ax,) = plots.figure(size=(6.8, 3.6))
    spots = [("no policing", lab.at(policing=NONE))]
    spots += [(f"strict, r = {plain(r)}", lab.at(policing=ON, r=r)) for r in lab.grid("r", policing=ON)]
    for index, (words, spot) in enumerate(spots):
        found = [here.received(run) for run in spot.runs]
        curve = curve_of(found[0][0], np.array([rate for _, rate in found]).T, LEVEL)
        plots.band(ax, curve, label=words, index=index, marker="")
    ax.axvline(here.ALONE_S, color=GREY, linewidth=0.8, zorder=0)
    plots.name_axes(ax, "time (s)", "throughput of the user who stays (Mbit/s)")
    return figure


def x_left(table: Table) -> Figure:
    """U and the light users' policing at the lowest filling rates."""
    figure, (a, b) = plots.figure(1, 2, size=(8.6, 3.6))
    lab = Lab(table)
    for number, (state, duration) in enumerate(dict.fromkeys((p["level"], p["duration_s"]) for p, _ in lab.points())):
        words = f"{state} bucket, {plain(duration)} s"
        for ax, measure in ((a, measures.unfairness), (b, measures.light_policed)):
            grid, values = lab.curve("r", measure, level=state, duration_s=duration)
            plots.band(ax, curve_of(grid, values, LEVEL), label=words, index=number)
    for ax, y, title in ((a, U, "a"), (b, "light users' packets policed (%)", "b")):
        rate_axis(ax)
        plots.name_axes(ax, R, y, title=title, zero=ax is b, legend=False)
    a.set_yscale("log")
    legend_below(figure, a, 4)
    return figure


def x04(table: Table) -> Figure:
    """Figure 8, a panel for each meaning of a charge."""
    figure, axes = plots.figure(1, len(here.RULES), size=(3.8 * len(here.RULES), 3.7), sharey=True)
    for ax, rule in zip(axes, here.RULES, strict=True):
        series = Series(table, "harshness", shared=True, rule=rule)
        curves(ax, series, measures.unfairness, free=False)
        level(ax, Series(table, "harshness", shared=True), "", measures.unfairness, GREY, "no policing")
        rate_axis(ax)
        ax.set_yscale("log")
        plots.name_axes(ax, R, U if rule == here.WITHOUT else "", title=rule, zero=False, legend=False)
    legend_below(figure, axes[0])
    return figure
