"""The memory of a run: the bound before it, with what Python makes of series, and the limit while it goes on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, Cli, environment
from evenflow.errors import EvenflowError, OutOfMemory
from evenflow.run import scheduler
from evenflow.run.engine import execute
from evenflow.run.study import BrokenRuns, Study, run_study
from evenflow.scenario import Scenario
from evenflow.scenario import scenario as module
from evenflow.scenario.fitting import needed

LINE = {"rate": "10 Mbit/s", "delay": "5 ms"}
FLOOD = {"users": 1, "path": ["line"], "traffic": {"kind": "cbr", "rate": "10 Gbit/s", "packet": "100 B"}}
SERIES = 'record.series=[{ of = "links.bottleneck.queue.packets", every = "1 us" }]'


STATUS = Path("/proc/self/status")
MEASURED = """
import sys
from evenflow.cli import invoke
code = invoke(sys.argv[1:])
hwm = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, hwm.split()[1], file=sys.stderr)
"""


def peak(work: Path, *arguments: str) -> int:
    """The largest resident set of a command, in bytes. That of getrusage has the parent's in it."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments], cwd=work, env=environment(), capture_output=True, check=True
    )
    code, kib = map(int, done.stderr.split()[-2:])
    assert code == 0
    return kib * 1024


@pytest.mark.slow("starts processes with large records")
@pytest.mark.skipif(not STATUS.exists(), reason="needs /proc: run it on Linux")
@pytest.mark.parametrize(
    ("command", "copies"),
    [
        (("run",), module.HELD),
        (("run", "--out", "o", "--no-view"), module.WRITTEN),
        (("study", "--jobs", "1"), module.STORED),
    ],
)
def test_the_bound_counts_what_python_makes_of_series(
    work: Path, small: Path, command: tuple[str, ...], copies: int
) -> None:
    name, *options = command
    rest = [str(small), *options, *(["--replications", "1"] if name == "study" else []), "--json"]
    scenario = Scenario.load(small)
    recorded = scenario.set("record.series", [{"of": "links.bottleneck.queue.packets", "every": "1 us"}])
    said = needed(recorded, copies) - needed(scenario, 0)
    assert said > 100 * 2**20
    # what a study draws afterwards is not there at the same time
    measured = peak(work, name, *rest, "--set", SERIES) - peak(work, "run", str(small), "--json")
    assert said / 1.5 < measured < said * 1.5


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"record.series": [{"of": "links.bottleneck.queue.packets", "every": "10 ns"}]}, "record.series[0].every"),
        ({"groups.light.users": 1_000_000}, "groups.light.users"),
    ],
)
@pytest.mark.parametrize("copies", [0, 4])
def test_a_refusal_names_values_that_fit(
    small: Path, more: dict[str, object], key: str, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 100 * 2**20
    monkeypatch.setattr(module, "available_memory", lambda: free)
    large = Scenario.load(small).with_settings(more)
    with pytest.raises(
        EvenflowError, match=r"at least .* of memory.*; 100 MiB are free here\. It would fit with"
    ) as caught:
        module.require_memory(large, copies=copies)
    values = dict(re.findall(r"(\S+) = (\"[^\"]+\"|[0-9,]+)", str(caught.value)))
    assert key in values
    for path, text in values.items():
        value = text.strip('"') if text.startswith('"') else int(text.replace(",", ""))
        module.require_memory(large.set(path, value), copies=copies)


def test_run_counts_its_folder(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 300 * 2**20)
    assert cli("run", small, "--set", SERIES, "--json").code == 0
    done = cli("run", small, "--set", SERIES, "--json", "--out", "o")
    assert done.code == 1
    assert "of it for series while they are written; 300 MiB are free here." in done.err


def test_small_is_what_the_tests_think_it_is(small: Path) -> None:
    assert small.read_text() == SMALL
    assert needed(Scenario.load(small), 4) == Scenario.load(small).core.memory_bytes


def test_a_run_ends_at_its_limit(small: Path) -> None:
    flood = Scenario.load(small).with_settings({"links.line": LINE, "groups.video": FLOOD})
    with pytest.raises(
        OutOfMemory, match=r"more than 10\.0 MiB of memory at 0\.[0-9]+ s of simulated time: links\.line"
    ):
        execute(flood.to_json(), 1, 10 * 2**20)
    assert execute(Scenario.load(small).to_json(), 1, 10 * 2**20).record_hash


def test_other_runs_of_a_study_go_on(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "available_memory", lambda: 10 * 2**20)
    flood = Scenario.load(small).with_settings(
        {"links.line": LINE, "groups.video": FLOOD, "sweep": {"groups.video.traffic.rate": ["1 Mbit/s", "10 Gbit/s"]}}
    )
    with pytest.raises(BrokenRuns, match="of memory") as caught:
        run_study(Study.from_scenario(flood, 1), store=None, jobs=1)
    assert len(caught.value.table) == 1
    [broken] = caught.value.broken
    assert "10.0 MiB of memory" in broken.why
