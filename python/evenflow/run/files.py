"""Files that are written whole or not at all, and messages for files that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError, UsageError
from ..reading import MOST_READ, read_whole
from ..reading import open_ordinary as open_ordinary

if TYPE_CHECKING:
    import polars as pl

PARTIAL = ".partial"
"""Suffix of a file that is being written."""
LEFT_S = 3600.0
"""Age from which such a file was left by a killed process."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EISDIR, errno.EPERM)
"""Errors of systems that cannot sync a folder, or need not."""
_ELSEWHERE = "Name another folder with --out."


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a file; None where there is no ordinary file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with open_ordinary(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def read_json(path: Path, most: int = MOST_READ) -> Any:
    """A JSON file without what JSON does not have (NaN, Infinity) and without numbers that no double holds.

    Raises:
        OSError: it cannot be read, see `read_whole`.
        ValueError: it is no JSON, or holds such a number.
        RecursionError: it is nested too deep.
    """
    return json.loads(read_whole(path, most).decode(), parse_constant=_no_number, parse_float=_finite, parse_int=_whole)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _whole(text: str) -> int:
    value = int(text)
    if abs(value) >= 2**64:
        raise ValueError("a whole number beyond 64 bits")
    return value


def write_whole(path: Path, data: bytes | memoryview, elsewhere: str = _ELSEWHERE) -> None:
    """Write a file so that it is either there completely or not at all, after a power cut as well.

    Args:
        elsewhere: the end of the message where it cannot be written.

    Raises:
        StoreError: no space, no permission, a folder in the way, no name.
    """
    temporary: Path | None = None
    try:
        make_folder(path.parent)
        # A letter may take four bytes; a name has up to 255.
        temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PARTIAL}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as error:  # Ctrl-C leaves nothing behind either
        if temporary is not None:
            with contextlib.suppress(OSError, ValueError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise unwritable(path, error, elsewhere) from None
        if isinstance(error, ValueError):
            raise StoreError(f"{str(path)!r} cannot be written: it is no name of a file.") from None
        raise


def write_out(path: Path, data: bytes) -> None:
    """Write a file that the user named: whole, through links, and into pipes and terminals.

    Raises:
        UsageError: a folder, a socket or a disk.
        StoreError: as `write_whole`.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        mode = stat.S_IFREG
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        try:
            path.write_bytes(data)
        except OSError as error:
            raise unwritable(path, error) from None
    elif stat.S_ISREG(mode):
        write_whole(Path(os.path.realpath(path)) if path.is_symlink() else path, data)
    else:
        raise UsageError(f"--out {path}: it is a {'folder' if stat.S_ISDIR(mode) else 'device'}; name a file.")


def refuse_input(out: Path, inputs: Iterable[Path]) -> None:
    """Raises UsageError where `--out` is a file that the command reads."""
    for path in inputs:
        with contextlib.suppress(OSError):
            if out.samefile(path):
                raise UsageError(f"--out {out}: this command reads the file. Name another one.")


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as CSV, safe against CSV injection (OWASP): names come from files of other people.

    A text that a spreadsheet would read as a formula gets a leading apostrophe. Control characters become numbers.
    """
    import polars as pl

    from ..words import CONTROL, clean

    def plain(texts: pl.Series) -> pl.Series:
        if not texts.str.contains(CONTROL).any():
            return texts
        return pl.Series(
            texts.name,
            [text and re.sub(CONTROL, lambda found: clean(found[0]), text) for text in texts],
            dtype=pl.String,
        )

    def harmless(text: pl.Expr) -> pl.Expr:
        signed = text.str.contains(r"^[+-]") & ~text.str.contains(r"^[+-][0-9.]+([eE][+-]?[0-9]+)?( ?[A-Za-z%/]+)?$")
        formula = text.str.contains(r"^[=@\t\r\n]") | signed
        return pl.when(formula).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    names = (
        plain(pl.Series("name", frame.columns, dtype=pl.String))
        .to_frame()
        .select(harmless(pl.col("name")).alias("name"))
    )
    frame = frame.with_columns(plain(frame[name]) for name in texts)
    shown = frame.with_columns(harmless(pl.col(name)).alias(name) for name in texts)
    shown.columns = names["name"].to_list()
    out = io.BytesIO()  # as text it would be there three times over
    shown.write_csv(out)
    return out.getvalue()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a power cut does not undo it.

    Raises:
        OSError: it cannot be made.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
    if not folder.is_dir():
        if os.path.islink(folder) and not os.path.exists(folder):
            raise FileNotFoundError(errno.ENOENT, "the link leads nowhere", str(folder))
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Write a folder's names to the disk: a new or renamed file outlasts a power cut only then.

    Raises:
        OSError: the disk refuses.
    """
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        if handle >= 0:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed processes left in writing in a folder, after an hour."""
    before = time.time() - LEFT_S
    for path in folder.glob(f".*{PARTIAL}"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and found.st_mtime < before:
                path.unlink()


def prepare(folder: Path) -> None:
    """Find out before the first run whether results can be written; sweep what a killed process left.

    Raises:
        UsageError: the folder is the root of the filesystem.
        StoreError: it cannot be written.
    """
    if os.path.realpath(folder) == os.path.realpath(os.sep):
        raise UsageError(f"--out {folder}: results need a folder below the root.")
    probe = folder / f".{secrets.token_hex(4)}{PARTIAL}"
    try:
        make_folder(folder)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from None
    sweep(folder)


def unwritable(path: Path, error: OSError, elsewhere: str = _ELSEWHERE) -> StoreError:
    """The message for a file that cannot be written."""
    if error.errno in _NO_SPACE:
        return full(path.parent, reason(error))
    return StoreError(f"{path} cannot be written: {reason(error)}. {elsewhere}")


def full(folder: Path, why: str) -> StoreError:
    """The message for a full disk."""
    return StoreError(
        f"There is no space left for {folder} ({why}). Finished runs are kept: make space and run the same command "
        "again to go on from there."
    )


def reason(error: BaseException) -> str:
    """The system's message, without number and path."""
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
