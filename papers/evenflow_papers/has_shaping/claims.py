"""What each claim compares; what is accepted, and the notes, are in claims.toml."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from evenflow.claims import Check, Verdict, judge_one
from evenflow.kit import Claims
from evenflow.lab import Floats, chosen_by_others
from evenflow.study import Run
from evenflow.values import Comparison, Metric, Shown, Values, between, each, joined, listed, most, of_runs, worded

from . import measures as m
from . import network as net
from .measures import WORDS, badness, cell, measured, representative, row_mean, scores, value
from .network import ACKS, CUBIC, GOOD, HTBM, ILLINOIS, METRICS, NEWRENO, ONE, QUALITY, RWTM, S1, S4, SHAPED, VEGAS
from .published import MEAN, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6

claim = Claims("has_shaping", __file__, net.LEVEL, WORDS)

Labels = dict[str, Any]
Names = str | tuple[str, ...]
THREE, NEW = (S1, net.S2, net.S3), (net.S2, net.S3)
"""Scenarios of Tables 5 and 6; those that Tables 2 and 4 do not have."""
WHERE = "{measure}, {control}, {method}"


def minus(one: Values, others: Values) -> Values:
    """Values less others, of which each has more labels."""
    return one.at_points_of(others) - others


def over_mean(top: Values, bottom: Values) -> Values:
    """Values over the mean of others."""
    return top / bottom.map(lambda v: float(np.nanmean(v)))


def together(function: Callable[[Floats], Any], *values: Values) -> Values:
    """A function of all cells of several values."""

    def found(shown: Shown) -> Iterator[tuple[Labels, Any]]:
        yield {}, function(np.array([value for it in values for _, value in it.cells(shown)]))

    return Values(found)


# --- Cells of Tables 2 to 8 -----------------------------------------------------------------------------------------

CELLS = [*(f"c{n:02d}" for n in (*range(1, 22), 23, 24, *range(26, 32))), "c30w", "c31w"]
"""Claims that compare single cells; c22 and c25 are arithmetic on printed numbers."""
OF_CLIENT = "{measure}, {client}, {method}, {control}"
OF_SCENARIO = "{measure}, {scenario}, {control}, {method}"
"""A cell in words."""
LONE = "{scenario:set}_{control:set}_{method:set}"

for number, (name, method) in zip((*range(1, 10), *range(13, 19)), product(METRICS, net.METHODS), strict=True):
    row = cell(name, scenario=S1, method=[method]).labelled(client=ONE)
    note: Labels = {
        "falls": listed("{control} {value}", measured("CNG_probed")(scenario=S1, method=method), ", "),
        "window": m.WINDOW_SEGMENTS(scenario=S1, control=ILLINOIS, method=method),
        "low": measured(name)("fig03", threshold=net.MIXED[0]),
        "high": measured(name)("fig03", threshold=net.MIXED[1]),
    }
    claim(f"c{number:02d}", each("{control:set}", OF_CLIENT, row), **note)
for number, name in zip((10, 11, 12), QUALITY, strict=True):
    row = cell(name, "table02", net.TWO, scenario=S1).labelled(client=net.TWO)
    claim(f"c{number:02d}", each("{method:set}_{control:set}", OF_CLIENT, row))
for number, name in zip((19, 20, 21, 23, 24), METRICS, strict=True):
    claim(f"c{number:02d}", each(LONE, OF_SCENARIO, cell(name, "table05", scenario=NEW)))


def alone(names: Names, **labels: Any) -> Values:
    """A lone client without loss."""
    return cell(names, "table07", scenario=[net.WL], **labels)


def after_losses(names: Names, lost: str, **labels: Any) -> Values:
    """A lone client in scenario 4."""
    return cell(names, "table07", scenario=[S4], loss=lost, **labels)


def twice(id_: str, compared: Callable[[str], list[Comparison]]) -> None:
    """A claim about scenario 4: literally of half of the received packets lost, wider of half of those sent."""
    claim(id_, *compared(ACKS))
    claim.wider(id_, *compared(net.DATA))


for id_, name in (("c26", "IS"), ("c30w", "CNG"), ("c31w", "fr")):
    claim(id_, each(LONE, OF_SCENARIO, alone(name)))
claim("c27", each("{measure:set}_" + LONE, OF_SCENARIO, alone(("IF", "V"))))
for id_, name in (("c28", "IS"), ("c30", "CNG"), ("c31", "fr")):
    twice(id_, lambda lost, name=name: [each(LONE, OF_SCENARIO, after_losses(name, lost))])  # type: ignore[misc]
twice("c29", lambda lost: [each("{measure:set}_" + LONE, OF_SCENARIO, after_losses(("IF", "V"), lost))])


def judged(shown: Shown) -> Callable[[str, Labels], Check | None]:
    """The comparison of a cell in a table, by its reading and labels; None where no claim judges the cell.

    In scenario 4 lost ACKs have the literal reading, and lost data the wider one.
    """
    (table,) = shown.data.values()
    data = {f"has_shaping-{name}": table for name in ("table02", "table05", "table07")}
    found: dict[tuple[str, str], Check] = {}
    # the option threshold=mixture takes cells from figure 3, which a table does not have
    for it in claim.build(replace(shown.options, threshold="unbounded")):
        if it.id.removeprefix("has_shaping-") in CELLS:
            for reading, checks in (("literal", it.literal), ("wider", it.relaxed)):
                found |= {(reading, check.label): check for check in (checks(data) if checks else ())}

    def check(reading: str, labels: Labels) -> Check | None:
        if labels.get("loss") not in (None, ACKS if reading == "literal" else net.DATA):
            return None
        template = OF_CLIENT if labels.get("scenario", S1) == S1 else OF_SCENARIO
        return found.get((reading, worded(template, labels, WORDS)))

    return check


OF_TABLES: Mapping[int, tuple[str, ...]] = {
    2: tuple(f"c{n:02d}" for n in range(1, 10)),
    3: ("c10", "c11", "c12"),
    4: tuple(f"c{n}" for n in range(13, 19)),
    5: ("c19", "c20", "c21"),
    6: ("c23", "c24"),
    7: ("c26", "c27", "c28", "c29"),
    8: ("c30", "c30w", "c31", "c31w"),
}
"""The claims that compare a table's cells. Scenario 1 is in Tables 2 and 4 only."""


def within(comparisons: Mapping[str, Mapping[str, Any]]) -> dict[int, tuple[int, int, int]]:
    """By table: cells with a mean in the strict set, with one in the strict or the lenient set, and all.

    Args:
        comparisons: of the results that ship (`reproduce.read_comparisons`).
    """

    def inside(checks: list[dict[str, Any]] | None) -> set[str]:
        return {str(it["label"]) for it in checks or () if it["accepted"][0] <= it["mean"] <= it["accepted"][1]}

    found = {}
    for table, names in OF_TABLES.items():
        rows = [comparisons[f"has_shaping-{name}"] for name in names]
        strict = [inside(row["checks"]) for row in rows]
        lenient = [one | inside(row["relaxed_checks"]) for one, row in zip(strict, rows, strict=True)]
        found[table] = (sum(map(len, strict)), sum(map(len, lenient)), sum(len(row["checks"]) for row in rows))
    return found


def verdict_of(check: Check | None) -> Verdict | None:
    """The verdict of a cell by itself, as a claim of one comparison."""
    return None if check is None else judge_one(check, paper_runs=net.RUNS, level=net.LEVEL).verdict


# --- Arithmetic on printed numbers ----------------------------------------------------------------------------------


def means_as_printed(names: tuple[str, ...], table: dict[tuple[str, str, str, str], float]) -> Values:
    """The mean of what is printed for scenarios 1 to 3 less the printed mean."""

    def found(shown: Shown) -> Iterator[tuple[Labels, float]]:
        for name, control, method in product(names, GOOD, SHAPED):
            mean = float(np.mean([table[name, scenario, control, method] for scenario in THREE]))
            printed = table[name, MEAN, control, method]
            labels = {"measure": name, "control": control, "method": method, "mean": mean, "printed": printed}
            yield labels, round(mean - printed, 6)

    return Values(found)


AS_PRINTED = WHERE + ": {mean:.4g} − {printed:g} as printed"
claim("c22", each("difference", AS_PRINTED, means_as_printed(QUALITY, TABLE_5)))
claim("c25", each("difference", AS_PRINTED, means_as_printed(METRICS[3:], TABLE_6)))
claim(
    "c36e",
    each("newreno", "4.95 / 1.89", TABLE_2["IS", S1, NEWRENO, net.NONE] / TABLE_2["IS", S1, NEWRENO, HTBM]),
    each("cubic", "7.47 / 1.63", TABLE_2["IS", S1, CUBIC, net.NONE] / TABLE_2["IS", S1, CUBIC, RWTM]),
)
GAPS = [table["IF", S1, CUBIC, HTBM] - table["IF", S1, CUBIC, RWTM] for table in (TABLE_2, TABLE_3)]
claim("c39e", each("one", "client 1: 20.45 − 5.02", GAPS[0]), each("two", "client 2: 4.47 − 2.61", GAPS[1]))
FAITHFUL = (100 - TABLE_2["IF", S1, ILLINOIS, HTBM]) / (100 - TABLE_2["IF", S1, CUBIC, HTBM])
claim(
    "c41e",
    each("faithful", "92.25 / 79.55", FAITHFUL),
    each("faster", "52.06 / 21.10", TABLE_2["V", S1, CUBIC, HTBM] / TABLE_2["V", S1, ILLINOIS, HTBM]),
)
claim("c48e", each("chunks", "1 / 0.24", 1 / TABLE_4["fr", S1, CUBIC, RWTM]))
claim(
    "c64e",
    each("ratio", "246.92 / 49.35", TABLE_6["CNG", MEAN, CUBIC, HTBM] / TABLE_6["CNG", MEAN, ILLINOIS, HTBM]),
)
TOP_MBPS, SECOND_MBPS = (net.share_mbps(level) for level in (net.TOP, net.SECOND))
claim(
    "c79",
    each("short", "two videos of level 4 − the line", 2 * net.LADDER_KBPS[net.TOP] / 1e3 - net.LINE_MBPS),
    each("fits", "the line − levels 4 and 3 with 10 %", net.LINE_MBPS - TOP_MBPS - SECOND_MBPS),
)
claim("c80", each("most", "1 + σ R/B at R = B", 1 + net.SIGMA * 1.0))

# --- Table 9 --------------------------------------------------------------------------------------------------------

MINE = (ILLINOIS, RWTM)
STEPS = {
    "1 to 3": [((CUBIC, RWTM), (ILLINOIS, HTBM)), (MINE, (ILLINOIS, HTBM)), ((ILLINOIS, HTBM), (CUBIC, HTBM))],
    "4": [((ILLINOIS, HTBM), MINE), (MINE, (CUBIC, RWTM)), (MINE, (CUBIC, HTBM))],
    "5": [(MINE, (CUBIC, RWTM)), ((CUBIC, RWTM), (CUBIC, HTBM)), ((CUBIC, HTBM), (ILLINOIS, HTBM))],
}
"""The better and the worse of two scores by scenarios; equal scores are not compared."""


def scored(lost: str) -> list[Comparison]:
    """The order of the scores."""
    return [
        each(
            "step",
            f"scenarios {group}: {', '.join(worse)} − {', '.join(better)}",
            bad.at(control=worse[0], method=worse[1]) - bad.at(control=better[0], method=better[1]),
        )
        for group, bad in scores(lost).items()
        for better, worse in STEPS[group]
    ]


def best(lost: str) -> list[Comparison]:
    """Illinois with RWTM against all others."""
    one, two, three = scores(lost).values()
    overall = (one + two + three) / 3.0
    first = badness(*(cell(name, scenario=S1, method=SHAPED) for name in QUALITY))
    congestion = cell("CNG", "table05", scenario=THREE, control=ILLINOIS, method=RWTM)
    than = "{control}, {method} − Illinois, RWTM"
    others = overall.where(lambda control, method: (control, method) != MINE)
    worse = first.where(lambda control: control not in GOOD)
    return [
        each("best", f"overall: {than}", others - overall.at(control=ILLINOIS, method=RWTM)),
        each("best", f"scenario 1: {than}", worse - first.at(control=ILLINOIS, method=RWTM)),
        each("congestion", "CNG, {scenario}", congestion),
    ]


twice("c32", scored)
twice("c33", best)

# --- Section 4.1.1: scenario 1 --------------------------------------------------------------------------------------


def two(names: Names, client: int = ONE, **labels: Any) -> Values:
    """Measures of one of two clients that start together."""
    return cell(names, "table02", client, scenario=S1, **labels)


def both(**labels: Any) -> Values:
    """The quality of both clients."""
    return joined(*(two(QUALITY, client, **labels).labelled(client=client) for client in (ONE, net.TWO)))


FREE, SHAPER, TUNER = ({name: two(name, method=method) for name in METRICS} for method in net.METHODS)
"""Client 1's measures without shaping, with HTBM and with RWTM, by name."""
HIGHEST, LOWEST = (
    together(lambda v, lowest=lowest: chosen_by_others(v, range(len(v)), lowest=lowest), two("IF", method=SHAPED))  # type: ignore[misc]
    for lowest in (False, True)
)
claim("c34", each("ratio", "highest infidelity over lowest", over_mean(HIGHEST, LOWEST)))
GAINS = minus(both(method=net.NONE), both(method=SHAPED))
claim("c35", most("gain", "cells that shaping improves", "{measure}, {client}, {control}, {method}", GAINS))
REDUCED = over_mean(FREE["IS"].at_points_of(two("IS", method=SHAPED)), two("IS", method=SHAPED))
REDUCED = REDUCED.where(lambda control, method: (control, method) in ((NEWRENO, HTBM), (CUBIC, RWTM)))
claim("c36", each("{control:set}", "IS without shaping over IS, {control}, {method}", REDUCED))
TUNED_BETTER = both(method=HTBM) - both(method=RWTM)
claim("c37", most("difference", "cells in which RWTM is better", "{measure}, {client}, {control}", TUNED_BETTER))
SECOND = two(QUALITY, ONE, method=SHAPED) - two(QUALITY, net.TWO, method=SHAPED)
claim("c38", each("difference", WHERE + ": client 1 − client 2", SECOND))
claim.wider("c38", most("difference", "cells in which client 2 is better", WHERE + ": client 1 − client 2", SECOND))
GAP_1, GAP_2 = (
    (two(QUALITY, client, method=RWTM) - two(QUALITY, client, method=HTBM)).map(lambda v: v * np.sign(np.nanmean(v)))
    for client in (ONE, net.TWO)
)
GAP = "{measure}, {control}: gap of client 1 − gap of client 2"
claim("c39", most("difference", "cells in which client 1's gap is larger", GAP, GAP_1 - GAP_2))
BAD: Labels = {"control": [NEWRENO, VEGAS], "method": SHAPED}
claim(
    "c40",
    each("{measure:set}", WHERE, two(("IF", "V"), **BAD)),
    each("stable", "IS without shaping − IS, {control}, {method}", minus(FREE["IS"], two("IS", **BAD))),
)


def of_two(it: Values, top: str, bottom: str) -> Values:
    """Values with one control over their means with another."""
    return over_mean(it.at(control=top), it.at(control=bottom))


claim(
    "c41",
    each("stable", "IS, CUBIC − Illinois", SHAPER["IS"].at(control=CUBIC) - SHAPER["IS"].at(control=ILLINOIS)),
    each("faithful", "100 − IF, Illinois over CUBIC", of_two(100 - SHAPER["IF"], ILLINOIS, CUBIC)),
    each("faster", "V, CUBIC over Illinois", of_two(SHAPER["V"], CUBIC, ILLINOIS)),
)
claim(
    "c42",
    *(each("better", f"{it}, CUBIC over Illinois", of_two(TUNER[it], CUBIC, ILLINOIS)) for it in ("IS", "IF")),
    each("faster", "V, Illinois over CUBIC", of_two(TUNER["V"], ILLINOIS, CUBIC)),
)
TWENTY, TRIPLE = (SHAPER["CNG"] - times * TUNER["CNG"] for times in (20, 3))
claim(
    "c43",
    each("more", "{control}: CNG, HTBM − 20 × RWTM", TWENTY.where(lambda control: control != VEGAS)),
    each("more", "{control}: CNG, HTBM − 3 × RWTM", TRIPLE.where(lambda control: control == VEGAS)),
)
TIMES_3 = 3 * SHAPER["CNG"].where(lambda control: control != CUBIC)
claim("c44", each("more", "CNG, HTBM: CUBIC − 3 × {control}", minus(SHAPER["CNG"].at(control=CUBIC), TIMES_3)))
FEWER = two("fr", method=[RWTM, net.NONE]) - SHAPER["fr"]
claim("c45", each("less", "fr, {control}: {method} − HTBM", FEWER))
for id_, method in (("c46", HTBM), ("c47", RWTM)):
    claim(id_, each("delay", "{control}, {method}", m.mixed(m.delay_ms, scenario=S1, method=[method])))
claim(
    "c48",
    each("reached", "fr, {control}", TUNER["fr"].where(lambda control: control in GOOD)),
    each("floor", "fr, {control}", TUNER["fr"].where(lambda control: control not in GOOD)),
    window=m.WINDOW_SEGMENTS(scenario=S1, control=ILLINOIS, method=RWTM),
)
BETWEEN = two(("IF", "fr"), control=CUBIC, method=HTBM)
claim(
    "c49",
    each("step", "{measure}: CUBIC − Illinois", BETWEEN - two(("IF", "fr"), control=ILLINOIS, method=HTBM)),
    each("step", "{measure}: {control} − CUBIC", two(("IF", "fr"), control=[NEWRENO, VEGAS], method=HTBM) - BETWEEN),
)

# --- Section 4.1.2: figures 2 to 9 ----------------------------------------------------------------------------------


def of_figure(metric: Metric, figure: str) -> Values:
    """A metric in all runs of a figure."""
    control, method = m.FIGURES[figure]
    return metric(figure, scenario=S1, control=control, method=method)


def in_figure(figure: str, *compared: tuple[str, str, Metric]) -> list[Comparison]:
    """Comparisons of a figure's metrics: accepted set, label, metric."""
    return [each(name, label, of_figure(metric, figure)) for name, label, metric in compared]


def nearest_v(runs: list[Run], o: net.Options) -> float:
    """V of the run nearest to the means."""
    return float(value(o, ONE, "V", representative(runs, o)) or 0.0)


V, FR = measured("V"), measured("fr")
TWICE = 2 * SHAPER["fr"].where(lambda control: control in GOOD)
CONVERGING = ("fig04", "fig06", "fig07", "fig08", "fig09")
claim("c50", each("more", "{control}, {method}", joined(*(m.avoidance(figure) for figure in CONVERGING))))
claim(
    "c51",
    each("never", "V of the run nearest to the means", of_runs(nearest_v, "fig02")),
    each("fr", "fr", of_figure(FR, "fig02")),
    each("twice", "fr − 2 × fr of {control}", minus(of_figure(FR, "fig02"), TWICE)),
)
NEWRENO_IF = two("IF", control=NEWRENO, method=RWTM)
LOW, HIGH = ({"threshold": segments} for segments in net.MIXED)
claim(
    "c52",
    each("share", "share of runs with IF = 100 %", NEWRENO_IF.map(lambda v: (v > 99.9).astype(np.float64))),
    each("fast", "share of runs with IF below 15 %", NEWRENO_IF.map(lambda v: (v < 15).astype(np.float64))),
    each("falls", "CNG", two("CNG", control=NEWRENO, method=RWTM)),
    low=measured("IF")("fig03", **LOW),
    high=measured("IF")("fig03", **HIGH),
)
claim(
    "c53",
    each("unfaithful", "IF, 27 segments", measured("IF")("fig03", **LOW)),
    each("low", "fr, 27 segments", FR("fig03", **LOW)),
    each("fast", "V, 69 segments", V("fig03", **HIGH)),
    each("high", "fr, 69 segments", FR("fig03", **HIGH)),
)
AFTER = "median threshold after convergence"
ABOVE = "share of the time above the last maximum"
claim(
    "c54",
    *in_figure(
        "fig04",
        ("late", "V", m.converged_s),
        ("threshold", AFTER, m.settled),
        ("before", "falls before convergence", m.falls_before),
        ("after", "falls after convergence", m.falls_after),
        ("additive", "median step down", m.step_down),
    ),
)
OTHERS = TUNER["CNG"].where(lambda control: control != VEGAS)
claim(
    "c55",
    *in_figure(
        "fig05",
        ("timeouts", "timeouts a run", m.timeouts),
        ("mostly", "share at level 4 after 45 s", m.at_the_top),
        ("stretch", "longest stretch at level 4", m.longest_stretch),
    ),
    each("worse", "CNG − CNG of {control}", minus(TUNER["CNG"].at(control=VEGAS), OTHERS)),
)
claim(
    "c56",
    *in_figure("fig06", ("threshold", AFTER, m.settled), ("few", "long off periods a run", m.off_periods)),
    each("more", "CNG − CNG of NewReno", SHAPER["CNG"].at(control=ILLINOIS) - SHAPER["CNG"].at(control=NEWRENO)),
)


def delayed(runs: list[Run], o: net.Options) -> Floats:
    """V of runs with early falls less the mean of the others."""
    early = np.array([m.early_falls.of(run, o) for run in runs]) > 0
    late = np.array([V.of(run, o) for run in runs])
    others = late[~early]
    found: Floats = late[early] - float(np.mean(others)) if others.size else np.full(int(early.sum()), np.nan)
    return found


claim(
    "c57",
    *in_figure("fig07", ("first", "first threshold", m.first), ("last", "threshold at the end", m.last)),
    each("delayed", "V of runs with early congestion − V of the others", of_runs(delayed, "fig07")),
)
claim(
    "c58",
    *in_figure(
        "fig08",
        ("first", "first threshold", m.first),
        ("settled", AFTER, m.settled),
        ("tens", "V", V),
        ("convex", ABOVE, m.convex),
    ),
)
claim(
    "c59",
    *in_figure(
        "fig09",
        ("first", "first threshold", m.first),
        ("raised", "threshold at 30 s − first", m.raised),
        ("maximum", "window before a reduction", m.maximum),
        ("few", "reductions a run", m.losses),
        ("concave", ABOVE, m.convex),
    ),
)
claim(
    "c60",
    *(
        each("less", f"{name}: Illinois − CUBIC", of_figure(metric, "fig07") - of_figure(metric, "fig09"))
        for name, metric in (("first threshold", m.first), ("early falls", m.early_falls), ("V", V))
    ),
)

# --- Section 4.2: scenarios 1 to 3 ----------------------------------------------------------------------------------


def three(names: Names, control: Any, method: Any, scenario: Any = THREE) -> Values:
    """Measures in scenarios 1 to 3."""
    return cell(names, "table05", scenario=scenario, control=control, method=method)


def means(names: Names, control: Any, method: Any) -> Values:
    """MV: the mean of scenarios 1 to 3, run by run."""
    return three(names, control, method).reduce("scenario", row_mean)


claim(
    "c61",
    each(
        "difference", "MV of {measure}, {control}: HTBM − RWTM", means(QUALITY, GOOD, HTBM) - means(QUALITY, GOOD, RWTM)
    ),
)
claim("c62", each("{measure:set}", "{measure}, {scenario}, {control}", three(("CNG", "fr"), GOOD, RWTM)))
CUBIC_BETTER = means(QUALITY, ILLINOIS, RWTM) - means(QUALITY, CUBIC, RWTM)
claim("c63", each("difference", "MV of {measure}, RWTM: Illinois − CUBIC", CUBIC_BETTER))
ILLINOIS_BETTER = three(METRICS, CUBIC, HTBM) - three(METRICS, ILLINOIS, HTBM)
BETTER = "{measure}, {scenario}, HTBM: CUBIC − Illinois"
FIVE = over_mean(means("CNG", CUBIC, HTBM), means("CNG", ILLINOIS, HTBM))
FIVEFOLD = each("ratio", "MV of CNG, HTBM: CUBIC over Illinois", FIVE)
claim("c64", each("difference", BETTER, ILLINOIS_BETTER), FIVEFOLD)
claim.wider("c64", most("difference", "cells in which Illinois is better", BETTER, ILLINOIS_BETTER), FIVEFOLD)
JOINED = minus(three(("IF", "V"), GOOD, HTBM, net.S2), three(("IF", "V"), GOOD, HTBM, (S1, net.S3)))
claim("c65", each("difference", "{measure}, {control}, HTBM: S2 − {scenario}", JOINED))

# --- Section 4.3: a lone client, and a second of losses -------------------------------------------------------------


def cubic_worst(lost: str) -> list[Comparison]:
    """CUBIC after losses, and less Illinois."""
    worse = after_losses(QUALITY, lost, control=CUBIC) - after_losses(QUALITY, lost, control=ILLINOIS)
    return [
        each("{measure:set}", WHERE, after_losses(METRICS, lost, control=[CUBIC])),
        each("worse", "{measure}, {method}: CUBIC − Illinois", worse),
    ]


def degrades_more(lost: str) -> list[Comparison]:
    """Degradation with RWTM less that with HTBM, %."""
    lossy = cell(QUALITY, "table07", scenario=S4, loss=lost)
    degraded = over_mean(lossy, cell(QUALITY, "table07", scenario=net.WL)).map(lambda v: 100 * (v - 1))
    values = degraded.at(method=RWTM) - degraded.at(method=HTBM)
    return [each("more", "{measure}, {control}: degradation with RWTM − with HTBM", values)]


def order(lost: str) -> list[Comparison]:
    """Illinois with HTBM, Illinois with RWTM, then CUBIC."""
    lossy = cell((*QUALITY, "fr"), "table07", scenario=S4, loss=lost)
    second = lossy.at(control=ILLINOIS, method=RWTM)
    return [
        each("step", "{measure}, Illinois: RWTM − HTBM", second - lossy.at(control=ILLINOIS, method=HTBM)),
        each("step", "{measure}: CUBIC with {method} − Illinois with RWTM", lossy.at(control=CUBIC) - second),
    ]


twice("c66", cubic_worst)
twice("c67", degrades_more)
twice("c68", order)
claim(
    "c69",
    each("htbm", WHERE, cell("fr", "table07", scenario=net.WL, method=[HTBM])),
    each("rwtm", WHERE, cell("fr", "table07", scenario=net.WL, method=[RWTM])),
    each(
        "more",
        WHERE + ": alone − with client 2",
        cell("fr", "table07", scenario=net.WL, method=[RWTM]) - cell("fr", "table05", scenario=S1, method=[RWTM]),
    ),
)

# --- Section 4.4: figures 10 and 11 ---------------------------------------------------------------------------------

GOOD_TO_MS, HURT_ABOVE_MS, LEVEL_FROM_MS, LAST_MS = 35.0, 14.0, 21.0, net.DEVIATIONS_MS[-1]
"""The last point before "around 40 ms"; that up to which nothing hurts; the first one after "around 20 ms"."""


def jittery(names: Names, control: Any, method: str, lo: float = 0.0, hi: float = LAST_MS) -> Values:
    """Measures of a lone client over the deviation."""
    return cell(names, "fig10", control=control, method=method, deviation_ms=between(lo, hi))


def part(names: Names, control: Any, method: str, lo: float = 0.0, hi: float = LAST_MS) -> Values:
    """Their means over a part of the axis, run by run."""
    return jittery(names, control, method, lo, hi).reduce("deviation_ms", row_mean)


def bend(grid: list[float], curve: Floats, at: float) -> tuple[Floats, Floats]:
    """The rise up to a point of the axis, and the rise after it."""
    middle = curve[grid.index(at)]
    return middle - curve[0], curve[-1] - middle


def convexity(grid: list[float], curve: Floats) -> Floats:
    """The rise of a curve's second half less that of the first."""
    first, second = bend(grid, curve, min(grid, key=lambda at: abs(at - LAST_MS / 2)))
    return second - first


def slope_change(grid: list[float], curve: Floats) -> Floats:
    """A curve's slope from 35 ms less that up to there."""
    before, after = bend(grid, curve, GOOD_TO_MS)
    return after / (LAST_MS - GOOD_TO_MS) - before / GOOD_TO_MS


def line_change(grid: list[float], curve: Floats) -> Floats:
    """The change along a straight line through the points over their mean."""
    centred = np.array(grid) - np.mean(grid)
    slope = centred @ curve / float(centred @ centred)
    found: Floats = slope * np.ptp(centred) / float(np.nanmean(row_mean(grid, curve)))
    return found


def close(name: str) -> Values:
    """CUBIC less Illinois with RWTM, over the mean level of both."""
    both = [jittery(name, control, RWTM) for control in GOOD]
    level = together(lambda v: float(np.mean(np.nanmean(v, axis=1))), *both)
    return (both[0] - both[1]) / level


BELOW = "{control}, {deviation_ms}: HTBM with {other} − RWTM"
found = []
for name in QUALITY:
    below = joined(
        *(
            (jittery(name, other, HTBM) - jittery(name, control, RWTM)).labelled(control=control, other=other)
            for control, other in product(GOOD, GOOD)
        )
    )
    rise = "{measure}, {control}: rise of the second half − of the first"
    found += [
        most("below", f"{name}: points at which RWTM is below HTBM", BELOW, below),
        each("convex", rise, jittery(name, GOOD, RWTM).reduce("deviation_ms", convexity)),
        most("close", f"{name}: points at which the two are close", "{deviation_ms}", close(name)),
    ]
claim("c70", *found)
SLOPES = jittery(QUALITY, GOOD, RWTM).reduce("deviation_ms", slope_change)
claim("c71", each("bend", f"{{measure}}, {{control}}: slope behind {GOOD_TO_MS:g} ms − before", SLOPES))
SAFER = part(QUALITY, CUBIC, RWTM, GOOD_TO_MS) - part(QUALITY, ILLINOIS, RWTM, GOOD_TO_MS)
claim("c72", each("less", f"{{measure}}, RWTM, from {GOOD_TO_MS:g} ms: CUBIC − Illinois", SAFER))
QUIET, LOUD = part(QUALITY, GOOD, HTBM, hi=HURT_ABOVE_MS), part(QUALITY, GOOD, HTBM, HURT_ABOVE_MS + 1)
RISE = LOUD - QUIET
claim(
    "c73",
    each("rise", "{measure}, {control}: above 14 ms over below", over_mean(LOUD, QUIET)),
    each("more", "{measure}: rise with Illinois − with CUBIC", RISE.at(control=ILLINOIS) - RISE.at(control=CUBIC)),
)
LEVELS = jittery(("IS", "IF"), CUBIC, HTBM, LEVEL_FROM_MS).reduce("deviation_ms", line_change)
claim("c74", each("change", "{measure}: change along the line over its level", LEVELS))
TUNED = [jittery("CNG", control, RWTM) for control in GOOD]
NEAR_1 = "points at which CUBIC over Illinois is near 1"


def ratios(name: str, method: str) -> Values:
    """CUBIC over the mean of Illinois at each deviation."""
    return over_mean(jittery(name, CUBIC, method), jittery(name, ILLINOIS, method))


claim(
    "c75",
    most("low", "RWTM: points at which CNG is low", "{control}, {deviation_ms}", jittery("CNG", GOOD, RWTM)),
    most("alike", "RWTM: points at which CUBIC and Illinois are alike", "{deviation_ms}", TUNED[0] - TUNED[1]),
    most("close", f"HTBM: {NEAR_1}", "{deviation_ms}", ratios("CNG", HTBM)),
)
EXPLODES = over_mean(part("fr", ILLINOIS, HTBM, LEVEL_FROM_MS), part("fr", ILLINOIS, HTBM, hi=HURT_ABOVE_MS))
claim(
    "c76",
    each("explodes", "fr, Illinois with HTBM: from 21 ms over up to 14 ms", EXPLODES),
    most("alike", f"fr, RWTM: {NEAR_1}", "{deviation_ms}", ratios("fr", RWTM)),
)

# --- All cells, the equation of a window, figure 3 ------------------------------------------------------------------

EARLIER = 40
"""Runs with which section 4 compares its 60."""


def change(values: Floats) -> Any:
    """How much the mean of 40 runs differs from that of 60, %; undefined with fewer runs."""
    if values.size < net.RUNS:
        return np.full(values.size, np.nan)
    whole, part = float(np.mean(values)), float(np.mean(values[:EARLIER]))
    # nothing in any run differs by nothing
    return 0.0 if whole == part else 100 * abs(part / whole - 1) if whole else math.inf


EVERY = [cell(METRICS, "table02", scenario=[S1]), cell(METRICS, "table05", scenario=NEW)]
EVERY += [alone(METRICS), after_losses(METRICS, ACKS)]
claim("c77", each("change", OF_SCENARIO, joined(*(it.map(change) for it in EVERY))))
claim("c78", each("ratio", "{control}", m.GOODPUT("law") / m.advertised_mbps("law")))
COMBINATION = {"scenario": S1, "method": RWTM}
CHOSEN = over_mean(
    cell(QUALITY, "fig03", control=NEWRENO, **HIGH, **COMBINATION), cell(QUALITY, control=ILLINOIS, **COMBINATION)
)
claim("c81", each("ratio", "{measure}, NewReno from 69 segments over Illinois", CHOSEN))
