"""ns-2 as a peer for willingness to pay: what it is told, what is read from it, one short run where it is installed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from evenflow_papers.wtp import network as scenarios
from evenflow_papers.wtp.network import Options

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import peers  # noqa: E402
import wtp  # noqa: E402
from peers import NotComparableError  # noqa: E402

PLAIN = Options(red_limit="ignore")
TRIP_S = 0.20088  # propagation, and transmission at 10 and 100 Mbit/s


def told(scenario: scenarios.Scenario, seed: int = 1) -> dict[str, str]:
    return dict(argument.split("=", 1) for argument in wtp.arguments(scenario, seed))


def link(queue: scenarios.Table, o: Options = PLAIN, form: str = scenarios.PI, **more: Any) -> scenarios.Scenario:
    return scenarios.single_link(o, queue, scenarios.pair(o, "B", 10.0, scenarios.wtp(o, form)), **more)


def record(drops: int = 0, odd: int = 0) -> dict[str, Any]:
    """Heavy: 300 packets and 33 marks a connection; light: 30 and 3. All in all 330 + 30 packets, 36 + 3 marks."""
    return {
        "windows_not_ours": odd,
        "links": {
            "bottleneck": {
                "seen_packets": 400,
                "marked_packets": 40,
                "dropped_packets": drops,
                "utilisation": 0.875,
                "queue_packets_mean": 6.5,
            }
        },
        "groups": {
            "heavy": {"flows_delivered_packets": [300], "flows_marks": [33], "flows_window_packets": [40.0]},
            "light": {"flows_delivered_packets": [20, 40], "flows_marks": [2, 4], "flows_window_packets": [4.0, 6.0]},
        },
    }


def test_every_point_can_be_told_and_checked() -> None:
    labels = []
    for label, _, scenario in wtp.points():
        scenario.check()
        form, who, r = label["form"], label["population"], label["r"]
        light, heavy = {"A": (5, 5), "B": (9, 1)}[str(who)]
        weights = f"{r}:1" if form == "PI" else f"1:{r}"
        assert told(scenario)["groups"] == f"light:{light}:1:1,heavy:{heavy}:{weights}"
        labels.append(tuple(label.values()))
    assert len(set(labels)) == len(labels)


def test_the_papers_numbers_are_told() -> None:
    found = told(link(scenarios.virtual_queue(PLAIN)), seed=7)
    # 10 Mbit/s, 200 ms of propagation over access and link, 1000 B, starts in 5 s, kappa .5, [60, 180] s, θ .95, B 30
    assert float(found["rate"]) == 10e6
    assert 2 * (float(found["delay"]) + float(found["access_delay"])) == pytest.approx(0.2)
    assert [float(found[key]) for key in ("packet", "start_max", "gain", "warmup", "duration")] == [
        1000,
        5,
        0.5,
        60,
        180,
    ]
    assert (found["marker"], found["theta"], found["buffer"], found["seed"]) == ("arrivals", "0.95", "30", "7")


def test_markers_have_their_counterparts() -> None:
    leaving, lost = Options(vq_mark="busy-departure"), Options(vq_mark="overflow")
    assert told(link(scenarios.virtual_queue(leaving), leaving))["marker"] == "gk"
    assert told(link(scenarios.virtual_queue(lost), lost))["marker"] == "overflow"
    found = told(link(scenarios.red(PLAIN)))
    expected = {"marker": "red", "wait": "0", "least": "5", "most": "15", "probability": "0.1", "weight": "0.002"}
    assert {key: found[key] for key in expected} == expected
    assert told(link(scenarios.red(Options(red_limit="ignore", red_spread="ns2"))))["wait"] == "1"


def test_what_ns2_cannot_do_is_refused() -> None:
    virtual = scenarios.virtual_queue(PLAIN)
    slow = Options(start="slow-start-until-mark")
    refused = {
        "kind": link(scenarios.load_based(PLAIN)),
        "mark_all_above": link(scenarios.red(Options())),
        "count rules": link(scenarios.red(Options(red_limit="ignore", red_spread="bernoulli"))),
        "buffer_factor": link(scenarios.virtual_queue(PLAIN, buffer_factor=0.9)),
        "start": link(virtual, slow),
        "access-heavy": link(virtual, spread=0.05),
        "multcp": scenarios.single_link(PLAIN, virtual, scenarios.pair(PLAIN, "A", 2.0, scenarios.multcp(PLAIN))),
        "reverse": link(virtual).set("links.bottleneck.reverse.rate", "10 Mbit/s"),
    }
    for words, scenario in refused.items():
        with pytest.raises(NotComparableError, match=words):
            wtp.arguments(scenario, 1)


def test_metrics_by_hand() -> None:
    found = wtp.metrics_of_ns2(record())
    assert found["goodput heavy/light"] == pytest.approx(10)  # 300 / 30
    assert found["mean window heavy/light"] == pytest.approx(8)  # 40 / 5
    assert found["marks per packet heavy/light"] == pytest.approx(1.1)  # (33/300) / (3/30)
    assert found["marks per packet"] == pytest.approx(0.1)
    assert (found["utilisation"], found["mean queue (packets)"]) == (0.875, 6.5)


@pytest.mark.parametrize(("drops", "odd"), [(1, 0), (0, 1)])
def test_another_control_is_no_evidence(drops: int, odd: int) -> None:
    with pytest.raises(RuntimeError, match=f"{drops} packets lost, {odd} windows changed"):
        wtp.metrics_of_ns2(record(drops, odd))


def test_a_connection_that_stood_still_is_no_evidence() -> None:
    lost_at_first = record()
    lost_at_first["groups"]["light"]["flows_delivered_packets"] = [0, 40]
    with pytest.raises(wtp.RefusedError, match="1 connections stood still"):
        wtp.metrics_of_ns2(lost_at_first)


def test_both_sides_have_the_same_metrics() -> None:
    short = link(scenarios.virtual_queue(PLAIN), duration_s=12, warmup_s=6)
    assert list(wtp.metrics_of_ours(short.run(1))) == list(wtp.metrics_of_ns2(record()))


def test_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "CACHE", tmp_path / "comparators")
    calls = tmp_path / "calls"
    program = tmp_path / "ns"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {calls}\necho '{json.dumps(record())}'\n", encoding="utf-8")
    program.chmod(0o755)
    peer = peers.Ns2()
    peer.binary = str(program)
    scenario = link(scenarios.virtual_queue(PLAIN))
    for _ in range(2):
        found = wtp.runs_of_ns2(peer, scenario, (1, 2, 3))
        assert found == [wtp.metrics_of_ns2(record())] * 3
    seeds = sorted(line.rpartition("=")[2] for line in calls.read_text(encoding="utf-8").splitlines())
    assert seeds == ["1", "2", "3"]
    wtp.runs_of_ns2(peer, scenario, (2,), fresh=True)
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 4


def test_ns2_follows_equation_4() -> None:
    peer = peers.Ns2()
    if (reason := peer.missing()) is not None:
        pytest.skip(reason)
    # Two connections from 0 s on that nothing marks, and that do not fill the link.
    weights = {"light": 1.0, "heavy": 4.0}
    both = {
        name: scenarios.Connections(1, scenarios.wtp(PLAIN), weight, {"uniform": ["0 s", "0 s"]})
        for name, weight in weights.items()
    }
    scenario = scenarios.single_link(PLAIN, scenarios.virtual_queue(PLAIN, buffer=1e3), both, duration_s=10, warmup_s=6)
    record = peers.measure([str(peer.binary), str(wtp.SOURCE), *wtp.arguments(scenario, 1)]).record
    assert record["links"]["bottleneck"]["marked_packets"] == record["windows_not_ours"] == 0
    mine = scenario.run(1).json["groups"]
    for name, weight in weights.items():
        group = record["groups"][name]
        assert group["flows_window_packets"][0] == pytest.approx(mean_window(weight, 6, 10), rel=0.03)
        # ours opens the connection first, a round trip that ns-2's agents do not have
        later = mean_window(weight, 6 - TRIP_S, 10 - TRIP_S)
        assert mine[name]["window_packets_mean"] == pytest.approx(later, rel=0.03)


def mean_window(weight: float, first_s: float, last_s: float) -> float:
    """Equation 4 by round trips, each with the ACKs of the whole packets that the window before it had room for.

    κ = 1/2, from one packet at 0 s.
    """
    window, seen = 1.0, []
    for trip in range(1, int(last_s / TRIP_S)):
        for _ in range(int(window)):
            window += 0.5 * weight / window
            if trip * TRIP_S >= first_s:
                seen.append(window)
    return math.fsum(seen) / len(seen)
