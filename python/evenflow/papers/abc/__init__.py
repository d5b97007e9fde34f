"""Menth and Zeitler 2018: activity-based congestion management (ABC), re-examined."""

from __future__ import annotations

from collections.abc import Mapping

from evenflow.kit import history
from evenflow.paper import Paper, Parts

from . import beyond, comparison, memories, method, mixed, parameters, tcp, udp
from .choices import DEVIATIONS, OPTIONS, Options
from .claims import claims

__all__ = ["PAPER"]

TOPICS = (udp, tcp, mixed, parameters, memories, comparison, method, beyond)
"""A folder each, in the order of the paper's figures; what has no figure in the paper comes last."""


def _build(chosen: Mapping[str, str]) -> Parts:
    options = Options.chosen(chosen)
    return tuple(experiment for topic in TOPICS for experiment in topic.runs.experiments(options)), claims.build()


_EXPERIMENTS, _CLAIMS = _build({})

PAPER = Paper(
    key="abc",
    title="Activity-based congestion management (ABC)",
    reference=(
        "M. Menth and N. Zeitler, “Fair Resource Sharing for Stateless-Core Packet-Switched Networks With "
        "Prioritization”, IEEE Access 6 (2018)"
    ),
    experiments=_EXPERIMENTS,
    claims=_CLAIMS,
    deviations=DEVIATIONS,
    changes=history(__file__),
    runs=10,
    summary=(
        "Meters at the network's edge write into every packet how active its user has been; a queue in the core, which "
        "keeps one average and nothing about users, drops the packets of the more active ones first. The paper shows "
        "by simulation that users then share a bottleneck fairly whatever they send, with and without priority, "
        "and better than under core-stateless fair queueing. Every figure is drawn again here, every statement judged."
    ),
    options=OPTIONS,
    build=_build,
)
