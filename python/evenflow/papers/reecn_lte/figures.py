"""All figures: curves over what an experiment varies, rates over time, points by category; all with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import plots
from evenflow.lab import Floats, Lab, Measure, Spot, curve_of, optional, plain
from evenflow.run.tunnels import tunnel_table
from evenflow.stats import mean_interval

from . import measures, variants
from .network import (
    ATTACK_S,
    ATTACKERS,
    CHEAT,
    CLASSES,
    DEMOTE,
    DT,
    ECN,
    GREEDY,
    HONEST,
    LEGACY,
    LEVEL,
    PHONES,
    POLICED,
    PREMIUM,
    RED,
    REECN,
    THROUGHPUT,
    VICTIMS,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Labels, Table

GP, FI = "goodput (Mbit/s)", "Jain's index"
BOTH = ((GP, measures.goodput), (FI, measures.fairness))
GREY = "0.45"
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Panels = Sequence[tuple[str, Measure]]

NAMES: Mapping[str, str] = {
    DT: "drop-tail",
    RED: "RED",
    ECN: "ECN",
    REECN: "re-ECN",
    POLICED: "re-ECN, policed",
    "inside Re-ECN": "re-ECN inside the network",
    "blind": "blind to losses",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "none": "no policer",
    "drop-one": "policer drops one packet",
    "drop-while-empty": "policer drops while empty",
    "block": "policer blocks",
    "probability": "policer drops a share",
    DEMOTE: "policer lets go last",
    HONEST: "honest attackers",
    CHEAT: "attackers that declare nothing",
    LEGACY: "attackers without ECN",
    "single": "one attacker of 45 Mbit/s",
    "paper": "the paper's formula",
    "gentle": "rises to 1",
    "hard": "marks all",
    "far": "out of reach",
    "A, tight": "A, tight bucket",
    measures.POSITIVE: "declaring",
    measures.NEUTRAL: "neutral",
    measures.LEGACY: "not ECN-capable",
}
"""Values of labels as a reader knows them."""
MARKS = {"red": "p as RED's maximum", "fixed": "constant p"}
REDS = {"uniform": "RED spread uniformly", "ns2": "ns-2's RED"}
WORDS: Mapping[str, Callable[[Any], str]] = {
    "n": lambda v: f"{plain(v)} flows",
    "seconds": lambda v: f"{plain(v)} s",
    "marks": lambda v: MARKS[v],
    "red": lambda v: REDS[v],
    "policer": lambda v: f"policer {NAMES.get(v, v)}",
    "greedy": lambda v: "a fifth greedy" if v else "all honest",
    "attack": lambda v: "attack" if v else "no attack",
    "washed": lambda v: "fields cleared" if v else "fields left alone",
    "premium": lambda v: "with a premium class" if v else "four classes",
    "e": lambda v: f"radio errors of {100 * v:g} %",
    "control": lambda v: "TCP" if v == "TCP" else "constant window",
    "radio": lambda v: {"independent": "independent errors", "bursts": "bursts of five", "RLC": "repaired by RLC"}[v],
}


def said(name: str, value: Any) -> str:
    """A label's value in words."""
    return WORDS[name](value) if name in WORDS else NAMES.get(str(value), plain(value))


def in_words(labels: Labels | Mapping[str, Any], names: Sequence[str]) -> str:
    """Several labels in words."""
    return ", ".join(said(name, labels[name]) for name in names if name in labels)


def stamped(table: Table, draw: Callable[[Table], Figure], words: str) -> Figure:
    """A figure that says on itself what the paper leaves open."""
    made = draw(table)
    with plots.style():
        made.suptitle(words, x=0.008, ha="left", fontsize=7.5, color=GREY)
    return made


# --- What the figures share -----------------------------------------------------------------------------------------


def combinations(lab: Lab, names: Sequence[str], where: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The combinations of these labels, in the order of the points; labels that no point has are left out."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for labels, _ in lab.points():
        if all(labels.get(k) == v for k, v in (where or {}).items()):
            mine = {name: labels[name] for name in names if name in labels}
            found.setdefault(tuple(mine.items()), mine)
    return list(found.values())


def several(every: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """The labels that have more than one value."""
    return [name for name in names if len({it.get(name) for it in every}) > 1]


def grid_of(rows: int, columns: int, width: float = 4.3, height: float = 2.9) -> tuple[Figure, list[list[Axes]]]:
    """Panels row by row, with room for a legend below."""
    made, axes = plots.figure(rows, columns, size=(width * columns, height * rows + 0.9))
    return made, [axes[i * columns : (i + 1) * columns] for i in range(rows)]


def below(made: Figure, columns: int = 0) -> None:
    """One legend for all panels, under them."""
    found: dict[str, Any] = {}
    for ax in made.axes:
        for handle, words in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(words, handle)
    if len(found) < 2:
        return
    letters = 11 * made.get_size_inches()[0] / (max(len(words) for words in found) + 5)
    fit = columns or max(1, min(5, len(found), int(letters)))
    with plots.style():
        made.legend(list(found.values()), list(found), loc="outside lower center", ncols=fit)


def scale(ax: Axes, grid: Sequence[float], log: float) -> None:
    """A logarithmic axis from `log` on; what is below it stands on a linear piece."""
    if log and 0.0 in grid:
        ax.set_xscale("symlog", linthresh=log)
    elif log:
        ax.set_xscale("log")


def over(
    table: Table,
    x: str,
    names: Sequence[str],
    panels: Panels,
    label: str,
    *,
    rows: Sequence[str] = ("n", "seconds"),
    log: float = 0.0,
    where: Mapping[str, Any] | None = None,
) -> Figure:
    """A column for each measure and a row for each set of flows: curves over one label."""
    lab = Lab(table)
    sets = combinations(lab, rows, where)
    made, grid = grid_of(len(sets), len(panels))
    every = combinations(lab, names, where)
    told = several(every, names)
    letters = iter(LETTERS)
    for row, of in zip(grid, sets, strict=True):
        for ax, (words, measure) in zip(row, panels, strict=True):
            xs: list[float] = []
            for number, it in enumerate(every):
                if not lab.grid(x, **of, **it, **(where or {})):
                    continue
                xs, values = lab.curve(x, measure, **of, **it, **(where or {}))
                plots.band(ax, curve_of(xs, values, LEVEL), label=in_words(it, told) or None, index=number)
            scale(ax, xs, log)
            title = f"{next(letters)}  {in_words(of, rows)}"
            plots.name_axes(ax, label, words, title=title, zero=not words.startswith(FI), legend=False)
    below(made)
    return made


def dots(
    table: Table,
    x: str,
    names: Sequence[str],
    panels: Panels,
    *,
    rows: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    width: float = 4.3,
) -> Figure:
    """A column for each measure and a row for each set: a mean and its interval by category, side by side by label."""
    lab = Lab(table)
    sets = combinations(lab, rows, where)
    made, grid = grid_of(len(sets), len(panels), width, 3.1)
    places = [it[x] for it in combinations(lab, [x], where)]
    every = combinations(lab, names, where)
    told = several(every, names)
    letters = iter(LETTERS)
    for row, of in zip(grid, sets, strict=True):
        for ax, (words, measure) in zip(row, panels, strict=True):
            for number, it in enumerate(every):
                spots = [(place, {**of, **it, x: value}) for place, value in enumerate(places)]
                there = [(place, lab.at(**labels)) for place, labels in spots if lab.has(**labels)]
                shift = 0.5 * (number - (len(every) - 1) / 2) / max(1, len(every))
                points(
                    ax,
                    [place + shift for place, _ in there],
                    [s.of(measure) for _, s in there],
                    in_words(it, told),
                    number,
                )
            ticks(ax, [said(x, value) for value in places])
            title = f"{next(letters)}  {in_words(of, rows)}" if rows else next(letters)
            plots.name_axes(ax, "", words, title=title, zero=not words.startswith(FI), legend=False)
    below(made)
    return made


def ticks(ax: Axes, words: Sequence[str]) -> None:
    """Categories under a panel."""
    if max(len(it) for it in words) * len(words) < 45:
        ax.set_xticks(range(len(words)), words)
    else:
        ax.set_xticks(range(len(words)), [plots.folded(it, 24) for it in words], rotation=30, ha="right")
    ax.set_xlim(-0.5, len(words) - 0.5)


def points(ax: Axes, x: Sequence[float], values: Sequence[Floats], words: str, number: int) -> None:
    """Means and intervals of one series."""
    ax.margins(y=0.12)
    found = [mean_interval(it, LEVEL) for it in values]
    mean = np.array([i.mean for i in found])
    reach = (
        np.array([[i.mean - i.lo, i.hi - i.mean] if np.isfinite(i.lo) else [0.0, 0.0] for i in found]).reshape(-1, 2).T
    )
    with plots.style():
        ax.errorbar(
            x,
            mean,
            yerr=np.nan_to_num(reach),
            fmt=plots.MARKERS[number % len(plots.MARKERS)],
            color=plots.COLOURS[number % len(plots.COLOURS)],
            capsize=3,
            markersize=4.5,
            label=words or None,
            gid=plots.mean_id(ax),
        )


def line(ax: Axes, times: Floats, values: Floats, words: str, number: int, dashes: str | None = None) -> None:
    """A quantity over time with its band; `values` has one row a run."""
    plots.band(ax, curve_of(times, values.T, LEVEL), label=words, index=number, dashes=dashes, marker="", linewidth=1.2)


def rates(ax: Axes, spot: Spot, of: str, words: str, number: int, dashes: str | None = None) -> None:
    """Rates in bins of the runs of a point."""
    head = of.partition("[*]")[0]
    if not any(name.startswith(head) for name in spot.runs[0].record.series_names):
        return
    found = [measures.bins(run, of) for run in spot.runs]
    line(ax, found[0][0], np.array([rate for _, rate in found]), words, number, dashes)


RATE, TIME = "throughput (Mbit/s)", "time (s)"


# --- The paper's figures --------------------------------------------------------------------------------------------


def _two_policers(table: Table, x: str, names: Sequence[str], labels: tuple[str, str]) -> Figure:
    """A row for policer A, in seconds, and one for B, in bytes."""
    lab = Lab(table)
    made, grid = grid_of(2, 2)
    letters = iter(LETTERS)
    for row, rule, label in zip(grid, ("A", "B"), labels, strict=True):
        every = [it for it in combinations(lab, ["policer", *names]) if str(it["policer"]).startswith(rule)]
        for ax, (words, measure) in zip(row, BOTH, strict=True):
            xs: list[float] = []
            for number, it in enumerate(every):
                xs, values = lab.curve(x, measure, **it)
                told = ("policer", *names) if it["policer"] != rule else names
                plots.band(ax, curve_of(xs, values, LEVEL), label=in_words(it, told), index=number)
            scale(ax, xs, 1.0)
            plots.name_axes(
                ax, label, words, title=f"{next(letters)}  policer {rule}", zero=not words.startswith(FI), legend=False
            )
    below(made)
    return made


fig05 = partial(
    _two_policers,
    x="r",
    names=("n", "seconds"),
    labels=("filling rate r (tokens/s)", "filling rate r (bytes of congestion/s)"),
)
fig06 = partial(over, x="p", names=("marks",), panels=BOTH, label="marking probability p", log=1e-4)
fig07 = partial(
    _two_policers,
    x="start",
    names=("greedy", "n", "seconds"),
    labels=("initial tokens b_start (s)", "initial tokens b_start (bytes)"),
)
fig08 = partial(
    over,
    x="n",
    names=("scheme",),
    panels=(*BOTH, ("share marked", measures.marked)),
    label="number of flows",
    rows=(),
    log=1.0,
)
fig09 = partial(over, x="delay", names=("scheme",), panels=BOTH, label="delay of the radio link (ms)", log=1.0)
fig10 = partial(over, x="hops", names=("scheme",), panels=BOTH, label="wired hops")


def fig11(table: Table) -> Figure:
    """A column for each scheme, a row for each set of flows; drop-tail's mean is drawn beside the others."""
    lab = Lab(table)
    sets, schemes = combinations(lab, ("n", "seconds")), combinations(lab, ("scheme",))
    made, grid = grid_of(len(sets), len(schemes), 2.7, 2.6)
    letters = iter(LETTERS)
    for row, of in zip(grid, sets, strict=True):
        for number, (ax, it) in enumerate(zip(row, schemes, strict=True)):
            rates(ax, lab.at(**of, **it), THROUGHPUT, "", number, "-")
            if lab.has(**of, scheme=DT) and it["scheme"] != DT:
                found = [measures.bins(run) for run in lab.at(**of, scheme=DT).runs]
                mean = np.mean([rate for _, rate in found], axis=0)
                ax.plot(found[0][0], mean, color=GREY, linewidth=0.7, label="drop-tail's mean")
            ax.axhline(50.0, color=GREY, linewidth=0.8, linestyle=":")
            title = f"{next(letters)}  {said('scheme', it['scheme'])}\n    {in_words(of, ('n', 'seconds'))}"
            plots.name_axes(ax, TIME, RATE if ax is row[0] else "", title=title, legend=False)
            ax.set_ylim(0, 55)
    return made


fig12 = partial(
    dots,
    x="scheme",
    names=("n", "seconds"),
    panels=(
        (f"{FI}, whole run", measures.fairness),
        (f"{FI}, windows of 60 s", measures.fairness_over(60.0)),
        (f"{FI}, windows of 10 s", measures.fairness_over(10.0)),
        (GP, measures.goodput),
    ),
    width=3.0,
)
fig13 = partial(over, x="e", names=("scheme",), panels=BOTH, label="radio error rate", log=1e-5)


def fig14(table: Table) -> Figure:
    """Victims and attackers: a panel for each sanction and kind of attacker."""
    lab = Lab(table)
    panels = combinations(lab, ("attackers", "sanction"))
    made, grid = grid_of(-(-len(panels) // 3), 3, 3.7, 2.4)
    flat = [ax for row in grid for ax in row]
    flows = [it["n"] for it in combinations(lab, ("n",))]
    for ax, of, letter in zip(flat, panels, LETTERS, strict=False):
        for kind, (words, series) in enumerate((("victims", VICTIMS), ("attackers", ATTACKERS))):
            for second, n in enumerate(sorted(flows, reverse=True)):
                if lab.has(**of, n=n):
                    label = f"{words}, {said('n', n)}"
                    rates(ax, lab.at(**of, n=n), series, label, kind, "-" if second == 0 else ":")
        ax.axvspan(*ATTACK_S, color=GREY, alpha=0.12, linewidth=0)
        title = f"{letter}  {said('sanction', of['sanction'])}\n    {said('attackers', of['attackers'])}"
        plots.name_axes(ax, TIME, RATE, title=title, legend=False)
        ax.set_ylim(0, 55)
    for ax in flat[len(panels) :]:
        made.delaxes(ax)
    below(made)
    return made


def fig15(table: Table) -> Figure:
    """Pages and round trips by sanction; the first category has no attack."""
    lab = Lab(table)
    panels: Panels = (
        ("median time of a page (s)", measures.page_median),
        ("95th percentile (s)", measures.page_p95),
        ("mean round trip (s)", measures.round_trip),
    )
    made, (row,) = grid_of(1, len(panels), 3.7, 3.2)
    places = combinations(lab, ("attack", "sanction"))
    places.sort(key=lambda it: bool(it["attack"]))
    for ax, (words, measure), letter in zip(row, panels, LETTERS, strict=False):
        for number, n in enumerate(it["n"] for it in combinations(lab, ("n",))):
            there = [(at, lab.at(n=n, **it)) for at, it in enumerate(places) if lab.has(n=n, **it)]
            points(ax, [at + 0.15 * number for at, _ in there], [s.of(measure) for _, s in there], said("n", n), number)
        ticks(ax, [said("sanction", it["sanction"]) if it["attack"] else "no attack" for it in places])
        plots.name_axes(ax, "", words, title=letter, legend=False)
    below(made)
    return made


def class_words(name: str) -> str:
    """A class by its p."""
    return f"p = {({**CLASSES, PREMIUM: 0.0})[name]:g}"


def fig16(table: Table) -> Figure:
    """A class a line: a column for each way of marking, a row for each number of flows."""
    lab = Lab(table)
    ways = combinations(lab, ("marks",))
    sets = combinations(lab, ("n", "premium"))
    made, grid = grid_of(len(sets), len(ways), 4.3, 2.6)
    letters = iter(LETTERS)
    for row, of in zip(grid, sets, strict=True):
        for ax, way in zip(row, ways, strict=True):
            for number, name in enumerate((*CLASSES, PREMIUM)):
                series = f"groups.{name}.users[*].flows[0].received_bytes"
                rates(ax, lab.at(**of, **way), series, class_words(name), number)
            premium = ", premium class" if of["premium"] else ""
            title = f"{next(letters)}  {said('n', of['n'])}, {said('marks', way['marks'])}{premium}"
            plots.name_axes(ax, TIME, RATE, title=title, legend=False)
    below(made)
    return made


# --- Variants -------------------------------------------------------------------------------------------------------

LONG = ((f"{GP} of the long flows", measures.of_group(PHONES)), (f"{FI}", measures.fairness_of(PHONES)))
background = partial(
    over, x="background", names=("scheme",), panels=LONG, label="share of the link sent at a constant rate"
)
wired = partial(over, x="delay", names=("scheme",), panels=BOTH, label="delay from R2 to R3 (ms)", log=1.0)
narrow = partial(over, x="hops", names=("scheme",), panels=LONG, label="wired hops")
radio = partial(dots, x="radio", names=("scheme",), panels=BOTH, rows=("n", "e"))


def mixed(table: Table) -> Figure:
    """Goodput of a flow over the delay of its radio link, all in one run."""
    lab = Lab(table)
    sets = combinations(lab, ("n",))
    made, (row,) = grid_of(1, len(sets), 4.6, 3.2)
    for ax, of, letter in zip(row, sets, LETTERS, strict=False):
        for number, it in enumerate(combinations(lab, ("scheme",))):
            spot = lab.at(**of, **it)
            values = np.array([spot.of(measures.of_one(variants.delay_group(d))) for d in variants.MIXED_MS])
            curve = curve_of(list(variants.MIXED_MS), values, LEVEL)
            plots.band(ax, curve, label=said("scheme", it["scheme"]), index=number)
        ax.set_xscale("log")
        title = f"{letter}  {said('n', of['n'])}"
        plots.name_axes(ax, "delay of the radio link (ms)", "goodput of a flow (Mbit/s)", title=title, legend=False)
    below(made)
    return made


tcp06 = partial(
    over, x="p", names=("red", "marks"), panels=BOTH, label="marking probability p", rows=("tcp",), log=1e-4
)
tcp11 = partial(dots, x="scheme", names=("tcp", "red"), panels=BOTH, rows=("n",))


def tcp16(table: Table) -> Figure:
    """Throughput of each class by TCP and RED."""
    lab = Lab(table)
    panels = combinations(lab, ("marks", "premium"))
    made, (row,) = grid_of(1, len(panels), 4.0, 3.2)
    names = (*CLASSES, PREMIUM)
    every = combinations(lab, ("tcp", "red"))
    for ax, of, letter in zip(row, panels, LETTERS, strict=False):
        there = names if of["premium"] else names[:-1]
        for number, it in enumerate(every):
            if not lab.has(**of, **it):
                continue
            spot, shift = lab.at(**of, **it), 0.5 * (number - (len(every) - 1) / 2) / len(every)
            values = [spot.of(measures.of_group(name)) for name in there]
            points(ax, [at + shift for at in range(len(there))], values, in_words(it, ("tcp", "red")), number)
        ticks(ax, [class_words(name) for name in there])
        plots.name_axes(
            ax, "", "goodput of a class (Mbit/s)", title=f"{letter}  {said('marks', of['marks'])}", legend=False
        )
    below(made)
    return made


# --- Beyond the paper's figures -------------------------------------------------------------------------------------


def x_rate(table: Table) -> Figure:
    """Rate over the formula's, and its tokens."""
    lab = Lab(table)
    made, ((a, b),) = grid_of(1, 2)
    grid = lab.grid("p", policed=0)
    found = np.array([lab.at(p=p, declared=1.0, policed=0).of(measures.rate_ratio(p)) for p in grid])
    plots.band(a, curve_of(grid, found, LEVEL), label="measured", index=0)
    drift = np.array([lab.at(p=p, declared=1.0, policed=0).of(measures.drift) for p in grid])
    plots.band(b, curve_of(grid, drift, LEVEL), label="measured", index=0)
    for ax, at, words in ((a, 1.0, "rate over k s / (T √p)"), (b, 0.0, "drift of tokens (tokens/s)")):
        ax.axhline(at, color=GREY, linewidth=0.8)
        ax.set_xscale("log")
        plots.name_axes(ax, "marking probability p", words, title="", zero=False, legend=False)
    return made


PLACES = ("gateway", "R1", "S-GW", "R2", "R3", "base station", "phone")
"""Where the meters of x-bal stand."""


def x_bal(table: Table) -> Figure:
    """Declared, upstream and downstream congestion at every hop."""
    spot = Lab(table).at(p=0.0298)
    made, ((ax,),) = grid_of(1, 1, 6.4, 3.4)
    at = [float(i) for i in range(len(PLACES))]
    for number, (what, words) in enumerate(
        (("path_congestion", "declared"), ("upstream_congestion", "upstream"), ("downstream_congestion", "downstream"))
    ):
        values = np.array([spot.of(f"stages.{name}.{what}") for name in measures.METERS])
        plots.band(ax, curve_of(at, 100 * values, LEVEL), label=words, index=number)
    for place, words in ((1.5, "marks 1 %"), (3.5, "marks 2 %")):
        ax.axvline(place, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(words, (place, 1.3), xytext=(3, 3), textcoords="offset points", fontsize=7, color=GREY)
    ax.set_xticks(at, PLACES)
    plots.name_axes(ax, "", "congestion (%)", title="", zero=False, legend=False)
    below(made)
    return made


x_depth = partial(
    over,
    x="depth",
    names=(),
    panels=(("packets dropped by the policer", measures.sanctions), BOTH[0]),
    label="depth of the bucket (s)",
    log=1.0,
)


def x_flood(table: Table) -> Figure:
    """Share dropped over the rate offered, and the formula."""
    lab = Lab(table)
    made, ((ax,),) = grid_of(1, 1, 5.4, 3.2)
    grid, values = lab.curve("mbps", measures.flood_dropped)
    plots.band(ax, curve_of(grid, values, LEVEL), label="measured", index=0)
    wanted = [max(0.0, 1 - measures.formula_mbps(0.01) / x) for x in grid]
    ax.plot(grid, wanted, color=GREY, linestyle=(0, (6, 2)), label="1 − B / X")
    plots.name_axes(ax, "rate offered (Mbit/s)", "share dropped", title="", zero=True, legend=False)
    below(made)
    return made


def x_levels(table: Table) -> Figure:
    """Tokens at the policer and the balance at the dropper, mean over the flows of a kind."""
    lab = Lab(table)
    sets = combinations(lab, ("n",))
    made, grid = grid_of(len(sets), 2, 4.3, 2.9)
    kinds = ((PHONES, "honest"), (GREEDY, "greedy"), (measures.UNDER, "understating"))
    letters = iter(LETTERS)
    for row, of in zip(grid, sets, strict=True):
        spot = lab.at(**of)
        for ax, (stage, what), words, floor in zip(
            row,
            measures.LEVELS.items(),
            ("tokens at the policer (s)", "balance at the dropper (packets)"),
            (0, -3),
            strict=True,
        ):
            for number, (group, label) in enumerate(kinds):
                found = [measures.levels(run, stage, what, group) for run in spot.runs]
                line(ax, found[0][0], np.array([values for _, values in found]), label, number)
            ax.axhline(floor, color=GREY, linewidth=0.8, linestyle=":")
            limit = "sanctions below" if floor == 0 else "allowance"
            ax.annotate(
                limit,
                (1.0, floor),
                xycoords=("axes fraction", "data"),
                xytext=(-3, 3),
                ha="right",
                textcoords="offset points",
                fontsize=7,
                color=GREY,
            )
            title = f"{next(letters)}  {said('n', of['n'])}"
            plots.name_axes(ax, TIME, words, title=title, zero=False, legend=False)
            if stage == "drop":
                ax.set_yscale("symlog", linthresh=10)
    below(made)
    return made


x_cheat = partial(
    over,
    x="declared",
    names=("rule",),
    panels=(BOTH[0], ("packets dropped by the dropper", measures.sanctions)),
    label="share of its congestion that a flow declares",
    rows=(),
    where={"control": "TCP"},
)


def x_cust(table: Table) -> Figure:
    """Goodput of a customer with one and with ten flows, with and without policer B."""
    lab = Lab(table)
    made, ((ax,),) = grid_of(1, 1, 5.0, 3.2)
    names = (measures.ONE, measures.TEN)
    for number, policed in enumerate((0, 1)):
        values = [lab.at(policed=policed).of(measures.of_one(name)) for name in names]
        label = "policer B" if policed else "no policer"
        points(ax, [at + 0.15 * number for at in range(2)], values, label, number)
    ticks(ax, ["one flow", "ten flows"])
    plots.name_axes(ax, "", "goodput of a customer (Mbit/s)", title="", zero=True, legend=False)
    below(made)
    return made


x_int = partial(over, x="trips", names=(), panels=BOTH, label="round trips per report", rows=(), where={"dropper": 0})
x_bleach = partial(dots, x="scheme", names=("washed",), panels=BOTH)
x_blind = partial(dots, x="sender", names=("e",), panels=BOTH)


def x_prio(table: Table) -> Figure:
    """Shares dropped."""
    (_, spot), *_ = Lab(table).points()
    made, ((ax,),) = grid_of(1, 1, 5.0, 3.2)
    names = (measures.LEGACY, measures.NEUTRAL, measures.POSITIVE)
    points(ax, range(3), [spot.of(measures.dropped_of(name)) for name in names], "", 0)
    ticks(ax, [NAMES[name] for name in names])
    plots.name_axes(ax, "", "packets dropped (%)", title="", zero=True, legend=False)
    return made


def x_premium(table: Table) -> Figure:
    """Goodput of each class and marks of the premium one, by RED's upper piece."""
    lab = Lab(table)
    made, ((a, b),) = grid_of(1, 2, 4.6, 3.2)
    every = combinations(lab, ("upper",))
    names = (*CLASSES, PREMIUM)
    for number, it in enumerate(every):
        spot, shift = lab.at(**it), 0.2 * (number - 1)
        words = f"upper piece {said('upper', it['upper'])}"
        values = [spot.of(measures.of_group(name)) for name in names]
        points(a, [at + shift for at in range(len(names))], values, words, number)
        share = [100 * spot.of(measures.marked_of(name)) for name in names]
        points(b, [at + shift for at in range(len(names))], share, words, number)
    for ax, words, letter in ((a, "goodput of a class (Mbit/s)", "a"), (b, "packets marked (%)", "b")):
        ticks(ax, [class_words(name) for name in names])
        plots.name_axes(ax, "", words, title=letter, legend=False)
    below(made)
    return made


x_mix = partial(
    dots,
    x="scheme",
    names=("n",),
    panels=(
        ("Jain's index of the long flows", measures.fairness_of(PHONES)),
        ("median time of a short flow (s)", optional(measures.short_median)),
    ),
)

SHADES = {"CE": "#D55E00", "ECT(0)": "#9ecae1", "ECT(1)": "#bcdff0", "Not-ECT": "#f2f2f2", None: "#000000"}


def tunnels(table: Table) -> Figure:
    """The table of tunnels as a chart: what leaves them by rule, inner and outer field (`evenflow tunnel-table`)."""
    found = tunnel_table()
    fields = found["fields"]
    made, grid = grid_of(2, 3, 3.2, 2.6)
    flat = [ax for row in grid for ax in row]
    for ax, (name, words) in zip(flat, RULES.items(), strict=False):
        for y, inner in enumerate(fields):
            for x, outer in enumerate(fields):
                got = found["rules"][name]["egress"][inner][outer]
                ax.add_patch(_cell(x, y, SHADES[got]))
                colour = "white" if got in (None, "CE") else "black"
                ax.text(x, y, got or "drop", ha="center", va="center", fontsize=8, color=colour)
                if found["alarms"][inner][outer]:
                    ax.text(x + 0.4, y - 0.3, "!", ha="center", va="center", fontsize=9, color=colour)
        ax.set_xlim(-0.5, len(fields) - 0.5)
        ax.set_ylim(len(fields) - 0.5, -0.5)
        with plots.style():
            ax.set_xticks(range(len(fields)), fields)
            ax.set_yticks(range(len(fields)), fields)
            ax.tick_params(length=0)
            ax.grid(visible=False)
        plots.name_axes(ax, "outer field", "inner field", title=words, zero=False, legend=False)
    for ax in flat[len(RULES) :]:
        made.delaxes(ax)
    return made


RULES = {
    "rfc6040": "RFC 6040",
    "rfc6040-compatibility": "RFC 6040, compatibility",
    "rfc3168": "RFC 3168",
    "rfc4301": "RFC 4301",
    "paper": "the paper",
}


def _cell(x: int, y: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.0)
