"""The workers of a Dask scheduler: one that is there (dask://HOST:PORT), or one of this machine (dask-local:4)."""

from __future__ import annotations

import contextlib
import importlib
import logging
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from ..errors import EvenflowError
from .cluster import Place, Workers, cancel_batches, first_line, foreign, package

CONNECT_S = 10.0
"""How long a scheduler may take to answer."""
ARRIVE_S = 30.0
"""How long to wait for the first worker."""
STOP_S = 5.0
"""How long workers may take to hear of the end."""
ABSENT_S = 120.0
"""How long a study goes on waiting when all workers are gone."""
LOOK_S = 1.0
"""Between two counts of the workers."""


class DaskWorkers(Workers):
    """The workers of a Dask scheduler, as many runs at once as they have threads."""

    def __init__(self, client: Any, where: str) -> None:
        super().__init__()
        self.study = secrets.token_hex(8)
        self._client = client
        self._where = where
        self._executor = client.get_executor(pure=False)
        self._slots = 0
        self._looked = float("-inf")
        self._seen = time.monotonic()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As `Executor.submit`."""
        future: Future[Any] = self._executor.submit(fn, *args, **kwargs)
        return future

    def slots(self) -> int:
        """How many threads the workers have at present."""
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            try:
                self._slots = sum(self._client.nthreads().values())
            except (OSError, TimeoutError, CancelledError) as error:
                raise self._gone(error) from None
            self._looked = time.monotonic()
            if self._slots:
                self._seen = self._looked
            elif self._looked - self._seen > ABSENT_S:
                raise EvenflowError(
                    f"{self._where} has had no worker for {ABSENT_S:.0f} s. Start workers there, then run the same "
                    "command again to go on."
                )
        return self._slots

    def _gone(self, error: BaseException) -> EvenflowError:
        why = f" ({error})" if str(error) else ""
        return EvenflowError(
            f"{self._where} does not answer any more{why}. Start the scheduler and its workers, then run the same "
            "command again to go on."
        )

    def lost(self, error: BaseException) -> str | None:
        """Dask tries a batch anew by itself, on several workers; what it gave up comes here."""
        killed = importlib.import_module("distributed").KilledWorker
        return "the workers that computed it died" if isinstance(error, killed) else None

    def explained(self, error: BaseException) -> BaseException:
        """A batch's error as a sentence."""
        return self._gone(error) if isinstance(error, CancelledError) else super().explained(error)

    def stop(self) -> None:
        """Tell the workers to end this study's batches, if they can be reached."""

        def tell() -> None:
            with contextlib.suppress(BaseException):
                self._client.run(cancel_batches, self.study, on_error="return")

        telling = threading.Thread(target=tell, daemon=True, name="evenflow-cancel")
        telling.start()
        telling.join(STOP_S)

    def require_engine(self, engine: str) -> None:
        """Refuse workers of another engine.

        Raises:
            EvenflowError: names them all.
        """
        found = self._client.run(_prober(), on_error="return")
        wrong = []
        for worker, has in sorted(found.items()):
            if isinstance(has, BaseException) or has is None:
                wrong.append(f"The worker {worker} has no engine ({has}): install the same build of Evenflow there.")
            elif has != engine:
                wrong.append(foreign(worker, has, engine))
        if wrong:
            more = f"\n… and {len(wrong) - 5} more workers" if len(wrong) > 5 else ""
            raise EvenflowError("\n".join(wrong[:5]) + more)


def _prober() -> Callable[[], str]:
    """What asks a worker for its engine. A function within a function travels whole: Evenflow may be missing there."""

    def engine() -> str:
        from evenflow import _core

        return str(_core.ENGINE_ID)

    return engine


_NO_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For workers that share this process's terminal: it is this process that hears Ctrl-C."""


@contextlib.contextmanager
def _undisturbed(start: Callable[[], Any]) -> Iterator[Any]:
    """What is started, in a thread that does not hear Ctrl-C, so that the threads and processes which it starts do not
    either: a worker that hears it while it imports leaves a traceback, and the cluster another.

    Raises:
        EvenflowError: it does not start.
    """
    done: Future[Any] = Future()

    def work() -> None:
        try:
            if hasattr(signal, "pthread_sigmask"):
                resource_tracker.ensure_running()  # where it starts, SIGINT is no longer blocked afterwards
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            done.set_result(start())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True, name="evenflow-dask").start()
    try:
        cluster = done.result()
    except KeyboardInterrupt:
        with contextlib.suppress(Exception):  # what is half started cannot be closed
            done.result(ARRIVE_S).close()
        raise
    except (OSError, RuntimeError, TimeoutError) as error:
        raise EvenflowError(f"The Dask cluster on this machine did not start ({first_line(error)}).") from None
    try:
        yield cluster
    finally:
        cluster.close()


@contextlib.contextmanager
def dask(to: Place) -> Iterator[Workers]:
    """The workers of a scheduler, or of one that is started here. See `cluster.workers`."""
    distributed = package("distributed", "dask", to.kind)
    from .. import _core
    from .study import default_jobs

    with _silent(), contextlib.ExitStack() as stack:
        if to.kind == "dask-local":
            where = "The Dask cluster on this machine"
            count = default_jobs() if to.workers is None else to.workers
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
            cluster = stack.enter_context(_undisturbed(start))
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        else:
            where, count = f"The Dask scheduler {to.address}", 1
            try:
                client = distributed.Client(f"tcp://{to.address}", timeout=CONNECT_S, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                port = to.address.rpartition(":")[2]
                raise EvenflowError(
                    f"No Dask scheduler answers at {to.address} ({first_line(error)}). "
                    f"Start one there: dask scheduler --port {port}"
                ) from None
            stack.enter_context(client)
        try:
            client.wait_for_workers(count, timeout=ARRIVE_S)
        except TimeoutError:
            raise EvenflowError(
                f"{where} has no workers after {ARRIVE_S:.0f} s. Start some, for instance: "
                f"dask worker tcp://{to.address or 'HOST:PORT'} --nthreads 1 --nworkers auto"
            ) from None
        found = DaskWorkers(client, where)
        found.on_this_machine = count if to.kind == "dask-local" else 0
        found.require_engine(_core.ENGINE_ID)
        yield found


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Dask's own messages, and tracebacks of connections that end, are not for the terminal."""
    before = {name: logging.getLogger(name).level for name in ("distributed", "tornado", "asyncio")}
    try:
        for name in before:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        with contextlib.suppress(ImportError):  # its loggers have levels of their own, set at import
            importlib.import_module("distributed")
            for name in list(logging.Logger.manager.loggerDict):
                if name.startswith(("distributed", "tornado")):
                    before.setdefault(name, logging.getLogger(name).level)
                    logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
