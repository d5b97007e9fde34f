"""Figures 11 to 13: what the memories of meters and averager do: uploads, fairness, one TCP flow alone."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

from evenflow.claims import Scale
from evenflow.lab import Measure, at, quantity
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point, Run

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, DELAYS_MS, LINK, experiment, one_run, point
from . import figures

UPLOAD_START_S = 115.0
"""100 s after the last possible start of a background flow (section IV-G2)."""
UPLOAD_S = 100.0
MEMORIES_FIG11_S = (1, 3, 10)
SINGLE_FLOW_START_S = 1.0
SINGLE_FLOW_S = 30.0
RECEIVED = "groups.heavy.users[0].flows[0].received_bytes"
THRESHOLD = "links.bottleneck.queue.threshold"
MONITOR_RATE = "stages.monitor.rate"


def upload(scheme: net.Scheme, f1: int, delay_ms: float, **stack: Any) -> Scenario:
    """One upload among ten users of ``f1`` flows each."""
    return net.dumbbell(
        scheme,
        delay_ms=delay_ms,
        heavy=net.upload(UPLOAD_START_S, **stack),
        light=net.tcp(f1, users=10, **stack),
        record={"series": [{"of": RECEIVED, "every": "10 ms"}]},
        warmup_s=UPLOAD_START_S,
        duration_s=UPLOAD_START_S + UPLOAD_S,
        title=f"A sudden upload among 10 users with {f1} flows each",
    )


def upload_label(memory_s: float) -> str:
    """The scheme label of figure 11's curves with ABC."""
    return f"ABC, meter memory {memory_s:g} s"


def fig11(o: Options, scale: Scale) -> list[Point]:
    """Bytes received of an upload that starts long after everyone else, over the time since its start."""
    schemes = {net.NO_ABC: net.drop_tail()}
    schemes |= {upload_label(memory): net.abc(meter_memory_s=memory) for memory in MEMORIES_FIG11_S}
    return [
        point(upload(scheme, f1, delay, **o.stack), scheme=label, f1=f1, delay_ms=delay)
        for (label, scheme), f1, delay in product(schemes.items(), (1, 2), DELAYS_MS)
    ]


def fig12(o: Options, scale: Scale) -> list[Point]:
    """TR, queue and utilisation over the meters' memory for several averager memories."""
    meters = at(scale, (0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 10), (0.25, 1, 3, 10))
    averagers = at(scale, (0.1, 0.3, 1), (0.3, 1))
    return [
        point(
            net.crowd(net.abc(meter_memory_s=m_am, averager_memory_s=m_aa), delay, **o.stack),
            m_am=m_am,
            m_aa=m_aa,
            delay_ms=delay,
        )
        for m_aa, delay, m_am in product(averagers, DELAYS_MS, meters)
    ]


def _single_flow(o: Options, scheme: net.Scheme, delay_ms: float) -> Scenario:
    series: list[dict[str, str]] = [{"of": MONITOR_RATE, "every": "10 ms"}]
    if scheme.queue["kind"] == "activity-aqm":
        series.append({"of": THRESHOLD, "every": "packet"})
    return net.dumbbell(
        scheme,
        delay_ms=delay_ms,
        light=net.tcp(1, start=quantity(SINGLE_FLOW_START_S, "s"), **o.stack),
        record={"series": series},
        warmup_s=0,
        duration_s=SINGLE_FLOW_START_S + SINGLE_FLOW_S,
        after={"kind": "rate-meter", "memory": "0.5 s", "start": "first-packet"},
        title="A single TCP flow",
    )


def fig13(o: Options, scale: Scale) -> list[Point]:
    """One flow's rate after its start, and the drop threshold it meets. Nothing in these runs is random."""
    delays = (5, 25, 50)
    points = [
        point(_single_flow(o, scheme, delay), scheme=label, m_aa=0.3, delay_ms=delay)
        for (label, scheme), delay in product({net.NO_ABC: net.drop_tail(), net.ABC: net.abc()}.items(), delays)
    ]
    points += [
        point(_single_flow(o, net.abc(averager_memory_s=m_aa), delay), scheme=net.ABC, m_aa=m_aa, delay_ms=delay)
        for m_aa, delay in product((0.1, 1), delays)
    ]
    return points


UPLOAD_WORDS = {
    net.NO_ABC: "without ABC",
    **{upload_label(memory): f"ABC with {memory:g} s of meter memory" for memory in MEMORIES_FIG11_S},
}


def _received(after_s: float) -> Measure:
    def kilobytes(run: Run) -> float:
        return measures.received_by(RECEIVED, UPLOAD_START_S, after_s, run) / 1e3

    return kilobytes


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "fig11",
            "A sudden upload among ten users with one or two flows each",
            partial(fig11, o),
            lambda table: figures.fig11(table, RECEIVED, UPLOAD_START_S, UPLOAD_S, UPLOAD_WORDS),
            "Bytes of an upload that the server has received in order, over the time since its start, at 5 ms (a) and "
            "50 "
            "ms (b) of one-way delay. The upload's "
            f"meter has long been running. {LINK} {BAND}",
            {f"received_kB_after_{after:g}_s": _received(after) for after in (1, 2, 5, 10, 20, 50, 100)},
        ),
        experiment(
            "fig12",
            "Memories of meters and averager: one heavy TCP user among ten light ones",
            partial(fig12, o),
            figures.fig12,
            "Throughput ratio (a), mean queue (b) and utilisation (c) over the meters' memory. The heavy user has 10 "
            "flows, each of 10 light users one. "
            f"{LINK} {BAND}",
            ALL,
        ),
        experiment(
            "fig13",
            "A single TCP flow: its rate after the start, and the threshold it meets",
            partial(fig13, o),
            lambda table: figures.fig13(table, MONITOR_RATE, THRESHOLD, SINGLE_FLOW_START_S),
            "Rate of one flow behind the bottleneck, measured with 0.5 s of memory (a), and the drop threshold of its "
            "packets at 5 ms, clipped to 12 and 24 "
            f"packets (b). Single runs without any randomness. {LINK}",
            {"seconds_to_98_percent": partial(measures.time_to_rate, MONITOR_RATE, SINGLE_FLOW_START_S, 9.8e6)},
            one_run,
        ),
    )
