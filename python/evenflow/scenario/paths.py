"""Dotted paths into a scenario tree: `links.bottleneck.queue.gamma`, `groups."heavy users".traffic[0].flows`.

A segment with a dot or another unusual character is quoted as in TOML; `[n]` picks from a list of tables.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..errors import UsageError, nearest

Path: TypeAlias = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""(?P<basic>"(?:[^"\\]|\\.)*")|(?P<literal>'[^']*')|(?P<bare>[^.\[\]"'\s][^.\[\]"']*)|\[(?P<index>\d+)\]""",
    re.VERBOSE,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPE = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))""", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
LARGEST_INDEX = 10**9
DEEPEST = 64
"""Tables and lists within each other, at most."""


def parse(text: str) -> Path:
    """Split a dotted path.

    Raises:
        UsageError: empty, or not of the form `a.b."c.d"[0].e`.
    """
    found: list[str | int] = []
    at, expect_name = 0, True
    text = text.strip()
    while at < len(text):
        if not expect_name and text[at] == ".":
            at, expect_name = at + 1, True
            continue
        token = _TOKEN.match(text, at)
        is_index = token is not None and token["index"] is not None
        if token is None or is_index == expect_name:
            raise UsageError(
                f"“{_cut(text)}” is not a dotted path such as links.bottleneck.delay (at “{_cut(text[at:], 40)}”)."
            )
        if token["index"] is not None:
            digits = token["index"].lstrip("0")
            found.append(int(digits or "0") if len(digits) < len(str(LARGEST_INDEX)) else LARGEST_INDEX)
        elif token["basic"] is not None:
            found.append(_unescaped(token["basic"], text))
        elif token["literal"] is not None:
            found.append(token["literal"][1:-1])
        else:
            found.append(token["bare"].strip())
        at, expect_name = token.end(), False
    if expect_name:
        raise UsageError(f"“{_cut(text)}” is not a dotted path such as links.bottleneck.delay.")
    if len(found) > DEEPEST:
        raise UsageError(f"“{_cut(text)}” has {len(found):,} parts; a path has at most {DEEPEST}.")
    return tuple(found)


def _unescaped(basic: str, whole: str) -> str:
    """A text in double quotation marks, read as TOML reads it."""

    def one(found: re.Match[str]) -> str:
        if found[3] is not None:
            if found[3] not in _ESCAPED:
                raise UsageError(
                    f"“{_cut(whole)}”: there is no escape \\{found[3]} in TOML; a backslash is written twice."
                )
            return _ESCAPED[found[3]]
        number = int(found[1] or found[2], 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise UsageError(f"“{_cut(whole)}”: {found[0]} is no character.")
        return chr(number)

    return _ESCAPE.sub(one, basic[1:-1])


def _escaped(character: str) -> str:
    """As TOML writes it; what a terminal would obey or hide is written as its number."""
    short = next((letter for letter, meant in _ESCAPED.items() if meant == character), None)
    if short is not None:
        return f"\\{short}"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"):
        return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"
    return character


def quoted(text: str) -> str:
    """A text in TOML's quotes."""
    return f'"{"".join(map(_escaped, text))}"'


def _cut(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def render(path: Sequence[str | int]) -> str:
    """The inverse of `parse`, with quotes only where needed."""
    parts: list[str] = []
    for segment in path:
        if isinstance(segment, int):
            parts.append(f"[{segment}]")
        else:
            name = segment if _BARE.fullmatch(segment) else quoted(segment)
            parts.append(f".{name}" if parts else name)
    return "".join(parts)


def copied(value: Any) -> Any:
    """A deep copy of tables and lists; other values are immutable, or not valid in a scenario."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def get(tree: Any, path: Path) -> Any:
    """The value at a path. KeyError where there is none."""
    for segment in path:
        named = isinstance(tree, Mapping) and isinstance(segment, str) and segment in tree
        counted = isinstance(tree, list) and isinstance(segment, int) and segment < len(tree)
        if named or counted:
            tree = tree[segment]
        else:
            raise KeyError(render(path))
    return tree


def has(tree: Any, path: Path) -> bool:
    """Whether there is a value at a path."""
    try:
        get(tree, path)
    except KeyError:
        return False
    return True


def assign(tree: dict[str, Any], path: Path, value: Any) -> None:
    """Put a value at a path, in place, making tables on the way.

    Raises:
        UsageError: the path leads through something that is not a table, or past the end of a list.
    """
    here: Any = tree
    for depth, segment in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(segment, str) and isinstance(here, dict):
            if last:
                here[segment] = copied(value)
                return
            here = here.setdefault(segment, {})
        elif isinstance(segment, int) and isinstance(here, list) and segment < len(here):
            if last:
                here[segment] = copied(value)
                return
            here = here[segment]
        else:
            above = render(path[:depth]) or "the scenario"
            what = (
                f"a list of {len(here)}"
                if isinstance(here, list)
                else "a table"
                if isinstance(here, dict)
                else "a single value"
            )
            raise UsageError(f"{render(path)}: {above} is {what}, which has no {render((segment,))}.")


def assigned(tree: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Another tree with a value at a path, which shares with the first what lies elsewhere.

    Raises:
        UsageError: as `assign` does.
    """
    copied = dict(tree)
    here: Any = copied
    for segment in path[:-1]:
        if isinstance(segment, str) and isinstance(here, dict):
            below = here.get(segment, {})
        elif isinstance(segment, int) and isinstance(here, list) and segment < len(here):
            below = here[segment]
        else:
            break  # `assign` says what is wrong
        here[segment] = list(below) if isinstance(below, list) else dict(below) if isinstance(below, dict) else below
        here = here[segment]
    assign(copied, path, value)
    return copied


def remove(tree: dict[str, Any], path: Path) -> None:
    """Take the value at a path away, in place. KeyError where there is none."""
    parent = get(tree, path[:-1])
    if not has(parent, path[-1:]):
        raise KeyError(render(path))
    del parent[path[-1]]


def tables(tree: Any, above: Path = ()) -> Iterator[Path]:
    """The path of every table in a tree, itself included."""
    if isinstance(tree, Mapping):
        yield above
        for name, value in tree.items():
            yield from tables(value, (*above, str(name)))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from tables(value, (*above, index))


def leaves(tree: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is neither table nor list, with its path."""
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from leaves(value, (*above, str(name)))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from leaves(value, (*above, index))
    else:
        yield above, tree


def nearest_table(tree: Mapping[str, Any], path: Path) -> str | None:
    """The existing table whose path resembles a mistyped one most."""
    known = [render(p) for p in tables(tree) if p and p[0] != "sweep"]
    return nearest(render(path), known)
