"""Claims c68 to c76: short flows."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, chosen_by_others, quotient, select, short

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


@claims.note("c70", "c72", "c75")
def _never_over_note(data: Data, judgement: Judgement, o: Options) -> str:
    """Behind an empty bucket most flows never complete; the rest finds an empty queue."""
    flows = Flows(data, o)
    said = []
    for r in flows.rates(hi=POLICED):
        spot = flows.lab.at(policing=ON, r=r)
        done = short(spot.of(partial(measures.completed, net.HEAVY)))
        said.append(f"{done} % at {words(r=r)}, where the queue holds {short(spot.of(measures.delay))} ms")
    free = flows.lab.at(policing=net.NONE)
    why = (
        "Every packet that a policer drops is reported and charged, so a level below zero hardly rises: "
        if o.charge == "arrival" and o.floor == "none"
        else "While a bucket is empty, what is sent again is dropped again: "
    )
    return (
        f"Of the heavy users' flows complete {'; '.join(said)}, instead of {short(free.of(measures.delay))} ms without "
        f"policing. {why}a flow that has lost packets seldom completes within the run. Those that do are quick, for "
        "little else is under way, and light users' flows gain more than a few milliseconds."
    )


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


@claims.note("c76")
def _marks_a_packet_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = Lab(data["conex-x03"])
    found = [short(lab.at(initial_window=w).of(partial(measures.reports_a_flow, net.HEAVY))) for w in (2, 10)]
    return (
        f"Reports a flow: {found[0]} and {found[1]}. RED marks packets, not round trips; what a flow owes at its end "
        "is reported by the user's next flow, so that nothing is left unexposed (with leftover=drop it is)."
        if o.leftover == net.CARRY
        else f"Reports a flow: {found[0]} and {found[1]}. What a flow owes at its end nobody reports."
    )
