"""Mutation testing: is what the code says wrong noticed by a test?

    python tools/mutate.py [FILE or FOLDER …] [--count 60] [--seed 1] [--by own|fast|all] [--only 3,7] [--list]

Each mutant changes one operator, bound or number of a file in a copy of this repository. `--by` chooses tests that may
notice it: `own`, those of its crate or tests/python/test_NAME.py; `fast`, those of `make test`; `all`, slow ones too.
Tests nearest to the file run first, and the first failure ends a mutant. A mutant that no test fails is a survivor.
tests/mutants.toml explains known survivors; any other makes the command fail.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import house

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = ROOT / "tests" / "mutants.toml"
COPY = ROOT / "target" / "mutants"
"""In the target folder, whose dependencies are built already; the same each time, so that cargo compiles little."""
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

NO_SOURCE = re.compile(r"/(tests|examples|skeleton)/|/tests\.rs$|/build\.rs$")
TOO_SLOW = ["--skip", "over_the_whole_grid"]
"""Of the ignored Rust tests: it takes minutes in a release build."""
NEAREST = 5
"""How many files of tests run before the others."""
CARGO_TEST = ["cargo", "test", "--quiet", "--locked", "--all-targets"]
ENGINE = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "evenflow-python", "-F", "pyo3/extension-module"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=line"]

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
    """All mutants of a file, except in comments, docstrings, tests and texts."""
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


def drawn(files: list[str], count: int, seed: int) -> list[Mutant]:
    """Mutants of files and folders, about as many of each."""
    rng = random.Random(seed)
    found = []
    for name in files:
        below = sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name]
        sources = [str(path.relative_to(ROOT)) for path in below if path.suffix in (".py", ".rs")]
        pool = [mutant for path in sources if not NO_SOURCE.search(path) for mutant in mutants(path)]
        found += rng.sample(pool, min(len(pool), -(-count // len(files))))
    return found


def dependents(crate: str) -> list[str]:
    """A crate and the tested crates that use it, the nearest first."""
    found = [crate]
    for used in found:
        found += sorted({user for user, of in house.crates() if of == used} - {*found, "python"})
    return found


def near(path: str) -> list[str]:
    """The files of Python tests: a file's own, those with its path's words in their names, those that name it most."""
    own, stem, folder = own_tests(path), Path(path).stem, Path(path).parent.name
    words = set(re.split(r"[/_.]", "/".join(Path(path).parts[2:]).removesuffix(".py")))
    texts = {file.stem: file.read_text("utf-8") for file in (ROOT / "tests/python").glob("test_*.py")}

    def order(name: str) -> tuple[object, ...]:
        named = [len(re.findall(rf"\b{re.escape(word)}\b", texts[name])) for word in (stem, folder)]
        return name not in own, -len(words & set(name.split("_"))), *(-count for count in named), name

    return [f"tests/python/{name}.py" for name in sorted(texts, key=order)]


def own_tests(path: str) -> list[str]:
    name = "/".join(Path(path).parts[2:]).removesuffix(".py")
    return TESTS.get(name, [f"test_{Path(path).stem}"])


def commands(path: str, by: str) -> list[list[str]]:
    """Commands that may detect a mutant of a file, in order."""
    parts = Path(path).parts
    rust = parts[0] == "crates"
    if by == "own":
        files = [f"tests/python/{test}.py" for test in own_tests(path)]
        return [[*CARGO_TEST, "-p", f"evenflow-{parts[1]}"] if rust else [*PYTEST, *files]]
    also = ["--", "--include-ignored", *TOO_SLOW] if by == "all" else []
    tier = [] if by == "all" else ["-m", "not slow"]
    crates = [[*CARGO_TEST, "-p", f"evenflow-{crate}", *also] for crate in dependents(parts[1])] if rust else []
    files = near(path)
    # The nearest alone first: to collect all tests takes longer than to run a few.
    return [
        *crates,
        *([ENGINE] if rust else []),
        [*PYTEST, *tier, *files[:NEAREST]],
        [*PYTEST, *tier, *files[NEAREST:]],
    ]


def tried(mutant: Mutant, by: str) -> str:
    """`killed`, `survived`, or `did not build`; what killed it goes to standard error."""
    file = COPY / mutant.path
    whole = file.read_text("utf-8")
    lines = whole.splitlines(keepends=True)
    lines[mutant.line] = mutant.after + "\n"
    file.write_text("".join(lines), "utf-8")
    try:
        done = tests(mutant.path, by)
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        file.write_text(whole, "utf-8")
    if done is None:
        return "survived"
    if "could not compile" in done.stderr:
        return "did not build"
    why = re.findall(r"^(?:FAILED|ERROR) .*|^test .* FAILED|^thread '.*' .*panicked", done.stdout + done.stderr, re.M)
    print(*why[:1], file=sys.stderr, flush=True)
    return "killed"


def tests(path: str, by: str) -> subprocess.CompletedProcess[str] | None:
    """The first command that fails in the copy, or None."""
    environment = os.environ | {
        "PYTHONPATH": f"{COPY / 'python'}:{COPY / 'papers'}",
        "PYO3_PYTHON": sys.executable,
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "CARGO_INCREMENTAL": "1",
        "PATH": f"{os.environ['PATH']}:{Path.home()}/.cargo/bin",
    }
    for command in commands(path, by):
        done = subprocess.run(
            command, cwd=COPY, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        if done.returncode:
            return done
        if command is ENGINE:
            shutil.copy(ROOT / "target/release/lib_core.so", COPY / "python/evenflow/_core.abi3.so")
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the code and see whether a test notices.")
    parser.add_argument("files", nargs="*", help="by default some of each language")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by", choices=["own", "fast", "all"], default="own", help="which tests may notice")
    parser.add_argument("--only", default="", help="numbers of drawn mutants: 3,7 (without a check of the whole first)")
    parser.add_argument("--list", action="store_true", help="show the drawn mutants")
    given = parser.parse_args()
    chosen = list(enumerate(drawn(given.files or PYTHON + RUST, given.count, given.seed), 1))
    if given.list:
        print(*(f"{number:3} {mutant}" for number, mutant in chosen), sep="\n")
        return 0
    only = [int(number) for number in given.only.split(",") if number]
    reasons = {
        (one["path"], one["before"], one["after"]): one["why"]
        for one in tomllib.loads(EXPLAINED.read_text("utf-8")).get("survivor", [])
    }
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=shutil.ignore_patterns(".git", "target", "out", ".venv", "__pycache__"))
    paths = sorted({mutant.path for _, mutant in chosen})
    # A tier has the same tests for all files, in another order. For Rust: those of the crates that use it.
    checked = paths if given.by == "own" else [*paths[:1], *paths[-1:]]
    for path in [] if only else checked:
        sound = tests(path, given.by)
        if sound is not None:
            print(f"{path}: its tests fail as it is\n{sound.stdout[-800:]}{sound.stderr[-800:]}")
            return 1
    count: Counter[str] = Counter()
    for number, mutant in chosen:
        if only and number not in only:
            continue
        began = time.monotonic()
        found = tried(mutant, given.by)
        why = reasons.get((mutant.path, mutant.before.strip(), mutant.after.strip()))
        if found == "survived" and why:
            found = "explained"
        count[found] += 1
        print(f"{number:3} {found} after {time.monotonic() - began:.0f} s: {mutant}", flush=True)
    said = ", ".join(f"{number} {what}" for what, number in count.most_common())
    print(f"seed {given.seed}, tests {given.by}: {sum(count.values())} mutants of {len(paths)} files; {said}")
    return 1 if count["survived"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
