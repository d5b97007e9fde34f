"""What `make bench` says policing a network costs: the networks are what they are called; the table."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("networks")


@pytest.fixture
def mechanisms(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("mechanisms")


def kinds(scenario: ef.Scenario) -> set[str]:
    return {stage["kind"] for stage in scenario.tree.get("stages", {}).values()}


def test_each_network_has_the_stages_that_its_name_says_and_the_other_has_none(networks: Any) -> None:
    found = {network.name: network for network in networks.networks()}
    for network in found.values():
        network.scenario.check()
        assert kinds(network.without) == set()
        assert network.link in network.scenario.tree["links"]
    inside = {"tunnel-ingress", "tunnel-egress", "congestion-controller", "congestion-reporter", "congestion-policer"}
    assert [kinds(network.scenario) for network in found.values()] == [
        {"congestion-policer"},
        set(),
        {"congestion-policer", "auditor"},
        inside,
    ]
    assert [network.least for network in found.values()] == [0.8, None, 0.73, 0.53]
    assert [network.most_instructions for network in found.values()] == [3500, None, None, None]


def test_the_chain_has_six_links_for_all(networks: Any) -> None:
    for network in networks.chosen(["chain"]):
        for scenario in (network.without, network.scenario):
            tree = scenario.tree
            path = tree["groups"]["phones"]["path"]
            assert [hop for hop in path if hop in tree["links"]] == [*ef.scenario.lte.WIRED, ef.scenario.lte.RADIO]


def test_the_policer_acts_on_w2_and_its_senders_report(networks: Any) -> None:
    [network] = networks.chosen(["w2"])
    record = network.scenario.set("duration", "3 s").run(1).json
    police = record["stages"]["police"]
    assert police["reports"] > 0
    assert police["credits"] > 0
    assert record["links"]["bottleneck"]["delivered_packets"] > 20_000


def test_networks_are_chosen_by_name_or_work(networks: Any) -> None:
    assert len(networks.chosen([])) == 4
    assert [network.family for network in networks.chosen(["chain"])] == ["chain"] * 3
    with pytest.raises(ValueError, match="no network is called 'w3'"):
        networks.chosen(["w3"])


def test_what_callgrind_runs_is_the_same_scenario(networks: Any, mechanisms: Any) -> None:
    for network in networks.networks():
        for scenario in (network.without, network.scenario):
            assert ef.Scenario(tomllib.loads(mechanisms.toml(scenario.tree))) == scenario


def test_speed_is_by_that_without_and_beside_what_was_asked(networks: Any) -> None:
    def run(scenario: ef.Scenario) -> Mapping[str, Any]:
        # Half the packets in twice the time: a quarter of the speed.
        packets, cpu_s = (500, 2.0) if kinds(scenario) else (1000, 1.0)
        links = {name: {"delivered_packets": packets} for name in ("bottleneck", networks.NARROW)}
        return {"cpu_s": cpu_s, "events": 4000, "links": links}

    result = networks.costs(networks.networks(), None, True, run)
    assert [row.speed.median for row in result.rows] == [0.25, 1.0, 0.25, 0.25]
    assert [row.events_per_packet for row in result.rows] == [8.0, 4.0, 8.0, 8.0]
    lines = networks.cost_table(result).splitlines()[2:]
    assert [line.count("**missed**") for line in lines] == [1, 0, 1, 1]
    result.rows[0].instructions, result.rows[2].speed = 3400.0, networks.Spread.of([0.8])
    lines = networks.cost_table(result).splitlines()[2:]
    assert "3500: met" in lines[0]
    assert "0.73: met" in lines[2]
