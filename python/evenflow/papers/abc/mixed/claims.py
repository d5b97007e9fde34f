"""Measures of claims c60 to c78: figures 6 and 7, a UDP user who does not listen against a user with one TCP flow."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept, each, extremum
from evenflow.lab import Floats, chosen_by_others, peak, select, trough

from .. import network as net
from ..claims import claims
from ..measures import Lab, Spot, delay_be, ratio, utilisation, words
from ..notes import FEW, mean, means, sentences, short, span

OVERLOAD_MBPS = 12.5
"""R0 from which the UDP user alone clearly overloads the link."""


def _fig06(data: Data) -> Lab:
    return Lab(data["abc-fig06"])


def _fig07(data: Data) -> Lab:
    return Lab(data["abc-fig07"])


@claims.measure("c60")
def dominates(data: Data, accept: Accept) -> list[Check]:
    """T1 over T0: the inverse of TR, which stays finite where the TCP flow gets nothing."""
    lab = _fig06(data)
    names = {6.0: "inverse_at_6", 8.0: "inverse_at_8"}
    return [
        accept(
            names.get(r0, "inverse"),
            f"{words(r0=r0, delay_ms=delay)}: mean T1 over mean T0",
            lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).inverse_ratio_of_means(),
        )
        for delay in lab.grid("delay_ms")
        for r0 in lab.grid("r0", scheme=net.NO_ABC, delay_ms=delay)
        if r0 > 5
    ]


@claims.measure("c61")
def queue_full(data: Data, accept: Accept) -> list[Check]:
    """The queue where the UDP user fills the link alone."""
    lab = _fig06(data)
    return [
        accept(
            name,
            f"{words(r0=r0, delay_ms=delay)}: queue",
            lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).queue,
        )
        for r0, name in ((10.0, "at_10"), (12.5, "at_12_5"))
        for delay in lab.grid("delay_ms")
    ]


@claims.note("c61")
def queue_full_note(data: Data, _: Judgement) -> str:
    """Why the queue is not full at 10 Mbit/s, and where it is."""
    lab = _fig06(data)
    ten, more = ([lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).queue for delay in (5, 50)] for r0 in (10, 12.5))
    return (
        "At R0 = 10 Mbit/s the UDP traffic alone just fills the link and the TCP flow hardly sends: the length of such "
        f"a queue is a random walk between 0 and 24, with a mean of {means(ten)} packets. It is full from 12.5 Mbit/s "
        f"on ({means(more)} packets)."
    )


@claims.measure("c62")
def fully_used_at_short_delay(data: Data, accept: Accept) -> list[Check]:
    """Utilisation at 5 ms without ABC."""
    lab = _fig06(data)
    return [
        accept("utilisation", words(r0=r0), lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=5).utilisation)
        for r0 in lab.grid("r0", scheme=net.NO_ABC, delay_ms=5)
    ]


@claims.measure("c63")
def use_rises_at_long_delay(data: Data, accept: Accept) -> list[Check]:
    """The lowest utilisation at 50 ms without ABC, where it is, and the utilisation in overload."""
    lab = _fig06(data)
    grid, curve = lab.curve("r0", utilisation, scheme=net.NO_ABC, delay_ms=50)
    where, lowest = trough(grid, curve)
    return [
        accept("lowest", f"lowest, at {words(r0=where)}", lowest),
        extremum(accept, "place", "utilisation", grid, curve, lowest=True),
        *(
            accept("full", words(r0=r0), lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=50).utilisation)
            for r0 in select(grid, 11)
        ),
    ]


@claims.note("c63")
def window_note(_: Data, __: Judgement) -> str:
    """What the level depends on."""
    return f"Depends on ns-3.26's TCP window (131072 B, {131072 / 1446:.1f} packets): see the deviation “TCP window”."


def _heights(lab: Lab, scheme: str) -> list[tuple[float, float, Floats]]:
    """The delay, the place and the height of the peak of TR up to R0 = 10 Mbit/s."""
    found = []
    for delay in lab.grid("delay_ms", scheme=scheme):
        grid, curve = lab.curve("r0", ratio, scheme=scheme, delay_ms=delay)
        upto = len(select(grid, hi=10))
        found.append((delay, *peak(grid[:upto], curve[:upto])))
    return found


@claims.measure("c64")
def abc_peak(data: Data, accept: Accept) -> list[Check]:
    """The height of TR with ABC at each delay."""
    return [
        accept("height", f"{words(delay_ms=delay)}: highest TR, at {words(r0=where)}", highest)
        for delay, where, highest in _heights(_fig06(data), net.ABC)
    ]


@claims.note("c64")
def abc_peak_note(data: Data, _: Judgement) -> str:
    """The two heights."""
    found = ", ".join(f"{mean(highest)} at {delay:g} ms" for delay, _, highest in _heights(_fig06(data), net.ABC))
    return (
        f"The two delays differ: TR reaches {found}. The paper gives one height for both but adds that they show it "
        f"“to "
        "a different extent”."
    )


def _vanishes(lab: Lab, accept: Accept, scheme: str) -> list[Check]:
    return [
        accept("fall", f"{words(r0=r0, delay_ms=delay)}: TR", lab.at(scheme=scheme, r0=r0, delay_ms=delay).ratio)
        for delay in lab.grid("delay_ms", scheme=scheme)
        for r0 in select(lab.grid("r0", scheme=scheme, delay_ms=delay), OVERLOAD_MBPS)
    ]


@claims.measure("c65")
def plateau_then_fall(data: Data, accept: Accept) -> list[Check]:
    """TR with ABC on its plateau and beyond it."""
    lab = _fig06(data)
    plateau = [
        accept("plateau", f"{words(r0=r0, delay_ms=50)}: TR", lab.at(scheme=net.ABC, r0=r0, delay_ms=50).ratio)
        for r0 in select(lab.grid("r0", scheme=net.ABC, delay_ms=50), 5, 10)
    ]
    return plateau + _vanishes(lab, accept, net.ABC)


@claims.note("c65", "c69")
def bistable_note(data: Data, _: Judgement) -> str:
    """What single runs do near R0 = 10 Mbit/s."""
    lab = _fig06(data)
    torn = [
        f"{span(found)} at {r0:g} Mbit/s"
        for r0 in (9.0, 10.0, 11.0)
        if lab.has(scheme=net.ABC, r0=r0, delay_ms=50)
        and len(found := lab.at(scheme=net.ABC, r0=r0, delay_ms=50).ratio) >= FEW
    ]
    said = f"Single runs of it end at a TR of {', '.join(torn)}." if torn else ""
    return sentences(
        "Near R0 = 10 Mbit/s and at 50 ms runs are bistable: a starved TCP flow cannot raise its share while the UDP "
        "user's activity dominates the average.",
        said,
    )


@claims.measure("c66")
def never_starved(data: Data, accept: Accept) -> list[Check]:
    """What is left to the UDP user in the heaviest overload."""
    lab = _fig06(data)
    return [
        accept("t0", f"{words(r0=20, delay_ms=delay)}: T0", lab.at(scheme=net.ABC, r0=20, delay_ms=delay).t0)
        for delay in lab.grid("delay_ms")
    ]


@claims.measure("c67")
def shorter_queue(data: Data, accept: Accept) -> list[Check]:
    """Queue with ABC over that without, beyond 10 Mbit/s."""
    lab = _fig06(data)
    return [
        accept(
            "relative",
            f"{words(r0=r0, delay_ms=delay)}: queue with ABC over without",
            lab.at(scheme=net.ABC, r0=r0, delay_ms=delay).queue
            / lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay).queue,
        )
        for delay in lab.grid("delay_ms")
        for r0 in lab.grid("r0", scheme=net.ABC, delay_ms=delay)
        if r0 > 10
    ]


@claims.measure("c68")
def use_crosses(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with ABC less that without, at small and larger rates."""
    lab = _fig06(data)
    grid = lab.grid("r0", scheme=net.ABC, delay_ms=50)
    return [
        accept(
            "small" if r0 <= 2 else "larger",
            f"{words(r0=r0)}: utilisation with − without ABC",
            lab.at(scheme=net.ABC, r0=r0, delay_ms=50).utilisation
            - lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=50).utilisation,
        )
        for r0 in [*select(grid, 1, 2), *select(grid, 5, 9)]
    ]


@claims.measure("c69")
def protected(data: Data, accept: Accept) -> list[Check]:
    """TR with ABC everywhere, and the inverse of TR without ABC in overload."""
    lab = _fig06(data)
    found = []
    for delay in lab.grid("delay_ms"):
        for r0 in lab.grid("r0", scheme=net.ABC, delay_ms=delay):
            label = f"{words(r0=r0, delay_ms=delay)}: TR with ABC"
            found.append(accept("with_abc", label, lab.at(scheme=net.ABC, r0=r0, delay_ms=delay).ratio))
        for r0 in select(lab.grid("r0", scheme=net.NO_ABC, delay_ms=delay), 10):
            spot = lab.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay)
            label = f"{words(r0=r0, delay_ms=delay)}: mean T1 over mean T0 without ABC"
            found.append(accept("without", label, spot.inverse_ratio_of_means()))
    return found


@claims.measure("c70")
def strict_starves(data: Data, accept: Accept) -> list[Check]:
    """T1 under strict priority and under MEDF, both with ABC, beyond 10 Mbit/s."""
    strict, medf = Lab(data["abc-fig07n"]), _fig07(data)
    found = []
    for delay in strict.grid("delay_ms"):
        for r0 in strict.grid("r0", scheme=net.EF3_STRICT, delay_ms=delay):
            if r0 <= 10:
                continue
            where = words(r0=r0, delay_ms=delay)
            starved = strict.at(scheme=net.EF3_STRICT, r0=r0, delay_ms=delay).t1
            kept = medf.at(scheme=net.EF3, r0=r0, delay_ms=delay).t1
            found.append(accept("strict", f"{where}: T1, strict priority", starved))
            found.append(accept("medf", f"{where}: T1, MEDF", kept))
    return found


@claims.note("c70")
def starved_note(data: Data, _: Judgement) -> str:
    """In how many runs the TCP user starves, and what it keeps in the others."""
    lab = Lab(data["abc-fig07n"])
    said = []
    for delay in lab.grid("delay_ms", scheme=net.EF3_STRICT):
        for r0 in select(lab.grid("r0", scheme=net.EF3_STRICT, delay_ms=delay), 10.1):
            t1 = lab.at(scheme=net.EF3_STRICT, r0=r0, delay_ms=delay).t1
            if len(t1) < FEW or not 0 < (kept := int((t1 > 0.3).sum())) < len(t1):
                continue
            said.append(
                f"at {r0:g} Mbit/s and {delay:g} ms it starves in {len(t1) - kept} of {len(t1)} runs and keeps "
                f"{span(t1[t1 > 0.3])} Mbit/s in the others"
            )
    return sentences(
        "Under strict priority runs are bistable: the TCP user starves, or it keeps enough for the EF traffic of a "
        "user "
        "whose activity is high to be dropped as soon as the queue exceeds Q_min.",
        f"Here {'; '.join(said)}." if said else "",
    )


def _inverse(spot: Spot) -> Floats:
    """T1 / T0 run by run: finite where the TCP flow gets nothing."""
    return spot.t1 / spot.t0


def _priority_worsens(data: Data, accept: Accept, scheme: str) -> list[Check]:
    """T1 / T0 with priority less that without, both without ABC: lower means a higher TR."""
    priority, plain = Lab(data["abc-fig07n"]), _fig06(data)
    return [
        accept(
            "inverse",
            f"{scheme.rpartition(', ')[2]}, {words(r0=r0, delay_ms=delay)}: T1/T0, EF − BE",
            _inverse(priority.at(scheme=scheme, r0=r0, delay_ms=delay))
            - _inverse(plain.at(scheme=net.NO_ABC, r0=r0, delay_ms=delay)),
        )
        for delay in priority.grid("delay_ms", scheme=scheme)
        for r0 in priority.grid("r0", scheme=scheme, delay_ms=delay)
    ]


claims.measure("c71")(partial(_priority_worsens, scheme=net.NO_ABC_STRICT))
claims.measure("c71", reading="wider")(partial(_priority_worsens, scheme=net.NO_ABC_MEDF))


@claims.note("c71")
def worsens_note(data: Data, judged: Judgement) -> str:
    """Where the ratio is not higher with priority."""
    higher = [o for o in judged.outcomes if o.interval.lo > 0]
    said = "; ".join(o.check.label.partition(", ")[2].partition(":")[0] for o in higher)
    return sentences(
        f"Under strict priority TR is lower with priority than without at {len(higher)} of {len(judged.outcomes)} "
        f"points, beyond the interval: {said}."
        if higher
        else "",
        "The paper says this in words without a figure and does not name the scheduler.",
    )


def _heights_by(data: Data) -> dict[str, list[tuple[float, float, Floats]]]:
    return {
        "plain": _heights(_fig06(data), net.ABC),
        "once": _heights(_fig07(data), net.EF1),
        "thrice": _heights(_fig07(data), net.EF3),
    }


@claims.measure("c72")
def priority_like_plain(data: Data, accept: Accept) -> list[Check]:
    """The height of TR with priority over that without, and the fall."""
    heights = _heights_by(data)
    found = [
        accept("height", f"{words(delay_ms=delay)}: highest TR, with over without priority", once / plain)
        for (delay, _, once), (_, _, plain) in zip(heights["once"], heights["plain"], strict=True)
    ]
    return found + _vanishes(_fig07(data), accept, net.EF1)


@claims.note("c72")
def like_plain_note(data: Data, _: Judgement) -> str:
    """The fall with and without priority."""
    plain, priority = _fig06(data), _fig07(data)
    said, waits = [], []
    for r0 in select(priority.grid("r0", scheme=net.EF1, delay_ms=5), OVERLOAD_MBPS):
        if plain.has(scheme=net.ABC, r0=r0, delay_ms=5):
            once, without = (
                priority.at(scheme=net.EF1, r0=r0, delay_ms=5),
                plain.at(scheme=net.ABC, r0=r0, delay_ms=5),
            )
            said.append(f"{mean(once.ratio)} for {mean(without.ratio)} at {r0:g} Mbit/s")
            waits.append(once.delay_be)
    return (
        f"At 5 ms TR falls less far with priority than without: {', '.join(said)}. Best-effort packets wait "
        f"{means(waits)} ms there, so that the TCP flow recovers from its losses more slowly and leaves more to the "
        f"UDP "
        "user."
    )


@claims.measure("c73")
def accounting_lowers_ratio(data: Data, accept: Accept) -> list[Check]:
    """The height of TR with EF bytes counted three times, by itself and over that with bytes counted once."""
    heights = _heights_by(data)
    found = []
    for (delay, where, thrice), (_, _, once) in zip(heights["thrice"], heights["once"], strict=True):
        found.append(accept("height", f"{words(delay_ms=delay)}: highest TR, at {words(r0=where)}", thrice))
        found.append(accept("relative", f"{words(delay_ms=delay)}: highest TR at a_EF 3 over a_EF 1", thrice / once))
    return found


@claims.measure("c74")
def be_wait_peaks(data: Data, accept: Accept) -> list[Check]:
    """The longest wait of BE at each delay, where it is, and what is left of it at 20 Mbit/s."""
    lab = _fig07(data)
    found = []
    for delay in lab.grid("delay_ms"):
        grid, curve = lab.curve("r0", delay_be, scheme=net.EF1, delay_ms=delay)
        highest = chosen_by_others(curve, range(len(grid)))
        where = words(delay_ms=delay)
        found.append(accept("longest", f"{where}: longest mean wait", highest))
        found.append(extremum(accept, "place", f"{where}: mean wait", grid, curve, unit="ms"))
        found.append(accept("fall", f"{where}: wait at 20 Mbit/s over the longest", curve[grid.index(20.0)] / highest))
    return found


@claims.measure("c75")
def accounting_shortens_wait(data: Data, accept: Accept) -> list[Check]:
    """Wait of BE with EF bytes counted three times, less that with once, where it is long."""
    lab = _fig07(data)
    return [
        accept(
            "less",
            f"{words(r0=r0, delay_ms=delay)}: BE wait at a_EF 3 − at a_EF 1",
            lab.at(scheme=net.EF3, r0=r0, delay_ms=delay).delay_be
            - lab.at(scheme=net.EF1, r0=r0, delay_ms=delay).delay_be,
        )
        for delay in lab.grid("delay_ms")
        for r0 in select(lab.grid("r0", scheme=net.EF1, delay_ms=delay), 5, 8)
    ]


@claims.measure("c76")
def ef_hardly_waits(data: Data, accept: Accept) -> list[Check]:
    """Mean wait of the UDP user's EF packets."""
    lab = _fig07(data)
    return each(
        accept,
        "wait",
        (
            (
                f"{scheme.rpartition(', ')[2]}, {words(r0=r0, delay_ms=delay)}",
                lab.at(scheme=scheme, r0=r0, delay_ms=delay).delay_ef,
            )
            for scheme in (net.EF1, net.EF3)
            for delay in lab.grid("delay_ms")
            for r0 in lab.grid("r0", scheme=scheme, delay_ms=delay)
        ),
    )


@claims.note("c76")
def ef_wait_note(_: Data, judged: Judgement) -> str:
    """Where it waits longer."""
    longer = [o for o in judged.outcomes if not o.mean_inside]
    worst = max(longer, key=lambda o: o.interval.mean, default=None)
    return (
        f"The wait is longer at {len(longer)} of {len(judged.outcomes)} points, up to {short(worst.interval.mean)} ms "
        f"({worst.check.label}), where most of the traffic is EF and waits for itself."
        if worst is not None
        else ""
    )


@claims.measure("c77")
def accounting_raises_use(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with EF bytes counted three times, less that with once, at small rates."""
    lab = _fig07(data)
    return [
        accept(
            "more",
            f"{words(r0=r0)}: utilisation at a_EF 3 − at a_EF 1",
            lab.at(scheme=net.EF3, r0=r0, delay_ms=50).utilisation
            - lab.at(scheme=net.EF1, r0=r0, delay_ms=50).utilisation,
        )
        for r0 in select(lab.grid("r0", scheme=net.EF3, delay_ms=50), 2, 3)
    ]


@claims.measure("c78")
def use_alike(data: Data, accept: Accept) -> list[Check]:
    """Utilisation with priority less that without, with ABC."""
    plain, priority = _fig06(data), _fig07(data)
    return [
        accept(
            "difference",
            f"{words(r0=r0, delay_ms=delay)}: utilisation with − without priority",
            priority.at(scheme=net.EF1, r0=r0, delay_ms=delay).utilisation
            - plain.at(scheme=net.ABC, r0=r0, delay_ms=delay).utilisation,
        )
        for delay in priority.grid("delay_ms")
        for r0 in priority.grid("r0", scheme=net.EF1, delay_ms=delay)
    ]
