"""What is said of all figures together."""

from __future__ import annotations

from . import claims

__all__ = ["claims"]
