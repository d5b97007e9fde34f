"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Floats
from evenflow.study import Run, Table

from .. import network as net
from ..drawing import comparison, panels
from ..measures import Lab, total_histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig14(table: Table) -> Figure:
    """The fair activity meter beside the normal one."""
    return comparison(table, {net.ABC: "normal meter", net.FAIR: "fair meter"}, (2.5, 5, 7.5), log_ratio=True)


def fig15(table: Table) -> Figure:
    """CSFQ."""
    return comparison(table, {net.CSFQ: "CSFQ"}, (2.5, 7.5, 10), log_ratio=True)


def drop_shares(runs: Sequence[Run]) -> Floats:
    """Share of all drops at each queue length 0 … 24, over all runs."""
    counts = total_histogram(net.AT_DROP, runs)
    total = counts.sum()
    return counts / total if total else counts


def fig16(table: Table) -> Figure:
    """Queue lengths that dropped packets met."""
    figure, axes = panels(3, 3.2)
    lab = Lab(table)
    shown = {net.ABC: "a   ABC", net.CSFQ: "b   CSFQ", net.CSFQ_Q_MIN: "c   CSFQ, no random drop below 12"}
    for index, (ax, (scheme, title)) in enumerate(zip(axes, shown.items(), strict=True)):
        plots.histogram(ax, list(100 * drop_shares(lab.runs(scheme=scheme))), index=index)
        ax.set_xlim(-0.7, 24.7)
        plots.name_axes(ax, "queue length at a drop (packets)", "share of all drops (%)", title=title)
    return figure
