"""Adaptation rules beside two open programs, decision by decision.

They are sabre (Spiteri et al. 2018) and pensieve (Mao et al. 2017). Neither is part of Evenflow: `make validate
PARTS=players SABRE=DIR PENSIEVE=DIR` asks copies of them. What a program decides is read off the program itself:
sabre's own sessions over its own movie and traces, with each decision of its class taken down, and pensieve's scripts,
to which a playback environment is given in place of its own. For each decision the rule here is asked for the same
ladder, buffer and throughputs. A decision that differs must be one that a named part of the program makes, which the
rule here does not have; the number of others is expected to be zero.

Known from the sources before the first run: sabre's `BolaEnh` has parts which `bola` has not (a placeholder buffer, a
cap by throughput, the insufficient-buffer rule), and pensieve's `bb.py` maps the buffer to the number of a level. Found
by running: pensieve's `mpc.py` plans with sizes of one chunk further, plans fewer chunks at the end of a video, and
keeps errors from one video to the next. In the first two the rule here is asked as the script asks itself.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import random
import re
import subprocess
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evenflow as ef

NAME = "players"
SABRE_CLASS = "BolaEnh"
TRACES = 20
"""Of each folder of sabre's, those first by name."""
FOLDERS = ("3Glogs", "4Glogs", "sd_fs", "hd_fs")
VIDEOS = 10
"""Videos of 48 chunks that pensieve's scripts are given."""
PENSIEVE_CHUNK_S = 4.0
PENSIEVE_CAPACITY_S = 60.0


class Done(Exception):
    """The environment has shown enough."""


@dataclass
class Counts:
    """Decisions of one program beside a rule here."""

    decisions: int = 0
    alike: int = 0
    because: Counter[str] = field(default_factory=Counter)
    """Why the others differ; "unexplained" where no part of the program accounts for it."""

    def add(self, theirs: int, here: int, why: str) -> None:
        """One decision."""
        self.decisions += 1
        if theirs == here:
            self.alike += 1
        else:
            self.because[why] += 1

    @property
    def unexplained(self) -> int:
        """Decisions that differ, and no part of the program that the rule here lacks accounts for it."""
        return self.because["unexplained"]


@dataclass(frozen=True)
class Program:
    """A copy of one of the two."""

    name: str
    url: str
    needed: tuple[str, ...]
    place: Path | None

    def missing(self) -> str | None:
        """Why it cannot be asked here."""
        if self.place is None:
            return f"no copy given (git clone {self.url}; make validate PARTS=players {self.name.upper()}=DIR)"
        lacking = [name for name in self.needed if not (self.place / name).exists()]
        return f"{self.place} has no {lacking[0]} (git clone {self.url})" if lacking else None

    def describe(self) -> str:
        """Its commit, if it is a clone."""
        asked = ["git", "-C", str(self.place), "log", "-1", "--format=%h of %cs"]
        found = subprocess.run(asked, capture_output=True, text=True, check=False)
        return f"{self.name} {found.stdout.strip() or 'of an unknown version'}"


def sabre(place: Path | None) -> Program:
    """Spiteri, Sitaraman and Sparacio 2018."""
    return Program(
        "sabre",
        "https://github.com/UMass-LIDS/sabre",
        ("src/sabre.py", *(f"example/mmsys18/{name}" for name in ("bbb.json", "bbb4k.json", *FOLDERS))),
        place,
    )


def pensieve(place: Path | None) -> Program:
    """Mao, Netravali and Alizadeh 2017."""
    return Program("pensieve", "https://github.com/hongzimao/pensieve", ("test/bb.py", "test/mpc.py"), place)


def compared(program: Program) -> Iterator[tuple[str, str, Counts]]:
    """What was compared, the rule here, and the counts."""
    assert program.place is not None
    if program.name == "sabre":
        yield from bola(program.place)
        return
    counts, size = planned(program.place)
    yield "mpc.py", "robust-mpc", counts
    yield "bb.py", "bba-0", buffer_based(program.place, size)


# --- sabre


def bola(place: Path) -> Iterator[tuple[str, str, Counts]]:
    """For each folder of traces: score of sabre's class, its whole decisions, and with its placeholder given."""
    examples = place / "example" / "mmsys18"
    movies = {"4Glogs": "bbb4k.json"}
    for folder in FOLDERS:
        traces = sorted((examples / folder).glob("*.json"))[:TRACES]
        if not traces:
            continue
        scores, counted, whole = Counts(), Counts(), Counts()
        movie = examples / movies.get(folder, "bbb.json")
        manifest = json.loads(movie.read_text(encoding="utf-8"))
        ladder = [1e3 * kbps for kbps in manifest["bitrates_kbps"]]
        chunk_s = manifest["segment_duration_ms"] / 1e3
        # as its class has them: 10 s and 2 s a level, or the whole buffer where that is more
        target = max(10.0 + 2.0 * len(ladder), 25.0)
        rule = ef.mechanism("bola", minimum_buffer="10 s", target_buffer=f"{target:g} s")

        known = {"ladder_bps": ladder, "chunk_s": chunk_s, "throughputs_bps": [1e6], "last": 0}
        for trace in traces:
            for seen in session(place, movie, trace):
                here = rule.choose(buffer_s=seen["buffer_ms"] / 1e3, **known)["level"]
                scores.add(seen["score"], here, "unexplained")
                whole.add(seen["chosen"], here, seen["why"])
                # the rule here asked with the placeholder as buffer: this part can no longer be the reason
                here = rule.choose(buffer_s=seen["counted_ms"] / 1e3, **known)["level"]
                why = seen["why"]
                if why in ("alike", "placeholder buffer"):
                    # the placeholder is often the one at which two levels are worth the same
                    why = "equal scores" if seen["equal"](here) else "unexplained"
                counted.add(seen["chosen"], here, why)
        yield f"score, {folder}", "bola", scores
        yield f"whole, {folder}", "bola", whole
        yield f"whole, the placeholder given, {folder}", "bola", counted


def session(place: Path, movie: Path, trace: Path) -> list[dict[str, Any]]:
    """Decisions of sabre's default class over one trace, each with the part of the class that made it."""
    source = (place / "src" / "sabre.py").read_text(encoding="utf-8")
    space: dict[str, Any] = {"__name__": "__main__", "__file__": str(place / "src" / "sabre.py")}
    seen: list[dict[str, Any]] = []

    def watch(name: str) -> None:
        made = space[name].get_quality_delay

        def asked(self: Any, index: int) -> tuple[int, float]:
            # its factor is made with the first throughput
            factor = getattr(self, "ibr_safety", 1.0)
            known = space["get_buffer_level"](), self.placeholder, factor
            starting, last = self.state == type(self).State.STARTUP, self.last_quality
            alone = self.quality_from_buffer(known[0])
            counted = self.quality_from_buffer(known[0] + known[1])
            worth = [
                (self.Vp * (utility + self.gp) - known[0] - known[1]) / rate
                for utility, rate in zip(self.utilities, space["manifest"].bitrates, strict=True)
            ]
            chosen, delay = made(self, index)
            bps, manifest = space["throughput"], space["manifest"]
            affordable = self.quality_from_throughput(bps) if bps else 0
            # what the insufficient-buffer rule lets through, bits of a chunk
            safe = known[2] * (known[0] - space["latency"]) * bps if bps else 0.0
            chunks = [rate * manifest.segment_time for rate in manifest.bitrates]
            seen.append(
                {
                    "buffer_ms": known[0],
                    "counted_ms": known[0] + known[1],
                    "score": alone,
                    "chosen": chosen,
                    "equal": lambda level: math.isclose(worth[level], worth[counted], rel_tol=1e-9, abs_tol=1e-9),
                    "why": part(chosen, counted, last, affordable, starting, safe, chunks),
                }
            )
            return chosen, delay

        space[name].get_quality_delay = asked

    before, marker = source.split("if __name__ == '__main__':", 1)
    asked_with = ["sabre.py", "-m", str(movie), "-n", str(trace), "-a", "bolae", "-noa"]
    argv, sys.argv = sys.argv, asked_with
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(before, "sabre.py", "exec"), space)
            watch(SABRE_CLASS)
            exec(compile("if True:" + marker, "sabre.py", "exec"), space)
    finally:
        sys.argv = argv
    return seen


def part(
    chosen: int, counted: int, last: int, affordable: int, starting: bool, safe: float, chunks: Sequence[float]
) -> str:
    """Which part of sabre's class makes a decision that is not the score's at the buffer as it is.

    Args:
        counted: the score's level where the placeholder counts as buffer.
        affordable: the highest level within the throughput.
        safe: bits that the insufficient-buffer rule lets a chunk have.
        chunks: bits of a chunk by level.
    """
    if starting:
        return "start by throughput" if chosen in (affordable, last) else "unexplained"
    # no rise above what the throughput allows, but for one level
    capped = counted > last and counted > affordable
    allowed = max(last, affordable) + 1 if capped else counted
    if chosen == allowed:
        return "cap by throughput" if allowed != counted else "placeholder buffer"
    fits = chosen == 0 or chunks[chosen] <= safe
    return "insufficient buffer" if chosen < allowed and fits and chunks[chosen + 1] > safe else "unexplained"


# --- pensieve


def walk(seed: int) -> Iterator[float]:
    """Throughput chunk by chunk, Mbit/s: a random walk of its logarithm between 0.2 and 8."""
    chance = random.Random(seed)
    at = math.log(chance.uniform(0.4, 5.0))
    while True:
        at = min(max(at + chance.gauss(0.0, 0.3), math.log(0.2)), math.log(8.0))
        yield math.exp(at)


class Playback:
    """In place of pensieve's `fixed_env.Environment`: plays videos of 48 chunks and takes down what it is asked for."""

    def __init__(self, size: Callable[[int, int], float]) -> None:
        self.size = size
        self.video = 0
        self.chunk = 0
        self.buffer_s = 0.0
        self.rates = walk(1)
        self.asked: list[tuple[int, int]] = []
        """Video, level of each chunk, in order."""
        self.shown: list[tuple[int, int, float, float]] = []
        """After it: video, chunk fetched, buffer (s), throughput (bit/s)."""

    def get_video_chunk(self, level: int) -> tuple[float, ...]:
        """As pensieve's returns it: ms, ms, s, s, bytes, ..., whether the video is over, chunks that remain."""
        self.asked.append((self.video, int(level)))
        size = self.size(int(level), self.chunk)
        bps = 1e6 * next(self.rates)
        took = 8.0 * size / bps
        stalled = max(0.0, took - self.buffer_s)
        self.buffer_s = max(0.0, self.buffer_s - took) + PENSIEVE_CHUNK_S
        slept = max(0.0, self.buffer_s - PENSIEVE_CAPACITY_S)
        self.buffer_s -= slept
        self.shown.append((self.video, self.chunk, self.buffer_s, bps))
        self.chunk += 1
        remain = 48 - self.chunk
        answer = (1e3 * took, 1e3 * slept, self.buffer_s, stalled, size)
        over = self.chunk >= 48
        if over:
            self.video, self.chunk, self.buffer_s = self.video + 1, 0, 0.0
            self.rates = walk(1 + self.video)
            if self.video >= VIDEOS:
                raise Done
        more: tuple[Any, ...] = answer if self.sizes_too is False else (*answer, [])
        return (*more, over, remain)

    sizes_too = False


def script(place: Path, name: str, size: Callable[[int, int], float] | None) -> tuple[Playback, dict[str, Any]]:
    """A script of pensieve's, run over `Playback`; what it was asked for, and the script's own names."""
    source = (place / "test" / name).read_text(encoding="utf-8")
    # of Python 2 they have print alone
    code = compile(re.sub(r"(?m)^(\s*)print (.+)$", r"\1print(\2)", source), name, "exec")
    space: dict[str, Any] = {
        "__name__": "asked",
        "open": lambda *_: types.SimpleNamespace(write=len, flush=int, close=int),
    }
    given: dict[str, Any] = {}
    environment = types.ModuleType("fixed_env")
    loader = types.ModuleType("load_trace")
    drawing, pyplot = types.ModuleType("matplotlib"), types.ModuleType("matplotlib.pyplot")

    def made(**_: Any) -> Playback:
        given["playback"] = Playback(size or space["get_chunk_size"])
        given["playback"].sizes_too = name == "bb.py"
        given["playback"].trace_idx = 0
        return given["playback"]  # type: ignore[no-any-return]

    environment.Environment = made  # type: ignore[attr-defined]
    loader.load_trace = lambda: ([], [], [str(i) for i in range(VIDEOS + 1)])  # type: ignore[attr-defined]
    here = {"fixed_env": environment, "load_trace": loader, "matplotlib": drawing, "matplotlib.pyplot": pyplot}
    kept = {key: sys.modules.get(key) for key in here}
    sys.modules.update(here)
    try:
        exec(code, space)
        with contextlib.suppress(Done), contextlib.redirect_stdout(io.StringIO()):
            space["main"]()
    finally:
        for key, module in kept.items():
            if module is None:
                del sys.modules[key]
            else:
                sys.modules[key] = module
    return given["playback"], space


def buffer_based(place: Path, size: Callable[[int, int], float]) -> Counts:
    """`bb.py` beside `bba-0` with the same reservoir and cushion."""
    playback, space = script(place, "bb.py", size)
    ladder = [1e3 * kbps for kbps in space["VIDEO_BIT_RATE"]]
    reservoir, cushion, top = space["RESEVOIR"], space["CUSHION"], len(ladder) - 1
    rule = ef.mechanism("bba-0", reservoir=f"{reservoir} s", cushion=f"{cushion} s")
    counts = Counts()
    for chunk, buffer_s, level, last, _ in following(playback):
        here = rule.choose(
            ladder_bps=ladder,
            chunk_s=PENSIEVE_CHUNK_S,
            capacity_s=PENSIEVE_CAPACITY_S,
            buffer_s=buffer_s,
            throughputs_bps=[1e6],
            last=last,
            next=chunk,
        )["level"]
        # a level's number proportional to the buffer, whatever the last one was
        number = min(top, max(0, int(top * (buffer_s - reservoir) / cushion)))
        counts.add(level, here, "level by number" if level == number else "unexplained")
    return counts


def planned(place: Path) -> tuple[Counts, Callable[[int, int], float]]:
    """`mpc.py`, which is robust MPC, beside `robust-mpc` with its penalties and sizes; and the sizes of its video."""
    playback, space = script(place, "mpc.py", None)
    ladder = [1e3 * kbps for kbps in space["VIDEO_BIT_RATE"]]
    # the script takes the size of the chunk behind each one that it plans: the rule here is given the same
    sizes = [[float(space["get_chunk_size"](level, k + 1)) for level in range(len(ladder))] for k in range(48)]
    counts = Counts()
    errors: list[float] = []
    predicted: list[float] = []
    for chunk, buffer_s, level, last, rates in following(playback):
        # at the end of a video the script plans fewer chunks; here a list of sizes begins again
        rule = ef.mechanism("robust-mpc", stall_penalty=4300, switch_penalty=1, horizon=min(5, 48 - chunk))
        here = rule.choose(
            ladder_bps=ladder,
            chunk_s=PENSIEVE_CHUNK_S,
            capacity_s=PENSIEVE_CAPACITY_S,
            buffer_s=buffer_s,
            sizes_bytes=sizes,
            throughputs_bps=rates,
            last=last,
            next=chunk,
        )["level"]
        errors.append(abs(predicted[-1] - rates[-1]) / rates[-1] if predicted else 0.0)
        recent = rates[-5:]
        predicted.append(len(recent) / sum(1 / rate for rate in recent))
        mine = [0.0, *(abs(harmonic(rates[: i + 1]) - rates[i + 1]) / rates[i + 1] for i in range(len(rates) - 1))]
        counts.add(level, here, _why(space, buffer_s, chunk, last, predicted[-1], (errors, mine), (level, here)))
    return counts, space["get_chunk_size"]


def harmonic(rates: Sequence[float]) -> float:
    """Mean of the last five."""
    recent = rates[-5:]
    return len(recent) / sum(1 / rate for rate in recent)


def _why(
    space: dict[str, Any],
    buffer_s: float,
    chunk: int,
    last: int,
    rate: float,
    errors: tuple[Sequence[float], Sequence[float]],
    levels: tuple[int, int],
) -> str:
    """What makes the script's plan another one, by the script's own sum."""
    if levels[0] == levels[1]:
        return "alike"

    def lead(errors: Sequence[float]) -> float:
        """How much more the script's level is worth than the one here."""
        bps = rate / (1 + max(errors[-5:]))
        mine, other = (best(space, buffer_s, chunk, last, bps, first) for first in (levels[1], levels[0]))
        return 0.0 if math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9) else other - mine

    by_script, by_rule = lead(errors[0]), lead(errors[1])
    if by_rule == 0.0 and by_script == 0.0:
        return "equal plans"
    # with the script's errors its level is as good or better, with those of this video the one here
    return "errors of the video before" if by_script >= 0.0 >= by_rule else "unexplained"


def best(space: dict[str, Any], buffer_s: float, chunk: int, last: int, bps: float, first: int) -> float:
    """The worth of the best plan that begins with this level, by the script's own sum (Mbit/s)."""
    bitrates = space["VIDEO_BIT_RATE"]
    ahead = min(5, 48 - chunk)
    found = -math.inf
    for rest in itertools.product(range(len(bitrates)), repeat=ahead - 1):
        at, worth, before = buffer_s, 0.0, last
        for position, level in enumerate((first, *rest)):
            took = 8.0 * space["get_chunk_size"](level, chunk + position + 1) / bps
            worth -= space["REBUF_PENALTY"] * max(0.0, took - at)
            at = max(0.0, at - took) + PENSIEVE_CHUNK_S
            worth += (bitrates[level] - abs(bitrates[level] - bitrates[before])) / 1e3
            before = level
        found = max(found, worth)
    return found


def following(playback: Playback) -> Iterator[tuple[int, float, int, int, list[float]]]:
    """Each decision: number of the chunk, buffer, level chosen, the one before, throughputs of the video so far."""
    rates: list[float] = []
    for k, (video, chunk, buffer_s, bps) in enumerate(playback.shown):
        if chunk == 0:
            rates = []
        rates.append(bps)
        if k + 1 < len(playback.asked) and playback.asked[k + 1][0] == video:
            yield chunk + 1, buffer_s, playback.asked[k + 1][1], playback.asked[k][1], list(rates)
