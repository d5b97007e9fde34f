"""Measures of claims c01 to c15: the sources, the network, the meter and the AQM, before any fairness is shown."""

from __future__ import annotations

import math

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import select
from evenflow.study import Run

from .. import network as net
from ..claims import claims
from ..measures import Lab, histogram, words
from ..notes import step_note
from . import analytic, runs

CROWD_EXPERIMENTS = ("fig09", "fig10", "fig12", "fig16")
"""Those that count the queue length at every drop."""


def _packet_bytes(run: Run) -> float:
    """Mean size of the packets that pass the meters."""
    size, packets = run.metric("stages.meter.passed_bytes"), run.metric("stages.meter.passed_packets")
    return size / packets if size and packets else math.nan


def _data_packet_bytes(run: Run) -> float:
    """Mean size of a TCP flow's data packets."""
    start, end = run.json["window_s"]
    packets = run.metric("groups.light.delivered_packets") or math.nan
    return (run.metric("groups.light.throughput_bps") or 0.0) * float(end - start) / 8 / packets


def _payload_bytes(run: Run) -> float:
    """Mean payload of a TCP flow's data packets."""
    payload, whole = run.metric("groups.light.goodput_bps"), run.metric("groups.light.throughput_bps")
    return _data_packet_bytes(run) * payload / whole if payload and whole else math.nan


def _offered_mbps(run: Run) -> float:
    """What both users offer to the bottleneck in the measured time."""
    start, end = run.json["window_s"]
    return (run.metric("stages.meter.passed_bytes") or 0.0) * 8 / float(end - start) / 1e6


@claims.measure("c01")
def sources(data: Data, accept: Accept) -> list[Check]:
    """Sizes of packets, and what the UDP users offer over what they are told to."""
    udp = Lab(data["abc-fig03"])
    # a flow's first round trips at 50 ms: nothing lost yet, and no window that would cut a segment short
    tcp = Lab(data["abc-x-checks"]).at(what=runs.CHECK_RTT, delay_ms=50)
    sizes = [_packet_bytes(run) for run in udp.runs(scheme=net.ABC)]
    return [
        accept("size_error", "UDP packets: largest error of the mean size", max(abs(size - 1500) for size in sizes)),
        accept("size", "TCP packets: mean size", tcp.of(_data_packet_bytes)),
        accept("payload", "TCP packets: mean payload", tcp.of(_payload_bytes)),
        *(
            accept(
                "offered",
                f"{words(r0=r0, r1=r1)}: offered over nominal",
                udp.at(scheme=net.ABC, r0=r0, r1=r1).of(_offered_mbps) / (r0 + r1),
            )
            for r1 in udp.grid("r1")
            for r0 in udp.grid("r0", scheme=net.ABC, r1=r1)
        ),
    ]


def _variation(run: Run) -> float:
    """Coefficient of variation of the rate in intervals of 1 s; the first, in which the source starts, is left out."""
    per_second = run.series(runs.ARRIVED)[1][1:]
    return float(per_second.std(ddof=1) / per_second.mean())


@claims.measure("c02")
def poisson(data: Data, accept: Accept) -> list[Check]:
    """How much a Poisson source's rate varies from second to second."""
    lab = Lab(data["abc-x-checks"])
    return [
        accept(name, f"{rate:g} Mbit/s", lab.at(what=runs.CHECK_POISSON, rate_mbps=rate).of(_variation))
        for name, rate in (("at_1_mbps", 1.0), ("at_10_mbps", 10.0))
    ]


def _round_trip_ms(run: Run) -> float | None:
    """Time from the first ACK of data, which opens the window to two packets, to the next one."""
    times, packets = run.series(runs.WINDOW)
    opened = [np.flatnonzero(packets >= size) for size in (2, 3)]
    return float(times[opened[1][0]] - times[opened[0][0]]) * 1e3 if opened[1].size else None


@claims.measure("c03")
def shortest_rtt(data: Data, accept: Accept) -> list[Check]:
    """The first round trips less twice the propagation delays."""
    lab = Lab(data["abc-x-checks"])
    return [
        accept(
            "more",
            f"{words(delay_ms=delay)}: round trip − 2 (D_a + D_b)",
            lab.at(what=runs.CHECK_RTT, delay_ms=delay).of(_round_trip_ms) - 2 * (0.1 + delay),
        )
        for delay in lab.grid("delay_ms", what=runs.CHECK_RTT)
    ]


@claims.measure("c04")
def bandwidth_delay_products(_: Data, accept: Accept) -> list[Check]:
    """Packets on a round trip, rounded as the paper prints them."""
    return [
        accept(f"at_{delay}_ms", words(delay_ms=delay), round(2 * (0.1 + delay) * 1e-3 * 10e6 / 12000, 1))
        for delay in (5, 25, 50)
    ]


@claims.measure("c05")
def packet_time(_: Data, accept: Accept) -> list[Check]:
    """How long a packet takes, and how many fill the averager's memory."""
    packet_s = net.PACKET_BYTES * 8 / (net.BOTTLENECK_MBPS * 1e6)
    return [
        accept("packet", "a full packet", packet_s * 1e3),
        accept("memory", "packets in 0.3 s", 0.3 / packet_s),
    ]


@claims.measure("c06")
def buffer_time(_: Data, accept: Accept) -> list[Check]:
    """How long a full buffer takes."""
    return [accept("drain_time", "24 packets at 10 Mbit/s", net.DRAIN_TIME_MS)]


@claims.note("c06")
def buffer_note(_: Data, __: Judgement) -> str:
    """Where the printed number cannot come from."""
    service = net.DRAIN_TIME_MS * (net.BUFFER_PACKETS + 1) / net.BUFFER_PACKETS
    return (
        f"24 · 1500 B · 8 / 10 Mbit/s = {net.DRAIN_TIME_MS:.1f} ms, and {service:.1f} ms with the packet in service; "
        "no packet size of the paper gives the printed number, which is taken for a slip."
    )


@claims.measure("c07")
def steady_sum(_: Data, accept: Accept) -> list[Check]:
    """The meter of a steady user, stepped by hand."""
    return [accept("sum", "S after 15 s at 5 Mbit/s", analytic.weighted_sum_bytes(3.0, 15.0) / 1e6)]


@claims.measure("c08")
def head_start(_: Data, accept: Accept) -> list[Check]:
    """What an idle user can send before it is as active as a steady one."""
    return [
        accept("burst", "sent at one instant", analytic.bytes_until_equal_activity(3.0) / 1e6),
        *(
            accept(
                "sent",
                f"sent at {rate:g} Mbit/s",
                analytic.bytes_until_equal_activity_at(3.0, rate * 1e6) / 1e6,
            )
            for rate in (6.0, 10.0, 100.0)
        ),
    ]


@claims.measure("c09")
def head_start_scales(_: Data, accept: Accept) -> list[Check]:
    """The head start over the meter's memory."""
    return [
        accept(
            "per_second",
            f"meter memory {memory:g} s: volume over memory",
            analytic.bytes_until_equal_activity(memory) / memory / 1e6,
        )
        for memory in (1.0, 3.0, 10.0)
    ]


@claims.measure("c10")
def activity_scale(_: Data, accept: Accept) -> list[Check]:
    """Sign and scale of activities over a random packet train."""
    return [
        accept("violations", "packets whose sign of A contradicts R_m against R_r", float(analytic.sign_violations())),
        accept("error", "largest error of A(2R) − A(R) = 1", analytic.doubling_error()),
    ]


DropSequence = tuple[bytes, bytes]


def _drop_sequence(run: Run) -> DropSequence:
    """When and to which flow packets were dropped, exactly."""
    times, flows = run.series("events.drop.flow")
    return times.tobytes(), flows.tobytes()


@claims.measure("c11")
def scaled_reference_rates(data: Data, accept: Accept) -> list[Check]:
    """Drops with scaled reference rates against those without."""
    lab = Lab(data["abc-x-scale"])
    plain = {run.seed: _drop_sequence(run) for run in lab.runs(factor=1.0)}
    found = []
    for factor in lab.grid("factor"):
        if factor == 1.0:
            continue
        scaled = lab.runs(factor=factor)
        if math.log2(factor).is_integer():
            differing = sum(_drop_sequence(run) != plain[run.seed] for run in scaled)
            found.append(accept("differing", f"s = {factor:g}: runs with another drop sequence", float(differing)))
        else:
            drops = sum(len(_drop_sequence(run)[0]) for run in scaled) / sum(len(plain[run.seed][0]) for run in scaled)
            found.append(accept("drops", f"s = {factor:g}: drops over those at s = 1", drops))
    return found


@claims.note("c11")
def scaled_note(_: Data, __: Judgement) -> str:
    """Why drops may differ at all."""
    return (
        "The decisions depend on A − A_avg alone, but one rounding that tips a decision in a closed loop changes "
        "everything after it; and the initial A_avg = 0 does not scale: it decides about the very first packet."
    )


@claims.measure("c12")
def average_shifts(_: Data, accept: Accept) -> list[Check]:
    """By how much the average misses its shift."""
    return [
        accept("error", f"s = {s:g}: largest error of the shift", analytic.shift_error(s)) for s in analytic.FACTORS
    ]


@claims.measure("c13")
def drops_in_short_queues(data: Data, accept: Accept) -> list[Check]:
    """Drops below Q_min in every run that counts them, and decisions stepped by hand."""
    found = []
    for name in CROWD_EXPERIMENTS:
        dropped, counted = 0.0, 0
        for run in data[f"abc-{name}"].runs:
            if run.labels.get("scheme", net.ABC) != net.ABC:
                continue
            q_min = int(min(float(run.labels.get("q_min", 12)), float(run.labels.get("q_base", 20))))
            dropped += float(histogram(net.AT_DROP, run)[:q_min].sum())
            counted += 1
        found.append(accept("drops", f"figure {int(name[3:])}, {counted} runs: drops at Q < Q_min", dropped))
    changed = {
        "when all activities shift by 3": analytic.changed_decisions(3.0),
        "when all activities shift by −8": analytic.changed_decisions(-8.0),
        "with the size of packets": analytic.changed_decisions(0.0, 200),
    }
    return [
        *found,
        accept("drops", "stepped by hand: drops at Q < Q_min", float(analytic.drops_below_q_min())),
        *(accept("changed", f"decisions that change {how}", float(count)) for how, count in changed.items()),
    ]


@claims.measure("c14")
def udp_shares(data: Data, accept: Accept) -> list[Check]:
    """Shares over what the users send, without ABC in overload."""
    lab = Lab(data["abc-fig03"])
    return [
        accept(
            "relative",
            f"{words(r0=r0, r1=r1)}: (T0/T1) / (R0/R1)",
            lab.at(scheme=net.NO_ABC, r0=r0, r1=r1).ratio / (r0 / r1),
        )
        for r1 in lab.grid("r1", scheme=net.NO_ABC)
        for r0 in select(lab.grid("r0", scheme=net.NO_ABC, r1=r1), 12 - r1)
    ]


@claims.measure("c37")
def tcp_shares_without_abc(data: Data, accept: Accept) -> list[Check]:
    """Figure 4a without ABC: TR over f0."""
    lab = Lab(data["abc-fig04"])
    return [
        accept(
            "per_flow",
            f"{words(f0=f0, delay_ms=delay)}: TR / f0",
            lab.at(scheme=net.NO_ABC, f0=f0, delay_ms=delay).ratio / f0,
        )
        for delay in lab.grid("delay_ms")
        for f0 in lab.grid("f0", scheme=net.NO_ABC, delay_ms=delay)
    ]


@claims.measure("c15")
def tcp_shares(data: Data, accept: Accept) -> list[Check]:
    """The same, and among ten light users."""
    crowd = Lab(data["abc-fig09"])
    return tcp_shares_without_abc(data, accept) + [
        accept(
            "per_flow",
            f"10 flows against 10 users with one, {words(delay_ms=delay)}: TR / 10",
            crowd.at(scheme=net.NO_ABC, delay_ms=delay).ratio / 10,
        )
        for delay in crowd.grid("delay_ms", scheme=net.NO_ABC)
    ]


claims.note("c15", "c37")(step_note)
