"""Figures 5 to 7 and Table 1, and the ones beyond them, drawn from finished runs; and their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow import plots
from evenflow.lab import Lab, Measure
from evenflow.stats import Interval, mean_interval

from . import measures
from . import scenarios as net
from .ledger import LEVEL

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Label, Run, Table

    from .options import Options

HEIGHT = 3.9
"""Inches of one row of panels with a legend below."""
R_PER_ROUND_TRIP = "ratio of willingness to pay per round trip"
R_PER_SECOND = "ratio of willingness to pay per second"
RATIO = "throughput ratio R"


def mbps(group: str, run: Run) -> float | None:
    """Mean throughput of a connection of the group, Mbit/s."""
    value = measures.throughput(group, run)
    return None if value is None else value / 1e6


# --- Tables ---------------------------------------------------------------------------------------------------------


def data(numbers: Mapping[str, Measure]) -> Callable[[Table], pl.DataFrame]:
    """A figure's numbers: one row a point with its labels, its runs, and each measure's mean and 90 % bounds.

    Measures that no point defines are left out.
    """
    return partial(_data, numbers=numbers)


def _data(table: Table, numbers: Mapping[str, Measure]) -> pl.DataFrame:
    import polars as pl

    rows: list[dict[str, Any]] = []
    for labels, spot in Lab(table).points():
        row: dict[str, Any] = {**labels, "runs": len(spot.runs)}
        for name, measure in numbers.items():
            row |= cells(name, mean_interval(spot.of(measure), LEVEL))
        rows.append(row)
    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if any(row[name] is not None for row in rows)
    ]
    return pl.DataFrame({name: [row[name] for row in rows] for name in columns}, strict=False)


def cells(name: str, i: Interval) -> dict[str, float | None]:
    """A mean and its bounds as three columns; null where they are not finite."""
    return {name: _or_none(i.mean), f"{name}_lo": _or_none(i.lo), f"{name}_hi": _or_none(i.hi)}


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- Panels ---------------------------------------------------------------------------------------------------------


def _markers(ax: Axes, table: Table, measure: Measure, **where: Label) -> None:
    """One curve a marker, over r."""
    for index, marker in enumerate(net.MARKERS):
        plots.line_with_band(
            ax, table, measure, "r", {"marker": marker, **where}, label=marker, index=index, level=LEVEL
        )


def _straight(ax: Axes, slope: float, words: str) -> None:
    """R = slope times r: what nothing but willingness to pay and round trips would give."""
    ax.plot([1, 10], [slope, 10 * slope], color="0.6", linewidth=0.8, zorder=0)
    ax.annotate(words, (10, 10 * slope), fontsize=7, color="0.4", ha="right", va="bottom")


def _finish(ax: Axes, x: str, y: str, title: str) -> None:
    plots.name_axes(ax, x, y, title=title, legend=False)
    ax.set_xlim(0.6, 10.4)
    ax.set_xticks(range(1, 11))


def _legend(figure: Figure, ax: Axes, columns: int = 3) -> None:
    """One legend below panels that share their lines."""
    handles, words = ax.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def fig05(o: Options, table: Table) -> Figure:
    """R over r, without anybody on the second link alone."""
    figure, axes = plots.figure(1, 2, size=(2 * plots.PANEL, HEIGHT), sharey=True)
    for ax, letter, rtt in zip(axes, "ab", (200, 100), strict=True):
        _markers(ax, table, measures.long_ratio(o), rtt12_ms=rtt)
        slope = rtt / (rtt + 100)
        _straight(ax, 1, "R = r")
        _straight(ax, slope, f"{slope:.2g} r")
        _finish(ax, R_PER_ROUND_TRIP, RATIO, f"{letter}   {measures.words(rtt12_ms=rtt)}")
    _legend(figure, axes[0])
    return figure


def fig06(o: Options, table: Table) -> Figure:
    """R over r with compensated round trips, and the second link's marks."""
    figure, (a, b) = plots.figure(1, 2, size=(2 * plots.PANEL, HEIGHT))
    _markers(a, table, measures.long_ratio(o))
    _straight(a, 1, "R = r")
    _finish(a, R_PER_SECOND, RATIO, "a")
    _markers(b, table, measures.probability_at(net.R23))
    _finish(b, R_PER_SECOND, "marking probability at R2–R3", "b")
    _legend(figure, a)
    return figure


def fig07(o: Options, table: Table) -> Figure:
    """R over r with connections over either link alone and over both."""
    figure, axes = plots.figure(2, 2, size=(2 * plots.PANEL, 2 * HEIGHT - 0.6))
    for row, (below, words) in enumerate((("one", "R1–R2"), ("two", "R2–R3"))):
        for column, rtt in enumerate((200, 100)):
            ax = axes[2 * row + column]
            _markers(ax, table, measures.throughput_ratio(o, "both", below), rtt12_ms=rtt)
            letter = "ab"[column] if row == 0 else "cd"[column]
            _finish(
                ax, R_PER_ROUND_TRIP, f"{RATIO}, both links to {words}", f"{letter}   {measures.words(rtt12_ms=rtt)}"
            )
    _legend(figure, axes[0])
    return figure


# --- Table 1 --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A cell of Table 1: its row and column, the paper's value, and what is accepted to either side."""

    rtt12_ms: int
    column: str
    paper: float
    slack: float


COLUMNS = ("R", "p12", "p23")
CELLS: Sequence[Cell] = (
    Cell(200, "R", 0.231, 0.012),
    Cell(200, "p12", 0.023, 0.002),
    Cell(200, "p23", 0.042, 0.003),
    Cell(100, "R", 0.251, 0.012),
    Cell(100, "p12", 0.042, 0.003),
    Cell(100, "p23", 0.042, 0.003),
)
"""Table 1, row by row."""


def column(o: Options, name: str) -> Measure:
    """A column of Table 1 as a measure."""
    if name == "R":
        return measures.throughput_ratio(o, "both", "one")
    return measures.probability_at({"p12": net.R12, "p23": net.R23}[name])


def tab01_rows(o: Options, table: Table) -> list[tuple[Cell, Interval]]:
    """Each cell with the mean of our runs and its interval."""
    lab = Lab(table)
    return [(cell, mean_interval(lab.at(rtt12_ms=cell.rtt12_ms).of(column(o, cell.column)), LEVEL)) for cell in CELLS]


def tab01_data(o: Options, table: Table) -> pl.DataFrame:
    """One row a cell: the paper's value, what is accepted, ours with its interval."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                "rtt12_ms": cell.rtt12_ms,
                "quantity": cell.column,
                "paper": cell.paper,
                "accepted_lo": cell.paper - cell.slack,
                "accepted_hi": cell.paper + cell.slack,
                **cells("ours", i),
                "runs": i.n,
            }
            for cell, i in tab01_rows(o, table)
        ]
    )


TITLES = {"R": "throughput ratio, both links to R1–R2", "p12": "marking probability at R1–R2", "p23": "at R2–R3"}


def tab01(o: Options, table: Table) -> Figure:
    """The six cells, each on the scale of its column: the paper's, ours."""
    figure, axes = plots.figure(1, 3, size=(3 * plots.PANEL, 2.6))
    rows = tab01_rows(o, table)
    for ax, name in zip(axes, COLUMNS, strict=True):
        for place, rtt in enumerate((200, 100)):
            cell, i = next((c, i) for c, i in rows if (c.rtt12_ms, c.column) == (rtt, name))
            ax.fill_betweenx(
                [-place - 0.3, -place + 0.3], cell.paper - cell.slack, cell.paper + cell.slack, color="0.9", linewidth=0
            )
            ax.plot([cell.paper] * 2, [-place - 0.3, -place + 0.3], color="0.3", label="paper")
            finite = math.isfinite(i.half_width)
            ax.errorbar(
                i.mean, -place, xerr=i.half_width if finite else None, fmt="o", color=plots.COLOURS[0], label="runs"
            )
            ax.annotate(
                f"paper {cell.paper:.3f}, here {i.mean:.4f}" + (f" ± {i.half_width:.4f}" if finite else ""),
                (0.02, -place - 0.42),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                va="center",
            )
        ax.set_yticks([0, -1], ["200 ms", "100 ms"])
        ax.set_ylim(-1.6, 0.5)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel(TITLES[name])
    axes[0].set_ylabel("RTT of R1–R2")
    handles, words = axes[0].get_legend_handles_labels()
    once = dict(zip(words, handles, strict=True))
    figure.legend(once.values(), once.keys(), loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


# --- Other networks -------------------------------------------------------------------------------------------------


def priced_ratio(run: Run) -> float | None:
    """The ratio that theory gives for equal weights per second: the prices' inverse one (Eq. 1)."""
    own = measures.group_probability("one", run)
    long = measures.group_probability(measures.long_class(run), run)
    return own / long if own is not None and long else None


def x_topology(o: Options, table: Table) -> Figure:
    """R over r in each network, beside r times the ratio of the prices."""
    names = [str(name) for name in table.label_values("topology")]
    figure, axes = plots.figure(2, 2, size=(2 * plots.PANEL, 2 * HEIGHT - 0.6))
    for ax, letter, name in zip(axes, "abcd", names, strict=True):
        _markers(ax, table, measures.long_ratio(o), topology=name)
        for index, marker in enumerate(net.MARKERS):
            expected = table.curve(priced_ratio, "r", {"topology": name, "marker": marker})
            ax.plot(expected.x, expected.x * expected.mean, ":", color=plots.COLOURS[index], linewidth=1.0)
        _straight(ax, 1, "R = r")
        _finish(ax, R_PER_SECOND, RATIO, f"{letter}   {name}")
    _legend(figure, axes[0])
    return figure
