"""Figures 8 to 10: marking probability against utilisation."""

from __future__ import annotations

from evenflow.paper import Experiment

from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    return ()
