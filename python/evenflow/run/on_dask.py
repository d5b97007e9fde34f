"""The workers of a Dask scheduler: one that is there (dask://HOST:PORT), or one of this machine (dask-local:4)."""

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
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from ..errors import EvenflowError
from ..scenario.scenario import available_memory
from ..words import counted, size
from .cluster import Place, Workers, cancel_batches, first_line, foreign, package

REACH_S = 2.0
"""How long the host of a scheduler may take to be found and to take a connection."""
GREET_S = 5.0
"""How long a scheduler may take to say that it is one, which it does unasked."""
CONNECT_S = 10.0
"""How long a scheduler may take to make the connection for a study."""
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


def _require_scheduler(address: str) -> None:
    """Look who is there with a plain connection: Dask itself waits for an answer without an end, takes the first bytes
    of any other program for a length, and asks again and again where nobody listens.

    Raises:
        EvenflowError: it is no Dask scheduler, or nobody.
    """
    host, _, port = address.rpartition(":")

    def reach() -> socket.socket:
        return socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S)

    try:
        # the search for a host's name has no limit of its own
        connection = _within(2 * REACH_S, reach)
    except socket.gaierror:
        raise _nobody(address, "there is no such host") from None
    except OSError as error:
        raise _nobody(address, first_line(error) if error.strerror is None else error.strerror) from None
    with connection:
        try:
            greeting = _greeting(connection, time.monotonic() + GREET_S)
        except TimeoutError:
            raise _nobody(address, f"what listens there says nothing within {GREET_S:g} s") from None
        except OSError as error:
            raise _nobody(address, error.strerror or first_line(error)) from None
    if greeting is None:
        raise _nobody(address, "what answers there is another program")


MOST_GREETING = 2**16


def _greeting(connection: socket.socket, until: float) -> bytes | None:
    """What a Dask server says first: the length, the number of frames, their lengths, and how it packs and compresses.
    None if it is something else.

    Raises:
        TimeoutError: it is not there in time.
    """

    def read(count: int) -> bytes:
        found = b""
        while len(found) < count:
            connection.settimeout(max(until - time.monotonic(), 1e-3))
            part = connection.recv(count - len(found))
            if not part:
                break
            found += part
        return found

    head = read(8)
    size = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
    if not 8 <= size <= MOST_GREETING:
        return None
    body = read(size)
    return body if len(body) == size and b"compression" in body else None


def _nobody(address: str, why: str) -> EvenflowError:
    port = address.rpartition(":")[2]
    return EvenflowError(
        f"No Dask scheduler answers at {address} ({why}). Start one there: dask scheduler --port {port}"
    )


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What work gives, which has no limit of its own and is left alone if it takes longer.

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

    threading.Thread(target=run, daemon=True, name="evenflow-connect").start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"no answer within {seconds:g} s") from None


def _connected(distributed: Any, address: str) -> Any:
    """A client of a scheduler.

    Raises:
        EvenflowError: nobody answers, or not as a scheduler does.
    """
    _require_scheduler(address)
    make = partial(distributed.Client, f"tcp://{address}", timeout=CONNECT_S, set_as_default=False)
    try:
        return _within(CONNECT_S + REACH_S, make)
    except (Exception, CancelledError) as error:  # a MemoryError too: Dask believes any length that it is told
        why = first_line(error)
    gc.collect()  # the client that was not made complains as it goes: here nobody hears it
    raise _nobody(address, why)


def _prober() -> Callable[[], str]:
    """What asks a worker for its engine. A function within a function travels whole: Evenflow may be missing there."""

    def engine() -> str:
        from evenflow import _core

        return str(_core.ENGINE_ID)

    return engine


WORKER_BYTES = 100 * 10**6
"""What a worker process takes before its first run: Python, Dask and the engine."""


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
"""For workers that share this process's terminal: it is this process that hears Ctrl-C."""


@contextlib.contextmanager
def _tracked_in_silence() -> Iterator[None]:
    """Python's process that removes what a killed one has left takes over the options for warnings: it warns of what
    it removes, which is no news to whoever killed it."""
    option = "ignore:resource_tracker"
    sys.warnoptions.append(option)
    try:
        yield
    finally:
        sys.warnoptions.remove(option)


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
                with _tracked_in_silence():
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
            cluster = stack.enter_context(_undisturbed(start))
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        else:
            where, count = f"The Dask scheduler {to.address}", 1
            client = stack.enter_context(_connected(distributed, to.address))
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
    hook = sys.unraisablehook

    def unraisable(what: sys.UnraisableHookArgs, /) -> None:
        """A client that was never connected fails again when it goes."""
        if "distributed" not in str(getattr(what.object, "__module__", "")):
            hook(what)

    sys.unraisablehook = unraisable
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
        sys.unraisablehook = hook
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
