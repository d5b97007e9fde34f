"""Figures 6 and 7: a UDP user who does not listen against a user with one TCP flow."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
