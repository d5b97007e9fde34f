"""Figures 1, 3 and 4: window dynamics, and who gets what on one link."""

from __future__ import annotations

from evenflow.paper import Experiment

from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    return ()
