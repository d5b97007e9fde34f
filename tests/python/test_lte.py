"""The user plane of an LTE network: a helper that writes a plain scenario."""

from __future__ import annotations

import json
from typing import Any

import evenflow as ef
import pytest
from evenflow.scenario import lte

POLICER = {"kind": "congestion-policer", "rule": "tcp-rate", "rtt": "600 ms", "per": "user", "strangers": "own"}
DROPPER = {"kind": "auditor", "rule": "strict", "delay": "1.2 s", "per": "user"}


def packets(found: dict[str, int]) -> int:
    return sum(found.values())


def test_it_is_a_plain_scenario() -> None:
    cell = ef.lte(users=10, policer=POLICER, dropper=DROPPER, duration="5 s")
    path = ["police", "pgw-r1", "r1-sgw", "sgw-r2", "r2-r3", "r3-enb", "drop", "radio"]
    assert cell.tree["groups"]["phones"]["path"] == path
    assert ef.Scenario(json.loads(json.dumps(cell.tree))).hash == cell.hash


def test_two_cells_share_what_is_between_gateway_and_r3_alone() -> None:
    links = ef.run(ef.lte(users=10, duration="5 s")).json["links"]
    assert {name: link["copies"] for name, link in links.items()} == {
        "pgw-r1": 1,
        "r1-sgw": 1,
        "sgw-r2": 1,
        "r2-r3": 1,
        "r3-enb": 2,
        "radio": 2,
    }


def test_a_round_trip_is_600_ms() -> None:
    quiet = ef.lte({"phones": {"users": 1, "traffic": {"kind": "ping", "interval": "1 s"}}}, duration="20 s")
    rtt = ef.run(quiet).metric("groups.phones.transfers.completion_s_mean")
    assert rtt == pytest.approx(0.6, abs=0.001)


@pytest.mark.parametrize(
    ("scheme", "marks", "drops"),
    [("re-ecn", True, False), ("ecn", True, False), ("red", False, True), ("droptail", False, False)],
)
def test_the_scheme_says_what_a_queue_does(scheme: str, marks: bool, drops: bool) -> None:
    link = ef.run(ef.lte(users=100, scheme=scheme, duration="40 s")).json["links"]["r2-r3"]
    assert (packets(link["marks"]) > 100) == marks
    assert (link["drops"].get("early", 0) > 1000) == drops


def test_inside_the_network_no_phone_sees_a_mark() -> None:
    cell = ef.lte(users=50, deployment="infrastructure", duration="40 s")
    record = ef.run(cell).json
    marked = packets(record["links"]["r2-r3"]["marks"])
    assert marked > 100
    assert record["groups"]["phones"]["marks"] == 0
    assert packets(record["stages"]["out"]["drops"]) == 0
    echoes = record["stages"]["gateway"]["echoes"] * record["stages"]["gateway"]["copies"]
    assert 0 < echoes < marked


def test_both_directions_have_queues_of_their_own() -> None:
    links = ef.run(ef.lte({"down": {}, "up": {"direction": "up"}}, users=20, duration="30 s")).json["links"]
    assert links["r2-r3"]["classes"].keys() == {"down"}
    assert links["up-r2-r3"]["classes"].keys() == {"up"}


@pytest.mark.parametrize("hops", [2, 3, 4, 5, 9])
def test_hops(hops: int) -> None:
    path = ef.lte(hops=hops).tree["groups"]["phones"]["path"]
    assert len(path) == hops + 1
    assert len(set(path)) == len(path)
    assert path[-3:] == ["r2-r3", "r3-enb", "radio"]


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte({"a": {"direction": "dwn"}}, users=0, scheme="reecn", flavour="tahoe", hops=1)
    assert [path for path, _ in found.value.errors] == ["scheme", "flavour", "users", "hops", "groups.a.direction"]
    assert "Did you mean “re-ecn”?" in str(found.value)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"deployment": "infrastructure", "scheme": "ecn"}, "deployment"),
        ({"gateway": {"mode": "police"}}, "gateway"),
        ({"groups": {"a": {"direction": "up"}}, "deployment": "infrastructure"}, "gateway.mode"),
        ({"radio": {"loss": {"probability": 0.01, "burst": 0.5}}}, "radio.loss.burst"),
        ({"radio": {"loss": {"retransmissions": 3}}}, "radio.loss.retransmissions"),
    ],
)
def test_what_contradicts_itself_is_refused(given: dict[str, Any], path: str) -> None:
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte(**given)
    assert any(at.startswith(path) for at, _ in found.value.errors), found.value.errors


NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"users": "ten"}, "users"),
        ({"users": None}, "users"),
        ({"users": NAN}, "users"),
        ({"users": 1_000_001}, "users"),
        ({"per_cell": 0}, "per_cell"),
        ({"per_cell": "5"}, "per_cell"),
        ({"hops": 5.0}, "hops"),
        ({"hops": True}, "hops"),
        ({"hops": NAN}, "hops"),
        ({"scheme": None}, "scheme"),
        ({"scheme": ["ecn"]}, "scheme"),
        ({"flavour": 1}, "flavour"),
        ({"deployment": {}}, "deployment"),
        ({"groups": ["a"]}, "groups"),
        ({"groups": {}}, "groups"),
        ({"groups": "phones"}, "groups"),
        ({"groups": {1: {}}}, "groups"),
        ({"groups": {"a": None}}, "groups.a"),
        ({"groups": {"a": [1]}}, "groups.a"),
        ({"groups": {"a": "bulk"}}, "groups.a"),
        ({"groups": {"a": {"traffic": None}}}, "groups.a.traffic"),
        ({"groups": {"a": {"traffic": [1]}}}, "groups.a.traffic"),
        ({"groups": {"a": {"traffic": {}}}}, "groups.a.traffic.kind"),
        ({"groups": {"a": {"traffic": {"kind": ["cbr"]}}}}, "groups.a.traffic.kind"),
        ({"groups": {"a": {"traffic": {"kind": "cbr", "rate": NAN}}}}, "groups.a.traffic.rate"),
        ({"groups": {"a": {"tcp": "cubic"}}}, "groups.a.tcp"),
        ({"groups": {"a": {"tcp": None}}}, "groups.a.tcp"),
        ({"groups": {"a": {"users": "5"}}}, "groups.a.users"),
        ({"groups": {"a": {"direction": ["up"]}}}, "groups.a.direction"),
        ({"rate": "-1 Mbit/s"}, "rate"),
        ({"rate": NAN}, "rate"),
        ({"rate": None}, "rate"),
        ({"bottleneck": "0 bit/s"}, "bottleneck"),
        ({"delay": "-1 ms"}, "delay"),
        ({"delay": object()}, "delay"),
        ({"policer": "A"}, "policer"),
        ({"policer": True}, "policer"),
        ({"policer": {}}, "policer.kind"),
        ({"policer": {"kind": "auditor"}}, "policer.kind"),
        ({"policer": POLICER | {"rtt": "0 s"}}, "policer.rtt"),
        ({"policer": POLICER | {"rttt": "1 s"}}, "policer.rttt"),
        ({"groups": {"a": {}, "b": {"direction": "up"}}, "policer": POLICER | {"rtt": "0 s"}}, "policer.rtt"),
        ({"dropper": ["strict"]}, "dropper"),
        ({"dropper": {"kind": "auditr"}}, "dropper.kind"),
        ({"dropper": {"kind": "congestion-policer", "rate": "2 kbit/s", "depth": "20 kB"}}, "dropper.kind"),
        ({"dropper": DROPPER | {"delay": "-1 s"}}, "dropper.delay"),
        ({"dropper": DROPPER, "radio": {"queue": {"kind": "codel", "limit": "100 packets"}}}, "dropper"),
        ({"gateway": "police", "deployment": "infrastructure"}, "gateway"),
        ({"gateway": {"kind": "auditor"}, "deployment": "infrastructure"}, "gateway.kind"),
        ({"gateway": {"mode": [1]}, "deployment": "infrastructure"}, "gateway.mode"),
        ({"report": [], "deployment": "infrastructure"}, "report"),
        ({"report": {"every": "0 s"}, "deployment": "infrastructure"}, "report.every"),
        ({"queue": "red"}, "queue"),
        ({"queue": []}, "queue"),
        ({"queue": {"kind": "rde"}}, "queue.kind"),
        ({"queue": {"kind": "red", "action": "mark", "limit": "0 packets"}}, "queue.limit"),
        ({"radio": "lossy"}, "radio"),
        ({"radio": {"rate": "-1 Mbit/s"}}, "radio.rate"),
        ({"radio": {"loss": NAN}}, "radio.loss"),
        ({"links": None}, "links"),
        ({"stages": [1]}, "stages"),
        ({"duration": NAN}, "duration"),
        ({"durtion": "3 s"}, "durtion"),
        ({"stages": {"police": {"kind": "auditr"}}, "policer": POLICER}, "stages.police.kind"),
    ],
)
def test_bad_input_is_told_with_its_path(given: dict[str, Any], path: str) -> None:
    """One error, of the package's own kind, by the name of what was given."""
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte(**given)
    assert [at for at, _ in found.value.errors] == [path]
    assert all(reason for _, reason in found.value.errors)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("policr", "policer"),
        ("droper", "dropper"),
        ("percell", "per_cell"),
        ("durtion", "duration"),
        ("recrd", "record"),
    ],
)
def test_the_nearest_argument_is_named(given: str, meant: str) -> None:
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte(**{given: {}})
    assert found.value.errors == [(given, f"there is no such argument. Did you mean “{meant}”?")]


def test_what_is_wrong_with_several_is_said_at_once() -> None:
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte({"a": {"traffic": None}, "b": 3}, policer="A", queue=[], hops=1.5)
    assert [at for at, _ in found.value.errors] == ["groups.a.traffic", "groups.b", "policer", "queue", "hops"]


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        (
            {
                "deployment": "infrastructure",
                "dropper": {"rule": "strikt"},
                "gateway": {"mode": "splt"},
                "radio": {"loss": {"retransmissions": 3, "retransmission_delay": "8 ms"}},
            },
            ["dropper.kind", "dropper.rule", "gateway.mode", "radio.loss.retransmissions"],
        ),
        (
            {"users": -3, "per_cell": 0, "rate": "0 Mbit/s", "delay": "-1 ms", "bottleneck": "fast"},
            ["bottleneck", "delay", "per_cell", "rate", "users"],
        ),
        (
            {"groups": {"a": {"users": "x", "direction": "sideways", "clas": 3}}},
            ["groups.a.clas", "groups.a.direction", "groups.a.users"],
        ),
        (
            {
                "deployment": "infrastruktur",
                "scheme": "reecn",
                "flavour": "sak",
                "hops": 1,
                "report": {"every": "0 s", "liste": True},
                "policer": {"rule": "tcp-rate", "rtt": "0 s"},
                "radio": {"loss": {"probability": 0.1, "burst": 0.2}, "delay": "x"},
            },
            [
                *("deployment", "flavour", "hops", "policer.kind", "policer.rtt", "radio.delay", "radio.loss.burst"),
                *("report.every", "report.liste", "scheme"),
            ],
        ),
        (
            {"groups": {"a": {"direction": "up", "users": "x"}}, "deployment": "infrastructure", "durtion": "3 s"},
            ["durtion", "gateway.mode", "groups.a.users"],
        ),
        (
            {"groups": {"a": None, "b": {"traffic": 3, "users": "x"}}},
            ["groups.a", "groups.b.traffic", "groups.b.users"],
        ),
        (
            {"dropper": {"kind": "congestion-policer", "rate": "x"}, "users": 0, "queue": [], "duration": NAN},
            ["dropper.kind", "duration", "queue", "users"],
        ),
    ],
)
def test_the_scenario_is_checked_beside_the_arguments(given: dict[str, Any], paths: list[str]) -> None:
    """What stands in the place of something wrong adds nothing to the list."""
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte(**given)
    assert sorted(at for at, _ in found.value.errors) == paths


def test_links_and_stages_are_changes_to_those_that_are_there() -> None:
    queue = {"kind": "droptail", "limit": "20 packets"}
    cell = ef.lte(
        {"a": {}, "b": {"direction": "up"}},
        radio={"delay": "10 ms"},
        policer=POLICER,
        links={
            "radio": {"rate": "1 Mbit/s"},
            "r2-r3": {"queue": {"max_probability": 0.5}},
            "sgw-r2": {"queue": queue},
            "mine": {"rate": "1 Mbit/s", "delay": "1 ms"},
        },
        stages={"police": {"factor": 2.0}},
    )
    assert cell.get("links.radio") == {"rate": "1 Mbit/s", "delay": "10 ms", "per": "5 users"}
    assert cell.get("links.up-radio") == {"rate": "100 Mbit/s", "delay": "10 ms", "per": "5 users"}
    assert cell.get("links.r2-r3.queue") == {**lte.marker(), "max_probability": 0.5}
    assert cell.get("links.up-r2-r3.queue") == lte.marker()
    assert cell.get("links.sgw-r2") == {"rate": "100 Mbit/s", "delay": "20 ms", "queue": queue}
    assert cell.get("links.mine.delay") == "1 ms"
    assert cell.get("stages.police") == {**POLICER, "factor": 2.0}
    inside = ef.lte(deployment="infrastructure", stages={"out": {"ecn": "rfc6040"}, "report": {"loss": 0.1}})
    assert inside.get("stages.out") == {**ef.lte(deployment="infrastructure").get("stages.out"), "ecn": "rfc6040"}
    assert inside.get("stages.report.kind") == "congestion-reporter"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"links": {"radio": {"rate": "1 Mbit"}}}, "links.radio.rate"),
        ({"links": {"radio": {"rate": "1 Mbit/s"}}, "radio": {"delay": "x"}}, "radio.delay"),
        ({"links": {"radio": 3}}, "links.radio"),
        ({"stages": {"into": {"overhead": "gtp-u"}}, "deployment": "infrastructure"}, "stages.into.overhead"),
        ({"stages": {"police": {"factor": 2.0}}, "policer": POLICER | {"rtt": "0 s"}}, "policer.rtt"),
    ],
)
def test_a_wrong_change_is_told_where_it_stands(given: dict[str, Any], path: str) -> None:
    with pytest.raises(ef.ScenarioError) as found:
        ef.lte(**given)
    assert [at for at, _ in found.value.errors] == [path]


def test_a_million_phones_are_a_scenario() -> None:
    assert ef.lte(users=1_000_000).tree["groups"]["phones"]["users"] == 1_000_000


@pytest.mark.parametrize("sack", [True, False])
def test_a_counter_of_three_bits_is_not_read_too_high_after_a_hole(sack: bool) -> None:
    """Each mark is told once: the ACK that fills a hole covers what duplicate ACKs have shown before."""
    red = {"kind": "red", "limit": "250 packets", "min_threshold": "31 packets", "max_threshold": "94 packets"}
    queue = {**red, "max_probability": 0.1, "weight": 0.002, "action": "mark-re-ecn"}
    conex = {"unit": "packets", "credit": "first-and-third"}
    tree = {
        "duration": "60 s",
        "links": {"l": {"rate": "10 Mbit/s", "delay": "50 ms", "queue": queue}},
        "groups": {
            "a": {
                "users": 2,
                "path": ["l"],
                "traffic": {"kind": "bulk"},
                "tcp": {"stack": "rfc", "sack": sack, "ecn": "re-ecn", "conex": conex},
            }
        },
    }
    group = ef.run(tree, seed=1).json["groups"]["a"]
    assert group["losses"] > 0
    assert abs(group["conex"]["told"]["mark"]["packets"] - group["marks"]) <= 2
