"""Claims c26 to c31 and c66 to c69: a lone client, and a second of losses.

Literal: half of the packets that the server receives are lost. Wider: half of those that it sends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Floats

from .. import network as net
from ..claims import claims
from ..forms import OF, others
from ..measures import QUALITY, cell, words
from ..transitions.claims import EXPERIMENT as SCENARIOS_1_TO_3

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.study import Label

    from ..choices import Options

EXPERIMENT = "table07"


def _cell(o: Options, data: Data, name: str, scenario: str, control: str, method: str, lost: str = "") -> Floats:
    more: dict[str, Label] = {"loss": lost} if scenario == net.S4 else {}
    return cell(o, data, EXPERIMENT, name, scenario=scenario, control=control, method=method, **more)


def _s4(o: Options, data: Data, accept: Accept, lost: str, *names: str) -> list[Check]:
    return [check for name in names for check in others(o, data, accept, EXPERIMENT, name, (net.S4,), loss=lost)]


def _wl(o: Options, data: Data, accept: Accept, *names: str) -> list[Check]:
    return [check for name in names for check in others(o, data, accept, EXPERIMENT, name, (net.WL,))]


# --- Without loss ---------------------------------------------------------------------------------------------------


@claims.measure("c26")
def _stable_alone(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _wl(o, data, accept, "IS")


@claims.measure("c27")
def _good_alone(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _wl(o, data, accept, "IF", "V")


@claims.measure("c30w")
def _congestion_alone(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _wl(o, data, accept, "CNG")


@claims.measure("c31w")
def _off_alone(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _wl(o, data, accept, "fr")


@claims.measure("c69")
def _more_off_alone(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for control in net.GOOD:
        shaped, tuned = (_cell(o, data, "fr", net.WL, control, method) for method in net.SHAPED)
        two = cell(o, data, SCENARIOS_1_TO_3, "fr", scenario=net.S1, control=control, method=net.RWTM)
        found += [
            accept("htbm", f"fr, {words(control=control, method=net.HTBM)}", shaped),
            accept("rwtm", f"fr, {words(control=control, method=net.RWTM)}", tuned),
            accept("more", f"fr, {words(control=control, method=net.RWTM)}: alone − with client 2", tuned - two),
        ]
    return found


# --- With losses ----------------------------------------------------------------------------------------------------


def _stable(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    return _s4(o, data, accept, lost, "IS")


def _good(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    return _s4(o, data, accept, lost, "IF", "V")


def _congestion(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    return _s4(o, data, accept, lost, "CNG")


def _off(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    return _s4(o, data, accept, lost, "fr")


def _cubic_worst(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    found = []
    for method in net.SHAPED:
        mine = {name: _cell(o, data, name, net.S4, net.CUBIC, method, lost) for name in OF}
        found += [accept(OF[name], f"{name}, {words(control=net.CUBIC, method=method)}", mine[name]) for name in OF]
        found += [
            accept(
                "worse",
                f"{name}, {method}: CUBIC − Illinois",
                mine[name] - _cell(o, data, name, net.S4, net.ILLINOIS, method, lost),
            )
            for name in QUALITY
        ]
    return found


def _tuning_degrades_more(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    found = []
    for name in QUALITY:
        for control in net.GOOD:
            worse = {}
            for method in net.SHAPED:
                without = float(np.nanmean(_cell(o, data, name, net.WL, control, method)))
                worse[method] = 100 * (_cell(o, data, name, net.S4, control, method, lost) / without - 1)
            label = f"{name}, {control}: degradation with RWTM − with HTBM"
            found.append(accept("more", label, worse[net.RWTM] - worse[net.HTBM]))
    return found


def _order(data: Data, accept: Accept, o: Options, lost: str) -> list[Check]:
    found = []
    for name in (*QUALITY, "fr"):
        best, second = (_cell(o, data, name, net.S4, net.ILLINOIS, method, lost) for method in net.SHAPED)
        found.append(accept("step", f"{name}, Illinois: RWTM − HTBM", second - best))
        for method in net.SHAPED:
            last = _cell(o, data, name, net.S4, net.CUBIC, method, lost)
            found.append(accept("step", f"{name}: CUBIC with {method} − Illinois with RWTM", last - second))
    return found


def _read_twice(name: str, judged: Callable[[Data, Accept, Options, str], list[Check]]) -> None:
    """A claim about scenario 4: literally of what the server receives, wider of what it sends."""

    def measure(lost: str, data: Data, accept: Accept, o: Options) -> list[Check]:
        return judged(data, accept, o, lost)

    claims.measure(name)(partial(measure, net.ACKS))
    claims.measure(name, reading="wider")(partial(measure, net.DATA))


for _name, _judged in (
    ("c28", _stable),
    ("c29", _good),
    ("c30", _congestion),
    ("c31", _off),
    ("c66", _cubic_worst),
    ("c67", _tuning_degrades_more),
    ("c68", _order),
):
    _read_twice(_name, _judged)
