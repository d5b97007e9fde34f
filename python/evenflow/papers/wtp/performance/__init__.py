"""Queueing delay and MulTCP: table 2 and figure 11."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
