"""Round trip and congestion control (figures 12 and 13)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
