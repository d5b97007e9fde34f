"""CoDel, PIE, FQ-CoDel and SFQ of a Linux kernel beside ours: losses, shares and delays of too many datagrams.

The kernel's stands behind a shaper of 5 Mbit/s, HTB with one class (`linux_queues`).

The kernel's PIE adds probabilities up (RFC 8033 section 5.4) and caps its steps (5.5), so ours does here. Losses are
told by the numbers of the packets that left in the window. Its period is 20 ms here, a whole number of ticks at any HZ:
15 ms would be 20 where there are a hundred a second. What the beginning does to its probability takes seconds to go.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from evenflow import Record, Scenario
from linux_queues import DEVICE, Asked, Packets, Sender

RATE = 5e6
BUCKET = 60_000  # bytes, 96 ms at that rate: a timer that fires late costs no tokens
Seen = tuple[float, float, float]
"""Rate (bit/s), drops per packet, mean delay (s) of a sender."""
DROPS = (2, 3, 10, 30, 100, 300)
"""Drops of CoDel's first phase that are looked at."""


@dataclass(frozen=True)
class Case:
    """One comparison: the kernel's discipline as `tc` is told, and our queue."""

    name: str
    of: str
    discipline: Sequence[str]
    queue: Mapping[str, Any]
    senders: Mapping[str, Sender]
    seconds: float = 10.0
    warmup: float = 3.0

    @cached_property
    def asked(self) -> Asked:
        """What the kernel is told."""
        rate, bucket = f"{RATE:.0f}bit", f"{BUCKET}b"
        shape = ("htb", "rate", rate, "ceil", rate, "burst", bucket, "cburst", bucket, "quantum", "1514")
        tc = (
            ("qdisc", "add", *DEVICE, "root", "handle", "1:", "htb", "default", "1"),
            ("class", "add", *DEVICE, "parent", "1:", "classid", "1:1", *shape),
            ("qdisc", "add", *DEVICE, "parent", "1:1", *self.discipline),
        )
        return Asked(tc, tuple(self.senders.values()), RATE, self.seconds, self.warmup)

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours."""
        groups = {
            name: {
                "users": 1,
                "path": ["link"],
                "class": name,
                "traffic": {"kind": sender.kind, "rate": f"{sender.rate:g} bit/s", "packet": f"{sender.size} B"},
            }
            for name, sender in self.senders.items()
        }
        return Scenario(
            {
                "duration": f"{self.seconds} s",
                "warmup": f"{self.warmup} s",
                "links": {"link": {"rate": f"{RATE:g} bit/s", "queue": dict(self.queue)}},
                "groups": groups,
                "record": {"events": ["drop"]} if self.steady else {},
            }
        )

    @property
    def check(self) -> str:
        """The comparison's name."""
        return f"linux-{self.of}-drops" if self.steady else f"linux-{self.of}"

    @property
    def point(self) -> dict[str, str]:
        """The point's label."""
        return {"load": self.name}

    @property
    def steady(self) -> bool:
        """Whether single drops can be foreseen: equal gaps."""
        return all(sender.kind == "cbr" for sender in self.senders.values())

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """What is compared of our record."""
        if self.steady:
            return nth_drops(record.arrays("events.drop.flow")[0].tolist())
        found: list[Seen] = []
        for name in self.senders:
            group = record.json["groups"][name]
            delay = record.json["links"]["link"]["classes"][name]["queue_delay_s_mean"]
            lost = group["losses"] / (group["losses"] + group["delivered_packets"])
            found.append((group["throughput_bps"], lost, delay))
        return self.named(found)

    def metrics(self, packets: Packets) -> dict[str, float]:
        """The same of what a kernel let pass."""
        if self.steady:
            return nth_drops(drops(packets))
        found: list[Seen] = []
        for rate, mine in zip(self.asked.rates(packets), self.asked.measured(packets), strict=True):
            sent = mine[-1][1] - mine[0][1] + 1
            found.append((rate, 1 - len(mine) / sent, sum(packet[3] - packet[2] for packet in mine) / len(mine)))
        return self.named(found)

    def named(self, found: Sequence[Seen]) -> dict[str, float]:
        """Metrics of each sender; of senders that are alike their means."""
        named = dict(zip(self.senders, found, strict=True))
        if len(self.senders) > 1 and len(set(self.senders.values())) == 1:
            rate, lost, delay = map(fmean, zip(*found, strict=True))
            named = {"each": (rate, lost, delay)}
        metrics: dict[str, float] = {}
        for name, (rate, lost, delay) in named.items():
            metrics |= {
                f"rate of {name} (bit/s)": rate,
                f"drops of {name} per packet": lost,
                f"mean delay of {name} (s)": delay,
            }
        return metrics


def drops(packets: Packets) -> list[float]:
    """When packets of one sender were dropped at the head: when the next one left, s."""
    found: list[float] = []
    for before, after in itertools.pairwise(packets):
        found += [after[3]] * int(after[1] - before[1] - 1)
    return found


def nth_drops(times: Sequence[float]) -> dict[str, float]:
    """How long after the first drop others came, s."""
    return {f"drop {n} after the first (s)": times[n - 1] - times[0] for n in DROPS}


CODEL = ("limit", "1000", "target", "5ms", "interval", "100ms", "noecn")
OUR_CODEL: Mapping[str, Any] = {
    "limit": "1000 packets",
    "target": "5 ms",
    "interval": "100 ms",
    "max_packet": "1514 B",
    "ecn": False,
}
PIE = ("limit", "1000", "target", "15ms", "tupdate", "20ms", "alpha", "2", "beta", "20", "noecn")
OUR_PIE: Mapping[str, Any] = {
    "kind": "pie",
    "limit": "1000 packets",
    "target": "15 ms",
    "period": "20 ms",
    "alpha": 2 / 16,
    "beta": 20 / 16,
    "max_burst": "150 ms",
    "mean_packet": "1514 B",
    "ecn_threshold": 0,
    "derandomize": True,
    "cap": True,
}


def points() -> Iterator[Case]:
    """CoDel's drops one by one, and means; PIE; three unlike senders through FQ-CoDel and SFQ."""
    codel = {"kind": "codel", **OUR_CODEL}
    yield Case("120 %", "codel", ("codel", *CODEL), codel, {"a": Sender(1.2 * RATE, kind="cbr")})
    yield Case("150 %", "codel", ("codel", *CODEL), codel, {"a": Sender(1.5 * RATE)})
    for load in (1.2, 2.0):
        senders = {"a": Sender(load * RATE)}
        yield Case(f"{100 * load:g} %", "pie", ("pie", *PIE), OUR_PIE, senders, seconds=20.0, warmup=8.0)
    three = {"a": Sender(1e6), "b": Sender(3e6), "c": Sender(4e6, 514)}
    for limit in (10_240, 1000):
        fair = {"kind": "fq-codel", **OUR_CODEL, "limit": f"{limit} packets", "flows": 1024, "quantum": "1514 B"}
        told = ("fq_codel", "limit", str(limit), *CODEL[2:], "flows", "1024", "quantum", "1514")
        yield Case(f"1, 3 and 4 Mbit/s, {limit} packets", "fq-codel", told, fair, three)
    # Queues so short that it matters whose MTU spares a packet: RFC 8289 section 4.4.
    fair = {"kind": "fq-codel", **OUR_CODEL, "limit": "10240 packets", "flows": 1024, "quantum": "1514 B"}
    told = ("fq_codel", "limit", "10240", *CODEL[2:], "flows", "1024", "quantum", "1514")
    for each in (0.6e6, 0.75e6):
        ten = {f"s{n}": Sender(each) for n in range(10)}
        yield Case(f"ten of {each / 1e6:g} Mbit/s", "fq-codel", told, fair, ten)
    sfq = {"limit": "127 packets", "scheduler": {"kind": "sfq", "quantum": "1514 B"}}
    yield Case("1, 3 and 4 Mbit/s", "sfq", ("sfq", "quantum", "1514", "limit", "127"), sfq, three)
