"""The house style, and the few plots a study needs.

Figures are for a journal: axes with units, legends in words, 95 % confidence bands, colours that colour-blind
readers can tell apart and line styles that survive a grey printer. They are deterministic: the same table gives the
same SVG, byte for byte.

Colours: M. Okabe and K. Ito, "Color universal design" (2008). Its yellow is left out: too pale for lines on white.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import stats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from ..run.record import Record
    from ..run.study import Curve, Label, Labels, Metric, Table

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Blue, vermilion, green, purple, sky blue, orange, black: in this order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
WIDTH = 6.4
"""Inches of a figure with one panel; two or three panels side by side take `PANEL` each."""
PANEL = 3.6

STYLE: dict[str, Any] = {
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs everywhere
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "svg.hashsalt": "evenflow",
    "svg.fonttype": "path",
    "savefig.bbox": "tight",
}


@contextmanager
def style() -> Iterator[None]:
    """The house style inside a `with`; nothing global is changed."""
    import matplotlib
    from cycler import cycler

    settings: dict[Any, Any] = {**STYLE, "axes.prop_cycle": cycler(color=list(COLOURS))}
    with matplotlib.rc_context(settings):
        yield


def figure(
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float] | None = None,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A new figure and its axes, row by row. Needs no display: figures are drawn to files.

    Args:
        size: inches; default: one wide panel, or panels side by side.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = WIDTH if columns == 1 else PANEL * columns
    with style():
        made = Figure(figsize=size or (width, 3.0 * rows if columns > 1 else 3.4 * rows))
        FigureCanvasAgg(made)
        axes = made.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False)
    return made, [axes[r][c] for r in range(rows) for c in range(columns)]


def line_with_band(
    ax: Axes,
    table: Table,
    metric: Metric,
    x: str | Callable[[Labels], float],
    where: Mapping[str, Label] | None = None,
    *,
    label: str | None = None,
    scale: float = 1.0,
    index: int | None = None,
    dashes: str | None = None,
    level: float = stats.LEVEL,
    **style: Any,
) -> Curve:
    """Draw a metric over a label: line, markers, and its confidence band.

    Args:
        metric: a dotted name, or a function of the run.
        x: a label with numbers or quantities, or a function of the labels.
        where: the labels that single out this line.
        label: in words, for the legend.
        scale: multiplies the metric (1e-6 for Mbit/s, 1e3 for ms).
        index: colour and marker number; default: the next free one of these axes.
        dashes: a matplotlib line style.

    Returns:
        What was drawn, scaled.
    """
    from ..run.study import Curve

    found = table.curve(metric, x, where, level=level)
    drawn = Curve(found.x, found.mean * scale, found.lo * scale, found.hi * scale, found.n)
    band(ax, drawn, label=label, index=index, dashes=dashes, **style)
    return drawn


def band(
    ax: Axes,
    curve: Curve,
    *,
    label: str | None = None,
    index: int | None = None,
    dashes: str | None = None,
    **style: Any,
) -> Line2D:
    """Draw a ready curve with its band; where the interval is unbounded only the mean is drawn."""
    import numpy as np

    number = sum(1 for line in ax.get_lines() if line.get_gid() == "mean") if index is None else index
    colour = style.pop("color", COLOURS[number % len(COLOURS)])
    marker = style.pop("marker", MARKERS[number % len(MARKERS)])
    (line,) = ax.plot(curve.x, curve.mean, dashes or "-", color=colour, marker=marker, label=label, gid="mean", **style)
    finite = np.isfinite(curve.lo) & np.isfinite(curve.hi)
    lo, hi = np.where(finite, curve.lo, np.nan), np.where(finite, curve.hi, np.nan)
    ax.fill_between(curve.x, lo, hi, color=colour, alpha=0.18, linewidth=0)
    return line


def name_axes(ax: Axes, x: str, y: str, *, title: str | None = None, zero: bool = True, legend: bool = True) -> None:
    """Finish a panel.

    Axis titles with units, y from 0 unless told otherwise, a legend if there is anything to tell apart.
    """
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, loc="left")
    if zero:
        ax.set_ylim(bottom=0)
    if legend and len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend()


def histogram(
    ax: Axes,
    shares: Sequence[float],
    *,
    label: str | None = None,
    index: int = 0,
    first: float = 0,
    width: float = 0.8,
    shift: float = 0.0,
) -> None:
    """Bars of shares over whole numbers `first`, `first` + 1, …; `shift` puts several schemes side by side."""
    positions = [first + i + shift for i in range(len(shares))]
    ax.bar(positions, shares, width=width, color=COLOURS[index % len(COLOURS)], label=label)


def svg(made: Figure) -> str:
    """The figure as SVG text: no date, fixed ids."""
    with style():
        out = io.StringIO()
        made.savefig(out, format="svg", metadata={"Date": None, "Creator": "Evenflow"})
    return out.getvalue()


def save(made: Figure, path: str | Path) -> Path:
    """Write a figure by its suffix: `.svg`, `.pdf` (both without dates) or `.png` (200 dpi)."""
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    known: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": "Evenflow"},
        "pdf": {"CreationDate": None},
        "png": {"Software": "Evenflow"},
    }
    if kind not in known:
        raise ValueError(f"{path}: figures are written as .svg, .pdf or .png")
    path.parent.mkdir(parents=True, exist_ok=True)
    with style():
        made.savefig(path, format=kind, metadata=known[kind], dpi=200)
    return path


def study(
    table: Table,
    metric: str,
    x: str | None = None,
    *,
    by: Sequence[str] | None = None,
    scale: float = 1.0,
    ylabel: str | None = None,
) -> Figure:
    """A metric over one swept label, a line for every setting of the others.

    Args:
        table: finished runs.
        metric: a dotted metric name.
        x: the label along the axis; default: the swept label with most values that are numbers.
        by: labels that make the lines; default: all others.
        scale: multiplies the metric.
        ylabel: the axis title; default: the metric's name.

    Raises:
        KeyError: no label with numbers to plot over, or an unknown label or metric.
    """
    names = list(dict.fromkeys(name for labels in table.points() for name in labels))
    along = x if x is not None else _numeric_label(table, names)
    others = [name for name in names if name != along] if by is None else list(by)
    settings = list(
        dict.fromkeys(tuple(labels[name] for name in others if name in labels) for labels in table.points())
    )
    made, (ax,) = figure()
    for setting in settings:
        where = dict(zip(others, setting, strict=False))
        words = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in where.items())
        line_with_band(ax, table, metric, along, where, label=words or None, scale=scale)
    name_axes(ax, _axis_title(table, along), ylabel or metric)
    return made


def series(record: Record, *names: str, scale: float = 1.0, ylabel: str = "value") -> Figure:
    """Recorded series of one run over time; all of them if none is named."""
    made, (ax,) = figure()
    for index, name in enumerate(names or record.series_names):
        times, values = record.arrays(name)
        ax.plot(times, values * scale, color=COLOURS[index % len(COLOURS)], label=name, linewidth=1.0)
    name_axes(ax, "time (s)", ylabel, zero=False)
    return made


def _numeric_label(table: Table, names: Sequence[str]) -> str:
    from ..run.study import number_of

    best, most = "", 1
    for name in names:
        values = table.label_values(name)
        try:
            for value in values:
                number_of(value)
        except KeyError:
            continue
        if len(values) > most:
            best, most = name, len(values)
    if not best:
        raise KeyError(f"nothing to plot over: no label has several numbers; labels: {', '.join(names) or 'none'}")
    return best


def _axis_title(table: Table, label: str) -> str:
    units = {value.partition(" ")[2] for value in table.label_values(label) if isinstance(value, str)}
    unit = units.pop() if len(units) == 1 else ""
    name = label.rpartition(".")[2] if label.count(".") < 2 else ".".join(label.split(".")[-2:])
    return f"{name} ({unit})" if unit else name
