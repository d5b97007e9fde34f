"""A figure as data: panels, lines, intervals, marks. `drawing` draws it; `Picture.frame` gives its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .names import Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from ..run.notes import Note

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """An axis that is not chosen by the data: logarithmic or not, from `lo` to `hi` (None: as the data), its ticks."""

    log: bool = False
    lo: float | None = None
    hi: float | None = None
    ticks: tuple[float, ...] = ()
    whole: bool = False
    """Ticks at whole numbers only."""
    linear: float = 0.0
    """Of a logarithmic axis with zeros: linear up to here."""


Place: TypeAlias = "float | tuple[float, float]"


@dataclass(frozen=True)
class Mark:
    """Something to compare the data with.

    A line at `x` or at `y`, or a band where that is a range; a point where both are numbers; the diagonal y = x where
    neither is given.
    """

    x: Place | None = None
    y: Place | None = None
    words: str = ""
    colour: int | None = None
    """Of a point: the number of the line that it belongs to."""


@dataclass(frozen=True)
class Box:
    """A box of a diagram with words in it; without a frame only words."""

    x: float
    y: float
    words: str
    frame: bool = True


@dataclass(frozen=True)
class Arrow:
    """An arrow of a diagram between two places; `head` = False: a line."""

    start: tuple[float, float]
    end: tuple[float, float]
    words: str = ""
    head: bool = True


@dataclass
class Line:
    """One line, row of dots, or group of boxes. Arrays of one shape (k,); NaN where undefined."""

    words: str
    x: Floats
    y: Floats
    lo: Floats
    hi: Floats
    n: NDArray[np.int64]
    colour: int = 0
    dash: int = 0
    setting: str = ""
    owner: str = ""
    """The two parts of the words: what was set (its colour and marker), and whose it is (its dashes)."""
    samples: list[Floats] = field(default_factory=list)
    """The values behind each mean, where they are drawn."""
    each: list[tuple[Floats, Floats]] = field(default_factory=list)
    """Each run's own line, where it is drawn."""
    x_lo: Floats | None = None
    x_hi: Floats | None = None
    printed: Floats | None = None
    """What was published at these places, NaN where nothing."""
    accepted: tuple[Floats, Floats] | None = None
    """The ranges that are accepted there."""
    binned: bool = False
    """From histograms: a distribution has straight lines between edges of bins, boxes have whiskers at 5 and 95 %."""


@dataclass
class Panel:
    """A pair of axes; `categories` are the names on the axis of x, where it has no numbers."""

    x: Quantity
    y: Quantity
    lines: list[Line]
    title: str = ""
    row: str = ""
    """What holds in a row of panels."""
    categories: list[str] = field(default_factory=list)
    y_categories: Sequence[str] = ()
    """Names of the values 0, 1, … on the axis of y, as of states."""
    link: str = ""
    """What the panel's lines are of, where that is one thing."""
    kind: str = ""
    """Where it is not the picture's."""
    x_scale: Scale | None = None
    y_scale: Scale | None = None
    marks: list[Mark] = field(default_factory=list)
    levels: list[Line] = field(default_factory=list)
    """Values without a place, drawn across: what is without the thing that is varied."""
    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    """Of a diagram."""
    cells: list[list[str]] = field(default_factory=list)
    """Of a table: the headings, then its rows."""


@dataclass
class Picture:
    """A figure as data."""

    kind: str
    panels: list[Panel]
    columns: int = 1
    legend_title: str = ""
    caption: str = ""
    warmup_s: float = 0.0
    own_legends: bool = False
    """Panels have lines of their own, and a legend each."""
    faceted: bool = False
    """Panels show the same quantities at different labels, so that their axes are shared."""
    size: tuple[float, float] | None = None
    """Inches, where it has a size of its own."""
    notes: list[Note] = field(default_factory=list)
    """What a reader of the figure may miss."""

    def relabelled(self, title: str | None, factor: float | None) -> Picture:
        """The same with a title and a factor of one's own on the axis of y."""
        if title is None and factor is None:
            return self
        for panel in self.panels:
            old = panel.y
            by = factor / old.factor if factor is not None else 1.0
            panel.y = Quantity(title or old.words, old.unit, "" if title else old.shown, old.factor * by)
            if title is not None:
                panel.link = ""
            panel.lines = [scaled(line, by) for line in panel.lines]
        return self

    def frame(self) -> pl.DataFrame:
        """The numbers of the figure, in the units of its axes.

        Returns:
            One row for each point of each line: `panel`, `line`, `x`, `x_name`, `x_unit`, `y`, `lo`, `hi` (95 %
                interval, null where there is none), `n` (runs), `y_name`, `y_unit`. With values behind the means:
                one row each, `of` = "value" instead of "mean".
        """
        import polars as pl

        rows: list[dict[str, Any]] = []
        for panel in self.panels:
            base = {
                "panel": panel.title if not panel.row else f"{panel.row}, {panel.title}".strip(", "),
                "x_name": panel.x.words,
                "x_unit": panel.x.shown,
            }
            base |= {"y_name": panel.y.words, "y_unit": panel.y.shown}
            for line in panel.lines:
                for i in range(len(line.x)):
                    at: Any = panel.categories[round(line.x[i])] if panel.categories else _or_none(line.x[i])
                    row = {**base, "line": line.words, "of": "mean", "x": at, "y": _or_none(line.y[i])}
                    row |= {"lo": _or_none(line.lo[i]), "hi": _or_none(line.hi[i]), "n": int(line.n[i])}
                    rows.append(row)
                    values = line.samples[i] if i < len(line.samples) else ()
                    alone = {**row, "of": "value", "lo": None, "hi": None, "n": 1}
                    rows.extend({**alone, "y": _or_none(value)} for value in values)
                for xs, ys in line.each:
                    for x, y in zip(xs, ys, strict=True):
                        row = {**base, "line": line.words, "of": "run", "x": _or_none(x), "y": _or_none(y)}
                        rows.append({**row, "lo": None, "hi": None, "n": 1})
        order = ("panel", "line", "of", "x", "x_name", "x_unit", "y", "lo", "hi", "n", "y_name", "y_unit")
        return pl.DataFrame({c: [row[c] for row in rows] for c in order}, strict=False)


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def scaled(line: Line, by: float) -> Line:
    """The same line in another unit."""
    if by == 1.0:
        return line
    return replace(
        line,
        y=line.y * by,
        lo=line.lo * by,
        hi=line.hi * by,
        samples=[sample * by for sample in line.samples],
        each=[(x, y * by) for x, y in line.each],
    )
