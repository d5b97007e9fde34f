"""The works of `make bench`: what each simulator is told, and what every work has a target for."""

from __future__ import annotations

import importlib
import json
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT

STAGED = {"W6", "W7"}
"""Works with stages, which no other simulator has."""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("bench")


def test_every_work_has_its_durations_and_targets(bench: Any) -> None:
    files = {path.name for path in (ROOT / "benches" / "works").glob("*.toml")}
    assert {*bench.WORKS.values(), bench.mechanisms.BASE.name, bench.TURNOVER} == files
    for table in (bench.CALLGRIND_DURATIONS_S, bench.FLOOR_PACKETS_PER_S, bench.MOST_INSTRUCTIONS):
        assert set(table) == set(bench.WORKS)


def test_every_family_of_runs_has_its_scenario_and_count(bench: Any) -> None:
    families = bench.ledgers.FAMILIES
    assert {family.file for family in families} == {path.name for path in bench.ledgers.FOLDER.glob("*.toml")}
    for family in families:
        tree = bench.read(bench.ledgers.FOLDER / family.file)
        ef.Scenario(tree).check()
        assert family.link in tree["links"]
    counted = bench.read(ROOT / "benches" / "instructions.toml")["instructions"]
    assert set(counted) == {*bench.WORKS, *(family.name for family in families)}


def test_minutes_are_packets_times_cost(bench: Any) -> None:
    links = {family.link: {"delivered_packets": 1000} for family in bench.ledgers.FAMILIES}
    record = {"links": links, "cpu_s": 3e-4, "events": 2000, "folded": 0.5}
    rows = bench.ledgers.costs(lambda _: record, None, repeats=3)
    assert rows[0].cpu_per_packet_s.median == pytest.approx(300e-9)
    assert rows[0].minutes == pytest.approx(0.872e9 * 300e-9 / 2 / 60)
    assert rows[0].events_per_packet == 2


def test_another_version_is_a_wheel_or_a_commit(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(bench.venv, "create", lambda home, **_: home.mkdir(parents=True))
    calls: list[list[str]] = []

    def pip(command: list[str], **_: Any) -> Any:
        calls.append(command)
        out = "" if "nosuch" in command[-1] else "0123abcd\n"
        return bench.subprocess.CompletedProcess(command, int(not out), out, "unknown revision")

    monkeypatch.setattr(bench.subprocess, "run", pip)
    bench.other_version("dist/evenflow-0.1.0.whl")
    bench.other_version("v0.1.0")
    bench.other_version("v0.1.0")
    wanted = [command[-1] for command in calls if "pip" in command]
    assert wanted == ["dist/evenflow-0.1.0.whl", f"git+{tmp_path.as_uri()}@0123abcd"]
    with pytest.raises(RuntimeError, match="--against nosuch: neither a wheel"):
        bench.other_version("nosuch")


def test_what_other_simulators_run_differs_only_where_it_is_said(bench: Any) -> None:
    for work in bench.OPENS - STAGED:
        with pytest.raises(bench.NotComparableError, match="short-flows is not compared"):
            bench.Dumbbell.from_tree(bench.load(work))
        said = dict(word.split("=", 1) for word in bench.Ns2().flows_command(bench.load(work), seed=1)[2:])
        expected = {"packets": "10", "initial_window": "2", "shape": "2", "limit": "833", "cross": "90000000.0"}
        assert {key: said[key] for key in expected} == expected
        assert said["groups"] == "heavy:10:0.8,light:90:0.2"
    for work in STAGED:
        with pytest.raises(bench.NotComparableError, match="no stages"):
            bench.Dumbbell.from_tree(bench.load(work))
    for work in bench.WORKS.keys() - bench.OPENS - STAGED:
        tree = bench.load(work)
        for peer in ("ns-2", "ns-3"):
            theirs = bench.for_peer(work, peer, tree)
            ef.Scenario(theirs).check()
            assert (theirs != tree) == ((work, peer) in bench.INSTEAD)
            dumbbell = bench.Dumbbell.from_tree(theirs)
            assert dumbbell.flows == sum(g["users"] * g["traffic"]["flows"] for g in tree["groups"].values())
            assert dumbbell.stack.ack_every == 1
            assert dumbbell.stack.mss + dumbbell.stack.header == 1500
            if peer == "ns-2":  # ns-3's command builds its program first
                assert bench.Ns2().command(dumbbell, seed=1)


def test_a_work_that_begins_with_datagrams_has_its_segments_size(bench: Any) -> None:
    run = importlib.import_module("evenflow_run")
    said = {work: run.mss_bytes(json.dumps(bench.load(work))) for work in bench.WORKS}
    # W5's first group by name is of datagrams; its flows of 10 packets have 14,480 B.
    assert said == dict.fromkeys(("W1", "W3", "W4"), 1446) | dict.fromkeys(("W2", "W5", "W6", "W7"), 1448)


def test_memory_of_flows_that_come_and_go_is_of_a_valid_work(bench: Any) -> None:
    ef.load(ROOT / "benches" / "works" / bench.TURNOVER).check()


def test_accurate_feedback_is_not_bent(bench: Any) -> None:
    with pytest.raises(bench.NotComparableError, match="off or classic"):
        bench.Dumbbell.from_tree(bench.load("W2"))


def test_w2_is_the_example_with_every_packet_acknowledged(bench: Any) -> None:
    work = ef.Scenario(bench.load("W2"))
    example = ef.load(ROOT / "examples" / "scenarios" / "red-ecn.toml")
    for group in ("heavy", "light"):
        example = example.with_settings(
            {f"groups.{group}.tcp.ack_every": 1, f"groups.{group}.processing": {"uniform": ["0 s", "0.12 ms"]}}
        )
    assert work.hash == example.hash
