"""The figure style, drawing helpers, and figures of a study or a record with other axis titles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .show.plots import *  # noqa: F403

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .run.record import Record
    from .run.study import Table


def study(
    table: Table,
    metric: str,
    x: str | None = None,
    *,
    by: Sequence[str] | None = None,
    scale: float | None = None,
    ylabel: str | None = None,
) -> Figure:
    """`table.plot(metric, x, by)`, with another axis title and factor."""
    from .show import pictures
    from .show.drawing import draw

    found = pictures.of_table(table, pictures.Choice(metric=(metric,), x=x, by=None if by is None else tuple(by)))
    return draw(found.relabelled(ylabel, scale))


def series(record: Record, *names: str, scale: float | None = None, ylabel: str | None = None) -> Figure:
    """`record.plot(series=names)`, with another axis title and factor."""
    from .show import pictures
    from .show.drawing import draw

    found = pictures.of_record(record, pictures.Choice(series=names or ("*",)))
    return draw(found.relabelled(ylabel, scale))
