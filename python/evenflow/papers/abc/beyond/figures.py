"""Beyond the figures: the earlier averager, a link of varying rate, queues per user, alternatives to open choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Floats, Measure
from evenflow.study import Table

from .. import network as net
from ..drawing import QUEUE, RATE_0, RATIO, USE, Line, comparison, dots, draw, legend_below, panels
from ..measures import Lab, queue, t1

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def x_average(table: Table) -> Figure:
    """What averaging over all received packets would change: T1 and the heavy user's losses."""
    figure, (a, b) = panels(2, 4.0)
    schemes = [str(value) for value in table.label_values("scheme")]
    for light, dashes in (
        (str(value), dashes) for value, dashes in zip(table.label_values("light"), ("-", "--"), strict=False)
    ):
        lines = [
            Line({"scheme": scheme, "light": light}, f"{scheme}, against {light}", index, dashes)
            for index, scheme in enumerate(schemes)
        ]
        draw(a, table, t1, "r0", lines)
        draw(b, table, queue, "r0", lines)
    plots.name_axes(a, RATE_0, "throughput T1 of user 1 (Mbit/s)", title="a", legend=False)
    plots.name_axes(b, RATE_0, QUEUE, title="b", legend=False)
    legend_below(figure, a, 1)
    return figure


def x_rate(table: Table) -> Figure:
    """TR and utilisation while the bottleneck's rate halves and comes back."""
    figure, (a, b) = plots.figure(1, 2, size=(2.4 * plots.PANEL, 3.2), sharey=True)
    lab = Lab(table)
    spots = [
        (f"{scheme}, {delay:g} ms", lab.at(scheme=scheme, delay_ms=delay))
        for scheme in table.label_values("scheme")
        for delay in lab.grid("delay_ms")
    ]
    dots(a, [(words, spot.ratio) for words, spot in spots], RATIO)
    dots(b, [(words, 100 * spot.utilisation) for words, spot in spots], USE)
    a.axvline(1.0, color="0.5", linewidth=0.8, zorder=0)
    return figure


def x_drr(table: Table) -> Figure:
    """Deficit round robin beside ABC."""
    return comparison(table, {net.ABC: "ABC", net.DRR: "DRR per user"}, (7.5,), log_ratio=False)


def x_sensitivity(table: Table, groups: Mapping[str, tuple[Measure, str]]) -> Figure:
    """Each open choice with its alternatives: the measure that claims depend on, at the points where they do."""
    lab = Lab(table)
    found: dict[str, list[tuple[str, Floats]]] = {}
    for labels in sorted(table.points(), key=lambda point: (str(point["setting"]), str(point["delay_ms"]))):
        what = str(labels["what"])
        spot = lab.at(**labels)
        words = f"{labels['setting']}, {labels['delay_ms']} ms: {labels['how']}"
        found.setdefault(what, []).append((words, spot.of(groups[what][0])))
    heights = [0.9 + 0.2 * len(rows) for rows in found.values()]
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    made = NewFigure(figsize=(7.6, sum(heights)))
    FigureCanvasAgg(made)
    axes = made.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (what, rows) in zip(axes, found.items(), strict=True):
        dots(ax, rows, groups[what][1])
        ax.set_title(what, loc="left")
    return made
