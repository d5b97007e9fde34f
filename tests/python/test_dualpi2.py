"""DualPI2 beside a second implementation, written from appendix A of RFC 9332."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import evenflow as ef
import pytest

MTU = 1500
K = 2.0
TARGET_S, PERIOD_S, RTT_MAX_S = 0.015, 0.015, 0.1
ALPHA, BETA = 0.1 * PERIOD_S / RTT_MAX_S**2, 0.3 / RTT_MAX_S
RATE_BPS = 40e6


@dataclass
class Second:
    """The pseudo-code, line by line, with the credit scheme that `describe dualpi2` names as the scheduler."""

    p: float = 0.0
    previous: float = 0.0
    next_update: float = PERIOD_S
    waiting: dict[str, list[tuple[int, int, str, float]]] = field(default_factory=lambda: {"L": [], "C": []})
    count: dict[str, float] = field(default_factory=lambda: {"L": 0.0, "C": 0.0})
    credit: float = -MTU * (1 - 2 / 16)

    def recur(self, queue: str, likelihood: float) -> bool:
        self.count[queue] += likelihood
        if self.count[queue] > 1:
            self.count[queue] -= 1
            return True
        return False

    def updates(self, now: float) -> None:
        """All updates before `now`; an arrival at the same instant comes before."""
        while self.next_update < now:
            ages = [self.next_update - queue[0][3] for queue in self.waiting.values() if queue]
            delay = max(ages, default=0.0)
            self.p += ALPHA * (delay - TARGET_S) + BETA * (delay - self.previous)
            self.p = min(max(self.p, 0.0), 1.0)
            self.previous = delay
            self.next_update += PERIOD_S

    def enqueue(self, number: int, size: int, ecn: str, now: float) -> bool:
        self.updates(now)
        held = sum(packet[1] for queue in self.waiting.values() for packet in queue)
        if held + MTU > RATE_BPS * 0.25 / 8:
            return False
        self.waiting["L" if ecn in ("ect1", "marked") else "C"].append((number, size, ecn, now))
        return True

    def scheduled(self) -> str | None:
        if not self.waiting["L"] and not self.waiting["C"]:
            self.credit = -MTU * (1 - 2 / 16)
            return None
        if not self.waiting["C"] or (self.waiting["L"] and self.credit <= 0):
            return "L"
        return "C"

    def dequeue(self, now: float) -> tuple[int | None, bool, list[int]]:
        """The packet, whether it is marked now, and the packets dropped before it."""
        self.updates(now)
        dropped: list[int] = []
        while queue := self.scheduled():
            length = len(self.waiting[queue])
            number, size, ecn, since = self.waiting[queue].pop(0)
            p_cl, p_c, marked = K * self.p, self.p**2, False
            if queue == "L":
                delay_us = round((now - since) * 1e9) / 1e3
                own = min(max((delay_us - 800) / 400, 0.0), 1.0) if length > 1 else 0.0
                if p_cl < 1:
                    marked = self.recur("L", max(own, p_cl))
                elif self.recur("L", p_c):
                    dropped.append(number)
                    continue
                else:
                    marked = True
            elif self.recur("C", p_c):
                if ecn == "not-capable" or p_cl >= 1:
                    dropped.append(number)
                    continue
                marked = True
            share = 1 / 16
            if self.waiting["C" if queue == "L" else "L"]:
                self.credit += share * size if queue == "L" else (share - 1) * size
            return number, marked, dropped
        return None, False, dropped


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("load", [0.7, 1.05, 2.0, 6.0])
def test_a_second_implementation_decides_the_same(seed: int, load: float) -> None:
    rng = random.Random(seed * 100 + int(load * 10))
    ours = ef.mechanism("dualpi2", max_packet=f"{MTU} B", link_rate="40 Mbit/s")
    theirs = Second()
    now, free, signals, number = 0.0, 0.0, 0, 0
    while number < 3000:
        now = round(now + rng.expovariate(load * RATE_BPS / 8 / 1000), 9)
        # The transmitter takes packets as it becomes free.
        while free < now:
            got, expected = ours.dequeue(now_s=free), theirs.dequeue(free)
            assert (got["id"], got["marked"] is not None, got["dropped"]) == expected
            signals += expected[1] + len(expected[2])
            if expected[0] is None:
                break
            free = round(free + 1000 * 8 / RATE_BPS, 9)
        free = max(free, now)
        ecn = rng.choice(["not-capable", "capable", "ect1", "ect1", "marked"])
        taken = theirs.enqueue(number, 1000, ecn, now)
        answer = ours.enqueue(now_s=now, id=number, bytes=1000, ecn=ecn)
        assert ("refused" not in answer) == taken
        number += 1
    assert signals > (10 if load > 1 else -1)
