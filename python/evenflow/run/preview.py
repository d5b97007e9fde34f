"""The names of a scenario's metrics before it is run: from its first milliseconds."""

from __future__ import annotations

from ..errors import EvenflowError
from ..scenario.scenario import Scenario
from .record import derived, flatten

MOST_BYTES = 2**28
"""Largest scenario whose names are computed."""


def metric_names(scenario: Scenario) -> list[str]:
    """Names of the numbers in a record of this scenario, in the record's order; [] if unknown.

    Names that appear late in a run, such as a new reason for drops, are missing.
    """
    tree = {
        name: value for name, value in scenario.written_out().tree.items() if name not in ("sweep", "record", "warmup")
    }
    for duration in ("10 ms", tree.get("duration")):
        short = Scenario({**tree, "duration": duration})
        try:
            if short.core.memory_bytes <= MOST_BYTES and (duration == "10 ms" or short.core.duration_s <= 1):
                record = short.run().json
                return [*(name for name, _ in flatten(record)), *derived(record)]
        except EvenflowError:  # for example a start after the end
            continue
    return []
