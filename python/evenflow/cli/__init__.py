"""The command line. Exit codes: 0 done, whatever the verdicts; 1 the tool failed; 2 bad usage or bad scenario; 130
Ctrl-C; 141 the reader of the output left before its end, as `head` does. With --strict also 3 (a claim is false; wins)
and 4 (one is undecided).

Everything heavy is imported inside the commands, so that `--help` answers at once.
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
from .base import app, complain, errors_written, let_go, open_streams, with_any_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence


@app.callback(invoke_without_command=True)
def start(version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    """When a network is full, who gets the bandwidth, and what does it feel like to them?"""
    if version:
        from .. import _core

        print(f"evenflow {_core.__version__} (engine {_core.ENGINE_ID}, {_core.BUILD_PROFILE} build)")
        raise typer.Exit


from . import running, tracing, plotting, checking, papers, new, looking, theory, store  # isort: skip  # noqa: E402, F401

COMMANDS = (
    *(command.name or command.callback.__name__ for command in app.registered_commands if command.callback),
    *(group.name for group in app.registered_groups if group.name),
)


READER_LEFT = 141
"""What shells expect of a program that writes to a pipe whose reader has left."""
INTERRUPTED = "Interrupted. Finished runs are kept; the same command goes on from there."

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def _as_meant(arguments: Sequence[str]) -> list[str]:
    """Nothing at all asks for help, and so does `help COMMAND`; a shell may be named where it cannot be found out."""
    if not arguments:
        return ["--help"]
    first, *rest = arguments
    if first == "help":
        return [*rest, "--help"]
    if first in ("--show-completion", "--install-completion") and rest and rest[0] in SHELLS:
        # Typer then takes the shell's name instead of looking at the parent process.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    return list(arguments)


def _unknown_command(arguments: Sequence[str]) -> str | None:
    """Typer says “No such command”; we say which one is near."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None or word in COMMANDS or arguments[0].endswith("-completion"):
        return None
    guess = nearest(word, COMMANDS)
    return f"There is no command “{word}”. " + (
        f"Did you mean “{guess}”?" if guess else f"There are: {', '.join(COMMANDS)}."
    )


# Typer carries its own copy of Click or uses the real one, as versions go; its errors share this base either way.
_CLICK_ERROR = typer.BadParameter.__mro__[2]


def invoke(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Never raises, never prints a traceback (`EVENFLOW_DEBUG=1` lets it through).
    """
    with_any_terminal()
    os.environ["MPLBACKEND"] = "agg"  # all figures go to files; with a name that it does not know Matplotlib fails
    try:
        code = _told(arguments)
        sys.stdout.flush()
        with errors_written():
            sys.stderr.flush()
        return code
    except BrokenPipeError:  # nothing to say, and nobody to say it to
        let_go(sys.stdout, sys.stderr)
        return READER_LEFT
    except OSError as error:  # what was printed cannot be written
        let_go(sys.stdout)
        complain(f"The output cannot be written: {error.strerror or error}.")
        return 1


def _told(arguments: Sequence[str]) -> int:
    """Run one command, say what went wrong with it, and return its exit code.

    Raises:
        BrokenPipeError: the reader of the output left.
        OSError: the output cannot be written.
    """
    arguments = _as_meant(arguments)
    wrong = _unknown_command(arguments)
    if wrong is not None:
        complain(wrong)
        return 2
    try:
        return _done(arguments)
    except EvenflowError as error:
        complain(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain(INTERRUPTED)
        return interrupts.CODE
    except MemoryError:
        complain("There is not enough memory for this. Use fewer jobs, or a smaller scenario.")
        return 1
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _reader_left():
            raise
        complain(f"{error.filename or 'The system'}: {error.strerror or error}.")
        return 1
    except BaseException as error:
        if isinstance(error, _CLICK_ERROR):
            return _usage(error)
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        if os.environ.get("EVENFLOW_DEBUG"):
            raise
        complain(
            f"A defect of Evenflow: {type(error).__name__}: {error}. Please report it; EVENFLOW_DEBUG=1 shows where."
        )
        return 1


def _reader_left() -> bool:
    """Whether it is the output whose reader left, and not a connection of ours that broke."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
            poll = select.poll()
            poll.register(stream.fileno(), select.POLLOUT)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
                return True
        except BrokenPipeError:
            return True
        except (AttributeError, OSError, ValueError):  # no such call on this system, or a stream of Python's own
            continue
    return False


def _done(arguments: Sequence[str]) -> int:
    """Run the command.

    Raises:
        KeyboardInterrupt: there was one, whatever Typer or a library has made of it.
        BrokenPipeError: the reader of the output left, of which Click makes an exit with code 1.
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
        if interrupts.met() and not isinstance(error, Interrupted):
            raise KeyboardInterrupt from None
        raise
    if interrupts.met() or code == interrupts.CODE:  # Typer's own answer, without a word
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _usage(error: BaseException) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = _plainly(message)
    if message:
        complain(message)
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ != "NoArgsIsHelpError":
        with errors_written():
            print(f"Try: {context.command_path} --help", file=sys.stderr)
    return int(getattr(error, "exit_code", 2))


_PLAINLY = (
    (r"Invalid value for (.*?): Input should be a valid integer.*", r"\1 must be a whole number"),
    (r"Invalid value for (.*?): Input should be a valid number.*", r"\1 must be a number"),
    (r"Invalid value for (.*?): Input should be greater than or equal to (.*)", r"\1 must be at least \2"),
    (r"Invalid value for (.*?): Input should be less than or equal to (.*)", r"\1 must be at most \2"),
    (
        r"Invalid value for (.*?): (?:Value error, )?'(.*)' is not one of (.*?)\.?",
        r"\1 cannot be “\2”; it is one of \3",
    ),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"“\1” is one argument too many"),
    (r"Missing argument '(.*)'\.?", r"\1 is missing"),
    (r"No such option: (\S+) \(Possible options: (.*)\)", r"There is no option \1; did you mean \2?"),
    (r"No such option: (\S+)(.*)", r"There is no option \1\2"),
    (r"Option '(.*)' requires an argument\.?", r"\1 needs a value"),
)


def _plainly(message: str) -> str:
    """What Click and its checks of types say, in the words of the other messages."""
    for pattern, said in _PLAINLY:
        if re.fullmatch(pattern, message.strip(), re.DOTALL):
            told = re.sub(pattern, said, message.strip(), flags=re.DOTALL).replace("'", "")
            return told if told.endswith((".", "?", "…")) else f"{told}."
    return message.removeprefix("Value error, ")


def main() -> NoReturn:
    """The console script."""
    open_streams()
    try:
        interrupts.heard()
        code = invoke(sys.argv[1:])
    except KeyboardInterrupt:  # around the command, or a second time while it ended
        complain(INTERRUPTED)
        code = interrupts.CODE
    interrupts.end(code)


if __name__ == "__main__":
    main()
