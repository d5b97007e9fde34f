"""Figures 5 to 7 and Table 1, and the ones beyond them, drawn from finished runs; and their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import evenflow as ef
from evenflow import plots
from evenflow.errors import UsageError
from evenflow.lab import Lab, Measure, cells
from evenflow.stats import Interval, mean_interval

from .. import measures
from .. import network as net
from ..network import LEVEL

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.scenario import Scenario
    from evenflow.study import Label, Labels, Run, Table

    from ..choices import Options

Build: TypeAlias = "Callable[[Labels], Scenario]"
"""The scenario of a point, by its labels."""
PURE, CORRECTED = "pure", "corrected"
COLUMNS_OF_THEORY = (PURE, CORRECTED)
HEIGHT = 3.9
"""Inches of one row of panels with a legend below."""
R_PER_ROUND_TRIP = "ratio of willingness to pay per round trip"
R_PER_SECOND = "ratio of willingness to pay per second"
RATIO = "throughput ratio R"


def mbps(group: str, run: Run) -> float | None:
    """Mean throughput of a connection of the group, Mbit/s."""
    value = measures.throughput(group, run)
    return None if value is None else value / 1e6


# --- Theory ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What the fluid theory predicts of a scenario, in one of its columns; None: no prediction.

    Attributes:
        mbps: throughput of one connection, by group.
        price: marking probability, by link.
    """

    mbps: Mapping[str, float | None]
    price: Mapping[str, float | None]

    def ratio(self, above: str, below: str) -> float | None:
        """Throughput of a connection of one group to that of one of another."""
        top, bottom = self.mbps[above], self.mbps[below]
        return top / bottom if top is not None and bottom else None


@lru_cache(maxsize=1024)
def expected(scenario: Scenario) -> Mapping[str, Expected] | None:
    """The prediction by column, or None where a marker's curve is not among those that were measured before.

    Kept, as several figures and tables show the same scenario.
    """
    try:
        found = ef.theory(scenario, measure=False)
    except UsageError:
        return None
    routes, links = (tuple(part.name for part in parts) for parts in (found.fluid.routes, found.fluid.links))

    def megabits(route: str, column: str) -> float | None:
        rate = found.rate_bps(route, column)
        return None if rate is None else rate / 1e6

    return {
        column: Expected(
            {route: megabits(route, column) for route in routes}, {link: found.price(link, column) for link in links}
        )
        for column in COLUMNS_OF_THEORY
    }


THIN: Mapping[str, Literal["-", ":"]] = {PURE: ":", CORRECTED: "-"}
"""Line styles of the two columns."""


def _theory(ax: Axes, table: Table, build: Build, what: Callable[[Expected], float | None], **where: Label) -> None:
    """Thin lines over r: what theory expects, pure and corrected, in the colour of each marker."""
    for index, marker in enumerate(net.MARKERS):
        points = sorted(table.where({"marker": marker, **where}).points(), key=lambda labels: float(labels["r"]))
        for column, dashes in THIN.items():
            found = [expected(build(labels)) for labels in points]
            values = [None if each is None else what(each[column]) for each in found]
            ax.plot(
                [float(labels["r"]) for labels in points],
                [math.nan if value is None else value for value in values],
                dashes,
                color=plots.COLOURS[index],
                linewidth=0.8,
            )


# --- Panels ---------------------------------------------------------------------------------------------------------


def _markers(ax: Axes, table: Table, measure: Measure, **where: Label) -> None:
    """One curve a marker, over r."""
    for index, marker in enumerate(net.MARKERS):
        plots.line_with_band(
            ax, table, measure, "r", {"marker": marker, **where}, label=marker, index=index, level=LEVEL
        )


def _straight(ax: Axes, slope: float, words: str, dashes: str = "-") -> None:
    """R = slope times r."""
    ax.plot([1, 10], [slope, 10 * slope], dashes, color="0.6", linewidth=0.8, zorder=0, label=words)


def _finish(ax: Axes, x: str, y: str, title: str) -> None:
    plots.name_axes(ax, x, y, title=title, legend=False)
    ax.set_xlim(0.6, 10.4)
    ax.set_xticks(range(1, 11))


def _legend(figure: Figure, ax: Axes, *, theory: bool = True) -> None:
    """One legend below panels that share their lines."""
    from matplotlib.lines import Line2D

    handles, words = ax.get_legend_handles_labels()
    if theory:
        handles += [Line2D([], [], color="0.2", linewidth=0.8, linestyle=THIN[column]) for column in COLUMNS_OF_THEORY]
        words += ["theory, pure", "theory, with half a packet and queueing"]
    figure.legend(handles, words, loc="outside lower center", ncols=4, frameon=False, fontsize=8)


def _long(found: Expected) -> float | None:
    return found.ratio("both", "one")


def fig05(o: Options, build: Build, table: Table) -> Figure:
    """R over r, without anybody on the second link alone."""
    figure, axes = plots.figure(1, 2, size=(2 * plots.PANEL, HEIGHT), sharey=True)
    for ax, letter, rtt in zip(axes, "ab", (200, 100), strict=True):
        _markers(ax, table, measures.long_ratio(o), rtt12_ms=rtt)
        _theory(ax, table, build, _long, rtt12_ms=rtt)
        _straight(ax, 1, "R = r")
        _straight(ax, rtt / (rtt + 100), "R = r times the ratio of round trips", "--")
        _finish(ax, R_PER_ROUND_TRIP, RATIO, f"{letter}   {measures.words(rtt12_ms=rtt)}")
    _legend(figure, axes[0])
    return figure


def fig06(o: Options, build: Build, table: Table) -> Figure:
    """R over r with compensated round trips, and the second link's marks."""
    figure, (a, b) = plots.figure(1, 2, size=(2 * plots.PANEL, HEIGHT))
    _markers(a, table, measures.long_ratio(o))
    _theory(a, table, build, _long)
    _straight(a, 1, "R = r")
    _finish(a, R_PER_SECOND, RATIO, "a")
    _markers(b, table, measures.probability_at(net.R23))
    _theory(b, table, build, lambda found: found.price[net.R23])
    _finish(b, R_PER_SECOND, "marking probability at R2–R3", "b")
    _legend(figure, a)
    return figure


def fig07(o: Options, build: Build, table: Table) -> Figure:
    """R over r with connections over either link alone and over both."""
    figure, axes = plots.figure(2, 2, size=(2 * plots.PANEL, 2 * HEIGHT - 0.6))
    for row, (below, words) in enumerate((("one", "R1–R2"), ("two", "R2–R3"))):
        for column, rtt in enumerate((200, 100)):
            ax = axes[2 * row + column]
            _markers(ax, table, measures.throughput_ratio(o, "both", below), rtt12_ms=rtt)
            _theory(ax, table, build, lambda found, below=below: found.ratio("both", below), rtt12_ms=rtt)  # type: ignore[misc]
            letter = "abcd"[2 * row + column]
            _finish(ax, R_PER_ROUND_TRIP, f"R, both links to {words}", f"{letter}   {measures.words(rtt12_ms=rtt)}")
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


def _of_table(found: Expected, name: str) -> float | None:
    return _long(found) if name == "R" else found.price[{"p12": net.R12, "p23": net.R23}[name]]


def tab01_theory(build: Build, cell: Cell) -> dict[str, float | None]:
    """A cell as theory has it, by column."""
    found = expected(build({"marker": net.RED, "r": 1, "rtt12_ms": cell.rtt12_ms}))
    return {column: None if found is None else _of_table(found[column], cell.column) for column in COLUMNS_OF_THEORY}


def tab01_data(o: Options, build: Build, table: Table) -> pl.DataFrame:
    """One row a cell: the paper's value, what is accepted, ours with its interval, theory's two."""
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
                **{f"theory_{column}": value for column, value in tab01_theory(build, cell).items()},
            }
            for cell, i in tab01_rows(o, table)
        ]
    )


TITLES = {"R": "throughput ratio, both links to R1–R2", "p12": "marking probability at R1–R2", "p23": "at R2–R3"}


def tab01(o: Options, build: Build, table: Table) -> Figure:
    """The six cells, each on the scale of its column: the paper's, ours, theory's."""
    figure, axes = plots.figure(1, 3, size=(3 * plots.PANEL, 2.8))
    rows = tab01_rows(o, table)
    for ax, name in zip(axes, COLUMNS, strict=True):
        for place, rtt in enumerate((200, 100)):
            cell, i = next((c, i) for c, i in rows if (c.rtt12_ms, c.column) == (rtt, name))
            height = [-place - 0.3, -place + 0.3]
            ax.fill_betweenx(height, cell.paper - cell.slack, cell.paper + cell.slack, color="0.9", linewidth=0)
            ax.plot([cell.paper] * 2, height, color="0.3", label="paper (grey: accepted)")
            finite = math.isfinite(i.half_width)
            ax.errorbar(
                i.mean, -place, xerr=i.half_width if finite else None, fmt="o", color=plots.COLOURS[0], label="runs"
            )
            told = f"paper {cell.paper:.3f}; runs {i.mean:.5f}" + (f" ± {i.half_width:.5f}" if finite else "")
            theory = tab01_theory(build, cell)
            for shift, column, marker in ((0.18, PURE, "^"), (-0.18, CORRECTED, "v")):
                value = theory[column]
                if value is not None:
                    ax.plot(value, -place + shift, marker, color=plots.COLOURS[1], label=f"theory, {column}")
                    told += f"; {'theory ' if column == PURE else ''}{value:.4f}"
            ax.annotate(told, (0.01, -place - 0.44), xycoords=("axes fraction", "data"), fontsize=6.5, va="center")
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
            priced = table.curve(priced_ratio, "r", {"topology": name, "marker": marker})
            ax.plot(priced.x, priced.x * priced.mean, ":", color=plots.COLOURS[index], linewidth=1.0)
        _straight(ax, 1, "R = r")
        _finish(ax, R_PER_SECOND, RATIO, f"{letter}   {name}")
    _legend(figure, axes[0], theory=False)
    return figure


# --- Theory beside simulation ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A group of a point: the rate of one of its connections, simulated and predicted, Mbit/s."""

    labels: Labels
    group: str
    simulated: Interval
    predicted: Mapping[str, float | None]

    def difference(self, column: str) -> float | None:
        """Predicted over simulated rate, less 1; None without a prediction."""
        value = self.predicted[column]
        return None if value is None or not self.simulated.mean else value / self.simulated.mean - 1

    @property
    def figures(self) -> tuple[str, ...]:
        """The figure it belongs to, and the table."""
        figure = str(self.labels["figure"])
        table = figure == "fig07" and self.labels["marker"] == net.RED and self.labels["r"] == 1
        return (figure, "tab01") if table else (figure,)


def pairs(build: Build, table: Table) -> list[Pair]:
    """Every group of every point."""
    made = []
    for labels, spot in Lab(table).points():
        found = expected(build(labels))
        for group in spot.runs[0].json["groups"]:
            predicted = {c: None if found is None else found[c].mbps[group] for c in COLUMNS_OF_THEORY}
            made.append(Pair(labels, group, mean_interval(spot.of(partial(mbps, group)), LEVEL), predicted))
    return made


def largest(found: Iterable[Pair], column: str) -> float | None:
    """The largest relative difference of rates, whatever its sign; None without any prediction."""
    differences = [abs(d) for d in (pair.difference(column) for pair in found) if d is not None]
    return max(differences, default=None)


def x_theory_data(build: Build, table: Table) -> pl.DataFrame:
    """One row a group and point: both rates and their relative difference, in both columns of theory."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                **{name: pair.labels.get(name) for name in ("figure", "rtt12_ms", "marker", "r")},
                "group": pair.group,
                "runs": pair.simulated.n,
                **cells("simulated_mbps", pair.simulated),
                **{f"{column}_mbps": pair.predicted[column] for column in COLUMNS_OF_THEORY},
                **{f"difference_{column}": pair.difference(column) for column in COLUMNS_OF_THEORY},
            }
            for pair in pairs(build, table)
        ],
        infer_schema_length=None,
    )


FIGURES = {"fig03": "Fig. 3", "fig05": "Fig. 5", "fig06": "Fig. 6", "fig07": "Fig. 7", "tab01": "Table 1"}


def x_theory(build: Build, table: Table) -> Figure:
    """Predicted over simulated rates, and the largest relative difference of each figure and marker."""
    from matplotlib.ticker import FixedLocator, NullLocator

    ticks = (0.1, 0.2, 0.5, 1, 2)
    figure, axes = plots.figure(1, 3, size=(3 * plots.PANEL, HEIGHT + 0.2))
    found = pairs(build, table)
    for ax, letter, column in zip(axes, "ab", COLUMNS_OF_THEORY, strict=False):
        for index, marker in enumerate(net.MARKERS):
            shown = [p for p in found if p.labels["marker"] == marker and p.predicted[column] is not None]
            ax.errorbar(
                [p.simulated.mean for p in shown],
                [p.predicted[column] or math.nan for p in shown],
                xerr=[p.simulated.half_width if math.isfinite(p.simulated.half_width) else 0.0 for p in shown],
                fmt=plots.MARKERS[index],
                color=plots.COLOURS[index],
                markersize=2.5,
                elinewidth=0.7,
                label=marker,
            )
        ends = (0.1, 2.5)
        ax.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.set_minor_locator(NullLocator())
        plots.name_axes(
            ax,
            "simulated rate of a connection (Mbit/s)",
            f"predicted rate, {column} (Mbit/s)",
            title=letter,
            zero=False,
            legend=False,
        )
    _largest(axes[2], found)
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _largest(ax: Axes, found: Sequence[Pair]) -> None:
    """The largest difference by figure and marker: corrected filled, pure hollow."""
    for place, name in enumerate(FIGURES):
        for index, marker in enumerate(net.MARKERS):
            mine = [p for p in found if name in p.figures and p.labels["marker"] == marker]
            for column in COLUMNS_OF_THEORY:
                value = largest(mine, column)
                if value is not None:
                    colour = plots.COLOURS[index]
                    ax.plot(
                        place + 0.2 * (index - 1),
                        100 * value,
                        plots.MARKERS[index],
                        color=colour,
                        markerfacecolor=colour if column == CORRECTED else "white",
                    )
    ax.set_xticks(range(len(FIGURES)), list(FIGURES.values()), fontsize=7)
    plots.name_axes(ax, "filled: corrected, hollow: pure", "largest difference of rates (%)", title="c", legend=False)


# --- Table 1 otherwise ----------------------------------------------------------------------------------------------


def x_table(table: Table) -> Figure:
    """Marking probabilities of Table 1 with one thing done otherwise: a panel a cell, a row a way."""
    lab = Lab(table)
    cells_of_p = [cell for cell in CELLS if cell.column != "R"]
    ways = list(dict.fromkeys(str(labels["how"]) for labels, _ in lab.points()))
    figure, axes = plots.figure(1, len(cells_of_p), size=(10.4, 0.3 * len(ways) + 1.4), sharey=True)
    for ax, cell in zip(axes, cells_of_p, strict=True):
        link = net.R12 if cell.column == "p12" else net.R23
        ax.axvspan(cell.paper - cell.slack, cell.paper + cell.slack, color="0.88", zorder=0)
        ax.axvline(cell.paper, color="0.4", linewidth=0.8, zorder=1)
        for row, how in enumerate(ways):
            i = mean_interval(lab.at(how=how, rtt12_ms=cell.rtt12_ms).of(measures.probability_at(link)), LEVEL)
            half = i.half_width if math.isfinite(i.half_width) else 0.0
            ax.errorbar(i.mean, row, xerr=half, fmt="o", color=plots.COLOURS[0])
        title = f"{cell.column}, {measures.words(rtt12_ms=cell.rtt12_ms)}"
        plots.name_axes(ax, "marking probability", "", title=title, zero=False, legend=False)
    axes[0].set_yticks(range(len(ways)), ways)
    axes[0].invert_yaxis()
    return figure
