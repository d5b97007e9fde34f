"""Figures 11 to 13: what the memories of meters and averager do: uploads, fairness, one TCP flow alone."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
