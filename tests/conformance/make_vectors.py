"""Write the conformance vectors: what rules for queues decide about given packets and random numbers.

    python tests/conformance/make_vectors.py            write them all
    python tests/conformance/make_vectors.py --check    say what differs from what is checked in, and exit 1

Nothing of Evenflow is used here. Each rule is written a second time, straight from the documents that README.md names,
in exact arithmetic (fractions), one class for each program called RED: no parameter is shared between them, so that a
mistake in a preset shows. Only exponentials are floating point.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from conex import conex
from gateways import gateways
from players import players
from reecn import reecn
from shapers import shapers
from stages import stages
from viewers import fetchers, viewers
from wire import wire

HERE = Path(__file__).resolve().parent
RATE = 10_000_000
NS_PER_BYTE = 800
DELAY_NS = 5_000_000


@dataclass
class Packet:
    """A packet and what it finds. Times in ns, lengths of what waits, the one in transmission not counted."""

    at: int
    size: int
    ecn: str
    packets: int = 0
    bytes: int = 0
    idle_since: int | None = None
    full: bool = False


class Draws:
    """Numbers in (0, 1) with six places, by Knuth's 64-bit linear congruential generator."""

    def __init__(self, seed: int) -> None:
        self.state = seed
        self.used: list[float] = []

    def next(self) -> float:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return ((self.state >> 33) % 999_999 + 1) / 1_000_000

    def draw(self) -> Fraction:
        u = self.next()
        self.used.append(u)
        return Fraction(str(u))


def arrivals(seed: int, count: int, *, sizes: tuple[int, ...], load: float, ecn: tuple[str, ...]) -> Iterator[Packet]:
    """Bursts and pauses: mostly back to back at `load` times the link's rate, now and then a silence."""
    dice = Draws(seed)
    at = 1_000_000
    for k in range(count):
        size = sizes[int(dice.next() * len(sizes))]
        yield Packet(at, size, ecn[int(dice.next() * len(ecn))])
        gap = size * NS_PER_BYTE / load * (0.2 + 1.6 * dice.next())
        if k % 61 == 60:
            gap += 40_000_000 * dice.next() + 12_000_000
        at += int(gap) // 1000 * 1000 + 7


# --- RED ------------------------------------------------------------------------------------------------------------


class Rule:
    """What all rules have: numbers to draw, and the action."""

    action = "drop"

    def __init__(self, seed: int) -> None:
        self.draws = Draws(seed)

    def picked(self, packet: Packet, reason: str) -> tuple[str, str | None, str]:
        """Verdict, reason and codepoint of a packet that is picked (RFC 3168 section 5)."""
        if self.action != "drop" and packet.ecn != "not-capable":
            return "mark", reason, "marked"
        if self.action == "mark-everything":
            return "accept", None, packet.ecn
        return "drop", reason, packet.ecn

    def seen(self) -> dict[str, float]:
        return {}


class Ns2(Rule):
    """ns-2 2.35, queue/red.cc: enque, drop_early, modify_p; use_mark_p_ false."""

    wait: bool | None = True  # None: no spreading at all
    gentle = True
    in_bytes = False
    hard_drop = True
    mean = 500
    above_limit: Fraction | None = None

    def __init__(self, seed: int, low: int, high: int | Fraction, max_p: str, weight: Fraction) -> None:
        super().__init__(seed)
        self.low, self.high, self.max_p, self.weight = low, high, Fraction(max_p), weight
        self.average = Fraction(0)
        self.count = self.count_bytes = 0
        self.old = False

    def seen(self) -> dict[str, float]:
        return {"average": float(self.average)}

    def estimate(self, p: Packet, q: int) -> None:
        m = 0
        if p.idle_since is not None:
            m = (p.at - p.idle_since) // (self.mean * NS_PER_BYTE)
        self.average = self.average * (1 - self.weight) ** (m + 1) + self.weight * q

    def probability(self) -> Fraction:
        if self.average >= self.high:
            if not self.gentle:
                return Fraction(1)
            return min(Fraction(1), self.max_p + (1 - self.max_p) * (self.average - self.high) / self.high)
        return self.max_p * (self.average - self.low) / (self.high - self.low)

    def spread(self, p: Fraction, size: int) -> Fraction:
        count = self.count_bytes // self.mean if self.in_bytes else self.count
        if self.wait is None:
            pass
        elif self.wait:
            p = Fraction(0) if count * p < 1 else p / (2 - count * p) if count * p < 2 else Fraction(1)
        else:
            p = p / (1 - count * p) if count * p < 1 else Fraction(1)
        if self.in_bytes and p < 1:
            p = p * size / self.mean
        return min(p, Fraction(1))

    def forced(self) -> None:
        self.count = self.count_bytes = 0

    def overflow(self) -> None:
        self.count = self.count_bytes = 0

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        q = p.bytes if self.in_bytes else p.packets
        self.estimate(p, q)
        self.count += 1
        self.count_bytes += p.size
        kind = None
        if self.average >= self.low and q > 1:
            if self.average >= (2 * self.high if self.gentle else self.high):
                kind = "forced"
                self.forced()
            elif not self.old:
                self.old = True
                self.count, self.count_bytes = 1, p.size
            elif self.draws.draw() <= self.spread(self.probability(), p.size):
                kind = "early"
                self.count = self.count_bytes = 0
        else:
            self.old = False
        if p.full:
            self.overflow()
            return "drop", "limit", p.ecn
        if self.above_limit is not None and q >= self.above_limit:
            self.count = self.count_bytes = 0
            return self.picked(p, "forced")
        if kind == "forced" and self.hard_drop and self.action != "mark-everything":
            return "drop", "forced", p.ecn
        return self.picked(p, kind) if kind else ("accept", None, p.ecn)


class Ns3(Ns2):
    """ns-3.37, RedQueueDisc: as ns-2, but the count is reset by an early pick alone (Ns1Compat false)."""

    def forced(self) -> None:
        pass

    def overflow(self) -> None:
        pass


class Floyd(Rule):
    """Floyd and Jacobson 1993, figure 2 (the detailed algorithm) and section 4 (idle time, bytes)."""

    in_bytes = False
    mean = 500
    largest = 1500

    def __init__(self, seed: int, low: int, high: int, max_p: str, weight: Fraction) -> None:
        super().__init__(seed)
        self.low, self.high, self.max_p, self.weight = low, high, Fraction(max_p), weight
        self.average: Fraction = Fraction(0)
        self.count = -1

    def seen(self) -> dict[str, float]:
        return {"average": float(self.average)}

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        q = p.bytes if self.in_bytes else p.packets
        if p.idle_since is None:
            self.average = (1 - self.weight) * self.average + self.weight * q
        else:
            m = (p.at - p.idle_since) / (self.mean * NS_PER_BYTE)
            self.average *= Fraction((1 - float(self.weight)) ** m)
        reason = None
        if self.low <= self.average < self.high:
            self.count += 1
            pb = self.max_p * (self.average - self.low) / (self.high - self.low)
            if self.in_bytes:
                pb = pb * p.size / self.largest
            pa = pb / (1 - self.count * pb) if self.count * pb < 1 else Fraction(1)
            if self.draws.draw() <= pa:
                reason, self.count = "early", 0
        elif self.high <= self.average:
            reason, self.count = "forced", 0
        else:
            self.count = -1
        if p.full:
            return "drop", "limit", p.ecn
        return self.picked(p, reason) if reason else ("accept", None, p.ecn)


class Linux(Rule):
    """Linux, include/net/red.h and net/sched/sch_red.c, configured by tc: whole numbers throughout."""

    avpkt = 1000
    hard_drop = False

    def __init__(self, seed: int, low: int, high: int, max_p: str, wlog: int) -> None:
        super().__init__(seed)
        self.low, self.high, self.wlog = low, high, wlog
        # tc: max_P is the probability in units of 2^-32; the kernel divides it by the distance of the thresholds.
        self.step = max(min(int(Fraction(max_p) * 2**32), 2**32 - 1) // (high - low), 1)
        self.scaled = 0  # the average times 2^Wlog
        self.count = -1
        self.random = 0
        # tc_red_eval_idle_damping; a tick of tc is 64 ns, which the kernel reads as a microsecond.
        ticks = math.ceil(self.avpkt * NS_PER_BYTE / 64)
        per_tick = -math.log(1 - 1 / 2**wlog) / ticks
        self.cell = next(c for c in range(32) if 31 / per_tick / 2**c < 512)
        self.table = [min(31, int((i << self.cell) * per_tick)) for i in range(256)]
        self.table[0], self.table[255] = 0, 31

    def seen(self) -> dict[str, float]:
        return {"average": self.scaled / 2**self.wlog}

    def new_random(self) -> None:
        self.random = int(self.draws.draw() * 2**32) // self.step

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        if p.idle_since is None:
            self.scaled += p.bytes - (self.scaled >> self.wlog)
        else:
            us = min((p.at - p.idle_since) // 1000, 255 << self.cell)
            shift = self.table[us >> self.cell]
            if shift:
                self.scaled >>= shift
            else:
                less = (self.scaled * us) >> self.cell
                self.scaled = self.scaled - less if less < self.scaled >> 1 else self.scaled >> 1
        reason = None
        if self.scaled < self.low << self.wlog:
            self.count = -1
        elif self.scaled >= self.high << self.wlog:
            self.count = -1
            reason = "forced"
        else:
            self.count += 1
            if self.count == 0:
                self.new_random()
            elif ((self.scaled - (self.low << self.wlog)) >> self.wlog) * self.count >= self.random:
                reason, self.count = "early", 0
                self.new_random()
        if p.full:
            return "drop", "limit", p.ecn
        if reason == "forced" and self.hard_drop:
            return "drop", "forced", p.ecn
        return self.picked(p, reason) if reason else ("accept", None, p.ecn)


# --- other markers --------------------------------------------------------------------------------------------------


class VirtualQueue(Rule):
    """Gibbens and Kelly 1999; Siris et al. 2002, section 4.2. The virtual FIFO as a list of starts and ends."""

    action = "mark-everything"

    def __init__(self, mark: str, rate: Fraction, room: Fraction, *, in_bytes: bool = False) -> None:
        super().__init__(0)
        self.mark, self.room, self.in_bytes = mark, room, in_bytes
        self.per_byte = Fraction(8 * 10**9) / rate  # ns
        self.inside: list[tuple[Fraction, Fraction, int]] = []
        self.flag = False

    def seen(self) -> dict[str, float]:
        return {"virtual_length": float(self.length)}

    def advance(self, now: int) -> None:
        self.inside = [item for item in self.inside if item[1] > now]
        left = [
            (end - max(start, now)) / (end - start) * (size if self.in_bytes else 1) for start, end, size in self.inside
        ]
        self.length = sum(left, Fraction(0))
        if not self.inside:
            self.flag = False

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        self.advance(p.at)
        more = p.size if self.in_bytes else 1
        lost = self.length + more > self.room
        if lost:
            self.flag = True
        else:
            start = max([Fraction(p.at)] + [end for _, end, _ in self.inside])
            self.inside.append((start, start + p.size * self.per_byte, p.size))
            self.length += more
        if p.full:
            return "drop", "limit", p.ecn
        wanted = {"busy-arrival": self.flag, "busy-departure": False, "overflow": lost}[self.mark]
        return self.picked(p, "virtual") if wanted else ("accept", None, p.ecn)

    def leave(self, now: int, ecn: str) -> tuple[str, str | None, str]:
        self.advance(now)
        if self.flag and ecn != "not-capable":
            return "mark", "virtual", "marked"
        return "pass", None, ecn


class Coin(Rule):
    """A probability that may change; one number for every packet."""

    reason = "constant"
    action = "mark-everything"

    def __init__(self, seed: int, probability: str = "0") -> None:
        super().__init__(seed)
        self.probability = Fraction(probability)

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        self.count(p)
        hit = self.draws.draw() <= self.probability
        if p.full:
            return "drop", "limit", p.ecn
        return self.picked(p, self.reason) if hit else ("accept", None, p.ecn)

    def count(self, p: Packet) -> None:
        pass


class LoadBased(Coin):
    """Siris et al. 2002, section 4.3: p = gain * (load - target) of the interval before."""

    reason = "load"

    def __init__(self, seed: int, interval: int, target: str, gain: str, *, sliding: bool = False) -> None:
        super().__init__(seed)
        self.target, self.gain = Fraction(target), Fraction(gain)
        self.interval, self.step = interval, interval // 10 if sliding else interval
        self.parts = [0] * (10 if sliding else 1)
        self.next = self.step
        self.load = Fraction(0)

    def seen(self) -> dict[str, float]:
        return {"load": float(self.load), "probability": float(self.probability)}

    def count(self, p: Packet) -> None:
        self.parts[-1] += p.size

    def tick(self, p: Packet) -> None:
        self.load = Fraction(sum(self.parts) * 8 * 10**9, RATE * self.interval)
        self.probability = min(max(self.gain * (self.load - self.target), Fraction(0)), Fraction(1))
        self.parts = [*self.parts[1:], 0]
        self.next += self.step


class Rem(Coin):
    """Athuraliya et al. 2001: the price, and 1 - phi^-price."""

    reason = "price"

    def __init__(self, seed: int, period: int, target: int, gain: str, weight: str, phi: str) -> None:
        super().__init__(seed)
        self.period, self.target, self.gain, self.weight, self.phi = (
            period,
            target,
            Fraction(gain),
            Fraction(weight),
            float(phi),
        )
        self.next = period
        self.price = Fraction(0)
        self.arrived = 0

    def seen(self) -> dict[str, float]:
        return {"price": float(self.price), "probability": float(self.probability)}

    def count(self, p: Packet) -> None:
        self.arrived += p.size

    def tick(self, p: Packet) -> None:
        carried = Fraction(RATE * self.period, 8 * 10**9)
        change = self.weight * (p.packets - self.target) + (self.arrived - carried) / 1000
        self.price = max(Fraction(0), self.price + self.gain * change)
        self.probability = Fraction(1 - self.phi ** -float(self.price))
        self.arrived = 0
        self.next += self.period


class Pie(Rule):
    """RFC 8033, appendices A and B: enque, drop_early, deque, calculate_drop_prob."""

    steps = ((6, 2048), (5, 512), (4, 128), (3, 32), (2, 8), (1, 2))

    def __init__(self, seed: int, latency: str, **options: Any) -> None:
        super().__init__(seed)
        self.latency = latency
        self.target = Fraction(options.pop("target", "0.015"))
        self.period = options.pop("period", 15_000_000)
        self.alpha = Fraction(options.pop("alpha", "0.125"))
        self.beta = Fraction(options.pop("beta", "1.25"))
        self.max_burst = options.pop("max_burst", 150_000_000)
        self.ecn_threshold = Fraction(options.pop("ecn_threshold", "0.1"))
        self.derandomize = options.pop("derandomize", False)
        self.cap = options.pop("cap", False)
        self.threshold = options.pop("threshold", 16384)
        assert not options, options
        self.drop_prob = self.qdelay = self.qdelay_old = self.accu_prob = Fraction(0)
        self.burst = self.max_burst
        self.next = self.period
        self.in_measurement = False
        self.start = self.dq_count = 0
        self.avg_dq_time = Fraction(0)

    @property
    def departs(self) -> bool:
        return self.latency != "link-rate"

    def seen(self) -> dict[str, float]:
        told = {"probability": float(self.drop_prob), "delay": float(self.qdelay), "burst_allowance": self.burst / 1e9}
        if self.latency == "departure-rate":
            told["departure_rate"] = float(8 * self.threshold / self.avg_dq_time) if self.avg_dq_time else 0.0
        return told

    def admit(self, p: Packet) -> tuple[str, str | None, str]:
        if self.drop_prob == 0 and self.qdelay < self.target / 2 and self.qdelay_old < self.target / 2:
            self.burst = self.max_burst
        if p.full:
            self.accu_prob = Fraction(0)
            return "drop", "limit", p.ecn
        if self.burst > 0 or not self.drop_early(p):
            return "accept", None, p.ecn
        self.accu_prob = Fraction(0)
        if self.drop_prob < self.ecn_threshold and p.ecn != "not-capable":
            return "mark", "pie", "marked"
        return "drop", "pie", p.ecn

    def drop_early(self, p: Packet) -> bool:
        if self.qdelay_old < self.target / 2 and self.drop_prob < Fraction(1, 5):
            return False
        if p.bytes <= 2 * 1024:
            return False
        if self.derandomize:
            if self.drop_prob == 0:
                self.accu_prob = Fraction(0)
            self.accu_prob += self.drop_prob
            if self.accu_prob < Fraction("0.85"):
                return False
            if self.accu_prob >= Fraction("8.5"):
                return True
        return self.draws.draw() < self.drop_prob

    def depart(self, now: int, accepted: int, size: int, ecn: str, behind: int) -> tuple[str, str | None, str]:
        if self.latency == "timestamps":
            self.qdelay = Fraction(now - accepted, 10**9) if behind else Fraction(0)
            return "pass", None, ecn
        if self.in_measurement:
            self.dq_count += size
            if self.dq_count >= self.threshold:
                time, weight = Fraction(now - self.start, 10**9), Fraction(self.threshold, 2**16)
                self.avg_dq_time = time * weight + self.avg_dq_time * (1 - weight) if self.avg_dq_time else time
                self.in_measurement = False
        if behind >= self.threshold and not self.in_measurement:
            self.in_measurement, self.start, self.dq_count = True, now, 0
        return "pass", None, ecn

    def tick(self, p: Packet) -> None:
        if self.latency == "link-rate":
            self.qdelay = Fraction(8 * p.bytes, RATE)
        elif self.latency == "departure-rate":
            self.qdelay = p.bytes * self.avg_dq_time / self.threshold
        change = self.alpha * (self.qdelay - self.target) + self.beta * (self.qdelay - self.qdelay_old)
        for places, divisor in self.steps:
            if self.drop_prob < Fraction(1, 10**places):
                change /= divisor
                break
        if self.cap and self.drop_prob >= Fraction(1, 10):
            change = min(change, Fraction(1, 50))
        self.drop_prob += change
        if self.qdelay == 0 and self.qdelay_old == 0:
            self.drop_prob *= Fraction(98, 100)
        self.drop_prob = min(max(self.drop_prob, Fraction(0)), Fraction(1))
        # Exact fractions grow without end; twenty digits are more than anybody compares.
        self.drop_prob = Fraction(round(self.drop_prob * 10**24), 10**24)
        self.qdelay_old = self.qdelay
        self.burst = max(0, self.burst - self.period)
        self.next += self.period


class Codel:
    """RFC 8289, sections 5.5 and 5.6, as printed, over (accepted, size, codepoint); a mark counts as a drop."""

    def __init__(self, target: int, interval: int, *, ecn: bool, ce_threshold: int | None = None) -> None:
        self.target, self.interval, self.ecn, self.ce_threshold = target, interval, ecn, ce_threshold
        self.draws = Draws(0)
        self.packets: list[tuple[int, int, str]] = []
        self.first_above_time = self.drop_next = self.count = self.lastcount = 0
        self.dropping = False
        self.sojourn = 0
        self.events: list[dict[str, Any]] = []

    def control_law(self, t: int, count: int) -> int:
        # The nearest whole nanosecond to interval / sqrt(count), in whole numbers: sqrt(4 i^2 / n), halved and rounded.
        return t + (math.isqrt(4 * self.interval**2 // count) + 1) // 2

    def told(self) -> dict[str, Any]:
        return {"dropping": int(self.dropping), "count": self.count, "sojourn": self.sojourn / 1e9}

    def dodequeue(self, now: int) -> tuple[tuple[int, int, str] | None, bool]:
        if not self.packets:
            self.first_above_time = 0
            return None, False
        head = self.packets.pop(0)
        self.sojourn = now - head[0]
        if self.sojourn < self.target or sum(size for _, size, _ in self.packets) <= 1500:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.interval
        elif now >= self.first_above_time:
            return head, True
        return head, False

    def dequeue(self, now: int) -> None:
        """One departure; each packet that is looked at becomes an event."""

        def tell(head: tuple[int, int, str], verdict: str, reason: str | None, ecn: str, behind: int) -> None:
            told = {"at_ns": now, "accepted_at_ns": head[0], "bytes": head[1], "ecn": head[2]}
            expect = {"verdict": verdict, "reason": reason, "ecn": ecn}
            self.events.append({"event": "leave", **told, "waiting_bytes": behind, "expect": expect})

        def behind() -> int:
            return sum(size for _, size, _ in self.packets)

        def drop(head: tuple[int, int, str]) -> bool:
            """Drops it, or marks it and says so."""
            marks = self.ecn and head[2] != "not-capable"
            if not marks:
                tell(head, "drop", "codel", head[2], behind())
            return marks

        marked = False
        head, ok = self.dodequeue(now)
        if self.dropping:
            if not ok:
                self.dropping = False
            while now >= self.drop_next and self.dropping and not marked:
                assert head
                self.count += 1
                marked = drop(head)
                if marked:
                    self.drop_next = self.control_law(self.drop_next, self.count)
                    break
                head, ok = self.dodequeue(now)
                if ok:
                    self.drop_next = self.control_law(self.drop_next, self.count)
                else:
                    self.dropping = False
        elif ok:
            assert head
            marked = drop(head)
            if not marked:
                head, ok = self.dodequeue(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.interval:
                self.count = delta
            self.drop_next = self.control_law(now, self.count)
            self.lastcount = self.count
        if head is None:
            self.events.append({"event": "empty", "at_ns": now, "expect": self.told()})
            return
        late = self.ce_threshold is not None and self.sojourn > self.ce_threshold and head[2] != "not-capable"
        reason = "codel" if marked else "ce_threshold" if late else None
        tell(head, "mark" if reason else "pass", reason, "marked" if reason else head[2], behind())
        self.events[-1]["expect"].update(self.told())


def late(rule: Codel, packets: Iterator[Packet]) -> list[dict[str, Any]]:
    """A FIFO of 10 Mbit/s that asks as packets leave."""
    free, idle = 0, True

    def depart(until: int) -> None:
        nonlocal free, idle
        while True:
            at = max(free, rule.packets[0][0] if rule.packets else 0)
            if at > until or (idle and not rule.packets):
                return
            rule.dequeue(at)
            event = rule.events[-1]
            # The transmitter that has sent the last asks once more, in vain.
            idle = event["event"] == "empty"
            free = at if idle else at + event["bytes"] * NS_PER_BYTE

    for p in packets:
        depart(p.at)
        rule.packets.append((p.at, p.size, p.ecn))
        depart(p.at)
    return rule.events


class Drr:
    """Queues in turn, as FQ-CoDel and SFQ have them; CoDel is given nothing to do."""

    def __init__(self, kind: str, quantum: int, flows: int, limit: int) -> None:
        self.kind, self.quantum, self.limit = kind, quantum, limit
        self.queues: list[list[tuple[int, int]]] = [[] for _ in range(flows)]
        self.credit = [0] * flows
        self.new: list[int] = []
        self.old: list[int] = []
        self.touched = [0] * flows
        self.clock = 0

    def cost(self, size: int) -> int:
        return -(-size // 8) * 8 if self.kind == "sfq" else size

    def touch(self, q: int) -> None:
        self.clock += 1
        self.touched[q] = self.clock

    def arrive(self, q: int, number: int, size: int) -> list[int]:
        """In first, then out again what is too much, as both kernels do; what was dropped."""
        if q not in self.new and q not in self.old:
            self.credit[q] = self.cost(self.quantum)
            (self.new if self.kind == "fq-codel" else self.old).append(q)
        self.queues[q].append((number, size))
        self.touch(q)
        total = sum(map(len, self.queues))
        if total <= self.limit:
            return []
        if self.kind == "fq-codel":
            # RFC 8290, section 4.1: half of the packets of the fattest queue, from its head.
            weight = [sum(size for _, size in queue) for queue in self.queues]
            fattest = weight.index(max(weight))
            half = min(max(len(self.queues[fattest]) // 2, 1), 64)
            lost = [number for number, _ in self.queues[fattest][:half]]
            del self.queues[fattest][:half]
            return lost
        # Linux 3.2: the last packet of the longest slot; where all have one, that of the next in turn.
        lengths = [len(queue) for queue in self.queues]
        if max(lengths) == 1:
            victim = self.old[0]
        else:
            victim = max((q for q in range(len(lengths)) if lengths[q] == max(lengths)), key=lambda q: self.touched[q])
        number, _ = self.queues[victim].pop()
        self.touch(victim)
        if not self.queues[victim]:
            self.old.remove(victim)
        return [number]

    def depart(self) -> int | None:
        while self.new or self.old:
            turn = self.new or self.old
            q = turn[0]
            if self.credit[q] <= 0:
                self.credit[q] += self.cost(self.quantum)
                turn.pop(0)
                self.old.append(q)
            elif self.queues[q]:
                number, size = self.queues[q].pop(0)
                self.credit[q] -= self.cost(size)
                self.touch(q)
                if self.kind == "sfq" and not self.queues[q]:
                    self.old.remove(q)
                return number
            elif turn is self.new:
                self.new.pop(0)
                self.old.append(q)
            else:
                self.old.pop(0)
        return None


def turns(kind: str, name: str, about: str, quantum: int, limit: int, load: float, count: int) -> tuple[str, str]:
    """Four flows, told apart as the queues 0 to 3, of which the first sends half of everything."""
    rule, dice = Drr(kind, quantum, 4, limit), Draws(quantum + limit)
    events: list[dict[str, Any]] = []
    credit = 0.0
    for number in range(count):
        q = max(0, int(dice.next() * 6) - 2)
        size = MIXED[int(dice.next() * len(MIXED))]
        lost = rule.arrive(q, number, size)
        events.append({"event": "arrive", "queue": q, "id": number, "bytes": size, "expect": {"dropped": lost}})
        credit += dice.next() * 2 / load
        while credit >= 1:
            credit -= 1
            events.append({"event": "depart", "expect": {"id": rule.depart()}})
    while True:
        out = rule.depart()
        events.append({"event": "depart", "expect": {"id": out}})
        if out is None:
            break
    head = {"scheduler": kind, "name": name, "about": about, "quantum": quantum, "queues": 4, "limit_packets": limit}
    text = json.dumps(head, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f"{kind}/{name}.json", f'{text},\n "events": [\n  {lines}\n ]\n}}\n'


# --- a link, so that queue lengths answer to what is decided --------------------------------------------------------


def through(rule: Any, packets: Iterator[Packet], limit: int) -> list[dict[str, Any]]:
    """A FIFO of 10 Mbit/s with room for `limit` packets: what each packet finds, and what the rule says."""
    events: list[dict[str, Any]] = []
    waiting: list[tuple[int, Packet]] = []
    free = 0
    departs = isinstance(rule, VirtualQueue) and rule.mark == "busy-departure"
    looks = isinstance(rule, Pie) and rule.departs

    def leave(at: int, p: Packet) -> None:
        if departs:
            verdict, reason, ecn = rule.leave(at, p.ecn)
            expect = {"verdict": verdict, "reason": reason, "ecn": ecn, **rule.seen()}
            events.append({"event": "leave", "at_ns": at, "bytes": p.size, "ecn": p.ecn, "expect": expect})
        if looks:
            behind = sum(w.size for _, w in waiting)
            verdict, reason, ecn = rule.depart(at, p.at, p.size, p.ecn, behind)
            expect = {"verdict": verdict, "reason": reason, "ecn": ecn, **rule.seen()}
            told = {"at_ns": at, "accepted_at_ns": p.at, "bytes": p.size, "ecn": p.ecn, "waiting_bytes": behind}
            events.append({"event": "leave", **told, "expect": expect})

    def release(now: int) -> None:
        while waiting and waiting[0][0] <= now:
            leave(*waiting.pop(0))

    def found(at: int, size: int, ecn: str) -> Packet:
        idle = free if free <= at else None
        full = idle is None and len(waiting) >= limit
        return Packet(at, size, ecn, len(waiting), sum(w.size for _, w in waiting), idle, full)

    def occupancy(p: Packet) -> dict[str, Any]:
        idle = {} if p.idle_since is None else {"idle_since_ns": p.idle_since}
        return {"waiting_packets": p.packets, "waiting_bytes": p.bytes, **idle, **({"full": True} if p.full else {})}

    for packet in packets:
        while getattr(rule, "next", packet.at + 1) <= packet.at:
            at = rule.next
            release(at)
            now = found(at, 0, "")
            rule.tick(now)
            events.append({"event": "tick", "at_ns": at, **occupancy(now), "expect": rule.seen()})
        release(packet.at)
        p = found(packet.at, packet.size, packet.ecn)
        verdict, reason, ecn = rule.admit(p)
        given = {"at_ns": p.at, "bytes": p.size, "ecn": p.ecn, **occupancy(p)}
        used = len(rule.draws.used)
        expect = {"verdict": verdict, "reason": reason, "ecn": ecn, "draws": used, **rule.seen()}
        events.append({"event": "arrive", **given, "expect": expect})
        if verdict != "drop":
            start = max(p.at, free)
            free = start + p.size * NS_PER_BYTE
            p.ecn = ecn
            if start > p.at:
                waiting.append((start, p))
            else:
                leave(p.at, p)
    return events


def write(
    name: str, rule_name: str, about: str, parameters: dict[str, Any], rule: Any, events: list[Any], **more: Any
) -> str:
    """The file as text, an event a line."""
    head = {
        "rule": rule_name,
        "name": name,
        "about": about,
        "link": {"rate_bps": RATE, "delay_ns": DELAY_NS},
        "parameters": parameters,
        **more,
    }
    text = json.dumps(head, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f'{text},\n "draws": {json.dumps(rule.draws.used)},\n "events": [\n  {lines}\n ]\n}}\n'


MIXED = (1500, 1500, 1000, 576, 40)
SOME = ("capable", "capable", "not-capable", "marked")
NONE = ("not-capable",)
PACKETS = {"min_threshold": "5 packets", "max_threshold": "15 packets", "max_probability": 0.25}
NS_LINES: dict[str, Any] = {
    "mean_packet": "500 B",
    "gentle": True,
    "hard_drop": True,
    "spread": "ns2",
    "draw": "packet",
    "crossing": "exempt-counted",
    "after_forced": "restart",
    "limit_restarts": True,
    "spare_short_queue": True,
    "size_scaling": "none",
    "idle": "whole",
    "idle_factor": 1,
    "arithmetic": "real",
}
NS3_LINES = {**NS_LINES, "after_forced": "keep", "limit_restarts": False}
FLOYD_LINES: dict[str, Any] = {
    **NS_LINES,
    "gentle": False,
    "hard_drop": False,
    "spread": "floyd",
    "crossing": "judged",
    "limit_restarts": False,
    "spare_short_queue": False,
    "idle": "exact",
}
LINUX_LINES: dict[str, Any] = {
    **FLOYD_LINES,
    "mean_packet": "1000 B",
    "draw": "interval",
    "crossing": "exempt",
    "after_forced": "crossing",
    "idle": "table",
    "idle_factor": 15.625,
    "arithmetic": "fixed",
}


def red() -> Iterator[tuple[str, str]]:
    """One file for each variant and peculiarity."""

    def make(
        name: str,
        about: str,
        rule: Any,
        parameters: dict[str, Any],
        lines: dict[str, Any],
        *,
        load: float = 1.6,
        sizes: tuple[int, ...] = MIXED,
        ecn: tuple[str, ...] = SOME,
        limit: int = 40,
        count: int = 180,
    ) -> tuple[str, str]:
        full = {"action": "drop", "max_packet": "1500 B", **parameters}
        rule.action = full["action"]
        events = through(rule, arrivals(len(name) * 7919 + 17, count, sizes=sizes, load=load, ecn=ecn), limit)
        lines = {**lines, **{k: v for k, v in parameters.items() if k in lines}}
        return f"red/{name}.json", write(name, "red", about, full, rule, events, lines=lines)

    def customised(rule: Any, **attributes: Any) -> Any:
        for name, value in attributes.items():
            setattr(rule, name, value)
        return rule

    w, slow = Fraction(1, 20), {"weight": 0.05}
    packets = {**PACKETS, **slow}
    byte = {"min_threshold": "5000 B", "max_threshold": "15000 B", "max_probability": 0.25}

    def ns2(seed: int, **attributes: Any) -> Any:
        return customised(Ns2(seed, 5, 15, "0.25", w), **attributes)

    yield make("ns2", "The preset as it is, dropping.", ns2(1), {"variant": "ns2", **packets}, NS_LINES)
    yield make("ns2-mark", "Marking.", ns2(2), {"variant": "ns2", **packets, "action": "mark"}, NS_LINES)
    yield make(
        "ns2-forced",
        "Not gentle, overloaded: the average passes the upper threshold, where ECN does not help.",
        ns2(3, gentle=False),
        {"variant": "ns2", **packets, "action": "mark", "gentle": False},
        NS_LINES,
        load=2.0,
        ecn=("capable", "capable", "capable", "not-capable"),
    )
    yield make(
        "ns2-gentle",
        "Overloaded, marking, wherever the average stands: the gentle slope and its end.",
        ns2(4),
        {"variant": "ns2", **packets, "action": "mark"},
        NS_LINES,
        load=3.0,
        ecn=("capable",),
        limit=60,
    )
    yield make(
        "ns2-limit",
        "A short buffer: packets that find it full count as such, and start the count again.",
        ns2(5),
        {"variant": "ns2", **packets},
        NS_LINES,
        load=1.8,
        limit=13,
    )
    yield make(
        "ns2-bytes",
        "Thresholds in bytes: queue, average and count in bytes, probability by size.",
        customised(Ns2(6, 5000, 15000, "0.25", w), in_bytes=True),
        {"variant": "ns2", **byte, **slow},
        {**NS_LINES, "size_scaling": "mean"},
    )
    yield make(
        "ns2-spread-floyd",
        "wait_ false: gaps uniform between 1 and 1/p.",
        ns2(7, wait=False),
        {"variant": "ns2", **packets, "spread": "floyd"},
        NS_LINES,
    )
    yield make(
        "ns2-spread-bernoulli",
        "No spreading: geometric gaps.",
        ns2(8, wait=None),
        {"variant": "ns2", **packets, "spread": "bernoulli"},
        NS_LINES,
    )
    yield make(
        "ns2-mark-everything",
        "Never drops but at the limit; from 12 packets on every packet is picked (Siris et al. 2002).",
        ns2(9, above_limit=Fraction(12)),
        {"variant": "ns2", **packets, "action": "mark-everything", "mark_all_above": "12 packets"},
        {**NS_LINES, "hard_drop": False},
        load=1.5,
    )
    yield make(
        "ns2-automatic-weight",
        "No weight given: 1 - exp(-1 / (10 R C)), R = 100 ms, C = 2500 packets/s. The average stays low.",
        customised(Ns2(10, 5, 15, "0.25", Fraction(1 - math.exp(-1 / (10 * 0.1 * 2500))))),
        {"variant": "ns2", **PACKETS},
        NS_LINES,
        count=60,
    )

    def ns3(seed: int, **attributes: Any) -> Any:
        return customised(Ns3(seed, 5, 15, "0.25", w), **attributes)

    yield make("ns3", "The preset as it is, dropping.", ns3(11), {"variant": "ns3", **packets}, NS3_LINES)
    yield make(
        "ns3-forced",
        "Not gentle, overloaded: a forced drop leaves the count alone.",
        ns3(12, gentle=False),
        {"variant": "ns3", **packets, "action": "mark", "gentle": False},
        NS3_LINES,
        load=2.0,
        limit=25,
    )
    yield make(
        "ns3-bytes",
        "A queue measured in bytes.",
        customised(Ns3(13, 5000, 15000, "0.25", w), in_bytes=True),
        {"variant": "ns3", **byte, **slow, "action": "mark"},
        {**NS3_LINES, "size_scaling": "mean"},
    )
    yield make(
        "ns3-defaults",
        "Nothing given but the variant: 5 and 15 packets, 0.02, 0.002. The average stays low.",
        Ns3(14, 5, 15, "0.02", Fraction(1, 500)),
        {"variant": "ns3"},
        {**NS3_LINES, "max_probability": 0.02, "weight": 0.002},
        count=60,
    )

    def linux(seed: int, **attributes: Any) -> Any:
        return customised(Linux(seed, 5000, 15000, "0.25", 4), **attributes)

    sixteenth = {"weight": 0.0625}
    yield make("linux", "The preset, dropping.", linux(15), {"variant": "linux", **byte, **sixteenth}, LINUX_LINES)
    yield make(
        "linux-mark",
        "Marking, overloaded: above the upper threshold ECN still helps.",
        linux(16),
        {"variant": "linux", **byte, **sixteenth, "action": "mark"},
        LINUX_LINES,
        load=2.0,
    )
    yield make(
        "linux-harddrop",
        "The same with harddrop.",
        linux(17, hard_drop=True),
        {"variant": "linux", **byte, **sixteenth, "action": "mark", "hard_drop": True},
        LINUX_LINES,
        load=2.0,
    )
    yield make(
        "linux-defaults",
        "tc's weight for 5 and 15 packets of 1000 bytes: burst 8, Wlog 3.",
        Linux(18, 5000, 15000, "0.02", 3),
        {"variant": "linux"},
        {**LINUX_LINES, "max_probability": 0.02, "weight": 0.125},
    )

    def floyd(seed: int, **attributes: Any) -> Any:
        return customised(Floyd(seed, 5, 15, "0.25", w), **attributes)

    yield make("floyd", "The preset, dropping.", floyd(19), {"variant": "floyd", **packets}, FLOYD_LINES)
    yield make(
        "floyd-forced",
        "Marking, overloaded.",
        floyd(20),
        {"variant": "floyd", **packets, "action": "mark"},
        FLOYD_LINES,
        load=2.0,
    )
    yield make(
        "floyd-bytes",
        "Bytes: p_b by size over the largest size, before spreading.",
        customised(Floyd(21, 5000, 15000, "0.25", w), in_bytes=True),
        {"variant": "floyd", **byte, **slow},
        {**FLOYD_LINES, "size_scaling": "maximum"},
    )


def others() -> Iterator[tuple[str, str]]:
    """The other markers."""
    base: dict[str, Any] = {"action": "mark-everything"}

    def make(folder: str, name: str, about: str, rule: Any, parameters: dict[str, Any], **how: Any) -> tuple[str, str]:
        rule.action = parameters.get("action", "mark-everything")
        options: dict[str, Any] = {"load": 1.1, "sizes": MIXED, "ecn": SOME, **how}
        limit, count = options.pop("limit", 60), options.pop("count", 150)
        events = through(rule, arrivals(len(name) * 104729 + 5, count, **options), limit)
        return f"{folder}/{name}.json", write(name, folder, about, {**base, **parameters}, rule, events)

    def factors(rate: float, room: float) -> dict[str, Any]:
        return {"rate_factor": rate, "buffer_factor": room}

    slow = Fraction(RATE * 95, 100)
    for mark in ("busy-arrival", "busy-departure", "overflow"):
        parameters = {"mark": mark, "buffer": "10 packets", **factors(0.95, 0.95)}
        rule = VirtualQueue(mark, slow, Fraction(95, 10))
        yield make("virtual-queue", mark, "Both factors 0.95, packets of mixed sizes.", rule, parameters, load=1.4)
    yield make(
        "virtual-queue",
        "separate-factors",
        "0.8 of the rate, half of the buffer; packets of one size.",
        VirtualQueue("busy-arrival", Fraction(RATE * 8, 10), Fraction(10)),
        {"mark": "busy-arrival", "buffer": "20 packets", **factors(0.8, 0.5)},
        sizes=(1000,),
        load=1.2,
    )
    yield make(
        "virtual-queue",
        "bytes",
        "Room in bytes, dropping what is virtually lost; a short real buffer.",
        VirtualQueue("overflow", Fraction(RATE * 9, 10), Fraction(9000), in_bytes=True),
        {"mark": "overflow", "buffer": "10000 B", **factors(0.9, 0.9), "action": "mark"},
        limit=8,
    )
    fixed = {"interval": "0.02 s", "target": 0.6, "gain": 0.71, "count": "arrivals", "window": "fixed"}
    yield make(
        "load-based",
        "fixed",
        "Intervals of 20 ms, one after the other.",
        LoadBased(31, 20_000_000, "0.6", "0.71"),
        fixed,
    )
    yield make(
        "load-based",
        "sliding",
        "An interval of 20 ms that moves by 2 ms.",
        LoadBased(32, 20_000_000, "0.7", "2", sliding=True),
        {**fixed, "target": 0.7, "gain": 2, "window": "sliding", "action": "mark"},
    )
    yield make(
        "rem",
        "rem",
        "An update every 2 ms; steeper than usual, so that 200 packets show it.",
        Rem(33, 2_000_000, 8, "0.1", "0.1", "1.2"),
        {
            "period": "0.002 s",
            "target": "8 packets",
            "gain": 0.1,
            "backlog_weight": 0.1,
            "base": 1.2,
            "mean_packet": "1000 B",
        },
        load=1.7,
    )
    yield make("constant-probability", "tenth", "One in ten.", Coin(34, "0.1"), {"probability": 0.1})


def delays() -> Iterator[tuple[str, str]]:
    """CoDel, PIE, and the queues in turn."""

    def codel(
        name: str,
        about: str,
        packets: Iterator[Packet],
        ms: tuple[int, int] = (1, 5),
        *,
        ecn: bool = True,
        **more: Any,
    ) -> tuple[str, str]:
        rule = Codel(ms[0] * 10**6, ms[1] * 10**6, ecn=ecn, **more)
        given = {"target": f"{ms[0] / 1000} s", "interval": f"{ms[1] / 1000} s", "max_packet": "1500 B", "ecn": ecn}
        if "ce_threshold" in more:
            given["ce_threshold"] = f"{more['ce_threshold'] / 1e9} s"
        return f"codel/{name}.json", write(name, "codel", about, given, rule, late(rule, packets))

    def waves(
        seed: int, ecn: tuple[str, ...], loads: tuple[float, ...] = (1.3, 0.7, 1.5, 0.5, 1.3)
    ) -> Iterator[Packet]:
        """Loads one after the other."""
        start = 0
        for n, load in enumerate(loads):
            last = start
            for p in arrivals(seed + n, 60, sizes=MIXED, load=load, ecn=ecn):
                p.at += start
                last = p.at
                yield p
            start = last

    yield codel("drop", "Above and below the link's rate by turns: drop state, out of it, in again.", waves(41, NONE))
    yield codel("mark", "Some packets can be marked.", waves(51, SOME))
    yield codel("no-ecn", "They can, and are dropped nevertheless.", waves(51, SOME), ecn=False)
    yield codel(
        "ce-threshold", "Every capable packet that waited longer than 1 ms.", waves(61, SOME), ce_threshold=1_000_000
    )
    yield codel(
        "overload", "Nothing else: drops come interval / sqrt(count) apart.", waves(71, NONE, (1.6,) * 5), (5, 20)
    )

    def pie(name: str, about: str, rule: Pie, parameters: dict[str, Any], **how: Any) -> tuple[str, str]:
        given = {
            "target": "0.015 s",
            "period": "0.015 s",
            "alpha": 0.125,
            "beta": 1.25,
            "max_burst": "0.15 s",
            "mean_packet": "1024 B",
            "ecn_threshold": 0.1,
            "latency": rule.latency,
            "rate_threshold": "16384 B",
            "derandomize": False,
            "cap": False,
            **parameters,
        }
        options: dict[str, Any] = {"load": 1.4, "sizes": MIXED, "ecn": SOME, **how}
        limit, count = options.pop("limit", 120), options.pop("count", 260)
        events = through(rule, arrivals(len(name) * 104729 + 9, count, **options), limit)
        return f"pie/{name}.json", write(name, "pie", about, given, rule, events)

    yield pie("timestamps", "The RFC's basic form and its numbers.", Pie(81, "timestamps"), {}, count=120)
    quick = {"target": "0.003 s", "period": "0.001 s", "alpha": 8, "beta": 30, "max_burst": "0.004 s"}
    steep = {"target": "0.003", "period": 1_000_000, "alpha": 8, "beta": 30, "max_burst": 4_000_000}
    yield pie(
        "quick",
        "A short target, updates every millisecond and larger gains: all steps of the scale, and beyond a tenth.",
        Pie(82, "timestamps", **steep),
        quick,
        load=2.0,
    )
    yield pie(
        "link-rate", "The delay by the backlog and the link's rate.", Pie(83, "link-rate", **steep), quick, load=2.0
    )
    yield pie(
        "departure-rate",
        "By the backlog and measured departures.",
        Pie(84, "departure-rate", **steep, threshold=4096),
        {**quick, "rate_threshold": "4096 B"},
        load=2.0,
    )
    yield pie(
        "derandomised",
        "Gaps between drops kept, corrections capped, marking below a half, a short buffer.",
        Pie(85, "link-rate", **steep, derandomize=True, cap=True, ecn_threshold="0.5"),
        {**quick, "derandomize": True, "cap": True, "ecn_threshold": 0.5},
        limit=30,
        load=1.8,
    )
    yield turns("fq-codel", "rounds", "Four flows around the link's rate; room for all.", 1514, 10240, 1.0, 150)
    yield turns("fq-codel", "full", "Overload: half of the fattest queue leaves.", 300, 25, 1.4, 200)
    yield turns("sfq", "rounds", "Four flows around the link's rate; room for all.", 1514, 127, 1.0, 150)
    yield turns("sfq", "full", "Overload: the longest slot pays.", 300, 12, 1.4, 200)
    yield turns("sfq", "three", "Room for three packets: often each slot has one.", 1514, 3, 1.3, 200)


def main() -> None:
    stale = []
    more = [
        *shapers(Draws),
        *stages(Draws),
        *conex(Draws),
        *players(Draws),
        *viewers(Draws),
        *fetchers(Draws),
        *reecn(Draws),
        *gateways(Draws),
        *wire(Draws),
    ]
    for name, text in [*red(), *others(), *delays(), *more]:
        path = HERE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'stale' if '--check' in sys.argv[1:] else 'written'}: {name}")
    if stale and "--check" in sys.argv[1:]:
        sys.exit(1)


if __name__ == "__main__":
    main()
