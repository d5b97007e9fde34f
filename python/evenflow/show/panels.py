"""Figures of papers as data: panels of measured values (`evenflow.values`), which `drawing` draws.

    figure = Figures(words=WORDS, axes={"f0": "TCP flows f0 of the heavy user"})
    fig04 = figure(curves(TR(), x="f0", log="y", marks=[Mark(y=1)]), curves(Q(), x="f0"), looks=Looks("scheme"))

Each set of the labels that are not on the axis is a line. One label chooses colour and marker, one the dashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..judge.values import Cell, Labels, Shown, Values, with_labels, worded
from ..run.study import Curve
from ..stats import LEVEL, Interval, mean_interval
from .names import Quantity
from .picture import Arrow, Box, Line, Mark, Panel, Picture, Scale

if TYPE_CHECKING:
    from ..judge.lab import Vocabulary

Range: TypeAlias = "tuple[float | None, float | None]"
INTERVAL, BARS, SMOOTH, STEPS, LINE, SCATTER = "interval", "bars", "smooth", "steps", "line", "scatter"
DIAGRAM, TABLE, PATH = "diagram", "table", "path"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PANEL = 3.6
"""Inches of a panel's width."""


@dataclass(frozen=True)
class Looks:
    """Which labels choose a line's looks, and its words in the legend."""

    colour: str | tuple[str, ...] = ""
    dash: str | tuple[str, ...] = ""
    legend: str = ""


@dataclass(frozen=True)
class Spec:
    """A panel before its runs are there. Empty texts are the figure's, or those of the metric and of the label."""

    kind: str
    values: tuple[Values, ...]
    x: str = ""
    y: str = ""
    x_title: str = ""
    title: str = ""
    log: str = ""
    x_range: Range = (None, None)
    y_range: Range = (0.0, None)
    ticks: tuple[float, ...] = ()
    whole: bool = False
    marks: Sequence[Mark] = ()
    looks: Looks | None = None
    least: float = -math.inf
    """Bounds of intervals do not go below, for logarithmic axes."""
    linear: float = 0.0
    """A logarithmic axis with zeros is linear up to here."""
    levels: tuple[Values, ...] = ()
    """Values drawn across, in the colour of the lines with the same label."""
    row: str = ""
    """Of dots: a row's words, a template; then `looks` tell apart what is in one row."""
    printed: Callable[..., float | None] | None = None
    """Of dots and curves: what was published, a function of the labels that it asks for."""
    accepted: Callable[..., tuple[float, float] | None] | None = None
    """Of dots: the accepted range, likewise."""
    across: Values | None = None
    """Of a scatter plot: what is on the axis of x."""
    boxes: Sequence[Box] = ()
    arrows: Sequence[Arrow] = ()
    cells: Callable[[Shown], list[list[str]]] | None = None


def curves(*values: Values, x: str, **options: Any) -> Spec:
    """Means with bands over the label `x`.

    Args:
        options: the fields of `Spec`.
    """
    return Spec(LINE, values, x, **options)


def drawn(*values: Values, x_title: str, steps: bool = False, **options: Any) -> Spec:
    """Ready curves (`Curve`), one a cell: over time, say; or a list of curves, the first one thick, the others thin."""
    return Spec(STEPS if steps else SMOOTH, values, x_title=x_title, **options)


def scatter(x: Values, y: Values, /, **options: Any) -> Spec:
    """Values over others at the same points, means with intervals in both directions; a line a set of looks."""
    return Spec(SCATTER, (y,), across=x, x_title=options.pop("x_title", x.title), **options)


def path(x: Values, y: Values, /, *, along: str, **options: Any) -> Spec:
    """Values over others as a line in the order of a label, with intervals in both directions."""
    return Spec(PATH, (y,), along, across=x, x_title=options.pop("x_title", x.title), **options)


def dots(*values: Values, **options: Any) -> Spec:
    """Means with intervals, a row a cell; or a row for each text of the template `row`."""
    return Spec(INTERVAL, values, **options)


def bars(*values: Values, x: str, **options: Any) -> Spec:
    """Bars with intervals over a label with whole numbers."""
    return Spec(BARS, values, x, **options)


def diagram(boxes: Sequence[Box], arrows: Sequence[Arrow] = (), **options: Any) -> Spec:
    """Boxes with words, and arrows."""
    return Spec(DIAGRAM, (), boxes=boxes, arrows=arrows, **options)


def table(cells: Callable[[Shown], list[list[str]]], **options: Any) -> Spec:
    """Texts in rows, the headings first."""
    return Spec(TABLE, (), cells=cells, **options)


@dataclass(frozen=True)
class Figures:
    """What the figures of a paper share.

    Attributes:
        words: labels in words.
        axes: labels as axis titles.
        level: of intervals.
    """

    words: Vocabulary
    axes: Mapping[str, str]
    level: float = LEVEL

    def __call__(
        self,
        *panels: Spec,
        looks: Looks = Looks(),
        by: Sequence[str] = (),
        columns: int = 0,
        height: float = 3.6,
        width: float = PANEL,
        own_legends: bool = False,
        shared: bool = False,
    ) -> Callable[[Shown], Picture]:
        """A figure of panels.

        Args:
            by: labels of which each combination has all panels. Values without these labels are in every panel.
            columns: panels side by side; 0 = all.
            height: inches of a row of panels; 0 = what the rows of dots need.
            width: inches of a panel.
            own_legends: a legend under each panel instead of one for all.
            shared: panels of a row have one vertical axis, all panels one horizontal axis.
            looks: of panels that have none of their own.
        """
        wide = columns or len(panels)

        def made(shown: Shown) -> Picture:
            measured = [[it.cells(shown) for it in spec.values] for spec in panels]
            combinations = _combinations([cell for spec in measured for cells in spec for cell in cells], by)
            chosen = [_Chosen() for _ in panels]
            found: list[Panel] = []
            for of in combinations:
                for spec, cells, looked in zip(panels, measured, chosen, strict=True):
                    letter = LETTERS[len(found)] if len(panels) * len(combinations) > 1 else ""
                    title = "   ".join(filter(None, [spec.title or letter, self._said(of)]))
                    one = replace(spec, looks=spec.looks or looks, title=title)
                    one = replace(one, levels=tuple(_ready(_inside(it.cells(shown), of)) for it in spec.levels))
                    if spec.across is not None:
                        one = replace(one, across=_ready(_inside(spec.across.cells(shown), of)))
                    panel = self._panel(one, shown, [_inside(it, of) for it in cells], looked)
                    if panel.lines or spec.kind in (DIAGRAM, TABLE):
                        found.append(panel)
            size = (max(6.4, width * wide), height * math.ceil(len(found) / wide))
            return Picture(LINE, found, wide, own_legends=own_legends, faceted=shared, size=size)

        return made

    def _panel(self, spec: Spec, shown: Shown, measured: Sequence[Sequence[Cell]], chosen: _Chosen) -> Panel:
        looks = spec.looks or Looks()
        rows: dict[str, int] = {}

        def line(text: str, labels: Labels, curve: Curve) -> Line:
            colour, dash = chosen.looks(looks, labels)
            bounds = _finite(np.maximum(curve.lo, spec.least), curve.hi)
            return Line(text, curve.x, curve.mean, *bounds, curve.n, colour=colour, dash=dash)

        lines: list[Line] = []
        for labels, curve, others in self._curves(spec, measured):
            text = worded(looks.legend, labels, self.words) if looks.legend else self._said(labels)
            if spec.kind == INTERVAL:
                row = worded(spec.row, labels, self.words) if spec.row else f"{text}{chr(8203) * (text in rows)}"
                curve = replace(curve, x=np.array([float(rows.setdefault(row, len(rows)))]))
                text = text if spec.row else ""
            made = line(text, labels, curve)
            if spec.across is not None:
                x = self._across(spec, shown, labels)
                made.x, (made.x_lo, made.x_hi) = x.mean, _finite(x.lo, x.hi)
            made.each = [(it.x, it.mean) for it in others]
            if spec.printed is not None:
                places: list[Labels] = [{spec.x: x} for x in curve.x] if spec.kind == LINE else [{}]
                made.printed = np.array([_or_nan(with_labels(spec.printed, {**labels, **at})) for at in places])
            if spec.accepted is not None:
                lo, hi = with_labels(spec.accepted, labels) or (math.nan, math.nan)
                made.accepted = np.array([lo]), np.array([hi])
            lines.append(made)
        if (spec.kind == INTERVAL and spec.row) or spec.kind == SCATTER:
            lines = _one_a_setting(lines)
        low, high = spec.y_range
        low = low if low or "y" not in spec.log else None
        linear = spec.linear
        zeros = "x" in spec.log and spec.kind != INTERVAL and any((it.x <= 0).any() for it in lines)
        first, last = spec.x_range
        first = 0.0 if zeros and first is None else first
        near_zero = linear if zeros or spec.kind == INTERVAL else 0.0
        return Panel(
            Quantity(spec.x_title or self.axes.get(spec.x, spec.x)),
            Quantity(spec.y or next((it.title for it in spec.values if it.title), "")),
            lines,
            spec.title,
            categories=list(rows),
            kind=spec.kind,
            x_scale=Scale("x" in spec.log, first, last, spec.ticks, spec.whole, near_zero),
            y_scale=Scale("y" in spec.log, low, high, linear=0.0 if spec.log == "x" else linear),
            marks=list(spec.marks),
            levels=[
                line(worded(looks.legend, labels, self.words), labels, self._curve([0.0], [value]))
                for values in spec.levels
                for labels, value in values.cells(shown)
            ],
            boxes=list(spec.boxes),
            arrows=list(spec.arrows),
            cells=spec.cells(shown) if spec.cells else [],
        )

    def _across(self, spec: Spec, shown: Shown, labels: Labels) -> Curve:
        """The values on the axis of x of the line with these labels, in the order of its points."""
        assert spec.across is not None
        if spec.kind == SCATTER:
            return self._curve([0.0], [value for at, value in spec.across.cells(shown) if at == labels])
        return next(it for at, it, _ in self._curves(spec, [spec.across.cells(shown)]) if at == labels)

    def _said(self, labels: Labels) -> str:
        return ", ".join(worded(f"{{{name}}}", labels, self.words) for name in labels)

    def _curves(
        self, spec: Spec, measured: Sequence[Sequence[Cell]]
    ) -> Iterator[tuple[Labels, Curve, Sequence[Curve]]]:
        for cells in measured:
            if spec.kind in (SMOOTH, STEPS, INTERVAL, SCATTER):
                for labels, value in cells:
                    if isinstance(value, list):
                        yield labels, value[0], value[1:]
                    else:
                        yield labels, value if isinstance(value, Curve) else self._curve([0.0], [value]), ()
                continue
            groups: dict[tuple[Any, ...], tuple[dict[str, Any], list[tuple[Any, Any]]]] = {}
            for labels, value in cells:
                if spec.x in labels:
                    rest = {name: it for name, it in labels.items() if name != spec.x}
                    groups.setdefault(tuple(rest.items()), (rest, []))[1].append((labels[spec.x], value))
            for rest, found in groups.values():
                found.sort(key=lambda it: it[0])
                yield rest, self._curve([x for x, _ in found], [value for _, value in found]), ()

    def _curve(self, grid: Sequence[float], values: Sequence[Any]) -> Curve:
        found = [
            it.at(self.level) if isinstance(it, Interval) else mean_interval(np.atleast_1d(it), self.level)
            for it in values
        ]
        mean = np.array([i.mean if math.isfinite(i.mean) else math.nan for i in found])
        lo, hi, n = (np.array([getattr(i, name) for i in found]) for name in ("lo", "hi", "n"))
        return Curve(np.array(grid, dtype=np.float64), mean, lo, hi, n)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _one_a_setting(lines: Sequence[Line]) -> list[Line]:
    """Dots with the same words as one line over several rows."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.words, []).append(line)

    def joined(them: Sequence[Line], name: str) -> Any:
        return np.concatenate([getattr(line, name) for line in them])

    made = []
    for words, them in found.items():
        first = them[0]
        arrays = {name: joined(them, name) for name in ("x", "y", "lo", "hi", "n")}
        one = Line(words, **arrays, colour=first.colour, dash=first.dash)
        if first.x_lo is not None:
            one.x_lo, one.x_hi = joined(them, "x_lo"), joined(them, "x_hi")
        if first.printed is not None:
            one.printed = joined(them, "printed")
        if first.accepted is not None:
            lo, hi = zip(*(line.accepted for line in them if line.accepted is not None), strict=True)
            one.accepted = np.concatenate(lo), np.concatenate(hi)
        made.append(one)
    return made


def _finite(lo: Any, hi: Any) -> tuple[Any, Any]:
    """Bounds where both are finite, else none."""
    both = np.isfinite(lo) & np.isfinite(hi)
    return np.where(both, lo, math.nan), np.where(both, hi, math.nan)


@dataclass
class _Chosen:
    """Colours and dashes in the order in which lines ask for them; the same in all panels of a combination."""

    colours: dict[Any, int] = field(default_factory=dict)
    dashes: dict[Any, int] = field(default_factory=dict)

    def looks(self, looks: Looks, labels: Labels) -> tuple[int, int]:
        """Colour and dash of a line with these labels."""
        colour, dash = (
            tuple(labels.get(name) for name in ([it] if isinstance(it, str) else it))
            for it in (looks.colour, looks.dash)
        )
        return self.colours.setdefault(colour, len(self.colours)), self.dashes.setdefault(dash, len(self.dashes))


def _combinations(cells: Sequence[Cell], names: Sequence[str]) -> list[dict[str, Any]]:
    """The combinations of these labels that some cell has, the first label outermost."""
    there = {tuple(of[name] for name in names): None for of, _ in cells if all(name in of for name in names)} or {
        (): None
    }
    values = [list(dict.fromkeys(it[place] for it in there)) for place in range(len(next(iter(there))))]
    return [dict(zip(names, it, strict=False)) for it in product(*values) if it in there]


def _ready(cells: list[Cell]) -> Values:
    """Values that are measured."""
    return Values(lambda shown: cells)


def _inside(cells: Sequence[Cell], of: Mapping[str, Any]) -> list[Cell]:
    """The cells with these labels, which they lose, and those without any of them."""
    return [
        ({name: it for name, it in labels.items() if name not in of}, value)
        for labels, value in cells
        if all(labels.get(name, it) == it for name, it in of.items())
    ]
