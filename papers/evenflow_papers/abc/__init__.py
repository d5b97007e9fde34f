"""Menth and Zeitler 2018: activity-based congestion management (ABC)."""

from evenflow.experiments import assembled

from .claims import claim
from .experiments import experiment
from .network import Options

__all__ = ["PAPER"]

PAPER = assembled(experiment, claim, Options)
