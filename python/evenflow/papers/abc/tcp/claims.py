"""Measures of claims c38 to c59: figures 4 and 5, a heavy TCP user with many flows against a light one.

Claim c37 is measured beside c15, which says the same of more runs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept, each, rank
from evenflow.lab import Floats

from .. import network as net
from ..claims import claims
from ..measures import Lab, Spot, queue, words
from ..notes import FEW, hosts, mean, means, sentences, span

F0_MOST = 20
"""The paper does not say how many flows figure 4 goes to; delays and utilisations quoted for its right end match 20."""


def _fig04(data: Data) -> Lab:
    return Lab(data["abc-fig04"])


def _fig05(data: Data) -> Lab:
    return Lab(data["abc-fig05"])


@claims.measure("c38")
def ratio_at_short_delay(data: Data, accept: Accept) -> list[Check]:
    """TR with ABC at 5 ms."""
    return _abc_ratio(data, accept, 5)


@claims.measure("c39")
def ratio_at_long_delay(data: Data, accept: Accept) -> list[Check]:
    """TR with ABC at 50 ms."""
    return _abc_ratio(data, accept, 50)


def _abc_ratio(data: Data, accept: Accept, delay: int) -> list[Check]:
    lab = _fig04(data)
    return [
        accept("ratio", f"{words(f0=f0, delay_ms=delay)}: TR", lab.at(scheme=net.ABC, f0=f0, delay_ms=delay).ratio)
        for f0 in lab.grid("f0", scheme=net.ABC, delay_ms=delay)
    ]


@claims.note("c39")
def contradiction_note(_: Data, judged: Judgement) -> str:
    """What the paper says about the curve, and what is found."""
    found = span(o.interval.mean for o in judged.outcomes)
    return (
        "The paper contradicts itself about this curve: at most 1.1 in section IV-C1, up to 1.5 in sections IV-H and "
        f"V-C. Here it lies at {found}."
    )


@claims.measure("c40")
def short_delay_fairer(data: Data, accept: Accept) -> list[Check]:
    """TR at 5 ms over TR at 50 ms, with ABC."""
    lab = _fig04(data)
    return [
        accept(
            "relative",
            f"{words(f0=f0)}: TR at 5 ms over TR at 50 ms",
            lab.at(scheme=net.ABC, f0=f0, delay_ms=5).ratio / lab.at(scheme=net.ABC, f0=f0, delay_ms=50).ratio,
        )
        for f0 in lab.grid("f0", scheme=net.ABC)
        if f0 > 1
    ]


@claims.note("c40")
def slightly_note(data: Data, _: Judgement) -> str:
    """Lower, and by how much."""
    lab = _fig04(data)
    short, long = (
        [lab.at(scheme=net.ABC, f0=f0, delay_ms=delay).ratio for f0 in lab.grid("f0", scheme=net.ABC) if f0 > 1]
        for delay in (5, 50)
    )
    return (
        f"TR is lower at 5 ms, {means(short)} against {means(long)} at 50 ms, but by more than “slightly”, which is "
        f"read "
        "as up to 15 % for every paper. It is what the paper's own numbers of section V-C make it: close to 1.0 and up "
        "to 1.5."
    )


@claims.measure("c41")
def queue_by_delay(data: Data, accept: Accept) -> list[Check]:
    """Queue at 5 ms less that at 50 ms."""
    lab = _fig04(data)
    return [
        accept(
            "longer",
            f"{scheme}, {words(f0=f0)}: queue at 5 ms − at 50 ms",
            lab.at(scheme=scheme, f0=f0, delay_ms=5).queue - lab.at(scheme=scheme, f0=f0, delay_ms=50).queue,
        )
        for scheme in (net.NO_ABC, net.ABC)
        for f0 in lab.grid("f0", scheme=scheme)
    ]


@claims.note("c41")
def slip_note(_: Data, judged: Judgement) -> str:
    """Why the order is the other way round."""
    return (
        f"The queue is longer at 5 ms, by {span(o.interval.mean for o in judged.outcomes)} packets. Figures 9b and 12b "
        "of the paper show the order found here, so that the sentence is taken for a slip: with 5 ms the "
        "bandwidth-delay "
        "product is 8.5 packets, and a window of 24 packets or more stands in the queue; with 50 ms it is 84 packets, "
        "and the queue runs empty after losses."
    )


@claims.measure("c42")
def queue_grows(data: Data, accept: Accept) -> list[Check]:
    """Rank correlation of the queue with the number of flows."""
    lab = _fig04(data)
    return [
        rank(
            accept,
            "rank",
            f"{scheme}, {words(delay_ms=delay)}",
            *lab.curve("f0", queue, scheme=scheme, delay_ms=delay),
        )
        for scheme in (net.NO_ABC, net.ABC)
        for delay in lab.grid("delay_ms", scheme=scheme)
    ]


@claims.measure("c43")
def abc_queue_shorter(data: Data, accept: Accept) -> list[Check]:
    """Queue with ABC over that without."""
    lab = _fig04(data)
    return [
        accept(
            "relative",
            f"{words(f0=f0, delay_ms=delay)}: queue with ABC over without",
            lab.at(scheme=net.ABC, f0=f0, delay_ms=delay).queue
            / lab.at(scheme=net.NO_ABC, f0=f0, delay_ms=delay).queue,
        )
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=net.ABC, delay_ms=delay)
    ]


@claims.note("c43")
def queue_note(data: Data, judged: Judgement) -> str:
    """By how many packets."""
    lab = _fig04(data)
    saved = [
        lab.at(scheme=net.NO_ABC, f0=f0, delay_ms=delay).queue - lab.at(scheme=net.ABC, f0=f0, delay_ms=delay).queue
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=net.ABC, delay_ms=delay)
    ]
    outside = sum(not o.mean_inside for o in judged.outcomes)
    return (
        f"ABC's queue is shorter by {means(saved)} packets; {outside} of {len(judged.outcomes)} points lie outside "
        "the 15 % up to which “slightly” is read for every paper."
    )


@claims.measure("c44")
def full_use_at_short_delay(data: Data, accept: Accept) -> list[Check]:
    """Utilisation at 5 ms."""
    lab = _fig04(data)
    return [
        accept("utilisation", f"{scheme}, {words(f0=f0)}", lab.at(scheme=scheme, f0=f0, delay_ms=5).utilisation)
        for scheme in (net.NO_ABC, net.ABC)
        for f0 in lab.grid("f0", scheme=scheme, delay_ms=5)
    ]


@claims.measure("c45")
def use_at_long_delay(data: Data, accept: Accept) -> list[Check]:
    """Both ends of both curves of utilisation at 50 ms, and the rise between them."""
    lab = _fig04(data)
    found = []
    for scheme in (net.NO_ABC, net.ABC):
        one, many = (lab.at(scheme=scheme, f0=f0, delay_ms=50).utilisation for f0 in (1, F0_MOST))
        found.append(accept("start", f"{scheme}, {words(f0=1)}", one))
        found.append(accept("end", f"{scheme}, {words(f0=F0_MOST)}", many))
        found.append(accept("rise", f"{scheme}: from 1 to {F0_MOST} flows", many - one))
    return found


def _use_difference(lab: Lab, f0: float, delay: float) -> Floats:
    plain, abc = (lab.at(scheme=s, f0=f0, delay_ms=delay).utilisation for s in (net.NO_ABC, net.ABC))
    return abc - plain


def _use_elsewhere(lab: Lab, accept: Accept) -> list[Check]:
    return [
        accept(
            "elsewhere",
            f"{words(f0=f0, delay_ms=delay)}: utilisation with − without ABC",
            _use_difference(lab, f0, delay),
        )
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=net.ABC, delay_ms=delay)
        if (f0, delay) != (1, 50)
    ]


@claims.measure("c46")
def use_alike(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with ABC less that without: at one flow and 50 ms, and elsewhere."""
    lab = _fig04(data)
    exception = accept(
        "exception", f"{words(f0=1, delay_ms=50)}: utilisation with − without ABC", _use_difference(lab, 1, 50)
    )
    return [exception, *_use_elsewhere(lab, accept)]


@claims.measure("c46", reading="wider")
def use_alike_either_way(data: Data, accept: Accept) -> list[Check]:
    """The same, the exception in whichever direction: for each seed that of the other seeds' mean."""
    lab = _fig04(data)
    difference = _use_difference(lab, 1, 50)
    others = difference.sum() - difference
    label = f"{words(f0=1, delay_ms=50)}: utilisation with and without ABC apart"
    return [accept("apart", label, difference * np.sign(others)), *_use_elsewhere(lab, accept)]


@claims.note("c46")
def exception_note(data: Data, _: Judgement) -> str:
    """Which curve is lower at the exception."""
    lab = _fig04(data)
    plain, abc = (lab.at(scheme=s, f0=1, delay_ms=50).utilisation for s in (net.NO_ABC, net.ABC))
    return (
        f"At one flow and 50 ms the utilisation is {mean(abc)} with ABC and {mean(plain)} without. The sentence "
        "(“Although ABC causes shorter average queue lengths …”) means that it is lower with ABC there. The two curves "
        "are those of a lone light flow that loses a packet every few seconds: which is lower hangs on the TCP window "
        "and on what fills it (option `write`)."
    )


def _grows_with_priority(data: Data, accept: Accept, scheme: str) -> list[Check]:
    """TR with priority over TR without, both without ABC, at 50 ms."""
    priority, plain = Lab(data["abc-fig05n"]), _fig04(data)
    return [
        accept(
            "relative",
            f"{scheme.rpartition(', ')[2]}, {words(f0=f0)}: TR with over without priority",
            priority.at(scheme=scheme, f0=f0, delay_ms=50).ratio
            / plain.at(scheme=net.NO_ABC, f0=f0, delay_ms=50).ratio,
        )
        for f0 in priority.grid("f0", scheme=scheme, delay_ms=50)
    ]


claims.measure("c47")(partial(_grows_with_priority, scheme=net.NO_ABC_STRICT))
claims.measure("c47", reading="wider")(partial(_grows_with_priority, scheme=net.NO_ABC_MEDF))


@claims.note("c47")
def grows_note(data: Data, judged: Judgement) -> str:
    """How much steeper, and what random processing does to it."""
    found = span(o.interval.mean for o in judged.outcomes)
    medf = Lab(data["abc-fig05n"])
    plain = _fig04(data)
    others = [
        medf.at(scheme=net.NO_ABC_MEDF, f0=f0, delay_ms=50).ratio
        / plain.at(scheme=net.NO_ABC, f0=f0, delay_ms=50).ratio
        for f0 in medf.grid("f0", scheme=net.NO_ABC_MEDF, delay_ms=50)
    ]
    text = (
        "Under strict priority the light user's packets wait for all others, its round trip is longer and its share "
        f"smaller: TR with priority is {found} times TR without, and {means(others)} times under MEDF. The paper "
        "compares in words, without a figure and without naming the scheduler."
    )
    setting = "without ABC, strict priority, f0 = 2"
    at_once, slower = (hosts(data, setting, 50, how) for how in ("none", "1.2 ms"))
    artefact = ""
    if at_once is not None and slower is not None and len(slower.runs) >= FEW:
        artefact = (
            f"At 2 flows TR is {mean(at_once.ratio)}, and {mean(slower.ratio)} where hosts take a random time of up to "
            "1.2 ms a packet, so that flows fall out of step (abc-x-sensitivity)."
        )
    return sentences(text, artefact)


@claims.measure("c48")
def starved_by_priority(data: Data, accept: Accept) -> list[Check]:
    """T1 over T0 under strict priority: the inverse of TR, which stays finite where the light user gets nothing."""
    lab = Lab(data["abc-fig05n"])
    return [
        accept(
            "inverse",
            f"{words(f0=f0)}: mean T1 over mean T0",
            lab.at(scheme=net.NO_ABC_STRICT, f0=f0, delay_ms=5).inverse_ratio_of_means(),
        )
        for f0 in lab.grid("f0", scheme=net.NO_ABC_STRICT)
    ]


@claims.note("c48")
def starved_note(data: Data, _: Judgement) -> str:
    """What MEDF gives."""
    lab = Lab(data["abc-fig05n"])
    medf = [
        lab.at(scheme=net.NO_ABC_MEDF, f0=f0, delay_ms=5).ratio_of_means().mean
        for f0 in lab.grid("f0", scheme=net.NO_ABC_MEDF, delay_ms=5)
    ]
    return (
        "The scheduler is not named in the paper. Under MEDF the light user is served after at most the BE offset and "
        f"TR is {span(medf)} (ratio of means): see the deviation “Scheduler without ABC”."
    )


def _level_ratio(data: Data, accept: Accept, scheme: str) -> list[Check]:
    """TR at 5 ms for every number of flows."""
    lab = _fig05(data)
    return each(
        accept,
        "ratio",
        (
            (f"{words(f0=f0)}: TR", lab.at(scheme=scheme, f0=f0, delay_ms=5).ratio)
            for f0 in lab.grid("f0", scheme=scheme)
        ),
    )


claims.measure("c49")(partial(_level_ratio, scheme=net.EF1))
claims.measure("c51")(partial(_level_ratio, scheme=net.EF3))


@claims.note("c51")
def level_note(_: Data, judged: Judgement) -> str:
    """Where the curve lies."""
    return (
        f"TR is {span(o.interval.mean for o in judged.outcomes)} for the numbers of flows shown. Equal activities "
        f"would "
        "mean 1/3; the paper gives one number for the whole curve."
    )


def _from_to(data: Data, accept: Accept, scheme: str, delay: int, measure: str, names: str = "") -> list[Check]:
    """The two ends of a curve of figure 5, and that it rises between them."""
    lab = _fig05(data)
    first, last = (lab.at(scheme=scheme, f0=f0, delay_ms=delay) for f0 in (1, F0_MOST))
    a, b = getattr(first, measure), getattr(last, measure)
    return [
        accept(f"start{names}", f"{words(f0=1, delay_ms=delay)}", a),
        accept(f"end{names}", f"{words(f0=F0_MOST, delay_ms=delay)}", b),
        accept("rise", f"{words(delay_ms=delay)}: increase from 1 to {F0_MOST} flows", b - a),
    ]


claims.measure("c50")(partial(_from_to, scheme=net.EF1, delay=50, measure="ratio"))
claims.measure("c52")(partial(_from_to, scheme=net.EF3, delay=50, measure="ratio"))
claims.measure("c58")(partial(_from_to, scheme=net.EF1, delay=50, measure="utilisation"))


@claims.note("c50", "c52")
def ends_note(_: Data, judged: Judgement) -> str:
    """What the two ends are."""
    start, end = (o.interval.mean for o in judged.outcomes[:2])
    return (
        f"TR is {mean(start)} at one flow and {mean(end)} at {F0_MOST}. The paper does not say how many flows its "
        f"figure goes to; it ends at {F0_MOST} here, which fits the delays and utilisations that the paper quotes."
    )


@claims.measure("c53")
def accounting_lowers_ratio(data: Data, accept: Accept) -> list[Check]:
    """TR with EF bytes counted three times over that with once."""
    lab = _fig05(data)
    return [
        accept(
            "relative",
            f"{words(f0=f0, delay_ms=delay)}: TR at a_EF 3 over a_EF 1",
            lab.at(scheme=net.EF3, f0=f0, delay_ms=delay).ratio / lab.at(scheme=net.EF1, f0=f0, delay_ms=delay).ratio,
        )
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=net.EF1, delay_ms=delay)
    ]


def _ef_points(data: Data) -> list[tuple[str, Spot]]:
    lab = _fig05(data)
    return [
        (
            f"{scheme.rpartition(', ')[2]}, {words(f0=f0, delay_ms=delay)}",
            lab.at(scheme=scheme, f0=f0, delay_ms=delay),
        )
        for scheme in (net.EF1, net.EF3)
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=scheme, delay_ms=delay)
    ]


@claims.measure("c54")
def ef_wait_zero(data: Data, accept: Accept) -> list[Check]:
    """Mean wait of EF packets of TCP users."""
    return each(accept, "wait", ((label, spot.delay_ef) for label, spot in _ef_points(data)))


@claims.note("c54")
def ef_wait_note(data: Data, _: Judgement) -> str:
    """How long they wait, and why."""
    spots = [spot for _, spot in _ef_points(data)]
    return (
        "A saturated TCP sender fills whatever queue it is given: its EF packets meet no BE packet, but other EF "
        "packets "
        f"of its own flows, and wait {means(spot.delay_ef for spot in spots)} ms, which is "
        f"{means(spot.delay_ef / spot.delay_be for spot in spots)} of what BE packets wait. With UDP (Fig. 3c) they "
        "hardly wait."
    )


@claims.measure("c55")
def be_waits(data: Data, accept: Accept) -> list[Check]:
    """Ends and rise of the wait of BE at both delays, EF bytes counted once."""
    return [check for delay in (5, 50) for check in _from_to(data, accept, net.EF1, delay, "delay_be", f"_{delay}_ms")]


@claims.note("c55")
def be_waits_note(_: Data, __: Judgement) -> str:
    """What the wait depends on."""
    return "The BE wait grows with the BE offset of the scheduler: see the deviation “BE offset”."


@claims.measure("c56")
def be_waits_thrice(data: Data, accept: Accept) -> list[Check]:
    """The level at 5 ms, and ends and rise at 50 ms, EF bytes counted three times."""
    lab = _fig05(data)
    level = [
        accept("level_5_ms", words(f0=f0, delay_ms=5), lab.at(scheme=net.EF3, f0=f0, delay_ms=5).delay_be)
        for f0 in lab.grid("f0", scheme=net.EF3, delay_ms=5)
    ]
    return level + _from_to(data, accept, net.EF3, 50, "delay_be", "_50_ms")


@claims.measure("c57")
def full_use_with_priority(data: Data, accept: Accept) -> list[Check]:
    """Utilisation at 5 ms, and how much less it is with EF bytes counted three times."""
    lab = _fig05(data)
    level = [
        accept(
            "utilisation",
            f"{scheme.rpartition(', ')[2]}, {words(f0=f0)}",
            lab.at(scheme=scheme, f0=f0, delay_ms=5).utilisation,
        )
        for scheme in (net.EF1, net.EF3)
        for f0 in lab.grid("f0", scheme=scheme, delay_ms=5)
    ]
    return level + _use_at_three(lab, accept, 5)


def _use_at_three(lab: Lab, accept: Accept, delay: int) -> list[Check]:
    return [
        accept(
            "difference",
            f"{words(f0=f0)}: utilisation at a_EF 3 − at a_EF 1",
            lab.at(scheme=net.EF3, f0=f0, delay_ms=delay).utilisation
            - lab.at(scheme=net.EF1, f0=f0, delay_ms=delay).utilisation,
        )
        for f0 in lab.grid("f0", scheme=net.EF1, delay_ms=delay)
    ]


@claims.note("c57")
def full_use_note(data: Data, _: Judgement) -> str:
    """How small the difference is."""
    lab = _fig05(data)
    lost = [
        100 * (1 - lab.at(scheme=scheme, f0=f0, delay_ms=5).utilisation)
        for scheme in (net.EF1, net.EF3)
        for f0 in lab.grid("f0", scheme=scheme, delay_ms=5)
    ]
    return (
        f"At 5 ms the link is idle for {means(lost)} % of the time with either factor, a difference that no plot "
        f"shows; "
        "it is not a_EF = 3 that leaves more of it idle."
    )


@claims.measure("c59")
def accounting_lowers_use(data: Data, accept: Accept) -> list[Check]:
    """Utilisation at 50 ms with EF bytes counted three times, less that with once."""
    return _use_at_three(_fig05(data), accept, 50)
