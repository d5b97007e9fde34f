"""What a person sees on a terminal.

Tables, a progress bar, colours where they are wanted. Never imported by library code.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A console that wraps at the terminal's width and at 120 columns elsewhere, without colours in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def table(*columns: str, title: str | None = None, right: tuple[int, ...] = ()) -> Any:
    """An empty table in the house style; `right` lists the columns of numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        made.add_column(name, justify="right" if index in right else "left", overflow="fold")
    return made


def rate(bits_per_second: float | None) -> str:
    """A rate for people: "9.71 Mbit/s"."""
    if bits_per_second is None:
        return "–"
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(bits_per_second) >= factor:
            return f"{bits_per_second / factor:.3g} {unit}"
    return f"{bits_per_second:.3g} bit/s"


def time_span(seconds: float | None) -> str:
    """A time for people: "17.2 ms", "3.4 s", "4 min 10 s"."""
    if seconds is None:
        return "–"
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
