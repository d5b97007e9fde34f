"""Policing by a Linux kernel (`tc … action police`) beside the stage `policer`: who passes how much of what he sends.

A kernel has RFC 2697 without an excess burst: what conforms passes, the rest is dropped. In bytes and in packets, of
senders that send more than may pass, and of some that send just as much, where the depth of the bucket decides.
`linux_queues` says how a kernel is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evenflow import Record, Scenario
from linux_queues import DEVICE, Asked, Packets, Sender

SECONDS, WARMUP = 12.0, 2.0
MBIT = 1_000_000


@dataclass(frozen=True)
class Case:
    """One comparison: rate (bit/s or packets/s) and burst (bytes or packets), and the senders: bit/s, bytes of frames.

    `least` (bit/s) is what must pass on a machine that is not too busy.
    """

    name: str
    rate: int
    burst: int
    senders: Mapping[str, tuple[float, int]]
    least: float
    unit: str = "bytes"
    of: str = "policer"

    @property
    def check(self) -> str:
        """The comparison's name."""
        return "linux-policer"

    @property
    def point(self) -> dict[str, str]:
        """The point's label."""
        return {"case": self.name}

    @cached_property
    def asked(self) -> Asked:
        """What the kernel is told."""
        told = ["rate", f"{self.rate}bit", "burst", f"{self.burst}b"]
        if self.unit == "packets":
            told = ["pkts_rate", str(self.rate), "pkts_burst", str(self.burst)]
        filters = ["filter", "add", *DEVICE, "egress", "matchall", "action", "police", *told, "drop"]
        senders = [Sender(rate, size) for rate, size in self.senders.values()]
        return Asked([["qdisc", "add", *DEVICE, "clsact"], filters], senders, self.least, SECONDS, WARMUP)

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours."""
        rate, burst = f"{self.rate} bit/s", f"{self.burst} B"
        if self.unit == "packets":
            rate, burst = f"{self.rate} packets/s", f"{self.burst} packets"
        groups: dict[str, Any] = {
            name: {
                "users": 1,
                "path": ["police", "link"],
                "traffic": {"kind": "poisson", "rate": f"{sent} bit/s", "packet": f"{size} B"},
            }
            for name, (sent, size) in self.senders.items()
        }
        return Scenario(
            {
                "duration": f"{SECONDS} s",
                "warmup": f"{WARMUP} s",
                "stages": {"police": {"kind": "policer", "rate": rate, "burst": burst}},
                "links": {"link": {"rate": "1 Gbit/s"}},
                "groups": groups,
            }
        )

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """Rates of frames that passed, by sender."""
        groups = record.json["groups"]
        return {f"rate of {name} (bit/s)": groups[name]["throughput_bps"] for name in self.senders}

    def metrics(self, packets: Packets) -> dict[str, float]:
        """The same of what a kernel let pass."""
        names = [f"rate of {name} (bit/s)" for name in self.senders]
        return dict(zip(names, self.asked.rates(packets), strict=True))


def points() -> Iterator[Case]:
    """One sender each, that sends more than may pass or just as much, in bytes and in packets.

    Two would not be the kernel's own affair: a process that comes late sends what is due of the first before what is
    due of the second, and the first finds more tokens.
    """
    rate = 3 * MBIT
    yield Case("more than passes", rate, 15_000, {"a": (6.0 * MBIT, 1014)}, rate)
    yield Case("small frames", MBIT, 5_000, {"a": (2.0 * MBIT, 214)}, MBIT)
    yield Case("as much as passes", rate, 6_000, {"a": (3.0 * MBIT, 1014)}, 2.0 * MBIT)
    yield Case("more packets than pass", 400, 20, {"a": (6.0 * MBIT, 1014)}, 400 * 8.0 * 1014, unit="packets")
    yield Case("as many packets as pass", 370, 6, {"a": (3.0 * MBIT, 1014)}, 2.0 * MBIT, unit="packets")
