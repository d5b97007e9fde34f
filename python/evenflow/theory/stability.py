"""Whether a network of weighted flows settles, oscillates or grows, from its equilibrium's prices and slopes.

Linearised at an equilibrium, the primal system of `dynamics` with feedback delays T_r reads, route by route,

    du_r/dt = −k_r ( P_r u_r(t − T_r) + x_r Σ_{j∈r} p_j' Σ_{s∋j} u_s(t − T_r + f_jr − f_js) ),    P_r = Σ_{j∈r} p_j.

**One link, equal T and k.** The sum of rates obeys du/dt = −a u(t − T) with a = k (p + y p'), and the differences
obey it with the smaller a = k p. It decays without oscillation if a T < 1/e and decays if a T < π/2 (Siris et al.
2002, equations 3 and 7, after Kelly 2000). Both are exact: the dominant root is W₀(−aT)/T with Lambert's W, real up
to 1/e and on the imaginary axis at π/2. With increase and decrease weights k = kb/(T wb_dec), hence
a T = kb (p + ρ p'(ρ))/wb_dec.

**Any network.** It decays if, for every route,

    k_r T_r Σ_{j∈r} (p_j + y_j p_j') < π/2.

Johari and Tan 2001 conjecture this condition (for a system in discrete time) and prove it where all round trips are
equal; Massoulié 2002 proves a modified form for any delays, and Vinnicombe 2000 this one (as told in Kelly 2003). It is
sufficient, not necessary, and asks that p_j' ≥ 0, that forward and backward delay add up to T_r at every link, that
queueing delay is negligible, and that the start is near. A proof in a dozen lines stands in docs/theory.md.

`dominant` finds the rightmost characteristic root of any such system numerically. It is no published verdict, but shows
on which side of the border a network without one lies.

References: R. Johari and D. Tan, "End-to-end congestion control for the Internet: delays and stability", IEEE/ACM
Trans. Networking 9 (2001) 818-832. L. Massoulié, "Stability of distributed congestion control with heterogeneous
feedback delays", IEEE Trans. Automatic Control 47 (2002) 895-902. G. Vinnicombe, "On the stability of end-to-end
congestion control for the Internet", Technical Report CUED/F-INFENG/TR.398, Cambridge (2000). F. Kelly, "Fairness and
stability of end-to-end congestion control", European Journal of Control 9 (2003) 159-176. F. Kelly, "Models for a
self-managed Internet", Phil. Trans. R. Soc. A 358 (2000) 2335-2348. D. Breda, S. Maset and R. Vermiglio,
"Pseudospectral differencing methods for characteristic roots of delay differential equations", SIAM J. Sci. Comput. 27
(2005) 482-495.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..errors import UsageError
from .dynamics import Floats, System

NO_OSCILLATION = 1 / math.e
"""Bound of a T for a decay without oscillation (Siris et al. 2002, section 2)."""
STABLE = math.pi / 2
"""Bound of a T for a decay (Siris et al. 2002, section 2)."""

ONE_LINK = (
    "exact for one link with equal round trips and gains: Siris et al. 2002, section 2 and equation 7 (Kelly 2000)"
)
PER_ROUTE = (
    "sufficient for any delays: condition of Johari and Tan 2001 and Vinnicombe 2000, after Kelly 2003; "
    "proof in docs/theory.md; no verdict where it is not met"
)
AVERAGED = "; averaging taken as delay, half the interval for the mean and half for holding it: cautious"
CLOCKED = "one link; beyond the border of windows clocked by acknowledgements under an averaging marker: docs/theory.md"
NODES = 30
"""Chebyshev intervals over the longest delay in `dominant`, beside those that the fastest mode needs."""
LARGEST = 1500
"""Rows of the largest matrix whose eigenvalues `dominant` takes."""


class Settles(StrEnum):
    """What becomes of a small disturbance."""

    STEADILY = "decays without oscillation"
    DECAYS = "decays"
    GROWS = "grows"
    OPEN = "no verdict"


WORST_FIRST = (Settles.GROWS, Settles.OPEN, Settles.DECAYS, Settles.STEADILY)


@dataclass(frozen=True)
class Reading:
    """One delay's value against its bound.

    Attributes:
        delay_s: the feedback delay used.
        value: a T on one link, else k_r T_r Σ (p_j + y_j p_j').
        bound: what it was compared with: the smallest bound it stays below, else the largest.
        verdict: of the route's whole component.
        basis: where the bound is from.
    """

    delay_s: float
    value: float
    bound: float
    verdict: Settles
    basis: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "delay_s": self.delay_s,
            "value": self.value,
            "bound": self.bound,
            "verdict": str(self.verdict),
            "basis": self.basis,
        }


@dataclass(frozen=True)
class RouteStability:
    """A route's verdict.

    Attributes:
        route: its name.
        plain: with the round trip alone as delay.
        averaged: with the markers' averaging added as delay, for which π/2 is a cautious bound: on one link growth is
            told only from `averaged_border` on, and between the two there is no verdict. None where no marker on the
            path averages.
    """

    route: str
    plain: Reading
    averaged: Reading | None = None

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Both."""
        return (self.plain,) if self.averaged is None else (self.plain, self.averaged)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        averaged = None if self.averaged is None else self.averaged.to_json()
        return {"route": self.route, "plain": self.plain.to_json(), "averaged": averaged}


@dataclass(frozen=True)
class Stability:
    """Every route's verdict.

    Attributes:
        routes: in the order of the linearised system.
        root: the rightmost characteristic root found numerically, with the round trips alone as delays, in 1/s; nan
            where `dominant` cannot tell.
    """

    routes: tuple[RouteStability, ...]
    root: complex

    @property
    def verdict(self) -> Settles:
        """The worst of all, with the round trips alone as delays."""
        return min((r.plain.verdict for r in self.routes), key=WORST_FIRST.index)

    @property
    def verdict_averaged(self) -> Settles:
        """The worst of all, with averaging added where a marker averages."""
        return min((r.readings[-1].verdict for r in self.routes), key=WORST_FIRST.index)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": str(self.verdict),
            "verdict_averaged": str(self.verdict_averaged),
            "routes": [route.to_json() for route in self.routes],
            "dominant_root_per_s": None if math.isnan(self.root.real) else [self.root.real, self.root.imag],
        }


@dataclass(frozen=True)
class Linearised:
    """A primal system at its equilibrium.

    Attributes:
        routing: A, shape (links, routes), 0 or 1.
        rates: x, shape (routes,), packets/s; those that answer to marks (fixed traffic belongs in the slopes alone).
        gains: k, shape (routes,), 1/s; kb/(T wb_dec) for windows.
        delays: T, shape (routes,), s.
        prices: p, shape (links,).
        slopes: dp/dy in s/packet, shape (links,).
        forward: f, shape (links, routes), s, as in `dynamics.System`; None = 0.
        averaging: shape (links,), s: t_avg of markers that measure a mean load and hold the probability as long; None
            or 0 = without.
        names: of the routes; None = "0", "1", …
    """

    routing: Floats
    rates: Floats
    gains: Floats
    delays: Floats
    prices: Floats
    slopes: Floats
    forward: Floats | None = None
    averaging: Floats | None = None
    names: tuple[str, ...] | None = None

    @staticmethod
    def at(system: System, rates: Floats, *, averaging: Floats | None = None) -> Linearised:
        """A system at given rates, shape (routes,), which should be its equilibrium.

        Raises:
            UsageError: a system without delays, or with a utility other than w log x.
        """
        if system.delays is None or system.utility is not None:
            raise UsageError("verdicts are about systems with feedback delays and utilities w log x")
        loads = system.loads(rates)
        return Linearised(
            system.routing,
            rates,
            system.gains,
            system.delays,
            system.prices(loads),
            system.slopes(loads),
            system.forward,
            averaging,
        )

    def scaled(self, factor: float) -> Linearised:
        """The same with all gains multiplied."""
        return replace(self, gains=factor * self.gains)

    @property
    def marked(self) -> Floats:
        """p_j + y_j p_j', shape (links,)."""
        return self.prices + (self.routing @ self.rates) * self.slopes

    def terms(self) -> tuple[Floats, Floats]:
        """du/dt = Σ_i B_i u(t − τ_i): τ of shape (n,), s, and B of shape (n, routes, routes), 1/s."""
        links, routes = self.routing.shape
        forward = np.zeros((links, routes)) if self.forward is None else self.forward
        found: dict[float, Floats] = {}

        def add(delay: float, r: int, s: int, value: float) -> None:
            key = round(delay, 12)
            found.setdefault(key, np.zeros((routes, routes)))[r, s] -= self.gains[r] * value

        path = self.prices @ self.routing
        for r in range(routes):
            add(self.delays[r], r, r, path[r])
            for j in np.flatnonzero(self.routing[:, r]):
                for s in np.flatnonzero(self.routing[j]):
                    add(
                        self.delays[r] - forward[j, r] + forward[j, s],
                        r,
                        int(s),
                        self.rates[r] * self.slopes[j],
                    )
        delays = sorted(found)
        return np.array(delays), np.stack([found[d] for d in delays])


def dominant(system: Linearised) -> complex:
    """The rightmost characteristic root in 1/s (of a pair, the one above the real axis).

    The generator of the solution is discretised on Chebyshev points over the longest delay and its eigenvalues are
    taken (Breda, Maset and Vermiglio 2005). A root s that does not decay has |s| ≤ ρ(Σ|B_i|), so that |s|τ/2 points and
    `NODES` more resolve it to about 1e-9 of 1/τ.

    Returns:
        The root; nan where the matrix would have more than `LARGEST` rows, for delays that differ too much.
    """
    delays, factors = system.terms()
    longest = float(delays[-1])
    routes = len(system.rates)
    fastest = float(np.abs(np.linalg.eigvals(np.abs(factors).sum(axis=0))).max())
    nodes = NODES + math.ceil(0.5 * fastest * longest)
    if (nodes + 1) * routes > LARGEST:
        return complex(math.nan, math.nan)
    k = np.arange(nodes + 1)
    at = np.cos(math.pi * k / nodes)
    places = 0.5 * longest * (at - 1)
    signs = np.where((k == 0) | (k == nodes), 2.0, 1.0) * (-1.0) ** k
    difference = places[:, None] - places[None, :] + np.eye(nodes + 1)
    derivative = np.outer(signs, 1 / signs) / difference
    derivative -= np.diag(derivative.sum(axis=1))
    generator = np.kron(derivative, np.eye(routes))
    barycentric = 1 / signs
    generator[:routes] = 0.0
    for delay, factor in zip(delays, factors, strict=True):
        distance = -delay - places
        on_node = np.abs(distance) < 1e-13 * longest
        row = on_node.astype(np.float64) if on_node.any() else barycentric / distance
        generator[:routes] += np.kron(row / row.sum(), factor)
    roots = np.linalg.eigvals(generator)
    root = roots[np.argmax(roots.real)]
    return complex(root.real, abs(root.imag))


def averaged_border(price: float, rise: float, rtt_s: float, interval_s: float) -> float:
    """The a (T + t_avg) at which windows on one link under an averaging marker begin to cycle; ours, not published.

    Acknowledgements clock the increase as well: it is k x(t − T) w/x(t) rather than k w. Linearised, the p in
    a = k (p + y p') then acts without delay and damps. The marker's load is a mean over an interval and its probability
    is held for as long, which delays by t_avg together and also weakens fast waves by sinc²(ω t_avg/2). Hence
    du/dt = −k (p u(t) + y p' ū), with ū the disturbance so delayed and weakened. With all of a delayed and
    nothing weakened the border is π/2.

    Args:
        price: p at the equilibrium.
        rise: y p', there.
        rtt_s: T.
        interval_s: t_avg.

    Returns:
        The border; infinity where the damping prevails at any gain.
    """
    delay = rtt_s + interval_s

    def left(turn: float) -> float:
        """S(θ) of a wave that turns by θ in the delay."""
        return float(np.sinc(turn * interval_s / delay / 2 / math.pi)) ** 2

    def imbalance(turn: float) -> float:
        return price + rise * left(turn) * math.cos(turn)

    turns = np.linspace(math.pi / 2, math.pi, 400)
    found = [(a, b) for a, b in itertools.pairwise(turns) if imbalance(a) > 0 >= imbalance(b)]
    if not found:
        return math.inf
    turn = float(brentq(imbalance, *found[0]))
    return (price + rise) * turn / (rise * left(turn) * math.sin(turn))


def _components(system: Linearised) -> list[tuple[list[int], list[int]]]:
    """Links that mark, grouped with the routes over which they hear of each other: (links, routes)."""
    links, routes = system.routing.shape
    marking = (system.prices > 0) | (system.slopes > 0)
    edges = csr_array((system.routing > 0) & marking[:, None])
    rows, columns = edges.nonzero()
    graph = csr_array((np.ones(len(rows)), (rows, columns + links)), shape=(links + routes, links + routes))
    count, label = connected_components(graph, directed=False)
    found = []
    for c in range(count):
        members = np.flatnonzero(label == c)
        mine = [int(i) - links for i in members if i >= links]
        if mine:
            found.append(([int(i) for i in members if i < links], mine))
    return found


def _equal(values: Floats) -> bool:
    return bool(np.allclose(values, values[0], rtol=1e-9, atol=0.0))


def _read(
    system: Linearised, links: Sequence[int], routes: Sequence[int], averaging: Floats | None = None
) -> list[Reading]:
    """Verdicts of one component's routes, as they are or with the links' averaging as further delay."""
    chosen = np.array(routes)
    delays = system.delays[chosen]
    tail = ""
    if averaging is not None:
        delays = delays + np.where(system.routing > 0, averaging[:, None], 0.0).max(axis=0)[chosen]
        tail = AVERAGED
    gains = system.gains[chosen]
    values = gains * delays * (system.marked @ system.routing)[chosen]
    if len(links) == 1 and _equal(delays) and _equal(gains):
        value, bound, basis = float(values[0]), STABLE, ONE_LINK + tail
        settles = Settles.DECAYS
        if value < NO_OSCILLATION:
            bound, settles = NO_OSCILLATION, Settles.STEADILY
        elif value >= STABLE and averaging is None:
            settles = Settles.GROWS
        elif value >= STABLE and averaging is not None:
            price = float(system.prices[links[0]])
            rise = float(system.marked[links[0]]) - price
            interval = float(averaging[links[0]])
            border = averaged_border(price, rise, float(delays[0]) - interval, interval) if rise > 0 else math.inf
            settles = Settles.OPEN if value < border else Settles.GROWS
            if settles is Settles.GROWS:
                bound, basis = border, CLOCKED
        return [Reading(float(d), value, bound, settles, basis) for d in delays]
    settles = Settles.DECAYS if len(links) > 0 and (values < STABLE).all() else Settles.OPEN
    return [Reading(float(d), float(v), STABLE, settles, PER_ROUTE + tail) for d, v in zip(delays, values, strict=True)]


def judge(system: Linearised) -> Stability:
    """Every route's verdict by a published condition (module docstring).

    Links that do not mark do not couple routes: what is exact for one link is so for every link that marks alone.
    Routes that meet no mark have no equilibrium, hence no verdict. A route of a network has the verdict of its
    component: one route beyond the bound leaves all that it is coupled with open.

    Raises:
        UsageError: a slope below 0, for which no condition is known.
    """
    if (system.slopes < 0).any():
        raise UsageError("a marking probability that falls with load: no stability condition is known for it")
    _, routes = system.routing.shape
    names = system.names or tuple(str(r) for r in range(routes))
    averaging = np.zeros(len(system.prices)) if system.averaging is None else system.averaging
    found: dict[int, RouteStability] = {}
    for links, members in _components(system):
        # links that do not mark delay nothing
        mine = np.zeros_like(averaging)
        mine[links] = averaging[links]
        plain = _read(system, links, members)
        averaged = _read(system, links, members, mine) if mine.any() else [None] * len(members)
        for r, first, second in zip(members, plain, averaged, strict=True):
            found[r] = RouteStability(names[r], first, second)
    return Stability(tuple(found[r] for r in range(routes)), dominant(system))
