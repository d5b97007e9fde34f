"""`make bench`: the cost of the five papers' results tables, each family of runs by one scenario.

The *minutes* of a family are its packets in all runs at paper scale times the CPU time of a packet, on two cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Spread, instructions_per_packet, say, table
from peers import ROOT

FOLDER = ROOT / "benches" / "ledgers"
CORES = 2


@dataclass(frozen=True)
class Family:
    """Runs of a paper that one scenario stands for.

    `packets` is their number at `link` in all runs at paper scale, each run counted once. `durations_s` are two
    lengths for callgrind.
    """

    name: str
    file: str
    link: str
    packets: float
    durations_s: tuple[float, float]


FAMILIES = (
    Family("ABC", "abc-fig07.toml", "bottleneck", 0.872e9, (101.0, 110.0)),
    Family("WTP", "wtp-tab02.toml", "bottleneck", 1.781e9, (61.0, 80.0)),
    Family("re-ECN in LTE", "reecn-fig05.toml", "r2-r3", 6.691e9, (10.0, 15.0)),
    Family("video at home", "has-table02.toml", "gateway", 0.532e9, (60.0, 90.0)),
    Family("ConEx, bulk", "conex-fig08.toml", "bottleneck", 20.921e9, (5.0, 7.0)),
    Family("ConEx, video and short flows", "conex-fig22.toml", "bottleneck", 6.599e9, (20.0, 30.0)),
)


@dataclass
class Cost:
    """Cost of a packet in a family of runs, and of the family. `folded` is the share of crossings without an event."""

    family: str
    instructions: float | None
    events_per_packet: float
    folded: float
    cpu_per_packet_s: Spread
    minutes: float


def costs(run: Callable[[Path], Mapping[str, Any]], binary: Path | None, repeats: int) -> list[Cost]:
    """A row for each family. `run` returns the record of a file; `binary` counts instructions."""
    rows = []
    for family in FAMILIES:
        say(f"{family.name} ...")
        path = FOLDER / family.file
        records = [run(path) for _ in range(repeats)]
        packets = records[0]["links"][family.link]["delivered_packets"]
        cpu = Spread.of([record["cpu_s"] / packets for record in records])
        rows.append(
            Cost(
                family.name,
                instructions_per_packet(binary, path, family.durations_s, 1, family.link) if binary else None,
                records[0]["events"] / packets,
                records[0]["folded"],
                cpu,
                family.packets * cpu.median / CORES / 60,
            )
        )
    return rows


def section(rows: Sequence[Cost]) -> list[str]:
    """The report's part: paragraphs of Markdown."""
    header = ["family", "instructions per packet", "events per packet", "folded", "ns per packet", "ledger minutes"]
    lines = [
        [
            row.family,
            "–" if row.instructions is None else f"{row.instructions:.0f}",
            f"{row.events_per_packet:.2f}",
            f"{row.folded:.0%}",
            row.cpu_per_packet_s.text(1e9, digits=0),
            f"{row.minutes:.1f}",
        ]
        for row in rows
    ]
    lines.append(["all", "", "", "", "", f"{sum(row.minutes for row in rows):.0f}"])
    return [
        "## Results tables of the papers",
        f"*Ledger minutes*: packets of all runs at paper scale times the CPU time of a packet, on {CORES} cores. "
        "Judging and figures are not in them. *Folded*: the share of link crossings without an event.",
        table(header, lines),
    ]
