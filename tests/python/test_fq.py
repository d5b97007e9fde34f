"""FQ beside a second implementation, written from tc-fq(8) and the behaviour of Linux' sch_fq."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import evenflow as ef
import pytest

QUANTUM, INITIAL, REFILL_NS = 3028, 15140, 40_000_000


@dataclass
class Flow:
    packets: deque[tuple[int, int, int]] = field(default_factory=deque)
    credit: int = INITIAL
    emptied: int | None = None
    next: int = 0
    place: str = "idle"


class Fq:
    """Queues by key, on a clock of ns. `rate` is in B/s."""

    def __init__(self, rate: int | None, threshold: int | None, flow_limit: int) -> None:
        self.rate, self.threshold, self.flow_limit = rate, threshold, flow_limit
        self.flows: dict[int, Flow] = {}
        self.new: list[Flow] = []
        self.old: list[Flow] = []
        self.throttled: list[Flow] = []
        self.packets = 0

    def arrive(self, now: int, number: int, size: int, key: int) -> bool:
        flow = self.flows.setdefault(key, Flow())
        if len(flow.packets) == self.flow_limit:
            return False
        if flow.place == "idle":
            if flow.emptied is not None and now > flow.emptied + REFILL_NS:
                flow.credit = max(flow.credit, QUANTUM)
            self.new.append(flow)
            flow.place = "listed"
        flow.packets.append((number, size, now))
        self.packets += 1
        return True

    def depart(self, now: int) -> tuple[int, bool] | None:
        """The packet that leaves, and whether it waited for too long."""
        if not self.packets:
            return None
        for flow in [one for one in self.throttled if one.next <= now]:
            self.throttled.remove(flow)
            flow.place = "listed"
            self.old.append(flow)
        while served := self.new or self.old:
            flow = served[0]
            if flow.credit <= 0:
                flow.credit += QUANTUM
                self.old.append(served.pop(0))
            elif not flow.packets:
                served.pop(0)
                if served is self.new and self.old:
                    self.old.append(flow)
                else:
                    flow.place, flow.emptied = "idle", now
            elif (due := max(flow.packets[0][2], flow.next)) > now:
                flow.place, flow.next = "throttled", due
                self.throttled.append(served.pop(0))
                self.throttled.sort(key=lambda one: one.next)
            else:
                number, size, _ = flow.packets.popleft()
                self.packets -= 1
                flow.credit -= size
                self.pace(flow, size, now)
                return number, self.threshold is not None and now - due > self.threshold
        return None

    def pace(self, flow: Flow, size: int, now: int) -> None:
        if self.rate is None:
            return
        if self.rate <= 550_000 // 8:
            flow.credit = 0
        elif flow.credit > 0:
            return
        else:
            size = max(size, QUANTUM)
        gap = min(size * 10**9 // self.rate, 10**9)
        if flow.next:
            gap -= min(gap // 2, now - flow.next)
        flow.next = now + gap


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("load", [0.5, 0.9, 1.5])
@pytest.mark.parametrize("rate", [None, 60_000, 300_000])
@pytest.mark.parametrize("mask", [0, 65_535])
def test_packets_leave_as_in_a_second_implementation(mask: int, rate: int | None, load: float, seed: int) -> None:
    rng = random.Random(f"{mask} {rate} {load} {seed}")
    given: dict[str, Any] = {} if rate is None else {"max_rate": f"{8 * rate} bit/s"}
    ours = ef.mechanism(
        "fq", orphan_mask=mask, flow_limit="30 packets", ce_threshold="1 ms", limit="100 packets", seed=seed, **given
    )
    model = Fq(rate, 1_000_000, 30)
    now = free = marks = full = throttled = 0

    def serve(until: int) -> None:
        nonlocal free, marks, throttled
        while free <= until:
            got = ours.dequeue(now_s=free / 1e9)
            expected = model.depart(free)
            assert got["id"] == (expected and expected[0])
            if expected is not None:
                assert (got["marked"] == "ce_threshold") == (expected[1] and expected[0] % 2 == 0)
                marks += got["marked"] is not None
                free += 1000 * int(got["bytes"])
            elif model.throttled:
                assert round(got["next_s"] * 1e9) == model.throttled[0].next
                throttled += 1
                free = model.throttled[0].next
            else:
                assert got["next_s"] is None
                break
        free = max(free, until)

    for number in range(4000):
        burst = number % 200 < 150
        now += int(rng.expovariate(load / 800_000)) if burst else int(rng.expovariate(1 / 30_000_000))
        serve(now)
        key = rng.choice([*range(5), 0, 0]) if burst else rng.choice([0, 7])
        size = rng.choice([60, 500, 1000, 1514])
        ecn = "not-capable" if number % 2 else "ect0"
        answer = ours.enqueue(now_s=now / 1e9, id=number, bytes=size, ecn=ecn, queue=key)
        waits = model.packets < 100
        taken = waits and model.arrive(now, number, size, key & mask)
        full += waits and not taken
        assert answer.get("refused") == (None if taken else "flow_limit" if waits else "limit")
    serve(now + 10**12)
    assert not model.packets
    assert marks > (20 if rate is None else -1)
    assert (throttled > 100) == (rate is not None)
    assert full > (5 if load > 1 else -1)


def test_a_low_rate_threshold_needs_a_rate() -> None:
    remedy = r"low_rate_threshold.*has no effect without max_rate; add max_rate or remove it"
    with pytest.raises(ef.UsageError, match=remedy):
        ef.mechanism("fq", low_rate_threshold="1 Mbit/s")
