"""Finished runs of a study as tables, whatever finished first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import stats
from ..errors import EvenflowError
from ..scenario import paths
from ..scenario.scenario import Scenario
from ..scenario.sweep import Label, Labels, nearest_label
from ..words import counted
from .record import PROVENANCE, Record, derived, engine_of, flatten

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .notes import Note
    from .store import Store

__all__ = ["BrokenRun", "BrokenRuns", "Curve", "Origin", "Run", "RunView", "Table"]

MOST_ROWS = 30
"""Points in a notebook's view of a table."""

Metric: TypeAlias = "str | Callable[[Run], float | None]"


class Run:
    """One finished run of a study: its labels, its seed, its numbers."""

    __slots__ = ("cached", "labels", "memo", "point", "record", "seed")

    def __init__(self, point: int, labels: Labels, seed: int, record: Record, *, cached: bool = False) -> None:
        self.point = point
        self.labels = labels
        self.seed = seed
        self.record = record
        """The whole record."""
        self.cached = cached
        """True if it came from the store."""
        self.memo: dict[Any, Any] = {}
        """Values that were computed from the record, by measure and options."""

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
class Origin:
    """Description in a study's folder: the scenario with its `[sweep]`, the seeds, the engine and the command."""

    scenario: Scenario
    seeds: Sequence[int]
    engine: str
    version: str
    command: str


def number(value: float | None) -> float:
    """NaN for None."""
    return float("nan") if value is None else float(value)


_GAPS: ContextVar[list[Labels] | None] = ContextVar("gaps", default=None)


@contextmanager
def noticing_gaps() -> Iterator[list[Labels]]:
    """Collect the points that are missing from a table when a caller asks for all points of a kind.

    A claim about a grid does not hold on a part of the grid.
    """
    gaps: list[Labels] = []
    token = _GAPS.set(gaps)
    try:
        yield gaps
    finally:
        _GAPS.reset(token)


def notice(left_out: Iterable[Labels]) -> None:
    """Report points that a caller asked for and the table lacks."""
    gaps = _GAPS.get()
    if gaps is not None:
        gaps.extend(left_out)


class Table:
    """Finished runs in (point, seed) order."""

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
        """Labels of points of the study that have no run: left out at this scale, or broken."""
        self.elapsed_s = elapsed_s
        """Wall time of the computation in this process; short if most runs came from the store."""
        self.scenarios: Mapping[int, Scenario] = scenarios or {}
        """Point number -> scenario; empty for a table built from a list of runs."""
        self.origin = origin
        """Description of the study's folder from which the table was opened; else None."""

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
        """Sum of the wall times of all runs when they were computed, in s."""
        return float(sum(run.json.get("wall_s") or 0.0 for run in self.runs))

    @property
    def engines(self) -> list[str]:
        """Ids of the engines that computed the runs (one, unless tables were joined)."""
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

        rates = [n for n in self.metric_names() if n.startswith("groups.") and n.endswith(".throughput_bps")]
        factors = dict.fromkeys(rates, 1e-6) | dict.fromkeys(self.group_times(), 1e3)
        names = list(factors)
        labels = list(dict.fromkeys(label for point in self.points() for label in point))
        rows = []
        for index, (point, found) in enumerate(self.summaries(names)):
            if index == MOST_ROWS:
                rows.append(["…", *[""] * (len(labels) + len(names) - 1)])
                break
            cells = [
                f"{found[n].mean * by:.4g} ± {found[n].half_width * by:.2g}" for n, by in factors.items() if n in found
            ]
            rows.append([*(str(point.get(label, "–")) for label in labels), *cells] or ["–"])
        headings = [*labels, *(f"{n.removeprefix('groups.').removesuffix('.throughput_bps')} (Mbit/s)" for n in rates)]
        headings += [f"{n.removeprefix('groups.').replace('_s_', ' ')} (ms)" for n in names[len(rates) :]]
        caption = f"{len(self.runs)} runs at {len(self.points())} points: mean ± half the 95 % interval"
        notes = " ".join(f"{note.code}: {note.text}" for note, _ in self.notes())
        return html_table(caption, headings, rows, notes)

    def notes(self) -> list[tuple[Note, list[int]]]:
        """Notes on the runs (docs/measuring.md), each once, with the text of its first run and its points.

        Points are positions in `points()`. [] if the scenarios are unknown.
        """
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
            raise KeyError(f"{len(points)} points match { ({**(where or {}), **labels}) }; set {', '.join(free)} too")
        return table

    def values(self, metric: Metric, where: Mapping[str, Label] | None = None, **labels: Label) -> NDArray[np.float64]:
        """One point's metric, one value a seed in seed order, shape (n,); NaN where a run could not define it.

        Args:
            metric: a dotted name, or a function of the run.
            where, labels: must select one point. In a keyword, `_` replaces a label's dots.

        Raises:
            KeyError: no point or more than one matches, or no such metric; the message names the nearest.
        """
        import numpy as np

        table = self._one_point(where, labels)
        return np.array([number(_measure(metric, run)) for run in table.runs], dtype=np.float64)

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
            x: a function of the labels, or a label. The label's values are numbers, or quantities with one unit.
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
                raise KeyError(f"more than one point at x = {position}; select one by {sorted(run.labels)}")
            at.setdefault(position, []).append(run)
        xs = sorted(at)
        found = [stats.mean_interval([number(_measure(metric, run)) for run in at[p]], level) for p in xs]
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
            provenance: also `engine`, `folded`, `wall_s`, `cpu_s`, which may differ between two equal runs.
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
        return list(self._metric_names)

    @cached_property
    def _metric_names(self) -> dict[str, None]:
        return dict.fromkeys(name for run in self.runs for name, _ in flatten(run.json))

    def derived_names(self) -> list[str]:
        """Metrics that follow from others: "groups.G.users_throughput_bps_p5", "groups.G.throughput_share"."""
        return list(dict.fromkeys(name for run in self.runs[:1] + self.runs[-1:] for name in derived(run.json)))

    def group_times(self) -> list[str]:
        """Median and 99th percentile of the transfers of each group, else of its round trips, else of its packets."""
        defined = {name for run in self.runs for name, value in flatten(run.json) if value is not None}
        found: list[str] = []
        for group in dict.fromkeys(group for run in self.runs for group in run.json.get("groups", {})):
            at = paths.render(("groups", group))
            for field in ("transfers.completion_s", "rtt_s", "delay_s"):
                both = [f"{at}.{field}_{p}" for p in ("p50", "p99")]
                if defined.issuperset(both):
                    found += both
                    break
        return found

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
                    values = [number(row.get(name)) for row in flat]
                else:
                    values = [number(run.metric(name)) for run in runs] if metrics is not None else []
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
        over: str | None = None,
        panels: str | Sequence[str] = (),
        width: float | None = None,
        height: float | None = None,
    ) -> Figure:
        """The runs as a figure: means with 95 % intervals over a swept label (docs/figures.md).

        Args:
            metric: dotted names, with `*`, or their last segments ("utilisation"); default: each group's throughput,
                utilisation and delay of the link that queues. A recorded distribution over packets, such as
                "groups.call.delay", is drawn as "cdf", "ccdf" or "box".
            x: the label along the axis; with `kind="scatter"` a metric; default: the one with most numbers.
            by: labels that make the lines; default: all others.
            rows, columns: labels that make rows and columns of panels.
            series: recorded series instead of metrics, over time.
            kind: "line", "interval", "box", "cdf", "ccdf", "scatter" or "timeline"; default: what suits.
            seeds: "mean", or "each" to show every run as well.
            over: "runs" for a distribution of one number per run; default: of packets or users where there are any.
            panels: several panels in place of metrics, each KIND:NAME: "cdf:groups.call.delay". "time:" shows the
                first run of each point.
            width, height: inches, kept exactly; default: 6.4 inches, and the height that suits.

        Raises:
            UsageError: unknown names, every one of them with the nearest; or a choice that leaves several points in one
                place.
        """
        from ..show import methods

        return methods.plot_table(self, metric, x, by, rows, columns, series, kind, seeds, over, panels, width, height)

    def to_json(self, metrics: Sequence[str] = ()) -> dict[str, Any]:
        """The document of `study --json`, with those of the `metrics` that follow from others."""
        counts = Counter(run.point for run in self.runs)
        points = []
        more = self.summaries([name for name in self.derived_names() if name in metrics])
        for (labels, found), (_, also), n in zip(self.summaries(), more, counts.values(), strict=True):
            each = {
                name: {"mean": mean, "sd": sd, "ci95": [lo, hi], "n": i.n}
                for name, i in {**found, **also}.items()
                for mean, sd, lo, hi in [map(_or_none, (i.mean, i.sd, i.lo, i.hi))]
            }
            points.append({"set": dict(labels), "n": n, "metrics": each})
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
            found[dotted] = [number(v) for v in value]
    return found
