"""A study: points times seeds, run once, kept, and read as tables.

Results depend neither on the number of jobs nor on the order in which runs finish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import EvenflowError, ScenarioError, UsageError
from ..scenario.scenario import HELD, STORED, Scenario, available_memory, gib, require_memory
from ..scenario.sweep import Label, Labels, Point, expand
from ..words import counted, html_table
from .engine import checked_seed
from .progress import Progress, progress_bar
from .record import flatten
from .table import MOST_ROWS, BrokenRun, BrokenRuns, Curve, Origin, Run, RunView, Table, number

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .scheduler import Scheduler
    from .store import Store

__all__ = [
    "BrokenRun",
    "BrokenRuns",
    "Curve",
    "Label",
    "Labels",
    "Origin",
    "Point",
    "Precision",
    "Progress",
    "Run",
    "RunView",
    "Study",
    "Table",
    "run_study",
]

MOST_RUNS = 10_000_000
"""Of one study: all are planned before the first begins."""
PLANNED_BYTES = 500
"""Memory of a planned run, about."""
DEFAULT_PRECISION_OF = "groups.*.throughput_bps"


@dataclass(frozen=True)
class Precision:
    """Stop replicating a point once the interval is narrow enough.

    Judged in seed order in batches of ten, at most 200 replications, so that stopping never depends on timing.

    Attributes:
        relative: half-width over mean, 0.02 for 2 %.
        of: a metric, `*` allowed; every metric that matches must be narrow enough.
    """

    relative: float
    of: str = DEFAULT_PRECISION_OF
    level: float = stats.LEVEL

    def met(self, runs: Sequence[Run]) -> bool:
        """Whether these runs are enough.

        Raises:
            UsageError: `of` matches no metric of the record.
        """
        names = [name for name, _ in flatten(runs[0].json) if fnmatchcase(name, self.of)]
        if not names:
            from ..errors import unknown

            raise unknown("metric", self.of, [name for name, _ in flatten(runs[0].json)])
        for name in names:
            i = stats.mean_interval([number(run.metric(name)) for run in runs], self.level)
            if i.n == 0 or (i.mean == 0 and i.sd == 0):
                continue
            if not i.half_width <= self.relative * abs(i.mean):
                return False
        return True


@dataclass
class Study:
    """Points times seeds. Every point is run with every seed; replication k of every point has seed k."""

    points: Sequence[Point]
    seeds: Sequence[int]

    def __post_init__(self) -> None:
        if not isinstance(self.points, Sequence):
            self.points = list(self.points)
        if not isinstance(self.seeds, range):
            self.seeds = [checked_seed(seed) for seed in self.seeds]
        for seed in (self.seeds[0], self.seeds[-1]) if isinstance(self.seeds, range) and self.seeds else ():
            checked_seed(seed)
        if not self.points:
            raise UsageError("A study needs at least one point.")
        if wrong := [point for point in self.points if not isinstance(point, Point)]:
            raise UsageError(f"A {type(wrong[0]).__name__} is not a point of a study; write Point(labels, scenario).")
        if not self.seeds or not (isinstance(self.seeds, range) or len(set(self.seeds)) == len(self.seeds)):
            raise UsageError("A study needs at least one seed, and each only once.")
        if self.runs > MOST_RUNS:
            points, seeds = counted(len(self.points), "point"), counted(len(self.seeds), "seed")
            raise UsageError(
                f"{points} with {seeds} make {self.runs:,} runs; "
                f"the most in one study is {MOST_RUNS:,}. Use fewer replications or values, or split the study."
            )

    @staticmethod
    def from_scenario(
        scenario: Scenario, replications: int | None = None, pins: Mapping[str, Any] | None = None
    ) -> Study:
        """Expand `[sweep]`. Seeds are 1…replications (argument, else the file's, else 10).

        Args:
            pins: dotted path -> value; replaces the sweeping of that path.

        Raises:
            ScenarioError: with every error of the sweep and of its points, each at the swept value that caused it.
        """
        found = expand(scenario, pins or {})
        if found.errors:
            raise ScenarioError(found.errors, scenario.source)
        count = found.replications if replications is None else replications
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"{count!r} replications: a whole number of at least 1 is needed.")
        return Study(found.points, range(1, count + 1))

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.points) * len(self.seeds)

    def _repr_html_(self) -> str:
        labels = list(dict.fromkeys(name for point in self.points for name in point.labels)) or [""]
        rows = [[str(point.labels.get(name, "–")) for name in labels] for point in self.points[:MOST_ROWS]]
        if len(self.points) > MOST_ROWS:
            rows.append(["…", *[""] * (len(labels) - 1)])
        points, seeds = counted(len(self.points), "point"), counted(len(self.seeds), "seed")
        return html_table(f"Study · {points} with {seeds} · {counted(self.runs, 'run')}", labels, rows)

    def run(self, **options: Any) -> Table:
        """`run_study(self, …)`."""
        return run_study(self, **options)


def run_study(
    study: Study,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | Scheduler | None = None,
    progress: bool = False,
    on_run: Callable[[Progress], None] | None = None,
    precision: Precision | None = None,
    what: str = "study",
) -> Table:
    """Compute the runs that the store lacks and return all runs.

    Args:
        study: points and seeds. With `precision` its seeds are the batches 1…10, 11…20, … instead.
        store: where finished runs are kept; None keeps them in memory only.
        jobs: runs at a time in this process; default: one per core.
        executor: `evenflow.workers("dask-local:4")`, whose workers are counted and get batches of runs sized by
            their cost; or any `concurrent.futures.Executor` (process pool, Dask's `Client.get_executor()`), which
            gets single runs. It is not shut down.
        progress: a bar on the terminal after two seconds.
        on_run: called in this thread after every run and once before the first.
        what: the words in front of the progress bar.

    Raises:
        ScenarioError: a point is not valid.
        BrokenRuns: some runs broke. It has the table of all other runs, which are finished; the store's folder
            `failed` has the scenarios.
        Interrupted: Ctrl-C. Work that ends within a second is completed; finished runs are in the store.
        StoreError: the store cannot be written; committed runs stay.
    """
    from .execution import BATCH, Execution
    from .scheduler import scheduler
    from .store import Store

    if store is not None and not isinstance(store, Store):
        raise UsageError(f"store: {store!r} is not a run store; write evenflow.Store({str(store)!r}), or None.")
    if precision is not None and not isinstance(precision, Precision):
        raise UsageError(f"precision: {precision!r} is not a precision; write Precision(0.02) for 2 %.")
    free, plan_bytes = available_memory(), study.runs * PLANNED_BYTES
    if free is not None and plan_bytes > free:
        raise EvenflowError(
            f"To plan {study.runs:,} runs takes about {gib(plan_bytes)} of memory; {gib(free)} are free here. "
            f"Use fewer replications or values, at most {counted(free // PLANNED_BYTES, 'run')}, or split the study."
        )
    with scheduler(executor, jobs) as found:
        largest = max(study.points, key=lambda p: p.scenario.core.memory_bytes).scenario
        if found.on_this_machine:
            at_once = min(found.on_this_machine, study.runs)
            require_memory(largest, at_once, copies=HELD if store is None else STORED)
        state = Progress(total=study.runs if precision is None else len(study.points) * BATCH)
        with progress_bar(what, progress) as bar:
            return Execution(study, store, found, precision, state, bar, on_run).run()
