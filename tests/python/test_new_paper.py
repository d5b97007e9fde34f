"""`evenflow new paper`: what it writes passes its own test, and is found once its package is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from conftest import ROOT, Cli, environment
from evenflow import UsageError, _core, papers
from evenflow.papers import skeleton


@pytest.mark.slow("runs the tests of a new paper in a process")
def test_the_skeleton_passes_its_own_test(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "paper", "Fair-Shares", "--in", str(tmp_path))
    assert done.code == 0, done.err
    folder = tmp_path / "Fair-Shares"
    for name in (
        "pyproject.toml",
        "README.md",
        "fair_shares/network.py",
        "fair_shares/measures.py",
        "fair_shares/experiments.py",
        "fair_shares/claims.py",
        "fair_shares/choices.toml",
        "fair_shares/claims.toml",
        "fair_shares/history.toml",
        "tests/test_fair_shares.py",
    ):
        assert (folder / name).is_file(), name
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_it_is_well_formatted(tmp_path: Path) -> None:
    skeleton.copy("fair_shares", tmp_path)
    for command in (["check", "--line-length", "120"], ["format", "--check", "--line-length", "120"]):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("abc", "already"),
        ("json", "Python package"),
        ("7up", "no name"),
        ("a b", "no name"),
        ("class", "no name"),
        ("__init__", "no name"),
        ("_x", "no name"),
        ("tests", "Python package"),
    ],
)
def test_names_that_cannot_be_are_refused(cli: Cli, tmp_path: Path, name: str, said: str) -> None:
    done = cli("new", "paper", name, "--in", str(tmp_path))
    assert done.code == 2
    assert said in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(UsageError, match="there already"):
        skeleton.copy("mine", tmp_path)


def test_json(cli: Cli, tmp_path: Path) -> None:
    document = json.loads(cli("new", "paper", "mine", "--in", str(tmp_path), "--json").out)
    assert document["paper"] == "mine"
    assert "mine/claims.toml" in document["files"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A skeleton whose package can be imported and is announced by an entry point."""
    skeleton.copy("fair_shares", tmp_path)
    points = (
        EntryPoint("fair-shares", "fair_shares", papers.GROUP),
        EntryPoint("broken", "fair_shares.nowhere", papers.GROUP),
        EntryPoint("abc", "fair_shares", papers.GROUP),
        *entry_points(group=papers.GROUP),
    )
    monkeypatch.syspath_prepend(str(tmp_path / "fair_shares"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "fair_shares"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(papers, "entry_points", lambda group: points if group == papers.GROUP else ())
    yield tmp_path / "fair_shares" / "fair_shares"
    for name in [name for name in sys.modules if name.partition(".")[0] == "fair_shares"]:
        del sys.modules[name]


def test_an_installed_paper_is_found(cli: Cli, installed: Path) -> None:
    assert papers.load("Fair-Shares").key == "fair_shares"
    assert papers.folder("fair_shares") == installed
    assert papers.folder("abc") == ROOT / "papers" / "evenflow_papers" / "abc"
    listed = {row["key"]: row for row in json.loads(cli("papers", "--json").out)["papers"]}
    assert listed["fair_shares"]["title"] == "The paper's title in a few words"
    assert listed["abc"]["title"].startswith("Menth"), "a key of evenflow-papers is not taken over"
    assert "cannot be imported" in listed["broken"]["title"]
    done = cli("claims", "fair_shares")
    assert done.code == 2
    assert "evenflow reproduce fair_shares" in done.err
    assert cli("claims", "fair_share").code == 2


def test_a_package_that_cannot_be_imported_is_said(cli: Cli, installed: Path) -> None:
    done = cli("reproduce", "broken")
    assert done.code == 1
    assert "cannot be imported" in done.err


@pytest.mark.parametrize("command", [("papers",), ("reproduce", "abc"), ("claims", "abc")])
def test_without_papers_every_command_says_how_to_install_them(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(papers, "entry_points", lambda group: ())
    done = cli(*command)
    listing = command == ("papers",)
    assert done.code == (0 if listing else 2)
    said = done.out if listing else done.err
    assert 'pip install "evenflow[papers]"' in said
    assert "pip install ./papers" in " ".join(said.split())
    assert json.loads(cli("papers", "--json").out) == {"papers": []}


def test_papers_are_listed_without_being_imported() -> None:
    script = (
        "import sys\n"
        "from evenflow import papers\n"
        "print(*papers.installed())\n"
        "print([m for m in sys.modules if m.startswith('evenflow_papers')])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, env=environment(), capture_output=True, text=True)
    keys, imported = done.stdout.splitlines()
    assert {"abc", "conex", "has_shaping", "reecn_lte", "wtp"} <= set(keys.split())
    assert imported == "[]"


def test_the_papers_need_this_version() -> None:
    project = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == _core.__version__
    assert project["dependencies"] == [f"evenflow=={_core.__version__}"]
    folders = {path.parent.name for path in (ROOT / "papers" / "evenflow_papers").glob("*/__init__.py")}
    assert {key: f"evenflow_papers.{key}" for key in folders} == project["entry-points"][papers.GROUP]
