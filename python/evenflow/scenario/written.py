"""Values that Python writes into a scenario before the core reads it: content of files, and limits in BDP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import bdp, manifest, paths, rate_trace


def written_out(tree: Mapping[str, Any], source: str | None) -> tuple[Mapping[str, Any], list[tuple[paths.Path, str]]]:
    """A scenario's tree with numbers in place of names of files and of products, and what is wrong with them.

    Names are relative to the scenario's file, or to the working folder where it has none. The tree itself stays.
    """
    tree, films = manifest.written_out(tree, source)
    tree, rates = rate_trace.written_out(tree, source)
    tree, limits = bdp.written_out(tree)
    return tree, films + rates + limits
