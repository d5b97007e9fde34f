"""Claims c50 to c60: what the congestion windows of figures 2 to 9 show, measured in all runs of each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, Measure, Spot

from .. import network as net
from ..claims import claims
from ..measures import ONE, cell, of, sender, words
from . import measures as here
from .measures import FIGURES

if TYPE_CHECKING:
    from ..choices import Options

CONVERGING = ("fig04", "fig06", "fig07", "fig08", "fig09")
RAPIDLY = ("fig07", "fig09")
AFTER_S = 45.0


def _spot(data: Data, figure: str) -> Spot:
    control, method = FIGURES[figure]
    return Lab(data[f"has_shaping-{figure}"]).at(control=control, method=method)


def _named(figure: str) -> str:
    control, method = FIGURES[figure]
    return words(control=control, method=method)


def _table(o: Options, data: Data, name: str, control: str, method: str) -> Floats:
    return cell(o, data, "table02", name, scenario=net.S1, control=control, method=method)


@claims.measure("c50")
def _moment(data: Data, accept: Accept, o: Options) -> list[Check]:
    measure: Measure = partial(here.avoidance, o)
    return [accept("more", _named(figure), _spot(data, figure).of(measure)) for figure in CONVERGING]


@claims.measure("c51")
def _newreno_shaped(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig02")
    mine = spot.of(of(o, "fr"))
    found = [
        accept("never", "V of the run nearest to the means", float(of(o, "V")(here.representative(o, spot)) or 0.0)),
        accept("fr", "fr", mine),
    ]
    for control in (net.ILLINOIS, net.CUBIC):
        twice = mine - 2 * _table(o, data, "fr", control, net.HTBM)
        found.append(accept("twice", f"fr − 2 × fr of {control}", twice))
    return found


@claims.measure("c52")
def _two_categories(data: Data, accept: Accept, o: Options) -> list[Check]:
    infidelity = _table(o, data, "IF", net.NEWRENO, net.RWTM)
    return [
        accept("share", "share of runs with IF = 100 %", (infidelity > 99.9).astype(np.float64)),
        accept("fast", "share of runs with IF below 15 %", (infidelity < 15).astype(np.float64)),
        accept("falls", "CNG", _table(o, data, "CNG", net.NEWRENO, net.RWTM)),
    ]


@claims.measure("c53")
def _by_threshold(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = Lab(data["has_shaping-fig03"])
    low, high = (lab.at(threshold=float(segments)) for segments in net.MIXED)
    return [
        accept("unfaithful", "IF, 27 segments", low.of(of(o, "IF"))),
        accept("low", "fr, 27 segments", low.of(of(o, "fr"))),
        accept("fast", "V, 69 segments", high.of(of(o, "V"))),
        accept("high", "fr, 69 segments", high.of(of(o, "fr"))),
    ]


@claims.measure("c54")
def _vegas_shaped(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig04")
    return [
        accept("late", "V", spot.of(partial(here.converged_s, o))),
        accept("threshold", "median threshold after convergence", spot.of(partial(here.settled, o))),
        accept("before", "falls before convergence", spot.of(partial(here.falls_a_second, o, False))),
        accept("after", "falls after convergence", spot.of(partial(here.falls_a_second, o, True))),
        accept("additive", "median step down", spot.of(partial(here.step_down, o))),
    ]


@claims.measure("c55")
def _vegas_tuned(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig05")
    mine = _table(o, data, "CNG", net.VEGAS, net.RWTM)
    found = [
        accept("timeouts", "timeouts a run", spot.of(partial(sender, "timeouts", ONE))),
        accept("mostly", "share at level 4 after 45 s", spot.of(partial(here.at_the_top, AFTER_S))),
        accept("stretch", "longest stretch at level 4", spot.of(here.longest_stretch)),
    ]
    found += [
        accept("worse", f"CNG − CNG of {control}", mine - _table(o, data, "CNG", control, net.RWTM))
        for control in (net.NEWRENO, net.ILLINOIS, net.CUBIC)
    ]
    return found


@claims.measure("c56")
def _illinois_shaped(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig06")
    more = _table(o, data, "CNG", net.ILLINOIS, net.HTBM) - _table(o, data, "CNG", net.NEWRENO, net.HTBM)
    return [
        accept("threshold", "median threshold after convergence", spot.of(partial(here.settled, o))),
        accept("few", "long off periods a run", spot.of(partial(sender, "idle_periods", ONE))),
        accept("more", "CNG − CNG of NewReno", more),
    ]


@claims.measure("c57")
def _illinois_tuned(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig07")
    early = spot.of(here.early_falls) > 0
    late = spot.of(of(o, "V"))
    without = late[~early]
    delayed = late[early] - float(np.mean(without)) if without.size else np.full(int(early.sum()), np.nan)
    return [
        accept("first", "first threshold", spot.of(here.first)),
        accept("last", "threshold at the end", spot.of(here.last)),
        accept("delayed", "V of runs with early congestion − V of the others", delayed),
    ]


@claims.measure("c58")
def _cubic_shaped(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig08")
    return [
        accept("first", "first threshold", spot.of(here.first)),
        accept("settled", "median threshold after convergence", spot.of(partial(here.settled, o))),
        accept("tens", "V", spot.of(of(o, "V"))),
        accept("convex", "share of the time above the last maximum", spot.of(here.convex)),
    ]


@claims.measure("c59")
def _cubic_tuned(data: Data, accept: Accept, o: Options) -> list[Check]:
    spot = _spot(data, "fig09")
    return [
        accept("first", "first threshold", spot.of(here.first)),
        accept("raised", "threshold at 30 s − first", spot.of(here.raised)),
        accept("maximum", "window before a reduction", spot.of(here.maximum)),
        accept("few", "reductions a run", spot.of(here.losses)),
        accept("concave", "share of the time above the last maximum", spot.of(here.convex)),
    ]


@claims.measure("c60")
def _lower_is_faster(data: Data, accept: Accept, o: Options) -> list[Check]:
    illinois, cubic = (_spot(data, figure) for figure in RAPIDLY)
    measures: tuple[tuple[str, Measure], ...] = (
        ("first threshold", here.first),
        ("early falls", here.early_falls),
        ("V", of(o, "V")),
    )
    return [accept("less", f"{name}: Illinois − CUBIC", illinois.of(m) - cubic.of(m)) for name, m in measures]
