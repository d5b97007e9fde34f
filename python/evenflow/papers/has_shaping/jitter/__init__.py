"""A round trip that varies more: figures 10 and 11."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
