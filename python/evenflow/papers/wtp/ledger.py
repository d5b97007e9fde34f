"""How this paper's claims are written down."""

from __future__ import annotations

from evenflow.claims import Writer

LEVEL = 0.90
"""The paper's confidence level (section 5.1)."""

claim = Writer("wtp", LEVEL)
