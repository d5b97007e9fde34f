"""What each claim compares; what is accepted, and the notes, are in claims.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept, Claims
from evenflow.record import PROVENANCE
from evenflow.stats import mean_interval
from evenflow.study import Label, Run
from evenflow.values import Metric, Shown, Values, between, each, joined, listed, most, of_runs, pooled, ratio_of_means

from . import equations as fluid
from . import experiments as ex
from . import measures as m
from . import network as net
from .measures import DELAY, LONG_R, M_OVER_R, P12, P23, PRICES, RHO, WORDS, WR, M, P, R, curve, p_at, rho_at
from .network import CONSTANT, IPD, LB, MARKERS, MULTCP, NETWORK, PI, RED, VQ, WTP

claim = Claims("wtp", __file__, net.LEVEL, WORDS)
RED_LB = (RED, LB)
TOP = 10.0
"""The largest weight ratio of figures 3 and 4."""
LARGE = between(6)
"""From here on a weight ratio is large (c13)."""


def versus(name: str, label: str, of: Callable[[str], Values], *pairs: tuple[str, str], over: bool = True) -> Any:
    """A quantity of one marker over that of another, or less it; in the label they are `<a>` and `<b>`."""
    return [
        each(name, label.replace("<a>", a).replace("<b>", b), of(a) / of(b) if over else of(a) - of(b))
        for a, b in pairs
    ]


VQ_OTHERS = ((VQ, RED), (VQ, LB))
# --- Figure 1 ---------------------------------------------------------------------------------------------------------

FAST, SLOW = ({"increase": a, "decrease": b} for a, b in (ex.TRADE_OFF[0], ex.TRADE_OFF[-1]))
WINDOW = m.metric(m.window, net.TAGGED)
Points = Callable[..., Values]


def of_deviations(top: Values, bottom: Values) -> Values:
    """Of variances the ratio of standard deviations."""
    return ratio_of_means(top, bottom).map(m.root)


def in_both(name: str, alone: str, network: str, one: Points, ratio: Any, of: Any, over: Any) -> None:
    """A ratio in both settings of figure 1, of one pair of weights over another; `alone` and `network` are sets."""
    claim(
        name,
        *(
            each(accepted, place, ratio(one(place=place, **also, **of), one(place=place, **also, **over)))
            for accepted, place, also in ((alone, CONSTANT, {"p": ex.PROBABILITY}), (network, NETWORK, {}))
        ),
    )


in_both("c01", "ratio", "ratio", m.SETTLING, ratio_of_means, SLOW, FAST)
in_both("c02", "ratio", "ratio", m.VARIANCES, of_deviations, FAST, SLOW)
in_both("c03", "alone", "network", WINDOW, ratio_of_means, FAST, SLOW)


def alone(points: Points, pair: tuple[float, float], p: float = ex.PROBABILITY) -> Values:
    """A pair of weights under independent marks."""
    return points(place=CONSTANT, p=p, increase=pair[0], decrease=pair[1])


claim(
    "c04",
    *(
        each(
            "deviation",
            f"standard deviation, w_dec = {a[1]:g} → {b[1]:g}",
            of_deviations(alone(m.VARIANCES, b), alone(m.VARIANCES, a)),
        )
        for a, b in pairwise(ex.TRADE_OFF)
    ),
    *(
        each(
            "mean",
            f"mean at w_dec = {b[1]:g} over that at {a[1]:g}",
            ratio_of_means(alone(WINDOW, b), alone(WINDOW, a)),
        )
        for a, b in combinations(ex.TRADE_OFF, 2)
    ),
)
SETTLING, SPREAD = ({p: alone(it, ex.TRADE_OFF[0], p) for p in ex.PROBABILITIES} for it in (m.SETTLING, m.RELATIVE))
LAST = ex.PROBABILITIES[-1]
claim(
    "c05",
    *(
        it
        for p, q in pairwise(ex.PROBABILITIES)
        for it in (
            each("settling", f"settling time at p = {q:g} − at {p:g}", SETTLING[q] - SETTLING[p]),
            each("fluctuation", f"std/mean at p = {q:g} over {p:g}", of_deviations(SPREAD[q], SPREAD[p])),
        )
    ),
    *(
        each(
            "law",
            f"std/mean over √p at p = {p:g}, over that at {LAST:g}",
            of_deviations(SPREAD[p] / p, SPREAD[LAST] / LAST),
        )
        for p in ex.PROBABILITIES[:-1]
    ),
)


def over_mean_rate(run: Run, o: net.Options) -> float | None:
    """Packets per second over (w_inc w_dec / p − ½) / T."""
    up, down = (float(run.labels[name]) for name in ("increase", "decrease"))
    found = m.throughput(run, net.TAGGED)
    expected = (up * down / ex.PROBABILITY - 0.5) / net.RTT_S
    return None if found is None else found / (8 * o.packet) / expected


claim("c06", each("rate", "({increase:g},{decrease:g})", Metric(over_mean_rate)(place=CONSTANT, p=ex.PROBABILITY)))

# --- Figures 3 and 4 --------------------------------------------------------------------------------------------------


def figure(number: str, of: m.Ratio, markers: Iterable[str] = MARKERS, **labels: Any) -> Values:
    """A ratio of figure 3 or 4 in the population that is judged."""
    return of.judged(number, marker=list(markers), **labels)


WHERE = "{marker}, {r}"
STEPS = "{marker}, r = {before} → {after}"
SIDES = {
    f"{name}_{form.lower()}": values
    for form, number in ((PI, "fig03"), (IPD, "fig04"))
    for name, values in (
        ("vq", m.by_r(R.judged(number, marker=VQ, r=LARGE))),
        ("red", m.by_r(R.judged(number, marker=RED, r=LARGE))),
        ("price", PRICES.judged(number, marker=VQ, r=LARGE)),
    )
}
"""R/r under the virtual queue and RED, and p_high/p_low under the virtual queue, for both forms."""
claim("c07", each("step", STEPS, figure("fig03", R).steps("r")))
claim("c08", *versus("ratio", "{r}: <a> over <b>", lambda it: R.judged("fig03", marker=it), (RED, LB)))
claim("c09", each("ratio", WHERE, m.by_r(figure("fig03", R, RED_LB))))
claim("c10", each("ratio", WHERE, m.by_r(figure("fig03", R, RED_LB, r=between(3)))))
claim("c11", each("ratio", WHERE, m.by_r(figure("fig03", WR, RED_LB))))
claim(
    "c12",
    each("ratio", WHERE, figure("fig03", m.OVER_LINK)),
    prices=figure("fig03", PRICES),
    off=figure("fig03", m.OVER_OWN).map(lambda v: 100 * abs(float(np.nanmean(v)) - 1)),
)


def told_apart(form: str) -> Values:
    """Of the points of the map of base weights how many have an R under the virtual queue above RED's, and below."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], float]]:
        cells = [mean_interval(v, net.LEVEL) for at, v in ex.MAP_GAP.cells(shown) if at["form"] == form]
        for name, count in (("above", sum(i.lo > 0 for i in cells)), ("below", sum(i.hi < 0 for i in cells))):
            yield {"name": f"{name} RED's", "of": len(cells)}, float(count)

    return Values(found)


def varied(form: str) -> Values:
    """p_high/p_low under the virtual queue at r = 10 over the variants, without that which marks the overflow only."""
    found = PRICES("x-burst", form=form, marker=VQ, r=TOP)
    return found.where(lambda variant: variant != net.OVERFLOW)


claim(
    "c13",
    each("above", "VQ, {r}: R − r", R.judged("fig03", marker=VQ, r=LARGE).map(lambda v, r: v - r)),
    *versus("beyond", "{r}: <a> − <b>", lambda it: R.judged("fig03", marker=it, r=LARGE), *VQ_OTHERS, over=False),
    **SIDES,
    map_pi=listed("{value} of {of:g} points {name}", told_apart(PI)),
    map_ipd=listed("{value} of {of:g} points {name}", told_apart(IPD)),
    varied_pi=varied(PI),
    varied_ipd=varied(IPD),
    run=m.of_packets("run_length", form=PI, marker=VQ, r=TOP),
    **{
        f"{name}_{form.lower()}": joined(
            *(m.of_packets(f"{what}_{group}", form=form, marker=VQ, r=TOP) for group in ("light", "heavy"))
        )
        for name, what in (("swing", "fluctuation"), ("close", "close"))
        for form in (PI, IPD)
    },
    **{
        f"{name}_{form.lower()}": m.of_packets(f"p_high_over_p_low{end}", form=form, marker=VQ, r=TOP)
        for name, end in (("alike", "_if_alike"), ("measured", ""))
        for form in (PI, IPD)
    },
)
WIDTHS = {
    f"{form.lower()}_{population}": joined(
        *(
            m.width(*(R(number, marker=it, population=population, r=between(5)) for it in (VQ, other)))
            for other in RED_LB
        )
    )
    for form, number in ((PI, "fig03"), (IPD, "fig04"))
    for population in "ABC"
}
claim(
    "c14",
    *(
        each("width", f"VQ over {other}", m.width(*(R.judged("fig03", marker=it, r=between(5)) for it in (VQ, other))))
        for other in RED_LB
    ),
    **WIDTHS,
)
claim("c15", each("ratio", "VQ, r = 10: M over R", M_OVER_R.judged("fig03", marker=VQ, r=TOP)), **SIDES)
claim("c16", each("ratio", WHERE, figure("fig03", PRICES, [VQ], r=between(2))), **SIDES)
claim("c17", each("ratio", WHERE, figure("fig03", M_OVER_R, RED_LB)))
claim("c18", *versus("ratio", "{r}: <a> over <b>", lambda it: R.judged("fig04", marker=it), *VQ_OTHERS), **SIDES)
claim(
    "c19",
    each("near", f"{WHERE}: R over r", m.by_r(figure("fig04", R))),
    each("step", STEPS, figure("fig04", R).steps("r")),
    **SIDES,
)
claim("c20", each("ratio", WHERE, m.by_r(figure("fig04", M))))
FAVOUR = [R.judged(it, marker=VQ, r=TOP) / R.judged(it, marker=RED, r=TOP) for it in ("fig03", "fig04")]
claim("c21", each("difference", "r = 10: R of VQ over RED, PI − IPD", FAVOUR[0] - FAVOUR[1]), **SIDES)

# --- Marks one after another ------------------------------------------------------------------------------------------


MATCHED = versus(
    "matched", "{r}: p of <a> over <b>", lambda it: P("x-windows", form=PI, marker=it), (VQ, RED), (LB, RED)
)
RUNS = partial(m.of_packets, "run_length", form=PI)
claim(
    "c22",
    *versus("run", "{r}: mean run of marks, <a> over <b>", lambda it: RUNS(marker=it), *VQ_OTHERS),
    *MATCHED,
)


def forced(runs: list[Run]) -> float:
    """Percent of RED's marks that its mark-always rule made."""
    marks = [run.json["links"][net.LINK]["marks"] for run in runs]
    return float(100 * sum(it.get("forced", 0) for it in marks) / sum(sum(it.values()) for it in marks))


claim(
    "c23",
    *versus(
        "difference",
        "{r}: std/mean of windows, <a> − <b>",
        lambda it: m.SWING_OF_ALL(form=PI, marker=it),
        *VQ_OTHERS,
        over=False,
    ),
    *MATCHED,
    forced=of_runs(forced, form=PI, marker=RED),
    p=P(form=PI, marker=RED),
)


def unequal(marker: str) -> Values:
    """Seeds with a throughput at least twice another; label `seeds`: of how many."""
    return m.UNEQUAL("x-phase", marker=marker)


def seeds_of(marker: str) -> Values:
    """How many seeds are at least a factor of 2 apart, labelled with their number."""
    return Values(lambda shown: [({"seeds": v.size}, float((v >= 2).sum())) for _, v in unequal(marker).cells(shown)])


claim(
    "c24",
    *(
        each(name, f"{{seeds:g}} seeds under {marker}", seeds_of(marker))
        for name, marker in (("locked", VQ), ("red", RED))
    ),
    **{
        f"{name}_{marker.lower()}": unequal(marker).map(lambda v, of=function: float(of(v)))
        for name, function in (("median", np.median), ("most", np.max))
        for marker in (VQ, RED)
    },
)
LOSSLESS = (
    *("fig01", "fig03", "fig04", "x-phase", "x-burst", "x-windows", "x-marks"),
    *("fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11", "tab01", "tab02"),
)
"""Experiments whose losses are counted."""
claim(
    "c25",
    *(each("lost", f"wtp-{name}", pooled(lambda runs: float(sum(map(m.losses, runs))), name)) for name in LOSSLESS),
)

# --- Figures 5 to 7 ---------------------------------------------------------------------------------------------------

SMALL = between(hi=6)
"""Up to here the paper sees no difference between the markers (section 5.1: “larger than approximately 6”)."""


def rises(**labels: Any) -> Any:
    """Every step of R over r."""
    return each("step", "{rtt12_ms}, {marker}: r = {before} → {after}", LONG_R(**labels).steps("r"))


claim("c26", rises())
SMALL_R = partial(LONG_R, r=SMALL)
PAIRS = tuple(combinations(MARKERS, 2))
claim("c27", *versus("ratio", "{rtt12_ms}, {r}: <a> over <b>", lambda it: SMALL_R(marker=it), *PAIRS))
OTHERS = (LONG_R(marker=RED, r=SMALL) + LONG_R(marker=LB, r=SMALL)) / 2
claim("c28", each("ratio", "{rtt12_ms}, {r}", LONG_R(marker=VQ, r=SMALL) / OTHERS))
claim("c29", each("gap", "{rtt12_ms}, {marker}, {r}", LONG_R().map(lambda v, r: r - v)))
for name, rtt in (("c30", 200), ("c31", 100)):
    claim(name, each("slope", "{marker}, {r}: R / r", m.by_r(LONG_R(rtt12_ms=rtt, r=SMALL))))


def lb_behind(place: str, wanted: Any) -> list[Any]:
    """R under RED and under the virtual queue less R under load-based marking."""
    label, pairs = f"{place}{{r}}: R under <a> − under <b>", ((RED, LB), (VQ, LB))
    return list(versus("difference", label, lambda it: LONG_R(marker=it, r=wanted), *pairs, over=False))


claim("c32", *lb_behind("{rtt12_ms}, ", lambda r: r in (8, 10)))
AT_SECOND = "{marker}, {rtt12_ms}, {r}: p23"
claim(
    "c33",
    each("lb", AT_SECOND, P23(marker=[LB], r=[10])),
    each("others", "{rtt12_ms}, {marker}, {r}: p23", P23(marker=[RED, VQ])),
)
claim("c34", each("ratio", "{marker}, {r}: R / r", m.by_r(LONG_R(r=between(hi=4)))))
claim(
    "c35",
    *lb_behind("", between(8)),
    each("ratio", "r = 10: R under LB over R under RED", LONG_R(marker=LB, r=10) / LONG_R(marker=RED, r=10)),
)
for name, rtt in (("c36", 200), ("c37", 100)):
    claim(name, rises(rtt12_ms=[rtt]))

# --- Table 1 ----------------------------------------------------------------------------------------------------------


IN_WAYS = {
    name: listed("{how} {value}", it("x-table", marker=RED, r=1, rtt12_ms=rtt), between=", ")
    for name, it, rtt in (
        ("p12_at_200", P12, 200),
        ("p23_at_200", P23, 200),
        ("p12_at_100", P12, 100),
        ("p23_at_100", P23, 100),
        ("wait", m.DELAY12, 100),
    )
}
for number, (rtt, column) in enumerate(m.CELLS, 38):
    claim(f"c{number}", each("cell", "", m.COLUMNS[column](rtt12_ms=rtt, marker=RED, r=1)), **IN_WAYS)
PRINTED = {key: value for key, (value, _) in m.CELLS.items()}
AT_RTT = {200: "at 200 ms", 100: "at 100 ms"}


def from_the_table(rtt: int) -> float:
    """Eq. 1 with the paper's own marking probabilities, to three digits."""
    p12, p23 = PRINTED[rtt, "p12"], PRINTED[rtt, "p23"]
    return round(m.rate_ratio((1, 1), (rtt + net.RTT23_MS, rtt), (p12 + p23, p12)), 3)


claim("c44", *(each(name, f"RTT of R1–R2 {rtt} ms", from_the_table(rtt)) for rtt, name in AT_RTT.items()))
TABLE: Mapping[str, Any] = {"marker": RED, "r": 1}
PREDICTED = Metric(m.priced_ratio)(**TABLE).map(lambda v, rtt12_ms: v * rtt12_ms / (rtt12_ms + net.RTT23_MS))
claim("c45", each("ratio", "{rtt12_ms}", PREDICTED / LONG_R(**TABLE)))


def prices(what: str, values: Callable[..., Values]) -> list[Any]:
    """The price of both links at each round trip."""
    return [each(name, f"{{rtt12_ms}}: {what}", values(rtt12_ms=[rtt], **TABLE)) for rtt, name in AT_RTT.items()]


claim("c46", *prices("p12 + p23", lambda **labels: P12(**labels) + P23(**labels)))
claim.wider("c46", *prices("marks per packet", m.metric(m.price, "both")))
claim("c47", each("ratio", "p12 over p23", P12(rtt12_ms=100, **TABLE) / P23(rtt12_ms=100, **TABLE)))
BY_PRICE = Metric(m.priced_ratio)().map(lambda v, r: v * r)
OVER_PRICE, OVER_HALF = LONG_R() / BY_PRICE, LONG_R() / Metric(m.half_packet_ratio)()
CROWDED: Mapping[str, Any] = {"topology": net.NARROW, "marker": LB, "r": 10}
claim(
    "c48",
    each("ratio", "{topology}, {marker}, {r}", OVER_PRICE),
    far=OVER_PRICE,
    half=OVER_HALF,
    rho=m.RHO23(**CROWDED),
    p=P23(**CROWDED),
    wait=m.DELAY23(**CROWDED),
)
claim.wider("c48", each("ratio", "{topology}, {marker}, {r}", OVER_HALF))

# --- Figures 8 to 10: marking probability against utilisation ---------------------------------------------------------

STEEP = 0.85
"""Utilisation above which RED's curve is said to be very steep (section 5.2)."""
LOW, HIGH = 0.82, 0.87
"""Below and above which RED's slopes are compared (c51, c62)."""
P_GRID = (0.06, 0.10, 0.15, 0.20, 0.25, 0.30)
"""Marking probabilities at which utilisations are compared (c55, c56)."""
P_LB = P_GRID[:-1]
"""Those that a load-based marker with ρ0 = 0.6 and α = 0.71 reaches by its law: at most 0.284 (c57)."""
SLOPE = "slope"


def slope(curves: Values, lo: float = 0.0, hi: float = 1.0) -> Values:
    """Slopes of lines of least squares."""
    return curves.map(lambda c: c.slope(lo, hi))


def r2(curves: Values, most: float = 1.0) -> Values:
    """R² of lines of least squares up to a marking probability."""
    return curves.map(lambda c: c.up_to(most).line().r2)


def begins(curves: Values) -> Values:
    """The utilisation of the first judged load."""
    return curves.map(lambda c: c.rho.min(axis=0))


RED_8, VQ_8, LB_8 = (curve(marker, "fig08", form=PI) for marker in MARKERS)
claim("c49", each("r2", "VQ{weights}", r2(VQ_8)), whole=r2(VQ_8), half=r2(VQ_8, 0.5), less=r2(VQ_8, 0.4))
claim(
    "c50",
    each(SLOPE, "{weights:first}slope", slope(LB_8)),
    each("foot", "{weights:first}ρ where p = 0", LB_8.map(lambda c: c.line().foot)),
)
for name, branch in (("c51", RED_8), ("c62", m.load_curves("x-red", branch=True, max_p=0.1))):
    claim(
        name,
        each("curvature", "{weights:first}quadratic coefficient", branch.map(lambda c: c.curvature())),
        each(
            "steeper",
            f"{{weights:first}}slope above {HIGH:g} − slope below {LOW:g}",
            slope(branch, lo=HIGH) - slope(branch, hi=LOW),
        ),
        begins=begins(branch),
        coefficient=branch.map(lambda c: c.curvature()),
        above=slope(branch, lo=HIGH),
        below=slope(branch, hi=HIGH),
    )
BELOW = (0.70, 0.75, 0.79)
"""Utilisations below 0.80."""
DEAF_P = {
    f"deaf_{marker.lower()}": listed(
        "{value} at {n:g} %", P("x-low-load", how=net.DEAF, marker=marker, n=[75, 80, 85, 90, 95]), between=", "
    )
    for marker in MARKERS
}
REACHED = m.load_curves("x-low-load", whole=True, marker=RED, how=list(ex.LOW_WAYS[1:])).map(lambda c: c.begins)
claim(
    "c52",
    each(
        "reach",
        "{weights:first}RED's least utilisation",
        m.load_curves("fig08", whole=True, marker=RED, form=PI).map(lambda c: c.least),
    ),
    *(
        each(
            "difference",
            f"{{weights:first}}p of RED − p of {marker} at ρ = {{rho:g}}",
            p_at(RED_8, BELOW) - p_at(curve(marker, "fig08", form=PI), BELOW),
        )
        for marker in (VQ, LB)
    ),
    reached=listed("{how} {value}", REACHED, between=", "),
    **DEAF_P,
)
claim("c53", each("ratio", "{weights:alone}", slope(RED_8, lo=STEEP) / slope(LB_8)))


def at_equal_load(metric: Metric, marker: str) -> Values:
    """Of a marker at a utilisation of about 0.90."""
    return metric("x-bursts", marker=marker, form=PI, load=ex.EQUAL_LOAD[marker]).unlabelled("n")


claim(
    "c54",
    *(
        each("difference", f"{{weights:first}}{what}, RED − {other}", at_equal_load(it, RED) - at_equal_load(it, other))
        for other in (VQ, LB)
        for what, it in (("queue", m.QUEUE_SD), ("sum of windows", m.WINDOWS_SD))
    ),
)


def gain_of_ipd(name: str, marker: str) -> Any:
    """ρ with inversely proportional decrease less ρ with proportional increase; with weight 1 both are one control."""
    pi, ipd = (
        rho_at(curve(marker, "fig08", form=form), P_LB if marker == LB else P_GRID).where(
            lambda weights: weights != net.ONES
        )
        for form in (PI, IPD)
    )
    return each(name, f"{marker}{{weights}}, ρ of IPD − ρ of PI at p = {{p:g}}", ipd - pi)


BRANCHES = {
    f"begins_{form.lower()}": curve(RED, "fig08", form=form).map(lambda c: c.p.min(axis=0)) for form in (PI, IPD)
}
for name, marker in (("c55", VQ), ("c56", RED), ("c57", LB)):
    claim(name, gain_of_ipd("gain", marker), **(BRANCHES if marker == RED else {}))
claim("c63", *(gain_of_ipd(marker.lower(), marker) for marker in MARKERS), **BRANCHES)
VARIANCE = Metric(m.arrival_variance)
SMOOTHER = VARIANCE("x-bursts", marker=VQ, form=IPD) - VARIANCE("x-bursts", marker=VQ, form=PI)
claim("c58", each("difference", "{weights:first}{load}", SMOOTHER.where(lambda weights: weights != net.ONES)))
RHO_RTT = (0.80, 0.85)


def trips(marker: str, rtt_ms: float, at: Callable[[Values, Iterable[float]], Values], grid: Iterable[float]) -> Values:
    """Of the curve with a round trip."""
    return at(curve(marker, "x-rtt", rtt_ms=rtt_ms), grid)


def shifts(marker: str, grid: Iterable[float]) -> Values:
    """Change of the utilisation at equal p with each doubling of the round trip."""
    return joined(*(trips(marker, b, rho_at, grid) - trips(marker, a, rho_at, grid) for a, b in pairwise(ex.RTTS)))


claim(
    "c59",
    *(
        each(
            "ratio",
            f"{marker}{{weights}}, {a:g} → {b:g} ms: p over p at ρ = {{rho:g}}",
            trips(marker, b, p_at, RHO_RTT) / trips(marker, a, p_at, RHO_RTT),
        )
        for marker in (VQ, RED)
        for a, b in pairwise(ex.RTTS)
    ),
    *(
        each(
            "flat",
            f"LB{{weights}}, {a:g} → {b:g} ms: change of p at ρ = {{rho:g}}",
            trips(LB, b, p_at, RHO_RTT) - trips(LB, a, p_at, RHO_RTT),
        )
        for a, b in pairwise(ex.RTTS)
    ),
    begins=listed("{value} with {rtt_ms}", begins(curve(RED, "x-rtt")), between=", "),
    moved_vq=shifts(VQ, (0.10, 0.15, 0.20)),
    moved_red=shifts(RED, (0.20, 0.25, 0.30)),
)
RHO_ALIKE = (0.75, 0.78, 0.81, 0.84, 0.87, 0.90, 0.93)
"""From 0.75 to 0.93 (c60)."""
ALIKE = {marker: p_at(curve(marker, "fig09"), RHO_ALIKE) for marker in MARKERS}
claim(
    "c60",
    *versus("ratio", "{weights:first}<a> over <b> at ρ = {rho:g}", ALIKE.__getitem__, *PAIRS),
    begins=begins(curve(RED, "fig09")),
    **{
        marker.lower(): listed("{value} at ρ = {rho:g}", values.at(rho=[0.81, 0.90, 0.93]), between=", ")
        for marker, values in ALIKE.items()
    },
)
claim("c61", each("r2", "{weights:alone}", r2(m.load_curves("x-red", branch=True, max_p=0.95))))
BY_THETA = m.load_curves("fig10", buffer=30.0)
BY_BUFFER = m.load_curves("fig10", theta=0.95)
THETA_STEP = "θ = {before} → {after}"
claim(
    "c82", each("step", f"{{weights:first}}p = {{p:g}}, {THETA_STEP}", rho_at(BY_THETA, (0.1, 0.2, 0.3)).steps("theta"))
)
claim(
    "c83",
    each("step", f"{{weights:first}}ρ = {{rho:g}}, {THETA_STEP}", p_at(BY_THETA, (0.80, 0.85, 0.90)).steps("theta")),
)
claim(
    "c84",
    each(
        "ratio",
        "{weights:first}θ = {theta:g} over 0.95",
        slope(BY_THETA).at(theta=[0.85, 0.90]) / slope(BY_THETA).at(theta=0.95),
    ),
    slopes=listed("{value} at {theta}", slope(BY_THETA), between=", "),
)


def in_buffers(how: str) -> Any:
    """Slopes for each buffer."""
    return listed("{value} ({buffer})", slope(m.load_curves("x-buffer", how=how)), between=", ")


PERIODS = {
    "periods": listed("{value} s at {buffer} and {load}", m.LONG("x-periods").unlabelled("n"), between=", "),
    **{
        name: in_buffers(how)
        for name, how in zip(("gain_4", "gain_8", "gain_20", "trip"), list(net.BUFFER_WAYS)[1:], strict=True)
    },
}
claim("c85", each("step", "{weights:first}B = {before} → {after}", slope(BY_BUFFER).steps("buffer")), **PERIODS)


def buffers(more: float, less: float, grid: Iterable[float]) -> Any:
    """p with one buffer less p with another."""
    one, other = (p_at(m.load_curves("fig10", theta=0.95, buffer=b), grid) for b in (more, less))
    return each("difference", "{weights:first}ρ = {rho:g}", one - other)


claim("c86", buffers(10.0, 100.0, (0.75, 0.80)), **PERIODS)
claim("c87", buffers(100.0, 10.0, (0.93, 0.95)), **PERIODS)
claim(
    "c88",
    *(
        each(name, f"{{weights:first}}{{load}}, {what}, B = {{before}} → {{after}}", it("x-periods").steps("buffer"))
        for name, what, it in (("often", "periods per second", m.OFTEN), ("long", "length of a period", m.LONG))
    ),
)
LEFT_OUT = (*PROVENANCE, "scenario_hash", "record_hash")
"""Names and origins of a run instead of its results."""


def results(run: Run) -> dict[str, Any]:
    """All numbers of a run."""
    return {name: value for name, value in run.json.items() if name not in LEFT_OUT}


@claim.measure("c89")
def same_runs(data: Data, accept: Accept) -> list[Check]:
    """Runs of which any number differs between one factor and two."""
    table = data["wtp-x-factors"]
    checks = []
    for buffer in table.label_values("buffer"):
        one, two = (table.where(buffer=buffer, how=how).runs for how in ("one factor", "two factors"))
        differ = sum(results(a) != results(b) for a, b in zip(one, two, strict=True))
        checks.append(accept("differ", f"B = {buffer:g}", float(differ)))
    return checks


CURVES_LB = m.load_curves("x-lb", panel="curve", t_avg=0.5)
claim(
    "c90",
    each(
        SLOPE, "α = {alpha:g}, ρ0 = {rho0:g}{weights}, slope over α", slope(CURVES_LB).map(lambda v, alpha: v / alpha)
    ),
    each(
        "shift",
        "{weights:first}ρ at p = 0.1, ρ0 = {before} → {after}",
        rho_at(CURVES_LB, [0.1]).at(alpha=0.71).steps("rho0"),
    ),
)
BACKLOG = Metric(m.backlog)("x-lb", panel="step")
claim(
    "c91",
    each("response", "response, t_avg = {before} → {after}", m.RESPONSE.steps("t_avg")),
    each("backlog", "longest queue, t_avg = {before} → {after}", BACKLOG.steps("t_avg")),
    responses=listed("{value} s with {t_avg}", m.RESPONSE, between=", "),
    backlogs=listed("{value} with {t_avg}", BACKLOG, between=", "),
    still=listed("{value} ms with {t_avg}", DELAY["max"]("x-lb", panel="no step"), between=", "),
)

# --- Table 2 ----------------------------------------------------------------------------------------------------------


def read(marker: str, what: str) -> Values:
    """A column of Table 2 in a row, ms."""
    return m.at_load(DELAY[what], marker=marker)


def row_1_otherwise(what: str) -> Any:
    """Row 1 with one setting that differs, each at its own N for 0.90."""
    return listed("{variant} {value}", m.at_load(DELAY[what], "x-load", variant=list(net.VARIANTS)), between=", ")


for number, (marker, (place, what)) in enumerate(product(net.ROWS, enumerate(DELAY)), 64):
    claim(
        f"c{number}",
        each("cell", "{mix}N = {n:g}, ρ = {rho:.3f}{place}", m.at_load(DELAY[what], places=True, marker=marker)),
        over=read(marker, what).map(lambda v, of=m.PAPER[marker][place]: of / float(np.nanmean(v))),
        scan=DELAY[what](marker=marker),
        otherwise=row_1_otherwise(what),
    )
PROBABILISTIC = ((net.RED_3, net.VQ_95), (net.LB_07, net.VQ_95))


def less(name: str, what: str, *pairs: tuple[str, str]) -> Any:
    """The first row's delay less the second's."""
    return versus(name, "{mix:of}<a> − <b>", lambda it: read(it, what), *pairs, over=False)


claim("c76", *less("difference", "mean", *PROBABILISTIC))
claim("c77", *less("difference", "sd", *PROBABILISTIC))
claim(
    "c78",
    *less("red", "max", (net.RED_3, net.LB_07)),
    each("ratio", f"{{mix:of}}{net.LB_07} / {net.VQ_95}", read(net.LB_07, "max") / read(net.VQ_95, "max")),
)
ORDER = (net.RED_3, net.LB_07, net.VQ_95, net.RED_5)
claim(
    "c79",
    *(
        each("step", f"{{mix:of}}{above} − {{mix:of}}{below}", read(above, "mean") - read(below, "mean"))
        for below, above in pairwise(ORDER)
    ),
)
claim(
    "c80",
    *(
        each(name, f"{{mix:of}}{words}, {net.RED_5} / {net.RED_3}", read(net.RED_5, what) / read(net.RED_3, what))
        for (what, words), name in zip(m.DELAYS.items(), ("average", "maximum", "deviation"), strict=True)
    ),
)
STEEPNESS = [m.local_slope(marker) for marker in (net.RED_5, net.VQ_95)]
claim(
    "c81",
    each("ratio", f"{{mix:of}}{net.RED_5} over {net.VQ_95}", ratio_of_means(*STEEPNESS)),
    red=STEEPNESS[0],
    vq=STEEPNESS[1],
    first=RHO(marker=net.RED_5, n=4),
    least=RHO(marker=net.RED_5).trough("n"),
)

# --- Fig. 11 ----------------------------------------------------------------------------------------------------------

MULTCP_R, WTP_R = (R.judged("fig11", panel="a", control=control, r=between(2)) for control in (MULTCP, WTP))


def beside(values: Values) -> Values:
    """R less r."""
    return values.map(lambda v, r: v - r)


claim("c92", each("gap", "{r}", beside(MULTCP_R)))
claim("c93", each("difference", "{r}", beside(MULTCP_R).map(m.distance) - beside(WTP_R).map(m.distance)))


def use(control: str, w: Any) -> Values:
    """Utilisation with a common weight."""
    return RHO("fig11", panel="b", control=control, w=w)


def gap(w: Any) -> Values:
    """Utilisation under willingness to pay less that under MulTCP."""
    return use(WTP, w) - use(MULTCP, w)


claim("c94", each("gap", "weight 1", gap(1)))
SHRINKS = gap(between(6)).map(m.distance) - gap(1).map(m.distance)
claim("c95", each("difference", "{w}", SHRINKS.map(lambda v: -v)))
for name, control in (("c96", WTP), ("c97", MULTCP)):
    claim(name, each("change", "", use(control, 4) - use(control, 1)))
INDEX = {control: ex.INDEX("fig11", panel="c", control=control) for control in (WTP, MULTCP)}
FIRST = each("first", "weight 1: MulTCP − WTP", INDEX[MULTCP].at(w=1) - INDEX[WTP].at(w=1))
claim(
    "c106",
    FIRST,
    each("step", "weight {after} − weight {before}", INDEX[WTP].steps("w")),
    index=listed("{value} at {w}", INDEX[WTP], between=", "),
)
claim.wider("c106", FIRST, each("step", "WTP, {w} − weight 1", INDEX[WTP].at(w=between(2)) - INDEX[WTP].at(w=1)))
claim(
    "c98",
    *(
        each(
            name,
            f"{control}{{reaction}}, {{w}}",
            m.mbps("all")("x-multcp", panel="c", control=control, reaction=[reaction]).reduce("p", m.log_slope),
        )
        for name, control, reaction in (("wtp", WTP, ""), ("multcp", MULTCP, net.EVERY))
    ),
)

# --- The virtual queue, all in all ------------------------------------------------------------------------------------


def unfairness(marker: str) -> Values:
    """|R − r| at the largest r for each form, one value a seed."""
    return joined(
        *(
            beside(R.judged(number, marker=marker, r=[TOP])).map(m.distance).labelled(form=form).unlabelled("r")
            for form, number in ((PI, "fig03"), (IPD, "fig04"))
        )
    )


def marked_as_bursty(form: str) -> Values:
    """log(p_light/p_heavy) under the virtual queue, counted along the sign by which the light class varies more."""
    light, heavy, more, fewer = (
        m.of_packets(name, form=form, marker=VQ, r=TOP)
        for name in ("p_light", "p_heavy", "fluctuation_light", "fluctuation_heavy")
    )
    sign = (more - fewer).map(lambda v: 1.0 if float(v.mean()) >= 0 else -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return ((light / heavy).map(np.log) * sign).labelled(form=form)


EXISTS = "forms of 2"
claim(
    "c99",
    *less("delay", "mean", *((vq, other) for other, vq in PROBABILISTIC)),
    *(
        most(
            "exists",
            f"|R − r| under VQ − under {other}, {EXISTS} with more",
            "{form}",
            unfairness(VQ) - unfairness(other),
        )
        for other in RED_LB
    ),
    most(
        "exists",
        f"{EXISTS} in which the class that varies more is marked more",
        "{form}",
        joined(*(marked_as_bursty(form) for form in (PI, IPD))),
    ),
)

# --- Sections 2 and 3 -------------------------------------------------------------------------------------------------


def settled(function: Callable[[float], Mapping[str, fluid.Settling]], what: str) -> Values:
    """A number of every network's trajectories."""
    return Values(
        lambda shown: [
            ({"name": name}, getattr(found, what)) for name, found in function(net.capacity(shown.options)).items()
        ]
    )


claim("c100", each("error", "{name}", settled(fluid.settled, "balance")))
claim(
    "c101",
    each("fall", "{name}: largest fall of the welfare over its rise", settled(fluid.settled, "descent")),
    each("distance", "{name}: largest distance of the end from the maximum", settled(fluid.settled, "gap")),
)
claim("c102", each("distance", "{name}", settled(fluid.settled_otherwise, "gap")))


def loops(products: Iterable[float], number: Callable[[fluid.Loop], float]) -> Values:
    """A number of delayed loops, by equation and product aT."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], float]]:
        marked = partial(fluid.marked, net.capacity(shown.options))
        for words, loop_at in (("eq. 3", fluid.linear), ("eq. 2, load-based marking", marked)):
            for it in products:
                yield {"name": words, "product": it}, float(number(loop_at(it)))

    return Values(found)


AT = "{name}, aT = {product:g}: "
claim(
    "c103",
    each("none", AT + "sign changes", loops(fluid.STEADY, lambda loop: loop.crossings)),
    each("some", AT + "sign changes", loops(fluid.WAVES, lambda loop: loop.crossings)),
    each("decays", AT + "amplitude after 20 T", loops((*fluid.STEADY, *fluid.WAVES), lambda loop: loop.peak(20, 40))),
    each("grows", AT + "amplitude over that 20 T before", loops(fluid.GROWTH, lambda loop: loop.growth)),
)
claim("c104", each("ratio", "p = {p:g}, w_inc = {increase:g}, w_dec = {decrease:g}", m.OVER_FLUID()))


def borders(first: bool) -> Values:
    """Critical gains: at w_dec = 1 over the bound, at others over w_dec times that."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], float]]:
        for words, (steadily, bound) in zip(("oscillation", "growth"), ex.BORDERS.values(), strict=True):
            gains = {w: fluid.critical_gain(net.capacity(shown.options), w, steadily) for w in fluid.DECREASES}
            for w, gain in gains.items():
                if first == (w == 1):
                    value = fluid.product_of(gain, 1.0) / bound if first else gain / (w * gains[1.0])
                    yield {"name": words, "decrease": w}, value

    return Values(found)


claim(
    "c105",
    each("bound", "{name} at w_dec = {decrease:g}", borders(True)),
    each("scaling", "{name}, w_dec = {decrease:g}", borders(False)),
)
