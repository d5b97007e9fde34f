"""What greets a new user: help, completion, lists, `check`, messages, and what 80 columns do to a table."""

from __future__ import annotations

import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest
from conftest import ROOT, SMALL, Cli, environment
from evenflow.cli import COMMANDS, app

EXAMPLES = ROOT / "examples" / "scenarios"
COMMAND = [sys.executable, "-m", "evenflow"]


def on_a_terminal(
    *arguments: object, columns: int = 80, cwd: Path | None = None, term: str = "dumb", start: list[str] = COMMAND
) -> list[str]:
    """What a terminal of that width shows of a command, line by line, without colours."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in environment(TERM=term).items() if name not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [*start, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=kept, cwd=cwd
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        said += more
    os.close(ours)
    assert child.wait() == 0, said.decode()
    return said.decode().replace("\r\n", "\n").splitlines()


# Help.


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",), ("help",)])
def test_help_goes_to_standard_output(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: evenflow ")


def test_no_summary_is_cut(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in cli("--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("name", [c.name or c.callback.__name__ for c in app.registered_commands if c.callback])
def test_every_command_has_an_example(cli: Cli, name: str) -> None:
    done = cli(name, "-h")
    assert done.code == 0
    below = done.out.partition("Example")[2]
    assert f"  evenflow {name}" in below
    assert cli("help", name).out == done.out


def test_examples_of_help_are_commands(cli: Cli) -> None:
    for command in app.registered_commands:
        for line in str(command.epilog or "").splitlines():
            if line.strip().startswith("evenflow "):
                assert line.split()[1] in COMMANDS
                assert len(line) <= 78


# Completion.


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(cli: Cli, shell: str) -> None:
    done = subprocess.run(
        [*COMMAND, "--show-completion", shell], env=environment(), capture_output=True, text=True, check=True
    )
    assert "_EVENFLOW_COMPLETE" in done.stdout


def completed(instruction: str, **more: str) -> str:
    done = subprocess.run(
        COMMAND, env=environment(_EVENFLOW_COMPLETE=instruction, **more), capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.slow("starts processes")
def test_completion_of_commands_and_names() -> None:
    assert completed("complete_bash", COMP_WORDS="evenflow des", COMP_CWORD="1").split() == ["describe"]
    names = completed("complete_bash", COMP_WORDS="evenflow describe fq", COMP_CWORD="2").split()
    assert names == ["fq", "fq-codel", "fq-pie"]
    assert "describe" in completed("complete_zsh", _TYPER_COMPLETE_ARGS="evenflow des")
    fish = completed("complete_fish", _TYPER_COMPLETE_ARGS="evenflow des", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert "describe" in fish


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed (sudo apt-get install bash)")
def test_completion_is_installed(work: Path) -> None:
    kept = environment(HOME=str(work))
    subprocess.run([*COMMAND, "--install-completion", "bash"], env=kept, capture_output=True, check=True)
    script = next(path for path in work.rglob("*") if path.is_file() and "evenflow" in path.name)
    subprocess.run(["bash", "-n", str(script)], check=True)


# Lists, descriptions.


def test_list_lists_everything(cli: Cli) -> None:
    done = cli("list")
    assert done.code == 0
    for word in ("Mechanisms", "fq-codel", "Traffic", "poisson", "TCP", "cubic", "linux3.2", "Metrics", "wall_s"):
        assert word in done.out
    assert set(json.loads(cli("list", "--json").out)) == {"mechanisms", "traffic", "tcp", "metrics"}
    assert set(json.loads(cli("list", "tcp", "--json").out)) == {"tcp"}


@pytest.mark.parametrize(("alias", "metric"), [("rtt", "completion_s_p50"), ("loss", "loss_ratio")])
def test_describe_says_that_a_name_is_an_alias(cli: Cli, alias: str, metric: str) -> None:
    first = cli("describe", alias).out.splitlines()[0]
    assert first.startswith(f"As a metric, “{alias}” is an alias of ")
    assert metric in first
    assert json.loads(cli("describe", alias, "--json").out)["alias"] == alias


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "x", "--seed", "foo"), "--seed must be a whole number."),
        (("run", "x", "--seed", "-3"), "--seed must be from 0 to 9223372036854775807."),
        (("list", "foo"), "Choose one of mechanisms, traffic, tcp, metrics,"),
        (("study", "x", "--jobs", "0"), "--jobs must be at least 1."),
        (("theory", "x", "--for", "abc"), "--for must be a number."),
        (("run",), "FILE is missing."),
        (("run", "x", "y"), "“y” is one argument too many."),
        (("run", "x", "--set"), "--set needs a value."),
        (("run", "x", "--bogus"), "There is no option --bogus"),
        (("run", "x", "--sed", "3"), "There is no option --sed; did you mean --seed"),
    ],
)
def test_usage_errors_are_plain(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Invalid value" not in done.err


@pytest.mark.parametrize(
    ("text", "told", "excerpt"),
    [
        ('duration = "5 s\n', "line 1: the text is not closed", '    duration = "5 s'),
        ("duration = 5 s\n", "line 1: something is left over", "    duration = 5 s\n                 ^"),
        ("[groups.call]\nusers = 1\n[groups.call]\n", "line 3: [groups.call] stands twice", "    [groups.call]"),
        ("a = 1\na = 2\n", "line 2: this key has a value already", "    a = 2"),
        ("x = {a = 1}\nx.b = 2\n", "line 2: x is complete", "    x.b = 2"),
        ("x 3\n", "line 1: an = is missing after the key", "    x 3\n      ^"),
        ("x = [1, 2\n", "at the end of the file: a list is not closed", ""),
    ],
)
def test_toml_errors_show_the_line(cli: Cli, work: Path, text: str, told: str, excerpt: str) -> None:
    (work / "bad.toml").write_text(text, encoding="utf-8")
    done = cli("run", "bad.toml")
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert excerpt in done.err


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('links.bottleneck.queue={kind="blue"}', 'queue kind "blue": planned, not built; nearest: cobalt'),
        ('groups.heavy.tcp.congestion_control="westwood"', "planned, not built; nearest: newreno"),
        ('groups.heavy.traffic={kind="dash"}', "planned, not built; nearest: has"),
        ('stages.p={kind="cake"}', "planned, not built; nearest: a link's scheduler htb"),
        ('links.bottleneck.rate={trace="x.csv"}', "x.csv: there is no such file"),
        ('links.bottleneck.rate="0 Mbit/s"', "for an outage write { steps ="),
    ],
)
def test_what_is_not_built_has_a_nearest(cli: Cli, small: Path, setting: str, told: str) -> None:
    done = cli("run", small, "--set", setting)
    assert done.code == 2
    assert told in done.err
    assert "not yet known" not in done.err


def test_control_characters_of_a_title_do_nothing(cli: Cli, work: Path) -> None:
    (work / "odd.toml").write_text(SMALL.replace("Two users", "\\u001b[31mTwo\\u0007 users"), encoding="utf-8")
    for command in ("run", "check"):
        done = cli(command, "odd.toml")
        assert done.code == 0
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
        assert "\\x1b[31mTwo" in done.out
    done = cli("run", "\x1b[31m.toml")
    assert "\x1b" not in done.err


# Check.


def test_check_says_what_was_understood(cli: Cli) -> None:
    done = cli("check", EXAMPLES / "abc-default.toml")
    assert (done.code, done.err) == (0, "")
    for word in ("valid", "bottleneck", "24 packets (28.8 ms)", "access → meter → bottleneck", "120 runs", "11.6 ms"):
        assert word in done.out


def test_check_json(cli: Cli) -> None:
    doc = json.loads(cli("check", EXAMPLES / "abc-default.toml", "--json").out)
    assert doc["valid"] is True
    assert doc["links"]["bottleneck"]["limit_s"] == pytest.approx(24 * 1500 * 8 / 10e6)
    heavy = next(row for row in doc["traffic"] if row["group"] == "heavy")
    # there and back: 2 · (0.1 + 5) ms, and what 1500 B and an ACK of 54 B take at 100 and 10 Mbit/s
    trip = 2 * (1e-4 + 5e-3) + (1500 + 54) * 8 * (1 / 100e6 + 1 / 10e6)
    assert heavy["round_trip_s"] == pytest.approx(trip)
    assert heavy["bandwidth_delay_bytes"] == pytest.approx(trip * 10e6 / 8)
    assert (doc["points"], doc["replications"]) == (12, 10)
    assert doc["notes"] == []


def test_check_runs_nothing_and_tells_notes(cli: Cli, small: Path, fake: object) -> None:
    from fake_core import calls

    small.write_text('duration = "2 s"\n', encoding="utf-8")
    cli("check", small)
    assert calls == []


def test_check_of_what_is_wrong(cli: Cli, small: Path) -> None:
    done = cli("check", small, "--set", "groups.heavy.users=0")
    assert (done.code, done.out) == (2, "")
    assert "groups.heavy.users" in done.err
    done = cli("check", small, "--set", "groups.heavy.users=0", "--json")
    doc = json.loads(done.out)
    assert (done.code, doc["valid"]) == (2, False)
    assert [error["path"] for error in doc["errors"]] == ["groups.heavy.users"]


def test_check_notes(cli: Cli, small: Path) -> None:
    assert "short-warmup" in cli("check", small, "--set", 'warmup="0 s"', "--set", 'duration="1 s"').out
    assert "Notes" not in cli("check", small, "--quiet", "--set", 'warmup="0 s"', "--set", 'duration="1 s"').out


# Eighty columns.

WIDE = '\n[sweep]\nreplications = 2\nlinks.bottleneck.delay = ["5 ms", "50 ms"]\ngroups.heavy.traffic.flows = [1, 8]\n'


@pytest.mark.slow("starts processes", only="^(?!.*check)")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", EXAMPLES / "abc-default.toml"),
        ("check", EXAMPLES / "abc-default.toml"),
        ("theory", EXAMPLES / "two-bottlenecks.toml", "--no-run"),
        ("describe", "codel"),
        ("list", "tcp"),
        ("papers",),
        ("study", "wide.toml"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_eighty_columns(arguments: tuple[object, ...], work: Path) -> None:
    (work / "wide.toml").write_text(SMALL + WIDE, encoding="utf-8")
    lines = on_a_terminal(*arguments, cwd=work)
    assert max(map(len, lines)) <= 80 or arguments[0] == "describe"  # but for its line to copy
    text, wide = "\n".join(lines), " ".join(on_a_terminal(*arguments, columns=400, cwd=work))
    for word in ("throughput", "utilisation", "bottleneck", "observable", "simulated", "experiments"):
        if word in wide:
            assert word in text, word


@pytest.mark.slow("a study with all its figures")
def test_paths_of_results_are_whole(cli: Cli, work: Path) -> None:
    (work / "wide.toml").write_text(SMALL + WIDE, encoding="utf-8")
    lines = on_a_terminal("study", "wide.toml", "--out", "out/a-rather-long-name-of-a-folder/and-another", cwd=work)
    assert "  out/a-rather-long-name-of-a-folder/and-another/results.parquet" in [line.rstrip() for line in lines]


def test_nothing_ends_in_blanks_in_a_pipe(cli: Cli, small: Path) -> None:
    for arguments in (("run", small), ("describe", "codel"), ("list",), ("study", small, "--replications", 2)):
        assert not [line for line in cli(*arguments).out.splitlines() if line != line.rstrip()]


# A long run.

IMPATIENT = [
    sys.executable,
    "-c",
    "import sys; from evenflow.run import engine, progress; progress.PATIENCE_S = 0; engine.POLL_S = 0.01; "
    "from evenflow.cli import main; main()",
]


@pytest.mark.slow("waits for a long run")
def test_a_long_run_says_how_far_it_is(work: Path) -> None:
    text = SMALL.replace('duration = "4 s"', 'duration = "4000 s"')
    (work / "long.toml").write_text(text, encoding="utf-8")
    said = "\n".join(on_a_terminal("run", "long.toml", "--quiet", columns=120, cwd=work, term="xterm", start=IMPATIENT))
    assert "of 4000 s simulated" in said


def test_a_pipe_has_no_bar(cli: Cli, small: Path) -> None:
    assert "simulated" not in cli("run", small).err
