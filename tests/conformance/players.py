"""Vectors for adaptation rules: which level a video player asks for.

Like the rules of make_vectors.py, which writes what stands here, each rule is written a second time, straight from the
document that README.md names. Plans of model predictive control are all worked out, where Evenflow gives most of
them up early. A question whose answer would hang on the last digits is left out.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PAPER = [248e3, 456e3, 928e3, 1_632e3, 4_256e3]
"""The ladder of Ben Ameur et al. 2016, bit/s."""
CLOSE = 1e-6


@dataclass
class Asked:
    """What a player knows when it asks for a chunk: bit/s, seconds, bytes."""

    ladder: Sequence[float]
    chunk: float
    sizes: Sequence[Sequence[float]] | None
    next: int
    buffer: float
    capacity: float
    throughputs: Sequence[float]
    last: int | None

    def size(self, ahead: int, level: int) -> float:
        if self.sizes is None:
            return self.ladder[level] * self.chunk / 8
        return self.sizes[(self.next + ahead) % len(self.sizes)][level]


Choice = tuple[int, bool]
"""A level, and whether it is clear of the last digits."""


def within(ladder: Sequence[float], rate: float) -> Choice:
    """The highest level that is at most `rate`."""
    fits = [level for level, bitrate in enumerate(ladder) if bitrate <= rate]
    clear = all(abs(bitrate - rate) > CLOSE * bitrate for bitrate in ladder)
    return (fits[-1] if fits else 0), clear


def harmonic(rates: Sequence[float]) -> float:
    return len(rates) / math.fsum(1 / rate for rate in rates)


def aggressive_rate(a: Asked) -> Choice:
    """Ben Ameur et al. 2016, equation 5, with sigma = 0.2."""
    if not a.throughputs:
        return 0, True
    return within(a.ladder, a.throughputs[-1] * (1 + 0.2 * min(a.buffer, a.capacity) / a.capacity))


def rate(a: Asked) -> Choice:
    """Jiang et al. 2012: the harmonic mean, here of five."""
    return within(a.ladder, harmonic(a.throughputs[-5:])) if a.throughputs else (0, True)


def bba(a: Asked) -> Choice:
    """Huang et al. 2014, algorithm 1; reservoir and cushion as shares of a buffer of 240 s."""
    reservoir, cushion = a.capacity * 90 / 240, a.capacity * 126 / 240
    low, high = a.ladder[0], a.ladder[-1]
    clear = min(abs(a.buffer - reservoir), abs(a.buffer - reservoir - cushion)) > CLOSE
    if a.buffer <= reservoir:
        return 0, clear
    if a.buffer >= reservoir + cushion:
        return len(a.ladder) - 1, clear
    line = low + (high - low) * (a.buffer - reservoir) / cushion
    clear = clear and all(abs(line - level) > CLOSE * level for level in a.ladder)
    previous = a.ladder[a.last or 0]
    above = min([level for level in a.ladder if level > previous], default=high)
    below = max([level for level in a.ladder if level < previous], default=low)
    if line >= above:
        chosen = max(level for level in a.ladder if level < line)
    elif line <= below:
        chosen = min(level for level in a.ladder if level > line)
    else:
        chosen = previous
    return list(a.ladder).index(chosen), clear


def bola_level(ladder: Sequence[float], buffer: float, minimum: float = 10, target: float = 30) -> Choice:
    """Spiteri et al. 2016, equation 8, with utilities from 1 and V, gamma as dash.js derives them from two buffers."""
    utilities = [math.log(level) - math.log(ladder[0]) + 1 for level in ladder]
    gamma = (utilities[-1] - 1) / (target / minimum - 1)
    v = minimum / gamma
    scores = [(v * (u + gamma) - buffer) / level for u, level in zip(utilities, ladder, strict=True)]
    order = sorted(range(len(ladder)), key=lambda level: scores[level])
    best, second = order[-1], order[-2]
    return best, scores[best] - scores[second] > CLOSE * abs(scores[best])


def plan(a: Asked, throughput: float, horizon: int = 5) -> Choice:
    """Yin et al. 2015, section 4: every plan of `horizon` chunks; quality in kbit/s, lambda = 1, mu = 3000."""
    best: dict[int, float] = {}
    for levels in itertools.product(range(len(a.ladder)), repeat=horizon):
        buffer, worth, last = a.buffer, 0.0, a.last
        for ahead, level in enumerate(levels):
            seconds = a.size(ahead, level) * 8 / throughput
            worth += a.ladder[level] / 1000 - 3000 * max(seconds - buffer, 0)
            if last is not None:
                worth -= abs(a.ladder[level] - a.ladder[last]) / 1000
            buffer = min(max(buffer - seconds, 0) + a.chunk, a.capacity)
            last = level
        best[levels[0]] = max(worth, best.get(levels[0], -math.inf))
    order = sorted(best, key=lambda level: best[level])
    return order[-1], best[order[-1]] - best[order[-2]] > CLOSE * max(1.0, abs(best[order[-1]]))


def mpc(a: Asked) -> Choice:
    return plan(a, harmonic(a.throughputs[-5:])) if a.throughputs else (0, True)


def robust_mpc(a: Asked) -> Choice:
    """The same, at the mean over one and the largest of the last five relative errors of the mean."""
    if not a.throughputs:
        return 0, True
    errors = [0.0]
    for i in range(max(1, len(a.throughputs) - 5), len(a.throughputs)):
        predicted = harmonic(a.throughputs[max(0, i - 5) : i])
        errors.append(abs(predicted - a.throughputs[i]) / a.throughputs[i])
    return plan(a, harmonic(a.throughputs[-5:]) / (1 + max(errors)))


@dataclass
class Dynamic:
    """dash.js: BOLA above 12 s of buffer until it is down to 6 s, else nine tenths of the harmonic mean."""

    by_buffer: bool = False

    def __call__(self, a: Asked) -> Choice:
        clear = abs(a.buffer - 12) > CLOSE and abs(a.buffer - 6) > CLOSE
        if self.by_buffer and a.buffer <= 6:
            self.by_buffer = False
        elif not self.by_buffer and a.buffer > 12:
            self.by_buffer = True
        if self.by_buffer:
            level, sure = bola_level(a.ladder, a.buffer)
        elif a.throughputs:
            level, sure = within(a.ladder, 0.9 * harmonic(a.throughputs[-5:]))
        else:
            level, sure = 0, True
        return level, clear and sure


@dataclass
class Session:
    """A player that fetches a chunk at a time over a network whose throughput wanders between two bounds."""

    dice: Any
    choose: Callable[[Asked], Choice]
    ladder: Sequence[float]
    capacity: float
    sizes: Sequence[Sequence[float]] | None = None
    chunk: float = 2.0
    slowest: float = 2e5
    fastest: float = 9e6
    events: list[dict[str, Any]] = field(default_factory=list)

    def run(self, chunks: int) -> list[dict[str, Any]]:
        buffer, last = 0.0, None
        seen: list[float] = []
        network = math.sqrt(self.slowest * self.fastest)
        for number in range(chunks):
            asked = Asked(self.ladder, self.chunk, self.sizes, number, buffer, self.capacity, list(seen), last)
            level, clear = self.choose(asked)
            if clear:
                self.events.append(
                    {
                        "event": "choose",
                        "next": number,
                        "buffer_s": buffer,
                        "throughputs_bps": seen[-10:],
                        "last": last,
                        "expect": {"level": level},
                    }
                )
            network = min(max(network * 2 ** (2.4 * self.dice.next() - 1.2), self.slowest), self.fastest)
            throughput = float(round(network))
            seconds = asked.size(0, level) * 8 / throughput
            buffer = round(min(max(buffer - seconds, 0.0) + self.chunk, self.capacity), 3)
            seen.append(throughput)
            last = level
        return self.events


def write(name: str, rule: str, about: str, session: Session, events: list[dict[str, Any]]) -> tuple[str, str]:
    head = {
        "rule": rule,
        "name": name,
        "about": about,
        "parameters": {},
        "ladder_bps": list(session.ladder),
        "chunk_s": session.chunk,
        "capacity_s": session.capacity,
        "sizes_bytes": session.sizes,
    }
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f"abr/{name}.json", f'{json.dumps(head, indent=1)[:-2]},\n "events": [\n  {lines}\n ]\n}}\n'


def by_hand(
    rule: str, about: str, capacity: float, answers: Sequence[tuple[float, int | None, int]]
) -> tuple[str, str]:
    """Levels at given buffers, each after a given last level: worked out on paper."""
    session = Session(None, aggressive_rate, PAPER, capacity)
    events = [
        {
            "event": "choose",
            "next": 1,
            "buffer_s": buffer,
            "throughputs_bps": [],
            "last": last,
            "expect": {"level": level},
        }
        for buffer, last, level in answers
    ]
    return write(f"{rule}-by-hand", rule, about, session, events)


def players(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """(file, text) of every vector."""
    rules: list[tuple[str, Callable[[], Callable[[Asked], Choice]], str, int]] = [
        ("aggressive-rate", lambda: aggressive_rate, "Ben Ameur et al. 2016, equation 5.", 120),
        ("rate", lambda: rate, "The harmonic mean of five throughputs.", 120),
        ("bba-0", lambda: bba, "Huang et al. 2014, algorithm 1.", 120),
        ("bola", lambda: lambda a: bola_level(a.ladder, a.buffer), "Spiteri et al. 2016, as dash.js sets it.", 120),
        ("dynamic", Dynamic, "BOLA or throughput, by two thresholds of the buffer.", 160),
        ("mpc", lambda: mpc, "Yin et al. 2015, section 4.", 60),
        ("robust-mpc", lambda: robust_mpc, "Yin et al. 2015, with the largest of five errors.", 60),
    ]
    for seed, (name, make, about, count) in enumerate(rules, start=71):
        for capacity, where in [(30.0, "short"), (60.0, "long")]:
            session = Session(draws(seed), make(), PAPER, capacity)
            said = f"{about} A playback buffer of {capacity:g} s; throughput wanders from 0.2 to 9 Mbit/s."
            yield write(f"{name}-{where}", name, said, session, session.run(count))
        if "mpc" in name:
            dice = draws(seed + 20)
            sizes = [[round(level / 4 * (0.6 + 0.8 * dice.next())) for level in PAPER] for _ in range(17)]
            session = Session(dice, make(), PAPER, 30.0, sizes)
            yield write(
                f"{name}-sizes", name, f"{about} Chunks of different sizes, listed.", session, session.run(count)
            )
    yield by_hand(
        "bola",
        "Where BOLA changes level with buffers of 10 and 30 s: 11.93, 16.49, 21.08 and 26.10 s.",
        30.0,
        [(at + d, 0, i + (d > 0)) for i, at in enumerate([11.93, 16.49, 21.08, 26.10]) for d in (-0.02, 0.02)],
    )
    yield by_hand(
        "bba-0",
        "A buffer of 240 s: the line is at 248, 2,252 and 4,256 kbit/s after 90, 153 and 216 s.",
        240.0,
        [(90.0, 4, 0), (153.0, 3, 3), (153.0, 0, 3), (153.0, 4, 4), (133.6, 4, 4), (133.4, 4, 3), (216.0, 0, 4)],
    )
