"""All claims of the paper, c01 to c106, in its order."""

from __future__ import annotations

from evenflow.claims import Claim

from . import claims_fluid, claims_marking, claims_network, claims_performance, claims_sharing
from .options import Options


def claims(o: Options) -> tuple[Claim, ...]:
    """Every claim, by its number."""
    found = (
        *claims_sharing.claims(o),
        *claims_network.claims(o),
        *claims_marking.claims(o),
        *claims_performance.claims(o),
        *claims_fluid.claims(o),
    )
    return tuple(sorted(found, key=lambda claim: int(claim.id.rpartition("c")[2])))
