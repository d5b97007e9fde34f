"""The command line. Exit codes: 0 done, whatever the verdicts; 1 the tool failed; 2 bad usage or bad scenario; 130
Ctrl-C. With --strict also 3 (a claim is false; wins) and 4 (one is undecided).

Everything heavy is imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ..errors import EvenflowError, nearest
from .base import app, complain

if TYPE_CHECKING:
    from collections.abc import Sequence


@app.callback(invoke_without_command=True)
def start(version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    """When a network is full, who gets the bandwidth, and what does it feel like to them?"""
    if version:
        from .. import _core

        print(f"evenflow {_core.__version__} (engine {_core.ENGINE_ID}, {_core.BUILD_PROFILE} build)")
        raise typer.Exit


from . import running, plotting, papers, new, looking, theory, store  # isort: skip  # noqa: E402, F401  order of --help

COMMANDS = (
    *(command.name or command.callback.__name__ for command in app.registered_commands if command.callback),
    *(group.name for group in app.registered_groups if group.name),
)


def _unknown_command(arguments: Sequence[str]) -> str | None:
    """Typer says “No such command”; we say which one is near."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None or word in COMMANDS:
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
    wrong = _unknown_command(arguments)
    if wrong is not None:
        complain(wrong)
        return 2
    try:
        code = app(args=list(arguments), prog_name="evenflow", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except EvenflowError as error:
        complain(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain("Interrupted. Finished runs are kept; the same command goes on from there.")
        return 130
    except BrokenPipeError:
        # the reader left (`| head`): nothing to say, and nothing more to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        complain("There is not enough memory for this. Use fewer jobs, or a smaller scenario.")
        return 1
    except OSError as error:
        complain(f"{error.filename or 'The system'}: {error.strerror or error}.")
        return 1
    except Exception as error:
        if isinstance(error, _CLICK_ERROR):
            return _usage(error)
        if os.environ.get("EVENFLOW_DEBUG"):
            raise
        complain(
            f"A defect of Evenflow: {type(error).__name__}: {error}. Please report it; EVENFLOW_DEBUG=1 shows where."
        )
        return 1


def _usage(error: Exception) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if message:
        complain(message)
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ != "NoArgsIsHelpError":
        print(f"Try: {context.command_path} --help", file=sys.stderr)
    return int(getattr(error, "exit_code", 2))


def main() -> NoReturn:
    """The console script."""
    sys.exit(invoke(sys.argv[1:]))


if __name__ == "__main__":
    main()
