"""Runs of one scenario in a separate process, for bench.py: a job as JSON on stdin, one JSON line out.

The job is `{"tree": {...}, "seed": 1, "repeats": 1}`. The line is the last run's record with `peak_bytes` (of this
process), `build_profile`, `mss_bytes` (of the first traffic that has a sender), and `run_wall_s`: per repeat, the time
from the scenario's text to the finished record.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from evenflow import _core


def peak_bytes() -> int | None:
    """The peak resident memory of this process, or None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)


def main() -> None:
    job = json.load(sys.stdin)
    text = json.dumps(job["tree"])
    walls: list[float] = []
    record: dict[str, object] = {}
    for _ in range(job.get("repeats", 1)):
        started = time.perf_counter()
        finished = _core.run(_core.Scenario(text), job["seed"])
        walls.append(time.perf_counter() - started)
        record = json.loads(finished.json)
        if finished.series_names:
            record["series_sums"] = {name: sum_of(finished.series(name)[1]) for name in finished.series_names}
    record["run_wall_s"] = walls
    record["mss_bytes"] = mss_bytes(text)
    record["peak_bytes"] = peak_bytes()
    record["build_profile"] = _core.BUILD_PROFILE
    record["engine_id"] = _core.ENGINE_ID
    record["version"] = _core.__version__
    print(json.dumps(record))


def mss_bytes(text: str) -> int:
    """The payload of a full segment, as the canonical form has it whether or not the scenario says it.

    Of the first traffic with a sender of TCP: a group of datagrams (W5's `cross`) has none.
    """
    groups = json.loads(_core.Scenario(text).canonical)["groups"].values()
    first = next(each["tcp"] for group in groups for each in group["traffic"] if "tcp" in each)
    return int(first["mss"].removesuffix(" B"))


def sum_of(values: bytes) -> float:
    """The sum of little-endian float64 values: for a counter's series, what it counted in the window."""
    return float(sum(memoryview(values).cast("d")))


if __name__ == "__main__":
    main()
