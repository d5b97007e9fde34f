"""What the fuzzer finds and is not mended yet, in one place. An entry goes when its class is mended.

A case whose outcome begins with `FAILED` and matches is counted as `known`; it is no failure.
"""

from __future__ import annotations

import re

KNOWN: tuple[tuple[str, str], ...] = ()
"""What the outcome says (a regular expression), and why it is still so."""


def class_of(found: str) -> str:
    """What failures that are one have in common: the beginning, whatever the numbers."""
    return re.sub(r"\d+", "#", found)[:70]


def judged(found: str) -> str:
    """The outcome, or `known: …` with the reason."""
    if found.startswith("FAILED"):
        for pattern, reason in KNOWN:
            if re.search(pattern, found):
                return f"known: {reason}"
    return found
