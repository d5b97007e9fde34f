"""`evenflow trace`: traced packets as a capture file, read back by hand, and by tshark where it is installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from evenflow.errors import UsageError
from evenflow.run import capture


def scenario(**conex: Any) -> ef.Scenario:
    encoding = {"conex": {"unit": "packets", **conex}}
    return ef.Scenario(
        {
            "duration": "5 s",
            "links": {
                "core": {
                    "rate": "2 Mbit/s",
                    "delay": "10 ms",
                    "queue": {
                        "kind": "red", "limit": "20 packets",
                        "min_threshold": "3 packets", "max_threshold": "20 packets",
                        "max_probability": 0.3, "weight": 0.02, "action": "mark",
                    },
                }
            },
            "groups": {
                "a": {"users": 1, "path": ["core"], "traffic": {"kind": "bulk", "flows": 2},
                      "tcp": {"ecn": "accurate", **encoding}},
            },
            "record": {"trace": ["groups.a.users[0].flows[1]"]},
        }
    )  # fmt: skip


NETWORK = """
duration = "5 s"
links.core = { rate = "2 Mbit/s", delay = "10 ms", queue = { limit = "10 packets" } }
[groups.a]
users = 1
path = ["core"]
traffic = { kind = "bulk" }
tcp = { conex = { report = "loss" } }
"""


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def packets(data: bytes) -> list[tuple[int, int, bytes]]:
    """Interface, nanoseconds, the packet's first bytes."""
    found = []
    for kind, body in blocks(data):
        if kind == 6:
            interface, high, low, captured, _ = struct.unpack_from("<IIIII", body)
            found.append((interface, high << 32 | low, body[20 : 20 + captured]))
    return found


def test_packets_of_a_flow_over_ipv4() -> None:
    chosen = scenario()
    record = chosen.run(1)
    found = packets(capture.pcapng(record, chosen))
    trace = record.trace()
    rows = trace.filter(
        ((trace["action"] == "send") & ~trace["backward"]) | ((trace["action"] == "receive") & trace["backward"])
    )
    assert len(found) == rows.height
    reports = 0
    for (interface, ns, packet), row in zip(found, rows.iter_rows(named=True), strict=True):
        assert interface == 0
        assert ns == round(row["time_s"] * 1e9)
        assert packet[0] == 0x45
        assert packet[1] & 3 == row["ecn"]
        assert bool(packet[6] & 0x80) == row["re"]
        source, destination, seq, ack, flags, window = struct.unpack_from("!HHIIHH", packet, 20)
        assert {source, destination} == {1024 + 1, 5001}
        assert flags & 0x1FF == row["flags"]
        assert window == 65535
        if row["payload"] > 0:
            assert seq == row["seq"] + 1
            assert struct.unpack_from("!H", packet, 2) == (row["size"],)
        if row["flags"] & 16:
            assert ack == row["ack"] + 1
        reports += row["payload"] > 0 and row["ecn"] == 1 and not row["re"]
    assert 5 < reports < record.json["groups"]["a"]["conex"]["users_report_packets"][0], "the other flow reports too"


def test_both_ends_are_two_interfaces() -> None:
    chosen = scenario()
    record = chosen.run(1)
    both = packets(capture.pcapng(record, chosen, "both"))
    start, end = (packets(capture.pcapng(record, chosen, at)) for at in ("start", "end"))
    assert len(both) == len(start) + len(end)
    assert [(ns, p) for interface, ns, p in both if interface == 1] == [(ns, p) for _, ns, p in end]
    assert any(packet[1] & 3 == 3 for _, _, packet in end), "marks are seen at the end"
    assert not any(packet[1] & 3 == 3 for _, _, packet in start)


def test_over_ipv6_the_option_says_it() -> None:
    chosen = scenario(encoding="ipv6", credit="flight")
    found = packets(capture.pcapng(chosen.run(1), chosen))
    data = [packet for _, _, packet in found if packet[6] == 60]
    assert data
    assert all(packet[0] == 0x60 and packet[42:44] == b"\x1e\x01" and packet[44] & 0x80 for packet in data)
    assert {packet[44] & 0x70 for packet in data} >= {0x00, 0x10, 0x20}


COUNTED = """
duration = "4 s"
links.core = {{ rate = "2 Mbit/s", delay = "10 ms", queue = {{ kind = "codel" }} }}
record.trace = ["groups.a"]
[groups.a]
users = 1
path = ["core"]
traffic = {{ kind = "bulk" }}
tcp = {{ ecn = "accurate", accurate_ecn_option = true, ect = {ect} }}
"""


def accurate_option(packet: bytes) -> tuple[int, list[int]] | None:
    """Kind and fields of the AccECN option in an IPv4 packet (RFC 9768 section 3.2.3), by a walk over the options."""
    segment = packet[4 * (packet[0] & 15) :]
    options = segment[20 : 4 * (segment[12] >> 4)]
    at, found = 0, None
    while at < len(options):
        kind = options[at]
        if kind <= 1:
            at += 1
            continue
        length = options[at + 1]
        assert 2 <= length <= len(options) - at
        if kind in (172, 174):
            assert found is None
            assert length in (2, 5, 8, 11)
            found = kind, [int.from_bytes(options[at + i : at + i + 3], "big") for i in range(2, length, 3)]
        at += length
    return found


@pytest.mark.parametrize(("ect", "kind"), [(0, 172), (1, 174)])
def test_the_accecn_option_is_in_the_file(ect: int, kind: int) -> None:
    chosen = ef.Scenario(tomllib.loads(COUNTED.format(ect=ect)))
    found = packets(capture.pcapng(chosen.run(1), chosen, "end"))
    octets = {"none": 0, "e1b": 1, "e0b": 1, "ceb": 0}
    codepoints = list(octets)
    orders = {172: ["e0b", "ceb", "e1b"], 174: ["e1b", "ceb", "e0b"]}
    kinds: dict[int, int] = {}
    for _, _, packet in found:
        flags, from_server = packet[33], packet[13] == 2
        option = accurate_option(packet)
        assert option is None or not flags & 2 or flags & 16, "no SYN has it"
        if flags & 18 == 18:
            assert option == (172, [1, 0, 1]), "the SYN-ACK tests the path"
        if option is not None and from_server:
            name, fields = option
            assert fields == [octets[key] % 2**24 for key in orders[name][: len(fields)]]
            kinds[name] = kinds.get(name, 0) + (len(fields) == 2)
        if not from_server:
            payload = struct.unpack_from("!H", packet, 2)[0] - 20 - 4 * (packet[32] >> 4)
            octets[codepoints[packet[1] & 3]] += payload
    assert octets["ceb"] > 0
    assert kinds[kind] > 100, "after the first mark two fields"


TUNNEL = """
duration = "3 s"
stages.into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u-sequence", ecn = "paper", teid = 77 }
stages.out = { kind = "tunnel-egress", ecn = "paper" }
links.core = { rate = "2 Mbit/s", delay = "10 ms", queue = { kind = "constant-probability", probability = 0.1 } }
links.radio = { delay = "20 ms" }
record.trace = ["groups.a"]
[groups.a]
users = 1
path = ["into", "core", "out", "radio"]
traffic = { kind = "bulk" }
"""


def tunnelled(folder: Path) -> ef.Scenario:
    file = folder / "tunnel.toml"
    file.write_text(TUNNEL)
    return ef.load(file)


def test_a_link_in_a_tunnel_shows_its_headers(tmp_path: Path) -> None:
    chosen = tunnelled(tmp_path)
    record = chosen.run(1)
    inside, outside = (packets(capture.pcapng(record, chosen, at)) for at in ("core", "links.radio"))
    down = [packet for _, _, packet in inside if packet[12:14] == b"\xac\x10"]
    assert len(down) > 100
    fields = set()
    for number, packet in enumerate(down):
        assert packet[9] == 17
        assert struct.unpack_from("!H", packet, 22) == (2152,)
        flags, message, length, teid, sequence = struct.unpack_from("!BBHIH", packet, 28)
        assert (flags, message, teid) == (0x32, 255, 77)
        assert length + 28 + 8 == struct.unpack_from("!H", packet, 2)[0]
        assert sequence == number, "nothing is lost here"
        assert packet[40] == 0x45
        assert packet[41] & 3 == 0, "inside it says nothing of ECN"
        fields.add(packet[1] & 3)
    assert fields == {1, 3}, "outside it is ECT(1), or marked"
    # The way back is in no tunnel, and neither is what lies behind the egress.
    assert all(packet[9] == 6 for _, _, packet in outside)
    assert {packet[1] & 3 for _, _, packet in outside} == {0}


def test_bad_use() -> None:
    chosen = scenario()
    with pytest.raises(UsageError, match="Did you mean “start”"):
        capture.pcapng(chosen.run(1), chosen, "strat")
    quiet = chosen.unset("record")
    with pytest.raises(UsageError, match="Nothing was traced"):
        capture.pcapng(quiet.run(1), quiet)


def test_the_command(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(NETWORK)
    out = tmp_path / "flow.pcapng"
    done = cli("trace", str(file), "--flow", "groups.a.users[0].flows[0]", "--out", str(out))
    assert done.code == 0, done.err
    assert str(out) in done.out.replace("\n", "")
    assert len(packets(out.read_bytes())) > 100
    assert cli("trace", str(file), "--at", "strat").code == 2


@pytest.mark.parametrize(
    ("group", "traffic"),
    [("a", 'kind = "bulk"'), ("2-a_b", 'kind = "bulk"'), ("web", 'kind = "web", page_size = "64 KiB", pages = 3')],
)
def test_without_a_flow_one_is_chosen(cli: Any, tmp_path: Path, group: str, traffic: str) -> None:
    """Of a group whose flows are opened on the way, all of its first user's."""
    file = tmp_path / "net.toml"
    file.write_text(
        'duration = "5 s"\n[links.l]\nrate = "10 Mbit/s"\ndelay = "5 ms"\n'
        f'[groups.{group}]\nusers = 2\npath = ["l"]\ntraffic = {{ {traffic} }}\n'
    )
    out = tmp_path / "flow.pcapng"
    done = cli("trace", str(file), "--out", str(out))
    assert done.code == 0, done.err
    assert len(packets(out.read_bytes())) > 10


@pytest.mark.parametrize("wrong", ["groups = 3", "record = 3", "record = { trace = 3 }"])
def test_a_wrong_file_without_a_flow_is_a_sentence(cli: Any, tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "net.toml"
    file.write_text(wrong)
    done = cli("trace", str(file))
    assert done.code == 2
    assert wrong.split()[0] in done.err


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (sudo apt-get install tshark)")
def test_tshark_reads_gtp_u(tmp_path: Path) -> None:
    chosen = tunnelled(tmp_path)
    file = tmp_path / "inside.pcapng"
    file.write_bytes(capture.pcapng(chosen.run(1), chosen, "core"))
    args = [
        "tshark",
        "-r",
        str(file),
        "-Y",
        "gtp",
        "-T",
        "fields",
        "-e",
        "gtp.teid",
        "-e",
        "gtp.seq_number",
        "-e",
        "ip.dsfield.ecn",
    ]
    lines = subprocess.run(args, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 100
    assert [line.split("\t")[0] for line in lines[:3]] == ["0x0000004d"] * 3
    malformed = subprocess.run(
        ["tshark", "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert malformed.stdout == ""


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (sudo apt-get install tshark)")
def test_tshark_reads_it(tmp_path: Path) -> None:
    chosen = scenario()
    record = chosen.run(1)
    file = tmp_path / "flow.pcapng"
    file.write_bytes(capture.pcapng(record, chosen))
    fields = ["ip.dsfield.ecn", "ip.flags.rb", "tcp.flags", "tcp.seq_raw", "tcp.ack_raw", "tcp.window_size_value"]
    args = ["tshark", "-r", str(file), "-T", "fields", *(part for name in fields for part in ("-e", name))]
    lines = subprocess.run(args, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(packets(file.read_bytes()))
    syn = lines[0].split("\t")
    assert int(syn[2], 16) == 0x1C2
    malformed = subprocess.run(
        ["tshark", "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert malformed.stdout == ""
