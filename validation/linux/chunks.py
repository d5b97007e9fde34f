"""What Linux's TCP does under adaptive video: chunks over one kept connection, with pauses between them.

    python3 chunks.py job.json answer.json
    linux.uml rootfstype=hostfs rw init=/usr/bin/python3 -- chunks.py job.json answer.json /usr/lib/uml/modules

    server --(delay each way, window of ACKs)-- gateway --(HTB class, leaf of packets)-- client

Three network namespaces. Two virtual devices join the gateway, which forwards, and the client. In the running kernel
the server's and the gateway's TUN devices meet in this process, which holds every packet back for `delay` s and lowers
windows: kernels without netem can be asked so. In a user-mode kernel, whose calls take long, netem and pedit do both,
all of the delay on the way to the server: round trips and what a client sees are the same. As root, or where user
namespaces are allowed. Nothing outside the namespaces is touched; they end with this process.

The job: `control`, the server's congestion control; `rate` (bit/s) of the gateway's only class, `burst` (bytes) of its
bucket, `limit` (packets) of its leaf; `delay`; `window` (bytes), the most that a passing ACK says (0: as the client
says); `request` and `response` (bytes); `pauses` (s), one before each chunk from the second on. `log` also writes every
segment down, `samples` (s) the server's window that often.

The answer: `chunks`, a list of `{began, first, last}` (s, of the client's clock: request, first and last byte) with
what TCP_INFO says at the server as it begins to answer: `cwnd`, `ssthresh` (packets), `rto`, `rtt` (s), `sent_again`
(segments since the connection opened), and `before`, the window before the first byte was written; `late`, by which
packets left this process too late, or with netem it woke too late (s: half, 99 %, all); `drops` of the leaf; `release`,
the kernel's; or `cannot`, why this machine cannot. Given a folder of modules it loads those that it needs and halts the
machine at its end: it is a user-mode kernel's first process then.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from pathlib import Path
from typing import Any

from datagrams import CannotError, do_job, tool
from dialogue import SETTINGS, become_able, unshare

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUN, NO_PACKET_INFORMATION = 0x400454CA, 0x0001, 0x1000
SERVER, NEAR, GATEWAY, CLIENT = "10.79.0.2", "10.79.0.1", "10.79.1.1", "10.79.1.2"
GATEWAY_MAC, CLIENT_MAC = "02:00:00:00:02:01", "02:00:00:00:02:02"
NEAR_MAC, SERVER_MAC = "02:00:00:00:02:03", "02:00:00:00:02:04"
SIOCETHTOOL, ETHTOOL_STSO = 0x8946, 0x1F
SCALE = 7  # what the sizes below make of the client's window scale
MODULES = {"veth", "tun", "sch_htb", "sch_netem", "sch_ingress", "cls_u32", "act_pedit", "act_csum", "libcrc32c"}
LOOK = 0.005  # s between two looks at the clock
PORT = 5001
PR_SET_PDEATHSIG = 1
SETTLED = 0.3  # s until the server listens behind its device
PATIENCE = 120  # s that a client waits for data
# As kernels have them, so that a window is told in units of 128 bytes.
WINDOWS = {"tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304"}


def tun_device() -> int:
    """A TUN device in this namespace, up and without an address."""
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", TUN | NO_PACKET_INFORMATION))
    except OSError as error:
        raise CannotError(f"no TUN device: {error}") from None
    settle()
    tool("ip", "link", "set", "tun0", "up", "txqueuelen", "10000")
    return tun


def settle() -> None:
    """This namespace's settings."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1", encoding="ascii")
    for name, value in (SETTINGS | WINDOWS).items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value, encoding="ascii")


def first_in_line() -> None:
    """Before all other processes of the machine, where that is allowed."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
    gc.disable()


def told(connection: socket.socket) -> dict[str, float]:
    """TCP_INFO."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack("24I", info[8:104])
    return {
        "cwnd": words[18],
        "ssthresh": words[17],
        "rto": words[0] / 1e6,
        "rtt": words[15] / 1e6,
        "sent_again": words[23],
    }


def serve(job: dict[str, Any], listener: socket.socket) -> dict[str, Any]:
    """The server: a response to each request, and the window as it begins."""
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    content = memoryview(bytes(job["response"]))
    seen: list[dict[str, float]] = []
    samples: list[list[float]] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(job["samples"]):
            with contextlib.suppress(OSError):
                samples.append([time.monotonic(), *told(connection).values()])

    if job.get("samples"):
        threading.Thread(target=sample, daemon=True).start()
    while True:
        asked = 0
        while asked < job["request"]:
            got = connection.recv(job["request"] - asked)
            if not got:
                over.set()
                return {"seen": seen, "samples": samples}
            asked += len(got)
        before = told(connection)["cwnd"]
        connection.setblocking(False)
        sent = connection.send(content)  # whole: pieces would leave short segments
        seen.append({**told(connection), "before": before})
        connection.setblocking(True)
        connection.sendall(content[sent:])


def fetch(job: dict[str, Any]) -> list[dict[str, float]]:
    """The client: chunk after chunk."""
    connection = socket.create_connection((SERVER, PORT), timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    chunks = []
    for pause in [0.0, *job["pauses"]]:
        time.sleep(pause)
        began, first, got = time.monotonic(), 0.0, 0
        connection.send(bytes(job["request"]))
        while got < job["response"]:
            more = len(connection.recv(1 << 20))
            if not more:
                raise CannotError("the connection ended")
            got += more
            first = first or time.monotonic()
        chunks.append({"began": began, "first": first, "last": time.monotonic()})
    connection.close()
    return chunks


class Part:
    """A process of its own in the namespace of now, which begins when it is told to and says what it found."""

    def __init__(self, work: Any) -> None:
        self.found, say = os.pipe()
        wait, self.begin = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            os.close(self.begin)
            try:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                os.read(wait, 1)
                first_in_line()
                answer = {"answer": work()}
            except CannotError as error:
                answer = {"cannot": str(error)}
            except BaseException:
                answer = {"cannot": traceback.format_exc()}
            with os.fdopen(say, "w", encoding="utf-8") as pipe:
                json.dump(answer, pipe)
            os._exit(0)
        os.close(say)
        os.close(wait)

    def start(self) -> None:
        os.write(self.begin, b"x")

    def answer(self) -> Any:
        """What it found."""
        with os.fdopen(self.found, encoding="utf-8") as pipe:
            text = pipe.read()
        os.waitpid(self.number, 0)
        answer = json.loads(text) if text else {"cannot": "a part ended without an answer"}
        if "cannot" in answer:
            raise CannotError(answer["cannot"])
        return answer["answer"]


class Watch:
    """A clock that is looked at while the kernel does the rest."""

    def __init__(self) -> None:
        self.late: list[tuple[float, float]] = []
        self.log: list[list[Any]] | None = None

    def carry(self, done: int) -> None:
        """Looks until `done` can be read."""
        while True:
            before = time.monotonic()
            if select.select([done], [], [], LOOK)[0]:
                return
            now = time.monotonic()
            self.late.append((now, now - before - LOOK))


class Between:
    """What lies between the server and the gateway."""

    def __init__(self, job: dict[str, Any], server: int, gateway: int) -> None:
        self.delay, self.window = job["delay"], job["window"]
        self.ends = {server: gateway, gateway: server}
        self.server, self.gateway = server, gateway
        self.scale = 0
        self.air: dict[int, deque[tuple[float, bytes]]] = {server: deque(), gateway: deque()}
        self.late: list[tuple[float, float]] = []
        self.log: list[list[Any]] | None = [] if job.get("log") else None

    def lowered(self, packet: bytes) -> bytes:
        """An ACK of the client's with the window that it may say; the scale is learnt from its SYN."""
        at = 4 * (packet[0] & 15)
        if packet[9] != socket.IPPROTO_TCP:
            return packet
        if packet[at + 13] & 0x02:
            self.learn(packet[at : at + 4 * (packet[at + 12] >> 4)])
            return packet
        said, check = struct.unpack_from("!HH", packet, at + 14)
        limit = max(1, self.window >> self.scale)
        if said <= limit:
            return packet
        total = (~check & 0xFFFF) + (~said & 0xFFFF) + limit  # RFC 1624
        total = (total & 0xFFFF) + (total >> 16)
        total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        return packet[: at + 14] + struct.pack("!HH", limit, total) + packet[at + 18 :]

    def learn(self, header: bytes) -> None:
        """The window scale option."""
        at = 20
        while at < len(header) and header[at] != 0:
            if header[at] == 1:
                at += 1
                continue
            if header[at] == 3:
                self.scale = header[at + 2]
            at += max(2, header[at + 1])

    def note(self, now: float, tun: int, packet: bytes) -> None:
        """Writes a segment down: when, from where, flags, first byte, payload, ACK, window."""
        at = 4 * (packet[0] & 15)
        seq, ack, offset, bits, window = struct.unpack_from("!IIBBH", packet, at + 4)
        payload = len(packet) - at - 4 * (offset >> 4)
        assert self.log is not None
        self.log.append([round(now, 6), "server" if tun == self.server else "client", bits, seq, payload, ack, window])

    def carry(self, done: int) -> None:
        """Moves packets until `done` can be read."""
        clock = time.monotonic
        while True:
            now = clock()
            for to, queue in self.air.items():
                while queue and queue[0][0] <= now:
                    due, packet = queue.popleft()
                    self.late.append((now, now - due))
                    with contextlib.suppress(BlockingIOError):
                        os.write(to, packet)
            due = min((queue[0][0] for queue in self.air.values() if queue), default=now + 0.5)
            ready, _, _ = select.select([*self.ends, done], [], [], max(0.0, due - clock()))
            now = clock()
            for tun in ready:
                if tun == done:
                    return
                with contextlib.suppress(BlockingIOError):
                    while True:
                        packet = os.read(tun, 65536)
                        if packet[0] >> 4 != 4:
                            continue
                        if tun == self.gateway and self.window:
                            packet = self.lowered(packet)
                        if self.log is not None:
                            self.note(now, tun, packet)
                        self.air[self.ends[tun]].append((now + self.delay, packet))


def whole_frames(device: str) -> None:
    """Frames leave the device as they are on a wire, none in larger pieces."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ask:
        value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_STSO, 0))
        request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
        fcntl.ioctl(ask, SIOCETHTOOL, request.ljust(40, b"\0"))


def join(near: str, mac: str, address: str, far: str, number: int, other: tuple[str, str]) -> None:
    """Two virtual devices from this namespace to that of a process."""
    made = ["type", "veth", "peer", "name", far, "netns", str(number)]
    tool("ip", "link", "add", near, "address", mac, *made)
    tool("ip", "link", "set", near, "up")
    tool("ip", "address", "add", f"{address}/24", "dev", near)
    tool("ip", "neighbour", "add", other[0], "lladdr", other[1], "dev", near)


def joined(device: str, mac: str, address: str, gateway: tuple[str, str]) -> None:
    """The other end of it."""
    settle()
    tool("ip", "link", "set", device, "up", "address", mac)
    tool("ip", "address", "add", f"{address}/24", "dev", device)
    tool("ip", "neighbour", "add", gateway[0], "lladdr", gateway[1], "dev", device)
    tool("ip", "route", "add", "default", "via", gateway[0])


def delayed(job: dict[str, Any]) -> None:
    """All delay by netem on the way to the server; windows by pedit before it."""
    delay = f"{2e6 * job['delay']:.0f}us"
    tool("tc", "qdisc", "add", "dev", "near", "root", "netem", "limit", "100000", "delay", delay)
    if job["window"]:
        tool("tc", "qdisc", "add", "dev", "line", "handle", "ffff:", "ingress")
        not_syn = ["u32", "match", "ip", "protocol", "6", "0xff", "match", "u8", "0", "0x02", "at", "33"]
        written = ["action", "pedit", "munge", "offset", "34", "u16", "set", str(job["window"] >> SCALE)]
        tool(
            "tc", "filter", "add", "dev", "line", "parent", "ffff:", *not_syn, *written, "pipe", "action", "csum", "tcp"
        )


def run(job: dict[str, Any], netem: bool) -> dict[str, Any]:
    """Builds the network, lets both ends talk."""
    unshare(CLONE_NEWNET)
    server_tun = 0
    if not netem:
        server_tun = tun_device()
        tool("ip", "address", "add", f"{SERVER}/24", "dev", "tun0")
        tool("ip", "route", "add", "default", "dev", "tun0")
    listener = socket.socket()
    try:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, job["control"].encode())
    except OSError as error:
        raise CannotError(f"no congestion control {job['control']}: {error}") from None
    listener.bind(("", PORT))
    listener.listen(1)

    def answer_all() -> dict[str, Any]:
        if netem:
            joined("far", SERVER_MAC, SERVER, (NEAR, NEAR_MAC))
            whole_frames("far")
        return serve(job, listener)

    def play() -> list[dict[str, float]]:
        joined("home", CLIENT_MAC, CLIENT, (GATEWAY, GATEWAY_MAC))
        time.sleep(SETTLED)
        return fetch(job)

    server = Part(answer_all)
    unshare(CLONE_NEWNET)
    client = Part(play)
    unshare(CLONE_NEWNET)
    path: Between | Watch
    if netem:
        settle()
        join("near", NEAR_MAC, NEAR, "far", server.number, (SERVER, SERVER_MAC))
        path = Watch()
    else:
        gateway_tun = tun_device()
        tool("ip", "address", "add", f"{NEAR}/24", "dev", "tun0")
        path = Between(job, server_tun, gateway_tun)
    join("line", GATEWAY_MAC, GATEWAY, "home", client.number, (CLIENT, CLIENT_MAC))
    if netem:
        delayed(job)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    rate, burst = f"{job['rate']}bit", f"{job['burst']}b"
    own = ["rate", rate, "ceil", rate, "burst", burst, "cburst", burst]
    tool("tc", "qdisc", "add", "dev", "line", "root", "handle", "1:", "htb", "default", "1")
    tool("tc", "class", "add", "dev", "line", "parent", "1:", "classid", "1:1", "htb", *own)
    tool("tc", "qdisc", "add", "dev", "line", "parent", "1:1", "pfifo", "limit", str(job["limit"]))
    server.start()
    client.start()
    first_in_line()
    path.carry(client.found)
    try:
        chunks = client.answer()
    except CannotError:
        os.kill(server.number, signal.SIGKILL)
        raise
    # While the network is made a user-mode kernel does nothing else: what counts begins with the first request.
    late = sorted(late for when, late in path.late if when >= chunks[0]["began"])
    # The client has closed: its FIN has yet to arrive.
    reader = threading.Thread(target=path.carry, args=(server.found,))
    reader.start()
    reader.join()
    found = server.answer()
    dropped = subprocess.run(
        ["tc", "-s", "-j", "qdisc", "show", "dev", "line"], capture_output=True, text=True, check=False
    )
    began = chunks[0]["began"]
    for chunk, seen in zip(chunks, found["seen"], strict=True):
        chunk.update({name: round(chunk[name] - began, 6) for name in ("began", "first", "last")})
        chunk.update(seen)
    answer = {
        "chunks": chunks,
        "late": [round(late[int(share * (len(late) - 1))], 6) for share in (0.5, 0.99, 1.0)],
        "drops": max((queue.get("drops", 0) for queue in json.loads(dropped.stdout or "[]")), default=0),
        "release": platform.release(),
    }
    if found["samples"]:
        answer["samples"] = [[round(when - began, 6), *values] for when, *values in found["samples"]]
    if path.log is not None:
        answer["log"] = [[round(when - began, 6), *rest] for when, *rest in path.log]
    return answer


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Of a user-mode kernel, whose only process this is, or of the kernel that runs this machine."""
    booted = len(sys.argv) > 3
    if not booted:
        become_able()
    return run(job, booted)


if __name__ == "__main__":
    do_job(answer, lambda job: MODULES | {f"tcp_{job['control']}"}, rounds=2)
