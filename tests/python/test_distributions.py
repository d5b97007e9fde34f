"""Distributions of delays over packets: percentiles, merging, figures, tables and notes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from conftest import Cli
from evenflow.errors import UsageError
from evenflow.mechanism import describe
from evenflow.record import Record
from evenflow.run import histograms
from evenflow.run.histograms import Histogram
from evenflow.show import drawing, pictures, screens
from evenflow.study import Run, Table

QUEUES = {"drop-tail": 0.05, "CoDel": 0.005, "FQ-CoDel": 0.0002}
CALL, RTT, LINE = "groups.call.delay", "groups.web.rtt", "links.line.queue.delay"


def binned(values: Any, bits: int = 4) -> dict[str, list[float]]:
    """A histogram as an engine writes it: bins of an octave in equal parts, the empty ones left out."""
    octaves = np.arange(0, 40 << bits)
    edges = ((1 << bits) + (octaves & ((1 << bits) - 1))) * 2.0 ** (octaves >> bits) * 1e-9
    counts, _ = np.histogram(values, edges)
    there = np.flatnonzero(counts)
    return {"low_s": edges[there].tolist(), "high_s": edges[there + 1].tolist(), "count": counts[there].tolist()}


def delays(seed: int, median: float) -> Any:
    noise = np.random.default_rng([seed, int(median * 1e6)])
    return median * math.exp(0.05 * noise.normal()) * np.exp(0.3 * noise.normal(size=4000))


def percentiles(field: str, values: Any) -> dict[str, float]:
    return {f"{field}_p{p}": float(np.quantile(values, p / 100)) for p in (50, 95, 99)}


def record(seed: int, median: float, **more: Any) -> Record:
    queued = delays(seed, median)
    call = {"users": 3, "throughput_bps": 1e5, "users_delay_s_p95": [0.01, 0.02, 0.04]}
    tree = {
        "seed": seed,
        "engine": {"id": "feedfacefeedface"},
        "window_s": [5.0, 20.0],
        "groups": {
            "call": {**call, **percentiles("delay_s", queued + 0.02)},
            "web": {"users": 1, "throughput_bps": 9e6, **percentiles("rtt_s", queued + 0.04)},
        },
        "links": {"line": {"utilisation": 0.99, "queue_delay_s_mean": float(queued.mean()), "queue_delay_s_p99": 0.1}},
        "histograms": {CALL: binned(queued + 0.02), RTT: binned(queued + 0.04), LINE: binned(queued)},
        **more,
    }
    return Record(json.dumps(tree), f"h{seed}")


def table(seeds: int = 4) -> Table:
    return Table(
        Run(point, {"queue": name}, seed, record(seed, median))
        for point, (name, median) in enumerate(QUEUES.items())
        for seed in range(1, seeds + 1)
    )


def test_quantiles_are_within_a_bin_of_the_exact_ones() -> None:
    values = delays(1, 0.005)
    [found] = Histogram.of(binned(values))
    assert found.total == len(values)
    shares = [0.0, 0.05, 0.5, 0.95, 0.99, 1.0]
    assert found.quantile(shares) == pytest.approx(np.quantile(values, shares), rel=0.063)
    assert isinstance(found.quantile(0.5), float)
    with pytest.raises(UsageError, match="share from 0 to 1"):
        found.quantile(95)


def test_a_quantile_is_linear_in_its_bin() -> None:
    found = Histogram(np.array([1.0, 4.0]), np.array([2.0, 8.0]), np.array([1.0, 3.0]))
    assert found.quantile([0.0, 0.125, 0.25, 0.5, 1.0]) == pytest.approx([1.0, 1.5, 2.0, 4 + 4 / 3, 8.0])
    edges, share = found.cdf()
    assert edges.tolist() == [1, 2, 4, 8]
    assert share.tolist() == [0, 0.25, 0.25, 1]
    assert math.isnan(Histogram.merged([]).quantile(0.5))


def test_histograms_add_over_runs() -> None:
    one, two = delays(1, 0.005), delays(2, 0.05)
    merged = Histogram.merged([*Histogram.of(binned(one)), *Histogram.of(binned(two))])
    [together] = Histogram.of(binned(np.concatenate([one, two])))
    for field in ("low_s", "high_s", "count"):
        assert getattr(merged, field).tolist() == getattr(together, field).tolist()


def test_users_have_a_histogram_each() -> None:
    tree = {"low_s": [1.0, 2.0], "high_s": [2.0, 3.0], "count": [[1, 0], [2, 5]]}
    first, second = Histogram.of(tree)
    assert (first.total, second.total) == (1, 7)
    assert first.low_s.tolist() == [1.0]


@pytest.mark.parametrize("of", ["groups.call", CALL])
def test_delays_of_a_record(of: str) -> None:
    found = record(1, 0.005).delays(of)
    assert found.quantile(0.99) == pytest.approx(np.quantile(delays(1, 0.005) + 0.02, 0.99), rel=0.063)
    assert record(1, 0.005).delays("links.line").total == 4000


def test_a_missing_distribution_is_named_with_the_remedy() -> None:
    with pytest.raises(UsageError, match=r'Add record\.histograms = \["links.x.queue.delay"\]'):
        record(1, 0.005, histograms={}).delays("links.x")
    with pytest.raises(UsageError, match=r"Did you mean “groups\.call\.delay”"):
        record(1, 0.005).delays("groups.cal")


def test_names_of_a_scenario() -> None:
    found = histograms.names(ef.load(ef_example("call")))
    assert found == [
        "groups.call.delay",
        "groups.call.users.delay",
        "groups.download.delay",
        "groups.download.rtt",
        "groups.download.users.delay",
        "links.line.queue.delay",
        "links.line.classes.be.queue.delay",
        "links.line.classes.voice.queue.delay",
    ]


def ef_example(name: str) -> str:
    from conftest import ROOT

    return str(ROOT / "examples" / "scenarios" / f"{name}.toml")


def test_a_distribution_is_requested_once() -> None:
    scenario = ef.load(ef_example("call")).set("record.histograms", [LINE])
    assert histograms.requested(scenario, [LINE, CALL, CALL]).tree["record"]["histograms"] == [LINE, CALL]
    assert histograms.requested(scenario, [LINE]) is scenario


@pytest.mark.parametrize(
    ("choice", "needs"),
    [
        ({"metric": ("call.delay",)}, [CALL]),
        ({"metric": ("delay",), "kind": "cdf"}, ["groups.call.delay", "groups.download.delay"]),
        ({"metric": ("delay",)}, []),
        ({"metric": (CALL,), "x": "flows"}, []),
        ({"metric": (CALL,), "over": "runs"}, []),
        ({"metric": ("classes.voice.queue_delay_s_p99",)}, ["links.line.classes.voice.queue.delay"]),
        ({"metric": ("call.users_delay_s_p95",)}, ["groups.call.users.delay"]),
        ({"metric": ("queue_delay_s_p99",)}, []),
    ],
)
def test_what_a_figure_needs_is_recorded(choice: dict[str, Any], needs: list[str]) -> None:
    known = histograms.names(ef.load(ef_example("call")))
    assert pictures.needed(pictures.Choice(**choice), known) == needs


def test_a_cdf_over_packets_is_a_mean_over_runs() -> None:
    picture = pictures.of_table(table(), pictures.Choice(metric=("call.delay",), by=("queue",)))
    [panel] = picture.panels
    assert (panel.x.title, panel.y.title) == ("one-way delay (ms)", "CDF over packets (%)")
    assert picture.notes == []
    for line, median in zip(panel.lines, QUEUES.values(), strict=True):
        exact = 1e3 * (np.concatenate([delays(seed, median) for seed in (1, 2, 3, 4)]) + 0.02)
        at = float(np.interp(50.0, line.y, line.x))
        assert at == pytest.approx(float(np.median(exact)), rel=0.063)
        assert line.binned
        assert set(line.n) == {4}
        assert np.all(line.lo <= line.y + 1e-9)
        assert np.all(line.hi >= line.y - 1e-9)


def test_a_single_run_has_no_band() -> None:
    [panel] = pictures.of_record(record(1, 0.005), pictures.Choice(metric=(CALL,))).panels
    assert np.isnan(panel.lines[0].lo).all()


def test_delays_of_different_size_stand_on_a_logarithmic_axis() -> None:
    [panel] = pictures.of_table(table(), pictures.Choice(metric=(LINE,), by=("queue",))).panels
    assert panel.x_scale is not None
    assert panel.x_scale.log
    [panel] = pictures.of_table(table().where(queue="CoDel"), pictures.Choice(metric=(LINE,))).panels
    assert panel.x_scale is None
    [panel] = pictures.of_table(table(), pictures.Choice(metric=(LINE,), kind="box", x="queue")).panels
    assert panel.y_scale is not None
    assert panel.y_scale.log
    boxes = pictures.of_table(table(), pictures.Choice(metric=(LINE,), kind="box", x="queue"))
    assert drawing.draw(boxes).axes[0].get_yscale() == "log"


def test_a_ccdf_is_the_share_above() -> None:
    below, above = (
        pictures.of_table(table(), pictures.Choice(metric=(RTT,), by=("queue",), kind=kind)).panels[0]
        for kind in ("cdf", "ccdf")
    )
    assert above.y.title == "CCDF over round trips (%)"
    assert above.y_scale is not None
    assert above.y_scale.log
    for one, other in zip(below.lines, above.lines, strict=True):
        there = np.isfinite(other.y)
        assert other.y[there] == pytest.approx(100 - one.y[there])


def test_a_box_over_packets_has_their_quartiles() -> None:
    [panel] = pictures.of_table(table(), pictures.Choice(metric=(LINE,), kind="box", x="queue")).panels
    assert panel.y.title == "queueing delay, over packets (ms)"
    [line] = panel.lines
    exact = np.concatenate([delays(seed, QUEUES["CoDel"]) for seed in (1, 2, 3, 4)])
    assert 1e3 * np.quantile(exact, 0.75) == pytest.approx(float(np.quantile(line.samples[1], 0.75)), rel=0.063)


@pytest.mark.parametrize("kind", ["cdf", "ccdf", "box"])
@pytest.mark.parametrize("width", [3.5, 7.0])
def test_every_kind_is_drawn(kind: str, width: float) -> None:
    choice = pictures.Choice(metric=("call.delay", RTT), kind=kind)
    figure = drawing.draw(pictures.of_table(table(), choice), width)
    words = " ".join(label for ax in figure.axes for label in (ax.get_xlabel(), ax.get_ylabel()))
    assert "over packets" in words.replace("\n", " ")


def test_a_cdf_of_one_number_per_run_says_so() -> None:
    choice = pictures.Choice(metric=("queue_delay_s_p99", "utilisation"), kind="cdf", by=("queue",))
    picture = pictures.of_table(table(), choice)
    assert {panel.y.title for panel in picture.panels} == {"CDF over runs (%)"}
    first, second = picture.notes
    assert (first.code, first.path) == ("over-runs", "links.line.queue_delay_s_p99")
    assert f"Draw {LINE}, or" in first.text
    assert "12 runs" in first.text
    assert "Draw" not in second.text
    confirmed = pictures.of_table(table(), pictures.Choice(choice.metric, kind="cdf", by=("queue",), over="runs"))
    assert confirmed.notes == []
    users = pictures.of_table(table(), pictures.Choice(metric=("users_delay_s_p95",), kind="cdf", by=("queue",)))
    assert users.panels[0].y.title == "CDF over users (%)"
    assert users.notes == []


def test_wrong_words_are_reported() -> None:
    with pytest.raises(UsageError, match=r"“groups.x.delay” was not recorded\. Add record\.histograms"):
        pictures.of_table(table(), pictures.Choice(metric=("groups.x.delay",)))
    with pytest.raises(UsageError, match="over “users”: write over = “runs”"):
        pictures.of_table(table(), pictures.Choice(metric=(CALL,), over="users"))
    with pytest.raises(UsageError, match="leave x out"):
        pictures.of_table(table(), pictures.Choice(metric=(CALL,), kind="cdf", x="queue"))


def test_python_draws_the_same() -> None:
    assert table().plot(CALL, by="queue").axes[0].get_ylabel() == "CDF over packets (%)"
    assert table().plot("utilisation", kind="cdf", by="queue", over="runs").axes[0].get_ylabel() == "CDF over runs (%)"


def test_a_misspelt_distribution_is_reported_before_a_run(cli: Cli) -> None:
    done = cli("plot", ef_example("call"), "--metric", "groups.calls.delay", "--kind", "cdf")
    assert done.code == 2
    assert done.err.count("did you mean “groups.call.delay”?") == 1
    assert "errors" not in done.err


def test_a_misspelt_metric_of_a_study_is_reported_before_a_run(cli: Cli, tmp_path: Path) -> None:
    for command in (("study", "--out", tmp_path / "out"), ("plot", "--by", "queue")):
        wrong = ("--metric", "utilization_", "--metric", "groups.downlod.throughput_bps")
        done = cli(*command, ef_example("queues"), *wrong)
        assert done.code == 2
        assert done.err.count("metric “") == 2
        assert "did you mean “groups.download.throughput_bps”?" in done.err
    assert not list(tmp_path.iterdir())


def test_a_run_prints_delays_and_round_trips(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = ef.load(ef_example("call"))
    screens.run(scenario, record(1, 0.05))
    printed = capsys.readouterr().out
    [head] = [line for line in printed.splitlines() if "one-way delay p50" in line]
    assert head.split() == ["group", "one-way", "delay", "p50", "p95", "p99", "RTT", "p50", "p95", "p99"]
    [web] = [line for line in printed.splitlines() if line.split()[:2] == ["web", "–"]]
    exact = 1e3 * np.quantile(delays(1, 0.05) + 0.04, [0.5, 0.95, 0.99])
    assert [float(cell) for cell in web.split()[4::2]] == pytest.approx(exact, rel=0.01)
    screens.run(scenario, record(1, 0.05, groups={"call": {"users": 1}}))
    assert "one-way" not in capsys.readouterr().out


def test_a_study_has_the_times_of_each_group() -> None:
    found = pictures.metrics_of(table(), pictures.Choice(), times=True)
    times = [name for name in found if "_s_p" in name]
    assert times == [f"groups.{of}_s_{p}" for of in ("call.delay", "web.rtt") for p in ("p50", "p99")]
    assert not [name for name in pictures.metrics_of(table(), pictures.Choice()) if "_s_p" in name]
    assert screens.heading("groups.web.rtt_s_p99") == "web round-trip time p99 (ms)"


@pytest.mark.parametrize("alias", ["rtt", "latency", "delay", "fct", "plt"])
def test_usual_names_find_their_metrics(alias: str) -> None:
    assert describe(alias)["alias"] == alias
    if alias in ("fct", "plt"):
        return
    found = pictures.metrics_of(table(), pictures.Choice(metric=(alias,)))
    ends = {name.rpartition(".")[2] for name in found}
    assert ends >= ({"rtt_s_p50", "rtt_s_p99"} if alias == "rtt" else {"delay_s_p50", "delay_s_p99"})


SHORT = {"duration": "4 s", "warmup": "1 s", "groups.download.traffic.start": "0 s"}


@pytest.fixture(scope="module")
def real() -> Record:
    return ef.load(ef_example("call")).with_settings(SHORT).run(1)


def test_delays_of_single_packets_are_those_of_the_record(real: Record) -> None:
    times, found = real.packet_delays("links.line")
    window = times > 1
    assert found[window].max() == pytest.approx(real.metric("links.line.queue_delay_s_max"), abs=1e-9)
    assert found[window].mean() == pytest.approx(real.metric("links.line.queue_delay_s_mean"), rel=0.01)
    times, found = real.packet_delays("groups.call")
    assert (times > 1).sum() == real.metric("groups.call.delivered_packets")
    assert found.min() == pytest.approx(0.02 + 200 * 8 / 10e6, abs=1e-6)
    _, voice = real.packet_delays("links.line.classes.voice")
    assert len(voice) == len(found)


def test_delays_of_single_packets_need_a_constant_rate(real: Record) -> None:
    assert real.scenario is not None
    steps = {"steps": [["0 s", "10 Mbit/s"], ["2 s", "5 Mbit/s"]]}
    serve = {"kind": "grants", "every": "2 ms"}
    for path, value in (("links.line.rate", steps), ("links.line.serve", serve)):
        with pytest.raises(UsageError, match=r"links\.line\.rate varies"):
            real.scenario.set(path, value).run(1).packet_delays("links.line")
    with pytest.raises(UsageError, match=r"write groups\.NAME or links\.NAME"):
        real.packet_delays("groups.missing")
    with pytest.raises(UsageError, match="scenario of this record is unknown"):
        record(1, 0.05).packet_delays("groups.call")


def test_panels_share_colours_and_have_letters(real: Record) -> None:
    runs = []
    for run in table(2):
        made = Record(run.record.text, run.record.record_hash)
        made.scenario = real.scenario
        runs.append(Run(run.point, run.labels, run.seed, made))
    choice = pictures.Choice(panels=("cdf:call.delay", "time:links.line.queue.delay", "interval:utilisation"))
    picture = pictures.of_table(Table(runs), choice)
    assert [panel.kind for panel in picture.panels] == ["cdf", "timeline", "interval"]
    assert [panel.title for panel in picture.panels] == ["a", "b", "c"]
    first, second, _ = picture.panels
    assert [(line.words, line.colour) for line in first.lines] == [(line.words, line.colour) for line in second.lines]
    assert second.y.title == "queueing delay, p50 and p5–p95 (ms)"
    assert second.lines[0].x.max() < 4
    for width in (3.5, 7.16):
        figure = drawing.draw(picture, width)
        assert len(figure.axes) == 3
        assert figure.get_figwidth() == width


@pytest.mark.parametrize(
    ("panels", "words"),
    [
        (("cdf",), "write KIND:NAME"),
        (("cfd:utilisation",), "did you mean “cdf”"),
        (("time:links.line.queue.packets",), "recorded no series"),
    ],
)
def test_wrong_panels_are_reported(panels: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pictures.of_table(table(), pictures.Choice(panels=panels, by=("queue",)))
    with pytest.raises(UsageError, match="remove metric"):
        pictures.of_table(table(), pictures.Choice(panels=panels, metric=("utilisation",)))


def test_panels_of_a_file(cli: Cli, work: Path) -> None:
    settings = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    panels = "time:links.line.queue.packets,time:groups.call.delay"
    done = cli("plot", ef_example("call"), *settings, "--panels", panels, "--out", "two.csv")
    assert done.code == 0, done.err
    names = {line.split(",")[0] for line in (work / "two.csv").read_text().splitlines()}
    assert names >= {"a", "b"}
    wrong = cli("plot", ef_example("call"), "--panels", "cdf:groups.cal.delay,tim:x")
    assert wrong.code == 2
    assert "did you mean “time”" in wrong.err


def test_files_in_one_figure(cli: Cli, work: Path) -> None:
    settings = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    text = Path(ef_example("call")).read_text(encoding="utf-8")
    (work / "codel.toml").write_text(text.replace("queue = {", 'queue = { kind = "codel",'), encoding="utf-8")
    both = (ef_example("call"), "codel.toml")
    done = cli("plot", *both, *settings, "--panels", "cdf:groups.call.delay,time:links.line.queue.packets", "--json")
    assert done.code == 0, done.err
    numbers = json.loads(done.out)["numbers"]
    assert {(row["panel"], row["line"]) for row in numbers} == {(p, n) for p in "ab" for n in ("call", "CoDel")}
    means = {
        n: next(r["x"] for r in numbers if (r["panel"], r["line"]) == ("a", n) and r["y"] >= 50)
        for n in ("call", "CoDel")
    }
    assert means["CoDel"] < means["call"]
    assert "is given twice" in cli("plot", both[1], both[1], "--metric", "groups.call.delay").err
    done = cli("plot", *both)
    assert (done.code, "--metric, --series or --panels" in done.err) == (2, True)


def test_transfers_have_a_distribution() -> None:
    web = {"kind": "web", "page_size": "60 kB", "objects": 3, "think": "300 ms"}
    scenario = ef.load(ef_example("call")).set("groups.web", {"users": 2, "path": ["line"], "traffic": web})
    scenario = scenario.with_settings({"duration": "20 s", "warmup": "1 s"})
    name = "groups.web.transfers.completion"
    assert name in histograms.names(scenario)
    assert "groups.download.transfers.completion" not in histograms.names(scenario)
    record = scenario.run(1)
    found = record.delays(name)
    transfers = record.json["groups"]["web"]["transfers"]
    assert found.total == transfers["completed"]
    for share, field in ((0.5, "p50"), (0.95, "p95")):
        assert found.quantile(share) == pytest.approx(transfers[f"completion_s_{field}"], rel=0.004)
    [panel] = pictures.of_record(record, pictures.Choice(metric=(name,), kind="cdf")).panels
    assert (panel.y.title, panel.x.words) == ("CDF over transfers (%)", "completion time")
    with pytest.raises(ef.ScenarioError, match="so it has no transfers"):
        record.delays("groups.download.transfers.completion")


def test_states_have_names(cli: Cli) -> None:
    flow = "groups.download.users[0].flows[0]"
    series = [{"of": f"{flow}.{name}", "every": "100 ms"} for name in ("state", "recovery", "app_limited")]
    scenario = ef.load(ef_example("call")).with_settings({"duration": "8 s", "warmup": "1 s"})
    for control, states in (("bbr", {"Startup", "Drain", "ProbeBW_CRUISE"}), ("bbr1", {"Startup", "ProbeBW"})):
        watched = scenario.set("record", {"series": series, "events": ["drop"]})
        record = watched.set("groups.download.tcp", {"congestion_control": control}).run(1)
        assert set(record.series(f"{flow}.state")["word"]) >= states
        words = record.frame.filter(record.frame["series"] == f"{flow}.recovery")
        assert set(words.filter(words["value"] == 3)["word"]) == {"fast recovery"}
        assert record.series(f"{flow}.app_limited")["word"][-1] == "no"
        assert record.frame.filter(record.frame["series"] == "events.drop.reason")["word"][0] == "limit"
    panels = pictures.of_record(record, pictures.Choice(series=("recovery",))).panels
    assert panels[0].y_categories[0] == "open"


SHARES = (0.05, 0.5, 0.95, 0.99)


@pytest.mark.parametrize(
    ("of", "width"), [("groups.call", 0.008), ("groups.download", 0.008), ("links.line.classes.voice", 0.063)]
)
def test_a_histogram_agrees_with_the_packets_themselves(real: Record, of: str, width: float) -> None:
    times, exact = real.packet_delays(of)
    found = real.delays(of)
    window = exact[times > 1]
    assert found.total == pytest.approx(len(window), abs=2)  # delays of a link count from the start of transmission
    assert found.quantile(SHARES) == pytest.approx(np.quantile(window, SHARES), rel=2 * width)


def test_percentiles_of_a_record_are_those_of_its_histogram(real: Record) -> None:
    for group, field in (("call", "delay"), ("download", "rtt")):
        found = real.delays(f"groups.{group}.{field}")
        for p in (5, 50, 95, 99):
            of_record = real.metric(f"groups.{group}.{field}_s_p{p}")
            assert found.quantile(p / 100) == pytest.approx(of_record, rel=0.008)


def test_users_add_up_to_their_group(real: Record) -> None:
    users, group = real.delays("groups.call.users.delay"), real.delays("groups.call")
    assert users.count.tolist() == group.count.tolist()
    with_users = real.with_histograms("groups.call.users.delay")
    assert len(histograms.of_record(with_users.json, "groups.call.users.delay")) == 3
    assert len(with_users.json["groups"]["call"]["users_delay_s_p95"]) == 3


def test_a_record_repeats_its_run_for_a_figure(real: Record) -> None:
    assert real.plot("call.delay").axes[0].get_ylabel() == "CDF over packets (%)"
    assert real.with_histograms(CALL) is not real
    assert real.with_histograms() is real


def test_a_file_is_drawn_over_packets_in_one_command(cli: Cli, work: Path) -> None:
    settings = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    done = cli(
        "plot", ef_example("call"), *settings, "--metric", "call.delay", "--replications", 2, "--json", "--out", "a.csv"
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["kind"] == "cdf"
    assert document["notes"] == []
    assert {row["y_name"] for row in document["numbers"]} == {"CDF over packets"}
    assert {row["n"] for row in document["numbers"]} == {2}
    users = cli("plot", ef_example("call"), *settings, "--metric", "call.users.delay", "--out", "b.csv")
    assert users.code == 0, users.err
    assert (work / "b.csv").read_text().count("CDF over users") > 3


def test_a_study_records_what_its_metrics_need(cli: Cli, work: Path) -> None:
    settings = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    done = cli(
        "study", ef_example("call"), *settings, "--replications", 3, "--metric", "classes.voice.queue_delay_s_p99"
    )
    assert done.code == 0, done.err
    assert "class voice queueing delay p99" in " ".join(done.out.split())


def test_percentiles_over_users() -> None:
    known = record(1, 0.005)
    assert known.metric("groups.call.users_delay_s_p95_p5") == pytest.approx(np.percentile([0.01, 0.02, 0.04], 5))
    with pytest.raises(KeyError, match="no metric"):
        known.metric("groups.call.users_delay_s_p95_p7")
    with pytest.raises(KeyError, match="no metric"):
        known.metric("groups.call.throughput_bps_p5")
    nothing = {"users": 1, "users_delay_s_p95": [None]}
    assert record(1, 0.005, groups={"call": nothing}).metric("groups.call.users_delay_s_p95_p50") is None
    made = table()
    [metric] = pictures.metrics_of(made, pictures.Choice(metric=("users_delay_s_p95_p95",)))
    assert metric == "groups.call.users_delay_s_p95_p95"
    assert made.to_json([metric])["points"][0]["metrics"][metric]["mean"] == pytest.approx(0.038)
    assert metric not in made.to_json()["points"][0]["metrics"]
    assert screens.heading(metric) == "call 95th percentile of one-way delay, p95 over users (ms)"
    assert pictures.needed_by_metrics([metric], ["groups.call.users.delay"]) == ["groups.call.users.delay"]


def test_histogram_in_words() -> None:
    assert repr(Histogram.of(binned([0.01] * 99 + [0.2]))[0]).startswith("<Histogram of 100 packets: p50 ")
    assert repr(Histogram.merged([])) == "<Histogram of no packets>"


def test_usual_name_without_metrics() -> None:
    with pytest.raises(UsageError, match=r"“fct” stands for completion_s_p50, .* This scenario has none of them"):
        pictures.metrics_of(table(), pictures.Choice(metric=("fct",)))
