"""HTB and TBF of a Linux kernel beside ours: who sends how much when everybody always has something to send.

Rates are of frames. Buckets are deep enough (15 ms and more at their rates) that a timer that fires late costs no
tokens. Ours is the same tree at a link of 1 Gbit/s, in real numbers, as kernels count since 3.10. The
stage `shaper` stands beside the kernel's TBF too. `linux_queues` says how a kernel is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evenflow import Record, Scenario
from linux_queues import DEVICE, Asked, Packets, Sender

SECONDS, WARMUP = 12.0, 2.0
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
    """One comparison: HTB's classes by name, or a filter's rate, burst and peak (rate, bucket)."""

    name: str
    of: str
    classes: Mapping[str, Class]
    filter: tuple[int, int] = (0, 0)
    peak: tuple[int, int] | None = None

    @property
    def check(self) -> str:
        """The comparison's name."""
        return f"linux-{self.of}"

    @property
    def point(self) -> dict[str, str]:
        """The point's label."""
        return {"case": self.name}

    @property
    def senders(self) -> dict[str, int]:
        """Names and sizes of frames."""
        return {name: c.bytes for name, c in self.classes.items() if c.bytes}

    @cached_property
    def asked(self) -> Asked:
        """What the kernel is told."""
        numbers = {name: n + 1 for n, name in enumerate(self.classes)}
        if self.of != "htb":
            rate, burst = self.filter
            qdisc = ["root", "tbf", "rate", f"{rate}bit", "burst", f"{burst}b", "limit", "200000"]
            if self.peak:
                qdisc += ["peakrate", f"{self.peak[0]}bit", "mtu", f"{self.peak[1]}"]
            return self._asked([["qdisc", "add", *DEVICE, *qdisc]], rate, dict.fromkeys(numbers, 0))
        tc = [["qdisc", "add", *DEVICE, "root", "handle", "1:", "htb"]]
        for name, c in self.classes.items():
            parent = f"1:{numbers[c.parent]:x}" if c.parent else "1:"
            own = ["htb", "rate", f"{c.rate}bit", "ceil", f"{c.ceil}bit", "burst", f"{BURST}b", "cburst", f"{BURST}b"]
            turns = ["prio", str(c.prio), "quantum", str(c.quantum)] if c.bytes else []
            tc.append(["class", "add", *DEVICE, "parent", parent, "classid", f"1:{numbers[name]:x}", *own, *turns])
        [root] = [c for c in self.classes.values() if not c.parent]
        return self._asked(tc, root.ceil, {name: MAJOR + number for name, number in numbers.items()})

    def _asked(self, tc: list[list[str]], rate: float, priorities: Mapping[str, int]) -> Asked:
        senders = [Sender(0.0, size, "greedy", priorities[name]) for name, size in self.senders.items()]
        return Asked(tc, senders, rate, SECONDS, WARMUP)

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
            rate, burst = self.filter
            scheduler: dict[str, Any] = {"kind": "tbf", "rate": f"{rate} bit/s", "burst": f"{burst} B"}
            if self.peak:
                scheduler |= {"peak_rate": f"{self.peak[0]} bit/s", "mtu": f"{self.peak[1]} B"}
            queue = {"limit": "200 kB", "scheduler": scheduler}
        else:
            tables = {}
            for name, c in self.classes.items():
                table = {
                    "rate": f"{c.rate} bit/s",
                    "ceil": f"{c.ceil} bit/s",
                    "burst": f"{BURST} B",
                    "cburst": f"{BURST} B",
                }
                if c.parent:
                    table["parent"] = c.parent
                tables[name] = table | ({"prio": c.prio, "quantum": f"{c.quantum} B"} if c.bytes else {})
            queue = {"scheduler": {"kind": "htb", "classes": tables}}
        groups = {
            name: {
                "users": 1,
                "path": [*stages, "link"],
                "class": name if self.of == "htb" else "be",
                "traffic": {"kind": "poisson", "rate": "20 Mbit/s", "packet": f"{size} B"},
            }
            for name, size in self.senders.items()
        }
        links = {"link": {"rate": "1 Gbit/s", **({"queue": queue} if queue else {})}}
        told = {"duration": f"{SECONDS} s", "warmup": f"{WARMUP} s", "links": links, "groups": groups}
        return Scenario(told | ({"stages": stages} if stages else {}))

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """Rates of frames by sender."""
        return self._named(record.json["groups"][name]["throughput_bps"] for name in self.senders)

    def metrics(self, packets: Packets) -> dict[str, float]:
        """The same of what a kernel let pass."""
        return self._named(self.asked.rates(packets))

    def _named(self, rates: Iterable[float]) -> dict[str, float]:
        return {f"rate of {name} (bit/s)": rate for name, rate in zip(self.senders, rates, strict=True)}


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
    # A kernel has no stages: its filter is a queue of the device.
    yield Case("one bucket", "shaper", one, (3 * MBIT, BURST))
    yield Case("two buckets", "shaper", one, (3 * MBIT, BURST), (24 * MBIT, 45_000))
