"""Siris, Courcoubetis and Margetis 2002: willingness to pay and MulTCP under three markers."""

from evenflow.experiments import assembled

from .claims import claim
from .experiments import experiment
from .network import Options

__all__ = ["PAPER"]

PAPER = assembled(experiment, claim, Options)
