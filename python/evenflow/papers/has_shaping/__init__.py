"""Ben Ameur, Mory and Cousin 2016: traffic shaping, congestion controls and adaptive video; re-examined."""

from __future__ import annotations

from collections.abc import Mapping

from evenflow.kit import history
from evenflow.paper import Paper, Parts

from . import beyond, calibration, home, jitter, loss, transitions, whole, windows
from .choices import DEVIATIONS, OPTIONS, Options
from .claims import claims
from .network import LEVEL, RUNS

__all__ = ["PAPER"]

TOPICS = (home, windows, transitions, loss, jitter, whole, calibration, beyond)
"""A folder each, in the paper's order: what is run, what is drawn, what is claimed."""


def _build(chosen: Mapping[str, str]) -> Parts:
    o = Options.chosen(chosen)
    experiments = tuple(experiment for topic in TOPICS for experiment in topic.runs.experiments(o))
    return experiments, claims.build(o)


_EXPERIMENTS, _CLAIMS = _build({})

PAPER = Paper(
    key="has_shaping",
    title="Combining traffic shaping methods with congestion control variants for HTTP adaptive streaming (HAS)",
    reference=(
        "C. Ben Ameur, E. Mory and B. Cousin, “Combining Traffic Shaping Methods with Congestion Control Variants for "
        "HTTP Adaptive Streaming”, Multimedia Systems 24 (2018), 1–18"
    ),
    experiments=_EXPERIMENTS,
    claims=_CLAIMS,
    deviations=DEVIATIONS,
    changes=history(__file__),
    runs=RUNS,
    summary=(
        "Two players at home share a line, and the gateway gives each a rate that fits a level of its video: by an HTB "
        "class (HTBM), or by lowering the receive windows of its ACKs (RWTM). The paper measures with real "
        "machines how four TCPs fare with both: how stable the video is, how true to its best level, how soon, "
        "and with how much congestion. Every figure and table is made again here, every statement judged."
    ),
    level=LEVEL,
    options=OPTIONS,
    build=_build,
)
