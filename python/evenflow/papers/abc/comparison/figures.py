"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Floats
from evenflow.stats import mean_interval
from evenflow.study import Run, Table

from .. import network as net
from ..drawing import DASH, RATIO, USE, Line, comparison, draw, legend_below, panels, percent
from ..measures import Lab, histogram, ratio, utilisation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig14(table: Table) -> Figure:
    """The fair activity meter beside the normal one."""
    return comparison(table, {net.ABC: "normal meter", net.FAIR: "fair meter"}, (2.5, 5, 7.5), log_ratio=True)


def fig15(table: Table) -> Figure:
    """CSFQ."""
    return comparison(table, {net.CSFQ: "CSFQ"}, (2.5, 7.5, 10), log_ratio=True)


def drop_shares(runs: Sequence[Run]) -> Floats:
    """Share of each run's drops at each queue length 0 … 24, shape (lengths, runs); NaN in a run without a drop."""
    counts = np.array([histogram(net.AT_DROP, run) for run in runs]).T
    total = counts.sum(axis=0)
    shares: Floats = np.divide(counts, total, out=np.full(counts.shape, math.nan), where=total > 0)
    return shares


def fig16(table: Table) -> Figure:
    """Queue lengths that dropped packets met: means over the runs, with their intervals."""
    figure, axes = panels(3, 3.2)
    lab = Lab(table)
    shown = {net.ABC: "a   ABC", net.CSFQ: "b   CSFQ", net.CSFQ_Q_MIN: "c   CSFQ, no random drop below 12"}
    for index, (ax, (scheme, title)) in enumerate(zip(axes, shown.items(), strict=True)):
        found = [mean_interval(100 * shares) for shares in drop_shares(lab.runs(scheme=scheme))]
        plots.histogram(ax, [i.mean for i in found], index=index)
        known = [(length, i) for length, i in enumerate(found) if math.isfinite(i.hi - i.lo)]
        # a share is not negative: an interval ends there
        below, above = [min(i.mean, i.mean - i.lo) for _, i in known], [i.hi - i.mean for _, i in known]
        ax.errorbar(
            [length for length, _ in known],
            [i.mean for _, i in known],
            yerr=[below, above],
            fmt="none",
            ecolor="0.2",
            elinewidth=0.8,
            capsize=1.5,
        )
        ax.set_xlim(-0.7, 24.7)
        plots.name_axes(ax, "queue length at a drop (packets)", "share of all drops (%)", title=title)
    return figure


def x_capacity(table: Table) -> Figure:
    """TR and utilisation over the capacity that CSFQ is told."""
    figure, (a, b) = panels(2, 3.6)
    lines = [Line({"delay_ms": delay}, f"one-way delay {delay} ms", 0, DASH[delay]) for delay in (5, 50)]
    for ax, letter, measure, words in ((a, "a", ratio, RATIO), (b, "b", percent(utilisation), USE)):
        draw(ax, table, measure, "told", lines)
        ax.axvline(net.BOTTLENECK_MBPS, color="0.5", linewidth=0.8, zorder=0)
        name = "capacity that CSFQ is told (Mbit/s)"
        plots.name_axes(ax, name, words, title=letter, zero=False, legend=False)
    legend_below(figure, a)
    return figure
