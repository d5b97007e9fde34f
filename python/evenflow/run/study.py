"""A study: points times seeds, run once, kept, and read as tables.

Results never depend on the number of jobs or on what finished first: a table lists its runs in the order of points
and seeds.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .. import stats
from ..errors import EvenflowError, Interrupted, RunError, ScenarioError, StoreError, UsageError
from ..scenario.scenario import STORED, Scenario, available_memory, gib, require_memory
from ..scenario.sweep import Label, Labels, Point, expand, nearest_label
from ..words import counted
from .engine import Result, execute
from .progress import Progress, progress_bar
from .record import PROVENANCE, Record, engine_of, flatten

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future, ThreadPoolExecutor
    from pathlib import Path

    import numpy as np
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .cluster import Workers
    from .notes import Note
    from .store import Claimed, Store

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
    "Study",
    "Table",
    "run_study",
]

BATCH = 10
MOST_ROWS = 30
"""Points that a notebook shows of a table."""
MOST_REPLICATIONS = 200
MOST_RUNS = 10_000_000
"""Of one study: each is planned before the first begins."""
PLANNED_BYTES = 500
"""What a run that is planned takes of memory, about."""
PLANNED_AT_ONCE = 10_000
DEFAULT_PRECISION_OF = "groups.*.throughput_bps"

Metric: TypeAlias = "str | Callable[[Run], float | None]"


class Run:
    """One finished run of a study: its labels, its seed, its numbers."""

    __slots__ = ("cached", "labels", "point", "record", "seed")

    def __init__(self, point: int, labels: Labels, seed: int, record: Record, *, cached: bool = False) -> None:
        self.point = point
        self.labels = labels
        self.seed = seed
        self.record = record
        """The whole record."""
        self.cached = cached
        """True if it came from the store."""

    @property
    def json(self) -> dict[str, Any]:
        """The record as `run --json` prints it."""
        return self.record.json

    def metric(self, name: str) -> float | None:
        """A number by dotted name; None = undefined in this run. KeyError with the nearest name where there is none."""
        return self.record.metric(name)

    def series(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A recorded series: times in s and values, both of shape (n,)."""
        return self.record.arrays(name)

    def __repr__(self) -> str:
        return f"<Run seed {self.seed} of {dict(self.labels)}>"


RunView = Run


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
            i = stats.mean_interval([_number(run.metric(name)) for run in runs], self.level)
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
        if not self.points:
            raise UsageError("A study needs at least one point.")
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
        if count < 1:
            raise UsageError(f"{count} replications: at least 1 is needed.")
        return Study(found.points, range(1, count + 1))

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.points) * len(self.seeds)

    def run(self, **options: Any) -> Table:
        """`run_study(self, …)`."""
        return run_study(self, **options)


@dataclass(frozen=True)
class Origin:
    """What a study's folder says of itself: the scenario with its `[sweep]`, the seeds, the command, the engine."""

    scenario: Scenario
    seeds: Sequence[int]
    engine: str
    version: str
    command: str


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


_GAPS: ContextVar[list[Labels] | None] = ContextVar("gaps", default=None)


@contextmanager
def noticing_gaps() -> Iterator[list[Labels]]:
    """A list that fills with the points that a table lacks where somebody asks it for all of a kind.

    A claim about a grid cannot hold on a part of it, and nobody has to say which claims are about one.
    """
    gaps: list[Labels] = []
    token = _GAPS.set(gaps)
    try:
        yield gaps
    finally:
        _GAPS.reset(token)


def notice(left_out: Iterable[Labels]) -> None:
    """These points were asked for and are not there."""
    gaps = _GAPS.get()
    if gaps is not None:
        gaps.extend(left_out)


class Table:
    """Finished runs in (point, seed) order, whatever finished first."""

    def __init__(
        self,
        runs: Iterable[Run],
        *,
        elapsed_s: float = 0.0,
        scenarios: Mapping[int, Scenario] | None = None,
        origin: Origin | None = None,
        left_out: Sequence[Labels] = (),
    ) -> None:
        self.runs: list[Run] = sorted(runs, key=lambda run: (run.point, run.seed))
        self.left_out = tuple(left_out)
        """Labels of points that belong to the study but were left out at this scale."""
        self.elapsed_s = elapsed_s
        """Wall time this table took to compute here; small if most of it came from the store."""
        self.scenarios: Mapping[int, Scenario] = scenarios or {}
        """The scenario of each point, by its number; empty for a table put together by hand."""
        self.origin = origin
        """What a table that was opened from a study's folder is of; None for others."""

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def cached(self) -> int:
        """Runs that came from the store."""
        return sum(run.cached for run in self.runs)

    @property
    def run_wall_s(self) -> float:
        """Wall time of all runs together when they were computed, in s."""
        return float(sum(run.json.get("wall_s") or 0.0 for run in self.runs))

    @property
    def engines(self) -> list[str]:
        """The engine ids the runs were made with (one, unless tables were joined)."""
        return sorted({engine_of(run.json) for run in self.runs})

    def points(self) -> list[Labels]:
        """The distinct sets of labels, in order."""
        notice(self.left_out)
        return self._points()

    def _points(self) -> list[Labels]:
        found: dict[int, Labels] = {}
        for run in self.runs:
            found.setdefault(run.point, run.labels)
        return list(found.values())

    def label_values(self, name: str) -> list[Label]:
        """The distinct values of one label, in order of appearance."""
        name = self._label(name)
        found = list(dict.fromkeys(labels[name] for labels in self._points() if name in labels))
        notice(labels for labels in self.left_out if name in labels and labels[name] not in found)
        return found

    def where(self, where: Mapping[str, Label] | None = None, **labels: Label) -> Table:
        """The runs whose labels have these values. As a keyword a label's dots are written `_`.

        Raises:
            KeyError: nothing matches; the message names the nearest label or the values there are.
        """
        wanted = {self._label(name): value for name, value in {**(where or {}), **labels}.items()}
        found = [run for run in self.runs if all(run.labels.get(k) == v for k, v in wanted.items())]
        if not found:
            for name, value in wanted.items():
                known = list(dict.fromkeys(labels[name] for labels in self._points() if name in labels))
                if value not in known:
                    raise KeyError(f"no point has {name} = {value!r}; there are {', '.join(map(repr, known))}")
            raise KeyError(f"no point has {wanted}")
        left_out = [labels for labels in self.left_out if all(labels.get(k) == v for k, v in wanted.items())]
        return Table(found, scenarios=self.scenarios, left_out=left_out)

    def __repr__(self) -> str:
        return f"<Table of {len(self.runs)} runs at {len(self.points())} points>"

    def _repr_html_(self) -> str:
        from ..words import html_table

        names = [n for n in self.metric_names() if n.startswith("groups.") and n.endswith(".throughput_bps")]
        labels = list(dict.fromkeys(label for point in self.points() for label in point))
        rows = []
        for index, (point, found) in enumerate(self.summaries(names)):
            if index == MOST_ROWS:
                rows.append(["…", *[""] * (len(labels) + len(names) - 1)])
                break
            cells = [f"{found[n].mean / 1e6:.4g} ± {found[n].half_width / 1e6:.2g}" for n in names if n in found]
            rows.append([*(str(point.get(label, "–")) for label in labels), *cells] or ["–"])
        headings = [*labels, *(f"{n.removeprefix('groups.').removesuffix('.throughput_bps')} (Mbit/s)" for n in names)]
        caption = f"{len(self.runs)} runs at {len(self.points())} points: throughput, mean ± half the 95 % interval"
        notes = " ".join(f"{note.code}: {note.text}" for note, _ in self.notes())
        return html_table(caption, headings, rows, notes)

    def notes(self) -> list[tuple[Note, list[int]]]:
        """What the runs did not do, or did for a reason their numbers do not show (docs/measuring.md): each note once,
        with the text of the first run that raised it and the places in `points()` at which it was raised. [] where the
        scenarios are not known."""
        from . import notes

        return notes.of_study(self.scenarios, self.runs) if self.scenarios else []

    def _label(self, name: str) -> str:
        known = list(dict.fromkeys(label for labels in self._points() for label in labels))
        if name in known:
            return name
        by_keyword = {_keyword(label): label for label in known}
        if name in by_keyword:
            return by_keyword[name]
        raise KeyError(f"no label “{name}”; {nearest_label(name, known)}")

    def _one_point(self, where: Mapping[str, Label] | None, labels: Mapping[str, Label]) -> Table:
        table = self.where(where, **labels)
        points = table._points()
        if len(points) > 1:
            free = sorted({k for p in points for k in p if any(q.get(k) != p[k] for q in points)})
            raise KeyError(f"{len(points)} points match { ({**(where or {}), **labels}) }; say also {', '.join(free)}")
        return table

    def values(self, metric: Metric, where: Mapping[str, Label] | None = None, **labels: Label) -> NDArray[np.float64]:
        """One point's metric, one value a seed in seed order, shape (n,); NaN where a run could not define it.

        Args:
            metric: a dotted name, or a function of the run.
            where, labels: must single out one point; a label's dots are written `_` as a keyword.

        Raises:
            KeyError: no point or more than one matches, or no such metric; the message names the nearest.
        """
        import numpy as np

        table = self._one_point(where, labels)
        return np.array([_number(_measure(metric, run)) for run in table.runs], dtype=np.float64)

    def seeds(self, where: Mapping[str, Label] | None = None, **labels: Label) -> list[int]:
        """The seeds of one point, in the order of `values`."""
        return [run.seed for run in self._one_point(where, labels).runs]

    def interval(
        self, metric: Metric, where: Mapping[str, Label] | None = None, *, level: float = stats.LEVEL, **labels: Label
    ) -> stats.Interval:
        """One point's mean and Student-t interval."""
        return stats.mean_interval(self.values(metric, where, **labels), level)

    def curve(
        self,
        metric: Metric,
        x: str | Callable[[Labels], float],
        where: Mapping[str, Label] | None = None,
        *,
        level: float = stats.LEVEL,
        **labels: Label,
    ) -> Curve:
        """A metric over a label: one mean and interval for each x, ascending.

        Args:
            x: a label whose values are numbers or quantities with one unit (of "50 ms" the number is taken), or a
                function of the labels.
            where, labels: must leave one point for each x.
        """
        import numpy as np

        chosen = self.where(where, **labels) if where or labels else self
        notice(chosen.left_out)
        name = x if callable(x) else self._label(x)
        at: dict[float, list[Run]] = {}
        point_of: dict[float, int] = {}
        for run in chosen.runs:
            position = float(name(run.labels)) if callable(name) else number_of(run.labels[name])
            if point_of.setdefault(position, run.point) != run.point:
                raise KeyError(f"more than one point at x = {position}; say also which of {sorted(run.labels)}")
            at.setdefault(position, []).append(run)
        xs = sorted(at)
        found = [stats.mean_interval([_number(_measure(metric, run)) for run in at[p]], level) for p in xs]
        return Curve(
            x=np.array(xs),
            mean=np.array([i.mean for i in found]),
            lo=np.array([i.lo for i in found]),
            hi=np.array([i.hi for i in found]),
            n=np.array([i.n for i in found]),
        )

    def frame(self, *, lists: bool = False, provenance: bool = False) -> pl.DataFrame:
        """One row a run: the labels, `seed`, `scenario_hash`, `record_hash`, then every metric by dotted name.

        Args:
            lists: also lists of numbers (each user's goodput), as list columns.
            provenance: also `engine`, `wall_s`, `cpu_s`, which may differ between two equal runs.
        """
        import polars as pl

        rows: list[dict[str, Any]] = []
        for run in self.runs:
            row: dict[str, Any] = {**run.labels, "seed": run.seed, "scenario_hash": run.json.get("scenario_hash")}
            row["record_hash"] = run.record.record_hash
            if provenance:
                row.update({name: run.json.get(name) for name in PROVENANCE if name != "engine"})
                row["engine"] = engine_of(run.json)
            row.update({name: None if value is None else float(value) for name, value in flatten(run.json)})
            if lists:
                row.update(_lists(run.json))
            rows.append(row)
        columns: dict[str, None] = {}
        for row in rows:
            columns.update(dict.fromkeys(row))
        return pl.DataFrame({c: _column([row.get(c) for row in rows]) for c in columns}, strict=False)

    def pandas(self, **options: bool) -> pd.DataFrame:
        """`frame` as a pandas frame (needs the extra `pandas`)."""
        return self.frame(**options).to_pandas()

    def metric_names(self) -> list[str]:
        """Every metric that is a single number, in the record's order."""
        names: dict[str, None] = {}
        for run in self.runs:
            names.update(dict.fromkeys(name for name, _ in flatten(run.json)))
        return list(names)

    def summary(self, metrics: Sequence[str] | None = None, *, level: float = stats.LEVEL) -> pl.DataFrame:
        """Mean and Student-t interval of every point and metric.

        Returns:
            Columns: the labels, `metric`, `n`, `mean`, `sd`, `ci95_lo`, `ci95_hi` (with another level: `ci_lo`,
                `ci_hi`). Undefined = null.
        """
        import polars as pl

        lo, hi = ("ci95_lo", "ci95_hi") if level == stats.LEVEL else ("ci_lo", "ci_hi")
        rows: list[dict[str, Any]] = []
        for labels, found in self.summaries(metrics, level=level):
            for name, i in found.items():
                row: dict[str, Any] = {**labels, "metric": name, "n": i.n}
                row |= {"mean": _or_none(i.mean), "sd": _or_none(i.sd), lo: _or_none(i.lo), hi: _or_none(i.hi)}
                rows.append(row)
        columns: dict[str, None] = {}
        for row in rows:
            columns.update(dict.fromkeys(row))
        return pl.DataFrame({c: _column([row.get(c) for row in rows]) for c in columns}, strict=False)

    def summaries(
        self, metrics: Sequence[str] | None = None, *, level: float = stats.LEVEL
    ) -> Iterator[tuple[Labels, dict[str, stats.Interval]]]:
        """For each point its labels and the interval of each metric."""
        names = list(metrics) if metrics is not None else self.metric_names()
        by_point: dict[int, list[Run]] = {}
        for run in self.runs:
            by_point.setdefault(run.point, []).append(run)
        for runs in by_point.values():
            flat = [dict(flatten(run.json)) for run in runs]
            found: dict[str, stats.Interval] = {}
            for name in names:
                if any(name in row for row in flat):
                    values = [_number(row.get(name)) for row in flat]
                else:
                    values = [_number(run.metric(name)) for run in runs] if metrics is not None else []
                if values:
                    found[name] = stats.mean_interval(values, level)
            yield runs[0].labels, found

    def plot(
        self,
        *metric: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        rows: str | None = None,
        columns: str | None = None,
        series: str | Sequence[str] = (),
        kind: str | None = None,
        seeds: str = "mean",
        width: float | None = None,
        height: float | None = None,
    ) -> Figure:
        """The runs as a figure: means with 95 % intervals over a swept label (docs/figures.md).

        Args:
            metric: dotted names, with `*`, or their last segments ("utilisation"); default: each group's throughput,
                utilisation and delay of the link that queues.
            x: the label along the axis; with `kind="scatter"` a metric; default: the one with most numbers.
            by: labels that make the lines; default: all others.
            rows, columns: labels that make rows and columns of panels.
            series: recorded series instead of metrics, over time.
            kind: "line", "interval", "box", "cdf", "scatter" or "timeline"; default: what suits.
            seeds: "mean", or "each" to show every run as well.
            width, height: inches, kept exactly; default: 6.4 inches, and the height that suits.

        Raises:
            UsageError: unknown names, every one of them with the nearest; or a choice that leaves several points in one
                place.
        """
        from ..show import pictures
        from ..show.drawing import draw

        def several(given: str | Sequence[str]) -> tuple[str, ...]:
            return (given,) if isinstance(given, str) else tuple(given)

        lines = None if by is None else several(by)
        choice = pictures.Choice(metric, x, lines, rows, columns, several(series), kind, seeds)
        return draw(pictures.of_table(self, choice), width, height)

    def to_json(self) -> dict[str, Any]:
        """The document of `study --json`."""
        points = []
        for labels, found in self.summaries():
            metrics = {
                name: {
                    "mean": _or_none(i.mean),
                    "sd": _or_none(i.sd),
                    "ci95": [_or_none(i.lo), _or_none(i.hi)],
                    "n": i.n,
                }
                for name, i in found.items()
            }
            points.append({"set": dict(labels), "n": 0, "metrics": metrics})
        counts: dict[int, int] = {}
        for run in self.runs:
            counts[run.point] = counts.get(run.point, 0) + 1
        for point, n in zip(points, counts.values(), strict=True):
            point["n"] = n
        return {"points": points}


@dataclass(frozen=True)
class Curve:
    """A metric over a label: arrays of one shape (k,), ascending in x; NaN or infinite where undefined."""

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    n: NDArray[np.int64]


@dataclass(frozen=True)
class BrokenRun:
    """A run of a study that broke.

    Attributes:
        why: a sentence with the scenario's title and the seed.
        file: the scenario as a file that `evenflow run` takes; None where none was written.
    """

    labels: Labels
    seed: int
    scenario: Scenario
    why: str
    file: Path | None = None

    def __str__(self) -> str:
        import shlex

        at = ", ".join(f"{name} = {value}" for name, value in self.labels.items())
        again = f"\n    evenflow run {shlex.quote(str(self.file))} --seed {self.seed}" if self.file else ""
        return f"  {at}{': ' if at else ''}{self.why}{again}"


class BrokenRuns(EvenflowError):
    """Some runs of a study broke; all others are finished.

    Attributes:
        table: the finished ones.
        broken: the others, in the order of points and seeds.
    """

    def __init__(self, table: Table, broken: Sequence[BrokenRun], store: Store | None = None) -> None:
        self.table = table
        self.broken = tuple(broken)
        self._folder = None if store is None else store.folder
        super().__init__(self._render())

    def __reduce__(self) -> tuple[Any, ...]:
        return EvenflowError, (str(self),)

    def _render(self, most: int = 10) -> str:
        total, finished = len(self.table) + len(self.broken), len(self.table)
        kept = f" and kept in {self._folder}" if self._folder is not None else ""
        rest = f"; the other {finished:,} {'is' if finished == 1 else 'are'} finished{kept}" if finished else ""
        lines = [f"{len(self.broken):,} of {counted(total, 'run')} broke{rest}.", *map(str, self.broken[:most])]
        if len(self.broken) > most:
            lines.append(f"  … and {len(self.broken) - most:,} more")
        folders = {run.file.parent for run in self.broken if run.file is not None}
        lines += [f"The scenarios are kept in {folder}." for folder in sorted(folders)]
        return "\n".join(lines)


def _measure(metric: Metric, run: Run) -> float | None:
    return metric(run) if callable(metric) else run.metric(metric)


def _keyword(label: str) -> str:
    return label.replace(".", "_").replace("-", "_")


def number_of(label: Label) -> float:
    """A label as a number: 8, or the number in front of a unit ("50 ms" -> 50.0).

    Raises:
        KeyError: it is neither.
    """
    if isinstance(label, (int, float)):
        return float(label)
    try:
        return float(label.split()[0])
    except (ValueError, IndexError):
        raise KeyError(f"“{label}” is not a number; give x as a function of the labels") from None


def _or_none(value: float) -> float | None:
    import math

    return value if math.isfinite(value) else None


def _column(values: list[Any]) -> list[Any]:
    """Values of one kind: labels that mix numbers and texts become texts."""
    kinds = {type(v) for v in values if v is not None}
    return [None if v is None else str(v) for v in values] if str in kinds and len(kinds) > 1 else values


def _lists(tree: Mapping[str, Any], above: str = "") -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, value in tree.items():
        dotted = f"{above}.{name}" if above else name
        if isinstance(value, Mapping):
            found |= _lists(value, dotted)
        elif isinstance(value, list) and all(v is None or isinstance(v, (int, float)) for v in value):
            found[dotted] = [_number(v) for v in value]
    return found


def default_jobs() -> int:
    """One job a core this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


AHEAD_S = 0.5
"""So much work a worker is claimed and handed over at once, as far as the cost of a run is known."""
MOST_AHEAD = 16
"""Most runs a worker that are claimed at once."""
LOOK_S = (0.02, 0.5)
"""First and longest pause between looks at what other processes compute."""


TICK_S = 1.0
"""Between two looks at how many workers there are."""
MOST_KEPT_BROKEN = 100
"""Most scenarios of a study's broken runs that are written to files."""
MOST_LOST = 3
"""So often a run is computed again after it was lost with its worker."""


class _Job(NamedTuple):
    """A run that is to be computed."""

    key: str
    tree_json: str
    seed: int


_Outcome = tuple[str, "Result | BaseException"]
"""A key, and its run or what went wrong."""


class _Submission:
    """Runs in flight: at most `window`, so that a large study neither floods an executor nor holds all its results, and
    that processes which share a study end together.

    Args:
        jobs: workers of this process; None for an executor whose workers are not known.
    """

    workers: int | None = None

    def __init__(self, executor: Executor, jobs: int | None) -> None:
        self.executor = executor
        self.jobs = jobs
        self.window = 256 if jobs is None else jobs
        self.pending: dict[Future[Any], Any] = {}

    def room(self, queue: Collection[str]) -> int:
        """How many runs to claim now: 0 while all workers are busy and half of the window is full, for batches."""
        busy = len(self.pending)
        return self.window - busy if busy <= max((self.jobs or 1) - 1, self.window // 2) else 0

    def submit(self, jobs: Sequence[_Job]) -> None:
        """Hand runs to the workers."""
        for job in jobs:
            self.pending[self.executor.submit(execute, job.tree_json, job.seed)] = job.key

    def finished(self, timeout: float | None = None) -> list[_Outcome]:
        """Wait for some to end."""
        from concurrent.futures import FIRST_COMPLETED, wait

        wait(self.pending, timeout=timeout, return_when=FIRST_COMPLETED)
        return self.ended()

    def ended(self) -> list[_Outcome]:
        """What has ended."""
        return [_outcome(self.pending.pop(future), future) for future in [f for f in self.pending if f.done()]]

    def learn(self, elapsed_s: float, runs: int) -> None:
        """Fit the window to what runs have cost so far."""
        if self.jobs is not None and runs:
            each = max(elapsed_s * self.jobs / runs, 1e-9)
            self.window = round(self.jobs * min(max(AHEAD_S / each, 1), MOST_AHEAD))

    def cancel(self) -> None:
        """Give up what has not begun."""
        for future in self.pending:
            future.cancel()


class _Batches(_Submission):
    """Runs in flight on other machines, in batches that are sized by what runs of their scenario have cost.

    A batch takes about `Workers.batch_s`; towards a study's end less, so that the workers end together. What is lost
    with a worker goes out again, each run by itself, so that one which kills its workers is found.
    """

    def __init__(self, executor: Workers, kind_of: Callable[[str], str]) -> None:
        super().__init__(executor, None)
        self.hosts = executor
        self.kind_of = kind_of
        """The scenario hash of a key."""
        self.batch_s = executor.batch_s
        self.lost: dict[str, int] = {}
        self.cancelled = False

    def room(self, queue: Collection[str]) -> int:
        """How many runs to claim now."""
        self.workers = self.hosts.slots()
        most = self.hosts.ahead * max(self.workers, 1)
        free = most - len(self.pending)
        if free <= 0:
            return 0
        mean = self.hosts.costs.mean
        if mean is None:
            return free
        share = len(queue) * mean / (2 * most)
        self.batch_s = min(self.hosts.batch_s, max(share, self.hosts.least_s))
        wanted, count = free * self.batch_s, 0
        for key in queue:
            if wanted <= 0:
                break
            wanted -= self._cost(key)
            count += 1
        return max(count, 1)

    def _cost(self, key: str) -> float:
        cost = self.hosts.costs.of(self.kind_of(key))
        return self.batch_s if cost is None else cost

    def submit(self, jobs: Sequence[_Job]) -> None:
        """Hand runs to the workers."""
        batch: list[_Job] = []
        cost = 0.0
        for job in jobs:
            batch.append(job)
            cost += self._cost(job.key)
            if cost >= self.batch_s:
                self._send(batch)
                batch, cost = [], 0.0
        if batch:
            self._send(batch)

    def _send(self, batch: list[_Job]) -> None:
        from .. import _core
        from .cluster import execute_batch

        runs = [(job.tree_json, job.seed) for job in batch]
        self.pending[self.executor.submit(execute_batch, runs, _core.ENGINE_ID, self.hosts.study)] = batch

    def finished(self, timeout: float | None = None) -> list[_Outcome]:
        """Wait for some to end, and see who is there to do it."""
        found = super().finished(TICK_S if timeout is None else min(timeout, TICK_S))
        self.workers = self.hosts.slots()
        return found

    def ended(self) -> list[_Outcome]:
        """What has ended. What was lost is submitted again."""
        found: list[_Outcome] = []
        for future in [f for f in self.pending if f.done()]:
            batch: list[_Job] = self.pending.pop(future)
            try:
                outcomes = future.result()
            except BaseException as error:
                why = self.hosts.lost(error)
                if why is None:
                    found.append((batch[0].key, self.hosts.explained(error)))
                else:
                    found += self._again(batch, why)
                continue
            for job, (outcome, seconds) in zip(batch, outcomes, strict=False):
                if isinstance(outcome, Interrupted):  # another study's end met it
                    found += self._again([job], "it was interrupted")
                    continue
                self.hosts.costs.learn(self.kind_of(job.key), seconds)
                found.append((job.key, RunError(str(outcome)) if isinstance(outcome, EvenflowError) else outcome))
            found += self._again(batch[len(outcomes) :], "it was interrupted")
        return found

    def _again(self, batch: Sequence[_Job], why: str) -> list[_Outcome]:
        found: list[_Outcome] = []
        for job in () if self.cancelled else batch:
            self.lost[job.key] = self.lost.get(job.key, 0) + 1
            if self.lost[job.key] > MOST_LOST:
                title = json.loads(job.tree_json).get("title", "untitled")
                text = f"A run of “{title}”, seed {job.seed}, was lost {self.lost[job.key]} times: {why}. "
                error = RunError(text + "It may need more memory or time than a worker has.")
                found.append((job.key, error))
            else:
                self._send([job])
        return found

    def learn(self, elapsed_s: float, runs: int) -> None:
        """Costs are measured on the workers."""

    def cancel(self) -> None:
        """Give up everything."""
        self.cancelled = True
        self.hosts.stop()
        super().cancel()


def _outcome(key: str, future: Future[Result]) -> _Outcome:
    try:
        return key, _checked(future)
    except BaseException as error:
        return key, error


def run_study(
    study: Study,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    on_run: Callable[[Progress], None] | None = None,
    precision: Precision | None = None,
    what: str = "study",
) -> Table:
    """Run what the store does not hold yet and return all of it.

    Args:
        study: points and seeds. With `precision` its seeds are the batches 1…10, 11…20, … instead.
        store: where finished runs are kept, each as it finishes; None keeps them in memory only.
        jobs: runs at once in this process; default: one a core.
        executor: any `concurrent.futures.Executor` instead (process pool, Dask's `Client.get_executor()`,
            submitit); it is not shut down. `evenflow.workers("dask-local:4")` gives one whose workers are counted, and
            which gets runs in batches sized by what they cost.
        progress: a bar on the terminal, from two seconds on.
        on_run: called in this thread after every run and once before the first.
        what: the word in front of the progress bar.

    Raises:
        ScenarioError: a point is not valid.
        BrokenRuns: some runs broke; it has the table of the others, which are all finished, and in the store's folder
            `failed` are the scenarios.
        Interrupted: Ctrl-C; finished runs are in the store.
        StoreError: the store cannot be written; what was committed stays.
    """
    from concurrent.futures import ThreadPoolExecutor

    from .store import key_of

    jobs = default_jobs() if jobs is None else jobs
    if jobs < 1:
        raise UsageError(f"{jobs} jobs: at least 1 is needed.")
    free, plan_bytes = available_memory(), study.runs * PLANNED_BYTES
    if free is not None and plan_bytes > free:
        raise EvenflowError(
            f"To plan {study.runs:,} runs takes about {gib(plan_bytes)} of memory; {gib(free)} are free here. "
            f"Use fewer replications or values, at most {counted(free // PLANNED_BYTES, 'run')}, or split the study."
        )
    texts = [point.scenario.to_json() for point in study.points]
    hashes = [point.scenario.hash for point in study.points]
    largest = max(study.points, key=lambda p: p.scenario.core.memory_bytes).scenario
    at_once = jobs if executor is None else getattr(executor, "on_this_machine", 1)
    if at_once:
        require_memory(largest, min(at_once, study.runs), copies=STORED if store is not None else 0)

    state = Progress(total=study.runs if precision is None else len(study.points) * BATCH)
    runs: dict[tuple[int, int], Run] = {}
    wanted: dict[str, list[tuple[int, int]]] = {}
    """Key -> (point, seed) of runs that are not there yet; points that are the same scenario share a run."""
    queue: deque[str] = deque()
    elsewhere: dict[str, None] = {}
    """Keys of runs that other processes compute."""
    batches = dict.fromkeys(range(len(study.points)), 0)
    broken: dict[str, BrokenRun] = {}
    """Runs that broke, by key."""
    without: dict[tuple[int, int], BrokenRun] = {}
    """The same by (point, seed)."""

    def keep(key: str, record: Record, cached: bool) -> list[int]:
        """A run is there. Returns the points that it belongs to."""
        entries = wanted.pop(key)
        elsewhere.pop(key, None)
        for index, (point, seed) in enumerate(entries):
            own = record if index == 0 else record.copy()
            own.scenario = study.points[point].scenario
            runs[point, seed] = Run(point, study.points[point].labels, seed, own, cached=cached)
            state.done += 1
            state.cached += cached
            state.elsewhere = len(elsewhere)
            bar.update(state)
            if on_run is not None:
                on_run(state)
        return list(dict.fromkeys(point for point, _ in entries))

    def miss(point: int, seed: int, run: BrokenRun) -> None:
        without[point, seed] = replace(run, labels=study.points[point].labels)
        state.broken = len(without)
        bar.update(state)

    def gave_up(errors: Sequence[tuple[str, RunError]]) -> None:
        """These runs broke: keep their scenarios, and go on without them."""
        if store is not None:  # others would wait for them
            store.release([key for key, _ in errors])
        for key, error in errors:
            entries = wanted.pop(key)
            point, seed = entries[0]
            run = BrokenRun(study.points[point].labels, seed, study.points[point].scenario, str(error))
            if store is not None and len(broken) < MOST_KEPT_BROKEN:
                with suppress(StoreError):
                    run = replace(run, file=store.keep_broken(run.scenario, seed, run.why))
            broken[key] = run
            for point, seed in entries:
                miss(point, seed, run)
            if precision is not None:
                for point in dict.fromkeys(point for point, _ in entries):
                    queue.extendleft(reversed(next_batch(point)))

    def plan(point: int, seeds: Iterable[int]) -> list[str]:
        """Take what the store holds. Returns the keys of the rest."""
        missing = []
        todo = iter(seeds)
        while some := [(key_of(hashes[point], seed), seed) for seed in islice(todo, PLANNED_AT_ONCE)]:
            there = store.there([key for key, _ in some]) if store is not None else frozenset()
            for key, seed in some:
                if key in broken:
                    miss(point, seed, broken[key])
                    continue
                if key in wanted:
                    wanted[key].append((point, seed))
                    continue
                wanted[key] = [(point, seed)]
                found = store.get(key) if store is not None and key in there else None
                if found is None:
                    missing.append(key)
                else:
                    keep(key, found, True)
        return missing

    def next_batch(point: int) -> list[str]:
        """Plan the point's next ten seeds, until its runs are precise enough."""
        assert precision is not None
        missing: list[str] = []
        while True:
            have = batches[point]
            seeds = range(1, have + 1)
            if any((point, seed) not in runs and (point, seed) not in without for seed in seeds):
                return missing
            done = [runs[point, seed] for seed in seeds if (point, seed) in runs]
            if have >= MOST_REPLICATIONS or (have and (not done or precision.met(done))):
                return missing
            batches[point] = have + BATCH
            if have:
                state.total += BATCH
            missing += plan(point, range(have + 1, have + BATCH + 1))

    def arrived(key: str, record: Record, cached: bool) -> None:
        """A run is there; plan what it leaves to be done."""
        points = keep(key, record, cached)
        if precision is not None:
            for point in points:
                queue.extendleft(reversed(next_batch(point)))

    def sort(claimed: Claimed) -> list[str]:
        """Take what other processes have finished, and remember what they compute. Returns what this one is to do."""
        assert store is not None
        elsewhere.update(dict.fromkeys(claimed.elsewhere))
        for key in claimed.finished:
            found = store.get(key)
            if found is not None:
                arrived(key, found, True)
            else:  # damaged, and thrown away
                elsewhere.pop(key, None)
                queue.append(key)
        for key in claimed.mine:
            elsewhere.pop(key, None)
        return claimed.mine

    def take(room: int) -> list[str]:
        """Take runs from the queue that nobody else computes."""
        if store is None:
            return [queue.popleft() for _ in range(min(room, len(queue)))]
        claimed = store.claim(queue, room)
        for _ in range(claimed.looked_at):
            queue.popleft()
        return sort(claimed)

    def submit(keys: Sequence[str]) -> None:
        def job(key: str) -> _Job:
            point, seed = wanted[key][0]
            return _Job(key, texts[point], seed)

        flight.submit([job(key) for key in keys])

    def row(key: str, result: Result) -> tuple[str, str, int, Result]:
        point, seed = wanted[key][0]
        return key, hashes[point], seed, result

    own = ThreadPoolExecutor(jobs, thread_name_prefix="evenflow") if executor is None else None
    flight = _flight(own or executor, jobs if own else None, lambda key: hashes[wanted[key][0][0]])  # type: ignore[arg-type]
    with progress_bar(what, progress) as bar:
        try:
            if on_run is not None:
                on_run(state)
            for point in range(len(study.points)):
                queue.extend(plan(point, study.seeds) if precision is None else next_batch(point))
            if store is not None and queue:
                if store.read_only:
                    raise StoreError(_not_there(len(queue), state.total, store))
                queue.rotate(-store.start_at(len(queue)))
            computed, started = 0, time.perf_counter()
            pause, looked = LOOK_S[0], started
            while queue or flight.pending or elsewhere:
                room = flight.room(queue) if queue else 0
                if room:
                    submit(take(room))
                if flight.pending:
                    good, bad, failed = _sorted(flight.finished(pause if elsewhere else None))
                    if flight.workers != state.workers:
                        state.workers = flight.workers
                        bar.update(state)
                    rows = [row(key, result) for key, result in good]
                    records = [r.record() for *_, r in rows] if store is None or not rows else store.put_all(rows)
                    computed += len(rows)
                    flight.learn(time.perf_counter() - started, computed)
                    for (key, _), record in zip(good, records, strict=True):
                        arrived(key, record, False)
                    if bad:
                        gave_up(bad)
                    if failed is not None:
                        raise failed
                elif elsewhere and not queue:
                    time.sleep(pause)
                if store is not None and elsewhere and time.perf_counter() - looked >= pause:
                    before = len(elsewhere)
                    submit(sort(store.claim(list(elsewhere), max(flight.room(queue), 1))))
                    pause = LOOK_S[0] if len(elsewhere) < before else min(2 * pause, LOOK_S[1])
                    looked = time.perf_counter()
        except BaseException as error:
            _stop(flight, own, store, row)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(_interrupted(state, store)) from None
            raise
        finally:
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
                from .. import _core

                _core.clear_stop()
    scenarios = {index: point.scenario for index, point in enumerate(study.points)}
    there = {point for point, _ in runs}
    left_out = [
        study.points[point].labels for point in dict.fromkeys(p for p, _ in sorted(without)) if point not in there
    ]
    table = Table(runs.values(), elapsed_s=state.elapsed_s, scenarios=scenarios, left_out=left_out)
    if without:
        raise BrokenRuns(table, [run for _, run in sorted(without.items(), key=lambda item: item[0])], store)
    return table


def _flight(executor: Executor, jobs: int | None, kind_of: Callable[[str], str]) -> _Submission:
    if jobs is None:
        from .cluster import Workers

        if isinstance(executor, Workers):
            return _Batches(executor, kind_of)
    return _Submission(executor, jobs)


def _sorted(
    outcomes: Iterable[_Outcome],
) -> tuple[list[tuple[str, Result]], list[tuple[str, RunError]], BaseException | None]:
    """What came out well, what broke by itself, and the first error that ends the study: none of them loses another."""
    good: list[tuple[str, Result]] = []
    bad: list[tuple[str, RunError]] = []
    failed: BaseException | None = None
    for key, outcome in outcomes:
        if isinstance(outcome, RunError):
            bad.append((key, outcome))
        elif isinstance(outcome, BaseException):
            failed = failed or outcome
        else:
            good.append((key, outcome))
    return good, bad, failed


def _checked(future: Future[Result]) -> Result:
    from .. import _core

    result = future.result()
    if result.engine != _core.ENGINE_ID:
        raise EvenflowError(
            f"A worker runs another engine ({result.engine}) than this process ({_core.ENGINE_ID}): "
            "install the same build on both."
        )
    return result


def _stop(
    flight: _Submission,
    own: ThreadPoolExecutor | None,
    store: Store | None,
    row: Callable[[str, Result], tuple[str, str, int, Result]],
) -> None:
    """End what is under way, keep what has finished meanwhile, and leave the rest to other processes."""
    from .. import _core

    flight.cancel()
    if own is not None:
        _core.request_stop()
        own.shutdown(wait=True, cancel_futures=True)
    if store is None or store.read_only:
        return
    with suppress(EvenflowError):
        good, _, _ = _sorted(flight.ended())
        if good:
            store.put_all([row(key, result) for key, result in good])
        store.release()


def _not_there(missing: int, total: int, store: Store) -> str:
    from .store import ENVIRONMENT

    return (
        f"{missing:,} of {total:,} runs are not in the store {store.folder}, which can only be read. "
        f"Name another with the environment variable {ENVIRONMENT}."
    )


def _interrupted(state: Progress, store: Store | None) -> str:
    after = f"Interrupted after {state.done:,} of {counted(state.total, 'run')}"
    if store is None or not state.done:
        return f"{after}; nothing was stored."
    it_is = "it is" if state.done == 1 else "they are"
    return f"{after}; {it_is} kept in {store.folder}. Run the same command again to go on from there."
