"""Network quality of the IETF from distributions of delay: Quality of Outcome, and responsiveness in round trips per
minute.

    voice = Requirements({95: 0.1, 99: 0.15}, {95: 0.25, 99: 0.4}, loss=(0.01, 0.05), throughput_bps=90e3)
    ef.qoe.quality_of_outcome(record, "call", voice)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..run.histograms import Histogram
    from ..run.record import Record

__all__ = ["Requirements", "outcome", "quality_of_outcome", "responsiveness"]

TRIMMED = 0.95
"""Share of round trips that the trimmed mean of responsiveness keeps (TMP)."""


@dataclass(frozen=True)
class Requirements:
    """Requirements of an application (draft-ietf-ippm-qoo).

    Attributes:
        optimal_s: latency in s by percentile (95: 0.1) at or below which the network is optimal (ROP).
        unacceptable_s: latency in s of the same percentiles from which it is unacceptable (CPUP).
        loss: packet loss ratios of both: (optimal, unacceptable).
        throughput_bps: least throughput of a user in bit/s.

    Raises:
        UsageError: percentiles that differ or are not from 0 to 100; an unacceptable value not above the optimal one.
    """

    optimal_s: Mapping[float, float]
    unacceptable_s: Mapping[float, float]
    loss: tuple[float, float] = (0.0, 1.0)
    throughput_bps: float = 0.0

    def __post_init__(self) -> None:
        if not self.optimal_s or set(self.optimal_s) != set(self.unacceptable_s):
            raise UsageError("optimal_s and unacceptable_s need the same percentiles, such as 95 and 99.")
        wrong = [p for p in self.optimal_s if not 0 <= p <= 100]
        if wrong:
            raise UsageError(f"percentile {wrong[0]:g}: write a number from 0 to 100, such as 99.")
        pairs = [(self.optimal_s[p], self.unacceptable_s[p]) for p in self.optimal_s]
        if any(not optimal < unacceptable for optimal, unacceptable in [*pairs, self.loss]):
            raise UsageError("each unacceptable latency and loss must be above the optimal one.")


def outcome(latency_s: Mapping[float, float], loss_ratio: float, throughput_bps: float, needs: Requirements) -> float:
    """Quality of Outcome in percent: the least of the scores of latency, loss and throughput.

    Source: draft-ietf-ippm-qoo-10, "Overall QoO Calculation".

    Args:
        latency_s: measured latency in s at each percentile of the requirements.

    Raises:
        KeyError: a percentile is missing.
    """
    scores = [_between(latency_s[p], optimal, needs.unacceptable_s[p]) for p, optimal in needs.optimal_s.items()]
    scores.append(_between(loss_ratio, *needs.loss))
    return min(scores) if throughput_bps >= needs.throughput_bps else 0.0


def _between(measured: float, optimal: float, unacceptable: float) -> float:
    """100 at or below the optimal value, 0 from the unacceptable one on, linear in between; NaN stays."""
    share = 1 - (measured - optimal) / (unacceptable - optimal)
    return share if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)


def quality_of_outcome(record: Record, group: str, needs: Requirements, *, two_way: bool = False) -> float:
    """Quality of Outcome of a group in percent, from its packets in the window (`outcome`).

    Latency is the one-way delay of data packets. With `two_way` it is the round-trip time that TCP measures, as the
    requirements must be. Throughput is the mean of the group's users. The run is repeated with the
    same seed if it did not record the distribution.

    Raises:
        UsageError: no such group, or a distribution that is missing while the scenario is unknown.
        ScenarioError: `two_way` for a group without TCP.
    """
    from ..scenario import paths

    found = record.json.get("groups", {}).get(group)
    if found is None:
        raise UsageError(f"no group “{group}”; there are {', '.join(record.json.get('groups', {}))}.")
    delays = record.delays(f"{paths.render(('groups', group))}.{'rtt' if two_way else 'delay'}")
    latency = {p: float(delays.quantile(p / 100)) for p in needs.optimal_s}
    lost = found.get("loss_ratio")
    return outcome(latency, math.nan if lost is None else lost, found.get("throughput_bps") or 0.0, needs)


def responsiveness(loaded: Histogram, foreign: Sequence[Histogram] = ()) -> float:
    """Responsiveness under working conditions in round trips per minute (RPM).

    60 s over the mean of the shortest 95 % of round trips. With foreign round trips the result is the mean of both
    responsivenesses. Source: draft-ietf-ippm-responsiveness-06, "Aggregating the Measurements".

    The draft uses a bulk transfer and the last four seconds. The scenario sets load and window here.
    There is no TLS, which is the draft's TCP-only case.

    Args:
        loaded: round-trip times on the connections that load the path: `record.delays("groups.bulk.rtt")`, which the
            draft allows in place of its self probes.
        foreign: round-trip times of other connections, a histogram for each part: handshake, request.

    Returns:
        NaN without round trips.
    """
    own = 60.0 / loaded.mean(TRIMMED)
    if not foreign:
        return own
    others = 60.0 / (sum(one.mean(TRIMMED) for one in foreign) / len(foreign))
    return (own + others) / 2
