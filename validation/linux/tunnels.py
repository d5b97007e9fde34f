"""What a Linux kernel's tunnels do to the ECN field: the four fields at the ingress, all sixteen pairs at the egress.

    unshare --net python3 tunnels.py job.json answer.json
    linux.uml rootfstype=hostfs rw init=/usr/bin/python3 -- tunnels.py job.json answer.json /usr/lib/uml/modules

The job: `kind`, one of ipip, gre, vxlan, gtp. The answer: `outward`, by inner field, what was outside (and `inward`
inside); `pairs`, by inner and outer field, what the packet had that came out, or null where it was dropped; `errors`,
by the same, how far the device's counter of frame errors rose; `release`; or `cannot`. In the namespace are the tunnel
over one end of two virtual devices, and at the other end a socket that sees and makes packets as they are on the wire.
"""

from __future__ import annotations

import contextlib
import os
import platform
import select
import socket
import struct
import time
from pathlib import Path
from typing import Any

from datagrams import CannotError, do_job, tool

FIELDS = {"not-ect": 0, "ect0": 2, "ect1": 1, "ce": 3}
NAMES = {value: name for name, value in FIELDS.items()}
NEAR, FAR = "10.78.0.1", "10.78.0.2"
OWN, OTHER = "10.79.0.1", "10.79.0.2"
NEAR_MAC, FAR_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
INNER_MAC, OTHER_MAC = "02:00:00:00:01:01", "02:00:00:00:01:02"
PORT, WAIT = 7777, 0.3
GTP, VXLAN, TEID, VNI = 2152, 4789, 77, 5
SO_RECVTOS = 13
MODULES = {
    "veth",
    "tunnel4",
    "ip_tunnel",
    "ipip",
    "gre",
    "ip_gre",
    "udp_tunnel",
    "ip6_udp_tunnel",
    "vxlan",
    "gtp",
    "ipv6",
    "crc-ccitt",
}


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(source: str, target: str, field: int, protocol: int, content: bytes) -> bytes:
    """A packet without options."""
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    head = struct.pack("!BBHHHBBH", 0x45, field, 20 + len(content), 1, 0x4000, 64, protocol, 0) + ends
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + content


def udp(source: int, target: int, content: bytes) -> bytes:
    """A datagram without a checksum."""
    return struct.pack("!HHHH", source, target, 8 + len(content), 0) + content


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


# --- netlink, for GTP alone: ip of this age knows nothing of it -------------------------------------------------------


def attribute(kind: int, content: bytes) -> bytes:
    """One attribute, padded."""
    return struct.pack("HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def netlink(protocol: int, kind: int, flags: int, content: bytes) -> bytes:
    """Sends a message and gives the first answer's content."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as talk:
        talk.bind((0, 0))
        talk.send(struct.pack("IHHII", 16 + len(content), kind, 1 | 4 | flags, 1, 0) + content)
        answer = talk.recv(65536)
    _, got = struct.unpack_from("IH", answer)
    if got == 2 and (error := struct.unpack_from("i", answer, 16)[0]) != 0:
        raise CannotError(f"netlink: {os.strerror(-error)}")
    return answer[16:]


def make_gtp() -> None:
    """A device, and one bearer: TEID to and from the far end, for the other address."""
    name = attribute(3, b"tunnel\0")
    settings = attribute(5, b"\1") + attribute(4, struct.pack("I", 0))  # sockets of its own; at the gateway
    info = attribute(18, attribute(1, b"gtp\0") + attribute(2, settings))
    netlink(0, 16, 0x400 | 0x200, struct.pack("BxHiII", 0, 0, 0, 0, 0) + name + info)
    family_answer = netlink(16, 16, 0, struct.pack("BBH", 3, 1, 0) + attribute(2, b"gtp\0"))
    family = None
    at = 4
    while at + 4 <= len(family_answer):
        length, kind = struct.unpack_from("HH", family_answer, at)
        if kind == 1:
            family = struct.unpack_from("H", family_answer, at + 4)[0]
        at += max(4, (length + 3) & ~3)
    if family is None:
        raise CannotError("netlink: no family gtp")
    index = socket.if_nametoindex("tunnel")
    content = attribute(1, struct.pack("I", index)) + attribute(2, struct.pack("I", 1))
    content += attribute(4, socket.inet_aton(FAR)) + attribute(5, socket.inet_aton(OTHER))
    content += attribute(8, struct.pack("I", TEID)) + attribute(9, struct.pack("I", TEID))
    netlink(16, family, 0, struct.pack("BBH", 0, 0, 0) + content)


# --- the namespace ---------------------------------------------------------------------------------------------------


def devices(kind: str) -> None:
    """The tunnel, over the near end of two devices."""
    tool("ip", "link", "add", "near", "address", NEAR_MAC, "type", "veth", "peer", "name", "far", "address", FAR_MAC)
    for device in ("lo", "near", "far"):
        tool("ip", "link", "set", device, "up")
    tool("ip", "address", "add", f"{NEAR}/24", "dev", "near")
    tool("ip", "neighbour", "add", FAR, "lladdr", FAR_MAC, "dev", "near")
    ends = ["local", NEAR, "remote", FAR]
    if kind == "gtp":
        make_gtp()
    elif kind == "vxlan":
        more = ["id", str(VNI), *ends, "dev", "near", "dstport", str(VXLAN), "tos", "inherit", "noudpcsum"]
        tool("ip", "link", "add", "tunnel", "address", INNER_MAC, "type", "vxlan", *more)
    else:
        tool("ip", "link", "add", "tunnel", "type", kind, *ends, "tos", "inherit")
    tool("ip", "link", "set", "tunnel", "up")
    tool("ip", "address", "add", f"{OWN}/24", "dev", "tunnel")
    if kind == "vxlan":
        tool("ip", "neighbour", "add", OTHER, "lladdr", OTHER_MAC, "dev", "tunnel")
    for name in ("all", "near", "tunnel"):
        with contextlib.suppress(OSError):
            Path(f"/proc/sys/net/ipv4/conf/{name}/rp_filter").write_text("0", encoding="ascii")


def wrap(kind: str, packet: bytes, field: int) -> bytes:
    """A frame with the packet in the tunnel, from the far end."""
    if kind == "ipip":
        protocol, content = 4, packet
    elif kind == "gre":
        protocol, content = 47, struct.pack("!HH", 0, 0x0800) + packet
    elif kind == "gtp":
        header = struct.pack("!BBHI", 0x30, 255, len(packet), TEID)
        protocol, content = 17, udp(GTP, GTP, header + packet)
    else:
        frame = mac(INNER_MAC) + mac(OTHER_MAC) + b"\x08\x00" + packet
        protocol, content = 17, udp(VXLAN, VXLAN, struct.pack("!II", 0x08000000, VNI << 8) + frame)
    return mac(NEAR_MAC) + mac(FAR_MAC) + b"\x08\x00" + ipv4(FAR, NEAR, field, protocol, content)


def inside(kind: str, packet: bytes) -> int:
    """The inner field of a packet that left."""
    content = packet[20:]
    skip = {"ipip": 0, "gre": 4, "gtp": 8 + 8, "vxlan": 8 + 8 + 14}[kind]
    return content[skip + 1] & 3


def frame_errors() -> int:
    """Of the tunnel's device."""
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "tunnel":
            return int(counts.split()[5])
    raise CannotError("the tunnel has no counters")


def run(job: dict[str, Any]) -> dict[str, Any]:
    """All fields out, all pairs in."""
    kind = job["kind"]
    devices(kind)
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    wire.bind(("far", 0))
    ears = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ears.setsockopt(socket.IPPROTO_IP, SO_RECVTOS, 1)
    ears.bind((OWN, PORT))
    answer: dict[str, Any] = {"outward": {}, "inward": {}, "pairs": {}, "errors": {}, "release": platform.release()}
    time.sleep(WAIT)
    for name, field in FIELDS.items():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
            mouth.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field)
            mouth.bind((OWN, 0))
            mouth.sendto(b"packet-" + name.encode(), (OTHER, PORT))
        until = time.monotonic() + 5 * WAIT
        while time.monotonic() < until:
            ready, _, _ = select.select([wire], [], [], WAIT)
            frame, about = wire.recvfrom(2000) if ready else (b"", ("", 0, 4))
            if about[2] != 4 and frame.endswith(b"packet-" + name.encode()):
                answer["outward"][name] = NAMES[frame[15] & 3]
                answer["inward"][name] = NAMES[inside(kind, frame[14:])]
                break
        else:
            raise CannotError(f"{kind}: nothing left the tunnel")
    came = 0
    for name, field in FIELDS.items():
        for outer_name, outer in FIELDS.items():
            mark = f"{name}/{outer_name}".encode()
            before = frame_errors()
            packet = ipv4(OTHER, OWN, field, 17, udp(9, PORT, mark))
            wire.send(wrap(kind, packet, outer))
            ready, _, _ = select.select([ears], [], [], WAIT)
            found = None
            if ready:
                content, notes, _, _ = ears.recvmsg(2000, 64)
                if content == mark:
                    found = NAMES[notes[0][2][0] & 3]
                    came += 1
            answer["pairs"].setdefault(name, {})[outer_name] = found
            answer["errors"].setdefault(name, {})[outer_name] = frame_errors() - before
    if came == 0:
        raise CannotError(f"{kind}: nothing came out of the tunnel")
    return answer


if __name__ == "__main__":
    do_job(run, lambda _: MODULES, rounds=4)
