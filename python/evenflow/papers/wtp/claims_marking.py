"""Figures 8 to 10: marking probability against utilisation."""

from __future__ import annotations

from evenflow.claims import Claim

from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return ()
