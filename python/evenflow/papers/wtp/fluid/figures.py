"""Figure of the theory of sections 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, Measure
from evenflow.stats import mean_interval
from evenflow.theory.stability import averaged_border

from .. import network as net
from ..measures import throughput
from ..network import LEVEL
from . import equations as fluid

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.study import Label, Run, Table

    from ..choices import Options

SHOWN_DELAYS = 15
"""Length of panel a in delays T."""
THINNING = 10
"""Every tenth grid point is drawn."""


def _ratio(o: Options, expected: float, run: Run) -> float | None:
    value = throughput("alone", run)
    return None if value is None else value / (8 * o.packet) / expected


def over_fluid(o: Options, labels: Mapping[str, Label]) -> Measure:
    """Rate of the only connection over the equation's, which starts as the connection does.

    Slow start ends with the first mark, at a window of about 1/p.
    """
    p, up, down = (float(labels[name]) for name in ("p", "increase", "decrease"))
    begin = 1.0 if o.start == "none" else 1 / p
    return partial(_ratio, o, fluid.window_rate(p, up, down, begin, net.WARMUP_S, net.DURATION_S))


def _weights(labels: Mapping[str, Label]) -> str:
    return f"$w_{{inc}}$ = {labels['increase']:g}, $w_{{dec}}$ = {labels['decrease']:g}"


def ode(o: Options, table: Table) -> Figure:
    """Disturbances under delay (a), packets beside the equation (b), critical gains (c)."""
    figure, (a, b, c) = plots.figure(1, 3, size=(plots.PANEL * 3, 3.8))
    for index, product in enumerate(fluid.DRAWN):
        loop = fluid.linear(product)
        keep = slice(0, SHOWN_DELAYS * fluid.STEPS + 1, THINNING)
        a.plot(
            loop.path.times[keep] / fluid.RTT_S,
            loop.u[keep],
            color=plots.COLOURS[index],
            linestyle=plots.DASHES[index % len(plots.DASHES)],
            linewidth=1.2,
            label=f"aT = {product:g}",
        )
    a.set_ylim(-1.9, 1.4)
    a.legend(loc="lower center", ncols=3, fontsize=7)
    plots.name_axes(a, "time (delays T)", "disturbance u / u(0)", title="a", zero=False, legend=False)

    points = Lab(table).points()
    kinds = list(dict.fromkeys(_weights(labels) for labels, _ in points))
    probabilities = sorted({float(labels["p"]) for labels, _ in points})
    b.axhspan(-3, 3, color="0.93", zorder=0)
    b.axhline(0, color="0.5", linewidth=0.8)
    for labels, spot in points:
        kind = kinds.index(_weights(labels))
        interval = mean_interval(100 * (spot.of(over_fluid(o, labels)) - 1), LEVEL)
        half = interval.half_width if math.isfinite(interval.half_width) else 0.0
        b.errorbar(
            probabilities.index(float(labels["p"])) + 0.15 * (kind - 1.5),
            interval.mean,
            yerr=half,
            fmt=plots.MARKERS[kind],
            color=plots.COLOURS[kind],
            capsize=2,
            label=kinds[kind] if float(labels["p"]) == probabilities[0] else None,
        )
    b.set_xticks(range(len(probabilities)), [f"{p:g}" for p in probabilities])
    b.set_ylim(-5, 5)
    b.legend(fontsize=7)
    plots.name_axes(b, "marking probability p", "packets over equation (%)", title="b", zero=False, legend=False)

    for index, (words, steadily, bound) in enumerate(
        (("oscillates from here", True, 1 / math.e), ("grows from here", False, math.pi / 2))
    ):
        gains = [fluid.critical_gain(fluid.capacity(o), decrease, steadily) for decrease in fluid.DECREASES]
        theory = [bound / fluid.product_of(1.0, decrease) for decrease in fluid.DECREASES]
        c.plot(fluid.DECREASES, theory, color=plots.COLOURS[index], linestyle=plots.DASHES[index])
        c.plot(
            fluid.DECREASES,
            gains,
            color=plots.COLOURS[index],
            linestyle="none",
            marker=plots.MARKERS[index],
            label=words,
        )
    c.set_xscale("log", base=2)
    c.set_yscale("log", base=2)
    c.set_xticks(fluid.DECREASES, [f"{d:g}" for d in fluid.DECREASES])
    ticks = (0.5, 1, 2, 4, 8, 16)
    c.set_yticks(ticks, [f"{t:g}" for t in ticks])
    plots.name_axes(c, "$w_{dec}$", "critical gain per round trip", title="c", zero=False)
    return figure


def load_sd(run: Run) -> float:
    """Standard deviation of the marker's load over the intervals after the warm-up."""
    times, loads = run.series("links.bottleneck.queue.load")
    # the value at the very end of the warm-up is of an interval before it
    return float(loads[times > net.WARMUP_S].std())


SETTINGS = {"α = 0.71": (0.6, 0.71), "α = 2": (0.7, 2.0)}
"""Load-based marking of Figs. 3 to 8 and of Fig. 9: (ρ0, α)."""
INTERVAL_S = 0.5
"""t_avg of both."""


def settle(table: Table) -> Figure:
    """How much the load varies, over how much feedback there is."""
    figure, (ax,) = plots.figure()
    for index, (words, (target, slope)) in enumerate(SETTINGS.items()):
        where = {"marker": words}
        plots.line_with_band(ax, table, load_sd, "value", where, label=words, index=index, level=LEVEL)
        border = averaged_border(slope * (fluid.LOAD - target), slope * fluid.LOAD, fluid.RTT_S, INTERVAL_S)
        ax.axvline(border, color=plots.COLOURS[index], linestyle="--", linewidth=1.0, zorder=0)
    ax.axvline(math.pi / 2, color="0.4", linestyle=":", linewidth=1.0, zorder=0)
    plots.name_axes(ax, "a (T + $t_{avg}$)", "standard deviation of the load")
    return figure


def settle_data(table: Table) -> pl.DataFrame:
    """The figure's numbers, one row a mark."""
    import polars as pl

    rows = []
    for words in SETTINGS:
        curve = table.curve(load_sd, "value", {"marker": words}, level=LEVEL)
        for x, mean, lo, hi in zip(curve.x, curve.mean, curve.lo, curve.hi, strict=True):
            rows.append({"marker": words, "value": float(x), "sd": float(mean), "lo": float(lo), "hi": float(hi)})
    return pl.DataFrame(rows, infer_schema_length=None)


def ode_data(o: Options, table: Table) -> pl.DataFrame:
    """The figure's numbers, one row a mark: panel, series, x, y and, where sampled, interval and runs."""
    import polars as pl

    rows = []

    def add(panel: str, series: str, x: float, y: float, lo: float | None = None, hi: float | None = None) -> None:
        rows.append({"panel": panel, "series": series, "x": x, "y": y, "lo": lo, "hi": hi})

    for product in fluid.DRAWN:
        loop = fluid.linear(product)
        for n in range(0, SHOWN_DELAYS * fluid.STEPS + 1, THINNING):
            add("a", f"aT = {product:g}", float(loop.path.times[n] / fluid.RTT_S), float(loop.u[n]))
    for labels, spot in Lab(table).points():
        found = mean_interval(spot.of(over_fluid(o, labels)), LEVEL)
        series = f"w_inc = {labels['increase']:g}, w_dec = {labels['decrease']:g}"
        edges = (found.lo, found.hi) if np.isfinite([found.lo, found.hi]).all() else (None, None)
        add("b", series, float(labels["p"]), found.mean, *edges)
    for words, steadily in (("oscillates", True), ("grows", False)):
        for decrease in fluid.DECREASES:
            add("c", words, decrease, fluid.critical_gain(fluid.capacity(o), decrease, steadily))
    return pl.DataFrame(rows, infer_schema_length=None)
