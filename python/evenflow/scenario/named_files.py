"""Files that a scenario names: video manifests and traces of rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import manifest, paths, rate_trace


def written_out(tree: Mapping[str, Any], source: str | None) -> tuple[Mapping[str, Any], list[tuple[paths.Path, str]]]:
    """A scenario's tree with the numbers of the files in place of their names, and what is wrong with them.

    Names are relative to the scenario's file, or to the working folder where it has none. The tree itself stays.
    """
    tree, films = manifest.written_out(tree, source)
    tree, rates = rate_trace.written_out(tree, source)
    return tree, films + rates
