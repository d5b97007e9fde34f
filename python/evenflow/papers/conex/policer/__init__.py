"""The policer: harshness and depth (figures 8 to 11)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
