"""FQ-PIE and COBALT beside second implementations, written from RFC 8033, RFC 8290 and Linux' documentation."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import evenflow as ef
import pytest

TARGET_S = PERIOD_S = 0.015
QUANTUM, MTU = 1514, 1514


@dataclass
class Flow:
    """A queue with PIE's variables; random decisions are taken over from the tested implementation."""

    packets: list[tuple[int, int, float]] = field(default_factory=list)
    p: float = 0.0
    delay: float = 0.0
    old: float = 0.0
    burst: float = 0.15
    accumulated: float = 0.0
    deficit: int = 0

    def update(self) -> None:
        scales = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))
        scale = next((by for below, by in scales if self.p < below), 1)
        step = (0.125 * (self.delay - TARGET_S) + 1.25 * (self.delay - self.old)) / scale
        if self.p >= 0.1:
            step = min(step, 0.02)
        self.p += step
        if self.delay == self.old == 0:
            self.p *= 0.98
        self.p = min(max(self.p, 0.0), 1.0)
        self.old = self.delay
        self.burst = max(self.burst - PERIOD_S, 0.0)

    def arrives(self, size: int, dropped: bool) -> None:
        """Fails where the outcome contradicts RFC 8033."""
        if self.p == 0 and self.delay < TARGET_S / 2 and self.old < TARGET_S / 2:
            self.burst = 0.15
        backlog = sum(packet[1] for packet in self.packets)
        calm = (self.old < TARGET_S / 2 and self.p < 0.2) or backlog <= 2 * MTU
        if self.burst > 1e-12 or calm:
            assert not dropped
            return
        if self.p == 0:
            self.accumulated = 0.0
        self.accumulated += self.p
        if dropped:
            assert self.accumulated >= 0.85
            self.accumulated = 0.0
        else:
            assert self.accumulated < 8.5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("load", [0.9, 1.3, 3.0])
def test_fq_pie_decides_as_a_second_implementation(seed: int, load: float) -> None:
    rng = random.Random(seed * 10 + int(load * 10))
    ours = ef.mechanism("fq-pie", flows=4096, link_rate="12 Mbit/s", seed=seed)
    flows = [Flow() for _ in range(5)]
    new: list[int] = []
    old: list[int] = []
    next_update, now, free, drops = PERIOD_S, 0.0, 0.0, 0

    def updates(until: float) -> None:
        nonlocal next_update
        while next_update < until:
            for flow in flows:
                flow.update()
            next_update = round(next_update + PERIOD_S, 9)

    def served() -> int | None:
        while new or old:
            active = new or old
            index = active[0]
            flow = flows[index]
            if flow.deficit <= 0:
                flow.deficit += QUANTUM
                old.append(active.pop(0))
                continue
            if not flow.packets:
                active.pop(0)
                if active is new:
                    old.append(index)
                continue
            number, size, since = flow.packets.pop(0)
            flow.delay = free - since if flow.packets else 0.0
            flow.deficit -= size
            return number
        return None

    for number in range(4000):
        now = round(now + rng.expovariate(load * 1500), 9)
        while free < now:
            updates(free)
            expected, got = served(), ours.dequeue(now_s=free)
            assert got["id"] == expected
            if expected is None:
                break
            free = round(free + 0.001 * 1000 / 1500, 9)
        free = max(free, now)
        updates(now)
        index = rng.choice([0, 0, 0, 1, 2, 3, 4])
        flow = flows[index]
        dropped = "refused" in ours.enqueue(now_s=now, id=number, bytes=1000, queue=index)
        flow.arrives(1000, dropped)
        drops += dropped
        if not dropped:
            if index not in new and index not in old:
                new.append(index)
                flow.deficit = QUANTUM
            flow.packets.append((number, 1000, now))
        highest = max((flow.p for flow in flows if flow.packets), default=0.0)
        assert ours.observe(now_s=now)["probability"] == pytest.approx(highest, abs=1e-6)
    assert drops > (20 if load > 1 else -1)


@dataclass
class Cobalt:
    """COBALT of one queue, on a clock of ns: CoDel by steps, BLUE by chance, whose draws are taken over."""

    count: int = 0
    next_s: float = 0.0
    above: bool = False
    started: bool = False  # Linux' inverse square root of the count is 0 before the first change
    blue: float = 0.0
    changed: float = 0.0

    def gap(self) -> float:
        return 0.1 / math.sqrt(max(self.count, 1))

    def overflow(self, now: float) -> None:
        if now - self.changed > 0.005:
            self.blue, self.changed = min(self.blue + 1 / 256, 1.0), now
        self.above, self.next_s, self.count = True, now, max(self.count, 1)

    def empty(self, now: float) -> None:
        if self.blue > 0 and now - self.changed > 0.005:
            self.blue, self.changed = max(self.blue - 1 / 4096, 0.0), now
        self.above = False
        if self.count and now >= self.next_s:
            self.started = True
            self.count -= 1
            self.next_s = round(self.next_s + self.gap(), 9)

    def head(self, sojourn: float, now: float, blue: bool) -> bool:
        """Whether the head is signalled: by CoDel, or by BLUE where `blue`."""
        schedule = round(now - self.next_s, 9)
        due, above = self.count > 0 and schedule >= 0, sojourn > 0.005 and sojourn > 4 * 0.001
        if above and not self.above:
            self.next_s = round(now + self.gap(), 9) if self.started else now
        self.above = above
        self.started |= due
        if above and not self.count:
            self.count = 1
        codel = due and above
        if codel:
            self.count += 1
            self.next_s = round(self.next_s + self.gap(), 9)
            schedule = round(now - self.next_s, 9)
        else:
            while due:
                self.count -= 1
                self.next_s = round(self.next_s + self.gap(), 9)
                schedule = round(now - self.next_s, 9)
                due = self.count > 0 and schedule >= 0
        if not self.count:
            self.next_s = round(now + 0.1, 9)
        elif schedule > 0 and not codel and not blue:
            self.next_s = now
        return codel


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("load", "limit"), [(0.9, 400), (1.2, 400), (1.5, 40)])
def test_cobalt_decides_as_a_second_implementation(seed: int, load: float, limit: int) -> None:
    rng = random.Random(seed * 10 + int(load * 10))
    ours = ef.mechanism("cobalt", limit=f"{limit} packets", link_rate="12.112 Mbit/s", seed=seed)
    model, queue = Cobalt(), list[tuple[int, float]]()
    now, free, codel, blue = 0.0, 0.0, 0, 0
    for number in range(6000):
        now = round(now + rng.expovariate(load * 1000), 9)
        while free < now:
            got = ours.dequeue(now_s=free)
            lost = list(got["dropped"])
            while queue:
                head, since = queue.pop(0)
                gone = head in lost
                decided = model.head(free - since, free, blue=gone and model.blue > 0)
                if decided:
                    codel += 1
                    assert gone or not queue, "the last packet is not dropped"
                elif gone:
                    blue += 1
                    assert model.blue > 0
                if not gone:
                    break
            else:
                head = -1
                model.empty(free)
            assert got["id"] == (None if head < 0 else head)
            if head < 0:
                break
            free = round(free + 0.001, 9)
        free = max(free, now)
        taken = "refused" not in ours.enqueue(now_s=now, id=number, bytes=1514, ecn="not-capable")
        assert taken == (len(queue) < limit)
        if taken:
            queue.append((number, now))
        else:
            model.overflow(now)
        assert ours.observe(now_s=now)["probability"] == pytest.approx(model.blue)
    assert codel > (5 if load > 1 else -1)
    assert blue > (5 if limit == 40 else -1)
