"""The errors a user can meet: each is a sentence for a person and an exit code for a shell.

Nothing in Evenflow shows a traceback for bad input, a full disk or Ctrl-C; the command line prints `str(error)` and
leaves with `error.exit_code`. A traceback means a defect of Evenflow.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from .words import clean

LONGEST_NAME = 120
"""Letters of a name in a message."""


class EvenflowError(Exception):
    """The tool could not do its work (exit code 1). The message is complete: it needs no traceback beside it."""

    exit_code = 1

    def __str__(self) -> str:
        """The message; control characters of names from files are shown by their numbers."""
        return clean(super().__str__())


class UsageError(EvenflowError, ValueError):
    """The request makes no sense: an unknown name, an option that does not apply (exit code 2)."""

    exit_code = 2


class ScenarioError(UsageError):
    """A scenario that cannot be run. Carries every error found, not the first one.

    Attributes:
        errors: `(path in the file, what is wrong)`, in file order where that is known.
        source: the file, or None for a scenario built in Python.
    """

    def __init__(self, errors: Sequence[tuple[str, str]], source: str | None = None) -> None:
        self.errors = list(errors)
        self.source = source
        super().__init__(self._render())

    def _render(self, most: int = 25) -> str:
        where = self.source or "the scenario"
        count = len(self.errors)
        head = f"{where}: {count} error{'s' if count != 1 else ''}"
        lines = [_cut(f"  {path}: {message}" if path else f"  {message}") for path, message in self.errors[:most]]
        if count > most:
            lines.append(f"  … and {count - most} more")
        return "\n".join([head, *lines])


def _cut(line: str) -> str:
    """A line whose long words, names from the file, are cut: a name of 100,000 letters hides what is wrong with it."""
    return re.sub(rf"(\w{{{LONGEST_NAME}}})\w+", r"\1…", line)


class NotYetKnown(UsageError, NotImplementedError):
    """Something the design names but this version does not do; it answers rather than guesses (exit code 2)."""


class StoreError(EvenflowError):
    """The run store or an output folder cannot be read or written: no space, no permission, a folder in the way."""


class RunError(EvenflowError):
    """One run broke (exit code 1): a defect of the engine, or a stage that made the run senseless. Other runs go on."""


class OutOfMemory(RunError):
    """One run would use more memory than it may (exit code 1). Other runs go on."""


class Interrupted(EvenflowError):
    """Ctrl-C: the message says what was kept and how to go on (exit code 130, as shells expect)."""

    exit_code = 130


def is_panic(error: BaseException) -> bool:
    """Whether an error is a panic of a Rust library, this engine or Polars: pyo3 makes it no `Exception`."""
    return type(error).__name__ == "PanicException"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a mistyped one, or None if none is near.

    Case, `-` and `_` are the same to a person, so they are the same here.
    """

    def plain(text: str) -> str:
        return text.casefold().replace("_", "-")

    by_plain = {plain(candidate): candidate for candidate in known}
    close = difflib.get_close_matches(plain(name), by_plain, n=1, cutoff=0.55)
    return by_plain[close[0]] if close else None


def unknown(what: str, name: str, known: Iterable[str], *, typed: str | None = None, most: int = 12) -> UsageError:
    """An error for a name that does not exist: the nearest one if there is one, else what there is.

    Args:
        typed: what is compared with the known names, if it is not the name as it was typed.
        most: so many names are listed.
    """
    known = list(known)
    guess = nearest(name if typed is None else typed, known)
    if guess is not None:
        return UsageError(f"There is no {what} “{name}”. Did you mean “{guess}”?")
    listed = ", ".join(known[:most]) + (", …" if len(known) > most else "")
    return UsageError(f"There is no {what} “{name}”. Known: {listed or 'none'}.")
