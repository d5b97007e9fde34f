"""Claims c77 to c89 and c95: video."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow import kit, qoe
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, Measure, Spot, quotient, select, short

from .. import measures
from .. import network as net
from ..claims import claims
from ..forms import rank_over_r, ranks_agree
from ..measures import ON, words
from . import measures as here

VERY_GOOD = 14.99
"""Filling rates up to here are below 15."""
FINISHED_BELOW = 10.0
LOW, MIDDLE = 5.0, 15.0
FREE, LEDBAT = "CUBIC, no policing", "LEDBAT, no policing"


def _at(data: Data, case: str, experiment: str = "fig21") -> Spot:
    """Runs of a case: one without policing by its words, or a filling rate."""
    lab = Lab(data[f"conex-{experiment}"])
    if case in (FREE, LEDBAT):
        return lab.at(control=net.CUBIC if case == FREE else net.LEDBAT, policing=net.NONE)
    return lab.at(control=net.CUBIC, policing=ON, r=float(case))


def _rates(data: Data, hi: float = np.inf) -> list[float]:
    return select(Lab(data["conex-fig22"]).grid("r", policing=ON), hi=hi)


def _over_r(data: Data, measure: Measure, hi: float = np.inf) -> tuple[list[float], Floats]:
    rates = _rates(data, hi)
    return rates, np.array([_at(data, str(r), "fig22").of(measure) for r in rates])


# --- Figure 21 ------------------------------------------------------------------------------------------------------


@claims.measure("c77")
def _equal_alone(data: Data, accept: Accept) -> list[Check]:
    spot = _at(data, FREE)
    return [
        accept("rate", "a heavy user, 20 to 100 s", spot.of(partial(here.heavy, here.SETTLED))),
        accept("index", "Jain's index", spot.of(partial(here.fairness, here.SETTLED))),
    ]


@claims.measure("c78")
def _four_fifths(data: Data, accept: Accept) -> list[Check]:
    share = _at(data, FREE).of(partial(here.heavy_share, here.SECOND_SETTLED))
    return [accept("share", "heavy users, 220 to 500 s", share)]


@claims.measure("c79")
def _not_in_time(data: Data, accept: Accept) -> list[Check]:
    spot = _at(data, FREE)
    videos = spot.of(partial(here.finished, here.IN_TIME_S)) * net.VIDEO_LIGHT_USERS / 100
    third, first = (spot.of(partial(here.heavy, part)) for part in (here.THIRD, here.FIRST))
    return [
        accept("finished", "videos over at 500 s", videos),
        accept("ratio", "a heavy user, third period over first", quotient(third, first)),
    ]


@claims.measure("c84")
def _divides(data: Data, accept: Accept) -> list[Check]:
    found = []
    cases = [(words(r=LOW), str(LOW)), (words(r=MIDDLE), str(MIDDLE)), ("no policing", FREE)]
    for name, of in (("heavy", here.heavy), ("light", here.light)):
        items = [(f"{name}, {label}", _at(data, case).of(partial(of, here.SECOND))) for label, case in cases]
        found += kit.order(accept, name, items)
    return found


def _in_time(data: Data, accept: Accept, by_s: float) -> list[Check]:
    rates, shares = _over_r(data, partial(here.finished, by_s), FINISHED_BELOW)
    found = [accept("finished", f"{words(r=r)}: over at {by_s:g} s", row) for r, row in zip(rates, shares, strict=True)]
    spot = _at(data, str(LOW))
    third, second = (spot.of(partial(here.heavy, part)) for part in (here.THIRD, here.WATCHING))
    return [*found, accept("faster", f"{words(r=LOW)}: a heavy user, third period − second", third - second)]


@claims.measure("c85")
def _finish_in_time(data: Data, accept: Accept) -> list[Check]:
    return _in_time(data, accept, here.IN_TIME_S)


@claims.measure("c85", reading="wider")
def _finish_almost_in_time(data: Data, accept: Accept) -> list[Check]:
    return _in_time(data, accept, here.AND_STARTUP_S)


@claims.measure("c86")
def _ledbat_gives_way(data: Data, accept: Accept) -> list[Check]:
    spot = _at(data, LEDBAT)
    during, before = (spot.of(partial(here.heavy, part)) for part in (here.ASKING, here.BEFORE))
    good = _at(data, LEDBAT, "fig22").of(here.quality)
    return [
        accept("ratio", "a heavy user, 200–300 s over 50–100 s", quotient(during, before)),
        accept("qoe", "mean QoE", good),
        accept("difference", f"mean QoE − CUBIC, {words(r=LOW)}", good - _at(data, str(LOW), "fig22").of(here.quality)),
    ]


@claims.measure("c87")
def _ledbat_returns(data: Data, accept: Accept) -> list[Check]:
    spot = _at(data, LEDBAT)
    third, before = (spot.of(partial(here.heavy, part)) for part in (here.THIRD, here.BEFORE))
    return [accept("ratio", "a heavy user, 500–600 s over 50–100 s", quotient(third, before))]


@claims.note("c84")
def _same_bytes_note(data: Data, judgement: Judgement) -> str:
    def over(case: str) -> str:
        return short(_at(data, case).of(partial(here.light, here.ASKED)))

    def watching(case: str) -> str:
        return short(_at(data, case).of(partial(here.light, here.SECOND)))

    return (
        f"A video is as many bytes at any rate. At r = {LOW:g} light users have {over(str(LOW))} Mbit/s while they ask "
        f"for videos, from 100 to 200 s, and {watching(str(LOW))} afterwards, for most are over early; at r = "
        f"{MIDDLE:g} {over(str(MIDDLE))} and {watching(str(MIDDLE))}."
    )


# --- Figure 22 ------------------------------------------------------------------------------------------------------


@claims.measure("c80")
def _lowest(data: Data, accept: Accept) -> list[Check]:
    return [accept("qoe", FREE, _at(data, FREE, "fig22").of(here.quality))]


@claims.measure("c81")
def _many_long_stalls(data: Data, accept: Accept) -> list[Check]:
    spot = _at(data, FREE, "fig22")
    return [
        accept("stalls", "stalls per user", spot.of(here.stalls)),
        accept("duration", "duration of a stall", spot.of(here.stall_s)),
    ]


@claims.note("c81")
def _fair_share_note(data: Data, judgement: Judgement) -> str:
    flows = net.HEAVY_USERS * net.VIDEO_HEAVY_FLOWS + net.VIDEO_LIGHT_USERS
    lengths = _at(data, FREE, "fig22").of(here.stall_s)
    if np.isnan(lengths).all():
        return f"{flows} flows share the link, and no video stalls."
    return (
        f"{flows} flows share the link: {net.CAPACITY_MBPS / flows:.2f} Mbit/s for a video of "
        f"{net.VIDEO_KBPS / 1e3:g}. The smaller a share, the longer a stall: {short(lengths)} s here. 10 s would need "
        "half of it, as with 45 flows a heavy user."
    )


@claims.note("c95")
def _fair_share_again_note(data: Data, judgement: Judgement) -> str:
    rates, lengths = _over_r(data, here.stall_s)
    said = [f"{short(row)} s at r = {r:g}" for r, row in zip(rates, lengths, strict=True) if not np.isnan(row).all()]
    return (
        f"Mean duration of a stall: {', '.join(said)}. Where heavy users are not policed any more it is that of the "
        "fair share at every r, and its order is chance."
    )


@claims.measure("c82")
def _better_with_less(data: Data, accept: Accept) -> list[Check]:
    return [
        rank_over_r(accept, name, label, *_over_r(data, of))
        for name, label, of in (("qoe", "QoE", here.quality), ("stalls", "stalls", here.stalls))
    ]


@claims.note("c82")
def _short_stalls_note(data: Data, judgement: Judgement) -> str:
    rates, counts = _over_r(data, here.stalls)
    _, lengths = _over_r(data, here.stall_s)
    most = int(np.argmax([np.mean(row) for row in counts]))
    return (
        f"Most stalls, {short(counts[most])} a video, are not at the highest r but at r = {rates[most]:g}, where one "
        f"lasts {short(lengths[most])} s; at r = {rates[-1]:g} there are {short(counts[-1])} of "
        f"{short(lengths[-1])} s. A video that stalls all the time has room for more of them the shorter they are. "
        "Where heavy users are not policed any more the order is chance."
    )


@claims.measure("c83")
def _very_good(data: Data, accept: Accept) -> list[Check]:
    rates, good = _over_r(data, here.quality, VERY_GOOD)
    return [accept("qoe", words(r=r), row) for r, row in zip(rates, good, strict=True)]


@claims.measure("c88")
def _no_tokens(data: Data, accept: Accept) -> list[Check]:
    ledbat, cubic = (_at(data, case, "fig22").of(measures.heavy_reports) for case in (LEDBAT, FREE))
    return [accept("ratio", "reports of a heavy user, LEDBAT over CUBIC", quotient(ledbat, cubic))]


@claims.measure("c89")
def _ends_of_the_scale(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("best", "no stall", float(qoe.hossfeld_2013(0, 0.0))),
        accept("worst", "a thousand stalls of 10 s", float(qoe.hossfeld_2013(1000, 10.0))),
    ]


@claims.measure("c95")
def _shorter_stalls(data: Data, accept: Accept) -> list[Check]:
    lengths = _over_r(data, here.stall_s)[1]
    found = []
    for run in lengths.T:
        known = run[~np.isnan(run)]
        found.append(ranks_agree(np.arange(known.size, dtype=np.float64), known) if known.size >= 3 else np.nan)
    return [accept("rank", "stall duration: rank correlation", np.array(found))]
