"""Figure 20 of Sanhaji et al. 2015 without a policer, beside ns-2: completion times of flows of ten packets.

The paper's own network: 100 Mbit/s, round trips of 100 ms, a buffer of 100 ms, ten heavy users and ninety light ones
who share the flows 80 to 20, gaps of a gamma law with a mean of 6 ms (its shape is open: 1 here), beside datagrams that
nobody holds back, with gaps of their mean and half of it more or less. The paper has 90 Mbit/s of them, which is a load
of 1.1 with the 20 Mbit/s of the flows; with 60 and 30 Mbit/s it is 0.8 and 0.5. Through drop-tail, RED that drops, and
RED that marks with classic ECN: ns-2 has no accurate feedback (`ns2/figure20.tcl`). A flow is complete when its sender
has the acknowledgement of the last packet; those that are not when the run is over do not count, in either program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conex_ground import STACK
from evenflow import Record, Scenario
from peers import Ns2, kept

NAME = "figure-20"
SOURCE = Path(__file__).with_name("ns2") / "figure20.tcl"
OF = ("short-flows", "red", "cubic", "tcp", "ns2-linux")
NS2_SEEDS, OUR_SEEDS = 3, 5
DURATION_S, WARMUP_S = 70, 10
FLOWS_MBPS, LINE_MBPS = 20, 100
LOADS = (0.5, 0.8, 1.1)
VARIANTS = {"drop-tail": "droptail", "RED": "red", "ECN": "ecn"}


@dataclass(frozen=True)
class Point:
    """One comparison: the queue and its feedback, and what all offer as a share of the line."""

    variant: str
    load: float

    @property
    def label(self) -> dict[str, str | int]:
        """For the table."""
        return {"variant": self.variant, "load": f"{self.load:g}"}

    @property
    def datagrams(self) -> float:
        """Mbit/s of them."""
        return round(self.load * LINE_MBPS - FLOWS_MBPS, 6)

    @property
    def scenario(self) -> Scenario:
        """Ours."""
        queue: dict[str, Any] = {
            "kind": "red",
            "variant": "ns2",
            "spread": "ns2",
            "limit": "833 packets",
            "min_threshold": "83.3 packets",
            "max_threshold": "833 packets",
            "max_probability": 1.0,
            "weight": 1.2e-4,
            "action": "mark" if self.variant == "ECN" else "drop",
        }
        if self.variant == "drop-tail":
            queue = {"kind": "droptail", "limit": "833 packets"}
        tcp = {**STACK, "ecn": "off"}
        if self.variant == "ECN":
            tcp |= {"ecn": "classic", "ecn_on_retransmissions": True}
        flows = {"kind": "short-flows", "arrivals": "flows", "size": "14600 B"}
        groups: dict[str, Any] = {
            name: {"users": users, "path": ["access", "line"], "traffic": {**flows, "share": share}, "tcp": tcp}
            for name, users, share in (("heavy", 10, 0.8), ("light", 90, 0.2))
        }
        datagrams = {"kind": "cbr", "rate": f"{self.datagrams:g} Mbit/s", "packet": "1500 B", "gap": {"jitter": 0.5}}
        groups["datagrams"] = {"users": 1, "path": ["line"], "traffic": datagrams}
        return Scenario(
            {
                "duration": f"{DURATION_S} s",
                "warmup": f"{WARMUP_S} s",
                "arrivals": {"flows": {"interval": {"gamma": ["6 ms", 1.0]}}},
                "links": {
                    "access": {"rate": "1 Gbit/s", "delay": "1 ms", "per": "user"},
                    "line": {"rate": f"{LINE_MBPS} Mbit/s", "delay": "49 ms", "queue": queue},
                },
                "groups": groups,
            }
        )

    def command(self, peer: Ns2, seed: int) -> list[str]:
        """For ns-2."""
        settings = {
            "variant": VARIANTS[self.variant],
            "datagrams": f"{self.datagrams:g}",
            "duration": DURATION_S,
            "warmup": WARMUP_S,
            "seed": seed,
        }
        return [str(peer.binary), str(SOURCE), *(f"{name}={value}" for name, value in settings.items())]


def points() -> Iterator[Point]:
    """Every comparison."""
    for variant in VARIANTS:
        for load in LOADS:
            yield Point(variant, load)


def runs_of_ns2(peer: Ns2, point: Point, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, float]]:
    """The metrics of ns-2's runs, in seed order, one after the other."""
    return [_compared(kept(SOURCE, point.command(peer, seed), fresh=fresh)) for seed in seeds[:NS2_SEEDS]]


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours."""
    link = record.json["links"]["line"]
    return _compared(
        {
            "drops": sum(link["drops"].values()) / link["arrived_packets"],
            "marks": sum(link["marks"].values()) / link["arrived_packets"],
            "queue_packets_mean": link["queue_packets_mean"],
            "groups": {name: record.json["groups"][name]["transfers"] for name in ("heavy", "light")},
        }
    )


def _compared(found: Mapping[str, Any]) -> dict[str, float]:
    heavy, light = found["groups"]["heavy"], found["groups"]["light"]
    return {
        "completed flows of heavy users": float(heavy["completed"]),
        "completion, heavy, mean (ms)": 1e3 * heavy["completion_s_mean"],
        "completion, heavy, median (ms)": 1e3 * heavy["completion_s_p50"],
        "completion, heavy, 95 % (ms)": 1e3 * heavy["completion_s_p95"],
        "completion, light, mean (ms)": 1e3 * light["completion_s_mean"],
        "mean queue (packets)": found["queue_packets_mean"],
        "marks per packet": found["marks"],
        "drops per packet": found["drops"],
    }
