"""Workers beyond this process: a Dask cluster, Dask workers on this machine, or jobs of SLURM (docs/cluster.md).

Each is a `concurrent.futures.Executor` that also says how many runs it can do at once and which of its errors mean that
a worker was lost. Work goes out in batches of runs; what a batch costs is measured, and the next ones are sized by it.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EvenflowError, Interrupted, UsageError, is_panic, nearest
from ..scenario.scenario import require_bytes
from .engine import Result, _decoded, execute

__all__ = ["FORMS", "Place", "Workers", "execute_batch", "place", "workers"]

FORMS = "dask://HOST:PORT, dask-local[:WORKERS], slurm[:PARTITION]"
MOST_LOCAL = 1024
MOST_JOBS = 64
"""SLURM jobs at once, unless `--jobs` says otherwise."""

Outcome = tuple[Result | EvenflowError, float]
"""A run's result, or what went wrong with it; and how long it took, in s."""


# --- what runs on a worker


class _Active:
    """The batches under way in this worker's process, by study, so that a cancelled study ends at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.batches: Counter[str] = Counter()
        self.cancelled: set[str] = set()

    @contextlib.contextmanager
    def one(self, study: str) -> Iterator[None]:
        from .. import _core

        with self.lock:
            self.batches[study] += 1
        try:
            yield
        finally:
            with self.lock:
                self.batches -= Counter({study: 1})
                if study in self.cancelled and not self.batches:
                    _core.clear_stop()


_active = _Active()


def execute_batch(jobs: Sequence[tuple[str, int]], engine: str, study: str = "") -> list[Outcome]:
    """Runs, one after the other: what is submitted to workers.

    Args:
        jobs: (scenario's JSON text, seed).
        engine: the engine id that this worker must have.
        study: whose runs they are, for `cancel_batches`.

    Returns:
        An outcome for each run, in order; fewer if the study was cancelled.

    Raises:
        EvenflowError: this worker has another engine.
    """
    from .. import _core

    if engine != _core.ENGINE_ID:
        raise EvenflowError(foreign(socket.gethostname(), _core.ENGINE_ID, engine))
    found: list[Outcome] = []
    with _active.one(study):
        for tree, seed in jobs:
            if study in _active.cancelled:
                break
            started = time.perf_counter()
            outcome: Result | EvenflowError
            try:
                _require_memory(tree)
                outcome = execute(tree, seed)
            except Interrupted as error:
                outcome = error
            except EvenflowError as error:  # as a sentence: other arguments may not survive the way back
                outcome = EvenflowError(str(error))
            found.append((outcome, time.perf_counter() - started))
    return found


def _require_memory(tree: str) -> None:
    try:
        require_bytes(_decoded(tree).memory_bytes)
    except EvenflowError as error:
        raise EvenflowError(f"On the worker {socket.gethostname()}: {error}") from None
    except BaseException as error:
        if not is_panic(error):
            raise
        # `execute` meets it again, and says it.


def cancel_batches(study: str) -> None:
    """End a study's batches in this process: at once if no other study runs here, else after the run under way."""
    from .. import _core

    with _active.lock:
        _active.cancelled.add(study)
        if set(_active.batches) == {study}:
            _core.request_stop()


def foreign(where: str, found: str, wanted: str) -> str:
    """The sentence for a worker of another engine."""
    return (
        f"The worker on {where} runs another engine ({found}) than this process ({wanted}): "
        "install the same build on both, then run the same command again."
    )


# --- where to


@dataclass(frozen=True)
class Place:
    """Where runs are computed, as `--on` says it."""

    kind: str
    """dask, dask-local or slurm."""
    address: str = ""
    """Of a Dask scheduler, HOST:PORT."""
    workers: int | None = None
    """Of dask-local; None: one a core."""
    partition: str = ""
    """Of SLURM; empty: the default one."""


_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?):([0-9]{1,5})")
_PARTITION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,-]*")


def place(text: str, jobs: int | None = None) -> Place:
    """Read what `--on` says.

    Args:
        jobs: of `--jobs`, which goes with SLURM only.

    Raises:
        UsageError: it is none of `FORMS`, with the nearest that is; or `jobs` does not go with it.
    """
    found = _read(text)
    if found is None:
        guess = _nearest_form(text)
        raise UsageError(f"“{text}” is not a place to run on. Did you mean “{guess}”? There are: {FORMS}.")
    if jobs is not None and found.kind != "slurm":
        instead = "dask-local:N says how many workers" if found.kind == "dask-local" else "the cluster says how many"
        raise UsageError(f"--jobs does not go with {found.kind}: {instead}. Leave --jobs out.")
    return found


def _read(text: str) -> Place | None:
    kind, colon, rest = text.partition(":")
    if kind == "dask" and rest.startswith("//"):
        match = _HOST_PORT.fullmatch(rest[2:])
        if match is not None and 1 <= int(match[2]) <= 65535:
            return Place("dask", address=rest[2:])
    elif kind == "dask-local":
        if not colon:
            return Place("dask-local")
        if rest.isascii() and rest.isdigit() and len(rest) <= 4 and 1 <= int(rest) <= MOST_LOCAL:
            return Place("dask-local", workers=int(rest))
    elif kind == "slurm" and (not colon or _PARTITION.fullmatch(rest)):
        return Place("slurm", partition=rest)
    return None


def _nearest_form(text: str) -> str:
    """The valid form that is nearest to a text that is none."""
    kind, rest = (part.strip() for part in text.partition(":")[::2])
    bare = rest.strip("/ ")
    address = re.search(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]*[A-Za-z0-9_])(?::(\d+))?(?:/.*)?$", bare)
    guess = nearest(kind, ["dask", "dask-local", "slurm"])
    if guess == "dask" and kind.casefold() != "dask" and bare.isdigit():
        guess = "dask-local"
    if guess is None and (kind.casefold() in ("tcp", "tls", "http", "https") or bare.isdigit()):
        if bare.isdigit() and kind:  # HOST:PORT alone
            address = _HOST_PORT.fullmatch(f"{kind}:{bare}")
        guess = "dask"
    if guess == "slurm":
        return f"slurm:{bare}" if _PARTITION.fullmatch(bare) else "slurm"
    if guess == "dask-local":
        number = int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 10 else 4
        return f"dask-local:{min(max(number, 1), MOST_LOCAL)}"
    if guess == "dask" and address is not None:
        port = int(address[2]) if address[2] and len(address[2]) < 10 else 0
        return f"dask://{address[1]}:{port if 1 <= port <= 65535 else 8786}"
    return "dask://HOST:8786" if guess == "dask" else "dask-local:4"


@contextlib.contextmanager
def workers(on: str | Place, *, jobs: int | None = None, folder: Path | None = None) -> Iterator[Workers]:
    """Workers for `run_study(…, executor=…)`; they are let go at the end.

    Args:
        on: dask://HOST:PORT, dask-local[:WORKERS] or slurm[:PARTITION].
        jobs: for SLURM, how many jobs at once; default: 64.
        folder: for SLURM, where jobs leave their results; all machines must see it. Default: the run store's folder.

    Raises:
        UsageError: `on` is none of these, or `jobs` does not go with it.
        EvenflowError: a package is missing, nobody answers, or a worker has another engine.
    """
    to = place(on, jobs) if isinstance(on, str) else on
    if to.kind == "slurm":
        from .on_slurm import slurm

        with slurm(to, jobs or MOST_JOBS, folder) as found:
            yield found
    else:
        from .on_dask import dask

        with dask(to) as found:
            yield found


class Costs:
    """What runs have cost on the workers, by scenario."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[float, int]] = {}
        self._all = (0.0, 0)

    def learn(self, scenario: str, seconds: float) -> None:
        """A run took so long."""
        spent, runs = self._of.get(scenario, (0.0, 0))
        self._of[scenario] = (spent + seconds, runs + 1)
        self._all = (self._all[0] + seconds, self._all[1] + 1)

    @property
    def mean(self) -> float | None:
        """Of all runs, in s; None if none is known."""
        spent, runs = self._all
        return max(spent / runs, 1e-6) if runs else None

    def of(self, scenario: str) -> float | None:
        """What a run is thought to take, in s: as others of its scenario, else as all; None if none is known."""
        spent, runs = self._of.get(scenario, (0.0, 0))
        return max(spent / runs, 1e-6) if runs else self.mean


class Workers(Executor):
    """An executor whose workers are counted."""

    batch_s = 1.0
    """How long a batch is meant to take."""
    least_s = 0.2
    """The same towards a study's end, and where there are more workers than work: what hands a batch over costs too."""
    ahead = 2
    """Batches for each worker: the one that it computes, and the next."""
    study = ""
    """Tells this process's batches from those of others on the same workers."""
    on_this_machine = 0
    """How many of the runs at once are computed on this machine."""

    def __init__(self) -> None:
        self.costs = Costs()
        """What runs have cost, from one study to the next."""

    def slots(self) -> int:
        """How many runs can be computed at once at present.

        Raises:
            EvenflowError: the workers cannot be reached any more.
        """
        raise NotImplementedError

    def lost(self, error: BaseException) -> str | None:
        """Why a batch was lost with its worker, if it was: then it is computed again. None for other errors."""
        raise NotImplementedError

    def explained(self, error: BaseException) -> BaseException:
        """A batch's error as a sentence."""
        if isinstance(error, EvenflowError):
            return error
        if isinstance(error, CancelledError):
            return EvenflowError("The connection to the workers was lost. Run the same command again to go on.")
        if isinstance(error, ImportError):
            return EvenflowError(f"A worker lacks a package ({error}): install the same build of Evenflow there.")
        return EvenflowError(f"A worker failed: {type(error).__name__}: {error}")

    def stop(self) -> None:
        """End what is under way for this study, as far as it can be reached."""


def package(name: str, extra: str, kind: str) -> Any:
    """Import an optional package. As Any: what it says of its types differs between versions."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EvenflowError(
            f"Running on {kind} needs the package {name}, which is not installed: pip install {name} "
            f"(Evenflow's extra “{extra}”)."
        ) from None


def first_line(error: BaseException) -> str:
    """The first line of what an error says, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
