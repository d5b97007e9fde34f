"""A client joins, or leaves: tables 5 and 6."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
