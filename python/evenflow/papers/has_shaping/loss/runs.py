"""Tables 7 and 8: a lone client, without loss and with a second of it."""

from __future__ import annotations

from functools import partial

from evenflow.paper import Experiment

from .. import network as net
from ..choices import Options
from ..grids import HOLLOW, lone
from ..measures import METRICS, QUALITY
from ..transitions import figures

LITERALLY = {
    "received": "half of the ACKs lost",
    "sent": "half of the data lost, by the option",
    "both": "half of both lost",
}
"""What scenario 4 loses by the literal reading, by the option `lost`."""
SETTING = (
    "A lone client; from 30 to 31 s half of the packets towards the server are lost, as the paper says, or half of "
    "those that it sends. CUBIC and Illinois, HTBM and RWTM."
)

WIDER = "Half of the data lost is the wider reading, and hollow where that fails."


def _series(o: Options) -> figures.Series:
    return {
        "without loss": {"scenario": net.WL},
        LITERALLY[o.lost]: {"scenario": net.S4, "loss": net.ACKS},
        "half of the data lost": {"scenario": net.S4, "loss": net.DATA},
    }


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    return tuple(
        Experiment(
            f"has_shaping-table{number:02d}",
            f"Table {number}: {what}, scenario 4",
            partial(lone, o),
            net.SEEDS,
            partial(figures.table, o, names, _series(o)),
            f"{SETTING} {', '.join(names)}. {HOLLOW} {WIDER}",
            partial(figures.rows, o, names, _series(o)),
        )
        for number, names, what in ((7, QUALITY, "quality"), (8, METRICS[3:], "congestion and off periods"))
    )
