"""Figures 3 to 16 and the ones beyond them, drawn from finished runs; and their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Floats, Measure
from evenflow.stats import mean_interval, ratio_of_means
from evenflow.study import Curve, Label, Run, Table

from . import scenarios as net
from .measures import Lab, delay_be, delay_ef, queue, ratio, t0, t1, tail_share, total_histogram, utilisation

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASH = {5: "-", 25: "-.", 50: "--"}
"""One line style a one-way delay, in all figures."""
LONG_HANDLE = 3.6
"""Legend samples long enough to show a line's dashes beside its marker."""
RATE_0 = "transmission rate R0 of user 0 (Mbit/s)"
FLOWS_0 = "TCP flows f0 of the heavy user"
RATIO = "throughput ratio TR"
QUEUE = "mean queue (packets)"
USE = "utilisation (%)"
T0 = "throughput T0 of user 0 (Mbit/s)"


@dataclass(frozen=True)
class Line:
    """One curve: the labels that single it out, its words, its colour number and its line style."""

    where: Mapping[str, Label]
    words: str
    colour: int
    dashes: str = "-"


def percent(measure: Measure) -> Measure:
    """A share as percent."""

    def scaled(run: Run) -> float | None:
        value = measure(run)
        return None if value is None else 100 * value

    return scaled


def _draw(ax: Axes, table: Table, measure: Measure, x: str, lines: Sequence[Line]) -> None:
    for line in lines:
        plots.line_with_band(ax, table, measure, x, line.where, label=line.words, index=line.colour, dashes=line.dashes)


def _draw_ratio_of_means(ax: Axes, table: Table, x: str, lines: Sequence[Line]) -> None:
    """TR as mean T0 over mean T1 with Fieller's band, on a logarithmic axis: a run's T1 may be zero."""
    for line in lines:
        curve = ratio_of_means_curve(table, x, line.where)
        plots.band(ax, curve, label=line.words, index=line.colour, dashes=line.dashes)
    ax.set_yscale("log")


def ratio_of_means_curve(table: Table, x: str, where: Mapping[str, Label]) -> Curve:
    """Mean T0 over mean T1 along a label; points at which nobody but the heavy user got anything are left out."""
    lab = Lab(table.where(where))
    grid = lab.grid(x)
    found = [lab.at(**{x: value}).ratio_of_means() for value in grid]
    return Curve(
        x=np.array(grid),
        mean=np.array([i.mean if math.isfinite(i.mean) else math.nan for i in found]),
        lo=np.array([max(i.lo, 1e-3) for i in found]),
        hi=np.array([i.hi for i in found]),
        n=np.array([i.n for i in found]),
    )


def _legend_below(figure: Figure, ax: Axes, columns: int = 2) -> None:
    """One legend for panels that share their lines."""
    handles, words = ax.get_legend_handles_labels()
    figure.legend(
        handles, words, loc="outside lower center", ncols=columns, frameon=False, fontsize=8, handlelength=LONG_HANDLE
    )


def _legend_under(ax: Axes, columns: int = 1) -> None:
    """A legend under a panel whose lines are its own."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7, ncols=columns, handlelength=LONG_HANDLE)


def _whole_numbers(ax: Axes) -> None:
    """Ticks at whole numbers only, for numbers of flows."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))


def _panels(count: int, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    return plots.figure(1, count, size=(plots.PANEL * count, height))


def _fair_line(ax: Axes) -> None:
    """The ratio everyone wants."""
    ax.axhline(1.0, color="0.5", linewidth=0.8, zorder=0)


def _scheme_and_delay(schemes: Mapping[str, str], delays: Sequence[int] = (5, 50), **also: Label) -> list[Line]:
    """Colour by scheme, dashes by delay; the words say both."""
    return [
        Line({"scheme": scheme, "delay_ms": delay, **also}, f"{words}, one-way delay {delay} ms", index, DASH[delay])
        for index, (scheme, words) in enumerate(schemes.items())
        for delay in delays
    ]


PLAIN = {net.NO_ABC: "without ABC", net.ABC: "with ABC"}
PRIORITY = {net.EF1: "EF bytes counted once", net.EF3: "EF bytes counted three times"}


def fig03(table: Table) -> Figure:
    """T0 over R0: without priority (a), with (b); waits by class (c)."""
    figure, (a, b, c) = _panels(3, 4.2)
    r1s = (2.5, 7.5, 10)
    _draw(
        a,
        table,
        t0,
        "r0",
        [
            Line({"scheme": scheme, "r1": r1}, f"{words}, user 1 sends {r1:g} Mbit/s", index, dashes)
            for index, r1 in enumerate(r1s)
            for scheme, words, dashes in ((net.NO_ABC, "without ABC", "--"), (net.ABC, "with ABC", "-"))
        ],
    )
    plots.name_axes(a, RATE_0, T0, title="a", legend=False)
    prioritised = {
        net.ABC: "best effort",
        net.EF1: "as EF, bytes counted once",
        net.EF3: "as EF, bytes counted three times",
    }
    _draw(
        b,
        table,
        t0,
        "r0",
        [Line({"scheme": s, "r1": 7.5}, words, i) for i, (s, words) in enumerate(prioritised.items())],
    )
    plots.name_axes(b, RATE_0, T0, title="b", legend=False)
    for index, (scheme, words) in enumerate(PRIORITY.items(), 1):
        for measure, who, dashes in ((delay_be, "best-effort user 1", "-"), (delay_ef, "EF user 0", "--")):
            _draw(c, table, measure, "r0", [Line({"scheme": scheme, "r1": 7.5}, f"{who}, {words}", index, dashes)])
    c.axhline(net.DRAIN_TIME_MS, color="0.5", linewidth=0.8, zorder=0)
    c.annotate("a full buffer", (20, net.DRAIN_TIME_MS), ha="right", va="bottom", fontsize=7, color="0.4")
    plots.name_axes(c, RATE_0, "mean queueing delay (ms)", title="c", legend=False)
    for ax in (a, b, c):
        _legend_under(ax)
    return figure


def _three_measures(
    table: Table, x: str, title: str, lines: Sequence[Line], measures: Sequence[tuple[Measure, str]], columns: int = 2
) -> Figure:
    figure, axes = _panels(3)
    for ax, letter, (measure, words) in zip(axes, "abc", measures, strict=True):
        _draw(ax, table, measure, x, lines)
        plots.name_axes(ax, title, words, title=letter, legend=False)
    _legend_below(figure, axes[0], columns)
    return figure


def fig04(table: Table) -> Figure:
    """TR, queue, utilisation over f0."""
    measures = ((ratio, RATIO), (queue, QUEUE), (percent(utilisation), USE))
    figure = _three_measures(table, "f0", FLOWS_0, _scheme_and_delay(PLAIN), measures)
    _fair_line(figure.axes[0])
    figure.axes[0].set_ylim(0.7, 40)
    figure.axes[0].set_yscale("log")
    figure.axes[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    figure.axes[2].set_ylim(80, 100.5)
    for ax in figure.axes:
        _whole_numbers(ax)
    return figure


def fig05(table: Table) -> Figure:
    """TR, wait of best effort, utilisation over f0, the heavy user as EF."""
    measures = ((ratio, RATIO), (delay_be, "mean queueing delay of best effort (ms)"), (percent(utilisation), USE))
    figure = _three_measures(table, "f0", FLOWS_0, _scheme_and_delay(PRIORITY), measures)
    _fair_line(figure.axes[0])
    figure.axes[2].set_ylim(80, 100.5)
    for ax in figure.axes:
        _whole_numbers(ax)
    return figure


def fig05n(table: Table) -> Figure:
    """TR over f0 without ABC, the heavy user as EF under two schedulers."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    schemes = {net.NO_ABC_STRICT: "strict priority", net.NO_ABC_MEDF: "MEDF"}
    _draw_ratio_of_means(ax, table, "f0", _scheme_and_delay(schemes))
    plots.name_axes(ax, FLOWS_0, f"{RATIO} (ratio of means)", zero=False)
    return figure


def fig06(table: Table) -> Figure:
    """TR, queue, utilisation over R0 against one TCP flow."""
    figure, axes = _panels(3)
    lines = _scheme_and_delay(PLAIN)
    _draw_ratio_of_means(axes[0], table, "r0", lines)
    _fair_line(axes[0])
    plots.name_axes(axes[0], RATE_0, f"{RATIO} (ratio of means)", title="a", zero=False, legend=False)
    axes[0].set_ylim(0.02, 1e5)
    for ax, letter, measure, words in ((axes[1], "b", queue, QUEUE), (axes[2], "c", percent(utilisation), USE)):
        _draw(ax, table, measure, "r0", lines)
        plots.name_axes(ax, RATE_0, words, title=letter, legend=False)
    axes[2].set_ylim(50, 101)
    _legend_below(figure, axes[1])
    return figure


def fig07(table: Table) -> Figure:
    """TR, wait of best effort, utilisation over R0, the UDP user as EF."""
    measures = ((ratio, RATIO), (delay_be, "mean queueing delay of best effort (ms)"), (percent(utilisation), USE))
    figure = _three_measures(table, "r0", RATE_0, _scheme_and_delay(PRIORITY), measures)
    _fair_line(figure.axes[0])
    figure.axes[2].set_ylim(50, 101)
    return figure


def fig07n(table: Table) -> Figure:
    """Priority without ABC, and ABC under strict priority: TR and what is left to the TCP user."""
    figure, (a, b) = _panels(2, 4.0)
    schemes = {
        net.NO_ABC_MEDF: "without ABC, MEDF",
        net.NO_ABC_STRICT: "without ABC, strict priority",
        net.EF3_STRICT: "with ABC, strict priority",
    }
    lines = _scheme_and_delay(schemes)
    _draw_ratio_of_means(a, table, "r0", lines)
    plots.name_axes(a, RATE_0, f"{RATIO} (ratio of means)", title="a", zero=False, legend=False)
    _draw(b, table, t1, "r0", lines)
    plots.name_axes(b, RATE_0, "throughput T1 of the TCP user (Mbit/s)", title="b", legend=False)
    _legend_below(figure, b)
    return figure


def fig08(table: Table) -> Figure:
    """TR over the factor between the reference rates."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    _draw(
        ax,
        table,
        ratio,
        "s",
        [
            Line({"flows": flows, "delay_ms": delay}, f"{words} each, one-way delay {delay} ms", index, DASH[delay])
            for index, (flows, words) in enumerate(((1, "one flow"), (2, "two flows")))
            for delay in (5, 50)
        ],
    )
    ax.plot([1, 16], [1, 16], color="0.5", linewidth=0.8, zorder=0, label="TR = s")
    plots.name_axes(ax, "factor s between the reference rates", RATIO)
    return figure


def _gamma_axis(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def fig09(table: Table) -> Figure:
    """TR, queue, utilisation over gamma and Q_min."""
    figure, axes = _panels(3, 4.0)
    q_mins = Lab(table).grid("q_min")
    lines = [
        Line(
            {"scheme": net.ABC, "q_min": q_min, "delay_ms": delay},
            f"Q_min {q_min:g} packets, one-way delay {delay} ms",
            index,
            DASH[delay],
        )
        for index, q_min in enumerate(q_mins)
        for delay in (5, 50)
    ]
    for ax, letter, measure, words in zip(
        axes, "abc", (ratio, queue, percent(utilisation)), (RATIO, QUEUE, USE), strict=True
    ):
        _draw(ax, table, measure, "gamma", lines)
        _gamma_axis(ax)
        plots.name_axes(ax, "differentiation factor γ (packets)", words, title=letter, legend=False)
    _fair_line(axes[0])
    axes[2].set_ylim(90, 100.4)
    _legend_below(figure, axes[0], 4)
    return figure


def fig10(table: Table) -> Figure:
    """TR, queue, share of tail drops over Q_base and gamma."""
    figure, axes = _panels(3, 4.0)
    lines = [
        Line({"gamma": gamma, "delay_ms": delay}, f"γ = {gamma:g}, one-way delay {delay} ms", index, DASH[delay])
        for index, gamma in enumerate(Lab(table).grid("gamma"))
        for delay in (5, 50)
    ]
    measures = ((ratio, RATIO), (queue, QUEUE), (percent(tail_share), "tail drops (% of all drops)"))
    for ax, letter, (measure, words) in zip(axes, "abc", measures, strict=True):
        _draw(ax, table, measure, "q_base", lines)
        plots.name_axes(ax, "threshold Q_base (packets)", words, title=letter, legend=False)
    _fair_line(axes[0])
    _legend_below(figure, axes[0], 4)
    return figure


def received_curve(runs: Sequence[Run], name: str, start_s: float, until_s: float, points: int = 61) -> Curve:
    """Kilobytes received in order over the time since the start, at points equally far apart on a logarithmic axis."""
    after = np.geomspace(0.1, until_s, points)
    rows = []
    for run in runs:
        times, increases = run.series(name)
        total = np.concatenate([[0.0], np.cumsum(np.where(times > start_s, increases, 0.0))])
        rows.append(total[np.searchsorted(times, start_s + after + 1e-9, side="right")] / 1e3)
    found = [mean_interval(column) for column in np.array(rows).T]
    return Curve(
        x=after,
        mean=np.array([i.mean if i.mean > 0 else math.nan for i in found]),
        lo=np.array([max(i.lo, 0.1) if i.mean > 0 else math.nan for i in found]),
        hi=np.array([i.hi for i in found]),
        n=np.array([i.n for i in found]),
    )


def fig11(table: Table, name: str, start_s: float, until_s: float, schemes: Mapping[str, str]) -> Figure:
    """Bytes of an upload received over time, log-log, at 5 ms (a) and 50 ms (b)."""
    figure, axes = _panels(2, 4.4)
    lab = Lab(table)
    for ax, letter, delay in zip(axes, "ab", (5, 50), strict=True):
        for index, (scheme, words) in enumerate(schemes.items()):
            for f1, flows, dashes in ((1, "one flow", "-"), (2, "two flows", "--")):
                curve = received_curve(lab.at(scheme=scheme, f1=f1, delay_ms=delay).runs, name, start_s, until_s)
                plots.band(
                    ax, curve, label=f"{words}, background users with {flows}", index=index, dashes=dashes, marker=""
                )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(1, 3e4)
        plots.name_axes(
            ax,
            "time since the upload's start (s)",
            "received in order (kB)",
            title=f"{letter}   one-way delay {delay} ms",
            zero=False,
            legend=False,
        )
    _legend_below(figure, axes[0])
    return figure


def fig12(table: Table) -> Figure:
    """TR, queue, utilisation over the meters' memory and the averager's."""
    figure, axes = _panels(3, 4.0)
    lines = [
        Line(
            {"m_aa": m_aa, "delay_ms": delay},
            f"averager memory {m_aa:g} s, one-way delay {delay} ms",
            index,
            DASH[delay],
        )
        for index, m_aa in enumerate(Lab(table).grid("m_aa"))
        for delay in (5, 50)
    ]
    for ax, letter, measure, words in zip(
        axes, "abc", (ratio, queue, percent(utilisation)), (RATIO, QUEUE, USE), strict=True
    ):
        _draw(ax, table, measure, "m_am", lines)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        plots.name_axes(ax, "meter memory (s)", words, title=letter, legend=False)
    _fair_line(axes[0])
    axes[2].set_ylim(90, 100.4)
    _legend_below(figure, axes[0], 3)
    return figure


def fig13(table: Table, rate: str, threshold: str, start_s: float) -> Figure:
    """One flow's rate after its start (a), and the threshold it meets (b)."""
    figure, (a, b) = _panels(2, 4.0)
    lab = Lab(table)
    for index, delay in enumerate((5, 25, 50)):
        for scheme, words, dashes in ((net.NO_ABC, "without ABC", "--"), (net.ABC, "with ABC", "-")):
            (run,) = lab.at(scheme=scheme, m_aa=0.3, delay_ms=delay).runs
            times, values = run.series(rate)
            a.plot(
                times - start_s,
                values / 1e6,
                dashes,
                color=plots.COLOURS[index],
                linewidth=1.2,
                label=f"{words}, one-way delay {delay} ms",
            )
    a.axhline(net.BOTTLENECK_MBPS, color="0.5", linewidth=0.8, zorder=0)
    a.set_xlim(0, 30)
    plots.name_axes(
        a, "time since the flow's start (s)", "rate behind the bottleneck (Mbit/s)", title="a", legend=False
    )
    _legend_under(a, 2)
    for index, m_aa in enumerate((0.1, 0.3, 1.0)):
        (run,) = lab.at(scheme=net.ABC, m_aa=m_aa, delay_ms=5).runs
        times, values = run.series(threshold)
        shown = (times >= start_s + 0.011) & (times <= start_s + 15)
        b.plot(
            times[shown] - start_s,
            np.clip(values[shown], 12, net.BUFFER_PACKETS),
            color=plots.COLOURS[index],
            linewidth=1.0,
            label=f"averager memory {m_aa:g} s",
        )
    b.set_xlim(0, 15)
    b.set_ylim(11, 24.5)
    plots.name_axes(
        b,
        "time since the flow's start (s)",
        "drop threshold of arriving packets (packets)",
        title="b",
        zero=False,
        legend=False,
    )
    _legend_under(b)
    return figure


def _comparison(table: Table, schemes: Mapping[str, str], r1s: Sequence[float], log_ratio: bool) -> Figure:
    """The settings of figures 3a, 4a and 6a side by side."""
    figure, (a, b, c) = _panels(3, 4.4)
    styles = ("-", "--", "-.", ":")
    _draw(
        a,
        table,
        t0,
        "r0",
        [
            Line(
                {"panel": "a", "scheme": scheme, "r1": r1},
                f"{words}, user 1 sends {r1:g} Mbit/s",
                index,
                styles[number],
            )
            for index, r1 in enumerate(r1s)
            for number, (scheme, words) in enumerate(schemes.items())
        ],
    )
    plots.name_axes(a, RATE_0, T0, title="a", legend=False)
    _draw(b, table, ratio, "f0", _scheme_and_delay(schemes, panel="b"))
    plots.name_axes(b, FLOWS_0, RATIO, title="b", legend=False)
    if log_ratio:
        _draw_ratio_of_means(c, table, "r0", _scheme_and_delay(schemes, panel="c"))
        plots.name_axes(c, RATE_0, f"{RATIO} (ratio of means)", title="c", zero=False, legend=False)
        c.set_ylim(bottom=0.02)
    else:
        _draw(c, table, ratio, "r0", _scheme_and_delay(schemes, panel="c"))
        plots.name_axes(c, RATE_0, RATIO, title="c", legend=False)
    for ax in (b, c):
        _fair_line(ax)
    _whole_numbers(b)
    for ax in (a, b, c):
        _legend_under(ax)
    return figure


def fig14(table: Table) -> Figure:
    """The fair activity meter beside the normal one."""
    return _comparison(table, {net.ABC: "normal meter", net.FAIR: "fair meter"}, (2.5, 5, 7.5), log_ratio=True)


def fig15(table: Table) -> Figure:
    """CSFQ."""
    return _comparison(table, {net.CSFQ: "CSFQ"}, (2.5, 7.5, 10), log_ratio=True)


def x_drr(table: Table) -> Figure:
    """Deficit round robin beside ABC."""
    return _comparison(table, {net.ABC: "ABC", net.DRR: "DRR per user"}, (7.5,), log_ratio=False)


def drop_shares(runs: Sequence[Run]) -> Floats:
    """Share of all drops at each queue length 0 … 24, over all runs."""
    counts = total_histogram(net.AT_DROP, runs)
    total = counts.sum()
    return counts / total if total else counts


def fig16(table: Table) -> Figure:
    """Queue lengths that dropped packets met."""
    figure, axes = _panels(3, 3.2)
    lab = Lab(table)
    shown = {net.ABC: "a   ABC", net.CSFQ: "b   CSFQ", net.CSFQ_Q_MIN: "c   CSFQ, no random drop below 12"}
    for index, (ax, (scheme, title)) in enumerate(zip(axes, shown.items(), strict=True)):
        plots.histogram(ax, list(100 * drop_shares(lab.runs(scheme=scheme))), index=index)
        ax.set_xlim(-0.7, 24.7)
        plots.name_axes(ax, "queue length at a drop (packets)", "share of all drops (%)", title=title)
    return figure


def x_memory(table: Table, activity: str, start_s: float) -> Figure:
    """Activities of a steady user and of one who starts from silence four times as fast."""
    figure, (ax,) = plots.figure(size=(plots.WIDTH, 4.0))
    lab = Lab(table)
    for index, memory in enumerate(lab.grid("m_am")):
        (run,) = lab.at(m_am=memory).runs
        for copy, who, dashes in ((0, "starts at 20 Mbit/s", "-"), (1, "steady at 5 Mbit/s", "--")):
            times, values = run.series(activity.format(copy=copy))
            shown = times >= start_s
            ax.plot(
                times[shown] - start_s,
                values[shown],
                dashes,
                color=plots.COLOURS[index],
                label=f"meter memory {memory:g} s, user {who}",
            )
    ax.set_ylim(4, 11.5)
    plots.name_axes(ax, "time since the second user's start (s)", "activity A", zero=False)
    return figure


def x_scale(table: Table) -> Figure:
    """TR over the common factor of all reference rates."""
    figure, (ax,) = plots.figure()
    _draw(ax, table, ratio, "factor", [Line({}, "TR", 0)])
    ax.set_xscale("log")
    _fair_line(ax)
    plots.name_axes(ax, "factor on all reference rates", RATIO)
    return figure


def _dots(ax: Axes, rows: Sequence[tuple[str, Floats]], xlabel: str) -> None:
    """Means with intervals, one row each, the first on top."""
    for index, (_, values) in enumerate(rows):
        i = mean_interval(values)
        if math.isfinite(i.mean):
            width = [[i.mean - i.lo], [i.hi - i.mean]] if math.isfinite(i.lo) else None
            ax.errorbar(i.mean, len(rows) - 1 - index, xerr=width, fmt="o", color=plots.COLOURS[0], capsize=2)
    ax.set_yticks(range(len(rows)), [words for words, _ in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(xlabel)


def x_average(table: Table) -> Figure:
    """What averaging over all received packets would change: T1 and the heavy user's losses."""
    figure, (a, b) = _panels(2, 4.0)
    schemes = [str(value) for value in table.label_values("scheme")]
    for light, dashes in (
        (str(value), dashes) for value, dashes in zip(table.label_values("light"), ("-", "--"), strict=False)
    ):
        lines = [
            Line({"scheme": scheme, "light": light}, f"{scheme}, against {light}", index, dashes)
            for index, scheme in enumerate(schemes)
        ]
        _draw(a, table, t1, "r0", lines)
        _draw(b, table, queue, "r0", lines)
    plots.name_axes(a, RATE_0, "throughput T1 of user 1 (Mbit/s)", title="a", legend=False)
    plots.name_axes(b, RATE_0, QUEUE, title="b", legend=False)
    _legend_below(figure, a, 1)
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
    _dots(a, [(words, spot.ratio) for words, spot in spots], RATIO)
    _dots(b, [(words, 100 * spot.utilisation) for words, spot in spots], USE)
    a.axvline(1.0, color="0.5", linewidth=0.8, zorder=0)
    return figure


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
        _dots(ax, rows, groups[what][1])
        ax.set_title(what, loc="left")
    return made


def data(measures: Mapping[str, Measure]) -> Callable[[Table], pl.DataFrame]:
    """A figure's numbers: one row a point with its labels, its runs, and each measure's mean and 95 % bounds."""
    return partial(_data, measures=measures)


def _data(table: Table, measures: Mapping[str, Measure]) -> pl.DataFrame:
    import polars as pl

    rows: list[dict[str, Any]] = []
    lab = Lab(table)
    for labels, spot in lab.points():
        row: dict[str, Any] = {**labels, "runs": len(spot.runs)}
        for name, measure in measures.items():
            i = mean_interval(spot.of(measure))
            row |= {name: _or_none(i.mean), f"{name}_lo": _or_none(i.lo), f"{name}_hi": _or_none(i.hi)}
        means = ratio_of_means(spot.t0, spot.t1) if "TR" in measures else None
        if means is not None:
            row["TR_of_means"] = _or_none(means.mean)
        rows.append(row)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in columns}, strict=False)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
