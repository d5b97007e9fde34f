"""Figures beyond the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, curve_of, plain, quotient

from .. import measures
from .. import network as net
from ..drawing import GREY, R, curves, legend_below, rate_axis
from ..measures import Series
from ..video import measures as video

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.lab import Floats
    from evenflow.study import Run, Table

KILO = 1e3


def _volume(run: Run, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Times, and the mean congestion-volume of these users so far, kB."""
    found = [run.series(name) for name in names]
    total: Floats = np.mean([values for _, values in found], axis=0) / KILO
    return found[0][0], total


def x_volume(table: Table, names: Mapping[str, Sequence[str]]) -> Figure:
    """Congestion-volume over time, a panel a filling rate."""
    lab = Lab(table)
    rates = lab.grid("r")
    figure, axes = plots.figure(1, len(rates), size=(3.6 * len(rates), 3.6))
    for ax, r in zip(axes, rates, strict=True):
        spot = lab.at(r=r)
        for index, (group, mine) in enumerate(names.items()):
            found = [_volume(run, mine) for run in spot.runs]
            curve = curve_of(found[0][0], np.array([values for _, values in found]).T, net.LEVEL)
            plots.band(ax, curve, label=f"{group} user", index=index, marker="")
        times = np.linspace(0.0, net.DURATION_S, 101)  # a straight line is none on this axis
        allowed = (net.WINDOW_PACKETS + r * times) * net.PACKET_BYTES / KILO
        ax.plot(times, allowed, color=GREY, linestyle=":", linewidth=1.0, label="allowed")
        ax.set_yscale("log")
        y = "congestion-volume (kB)" if r == rates[0] else ""
        plots.name_axes(ax, "time (s)", y, title=f"r = {plain(r)}", zero=False, legend=False)
    legend_below(figure, axes[0], 3)
    return figure


def x_level(table: Table, name: str) -> Figure:
    """Tokens of one user over time: a row a charge, a column a filling rate.

    Single runs are shown: a mean of levels that rise and fall at other times in each run is nobody's level.
    """
    lab = Lab(table)
    rates = lab.grid("r")
    figure, axes = plots.figure(2, len(rates), size=(4.3 * len(rates), 5.6), sharex=True)
    for place, (charge, r) in enumerate(product(("arrival", "pass"), rates)):
        ax = axes[place]
        for number, run in enumerate(lab.at(charge=charge, r=r).runs):
            style: dict[str, Any] = {"color": GREY, "linewidth": 0.5, "alpha": 0.4, "zorder": 1}
            if number == 0:
                style = {"color": plots.COLOURS[0], "linewidth": 1.1, "zorder": 2}
            words = {0: "one run", 1: "the others"}.get(number)
            ax.plot(*run.series(name), label=words, **style)
        ax.axhline(0, color="0.2", linewidth=0.8, zorder=0)
        for end in net.PERIODS_S:
            ax.axvline(end, color=GREY, linewidth=0.6, zorder=0)
        y = f"tokens, charged on {charge}" if charge == "arrival" else "tokens, what passes is charged"
        title = f"r = {plain(r)}" if charge == "arrival" else ""
        x = "" if charge == "arrival" else "time (s)"
        plots.name_axes(ax, x, y if r == rates[0] else "", title=title, zero=False, legend=False)
    legend_below(figure, axes[0], 2)
    return figure


def x_video(table: Table) -> Figure:
    """QoE of light and throughput of heavy users over r, a line a variant."""
    series = Series(table, "variant")
    figure, axes = plots.figure(1, 2, size=(8.6, 3.6))
    panels = ((video.quality, "mean QoE", "a"), (measures.heavy_throughput, "throughput of a heavy user (Mbit/s)", "b"))
    for ax, (measure, y, title) in zip(axes, panels, strict=True):
        curves(ax, series, measure)
        rate_axis(ax)
        plots.name_axes(ax, R, y, title=title, legend=False)
    axes[0].set_ylim(1, 5.2)
    legend_below(figure, axes[0], 4)
    return figure


def x01(table: Table) -> Figure:
    """Throughput of small over large packets, for both units."""
    lab = Lab(table)
    figure, (ax,) = plots.figure()
    for index, unit in enumerate(dict.fromkeys(str(labels["unit"]) for labels, _ in lab.points())):
        grid = lab.grid("r", unit=unit)
        ratios = []
        for r in grid:
            small, large = (
                np.array([measures.throughput(name, run) for run in lab.at(unit=unit, r=r).runs])
                for name in (net.SMALL, net.LARGE)
            )
            ratios.append(quotient(small, large))
        plots.band(ax, curve_of(grid, np.array(ratios), net.LEVEL), label=f"policer counts {unit}", index=index)
    share = (net.SMALL_BYTES - net.HEADER_BYTES) / net.PAYLOAD_BYTES
    ax.axhline(share, color=GREY, linewidth=0.8, linestyle=":", label="equal packets")
    rate_axis(ax)
    ax.set_yscale("log")
    plots.name_axes(ax, R, "small packets' throughput over large ones'", zero=False, legend=True)
    return figure


AUDITED = {"loss": "audit of losses", "ecn": "audit of marks", "both": "audit of both", "advised": "as advised"}


def x02(table: Table) -> Figure:
    """Gain of a cheat over what he declares, and whose packets audits sanction."""
    lab = Lab(table)
    figure, (a, b, c) = plots.figure(1, 3, size=(11.4, 3.8))
    cases = dict.fromkeys((str(labels["audit"]), str(labels["credit"])) for labels, _ in lab.points())
    for index, (audit, credit) in enumerate(cases):
        grid, values = lab.curve("declared", measures.gain, audit=audit, credit=credit)
        words = AUDITED.get(audit, "no audit")
        if credit == "flight":
            words += ", credit renewed"
        plots.band(a, curve_of(grid, values, net.LEVEL), label=words, index=index)
        if audit == net.NONE:
            continue
        for ax, group in ((b, net.CHEAT), (c, net.HEAVY)):
            values = lab.curve("declared", partial(measures.sanctioned, group), audit=audit, credit=credit)[1]
            plots.band(ax, curve_of(grid, values, net.LEVEL), label=words, index=index)
    a.axhline(1, color=GREY, linewidth=0.8, zorder=0)
    x = "share that the cheat declares"
    plots.name_axes(a, x, "throughput over an honest user's", title="a", legend=False)
    plots.name_axes(b, x, "the cheat's packets sanctioned (%)", title="b", legend=False)
    plots.name_axes(c, x, "honest heavy users' packets sanctioned (%)", title="c", legend=False)
    c.set_ylim(0, max(0.01, c.get_ylim()[1]))
    legend_below(figure, a, 3)
    return figure
