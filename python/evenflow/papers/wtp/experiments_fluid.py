"""The theory of sections 2 and 3."""

from __future__ import annotations

from evenflow.paper import Experiment

from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    return ()
