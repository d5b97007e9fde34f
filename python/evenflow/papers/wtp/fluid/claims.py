"""The theory of sections 2 and 3: equilibria, optima, delay, and windows as what the equation is the mean of.

No tolerance here is a statistical one but c104's: the rest is arithmetic on trajectories.
"""

from __future__ import annotations

import math
from functools import partial

from evenflow.claims import Check, Claim, Data
from evenflow.lab import Lab

from ..choices import Options
from ..ledger import claim
from . import equations as fluid
from .figures import over_fluid


def _equilibrium(o: Options, _: Data) -> list[Check]:
    return [
        Check(f"{name}: largest error of x Σp = w", found.balance, hi=1e-6)
        for name, found in fluid.settled(fluid.capacity(o)).items()
    ]


def _welfare(o: Options, _: Data) -> list[Check]:
    found = []
    for name, settled in fluid.settled(fluid.capacity(o)).items():
        found += [
            Check(f"{name}: largest fall of the welfare over its rise", settled.descent, hi=1e-12),
            Check(f"{name}: largest distance of the end from the maximum", settled.gap, hi=1e-5),
        ]
    return found


def _other_utilities(o: Options, _: Data) -> list[Check]:
    return [
        Check(f"{name}: largest distance of the end from the maximum", settled.gap, hi=1e-5)
        for name, settled in fluid.settled_otherwise(fluid.capacity(o)).items()
    ]


def _delay(o: Options, _: Data) -> list[Check]:
    found = []
    for words, loop_at in (
        ("eq. 3", fluid.linear),
        ("eq. 2, load-based marking", partial(fluid.marked, fluid.capacity(o))),
    ):
        for product in (*fluid.STEADY, *fluid.WAVES, *fluid.GROWTH):
            loop = loop_at(product)
            label = f"{words}, aT = {product:g}"
            if product in fluid.STEADY:
                found.append(Check(f"{label}: sign changes", float(loop.crossings), lo=0, hi=0))
            elif product in fluid.WAVES:
                found.append(Check(f"{label}: sign changes", float(loop.crossings), lo=1))
            if product in fluid.GROWTH:
                found.append(Check(f"{label}: amplitude over that 20 T before", loop.growth, lo=1.0))
            else:
                found.append(Check(f"{label}: amplitude after 20 T", loop.peak(20, 40), hi=1.0))
    return found


def _windows(o: Options, data: Data) -> list[Check]:
    return [
        Check(
            f"p = {labels['p']}, w_inc = {labels['increase']:g}, w_dec = {labels['decrease']:g}",
            spot.of(over_fluid(o, labels)),
            lo=0.97,
            hi=1.03,
        )
        for labels, spot in Lab(data["wtp-x-ode"]).points()
    ]


def _critical(o: Options, _: Data) -> list[Check]:
    found = []
    pps = fluid.capacity(o)
    for words, steadily, bound in (("oscillation", True, 1 / math.e), ("growth", False, math.pi / 2)):
        first = fluid.critical_gain(pps, fluid.DECREASES[0], steadily)
        found.append(
            Check(f"{words} at w_dec = 1: aT over its bound", fluid.product_of(first, 1.0) / bound, lo=0.98, hi=1.02)
        )
        found += [
            Check(
                f"{words}: critical gain over w_dec = {decrease:g} times that at 1",
                fluid.critical_gain(pps, decrease, steadily) / (decrease * first),
                lo=0.98,
                hi=1.02,
            )
            for decrease in fluid.DECREASES[1:]
        ]
    return found


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return (
        claim(
            100,
            "section 2, equation 1",
            "With instantaneous feedback rates converge to weight over path price, wherever they start.",
            expected="x_r = w_r / Σ p_j",
            tolerance="relative error 1e-6, from 20 random starts a network",
            literal=partial(_equilibrium, o),
        ),
        claim(
            101,
            "section 2",
            "Social welfare, Σ w log x − Σ C(y), never falls along a trajectory, and its maximum is where rates end.",
            expected="non-decreasing; end = numerical maximum",
            tolerance="rates within 1e-5 of the maximum found by another method; falls up to 1e-12 of the rise "
            "are rounding",
            literal=partial(_welfare, o),
        ),
        claim(
            102,
            "section 2",
            "With w_r(t) = x U'(x) the rates reach the optimum of another utility.",
            expected="end = numerical maximum of Σ U(x) − Σ C(y), for U = −w/x and 2w√x",
            tolerance="rates within 1e-5",
            literal=partial(_other_utilities, o),
        ),
        claim(
            103,
            "section 2, equations 2 and 3",
            "With feedback delay T a disturbance decays without oscillation if aT < 1/e and decays if aT < π/2.",
            expected="no sign change up to 0.36; sign changes and decay from 0.38 to 1.55; growth from 1.6",
            tolerance="as stated, 200 integration steps in T",
            literal=partial(_delay, o),
        ),
        claim(
            104,
            "sections 2 and 3, equation 5",
            "The window rule averages to the rate equation: one connection whose packets are marked at random.",
            expected="mean rate of packets / mean rate of the equation, less half a packet a round trip = 1",
            tolerance="3 %",
            on=("x-ode",),
            literal=partial(_windows, o),
        ),
        claim(
            105,
            "section 3, equation 7",
            "A larger w_dec widens the region without oscillation, and the stable one.",
            expected="critical gain ∝ w_dec, at fixed w_inc w_dec",
            tolerance="2 %",
            literal=partial(_critical, o),
        ),
    )
