"""Short flows beside cross traffic (figure 20)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
