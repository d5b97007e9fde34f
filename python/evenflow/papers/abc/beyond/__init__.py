"""Beyond the figures: the earlier averager, a link of varying rate, queues per user, alternatives to open choices."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
