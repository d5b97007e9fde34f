"""All experiments: what each runs, with which seeds, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from evenflow.claims import Scale
from evenflow.lab import data, frame
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point, Table

from . import beyond, drawing, measures, runs, variants
from . import figures as f
from . import network as net
from .choices import Options

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Row = tuple[str, str, Callable[[Options, Scale], Sequence[Point]], "Callable[[Table], Figure] | None", str]
"""Name, title, points, figure, caption."""

Drawn = tuple[str, str, "Callable[[Table], Figure]", Callable[[Options], Scenario], str]
"""Name, title, figure, the scenario that it shows, caption."""

DRAWINGS: tuple[Drawn, ...] = (
    ("fig01", "The network", drawing.fig01, drawing.plain, "Without the control plane, which is not modelled."),
    (
        "fig02",
        "Where policer and dropper stand",
        drawing.fig02,
        drawing.end_to_end,
        "End to end, and inside the network. The dropper stands before the radio.",
    ),
    (
        "fig03",
        "Re-ECN inside the network",
        drawing.fig03,
        drawing.inside,
        "The base station counts marks and missing numbers and reports them; the gateway declares them.",
    ),
    ("fig04", "The simulation's set-up", drawing.fig04, drawing.plain, "Rates, one-way delays and queues."),
)

FIGURES: tuple[Row, ...] = (
    ("fig05", "Goodput over the token rate", runs.fig05, f.fig05, "Policer A, A with a tight bucket, and B."),
    (
        "fig06",
        "Goodput and fairness over the marking probability",
        runs.fig06,
        f.fig06,
        "p as RED's maximum, and constant.",
    ),
    ("fig07", "Goodput and fairness over the initial tokens", runs.fig07, f.fig07, "All honest, and a fifth greedy."),
    ("fig08", "Schemes over the number of flows", runs.fig08, f.fig08, "Goodput, fairness, marks."),
    ("fig09", "Schemes over the radio delay", runs.fig09, f.fig09, "Goodput and fairness."),
    ("fig10", "Schemes over wired hops", runs.fig10, f.fig10, "Goodput and fairness."),
    (
        "fig11",
        "Throughput over time",
        runs.fig11,
        f.fig11,
        "From R2 to R3 in bins of 5 s. Grey: the mean of drop-tail.",
    ),
    (
        "fig12",
        "Fairness of the schemes",
        runs.fig11,
        f.fig12,
        "Jain's index over the whole run and over windows of 60 and 10 s, and goodput; the runs of figure 11.",
    ),
    ("fig13", "Radio errors", runs.fig13, f.fig13, "Goodput and fairness over the error rate."),
    (
        "fig14",
        "An attack",
        runs.fig14,
        f.fig14,
        "Throughput of victims and attackers for each sanction; attack from 100 to 200 s.",
    ),
    (
        "fig15",
        "Response time in an attack",
        runs.fig15,
        f.fig15,
        "Pages of 30 kB from the tenth second of the attack on, and without an attack. Runs of 200 s.",
    ),
    ("fig16", "Four classes", runs.fig16, f.fig16, "Throughput of each class in bins of 5 s."),
)

BESIDE: tuple[Row, ...] = (
    (
        "fig08-background",
        "Schemes beside constant-rate traffic",
        variants.background,
        f.background,
        "Figure 8 with a share of the link taken by datagrams.",
    ),
    (
        "fig09-wired",
        "Schemes over the delay from R2 to R3",
        variants.wired,
        f.wired,
        "Figure 9 with the wired bottleneck's delay.",
    ),
    (
        "fig09-mixed",
        "Round trips of five lengths in one run",
        variants.mixed,
        f.mixed,
        "Figure 9 with radio links of 5 to 200 ms side by side.",
    ),
    (
        "fig10-narrow",
        "Schemes over hops that are all narrow",
        variants.narrow,
        f.narrow,
        "Figure 10 with 50 Mbit/s and flows of its own on every hop.",
    ),
    (
        "fig13-radio",
        "Radio errors in bursts, and repaired",
        variants.radio,
        f.radio,
        "Figure 13 with losses in bursts of five, and with RLC that sends again up to three times.",
    ),
)
"""Variants that no claim is judged on: as many runs as the paper has."""

CHOICES: tuple[Row, ...] = (
    ("x-tcp06", "Figure 6 by TCP and RED", variants.tcp06, f.tcp06, "Every TCP with every RED."),
    ("x-tcp11", "Figures 11 and 12 by TCP and RED", variants.tcp11, f.tcp11, "Every TCP with every RED."),
    ("x-tcp16", "Figure 16 by TCP and RED", variants.tcp16, f.tcp16, "Every TCP with every RED."),
)

BEYOND: tuple[Row, ...] = (
    ("x-rate", "Rate and tokens under constant probability", beyond.x_rate, f.x_rate, "Ten flows, no queue."),
    ("x-bal", "The balance sheet along the path", beyond.x_bal, f.x_bal, "Two queues mark 1 and 2 %; 20 flows, 600 s."),
    ("x-adds", "What adds up over flows and paths", beyond.x_adds, None, "Transfers that end; counters at both ends."),
    ("x-charge", "What tokens are taken for", beyond.x_charge, None, "Flows that declare all and nothing; 100 s."),
    ("x-depth", "Innocent sanctions over the bucket's depth", beyond.x_depth, f.x_depth, "Policer A, honest flows."),
    ("x-flood", "An unresponsive source behind policer A'", beyond.x_flood, f.x_flood, "p = 1 %."),
    ("x-levels", "Tokens and balances over time", beyond.x_levels, f.x_levels, "Honest, greedy, understating flows."),
    ("x-cheat", "What understating brings", beyond.x_cheat, f.x_cheat, "Droppers; p = 1 %."),
    ("x-cust", "Customers with one and with ten flows", beyond.x_cust, f.x_cust, "Policer B."),
    ("x-gtp", "Reports and tunnels", beyond.x_gtp, f.tunnels, "Fields that leave a tunnel, by rule; and its counters."),
    ("x-or", "Marks before, inside and behind a tunnel", beyond.x_or, None, "Each packet counts once; 60 s."),
    ("x-int", "How often reports are sent", beyond.x_int, f.x_int, "Inside the network, 100 flows."),
    ("x-rank", "The first ten seconds of an attack", beyond.x_rank, None, "Congestion volume by user."),
    ("x-bleach", "Middleboxes that clear fields", beyond.x_bleach, f.x_bleach, "100 flows."),
    (
        "x-blind",
        "Senders that take no loss for congestion",
        beyond.x_blind,
        f.x_blind,
        "Radio errors of 5 %; 100 flows.",
    ),
    ("x-prio", "Drop preference at an overloaded queue", beyond.x_prio, f.x_prio, "Shares dropped by class; 120 s."),
    ("x-premium", "What marks a class of p = 0", beyond.x_premium, f.x_premium, "Upper pieces of RED; 100 flows."),
    ("x-mix", "Short and long flows", beyond.x_mix, f.x_mix, "A fifth of the users has a long flow."),
)


LENGTHS = {"fig14": "300 s", "fig15": "200 s", "x-bal": "600 s", "x-prio": "120 s", "x-flood": "300 s"}
"""Runs that no option makes longer."""


def experiment(
    o: Options,
    row: Row,
    seeds: Callable[[Scale], list[int]] = net.SEEDS,
) -> Experiment:
    """One experiment; its figure and its caption say what the paper leaves open."""
    name, title, points, figure, caption = row
    length = LENGTHS.get(name, f"{o.duration:g} s")
    open_ = f"TCP {f.said('tcp', o.flavour)}; {f.said('red', o.red)}; runs of {length}; bands and bars: 95 % intervals"
    if row in CHOICES:
        open_ = f"runs of {length}; bands and bars: 95 % intervals"
    if figure is f.tunnels:
        open_ = "what leaves a tunnel; ! : a pair that RFC 6040 calls unused, possibly dangerous or dangerous"
    draw = None if figure is None else partial(f.stamped, draw=figure, words=open_)
    tail = f" {open_[0].upper()}{open_[1:]}; where a panel names another length it has that one."
    numbers = data(measures.GENERAL, net.LEVEL)
    return Experiment(f"reecn_lte-{name}", title, partial(points, o), seeds, draw, caption + tail, numbers)


def drawn(o: Options, row: Drawn) -> Experiment:
    """A figure of the network, from a run's scenario."""
    name, title, figure, scenario, caption = row
    told = f"{caption} Drawn from a run's scenario."
    numbers = partial(_rows, scenario(o))
    return Experiment(f"reecn_lte-{name}", title, partial(drawing.one, o), _one_run, figure, told, numbers)


def _one_run(scale: Scale) -> list[int]:
    return [1]


def _rows(scenario: Scenario, table: Table) -> pl.DataFrame:
    return frame(drawing.rows(scenario))


def experiments(o: Options) -> tuple[Experiment, ...]:
    """All of them: the paper's figures, their variants, and what is beyond."""
    return (
        *(drawn(o, row) for row in DRAWINGS),
        *(experiment(o, row) for row in FIGURES),
        *(experiment(o, row, net.SEEDS_BESIDE) for row in BESIDE),
        *(experiment(o, row) for row in (*CHOICES, *BEYOND)),
    )
