"""HTB and TBF of the running Linux kernel beside ours: who sends how much when everybody always has something to send.

`linux/shape.py` puts the kernel's between two virtual devices of a network namespace and sees what leaves when; a run
takes as long as it simulates. Rates are of frames. Buckets are deep enough (15 ms and more at their rates) that a timer
that fires late costs no tokens. Ours is the same tree at a link of 1 Gbit/s, in real numbers, as kernels count since
3.10.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from peers import CACHE

HERE = Path(__file__).resolve().parent
RUNS = 3
SECONDS, WARMUP = 12.0, 2.0
BURST = 15_000
MBIT = 1_000_000
CANNOT = 3  # shape.py's exit code where the machine cannot


@dataclass(frozen=True)
class Class:
    """A class of HTB: rates in bit/s; `bytes` are the frames that its sender sends, 0 where others are below it."""

    rate: int
    ceil: int
    parent: str = ""
    bytes: int = 0
    prio: int = 0
    quantum: int = 1514


@dataclass(frozen=True)
class Case:
    """One comparison: HTB's classes by name, or a filter's rate, burst and peak (rate, bucket)."""

    name: str
    of: str
    classes: Mapping[str, Class]
    filter: tuple[int, int] = (0, 0)
    peak: tuple[int, int] | None = None

    @property
    def senders(self) -> dict[str, int]:
        """Names and sizes of frames."""
        return {name: c.bytes for name, c in self.classes.items() if c.bytes}

    @cached_property
    def job(self) -> dict[str, Any]:
        """What shape.py is to do."""
        numbers = {name: n + 1 for n, name in enumerate(self.classes)}
        if self.of == "tbf":
            rate, burst = self.filter
            qdisc = ["root", "tbf", "rate", f"{rate}bit", "burst", f"{burst}b", "limit", "200000"]
            if self.peak:
                qdisc += ["peakrate", f"{self.peak[0]}bit", "mtu", f"{self.peak[1]}"]
            return {"qdisc": [qdisc], "classes": [], "senders": [[0, b] for b in self.senders.values()]}
        classes = []
        for name, c in self.classes.items():
            parent = f"1:{numbers[c.parent]:x}" if c.parent else "1:"
            own = ["htb", "rate", f"{c.rate}bit", "ceil", f"{c.ceil}bit", "burst", f"{BURST}b", "cburst", f"{BURST}b"]
            turns = ["prio", str(c.prio), "quantum", str(c.quantum)] if c.bytes else []
            classes.append(["parent", parent, "classid", f"1:{numbers[name]:x}", *own, *turns])
        senders = [[(1 << 16) + numbers[name], size] for name, size in self.senders.items()]
        return {"qdisc": [["root", "handle", "1:", "htb"]], "classes": classes, "senders": senders}

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours; every sender asks for more than there is."""
        if self.of == "tbf":
            rate, burst = self.filter
            scheduler: dict[str, Any] = {"kind": "tbf", "rate": f"{rate} bit/s", "burst": f"{burst} B"}
            if self.peak:
                scheduler |= {"peak_rate": f"{self.peak[0]} bit/s", "mtu": f"{self.peak[1]} B"}
            queue: dict[str, Any] = {"limit": "200 kB", "scheduler": scheduler}
        else:
            tables = {}
            for name, c in self.classes.items():
                table = {
                    "rate": f"{c.rate} bit/s",
                    "ceil": f"{c.ceil} bit/s",
                    "burst": f"{BURST} B",
                    "cburst": f"{BURST} B",
                }
                if c.parent:
                    table["parent"] = c.parent
                tables[name] = table | ({"prio": c.prio, "quantum": f"{c.quantum} B"} if c.bytes else {})
            queue = {"scheduler": {"kind": "htb", "classes": tables}}
        groups = {
            name: {
                "users": 1,
                "path": ["link"],
                "class": name if self.of == "htb" else "be",
                "traffic": {"kind": "poisson", "rate": "20 Mbit/s", "packet": f"{size} B"},
            }
            for name, size in self.senders.items()
        }
        links = {"link": {"rate": "1 Gbit/s", "queue": queue}}
        return Scenario({"duration": f"{SECONDS} s", "warmup": f"{WARMUP} s", "links": links, "groups": groups})

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """Rates of frames by sender."""
        return {f"rate of {name} (bit/s)": record.json["groups"][name]["throughput_bps"] for name in self.senders}

    def metrics(self, left: Sequence[Sequence[float]]) -> dict[str, float]:
        """The same of what a kernel let pass."""
        sent = [0.0] * len(self.senders)
        for sender, at, size in left:
            if WARMUP <= at < SECONDS:
                sent[int(sender)] += size
        rates = [8 * count / (SECONDS - WARMUP) for count in sent]
        return {f"rate of {name} (bit/s)": rate for name, rate in zip(self.senders, rates, strict=True)}


def points() -> Iterator[Case]:
    """Borrowing by quantum and priority, ceilings, three levels, unlike frames; filters of one and two buckets."""
    root = {"all": Class(8 * MBIT, 8 * MBIT)}

    def leaf(rate: float, ceil: float = 8, parent: str = "all", size: int = 1014, **others: int) -> Class:
        return Class(int(rate * MBIT), int(ceil * MBIT), parent, size, **others)

    yield Case("quantum", "htb", {**root, "b": leaf(2, quantum=6000), "c": leaf(1, quantum=2000)})
    yield Case("priority", "htb", {**root, "b": leaf(1, prio=1), "c": leaf(1.5, prio=0), "d": leaf(0.5, prio=1)})
    yield Case("ceilings", "htb", {**root, "b": leaf(1, 1.5), "c": leaf(1, 2.5), "d": leaf(1, 8)})
    yield Case(
        "levels",
        "htb",
        {
            **root,
            "b": Class(4 * MBIT, 6 * MBIT, "all"),
            "c": Class(2 * MBIT, 8 * MBIT, "all"),
            "d": leaf(1, parent="b", quantum=3000),
            "e": leaf(1, parent="b", quantum=1514),
            "f": leaf(0.5, parent="c", quantum=4000),
            "g": leaf(0.5, parent="c", quantum=2000),
        },
    )
    yield Case(
        "unlike frames",
        "htb",
        {**root, "b": leaf(0.5, size=1514, quantum=3000), "c": leaf(0.5, size=214, quantum=3000)},
    )
    one = {"a": Class(0, 0, bytes=1014)}
    yield Case("one bucket", "tbf", one, (3 * MBIT, BURST))
    yield Case("two buckets", "tbf", one, (3 * MBIT, BURST), (24 * MBIT, 45_000))


class Kernel:
    """HTB and TBF of the kernel this runs on."""

    name = "Linux"

    def __init__(self) -> None:
        self.program = HERE / "linux" / "shape.py"

    def command(self) -> list[str]:
        """In a namespace of its own."""
        return ["unshare", "--map-root-user", "--net", sys.executable, str(self.program)]

    def missing(self) -> str | None:
        """Why the kernel cannot be asked here; None if it can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        for needed in ("unshare", "ip", "tc"):
            if not shutil.which(needed):
                return f"no {needed} (sudo apt-get install iproute2 util-linux)"
        for case in {case.of: case for case in points()}.values():
            done = self.run(case, 0.1)
            if done.returncode != 0:
                why = done.stderr.strip().splitlines()
                return f"{case.of}: {why[-1] if why else done.returncode} (sudo modprobe veth sch_htb sch_tbf)"
        return None

    def describe(self) -> str:
        """For the table's head."""
        return f"sch_htb and sch_tbf of Linux {platform.release()}, {RUNS} runs a point in real time"

    def run(self, case: Case, seconds: float) -> subprocess.CompletedProcess[str]:
        """One run."""
        job = json.dumps({**case.job, "seconds": seconds})
        return subprocess.run(self.command(), input=job, capture_output=True, text=True, check=False)

    def metrics(self, case: Case, *, fresh: bool) -> list[dict[str, float]]:
        """Of each run, kept like what other simulators found."""
        text = json.dumps(
            [case.job, SECONDS, WARMUP, RUNS, platform.release(), self.program.read_text(encoding="utf-8")]
        )
        kept = CACHE / f"linux-{case.of}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        if kept.exists() and not fresh:
            found: list[dict[str, float]] = json.loads(kept.read_text(encoding="utf-8"))
            return found
        runs = []
        for _ in range(RUNS):
            done = self.run(case, SECONDS + 0.5)
            if done.returncode != 0:
                raise RuntimeError(f"{self.program.name}: {done.stderr.strip()[-500:]}")
            runs.append(case.metrics(json.loads(done.stdout)["left"]))
        CACHE.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(runs), encoding="utf-8")
        part.replace(kept)
        return runs
