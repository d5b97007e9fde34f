"""What was settled before any result was looked at, on the runs of table 4 and of a lone client."""

from __future__ import annotations

from . import runs

__all__ = ["runs"]
