"""Claims c100 to c105: the theory of sections 2 and 3.

No tolerance here is a statistical one but c104's: the rest is arithmetic on trajectories.
"""

from __future__ import annotations

import math
from functools import partial

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Lab

from ..choices import Options
from ..claims import claims
from . import equations as fluid
from .figures import over_fluid


@claims.measure("c100")
def _equilibrium(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [accept("error", name, found.balance) for name, found in fluid.settled(fluid.capacity(o)).items()]


@claims.measure("c101")
def _welfare(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name, settled in fluid.settled(fluid.capacity(o)).items():
        found += [
            accept("fall", f"{name}: largest fall of the welfare over its rise", settled.descent),
            accept("distance", f"{name}: largest distance of the end from the maximum", settled.gap),
        ]
    return found


@claims.measure("c102")
def _other_utilities(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept("distance", name, settled.gap) for name, settled in fluid.settled_otherwise(fluid.capacity(o)).items()
    ]


@claims.measure("c103")
def _delay(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for words, loop_at in (
        ("eq. 3", fluid.linear),
        ("eq. 2, load-based marking", partial(fluid.marked, fluid.capacity(o))),
    ):
        for product in (*fluid.STEADY, *fluid.WAVES, *fluid.GROWTH):
            loop = loop_at(product)
            label = f"{words}, aT = {product:g}"
            if product in fluid.STEADY:
                found.append(accept("none", f"{label}: sign changes", float(loop.crossings)))
            elif product in fluid.WAVES:
                found.append(accept("some", f"{label}: sign changes", float(loop.crossings)))
            if product in fluid.GROWTH:
                found.append(accept("grows", f"{label}: amplitude over that 20 T before", loop.growth))
            else:
                found.append(accept("decays", f"{label}: amplitude after 20 T", loop.peak(20, 40)))
    return found


@claims.measure("c104")
def _windows(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "ratio",
            f"p = {labels['p']}, w_inc = {labels['increase']:g}, w_dec = {labels['decrease']:g}",
            spot.of(over_fluid(o, labels)),
        )
        for labels, spot in Lab(data["wtp-x-ode"]).points()
    ]


@claims.measure("c105")
def _critical(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    pps = fluid.capacity(o)
    for words, steadily, bound in (("oscillation", True, 1 / math.e), ("growth", False, math.pi / 2)):
        first = fluid.critical_gain(pps, fluid.DECREASES[0], steadily)
        found.append(accept("bound", f"{words} at w_dec = 1", fluid.product_of(first, 1.0) / bound))
        found += [
            accept(
                "scaling",
                f"{words}, w_dec = {decrease:g}",
                fluid.critical_gain(pps, decrease, steadily) / (decrease * first),
            )
            for decrease in fluid.DECREASES[1:]
        ]
    return found
