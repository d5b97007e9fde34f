"""Two links and different round trips: figures 5 to 7 and table 1."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
