"""Completion times of ten-packet flows beside ns-2: loads of 0.5, 0.8 and 1.1 through drop-tail and RED.

Flows arrive as a Poisson process at a link of 10 Mbit/s and 50 ms with 50 packets of buffer; a flow begins with a
window of two and no handshake, every packet is acknowledged, it is complete when its sender has the acknowledgement
of the last packet (`ns2/flows.tcl`). Evenflow runs the stack `ns2`. Alone on the link a flow takes 307 ms in both. At
a load of 1.1 flows that are not complete at the end do not count, in either program. Through drop-tail that load is
run again with senders that wait up to a packet's transmission time before each packet (ns-2's `overhead_`, here
`processing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from peers import Ns2, kept

NAME = "short-flows"
SOURCE = Path(__file__).with_name("ns2") / "flows.tcl"
SIDE_BY_SIDE = 2
SEEDS = 5
"""Runs of ns-2 at a point, at most: one takes 5 to 15 s."""

LOADS = (0.5, 0.8, 1.1)
QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"limit": "50 packets"},
    "red": {
        "kind": "red",
        "variant": "ns2",
        "limit": "50 packets",
        "min_threshold": "5 packets",
        "max_threshold": "15 packets",
        "max_probability": 0.1,
        "weight": 0.002,
    },
}
PACKET_MS = 1.2
DURATION_S, WARMUP_S = 120, 20
MEASURES = {
    "completed flows": ("completed", 1.0),
    "completion, mean (ms)": ("completion_s_mean", 1e3),
    "completion, median (ms)": ("completion_s_p50", 1e3),
    "completion, 95 % (ms)": ("completion_s_p95", 1e3),
}


@dataclass(frozen=True)
class Point:
    """One comparison: flows that ask for `load` of the link; `disturbed`: senders wait for up to so many ms."""

    load: float
    queue: str
    disturbed: float = 0.0

    @property
    def label(self) -> dict[str, str | int]:
        """For the table."""
        return {"queue": self.queue, "load": f"{self.load}"} | (
            {"senders wait": f"0 to {self.disturbed} ms"} if self.disturbed else {}
        )

    @property
    def of(self) -> tuple[str, ...]:
        """What it is evidence for."""
        return ("short-flows", self.queue, "newreno", "tcp", "ns2")

    @property
    def scenario(self) -> Scenario:
        """For Evenflow."""
        gap_ms = 1e3 * 10 * 1500 * 8 / (self.load * 10e6)
        stack = {
            "stack": "ns2",
            "handshake": "none",
            "ack_every": 1,
            "initial_window": "2 packets",
            "congestion_control": "newreno",
        }
        group: dict[str, Any] = {
            "users": 1,
            "path": ["path"],
            "traffic": {"kind": "short-flows", "size": "14600 B", "interval": {"exponential": f"{gap_ms} ms"}},
            "tcp": stack,
        }
        if self.disturbed:
            group["processing"] = {"uniform": ["0 s", f"{self.disturbed} ms"]}
        return Scenario(
            {
                "duration": f"{DURATION_S} s",
                "warmup": f"{WARMUP_S} s",
                "links": {"path": {"rate": "10 Mbit/s", "delay": "50 ms", "queue": QUEUES[self.queue]}},
                "groups": {"users": group},
            }
        )

    def command(self, peer: Ns2, seed: int) -> list[str]:
        """For ns-2."""
        settings = {
            "load": self.load,
            "queue": self.queue,
            "duration": DURATION_S,
            "warmup": WARMUP_S,
            "overhead": self.disturbed / 1e3,
            "seed": seed,
        }
        return [str(peer.binary), str(SOURCE), *(f"{name}={value}" for name, value in settings.items())]


def points() -> Iterator[Point]:
    """Every comparison."""
    for queue in QUEUES:
        for load in LOADS:
            yield Point(load, queue)
    yield Point(1.1, "droptail", PACKET_MS)


def runs_of_ns2(peer: Ns2, point: Point, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, float]]:
    """The metrics of ns-2's runs, in seed order, kept like all others'."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = pool.map(lambda seed: kept(SOURCE, point.command(peer, seed), fresh=fresh), seeds[:SEEDS])
        return [measured(printed) for printed in found]


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The compared metrics of one of ours."""
    return measured(record.json["groups"]["users"]["transfers"])


def measured(transfers: Any) -> dict[str, float]:
    """The compared metrics by name."""
    return {name: factor * float(transfers[field]) for name, (field, factor) in MEASURES.items()}
