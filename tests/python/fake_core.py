"""A stand-in for the Rust core: fast, and able to misbehave on demand, for tests of what happens around a run.

Tests of results use the real core; these test the store, the study runner and the command line against a core that can
be slow, broken, or large at will. A scenario of it is any tree with `duration`; `links.*.delay`, `sleep`, `broken`,
`panic` (a list of seeds), `memory`, `uses` (bytes) and `spread` steer it. The environment variable FAKE_LOG names a
file that gets a line for each run that was computed: scenario hash, seed, process. FAKE_BEGUN names a file that appears
when a run begins.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import sys
import threading
import time
import types
from typing import Any

__version__ = "0.0.0"
BUILD_PROFILE = "release"
ENGINE_ID = "fa4efa4efa4efa4e"
RECORD_VERSION = 2
UNMEASURED = ("wall_s", "cpu_s", "record_hash", "engine", "record_version")

_stop = threading.Event()
calls: list[tuple[str, int]] = []
"""(scenario hash, seed) of every run that was asked for, in this process."""


class ScenarioError(ValueError):
    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__(f"{len(errors)} errors")
        self.errors = errors


class Interrupted(Exception):
    pass


class OutOfMemory(Exception):
    pass


class StageError(Exception):
    pass


class PanicException(BaseException):
    """As pyo3 raises it."""


class Scenario:
    def __init__(self, tree_json: str) -> None:
        tree = json.loads(tree_json)
        tree.pop("sweep", None)
        tree.pop("title", None)
        errors = []
        if "duration" not in tree:
            errors.append(("duration", "is missing."))
        known = ("duration", "links", "groups", "sleep", "broken", "panic", "memory", "uses", "spread", "record")
        errors += [(name, "unknown key.") for name in tree if name not in known]
        for name, link in tree.get("links", {}).items():
            delay = link.get("delay", "0 s")
            if not isinstance(delay, str) or delay.startswith("-"):
                errors.append((f"links.{name}.delay", f"{delay}: a delay is not negative."))
        if errors:
            raise ScenarioError(errors)
        self.tree = tree
        self.canonical = json.dumps(tree, sort_keys=True)
        self.hash = hashlib.sha256(self.canonical.encode()).hexdigest()[:32]
        self.memory_bytes = int(tree.get("memory", 1000))
        self.marks = dict.fromkeys(tree.get("links", {}), (False, False))
        self.duration_s, self.warmup_s = 2.0, 1.0


class Record:
    def __init__(self, text: str, record_hash: str, series: dict[str, tuple[bytes, bytes]]) -> None:
        self.json = text
        self.record_hash = record_hash
        self._series = series

    @property
    def series_names(self) -> list[str]:
        return list(self._series)

    def series(self, name: str) -> tuple[bytes, bytes]:
        return self._series[name]


def run(scenario: Scenario, seed: int, memory: int | None = None) -> Record:
    calls.append((scenario.hash, seed))
    tree = scenario.tree
    if memory is not None and tree.get("uses", 0) > memory:
        raise OutOfMemory("more than 1.0 GiB of memory at 0.5 s of simulated time: groups.a 1.0 GiB")
    if begun := os.environ.get("FAKE_BEGUN"):
        open(begun, "w").close()
    end = time.monotonic() + float(tree.get("sleep", 0.0))
    while time.monotonic() < end:
        if _stop.is_set():
            raise Interrupted
        time.sleep(0.005)
    if tree.get("broken"):
        raise RuntimeError("packets went missing")
    if seed in tree.get("panic", []):
        raise PanicException("an index was out of bounds")
    if log := os.environ.get("FAKE_LOG"):
        with open(log, "ab", buffering=0) as file:  # one write, so that processes do not mix their lines
            file.write(f"{scenario.hash} {seed} {os.getpid()}\n".encode())
    noise = random.Random(f"{scenario.hash}{seed}").gauss(0, float(tree.get("spread", 0.1)))
    delay = tree.get("links", {}).get("bottleneck", {}).get("delay", "5 ms")
    doc: dict[str, Any] = {
        "scenario_hash": scenario.hash,
        "seed": seed,
        "engine": ENGINE_ID,
        "record_version": RECORD_VERSION,
        "window_s": [1.0, 2.0],
        "events": 1000,
        "packet_hops": 4000,
        "wall_s": random.random(),
        "cpu_s": random.random(),
        "groups": {
            "heavy": {"users": 1, "throughput_bps": 6e6 + noise * 1e6, "users_goodput_bps": [5e6], "losses": 3},
            "light": {"users": 2, "throughput_bps": 2e6 - noise * 1e6, "users_goodput_bps": [1.0, 2.0], "losses": None},
        },
        "links": {
            "bottleneck": {
                "utilisation": 1.0,
                "queue_packets_mean": 12.5,
                "queue_delay_s_mean": float(delay.split()[0]) / 1e3 + 0.015,
                "queue_delay_s_p99": 0.03,
                "queue_delay_s_max": 0.04,
                "drops": {"limit": 4},
            }
        },
    }
    kept = {name: value for name, value in doc.items() if name not in UNMEASURED}
    record_hash = hashlib.sha256(json.dumps(kept).encode()).hexdigest()
    doc["record_hash"] = record_hash
    series = {}
    for wanted in tree.get("record", {}).get("series", []):
        values = [float(seed), 2.0, 3.0]
        series[wanted["of"]] = (struct.pack("<3d", 0.0, 0.1, 0.2), struct.pack("<3d", *values))
    return Record(json.dumps(doc), record_hash, series)


def record_hash(text: str, series: list[tuple[str, bytes, bytes]], version: int | None = None) -> str:
    kept = {k: v for k, v in json.loads(text).items() if k not in UNMEASURED}
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()


def request_stop() -> None:
    _stop.set()


def reached_s() -> float:
    return 0.0


def clear_stop() -> None:
    _stop.clear()


def schema() -> str:
    return json.dumps({"mechanisms": [], "metrics": []})


class Mechanism:
    def __init__(self, kind: str, params_json: str) -> None:
        raise ValueError(f"no mechanism {kind}")


def install() -> None:
    """Become `evenflow._core` in this process (before evenflow is imported)."""
    module: types.ModuleType = sys.modules[__name__]
    sys.modules["evenflow._core"] = module
