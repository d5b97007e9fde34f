"""Statements about all scenarios, and table 9."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
