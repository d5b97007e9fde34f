"""Studies: order, jobs, executors, precision, tables and exports (on the stand-in core)."""

from __future__ import annotations

import json
import sys
import tomllib
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import evenflow as ef
import numpy as np
import polars as pl
import pytest
from conftest import FAKE, Cli, spawn
from evenflow.errors import EvenflowError, Interrupted, UsageError
from evenflow.record import Record
from evenflow.run.scheduler import Scheduler
from evenflow.scenario import Scenario
from evenflow.store import Store, key_of
from evenflow.study import BrokenRuns, Point, Precision, Progress, Run, Study, Table, run_study

pytestmark = pytest.mark.usefixtures("fake")

GRID = '[sweep]\nreplications = 4\nspread = [0.1, 0.2]\nlinks.bottleneck.delay = ["5 ms", "50 ms"]\n'


def scenario(more: str = "", first: str = "") -> Scenario:
    return Scenario(tomllib.loads(first + FAKE + more))


@pytest.fixture
def table() -> Table:
    return run_study(Study.from_scenario(scenario(GRID)))


class Backwards(Executor):
    """Finishes the last submission first: the worst a cluster can do."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, fn, args))
        if len(self.waiting) == 16:
            for waiting, work, arguments in reversed(self.waiting):
                waiting.set_result(work(*arguments))
            self.waiting.clear()
        return future


def test_results_do_not_depend_on_jobs_or_order(table: Table) -> None:
    study = Study.from_scenario(scenario(GRID))
    one = run_study(study, jobs=1)
    backwards = run_study(study, executor=Backwards())
    assert table.frame().equals(one.frame())
    assert table.frame().equals(backwards.frame())


def test_an_executor_of_the_user_is_not_shut_down() -> None:
    with ThreadPoolExecutor(1) as mine:
        run_study(Study.from_scenario(scenario(), 2), executor=mine)
        assert mine.submit(lambda: 5).result() == 5


def test_points_keep_their_order_and_seeds(table: Table) -> None:
    assert len(table) == 16
    assert [run.seed for run in table][:5] == [1, 2, 3, 4, 1]
    assert [p["links.bottleneck.delay"] for p in table.points()] == ["5 ms", "50 ms", "5 ms", "50 ms"]


def test_values_are_one_a_seed_in_seed_order(table: Table) -> None:
    where = {"spread": 0.1, "links.bottleneck.delay": "5 ms"}
    values = table.values("groups.heavy.throughput_bps", where)
    assert values.shape == (4,)
    assert values.tolist() == [run.metric("groups.heavy.throughput_bps") for run in table.where(where)]
    by_keyword = table.values("groups.heavy.throughput_bps", spread=0.1, links_bottleneck_delay="5 ms")
    assert np.array_equal(values, by_keyword)
    computed = table.values(lambda run: (run.metric("groups.heavy.throughput_bps") or 0) * 2, where)
    assert np.array_equal(computed, values * 2)
    assert table.seeds(where) == [1, 2, 3, 4]


def test_undefined_is_nan(table: Table) -> None:
    values = table.values("groups.light.losses", {"spread": 0.1, "links.bottleneck.delay": "5 ms"})
    assert np.isnan(values).all()


def test_a_reason_nobody_needed_counts_zero(table: Table) -> None:
    where = {"spread": 0.1, "links.bottleneck.delay": "5 ms"}
    assert table.values("links.bottleneck.drops.activity", where).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("metric", "where", "word"),
    [
        ("groups.heavy.throughput_bps", {"spred": 0.1}, "did you mean “spread”"),
        ("groups.heavy.throughput_bps", {"spread": 0.3}, "there are 0.1, 0.2"),
        ("groups.heavy.throughput_bps", {"spread": 0.1}, "links.bottleneck.delay"),
        ("groups.heavy.thruput_bps", {"spread": 0.1, "links.bottleneck.delay": "5 ms"}, "groups.heavy.throughput_bps"),
        ("groups.heavy", {"spread": 0.1, "links.bottleneck.delay": "5 ms"}, "not a single number"),
    ],
)
def test_wrong_questions_name_the_right_ones(table: Table, metric: str, where: dict[str, Any], word: str) -> None:
    with pytest.raises(KeyError, match=word):
        table.values(metric, where)


def test_frames(table: Table) -> None:
    frame = table.frame()
    assert frame.height == 16
    assert frame.columns[:5] == ["spread", "links.bottleneck.delay", "seed", "scenario_hash", "record_hash"]
    assert frame["groups.heavy.throughput_bps"].dtype == pl.Float64
    assert frame["groups.light.losses"].null_count() == 16
    assert "wall_s" not in frame.columns
    assert {"engine", "wall_s", "cpu_s"} <= set(table.frame(provenance=True).columns)
    assert table.frame(lists=True)["groups.light.users_goodput_bps"].to_list()[0] == [1.0, 2.0]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: .venv/bin/pip install pandas")
    assert isinstance(table.pandas(), pandas.DataFrame)
    assert table.pandas().shape == frame.shape


def test_labels_of_one_kind_keep_it_in_a_frame() -> None:
    def kept(*labels: Any) -> list[Any]:
        runs = [Run(point, {"x": x}, 1, Record("{}", "h")) for point, x in enumerate(labels)]
        return Table(runs).frame()["x"].to_list()

    assert kept(1, 2.5) == [1.0, 2.5]
    assert kept(1, "2.5 ms") == ["1", "2.5 ms"]


def test_summary_is_mean_and_student_interval(table: Table) -> None:
    where = {"spread": 0.1, "links.bottleneck.delay": "5 ms"}
    values = table.values("groups.heavy.throughput_bps", where)
    row = table.summary(["groups.heavy.throughput_bps"]).row(0, named=True)
    half = 3.182446 * values.std(ddof=1) / 2
    assert row["n"] == 4
    assert row["mean"] == pytest.approx(values.mean())
    assert row["ci95_hi"] - row["mean"] == pytest.approx(half, rel=1e-6)


def test_json_document(table: Table) -> None:
    document = table.to_json()
    assert len(document["points"]) == 4
    first = document["points"][0]
    assert first["set"] == {"spread": 0.1, "links.bottleneck.delay": "5 ms"}
    assert first["n"] == 4
    found = first["metrics"]["groups.heavy.throughput_bps"]
    assert found["ci95"][0] < found["mean"] < found["ci95"][1]
    assert first["metrics"]["groups.light.losses"]["mean"] is None


def test_curves_ascend_in_x_whatever_the_order_of_points() -> None:
    points = [Point({"flows": f, "kind": k}, scenario(first=f"spread = {f / 10}\n")) for k in "ab" for f in (8, 1, 2)]
    table = run_study(Study(points, [1, 2, 3]))
    curve = table.curve("groups.heavy.throughput_bps", "flows", {"kind": "a"})
    assert curve.x.tolist() == [1, 2, 8]
    assert curve.n.tolist() == [3, 3, 3]
    assert (curve.lo <= curve.mean).all()
    with pytest.raises(KeyError, match="more than one point"):
        table.curve("groups.heavy.throughput_bps", "flows")


def test_quantities_are_numbers_on_an_axis(table: Table) -> None:
    curve = table.curve("links.bottleneck.queue_delay_s_mean", "links.bottleneck.delay", spread=0.1)
    assert curve.x.tolist() == [5, 50]
    assert curve.mean.tolist() == pytest.approx([0.020, 0.065])


def test_nothing_is_computed_twice(fake: ModuleType, work: Path) -> None:
    study = Study.from_scenario(scenario(GRID))
    with Store(work / "s") as store:
        run_study(study, store=store)
        assert len(fake.calls) == 16
        more = run_study(Study.from_scenario(scenario(GRID), 6), store=store)
    assert len(fake.calls) == 16 + 8
    assert (len(more), more.cached) == (24, 16)


def test_equal_points_share_their_runs(fake: ModuleType, work: Path) -> None:
    points = [Point({"name": n}, scenario().set("title", n)) for n in "ab"]
    with Store(work / "s") as store:
        first = run_study(Study(points[:1], [1, 2]), store=store)
        second = run_study(Study(points[1:], [1, 2]), store=store)
    assert second.cached == 2
    assert first.frame()["record_hash"].equals(second.frame()["record_hash"])


def test_every_run_is_told_once() -> None:
    told: list[tuple[int, int]] = []

    def hear(state: Progress) -> None:
        told.append((state.done, state.total))

    run_study(Study.from_scenario(scenario(GRID)), on_run=hear)
    assert told == [(n, 16) for n in range(17)]


class TestPrecision:
    def test_stops_at_the_batch_that_is_enough(self) -> None:
        table = run_study(Study.from_scenario(scenario(first="spread = 0.5\n")), precision=Precision(0.05))
        counts = len(table)
        assert counts % 10 == 0
        light = table.values("groups.light.throughput_bps")
        from evenflow.stats import mean_interval

        def enough(n: int) -> bool:
            i = mean_interval(light[:n])
            return i.half_width <= 0.05 * i.mean

        assert enough(counts)
        assert not any(enough(n) for n in range(10, counts, 10))

    def test_gives_up_at_two_hundred(self) -> None:
        table = run_study(Study.from_scenario(scenario(first="spread = 5.0\n")), precision=Precision(0.001))
        assert len(table) == 200

    def test_does_not_depend_on_jobs(self) -> None:
        study = Study.from_scenario(scenario("[sweep]\nspread = [0.1, 0.4, 0.9]\n"))
        one = run_study(study, precision=Precision(0.05), jobs=1)
        many = run_study(study, precision=Precision(0.05), jobs=8)
        assert one.frame().equals(many.frame())
        assert len({run.seed for run in one if run.point == 0}) < len({run.seed for run in one if run.point == 2})

    def test_of_another_metric(self) -> None:
        study = Study.from_scenario(scenario(first="spread = 0.5\n"))
        assert len(run_study(study, precision=Precision(0.01, of="links.*.utilisation"))) == 10
        with pytest.raises(UsageError, match="groups"):
            run_study(study, precision=Precision(0.01, of="group.*.throughput_bps"))


def test_broken_invariants_are_reported_with_their_seed() -> None:
    with pytest.raises(EvenflowError, match=r"seed 1: packets went missing.*please report"):
        run_study(Study.from_scenario(scenario(first="broken = true\n"), 1))


class TestBroken:
    """A run that breaks is one sentence and a file; the rest of the study goes on."""

    @pytest.mark.parametrize("jobs", [1, 4])
    def test_the_rest_of_the_study_goes_on(self, fake: ModuleType, work: Path, jobs: int) -> None:
        study = Study.from_scenario(scenario(first="panic = [2, 7]\n"), 40)
        with Store(work / "store") as store, pytest.raises(BrokenRuns) as caught:
            run_study(study, store=store, jobs=jobs)
        assert sorted(seed for _, seed in fake.calls) == list(range(1, 41))
        assert [run.seed for run in caught.value.broken] == [2, 7]
        assert [run.seed for run in caught.value.table] == [seed for seed in range(1, 41) if seed not in (2, 7)]
        said = str(caught.value)
        assert said.startswith(f"2 of 40 runs broke; the other 38 are finished and kept in {work / 'store'}.")
        assert "seed 7: an index was out of bounds. This is a defect; please report it." in said
        with Store(work / "store") as again:
            assert len(again) == 38
            assert again.claim([key_of(study.points[0].scenario.hash, 2)], 1).mine  # nobody waits for it
        fake.calls.clear()
        with Store(work / "store") as store, pytest.raises(BrokenRuns):
            run_study(study, store=store)
        assert sorted(seed for _, seed in fake.calls) == [2, 7]

    def test_the_scenario_is_kept_as_a_file(self, cli: Cli, fake_file: Path, work: Path) -> None:
        fake_file.write_text(
            "panic = [3]\n"
            + FAKE.replace("Not", "A “half”\\u001b\\\\")
            + "[links.'a.b']\n[sweep]\nspread = [0.1, 0.2]\n"
        )
        done = cli("study", fake_file, "--replications", 4)
        assert done.code == 1
        assert "6 runs" in done.out
        assert "2 of 8 runs broke; the other 6 are finished and kept in out/store." in done.err
        files = sorted((work / "out/store/failed").iterdir())
        assert len(files) == 2
        points = Study.from_scenario(Scenario.load(fake_file), 1).points
        assert {Scenario.load(file).hash for file in files} == {point.scenario.hash for point in points}
        for file in files:
            assert f"evenflow run {file.relative_to(work)} --seed 3" in done.err
            again = cli("run", file, "--seed", 3)
            assert again.code == 1
            assert "an index was out of bounds" in again.err
        assert ef.open(work / "out/fake").points() == [point.labels for point in points]  # results of the rest

    def test_with_json_the_document_is_of_the_rest(self, cli: Cli, fake_file: Path) -> None:
        fake_file.write_text("panic = [3]\n" + FAKE)
        done = cli("study", fake_file, "--replications", 4, "--json")
        assert done.code == 1
        assert json.loads(done.out)["points"][0]["n"] == 3
        assert "1 of 4 runs broke; the other 3 are" in done.err

    def test_of_no_run(self, cli: Cli, fake_file: Path, work: Path) -> None:
        fake_file.write_text("broken = true\n" + FAKE)
        done = cli("study", fake_file, "--replications", 30, "--json")
        assert (done.code, json.loads(done.out)["exit_code"]) == (1, 1)
        assert done.err.startswith("evenflow: 30 of 30 runs broke.\n")
        assert "… and 20 more" in done.err
        assert len(list((work / "out/store/failed").iterdir())) == 30

    def test_equal_points_share_what_broke(self, fake: ModuleType) -> None:
        one = scenario(first="panic = [1]\n")
        with pytest.raises(BrokenRuns) as caught:
            run_study(Study([Point({"n": 1}, one), Point({"n": 2}, one)], [1, 2]))
        assert [(dict(run.labels), run.seed) for run in caught.value.broken] == [({"n": 1}, 1), ({"n": 2}, 1)]
        assert len(fake.calls) == 2

    def test_precision_does_without_it(self) -> None:
        study = Study.from_scenario(scenario(first="panic = [4]\nspread = 0.001\n"))
        with pytest.raises(BrokenRuns) as caught:
            run_study(study, precision=Precision(0.05))
        assert [run.seed for run in caught.value.table] == [1, 2, 3, 5, 6, 7, 8, 9, 10]

    @pytest.mark.slow("several processes on one cache")
    def test_two_processes_do_not_wait_for_each_other(self, work: Path, fake_file: Path) -> None:
        fake_file.write_text("sleep = 0.05\npanic = [1, 11]\n" + FAKE)
        both = [spawn("study", fake_file, "--replications", 20, "--jobs", 1, fake=True, cwd=work) for _ in "ab"]
        for process in both:
            _, err = process.communicate(timeout=60)
            assert process.returncode == 1
            assert "2 of 20 runs broke; the other 18" in err


def test_a_study_of_too_many_runs_is_refused(cli: Cli, fake_file: Path) -> None:
    fake_file.write_text(FAKE + f"[sweep]\nspread = {[n / 1000 for n in range(200)]}\n")
    done = cli("study", fake_file, "--replications", 1_000_000)
    assert done.code == 2
    assert "200 points with 1,000,000 seeds make 200,000,000 runs; the most in one study is 10,000,000." in done.err


def test_a_study_whose_plan_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[run_study.__module__], "available_memory", lambda: 2**20)
    with pytest.raises(EvenflowError, match=r"To plan 1,000,000 runs takes about 477 MiB.*at most 2,097 runs"):
        run_study(Study.from_scenario(scenario(), 1_000_000))


def test_a_study_is_planned_with_few_questions_to_its_store(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    guard = Store._do

    def counting(self: Store, work: Any) -> Any:
        nonlocal asked
        asked += 1
        return guard(self, work)

    def stop(self: object, jobs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "_do", counting)
    monkeypatch.setattr(Scheduler, "submit", stop)
    with Store(work / "store") as store, pytest.raises(Interrupted):
        run_study(Study.from_scenario(scenario(), 20_000), store=store)
    assert asked < 100


def test_an_interrupted_study_that_kept_nothing_says_so(work: Path) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with Store(work / "store") as store, pytest.raises(Interrupted, match="after 0 of 4 runs; nothing was stored"):
        run_study(Study.from_scenario(scenario(), 4), store=store, on_run=stop)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "x"}, r"'x' is not a run store; write evenflow.Store\('x'\)"),
        ({"executor": "dask-local:2"}, "'dask-local:2' is not an executor"),
        ({"precision": 0.02}, r"0\.02 is not a precision; write Precision"),
        ({"jobs": 0}, "0 jobs: a whole number of at least 1"),
        ({"jobs": "3"}, "'3' jobs: a whole number of at least 1"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_study(Study.from_scenario(scenario(), 1), **options)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "1", None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(UsageError, match="a seed is a whole number from 0 to 9223372036854775807"):
        Study([Point({}, scenario())], [1, seed])
    with pytest.raises(UsageError, match="a seed is a whole number"):
        ef.run(scenario(), seed)


@pytest.mark.parametrize("count", [0, "3", 1.5])
def test_replications_are_a_whole_number(count: Any) -> None:
    with pytest.raises(UsageError, match=f"{count!r} replications: a whole number of at least 1"):
        ef.study(scenario(), replications=count, store=False)


def test_points_and_seeds_may_be_generators() -> None:
    points = (Point({"n": n}, scenario()) for n in range(2))
    table = run_study(Study(points, (seed for seed in (3, 4))))  # type: ignore[arg-type]
    assert [run.seed for run in table] == [3, 4, 3, 4]
    with pytest.raises(UsageError, match=r"A dict is not a point of a study; write Point\("):
        Study([{}], [1])  # type: ignore[list-item]


def test_a_generator_in_a_scenario_is_named() -> None:
    for path in ("duration", "sweep.spread"):
        with pytest.raises(UsageError, match=f"{path}: a scenario cannot hold a generator"):
            ef.study(scenario(), settings={path: (n for n in (1,))}, store=False)


def test_a_folder_may_stand_for_its_store(work: Path) -> None:
    for folder in ("a", work / "a"):
        ef.study(scenario(), replications=2, store=folder)
    with Store(work / "a") as store:
        assert len(store) == 2


def test_a_foreign_engine_is_refused(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Foreign(Executor):
        def submit(self, fn: Any, /, runs: Any, *_: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            try:
                fn(runs, "0123456789abcdef")
            except EvenflowError as error:
                future.set_exception(error)
            return future

    with pytest.raises(EvenflowError, match="another engine"):
        run_study(Study.from_scenario(scenario(), 1), executor=Foreign())


def test_too_much_memory_is_said(cli: Cli, work: Path) -> None:
    (work / "big.toml").write_text("memory = 900_000_000_000_000\n" + FAKE)
    for command in ("run", "study"):
        done = cli(command, "big.toml")
        assert done.code == 1
        assert "838190.3 GiB" in done.err
        assert "free here" in done.err


def test_too_many_large_runs_at_once_names_the_jobs_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from evenflow.scenario import scenario as module

    monkeypatch.setattr(module, "available_memory", lambda: 10_000)
    with pytest.raises(EvenflowError, match=r"--jobs 2"):
        run_study(Study.from_scenario(scenario(first="memory = 4000\n")), jobs=4)


def test_exports(cli: Cli, fake_file: Path, work: Path) -> None:
    done = cli("study", fake_file, "--replications", 3)
    assert done.code == 0
    folder = work / "out" / "fake"
    csv, parquet = pl.read_csv(folder / "results.csv"), pl.read_parquet(folder / "results.parquet")
    assert csv.height == parquet.height == 3
    assert csv["groups.heavy.throughput_bps"].to_list() == parquet["groups.heavy.throughput_bps"].to_list()
    assert "<html" in (folder / "report.html").read_text()
    assert "heavy throughput (Mbit/s)" in done.out


def test_exports_are_the_same_after_a_resume(cli: Cli, fake_file: Path, work: Path) -> None:
    cli("study", fake_file, "--out", "whole", "--jobs", 1)
    cli("study", fake_file, "--out", "parts", "--replications", 4)
    cli("study", fake_file, "--out", "parts", "--jobs", 4)
    for name in ("results.csv", "results.parquet", "summary.csv", "report.html"):
        assert (work / "whole" / name).read_bytes() == (work / "parts" / name).read_bytes(), name


def test_series_stay_on_disk_until_somebody_looks(work: Path) -> None:
    wanted = scenario().set("record", {"series": [{"of": "links.bottleneck.queue.packets", "every": "1 s"}]})
    with Store(work / "s") as store:
        fresh = run_study(Study([Point({}, wanted)], [7]), store=store)
        again = run_study(Study([Point({}, wanted)], [7]), store=store)
    for table in (fresh, again):
        times, values = table.runs[0].series("links.bottleneck.queue.packets")
        assert times.tolist() == [0.0, 0.1, 0.2]
        assert values.tolist() == [7.0, 2.0, 3.0]
    with pytest.raises(KeyError, match="did you mean"):
        again.runs[0].series("links.bottleneck.queue.packet")


def test_a_record_s_frame() -> None:
    empty = Record('{"a": {"b": 1, "c": null, "d": [1]}, "wall_s": 2, "seed": 5}', "h")
    assert empty.metrics() == {"a.b": 1, "a.c": None}
    assert empty.frame.columns == ["series", "time_s", "value"]
