"""Kelly's primal system as trajectories: rates that chase what their weights pay for, with and without delay.

Every route r changes its rate by (Siris et al. 2002, equation 1; Kelly, Maulloo and Tan 1998)

    dx_r/dt = k_r (w_r − x_r Σ_{j∈r} p_j(y_j)),    y_j = Σ_{s∋j} x_s,

with rates in packets/s, w in marks/s, k in 1/s and p a marking probability. The price of a path is the sum of its
links' prices, which is what the path's marking probability is while prices are small. Without delay this climbs the
welfare Σ_r U_r(x_r) − Σ_j C_j(y_j), where p_j = dC_j/dy and U_r = w_r log x_r; for another utility w_r follows
x_r U_r'(x_r).

With delay, a route's sender learns at t what became of the packets that it sent T_r earlier:

    dx_r/dt = k_r (w_r − x_r(t − T_r) Σ_{j∈r} p_j(y_j(t − b_jr))),    y_j(t) = Σ_{s∋j} x_s(t − f_js),

where f_js is the time from s's sender to link j (forward) and b_jr = T_r − f_jr the time from there over the receiver
back to r's sender (backward). At every link the two add up to T_r, as in Johari and Tan 2001, Massoulié 2002 and
Vinnicombe 2000. Only the split between them is free: `System.forward`, by default 0, so that all links stand next
to the senders. On one link with one T the split is without effect on stability. Queueing delay is no part of T, as in
equation 2.

Not here: windows, packets, acknowledgement clocking. A route may stand for n like flows with n times the weight, since
equation 1 then adds up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from ..errors import EvenflowError, UsageError

Floats: TypeAlias = NDArray[np.float64]
OfArray: TypeAlias = Callable[[Floats], Floats]
"""A function of an array that gives an array of the same shape."""

STEPS_PER_DELAY = 200
"""Steps in the shortest feedback delay, at least."""
MOST_STEPS_PER_DELAY = 2000
"""How fine the grid may become so that all delays are whole numbers of steps."""
ODE_TOLERANCE = 1e-10
"""Relative tolerance of the integrator of the system without delay."""


@dataclass(frozen=True)
class Marking:
    """How a link's marking probability follows its load.

    Attributes:
        price: p(y), y in packets/s, for arrays of any shape.
        slope: dp/dy, in s/packet.
        cost: C(y) = ∫₀^y p in marks/s; None = integrated numerically where it is needed.
    """

    price: OfArray
    slope: OfArray
    cost: OfArray | None = None

    @staticmethod
    def constant(probability: float) -> Marking:
        """The same probability at every load."""
        return Marking(
            lambda y: np.full_like(y, probability), lambda y: np.zeros_like(y), lambda y: probability * np.asarray(y)
        )

    @staticmethod
    def load_based(capacity: float, target: float, gain: float) -> Marking:
        """p = min(gain · max(y/capacity − target, 0), 1) (Siris et al. 2002, section 4.3).

        Args:
            capacity: of the link, in packets/s.
            target: ρ0, the load up to which nothing is marked.
            gain: α.
        """
        top = target + 1 / gain

        def price(y: Floats) -> Floats:
            return np.clip(gain * (y / capacity - target), 0.0, 1.0)

        def slope(y: Floats) -> Floats:
            load = y / capacity
            return np.where((load > target) & (load < top), gain / capacity, 0.0)

        def cost(y: Floats) -> Floats:
            load = y / capacity
            rising = 0.5 * gain * (np.clip(load, target, top) - target) ** 2
            flat: Floats = capacity * (rising + np.maximum(load - top, 0.0))
            return flat

        return Marking(price, slope, cost)

    def costs(self, loads: Floats) -> Floats:
        """C at each load: closed where known, else by Gauss-Legendre quadrature between neighbouring loads.

        Args:
            loads: shape (n,), packets/s, not negative.
        """
        if self.cost is not None:
            return self.cost(loads)
        order = np.argsort(loads, kind="stable")
        edges = np.concatenate([[0.0], loads[order]])
        nodes, weights = np.polynomial.legendre.leggauss(8)
        half = 0.5 * np.diff(edges)
        at = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * nodes
        found = np.empty_like(loads)
        found[order] = np.cumsum(half * (self.price(at) @ weights))
        return found


@dataclass(frozen=True)
class Utility:
    """What rates are worth to their routes.

    Attributes:
        value: U_r(x_r), for arrays of shape (…, routes).
        marginal: U_r'(x_r), likewise.
    """

    value: OfArray
    marginal: OfArray

    @staticmethod
    def fair(weights: ArrayLike, alpha: float = 1.0) -> Utility:
        """U = w x^(1−α)/(1−α), or w log x at α = 1 (Mo and Walrand 2000). α = 2 gives −w/x.

        Args:
            weights: w, shape (routes,).
        """
        w = np.asarray(weights, dtype=np.float64)
        if alpha == 1.0:
            return Utility(lambda x: w * np.log(x), lambda x: w / x)
        return Utility(lambda x: w * x ** (1 - alpha) / (1 - alpha), lambda x: w * x**-alpha)

    def willingness(self, rates: Floats) -> Floats:
        """w_r = x_r U_r'(x_r): what a route pays in a second at these rates (Siris et al. 2002, section 2)."""
        return rates * self.marginal(rates)


@dataclass(frozen=True)
class System:
    """The primal system of one network.

    Attributes:
        routing: A, shape (links, routes): 1 where a route crosses a link, else 0.
        markings: one a link.
        gains: k, shape (routes,), 1/s.
        weights: w, shape (routes,), marks/s; with `utility`, ignored by the dynamics.
        delays: T, shape (routes,), s; None or all 0 = feedback is instantaneous.
        forward: f, shape (links, routes), s: from a route's sender to a link, at most the route's T; None = 0.
        utility: what makes w_r follow x_r U_r'(x_r); None = w log x, whose willingness is w at any rate.
        floor: rates never fall below it, packets/s.

    Raises:
        UsageError: shapes that do not fit, or delays that make no sense.
    """

    routing: Floats
    markings: tuple[Marking, ...]
    gains: Floats
    weights: Floats
    delays: Floats | None = None
    forward: Floats | None = None
    utility: Utility | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        links, routes = self.routing.shape
        wrong = [
            f"{name}: shape {value.shape}, not {shape}"
            for name, value, shape in (
                ("gains", self.gains, (routes,)),
                ("weights", self.weights, (routes,)),
                ("delays", self.delays, (routes,)),
                ("forward", self.forward, (links, routes)),
            )
            if value is not None and value.shape != shape
        ]
        if len(self.markings) != links:
            wrong.append(f"{len(self.markings)} markings for {links} links")
        if wrong:
            raise UsageError("; ".join(wrong))
        if not self.instantaneous and (self.lags <= 0).any():
            raise UsageError("a feedback delay of 0 beside others: give every route a delay, or none")

    @staticmethod
    def of_windows(
        routing: ArrayLike,
        markings: Sequence[Marking],
        *,
        gain: ArrayLike,
        increase: ArrayLike,
        decrease: ArrayLike,
        rtt_s: ArrayLike,
        delays: bool = True,
        forward: ArrayLike | None = None,
    ) -> System:
        """The system that willingness-to-pay windows average to (Siris et al. 2002, equation 5).

        (kb/T)(wb_inc/T − x p/wb_dec) is equation 1 with k = kb/(T wb_dec) and w = wb_inc wb_dec/T.

        Args:
            routing: shape (links, routes).
            gain: kb, a number or one a route; a round trip's gain.
            increase: wb_inc, likewise.
            decrease: wb_dec, likewise.
            rtt_s: T, likewise; the feedback's delay as well, unless `delays` is False.
            forward: shape (links, routes), s.
        """
        across = np.asarray(routing, dtype=np.float64)
        routes = across.shape[1]
        kb, up, down, rtt = (
            np.broadcast_to(np.asarray(value, dtype=np.float64), (routes,)).copy()
            for value in (gain, increase, decrease, rtt_s)
        )
        return System(
            across,
            tuple(markings),
            gains=kb / (rtt * down),
            weights=up * down / rtt,
            delays=rtt if delays else None,
            forward=None if forward is None else np.asarray(forward, dtype=np.float64),
        )

    @property
    def instantaneous(self) -> bool:
        """Whether no route's feedback takes time."""
        return self.delays is None or not self.delays.any()

    @cached_property
    def lags(self) -> Floats:
        """How old a rate is in a price when it moves another: b_jr + f_js, shape (links, routes r, routes s), s.

        Only pairs of routes that share the link count; the others have r's own delay.
        """
        links, routes = self.routing.shape
        delays = np.zeros(routes) if self.delays is None else self.delays
        forward = np.zeros((links, routes)) if self.forward is None else self.forward
        crossed = self.routing > 0
        between = delays[None, :, None] - forward[:, :, None] + forward[:, None, :]
        return np.where(crossed[:, :, None] & crossed[:, None, :], between, delays[None, :, None])

    def willingness(self, rates: Floats) -> Floats:
        """w_r at these rates, marks/s, shape (…, routes)."""
        if self.utility is None:
            return np.broadcast_to(self.weights, rates.shape)
        return self.utility.willingness(rates)

    def loads(self, rates: Floats) -> Floats:
        """y = A x, packets/s: shape (…, routes) gives (…, links)."""
        return rates @ self.routing.T

    def prices(self, loads: Floats) -> Floats:
        """p_j(y_j), shape (…, links)."""
        return np.stack([m.price(loads[..., j]) for j, m in enumerate(self.markings)], axis=-1)

    def slopes(self, loads: Floats) -> Floats:
        """dp_j/dy_j in s/packet, shape (…, links)."""
        return np.stack([m.slope(loads[..., j]) for j, m in enumerate(self.markings)], axis=-1)

    def change(self, rates: Floats) -> Floats:
        """dx/dt in packets/s² when feedback is instantaneous (equation 1), shape (routes,)."""
        path = self.prices(self.loads(rates)) @ self.routing
        return self.gains * (self.willingness(rates) - rates * path)

    def welfare(self, rates: Floats) -> Floats:
        """Σ U_r(x_r) − Σ C_j(y_j) in marks/s, shape (n, routes) gives (n,); not finite where U is not."""
        utility = self.utility or Utility.fair(self.weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            gained: Floats = utility.value(rates).sum(axis=-1)
        loads = self.loads(rates)
        for j, marking in enumerate(self.markings):
            gained = gained - marking.costs(loads[:, j])
        return gained


@dataclass(frozen=True)
class Trajectory:
    """Rates over time.

    Attributes:
        times: shape (n,), s.
        rates: shape (n, routes), packets/s.
        prices: shape (n, links), marking probabilities of the load that arrives at that instant.
        welfare: shape (n,), marks/s.
        step_s: of the fixed grid; None where the integrator chose its own.
    """

    times: Floats
    rates: Floats
    prices: Floats
    welfare: Floats
    step_s: float | None = None

    def mean(self, start_s: float, end_s: float) -> Floats:
        """Mean rates in a window, packets/s, shape (routes,): the trapezoidal rule between the points."""
        edges = np.array([start_s, end_s])
        inside = (self.times > start_s) & (self.times < end_s)
        at = np.concatenate([edges[:1], self.times[inside], edges[1:]])
        rates = np.stack([np.interp(at, self.times, column) for column in self.rates.T], axis=-1)
        return np.asarray(np.trapezoid(rates, at, axis=0) / (end_s - start_s), dtype=np.float64)

    def thinned(self, points: int) -> Trajectory:
        """At most so many points, evenly chosen, the first and the last among them."""
        if len(self.times) <= points:
            return self
        keep = np.unique(np.linspace(0, len(self.times) - 1, points).round().astype(int))
        return Trajectory(self.times[keep], self.rates[keep], self.prices[keep], self.welfare[keep], self.step_s)

    def to_json(self) -> dict[str, Any]:
        """Plain lists; what is not finite becomes null."""
        return {
            "times_s": _plain(self.times),
            "rates": _plain(self.rates),
            "prices": _plain(self.prices),
            "welfare": _plain(self.welfare),
            "step_s": self.step_s,
        }


def _plain(values: Floats) -> list[Any]:
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [float(v) if math.isfinite(v) else None for v in values]


MOST_STEPS = 5_000_000
"""Longest trajectory with delay: every step is kept, for what comes a round trip later depends on it."""


def trajectory(
    system: System, start: ArrayLike, duration_s: float, *, points: int = 1001, step_s: float | None = None
) -> Trajectory:
    """Follow a system from rates that have held for ever.

    Without delay scipy's LSODA integrates to `ODE_TOLERANCE`, told at `points` even times. With delay the classical
    Runge-Kutta rule runs on a fixed grid of at least `STEPS_PER_DELAY` steps in the shortest delay, told at every
    step. Delayed rates between grid points come from cubic Hermite polynomials through values and derivatives.
    The error is of fourth order in the step where all delays are whole numbers of steps and the markings are
    smooth along the way: solutions of delay equations have kinks at sums of delays, and these then fall on grid
    points. Elsewhere it is of second order. Where no step is given, one is sought that divides all delays.

    Args:
        start: rates before and at time 0, shape (routes,), packets/s.
        duration_s: how long.
        points: of the answer, without delay.
        step_s: of the grid, with delay.

    Raises:
        UsageError: a start of the wrong shape, a duration that is not above 0 or needs more than `MOST_STEPS` steps,
            or a step that is longer than the shortest delay.
        EvenflowError: the integrator gave up.
    """
    initial = np.array(start, dtype=np.float64)
    if initial.shape != system.gains.shape:
        raise UsageError(f"start: shape {initial.shape}, not {system.gains.shape}")
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise UsageError(f"A trajectory of {duration_s:g} s: give a number above 0.")
    if system.instantaneous:
        return _without_delay(system, initial, duration_s, points)
    return _Delayed(system, initial, duration_s, step_s).run()


def _without_delay(system: System, start: Floats, duration_s: float, points: int) -> Trajectory:
    def change(_: float, rates: Floats) -> Floats:
        held = np.maximum(rates, system.floor)
        wanted = system.change(held)
        return np.where((rates <= system.floor) & (wanted < 0), 0.0, wanted)

    times = np.linspace(0.0, duration_s, points)
    scale = max(float(np.abs(start).max()), 1.0)
    found = solve_ivp(
        change,
        (0.0, duration_s),
        start,
        method="LSODA",
        t_eval=times,
        rtol=ODE_TOLERANCE,
        atol=ODE_TOLERANCE * scale * 1e-2,
    )
    if not found.success:
        raise EvenflowError(f"The trajectory could not be followed: {found.message}")
    rates = np.maximum(found.y.T, system.floor)
    return Trajectory(times, rates, system.prices(system.loads(rates)), system.welfare(rates))


def grid_step(delays: Sequence[float], shortest: float) -> float:
    """The longest step of at most shortest/`STEPS_PER_DELAY` that divides all delays, else just that.

    Args:
        delays: s, all that occur, positive.
        shortest: the shortest feedback delay of a route, s.
    """
    fits = min(shortest, min(delays))
    for parts in range(STEPS_PER_DELAY, MOST_STEPS_PER_DELAY + 1):
        step = shortest / parts
        whole = [delay / step for delay in delays]
        if step <= fits and all(abs(n - round(n)) < 1e-7 for n in whole):
            return step
    return min(shortest / STEPS_PER_DELAY, fits)


class _Delayed:
    """The method of steps, a block of grid steps at a time: inside a block all delayed rates are already known.

    `rates` and `slopes` hold the grid's values and derivatives, shape (steps + 1, routes).
    """

    def __init__(self, system: System, start: Floats, duration_s: float, step_s: float | None) -> None:
        assert system.delays is not None
        self.system = system
        self.start = start
        links, routes = system.routing.shape
        self.forward = np.zeros((links, routes)) if system.forward is None else system.forward
        shared = [
            (j, r, s)
            for j in range(links)
            for r in range(routes)
            for s in range(routes)
            if system.routing[j, r] > 0 and system.routing[j, s] > 0
        ]
        lags = [float(system.lags[key]) for key in shared] + [float(d) for d in system.delays]
        self.step = grid_step(lags, float(system.delays.min())) if step_s is None else step_s
        if not 0 < self.step <= min(lags):
            raise UsageError(f"a step of {self.step:g} s is longer than the shortest delay, {min(lags):g} s")
        self.block = max(1, math.floor(min(lags) / self.step * (1 + 1e-12)))
        self.steps = max(1, math.ceil(duration_s / self.step - 1e-9))
        if self.steps > MOST_STEPS:
            most = MOST_STEPS * self.step
            raise UsageError(f"A trajectory of {duration_s:g} s is too long: with these delays at most {most:.3g} s.")
        self.rates = np.empty((self.steps + 1, routes))
        self.slopes = np.zeros((self.steps + 1, routes))
        self.rates[0] = start

    def past(self, route: int, times: Floats, known: int) -> Floats:
        """A route's rate at times up to that of the last known grid point."""
        place = times / self.step
        index = np.clip(np.floor(place).astype(int), 0, max(known - 1, 0))
        if known == 0:
            return np.full_like(times, self.start[route])
        at = place - index
        x0, x1 = self.rates[index, route], self.rates[index + 1, route]
        d0, d1 = self.slopes[index, route] * self.step, self.slopes[index + 1, route] * self.step
        rise = x1 - x0
        cubic = x0 + at * (d0 + at * (3 * rise - 2 * d0 - d1 + at * (d0 + d1 - 2 * rise)))
        found: Floats = np.where(times <= 0, self.start[route], cubic)
        return found

    def charged(self, times: Floats, known: int) -> Floats:
        """x_r(t − T_r) Σ_j p_j(y_j(t − b_jr)) in marks/s, shape (len(times), routes)."""
        system = self.system
        assert system.delays is not None
        found = np.zeros((len(times), len(self.start)))
        for r, delay in enumerate(system.delays):
            for j in np.flatnonzero(system.routing[:, r]):
                there = times - (delay - self.forward[j, r])
                load = sum(
                    system.routing[j, s] * self.past(int(s), there - self.forward[j, s], known)
                    for s in np.flatnonzero(system.routing[j])
                )
                found[:, r] += system.routing[j, r] * system.markings[j].price(np.asarray(load))
            found[:, r] *= self.past(r, times - delay, known)
        return found

    def run(self) -> Trajectory:
        system = self.system
        known = 0
        while known < self.steps:
            count = min(self.block, self.steps - known)
            halves = self.step * (known + 0.5 * np.arange(2 * count + 1, dtype=np.float64))
            self.advance(known, count, self.charged(halves, known))
            known += count
        times = self.step * np.arange(self.steps + 1, dtype=np.float64)
        loads = np.stack(
            [
                sum(
                    (
                        system.routing[j, s] * self.past(int(s), times - self.forward[j, s], known)
                        for s in np.flatnonzero(system.routing[j])
                    ),
                    np.zeros(len(times)),
                )
                for j in range(len(system.markings))
            ],
            axis=-1,
        )
        return Trajectory(times, self.rates, system.prices(loads), system.welfare(self.rates), self.step)

    def advance(self, known: int, count: int, charged: Floats) -> None:
        """Runge-Kutta over a block, given what is charged at its grid points and half-way between them."""
        system = self.system
        span = slice(known, known + count + 1)
        if system.utility is None:
            change = system.gains * (system.weights - charged)
            moved = self.step / 6 * (change[:-2:2] + 4 * change[1::2] + change[2::2])
            reached = self.rates[known] + np.cumsum(moved, axis=0)
            if reached.min() >= system.floor:
                self.rates[known + 1 : known + count + 1] = reached
                self.slopes[span] = change[::2]
                return
        for n in range(count):
            self.rates[known + n + 1] = self.one(self.rates[known + n], *charged[2 * n : 2 * n + 3])
        wanted = system.gains * (system.willingness(self.rates[span]) - charged[::2])
        held = (self.rates[span] <= system.floor) & (wanted < 0)
        self.slopes[span] = np.where(held, 0.0, wanted)

    def one(self, rates: Floats, before: Floats, half: Floats, after: Floats) -> Floats:
        """One step from the marks charged at its beginning, middle and end."""
        system, h = self.system, self.step

        def change(at: Floats, charged: Floats) -> Floats:
            return system.gains * (system.willingness(np.maximum(at, system.floor)) - charged)

        k1 = change(rates, before)
        k2 = change(rates + 0.5 * h * k1, half)
        k3 = change(rates + 0.5 * h * k2, half)
        k4 = change(rates + h * k3, after)
        return np.maximum(rates + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), system.floor)
