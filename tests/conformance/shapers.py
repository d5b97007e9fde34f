"""Vectors for shapers: when a token-bucket filter and a hierarchical token bucket send which packet.

Like the rules of make_vectors.py, which writes what stands here, both are written a second time, straight from the
documents that README.md names, in fractions (`real`) or whole ticks (`ticks`). Who may borrow is found anew at every
question, by looking at all classes, where the kernel and Evenflow keep lists of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Credit = Fraction | int
MINUTE_NS = 60_000_000_000
LEVELS = 8
NS_PER_BYTE = 80


class Real:
    """Credits in nanoseconds."""

    name = "real"

    def clock(self, ns: int) -> Credit:
        return Fraction(ns)

    def instant(self, clock: Credit) -> int:
        return math.ceil(clock)

    def depth(self, rate: int, size: int) -> Credit:
        return Fraction(size * 8 * 10**9, rate)

    def cost(self, rate: int, size: int, mpu: int = 0) -> Credit:
        return self.depth(rate, max(size, mpu))


class Ticks:
    """Credits in ticks of 64 ns, costs by cells of 8 bytes; tables as tc makes them, in floating point."""

    name = "ticks"

    def clock(self, ns: int) -> Credit:
        return ns // 64

    def instant(self, clock: Credit) -> int:
        return int(clock) * 64

    def depth(self, rate: int, size: int) -> Credit:
        return int(int(1e6 * (size / (rate / 8))) * 15.625)

    def cost(self, rate: int, size: int, mpu: int = 0) -> Credit:
        return self.depth(rate, max(-(-size // 8) * 8, mpu))  # tc puts mpu into its table of cells


Arithmetic = Real | Ticks


class Tbf:
    """sch_tbf: a packet leaves when both buckets pay for it."""

    def __init__(self, arithmetic: Arithmetic, buckets: list[tuple[int, int]]) -> None:
        self.a, self.rates = arithmetic, [rate for rate, _ in buckets]
        self.depths = [arithmetic.depth(rate, size) for rate, size in buckets]
        self.tokens = list(self.depths)
        self.last: Credit = 0
        self.packets: list[tuple[int, int]] = []

    def arrive(self, _: int, number: int, size: int) -> None:
        self.packets.append((number, size))

    def ask(self, ns: int) -> tuple[int, int] | int | None:
        """What is sent (its number and size), or until when nothing is; None where nothing waits."""
        if not self.packets:
            return None
        now, size = self.a.clock(ns), self.packets[0][1]
        left = [
            min(t + now - self.last, depth) - self.a.cost(rate, size)
            for t, depth, rate in zip(self.tokens, self.depths, self.rates, strict=True)
        ]
        if min(left) < 0:
            return self.a.instant(now - min(left))
        self.tokens, self.last = left, now
        return self.packets.pop(0)


@dataclass
class Class:
    """A class of HTB; those that are no leaf have children."""

    parent: int | None
    rate: int
    ceil: int
    burst: int = 1600
    cburst: int = 1600
    prio: int = 0
    quantum: int = 1500
    overhead: int = 0
    mpu: int = 0
    children: list[int] = field(default_factory=list)
    level: int = 0
    mode: str = "can"
    tokens: Credit = 0
    ctokens: Credit = 0
    last: Credit = 0
    due: Credit | None = None
    order: int = 0
    packets: list[tuple[int, int]] = field(default_factory=list)
    deficit: dict[int, int] = field(default_factory=dict)
    turn: dict[int, int] = field(default_factory=dict)
    """By priority: which of those who borrow has the turn; or had it, if it borrows no more."""


class Htb:
    """sch_htb of Linux 3.2, leaves first in, first out."""

    def __init__(self, arithmetic: Arithmetic, classes: list[Class]) -> None:
        self.a, self.classes = arithmetic, classes
        self.rows: dict[tuple[int, int], int] = {}
        """By level and priority: whose turn it is."""
        self.orders = 0
        for n, c in enumerate(classes):
            if c.parent is not None:
                classes[c.parent].children.append(n)
            c.tokens, c.ctokens = arithmetic.depth(c.rate, c.burst), arithmetic.depth(c.ceil, c.cburst)
        for c in classes:
            above, up = 0, c.parent
            while up is not None:
                above, up = above + 1, classes[up].parent
            c.level = LEVELS - 1 - above if c.children else 0
        self.leaves = [n for n, c in enumerate(classes) if not c.children]

    def has(self, n: int, prio: int) -> bool:
        """Whether the class, or one that borrows from it, has something of this priority to send."""
        c = self.classes[n]
        return bool(self.borrowers(n, prio)) if c.children else c.prio == prio and bool(c.packets)

    def borrowers(self, n: int, prio: int) -> list[int]:
        return [m for m in self.classes[n].children if self.classes[m].mode == "borrow" and self.has(m, prio)]

    def row(self, level: int, prio: int) -> list[int]:
        can = [n for n, c in enumerate(self.classes) if c.level == level and c.mode == "can"]
        return [n for n in can if self.has(n, prio)]

    def changing(self, change: Callable[[], None]) -> None:
        """Makes a change; the turn of a row goes on to the next where it was that of one who has left."""
        places = [(level, prio) for level in range(LEVELS) for prio in range(8)]
        before = {place: self.row(*place) for place in places if place in self.rows}
        change()
        for place, members in before.items():
            turn = self.rows[place]
            if turn in members and turn not in self.row(*place):
                self.pass_row(place, members)

    def pass_row(self, place: tuple[int, int], members: list[int]) -> None:
        later = [n for n in members if n > self.rows[place]]
        if later:
            self.rows[place] = later[0]
        else:
            del self.rows[place]

    def judge(self, n: int, passed: Credit) -> Credit:
        """Finds the mode; gives what lacks for a better one."""
        c = self.classes[n]
        tokens, ctokens = c.tokens + passed, c.ctokens + passed
        mode, lack = ("cannot", -ctokens) if ctokens < 0 else ("borrow", -tokens) if tokens < 0 else ("can", 0)

        def change() -> None:
            c.mode = mode

        if mode != c.mode:
            self.changing(change)
        return lack

    def wait(self, n: int, now: Credit, lack: Credit) -> None:
        c = self.classes[n]
        c.due = now + lack if c.mode != "can" else None
        self.orders += 1
        c.order = self.orders

    def arrive(self, queue: int, number: int, size: int) -> None:
        self.changing(lambda: self.classes[self.leaves[queue]].packets.append((number, size)))

    def ask(self, ns: int) -> tuple[int, int] | int | None:
        if not any(c.packets for c in self.classes):
            return None
        now = self.a.clock(ns)
        minute = self.a.clock(MINUTE_NS)
        for level in range(LEVELS):
            while True:
                ripe = [
                    (c.due, c.order, n)
                    for n, c in enumerate(self.classes)
                    if c.level == level and c.due is not None and c.due <= now
                ]
                if not ripe:
                    break
                n = min(ripe)[2]
                lack = self.judge(n, min(now - self.classes[n].last, minute))
                self.wait(n, now, lack)
            for prio in range(8):
                if self.row(level, prio):
                    return self.send(level, prio, now)
        return self.a.instant(min(c.due for c in self.classes if c.due is not None))

    def find(self, level: int, prio: int) -> int:
        """The leaf whose turn it is: down from the row. At the end of a round, the round above goes on."""
        path: list[int] = []  # the classes whose rounds were entered
        while True:
            if path:
                above = self.classes[path[-1]]
                members = self.borrowers(path[-1], prio)
                later = [m for m in members if m >= above.turn[prio]] if prio in above.turn else []
            else:
                members = self.row(level, prio)
                later = [self.rows[level, prio]] if (level, prio) in self.rows else []
            if later:
                n = later[0]
                self.set_turn(path, level, prio, n)
                if not self.classes[n].children:
                    return n
                path.append(n)
            else:
                self.set_turn(path, level, prio, members[0])
                if path:
                    path.pop()
                    self.pass_on(path, level, prio)

    def set_turn(self, path: list[int], level: int, prio: int, n: int) -> None:
        if path:
            self.classes[path[-1]].turn[prio] = n
        else:
            self.rows[level, prio] = n

    def pass_on(self, path: list[int], level: int, prio: int) -> None:
        if not path:
            self.pass_row((level, prio), self.row(level, prio))
            return
        c = self.classes[path[-1]]
        later = [m for m in self.borrowers(path[-1], prio) if m > c.turn[prio]]
        if later:
            c.turn[prio] = later[0]
        else:
            del c.turn[prio]

    def send(self, level: int, prio: int, now: Credit) -> tuple[int, int]:
        n = self.find(level, prio)
        leaf = self.classes[n]
        number, size = leaf.packets[0]
        deficit = leaf.deficit.get(level, 0) - size
        if deficit < 0:
            deficit += leaf.quantum
            self.pass_on([leaf.parent] if level and leaf.parent is not None else [], level, prio)
        leaf.deficit[level] = deficit
        self.changing(lambda: leaf.packets.__delitem__(0))
        up: int | None = n
        minute = self.a.clock(MINUTE_NS)
        while up is not None:
            c = self.classes[up]
            passed = min(now - c.last, minute)
            if c.level >= level:
                filled = min(c.tokens + passed, self.a.depth(c.rate, c.burst))
                c.tokens = max(filled - self.a.cost(c.rate, size + c.overhead, c.mpu), 1 - minute)
            else:
                c.tokens += passed
            filled = min(c.ctokens + passed, self.a.depth(c.ceil, c.cburst))
            c.ctokens = max(filled - self.a.cost(c.ceil, size + c.overhead, c.mpu), 1 - minute)
            c.last = now
            mode = c.mode
            lack = self.judge(up, 0)
            if c.mode != mode:
                self.wait(up, now, lack)
            up = c.parent
        return number, size


def play(
    shaper: Tbf | Htb,
    dice: Callable[[], float],
    queues: int,
    sizes: tuple[int, ...],
    gap: int,
    count: int,
) -> list[dict[str, Any]]:
    """Bursts of one queue and of all, and pauses; a link that asks when it is free, and when it was told to."""
    events: list[dict[str, Any]] = []
    at = free = 0
    told: int | None = None

    def run(until: int) -> None:
        nonlocal free, told
        ask = free
        while True:
            ask = max(ask, free, told or 0)
            if ask > until:
                return
            answer = shaper.ask(ask)
            if answer is None:
                return
            if isinstance(answer, int):
                events.append({"event": "ask", "at_ns": ask, "expect": {"until_ns": answer}})
                told = answer
            else:
                events.append({"event": "ask", "at_ns": ask, "expect": {"id": answer[0]}})
                told, free = None, ask + answer[1] * NS_PER_BYTE

    number = 0
    while number < count:
        queue, burst = int(dice() * queues), 1 + int(dice() * 6)
        at += int(gap * burst * (0.2 + 1.6 * dice())) + 7
        run(at - 1)
        told = None  # an arrival is a reason to ask at once
        for _ in range(burst):
            size = sizes[int(dice() * len(sizes))]
            shaper.arrive(queue, number, size)
            events.append({"event": "arrive", "at_ns": at, "queue": queue, "id": number, "bytes": size})
            number += 1
            if dice() < 0.3:
                queue = int(dice() * queues)
        free = max(free, at)
    run(10**15)
    return events


def vector(kind: str, name: str, about: str, head: dict[str, Any], events: list[dict[str, Any]]) -> tuple[str, str]:
    text = json.dumps({"shaper": kind, "name": name, "about": about, **head}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f"{kind}/{name}.json", f'{text},\n "events": [\n  {lines}\n ]\n}}\n'


def tbf(
    name: str, about: str, a: Arithmetic, dice: Callable[[], float], buckets: list[tuple[int, int]], count: int = 120
) -> tuple[str, str]:
    head: dict[str, Any] = {"arithmetic": a.name, "rate_bps": buckets[0][0], "burst_bytes": buckets[0][1]}
    if len(buckets) > 1:
        head |= {"peak_rate_bps": buckets[1][0], "mtu_bytes": buckets[1][1]}
    gap = 700 * 8 * 10**9 // buckets[0][0]
    return vector("tbf", name, about, head, play(Tbf(a, buckets), dice, 1, (40, 576, 1000, 1500), gap, count))


def htb(
    name: str,
    about: str,
    a: Arithmetic,
    dice: Callable[[], float],
    classes: list[Class],
    *,
    sizes: tuple[int, ...] = (40, 576, 1000, 1500),
    load: float = 1.3,
    count: int = 220,
) -> tuple[str, str]:
    keys = ("parent", "rate", "ceil", "burst", "cburst", "prio", "quantum")
    told = [{key: getattr(c, key) for key in keys} for c in classes]
    for line, c in zip(told, classes, strict=True):
        line |= {key: size for key, size in (("overhead", c.overhead), ("mpu", c.mpu)) if size}
    total = classes[0].ceil if classes[0].parent is None else sum(c.rate for c in classes)
    gap = int(sum(sizes) / len(sizes) * 8e9 / total / load)
    shaper = Htb(a, classes)
    events = play(shaper, dice, len(shaper.leaves), sizes, gap, count)
    return vector("htb", name, about, {"arithmetic": a.name, "classes": told}, events)


def shapers(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them; `draws(seed).next` gives numbers in (0, 1)."""
    real, ticks = Real(), Ticks()
    m = 10**6
    yield tbf("rate", "One bucket.", real, draws(91).next, [(3 * m, 4000)])
    yield tbf("peak", "A second bucket spaces bursts.", real, draws(92).next, [(3 * m, 9000), (7 * m, 1514)])
    yield tbf("ticks", "One bucket, in the kernel's whole numbers.", ticks, draws(93).next, [(4_681_600, 4000)])

    def leaves(*quanta: int, rate: int = 1, parent: int = 0, **others: Any) -> list[Class]:
        return [Class(parent, rate * m, 8 * m, quantum=q, **others) for q in quanta]

    def root(**others: Any) -> Class:
        return Class(None, 8 * m, 8 * m, **others)

    yield htb("alone", "One class, a root and a leaf.", real, draws(94).next, [root()])
    yield htb(
        "quantum",
        "Three leaves that borrow from a root, quanta of 1500, 3000 and 6000.",
        real,
        draws(95).next,
        [root(), *leaves(1500, 3000, 6000)],
        load=2.0,
    )
    yield htb(
        "small-quantum",
        "Quanta below the packets: turns of a packet each.",
        real,
        draws(96).next,
        [root(), *leaves(100, 1000)],
        sizes=(1500,),
        load=2.0,
    )
    yield htb(
        "priority",
        "The second leaf goes first, in borrowing too; the third last.",
        real,
        draws(97).next,
        [root(), *leaves(1500, prio=3), *leaves(1500, prio=0), *leaves(1500, prio=7)],
        load=1.5,
    )
    yield htb(
        "ceilings",
        "Ceilings of 2, 3 and 8 Mbit/s, buckets of their own.",
        real,
        draws(98).next,
        [
            root(burst=5000, cburst=5000),
            Class(0, m, 2 * m, burst=2000, cburst=3000),
            Class(0, m, 3 * m, burst=9000, cburst=1600),
            Class(0, m, 8 * m, burst=1600, cburst=9000, quantum=4000),
        ],
        load=1.6,
    )
    yield htb(
        "levels",
        "Two inner classes of 5 and 2 Mbit/s with two leaves each, a leaf beside them; two priorities.",
        real,
        draws(99).next,
        [
            root(),
            Class(0, 5 * m, 8 * m),
            Class(0, 2 * m, 6 * m),
            *leaves(1500, parent=1),
            *leaves(3000, parent=1, prio=1),
            *leaves(2000, parent=2),
            *leaves(1500, parent=2, prio=1),
            *leaves(4000),
        ],
        load=1.8,
        count=400,
    )
    yield htb(
        "deep",
        "Eight levels, one class on each, and a leaf beside them on each level but the last.",
        real,
        draws(100).next,
        deep(m),
        load=1.5,
        count=300,
    )
    yield htb(
        "ticks",
        "The kernel's whole numbers: 8 Mbit/s above two that may not borrow and one that may; full frames and ACKs.",
        ticks,
        draws(101).next,
        [
            root(),
            Class(0, 4_681_600, 4_681_600, quantum=58_520),
            Class(0, 1_392_000, 1_392_000, quantum=17_400),
            Class(0, m, 8 * m, quantum=12_500),
        ],
        sizes=(66, 1514, 1514),
        load=1.5,
        count=300,
    )
    for number, a in ((102, real), (103, ticks)):
        yield htb(
            f"frames-{a.name}",
            "Ethernet's 38 bytes around each packet in all classes, 84 at least, and in one leaf 576 at least.",
            a,
            draws(number).next,
            [
                root(overhead=38, mpu=84),
                *leaves(1500, overhead=38, mpu=84),
                *leaves(3000, overhead=38, mpu=576),
                *leaves(2000),
            ],
            sizes=(40, 46, 47, 300, 576, 1500),
            load=1.7,
        )


def deep(m: int) -> list[Class]:
    """A chain of eight levels: classes 1, 3, … 13 below the root 0, the last a leaf, with a leaf beside each."""
    classes = [Class(None, 8 * m, 8 * m)]
    above = 0
    for k in range(7):
        rate = (8 - k) * m // 2
        classes += [Class(above, rate, 8 * m, quantum=2000), Class(above, m // 4, 8 * m, quantum=1500 + 500 * k)]
        above = len(classes) - 2
    return classes
