"""The overlay: what was predicted beside what was simulated, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..show.plots import COLOURS, figure, name_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..stats import Interval
    from .dynamics import Trajectory
    from .prediction import Prediction

HIGH = 0.26
"""Height of a bar; three stand on each other."""


def overlay(prediction: Prediction) -> Figure:
    """Rates of one connection of each route, and price and load of each link that marks, in both columns and simulated.

    What has no prediction has no bar and says so.
    """
    routes = [r.name for r in prediction.fluid.routes]
    links = [k.name for k in prediction.fluid.links if k.marker is not None]
    rows = max(len(routes), len(links), 2)
    made, (rates, prices, loads) = figure(1, 3, size=(10.8, 1.4 + 0.55 * rows))

    def scaled(found: dict[str, Interval] | None, name: str, by: float) -> tuple[float, float, float] | None:
        if found is None or not math.isfinite(found[name].mean):
            return None
        i = found[name]
        return i.mean * by, i.lo * by, i.hi * by

    bits = 1e-6
    with style():
        _bars(
            rates,
            routes,
            lambda name, column: _times(prediction.rate_bps(name, column), bits),
            lambda name: scaled(prediction.simulated_route(name), "rate_bps", bits),
        )
        _bars(prices, links, prediction.price, lambda name: scaled(prediction.simulated_link(name), "price", 1.0))
        _bars(
            loads,
            links,
            prediction.utilisation,
            lambda name: scaled(prediction.simulated_link(name), "utilisation", 1.0),
        )
        made.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=3)
        name_axes(rates, "rate of one connection (Mbit/s)", "", zero=False, legend=False)
        name_axes(prices, "marking probability", "", zero=False, legend=False)
        name_axes(loads, "utilisation", "", zero=False, legend=False)
    return made


def _times(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def _bars(
    ax: Axes,
    names: Sequence[str],
    predicted: Callable[[str, str], float | None],
    simulated: Callable[[str], tuple[float, float, float] | None],
) -> None:
    """Horizontal bars: pure, corrected, simulated with its interval."""
    most = 0.0
    for place, name in enumerate(names):
        values = [predicted(name, "pure"), predicted(name, "corrected")]
        measured = simulated(name)
        for index, value in enumerate([*values, None if measured is None else measured[0]]):
            at = place + (index - 1) * HIGH
            if value is None:
                if index < 2:
                    ax.text(0, at, " no prediction", va="center", fontsize=7, color="#555555")
                continue
            label = ("pure", "corrected", "simulated")[index] if place == 0 else None
            shade = (COLOURS[4], COLOURS[0], COLOURS[1])[index]
            ax.barh(at, value, height=HIGH * 0.9, color=shade, label=label)
            most = max(most, value)
        if measured is not None:
            mean, lo, hi = measured
            if math.isfinite(lo) and math.isfinite(hi):
                away = [[max(mean - lo, 0.0)], [max(hi - mean, 0.0)]]
                ax.errorbar(mean, place + HIGH, xerr=away, fmt="none", ecolor="#000000", elinewidth=1, capsize=2.5)
                most = max(most, hi)
    ax.set_yticks(range(len(names)), list(names))
    ax.invert_yaxis()
    ax.set_xlim(0, most * 1.08 if most else 1)
    ax.grid(visible=False, axis="y")


def paths(prediction: Prediction, followed: Trajectory, column: str = "pure") -> Figure:
    """A trajectory: rate of one connection of each route over time, and where it should end."""
    made, (ax,) = figure()
    routes, _ = prediction.moving(column)
    with style():
        for index, name in enumerate(routes):
            route = prediction.fluid.route(name)
            scale = 8e-6 * route.packet_bytes / route.flows
            colour = COLOURS[index % len(COLOURS)]
            ax.plot(followed.times, followed.rates[:, index] * scale, color=colour, label=name, linewidth=1.2)
            rest = prediction.rate_bps(name, column)
            if rest is not None:
                ax.axhline(rest * 1e-6, color=colour, linestyle=":", linewidth=0.9)
        name_axes(ax, "time (s)", "rate of one connection (Mbit/s)")
    return made


def csv(prediction: Prediction, followed: Trajectory, column: str = "pure") -> str:
    """A trajectory as CSV: `time_s`, rate of one connection of each route in packets/s, price of each link."""
    routes, links = prediction.moving(column)
    counts = [prediction.fluid.route(name).flows for name in routes]
    head = ["time_s", *(f"{name} (packets/s)" for name in routes), *(f"{name} (price)" for name in links)]
    lines = [",".join(_quoted(name) for name in head)]
    for time, rates, prices in zip(followed.times, followed.rates, followed.prices, strict=True):
        row = [time, *(rate / count for rate, count in zip(rates, counts, strict=True)), *prices]
        lines.append(",".join(f"{value:.9g}" for value in row))
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return f'"{name}"' if any(c in name for c in ',"\n') else name
