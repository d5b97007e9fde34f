"""Figures 8 to 10: reference rates, and the parameters of the activity AQM."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
