"""All claims of the paper, c01 to c128, in its order."""

from __future__ import annotations

from evenflow.claims import Claim

from . import claims_comparison, claims_method, claims_mixed, claims_parameters, claims_tcp, claims_udp

CLAIMS: tuple[Claim, ...] = (
    *claims_method.CLAIMS,
    *claims_udp.CLAIMS,
    *claims_tcp.CLAIMS,
    *claims_mixed.CLAIMS,
    *claims_parameters.CLAIMS,
    *claims_comparison.CLAIMS,
)
