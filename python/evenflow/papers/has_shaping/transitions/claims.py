"""Claims c19 to c25 and c61 to c65: a client joins, or leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats

from .. import network as net
from ..claims import claims
from ..forms import OF, most, others
from ..measures import METRICS, QUALITY, cell, mean_of, words
from ..published import MEAN, TABLE_5, TABLE_5_MEANS, TABLE_6, TABLE_6_MEANS

if TYPE_CHECKING:
    from ..choices import Options

EXPERIMENT = "table05"
THREE = (net.S1, net.S2, net.S3)
NEW = (net.S2, net.S3)
"""Scenario 1 is in tables 2 and 4."""


def _cell(o: Options, data: Data, name: str, scenario: str, control: str, method: str) -> Floats:
    return cell(o, data, EXPERIMENT, name, scenario=scenario, control=control, method=method)


def means(o: Options, data: Data, name: str, control: str, method: str) -> Floats:
    """MV: the mean of scenarios 1 to 3, run by run."""
    return mean_of(*(_cell(o, data, name, scenario, control, method) for scenario in THREE))


@claims.measure("c19")
def _stable(data: Data, accept: Accept, o: Options) -> list[Check]:
    return others(o, data, accept, EXPERIMENT, "IS", NEW)


@claims.measure("c20")
def _faithful(data: Data, accept: Accept, o: Options) -> list[Check]:
    return others(o, data, accept, EXPERIMENT, "IF", NEW)


@claims.measure("c21")
def _fast(data: Data, accept: Accept, o: Options) -> list[Check]:
    return others(o, data, accept, EXPERIMENT, "V", NEW)


@claims.measure("c23")
def _congestion(data: Data, accept: Accept, o: Options) -> list[Check]:
    return others(o, data, accept, EXPERIMENT, "CNG", NEW)


@claims.measure("c24")
def _off_periods(data: Data, accept: Accept, o: Options) -> list[Check]:
    return others(o, data, accept, EXPERIMENT, "fr", NEW)


def _mean_rows(accept: Accept, names: tuple[str, ...], cells: dict[tuple[str, ...], float]) -> list[Check]:
    """How far each printed mean value is from the mean of what is printed for the three scenarios."""
    found = []
    for name in names:
        for control in net.GOOD:
            for method in net.SHAPED:
                mean = float(np.mean([cells[name, scenario, control, method] for scenario in THREE]))
                printed = cells[name, MEAN, control, method]
                label = f"{name}, {words(control=control, method=method)}: {mean:.4g} − {printed:g} as printed"
                found.append(accept("difference", label, round(mean - printed, 6)))
    return found


@claims.measure("c22")
def _means_of_table_5(data: Data, accept: Accept) -> list[Check]:
    return _mean_rows(accept, QUALITY, {**TABLE_5, **TABLE_5_MEANS})


def _erratum(name: str, control: str, method: str, cells: dict[tuple[str, ...], float]) -> str:
    values = [cells[name, scenario, control, method] for scenario in THREE]
    said = " and ".join((", ".join(f"{value:g}" for value in values[:-1]), f"{values[-1]:g}"))
    printed = cells[name, MEAN, control, method]
    mean = float(np.mean(values))
    return f"{name} of {control} with {method}: the mean of {said} is {mean:.5g}; {printed:g} is printed."


@claims.note("c22")
def _erratum_note(data: Data, judgement: Judgement) -> str:
    return "An erratum of the paper. " + _erratum("V", net.ILLINOIS, net.RWTM, {**TABLE_5, **TABLE_5_MEANS})


@claims.measure("c25")
def _means_of_table_6(data: Data, accept: Accept) -> list[Check]:
    return _mean_rows(accept, ("CNG", "fr"), {**TABLE_6, **TABLE_6_MEANS})


@claims.note("c25")
def _errata_note(data: Data, judgement: Judgement) -> str:
    cells = {**TABLE_6, **TABLE_6_MEANS}
    return "Errata of the paper, of rounding. " + _erratum("CNG", net.CUBIC, net.HTBM, cells)


@claims.measure("c61")
def _tuning_better(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "difference",
            f"MV of {name}, {control}: HTBM − RWTM",
            means(o, data, name, control, net.HTBM) - means(o, data, name, control, net.RWTM),
        )
        for name in QUALITY
        for control in net.GOOD
    ]


@claims.measure("c62")
def _undisturbed(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(OF[name], f"{name}, {words(scenario=scenario, control=control)}", value)
        for name in ("CNG", "fr")
        for scenario in THREE
        for control in net.GOOD
        for value in (_cell(o, data, name, scenario, control, net.RWTM),)
    ]


@claims.measure("c63")
def _cubic_better(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "difference",
            f"MV of {name}, RWTM: Illinois − CUBIC",
            means(o, data, name, net.ILLINOIS, net.RWTM) - means(o, data, name, net.CUBIC, net.RWTM),
        )
        for name in QUALITY
    ]


def _illinois_better(data: Data, o: Options) -> list[tuple[str, Floats]]:
    return [
        (
            f"{name}, {scenario}, HTBM: CUBIC − Illinois",
            _cell(o, data, name, scenario, net.CUBIC, net.HTBM)
            - _cell(o, data, name, scenario, net.ILLINOIS, net.HTBM),
        )
        for name in METRICS
        for scenario in THREE
    ]


def _fivefold(data: Data, accept: Accept, o: Options) -> Check:
    cubic, illinois = (means(o, data, "CNG", control, net.HTBM) for control in (net.CUBIC, net.ILLINOIS))
    return accept("ratio", "MV of CNG, HTBM: CUBIC over Illinois", cubic / float(np.nanmean(illinois)))


@claims.measure("c64")
def _every_scenario(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = [accept("difference", label, values) for label, values in _illinois_better(data, o)]
    return [*found, _fivefold(data, accept, o)]


@claims.measure("c64", reading="wider")
def _most_scenarios(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = most(accept, "difference", "cells in which Illinois is better", _illinois_better(data, o))
    return [found, _fivefold(data, accept, o)]


@claims.measure("c64e")
def _fivefold_as_printed(data: Data, accept: Accept) -> list[Check]:
    cubic, illinois = (TABLE_6_MEANS["CNG", MEAN, control, net.HTBM] for control in net.GOOD)
    return [accept("ratio", "246.92 / 49.35", cubic / illinois)]


@claims.measure("c65")
def _joining_hurts(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "difference",
            f"{name}, {control}, HTBM: S2 − {other}",
            _cell(o, data, name, net.S2, control, net.HTBM) - _cell(o, data, name, other, control, net.HTBM),
        )
        for name in ("IF", "V")
        for control in net.GOOD
        for other in (net.S1, net.S3)
    ]
