"""The queue: its size and RED's parameters (figures 14 to 17)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
