"""Count the names of mechanisms that are written outside the mechanism's own file.

    python tools/literals.py [--list]

A mechanism is what a table of `crates/{queue,stage,traffic,transport}/src` declares (`kind: "red"`). Its own file has
that declaration. A string literal counts if it is exactly such a name, in Rust or Python sources of the engine, the
package and the benches.

Not counted:
- tests, examples, papers, comments, generated files, names that are also keys of scenarios (`rate`, `tcp`)
- a scenario that code or text writes (`"kind": "red"`): a new mechanism changes none of these places. A comparison with
  a name, or a list of names, counts
- the class with a mechanism's formula in the fluid model: it declares `kind: ClassVar[str] = "wtp"`, like a table.
  Every other name in the same file counts
- `ELSEWHERE`: files and words that mean something else, each with its reason
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECLARED = re.compile(
    r'^\s*(?:#\[.*\()?(?:kind\s*[:=]|pub const (?:KIND|PEER): &str =)\s*"([a-z0-9.-]+)"', re.MULTILINE
)
ROOMS = ("queue", "stage", "traffic", "transport")
KEYS = {"rate", "tcp"}
GENERATED = {"python/evenflow/scenario/types.py"}
WRITTEN = re.compile(r'\b(?:kind|adaptation|congestion_control)(?:"\s*:|: ClassVar\[str\] =|\s*=)\s*"[a-z0-9.-]+"')
ELSEWHERE: dict[str, tuple[str, set[str]]] = {
    "benches/networks.py": ("a flavour of ef.lte's TCP, a rule of an auditor", {"newreno", "strict"}),
    "benches/peers.py": ("names of ns-2 and ns-3, and their translation", set()),
    "crates/base/src/verdict.rs": ("reasons of drops and marks", {"codel", "constant", "csfq", "pie"}),
    "crates/python/src/mechanism.rs": ("a colour of packets", {"red"}),
    "crates/scenario/src/catalogue.rs": (
        "text on names that are no mechanisms; a test rejects a mechanism there",
        set(),
    ),
    "crates/stage/src/auditor.rs": ("a rule of the auditor", {"strict"}),
    "crates/stage/src/congestion_policer.rs": ("a rule of the policer, a stage's name", {"policer", "strict"}),
    "python/evenflow/scenario/lte.py": (
        "writes the network of a paper, as in papers/; its schemes and flavours",
        set(),
    ),
    "python/evenflow/scenario/manifest.py": ("a type of MPEG-DASH manifests", {"dynamic"}),
}
"""Files with the reason and the names that mean something else there; no names: all."""
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


def means_another(path: str, name: str) -> bool:
    """Whether a name has another meaning in a file."""
    reason, names = ELSEWHERE.get(path, ("", set()))
    return bool(reason) and (not names or name in names)


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
        place = path.relative_to(ROOT).as_posix()
        names = LITERAL.findall(WRITTEN.sub("", code(path)))
        other = (n for n in names if n in declared and path not in declared[n] and not means_another(place, n))
        count.update((place, name) for name in other)
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
