"""The house: which room uses which, read off the code's imports, and drawn for CONTRIBUTING.md.

Rust's rooms are the crates; who uses whom stands in their manifests, test dependencies left out. Python's are the
folders of `python/evenflow` and the modules beside them that everybody may use. An import inside a function counts;
one for type checking alone does not.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "evenflow"
FOUNDATION = "foundation"
"""errors, stats and the engine's binding: what every room may use."""
ENTRANCE = "entrance"
"""The package itself and the public names of modules that live in rooms."""
SHORTCUTS = {
    ("scenario", "run"): "`scenario.run(seed)`",
    ("run", "show"): "`record.plot()`, `table.plot()`",
}
"""Methods that a user looks for on an object, though the work is done in a later room."""

Edges = dict[tuple[str, str], set[str]]
"""(user, used) -> the files that do it."""


def crates() -> Edges:
    """Which crate uses which."""
    found: Edges = {}
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        document = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for section in ("dependencies", "build-dependencies"):
            for name in document.get(section, {}):
                if name.startswith("evenflow-"):
                    used = name.removeprefix("evenflow-")
                    found.setdefault((manifest.parent.name, used), set()).add(str(manifest.relative_to(ROOT)))
    return found


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, from its dotted name's parts below `evenflow`."""
    if not parts:
        return ENTRANCE
    if (PACKAGE / parts[0]).is_dir():
        return parts[0]
    return FOUNDATION if parts[0] in ("errors", "stats", "_core") else ENTRANCE


def _imports(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of evenflow that a file imports, as parts of their names below `evenflow`."""
    package = path.relative_to(PACKAGE).parts[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(below)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for below in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == "evenflow":
                    yield parts[1:]
        elif isinstance(node, ast.ImportFrom):
            named = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                above = package[: len(package) - node.level + 1]
                base = (*above, *named)
            elif named[:1] == ("evenflow",):
                base = named[1:]
            else:
                continue
            for alias in node.names:
                yield (*base, alias.name)


def python() -> Edges:
    """Which room of the Python package uses which; papers of the registry stand for their room."""
    found: Edges = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        user = room_of(parts[:-1] or (path.stem,))
        for used in map(room_of, _imports(path)):
            if used != user and ENTRANCE not in (user, used):
                found.setdefault((user, used), set()).add(str(path.relative_to(ROOT)))
    return found


def circles(edges: Edges) -> list[list[str]]:
    """The circles among rooms, shortcuts left out; each once."""
    uses: dict[str, set[str]] = {}
    for user, used in edges:
        if (user, used) not in SHORTCUTS:
            uses.setdefault(user, set()).add(used)
    found: list[list[str]] = []

    def walk(room: str, way: list[str]) -> None:
        if room in way:
            circle = way[way.index(room) :]
            if set(circle) not in [set(known) for known in found]:
                found.append(circle)
            return
        for below in sorted(uses.get(room, ())):
            walk(below, [*way, room])

    for room in sorted(uses):
        walk(room, [])
    return found


def _needed(edges: Edges) -> list[tuple[str, str]]:
    """The arrows that do not follow from others: a uses c need not be drawn where a uses b and b uses c."""
    uses: dict[str, set[str]] = {}
    for user, used in edges:
        if (user, used) not in SHORTCUTS:
            uses.setdefault(user, set()).add(used)

    def reach(room: str) -> set[str]:
        below = set(uses.get(room, ()))
        return below.union(*(reach(next_) for next_ in below)) if below else below

    return sorted(
        (user, used)
        for user, below in uses.items()
        for used in below
        if not any(used in reach(other) for other in below if other != used)
    )


def picture() -> str:
    """Two Mermaid drawings, as CONTRIBUTING.md has them; an arrow goes from the user to what it uses."""
    lines: list[str] = []
    for title, edges in (("The crates", crates()), ("The Python package", python())):
        lines += [f"*{title}*", "", "```mermaid", "flowchart LR"]
        lines += [f"    {user} --> {used}" for user, used in _needed(edges)]
        lines += [
            f'    {user} -. "{why.replace("`", "")}" .-> {used}'
            for (user, used), why in SHORTCUTS.items()
            if (user, used) in edges
        ]
        lines += ["```", ""]
    return "\n".join(lines).rstrip()


def filled(page: str) -> str:
    """A page with the picture between `<!-- house -->` and `<!-- /house -->`."""
    before, rest = page.split("<!-- house -->")
    _, after = rest.split("<!-- /house -->")
    return f"{before}<!-- house -->\n{picture()}\n<!-- /house -->{after}"


if __name__ == "__main__":
    print(picture())
    for edges in (crates(), python()):
        for circle in circles(edges):
            print("circle:", " -> ".join(circle))
            for pair in zip(circle, [*circle[1:], circle[0]], strict=True):
                print("  ", *pair, sorted(edges.get(pair, ())))
