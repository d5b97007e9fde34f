"""Figures beyond the paper's: who causes how much congestion when, what it does to videos, and sizes of packets."""

from __future__ import annotations

from . import runs

__all__ = ["runs"]
