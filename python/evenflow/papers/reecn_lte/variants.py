"""Variants of the paper's figures: another background, another link's delay, narrow hops, another TCP, another RED."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evenflow.claims import Scale
from evenflow.lab import at, quantity
from evenflow.scenario import Scenario
from evenflow.scenario import lte as shape
from evenflow.study import Point

from . import network as net
from . import runs
from .choices import Options
from .network import BACKGROUND, CAPACITY_MBPS, LINK, PHONES, POLICED, SCHEMES

SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SHARES_QUICK = (0.0, 0.4, 0.8)
"""Of the link's 50 Mbit/s, at a constant rate."""
MIXED_MS = (5.0, 20.0, 50.0, 100.0, 200.0)
"""Delays of the radio links of one run, a fifth of the flows each."""
NARROW_HOPS = (2, 5, 8)
FLAVOURS = ("reno", "newreno", "sack")
REDS = ("uniform", "ns2")
TCP_PROBABILITIES = (0.001, 0.01, 0.05, 0.2, 1.0)


def background(o: Options, scale: Scale) -> list[Point]:
    """Figure 8 with datagrams at a constant rate from R2 on, instead of more flows."""
    found = []
    for s in SCHEMES:
        for n in at(scale, net.FLOWS, (100,)):
            for share in runs.grid(n, scale, SHARES, SHARES_QUICK):
                groups = {PHONES: {"users": n, "tcp": net.tcp(o, s)}}
                if share:
                    groups[BACKGROUND] = {
                        "users": 1,
                        "path": [LINK, "r3-enb", net.RADIO],
                        "traffic": {
                            "kind": "cbr",
                            "rate": quantity(share * CAPACITY_MBPS, "Mbit/s"),
                            "packet": "1000 B",
                        },
                    }
                found.append(Point({"scheme": s, "n": n, "background": share}, net.bulk(o, s, n, groups=groups)))
    return found


def wired(o: Options, scale: Scale) -> list[Point]:
    """Figure 9 with the delay of R2 to R3 varied, and 200 ms of radio."""
    return [
        Point(
            {"scheme": s, "n": n, "delay": d},
            net.bulk(o, s, n).set(f"links.{LINK}.delay", quantity(d, "ms")),
        )
        for s in SCHEMES
        for n in at(scale, net.FLOWS, (100,))
        for d in runs.grid(n, scale, runs.DELAYS_MS, runs.DELAYS_QUICK)
    ]


def mixed(o: Options, scale: Scale) -> list[Point]:
    """Figure 9 with radio links of five delays in one run."""
    return [Point({"scheme": s, "n": n}, of_delays(o, s, n)) for s in SCHEMES for n in at(scale, net.FLOWS, (100,))]


def delay_group(delay_ms: float) -> str:
    """The flows whose radio link has this delay."""
    return f"radio-{delay_ms:g}ms"


def of_delays(o: Options, s: str, n: int) -> Scenario:
    """A fifth of the flows behind a radio link of each delay."""
    groups = {delay_group(d): {"users": n // len(MIXED_MS), "tcp": net.tcp(o, s)} for d in MIXED_MS}
    scenario = net.bulk(o, s, n, groups=groups)
    radio = dict(scenario.get(f"links.{net.RADIO}"))
    for d in MIXED_MS:
        path = list(scenario.get(f"groups.{delay_group(d)}.path"))
        scenario = scenario.set(f"links.{delay_group(d)}", {**radio, "delay": quantity(d, "ms")})
        scenario = scenario.set(f"groups.{delay_group(d)}.path", [*path[:-1], delay_group(d)])
    return scenario.unset(f"links.{net.RADIO}")


def narrow(o: Options, scale: Scale) -> list[Point]:
    """Figure 10 with 50 Mbit/s on every hop, each with flows of its own."""
    return [
        Point({"scheme": s, "n": n, "hops": h}, of_hops(o, s, n, h))
        for s in SCHEMES
        for n in at(scale, net.FLOWS, (100,))
        for h in at(scale, NARROW_HOPS, (2, 5))
    ]


CROSS = "cross"


def of_hops(o: Options, s: str, n: int, hops: int) -> Scenario:
    """Every wired hop marks as R2 to R3 does, and a fifth as many flows as cross the whole network cross it alone."""
    scenario = net.bulk(o, s, n, hops=hops)
    phones = scenario.get(f"groups.{PHONES}")
    chain = [it for it in phones["path"] if it not in (net.RADIO, shape.WIRED[-1])]
    for link in (*chain, shape.WIRED[-1]):
        scenario = scenario.set(f"links.{link}.rate", quantity(CAPACITY_MBPS, "Mbit/s"))
    for link in chain:
        mine = {**phones, "users": n // 5, "class": f"{CROSS}-{link}", "path": [link, net.RADIO]}
        scenario = scenario.set(f"links.{link}.queue", net.queue(o, s)).set(f"groups.{CROSS}-{link}", mine)
    return scenario


RADIOS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "independent": lambda e: {"loss": e},
    "bursts": lambda e: {"loss": {"probability": e, "burst": 5}},
    "RLC": lambda e: {"loss": {"probability": e, "retransmissions": 3, "retransmission_delay": "8 ms"}},
}
"""Radio errors one by one, in bursts of five (Gilbert-Elliott), and repaired below TCP (acknowledged mode)."""
RADIO_ERRORS = (0.01, 0.05)


def radio(o: Options, scale: Scale) -> list[Point]:
    """Figure 13 with errors in bursts, and with a link that repairs them."""
    return [
        Point({"scheme": s, "radio": name, "n": n, "e": e}, it)
        for name, link in RADIOS.items()
        for n in at(scale, net.FLOWS, (100,))
        for e in RADIO_ERRORS
        for s, it in runs.over_radio(o, n, link(e), o.duration).items()
    ]


def choices(o: Options, scale: Scale) -> list[tuple[dict[str, str], Options]]:
    """Every TCP with every RED, and the labels that say so; for a first look one of the two is always the default."""
    return [
        ({"tcp": tcp, "red": red}, replace(o, flavour=tcp, red=red))
        for tcp in FLAVOURS
        for red in REDS
        if scale == "paper" or tcp == FLAVOURS[0] or red == REDS[0]
    ]


def tcp06(o: Options, scale: Scale) -> list[Point]:
    """Figure 6 for every TCP and RED."""
    return [
        Point(
            {**labels, "marks": marks, "n": runs.DECIDES, "p": p},
            net.bulk(it, net.REECN, runs.DECIDES, queue=runs.marker(it, marks, p)),
        )
        for labels, it in choices(o, scale)
        for marks in ("red", "fixed")
        for p in at(scale, TCP_PROBABILITIES, runs.PROBABILITIES_QUICK[1:3])
    ]


def tcp11(o: Options, scale: Scale) -> list[Point]:
    """Figures 11 and 12 for every TCP and RED; drop-tail has none, so that its runs are the same."""
    return [
        Point({**labels, "scheme": s, "n": n}, runs.over_time(it, s, n, it.duration))
        for labels, it in choices(o, scale)
        for s in (*SCHEMES, POLICED)
        for n in at(scale, net.FLOWS, (100,))
    ]


def tcp16(o: Options, scale: Scale) -> list[Point]:
    """Figure 16 for every TCP and RED."""
    return [
        Point(
            {**labels, "marks": marks, "n": runs.DECIDES, "premium": int(premium)},
            net.classes(it, runs.DECIDES, marks, premium=premium),
        )
        for labels, it in choices(o, scale)
        for marks in ("red", "fixed")
        for premium in (False, True)
        if marks == "red" or not premium
    ]
