"""Claims c32, c33, c77 and c78: table 9, and statements about all scenarios."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab

from .. import network as net
from ..claims import claims
from ..forms import combinations
from ..measures import METRICS, QUALITY, badness, cell, mean_of, of, words
from ..transitions.claims import means

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.study import Label, Run

    from ..choices import Options

Combination = tuple[str, str]
FOUR = combinations(net.GOOD)
EARLIER = 40
"""Runs with which section 4 compares its 60."""


def _by_group(o: Options, data: Data, lost: str) -> dict[str, dict[str, Floats]]:
    """Badness of the four combinations in scenarios 1 to 3, 4 and 5."""

    def lone(name: str, control: str, method: str) -> Floats:
        return cell(o, data, "table07", name, scenario=net.S4, control=control, method=method, loss=lost)

    def over_deviations(name: str, control: str, method: str) -> Floats:
        lab = Lab(data["has_shaping-fig10"])
        grid = [at for at in lab.grid("deviation_ms", control=control, method=method) if at <= net.DEVIATIONS_MS[-1]]
        return mean_of(*(lab.at(control=control, method=method, deviation_ms=at).of(of(o, name)) for at in grid))

    found: dict[str, dict[str, Floats]] = {}
    for group, measure in (
        ("1 to 3", lambda name, control, method: means(o, data, name, control, method)),
        ("4", lone),
        ("5", over_deviations),
    ):
        cells = {
            f"{control}, {method}": {name: measure(name, control, method) for name in QUALITY}
            for control, method in FOUR
        }
        found[group] = badness(cells)
    return found


def _named(control: str, method: str) -> str:
    return f"{control}, {method}"


STEPS: dict[str, list[tuple[Combination, Combination]]] = {
    "1 to 3": [
        ((net.CUBIC, net.RWTM), (net.ILLINOIS, net.HTBM)),
        ((net.ILLINOIS, net.RWTM), (net.ILLINOIS, net.HTBM)),
        ((net.ILLINOIS, net.HTBM), (net.CUBIC, net.HTBM)),
    ],
    "4": [
        ((net.ILLINOIS, net.HTBM), (net.ILLINOIS, net.RWTM)),
        ((net.ILLINOIS, net.RWTM), (net.CUBIC, net.RWTM)),
        ((net.ILLINOIS, net.RWTM), (net.CUBIC, net.HTBM)),
    ],
    "5": [
        ((net.ILLINOIS, net.RWTM), (net.CUBIC, net.RWTM)),
        ((net.CUBIC, net.RWTM), (net.CUBIC, net.HTBM)),
        ((net.CUBIC, net.HTBM), (net.ILLINOIS, net.HTBM)),
    ],
}
"""Table 9: who has a better score than whom; equal scores are not compared."""


def _scores(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    found = []
    for group, bad in _by_group(o, data, lost).items():
        for better, worse in STEPS[group]:
            label = f"scenarios {group}: {_named(*worse)} − {_named(*better)}"
            found.append(accept("step", label, bad[_named(*worse)] - bad[_named(*better)]))
    return found


@claims.measure("c32")
def _table_9(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _scores(data, accept, o, net.ACKS)


@claims.measure("c32", reading="wider")
def _table_9_wider(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _scores(data, accept, o, net.DATA)


def _best(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    groups = _by_group(o, data, lost)
    mine = _named(net.ILLINOIS, net.RWTM)
    overall = {name: mean_of(*(bad[name] for bad in groups.values())) for name in (_named(*it) for it in FOUR)}
    found = [
        accept("best", f"overall: {name} − {mine}", values - overall[mine])
        for name, values in overall.items()
        if name != mine
    ]
    first = badness(
        {
            _named(control, method): {
                name: cell(o, data, "table02", name, scenario=net.S1, control=control, method=method)
                for name in QUALITY
            }
            for control, method in combinations()
        }
    )
    found += [
        accept("best", f"scenario 1: {_named(control, method)} − {mine}", first[_named(control, method)] - first[mine])
        for control, method in combinations((net.NEWRENO, net.VEGAS))
    ]
    for scenario in (net.S1, net.S2, net.S3):
        values = cell(o, data, "table05", "CNG", scenario=scenario, control=net.ILLINOIS, method=net.RWTM)
        found.append(accept("congestion", f"CNG, {scenario}", values))
    return found


@claims.measure("c33")
def _best_overall(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _best(data, accept, o, net.ACKS)


@claims.measure("c33", reading="wider")
def _best_overall_wider(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _best(data, accept, o, net.DATA)


# --- How many runs --------------------------------------------------------------------------------------------------


def _cells(o: Options, data: Data) -> Iterator[tuple[str, Floats]]:
    """Every cell of tables 2, 4, 5, 6, 7 and 8."""
    for control, method in combinations(methods=net.METHODS):
        for name in METRICS:
            yield (
                f"{name}, {words(scenario=net.S1, control=control, method=method)}",
                cell(o, data, "table02", name, scenario=net.S1, control=control, method=method),
            )
    for experiment, scenarios in (("table05", (net.S2, net.S3)), ("table07", (net.WL, net.S4))):
        for scenario in scenarios:
            for control, method in FOUR:
                more: dict[str, Label] = {"loss": net.ACKS} if scenario == net.S4 else {}
                for name in METRICS:
                    labels: dict[str, Label] = {"scenario": scenario, "control": control, "method": method}
                    yield f"{name}, {words(**labels)}", cell(o, data, experiment, name, **labels, **more)


@claims.measure("c77")
def _enough_runs(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for label, values in _cells(o, data):
        whole, part = float(np.mean(values)), float(np.mean(values[:EARLIER]))
        # nothing in any run differs by nothing
        change = 0.0 if whole == part else 100 * abs(part / whole - 1) if whole else math.inf
        known = values.size >= net.RUNS
        found.append(accept("change", label, change if known else np.full(values.size, np.nan)))
    return found


# --- Equation of a window -------------------------------------------------------------------------------------------


def told(run: Run) -> float:
    """What the window told brings in a round trip: whole segments of it, Mbit/s."""
    stage = run.json["stages"][net.TUNER]
    segments = math.floor(stage["target_window"] / net.MSS_BYTES)
    return float(segments) * net.MSS_BYTES * 8 / float(stage["rtt"]) / 1e6


@claims.measure("c78")
def _window_over_round_trip(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = Lab(data["has_shaping-law"])

    def ratio(run: Run) -> float:
        return float(run.json["groups"][net.CLIENT_1]["goodput_bps"]) / 1e6 / told(run)

    return [accept("ratio", control, lab.at(control=control).of(ratio)) for control in net.CONTROLS]
