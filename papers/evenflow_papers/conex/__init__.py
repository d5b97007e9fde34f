"""Sanhaji, Niger, Cadro and Beylot 2015: congestion exposure, evaluated and applied to video."""

from evenflow.experiments import assembled

from .claims import claim
from .experiments import experiment
from .network import Options

__all__ = ["PAPER"]

PAPER = assembled(experiment, claim, Options)
