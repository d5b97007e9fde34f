"""What needs no runs: figures 2, 6 and 7, tables I, II and III."""

from __future__ import annotations

from . import runs

__all__ = ["runs"]
