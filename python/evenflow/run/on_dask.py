"""The workers of a Dask scheduler: a running one (dask://HOST:PORT), or one on this machine (dask-local:4)."""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import secrets
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from ..errors import EvenflowError, first_line
from ..scenario.scenario import available_memory
from ..words import counted, size
from .batch import Timed, cancel_batches, execute_batch, foreign
from .place import Place, package
from .scheduler import Job, Scheduler, default_jobs

REACH_S = 2.0
"""How long a scheduler's host may take to be found and to accept a connection."""
GREET_S = 5.0
"""How long a scheduler may take to send its greeting."""
CONNECT_S = 10.0
"""How long a scheduler may take to connect a client."""
ARRIVE_S = 30.0
"""How long to wait for the first worker."""
STOP_S = 5.0
"""How long workers may take to end their batches, and a client to close."""
ABSENT_S = 120.0
"""How long a study waits for workers when all are gone."""
SLOW_S = 10.0
"""A scheduler that has not answered for so long is reported."""
SILENT_S = 60.0
"""A scheduler that has not answered for so long is given up."""
LOOK_S = 1.0
"""Time between two counts of the workers."""


class DaskWorkers(Scheduler):
    """The workers of a Dask scheduler: as many runs at a time as they have threads."""

    def __init__(self, client: Any, where: str) -> None:
        super().__init__()
        self._study = secrets.token_hex(8)
        self._client = client
        self._where = where
        self._executor = client.get_executor(pure=False)
        self.workers = 0
        self._answered = self._seen = time.monotonic()
        self._error: BaseException | None = None
        self._closed = threading.Event()
        threading.Thread(target=self._count, daemon=True, name="evenflow-dask-count").start()

    def _count(self) -> None:
        """Count the workers again and again, in a thread: a frozen scheduler never answers."""
        while self._error is None and not self._closed.is_set():
            try:
                self.workers = sum(self._client.nthreads().values())
            except (Exception, CancelledError) as error:
                self._error = error
            self._answered = time.monotonic()
            if self.workers:
                self._seen = self._answered
            self._closed.wait(LOOK_S)

    def close(self) -> None:
        """End the counting."""
        self._closed.set()

    def slots(self) -> int:
        """How many threads the workers have now."""
        now = time.monotonic()
        silent_s = now - self._answered
        if self._error is not None:
            raise self._gone(str(self._error))
        if silent_s > SILENT_S:
            raise self._gone(f"no answer for {SILENT_S:.0f} s")
        if self._answered - self._seen > ABSENT_S:
            raise EvenflowError(
                f"{self._where} has had no worker for {ABSENT_S:.0f} s. Start workers there, then run the same "
                "command again to go on."
            )
        self.trouble = f"{self._where} has not answered for {SLOW_S:.0f} s." if silent_s > SLOW_S else ""
        return self.workers or 0

    def _gone(self, why: str) -> EvenflowError:
        why = f" ({why})" if why else ""
        return EvenflowError(
            f"{self._where} does not answer any more{why}. Start the scheduler and its workers, then run the same "
            "command again to go on."
        )

    def send(self, batch: Sequence[Job]) -> Future[list[Timed]]:
        """Submit a task."""
        from .. import _core

        runs = [(job.tree_json, job.seed) for job in batch]
        future: Future[list[Timed]] = self._executor.submit(execute_batch, runs, _core.ENGINE_ID, self._study)
        return future

    def begun(self) -> list[Future[list[Timed]]]:
        """All batches: cancelling a future would stop its running batch."""
        return list(self._pending)

    def lost(self, error: BaseException) -> str | None:
        """Dask tries a batch on several workers before it reports the loss."""
        killed = importlib.import_module("distributed").KilledWorker
        return "the workers that computed it died" if isinstance(error, killed) else None

    def explained(self, error: BaseException) -> BaseException:
        """A batch's error as a sentence."""
        return self._gone(str(error)) if isinstance(error, CancelledError) else super().explained(error)

    def stop(self) -> None:
        """Order the workers to end this study's batches, if they can be reached."""
        study, self._study = self._study, secrets.token_hex(8)
        with contextlib.suppress(Exception, CancelledError):
            _within(STOP_S, partial(self._client.run, cancel_batches, study, on_error="return"))

    def greet(self, engine: str) -> None:
        """Count the workers, and refuse those of another engine.

        Raises:
            EvenflowError: names them all.
        """
        try:
            self.workers = sum(_within(ARRIVE_S, self._client.nthreads).values())
            found = _within(ARRIVE_S, partial(self._client.run, _prober(), on_error="return"))
        except TimeoutError as error:
            raise self._gone(str(error)) from None
        wrong = []
        for worker, has in sorted(found.items()):
            if isinstance(has, BaseException) or has is None:
                wrong.append(f"The worker {worker} has no engine ({has}): install the same build of Evenflow there.")
            elif has != engine:
                wrong.append(foreign(worker, has, engine))
        if wrong:
            more = f"\n… and {len(wrong) - 5} more workers" if len(wrong) > 5 else ""
            raise EvenflowError("\n".join(wrong[:5]) + more)


def _require_scheduler(address: str) -> None:
    """Check with a plain connection that a Dask scheduler listens.

    Dask's client waits for an answer indefinitely, and reads the first bytes of another program as a length.

    Raises:
        EvenflowError: no Dask scheduler listens.
    """
    host, _, port = address.rpartition(":")
    to = (host.strip("[]"), int(port))
    try:
        # name resolution has no timeout
        with _within(2 * REACH_S, partial(socket.create_connection, to, timeout=REACH_S)) as connection:
            connection.settimeout(GREET_S)
            try:
                greeting = _within(GREET_S, partial(_greeting, connection))
            except TimeoutError:
                raise _absent(address, f"the program there does not answer within {GREET_S:g} s") from None
    except socket.gaierror:
        raise _absent(address, "unknown host") from None
    except OSError as error:
        raise _absent(address, error.strerror or first_line(error)) from None
    if b"compression" not in greeting:
        raise _absent(address, "another program answers there")


MOST_GREETING = 2**16


def _greeting(connection: socket.socket) -> bytes:
    """A Dask server's greeting, after its length: the frames' lengths, the serialization and the compression. Empty if
    it is another message."""
    with connection.makefile("rb") as stream:
        head = stream.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        return stream.read(size) if 8 <= size <= MOST_GREETING else b""


def _absent(address: str, why: str) -> EvenflowError:
    port = address.rpartition(":")[2]
    return EvenflowError(
        f"No Dask scheduler answers at {address} ({why}). Start one there: dask scheduler --port {port}"
    )


def _within(seconds: float | None, work: Callable[[], Any]) -> Any:
    """The result of work that has no timeout. It runs in a thread, which is abandoned if it takes longer.

    Raises:
        TimeoutError: it takes longer.
        BaseException: of the work.
    """
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="evenflow-dask").start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"no answer within {seconds:g} s") from None


def _connected(distributed: Any, address: str) -> Any:
    """A client of a scheduler.

    Raises:
        EvenflowError: no scheduler answers.
    """
    _require_scheduler(address)
    make = partial(distributed.Client, f"tcp://{address}", timeout=CONNECT_S, set_as_default=False)
    try:
        return _within(CONNECT_S + REACH_S, make)
    except (Exception, CancelledError) as error:  # also MemoryError: Dask believes any length that it receives
        why = first_line(error)
    gc.collect()  # the failed client logs errors when it is deleted: now its loggers are off
    raise _absent(address, why)


def _prober() -> Callable[[], str]:
    """A function that asks a worker for its engine. Nested functions travel as code: Evenflow may be missing."""

    def engine() -> str:
        from evenflow import _core

        return str(_core.ENGINE_ID)

    return engine


WORKER_BYTES = 100 * 10**6
"""Memory of a worker process before its first run: Python, Dask and the engine."""


def _require_room(workers: int) -> None:
    """Refuse more workers on this machine than it has memory for, before the first is started.

    Raises:
        EvenflowError: says how many would fit.
    """
    free = available_memory()
    if free is None or workers * WORKER_BYTES <= free:
        return
    fits = free // WORKER_BYTES
    raise EvenflowError(
        f"{counted(workers, 'worker')} on this machine would take about {size(workers * WORKER_BYTES)} of memory "
        f"before the first run; {size(free)} are free. " + (f"Use dask-local:{fits}." if fits else "Not one would fit.")
    )


_NO_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For workers on this process's terminal: only this process handles Ctrl-C."""


@contextlib.contextmanager
def _tracked_in_silence() -> Iterator[None]:
    """Turn off the warnings of Python's resource tracker, which inherits these options: after SIGTERM it would warn
    of each semaphore that it removes."""
    option = "ignore:resource_tracker"
    sys.warnoptions.append(option)
    try:
        yield
    finally:
        sys.warnoptions.remove(option)


def _started(start: Callable[[], Any]) -> Any:
    """Run `start` in a thread that blocks SIGINT, so that its threads and processes block it too.

    A worker that receives Ctrl-C during its imports leaves a traceback.

    Raises:
        EvenflowError: it does not start.
    """
    abandoned = threading.Event()

    def work() -> Any:
        if hasattr(signal, "pthread_sigmask"):
            with _tracked_in_silence():
                resource_tracker.ensure_running()  # it unblocks SIGINT after its start
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        cluster = start()
        if abandoned.is_set():
            cluster.close()
        return cluster

    try:
        return _within(None, work)
    except (OSError, RuntimeError, TimeoutError) as error:
        raise EvenflowError(f"The Dask cluster on this machine did not start ({first_line(error)}).") from None
    finally:
        abandoned.set()


def _local(to: Place, stack: contextlib.ExitStack, distributed: Any) -> tuple[Any, int]:
    """A client of a cluster on this machine, and the number of its workers."""
    count = default_jobs() if to.workers is None else to.workers
    _require_room(count)
    scratch = tempfile.TemporaryDirectory(prefix="evenflow-dask-", ignore_cleanup_errors=True)
    start = partial(
        distributed.LocalCluster,
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # a run's memory is estimated before it starts
        local_directory=stack.enter_context(scratch),
        preload=[_NO_INTERRUPT],
        silence_logs=logging.CRITICAL,
    )
    cluster = stack.enter_context(contextlib.closing(_started(start)))
    return stack.enter_context(distributed.Client(cluster, set_as_default=False)), count


@contextlib.contextmanager
def dask(to: Place) -> Iterator[Scheduler]:
    """The workers of a running scheduler, or of a local one. See `cluster.workers`."""
    distributed = package("distributed", "dask", to.kind)
    from .. import _core

    with _silent(), contextlib.ExitStack() as stack:
        if to.kind == "dask-local":
            where = "The Dask cluster on this machine"
            client, count = _local(to, stack, distributed)
        else:
            where, count = f"The Dask scheduler {to.address}", 1
            client = _connected(distributed, to.address)
            stack.callback(_close, client)
        try:
            client.wait_for_workers(count, timeout=ARRIVE_S)
        except TimeoutError:
            raise EvenflowError(
                f"{where} has no workers after {ARRIVE_S:.0f} s. Start some, for instance: "
                f"dask worker tcp://{to.address or 'HOST:PORT'} --nthreads 1 --nworkers auto"
            ) from None
        found = stack.enter_context(contextlib.closing(DaskWorkers(client, where)))
        found.on_this_machine = count if to.kind == "dask-local" else 0
        found.greet(_core.ENGINE_ID)
        yield found


def _close(client: Any) -> None:
    with contextlib.suppress(TimeoutError):
        _within(STOP_S, client.close)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Turn off Dask's own messages, and the tracebacks of connections that end."""
    names = [name for name in logging.Logger.manager.loggerDict if name.startswith(("distributed", "tornado"))]
    before = [(logger, logger.level) for logger in map(logging.getLogger, [*names, "asyncio"])]
    for logger, _ in before:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
