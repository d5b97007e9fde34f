"""How far a study is: what is known while it runs, and a bar on the terminal."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_S = 2.0
"""Nobody needs a bar for less."""


@dataclass
class Progress:
    """What is known while a study runs, handed to `on_run` after every run."""

    total: int
    done: int = 0
    cached: int = 0
    broken: int = 0
    """Runs that broke and are not done again."""
    elsewhere: int = 0
    """Runs that other processes on the same store compute at present."""
    workers: int | None = None
    """How many runs other machines can compute at once at present; None where this process computes."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def ended(self) -> int:
        """Runs that are no longer waited for."""
        return self.done + self.broken

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


class Bar:
    """No bar: what a script, a pipe or a notebook gets."""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, state: Progress) -> None:
        """Show how far it is."""


class ProgressBar(Bar):
    """A bar on standard error, only on a terminal and only once two seconds have passed."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._rich: RichProgress | None = None
        self._task: TaskID | None = None
        self._wanted = sys.stderr.isatty()

    def update(self, state: Progress) -> None:
        """Show how far it is."""
        if not self._wanted or (self._rich is None and (state.elapsed_s < PATIENCE_S or state.ended >= state.total)):
            return
        if self._rich is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            self._rich = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("runs, left:"),
                TimeRemainingColumn(),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._rich.start()
            self._task = self._rich.add_task(_named(self.what, state), total=state.total, completed=state.ended)
        elif self._task is not None:
            what = _named(self.what, state)
            self._rich.update(self._task, description=what, total=state.total, completed=state.ended)

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()


def _named(what: str, state: Progress) -> str:
    if state.workers is not None:
        what = f"{what}, {state.workers:,} {'worker' if state.workers == 1 else 'workers'}"
    return f"{what}, {state.broken:,} broken" if state.broken else what


def progress_bar(what: str, wanted: bool) -> Bar:
    """A bar on the terminal if one is wanted, else none."""
    return ProgressBar(what) if wanted else Bar()


class RunBar:
    """How much of a single run's simulated time has passed: on a terminal, once two seconds have."""

    def __init__(self, duration_s: float, wanted: bool) -> None:
        self.wanted = wanted and sys.stderr.isatty()
        self._duration = duration_s
        self._started = time.perf_counter()
        self._rich: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> RunBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()

    def show(self, reached_s: float) -> None:
        """Show how far it is."""
        if not self.wanted or time.perf_counter() - self._started < PATIENCE_S:
            return
        if self._rich is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            self._rich = RichProgress(
                TextColumn("run"),
                BarColumn(),
                TextColumn("{task.completed:.0f} of {task.total:g} s simulated, left:"),
                TimeRemainingColumn(),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._rich.start()
            self._task = self._rich.add_task("run", total=self._duration)
        if self._task is not None:
            self._rich.update(self._task, completed=min(reached_s, self._duration))
