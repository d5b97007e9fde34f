"""The house style, and the few drawing helpers that every figure here is made of.

Figures are for a journal: of the exact size that was asked for, with TrueType fonts, axes with units, legends beside
the data, 95 % confidence bands, colours that colour-blind readers can tell apart, each at least 3 : 1 against white,
and dashes and markers that survive a grey printer. They are deterministic: the same table gives the same SVG, byte for
byte. Text stays text in SVG, so that it can be searched and edited.

`record.plot()` and `table.plot()`: `pictures` chooses, `picture` is the figure as data, `drawing` draws it.

Colours: M. Okabe and K. Ito, "Color universal design" (2008). Its yellow, sky blue and orange are too pale for lines on
white (1.3, 2.3 and 2.3 : 1); violet and brown are in their place, the pair that is farthest from the others for normal,
protan, deutan and tritan sight.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import UsageError
from ..words import clean

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    from ..run.study import Curve, Label, Labels, Table
    from ..run.table import Metric

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6A1FC0", "#6B3A10", "#000000")
"""Blue, vermilion, green, purple, violet, brown, black: in this order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
WIDTH = 6.4
"""Inches of a figure with one panel; two or three panels side by side take `PANEL` each."""
PANEL = 3.6
LEGEND_SHARE = 0.36
"""Most of a figure's width that a legend beside the data may take; a wider one goes below."""
WORDS = 30
"""Letters after which a line of a legend is broken."""
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Evenflow"},
    "pdf": {"CreationDate": None, "Creator": "Evenflow"},
    "png": {"Software": "Evenflow"},
}
"""What figures say about themselves: never when they were made."""

STYLE: dict[str, Any] = {
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    # DejaVu Sans comes with matplotlib: the same glyphs everywhere. The others are for viewers of SVG without it.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Bitstream Vera Sans", "Verdana", "Geneva", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 3.0,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "svg.hashsalt": "evenflow",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.bbox": "standard",
    "savefig.dpi": 200,
}


@contextmanager
def style() -> Iterator[None]:
    """The house style inside a `with`; nothing global is changed."""
    import matplotlib
    from cycler import cycler

    settings: dict[Any, Any] = {**STYLE, "axes.prop_cycle": cycler(color=list(COLOURS))}
    with matplotlib.rc_context(settings):
        yield


@cache
def _class() -> type[Figure]:
    """Figures that stay in the house style when somebody else saves or shows them."""
    from matplotlib.figure import Figure

    class HouseFigure(Figure):
        def savefig(self, fname: Any, **options: Any) -> None:
            kind = str(options.get("format") or Path(str(fname)).suffix.lstrip(".")).lower()
            with style():
                super().savefig(fname, **{"metadata": METADATA.get(kind), **options})

        def draw(self, renderer: Any) -> None:
            with style(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph .* missing")  # shown as a box
                super().draw(renderer)

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            """What a notebook shows, at twice the resolution of its screen."""
            out = io.BytesIO()
            self.savefig(out, format="png", dpi=200)
            width, height = self.get_size_inches() * 100
            return out.getvalue(), {"width": round(width), "height": round(height)}

    return HouseFigure


def empty(width: float, height: float) -> Figure:
    """A new figure of this size in inches, without axes. Needs no display: figures are drawn to files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with style():
        made = _class()(figsize=(width, height))
        FigureCanvasAgg(made)
    return made


def figure(
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float] | None = None,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A new figure and its axes, row by row.

    Args:
        size: inches, kept exactly in every file; default: one wide panel, or panels side by side.
    """
    width = WIDTH if columns == 1 else PANEL * columns
    made = empty(*(size or (width, 3.0 * rows if columns > 1 else 3.4 * rows)))
    with style():
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
    **style_options: Any,
) -> Curve:
    """Draw a metric over a label: line, markers, and its confidence band.

    Args:
        metric: a dotted name, or a function of the run.
        x: a label with numbers or quantities, or a function of the labels.
        where: the labels that single out this line.
        label: in words, for the legend.
        scale: multiplies the metric (1e-6 for Mbit/s, 1e3 for ms).
        index: colour and marker number; default: the next free one of these axes.
        dashes: a matplotlib line style; default: that of the number, so that lines differ without colour too.

    Returns:
        What was drawn, scaled.
    """
    from ..run.study import Curve

    found = table.curve(metric, x, where, level=level)
    drawn = Curve(found.x, found.mean * scale, found.lo * scale, found.hi * scale, found.n)
    band(ax, drawn, label=label, index=index, dashes=dashes, **style_options)
    return drawn


def band(
    ax: Axes,
    curve: Curve,
    *,
    label: str | None = None,
    index: int | None = None,
    dashes: str | None = None,
    **style_options: Any,
) -> Line2D:
    """Draw a ready curve with its band; where the interval is unbounded only the mean is drawn."""
    import numpy as np

    number = len(means(ax)) if index is None else index
    options = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], **style_options}
    drawn = dashes or DASHES[number % len(DASHES)]
    finite = np.isfinite(curve.lo) & np.isfinite(curve.hi)
    lo, hi = np.where(finite, curve.lo, np.nan), np.where(finite, curve.hi, np.nan)
    with style():
        (line,) = ax.plot(curve.x, curve.mean, drawn, label=label, gid=mean_id(ax), **options)
        ax.fill_between(curve.x, lo, hi, color=options["color"], alpha=0.18, linewidth=0)
    return line


def means(ax: Axes) -> list[Line2D]:
    """The lines of these axes that are data, not frames of intervals or lines to compare with."""
    return [line for line in ax.get_lines() if str(line.get_gid() or "").startswith("mean-")]


def mean_id(ax: Axes) -> str:
    """The next id of a line of data, in SVG too, where no two may be the same."""
    return f"mean-{_root(ax).axes.index(ax)}-{len(means(ax))}"


def name_axes(ax: Axes, x: str, y: str, *, title: str | None = None, zero: bool = True, legend: bool = True) -> None:
    """Finish a panel.

    Axis titles with units, y from 0 unless told otherwise, a legend beside the data if there is anything to tell apart.
    """
    with style():
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        if title:
            ax.set_title(title, loc="left")
        if zero:
            ax.set_ylim(bottom=0)
        if legend and len(ax.get_legend_handles_labels()[1]) > 1:
            legend_beside(ax)


def _root(artist: Artist) -> Figure:
    from matplotlib.figure import SubFigure

    found = artist.figure
    while isinstance(found, SubFigure):
        found = found.figure
    assert found is not None
    return found


def legend_beside(ax: Axes) -> Legend:
    """A panel's legend on the right of it, or below where that would take too much of the figure's width."""
    figure = _root(ax)
    handles, words = ax.get_legend_handles_labels()
    words = [folded(text) for text in words]
    with style():
        made = ax.legend(handles, words, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3)
        width = extent(made)[0]
        columns = max(1, round(figure.get_size_inches()[0] / PANEL)) if len(figure.axes) > 1 else 1
        if width > LEGEND_SHARE * figure.get_size_inches()[0] / columns:
            made = _below(ax, handles, words, figure.get_size_inches()[0] / columns / max(width, 0.1))
    return made


def _below(ax: Axes, handles: Sequence[Any], words: Sequence[str], fit: float) -> Legend:
    """A legend under a panel's axis title, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    figure = _root(ax)
    room = 38 / 72  # inches of tick labels and axis title
    under = ax.transAxes + ScaledTranslation(0, -room, figure.dpi_scale_trans)
    columns = max(1, min(int(fit), len(words)))
    return ax.legend(handles, words, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=under, ncols=columns)


def folded(text: str, most: int = WORDS) -> str:
    """Words of a legend in lines of at most so many letters."""
    return "\n".join(textwrap.wrap(text, most, break_on_hyphens=False)) or text


MOST_LETTERS = 400
"""Of one text in a figure. Names in a scenario may be of any length; no figure has room for more."""


def cut(text: str) -> str:
    """A text of at most `MOST_LETTERS`."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def plain(text: str) -> str:
    """A text whose dollar signs are dollar signs: matplotlib would read what is between two of them as mathematics.
    Control characters are shown as on a terminal, and what is too long is cut."""
    return clean(cut(text)).replace("$", r"\$")


def extent(legend: Legend) -> tuple[float, float]:
    """A legend's width and height in inches."""
    figure = _root(legend)
    box = legend.get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
    return box.width / figure.dpi, box.height / figure.dpi


def svg(made: Figure) -> str:
    """The figure as SVG text: no date, fixed ids, text as text."""
    return rendered(made, "svg").decode("utf-8")


def rendered(made: Figure, kind: str) -> bytes:
    """The figure as a file's content: "svg", "pdf" (both without dates) or "png" (200 dpi), of exactly its size."""
    if kind not in METADATA:
        raise UsageError(f"{kind}: figures are written as .svg, .pdf or .png")
    with style():
        if made.get_layout_engine() is None:
            made.set_layout_engine("constrained")  # made by hand: what sticks out would be cut off
        out = io.BytesIO()
        made.savefig(out, format=kind, metadata=METADATA[kind], dpi=STYLE["savefig.dpi"])
    return out.getvalue()


def save(made: Figure, path: str | Path) -> Path:
    """Write a figure by its suffix: `.svg`, `.pdf` (both without dates) or `.png` (200 dpi).

    Raises:
        UsageError: another suffix.
        StoreError: no space, no permission.
    """
    from ..run.files import write_out

    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in METADATA:
        raise UsageError(f"{path}: figures are written as .svg, .pdf or .png")
    write_out(path, rendered(made, kind))
    return path
