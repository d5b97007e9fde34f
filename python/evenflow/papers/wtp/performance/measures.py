"""Terms of Table 2 and Fig. 11: the table's rows and where each is read, ratios of each population, burstiness."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from evenflow.lab import Floats, Lab, Measure
from evenflow.study import Run

from .. import measures
from .. import network as net
from ..choices import Options

# --- Table 2 --------------------------------------------------------------------------------------------------------

RED_5, RED_3, VQ, LB = "RED (5, 15, 0.1)", "RED (3, 9, 0.95)", "virtual queue (0.95)", "load-based (0.5 s, 0.7, 2)"
ROWS = (RED_5, RED_3, VQ, LB)
"""Values of the label ``marker``: the rows of Table 2 with their parameters."""
TARGET = 0.90
"""Utilisation at which the rows stand (caption of Table 2)."""
NEAR = 0.01
"""How far from it a row may stand."""

DELAYS = (("mean", "average"), ("max", "maximum"), ("sd", "standard deviation"))
"""A column of Table 2 as a run's record names it, and in words."""
PAPER: Mapping[str, tuple[float, float, float]] = {
    RED_5: (26.9, 89.6, 26.4),
    RED_3: (5.3, 22.4, 3.6),
    VQ: (8.6, 39.4, 6.2),
    LB: (6.3, 38.4, 4.8),
}
"""Table 2: average, maximum, standard deviation, ms."""
FACTOR = {RED_5: 2.5, RED_3: 1.6, VQ: 1.6, LB: 1.6}
"""What is accepted around the cells of a row; more for RED's first, whose load, weights and round trips decide most."""

MIXED, ONES, SIXES = "weights 1 and 6", "weight 1", "weight 6"
"""Values of the label ``mix``."""
AS_TABLE, ALL_ONES, ALL_SIXES = "as in table 2", "all of weight 1", "all of weight 6"
EQUAL, WIDE = "equal round trips", "round trips ± 25 %"
FAST, SLOW = "access at 1 Gbit/s", "access at 20 Mbit/s"
EAGER = "gain 1 instead of 0.5"
VARIANTS = (ALL_ONES, ALL_SIXES, EQUAL, WIDE, FAST, SLOW, EAGER)
"""Values of the label ``variant``: row 1 with one thing varied."""


def mixes(o: Options) -> tuple[str, ...]:
    """Who has which weight, as the option `mixture` says."""
    return (MIXED,) if o.mixture == "half" else (ONES, SIXES)


def operating_point(lab: Lab, **labels: str) -> int:
    """The N at which a row of Table 2 is read: its mean utilisation is nearest to 0.90.

    Looked for from the N of the least utilisation on. Below it few connections with large windows leave marks so far
    apart that a RED link runs full, so that utilisation falls with load and 0.90 is met twice; only the branch on
    which load and marking probability grow together is a curve as in the paper's Figs. 8 and 9. A marker that nowhere
    runs as low as 0.90 is thereby read at its least utilisation.
    """
    grid, rho = lab.curve("n", measures.utilisation, **labels)
    mean = rho.mean(axis=1)
    lowest = int(np.argmin(mean))
    return int(grid[lowest + int(np.argmin(np.abs(mean[lowest:] - TARGET)))])


def delay_with_service(what: str, o: Options) -> Measure:
    """Queueing delay with the packet's own transmission, ms (0.8 ms for 1000 B); what is mean or max."""
    service = o.packet * 8 / (net.CAPACITY_MBPS * 1e3)

    def measure(run: Run) -> float | None:
        found = measures.delay_ms(what, run)
        return None if found is None else found + service

    return measure


def delay_numbers(o: Options) -> dict[str, Measure]:
    """Table 2 over the load, as its CSV has it."""
    return {
        "utilisation": measures.utilisation,
        "p": measures.probability,
        "delay_mean_ms": partial(measures.delay_ms, "mean"),
        "delay_max_ms": partial(measures.delay_ms, "max"),
        "delay_sd_ms": partial(measures.delay_ms, "sd"),
        "delay_mean_with_service_ms": delay_with_service("mean", o),
        "delay_max_with_service_ms": delay_with_service("max", o),
    }


# --- Fig. 11 -------------------------------------------------------------------------------------------------------

RATIOS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
ARRIVALS = f"links.{net.LINK}.arrived_bytes"


def ratio_curve(o: Options, lab: Lab, control: str, who: str) -> Mapping[float, Floats]:
    """Fig. 11a: weight ratio -> R of each run, shape (seeds,); of a ladder, each weight against weight 1."""
    if who == "C":
        spot = lab.at(panel="a", control=control, population="C")
        found = {float(w): spot.of(measures.throughput_ratio(o, f"w{w}", "w1")) for w in RATIOS}
        return {1.0: np.ones_like(found[1.0])} | {w: values for w, values in found.items() if w > 1}
    grid, curve = lab.curve("r", measures.throughput_ratio(o), panel="a", control=control, population=who)
    return dict(zip(grid, curve, strict=True))


def arrivals(run: Run, o: Options) -> Floats:
    """Packets that arrived at the link in each bin of the measured time, shape (bins,)."""
    times, found = run.series(ARRIVALS)
    # a value is the increase since the last look: the first of the window is the one behind the end of the warm-up
    inside: Floats = found[times > net.WARMUP_S + 1e-9] / o.packet
    return inside


def dispersion(o: Options) -> Measure:
    """Index of dispersion of arrivals in bins of 50 ms: variance over mean of the counts; 1 for Poisson arrivals."""

    def measure(run: Run) -> float | None:
        counts = arrivals(run, o)
        mean = float(counts.mean())
        return float(counts.var(ddof=1)) / mean if mean > 0 else None

    return measure


def alone_mbps(run: Run) -> float | None:
    """Throughput of a connection of the only group, Mbit/s."""
    found = measures.throughput("all", run)
    return None if found is None else found / 1e6


# --- MulTCP's other choices ------------------------------------------------------------------------------------------

EACH_OWN, ECHO, EVERY = "once per round trip", "once per round trip, echo of RFC 3168", "at every mark"
"""Values of the label ``reaction``."""
REACTIONS = (EACH_OWN, ECHO, EVERY)
LAW_PRICES = (0.02, 0.04, 0.08, 0.16)
"""Marking probabilities at which a single connection is watched: none fills the link, none stands at the floor."""
LAW_WEIGHTS = (1, 3)
