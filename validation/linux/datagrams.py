"""What a Linux kernel's queue discipline does with datagrams that nobody holds back: which of them left, and when.

    unshare --map-root-user --net python3 datagrams.py job.json answer.json
    linux.uml rootfstype=hostfs rw init=/usr/bin/python3 -- datagrams.py job.json answer.json /usr/lib/uml/modules

The job: `discipline`, arguments of `tc qdisc add` for what stands behind a shaper of `rate` (bit/s); `senders`, a list
of `[bits a second, bytes, "poisson" or "cbr"]`, sizes being those of frames; `seconds`; `seed`. The answer: `packets`,
a list of `[sender, number, sent, left]` in s, in the order of departure, and `release`, the kernel's; or `cannot`, why
this machine cannot. Two virtual devices, back to back, are all there is in the namespace. Given a folder of modules it
loads those that it needs and halts the machine at its end: it is a user-mode kernel's first process then.
"""

from __future__ import annotations

import ctypes
import json
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
from pathlib import Path
from typing import Any

HEADERS = 14 + 20 + 8  # of a frame: Ethernet, IP, UDP
STAMP = struct.Struct("<IQ")  # number, sent (ns)
FIRST_PORT = 20000
SO_TIMESTAMPNS, SO_SNDBUFFORCE = 35, 32
SENDER_BUFFER = 1 << 26  # never the reason that a packet waits
SHAPED, SEEN = "shaped", "seen"
BUCKET = 60_000  # bytes, 96 ms at 5 Mbit/s: a timer that fires late costs no tokens
DRAIN = 1.0  # s without a packet, after the last was sent
FINIT_MODULE = 313  # on x86-64
POWER_OFF = 0x4321FEDC


class CannotError(RuntimeError):
    """This machine cannot."""


def tool(*arguments: str) -> None:
    """Runs ip or tc."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotError(f"{' '.join(arguments)}: {' '.join(done.stderr.split())}")


def devices(job: dict[str, Any]) -> None:
    """One that shapes, the discipline behind it, and one that sees what left."""
    tool("ip", "link", "add", SHAPED, "type", "veth", "peer", "name", SEEN)
    for device in (SHAPED, SEEN):
        tool("ip", "link", "set", device, "up")
    tool("ip", "address", "add", "10.78.0.1/24", "dev", SHAPED)
    tool("ip", "neighbour", "add", "10.78.0.2", "lladdr", "02:00:00:00:00:02", "dev", SHAPED)
    tool("tc", "qdisc", "add", "dev", SHAPED, "root", "handle", "1:", "htb", "default", "1")
    rate, bucket = f"{job['rate']:.0f}bit", f"{BUCKET}b"
    shape = ("htb", "rate", rate, "ceil", rate, "burst", bucket, "cburst", bucket, "quantum", "1514")
    tool("tc", "class", "add", "dev", SHAPED, "parent", "1:", "classid", "1:1", *shape)
    tool("tc", "qdisc", "add", "dev", SHAPED, "parent", "1:1", *job["discipline"])


class Sender:
    """Datagrams of one size, at equal or exponential gaps."""

    def __init__(self, port: int, rate: float, size: int, kind: str, draws: random.Random) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SENDER_BUFFER)
        self.socket.bind(("10.78.0.1", port))
        self.socket.connect(("10.78.0.2", 9))
        self.padding = bytes(size - HEADERS - STAMP.size)
        self.gap = 8 * size / rate
        self.draws = draws if kind == "poisson" else None
        self.next = self.wait()
        self.sent = 0

    def wait(self) -> float:
        """To the next one, s."""
        return self.draws.expovariate(1 / self.gap) if self.draws else self.gap

    def send(self) -> None:
        """One more, and when the next one is due."""
        self.socket.send(STAMP.pack(self.sent, time.time_ns()) + self.padding)
        self.sent += 1
        self.next += self.wait()


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Sends and watches."""
    devices(job)
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    seen.bind((SEEN, 0))
    seen.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    seen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000_000)
    seen.setblocking(False)
    draws = random.Random(job["seed"])
    senders = [Sender(FIRST_PORT + n, *sender, draws) for n, sender in enumerate(job["senders"])]
    packets: list[list[float]] = []
    clock, began = time.monotonic(), time.time_ns()
    last = 0.0
    while True:
        now = time.monotonic() - clock
        due = min(sender.next for sender in senders)
        if due <= now and due < job["seconds"]:
            for sender in senders:
                if sender.next <= now:
                    sender.send()
            continue
        wait = due - now if due < job["seconds"] else max(job["seconds"], last) + DRAIN - now
        if wait <= 0:
            return {"packets": packets, "release": platform.release()}
        if not select.select([seen], [], [], wait)[0]:
            continue
        frame, notes, _, _ = seen.recvmsg(HEADERS + STAMP.size, 64)
        if len(frame) < HEADERS + STAMP.size or frame[23] != socket.IPPROTO_UDP:
            continue
        seconds, nanoseconds = struct.unpack("qq", notes[0][2])
        number, sent = STAMP.unpack_from(frame, HEADERS)
        left = (seconds * 10**9 + nanoseconds - began) / 1e9
        packets.append([int.from_bytes(frame[34:36], "big") - FIRST_PORT, number, (sent - began) / 1e9, left])
        last = left


def load(modules: Path, names: list[str]) -> None:
    """Kernel modules, as far as they exist and are not there yet."""
    for name in names:
        for found in modules.glob(f"{platform.release()}/**/{name}.ko"):
            with found.open("rb") as file:
                ctypes.CDLL(None).syscall(FINIT_MODULE, file.fileno(), b"", 0)


def main() -> None:
    job_file, answer_file, *modules = map(Path, sys.argv[1:])
    job = json.loads(job_file.read_text(encoding="utf-8"))
    try:
        if modules:
            os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
            load(modules[0], ["veth", "sch_htb", f"sch_{job['discipline'][0]}"])
        answer = run(job)
    except CannotError as error:
        answer = {"cannot": str(error)}
    except Exception:
        answer = {"cannot": traceback.format_exc()}
    answer_file.write_text(json.dumps(answer), encoding="utf-8")
    if modules:
        os.sync()
        ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
