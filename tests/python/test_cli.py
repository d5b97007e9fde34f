"""The command line as a user meets it: what is printed, where, and the exit code (on the real engine)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import evenflow as ef
import pytest
from conftest import ROOT, SMALL, Cli, environment, spawn
from evenflow import _core
from evenflow.cli import COMMANDS, app
from evenflow.words import rate, time_span

ONE_SCREEN = 24


def test_help_names_every_command(cli: Cli) -> None:
    done = cli("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert f"  {command} " in done.out
        assert cli(command, "--help").code == 0
    commands = {c.name or c.callback.__name__ for c in app.registered_commands}  # type: ignore[union-attr]
    assert commands | {group.name for group in app.registered_groups} == set(COMMANDS)


MODULES = 260
"""Most that `--help` may import; typer and what it uses are most of them."""


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['evenflow', '--help']\n"
        "from evenflow.cli import invoke\n"
        "invoke(['--help'])\n"
        "never = {'polars', 'matplotlib', 'scipy', 'numpy', 'rich', 'jinja2', 'sqlite3', 'evenflow._core'}\n"
        "heavy = never & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print(len(sys.modules))\n"
    )
    # modules, not seconds: each costs about 0.3 ms, whatever else the machine does
    done = subprocess.run([sys.executable, "-c", script], check=True, env=environment(), capture_output=True)
    count = int(done.stdout.split()[-1])
    assert count < MODULES, f"--help imports {count} modules"


def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert (done.code, _core.__version__ in done.out, _core.ENGINE_ID in done.out) == (0, True, True)


def test_run_is_one_screen(cli: Cli, small: Path) -> None:
    done = cli("run", small)
    assert done.code == 0
    assert done.err == ""
    assert len(done.out.splitlines()) <= ONE_SCREEN
    for word in ("heavy", "light", "Mbit/s", "%", "Bottleneck: bottleneck", "ms"):
        assert word in done.out


def test_run_says_what_viewers_saw(cli: Cli, small: Path) -> None:
    """Of adaptive video also switches and instability; nothing where nobody watches."""
    assert "videos started" not in cli("run", small).out
    file = ROOT / "examples" / "scenarios" / "home-shaped.toml"
    record = ef.load(file).run(1)
    video = record.json["groups"]["clients"]["video"]
    done = cli("run", file)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) <= ONE_SCREEN + 1  # five tables
    heading, row = screen_table(done.out, "videos started", "clients")
    assert heading[-2:] == ["switches", "instability"]
    mean = ef.qoe.of(record, "clients", "ben-ameur-2016-is").mean()
    waits = [time_span(video[f"startup_s_{which}"]) for which in ("mean", "max")]
    seen = ["2 of 2", *waits, "0", time_span(0.0), rate(video["bitrate_bps"]), "5"]
    assert row == ["clients", *seen, f"{mean:.1f} %"]
    # A viewer who asked before the window has no instability; the mean is that of the other.
    late = ef.load(file).set("warmup", "5 s").run(1)
    other = ef.qoe.of(late, "clients", "ben-ameur-2016-is")[1]
    assert screen_table(cli("run", file, "--set", "warmup=5 s").out, "videos", "clients")[1][-1] == f"{other:.1f} %"


def test_run_says_what_viewers_of_downloads_saw(cli: Cli) -> None:
    file = ROOT / "examples" / "scenarios" / "video-evening.toml"
    small = ("--set", "duration=60 s", "--set", "groups.light.users=3", "--set", "groups.light.traffic.start=1 s")
    heading, row = screen_table(cli("run", file, *small).out, "videos started", "light")
    assert heading[-1] == "mean bitrate"
    assert row[1].endswith("of 3")
    assert row[-1] == "1.13 Mbit/s"


def screen_table(out: str, heading: str, key: str) -> tuple[list[str], list[str]]:
    """A table's headings, as far as they stand in one line, and one of its rows."""
    lines = out.splitlines()
    at = next(n for n, line in enumerate(lines) if heading in line)
    row = next(line for line in lines[at:] if line.split()[:1] == [key])
    return re.split(r" {2,}", lines[at].strip()), re.split(r" {2,}", row.strip())


def test_run_json_is_one_document_with_everything_promised(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--seed", 3, "--json")
    assert (done.code, done.err) == (0, "")
    doc = json.loads(done.out)
    top = "scenario_hash record_hash seed engine window_s events folded packet_hops wall_s cpu_s groups stages links"
    assert set(top.split()) <= set(doc)
    assert doc["seed"] == 3
    assert doc["window_s"] == [1.0, 4.0]
    group = (
        "users goodput_bps throughput_bps users_goodput_bps retransmits losses marks loss_ratio delivered_packets "
        "window_packets_mean window_at_floor flows_dead"
    )
    assert set(group.split()) <= set(doc["groups"]["heavy"])
    link = (
        "utilisation queue_packets_mean queue_delay_s_mean queue_delay_s_sd queue_delay_s_p99 queue_delay_s_max "
        "arrived_packets delivered_packets drops marks reverse"
    )
    assert set(link.split()) <= set(doc["links"]["bottleneck"])


def test_run_repeats_a_replication_of_a_study(cli: Cli, small: Path) -> None:
    one = json.loads(cli("run", small, "--seed", 2, "--json").out)
    assert cli("study", small, "--replications", 3).code == 0
    rows = (Path("out") / "small" / "results.csv").read_text().splitlines()
    assert one["record_hash"] in rows[2]


def test_run_validates_the_sweep_and_ignores_it(cli: Cli, small: Path) -> None:
    plain = json.loads(cli("run", small, "--json").out)
    small.write_text(SMALL + '\n[sweep]\nlinks.bottleneck.delay = ["50 ms"]\n')
    assert json.loads(cli("run", small, "--json").out)["record_hash"] == plain["record_hash"]
    small.write_text(SMALL + '\n[sweep]\nlinks.botleneck.delay = ["50 ms"]\n')
    done = cli("run", small)
    assert done.code == 2
    assert "sweep.links.botleneck.delay: there is no links.botleneck" in done.err
    assert "links.bottleneck" in done.err


def test_set_changes_the_run(cli: Cli, small: Path) -> None:
    settings = ("--set", "links.bottleneck.rate=1 Mbit/s", "--set", "groups.light.users=1")
    slow = json.loads(cli("run", small, "--json", *settings).out)
    assert slow["groups"]["light"]["users"] == 1
    assert slow["groups"]["heavy"]["throughput_bps"] < 1e6


def test_set_may_create_keys_but_not_of_what_there_is_not(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--set", "links.botleneck.rate=1 Mbit/s")
    assert done.code == 2
    assert "there is no links.botleneck in the file; did you mean links.bottleneck?" in done.err
    quiet = cli("run", small, "--set", 'record.histograms=["links.bottleneck.queue.packets"]')
    assert (quiet.code, quiet.err) == (0, "")


def test_set_pins_a_swept_path(cli: Cli, small: Path) -> None:
    small.write_text(SMALL + '\n[sweep]\nlinks.bottleneck.delay = ["5 ms", "50 ms"]\ngroups.light.users = [1, 2]\n')
    doc = json.loads(cli("study", small, "--json", "--replications", 2, "--set", "links.bottleneck.delay=20 ms").out)
    assert [p["set"] for p in doc["points"]] == [{"groups.light.users": 1}, {"groups.light.users": 2}]
    found = doc["points"][0]["metrics"]["groups.heavy.throughput_bps"]
    assert set(found) >= {"mean", "sd", "ci95"}
    assert doc["points"][0]["n"] == 2


def test_jobs_change_nothing(cli: Cli, small: Path) -> None:
    small.write_text(SMALL + '\n[sweep]\nreplications = 4\nlinks.bottleneck.delay = ["5 ms", "20 ms"]\n')
    for jobs in (1, 4):
        import os

        os.environ["EVENFLOW_STORE"] = f"store{jobs}"
        assert cli("study", small, "--jobs", jobs, "--out", f"j{jobs}").code == 0
        del os.environ["EVENFLOW_STORE"]
    for name in ("results.csv", "results.parquet", "summary.csv", "report.html"):
        assert Path("j1", name).read_bytes() == Path("j4", name).read_bytes()


def test_precision(cli: Cli, small: Path) -> None:
    done = cli("study", small, "--precision", "20 %", "--precision-of", "groups.heavy.throughput_bps", "--json")
    assert done.code == 0
    (point,) = json.loads(done.out)["points"]
    found = point["metrics"]["groups.heavy.throughput_bps"]
    assert point["n"] % 10 == 0
    assert found["ci95"][1] - found["mean"] <= 0.2 * found["mean"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["study", "small.toml", "--precision", "lots"], "2%"),
        (["study", "small.toml", "--precision", "0"], "between 0 and 100 %"),
        (["study", "small.toml", "--precision", "2%", "--replications", "3"], "remove --replications"),
        (["study", "small.toml", "--precision-of", "x"], "--precision 2%"),
        (["study", "small.toml", "--precision", "2%", "--precision-of", "groups.*.thruput"], "Did you mean"),
        (["study", "small.toml", "--jobs", "0"], "--jobs"),
        (["study", "small.toml", "--replications", "0"], "--replications"),
        (["run", "small.toml", "--seed", "-1"], "--seed"),
        (["run", "small.toml", "--seed", "x"], "--seed"),
        (["run", "small.toml", "--set", "nonsense"], "path=value"),
        (["run", "small.toml", "--set", "a..b=1"], "dotted path"),
        (["run", "small.toml", "--set", "duration.x=1"], "single value"),
        (["run", "small.toml", "--nosuch"], "--nosuch"),
        (["run"], "FILE"),
        (["run", "smal.toml"], "Did you mean smal"),
        (["run", "nowhere/small.toml"], "no such file"),
        (["run", "."], "folder"),
        (["rnu", "small.toml"], "“run”"),
        (["frobnicate"], "There are: demo, run"),
        (["reproduce", "abd"], "“abc”"),
        (["reproduce", "abc", "fig99"], "experiment of abc"),
        (["reproduce", "has-shaping", "tabl02"], "Did you mean “table02”?"),
        (["reproduce", "has-shaping", "has_shaping-tabl02"], "Did you mean “table02”?"),
        (["reproduce", "conex", "zzz"], "x-artefact, x-left, x04"),
        (["reproduce", "abc", "--scale", "full"], "paper"),
        (["claims", "xyz"], "Known: abc"),
        (["describe", "activity-aqn"], "activity-aqm"),
        (["describe", "goodput_bsp"], "goodput_bps"),
        (["describe", "links.line.queue.sojourn"], "an observable of cobalt, codel"),
        (["describe", "increase_weight"], "a parameter of wtp"),
        (["list", "quues"], "“queues”"),
        (["list", "metrics", "nosuch"], "has no entry with"),
        (["describe", "westwood"], "planned, not built; nearest: newreno"),
    ],
)
def test_bad_usage_is_said_on_one_screen(cli: Cli, small: Path, arguments: list[str], word: str) -> None:
    if arguments[1:2] == ["smal.toml"]:
        word = "Did you mean small.toml"
    done = cli(*arguments)
    assert done.code == 2, done
    assert word in done.err
    assert done.out == ""
    assert len(done.err.splitlines()) <= ONE_SCREEN


@pytest.mark.parametrize(
    "command",
    [
        ["run", "small.toml"],
        ["study", "small.toml"],
        ["plot", "small.toml"],
        ["trace", "small.toml"],
        ["theory", "small.toml"],
        ["reproduce", "abc", "fig03"],
        ["claims", "abc"],
    ],
)
def test_an_empty_place_is_no_place(cli: Cli, small: Path, command: list[str]) -> None:
    before = sorted(Path.cwd().iterdir())
    for empty in ("", "  "):
        done = cli(*command, "--out", empty)
        assert (done.code, done.out) == (2, "")
        assert "it is empty" in done.err
    assert sorted(Path.cwd().iterdir()) == before, "nothing was written into the current folder"


def test_a_syntax_error_has_its_line(cli: Cli, small: Path) -> None:
    small.write_text(SMALL.replace("users = 1", "users = "))
    done = cli("run", small)
    assert done.code == 2
    line = SMALL.splitlines().index("users = 1") + 1
    assert f"line {line}" in done.err


def test_binary_rubbish_is_not_a_scenario(cli: Cli, small: Path) -> None:
    small.write_bytes(b"\xff\xfe\x00\x01")
    done = cli("run", small)
    assert (done.code, "UTF-8" in done.err) == (2, True)


@pytest.mark.parametrize(("more", "shown"), [((), True), (("--json",), False)])
def test_json_has_no_progress(
    cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], shown: bool
) -> None:
    asked, run = [], ef.Scenario.run

    def watched(self: ef.Scenario, *arguments: int, progress: bool = False) -> ef.Record:
        asked.append(progress)
        return run(self, *arguments)

    monkeypatch.setattr(ef.Scenario, "run", watched)
    assert cli("run", small, *more).code == 0
    assert asked == [shown]


def test_errors_are_json_with_json(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--json", "--set", "groups.heavy.users=0")
    found = json.loads(done.out)
    assert (done.code, found["exit_code"]) == (2, 2)
    assert found["errors"][0]["path"] == "groups.heavy.users"
    assert "groups.heavy.users" in done.err
    assert json.loads(cli("run", small, "--json", "--nonsense").out)["exit_code"] == 2
    assert "error" in json.loads(cli("rnu", "--json").out)


def test_many_errors_still_fit_a_screen(cli: Cli, small: Path) -> None:
    extra = "\n".join(f'[links.l{i}]\nrate = "x"\nnosuch = 1' for i in range(40))
    small.write_text(SMALL + extra)
    done = cli("run", small)
    assert done.code == 2
    assert "more" in done.err
    assert len(done.err.splitlines()) <= 30


@pytest.mark.parametrize("command", [["study", "small.toml"], ["reproduce", "abc", "fig03"]])
def test_an_unwritable_folder_is_said_before_anything_runs(cli: Cli, small: Path, command: list[str]) -> None:
    Path("file").write_text("in the way")
    started = time.monotonic()
    done = cli(*command, "--out", "file/out")
    assert done.code == 1
    assert "file/out" in done.err
    assert "cannot be written" in done.err
    assert len(done.err.splitlines()) == 1
    assert time.monotonic() - started < 10
    assert not Path("out/store").exists()


def test_an_unwritable_store_is_said(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("in the way")
    monkeypatch.setenv("EVENFLOW_STORE", "file/store")
    done = cli("study", small, "--replications", 1)
    assert (done.code, "EVENFLOW_STORE" in done.err) == (1, True)


@pytest.mark.slow("starts processes")
def test_two_real_processes_share_a_store(work: Path, small: Path) -> None:
    small.write_text(SMALL + '\n[sweep]\nreplications = 8\nlinks.bottleneck.delay = ["5 ms", "20 ms"]\n')
    both = [spawn("study", small, "--out", f"o{i}", cwd=work) for i in range(2)]
    for process in both:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert (work / "o0" / "results.csv").read_bytes() == (work / "o1" / "results.csv").read_bytes()


def test_list_and_describe(cli: Cli) -> None:
    assert "activity-aqm" in cli("list", "mechanisms").out
    assert "poisson" in cli("list", "traffic").out
    assert "newreno" in cli("list", "tcp").out
    assert "utilisation" in cli("list", "metrics").out
    described = cli("describe", "activity_aqm")  # - and _ are the same
    for word in ("q_min", "12 packets", "Menth", "threshold"):
        assert word in described.out
    assert json.loads(cli("describe", "droptail", "--json").out)["kind"] == "droptail"
    assert "goodput" in cli("describe", "goodput_bps").out
    queues = cli("list", "queues").out
    assert "codel" in queues
    assert "htb" not in queues
    assert [row["name"] for row in json.loads(cli("list", "metrics", "cwnd", "--json").out)["metrics"]]
    for alias, metric in (("rtt", "completion_s_p50"), ("latency", "queue_delay_s_mean"), ("loss_ratio", "loss_ratio")):
        assert metric in cli("describe", alias).out


def test_describe_is_one_screen(cli: Cli) -> None:
    assert len(cli("describe", "red").out.splitlines()) <= 40
    assert "Deviations" not in cli("describe", "red").out
    assert "Deviations" in cli("describe", "red", "--all").out


def test_usual_names_of_metrics_are_known(cli: Cli, small: Path) -> None:
    found = json.loads(cli("plot", small, "--metric", "latency", "--json").out)
    assert {row["y_name"] for row in found["numbers"]} >= {"mean queueing delay"}


@pytest.mark.slow("judges the results of all papers")
@pytest.mark.slow("five queues by ten seeds, and an experiment of a paper")
def test_demo(cli: Cli, work: Path) -> None:
    done = cli("demo")
    assert (done.code, done.err) == (0, "")
    for word in ("drop-tail", "FQ-CoDel", "ABC", "supported", "evenflow reproduce wtp"):
        assert word in done.out
    assert "call round trip p99 (ms)" in (work / "out/demo/report.html").read_text(encoding="utf-8")
    assert (work / "out/demo/abc/report.html").exists()


def test_papers(cli: Cli) -> None:
    done = cli("papers")
    assert (done.code, "abc" in done.out) == (0, True)
    paper = json.loads(cli("papers", "--json").out)["papers"][0]
    assert paper["claims"] >= 120
    assert paper["experiments"] >= 14


def test_doctor(cli: Cli) -> None:
    done = cli("doctor")
    for word in ("engine", "run store", "ns-3", "free memory"):
        assert word in done.out
    rows = json.loads(cli("doctor", "--json").out)["checks"]
    assert {row["state"] for row in rows} <= {"yes", "no", "bad"}


def test_a_reader_that_leaves_is_no_error(small: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m evenflow list metrics --json | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stderr == ""


def test_a_defect_is_a_sentence_too(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenflow.scenario import scenario

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(scenario.Scenario, "run", broken)
    done = cli("run", small)
    assert done.code == 1
    assert "defect of Evenflow: ZeroDivisionError: oops" in done.err


@pytest.mark.slow("starts processes")
def test_no_colours_or_bars_in_a_pipe(work: Path) -> None:
    from conftest import FAKE

    (work / "f.toml").write_text("sleep = 0.5\n" + FAKE)
    process = spawn("study", "f.toml", "--replications", 10, "--jobs", 2, fake=True, cwd=work)
    out, err = process.communicate(timeout=60)
    assert "\x1b" not in out + err
    assert err == ""


@pytest.mark.slow("starts processes")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals: run it under WSL")
@pytest.mark.parametrize(("sleep", "bar"), [("0.5", True), ("0.01", False)])
def test_a_bar_only_on_a_terminal_and_only_if_it_takes_long(work: Path, sleep: str, bar: bool) -> None:
    import os
    import pty

    from conftest import FAKE

    (work / "f.toml").write_text(f"sleep = {sleep}\n" + FAKE)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fake_cli", "study", "f.toml", "--replications", "12", "--jobs", "2"],
        cwd=work,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert (b"runs, left" in shown) == bar
