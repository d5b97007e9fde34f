"""Workers beyond this process: a Dask cluster, Dask workers on this machine, or SLURM jobs (docs/cluster.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .place import Place, place

if TYPE_CHECKING:
    from .scheduler import Scheduler

MOST_JOBS = 64
"""SLURM jobs at a time, unless `--jobs` sets another number."""


@contextlib.contextmanager
def workers(on: str | Place, *, jobs: int | None = None, folder: Path | None = None) -> Iterator[Scheduler]:
    """Workers for `run_study(…, executor=…)`, released at the end of the block.

    Args:
        on: dask://HOST:PORT, dask-local[:WORKERS] or slurm[:PARTITION].
        jobs: SLURM jobs at a time; default: 64.
        folder: of the SLURM jobs' results, on a filesystem of all machines. Default: the run store's folder.

    Raises:
        UsageError: `on` is none of these, or `jobs` does not go with it.
        EvenflowError: a package is missing, the cluster does not answer, or a worker has another engine.
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
