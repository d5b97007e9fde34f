"""Menth and Zeitler 2018: activity-based congestion management (ABC), re-examined."""

from __future__ import annotations

from evenflow.paper import Paper

from .claims import CLAIMS
from .deviations import DEVIATIONS
from .experiments import EXPERIMENTS

__all__ = ["PAPER"]

PAPER = Paper(
    key="abc",
    title="Activity-based congestion management (ABC)",
    reference=(
        "M. Menth and N. Zeitler, “Fair Resource Sharing for Stateless-Core Packet-Switched Networks With "
        "Prioritization”, IEEE Access 6 (2018)"
    ),
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    deviations=DEVIATIONS,
    runs=10,
    summary=(
        "Meters at the network's edge write into every packet how active its user has been; a queue in the core, which "
        "keeps one average and nothing about users, drops the packets of the more active ones first. The paper shows "
        "by simulation that users then share a bottleneck fairly whatever they send, with and without priority, "
        "and better than under core-stateless fair queueing. Every figure is drawn again here, every statement judged."
    ),
)
