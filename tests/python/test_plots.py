"""Figures: deterministic, with bands, with words."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from evenflow import plots
from evenflow.errors import UsageError
from evenflow.record import Record
from evenflow.scenario import Scenario
from evenflow.study import Point, Run, Table


def record(seed: int, value: float) -> Record:
    import json

    return Record(json.dumps({"seed": seed, "groups": {"a": {"throughput_bps": value}}}), f"h{seed}{value}")


@pytest.fixture
def table() -> Table:
    runs = []
    for point, (flows, kind) in enumerate((f, k) for k in ("drop-tail", "ABC") for f in (1, 2, 4)):
        labels = {"flows": flows, "scheme": kind}
        runs += [Run(point, labels, seed, record(seed, flows * 1e6 + seed * 1e4)) for seed in (1, 2, 3)]
    return Table(runs)


def draw(table: Table) -> str:
    made, (ax,) = plots.figure()
    for kind in ("drop-tail", "ABC"):
        plots.line_with_band(ax, table, "groups.a.throughput_bps", "flows", {"scheme": kind}, label=kind, scale=1e-6)
    plots.name_axes(ax, "flows of the heavy user", "throughput (Mbit/s)")
    return plots.svg(made)


def test_the_same_table_gives_the_same_svg(table: Table) -> None:
    first = draw(table)
    assert first == draw(table)
    assert "<dc:date>" not in first


def test_lines_have_bands_markers_and_words(table: Table) -> None:
    _made, (ax,) = plots.figure()
    curve = plots.line_with_band(
        ax, table, "groups.a.throughput_bps", "flows", {"scheme": "ABC"}, scale=1e-6, label="ABC"
    )
    plots.line_with_band(
        ax, table, "groups.a.throughput_bps", "flows", {"scheme": "drop-tail"}, scale=1e-6, label="none"
    )
    plots.name_axes(ax, "flows", "throughput (Mbit/s)")
    assert curve.x.tolist() == [1, 2, 4]
    assert curve.mean.tolist() == pytest.approx([1.02, 2.02, 4.02])
    assert len(ax.collections) == 2
    colours = {line.get_color() for line in ax.get_lines()}
    markers = {line.get_marker() for line in ax.get_lines()}
    assert len(colours) == len(markers) == 2
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ABC", "none"]
    assert ax.get_ylim()[0] == 0


def test_nothing_global_changes(table: Table) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(table)
    assert dict(matplotlib.rcParams) == before


def test_an_unbounded_interval_draws_no_band() -> None:
    single = Table([Run(i, {"x": i}, 1, record(1, 5.0)) for i in range(3)])
    made, (ax,) = plots.figure()
    plots.line_with_band(ax, single, "groups.a.throughput_bps", "x")
    (vertices,) = [p.vertices for c in ax.collections for p in c.get_paths()] or [np.zeros((0, 2))]
    assert not np.isinf(vertices).any()
    plots.svg(made)


def test_study_plot_picks_the_axis_and_the_lines(table: Table) -> None:
    made = plots.study(table, "groups.a.throughput_bps", scale=1e-6, ylabel="throughput (Mbit/s)")
    (ax,) = made.axes
    assert ax.get_xlabel() == "flows"
    assert ax.get_ylabel() == "throughput (Mbit/s)"
    (legend,) = made.legends
    assert [t.get_text() for t in legend.get_texts()] == ["drop-tail", "ABC"]
    assert legend.get_title().get_text() == "scheme"


@pytest.mark.slow("draws figures", only="pdf|png")
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_saving(table: Table, work: Path, suffix: str) -> None:
    made = plots.study(table, "groups.a.throughput_bps")
    one, two = plots.save(made, work / f"a.{suffix}"), plots.save(made, work / f"b.{suffix}")
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(UsageError, match=r"svg, \.pdf or \.png"):
        plots.save(made, work / "a.gif")


def test_series_plot() -> None:
    series = {"q": (struct.pack("<3d", 0, 1, 2), struct.pack("<3d", 5, 6, 7))}
    made = plots.series(Record("{}", "h", series), ylabel="queue (packets)")
    (line,) = made.axes[0].get_lines()
    assert line.get_ydata().tolist() == [5, 6, 7]


def test_points_are_plain_data() -> None:
    assert Point({"a": 1}, Scenario({})) == Point({"a": 1}, Scenario({}))


def test_a_text_that_no_figure_has_room_for_is_cut() -> None:
    assert plots.plain("n" * plots.MOST_LETTERS) == "n" * plots.MOST_LETTERS
    assert plots.plain("n" * 100_000) == "n" * (plots.MOST_LETTERS - 1) + "…"
