"""Effect of a paper's options: tries every other value, one at a time, and lists changed verdicts.

Experiments with the same points are not repeated. Experiments without claims, and outside `Option.over`, are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..run.study import Table, run_study

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..run.store import Store
    from .claims import Entry, Scale
    from .paper import Experiment, Option, Paper


@dataclass(frozen=True)
class Change:
    """A claim with another verdict; `before` and `after` are strict, then lenient in brackets."""

    claim: str
    before: str
    after: str
    measured: str


@dataclass(frozen=True)
class Varied:
    """Another value of an option, and the changed claims."""

    option: Option
    value: str
    instead_of: str
    """The value compared with: the default unless another was chosen."""
    changes: tuple[Change, ...]
    judged: int
    rerun: tuple[str, ...]
    """Ids of the experiments that the choice touched."""
    broken: tuple[str, ...]
    """Ids of claims that could not be judged with this choice."""
    elapsed_s: float
    scale: Scale = "quick"
    """Of the runs that these verdicts, before and after, are from."""

    def to_json(self) -> dict[str, Any]:
        """The row as `reproduce --sensitivity --json` gives it."""
        return {
            "option": self.option.name,
            "subject": self.option.subject,
            "default": self.option.default,
            "value": self.value,
            "instead_of": self.instead_of,
            "scale": self.scale,
            "judged": self.judged,
            "changes": [
                {"id": c.claim, "before": c.before, "after": c.after, "measured": c.measured} for c in self.changes
            ],
            "experiments": list(self.rerun),
            **({"over": list(self.option.over)} if self.option.over else {}),
            "broken": list(self.broken),
            "elapsed_s": round(self.elapsed_s, 3),
        }


def examine(
    paper: Paper,
    tables: Mapping[str, Table],
    entries: Sequence[Entry],
    judge: Callable[[Paper, Mapping[str, Table], Scale], list[Entry]],
    *,
    scale: Scale,
    store: Store,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[Varied]:
    """Try every other value of every option of `paper`, one at a time.

    Args:
        tables: the finished experiments with the paper's present choices, by id; only these are varied.
        entries: the claims judged on them.
        judge: judges a paper's claims on finished experiments of a scale.
        say: gets a line for each value.
    """
    found: list[Varied] = []
    for option in paper.options:
        present = paper.chosen.get(option.name, option.default)
        at, usual, before = scale, tables, entries
        if option.paper_scale and scale != "paper":
            at = "paper"
            ids = [paper.experiment(name).id for name in option.paper_scale]
            usual = {
                e.id: run_study(
                    e.study(at), store=store, jobs=jobs, executor=executor, progress=progress, what=f"{e.id}, as it is"
                )
                for e in paper.experiments
                if e.id in ids and e.id in tables
            }
            before = judge(paper, usual, at)
        elif option.over:
            usual = {e.id: tables[e.id] for e in map(paper.experiment, option.over) if e.id in tables}
            before = judge(paper, usual, at)
        for value in option.values:
            if value == present:
                continue
            started = time.perf_counter()
            other = paper.with_options({**paper.chosen, option.name: value})
            varied, rerun = _tables(paper, other, usual, at, option.name, value, store, jobs, executor, progress)
            after = judge(other, varied, at)
            made = Varied(
                option,
                value,
                present,
                _changes(before, after),
                len(after),
                rerun,
                tuple(entry.claim.id for entry in after if entry.broken),
                time.perf_counter() - started,
                at,
            )
            found.append(made)
            changed = ", ".join(f"{c.claim} {c.before} → {c.after}" for c in made.changes) or "no verdict changes"
            over = f" (at the paper's scale: {', '.join(option.paper_scale)})" if at != scale else ""
            say(f"{option.name} = {value} instead of {present}{over}: {changed}")
    return found


def _tables(
    paper: Paper,
    other: Paper,
    tables: Mapping[str, Table],
    scale: Scale,
    name: str,
    value: str,
    store: Store,
    jobs: int | None,
    executor: Executor | None,
    progress: bool,
) -> tuple[dict[str, Table], tuple[str, ...]]:
    usual = {experiment.id: experiment for experiment in paper.experiments}
    judged = {name for claim in other.claims for name in claim.experiments}
    varied, rerun = {}, []
    for experiment in other.experiments:
        if experiment.id not in tables or experiment.id not in judged:
            continue
        if _same(usual[experiment.id], experiment, scale):
            varied[experiment.id] = tables[experiment.id]
            continue
        rerun.append(experiment.id)
        found = run_study(
            experiment.study(scale),
            store=store,
            jobs=jobs,
            executor=executor,
            progress=progress,
            what=f"{name} = {value}: {experiment.id}",
        )
        found.left_out = tuple(experiment.left_out(scale))
        varied[experiment.id] = found
    return varied, tuple(rerun)


def _same(one: Experiment, other: Experiment, scale: Scale) -> bool:
    def content(experiment: Experiment) -> list[Any]:
        points = [(dict(point.labels), point.scenario.hash) for point in experiment.points(scale)]
        return [points, list(experiment.seeds(scale))]

    return content(one) == content(other)


def _verdicts(entry: Entry) -> str:
    literal = str(entry.literal.verdict)
    return literal if entry.relaxed is None else f"{literal} ({entry.relaxed.verdict})"


def _changes(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[Change, ...]:
    usual = {entry.claim.id: entry for entry in before}
    return tuple(
        Change(e.claim.id, _verdicts(usual[e.claim.id]), _verdicts(e), e.literal.measured)
        for e in after
        if e.claim.id in usual and _verdicts(e) != _verdicts(usual[e.claim.id])
    )


DECIDES = "An option decides it: "


def say_options(rows: list[dict[str, Any]], sensitivity: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with `options`, the verdicts with other values; `why` gets a sentence where an option decides the claim.

    Args:
        sensitivity: rows of `Varied.to_json`, of this examination or of the ledger that ships.
    """
    for row in rows:
        row["why"] = row["why"].partition(DECIDES)[0].rstrip()
        row["options"] = [
            {"option": option["option"], "value": option["value"], "verdict": change["after"]}
            for option in sensitivity
            for change in option["changes"]
            if change["id"] == row["id"]
        ]
        decisive = [it for it in row["options"] if it["verdict"].split()[0] not in (row["verdict"], "undecided")]
        if decisive:
            said = "; ".join(f"{it['option']} = {it['value']}: {it['verdict']}" for it in decisive)
            row["why"] = f"{row['why']} {DECIDES}{said}.".strip()
    return rows
