"""How this paper's claims are written down."""

from __future__ import annotations

from evenflow.claims import Writer

from .network import LEVEL

claim = Writer("wtp", LEVEL)
