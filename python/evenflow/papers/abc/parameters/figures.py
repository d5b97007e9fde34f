"""Figures 8 to 10: reference rates, and the parameters of the activity AQM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.study import Table

from .. import network as net
from ..drawing import DASH, QUEUE, RATIO, USE, Line, draw, fair_line, legend_below, panels, percent
from ..measures import Lab, queue, ratio, tail_share, utilisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fig08(table: Table) -> Figure:
    """TR over the factor between the reference rates."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    draw(
        ax,
        table,
        ratio,
        "s",
        [
            Line({"flows": flows, "delay_ms": delay}, f"{words} each, one-way delay {delay} ms", index, DASH[delay])
            for index, (flows, words) in enumerate(((1, "one flow"), (2, "two flows")))
            for delay in (5, 50)
        ],
    )
    ax.plot([1, 16], [1, 16], color="0.5", linewidth=0.8, zorder=0, label="TR = s")
    plots.name_axes(ax, "factor s between the reference rates", RATIO)
    return figure


def _gamma_axis(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def fig09(table: Table) -> Figure:
    """TR, queue, utilisation over gamma and Q_min."""
    figure, axes = panels(3, 4.0)
    q_mins = Lab(table).grid("q_min")
    lines = [
        Line(
            {"scheme": net.ABC, "q_min": q_min, "delay_ms": delay},
            f"Q_min {q_min:g} packets, one-way delay {delay} ms",
            index,
            DASH[delay],
        )
        for index, q_min in enumerate(q_mins)
        for delay in (5, 50)
    ]
    for ax, letter, measure, words in zip(
        axes, "abc", (ratio, queue, percent(utilisation)), (RATIO, QUEUE, USE), strict=True
    ):
        draw(ax, table, measure, "gamma", lines)
        _gamma_axis(ax)
        plots.name_axes(ax, "differentiation factor γ (packets)", words, title=letter, legend=False)
    fair_line(axes[0])
    axes[2].set_ylim(90, 100.4)
    legend_below(figure, axes[0], 4)
    return figure


def fig10(table: Table) -> Figure:
    """TR, queue, share of tail drops over Q_base and gamma."""
    figure, axes = panels(3, 4.0)
    lines = [
        Line({"gamma": gamma, "delay_ms": delay}, f"γ = {gamma:g}, one-way delay {delay} ms", index, DASH[delay])
        for index, gamma in enumerate(Lab(table).grid("gamma"))
        for delay in (5, 50)
    ]
    measures = ((ratio, RATIO), (queue, QUEUE), (percent(tail_share), "tail drops (% of all drops)"))
    for ax, letter, (measure, words) in zip(axes, "abc", measures, strict=True):
        draw(ax, table, measure, "q_base", lines)
        plots.name_axes(ax, "threshold Q_base (packets)", words, title=letter, legend=False)
    fair_line(axes[0])
    legend_below(figure, axes[0], 4)
    return figure
