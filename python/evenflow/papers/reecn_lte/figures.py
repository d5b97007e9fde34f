"""All figures: curves with bands over what an experiment varies, rates over time, bars of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Lab, Measure, Spot, curve_of, plain
from evenflow.stats import mean_interval

from . import measures
from .network import ATTACK_S, CLASSES, LEVEL, PREMIUM, THROUGHPUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table

GP, FI = "goodput (Mbit/s)", "Jain's index"
GREY = "0.45"


def _series(lab: Lab, names: Sequence[str]) -> list[dict[str, Any]]:
    """The combinations of labels that make a curve, in the order of the points."""
    found: dict[tuple[Any, ...], None] = {}
    for labels, _ in lab.points():
        if all(name in labels for name in names):
            found.setdefault(tuple(labels[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in found]


WORDS: Mapping[str, Callable[[Any], str]] = {
    "scheme": str,
    "marks": str,
    "rule": str,
    "sanction": str,
    "control": str,
    "policer": lambda v: f"policer {v}",
    "n": lambda v: f"{plain(v)} flows",
    "greedy": lambda v: "a fifth greedy" if v else "all honest",
    "seconds": lambda v: f"{plain(v)} s",
    "attackers": lambda v: f"{v} attackers",
}


def _words(labels: Mapping[str, Any], several: Sequence[str]) -> str:
    return ", ".join(WORDS.get(name, plain)(labels[name]) for name in several) or "all"


def over(
    table: Table,
    x: str,
    names: Sequence[str],
    panels: Sequence[tuple[str, Measure]],
    label: str,
    *,
    log: bool = False,
    where: Mapping[str, Any] | None = None,
) -> Figure:
    """A panel for each measure: curves over one label."""
    lab = Lab(table)
    figure, axes = plots.figure(1, len(panels), size=(4.3 * len(panels), 3.8))
    every = [it for it in _series(lab, names) if all(it.get(k) == v for k, v in (where or {}).items())]
    told = [name for name in names if len({it[name] for it in every}) > 1]
    for ax, (words, measure), letter in zip(axes, panels, "abcd", strict=False):
        for number, it in enumerate(every):
            grid, values = lab.curve(x, measure, **it)
            plots.band(ax, curve_of(grid, values, LEVEL), label=_words(it, told), index=number)
        if log and 0.0 in lab.grid(x):
            ax.set_xscale("symlog", linthresh=1e-5)
        elif log:
            ax.set_xscale("log")
        plots.name_axes(ax, label, words, title=letter, zero=words != FI, legend=False)
    below(figure, figure.axes[0])
    return figure


def below(figure: Figure, ax: Axes, columns: int = 4) -> None:
    """One legend for all panels, under them."""
    handles, words = ax.get_legend_handles_labels()
    if len(words) < 2:
        return
    figure.legend(handles, words, loc="outside lower center", ncols=max(1, min(columns, len(words))))


def bars(table: Table, x: str, panels: Sequence[tuple[str, Measure]]) -> Figure:
    """A panel for each measure: a mean and its interval for each value of a label."""
    lab = Lab(table)
    figure, axes = plots.figure(1, len(panels), size=(4.3 * len(panels), 3.6))
    spots = lab.points()
    for ax, (words, measure) in zip(axes, panels, strict=True):
        for number, (_, spot) in enumerate(spots):
            _bar(ax, number, spot, measure)
        ax.set_xticks(range(len(spots)), [_all_words(labels, x) for labels, _ in spots], rotation=30, ha="right")
        plots.name_axes(ax, "", words, title="", zero=False, legend=False)
        ax.margins(y=0.12)
        if words != FI:
            ax.set_ylim(0, 1.12 * ax.dataLim.y1)
    return figure


def _all_words(labels: Mapping[str, Any], x: str) -> str:
    return ", ".join(plain(labels[name]) for name in x.split("+"))


def _bar(ax: Axes, at: int, spot: Spot, measure: Measure) -> None:
    i = mean_interval(spot.of(measure), LEVEL)
    if np.isnan(i.mean):
        return
    low, high = (i.mean - i.lo, i.hi - i.mean) if np.isfinite(i.lo) else (0.0, 0.0)
    colour = plots.COLOURS[at % len(plots.COLOURS)]
    ax.errorbar([at], [i.mean], yerr=[[low], [high]], fmt="o", color=colour, capsize=4, markersize=5)


def over_time(
    table: Table, names: Sequence[str], what: Sequence[tuple[str, str]], panel: str | None, *, where: Any = None
) -> Figure:
    """Mean rates in bins; a panel for each value of `panel`, a line for each curve and quantity."""
    lab = Lab(table)
    points = [(k, s) for k, s in lab.points() if all(k.get(a) == b for a, b in (where or {}).items())]
    values = list(dict.fromkeys(k[panel] for k, _ in points)) if panel else [None]
    figure, axes = plots.figure(1, len(values), size=(max(6.4, 4.2 * len(values)), 3.8), sharey=True)
    told = [name for name in names if len({k[name] for k, _ in points}) > 1]
    for ax, value in zip(axes, values, strict=True):
        number = 0
        for labels, spot in points:
            if panel and labels[panel] != value:
                continue
            for words, of in what:
                head = of.partition("[*]")[0]
                if not any(n.startswith(head) for n in spot.runs[0].record.series_names):
                    continue
                found = [measures.bins(run, of) for run in spot.runs]
                rates = np.mean([rate for _, rate in found], axis=0)
                label = ", ".join(filter(None, (_words(labels, told) if told else "", words)))
                ax.plot(
                    found[0][0], rates, color=plots.COLOURS[number % len(plots.COLOURS)], label=label, linewidth=1.3
                )
                number += 1
        title = WORDS.get(panel, plain)(value) if panel else ""
        plots.name_axes(ax, "time (s)", "throughput (Mbit/s)", title=title, zero=True, legend=False)
    below(figure, figure.axes[0], 2 + len(values))
    return figure


BOTH = ((GP, measures.goodput), (FI, measures.fairness))


def _two_policers(table: Table, x: str, names: Sequence[str], labels: tuple[str, str]) -> Figure:
    lab = Lab(table)
    figure, axes = plots.figure(2, 2, size=(8.6, 6.6))
    flat = list(axes)
    for row, rule, label in zip((flat[:2], flat[2:]), ("A", "B"), labels, strict=True):
        every = [it for it in _series(lab, ["policer", *names]) if it["policer"] == rule]
        for ax, (words, measure) in zip(row, BOTH, strict=True):
            for number, it in enumerate(every):
                grid, values = lab.curve(x, measure, **it)
                plots.band(ax, curve_of(grid, values, LEVEL), label=_words(it, names), index=number)
            if 0.0 in grid:
                ax.set_xscale("symlog", linthresh=1.0)
            else:
                ax.set_xscale("log")
            plots.name_axes(ax, label, words, title=f"policer {rule}", zero=words != FI, legend=False)
    below(figure, figure.axes[0])
    return figure


fig05 = partial(
    _two_policers,
    x="r",
    names=("n", "seconds"),
    labels=("filling rate r (tokens/s)", "filling rate r (B of congestion/s)"),
)
fig06 = partial(over, x="p", names=("marks", "n", "seconds"), panels=BOTH, label="marking probability p", log=True)
fig07 = partial(
    _two_policers,
    x="start",
    names=("n", "seconds", "greedy"),
    labels=("initial tokens b_start (s)", "initial tokens b_start (B)"),
)
fig08 = partial(
    over, x="n", names=("scheme",), panels=(*BOTH, ("share marked", measures.marked)), label="flows", log=True
)
fig09 = partial(over, x="delay", names=("scheme", "n"), panels=BOTH, label="delay of the radio link (ms)", log=True)
fig10 = partial(over, x="hops", names=("scheme", "n"), panels=BOTH, label="wired hops")
fig11 = partial(over_time, names=("scheme",), what=(("", THROUGHPUT),), panel="n")
fig12 = partial(bars, x="scheme+n", panels=((FI, measures.fairness), (GP, measures.goodput)))
fig13 = partial(over, x="e", names=("scheme", "n", "seconds"), panels=BOTH, label="radio error rate", log=True)


def fig14(table: Table) -> Figure:
    """Victims and attackers, a panel for each sanction."""
    n = max(Lab(table).grid("n"))
    what = (("victims", measures.VICTIMS), ("attackers", measures.ATTACKERS))
    figure = over_time(table, ("attackers",), what, "sanction", where={"n": n})
    for ax in figure.axes:
        ax.axvspan(*ATTACK_S, color=GREY, alpha=0.12, linewidth=0)
    return figure


fig15 = partial(
    bars,
    x="sanction+n",
    panels=(("median time of a page (s)", measures.page_median), ("95th percentile (s)", measures.page_p95)),
)


def fig16(table: Table) -> Figure:
    """A class a line, a panel for each way of marking."""
    what = tuple(
        (f"p = {p:g}", f"groups.{name}.users[*].flows[0].received_bytes")
        for name, p in {**CLASSES, PREMIUM: 0.0}.items()
    )
    return over_time(table, (), what, "marks", where={"n": 100, "premium": 0})


def x_rate(table: Table) -> Figure:
    """Rate over the formula's, and its tokens."""
    lab = Lab(table)
    figure, (a, b) = plots.figure(1, 2, size=(8.6, 3.8))
    grid = lab.grid("p", policed=0)
    rates = np.array([lab.at(p=p, declared=1.0, policed=0).of(measures.rate_ratio(p)) for p in grid])
    plots.band(a, curve_of(grid, rates, LEVEL), label="measured", index=0)
    drift = np.array([lab.at(p=p, declared=1.0, policed=0).of(measures.drift) for p in grid])
    plots.band(b, curve_of(grid, drift, LEVEL), label="measured", index=0)
    for ax, at, words in ((a, 1.0, "rate over k s / (T √p)"), (b, 0.0, "drift of tokens (tokens/s)")):
        ax.axhline(at, color=GREY, linewidth=0.8)
        ax.set_xscale("log")
        plots.name_axes(ax, "marking probability p", words, title="", zero=False, legend=False)
    return figure


def x_bal(table: Table) -> Figure:
    """Declared, upstream and downstream congestion at three places."""
    spot = Lab(table).at(p=0.0298)
    figure, (ax,) = plots.figure(1, 1, size=(5.4, 3.8))
    for number, (what, words) in enumerate(
        (("path_congestion", "declared"), ("upstream_congestion", "upstream"), ("downstream_congestion", "downstream"))
    ):
        values = np.array([spot.of(f"stages.{name}.{what}") for name in measures.METERS])
        plots.band(
            ax,
            curve_of([float(i) for i in range(len(measures.METERS))], 100 * values, LEVEL),
            label=words,
            index=number,
        )
    ax.set_xticks(range(len(measures.METERS)), measures.METERS, rotation=30, ha="right")
    plots.name_axes(ax, "", "congestion (%)", title="", zero=True, legend=True)
    return figure


x_depth = partial(
    over,
    x="depth",
    names=("n",),
    panels=(("policer's drops", measures.sanctions), BOTH[0]),
    label="depth (s)",
    log=True,
)


def x_flood(table: Table) -> Figure:
    """Share dropped over the rate offered, and the formula."""
    lab = Lab(table)
    figure, (ax,) = plots.figure(1, 1, size=(5.0, 3.8))
    grid, values = lab.curve("mbps", measures.flood_dropped)
    plots.band(ax, curve_of(grid, values, LEVEL), label="measured", index=0)
    wanted = [max(0.0, 1 - measures.formula_mbps(0.01) / x) for x in grid]
    ax.plot(grid, wanted, color=GREY, linestyle=(0, (6, 2)), label="1 − B / X")
    plots.name_axes(ax, "rate offered (Mbit/s)", "share dropped", title="", zero=True, legend=True)
    return figure


x_cheat = partial(
    over,
    x="declared",
    names=("rule", "control"),
    panels=(BOTH[0], ("dropper's drops", measures.sanctions)),
    label="share declared",
    where={"control": "TCP"},
)


def x_cust(table: Table) -> Figure:
    """Goodput of a customer with one and with ten flows, with and without policer B."""
    lab = Lab(table)
    figure, (ax,) = plots.figure(1, 1, size=(5.0, 3.6))
    places: list[str] = []
    for policed in (0, 1):
        for name in (measures.ONE, measures.TEN):
            _bar(ax, len(places), lab.at(policed=policed), measures.of_one(name))
            places.append(f"{name.replace('-', ' ')}, {'policed' if policed else 'free'}")
    ax.set_xticks(range(len(places)), places, rotation=30, ha="right")
    plots.name_axes(ax, "", "goodput of a customer (Mbit/s)", title="", zero=True, legend=False)
    return figure


x_int = partial(over, x="trips", names=("dropper",), panels=BOTH, label="round trips a report", where={"dropper": 0})
x_bleach = partial(bars, x="scheme+washed", panels=(BOTH[0], BOTH[1]))


def x_prio(table: Table) -> Figure:
    """Shares dropped."""
    (_, spot), *_ = Lab(table).points()
    figure, (ax,) = plots.figure(1, 1, size=(4.6, 3.6))
    names = (measures.LEGACY, measures.NEUTRAL, measures.POSITIVE)
    for number, name in enumerate(names):
        _bar(ax, number, spot, measures.dropped_of(name))
    ax.set_xticks(range(3), names)
    plots.name_axes(ax, "", "packets dropped (%)", title="", zero=True, legend=False)
    return figure


x_mix = partial(
    bars,
    x="scheme",
    panels=(
        ("Jain's index of long flows", measures.fairness_of("phones")),
        ("median of a short flow (s)", measures.short_median),
    ),
)


def _later(table: Table) -> Figure:
    """Drawn in part two."""
    return bars(table, "n", BOTH)


background = partial(
    over, x="background", names=("scheme", "n"), panels=BOTH, label="share of the link at a constant rate"
)
wired = partial(over, x="delay", names=("scheme", "n"), panels=BOTH, label="delay from R2 to R3 (ms)", log=True)
mixed = partial(bars, x="scheme+n", panels=BOTH)
narrow = partial(over, x="hops", names=("scheme", "n"), panels=BOTH, label="wired hops")
tcp06 = partial(over, x="p", names=("tcp", "red", "marks"), panels=BOTH, label="marking probability p", log=True)
tcp11 = partial(bars, x="tcp+red+scheme+n", panels=BOTH)
tcp16 = partial(bars, x="tcp+red+marks+premium", panels=BOTH)
x_levels = partial(bars, x="n", panels=BOTH)
x_blind = partial(bars, x="sender+e", panels=BOTH)
x_premium = partial(bars, x="upper", panels=BOTH)
tunnels = partial(bars, x="lost+rule", panels=BOTH)
radio = partial(bars, x="radio+scheme+n+e", panels=BOTH)
