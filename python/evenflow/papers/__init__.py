"""Published papers that can be reproduced: found by an entry point, imported only when one is used."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..judge.paper import Paper

GROUP = "evenflow.papers"
"""The group of entry points that announces papers: a name is the key, its value the package with the `PAPER`."""
PACKAGE = "evenflow-papers"
"""The package with Evenflow's own papers."""


def plain_key(name: str) -> str:
    """A typed name as a key: case, `-` and `_` do not matter."""
    return name.strip().casefold().replace("-", "_")


def installed() -> dict[str, EntryPoint]:
    """The papers of all installed packages by key, without importing one. Evenflow's own keep their keys."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (not _own(point), point.name)):
        found.setdefault(plain_key(point.name), point)
    return found


def _own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == PACKAGE


def missing() -> str:
    """How to install Evenflow's own papers; empty if they are installed."""
    if any(map(_own, installed().values())):
        return ""
    return (
        f'The package {PACKAGE} is not installed. Run: pip install "evenflow[papers]"; '
        "in a clone of Evenflow: pip install ./papers"
    )


def key_of(name: str) -> str:
    """The key of a typed name.

    Raises:
        UsageError: no such paper; the message has the nearest name, and how to install Evenflow's own papers.
    """
    from ..errors import UsageError, unknown

    key, known = plain_key(name), installed()
    if key not in known:
        raise UsageError("\n".join(filter(None, (str(unknown("paper", name, known)), missing()))))
    return key


def folder(key: str) -> Path:
    """The folder of a paper's package, without importing the paper; of an unknown paper a folder without files."""
    point = installed().get(key)
    try:
        found = importlib.util.find_spec(point.module) if point else None
    except ImportError:
        found = None
    return Path(found.origin).parent if found and found.origin else Path(__file__).parent / key


def load(name: str) -> Paper:
    """Import a paper's package and return its `PAPER`.

    Raises:
        UsageError: no such paper; the message has the nearest name.
        EvenflowError: the package cannot be imported, or has no `PAPER`.
    """
    from ..errors import EvenflowError

    key = key_of(name)
    point = installed()[key]
    try:
        found = point.load()
        paper: Paper = getattr(found, "PAPER", found)
    except Exception as error:
        raise EvenflowError(
            f"The paper {key} ({point.value}) cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(paper, "experiments"):
        raise EvenflowError(f"The paper {key} ({point.value}) has no PAPER.")
    return paper


def load_with_options(name: str) -> Paper:
    """A paper, or one of its choices, by the name of its results' folder: "conex", or "conex-charge=pass".

    Raises:
        UsageError: no such paper, option or value; the message has the nearest name.
    """
    paper, *choices = re.split(r"-(?=\w+=)", name.strip())
    return load(paper).with_options(dict(choice.split("=", 1) for choice in choices))


def with_ledgers(names: Iterable[str]) -> list[str]:
    """These papers, and each of their choices that has a separate ledger in the package."""
    found = []
    for name in names:
        found.append(name)
        found += [f"{name}-{path.parent.name}" for path in sorted(folder(name).glob("*=*/ledger.json"))]
    return found
