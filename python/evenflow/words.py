"""Numbers as people read them: rates, times, shares, sizes. Pure text; any room may use it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any


def rate(bits_per_second: float | None) -> str:
    """A rate for people: "9.71 Mbit/s"."""
    if bits_per_second is None:
        return "–"
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(bits_per_second) >= factor:
            return f"{bits_per_second / factor:.3g} {unit}"
    return f"{bits_per_second:.3g} bit/s"


def time_span(seconds: float | None) -> str:
    """A time for people: "17.2 ms", "3.4 s", "4 min 10 s", "3 h 20 min"."""
    if seconds is None:
        return "–"
    if seconds >= 3600:
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours:,} h {rest} min"
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds == 0:
        return "0 ms"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} µs"


def share(part: float | None) -> str:
    """A share for people: "61.3 %"."""
    return "–" if part is None else f"{part * 100:.1f} %"


def plain(value: float | None, digits: int = 3) -> str:
    """A number for people; undefined = "–"."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def size(count: float) -> str:
    """Bytes for people: "1500 B", "64 kB"."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e4, "kB")):
        if count >= factor:
            return f"{count / min(factor, 1e3 if unit == 'kB' else factor):.3g} {unit}"
    return f"{count:g} B"


def counted(count: int, noun: str) -> str:
    """ "1 flow", "8 flows"; the plural takes an s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


MOST_NAMES = 20
"""In one sentence."""


def listed(names: list[str] | tuple[str, ...]) -> str:
    """ "a", "a and b", "a, b and c"; of many, the first and how many more."""
    if len(names) > MOST_NAMES:
        names = [*names[:MOST_NAMES], f"{len(names) - MOST_NAMES:,} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def clean(text: object) -> str:
    """A text from a file, for a terminal: control characters, which may move the cursor or colour what follows, are
    shown and do nothing."""
    return "".join(shown(c) if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in str(text))


def shown(character: str) -> str:
    """A character that no terminal shows, by its number. A byte of a file's name that is no UTF-8, which Python keeps
    as half of a pair, is that byte."""
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        number -= 0xDC00
    return " " if character == "\t" else f"\\x{number:02x}"


CONTROL = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Control characters that are no blanks and no ends of lines, and marks that turn the direction of text: names from
files may have them."""
_CONTROL = re.compile(CONTROL)
_HALF = re.compile("[\ud800-\udfff]")


def html_page(text: str) -> str:
    """A page with U+FFFD in place of control characters, which HTML does not allow, and of direction marks. Bytes of a
    file's name that are not UTF-8 are shown by their numbers."""
    return _HALF.sub(lambda found: shown(found[0]), _CONTROL.sub("\ufffd", text))


def script_json(tree: Any) -> str:
    """JSON for a script element of a page: it cannot end the element."""
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def html_table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """A table for a notebook; all texts are escaped. The first column heads its row, the others are numbers."""
    from html import escape

    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    after = f'<div style="font-size:smaller">{escape(below)}</div>' if below else ""
    top = f'<caption style="text-align:left">{escape(caption)}</caption>'
    return f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"
