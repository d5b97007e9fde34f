"""The only caller of the core's `run`: in a thread, in another process or on another machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted, OutOfMemory, RunError, UsageError, is_panic
from ..scenario.scenario import Scenario, available_memory, require_memory
from .record import Record

if TYPE_CHECKING:
    from .. import _core


@dataclass(frozen=True)
class Result:
    """A finished run as texts and bytes, for transport between processes."""

    text: str
    record_hash: str
    engine: str
    series: dict[str, tuple[bytes, bytes]]

    def record(self) -> Record:
        """The run's record."""
        return Record(self.text, self.record_hash, self.series)


LARGEST_SEED = 2**63 - 1


def checked_seed(seed: Any) -> int:
    """The seed of a run as an int.

    Raises:
        UsageError: it is not one.
    """
    try:
        found = index(seed)
    except TypeError:
        found = -1
    if not 0 <= found <= LARGEST_SEED:
        raise UsageError(f"seed {seed!r}: a seed is a whole number from 0 to {LARGEST_SEED}.")
    return found


@lru_cache(maxsize=256)
def _decoded(tree_json: str) -> _core.Scenario:
    from .. import _core

    return _core.Scenario(tree_json)


def execute(tree_json: str, seed: int, memory: int | None = None) -> Result:
    """One run from a scenario's JSON text. This function is submitted to executors.

    Args:
        memory: bytes that the run may use; default: those that are free.

    Raises:
        Interrupted: `request_stop` was called.
        OutOfMemory: the run would use more.
        RunError: a stage held packets indefinitely, a trace grew too long, or an invariant broke (a defect).
    """
    from .. import _core

    try:
        done = _core.run(_decoded(tree_json), seed, available_memory() if memory is None else memory)
    except _core.Interrupted:
        raise Interrupted("The run was stopped.") from None
    except (_core.StageError, _core.OutOfMemory) as error:
        title = json.loads(tree_json).get("title", "untitled")
        kind = OutOfMemory if isinstance(error, _core.OutOfMemory) else RunError
        raise kind(f"“{title}”, seed {seed}: {error}.") from None
    except RuntimeError as error:
        title = json.loads(tree_json).get("title", "untitled")
        raise RunError(
            f"The engine stopped itself in “{title}”, seed {seed}: {error}. This is a defect; please report it."
        ) from error
    except BaseException as error:
        # A panic would end a study or a notebook's cell with a traceback.
        if not is_panic(error):
            raise
        title = json.loads(tree_json).get("title", "untitled")
        raise RunError(
            f"The engine broke in “{title}”, seed {seed}: {error}. This is a defect; please report it."
        ) from None
    series = {name: done.series(name) for name in done.series_names}
    return Result(done.json, done.record_hash, _core.ENGINE_ID, series)


POLL_S = 0.2
"""Time between two updates of the progress bar."""


def run_here(scenario: Scenario, seed: int, *, progress: bool = False) -> Record:
    """One run in a worker thread, so that the main thread can handle Ctrl-C.

    Args:
        progress: a bar on the terminal after two seconds.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    from .. import _core
    from .progress import RunBar

    seed = checked_seed(seed)
    scenario.core  # noqa: B018  (raises with every error before anything starts)
    require_memory(scenario)
    tree = scenario.without_sweep().to_json()
    pool = ThreadPoolExecutor(1, thread_name_prefix="evenflow")
    try:
        future = pool.submit(execute, tree, seed)
        with RunBar(scenario.core.duration_s, progress) as bar:
            while wait([future], POLL_S if bar.wanted else None).not_done:
                bar.show(_core.reached_s())
        record = future.result().record()
        record.scenario = scenario
        return record
    except KeyboardInterrupt:
        _core.request_stop()
        raise Interrupted("Interrupted: the run was not finished and nothing of it is kept. Start it again.") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        _core.clear_stop()
