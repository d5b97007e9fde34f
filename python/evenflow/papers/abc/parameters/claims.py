"""Measures of claims c79 to c93: figures 8 to 10, reference rates and the parameters of the AQM."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, chosen_by_others, plain, select

from .. import network as net
from ..beyond.runs import SENSITIVITY_WINDOW
from ..claims import claims
from ..measures import Lab, queue, ratio, tail_share, words
from ..notes import FEW, mean, means, sentences, span

CHOSEN = {"gamma": 16.0, "q_min": 12.0}
"""What the paper settles on (section IV-F1)."""
PAPER_Q_MINS = (3.0, 6.0, 12.0)
"""Figure 9's; our 18 is extra and no claim covers it."""


# --- Figure 8 -------------------------------------------------------------------------------------------------------


@claims.measure("c79")
def scaled_shares(data: Data, accept: Accept) -> list[Check]:
    """TR over s at 5 ms."""
    lab = Lab(data["abc-fig08"])
    return [
        accept("relative", f"{words(s=s, flows=flows)}: TR over s", lab.at(s=s, flows=flows, delay_ms=5).ratio / s)
        for flows in lab.grid("flows")
        for s in lab.grid("s", flows=flows, delay_ms=5)
    ]


@claims.note("c79")
def scaled_note(_: Data, judged: Judgement) -> str:
    """The points that miss, and how their runs fall."""
    missed = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(
        f"{o.check.label.partition(':')[0]} ({span(o.check.runs)} in single runs)"
        for o in missed
        if o.check.runs is not None and len(o.check.runs) >= FEW
    )
    return sentences(
        f"{len(missed)} of {len(judged.outcomes)} points miss: {said}." if said else "",
        "Two flows of hosts that answer at once fall into step or not.",
    )


def _share_at_sixteen(data: Data, accept: Accept, flows: int) -> list[Check]:
    """TR at s = 16 and 50 ms."""
    lab = Lab(data["abc-fig08"])
    return [accept("ratio", words(s=16, flows=flows, delay_ms=50), lab.at(s=16, flows=flows, delay_ms=50).ratio)]


claims.measure("c80")(partial(_share_at_sixteen, flows=1))
claims.measure("c81")(partial(_share_at_sixteen, flows=2))


def _window_note(data: Data, _: Judgement, flows: int) -> str:
    """TR over the TCP window, from the runs shown."""
    found = Lab(data["abc-fig08"]).at(s=16, flows=flows, delay_ms=50).ratio
    text = f"TR is {mean(found)} with ns-3.26's window of 131072 B."
    if flows == 1:
        text += " The heavy flow just touches Q_base with it, loses a packet and recovers slowly."
    table = data.get("abc-x-sensitivity")
    if table is None:
        return text
    lab = Lab(table)
    windows = [
        (str(labels["how"]), spot)
        for labels, spot in lab.points()
        if labels["what"] == SENSITIVITY_WINDOW and labels["setting"] == f"figure 8, s = 16, flows: {flows}"
    ]
    others = [f"{mean(spot.ratio)} with {how}" for how, spot in windows if how != "131072 B"]
    return sentences(text, f"It is {', '.join(others)} (abc-x-sensitivity)." if others else "")


claims.note("c80")(partial(_window_note, flows=1))
claims.note("c81")(partial(_window_note, flows=2))


@claims.measure("c82")
def more_flows_closer(data: Data, accept: Accept) -> list[Check]:
    """Distances of TR to s with one flow and with two, and TR at 5 ms against 50 ms."""
    lab = Lab(data["abc-fig08"])
    found = []
    for s in (8.0, 16.0):
        one, two = (lab.at(s=s, flows=flows, delay_ms=50).ratio for flows in (1, 2))
        label = f"{words(s=s)}: distance to s with one flow − with two"
        found.append(accept("closer", label, np.abs(s - one) - np.abs(s - two)))
        for flows, long in ((1, one), (2, two)):
            short = lab.at(s=s, flows=flows, delay_ms=5).ratio
            found.append(accept("lower", f"{words(s=s, flows=flows)}: TR at 5 ms − at 50 ms", short - long))
    return found


# --- Figure 9 -------------------------------------------------------------------------------------------------------


def _fig09(data: Data) -> Lab:
    return Lab(data["abc-fig09"])


def _q_mins(lab: Lab) -> list[float]:
    return [q for q in lab.grid("q_min") if q in PAPER_Q_MINS]


@claims.measure("c83")
def ratio_at_gamma_one(data: Data, accept: Accept) -> list[Check]:
    """TR with γ = 1."""
    lab = _fig09(data)
    return [
        accept(
            "ratio",
            f"{words(gamma=1, q_min=q_min, delay_ms=delay)}: TR",
            lab.at(scheme=net.ABC, gamma=1, q_min=q_min, delay_ms=delay).ratio,
        )
        for delay in lab.grid("delay_ms")
        for q_min in _q_mins(lab)
    ]


@claims.note("c83")
def gamma_one_note(data: Data, _: Judgement) -> str:
    """The six curves."""
    lab = _fig09(data)
    found = [
        means(lab.at(scheme=net.ABC, gamma=1, q_min=q_min, delay_ms=delay).ratio for q_min in _q_mins(lab))
        for delay in (5, 50)
    ]
    return (
        f"The paper gives one number for six curves. TR is {found[0]} at 5 ms and {found[1]} at 50 ms, whatever Q_min: "
        "on either side of the paper's number, in the order that the paper describes."
    )


@claims.measure("c84")
def ratio_at_larger_gamma(data: Data, accept: Accept) -> list[Check]:
    """TR with larger γ."""
    lab = _fig09(data)
    return [
        accept(
            "ratio",
            f"{words(gamma=gamma, delay_ms=delay)}: TR",
            lab.at(scheme=net.ABC, gamma=gamma, q_min=12, delay_ms=delay).ratio,
        )
        for delay in lab.grid("delay_ms")
        for gamma in select(lab.grid("gamma", q_min=12), 8, 32)
    ]


@claims.measure("c85")
def ratio_rises_again(data: Data, accept: Accept) -> list[Check]:
    """TR with γ = 128 over that with γ = 16."""
    lab = _fig09(data)
    found = []
    for delay in lab.grid("delay_ms"):
        most, chosen = (lab.at(scheme=net.ABC, gamma=g, q_min=12, delay_ms=delay).ratio for g in (128, 16))
        found.append(accept("relative", f"{words(delay_ms=delay)}: TR at γ = 128 over γ = 16", most / chosen))
    return found


@claims.note("c85")
def rises_note(_: Data, judged: Judgement) -> str:
    """By how much."""
    found = ", ".join(f"{o.check.label.partition(':')[0]}: {mean(o.interval.mean)}" for o in judged.outcomes)
    return f"TR rises again, by a factor of {found}. “Slightly” is read as up to 15 % for every paper."


@claims.measure("c86")
def short_delay_fairer(data: Data, accept: Accept) -> list[Check]:
    """TR at 5 ms less that at 50 ms, for every γ and Q_min of the figure."""
    lab = _fig09(data)
    found = []
    for q_min in _q_mins(lab):
        for gamma in lab.grid("gamma", q_min=q_min):
            short, long = (lab.at(scheme=net.ABC, gamma=gamma, q_min=q_min, delay_ms=delay).ratio for delay in (5, 50))
            found.append(accept("lower", f"{words(gamma=gamma, q_min=q_min)}: TR at 5 ms − at 50 ms", short - long))
    return found


@claims.note("c86")
def fairer_note(_: Data, judged: Judgement) -> str:
    """Where the order is the other way round."""
    turned = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(o.check.label.partition(":")[0] for o in turned)
    return f"TR is not smaller at 5 ms at {len(turned)} of {len(judged.outcomes)} points: {said}." if turned else ""


@claims.measure("c87")
def q_min_hardly_matters(data: Data, accept: Accept) -> list[Check]:
    """TR and queue against those at Q_min = 12."""
    lab = _fig09(data)
    found = []
    for delay in lab.grid("delay_ms"):
        for gamma in select(lab.grid("gamma", q_min=12), hi=16):
            chosen = lab.at(scheme=net.ABC, gamma=gamma, q_min=12, delay_ms=delay)
            for q_min in _q_mins(lab):
                if q_min == 12:
                    continue
                other = lab.at(scheme=net.ABC, gamma=gamma, q_min=q_min, delay_ms=delay)
                label = words(gamma=gamma, delay_ms=delay)
                found.append(accept("ratio", f"{label}: TR at Q_min {q_min:g} − at 12", other.ratio - chosen.ratio))
                found.append(accept("queue", f"{label}: queue at Q_min {q_min:g} − at 12", other.queue - chosen.queue))
    return found


def _steps(accept: Accept, name: str, label: str, grid: list[float], curve: Floats) -> list[Check]:
    """Each step of a curve, paired by seed."""
    return [
        accept(name, f"{label}, step {plain(a)} → {plain(b)}", high - low)
        for (a, low), (b, high) in pairwise(zip(grid, curve, strict=True))
    ]


@claims.measure("c88")
def queue_falls_with_gamma(data: Data, accept: Accept) -> list[Check]:
    """Steps of the queue over γ, and the queue at 5 ms less that at 50 ms."""
    lab = _fig09(data)
    found = []
    for q_min in _q_mins(lab):
        for delay in lab.grid("delay_ms"):
            curve = lab.curve("gamma", queue, scheme=net.ABC, q_min=q_min, delay_ms=delay)
            found += _steps(accept, "step", f"queue, {words(q_min=q_min, delay_ms=delay)}", *curve)
        for gamma in lab.grid("gamma", q_min=q_min):
            short, long = (lab.at(scheme=net.ABC, gamma=gamma, q_min=q_min, delay_ms=delay).queue for delay in (5, 50))
            label = f"{words(gamma=gamma, q_min=q_min)}: queue at 5 ms − at 50 ms"
            found.append(accept("longer", label, short - long))
    return found


@claims.measure("c89")
def full_use(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with the chosen parameters, and without ABC."""
    lab = _fig09(data)
    return [
        accept("short", "ABC, 5 ms", lab.at(scheme=net.ABC, delay_ms=5, **CHOSEN).utilisation),
        accept("long", "ABC, 50 ms", lab.at(scheme=net.ABC, delay_ms=50, **CHOSEN).utilisation),
        accept("without", "no ABC, 50 ms", lab.at(scheme=net.NO_ABC, delay_ms=50).utilisation),
    ]


@claims.measure("c90")
def large_gamma_costs_use(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with γ = 128 over that with γ = 16, and its steps over Q_min."""
    lab = _fig09(data)
    found = []
    grid = _q_mins(lab)
    for q_min in grid:
        most, chosen = (lab.at(scheme=net.ABC, gamma=g, q_min=q_min, delay_ms=50).utilisation for g in (128, 16))
        found.append(accept("relative", f"{words(q_min=q_min)}: utilisation at γ = 128 over γ = 16", most / chosen))
    curve = np.array([lab.at(scheme=net.ABC, gamma=128, q_min=q_min, delay_ms=50).utilisation for q_min in grid])
    return found + _steps(accept, "step", "utilisation at γ = 128 over Q_min", grid, curve)


# --- Figure 10 ------------------------------------------------------------------------------------------------------


def _fig10(data: Data) -> Lab:
    return Lab(data["abc-fig10"])


@claims.measure("c91")
def q_base_hardly_matters(data: Data, accept: Accept) -> list[Check]:
    """The spread of TR over Q_base below the buffer's size, and what 24 does."""
    lab = _fig10(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("q_base", ratio, gamma=16, delay_ms=delay)
        places = [k for k, q_base in enumerate(grid) if 16 <= q_base <= 22]
        spread = chosen_by_others(curve, places) - chosen_by_others(curve, places, lowest=True)
        label = f"{words(gamma=16, delay_ms=delay)}: largest − smallest TR, Q_base 16 to 22"
        found.append(accept("spread", label, spread))
        for gamma in lab.grid("gamma"):
            chosen = lab.at(gamma=gamma, q_base=20, delay_ms=delay).ratio
            for q_base in select(lab.grid("q_base", gamma=gamma, delay_ms=delay), 16, 22):
                if q_base != 20:
                    other = lab.at(gamma=gamma, q_base=q_base, delay_ms=delay).ratio
                    label = f"{words(gamma=gamma, q_base=q_base, delay_ms=delay)}: TR over that at 20"
                    found.append(accept("level", label, other / chosen))
            full, below = (lab.at(gamma=gamma, q_base=q, delay_ms=delay).ratio for q in (24, 22))
            label = f"{words(gamma=gamma, delay_ms=delay)}: TR at Q_base 24 over 22"
            found.append(accept("full" if gamma <= 4 else "full_large_gamma", label, full / below))
    return found


@claims.note("c91")
def q_base_note(_: Data, judged: Judgement) -> str:
    """The points that miss."""
    missed = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(f"{o.check.label} {mean(o.interval.mean)}" for o in missed[:4])
    more = f"; and {len(missed) - 4} more" if len(missed) > 4 else ""
    return f"{len(missed)} of {len(judged.outcomes)} points miss: {said}{more}." if missed else ""


@claims.measure("c92")
def queue_grows_with_q_base(data: Data, accept: Accept) -> list[Check]:
    """Steps of the queue over Q_base, and the whole increase."""
    lab = _fig10(data)
    found = []
    for gamma in lab.grid("gamma"):
        for delay in lab.grid("delay_ms"):
            grid, curve = lab.curve("q_base", queue, gamma=gamma, delay_ms=delay)
            where = words(gamma=gamma, delay_ms=delay)
            found += _steps(accept, "step", f"queue, {where}", grid, curve)
            found.append(
                accept("whole", f"{where}: queue at Q_base {grid[-1]:g} over {grid[0]:g}", curve[-1] / curve[0])
            )
    return found


@claims.measure("c93")
def tail_drops(data: Data, accept: Accept) -> list[Check]:
    """Share of drops that a full buffer caused, for every γ and Q_base of the figure."""
    lab = _fig10(data)
    found = []
    for gamma in lab.grid("gamma"):
        for delay in lab.grid("delay_ms"):
            for q_base in lab.grid("q_base", gamma=gamma, delay_ms=delay):
                share = lab.at(gamma=gamma, q_base=q_base, delay_ms=delay).of(tail_share)
                label = f"{words(gamma=gamma, q_base=q_base, delay_ms=delay)}: tail drops of all drops"
                if q_base <= 22:
                    found.append(accept("below", label, share))
                elif gamma <= 16:
                    found.append(accept("at_23" if q_base == 23 else "at_24", label, share))
    return found


@claims.note("c93")
def tail_note(data: Data, judged: Judgement) -> str:
    """The points that miss, and what 24 has."""
    missed = [o for o in judged.outcomes if not o.mean_inside]
    said = "; ".join(f"{o.check.label.partition(':')[0]} has {mean(100 * o.interval.mean)} %" for o in missed)
    lab = _fig10(data)
    full = [
        100 * lab.at(gamma=gamma, q_base=24, delay_ms=delay).of(tail_share)
        for gamma in select(lab.grid("gamma"), hi=16)
        for delay in lab.grid("delay_ms")
        if lab.has(gamma=gamma, q_base=24, delay_ms=delay)
    ]
    return sentences(
        f"{len(missed)} of {len(judged.outcomes)} points miss: {said} of tail drops." if missed else "",
        f"Q_base = 24 has {means(full)} %." if full else "",
    )
