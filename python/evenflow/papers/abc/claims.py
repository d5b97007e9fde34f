"""All claims of the paper, c01 to c128, in its order."""

from __future__ import annotations

from evenflow.claims import Claim

from .beyond import claims as beyond
from .comparison import claims as comparison
from .memories import claims as memories
from .method import claims as method
from .mixed import claims as mixed
from .parameters import claims as parameters
from .tcp import claims as tcp
from .udp import claims as udp

CLAIMS: tuple[Claim, ...] = (
    *method.CLAIMS,
    *udp.CLAIMS,
    *tcp.CLAIMS,
    *mixed.CLAIMS,
    *parameters.CLAIMS,
    *memories.CLAIMS,
    *comparison.CLAIMS,
    *beyond.CLAIMS,
)
