"""The policer of Sanhaji et al. in ns-2: arguments, refused scenarios, metrics, and the bucket of one short run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from evenflow import Scenario
from evenflow_papers.conex import network as net

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import conex_policed  # noqa: E402
import peers  # noqa: E402
from conex_policed import Point  # noqa: E402
from peers import NotComparableError  # noqa: E402

FEW_S = 8.0


def told(scenario: Scenario) -> dict[str, str]:
    return dict(line.split("=", 1) for line in conex_policed.arguments(scenario, 7))


def few(harshness: str, charge: str) -> Scenario:
    """Two heavy and ten light users for a few seconds."""
    settings: dict[str, Any] = {"groups.heavy.users": 2, "groups.light.users": 10, "duration": f"{FEW_S:g} s"}
    return Point(net.DT, harshness, charge, 5.0).scenario.with_settings(settings)


def test_every_point_is_translated_once() -> None:
    labels = []
    for point in conex_policed.points():
        point.scenario.check()
        found = told(point.scenario)
        assert (found["harshness"], found["charge"], found["r"]) == (point.harshness, point.charge, f"{point.r:g}")
        labels.append(tuple(point.label.values()))
    assert len(set(labels)) == len(labels)


def test_arguments_have_the_papers_numbers() -> None:
    found = told(Point(net.DT, net.MILD, "pass", 15.0).scenario)
    # 45 packets, 100 ms of 8333 packets a second, starts within 300 ms
    expected = {"groups": "heavy:10:36,light:90:1", "depth": "45", "limit": "833", "rtt": "0.1", "start_max": "0.3"}
    assert found.items() >= {**expected, "variant": "droptail", "seed": "7"}.items()
    red = told(Point(net.RED, net.MILD, "arrival", 15.0).scenario)
    assert (red["variant"], red["wait"], float(red["least"])) == ("red", "1", pytest.approx(83.3333))


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("conex", {"groups.heavy.tcp.conex.report": "loss-and-ecn"}),
        ("full bucket", {"stages.police-heavy.floor": "end", "stages.police-light.floor": "end"}),
        ("one kind of policer", {"stages.police-light.rate": "1 packets/s"}),
        ("path", {"groups.light.path": ["access", "bottleneck"]}),
    ],
)
def test_other_scenarios_are_refused(words: str, setting: dict[str, Any]) -> None:
    scenario = Point(net.DT, net.MILD, "arrival", 15.0).scenario.with_settings(setting)
    with pytest.raises(NotComparableError, match=words):
        conex_policed.arguments(scenario, 1)


def test_metrics_of_a_record() -> None:
    def group(goodput: float, reports: list[int], policed: list[int]) -> dict[str, Any]:
        return {"goodput_bps": goodput, "users_reports": reports, "users_policed": policed}

    found = conex_policed.metrics_of_ns2(
        {
            "duration_s": 2.0,
            "arrived": 100,
            "dropped": 5,
            "utilisation": 0.5,
            "queue_packets_mean": 3.0,
            "groups": {"heavy": group(30.0, [20, 40], [10, 20]), "light": group(10.0, [2], [0])},
        }
    )
    assert list(found.values()) == [3.0, 15.0, 7.5, 1.0, 0.0, 0.05, 0.5, 3.0]
    ours = conex_policed.metrics_of_ours(few(net.MILD, "pass").set("duration", "1 s").run(1))
    assert list(ours) == list(found)


@pytest.mark.parametrize("harshness", net.HARSHNESSES)
@pytest.mark.parametrize("charge", conex_policed.CHARGES)
def test_the_bucket_in_ns2(harshness: str, charge: str) -> None:
    """A report costs a token; the drop function bounds the debt of a bucket that charges passing reports."""
    peer = peers.Ns2()
    if (reason := peer.missing()) is not None:
        pytest.skip(reason)
    command = [str(peer.binary), str(conex_policed.SOURCE), *conex_policed.arguments(few(harshness, charge), 1)]
    record = peers.measure(command).record
    heavy, light = record["groups"]["heavy"], record["groups"]["light"]
    assert sum(light["users_policed"]) == 0
    depth, income, debt = 45.0, 5.0 * FEW_S, {"soft": 45.0, "mild": 4.5, "strict": 0.0}[harshness]
    # what left the senders either reached the link or was policed; up to one packet of each flow is on its way
    missing = heavy["sent"] - heavy["arrived"] - sum(heavy["users_policed"])
    assert 0 <= missing <= 2 * 36
    for reports, charged, policed, least in zip(
        *(heavy[f"users_{name}"] for name in ("reports", "charged", "policed", "least_tokens")), strict=True
    ):
        assert policed > 0
        assert charged <= depth + income - least + 1e-6
        if charge == "arrival":
            assert charged == reports
        else:
            assert least > -debt - 1
            assert charged < reports
