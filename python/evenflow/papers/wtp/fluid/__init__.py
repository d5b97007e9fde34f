"""The differential equations of sections 2 and 3."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
