"""How loads are made in Figs. 8 to 10, and marking probability against utilisation as curves that claims can ask.

The load is swept by the number of connections. "w = 1 and 6" (captions) is read as half of the connections with each
weight, or as two experiments (option `mixture`); N connections of the first kind and those of the second with the
same sum of weights are the same place of the sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenflow.lab import Floats, Lab

from ..choices import Options
from ..measures import probability, utilisation
from ..network import Connections, Table, halves, single_link, wtp

if TYPE_CHECKING:
    from evenflow.scenario import Scenario
    from evenflow.study import Label

LOADS = (2, 4, 6, 8, 12, 16, 20, 26, 32, 40, 50)
"""N of the sweep. The paper gives none; these lead from a utilisation of 0.65 to one of 1."""
LOADS_QUICK = (2, 4, 8, 12, 16, 20, 26, 40)
"""For a first look, where no line or parabola is laid through a whole curve: those depend on the places measured."""
WEIGHTS = (1.0, 6.0)
MIXED = "1 and 6"
"""Value of the label ``weights`` where half of the connections have each; else it is "1" or "6"."""
SATURATED = 0.995
"""A load-based marker at a utilisation of 1 marks with its largest probability, whatever the load: no point of a
curve."""
BRANCH_N = 8
"""RED's curve folds back where few connections leave it few marks: with always-busy connections its utilisation falls
until about N = 8 and rises from there. What is said about RED's curve is judged on that second branch."""


@dataclass(frozen=True)
class Mix:
    """Who the connections are.

    Attributes:
        words: the label ``weights``.
        weights: one, or one for each half.
    """

    words: str
    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean weight of a connection."""
        return sum(self.weights) / len(self.weights)

    def count(self, n: int) -> int:
        """Connections with the sum of weights of `n` connections of weights 1 and 6."""
        return max(1, round(n * sum(WEIGHTS) / len(WEIGHTS) / self.mean))

    def groups(self, count: int, tcp: Table, factor: float = 1.0) -> dict[str, Connections]:
        """`count` connections whose weights are `factor` times those of the mix."""
        if len(self.weights) == 1:
            return {"all": Connections(count, tcp, self.weights[0] * factor)}
        return halves(count, tcp, (self.weights[0] * factor, self.weights[1] * factor))


def mixes(o: Options) -> tuple[Mix, ...]:
    """The experiments that "w = 1 and 6" stands for."""
    if o.mixture == "half":
        return (Mix(MIXED, WEIGHTS),)
    return tuple(Mix(f"{weight:g}", (weight,)) for weight in WEIGHTS)


@dataclass(frozen=True)
class Place:
    """One point of a sweep: its labels ``weights`` and ``n``, and its scenario."""

    labels: dict[str, Label]
    scenario: Scenario


def sweep(
    o: Options,
    marker: Table,
    form: str,
    ns: Sequence[int],
    *,
    gain: float | None = None,
    factor: float = 1.0,
    who: Sequence[Mix] | None = None,
    tcp: Mapping[str, Any] | None = None,
    **how: Any,
) -> list[Place]:
    """One link at every load.

    Args:
        ns: numbers of connections of weights 1 and 6; those of another mix have the same sum of weights.
        gain: κ̄, where it is not the paper's.
        factor: on all weights.
        who: the mixes; default: those of the option `mixture`.
        tcp: parameters of the connections that replace the usual ones.
        how: further arguments of `single_link`.
    """
    kind = dict(wtp(o, form) if gain is None else wtp(o, form, gain=gain)) | dict(tcp or {})
    places = []
    for mix in mixes(o) if who is None else who:
        for count in dict.fromkeys(mix.count(n) for n in ns):
            scenario = single_link(o, marker, mix.groups(count, kind, factor), **how)
            places.append(Place({"weights": mix.words, "n": count}, scenario))
    return places


@dataclass(frozen=True)
class LoadCurve:
    """Marking probability p against utilisation ρ, one curve a seed.

    Attributes:
        weights: total weight of the connections over that of N = 1, shape (k,), ascending: N of the mixture.
        rho, p: shape (k, seeds).
    """

    weights: Floats
    rho: Floats
    p: Floats

    def _only(self, kept: NDArray[np.bool_]) -> LoadCurve:
        return LoadCurve(self.weights[kept], self.rho[kept], self.p[kept])

    @property
    def unsaturated(self) -> LoadCurve:
        """Without the points at which the link is always busy."""
        return self._only(self.rho.mean(axis=1) < SATURATED)

    @property
    def branch(self) -> LoadCurve:
        """The unsaturated part from N = 8 on (`BRANCH_N`)."""
        return self.unsaturated._only(self.unsaturated.weights >= BRANCH_N - 0.5)

    def between(self, lo: float = 0.0, hi: float = 1.0) -> LoadCurve:
        """The points whose mean utilisation lies in [lo, hi]."""
        middle = self.rho.mean(axis=1)
        return self._only((middle >= lo) & (middle <= hi))

    def up_to(self, p: float) -> LoadCurve:
        """The points whose mean marking probability is at most `p`."""
        return self._only(self.p.mean(axis=1) <= p)

    @property
    def seeds(self) -> int:
        """How many curves."""
        return int(self.rho.shape[1])

    def rho_at(self, p: float) -> Floats:
        """Utilisation at a marking probability, shape (seeds,), linear between neighbouring loads; NaN outside."""
        return np.array([_crossing(self.p[:, s], self.rho[:, s], p) for s in range(self.seeds)])

    def p_at(self, rho: float) -> Floats:
        """Marking probability at a utilisation, shape (seeds,), linear between neighbouring loads; NaN outside."""
        return np.array([_crossing(self.rho[:, s], self.p[:, s], rho) for s in range(self.seeds)])

    def line(self) -> Line:
        """The straight line of least squares through the points of each seed."""
        return Line.through(self.rho, self.p)

    def curvature(self) -> Floats:
        """Quadratic coefficient of the parabola of least squares, for each seed; above 0 is convex."""
        if len(self.rho) < 3:
            return np.full(self.seeds, np.nan)
        return np.array([np.polyfit(self.rho[:, s], self.p[:, s], 2)[0] for s in range(self.seeds)])


def _crossing(x: Floats, y: Floats, at: float) -> float:
    """`y` where `x` rises through `at`, the last time it does."""
    for i in range(len(x) - 2, -1, -1):
        if x[i] <= at <= x[i + 1] and x[i] < x[i + 1]:
            return float(y[i] + (at - x[i]) / (x[i + 1] - x[i]) * (y[i + 1] - y[i]))
    return float("nan")


@dataclass(frozen=True)
class Line:
    """Straight lines of least squares, one a seed, each of shape (seeds,).

    Attributes:
        slope: change of p per utilisation.
        foot: utilisation at which the line meets p = 0.
        r2: share of p's variance that it explains.
    """

    slope: Floats
    foot: Floats
    r2: Floats

    @staticmethod
    def through(rho: Floats, p: Floats) -> Line:
        """Through points of shape (k, seeds); NaN from fewer than two points, and from two an R² of NaN."""
        nothing = np.full(rho.shape[1], np.nan)
        if len(rho) < 2:
            return Line(nothing, nothing, nothing)
        x, y = rho - rho.mean(axis=0), p - p.mean(axis=0)
        slope = (x * y).sum(axis=0) / (x * x).sum(axis=0)
        foot = rho.mean(axis=0) - p.mean(axis=0) / slope
        r2 = (x * y).sum(axis=0) ** 2 / ((x * x).sum(axis=0) * (y * y).sum(axis=0)) if len(rho) > 2 else nothing
        return Line(slope, foot, r2)


def load_curve(lab: Lab, mix: Mix, **labels: Label) -> LoadCurve:
    """The curve of the points with these labels."""
    ns, rho = lab.curve("n", utilisation, weights=mix.words, **labels)
    _, p = lab.curve("n", probability, weights=mix.words, **labels)
    return LoadCurve(np.array(ns) * mix.mean * len(WEIGHTS) / sum(WEIGHTS), rho, p)


def each(o: Options, lab: Lab, **labels: Label) -> list[tuple[str, LoadCurve]]:
    """For each mix of the option its curve, and words that tell it from the other ("" where there is only one)."""
    return [("" if len(mix.weights) > 1 else f"weight {mix.words}", load_curve(lab, mix, **labels)) for mix in mixes(o)]
