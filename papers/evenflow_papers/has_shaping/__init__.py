"""Ben Ameur, Mory and Cousin 2016: traffic shaping, congestion controls and adaptive video."""

from evenflow.experiments import assembled

from .claims import claim
from .experiments import experiment
from .network import Options

__all__ = ["PAPER"]

PAPER = assembled(experiment, claim, Options)
