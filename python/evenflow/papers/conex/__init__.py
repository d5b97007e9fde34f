"""Sanhaji, Niger, Cadro and Beylot 2015: congestion exposure, evaluated and applied to video; re-examined."""

from __future__ import annotations

from collections.abc import Mapping

from evenflow.kit import history
from evenflow.paper import Paper, Parts

from . import beyond, environment, method, policer, queue, short_flows, variants, video, whole
from .choices import DEVIATIONS, OPTIONS, Options
from .claims import claims
from .network import LEVEL

__all__ = ["PAPER"]

TOPICS = (method, policer, environment, queue, variants, short_flows, video, beyond)
"""A folder each, in the paper's order: what is run, what is drawn, what is claimed."""
CLAIMED = (policer, environment, queue, variants, short_flows, video, whole)


def _build(chosen: Mapping[str, str]) -> Parts:
    o = Options.chosen(chosen)
    experiments = tuple(experiment for topic in TOPICS for experiment in topic.runs.experiments(o))
    return experiments, claims.build(o)


_EXPERIMENTS, _CLAIMS = _build({})

PAPER = Paper(
    key="conex",
    title="ConEx performance evaluation and application to video streaming (ConEx)",
    reference=(
        "A. Sanhaji, P. Niger, P. Cadro and A.-L. Beylot, “ConEx Performance Evaluation and Application to Video "
        "Streaming” (2015)"
    ),
    experiments=_EXPERIMENTS,
    claims=_CLAIMS,
    deviations=DEVIATIONS,
    changes=history(__file__),
    runs=30,
    summary=(
        "Senders tell the network how much congestion they have met, and a token bucket at the edge makes each user "
        "answer for it. The paper asks which filling rate protects light users from heavy ones, how that depends on "
        "policer, round trip, congestion control and queue, what a deployment in steps gives up, and what it does for "
        "short flows and for videos. Every figure and table is made again here, every statement judged."
    ),
    level=LEVEL,
    options=OPTIONS,
    build=_build,
)
