"""Congestion windows of single runs: figures 2 to 9."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
