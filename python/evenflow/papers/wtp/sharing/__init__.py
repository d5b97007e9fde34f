"""Sharing one link by weights: figures 1, 3 and 4."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
