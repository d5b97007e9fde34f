"""What the topics' figures share: cells of a table with intervals beside what is printed, and cells as rows with the
verdicts of their claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Floats, finite, frame
from evenflow.stats import mean_interval

from . import verdicts
from .network import LEVEL

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .choices import Options

GREY = "0.45"
Y = {
    "IS": "instability IS (%)",
    "IF": "infidelity IF (%)",
    "V": "convergence time V (s)",
    "CNG": "congestion rate CNG (per 100 s)",
    "fr": "chunks behind off periods, fr",
}
"""Axes of the five measures."""
PUBLISHED = "as printed"
OUTSIDE = "outside what is accepted"


def cells(
    ax: Axes,
    name: str,
    places: Sequence[str],
    series: Mapping[str, Sequence[Floats]],
    printed: Mapping[str, Sequence[float | None]],
    outside: Mapping[str, Sequence[bool]],
    *,
    title: str | None = None,
) -> None:
    """A panel: places on the horizontal axis, a mark with its interval for each series, and what is printed beside.

    Args:
        series: name -> values of shape (seeds,) at each place.
        printed: the same names -> printed values, None where there is none.
        outside: the same names -> whether the value is not accepted (`verdicts.outside`): such marks are hollow.
    """
    count = len(series)
    for number, (label, values) in enumerate(series.items()):
        x = np.arange(len(places)) + 0.24 * (number - (count - 1) / 2)
        found = [mean_interval(each, LEVEL) for each in values]
        means = np.array([i.mean for i in found])
        half = np.array([i.half_width if math.isfinite(i.half_width) else 0.0 for i in found])
        colour = plots.COLOURS[number % len(plots.COLOURS)]
        marker = plots.MARKERS[number % len(plots.MARKERS)]
        ax.errorbar(x, means, yerr=half, color=colour, marker=marker, linestyle="", label=label, capsize=2)
        hollow = np.array([bool(it) for it in outside.get(label, [False] * len(places))])
        if hollow.any():
            ax.plot(
                x[hollow], means[hollow], color=colour, marker=marker, linestyle="", markerfacecolor="white", zorder=3
            )
        printed_here = [math.nan if it is None else it for it in printed.get(label, [None] * len(places))]
        ax.plot(x + 0.09, printed_here, marker="x", markersize=5, color=colour, linestyle="", markeredgewidth=1.3)
    ax.plot([], [], marker="x", markersize=5, color="black", linestyle="", label=PUBLISHED, markeredgewidth=1.3)
    if any(any(marks) for marks in outside.values()):
        ax.plot([], [], marker="o", color="black", linestyle="", label=OUTSIDE, markerfacecolor="white")
    ax.set_xticks(range(len(places)), list(places))
    ax.set_xlim(-0.6, len(places) - 0.4)
    log = name == "CNG"
    if log:
        # from no fall at all to several a second
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(top=1.5 * ax.get_ylim()[1])
    plots.name_axes(ax, "", Y[name], title=title, zero=True, legend=False)
    # marks at zero are whole
    ax.set_ylim(bottom=-0.15 if log else -0.03 * ax.get_ylim()[1])


def legend_below(figure: Figure, ax: Axes, columns: int = 6) -> None:
    """One legend for all panels, under them; each entry once, what is printed and what hollow marks are last."""
    kept: dict[str, Any] = {}
    for each in (ax, *figure.axes):
        for handle, word in zip(*each.get_legend_handles_labels(), strict=True):
            kept.setdefault(word, handle)
    last = (PUBLISHED, OUTSIDE)
    names = sorted(kept, key=lambda word: last.index(word) if word in last else -1)
    figure.legend(
        [kept[name] for name in names], names, loc="outside lower center", ncols=max(1, min(columns, len(names)))
    )


def compared(o: Options, rows: Sequence[tuple[Mapping[str, Any], Floats, float | None]]) -> pl.DataFrame:
    """Cells as rows: labels, the mean here with its interval, what is printed, the difference, and the verdicts.

    `literal` and `wider` are those of the cell by itself (`verdicts.of`); null where no claim judges it.

    Args:
        rows: labels of the cell, values of shape (seeds,), the printed value.
    """
    found = []
    for labels, values, printed in rows:
        i = mean_interval(values, LEVEL)
        literal, wider = verdicts.of(o, labels, values)
        found.append(
            {
                **labels,
                "runs": len(values),
                "mean": finite(i.mean),
                "lo": finite(i.lo),
                "hi": finite(i.hi),
                "median": finite(float(np.median(values))),
                "printed": printed,
                "difference": None if printed is None else finite(i.mean - printed),
                "literal": None if literal is None else str(literal),
                "wider": None if wider is None else str(wider),
            }
        )
    return frame(found)
