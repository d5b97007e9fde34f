"""Where the windows rest: prices at which every link carries the load that it has this price for.

The prices solve the convex dual of Kelly, Maulloo, Tan (1998): they minimise

    Σ_j c_j ∫_0^{p_j} load_j dp  -  Σ_r n_r b_r ∫^{P_r} x_r dP,      P_r = Σ_{j on r} p_j,   0 <= p_j <= top_j

with c_j the link's rate in bytes/s, n_r connections of b_r bytes a packet, and x_r(P) a connection's rate at a path
price. Its derivative by p_j is what link j could carry at that price less what it is sent. The rate comes in two
columns:

    pure        x = W(P) / T
    corrected   x = (W(P) - 1/2) / (T + time on the wires + queueing delay at these prices)

(Siris et al. 2002, section 5.1, explain by whole packets why weights count for a little more than they say).
A queueing delay depends on the prices of all links of a path, so that the corrected column is a sequence of such
problems, each with the delays of the one before.

A path's price is the sum of its links' prices, as in Kelly's model. What a window hears is 1 - Π (1 - p_j), which is
less: a packet is marked once. With `composed` the corrected column takes that, by the same sequence of problems.

Where a price would be above what a marker can reach, or outside what was measured, the link is *saturated*: nothing is
extrapolated, and there is no prediction for those who cross it, nor for whoever shares a price with them. The same
holds for a link that does not mark and would be full.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from .markers import ConstantProbability, Marker
from .model import HALF_PACKET, Fluid, Link, Route

Floats = NDArray[np.float64]

FLOOR = 1e-10
"""Below this share of `top` a price is zero."""
BALANCED = 1e-7
"""Largest difference of loads, as a share of the link, with which prices count as found."""
STARTS = (0.03, 0.003, 0.1, 0.3, 0.8)
"""Shares of `top` from which prices are looked for; the last ones only where the problem may have several minima."""
FULL = 0.999
"""A link that does not mark and is loaded more than this has a queue without end, or nearly."""


@dataclass(frozen=True)
class LinkState:
    """A link at rest.

    Attributes:
        price: marking probability; None where there is no prediction.
        utilisation: load as a share of its rate; None where there is no prediction.
        delay_s: mean queueing delay in s; None in the pure column, where there is no prediction, and where the marker's
            closed form has no queue (it then counts as none).
        saturated: whether no price within reach would do.
        why: what keeps it from having a prediction, "" where it has one.
    """

    price: float | None
    utilisation: float | None
    delay_s: float | None = None
    saturated: bool = False
    why: str = ""


@dataclass(frozen=True)
class RouteState:
    """A connection of a route at rest: rate in packets/s, mean window in packets, path price; None: no prediction."""

    rate_pps: float | None
    window_packets: float | None
    price: float | None


@dataclass(frozen=True)
class Equilibrium:
    """One column of the prediction.

    Attributes:
        corrected: which column.
        links, routes: by name.
        warnings: what the reader must know.
        unique: whether it is known to be the only one.
    """

    corrected: bool
    links: dict[str, LinkState]
    routes: dict[str, RouteState]
    warnings: tuple[str, ...] = ()
    unique: bool = True


def equilibrium(fluid: Fluid, *, corrected: bool = False, composed: bool = False) -> Equilibrium:
    """Rates, prices and utilisation at rest (see the module's text).

    Args:
        fluid: from `model.fluid`, or made directly.
        corrected: with half a packet and the queueing delay, or without.
        composed: in the corrected column, that marks of several links on one packet are one mark.
    """
    return _Solver(fluid, corrected, corrected and composed).solve()


@dataclass
class _Solution:
    """Prices of the links that look for one, in their order."""

    prices: Floats
    value: float
    excess: Floats
    """Load that the price allows less the load there is, by link."""


class _Solver:
    def __init__(self, fluid: Fluid, corrected: bool, composed: bool) -> None:
        self.fluid = fluid
        self.corrected = corrected
        self.composed = composed
        self.warnings: list[str] = []
        self.why: dict[str, str] = {}
        self.saturated: set[str] = set()
        self.unique = True

    def solve(self) -> Equilibrium:
        lost = self._lost(self._unbounded())
        routes = [r for r in self.fluid.routes if r.name not in lost]
        prices, delays = self._prices(routes)
        # A bound that binds takes its routes with it, and whoever shares a price with them. What is left was solved
        # together with them but shares nothing with them, so that it stands.
        lost |= self._lost({r.name for r in routes if any(name in self.saturated for name in r.links)})
        states = {r.name: self._route(r, prices, delays, r.name in lost) for r in self.fluid.routes}
        full = self._full(states)
        while full - set(self.why):
            for name in full:
                self.why.setdefault(name, "it does not mark and would be full")
            self.saturated |= full
            lost |= self._lost({r.name for r in self.fluid.routes if full & set(r.links)})
            states = {r.name: self._route(r, prices, delays, r.name in lost) for r in self.fluid.routes}
            full = self._full(states)
        links = {link.name: self._link(link, prices, delays, states) for link in self.fluid.links}
        for why in dict.fromkeys(self.why.values()):
            names = ", ".join(name for name, said in self.why.items() if said == why)
            self.warnings.append(f"No prediction for what crosses {names}: {why}.")
        return Equilibrium(self.corrected, links, states, tuple(dict.fromkeys(self.warnings)), self.unique)

    # what has no prediction

    def _unbounded(self) -> set[str]:
        """Routes whose window nothing holds: no link marks, and the window has no limit."""
        found = set()
        for route in self.fluid.routes:
            marked = any(self.fluid.link(name).marker is not None for name in route.links)
            if route.control is not None and not marked and not math.isfinite(route.control.most):
                found.add(route.name)
                if not route.links:
                    self.warnings.append(f"Nothing on the path of {route.name} marks: no prediction for it.")
        names = ", ".join(sorted(found))
        for route in self.fluid.routes:
            if route.name in found:
                for name in route.links:
                    self.why.setdefault(name, f"nothing on the path of {names} marks, so that windows grow")
        return found

    def _lost(self, routes: set[str]) -> set[str]:
        """These routes and all that share a price, or a full link, with them."""
        lost = set(routes)
        while True:
            links = {
                name
                for r in self.fluid.routes
                if r.name in lost
                for name in r.links
                if name in self.why or self._priced(self.fluid.link(name))
            }
            more = {r.name for r in self.fluid.routes if r.control is not None and links & set(r.links)} | lost
            if more == lost:
                return lost
            lost = more

    @staticmethod
    def _priced(link: Link) -> bool:
        """Whether its price is looked for; a marker that can reach none (load-based with a target of 1) never marks."""
        marker = link.marker
        return marker is not None and not isinstance(marker, ConstantProbability) and marker.top > 0

    def _full(self, states: dict[str, RouteState]) -> set[str]:
        found = set()
        for link in self.fluid.links:
            if self._priced(link):
                continue
            load = self._load(link, states)
            if load is not None and load > FULL:
                found.add(link.name)
        return found

    def _load(self, link: Link, states: dict[str, RouteState]) -> float | None:
        total = 0.0
        for route in self.fluid.crossing(link.name):
            rate = states[route.name].rate_pps
            if rate is None:
                return None
            total += route.flows * rate * 8 * route.packet_bytes / (link.rate_bps * link.copies)
        return total

    # states

    def _rate(self, route: Route, price: float, delay: float) -> float:
        if route.control is None:
            return float(route.rate_pps or 0.0)
        window = float(route.control.window(price))
        if not self.corrected:
            return window / route.rtt_s
        return (window - HALF_PACKET) / (route.rtt_s + route.sending_s + delay)

    def _route(self, route: Route, prices: dict[str, float], delays: dict[str, float], lost: bool) -> RouteState:
        if lost:
            return RouteState(None, None, None)
        price = _heard(route, prices) if self.composed else math.fsum(prices.get(name, 0.0) for name in route.links)
        delay = math.fsum(delays.get(name, 0.0) for name in route.links)
        known = all(name not in self.saturated for name in route.links)
        if route.control is None:
            return RouteState(route.rate_pps, None, price if known else None)
        return RouteState(self._rate(route, price, delay), float(route.control.window(price)), price)

    def _link(
        self, link: Link, prices: dict[str, float], delays: dict[str, float], states: dict[str, RouteState]
    ) -> LinkState:
        saturated = link.name in self.saturated
        why = self.why.get(link.name, "")
        load = self._load(link, states)
        if saturated or load is None:
            why = why or "it shares routes with a link that has no prediction"
            return LinkState(None, None, None, saturated, why)
        queued = self.corrected and link.marker is not None and link.marker.has_queue
        return LinkState(prices.get(link.name, 0.0), load, delays.get(link.name, 0.0) if queued else None)

    # prices

    def _prices(self, routes: Sequence[Route]) -> tuple[dict[str, float], dict[str, float]]:
        """Prices and queueing delays by link."""
        crossed = {name for r in routes for name in r.links}
        links = [k for k in self.fluid.links if k.name in crossed and self._priced(k)]
        fixed = {k.name: k.marker.probability for k in self.fluid.links if isinstance(k.marker, ConstantProbability)}
        delays: dict[str, float] = {}
        found: dict[str, float] = {}
        if links:
            problem = _Dual(links, routes, fixed, self.corrected)
            solution = self._dual(problem, delays, None)
            if self.corrected:
                for _ in range(200):
                    last, before = dict(delays), solution.prices
                    delays = problem.delays(solution.prices)
                    if self.composed:
                        problem.compose(solution.prices, fixed)
                    solution = self._dual(problem, delays, solution.prices)
                    settled = np.allclose(solution.prices, before, rtol=1e-9, atol=1e-12)
                    if settled and all(abs(delays[n] - last.get(n, 0.0)) <= 1e-9 for n in delays):
                        break
                else:
                    self.warnings.append("The queueing delays did not settle; the corrected column is approximate.")
            self._judge(problem, solution)
            found = dict(zip(problem.names, map(float, solution.prices), strict=True))
        return {**fixed, **found}, delays

    def _dual(self, problem: _Dual, delays: dict[str, float], start: Floats | None) -> _Solution:
        problem.set_delays(delays)
        if start is not None:
            return problem.follow(start)
        tries = STARTS if not problem.convex else STARTS[:2]
        found = [problem.minimise(share * problem.top) for share in tries]
        best = min(found, key=lambda s: s.value)
        others = [
            s for s in found if not np.allclose(s.prices, best.prices, rtol=1e-4, atol=1e-7) and problem.balanced(s)
        ]
        if others:
            self.unique = False
            said = "; ".join(problem.said(s.prices) for s in (best, others[0]))
            self.warnings.append(f"More than one equilibrium: {said}. The first is shown.")
        if not problem.convex:
            self._say_falling(problem, best, bool(others))
        return best

    def _say_falling(self, problem: _Dual, best: _Solution, others: bool) -> None:
        names = ", ".join(problem.falling)
        told = f"The measured load of {names} falls in places while the price grows"
        if not problem.is_convex_at(best.prices):
            self.unique = False
            self.warnings.append(f"{told}, and at this equilibrium too: it may not be the only one.")
        elif not others:
            self.warnings.append(
                f"{told}: this equilibrium is the only one found from {len(STARTS)} starts; the dual is convex there."
            )

    def _judge(self, problem: _Dual, solution: _Solution) -> None:
        for j, link in enumerate(problem.links):
            price, excess = solution.prices[j], solution.excess[j]
            marker = problem.markers[j]
            if price >= marker.top * (1 - 1e-9) and excess < -BALANCED:
                self.saturated.add(link.name)
                self.why[link.name] = f"it would need a higher price than {marker.top:.3g}, " + (
                    "the highest it can reach" if marker.first == 0 else "the highest that was measured"
                )
            elif FLOOR * marker.top * 10 < price < marker.first * (1 - 1e-9) and marker.first > 0:
                self.saturated.add(link.name)
                self.why[link.name] = f"its price would lie below {marker.first:.3g}, the lowest that was measured"
            elif price > FLOOR * marker.top * 10 and abs(excess) > BALANCED:
                self.warnings.append(
                    f"{link.name}: load and price are apart by {abs(excess):.1e} of its rate; take this with care."
                )


def _heard(route: Route, prices: dict[str, float]) -> float:
    """The share of a route's packets that is marked by at least one of its links."""
    return 1.0 - math.prod(1.0 - prices.get(name, 0.0) for name in route.links)


class _Dual:
    """The dual problem over the links that look for a price; the rest is constant."""

    def __init__(
        self, links: Sequence[Link], routes: Sequence[Route], fixed: dict[str, float], corrected: bool
    ) -> None:
        self.links = list(links)
        self.names = [link.name for link in links]
        self.markers: list[Marker] = [link.marker for link in links if link.marker is not None]
        self.top = np.array([m.top for m in self.markers])
        self.corrected = corrected
        elastic = [r for r in routes if r.control is not None and any(n in self.names for n in r.links)]
        self.routes = elastic
        self.cross = np.array([[float(n in r.links) for r in elastic] for n in self.names])
        self.constant = np.array([math.fsum(fixed.get(n, 0.0) for n in r.links) for r in elastic])
        capacity = np.array([k.rate_bps * k.copies / 8 for k in links])
        self.unit = float(capacity.max())
        self.capacity = capacity / self.unit
        self.weight = np.array([r.flows * r.packet_bytes / self.unit for r in elastic])
        self.fixed_load = np.array(
            [
                math.fsum(
                    r.flows * (r.rate_pps or 0.0) * r.packet_bytes / c
                    for r in routes
                    if r.control is None and k.name in r.links
                )
                for k, c in zip(links, capacity, strict=True)
            ]
        )
        self.convex = all(m.increasing for m in self.markers)
        self.falling = [n for n, m in zip(self.names, self.markers, strict=True) if not m.increasing]
        self.times = np.array([r.rtt_s for r in elastic])
        self.heard = np.ones(len(elastic))
        self.set_delays({})

    def set_delays(self, delays: dict[str, float]) -> None:
        if self.corrected:
            waits = [r.sending_s + math.fsum(delays.get(n, 0.0) for n in r.links) for r in self.routes]
            self.times = np.array([r.rtt_s + w for r, w in zip(self.routes, waits, strict=True)])

    def compose(self, prices: Floats, fixed: dict[str, float]) -> None:
        """How much of the sum of its links' prices a window hears, at these prices."""
        known = {**fixed, **dict(zip(self.names, map(float, prices), strict=True))}
        sums = [math.fsum(known.get(n, 0.0) for n in r.links) for r in self.routes]
        self.heard = np.array([_heard(r, known) / s if s > 0 else 1.0 for r, s in zip(self.routes, sums, strict=True)])

    def delays(self, prices: Floats) -> dict[str, float]:
        return {n: m.delay(float(p)) for n, m, p in zip(self.names, self.markers, prices, strict=True)}

    def path(self, prices: Floats) -> Floats:
        """What each window hears of these prices."""
        return np.asarray(self.heard * (prices @ self.cross + self.constant))

    def rates(self, path: Floats) -> Floats:
        less = HALF_PACKET if self.corrected else 0.0
        windows = [float(r.control.window(p)) for r, p in zip(self.routes, path, strict=True) if r.control is not None]
        found: Floats = (np.array(windows) - less) / self.times
        return found

    def excess(self, prices: Floats) -> Floats:
        """What each link could carry at its price, less what it is sent, as a share of its rate."""
        could = np.array([float(m.load(p)) for m, p in zip(self.markers, prices, strict=True)])
        sent = self.cross @ (self.weight * self.rates(self.path(prices))) / self.capacity
        return np.asarray(could - self.fixed_load - sent)

    def value(self, prices: Floats) -> float:
        less = HALF_PACKET if self.corrected else 0.0
        path = self.path(prices)
        links = math.fsum(
            c * (float(m.area(p)) - f * p)
            for c, m, f, p in zip(self.capacity, self.markers, self.fixed_load, prices, strict=True)
        )
        users = math.fsum(
            w * (float(r.control.area(p)) - less * p) / (t * h)
            for w, r, p, t, h in zip(self.weight, self.routes, path, self.times, self.heard, strict=True)
            if r.control is not None
        )
        return links - users

    def minimise(self, start: Floats) -> _Solution:
        floor = FLOOR * self.top
        scale = self.top

        def both(z: Floats) -> tuple[float, Floats]:
            prices = np.clip(z * scale, floor, self.top)
            return self.value(prices), self.capacity * self.excess(prices) * scale

        done = optimize.minimize(
            both,
            np.clip(start, 2 * floor, self.top) / scale,
            jac=True,
            method="TNC",
            bounds=[(FLOOR, 1.0)] * len(scale),
            options={"maxfun": 5000, "ftol": 1e-16, "gtol": 1e-11},
        )
        return self._solution(self._polish(np.clip(done.x * scale, floor, self.top)))

    def follow(self, last: Floats) -> _Solution:
        """The minimum beside one of almost the same problem: mostly a root beside a root."""
        found = self._solution(self._polish(np.maximum(last, FLOOR * self.top)))
        return found if self.balanced(found) else self.minimise(last)

    def _solution(self, prices: Floats) -> _Solution:
        floor = FLOOR * self.top
        prices = np.where(prices <= 10 * floor, 0.0, prices)
        shown = np.maximum(prices, floor)
        return _Solution(prices, self.value(shown), self.excess(shown))

    def _polish(self, prices: Floats) -> Floats:
        """The root of the excess over the prices that touch no bound: a minimum is known to half the digits only."""
        free = (prices > 100 * FLOOR * self.top) & (prices < self.top * (1 - 1e-9))
        if not free.any():
            return prices

        def excess(logs: Floats) -> Floats:
            tried = prices.copy()
            tried[free] = np.clip(np.exp(logs), FLOOR * self.top[free], self.top[free])
            return self.excess(tried)[free]

        done = optimize.root(excess, np.log(prices[free]), method="hybr", options={"xtol": 1e-14})
        tried = prices.copy()
        tried[free] = np.exp(done.x)
        inside = bool(np.all((tried[free] > FLOOR * self.top[free]) & (tried[free] <= self.top[free])))
        better = (
            np.max(np.abs(self.excess(tried)[free])) <= np.max(np.abs(self.excess(prices)[free])) if inside else False
        )
        near = bool(np.all(np.abs(np.log(tried[free] / prices[free])) < 0.2)) if inside else False
        return tried if better and near else prices

    def balanced(self, solution: _Solution) -> bool:
        """Whether it satisfies the conditions of a minimum."""
        low = solution.prices <= 0
        high = solution.prices >= self.top * (1 - 1e-9)
        wrong = np.where(
            low, np.minimum(solution.excess, 0), np.where(high, np.maximum(solution.excess, 0), solution.excess)
        )
        return bool(np.max(np.abs(wrong)) <= BALANCED)

    def is_convex_at(self, prices: Floats) -> bool:
        """Whether the Hessian of the dual is positive definite over the prices that touch no bound."""
        free = np.flatnonzero((prices > 100 * FLOOR * self.top) & (prices < self.top * (1 - 1e-9)))
        if not len(free):
            return True
        hessian = np.empty((len(free), len(free)))
        for column, j in enumerate(free):
            step = 1e-4 * prices[j]
            up, down = prices.copy(), prices.copy()
            up[j], down[j] = up[j] + step, down[j] - step
            change = self.capacity * (self.excess(up) - self.excess(down)) / (2 * step)
            hessian[:, column] = change[free]
        return bool(np.all(np.linalg.eigvalsh((hessian + hessian.T) / 2) > 0))

    def said(self, prices: Iterable[float]) -> str:
        return ", ".join(f"{name} {price:.4g}" for name, price in zip(self.names, prices, strict=True))
