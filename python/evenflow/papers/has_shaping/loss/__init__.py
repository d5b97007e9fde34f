"""A second of losses: tables 7 and 8."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
