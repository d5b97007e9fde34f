"""The sources, the network, the meter and the AQM, before any fairness is shown."""

from . import claims, figures, runs

__all__ = ["claims", "figures", "runs"]
