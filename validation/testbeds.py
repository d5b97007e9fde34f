"""Shares of two flows that others measured on a testbed (`testbeds.toml`).

Each cell is one run of three minutes, of which the last counts. The Prague of that kernel did not scale its growth by
round trips, so `virtual_rtt` is below all of them. A share agrees within 10 percentage points.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario

DATA = Path(__file__).with_suffix(".toml")
PEER = "testbed"
DESCRIBED = "P. Heist and J. Morton, L4S Tests, github.com/heistp/l4s-tests: Linux 5.4 with L4S, August 2020; one run"
SEEDS = range(1, 6)
WITHIN = 10.0
METRIC = "share of the first flow (%)"

QUEUES: Mapping[str, Mapping[str, Any]] = {
    "dualpi2": {"kind": "dualpi2", "form": "linux", "min_packets": 2},
    "fq_codel": {"kind": "fq-codel"},
    "fq_codel(1q)": {"kind": "codel", "limit": "10240 packets"},
    "fq_codel(1q,1ms/20ms)": {"kind": "codel", "target": "1 ms", "interval": "20 ms", "limit": "10240 packets"},
    "pie": {"kind": "pie", "limit": "1000 packets"},
    "pie(100p/5ms)": {"kind": "pie", "target": "5 ms", "period": "32 ms", "limit": "100 packets"},
}
"""Queues by their names on the testbed; `pfifo` has a limit that depends on the rate.

That kernel's DualPI2 applies its step only to packets that found two others in the L queue.
"""
CONTROLS: Mapping[str, Any] = {
    "prague": {"congestion_control": {"kind": "prague", "virtual_rtt": "1 ms"}},
    "cubic": {"congestion_control": "cubic", "ecn": "classic"},
    "reno": {"congestion_control": "newreno", "ecn": "classic"},
}


@dataclass(frozen=True)
class Flow:
    """A flow: control, round trip in ms, measured Mbit/s."""

    control: str
    rtt: int
    rate: float
    ecn: str = ""

    @property
    def tcp(self) -> dict[str, Any]:
        """Its TCP table."""
        return {"stack": "linux", **CONTROLS[self.control], **({"ecn": self.ecn} if self.ecn else {})}


@dataclass(frozen=True)
class Cell:
    """One comparison."""

    check: str
    queue: str
    rate: int
    flows: tuple[Flow, Flow]

    @property
    def of(self) -> tuple[str, ...]:
        """The mechanisms that it is evidence for."""
        controls = {"reno": "newreno"}
        queue = "droptail" if self.queue == "pfifo" else str(QUEUES[self.queue]["kind"])
        return (queue, "tcp", "linux", *dict.fromkeys(controls.get(f.control, f.control) for f in self.flows))

    @property
    def point(self) -> dict[str, str]:
        """The point's label."""
        first, second = (f"{f.control}{'' if f.ecn != 'off' else ' without ECN'} ({f.rtt} ms)" for f in self.flows)
        queue = {} if self.check != "testbed-classic" else {"queue": self.queue}
        return {**queue, "rate": f"{self.rate} Mbit/s", "flows": f"{first}, {second}"}

    @property
    def measured(self) -> float:
        """The testbed's share of the first flow, in percent."""
        first, second = self.flows
        return 100 * first.rate / (first.rate + second.rate)

    @staticmethod
    def share(record: Record) -> float:
        """Ours."""
        first, second = (record.json["groups"][name]["throughput_bps"] for name in ("first", "second"))
        return float(100 * first / (first + second))

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours."""
        queue = {"limit": f"{20 * self.rate} packets"} if self.queue == "pfifo" else QUEUES[self.queue]
        links: dict[str, Any] = {"line": {"rate": f"{self.rate} Mbit/s", "queue": queue}}
        groups: dict[str, Any] = {}
        for name, flow in zip(("first", "second"), self.flows, strict=True):
            links[f"to-{name}"] = {"delay": f"{flow.rtt / 2} ms"}
            groups[name] = {
                "users": 1,
                "path": [f"to-{name}", "line"],
                "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "0.1 s"]}},
                "tcp": flow.tcp,
            }
        return Scenario({"duration": "180 s", "warmup": "120 s", "links": links, "groups": groups})


def cells() -> Iterator[Cell]:
    """All cells."""
    with DATA.open("rb") as file:
        data = tomllib.load(file)
    for queue, rate, one, rtt, two, other, first, second in data["pairs"]:
        check = f"testbed-{queue.replace('_', '-')}"
        yield Cell(check, queue, rate, (Flow(one, rtt, first), Flow(two, other, second)))
    for queue, control, ecn, first, second in data["classic"]:
        yield Cell("testbed-classic", queue, 50, (Flow("prague", 20, first), Flow(control, 20, second, ecn)))
