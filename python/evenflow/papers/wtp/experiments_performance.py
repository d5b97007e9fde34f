"""Table 2 and Fig. 11: queueing delay, and willingness to pay beside MulTCP."""

from __future__ import annotations

from evenflow.paper import Experiment

from .options import Options


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This block's experiments."""
    return ()
