"""Figures 14 to 16: the fair activity meter, and core-stateless fair queueing."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
