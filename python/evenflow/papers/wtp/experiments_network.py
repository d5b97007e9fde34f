"""Figures 5 to 7 and Table 1: two links and different round trips."""

from __future__ import annotations

from evenflow.paper import Experiment

from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    return ()
