"""The theory of sections 2 and 3."""

from __future__ import annotations

from evenflow.claims import Claim

from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return ()
