"""What each claim compares; what is accepted, and the notes, are in claims.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from evenflow import qoe
from evenflow.claims import Data, Judgement
from evenflow.kit import Claims
from evenflow.lab import Floats, chosen_by_others, quotient
from evenflow.study import Run
from evenflow.values import (
    Comparison,
    Metric,
    Shown,
    Values,
    between,
    each,
    given,
    joined,
    listed,
    most,
    of_runs,
    paired,
    pooled,
    together,
)

from . import measures as m
from . import network as net
from .experiments import ALMOST_FREE, DEPTHS, JUST_ABOVE, MOST, QUEUES, RANKED, deployability, mean, of_users
from .measures import COMPLETION, DROPPED, LIGHT_DELAY, LOST, QUALITY, REPORTS, WORDS, D, U, X, over_r
from .network import COMPOUND, CUBIC, DT, ECN, FULL, HEAVY, LEDBAT, LIGHT, MILD, NONE, ON, RED, SOFT, STRICT

claim = Claims("conex", __file__, net.LEVEL, WORDS)

MIDDLE = between(10, 150)
"""Filling rates at which harshness and depth are compared: policers act, and are not what stops light users."""
LEAST, HIGHEST = net.RATES[0], net.RATES[-1]
FEW_TOKENS = 5.0
AT_FEW, AT_HIGHEST = between(FEW_TOKENS, FEW_TOKENS), between(HIGHEST)
USUAL_DEPTH = float(net.WINDOW_PACKETS)


def on(metric: Metric, where: str = "", /, **labels: Any) -> Values:
    """A metric with policing."""
    return metric(where, policing=ON, **labels)


def free(metric: Metric, where: str = "", /, **labels: Any) -> Values:
    """A metric without policing."""
    return metric(where, policing=NONE, **labels)


def of_curve(function: Callable[[Floats], Any]) -> Callable[[Sequence[Any], Floats], Any]:
    """A function of a curve's values that does not ask for its grid."""
    return lambda grid, curve: function(curve)


SPREAD, RELATIVE = of_curve(m.spread), of_curve(m.relative_spread)


def step(label: str, head: str = "{r}: ", of: str = "") -> str:
    """Words of a step: "r = 5: RTT 50 ms − RTT 20 ms"."""
    return f"{head}{of}{{after:{label}}} − {of}{{before:{label}}}"


def steps(name: str, words: str, values: Values, label: str, of: str = "") -> Comparison:
    """At most steps along a label."""
    return most(name, words, step(label, of=of), values.steps(label))


def unpoliced(policing: str) -> bool:
    """`NONE` as a condition: a claim is not decided by a part of the paper's grid."""
    return policing == NONE


def free_steps(name: str, metric: Metric, label: str, of: str = "", **labels: Any) -> Comparison:
    """Each step along a label, without policing."""
    return each(name, step(label, "", of), metric(policing=unpoliced, **labels).steps(label))


def lowest(curve: Floats) -> Floats:
    """The lowest value of each run, at the place that the other runs choose."""
    return chosen_by_others(curve, range(len(curve)), lowest=True)


def agree(one: Floats, other: Floats) -> Floats:
    """Rank correlation of two curves, run by run."""
    return np.array([m.ranks_agree(a, b) for a, b in zip(one.T, other.T, strict=True)])


# --- Figure 8 ---------------------------------------------------------------------------------------------------------

claim("c01", each("share", "no policing", free(m.PACKETS)))
claim("c02", each("unfairness", "no policing", free(U)))


def free_scenarios(shown: Shown) -> Iterator[tuple[dict[str, Any], float]]:
    """The number of different scenarios without policing."""
    yield {}, float(len({net.bulk(shown.options, policing=NONE, r=r).hash for r in net.RATES}))


claim("c03", each("scenarios", "all r", Values(free_scenarios)))
LESS_POLICED = on(DROPPED[HEAVY], r=between(hi=120)) - on(DROPPED[LIGHT])
claim("c04", each("difference", "{harshness}, {r}", LESS_POLICED))
claim(
    "c05",
    *(
        each(name, f"{{harshness}}, {{r}}: {words}", on(metric, r=between(2, 120)) - free(metric))
        for name, words, metric in (("light", "X_L", X[LIGHT]), ("unfairness", "U", U))
    ),
)
AT_LEAST: dict[str, Any] = {"r": LEAST, "harshness": MILD}
claim(
    "c06",
    each("rise", "{harshness}: r = 1 − best", on(U).reduce("r", of_curve(lambda it: it[0] - lowest(it[1:])))),
    sent=on(REPORTS[LIGHT], "fig08", **AT_LEAST),
    tokens=given(lambda o: o.level == "full", net.WINDOW_PACKETS),
    mbps=on(X[LIGHT], "fig08", **AT_LEAST),
    kept=on(X[LIGHT], "fig08", **AT_LEAST) / free(X[LIGHT], "fig08"),
    heavy=on(X[HEAVY], "fig08", **AT_LEAST),
)


def right_of_lowest(shown: Shown) -> Iterator[tuple[dict[str, Any], Floats]]:
    """U from the lowest point of the mean curve on."""
    for rest, grid, curve in on(U).curves(shown, "r"):
        first = int(np.argmin(curve.mean(axis=1)))
        yield from (({**rest, "r": r}, value) for r, value in zip(grid[first:], curve[first:], strict=True))


def by_others(curve: Floats, value: Callable[[int, int], float]) -> Floats:
    """A value for each run, of the place at which the other runs are lowest, and of the run's number."""
    seeds = curve.shape[1]
    found = np.full(seeds, np.nan)
    for seed in range(seeds if seeds > 1 else 0):
        others = np.delete(curve, seed, axis=1).mean(axis=1)
        if not np.isnan(others).any():
            found[seed] = value(int(np.argmin(others)), seed)
    return found


def rank_right_of_lowest(curve: Floats) -> Floats:
    """Rank correlation with r from the lowest point on, run by run; the other runs choose the place."""

    def rank(first: int, seed: int) -> float:
        mine = curve[first:, seed]
        return m.ranks_agree(np.arange(mine.size, dtype=np.float64), mine) if mine.size >= 3 else np.nan

    return by_others(curve, rank)


RIGHT = Values(right_of_lowest).steps("r")
claim(
    "c07",
    *(
        most("step", f"{it}: steps up", f"{it}, r = {{before}} → {{after}}", RIGHT.at(harshness=it))
        for it in net.HARSHNESSES
    ),
    each("rank", "{harshness}: rank correlation", on(U).reduce("r", of_curve(rank_right_of_lowest))),
)
claim("c08", each("unfairness", "{harshness}, {r}", on(U, r=AT_HIGHEST)))


def light_less_best(light: Floats, unfair: Floats) -> Floats:
    """A quantity at the least r less that at the r above it at which the other runs are fairest."""
    found: Floats = light[0] - by_others(unfair[1:], lambda place, seed: light[1 + place, seed])
    return found


claim(
    "c09",
    each("dropped", "{harshness}, {r}", on(DROPPED[LIGHT], r=[LEAST])),
    each("light", "{harshness}: X_L at r = 1 − best", together(light_less_best, on(X[LIGHT]), on(U), along="r")),
)


def lowest_place(curve: Floats) -> Floats:
    """The place on the grid at which each run's own curve is lowest."""
    found: Floats = np.argmin(curve, axis=0).astype(np.float64)
    return found


PLACE = on(U).reduce("r", of_curve(lowest_place))
claim(
    "c10",
    *(
        each("places", f"{a}, {b}", (PLACE.at(harshness=a) - PLACE.at(harshness=b)).map(np.abs))
        for a, b in combinations(net.HARSHNESSES, 2)
    ),
)
BEHIND = {"r": 15.0}
claim(
    "c11",
    *(
        most("step", f"{milder} − {harsher}", "{r}", on(U, harshness=milder, r=MIDDLE) - on(U, harshness=harsher))
        for harsher, milder in ((STRICT, MILD), (MILD, SOFT))
    ),
    sent=listed("{harshness} {value}", on(REPORTS[HEAVY], "fig08", **BEHIND), ", "),
    dropped=listed("{value}", on(DROPPED[HEAVY], "fig08", **BEHIND), ", "),
    u=listed("{value}", on(U, "fig08", **BEHIND), ", "),
    own=given(lambda o: o.charge == "arrival", on(m.POLICERS_SHARE, "fig08", **BEHIND)),
    alike=given(
        lambda o: o.charge == "pass", on(U, "fig08", harshness=SOFT, **BEHIND) / on(U, "fig08", harshness=STRICT)
    ),
)


def apart(one: Floats, other: Floats) -> Floats:
    """Distance of two values as a share of the larger one, %."""
    found: Floats = 100 * np.abs(one - other) / np.maximum(one, other)
    return found


OF_STRICT = on(U, harshness=STRICT, r=MIDDLE).unlabelled("harshness")
SOFT_OR_STRICT = paired(on(U, harshness=SOFT, r=MIDDLE), OF_STRICT, apart)
claim("c12", each("difference", "soft and strict, largest", SOFT_OR_STRICT.peak("r")))
claim(
    "c13",
    each("more", "{harshness}, {r}", on(m.LOSS_REPORTS, r=between(hi=45)) - free(m.LOSS_REPORTS)),
    each("share", "{harshness}, {r}: policer", on(m.POLICERS_SHARE, r=between(hi=45))),
)


def by_second(runs: list[Run]) -> Floats:
    """Times, and what the user who stays received: shape (seeds, 2, seconds)."""
    return np.array([m.received(run) for run in runs])


def slow_s(policed: Floats, unpoliced: Floats) -> Floats:
    """How long after all others stopped the user first has half of the unpoliced throughput; all of it if never."""
    found = []
    for (times, rate), (_, other) in zip(policed, unpoliced, strict=True):
        enough = (times > net.ALONE_S) & (rate >= 0.5 * other)
        # a second is named by its end
        found.append((float(times[enough][0]) - 1 if enough.any() else float(times[-1])) - net.ALONE_S)
    return np.array(found)


SLOW = paired(of_runs(by_second, policing=ON), of_runs(by_second, policing=NONE), slow_s)
claim("c14", each("slow", "strict, longest", SLOW.peak("r")), slow_at=listed("{value} s at {r}", SLOW, ", "))

# --- Figures 9 to 11 --------------------------------------------------------------------------------------------------

for id_, name in (("c15", "fig09"), ("c16", "fig10")):
    AT_DEPTHS = on(U, name, r=MIDDLE)
    claim(
        id_,
        steps("step", "steps up", AT_DEPTHS, "depth", "{harshness}, "),
        each("rank", "rank correlation, mean over r", AT_DEPTHS.reduce("depth", m.ranks_over).reduce("r", mean)),
    )
OTHER_DEPTHS = on(U, "fig11", r=between(10), depth=lambda it: it != USUAL_DEPTH)
DEPTH_SPREAD = {it: on(U, it, r=between(10)).reduce("depth", RELATIVE).reduce("r", mean) for it in ("fig09", "fig11")}
claim(
    "c17",
    each("ratio", "{depth}, {r}", OTHER_DEPTHS / on(U, "fig11", depth=USUAL_DEPTH)),
    each(
        "less",
        "spread, soft − strict",
        DEPTH_SPREAD["fig09"].unlabelled("harshness") - DEPTH_SPREAD["fig11"].unlabelled("harshness"),
    ),
    sent=free(REPORTS[HEAVY], "fig11"),
    dropped=listed("{value} % at {depth}", on(DROPPED[HEAVY], "fig11", r=HIGHEST), ", "),
)
claim(
    "c18",
    *(
        each(
            "more",
            "{harshness}",
            on(U, it).reduce("r", SPREAD).reduce("depth", mean) - on(U, it).reduce("depth", SPREAD).reduce("r", mean),
        )
        for it in DEPTHS
    ),
)
claim(
    "c19",
    *(
        each("step", step("depth", "", "{harshness}, "), on(m.FIRST_DROP, it, r=between(45, 45)).steps("depth"))
        for it in DEPTHS
    ),
)

# --- Figure 12: round trip --------------------------------------------------------------------------------------------

ENDS = "{{r}}: {{after:{0}}} over {{before:{0}}}"
RTT = "rtt_ms"
claim(
    "c20",
    steps("step", "steps up", on(U), RTT),
    most("ratio", "longest over shortest", ENDS.format(RTT), on(U).last_over_first(RTT)),
    sent=listed("{rtt_ms} {value}", free(REPORTS[HEAVY], rtt_ms=between(150)), ", "),
    losses=listed("{value}", free(m.LOSS_REPORTS, rtt_ms=between(150)), ", "),
    lost=listed("{value}", free(LOST[HEAVY], rtt_ms=between(150)) / 100 * free(m.ARRIVED), ", "),
    floor=given(lambda o: o.rto == "any-ack", 200.0),
)
claim("c21", each("unfairness", "{rtt_ms}, {r}", on(U, rtt_ms=[20.0, 50.0], r=[HIGHEST])))
U20, U100, U150, U200 = (on(U, rtt_ms=it, r=[HIGHEST]) for it in (20.0, 100.0, 150.0, 200.0))
claim("c22", each("more", "{r}", (U100 - U20) - (U200 - U150)))
claim("c23", free_steps("step", REPORTS[HEAVY], RTT))
claim("c97", steps("step", "steps down", on(DROPPED[HEAVY], r=between(45)), RTT))

# --- Figure 13: congestion control ------------------------------------------------------------------------------------

GAPS = on(U, control=CUBIC, r=between(10)) - on(U, control=COMPOUND)
LOWER = most("difference", "CUBIC − Compound", "{r}", GAPS)
SAME = (
    each(
        "rank",
        "CUBIC and Compound: rank correlation",
        together(agree, on(U, control=CUBIC), on(U, control=COMPOUND), along="r"),
    ),
    each("ratio", "{r}: Compound over CUBIC", on(U, control=COMPOUND) / on(U, control=CUBIC)),
)
claim(
    "c24",
    LOWER,
    sent=listed("{control} {value}", free(REPORTS[HEAVY]), ", "),
    marks=listed("{value}", free(m.MARKED), " and "),
    gaps=listed("{value} at {r}", GAPS, ", "),
)
claim(
    "c25",
    each(
        "variation",
        "std/mean of CUBIC − Compound",
        GAPS.reduce("r", of_curve(lambda it: quotient(np.std(it, axis=0), np.mean(it, axis=0)))),
    ),
)
claim("c26", each("more", "{r}", on(m.MET, control=CUBIC, r=between(45)) - on(m.MET, control=COMPOUND)))
claim("c27", *SAME)
claim("c92", LOWER, *SAME)

# --- Figures 14 to 17: the queue --------------------------------------------------------------------------------------

MARKING = ("fig08", "fig12", *QUEUES)
"""Experiments in which RED marks."""
claim(
    "c28",
    *(each("early", f"conex-{it}", pooled(lambda runs: float(sum(map(m.early_drops, runs))), it)) for it in MARKING),
)
SIZE, LOW, HIGH, PROBABILITY = (name for name, _, _ in QUEUES.values())
claim("c29", steps("step", "steps up", on(U), SIZE), sent=listed("{value} at {queue_ms}", free(REPORTS[HEAVY]), ", "))
claim("c30", free_steps("step", m.MARKED, SIZE))
claim("c31", each("rank", "{queue_ms}: rank correlation", on(D).reduce("r", m.ranks_over)))
claim("c32", each("ratio", "{queue_ms}", on(D, r=AT_HIGHEST) / free(D)))
claim.wider("c32", each("ratio", "{queue_ms}", on(D, r=HIGHEST, queue_ms=[net.Setting().queue_ms]) / free(D)))


def relative(metric: Metric, name: str, where: str = "", hi: float = np.inf) -> Values:
    """The spread of a metric over a parameter's values, relative to their mean, at each r."""
    return on(metric, where, r=between(hi=hi)).reduce(name, RELATIVE)


claim("c33", each("more", "{r}", relative(D, SIZE, hi=30) - relative(U, SIZE, hi=30)))


def slightly(where: str, name: str) -> list[Comparison]:
    """U rises with a threshold, and not much."""
    ratio = on(U, where).ends(name, lambda first, last: first / last)
    words = f"{{r}}: {{before:{name}}} over {{after:{name}}}"
    return [steps("step", "steps up", on(U, where), name), most("ratio", "lowest over highest", words, ratio)]


LOW_SPREAD, RTT_SPREAD = (on(U, it).reduce(of, SPREAD).reduce("r", mean) for it, of in (("fig15", LOW), ("fig12", RTT)))
claim("c34", *slightly("fig15", LOW), sent=listed("{value} at {min_threshold}", free(REPORTS[HEAVY], "fig15"), ", "))
claim.wider("c34", each("range", "thresholds over round trips", LOW_SPREAD / RTT_SPREAD))
SPREADS = on(U, r=between(hi=20)).reduce(LOW, SPREAD)
claim("c35", each("more", "{r}", on(U, r=HIGHEST).reduce(LOW, SPREAD).at_points_of(SPREADS) - SPREADS))
claim("c36", each("ratio", ENDS.format(LOW), on(D, r=between(hi=30)).last_over_first(LOW)))
claim("c37", *slightly("fig16", HIGH), sent=listed("{value} at {max_threshold}", free(REPORTS[HEAVY]), ", "))
FIRST, LAST = ({HIGH: value} for value in (net.MAX_THRESHOLDS[0], net.MAX_THRESHOLDS[-1]))
claim("c38", each("ratio", "no policing: 20 % over 100 %", D(policing=unpoliced, **FIRST) / free(D, **LAST)))


def light_gain(**labels: float) -> Values:
    """A light user's throughput over that without policing."""
    return on(X[LIGHT], r=between(hi=45), **labels) / free(X[LIGHT], **labels)


MARKS_FIRST, MARKS_LAST = (over_r(m.LIGHT_MARKED, r=between(hi=45), **it) for it in (FIRST, LAST))
claim(
    "c39",
    each("marked", "{r}", MARKS_FIRST - MARKS_LAST),
    each("gain", "{r}: gain of X_L", light_gain(**FIRST) - light_gain(**LAST)),
)


def complete(values: Values, name: str) -> Values:
    """The cells at the r at which there are all values of a label."""

    def found(shown: Shown) -> Iterator[tuple[Any, Any]]:
        cells = values.cells(shown)
        count = Counter(labels["r"] for labels, _ in cells)
        yield from (cell for cell in cells if count[cell[0]["r"]] == max(count.values()))

    return Values(found)


claim("c40", steps("step", "steps down", complete(on(U, r=between(30, 150)), PROBABILITY), PROBABILITY))
claim(
    "c41",
    free_steps("step", D, PROBABILITY),
    each("step", step(PROBABILITY), complete(on(D), PROBABILITY).steps(PROBABILITY)),
)
claim(
    "c42",
    *(
        each(name, "no policing, {max_probability}", free(D, max_probability=[p]) / net.Setting().queue_ms)
        for name, p in zip(("completely", "largely"), ALMOST_FREE, strict=True)
    ),
)
claim("c43", each("difference", "{max_probability}", on(D, r=AT_FEW) - on(D, r=HIGHEST)))
claim("c44", each("range", "{r}", on(U, r=between(hi=19.99)).reduce(PROBABILITY, SPREAD)))
claim("c45", each("range", "{r}", on(U, r=AT_HIGHEST).reduce(PROBABILITY, SPREAD)))
ABOVE: dict[str, Any] = {"max_probability": list(ALMOST_FREE), "r": [JUST_ABOVE]}
claim(
    "c46",
    each("dropped", "{max_probability}, {r}", on(DROPPED[HEAVY], **ABOVE)),
    each("unfairness", "{max_probability}, {r}: U", on(U, **ABOVE)),
    sent=listed("{value} at {max_probability}", free(REPORTS[HEAVY], max_probability=list(ALMOST_FREE)), ", "),
)
claim(
    "c47",
    *(
        each("ratio", f"{it}, {{r}}", relative(D, QUEUES[it][0], it, 20) / relative(U, QUEUES[it][0], it, 20))
        for it in ("fig15", "fig16", "fig17")
    ),
)
claim(
    "c48",
    *(each("difference", f"{{{name}}}", on(D, it, r=AT_FEW) - free(D, it)) for it, (name, _, _) in QUEUES.items()),
)

# --- Figure 18: variants ----------------------------------------------------------------------------------------------

ACCURATE, WITH_RED = (FULL, ECN), (RED, ECN, FULL)
FLOW = "{flows}"
A_FLOW = free(U).map(lambda v, flows: v / flows)
claim(
    "c49",
    *(
        each(name, "{flows}, {variant}", A_FLOW.at(variant=variants))
        for name, variants in (("droptail", [DT]), ("ratio", WITH_RED))
    ),
)
claim(
    "c50",
    each("step", "{after:flows}, {variant} − {before:flows}, {variant}", free(REPORTS[HEAVY]).steps("flows")),
)
IMPROVES = 0.9
"""Share of the unfairness without policing below which a filling rate improves fairness."""
BELOW = on(U, variant=FULL) - IMPROVES * free(U, variant=FULL)
WIDTH = BELOW.reduce("r", of_curve(lambda it: (it < 0).sum(axis=0).astype(np.float64)))
claim(
    "c51",
    each("step", step("flows", ""), WIDTH.steps("flows")),
    each("whole", step("flows", ""), WIDTH.last_less_first("flows")),
)
U_FULL, U_ECN = (on(U, variant=it) for it in ACCURATE)
APART = (U_ECN.at(r=between(hi=45)) - U_FULL) / U_FULL
claim(
    "c52",
    each("rank", "{flows}: rank correlation", together(agree, U_FULL, U_ECN, along="r")),
    each(
        "distance",
        "{flows}: |ECN − Full| / Full",
        APART.reduce("r", of_curve(lambda it: np.median(np.abs(it), axis=0))),
    ),
    ecn=listed("{value} with {flows}", free(REPORTS[HEAVY], variant=ECN), ", "),
    full=listed("{value}", free(REPORTS[HEAVY], variant=FULL), ", "),
)
BELOW_RED = on(U, variant=ACCURATE, r=MIDDLE) - on(U, variant=RED)
AT_45: dict[str, Any] = {"r": 45.0, **MOST}
claim(
    "c53",
    most("difference", "{flows}: {variant} − REDConEx", "{r}", BELOW_RED, by=("flows", "variant")),
    sent=listed("{variant} {value}", free(REPORTS[HEAVY], **MOST), ", "),
    u=listed("{value}", on(U, **AT_45), ", "),
)
NOT_FULL = U_FULL.at(r=between(45, 150)) - U_ECN
GAP = NOT_FULL.reduce("r", mean)
claim(
    "c54",
    most("difference", "{flows}: Full − ECN", "{r}", NOT_FULL, by=("flows",)),
    each("gap", "Full − ECN, 36 flows − 9 flows", GAP.at(flows=36) - GAP.at(flows=9)),
)


def around_lowest(beside: bool, dt: Floats, other: Floats) -> Floats:
    """U of DT less another's, where DT is lowest in the other runs, or at the lower one of the neighbours."""
    less = dt - other

    def value(place: int, seed: int) -> float:
        others = np.delete(dt, seed, axis=1).mean(axis=1)
        near = [it for it in (place - 1, place + 1) if 0 <= it < len(dt)]
        return float(less[min(near, key=lambda it: float(others[it])) if beside else place, seed])

    return by_others(dt, value)


claim(
    "c55",
    *(
        each(
            "difference",
            f"{{flows}}: DT − {other}, {words}",
            together(partial(around_lowest, beside), on(U, variant=DT), on(U, variant=other), along="r"),
        )
        for other in WITH_RED
        for words, beside in (("at DT's lowest", False), ("beside", True))
    ),
)
claim("c56", free_steps("step", REPORTS[HEAVY], "variant", "{flows}, ", flows=[net.FLOWS[-1]]))
claim("c94", each("ratio", FLOW, on(U, variant=DT).trough("r") / free(U, variant=DT)))

# --- Figure 19 --------------------------------------------------------------------------------------------------------


def met_by_light(metric: Metric, variant: str, r: Any = None) -> Values:
    """A metric of a variant without policing and at filling rates."""
    return over_r(metric, r=r, variant=variant, **MOST)


claim("c57", each("delay", "{r}", met_by_light(LIGHT_DELAY, DT, between(45))))
claim(
    "c58",
    *(
        comparison
        for other in ACCURATE
        for comparison in (
            each(
                "difference",
                f"{{r}}: {RED} − {other}",
                met_by_light(LIGHT_DELAY, RED, [HIGHEST]) - met_by_light(LIGHT_DELAY, other),
            ),
            most(
                "difference",
                f"{RED} − {other}",
                "{r}",
                on(LIGHT_DELAY, variant=RED, **MOST) - on(LIGHT_DELAY, variant=other, **MOST),
            ),
        )
    ),
)
claim(
    "c59",
    each(
        "difference",
        "{r}: {variant} − DTConEx",
        on(LIGHT_DELAY, variant=ACCURATE, **MOST) - on(LIGHT_DELAY, variant=DT, **MOST),
    ),
)
claim(
    "c60",
    each("rank", "{variant}: rank correlation", on(LIGHT_DELAY, variant=WITH_RED, **MOST).reduce("r", m.ranks_over)),
)
LOST_AT = {r: on(LOST[LIGHT], variant=[DT, RED], r=r, **MOST) for r in (FEW_TOKENS, HIGHEST)}
claim("c61", each("ratio", "{variant}", LOST_AT[FEW_TOKENS] / LOST_AT[HIGHEST]))
claim(
    "c62",
    each("difference", "{r}", met_by_light(LOST[LIGHT], RED) - met_by_light(LOST[LIGHT], DT)),
    u_dt=on(U, variant=DT, **AT_45),
    lost_dt=on(LOST[LIGHT], variant=DT, **AT_45),
    u_red=on(U, variant=RED, **AT_45),
    lost_red=on(LOST[LIGHT], variant=RED, **AT_45),
)
claim(
    "c63",
    *(
        each(
            "ratio",
            f"{{r}}: {variant} over {other}",
            met_by_light(LOST[LIGHT], variant, between(30)) / met_by_light(LOST[LIGHT], other),
        )
        for variant, other in product(ACCURATE, (DT, RED))
    ),
)

# --- Table IV ---------------------------------------------------------------------------------------------------------


def ranked(values: Values, *order: tuple[str, ...], head: str = "") -> list[Comparison]:
    """Every variant of a rank less every one of the rank before."""
    return [
        each("order", f"{head}{b} − {a}", values.at(variant=b) - values.at(variant=a))
        for better, worse in pairwise(order)
        for a, b in product(better, worse)
    ]


def of_variants(values: Values) -> list[Values]:
    """Values of DTConEx, ECNConEx and FullConEx."""
    return [values.at(variant=it) for it in (DT, ECN, FULL)]


_, FAIR_ECN, FAIR_FULL = of_variants(RANKED["fairness"])
claim(
    "c64",
    *ranked(RANKED["fairness"], (DT,), (ECN, FULL), (RED,)),
    each("equal", "ECN over Full", FAIR_ECN / FAIR_FULL),
)
LOSS_DT, LOSS_ECN, LOSS_FULL = of_variants(RANKED["loss"])
claim(
    "c65",
    *ranked(RANKED["loss"], (ECN, FULL), (DT,), (RED,)),
    each("equal", "ECN − Full, over DT", (LOSS_ECN - LOSS_FULL) / LOSS_DT),
)
WAITS = over_r(LIGHT_DELAY, r=[HIGHEST], **MOST)
_, WAIT_ECN, WAIT_FULL = of_variants(WAITS)
claim(
    "c66",
    *ranked(WAITS, (RED,), (ECN, FULL), (DT,), head="{r}: "),
    each("equal", "{r}: ECN over Full", WAIT_ECN / WAIT_FULL),
)
claim(
    "c67",
    *(
        each(name, variant, float(deployability(variant)))
        for name, variant in zip(("dt", "red", "ecn", "full"), net.VARIANTS, strict=True)
    ),
)

# --- Figure 20: short flows -------------------------------------------------------------------------------------------

BELOW_15, ABOVE_15 = between(hi=10), between(20)
EMPTY = Metric(f"groups.{LIGHT}.transfers.completion_s_mean")
# nothing is drawn at random: one number
claim("c68", each("time", "one flow", free(EMPTY).map(lambda v: float(1e3 * v.mean()))))
claim(
    "c69",
    each("time", "{group} user", 1e3 * of_users(COMPLETION, policing=NONE)),
    each("ratio", "heavy over light", free(COMPLETION[HEAVY]) / free(COMPLETION[LIGHT])),
)
claim(
    "c70",
    each("time", "heavy user, longest", on(COMPLETION[HEAVY]).peak("r")),
    done=listed("{value} % at {r}", on(m.COMPLETED[HEAVY], r=BELOW_15), ", "),
    queue=listed("{value}", on(D, r=BELOW_15), ", "),
    queue_free=free(D),
    debt=given(lambda o: o.charge == "arrival" and o.floor == "none", on(DROPPED[HEAVY], r=BELOW_15)),
    empty=given(lambda o: o.charge != "arrival" or o.floor != "none", on(DROPPED[HEAVY], r=BELOW_15)),
)
claim(
    "c71",
    each("policed", "{r}", on(DROPPED[HEAVY], r=BELOW_15)),
    each("left", "{r}", on(DROPPED[HEAVY], r=ABOVE_15)),
)
LIGHT_FLOWS = on(COMPLETION[LIGHT], r=BELOW_15)
claim("c72", each("gain", "{r}", 1e3 * (free(COMPLETION[LIGHT]).at_points_of(LIGHT_FLOWS) - LIGHT_FLOWS)))
OF_FREE = of_users(COMPLETION, policing=ON, r=ABOVE_15) / of_users(COMPLETION, policing=NONE)
claim("c73", each("ratio", "{group} user, {r}", OF_FREE))
claim("c74", each("share", "flows of heavy users", free(Metric(m.share_of_flows))))
SLOWEST = Metric(f"groups.{HEAVY}.transfers.completion_s_max")
claim("c75", each("time", "{r}", on(SLOWEST, r=BELOW_15)))
TWO, TEN = (m.A_FLOW[HEAVY]("x03", initial_window=it) for it in (2, 10))
claim(
    "c76",
    each("difference", "initial window 10 − 2", TEN - TWO),
    two=TWO,
    carried=given(lambda o: o.leftover == net.CARRY, TEN),
    dropped=given(lambda o: o.leftover != net.CARRY, TEN),
)

# --- Figures 21 and 22: video -----------------------------------------------------------------------------------------

CASES: dict[Any, dict[str, Any]] = {
    NONE: {"control": CUBIC, "policing": NONE},
    LEDBAT: {"control": LEDBAT, "policing": NONE},
    **{r: {"control": CUBIC, "policing": ON, "r": r} for r in (5.0, 15.0)},
}


def heavy(part: m.Part, case: Any, group: str = HEAVY) -> Values:
    """Throughput of a user in a part of the run, in a case of figure 21."""
    return Metric(partial(m.in_part, group, part))("fig21", **CASES[case])


def videos(metric: Metric, r: Any = None) -> Values:
    """A metric of figure 22 with CUBIC over the filling rate."""
    return on(metric, "fig22", control=CUBIC, **({} if r is None else {"r": r}))


claim(
    "c77",
    each("rate", "a heavy user, 20 to 100 s", heavy(m.SETTLED, NONE)),
    each("index", "Jain's index", Metric(m.jain_of_heavy)(**CASES[NONE])),
)
claim("c78", each("share", "heavy users, 220 to 500 s", Metric(m.heavy_share)(**CASES[NONE])))
IN_TIME_S, AND_STARTUP_S = net.PERIODS_S[1], 505.0
"""By when a video is over: the end of the second period, and a little later."""
FINISHED = {it: Metric(partial(m.finished, it)) for it in (IN_TIME_S, AND_STARTUP_S)}
claim(
    "c79",
    each(
        "finished",
        "videos over at 500 s",
        FINISHED[IN_TIME_S](**CASES[NONE]).map(lambda v: v * net.VIDEO_LIGHT_USERS / 100),
    ),
    each("ratio", "a heavy user, third period over first", heavy(m.THIRD, NONE) / heavy(m.FIRST, NONE)),
)
claim("c80", each("qoe", "CUBIC, no policing", QUALITY("fig22", **CASES[NONE])))
ALL_FLOWS = net.HEAVY_USERS * net.VIDEO_HEAVY_FLOWS + net.VIDEO_LIGHT_USERS
claim(
    "c81",
    each("stalls", "stalls per user", m.STALLS(**CASES[NONE])),
    each("duration", "duration of a stall", m.STALL_S(**CASES[NONE])),
    flows=ALL_FLOWS,
    share=net.CAPACITY_MBPS / ALL_FLOWS,
    video=net.VIDEO_KBPS / 1e3,
)
claim(
    "c82",
    *(
        each(name, f"{words}: rank correlation", videos(metric).reduce("r", m.ranks_over))
        for name, words, metric in (("qoe", "QoE", QUALITY), ("stalls", "stalls", m.STALLS))
    ),
    counts=listed("{value} at {r}", videos(m.STALLS), ", "),
    lengths=listed("{value}", videos(m.STALL_S), ", "),
)
claim("c83", each("qoe", "{r}", videos(QUALITY, between(hi=14.99))))
claim(
    "c84",
    *(
        each(
            group,
            f"{group}, {{after:r}} − {group}, {{before:r}}",
            joined(*(heavy(m.SECOND, it, group).labelled(r=it) for it in (5.0, 15.0, NONE))).steps("r"),
        )
        for group in (HEAVY, LIGHT)
    ),
    **{
        f"{name}_{r:g}": heavy(part, r, LIGHT)
        for r in (5.0, 15.0)
        for name, part in (("asked", net.VIDEO_ASKED_S), ("after", (net.VIDEO_ASKED_S[1], net.PERIODS_S[1])))
    },
)


def in_time(by_s: float) -> list[Comparison]:
    """Videos are over by then, and heavy users speed up."""
    faster = heavy(m.THIRD, 5.0) - heavy(m.WATCHING, 5.0)
    return [
        each("finished", f"{{r}}: over at {by_s:g} s", videos(FINISHED[by_s], between(hi=10))),
        each("faster", "r = 5: a heavy user, third period − second", faster),
    ]


claim("c85", *in_time(IN_TIME_S))
claim.wider("c85", *in_time(AND_STARTUP_S))
GOOD = QUALITY("fig22", **CASES[LEDBAT])
claim(
    "c86",
    each("ratio", "a heavy user, 200–300 s over 50–100 s", heavy(m.ASKING, LEDBAT) / heavy(m.BEFORE, LEDBAT)),
    each("qoe", "mean QoE", GOOD),
    each("difference", "mean QoE − CUBIC, r = 5", GOOD - QUALITY("fig22", **CASES[5.0])),
)
claim(
    "c87",
    each("ratio", "a heavy user, 500–600 s over 50–100 s", heavy(m.THIRD, LEDBAT) / heavy(m.BEFORE, LEDBAT)),
)
claim(
    "c88",
    each(
        "ratio",
        "reports of a heavy user, LEDBAT over CUBIC",
        REPORTS[HEAVY](**CASES[LEDBAT]) / REPORTS[HEAVY](**CASES[NONE]),
    ),
)
OF_LEDBAT = X[HEAVY](control=LEDBAT, policing=ON)
claim(
    "c98",
    each("policed", "LEDBAT: packets policed", on(DROPPED[HEAVY], control=LEDBAT)),
    each("more", "LEDBAT − CUBIC, both policed", OF_LEDBAT - on(X[HEAVY], control=CUBIC)),
    each("kept", "LEDBAT, policed over unpoliced", OF_LEDBAT / free(X[HEAVY], control=LEDBAT)),
)
claim(
    "c89",
    each("best", "no stall", float(qoe.hossfeld_2013(0, 0.0))),
    each("worst", "a thousand stalls of 10 s", float(qoe.hossfeld_2013(1000, 10.0))),
)


def rank_of_known(curve: Floats) -> Floats:
    """Rank correlation with r over the places at which a run has a value; undefined with fewer than three."""
    known = [run[~np.isnan(run)] for run in curve.T]
    return np.array([m.ranks_agree(np.arange(it.size, dtype=float), it) if it.size >= 3 else np.nan for it in known])


claim(
    "c95",
    each("rank", "stall duration: rank correlation", videos(m.STALL_S).reduce("r", of_curve(rank_of_known))),
    lengths=listed("{value} s at {r}", videos(m.STALL_S), ", "),
)

# --- The whole --------------------------------------------------------------------------------------------------------

SERIES = {
    "fig08": "{harshness}",
    **dict.fromkeys(DEPTHS, "{harshness}, {depth}"),
    "fig12": "{rtt_ms}",
    "fig13": "{control}",
    **{name: f"{{{label}}}" for name, (label, _, _) in QUEUES.items()},
    "fig18": "{flows}, {variant}",
}
"""Figures 8 to 18, and their curves in words."""
HEADS = {name: f"{name}, {FLOW}" if name == "fig18" else name for name in SERIES}


def of_figures(name: str, values: Callable[[str], Values]) -> list[Comparison]:
    """A comparison a panel: at the points of all its curves."""
    return [
        most(
            name,
            f"{HEADS[it]}: points",
            f"{curve}, {{r}}",
            values(it).labelled(figure=it),
            by=("flows",) if FLOW in curve else ("figure",),
        )
        for it, curve in SERIES.items()
    ]


VISIBLE = 2.0
"""Mean unfairness from which on an interval of 1 % can be asked for."""


def widths(where: str) -> Values:
    """Half-widths of intervals of U where it can be seen."""
    return Values(
        lambda shown: [
            (labels, m.relative_half_width(np.asarray(value)))
            for labels, value in on(U, where).cells(shown)
            if np.mean(np.asarray(value)) >= VISIBLE
        ]
    )


ENDS_OF_R, POLICED_R = (lambda r: r < 4 or r == HIGHEST), (lambda r: 4 <= r < HIGHEST)
claim(
    "c90",
    *of_figures("width", widths),
    policed=on(X[HEAVY], "fig08", r=POLICED_R).map(m.relative_half_width),
    light=on(X[LIGHT], "fig08", r=POLICED_R).map(m.relative_half_width),
    ends=on(X[HEAVY], "fig08", r=ENDS_OF_R).map(m.relative_half_width),
)
claim(
    "c91",
    *(each("ratio", f"{HEADS[it]}: {curve}", on(U, it).trough("r") / free(U, it)) for it, curve in SERIES.items()),
)


def below_reports(where: str) -> Values:
    """Throughput of a heavy user less that without policing, at each r below the reports that it sends without."""
    less = on(X[HEAVY], where, r=between(hi=120)) - free(X[HEAVY], where)

    def found(shown: Shown) -> Iterator[tuple[Any, Any]]:
        sent = free(REPORTS[HEAVY], where).at_points_of(less).cells(shown)
        for (labels, value), (_, reports) in zip(less.cells(shown), sent, strict=True):
            if float(labels["r"]) <= np.mean(np.asarray(reports)) + 1e-9:
                yield labels, value

    return Values(found)


claim("c93", *of_figures("difference", below_reports))
BEST = {it: on(U, it).trough("r").unlabelled("r") for it in DEPTHS}
claim(
    "c96",
    *(
        each(
            "difference",
            "{harshness}, {depth}",
            BEST[it].at(depth=lambda d: d != USUAL_DEPTH) - BEST[it].at(depth=USUAL_DEPTH),
        )
        for it in DEPTHS
    ),
)


def starving(data: Data, judgement: Judgement, o: net.Options, *, where: Sequence[str]) -> str:
    """How far below 1 the least unfairness of these figures is."""
    low = [
        float(np.mean(value)) for it in where for _, value in on(U, it).trough("r").cells(Shown(claim.key, data, it, o))
    ]
    if min(low) >= 1:
        return ""
    return (
        f"At the best r U is {min(low):.2g} to {max(low):.2g}. Below 1 a heavy user has less than a light one: "
        "a lower U is starvation there, not fairness."
    )


for name, where in (
    *((it, ("fig08",)) for it in ("c06", "c10")),
    *((it, ("fig18",)) for it in ("c55", "c94")),
    ("c96", tuple(DEPTHS)),
    ("c91", tuple(SERIES)),
):
    claim.note(name, beside=True)(partial(starving, where=where))
