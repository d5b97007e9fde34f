"""Table 2 and Fig. 11: queueing delay, and willingness to pay beside MulTCP."""

from __future__ import annotations

from evenflow.claims import Claim

from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    return ()
