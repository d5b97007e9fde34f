"""Claims c70 to c76: figures 10 and 11, over the round trip's deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab

from .. import network as net
from ..claims import claims
from ..forms import most
from ..measures import QUALITY, mean_of, of

if TYPE_CHECKING:
    from ..choices import Options

EXPERIMENT = "has_shaping-fig10"
GOOD_TO_MS = 35.0
"""The last point before "around 40 ms"."""
SPLIT_MS = 35.0
HURT_ABOVE_MS = 14.0
LEVEL_FROM_MS = 21.0
"""The first point behind "around 20 ms"."""
LAST_MS = net.DEVIATIONS_MS[-1]


def _curve(o: Options, data: Data, name: str, control: str, method: str) -> dict[float, Floats]:
    """A measure by deviation, up to what the paper can have had."""
    lab = Lab(data[EXPERIMENT])
    return {
        at: lab.at(control=control, method=method, deviation_ms=at).of(of(o, name))
        for at in lab.grid("deviation_ms", control=control, method=method)
        if at <= LAST_MS
    }


def _part(curve: dict[float, Floats], lo: float = 0.0, hi: float = LAST_MS) -> Floats:
    """The mean over a part of the axis, run by run."""
    return mean_of(*(values for at, values in curve.items() if lo <= at <= hi))


@claims.measure("c70")
def _below(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name in QUALITY:
        shaped = [_curve(o, data, name, control, net.HTBM) for control in net.GOOD]
        tuned = {control: _curve(o, data, name, control, net.RWTM) for control in net.GOOD}
        points = [
            (f"{control}, {at:g} ms: HTBM with {other} − RWTM", curve[at] - mine[at])
            for control, mine in tuned.items()
            for at in mine
            for other, curve in zip(net.GOOD, shaped, strict=True)
        ]
        found.append(most(accept, "below", f"{name}: points at which RWTM is below HTBM", points))
        for control, mine in tuned.items():
            middle = LAST_MS / 2
            nearest = min(mine, key=lambda at: abs(at - middle))
            bend = (mine[LAST_MS] - mine[nearest]) - (mine[nearest] - mine[0.0])
            found.append(accept("convex", f"{name}, {control}: rise of the second half − of the first", bend))
        one, two = tuned.values()
        level = float(np.mean([np.nanmean(values) for values in (*one.values(), *two.values())]))
        close = [(f"{at:g} ms", (one[at] - two[at]) / level) for at in one]
        found.append(most(accept, "close", f"{name}: points at which the two are close", close))
    return found


@claims.measure("c71")
def _good_to_forty(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name in QUALITY:
        for control in net.GOOD:
            curve = _curve(o, data, name, control, net.RWTM)
            before = (curve[GOOD_TO_MS] - curve[0.0]) / GOOD_TO_MS
            behind = (curve[LAST_MS] - curve[GOOD_TO_MS]) / (LAST_MS - GOOD_TO_MS)
            label = f"{name}, {control}: slope behind {GOOD_TO_MS:g} ms − before"
            found.append(accept("bend", label, behind - before))
    return found


@claims.measure("c72")
def _illinois_safer(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "less",
            f"{name}, RWTM, from {SPLIT_MS:g} ms: CUBIC − Illinois",
            _part(_curve(o, data, name, net.CUBIC, net.RWTM), SPLIT_MS)
            - _part(_curve(o, data, name, net.ILLINOIS, net.RWTM), SPLIT_MS),
        )
        for name in QUALITY
    ]


@claims.measure("c73")
def _shaping_suffers(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name in QUALITY:
        rise = {}
        for control in net.GOOD:
            curve = _curve(o, data, name, control, net.HTBM)
            quiet, loud = _part(curve, hi=HURT_ABOVE_MS), _part(curve, lo=HURT_ABOVE_MS + 1)
            found.append(accept("rise", f"{name}, {control}: above 14 ms over below", loud / float(np.nanmean(quiet))))
            rise[control] = loud - quiet
        label = f"{name}: rise with Illinois − with CUBIC"
        found.append(accept("more", label, rise[net.ILLINOIS] - rise[net.CUBIC]))
    return found


@claims.measure("c74")
def _cubic_level(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name in ("IS", "IF"):
        curve = _curve(o, data, name, net.CUBIC, net.HTBM)
        behind = {at: values for at, values in curve.items() if at >= LEVEL_FROM_MS}
        centred = np.array(list(behind)) - np.mean(list(behind))
        slope = centred @ np.array(list(behind.values())) / float(centred @ centred)
        level = float(np.nanmean(_part(curve, lo=LEVEL_FROM_MS)))
        found.append(accept("change", f"{name}: change along the line over its level", slope * np.ptp(centred) / level))
    return found


@claims.measure("c75")
def _alike(data: Data, accept: Accept, o: Options) -> list[Check]:
    tuned, shaped = (
        {control: _curve(o, data, "CNG", control, method) for control in net.GOOD} for method in (net.RWTM, net.HTBM)
    )
    low = [(f"{control}, {at:g} ms", values) for control, curve in tuned.items() for at, values in curve.items()]
    alike = [(f"{at:g} ms", tuned[net.CUBIC][at] - tuned[net.ILLINOIS][at]) for at in tuned[net.CUBIC]]
    close = [
        (f"{at:g} ms", shaped[net.CUBIC][at] / float(np.nanmean(shaped[net.ILLINOIS][at]))) for at in shaped[net.CUBIC]
    ]
    return [
        most(accept, "low", "RWTM: points at which CNG is low", low),
        most(accept, "alike", "RWTM: points at which CUBIC and Illinois are alike", alike),
        most(accept, "close", "HTBM: points at which CUBIC over Illinois is near 1", close),
    ]


@claims.measure("c76")
def _explodes(data: Data, accept: Accept, o: Options) -> list[Check]:
    curve = _curve(o, data, "fr", net.ILLINOIS, net.HTBM)
    quiet, loud = _part(curve, hi=HURT_ABOVE_MS), _part(curve, lo=LEVEL_FROM_MS)
    one, two = (_curve(o, data, "fr", control, net.RWTM) for control in net.GOOD)
    ratios = [(f"{at:g} ms", one[at] / float(np.nanmean(two[at]))) for at in one]
    return [
        accept("explodes", "fr, Illinois with HTBM: from 21 ms over up to 14 ms", loud / float(np.nanmean(quiet))),
        most(accept, "alike", "fr, RWTM: points at which CUBIC over Illinois is near 1", ratios),
    ]
