"""Vectors for headers as bytes: IPv4 with the codes of ConEx, the ConEx option of IPv6, GTP-U.

Written a second time from the figures of RFC 791 section 3.1 (with the ECN field of RFC 3168 section 5 and bit 48 of
draft-briscoe-conex-re-ecn-tcp-04 section 5.1), RFC 8200 sections 4.2 and 4.6 with RFC 7837 section 4, and 3GPP TS
29.281 sections 5.1 and 5.2. A header is a row of bits here, as the figures draw it, and is read field by field from
the left; what is malformed has one fault, which stands beside it. Nothing of Evenflow is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stages import write

Draw = Callable[[], float]
Field = tuple[str, int]

IPV4: tuple[Field, ...] = (
    ("version", 4),
    ("ihl", 4),
    ("dscp", 6),
    ("ecn", 2),
    ("total_length", 16),
    ("identification", 16),
    ("re", 1),
    ("dont_fragment", 1),
    ("more_fragments", 1),
    ("fragment_offset", 13),
    ("time_to_live", 8),
    ("protocol", 8),
    ("checksum", 16),
    ("source", 32),
    ("destination", 32),
)
"""RFC 791, figure 4. The type of service is DSCP and ECN; the first of its three flags is reserved, and re-ECN's."""

GTP_U: tuple[Field, ...] = (
    ("version", 3),
    ("protocol_type", 1),
    ("spare", 1),
    ("e", 1),
    ("s", 1),
    ("pn", 1),
    ("message", 8),
    ("length", 16),
    ("teid", 32),
)
"""TS 29.281, figure 5.1-1, without the four octets that are there where one of the three flags is."""

OPTIONAL: tuple[Field, ...] = (("sequence", 16), ("n_pdu", 8), ("next", 8))

FIELDS = ("not-ect", "ect1", "ect0", "ce")
"""RFC 3168 section 5, by its two bits."""

SIGNALS = {
    ("not-ect", False): "not-conex",
    ("not-ect", True): "credit",
    ("ect1", False): "re-echo",
    ("ect1", True): "not-marked",
    ("ect0", False): "not-conex",
    ("ect0", True): "not-conex",
    ("ce", False): "re-echo, met congestion",
    ("ce", True): "not-marked, met congestion",
}
"""Sanhaji et al. 2015, table I."""

OPTION = 0x1E
"""RFC 7837 section 4: 00 it is skipped by who does not know it, 0 it does not change on the way, 11110."""


def bits(fields: Iterable[Field], values: dict[str, int]) -> str:
    """The row of bits."""
    row = ""
    for name, width in fields:
        digits = f"{values.get(name, 0):0{width}b}"
        assert len(digits) == width, (name, values[name])
        row += digits
    return row


def octets(row: str) -> bytes:
    return bytes(int(row[at : at + 8], 2) for at in range(0, len(row), 8))


def fields(layout: Iterable[Field], data: bytes) -> dict[str, int]:
    """The fields at the beginning of `data`."""
    row = "".join(f"{octet:08b}" for octet in data)
    values, at = {}, 0
    for name, width in layout:
        values[name] = int(row[at : at + width], 2)
        at += width
    return values


def ones_complement(header: bytes) -> int:
    """RFC 791: the complement of the one's complement sum of all 16-bit words, the checksum's own place being zero.

    Of numbers that are not all zero such a sum is their remainder by 65,535, with 65,535 for zero.
    """
    total = sum(int.from_bytes(header[at : at + 2]) for at in range(0, len(header), 2) if at != 10)
    return 0xFFFF - (total % 0xFFFF or 0xFFFF)


def with_checksum(header: bytes) -> bytes:
    return header[:10] + ones_complement(header).to_bytes(2) + header[12:]


def read(data: bytes, expect: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One event: bytes, and what is in them."""
    return {"event": "read", "bytes": data.hex(), **more, "expect": expect}


def refuse(data: bytes, error: str, why: str, **more: Any) -> dict[str, Any]:
    """One event: bytes that are no header."""
    return read(data, {"error": error}, why=why, **more)


# IPv4.


def ipv4_header(values: dict[str, int], options: bytes = b"") -> bytes:
    values = {"version": 4, "ihl": 5 + len(options) // 4, **values}
    return with_checksum(octets(bits(IPV4, values)) + options)


def ipv4_reads(packet: bytes) -> dict[str, Any]:
    """What a whole packet's header says."""
    said = fields(IPV4, packet)
    header = packet[: 4 * said["ihl"]]
    assert said["version"] == 4
    assert said["checksum"] == ones_complement(header)
    field, re = FIELDS[said["ecn"]], bool(said["re"])
    return {
        "dscp": said["dscp"],
        "ecn": field,
        "re": re,
        "signal": SIGNALS[field, re],
        "total_length": said["total_length"],
        "identification": said["identification"],
        "dont_fragment": bool(said["dont_fragment"]),
        "more_fragments": bool(said["more_fragments"]),
        "fragment_offset": said["fragment_offset"],
        "time_to_live": said["time_to_live"],
        "protocol": said["protocol"],
        "source": ".".join(str(octet) for octet in packet[12:16]),
        "destination": ".".join(str(octet) for octet in packet[16:20]),
        "inside": said["total_length"] - len(header),
    }


USUAL = {
    "identification": 0x1C46,
    "dont_fragment": 1,
    "time_to_live": 64,
    "protocol": 6,
    "source": 0xAC10_0A63,
    "destination": 0xAC10_0A0C,
}


def ipv4(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    events = []
    for ecn in range(4):
        for re in range(2):
            packet = ipv4_header({**USUAL, "ecn": ecn, "re": re, "total_length": 28}) + bytes(range(8))
            events.append(read(packet, ipv4_reads(packet), written=True))
    about = (
        "The eight codes of ECN field and bit 48 (Sanhaji et al. 2015, table I); nothing else changes but the checksum."
    )
    yield write("wire", "ipv4-codes", about, {"codec": "ipv4"}, events)

    dice: Draw = draws(791).next
    events = []
    for number in range(60):
        inside, options = int(dice() * 30), bytes(int(dice() * 256) for _ in range(4 * int(dice() * 11)))
        if number % 3:
            options = b""
        values = {
            name: int(dice() * 2**width)
            for name, width in IPV4
            if name not in ("version", "ihl", "total_length", "checksum")
        }
        packet = ipv4_header({**values, "total_length": 20 + len(options) + inside}, options)
        packet += bytes(int(dice() * 256) for _ in range(inside))
        behind = bytes(int(dice() * 256) for _ in range(int(dice() * 5)))
        events.append(read(packet + behind, ipv4_reads(packet), written=not options))
    about = (
        "Any fields, with options, which are skipped, and with octets behind the packet, which are a link's padding."
    )
    yield write("wire", "ipv4-fields", about, {"codec": "ipv4"}, events)

    good = ipv4_header({**USUAL, "ecn": 1, "re": 1, "total_length": 28}) + bytes(8)
    spoilt = [
        (good[:0], "short", "nothing"),
        (good[:19], "short", "an octet less than the least header"),
        (good[:27], "short", "an octet less than the total length"),
        (bytes([0x65, *good[1:]]), "version", "version 6"),
        (bytes([0x05, *good[1:]]), "version", "version 0"),
        (bytes([0x44, *good[1:]]), "length", "a header of four words"),
        (bytes([0x40, *good[1:]]), "length", "a header of no words"),
        (bytes([0x48, *good[1:]]), "short", "options that are not there"),
        (good[:2] + b"\x00\x13" + good[4:], "length", "a total length less than the header's"),
        (with_checksum(b"\x46" + good[1:3] + b"\x17" + good[4:24]) + good[24:], "length", "the same with options"),
        (good[:1] + bytes([good[1] ^ 2]) + good[2:], "checksum", "an ECN field that was changed without its checksum"),
        (good[:6] + bytes([good[6] ^ 0x80]) + good[7:], "checksum", "an RE flag that was changed without its checksum"),
        (good[:10] + b"\x00\x00" + good[12:], "checksum", "no checksum"),
    ]
    yield write("wire", "ipv4-malformed", "One fault each.", {"codec": "ipv4"}, [refuse(*one) for one in spoilt])


# The option of IPv6.

FLAGS = ("X", "L", "E", "C")
"""RFC 7837 section 4: the four most significant bits of the option's data; the other four are reserved."""


def conex_reads(flags: int) -> str | None:
    """The bits that are set. Where X is not, the others mean nothing (RFC 7837 section 4)."""
    said = "".join(name for name, bit in zip(FLAGS, f"{flags:08b}", strict=False) if bit == "1")
    return said if "X" in said else ""


def padded(*options: bytes) -> bytes:
    """Options with what fills the header up to a multiple of eight octets (RFC 8200 section 4.2): Pad1, or PadN."""
    data = b"".join(options)
    missing = -(len(data) + 2) % 8
    if missing == 1:
        return data + b"\x00"
    return data + (bytes([1, missing - 2]) + bytes(missing - 2) if missing else b"")


def destination(following: int, *options: bytes) -> bytes:
    data = padded(*options)
    return bytes([following, (len(data) + 2) // 8 - 1]) + data


def option(flags: int) -> bytes:
    return bytes([OPTION, 1, flags])


def conex_options(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    def found(data: bytes, following: int, signals: str | None, **more: Any) -> dict[str, Any]:
        length = 8 * (data[1] + 1)
        return read(data, {"next_header": following, "signals": signals, "inside": len(data) - length}, **more)

    sent = [0, *range(0x80, 0x100, 0x10)]
    events = [
        found(destination(6, option(flags)) + bytes(3), 6, conex_reads(flags), written=flags in sent)
        for flags in [*range(0, 256, 16), *range(0, 256, 5)]
    ]
    about = "Every pattern of the four bits; reserved bits are ignored, and so are the other three where X is not set."
    yield write("wire", "conex-option-bits", about, {"codec": "conex-option"}, events)

    dice: Draw = draws(7837).next
    events = [
        found(destination(17), 17, None),
        found(destination(59, b"\x00"), 59, None),
        found(destination(6, b"\x01\x00", option(0x90)), 6, "XC"),
        found(destination(6, b"\x00\x00\x00", option(0xE0)), 6, "XLE"),
        # A type that begins with 00 is skipped by who does not know it; 0x1e with a third bit is another type.
        found(destination(6, bytes([0x3E, 1, 0xF0]), option(0x80)), 6, "X"),
        found(destination(6, option(0xA0), bytes([0x05, 2, 0, 0])), 6, "XE"),
    ]
    for _ in range(30):
        before = [bytes([2 + int(dice() * 27), n, *(int(dice() * 256) for _ in range(n))]) for n in (int(dice() * 9),)]
        flags = int(dice() * 256)
        data = destination(6, *before, option(flags), b"\x00" * int(dice() * 3))
        events.append(found(data + bytes(int(dice() * 4)), 6, conex_reads(flags)))
    about = "Beside padding and options that nobody must know, and without it: not a packet of ConEx."
    yield write("wire", "conex-option-others", about, {"codec": "conex-option"}, events)

    spoilt = [
        (b"", "short", "nothing"),
        (b"\x06", "short", "no length"),
        (destination(6, option(0x80))[:7], "short", "an octet less than the header's length"),
        (b"\x06\x01" + padded(option(0x80)), "short", "a header of 16 octets, of which eight are there"),
        (bytes([6, 0, OPTION, 2, 0x80, 0, 0, 0]), "length", "data of two octets"),
        (bytes([6, 0, OPTION, 0, 1, 2, 0, 0]), "length", "no data"),
        (bytes([6, 0, 1, 5, 0, 0, 0, 0]), "length", "padding that leaves the header"),
        (bytes([6, 0, 0x05, 9, 0, 0, 0, 0]), "length", "an unknown option that leaves the header"),
        (bytes([6, 0, 0, 0, 0, OPTION, 2, 0x80]), "length", "an option that leaves the header"),
        (bytes([6, 0, 0, 0, 0, 0, 0, OPTION]), "short", "a type without a length"),
    ]
    spoilt += [
        (destination(6, option(0x80), bytes([kind, 0])), "must-understand", f"an option of type {kind:#04x}")
        for kind in (0x5E, 0x9E, 0xDE, 0x45, 0x85, 0xC5)
    ]
    about = "One fault each; unknown options whose type begins with 01, 10 or 11 (RFC 8200 section 4.2)."
    yield write("wire", "conex-option-malformed", about, {"codec": "conex-option"}, [refuse(*one) for one in spoilt])


# GTP-U.

PLAIN = {"version": 1, "protocol_type": 1, "message": 255}


def extension(kind: int, content: bytes, following: int) -> bytes:
    """Section 5.2.1: a length in units of four octets, the content, the type of the next. Its own stands before it."""
    assert (len(content) + 2) % 4 == 0
    return bytes([(len(content) + 2) // 4]) + content + bytes([following])


def gtp_message(
    teid: int,
    *,
    message: int = 255,
    sequence: int | None = None,
    n_pdu: int | None = None,
    extensions: list[tuple[int, bytes]] | None = None,
    inside: bytes = b"",
) -> bytes:
    chain = extensions or []
    rest = b""
    if sequence is not None or n_pdu is not None or chain:
        values = {"sequence": sequence or 0, "n_pdu": n_pdu or 0, "next": chain[0][0] if chain else 0}
        rest = octets(bits(OPTIONAL, values))
        for (kind, content), following in zip(chain, [*(kind for kind, _ in chain[1:]), 0], strict=False):
            rest += extension(kind, content, following)
    rest += inside
    flags = {"e": int(bool(chain)), "s": int(sequence is not None), "pn": int(n_pdu is not None)}
    return octets(bits(GTP_U, {**PLAIN, **flags, "message": message, "length": len(rest), "teid": teid})) + rest


def gtp_reads(data: bytes) -> dict[str, Any]:
    said = fields(GTP_U, data)
    rest = data[8 : 8 + said["length"]]
    found: dict[str, Any] = {
        "message": said["message"],
        "teid": said["teid"],
        "sequence": None,
        "n_pdu": None,
        "extensions": [],
    }
    if said["e"] or said["s"] or said["pn"]:
        more, rest = fields(OPTIONAL, rest), rest[4:]
        found["sequence"] = more["sequence"] if said["s"] else None
        found["n_pdu"] = more["n_pdu"] if said["pn"] else None
        kind = more["next"] if said["e"] else 0
        while kind:
            length = 4 * rest[0]
            found["extensions"].append({"type": kind, "content": rest[1 : length - 1].hex()})
            kind, rest = rest[length - 1], rest[length:]
    return {**found, "inside": len(rest)}


def gtp_u(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    def found(data: bytes, known: list[int] | None = None, **more: Any) -> dict[str, Any]:
        return read(data, gtp_reads(data), known=known or [], **more)

    dice: Draw = draws(29281).next
    word = lambda: int(dice() * 2**16)  # noqa: E731
    types = (1, 2, 26, 31, 254, 255)
    events = [found(gtp_message(word(), message=message, inside=bytes(5)), written=True) for message in types]
    for given in range(8):
        data = gtp_message(
            int(dice() * 2**32),
            sequence=word() if given & 1 else None,
            n_pdu=int(dice() * 256) if given & 2 else None,
            extensions=[(0x40, bytes([word() >> 8, 7]))] if given & 4 else None,
            inside=bytes(int(dice() * 40)),
        )
        events.append(found(data + bytes(int(dice() * 4)), written=True))
    # A field whose flag is not set is there, and is not evaluated (section 5.1).
    base = octets(bits(GTP_U, {**PLAIN, "s": 1, "length": 6, "teid": 9}))
    events.append(found(base + bytes([0xBE, 0xEF, 0x55, 0x85, 1, 2])))
    events.append(found(octets(bits(GTP_U, {**PLAIN, "pn": 1, "length": 4})) + bytes([0xBE, 0xEF, 0x55, 0xC0])))
    events.append(found(octets(bits(GTP_U, {**PLAIN, "e": 1, "length": 4})) + bytes([0xBE, 0xEF, 0x55, 0])))
    # The spare bit is sent as 0, and is not evaluated.
    events.append(found(octets(bits(GTP_U, {**PLAIN, "spare": 1, "length": 0, "teid": 1}))))
    about = "Flags, message types, and the octets of sequence number, N-PDU number and next extension header's type."
    yield write("wire", "gtp-u-fields", about, {"codec": "gtp-u"}, events)

    events = []
    for number in range(20):
        kinds = [1 + int(dice() * 0x7E) for _ in range(1 + number % 4)]
        chain = [(kind, bytes(int(dice() * 256) for _ in range(4 * (1 + int(dice() * 3)) - 2))) for kind in kinds]
        data = gtp_message(word(), sequence=word(), extensions=chain, inside=bytes(number))
        events.append(found(data, written=True))
    for kind in (0x81, 0x85, 0xC0, 0xC1):
        data = gtp_message(word(), extensions=[(kind, bytes([0, 9])), (0x20, bytes([0, 6]))], inside=bytes(4))
        events.append(found(data, known=[kind], written=True))
    about = "Chains of extension headers. Types from 128 on must be understood by the endpoint, and are."
    yield write("wire", "gtp-u-extensions", about, {"codec": "gtp-u"}, events)

    numbered = gtp_message(7, sequence=1)
    chain = gtp_message(7, extensions=[(0x20, bytes([0, 6]))])

    def length(data: bytes, value: int) -> bytes:
        return data[:2] + value.to_bytes(2) + data[4:]

    spoilt = [
        (b"", "short", "nothing"),
        (numbered[:7], "short", "an octet less than the least header"),
        (length(numbered, 5), "short", "an octet less than the length"),
        (bytes([0x52, *numbered[1:]]), "version", "version 2"),
        (bytes([0x12, *numbered[1:]]), "version", "version 0"),
        (bytes([0x22, *numbered[1:]]), "charging", "protocol type 0: GTP'"),
        (length(numbered, 3), "length", "a length without room for the octets that a flag announces"),
        (length(numbered, 0), "length", "the same of length 0"),
        (length(chain, 4), "length", "a length that ends before the extension header"),
        (chain[:12] + bytes([0, *chain[13:]]), "length", "an extension header of length 0"),
        (chain[:12] + bytes([2, *chain[13:]]), "length", "an extension header that leaves the message"),
        (chain[:15] + b"\x20", "length", "a chain that goes on behind the message"),
    ]
    events = [refuse(*one, known=[]) for one in spoilt]
    for kind in (0x80, 0x85, 0xBF, 0xC0, 0xFF):
        data = gtp_message(7, extensions=[(0x20, bytes([0, 6])), (kind, bytes([0, 9]))])
        events.append(refuse(data, "must-understand", f"an extension header of type {kind:#04x}", known=[0x84, 0xC1]))
    yield write("wire", "gtp-u-malformed", "One fault each (sections 5.1 and 5.2.1).", {"codec": "gtp-u"}, events)


def wire(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them."""
    yield from ipv4(draws)
    yield from conex_options(draws)
    yield from gtp_u(draws)
