"""How this paper's claims are written down: one call each, so that nothing is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from evenflow.claims import Check, Claim, Data, Judgement

Predicate: TypeAlias = Callable[[Data], Sequence[Check]]

FIFTEEN = "±15 % of the paper's number"
SIGN = "the sign of the difference, paired by seed"


def claim(
    number: int,
    source: str,
    statement: str,
    *,
    expected: str,
    tolerance: str,
    on: Sequence[str] = (),
    literal: Predicate,
    relaxed: Predicate | None = None,
    reading: str | None = None,
    note: Callable[[Data, Judgement], str] | str = "",
) -> Claim:
    """Claim ``abc-cNN``, judged on the experiments ``abc-<name>`` for each name in ``on``.

    ``reading`` says what the relaxed reading is and why there is one; both or neither must be given.
    """
    if (relaxed is None) != (reading is None):
        raise ValueError(f"c{number:02d}: a relaxed reading needs both a predicate and an explanation")
    return Claim(
        id=f"abc-c{number:02d}",
        source=source,
        statement=statement,
        expected=expected,
        tolerance=tolerance,
        experiments=tuple(f"abc-{name}" for name in on),
        literal=literal,
        relaxed=relaxed,
        relaxed_reading=reading,
        note=note,
    )
