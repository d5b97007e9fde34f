"""Figures 4 and 5: a heavy TCP user with many flows against a light one with a single flow."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
