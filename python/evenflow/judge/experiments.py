"""Experiments of a paper: grids of scenarios with labels, seeds, the columns of a figure's data, and its panels.

    experiment = Experiments("abc", runs=(10, 3))
    experiment("fig04", "A heavy user against a light one", grid(tcp_pair, x="f0", scheme=SCHEMES, f0=thin(F0, FEW)),
               columns={"TR": TR}, caption="…", figure=figure(curves(TR(), x="f0")))

`tcp_pair(o, scheme, f0)` makes the scenario of a point from the paper's options and the labels that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..run.study import Label, Point, Run, Table
from ..stats import LEVEL, mean_interval
from .lab import Floats, cells, frame
from .paper import Experiment
from .values import Metric, Shown, points, with_labels, with_options

if TYPE_CHECKING:
    import polars as pl

    from ..scenario.scenario import Scenario
    from .claims import Scale

Column: TypeAlias = "Metric | Callable[..., float | None]"
"""A metric gives a mean and its bounds; a function of a point's runs, or of these and the options, one number."""
Columns: TypeAlias = "Mapping[str, Column] | Callable[[list[Run], Any], Mapping[str, Floats]]"
"""By name; or a function of a point's runs and the options that measures several at once, one value a run."""


@dataclass(frozen=True)
class Thin:
    """Values of a label at the paper's scale, and at scale quick."""

    paper: Sequence[Label]
    quick: Sequence[Label]


def thin(paper: Sequence[Label], quick: Sequence[Label] = ()) -> Thin:
    """The values of the paper, and fewer of them for a first look; without a second list none at all."""
    return Thin(paper, quick)


@dataclass(frozen=True)
class Grid:
    """Every combination of labels, each a point. `x` is the innermost loop; the other labels loop in order."""

    make: Callable[..., Scenario]
    x: str
    labels: Mapping[str, Any]

    def points(self, options: Any, scale: Scale) -> Iterator[Point]:
        """The points at a scale."""
        given = {name: it(options) if callable(it) else it for name, it in self.labels.items()}
        values = {name: _values(it, scale) for name, it in given.items()}
        order = [*(name for name in values if name != self.x), *([self.x] if self.x else [])]
        for them in product(*(values[name] for name in order)):
            chosen = dict(zip(order, them, strict=True))
            labels = {name: chosen[name] for name in values}
            yield Point(labels, with_labels(self.make, labels, options))


def _values(it: Label | Sequence[Label] | Thin, scale: Scale) -> Sequence[Label]:
    if isinstance(it, Thin):
        return it.paper if scale == "paper" else it.quick
    return it if isinstance(it, (list, tuple, range)) else [it]  # type: ignore[list-item]


def grid(
    make: Callable[..., Scenario],
    x: str = "",
    /,
    **labels: Label | Sequence[Label] | Mapping[str, Any] | Thin | Callable[[Any], Any],
) -> Grid:
    """A grid of points.

    Args:
        make: the scenario of a point, from the options and the labels that it asks for.
        x: the label of the innermost loop: the axis of the figure.
        labels: a value, several, or those of two scales (`thin`), or a function of the options that gives these; of a
            mapping its keys.
    """
    return Grid(make, x, {k: list(v) if isinstance(v, Mapping) else v for k, v in labels.items()})


@dataclass(frozen=True)
class Experiments:
    """The experiments of a paper, in the order in which they are written down.

    Attributes:
        key: the paper's; experiment "fig04" is "abc-fig04".
        runs: seeds of a point at the paper's scale, and at scale quick.
        level: of the intervals in the figures' data.
    """

    key: str
    runs: tuple[int, int] = (10, 3)
    level: float = LEVEL
    _made: list[Callable[[Any], Experiment]] = field(default_factory=list, repr=False)

    def __call__(
        self,
        name: str,
        title: str,
        *grids: Grid | Callable[[Any, Scale], Sequence[Point]],
        columns: Columns = MappingProxyType({}),
        data: Callable[[Shown], pl.DataFrame] | None = None,
        caption: str | Callable[[Any], str] = "",
        figure: Callable[[Shown], Any] | None = None,
        view: Callable[[Shown], Run] | None = None,
        runs: tuple[int, int] | None = None,
        first_seed: int = 1,
        shortened: bool = False,
    ) -> None:
        """Write an experiment down.

        Args:
            name: "fig04".
            grids: of its points; a function of options and scale where they are no grid.
            columns: of the figure's data, one row a point.
            data: the figure's data where they are something else.
            caption: a text, or a function of the options.
            figure: its panels.
            view: the run of which the report has a view over time.
            runs: where it has other numbers of seeds.
            first_seed: where its seeds are not those of the other experiments.
            shortened: quick runs last less than the paper's.
        """

        def made(options: Any) -> Experiment:
            def shown(table: Table) -> Shown:
                return Shown(self.key, {f"{self.key}-{name}": table}, name, options)

            def planned(scale: Scale) -> list[Point]:
                found = [it.points(options, scale) if isinstance(it, Grid) else it(options, scale) for it in grids]
                return [point for points in found for point in points]

            return Experiment(
                id=f"{self.key}-{name}",
                title=title,
                points=planned,
                seeds=partial(_seeds, runs or self.runs, first_seed),
                figure=None if figure is None else lambda table: figure(shown(table)),
                caption=caption(options) if callable(caption) else caption,
                data=lambda table: data(shown(table)) if data else frame(rows(columns, shown(table), self.level)),
                view=None if view is None else lambda table: view(shown(table)),
                shortened=shortened,
            )

        self._made.append(made)

    def build(self, options: Any) -> tuple[Experiment, ...]:
        """All of them for a choice of options."""
        return tuple(made(options) for made in self._made)


def _seeds(runs: tuple[int, int], first: int, scale: Scale) -> list[int]:
    return list(range(first, first + runs[0 if scale == "paper" else 1]))


def rows(columns: Columns, shown: Shown, level: float = LEVEL) -> list[dict[str, Any]]:
    """A figure's numbers: one row a point, with its labels, its runs, and each column."""
    found, options = [], shown.options
    for labels, runs in points(shown.table(""), {}):
        row: dict[str, Any] = {**labels, "runs": len(runs)}
        if callable(columns):
            for name, values in columns(runs, options).items():
                row |= cells(name, mean_interval(values, level))
        else:
            for name, it in columns.items():
                if isinstance(it, Metric):
                    row |= cells(name, mean_interval([it.of(run, options) for run in runs], level))
                else:
                    row[name] = with_options(it, options, runs)
        found.append(row)
    return found
