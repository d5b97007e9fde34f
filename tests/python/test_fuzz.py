"""What the fuzzer found stays found: its files, its guard, and the sentences that panics become."""

from __future__ import annotations

import importlib
import resource
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow import _core
from evenflow.run import engine
from evenflow.scenario import scenario as scenarios

FILES = sorted((ROOT / "tests/fuzz/regressions").glob("*.toml"))


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("fuzz")


def _marked(path: Path) -> Any:
    """A file whose first line says `open` fails still; mended, it must say so no more."""
    reason = path.read_text("utf-8").splitlines()[0].removeprefix("# ")
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason.startswith("open: ") else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [_marked(path) for path in FILES])
def test_what_was_found_stays_mended(fuzz: Any, path: Path) -> None:
    run = fuzz.Worker()
    found = run(path.read_text("utf-8"))
    run.close()
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


def test_a_metric_that_is_no_number_or_no_share_is_seen(fuzz: Any) -> None:
    assert list(fuzz.senseless({"links": {"l": {"utilisation": 0.5, "rate": 3.0}}})) == []
    assert len(list(fuzz.senseless({"l": {"utilisation": 1.5}, "g": [float("nan")]}))) == 2


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
