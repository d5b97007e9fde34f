"""Fixtures: a clean working folder, the command line in this process, small scenarios, and the stand-in core."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import evenflow
import fake_core
import pytest
from evenflow import papers
from evenflow.mechanism import schema
from evenflow.paper import Paper
from evenflow.run import engine, store
from evenflow.scenario import registry
from evenflow.show import report

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent

SMALL = """\
title = "Two users at one link"
duration = "4 s"
warmup = "1 s"

[links.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "24 packets" }

[groups.heavy]
users = 1
path = ["bottleneck"]
traffic = { kind = "bulk", flows = 4, start = { uniform = ["0 s", "0.5 s"] } }
tcp = { congestion_control = "newreno", stack = "ns3.26" }

[groups.light]
users = 2
path = ["bottleneck"]
traffic = { kind = "bulk", flows = 1, start = { uniform = ["0 s", "0.5 s"] } }
tcp = { congestion_control = "newreno", stack = "ns3.26" }
"""

FAKE = """\
title = "Not a network"
duration = "2 s"

[links.bottleneck]
delay = "5 ms"
"""


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`slow("reason", only="a|b")` leaves cases whose name has neither a nor b in `make test`."""
    for item in items:
        for mark in [mark for mark in item.own_markers if mark.name == "slow"]:
            if not (mark.args and isinstance(mark.args[0], str)):
                raise pytest.UsageError(f'{item.nodeid}: write why it is slow: pytest.mark.slow("reason")')
            if not re.search(mark.kwargs.get("only", ""), item.name):
                item.own_markers.remove(mark)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_STORE", raising=False)
    monkeypatch.delenv("EVENFLOW_DEBUG", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study writes no figures, which take most of its time, unless its test has the mark `figures`."""
    if request.node.get_closest_marker("figures") is None:
        monkeypatch.setattr(report, "study_figures", lambda *_: report.StudyFigures([], []))


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process."""
    from evenflow.cli import invoke

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        code = invoke([str(a) for a in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Done(code, out, err)

    return call


@pytest.fixture
def small(work: Path) -> Path:
    """A scenario file for the real engine: about 10 ms a run."""
    path = work / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in core instead of the real one."""

    def forget() -> None:
        engine._decoded.cache_clear()
        store._engine.cache_clear()
        schema.cache_clear()
        registry.by_kind.cache_clear()

    monkeypatch.setitem(sys.modules, "evenflow._core", fake_core)
    monkeypatch.setattr(evenflow, "_core", fake_core, raising=False)
    fake_core.calls.clear()
    fake_core.clear_stop()
    forget()
    yield fake_core
    forget()


@pytest.fixture
def fake_file(work: Path) -> Path:
    """A scenario file for the stand-in core."""
    path = work / "fake.toml"
    path.write_text(FAKE, encoding="utf-8")
    return path


def announce(monkeypatch: pytest.MonkeyPatch, paper: Paper) -> ModuleType:
    """A module with a paper, as if its package were installed."""
    module = ModuleType(f"paper_{paper.key}")
    module.__spec__ = ModuleSpec(module.__name__, None)
    module.PAPER = paper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = papers.installed() | {paper.key: EntryPoint(paper.key, module.__name__, papers.GROUP)}
    monkeypatch.setattr(papers, "installed", lambda: found)
    return module


def environment(**more: str) -> dict[str, str]:
    """The environment of a subprocess: this checkout's package, and the tests' stand-ins."""
    search = os.pathsep.join([str(HERE), str(ROOT / "python"), str(ROOT / "papers"), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENFLOW")}
    return {**kept, "PYTHONPATH": search, **more}


def spawn(*arguments: object, fake: bool = False, cwd: Path | None = None, **more: str) -> subprocess.Popen[str]:
    """The command line in a process of its own, on the stand-in core if wanted."""
    command = [sys.executable, "-m", "fake_cli" if fake else "evenflow", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=cwd, env=environment(**more), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
