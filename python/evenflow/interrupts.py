"""Ctrl-C before a command begins and after it has ended, where no `try` hears it. Within a command it is a
KeyboardInterrupt, as everywhere in Python.

It is the first thing that the package imports, and imports nothing itself that Python has not loaded.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import atexit
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

CODE = 130
"""What shells expect of a program that Ctrl-C ended."""


_met = False


def loading() -> None:
    """From here on Ctrl-C ends the command line with a sentence, whatever is being imported.

    Does nothing in programs of others, which import Evenflow, and where Ctrl-C is ignored or has a handler already.
    """
    if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _on_interrupt(_leave)
        # At its very end Python gives Ctrl-C back to the system, unless it is ignored.
        atexit.register(_on_interrupt, _signal.SIG_IGN)


def heard() -> None:
    """The command begins: Ctrl-C is a KeyboardInterrupt."""
    if _signal.getsignal(_signal.SIGINT) is _leave:
        sys.unraisablehook = _ignored
        _on_interrupt(_hear)


def met() -> bool:
    """Whether Ctrl-C came within the command, whatever has become of its KeyboardInterrupt: an extension module that is
    being imported makes an ImportError of it."""
    return _met


def end(code: int) -> NoReturn:
    """The command has said all: leave. Ctrl-C can only hasten it."""
    if _signal.getsignal(_signal.SIGINT) is _hear:
        _on_interrupt(lambda *_: os._exit(code))
    if code == CODE:
        # `sys.exit` may end in death by SIGINT instead: Python remembers a KeyboardInterrupt that met an `exec` of
        # text, as in the making of a dataclass, even if it was caught.
        for stream in (sys.stdout, sys.stderr):
            try:  # noqa: SIM105
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        atexit._run_exitfuncs()
        os._exit(code)
    sys.exit(code)


def _hear(number: int, frame: FrameType | None) -> NoReturn:
    global _met
    _met = True
    raise KeyboardInterrupt


def _ignored(what: sys.UnraisableHookArgs, /) -> None:
    """Python drops a KeyboardInterrupt that meets a finalizer or the callback of a weak reference: it comes again."""
    if what.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_again, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(what)


def _again(thread: int) -> None:
    time.sleep(0.01)  # the finalizer ends meanwhile
    if hasattr(_signal, "pthread_kill"):
        _signal.pthread_kill(thread, _signal.SIGINT)
    else:
        _thread.interrupt_main()


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"evenflow: Interrupted before the command began.\n")
    finally:
        os._exit(CODE)


def _on_interrupt(handler: Any) -> None:
    try:  # noqa: SIM105
        _signal.signal(_signal.SIGINT, handler)
    except ValueError:  # not in the main thread
        pass


def _is_command() -> bool:
    """Is this process `evenflow …` or `python -m evenflow …`, and not one that imports it, or a worker of one?"""
    script: str | None = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is not None:
        return os.path.basename(script).partition(".")[0] == "evenflow"
    words = sys.orig_argv
    return sys.argv[:1] == ["-m"] and "-m" in words and words[words.index("-m") + 1 :][:1] == ["evenflow"]


loading()
