"""Two clients that start together: tables 2 to 4, and the home itself (figure 1)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
