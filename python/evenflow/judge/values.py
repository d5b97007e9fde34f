"""Values by label and seed: a metric at the points of an experiment, and arithmetic on it.

    TR = Metric(ratio, "throughput ratio TR")
    short, long = (TR(scheme="ABC", delay_ms=delay) for delay in (5, 50))
    short / long                            # one array of seeds for each number of flows

A label with one value selects points and disappears. A list or a condition (`between(2)`) selects points and stays, as
do other labels. Two values are matched by their common labels, and paired by seed. Values are computed when a claim, a
note or a figure needs them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise, product
from types import FunctionType, MethodType
from typing import Any, TypeAlias

import numpy as np

from ..run.study import Curve, Label, Run, Table
from ..run.table import notice, noticing_gaps
from ..stats import Interval, mean_interval
from ..stats import ratio_of_means as _ratio_of_means
from .claims import number
from .lab import Floats, Vocabulary, chosen_by_others, peak, plain, trough

Labels: TypeAlias = Mapping[str, Label]
Value: TypeAlias = "Floats | float | Interval | Curve | list[Curve]"
Cell: TypeAlias = "tuple[Labels, Any]"
"""Labels and a `Value`, or something that `map` makes one of."""
Wanted: TypeAlias = "Label | Sequence[Label] | Callable[[Any], bool]"
"""One value, some values, or a condition."""


@dataclass(frozen=True)
class Shown:
    """Finished experiments by name without the paper's key, the one that is meant if none is named, and the options."""

    key: str
    data: Mapping[str, Table]
    first: str = ""
    options: Any = None

    def table(self, name: str) -> Table:
        """An experiment's runs; KeyError where it was not run."""
        return self.data[f"{self.key}-{name or self.first}"]


@cache
def _asked(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The names of a function's parameters, and whether it takes any others."""
    found = inspect.signature(function).parameters
    return frozenset(found), any(it.kind is it.VAR_KEYWORD for it in found.values())


def with_labels(function: Callable[..., Any], labels: Labels, *first: Any) -> Any:
    """Call a function with the labels that it asks for by name; with all of them if it takes any (`**labels`)."""
    names, every = _asked(function)
    return function(*first, **{name: label for name, label in labels.items() if every or name in names})


@cache
def _needs(function: Callable[..., Any]) -> int:
    """How many arguments a function cannot do without."""
    if not isinstance(function, (FunctionType, MethodType, partial)):
        return 1
    return sum(
        it.default is it.empty and it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)
        for it in inspect.signature(function).parameters.values()
    )


def with_options(function: Callable[..., Any], options: Any, it: Any) -> Any:
    """Call a function of one thing, or of that and the paper's options."""
    return function(it, options) if _needs(function) > 1 else function(it)


def between(lo: float = -math.inf, hi: float = math.inf) -> Callable[[Any], bool]:
    """The condition lo ≤ label ≤ hi."""
    return lambda value: lo - 1e-9 <= value <= hi + 1e-9


def _fits(labels: Labels, name: str, wanted: Wanted) -> bool:
    if name not in labels:
        return False
    if callable(wanted):
        return bool(wanted(labels[name]))
    return labels[name] in wanted if isinstance(wanted, (list, tuple)) else labels[name] == wanted


class Values:
    """A quantity by label. A cell has labels, and one value a seed, a ready interval or curve, or a plain number."""

    def __init__(self, cells: Callable[[Shown], Iterable[Cell]], title: str = "") -> None:
        self._cells = cells
        self.title = title
        """Of an axis, with the unit."""

    def cells(self, shown: Shown) -> list[Cell]:
        """The cells, in the order of the experiment's points."""
        return list(self._cells(shown))

    def where(self, condition: Callable[..., bool]) -> Values:
        """The cells whose labels fulfil a condition: `where(lambda r0, r1: r0 + r1 > 10)`."""
        return Values(
            lambda shown: [cell for cell in self._cells(shown) if with_labels(condition, cell[0])], self.title
        )

    def at(self, **labels: Wanted) -> Values:
        """The cells with these labels, as in `Metric`."""
        return Values(lambda shown: _select(self._cells(shown), labels), self.title)

    def map(self, function: Callable[..., Value]) -> Values:
        """A function of each cell's value, and of the labels that it asks for: `map(lambda v, f0: v / f0)`."""
        return Values(lambda shown: [(labels, with_labels(function, labels, v)) for labels, v in self._cells(shown)])

    def labelled(self, **labels: Label) -> Values:
        """The same with more labels."""
        return Values(lambda shown: [({**known, **labels}, it) for known, it in self._cells(shown)], self.title)

    def unlabelled(self, name: str) -> Values:
        """The same without a label."""
        return Values(
            lambda shown: [({k: v for k, v in known.items() if k != name}, it) for known, it in self._cells(shown)]
        )

    def at_points_of(self, other: Values) -> Values:
        """The values at the points that others have."""
        return paired(other, self, lambda theirs, ours: ours)

    def reduce(self, along: str, function: Callable[[list[Any], Floats], Value]) -> Values:
        """A function of each curve along a label: of its grid, and of its values of shape (grid, seeds)."""
        return Values(lambda shown: [(rest, function(grid, curve)) for rest, grid, curve in self.curves(shown, along)])

    def steps(self, along: str) -> Values:
        """Each step of a curve along a label, a later value less the earlier one; labels `before` and `after`."""

        def found(shown: Shown) -> Iterator[Cell]:
            for rest, grid, curve in self.curves(shown, along):
                for (a, low), (b, high) in pairwise(zip(grid, curve, strict=True)):
                    yield {**rest, "before": a, "after": b}, high - low

        return Values(found)

    def ends(self, along: str, function: Callable[[Floats, Floats], Floats]) -> Values:
        """A function of each curve's first and last value, with labels `before` and `after`."""

        def found(shown: Shown) -> Iterator[Cell]:
            for rest, grid, curve in self.curves(shown, along):
                with np.errstate(divide="ignore", invalid="ignore"):
                    yield {**rest, "before": grid[0], "after": grid[-1]}, function(curve[0], curve[-1])

        return Values(found)

    def last_less_first(self, along: str) -> Values:
        """The last value of each curve less its first."""
        return self.ends(along, lambda first, last: last - first)

    def last_over_first(self, along: str) -> Values:
        """The last value of each curve over its first."""
        return self.ends(along, lambda first, last: last / first)

    def peak(self, along: str) -> Values:
        """The highest value of each curve, at the place that the other seeds choose; labelled with the mean's place."""
        return self._extreme(along, peak)

    def trough(self, along: str) -> Values:
        """The lowest value of each curve, as `peak`."""
        return self._extreme(along, trough)

    def _extreme(self, along: str, which: Callable[[list[float], Floats], tuple[float, Floats]]) -> Values:
        def found(shown: Shown) -> Iterator[Cell]:
            for rest, grid, curve in self.curves(shown, along):
                place, values = which(grid, curve)
                yield {**rest, along: place}, values

        return Values(found)

    def curves(self, shown: Shown, along: str) -> Iterator[tuple[dict[str, Label], list[Any], Floats]]:
        """For each set of the other labels: the grid along this label, ascending if numeric, and the values."""
        groups: dict[tuple[tuple[str, Label], ...], list[tuple[Any, Value]]] = {}
        for labels, value in self._cells(shown):
            if along in labels:
                rest = tuple((k, v) for k, v in labels.items() if k != along)
                groups.setdefault(rest, []).append((labels[along], value))
        for rest, found in groups.items():
            if all(isinstance(x, (int, float)) for x, _ in found):
                found.sort(key=lambda it: it[0])
            yield dict(rest), [x for x, _ in found], np.array([value for _, value in found])

    def __add__(self, other: Values | float) -> Values:
        return paired(self, other, lambda a, b: a + b)

    def __sub__(self, other: Values | float) -> Values:
        return paired(self, other, lambda a, b: a - b)

    def __mul__(self, other: Values | float) -> Values:
        return paired(self, other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Values:
        return self.map(lambda v: other - v)

    def __truediv__(self, other: Values | float) -> Values:
        def divide(a: Any, b: Any) -> Any:
            with np.errstate(divide="ignore", invalid="ignore"):
                return a / b

        return paired(self, other, divide)


@dataclass(frozen=True)
class Metric:
    """A named number of a run. Called with labels it gives its `Values` at the points of an experiment.

    Attributes:
        measure: a function of the run, or of the run and the paper's options; or a dotted name of the record.
        title: for axes, with the unit.
        per: the number is divided by it: 1e6 for Mbit/s.
    """

    measure: Callable[..., float | None] | str
    title: str = ""
    per: float = 1.0

    def of(self, run: Run, options: Any = None) -> float:
        """Its value in a run; NaN where undefined. Several claims use one value, so the run keeps it."""
        key = self.measure, options
        if key not in run.memo:
            asked = self.measure
            run.memo[key] = run.metric(asked) if isinstance(asked, str) else with_options(asked, options, run)
        found = run.memo[key]
        return math.nan if found is None else found / self.per

    def __call__(self, on: str = "", /, **labels: Wanted) -> Values:
        """Its values at the points with these labels.

        Args:
            on: an experiment, "fig04"; the claim's or figure's own if empty.
        """

        def cells(shown: Shown) -> list[Cell]:
            return [
                (kept, np.array([self.of(run, shown.options) for run in runs], dtype=np.float64))
                for kept, runs in points(shown.table(on), labels)
            ]

        return Values(cells, self.title)


def points(table: Table, wanted: Mapping[str, Wanted]) -> list[tuple[Labels, list[Run]]]:
    """The points with these labels, and their runs; labels with one value are gone. Gaps of the grid are noticed."""
    exact = {name: value for name, value in wanted.items() if not callable(value)}
    notice(labels for labels in table.left_out if all(_fits(labels, *it) for it in exact.items()))
    found: dict[int, tuple[Labels, list[Run]]] = {}
    for run in table.runs:
        found.setdefault(run.point, (run.labels, []))[1].append(run)
    return _select(found.values(), wanted)


def _select(cells: Iterable[tuple[Labels, Any]], wanted: Mapping[str, Wanted]) -> list[tuple[Labels, Any]]:
    gone = {name for name, value in wanted.items() if not callable(value) and not isinstance(value, (list, tuple))}
    return [
        ({k: v for k, v in labels.items() if k not in gone}, it)
        for labels, it in cells
        if all(_fits(labels, *one) for one in wanted.items())
    ]


def computed(function: Callable[..., Value], **grids: Sequence[Label]) -> Values:
    """A function of labels over their grids; it needs no run."""
    return Values(
        lambda shown: [
            (labels, function(**labels))
            for labels in (dict(zip(grids, them, strict=True)) for them in product(*grids.values()))
        ]
    )


def of_runs(function: Callable[..., Value], on: str = "", **labels: Wanted) -> Values:
    """A function of each point's runs together, or of these and the options."""
    return Values(
        lambda shown: [
            (kept, with_options(function, shown.options, runs)) for kept, runs in points(shown.table(on), labels)
        ]
    )


def pooled(function: Callable[[list[Run]], Value], on: str = "", **labels: Wanted) -> Values:
    """A function of the runs of all points with these labels."""
    return Values(lambda shown: [({}, function([run for _, runs in points(shown.table(on), labels) for run in runs]))])


def together(function: Callable[..., Value], *values: Values, along: str) -> Values:
    """A function of the curves of several quantities along a label, each of shape (grid, seeds)."""

    def found(shown: Shown) -> Iterator[Cell]:
        for them in zip(*(it.curves(shown, along) for it in values), strict=True):
            yield them[0][0], function(*(curve for _, _, curve in them))

    return Values(found)


def given(condition: Callable[[Any], bool], it: Values | float) -> Values:
    """Values if the paper's options fulfil a condition, otherwise none: for sentences of notes."""
    values = it if isinstance(it, Values) else computed(lambda: it)
    return Values(lambda shown: values.cells(shown) if condition(shown.options) else [])


def joined(*values: Values) -> Values:
    """One after another."""
    return Values(lambda shown: [cell for it in values for cell in it.cells(shown)], values[0].title)


def ratio_of_means(top: Values, bottom: Values) -> Values:
    """Mean over mean with Fieller's interval: for points where a run's divisor may vanish."""
    return paired(top, bottom, _ratio_of_means)


def worse_of(*values: Values) -> Values:
    """The largest of several quantities, chosen for each seed by the other seeds."""

    def found(shown: Shown) -> Iterator[Cell]:
        for cells in zip(*(it.cells(shown) for it in values), strict=True):
            yield cells[0][0], chosen_by_others(np.array([value for _, value in cells]), range(len(cells)))

    return Values(found)


def paired(one: Values, other: Values | float, function: Callable[[Any, Any], Any]) -> Values:
    """A function of each cell and of the one among others that agrees in the labels that it has."""
    if not isinstance(other, Values):
        return one.map(lambda v: function(v, other))

    def found(shown: Shown) -> Iterator[Cell]:
        left = one.cells(shown)
        with noticing_gaps() as gaps:  # of a partner that is missing only
            right = other.cells(shown)
        for labels, value in left:
            partners = [it for it in right if all(labels[n] == v for n, v in it[0].items() if n in labels)]
            if len(partners) == 1:
                yield {**partners[0][0], **labels}, function(value, partners[0][1])
            elif partners:
                raise KeyError(f"{len(partners)} points match {dict(labels)}")
            elif gaps:
                notice(gaps)
            else:
                raise KeyError(f"no point matches {dict(labels)}")

    return Values(found)


# --- In words -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A label in a template: `{r0}` as the paper's vocabulary says it, `{r0:g}` as a number.

    A vocabulary may have several forms of a label: `{scheme:short}` is its entry "scheme:short". The ends of a step are
    values of another label: `{after:f0}` is written like `f0`.
    """

    name: str
    value: Label
    vocabulary: Vocabulary

    def __format__(self, spec: str) -> str:
        form = f"{self.name}:{spec}" if spec else self.name
        if form in self.vocabulary:
            return self.vocabulary[form](self.value)
        if spec in self.vocabulary and self.name in ("before", "after"):
            return self.vocabulary[spec](self.value)
        if spec:
            return format(self.value, spec)
        return plain(self.value) if self.name in ("before", "after") else f"{self.name} = {plain(self.value)}"


def worded(template: str, labels: Labels, vocabulary: Vocabulary) -> str:
    """A template with its labels in words."""
    if "{" not in template:
        return template
    return template.format_map({name: Word(name, value, vocabulary) for name, value in labels.items()})


def short(value: float) -> str:
    """Three digits."""
    return number(float(f"{value:.3g}"))


def span(values: Iterable[float]) -> str:
    """ "0.4 to 0.48": the smallest and the largest that are finite."""
    found = [value for value in values if math.isfinite(value)]
    if not found:
        return "undefined"
    lo, hi = short(min(found)), short(max(found))
    return lo if lo == hi else f"{lo} to {hi}"


@dataclass(frozen=True)
class Said:
    """Values in a note: `{x}` is the range of the means, `{x:runs}` that of single runs, `{x:max}` the largest mean."""

    values: Sequence[Value]

    def __format__(self, spec: str) -> str:
        if spec == "runs":
            return span(float(v) for values in self.values for v in _each(values))
        means = [_mean(value) for value in self.values]
        finite = [mean for mean in means if math.isfinite(mean)]
        if spec == "max":
            return short(max(finite)) if finite else "undefined"
        return span(means) if not spec else ", ".join(format(mean, spec) for mean in means)


def _each(value: Value) -> Iterable[float]:
    if isinstance(value, (Curve, list)):
        return []
    if isinstance(value, Interval):
        return [] if value.runs is None else value.runs
    return np.atleast_1d(np.asarray(value, dtype=np.float64))


def _mean(value: Value) -> float:
    if isinstance(value, (Curve, list)):
        return math.nan
    if isinstance(value, Interval):
        return value.mean
    if isinstance(value, (int, float)):
        return float(value)
    return mean_interval(value[np.isfinite(value)]).mean if np.isfinite(value).any() else math.nan


@dataclass(frozen=True)
class Listed:
    """Cells in a note, one after another: a template with `{value}` and the cell's labels."""

    template: str
    values: Values
    between: str = "; "

    def text(self, shown: Shown, vocabulary: Vocabulary) -> str:
        """The cells in words."""
        return self.between.join(
            self.template.format_map(
                {"value": Said([value]), **{name: Word(name, label, vocabulary) for name, label in labels.items()}}
            )
            for labels, value in self.values.cells(shown)
        )


listed = Listed
Named: TypeAlias = "Values | Listed | float"


def filled(
    parts: Sequence[str],
    values: Mapping[str, Named],
    shown: Shown,
    vocabulary: Vocabulary,
    also: Mapping[str, Any] | None = None,
) -> str:
    """A text of templates with measured values; a part whose values are not among the runs shown is left out.

    Raises:
        KeyError: of an experiment that was not run, if nothing is left.
    """
    known = Filling(values, shown, vocabulary, also or {})
    said, missing = [], None
    for part in parts:
        try:
            said.append(part.format_map(known))
        except Absent:
            continue
        except KeyError as error:
            missing = error
    if not said and missing is not None:
        raise missing
    return " ".join(said)


class Absent(Exception):
    """A note asks for points that are not among the runs shown."""


class Filling(dict[str, Any]):
    """The fields of a template, measured when they are asked for."""

    def __init__(
        self, values: Mapping[str, Named], shown: Shown, vocabulary: Vocabulary, also: Mapping[str, Any]
    ) -> None:
        super().__init__(also)
        self.values_, self.shown, self.vocabulary = values, shown, vocabulary

    def __getitem__(self, name: str) -> Any:
        it = self.values_[name] if name in self.values_ else super().__getitem__(name)
        if isinstance(it, Listed):
            it = it.text(self.shown, self.vocabulary)
        elif isinstance(it, Values):
            it = Said([value for _, value in it.cells(self.shown)])
        if it == "" or it == 0 or (isinstance(it, Said) and not it.values):
            raise Absent(name)
        return it
