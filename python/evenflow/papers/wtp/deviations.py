"""What the paper leaves open or contradicts itself about, what is done here, and how much the claims depend on it."""

from __future__ import annotations

from evenflow.paper import Deviation

DEVIATIONS: tuple[Deviation, ...] = ()
