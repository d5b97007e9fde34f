"""Figures 11 to 13: what the memories of meters and averager do: uploads, fairness, one TCP flow alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.stats import mean_interval
from evenflow.study import Curve, Run, Table

from .. import network as net
from ..drawing import DASH, QUEUE, RATIO, USE, Line, draw, fair_line, legend_below, legend_under, panels, percent
from ..measures import Lab, queue, ratio, utilisation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EARLIEST_S = 0.1
"""Where the axis of figure 11 begins, s after the upload's start: about the first round trip at 50 ms."""


def received_curve(runs: Sequence[Run], name: str, start_s: float, until_s: float, points: int = 61) -> Curve:
    """Kilobytes received in order over the time since the start, at points equally far apart on a logarithmic axis.

    The interval is that of the mean's logarithm (its standard error over the mean), so that on a logarithmic axis it is
    as wide above as below and does not reach 0.
    """
    after = np.geomspace(EARLIEST_S, until_s, points)
    rows = []
    for run in runs:
        times, increases = run.series(name)
        total = np.concatenate([[0.0], np.cumsum(np.where(times > start_s, increases, 0.0))])
        rows.append(total[np.searchsorted(times, start_s + after + 1e-9, side="right")] / 1e3)
    found = [mean_interval(column) for column in np.array(rows).T]
    mean = np.array([i.mean if i.mean > 0 else math.nan for i in found])
    factor = np.exp(np.array([i.hi - i.mean for i in found]) / mean)
    return Curve(x=after, mean=mean, lo=mean / factor, hi=mean * factor, n=np.array([i.n for i in found]))


def fig11(table: Table, name: str, start_s: float, until_s: float, schemes: Mapping[str, str]) -> Figure:
    """Bytes of an upload received over time, log-log, at 5 ms (a) and 50 ms (b)."""
    figure, axes = panels(2, 4.4)
    lab = Lab(table)
    for ax, letter, delay in zip(axes, "ab", (5, 50), strict=True):
        for index, (scheme, words) in enumerate(schemes.items()):
            for f1, flows, dashes in ((1, "one flow", "-"), (2, "two flows", "--")):
                curve = received_curve(lab.at(scheme=scheme, f1=f1, delay_ms=delay).runs, name, start_s, until_s)
                plots.band(
                    ax, curve, label=f"{words}, background users with {flows}", index=index, dashes=dashes, marker=""
                )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(EARLIEST_S, until_s)
        ax.set_ylim(1, 3e4)
        plots.name_axes(
            ax,
            "time since the upload's start (s)",
            "received in order (kB)",
            title=f"{letter}   one-way delay {delay} ms",
            zero=False,
            legend=False,
        )
    legend_below(figure, axes[0])
    return figure


def fig12(table: Table) -> Figure:
    """TR, queue, utilisation over the meters' memory and the averager's."""
    figure, axes = panels(3, 4.0)
    lines = [
        Line(
            {"m_aa": m_aa, "delay_ms": delay},
            f"averager memory {m_aa:g} s, one-way delay {delay} ms",
            index,
            DASH[delay],
        )
        for index, m_aa in enumerate(Lab(table).grid("m_aa"))
        for delay in (5, 50)
    ]
    for ax, letter, measure, words in zip(
        axes, "abc", (ratio, queue, percent(utilisation)), (RATIO, QUEUE, USE), strict=True
    ):
        draw(ax, table, measure, "m_am", lines)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        plots.name_axes(ax, "meter memory (s)", words, title=letter, legend=False)
    fair_line(axes[0])
    axes[2].set_ylim(90, 100.4)
    legend_below(figure, axes[0], 3)
    return figure


def fig13(table: Table, rate: str, threshold: str, start_s: float) -> Figure:
    """One flow's rate after its start (a), and the threshold it meets (b)."""
    figure, (a, b) = panels(2, 4.0)
    lab = Lab(table)
    for index, delay in enumerate((5, 25, 50)):
        for scheme, words, dashes in ((net.NO_ABC, "without ABC", "--"), (net.ABC, "with ABC", "-")):
            (run,) = lab.at(scheme=scheme, m_aa=0.3, delay_ms=delay).runs
            times, values = run.series(rate)
            a.plot(
                times - start_s,
                values / 1e6,
                dashes,
                color=plots.COLOURS[index],
                linewidth=1.2,
                label=f"{words}, one-way delay {delay} ms",
            )
    a.axhline(net.BOTTLENECK_MBPS, color="0.5", linewidth=0.8, zorder=0)
    a.set_xlim(0, 30)
    plots.name_axes(
        a, "time since the flow's start (s)", "rate behind the bottleneck (Mbit/s)", title="a", legend=False
    )
    legend_under(a, 2)
    for index, m_aa in enumerate((0.1, 0.3, 1.0)):
        (run,) = lab.at(scheme=net.ABC, m_aa=m_aa, delay_ms=5).runs
        times, values = run.series(threshold)
        shown = (times >= start_s + 0.011) & (times <= start_s + 15)
        b.plot(
            times[shown] - start_s,
            np.clip(values[shown], 12, net.BUFFER_PACKETS),
            color=plots.COLOURS[index],
            linewidth=1.0,
            label=f"averager memory {m_aa:g} s",
        )
    b.set_xlim(0, 15)
    b.set_ylim(11, 24.5)
    plots.name_axes(
        b,
        "time since the flow's start (s)",
        "drop threshold of arriving packets (packets)",
        title="b",
        zero=False,
        legend=False,
    )
    legend_under(b)
    return figure
