"""Claims c01 to c18, c34 to c49 and c79 to c81: scenario 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, chosen_by_others, quotient, scaled, short

from .. import network as net
from ..claims import claims
from ..forms import OF, SHORT, combinations, most, row
from ..measures import ONE, QUALITY, TWO, cell, delay, of, spot, words
from ..published import TABLE_2, TABLE_3, TABLE_4

if TYPE_CHECKING:
    from ..choices import Options

EXPERIMENT = "table02"
CLIENTS = (ONE, TWO)


def _cell(o: Options, data: Data, name: str, control: str, method: str, client: int = ONE) -> Floats:
    return cell(o, data, EXPERIMENT, name, client, scenario=net.S1, control=control, method=method)


# --- Tables 2 to 4 --------------------------------------------------------------------------------------------------

_ROWS = {
    "c01": ("IS", net.NONE),
    "c02": ("IS", net.HTBM),
    "c03": ("IS", net.RWTM),
    "c04": ("IF", net.NONE),
    "c05": ("IF", net.HTBM),
    "c06": ("IF", net.RWTM),
    "c07": ("V", net.NONE),
    "c08": ("V", net.HTBM),
    "c09": ("V", net.RWTM),
    "c13": ("CNG", net.NONE),
    "c14": ("CNG", net.HTBM),
    "c15": ("CNG", net.RWTM),
    "c16": ("fr", net.NONE),
    "c17": ("fr", net.HTBM),
    "c18": ("fr", net.RWTM),
}
"""Rows of tables 2 and 4: client 1."""


def _measured(name: str, method: str) -> None:
    def measure(data: Data, accept: Accept, o: Options) -> list[Check]:
        return row(o, data, accept, name, method)

    claims.measure(next(key for key, value in _ROWS.items() if value == (name, method)))(measure)


for _name, _method in _ROWS.values():
    _measured(_name, _method)


def _second(data: Data, accept: Accept, o: Options, name: str) -> list[Check]:
    return [check for method in net.METHODS for check in row(o, data, accept, name, method, TWO, f"{SHORT[method]}_")]


@claims.measure("c10")
def _stable_second(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _second(data, accept, o, "IS")


@claims.measure("c11")
def _faithful_second(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _second(data, accept, o, "IF")


@claims.measure("c12")
def _fast_second(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _second(data, accept, o, "V")


# --- What the text says of them -------------------------------------------------------------------------------------


@claims.measure("c34")
def _dissimilar(data: Data, accept: Accept, o: Options) -> list[Check]:
    values = np.array([_cell(o, data, "IF", control, method) for control, method in combinations()])
    places = range(values.shape[0])
    highest, lowest = (chosen_by_others(values, places, lowest=low) for low in (False, True))
    return [accept("ratio", "highest infidelity over lowest", highest / float(np.nanmean(lowest)))]


def _gains(data: Data, o: Options) -> list[tuple[str, Floats]]:
    """How much better each shaped cell is than the same without shaping: 48."""
    return [
        (
            f"{name}, {words(client=client, control=control, method=method)}",
            _cell(o, data, name, control, net.NONE, client) - _cell(o, data, name, control, method, client),
        )
        for client in CLIENTS
        for name in QUALITY
        for control, method in combinations()
    ]


@claims.measure("c35")
def _improved(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [most(accept, "gain", "cells that shaping improves", _gains(data, o))]


@claims.measure("c36")
def _reduced(data: Data, accept: Accept, o: Options) -> list[Check]:
    cells = {"newreno": (net.NEWRENO, net.HTBM), "cubic": (net.CUBIC, net.RWTM)}
    found = []
    for name, (control, method) in cells.items():
        free, shaped = (_cell(o, data, "IS", control, it) for it in (net.NONE, method))
        ratio = free / float(np.nanmean(shaped))
        found.append(accept(name, f"IS without shaping over IS, {words(control=control, method=method)}", ratio))
    return found


@claims.measure("c36e")
def _reduced_as_printed(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("newreno", "4.95 / 1.89", TABLE_2["IS", net.NONE, net.NEWRENO] / TABLE_2["IS", net.HTBM, net.NEWRENO]),
        accept("cubic", "7.47 / 1.63", TABLE_2["IS", net.NONE, net.CUBIC] / TABLE_2["IS", net.RWTM, net.CUBIC]),
    ]


@claims.measure("c37")
def _tuning_beats_shaping(data: Data, accept: Accept, o: Options) -> list[Check]:
    points = [
        (
            f"{name}, {words(client=client, control=control)}",
            _cell(o, data, name, control, net.HTBM, client) - _cell(o, data, name, control, net.RWTM, client),
        )
        for client in CLIENTS
        for name in QUALITY
        for control in net.CONTROLS
    ]
    return [most(accept, "difference", "cells in which RWTM is better", points)]


def _second_better(data: Data, o: Options) -> list[tuple[str, Floats]]:
    return [
        (
            f"{name}, {words(control=control, method=method)}: client 1 − client 2",
            _cell(o, data, name, control, method, ONE) - _cell(o, data, name, control, method, TWO),
        )
        for name in QUALITY
        for control, method in combinations()
    ]


@claims.measure("c38")
def _always_better(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [accept("difference", label, values) for label, values in _second_better(data, o)]


@claims.measure("c38", reading="wider")
def _mostly_better(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [most(accept, "difference", "cells in which client 2 is better", _second_better(data, o))]


@claims.measure("c39")
def _gap(data: Data, accept: Accept, o: Options) -> list[Check]:
    points = []
    for name in QUALITY:
        for control in net.CONTROLS:
            gaps = []
            for client in CLIENTS:
                gap = _cell(o, data, name, control, net.RWTM, client) - _cell(o, data, name, control, net.HTBM, client)
                gaps.append(gap * np.sign(np.nanmean(gap)))
            points.append((f"{name}, {control}: gap of client 1 − gap of client 2", gaps[0] - gaps[1]))
    return [most(accept, "difference", "cells in which client 1's gap is larger", points)]


@claims.measure("c39e")
def _gap_as_printed(data: Data, accept: Accept) -> list[Check]:
    one, two = (table["IF", net.HTBM, net.CUBIC] - table["IF", net.RWTM, net.CUBIC] for table in (TABLE_2, TABLE_3))
    return [accept("one", "client 1: 20.45 − 5.02", one), accept("two", "client 2: 4.47 − 2.61", two)]


@claims.measure("c40")
def _no_better(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for control, method in combinations((net.NEWRENO, net.VEGAS)):
        where = words(control=control, method=method)
        found += [accept(OF[name], f"{name}, {where}", _cell(o, data, name, control, method)) for name in ("IF", "V")]
        gain = _cell(o, data, "IS", control, net.NONE) - _cell(o, data, "IS", control, method)
        found.append(accept("stable", f"IS without shaping − IS, {where}", gain))
    return found


def _over(o: Options, data: Data, name: str, method: str, top: str, bottom: str) -> Floats:
    """A measure with one control over the mean of that with another."""
    return _cell(o, data, name, top, method) / float(np.nanmean(_cell(o, data, name, bottom, method)))


@claims.measure("c41")
def _illinois_shaped(data: Data, accept: Accept, o: Options) -> list[Check]:
    cubic, illinois = (_cell(o, data, "IF", control, net.HTBM) for control in (net.CUBIC, net.ILLINOIS))
    stable = _cell(o, data, "IS", net.CUBIC, net.HTBM) - _cell(o, data, "IS", net.ILLINOIS, net.HTBM)
    faster = _over(o, data, "V", net.HTBM, net.CUBIC, net.ILLINOIS)
    return [
        accept("stable", "IS, CUBIC − Illinois", stable),
        accept("faithful", "100 − IF, Illinois over CUBIC", (100 - illinois) / float(np.nanmean(100 - cubic))),
        accept("faster", "V, CUBIC over Illinois", faster),
    ]


@claims.measure("c41e")
def _illinois_as_printed(data: Data, accept: Accept) -> list[Check]:
    cubic, illinois = (TABLE_2["IF", net.HTBM, control] for control in (net.CUBIC, net.ILLINOIS))
    faster = TABLE_2["V", net.HTBM, net.CUBIC] / TABLE_2["V", net.HTBM, net.ILLINOIS]
    return [
        accept("faithful", "92.25 / 79.55", (100 - illinois) / (100 - cubic)),
        accept("faster", "52.06 / 21.10", faster),
    ]


@claims.measure("c42")
def _cubic_tuned(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = [
        accept("better", f"{name}, CUBIC over Illinois", _over(o, data, name, net.RWTM, net.CUBIC, net.ILLINOIS))
        for name in ("IS", "IF")
    ]
    faster = _over(o, data, "V", net.RWTM, net.ILLINOIS, net.CUBIC)
    return [*found, accept("faster", "V, Illinois over CUBIC", faster)]


@claims.measure("c43")
def _negligible(data: Data, accept: Accept, o: Options) -> list[Check]:
    times = {control: 3.0 if control == net.VEGAS else 20.0 for control in net.CONTROLS}
    return [
        accept(
            "more",
            f"{control}: CNG, HTBM − {factor:g} × RWTM",
            _cell(o, data, "CNG", control, net.HTBM) - factor * _cell(o, data, "CNG", control, net.RWTM),
        )
        for control, factor in times.items()
    ]


@claims.measure("c44")
def _most_of_all(data: Data, accept: Accept, o: Options) -> list[Check]:
    mine = _cell(o, data, "CNG", net.CUBIC, net.HTBM)
    return [
        accept("more", f"CNG, HTBM: CUBIC − 3 × {control}", mine - 3 * _cell(o, data, "CNG", control, net.HTBM))
        for control in (net.NEWRENO, net.VEGAS, net.ILLINOIS)
    ]


@claims.measure("c45")
def _fewer_off(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            "less",
            f"fr, {control}: {'without shaping' if method == net.NONE else method} − HTBM",
            _cell(o, data, "fr", control, method) - _cell(o, data, "fr", control, net.HTBM),
        )
        for method in (net.RWTM, net.NONE)
        for control in net.CONTROLS
    ]


def _delays(data: Data, accept: Accept, o: Options, method: str) -> list[Check]:
    def wait(control: str) -> Floats:
        found = spot(o, data, EXPERIMENT, scenario=net.S1, control=control, method=method)
        return found.of(lambda run: delay(o, ONE, run))

    return [accept("delay", words(control=control, method=method), wait(control)) for control in net.CONTROLS]


@claims.measure("c46")
def _hundred_ms(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _delays(data, accept, o, net.HTBM)


@claims.measure("c47")
def _no_delay(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _delays(data, accept, o, net.RWTM)


@claims.measure("c48")
def _floor(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = [
        accept("reached", f"fr, {words(control=control)}", _cell(o, data, "fr", control, net.RWTM))
        for control in (net.ILLINOIS, net.CUBIC)
    ]
    more = [
        accept("floor", f"fr, {words(control=control)}", _cell(o, data, "fr", control, net.RWTM))
        for control in (net.NEWRENO, net.VEGAS)
    ]
    return found + more


@claims.measure("c48e")
def _every_so_many(data: Data, accept: Accept) -> list[Check]:
    return [accept("chunks", "1 / 0.24", 1 / TABLE_4["fr", net.RWTM, net.CUBIC])]


@claims.measure("c49")
def _better_with_fewer(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for name in ("IF", "fr"):
        illinois, cubic = (_cell(o, data, name, control, net.HTBM) for control in (net.ILLINOIS, net.CUBIC))
        found.append(accept("step", f"{name}: CUBIC − Illinois", cubic - illinois))
        found += [
            accept("step", f"{name}: {control} − CUBIC", _cell(o, data, name, control, net.HTBM) - cubic)
            for control in (net.NEWRENO, net.VEGAS)
        ]
    return found


# --- Arithmetic, and figure 3's statement about table 2 -------------------------------------------------------------


@claims.measure("c79")
def _one_at_the_top(data: Data, accept: Accept) -> list[Check]:
    top, second = (net.share_mbps(level) for level in (net.TOP, net.SECOND))
    return [
        accept("short", "two videos of level 4 − the line", 2 * net.LADDER_KBPS[net.TOP] / 1e3 - net.LINE_MBPS),
        accept("fits", "the line − levels 4 and 3 with 10 %", net.LINE_MBPS - top - second),
    ]


@claims.measure("c80")
def _a_fifth_more(data: Data, accept: Accept) -> list[Check]:
    return [accept("most", "1 + σ R/B at R = B", 1 + net.SIGMA * 1.0)]


@claims.measure("c81")
def _well_chosen(data: Data, accept: Accept, o: Options) -> list[Check]:
    chosen = Lab(data["has_shaping-fig03"]).at(threshold=float(net.MIXED[1]))
    return [
        accept(
            "ratio",
            f"{name}, NewReno from 69 segments over Illinois",
            quotient(
                chosen.of(of(o, name)),
                np.full(len(chosen.runs), np.nanmean(_cell(o, data, name, net.ILLINOIS, net.RWTM))),
            ),
        )
        for name in QUALITY
    ]


# --- Notes ----------------------------------------------------------------------------------------------------------


def _mixed(data: Data, o: Options, name: str) -> str:
    """What NewReno with RWTM has if 43 of 100 runs begin at 27 segments and the others at 69."""
    low, high = (Lab(data["has_shaping-fig03"]).at(threshold=float(segments)) for segments in net.MIXED)
    values = [float(np.nanmean(found.of(of(o, name)))) for found in (low, high)]
    mixed = net.MIXED_SHARE * values[0] + (1 - net.MIXED_SHARE) * values[1]
    return f"{name} {short(values[0])} from 27 segments, {short(values[1])} from 69, {short(mixed)} in the mixture"


@claims.note("c03", "c06", "c09", "c52")
def _thresholds_note(data: Data, judgement: Judgement, o: Options) -> str:
    said = "; ".join(_mixed(data, o, name) for name in ("IS", "IF", "V"))
    return (
        "With an unbounded first threshold NewReno behind RWTM never leaves slow start by a loss, and is what "
        f"Illinois is. With the thresholds of figure 3, in 43 and 57 of 100 runs (which is no reading): {said}."
    )


def _logged(data: Data, o: Options, method: str) -> str:
    rates = ", ".join(f"{control} {short(_cell(o, data, 'CNG_probed', control, method))}" for control in net.CONTROLS)
    return (
        "In a log of tcp_probe, where the threshold is three quarters of the window at least, there are in 100 "
        f"s so many falls: {rates}. One fall a chunk would be 50."
    )


@claims.note("c13")
def _logged_unshaped_note(data: Data, judgement: Judgement, o: Options) -> str:
    return _logged(data, o, net.NONE)


@claims.note("c14")
def _logged_shaped_note(data: Data, judgement: Judgement, o: Options) -> str:
    return _logged(data, o, net.HTBM)


@claims.note("c18", "c48")
def _tuned_note(data: Data, judgement: Judgement, o: Options) -> str:
    found = spot(o, data, EXPERIMENT, scenario=net.S1, control=net.ILLINOIS, method=net.RWTM)
    told = short(found.of(lambda run: scaled(run.json["stages"][net.TUNER]["target_window"], 1 / net.MSS_BYTES)))
    return (
        f"The window told last is {told} segments on average. A chunk of level 4 then takes nearly all of its "
        f"time, and what "
        "is left is rarely longer than the timeout."
    )
