"""Measurements typed by hand into notes, found in a module's source: a note's numbers come from the runs shown."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.-])−?\d+\.\d+(?![\w.]*[a-zA-Z])")
"""A decimal number in prose: 0.64, 97.5; not a section ("5.1" is asked for by `allowed`), nor of a name ("ns-3.26")."""


def typed_numbers(source: str, allowed: Collection[str] = ()) -> list[str]:
    """Find decimals typed into a module's notes instead of computed: "line 7: 0.64 in “…”".

    Checked are functions decorated with `….note(…)`, functions with "note" in their name, and constants with NOTE in
    theirs. Docstrings and format specifications are ignored.

    Args:
        source: of the module.
        allowed: numbers as typed that the paper prints, or that are settings.
    """
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_note(node)) or (
            isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and "NOTE" in t.id for t in node.targets)
        ):
            texts = _texts(node)
        else:
            continue
        for text in texts:
            said = str(text.value)
            found += [
                f"line {text.lineno}: {number} in “{said.strip()[:60]}”"
                for number in NUMBER.findall(said)
                if number not in allowed
            ]
    return sorted(set(found), key=lambda line: int(line.split()[1].rstrip(":")))


def _is_note(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorated = any(
        isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute) and d.func.attr == "note"
        for d in node.decorator_list
    )
    return decorated or "note" in node.name


def _texts(node: ast.AST) -> Iterator[ast.Constant]:
    """String constants, without docstrings and format specifications."""
    skipped = set()
    for inside in ast.walk(node):
        body = getattr(inside, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(id(body[0].value))
        if isinstance(inside, ast.FormattedValue) and inside.format_spec is not None:
            skipped |= {id(part) for part in ast.walk(inside.format_spec)}
    for inside in ast.walk(node):
        if isinstance(inside, ast.Constant) and isinstance(inside.value, str) and id(inside) not in skipped:
            yield inside


def printed_numbers(claims_toml: Path) -> set[str]:
    """Every decimal in the texts and sets of a `claims.toml`: what the paper prints and what is accepted."""
    return set(re.findall(r"\d+\.\d+", claims_toml.read_text(encoding="utf-8")))


def typed_in_templates(claims_toml: Path, allowed: Collection[str] = ()) -> list[str]:
    """Decimals typed into the notes of a `claims.toml` that no other text of the file has: "c46: 0.64".

    Args:
        claims_toml: the file.
        allowed: other numbers of the paper, or settings.
    """
    document = tomllib.loads(claims_toml.read_text(encoding="utf-8"))
    notes = {name: table.pop("note", "") for name, table in document.items()}
    known = {*re.findall(r"\d+\.\d+", str(document)), *allowed}
    found = []
    for name, note in notes.items():
        text = note if isinstance(note, str) else " ".join(note)
        found += [
            f"{name}: {number}" for number in NUMBER.findall(re.sub(r"\{[^}]*\}", "", text)) if number not in known
        ]
    return found
