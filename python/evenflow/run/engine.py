"""The one place that calls the core's `run`: here, in a worker thread, in another process or on another machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import Interrupted, RunError, is_panic
from ..scenario.scenario import Scenario, require_memory
from .record import Record

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .. import _core


@dataclass(frozen=True)
class Result:
    """A finished run as it travels: plain texts and bytes, so that it can be pickled."""

    text: str
    record_hash: str
    engine: str
    series: dict[str, tuple[bytes, bytes]]

    def record(self) -> Record:
        """The run's record."""
        return Record(self.text, self.record_hash, self.series)


@lru_cache(maxsize=256)
def _decoded(tree_json: str) -> _core.Scenario:
    from .. import _core

    return _core.Scenario(tree_json)


def execute(tree_json: str, seed: int) -> Result:
    """One run from a scenario's JSON text: what is submitted to executors (top level and picklable on purpose).

    Raises:
        Interrupted: `request_stop` was called.
        RunError: a stage made the run senseless, as one does that holds packets for ever; a trace grew too long;
            or an invariant of the simulation broke, which please report with the scenario.
    """
    from .. import _core

    try:
        done = _core.run(_decoded(tree_json), seed)
    except _core.Interrupted:
        raise Interrupted("The run was stopped.") from None
    except _core.StageError as error:
        title = json.loads(tree_json).get("title", "untitled")
        raise RunError(f"“{title}”, seed {seed}: {error}.") from None
    except RuntimeError as error:
        title = json.loads(tree_json).get("title", "untitled")
        raise RunError(
            f"The engine stopped itself in “{title}”, seed {seed}: {error}. This is a defect; please report it."
        ) from error
    except BaseException as error:
        # Left alone a panic would end a study or a notebook's cell with a traceback.
        if not is_panic(error):
            raise
        title = json.loads(tree_json).get("title", "untitled")
        raise RunError(
            f"The engine broke in “{title}”, seed {seed}: {error}. This is a defect; please report it."
        ) from None
    series = {name: done.series(name) for name in done.series_names}
    return Result(done.json, done.record_hash, _core.ENGINE_ID, series)


POLL_S = 0.2
"""Between looks at how far a run is."""


def run_here(scenario: Scenario, seed: int, *, progress: bool = False) -> Record:
    """One run in a worker thread, so that the main thread can hear Ctrl-C.

    Args:
        progress: a bar on the terminal, from two seconds on.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    from .. import _core
    from .progress import RunBar

    scenario.core  # noqa: B018  (raises with every error before anything starts)
    require_memory(scenario)
    tree = scenario.without_sweep().to_json()
    pool = ThreadPoolExecutor(1, thread_name_prefix="evenflow")
    try:
        future: Future[Result] = pool.submit(execute, tree, seed)
        try:
            with RunBar(scenario.core.duration_s, progress) as bar:
                while wait([future], POLL_S if bar.wanted else None).not_done:
                    bar.show(_core.reached_s())
            record = future.result().record()
        except KeyboardInterrupt:
            _core.request_stop()
            raise Interrupted(
                "Interrupted: the run was not finished and nothing of it is kept. Start it again."
            ) from None
        record.scenario = scenario
        return record
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        _core.clear_stop()
