"""The paper's metrics (section IV-A4) read from finished runs, one value a seed.

T0, T1: throughput of a user of group 0 and 1 in Mbit/s, whole packets. TR: T0 / T1 of each run. Q: time average of
waiting packets. U: busy share of the bottleneck. dBE, dEF: mean wait of a class's packets in ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenflow import lab
from evenflow.lab import Floats, Measure, Vocabulary, in_words, plain
from evenflow.stats import Interval, ratio_of_means
from evenflow.study import Run, Table

from .network import BUFFER_PACKETS

if TYPE_CHECKING:
    from evenflow.study import Label


def throughput_mbps(group: str, run: Run) -> float | None:
    """Mean throughput of the group's users in Mbit/s."""
    value = run.metric(f"groups.{group}.throughput_bps")
    return None if value is None else value / 1e6


t0: Measure = partial(throughput_mbps, "heavy")
t1: Measure = partial(throughput_mbps, "light")


def ratio(run: Run) -> float | None:
    """TR of one run; infinite where the light user got nothing, undefined where neither did."""
    return lab.over(t0(run), t1(run))


def queue(run: Run) -> float | None:
    """Time average of packets waiting at the bottleneck."""
    return run.metric("links.bottleneck.queue_packets_mean")


def utilisation(run: Run) -> float | None:
    """Busy share of the bottleneck, 0 to 1."""
    return run.metric("links.bottleneck.utilisation")


def delay_ms(traffic_class: str, run: Run) -> float | None:
    """Mean wait of the class's packets at the bottleneck in ms; undefined where none of them was sent."""
    found = run.json["links"]["bottleneck"]["classes"].get(traffic_class)
    return lab.scaled(found and found["queue_delay_s_mean"], 1e3)


delay_be: Measure = partial(delay_ms, "be")
delay_ef: Measure = partial(delay_ms, "ef")


def loss(group: str, run: Run) -> float | None:
    """Share of the group's packets that were dropped anywhere."""
    return run.metric(f"groups.{group}.loss_ratio")


def dead_flows(group: str, run: Run) -> float | None:
    """TCP flows of the group that gave up after fruitless retransmissions."""
    return run.metric(f"groups.{group}.flows_dead")


def drops(run: Run) -> Mapping[str, int]:
    """Drops at the bottleneck by reason: limit, activity, csfq, pushed_out."""
    found: Mapping[str, int] = run.json["links"]["bottleneck"]["drops"]
    return found


def tail_share(run: Run) -> float | None:
    """Share of the bottleneck's drops that happened because the buffer was full; undefined without a drop."""
    by_reason = drops(run)
    total = sum(by_reason.values())
    return by_reason.get("limit", 0) / total if total else None


def histogram(name: str, run: Run) -> Floats:
    """A recorded histogram: one entry for each queue length 0, 1, 2, … up to the buffer's size."""
    found = run.json["histograms"][name]
    weights: Floats = np.zeros(max(BUFFER_PACKETS + 1, len(found)))
    weights[: len(found)] = found
    return weights


def total_histogram(name: str, runs: Iterable[Run]) -> Floats:
    """The same over several runs together."""
    total: Floats = np.sum([histogram(name, run) for run in runs], axis=0)
    return total


def share_below(name: str, edge: int, run: Run) -> float | None:
    """Share of a histogram's weight at queue lengths below ``edge``."""
    weights = histogram(name, run)
    total = float(weights.sum())
    return float(weights[:edge].sum()) / total if total > 0 else None


def share_from(name: str, edge: int, run: Run) -> float | None:
    """Share of a histogram's weight at queue lengths of at least ``edge``."""
    below = share_below(name, edge, run)
    return None if below is None else 1.0 - below


def received_by(name: str, start_s: float, after_s: float, run: Run) -> float:
    """In-order bytes an upload has brought to the server ``after_s`` after its start at ``start_s``."""
    times, increases = run.series(name)
    chosen = (times > start_s) & (times <= start_s + after_s + 1e-9)
    return float(increases[chosen].sum())


def time_to_rate(name: str, start_s: float, rate_bps: float, run: Run) -> float | None:
    """Seconds from ``start_s`` until a rate series first reaches ``rate_bps``; None if it never does."""
    times, rates = run.series(name)
    reached = np.flatnonzero((times >= start_s) & (rates >= rate_bps))
    return float(times[reached[0]]) - start_s if reached.size else None


_WORDS: Vocabulary = {
    "scheme": str,
    "r0": lambda v: f"R0 = {plain(v)} Mbit/s",
    "r1": lambda v: f"R1 = {plain(v)} Mbit/s",
    "f0": lambda v: f"{plain(v)} heavy flow{'' if v == 1 else 's'}",
    "f1": lambda v: f"{plain(v)} flow{'' if v == 1 else 's'} a background user",
    "flows": lambda v: f"{plain(v)} flow{'' if v == 1 else 's'} each",
    "s": lambda v: f"s = {plain(v)}",
    "gamma": lambda v: f"γ = {plain(v)}",
    "q_min": lambda v: f"Q_min = {plain(v)}",
    "q_base": lambda v: f"Q_base = {plain(v)}",
    "m_am": lambda v: f"meter memory {plain(v)} s",
    "m_aa": lambda v: f"averager memory {plain(v)} s",
    "delay_ms": lambda v: f"D_b = {plain(v)} ms",
}


def words(**labels: Label) -> str:
    """Labels as a reader says them: "10 heavy flows, D_b = 50 ms"."""
    return in_words(_WORDS, labels)


class Spot(lab.Spot):
    """The runs of one point, in seed order."""

    @property
    def t0(self) -> Floats:
        """Throughput of a heavy user, Mbit/s."""
        return self.of(t0)

    @property
    def t1(self) -> Floats:
        """Throughput of a light user, Mbit/s."""
        return self.of(t1)

    @property
    def ratio(self) -> Floats:
        """TR run by run."""
        return self.of(ratio)

    @property
    def queue(self) -> Floats:
        """Mean queue, packets."""
        return self.of(queue)

    @property
    def utilisation(self) -> Floats:
        """Utilisation, 0 to 1."""
        return self.of(utilisation)

    @property
    def delay_be(self) -> Floats:
        """Mean wait of best effort, ms."""
        return self.of(delay_be)

    @property
    def delay_ef(self) -> Floats:
        """Mean wait of expedited forwarding, ms."""
        return self.of(delay_ef)

    def ratio_of_means(self) -> Interval:
        """Mean T0 over mean T1: for points where a run's T1 may vanish."""
        return ratio_of_means(self.t0, self.t1)

    def inverse_ratio_of_means(self) -> Interval:
        """Mean T1 over mean T0: stays finite where the light user is starved."""
        return ratio_of_means(self.t1, self.t0)


class Lab(lab.LabOf[Spot]):
    """A table of finished runs, looked up by labels."""

    def __init__(self, table: Table) -> None:
        super().__init__(table, Spot)


PAPER_TOLERANCE = 0.15
"""Accepted around a number of the paper where nothing narrower is agreed."""
