"""A Linux kernel's queues as a peer: datagrams that nobody holds back, and which of them left when.

`linux/datagrams.py` puts a queue between two virtual devices of a network namespace; a run takes as long as it
simulates. Where the running kernel was built without a discipline a user-mode one is asked, if it is installed. It runs
in virtual time if it was built with UML_TIME_TRAVEL_SUPPORT. Every point asks for more than there is, so a run in which
less than 99 % of the rate left was held up by a busy machine: it is repeated, and after three tries left out with the
reason. `linux_aqm` (CoDel, PIE, FQ-CoDel, SFQ), `linux_cake` (CAKE, FQ-PIE), `shapers` (HTB, TBF) and `policing` say
what is compared.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linux import InvalidError
from peers import CACHE

HERE = Path(__file__).resolve().parent
RUNS, TRIES, SIDE_BY_SIDE = 3, 3, 2
FRAME = 1014
DEVICE = ("dev", "shaped")
MARGIN = 0.5  # s that a run goes on beyond what is measured
CARRIED = 0.99
ECT0 = 2  # ECN field
VIRTUAL_TIME = "time-travel=inf-cpu"  # without effect on a user-mode kernel that was built without it
POLICER = "policer"  # no discipline, but an action of a filter
SHAPER = "shaper"  # of ours; a kernel has tbf for it
POLICING = ["sch_ingress", "cls_matchall", "act_police"]

Packets = Sequence[Sequence[float]]
"""`[sender, number, sent, left, marked]`, times in s, in the order of departure."""


@dataclass(frozen=True)
class Sender:
    """Datagrams: bit/s and bytes of frames, and their gaps: poisson, cbr, or greedy, which asks for no rate.

    `priority` may be a class of HTB's as a number. A greedy one may send for a part of the run only: `span`, in s.
    Hosts have numbers.
    """

    rate: float = 0.0
    size: int = FRAME
    kind: str = "poisson"
    priority: int = 0
    span: tuple[float, float] | None = None
    dscp: int = 0
    ecn_capable: bool = False
    source: int = 0
    destination: int = 0

    @property
    def told(self) -> dict[str, Any]:
        """For linux/datagrams.py."""
        told = {"bytes": self.size, "rate": self.rate, "gaps": self.kind, "priority": self.priority}
        marked = {
            "tos": self.dscp << 2 | ECT0 * self.ecn_capable,
            "source": self.source,
            "destination": self.destination,
        }
        told |= {key: value for key, value in marked.items() if value}
        return told if self.span is None else {**told, "begin": self.span[0], "end": self.span[1]}


@dataclass(frozen=True)
class Asked:
    """One run: what builds the queue, lists of arguments for tc, who sends, and what is measured.

    `rate` (bit/s) is all that can leave, and less than the senders have; measured is from `warmup` to `seconds`.
    `changes`: when (s) tc is told something more, and what.
    """

    tc: Sequence[Sequence[str]]
    senders: Sequence[Sender]
    rate: float
    seconds: float
    warmup: float
    changes: Sequence[tuple[float, Sequence[Sequence[str]]]] = ()

    def job(self, seed: int, seconds: float | None = None) -> dict[str, Any]:
        """What linux/datagrams.py is to do."""
        senders = [sender.told for sender in self.senders]
        told: dict[str, Any] = {"tc": [list(arguments) for arguments in self.tc], "senders": senders, "seed": seed}
        if self.changes:
            told["changes"] = [[at, [list(arguments) for arguments in commands]] for at, commands in self.changes]
        return {**told, "seconds": self.seconds + MARGIN if seconds is None else seconds}

    def measured(self, packets: Packets, span: tuple[float, float] | None = None) -> list[list[Sequence[float]]]:
        """What left while it was measured, or in a part of that time, by sender."""
        since, until = span or (self.warmup, self.seconds)
        found: list[list[Sequence[float]]] = [[] for _ in self.senders]
        for packet in packets:
            if since < packet[3] <= until:
                found[int(packet[0])].append(packet)
        return found

    def rates(self, packets: Packets, span: tuple[float, float] | None = None) -> list[float]:
        """Of each sender's frames, bit/s."""
        counts = map(len, self.measured(packets, span))
        since, until = span or (self.warmup, self.seconds)
        return [8 * sender.size * count / (until - since) for sender, count in zip(self.senders, counts, strict=True)]

    def carried(self, packets: Packets) -> float:
        """How much of the rate left."""
        return sum(self.rates(packets)) / self.rate


class Kernel:
    """Disciplines, each with a run that shows whether it is there: of the kernel this runs on, or a user-mode one."""

    name = "Linux"

    def __init__(self, disciplines: Mapping[str, Asked], runs: int = RUNS) -> None:
        self.disciplines = disciplines
        self.repetitions = runs
        self.modules = [f"sch_{name.replace('-', '_')}" for name in disciplines if name not in (POLICER, SHAPER)]
        self.program = HERE / "linux" / "datagrams.py"
        if POLICER in disciplines:
            self.modules += POLICING
            self.program = HERE / "linux" / "policing.py"
        self.release = ""
        self.user_mode = False

    def command(self, job: Path, answer: Path) -> list[str]:
        """In a namespace of its own, or a machine of its own."""
        program = ["-B", str(self.program), str(job), str(answer)]
        if not self.user_mode:
            # Root stays root: who is it in the namespace alone has no more room in a socket than others.
            become = [] if os.geteuid() == 0 else ["--map-root-user"]
            return ["unshare", *become, "--net", sys.executable, *program]
        binary = str(shutil.which("linux.uml"))
        modules = Path(binary).resolve().parents[1] / "lib" / "uml" / "modules"
        machine = [binary, "mem=256M", "rootfstype=hostfs", "rootflags=/", "rw", "quiet", "con=null", "con0=null"]
        machine.append(VIRTUAL_TIME)
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
                for asked in self.disciplines.values():
                    self.release = self.ask(asked.job(1, 0.1))["release"]
            except InvalidError as error:
                reasons.append(str(error))
            else:
                return None
        modules = " ".join(dict.fromkeys(["veth", "sch_htb", *self.modules]))
        mend = f"sudo modprobe -a {modules}, or sudo apt-get install user-mode-linux"
        return f"{'; '.join(reasons)} ({mend})"

    def describe(self) -> str:
        """For the table's head."""
        named = " and ".join(part for part in (", ".join(self.modules[:-1]), self.modules[-1]) if part)
        machine = " in user mode" if self.user_mode else ""
        return f"{named} of Linux {self.release}{machine}, {self.repetitions} runs a point in {self.clock} time"

    @property
    def clock(self) -> str:
        """Time of runs: virtual or real."""
        binary = shutil.which("linux.uml") if self.user_mode else None
        return "virtual" if binary and VIRTUAL_TIME.encode() in Path(binary).read_bytes() else "real"

    def run(self, asked: Asked, seed: int, *, fresh: bool) -> Packets:
        """What left in one run, kept like what other simulators found."""
        job = asked.job(seed)
        text = json.dumps([job, self.release, self.program.read_text(encoding="utf-8")])
        kept = CACHE / "records" / f"linux-queues-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        packets: Packets
        if not fresh and kept.exists():
            packets = json.loads(kept.read_text(encoding="utf-8"))
            return packets
        carried = math.nan
        for _ in range(TRIES):
            packets = self.ask(job)["packets"]
            carried = asked.carried(packets)
            if carried >= CARRIED:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(".part")
                part.write_text(json.dumps(packets), encoding="utf-8")
                part.replace(kept)
                return packets
            print(f"run {seed}: {carried:.1%} of the rate left, which does not count", file=sys.stderr, flush=True)
        raise InvalidError(f"the machine is too busy for real time: {carried:.1%} of the rate left")

    def runs(self, asked: Asked, *, fresh: bool) -> list[Packets]:
        """What left in each run."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(functools.partial(self.run, asked, fresh=fresh), range(1, self.repetitions + 1)))
