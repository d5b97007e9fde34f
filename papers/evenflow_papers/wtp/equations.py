"""The statements of sections 2 and 3 computed: trajectories of the paper's networks, their optima and their borders.

Links carry `pps` packets/s, which is all that the paper's open choices change here (`capacity`). The gain is 0.5 a
round trip and marking load-based with ρ0 = 0.6 and α = 0.71 (captions of Figs. 3 to 7), whose cost C(y) has a
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.optimize import minimize

from evenflow.lab import Floats
from evenflow.theory.dynamics import Marking, System, Trajectory, Utility, trajectory

from . import network as net
from .network import EQUILIBRIUM as LOAD
from .network import RTT_S, Options, capacity

TARGET, SLOPE = 0.6, 0.71
"""ρ0 and α of load-based marking (captions of Figs. 3 to 7)."""
STARTS = 20
"""Random starts a network; a quarter for each other utility."""
STEPS = 200
"""Integration steps in a delay T (at least so many)."""
DISTURBANCE = 1e-3
"""Start of a delayed loop beside its equilibrium, as a share of it."""
SETTLED_S = 200.0
"""Time given to a system without delay: the slowest mode here takes about 20 s with packets of 1000 B."""


def settled_s(pps: float) -> float:
    """The same for links that carry so many packets/s: modes slow down as prices fall, with U = −w/x by the square."""
    return SETTLED_S * max(1.0, pps / capacity(Options())) ** 2


STEADY = (0.2, 0.36)
"""Values of aT below 1/e: no oscillation (Siris et al. 2002, section 2)."""
WAVES = (0.38, 0.8, 1.5, 1.55)
"""Values of aT between 1/e and π/2: decaying oscillation."""
GROWTH = (1.6, 2.0)
"""Values of aT above π/2."""
DRAWN = (0.2, 0.36, 0.38, 0.8, 1.5, 1.6)
"""Values of aT in the figure."""


def marking(pps: float) -> Marking:
    """Load-based marking of a link that carries so many packets a second."""
    return Marking.load_based(pps, TARGET, SLOPE)


def one_link(pps: float, weights: Sequence[float], *, rtt_s: float = RTT_S) -> System:
    """One link (Fig. 2a) with a connection of each weight, proportional increase, no delay."""
    across = np.ones((1, len(weights)))
    return System.of_windows(
        across, [marking(pps)], gain=net.GAIN, increase=list(weights), decrease=1.0, rtt_s=rtt_s, delays=False
    )


def three_classes(pps: float, rtt12_s: float, r: float) -> System:
    """Two links (Fig. 2b) with five connections each over R1–R2, R2–R3 and both; those over both have weight r."""
    across = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    rtts = [rtt12_s, 0.1, rtt12_s + 0.1]
    # a route stands for five like connections: five times the weight
    return System.of_windows(
        across, [marking(pps)] * 2, gain=net.GAIN, increase=[5.0, 5.0, 5.0 * r], decrease=1.0, rtt_s=rtts, delays=False
    )


def networks(pps: float) -> dict[str, System]:
    """What the statements about instantaneous feedback are tried on."""
    return {
        "one link, weights 1, 2, 4": one_link(pps, (1.0, 2.0, 4.0)),
        "one link, 5 + 5 connections, r = 10": one_link(pps, (5.0, 50.0)),
        "two links, RTT 200 ms, r = 1": three_classes(pps, 0.2, 1.0),
        "two links, RTT 100 ms, r = 4": three_classes(pps, 0.1, 4.0),
    }


def starts(system: System, count: int) -> Floats:
    """Random start rates, log-uniform from 1 to 1000 packets/s, shape (count, routes)."""
    return 10.0 ** np.random.default_rng(1).uniform(0, 3, (count, len(system.gains)))


def optimum(system: System) -> Floats:
    """Rates of the greatest welfare, shape (routes,): quasi-Newton over their logarithms, knowing no trajectory.

    The gradient of the welfare in log x_r is x_r (U_r'(x_r) − Σ_{j∈r} p_j).
    """
    utility = system.utility or Utility.fair(system.weights)

    def worse(log_rates: Floats) -> float:
        return -float(system.welfare(np.exp(log_rates)[None, :])[0])

    def downhill(log_rates: Floats) -> Floats:
        rates = np.exp(log_rates)
        path = system.prices(system.loads(rates)) @ system.routing
        return -rates * (utility.marginal(rates) - path)

    found = minimize(
        worse, np.full(len(system.gains), math.log(100.0)), jac=downhill, method="BFGS", options={"gtol": 1e-10}
    )
    rates: Floats = np.exp(found.x)
    return rates


@dataclass(frozen=True)
class Settling:
    """What the trajectories of one system did, worst of all.

    Attributes:
        balance: largest |x_r Σp_j / w_r − 1| at the end.
        descent: largest fall of the welfare between two points, as a share of its rise over the trajectory.
        gap: largest relative distance of a final rate from `optimum`.
    """

    balance: float
    descent: float
    gap: float


def settling(system: System, count: int = STARTS, duration_s: float = SETTLED_S) -> Settling:
    """Follow a system from random starts to its end."""
    best = optimum(system)
    balance = descent = gap = 0.0
    for start in starts(system, count):
        path = trajectory(system, start, duration_s, points=1001)
        last = path.rates[-1]
        charged = last * (path.prices[-1] @ system.routing)
        balance = max(balance, float(np.abs(charged / system.willingness(last) - 1).max()))
        steps = np.diff(path.welfare)
        descent = max(descent, float(-steps.min() / (path.welfare[-1] - path.welfare[0])))
        gap = max(gap, float(np.abs(last / best - 1).max()))
    return Settling(balance, descent, gap)


@cache
def settled(pps: float) -> dict[str, Settling]:
    """Every network with utilities w log x."""
    return {name: settling(system, duration_s=settled_s(pps)) for name, system in networks(pps).items()}


ALPHAS = {2.0: "U = −w/x", 0.5: "U = 2w√x"}
"""Utilities other than w log x: the exponent of w x^(1−α)/(1−α), and the utility in words."""
OTHER_RATE = 125.0
"""Rate in packets/s at which the other utilities pay what w log x does, so that speeds stay comparable."""


@cache
def settled_otherwise(pps: float) -> dict[str, Settling]:
    """The same with w_r(t) = x U'(x) for other utilities."""
    found = {}
    for name, system in networks(pps).items():
        for alpha, words in ALPHAS.items():
            utility = Utility.fair(system.weights * OTHER_RATE ** (alpha - 1), alpha)
            # a rate of 0 would be worth −∞
            found[f"{words}, {name}"] = settling(
                replace(system, utility=utility, floor=1e-6), STARTS // 4, settled_s(pps)
            )
    return found


@dataclass(frozen=True)
class Loop:
    """One delayed loop and its disturbance u = x − x*, as a share of where it began.

    Attributes:
        path: the trajectory.
        u: shape (n,).
    """

    path: Trajectory
    u: Floats

    def peak(self, start: float, end: float) -> float:
        """Largest |u| between two times, in delays T."""
        times = self.path.times / RTT_S
        return float(np.abs(self.u[(times >= start) & (times <= end)]).max())

    @cached_property
    def crossings(self) -> int:
        """Changes of the sign of u within 25 T; later the disturbance is lost in rounding."""
        sign = np.sign(self.u[self.path.times <= 25 * RTT_S])
        return int(np.count_nonzero(sign[1:] * sign[:-1] < 0))

    @cached_property
    def growth(self) -> float:
        """Largest |u| in [20, 40] T over that in the first 20 T."""
        return self.peak(20, 40) / self.peak(0, 20)


def _loop(system: System, equilibrium: float, duration: float) -> Loop:
    across = equilibrium * (1 + DISTURBANCE) if equilibrium else 1.0
    path = trajectory(system, [across], duration * RTT_S, step_s=RTT_S / STEPS)
    return Loop(path, (path.rates[:, 0] - equilibrium) / (across - equilibrium))


@cache
def linear(product: float, duration: float = 60.0) -> Loop:
    """Equation 3 itself, du/dt = −a u(t − T) with u = 1 until 0: a price of 1, no weight, k = a."""
    system = System(
        np.ones((1, 1)),
        (Marking.constant(1.0),),
        gains=np.array([product / RTT_S]),
        weights=np.zeros(1),
        delays=np.array([RTT_S]),
        floor=-math.inf,
    )
    return _loop(system, 0.0, duration)


def marked_loop(pps: float, gain: float, decrease: float) -> System:
    """Equation 5 on one link, summed over its connections: load-based marking, equilibrium at `LOAD`.

    The sum of weights wb_inc wb_dec is what has this equilibrium, so that `decrease` moves the gain alone.
    """
    price = SLOPE * (LOAD - TARGET)
    weight = LOAD * pps * RTT_S * price
    return System.of_windows(
        [[1.0]], [marking(pps)], gain=gain, increase=weight / decrease, decrease=decrease, rtt_s=RTT_S
    )


def product_of(gain: float, decrease: float) -> float:
    """aT of that loop: kb (p + ρ p'(ρ))/wb_dec, with p + ρ p' = α(2ρ − ρ0) (equation 7)."""
    return gain * SLOPE * (2 * LOAD - TARGET) / decrease


@cache
def marked(pps: float, product: float, decrease: float = 1.0, duration: float = 60.0) -> Loop:
    """Equation 2 with load-based marking, at the gain that gives this aT."""
    gain = product / product_of(1.0, decrease)
    return _loop(marked_loop(pps, gain, decrease), LOAD * pps, duration)


DECREASES = (1.0, 2.0, 4.0, 8.0)
"""wb_dec of the search for critical gains, at a fixed wb_inc wb_dec."""


@cache
def critical_gain(pps: float, decrease: float, steadily: bool) -> float:
    """The gain kb at which the loop begins to oscillate (`steadily`), or to grow, by bisection over trajectories."""

    def beyond(gain: float) -> bool:
        loop = _loop(marked_loop(pps, gain, decrease), LOAD * pps, 25.0 if steadily else 60.0)
        if steadily:
            return loop.crossings > 0
        # well beyond the border the wave is soon as large as the marker allows, and grows no more
        return loop.peak(40, 60) > min(loop.peak(20, 40), 2.0)

    low, high = 0.1 * decrease, 4.0 * decrease
    while high / low > 1.0002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return math.sqrt(low * high)


@cache
def window_rate(p: float, increase: float, decrease: float, fluid_start: float, start_s: float, end_s: float) -> float:
    """Mean rate in packets/s of one connection whose packets are marked with probability p (equation 5 with delay).

    Half a packet of the mean window is not sent: what leaves is the whole number of packets below the window.

    Args:
        fluid_start: window at time 0, packets.
        start_s, end_s: the window of measurement.
    """
    system = System.of_windows(
        [[1.0]], [Marking.constant(p)], gain=net.GAIN, increase=increase, decrease=decrease, rtt_s=RTT_S
    )
    path = trajectory(system, [fluid_start / RTT_S], end_s)
    return float(path.mean(start_s, end_s)[0]) - 0.5 / RTT_S
