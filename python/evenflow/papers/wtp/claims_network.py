"""Figures 5 to 7 and Table 1: two links and different round trips."""

from __future__ import annotations

from evenflow.claims import Claim

from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return ()
