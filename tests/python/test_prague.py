"""TCP Prague compared with a second implementation, written from the rules of Linux v0.7."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import evenflow as ef
import pytest

MSS = 1448
TARGET_NS = 25_000_000
TRANSITION_ROUNDS = 4


@dataclass
class Second:
    """The window in packets; times in nanoseconds."""

    mode: int
    fractional: float = 10.0
    window: int = 10
    srtt_ns: float = 0.0
    slow_start: bool = True
    seen: bool = False
    rounds: int = 0  # since the end of slow start
    round_end: int = 0
    # Alpha counts marks over periods of a virtual round trip that are also full rounds.
    period_end: int = 0
    period_start_ns: int = 0
    delivered: int = 0
    marked: int = 0
    cut_ns: int = -(10**12)

    def __post_init__(self) -> None:
        self.alpha = float(self.mode)

    @property
    def virtual_ns(self) -> float:
        """The scaling of round trips, the virtual one included, starts 4 rounds after slow start."""
        return max(self.srtt_ns, TARGET_NS) if self.rounds >= TRANSITION_ROUNDS else self.srtt_ns

    def mark(self, now: int) -> None:
        if not self.seen:
            self.seen, self.slow_start = True, False
            if self.mode == 0:
                self.fractional /= 2
        if now - self.cut_ns >= self.virtual_ns:
            self.fractional -= self.fractional * self.alpha / 2
            self.cut_ns = now

    def grow(self, unmarked: int) -> None:
        if self.slow_start:
            self.fractional += unmarked
            self.window = math.ceil(self.fractional)
        else:
            self.fractional += unmarked * (self.srtt_ns / self.virtual_ns) ** 2 / max(self.fractional, 1)

    def follow(self) -> None:
        target = max(math.ceil(self.fractional), 2)
        self.window += (target > self.window) - (target < self.window)

    def average(self, now: int, una: int, end: int) -> None:
        if una < self.period_end or now - self.period_start_ns < self.virtual_ns:
            return
        if self.seen:
            self.alpha += (self.marked / self.delivered - self.alpha) / 16
        self.delivered = self.marked = 0
        self.period_end, self.period_start_ns = end, now

    def ack(self, now: int, rtt: int, segments: int, marks: int, una: int, end: int) -> None:
        self.srtt_ns = self.srtt_ns * 7 / 8 + rtt / 8 if self.srtt_ns else rtt
        self.delivered += segments
        self.marked += marks
        if una >= self.round_end:
            self.round_end = end
            self.rounds += not self.slow_start
        if marks:
            self.mark(now)
        self.grow(segments - marks)
        self.follow()
        self.average(now, una, end)


@dataclass
class Both:
    """The two implementations with equal random ACKs."""

    mode: int
    rtt_ms: float
    seed: int
    now: int = 0
    una: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.engine = ef.mechanism("prague", stack="linux", initial_alpha=self.mode)
        self.second = Second(self.mode)

    def acks(self, count: int, probability: float) -> Iterator[dict[str, Any]]:
        for _ in range(count):
            rtt = round(self.rtt_ms * 1e6 * self.rng.uniform(0.9, 1.1))
            self.now += round(self.rng.expovariate(self.second.window / rtt))
            segments = self.rng.choice([1, 1, 2])
            marks = sum(self.rng.random() < probability for _ in range(segments))
            self.una += segments * MSS
            end = self.una + self.second.window * MSS
            answer: dict[str, Any] = self.engine.ack(
                now_s=self.now / 1e9, segments=segments, marks=marks, rtt_s=rtt / 1e9, una=self.una, next=end
            )
            self.second.ack(self.now, rtt, segments, marks, self.una, end)
            yield answer

    def agree(self, answer: dict[str, Any]) -> None:
        assert answer["cwnd"] == self.second.window * MSS
        assert answer["alpha"] == pytest.approx(self.second.alpha, abs=1e-12)
        assert answer["virtual_rtt"] == pytest.approx(self.second.virtual_ns / 1e9, abs=2e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("probability", [0.005, 0.05, 0.4])
@pytest.mark.parametrize("rtt_ms", [5, 20, 60])
@pytest.mark.parametrize("mode", [0, 1])
def test_a_second_implementation_has_the_same_window(mode: int, rtt_ms: int, probability: float, seed: int) -> None:
    both = Both(mode, rtt_ms, seed)
    for answer in both.acks(1500, probability):
        both.agree(answer)
    assert both.second.seen


def test_a_loss_halves_and_the_window_stays_whole() -> None:
    """The engine's recovery sets the window immediately; the second follows by one packet per ACK."""
    both = Both(0, 60, seed=2)
    list(both.acks(300, 0.02))
    both.engine.loss(now_s=both.now / 1e9)
    both.second.fractional /= 2
    *_, last = both.acks(100, 0)
    both.agree(last)
