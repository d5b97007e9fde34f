"""The handler of Ctrl-C for the command line and for studies.

The package imports this module first. It imports only what Python has loaded already, so that an early Ctrl-C leaves
no traceback.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

CODE = 130
"""Exit code that shells expect after Ctrl-C."""

_stage = "command"
"""Of the process: loading (imports), command, ending."""
_code = 0
_presses = 0
_postponed: postponed | None = None


def loading() -> None:
    """Handle Ctrl-C from now on, if this process is the command line and Ctrl-C has its default handler."""
    global _stage
    if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _stage = "loading"
        if _install(_handle):
            atexit.register(_last)


def begin() -> None:
    """The command begins: from now on Ctrl-C raises KeyboardInterrupt."""
    global _stage
    if _stage == "loading":
        sys.unraisablehook = _dropped
    _stage = "command"


def end(code: int) -> NoReturn:
    """Exit. Ctrl-C during the exit ends the process immediately, with the same code."""
    global _stage, _code
    _stage, _code = "ending", code
    sys.exit(code)


def pressed() -> bool:
    """Whether there was a Ctrl-C, even if a library has turned its KeyboardInterrupt into an ImportError."""
    return _presses > 0


class postponed:
    """In this block the first Ctrl-C sets `pressed` and calls `wake`; the next ones raise KeyboardInterrupt.

    Has no effect outside the main thread, or if the program has its own handler.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.pressed = False
        self.wake = wake

    def __enter__(self) -> postponed:
        global _postponed
        self._outer, self._before = _postponed, _signal.getsignal(_signal.SIGINT)
        self._installed = self._before in (_handle, _signal.default_int_handler) and _install(_handle)
        if self._installed:
            _postponed = self
        return self

    def __exit__(self, *_: object) -> None:
        global _postponed
        if self._installed:
            _postponed = self._outer
            _install(self._before)


def _handle(number: int, frame: FrameType | None) -> None:
    global _presses
    if _stage == "loading":
        try:
            os.write(2, b"evenflow: Interrupted before the command began.\n")
        finally:
            os._exit(CODE)
    if _stage == "ending":
        os._exit(_code)
    _presses += 1
    if _postponed is None or _postponed.pressed:
        raise KeyboardInterrupt
    _postponed.pressed = True
    _postponed.wake()


def _dropped(what: sys.UnraisableHookArgs, /) -> None:
    """Python drops a KeyboardInterrupt in a finalizer or in a weak reference's callback: raise it again after that."""
    if what.exc_type is KeyboardInterrupt and hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, _handle)
        _signal.setitimer(_signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(what)


def _last() -> None:
    """The last exit function."""
    _install(_signal.SIG_IGN)  # Python's finalization would restore the system's default
    if _code == CODE:
        # Python would end itself by SIGINT if KeyboardInterrupt passed through an `exec` of text (dataclasses do that).
        for stream in (sys.stdout, sys.stderr):
            try:  # noqa: SIM105
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        os._exit(CODE)


def _install(handler: Any) -> bool:
    """Set the handler of SIGINT; False outside the main thread."""
    try:
        _signal.signal(_signal.SIGINT, handler)
    except ValueError:
        return False
    return True


def _is_command() -> bool:
    """Whether this process is `evenflow …` or `python -m evenflow …`."""
    script: str | None = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is not None:
        return os.path.basename(script).partition(".")[0] == "evenflow"
    words = sys.orig_argv
    return sys.argv[:1] == ["-m"] and "-m" in words and words[words.index("-m") + 1 :][:1] == ["evenflow"]


loading()
