"""All experiments of the paper, in its order."""

from __future__ import annotations

from evenflow.paper import Experiment

from . import (
    experiments_fluid,
    experiments_marking,
    experiments_network,
    experiments_performance,
    experiments_sharing,
)
from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """Figures 1 and 3 to 11, tables 1 and 2, and those beyond them."""
    return (
        *experiments_sharing.experiments(o),
        *experiments_network.experiments(o),
        *experiments_marking.experiments(o),
        *experiments_performance.experiments(o),
        *experiments_fluid.experiments(o),
    )
