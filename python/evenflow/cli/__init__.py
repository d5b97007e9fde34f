"""The command line.

Exit codes: 0 success; 1 failure; 2 bad usage or bad scenario; 130 interrupted; 141 output pipe closed. With --strict
also 3 (a claim is not supported) and 4 (a claim is inconclusive). Commands import heavy modules inside, so `--help` is
fast.
"""

from __future__ import annotations

import os
import re
import select
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .. import interrupts
from ..errors import EvenflowError, Interrupted, is_panic, nearest
from ..words import size
from .base import app, complain, errors_written, let_go, open_streams, print_error, printed, with_any_terminal

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Sequence


@app.callback(invoke_without_command=True)
def start(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """When a network is full, who gets the bandwidth, and what does it feel like to them?"""
    if version:
        from .. import _core

        print(f"evenflow {_core.__version__} (engine {_core.ENGINE_ID}, {_core.BUILD_PROFILE} build)")
        raise typer.Exit


from . import demo, running, tracing, plotting, checking, papers, new, looking, theory, store  # isort: skip  # noqa: E402, F401

COMMANDS = (
    *(command.name or command.callback.__name__ for command in app.registered_commands if command.callback),
    *(group.name for group in app.registered_groups if group.name),
)


READER_LEFT = 141
"""Exit code of a program whose output pipe was closed."""
INTERRUPTED = "Interrupted. Finished runs are cached; the same command continues."

SHORT_HELP = """\
Usage: evenflow COMMAND [OPTIONS]

Evenflow simulates shared networks packet by packet: who gets the bandwidth, and what does it feel like?

  evenflow demo                                  # five queues on one busy line (20 seconds)
  evenflow run examples/scenarios/call.toml      # one run: throughput, loss, delay
  evenflow study examples/scenarios/queues.toml  # a parameter sweep with confidence intervals

All commands: evenflow --help. Options of one command: evenflow COMMAND --help."""

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def _as_meant(arguments: Sequence[str]) -> list[str]:
    """`help COMMAND` asks for help; a shell may be named where it cannot be detected."""
    first, *rest = arguments
    if first == "help":
        return [*rest, "--help"]
    if first in ("--show-completion", "--install-completion") and rest and rest[0] in SHELLS:
        # Typer then takes the shell's name instead of looking at the parent process.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    return list(arguments)


def _unknown_command(arguments: Sequence[str]) -> str | None:
    """A message with the nearest command."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None or word in COMMANDS or arguments[0].endswith("-completion"):
        return None
    guess = nearest(word, COMMANDS)
    return f"There is no command “{word}”. " + (
        f"Did you mean “{guess}”?" if guess else f"There are: {', '.join(COMMANDS)}."
    )


def _unusable_setting() -> str | None:
    """A message for a number of threads that makes Polars panic."""
    threads = os.environ.get("POLARS_MAX_THREADS")
    if threads is None or re.fullmatch(r"0*[1-9]\d{0,5}", threads, re.ASCII):
        return None
    return f"The environment variable POLARS_MAX_THREADS is “{threads}”. Write a whole number from 1, or unset it."


# Some versions of Typer bundle Click; the errors share this base either way.
_CLICK_ERROR = typer.BadParameter.__mro__[2]


def invoke(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Never raises, never prints a traceback (`EVENFLOW_DEBUG=1` lets it through).
    """
    with_any_terminal()
    printed.clear()
    os.environ["MPLBACKEND"] = "agg"  # all figures go to files; with a name that it does not know Matplotlib fails
    try:
        code = _told(arguments)
        sys.stdout.flush()
        with errors_written():
            sys.stderr.flush()
        return code
    except BrokenPipeError:
        let_go(sys.stdout, sys.stderr)
        return READER_LEFT
    except OSError as error:
        let_go(sys.stdout)
        complain(f"The output cannot be written: {error.strerror or error}.")
        return 1


def _failed(arguments: Sequence[str], message: str, code: int, errors: Sequence[tuple[str, str]] = ()) -> int:
    """Report an error: a message on standard error and, with --json, a document on standard output."""
    complain(message)
    if "--json" in arguments:
        print_error(message, code, errors)
    return code


def _told(arguments: Sequence[str]) -> int:
    """Run one command, report its errors, and return its exit code.

    Raises:
        BrokenPipeError: the output pipe was closed.
        OSError: the output cannot be written.
    """
    if not arguments and "_EVENFLOW_COMPLETE" not in os.environ:
        print(SHORT_HELP)
        return 0
    arguments = _as_meant(arguments) if arguments else []  # none: the shell completes
    wrong = _unknown_command(arguments) or _unusable_setting()
    if wrong is not None:
        return _failed(arguments, wrong, 2)
    try:
        return _done(arguments)
    except EvenflowError as error:
        return _failed(arguments, str(error), error.exit_code, getattr(error, "errors", ()))
    except (KeyboardInterrupt, typer.Abort):
        return _failed(arguments, INTERRUPTED, interrupts.CODE)
    except MemoryError:
        return _failed(arguments, "Out of memory. Use fewer jobs, or a smaller scenario.", 1)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _reader_left():
            raise
        return _failed(arguments, f"{error.filename or 'The system'}: {error.strerror or error}.{_limits()}", 1)
    except BaseException as error:
        if isinstance(error, _CLICK_ERROR):
            return _usage(error, arguments)
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        if os.environ.get("EVENFLOW_DEBUG"):
            raise
        if limits := _limits():
            return _failed(arguments, f"{type(error).__name__}: {error}.{limits}", 1)
        message = (
            f"A defect of Evenflow: {type(error).__name__}: {error}. Please report it; EVENFLOW_DEBUG=1 shows where."
        )
        return _failed(arguments, message, 1)


LEAST_MEMORY, LEAST_FILES = 4 * 10**9, 64
"""Address space and open files that libraries need before any computation."""


def _limits() -> str:
    """Process limits that make libraries fail with unrelated messages."""
    if resource is None:
        return ""
    found = ""
    memory, files = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE))
    if 0 <= memory < LEAST_MEMORY:
        found += f" This process may use {size(memory)} of address space: raise the limit (ulimit -v)."
    if 0 <= files < LEAST_FILES:
        found += f" This process may open {files} files: raise the limit (ulimit -n)."
    return found


def _reader_left() -> bool:
    """Whether the output pipe was closed, and not another connection."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
            poll = select.poll()
            poll.register(stream.fileno(), select.POLLOUT)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
                return True
        except BrokenPipeError:
            return True
        except (AttributeError, OSError, ValueError):  # no poll on this system, or no file descriptor
            continue
    return False


def _done(arguments: Sequence[str]) -> int:
    """Run the command.

    Raises:
        KeyboardInterrupt: even where Typer or a library has replaced it.
        BrokenPipeError: the output pipe was closed, which Click turns into exit code 1.
        Exception: of the command.
    """
    streams = sys.stdout, sys.stderr
    try:
        code = app(args=list(arguments), prog_name="evenflow", standalone_mode=False)
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        sys.stdout, sys.stderr = streams  # Click has wrapped them
        raise left.__context__ from None
    except Exception as error:
        if interrupts.pressed() and not isinstance(error, Interrupted):
            raise KeyboardInterrupt from None
        raise
    if interrupts.pressed() or code == interrupts.CODE:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _usage(error: BaseException, arguments: Sequence[str]) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = _plainly(message)
    if message:
        _failed(arguments, message, 2)
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ != "NoArgsIsHelpError":
        with errors_written():
            print(f"Try: {context.command_path} --help", file=sys.stderr)
    return int(getattr(error, "exit_code", 2))


_PLAINLY = (
    (r"Invalid value for (.*?): .* is not a valid int.*", r"\1 must be a whole number"),
    (r"Invalid value for (.*?): .* is not a valid float.*", r"\1 must be a number"),
    (r"Invalid value for (.*?): .* is not in the range (\S+)<=x<=(\S+?)\.?", r"\1 must be from \2 to \3"),
    (r"Invalid value for (.*?): .* is not in the range x>=(\S+?)\.?", r"\1 must be at least \2"),
    (r"Invalid value for (.*?): '(.*)' is not one of (.*?)\.?", r"\1 cannot be “\2”; it is one of \3"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"“\1” is one argument too many"),
    (r"Missing argument '(.*)'\.?", r"\1 is missing"),
    (r"No such option: (\S+) \(Possible options: (.*)\)", r"There is no option \1; did you mean \2?"),
    (r"No such option: (\S+)(.*)", r"There is no option \1\2"),
    (r"Option '(.*)' requires an argument\.?", r"\1 needs a value"),
)


def _plainly(message: str) -> str:
    """Click's messages, reworded."""
    for pattern, said in _PLAINLY:
        if re.fullmatch(pattern, message.strip(), re.DOTALL):
            told = re.sub(pattern, said, message.strip(), flags=re.DOTALL).replace("'", "")
            return told if told.endswith((".", "?", "…")) else f"{told}."
    return message


def main() -> NoReturn:
    """The console script."""
    open_streams()
    try:
        interrupts.begin()
        code = invoke(sys.argv[1:])
    except KeyboardInterrupt:  # outside the command, or a second time while it ended
        complain(INTERRUPTED)
        code = interrupts.CODE
    interrupts.end(code)


if __name__ == "__main__":
    main()
