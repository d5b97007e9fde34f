"""Reading of ordinary files: no pipe or device is waited for, and no file is read without a limit."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

MOST_READ = 2**24
"""Bytes of a file that is read as a whole. Ledgers and manifests have far fewer; a device or a pipe need not end."""


def open_ordinary(path: Path) -> io.BufferedReader:
    """Open an ordinary file to be read.

    Raises:
        OSError: it cannot be read, or is a folder, or a pipe or a device, which may never answer or never end.
    """
    # without this flag the opening of a pipe blocks until a process writes to it
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_whole(path: Path, most: int = MOST_READ) -> bytes:
    """A file's bytes, from an ordinary file that is not larger than `most`.

    Raises:
        OSError: it cannot be read, is larger, or is a pipe or a device, which may never answer or never end.
    """
    with open_ordinary(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MiB", str(path))
    return data
