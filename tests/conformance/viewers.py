"""Vectors for a video player's buffer: when it starts, stalls, resumes and ends, by what arrives when.

A second implementation in fractions, straight from Sanhaji et al. 2015, section VI-B: the buffered length is what
came in less what was played; playback starts and resumes when it exceeds one threshold (or reaches it, of players
that count chunks), and stalls when it goes below another, unless the whole file is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

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
