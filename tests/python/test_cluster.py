"""Studies on other workers: `--on`, batches, workers that die or have another engine, Ctrl-C, Dask and submitit."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
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
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import evenflow
import pytest
from conftest import FAKE, HERE, SMALL, Cli, environment, spawn
from evenflow.errors import EvenflowError, UsageError
from evenflow.run.cluster import Place, Workers, execute_batch, place, workers
from evenflow.scenario import Scenario
from evenflow.study import Progress, Study, Table, run_study
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

    @pytest.mark.parametrize(("on", "package"), [("dask-local:2", "distributed"), ("slurm", "submitit")])
    def test_a_missing_package_is_said(
        self, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, on: str, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        done = cli("study", small, "--on", on)
        assert done.code == 1
        assert f"pip install {package}" in done.err


class Here(Workers):
    """Workers that are threads; `kill` says which batches are lost."""

    batch_s, least_s = 0.2, 0.01

    def __init__(self, count: int, kill: Callable[[list[Any]], bool] = lambda _: False) -> None:
        super().__init__()
        self.pool = ThreadPoolExecutor(count)
        self.count = count
        self.kill = kill
        self.sizes: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.sizes.append(len(args[0]))
        if self.kill(args[0]):
            dead: Future[Any] = Future()
            dead.set_exception(ConnectionResetError())
            return dead
        return self.pool.submit(fn, *args, **kwargs)

    def slots(self) -> int:
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

    def test_workers_of_this_machine_give_the_same_hashes(self, work: Path) -> None:
        study = Study.from_scenario(parsed(SMALL), 6)
        alone = run_study(study, jobs=1)
        with evenflow.workers("dask-local:2") as executor:
            there = run_study(study, executor=executor)
        assert hashes(there) == hashes(alone)
        assert there.frame().equals(alone.frame())

    def test_nobody_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from evenflow.run import on_dask

        monkeypatch.setattr(on_dask, "CONNECT_S", 0.5)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (
            pytest.raises(EvenflowError, match=f"No Dask scheduler answers at 127.0.0.1:{port}"),
            workers(f"dask://127.0.0.1:{port}"),
        ):
            pass

    @pytest.mark.parametrize(
        ("says", "then", "why"),
        [
            (b"", "stay", "says nothing within 0.5 s"),
            (b"", "go", "another program"),
            (b"\x40", "stay", "says nothing within 0.5 s"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\nhello", "go", "another program"),
            (b"\xff" * 64, "stay", "another program"),
            (struct.pack("<Q", 2**40) + b"x", "stay", "another program"),
            (struct.pack("<Q", 40) + b"x" * 40, "stay", "another program"),
        ],
    )
    def test_another_program_is_there(
        self, says: bytes, then: str, why: str, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from evenflow.run import on_dask

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

    def test_a_scheduler_that_greets_and_then_says_nothing(
        self, cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from evenflow.run import on_dask

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
        from evenflow.run import on_dask

        def unknown(*_: object, **__: object) -> socket.socket:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "create_connection", unknown)
        with pytest.raises(EvenflowError, match="there is no such host"), workers("dask://nowhere:8786"):
            pass
        monkeypatch.setattr(socket, "create_connection", lambda *_, **__: time.sleep(5))
        monkeypatch.setattr(on_dask, "REACH_S", 0.1)
        with pytest.raises(EvenflowError, match="no answer within"), workers("dask://nowhere:8786"):
            pass

    @posix
    def test_term_says_nothing(self, work: Path, small: Path) -> None:
        """What is left of semaphores is removed without a warning of Python's."""
        process = spawn("study", small, "--replications", 20_000, "--on", "dask-local:2", cwd=work)
        until(lambda: count(work / "out" / "store") > 0)
        process.terminate()
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (-signal.SIGTERM, "")

    def test_more_workers_than_fit_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from evenflow.run import on_dask

        monkeypatch.setattr(on_dask, "available_memory", lambda: 1_050_000_000)
        with pytest.raises(EvenflowError, match=r"1\.05 GB are free\. Use dask-local:10\."), workers("dask-local:11"):
            pass
        monkeypatch.setattr(on_dask, "available_memory", lambda: 1_000_000)
        with pytest.raises(EvenflowError, match="Not one would fit"), workers("dask-local:1"):
            pass

    def test_no_workers(self, monkeypatch: pytest.MonkeyPatch, dask: Dask) -> None:
        from evenflow.run import on_dask

        monkeypatch.setattr(on_dask, "ARRIVE_S", 0.5)
        with pytest.raises(EvenflowError, match="has no workers after"), workers(f"dask://{dask.address}"):
            pass


def slurm_stands_in(work: Path, monkeypatch: pytest.MonkeyPatch, commands: dict[str, str]) -> None:
    bin = work / "bin"
    bin.mkdir()
    for name, text in commands.items():
        (bin / name).write_text(f"#!/bin/bash\ncd {work}\n{text}\n")
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")


@needs("submitit")
@posix
class TestJobs:
    @pytest.fixture
    def jobs(self, work: Path) -> Iterator[Any]:
        import submitit
        from evenflow.run.on_slurm import JobWorkers

        found = JobWorkers(submitit.LocalExecutor(folder=work / "jobs"), 2, look_s=0.05)
        yield found
        found.shutdown()

    def test_the_same_hashes_as_alone(self, jobs: Any) -> None:
        study = Study.from_scenario(parsed(SMALL), 6)
        assert hashes(run_study(study, executor=jobs)) == hashes(run_study(study, jobs=1))

    def test_a_killed_job_is_submitted_again(self, jobs: Any, work: Path) -> None:
        study = Study.from_scenario(parsed(SMALL.replace('"4 s"', '"400 s"')), 4)
        killed: list[str] = []
        submit = jobs._jobs.submit

        def once(*arguments: Any) -> Any:
            job = submit(*arguments)
            if not killed:
                killed.append(job.job_id)
                job._process.send_signal(signal.SIGKILL)
            return job

        jobs._jobs.submit = once
        table = run_study(study, executor=jobs)
        assert len(table) == 4
        assert killed
        assert hashes(table) == hashes(run_study(study, jobs=2))

    def test_slurm_is_looked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(EvenflowError, match="no SLURM here"), workers("slurm"):
            pass

    @pytest.mark.parametrize("gone", ["srun", "sacct", "scancel"])
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

    def test_slurm_without_accounting(self, work: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        without = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
        slurm_stands_in(work, monkeypatch, {**STAND_INS, "sacct": without})
        done = cli("study", small, "--replications", 1, "--on", "slurm")
        assert done.code == 1
        assert "does not answer (Slurm accounting storage is disabled)" in done.err
        assert done.err.count("\n") == 1
        assert not (work / "out" / "store" / "jobs").exists()

    def test_a_cluster_that_submitit_refuses_leaves_no_folder(
        self, work: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import submitit

        def refuse(**_: object) -> None:
            raise RuntimeError('Could not detect "srun", are you indeed on a slurm cluster?')

        slurm_stands_in(work, monkeypatch, STAND_INS)
        monkeypatch.setattr(submitit, "SlurmExecutor", refuse)
        done = cli("study", small, "--replications", 1, "--on", "slurm")
        assert done.code == 1
        assert "SLURM cannot be used here: Could not detect" in done.err
        assert list((work / "out" / "store" / "jobs").iterdir()) == []

    def test_slurm(self, work: Path, small: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """The commands of SLURM stand in: `sbatch` runs the job's script here."""
        slurm_stands_in(work, monkeypatch, STAND_INS)
        monkeypatch.setenv("EVENFLOW_STORE", str(work / "there"))
        done = cli("study", small, "--replications", 4, "--on", "slurm:batch", "--out", "there-out")
        assert done.code == 0, done.err
        assert "submitit" not in done.out + done.err
        assert "--partition=batch" in (work / "scripts").read_text()
        assert list((work / "there" / "jobs").iterdir()) == []
        monkeypatch.setenv("EVENFLOW_STORE", str(work / "here"))
        assert cli("study", small, "--replications", 4, "--out", "here-out").code == 0
        assert (work / "there-out" / "results.csv").read_bytes() == (work / "here-out" / "results.csv").read_bytes()


STAND_INS = {
    "sbatch": """
id=$(( $(cat last 2>/dev/null || echo 100) + 1 )); echo $id > last
text=$(cat "${@: -1}"); echo "$text" >> scripts  # submitit renames the file at once
SLURM_JOB_ID=$id SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0 \\
    SLURM_JOB_NODELIST=localhost nohup bash -c "$text" > /dev/null 2>&1 &
echo "Submitted batch job $id"
""",
    "srun": """
while [[ "$1" == --* ]]; do
    if [[ "$1" == --output || "$1" == --error ]]; then shift; fi
    shift
done
exec "$@"
""",
    "sacct": "echo 'JobID|State|NodeList'",
    "scancel": "true",
}
