"""Claims c01 to c15: the sources, the network, the meter and the AQM, before any fairness is shown."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from evenflow.claims import Check, Claim, Data
from evenflow.lab import select, within
from evenflow.study import Run

from .. import network as net
from ..ledger import FIFTEEN, claim
from ..measures import PAPER_TOLERANCE, Lab, histogram, words
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


def _offered_mbps(run: Run) -> float:
    """What both users offer to the bottleneck in the measured time."""
    start, end = run.json["window_s"]
    return (run.metric("stages.meter.passed_bytes") or 0.0) * 8 / float(end - start) / 1e6


def _sources(data: Data) -> list[Check]:
    udp = Lab(data["abc-fig03"])
    # a flow's first round trips at 50 ms: nothing lost yet, and no window that would cut a segment short
    tcp = Lab(data["abc-x-checks"]).at(what=runs.CHECK_RTT, delay_ms=50)
    sizes = [_packet_bytes(run) for run in udp.runs(scheme=net.ABC)]
    found = [
        Check(
            "UDP packets: largest error of the mean size", max(abs(size - 1500) for size in sizes), hi=1e-6, unit="B"
        ),
        Check("TCP packets: mean size", tcp.of(_data_packet_bytes), lo=1500 - 1e-6, hi=1500 + 1e-6, unit="B"),
        Check("TCP packets: mean payload", tcp.of(_payload_bytes), lo=1446 - 1e-6, hi=1446 + 1e-6, unit="B"),
    ]
    for r1 in udp.grid("r1"):
        for r0 in udp.grid("r0", scheme=net.ABC, r1=r1):
            offered = udp.at(scheme=net.ABC, r0=r0, r1=r1).of(_offered_mbps) / (r0 + r1)
            found.append(Check(f"{words(r0=r0, r1=r1)}: offered over nominal", offered, lo=0.99, hi=1.01))
    return found


def _payload_bytes(run: Run) -> float:
    """Mean payload of a TCP flow's data packets."""
    payload, whole = run.metric("groups.light.goodput_bps"), run.metric("groups.light.throughput_bps")
    return _data_packet_bytes(run) * payload / whole if payload and whole else math.nan


def _variation(run: Run) -> float:
    """Coefficient of variation of the rate in intervals of 1 s; the first, in which the source starts, is left out."""
    per_second = run.series(runs.ARRIVED)[1][1:]
    return float(per_second.std(ddof=1) / per_second.mean())


def _poisson(data: Data) -> list[Check]:
    lab = Lab(data["abc-x-checks"])
    return [
        Check(
            f"{rate:g} Mbit/s",
            lab.at(what=runs.CHECK_POISSON, rate_mbps=rate).of(_variation),
            lo=paper - 0.01,
            hi=paper + 0.01,
        )
        for rate, paper in ((1.0, 0.11), (10.0, 0.03))
    ]


def _round_trip_ms(run: Run) -> float | None:
    """Time from the first ACK of data, which opens the window to two packets, to the next one."""
    times, packets = run.series(runs.WINDOW)
    opened = [np.flatnonzero(packets >= size) for size in (2, 3)]
    return float(times[opened[1][0]] - times[opened[0][0]]) * 1e3 if opened[1].size else None


def _shortest_rtt(data: Data) -> list[Check]:
    lab = Lab(data["abc-x-checks"])
    found = []
    for delay in lab.grid("delay_ms", what=runs.CHECK_RTT):
        least = 2 * (0.1 + delay)
        rtt = lab.at(what=runs.CHECK_RTT, delay_ms=delay).of(_round_trip_ms)
        found.append(Check(words(delay_ms=delay), rtt, lo=least, hi=least + 2.5, unit="ms"))
    return found


def _bandwidth_delay_products(_: Data) -> list[Check]:
    return [
        Check(
            words(delay_ms=delay), round(2 * (0.1 + delay) * 1e-3 * 10e6 / 12000, 1), lo=paper, hi=paper, unit="packets"
        )
        for delay, paper in ((5, 8.5), (25, 41.8), (50, 83.5))
    ]


def _packet_time(_: Data) -> list[Check]:
    packet_s = net.PACKET_BYTES * 8 / (net.BOTTLENECK_MBPS * 1e6)
    return [
        Check("a full packet", packet_s * 1e3, lo=1.2 - 1e-9, hi=1.2 + 1e-9, unit="ms"),
        Check("packets in 0.3 s", 0.3 / packet_s, lo=250 - 1e-6, hi=250 + 1e-6),
    ]


def _buffer_time(_: Data, paper_ms: float) -> list[Check]:
    return [Check("24 packets at 10 Mbit/s", net.DRAIN_TIME_MS, lo=paper_ms - 0.05, hi=paper_ms + 0.05, unit="ms")]


def _steady_sum(_: Data) -> list[Check]:
    lo, hi = within(1.875, 0.01)
    return [Check("S after 15 s at 5 Mbit/s", analytic.weighted_sum_bytes(3.0, 15.0) / 1e6, lo=lo, hi=hi, unit="MB")]


def _head_start(_: Data) -> list[Check]:
    frame = analytic.FRAME_BYTES / 1e6
    burst = analytic.bytes_until_equal_activity(3.0) / 1e6
    return [
        Check("sent at one instant", burst, lo=1.875 - frame, hi=1.875 + frame, unit="MB"),
        *(
            Check(
                f"sent at {rate:g} Mbit/s",
                analytic.bytes_until_equal_activity_at(3.0, rate * 1e6) / 1e6,
                lo=1.875 - frame,
                unit="MB",
            )
            for rate in (6.0, 10.0, 100.0)
        ),
    ]


def _head_start_scales(_: Data) -> list[Check]:
    return [
        Check(
            f"meter memory {memory:g} s: volume over memory",
            analytic.bytes_until_equal_activity(memory) / memory / 1e6,
            lo=within(0.625, 0.01)[0],
            hi=within(0.625, 0.01)[1],
            unit="MB/s",
        )
        for memory in (1.0, 3.0, 10.0)
    ]


def _activity_scale(_: Data) -> list[Check]:
    return [
        Check("packets whose sign of A contradicts R_m against R_r", float(analytic.sign_violations()), lo=0, hi=0),
        Check("largest error of A(2R) − A(R) = 1", analytic.doubling_error(), hi=1e-9),
    ]


DropSequence = tuple[bytes, bytes]


def _drop_sequence(run: Run) -> DropSequence:
    """When and to which flow packets were dropped, exactly."""
    times, flows = run.series("events.drop.flow")
    return times.tobytes(), flows.tobytes()


def _scaled_reference_rates(data: Data) -> list[Check]:
    lab = Lab(data["abc-x-scale"])
    plain = {run.seed: _drop_sequence(run) for run in lab.runs(factor=1.0)}
    found = []
    for factor in lab.grid("factor"):
        if factor == 1.0:
            continue
        runs = lab.runs(factor=factor)
        if math.log2(factor).is_integer():
            differing = sum(_drop_sequence(run) != plain[run.seed] for run in runs)
            found.append(Check(f"s = {factor:g}: runs with another drop sequence", float(differing), lo=0, hi=0))
        else:
            drops = sum(len(_drop_sequence(run)[0]) for run in runs) / sum(len(plain[run.seed][0]) for run in runs)
            found.append(Check(f"s = {factor:g}: drops over those at s = 1", drops, lo=0.999, hi=1.001))
    return found


def _average_shifts(_: Data) -> list[Check]:
    return [Check(f"s = {s:g}: largest error of the shift", analytic.shift_error(s), hi=1e-9) for s in analytic.FACTORS]


def _drops_in_short_queues(data: Data) -> list[Check]:
    found = []
    for name in CROWD_EXPERIMENTS:
        dropped, runs = 0.0, 0
        for run in data[f"abc-{name}"].runs:
            if run.labels.get("scheme", net.ABC) != net.ABC:
                continue
            q_min = int(min(float(run.labels.get("q_min", 12)), float(run.labels.get("q_base", 20))))
            dropped += float(histogram(net.AT_DROP, run)[:q_min].sum())
            runs += 1
        found.append(Check(f"figure {int(name[3:])}, {runs} runs: drops at Q < Q_min", dropped, lo=0, hi=0))
    found += [
        Check("stepped by hand: drops at Q < Q_min", float(analytic.drops_below_q_min()), lo=0, hi=0),
        Check(
            "decisions that change when all activities shift by 3", float(analytic.changed_decisions(3.0)), lo=0, hi=0
        ),
        Check(
            "decisions that change when all activities shift by −8", float(analytic.changed_decisions(-8.0)), lo=0, hi=0
        ),
        Check(
            "decisions that change with the size of packets", float(analytic.changed_decisions(0.0, 200)), lo=0, hi=0
        ),
    ]
    return found


def _udp_shares(data: Data) -> list[Check]:
    lab = Lab(data["abc-fig03"])
    found = []
    for r1 in lab.grid("r1", scheme=net.NO_ABC):
        for r0 in select(lab.grid("r0", scheme=net.NO_ABC, r1=r1), 12 - r1):
            relative = lab.at(scheme=net.NO_ABC, r0=r0, r1=r1).ratio / (r0 / r1)
            found.append(Check(f"{words(r0=r0, r1=r1)}: (T0/T1) / (R0/R1)", relative, lo=0.96, hi=1.04))
    return found


def tcp_shares_without_abc(data: Data, share: float, alone: tuple[float, float]) -> list[Check]:
    """Figure 4a without ABC: TR over f0 within ``share`` of 1, or within ``alone`` where both users have one flow."""
    lab = Lab(data["abc-fig04"])
    found = []
    for delay in lab.grid("delay_ms"):
        for f0 in lab.grid("f0", scheme=net.NO_ABC, delay_ms=delay):
            lo, hi = alone if f0 == 1 else within(1.0, share)
            relative = lab.at(scheme=net.NO_ABC, f0=f0, delay_ms=delay).ratio / f0
            found.append(Check(f"{words(f0=f0, delay_ms=delay)}: TR / f0", relative, lo=lo, hi=hi))
    return found


def _tcp_shares(data: Data, share: float, alone: tuple[float, float]) -> list[Check]:
    crowd = Lab(data["abc-fig09"])
    lo, hi = within(10.0, share)
    return tcp_shares_without_abc(data, share, alone) + [
        Check(
            f"10 flows against 10 users with one, {words(delay_ms=delay)}: TR",
            crowd.at(scheme=net.NO_ABC, delay_ms=delay).ratio,
            lo=lo,
            hi=hi,
        )
        for delay in crowd.grid("delay_ms", scheme=net.NO_ABC)
    ]


TCP_SHARES_NOTE = (
    "Identical flows of hosts that answer at once fall into step behind a drop-tail queue. With one flow each at 5 ms "
    "runs end "
    "at a ratio of 0.64, 1.0 or 1.56; random processing times of up to 1.2 ms bring all of them to 1.01 "
    "(abc-x-sensitivity). "
    "Few runs can meet one of these states only."
)

CLAIMS: list[Claim] = [
    claim(
        1,
        "section IV-A1",
        "UDP and TCP packets have 1500 bytes with all headers, and a UDP user offers one such packet in each mean gap.",
        expected="1500 B; offered rate R_t",
        tolerance="sizes exact; rate ±1 % over 100 s",
        on=("fig03", "x-checks"),
        literal=_sources,
    ),
    claim(
        2,
        "section IV-A1",
        "A Poisson source's rate in intervals of 1 s varies little: coefficient of variation 0.11 at 1 Mbit/s, 0.03 "
        "at 10 Mbit/s.",
        expected="0.11; 0.03",
        tolerance="±0.01 (theory: 0.1095 and 0.0346; the printed formula lacks the packet size and the exponent ½)",
        on=("x-checks",),
        literal=_poisson,
    ),
    claim(
        3,
        "section IV-A2",
        "A round trip never takes less than twice the access and the bottleneck delay together.",
        expected="2 (D_a + D_b) or a little more",
        tolerance="up to 2.5 ms more, for serialisation",
        on=("x-checks",),
        literal=_shortest_rtt,
    ),
    claim(
        4,
        "section IV-G5",
        "At D_b of 5, 25 and 50 ms the bandwidth-delay product is at least 8.5, 41.8 and 83.5 packets.",
        expected="8.5, 41.8, 83.5 packets",
        tolerance="exact to the printed digit (arithmetic)",
        literal=_bandwidth_delay_products,
    ),
    claim(
        5,
        "section IV-G4",
        "The bottleneck sends a full packet in 1.2 ms, so 0.3 s of averager memory are about 250 packets.",
        expected="1.2 ms; 250 packets",
        tolerance="exact (arithmetic)",
        literal=_packet_time,
    ),
    claim(
        6,
        "section IV-B2",
        "A full buffer of 24 packets stands for 31.6 ms of delay.",
        expected="31.6 ms",
        tolerance="exact to the printed digit (arithmetic)",
        literal=partial(_buffer_time, paper_ms=31.6),
        relaxed=partial(_buffer_time, paper_ms=28.8),
        reading=(
            "28.8 ms: 24 packets of 1500 B at 10 Mbit/s. The printed number cannot be derived and is taken for a slip."
        ),
        note=(
            "24 · 1500 B · 8 / 10 Mbit/s = 28.8 ms, and 30.0 ms with the packet in service; no packet size of the "
            "paper gives 31.6 ms."
        ),
    ),
    claim(
        7,
        "section IV-G1",
        "The meter of a user who sends 5 Mbit/s steadily converges, with 3 s of memory, to a weighted sum of 1.875 MB.",
        expected="1.875 MB",
        tolerance="±1 % after 15 s",
        literal=_steady_sum,
    ),
    claim(
        8,
        "section IV-G1",
        "A user who was idle must send at least 1.875 MB before its activity equals that of a steady 5 Mbit/s user, "
        "however fast it sends.",
        expected="≥ 1.875 MB; equal to it for a burst at one instant",
        tolerance="±1 packet",
        literal=_head_start,
    ),
    claim(
        9,
        "section IV-G1",
        "The head start of an idle user is proportional to the meter's memory.",
        expected="0.625 MB for each second of memory",
        tolerance="±1 % at 1, 3 and 10 s",
        literal=_head_start_scales,
    ),
    claim(
        10,
        "section III-B",
        "An activity is negative exactly if the measured rate is below the reference rate, and twice the rate is one "
        "more.",
        expected="A(2R) − A(R) = 1",
        tolerance="1e-9; the sign exactly",
        literal=_activity_scale,
    ),
    claim(
        11,
        "section IV-E1",
        "Scaling every user's reference rate by one factor changes no decision of the AQM.",
        expected="identical drops",
        tolerance="identical sequence for powers of two; ±0.1 % of the drops otherwise, where roundings may tip ties",
        on=("x-scale",),
        literal=_scaled_reference_rates,
        note=(
            "The decisions depend on A − A_avg alone, but one rounding that tips a decision in a closed loop changes "
            "everything after it; "
            "and the initial A_avg = 0 does not scale: it decides about the very first packet."
        ),
    ),
    claim(
        12,
        "section IV-E1, equation 12",
        "Scaling the reference rates by s shifts the averaged activity by −log2 s.",
        expected="A_avg* = A_avg − log2 s",
        tolerance="1e-9 after the first accepted packet",
        literal=_average_shifts,
    ),
    claim(
        13,
        "sections III-C2 and V-E1",
        "The AQM drops nothing while the queue is shorter than Q_min, and decides by A − A_avg and Q alone.",
        expected="no drop at Q < Q_min",
        tolerance="exact, in every run that counts queue lengths at drops",
        on=CROWD_EXPERIMENTS,
        literal=_drops_in_short_queues,
    ),
    claim(
        14,
        "section IV-A3",
        "Without ABC two UDP users share an overloaded link in proportion to what they send.",
        expected="T0/T1 = R0/R1",
        tolerance="±4 % where R0 + R1 ≥ 12 Mbit/s",
        on=("fig03",),
        literal=_udp_shares,
    ),
    claim(
        15,
        "section IV-A3",
        "Without ABC TCP users share a link in proportion to their numbers of flows.",
        expected="T0/T1 = f0/f1",
        tolerance=FIFTEEN,
        on=("fig04", "fig09"),
        literal=partial(_tcp_shares, share=PAPER_TOLERANCE, alone=within(1.0, PAPER_TOLERANCE)),
        relaxed=partial(_tcp_shares, share=0.2, alone=(0.7, 1.5)),
        reading="±20 %, and 0.7 to 1.5 for one flow against one: the paper itself calls the relation approximate.",
        note=TCP_SHARES_NOTE,
    ),
]
