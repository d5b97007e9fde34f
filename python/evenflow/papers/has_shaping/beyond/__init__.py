"""Beyond the paper: more clients, a chunk's life, adaptation rules, other losses."""

from __future__ import annotations

from . import runs

__all__ = ["runs"]
