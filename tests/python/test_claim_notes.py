"""A note's numbers come from the runs that are shown: none is typed, and a changed record changes the note."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenflow import papers
from evenflow.claims import Check, Claim, Data, Judgement, judge, judge_claim
from evenflow.paper import Experiment, Paper
from evenflow.record import Record
from evenflow.study import Run, Table
from typed_numbers import printed_numbers, typed_in_templates, typed_numbers

Note = Callable[[Data, Judgement], str]

ALLOWED: dict[str, dict[str, str]] = {
    "abc": {"3.26": "the release of ns-3"},
    "reecn_lte": {"6.1": "sections of RFC 3168 and of the draft on re-ECN"},
}
"""By paper the decimals that its notes may type although `claims.toml` does not have them, and why."""

NOT_OF_RUNS = {
    "abc-c06": "arithmetic on the paper's buffer and rate",
    "abc-c21": "arithmetic on rates of the grid",
    "abc-c31": "two numbers of the paper that contradict each other",
    "abc-c63": "a window of a table of stack profiles",
    "has_shaping-c22": "arithmetic on the paper's cells",
    "has_shaping-c25": "arithmetic on the paper's cells",
    "reecn_lte-c39": "a section of RFC 3168",
    "reecn_lte-c41": "a section of RFC 3168",
    "reecn_lte-c65": "a section of RFC 3168",
    "reecn_lte-c67": "a section of the draft on re-ECN",
    "wtp-c46": "how rounded numbers of the paper's table add up",
}
"""Notes whose decimals are no measurements, and what they are."""


BY_KIT = [key for key in papers.installed() if list(papers.folder(key).rglob("claims.toml"))]
"""Papers whose claims are written down with the kit."""


# --- The lint itself ------------------------------------------------------------------------------------------------

NOTES = '''
NOTE_LOW = "it is 0.84 at most"
OTHER = "it is 0.85"

@claims.note("c1")
def _(data, judgement):
    """Of 0.7 and more."""
    x = 3.5
    return f"ratio {x:.3f}, which is 0.61 of v1.25b " + "as in section 5.1"

def _cause_note(data):
    return "1.2 s"

def measure(data):
    return "0.99 of all"
'''


def test_typed_numbers_are_found() -> None:
    found = typed_numbers(NOTES, allowed={"5.1"})
    assert [line.split()[2] for line in found] == ["0.84", "0.61", "1.2"]


@pytest.mark.parametrize("key", BY_KIT)
def test_no_note_has_a_typed_measurement(key: str) -> None:
    allowed = set(ALLOWED.get(key, {}))
    for file in papers.folder(key).rglob("claims.toml"):
        allowed |= printed_numbers(file)
    wrong = [
        f"{path.relative_to(papers.folder(key))}, {line}"
        for path in sorted(papers.folder(key).rglob("*.py"))
        for line in typed_numbers(path.read_text(encoding="utf-8"), allowed)
    ]
    wrong += typed_in_templates(papers.folder(key) / "claims.toml", ALLOWED.get(key, {}))
    assert not wrong, "\n".join(wrong)


def test_numbers_typed_into_templates_are_found(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[c1]\nquote = "0.3"\nnote = ["It is 0.84, not 0.3", "{x:.2f} of 5.1"]\n', encoding="utf-8")
    assert typed_in_templates(file, allowed={"5.1"}) == ["c1: 0.84"]


# --- What the rule does with notes ----------------------------------------------------------------------------------


def table(runs: int) -> Table:
    return Table(Run(0, {"x": 1}, seed, Record(f'{{"v": {2 + 0.01 * seed}}}', "")) for seed in range(runs))


def why(note: Any, runs: int = 3, scale: str = "quick", paper_runs: int = 10) -> str:
    def predicate(data: Data) -> list[Check]:
        return [Check("", data["t"].values("v", x=1), hi=1)]

    claim = Claim("x", "s", "st", "e", "t", ("t",), literal=predicate, note=note)
    entry = judge_claim(claim, {"t": table(runs)}, scale=scale, paper_runs=paper_runs)  # type: ignore[arg-type]
    assert not entry.broken
    return entry.literal.why


def quoting(data: Data, judgement: Judgement) -> str:
    return f"It is {data['t'].values('v', x=1).mean():.4f}."


def test_a_note_at_quick_scale_says_so() -> None:
    assert why(quoting).startswith("At scale “quick”, 3 runs a point: It is 2.0100.")
    assert why(quoting, runs=10, scale="paper").startswith("It is 2.0450.")


def test_a_note_about_runs_is_not_printed_under_three() -> None:
    assert "It is" not in why(quoting, runs=2)


def test_a_note_about_an_experiment_that_was_not_run_says_so() -> None:
    assert "needs the experiment other, which was not run" in why(lambda data, judgement: str(data["other"]))


# --- Every note of every paper --------------------------------------------------------------------------------------


class Short(dict[str, Table]):
    """A paper's experiments, each run for an instant when it is first asked for, with three seeds."""

    def __init__(self, paper: Paper) -> None:
        super().__init__()
        self.paper = paper
        self.known = {experiment.id: experiment for experiment in paper.experiments}

    def __missing__(self, name: str) -> Table:
        self[name] = self._run(self.known[name])
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self.known

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.known else default

    def _run(self, experiment: Experiment) -> Table:
        from evenflow.scenario import Scenario

        runs = []
        for number, point in enumerate(experiment.points("quick")):
            short = Scenario({**point.scenario.tree, "warmup": "16 s", "duration": "18 s"})
            record = short.run(1)
            runs += [
                Run(number, point.labels, seed, perturbed(record, f"{experiment.id} {number} {seed}"))
                for seed in range(1, 4)
            ]
        return Table(runs)


def perturbed(record: Record, key: str) -> Record:
    """The same record with every number, those of series too, between half and three halves of itself."""
    rng = random.Random(zlib.crc32(key.encode()))

    def other(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: other(inside) for name, inside in value.items()}
        if isinstance(value, list):
            return [other(inside) for inside in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return (value or 0.01) * rng.uniform(0.5, 1.5)
        return value

    def scaled(values: bytes) -> bytes:
        return (np.frombuffer(values, "<f8") * rng.uniform(0.5, 1.5)).tobytes()

    series = {name: (times, scaled(values)) for name, (times, values) in record._series.items()}
    return Record(json.dumps(other(record.json)), "", series)


def others(data: Short) -> dict[str, Table]:
    """The same tables with other numbers."""
    return {
        name: Table(
            Run(r.point, r.labels, r.seed, perturbed(r.record, f"other {name} {i}")) for i, r in enumerate(found.runs)
        )
        for name, found in data.items()
    }


def computed(claim: Claim) -> list[Note]:
    """A claim's note, and what stands beside any verdict, as far as they are functions."""
    return [note for note in (claim.note, claim.beside) if callable(note)]


def said(claim: Claim, note: Note, data: Any) -> str | None:
    """What a note says; None where runs as short as these have nothing to divide by, or nothing to look at."""
    try:
        return note(data, judge(list(claim.literal(data)), scale="paper", paper_runs=3))
    except (ZeroDivisionError, ValueError):
        return None


@pytest.mark.slow("judges all claims of a paper twice", only="(?!.*has_shaping)^")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("key", BY_KIT)
def test_a_changed_record_changes_every_note_that_quotes_numbers(key: str) -> None:
    """Each note on records of instants, and again on the same with every number changed."""
    paper = papers.load(key)
    data = Short(paper)
    noted = [(claim, note) for claim in paper.claims for note in computed(claim)]
    first = [said(claim, note, data) for claim, note in noted]
    changed = others(data)
    stale = [
        f"{claim.id}: {text}"
        for (claim, note), text in zip(noted, first, strict=True)
        if text is not None
        and not (note is claim.note and claim.id in NOT_OF_RUNS)
        and re.search(r"\d\.\d", text)
        and "undefined" not in text  # of runs this short
        and text == said(claim, note, changed)
    ]
    assert not stale, "\n".join(stale)
    assert sum(note is None for note in first) <= 0.1 * len(first), "too many notes could not be tried"
