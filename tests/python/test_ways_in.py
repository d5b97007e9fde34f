"""Every way in: what no file, option or terminal may do. A sentence, or harmless; never a traceback or a defect."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evenflow as ef
import polars as pl
import pytest
from conftest import SMALL, Cli, environment
from evenflow import cli as commands
from evenflow.cli import plotting
from evenflow.cli.base import stem
from evenflow.errors import ScenarioError, UsageError
from evenflow.run import notes
from evenflow.run.files import csv_bytes
from evenflow.scenario import paths, sweep
from evenflow.scenario.outline import Outline, Source, Way
from evenflow.scenario.scenario import Scenario, parse_setting
from evenflow.show import pictures, view
from hypothesis import given, settings
from hypothesis import strategies as st

BASE = """\
duration = "1 s"
[links.l]
rate = "10 Mbit/s"
delay = "5 ms"
[groups.g]
users = 1
path = ["l"]
traffic = { kind = "bulk" }
"""


@pytest.fixture
def base(work: Path) -> Path:
    path = work / "base.toml"
    path.write_text(BASE)
    return path


def refused(cli: Cli, *arguments: object) -> str:
    done = cli(*arguments)
    assert done.code in (1, 2), done
    assert json.loads(done.out)["exit_code"] == done.code if "--json" in arguments else done.out == ""
    assert "defect" not in done.err
    assert len(done.err) < 2000
    assert all(character == "\n" or character.isprintable() for character in done.err)
    return done.err


# --- the file


@pytest.mark.parametrize("command", ["run", "study", "check", "plot"])
@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ("duration = [1979-05-27]", "sweep.duration[0]: a date"),
        ("duration = [07:32:00, '2 s']", "sweep.duration[0]: a date"),
        ('"links.l.delay" = [1979-05-27T07:32:00Z]', 'sweep."links.l.delay"[0]: a date'),
        ('"groups.g.users" = [inf, nan]', 'sweep."groups.g.users"[0]: inf is not'),
        ('cases.x.one = { "duration" = 1979-05-27 }', "sweep.cases.x.one.duration: a date"),
        (f'"groups.g.users" = [0x{"f" * 6000}]', "24,000 bits is too large"),
    ],
)
def test_odd_values_in_a_sweep(cli: Cli, base: Path, command: str, sweep: str, says: str) -> None:
    base.write_text(f"{BASE}[sweep]\n{sweep}\n")
    assert says in refused(cli, command, base).replace("\n    ", " ")


def test_a_mark_at_the_beginning_that_some_editors_write(cli: Cli, base: Path) -> None:
    plain = Scenario.load(base).hash
    base.write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert Scenario.load(base).hash == plain
    assert cli("check", base).code == 0
    base.write_bytes(b"\xef\xbb\xbf" + BASE.replace("users = 1", "users = ").encode())
    assert "line 6" in refused(cli, "check", base)
    base.write_bytes(b"\xef\xbb\xbf# \xff\n" + BASE.encode())
    assert "is not UTF-8 text (byte 5)" in refused(cli, "check", base)
    base.write_bytes(b"\xff\xfe" + BASE.encode("utf-16-le"))
    assert "is not UTF-8 text (byte 0)" in refused(cli, "check", base)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 3000 + "]" * 3000,
        "a = " + "[" * 100 + "]" * 100,
        "x." * 2000 + "y = 1",
        "a = " + "{ b = " * 400 + "1" + " }" * 400,
        "\n".join("[" + ".".join(["t"] * depth) + "]" for depth in range(1, 400)),
    ],
)
def test_nesting(cli: Cli, base: Path, text: str) -> None:
    base.write_text(text)
    said = refused(cli, "run", base)
    assert "nested more than 64 deep" in said
    assert "base.toml" in said


@pytest.mark.parametrize("key", ["users", "more"])
def test_numbers_of_5000_digits(cli: Cli, base: Path, key: str) -> None:
    base.write_text(BASE.replace("users = 1", f"{key} = {'9' * 5000}"))
    assert "more than 4,300 digits" in refused(cli, "run", base)
    base.write_text(BASE.replace("users = 1", f"{key} = 0x{'9' * 5000}"))
    assert f"groups.g.{key}: a whole number of 20,000 bits" in refused(cli, "run", base)
    base.write_text(BASE.replace("users = 1", f"{key} = {'9' * 400}"))
    assert f"groups.g.{key}: a whole number" in refused(cli, "run", base)


def test_a_file_that_is_not_utf8(cli: Cli, base: Path) -> None:
    base.write_bytes(BASE.encode() + b'title = "\xff"')
    assert "is not UTF-8 text (byte" in refused(cli, "run", base)


# --- settings


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('"\\U0001F600"=3', "unknown key"),
        ('groups."\\x"=3', "no escape \\x in TOML"),
        ('groups."\\ud800"=3', "is no character"),
        ('groups."\\U00110000"=3', "is no character"),
        ("a[" + "9" * 5000 + "]=1", "has no"),
        ("groups.g.users=" + "9" * 5000, "more than 4,300 digits"),
        ("groups.g.users=0x" + "9" * 5000, "20,000 bits"),
        ("a=" + "[" * 3000 + "]" * 3000, "nested more than 64 deep"),
        (".".join(["a"] * 3000) + "=1", "at most 64"),
        (os.fsdecode(b'title="\xff"'), "is not UTF-8 text"),
        (os.fsdecode(b"\xff=1"), "is not UTF-8 text"),
        ("links.l.delay=1979-05-27", "a date"),
        ("=", "path"),
        ("[0]=1", "is not a dotted path"),
    ],
)
def test_settings(cli: Cli, base: Path, setting: str, says: str) -> None:
    assert says in refused(cli, "run", base, "--set", setting)


@given(st.lists(st.one_of(st.text(min_size=0, max_size=8), st.integers(0, 99)), min_size=1, max_size=5))
def test_what_is_written_as_a_path_is_read_as_it(path: list[str | int]) -> None:
    path = ["x", *path]
    assert paths.parse(paths.render(path)) == tuple(path)
    assert all(unicodedata.category(character) not in ("Cc", "Cf") for character in paths.render(path))


@settings(max_examples=300)
@given(st.text(max_size=40) | st.text("ab.[]\"'\\u0=", max_size=30))
def test_any_text_is_a_path_a_setting_or_a_sentence(text: str) -> None:
    for read in (paths.parse, parse_setting):
        with contextlib.suppress(UsageError):
            read(text)


NAMES = [
    "two words",
    'a"b',
    "back\\slash",
    "\u202ex",
    "\0",
    "\x1b[31m",
    "a.b",
    "é",
    "\U0001f600",
    "\x7f",
    "'",
    "\u0301x",
]


@pytest.mark.parametrize("name", NAMES)
def test_paths_in_messages_are_paths_that_the_program_reads(name: str) -> None:
    """The engine's own paths, too."""
    tree = Scenario({"duration": "1 s", "links": {"l": {"rate": "1 Mbit/s", "delay": "1 ms"}}}).tree
    tree["groups"] = {name: {"users": -1, "path": ["l"], "traffic": {"kind": "bulk"}, "more": 1}}
    with pytest.raises(ScenarioError) as caught:
        Scenario(tree).check()
    found = [paths.parse(path) for path, _ in caught.value.errors]
    assert ("groups", name, "more") in found
    assert ("groups", name, "users") in found


def test_names_that_are_not_utf8_in_python() -> None:
    for tree in ({"\ud800": 1}, {"title": "\udfff"}, {"groups": {"\ud800": {}}}, {"sweep": {"\ud800": [1]}}):
        with pytest.raises(ScenarioError, match="UTF-8"):
            Scenario(tree).check()


def test_long_names_do_not_fill_the_screen(cli: Cli, base: Path) -> None:
    groups = "".join(f'[groups."{"n" * 500}{i}"]\nusers = 1\npath = ["x"]\n' for i in range(20))
    base.write_text(BASE + groups)
    for line in cli("run", base).err.splitlines():
        assert len(line) < 2000


# --- what is printed


HOSTILE = "\x1b[31mred\x07 \x9b2J \u202egnp"


@pytest.mark.slow("draws all figures of a study")
@pytest.mark.figures
def test_control_characters_of_titles_and_labels_do_nothing(cli: Cli, work: Path) -> None:
    name = json.dumps(HOSTILE)
    text = SMALL.replace('title = "Two users at one link"', f"title = {name}")
    (work / "h.toml").write_text(
        text
        + f'[sweep]\nreplications = 2\n[sweep.cases.{name}]\n{name} = {{ "groups.heavy.users" = 1 }}\n'
        + '"x" = { "groups.heavy.users" = 2 }\n'
    )
    for command in (("check",), ("run",), ("study",), ("run", "--json"), ("study", "--json"), ("check", "--json")):
        done = cli(command[0], "h.toml", *command[1:])
        assert done.code == 0, done.err
        shown = (done.out + done.err).replace("\n", "")
        assert all(character.isprintable() for character in shown), command
        if command == ("study", "--json"):
            assert json.loads(done.out)["points"][0]["set"] == {HOSTILE: HOSTILE}


def test_a_file_without_end(cli: Cli, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("/dev/zero", "/dev/null", "endless.toml"):
        if name == "endless.toml":
            with open(name, "wb") as file:
                file.truncate(2**40)
        done = cli("run", name)
        assert done.code == 2
        assert (
            name == "/dev/null" or f"{name}: 1 error\n  is longer than 64 MiB, the largest scenario file." in done.err
        )


def test_pipes(cli: Cli, base: Path, work: Path) -> None:
    os.mkfifo("pipe.toml")
    done = cli("run", "pipe.toml")
    assert done.code == 2
    assert "is an empty pipe" in done.err
    read, write = os.pipe()
    threading.Timer(0.3, lambda: (os.write(write, base.read_bytes()), os.close(write))).start()
    done = cli("check", f"/dev/fd/{read}")
    os.close(read)
    assert done.code == 0, done.err


def test_a_panic_outside_of_runs_is_a_sentence(cli: Cli, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def broken(*_: object, **__: object) -> None:
        raise PanicException("called `Result::unwrap()` on an `Err` value")

    monkeypatch.setattr("evenflow.show.export.write_study", broken)
    done = cli("study", base, "--replications", 1, "--json")
    assert done.code == 1
    assert done.err.startswith("evenflow: A defect of Evenflow: PanicException: called `Result::unwrap()`")


@pytest.mark.slow("starts processes", only="^(?!.*command0-more1)")
@pytest.mark.parametrize(
    "more",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
@pytest.mark.parametrize("command", [("run",), ("study",), ("check",), ("run", "--json"), ("describe", "codel")])
def test_ascii_terminals(work: Path, more: dict[str, str], command: tuple[str, ...]) -> None:
    (work / "s.toml").write_text(
        SMALL.replace("Two users", "Zwei Gäste 😀").replace("groups.light", 'groups."licht-µ"')
        + "[sweep]\nreplications = 2\n"
    )
    rest = command[1:] if command[0] == "describe" else ("s.toml", *command[1:])
    done = subprocess.run(
        [sys.executable, "-m", "evenflow", command[0], *rest], cwd=work, env=environment(**more), capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if "--json" in command:
        assert "licht-µ" in json.loads(done.stdout)["groups"]
    elif "latin" not in str(more):
        assert done.stdout.isascii()


def test_formulas_in_csv(cli: Cli, work: Path) -> None:
    evil = "=cmd|' /C calc'!A0"
    (work / "s.toml").write_text(
        SMALL
        + f"""[sweep]
replications = 1
[sweep.cases."@who"]
"{evil}" = {{ "groups.heavy.users" = 1 }}
"+1+cmd|' /C calc'!A0" = {{ "groups.heavy.users" = 2 }}
"-5 ms" = {{ "groups.heavy.users" = 3 }}
"""
    )
    done = cli("study", "s.toml", "--out", "o")
    assert done.code == 0, done.err
    for name in ("results.csv", "summary.csv"):
        text = (work / "o" / name).read_text()
        assert text.startswith("'@who,")
        cells = {line.split(",")[0] for line in text.splitlines()[1:]}
        assert cells == {f"'{evil}", "'+1+cmd|' /C calc'!A0", "-5 ms"}
    assert cli("plot", "o", "--out", "f.csv").code == 0
    assert not any(
        cell.startswith(("=", "@")) for line in (work / "f.csv").read_text().splitlines() for cell in line.split(",")
    )


def test_which_texts_are_formulas() -> None:
    import polars as pl

    texts = ["=1", "@x", "+a", "-a", "-1+2", "\t=1", "-5", "+5 ms", "-2e-3 Mbit/s", "a=b", "", None]
    lines = csv_bytes(pl.DataFrame({"t": texts, "n": [-1.5] * len(texts)})).decode()
    frame = pl.read_csv(lines.encode())
    assert frame["n"].to_list() == [-1.5] * len(texts)
    assert frame["t"].to_list()[:6] == ["'=1", "'@x", "'+a", "'-a", "'-1+2", "'\t=1"]
    assert frame["t"].to_list()[6:10] == ["-5", "+5 ms", "-2e-3 Mbit/s", "a=b"]


@pytest.mark.slow("draws figures for each text", only=r"^(?!.*\[\$x)")
@pytest.mark.parametrize("name", [r"$\frac$", "$x", "$a$ and $b$", r"\$", "_^{", "%", "<b>", "&amp;"])
def test_mathematics_in_labels_is_text(cli: Cli, work: Path, name: str) -> None:
    quoted = json.dumps(name)
    text = SMALL.replace('"Two users at one link"', quoted)
    cases = f"[sweep]\nreplications = 2\n[sweep.cases.{quoted}]\n{quoted} = {{ duration = '3 s' }}\n"
    cases += "b = { duration = '2 s' }\n"
    (work / "m.toml").write_text(text)
    (work / "s.toml").write_text(text + cases)
    done = cli("study", "s.toml", "--out", "o")
    assert done.code == 0, done.err
    assert (work / "o" / "results.csv").exists()
    assert cli("plot", "m.toml", "--out", "f.png").code == 0
    assert cli("plot", "o", "--kind", "box", "--out", "g.pdf").code == 0


# --- files


@pytest.mark.slow("draws a figure for each name", only=r"^(?!.*\[\.\.\.)")
@pytest.mark.parametrize("name", ["...toml", "..toml", ".. .toml", "  .toml"])
def test_a_file_of_dots_writes_below_out(cli: Cli, work: Path, name: str) -> None:
    place = work / "deep" / "er"
    place.mkdir(parents=True)
    os.chdir(place)
    (place / name).write_text(SMALL + "[sweep]\nreplications = 2\n")
    done = cli("study", name)
    assert done.code == 0, done.err
    assert cli("plot", name).code == 0
    assert sorted(p.name for p in place.iterdir()) == sorted([name, "out"])
    assert list((work / "deep").iterdir()) == [place]
    assert (place / "out" / stem(Path(name)) / "results.csv").exists()


LEDGER = {
    "paper": "wtp",
    "title": "t",
    "scale": "quick",
    "counts": {},
    "claims": [{"id": "wtp-c01", "verdict": "holds", "measured": "1", "expected": "1", "tolerance": "", "source": "x"}],
}


@pytest.mark.parametrize("wrong", ["{", "[]", "{}", "null", '{"claims": {}}', '{"claims": 3}', "[" * 9000, '"x"'])
@pytest.mark.parametrize(
    "arguments", [("claims", "wtp"), ("claims", "wtp", "--claim", "c01"), ("claims", "wtp", "--json")]
)
def test_a_malformed_ledger(cli: Cli, work: Path, wrong: str, arguments: tuple[str, ...]) -> None:
    (work / "out" / "wtp").mkdir(parents=True)
    (work / "out" / "wtp" / "ledger.json").write_text(wrong)
    assert "ledger.json is not a ledger" in refused(cli, *arguments)


@pytest.mark.parametrize("key", ["id", "verdict", "measured", "expected", "claims", "counts", "title", "scale"])
@pytest.mark.parametrize("value", [None, 3, "gone", [], {}])
@pytest.mark.parametrize("arguments", [("claims", "wtp"), ("claims", "wtp", "--claim", "c01")])
def test_a_ledger_damaged_by_hand(cli: Cli, work: Path, key: str, value: object, arguments: tuple[str, ...]) -> None:
    document = json.loads(json.dumps(LEDGER))
    place = document if key in document else document["claims"][0]
    if value == "gone":
        del place[key]
    else:
        place[key] = value
    (work / "out" / "wtp").mkdir(parents=True)
    (work / "out" / "wtp" / "ledger.json").write_text(json.dumps(document))
    done = cli(*arguments)
    assert "defect" not in done.err
    assert done.code in (0, 1, 2)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system has no /proc: run it on Linux")
def test_a_folder_that_cannot_be_written_is_named_itself(cli: Cli, small: Path) -> None:
    said = cli("run", small, "--out", "/proc/x").err
    assert said.startswith("evenflow: /proc/x cannot be written")
    assert "writable" not in said.replace("cannot be writable", "")


# --- plot


def test_plot_names_every_error_at_once(cli: Cli, small: Path) -> None:
    said = cli("plot", small, "--metric", "throughput_bsp", "--out", "x.gif").err
    assert said.startswith("evenflow: 2 errors")
    assert "x.gif" in said
    assert "throughput_bsp" in said
    said = cli("plot", small, "--width", "wide", "--kind", "pie", "--seeds", "some").err
    assert said.startswith("evenflow: 3 errors")
    assert all(word in said for word in ("--width wide", "pie", "some", "did you mean “line”"))
    assert plotting.KINDS == pictures.KINDS


def test_plot_json(cli: Cli, small: Path, work: Path) -> None:
    done = cli("plot", small, "--metric", "utilisation", "--json", "--out", "f.svg")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["files"] == ["f.svg"]
    assert (work / "f.svg").exists()
    assert all(row["y"] > 0 for row in document["numbers"])
    assert {"kind", "files", "numbers", "notes"} == set(document)


@pytest.fixture
def completed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What a shell is offered for the last of these words."""

    def completed(*words: str) -> list[str]:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.setenv("_EVENFLOW_COMPLETE", "complete_bash")
            patch.setenv("COMP_WORDS", " ".join(["evenflow", *words]))
            patch.setenv("COMP_CWORD", str(len(words)))
            with pytest.raises(SystemExit):
                commands.invoke([])
        return capfd.readouterr().out.split()  # bash completes a word at a time

    return completed


def test_a_shell_completes_metrics(cli: Cli, small: Path, work: Path, completed: Callable[..., list[str]]) -> None:
    names = completed("plot", "small.toml", "--metric", "groups.heavy.thr")
    assert "groups.heavy.throughput_bps" in names
    assert all(name.startswith("groups.heavy.thr") for name in names)
    assert "utilisation" in completed("plot", "small.toml", "--metric", "util")
    assert completed("plot", "none.toml", "--metric", "util") == []
    assert cli("study", small, "--replications", 2, "--out", "o").code == 0
    assert "links.bottleneck.utilisation" in completed("plot", "o", "--metric", "links.")


MANY = 'duration = "20 ms"\nlinks.l = { rate = "10 Mbit/s", delay = "1 ms" }\n' + "".join(
    f'[groups.g{i}]\nusers = 1\npath = ["l"]\ntraffic = {{ kind = "bulk" }}\n' for i in range(250)
)


def test_many_groups_do_not_fill_the_screen(cli: Cli, work: Path) -> None:
    (work / "many.toml").write_text(MANY)
    for command, tables in (("run", 2), ("check", 1)):
        done = cli(command, "many.toml")
        assert done.code == 0
        assert "The first 200 of 250 " in done.out
        assert len(re.findall(r"(?m)^ *g\d+ ", done.out)) == 200 * tables


def test_what_many_groups_cost_grows_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is copied, and a link looked at, as often for 250 groups as for one."""
    copies = 0
    tree = Scenario.tree

    def counted(self: Scenario) -> Any:
        nonlocal copies
        copies += 1
        return tree.__get__(self)

    monkeypatch.setattr(Scenario, "tree", property(counted))
    scenario = Scenario(tomllib.loads(MANY))
    looked = 0
    around = Outline(scenario)
    crossing = around.crossing

    def watched(way: Way) -> list[Source]:
        nonlocal looked
        looked += 1
        return crossing(way)

    monkeypatch.setattr(around, "crossing", watched)
    notes.of_scenario(scenario, around)
    assert copies <= 3
    assert looked <= 10


def test_a_list_of_too_many_points_is_refused_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: object) -> str:
        raise AssertionError("a label was made")

    monkeypatch.setattr(sweep, "label_of", never)
    tree = tomllib.loads(MANY) | {"sweep": {"links": {"l": {"delay": ["1 ms"] * 100_001}}}}
    found = sweep.expand(Scenario(tree), {})
    assert [path for path, _ in found.errors] == ["sweep.links.l.delay"]
    assert "makes 100,001 points; the most is 100,000" in found.errors[0][1]
    assert sweep._long({"links.l.delay": ["1 ms"] * sweep.MOST_POINTS}) == []


def test_an_error_beside_the_sweep_keeps_its_path(cli: Cli, work: Path) -> None:
    text = BASE.replace("users = 1", "users = -1") + '[sweep]\n"links.l.delay" = ["1 ms", "2 ms"]\n'
    (work / "beside.toml").write_text(text)
    said = refused(cli, "study", "beside.toml")
    assert "groups.g.users" in said
    assert "sweep" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are no bytes elsewhere: run it on Linux")
def test_names_of_files_that_are_no_utf8(work: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """They work, and what is no letter of them is shown by its number."""
    odd = os.fsdecode(b"f\xff")
    series = '\n[record]\nseries = [{ of = "links.bottleneck.queue.packets", every = "100 ms" }]\n'
    (work / f"{odd}.toml").write_text(SMALL + series, encoding="utf-8")
    monkeypatch.setenv("EVENFLOW_STORE", os.fsdecode(b"x\xffy"))
    for command in (
        ("check", f"{odd}.toml"),
        ("run", f"{odd}.toml", "--out", "o"),
        ("run", f"{odd}.toml", "--out", odd),
        ("study", f"{odd}.toml", "--replications", 2),
        ("plot", f"{odd}.toml"),
        ("plot", f"out/{odd}"),
        ("plot", odd),
        ("trace", f"{odd}.toml", "--json"),
        ("theory", f"{odd}.toml", "--out", f"out/{odd}"),
    ):
        done = cli(*command)
        assert done.code == 0, (command, done.err)
    assert (work / os.fsdecode(b"x\xffy") / "runs.sqlite3").exists()
    assert "f\\xff.toml" in (work / "out" / odd / "report.html").read_text(encoding="utf-8")
    gone = cli("run", f"{odd}{odd}.toml")
    assert gone.code == 2
    assert gone.err.startswith("evenflow: f\\xfff\\xff.toml: 1 error")


@pytest.mark.slow("starts processes that draw", only="^(?!.*module)")
@pytest.mark.parametrize("backend", ["nosuch", "module://nosuch", "qtagg"])
def test_a_backend_that_matplotlib_does_not_know(work: Path, backend: str) -> None:
    """Figures go to files: what shows them on a screen is not asked for."""
    (work / "small.toml").write_text(SMALL, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "evenflow", "plot", "small.toml"],
        env=environment(MPLBACKEND=backend),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- Names, settings and limits of the surroundings ----------------------------------------------------------------

ODD = "a\x1b[31m\u202eb"


@pytest.mark.parametrize("command", [("run", "--plot"), ("study", "--replications", "1"), ("trace",)])
def test_names_of_files_do_nothing_to_the_terminal(cli: Cli, work: Path, command: tuple[str, ...]) -> None:
    (work / f"{ODD}.toml").write_text(SMALL, encoding="utf-8")
    done = cli(command[0], f"{ODD}.toml", *command[1:])
    assert done.code == 0
    assert "a\\x1b[31m\\x202eb" in done.out
    assert not re.search("[\x1b\u202e]", done.out + done.err)


def test_messages_of_the_python_api_have_no_control_characters(work: Path) -> None:
    scenario = ef.Scenario(tomllib.loads(SMALL))
    record = scenario.run(1)
    for call in (
        lambda: ef.load(f"{ODD}.toml"),
        lambda: ef.open(ODD),
        lambda: record.metric(ODD),
        lambda: record.arrays(ODD),
        lambda: ef.describe(ODD),
        lambda: scenario.set(f'links."{ODD}".rate', "1 Mbit/s").check(),
        lambda: scenario.set("links.bottleneck.rate", ODD).check(),
    ):
        with pytest.raises((ef.EvenflowError, KeyError)) as caught:
            call()
        assert re.search(r"\\(x1b|u001B)\[31m", str(caught.value))
        assert not re.search("[\x1b\u202e]", str(caught.value))


def test_direction_marks_of_titles_are_not_in_pages_and_tables(work: Path) -> None:
    scenario = ef.Scenario(tomllib.loads(SMALL)).set("title", "a\u202eb").set("sweep", {"groups.heavy.users": [1]})
    frame = pl.DataFrame({"a\u2066": ["x\u202ey", "Persian \u0645\u06cc\u200c\u062f"]})
    text = csv_bytes(frame).decode()
    assert text == "a\\x2066\nx\\x202ey\nPersian \u0645\u06cc\u200c\u062f\n"
    assert "\u202e" not in view.page(scenario.unset("sweep").run(1))


def test_a_tilde_is_the_home_folder(cli: Cli, small: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "home").mkdir()
    monkeypatch.setenv("HOME", str(work / "home"))
    monkeypatch.setenv("EVENFLOW_STORE", "~/kept")
    assert cli("study", small, "--replications", 1, "--out", "~/out").code == 0
    assert {path.name for path in (work / "home").iterdir()} == {"kept", "out"}
    assert not (work / "~").exists()
    done = cli("run", small, "--out", "~no-such-user/out")
    assert done.code == 2
    assert "there is no such home folder" in done.err


@pytest.mark.skipif(os.name == "nt", reason="limits of other systems differ: run it on Linux")
@pytest.mark.parametrize(
    ("memory", "files", "says"),
    [
        (410_000_000, -1, "may use 410 MB of address space: raise the limit (ulimit -v)."),
        (-1, 12, "may open 12 files: raise the limit (ulimit -n)."),
        (-1, 1024, "A defect of Evenflow"),
    ],
)
def test_a_limit_of_the_process_is_no_defect(
    cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, memory: int, files: int, says: str
) -> None:
    limits = {commands.resource.RLIMIT_AS: memory, commands.resource.RLIMIT_NOFILE: files}
    monkeypatch.setattr(commands.resource, "getrlimit", lambda limit: (limits[limit], -1))

    def broken(path: Path) -> Scenario:
        raise ImportError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(Scenario, "load", broken)
    done = cli("run", small)
    assert done.code == 1
    assert says in done.err
    assert "failed to map segment" in done.err


@pytest.mark.parametrize("value", ["0", "-1", "two", ""])
def test_a_number_of_threads_that_is_none(cli: Cli, small: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", value)
    done = cli("study", small)
    assert done.code == 2
    assert f"POLARS_MAX_THREADS is “{value}”. Write a whole number from 1" in done.err
