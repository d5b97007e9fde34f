"""Tables 5 and 6: scenarios 1 to 3, CUBIC and Illinois with both methods."""

from __future__ import annotations

from functools import partial

from evenflow.paper import Experiment

from .. import network as net
from ..choices import Options
from ..grids import HOLLOW, three_scenarios
from ..measures import METRICS, QUALITY
from . import figures

SERIES: figures.Series = {f"scenario {name[1]}": {"scenario": name} for name in (net.S1, net.S2, net.S3)}
SETTING = (
    "Client 1. Scenario 1: both clients throughout; 2: client 2 joins at 30 s; 3: it leaves at 30 s. CUBIC and "
    "Illinois, HTBM and RWTM."
)


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    return tuple(
        Experiment(
            f"has_shaping-table{number:02d}",
            f"Table {number}: {what}, scenarios 1 to 3",
            partial(three_scenarios, o),
            net.SEEDS,
            partial(figures.table, o, names, SERIES),
            f"{SETTING} {', '.join(names)}. {HOLLOW}",
            partial(figures.rows, o, names, SERIES),
        )
        for number, names, what in ((5, QUALITY, "quality"), (6, METRICS[3:], "congestion and off periods"))
    )
