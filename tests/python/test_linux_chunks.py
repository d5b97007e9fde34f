"""Chunks beside a kernel: what it is told, what is read out of Evenflow's run, and one short run."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from evenflow.run import evidence
from evenflow.stats import Interval, mean_interval

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation"), str(ROOT / "validation" / "linux")]

import chunks  # noqa: E402
import linux_chunks  # noqa: E402
import reasons  # noqa: E402
import validate  # noqa: E402
from linux_chunks import Case  # noqa: E402

ALL = [case for kernel in linux_chunks.KERNELS for case in linux_chunks.points(kernel)]


def test_every_point_can_be_told_and_checked() -> None:
    assert len(set(ALL)) == 24
    for case in ALL:
        case.scenario.check()
        job = case.job
        assert job["pauses"][2::3] == [10.0, 30.0]
        assert (job["window"] > 0) == (case.gateway == "window") == bool(case.stages)
        assert job["rate"] == (4_681_600 if case.gateway == "class" else 8_000_000)


def test_what_is_read_of_a_run() -> None:
    case = Case("newreno", "window", "408 kB")
    found = linux_chunks.metrics_of_ours(case.scenario.run(1))
    assert set(list(found)[:9]) == linux_chunks.TIMES_OF
    assert found["at chunk 1 (packets)"] == 10


def test_times_agree_by_their_means_alone() -> None:
    """Within 5 %, as was expected before the first run: the interval of three runs that differ reaches anything."""
    theirs, ours = mean_interval([925.0, 926.0, 1739.0]), Interval.exact(924.0)
    judged = {}
    for check, within, means in linux_chunks.CHECKS:
        (metric,) = linux_chunks.part_of({"chunk 7 (30 s) (ms)": 1.0, "at chunk 7 (30 s) (packets)": 1.0}, check)
        row = validate.Row(check, {}, metric, "Linux", theirs, ours, (), within=within, means=means)
        judged[check] = row.agrees, replace(row, ours=Interval.exact(1140.0)).agrees
    assert judged == {"linux-chunk-times": (False, True), "linux-chunk-windows": (True, True)}


def test_what_ships_says_so_of_every_time() -> None:
    document = evidence.shipped()
    assert document is not None
    times = [row for row in document["rows"] if row["check"] == linux_chunks.TIMES]
    far = [row for row in times if abs(evidence.difference(row) or 0.0) > validate.CLOSE]
    assert [row for row in times if row["verdict"] != "agrees"] == far
    assert {row["judged"] for row in times} == {"means"}
    assert all(row["reason"] not in ("", reasons.UNKNOWN) for row in far)
    page = (ROOT / "docs" / "validation" / "linux.md").read_text(encoding="utf-8")
    assert f"Found: {len(times) - len(far)} of {len(times)} mean chunk times are within 5 %" in page


def tcp(flags: int, window: int, options: bytes = b"") -> bytes:
    """A segment of the client's, with its checksum."""
    offset = (20 + len(options)) // 4
    header = struct.pack("!HHIIBBHHH", 40000, 5001, 1, 2, offset << 4, flags, window, 0, 0) + options
    ends = bytes([10, 79, 1, 2, 10, 79, 0, 2])
    check = checksum(ends + struct.pack("!BBH", 0, 6, len(header)) + header)
    header = header[:16] + struct.pack("!H", check) + header[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(header), 0, 0, 64, 6, 0) + ends + header


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@pytest.mark.parametrize(("told", "passes"), [(457, 457), (458, 457), (65535, 457), (12, 12)])
def test_windows_are_lowered_in_units_of_the_scale_and_never_raised(told: int, passes: int) -> None:
    between = chunks.Between({"delay": 0.05, "window": 58520}, 3, 4)
    syn = tcp(0x02, 64240, bytes([2, 4, 5, 180, 1, 3, 3, 7]))
    assert between.lowered(syn) == syn
    assert between.scale == 7
    packet = between.lowered(tcp(0x10, told))
    assert packet == tcp(0x10, passes)


@pytest.mark.slow("waits for a real kernel")
def test_a_window_restarts_in_the_kernel() -> None:
    kernel = linux_chunks.Kernel("running")
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    answer = kernel._once(Case("newreno", "line", "408 kB").job | {"response": 60_000, "pauses": [0.05, 1.2]})
    if answer["late"][2] > linux_chunks.LATE_MOST:
        pytest.skip("packets left more than 30 ms late: the machine is too busy for real time; run this test alone")
    first, second, third = answer["chunks"]
    assert first["cwnd"] == third["cwnd"] == 10
    # 42 segments, each acknowledged: the window was open for most of them, and had no time to close.
    assert second["before"] == second["cwnd"] > 20
    assert third["before"] > third["cwnd"]
    assert first["last"] - first["began"] == pytest.approx(0.3, abs=0.08)
