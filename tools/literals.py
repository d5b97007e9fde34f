"""Count the names of mechanisms that are written outside the mechanism's own file.

    python tools/literals.py [--list]

A mechanism is what a table of `crates/{queue,stage,traffic,transport}/src` declares (`kind: "red"`). Its own file has
that declaration. A string literal counts if it is exactly such a name, in Rust or Python sources of the engine, the
package and the benches. Not counted: tests, examples, papers, comments, generated files, names that are also keys of
scenarios (`rate`, `tcp`).
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECLARED = re.compile(r'^\s*(?:#\[.*\()?kind\s*[:=]\s*"([a-z0-9.-]+)"', re.MULTILINE)
ROOMS = ("queue", "stage", "traffic", "transport")
KEYS = {"rate", "tcp"}
GENERATED = {"python/evenflow/scenario/types.py"}
LITERAL = re.compile(r'"([a-z0-9.-]+)"')
COMMENT = {".rs": re.compile(r"//.*"), ".py": re.compile(r"#(?![^\"]*\"[^\"]*$).*")}
TESTS = re.compile(r"\n#\[cfg\(test\)\]\nmod \w+ \{.*\Z", re.DOTALL)


def sources() -> list[Path]:
    """The files that are searched."""
    found = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/evenflow/**/*.py"), *ROOT.glob("benches/*.py")]
    own = [path for path in found if "tests" not in path.parts and path.name != "tests.rs"]
    return sorted(path for path in own if path.relative_to(ROOT).as_posix() not in GENERATED)


def code(path: Path) -> str:
    """The text of a file without comments, test modules and docstrings."""
    text = TESTS.sub("\n", path.read_text(encoding="utf-8"))
    if path.suffix == ".py":
        text = re.sub(r'"""[\s\S]*?"""', "", text)
    return COMMENT[path.suffix].sub("", text)


def kinds() -> dict[str, set[Path]]:
    """The files that declare each mechanism."""
    found: dict[str, set[Path]] = {}
    for room in ROOMS:
        for path in sorted(ROOT.glob(f"crates/{room}/src/**/*.rs")):
            for name in set(DECLARED.findall(code(path))) - KEYS:
                found.setdefault(name, set()).add(path)
    return found


def literals() -> Counter[tuple[str, str]]:
    """How often each file has each name: (file, name)."""
    declared = kinds()
    count: Counter[tuple[str, str]] = Counter()
    for path in sources():
        names = LITERAL.findall(code(path))
        count.update((path.relative_to(ROOT).as_posix(), n) for n in names if n in declared and path not in declared[n])
    return count


def main() -> None:
    """Print the counts."""
    count = literals()
    if "--list" in sys.argv:
        for (path, name), times in sorted(count.items()):
            print(f"{path}: {name}{f' x {times}' if times > 1 else ''}")
    by_file: Counter[str] = Counter()
    for (path, _), times in count.items():
        by_file[path] += times
    for path, times in by_file.most_common():
        print(f"{times:4} {path}")
    print(f"{sum(count.values())} names of {len(kinds())} mechanisms outside their own files")


if __name__ == "__main__":
    main()
