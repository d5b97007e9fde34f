"""The kernel as a peer: what it is told, how windows are read, and one short run where the machine allows it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import linux  # noqa: E402
from peers import NotComparableError  # noqa: E402


def test_every_point_can_be_told_and_checked() -> None:
    for _, _, scenario in linux.points():
        scenario.check()
        dumbbell = linux.Dumbbell.from_scenario(scenario)
        arguments = linux.Linux().arguments(dumbbell, 1)
        assert sum(part.startswith("--group=") for part in arguments) == len(dumbbell.groups)


def test_windows_are_whole_units_of_the_kernels_scale() -> None:
    told = []
    for _, label, scenario in linux.windows():
        scenario.check()
        dumbbell = linux.Dumbbell.from_scenario(scenario)
        assert f"--window={label['window']}" in linux.Linux().arguments(dumbbell, 1)
        assert dumbbell.window % 1024 == 0
        told.append(dumbbell.window)
    assert (min(told), max(told)) == (2_048, 399_360)
    with pytest.raises(NotComparableError, match="max_window alone"):
        linux.Dumbbell.from_scenario(scenario.set("stages.tuner.ecn", "not-ect"))


@pytest.mark.slow("long runs")
def test_a_rewritten_window_holds_the_kernel_back() -> None:
    kernel = linux.Linux()
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    groups = (linux.Flows("flow", "cubic", 1, 0.0),)
    dumbbell = linux.Dumbbell(groups, 100e6, 0.02, 1000, 0, 0.0, 2.0, 1.0, 5120)
    record = kernel._once(kernel.arguments(dumbbell, 1), windows=False)
    if record["emulator"]["late_p99_s"] > 0.005:
        pytest.skip("packets left more than 5 ms late: the machine is too busy for real time; run this test alone")
    found = linux.metrics_of_kernel(record, dumbbell)
    assert found["goodput (Mbit/s)"] == pytest.approx(5120 * 8 / 0.04 / 1e6, rel=0.1)
    assert found["payload of a segment (B)"] < 1400


def test_a_threshold_is_a_step_only_if_the_average_stands_still() -> None:
    (scenario,) = [s for name, label, s in linux.points() if name == "linux-ecn" and label["cc"] == "cubic"]
    assert linux.Dumbbell.from_scenario(scenario).mark_above == 20
    with pytest.raises(NotComparableError, match="marking threshold"):
        linux.Dumbbell.from_scenario(scenario.set("links.bottleneck.queue.weight", 0.002))


def test_falls_are_counted_once_each() -> None:
    # Up to 10, down to 5 in steps, up to 8, a wobble of less than a tenth, down to 4.
    windows = [6.0, 8, 10, 10, 8, 6, 5, 5, 6, 7, 8, 7.5, 8, 4, 4, 5]
    times = [0.1 * n for n in range(len(windows))]
    assert linux.falls(times, windows) == [(pytest.approx(0.3), 10), (pytest.approx(1.2), 8)]


@pytest.mark.slow("waits for a real kernel")
def test_the_kernel_fills_a_link() -> None:
    kernel = linux.Linux()
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    groups = (linux.Flows("flow", "cubic", 1, 0.0),)
    dumbbell = linux.Dumbbell(groups, 10e6, 0.01, 17, 0, 0.0, 2.0, 1.0)
    record = kernel._once(kernel.arguments(dumbbell, 1), windows=True)
    if record["emulator"]["late_p99_s"] > 0.005:
        pytest.skip("packets left more than 5 ms late: the machine is too busy for real time; run this test alone")
    found = linux.metrics_of_kernel(record, dumbbell)
    assert found["goodput flow (Mbit/s)"] == pytest.approx(10 * 1448 / 1500, rel=0.05)
    assert found["utilisation"] == pytest.approx(1, abs=0.02)
