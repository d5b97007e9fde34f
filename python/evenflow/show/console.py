"""What a person sees on a terminal.

Tables, a progress bar, colours where they are wanted. Never imported by library code.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..words import plain, rate, share, time_span

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "plain", "rate", "share", "table", "time_span"]


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

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False, soft_wrap=False)
    piped = cast("TextIO", _Stripped(stream))
    return Console(file=piped, width=120, highlight=False, soft_wrap=False)


def table(*columns: str, title: str | None = None, right: tuple[int, ...] = ()) -> Any:
    """An empty table in the house style; `right` lists the columns of numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        made.add_column(name, justify="right" if index in right else "left", overflow="fold")
    return made
