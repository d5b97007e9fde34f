"""Table IV, computed: who is best in fairness, loss, delay and deployability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenflow.lab import Floats

from .. import measures
from .. import network as net
from ..measures import Series

FAIR = (5.0, 45.0)
"""Filling rates over which unfairness is averaged."""
MOST = net.RATES[-1]
ALIKE = 0.15
"""Values that are closer than this share of the larger one are of one rank."""
PRINTED: Mapping[str, Mapping[str, int]] = {
    "fairness": {net.DT: 4, net.RED: 1, net.ECN: 2, net.FULL: 2},
    "loss": {net.DT: 2, net.RED: 1, net.ECN: 4, net.FULL: 4},
    "delay": {net.DT: 1, net.RED: 4, net.ECN: 2, net.FULL: 2},
    "deployability": {net.DT: 4, net.RED: 3, net.ECN: 2, net.FULL: 1},
}
"""Stars of table IV."""


def fairness(series: Series, variant: str) -> Floats:
    """U averaged over the filling rates around the optimum, one value a run."""
    found: Floats = np.mean(series.over_r(variant, measures.unfairness, *FAIR)[1], axis=0)
    return found


def loss(series: Series, variant: str) -> Floats:
    """Loss of light users averaged over r, %, one value a run."""
    found: Floats = np.mean(series.over_r(variant, measures.light_lost)[1], axis=0)
    return found


def delay(series: Series, variant: str) -> Floats:
    """Delay of light users where policing does nothing or little, ms: the mean of no policing and the highest r."""
    return measures.mean_of(
        series.free(variant).of(measures.light_delay), series.at(variant, MOST).of(measures.light_delay)
    )


def deployability(variant: str) -> int:
    """Stars by how many elements need not change."""
    return 5 - net.TABLE_3[variant].changes


def ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Rank of each, 1 the lowest value; one that is close to the best of a rank shares it."""
    found: dict[str, int] = {}
    rank, best = 0, 0.0
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda item: item[1]), 1):
        if not found or value - best > ALIKE * value:
            rank, best = place, value
        found[name] = rank
    return found


def table_4(series: Series) -> Sequence[Mapping[str, Any]]:
    """A row a variant: each quantity's mean, its rank, and the paper's stars."""
    quantities = {"fairness": fairness, "loss": loss, "delay": delay}
    means = {
        name: {variant: float(np.mean(of(series, variant))) for variant in net.VARIANTS}
        for name, of in quantities.items()
    }
    placed = {name: ranks(values) for name, values in means.items()}
    rows = []
    for variant in net.VARIANTS:
        row: dict[str, Any] = {"variant": variant}
        for name in quantities:
            row |= {name: means[name][variant], f"{name}_rank": placed[name][variant]}
            row[f"{name}_stars_in_the_paper"] = PRINTED[name][variant]
        row["deployability_stars"] = deployability(variant)
        rows.append(row)
    return rows
