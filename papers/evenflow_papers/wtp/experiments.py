"""The paper's experiments: grids, columns of the data, captions, and figures.

Grids: the weight ratios 1 to 10 of the figures' axes; scale quick thins them. The load of Figs. 8 to 10 is the number
of connections; for another mix of weights the number with the same sum of weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.claims import Scale
from evenflow.experiments import Experiments, Grid, Thin, grid, rows, thin
from evenflow.figures import Figures, Looks, Mark, curves, dots, drawn, path, scatter
from evenflow.lab import Floats, at, cells, curve_of, frame
from evenflow.stats import Interval, mean_interval
from evenflow.study import Curve, Label, Point, Run
from evenflow.theory.stability import averaged_border
from evenflow.values import Metric, Shown, Values, between, computed, joined, of_runs, points, with_labels

from . import equations as fluid
from . import measures as m
from . import network as net
from .measures import AXES, DELAY, DELAYS, LONG_R, M_OVER_R, P12, P23, PRICES, RHO, WORDS, WR, M, P, R
from .network import CONSTANT, DEAF, IPD, LB, LEVEL, MARKERS, MULTCP, NETWORK, PI, RED, VQ, WTP, Options

if TYPE_CHECKING:
    import polars as pl

experiment = Experiments("wtp", runs=(10, 3), level=LEVEL)
figure = Figures(WORDS, AXES, LEVEL)
FEW_SEEDS = (5, 3)
"""Where every packet is recorded, and where causes are looked for."""
BY_MARKER = Looks("marker", legend="{marker:long}")
BANDS = "Bands and bars are 90 % confidence intervals."
MEANS = "Lines are means over the runs, bands their 90 % confidence intervals."
FORM_NAMES = {PI: "proportional increase", IPD: "inverse decrease"}

# --- Figures 1, 3 and 4: one link, and who gets what there ------------------------------------------------------------

RATIOS = thin(tuple(float(r) for r in range(1, 11)), (1.0, 2.0, 4.0, 6.0, 8.0, 10.0))
LOOKED_AT = (4.0, 10.0)
"""Weight ratios at which marks and windows are recorded."""
BURST_RATIOS = (6.0, 10.0)
BASE_WEIGHTS = (0.25, 0.5, 1.0, 2.0)
"""Of the connections of lower weight (figures 3 and 4)."""
MAP_RATIOS = thin((5.0, 6.0, 7.0, 8.0, 9.0, 10.0), (6.0, 10.0))
TRADE_OFF = ((4.0, 1.0), (2.0, 2.0), (1.0, 4.0))
"""(w_inc, w_dec) with the product 4; figure 1 shows the first and the last."""
PROBABILITY = 0.1
PROBABILITIES = (0.02, 0.05, PROBABILITY)
PAIRS = ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (2.0, 4.0), (8.0, 1.0))
"""(w_inc, w_dec) for the mean rate, in addition to those above."""
SETTING = "Ten connections over one link of 10 Mbit/s, round trip 200 ms."
SHARES: dict[str, Metric] = {
    **{
        name: Metric(it.top)
        for name, it in {"R": R, "M": M, "Wr": WR, "M_over_R": M_OVER_R, "p_high_over_p_low": PRICES}.items()
    },
    "p": P,
    "rho": RHO,
}


def at_cells(values: Mapping[str, Values], plain: bool = False) -> Callable[[Shown], pl.DataFrame]:
    """A figure's numbers: one row a cell, its labels and the means and bounds of all quantities.

    Args:
        plain: bounds are named `lo` and `hi`, and runs are not counted.
    """

    def data(shown: Shown) -> pl.DataFrame:
        found: dict[Any, dict[str, Any]] = {}
        for name, them in values.items():
            for labels, it in them.cells(shown):
                row = found.setdefault(tuple(labels.items()), {**labels, **({} if plain else {"runs": len(it)})})
                made = cells(name, mean_interval(it, LEVEL))
                row |= {key.removeprefix(f"{name}_") if plain else key: value for key, value in made.items()}
        return frame(list(found.values()))

    return data


def dynamics(runs: list[Run], o: Options) -> dict[str, Floats]:
    """Figure 1's numbers of a point, one a run."""
    price = m.metric(m.price, net.TAGGED)
    return {
        "window_packets": np.array([m.metric(m.window, net.TAGGED).of(run) for run in runs]),
        "window_variance": m.variances(runs),
        "settling_s": m.settling_s(runs),
        "packets_per_s": np.array([m.metric(m.throughput, net.TAGGED).of(run) / (8 * o.packet) for run in runs]),
        "p": np.array([price.of(run) for run in runs]),
    }


def trace(runs: list[Run], shown_s: float = 120.0) -> list[Curve]:
    """The window since the start: its mean, and one run."""
    start_s = net.TAGGED_START_S if net.OTHERS in runs[0].json["groups"] else 0.0
    times = runs[0].record.arrays(net.WINDOW)[0]
    here = (times > start_s) & (times <= start_s + shown_s)
    every = np.array([run.record.arrays(net.WINDOW)[1][here] for run in runs]).T
    x, one = times[here] - start_s, every[:, :1]
    return [curve_of(x, every, LEVEL), curve_of(x, one, LEVEL)]


def traces(place: str, **labels: Any) -> Any:
    """A panel of figure 1."""
    ends = of_runs(trace, place=place, **labels).where(
        lambda increase, decrease: (increase, decrease) in (TRADE_OFF[0], TRADE_OFF[-1])
    )
    words = {CONSTANT: "a   independent marks, p = 0.1", NETWORK: "b   one of ten, load-based marking"}
    return drawn(ends, x_title="time since start (s)", y="congestion window (packets)", title=words[place])


def trade_off(function: Callable[[list[Run]], Floats], **how: Any) -> Values:
    """Of the pairs with the product 4 in both settings."""
    alone = of_runs(function, place=CONSTANT, p=PROBABILITY).where(
        lambda increase, decrease: (increase, decrease) in TRADE_OFF
    )
    return joined(
        alone.labelled(kind="independent marks"), of_runs(function, place=NETWORK).labelled(kind="one of ten")
    )


def deviation(v: Floats) -> Interval:
    """Standard deviation of variances."""
    return mean_interval(v, LEVEL).map(lambda x: math.sqrt(max(x, 0.0)))


experiment(
    "fig01",
    "One connection's window for several ways to split a weight into increase and decrease",
    *(grid(net.traced, place=CONSTANT, p=PROBABILITY, increase=a, decrease=b) for a, b in (*TRADE_OFF, *PAIRS)),
    grid(net.traced, place=CONSTANT, p=PROBABILITIES[:2], increase=TRADE_OFF[0][0], decrease=TRADE_OFF[0][1]),
    *(grid(net.traced, place=NETWORK, increase=a, decrease=b) for a, b in TRADE_OFF),
    columns=dynamics,
    runs=(30, 10),
    caption="Congestion window of one connection of weight 4 (a) under independent marks with probability 0.1 and (b) "
    "that joins nine of weight 2 under load-based marking; thin: one run, thick: the mean over the runs with "
    "its 90 % confidence interval. (c) Time until the window first reaches 90 % of its mean, and its standard "
    "deviation in the steady state, with 90 % confidence intervals.",
    figure=figure(
        traces(CONSTANT, p=PROBABILITY),
        traces(NETWORK),
        scatter(
            trade_off(m.settling_s),
            trade_off(m.variances).map(deviation),
            title="c   the trade-off",
            x_title="time to reach 90 % of the mean (s)",
            y="std of the window (packets)",
            x_range=(0, None),
            looks=Looks(("kind", "increase", "decrease"), legend="({increase:g}, {decrease:g}), {kind}"),
        ),
        looks=Looks(("increase", "decrease"), legend="({increase:g}, {decrease:g})"),
        own_legends=True,
    ),
)


def populations(make: Callable[..., Any], r: Any, **labels: Any) -> tuple[Grid, Grid]:
    """Populations A and B over r, and the ladder C, which is one point with every r."""
    return grid(make, "r", **labels, population=["A", "B"], r=r), grid(make, **labels, population="C")


def theory_column(name: str, column: str, what: str) -> Callable[[list[Run], Options], float | None]:
    """A prediction for a point of population A: R, or the rate of a class."""

    def found(runs: list[Run], o: Options) -> float | None:
        if runs[0].labels["population"] != "A":
            return None
        it = m.predictions(name, runs[0].labels, o).get(column)
        return None if it is None else it.ratio("heavy", "light") if what == "R" else it.bps[what]

    return found


def sharing(name: str, form: str, title: str) -> None:
    """Figure 3 or 4."""
    theory = {
        f"R_{column}" if what == "R" else f"{what}_{column}_bps": theory_column(name, column, what)
        for column in (m.PURE, m.CORRECTED)
        for what in ("R", "light", "heavy")
    }
    corrected = m.theories(lambda it: it.ratio("heavy", "light"), population=["A"]).at(kind=["theory, corrected"])
    experiment(
        name,
        f"Sharing one link by weights: {title}",
        *(it for marker in MARKERS for it in populations(partial(net.shared, form=form), RATIOS, marker=marker)),
        columns={**SHARES, **{f"{group}_bps": m.metric(m.throughput, group) for group in ("light", "heavy")}, **theory},
        caption=f"{SETTING} Rows: 5 connections of weight 1 and 5 of weight r (population A); 9 and 1 (B); one each of "
        "weights 1 to 10 in a single run (C). First column: throughput ratio R; second: ratio of received marks M, as "
        "in the paper; third: R over r, which shows differences that the first hides: 1 is pure fluid theory, lines "
        "without symbols in population A the theory corrected for whole packets; fourth: M over R, the ratio of the "
        f"two connections' marking probabilities. {BANDS}",
        figure=figure(
            curves(R(), x="r", marks=[Mark()]),
            path(R(), M(), along="r", marks=[Mark()]),
            curves(
                m.by_r(R()),
                corrected.map(lambda v, r: v.map(lambda x: x / r)),
                x="r",
                y="R over r",
                y_range=(None, None),
                marks=[Mark(y=1)],
            ),
            curves(M_OVER_R(), x="r", y_range=(None, None), marks=[Mark(y=1)]),
            by=("population",),
            columns=4,
            width=3.0,
            height=3.0,
            looks=Looks("marker", "kind", "{marker}"),
        ),
    )


sharing("fig03", PI, "proportional increase")
sharing("fig04", IPD, "inversely proportional decrease")


def distribution(runs: list[Run]) -> Curve:
    """Share of the seeds with at most a ratio, in percent."""
    found = np.sort(np.array([m.UNEQUAL.of(run) for run in runs]))
    return m.bare(found.astype(np.float64), 100 * np.arange(1, found.size + 1) / found.size)


experiment(
    "x-phase",
    "Ten equal connections: how unequal their throughputs become, seed by seed",
    grid(net.equal, marker=[VQ, RED]),
    columns={"largest_over_smallest": m.UNEQUAL},
    runs=(200, 40),
    caption=f"{SETTING} All have weight 1 and differ by their starting times alone. Share of the seeds with at most "
    "the ratio shown; the line is at the ratio of which c24 asks for some.",
    figure=figure(
        drawn(
            of_runs(distribution),
            x_title="largest over smallest throughput of ten equal connections",
            y="share of the seeds (%)",
            steps=True,
            x_range=(1, None),
            marks=[Mark(x=2)],
        ),
        looks=BY_MARKER,
    ),
)


def burst(o: Options, scale: Scale) -> list[Point]:
    """Both forms under the virtual queue and RED, one setting at a time changed."""
    found = []
    for name, variant in net.variants(o).items():
        for form, marker in product((PI, IPD), (VQ, RED)):
            if marker == RED and not variant.red:
                continue
            labels = {"variant": name, "population": variant.population, "form": form, "marker": marker}
            ratios = at(scale, BURST_RATIOS, BURST_RATIOS[-1:]) if marker == VQ else BURST_RATIOS[-1:]
            more = [{}] if variant.population == "C" else [{"r": r} for r in ratios]
            found += [Point({**labels, **it}, with_labels(net.varied, {**labels, **it}, o)) for it in more]
    return found


experiment(
    "x-burst",
    "Whom the virtual queue marks more: one thing at a time done otherwise",
    burst,
    columns=SHARES,
    caption=f"{SETTING} Marking probability of a connection of the high weight over that of one of weight 1, for both "
    f"forms and both markers. Left of the line the high weight is marked less. {BANDS}",
    figure=figure(
        dots(PRICES(r=list(BURST_RATIOS)).unlabelled("population"), row="{variant}", y=PRICES.title, marks=[Mark(x=1)]),
        by=("form",),
        width=4.6,
        columns=2,
        height=0,
        looks=Looks(("marker", "r"), legend="{marker}, {r}"),
    ),
)
ON_MAP = between(5)
MAP_VQ, MAP_RED = (m.by_r(R("x-base-weight", marker=marker, r=ON_MAP)) for marker in (VQ, RED))
MAP_GAP = MAP_VQ - MAP_RED


experiment(
    "x-base-weight",
    "Whom the virtual queue favours: base weight, population and weight ratio",
    *(
        it
        for form, base, marker in product((PI, IPD), BASE_WEIGHTS, (VQ, RED))
        for it in populations(net.shared, MAP_RATIOS, form=form, base_weight=base, marker=marker)
    ),
    data=at_cells(
        {
            "vq_R_over_r": MAP_VQ,
            "red_R_over_r": MAP_RED,
            "vq_minus_red": MAP_GAP,
            "p_high_over_p_low": PRICES(marker=VQ, r=ON_MAP),
            "light_at_floor": m.AT_FLOOR(marker=VQ, r=ON_MAP),
        }
    ),
    caption=f"{SETTING} R over r under the virtual queue and, dashed, under RED over the weight ratio; columns: "
    "weight of the light connections; rows: proportional increase and inversely proportional decrease; colours: "
    f"populations A (5 and 5), B (9 and 1), C (a ladder of ten weights). {BANDS}",
    figure=figure(
        curves(
            MAP_VQ.labelled(marker=VQ),
            MAP_RED.labelled(marker=RED),
            x="r",
            y="R over r",
            y_range=(0.6, None),
            marks=[Mark(y=1)],
        ),
        by=("form", "base_weight"),
        columns=4,
        width=2.7,
        height=3.0,
        shared=True,
        looks=Looks("population", "marker", "{marker}, {population}"),
    ),
)
experiment(
    "x-windows",
    "How much windows fluctuate under each marker and form",
    grid(net.windows, "marker", marker=MARKERS, form=[PI, IPD], r=LOOKED_AT),
    columns={**m.SWING, "all": m.SWING_OF_ALL, "p": P},
    caption=f"{SETTING} Population A. Standard deviation over mean of a connection's window. {BANDS}",
    figure=figure(
        dots(
            m.SWING["light"]().labelled(name="weight 1"),
            m.SWING["heavy"]().labelled(name="weight r"),
            row="{r}, {name}",
        ),
        by=("form",),
        width=4.0,
        height=0,
        columns=2,
        looks=BY_MARKER,
    ),
)


def packet_columns(runs: list[Run], o: Options) -> dict[str, Floats]:
    """`packet_row` of each run."""
    found = [m.packet_row(run) for run in runs]
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def longer_runs(runs: list[Run]) -> Curve:
    """Share of the marks that are in a longer run of marks, in percent."""
    lengths = np.sort(np.concatenate([m.Packets(run).run_lengths() for run in runs]))
    longer = 100 * (1 - np.cumsum(lengths) / lengths.sum())
    return m.bare(np.array([1.0, *lengths], float), np.array([100.0, *longer], float))


def sent(name: str, form: str) -> Values:
    """Packets that a class sends in a round trip over their mean, or the share of all that are marked; one run."""

    def of_first(runs: list[Run]) -> Curve:
        packets = m.Packets(runs[0])
        every = np.ones_like(packets.marked)
        found = packets.counts(packets.marked if name == "marked" else packets.of(name), net.RTT_S)
        found = found / (packets.counts(every, net.RTT_S) if name == "marked" else found.mean())
        times = float(runs[0].json["window_s"][0]) + net.RTT_S * (np.arange(found.size) + 0.5)
        return m.bare(times.astype(np.float64), found)

    return of_runs(of_first, form=form, marker=VQ, r=LOOKED_AT[-1]).labelled(name=name)


NAMES = {"light": "weight 1", "heavy": "weight 10", "marked": "share of all packets that are marked"}
experiment(
    "x-marks",
    "Marks one after another, and who sends while the virtual queue marks",
    grid(net.packets, "marker", marker=MARKERS, form=PI, r=LOOKED_AT),
    grid(net.packets, marker=VQ, form=IPD, r=LOOKED_AT[-1]),
    columns=packet_columns,
    runs=(3, 3),
    caption=f"{SETTING} Population A. (a) How many packets in a row were marked, r = 4: share of the marked packets "
    "in a run longer than shown. (b, c) r = 10 under the virtual queue, one run: packets that each class sends in a "
    "round trip over their mean, and the share of all packets that are marked.",
    figure=figure(
        drawn(
            of_runs(longer_runs, form=PI, r=LOOKED_AT[0]),
            x_title="marked packets in a row",
            y="share of marks in longer runs (%)",
            steps=True,
            log="x",
            looks=BY_MARKER,
        ),
        *(
            drawn(
                *(sent(name, form) for name in NAMES),
                x_title="time (s)",
                y="packets per round trip over their mean",
                title=f"{letter}   {FORM_NAMES[form]}",
                x_range=(net.PACKETS_WARMUP_S[form], net.PACKETS_WARMUP_S[form] + 15),
                looks=Looks("name", "name", "{name:sent}"),
            )
            for letter, form in zip("bc", (PI, IPD), strict=True)
        ),
        own_legends=True,
    ),
)

# --- Figures 5 to 7 and Table 1: two links ----------------------------------------------------------------------------

RS = thin(range(1, 11), (1, 2, 4, 6, 8, 10))
RTTS_MS = (200, 100)
"""Round trip of R1–R2, ms: panels a and b of Figs. 5 and 7, rows of Table 1."""
CLASSES = (
    f"5 connections in each class, all markers with the parameters of the captions. {MEANS} Lines without symbols: "
)
CLASSES += "the fluid theory's."
PER_TRIP, PER_SECOND = (f"ratio of willingness to pay per {unit}" for unit in ("round trip", "second"))
GROUPS = ("one", "two", "three", "both", "all")
OF_LINKS = {"12": (P12, m.RHO12), "23": (P23, m.RHO23), "34": (m.P34, m.RHO34)}
TWO_LINKS: dict[str, Metric] = {
    "R": LONG_R,
    **{
        column: it
        for name in GROUPS
        for column, it in (
            (f"x_{name}_mbps", m.mbps(name)),
            (f"p_{name}", m.metric(m.price, name)),
            (f"W_{name}_packets", m.metric(m.window, name)),
        )
    },
    **{f"{what}{word}": it for word, both in OF_LINKS.items() for what, it in zip(("p", "rho"), both, strict=True)},
}
WITH_THEORY = Looks("marker", "kind", "{marker}{kind:theory}")


def over_r(measured: Values, what: Callable[[m.Expected], float | None], *more: Values, **options: Any) -> Any:
    """A panel over r with theory."""
    return curves(measured.labelled(kind=""), m.theories(what), *more, x="r", whole=True, **options)


def by_trips(slope: Callable[[float], float]) -> Values:
    """R = slope times r, for each round trip of R1–R2."""
    found = computed(lambda rtt12_ms, r: Interval.exact(slope(rtt12_ms) * r), rtt12_ms=RTTS_MS, r=(1, 10))
    return found.labelled(marker="r times the ratio of round trips", kind="")


DIAGONAL = [Mark(words="R = r")]
experiment(
    "fig05",
    "Two links, connections over the first and over both: sharing by willingness to pay a round trip",
    grid(partial(net.per_round_trip, third=False), "r", rtt12_ms=RTTS_MS, marker=MARKERS, r=RS),
    columns=TWO_LINKS,
    caption="Throughput of a connection over both links to that of one over R1–R2, over the ratio of their "
    "willingness to pay per round trip; round trip of R1–R2 200 ms (a) and 100 ms (b), of R2–R3 100 ms. Grey: "
    f"R = r. {CLASSES}",
    figure=figure(
        over_r(LONG_R(), m.Expected.ratio, by_trips(lambda t: t / (t + 100)), x_title=PER_TRIP, marks=DIAGONAL),
        by=("rtt12_ms",),
        columns=2,
        width=4.3,
        looks=WITH_THEORY,
    ),
)
experiment(
    "fig06",
    "As figure 5a with willingness to pay in proportion to the round trip",
    grid(net.per_second, "r", marker=MARKERS, r=RS),
    columns=TWO_LINKS,
    caption="Throughput ratio over the ratio of willingness to pay per second (a), and why load-based marking falls "
    f"behind: marking probability at R2–R3 (b). Round trips 200 ms and 300 ms. {CLASSES}",
    figure=figure(
        over_r(LONG_R(), m.Expected.ratio, x_title=PER_SECOND, marks=DIAGONAL),
        over_r(P23(), lambda it: it.price[net.R23], x_title=PER_SECOND, y="marking probability at R2–R3"),
        width=4.3,
        looks=WITH_THEORY,
    ),
)
experiment(
    "fig07",
    "As figure 5 with connections over the second link alone as well",
    grid(net.per_round_trip, "r", rtt12_ms=RTTS_MS, marker=MARKERS, r=RS),
    columns=TWO_LINKS,
    caption="Throughput of a connection over both links to that of one over R1–R2 (left) and over R2–R3 (right), "
    f"round trip of R1–R2 200 ms (upper) and 100 ms (lower). {CLASSES}",
    figure=figure(
        over_r(LONG_R(), m.Expected.ratio, x_title=PER_TRIP, y="R, both links to R1–R2"),
        over_r(m.LONG_R2(), lambda it: it.ratio("both", "two"), x_title=PER_TRIP, y="R, both links to R2–R3"),
        by=("rtt12_ms",),
        columns=2,
        width=4.3,
        looks=WITH_THEORY,
    ),
)


def in_table(column: str) -> Callable[[m.Expected], float | None]:
    """A column of Table 1 as theory has it."""
    return m.Expected.ratio if column == "R" else lambda it: it.price[m.LINKS[column]]


def table_data(shown: Shown) -> pl.DataFrame:
    """One row a cell of Table 1: the paper's value, the accepted range, ours with its interval, theory's two."""
    made = []
    for (rtt, column), (paper, slack) in m.CELLS.items():
        ((_, values),) = m.COLUMNS[column](rtt12_ms=rtt).cells(shown)
        row: dict[str, Any] = {"rtt12_ms": rtt, "quantity": column, "paper": paper}
        row |= {"accepted_lo": paper - slack, "accepted_hi": paper + slack}
        found = m.predictions("tab01", {"marker": RED, "r": 1, "rtt12_ms": rtt}, shown.options)
        theory = {f"theory_{name}": in_table(column)(it) for name, it in found.items()}
        i = mean_interval(values, LEVEL)
        made.append({**row, **cells("ours", i), "runs": i.n, **theory})
    return frame(made)


TITLES = {"R": "throughput ratio, both links to R1–R2", "p12": "marking probability at R1–R2", "p23": "at R2–R3"}


def cell_of(column: str) -> dict[str, Any]:
    """The paper's value of a cell, and the range around it."""

    def paper(rtt12_ms: int) -> float:
        return m.CELLS[rtt12_ms, column][0]

    def accepted(rtt12_ms: int) -> tuple[float, float]:
        value, slack = m.CELLS[rtt12_ms, column]
        return value - slack, value + slack

    return {"printed": paper, "accepted": accepted}


experiment(
    "tab01",
    "Two links under RED with equal weights: shares and marking probabilities",
    grid(net.table_1, rtt12_ms=RTTS_MS, marker=RED, r=1),
    data=table_data,
    runs=(100, 10),
    caption="Each cell of Table 1: the paper's value with the accepted range around it (grey), the mean of 100 runs "
    "with its 90 % confidence interval, and the fluid theory's, pure and corrected. At quick scale 10 runs.",
    figure=figure(
        *(
            dots(
                of(r=1, marker=RED).labelled(kind="runs"),
                m.theories(in_table(column), r=1, marker=RED),
                row="{rtt12_ms}",
                y=TITLES[column],
                **cell_of(column),
            )
            for column, of in m.COLUMNS.items()
        ),
        height=2.4,
        looks=Looks("kind", legend="{kind}"),
    ),
)
PRICED = Metric(m.priced_ratio)().map(lambda v, r: Interval.exact(float(np.nanmean(v)) * r))
experiment(
    "x-topology",
    "Beyond the paper: figure 6 with other capacities and over three links",
    grid(net.topology, "r", topology=net.TOPOLOGIES, marker=MARKERS, r=RS.quick),
    columns=TWO_LINKS,
    caption="Throughput of a connection over all links to that of one over R1–R2, over the ratio of willingness to pay "
    "per second; lines without symbols: that ratio times the ratio of the marking probabilities that the two classes "
    f"met. {MEANS}",
    figure=figure(
        curves(
            LONG_R().labelled(kind=""),
            PRICED.labelled(kind="by price"),
            x="r",
            x_title=PER_SECOND,
            whole=True,
            marks=DIAGONAL,
        ),
        by=("topology",),
        columns=2,
        width=4.3,
        looks=Looks("marker", "kind", "{marker}{kind:theory}"),
    ),
)
experiment(
    "x-table",
    "Table 1 with one thing done otherwise",
    grid(net.table_1, how=list(net.table_ways(Options())), rtt12_ms=RTTS_MS, marker=RED, r=1),
    columns=TWO_LINKS,
    caption="Marking probability at both links for each round trip of R1–R2; diamonds: the paper's value, grey: the "
    "accepted range. Bars: 90 % confidence intervals.",
    figure=figure(
        *(
            dots(
                m.COLUMNS[column](rtt12_ms=[rtt], marker=RED, r=1).map(lambda v: v),
                row="{how}",
                y="marking probability",
                title=f"{column}, RTT of R1–R2 {rtt} ms",
                **cell_of(column),
            )
            for rtt, column in m.CELLS
            if column != "R"
        ),
        height=0,
        width=3.0,
        looks=Looks(legend="runs"),
    ),
)
FIGURES = {"fig03": "Fig. 3", "fig05": "Fig. 5", "fig06": "Fig. 6", "fig07": "Fig. 7", "tab01": "Table 1"}


def compared(shown: Shown) -> Iterator[tuple[dict[str, Label], Floats, Mapping[str, float | None]]]:
    """Every group of every point: its labels, the rate of one of its connections in each run and by theory, Mbit/s."""
    for labels, runs in points(shown.table("x-theory"), {}):
        found = m.predictions("", labels, shown.options)
        for group in runs[0].json["groups"]:
            rates = np.array([m.mbps(group).of(run) for run in runs])
            bps = {column: found[column].bps[group] if found else None for column in (m.PURE, m.CORRECTED)}
            predicted = {column: None if it is None else it / 1e6 for column, it in bps.items()}
            yield {**labels, "group": group}, rates, predicted


def simulated(column: str) -> Values:
    """Rates of groups with a prediction."""
    return Values(lambda shown: [(of, rates) for of, rates, it in compared(shown) if it[column] is not None])


def predicted(column: str) -> Values:
    """Their predictions."""
    return Values(
        lambda shown: [(of, it[column] or math.nan) for of, _, it in compared(shown) if it[column] is not None]
    )


def differences(shown: Shown) -> Iterator[tuple[dict[str, Label], float]]:
    """Predicted over simulated rate, less 1, for both columns."""
    for of, rates, it in compared(shown):
        mean = mean_interval(rates, LEVEL).mean
        for column, value in it.items():
            if value is not None and mean:
                yield {**of, "column": column}, value / mean - 1


def largest(shown: Shown) -> list[tuple[dict[str, Label], Interval]]:
    """The largest relative difference by figure and marker, in percent; Table 1 is part of Fig. 7."""
    found: dict[tuple[Label, Label, Label], float] = {}
    for of, value in differences(shown):
        table = (of["figure"], of["marker"], of["r"]) == ("fig07", RED, 1)
        for name in (of["figure"], *(["tab01"] if table else [])):
            key = FIGURES[str(name)], of["marker"], of["column"]
            found[key] = max(found.get(key, 0.0), 100 * abs(value))
    return [
        ({"figure": name, "marker": marker, "column": column}, Interval.exact(found[name, marker, column]))
        for name, marker, column in product(FIGURES.values(), MARKERS, (m.PURE, m.CORRECTED))
        if (name, marker, column) in found
    ]


def theory_data(shown: Shown) -> pl.DataFrame:
    """One row a group and point: both rates and their relative difference, in both columns of theory."""
    made = []
    for of, rates, it in compared(shown):
        i = mean_interval(rates, LEVEL)
        row: dict[str, Any] = {name: of.get(name) for name in ("figure", "rtt12_ms", "marker", "r", "group")}
        row |= {"runs": i.n, **cells("simulated_mbps", i), **{f"{column}_mbps": value for column, value in it.items()}}
        for column, value in it.items():
            row[f"difference_{column}"] = None if value is None or not i.mean else value / i.mean - 1
        made.append(row)
    return frame(made)


RATE_TICKS = (0.1, 0.2, 0.5, 1, 2)
experiment(
    "x-theory",
    "The fluid theory beside the runs of figures 3, 5, 6, 7 and Table 1",
    *(
        grid(net.by_figure, "r", figure=name, **trips, marker=MARKERS, r=RS)
        for name, trips in (
            ("fig03", {}),
            ("fig05", {"rtt12_ms": RTTS_MS}),
            ("fig06", {}),
            ("fig07", {"rtt12_ms": RTTS_MS}),
        )
    ),
    data=theory_data,
    caption="Predicted over simulated rate of a connection of each class, at every point and for every marker: pure "
    "theory (a), and with half a packet and queueing (b). Largest relative difference by figure (c). Bars are "
    "90 % confidence intervals. Furthest off are RED in Fig. 7a, where its load falls as its price rises, so "
    "that a small difference of load is a large one of rates, and virtual queue at R2–R3, where traffic that "
    "R1–R2 has spaced is smoother than that with which its curve was measured.",
    figure=figure(
        *(
            scatter(
                simulated(column),
                predicted(column),
                x_title="simulated rate of a connection (Mbit/s)",
                y=f"predicted rate, {column} (Mbit/s)",
                log="xy",
                x_range=(0.1, 2.5),
                y_range=(0.1, 2.5),
                ticks=RATE_TICKS,
                marks=[Mark()],
                looks=Looks("marker", legend="{marker}"),
            )
            for column in (m.PURE, m.CORRECTED)
        ),
        dots(
            Values(largest),
            row="{figure}",
            y="largest difference of rates (%)",
            looks=Looks(("marker", "column"), legend="{marker}, {column}"),
        ),
        height=4.0,
        own_legends=True,
    ),
)

# --- Figures 8 to 10: marking probability against utilisation ---------------------------------------------------------

LOADS = thin((2, 4, 6, 8, 12, 16, 20, 26, 32, 40, 50), (2, 4, 8, 12, 16, 20, 26, 40))
"""N of the sweep. The paper gives none; these lead from a utilisation of 0.65 to one of 1. Thinned only where no line
or parabola is laid through a whole curve: those depend on the places measured."""
THETAS = (0.80, 0.85, 0.90, 0.95, 1.00)
BUFFERS = (10.0, 20.0, 30.0, 50.0, 100.0)
"""θ and B of Fig. 10 are in no text; these lie around the paper's 0.95 and 30 packets."""
RTTS = (100.0, 200.0, 400.0)
MAX_PROBABILITIES = (0.1, 0.3, 0.6, 0.95)
LB_SLOPES = ((0.71, 0.6), (0.5, 0.6), (1.0, 0.6), (2.0, 0.6), (0.71, 0.5), (0.71, 0.7))
"""α and ρ0: the paper's (Fig. 8), then one of them changed."""
INTERVALS_S = (0.1, 0.5, 2.0)
LB_LOADS = thin((2, 4, 6, 8, 10, 12, 14), (4, 8, 12))
"""Loads that leave every load-based marker of `LB_SLOPES` below saturation, or nearly."""
EQUAL_LOAD = {RED: 24, VQ: 22, LB: 14}
"""Connections of weights 1 and 6 that take each of Fig. 8's markers to a utilisation of about 0.90."""
BURST_LOADS = (8, 16, 26)
BURST_N = {
    (RED, PI): (EQUAL_LOAD[RED],),
    (VQ, PI): (*BURST_LOADS, EQUAL_LOAD[VQ]),
    (VQ, IPD): BURST_LOADS,
    (LB, PI): (EQUAL_LOAD[LB],),
}
PERIOD_BUFFERS = (10.0, 30.0, 100.0)
DEAF_LOADS = (70, 75, 80, 85, 90, 93, 95, 97)
LOW_LOADS = (2, 4, 6, 8, 12, 20, 40)
LOW_WAYS = tuple(net.low_ways(Options()))
MARKING: dict[str, Metric] = {
    "rho": RHO,
    "p": P,
    "delay_ms_mean": DELAY["mean"],
    "delay_ms_max": DELAY["max"],
    "queue_sd_over_mean": m.QUEUE_SD,
    "windows_sd_over_mean": m.WINDOWS_SD,
    "periods_per_s": m.OFTEN,
    "period_s": m.LONG,
}


def sweep(make: Callable[..., Any], ns: Sequence[Any] | Thin, load: bool = False, /, **labels: Any) -> Any:
    """Every combination of labels at every load of every mix; `load` labels it with its number for weights 1 and 6."""
    grids = {name: it if isinstance(it, (tuple, list)) else [it] for name, it in labels.items()}

    def made(o: Options, scale: Scale) -> list[Point]:
        wanted = at(scale, ns.paper, ns.quick) if isinstance(ns, Thin) else ns
        found = []
        for them in product(*grids.values()):
            for mix in net.mixes(o):
                for count, n in {net.count(mix, n): n for n in map(int, wanted)}.items():
                    of = dict(zip(grids, them, strict=True)) | ({"load": n} if load else {})
                    of |= {"weights": mix, "n": count}
                    found.append(Point(of, with_labels(make, of, o)))
        return found

    return made


def p_over_rho(*, folds: bool = False, title: str = "", **labels: Any) -> Any:
    """A panel of p over ρ along the loads."""
    x, y = (m.parts(it, folds=folds, **labels) for it in (RHO, P))
    return path(x, y, along="n", x_title=RHO.title, y=P.title, title=title, x_range=(None, 1.01))


def by_part(colour: str | tuple[str, ...], words: str) -> Looks:
    """A colour a curve; dashes for its parts."""
    return Looks(colour, ("part", "weights"), f"{words}{{weights}}{{part}}")


AS_8A = "Bars: 90 % intervals of both, over runs"
experiment(
    "fig08",
    "Marking probability over utilisation for three markers and two window controls",
    sweep(net.figure_8, LOADS.paper, marker=MARKERS, form=(PI, IPD)),
    columns=MARKING,
    caption="Share of packets marked over the utilisation of the link, the load swept by the number of connections, "
    f"half of them of weight 1 and half of 6. {AS_8A}. a: proportional increase; b: inversely proportional decrease. "
    "Dashed: fewer than eight connections under RED, where the curve folds back, and where the link is always busy.",
    figure=figure(p_over_rho(folds=True), by=("form",), columns=2, width=4.6, looks=by_part("marker", "{marker:long}")),
)
experiment(
    "fig09",
    "Marking probability over utilisation for three markers tuned to be alike",
    sweep(net.figure_9, LOADS.paper, marker=MARKERS),
    columns=MARKING,
    caption="As Fig. 8a, with RED at 3, 9, 0.95, 0.002, the virtual queue at θ = 0.95 and load-based marking at "
    f"ρ0 = 0.7, α = 2. {AS_8A}.",
    figure=figure(p_over_rho(folds=True), looks=by_part("marker", "{marker:long}")),
)
experiment(
    "fig10",
    "Marking probability over utilisation for several θ and B of the virtual queue",
    sweep(net.figure_10, LOADS.paper, theta=THETAS[:3], buffer=30.0),
    sweep(net.figure_10, LOADS.paper, theta=0.95, buffer=30.0),
    sweep(net.figure_10, LOADS.paper, theta=1.0, buffer=30.0),
    sweep(net.figure_10, LOADS.paper, theta=0.95, buffer=tuple(b for b in BUFFERS if b != 30)),
    columns=MARKING,
    caption=f"As Fig. 8a under the virtual queue. a: θ, at B = 30 packets; b: B, at θ = 0.95. {AS_8A}.",
    figure=figure(
        replace(p_over_rho(buffer=30.0, title="a   B = 30 packets"), looks=by_part("theta", "{theta}")),
        replace(p_over_rho(theta=0.95, title="b   θ = 0.95"), looks=by_part("buffer", "{buffer}")),
        width=4.6,
        own_legends=True,
    ),
)
experiment(
    "x-rtt",
    "Fig. 8a with other round trips, gain and weights per second kept",
    sweep(net.other_trip, LOADS, marker=MARKERS, rtt_ms=RTTS),
    columns=MARKING,
    caption="As Fig. 8a for round trips of 100, 200 and 400 ms; gain and weights per round trip grow with it. "
    f"{AS_8A}.",
    figure=figure(p_over_rho(folds=True), by=("marker",), columns=3, looks=by_part("rtt_ms", "{rtt_ms}")),
)


def around(name: str, width: int, before_s: float = 10, after_s: float = 20) -> Values:
    """A series around the step of the load by t_avg, `width` samples averaged into one: mean with its band."""

    def found(runs: list[Run]) -> Curve:
        times = runs[0].series(name)[0]
        kept = (times > net.STEP_S - before_s) & (times <= net.STEP_S + after_s)
        whole = int(kept.sum()) // width * width

        def blocks(values: Floats) -> Floats:
            made: Floats = np.nan_to_num(values[kept][:whole]).reshape(-1, width).mean(axis=1)
            return made

        return curve_of(blocks(times) - net.STEP_S, np.array([blocks(run.series(name)[1]) for run in runs]).T, LEVEL)

    return of_runs(found, panel="step", alpha=0.71, rho0=0.6)


STEP: dict[str, Any] = {
    "x_title": "time since the step (s)",
    "marks": [Mark(x=0)],
    "looks": Looks("t_avg", "t_avg", "{t_avg}"),
}
experiment(
    "x-lb",
    "Parameters of load-based marking: slope, target, and the averaging interval at a step of the load",
    *(sweep(net.load_marked, LB_LOADS, panel="curve", alpha=a, rho0=b, t_avg=0.5) for a, b in LB_SLOPES),
    *(sweep(net.load_marked, LB_LOADS, panel="curve", alpha=0.71, rho0=0.6, t_avg=t) for t in INTERVALS_S if t != 0.5),
    grid(net.load_step, "panel", panel=["step", "no step"], alpha=0.71, rho0=0.6, t_avg=INTERVALS_S),
    columns=MARKING,
    caption="a: marking probability over utilisation for several α and ρ0. b, c: probability and queue of waiting "
    "packets after the number of connections doubled, each over 0.5 s, means over runs with 90 % bands.",
    figure=figure(
        replace(
            p_over_rho(panel="curve", t_avg=0.5),
            looks=by_part(("alpha", "rho0"), "α = {alpha:g}, ρ0 = {rho0:g}"),
        ),
        drawn(around(net.PROBABILITY_SERIES, 5), y=P.title, **STEP),
        drawn(around(net.QUEUE_SERIES, 50), y="waiting packets", **STEP),
        own_legends=True,
        height=4.0,
    ),
)
experiment(
    "x-red",
    "RED's marking probability over utilisation for several largest probabilities",
    sweep(net.red_marked, LOADS.paper, max_p=MAX_PROBABILITIES),
    columns=MARKING,
    caption=f"As Fig. 8a under RED with thresholds of 3 and 9 packets. {AS_8A}; dashed: fewer than eight connections.",
    figure=figure(p_over_rho(folds=True), looks=by_part("max_p", "{max_p}")),
)
DISPERSION = Metric(m.dispersion, "variance over mean of packets in 10 ms")
experiment(
    "x-bursts",
    "How bursty arrivals are, and how much queue and windows fluctuate",
    *(sweep(net.bursts, ns, True, marker=marker, form=form) for (marker, form), ns in BURST_N.items()),
    columns=MARKING,
    caption="a: variance over mean of the packets that arrive in 10 ms under the virtual queue, for both window "
    "controls. b: standard deviation over mean, at a utilisation of about 0.9, of the queue averaged over "
    "200 ms and of the sum of all windows. Bars: 90 % intervals.",
    figure=figure(
        curves(
            DISPERSION(marker=VQ, load=list(BURST_LOADS)).unlabelled("n"),
            x="load",
            y=DISPERSION.title,
            ticks=BURST_LOADS,
            looks=Looks("form", "weights", "{form:long}{weights}"),
        ),
        dots(
            *(
                joined(*(it(marker=[marker], form=PI, load=n) for marker, n in EQUAL_LOAD.items()))
                .unlabelled("n")
                .labelled(name=name)
                for name, it in (("queue", m.QUEUE_SD), ("sum of windows", m.WINDOWS_SD))
            ),
            row="{marker:long}{weights}",
            y="standard deviation over mean",
            looks=Looks("name", legend="{name}"),
        ),
        own_legends=True,
        width=4.6,
        height=3.2,
    ),
)
experiment(
    "x-periods",
    "How often a virtual queue overflows and how long it then marks",
    *(sweep(net.periods, (n,), True, buffer=buffer) for buffer in PERIOD_BUFFERS for n in (8, 26)),
    columns=MARKING,
    runs=FEW_SEEDS,
    caption="a: beginnings of marking periods per second; b: their mean length; over B. Bands: 90 % intervals.",
    figure=figure(
        curves(m.OFTEN().unlabelled("n"), x="buffer", y=m.OFTEN.title),
        curves(m.LONG().unlabelled("n"), x="buffer", y=m.LONG.title, marks=[Mark(y=net.RTT_S, words="a round trip")]),
        width=4.0,
        looks=Looks("load", "weights", "{load}{weights}"),
    ),
)
experiment(
    "x-factors",
    "One factor for the virtual queue's rate and room, or two (footnote 5)",
    sweep(net.factors, (16,), buffer=(10.0, 20.0, 50.0), how=("one factor", "two factors")),
    columns=MARKING,
    caption="The paper's θ with a buffer B, and the same virtual buffer with a buffer 2B and its own factor θ/2.",
)
experiment(
    "x-buffer",
    "Fig. 10b with smaller gains, a longer round trip, and traffic that does not answer to marks",
    sweep(net.other_buffer, LOADS, how=tuple(net.BUFFER_WAYS), buffer=PERIOD_BUFFERS),
    grid(net.other_buffer, how=DEAF, weights=DEAF, buffer=PERIOD_BUFFERS, n=DEAF_LOADS),
    columns=MARKING,
    runs=FEW_SEEDS,
    caption=f"As Fig. 10b, each panel with one thing changed; the last: Poisson datagrams. {AS_8A}.",
    figure=figure(
        replace(p_over_rho(), y_range=(0, 1)), by=("how",), columns=3, looks=Looks("buffer", "part", "{buffer}{part}")
    ),
)
LOW_SHOWN = (
    *(net.USUAL, "round trips ± 25 %", "no exemption of short queues", "windows of at most 20 packets"),
    *("inversely proportional decrease", "twice the gain", "four times the gain"),
)
"""Those changes that change the curve."""
experiment(
    "x-low-load",
    "What might bring RED to utilisations below 0.80",
    sweep(net.low_load, LOW_LOADS, how=LOW_WAYS, marker=RED),
    grid(net.low_load, "n", how=DEAF, marker=MARKERS, weights=DEAF, n=DEAF_LOADS),
    columns=MARKING,
    runs=FEW_SEEDS,
    caption="a: RED of Fig. 8a with one thing changed at a time. b: the three markers of Fig. 8a under Poisson "
    f"datagrams that do not answer to marks. {AS_8A}.",
    figure=figure(
        replace(
            p_over_rho(how=list(LOW_SHOWN), marker=RED, title="a   RED"),
            looks=Looks("how", "part", "{how}{part}"),
            y_range=(0, 0.75),
        ),
        replace(
            p_over_rho(how=DEAF, title="b   Poisson traffic that ignores marks"),
            looks=Looks("marker", "part", "{marker:long}{part}"),
            y_range=(0, 0.75),
        ),
        own_legends=True,
        width=4.6,
        height=4.4,
    ),
)

# --- Table 2 and Fig. 11 ----------------------------------------------------------------------------------------------

COUNTS = thin(
    (4, 6, 8, 12, 16, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 50), (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 50)
)
COUNTS_FEW = (4, 8, 12, 18, 24, 34, 44, 54)
"""N of row 1 with one setting that differs."""


def scan(o: Options, wanted: Sequence[Any], mix: str) -> list[int]:
    """Numbers of connections: as many more as a round trip holds more packets than with 1000 B."""
    halves = sorted({max(1, round(n / 2 * 1000 / o.packet)) for n in wanted})
    return [net.count(net.TABLE_MIXES[mix], 2 * half) for half in halves]


def rows_of_table(o: Options, scale: Scale, **labels: str) -> list[Point]:
    """Every row of Table 2 over N."""
    wanted = at(scale, COUNTS.paper, COUNTS.quick)
    return [
        Point({**labels, "marker": marker, "mix": mix, "n": n}, net.table_2(o, marker, mix, n))
        for marker in net.ROWS
        for mix in net.table_mixes(o)
        for n in scan(o, wanted, mix)
    ]


def row_1_otherwise(o: Options, scale: Scale) -> list[Point]:
    """Row 1 of Table 2 over N with one setting that differs."""
    return [
        Point({"variant": name, "marker": net.RED_5, "n": n}, net.table_2(o, net.RED_5, mix, n, name))
        for name in net.VARIANTS
        for mix in [net.variant_mix(o, name)]
        for n in scan(o, COUNTS_FEW, mix)
    ]


WAITS: dict[str, Metric] = {
    "utilisation": RHO,
    "p": P,
    **{f"delay_{what}_ms": it for what, it in DELAY.items()},
    **{f"delay_{what}_with_service_ms": m.with_service(what) for what in ("mean", "max")},
}


def table_2_data(shown: Shown) -> pl.DataFrame:
    """The whole scan; `chosen` marks the points of Table 2, `longest_ms` is the maximum of all runs."""
    read = {(at["marker"], at["mix"], at["n"]) for at, _ in m.at_load(RHO, places=True).cells(shown)}
    found = rows(WAITS, shown, LEVEL)
    for row, (_, runs) in zip(found, points(shown.table(""), {}), strict=True):
        row["longest_ms"] = max(DELAY["max"].of(run) for run in runs)
        row["chosen"] = (row["marker"], row["mix"], row["n"]) in read
    return frame(found)


def cells_of_row(what: str) -> dict[str, Any]:
    """The paper's delay in a row, and the range around it."""
    place = list(DELAYS).index(what)

    def accepted(marker: str) -> tuple[float, float]:
        value, factor = m.PAPER[marker][place], m.FACTOR[marker]
        return value / factor, value * factor

    return {"printed": lambda marker: m.PAPER[marker][place], "accepted": accepted}


def spread(o: Options) -> str:
    """The round trips of Table 2 in words."""
    return f"round trips spread by ± {o.rtt_spread_delay:.0%}" if o.rtt_spread_delay else "equal round trips"


experiment(
    "tab02",
    "Queueing delay of four markers at a utilisation of 0.90",
    rows_of_table,
    data=table_2_data,
    caption=lambda o: (
        "Average, maximum and standard deviation of the wait in the queue, at the number of connections "
        f"whose mean utilisation is nearest to 0.90 ({spread(o)}). Grey: the accepted range around the paper's value. "
        f"{BANDS}"
    ),
    figure=figure(
        *(
            dots(
                m.at_load(DELAY[what], places=True),
                row="{marker}, {mix}N = {n:g}, ρ = {rho:.3f}",
                y=f"{words} (ms)",
                log="x",
                ticks=(1, 2, 5, 10, 20, 50, 100, 200),
                **cells_of_row(what),
            )
            for what, words in DELAYS.items()
        ),
        height=0,
        looks=Looks("mix", legend="runs"),
    ),
)


def over_load(what: str, x: str = "utilisation ρ", **labels: Any) -> Any:
    """A panel of a delay over ρ."""
    stars = [Mark(m.TARGET, m.PAPER[name][list(DELAYS).index(what)], colour=i) for i, name in enumerate(net.ROWS)]
    wide = {"marks": stars if labels["variant"] == net.AS_TABLE else stars[:1]}
    return path(RHO(**labels), DELAY[what](**labels), along="n", x_title=x, y=f"{DELAYS[what]} (ms)", **wide)


experiment(
    "x-load",
    "Table 2 over the load, and its first row with one thing varied at a time",
    partial(rows_of_table, variant=net.AS_TABLE),
    row_1_otherwise,
    columns=WAITS,
    caption="Average, maximum and standard deviation of the wait over utilisation as the number of connections grows: "
    "the four markers of Table 2 (upper row; stars: the paper's values), and the first of them otherwise "
    f"(lower row). One link of 10 Mbit/s, round trip 200 ms. {BANDS}",
    figure=figure(
        *(
            replace(over_load(what, variant=net.AS_TABLE), looks=Looks("marker", "mix", "{mix}{marker}"))
            for what in DELAYS
        ),
        *(
            replace(
                over_load(what, marker=net.RED_5, variant=[net.AS_TABLE, *net.VARIANTS]),
                looks=Looks("variant", "variant", "{variant}"),
            )
            for what in DELAYS
        ),
        columns=3,
        own_legends=True,
        height=4.4,
    ),
)
WS = thin((*range(1, 11), 15), (1, 2, 4, 6, 8, 10, 15))
"""Common weights of all connections."""
BURST_WS = (1, 2, 4, 6, 8, 10)
"""Those at which arrivals are counted in bins."""


def pairs_only(it: m.Ratio) -> Metric:
    """A ratio in runs that have a heavy and a light class."""
    return Metric(lambda run, o: it.top(run, o) if "heavy" in run.json["groups"] else None)


BOTH_CONTROLS: dict[str, Metric] = {
    "R": pairs_only(R),
    "Wr": pairs_only(WR),
    "utilisation": RHO,
    "p": P,
    "delay_mean_ms": DELAY["mean"],
    "throughput_mbps": m.mbps("all"),
    "window_packets": m.metric(m.window, "all"),
}
INDEX = Metric(m.dispersion, "index of dispersion")


def controls_data(shown: Shown) -> pl.DataFrame:
    """Every point; the ladder of population C as one row a weight."""
    found = []
    for row, (labels, runs) in zip(rows(BOTH_CONTROLS, shown, LEVEL), points(shown.table(""), {}), strict=True):
        if labels["panel"] == "c":
            row |= cells("dispersion", mean_interval([INDEX.of(run, shown.options) for run in runs], LEVEL))
        if labels.get("population") != "C":
            found.append(row)
            continue
        for it in m.pairs(runs[0], shown.options):
            ratios = mean_interval([R.of(run, it) or math.nan for run in runs], LEVEL)
            found.append({**labels, "r": it.r, "runs": len(runs), **cells("R", ratios)})
    return frame(found)


COMMON: dict[str, Any] = {"x": "w", "y_range": (None, None)}
experiment(
    "fig11",
    "Willingness to pay and MulTCP under RED: sharing, utilisation, burstiness",
    *(
        it
        for control in (WTP, MULTCP)
        for it in (
            *populations(net.controls, RS, panel="a", control=control),
            grid(net.common, panel="b", control=control, w=WS),
            grid(net.common, panel="c", control=control, w=BURST_WS),
        )
    ),
    data=controls_data,
    caption="Throughput ratio over weight ratio (a, logarithmic), utilisation over the weight of all ten connections "
    "(b), and index of dispersion of arrivals in bins of 50 ms, which is 1 for Poisson arrivals (c: the "
    f"paper's conjecture). One link of 10 Mbit/s, round trip 200 ms. {BANDS}",
    figure=figure(
        curves(
            R(panel="a"),
            x="r",
            log="y",
            y_range=(None, None),
            marks=DIAGONAL,
            looks=Looks("control", "population", "{control}, {population:long}"),
        ),
        curves(RHO(panel="b"), **COMMON, looks=Looks("control", legend="{control}")),
        curves(INDEX(panel="c"), x="w", marks=[Mark(y=1)], looks=Looks("control", legend="{control}")),
        own_legends=True,
        height=4.4,
    ),
)
LAW_PRICES = (0.02, 0.04, 0.08, 0.16)
"""Marking probabilities at which a single connection is watched: none fills the link, none is at the floor."""
LAW_WEIGHTS = (1, 3)
BY_REACTION = Looks("reaction", legend="MulTCP{reaction}")
experiment(
    "x-multcp",
    "MulTCP's other choices, and how both controls answer a fixed marking probability",
    *(
        it
        for reaction in net.REACTIONS
        for it in (
            grid(partial(net.controls, population="A"), panel="a", control=MULTCP, reaction=reaction, r=RS),
            grid(net.common, panel="b", control=MULTCP, reaction=reaction, w=WS),
        )
    ),
    grid(net.law, panel="c", control=WTP, reaction="", w=LAW_WEIGHTS, p=LAW_PRICES),
    grid(net.law, panel="c", control=MULTCP, reaction=list(net.REACTIONS), w=LAW_WEIGHTS, p=LAW_PRICES),
    columns=BOTH_CONTROLS,
    caption="Throughput ratio (a) and utilisation (b) as in figure 11, MulTCP reacting otherwise; rate of a single "
    "connection of weight 1 and 3 whose packets are marked independently with a fixed probability, both axes "
    f"logarithmic (c). One link of 10 Mbit/s, round trip 200 ms. {BANDS}",
    figure=figure(
        curves(R(panel="a"), x="r", log="y", y_range=(None, None), marks=DIAGONAL, looks=BY_REACTION),
        curves(RHO(panel="b"), **COMMON, looks=BY_REACTION),
        curves(
            m.mbps("all")(panel="c"),
            x="p",
            y="rate (Mbit/s)",
            log="xy",
            ticks=LAW_PRICES,
            y_range=(None, None),
            looks=Looks(("control", "reaction"), "w", "{control}{reaction}, {w}"),
        ),
        own_legends=True,
        height=5.0,
    ),
)

# --- Sections 2 and 3: the delay equation -----------------------------------------------------------------------------

WEIGHTS = ((1.0, 1.0), (4.0, 1.0), (2.0, 2.0), (1.0, 4.0))
"""(wb_inc, wb_dec): weight 1, and the three ways to weight 4 of Fig. 1 and between."""
ALONE = thin((0.03, 0.05, 0.1), (0.03, 0.1))
"""The least at which a connection of weight 4 does not fill the link with packets of 1500 B either."""


def windows(o: Options, scale: Scale) -> list[Point]:
    """The weights of Fig. 1 under several marking probabilities."""
    return [
        Point({"p": p, "increase": up, "decrease": down}, net.alone(o, float(p), up, down))
        for p, (up, down) in product(at(scale, ALONE.paper, ALONE.quick), WEIGHTS)
    ]


def disturbance(product: float) -> Curve:
    """A disturbance over time, every tenth point of 15 delays."""
    loop = fluid.linear(product)
    keep = slice(0, 15 * fluid.STEPS + 1, 10)
    return m.bare(loop.path.times[keep] / net.RTT_S, loop.u[keep])


DISTURBANCES = computed(disturbance, product=fluid.DRAWN)
BORDERS = {"oscillates": (True, 1 / math.e), "grows": (False, math.pi / 2)}
"""Where a loop begins to, in words: for `fluid.critical_gain`, and the product aT of theory."""
GAINS = Values(
    lambda shown: [
        ({"name": name, "decrease": w}, Interval.exact(fluid.critical_gain(net.capacity(shown.options), w, steadily)))
        for name, (steadily, _) in BORDERS.items()
        for w in fluid.DECREASES
    ]
)


def equation_data(shown: Shown) -> pl.DataFrame:
    """The figure's numbers, one row a mark: panel, series, x, y and, where sampled, the interval."""
    made: list[dict[str, Any]] = []

    def add(panel: str, series: str, x: Any, y: float, lo: float | None = None, hi: float | None = None) -> None:
        made.append({"panel": panel, "series": series, "x": x, "y": y, "lo": lo, "hi": hi})

    for labels, line in DISTURBANCES.cells(shown):
        for x, y in zip(line.x, line.mean, strict=True):
            add("a", f"aT = {labels['product']:g}", float(x), float(y))
    for labels, values in m.OVER_FLUID().cells(shown):
        found = mean_interval(values, LEVEL)
        edges = (found.lo, found.hi) if math.isfinite(found.hi - found.lo) else (None, None)
        add("b", f"w_inc = {labels['increase']:g}, w_dec = {labels['decrease']:g}", labels["p"], found.mean, *edges)
    for labels, gain in GAINS.cells(shown):
        add("c", str(labels["name"]), labels["decrease"], gain.mean)
    return frame(made)


experiment(
    "x-ode",
    "delayed rate equation and its stability; one connection's mean rate beside the equation's",
    windows,
    data=equation_data,
    caption=f"a: a disturbance of du/dt = −a u(t − T) for aT = {', '.join(f'{value:g}' for value in fluid.DRAWN)} "
    "(borders 1/e and π/2). b: mean rate of one connection under marks of constant probability over that of equation "
    "5, less half a packet a round trip; 90 % confidence intervals, ± 3 % shaded. c: the gain per round trip at which "
    "the equation of one link with load-based marking begins to oscillate and to grow, over w_dec; crosses: equation "
    "7.",
    figure=figure(
        drawn(
            DISTURBANCES,
            x_title="time (delays T)",
            y="disturbance u / u(0)",
            y_range=(-1.9, 1.4),
            looks=Looks("product", "product", "aT = {product:g}"),
        ),
        dots(
            m.OVER_FLUID().map(lambda v: 100 * (v - 1)),
            row="p = {p:g}",
            y="packets over equation (%)",
            x_range=(-5, 5),
            marks=[Mark(x=(-3, 3)), Mark(x=0)],
            looks=Looks(("increase", "decrease"), legend="w_inc = {increase:g}, w_dec = {decrease:g}"),
        ),
        curves(
            GAINS,
            x="decrease",
            x_title="w_dec",
            y="critical gain per round trip",
            log="xy",
            ticks=fluid.DECREASES,
            y_range=(None, None),
            printed=lambda name, decrease: BORDERS[name][1] / fluid.product_of(1.0, decrease),
            looks=Looks("name", legend="{name} from here"),
        ),
        own_legends=True,
        height=4.0,
    ),
)
VALUES = thin((0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0), (1.0, 2.0, 3.0, 5.0))
"""a (T + t_avg)."""
LOAD_SD = Metric(m.load_sd, "standard deviation of the load")


def border(marker: str) -> float:
    """Where windows clocked by acknowledgements should begin to grow."""
    target, slope = net.SETTINGS[marker]
    return averaged_border(slope * (net.EQUILIBRIUM - target), slope * net.EQUILIBRIUM, net.RTT_S, net.INTERVAL_S)


experiment(
    "x-settle",
    "does load-based marking settle where theory says: gain raised at one equilibrium",
    grid(net.crowd, "value", marker=list(net.SETTINGS), value=VALUES),
    data=at_cells({"sd": LOAD_SD()}, plain=True),
    caption="Standard deviation of the load of an interval of 0.5 s over a(T + t_avg), for 20 connections with "
    "round trips of 200 ms ± 25 % at an equilibrium load of 0.8; 90 % confidence bands. Line π/2: the "
    "delayed rate equation with averaging taken as delay begins to grow. Other lines: where windows clocked by "
    "acknowledgements should.",
    figure=figure(
        curves(
            LOAD_SD(),
            x="value",
            marks=[Mark(x=math.pi / 2, words="π/2"), *(Mark(x=border(it), words=it) for it in net.SETTINGS)],
        ),
        looks=Looks("marker", legend="{marker}"),
    ),
)
