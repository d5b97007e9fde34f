"""What the fuzzer found stays found: its files, its guard, and the sentences that panics become."""

from __future__ import annotations

import importlib
import json
import random
import resource
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow import _core
from evenflow.run import engine
from evenflow.scenario import scenario as scenarios
from evenflow.scenario.sweep import expand

FILES = sorted((ROOT / "tests/fuzz/regressions").glob("*.toml"))


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    monkeypatch.syspath_prepend(ROOT / "benches")
    monkeypatch.setenv("EVENFLOW_STORE", "store")  # what a case sets is taken back
    return importlib.import_module("fuzz")


def _marked(path: Path) -> Any:
    """A file whose first line says `open` fails still; mended, it must say so no more."""
    reason = path.read_bytes().decode("utf-8", "replace").splitlines()[0].removeprefix("# ")
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason.startswith("open: ") else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Any]]:
    """The worker of the first test, which serves all."""
    made: list[Any] = []
    yield made
    for worker in made:
        worker.close()


@pytest.mark.parametrize("path", [_marked(path) for path in FILES])
def test_what_was_found_stays_mended(fuzz: Any, workers: list[Any], path: Path) -> None:
    if not workers:
        workers.append(fuzz.Worker())
    found = workers[0].raw(path.read_bytes().decode("utf-8", "surrogateescape"))
    assert not found.startswith("FAILED"), found


def test_a_case_depends_on_seed_and_number_alone(fuzz: Any) -> None:
    trees = fuzz.bases()
    first = [fuzz.generate(trees, 7, number) for number in range(50)]
    assert first == [fuzz.generate(trees, 7, number) for number in range(50)]
    assert first != [fuzz.generate(trees, 8, number) for number in range(50)]


def test_the_minimiser_keeps_what_fails(fuzz: Any) -> None:
    text = 'title = "long"\n[a]\nb = 1\nc = 2\n'
    smaller = fuzz.minimise(text, "FAILED: c", lambda said: "FAILED: c" if '"c" = 2' in said else "ran")
    assert '"c" = 2' in smaller
    assert "title" not in smaller
    assert '"b"' not in smaller


def test_the_minimiser_makes_values_simpler(fuzz: Any) -> None:
    def run(text: str) -> str:
        tree = tomllib.loads(fuzz.ways.split(text)[1])
        users, delay = tree.get("users", 0), tree.get("delay", "")
        failed = users > 9 and delay.endswith(" ms") and len(tree.get("path", [])) > 1
        return "FAILED: x" if failed else "ran"

    text = 'users = 4000\ndelay = "250 ms"\npath = ["a", "b", "c", "d", "e"]\n[more]\nx = 1\n'
    smaller = tomllib.loads(fuzz.minimise(text, "FAILED: x", run))
    assert 9 < smaller["users"] < 20
    assert smaller["delay"] == "0 ms"
    assert len(smaller["path"]) == 2
    assert "more" not in smaller


def test_the_minimiser_halves_what_does_not_parse(fuzz: Any) -> None:
    text = "".join(f"line{n} = {n}\n" for n in range(40)) + "a = " + "[" * 300 + "x\n"
    smaller = fuzz.minimise(text, "FAILED: x", lambda said: "FAILED: x" if said.count("[") > 4 else "ran")
    assert smaller.count("[") == 5
    assert len(smaller) < 10


def test_the_minimiser_takes_steps_and_words_out(fuzz: Any) -> None:
    steps = [["@terminal", "ascii"], ["check", "fuzz.toml"], ["run", "fuzz.toml", "--json", "--set", "a=1"]]
    text = fuzz.ways.join(steps, "a = 1\nb = 2\n")
    smaller = fuzz.minimise(text, "FAILED: x", lambda said: "FAILED: x" if '"run"' in said and "b" in said else "ran")
    assert fuzz.ways.split(smaller)[0] == [["run", "fuzz.toml"]]


def test_failures_of_one_class_differ_in_numbers(fuzz: Any) -> None:
    assert fuzz.known.class_of("FAILED: 12 MiB") == fuzz.known.class_of("FAILED: 7 MiB")
    assert fuzz.known.class_of("FAILED: run: KeyError") != fuzz.known.class_of("FAILED: run: TypeError")


def test_what_is_known_is_no_failure(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.known, "KNOWN", (("run: Key", "not mended"),))
    assert fuzz.known.judged("FAILED: run: KeyError") == "known: not mended"
    assert fuzz.known.judged("FAILED: run: TypeError") == "FAILED: run: TypeError"
    assert fuzz.known.judged("ran") == "ran"


# --- metrics


def test_a_metric_that_is_no_number_or_no_share_is_seen(fuzz: Any) -> None:
    assert list(fuzz.senseless({"links": {"l": {"utilisation": 0.5, "rate": 3.0}}})) == []
    assert len(list(fuzz.senseless({"links": {"l": {"utilisation": 1.5}}, "g": [float("nan")]}))) == 2


@pytest.mark.parametrize(
    ("place", "value", "is_sense"),
    [
        ("groups.G.retransmits", -1, False),
        ("groups.G.loss_ratio", 5.0, True),
        ("groups.G.window_at_floor", 1.1, False),
        ("groups.G.conex.owed.loss", -3, True),
        ("groups.G.conex.owed.mark", -3, True),
        ("groups.G.conex.told.mark.packets", -3, False),
        ("links.L.drops.limit", -1, False),
        ("links.L.reverse.utilisation", 1.1, False),
        ("links.L.queue.probability", 1.1, False),
        ("links.L.queue.leaves.tokens", -5.0, True),
        ("stages.S.tokens", -5.0, True),
        ("stages.S.groups.G.users_tokens", [-5.0], True),
        ("stages.S.positive_fraction", 1.1, False),
        ("stages.S.downstream_congestion", -0.1, True),
        ("stages.S.passed_packets", -1, False),
    ],
)
def test_ranges_are_those_of_the_descriptions(fuzz: Any, place: str, value: object, is_sense: bool) -> None:
    record: Any = value
    for part in reversed(place.split(".")):
        record = {part: record}
    assert (list(fuzz.senseless(record)) == []) == is_sense


def test_nothing_exceeds_the_longest(fuzz: Any) -> None:
    assert list(fuzz.senseless({"completion_s_mean": 1.0, "completion_s_p99": 2.004, "completion_s_max": 2.0}))
    assert not list(fuzz.senseless({"completion_s_mean": 1.0, "completion_s_p95": 2.004, "completion_s_max": 2.0}))
    assert not list(fuzz.senseless({"completion_s_mean": None, "completion_s_max": None}))


# --- ways in and out


def test_texts_keep_their_steps(fuzz: Any) -> None:
    steps = [["run", "fuzz.toml", "--set", "a=\x1b\n\udcff"], ["@json", "o/study.json", 3, 10**400]]
    text = fuzz.ways.join(steps, "a = 1\n# b\n")
    assert fuzz.ways.split(f"# a reason\n{text}") == (steps, "# a reason\na = 1\n# b\n")
    assert fuzz.ways.split("#$ no step\n") == ([], "#$ no step\n")


def test_odd_values_are_written_as_toml(fuzz: Any) -> None:
    tree = {"a": fuzz.ways.ODD, "b \x7f": {"\u202e": [float("inf"), "\U0001f600\x1b"]}}
    read = tomllib.loads(fuzz.ways.toml(tree))
    assert len(read["a"]) == len(fuzz.ways.ODD)
    assert read["b \x7f"] == {"\u202e": [float("inf"), "\U0001f600\x1b"]}
    assert tomllib.loads(fuzz.ways.toml(read))["b \x7f"] == read["b \x7f"]


def test_sweeps_are_of_every_form(fuzz: Any) -> None:
    tree = fuzz.bases()[0]
    made = [fuzz.ways.sweep(tree, random.Random(seed), seed % 2 == 0) for seed in range(300)]
    forms = {name for one in made for name in ("together", "cases", "replications") if name in one}
    assert forms == {"together", "cases", "replications"}
    written = [fuzz.ways.toml({"sweep": one}) for one in made]
    for odd in ("1979-05-27", "inf", "0xffff"):
        assert any(odd in text for text in written)
    assert any(isinstance(value, dict) and "from" in value for one in made for value in one.values())
    accepted = 0
    for one in made[::2]:
        done = expand(ef.Scenario({**tree, "sweep": one}), {})
        accepted += not done.errors
    assert accepted > 100


@pytest.mark.slow("starts processes")
def test_a_share_of_the_cases_goes_through_files_and_commands(fuzz: Any) -> None:
    trees = fuzz.bases()
    steps = [step for number in range(800) for step in fuzz.ways.split(fuzz.generate(trees, 1, number))[0]]
    first = {step[0] for step in steps}
    assert {"check", "run", "study", "plot", "claims", "@kept", "@json", "@cell", "@bytes", "@row"} <= first
    assert any("--set" in step for step in steps)
    assert any("--json" in step for step in steps)


def says(out: str = "", err: str = "", code: int = 0) -> Callable[[Any], int]:
    def invoke(_: Any) -> int:
        print(out, end="")
        print(err, end="", file=sys.stderr)
        return code

    return invoke


@pytest.mark.parametrize(
    ("invoke", "why"),
    [
        (says(err="evenflow: A defect of Evenflow: KeyError: 'x'.", code=1), "A defect of Evenflow: KeyError"),
        (says(err="This is a defect; please report it.", code=1), "This is a defect"),
        (says(code=2), "without a word"),
        (says(err="evenflow: no", code=3), "exit code 3"),
        (says(err="evenflow: no", code=139), "exit code 139"),
        (says(out="\x1b[31m"), "U\\+001B on the screen, in output"),
        (says(err="a\u202eb", code=2), "U\\+202E on the screen, in errors"),
        (says(err="x" * 3000, code=2), "3000 letters"),
        (says(out='{"a": NaN}'), "NaN is no JSON"),
        (says(out="{"), "does not parse"),
        (says(err="evenflow: no", out="{", code=2), "does not parse"),
    ],
)
def test_what_a_command_may_not_do_is_seen(
    fuzz: Any, monkeypatch: pytest.MonkeyPatch, invoke: Callable[[Any], int], why: str
) -> None:
    monkeypatch.setattr("evenflow.cli.invoke", invoke)
    with pytest.raises(fuzz.ways.Wrong, match=why):
        fuzz.ways.command(["run", "x.toml", "--json"] if "JSON" in why or "parse" in why else ["run", "x.toml"])


def test_an_exception_that_escapes_a_command_is_seen(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> int:
        raise SystemExit(3)

    monkeypatch.setattr("evenflow.cli.invoke", broken)
    with pytest.raises(fuzz.ways.Wrong, match="SystemExit escapes: 3"):
        fuzz.ways.command(["run", "x.toml"])


@pytest.mark.parametrize("what", ["render", "expand", "load"])
def test_what_a_file_may_not_do_is_seen(fuzz: Any, monkeypatch: pytest.MonkeyPatch, work: Path, what: str) -> None:
    def broken(*_: Any) -> Any:
        raise RecursionError("deep")

    text = fuzz.ways.join([["check", "fuzz.toml"]], fuzz.ways.KEPT)
    assert fuzz.ways.outcome(text, work / "w", lambda _: None) == "ways"
    if what == "render":
        monkeypatch.setattr("evenflow.scenario.paths.render", lambda path: "links.l")
    elif what == "expand":
        monkeypatch.setattr("evenflow.scenario.sweep.expand", broken)
    else:
        monkeypatch.setattr("evenflow.scenario.scenario.Scenario.load", broken)
    found = fuzz.ways.outcome(text, work / "w", lambda _: None)
    assert found.startswith("FAILED: library: "), found


@pytest.mark.slow("starts processes")
def test_a_command_that_hangs_or_dies_is_seen(fuzz: Any, work: Path) -> None:
    """Its stages are told before they begin, so that each has the time of a case."""
    stages: list[str] = []
    text = fuzz.ways.join([["@kept"], ["plot", "o", "--out", "f.csv"], ["claims", "wtp"]], fuzz.ways.KEPT)
    assert fuzz.ways.outcome(text, work / "w", stages.append) == "ways"
    assert stages == ["importing", "way plot", "way claims"]


def test_every_place_of_a_document_is_reached_once(fuzz: Any) -> None:
    document = {"rows": [{"a": 1}, {"a": 2}, {"b": 3}], "n": 1}
    made = [fuzz.ways.edited(document, number, "gone") for number in range(5)]
    assert len({json.dumps(one) for one in made}) == 5
    assert document["n"] == 1
    assert fuzz.ways.edited(document, 0, 5) == {"rows": 5, "n": 1}
    assert fuzz.ways.edited(document, ["rows", 1, "a"], 5)["rows"] == [{"a": 1}, {"a": 5}, {"b": 3}]
    assert fuzz.ways.edited(3, 0, 5) == 5


def test_damage_changes_what_was_kept(fuzz: Any, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz.ways.keep(work / "kept")
    steps = [
        (["@json", "o/study.json", 0, "gone"], "o/study.json"),
        (["@json", "out/wtp/ledger.json", 0, None], "out/wtp/ledger.json"),
        (["@cell", "o/records.parquet", "record", 3, None], "o/records.parquet"),
        (["@cell", "o/records.parquet", "seed", "gone"], "o/records.parquet"),
        (["@bytes", "r/record.json", 0.5, "ff00"], "r/record.json"),
        (["@row", "document", "x"], "store/runs.sqlite3"),
        (["@row", "seed", "gone"], "store/runs.sqlite3"),
    ]
    (work / "case").mkdir()
    monkeypatch.chdir(work / "case")
    for step, name in steps:
        shutil.rmtree(work / "case" / "store", ignore_errors=True)
        fuzz.ways.damage(["@kept"], work / "kept")
        before = (work / "kept" / name).read_bytes()
        assert Path(name).read_bytes() == before
        fuzz.ways.damage(step, work / "kept")
        written = b"".join(path.read_bytes() for path in Path().glob(name + "*"))
        assert written != before, step


# --- what is mended


def test_a_panic_is_a_sentence_with_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def broken(*_: Any) -> None:
        raise PanicException("an index")

    scenario = ef.Scenario.load(ROOT / "examples/scenarios/newreno-droptail.toml")
    monkeypatch.setattr(_core, "run", broken)
    with pytest.raises(ef.EvenflowError, match="seed 41: an index"):
        engine.execute(scenario.to_json(), 41)


def test_memory_obeys_the_limit_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    limit = taken + 50 * 2**20
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    free = scenarios.available_memory()
    assert free is not None
    assert 0 < free <= 60 * 2**20
    with pytest.raises(ef.EvenflowError, match="are free here"):
        scenarios.require_bytes(2**30)
