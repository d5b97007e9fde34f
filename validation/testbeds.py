"""Shares of competing flows that others measured on testbeds (`testbeds.toml`).

Each cell is one run. The Prague of that kernel did not scale its growth by round trips, so `virtual_rtt` is below all
of them. A share agrees within 10 percentage points.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario

DATA = Path(__file__).with_suffix(".toml")
PEER = "testbed"
DESCRIBED = (
    "github.com/heistp/l4s-tests (P. Heist and J. Morton, Linux 5.4 with L4S, 2020), "
    "github.com/ffund/re-bbr-shared-bottleneck (F. Fund et al., Linux 5.15 on FABRIC, 2024); one run of each cell"
)
SEEDS = range(1, 6)
WITHIN = 10.0
PACKET, FRAME = 1500, 1514  # the testbed counts Ethernet headers
METRIC = "share of the first (%)"

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
    "bbr1": {"congestion_control": "bbr1"},
}


@dataclass(frozen=True)
class Flows:
    """Flows of one kind: control, measured Mbit/s of all, round trip in ms, ECN if not the control's own."""

    control: str
    rate: float
    rtt: int
    ecn: str = ""
    number: int = 1

    @property
    def tcp(self) -> dict[str, Any]:
        """Their TCP table."""
        return {"stack": "linux", **CONTROLS[self.control], **({"ecn": self.ecn} if self.ecn else {})}

    @property
    def label(self) -> str:
        """For the point's label."""
        return f"{self.control}{' without ECN' if self.ecn == 'off' else ''} ({self.rtt} ms)"


@dataclass(frozen=True)
class Cell:
    """One comparison: queue and rate (Mbit/s) of the bottleneck, both kinds of flows, duration and warm-up (s)."""

    check: str
    point: Mapping[str, str | int]
    queue: Mapping[str, Any]
    rate: int
    flows: tuple[Flows, Flows]
    seconds: tuple[int, int] = (180, 120)

    @property
    def of(self) -> tuple[str, ...]:
        """The mechanisms that it is evidence for."""
        controls = dict.fromkeys({"reno": "newreno"}.get(f.control, f.control) for f in self.flows)
        return (str(self.queue.get("kind", "droptail")), "tcp", "linux", *controls)

    @property
    def measured(self) -> float:
        """The testbed's share of the first, in percent."""
        first, second = self.flows
        return 100 * first.rate / (first.rate + second.rate)

    @staticmethod
    def share(record: Record) -> float:
        """Ours."""
        first, second = (record.json["groups"][name]["throughput_bps"] for name in ("first", "second"))
        return float(100 * first / (first + second))

    @property
    def scenario(self) -> Scenario:
        """The same for ours."""
        links: dict[str, Any] = {"line": {"rate": f"{self.rate} Mbit/s", "queue": self.queue}}
        groups: dict[str, Any] = {}
        for name, flows in zip(("first", "second"), self.flows, strict=True):
            links[f"to-{name}"] = {"delay": f"{flows.rtt / 2} ms"}
            groups[name] = {
                "users": 1,
                "path": [f"to-{name}", "line"],
                "traffic": {"kind": "bulk", "flows": flows.number, "start": {"uniform": ["0 s", "0.1 s"]}},
                "tcp": flows.tcp,
            }
        duration, warmup = (f"{seconds} s" for seconds in self.seconds)
        return Scenario({"duration": duration, "warmup": warmup, "links": links, "groups": groups})


def cells() -> Iterator[Cell]:
    """All cells."""
    with DATA.open("rb") as file:
        data = tomllib.load(file)
    for queue, rate, one, rtt, two, other, first, second in data["pairs"]:
        both = Flows(one, first, rtt), Flows(two, second, other)
        point = {"rate": f"{rate} Mbit/s", "flows": f"{both[0].label}, {both[1].label}"}
        settings = {"limit": f"{20 * rate} packets"} if queue == "pfifo" else QUEUES[queue]
        yield Cell(f"testbed-{queue.replace('_', '-')}", point, settings, rate, both)
    for queue, control, ecn, first, second in data["classic"]:
        both = Flows("prague", first, 20), Flows(control, second, 20, ecn)
        point = {"queue": queue, "flows": f"{both[0].label}, {both[1].label}"}
        yield Cell("testbed-classic", point, QUEUES[queue], 50, both)
    for products, number, first, second in data["bbr"]:
        both = Flows("bbr1", first, 40, number=number), Flows("cubic", second, 40, "off")
        point = {"BBRv1 flows": number, "buffer": f"{products} BDP"}
        queue = {"limit": f"{51_200 * products * PACKET // FRAME} B"}
        yield Cell("testbed-bbr", point, queue, 10, both, (1000, 600))
