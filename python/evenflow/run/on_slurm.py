"""SLURM, through submitit: its jobs as futures of the standard executor, one job for each batch of runs."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any

from ..errors import EvenflowError
from ..words import listed
from .cluster import Place, Workers, first_line, package


class JobWorkers(Workers):
    """Jobs of a submitit executor as futures: one job for each batch.

    Args:
        jobs: what submits; its `folder` is where the jobs leave their results.
        most: jobs at once.
        look_s: between two looks at the jobs.
    """

    batch_s = 300.0
    least_s = 30.0
    ahead = 1

    def __init__(self, jobs: Any, most: int, look_s: float = 0.5) -> None:
        super().__init__()
        self._jobs = jobs
        self._most = most
        self._look_s = look_s
        self._open: dict[Future[Any], Any] = {}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True, name="evenflow-jobs").start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As `Executor.submit`; cancelling the future cancels its job."""
        try:
            job = self._jobs.submit(fn, *args, **kwargs)
        except (RuntimeError, OSError) as error:
            raise EvenflowError(f"A job cannot be submitted: {first_line(error)}") from None
        future: Future[Any] = Future()
        with self._lock:
            self._open[future] = job
        return future

    def slots(self) -> int:
        """How many jobs there may be at once."""
        return self._most

    def lost(self, error: BaseException) -> str | None:
        """A job that left no result was killed: by hand, by its machine, or by a limit of time or memory."""
        errors = importlib.import_module("submitit.core.utils")
        if isinstance(error, errors.UncompletedJobError) and not isinstance(error, errors.FailedJobError):
            return f"its job left no result ({first_line(error)})"
        return None

    def stop(self) -> None:
        """Cancel all jobs."""
        with self._lock:
            left, self._open = self._open, {}
        for job in left.values():
            with contextlib.suppress(Exception):
                job.cancel(check=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is left."""
        self._ended.set()
        self.stop()

    def _watch(self) -> None:
        while not self._ended.wait(self._look_s):
            with self._lock:
                looked_at = list(self._open.items())
            for future, job in looked_at:
                try:
                    if not job.done():
                        continue
                    result, error = job.result(), None
                except BaseException as raised:
                    result, error = None, raised
                with self._lock:
                    if self._open.pop(future, None) is None:
                        continue
                with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
                    if error is None:
                        future.set_result(result)
                        _remove_files(job)
                    else:
                        future.set_exception(error)


def _remove_files(job: Any) -> None:
    for path in Path(job.paths.folder).glob(f"{job.job_id}_*"):
        with contextlib.suppress(OSError):
            path.unlink()


COMMANDS = ("sbatch", "srun", "sacct", "scancel")
"""What submitit calls."""
ACCOUNTING_S = 20.0
"""How long SLURM's accounting may take to answer."""


def _require_slurm() -> None:
    """SLURM's commands are there, and its accounting answers: without it no job would ever be known to have failed.

    Raises:
        EvenflowError: it is not so.
    """
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        what = "There is no SLURM here" if "sbatch" in missing else "SLURM is not complete here"
        are = "is" if len(missing) == 1 else "are"
        raise EvenflowError(f"{what}: {listed(missing)} {are} not on the PATH. Use a login node of the cluster.")
    command = ["sacct", "-n", "-X", "-o", "JobID"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ACCOUNTING_S)
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = (said[0].rstrip(".") if said else f"exit code {done.returncode}") if done.returncode else ""
    except subprocess.TimeoutExpired:
        why = f"no answer within {ACCOUNTING_S:.0f} s"
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        raise EvenflowError(
            f"SLURM's accounting does not answer ({why}): Evenflow learns from sacct how jobs end. On a cluster "
            "without it start Dask workers in jobs, see docs/cluster.md."
        )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What submitit says of its jobs is not for the terminal."""
    logger = logging.getLogger("submitit")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def slurm(to: Place, most: int, folder: Path | None) -> Iterator[Workers]:
    """SLURM's jobs. See `cluster.workers`."""
    submitit = package("submitit", "submitit", to.kind)
    _require_slurm()
    from .files import make_folder
    from .store import DEFAULT, ENVIRONMENT

    above = Path(folder or os.environ.get(ENVIRONMENT) or DEFAULT).absolute() / "jobs"
    make_folder(above)
    own = Path(tempfile.mkdtemp(prefix="study-", dir=above))
    chosen = {"partition": to.partition} if to.partition else {}
    try:
        with _silent():
            try:
                executor = submitit.SlurmExecutor(folder=own)
                executor.update_parameters(job_name="evenflow", time=24 * 60, cpus_per_task=1, **chosen)
            except (RuntimeError, ValueError, OSError) as error:
                raise EvenflowError(f"SLURM cannot be used here: {first_line(error)}.") from None
            found = JobWorkers(executor, most)
            try:
                yield found
            finally:
                found.shutdown()
    finally:
        shutil.rmtree(own, ignore_errors=True)
