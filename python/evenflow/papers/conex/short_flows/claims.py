"""Claims c68 to c76: short flows."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, chosen_by_others, quotient, select

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from ..measures import ON, words

POLICED = 10.0
"""Filling rates up to here are below the paper's 15."""
LEFT = 20.0
"""From here on they are above it."""
BOTH = (net.HEAVY, net.LIGHT)


class Flows:
    """Figure 20's runs."""

    def __init__(self, data: Data, o: Options) -> None:
        self.lab = Lab(data["conex-fig20"])
        self.o = o

    def free(self, group: str) -> Floats:
        """Completion times without policing, s."""
        return self.lab.at(policing=net.NONE).of(partial(measures.completion, self.o, group))

    def at(self, group: str, r: float) -> Floats:
        """Completion times at a filling rate, s."""
        return self.lab.at(policing=ON, r=r).of(partial(measures.completion, self.o, group))

    def rates(self, lo: float = 0.0, hi: float = np.inf) -> list[float]:
        """Filling rates of the grid."""
        return select(self.lab.grid("r", policing=ON), lo, hi)


@claims.measure("c68")
def _three_round_trips(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["conex-x-empty"])
    found = lab.at(policing=net.NONE).of(partial(measures.completion, Options(), net.LIGHT))
    # nothing is drawn at random: one number
    return [accept("time", "one flow", float(1e3 * found.mean()))]


@claims.measure("c69")
def _without_conex(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    found = [accept("time", f"{group} user", 1e3 * flows.free(group)) for group in BOTH]
    ratio = quotient(flows.free(net.HEAVY), flows.free(net.LIGHT))
    return [*found, accept("ratio", "heavy over light", ratio)]


@claims.measure("c70")
def _when_policed(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    curve = np.array([flows.at(net.HEAVY, r) for r in flows.rates()])
    return [accept("time", "heavy user, longest", chosen_by_others(curve, range(curve.shape[0])))]


@claims.measure("c71")
def _policed_below_15(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    return [
        accept(name, words(r=r), flows.lab.at(policing=ON, r=r).of(measures.heavy_policed))
        for name, rates in (("policed", flows.rates(hi=POLICED)), ("left", flows.rates(LEFT)))
        for r in rates
    ]


@claims.measure("c72")
def _light_flows_gain(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    free = flows.free(net.LIGHT)
    return [accept("gain", words(r=r), 1e3 * (free - flows.at(net.LIGHT, r))) for r in flows.rates(hi=POLICED)]


@claims.measure("c73")
def _as_without(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    return [
        accept("ratio", f"{group} user, {words(r=r)}", quotient(flows.at(group, r), flows.free(group)))
        for group in BOTH
        for r in flows.rates(LEFT)
    ]


@claims.measure("c74")
def _four_of_five(data: Data, accept: Accept) -> list[Check]:
    free = Lab(data["conex-fig20"]).at(policing=net.NONE)
    return [accept("share", "flows of heavy users", free.of(measures.share_of_flows))]


@claims.measure("c75")
def _seconds(data: Data, accept: Accept, o: Options) -> list[Check]:
    flows = Flows(data, o)
    metric = f"groups.{net.HEAVY}.transfers.completion_s_p99"
    return [accept("time", words(r=r), flows.lab.at(policing=ON, r=r).of(metric)) for r in flows.rates(hi=POLICED)]


@claims.measure("c76")
def _larger_windows_expose_less(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["conex-x03"])
    two, ten = (lab.at(initial_window=w).of(partial(measures.reports_a_flow, net.HEAVY)) for w in (2, 10))
    return [accept("difference", "initial window 10 − 2", ten - two)]
