"""Progress of a study and of a run, and its bar on the terminal."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..words import clean

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_S = 2.0
"""Shorter work has no bar."""


@dataclass
class Progress:
    """The state of a running study, passed to `on_run` after every run."""

    total: int
    done: int = 0
    cached: int = 0
    broken: int = 0
    """Runs that broke and are not computed again."""
    elsewhere: int = 0
    """Runs that other processes on the same store compute now."""
    workers: int | None = None
    """Runs that other machines can compute at a time now; None if this process computes."""
    trouble: str = ""
    """The part of a cluster that does not answer, as a sentence; empty if all do."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def ended(self) -> int:
        """Runs that are done or broken."""
        return self.done + self.broken

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


class Bar:
    """No bar: for scripts, pipes and notebooks. A cluster's trouble is a line on standard error."""

    trouble = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, state: Progress) -> None:
        """Show the progress."""
        if state.trouble != self.trouble:
            self.trouble = state.trouble
            if state.trouble:
                self.say(state.trouble)

    def say(self, text: str) -> None:
        """Print a line on standard error."""
        print(f"evenflow: {clean(text)}", file=sys.stderr)


class ProgressBar(Bar):
    """A bar on standard error, only on a terminal and only after two seconds."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._rich: RichProgress | None = None
        self._task: TaskID | None = None
        self._wanted = sys.stderr.isatty()

    def update(self, state: Progress) -> None:
        """Show the progress."""
        super().update(state)
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

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._rich is None:
            super().say(text)
        else:
            self._rich.console.print(f"evenflow: {clean(text)}", markup=False, highlight=False)

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
    """How much of a run's simulated time has passed: on a terminal, after two seconds."""

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
        """Show the progress."""
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
