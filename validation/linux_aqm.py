"""CoDel, PIE, FQ-CoDel and SFQ of a Linux kernel beside ours: datagrams that nobody holds back, and which left when.

`linux/datagrams.py` puts the kernel's behind a shaper, HTB with one class, between two virtual devices of a network
namespace; a run takes as long as it simulates. Where the running kernel was built without one of the four, a user-mode
one is asked, if it is installed. Every point asks for more than there is, so a run in which less than 99 % of the rate
left was held up by a busy machine: it is repeated, and after three tries left out with the reason.

The kernel's PIE adds probabilities up (RFC 8033 section 5.4) and caps its steps (5.5), so ours does here. Losses are
told by the numbers of the packets that left in the window. Its period is 20 ms here, a whole number of ticks at any HZ:
15 ms would be 20 where there are a hundred a second. What the beginning does to its probability takes seconds to go.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from linux import InvalidError
from peers import CACHE

HERE = Path(__file__).resolve().parent
RUNS, TRIES, SIDE_BY_SIDE = 3, 3, 2
RATE = 5e6
FRAME = 1014
DROPS = (2, 3, 10, 30, 100, 300)
"""Drops of CoDel's first phase that are looked at."""


@dataclass(frozen=True)
class Sender:
    """Datagrams: bit/s and bytes of frames, and their gaps."""

    rate: float
    size: int = FRAME
    kind: str = "poisson"


@dataclass(frozen=True)
class Case:
    """One comparison: the kernel's discipline as `tc` is told, and our queue."""

    name: str
    of: str
    discipline: Sequence[str]
    queue: Mapping[str, Any]
    senders: Mapping[str, Sender]
    seconds: float = 10.0
    warmup: float = 3.0

    def job(self, seed: int, seconds: float | None = None) -> dict[str, Any]:
        """What linux/datagrams.py is to do."""
        senders = [[sender.rate, sender.size, sender.kind] for sender in self.senders.values()]
        told = {"discipline": list(self.discipline), "rate": RATE, "senders": senders, "seed": seed}
        return {**told, "seconds": self.seconds if seconds is None else seconds}

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours."""
        groups = {
            name: {
                "users": 1,
                "path": ["link"],
                "class": name,
                "traffic": {"kind": sender.kind, "rate": f"{sender.rate:g} bit/s", "packet": f"{sender.size} B"},
            }
            for name, sender in self.senders.items()
        }
        return Scenario(
            {
                "duration": f"{self.seconds} s",
                "warmup": f"{self.warmup} s",
                "links": {"link": {"rate": f"{RATE:g} bit/s", "queue": dict(self.queue)}},
                "groups": groups,
                "record": {"events": ["drop"]} if self.steady else {},
            }
        )

    @property
    def check(self) -> str:
        """The comparison's name."""
        return f"linux-{self.of}-drops" if self.steady else f"linux-{self.of}"

    @property
    def steady(self) -> bool:
        """Whether single drops can be foreseen: equal gaps."""
        return all(sender.kind == "cbr" for sender in self.senders.values())

    def metrics_of_ours(self, record: Record) -> dict[str, float]:
        """What is compared of our record."""
        if self.steady:
            return nth_drops(record.arrays("events.drop.flow")[0].tolist())
        found: dict[str, float] = {}
        for name in self.senders:
            group = record.json["groups"][name]
            delay = record.json["links"]["link"]["classes"][name]["queue_delay_s_mean"]
            lost = group["losses"] / (group["losses"] + group["delivered_packets"])
            found |= _named(name, group["throughput_bps"], lost, delay)
        return found

    def metrics(self, packets: Sequence[Sequence[float]]) -> dict[str, float]:
        """The same of what a kernel let pass."""
        if self.steady:
            return nth_drops(drops(packets))
        found: dict[str, float] = {}
        for n, (name, sender) in enumerate(self.senders.items()):
            mine = [packet for packet in packets if packet[0] == n and self.warmup < packet[3] <= self.seconds]
            sent = mine[-1][1] - mine[0][1] + 1
            delay = sum(left - at for _, _, at, left in mine) / len(mine)
            found |= _named(
                name, 8 * sender.size * len(mine) / (self.seconds - self.warmup), 1 - len(mine) / sent, delay
            )
        return found

    def carried(self, packets: Sequence[Sequence[float]]) -> float:
        """How much of the rate left."""
        sizes = [sender.size for sender in self.senders.values()]
        left = sum(sizes[int(packet[0])] for packet in packets if self.warmup < packet[3] <= self.seconds)
        return 8 * left / RATE / (self.seconds - self.warmup)


def _named(name: str, rate: float, lost: float, delay: float) -> dict[str, float]:
    return {f"rate of {name} (bit/s)": rate, f"drops of {name} per packet": lost, f"mean delay of {name} (s)": delay}


def drops(packets: Sequence[Sequence[float]]) -> list[float]:
    """When packets of one sender were dropped at the head: when the next one left, s."""
    found: list[float] = []
    for (_, before, _, _), (_, number, _, left) in itertools.pairwise(packets):
        found += [left] * int(number - before - 1)
    return found


def nth_drops(times: Sequence[float]) -> dict[str, float]:
    """How long after the first drop others came, s."""
    return {f"drop {n} after the first (s)": times[n - 1] - times[0] for n in DROPS}


CODEL = ("limit", "1000", "target", "5ms", "interval", "100ms", "noecn")
OUR_CODEL: Mapping[str, Any] = {
    "limit": "1000 packets",
    "target": "5 ms",
    "interval": "100 ms",
    "max_packet": "1514 B",
    "ecn": False,
}
PIE = ("limit", "1000", "target", "15ms", "tupdate", "20ms", "alpha", "2", "beta", "20", "noecn")
OUR_PIE: Mapping[str, Any] = {
    "kind": "pie",
    "limit": "1000 packets",
    "target": "15 ms",
    "period": "20 ms",
    "alpha": 2 / 16,
    "beta": 20 / 16,
    "max_burst": "150 ms",
    "mean_packet": "1514 B",
    "ecn_threshold": 0,
    "derandomize": True,
    "cap": True,
}


def points() -> Iterator[Case]:
    """CoDel's drops one by one, and means; PIE; three unlike senders through FQ-CoDel and SFQ."""
    codel = {"kind": "codel", **OUR_CODEL}
    yield Case("120 %", "codel", ("codel", *CODEL), codel, {"a": Sender(1.2 * RATE, kind="cbr")})
    yield Case("150 %", "codel", ("codel", *CODEL), codel, {"a": Sender(1.5 * RATE)})
    for load in (1.2, 2.0):
        senders = {"a": Sender(load * RATE)}
        yield Case(f"{100 * load:g} %", "pie", ("pie", *PIE), OUR_PIE, senders, seconds=20.0, warmup=8.0)
    three = {"a": Sender(1e6), "b": Sender(3e6), "c": Sender(4e6, 514)}
    for limit in (10_240, 1000):
        fair = {"kind": "fq-codel", **OUR_CODEL, "limit": f"{limit} packets", "flows": 1024, "quantum": "1514 B"}
        told = ("fq_codel", "limit", str(limit), *CODEL[2:], "flows", "1024", "quantum", "1514")
        yield Case(f"1, 3 and 4 Mbit/s, {limit} packets", "fq-codel", told, fair, three)
    sfq = {"limit": "127 packets", "scheduler": {"kind": "sfq", "quantum": "1514 B"}}
    yield Case("1, 3 and 4 Mbit/s", "sfq", ("sfq", "quantum", "1514", "limit", "127"), sfq, three)


class Kernel:
    """The disciplines of the kernel this runs on, or of a user-mode one."""

    name = "Linux"

    def __init__(self) -> None:
        self.program = HERE / "linux" / "datagrams.py"
        self.release = ""
        self.user_mode = False

    def command(self, job: Path, answer: Path) -> list[str]:
        """In a namespace of its own, or a machine of its own."""
        program = ["-B", str(self.program), str(job), str(answer)]
        if not self.user_mode:
            return ["unshare", "--map-root-user", "--net", sys.executable, *program]
        binary = str(shutil.which("linux.uml"))
        modules = Path(binary).resolve().parents[1] / "lib" / "uml" / "modules"
        machine = [binary, "mem=256M", "rootfstype=hostfs", "rootflags=/", "rw", "quiet", "con=null", "con0=null"]
        return [*machine, f"init={sys.executable}", "--", *program, str(modules)]

    def ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """One run's answer; raises `InvalidError` where the machine cannot."""
        with tempfile.TemporaryDirectory() as folder:
            told, said = Path(folder) / "job.json", Path(folder) / "answer.json"
            told.write_text(json.dumps(job), encoding="utf-8")
            command = self.command(told, said)
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=60 + 3 * job["seconds"],
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise InvalidError(f"{command[0]}: {error}") from None
            if not said.exists():
                raise InvalidError(f"{command[0]}: {' '.join((done.stderr or done.stdout).split())[-300:]}")
            answer: dict[str, Any] = json.loads(said.read_text(encoding="utf-8"))
        if "cannot" in answer:
            raise InvalidError(answer["cannot"])
        return answer

    def missing(self) -> str | None:
        """Why no kernel can be asked here; None if one can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        for needed in ("unshare", "ip", "tc"):
            if not shutil.which(needed):
                return f"no {needed} (sudo apt-get install iproute2 util-linux)"
        reasons = []
        for self.user_mode in (False, True) if shutil.which("linux.uml") else (False,):
            try:
                for case in {case.of: case for case in points()}.values():
                    self.release = self.ask(case.job(1, 0.1))["release"]
            except InvalidError as error:
                reasons.append(str(error))
            else:
                return None
        mend = "sudo modprobe -a veth sch_htb sch_codel sch_pie sch_fq_codel sch_sfq"
        return f"{'; '.join(reasons)} ({mend}, or sudo apt-get install user-mode-linux)"

    def describe(self) -> str:
        """For the table's head."""
        machine = " in user mode" if self.user_mode else ""
        return f"sch_codel, sch_pie, sch_fq_codel and sch_sfq of Linux {self.release}{machine}, {RUNS} runs a point"

    def run(self, case: Case, seed: int, *, fresh: bool) -> dict[str, float]:
        """The metrics of one run, kept like what other simulators found."""
        job = case.job(seed)
        text = json.dumps([job, self.release, self.program.read_text(encoding="utf-8")])
        kept = CACHE / "records" / f"linux-aqm-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        if not fresh and kept.exists():
            return case.metrics(json.loads(kept.read_text(encoding="utf-8")))
        carried = math.nan
        for _ in range(TRIES):
            packets = self.ask(job)["packets"]
            carried = case.carried(packets)
            if carried >= 0.99:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(".part")
                part.write_text(json.dumps(packets), encoding="utf-8")
                part.replace(kept)
                return case.metrics(packets)
        raise InvalidError(f"the machine is too busy for real time: {carried:.1%} of the rate left")

    def metrics(self, case: Case, *, fresh: bool) -> list[dict[str, float]]:
        """Of each run."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(functools.partial(self.run, case, fresh=fresh), range(1, RUNS + 1)))
