"""Evenflow: a packet-level laboratory. When a network is full, who gets the bandwidth, and what does it feel like
to them?

>>> import evenflow as ef
>>> scenario = ef.load("examples/scenarios/abc-default.toml")
>>> ef.run(scenario, seed=1).metric("groups.light.throughput_bps")  # doctest: +SKIP

A `Scenario` is data. A run of it with a seed gives a `Record`. A `Study` is many runs, read as a `Table`. A `Claim` is
a published statement judged on tables. Heavy libraries are imported when first needed.
"""

from __future__ import annotations

from . import interrupts  # isort: skip  # noqa: F401  (first: after it Ctrl-C leaves no traceback)

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import EvenflowError, Interrupted, NotYetKnown, ScenarioError, StoreError, UsageError

# `mechanism`, `run`, `study` and `theory` are modules and functions. Importing the modules here, before the functions
# are defined, settles whose the names are: a later `import evenflow.study` finds its module loaded and binds nothing.
from .mechanism import Mechanism, describe, mechanism
from .run.record import Record
from .scenario import Scenario
from .study import Point, Precision, Run, Study, Table, run_study
from .theory import Prediction

if TYPE_CHECKING:
    from . import papers, qoe, stats
    from .judge import claims, paper
    from .run.cluster import workers
    from .run.sender import Sender, sender
    from .run.store import Store
    from .run.tunnels import tunnel_table
    from .scenario import types
    from .scenario.lte import lte
    from .show import plots
    from .show.explain import explain
    from .theory import marking

__all__ = [
    "EvenflowError",
    "Interrupted",
    "Mechanism",
    "NotYetKnown",
    "Point",
    "Precision",
    "Prediction",
    "Record",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sender",
    "Store",
    "StoreError",
    "Study",
    "Table",
    "UsageError",
    "__version__",
    "claims",
    "describe",
    "explain",
    "load",
    "lte",
    "marking",
    "mechanism",
    "open",
    "paper",
    "papers",
    "plots",
    "qoe",
    "run",
    "run_study",
    "sender",
    "stats",
    "study",
    "theory",
    "tunnel_table",
    "types",
    "workers",
]

_MODULES = frozenset({"claims", "marking", "paper", "papers", "plots", "qoe", "stats", "types"})


def __getattr__(name: str) -> Any:
    if name == "Store":
        from .run.store import Store

        return Store
    if name in ("Sender", "sender"):
        from .run import sender as module

        return getattr(module, name)
    if name == "explain":
        from .show.explain import explain

        return explain
    if name == "lte":
        from .scenario.lte import lte

        return lte
    if name == "tunnel_table":
        from .run.tunnels import tunnel_table

        return tunnel_table
    if name == "workers":
        from .run.cluster import workers

        return workers
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        from ._core import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load(path: str | Path) -> Scenario:
    """Read a scenario file (`Scenario.load`)."""
    return Scenario.load(path)


def run(scenario: Scenario | str | Path | Mapping[str, Any], seed: int = 1) -> Record:
    """One run of a scenario, a scenario file or a tree. Same inputs, same record, on any machine."""
    return _scenario(scenario).run(seed)


def open(path: str | Path) -> Table | Record:
    """Finished work: a study's `Table` from the folder that `evenflow study` wrote (out/STUDY), or a run's `Record`
    from that of `evenflow run --out`.

    >>> ef.open("out/abc-default").plot("utilisation")  # doctest: +SKIP
    """
    from .run.saved import open_

    return open_(path)


def study(
    scenario: Scenario | str | Path | Mapping[str, Any] | Study,
    *,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    store: Store | str | Path | bool | None = None,
    **options: Any,
) -> Table:
    """Run a scenario's `[sweep]`, or a ready `Study`, and return its table.

    Args:
        replications: seeds 1…n for every point; default: the file's, else 10.
        settings: dotted path -> value, as `--set`: changes the scenario and pins swept paths.
        store: run store or its folder, so that no run is computed twice; default: the command line's store
            (`EVENFLOW_STORE`, else `./out/store`). False: runs are kept in memory only.
        options: of `run_study`: `jobs`, `executor` (from `evenflow.workers`, for other machines), `progress`,
            `on_run`, `precision`.
    """
    if isinstance(scenario, Study):
        planned = scenario
    else:
        base = _scenario(scenario).with_settings(settings or {})
        planned = Study.from_scenario(base, replications, settings)
    if store is False:
        return run_study(planned, store=None, **options)
    if store is None or store is True or isinstance(store, (str, Path)):
        from .run.store import Store as RunStore

        with RunStore(None if store is None or store is True else store) as opened:
            return run_study(planned, store=opened, **options)
    return run_study(planned, store=store, **options)


def theory(
    scenario: Scenario | str | Path | Mapping[str, Any],
    *,
    composed: bool = False,
    measure: bool = True,
    store: Store | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> Prediction:
    """The fluid model's prediction for a scenario of weighted windows and marking links.

    Two columns have rates, windows, prices and utilisation in equilibrium: pure, and corrected for whole packets and
    queueing. The prediction also has stability (docs/theory.md).

    Args:
        composed: in the corrected column, marks of several links on one packet count as one mark. Kelly's model adds
            the prices of the links.
        measure: measure the curve of a RED or virtual queue where none is known, in about 80 runs on a single link.
            The curve is then kept in the store.
        store: where those runs and curves are kept; default for curves: `EVENFLOW_STORE`, else `./out/store`.
        jobs, progress: of that study.

    Raises:
        ScenarioError: not valid, or with something that the model has not, such as CUBIC; every problem at once.
        UsageError: a curve is not known, and `measure` is false.
    """
    from .theory.prediction import predict

    return predict(_scenario(scenario), composed=composed, measure=measure, store=store, jobs=jobs, progress=progress)


def _scenario(given: Scenario | str | Path | Mapping[str, Any]) -> Scenario:
    if isinstance(given, Scenario):
        return given
    return Scenario(given) if isinstance(given, Mapping) else Scenario.load(given)
