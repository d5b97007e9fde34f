"""Vectors for a video player's buffer: when it starts, stalls, resumes and ends, by what arrives when.

And for a player of adaptive video: when it asks for which chunk at which level, by when the chunks before have come.

A second implementation in fractions, straight from Sanhaji et al. 2015, section VI-B: the buffered length is what
came in less what was played; playback starts and resumes when it exceeds one threshold (or reaches it, of players
that count chunks), and stalls when it goes below another, unless the whole file is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from players import PAPER, Asked, Choice, Dynamic, aggressive_rate, bba, bola_level, mpc, rate, robust_mpc

SECOND = 10**9


@dataclass
class Viewer:
    """A player, in nanoseconds of video and of time."""

    bitrate: int
    start: Fraction
    resume: Fraction
    stall: Fraction
    above: bool = True
    bytes: int = 0
    whole: bool = False
    played: Fraction = Fraction(0)
    looked: Fraction = Fraction(0)
    plays: bool = False
    begun: bool = False
    ended: bool = False
    moments: list[tuple[str, Fraction]] = field(default_factory=list)

    @property
    def buffered(self) -> Fraction:
        return Fraction(self.bytes * 8 * SECOND, self.bitrate) - self.played

    def look(self, now: Fraction) -> None:
        """Plays from the last look until now, as far as there is something to play."""
        if self.plays:
            spare = self.buffered - (0 if self.whole else self.stall)
            passed = now - self.looked
            if passed > spare or (self.whole and passed == spare):
                self.played += spare
                self.plays = False
                self.ended = self.whole
                self.moments.append(("ends" if self.whole else "stalls", self.looked + spare))
            else:
                self.played += passed
        self.looked = now

    def receive(self, at: int, bytes_: int, whole: bool) -> None:
        self.look(Fraction(at))
        self.bytes, self.whole = bytes_, whole
        if self.plays or self.ended:
            return
        threshold = self.resume if self.begun else self.start
        if whole or self.buffered > threshold or (not self.above and self.buffered == threshold):
            self.moments.append(("resumes" if self.begun else "starts", Fraction(at)))
            self.plays = self.begun = True


def vector(
    name: str, about: str, viewer: Viewer, arrivals: Sequence[tuple[int, int]], until: int, whole: bool = True
) -> tuple[str, str]:
    """Arrivals are instants in ns and bytes; the last of them completes the file where it comes `whole`."""
    events: list[dict[str, Any]] = []
    total, shown = 0, 0

    def told() -> list[list[Any]]:
        nonlocal shown
        new = [[what, round(at)] for what, at in viewer.moments[shown:]]
        shown = len(viewer.moments)
        return new

    for number, (at, size) in enumerate(arrivals, start=1):
        total += size
        last = whole and number == len(arrivals)
        viewer.receive(at, total, last)
        buffered = round(viewer.buffered)
        events.append(
            {
                "event": "receive",
                "at_ns": at,
                "bytes": total,
                "whole": last,
                "expect": {"moments": told(), "buffered_ns": 0 if viewer.ended else buffered},
            }
        )
    viewer.look(Fraction(until))
    buffered = 0 if viewer.ended else round(viewer.buffered)
    events.append({"event": "look", "at_ns": until, "expect": {"moments": told(), "buffered_ns": buffered}})
    head = {
        "player": "progressive" if viewer.above else "chunks",
        "name": name,
        "about": about,
        "bitrate_bps": viewer.bitrate,
        "start_ns": int(viewer.start),
        "resume_ns": int(viewer.resume),
        "stall_ns": int(viewer.stall),
        "above": viewer.above,
    }
    lines = ",\n  ".join(json.dumps(event) for event in events)
    return f"player/{name}.json", f'{json.dumps(head, indent=1)[:-2]},\n "events": [\n  {lines}\n ]\n}}\n'


def youtube(bitrate: int = 1_128_000, resume: str = "2.2") -> Viewer:
    """The thresholds of Sanhaji et al. 2015: 2.2 s and 0.4 s."""
    return Viewer(bitrate, *(Fraction(at) * SECOND for at in ("2.2", resume, "0.4")))


def viewers(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """(file, text) of every vector."""
    packet = 1_460 * 8 * SECOND // 400_000
    slow = [(100_000_000 + packet * n, 1_460) for n in range(1, 780)]
    about = "Packets of 1,460 B at 0.4 Mbit/s of a video of 1,128 kbit/s: plays 2.79 s and stalls 5.08 s in turn."
    yield vector("slow", about, youtube(), slow, 24 * SECOND, whole=False)
    for seed, (name, viewer, about) in enumerate(
        [
            ("bursts", youtube(), "Bursts and gaps of all lengths; the last completes the file."),
            ("careful", youtube(3_000_000, "7.5"), "The same, resuming only above 7.5 s."),
            (
                "chunks",
                Viewer(2_000_000, *(Fraction(at) * SECOND for at in (8, 2, 0)), above=False),
                "Chunks of two seconds: playback starts with four of them, resumes with one, stalls with none.",
            ),
        ],
        start=131,
    ):
        dice, now, arrivals = draws(seed), 0, []
        for _ in range(160):
            # Mostly about as fast as the video, at times much slower: exponential gaps would do as well.
            long = 6_000 if dice.next() < 0.12 else 900
            seconds = Fraction(2) if name == "chunks" else Fraction(round(40 + 900 * dice.next()), 1_000)
            now += round(1 + long * dice.next() * (2 if name == "chunks" else 1)) * 1_000_000
            arrivals.append((now, round(seconds * viewer.bitrate / 8)))
        yield vector(name, about, viewer, arrivals, now + 600 * SECOND)
    about = "A file that is shorter than the start threshold, and plays once it is there."
    yield vector("short", about, youtube(), [(SECOND, 141_000), (2 * SECOND, 14_100)], 9 * SECOND)
    about = "The end of the file comes while the player stalls with less than it resumes above: it plays the rest."
    yield vector("end", about, youtube(), [(0, 423_000), (4 * SECOND, 7_050), (5 * SECOND, 7_050)], 9 * SECOND)
    about = "What arrives at the instant at which 0.4 s are left comes in time; 2.2 s are not more than 2.2 s."
    edge = [(0, 310_200), (SECOND, 42_300), (3_100_000_000, 70_500), (9 * SECOND, 1_410_000)]
    yield vector("edges", about, youtube(), edge, 30 * SECOND)


@dataclass
class Fetcher:
    """A player of adaptive video that fetches one chunk after the other over a network whose throughput wanders."""

    choose: Callable[[Asked], Choice]
    dice: Any
    steady: str
    in_chunks: bool
    play_at: int
    resume_at: int = 2
    chunk: int = 2
    capacity: int = 30
    steady_after: int | None = None

    def run(self, chunks: int) -> tuple[list[dict[str, Any]], list[list[Any]]]:
        """Requests and arrivals, and what was shown until the last arrival."""
        # Bytes of this viewer are nanoseconds of video.
        thresholds = (Fraction(at) * SECOND for at in (self.play_at, self.resume_at, 0))
        viewer = Viewer(8 * SECOND, *thresholds, above=False)
        length, room = self.chunk * SECOND, self.capacity * SECOND
        events: list[dict[str, Any]] = []
        seen: list[float] = []
        now, last, filling, network = 0, None, True, 1.5e6
        for number in range(chunks):
            viewer.look(Fraction(now))
            held = viewer.buffered
            buffer = ceil(held / length) * self.chunk if self.in_chunks else float(held / SECOND)
            asked = Asked(PAPER, self.chunk, None, number, buffer, self.capacity, list(seen), last)
            level, clear = self.choose(asked)
            if not clear:
                break
            network = min(max(network * 2 ** (2.4 * self.dice.next() - 1.2), 1.5e5), 9e6)
            size = round(asked.size(0, level))
            arrives = now + 50_000_000 + round(size * 8 / network * 1e3) * 1_000_000
            events.append({"event": "request", "at_ns": now, "level": level, "arrives_ns": arrives})
            seen.append(size * 8 / ((arrives - now) / 1e9))
            last = level
            viewer.look(Fraction(arrives))
            filling = filling or (viewer.begun and not viewer.plays)
            viewer.receive(arrives, viewer.bytes + length, False)
            excess = viewer.buffered + length - room
            if self.steady == "room":
                now = arrives + max(0, round(excess))
                continue
            if excess > 0 or (self.steady_after is not None and number + 1 >= self.steady_after):
                filling = False
            # Never without room: what came in while nothing was shown has to be shown first.
            now = arrives if filling else max(arrives, now + length, arrives + round(excess))
        return events, [[what, round(at)] for what, at in viewer.moments]


def fetchers(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """(file, text) of every vector of adaptive video: each rule in a player, and the ways of asking."""
    rules: list[tuple[str, Callable[[Asked], Choice]]] = [
        ("aggressive-rate", aggressive_rate),
        ("bba-0", bba),
        ("bola", lambda a: bola_level(a.ladder, a.buffer)),
        ("dynamic", Dynamic()),
        ("mpc", mpc),
        ("rate", rate),
        ("robust-mpc", robust_mpc),
    ]
    for seed, (rule, choose) in enumerate(rules, start=151):
        by_period = rule in ("aggressive-rate", "rate")
        player = Fetcher(
            choose,
            draws(seed),
            steady="period" if by_period else "room",
            in_chunks=rule == "aggressive-rate",
            play_at={"aggressive-rate": 30, "bola": 6}.get(rule, 2),
            resume_at=4 if rule == "mpc" else 2,
            steady_after=8 if rule == "rate" else None,
        )
        events, moments = player.run(150)
        head = {
            "player": "has",
            "name": rule,
            "about": f"A player with the rule {rule} asks {'each two seconds' if by_period else 'when there is room'}.",
            "rule": rule,
            "ladder_bps": PAPER,
            "chunk_s": player.chunk,
            "capacity_s": player.capacity,
            "play_at_s": player.play_at,
            "resume_at_s": player.resume_at,
            "steady": player.steady,
            "steady_after": player.steady_after,
            "buffer_in": "chunks" if player.in_chunks else "seconds",
            "moments": moments,
        }
        lines = ",\n  ".join(json.dumps(event) for event in events)
        yield f"has/{rule}.json", f'{json.dumps(head, indent=1)[:-2]},\n "events": [\n  {lines}\n ]\n}}\n'
