"""Mutation testing: is what the code says wrong noticed by a test?

    python tools/mutate.py [FILE …] [--count 60] [--seed 1]

Each mutant changes one operator, bound or number of a file in a copy of this repository and runs that file's own tests:
those of its crate, or tests/python/test_NAME.py. A mutant that no test fails is a survivor. tests/mutants.toml explains
those that are known, each with its reason; one that is not there makes the command fail.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = ROOT / "tests" / "mutants.toml"
LIMIT_S = 900.0
"""A mutant that takes longer loops, which is noticed."""

PYTHON = [f"python/evenflow/{name}.py" for name in ("scenario/paths", "scenario/sweep", "stats", "run/locks", "words")]
RUST = [
    f"crates/{name}.rs"
    for name in ("base/src/bucket", "base/src/limit", "queue/src/codel", "queue/src/pie", "transport/src/rtt")
]
TESTS = {
    "run/locks": ["test_store_shared"],
    "words": ["test_words", "test_ways_in", "test_notes"],
    "stats": ["test_stats", "test_verdicts"],
}
"""Where the tests of a module have another name than it."""

SWAPS = [
    (r"(?<![<>=!-])<=(?!=)", "<"),
    (r"(?<![<>=!-])>=(?!=)", ">"),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == ", " != "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" && ", " || "),
    (r" and ", " or "),
    (r"\bnot ", ""),
    (r"\.min\(", ".max("),
    (r"\.max\(", ".min("),
    (r"\bmin\(", "max("),
    (r"\btrue\b", "false"),
    (r"\bTrue\b", "False"),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])0(?![\w.])", "1"),
]


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    path: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line + 1}: {self.before.strip()}  ->  {self.after.strip()}"


def mutants(path: str) -> list[Mutant]:
    """All mutants of a file: what is said in comments, docstrings, tests and texts is left alone."""
    found = []
    inside = False
    unfinished = False
    for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines()):
        if "#[cfg(test)]" in line:
            break
        # a text of Rust that goes on in the next line
        text, unfinished = unfinished, path.endswith(".rs") and line.endswith("\\")
        if text or unfinished:
            continue
        quotes = line.count('"""')
        if inside or quotes:
            inside ^= quotes % 2 == 1
            continue
        if re.match(r"\s*(//|#|@|import |from |use |\"|f\")", line) or "assert" in line:
            continue
        texts = [match.span() for match in re.finditer(r'"[^"]*"|//.*|  # .*', line)]
        for pattern, new in SWAPS:
            for match in re.finditer(pattern, line):
                if any(start <= match.start() < end for start, end in texts):
                    continue
                found.append(Mutant(path, number, line, line[: match.start()] + new + line[match.end() :]))
    return found


def command(path: str) -> list[str]:
    """What runs the tests of a file."""
    parts = Path(path).parts
    if parts[0] == "crates":
        return ["cargo", "test", "--quiet", "--locked", "-p", f"evenflow-{parts[1]}"]
    name = "/".join(parts[2:]).removesuffix(".py")
    tests = TESTS.get(name, [f"test_{Path(path).stem}"])
    options = ["-q", "-x", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", *options, *(f"tests/python/{test}.py" for test in tests)]


def tried(mutant: Mutant, copy: Path) -> str:
    """`killed`, `survived`, or `did not build`."""
    file = copy / mutant.path
    whole = file.read_text("utf-8")
    lines = whole.splitlines(keepends=True)
    lines[mutant.line] = mutant.after + "\n"
    file.write_text("".join(lines), "utf-8")
    try:
        done = tests(mutant.path, copy)
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        file.write_text(whole, "utf-8")
    if done.returncode == 0:
        return "survived"
    return "did not build" if "could not compile" in done.stderr else "killed"


def tests(path: str, copy: Path) -> subprocess.CompletedProcess[str]:
    """A run of the tests of a file in the copy."""
    environment = os.environ | {
        "PYTHONPATH": str(copy / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CARGO_TARGET_DIR": str(copy / "target"),
        "PATH": f"{os.environ['PATH']}:{Path.home()}/.cargo/bin",
    }
    return subprocess.run(
        command(path), cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the code and see whether a test notices.")
    parser.add_argument("files", nargs="*", help="by default some of each language")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    files = given.files or PYTHON + RUST
    rng = random.Random(given.seed)
    each = {
        path: rng.sample(all_, min(len(all_), -(-given.count // len(files))))
        for path in files
        if (all_ := mutants(path))
    }
    reasons = {
        (one["path"], one["before"], one["after"]): one["why"]
        for one in tomllib.loads(EXPLAINED.read_text("utf-8")).get("survivor", [])
    }
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="evenflow-mutants-") as folder:
        copy = Path(folder) / "evenflow"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "target", "out", ".venv", "__pycache__"))
        for path, chosen in each.items():
            sound = tests(path, copy)
            if sound.returncode:
                print(f"{path}: its tests fail as it is\n{sound.stdout[-800:]}{sound.stderr[-800:]}")
                return 1
            for mutant in chosen:
                found = tried(mutant, copy)
                why = reasons.get((mutant.path, mutant.before.strip(), mutant.after.strip()))
                if found == "survived" and why:
                    found = "explained"
                count[found] += 1
                if found == "survived":
                    print(f"survived: {mutant}", flush=True)
    said = ", ".join(f"{number} {what}" for what, number in count.most_common())
    print(f"seed {given.seed}: {sum(count.values())} mutants of {len(each)} files; {said}")
    return 1 if count["survived"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
