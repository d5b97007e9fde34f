"""Figures 1, 3 and 4: window dynamics, and who gets what on one link."""

from __future__ import annotations

from evenflow.claims import Claim

from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return ()
