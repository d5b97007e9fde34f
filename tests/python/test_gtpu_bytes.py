"""GTP-U in a capture, read back by a decoder of its own, from 3GPP TS 29.281 section 5, RFC 791, 768 and 3168.

Nothing of Evenflow reads the bytes here. It always runs; tshark's reading of the file is compared where tshark is.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import evenflow as ef
import pytest
from evenflow.run import capture

GTP_U, UDP, TCP, IN_IP = 2152, 17, 6, 4
FIELDS = {0: "not-ect", 1: "ect1", 2: "ect0", 3: "ce"}


@dataclass(frozen=True)
class Ip:
    """An IPv4 header."""

    length: int
    ecn: int
    re: bool
    protocol: int


@dataclass(frozen=True)
class Gtp:
    """A header of GTP-U; what has no flag is None."""

    message: int
    teid: int
    sequence: int | None
    n_pdu: int | None
    extensions: tuple[tuple[int, bytes], ...]


def ones(data: bytes) -> int:
    """The ones' complement sum of 16-bit words (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ip(data: bytes) -> tuple[Ip, bytes]:
    """RFC 791 section 3.1; the reserved flag, bit 48, is RE."""
    if len(data) < 20 or data[0] >> 4 != 4:
        raise ValueError("no IPv4")
    header = (data[0] & 15) * 4
    if header < 20 or len(data) < header:
        raise ValueError("a short header")
    if ones(data[:header]) != 0xFFFF:
        raise ValueError("a wrong checksum")
    length = int.from_bytes(data[2:4], "big")
    return Ip(length, data[1] & 3, bool(data[6] & 0x80), data[9]), data[header:]


def udp(data: bytes, room: int) -> tuple[int, bytes]:
    """The destination port, and what is inside (RFC 768)."""
    _, port, length, _ = struct.unpack("!HHHH", data[:8])
    if length != room:
        raise ValueError(f"UDP says {length} bytes of {room}")
    return port, data[8:]


def gtp(data: bytes, room: int) -> tuple[Gtp, bytes, int]:
    """The header, what is inside, and how many bytes that has (TS 29.281 figures 5.1-1 and 5.2.1-1).

    `room` is what UDP has for it: a capture holds the first bytes of a packet alone.
    """
    if len(data) < 8:
        raise ValueError("less than 8 octets")
    first, message, length, teid = struct.unpack("!BBHI", data[:8])
    if first >> 5 != 1 or not first & 0x10:
        raise ValueError("not version 1 of GTP")
    if length != room - 8:
        raise ValueError(f"GTP says {length} bytes of {room - 8}")
    at, extensions, sequence, n_pdu = 8, [], None, None
    if first & 7:  # octets 9 to 12 are there if any of E, S, PN is set
        number, pdu, following = struct.unpack("!HBB", data[8:12])
        sequence = number if first & 2 else None
        n_pdu = pdu if first & 1 else None
        at, following = 12, following if first & 4 else 0
        while following:
            units = data[at]
            if not units:
                raise ValueError("an extension header of no length")
            if at + 4 * units > len(data):
                raise ValueError("an extension header beyond the end")
            extensions.append((following, data[at + 1 : at + 4 * units - 1]))
            following = data[at + 4 * units - 1]
            at += 4 * units
    return Gtp(message, teid, sequence, n_pdu, tuple(extensions)), data[at:], room - at


def layers(packet: bytes) -> list[Ip | Gtp]:
    """All headers of IP and GTP-U, from outside."""
    found: list[Ip | Gtp] = []
    room = None
    while True:
        header, packet = ip(packet)
        if room is not None and header.length != room:
            raise ValueError(f"IP says {header.length} bytes of {room}")
        found.append(header)
        if header.protocol != UDP:
            return found
        port, packet = udp(packet, header.length - 20)
        if port != GTP_U:
            return found
        tunnel, packet, room = gtp(packet, header.length - 28)
        found.append(tunnel)


def blocks(data: bytes) -> Iterator[bytes]:
    """Packets of a pcapng file, as much of each as it holds."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            yield data[at + 28 : at + 28 + captured]
        at += length


def octets(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


INSIDE = b"inside"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # plain; with a sequence number; with an N-PDU number; all three, with a PDU session container (TS 38.415)
        ("30 ff 0006 00000001", Gtp(255, 1, None, None, ())),
        ("32 ff 000a 0000004d 1234 00 00", Gtp(255, 77, 0x1234, None, ())),
        ("31 ff 000a 0000004d 0000 09 00", Gtp(255, 77, None, 9, ())),
        ("34 ff 000e 0000004d ffff ff 85 01 0009 00", Gtp(255, 77, None, None, ((0x85, b"\0\t"),))),
        (
            "37 ff 0016 0000004d 0001 02 85 01 0009 c0 02 001122334455 00",
            Gtp(255, 77, 1, 2, ((0x85, b"\0\t"), (0xC0, octets("001122334455")))),
        ),
    ],
)
def test_the_decoder_reads_what_the_document_shows(head: str, expected: Gtp) -> None:
    data = octets(head) + INSIDE
    found, inside, _ = gtp(data, len(data))
    assert (found, inside) == (expected, INSIDE)


@pytest.mark.parametrize(
    "wrong",
    [
        "50 ff 0006 00000001",  # version 2
        "20 ff 0006 00000001",  # GTP'
        "30 ff 0007 00000001",  # a length that is not so
        "30 ff 00",
        "34 ff 000e 0000004d 0000 00 85 00 0009 00",  # an extension header of no length
        "34 ff 000e 0000004d 0000 00 85 07 0009 00",  # and one beyond the end
    ],
)
def test_the_decoder_refuses_what_is_malformed(wrong: str) -> None:
    data = octets(wrong) + (INSIDE if len(wrong) > 9 else b"")
    with pytest.raises(ValueError, match=r"."):
        gtp(data, len(data))


def network(overhead: str, nested: bool) -> str:
    """Senders of re-ECN in a GTP-U tunnel, or in one in another, around a queue that marks a tenth."""
    more = (
        """
stages.second = { kind = "tunnel-ingress", peer = "end", overhead = "gtp-u-sequence", teid = 4711 }
stages.end = { kind = "tunnel-egress" }
"""
        if nested
        else ""
    )
    path = ["into", "second", "core", "end", "out"] if nested else ["into", "core", "out"]
    return f"""
duration = "3 s"
stages.into = {{ kind = "tunnel-ingress", peer = "out", overhead = "{overhead}", teid = 77 }}
stages.out = {{ kind = "tunnel-egress" }}
{more}
links.core = {{ rate = "2 Mbit/s", delay = "10 ms", queue = {{ kind = "constant-probability", probability = 0.1 }} }}
record.trace = ["groups.a"]
[groups.a]
users = 1
path = {path!r}
traffic = {{ kind = "bulk" }}
tcp = {{ ecn = "re-ecn", conex = {{ unit = "packets", credit = "first-and-third" }} }}
"""


CASES = [("gtp-u", False, 36), ("gtp-u-sequence", False, 40), ("gtp-u", True, 76)]


def captured(folder: Path, overhead: str, nested: bool) -> tuple[bytes, ef.Record]:
    file = folder / "tunnel.toml"
    file.write_text(network(overhead, nested))
    chosen = ef.load(file)
    record = chosen.run(1)
    return capture.pcapng(record, chosen, "core"), record


@pytest.mark.parametrize(("overhead", "nested", "bytes_more"), CASES)
def test_every_packet_is_what_the_trace_says(tmp_path: Path, overhead: str, nested: bool, bytes_more: int) -> None:
    data, record = captured(tmp_path, overhead, nested)
    trace = record.trace()
    rows = trace.filter((trace["action"] == "leave") & ~trace["backward"])
    found = [it for it in map(layers, blocks(data)) if len(it) > 1]
    assert len(found) == rows.height > 150
    codes = set()
    for headers, row in zip(found, rows.iter_rows(named=True), strict=True):
        outer, inner = headers[0], headers[-1]
        tunnels = [it for it in headers if isinstance(it, Gtp)]
        assert isinstance(outer, Ip)
        assert isinstance(inner, Ip)
        assert len(tunnels) == (2 if nested else 1)
        assert {it.message for it in tunnels} == {255}
        assert [it.teid for it in tunnels] == ([4711, 77] if nested else [77])
        assert (tunnels[-1].sequence is None) == (overhead == "gtp-u")
        # A trace counts headers in the order in which they were put on.
        outermost = f"outer_{len(tunnels)}"
        numbered = tunnels[0].sequence
        assert numbered is None or numbered == row[f"{outermost}_sequence"]
        assert all(it.n_pdu is None and not it.extensions for it in tunnels)
        assert outer.length == inner.length + bytes_more
        assert row["payload"] == 0 or outer.length == row["size"]
        assert (inner.ecn, inner.re) == (row["ecn"], row["re"])
        assert (outer.ecn, outer.re) == (row[f"{outermost}_ecn"], bool(row[f"{outermost}_re"]))
        codes.add((outer.ecn, outer.re, inner.ecn, inner.re))
    # A mark is outside alone; what was declared is on both.
    assert {(1, True, 1, True), (3, True, 1, True), (1, False, 1, False), (0, True, 0, True)} <= codes
    assert {inner for _, _, inner, _ in codes} == {0, 1}


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (sudo apt-get install tshark)")
@pytest.mark.parametrize(("overhead", "nested", "bytes_more"), CASES)
def test_tshark_reads_the_same(tmp_path: Path, overhead: str, nested: bool, bytes_more: int) -> None:
    data, _ = captured(tmp_path, overhead, nested)
    file = tmp_path / "inside.pcapng"
    file.write_bytes(data)
    names = ["gtp.teid", "gtp.seq_number", "ip.dsfield.ecn", "ip.flags.rb", "ip.len"]
    asked = ["tshark", "-r", str(file), "-T", "fields", "-E", "occurrence=a", "-Y", "gtp"]
    lines = subprocess.run(
        [*asked, *(part for name in names for part in ("-e", name))], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    mine = [it for it in map(layers, blocks(data)) if len(it) > 1]
    assert len(lines) == len(mine)

    def numbers(text: str) -> list[int]:
        words = {"True": "1", "False": "0"}
        return [int(words.get(word, word), 0) for word in text.split(",") if word]

    for line, headers in zip(lines, mine, strict=True):
        teid, sequence, ecn, re, length = map(numbers, line.split("\t"))
        tunnels = [it for it in headers if isinstance(it, Gtp)]
        addresses = [it for it in headers if isinstance(it, Ip)]
        assert teid == [it.teid for it in tunnels]
        assert sequence == [it.sequence for it in tunnels if it.sequence is not None]
        assert ecn == [it.ecn for it in addresses]
        assert re == [int(it.re) for it in addresses]
        assert length == [it.length for it in addresses]
    wrong = subprocess.run(
        ["tshark", "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert wrong.stdout == ""
