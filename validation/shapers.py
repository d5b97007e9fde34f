"""HTB and TBF of a Linux kernel beside ours: who sends how much when everybody always has something to send.

Classes and filters may change on the way (`tc class change`, `tc qdisc change`) while senders come and go; rates are
measured before, between and after, from half a second behind each change. Rates are of frames. Buckets are deep enough
(15 ms and more at their rates) that a timer that fires late costs no tokens. Ours is the same tree at a link of
1 Gbit/s, in real numbers, as kernels count since 3.10. The stage `shaper` stands beside the kernel's TBF too.
`linux_queues` says how a kernel is asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evenflow import Record, Scenario
from linux_queues import DEVICE, Asked, Packets, Sender

SECONDS, WARMUP = 12.0, 2.0
CHANGES = (5.0, 8.5)
SETTLED = (
    0.5  # s behind a change: what a sender that has ended left waiting is gone, and who waited for tokens has them
)
SPANS = {
    "before": (WARMUP, CHANGES[0]),
    "between": (CHANGES[0] + SETTLED, CHANGES[1]),
    "after": (CHANGES[1] + SETTLED, SECONDS),
}
LATER = 1000.0  # s: an end that no run sees
LEAF = 50  # packets that wait in a leaf of ours where senders end
BURST = 15_000
MBIT = 1_000_000
MAJOR = 1 << 16  # of HTB's handle 1:, in a socket's priority


@dataclass(frozen=True)
class Class:
    """A class of HTB: rates in bit/s; `bytes` are the frames that its sender sends, 0 where others are below it."""

    rate: int
    ceil: int
    parent: str = ""
    bytes: int = 0
    prio: int = 0
    quantum: int = 1514


@dataclass(frozen=True)
class Case:
    """One comparison: HTB's classes by name, or a filter's rate, burst and peak (rate, bucket).

    `steps` are the classes that are others from each of `CHANGES` on, or a filter's rate; a sender in `spans` sends for
    a part of the run only. With `replace` the discipline is deleted and made anew.
    """

    name: str
    of: str
    classes: Mapping[str, Class]
    filter: tuple[int, int] = (0, 0)
    peak: tuple[int, int] | None = None
    steps: Sequence[Mapping[str, Class] | int] = ()
    spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    replace: bool = False

    @property
    def check(self) -> str:
        """The comparison's name."""
        return f"linux-{self.of}-changed" if self.steps else f"linux-{self.of}"

    @property
    def point(self) -> dict[str, str]:
        """The point's label."""
        return {"case": self.name}

    @property
    def senders(self) -> dict[str, int]:
        """Names and sizes of frames."""
        return {name: c.bytes for name, c in self.classes.items() if c.bytes}

    @cached_property
    def trees(self) -> list[Mapping[str, Class]]:
        """The classes at first and from each change on."""
        trees = [self.classes]
        for step in self.steps:
            trees.append({**trees[-1], **(step if isinstance(step, Mapping) else {})})
        return trees

    @cached_property
    def rates(self) -> list[int]:
        """All that can leave at first and from each change on."""
        if self.of != "htb":
            return [self.filter[0], *(step for step in self.steps if isinstance(step, int))]
        ends = [*CHANGES, SECONDS]
        rates = []
        for tree, end in zip(self.trees, ends if self.steps else [SECONDS], strict=True):
            [root] = [c for c in tree.values() if not c.parent]
            there = [name for name in self.senders if self._sends(name)[0] < end <= self._sends(name)[1]]
            rates.append(min(root.ceil, sum(tree[name].ceil for name in there)))
        return rates

    def _sends(self, name: str) -> tuple[float, float]:
        return self.spans.get(name, (0.0, LATER))

    @cached_property
    def asked(self) -> Asked:
        """What the kernel is told."""
        numbers = {name: n + 1 for n, name in enumerate(self.classes)}
        if self.of != "htb":
            told = [
                [self._filter("add", rate)] if n == 0 else [self._filter("change", rate)]
                for n, rate in enumerate(self.rates)
            ]
            return self._asked(told, dict.fromkeys(numbers, 0))
        root = ["qdisc", "add", *DEVICE, "root", "handle", "1:", "htb"]
        delete = ["qdisc", "del", *DEVICE, "root"]
        told = [[root, *(self._class("add", name, tree) for name in tree)] for tree in self.trees]
        if self.replace:
            told[1:] = [[delete, *commands] for commands in told[1:]]
        else:
            told[1:] = [
                [self._class("change", name, tree) for name in tree if tree[name] != before[name]]
                for before, tree in itertools.pairwise(self.trees)
            ]
        return self._asked(told, {name: MAJOR + number for name, number in numbers.items()})

    def _filter(self, what: str, rate: int) -> list[str]:
        own = ["root", "tbf", "rate", f"{rate}bit", "burst", f"{self.filter[1]}b", "limit", "200000"]
        if self.peak:
            own += ["peakrate", f"{self.peak[0]}bit", "mtu", f"{self.peak[1]}"]
        return ["qdisc", what, *DEVICE, *own]

    def _class(self, what: str, name: str, tree: Mapping[str, Class]) -> list[str]:
        numbers = {name: n + 1 for n, name in enumerate(self.classes)}
        c = tree[name]
        parent = f"1:{numbers[c.parent]:x}" if c.parent else "1:"
        own = ["htb", "rate", f"{c.rate}bit", "ceil", f"{c.ceil}bit", "burst", f"{BURST}b", "cburst", f"{BURST}b"]
        turns = ["prio", str(c.prio), "quantum", str(c.quantum)] if c.bytes else []
        return ["class", what, *DEVICE, "parent", parent, "classid", f"1:{numbers[name]:x}", *own, *turns]

    def _asked(self, told: list[list[list[str]]], priorities: Mapping[str, int]) -> Asked:
        senders = [
            Sender(0.0, size, "greedy", priorities[name], self.spans.get(name)) for name, size in self.senders.items()
        ]
        edges = [WARMUP, *(CHANGES if self.steps else ()), SECONDS]
        spans = [until - since for since, until in itertools.pairwise(edges)]
        rate = sum(rate * span for rate, span in zip(self.rates, spans, strict=True)) / (SECONDS - WARMUP)
        return Asked(told[0], senders, rate, SECONDS, WARMUP, tuple(zip(CHANGES, told[1:], strict=False)))

    def _over(self, values: Sequence[Any]) -> Any:
        """A parameter of ours: what it always is, or the steps in which it changes."""
        if all(value == values[0] for value in values):
            return values[0]
        return {"steps": [[f"{at} s", value] for at, value in zip((0.0, *CHANGES), values, strict=True)]}

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours; every sender asks for more than there is."""
        stages: dict[str, Any] = {}
        queue: dict[str, Any] = {}
        if self.of == "shaper":
            rate, burst = self.filter
            stages["shaper"] = {"kind": "shaper", "rate": f"{rate} bit/s", "burst": f"{burst} B", "limit": "200 kB"}
            if self.peak:
                stages["shaper"] |= {"peak_rate": f"{self.peak[0]} bit/s", "mtu": f"{self.peak[1]} B"}
        elif self.of == "tbf":
            rates = self._over([f"{rate} bit/s" for rate in self.rates])
            scheduler: dict[str, Any] = {"kind": "tbf", "rate": rates, "burst": f"{self.filter[1]} B"}
            if self.peak:
                scheduler |= {"peak_rate": f"{self.peak[0]} bit/s", "mtu": f"{self.peak[1]} B"}
            queue = {"limit": "200 kB", "scheduler": scheduler}
        else:
            queue = {"scheduler": {"kind": "htb", "classes": {name: self._table(name) for name in self.classes}}}
            if self.replace:
                queue["change"] = "replace"
        groups = {name: self._group(name, size, [*stages, "link"]) for name, size in self.senders.items()}
        links = {"link": {"rate": "1 Gbit/s", **({"queue": queue} if queue else {})}}
        told: dict[str, Any] = {"duration": f"{SECONDS} s", "warmup": f"{WARMUP} s", "links": links, "groups": groups}
        if self.steps:
            told["record"] = {"series": [{"of": of, "every": "500 ms"} for of in self._series.values()]}
        return Scenario(told | ({"stages": stages} if stages else {}))

    def _table(self, name: str) -> dict[str, Any]:
        each = [tree[name] for tree in self.trees]
        table: dict[str, Any] = {
            "rate": self._over([f"{c.rate} bit/s" for c in each]),
            "ceil": self._over([f"{c.ceil} bit/s" for c in each]),
            "burst": f"{BURST} B",
            "cburst": f"{BURST} B",
        }
        if each[0].parent:
            table["parent"] = each[0].parent
        if each[0].bytes:
            table |= {
                "prio": self._over([c.prio for c in each]),
                "quantum": self._over([f"{c.quantum} B" for c in each]),
            }
            if self.spans:
                table["leaf"] = {"limit": f"{LEAF} packets"}
        return table

    def _group(self, name: str, size: int, path: list[str]) -> dict[str, Any]:
        traffic: dict[str, Any] = {"kind": "poisson", "rate": "20 Mbit/s", "packet": f"{size} B"}
        begin, end = self._sends(name)
        if begin > 0:
            traffic["start"] = f"{begin} s"
        if end < SECONDS:
            traffic["until"] = f"{end} s"
        return {"users": 1, "path": path, "class": name if self.of == "htb" else "be", "traffic": traffic}

    @property
    def _series(self) -> dict[str, str]:
        """What has been sent, by sender."""
        if self.of == "htb":
            return {name: f"links.link.queue.classes.{name}.sent_bytes" for name in self.senders}
        return dict.fromkeys(self.senders, "links.link.delivered_bytes")

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """Rates of frames by sender."""
        if not self.steps:
            return self._named(record.json["groups"][name]["throughput_bps"] for name in self.senders)
        found = {}
        for when, (since, until) in SPANS.items():
            rates = []
            for name in self._series.values():
                times, sent = record.arrays(name)
                rates.append(8 * float(sent[(times > since) & (times <= until)].sum()) / (until - since))
            found |= self._named(rates, when)
        return found

    def metrics(self, packets: Packets) -> dict[str, float]:
        """The same of what a kernel let pass."""
        if not self.steps:
            return self._named(self.asked.rates(packets))
        found = {}
        for when, span in SPANS.items():
            found |= self._named(self.asked.rates(packets, span), when)
        return found

    def _named(self, rates: Iterable[float], when: str = "") -> dict[str, float]:
        """By sender; of who does not send then there is nothing to compare."""
        until = SPANS[when][1] if when else SECONDS
        name_of = f"rate of {{}} {when}".rstrip() + " (bit/s)"
        return {
            name_of.format(name): rate
            for name, rate in zip(self.senders, rates, strict=True)
            if self._sends(name)[0] < until <= self._sends(name)[1]
        }


def points() -> Iterator[Case]:
    """Borrowing by quantum and priority, ceilings, three levels, unlike frames; filters of one and two buckets."""
    root = {"all": Class(8 * MBIT, 8 * MBIT)}

    def leaf(rate: float, ceil: float = 8, parent: str = "all", size: int = 1014, **others: int) -> Class:
        return Class(int(rate * MBIT), int(ceil * MBIT), parent, size, **others)

    yield Case("quantum", "htb", {**root, "b": leaf(2, quantum=6000), "c": leaf(1, quantum=2000)})
    yield Case("priority", "htb", {**root, "b": leaf(1, prio=1), "c": leaf(1.5, prio=0), "d": leaf(0.5, prio=1)})
    yield Case("ceilings", "htb", {**root, "b": leaf(1, 1.5), "c": leaf(1, 2.5), "d": leaf(1, 8)})
    yield Case(
        "levels",
        "htb",
        {
            **root,
            "b": Class(4 * MBIT, 6 * MBIT, "all"),
            "c": Class(2 * MBIT, 8 * MBIT, "all"),
            "d": leaf(1, parent="b", quantum=3000),
            "e": leaf(1, parent="b", quantum=1514),
            "f": leaf(0.5, parent="c", quantum=4000),
            "g": leaf(0.5, parent="c", quantum=2000),
        },
    )
    yield Case(
        "unlike frames",
        "htb",
        {**root, "b": leaf(0.5, size=1514, quantum=3000), "c": leaf(0.5, size=214, quantum=3000)},
    )
    one = {"a": Class(0, 0, bytes=1014)}
    yield Case("one bucket", "tbf", one, (3 * MBIT, BURST))
    yield Case("two buckets", "tbf", one, (3 * MBIT, BURST), (24 * MBIT, 45_000))
    # Sessions of a gateway that gives each its share, 8 Mbit/s or half of that: the second comes, then the first goes.
    sessions = {"b": (0.0, CHANGES[1]), "c": (CHANGES[0], LATER)}
    alone, half = leaf(8), leaf(4, 4)
    yield Case(
        "equal shares",
        "htb",
        {**root, "b": alone, "c": leaf(0.1, 0.1)},
        steps=[{"b": half, "c": half}, {"c": alone}],
        spans=sessions,
    )
    # The same with shares by level of a ladder (Ben Ameur et al. 2016): 1.1 times 4256 and 1632 kbit/s.
    high, low = leaf(4.6816, 4.6816), leaf(1.7952, 1.7952)
    shares = {**root, "b": high, "c": leaf(0.1, 0.1)}
    steps = [{"c": low}, {"c": high}]
    yield Case("shares by level", "htb", shares, steps=steps, spans=sessions)
    yield Case("shares by level, made anew", "htb", shares, steps=steps, spans=sessions, replace=True)
    yield Case(
        "borrowing",
        "htb",
        {**root, "b": leaf(2, quantum=6000), "c": leaf(1, quantum=2000)},
        steps=[{"b": leaf(2, quantum=2000), "c": leaf(1, quantum=6000)}, {"b": leaf(2, 2.5, quantum=2000)}],
    )
    yield Case(
        "a narrower root",
        "htb",
        {**root, "b": leaf(1, 3), "c": leaf(1, 8)},
        steps=[{"all": Class(4 * MBIT, 4 * MBIT)}, {"all": Class(6 * MBIT, 6 * MBIT)}],
    )
    # A leaf keeps its priority until it has been empty: b never is; it changes before b begins in the second case.
    ranks = {**root, "b": leaf(1, prio=0), "c": leaf(1.5, prio=1)}
    steps = [{"b": leaf(1, prio=2)}, {"c": leaf(1.5, 3, prio=1)}]
    yield Case("priority while it sends", "htb", ranks, steps=steps)
    later = {"b": (CHANGES[0] + 0.2, LATER)}
    yield Case("priority while it is empty", "htb", ranks, steps=steps, spans=later)
    yield Case("another rate", "tbf", one, (3 * MBIT, BURST), steps=[6 * MBIT, 1_500_000])
    # A kernel has no stages: its filter is a queue of the device.
    yield Case("one bucket", "shaper", one, (3 * MBIT, BURST))
    yield Case("two buckets", "shaper", one, (3 * MBIT, BURST), (24 * MBIT, 45_000))
