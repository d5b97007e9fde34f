"""Published papers that can be re-examined: a registry that imports a paper's package only when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..judge.paper import Paper

TITLES = {
    "abc": "Menth and Zeitler 2018: Activity-based congestion management (ABC)",
    "wtp": "Siris, Courcoubetis and Margetis 2002: Willingness to pay and MulTCP in ECN networks (WTP)",
    "conex": "Sanhaji, Niger, Cadro and Beylot 2015: Congestion exposure and its application to video (ConEx)",
    "has_shaping": "Ben Ameur, Mory and Cousin 2016: Shaping and congestion control for adaptive video at home (HAS)",
    "reecn_lte": "Zhang, Johansson, Green and Tatipamula 2011: Metering re-ECN in cellular networks (re-ECN in LTE)",
}
"""Key -> one line for `evenflow papers`, so that listing imports nothing."""


GROUP = "evenflow.papers"
"""The group of entry points through which a paper of somebody else's is found, once its package is installed: the
entry's name is the key, its value the package whose `PAPER` it is."""


def plain_key(name: str) -> str:
    """A name typed by a person as a key: case, `-` and `_` do not matter."""
    return name.strip().casefold().replace("-", "_")


def elsewhere() -> dict[str, EntryPoint]:
    """Papers outside this repository, by key; one that has the key of a paper here is left out."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        key = plain_key(point.name)
        if key not in TITLES:
            found.setdefault(key, point)
    return found


def known() -> list[str]:
    """All keys: the papers here, then those of installed packages."""
    return [*TITLES, *elsewhere()]


def key_of(name: str) -> str:
    """The registry key of a name typed by a person: case, `-` and `_` do not matter.

    Raises:
        UsageError: no such paper; the message names the nearest.
    """
    from ..errors import unknown

    key = plain_key(name)
    if key not in TITLES and key not in elsewhere():
        raise unknown("paper", name, known())
    return key


def folder(key: str) -> Path:
    """The folder of a paper's package, without importing the paper."""
    if key in TITLES or key not in elsewhere():
        return Path(__file__).parent / key
    top = elsewhere()[key].module
    try:
        found = importlib.util.find_spec(top)
    except ImportError:
        found = None
    return Path(found.origin).parent if found is not None and found.origin else Path(__file__).parent / key


def load(name: str) -> Paper:
    """Import a paper's package and return its `PAPER`.

    Raises:
        UsageError: no such paper; the message names the nearest.
        EvenflowError: a package of somebody else's cannot be imported, or has no `PAPER`.
    """
    from ..errors import EvenflowError

    key = key_of(name)
    if key in TITLES:
        paper: Paper = importlib.import_module(f".{key}", __name__).PAPER
        return paper
    point = elsewhere()[key]
    try:
        found = point.load()
        paper = getattr(found, "PAPER", found)
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
        UsageError: no such paper, option or value; the message names the nearest.
    """
    paper, *choices = re.split(r"-(?=\w+=)", name.strip())
    return load(paper).with_options(dict(choice.split("=", 1) for choice in choices))


def with_ledgers(names: Iterable[str]) -> list[str]:
    """These papers, and each choice of theirs that has a ledger of its own in the package."""
    found = []
    for name in names:
        found.append(name)
        found += [f"{name}-{path.parent.name}" for path in sorted(folder(name).glob("*=*/ledger.json"))]
    return found
