"""A video evening: YouTube beside bulk transfers (figures 21 and 22)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
