"""Table 2 and Fig. 11: queueing delay, and willingness to pay beside MulTCP.

Table 2 says at which utilisation its rows stand, not with how many connections. So every row is a scan over the
number of connections N, and the row is read where the scan comes nearest to 0.90: a choice by the utilisation alone
(`measures_performance.operating_point`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from evenflow.claims import Scale
from evenflow.lab import Measure, at, optional
from evenflow.lab import data as numbers
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Labels, Point

from .. import measures
from .. import network as net
from ..choices import Options
from . import figures
from . import measures as perf

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.study import Table

Groups: TypeAlias = "dict[str, net.Connections]"

# --- Table 2 --------------------------------------------------------------------------------------------------------

COUNTS = (4, 6, 8, 12, 16, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 50)
COUNTS_QUICK = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 50)
COUNTS_FEW = (4, 8, 12, 18, 24, 34, 44, 54)
"""N where row 1 is tried otherwise."""
MEAN_WEIGHT = 3.5
"""Of half of the connections with 1 and half with 6: homogeneous populations get the same sum of weights."""
SPREAD_WIDE = 0.25


def row(o: Options, name: str) -> net.Table:
    """The marker of a row of Table 2."""
    return {
        perf.RED_5: net.red(o),
        perf.RED_3: net.red(o, 3, 9, 0.95),
        perf.VQ: net.virtual_queue(o),
        perf.LB: net.load_based(o, 0.7, 2.0),
    }[name]


def population(mix: str, half: int, tcp: net.Table) -> Groups:
    """Connections whose weights sum to that of `half` of weight 1 and `half` of weight 6."""
    total = 2 * half
    if mix == perf.MIXED:
        return net.halves(total, tcp)
    weight = 1.0 if mix == perf.ONES else 6.0
    return {"all": net.Connections(max(1, round(MEAN_WEIGHT * total / weight)), tcp, weight)}


def _halves(o: Options, counts: Sequence[int]) -> list[int]:
    """Halves of N: as many more as a round trip holds more packets than with 1000 B."""
    return sorted({max(1, round(n / 2 * 1000 / o.packet)) for n in counts})


def _loaded(o: Options, marker: net.Table, mix: str, half: int, tcp: net.Table, spread: float) -> tuple[int, Scenario]:
    groups = population(mix, half, tcp)
    n = sum(group.count for group in groups.values())
    return n, net.single_link(o, marker, groups, spread=spread, title=f"Table 2, {n} connections, {mix}")


def scan(o: Options, scale: Scale) -> list[Point]:
    """Every row of Table 2 over N, spread of round trips as the option `rtt_spread_delay` says."""
    found = []
    for name in perf.ROWS:
        for mix in perf.mixes(o):
            for half in _halves(o, at(scale, COUNTS, COUNTS_QUICK)):
                n, scenario = _loaded(o, row(o, name), mix, half, net.wtp(o), o.rtt_spread_delay)
                found.append(Point({"marker": name, "mix": mix, "n": n}, scenario))
    return found


def _variant(o: Options, name: str, half: int) -> tuple[int, Scenario]:
    usual, spread = perf.mixes(o)[0], o.rtt_spread_delay
    marker, tcp = row(o, perf.RED_5), net.wtp(o)
    if name in (perf.ALL_ONES, perf.ALL_SIXES):
        return _loaded(o, marker, perf.ONES if name == perf.ALL_ONES else perf.SIXES, half, tcp, spread)
    if name in (perf.EQUAL, perf.WIDE):
        return _loaded(o, marker, usual, half, tcp, 0.0 if name == perf.EQUAL else SPREAD_WIDE)
    if name in (perf.FAST, perf.SLOW):
        return _loaded(replace(o, access=1000 if name == perf.FAST else 20), marker, usual, half, tcp, spread)
    return _loaded(o, marker, usual, half, net.wtp(o, gain=1.0), spread)


def loads(o: Options, scale: Scale) -> list[Point]:
    """The scan of Table 2, and its first row with one thing varied at a time."""
    found = [Point({"variant": perf.AS_TABLE, **point.labels}, point.scenario) for point in scan(o, scale)]
    for name in perf.VARIANTS:
        for half in _halves(o, COUNTS_FEW):
            n, scenario = _variant(o, name, half)
            found.append(Point({"variant": name, "marker": perf.RED_5, "n": n}, scenario))
    return found


# --- Fig. 11 --------------------------------------------------------------------------------------------------------

RATIOS_QUICK = (1, 2, 4, 6, 8, 10)
WEIGHTS = (*perf.RATIOS, 15)
WEIGHTS_QUICK = (*RATIOS_QUICK, 15)
BURSTS = (1, 2, 4, 6, 8, 10)
"""Common weights at which arrivals are counted in bins."""
BIN = "50 ms"


def _shared(o: Options, tcp: net.Table, who: str, r: float) -> Scenario:
    return net.single_link(o, net.red(o), net.pair(o, who, r, tcp), title=f"Fig. 11a, population {who}, r = {r:g}")


def _ladder(o: Options, tcp: net.Table) -> Scenario:
    return net.single_link(o, net.red(o), net.ladder(tcp), title="Fig. 11a, weights 1 to 10")


def _common(o: Options, tcp: net.Table, weight: float, *, bins: bool = False) -> Scenario:
    record = {"series": [{"of": perf.ARRIVALS, "every": BIN}]} if bins else None
    groups = {"all": net.Connections(net.CONNECTIONS, tcp, weight)}
    return net.single_link(o, net.red(o), groups, record=record, title=f"Fig. 11b, all of weight {weight:g}")


def fig11(o: Options, scale: Scale) -> list[Point]:
    """Panel a: R over r for each population; b: utilisation over a common weight; c: burstiness of arrivals."""
    found = []
    for control, tcp in ((net.WTP, net.wtp(o)), (net.MULTCP, net.multcp(o))):
        for who in ("A", "B"):
            found += [
                Point({"panel": "a", "control": control, "population": who, "r": r}, _shared(o, tcp, who, r))
                for r in at(scale, perf.RATIOS, RATIOS_QUICK)
            ]
        found.append(Point({"panel": "a", "control": control, "population": "C"}, _ladder(o, tcp)))
        found += [
            Point({"panel": "b", "control": control, "w": w}, _common(o, tcp, w))
            for w in at(scale, WEIGHTS, WEIGHTS_QUICK)
        ]
        found += [Point({"panel": "c", "control": control, "w": w}, _common(o, tcp, w, bins=True)) for w in BURSTS]
    return found


# --- MulTCP's other choices, and the laws of both controls ----------------------------------------------------------


def multcp_as(o: Options, reaction: str) -> net.Table:
    """MulTCP with one of `REACTIONS`, whatever the options say."""
    react, feedback = {
        perf.EACH_OWN: ("once-per-rtt", "per-packet"),
        perf.ECHO: ("once-per-rtt", "classic"),
        perf.EVERY: ("every-mark", "per-packet"),
    }[reaction]
    return net.multcp(replace(o, multcp_react=react, multcp_feedback=feedback))


def x_multcp(o: Options, scale: Scale) -> list[Point]:
    """Fig. 11 with MulTCP's other reactions (panels a and b); rate over a fixed marking probability (c)."""
    found = []
    for reaction in perf.REACTIONS:
        tcp = multcp_as(o, reaction)
        found += [
            Point({"panel": "a", "control": net.MULTCP, "reaction": reaction, "r": r}, _shared(o, tcp, "A", r))
            for r in at(scale, perf.RATIOS, RATIOS_QUICK)
        ]
        found += [
            Point({"panel": "b", "control": net.MULTCP, "reaction": reaction, "w": w}, _common(o, tcp, w))
            for w in at(scale, WEIGHTS, WEIGHTS_QUICK)
        ]
    laws = [(net.WTP, "", net.wtp(o)), *((net.MULTCP, reaction, multcp_as(o, reaction)) for reaction in perf.REACTIONS)]
    for control, reaction, tcp in laws:
        for weight in perf.LAW_WEIGHTS:
            for p in perf.LAW_PRICES:
                alone = {"all": net.Connections(1, tcp, weight)}
                title = f"One connection of weight {weight} at a marking probability of {p:g}"
                scenario = net.single_link(o, net.constant(p), alone, title=title)
                labels: Labels = {"panel": "c", "control": control, "reaction": reaction, "w": weight, "p": p}
                found.append(Point(labels, scenario))
    return found


# --- Experiments ----------------------------------------------------------------------------------------------------


def _shares(o: Options) -> dict[str, Measure]:
    return {
        "R": optional(measures.throughput_ratio(o)),
        "Wr": optional(measures.window_ratio()),
        "utilisation": measures.utilisation,
        "p": measures.probability,
        "delay_mean_ms": partial(measures.delay_ms, "mean"),
        "throughput_mbps": optional(perf.alone_mbps),
        "window_packets": optional(partial(measures.window, "all")),
    }


BAND = "Lines are means over the runs, bands their 90 % confidence intervals."
LINK_WORDS = "One link of 10 Mbit/s, round trip 200 ms."


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""

    def made(
        name: str,
        title: str,
        points: Callable[[Options, Scale], Sequence[Point]],
        figure: Callable[[Options, Table], Figure],
        caption: str,
        data: Callable[[Table], pl.DataFrame],
    ) -> Experiment:
        return Experiment(
            f"wtp-{name}", title, partial(points, o), net.SEEDS, partial(figure, o), f"{caption} {BAND}", data
        )

    spread = f"round trips spread by ± {o.rtt_spread_delay:.0%}" if o.rtt_spread_delay else "equal round trips"
    return (
        made(
            "tab02",
            "Queueing delay of four markers at a utilisation of 0.90",
            scan,
            figures.tab02,
            "Average, maximum and standard deviation of the wait in the queue, at the number of connections whose mean "
            f"utilisation is nearest to 0.90 ({spread}). Grey: what is accepted around the paper's value; triangles: "
            "the longest wait of all runs together.",
            partial(figures.tab02_data, o),
        ),
        made(
            "x-load",
            "Table 2 over the load, and its first row with one thing varied at a time",
            loads,
            figures.x_load,
            "Average, maximum and standard deviation of the wait over utilisation as the number of connections grows: "
            "the four markers of Table 2 (upper row; stars: the paper's values), and the first of them otherwise "
            f"(lower row). {LINK_WORDS}",
            numbers(perf.delay_numbers(o), net.LEVEL),
        ),
        made(
            "fig11",
            "Willingness to pay and MulTCP under RED: sharing, utilisation, burstiness",
            fig11,
            figures.fig11,
            "Throughput ratio over weight ratio (a, logarithmic), utilisation over the weight of all ten connections "
            "(b), and index of dispersion of arrivals in bins of 50 ms, which is 1 for Poisson arrivals (c: the "
            f"paper's conjecture). {LINK_WORDS}",
            partial(figures.fig11_data, o, _shares(o)),
        ),
        made(
            "x-multcp",
            "MulTCP's other choices, and how both controls answer a fixed marking probability",
            x_multcp,
            figures.x_multcp,
            "Throughput ratio (a) and utilisation (b) as in figure 11, MulTCP reacting otherwise; rate of a single "
            "connection of weight 1 and 3 whose packets are marked independently with a fixed probability, both axes "
            f"logarithmic (c). {LINK_WORDS}",
            numbers(_shares(o), net.LEVEL),
        ),
    )
