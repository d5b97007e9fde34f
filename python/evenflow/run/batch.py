"""A batch of runs on a worker: a thread, a process of another machine, or a SLURM job.

The job's program is `python -m evenflow.run.batch FILE`. Its batch and its result are JSON files, which cannot execute
code. A result begins with a line that has the SHA-256 of the rest, and appears under its name when it is complete.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import EvenflowError, Interrupted, is_panic
from ..scenario.scenario import require_bytes
from .engine import Result, _decoded, execute

RESULT = ".result"

Timed: TypeAlias = "tuple[Result | EvenflowError, float]"
"""A run's result or error, and how long it took, in s."""


class _Active:
    """The running batches of this worker process by study, so that a cancelled study ends immediately."""

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


def execute_batch(
    jobs: Sequence[tuple[str, int]], engine: str, study: str = "", memory: int | None = None
) -> list[Timed]:
    """Compute runs, one after the other. This function is submitted to workers.

    Args:
        jobs: (scenario's JSON text, seed).
        engine: id of the engine that this worker must have.
        study: for `cancel_batches`.
        memory: bytes that each run may use; default: those that are free on this machine.

    Returns:
        An outcome for each run, in order; fewer if the study was cancelled.

    Raises:
        EvenflowError: this worker has another engine.
    """
    from .. import _core

    if engine != _core.ENGINE_ID:
        raise EvenflowError(foreign(socket.gethostname(), _core.ENGINE_ID, engine))
    found: list[Timed] = []
    with _active.one(study):
        for tree, seed in jobs:
            if study in _active.cancelled:
                break
            started = time.perf_counter()
            outcome: Result | EvenflowError
            try:
                if memory is None:
                    _require_memory(tree)
                outcome = execute(tree, seed, memory)
            except Interrupted as error:
                outcome = error
            except EvenflowError as error:  # only the sentence: other arguments may not be serializable
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
        # `execute` raises it again and reports it.


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


# --- files of SLURM jobs


def write_batch(path: Path, runs: Sequence[tuple[str, int]], engine: str) -> None:
    """Write a batch: (scenario's JSON text, seed) of each run."""
    trees = list(dict.fromkeys(tree for tree, _ in runs))
    number = {tree: index for index, tree in enumerate(trees)}
    document = {"engine": engine, "trees": trees, "runs": [(number[tree], seed) for tree, seed in runs]}
    path.write_text(json.dumps(document), encoding="utf-8")


def read_result(path: Path) -> list[Timed] | EvenflowError:
    """The outcomes of a batch, or the error of the whole batch.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged or incomplete.
    """
    digest, _, body = path.read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(f"{path} is damaged")
    document = json.loads(body)
    if "failed" in document:
        return EvenflowError(document["failed"])
    return [(_outcome(entry), float(entry["seconds"])) for entry in document["runs"]]


def _outcome(entry: dict[str, Any]) -> Result | EvenflowError:
    if "error" in entry:
        return (Interrupted if entry["interrupted"] else EvenflowError)(entry["error"])
    series = {name: (base64.b64decode(t), base64.b64decode(v)) for name, (t, v) in entry["series"].items()}
    return Result(entry["text"], entry["record_hash"], entry["engine"], series)


def _entry(outcome: Result | EvenflowError, seconds: float) -> dict[str, Any]:
    if isinstance(outcome, EvenflowError):
        return {"error": str(outcome), "interrupted": isinstance(outcome, Interrupted), "seconds": seconds}
    series = {name: [base64.b64encode(part).decode() for part in parts] for name, parts in outcome.series.items()}
    return {
        "text": outcome.text,
        "record_hash": outcome.record_hash,
        "engine": outcome.engine,
        "series": series,
        "seconds": seconds,
    }


def main(path: Path) -> None:
    """Compute the batch of a file and write its result next to it."""
    batch = json.loads(path.read_text(encoding="utf-8"))
    document: dict[str, Any]
    try:
        runs = [(batch["trees"][tree], seed) for tree, seed in batch["runs"]]
        document = {"runs": [_entry(*timed) for timed in execute_batch(runs, batch["engine"])]}
    except EvenflowError as error:
        document = {"failed": str(error)}
    except Exception as error:
        document = {"failed": f"A worker failed: {type(error).__name__}: {error}"}
    body = json.dumps(document).encode()
    hidden = path.with_suffix(f".{os.getpid()}.part")
    with open(hidden, "wb") as file:
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path.with_suffix(RESULT))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
