"""What a Linux kernel's HTB or TBF lets pass: sockets that always have something to send, and when it left.

    unshare --map-root-user --net python3 shape.py < job.json

The job: `qdisc`, lists of arguments for `tc qdisc add dev shaped`; `classes`, lists for `tc class add dev shaped`;
`senders`, a list of `[priority, bytes]`: the class as a number (0: none) and the size of the frames of a sender each;
`seconds`. One JSON line comes back: `left`, a list of `[sender, seconds, bytes]` in the order of departure. Two virtual
devices, back to back, are all there is in the namespace, and they end with this process. Exit code 3: this machine
cannot; stderr says why.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import subprocess
import sys
import time
from typing import Any

HEADERS = 14 + 20 + 8  # of a frame: Ethernet, IP, UDP
FIRST_PORT = 20000
SO_TIMESTAMPNS = 35
SENDER_BUFFER = 100_000  # bytes that a sender keeps waiting, with the kernel's own overhead
CANNOT = 3
SHAPED, SEEN = "shaped", "seen"


def tool(*arguments: str) -> None:
    """Runs ip or tc; the machine cannot where it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(CANNOT)


def devices(job: dict[str, Any]) -> None:
    """One that shapes, and one that sees what left."""
    tool("ip", "link", "add", SHAPED, "type", "veth", "peer", "name", SEEN)
    for device in (SHAPED, SEEN):
        tool("ip", "link", "set", device, "up")
    tool("ip", "address", "add", "10.78.0.1/24", "dev", SHAPED)
    tool("ip", "neighbour", "add", "10.78.0.2", "lladdr", "02:00:00:00:00:02", "dev", SHAPED)
    for arguments in job["qdisc"]:
        tool("tc", "qdisc", "add", "dev", SHAPED, *arguments)
    for arguments in job["classes"]:
        tool("tc", "class", "add", "dev", SHAPED, *arguments)


def main() -> None:
    job = json.load(sys.stdin)
    devices(job)
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    seen.bind((SEEN, 0))
    seen.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    seen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000_000)
    senders: dict[int, tuple[socket.socket, bytes]] = {}
    poll = select.poll()
    poll.register(seen, select.POLLIN)
    for n, (priority, size) in enumerate(job["senders"]):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENDER_BUFFER)
        sender.bind(("10.78.0.1", FIRST_PORT + n))
        sender.connect(("10.78.0.2", 9))
        sender.setblocking(False)
        senders[sender.fileno()] = (sender, bytes(size - HEADERS))
        poll.register(sender, select.POLLOUT)
    left: list[tuple[int, int, int]] = []
    end = time.monotonic() + job["seconds"]
    while time.monotonic() < end:
        for descriptor, _ in poll.poll(100):
            if descriptor != seen.fileno():
                sender, payload = senders[descriptor]
                try:
                    while True:
                        sender.send(payload)
                except BlockingIOError:
                    continue
            frame, notes, _, _ = seen.recvmsg(64, 64, socket.MSG_DONTWAIT)
            if len(frame) < HEADERS or frame[23] != socket.IPPROTO_UDP:
                continue
            seconds, nanoseconds = struct.unpack("qq", notes[0][2])
            source = int.from_bytes(frame[34:36], "big") - FIRST_PORT
            size = 14 + int.from_bytes(frame[16:18], "big")
            left.append((source, seconds * 10**9 + nanoseconds, size))
    first = left[0][1] if left else 0
    print(json.dumps({"left": [[sender, (at - first) / 1e9, size] for sender, at, size in left]}))


if __name__ == "__main__":
    main()
