"""The running Linux kernel as a peer where applications talk: requests and responses through linux/dialogue.py.

A run takes as long as it simulates, and what it finds is kept. A client asks four times for a response of one size,
over one connection or over a new one each time, with pauses. What it sees is compared: the time to the first byte
and to the last, on average, from the request (over a new connection: from its opening). The server's packets leave
one after another at the rate of the link. The order of segments, of closes too, is compared in the tests of
crates/transport, with what the same program saw.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from linux import InvalidError
from peers import CACHE, quantity

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "linux" / "dialogue.py"
RUNS = 3
TRIES = 3
LATE = 0.005  # s: a packet later than this is too late


class Kernel:
    """TCP of the kernel this runs on, between two applications."""

    name = "Linux"

    def missing(self) -> str | None:
        """Why the kernel cannot be asked here; None if it can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        answer = self._once({"delay": 0.001, "keep": True, "requests": [{"request": 1, "response": 1, "think": 0}]})
        return f"{answer['cannot'].strip().splitlines()[-1]} (run as root)" if "cannot" in answer else None

    def describe(self) -> str:
        return (
            f"TCP of Linux {platform.release()} (cubic, buffers and timers as the kernel has them) between two "
            f"applications, through linux/dialogue.py; {RUNS} runs a point in real time"
        )

    def metrics(self, scenario: Scenario, *, fresh: bool = False) -> list[dict[str, float]]:
        """`RUNS` runs; raises `InvalidError` where the machine is too busy."""
        return [self._run(job_of(scenario), seed, fresh=fresh) for seed in range(RUNS)]

    def _run(self, job: dict[str, Any], seed: int, *, fresh: bool) -> dict[str, float]:
        parts = [PROGRAM.read_bytes(), platform.release().encode(), json.dumps([job, seed]).encode()]
        path = CACHE / "records" / f"dialogue-{hashlib.sha256(b'/'.join(parts)).hexdigest()[:24]}.json"
        if not fresh and path.exists():
            found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
            return found
        late = 0.0
        for _ in range(TRIES):
            answer = self._once(job)
            if "cannot" in answer:
                raise InvalidError(answer["cannot"])
            late = answer["late_s"]
            if late <= LATE:
                found = seen(answer["transfers"])
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(f".part{os.getpid()}")
                part.write_text(json.dumps(found), encoding="utf-8")
                part.replace(path)
                return found
        raise InvalidError(f"the machine is too busy for real time: a packet was {1e3 * late:.1f} ms late")

    @staticmethod
    def _once(job: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder) / "job.json", Path(folder) / "answer.json"
            asked.write_text(json.dumps(job), encoding="utf-8")
            command = [sys.executable, str(PROGRAM), str(asked), str(answered)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not answered.exists():
                return {"cannot": done.stderr or f"it ended with {done.returncode}"}
            answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
            return answer


def job_of(scenario: Scenario) -> dict[str, Any]:
    """What linux/dialogue.py is asked."""
    tree = scenario.tree
    link, traffic = tree["links"]["bottleneck"], tree["groups"]["asking"]["traffic"]
    one = {
        "request": int(quantity(traffic["request"])),
        "response": int(quantity(traffic["response"])),
        "think": quantity(traffic["think"]),
    }
    return {
        "delay": quantity(link["delay"]),
        "rate": quantity(link["rate"]),
        "keep": traffic["keep_alive"],
        "requests": [one] * traffic["requests"],
    }


def seen(transfers: list[list[float]]) -> dict[str, float]:
    """The compared metrics of the kernel's transfers `[began, first byte, last byte]`."""
    return {
        "first byte (ms)": 1e3 * sum(first - began for began, first, _ in transfers) / len(transfers),
        "last byte (ms)": 1e3 * sum(last - began for began, _, last in transfers) / len(transfers),
    }


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours."""
    found = record.json["groups"]["asking"]["transfers"]
    return {
        "first byte (ms)": 1e3 * found["first_byte_s_mean"],
        "last byte (ms)": 1e3 * found["completion_s_mean"],
    }


def points() -> Iterator[tuple[dict[str, str | int], Scenario]]:
    """Every comparison: label, scenario."""
    base = Scenario.load(HERE / "scenarios" / "linux-dialogue.toml")
    for rate in ("10 Mbit/s", "1 Gbit/s"):
        for keep, think in ((True, "100 ms"), (True, "1 s"), (False, "100 ms")):
            for size in ("1 kB", "10 kB", "100 kB", "1 MB"):
                asked = base.set("links.bottleneck.rate", rate).set("groups.asking.traffic.keep_alive", keep)
                asked = asked.set("groups.asking.traffic.think", think).set("groups.asking.traffic.response", size)
                label: dict[str, str | int] = {
                    "rate": rate,
                    "connection": "kept" if keep else "new",
                    "pause": think,
                    "response": size,
                }
                yield label, asked
