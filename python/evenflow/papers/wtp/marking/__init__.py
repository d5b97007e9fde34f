"""Marking probability over utilisation: figures 8 to 10."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
