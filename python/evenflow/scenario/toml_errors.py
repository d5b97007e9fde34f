"""What Python's reader of TOML says of a slip, in plain words and with the line."""

from __future__ import annotations

import ast
import re
import tomllib

from . import paths

_PLACE = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
_WORDS = (
    (r"Illegal character '\\n'", "the text is not closed: a quotation mark is missing on this line"),
    (r"Illegal character (.*)", r"the character \1 may not stand in a text; write it as an escape"),
    (r"Expected '=' after a key in a key/value pair", "an = is missing after the key"),
    (
        r"Expected newline or end of document after a statement",
        'something is left over after the value; quantities and texts need quotation marks, such as "10 Mbit/s"',
    ),
    (
        r"Invalid value",
        'the value is none that TOML knows; quantities and texts need quotation marks, such as "10 Mbit/s"',
    ),
    (r"Unclosed array", "a list is not closed: a ] or a comma is missing"),
    (
        r"Unclosed inline table",
        "a table is not closed: a } or a comma is missing, or quotation marks around a quantity",
    ),
    (r"Expected '\]' at the end of a table declaration", "the heading is not closed: a ] is missing"),
    (r"Expected '\]\]' at the end of an array declaration", "the heading is not closed: ]] is missing"),
    (r"Invalid statement", "the line begins with no key"),
    (r"Duplicate inline table key '(.*)'", r"\1 stands twice in this table"),
    (r"Cannot overwrite a value", "this key has a value already"),
    (
        r"Invalid initial character for a key part",
        "a key is missing, or begins with a character that needs quotation marks",
    ),
    (r"Unterminated string", "a text is not closed: a quotation mark is missing"),
    (r"Unescaped '\\' in a string", "a backslash in a text is written twice, or the text stands in single quotes"),
)
_TWICE = re.compile(r"Cannot (?P<how>declare|mutate immutable namespace|define) (?P<path>\(.*\)|'.*')(?: twice)?")


def told(text: str, error: tomllib.TOMLDecodeError) -> tuple[str, str]:
    """(where, what is wrong, with the line and the place in it)."""
    found = _PLACE.fullmatch(str(error))
    what = _plainly(found["what"] if found else str(error))
    lines = text.splitlines() or [""]
    if found is None or found["line"] is None:
        return "at the end of the file", f"{what}."
    number, column = int(found["line"]), int(found["column"])
    if number > len(lines):
        return "at the end of the file", f"{what}."
    shown = lines[number - 1].expandtabs(1)
    start = max(0, column - 60)
    excerpt = shown[start : start + 100]
    return f"line {number}", f"{what}.\n    {excerpt}\n    {' ' * (column - 1 - start)}^"


def _plainly(message: str) -> str:
    twice = _TWICE.fullmatch(message)
    if twice:
        path = _path(twice["path"])
        if twice["how"] == "declare":
            return f"[{path}] stands twice in the file"
        return f"{path} is complete where it was written with braces, and cannot be added to here"
    for pattern, said in _WORDS:
        if re.fullmatch(pattern, message):
            return re.sub(pattern, said, message)
    return f"{message[:1].lower()}{message[1:]}"


def _path(written: str) -> str:
    try:
        value = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return written
    return paths.render(value) if isinstance(value, tuple) else str(value)
