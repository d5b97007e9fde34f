"""Convenience methods of earlier packages: `Scenario.plot`, `Record.plot`, `Record.view` and `Table.plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..run.recording import recording
from . import clicks, pictures, view
from .drawing import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run.record import Record
    from ..run.table import Table
    from ..scenario.scenario import Scenario

Names = str | Sequence[str]


def several(given: Names) -> tuple[str, ...]:
    """One name or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def plot_scenario(scenario: Scenario, seed: int, series: Names, width: float | None, height: float | None) -> Figure:
    """Run a scenario and draw the run; where it names no series, the ones that tell most."""
    ready, chosen = recording(scenario)
    choice = pictures.Choice(series=several(series))
    return draw(pictures.of_record(ready.run(seed), choice, telling=chosen and not series), width, height)


def plot_record(
    record: Record,
    metric: Sequence[str],
    series: Names,
    kind: str | None,
    panels: Names,
    width: float | None,
    height: float | None,
) -> Figure:
    """Draw a run."""
    choice = pictures.Choice(metric=tuple(metric), series=several(series), kind=kind, panels=several(panels))
    return draw(pictures.of_record(record, choice), width, height)


def plot_table(
    table: Table,
    metric: Sequence[str],
    x: str | None,
    by: Names | None,
    rows: str | None,
    columns: str | None,
    series: Names,
    kind: str | None,
    seeds: str,
    over: str | None,
    panels: Names,
    width: float | None,
    height: float | None,
) -> Figure:
    """Draw a study."""
    lines = None if by is None else several(by)
    choice = pictures.Choice(
        tuple(metric), x, lines, rows, columns, several(series), kind, seeds, over, several(panels)
    )
    return draw(pictures.of_table(table, choice), width, height)


def view_record(record: Record, path: str | Path, *, again: bool) -> Path:
    """Write the page of a run; `again`: repeat the run to record what its record lacks."""
    if not again:
        return view.write(record, path)
    more, missing, told = clicks.again(record)
    return view.write(record, path, more, missing, told)
