"""Figures of the policer beyond 8 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Floats, Lab, Spot, curve_of, plain

from .. import measures
from ..drawing import GREY, R, U, curves, legend_below, level, rate_axis
from ..measures import ON, Series
from ..network import LEVEL, NONE
from . import measures as here

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.study import Table


def x_artefact(table: Table) -> Figure:
    """Throughput of the user who stays, by second, a panel a filling rate.

    He sends at full rate or hardly at all: single runs are shown, for the mean is of neither kind.
    """
    lab = Lab(table)
    rates = lab.grid("r", policing=ON)
    figure, axes = plots.figure(1, len(rates), size=(3.0 * len(rates), 3.4), sharey=True)
    times, free = _by_second(lab.at(policing=NONE))
    for ax, r in zip(axes, rates, strict=True):
        found = _by_second(lab.at(policing=ON, r=r))[1]
        seen = max(0.15, min(1.0, 2 / found.shape[1]))
        ax.plot(times, free.mean(axis=1), color=GREY, linestyle=(0, (6, 2)), linewidth=1.0, label="no policing, mean")
        for number, rate in enumerate(found.T):
            words = None if number else "policed, single runs"
            ax.plot(times, rate, color=plots.COLOURS[0], linewidth=0.6, alpha=seen, label=words)
        ax.plot(times, found.mean(axis=1), color=plots.COLOURS[1], linewidth=1.6, label="policed, mean")
        ax.axvline(here.ALONE_S, color=GREY, linewidth=0.8, zorder=0)
        y = "throughput of the user who stays (Mbit/s)" if r == rates[0] else ""
        plots.name_axes(ax, "time (s)", y, title=f"r = {plain(r)}", legend=False)
    legend_below(figure, axes[0])
    return figure


def _by_second(spot: Spot) -> tuple[Floats, Floats]:
    """Ends of the seconds, and what the user received in each, of shape (seconds, seeds)."""
    found = [here.received(run) for run in spot.runs]
    return found[0][0], np.array([rate for _, rate in found]).T


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
        rate_axis(ax, max(lab.grid("r")))
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
