"""Scenario files: reading, changing, and every error at once (on the real engine)."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import evenflow as ef
import pytest
from conftest import ROOT, SMALL, Cli
from evenflow import types
from evenflow.errors import ScenarioError, UsageError
from evenflow.scenario import parse_setting
from evenflow.scenario.fitting import needed, that_fit

EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.toml"))


def tree() -> dict[str, object]:
    return tomllib.loads(SMALL)


def errors(text: str) -> dict[str, str]:
    with pytest.raises(ScenarioError) as caught:
        ef.Scenario(tomllib.loads(text)).check()
    return dict(caught.value.errors)


def test_setting_copies() -> None:
    base = ef.Scenario(tree())
    changed = base.set("links.bottleneck.delay", "50 ms").set('groups."heavy".users', 3)
    assert base.get("links.bottleneck.delay") == "5 ms"
    assert changed.get("links.bottleneck.delay") == "50 ms"
    assert changed.get("groups.heavy.users") == 3
    assert changed.hash != base.hash
    assert changed.unset("groups.heavy.users").get("groups.heavy").get("users") is None


def test_a_scenario_is_a_table_of_plain_data() -> None:
    with pytest.raises(ScenarioError, match="a scenario is a table of links and groups, not a list"):
        ef.Scenario([])  # type: ignore[arg-type]

    class Control:
        pass

    with pytest.raises(ScenarioError, match=r"cannot hold a Control; .* written in Rust: docs/how-to/index\.md"):
        ef.Scenario(tree()).set("groups.heavy.tcp", {"congestion_control": Control()}).check()


def test_the_tree_handed_out_is_a_copy() -> None:
    base = ef.Scenario(tree())
    base.tree["links"]["bottleneck"]["delay"] = "1 h"
    assert base == ef.Scenario(tree())


def test_hash_ignores_title_sweep_units_and_defaults_written_out() -> None:
    base = ef.Scenario(tree())
    same = base.set("title", "other").set("sweep.replications", 3).set("links.bottleneck.rate", "10000 kbit/s")
    assert same.set("groups.heavy.class", "be").hash == base.hash
    assert base.set("links.bottleneck.rate", "10001 kbit/s").hash != base.hash


def test_scenarios_travel() -> None:
    base = ef.Scenario(tree())
    there = pickle.loads(pickle.dumps(base))
    assert there == base
    assert there.hash == base.hash


def test_dataclasses_build_the_same_scenario() -> None:
    start = {"uniform": ["0 s", "0.5 s"]}
    tcp = types.Tcp(congestion_control="newreno", stack="ns3.26")
    built = ef.Scenario(
        {
            "duration": "4 s",
            "warmup": "1 s",
            "links": {
                "bottleneck": types.Link(rate="10 Mbit/s", delay="5 ms", queue=types.Droptail(limit="24 packets"))
            },
            "groups": {
                "heavy": types.Group(users=1, path=["bottleneck"], traffic=types.Bulk(flows=4, start=start), tcp=tcp),
                "light": types.Group(users=2, path=["bottleneck"], traffic=types.Bulk(flows=1, start=start), tcp=tcp),
            },
        }
    )
    assert built.hash == ef.Scenario(tree()).hash


def test_keywords_of_python_get_an_underscore() -> None:
    assert types.Group(users=1, path=[], traffic=types.Bulk(), class_="ef").to_tree()["class"] == "ef"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_every_example_is_valid(path: Path) -> None:
    ef.load(path).check()


def test_all_errors_come_at_once_with_path_reason_and_nearest_name() -> None:
    said = errors(
        SMALL.replace('delay = "5 ms"', 'delay = "-5 ms"')
        .replace("users = 1", "users = 0")
        .replace('kind = "droptail"', 'kind = "droptial"')
        .replace("users = 2", "userz = 2")
        + '\n[links.other]\nrate = "10"\n'
    )
    assert "links.bottleneck.delay" in said
    assert "groups.heavy.users" in said
    assert "droptail" in said["links.bottleneck.queue.kind"]
    assert "users" in said["groups.light.userz"]
    assert "links.other.rate" in said
    assert len(said) >= 5


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('rate = "10 Mbit/s"', 'rate = "10"', "links.bottleneck.rate"),
        ('rate = "10 Mbit/s"', "rate = 10", "links.bottleneck.rate"),
        ('rate = "10 Mbit/s"', 'rate = "nan Mbit/s"', "links.bottleneck.rate"),
        ('rate = "10 Mbit/s"', "rate = nan", "links.bottleneck.rate"),
        ('rate = "10 Mbit/s"', "rate = inf", "links.bottleneck.rate"),
        ('rate = "10 Mbit/s"', 'rate = "-10 Mbit/s"', "links.bottleneck.rate"),
        ('delay = "5 ms"', "delay = 2026-01-01", "links.bottleneck.delay"),
        ('limit = "24 packets"', 'limit = "0 packets"', "links.bottleneck.queue.limit"),
        ("users = 1", "users = 0", "groups.heavy.users"),
        ("users = 1", "users = -3", "groups.heavy.users"),
        ('duration = "4 s"', 'duration = "0 s"', "duration"),
    ],
)
def test_impossible_values(old: str, new: str, path: str) -> None:
    assert old in SMALL
    assert path in errors(SMALL.replace(old, new, 1))


def test_paths_that_name_no_link_or_one_twice() -> None:
    said = errors(SMALL.replace('path = ["bottleneck"]', 'path = ["botleneck"]', 1))
    assert any(p.startswith("groups.heavy.path") and "bottleneck" in m for p, m in said.items())
    said = errors(SMALL.replace('path = ["bottleneck"]', 'path = ["bottleneck", "bottleneck"]', 1))
    assert any(p.startswith("groups.heavy.path") for p in said)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a.b=3", "a.b", 3),
        ("a.b = 50 ms", "a.b", "50 ms"),
        ('a.b="50 ms"', "a.b", "50 ms"),
        ("a.b=true", "a.b", True),
        ("a.b=[1, 2]", "a.b", [1, 2]),
        ('a.b={ kind = "droptail" }', "a.b", {"kind": "droptail"}),
        ('a."x=y".b=1', 'a."x=y".b', 1),
        ("a.b=c=d", "a.b", "c=d"),
        ("a.b=", "a.b", ""),
    ],
)
def test_settings(text: str, path: str, value: object) -> None:
    assert parse_setting(text) == (path, value)


@pytest.mark.parametrize("text", ["a.b", "=3", "a..b=3"])
def test_no_settings(text: str) -> None:
    with pytest.raises(UsageError):
        parse_setting(text)


def test_a_setting_may_not_smuggle_in_a_second_key() -> None:
    assert parse_setting("a.b=1\nc = 2")[1] == "1\nc = 2"


def test_runs_repeat(small: Path) -> None:
    first, second, other = ef.run(small), ef.run(small), ef.run(small, seed=2)
    assert first.record_hash == second.record_hash != other.record_hash
    assert first.metric("groups.heavy.throughput_bps") == second.metric("groups.heavy.throughput_bps")


def test_a_records_hash_is_of_what_was_measured(small: Path) -> None:
    from evenflow import _core

    recorded = {"record": {"series": [{"of": "links.bottleneck.queue.packets", "every": "50 ms"}], "events": ["drop"]}}
    scenario = ef.load(small)
    record = scenario.with_settings(recorded).run(seed=1)
    assert record.hash_as_of(_core.RECORD_VERSION) == record.record_hash
    # another way to say the same: another scenario hash, the same measurement
    hosts = scenario.get("groups")
    slower = scenario.with_settings({f"groups.{name}.weight": 2 for name in hosts})
    assert slower.hash != scenario.hash
    assert slower.run(seed=1).record_hash == scenario.run(seed=1).record_hash
    for version in (0, _core.RECORD_VERSION + 1):
        with pytest.raises(UsageError, match="there are 1 to"):
            record.hash_as_of(version)


def test_processes_give_what_threads_give(small: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    study = ef.Study.from_scenario(ef.load(small).set("sweep", {"groups.light.users": [1, 2], "replications": 3}))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        apart = ef.run_study(study, executor=pool)
    assert apart.frame().equals(ef.run_study(study).frame())


def test_one_thread_and_many_give_one_record(small: Path) -> None:
    study = ef.Study.from_scenario(ef.load(small), 8)
    one, many = ef.run_study(study, jobs=1), ef.run_study(study, jobs=8)
    assert [r.record.record_hash for r in one] == [r.record.record_hash for r in many]


def test_series_of_the_real_engine(small: Path) -> None:
    wanted = {"series": [{"of": "links.bottleneck.queue.packets", "every": "100 ms"}]}
    record = ef.load(small).set("record", wanted).run()
    frame = record.series("links.bottleneck.queue.packets")
    assert frame.columns == ["time_s", "value"]
    assert frame.height >= 30
    assert frame["time_s"].is_sorted()
    assert frame["value"].min() >= 0
    assert record.frame.height == frame.height


@pytest.mark.slow("simulates a million users")
def test_users_without_number(cli: Cli, small: Path) -> None:
    small.write_text(SMALL.replace("users = 2", "users = 1_000_000"))
    done = cli("run", small, "--set", "duration=20 ms", "--set", "warmup=0 s")
    if done.code == 0:
        assert "light" in done.out
    else:
        assert done.code in (1, 2)
        assert "memory" in done.err or "users" in done.err
        assert len(done.err.splitlines()) <= 24


def test_a_longer_interval_that_fits_uses_most_of_the_memory() -> None:
    series = [{"of": "links.bottleneck.queue.packets", "every": "10 ns"}]
    large = ef.Scenario(tomllib.loads(SMALL)).set("record.series", series)
    free = 100 * 2**20
    found = dict(text.split(" = ", 1) for text in that_fit(large, 0, free))
    fitting = large.set("record.series[0].every", found["record.series[0].every"].strip('"'))
    assert 0.8 < needed(fitting, 0) / free <= 1
