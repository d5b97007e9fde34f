"""Where the runs of a study are computed: the values of `--on` (docs/cluster.md)."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from ..errors import EvenflowError, UsageError, nearest

FORMS = "dask://HOST:PORT, dask-local[:WORKERS], slurm[:PARTITION]"
MOST_LOCAL = 1024


@dataclass(frozen=True)
class Place:
    """Where runs are computed: the value of `--on`."""

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
    """Read the value of `--on`.

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


def package(name: str, extra: str, kind: str) -> Any:
    """Import an optional package. As Any: its type annotations differ between versions."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EvenflowError(
            f"Running on {kind} needs the package {name}, which is not installed: pip install {name} "
            f"(Evenflow's extra “{extra}”)."
        ) from None
