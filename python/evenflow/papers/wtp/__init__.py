"""Siris, Courcoubetis and Margetis 2002: willingness to pay and MulTCP under three markers, re-examined."""

from __future__ import annotations

from collections.abc import Mapping

from evenflow.kit import history
from evenflow.paper import Paper, Parts

from . import fluid, marking, performance, sharing, two_links
from .choices import DEVIATIONS, OPTIONS, Options
from .claims import claims
from .network import LEVEL

__all__ = ["PAPER"]


TOPICS = (sharing, two_links, marking, performance, fluid)
"""A folder each, in the paper's order: what is run, what is drawn, what is claimed."""


def _build(chosen: Mapping[str, str]) -> Parts:
    o = Options.chosen(chosen)
    return tuple(experiment for topic in TOPICS for experiment in topic.runs.experiments(o)), claims.build(o)


_EXPERIMENTS, _CLAIMS = _build({})

PAPER = Paper(
    key="wtp",
    title="Willingness to pay and MulTCP in ECN networks (WTP)",
    reference=(
        "V. A. Siris, C. Courcoubetis and G. Margetis, “Service differentiation and performance of weighted "
        "window-based "
        "congestion control and packet marking algorithms in ECN networks”, Computer Communications (2002)"
    ),
    experiments=_EXPERIMENTS,
    claims=_CLAIMS,
    deviations=DEVIATIONS,
    changes=history(__file__),
    runs=10,
    summary=(
        "Routers only mark packets; whoever is willing to pay more marks a second gets more of the link. The paper "
        "compares two "
        "weighted window controls, willingness to pay and MulTCP, under three markers, RED, virtual queue and "
        "load-based, on "
        "one link and on two. Every figure and table is made again here beside what the fluid theory predicts, every "
        "statement judged."
    ),
    level=LEVEL,
    options=OPTIONS,
    build=_build,
)
