"""The paper's metrics (section IV-A4), read from finished runs; labels of points in words; titles of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from evenflow import lab
from evenflow.lab import Floats, Vocabulary, plain
from evenflow.stats import mean_interval
from evenflow.study import Curve, Run
from evenflow.values import Metric

from . import network as net


def throughput_mbps(group: str, run: Run) -> float | None:
    """Mean throughput of the group's users, whole packets behind the bottleneck."""
    value = run.metric(f"groups.{group}.throughput_bps")
    return None if value is None else value / 1e6


def ratio(run: Run) -> float | None:
    """TR of a run; infinite where the light user got nothing, undefined where neither did."""
    return lab.over(throughput_mbps("heavy", run), throughput_mbps("light", run))


def inverse(run: Run) -> float | None:
    """T1 over T0: finite where the light user gets nothing."""
    return lab.over(throughput_mbps("light", run), throughput_mbps("heavy", run))


def delay_ms(traffic_class: str, run: Run) -> float | None:
    """Mean wait of the class's packets at the bottleneck in ms; undefined where none of them was sent."""
    found = run.json["links"]["bottleneck"]["classes"].get(traffic_class)
    return lab.scaled(found and found["queue_delay_s_mean"], 1e3)


def tail_share(run: Run) -> float | None:
    """Share of the bottleneck's drops that happened because the buffer was full; undefined without a drop."""
    drops = run.json["links"]["bottleneck"]["drops"]
    total = sum(drops.values())
    return drops.get("limit", 0) / total if total else None


def histogram(name: str, run: Run) -> Floats:
    """A recorded histogram: one entry for each queue length 0, 1, 2, … up to the buffer's size."""
    found = run.json["histograms"][name]
    weights: Floats = np.zeros(max(net.BUFFER_PACKETS + 1, len(found)))
    weights[: len(found)] = found
    return weights


def total_histogram(name: str, runs: Iterable[Run]) -> Floats:
    """The same over several runs together."""
    total: Floats = np.sum([histogram(name, run) for run in runs], axis=0)
    return total


def share_below(name: str, edge: int, run: Run) -> float | None:
    """Share of a histogram's weight at queue lengths below `edge`."""
    weights = histogram(name, run)
    total = float(weights.sum())
    return float(weights[:edge].sum()) / total if total > 0 else None


def share_from(name: str, edge: int, run: Run) -> float | None:
    """Share of a histogram's weight at queue lengths of at least `edge`."""
    below = share_below(name, edge, run)
    return None if below is None else 1.0 - below


def drop_shares(runs: list[Run]) -> Floats:
    """Share of each run's drops at each queue length, shape (lengths, runs); NaN in a run without a drop."""
    counts = np.array([histogram(net.AT_DROP, run) for run in runs]).T
    total = counts.sum(axis=0)
    shares: Floats = np.divide(counts, total, out=np.full(counts.shape, math.nan), where=total > 0)
    return shares


def received_by(after_s: float, run: Run) -> float:
    """In-order bytes an upload has brought to the server `after_s` after its start."""
    times, increases = run.series(net.RECEIVED)
    chosen = (times > net.UPLOAD_START_S) & (times <= net.UPLOAD_START_S + after_s + 1e-9)
    return float(increases[chosen].sum())


def received_kb(after_s: float) -> Metric:
    """Kilobytes received after so many seconds."""
    return Metric(partial(received_by, after_s), f"received after {after_s:g} s (kB)", per=1e3)


EARLIEST_S = 0.1
"""Where the axis of figure 11 begins: about the first round trip at 50 ms."""


def received_curve(runs: list[Run]) -> Curve:
    """Kilobytes received in order over the time since the start, at times equally far apart on a logarithmic axis.

    The interval is that of the mean's logarithm, so that it is as wide above as below and does not reach 0.
    """
    after = np.geomspace(EARLIEST_S, net.UPLOAD_S, 61)
    rows = []
    for run in runs:
        times, increases = run.series(net.RECEIVED)
        total = np.concatenate([[0.0], np.cumsum(np.where(times > net.UPLOAD_START_S, increases, 0.0))])
        rows.append(total[np.searchsorted(times, net.UPLOAD_START_S + after + 1e-9, side="right")] / 1e3)
    found = [mean_interval(column) for column in np.array(rows).T]
    mean = np.array([i.mean if i.mean > 0 else math.nan for i in found])
    factor = np.exp(np.array([i.hi - i.mean for i in found]) / mean)
    return Curve(x=after, mean=mean, lo=mean / factor, hi=mean * factor, n=np.array([i.n for i in found]))


def over_time(
    name: str, start_s: float, *, per: float = 1.0, clip: tuple[float, float] = (-math.inf, math.inf)
) -> Callable[[list[Run]], Curve]:
    """A series of a single run over the time since `start_s`."""

    def curve(runs: list[Run]) -> Curve:
        times, values = runs[0].series(name)
        shown = times >= start_s
        y = np.clip(values[shown] / per, *clip)
        return Curve(times[shown] - start_s, y, y, y, np.ones(len(y), dtype=np.int64))

    return curve


def time_to_full_rate(run: Run) -> float | None:
    """Seconds from the flow's start until its rate first reaches 98 % of the link's; None if it never does."""
    times, rates = run.series(net.MONITOR_RATE)
    full = 0.98 * net.BOTTLENECK_MBPS * 1e6
    reached = np.flatnonzero((times >= net.SINGLE_FLOW_START_S) & (rates >= full))
    return float(times[reached[0]]) - net.SINGLE_FLOW_START_S if reached.size else None


def mean_average(run: Run) -> float:
    """Mean of A_avg over the measured time."""
    times, values = run.series(net.AVERAGE)
    return float(values[times > float(run.json["window_s"][0])].mean())


def data_segments(run: Run) -> tuple[Floats, Floats]:
    """Times since a lone flow's start and drop thresholds, without the packets of the handshake."""
    times, values = run.series(net.THRESHOLD)
    handshake_s = net.SINGLE_FLOW_START_S + 2 * (float(run.labels["delay_ms"]) + 0.1) / 1e3
    # the acknowledgement of the handshake leaves together with the first data segment and is shorter: it arrives first
    found = np.flatnonzero(times > handshake_s)[1:]
    return times[found] - net.SINGLE_FLOW_START_S, values[found]


def adaptation_s(runs: list[Run]) -> float:
    """Seconds from a lone flow's start until the threshold, once at its minimum, first reaches 19 packets."""
    times, values = data_segments(runs[0])
    low = np.flatnonzero(values <= 12.5)
    if not low.size:
        return math.nan
    reached = np.flatnonzero(values[low[0] :] >= 19)
    return float(times[low[0] + reached[0]]) if reached.size else net.SINGLE_FLOW_S


def seconds_to_full_rate(runs: list[Run]) -> float:
    """`time_to_full_rate` of a single run; its length if the flow never gets there."""
    found = time_to_full_rate(runs[0])
    return net.SINGLE_FLOW_S if found is None else found


def packet_bytes(run: Run) -> float:
    """Mean size of the packets that pass the meters."""
    size, packets = run.metric("stages.meter.passed_bytes"), run.metric("stages.meter.passed_packets")
    return size / packets if size and packets else math.nan


def data_packet_bytes(run: Run) -> float:
    """Mean size of a TCP flow's data packets."""
    start, end = run.json["window_s"]
    packets = run.metric("groups.light.delivered_packets") or math.nan
    return (run.metric("groups.light.throughput_bps") or 0.0) * float(end - start) / 8 / packets


def payload_bytes(run: Run) -> float:
    """Mean payload of a TCP flow's data packets."""
    payload, whole = run.metric("groups.light.goodput_bps"), run.metric("groups.light.throughput_bps")
    return data_packet_bytes(run) * payload / whole if payload and whole else math.nan


def offered_mbps(run: Run) -> float:
    """What both users offer to the bottleneck in the measured time."""
    start, end = run.json["window_s"]
    return (run.metric("stages.meter.passed_bytes") or 0.0) * 8 / float(end - start) / 1e6


def variation(run: Run) -> float:
    """Coefficient of variation of the rate in intervals of 1 s; the first, in which the source starts, is left out."""
    per_second = run.series(net.ARRIVED)[1][1:]
    return float(per_second.std(ddof=1) / per_second.mean())


def round_trip_ms(run: Run) -> float | None:
    """Time from the first ACK of data, which opens the window to two packets, to the next one."""
    times, packets = run.series(net.WINDOW)
    opened = [np.flatnonzero(packets >= size) for size in (2, 3)]
    return float(times[opened[1][0]] - times[opened[0][0]]) * 1e3 if opened[1].size else None


T0 = Metric("groups.heavy.throughput_bps", "throughput T0 of user 0 (Mbit/s)", per=1e6)
T1 = Metric("groups.light.throughput_bps", "throughput T1 of the light user (Mbit/s)", per=1e6)
TR = Metric(ratio, "throughput ratio TR")
INVERSE = Metric(inverse, "T1 / T0")
Q = Metric("links.bottleneck.queue_packets_mean", "mean queue (packets)")
U = Metric("links.bottleneck.utilisation")
U_PERCENT = Metric("links.bottleneck.utilisation", "utilisation (%)", per=0.01)
DBE = Metric(partial(delay_ms, "be"), "mean queueing delay of best effort (ms)")
DEF = Metric(partial(delay_ms, "ef"), "mean queueing delay of EF (ms)")
LOSS_HEAVY = Metric("groups.heavy.loss_ratio")
LOSS_LIGHT = Metric("groups.light.loss_ratio")
DEAD_LIGHT = Metric("groups.light.flows_dead")
TAIL = Metric(tail_share)
TAIL_PERCENT = Metric(tail_share, "tail drops (% of all drops)", per=0.01)
BELOW_Q_BASE = Metric(partial(share_below, net.QUEUE_LENGTHS, 20))
DROPS_AT_0 = Metric(partial(share_below, net.AT_DROP, 1))
DROPS_BELOW_12 = Metric(partial(share_below, net.AT_DROP, 12))
DROPS_AT_24 = Metric(partial(share_from, net.AT_DROP, 24))
AVERAGE = Metric(mean_average)

LEGENDS = {
    net.NO_ABC: "without ABC",
    net.ABC: "with ABC",
    net.EF1: "EF bytes counted once",
    net.EF3: "EF bytes counted three times",
    net.FAIR: "fair meter",
    net.NO_ABC_MEDF: "without ABC, MEDF",
    net.NO_ABC_STRICT: "without ABC, strict priority",
    net.EF3_STRICT: "with ABC, strict priority",
}
WORDS: Vocabulary = {
    "scheme": str,
    "scheme:short": lambda v: str(v).rpartition(", ")[2],
    "scheme:legend": lambda v: LEGENDS.get(str(v), str(v)),
    "light": str,
    "who": str,
    "how": str,
    "setting": str,
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
    "m_aa:name": lambda v: plain(v).replace(".", "_"),
    "delay_ms": lambda v: f"D_b = {plain(v)} ms",
    "delay_ms:legend": lambda v: f"one-way delay {plain(v)} ms",
}
"""Labels in words; `scheme:short` is what tells two schemes of a figure apart."""
AXES = {
    "r0": "transmission rate R0 of user 0 (Mbit/s)",
    "f0": "TCP flows f0 of the heavy user",
    "s": "factor s between the reference rates",
    "gamma": "differentiation factor γ (packets)",
    "q_base": "threshold Q_base (packets)",
    "m_am": "meter memory (s)",
    "told": "capacity that CSFQ is told (Mbit/s)",
    "factor": "factor on all reference rates",
    "length": "queue length at a drop (packets)",
}
