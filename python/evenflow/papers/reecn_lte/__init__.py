"""Zhang et al. 2011: re-ECN in an LTE network; re-examined."""

from __future__ import annotations

from collections.abc import Mapping

from evenflow.kit import history
from evenflow.paper import Paper, Parts

from .choices import DEVIATIONS, OPTIONS, Options
from .claims import claims
from .experiments import experiments
from .network import LEVEL

__all__ = ["PAPER"]


def _build(chosen: Mapping[str, str]) -> Parts:
    o = Options.chosen(chosen)
    return experiments(o), claims.build(o)


_EXPERIMENTS, _CLAIMS = _build({})

PAPER = Paper(
    key="reecn_lte",
    title="Metering Re-ECN: performance evaluation and its applicability in cellular networks (re-ECN in LTE)",
    reference=(
        "Y. Zhang, I. Johansson, H. Green and M. Tatipamula, “Metering Re-ECN: Performance Evaluation and its "
        "Applicability in Cellular Networks” (2011)"
    ),
    experiments=_EXPERIMENTS,
    claims=_CLAIMS,
    deviations=DEVIATIONS,
    changes=history(__file__),
    runs=10,
    summary=(
        "Users of a mobile network are made accountable for congestion without touching a phone: re-ECN between base "
        "station and packet gateway, inside GTP-U. The paper compares it with drop-tail, RED and ECN over flows, "
        "delays, hops, radio errors, an attack and four classes. No plot of it survives in the text that we have, so "
        "that its words are judged."
    ),
    level=LEVEL,
    options=OPTIONS,
    build=_build,
)
