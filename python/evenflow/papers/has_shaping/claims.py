"""All claims of the paper: what is expected stands in `claims.toml`, what is measured in each topic's `claims.py`."""

from __future__ import annotations

from evenflow.kit import Claims

from .network import LEVEL

claims = Claims("has_shaping", __file__, LEVEL)
