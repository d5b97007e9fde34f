"""One study under way: which runs are planned, computed here, computed by other processes, finished and broken."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from .. import interrupts
from ..errors import EvenflowError, Interrupted, RunError, StoreError
from ..words import counted
from .engine import Result
from .scheduler import Job
from .store import ENVIRONMENT, Claimed, key_of
from .table import BrokenRun, BrokenRuns, Run, Table

if TYPE_CHECKING:
    from .progress import Bar, Progress
    from .record import Record
    from .scheduler import Outcome, Scheduler
    from .store import Store
    from .study import Precision, Study

BATCH = 10
"""Seeds of a point between two judgements of its precision."""
MOST_REPLICATIONS = 200
PLANNED_AT_ONCE = 10_000
LOOK_S = (0.02, 0.5)
"""First and longest pause between two looks at the runs of other processes."""
GRACE_S = 1.0
"""After Ctrl-C, running work that ends within this time is completed."""
MOST_KEPT_BROKEN = 100
"""Most scenarios of a study's broken runs that are written to files."""

Entry = tuple[int, int]
"""Point and seed."""


class _Memory:
    """In place of a store: nothing is kept."""

    read_only = False

    def there(self, keys: Sequence[str]) -> set[str]:
        return set()

    def get(self, key: str) -> Record | None:
        return None

    def claim(self, keys: Iterable[str], most: int) -> Claimed:
        return Claimed(mine=list(islice(keys, most)))

    def put_all(self, rows: Sequence[tuple[str, str, int, Result]]) -> list[Record]:
        return [result.record() for *_, result in rows]

    def release(self, keys: Sequence[str] | None = None) -> None:
        pass


class Execution:
    """Computes a study once."""

    def __init__(
        self,
        study: Study,
        store: Store | None,
        scheduler: Scheduler,
        precision: Precision | None,
        state: Progress,
        bar: Bar,
        on_run: Callable[[Progress], None] | None,
    ) -> None:
        self.study = study
        self.kept_in = store
        self.store: Store | _Memory = _Memory() if store is None else store
        self.scheduler = scheduler
        self.precision = precision
        self.state = state
        self.bar = bar
        self.on_run = on_run
        self.interrupt = interrupts.postponed(scheduler.wake)
        self.texts = [point.scenario.to_json() for point in study.points]
        self.hashes = [point.scenario.hash for point in study.points]
        self.runs: dict[Entry, Run] = {}
        self.broken: dict[Entry, BrokenRun] = {}
        self.broken_keys: dict[str, BrokenRun] = {}
        self.wanted: dict[str, list[Entry]] = {}
        """Key -> entries of runs that are not there yet; equal scenarios share a run."""
        self.queue: deque[str] = deque()
        self.elsewhere: dict[str, None] = {}
        """Keys of runs that other processes compute."""
        self.batches = dict.fromkeys(range(len(study.points)), 0)
        self.pause = LOOK_S[0]
        self.looked = 0.0

    def run(self) -> Table:
        """Compute it.

        Raises:
            BrokenRuns, Interrupted, StoreError: as `run_study`.
        """
        with self.interrupt:
            try:
                self._run()
            except KeyboardInterrupt:
                self._stop(GRACE_S)
                raise Interrupted(self._interrupted()) from None
            except BaseException:
                self._stop()
                raise
        return self._table()

    def _run(self) -> None:
        if self.on_run is not None:
            self.on_run(self.state)
        for point in range(len(self.study.points)):
            seeds = self.study.seeds
            self.queue.extend(self._plan(point, seeds) if self.precision is None else self._next_batch(point))
        if self.queue and self.store.read_only:
            raise StoreError(self._not_there())
        self.looked = time.perf_counter()
        while self.queue or self.scheduler.busy or self.elsewhere:
            self._heed_interrupt()
            self._submit_queued()
            self._receive()
            self._look_elsewhere()

    def _heed_interrupt(self) -> None:
        if self.interrupt.pressed:
            raise KeyboardInterrupt

    # --- planning

    def _plan(self, point: int, seeds: Iterable[int]) -> list[str]:
        """Take the runs that the store has. Returns the keys of all others."""
        missing = []
        todo = iter(seeds)
        while some := [(key_of(self.hashes[point], seed), seed) for seed in islice(todo, PLANNED_AT_ONCE)]:
            self._heed_interrupt()
            there = self.store.there([key for key, _ in some])
            for key, seed in some:
                if key in self.broken_keys:
                    self._miss(point, seed, self.broken_keys[key])
                    continue
                if key in self.wanted:
                    self.wanted[key].append((point, seed))
                    continue
                self.wanted[key] = [(point, seed)]
                found = self.store.get(key) if key in there else None
                if found is None:
                    missing.append(key)
                else:
                    self._keep(key, found, cached=True)
        return missing

    def _next_batch(self, point: int) -> list[str]:
        """Plan the point's next ten seeds, unless its runs are precise enough."""
        assert self.precision is not None
        missing: list[str] = []
        while True:
            have = self.batches[point]
            entries = [(point, seed) for seed in range(1, have + 1)]
            if any(entry not in self.runs and entry not in self.broken for entry in entries):
                return missing
            done = [self.runs[entry] for entry in entries if entry in self.runs]
            if have >= MOST_REPLICATIONS or (have and (not done or self.precision.met(done))):
                return missing
            self.batches[point] = have + BATCH
            if have:
                self.state.total += BATCH
            missing += self._plan(point, range(have + 1, have + BATCH + 1))

    def _continue(self, entries: Iterable[Entry]) -> None:
        """Runs of these points have ended: plan the next batches."""
        if self.precision is not None:
            for point in dict.fromkeys(point for point, _ in entries):
                self.queue.extendleft(reversed(self._next_batch(point)))

    # --- computing

    def _job(self, key: str) -> Job:
        point, seed = self.wanted[key][0]
        return Job(key, self.hashes[point], self.texts[point], seed)

    def _submit_queued(self) -> None:
        room = self.scheduler.room(map(self._job, self.queue), len(self.queue)) if self.queue else 0
        if room > 0:
            claimed = self.store.claim(self.queue, room)
            for _ in range(claimed.looked_at):
                self.queue.popleft()
            self._submit(claimed)

    def _submit(self, claimed: Claimed) -> None:
        """Submit the claimed runs, take those that other processes have finished, and note those under way."""
        self.elsewhere.update(dict.fromkeys(claimed.elsewhere))
        for key in claimed.finished:
            found = self.store.get(key)
            if found is not None:
                self._continue(self._keep(key, found, cached=True))
            else:  # it was damaged, and is deleted
                self.elsewhere.pop(key, None)
                self.queue.append(key)
        for key in claimed.mine:
            self.elsewhere.pop(key, None)
        self.scheduler.submit([self._job(key) for key in claimed.mine])

    def _receive(self) -> None:
        """Wait for results and keep them."""
        if not self.scheduler.busy and (self.queue or not self.elsewhere):
            return
        good, bad, failed = _sorted(self.scheduler.results(self.pause if self.elsewhere else None))
        now = self.scheduler.workers, self.scheduler.trouble
        if now != (self.state.workers, self.state.trouble):
            self.state.workers, self.state.trouble = now
            self.bar.update(self.state)
        for key, record in self._put(good):
            self._continue(self._keep(key, record, cached=False))
        if bad:
            self._give_up(bad)
        if failed is not None:
            raise failed

    def _put(self, good: Sequence[tuple[Job, Result]]) -> list[tuple[str, Record]]:
        """Store results; a run is reported after this."""
        if not good:
            return []
        records = self.store.put_all([(job.key, job.scenario, job.seed, result) for job, result in good])
        return [(job.key, record) for (job, _), record in zip(good, records, strict=True)]

    def _look_elsewhere(self) -> None:
        """Look from time to time whether other processes have finished runs, or died."""
        if not self.elsewhere or time.perf_counter() - self.looked < self.pause:
            return
        before = len(self.elsewhere)
        keys = list(self.elsewhere)
        self._submit(self.store.claim(keys, max(self.scheduler.room(map(self._job, keys), before), 1)))
        self.pause = LOOK_S[0] if len(self.elsewhere) < before else min(2 * self.pause, LOOK_S[1])
        self.looked = time.perf_counter()

    # --- what has ended

    def _keep(self, key: str, record: Record, *, cached: bool) -> list[Entry]:
        """A run is finished. Returns its entries."""
        entries = self.wanted.pop(key)
        self.elsewhere.pop(key, None)
        for index, (point, seed) in enumerate(entries):
            own = record if index == 0 else record.copy()
            own.scenario = self.study.points[point].scenario
            self.runs[point, seed] = Run(point, self.study.points[point].labels, seed, own, cached=cached)
            self.state.done += 1
            self.state.cached += cached
            self.state.elsewhere = len(self.elsewhere)
            self.bar.update(self.state)
            if self.on_run is not None:
                self.on_run(self.state)
        return entries

    def _miss(self, point: int, seed: int, run: BrokenRun) -> None:
        self.broken[point, seed] = replace(run, labels=self.study.points[point].labels)
        self.state.broken = len(self.broken)
        self.bar.update(self.state)

    def _give_up(self, errors: Sequence[tuple[Job, RunError]]) -> None:
        """These runs broke: keep their scenarios and continue without them."""
        self.store.release([job.key for job, _ in errors])  # other processes would wait for them
        for job, error in errors:
            entries = self.wanted.pop(job.key)
            point, seed = entries[0]
            run = BrokenRun(self.study.points[point].labels, seed, self.study.points[point].scenario, str(error))
            if self.kept_in is not None and len(self.broken_keys) < MOST_KEPT_BROKEN:
                with suppress(StoreError):
                    run = replace(run, file=self.kept_in.keep_broken(run.scenario, seed, run.why))
            self.broken_keys[job.key] = run
            for point, seed in entries:
                self._miss(point, seed, run)
            self._continue(entries)

    def _stop(self, grace_s: float = 0.0) -> None:
        """Stop the scheduler, keep the runs that have ended meanwhile, and leave all others to other processes."""
        with suppress(KeyboardInterrupt):
            self.scheduler.cancel(grace_s)
        if self.scheduler.trouble not in ("", self.state.trouble):
            self.bar.say(self.scheduler.trouble)
        if self.store.read_only:
            return
        with suppress(EvenflowError):
            good, _, _ = _sorted(self.scheduler.results(0))
            for key, _ in self._put(good):
                self.state.done += len(self.wanted.pop(key))
            self.store.release()

    def _table(self) -> Table:
        scenarios = {index: point.scenario for index, point in enumerate(self.study.points)}
        there = {point for point, _ in self.runs}
        lost = dict.fromkeys(point for point, _ in sorted(self.broken) if point not in there)
        left_out = [self.study.points[point].labels for point in lost]
        table = Table(self.runs.values(), elapsed_s=self.state.elapsed_s, scenarios=scenarios, left_out=left_out)
        if self.broken:
            raise BrokenRuns(table, [run for _, run in sorted(self.broken.items(), key=lambda it: it[0])], self.kept_in)
        return table

    def _not_there(self) -> str:
        assert self.kept_in is not None
        return (
            f"{len(self.queue):,} of {self.state.total:,} runs are not in the store {self.kept_in.folder}, which can "
            f"only be read. Name another with the environment variable {ENVIRONMENT}."
        )

    def _interrupted(self) -> str:
        done = self.state.done
        after = f"Interrupted after {done:,} of {counted(self.state.total, 'run')}"
        if self.kept_in is None or not done:
            return f"{after}; nothing was stored."
        it_is = "it is" if done == 1 else "they are"
        return f"{after}; {it_is} kept in {self.kept_in.folder}. Run the same command again to go on from there."


def _sorted(
    outcomes: Iterable[Outcome],
) -> tuple[list[tuple[Job, Result]], list[tuple[Job, RunError]], BaseException | None]:
    """Finished runs, broken runs, and the first error that ends the study: it must not lose the finished runs."""
    good: list[tuple[Job, Result]] = []
    bad: list[tuple[Job, RunError]] = []
    failed: BaseException | None = None
    for job, outcome in outcomes:
        if isinstance(outcome, RunError):
            bad.append((job, outcome))
        elif isinstance(outcome, BaseException):
            failed = failed or outcome
        else:
            good.append((job, outcome))
    return good, bad, failed
