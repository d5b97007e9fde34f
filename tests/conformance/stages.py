"""Vectors for stages: the colours that a policer gives, and what a shaper passes, holds and drops.

Written a second time like the others, straight from RFC 2697 and RFC 2698, in bytes and fractions, where Evenflow
counts the time in which bytes come. The shaper is the token-bucket filter of shapers.py, asked as a stage is: by
packets that arrive and at the instants it has named, never by a link.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from shapers import Arithmetic, Real, Tbf, Ticks

GREEN, YELLOW, RED = "green", "yellow", "red"
COLOURS = (GREEN, YELLOW, RED)
SECOND = 10**9


class Marker(Protocol):
    """Gives colours."""

    def colour(self, now: int, size: int, before: str) -> str: ...


@dataclass
class SrTcm:
    """RFC 2697: CIR in bytes or packets a second, CBS and EBS in bytes or packets."""

    cir: Fraction
    cbs: int
    ebs: int

    def __post_init__(self) -> None:
        self.tc, self.te, self.last = Fraction(self.cbs), Fraction(self.ebs), 0

    def colour(self, now: int, size: int, before: str) -> str:
        new = self.cir * (now - self.last) / SECOND
        self.last = now
        into_c = min(new, self.cbs - self.tc)
        self.tc += into_c
        self.te = min(self.te + new - into_c, Fraction(self.ebs))
        if before == GREEN and self.tc - size >= 0:
            self.tc -= size
            return GREEN
        if before in (GREEN, YELLOW) and self.te - size >= 0:
            self.te -= size
            return YELLOW
        return RED


@dataclass
class TrTcm:
    """RFC 2698: PIR and CIR, PBS and CBS."""

    pir: Fraction
    pbs: int
    cir: Fraction
    cbs: int

    def __post_init__(self) -> None:
        self.tp, self.tc, self.last = Fraction(self.pbs), Fraction(self.cbs), 0

    def colour(self, now: int, size: int, before: str) -> str:
        passed = Fraction(now - self.last, SECOND)
        self.last = now
        self.tp = min(self.tp + self.pir * passed, Fraction(self.pbs))
        self.tc = min(self.tc + self.cir * passed, Fraction(self.cbs))
        if before == RED or self.tp - size < 0:
            return RED
        if before == YELLOW or self.tc - size < 0:
            self.tp -= size
            return YELLOW
        self.tp -= size
        self.tc -= size
        return GREEN


def write(folder: str, name: str, about: str, head: dict[str, Any], events: list[dict[str, Any]]) -> tuple[str, str]:
    text = json.dumps({"stage": folder, "name": name, "about": about, **head}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f"{folder}/{name}.json", f'{text},\n "events": [\n  {lines}\n ]\n}}\n'


def bursts(dice: Callable[[], float], gap: int, count: int) -> Iterator[tuple[int, int]]:
    """Instants and sizes: bursts of one to six packets of one instant, and pauses between them."""
    at = number = 0
    while number < count:
        burst = 1 + int(dice() * 6)
        at += int(gap * burst * (0.2 + 1.6 * dice())) + 7
        for _ in range(burst):
            yield at, (40, 576, 1000, 1500)[int(dice() * 4)]
            number += 1


def policer(
    name: str,
    about: str,
    dice: Callable[[], float],
    *,
    unit: str = "bytes",
    committed: tuple[int, int],
    excess: int | None = None,
    peak: tuple[int, int] | None = None,
    aware: bool = False,
    load: float = 1.5,
    count: int = 150,
) -> tuple[str, str]:
    """Rates in bit/s or packets a second, bursts in bytes or packets."""
    of_bytes = unit == "bytes"

    def tokens(rate: int) -> Fraction:
        return Fraction(rate, 8) if of_bytes else Fraction(rate)

    head: dict[str, Any] = {"unit": unit, "rate": committed[0], "burst": committed[1]}
    marker: Marker
    if peak:
        head |= {"peak_rate": peak[0], "peak_burst": peak[1]}
        marker = TrTcm(tokens(peak[0]), peak[1], tokens(committed[0]), committed[1])
    else:
        head |= {"excess_burst": excess or 0}
        marker = SrTcm(tokens(committed[0]), committed[1], excess or 0)
    mean = Fraction(779 if of_bytes else 1)
    events = []
    for at, size in bursts(dice, int(mean * SECOND / tokens(committed[0]) / Fraction(load)), count):
        before = COLOURS[int(dice() * 3)] if aware else GREEN
        colour = marker.colour(at, size if of_bytes else 1, before)
        event = {"event": "arrive", "at_ns": at, "bytes": size, "colour": before, "expect": {"colour": colour}}
        events.append(event)
    return write("policer", name, about, head, events)


def shaper(
    name: str,
    about: str,
    a: Arithmetic,
    dice: Callable[[], float],
    buckets: list[tuple[int, int]],
    limit: int | None = None,
    load: float = 1.1,
    count: int = 150,
) -> tuple[str, str]:
    """`limit` is in packets. A packet that need not wait passes, whatever the limit."""
    head: dict[str, Any] = {"arithmetic": a.name, "rate_bps": buckets[0][0], "burst_bytes": buckets[0][1]}
    if len(buckets) > 1:
        head |= {"peak_rate_bps": buckets[1][0], "mtu_bytes": buckets[1][1]}
    if limit is not None:
        head["limit_packets"] = limit
    tbf = Tbf(a, buckets)
    events: list[dict[str, Any]] = []
    due: int | None = None

    def release(until: int | None) -> None:
        """What may go at the instants named, up to one."""
        nonlocal due
        while due is not None and (until is None or due <= until):
            at, gone = due, []
            answer = tbf.ask(at)
            while isinstance(answer, tuple):
                gone.append(answer[0])
                answer = tbf.ask(at)
            due = answer
            events.append({"event": "wake", "at_ns": at, "expect": {"ids": gone, "next_ns": due}})

    gap = int(779 * 8 * SECOND / buckets[0][0] / load)
    for number, (at, size) in enumerate(bursts(dice, gap, count)):
        release(at)
        arrival = {"event": "arrive", "at_ns": at, "id": number, "bytes": size}
        if due is not None and limit is not None and len(tbf.packets) >= limit:
            events.append({**arrival, "expect": {"verdict": "drop", "reason": "limit"}})
            continue
        waits = bool(tbf.packets)
        tbf.arrive(0, number, size)
        answer = due if waits else tbf.ask(at)
        if isinstance(answer, tuple):
            events.append({**arrival, "expect": {"verdict": "pass"}})
        else:
            due = answer
            events.append({**arrival, "expect": {"verdict": "hold", "next_ns": due}})
    release(None)
    return write("shaper", name, about, head, events)


def stages(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them; `draws(seed).next` gives numbers in (0, 1)."""
    m = 10**6
    yield policer("two-colours", "RFC 2697 without an excess burst.", draws(121).next, committed=(3 * m, 6000))
    yield policer("single-rate", "RFC 2697, colour-blind.", draws(122).next, committed=(3 * m, 4000), excess=6000)
    yield policer(
        "single-rate-aware",
        "RFC 2697, packets of all three colours.",
        draws(123).next,
        committed=(4_681_600, 3000),
        excess=4500,
        aware=True,
        load=2.5,
    )
    yield policer("two-rates", "RFC 2698, colour-blind.", draws(124).next, committed=(3 * m, 4000), peak=(5 * m, 5000))
    yield policer(
        "two-rates-aware",
        "RFC 2698, packets of all three colours.",
        draws(125).next,
        committed=(1_392_000, 3000),
        peak=(3_000_017, 4500),
        aware=True,
        load=3.5,
    )
    yield policer(
        "packets", "RFC 2697 in packets.", draws(126).next, unit="packets", committed=(700, 5), excess=3, load=1.4
    )
    yield policer(
        "packets-two-rates-aware",
        "RFC 2698 in packets, of all three colours.",
        draws(127).next,
        unit="packets",
        committed=(333, 4),
        peak=(777, 6),
        aware=True,
        load=3.0,
    )
    real, ticks = Real(), Ticks()
    yield shaper("rate", "One bucket, room for all.", real, draws(128).next, [(3 * m, 4000)])
    yield shaper("peak", "A second bucket spaces bursts.", real, draws(129).next, [(3 * m, 9000), (7 * m, 1514)])
    yield shaper("limit", "Room for four that wait.", real, draws(130).next, [(3 * m, 3000)], limit=4, load=1.6)
    yield shaper("ticks", "In the kernel's whole numbers.", ticks, draws(131).next, [(4_681_600, 4000)], limit=9)
