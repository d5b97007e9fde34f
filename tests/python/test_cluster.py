"""Studies on other workers: `--on`, batches, workers that die or have another engine, Ctrl-C, Dask and SLURM."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import evenflow
import pytest
from conftest import FAKE, HERE, SMALL, Cli, environment, spawn
from evenflow.errors import EvenflowError, Interrupted, UsageError
from evenflow.run import on_dask, on_slurm
from evenflow.run.batch import execute_batch, read_result
from evenflow.run.cluster import workers
from evenflow.run.place import Place, place
from evenflow.run.scheduler import Job, Scheduler
from evenflow.scenario import Scenario
from evenflow.study import BrokenRuns, Progress, Study, Table, run_study
from test_store import count

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")


def needs(package: str) -> pytest.MarkDecorator:
    there = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not there, reason=f"{package} is not installed: .venv/bin/pip install {package}")


def parsed(text: str) -> Scenario:
    return Scenario(tomllib.loads(text))


def hashes(table: Table) -> list[str]:
    return [run.record.record_hash for run in table]


def until(true: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class TestPlaces:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("dask://login1:8786", Place("dask", address="login1:8786")),
            ("dask://10.0.0.1:1", Place("dask", address="10.0.0.1:1")),
            ("dask://[fe80::1]:8786", Place("dask", address="[fe80::1]:8786")),
            ("dask-local", Place("dask-local")),
            ("dask-local:4", Place("dask-local", workers=4)),
            ("slurm", Place("slurm")),
            ("slurm:batch,long", Place("slurm", partition="batch,long")),
        ],
    )
    def test_forms(self, text: str, wanted: Place) -> None:
        assert place(text) == wanted

    @pytest.mark.parametrize(
        ("text", "nearest"),
        [
            ("dask-locl:4", "dask-local:4"),
            ("dask-local:0", "dask-local:1"),
            ("dask-local:99999", "dask-local:1024"),
            ("dask-local:four", "dask-local:4"),
            ("dask-local:", "dask-local:4"),
            ("dask:login1:8786", "dask://login1:8786"),
            ("dask://login1", "dask://login1:8786"),
            ("dask://login1:99999", "dask://login1:8786"),
            ("dask://login1:8786/status", "dask://login1:8786"),
            ("Dask://login1:1", "dask://login1:1"),
            ("tcp://login1:8786", "dask://login1:8786"),
            ("10.0.0.1:8786", "dask://10.0.0.1:8786"),
            ("dask", "dask://HOST:8786"),
            ("slrum:batch", "slurm:batch"),
            ("slurm:", "slurm"),
            ("slurm://batch", "slurm:batch"),
            ("slurm:a b", "slurm"),
            ("nonsense", "dask-local:4"),
            ("", "dask-local:4"),
        ],
    )
    def test_others_get_the_nearest(self, text: str, nearest: str) -> None:
        with pytest.raises(UsageError, match="is not a place to run on") as raised:
            place(text)
        assert f"Did you mean “{nearest}”?" in str(raised.value)
        if nearest != "dask://HOST:8786":
            place(nearest)

    def test_on_the_command_line(self, cli: Cli, small: Path) -> None:
        for command in (("study", small), ("reproduce", "abc")):
            done = cli(*command, "--on", "dask-locl:4")
            assert done.code == 2
            assert "--on: “dask-locl:4”" in done.err
            assert "“dask-local:4”?" in done.err
            done = cli(*command, "--on", "dask-local:4", "--jobs", 2)
            assert done.code == 2
            assert "Leave --jobs out" in done.err

    @pytest.mark.parametrize(("on", "package"), [("dask-local:2", "distributed")])
    def test_a_missing_package_is_said(
        self, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, on: str, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        done = cli("study", small, "--on", on)
        assert done.code == 1
        assert f"pip install {package}" in done.err


class Here(Scheduler):
    """Workers that are threads; `kill` says which batches are lost."""

    batch_s, least_s = 0.2, 0.01

    def __init__(self, count: int, kill: Callable[[list[Any]], bool] = lambda _: False) -> None:
        super().__init__()
        self.pool = ThreadPoolExecutor(count)
        self.count = count
        self.kill = kill
        self.sizes: list[int] = []

    def send(self, batch: Sequence[Job]) -> Future[Any]:
        from evenflow import _core

        runs = [(job.tree_json, job.seed) for job in batch]
        self.sizes.append(len(runs))
        if self.kill(runs):
            dead: Future[Any] = Future()
            dead.set_exception(ConnectionResetError())
            return dead
        return self.pool.submit(execute_batch, runs, _core.ENGINE_ID)

    def slots(self) -> int:
        self.workers = self.count
        return self.count

    def lost(self, error: BaseException) -> str | None:
        return "its worker died" if isinstance(error, ConnectionResetError) else None


def fake_study(runs: int, sleep: float) -> Study:
    text = f"sleep = {sleep}\n{FAKE}[sweep]\nreplications = {runs}\n"
    return Study.from_scenario(parsed(text))


@pytest.mark.usefixtures("fake")
class TestBatches:
    def test_are_sized_by_what_runs_cost(self) -> None:
        cheap, dear = Here(2), Here(2)
        table = run_study(fake_study(200, 0.005), executor=cheap)
        assert len(table) == 200
        assert cheap.sizes[:2] == [1, 1]  # nothing is known yet
        assert max(cheap.sizes) >= 10
        assert cheap.sizes[-1] < max(cheap.sizes)  # towards the end workers share what is left
        assert sum(cheap.sizes) == 200
        run_study(fake_study(8, 0.3), executor=dear)
        assert set(dear.sizes) == {1}

    def test_results_are_those_alone(self) -> None:
        study = fake_study(50, 0.0)
        assert hashes(run_study(study, executor=Here(3))) == hashes(run_study(study, jobs=1))

    def test_progress_knows_the_workers(self) -> None:
        seen: list[int | None] = []

        def look(state: Progress) -> None:
            seen.append(state.workers)

        run_study(fake_study(10, 0.0), executor=Here(3), on_run=look)
        assert seen[-1] == 3

    def test_a_lost_batch_is_done_again_each_run_by_itself(self, fake: Any) -> None:
        killed: list[int] = []

        def once(jobs: list[Any]) -> bool:
            if len(jobs) > 5 and not killed:
                killed.append(len(jobs))
                return True
            return False

        here = Here(2, once)
        table = run_study(fake_study(100, 0.005), executor=here)
        assert len(table) == 100
        assert killed
        assert sum(here.sizes) == 100 + killed[0]
        assert here.sizes.count(1) >= killed[0]
        assert Counter(fake.calls).most_common(1)[0][1] == 1

    def test_a_run_that_kills_its_workers_is_named_and_the_others_kept(self, work: Path) -> None:
        from evenflow.store import Store

        here = Here(2, lambda jobs: any(seed == 7 for _, seed in jobs))
        with (
            Store() as store,
            pytest.raises(EvenflowError, match=r"“Not a network”, seed 7, was lost 4 times: its worker"),
        ):
            run_study(fake_study(9, 0.01), executor=here, store=store)
        assert count(work / "out" / "store") == 8
        assert [file.name[-11:] for file in (work / "out/store/failed").iterdir()] == ["seed-7.toml"]

    def test_an_error_of_one_run_loses_no_other(self, work: Path) -> None:
        broken = json.loads(parsed("broken = true\n" + FAKE).to_json())
        whole = parsed(FAKE).to_json()
        from evenflow import _core

        found = execute_batch([(whole, 1), (json.dumps(broken), 2), (whole, 3)], _core.ENGINE_ID)
        kinds = [type(outcome).__name__ for outcome, _ in found]
        assert kinds == ["Result", "EvenflowError", "Result"]
        assert "seed 2" in str(found[1][0])

    def test_another_engine_computes_nothing(self, fake: Any) -> None:
        with pytest.raises(EvenflowError, match="another engine"):
            execute_batch([(parsed(FAKE).to_json(), 1)], "0123456789abcdef")
        assert fake.calls == []

    def test_memory_is_looked_at_on_the_worker(self) -> None:
        from evenflow import _core

        big = parsed("memory = 900_000_000_000_000\n" + FAKE).to_json()
        [(outcome, _)] = execute_batch([(big, 1)], _core.ENGINE_ID)
        assert isinstance(outcome, EvenflowError)
        assert f"On the worker {socket.gethostname()}" in str(outcome)


class Dask:
    """A real scheduler and worker processes."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.file = work / "scheduler.json"
        self.started: list[subprocess.Popen[bytes]] = []
        self._start("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                    "--scheduler-file", str(self.file))  # fmt: skip
        until(lambda: self.file.exists() and self.file.read_text().strip().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"].removeprefix("tcp://")

    def _start(self, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.started.append(subprocess.Popen(command, cwd=self.work, env=environment(**more), **quiet))
        return self.started[-1]

    def worker(self, *, fake: bool = True, **more: str) -> subprocess.Popen[bytes]:
        which = [str(HERE / "fake_worker.py")] if fake else ["-m", "distributed.cli.dask_worker"]
        return self._start(*which, f"tcp://{self.address}", "--nthreads", "1", "--no-nanny", "--no-dashboard", **more)

    def workers(self) -> int:
        from distributed import Client

        with Client(f"tcp://{self.address}", set_as_default=False) as client:
            return len(client.nthreads())

    def end(self) -> None:
        for process in reversed(self.started):
            process.kill()
            process.wait()


@pytest.fixture
def dask(work: Path) -> Iterator[Dask]:
    cluster = Dask(work)
    yield cluster
    cluster.end()


def write_fake(work: Path, runs: int, sleep: float) -> None:
    (work / "f.toml").write_text(f"sleep = {sleep}\n{FAKE}[sweep]\nreplications = {runs}\n")


def computed(log: Path) -> list[tuple[str, int]]:
    """(seed, process) of every run that was computed."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(seed, int(process)) for _, seed, process in map(str.split, lines)]


@needs("distributed")
@posix
class TestDask:
    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_worker_killed_in_the_middle_loses_and_doubles_nothing(self, work: Path, dask: Dask) -> None:
        write_fake(work, 120, 0.05)
        log = work / "log"
        both = [dask.worker(FAKE_LOG=str(log)) for _ in range(2)]
        until(lambda: dask.workers() == 2)
        process = spawn("study", "f.toml", "--on", f"dask://{dask.address}", fake=True, cwd=work)
        until(lambda: count(work / "out" / "store") >= 20)
        both[0].send_signal(signal.SIGKILL)
        at = len(computed(log))
        assert at < 110
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert err == ""
        assert "120 runs" in out
        assert count(work / "out" / "store") == 120
        runs = computed(log)
        assert {seed for seed, _ in runs} == {str(seed) for seed in range(1, 121)}
        by_survivor = Counter(seed for seed, process in runs if process == both[1].pid)
        assert max(by_survivor.values()) == 1
        # what the dead worker had computed and not handed over is computed again: two batches at most
        doubled = [seed for seed, times in Counter(seed for seed, _ in runs).items() if times > 1]
        assert len(doubled) <= 40
        alone = spawn("study", "f.toml", "--jobs", 2, "--out", "alone", fake=True, cwd=work, EVENFLOW_STORE="other")
        assert alone.wait(timeout=60) == 0
        assert (work / "alone" / "results.csv").read_bytes() == (work / "out" / "f" / "results.csv").read_bytes()

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_worker_of_another_engine_is_refused(self, work: Path, dask: Dask, small: Path) -> None:
        dask.worker(fake=False)
        dask.worker(fake=True)
        until(lambda: dask.workers() == 2)
        process = spawn("study", small, "--on", f"dask://{dask.address}", cwd=work)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert err.count("\n") == 1
        assert "runs another engine (fa4efa4efa4efa4e)" in err
        assert "install the same build" in err

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_worker_of_another_engine_that_comes_later_is_refused(self, work: Path, dask: Dask) -> None:
        write_fake(work, 200, 0.05)
        dask.worker()
        until(lambda: dask.workers() == 1)
        process = spawn("study", "f.toml", "--on", f"dask://{dask.address}", fake=True, cwd=work)
        until(lambda: count(work / "out" / "store") >= 5)
        dask.worker(fake=False)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "another engine" in err
        assert "Traceback" not in err
        assert count(work / "out" / "store") >= 5

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_ctrl_c_cancels(self, work: Path, dask: Dask) -> None:
        write_fake(work, 2000, 0.1)
        log = work / "log"
        dask.worker(FAKE_LOG=str(log))
        until(lambda: dask.workers() == 1)
        process = spawn("study", "f.toml", "--on", f"dask://{dask.address}", fake=True, cwd=work)
        until(lambda: count(work / "out" / "store") >= 15)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert out == ""
        assert err.count("\n") == 1
        assert "same command again" in err
        time.sleep(0.5)
        before = len(computed(log))
        time.sleep(1)
        assert len(computed(log)) == before  # the worker is idle
        again = spawn("study", "f.toml", "--replications", 20, "--on", f"dask://{dask.address}", fake=True, cwd=work)
        assert again.wait(timeout=60) == 0  # and can be used again

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_scheduler_that_goes_is_said(self, work: Path, dask: Dask) -> None:
        write_fake(work, 2000, 0.05)
        dask.worker()
        until(lambda: dask.workers() == 1)
        process = spawn("study", "f.toml", "--on", f"dask://{dask.address}", fake=True, cwd=work)
        until(lambda: count(work / "out" / "store") >= 5)
        dask.started[0].kill()
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "does not answer any more" in err
        assert err.count("\n") == 1

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_scheduler_that_freezes_is_reported(
        self, dask: Dask, fake: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name, seconds in {"SLOW_S": 1.5, "SILENT_S": 4.0, "STOP_S": 0.5}.items():
            monkeypatch.setattr(on_dask, name, seconds)
        dask.worker()
        until(lambda: dask.workers() == 1)
        frozen: list[float] = []

        def freeze(state: Progress) -> None:
            if state.done and not frozen:
                dask.started[0].send_signal(signal.SIGSTOP)
                frozen.append(time.monotonic())

        with (
            pytest.raises(EvenflowError, match="does not answer any more \\(no answer for 4 s\\)"),
            workers(f"dask://{dask.address}") as executor,
        ):
            run_study(fake_study(1000, 0.05), executor=executor, on_run=freeze)
        assert time.monotonic() - frozen[0] < 15
        assert "has not answered for 2 s." in capsys.readouterr().err

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_workers_can_be_used_again_after_ctrl_c(self, dask: Dask, fake: Any) -> None:
        def stop(state: Progress) -> None:
            if state.done:
                raise KeyboardInterrupt

        dask.worker()
        until(lambda: dask.workers() == 1)
        with workers(f"dask://{dask.address}") as executor:
            with pytest.raises(Interrupted):
                run_study(fake_study(1000, 0.05), executor=executor, on_run=stop)
            assert len(run_study(fake_study(10, 0.01), executor=executor)) == 10

    def test_workers_of_this_machine_give_the_same_hashes(self, work: Path) -> None:
        study = Study.from_scenario(parsed(SMALL), 6)
        alone = run_study(study, jobs=1)
        with evenflow.workers("dask-local:2") as executor:
            there = run_study(study, executor=executor)
        assert hashes(there) == hashes(alone)
        assert there.frame().equals(alone.frame())

    def test_nobody_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(on_dask, "CONNECT_S", 0.5)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (
            pytest.raises(EvenflowError, match=f"No Dask scheduler answers at 127.0.0.1:{port}"),
            workers(f"dask://127.0.0.1:{port}"),
        ):
            pass

    @pytest.mark.slow("starts a Dask scheduler and workers")
    @pytest.mark.parametrize(
        ("says", "then", "why"),
        [
            (b"", "stay", "does not answer within 0.5 s"),
            (b"", "go", "another program"),
            (b"\x40", "stay", "does not answer within 0.5 s"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\nhello", "go", "another program"),
            (b"\xff" * 64, "stay", "another program"),
            (struct.pack("<Q", 2**40) + b"x", "stay", "another program"),
            (struct.pack("<Q", 40) + b"x" * 40, "stay", "another program"),
        ],
    )
    def test_another_program_is_there(
        self, says: bytes, then: str, why: str, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(on_dask, "GREET_S", 0.5)
        kept = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def serve() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = server.accept()
                        connection.sendall(says)
                        if then == "go":
                            connection.close()
                        kept.append(connection)

            threading.Thread(target=serve, daemon=True).start()
            started = time.monotonic()
            done = cli("study", small, "--on", f"dask://127.0.0.1:{port}")
            assert time.monotonic() - started < 5
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert f"No Dask scheduler answers at 127.0.0.1:{port} (" in done.err
        assert why in done.err
        for connection in kept:
            connection.close()

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_a_scheduler_that_greets_and_then_says_nothing(
        self, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(on_dask, "CONNECT_S", 0.5)
        monkeypatch.setattr(on_dask, "REACH_S", 0.5)
        monkeypatch.setattr(on_dask, "_require_scheduler", lambda _: None)
        with socket.create_server(("127.0.0.1", 0)) as server:
            started = time.monotonic()
            done = cli("study", small, "--on", f"dask://127.0.0.1:{server.getsockname()[1]}")
            assert time.monotonic() - started < 5
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert "No Dask scheduler answers" in done.err

    def test_a_host_that_is_not_known_and_one_that_takes_too_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_: object, **__: object) -> socket.socket:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "create_connection", unknown)
        with pytest.raises(EvenflowError, match="unknown host"), workers("dask://nowhere:8786"):
            pass
        monkeypatch.setattr(socket, "create_connection", lambda *_, **__: time.sleep(5))
        monkeypatch.setattr(on_dask, "REACH_S", 0.1)
        with pytest.raises(EvenflowError, match="no answer within"), workers("dask://nowhere:8786"):
            pass

    @pytest.mark.slow("starts a Dask scheduler and workers")
    @posix
    def test_term_says_nothing(self, work: Path, small: Path) -> None:
        """What is left of semaphores is removed without a warning of Python's."""
        process = spawn("study", small, "--replications", 20_000, "--on", "dask-local:2", cwd=work)
        until(lambda: count(work / "out" / "store") > 0)
        process.terminate()
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (-signal.SIGTERM, "")

    def test_more_workers_than_fit_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(on_dask, "available_memory", lambda: 1_050_000_000)
        with pytest.raises(EvenflowError, match=r"1\.05 GB are free\. Use dask-local:10\."), workers("dask-local:11"):
            pass
        monkeypatch.setattr(on_dask, "available_memory", lambda: 1_000_000)
        with pytest.raises(EvenflowError, match="Not one would fit"), workers("dask-local:1"):
            pass

    @pytest.mark.slow("starts a Dask scheduler and workers")
    def test_no_workers(self, monkeypatch: pytest.MonkeyPatch, dask: Dask) -> None:
        monkeypatch.setattr(on_dask, "ARRIVE_S", 0.5)
        with pytest.raises(EvenflowError, match="has no workers after"), workers(f"dask://{dask.address}"):
            pass


FAULTS = """
if [[ -e hang-{name} ]]; then exec sleep 600; fi
if [[ -e once-hang-{name} ]]; then rm once-hang-{name}; exec sleep 600; fi
if [[ -e once-fail-{name} ]]; then rm once-fail-{name}; echo "{name}: error: Socket timed out." >&2; exit 1; fi
if [[ -e once-odd-{name} ]]; then rm once-odd-{name}; echo "???"; exit 0; fi
"""
"""A fault is a file in the folder of the test."""
STAND_INS = {
    "sbatch": """
script="${@: -1}"
id=$(( $(cat last 2>/dev/null || echo 100) + 1 )); echo $id > last
cat "$script" >> scripts
if [[ -e once-lose ]]; then echo "$id|$(cat once-lose)" >> states; rm once-lose; echo $id; exit 0; fi
# a job outlasts a planned failure of sacct
setsid nohup bash -c 'for _ in {1..200}; do [[ -e once-fail-sacct || -e once-odd-sacct ]] || break; sleep 0.05; done
    "$@"; echo "$0|$([[ $? == 0 ]] && echo COMPLETED || echo FAILED)" >> states' $id bash "$script" > /dev/null 2>&1 &
echo $! > pid-$id
echo "$id"
""",
    "sacct": "cat states 2> /dev/null; true",
    "scancel": 'echo "$@" >> cancelled; for id in "$@"; do kill -- -$(cat pid-$id); done',
}


def slurm_stands_in(work: Path, monkeypatch: pytest.MonkeyPatch, commands: dict[str, str]) -> None:
    bin = work / "bin"
    bin.mkdir()
    for name, text in commands.items():
        (bin / name).write_text(f"#!/bin/bash\ncd {work}\n{FAULTS.format(name=name)}\n{text}\n")
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")


@posix
class TestJobs:
    @pytest.fixture
    def slurm(self, work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """SLURM's commands stand in: `sbatch` runs the job's script here. All waits are short."""
        slurm_stands_in(work, monkeypatch, STAND_INS)
        monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
        for name, seconds in {"ASK_S": 0.2, "GRACE_S": 0.5, "PAUSE_S": 0.05, "SLOW_S": 0.3}.items():
            monkeypatch.setattr(on_slurm, name, seconds)
        monkeypatch.setattr(on_slurm.JobWorkers, "tick_s", 0.05)
        return work

    def alone(self, runs: int) -> list[str]:
        return hashes(run_study(Study.from_scenario(parsed(SMALL), runs), jobs=1))

    def there(self, runs: int, **options: Any) -> Table:
        with workers("slurm:batch", jobs=2) as jobs:
            return run_study(Study.from_scenario(parsed(SMALL), runs), executor=jobs, **options)

    def test_the_same_hashes_as_alone(self, slurm: Path) -> None:
        assert hashes(self.there(6)) == self.alone(6)
        assert list((slurm / "out" / "store" / "jobs").iterdir()) == []

    def test_series_return_complete(self, slurm: Path) -> None:
        scenario = parsed(SMALL).set("record", {"series": [{"of": "links.bottleneck.queue.packets", "every": "1 s"}]})
        study = Study.from_scenario(scenario, 2)
        with workers("slurm") as jobs:
            found = run_study(study, executor=jobs)
        alone = run_study(study, jobs=1)
        assert [run.record.raw_series for run in found] == [run.record.raw_series for run in alone]
        assert alone.runs[0].record.series_names

    @pytest.mark.parametrize("state", ["NODE_FAIL", "COMPLETED", "CANCELLED by 0"])
    def test_a_job_without_a_result_is_submitted_again(self, slurm: Path, state: str) -> None:
        (slurm / "once-lose").write_text(state)
        started = time.monotonic()
        assert hashes(self.there(3)) == self.alone(3)
        assert time.monotonic() - started < 30
        assert not (slurm / "once-lose").exists()

    def test_a_run_whose_jobs_all_fail_is_reported(self, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(on_slurm.sys, "executable", "/no/such/python")
        with pytest.raises(
            BrokenRuns, match=r"was lost 4 times: its job \d+ left no result \(FAILED\): .*/no/such/python"
        ):
            self.there(1)

    @pytest.mark.parametrize("fault", ["fail-sbatch", "odd-sbatch", "hang-sbatch", "fail-sacct", "odd-sacct"])
    def test_a_command_that_fails_once(
        self, slurm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
    ) -> None:
        monkeypatch.setattr(on_slurm, "COMMAND_S", 1.0)
        with workers("slurm", jobs=2) as jobs:
            (slurm / f"once-{fault}").touch()
            found = run_study(Study.from_scenario(parsed(SMALL), 3), executor=jobs)
        assert hashes(found) == self.alone(3)
        assert not (slurm / f"once-{fault}").exists()
        if fault != "odd-sacct":
            assert f"SLURM's {fault.partition('-')[2]} " in capsys.readouterr().err

    def test_sacct_that_hangs_is_reported_and_results_still_arrive(
        self, slurm: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with workers("slurm", jobs=2) as jobs:
            (slurm / "hang-sacct").touch()
            # long enough for the question to be asked and to hang
            study = Study.from_scenario(parsed(SMALL.replace('"4 s"', '"2000 s"')), 3)
            found = run_study(study, executor=jobs)
        assert hashes(found) == hashes(run_study(study, jobs=2))
        assert "evenflow: SLURM's sacct has not answered for 0 s." in capsys.readouterr().err

    def test_sbatch_that_always_hangs_ends_the_study(self, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(on_slurm, "COMMAND_S", 0.3)
        (slurm / "hang-sbatch").touch()
        with pytest.raises(EvenflowError, match="A job cannot be submitted: no answer within 0 s"):
            self.there(3)

    @pytest.mark.parametrize("hangs", [False, True])
    def test_ctrl_c_cancels_the_jobs(self, slurm: Path, small: Path, hangs: bool) -> None:
        small.write_text(SMALL.replace('"4 s"', '"400000 s"'))
        if hangs:
            (slurm / "hang-scancel").touch()
        process = spawn("study", small, "--replications", 4, "--on", "slurm", "--jobs", 2, cwd=slurm)
        until(lambda: (slurm / "pid-102").exists())
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=8)
        assert process.returncode == 130
        warning = "evenflow: SLURM's scancel has not answered for 5 s. Jobs may be left: scancel --name evenflow\n"
        assert err == (warning if hangs else "") + "evenflow: Interrupted after 0 of 4 runs; nothing was stored.\n"
        if hangs:
            for job in ("101", "102"):
                os.killpg(int((slurm / f"pid-{job}").read_text()), signal.SIGKILL)
        else:
            assert (slurm / "cancelled").read_text() == "101 102\n"

    @pytest.mark.parametrize("lasting", [False, True])
    def test_a_result_that_cannot_be_read_is_read_or_computed_again(
        self, slurm: Path, monkeypatch: pytest.MonkeyPatch, lasting: bool
    ) -> None:
        seen = []

        def read(path: Path) -> Any:
            seen.append(path)
            if len(seen) == 1 and not lasting:
                raise OSError(errno.ESTALE, "Stale file handle")
            if len(seen) == 1:
                path.write_bytes(path.read_bytes()[:-9])
            return read_result(path)

        monkeypatch.setattr(on_slurm, "read_result", read)
        assert hashes(self.there(2)) == self.alone(2)
        assert len(seen) > 2
        assert len(set(seen)) == (3 if lasting else 2)

    def test_a_result_cannot_execute_code(self, work: Path) -> None:
        class Evil:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (work / "executed",)

        body = pickle.dumps(Evil())
        (work / "1.result").write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        with pytest.raises(ValueError, match=r"codec|Expecting"):
            read_result(work / "1.result")
        assert not (work / "executed").exists()

    def test_another_engine_is_refused(self, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write = on_slurm.write_batch
        monkeypatch.setattr(on_slurm, "write_batch", lambda path, runs, _: write(path, runs, "0123456789abcdef"))
        with pytest.raises(EvenflowError, match=r"The worker on .* runs another engine"):
            self.there(1)

    def test_slurm_is_looked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(EvenflowError, match="no SLURM here"), workers("slurm"):
            pass

    @pytest.mark.parametrize("gone", ["sacct", "scancel"])
    def test_slurm_that_is_not_complete(
        self, work: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, gone: str
    ) -> None:
        slurm_stands_in(work, monkeypatch, {name: text for name, text in STAND_INS.items() if name != gone})
        monkeypatch.setenv("PATH", f"{work / 'bin'}{os.pathsep}/usr/bin:/bin")
        done = cli("study", small, "--replications", 1, "--on", "slurm")
        assert done.code == 1
        assert done.err == (
            f"evenflow: SLURM is not complete here: {gone} is not on the PATH. Use a login node of the cluster.\n"
        )
        assert not (work / "out" / "store" / "jobs").exists()

    @pytest.mark.parametrize("fault", ["disabled", "hangs"])
    def test_slurm_without_accounting(
        self, work: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, fault: str
    ) -> None:
        monkeypatch.setattr(on_slurm, "ACCOUNTING_S", 0.3)
        without = "echo 'Slurm accounting storage is disabled' >&2; exit 1" if fault == "disabled" else "exec sleep 600"
        slurm_stands_in(work, monkeypatch, {**STAND_INS, "sacct": without})
        done = cli("study", small, "--replications", 1, "--on", "slurm")
        assert done.code == 1
        why = "Slurm accounting storage is disabled" if fault == "disabled" else "no answer within 0 s"
        assert f"does not answer ({why})" in done.err
        assert done.err.count("\n") == 1
        assert not (work / "out" / "store" / "jobs").exists()

    def test_on_the_command_line(self, slurm: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EVENFLOW_STORE", str(slurm / "there"))
        done = cli("study", small, "--replications", 4, "--on", "slurm:batch", "--out", "there-out")
        assert done.code == 0, done.err
        assert done.err == ""
        assert "#SBATCH --partition=batch\n" in (slurm / "scripts").read_text()
        assert list((slurm / "there" / "jobs").iterdir()) == []
        monkeypatch.setenv("EVENFLOW_STORE", str(slurm / "here"))
        assert cli("study", small, "--replications", 4, "--out", "here-out").code == 0
        assert (slurm / "there-out" / "results.csv").read_bytes() == (slurm / "here-out" / "results.csv").read_bytes()
