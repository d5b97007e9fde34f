"""The scheduler of a study's runs, and its adaptors for threads and for executors.

`on_dask` and `on_slurm` have the adaptors for clusters. Runs are submitted in batches. Each batch's cost is measured,
and the next batches are sized by it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..errors import EvenflowError, Interrupted, RunError, UsageError
from ..scenario.scenario import available_memory
from .batch import Timed, execute_batch
from .engine import Result

if TYPE_CHECKING:
    from concurrent.futures import Executor

MOST_LOST = 3
"""How often a run is computed again after its worker was lost."""
UNKNOWN_SIZE = 256
"""Runs in flight on an executor of unknown size."""


class Job(NamedTuple):
    """A run to compute."""

    key: str
    scenario: str
    """Hash of the scenario; runs of a scenario cost about the same."""
    tree_json: str
    seed: int


Outcome: TypeAlias = tuple[Job, "Result | BaseException"]


class Costs:
    """Mean cost of runs on the workers, in s, by scenario."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._runs: Counter[str] = Counter()

    def learn(self, scenario: str, seconds: float) -> None:
        """Count a run."""
        for name in (scenario, ""):
            self._spent[name] += seconds
            self._runs[name] += 1

    def of(self, scenario: str = "") -> float | None:
        """The mean of a scenario's runs, else of all runs; None if there are none."""
        name = scenario if scenario in self._runs else ""
        return max(self._spent[name] / self._runs[name], 1e-6) if self._runs[name] else None


class Scheduler:
    """Computes runs for one study at a time: `submit`, `results`, `cancel`. Use it from one thread.

    An adaptor has `slots`, `send`, `lost` and `stop`. A batch takes about `batch_s`; towards the study's end it takes
    less, so that all workers end together. The runs of a lost batch are submitted again one by one, so that a run which
    kills its workers is found.
    """

    batch_s = 1.0
    """Duration of a batch."""
    least_s = 0.2
    """Duration of a batch near the study's end; each batch has a fixed cost."""
    ahead = 2
    """Batches per worker: the running one and the next."""
    tick_s: float | None = 1.0
    """Longest wait in `results`."""
    workers: int | None = None
    """Runs that other machines can compute at a time now; None if this process computes."""
    on_this_machine = 0
    """Runs at a time on this machine."""
    trouble = ""
    """The part of a cluster that does not answer, as a sentence; empty if all do."""

    def __init__(self) -> None:
        self.costs = Costs()
        self._batch_s = self.batch_s
        self._pending: dict[Future[list[Timed]], list[Job]] = {}
        self._ended: SimpleQueue[Future[list[Timed]] | None] = SimpleQueue()
        self._lost: Counter[str] = Counter()
        self._cancelled = False

    # --- the adaptor

    def slots(self) -> int:
        """How many runs can be computed at a time now.

        Raises:
            EvenflowError: the workers cannot be reached any more.
        """
        raise NotImplementedError

    def send(self, batch: Sequence[Job]) -> Future[list[Timed]]:
        """Submit a batch. The future has the outcome of each run, in order; fewer if the batch was cancelled."""
        raise NotImplementedError

    def lost(self, error: BaseException) -> str | None:
        """Why a batch was lost, if it was lost with its worker. None for other errors."""
        return None

    def stop(self) -> None:
        """End all running batches, as far as the workers can be reached."""

    def begun(self) -> list[Future[list[Timed]]]:
        """The batches that may end soon; all others are cancelled."""
        return [future for future in self._pending if not future.cancel()]

    def explained(self, error: BaseException) -> BaseException:
        """A batch's error as a sentence."""
        if isinstance(error, EvenflowError):
            return error
        if isinstance(error, CancelledError):
            return EvenflowError("The connection to the workers was lost. Run the same command again to go on.")
        if isinstance(error, ImportError):
            return EvenflowError(f"A worker lacks a package ({error}): install the same build of Evenflow there.")
        return EvenflowError(f"A worker failed: {type(error).__name__}: {error}")

    # --- the interface

    @property
    def busy(self) -> bool:
        """Whether `results` has not returned all submitted runs."""
        return bool(self._pending)

    def room(self, queue: Iterable[Job], length: int) -> int:
        """How many runs of a queue to submit now: as many as fill the free batches."""
        most = self.ahead * max(self.slots(), 1)
        free = most - len(self._pending)
        mean = self.costs.of()
        if free <= 0 or mean is None:
            return max(free, 0)
        self._batch_s = min(self.batch_s, max(length * mean / (2 * most), self.least_s))
        wanted, count = free * self._batch_s, 0
        for job in queue:
            if wanted <= 0:
                break
            wanted -= self._cost(job)
            count += 1
        return max(count, 1)

    def _cost(self, job: Job) -> float:
        cost = self.costs.of(job.scenario)
        return self._batch_s if cost is None else cost

    def submit(self, jobs: Sequence[Job]) -> None:
        """Compute these runs."""
        self._cancelled = False
        batch: list[Job] = []
        cost = 0.0
        for job in jobs:
            batch.append(job)
            cost += self._cost(job)
            if cost >= self._batch_s:
                self._send(batch)
                batch, cost = [], 0.0
        if batch:
            self._send(batch)

    def _send(self, batch: list[Job]) -> None:
        future = self.send(batch)
        self._pending[future] = batch
        future.add_done_callback(self._ended.put)

    def results(self, timeout: float | None = None) -> list[Outcome]:
        """Wait until a batch has ended, `wake` is called or the time is over; then return all ended runs.

        Raises:
            EvenflowError: the workers are lost.
        """
        if not self._cancelled:
            self.slots()
        found: list[Outcome] = []
        with contextlib.suppress(Empty):
            future = self._ended.get(timeout=min((s for s in (timeout, self.tick_s) if s is not None), default=None))
            while True:
                if future is not None:
                    found += self._outcomes(future, self._pending.pop(future, []))
                future = self._ended.get_nowait()
        if self._cancelled:
            self._pending.clear()
        return found

    def _outcomes(self, future: Future[list[Timed]], batch: list[Job]) -> list[Outcome]:
        try:
            outcomes = future.result()
        except BaseException as error:
            why = self.lost(error)
            return [(job, self.explained(error)) for job in batch[:1]] if why is None else self._again(batch, why)
        found: list[Outcome] = []
        again = batch[len(outcomes) :]
        for job, (outcome, seconds) in zip(batch, outcomes, strict=False):
            if isinstance(outcome, Interrupted):  # the end of another study interrupted it
                again.append(job)
                continue
            self.costs.learn(job.scenario, seconds)
            found.append((job, RunError(str(outcome)) if isinstance(outcome, EvenflowError) else outcome))
        return found + self._again(again, "it was interrupted")

    def _again(self, batch: Sequence[Job], why: str) -> list[Outcome]:
        found: list[Outcome] = []
        for job in () if self._cancelled else batch:
            self._lost[job.key] += 1
            if self._lost[job.key] <= MOST_LOST:
                self._send([job])
                continue
            title = json.loads(job.tree_json).get("title", "untitled")
            text = f"A run of “{title}”, seed {job.seed}, was lost {self._lost.pop(job.key)} times: {why}. "
            found.append((job, RunError(text + "It may need more memory or time than a worker has.")))
        return found

    def cancel(self, grace_s: float = 0.0) -> None:
        """Stop all submitted runs, the running ones after `grace_s`. `results` still returns those that have ended."""
        try:
            wait(self.begun(), grace_s)
        finally:
            self._cancelled = True
            self.stop()
            for future in list(self._pending):
                future.cancel()

    def wake(self) -> None:
        """End the wait in `results`. May be called from other threads and from signal handlers."""
        self._ended.put(None)


class Pool(Scheduler):
    """Any executor: a future for each run, because the number of its workers is unknown."""

    batch_s, ahead, tick_s, on_this_machine = 0.0, 1, None, 1

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self._executor = executor
        self._memory = available_memory()

    def slots(self) -> int:
        """Unknown."""
        return UNKNOWN_SIZE

    def room(self, queue: Iterable[Job], length: int) -> int:
        """0 while half of the runs are in flight, so that claims come in batches."""
        free = UNKNOWN_SIZE - len(self._pending)
        return free if 2 * free >= UNKNOWN_SIZE else 0

    def send(self, batch: Sequence[Job]) -> Future[list[Timed]]:
        """A future for each batch."""
        from .. import _core

        runs = [(job.tree_json, job.seed) for job in batch]
        share = None if self._memory is None else self._memory // self.on_this_machine
        return self._executor.submit(execute_batch, runs, _core.ENGINE_ID, "", share)


class Threads(Pool):
    """Threads of this process."""

    batch_s, least_s, ahead = 0.1, 0.02, 2

    def __init__(self, threads: ThreadPoolExecutor, jobs: int) -> None:
        super().__init__(threads)
        self.on_this_machine = jobs

    def slots(self) -> int:
        """How many threads there are."""
        return self.on_this_machine

    room = Scheduler.room

    def stop(self) -> None:
        """Stop all runs of this process."""
        from .. import _core

        _core.request_stop()
        self._executor.shutdown(wait=True)

    def explained(self, error: BaseException) -> BaseException:
        """The error as it is."""
        return error


def default_jobs() -> int:
    """One per core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def scheduler(executor: Executor | Scheduler | None, jobs: int | None) -> Iterator[Scheduler]:
    """The scheduler of a study: the given one, one for the given executor, or threads of this process.

    Raises:
        UsageError: neither scheduler nor executor, or no job.
    """
    if isinstance(executor, Scheduler):
        yield executor
        return
    if executor is not None:
        if not hasattr(executor, "submit"):
            raise UsageError(f"{executor!r} is not an executor. Use `with evenflow.workers(…) as executor:`.")
        yield Pool(executor)
        return
    jobs = default_jobs() if jobs is None else jobs
    if not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"{jobs!r} jobs: a whole number of at least 1 is needed.")
    from .. import _core

    try:
        with ThreadPoolExecutor(jobs, thread_name_prefix="evenflow") as threads:
            yield Threads(threads, jobs)
    finally:
        _core.clear_stop()
