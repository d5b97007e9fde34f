"""Measures of claims c110 to c127: figures 14 to 16, the fair activity meter, and CSFQ."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, chosen_by_others, linear_correlation, select

from .. import network as net
from ..claims import claims
from ..measures import Lab, drops, ratio, share_below, share_from, total_histogram, words
from ..notes import FEW, mean, sentences, span
from .runs import TOLD_RIGHT, TOLD_TOO_MUCH

LARGE_R0 = (15.0, 20.0)
"""Rates of user 0 at which its throughput has converged, Mbit/s."""


def _fig14(data: Data) -> Lab:
    return Lab(data["abc-fig14"])


def _fig15(data: Data) -> Lab:
    return Lab(data["abc-fig15"])


# --- Figure 14 ------------------------------------------------------------------------------------------------------


def _fair_converges(data: Data, accept: Accept, rates: tuple[float, ...]) -> list[Check]:
    """T0 with the fair meter at the largest rate of user 0."""
    lab = _fig14(data)
    return [
        accept("t0", f"{words(r0=20, r1=r1)}: T0", lab.at(panel="a", scheme=net.FAIR, r0=20, r1=r1).t0) for r1 in rates
    ]


claims.measure("c110")(partial(_fair_converges, rates=(5.0, 7.5)))
claims.measure("c111")(partial(_fair_converges, rates=(2.5,)))


@claims.note("c110")
def converges_note(data: Data, judged: Judgement) -> str:
    """What T0 is at the end, and up to which rate it is slightly above 5."""
    lab = _fig14(data)
    ends = " and ".join(mean(o.interval.mean) for o in judged.outcomes)
    fits = [
        r0
        for r0 in lab.grid("r0", panel="a", scheme=net.FAIR, r1=7.5)
        if all(
            5 < float(lab.at(panel="a", scheme=net.FAIR, r0=r0, r1=r1).t0.mean()) <= 5.75
            for r1 in (5.0, 7.5)
            if lab.has(panel="a", scheme=net.FAIR, r0=r0, r1=r1)
        )
    ]
    return sentences(
        f"At 20 Mbit/s T0 is {ends} Mbit/s. With the fair meter a packet's chance depends on its user's rate smoothly, "
        "so that a faster user keeps some advantage.",
        f"Of the rates shown, both curves are above 5 and at most 5.75 Mbit/s at R0 = {span(fits)} Mbit/s."
        if fits
        else "",
    )


@claims.note("c111")
def not_spared_note(_: Data, __: Judgement) -> str:
    """Why user 1 loses too."""
    return (
        "With the fair meter a user below its fair share is not spared entirely: some of its packets draw a high "
        "activity and are dropped in an overloaded queue."
    )


@claims.measure("c112")
def normal_gives_less(data: Data, accept: Accept) -> list[Check]:
    """T0 with the fair meter less that with the normal one."""
    lab = _fig14(data)
    return [
        accept(
            "more",
            f"{words(r0=r0, r1=r1)}: T0, fair − normal meter",
            lab.at(panel="a", scheme=net.FAIR, r0=r0, r1=r1).t0 - lab.at(panel="a", scheme=net.ABC, r0=r0, r1=r1).t0,
        )
        for r1 in (5.0, 7.5)
        for r0 in LARGE_R0
        if lab.has(panel="a", scheme=net.FAIR, r0=r0, r1=r1)
    ]


def _fair_ratio(data: Data, accept: Accept, panel: str, x: str, least: float) -> list[Check]:
    """TR with the fair meter, and less that with the normal one."""
    lab = _fig14(data)
    found = []
    for delay in lab.grid("delay_ms", panel=panel):
        for value in select(lab.grid(x, panel=panel, scheme=net.FAIR, delay_ms=delay), least):
            fair, normal = (
                lab.at(panel=panel, scheme=s, delay_ms=delay, **{x: value}).ratio for s in (net.FAIR, net.ABC)
            )
            label = words(**{x: value}, delay_ms=delay)
            found.append(accept("ratio", f"{label}: TR, fair meter", fair))
            found.append(accept("more", f"{label}: TR, fair − normal meter", fair - normal))
    return found


claims.measure("c113")(partial(_fair_ratio, panel="b", x="f0", least=2))
claims.measure("c114")(partial(_fair_ratio, panel="c", x="r0", least=7.5))


@claims.note("c114")
def trapped_note(data: Data, judged: Judgement) -> str:
    """Runs in which the TCP flow is trapped, and what traps it."""
    high = judged.outcomes[0].check.hi or 3.3
    lab = _fig14(data)
    trapped, runs, inside = set(), 0, []
    for delay in lab.grid("delay_ms", panel="c"):
        for r0 in select(lab.grid("r0", panel="c", scheme=net.FAIR, delay_ms=delay), 7.5):
            found = lab.at(panel="c", scheme=net.FAIR, r0=r0, delay_ms=delay).ratio
            runs = max(runs, len(found))
            trapped |= {(delay, seed) for seed, value in enumerate(found, 1) if value > 2 * high}
            inside.append(float(np.median(found)))
    if not trapped or runs < FEW:
        return ""
    where = ", ".join(f"seed {seed} at {delay:g} ms" for delay, seed in sorted(trapped))
    return (
        f"Medians are {span(inside)}. In {len(trapped)} of the runs ({where}) the TCP flow is trapped: it has met a "
        "timeout while still recovering from one; NewReno of ns-3.26 then leaves its window as it is, resends it whole "
        "at every timeout and loses much of it again, to the end of the run. That is the option `timeout_window_once`."
    )


# --- Figure 15 ------------------------------------------------------------------------------------------------------


def max_min_share(r0: float, r1: float, capacity: float = net.BOTTLENECK_MBPS) -> float:
    """User 0's max-min fair throughput in Mbit/s when the users offer ``r0`` and ``r1``."""
    return min(r0, max(capacity / 2, capacity - r1))


@claims.measure("c115")
def csfq_fair_for_udp(data: Data, accept: Accept) -> list[Check]:
    """T0 under CSFQ over its fair share, in overload."""
    lab = _fig15(data)
    return [
        accept(
            "relative",
            f"{words(r0=r0, r1=r1)}: T0 over the max-min share",
            lab.at(panel="a", scheme=net.CSFQ, r0=r0, r1=r1).t0 / max_min_share(r0, r1),
        )
        for r1 in lab.grid("r1", panel="a")
        for r0 in lab.grid("r0", panel="a", r1=r1)
        if r0 + r1 >= 12.5
    ]


@claims.measure("c116")
def csfq_between_meters(data: Data, accept: Accept) -> list[Check]:
    """T0 under the normal meter over that under CSFQ, and under the fair meter less it."""
    csfq, abc = _fig15(data), _fig14(data)
    found = []
    for r0 in LARGE_R0:
        if not csfq.has(panel="a", scheme=net.CSFQ, r0=r0, r1=7.5):
            continue
        middle = csfq.at(panel="a", scheme=net.CSFQ, r0=r0, r1=7.5).t0
        low, high = (abc.at(panel="a", scheme=s, r0=r0, r1=7.5).t0 for s in (net.ABC, net.FAIR))
        found.append(accept("relative", f"{words(r0=r0)}: T0, normal meter over CSFQ", low / middle))
        found.append(accept("more", f"{words(r0=r0)}: T0, fair meter − CSFQ", high - middle))
    return found


@claims.measure("c117")
def csfq_tcp_short(data: Data, accept: Accept) -> list[Check]:
    """TR of TCP users under CSFQ at 5 ms."""
    lab = _fig15(data)
    return [
        accept("ratio", words(f0=f0), lab.at(panel="b", scheme=net.CSFQ, f0=f0, delay_ms=5).ratio)
        for f0 in lab.grid("f0", panel="b", scheme=net.CSFQ, delay_ms=5)
        if f0 > 1
    ]


@claims.measure("c118")
def csfq_tcp_long(data: Data, accept: Accept) -> list[Check]:
    """TR of TCP users under CSFQ at 50 ms, both ends and the rise."""
    lab = _fig15(data)
    first, last = (lab.at(panel="b", scheme=net.CSFQ, f0=f0, delay_ms=50).ratio for f0 in (1, 20))
    return [
        accept("start", words(f0=1), first),
        accept("end", words(f0=20), last),
        accept("rise", "increase from 1 to 20 flows", last - first),
    ]


@claims.note("c118")
def csfq_end_note(_: Data, judged: Judgement) -> str:
    """The end, and what it depends on."""
    return (
        f"TR is {mean(judged.outcomes[1].interval.mean)} at 20 flows. The end depends on how many flows the figure "
        "goes to, which the paper does not say, and on CSFQ's threshold for a short queue (deviation “CSFQ form”)."
    )


@claims.measure("c119")
def abc_below_csfq(data: Data, accept: Accept) -> list[Check]:
    """TR under CSFQ less that under ABC."""
    csfq, abc = _fig15(data), Lab(data["abc-fig04"])
    return [
        accept(
            "more",
            f"{words(f0=f0, delay_ms=delay)}: TR, CSFQ − ABC",
            csfq.at(panel="b", scheme=net.CSFQ, f0=f0, delay_ms=delay).ratio
            - abc.at(scheme=net.ABC, f0=f0, delay_ms=delay).ratio,
        )
        for delay in csfq.grid("delay_ms", panel="b")
        for f0 in csfq.grid("f0", panel="b", scheme=net.CSFQ, delay_ms=delay)
        if f0 > 1
    ]


@claims.measure("c120")
def csfq_linear(data: Data, accept: Accept) -> list[Check]:
    """TR of a UDP and a TCP user under CSFQ at R0 = 5 Mbit/s, and how linear it is up to there."""
    lab = _fig15(data)
    found = []
    for delay in lab.grid("delay_ms", panel="c"):
        grid, curve = lab.curve("r0", ratio, panel="c", scheme=net.CSFQ, delay_ms=delay)
        upto = len(select(grid, hi=5))
        found.append(accept("at_5", f"{words(r0=5, delay_ms=delay)}: TR", curve[grid.index(5.0)]))
        correlation = linear_correlation(grid[:upto], curve[:upto])
        label = f"{words(delay_ms=delay)}: correlation of TR with R0 up to 5 Mbit/s"
        found.append(accept("correlation", label, correlation))
    return found


@claims.note("c120")
def csfq_linear_note(_: Data, judged: Judgement) -> str:
    """TR at both delays."""
    found = " and ".join(
        f"{mean(o.interval.mean)} at {o.check.label.partition('D_b = ')[2].partition(':')[0]}"
        for o in judged.outcomes
        if o.check.label.endswith(": TR")
    )
    return (
        f"At R0 = 5 Mbit/s TR is {found}. A single TCP flow behind a 24-packet buffer does not fill its half of the "
        "link over the long round trip, whatever the scheme."
    )


@claims.measure("c121")
def csfq_mixed_short(data: Data, accept: Accept) -> list[Check]:
    """TR of a UDP and a TCP user under CSFQ at 5 ms, for larger rates."""
    lab = _fig15(data)
    return [
        accept("ratio", words(r0=r0), lab.at(panel="c", scheme=net.CSFQ, r0=r0, delay_ms=5).ratio)
        for r0 in lab.grid("r0", panel="c", delay_ms=5)
        if r0 > 5
    ]


@claims.measure("c122")
def csfq_mixed_long(data: Data, accept: Accept) -> list[Check]:
    """T1 over T0 at 50 ms: the inverse of TR, which stays finite where the TCP flow gets nothing."""
    lab = _fig15(data)
    return [
        accept(
            "inverse",
            f"{words(r0=r0)}: mean T1 over mean T0",
            lab.at(panel="c", scheme=net.CSFQ, r0=r0, delay_ms=50).inverse_ratio_of_means(),
        )
        for r0 in select(lab.grid("r0", panel="c", delay_ms=50), 10)
    ]


# --- Figure 16 ------------------------------------------------------------------------------------------------------


def _fig16(data: Data) -> Lab:
    return Lab(data["abc-fig16"])


def _total_histogram(data: Data, scheme: str) -> Floats:
    return total_histogram(net.AT_DROP, _fig16(data).runs(scheme=scheme))


@claims.measure("c123")
def abc_drops_between(data: Data, accept: Accept) -> list[Check]:
    """Drops of ABC outside 12 to 23 waiting packets, and those by overflow."""
    counts = _total_histogram(data, net.ABC)
    overflow = sum(drops(run).get("limit", 0) for run in _fig16(data).runs(scheme=net.ABC))
    return [
        accept("drops", "drops at Q < 12", float(counts[:12].sum())),
        accept("drops", "drops at Q > 23", float(counts[24:].sum())),
        accept("drops", "drops by overflow", float(overflow)),
    ]


@claims.note("c123")
def one_drop_note(data: Data, _: Judgement) -> str:
    """How many of how many drops."""
    counts = _total_histogram(data, net.ABC)
    runs = len(_fig16(data).runs(scheme=net.ABC))
    return (
        f"{counts[24:].sum():.0f} of {counts.sum():.0f} drops in {runs} runs of ABC met a full buffer, and "
        f"{counts[:12].sum():.0f} a queue shorter than 12; a plot of shares cannot show so few."
    )


@claims.measure("c124")
def csfq_drops_early(data: Data, accept: Accept) -> list[Check]:
    """Shares of CSFQ's drops at empty and short queues."""
    spot = _fig16(data).at(scheme=net.CSFQ)
    return [
        accept("empty", "share of drops at Q = 0", spot.of(partial(share_below, net.AT_DROP, 1))),
        accept("short", "share of drops at Q < 12", spot.of(partial(share_below, net.AT_DROP, 12))),
    ]


@claims.measure("c125")
def csfq_overflows(data: Data, accept: Accept) -> list[Check]:
    """Share of CSFQ's drops at a full buffer."""
    share = _fig16(data).at(scheme=net.CSFQ).of(partial(share_from, net.AT_DROP, 24))
    return [accept("share", "share of drops at Q = 24", share)]


@claims.note("c125")
def csfq_form_note(_: Data, __: Judgement) -> str:
    """What the share depends on."""
    return (
        "Depends on the form of CSFQ and on its threshold for a short queue, which the paper does not give: see the "
        "deviation “CSFQ form”."
    )


@claims.measure("c126")
def csfq_q_min(data: Data, accept: Accept) -> list[Check]:
    """Early drops with the change, and what it does to TR."""
    lab = _fig16(data)
    early = float(_total_histogram(data, net.CSFQ_Q_MIN)[:12].sum())
    change = lab.at(scheme=net.CSFQ_Q_MIN).ratio - lab.at(scheme=net.CSFQ).ratio
    return [
        accept("drops", "drops at Q < 12 with the change", early),
        accept("change", "TR with − without the change", change),
    ]


@claims.measure("c127")
def csfq_needs_capacity(data: Data, accept: Accept) -> list[Check]:
    """What being told a wrong capacity costs in fairness or utilisation, whichever is more; and ABC's parameters.

    Which of the two counts is chosen for each seed by the other seeds.
    """
    lab = Lab(data["abc-x-capacity"])
    found = []
    for delay in lab.grid("delay_ms"):
        right, wrong = (lab.at(told=told, delay_ms=delay) for told in (TOLD_RIGHT, TOLD_TOO_MUCH))
        losses = np.array([wrong.ratio / right.ratio - 1, 1 - wrong.utilisation / right.utilisation])
        label = f"{words(delay_ms=delay)}: loss of fairness or utilisation, told 20 % too much"
        found.append(accept("loss", label, chosen_by_others(losses, (0, 1))))
    knobs = set(net.abc().queue) | set(net.abc().stage or {})
    return [
        *found,
        accept("knobs", "parameters of ABC that name a capacity", float(len(knobs & {"capacity", "rate"}))),
    ]


@claims.note("c127")
def capacity_note(data: Data, _: Judgement) -> str:
    """TR and utilisation, told right and wrong."""
    lab = Lab(data["abc-x-capacity"])
    said = []
    for delay in lab.grid("delay_ms"):
        right, wrong = (lab.at(told=told, delay_ms=delay) for told in (TOLD_RIGHT, TOLD_TOO_MUCH))
        said.append(
            f"at {delay:g} ms TR is {mean(wrong.ratio)} for {mean(right.ratio)}, utilisation {mean(wrong.utilisation)} "
            f"for {mean(right.utilisation)}"
        )
    return f"Told {TOLD_TOO_MUCH} Mbit/s instead of {TOLD_RIGHT}: {'; '.join(said)}."
