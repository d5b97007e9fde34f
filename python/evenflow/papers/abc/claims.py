"""The claims of the paper: `claims.toml` says what is expected, the topics' claims.py measure."""

from __future__ import annotations

from evenflow import kit

claims = kit.Claims("abc", __file__)
