"""The unpoliced network of Sanhaji et al. beside ns-2: what ns-2 is told, what is refused, and what both are asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import conex_flows  # noqa: E402
import conex_ground  # noqa: E402
from conex_ground import Case  # noqa: E402
from peers import NotComparableError, Ns2  # noqa: E402


def told(case: Case) -> dict[str, str]:
    return dict(line.split("=", 1) for line in conex_ground.arguments(case.scenario, 7))


def test_the_defaults_are_those_of_the_paper() -> None:
    found = told(Case("ECN"))
    assert found["groups"] == "heavy:10:36,light:90:1"
    assert (found["rtt"], found["limit"], found["duration"], found["seed"]) == ("0.1", "833", "100", "7")
    assert (found["least"], found["most"], found["probability"]) == ("83.3", "833", "1.0")
    assert (found["variant"], found["wait"], found["weight"]) == ("ecn", "1", "0.00012")


def test_what_is_changed_reaches_ns2() -> None:
    # 50 ms of 8333 packets a second are 417, thresholds follow; a round trip of 20 ms is 2 (1 + 9) ms.
    assert (
        told(Case("RED", "q", 50)).items() >= {"variant": "red", "limit": "417", "least": "41.7", "most": "417"}.items()
    )
    assert told(Case("RED", "RTT", 20))["rtt"] == "0.02"
    assert told(Case("ECN", "mTh", 0.025))["least"] == "20.825"
    assert told(Case("ECN", "spread", "floyd"))["wait"] == "0"
    assert set(told(Case("drop-tail"))) == {
        *("groups", "rtt", "access_delay", "limit", "start_max", "duration", "seed", "variant")
    }


def test_what_ns2_has_not_is_refused() -> None:
    with pytest.raises(NotComparableError, match="accurate"):
        conex_ground.arguments(Case("Full").scenario, 1)
    with pytest.raises(NotComparableError, match="floyd"):
        conex_ground.arguments(Case("ECN", "spread", "bernoulli").scenario, 1)
    other = Case("ECN").scenario.set("groups.heavy.tcp.rto", "linux")
    with pytest.raises(NotComparableError, match=r"heavy\.tcp.*rto"):
        conex_ground.arguments(other, 1)
    ours = Case("ECN").scenario.set("groups.heavy.tcp.ecn_on_retransmissions", value=False)
    with pytest.raises(NotComparableError, match="ecn_on_retransmissions"):
        conex_ground.arguments(ours, 1)


def test_the_grid_has_one_change_a_point_and_ns2_has_three_variants() -> None:
    every = list(conex_ground.cases())
    assert len({(case.variant, case.changed, case.value) for case in every}) == len(every)
    assert {case.variant for case in conex_ground.points()} == {"drop-tail", "RED", "ECN"}
    assert {case.changed for case in every if case.variant == "drop-tail"} == {"", "RTT", "q"}
    for case in every:
        case.scenario.check()


def test_a_record_of_ns2_and_one_of_ours_are_asked_the_same() -> None:
    group: dict[str, Any] = {"users": 10, "goodput_bps": 36.0, "sent": 9, "again": 20, "reductions": 30}
    theirs = conex_ground.metrics_of_ns2(
        {
            "duration_s": 2.0,
            "arrived": 1000,
            "dropped": 10,
            "marked": 250,
            "queue_packets_mean": 5.0,
            "utilisation": 1.0,
            "groups": {
                "heavy": {**group, "marked": 200, "dropped": 8},
                "light": {**group, "users": 90, "goodput_bps": 1.0, "marked": 50, "dropped": 2},
            },
        }
    )
    assert theirs["marks per packet"] == 0.25
    assert theirs["marks and losses of a heavy user (1/s)"] == 208 / 10 / 2
    assert theirs["reductions of a light user (1/s)"] == 30 / 90 / 2
    assert theirs["goodput heavy/light"] == 36
    short = Case("ECN").scenario.set("duration", "1 s")
    assert list(conex_ground.metrics_of_ours(short.run(1))) == list(theirs)


def test_figure_20_is_the_papers_network_at_three_loads() -> None:
    """Nine points: what both programs are told, and that a flow alone takes three round trips and a little."""
    points = list(conex_flows.points())
    assert [point.datagrams for point in points] == [30, 60, 90] * 3
    told = dict(line.split("=", 1) for line in points[-1].command(Ns2(), 7)[2:])
    assert told.items() >= {"variant": "ecn", "datagrams": "90", "seed": "7"}.items()
    seen = conex_flows.metrics_of_ours(points[0].scenario.set("duration", "20 s").run(1))
    assert seen["drops per packet"] == seen["marks per packet"] == 0
    assert 300 < seen["completion, heavy, median (ms)"] < 303
