"""The network of re-ECN in LTE beside ns-2: what ns-2 is told, what is refused, and what both are asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from evenflow import Scenario
from evenflow_papers.reecn_lte import network as net
from evenflow_papers.reecn_lte.network import Options

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import peers  # noqa: E402
import reecn  # noqa: E402
from peers import NotComparableError  # noqa: E402
from reecn import Alone, Case  # noqa: E402


def told(scenario: Scenario) -> dict[str, str]:
    return dict(line.split("=", 1) for line in reecn.arguments(scenario, 7))


def test_ns2_is_told_the_papers_network() -> None:
    found = told(Case("reno", net.RED, 100).scenario)
    links = [link.split(":") for link in found["links"].split(",")]
    assert [float(link[0]) for link in links] == [100e6, 100e6, 100e6, 50e6, 100e6, 100e6]
    assert 2 * sum(float(link[1]) for link in links) == pytest.approx(net.RTT_S)
    assert [link[3:] for link in links] == [[], [], [], [], ["cell"], ["cell"]]
    narrow = links[int(found["narrow"])]
    assert float(narrow[0]) == net.CAPACITY_MBPS * 1e6
    assert narrow[2] == "250"
    assert (found["agent"], found["queue"], found["flows"], found["cell"]) == ("reno", "red", "100", "5")
    assert (found["least"], found["most"], found["probability"]) == ("31", "94", "0.1")
    assert (found["weight"], found["wait"], found["ecn"], found["seed"]) == ("0.002", "0", "0", "7")


def test_what_is_chosen_reaches_ns2() -> None:
    marking = told(Case("sack", net.ECN, 10, "ns2").scenario)
    assert marking.items() >= {"agent": "sack", "queue": "ecn", "ecn": "1", "wait": "1", "weight": "0.00016"}.items()
    assert (marking["minrto"], told(Case("sack", net.DT, 100, min_rto_s=3).scenario)["minrto"]) == ("1", "3")
    assert told(Case("newreno", net.DT, 10).scenario).items() >= {"agent": "newreno", "queue": "droptail"}.items()
    assert told(Alone("reno", "lost", 0.01).scenario).items() >= {"loss": "0.01", "ecn": "0", "flows": "1"}.items()
    assert told(Alone("reno", "marked", 0.01).scenario).items() >= {"marked": "0.01", "ecn": "1"}.items()


def test_what_ns2_has_not_is_refused() -> None:
    base = Case("reno", net.ECN, 10).scenario
    with pytest.raises(NotComparableError, match="ecn_on_retransmissions"):
        reecn.arguments(net.bulk(Options(), net.ECN, 10), 1)
    with pytest.raises(NotComparableError, match="ack_every"):
        reecn.arguments(base.set("groups.phones.tcp.ack_every", 2), 1)
    with pytest.raises(NotComparableError, match="no re-ecn"):
        reecn.arguments(net.bulk(Options(retransmissions="ect"), net.REECN, 10), 1)
    with pytest.raises(NotComparableError, match="top"):
        reecn.arguments(base.set("links.r2-r3.queue.hard_drop", value=False), 1)
    with pytest.raises(NotComparableError, match="stages"):
        reecn.arguments(net.bulk(Options(), net.DT, 10, policer=net.Policer()), 1)


def test_every_point_can_run_on_both() -> None:
    for case in [*reecn.points(), *reecn.alone()]:
        case.scenario.check()
        reecn.arguments(case.scenario, 1)
    labels = [tuple(case.label.items()) for case in [*reecn.points(), *reecn.alone()]]
    assert len(set(labels)) == len(labels)
    assert {case.label["TCP"] for case in reecn.points()} == {"Reno", "NewReno", "SACK"}


def test_a_record_of_ns2_is_asked_by_hand() -> None:
    record: dict[str, Any] = {
        "arrived": 1000,
        "dropped": 10,
        "marked": 50,
        "again": 20,
        "timeouts": 3,
        "utilisation": 0.5,
        "queue_packets_mean": 4.0,
        "goodputs_bps": [1e6, 3e6],
        "delivered_bytes": [0, 0, 0, 0, 625_000, 1_875_000],
    }
    found = reecn.metrics_of_ns2(record)
    assert found["goodput (Mbit/s)"] == 4.0
    assert found["Jain's index"] == pytest.approx(16 / 20)
    assert (found["drops per packet"], found["marks per packet"]) == (0.01, 0.05)
    # After 20 s bins have 1 and 2 Mbit/s: a deviation of 1/√2.
    assert found["deviation of 5 s (Mbit/s)"] == pytest.approx(0.5**0.5)
    assert found["timeouts of a flow"] == 1.5
    assert "marks per packet" not in reecn.metrics_of_ns2({**record, "marked": 0})


def test_laws_of_one_flow_by_hand() -> None:
    # √(3/(2p)) to 1.31/√p, p = 0.01; where packets are lost, timeouts allow less.
    assert Alone("sack", "marked", 0.01).law.lo == pytest.approx(12.247, abs=1e-3)
    assert Alone("sack", "marked", 0.01).law.hi == pytest.approx(13.1)
    assert Alone("sack", "lost", 0.01).law.lo < 12.0
    assert Alone("sack", "lost", 0.001).law.lo == pytest.approx(38.73, abs=1e-2)


@pytest.mark.parametrize("scheme", [net.DT, net.RED, net.ECN])
def test_ns2_and_ours_meet_the_same_first_seconds(scheme: str) -> None:
    """Thirty flows of SACK for 30 s: the same numbers of both, and as much delivered where nothing is marked.

    Where a slow start ends in marks, ns-2 has CWR on what is sent again, which changes the next seconds.
    """
    ns2 = peers.Ns2()
    if (reason := ns2.missing()) is not None:
        pytest.skip(reason)
    scenario = Case("sack", scheme, 30).scenario.set("duration", "30 s")
    theirs = [reecn.metrics_of_ns2(record) for record in reecn.runs_of_ns2(ns2, scenario, [1, 2])]
    mine = [reecn.metrics_of_ours(scenario.run(seed)) for seed in (1, 2)]
    assert set(theirs[0]) == set(mine[0])
    rates = [sum(run["goodput (Mbit/s)"] for run in runs) / 2 for runs in (theirs, mine)]
    assert rates[1] == pytest.approx(rates[0], rel=0.5 if scheme == net.ECN else 0.2)
