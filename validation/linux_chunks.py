"""Linux kernels as peers where a player fetches video: chunks over one kept connection, with pauses, through a gateway.

What a kept connection's window is when the next chunk begins decides how long the chunk takes. A client asks nine
times for a chunk over one connection: three, ten seconds of nothing, three, half a minute of nothing, three (`pauses`).
Behind 50 ms of delay each way stands a gateway with one class of HTB and a leaf of 67 packets, as Ben Ameur et al.
(2016) have it: a class at the line's 8 Mbit/s, one at 1.1 times 4256 kbit/s, or the line with windows of ACKs lowered
to that rate times 100 ms. Chunks are of 408 kB, behind which the connection is idle for longer than its timeout, or of
1064 kB, behind which it is not. Compared are each chunk's time, from the request to the last byte, and the window with
which the server begins to answer.

The network of `linux/chunks.py` is asked of the kernel this runs on (CUBIC, Reno) and of a user-mode one (Vegas and
Illinois, which few kernels have). A run takes as long as it simulates, about a minute, and is kept; one whose packets
left late is repeated, and after three tries left out with the reason.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from evenflow.run.record import ACTIONS
from linux import InvalidError
from peers import CACHE, quantity

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "linux" / "chunks.py"
HELPERS = (HERE / "linux" / "datagrams.py", HERE / "linux" / "dialogue.py")
RUNS, TRIES = 3, 3
SIDE_BY_SIDE = {"running": 4, "user mode": 2}
TIMES, WINDOWS = "linux-chunk-times", "linux-chunk-windows"
ONE_SEGMENT = 1.0  # windows within this agree

# A packet lasts 2.6 ms at 4.7 Mbit/s; hybrid slow start looks for 12.5 ms at this round trip. 30 ms are 5 % of the
# shortest chunk.
LATE_P99, LATE_MOST = 0.003, 0.03  # s

CONTROLS = {"cubic": "cubic", "newreno": "reno", "vegas": "vegas", "illinois": "illinois"}
CHUNKS = {"408 kB": ("408300 B", "1.2 s"), "1064 kB": ("1064300 B", "0.1 s")}
"""A chunk with its header, and the pause behind it: Ben Ameur et al. 2016, levels of 1632 and 4256 kbit/s, 2 s."""
OFF = ("10 s", "30 s")
LINE, SHARE = "8 Mbit/s", "4681.6 kbit/s"
GATEWAYS = {"line": (LINE, False), "class": (SHARE, False), "window": (LINE, True)}
"""Rate of the class, and whether windows are lowered."""

KERNELS = {"running": ("cubic", "newreno"), "user mode": ("vegas", "illinois")}
"""The running kernel is preferred: a user-mode one has a clock of 100 Hz, and time of its own."""


def pauses(behind: str) -> list[str]:
    """Before each chunk from the second on."""
    return [behind, behind, OFF[0], behind, behind, OFF[1], behind, behind]


NAMES = ["1", "2", "3", "4 (10 s)", "5", "6", "7 (30 s)", "8", "9"]
"""Of the chunks; in brackets the pause before one."""


@dataclass(frozen=True)
class Case:
    """One connection."""

    control: str
    gateway: str
    chunk: str

    @property
    def label(self) -> dict[str, str | int]:
        return {"cc": self.control, "gateway": self.gateway, "chunk": self.chunk}

    @property
    def stages(self) -> tuple[str, ...]:
        """Mechanisms beside TCP and HTB."""
        return ("rewriter",) if GATEWAYS[self.gateway][1] else ()

    @property
    def scenario(self) -> Scenario:
        """For ours."""
        rate, lowered = GATEWAYS[self.gateway]
        response, behind = CHUNKS[self.chunk]
        base = Scenario.load(HERE / "scenarios" / "linux-chunks.toml")
        base = base.set("groups.viewer.tcp.congestion_control", self.control)
        base = base.set("links.gateway.queue.scheduler.classes.video.rate", rate)
        base = base.set("groups.viewer.traffic.response", response)
        base = base.set("groups.viewer.traffic.think", {"values": pauses(behind)})
        return base if lowered else base.set("groups.viewer.path", ["far", "gateway"]).set("stages", {})

    @property
    def job(self) -> dict[str, Any]:
        """For linux/chunks.py."""
        tree = self.scenario.tree
        video = tree["links"]["gateway"]["queue"]["scheduler"]["classes"]["video"]
        traffic = tree["groups"]["viewer"]["traffic"]
        return {
            "control": CONTROLS[self.control],
            "rate": int(quantity(video["rate"])),
            "burst": int(quantity(video["burst"])),
            "limit": int(quantity(video["leaf"]["limit"])),
            "delay": quantity(tree["links"]["far"]["delay"]),
            "window": int(quantity(tree["stages"]["tuner"]["max_window"])) if tree.get("stages") else 0,
            "request": int(quantity(traffic["request"])),
            "response": int(quantity(traffic["response"])),
            "pauses": [quantity(pause) for pause in traffic["think"]["values"]],
        }


def points(kernel: str) -> Iterator[Case]:
    """Every comparison with one kernel."""
    for control in KERNELS[kernel]:
        for gateway in GATEWAYS:
            for chunk in CHUNKS:
                yield Case(control, gateway, chunk)


class Kernel:
    """TCP of the kernel this runs on, or of a user-mode one."""

    name = "Linux"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.user_mode = kind == "user mode"
        self.release = ""
        self.cores: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]:
            self.cores.put(core)

    def missing(self) -> str | None:
        """Why the kernel cannot be asked here; None if it can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        for needed in ("ip", "tc", "taskset", "chrt"):
            if not shutil.which(needed):
                return f"no {needed} (sudo apt-get install iproute2 util-linux)"
        if self.user_mode and not shutil.which("linux.uml"):
            return "no user-mode kernel (sudo apt-get install user-mode-linux)"
        one = Case(KERNELS[self.kind][-1], "line", "408 kB")
        answer = self._once(one.job | {"response": 1, "pauses": []})
        if "cannot" in answer:
            mend = "run as root, and sudo modprobe -a tun veth sch_htb"
            return f"{answer['cannot'].strip().splitlines()[-1]} ({mend})"
        self.release = answer["release"]
        return None

    def describe(self) -> str:
        """For the table's head."""
        machine = " in user mode" if self.user_mode else ""
        return (
            f"TCP and HTB of Linux {self.release}{machine} between two applications, through linux/chunks.py; "
            f"{RUNS} runs a point in real time"
        )

    def command(self, job: Path, answer: Path, core: int = 0) -> list[str]:
        """In namespaces of its own, or a machine of its own on this core."""
        program = ["-B", str(PROGRAM), str(job), str(answer)]
        if not self.user_mode:
            return [sys.executable, *program]
        binary = str(shutil.which("linux.uml"))
        modules = Path(binary).resolve().parents[1] / "lib" / "uml" / "modules"
        # Its processes change places at each call: on one core in a third of the time.
        placed = ["taskset", "--cpu-list", str(core)]
        first = ["chrt", "--fifo", "5"] if os.geteuid() == 0 else []
        machine = [binary, "mem=256M", "rootfstype=hostfs", "rootflags=/", "rw", "quiet", "con=null", "con0=null"]
        return [*placed, *first, *machine, f"init={sys.executable}", "--", *program, str(modules)]

    def _once(self, job: Mapping[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder) / "job.json", Path(folder) / "answer.json"
            asked.write_text(json.dumps(job), encoding="utf-8")
            core = self.cores.get() if self.user_mode else 0
            try:
                done = subprocess.run(
                    self.command(asked, answered, core),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=300,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return {"cannot": str(error)}
            finally:
                if self.user_mode:
                    self.cores.put(core)
            if not answered.exists():
                return {"cannot": " ".join((done.stderr or done.stdout).split())[-300:] or f"ended: {done.returncode}"}
            answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
            return answer

    def _run(self, case: Case, seed: int, *, fresh: bool) -> dict[str, float]:
        """One run, kept under the programs, the job and the kernel's release."""
        sources = [file.read_bytes() for file in (PROGRAM, *HELPERS)]
        parts = [*sources, self.release.encode(), json.dumps([case.job, seed]).encode()]
        path = CACHE / "records" / f"chunks-{hashlib.sha256(b'/'.join(parts)).hexdigest()[:24]}.json"
        if not fresh and path.exists():
            return metrics_of_kernel(json.loads(path.read_text(encoding="utf-8")))
        said = ""
        for _ in range(TRIES):
            answer = self._once(case.job)
            if "cannot" in answer:
                raise InvalidError(answer["cannot"])
            _, late, latest = answer["late"]
            said = f"99 % of packets less than {1e3 * late:.1f} ms late, all less than {1e3 * latest:.1f} ms"
            if late <= LATE_P99 and latest <= LATE_MOST:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(f".part{os.getpid()}-{seed}")
                part.write_text(json.dumps(answer), encoding="utf-8")
                part.replace(path)
                return metrics_of_kernel(answer)
            print(f"{self.kind}, {case}, run {seed}: {said}: does not count", file=sys.stderr, flush=True)
        raise InvalidError(f"the machine is too busy for real time: {said}")

    def metrics(self, cases: Sequence[Case], *, fresh: bool = False) -> Iterator[list[dict[str, float]] | InvalidError]:
        """`RUNS` runs of each case, or why there are none; some side by side."""

        def one(case: Case, seed: int) -> dict[str, float] | InvalidError:
            try:
                return self._run(case, seed, fresh=fresh)
            except InvalidError as error:
                return error

        with ThreadPoolExecutor(SIDE_BY_SIDE[self.kind]) as pool:
            asked = [[pool.submit(one, case, seed) for seed in range(RUNS)] for case in cases]
            for case in asked:
                found = [run.result() for run in case]
                errors = [run for run in found if isinstance(run, InvalidError)]
                yield errors[0] if errors else [run for run in found if not isinstance(run, InvalidError)]


TIMES_OF = frozenset(f"chunk {name} (ms)" for name in NAMES)
"""The metrics that are times."""


CHECKS = ((TIMES, 0.0, True), (WINDOWS, ONE_SEGMENT, False))
"""Each comparison, the difference at which means agree at any rate, and whether means alone count.

Chunk times that agree within 5 % were expected before the first run."""


def part_of(metrics: Mapping[str, float], check: str) -> dict[str, float]:
    """The metrics that belong to a comparison."""
    return {name: value for name, value in metrics.items() if (name in TIMES_OF) == (check == TIMES)}


def named(times: Sequence[float], windows: Sequence[float]) -> dict[str, float]:
    """The compared metrics, by chunk."""
    found = {f"chunk {name} (ms)": 1e3 * time for name, time in zip(NAMES, times, strict=True)}
    return found | {f"at chunk {name} (packets)": float(w) for name, w in zip(NAMES, windows, strict=True)}


def metrics_of_kernel(answer: Mapping[str, Any]) -> dict[str, float]:
    """Of a run of linux/chunks.py."""
    chunks = answer["chunks"]
    return named([chunk["last"] - chunk["began"] for chunk in chunks], [chunk["cwnd"] for chunk in chunks])


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours: times from packets at the ends, the window as the answer's first packets have left."""
    when, payload = record.arrays("trace.payload")
    action, backward = (record.arrays(f"trace.{name}")[1] for name in ("action", "backward"))
    sent, received = (action == ACTIONS.index(what) for what in ("send", "receive"))
    asked = when[sent & (backward == 1) & (payload > 0)]
    heard = when[received & (backward == 1) & (payload > 0)]
    came = when[received & (backward == 0) & (payload > 0)]
    ends = [*asked[1:], math.inf]
    times = [float(came[came <= end].max() - begin) for begin, end in zip(asked, ends, strict=True)]
    at, window = record.arrays("groups.viewer.users[0].flows[0].window")
    # The second look behind the request's arrival: 10 to 20 ms later, and before the first ACK.
    return named(times, [float(window[at > instant][1]) for instant in heard])
