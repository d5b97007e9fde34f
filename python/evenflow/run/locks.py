"""Who may touch a store, and who is still alive: locks that the system drops by itself when a process ends.

Both use `flock`. Where a filesystem or a system has none, a file that only one process can create stands for the lock,
and a process is taken for dead once it has not touched its file for `SILENT_S`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .files import LEFT_S, PARTIAL, make_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BEAT_S = 10.0
"""Between two touches of an owner's file."""
SILENT_S = 60.0
"""An owner that no lock can tell about is dead after so long without a touch."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)

_ours: weakref.WeakSet[Any] = weakref.WeakSet()
"""Holders of locked files of this process. A forked child shares the lock, so it lets go of its copy at once."""


def _forget_in_child() -> None:
    for holder in list(_ours):
        holder._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class FileLock:
    """A lock between processes, shared or exclusive, on a file that stays.

    Args:
        path: the file; made if it is not there.
        patience_s: how long to wait for it.
    """

    def __init__(self, path: Path, patience_s: Callable[[], float]) -> None:
        self.path = path
        self._patience_s = patience_s
        self._fd = -1
        _ours.add(self)

    @contextlib.contextmanager
    def held(self, *, exclusive: bool) -> Iterator[None]:
        """Hold it.

        Raises:
            TimeoutError: somebody else has held it for too long.
            OSError: the file cannot be made.
        """
        until = time.monotonic() + self._patience_s()
        pause = 0.001
        while not (drop := self._try(exclusive)):
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, f"{self.path} is locked")
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        try:
            yield
        finally:
            drop()

    def _try(self, exclusive: bool) -> Callable[[], None] | None:
        """Take the lock, if it is free; returns what gives it back."""
        if fcntl is None:
            return self._try_without_flock(exclusive)
        if self._fd < 0:
            self._fd = _opened(self.path)
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return self._try_without_flock(exclusive)
            raise
        if not _is_file(self.path, self._fd):  # somebody removed it, and others lock another one
            self.close()
            return None
        return lambda: fcntl.flock(self._fd, fcntl.LOCK_UN) if self._fd >= 0 else None

    def _try_without_flock(self, exclusive: bool) -> Callable[[], None] | None:
        if not exclusive:
            return lambda: None
        mark = self.path.with_name(f"{self.path.name}.held")
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - mark.stat().st_mtime > SILENT_S:
                    mark.unlink()
            return None
        return lambda: mark.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _forget(self) -> None:
        with contextlib.suppress(OSError):
            self.close()


class Owner:
    """A process that claims work: a file of its own, locked and touched for as long as it lives.

    Args:
        folder: where the owners' files are.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.id = secrets.token_hex(8)
        self.process = os.getpid()
        self.path = folder / self.id
        make_folder(folder)
        hidden = folder / f".{self.id}{PARTIAL}"
        self._fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _ours.add(self)
        try:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # no locks here: then the touches count
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            about = {"machine": _machine(), "host": socket.gethostname(), "pid": os.getpid()}
            os.write(self._fd, json.dumps(about).encode())
            hidden.rename(self.path)
        except BaseException:
            self._forget()
            hidden.unlink(missing_ok=True)
            raise
        self._ended = threading.Event()
        threading.Thread(target=_beat, args=(self.path, self._ended), daemon=True, name="evenflow-owner").start()

    def sees_alive(self, other: str) -> bool:
        """Whether the process with this id still lives."""
        if other == self.id:
            return True
        if not _is_id(other):
            return False
        path = self.path.with_name(other)
        if not path.is_file():
            return False
        fd = -1
        try:
            fd = _opened(path, create=False)
            if fcntl is not None:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # a lock that another machine holds may not be seen from here
                if json.loads(os.read(fd, 4096)).get("machine") == _machine():
                    return False
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        except (OSError, ValueError, AttributeError):
            pass
        finally:
            if fd >= 0:
                os.close(fd)
        return self._heard_of(path)

    def _heard_of(self, path: Path) -> bool:
        """Whether a file was touched lately, by the clock of the filesystem that both are on."""
        try:
            os.utime(self.path)
            return self.path.stat().st_mtime - path.stat().st_mtime < SILENT_S
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def bury(self, other: str) -> None:
        """Remove the file of a process that is dead."""
        if _is_id(other):
            with contextlib.suppress(OSError):
                self.path.with_name(other).unlink()

    def sweep(self) -> None:
        """Remove files of dead processes that are older than an hour: what was left where nobody took over."""
        for path in self.path.parent.iterdir():
            with contextlib.suppress(OSError):
                old = time.time() - path.stat().st_mtime > LEFT_S
                if old and (path.suffix == PARTIAL or not self.sees_alive(path.name)):
                    path.unlink()

    def close(self) -> None:
        """End: others may take what this process had claimed."""
        if self.process != os.getpid():
            return
        self._ended.set()
        with contextlib.suppress(OSError):
            self.path.unlink()
        self._forget()

    def _forget(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1


def _beat(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT_S):
        with contextlib.suppress(OSError):
            os.utime(path)


def _is_id(text: str) -> bool:
    """Whether a text can be an owner's id: nothing else becomes a part of a path."""
    return text.isascii() and text.isalnum() and len(text) <= 64


def _opened(path: Path, *, create: bool = True) -> int:
    at_once = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its other end
    try:
        return os.open(path, os.O_RDWR | at_once | (os.O_CREAT if create else 0), 0o666)
    except PermissionError:  # somebody else's: it can still be locked
        return os.open(path, os.O_RDONLY | at_once)


def _is_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except OSError:
        return False


@cache
def _machine() -> str:
    """What tells a running system from others: locks are seen by all its processes, in containers too."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()
