"""Figures 5 to 7 and Table 1: two links and different round trips; what lies beyond them, and theory beside it all.

Grids: r = 1 to 10 as the figures' axes; ``quick`` thins it. Table 1 is Fig. 7 at r = 1 with more seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from evenflow.claims import Scale
from evenflow.lab import Measure, at, data, seeds
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Labels, Point

from .. import measures
from .. import network as net
from ..choices import Options
from . import figures

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.study import Table

RATIOS = tuple(range(1, 11))
"""r, ratio of the willingness to pay of a connection over both links to that of one over R1–R2."""
RATIOS_FEW = (1, 2, 4, 6, 8, 10)
RTTS_MS = (200, 100)
"""Round trip of R1–R2, ms: panels a and b of Figs. 5 and 7, rows of Table 1."""
EACH = 5
"""Connections of each class (captions of Figs. 5 to 7)."""
RTT23_MS = 100.0
TABLE_SEEDS = 100
"""Ten times the paper's, for intervals narrower than the last digit of its Table 1."""

SMALLER_PACKET = 920
"""Bytes with which Table 1's marking probabilities come out."""

NARROW, WIDE = "R2–R3 at 5 Mbit/s", "R2–R3 at 20 Mbit/s"
CHAIN, SHARED = "three links", "three links, each shared"
TOPOLOGIES = (NARROW, WIDE, CHAIN, SHARED)
"""Values of the label ``topology``: Fig. 6 with another second link, and over three links. In the last, five
connections cross each link alone."""


# --- Scenarios by the labels of their points ------------------------------------------------------------------------


def uncorrected(o: Options, marker: str, r: float, rtt12_ms: float, *, shared: bool) -> Scenario:
    """Figs. 5 and 7 (``shared``: with connections over R2–R3 alone): w̄ = 1 a round trip, and r over both links."""
    tcp = net.wtp(o)
    groups = {"one": net.Connections(EACH, tcp), "both": net.Connections(EACH, tcp, r)}
    if shared:
        groups["two"] = net.Connections(EACH, tcp)
    title = f"Fig. {7 if shared else 5}, {measures.words(rtt12_ms=rtt12_ms, marker=marker, r=r)}"
    return net.two_links(o, net.standard(o)[marker], groups, rtt12_ms=rtt12_ms, rtt23_ms=RTT23_MS, title=title)


def corrected(o: Options, marker: str, r: float, capacity23_mbps: float = net.CAPACITY_MBPS) -> Scenario:
    """Fig. 6: w̄ in proportion to the round trip, so that r is the ratio of willingness to pay per second."""
    tcp = net.wtp(o)
    groups = {
        name: net.Connections(EACH, tcp, weight * net.rtt_of(name, net.RTT_MS, RTT23_MS) / net.RTT_MS)
        for name, weight in (("one", 1.0), ("both", float(r)))
    }
    title = f"Fig. 6, {measures.words(marker=marker, r=r)}"
    return net.two_links(
        o, net.standard(o)[marker], groups, rtt23_ms=RTT23_MS, capacity23_mbps=capacity23_mbps, title=title
    )


def longer(o: Options, marker: str, r: float, *, shared: bool) -> Scenario:
    """Fig. 6 over three links; ``shared``: with connections over each link alone, all of the same weight per second."""
    tcp = net.wtp(o)
    hops = {"one": net.RTT_MS, "two": RTT23_MS, "three": RTT23_MS}
    groups = {
        name: net.Connections(EACH, tcp, rtt_ms / net.RTT_MS)
        for name, rtt_ms in hops.items()
        if shared or name == "one"
    }
    groups["all"] = net.Connections(EACH, tcp, r * sum(hops.values()) / net.RTT_MS)
    title = f"Fig. 6 over {CHAIN}, {measures.words(marker=marker, r=r)}"
    return net.three_links(o, net.standard(o)[marker], groups, title=title)


def topology(o: Options, name: str, marker: str, r: float) -> Scenario:
    """One of `TOPOLOGIES`."""
    if name in (CHAIN, SHARED):
        return longer(o, marker, r, shared=name == SHARED)
    return corrected(o, marker, r, {NARROW: 5.0, WIDE: 20.0}[name])


def one_link(o: Options, marker: str, r: float) -> Scenario:
    """Fig. 3, as far as theory is compared with it: five connections of weight 1 and five of weight r on one link."""
    title = f"Fig. 3, {measures.words(marker=marker, r=r)}"
    return net.single_link(o, net.standard(o)[marker], net.pair(o, "A", r, net.wtp(o), o.base_weight), title=title)


def scenario(o: Options, figure: str, marker: str, r: float, rtt12_ms: float = net.RTT_MS) -> Scenario:
    """The scenario behind a point of Figs. 3, 5, 6, 7 or Table 1."""
    if figure == "fig03":
        return one_link(o, marker, r)
    if figure == "fig06":
        return corrected(o, marker, r)
    return uncorrected(o, marker, r, rtt12_ms, shared=figure != "fig05")


def by_labels(o: Options, figure: str, labels: Labels) -> Scenario:
    """`scenario` by a point's labels, of the figure that they name, else of ``figure``."""
    rtt12_ms = float(labels.get("rtt12_ms", net.RTT_MS))
    return scenario(o, str(labels.get("figure", figure)), str(labels["marker"]), float(labels["r"]), rtt12_ms)


# --- Points ---------------------------------------------------------------------------------------------------------


def _fig05(o: Options, figure: str, scale: Scale) -> list[Point]:
    return [
        Point({"rtt12_ms": rtt, "marker": marker, "r": r}, scenario(o, figure, marker, r, rtt))
        for rtt in RTTS_MS
        for marker in net.MARKERS
        for r in at(scale, RATIOS, RATIOS_FEW)
    ]


def _fig06(o: Options, scale: Scale) -> list[Point]:
    return [
        Point({"marker": marker, "r": r}, scenario(o, "fig06", marker, r))
        for marker in net.MARKERS
        for r in at(scale, RATIOS, RATIOS_FEW)
    ]


def _tab01(o: Options, scale: Scale) -> list[Point]:
    return [
        Point({"rtt12_ms": rtt, "marker": net.RED, "r": 1}, scenario(o, "tab01", net.RED, 1, rtt)) for rtt in RTTS_MS
    ]


def x_table_ways(o: Options) -> dict[str, Options]:
    """Table 1 with one thing done otherwise: in words, the options."""
    return {
        "as in Table 1": o,
        "independent marks": replace(o, red_spread="bernoulli"),
        "ns-2's count rule": replace(o, red_spread="ns2"),
        "nothing marked for B": replace(o, red_limit="ignore"),
        "no increase on a marked ACK": replace(o, marked_ack="none"),
        f"packets of {SMALLER_PACKET} B": replace(o, packet=SMALLER_PACKET),
        "slow start until a mark": replace(o, start="slow-start-until-mark"),
        "access at 20 Mbit/s": replace(o, access=20),
        "access at 1000 Mbit/s": replace(o, access=1000),
        "round trips ± 5 %": replace(o, rtt_spread=0.05),
    }


def _x_table(o: Options, scale: Scale) -> list[Point]:
    return [
        Point({"how": how, "rtt12_ms": rtt, "marker": net.RED, "r": 1}, scenario(mine, "tab01", net.RED, 1, rtt))
        for how, mine in x_table_ways(o).items()
        for rtt in RTTS_MS
    ]


def _x_topology(o: Options, scale: Scale) -> list[Point]:
    return [
        Point({"topology": name, "marker": marker, "r": r}, topology(o, name, marker, r))
        for name in TOPOLOGIES
        for marker in net.MARKERS
        for r in RATIOS_FEW
    ]


def _x_theory(o: Options, scale: Scale) -> list[Point]:
    """Every point of the figures; Table 1 is among those of Fig. 7."""
    found = [
        Point({"figure": "fig03", "marker": marker, "r": r}, scenario(o, "fig03", marker, r))
        for marker in net.MARKERS
        for r in at(scale, RATIOS, RATIOS_FEW)
    ]
    for figure, points in (
        ("fig05", _fig05(o, "fig05", scale)),
        ("fig06", _fig06(o, scale)),
        ("fig07", _fig05(o, "fig07", scale)),
    ):
        found += [Point({"figure": figure, **point.labels}, point.scenario) for point in points]
    return found


# --- Experiments ----------------------------------------------------------------------------------------------------


def _if_there(kind: str, name: str, measure: Measure) -> Measure:
    """A measure of a group or link; undefined where a network has none of that name."""
    return lambda run: measure(run) if name in run.json[kind] else None


def _numbers(o: Options) -> dict[str, Measure]:
    """What a CSV of these experiments holds of each point; what no network of an experiment has is left out."""
    found: dict[str, Measure] = {"R": measures.long_ratio(o)}
    for name in ("one", "two", "three", "both", "all"):
        for column, measure in (
            (f"x_{name}_mbps", partial(figures.mbps, name)),
            (f"p_{name}", partial(measures.group_probability, name)),
            (f"W_{name}_packets", partial(measures.window, name)),
        ):
            found[column] = _if_there("groups", name, measure)
    for link, word in ((net.R12, "12"), (net.R23, "23"), (net.R34, "34")):
        found[f"p{word}"] = _if_there("links", link, measures.probability_at(link))
        found[f"rho{word}"] = _if_there("links", link, partial(measures.utilisation, link=link))
    return found


BAND = "Lines are means over the runs, bands their 90 % confidence intervals; thin lines are the fluid theory's."
CLASSES = "5 connections in each class, all markers with the parameters of the captions."


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""

    def made(
        name: str,
        title: str,
        points: Callable[[Scale], Sequence[Point]],
        figure: Callable[[Table], Figure],
        caption: str,
        data: Callable[[Table], pl.DataFrame],
        runs: Callable[[Scale], Sequence[int]] = net.SEEDS,
    ) -> Experiment:
        return Experiment(f"wtp-{name}", title, points, runs, figure, caption, data)

    def build(figure: str) -> figures.Build:
        return lambda labels: by_labels(o, figure, labels)

    numbers = data(_numbers(o), net.LEVEL)
    return (
        made(
            "fig05",
            "Two links, connections over the first and over both: sharing by willingness to pay a round trip",
            partial(_fig05, o, "fig05"),
            partial(figures.fig05, o, build("fig05")),
            "Throughput of a connection over both links to that of one over R1–R2, over the ratio of their "
            "willingness to pay per round trip; round trip of R1–R2 200 ms (a) and 100 ms (b), of R2–R3 100 ms. Grey: "
            f"R = r, and r times the ratio of round trips. {CLASSES} {BAND}",
            numbers,
        ),
        made(
            "fig06",
            "As figure 5a with willingness to pay in proportion to the round trip",
            partial(_fig06, o),
            partial(figures.fig06, o, build("fig06")),
            "Throughput ratio over the ratio of willingness to pay per second (a), and why load-based marking falls "
            f"behind: marking probability at R2–R3 (b). Round trips 200 ms and 300 ms. {CLASSES} {BAND}",
            numbers,
        ),
        made(
            "fig07",
            "As figure 5 with connections over the second link alone as well",
            partial(_fig05, o, "fig07"),
            partial(figures.fig07, o, build("fig07")),
            "Throughput of a connection over both links to that of one over R1–R2 (upper) and over R2–R3 (lower), "
            f"round trip of R1–R2 200 ms (left) and 100 ms (right). {CLASSES} {BAND}",
            numbers,
        ),
        made(
            "tab01",
            "Two links under RED with equal weights: shares and marking probabilities",
            partial(_tab01, o),
            partial(figures.tab01, o, build("tab01")),
            "Each cell of Table 1: the paper's value with what is accepted around it (grey), the mean of 100 runs with "
            "its 90 % confidence interval, and the fluid theory's, pure and corrected. At quick scale 10 runs.",
            partial(figures.tab01_data, o, build("tab01")),
            seeds(TABLE_SEEDS, 10),
        ),
        made(
            "x-topology",
            "Beyond the paper: figure 6 with other capacities and over three links",
            partial(_x_topology, o),
            partial(figures.x_topology, o),
            "Throughput of a connection over all links to that of one over R1–R2, over the ratio of willingness to pay "
            "per second; dotted: that ratio times the ratio of the marking probabilities that the two classes met. "
            "Lines are means over the runs, bands their 90 % confidence intervals.",
            numbers,
        ),
        made(
            "x-table",
            "Table 1 with one thing done otherwise",
            partial(_x_table, o),
            figures.x_table,
            "Marking probability at both links for each round trip of R1–R2, the paper's value as a line. Bars: 90 % "
            "confidence intervals.",
            numbers,
        ),
        made(
            "x-theory",
            "The fluid theory beside the runs of figures 3, 5, 6, 7 and Table 1",
            partial(_x_theory, o),
            partial(figures.x_theory, build("")),
            "Predicted over simulated rate of a connection of each class, at every point and for every marker: pure "
            "theory (a), and with half a packet and queueing (b). Largest relative difference by figure (c). Bars are "
            "90 % confidence intervals. Furthest off are RED in Fig. 7a, where its load falls as its price rises, so "
            "that a small difference of load is a large one of rates, and virtual queue at R2–R3, where traffic that "
            "R1–R2 has spaced is smoother than that with which its curve was measured.",
            partial(figures.x_theory_data, build("")),
        ),
    )
