"""What a Linux kernel's queue does with datagrams that nobody holds back: which of them left, and when.

    unshare --map-root-user --net python3 datagrams.py job.json answer.json
    linux.uml rootfstype=hostfs rw init=/usr/bin/python3 -- datagrams.py job.json answer.json /usr/lib/uml/modules

The job: `tc`, lists of arguments for tc, which builds a queue on the device `shaped`; `senders`, a list of `{bytes,
rate, gaps, priority}`: bytes of a frame; bits a second with "poisson" or "cbr" gaps, or "greedy", which has no rate and
always something to send, perhaps from `begin` to `end` (s) alone; the socket's priority, which may be a class of HTB's
as a number; optionally `tos` (DSCP and ECN field) and the numbers of its `source` and `destination` host;
`changes`, a list of `[when, lists of arguments]` for tc during the run; `seconds`; `seed`. The answer: `packets`,
a list of `[sender, number, sent, left, marked]` (s; 1: CE), in the order of departure, and `release`, the kernel's; or
`cannot`, why this machine cannot. Two virtual devices, back to back, are all there is in the namespace.
Given a folder of modules it loads those that it needs and halts the machine at its end: it is a user-mode kernel's
first process then. Senders that are not greedy need room that only root may ask for: as root, leave out
`--map-root-user`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import platform
import random
import select
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEADERS = 14 + 20 + 8  # of a frame: Ethernet, IP, UDP
STAMP = struct.Struct("<IQ")  # number, sent (ns)
FIRST_PORT = 20000
CE = 3  # ECN field
SO_TIMESTAMPNS, SO_SNDBUFFORCE = 35, 32
ROOM = 1 << 26  # bytes of a socket: never the reason that a packet waits
GREEDY_ROOM = 100_000  # what a greedy sender keeps waiting, with the kernel's own overhead
SHAPED, SEEN = "shaped", "seen"
FINIT_MODULE = 313  # on x86-64
POWER_OFF = 0x4321FEDC

Job = dict[str, Any]
"""What is asked, and what is answered: as JSON."""


class CannotError(RuntimeError):
    """This machine cannot."""


def tool(*arguments: str) -> None:
    """Runs ip or tc."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotError(f"{' '.join(arguments)}: {' '.join(done.stderr.split())}")


def tell(commands: list[list[str]]) -> None:
    """Runs tc once for all of them, so that little time passes between the first and the last."""
    lines = "\n".join(" ".join(arguments) for arguments in commands)
    done = subprocess.run(["tc", "-batch", "-"], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotError(f"tc -batch: {' '.join(done.stderr.split())}")


def devices(job: dict[str, Any]) -> None:
    """One that shapes, and one that sees what left."""
    tool("ip", "link", "add", SHAPED, "type", "veth", "peer", "name", SEEN)
    for device in (SHAPED, SEEN):
        tool("ip", "link", "set", device, "up")
    for source in {source_of(sender) for sender in job["senders"]}:
        tool("ip", "address", "add", f"{source}/16", "dev", SHAPED)
    for destination in {destination_of(sender) for sender in job["senders"]}:
        tool("ip", "neighbour", "add", destination, "lladdr", "02:00:00:00:00:02", "dev", SHAPED)
    for arguments in job["tc"]:
        tool("tc", *arguments)


def source_of(told: dict[str, Any]) -> str:
    """Address of a sender."""
    return f"10.78.{told.get('source', 0)}.1"


def destination_of(told: dict[str, Any]) -> str:
    """Address to which it sends."""
    return f"10.78.{told.get('destination', 0)}.2"


class Sender:
    """Datagrams of one size, numbered and stamped: at equal or exponential gaps, or as many as its socket takes."""

    def __init__(self, port: int, told: dict[str, Any], draws: random.Random) -> None:
        self.greedy = told["gaps"] == "greedy"
        self.begin, self.end = told.get("begin", 0.0), told.get("end", math.inf)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.make_room()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, told["priority"])
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, told.get("tos", 0))
        self.socket.bind((source_of(told), port))
        self.socket.connect((destination_of(told), 9))
        self.socket.setblocking(not self.greedy)
        self.padding = bytes(told["bytes"] - HEADERS - STAMP.size)
        self.gap = math.inf if self.greedy else 8 * told["bytes"] / told["rate"]
        self.draws = draws if told["gaps"] == "poisson" else None
        self.next = self.wait()
        self.sent = 0

    def make_room(self) -> None:
        """For what waits in the queue: little where that holds a sender back as it should."""
        if self.greedy:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, GREEDY_ROOM)
            return
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, ROOM)
        except PermissionError:
            raise CannotError("only root may have so much wait in a socket") from None

    def wait(self) -> float:
        """To the next one, s."""
        return self.draws.expovariate(1 / self.gap) if self.draws else self.gap

    def send(self) -> None:
        """One more, and when the next one is due."""
        self.socket.send(STAMP.pack(self.sent, time.time_ns()) + self.padding)
        self.sent += 1
        self.next += self.wait()

    def fill(self) -> None:
        """As many as there is room for."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.send()


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Sends and watches."""
    devices(job)
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    seen.bind((SEEN, 0))
    seen.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    seen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000_000)
    seen.setblocking(False)
    draws = random.Random(job["seed"])
    senders = [Sender(FIRST_PORT + n, told, draws) for n, told in enumerate(job["senders"])]
    greedy = {sender.socket: sender for sender in senders if sender.greedy}
    changes = sorted(job.get("changes", []))
    steps = sorted({when for sender in senders for when in (sender.begin, sender.end)} | {when for when, _ in changes})
    packets: list[list[float]] = []
    clock, began = time.monotonic(), time.time_ns()
    while (now := time.monotonic() - clock) < job["seconds"]:
        while changes and changes[0][0] <= now:
            tell(changes.pop(0)[1])
        due = min(sender.next for sender in senders)
        if due <= now:
            for sender in senders:
                if sender.next <= now:
                    sender.send()
            continue
        step = next((when for when in steps if when > now), math.inf)
        talk = [known for known, sender in greedy.items() if sender.begin <= now < sender.end]
        arrived, room, _ = select.select([seen], talk, [], min(due, step, job["seconds"]) - now)
        for ready in room:
            greedy[ready].fill()
        if not arrived:
            continue
        frame, notes, _, _ = seen.recvmsg(HEADERS + STAMP.size, 64)
        if len(frame) < HEADERS + STAMP.size or frame[23] != socket.IPPROTO_UDP:
            continue
        seconds, nanoseconds = struct.unpack("qq", notes[0][2])
        number, sent = STAMP.unpack_from(frame, HEADERS)
        left = seconds * 10**9 + nanoseconds
        source = int.from_bytes(frame[34:36], "big") - FIRST_PORT
        marked = int(frame[15] & 3 == CE)
        packets.append([source, number, round((sent - began) / 1e9, 6), round((left - began) / 1e9, 6), marked])
    return {"packets": packets, "release": platform.release()}


def load(modules: Path, names: set[str]) -> None:
    """Kernel modules, as far as they exist and are not there yet."""
    for found in modules.glob(f"{platform.release()}/**/*.ko"):
        if found.stem in names:
            with found.open("rb") as file:
                ctypes.CDLL(None).syscall(FINIT_MODULE, file.fileno(), b"", 0)


def do_job(run: Callable[[Job], Job], names: Callable[[Job], set[str]], proc: bool = True, rounds: int = 1) -> None:
    """Does the job of the file named first and writes the answer, or why there is none, into the second.

    A third argument says that this is the only process of a user-mode kernel: it loads modules `names(job)` from there,
    `rounds` times since one may need another, and turns the machine off at the end."""
    job_file, answer_file, *modules = map(Path, sys.argv[1:])
    job = json.loads(job_file.read_text(encoding="utf-8"))
    try:
        if modules:
            os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
            if proc:
                ctypes.CDLL(None).mount(b"proc", b"/proc", b"proc", 0, None)
            for _ in range(rounds):
                load(modules[0], names(job))
        answer = run(job)
    except CannotError as error:
        answer = {"cannot": str(error)}
    except Exception:
        answer = {"cannot": traceback.format_exc()}
    answer_file.write_text(json.dumps(answer), encoding="utf-8")
    if modules:
        os.sync()
        ctypes.CDLL(None).reboot(POWER_OFF)


def modules_of(job: Job) -> set[str]:
    """What its queues need."""
    return {"veth"} | {f"sch_{word}" for arguments in job["tc"] for word in arguments}


if __name__ == "__main__":
    do_job(run, modules_of, proc=False)
