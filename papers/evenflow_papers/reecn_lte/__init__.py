"""Zhang et al. 2011: re-ECN in an LTE network."""

from evenflow.experiments import assembled

from .claims import claim
from .experiments import experiment
from .network import Options

__all__ = ["PAPER"]

PAPER = assembled(experiment, claim, Options)
