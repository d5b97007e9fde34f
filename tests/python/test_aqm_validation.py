"""The part `aqm` of the validation: its laws, what ns-3, ns-2 and a kernel are told, how their answers are judged."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from evenflow import Record, Scenario
from evenflow.mechanism import kinds

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import aqm  # noqa: E402
import laws  # noqa: E402
import linux_aqm  # noqa: E402
import linux_cake  # noqa: E402
import linux_queues  # noqa: E402
import peers  # noqa: E402
import validate  # noqa: E402
from peers import NotComparableError  # noqa: E402

POINTS = {(point.name, *point.label.values()): point for point in aqm.simulated()}
CASES = {(case.of, case.name): case for case in linux_aqm.points()}


def record(window: tuple[float, float] = (1.0, 2.0), **series: Sequence[float]) -> Any:
    """Something with series, each on the same instants `at`."""
    arrays = {name.replace("_", "."): np.asarray(values) for name, values in series.items()}
    times = arrays.pop("at")
    return SimpleNamespace(json={"window_s": list(window)}, arrays=lambda name: (times, arrays[name]))


# Laws.


def test_when_drops_are_due() -> None:
    # 0.1 s after the first, then 0.1/√2, 0.1/√3 (RFC 8289 section 5.6).
    assert aqm.drop_due(1) == 0
    assert aqm.drop_due(3) == pytest.approx(0.1 + 0.0707107, abs=1e-6)
    assert aqm.drop_due(4) == pytest.approx(0.1 + 0.0707107 + 0.0577350, abs=1e-6)
    assert aqm.drop_due(3, first=4) == pytest.approx(0.05 + 0.0447214, abs=1e-6)


def test_a_pause_ends_a_phase() -> None:
    first = [aqm.drop_due(n) for n in range(1, 51)]
    second = [first[-1] + 0.11 + 0.01 * n for n in range(10)]
    assert [len(phase) for phase in aqm.phases(first + second)] == [50, 10]


def test_codel_keeps_its_law() -> None:
    for law in aqm.codel_drops():
        assert law.predicted.accepts(law.measured(range(1, 3))), law.point


def test_schedulers_keep_their_bounds() -> None:
    for law in aqm.fairness(0.1):
        assert law.predicted.accepts(law.measured(range(1, 3))), (law.name, law.point)


def test_fairness_is_the_span_of_who_is_ahead() -> None:
    # After the warm-up: large, small, small, large, large. Ahead by 1504, 1200, 896, 2400, 3904, and 0 before.
    seen = record(
        at=[0.5, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6],
        events_arrival_flow=[0, 0, 1, 1, 0, 0, 1],
        events_arrival_link=[1, 1, 1, 1, 1, 1, 0],
    )
    assert aqm.unfairness(seen) == 3904


def test_a_sparse_flow_waits_from_link_to_link() -> None:
    # The second of three packets waits longest after the warm-up; 80 us of each way are its own transmission.
    seen = record(
        at=[0.5, 0.9, 1.1, 1.102, 1.2, 1.2005],
        events_arrival_flow=[2, 2, 2, 2, 2, 2],
        events_arrival_link=[0, 1, 0, 1, 0, 1],
    )
    assert aqm.longest_sparse_wait(seen) == pytest.approx(0.002 - 80e-6)


def test_a_bound_is_broken_by_one_run() -> None:
    def waits(values: Mapping[int, float]) -> aqm.Bound:
        scenario = aqm.Fair("drr", 25_000, {"a": (1e4, 1000)}).scenario
        return aqm.Bound(
            "bound", {}, ("drr",), "wait", "", laws.Bracket(0.0, 1.0, 0.0), scenario, lambda r: values[r.json["seed"]]
        )

    inside, outside = waits({1: 0.5, 2: 0.9}), waits({1: 0.1, 2: 1.1})
    assert inside.measured((1, 2)).mean == 0.9
    assert inside.predicted.accepts(inside.measured((1, 2)))
    assert not outside.predicted.accepts(outside.measured((1, 2)))


# ns-3.


def told(point: aqm.Point) -> dict[str, str]:
    arguments = aqm.Ns3().arguments(point.scenario, 3)
    return dict(argument.removeprefix("--").split("=", 1) for argument in arguments)


def test_every_point_is_told_and_checked() -> None:
    assert len(POINTS) == 24
    for point in POINTS.values():
        point.scenario.check()
        assert told(point)["run"] == "3"


def test_what_ns3_is_told_of_pie() -> None:
    options = told(POINTS["newreno-pie", "classic", 20])
    assert options["groups"] == "flows:20:0"
    assert options["discipline"] == "ns3::PieQueueDisc"
    assert options["ecn"] == "true"
    attributes = dict(item.split("=") for item in options["attributes"].split(","))
    assert attributes["QueueDelayReference"] == "15ms"
    assert attributes["MarkEcnThreshold"] == "0.1"
    assert attributes["UseCapDropAdjustment"] == "true"


def test_what_ns3_is_told_of_fq_codel_and_datagrams() -> None:
    options = told(POINTS["datagrams-fq-codel", "20 Mbit/s", 5])
    assert options["groups"] == "flows:5:0,datagrams:1:20000000"
    assert options["quantum"] == "1514"
    assert "Flows=1024" in options["attributes"]
    assert told(POINTS["datagrams-codel", "12 Mbit/s"])["groups"] == "datagrams:1:12000000"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("groups.flows.tcp.ack_every", 1),
        ("groups.flows.tcp.limited_transmit", False),
        ("groups.flows.path", ["bottleneck"]),
        ("links.access.queue", {"kind": "droptail", "limit": "10 packets"}),
        ("links.bottleneck.loss", 0.01),
        ("links.bottleneck.queue.ce_threshold", "1 ms"),
        ("links.bottleneck.queue.kind", "red"),
    ],
)
def test_what_ns3_cannot_be_told_is_refused(path: str, value: Any) -> None:
    scenario = POINTS["newreno-codel", "off", 5].scenario.set(path, value)
    with pytest.raises(NotComparableError):
        aqm.Ns3().arguments(scenario, 1)


def test_records_of_both_are_read_alike() -> None:
    users = {"users_goodput_bps": [2e6, 4e6]}
    theirs = {
        "links": {
            "bottleneck": {
                "arrived_packets": 200,
                "dropped_packets": 3,
                "marked_packets": 5,
                "queue_delay_s_mean": 0.01,
            }
        },
        "groups": {"flows": users},
    }
    ours = json.loads(json.dumps(theirs))
    link = ours["links"]["bottleneck"]
    del link["dropped_packets"], link["marked_packets"]
    link |= {"drops": {"codel": 2, "limit": 1}, "marks": {"codel": 5}}
    found = aqm.metrics(theirs)
    assert found == aqm.metrics(ours)
    assert found["goodput of flows (bit/s)"] == 6e6
    assert found["drops per packet"] == 0.015
    assert found["marks per packet"] == 0.025
    assert found["Jain's index"] == pytest.approx(36 / 40)  # (2 + 4)² / (2 (4 + 16))


# ns-2.


def test_ns2_is_told_of_drr() -> None:
    peer = peers.Ns2()
    if (reason := peer.missing()) is not None:
        pytest.skip(reason)
    drr = next(iter(aqm.fair()))
    [theirs] = drr.runs(peer, [1], fresh=False)
    [mine] = [drr.ours(drr.scenario.run(seed)) for seed in (1,)]
    assert set(theirs) == set(mine)
    # The shares of max-min fairness: 1, 2 and 2 Mbit/s.
    for name, share in (("a", 1e6), ("b", 2e6), ("c", 2e6)):
        assert theirs[f"rate of {name} (bit/s)"] == pytest.approx(share, rel=0.03)
        assert mine[f"rate of {name} (bit/s)"] == pytest.approx(share, rel=0.03)


# The kernel.


def left(sender: int, numbers: Sequence[int], begin: float, gap: float, wait: float) -> list[list[float]]:
    return [[sender, n, begin + k * gap - wait, begin + k * gap] for k, n in enumerate(numbers)]


def test_a_kernels_answer_is_read() -> None:
    case = replace(
        CASES["fq-codel", "1, 3 and 4 Mbit/s, 1000 packets"],
        senders={"a": linux_queues.Sender(1e6, 1000), "b": linux_queues.Sender(2e6, 500)},
    )
    # 7 s of measurement from 3 s on: 14 packets of a, every second number; 7 of b, none lost. One each is too early.
    a = left(0, [0], 2.9, 0, 1.0) + left(0, range(1, 29, 2), 3.25, 0.5, 0.1)
    b = left(1, [0], 2.0, 0, 1.0) + left(1, range(1, 8), 3.5, 1.0, 0.2)
    found = case.metrics(sorted(a + b, key=lambda packet: packet[3]))
    assert found["rate of a (bit/s)"] == 14 * 8000 / 7
    assert found["rate of b (bit/s)"] == 7 * 4000 / 7
    assert found["drops of a per packet"] == pytest.approx(1 - 14 / 27)
    assert found["drops of b per packet"] == 0
    assert found["mean delay of a (s)"] == pytest.approx(0.1)
    assert found["mean delay of b (s)"] == pytest.approx(0.2)
    assert case.asked.carried(a + b) == pytest.approx((14 * 8000 + 7 * 4000) / 7 / linux_aqm.RATE)


def test_of_senders_that_are_alike_the_means_are_compared() -> None:
    case = CASES["fq-codel", "ten of 0.6 Mbit/s"]
    found = case.named([(5e5, 0.1 + 0.01 * n, 0.04) for n in range(10)])
    assert found == {
        "rate of each (bit/s)": 5e5,
        "drops of each per packet": pytest.approx(0.145),
        "mean delay of each (s)": pytest.approx(0.04),
    }


def test_what_the_kernel_is_told_of_a_discipline() -> None:
    asked = CASES["sfq", "1, 3 and 4 Mbit/s"].asked
    shaper, shape, discipline = (" ".join(arguments) for arguments in asked.tc)
    assert shaper == "qdisc add dev shaped root handle 1: htb default 1"
    assert "rate 5000000bit ceil 5000000bit" in shape
    assert discipline == "qdisc add dev shaped parent 1:1 sfq quantum 1514 limit 127"
    [_, _, c] = asked.job(4)["senders"]
    assert c == {"bytes": 514, "rate": 4e6, "gaps": "poisson", "priority": 0}


def test_drops_are_seen_in_the_numbers() -> None:
    packets = left(0, [0, 1, 3, 4, 7], 1.0, 0.1, 0.05)
    assert linux_aqm.drops(packets) == pytest.approx([1.2, 1.4, 1.4])
    times = [5 + 0.01 * n for n in range(max(linux_aqm.DROPS))]
    assert linux_aqm.nth_drops(times)["drop 10 after the first (s)"] == pytest.approx(0.09)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: f"{case.of} {case.name}")
def test_our_side_of_a_kernels_point_runs_and_asks_for_too_much(case: linux_aqm.Case) -> None:
    case.scenario.check()
    assert sum(sender.rate for sender in case.senders.values()) >= 1.2 * linux_aqm.RATE
    run: Record = case.scenario.run(1)
    found = case.metrics_of_ours(run)
    assert all(value >= 0 for value in found.values())
    expected = set(linux_aqm.nth_drops(range(300))) if case.steady else set(found)
    assert set(found) == expected


def test_the_kernel_drops_by_codels_law() -> None:
    case = CASES["codel", "120 %"]
    kernel = linux_queues.Kernel({case.of: case.asked})
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    packets = kernel.ask(case.asked.job(1, 3.0))["packets"]
    drops = linux_aqm.drops(packets)
    if max(b[3] - a[3] for a, b in itertools.pairwise(packets)) > 0.02:
        pytest.skip("the machine is too busy for real time; run this test alone")
    assert drops[1] - drops[0] == pytest.approx(0.1, abs=0.01)


FAIR = [*linux_cake.cake(), *linux_cake.fq_pie()]


@pytest.mark.parametrize("case", FAIR, ids=lambda case: f"{case.of}, {case.name}")
def test_cake_and_fq_pie_have_a_scenario_and_as_many_flows_in_both(case: linux_cake.Case) -> None:
    case.scenario.check()
    groups = case.scenario.get("groups").values()
    assert len(case.asked.senders) == sum(group["users"] * len(group["traffic"]) for group in groups)
    assert all(tools[:2] in (("qdisc", "add"), ("class", "add")) for tools in case.asked.tc)


def test_senders_of_a_kernel_are_judged_by_what_left() -> None:
    case = replace(FAIR[0], seconds=2.0, warmup=1.0)
    # Numbers 0 to 9 leave before the window; of 10 to 29 every second one is lost, and every fourth is marked.
    early = [[n, k, 0.5, 0.6, 0] for n in range(3) for k in range(10)]
    late = [[n, k, 1.4, 1.5, int(k % 4 == 3)] for n in range(3) for k in range(11, 30, 2)]
    found = case.seen([*early, *late])["1 Mbit/s"]
    assert found["rate (bit/s)"] == 8 * 1014 * 10
    assert found["drops per packet"] == pytest.approx(0.5)
    assert (found["marks per packet"], found["mean delay (s)"]) == pytest.approx((0.5, 0.1))


def test_hosts_and_fields_reach_the_kernel() -> None:
    cases = {case.name: case for case in linux_cake.cake()}
    told = [sender.told for sender in cases["dual-srchost, servers"].asked.senders]
    assert [(sender.get("source", 0), sender.get("destination", 0)) for sender in told] == [
        (0, 0), (1, 1), (2, 1), (3, 1), (4, 1)
    ]  # fmt: skip
    assert [sender.told.get("tos", 0) for sender in cases["diffserv3"].asked.senders] == [0, 8 << 2, 46 << 2]
    assert cases["ECN"].asked.senders[0].told["tos"] == 2


# What rows are evidence for, and why they differ.


def test_rows_are_evidence_for_mechanisms_that_exist() -> None:
    named = {name for law in aqm.all_laws() for name in law.of}
    named |= {name for point in POINTS.values() for name in point.of}
    named |= {fair.kind for fair in aqm.fair()} | {case.of for case in CASES.values()}
    assert {"codel", "pie", "fq-codel", "sfq", "drr"} <= named
    assert named <= {*kinds(), "rfc"}


def test_reasons_name_checks_that_exist() -> None:
    reasons = validate.Reasons(ROOT / "validation" / "differences.toml")
    steady = {"load": "120 %"}
    assert "Newton" in reasons.find("Linux", "linux-codel-drops", "drop 3 after the first (s)", steady)
    checks = {point.name for point in POINTS.values()} | {case.check for case in CASES.values()}
    checks |= {f"datagrams-{fair.kind}" for fair in aqm.fair()}
    mine = [entry for entry in reasons._entries if entry["scenario"].rpartition("newreno-")[2] in ("codel", "pie")]
    assert {entry["scenario"] for entry in mine} <= checks


def test_a_scenario_of_its_own() -> None:
    Scenario.load(aqm.HERE / "scenarios" / "aqm.toml").check()
