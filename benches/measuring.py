"""Helpers that measure and write both tables of `make bench`."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from peers import ROOT


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass
class Spread:
    """Smallest, middle and largest of some repeats."""

    low: float
    median: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(min(values), statistics.median(values), max(values))

    def text(self, scale: float = 1.0, digits: int = 2) -> str:
        return " / ".join(f"{value * scale:.{digits}f}" for value in (self.low, self.median, self.high))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    lines.insert(1, " | ".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" for line in lines)


def bench_run_binary() -> Path | str:
    """The Rust example that runs a scenario file without Python, which callgrind measures; or why that cannot be."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (sudo apt-get install valgrind)"
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if cargo is None:
        return "cargo was not found"
    say("building the example bench_run ...")
    build = subprocess.run(
        [cargo, "build", "--release", "--quiet", "-p", "evenflow-sim", "--example", "bench_run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if build.returncode != 0:
        say(build.stderr[-2000:])
        return "the Rust example bench_run could not be built"
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "bench_run"


def instructions_per_packet(
    binary: Path, scenario: Path, durations_s: tuple[float, float], seed: int, link: str = "bottleneck"
) -> float:
    """Exact instructions a packet of a link: the difference of two run lengths under callgrind, in simulated s.

    Raises:
        RuntimeError: callgrind reported no count, or no packet was delivered between the two lengths.
    """
    counts: list[tuple[int, int]] = []
    for duration in durations_s:
        program = [str(binary), str(scenario), str(seed), "--duration", str(duration)]
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *program],
            capture_output=True,
            text=True,
            check=True,
        )
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if collected is None:
            raise RuntimeError(f"callgrind reported no count: {done.stderr[-500:]}")
        packets = json.loads(done.stdout)["links"][link]["delivered_packets"]
        counts.append((int(collected.group(1)), int(packets)))
    (few_instructions, few), (many_instructions, many) = counts
    if many == few:
        raise RuntimeError(f"{scenario.name}: nothing passed {link} between {durations_s} s")
    return (many_instructions - few_instructions) / (many - few)
