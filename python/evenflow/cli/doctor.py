"""Checks of this machine."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from ..errors import EvenflowError
from ..scenario.scenario import available_memory


def examine() -> list[dict[str, str]]:
    """Each check: `what`, `state` (yes, no = optional and absent, bad = needs attention), `found`."""
    return [_python(), _engine(), _cores(), _memory(), _store(), *_extras(), *_simulators()]


def _row(what: str, state: str, found: str) -> dict[str, str]:
    return {"what": what, "state": state, "found": found}


def _python() -> dict[str, str]:
    return _row(
        "Python",
        "yes",
        f"{platform.python_version()} ({sys.implementation.name}) on {platform.system()} {platform.machine()}",
    )


def _engine() -> dict[str, str]:
    try:
        from .. import _core
    except ImportError as error:
        return _row("engine", "bad", f"cannot be imported: {error}. Run `make setup`.")
    slow = _core.BUILD_PROFILE != "release"
    note = "; ten times slower than a release build: run `make setup`" if slow else ""
    return _row(
        "engine",
        "bad" if slow else "yes",
        f"{_core.__version__}, {_core.BUILD_PROFILE} build, id {_core.ENGINE_ID}{note}",
    )


def _cores() -> dict[str, str]:
    from ..run.scheduler import default_jobs

    return _row("parallel runs", "yes", f"{default_jobs()} (one per core)")


def _memory() -> dict[str, str]:
    free = available_memory()
    return _row(
        "free memory", "yes" if free is not None else "no", "unknown" if free is None else f"{free / 2**30:.1f} GiB"
    )


def _store() -> dict[str, str]:
    from ..run.store import DEFAULT, ENVIRONMENT, Store

    try:
        with Store() as store:
            count = len(store)
            free = shutil.disk_usage(store.folder).free
            return _row("run store", "yes", f"{store.folder}: {count:,} runs, {free / 2**30:.1f} GiB free")
    except EvenflowError as error:
        return _row("run store", "bad", f"{error} (default {DEFAULT}, or {ENVIRONMENT})")


def _extras() -> list[dict[str, str]]:
    wanted = {
        "evenflow_papers": 'five reproduced papers: pip install "evenflow[papers]"',
        "pandas": "pandas frames: pip install pandas pyarrow",
        "pyarrow": "pandas frames: pip install pandas pyarrow",
        "duckdb": "SQL over results.parquet: pip install duckdb",
        "distributed": "studies on a Dask cluster: pip install distributed",
        "ipykernel": "notebooks: pip install ipykernel jupyterlab",
    }
    rows = []
    for name, use in wanted.items():
        there = importlib.util.find_spec(name) is not None
        rows.append(_row(name, "yes" if there else "no", "installed" if there else f"not installed; for {use}"))
    return rows


def _simulators() -> list[dict[str, str]]:
    ns2 = shutil.which("ns2") or shutil.which("ns")
    ns3 = next(iter(sorted(Path("/usr/lib").glob("*/libns3*core*.so*"))), None) or shutil.which("ns3")
    return [
        _row("ns-2", "yes" if ns2 else "no", ns2 or "not installed; to compare with: apt-get install ns2"),
        _row(
            "ns-3",
            "yes" if ns3 else "no",
            str(ns3) if ns3 else "not installed; to compare with: apt-get install libns3-dev",
        ),
        _row("temporary folder", "yes", tempfile.gettempdir()),
    ]
