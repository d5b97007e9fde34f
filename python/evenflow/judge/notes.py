"""Measurements typed by hand into notes, found in a module's source: a note's numbers come from the runs shown."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.-])−?\d+\.\d+(?![\w.]*[a-zA-Z])")
"""A decimal number in prose: 0.64, 97.5; not a section ("5.1" is asked for by `allowed`), nor of a name ("ns-3.26")."""


def typed_numbers(source: str, allowed: Collection[str] = ()) -> list[str]:
    """Decimals that a module's notes have in their text instead of in an expression: "line 7: 0.64 in “…”".

    Looked at are functions decorated with `….note(…)`, whatever they call in the same module to build text (every
    function whose name has "note" in it), and constants whose name has NOTE in it. Docstrings and format
    specifications are no text.

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
