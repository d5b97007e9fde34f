"""Scenarios nobody would write: made from the JSON schema, from the ends of the ranges of parameters, or every example
and every kind of the tables, changed by structure, value and byte.

    python tests/fuzz/fuzz.py [--cases 2000 | --seconds 600 | --ends] [--seed 1] [--jobs 2] [--keep FOLDER]

One case in eight comes in as a file and goes through commands (`ways.py`), some of them readers of what was kept and is
damaged. Classes that are known and not mended are listed in `known.py`.

With `--ends` every parameter is taken to each end of its range, and every two of one mechanism together; `--cases` or
`--seconds` then take as many of these at random.

A case depends on the seed and its number alone. It runs in a process of its own below a limit of memory: stop is asked
for after 1 s, the process is killed after 4 s. What fails is made smaller and written as a file that runs again.

What must hold of what is accepted: no panic, no death, the stop flag is heard, packets are conserved (the engine says
so), two runs and three threads give one hash, metrics are what their descriptions say
(`ranges.py`), and a run takes no more memory than 1.5 times its limit: above it the run ends with an error.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "tests" / "fuzz")]

import ends  # noqa: E402
import fromschema  # noqa: E402
import known  # noqa: E402
import ways  # noqa: E402
from ranges import senseless  # noqa: E402

MEMORY = 2 * 2**30
"""Address space of a process that runs; one of commands has twice as much."""
STOP_S = 1.0
KILL_S = 4.0
START_S = 120.0
"""Imports, on a machine that does much else."""
WAY_S = 60.0
"""For a command, which may import and draw: neither can be asked to stop."""
HEAVY_S = 60.0
"""Simulated time above which a case is only validated: what it would show takes too long to wait for."""

NUMBERS = [0, 1, -1, 2, 255, 256, 2**31, 2**32, 2**53, 2**63, -(2**63), 10**18, 0.0, 1e-300, 1e300, 0.5, 1 - 2**-53]
SCALES = ["0", "1", "-1", "0.5", "1e-9", "1e9", "1e18", "1e300", "2", "3", "17", "1400", "1e6"]
ODD = [True, False, "", "x", "\x1b[31m", "\u202e", [], {}, [[]], ["1 s", "2 s"], {"uniform": [1, 2]}, "1e400 s"]
LAWS = ["uniform", "normal", "exponential", "lognormal", "pareto", "weibull"]
QUANTITY = re.compile(r"^(-?[0-9.]+(?:e[+-]?[0-9]+)?)( .+)$")


def bases() -> list[dict[str, Any]]:
    """The examples, and the bench's network with each kind of every room on its way."""
    import mechanisms

    trees = [tomllib.loads(path.read_text("utf-8")) for path in sorted((ROOT / "examples/scenarios").glob("*.toml"))]
    base = mechanisms.base_scenario()
    trees += [base.with_settings(swap.settings).tree for swap in mechanisms.swaps()]
    for tree in trees:
        tree.pop("sweep", None)
        tree.update(duration="200 ms", warmup="20 ms")
    return trees


def places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path of a tree, below the root."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from places(value, (*above, key))


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def extreme(value: Any, rng: random.Random) -> Any:
    """A value of the same kind at the end of some range, or of another kind."""
    if rng.random() < 0.1:
        return copy.deepcopy(rng.choice(ODD))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([rng.choice(NUMBERS), value * 2, value / 2, -value, value + 1])
    found = QUANTITY.match(value) if isinstance(value, str) else None
    if found is None:
        return copy.deepcopy(rng.choice(ODD))
    if rng.random() < 0.15:
        law = rng.choice(LAWS)
        return {law: [value, rng.choice(SCALES) + found[2]] if rng.random() < 0.7 else value}
    if rng.random() < 0.6:
        return f"{float(found[1]) * rng.choice([0.01, 0.1, 0.5, 2, 10, 100]):g}{found[2]}"
    return rng.choice(SCALES) + found[2]


def change(tree: dict[str, Any], donor: dict[str, Any], rng: random.Random) -> None:
    """One change in place: a value, a key less, a key twice, or a part of another scenario."""
    paths = list(places(tree))
    if not paths:
        return
    path = rng.choice(paths)
    owner = at(tree, path[:-1])
    what = rng.random()
    if what < 0.6:
        leaves = [p for p in paths if not isinstance(at(tree, p), dict | list)]
        if leaves:
            path = rng.choice(leaves)
            at(tree, path[:-1])[path[-1]] = extreme(at(tree, path), rng)
    elif what < 0.7:
        del owner[path[-1]]
    elif what < 0.75 and isinstance(owner, list):
        owner.append(copy.deepcopy(owner[path[-1]]))
    elif what < 0.75:
        owner[str(path[-1]) + "2"] = copy.deepcopy(owner[path[-1]])
    else:
        same = [p for p in places(donor) if p[-1] == path[-1]] or list(places(donor))
        taken = rng.choice(same)
        owner[path[-1]] = copy.deepcopy(at(donor, taken))


def generate(trees: list[dict[str, Any]], seed: int, number: int) -> str:
    """The text of case `number`: TOML of a changed tree, a quarter of them with changed bytes."""
    import mechanisms

    rng = random.Random(f"{seed}/{number}")
    if number % 16 in (6, 13):
        if rng.random() < 0.2:
            return ways.reader(rng)
        return ways.make(fromschema.make(rng) if number % 2 else changed(trees, rng, [0, 0, 0, 1, 2]), rng, scramble)
    if number % 10 == 8:
        return str(mechanisms.toml(ends.make(rng)))
    if number % 2:
        text = str(mechanisms.toml(fromschema.make(rng)))
        return scramble(text, rng) if rng.random() < 0.05 else text
    tree = changed(trees, rng, [1, 1, 1, 2, 3, 5])
    text = str(mechanisms.toml(tree)) if all(isinstance(key, str) for key in tree) else ""
    return scramble(text, rng) if rng.random() < 0.15 else text


def changed(trees: list[dict[str, Any]], rng: random.Random, counts: list[int]) -> dict[str, Any]:
    """One of the trees with so many changes."""
    tree = copy.deepcopy(rng.choice(trees))
    for _ in range(rng.choice(counts)):
        change(tree, rng.choice(trees), rng)
    return tree


def scramble(text: str, rng: random.Random) -> str:
    """The text with a few bytes changed."""
    letters = list(text)
    for _ in range(rng.choice([1, 2, 4])):
        place = rng.randrange(len(letters) + 1)
        letters[place : place + rng.choice([0, 1, 1, 8])] = rng.choice(["", '"', "[", "{", "=", "\\", "9", "\0", "é"])
    return "".join(letters)


def outcome(text: str, report: Callable[[str], None] = lambda _: None) -> str:
    """What became of a scenario: `rejected`, `heavy`, `refused`, `stopped`, `ran`, or `FAILED: why`."""
    from evenflow import _core
    from evenflow.errors import EvenflowError, Interrupted, OutOfMemory
    from evenflow.run.engine import execute
    from evenflow.scenario.scenario import Scenario, require_memory

    try:
        scenario = Scenario(tomllib.loads(text), source="fuzz.toml")
        core = scenario.core
    except tomllib.TOMLDecodeError:
        return "rejected"
    except EvenflowError as error:
        said = str(error)
        return "FAILED: a defect while validating" if "defect" in said else "rejected"
    except BaseException as error:
        return f"FAILED: {type(error).__name__} while validating: {str(error)[:200]}"
    if core.duration_s > HEAVY_S:
        return "heavy"
    try:
        require_memory(scenario)
    except EvenflowError:
        return "refused"
    report("running")
    taken = resident()
    try:
        fast = execute(scenario.to_json(), 1, LIMIT)
        used = resident(peak=True) - taken
        report("again")
        again = _core.run(core, 1, LIMIT)
        report("threads")
        hashes = {fast.record_hash, again.record_hash}
        if len(text) % 3 == 0:
            # beside runs of another seed, so that what they might share would show
            with ThreadPoolExecutor(3) as pool:
                several = list(pool.map(lambda seed: _core.run(core, seed, LIMIT).record_hash, [1, 2, 1, 2]))
            hashes |= {several[0], several[2]}
            if several[1] != several[3]:
                return "FAILED: two threads differ in a run of seed 2"
        report("done")
    except (Interrupted, _core.Interrupted):
        return "stopped"
    except (OutOfMemory, _core.OutOfMemory):
        used = resident(peak=True) - taken
        return too_much(used) or "refused"
    except EvenflowError as error:
        said = str(error)
        return f"FAILED: {said[-300:]}" if "defect" in said else "refused"
    except _core.StageError:
        return "refused"
    except BaseException as error:
        return f"FAILED: {type(error).__name__}: {str(error)[:200]}"
    if len(hashes) > 1:
        return "FAILED: two runs, or threads, differ"
    ill = too_much(used) or next((f"FAILED: {why}" for why in senseless(json.loads(fast.text))), None)
    return ill or "ran"


def too_much(used: int) -> str | None:
    """Whether a run took more memory than its limit allows."""
    if used <= 1.5 * LIMIT + SLACK:
        return None
    return f"FAILED: more memory than the limit: {used >> 20} MiB, not {LIMIT >> 20} MiB"


LIMIT = 2**29
"""Bytes that a run may use. Four may run at a time, three of them in threads."""

SLACK = 16 * 2**20
"""What allocators keep."""


def resident(peak: bool = False) -> int:
    """Bytes of memory that this process has, or had at most since it was last asked without `peak`."""
    if not Path("/proc/self/clear_refs").exists():
        return 0
    if not peak:
        Path("/proc/self/clear_refs").write_text("5")
    text = Path("/proc/self/status").read_text("ascii")
    found = re.search(rf"{'VmHWM' if peak else 'VmRSS'}:\s+(\d+)", text)
    return int(found[1]) * 1024 if found else 0


def work(pipe: Connection, home: Path, memory: int) -> None:
    """A guarded process: texts in, outcomes out."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    from evenflow import _core

    clock: threading.Timer | None = None

    def wind(seconds: float | None) -> None:
        """Stop is asked for after so long, from now; the last request is forgotten."""
        nonlocal clock
        if clock is not None:
            clock.cancel()
            clock.join()
        _core.clear_stop()
        clock = None if seconds is None else threading.Timer(seconds, _core.request_stop)
        if clock is not None:
            clock.start()

    def begins(stage: str) -> None:
        if stage == IMPORTING:
            wind(None)
        elif stage.startswith(COMMAND):
            wind(STOP_S)
        pipe.send(("at", stage))

    while True:
        text = pipe.recv()
        if text is None:
            return
        wind(STOP_S)
        found = ways.outcome(text, home, begins) if ways.split(text)[0] else outcome(text, begins)
        wind(None)
        pipe.send(("end", found))


IMPORTING = "importing"
COMMAND = "way "
"""How the stages of commands begin: each has the time of a case."""


class Worker:
    """Two guarded processes: what commands import takes address space that a run would lack."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="evenflow-fuzz-"))
        self.runs = Guarded(self.home, MEMORY)
        self.ways = Guarded(self.home, 2 * MEMORY)

    def __call__(self, text: str) -> str:
        return known.judged(self.raw(text))

    def raw(self, text: str) -> str:
        """The outcome, whether its class is known or not."""
        return self.ways(text) if ways.split(text)[0] else self.runs(text)

    def close(self) -> None:
        self.runs.close()
        self.ways.close()
        shutil.rmtree(self.home, ignore_errors=True)


class Guarded:
    """One guarded process, made anew when a case has ended it."""

    def __init__(self, home: Path, memory: int) -> None:
        self.process: Any = None
        self.home, self.memory = home, memory

    def __call__(self, text: str) -> str:
        until = time.monotonic() + STOP_S + KILL_S
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs, self.home, self.memory), daemon=True)
            self.process.start()
            theirs.close()
            until = time.monotonic() + START_S
        stage = "validating"
        with contextlib.suppress(EOFError, OSError):
            self.pipe.send(text)
            while self.pipe.poll(max(0.0, until - time.monotonic())):
                what, said = self.pipe.recv()
                if what == "end":
                    return str(said)
                stage = said
                if stage == IMPORTING:
                    until = time.monotonic() + START_S
                elif stage.startswith(COMMAND):
                    until = time.monotonic() + WAY_S
            self.process.kill()
            self.process.join()
            self.process = None
            return f"FAILED: stop not heard ({stage})"
        self.process.join()
        code, self.process = self.process.exitcode, None
        return f"FAILED: the process died with {code} ({stage})"

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(OSError):
                self.pipe.send(None)
            self.process.join(5)


def minimise(text: str, why: str, run: Callable[[str], str], tries: int = 150, seconds: float = 60.0) -> str:
    """A shorter text that fails in the same way: steps and keys go and values become simpler, as long as it does; of a
    text that does not parse, halves of its lines and then of its longest line."""
    until = time.monotonic() + seconds
    steps, rest = ways.split(text)

    def fails(steps: list[ways.Step], rest: str) -> bool:
        nonlocal tries
        if tries == 0 or time.monotonic() > until:
            return False
        tries -= 1
        return known.class_of(run(ways.join(steps, rest))) == known.class_of(why)

    steps = fewer(steps, lambda some: fails(some, rest))
    for index in range(len(steps)):
        steps = shorter(steps, index, lambda some: fails(some, rest))
    tree = ways.parses(rest)
    if tree is None:
        lines = fewer(rest.splitlines(keepends=True), lambda some: fails(steps, "".join(some)))
        longest = max(range(len(lines)), key=lambda index: len(lines[index]), default=None)
        if longest is not None:
            before, after = lines[:longest], lines[longest + 1 :]
            letters = fewer(list(lines[longest]), lambda some: fails(steps, "".join([*before, *some, *after])))
            lines[longest] = "".join(letters)
        return ways.join(steps, "".join(lines))
    for path in sorted(places(tree), key=len):
        smaller = copy.deepcopy(tree)
        try:
            del at(smaller, path[:-1])[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if fails(steps, ways.toml(smaller)):
            tree, rest = smaller, ways.toml(smaller)
    for path in list(places(tree)):
        found = True
        while found:
            found = False
            try:
                value = at(tree, path)
            except (KeyError, IndexError, TypeError):
                break
            for simple in simpler(value):
                smaller = copy.deepcopy(tree)
                at(smaller, path[:-1])[path[-1]] = simple
                if fails(steps, ways.toml(smaller)):
                    tree, rest, found = smaller, ways.toml(smaller), True
                    break
    return ways.join(steps, rest)


def fewer(parts: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """As few of the parts as fail: halves go, then quarters, down to single ones."""
    size = (len(parts) + 1) // 2
    while size:
        start = 0
        while start < len(parts):
            some = parts[:start] + parts[start + size :]
            if fails(some):
                parts = some
            else:
                start += size
        size = 0 if size == 1 else (size + 1) // 2
    return parts


def shorter(steps: list[ways.Step], index: int, fails: Callable[[list[ways.Step]], bool]) -> list[ways.Step]:
    """The steps with as few words of one of them, if it is a command, as fail."""

    def with_words(words: list[Any]) -> list[ways.Step]:
        return [*steps[:index], [*steps[index][:2], *words], *steps[index + 1 :]]

    if steps[index][0].startswith("@"):
        return steps
    return with_words(fewer(steps[index][2:], lambda words: fails(with_words(words))))


def simpler(value: Any) -> Iterator[Any]:
    """Values that say less: 0, 1 and a half of a number, with its unit if it has one; the first half of a text or list.
    What is simple already has none, so that one after the other comes to an end."""
    if isinstance(value, bool):
        return
    found = QUANTITY.match(value) if isinstance(value, str) else None
    number = float(found[1]) if found else value
    if isinstance(number, int | float):
        less: list[float] = [0, 1] if number not in (0, 1) else [0] if number else []
        if abs(number) > 2 and abs(number) < 2**1000:
            less.append(int(number / 2))
        yield from (f"{one}{found[2]}" if found else one for one in less)
    elif isinstance(value, str | list) and value:
        yield value[:0]
        if len(value) > 1:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]


def keep(file: Path, found: str, text: str) -> str:
    """Write a case below the reason why it is kept, and give that as it can be shown."""
    shown = "".join(letter if letter.isprintable() else " " for letter in found)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(f"# {shown}\n{text}".encode("utf-8", "surrogateescape"))
    return shown


def main() -> int:
    import mechanisms

    parser = argparse.ArgumentParser(description="Run scenarios nobody would write.")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--ends", action="store_true", help="parameters at the ends of their ranges")
    parser.add_argument("--seconds", type=float, help="instead of a number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=ROOT / "out" / "fuzz")
    given = parser.parse_args()
    cases = given.cases or (sys.maxsize if given.seconds else 2000)
    if given.ends:
        every = list(ends.every())
        random.Random(given.seed).shuffle(every)
        cases = min(given.cases or len(every), len(every))
    trees = bases()
    numbers = iter(range(cases))
    until = time.monotonic() + given.seconds if given.seconds else float("inf")
    count: Counter[str] = Counter()
    failures: dict[str, tuple[int, str]] = {}
    listed: Counter[str] = Counter()
    lock = threading.Lock()

    def loop(_: int) -> None:
        run = Worker()
        while time.monotonic() < until:
            with lock:
                number = next(numbers, None)
            if number is None:
                break
            text = str(mechanisms.toml(every[number])) if given.ends else generate(trees, given.seed, number)
            found = run(text)
            with lock:
                count[found.split(":")[0]] += 1
                if found.startswith("known"):
                    listed[found] += 1
                new = found.startswith("FAILED") and known.class_of(found) not in failures
                if new:
                    failures[known.class_of(found)] = (number, found)
            if new:
                name = given.keep / f"seed{given.seed}-{number}.toml"
                shown = keep(name, found, minimise(text, found, run))
                print(f"seed {given.seed}, case {number}: {shown}\n  kept as {name}", flush=True)
        run.close()

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(loop, range(given.jobs)))
    print(f"seed {given.seed}: {sum(count.values())} cases; " + ", ".join(f"{n} {k}" for k, n in count.most_common()))
    for found, times in listed.most_common():
        print(f"{times} {found}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
