"""SLURM: one job for each batch of runs. Any of SLURM's commands may hang or fail for a while."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import EvenflowError, first_line
from ..words import listed
from .batch import RESULT, Timed, read_result, write_batch
from .place import Place
from .scheduler import Job, Outcome, Scheduler

COMMANDS = ("sbatch", "sacct", "scancel")
SLOW_S = 10.0
"""A command that has not answered for so long is reported."""
COMMAND_S = 60.0
"""A command that has not answered for so long is ended and run again."""
ACCOUNTING_S = 20.0
"""How long SLURM's accounting may take to answer before the first job."""
STOP_S = 5.0
"""How long scancel may take at the end."""
TRIES = 3
"""Attempts to submit a job."""
PAUSE_S = 1.0
"""Time between two attempts."""
ASK_S = 10.0
"""Time between two questions to sacct."""
GRACE_S = 5.0
"""How long a result may take to appear, or to become readable, after the end of its job."""
LOOK_S = 0.5
"""Time between two looks for results."""
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT"),
}
"""States of a job that has ended."""


class Answer(NamedTuple):
    """Output of a command. `error` is empty on success."""

    out: str
    error: str


class Command:
    """One of SLURM's commands, in a process that Ctrl-C does not reach."""

    def __init__(self, *words: str) -> None:
        self.name = words[0]
        self._started = time.monotonic()
        self._out = tempfile.TemporaryFile()  # noqa: SIM115  (a pipe that is not read could stop the command)
        self._err = tempfile.TemporaryFile()  # noqa: SIM115
        self._error = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err, start_new_session=True
            )
        except OSError as error:
            self._error = error.strerror or str(error)

    @property
    def trouble(self) -> str:
        """A sentence if it is slow."""
        slow = time.monotonic() - self._started > SLOW_S
        return f"SLURM's {self.name} has not answered for {SLOW_S:.0f} s." if slow else ""

    def answer(self, limit_s: float, wait_s: float = 0.0) -> Answer | None:
        """Its answer, or None while it runs. After `limit_s` it is killed; `wait_s` is how long to wait here."""
        until = time.monotonic() + wait_s
        while self._process is not None and self._process.poll() is None:
            if time.monotonic() - self._started > limit_s:
                self._process.kill()
                return Answer("", f"no answer within {limit_s:.0f} s")
            if time.monotonic() >= until:
                return None
            time.sleep(0.02)
        printed = []
        for file in (self._out, self._err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
        if self._process is not None and self._process.returncode:
            lines = printed[1].strip().splitlines()
            self._error = lines[0].rstrip(".") if lines else f"exit code {self._process.returncode}"
        return Answer(printed[0], self._error)


class JobLost(Exception):
    """A job left no readable result."""


@dataclass(eq=False)
class _Batch:
    """A batch of runs, from its file to its result."""

    path: Path
    """Its file; the names of its script, log and result have other suffixes."""
    future: Future[list[Timed]] = field(default_factory=Future)
    id: str = ""
    state: str = ""
    """Of the job, once it has ended."""
    since: float = 0.0
    """When its end was seen, or its result was not readable for the first time."""

    def finish(self, result: list[Timed] | BaseException) -> None:
        """Resolve the future and remove the files."""
        if self.future.set_running_or_notify_cancel():
            if isinstance(result, BaseException):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)
        for path in self.path.parent.glob(f"{self.path.stem}.*"):
            with contextlib.suppress(OSError):
                path.unlink()


class JobWorkers(Scheduler):
    """Jobs of SLURM: one for each batch.

    Args:
        folder: of the batches and results, on a filesystem of all nodes.
        most: jobs at a time.
    """

    batch_s = 300.0
    least_s = 30.0
    ahead = 1
    tick_s = LOOK_S

    def __init__(self, folder: Path, most: int, partition: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._most = most
        self._partition = partition
        self._count = 0
        self._waiting: deque[_Batch] = deque()
        self._jobs: dict[str, _Batch] = {}
        self._sbatch: Command | None = None
        self._tries = 0
        self._next_try = 0.0
        self._sacct: Command | None = None
        self._next_question = time.monotonic() + ASK_S
        self._troubles: dict[str, str] = {}

    def slots(self) -> int:
        """How many jobs there may be at a time."""
        self.workers = self._most
        return self._most

    def send(self, batch: Sequence[Job]) -> Future[list[Timed]]:
        """Write the batch and its script; `results` submits the job."""
        from .. import _core

        self._count += 1
        made = _Batch(self._folder / f"{self._count}.json")
        python, file, log = (shlex.quote(str(it)) for it in (sys.executable, made.path, made.path.with_suffix(".log")))
        options = ["job-name=evenflow", "time=1440", "nodes=1", "ntasks=1", "cpus-per-task=1", "output=/dev/null"]
        options += [f"partition={self._partition}"] if self._partition else []
        lines = ["#!/bin/sh", *(f"#SBATCH --{option}" for option in options)]
        lines.append(f"exec {python} -m evenflow.run.batch {file} > {log} 2>&1\n")
        try:
            write_batch(made.path, [(job.tree_json, job.seed) for job in batch], _core.ENGINE_ID)
            made.path.with_suffix(".sh").write_text("\n".join(lines), encoding="utf-8")
        except OSError as error:
            raise EvenflowError(f"{made.path} cannot be written: {error.strerror or error}.") from None
        self._waiting.append(made)
        return made.future

    def lost(self, error: BaseException) -> str | None:
        """A job without a result was killed: by a user, its node, or a limit of time or memory."""
        return str(error) if isinstance(error, JobLost) else None

    def results(self, timeout: float | None = None) -> list[Outcome]:
        """Also submits jobs, looks for results and asks sacct."""
        self._collect()
        if not self._cancelled:
            self._submit()
            self._ask()
        self.trouble = " ".join(filter(None, self._troubles.values()))
        return super().results(timeout)

    def begun(self) -> list[Future[list[Timed]]]:
        """None: a batch takes minutes."""
        return []

    def stop(self) -> None:
        """Cancel all jobs."""
        self._waiting.clear()
        if self._sbatch is not None:
            self._sbatch.answer(0.0)
            self._sbatch = None
        if self._jobs:
            jobs, self._jobs = self._jobs, {}
            if Command("scancel", *jobs).answer(COMMAND_S, STOP_S) is None:
                self.trouble = (
                    f"SLURM's scancel has not answered for {STOP_S:.0f} s. Jobs may be left: scancel --name evenflow"
                )

    def _submit(self) -> None:
        """Run sbatch for the next batch; one at a time."""
        if self._sbatch is None:
            if self._waiting and time.monotonic() >= self._next_try:
                script = self._waiting[0].path.with_suffix(".sh")
                self._sbatch = Command("sbatch", "--parsable", str(script))
            return
        answer = self._sbatch.answer(COMMAND_S)
        self._troubles["sbatch"] = self._sbatch.trouble
        if answer is None:
            return
        self._sbatch = None
        found = re.search(r"^(?:Submitted batch job )?(\d+)\b", answer.out, re.MULTILINE)
        if found and not answer.error:
            batch = self._waiting.popleft()
            batch.id = found[1]
            self._jobs[batch.id] = batch
            self._tries = 0
            self._submit()
            return
        self._tries += 1
        self._next_try = time.monotonic() + PAUSE_S
        why = answer.error or f"sbatch printed no job id: {answer.out.strip()[:100]!r}"
        if self._tries == TRIES:
            raise EvenflowError(f"A job cannot be submitted: {why}.")
        self._troubles["sbatch"] = f"SLURM's sbatch failed ({why}) and is run again."

    def _collect(self) -> None:
        """Read results. The folder is listed because network filesystems may cache the absence of a file."""
        if not self._jobs:
            return
        try:
            there = set(os.listdir(self._folder))
        except OSError as error:
            self._troubles["folder"] = f"{self._folder} cannot be read: {error.strerror or error}."
            return
        self._troubles["folder"] = ""
        now = time.monotonic()
        for batch in list(self._jobs.values()):
            why = f"left no result ({batch.state})"
            if batch.path.with_suffix(RESULT).name in there:
                try:
                    result = read_result(batch.path.with_suffix(RESULT))
                except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                    batch.since = batch.since or now
                    why = f"left a result that cannot be read ({first_line(error)})"
                else:
                    del self._jobs[batch.id]
                    batch.finish(result)
                    continue
            if batch.since and now - batch.since > GRACE_S:
                del self._jobs[batch.id]
                batch.finish(JobLost(f"its job {batch.id} {why}{_last_line(batch.path.with_suffix('.log'))}"))

    def _ask(self) -> None:
        """Ask sacct which jobs have ended."""
        if self._sacct is None:
            if self._jobs and time.monotonic() >= self._next_question:
                self._sacct = Command("sacct", "-n", "-P", "-X", "-o", "JobID,State", "-j", ",".join(self._jobs))
            return
        answer = self._sacct.answer(COMMAND_S)
        self._troubles["sacct"] = self._sacct.trouble
        if answer is None:
            return
        self._sacct = None
        self._next_question = time.monotonic() + ASK_S
        if answer.error:
            self._troubles["sacct"] = f"SLURM's sacct failed ({answer.error}) and is run again."
            return
        for line in answer.out.splitlines():
            id, _, state = line.partition("|")
            batch = self._jobs.get(id)
            if batch is not None and not batch.state and state.partition(" ")[0] in ENDED:
                batch.state = state
                batch.since = batch.since or time.monotonic()


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""
    return ""


def _require_slurm() -> None:
    """Check that SLURM's commands exist and its accounting answers: sacct reports how jobs end.

    Raises:
        EvenflowError: they do not.
    """
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        what = "There is no SLURM here" if "sbatch" in missing else "SLURM is not complete here"
        are = "is" if len(missing) == 1 else "are"
        raise EvenflowError(f"{what}: {listed(missing)} {are} not on the PATH. Use a login node of the cluster.")
    answer = Command("sacct", "-n", "-X", "-o", "JobID").answer(ACCOUNTING_S, 2 * ACCOUNTING_S)
    if answer is not None and answer.error:
        raise EvenflowError(
            f"SLURM's accounting does not answer ({answer.error}): Evenflow learns from sacct how jobs end. On a "
            "cluster without it start Dask workers in jobs, see docs/cluster.md."
        )


@contextlib.contextmanager
def slurm(to: Place, most: int, folder: Path | None) -> Iterator[Scheduler]:
    """Jobs of SLURM. See `cluster.workers`."""
    _require_slurm()
    from .files import make_folder
    from .store import default_folder

    above = (Path(folder) if folder else default_folder()).absolute() / "jobs"
    make_folder(above)
    own = Path(tempfile.mkdtemp(prefix="study-", dir=above))
    found = JobWorkers(own, most, to.partition)
    try:
        yield found
    finally:
        found.stop()
        shutil.rmtree(own, ignore_errors=True)
