"""Figure 3: two users who send Poisson traffic whatever the network does."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
