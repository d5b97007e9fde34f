"""Result folders are whole or refused: two writers, an end at any instant, any changed digit; files named by --out."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import SMALL, Cli, spawn
from evenflow.errors import StoreError, UsageError
from evenflow.run import saved
from evenflow.run.files import prepare, refuse_input, write_out

SERIES = '[record]\nseries = [{ of = "groups.heavy.users[0].flows[0].window", every = "50 ms" }]\n'
posix = pytest.mark.skipif(os.name != "posix", reason="pipes with names: run it on Linux or macOS")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of a study and a run, both with series, and of another study."""
    from evenflow.cli import invoke

    above = tmp_path_factory.mktemp("made")
    before = Path.cwd()
    os.chdir(above)
    try:
        Path("s.toml").write_text(SMALL + SERIES + "[sweep]\nreplications = 2\n")
        Path("other.toml").write_text(SMALL.replace("10 Mbit/s", "40 Mbit/s") + "[sweep]\nreplications = 2\n")
        for command in ("study s.toml --out study", "study other.toml --out other", "run s.toml --out run --no-view"):
            assert invoke(command.split()) == 0
    finally:
        os.chdir(before)
    return above


@pytest.fixture
def folders(made: Path, work: Path) -> Path:
    shutil.copytree(made, work, dirs_exist_ok=True)
    return work


def numbers(folder: Path) -> list[Any]:
    found = ef.open(folder)
    if isinstance(found, ef.Record):
        return [found.json, found.record_hash, found.raw_series]
    assert found.origin is not None
    runs = [[run.labels, run.seed, run.json, run.record.record_hash, run.record.raw_series] for run in found]
    return [found.origin.scenario.tree, found.origin.seeds, found.origin.engine, runs]


def test_an_untouched_folder_is_opened(folders: Path, made: Path) -> None:
    for name in ("study", "run", "other"):
        assert numbers(folders / name) == numbers(made / name)
        assert not (folders / name / saved.LOCK).exists()


@pytest.mark.parametrize("name", ["study", "run"])
def test_no_flipped_bit_is_believed(folders: Path, name: str) -> None:
    """In every file that the head names, in the head, and in series that the store keeps."""
    dice = random.Random(3)
    whole = numbers(folders / name)
    files = [path for path in saved.sealed(folders / name) if path.stat().st_size]
    assert {"study": 9, "run": 3}[name] <= len(files)
    files += (folders / "out" / "store" / "series").rglob("*.npz") if name == "study" else []
    refused = harmless = 0
    for path in files:
        data = path.read_bytes()
        for _ in range(60 if path.suffix == ".json" else 12):
            at, bit = dice.randrange(len(data)), dice.randrange(8)
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
            try:
                assert numbers(folders / name) == whole, f"bit {bit} of byte {at} of {path.name}"
                harmless += 1
            except StoreError as error:
                refused += path.name in str(error)
        path.write_bytes(data)
    assert refused > 80
    assert harmless < refused / 10  # white space of JSON
    assert numbers(folders / name) == whole


def test_a_changed_digit_is_refused(folders: Path, cli: Cli) -> None:
    """With its hash left as it was, as a hand would do it."""
    record = folders / "run" / "record.json"
    hops = ef.open(folders / "run").json["packet_hops"]  # type: ignore[union-attr]
    record.write_text(record.read_text().replace(f'"packet_hops": {hops}', f'"packet_hops": {hops + 1}'))
    done = cli("plot", "run", "--out", "x.csv")
    assert done.code == 1
    assert "record.json is damaged (its digest differs). Run the same command again." in done.err
    (folders / "study" / "results.csv").unlink()
    done = cli("plot", "study", "--out", "x.csv")
    assert done.code == 1
    assert "results.csv is missing or was changed: its digest differs from that in study.json." in done.err


def test_files_of_two_studies_are_refused(folders: Path) -> None:
    shutil.copy(folders / "other" / "study.json", folders / "study")
    with pytest.raises(StoreError, match=r"digest differs from that in study\.json"):
        ef.open(folders / "study")


def test_an_unreadable_file_is_not_called_damaged(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def fails(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).endswith("records.parquet"):
            raise OSError(5, "Input/output error", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(StoreError, match=r"records\.parquet cannot be read: Input/output error\."):
        ef.open(folders / "study")


def test_folders_of_earlier_versions_are_refused(folders: Path) -> None:
    for name, head in (("study", "study.json"), ("run", "record.json")):
        path = folders / name / head
        document = json.loads(path.read_text())
        kept = {key: value for key, value in document.items() if key not in ("sha256", "files", "format")}
        path.write_text(json.dumps({**kept, "format": 1}))
        with pytest.raises(StoreError, match=r"no digests \(format 1; this version reads format 2\).*Run the same"):
            ef.open(folders / name)


class Ended(BaseException):
    """The end of the process."""


@pytest.mark.slow("runs and draws for each instant", only="run")
@pytest.mark.parametrize("kind", ["study", "run"])
def test_an_end_at_any_instant_leaves_a_whole_folder_or_a_refused_one(
    folders: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before the nth file is renamed, removed or synced."""
    from evenflow.cli import invoke

    (folders / "b.toml").write_text(SMALL.replace("10 Mbit/s", "40 Mbit/s") + "[sweep]\nreplications = 1\n")
    command = [kind, "b.toml", *(["--no-view"] if kind == "run" else [])]
    assert invoke([*command, "--out", "after"]) == 0  # and its runs are in the store
    before, after = numbers(folders / kind), numbers(folders / "after")
    seen = set()
    for nth in range(1, 200):
        shutil.rmtree(folders / "place", ignore_errors=True)
        shutil.copytree(folders / kind, folders / "place")
        left = [nth]

        def ends(real: Any, left: list[int] = left) -> Any:
            def call(path: Any, *arguments: Any, **more: Any) -> Any:
                if "place" in str(path) or isinstance(path, int):
                    left[0] -= 1
                    if left[0] <= 0:
                        raise Ended
                return real(path, *arguments, **more)

            return call

        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "fsync"):
                patch.setattr(os, name, ends(getattr(os, name)))
            with contextlib.suppress(Ended):
                invoke([*command, "--out", "place"])
        try:
            found = numbers(folders / "place")
            if kind == "run":  # not measured
                for one in (found, before, after):
                    one[0] = {name: value for name, value in one[0].items() if name not in ("wall_s", "cpu_s")}
            assert found in (before, after)
            seen.add("before" if found == before else "after")
        except (StoreError, UsageError):
            seen.add("refused")
        if left[0] > 0:
            break
    assert nth > 10
    assert seen == {"before", "refused", "after"}


@pytest.mark.slow("many pairs of processes")
def test_two_studies_at_once_on_one_folder(work: Path) -> None:
    for rate in (10, 40):
        text = SMALL.replace("10 Mbit/s", f"{rate} Mbit/s")
        (work / f"{rate}.toml").write_text(f"{text}[sweep]\nreplications = 2\n")
    for _ in range(3):
        both = [spawn("study", f"{rate}.toml", "--out", "o", "--quiet", cwd=work) for rate in (10, 40)]
        for process in both:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        table = ef.open(work / "o")
        assert isinstance(table, ef.Table)
        assert table.origin is not None
        rate = float(table.origin.scenario.tree["links"]["bottleneck"]["rate"].split()[0])
        for run in table:
            through = sum(g["users"] * g["throughput_bps"] for g in run.json["groups"].values()) / 1e6
            assert 0.8 * rate < through < 1.01 * rate


def test_a_second_command_waits_and_gives_up(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "PATIENCE_S", 0.05)
    with saved.replacing(folders / "study"), pytest.raises(StoreError, match="Another command writes its results"):
        saved.replacing(folders / "study").__enter__()


def test_a_run_in_the_folder_of_a_study_replaces_it(folders: Path, cli: Cli) -> None:
    assert cli("run", "s.toml", "--out", "study", "--no-view").code == 0
    assert isinstance(ef.open(folders / "study"), ef.Record)


def test_an_unfinished_folder_is_said_to_be_one(folders: Path) -> None:
    (folders / "study" / "study.json").unlink()
    with pytest.raises(StoreError, match="interrupted or still runs"):
        ef.open(folders / "study")


def test_figures_are_drawn_again_into_the_folder(folders: Path, cli: Cli) -> None:
    for name in ("study", "run"):
        assert cli("plot", name).code == 0
        assert cli("plot", name).code == 0


# --- files named by --out


@posix
@pytest.mark.parametrize("command", ["trace s.toml", "plot run"])
def test_a_pipe_is_written_through(folders: Path, command: str) -> None:
    pipe = folders / "p.svg"
    os.mkfifo(pipe)
    process = spawn(*command.split(), "--out", pipe, cwd=folders)
    data = pipe.read_bytes()
    assert process.wait() == 0
    assert len(data) > 100
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_standard_output_and_devices_stay(folders: Path) -> None:
    command = [sys.executable, "-m", "evenflow", "trace", "s.toml", "--out"]
    piped = subprocess.run([*command, "/dev/stdout"], cwd=folders, capture_output=True, check=True)
    assert piped.stdout[:4] == b"\x0a\x0d\x0d\x0a"  # of a pcapng file
    (folders / "null").symlink_to("/dev/null")
    subprocess.run([*command, "null"], cwd=folders, capture_output=True, check=True)
    assert os.path.islink(folders / "null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_is_written_through(work: Path) -> None:
    (work / "real").mkdir()
    (work / "real" / "file").write_text("old")
    (work / "link").symlink_to(work / "real" / "file")
    write_out(work / "link", b"new")
    assert (work / "real" / "file").read_bytes() == b"new"
    assert (work / "link").is_symlink()


def test_a_folder_is_no_file(work: Path) -> None:
    (work / "folder").mkdir()
    with pytest.raises(UsageError, match="it is a folder; name a file"):
        write_out(work / "folder", b"x")


@pytest.mark.parametrize("out", ["s.toml", "./s.toml", "link"])
def test_the_input_is_not_replaced(folders: Path, cli: Cli, out: str) -> None:
    (folders / "link").symlink_to("s.toml")
    before = (folders / "s.toml").read_bytes()
    done = cli("trace", "s.toml", "--out", out)
    assert done.code == 2
    assert done.err == f"evenflow: --out {Path(out)}: this command reads the file. Name another one.\n"
    assert (folders / "s.toml").read_bytes() == before


def test_a_file_of_the_study_that_is_drawn_is_not_replaced(folders: Path, cli: Cli) -> None:
    done = cli("plot", "study", "--out", "study/results.csv")
    assert done.code == 2
    assert "this command reads the file" in done.err
    assert isinstance(ef.open(folders / "study"), ef.Table)
    refuse_input(folders / "new.csv", [folders / "s.toml"])


@pytest.mark.parametrize("folder", ["/", "//", "/tmp/.."])
def test_results_are_not_written_into_the_root(folders: Path, cli: Cli, folder: str) -> None:
    for command in ("study", "run"):
        done = cli(command, "s.toml", "--out", folder)
        assert done.code == 2
        assert "results need a folder below the root" in done.err
    with pytest.raises(UsageError):
        prepare(Path(folder))


# --- records


def test_a_record_cannot_be_changed(small: Path) -> None:
    record = ef.run(small)
    before = record.metrics()
    rates = list(record.json["groups"]["light"]["users_goodput_bps"])
    tree: Any = record.json
    changes = [
        lambda: tree["groups"].clear(),
        lambda: tree.pop("links"),
        lambda: tree.update(seed=2),
        lambda: tree["groups"]["light"].__setitem__("throughput_bps", 1.0),
        lambda: tree["groups"]["light"]["users_goodput_bps"].__setitem__(0, 1.0),
        lambda: tree["groups"]["light"]["users_goodput_bps"].sort(),
        lambda: tree["groups"].setdefault("more", {}),
        lambda: tree["window_s"].append(1.0),
    ]
    for change in changes:
        with pytest.raises(TypeError, match=r"a record cannot be changed; copy\.deepcopy\(record\.json\) can"):
            change()
    with pytest.raises(AttributeError):
        record.record_hash = "x"  # type: ignore[misc]
    assert record.metrics() == before
    assert record.metric("groups.light.users_goodput_bps[0]") == rates[0]


def test_copies_of_a_record_can_be_changed(small: Path) -> None:
    record = ef.run(small)
    tree = record.json
    for own in (copy.deepcopy(tree), json.loads(json.dumps(tree)), pickle.loads(pickle.dumps(tree))):
        own["groups"]["light"]["users_goodput_bps"][0] = 1.0
        own["groups"].clear()
    assert record.metric("groups.light.users_goodput_bps[0]") != 1.0
    assert record.json == json.loads(record.text)
