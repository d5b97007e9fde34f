"""File locks (`flock`), which the system drops when a process ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import tempfile
import time
import weakref
from pathlib import Path

from .files import make_folder

try:
    import fcntl
except ImportError:  # Windows: no locks, so processes may compute a run twice
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of a filesystem without locks."""

_ours: weakref.WeakSet[Lock] = weakref.WeakSet()


def require_locks(folder: Path) -> None:
    """Find out whether a filesystem has the locks of SQLite, which reports missing ones as held by another process.

    Raises:
        OSError: it has none, or no file can be made.
    """
    if fcntl is not None:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Lock:
    """A lock on a file, from the construction to `close`.

    Args:
        path: the file; made if it is missing and `create` is set.
        patience_s: how long to wait for other processes.

    Raises:
        TimeoutError: another process holds the lock.
        OSError: the file cannot be opened, or the filesystem has no locks.
    """

    def __init__(self, path: Path, *, exclusive: bool, patience_s: float = 0.0, create: bool = True) -> None:
        until = time.monotonic() + patience_s
        while not self._taken(path, exclusive, create):
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, "another process has locked it", str(path))
            time.sleep(0.005)
        _ours.add(self)

    def _taken(self, path: Path, exclusive: bool, create: bool) -> bool:
        flags = getattr(os, "O_NONBLOCK", 0) | (os.O_CREAT if create else 0)
        try:
            self._fd = os.open(path, os.O_RDWR | flags, 0o666)
        except PermissionError:  # of another user
            self._fd = os.open(path, os.O_RDONLY | flags, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(self._fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(self._fd), path.stat()):
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        except BaseException:
            self.close()
            raise
        self.close()
        return False

    def close(self) -> None:
        """Give the lock back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _forget() -> None:
    """Close a forked child's copies, which would keep the parent's locks after its end."""
    for lock in list(_ours):
        with contextlib.suppress(OSError):
            lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Owner:
    """A process that computes runs: it holds the lock on `folder/id` as long as it lives.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.id = secrets.token_hex(8)
        self._process = os.getpid()
        self.path = folder / self.id
        self._lock = Lock(self.path, exclusive=True)

    def sees_alive(self, other: object) -> bool:
        """Whether the process with this id lives. The file of a dead one is removed."""
        if not isinstance(other, str) or not re.fullmatch("[0-9a-f]{16}", other):
            return False
        path = self.path.with_name(other)
        try:
            with Lock(path, exclusive=False, create=False):
                path.unlink()
        except FileNotFoundError:
            return False
        except OSError:  # locked, or not readable
            return True
        return False

    def close(self) -> None:
        """Leave: others may take the claims of this process. A forked child cannot leave for its parent."""
        if self._process != os.getpid():
            return
        with contextlib.suppress(OSError):
            self.path.unlink()
        self._lock.close()
