"""Figures 1, 3 and 4: window dynamics, and who gets what on one link; and what explains their virtual queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from evenflow.claims import Scale
from evenflow.lab import Floats, Measure, Spot, at, data, optional, quantity, seeds
from evenflow.paper import Experiment
from evenflow.study import Labels, Point, Run, Table

from .. import measures
from .. import network as net
from ..choices import Options
from . import figures
from . import measures as sharing
from .measures import CONSTANT, NETWORK, OTHERS, TAGGED, WINDOW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

RATIOS = tuple(float(r) for r in range(1, 11))
"""Weight ratios of figures 3 and 4."""
RATIOS_QUICK = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
LOOKED_AT = (4.0, 10.0)
"""Weight ratios at which marks and windows are looked at one by one."""
BURST_RATIOS = (6.0, 10.0)
GAINS = (0.25, 1.0, 2.0)
"""Beside the paper's 0.5."""
BASE_WEIGHTS = (0.25, 0.5, 1.0, 2.0)
"""Of the connections of lower weight (figures 3 and 4)."""
MAP_RATIOS = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
MAP_RATIOS_QUICK = (6.0, 10.0)

# --- Figure 1 -------------------------------------------------------------------------------------------------------

TRADE_OFF = ((4.0, 1.0), (2.0, 2.0), (1.0, 4.0))
"""(w_inc, w_dec) with the product 4; figure 1 shows the first and the last."""
PROBABILITY = 0.1
PROBABILITIES = (0.02, 0.05, 0.1)
WEIGHTS = ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (2.0, 4.0), (8.0, 1.0))
"""(w_inc, w_dec) for the mean rate, beside those above."""
TAGGED_START_S = 60.0
"""In the network: when the nine others have settled."""
OTHERS_WEIGHT = 2.0
"""Of each of the nine others: ten connections then see about the probability of the other setting, 0.1."""
SEEDS_FIG01 = 30
LOOK = "200 ms"
"""How often windows are looked at: once a round trip."""

# --- Marks one by one -----------------------------------------------------------------------------------------------

PACKETS_WARMUP_S = {net.PI: 20.0, net.IPD: 60.0}
PACKETS_S = 30.0
"""Runs of which every packet is recorded are short: a proportional increase settles within 5 s at these
probabilities, an inversely proportional decrease in 10 times that at r = 10."""
SEEDS_PACKETS = 3
SEEDS_PHASE = 200
OVERFLOW = "marks the overflow only"
"""The variant that can mark at most 1 − θ of the packets: windows grow until the round trip does."""


def fig01(o: Options, scale: Scale) -> list[Point]:
    """Windows of one connection: independent marks with several weights and probabilities; and one among ten."""
    look = {"series": [{"of": WINDOW, "every": LOOK}]}
    wanted = [(weights, PROBABILITY) for weights in (*TRADE_OFF, *WEIGHTS)]
    wanted += [(TRADE_OFF[0], p) for p in PROBABILITIES if p != PROBABILITY]
    points = [
        Point(
            {"place": CONSTANT, "p": p, "increase": increase, "decrease": decrease},
            net.single_link(
                o,
                net.constant(p),
                {TAGGED: net.Connections(1, net.wtp(o, weights=(increase, decrease)), start="0 s")},
                record=look,
                warmup_s=100,
                duration_s=220,
                title="One connection under independent marks",
            ),
        )
        for (increase, decrease), p in wanted
    ]
    for increase, decrease in TRADE_OFF:
        tagged = net.Connections(1, net.wtp(o, weights=(increase, decrease)), start=quantity(TAGGED_START_S, "s"))
        others = net.Connections(net.CONNECTIONS - 1, net.wtp(o), OTHERS_WEIGHT)
        scenario = net.single_link(
            o,
            net.load_based(o),
            {TAGGED: tagged, OTHERS: others},
            record=look,
            warmup_s=160,
            duration_s=280,
            title="One connection that joins nine under load-based marking",
        )
        points.append(Point({"place": NETWORK, "increase": increase, "decrease": decrease}, scenario))
    return points


def _shares(o: Options, form: str, scale: Scale) -> Iterator[Point]:
    tcp = net.wtp(o, form)
    for marker, table in net.standard(o).items():
        for population, r in product("AB", at(scale, RATIOS, RATIOS_QUICK)):
            yield Point(
                {"marker": marker, "population": population, "r": r},
                net.single_link(o, table, net.pair(o, population, r, tcp, o.base_weight)),
            )
        yield Point({"marker": marker, "population": "C"}, net.single_link(o, table, net.ladder(tcp, o.base_weight)))


def fig03(o: Options, scale: Scale) -> list[Point]:
    """Throughput and marks over the weight ratio, proportional increase, populations A, B and C."""
    return list(_shares(o, net.PI, scale))


def fig04(o: Options, scale: Scale) -> list[Point]:
    """The same with inversely proportional decrease."""
    return list(_shares(o, net.IPD, scale))


def x_phase(o: Options, scale: Scale) -> list[Point]:
    """Ten equal connections: which seeds make them unequal."""
    markers = net.standard(o)
    return [
        Point(
            {"marker": marker},
            net.single_link(o, markers[marker], {"equal": net.Connections(net.CONNECTIONS, net.wtp(o))}),
        )
        for marker in (net.VQ, net.RED)
    ]


@dataclass(frozen=True)
class Variant:
    """One thing done otherwise than in figures 3 and 4."""

    options: Options
    population: str
    spread: float | None = None
    red: bool = True
    """Whether it also changes anything for RED."""
    gain: float = net.GAIN


def variants(o: Options) -> dict[str, Variant]:
    """In words, what is done otherwise; the first is figures 3 and 4 themselves."""
    usual = Variant(o, o.population if o.population != "C" else "A")
    other = "B" if usual.population == "A" else "A"
    found = {
        f"population {usual.population}": usual,
        f"population {other}": replace(usual, population=other),
        "population C": replace(usual, population="C"),
        "marks at departure": replace(usual, options=replace(o, vq_mark="busy-departure"), red=False),
        OVERFLOW: replace(usual, options=replace(o, vq_mark="overflow"), red=False),
    }
    found |= {f"RTT ± {share:.0%}": replace(usual, spread=share) for share in (0.05, 0.25)}
    found |= {f"access at {mbps} Mbit/s": replace(usual, options=replace(o, access=mbps)) for mbps in (20, 1000)}
    found |= {f"packets of {size} B": replace(usual, options=replace(o, packet=size)) for size in (500, 1500)}
    found["slow start until a mark"] = replace(usual, options=replace(o, start="slow-start-until-mark"))
    return found | {f"gain {gain:g}": replace(usual, gain=gain) for gain in GAINS}


def x_burst(o: Options, scale: Scale) -> list[Point]:
    """Both forms under the virtual queue and RED, one thing at a time done otherwise."""
    points = []
    for name, variant in variants(o).items():
        mine = variant.options
        for form, marker in product((net.PI, net.IPD), (net.VQ, net.RED)):
            if marker == net.RED and not variant.red:
                continue
            table, tcp = net.standard(mine)[marker], net.wtp(mine, form, gain=variant.gain)
            labels = {"variant": name, "population": variant.population, "form": form, "marker": marker}
            if variant.population == "C":
                points.append(
                    Point(labels, net.single_link(mine, table, net.ladder(tcp, o.base_weight), spread=variant.spread))
                )
                continue
            for r in at(scale, BURST_RATIOS, BURST_RATIOS[-1:]) if marker == net.VQ else BURST_RATIOS[-1:]:
                groups = net.pair(mine, variant.population, r, tcp, o.base_weight)
                points.append(Point(labels | {"r": r}, net.single_link(mine, table, groups, spread=variant.spread)))
    return points


def x_base_weight(o: Options, scale: Scale) -> list[Point]:
    """Figures 3 and 4 at large r, the lower weight varied: virtual queue and RED, every population."""
    found = []
    for form, base, marker in product((net.PI, net.IPD), BASE_WEIGHTS, (net.VQ, net.RED)):
        table, tcp = net.standard(o)[marker], net.wtp(o, form)
        labels: Labels = {"form": form, "base_weight": base, "marker": marker}
        found += [
            Point(
                {**labels, "population": population, "r": r},
                net.single_link(o, table, net.pair(o, population, r, tcp, base)),
            )
            for population, r in product("AB", at(scale, MAP_RATIOS, MAP_RATIOS_QUICK))
        ]
        found.append(Point({**labels, "population": "C"}, net.single_link(o, table, net.ladder(tcp, base))))
    return found


def x_windows(o: Options, scale: Scale) -> list[Point]:
    """Windows of all ten connections under each marker and form."""
    look = {
        "series": [{"of": f"groups.{group}.users[*].flows[0].window", "every": LOOK} for group in ("light", "heavy")]
    }
    return [
        Point(
            {"marker": marker, "form": form, "r": r},
            net.single_link(o, table, net.pair(o, "A", r, net.wtp(o, form), o.base_weight), record=look),
        )
        for form, r, (marker, table) in product((net.PI, net.IPD), LOOKED_AT, net.standard(o).items())
    ]


def x_marks(o: Options, scale: Scale) -> list[Point]:
    """Every packet of short runs: each marker under proportional increase, the virtual queue under both forms."""
    wanted = [(net.PI, marker, r) for r, marker in product(LOOKED_AT, net.MARKERS)]
    wanted.append((net.IPD, net.VQ, LOOKED_AT[-1]))
    return [
        Point(
            {"marker": marker, "form": form, "r": r},
            net.single_link(
                o,
                net.standard(o)[marker],
                net.pair(o, "A", r, net.wtp(o, form), o.base_weight),
                record={"events": ["arrival"]},
                warmup_s=PACKETS_WARMUP_S[form],
                duration_s=PACKETS_WARMUP_S[form] + PACKETS_S,
            ),
        )
        for form, marker, r in wanted
    ]


def _of_pair(o: Options, of: sharing.Of) -> Measure:
    """Heavy over light; in population C the weights 10 and 1."""

    def ratio(run: Run) -> float | None:
        above, below = ("w10", "w1") if "w10" in run.json["groups"] else ("heavy", "light")
        return of(o, above, below)(run)

    return ratio


def _numbers(o: Options) -> Mapping[str, Measure]:
    ratios = {
        "R": sharing.of_throughput,
        "M": sharing.of_marks,
        "Wr": sharing.of_windows,
        "M_over_R": sharing.of_marks_per_packet,
        "p_high_over_p_low": sharing.of_probabilities,
    }
    return {name: _of_pair(o, of) for name, of in ratios.items()} | {
        "p": measures.probability,
        "rho": measures.utilisation,
    }


def _pair_numbers(o: Options) -> Mapping[str, Measure]:
    """The same, and each class's rate where there are two."""
    rates = {f"{group}_bps": optional(partial(measures.throughput, group)) for group in ("light", "heavy")}
    return {**_numbers(o), **rates}


def _dynamics(o: Options, spot: Spot) -> dict[str, Floats]:
    """Figure 1's numbers of a point, one a run."""
    start_s = TAGGED_START_S if OTHERS in spot.runs[0].json["groups"] else 0.0
    return {
        "window_packets": spot.of(partial(measures.window, TAGGED)),
        "window_variance": sharing.variances(spot),
        "settling_s": sharing.settling_s(spot, start_s),
        "packets_per_s": spot.of(partial(measures.throughput, TAGGED)) / (8 * o.packet),
        "p": spot.of(partial(measures.group_probability, TAGGED)),
    }


BAND = "Bands and bars are 90 % confidence intervals."
SETTING = "Ten connections over one link of 10 Mbit/s, round trip 200 ms."


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""

    def experiment(
        name: str,
        title: str,
        points: Callable[[Options, Scale], list[Point]],
        figure: Callable[[Table], Figure],
        caption: str,
        numbers: Mapping[str, Measure] | Callable[[Spot], Mapping[str, Floats]],
        runs: Callable[[Scale], list[int]] = net.SEEDS,
        also: Callable[[Labels], Mapping[str, float | None]] | None = None,
    ) -> Experiment:
        return Experiment(
            f"wtp-{name}", title, partial(points, o), runs, figure, caption, data(numbers, net.LEVEL, also)
        )

    shares = (
        f"{SETTING} Columns: 5 connections of weight 1 and 5 of weight r (population A); 9 and 1 (B); one each of "
        "weights 1 to 10 in a single run (C). "
        "(a) throughput ratio R and (b) ratio of received marks M, as in the paper; (c) R over r, which shows what (a) "
        "hides: 1 is pure fluid theory, dotted in population A the theory corrected for whole packets; "
        f"(d) M over R, the ratio of the two connections' marking probabilities. {BAND}"
    )
    return (
        experiment(
            "fig01",
            "One connection's window for several ways to split a weight into increase and decrease",
            fig01,
            partial(figures.fig01, network_start_s=TAGGED_START_S, pairs=TRADE_OFF),
            "Congestion window of one connection of weight 4 (a) under independent marks with probability 0.1 and (b) "
            "that joins nine of weight 2 under load-based marking; thin: one run, thick: the mean over the runs with "
            "its 90 % confidence interval. (c) Time until the window first reaches 90 % of its mean, and its standard "
            "deviation in the steady state, with 90 % confidence intervals.",
            partial(_dynamics, o),
            seeds(SEEDS_FIG01, 10),
        ),
        experiment(
            "fig03",
            "Sharing one link by weights: proportional increase",
            fig03,
            partial(figures.shares, o=o, form=net.PI),
            shares,
            _pair_numbers(o),
            also=partial(figures.theory_numbers, o=o, form=net.PI),
        ),
        experiment(
            "fig04",
            "Sharing one link by weights: inversely proportional decrease",
            fig04,
            partial(figures.shares, o=o, form=net.IPD),
            shares,
            _pair_numbers(o),
            also=partial(figures.theory_numbers, o=o, form=net.IPD),
        ),
        experiment(
            "x-phase",
            "Ten equal connections: how unequal their throughputs become, seed by seed",
            x_phase,
            figures.x_phase,
            f"{SETTING} All have weight 1 and differ by their starting times alone. Share of the seeds with at most "
            "the ratio shown; the line stands where c24 asks for some.",
            {"largest_over_smallest": sharing.largest_over_smallest},
            seeds(SEEDS_PHASE, 40),
        ),
        experiment(
            "x-burst",
            "Whom the virtual queue marks more: one thing at a time done otherwise",
            x_burst,
            partial(figures.x_burst, o=o),
            f"{SETTING} Marking probability of a connection of the high weight over that of one of weight 1, for both "
            f"forms and both markers. Left of the line the high weight is marked less. {BAND}",
            _numbers(o),
        ),
        Experiment(
            "wtp-x-base-weight",
            "Whom the virtual queue favours: base weight, population and weight ratio",
            partial(x_base_weight, o),
            net.SEEDS,
            partial(figures.x_base_weight, o=o),
            f"{SETTING} R over r under the virtual queue (filled) and under RED (hollow) over the weight ratio; "
            "columns: "
            "weight of the light connections; rows: proportional increase and inversely proportional decrease; "
            "colours: "
            f"populations A (5 and 5), B (9 and 1), C (a ladder of ten weights). {BAND}",
            partial(figures.base_weight_data, o=o),
        ),
        experiment(
            "x-windows",
            "How much windows fluctuate under each marker and form",
            x_windows,
            figures.x_windows,
            f"{SETTING} Population A. Standard deviation over mean of a connection's window. {BAND}",
            sharing.window_numbers,
        ),
        experiment(
            "x-marks",
            "Marks one after another, and who sends while the virtual queue marks",
            x_marks,
            figures.x_marks,
            f"{SETTING} Population A. (a) How many packets in a row were marked, r = 4: share of the marked packets "
            "that stand in a run longer than shown. "
            "(b, c) r = 10 under the virtual queue, one run: packets that each class sends in a round trip over their "
            "mean; shaded: times of marking.",
            sharing.packet_numbers,
            seeds(SEEDS_PACKETS, SEEDS_PACKETS),
        ),
    )
