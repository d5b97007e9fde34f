"""Code structure: package dependencies from the imports, drawn for CONTRIBUTING.md; and which files use
each other in a circle.

Rust's rooms are the crates; who uses whom stands in their manifests, test dependencies left out. Python's are the
folders of `python/evenflow` and the modules beside them that everybody may use. An import inside a function counts,
except in the methods of `METHODS`; one for type checking alone does not.

Inside a crate or the package a module and its parts are one thing and may use each other. Between any two other files
arrows must not lead back.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "evenflow"
PAPERS = ROOT / "papers" / "evenflow_papers"
FOUNDATION = "foundation"
"""errors, stats and the engine's binding: what every room may use."""
ENTRANCE = "entrance"
"""The package itself, and its public modules, which name what packages define."""
METHODS = {
    ("scenario.scenario", "run.engine"): "`scenario.run()`",
    ("scenario.scenario", "show.methods"): "`scenario.plot()`",
    ("run.record", "show.methods"): "`record.plot()`, `record.view()`",
    ("run.table", "show.methods"): "`table.plot()`",
}
"""Convenience methods: imports of a later package, inside a method. There are no others."""

TANGLES: dict[str, str] = {}
"""Files that use each other in a circle, and why they may. A new one is to be taken apart, not put down here."""

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
    return FOUNDATION if parts[0] in ("_core", "errors", "interrupts", "reading", "stats", "words") else ENTRANCE


def _module(path: Path, root: Path) -> Module:
    """The name of a file below its package, in parts."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _file(used: Module, root: Path) -> Module:
    """The module that an imported name is in."""
    while used and not (
        root.joinpath(*used).with_suffix(".py").is_file() or root.joinpath(*used, "__init__.py").is_file()
    ):
        used = used[:-1]
    return used


def _is_method(user: Module, used: Module) -> bool:
    return (".".join(user), ".".join(used)) in METHODS


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Statements at every depth, except those for type checkers. Expressions hold no import and are most of a tree."""
    for node in block:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from _statements(getattr(node, part, []))


def _imports(path: Path, root: Path = PACKAGE) -> Iterator[tuple[str, ...]]:
    """The modules of the package in `root` that a file of it imports, as parts of their names below the package."""
    package = path.relative_to(root).parts[:-1]
    for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == root.name:
                    yield parts[1:]
        elif isinstance(node, ast.ImportFrom):
            named = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                above = package[: len(package) - node.level + 1]
                base = (*above, *named)
            elif named[:1] == (root.name,):
                base = named[1:]
            else:
                continue
            for alias in node.names:
                yield (*base, alias.name)


def python() -> Edges:
    """Which room of the Python package uses which."""
    found: Edges = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        user = room_of(parts[:-1] or (path.stem,))
        for name in _imports(path):
            used = room_of(name)
            if _is_method(_module(path, PACKAGE), _file(name, PACKAGE)):
                continue
            if used != user and user != ENTRANCE and (used != ENTRANCE or name):
                found.setdefault((user, used), set()).add(str(path.relative_to(ROOT)))
    return found


def circles(edges: Edges) -> list[list[str]]:
    """The circles among rooms; each once."""
    uses: dict[str, set[str]] = {}
    for user, used in edges:
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


Module = tuple[str, ...]
"""A module by the parts of its name; in Rust the crate comes first."""


def _apart(user: Module, used: Module) -> bool:
    """Neither is the other, or a part of it."""
    return user[: len(used)] != used and used[: len(user)] != user


def _paths(tree: str, before: Module = ()) -> Iterator[Module]:
    """The paths that the tree of a `use` names: `a::{b, c::d}` is a::b and a::c::d."""
    depth = begin = 0
    for i, sign in enumerate(tree + ","):
        depth += (sign == "{") - (sign == "}")
        if sign != "," or depth:
            continue
        item, begin = tree[begin:i].strip(), i + 1
        head, brace, below = item.partition("{")
        parts = (*before, *(part.strip() for part in re.sub(r"\s+as\s+\w+$", "", head).split("::") if part.strip()))
        if brace:
            yield from _paths(below.rstrip().removesuffix("}"), parts)
        elif item:
            yield parts


def _rust_code(text: str) -> str:
    """A file's code without comments, texts and tests."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', re.sub(r"//[^\n]*", "", text))
    return re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+ \{.*?\n\}\n", "", text, flags=re.DOTALL)


def rust_files(source: Path, crate: str) -> set[tuple[Module, Module]]:
    """Which module in a crate's folder `source` uses which: by `crate`, `self`, `super` or a submodule."""
    files: dict[Module, Path] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" not in parts:
            files[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = path
    found: set[tuple[Module, Module]] = set()
    for module, path in files.items():
        code = _rust_code(path.read_text(encoding="utf-8"))
        uses = re.compile(r"\buse\s+([^;]+);")
        named = [p for tree in uses.findall(code) for p in _paths(tree)]
        named += [tuple(p.split("::")) for p in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", uses.sub("", code))]
        for name in named:
            if name[0] == "crate":
                at: Module = ()
            elif name[0] in ("self", "super") or (*module, name[0]) in files:
                at = module
            else:
                continue
            for part in name:
                if part == "super":
                    at = at[:-1]
                elif (*at, part) in files:
                    at = (*at, part)
                elif part not in ("crate", "self"):
                    break
            if _apart(module, at):
                found.add(((crate, *module), (crate, *at)))
    return found


def python_files(root: Path) -> set[tuple[Module, Module]]:
    """Which module of a Python package uses which, also inside functions; convenience methods left out."""
    found: set[tuple[Module, Module]] = set()
    for path in sorted(root.rglob("*.py")):
        module = _module(path, root)
        for used in (_file(name, root) for name in _imports(path, root)):
            if used and _apart(module, used) and not _is_method(module, used):
                found.add((module, used))
    return found


def tangles(edges: set[tuple[Module, Module]]) -> list[list[str]]:
    """The largest sets of modules each of which leads to every other."""
    uses: dict[Module, set[Module]] = {}
    for user, used in edges:
        uses.setdefault(user, set()).add(used)

    def reach(module: Module) -> set[Module]:
        found: set[Module] = set()
        ahead = [module]
        while ahead:
            new = uses.get(ahead.pop(), set()) - found
            found |= new
            ahead += new
        return found

    reached = {module: reach(module) for module in uses}
    sets = {frozenset(b for b in below if a in reached.get(b, ())) for a, below in reached.items() if a in below}
    return sorted(sorted(".".join(module) for module in one) for one in sets)


def tangled_files() -> list[list[str]]:
    """Those of all crates, of the Python package and of the papers."""
    edges = python_files(PACKAGE) | python_files(PAPERS)
    for source in sorted((ROOT / "crates").glob("*/src")):
        edges |= rust_files(source, source.parent.name)
    return tangles(edges)


def _needed(edges: Edges) -> list[tuple[str, str]]:
    """The arrows that do not follow from others: a uses c need not be drawn where a uses b and b uses c."""
    uses: dict[str, set[str]] = {}
    for user, used in edges:
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
        if title == "The Python package":
            lines += [
                f'    {user.split(".")[0]} -. "{why.replace("`", "")}" .-> {used.split(".")[0]}'
                for (user, used), why in METHODS.items()
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
