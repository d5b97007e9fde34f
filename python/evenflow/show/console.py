"""What a person sees on a terminal.

Tables, a progress bar, colours where they are wanted. Never imported by library code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..words import clean, plain, rate, share, time_span

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["clean", "console", "grid", "plain", "rate", "share", "table", "time_span"]


class _Stripped:
    """A stream without blanks at the ends of lines, with which Rich fills every line of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Rich writes whole lines."""
        self._stream.write(_TRAILING.sub("", text))
        return len(text)

    def flush(self) -> None:
        """To the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Never: a terminal is written to as it is."""
        return False


_TRAILING = re.compile(r"[ \t]+(?=\n)")


def console(*, stderr: bool = False) -> Console:
    """A console that wraps at the terminal's width and at 120 columns elsewhere, without colours in a pipe."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """The reader left. Rich would end the program with exit code 1: the command line has a code for it."""
            raise

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Plain(stderr=stderr, highlight=False, soft_wrap=False)
    piped = cast("TextIO", _Stripped(stream))
    return Plain(file=piped, width=120, highlight=False, soft_wrap=False)


def table(*columns: str, title: str | None = None, right: tuple[int, ...] = ()) -> Any:
    """An empty table in the house style; `right` lists the columns of numbers."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        made.add_column(escape(name), justify="right" if index in right else "left", overflow="fold")
    return made


GAP = 3
"""Blanks between columns."""
LONG_TEXT, NARROWEST_TEXT = 40, 20
"""A column of text with cells longer than the first is not made narrower than the second; others may be as narrow as
their longest word."""


def _print_tight(out: Console, made: Any) -> None:
    """Print a table without the blank line below it; the next one has a blank line above."""
    with out.capture() as captured:
        out.print(made)
    out.out(captured.get().rstrip(), highlight=False)


def grid(
    out: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    keys: int = 1,
    right: tuple[int, ...] = (),
    text: tuple[int, ...] = (),
) -> None:
    """Print a table that fits the width: headings break between words, never inside; columns of `text` wrap; and where
    that is not enough, the table comes in parts, each with the first `keys` columns again.

    Args:
        rows: cells, with Rich's markup.
        keys: how many columns say what a row is about.
        right: the columns of numbers.
        text: the columns of running text.
    """
    from rich.cells import cell_len
    from rich.text import Text

    headings = [clean(heading) for heading in headings]
    count = len(headings)
    cells = [[Text.from_markup(row[i]).plain for row in rows] for i in range(count)]
    longest = [max([0, *(cell_len(line) for cell in column for line in cell.split("\n"))]) for column in cells]
    natural = [max(len(headings[i]), longest[i]) for i in range(count)]
    if sum(natural) + GAP * count <= out.width:
        made = table(*headings, right=right)
        for row in rows:
            made.add_row(*row)
        _print_tight(out, made)
        return
    words = [max(map(len, heading.split()), default=0) for heading in headings]
    least = [max(words[i], longest[i]) for i in range(count)]
    for i in text:
        word = max([0, *(cell_len(word) for cell in cells[i] for word in cell.split())])
        least[i] = max(words[i], min(longest[i], NARROWEST_TEXT if longest[i] > LONG_TEXT else word))
    parts: list[list[int]] = [[]]
    room = out.width - sum(least[:keys]) - GAP * keys
    for i in range(keys, count):
        if parts[-1] and sum(least[j] + GAP for j in parts[-1]) + least[i] + GAP > room:
            parts.append([])
        parts[-1].append(i)
    for part in parts:
        chosen = [*range(keys), *part]
        made = table(*(headings[i] for i in chosen), right=tuple(n for n, i in enumerate(chosen) if i in right))
        spare = max(0, out.width - sum(least[i] + GAP for i in chosen))
        given = {i: least[i] for i in chosen}
        while spare > 0 and (short := {i: natural[i] - given[i] for i in chosen if given[i] < natural[i]}):
            given[min(short, key=lambda i: (i not in text, short[i]))] += 1
            spare -= 1
        for column, i in zip(made.columns, chosen, strict=True):
            column.width = given[i]
        for row in rows:
            made.add_row(*(row[i] for i in chosen))
        _print_tight(out, made)
