"""Completion times of ten-packet flows beside ns-2: loads of 0.5, 0.8 and 1.1 through drop-tail and RED.

`.venv/bin/python validation/flows.py` prints a table. Flows arrive as a Poisson process at a link of 10 Mbit/s and 50
ms with 50 packets of buffer; a flow begins with a window of two and no handshake, every packet is acknowledged, it is
complete when its sender has the acknowledgement of the last packet (`ns2/flows.tcl`). Evenflow runs the stack `ns2`.
Alone on the link a flow takes 307 ms in both. Half widths are of 95 % intervals over seeds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import evenflow as ef
from evenflow import stats

LOADS = (0.5, 0.8, 1.1)
QUEUES = {
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
MEASURES = ("completed", "completion_s_mean", "completion_s_p50", "completion_s_p95")
WARMUP_S = 20


def evenflow_run(load: float, queue: str, duration_s: int, seed: int) -> dict[str, float]:
    """The transfers of one run of Evenflow."""
    gap_ms = 1e3 * 10 * 1500 * 8 / (load * 10e6)
    stack = {
        "stack": "ns2",
        "handshake": "none",
        "ack_every": 1,
        "initial_window": "2 packets",
        "congestion_control": "newreno",
    }
    traffic = {"kind": "short-flows", "size": "14600 B", "interval": {"exponential": f"{gap_ms} ms"}}
    tree = {
        "duration": f"{duration_s} s",
        "warmup": f"{WARMUP_S} s",
        "links": {"path": {"rate": "10 Mbit/s", "delay": "50 ms", "queue": QUEUES[queue]}},
        "groups": {"users": {"users": 1, "path": ["path"], "traffic": traffic, "tcp": stack}},
    }
    transfers = ef.Scenario(tree).run(seed=seed).json["groups"]["users"]["transfers"]
    return {name: float(transfers[name]) for name in MEASURES}


def ns2_run(load: float, queue: str, duration_s: int, seed: int) -> dict[str, float]:
    """The same of ns-2."""
    script = Path(__file__).with_name("ns2") / "flows.tcl"
    settings = {"load": load, "queue": queue, "duration": duration_s, "warmup": WARMUP_S, "seed": seed}
    command = ["ns", str(script), *(f"{name}={value}" for name, value in settings.items())]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {name: float(printed[name]) for name in MEASURES}


def cell(values: list[float]) -> str:
    """Mean and half width."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.4g}"
    interval = stats.mean_interval(values)
    return f"{mean:.4g} ± {(interval.hi - interval.lo) / 2:.2g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--duration", type=int, default=120, help="seconds of each run")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell")
    arguments = parser.parse_args()
    if shutil.which("ns") is None:
        print("ns-2 is missing: apt-get install ns2", file=sys.stderr)
        return 1
    print("| load | queue | simulator | " + " | ".join(MEASURES) + " |")
    print("|---|---|---|" + "--:|" * len(MEASURES))
    for load in LOADS:
        for queue in QUEUES:
            for name, run in (("Evenflow", evenflow_run), ("ns-2", ns2_run)):
                runs = [run(load, queue, arguments.duration, seed) for seed in range(1, arguments.seeds + 1)]
                cells = [cell([one[measure] for one in runs]) for measure in MEASURES]
                print(f"| {load} | {queue} | {name} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
