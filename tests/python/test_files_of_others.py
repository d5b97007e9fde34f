"""Folders and ledgers that somebody else made or changed: a sentence that names the file, or harmless."""

from __future__ import annotations

import datetime
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import evenflow as ef
import polars as pl
import pytest
from conftest import SMALL, Cli
from evenflow.papers.reproduce import read_shipped
from evenflow.run.files import read_json, read_whole

posix = pytest.mark.skipif(os.name != "posix", reason="pipes with names: run it on Linux or macOS")

ODD: list[Any] = [None, -1, "x\x1b[31m", [], {}, float("inf"), [1, 2], {"a": 1}, True, 10**400, "gone"]


def places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inside:
        yield from places(value, (*above, key))


def changed(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with one value replaced, or taken out."""
    copy = json.loads(json.dumps(tree))
    at = copy
    for key in place[:-1]:
        at = at[key]
    if value == "gone":
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return copy


def mutants(tree: Any, seed: int, most: int) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """One place of each shape, so that a long list does not hide the rest, with an odd value each."""
    shapes: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for place in places(tree):
        shapes.setdefault(tuple("#" if isinstance(key, int) else key for key in place), []).append(place)
    dice = random.Random(seed)
    chosen = dice.sample(sorted(shapes, key=str), min(most, len(shapes)))
    for shape in chosen:
        yield dice.choice(shapes[shape]), dice.choice(ODD)


def harmless(cli: Cli, *arguments: object) -> tuple[int, str]:
    done = cli(*arguments)
    assert "defect" not in done.err, done.err
    assert done.code in (0, 1, 2, 3), done  # 3: --strict
    for text in (done.out, done.err):
        assert all(letter == "\n" or letter.isprintable() for letter in text)
    return done.code, done.err


# --- ledgers


@pytest.fixture(scope="module")
def ledger() -> dict[str, Any]:
    found = read_shipped("abc")
    assert found is not None
    return found


@pytest.fixture
def write(work: Path) -> Callable[[Any], Path]:
    def write(document: Any) -> Path:
        (work / "lo").mkdir(exist_ok=True)
        (work / "lo" / "ledger.json").write_text(json.dumps(document))
        return work / "lo"

    return write


@pytest.mark.slow("reads a whole ledger for each value", only="place[034679]")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("claims", 52, "relaxed"), [1, 2]),
        (("claims", 3, "measured"), float("inf")),
        (("claims", 3, "runs_to_decide"), float("inf")),
        (("claims", 0, "checks"), [1]),
        (("claims", 0, "checks", 0, "ci"), [1]),
        (("claims", 0, "checks", 0, "mean"), 10**400),
        (("claims", 0, "checks", 0, "verdict"), "x"),
        (("scale",), [1, 2]),
        (("sensitivity",), 5),
        (("carried",), {"a": 1}),
    ],
)
def test_a_changed_ledger_is_said(
    cli: Cli, ledger: dict[str, Any], write: Callable[[Any], Path], place: tuple[Any, ...], value: Any
) -> None:
    folder = write(changed(ledger, place, value))
    claim = str(ledger["claims"][place[1]]["id"]) if len(place) > 1 else "c01"
    for more in ([], ["--json"], ["--claim", claim], ["--strict"]):
        code, said = harmless(cli, "claims", "abc", "--out", folder, *more)
        if code not in (0, 3):
            assert code == 1
            assert "ledger.json is not a ledger, or damaged" in said
    assert harmless(cli, "claims", "abc", "--out", folder, "--claim", claim)[0] == 1


@pytest.mark.slow("reads a whole ledger for each of many mutants")
@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_a_ledger(cli: Cli, ledger: dict[str, Any], write: Callable[[Any], Path], seed: int) -> None:
    ways: list[list[str]] = [[], ["--claim", "c13"], ["--json"]]
    for number, (place, value) in enumerate(mutants(ledger, seed, 12)):
        folder = write(changed(ledger, place, value))
        harmless(cli, "claims", "abc", "--out", folder, *ways[(number + seed) % 3])


def test_no_control_character_of_a_ledger_reaches_the_terminal(
    cli: Cli, ledger: dict[str, Any], write: Callable[[Any], Path]
) -> None:
    esc = "x\x1b[31m\x07"
    document = {**ledger, "scale": esc, "title": esc}
    row = {**document["claims"][0], "statement": esc, "source": esc, "apart": esc, "quote": esc}
    folder = write({**document, "claims": [row, *document["claims"][1:]]})
    assert harmless(cli, "claims", "abc", "--out", folder)[0] == 0
    assert harmless(cli, "claims", "abc", "--out", folder, "--claim", row["id"])[0] == 0


def test_a_claim_that_is_not_there_is_no_damage(cli: Cli, ledger: dict[str, Any], write: Callable[[Any], Path]) -> None:
    done = cli("claims", "abc", "--out", write(ledger), "--claim", "c999")
    assert done.code == 2
    assert "There is no claim of abc" in done.err


@posix
def test_a_pipe_or_an_endless_file_is_no_ledger(cli: Cli, work: Path) -> None:
    (work / "lo").mkdir()
    os.mkfifo(work / "lo" / "ledger.json")
    assert "cannot be read: it is no ordinary file." in harmless(cli, "claims", "abc", "--out", "lo")[1]
    (work / "lo" / "ledger.json").unlink()
    (work / "lo" / "ledger.json").symlink_to("/dev/zero")
    assert "cannot be read: it is no ordinary file." in harmless(cli, "claims", "abc", "--out", "lo")[1]
    (work / "lo" / "ledger.json").unlink()
    with (work / "lo" / "ledger.json").open("wb") as file:
        file.truncate(2**24 + 1)
    assert "cannot be read: it has more than 16 MiB." in harmless(cli, "claims", "abc", "--out", "lo")[1]


def test_whole_files(work: Path) -> None:
    (work / "x").write_bytes(b"12345")
    assert read_whole(work / "x", 5) == b"12345"
    with pytest.raises(OSError, match="more than"):
        read_whole(work / "x", 4)
    with pytest.raises(IsADirectoryError):
        read_whole(work)
    for wrong in ("NaN", "-Infinity", "1e400", str(2**64), "[" * 100_000):
        (work / "x").write_text(wrong)
        with pytest.raises((ValueError, RecursionError)):
            read_json(work / "x")
    (work / "x").write_text(f'[{2**64 - 1}, -1e300, "é"]')
    assert read_json(work / "x") == [2**64 - 1, -1e300, "é"]


# --- folders of studies and runs


SWEPT = SMALL + '[sweep]\nreplications = 2\n"links.bottleneck.delay" = ["5 ms", "9 ms"]\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder and a run's."""
    from evenflow.cli import invoke

    above = tmp_path_factory.mktemp("made")
    before = Path.cwd()
    os.chdir(above)
    try:
        Path("s.toml").write_text(SWEPT)
        Path("r.toml").write_text(
            SMALL + '[record]\nseries = [{ of = "groups.heavy.users[0].flows[0].window", every = "50 ms" }]\n'
        )
        assert invoke(["study", "s.toml", "--out", "study"]) == 0
        assert invoke(["run", "r.toml", "--out", "run"]) == 0
    finally:
        os.chdir(before)
    return above


@pytest.fixture
def folder(made: Path, work: Path) -> Path:
    shutil.copytree(made / "study", work / "st")
    shutil.copytree(made / "run", work / "ru")
    return work


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("scenario",), "gone"),
        (("scenario",), None),
        (("scenario", "links"), [[[[[[]]]]]] * 3),
        (("seeds",), 5),
        (("seeds",), [None]),
        (("engine",), 5),
        (("engine",), [5]),
        (("series",), []),
        (("source",), {}),
    ],
)
def test_a_changed_head_of_a_study(cli: Cli, folder: Path, place: tuple[Any, ...], value: Any) -> None:
    head = folder / "st" / "study.json"
    head.write_text(json.dumps(changed(json.loads(head.read_text()), place, value)))
    code, said = harmless(cli, "plot", "st", "--out", "x.csv")
    assert code == 1
    assert "study.json is damaged" in said


def test_a_head_that_is_nested_deep(cli: Cli, folder: Path) -> None:
    head = folder / "st" / "study.json"
    plain = json.loads(head.read_text())
    for text in (
        "[" * 100_000,
        json.dumps({**plain, "scenario": "HERE"}).replace('"HERE"', '{"a":' * 500 + "1" + "}" * 500),
    ):
        head.write_text(text)
        code, said = harmless(cli, "plot", "st", "--out", "x.csv")
        assert code == 1
        assert "study.json is damaged" in said


@pytest.mark.slow("opens a folder for each of many mutants")
def test_mutants_of_a_studys_head(cli: Cli, folder: Path) -> None:
    head = folder / "st" / "study.json"
    plain = json.loads(head.read_text())
    for place, value in mutants(plain, 7, 40):
        text = json.dumps(changed(plain, place, value))
        head.write_text(text)
        assert harmless(cli, "plot", "st", "--out", "x.csv")[0] == (text != json.dumps(plain))


def test_a_study_without_runs_is_refused(cli: Cli, folder: Path) -> None:
    records = folder / "st" / "records.parquet"
    pl.read_parquet(records).head(0).write_parquet(records)
    code, said = harmless(cli, "plot", "st", "--out", "x.csv")
    assert code == 1
    assert "records.parquet is missing or was changed" in said


@pytest.mark.slow("opens a folder for each of many mutants")
def test_mutants_of_records(cli: Cli, folder: Path) -> None:
    records = folder / "st" / "records.parquet"
    frame = pl.read_parquet(records)
    plain = json.loads(frame["record"][0])
    for place, value in mutants(plain, 11, 30):
        text = json.dumps(changed(plain, place, value))
        frame.with_columns(pl.lit(text).alias("record")).write_parquet(records)
        code, said = harmless(cli, "plot", "st", "--out", "x.csv")
        assert code == 1
        assert "records.parquet is missing or was changed" in said


@pytest.mark.parametrize("text", ["{}", "[]", "[" * 100_000, '{"groups": {}}', '{"groups": [], "links": {}}', "NaN"])
def test_a_changed_record_of_a_run(cli: Cli, folder: Path, text: str) -> None:
    (folder / "ru" / "record.json").write_text(text)
    code, said = harmless(cli, "plot", "ru", "--out", "x.csv")
    assert code == 1
    assert "record.json is damaged" in said or "record.json has no digests" in said


@pytest.mark.slow("opens a folder for each of many mutants")
def test_mutants_of_a_runs_record(cli: Cli, folder: Path) -> None:
    record = folder / "ru" / "record.json"
    plain = json.loads(record.read_text())
    for more in ((), ("--metric", "throughput_bps"), ("--metric", "*")):
        for place, value in mutants(plain, 5, 15):
            text = json.dumps(changed(plain, place, value))
            record.write_text(text)
            code, _ = harmless(cli, "plot", "ru", "--out", "x.csv", *more)
            assert code == 1 or text == json.dumps(plain)


def test_changed_series_of_a_run(cli: Cli, folder: Path) -> None:
    series = folder / "ru" / "series.parquet"
    frame = pl.read_parquet(series)
    for wrong in (frame.drop("series"), frame.with_columns(pl.lit("x").alias("value")), frame.rename({"time_s": "t"})):
        wrong.write_parquet(series)
        code, said = harmless(cli, "plot", "ru", "--out", "x.csv")
        assert code == 1
        assert "series.parquet is missing or was changed" in said
    series.write_bytes(series.read_bytes()[:-3])
    assert "series.parquet is missing or was changed" in harmless(cli, "plot", "ru", "--out", "x.csv")[1]


# --- names


@pytest.mark.figures
def test_no_control_character_is_written(cli: Cli, work: Path) -> None:
    evil = json.dumps("x\x1b[31m\x00\x9b")
    text = SMALL.replace('"Two users at one link"', evil)
    text += f'[sweep]\nreplications = 1\n[sweep.cases.{evil}]\n{evil} = {{ "groups.heavy.users" = 1 }}\n'
    (work / "s.toml").write_text(text + '"b" = { "groups.heavy.users" = 2 }\n')
    done = cli("study", "s.toml", "--out", "o")
    assert done.code == 0, done.err
    written = [path for path in (work / "o").iterdir() if path.suffix in (".csv", ".html")]
    assert {path.name for path in written} >= {"results.csv", "summary.csv", "report.html"}
    for path in written:
        assert all(letter == "\n" or ord(letter) > 31 for letter in path.read_text().replace("\t", "")), path
        assert "\x9b" not in path.read_text(), path
    assert "x\\x1b[31m\\x00\\x9b" in (work / "o" / "results.csv").read_text()
    assert cli("run", "s.toml", "--out", "r").code == 0
    assert not {"\x1b", "\0", "\x9b"} & set((work / "r" / "view.html").read_text())


@posix
def test_a_pipe_is_no_manifest(cli: Cli, work: Path) -> None:
    os.mkfifo(work / "film.mpd")
    (work / "s.toml").write_text(SMALL + '[groups.film]\nusers = 1\npath = ["bottleneck"]\n'
                                 'traffic = { kind = "adaptive", ladder = "film.mpd" }\n')  # fmt: skip
    said = harmless(cli, "check", "s.toml")[1]
    assert "film.mpd" in said
    assert "cannot be read: it is no ordinary file." in said


def test_long_names_are_cut_in_messages(cli: Cli, work: Path) -> None:
    (work / "s.toml").write_text(SMALL + f'[groups."{"n" * 100_000}"]\nusers = 0\npath = ["x"]\n')
    said = harmless(cli, "check", "s.toml")[1]
    assert "n" * 120 + "…" in said
    assert len(said) < 3000


def test_one_value_written_in_several_ways_is_one_point(cli: Cli, work: Path) -> None:
    swept = '"groups.light.users" = [1, 2]\n"links.bottleneck.delay" = ["1 ms", "2 ms", "1.0 ms", "0.001 s"]\n'
    (work / "s.toml").write_text(SMALL + "[sweep]\nreplications = 1\n" + swept)
    done = cli("check", "s.toml")
    assert done.code == 2
    assert 'sweep."links.bottleneck.delay"[2]: 1.0 ms and 1 ms are the same links.bottleneck.delay' in done.err
    assert 'sweep."links.bottleneck.delay"[3]: 0.001 s and 1 ms are the same' in done.err
    assert done.err.count("the same") == 2
    (work / "s.toml").write_text(SMALL + "[sweep]\nreplications = 1\n" + swept.replace(', "1.0 ms", "0.001 s"', ""))
    assert cli("check", "s.toml").code == 0


def test_lists_in_step_make_no_point_twice(cli: Cli, work: Path) -> None:
    rows = (
        '[[sweep.together]]\n"groups.light.users" = [1, 2, 1]\n"links.bottleneck.delay" = ["1 ms", "1 ms", "0.001 s"]'
    )
    (work / "s.toml").write_text(SMALL + rows)
    done = cli("check", "s.toml")
    assert done.code == 2
    said = 'sweep.together[0]."groups.light.users"[2]: 1, 0.001 s and 1, 1 ms are the same scenario: one point twice.'
    assert said in done.err
    assert done.err.count("the same") == 1


def test_a_tree_with_a_date_in_its_sweep_runs_and_is_not_written() -> None:
    odd = {"duration": ["1 s", datetime.date(2020, 1, 1), float("inf")]}
    tree = {
        "duration": "1 s",
        "links": {"l": {"rate": "1 Mbit/s"}},
        "groups": {"g": {"users": 1, "path": ["l"], "traffic": {"kind": "bulk"}}},
    }
    swept = ef.Scenario({**tree, "sweep": odd})
    assert swept.run().record_hash == ef.Scenario(tree).run().record_hash
    with pytest.raises(ef.ScenarioError) as odd_leaves:
        swept.to_json()
    assert [place for place, _ in odd_leaves.value.errors] == ["sweep.duration[1]", "sweep.duration[2]"]


def test_scenarios_that_are_equal_have_one_hash_in_python() -> None:
    one = ef.Scenario({"duration": 1, "links": {"a": {"rate": 2.0}, "b": {}}})
    same = ef.Scenario({"links": {"b": {}, "a": {"rate": 2}}, "duration": 1.0})
    assert one == same
    assert len({one, same}) == 1
