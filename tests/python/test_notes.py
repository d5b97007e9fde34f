"""Notes: each code has a scenario that raises it and one, a change away, that does not."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT, Cli
from evenflow.run import notes

BASE = """\
duration = "20 s"
warmup = "5 s"
links.line = { rate = "10 Mbit/s", delay = "20 ms", queue = { limit = "50 packets" } }
[groups.a]
users = 2
path = ["line"]
traffic = { kind = "bulk", start = { uniform = ["0 s", "1 s"] } }
"""
RED = {"kind": "red", "limit": "100 packets", "min_threshold": "10 packets", "max_threshold": "30 packets"}
START = {"kind": "bulk", "start": {"uniform": ["0 s", "1 s"]}}


@pytest.fixture
def base(work: Path) -> ef.Scenario:
    path = work / "base.toml"
    path.write_text(BASE, encoding="utf-8")
    return ef.load(path)


def raised(scenario: ef.Scenario, **changes: Any) -> dict[str, notes.Note]:
    """The notes on a run of the scenario with these values by path (`__` for a dot), by code."""
    changed = scenario.with_settings({name.replace("__", "."): value for name, value in changes.items()})
    record = changed.run(1)
    found = [*notes.left_out(changed, record), *record.notes]
    assert record.notes == notes.of_run(changed, record)
    by_code = {note.code: note for note in found}
    assert len(by_code) == len(found), found
    for note in found:
        assert note.text.endswith(".")
        assert note.to_json() == {"code": note.code, "path": note.path, "text": note.text}
    return by_code


def test_a_plain_scenario_raises_none(base: ef.Scenario) -> None:
    assert raised(base) == {}


def test_no_randomness(base: ef.Scenario) -> None:
    note = raised(base, groups__a__traffic={"kind": "bulk"})["no-randomness"]
    assert "± 0" in note.text
    assert "groups.a.traffic.start" in note.text
    fixed = base.set("groups.a.traffic", {"kind": "bulk"})
    seeds = [fixed.run(seed).metrics() for seed in (1, 2, 3)]
    assert seeds[0] == seeds[1] == seeds[2]  # what the note says is so


@pytest.mark.parametrize(
    "change",
    [
        {"groups__a__traffic": {"kind": "poisson", "rate": "6 Mbit/s"}},
        {"groups__a__processing": {"uniform": ["0 s", "1 ms"]}},
        {"links__line__loss": 0.01},
        {"links__line__jitter": {"normal": "1 ms"}},
        {"links__line__queue": {**RED, "action": "drop"}},
        {"links__line__queue": {"kind": "fq-codel"}},
        {"links__line__queue": {"kind": "dualpi2", "form": "linux"}},
        {"groups__a__tcp": {"stack": "linux", "congestion_control": "bbr"}},
        {"links__line__delay": {"uniform": ["10 ms", "30 ms"]}},
    ],
)
def test_whatever_is_random_silences_it(base: ef.Scenario, change: dict[str, Any]) -> None:
    change = {"groups__a__traffic": {"kind": "bulk"}, **change}
    assert "no-randomness" not in raised(base, **change)


def test_values_that_are_dealt_are_not_random(base: ef.Scenario) -> None:
    dealt = {"kind": "bulk", "start": {"values": ["0 s", "0.1 s"]}}
    assert "no-randomness" in raised(base, groups__a__traffic=dealt)


def test_unlimited_queue(base: ef.Scenario) -> None:
    note = raised(base, links__line__queue={"kind": "droptail"})["unlimited-queue"]
    assert note.path == "links.line.queue.limit"
    longest = base.set("links.line.queue", {"kind": "droptail"}).run(1).metric("links.line.queue_delay_s_max")
    assert longest is not None
    assert longest > 1
    assert f"{longest:.3g} s" in note.text
    assert "unlimited-queue" not in raised(base, links__line__queue={"kind": "codel"})
    assert "unlimited-queue" not in raised(base, links__line__queue={"limit": "5000 packets"})


def test_unlimited_queue_of_the_reverse_direction(base: ef.Scenario) -> None:
    back = {"rate": "20 kbit/s", "delay": "20 ms"}
    assert raised(base, links__line__reverse=back)["unlimited-queue"].path == "links.line.reverse.queue.limit"


def test_sweep_left_out(base: ef.Scenario) -> None:
    cases = {"a": {"links.line.queue": {"limit": "50 packets"}}, "b": {"links.line.queue": {"kind": "codel"}}}
    sweep = {"replications": 3, "cases": {"queue": cases}, "links.line.delay": ["5 ms", "50 ms"]}
    note = raised(base, sweep=sweep)["sweep-left-out"]
    assert "4 points, 12 runs" in note.text
    assert "set only in it" not in note.text
    bare = base.unset("links.line.queue")
    assert "links.line.queue is set only in it" in raised(bare, sweep=sweep)["sweep-left-out"].text


@pytest.mark.parametrize(("action", "does"), [("mark", "drops"), ("mark-everything", "passes their packets unmarked")])
def test_not_ecn_capable(base: ef.Scenario, action: str, does: str) -> None:
    note = raised(base, links__line__queue={**RED, "action": action})["not-ecn-capable"]
    assert note.path == "links.line.queue"
    assert does in note.text
    assert 'groups.a.tcp.ecn = "classic"' in note.text
    assert "not-ecn-capable" not in raised(
        base, links__line__queue={**RED, "action": action}, groups__a__tcp={"ecn": "classic"}
    )
    assert "not-ecn-capable" not in raised(base, links__line__queue={**RED, "action": "drop"})


def test_not_ecn_capable_of_some(base: ef.Scenario) -> None:
    deaf = {"users": 1, "path": ["line"], "traffic": START}
    marks = base.with_settings({"links.line.queue": {**RED, "action": "mark"}, "groups.a.tcp.ecn": "classic"})
    assert "1 of 2" in raised(marks, groups__b=deaf)["not-ecn-capable"].text
    datagrams = {**deaf, "traffic": {"kind": "poisson", "rate": "1 Mbit/s"}}
    assert "not-ecn-capable" not in raised(marks, groups__b=datagrams)  # background that cannot answer marks


def test_never_marked(base: ef.Scenario) -> None:
    note = raised(base, groups__a__tcp={"ecn": "classic"})["never-marked"]
    assert note.path == "groups.a.tcp.ecn"
    assert "line" in note.text
    for queue in ({"kind": "codel"}, {"kind": "pie"}, {"kind": "fq-codel"}, {**RED, "action": "mark"}):
        assert "never-marked" not in raised(base, groups__a__tcp={"ecn": "classic"}, links__line__queue=queue)
    deaf = {"kind": "codel", "ecn": False}
    assert "never-marked" in raised(base, groups__a__tcp={"ecn": "classic"}, links__line__queue=deaf)


def test_never_marked_datagrams(base: ef.Scenario) -> None:
    capable = {"kind": "poisson", "rate": "1 Mbit/s", "ecn_capable": True}
    assert raised(base, groups__a__traffic=capable)["never-marked"].path == "groups.a.traffic.ecn_capable"


def test_never_times_out(base: ef.Scenario) -> None:
    tcp = {"stack": "ns2-linux", "loss_detection": "sack"}
    assert raised(base, groups__a__tcp=tcp)["never-times-out"].path == "groups.a.tcp.rto"
    for other in ({"loss_detection": "fack"}, {"rto": "linux"}):
        assert "never-times-out" not in raised(base, groups__a__tcp=tcp | other)


def test_window_bound(base: ef.Scenario) -> None:
    narrow = base.set("groups.a.tcp.max_window", "16 kB")
    record = narrow.run(1)
    note = raised(narrow)["window-bound"]
    assert note.path == "groups.a.tcp.max_window"
    assert (record.metric("links.line.utilisation") or 1) < 0.9
    assert "16 kB" in note.text
    # 16 kB a round trip of 40 ms and what packets take on the wire: 3 Mbit/s
    assert "allow 3.0" in note.text or "allow 2.9" in note.text
    assert "window-bound" not in raised(base, groups__a__tcp={"max_window": "256 kB"})
    assert "window-bound" not in raised(base, groups__a__tcp={"max_window": "16 kB"}, links__line__loss=0.03)


def test_access_bound(base: ef.Scenario) -> None:
    access = {"rate": "2 Mbit/s", "delay": "1 ms", "per": "user", "queue": {"limit": "50 packets"}}
    both = {"links__access": access, "groups__a__path": ["access", "line"]}
    note = raised(base, **both)["access-bound"]
    assert note.path == "links.access.rate"
    assert "2 Mbit/s" in note.text
    assert "line" in note.text
    both["links__access"] = {**access, "rate": "100 Mbit/s"}
    assert "access-bound" not in raised(base, **both)
    alone = {"links__access": {**access, "rate": "2 Mbit/s"}, "groups__a__path": ["access"]}
    assert "access-bound" not in raised(base.unset("links.line"), **alone)  # the access is what is looked at


def test_series_not_written(base: ef.Scenario) -> None:
    recorded = base.set("record.series", [{"of": "links.line.queue.packets", "every": "100 ms"}])
    assert raised(recorded)["series-not-written"].text.startswith("1 series was recorded")
    assert notes.left_out(recorded, recorded.run(1), written=True) == []


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("100 bit/s", "of the run"),
        ({"steps": [["0 s", "10 Mbit/s"], ["8 s", "1 bit/s"], ["9 s", "10 Mbit/s"]]}, "the remaining 12 s"),
        ({"steps": [["0 s", "10 Mbit/s"], ["8 s", "3 kbit/s"], ["9 s", "10 Mbit/s"]]}, "this rate lasts"),
    ],
)
def test_slow_packet(base: ef.Scenario, rate: Any, told: str) -> None:
    note = raised(base, links__line__rate=rate)["slow-packet"]
    assert note.path == "links.line.rate"
    assert told in note.text
    if isinstance(rate, dict):
        assert "For an outage write a rate of 0 bit/s" in note.text


def test_slow_packet_not(base: ef.Scenario) -> None:
    steps = {"steps": [["0 s", "10 Mbit/s"], ["8 s", "100 kbit/s"], ["9 s", "10 Mbit/s"]]}
    assert "slow-packet" not in raised(base, links__line__rate=steps)
    steps["steps"][1][1] = "0 bit/s"
    outage = base.set("links.line.rate", steps)
    assert "slow-packet" not in raised(outage)  # what the note advises
    assert (outage.run(1).metric("groups.a.throughput_bps") or 0) > 1e6


def test_short_warmup(base: ef.Scenario) -> None:
    note = raised(base, warmup="0 s")["short-warmup"]
    assert note.path == "warmup"
    assert "Group a needs about 1." in note.text
    assert "short-warmup" not in raised(base, warmup="2 s")
    assert "short-warmup" not in raised(base, warmup="0 s", duration="300 s")  # a second of them is no bias
    late = {"kind": "bulk", "start": "10 s"}
    assert "short-warmup" not in raised(base, groups__a__traffic=late)  # a late start that was written down is meant


def like_flows(flows: int, cc: str, more: str = "") -> ef.Scenario:
    tree = {
        "duration": "120 s",
        "warmup": "20 s",
        "links": {"b": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"limit": "24 packets"}}},
        "groups": {
            "g": {
                "users": flows,
                "path": ["b"],
                "traffic": START,
                "tcp": {"stack": "ns2", "congestion_control": cc},
            }
        },
    }
    if more:
        tree["groups"]["g"]["processing"] = {"uniform": ["0 s", more]}  # type: ignore[index]
    return ef.Scenario(tree)


def test_lockstep_together() -> None:
    scenario = like_flows(2, "cubic")
    rates = scenario.run(1).json["groups"]["g"]["flows_throughput_bps"]
    assert max(rates) - min(rates) < 1e-3 * min(rates)
    assert "Their losses are synchronised" in raised(scenario)["lockstep"].text
    assert "lockstep" not in raised(like_flows(2, "cubic", "1.2 ms"))


def test_lockstep_locked_out() -> None:
    scenario = like_flows(20, "newreno")
    rates = scenario.run(1).json["groups"]["g"]["flows_throughput_bps"]
    assert min(rates) < 0.1 * sum(rates) / len(rates)
    note = raised(scenario)["lockstep"]
    assert "less than 10 %" in note.text
    assert '{ uniform = ["0 s", "1.2 ms"] }' in note.text
    cured = like_flows(20, "newreno", "1.2 ms")
    rates = cured.run(1).json["groups"]["g"]["flows_throughput_bps"]
    assert min(rates) > 0.1 * sum(rates) / len(rates)  # what the note advises helps
    assert "lockstep" not in raised(cured)


def test_lockstep_is_no_fault_of_fair_queueing() -> None:
    fair = like_flows(4, "newreno").set("links.b.queue.scheduler", {"kind": "drr", "per": "flow"})
    assert "lockstep" not in raised(fair)


EXPECTED = {
    "abc-default": {"sweep-left-out"},
    **{key: {"sweep-left-out"} for key in ("bbr", "bbr-bursts", "bbr-flows", "bbr-queues", "bbr-rtt")},
    "catching-a-cheat": {"sweep-left-out", "credit-is-dropped"},
    "conex-side-by-side": {"not-ecn-capable", "credit-is-dropped"},
    "conex-variants": {"sweep-left-out"},
    "home-viewed": {"series-not-written"},
    **{key: {"sweep-left-out"} for key in ("coexistence", "l4s", "l4s-bursts", "l4s-flows", "l4s-rtt")},
    "l4s-buffers": {"sweep-left-out", "never-marked"},
    "lossy-tunnel": {"sweep-left-out"},
    "lte-minute": {"sweep-left-out"},
    "queues": {"sweep-left-out", "series-not-written"},
}


@pytest.mark.slow("simulates an evening", only="video-evening")
@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "scenarios").glob("*.toml")), ids=lambda p: p.stem)
def test_examples_raise_what_is_meant(path: Path) -> None:
    scenario = ef.load(path)
    record = scenario.run(1)
    found = {note.code for note in [*notes.left_out(scenario, record), *record.notes]}
    assert found == EXPECTED.get(path.stem, set())


def test_notes_change_no_hash(base: ef.Scenario) -> None:
    record = base.run(1)
    before = record.record_hash, record.text
    assert record.notes == []
    assert (record.record_hash, record.text) == before
    assert "notes" not in record.json


# The command line.


def test_run_prints_them(cli: Cli, base: ef.Scenario) -> None:
    done = cli("run", "base.toml", "--set", "groups.a.traffic={kind='bulk'}")
    assert done.code == 0
    table, _, below = done.out.partition("\nNotes\n")
    assert "throughput" in table
    assert below.startswith("no-randomness\n  The scenario draws no random numbers.")
    assert "Notes" not in cli("run", "base.toml").out


def test_quiet(cli: Cli, base: ef.Scenario) -> None:
    arguments = ("base.toml", "--set", "groups.a.traffic={kind='bulk'}", "--quiet")
    assert "Notes" not in cli("run", *arguments).out
    done = cli("study", *arguments, "--replications", 2)
    assert done.code == 0
    assert "Notes" not in done.out


def test_run_json(cli: Cli, base: ef.Scenario) -> None:
    doc = json.loads(cli("run", "base.toml", "--json", "--set", "groups.a.traffic={kind='bulk'}").out)
    assert [set(note) for note in doc["notes"]] == [{"code", "path", "text"}]
    assert doc["notes"][0]["code"] == "no-randomness"
    assert json.loads(cli("run", "base.toml", "--json").out)["notes"] == []


SWEEP = """
[sweep]
replications = 3
[sweep.cases.start]
fixed = { "groups.a.traffic" = { kind = "bulk" } }
drawn = {}
"""


def test_study(cli: Cli, base: ef.Scenario, work: Path) -> None:
    (work / "both.toml").write_text(BASE + SWEEP, encoding="utf-8")
    done = cli("study", "both.toml")
    assert done.code == 0, done.err
    assert "no-randomness (at 1 of 2 points)" in done.out
    assert "All 3 seeds gave the same numbers" in done.out.replace("\n  ", " ")
    kept = json.loads((work / "out" / "both" / "notes.json").read_text(encoding="utf-8"))
    assert [(note["code"], note["points"]) for note in kept] == [("no-randomness", [0])]
    assert json.loads(cli("study", "both.toml", "--json").out)["notes"] == kept


def test_table_from_python(base: ef.Scenario) -> None:
    sweep = {"replications": 3, "cases": {"start": {"fixed": {"groups.a.traffic": {"kind": "bulk"}}, "drawn": {}}}}
    table = ef.study(base.set("sweep", sweep))
    ((note, points),) = table.notes()
    assert (note.code, points) == ("no-randomness", [0])
    assert table.where(start="drawn").notes() == []
    assert [run.record.notes == [] for run in table] == [False] * 3 + [True] * 3


# A slip of `--set`.


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("links.lin.rate='20 Mbit/s'", "there is no links.lin in the file; did you mean links.line?"),
        ("groups.b.users=3", "there is no groups.b in the file; there are: a."),
        ("stages.meter.per='user'", "there is no stages.meter in the file; there are: none."),
    ],
)
def test_set_of_an_unknown_component(cli: Cli, base: ef.Scenario, setting: str, told: str) -> None:
    for command in ("run", "study", "theory"):
        done = cli(command, "base.toml", "--set", setting)
        assert (done.code, done.out) == (2, "")
        assert told in done.err


def test_set_tells_all_errors_at_once(cli: Cli, base: ef.Scenario) -> None:
    done = cli("run", "base.toml", "--set", "links.lin.rate='20 Mbit/s'", "--set", "groups.a.users=0")
    assert "2 errors" in done.err
    assert "groups.a.users" in done.err


def test_set_may_still_create(cli: Cli, base: ef.Scenario) -> None:
    key = cli("run", "base.toml", "--set", "links.line.loss=0.01", "--json")
    assert key.code == 0
    assert json.loads(key.out)["links"]["line"]["drops"]["loss"] > 0
    whole = ["--set", "links.new={rate='5 Mbit/s', delay='1 ms', queue={limit='20 packets'}}"]
    done = cli("run", "base.toml", *whole, "--set", "links.new.delay='2 ms'", "--set", "groups.a.path=['line', 'new']")
    assert done.code == 0, done.err
    assert "new" in done.out


def test_steps_after_the_end(base: ef.Scenario) -> None:
    burst = {"steps": [["0 s", "20 kB"], ["1 s", "30 kB"]]}
    changes: dict[str, Any] = {"links__line__queue__scheduler": {"kind": "tbf", "rate": "8 Mbit/s", "burst": burst}}
    assert not {"steps-after-the-end", "larger-than-the-bucket"} & raised(base, **changes).keys()
    burst["steps"] += [["20 s", "10 kB"]]
    note = raised(base, **changes)["steps-after-the-end"]
    assert note.path == "links.line.queue.scheduler.burst"
    assert "The step at 20 s comes after the end of the run (20 s)" in note.text
    note = raised(base, links__line__rate={"steps": [["0 s", "8 Mbit/s"], ["21 s", "1 Mbit/s"], ["22 s", "2 Mbit/s"]]})[
        "steps-after-the-end"
    ]
    assert (note.path, "2 steps, the first at 21 s, come" in note.text) == ("links.line.rate", True)


def test_no_label(base: ef.Scenario) -> None:
    for kind in ("csfq", "activity-aqm"):
        note = raised(base, links__line__queue__kind=kind)["no-label"]
        assert note.path == "links.line.queue"
        assert kind in note.text
    edge = {"kind": "csfq-edge", "per": "user"}
    changes = {"links__line__queue__kind": "csfq", "stages": {"edge": edge}, "groups__a__path": ["edge", "line"]}
    assert "no-label" not in raised(base, **changes)


def test_faster_than_the_link(base: ef.Scenario) -> None:
    def shaped(**scheduler: Any) -> dict[str, Any]:
        return raised(base, links__line__rate="10 Mbit/s", links__line__queue__scheduler=scheduler)

    note = shaped(kind="tbf", rate="20 Mbit/s", burst="10 kB")["faster-than-the-link"]
    assert note.path == "links.line.queue.scheduler.rate"
    assert "20 Mbit/s, more than the link's 10 Mbit/s" in note.text
    assert "faster-than-the-link" not in shaped(kind="tbf", rate="10 Mbit/s", burst="10 kB")
    steps = {"steps": [["0 s", "20 Mbit/s"], ["5 s", "8 Mbit/s"]]}
    assert "faster-than-the-link" not in shaped(kind="tbf", rate=steps, burst="10 kB")
    note = shaped(kind="htb", classes={"be": {"rate": "20 Mbit/s"}})["faster-than-the-link"]
    assert note.path == "links.line.queue.scheduler.classes.be.rate"


def test_larger_than_the_bucket(base: ef.Scenario) -> None:
    burst = {"steps": [["0 s", "20 kB"], ["10 s", "1 kB"]]}
    changes: dict[str, Any] = {"links__line__queue__scheduler": {"kind": "tbf", "rate": "8 Mbit/s", "burst": burst}}
    note = raised(base, **changes)["larger-than-the-bucket"]
    assert note.path == "links.line.queue.scheduler.burst"
    burst["steps"][1][1] = "1500 B"
    assert "larger-than-the-bucket" not in raised(base, **changes)


TUNED = ROOT / "examples" / "scenarios" / "home-tuned.toml"


def test_coarse_window_scale() -> None:
    scenario = ef.load(TUNED)
    assert "coarse-window-scale" not in raised(scenario)
    default = scenario.unset("groups.clients.tcp.max_window")
    assert "coarse-window-scale" not in raised(default)  # 3 MiB in linux3.2, a scale of 6
    note = raised(default.set("groups.clients.tcp.stack", "rfc"))["coarse-window-scale"]
    assert note.path == "stages.tuner"
    assert "window scale 14" in note.text
    assert "16.4 kB" in note.text
    assert 'groups.clients.tcp.max_window = "256 KiB"' in note.text  # what the example sets


def test_coarse_window_scale_of_a_rewriter(base: ef.Scenario) -> None:
    stages = {"stages__cut": {"kind": "rewriter", "window": "30 kB"}, "groups__a__path": ["cut", "line"]}
    assert raised(base, **stages)["coarse-window-scale"].path == "stages.cut"
    assert "coarse-window-scale" not in raised(base, **stages, groups__a__tcp={"max_window": "64 kB"})
    assert "coarse-window-scale" not in raised(base, **stages, groups__a__tcp={"window_scaling": False})


@pytest.mark.parametrize(("runs", "words"), [(1, "no interval"), (2, "12.7 standard errors"), (3, "")])
def test_few_runs(base: ef.Scenario, runs: int, words: str) -> None:
    short = base.with_settings({"duration": "2 s", "warmup": "1 s"})
    found = {note.code: note for note, _ in ef.study(short, replications=runs, store=False).notes()}
    assert ("few-runs" in found) == bool(words)
    if words:
        assert words in found["few-runs"].text
        assert found["few-runs"].path == "sweep.replications"


def test_application_limited(base: ef.Scenario) -> None:
    small = {"kind": "request-response", "think": "1 s", "response": "1000 B"}
    cubic = {"congestion_control": "cubic"}
    note = raised(base, groups__a__traffic=small, groups__a__tcp=cubic)["application-limited"]
    assert note.path == "groups.a.tcp.congestion_control"
    assert "no data to send for 100.0 % of the time" in note.text
    # the congestion control is the default
    assert "application-limited" not in raised(base, groups__a__traffic=small)
    # a window of 10 packets limits 1 MB
    larger = {**small, "response": "1 MB"}
    assert "application-limited" not in raised(base, groups__a__traffic=larger, groups__a__tcp=cubic)


def steps(*times: float) -> list[list[str]]:
    return [[f"{at:g} s", f"{rate} Mbit/s"] for at, rate in zip(times, itertools.cycle([8, 12]), strict=False)]


def test_gap_in_a_trace(base: ef.Scenario) -> None:
    regular = [n / 2 for n in range(40)]
    assert raised(base, links__line__rate={"steps": steps(*regular)}) == {}
    hole = [at for at in regular if not 8 < at < 12]
    note = raised(base, links__line__rate={"steps": steps(*hole)})["trace-gap"]
    assert (note.path, "not from 8 s to 12 s" in note.text) == ("links.line.rate", True)
    # steps at any times are meant
    assert "trace-gap" not in raised(base, links__line__rate={"steps": steps(0, 1, 3, 4, 13, 14)})


def test_end_of_a_trace(base: ef.Scenario, work: Path) -> None:
    (work / "up.csv").write_text("time_s,rate_mbps\n" + "".join(f"{n},{8 + n % 2}\n" for n in range(10)))
    note = raised(base, links__line__rate={"trace": "up.csv"})["trace-ended"]
    assert note.text.startswith("up.csv ends at 10 s, and the run at 20 s. The last rate of 9 Mbit/s holds")
    assert raised(base, links__line__rate={"trace": "up.csv", "loop": True}) == {}
    # steps in the scenario are meant
    assert raised(base, links__line__rate={"steps": steps(0, 1, 2)}) == {}
