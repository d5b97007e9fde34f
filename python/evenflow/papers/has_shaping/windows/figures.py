"""Figures 2 to 9: window and threshold of the run that is nearest to the means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Lab

from .. import network as net
from ..choices import Options
from ..drawing import GREY, legend_below
from ..measures import ONE, adaptive, windows
from . import measures as here

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Run, Table


def _draw(ax: Axes, o: Options, run: Run, title: str) -> None:
    """A run's window and threshold over time; a dotted line where it converges."""
    times, window, threshold = windows(run)
    ax.plot(times, window, color=plots.COLOURS[0], linewidth=0.8, label="congestion window")
    ax.plot(times, threshold, color=plots.COLOURS[1], linewidth=1.2, label="slow-start threshold")
    at = here.converged_s(o, run)
    if at == at:
        ax.axvline(at, color=GREY, linestyle=":", linewidth=2.0, label="converged")
    seen = adaptive(o, ONE, run)
    words = ", ".join(f"{name} {value:g}" for name, value in seen.captions().items()) if seen else "nothing asked for"
    plots.name_axes(ax, "time (s)", "segments", title=f"{title}: {words}", legend=False)
    ax.set_xlim(0, net.DURATION_S)


def one(o: Options, table: Table) -> Figure:
    """A figure of one combination."""
    ((labels, spot),) = Lab(table).points()
    run = here.representative(o, spot)
    figure, (ax,) = plots.figure(size=(7.4, 3.4))
    _draw(ax, o, run, f"{labels['control']}, {labels['method']}, seed {run.seed}")
    legend_below(figure, ax, 3)
    return figure


def fig03(o: Options, table: Table) -> Figure:
    """NewReno with RWTM from two thresholds."""
    lab = Lab(table)
    figure, axes = plots.figure(2, 1, size=(7.4, 5.6))
    for ax, segments, letter in zip(axes, net.MIXED, "ab", strict=True):
        run = here.representative(o, lab.at(threshold=float(segments)))
        _draw(ax, o, run, f"{letter}  threshold {segments}, seed {run.seed}")
    legend_below(figure, axes[0], 3)
    return figure
