"""Claims that need no network: the meter and the AQM stepped by hand, the very Rust objects the simulator uses."""

from __future__ import annotations

import math
import random
from functools import cache

from evenflow.mechanism import Mechanism, mechanism

STEADY_BPS = 5e6
"""The steady user of section IV-G1: half of a 10 Mbit/s bottleneck."""
FRAME_BYTES = 1500
REFERENCE_RATE_BPS = 10e3
LINK_BPS = 10e6


def meter(memory_s: float = 3.0) -> Mechanism:
    """An activity meter as in Table 1, started at time 0."""
    return mechanism("activity-meter", memory=f"{memory_s:g} s", reference_rate="10 kbit/s", start="run")


def aqm() -> Mechanism:
    """An activity AQM as in Table 1."""
    return mechanism(
        "activity-aqm", limit="24 packets", q_min="12 packets", q_base="20 packets", gamma="16 packets", memory="0.3 s"
    )


def _forward(instance: Mechanism, now_s: float, size: int) -> dict[str, float]:
    found: dict[str, float] = instance.forward(now_s=now_s, bytes=size, cls="be")
    return found


def _feed_steadily(instance: Mechanism, until_s: float) -> tuple[float, dict[str, float]]:
    """Full packets at `STEADY_BPS` until a time: the last packet's time and what the meter made of it."""
    gap = FRAME_BYTES * 8 / STEADY_BPS
    last = {"label": math.nan, "rate": math.nan}
    count = int(until_s / gap)
    for k in range(1, count + 1):
        last = _forward(instance, k * gap, FRAME_BYTES)
    return count * gap, last


@cache
def weighted_sum_bytes(memory_s: float, after_s: float) -> float:
    """S in bytes of a user who has sent 5 Mbit/s for ``after_s``: measured rate times weighted time (equation 3)."""
    now, last = _feed_steadily(meter(memory_s), after_s)
    weighted_time = -memory_s * math.expm1(-now / memory_s)
    return last["rate"] * weighted_time / 8


@cache
def bytes_until_equal_activity(memory_s: float) -> float:
    """How much an idle user can send at one instant until a packet's activity reaches that of the steady user.

    Both meters have run for eight memories, so that the weighted time has converged.
    """
    now, steady = _feed_steadily(meter(memory_s), 8 * memory_s)
    starting = meter(memory_s)
    sent = 0
    while True:
        sent += FRAME_BYTES
        if _forward(starting, now, FRAME_BYTES)["label"] >= steady["label"]:
            return float(sent)


@cache
def bytes_until_equal_activity_at(memory_s: float, rate_bps: float) -> float:
    """The same for a user who starts at a finite rate above the steady user's."""
    now, steady = _feed_steadily(meter(memory_s), 8 * memory_s)
    starting = meter(memory_s)
    gap = FRAME_BYTES * 8 / rate_bps
    sent = 0
    while True:
        sent += FRAME_BYTES
        now += gap
        if _forward(starting, now, FRAME_BYTES)["label"] >= steady["label"]:
            return float(sent)


def _gaps(count: int, seed: int) -> list[float]:
    """Times of a packet train of changing pace, from slower than the reference rate to far above it."""
    source = random.Random(seed)
    now, times = 0.0, []
    for k in range(count):
        now += source.expovariate(10.0 ** (1 + 2 * (k * 4 // count)) / 10.0)
        times.append(now)
    return times


def doubling_error() -> float:
    """Largest deviation from +1 of the activity when every packet is twice as large, over a random packet train."""
    single, double = meter(), meter()
    return max(
        abs(_forward(double, now, 2 * 750)["label"] - _forward(single, now, 750)["label"] - 1.0)
        for now in _gaps(2000, 1)
    )


def sign_violations() -> int:
    """Packets of a random train whose activity has another sign than the measured rate over the reference rate has."""
    instance = meter()
    wrong = 0
    for now in _gaps(4000, 2):
        found = _forward(instance, now, 200)
        wrong += (found["label"] < 0) != (found["rate"] < REFERENCE_RATE_BPS)
    return wrong


def _offers(seed: int, count: int = 2500) -> list[tuple[float, float, int]]:
    """(time, activity, queue length) of packets offered to an AQM."""
    source = random.Random(seed)
    now, found = 0.0, []
    for _ in range(count):
        now += source.expovariate(800.0)
        found.append((now, source.gauss(9.0, 1.0), source.randrange(25)))
    return found


def _decisions(
    offers: list[tuple[float, float, int]], shift: float, size: int = FRAME_BYTES
) -> list[tuple[bool, float]]:
    """Whether each packet is accepted, and the average told, when all activities are lower by ``shift``."""
    instance = aqm()
    found = []
    for now, activity, packets in offers:
        answer = instance.admit(
            now_s=now,
            bytes=size,
            label=activity - shift,
            packets=packets,
            queue_bytes=packets * size,
            rate_bps=LINK_BPS,
        )
        found.append((answer["verdict"] == "accept", float(answer["average"])))
    return found


FACTORS = (1e-3, 0.5, 2.0, 10.0, 1e3, 1e6)


@cache
def shift_error(factor: float) -> float:
    """Largest deviation of A_avg from a shift by −log2 s, from the first accepted packet on."""
    offers = [(0.0, 9.0, 0), *_offers(3)]
    shift = math.log2(factor)
    plain, shifted = _decisions(offers, 0.0), _decisions(offers, shift)
    return max(abs(b[1] + shift - a[1]) for a, b in zip(plain[1:], shifted[1:], strict=True))


@cache
def changed_decisions(shift: float, size: int = FRAME_BYTES) -> int:
    """Decisions that change when all activities shift together, or when packets have another size.

    The very first packet meets A_avg = 0 whatever the shift, so the train begins at an empty queue, which accepts it.
    """
    offers = [(0.0, 9.0, 0), *_offers(4)]
    return sum(a[0] != b[0] for a, b in zip(_decisions(offers, 0.0), _decisions(offers, shift, size), strict=True))


def drops_below_q_min() -> int:
    """Packets of the highest activities dropped at a queue shorter than Q_min = 12."""
    offers = [(now, activity + 20.0 * (k % 2), packets) for k, (now, activity, packets) in enumerate(_offers(5))]
    return sum(not ok and offer[2] < 12 for (ok, _), offer in zip(_decisions(offers, 0.0), offers, strict=True))
