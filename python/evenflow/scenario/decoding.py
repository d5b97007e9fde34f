"""From a tree to the core's scenario, or to every error: values that no scenario can have are found here."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import paths

if TYPE_CHECKING:
    from .. import _core


def decode(tree: Mapping[str, Any], source: str | None = None) -> tuple[_core.Scenario | None, list[tuple[str, str]]]:
    """Validate a tree in the core: the scenario, or every error.

    NaN, infinity and dates, which JSON lacks, are refused with their path in the file. So are video manifests and
    traces with errors; their paths are relative to `source`.
    """
    from .. import _core
    from .written import written_out

    tree, unread = written_out(tree, source)
    refused: list[tuple[str, str]] = [(paths.render(path), message) for path, message in unread]
    clean = dict(tree)
    clean.pop("sweep", None)
    text = _json(clean)
    if text is None:
        clean = paths.copied(clean)
        for path, value in [(path, value) for path, value in paths.leaves(clean) if not is_json(value)]:
            refused.append((paths.render(path), why_odd(value)))
            paths.assign(clean, path, None)
        text = json.dumps(clean, ensure_ascii=False, allow_nan=False)
    try:
        found = _core.Scenario(text)
    except UnicodeEncodeError:
        return None, refused + [(paths.render(path), "the key is not UTF-8 text.") for path in odd_keys(clean)]
    except _core.ScenarioError as error:
        places = {path for path, _ in refused}
        return None, refused + [(path, message) for path, message in error.errors if path not in places]
    return (None, refused) if refused else (found, [])


def _json(tree: Mapping[str, Any]) -> str | None:
    """The tree as JSON text; None if a value may be odd, which only a look at each of them can tell."""
    try:
        text = json.dumps(tree, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return text if is_text(text) and not _HUGE.search(text) else None


_HUGE = re.compile(r"\d{300}")
"""Digits of numbers that may be beyond `_LARGEST`."""


def is_json(value: Any) -> bool:
    """Whether a value that is neither table nor list is one that a scenario can have."""
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    return value is None or (isinstance(value, float) and math.isfinite(value))


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8: what a shell hands over need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def odd_keys(tree: Any, above: paths.Path = ()) -> list[paths.Path]:
    """Paths of keys that are not UTF-8 text."""
    if isinstance(tree, Mapping):
        own = [(*above, name) for name in tree if not is_text(name)]
        return own + [path for name, value in tree.items() for path in odd_keys(value, (*above, name))]
    if isinstance(tree, list):
        return [path for index, value in enumerate(tree) for path in odd_keys(value, (*above, index))]
    return []


_LARGEST = 2**1023
"""Whole numbers beyond have no floating-point number near."""


def why_odd(value: Any) -> str:
    """Why a scenario cannot hold a value."""
    if isinstance(value, str):
        return "is not UTF-8 text."
    if isinstance(value, int):
        return f"a whole number of {value.bit_length():,} bits is too large."
    if isinstance(value, float):
        return f"{value} is not allowed; write a finite number."
    if isinstance(value, (datetime.date, datetime.time)):
        return "a date or time of day; durations are written like “15 s”."
    found = f"a scenario cannot hold a {type(value).__name__}; write plain data: text, numbers, lists, tables."
    is_object = isinstance(value, type) or hasattr(value, "__dict__")
    return f"{found} New mechanisms are written in Rust: docs/how-to/index.md." if is_object else found
