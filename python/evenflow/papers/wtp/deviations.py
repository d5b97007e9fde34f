"""What the paper leaves open or contradicts itself about, what is done here, and how much the claims depend on it."""

from __future__ import annotations

from evenflow.paper import Deviation

from . import deviations_marking

DEVIATIONS: tuple[Deviation, ...] = (*deviations_marking.DEVIATIONS,)
