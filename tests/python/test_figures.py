"""Figures: every kind is rendered and measured, from the command line and from Python."""

from __future__ import annotations

import itertools
import json
import re
import struct
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from evenflow import plots
from evenflow.errors import StoreError, UsageError
from evenflow.figures import Figures, Mark, curves
from evenflow.mechanism import schema
from evenflow.record import Record
from evenflow.run.files import digest_of
from evenflow.run.store import SeriesFile
from evenflow.show import drawing, names, pictures, screens
from evenflow.stats import Interval
from evenflow.study import Run, Table
from evenflow.values import Shown, computed
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

QUEUE = "links.bottleneck.queue.packets"
WINDOW = "groups.heavy.users[0].flows[{}].window"
SCHEMES = ("drop-tail", "CoDel at $5 or $10", 'a "quoted" <name> & more')


def series(seed: int, flows: int) -> dict[str, tuple[bytes, bytes]]:
    times = np.arange(1, 41) * 0.5
    noise = np.random.default_rng(seed)

    def packed(values: Any) -> tuple[bytes, bytes]:
        return times.astype("<f8").tobytes(), np.asarray(values, dtype="<f8").tobytes()

    found = {QUEUE: packed(20 + noise.normal(0, 3, 40))}
    for flow in range(flows):
        found[WINDOW.format(flow)] = packed(10 + flow + noise.normal(0, 1, 40))
    return found


def record(seed: int, flows: float, scheme: int, delay: float, watched: int = 2) -> Record:
    noise = float(np.random.default_rng([seed, int(flows), scheme, int(delay)]).normal())
    document = {
        "seed": seed,
        "scenario_hash": f"{flows}-{scheme}-{delay}",
        "engine": {"id": "feedfacefeedface"},
        "window_s": [5.0, 20.0],
        "groups": {
            "heavy": {"users": 1, "throughput_bps": 4e6 + 1e5 * flows + 1e5 * noise, "loss_ratio": 0.01},
            "light": {
                "users": 20,
                "throughput_bps": 2e6 - 1e4 * flows + 5e4 * noise,
                "users_throughput_bps": [1e6 + 1e5 * user + 1e4 * noise for user in range(20)],
                "loss_ratio": None if scheme == 1 else 0.02,
            },
        },
        "links": {
            "bottleneck": {
                "utilisation": 0.99 + 1e-3 * noise,
                "queue_delay_s_mean": (delay + 10 + noise + scheme) / 1e3,
                "reverse": {"utilisation": 0.03},
            }
        },
    }
    return Record(json.dumps(document), f"h{seed}", series(seed, watched))


@pytest.fixture(scope="module")
def table() -> Table:
    runs = []
    places = itertools.product(range(len(SCHEMES)), (1, 2, 4, 32), ("5 ms", "0.05 s"))
    for point, (scheme, flows, delay) in enumerate(places):
        labels = {"scheme": SCHEMES[scheme], "groups.heavy.traffic.flows": flows, "links.bottleneck.delay": delay}
        number = 5.0 if delay == "5 ms" else 50.0
        runs += [Run(point, labels, seed, record(seed, flows, scheme, number)) for seed in (1, 2, 3, 4)]
    return Table(runs)


FIGURES: dict[str, dict[str, Any]] = {
    "line": {},
    "line each": {"metric": ("throughput_bps",), "seeds": "each", "columns": "delay"},
    "line one metric": {"metric": ("heavy.throughput_bps",), "by": ("scheme", "delay")},
    "interval": {"kind": "interval", "x": "scheme", "metric": ("throughput_bps", "utilisation"), "columns": "delay"},
    "interval over numbers": {"kind": "interval", "x": "flows", "metric": ("utilisation",)},
    "box": {"kind": "box", "x": "scheme", "metric": ("heavy.throughput_bps",), "by": ("flows",), "rows": "delay"},
    "box of users": {"kind": "box", "x": "flows", "metric": ("users_throughput_bps",), "columns": "delay"},
    "cdf": {"kind": "cdf", "metric": ("queue_delay_s_mean",), "rows": "flows", "columns": "delay"},
    "cdf of users": {"kind": "cdf", "metric": ("users_throughput_bps",), "rows": "flows", "columns": "delay"},
    "cdf of a series": {"kind": "cdf", "series": ("queue.packets",), "rows": "flows", "columns": "delay"},
    "scatter": {"kind": "scatter", "x": "utilisation", "metric": ("queue_delay_s_mean",), "columns": "delay"},
    "scatter each": {"kind": "scatter", "x": "loss_ratio", "metric": ("throughput_bps",), "seeds": "each"},
    "timeline": {"kind": "timeline", "series": ("queue.packets",), "rows": "flows", "columns": "delay"},
    "timeline each": {"series": ("window", "packets"), "columns": "delay", "rows": "flows", "seeds": "each"},
}


def drawn(table: Table, options: dict[str, Any], width: float) -> Figure:
    return drawing.draw(pictures.of_table(table, pictures.Choice(**options)), width)


def legends(figure: Figure) -> list[Legend]:
    own = [ax.get_legend() for ax in figure.axes]
    return [*figure.legends, *(legend for legend in own if legend is not None)]


def contrast(colour: Any) -> float:
    """Against white, as WCAG 2.2 computes it."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (np.dot(channels, (0.2126, 0.7152, 0.0722)) + 0.05)


def measure(figure: Figure) -> None:
    """What must be so of every figure."""
    figure.draw_without_rendering()
    page = figure.bbox
    for legend in legends(figure):
        box = legend.get_window_extent()
        assert box.x0 >= page.x0 - 1, "a legend is cut off"
        assert box.x1 <= page.x1 + 1, "a legend is cut off"
        assert box.y0 >= page.y0 - 1, "a legend is cut off"
        assert box.y1 <= page.y1 + 1, "a legend is cut off"
        for ax in figure.axes:
            data = ax.get_window_extent()
            across = min(box.x1, data.x1) - max(box.x0, data.x0)
            up = min(box.y1, data.y1) - max(box.y0, data.y0)
            assert across < 1 or up < 1, "a legend covers data"
    everything, inches = figure.get_tightbbox(), 0.02
    assert everything.x0 >= -inches, "something is cut off on the left"
    assert everything.y0 >= -inches, "something is cut off below"
    assert everything.x1 <= figure.get_figwidth() + inches, "something is cut off on the right"
    assert everything.y1 <= figure.get_figheight() + inches, "something is cut off above"
    for ax in figure.axes:
        assert ax.get_window_extent().width > 40, "no room for the data"
        for line in plots.means(ax):
            assert contrast(line.get_color()) >= 3
        looks = [look(line) for line in plots.means(ax) if len(line.get_xdata()) > 1]
        if len(looks) <= 7:
            assert len(set(looks)) == len(looks), "two lines look alike without colours"


def look(line: Line2D) -> tuple[Any, ...]:
    return line.get_linestyle(), line.get_marker(), line.get_fillstyle()


def media_box(data: bytes) -> tuple[float, float]:
    found = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", data)
    assert found is not None
    return float(found[1]), float(found[2])


SINGLE = 3.5  # inches: a column of a journal


@pytest.mark.slow("draws each kind at each width", only=r"^(?!.*(\[line each|box of users|interval over numbers)-6.4)")
@pytest.mark.parametrize("width", [SINGLE, 6.4, 7.16])
@pytest.mark.parametrize("name", FIGURES)
def test_every_kind_is_what_a_journal_takes(table: Table, name: str, width: float) -> None:
    figure = drawn(table, FIGURES[name], width)
    measure(figure)
    if width != SINGLE:  # to write a file takes longest, and another width is written no other way
        return
    pdf = plots.rendered(figure, "pdf")
    assert media_box(pdf) == pytest.approx((72 * width, 72 * figure.get_figheight()), abs=1e-3)
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf
    svg = plots.svg(figure)
    assert svg == plots.svg(drawn(table, FIGURES[name], width))
    assert "<dc:date>" not in svg
    words = {text.get_text() for text in figure.findobj(Text)} & {
        "throughput (Mbit/s)",
        "time (s)",
        "CDF over runs (%)",
    }
    for text in words:
        assert f">{text}</text>" in svg
    assert "<text" in svg


def test_a_links_line_is_not_in_the_colour_of_a_group() -> None:
    runs = [
        Run(i, {"flows": flows}, seed, record(seed, flows, 0, 5)) for i, flows in enumerate((1, 2)) for seed in (1, 2)
    ]
    choice = pictures.Choice(metric=("throughput_bps", "bottleneck.utilisation"), x="flows")
    rates, used = pictures.of_table(Table(runs), choice).panels
    assert len(rates.lines) == 2
    assert len(used.lines) == 1
    assert used.lines[0].colour not in {line.colour for line in rates.lines}


def test_studies_that_do_not_sweep_x_are_not_at_its_zero() -> None:
    swept = [Run(i, {"file": "a", "flows": flows}, 1, record(1, flows, 0, 5)) for i, flows in enumerate((1, 2))]
    other = [Run(2 + i, {"file": "b", "queue": queue}, 1, record(1, 3, i, 5)) for i, queue in enumerate(("x", "y"))]
    [panel] = pictures.of_table(Table([*swept, *other]), pictures.Choice(metric=("light.throughput_bps",))).panels
    assert panel.categories == ["a", "b"]
    assert [line.words for line in panel.lines] == ["flows 1", "flows 2", "x", "y"]
    with pytest.raises(UsageError, match=r"^x “flows”: some studies of this figure do not sweep it\."):
        pictures.of_table(Table([*swept, *other]), pictures.Choice(metric=("light.throughput_bps",), x="flows"))
    cut = pictures.Choice(metric=("light.throughput_bps",), columns="queue", kind="cdf")
    with pytest.raises(UsageError, match=r"^columns “queue”: some studies"):
        pictures.of_table(Table([*swept, *other]), cut)


def test_colours_are_dark_enough() -> None:
    assert [c for c in plots.COLOURS if contrast(c) < 3] == []


def test_dollars_are_dollars(table: Table) -> None:
    svg = plots.svg(drawn(table, FIGURES["interval"], 6.4))
    assert "CoDel at $5 or $10" in svg


def test_units_and_names_of_the_field(table: Table) -> None:
    found = pictures.of_table(table, pictures.Choice(metric=("queue_delay_s_mean",), x="links.bottleneck.delay"))
    panel = found.panels[0]
    assert (panel.y.title, panel.x.title) == ("mean queueing delay (ms)", "one-way delay of bottleneck (ms)")
    assert panel.lines[0].x.tolist() == [5, 50]
    assert 10 < panel.lines[0].y[0] < 20


def test_names_for_every_metric_of_the_schema() -> None:
    for entry in schema()["metrics"]:
        name, unit = entry["name"], entry["unit"]
        if not unit or unit in ("as declared", "unit") or "." not in name or name.startswith("histograms"):
            continue
        named = names.metric(name.replace("REASON", "limit").replace("CLASS", "voice"))
        assert "_" not in named.quantity.title, name
        assert named.quantity.unit == ("" if unit == "1" and not named.quantity.shown else unit), name
    assert names.metric("links.line.queue_delay_s_p99").quantity.title == "99th percentile of queueing delay (s)"
    assert names.metric("links.line.reverse.utilisation").owner == "line, reverse"
    assert names.metric("links.line.classes.voice.queue_delay_s_mean").owner == "line, class voice"
    assert names.metric("links.line.drops.limit").quantity.title == "packets dropped (limit)"


def test_names_of_series() -> None:
    assert names.series(WINDOW.format(3)).quantity.title == "congestion window (packets)"
    assert names.series(WINDOW.format(3)).owner == "heavy, user 0, flow 3"
    assert names.series(QUEUE).quantity.title == "queue length (packets)"
    assert names.series("links.a.rate").quantity.fitted([2e6]).title == "rate (Mbit/s)"
    assert names.series("stages.meter.rate").quantity.words == "measured rate"
    assert names.series("groups.g.users[0].flows[0].delivery_rate").quantity.title == "delivery rate (bit/s)"
    rate = names.series("groups.light.users[0].flows[0].received_bytes")
    assert (rate.quantity.title, rate.counter) == ("goodput (bit/s)", True)
    for table in schema()["mechanisms"]:
        for observable in table.get("observables", []):
            assert "_" not in names.series(f"links.a.queue.{observable['name']}").quantity.title


def test_rates_are_of_bytes_in_an_interval() -> None:
    times = struct.pack("<3d", 2.0, 4.0, 6.0)
    counted = {"links.a.delivered_bytes": (times, struct.pack("<3d", 250_000, 500_000, 250_000))}
    picture = pictures.of_record(Record('{"window_s": [0, 6]}', "h", counted))
    (panel,) = picture.panels
    assert panel.y.title == "delivered rate (Mbit/s)"
    assert panel.lines[0].y.tolist() == [1, 2, 1]


def test_a_hundred_flows_are_a_mean_and_a_range() -> None:
    made = Record('{"window_s": [5, 20], "links": {}}', "h", series(1, 100))
    picture = pictures.of_record(made)
    windows = next(p for p in picture.panels if p.y.words == "congestion window")
    (line,) = windows.lines
    assert line.words == "heavy: mean and range of 100 flows"
    assert (line.lo <= line.y).all()
    assert (line.hi >= line.y).all()
    figure = made.plot(width=3.5)
    measure(figure)
    assert figure.get_figwidth() == 3.5


def test_users_of_a_run_are_not_replications(table: Table) -> None:
    chosen = {"scheme": SCHEMES[0], "links.bottleneck.delay": "5 ms", "groups.heavy.traffic.flows": 1}
    runs = table.where(chosen)
    choice = pictures.Choice(metric=("users_throughput_bps",), kind="box")
    (line,) = pictures.of_table(runs, choice).panels[0].lines
    means = [np.mean(run.json["groups"]["light"]["users_throughput_bps"]) / 1e6 for run in runs]
    wanted = ef.stats.mean_interval(means)
    assert (line.y[0], line.lo[0], line.hi[0], line.n[0]) == pytest.approx((wanted.mean, wanted.lo, wanted.hi, 4))
    assert len(line.samples[0]) == 4 * 20


@pytest.mark.parametrize("kind", ["interval", "box", "cdf"])
def test_one_point_one_run_and_nothing_defined(kind: str) -> None:
    alone = Table([Run(0, {}, 1, record(1, 1, 1, 5.0))])
    measure(alone.plot("loss_ratio", kind=kind, width=3.5))
    nothing = Table([Run(0, {"x": i}, 1, Record('{"groups": {"a": {"loss_ratio": null}}}', "h")) for i in (1, 2)])
    measure(nothing.plot("loss_ratio", kind=kind))


def test_equal_values_and_single_seeds() -> None:
    flat = '{"groups": {"a": {"throughput_bps": 5e6}}, "seed": 1}'
    table = Table([Run(x, {"x": x}, seed, Record(flat, "h")) for x in (1, 2, 3) for seed in (1, 2)])
    figure = table.plot("throughput_bps")
    measure(figure)
    low, high = figure.axes[0].get_ylim()
    assert low < 5 < high
    single = Table([Run(x, {"x": x}, 1, Record(flat, "h")) for x in (1, 2, 3)])
    assert not np.isfinite(pictures.of_table(single).panels[0].lines[0].lo).any()
    measure(single.plot())


def test_doubled_values_stand_on_a_logarithmic_axis(table: Table) -> None:
    assert table.plot("utilisation", x="flows", columns="delay").axes[0].get_xscale() == "log"
    steps = Table([Run(x, {"x": x}, s, record(s, x, 0, 5.0)) for x in (1, 2, 3, 4) for s in (1, 2)])
    assert steps.plot("utilisation").axes[0].get_xscale() == "linear"


def test_an_axis_begins_at_zero_where_the_data_come_near_it() -> None:
    assert drawing._span(0.2, 1.0)[0] == 0
    assert drawing._span(0.6, 1.0)[0] > 0


@pytest.mark.parametrize("log", ["", "y"])
def test_shared_axes_show_all_panels_with_short_ticks(log: str) -> None:
    values = computed(lambda x, of: Interval.exact(x * of), x=(1.0, 2.0, 3.0), of=(10.0, 1.0))
    panel = curves(values, x="x", y="y", log=log, marks=[Mark(2.0, 35.0, colour=1)])
    made = drawing.draw(Figures({}, {})(panel, by=("of",), columns=2, shared=True)(Shown("key", {})))
    for ax in made.axes:
        assert ax.get_ylim()[0] <= 1
        assert ax.get_ylim()[1] > 35
    assert {it.get_text() for it in made.axes[0].get_yticklabels()} >= ({"2", "5", "20"} if log else {"10", "20"})


def test_labels_that_move_in_step_make_no_lines_of_single_points() -> None:
    runs = [
        Run(i, {"a": f"{d} ms", "b": f"{d * 4} packets"}, s, record(s, 1, 0, d))
        for i, d in enumerate((5, 50))
        for s in (1, 2)
    ]
    (panel,) = pictures.of_table(Table(runs), pictures.Choice(metric=("utilisation",))).panels
    assert [len(line.x) for line in panel.lines] == [2]


def test_a_run_alone_has_its_seed_or_0() -> None:
    records = [Record('{"seed": 7}', "h"), Record("{}", "h")]
    assert [run.seed for made in records for run in pictures._alone(made)] == [7, 0]


def test_the_numbers_of_a_figure(table: Table) -> None:
    chosen = pictures.Choice(metric=("heavy.throughput_bps",), x="flows", by=("scheme", "delay"))
    frame = pictures.of_table(table, chosen).frame()
    assert set(frame["y_unit"]) == {"Mbit/s"}
    row = frame.filter(line="CoDel at $5 or $10, 5 ms", x=4).row(0, named=True)
    where = {"scheme": SCHEMES[1], "links.bottleneck.delay": "5 ms", "groups.heavy.traffic.flows": 4}
    found = table.interval("groups.heavy.throughput_bps", where)
    assert (row["y"], row["lo"], row["hi"], row["n"]) == pytest.approx(
        (found.mean / 1e6, found.lo / 1e6, found.hi / 1e6, 4)
    )


def test_a_distribution_of_users_is_a_mean_over_runs(table: Table) -> None:
    chosen = {"scheme": SCHEMES[0], "links.bottleneck.delay": "5 ms", "groups.heavy.traffic.flows": 1}
    picture = pictures.of_table(table.where(chosen), pictures.Choice(metric=("users_throughput_bps",)))
    assert picture.kind == "cdf"
    (line,) = picture.panels[0].lines
    assert (line.y[0], line.y[-1]) == (0, 100)
    assert (np.diff(line.y) >= 0).all()
    assert line.y[np.searchsorted(line.x, 1.955)] == pytest.approx(50, abs=5)


def test_all_that_is_wrong_is_said_at_once(table: Table) -> None:
    with pytest.raises(UsageError) as caught:
        table.plot("utilisatoin", x="flws", by="schem", columns="dely", kind="lines", seeds="all")  # type: ignore[arg-type]
    text = str(caught.value)
    for part in (
        "links.bottleneck.utilisation",
        "groups.heavy.traffic.flows",
        "scheme",
        "links.bottleneck.delay",
        "line",
        "mean",
    ):
        assert part in text
    with pytest.raises(UsageError, match=r"several points .* differ in links\.bottleneck\.delay"):
        table.plot("utilisation", x="flows", by="scheme")
    with pytest.raises(UsageError, match="asked for twice"):
        table.plot("utilisation", x="flows", by="flows")
    with pytest.raises(UsageError, match="no numbers"):
        table.plot("utilisation", x="scheme", by=("flows", "delay"), kind="line")
    with pytest.raises(UsageError, match="needs a metric for x"):
        table.plot("utilisation", kind="scatter")
    with pytest.raises(UsageError, match="no swept labels"):
        record(1, 1, 1, 5.0).plot("utilisation", kind="interval").savefig("a.png") if False else pictures.of_record(
            record(1, 1, 1, 5.0), pictures.Choice(x="flows")
        )


def test_a_figure_too_small_for_its_legend_says_so(table: Table) -> None:
    with pytest.raises(UsageError, match="no room for the data"):
        table.plot("throughput_bps", x="flows", by=("scheme", "delay"), width=3.5, height=1.2)


def test_series_are_found_without_looking_at_all_others(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = work / "s.npz"
    arrays = {f"groups.a.users[{i}].flows[0].window": np.array([[0.0, 1.0], [i, i + 1.0]]) for i in range(3000)}
    np.savez(path, **arrays)  # type: ignore[arg-type]
    opened: list[object] = []
    real = zipfile.ZipFile

    def counting(*arguments: Any, **options: Any) -> zipfile.ZipFile:
        opened.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(zipfile, "ZipFile", counting)
    file = SeriesFile(path, str(digest_of(path)))
    made = Record("{}", "h", file)
    for name, both in arrays.items():
        times, values = made.arrays(name)
        assert (times.tolist(), values.tolist()) == (both[0].tolist(), both[1].tolist())
    assert len(opened) == 1
    assert "no" not in file
    path.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        file["groups.a.users[0].flows[0].window"]


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (5.0, 2.8e-5, "5.0000 ± < 0.0001"),
        (18.25, 5.0, "18.2 ± 5.0"),
        (92.53, 1.0, "92.5 ± 1.0"),
        (4.9123, 0.0312, "4.912 ± 0.031"),
        (5.0, 0.0, "5.000 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (12345.6, 789.0, "12,346 ± 789"),
    ],
)
def test_digits_end_at_the_same_place(mean: float, half: float, shown: str) -> None:
    found = {"mean": mean / 1e2, "ci95": [(mean - half) / 1e2, (mean + half) / 1e2]}
    assert screens.interval("links.a.utilisation", found) == shown


# --- The command line ----------------------------------------------------------------------------------------------

SWEPT = """
[sweep]
replications = 3
"groups.heavy.traffic.flows" = [1, 2, 4]
"""
QUEUES = """
[sweep.cases.queue]
"drop-tail" = {}
"CoDel" = { "links.bottleneck.queue" = { kind = "codel", limit = "1000 packets" } }
"""
RECORDED = """
[record]
series = [{ of = "links.bottleneck.queue.packets", every = "100 ms" }]
"""

Cli = Callable[..., Any]


@pytest.fixture
def swept(small: Path) -> Path:
    path = small.with_name("swept.toml")
    path.write_text(small.read_text() + RECORDED + SWEPT + QUEUES, encoding="utf-8")
    return path


def test_plot_a_file(cli: Cli, small: Path, work: Path) -> None:
    done = cli("plot", small, "--width", "3.5in", "--height", "4in", "--out", "fig.pdf")
    assert (done.code, done.out) == (0, "fig.pdf\n"), done.err
    assert media_box((work / "fig.pdf").read_bytes()) == (252, 288)
    assert cli("plot", small, "--kind", "box", "--metric", "users_throughput_bps", "--out", "box.csv").code == 0
    assert cli("plot", small, "--replications", 2, "--out", "few.csv").code == 0
    done = cli("plot", small)
    assert done.out.split() == ["out/small/plot.svg", "out/small/plot.pdf"]
    svg = (work / "out/small/plot.svg").read_text()
    for words in ("goodput (Mbit/s)", "queue length of bottleneck (packets)", "congestion window (packets)"):
        for part in words.split(" ("):  # a long title is broken into lines
            assert part.split()[-1].rstrip(")") in svg


def test_plot_a_study(cli: Cli, swept: Path, work: Path) -> None:
    assert cli("study", swept, "--replications", 2).code == 0
    done = cli("plot", "out/swept", "--metric", "throughput_bps", "--x", "flows", "--by", "queue", "--out", "a.csv")
    assert done.code == 0, done.err
    assert (work / "a.csv").read_text().startswith("panel,line,of,x,x_name,")
    for file, options in (
        ("b.csv", ["--kind", "box", "--metric", "heavy.throughput_bps"]),
        ("b.csv", ["--series", "packets"]),
        ("b.png", ["--kind", "cdf", "--series", "packets"]),
    ):
        done = cli("plot", "out/swept", *options, "--columns", "flows", "--out", file)
        assert done.code == 0, done.err


def test_plot_a_file_as_a_study(cli: Cli, swept: Path, work: Path) -> None:
    done = cli("plot", swept, "--metric", "utilisation", "--x", "flows", "--by", "queue", "--out", "a.svg")
    assert done.code == 0, done.err
    assert (work / "out" / "store" / "runs.sqlite3").exists()


def test_a_study_opens_again(cli: Cli, swept: Path, work: Path) -> None:
    assert cli("study", swept, "--metric", "utilisation", "--replications", 2).code == 0
    found = ef.open("out/swept")
    assert isinstance(found, Table)
    assert found.origin is not None
    assert found.origin.scenario.tree == tomllib.loads(swept.read_text())
    assert (list(found.origin.seeds), len(found)) == ([1, 2], 12)
    assert found.origin.command == f"evenflow study {swept} --replications 2 --metric utilisation"
    again = ef.study(swept, replications=2)
    assert again.cached == 12
    assert [run.record.record_hash for run in found] == [run.record.record_hash for run in again]
    assert found.metric_names() == again.metric_names()
    times, values = found.runs[3].series(QUEUE)
    assert times.tolist() == again.runs[3].series(QUEUE)[0].tolist()
    assert values.tolist() == again.runs[3].series(QUEUE)[1].tolist()
    moved = work / "elsewhere"
    (work / "out").rename(moved)
    assert ef.open(moved / "swept").runs[0].series(QUEUE)[0].size  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="holds the studies swept"):
        ef.open(moved)
    with pytest.raises(UsageError, match=r"Did you mean .*swept"):
        ef.open(moved / "swpet")


def test_a_run_opens_again(cli: Cli, swept: Path, work: Path) -> None:
    done = cli("run", swept, "--out", "kept", "--seed", 2)
    assert done.code == 0, done.err
    assert sorted(p.name for p in (work / "kept").iterdir()) == [
        "plot.pdf",
        "plot.svg",
        "record.json",
        "series.csv",
        "series.parquet",
        "view.html",
    ]
    found, again = ef.open("kept"), ef.run(swept, seed=2)
    assert isinstance(found, Record)
    assert found.record_hash == again.record_hash
    assert found.arrays(QUEUE)[1].tolist() == again.arrays(QUEUE)[1].tolist()
    assert cli("plot", "kept", "--kind", "cdf", "--out", "c.pdf").code == 0


def test_plotting_changes_no_record(cli: Cli, small: Path) -> None:
    plain = json.loads(cli("run", small, "--json").out)
    done = cli("run", small, "--json", "--plot")
    assert json.loads(done.out)["record_hash"] == plain["record_hash"]


def test_ef_study_uses_the_store(swept: Path, work: Path) -> None:
    assert ef.study(swept, replications=1, store=False).cached == 0
    assert not (work / "out").exists()
    assert ef.study(swept, replications=1).cached == 0
    assert ef.study(swept, replications=1).cached == 6


def test_scenarios_and_records_plot_themselves(small: Path, swept: Path) -> None:
    measure(ef.load(small).plot(width=3.5))
    assert ef.run(small).plot().axes[0].get_xlabel().startswith("throughput")
    (ax,) = ef.run(swept).plot(series="packets").axes
    assert ax.get_ylabel().replace("\n", " ") == "queue length of bottleneck (packets)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plot", "smal.toml"], ["Did you mean small.toml"]),
        (["plot", "nowhere"], ["no such folder"]),
        (["plot", "small.toml", "--out", "a.gif"], [".pdf, .svg or .png"]),
        (["plot", "small.toml", "--width", "3.5 furlongs"], ["--width 3.5 furlongs", "89mm"]),
        (["plot", "small.toml", "--width", "900in"], ["1 to 40 inches"]),
        (["plot", "small.toml", "--x", "flows"], ["has no [sweep]"]),
        (["plot", "small.toml", "--kind", "pie"], ["pie"]),
        (["plot", "small.toml", "--series", "windw"], ["window"]),
        (["plot", "small.toml", "--metric", "groups.heavy.throughput"], ["groups.heavy.throughput_bps"]),
        (
            ["plot", "small.toml", "--width", "1", "--out", "a.gif", "--series", "x", "--metric", "y"],
            ["--out a.gif", "or the other"],
        ),
        (["study", "swept.toml", "--x", "flws"], ["groups.heavy.traffic.flows"]),
        (["study", "swept.toml", "--metric", "utilization", "--replications", "2"], ["utilisation"]),
    ],
)
def test_bad_requests(cli: Cli, swept: Path, arguments: list[str], words: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == 2, done
    for word in words:
        assert word in done.err, done.err


@pytest.mark.figures
def test_the_report_says_what_it_is_and_why_something_is_missing(cli: Cli, swept: Path, work: Path) -> None:
    assert cli("study", swept, "--set", "groups.heavy.traffic.flows=2").code == 0
    page = (work / "out/swept/report.html").read_text()
    assert page.count("<svg") >= 3, "cases are drawn as dots with intervals"
    assert "figures/throughput.pdf" in page
    for text in ("seeds 1 to 3", "[links.bottleneck]", f"evenflow study {swept} --set groups.heavy.traffic.flows=2"):
        assert text in page, text
    assert "minmax(min(26rem, 100%), 1fr)" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for link in re.findall(r'href="(figures/[^"]+)"', page):
        assert (work / "out/swept" / link).exists()


def test_the_route_from_a_record_to_a_figure_is_short() -> None:
    """Method, choice, names, data, drawing, looks: six modules behind the record, and what every package may use."""
    run = record(1, 2, 0, 5.0)
    run.plot()  # imports
    modules: dict[str, None] = {}

    def called(frame: FrameType, event: str, argument: object) -> None:
        name = str(frame.f_globals.get("__name__"))
        if event == "call" and name.startswith("evenflow."):
            modules.setdefault(name.removeprefix("evenflow."))

    sys.setprofile(called)
    try:
        run.plot()
    finally:
        sys.setprofile(None)
    shared = {"words", "errors", "stats", "scenario.paths", "run.record"}
    parts = ("drawing", "methods", "names", "picture", "pictures", "plots")
    assert sorted(set(modules) - shared) == [f"show.{name}" for name in parts]
