"""What Linux's TCP does between two applications that talk: when requests are answered, and which segments go.

    python3 dialogue.py job.json answer.json

Two network namespaces, a TUN device in each, and this process between them: it holds every packet back for `delay`
s and, where there is a `rate` (bit/s), sends those of the server one after another. As root, or where user
namespaces are allowed.

The job has `requests`, a list of `{request, response, think}` (bytes, bytes, s before it) and `keep`, whether one
connection carries them all; or `script`, a list of `[s, end, action, bytes]`, ends being `client` and `server`,
actions `open`, `write`, `close` (of one direction) and `abort`. The answer: `transfers`, a list of `[began, first
byte, last byte]` in s; `segments`, a list of `[s, end that sent, flags, from, to, ack]` with numbers counted from
the SYN's; `late_s`, the longest time that a packet was forwarded late; `release`, the kernel's; or `cannot`, why
this machine cannot. Nothing outside the namespaces is touched; they end with this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import platform
import select
import socket
import struct
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
TUNSETIFF, TUN, NO_PACKET_INFORMATION = 0x400454CA, 0x0001, 0x1000
ADDRESS = {"client": "10.79.0.1", "server": "10.79.0.2"}
PORT = 5001
OTHER = {"client": "server", "server": "client"}
FLAGS = {0x01: "FIN", 0x02: "SYN", 0x04: "RST", 0x10: "ACK"}
AFTER = 0.5  # s that are watched after the last act, twice the longest ACK that is held back
SETTINGS = {
    "tcp_no_metrics_save": "1",
    "tcp_rmem": "4096 131072 33554432",
    "tcp_wmem": "4096 16384 4194304",
    "tcp_slow_start_after_idle": "1",
    "tcp_ecn": "0",
    "tcp_fastopen": "0",
}


class CannotError(RuntimeError):
    """This machine cannot."""


def unshare(what: int) -> None:
    """A namespace of its own for this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(what) != 0:
        raise CannotError(f"no namespace: {os.strerror(ctypes.get_errno())}")


def become_able() -> None:
    """Without root: a user namespace in which it is root."""
    if os.geteuid() == 0:
        return
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def make_end(end: str) -> int:
    """A network namespace with a TUN device, in which the process is afterwards."""
    unshare(CLONE_NEWNET)
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", TUN | NO_PACKET_INFORMATION))
    except OSError as error:
        raise CannotError(f"no TUN device: {error}") from None
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1", encoding="ascii")
    for command in (
        ["ip", "address", "add", f"{ADDRESS[end]}/24", "dev", "tun0"],
        ["ip", "link", "set", "tun0", "up", "txqueuelen", "10000"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")
    for name, value in SETTINGS.items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value, encoding="ascii")
    return tun


class World:
    """Both ends, what lies between them, and what was seen."""

    def __init__(self, job: dict[str, Any]) -> None:
        become_able()
        self.delay, self.rate = job["delay"], job.get("rate", 0)
        self.namespaces: dict[str, int] = {}
        self.tuns: dict[str, int] = {}
        for end in ("server", "client"):
            self.tuns[end] = make_end(end)
            self.namespaces[end] = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.enter("server")
        self.listener = socket.socket()
        self.listener.bind((ADDRESS["server"], PORT))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        self.air: list[tuple[float, int, str, bytes]] = []
        self.free = 0.0
        self.number = 0
        self.late = 0.0
        self.first: dict[tuple[int, str], int] = {}
        self.segments: list[list[Any]] = []
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        self.began = time.monotonic()

    def now(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def enter(self, end: str) -> None:
        """Sockets are made at this end from now on."""
        if ctypes.CDLL(None).setns(self.namespaces[end], CLONE_NEWNET) != 0:
            raise CannotError("cannot enter a namespace again")

    def connect(self) -> socket.socket:
        """A client that opens a connection."""
        self.enter("client")
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(BlockingIOError):
            client.connect((ADDRESS["server"], PORT))
        return client

    def accept(self) -> socket.socket:
        """The server's end of it."""
        server, _ = self.listener.accept()
        server.setblocking(False)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server

    def note(self, end: str, packet: bytes, now: float) -> None:
        """Writes down a segment that `end` has sent."""
        header = 4 * (packet[0] & 15)
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, target, seq, ack, offset, bits = struct.unpack_from("!HHIIBB", packet, header)
        port = source if end == "client" else target
        if bits & 0x02:
            self.first[port, end] = seq + 1
        payload = len(packet) - header - 4 * (offset >> 4)
        begin = (seq - self.first.get((port, end), seq) + (1 if bits & 2 else 0)) & 0xFFFFFFFF
        begin = 0 if bits & 0x02 else begin
        known = self.first.get((port, OTHER[end]))
        acked = (ack - known) & 0xFFFFFFFF if bits & 0x10 and known is not None else None
        names = [name for bit, name in FLAGS.items() if bits & bit]
        self.segments.append([round(now, 6), end, names, begin, begin + payload, acked])

    def forward(
        self, timeout: float, ready: list[socket.socket], room: list[socket.socket]
    ) -> tuple[list[Any], list[Any]]:
        """Moves packets for up to `timeout` s, until a socket of `ready` can be read or one of `room` written."""
        end_at = self.now() + timeout
        while True:
            now = self.now()
            while self.air and self.air[0][0] <= now:
                due, _, to, packet = heapq.heappop(self.air)
                self.late = max(self.late, now - due)
                os.write(self.tuns[to], packet)
            wait = min(self.air[0][0] if self.air else end_at, end_at) - now
            seen, free, _ = select.select([*self.tuns.values(), *ready], room, [], max(0, wait))
            now = self.now()
            for end, tun in self.tuns.items():
                if tun not in seen:
                    continue
                with contextlib.suppress(BlockingIOError):
                    while True:
                        packet = os.read(tun, 65536)
                        self.note(end, packet, now)
                        leaves = now
                        if self.rate and end == "server":
                            self.free = leaves = max(now, self.free) + 8 * len(packet) / self.rate
                        self.number += 1
                        heapq.heappush(self.air, (leaves + self.delay, self.number, OTHER[end], packet))
            found = [one for one in seen if one not in self.tuns.values()]
            if found or free or (self.now() >= end_at and not (self.air and self.air[0][0] <= self.now())):
                return found, free


def ask(world: World, job: dict[str, Any]) -> list[list[float]]:
    """Requests and responses, one after another."""
    transfers: list[list[float]] = []
    client: socket.socket | None = None
    server: socket.socket | None = None
    for one in job["requests"]:
        world.forward(one["think"], [], [])
        began, first = world.now(), 0.0
        if client is None or not job["keep"]:
            for old in (client, server):
                if old is not None:
                    old.close()
            client, server = world.connect(), None
            while not world.forward(60, [], [client])[1]:
                pass
        assert client is not None
        client.send(bytes(one["request"]))
        asked, left, got = 0, one["response"], 0
        while got < one["response"]:
            ready = [client, *([server] if server else [world.listener])]
            writing = [server] if server and asked >= one["request"] and left else []
            found, free = world.forward(60, ready, writing)
            if world.listener in found:
                server = world.accept()
            if server is not None and server in found:
                asked += len(server.recv(1 << 20))
            if server is not None and server in free:
                with contextlib.suppress(BlockingIOError):
                    left -= server.send(bytes(left))  # whole: pieces would leave short segments
            if client in found:
                got += len(client.recv(1 << 20))
                first = first or world.now()
        transfers.append([round(began, 6), round(first, 6), round(world.now(), 6)])
    return transfers


def act(world: World, script: list[list[Any]]) -> None:
    """What a script says; applications read at once."""
    sockets: dict[str, socket.socket] = {}

    def until(at: float) -> None:
        while (left := at - world.now()) > 0:
            listening = [] if "server" in sockets else [world.listener]
            for one in world.forward(left, [*sockets.values(), *listening], [])[0]:
                if one is world.listener:
                    sockets["server"] = world.accept()
                    continue
                try:
                    data = one.recv(1 << 20)
                except OSError:
                    data = b""
                if not data:
                    finished.append(one)
                    for end in [end for end, known in sockets.items() if known is one]:
                        done[end] = sockets.pop(end)

    finished: list[socket.socket] = []
    done: dict[str, socket.socket] = {}
    for at, end, action, *count in script:
        until(at)
        one = sockets.get(end) or done.get(end)
        if action == "open":
            sockets["client"] = world.connect()
        elif one is None:
            raise CannotError(f"{end} cannot {action}: it has no connection at {at} s")
        elif action == "write":
            one.send(bytes(count[0]))
        elif action == "close":
            one.shutdown(socket.SHUT_WR)
        elif action == "abort":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sockets.pop(end, None)
            one.close()
        else:
            raise ValueError(f"nobody can {action}")
    until(world.now() + AFTER)


def main() -> None:
    job_file, answer_file = map(Path, sys.argv[1:])
    job = json.loads(job_file.read_text(encoding="utf-8"))
    try:
        world = World(job)
        transfers = ask(world, job) if "requests" in job else []
        if "script" in job:
            act(world, job["script"])
        answer = {
            "transfers": transfers,
            "segments": world.segments,
            "late_s": world.late,
            "release": platform.release(),
        }
    except CannotError as error:
        answer = {"cannot": str(error)}
    except Exception:
        answer = {"cannot": traceback.format_exc()}
    answer_file.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
