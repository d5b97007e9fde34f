"""Tables 5 and 6 as figures; tables 7 and 8 are drawn likewise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evenflow import plots
from evenflow.lab import Lab

from .. import network as net
from .. import verdicts
from ..choices import Options
from ..drawing import cells, compared, legend_below
from ..measures import of
from ..published import TABLE_5, TABLE_6, TABLE_7, TABLE_8, Cells

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from evenflow.study import Label, Table

PRINTED: Cells = {**TABLE_5, **TABLE_6, **TABLE_7, **TABLE_8}
COMBINED = [(control, method) for control in net.GOOD for method in net.SHAPED]
PLACES = [f"{control}\n{method}" for control, method in COMBINED]
BESIDE = ("IS_printed", "IF_by_second", "CNG_raw", "CNG_probed", "bitrate_kbps", "startup_s", "stall_s")
Series = Mapping[str, Mapping[str, "Label"]]
"""Words in the legend -> the labels that pick the runs."""


def _printed(name: str, labels: Mapping[str, Label], control: str, method: str) -> float | None:
    return PRINTED.get((name, str(labels["scenario"]), control, method))


def rows(o: Options, names: Sequence[str], series: Series, found: Table) -> pl.DataFrame:
    """A table's cells, as measured here and as printed."""
    lab = Lab(found)
    return compared(
        o,
        [
            (
                {"measure": name, **labels, "control": control, "method": method},
                lab.at(**labels, control=control, method=method).of(of(o, name)),
                _printed(name, labels, control, method),
            )
            for name in (*names, *BESIDE)
            for labels in series.values()
            for control, method in COMBINED
        ],
    )


def table(o: Options, names: Sequence[str], series: Series, found: Table) -> Figure:
    """A panel a measure: the four combinations, a mark each scenario."""
    lab = Lab(found)
    figure, axes = plots.figure(1, len(names), size=(4.2 * len(names), 3.7))
    for ax, name, title in zip(axes, names, "abcde", strict=False):
        values = {
            words: [lab.at(**labels, control=control, method=method).of(of(o, name)) for control, method in COMBINED]
            for words, labels in series.items()
        }
        printed = {
            words: [_printed(name, labels, control, method) for control, method in COMBINED]
            for words, labels in series.items()
        }
        outside = {
            words: [
                verdicts.outside(
                    verdicts.of(o, {"measure": name, **labels, "control": control, "method": method}, found_here)
                )
                for (control, method), found_here in zip(COMBINED, values[words], strict=True)
            ]
            for words, labels in series.items()
        }
        cells(ax, name, PLACES, values, printed, outside, title=title)
    legend_below(figure, axes[0], 6)
    return figure
