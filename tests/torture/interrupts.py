"""Ctrl-C at random instants of the command line: one sentence, exit code 130, nothing left running, no traceback.

    python tests/torture/interrupts.py [version check run study figures reproduce dask] [--tries 40] [--seed N]

Each part is a command. It is run once to the end, to learn how long it takes; then again and again, with SIGINT for all
of its processes, as a terminal sends it, at an instant drawn between its start and its end. Before Python has come to
the first line of Evenflow, the interpreter answers as it does; that is counted apart.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PATIENCE_S = 60.0
"""A command that is still there then is stuck."""

SCENARIO = """\
title = "Two users at one link"
duration = "{duration}"
warmup = "1 s"

[links.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = {{ kind = "droptail", limit = "24 packets" }}

[groups.heavy]
users = 1
path = ["bottleneck"]
traffic = {{ kind = "bulk", flows = 4 }}

[groups.light]
users = 2
path = ["bottleneck"]
traffic = {{ kind = "bulk", flows = 1 }}
"""
SWEEP = """
[sweep]
replications = {seeds}
"links.bottleneck.delay" = [{delays}]
"""


class Wrong(Exception):
    """What must not happen."""


@dataclass(frozen=True)
class Part:
    """A command."""

    arguments: tuple[str, ...]
    file: str = ""
    keep: bool = False
    """Begin each try with the store of the run that was not interrupted, not with an empty one."""
    most_s: float = float("inf")
    """The last instant, for a command that goes on for ever."""


def scenario(duration: str = "4 s", points: int = 0, seeds: int = 5) -> str:
    delays = ", ".join(f'"{5 + n} ms"' for n in range(points))
    sweep = SWEEP.format(delays=delays, seeds=seeds) if points else ""
    return SCENARIO.format(duration=duration) + sweep


PARTS = {
    "version": Part(("--version",)),
    "check": Part(("check", "f.toml"), scenario(points=500)),
    "run": Part(("run", "f.toml"), scenario("4000000 s"), most_s=3.0),
    "study": Part(("study", "f.toml", "--jobs", "2"), scenario("20 s", points=6)),
    "figures": Part(("study", "f.toml", "--jobs", "2"), scenario(points=6), keep=True),
    "reproduce": Part(("reproduce", "abc", "--scale", "quick", "--jobs", "2"), most_s=8.0),
    "dask": Part(("study", "f.toml", "--on", "dask-local:2"), scenario("20 s", points=6)),
}


def started(part: Part, folder: Path) -> subprocess.Popen[str]:
    search = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENFLOW")}
    return subprocess.Popen(
        [sys.executable, "-m", "evenflow", *part.arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": search},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def left(group: int) -> bool:
    """Is a process of this group alive?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def outcome(code: int, out: str, err: str) -> str:
    """What came of it.

    Raises:
        Wrong: neither the sentence nor the end of the command, nor the interpreter before it came to Evenflow.
    """
    lines = err.strip().splitlines()
    if code == 130 and len(lines) == 1 and "Interrupted" in lines[0]:
        return "before the command" if "before the command" in lines[0] else "a sentence"
    if code == 0 and not re.search("Traceback|Interrupt|Error", err):
        return "had ended"
    if code in (-signal.SIGINT, 1) and "evenflow" not in err.replace("<frozen", "") and not out:
        return "before Evenflow"
    raise Wrong(f"code {code}\n{err or 'nothing on standard error'}")


def tries(name: str, folder: Path, rng: random.Random, count: int) -> str:
    part = PARTS[name]
    model, place = folder / "model", folder / "place"
    model.mkdir()
    (model / "f.toml").write_text(part.file, encoding="utf-8")
    bare = model if part.keep else folder / "bare"
    if not part.keep:
        shutil.copytree(model, bare)
    whole = part.most_s
    if whole == float("inf"):
        for _ in range(2 if part.keep else 1):
            began = time.monotonic()
            process = started(part, model)
            _, err = process.communicate(timeout=600)
            whole = time.monotonic() - began
            if process.returncode:
                raise Wrong(f"the command does not work even by itself:\n{err}")
    seen: Counter[str] = Counter()
    longest, stray = 0.0, 0
    for number in range(count):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(bare, place)
        instant = whole * (number + rng.random()) / count
        process = started(part, place)
        try:
            time.sleep(instant)
            sent = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
            took = time.monotonic() - sent
            seen[outcome(process.returncode, out, err)] += 1
            longest = max(longest, took) if process.returncode == 130 else longest
            until = time.monotonic() + 5
            while left(process.pid) and time.monotonic() < until:
                time.sleep(0.05)
            stray += left(process.pid)
        except (Wrong, subprocess.TimeoutExpired) as error:
            raise Wrong(f"try {number}, SIGINT after {instant:.3f} of {whole:.3f} s: {error}") from None
        finally:
            if left(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
    if count >= 10 and not longest:
        raise Wrong(f"no command was interrupted: {seen}")
    if stray:
        raise Wrong(f"{stray} tries left processes behind")
    how = ", ".join(f"{times} {what}" for what, times in seen.most_common())
    return f"{count} instants within {whole:.1f} s: {how}; at most {longest:.1f} s until the end; 0 tracebacks"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=struct.unpack("<H", os.urandom(2))[0])
    parser.add_argument("--tries", type=int, default=40)
    given = parser.parse_args()
    # what a shell starts in the background ignores SIGINT, and so would the commands
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    failed = 0
    for name in given.parts:
        with tempfile.TemporaryDirectory(prefix="evenflow-interrupts-") as folder:
            try:
                said = tries(name, Path(folder), random.Random(f"{name}{given.seed}"), given.tries)
            except Wrong as error:
                failed += 1
                said = f"FAILED (--seed {given.seed} --tries {given.tries}): {error}"
        print(f"{name:9} {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
