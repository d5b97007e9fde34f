"""Table 9, and what a window told brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, finite, frame
from evenflow.stats import mean_interval

from .. import network as net
from ..choices import Options
from ..drawing import legend_below
from ..measures import badness, mean_of, of
from ..published import SCORES
from ..transitions.figures import COMBINED, PLACES

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.lab import Floats
    from evenflow.study import Table

GROUPS = ("1 to 3", "4", "5")


def groups(o: Options, table: Table) -> dict[str, dict[str, Floats]]:
    """How bad the four combinations are in scenarios 1 to 3, 4 and 5."""
    lab = Lab(table)
    found: dict[str, dict[str, Floats]] = {}
    for group in GROUPS:
        cells: dict[str, dict[str, Floats]] = {}
        for control, method in COMBINED:
            spots = [
                spot
                for labels, spot in lab.points()
                if labels["group"] == group and (labels["control"], labels["method"]) == (control, method)
            ]
            cells[f"{control}, {method}"] = {
                name: mean_of(*(spot.of(of(o, name)) for spot in spots)) for name in ("IS", "IF", "V")
            }
        found[group] = badness(cells)
    return found


def rows(o: Options, table: Table) -> pl.DataFrame:
    """Score by scenario and combination, and its place in the paper's table.

    Rows have no verdict of their own: claim c32 compares them with each other.
    """
    found = []
    for group, bad in groups(o, table).items():
        places = [f"{control}, {method}" for control, method in SCORES[group]]
        for name, values in bad.items():
            i = mean_interval(values, net.LEVEL)
            found.append(
                {
                    "scenarios": group,
                    "combination": name,
                    "badness": finite(i.mean),
                    "badness_lo": finite(i.lo),
                    "badness_hi": finite(i.hi),
                    "printed_place": places.index(str(name)) + 1,
                }
            )
    return frame(found)


def table09(o: Options, table: Table) -> Figure:
    """Badness of the four combinations; numbers: their place by Table 9."""
    figure, axes = plots.figure(1, 3, size=(11.4, 3.5))
    for ax, (group, bad) in zip(axes, groups(o, table).items(), strict=True):
        places = [f"{control}, {method}" for control, method in SCORES[group]]
        for x, (name, values) in enumerate(bad.items()):
            i = mean_interval(values, net.LEVEL)
            half = i.half_width if np.isfinite(i.half_width) else 0.0
            ax.errorbar([x], [i.mean], yerr=[half], color=plots.COLOURS[x], marker="o", capsize=2)
            ax.annotate(str(places.index(str(name)) + 1), (x, i.mean), (7, 3), textcoords="offset points", fontsize=8)
        ax.set_xticks(range(len(PLACES)), PLACES)
        ax.set_xlim(-0.6, len(PLACES) - 0.4)
        plots.name_axes(ax, "", "IS, IF, V over their means", title=f"scenarios {group}", legend=False)
    return figure


def law(o: Options, table: Table) -> Figure:
    """Goodput over what the window told brings."""
    from .claims import told

    lab = Lab(table)
    figure, (ax,) = plots.figure(size=(6.4, 3.2))
    for label, of_run, index in (
        ("goodput", lambda run: float(run.json["groups"][net.CLIENT_1]["goodput_bps"]) / 1e6, 0),
        ("window told over round trip", told, 1),
    ):
        found = [mean_interval(lab.at(control=control).of(of_run), net.LEVEL) for control in net.CONTROLS]
        x = np.arange(len(net.CONTROLS)) + 0.12 * (index - 0.5)
        half = [i.half_width if np.isfinite(i.half_width) else 0.0 for i in found]
        ax.errorbar(
            x,
            [i.mean for i in found],
            yerr=half,
            marker=plots.MARKERS[index],
            linestyle="",
            color=plots.COLOURS[index],
            label=label,
            capsize=2,
        )
    ax.set_xticks(range(len(net.CONTROLS)), list(net.CONTROLS))
    plots.name_axes(ax, "", "Mbit/s", legend=False)
    ax.set_ylim(top=1.08 * ax.get_ylim()[1])
    legend_below(figure, ax, 2)
    return figure
