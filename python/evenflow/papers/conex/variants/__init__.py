"""Steps of deployment: DTConEx, REDConEx, ECNConEx, FullConEx (figures 18 and 19, table IV)."""

from __future__ import annotations

from . import claims, runs

__all__ = ["claims", "runs"]
