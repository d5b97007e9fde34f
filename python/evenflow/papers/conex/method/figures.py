"""Figures 2, 6 and 7, and tables as pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots

from .. import network as net
from ..choices import Options
from ..drawing import GREY
from . import exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table

SHARES = tuple(k / 10 for k in range(11))
DEPTH = net.WINDOW_PACKETS
LEVELS: Mapping[str, Sequence[float]] = {
    net.STRICT: (2.0, 1.0, 0.0, -1.0, -2.0),
    net.MILD: (1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0),
    net.SOFT: (0.0, -9.0, -18.0, -27.0, -36.0, -45.0, -48.0),
}
"""Levels at which policers are stepped; whole tokens from a bucket of 45."""


def fig02_rows() -> list[dict[str, float]]:
    """The function and what was found by hand."""
    return [
        {"average_share": share, "probability": net.red_probability(share), "by_hand": found}
        for share, found in exact.red_points(SHARES)
    ]


def fig02(table: Table) -> Figure:
    """RED's probability over the average queue."""
    figure, (ax,) = plots.figure(size=(5.6, 3.2))
    at = np.linspace(0, 1, 201)
    ax.plot(100 * at, [net.red_probability(share) for share in at], color=plots.COLOURS[0], label="function")
    x, y = zip(*exact.red_points(SHARES), strict=True)
    ax.plot(100 * np.array(x), y, "o", color=plots.COLOURS[1], label="RED, by hand")
    plots.name_axes(ax, "average queue (% of the buffer)", "probability of a mark or drop")
    return figure


def fig06_rows() -> list[dict[str, Any]]:
    """The functions and what was found by hand."""
    return [
        {"harshness": h, "level": level, "probability": net.drop_probability(h, level), "by_hand": found}
        for h, levels in LEVELS.items()
        for level, found in exact.policer_points(h, tuple(levels))
    ]


def fig06(table: Table) -> Figure:
    """Drop functions over the level."""
    figure, (ax,) = plots.figure(size=(6.2, 3.4))
    at = np.linspace(-DEPTH - 5, 5, 1101)
    for index, harshness in enumerate(LEVELS):
        ax.plot(
            at,
            [net.drop_probability(harshness, level) for level in at],
            color=plots.COLOURS[index],
            linestyle=plots.DASHES[index],
            label=harshness,
        )
        x, y = zip(*exact.policer_points(harshness, tuple(LEVELS[harshness])), strict=True)
        ax.plot(x, y, plots.MARKERS[index], color=plots.COLOURS[index], fillstyle="none", label=f"{harshness}, by hand")
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    plots.name_axes(ax, f"level of the bucket (tokens; depth {DEPTH})", "drop probability")
    return figure


def fig07_rows(o: Options) -> list[dict[str, Any]]:
    """The scenario's links and groups."""
    tree = net.bulk(o, net.Setting().policed(net.RATES[0])).tree
    rows: list[dict[str, Any]] = [
        {"what": f"link {name}", "rate": link.get("rate", ""), "delay": link["delay"], "per": link.get("per", "")}
        for name, link in tree["links"].items()
    ]
    rows += [
        {
            "what": f"group {name}",
            "users": group["users"],
            "flows": group["traffic"].get("flows", 1),
            "path": " → ".join(group["path"]),
        }
        for name, group in tree["groups"].items()
    ]
    return rows


def fig07(table: Table) -> Figure:
    """The network, from the scenario of the run."""
    tree = net.bulk(Options(), net.Setting().policed(net.RATES[0])).tree
    links = tree["links"]
    figure, (ax,) = plots.figure(size=(8.4, 3.2))
    ax.set_axis_off()
    ax.set_xlim(0, 10)
    ax.set_ylim(0.4, 4)
    places = {net.HEAVY: 3.1, net.LIGHT: 0.9}
    for name, y in places.items():
        group = tree["groups"][name]
        flows = group["traffic"].get("flows", 1)
        words = f"{group['users']} {name} users\n{flows} flow{'s' if flows > 1 else ''} each"
        _box(ax, 0.9, y, words)
        _box(ax, 9.1, y, words.split("\n")[0])
        _box(ax, 3.1, y, "policers")
        _arrow(ax, (1.5, y), (2.75, y), f"{links['access']['rate']}\n{links['access']['delay']}")
        _arrow(ax, (3.45, y), (4.52, 2.0))
        _arrow(ax, (7.55, 2.0), (8.5, y))
    bottleneck = links[net.LINK]
    _box(ax, 5.0, 2.0, f"{bottleneck['queue']['kind'].upper()}\n{bottleneck['queue']['limit']}")
    _arrow(ax, (5.48, 2.0), (6.85, 2.0), f"{bottleneck['rate']}\n{bottleneck['delay']}")
    _box(ax, 7.2, 2.0, "router")
    return figure


def _box(ax: Axes, x: float, y: float, words: str) -> None:
    style = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": GREY}
    ax.text(x, y, words, ha="center", va="center", fontsize=8, bbox=style)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], words: str = "") -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY})
    if words:
        ax.text((start[0] + end[0]) / 2, start[1] + 0.42, words, ha="center", va="bottom", fontsize=7)


def _head(name: str) -> str:
    """A column's name as it is written above it: abbreviations in capitals."""
    return " ".join(word.upper() if word in ABBREVIATIONS else word for word in name.split("_"))


ABBREVIATIONS = ("ecn", "re", "red")


def as_table(table: Table, rows: Callable[[], Sequence[Mapping[str, Any]]]) -> Figure:
    """Rows as a picture."""
    found = rows()
    heads = list(found[0])
    figure, (ax,) = plots.figure(size=(8.6, 0.4 + 0.26 * len(found)))
    ax.set_axis_off()
    cells = [[f" {row[head]} " for head in heads] for row in found]
    made = ax.table(cellText=cells, colLabels=[f" {_head(head)} " for head in heads], loc="center", cellLoc="left")
    made.auto_set_font_size(False)
    made.set_fontsize(7.5)
    made.auto_set_column_width(list(range(len(heads))))
    made.scale(1, 1.25)
    return figure
