"""Pictures drawn with matplotlib in the house style."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import plots
from .plots import COLOURS, DASHES, MARKERS, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from .picture import Line, Mark, Panel, Picture, Scale

NARROW = 4.6
"""Inches: a narrower figure has one column of panels and its legends above or below the data."""
LEAST_PANEL = 1.9
"""Inches that a panel must keep beside a legend."""
NARROW_WORDS = 24
"""Letters in a line of a narrow figure's legends."""
BESIDE_WORDS = 16
"""The same of a legend beside its panel, so that the data keep most of the width."""
LEAST_COLUMN = 1.1
"""Inches that a column of panels needs."""
ROW = 0.24
"""Inches of a row of dots."""
DENSE = 600
"""Points of a line over time from which on it is drawn thin."""
SHADE = 0.18
"""Opacity of bands."""


def draw(picture: Picture, width: float | None = None, height: float | None = None) -> Figure:
    """A picture as a figure of exactly this size in inches; without a height, one that suits."""
    if width is None and height is None and picture.size is not None:
        width = picture.size[0]
    wide = WIDTH if width is None else width
    columns = picture.columns if picture.faceted or wide > NARROW else 1
    fits = max(1, int(wide / LEAST_COLUMN))
    if columns > fits:
        if any(panel.row for panel in picture.panels):
            raise UsageError(
                f"{columns} columns of panels need a figure of {columns * LEAST_COLUMN:.1f} inches; this one is "
                f"{wide:.3g} wide. Exchange rows and columns."
            )
        columns = fits
    rows = math.ceil(len(picture.panels) / columns)
    tall = height if height is not None else 0.0
    if height is None and picture.size is not None:
        tall = picture.size[1]
    if not tall:
        tall = sum(_row_height(picture, r, columns, wide) for r in range(rows))
    made, fit = _fitted(picture, wide, tall, rows, columns)
    below = made.legends[0] if made.legends else None
    if below is not None and height is None and getattr(made, "_legend_below", False):
        extra = plots.extent(below)[1]
        made, fit = _fitted(picture, wide, tall + extra, rows, columns)
    if not fit:
        wide, tall = made.get_size_inches()
        raise UsageError(
            f"titles and legends leave no room for the data in {wide:.3g} by {tall:.3g} inches: make the figure "
            "larger, or draw fewer lines or panels."
        )
    return made


def _fitted(picture: Picture, width: float, height: float, rows: int, columns: int) -> tuple[Figure, bool]:
    """The figure, and whether everything has room in it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = _drawn(picture, width, height, rows, columns)
    crowded = [one for one in said if "constrained_layout not applied" in str(one.message)]
    for one in said:
        if one not in crowded:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return made, not crowded


def _row_height(picture: Picture, row: int, columns: int, width: float) -> float:
    panels = picture.panels[row * columns : (row + 1) * columns]
    if picture.kind == "timeline":
        many = max((len(p.lines) for p in panels), default=1)
        above = 0.17 * many if width <= NARROW and picture.own_legends else 0.0
        return max(1.55, 0.4 + 0.16 * many) + above if picture.own_legends else 1.9
    if any(p.categories and (p.kind or picture.kind) == "interval" for p in panels):
        return max(1.2, 0.75 + max(_rows(p) for p in panels))
    return min(2.9, max(2.2, 0.75 * width / columns))


def _rows(panel: Panel) -> float:
    """Inches that a panel's rows of dots need."""
    lines = max(1, len(panel.lines)) if not _one_each(panel) else 1
    folds = max((len(_wrapped(c).splitlines()) for c in panel.categories), default=1)
    return len(panel.categories) * max(ROW, 0.09 * lines + 0.1, 0.15 * folds)


def _one_each(panel: Panel) -> bool:
    """Whether each category has one line only."""
    return all(len(line.x) <= 1 for line in panel.lines) and len(
        {float(v) for line in panel.lines for v in line.x}
    ) == len([v for line in panel.lines for v in line.x])


def _wrapped(text: str, most: int = 24) -> str:
    text = plots.cut(text)
    return "\n".join(textwrap.wrap(text, most)) or text


def _drawn(picture: Picture, width: float, height: float, rows: int, columns: int) -> Figure:
    made = plots.empty(width, height)
    with plots.style():
        grid = made.subplots(
            rows,
            columns,
            squeeze=False,
            sharex="all" if picture.kind == "timeline" or picture.faceted else False,
            sharey="row" if picture.faceted else _shared_names(picture),
        )
        axes = [grid[r][c] for r in range(rows) for c in range(columns)]
        for spare in axes[len(picture.panels) :]:
            spare.remove()
        ends: list[tuple[Any, Any, int]] = []
        for number, (ax, panel) in enumerate(zip(axes, picture.panels, strict=False)):
            first, last = number % columns == 0, number + columns >= len(picture.panels)
            _PAINTERS[panel.kind or picture.kind](ax, panel, picture)
            _compared(ax, panel)
            _titles(ax, panel, picture, first=first, last=last, top=number < columns or columns < picture.columns)
            if picture.faceted:
                ends.append((ax.get_xlim(), ax.get_ylim(), number // columns))
        for ax, (_, _, row) in zip(axes, ends, strict=False):
            if not ax.get_autoscalex_on():
                ax.set_xlim(_widest(x for x, _, _ in ends))
            if not ax.get_autoscaley_on():
                ax.set_ylim(_widest(y for _, y, other in ends if other == row))
        _legends(made, axes[: len(picture.panels)], picture, width)
        _wrap_titles(made)
        made.set_layout_engine("none")  # settled: drawing it once more gives the same figure
    return made


def _widest(ends: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The limits of an axis that panels share."""
    lows, highs = zip(*ends, strict=True)
    return min(lows), max(highs)


def _shared_names(picture: Picture) -> Any:
    """Panels side by side with the same names on the vertical axis show them once."""
    names = [p.categories for p in picture.panels if p.categories and (p.kind or picture.kind) == "interval"]
    return "row" if len(names) == len(picture.panels) and all(it == names[0] for it in names) else False


def _titles(ax: Axes, panel: Panel, picture: Picture, *, first: bool, last: bool, top: bool) -> None:
    """Axis titles, on outer panels only where panels share their axes; what holds in a column above it, in a row before
    it."""
    x, y = panel.x.title, panel.y.title
    if panel.link and panel.link not in x + y and (not picture.own_legends or len(panel.lines) == 1):
        if (panel.kind or picture.kind) in ("cdf", "ccdf"):
            x = x.replace(panel.x.words, f"{panel.x.words} of {panel.link}", 1)
        else:
            what, comma, over = panel.y.words.partition(", ")
            y = y.replace(panel.y.words, f"{what} of {panel.link}{comma}{over}", 1)
    if (panel.kind or picture.kind) == "interval" and panel.categories:
        x, y = y, x
    if (panel.kind or picture.kind) == "timeline" and picture.warmup_s > 0 and picture.columns < 3:
        x = f"{x}, warm-up shaded"
    share = picture.faceted
    ax.set_xlabel(plots.plain(x) if last or not (share or picture.kind == "timeline") else "")
    ax.set_ylabel(plots.plain(y) if first or not share else "")
    if panel.row and first:
        ax.set_ylabel(plots.plain(f"{panel.row}\n{y}"))
    if panel.title and (top or not panel.row):
        ax.set_title(plots.plain(panel.title), loc="left", fontsize=8)


def _wrap_titles(made: Figure) -> None:
    """Break titles that are longer than the axes they belong to, once the layout is known."""
    for _ in range(2):
        made.draw_without_rendering()
        broken = False
        for ax in made.axes:
            box = ax.get_window_extent()
            for text, room in (
                (ax.xaxis.label, box.width),
                (ax.yaxis.label, box.height),
                (ax.title, box.width),
                (ax._left_title, box.width),  # type: ignore[attr-defined]
            ):
                broken |= _fit(text, room)
    if broken:
        made.draw_without_rendering()


def _fit(text: Text, room: float) -> bool:
    """Break a text that is longer than `room`. Returns whether it changed."""
    written = text.get_text()
    extent = text.get_window_extent()
    length = max(extent.width, extent.height) if not text.get_rotation() else extent.height
    if not written or length <= room:
        return False
    longest = max(len(line) for line in written.splitlines())
    most = max(10, int(longest * room / length))
    lines = [part for line in written.splitlines() for part in textwrap.wrap(line, most) or [""]]
    text.set_text("\n".join(lines))
    return text.get_text() != written


def _limits(ax: Axes, panel: Panel) -> None:
    """From 0 where the data come near it; otherwise where the data are, so that differences can be seen."""
    import numpy as np

    sideways = _sideways(panel) and _is_dots(ax)
    scale = panel.x_scale if sideways else panel.y_scale
    if scale is not None and scale.log and not scale.linear:
        return
    every = [line.lo for line in panel.lines] + [line.hi for line in panel.lines] + [line.y for line in panel.lines]
    every += [sample for line in panel.lines for sample in line.samples] + [
        y for line in panel.lines for _, y in line.each
    ]
    every += [line.printed for line in panel.lines if line.printed is not None]
    every += [line.y for line in panel.levels]
    every += [np.array([mark.y]) for mark in panel.marks if mark.x is not None and isinstance(mark.y, (int, float))]
    values = np.concatenate(every) if every else np.zeros(0)
    values = values[np.isfinite(values)]
    if not len(values):
        return
    lo, hi = float(values.min()), float(values.max())
    means = np.concatenate([line.y for line in panel.lines])
    if lo < 0 <= np.nanmin(means, initial=math.inf):
        lo = 0.0  # an interval may reach below zero, a rate or a queue cannot
    lower, upper = _span(lo, hi)
    (ax.set_xlim if sideways else ax.set_ylim)(lower, upper)


def _span(lo: float, hi: float) -> tuple[float, float]:
    if hi == lo:
        return (0.0, 1.0) if hi == 0 else (min(0.0, 1.3 * lo), max(0.0, 1.3 * hi))
    margin = 0.06 * (hi - lo)
    if 0 <= lo < 0.5 * hi:
        return 0.0, hi + margin
    return lo - margin, hi + margin


def _sideways(panel: Panel) -> bool:
    return bool(panel.categories)


def _is_dots(ax: Axes) -> bool:
    return getattr(ax, "_evenflow_dots", False)


def _options(line: Line) -> dict[str, Any]:
    return _looks(line.colour, line.dash if line.owner and line.setting else 0)


def _distinct(panel: Panel) -> bool:
    """Whether dashes alone tell a panel's lines apart."""
    return len({line.dash % len(DASHES) for line in panel.lines}) == len(panel.lines)


def _sparse(line: Line) -> dict[str, Any]:
    """A few markers on a long line, for lines that dashes alone do not tell apart on a grey printer."""
    looks = _looks(line.colour, line.dash if line.owner and line.setting else 0)
    return {"marker": looks["marker"], "fillstyle": looks["fillstyle"], "markevery": max(1, len(line.x) // 7)}


def _looks(colour: int, dash: int) -> dict[str, Any]:
    """Colour and marker of what was set; the markers of a second owner are hollow."""
    return {
        "color": COLOURS[colour % len(COLOURS)],
        "marker": MARKERS[colour % len(MARKERS)],
        "fillstyle": ("full", "none", "left", "right")[dash % 4],
    }


def _dash(line: Line) -> str:
    return DASHES[line.dash % len(DASHES)]


def _label(line: Line, most: int = plots.WORDS) -> str | None:
    return plots.plain(plots.folded(line.words, most)) if line.words else None


def _lines(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Means over numbers, with bands; runs as dots where they are shown. Numbers without runs have no markers."""
    import numpy as np

    for line in panel.lines:
        looks = _options(line) if line.n.any() else {"color": _options(line)["color"], "marker": "", "linewidth": 0.9}
        ax.plot(line.x, line.y, _dash(line), label=_label(line), gid=plots.mean_id(ax), **looks)
        if len(line.x) == 1:
            _errorbar(ax, line, line.x, line.y)
        else:
            ax.fill_between(line.x, line.lo, line.hi, color=_options(line)["color"], alpha=SHADE, linewidth=0)
        if line.printed is not None:
            words = "as printed" if line is panel.lines[0] else None
            ax.plot(line.x, line.printed, "x", color=_options(line)["color"], markersize=7, zorder=3, label=words)
        for x, sample in zip(line.x, line.samples, strict=False):
            ax.plot(np.full(len(sample), x), sample, linestyle="", **_options(line), markersize=2, alpha=0.6)
    _limits(ax, panel)
    xs = np.unique(np.concatenate([line.x for line in panel.lines])) if panel.lines else np.zeros(0)
    _axis_of_numbers(ax, xs)


def _axis_of_numbers(ax: Axes, xs: Any) -> None:
    """Values that were doubled or grow tenfold stand on a logarithmic axis; few values get a tick each."""
    import numpy as np

    if len(xs) < 2:
        return
    if len(xs) >= 4 and xs[0] > 0 and xs[-1] / xs[0] >= 16:
        steps = xs[1:] / xs[:-1]
        if steps.max() / steps.min() <= 4:
            ax.set_xscale("log")
            ax.minorticks_off()
    if len(xs) <= 8:
        log = ax.get_xscale() == "log"
        at = np.log(xs) if log else xs
        if np.diff(at).min() > 0.07 * (at[-1] - at[0]):
            ax.set_xticks(xs, [f"{x:g}" for x in xs])
    elif ax.get_xscale() == "log":
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _errorbar(ax: Axes, line: Line, x: Any, y: Any, *, sideways: bool = False) -> None:
    import numpy as np

    away = np.nan_to_num(np.array([line.y - line.lo, line.hi - line.y]), nan=0.0)
    ax.errorbar(
        x,
        y,
        **{"xerr" if sideways else "yerr": np.maximum(away, 0.0)},
        fmt="none",
        ecolor=_options(line)["color"],
        elinewidth=1.2,
        capsize=2.5,
    )


def _dots(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Dots with intervals: over names on the vertical axis, or over numbers."""
    import numpy as np

    if not panel.categories:
        for line in panel.lines:
            ax.plot(line.x, line.y, linestyle="", label=_label(line), gid=plots.mean_id(ax), **_options(line))
            _errorbar(ax, line, line.x, line.y)
        _limits(ax, panel)
        return
    ax._evenflow_dots = True  # type: ignore[attr-defined]
    alone = _one_each(panel)
    count = len(panel.lines)
    for index, line in enumerate(panel.lines):
        shift = 0.0 if alone or count == 1 else (index - (count - 1) / 2) * min(0.7 / count, 0.3)
        at = line.x + shift
        ax.plot(line.y, at, linestyle="", label=_label(line), gid=plots.mean_id(ax), **_options(line))
        _errorbar(ax, line, line.y, at, sideways=True)
        if line.printed is not None:
            words = "as printed" if index == 0 else None
            ax.plot(line.printed, at, "D", color="black", fillstyle="none", zorder=3, label=words)
        if line.accepted is not None:
            lo, hi = line.accepted
            ax.barh(at, hi - lo, 0.6 / count if not alone else 0.6, lo, color="0.9", zorder=1)
        for where, sample in zip(at, line.samples, strict=False):
            ax.plot(sample, np.full(len(sample), where), linestyle="", **_options(line), markersize=2, alpha=0.6)
    ax.set_yticks(range(len(panel.categories)), [plots.plain(_wrapped(text)) for text in panel.categories])
    ax.set_ylim(len(panel.categories) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    _limits(ax, panel)


def _boxes(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Boxes over runs: median, quartiles, and whiskers to the farthest run within 1.5 times the box; the mean beside it
    with its interval. Over packets the whiskers are the 5th and 95th percentile."""
    import numpy as np

    count = 1 if _one_each(panel) else max(1, len(panel.lines))
    names = panel.categories or [f"{x:g}" for x in sorted({float(v) for line in panel.lines for v in line.x})]
    places = {float(x): i for i, x in enumerate(sorted({float(v) for line in panel.lines for v in line.x}))}
    width = 0.8 / count
    for index, line in enumerate(panel.lines):
        at = np.array([float(x) if panel.categories else places[float(x)] for x in line.x])
        at = at + (index % count - (count - 1) / 2) * width
        colour = _options(line)["color"]
        samples = [sample[np.isfinite(sample)] for sample in line.samples]
        ax.boxplot(
            samples,
            positions=at - 0.12 * width,
            widths=0.5 * width,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": (*_rgb(colour), 0.18), "edgecolor": colour, "linewidth": 1.0},
            medianprops={"color": colour, "linewidth": 1.6},
            whiskerprops={"color": colour, "linestyle": _dash(line)},
            capprops={"color": colour},
            flierprops={"marker": ".", "markersize": 3, "markerfacecolor": colour, "markeredgecolor": colour},
            whis=(5, 95) if line.binned else 1.5,
            showfliers=not line.binned,
        )
        beside = at + 0.28 * width
        ax.plot(beside, line.y, linestyle="", label=_label(line), gid=plots.mean_id(ax), **_options(line))
        _errorbar(ax, line, beside, line.y)
    ax.set_xticks(range(len(names)), [plots.plain(_wrapped(text, 14)) for text in names])
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(visible=False, axis="x")
    _limits(ax, panel)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _cdf(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Distribution functions with their bands: steps, or straight lines between the edges of bins."""
    distinct = _distinct(panel)
    for line in panel.lines:
        colour = _options(line)["color"]
        step: Any = None if line.binned else "post"
        how: dict[str, Any] = {} if line.binned else {"drawstyle": "steps-post"}
        for x, y in line.each:
            ax.plot(x, y, color=colour, linewidth=0.6, alpha=0.5, **how)
        options = {"color": colour, **({} if distinct else _sparse(line)), **how}
        ax.plot(line.x, line.y, _dash(line), label=_label(line), gid=plots.mean_id(ax), **options)
        if len(line.x):
            ax.fill_between(line.x, line.lo, line.hi, step=step, color=colour, alpha=SHADE, linewidth=0)
    ax.set_ylim(0, 102)


def _scatter(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Means with intervals in both directions, and runs behind them."""
    import numpy as np

    for line in panel.lines:
        for x, y in line.each:
            ax.plot(x, y, linestyle="", **_options(line), markersize=2.5, alpha=0.6)
        dashes = _dash(line) if panel.kind == "path" else ""
        ax.plot(line.x, line.y, linestyle=dashes, label=_label(line), gid=plots.mean_id(ax), **_options(line))
        _errorbar(ax, line, line.x, line.y)
        if line.x_lo is not None and line.x_hi is not None:
            away = np.nan_to_num(np.array([line.x - line.x_lo, line.x_hi - line.x]), nan=0.0)
            ax.errorbar(
                line.x,
                line.y,
                xerr=np.maximum(away, 0.0),
                fmt="none",
                ecolor=_options(line)["color"],
                elinewidth=1.2,
                capsize=2.5,
            )
    ax.margins(0.06)


def _over_time(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Series over time; the warm-up is shaded."""
    distinct = _distinct(panel)
    for line in panel.lines:
        colour = _options(line)["color"]
        for x, y in line.each:
            ax.plot(x, y, color=colour, linewidth=0.4, alpha=0.45)
        marker = {"marker": "o"} if len(line.x) == 1 else {} if distinct else _sparse(line)
        thin = 1.2 if len(line.x) <= DENSE else 0.8
        options: dict[str, Any] = {"color": colour, "linewidth": thin, **marker}
        ax.plot(line.x, line.y, _dash(line), label=_label(line), gid=plots.mean_id(ax), **options)
        if len(line.x):
            ax.fill_between(line.x, line.lo, line.hi, color=colour, alpha=SHADE, linewidth=0)
    if picture.warmup_s > 0:
        ax.axvspan(0, picture.warmup_s, color="#f0f0f0", linewidth=0, zorder=0)
    ends = [float(line.x[-1]) for line in panel.lines if len(line.x)]
    if ends:
        ax.set_xlim(0, max(ends))
    _limits(ax, panel)
    if panel.y_categories:
        ax.set_yticks(range(len(panel.y_categories)), panel.y_categories)


def _smooth(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Ready curves without markers, with their bands; single runs thin behind them."""
    how: dict[str, Any] = {"drawstyle": "steps-post"} if panel.kind == "steps" else {}
    for line in panel.lines:
        colour = _options(line)["color"]
        for x, y in line.each:
            ax.plot(x, y, color=colour, linewidth=0.6, alpha=max(0.15, min(1.0, 2 / len(line.each))), **how)
        ax.plot(
            line.x, line.y, _dash(line), label=_label(line), gid=plots.mean_id(ax), color=colour, linewidth=1.2, **how
        )
        ax.fill_between(line.x, line.lo, line.hi, color=colour, alpha=SHADE, linewidth=0)
    _limits(ax, panel)


def _diagram(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Boxes with words, and arrows between places."""
    ax.set_axis_off()
    frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "0.45"}
    for arrow in panel.arrows:
        ax.annotate("", arrow.end, arrow.start, arrowprops={"arrowstyle": "->" if arrow.head else "-", "color": "0.45"})
        middle = (arrow.start[0] + arrow.end[0]) / 2, (arrow.start[1] + arrow.end[1]) / 2
        ax.annotate(arrow.words, middle, (0, 4), textcoords="offset points", ha="center", va="bottom", fontsize=7)
    for box in panel.boxes:
        ax.text(box.x, box.y, box.words, ha="center", va="center", fontsize=8, bbox=frame if box.frame else None)
    ends = [*((it.x, it.y) for it in panel.boxes), *(end for it in panel.arrows for end in (it.start, it.end))]
    xs, ys = zip(*ends, strict=True)
    ax.set_xlim(min(xs) - 0.6, max(xs) + 0.6)
    ax.set_ylim(min(ys) - 0.6, max(ys) + 0.6)


def _table(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Texts in rows under headings."""
    ax.set_axis_off()
    made = ax.table(panel.cells[1:], colLabels=panel.cells[0], loc="center", cellLoc="left", edges="horizontal")
    made.auto_set_font_size(False)
    made.set_fontsize(8)
    made.auto_set_column_width(list(range(len(panel.cells[0]))))


def _bars(ax: Axes, panel: Panel, picture: Picture) -> None:
    """Bars over whole numbers, with intervals that end at 0."""
    import numpy as np

    for index, line in enumerate(panel.lines):
        at = line.x + 0.8 * (index + 0.5) / len(panel.lines) - 0.4
        ax.bar(at, line.y, 0.8 / len(panel.lines), color=_options(line)["color"], label=_label(line))
        away = np.nan_to_num(np.array([np.minimum(line.y, line.y - line.lo), line.hi - line.y]), nan=0.0)
        ax.errorbar(at, line.y, yerr=away, fmt="none", ecolor="0.2", elinewidth=0.8, capsize=1.5)
    ax.set_ylim(bottom=0)


def _compared(ax: Axes, panel: Panel) -> None:
    """Axes that the panel sets, its marks, and values drawn across."""
    for scale, axis, set_scale, set_lim in (
        (panel.x_scale, ax.xaxis, ax.set_xscale, ax.set_xlim),
        (panel.y_scale, ax.yaxis, ax.set_yscale, ax.set_ylim),
    ):
        if (
            scale is None
            or panel.kind in ("diagram", "table")
            or (panel.categories and axis is ax.yaxis and panel.kind != "box")
        ):
            continue
        if scale.linear:
            set_scale("symlog", linthresh=scale.linear)
        else:
            set_scale("log" if scale.log else "linear")
        if (scale.lo, scale.hi) != (None, None):
            set_lim(scale.lo, scale.hi)
        _ticks(axis, scale)
    for mark in panel.marks:
        _mark(ax, mark)
    for line in panel.levels:
        colour = _options(line)["color"]
        ax.axhline(float(line.y[0]), color=colour, linewidth=0.8, linestyle=(0, (6, 2)), label=_label(line))
        if math.isfinite(line.lo[0]):
            ax.axhspan(float(line.lo[0]), float(line.hi[0]), color=colour, alpha=0.12, linewidth=0)


def _mark(ax: Axes, mark: Mark) -> None:
    grey: dict[str, Any] = {"color": "0.5", "linewidth": 0.8, "zorder": 0}
    band: dict[str, Any] = {"color": "0.9", "linewidth": 0, "zorder": 0, "label": mark.words or None}
    if isinstance(mark.x, tuple):
        ax.axvspan(*mark.x, **band)
    elif isinstance(mark.y, tuple):
        low, high = mark.y
        if ax.get_yscale() == "log":
            low = max(low, ax.get_ylim()[0])  # a band must not stretch the axis
        if low < high:
            ax.axhspan(low, high, **band)
    elif mark.x is not None and mark.y is not None:
        own = mark.colour is not None
        star: dict[str, Any] = {"color": COLOURS[mark.colour or 0] if own else "black", "markeredgecolor": "black"}
        star |= {"fillstyle": "full" if own else "none", "markeredgewidth": 0.7, "zorder": 4}
        ax.plot([mark.x], [mark.y], "*", markersize=9, label=mark.words or None, **star)
    elif mark.y is not None:
        ax.axhline(mark.y, **grey)
        where: Any = ("axes fraction", "data")
        ax.annotate(mark.words, (0.99, mark.y), xycoords=where, ha="right", va="bottom", fontsize=7)
    elif mark.x is not None:
        ax.axvline(mark.x, **grey)
        where = ("data", "axes fraction")
        ax.annotate(mark.words, (mark.x, 0.99), xycoords=where, va="top", fontsize=7)
    elif ax.get_xscale() == ax.get_yscale():
        ax.axline((1, 1), (2, 2), label=mark.words or None, **grey)
    else:
        import numpy as np

        limits, at = ax.get_ylim(), np.linspace(*ax.get_xlim(), 101)
        ax.plot(at, at, label=mark.words or None, **grey)
        ax.set_ylim(limits)


def _ticks(axis: Any, scale: Scale) -> None:
    from matplotlib import ticker

    lo, hi = axis.get_view_interval()
    if scale.ticks:
        axis.set_major_locator(ticker.FixedLocator(list(scale.ticks)))
        axis.set_minor_locator(ticker.NullLocator())
    elif scale.log and not scale.linear and hi < 100 * lo:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    elif not (scale.log or scale.linear):
        axis.set_major_locator(ticker.MaxNLocator(nbins=10, integer=True) if scale.whole else ticker.AutoLocator())
        axis.set_major_formatter(ticker.ScalarFormatter())
    if scale.log or scale.linear:
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(ticker.NullFormatter())


_PAINTERS = {
    "bars": _bars,
    "line": _lines,
    "diagram": _diagram,
    "smooth": _smooth,
    "steps": _smooth,
    "table": _table,
    "interval": _dots,
    "box": _boxes,
    "cdf": _cdf,
    "ccdf": _cdf,
    "scatter": _scatter,
    "path": _scatter,
    "timeline": _over_time,
}


def _legends(made: Figure, axes: Sequence[Axes], picture: Picture, width: float) -> None:
    """Beside the data on the right, or below where that would be too wide; a panel's own beside the panel."""
    if picture.own_legends and any(panel.kind for panel in picture.panels):
        for ax in axes:
            handles, words = ax.get_legend_handles_labels()
            if len(words) > 1:
                words = [plots.folded(text, 2 * plots.WORDS) for text in words]
                ax.legend(handles, words, loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7)
        return
    if picture.own_legends:
        for ax in axes:
            handles, words = ax.get_legend_handles_labels()
            if len(words) < 2 and not any(":" in text for text in words):
                continue  # whose it is stands on the axis
            if width > NARROW:
                words = [plots.folded(text, BESIDE_WORDS) for text in words]
                ax.legend(handles, words, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
            else:
                words = [plots.folded(text, NARROW_WORDS) for text in words]
                ax.legend(handles, words, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=1)
        return
    entries = _entries(axes, picture)
    if len(entries) < 2 and not picture.legend_title:
        return
    if not entries:
        return
    title = plots.plain(plots.folded(picture.legend_title)) or None
    options: dict[str, Any] = {"title": title, "title_fontsize": 8, "alignment": "left"}
    handles, words = list(entries.values()), list(entries)
    if not any(panel.kind for panel in picture.panels) or picture.columns == 1:
        made_legend = made.legend(handles, words, loc="outside right upper", **options)
        wide, tall = plots.extent(made_legend)
        left = (width - wide) / picture.columns
        room = wide <= plots.LEGEND_SHARE * width and (left >= LEAST_PANEL or picture.columns == 1)
        if room and tall <= made.get_size_inches()[1] and width > NARROW:
            return
        made_legend.remove()
    columns = 1
    while columns < len(words):
        tried = made.legend(handles, words, loc="outside lower center", ncols=columns + 1, **options)
        fits = plots.extent(tried)[0] <= width - 0.1
        tried.remove()
        if not fits:
            break
        columns += 1
    made.legend(handles, words, loc="outside lower center", ncols=columns, **options)
    made._legend_below = True  # type: ignore[attr-defined]


def _entries(axes: Sequence[Axes], picture: Picture) -> dict[str, Any]:
    """What the legend explains. Lines of several owners at several settings: the settings' colours, then the owners'
    dashes, so that there are as many entries as things to tell."""
    from matplotlib.lines import Line2D

    lines = [line for panel in picture.panels for line in panel.lines]
    entries: dict[str, Any] = {}
    if any(line.owner and line.setting for line in lines):
        dots = picture.kind in ("interval", "box", "scatter")
        plain: dict[str, Any] = {"linestyle": ""} if dots else {}
        for line in lines:
            looks = _looks(line.colour, 0)
            entries.setdefault(plots.plain(plots.folded(line.setting)), Line2D([], [], **looks, **plain))
        for line in lines:
            if not line.owner:
                continue
            grey: dict[str, Any] = {"color": "#555555", "linestyle": "" if dots else _dash(line)}
            grey |= {"marker": "o", "fillstyle": _looks(0, line.dash)["fillstyle"]}
            entries.setdefault(plots.plain(plots.folded(line.owner)), Line2D([], [], **grey))
        return entries
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(text, handle)
    return entries
