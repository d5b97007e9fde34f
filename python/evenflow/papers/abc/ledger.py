"""How this paper's claims are written down."""

from __future__ import annotations

from evenflow.claims import Writer

claim = Writer("abc")

FIFTEEN = "±15 % of the paper's number"
SIGN = "the sign of the difference, paired by seed"
