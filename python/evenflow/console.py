"""What a person sees on a terminal.

Tables, a progress bar, colours where they are wanted. Never imported by library code.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .study import Bar, Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_S = 2.0
"""Nobody needs a bar for less."""


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


class ProgressBar(Bar):
    """A bar on standard error, only on a terminal and only once two seconds have passed."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._rich: RichProgress | None = None
        self._task: TaskID | None = None
        self._wanted = sys.stderr.isatty()

    def update(self, state: Progress) -> None:
        """Show how far it is."""
        if not self._wanted or (self._rich is None and (state.elapsed_s < PATIENCE_S or state.done >= state.total)):
            return
        if self._rich is None:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            self._rich = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("runs, left:"),
                TimeRemainingColumn(),
                console=console(stderr=True),
                transient=True,
            )
            self._rich.start()
            self._task = self._rich.add_task(self.what, total=state.total, completed=state.done)
        elif self._task is not None:
            self._rich.update(self._task, total=state.total, completed=state.done)

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()


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
