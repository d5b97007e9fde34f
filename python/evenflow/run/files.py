"""Files that are there whole or not at all, and what is said when the system refuses one."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError

if TYPE_CHECKING:
    import polars as pl

PARTIAL = ".partial"
"""How the names of files end that are being written."""
LEFT_S = 3600.0
"""A file that has been in writing for longer was left by a process that was killed."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MOST_READ = 2**24
"""Bytes of a file that is read as a whole. Ledgers and manifests have far fewer; a device or a pipe need not end."""
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EISDIR, errno.EPERM)
"""What a system answers that cannot sync a folder, or need not."""


_ELSEWHERE = "Name another folder with --out."


def open_ordinary(path: Path) -> io.BufferedReader:
    """Open an ordinary file to be read.

    Raises:
        OSError: it cannot be read, or is a folder, or a pipe or a device, which may never answer or never end.
    """
    # without this flag the opening of a pipe waits for somebody who writes to it
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


def read_json(path: Path, most: int = MOST_READ) -> Any:
    """A JSON file without what JSON does not have (NaN, Infinity) and without numbers that no double holds.

    Raises:
        OSError: it cannot be read, see `read_whole`.
        ValueError: it is no JSON, or holds such a number.
        RecursionError: it is nested too deep.
    """
    return json.loads(read_whole(path, most).decode(), parse_constant=_no_number, parse_float=_finite, parse_int=_whole)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


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

    Its permissions are those of any new file: what the umask leaves.

    Args:
        elsewhere: what can be done where it cannot be written.

    Raises:
        StoreError: no space, no permission, a folder in the way, no name.
    """
    temporary: Path | None = None
    try:
        make_folder(path.parent)
        # A letter may take four bytes, and a name has 255 at most.
        temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PARTIAL}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as error:
        # Ctrl-C leaves nothing behind either.
        if temporary is not None:
            with contextlib.suppress(OSError, ValueError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise unwritable(path, error, elsewhere) from None
        if isinstance(error, ValueError):
            raise StoreError(f"{str(path)!r} cannot be written: it is no name of a file.") from None
        raise


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front, as OWASP advises
    (“CSV injection”): names of cases and groups come from files of other people. "-5 ms" is no formula. Control
    characters, which a terminal would obey, are shown by their numbers.
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


def sweep(folders: Iterable[Path], names: re.Pattern[str]) -> int:
    """Remove files of these names that have been in writing for more than an hour. Returns how many."""
    swept = 0
    before = time.time() - LEFT_S
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not names.fullmatch(entry.name):
                    continue
                with contextlib.suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(entry.path)
                        swept += 1
    return swept


def prepare(folder: Path) -> None:
    """Find out now, not after an hour of runs, whether results can be written; sweep what a killed process left.

    Raises:
        StoreError: they cannot.
    """
    probe = folder / f".{secrets.token_hex(4)}{PARTIAL}"
    try:
        make_folder(folder)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from None
    sweep([folder], re.compile(r"\..*" + re.escape(PARTIAL)))


def unwritable(path: Path, error: OSError, elsewhere: str = _ELSEWHERE) -> StoreError:
    """The sentence for a file that cannot be written."""
    if error.errno in _NO_SPACE:
        return full(path.parent, reason(error))
    return StoreError(f"{path} cannot be written: {reason(error)}. {elsewhere}")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into a sentence."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def full(folder: Path, why: str) -> StoreError:
    """The sentence for a full disk."""
    return StoreError(
        f"There is no space left for {folder} ({why}). Finished runs are kept: make space and run the same command "
        "again to go on from there."
    )


def out_of_space(folder: Path) -> bool:
    """Whether the system has no space for a small file more; also at the limit that this process has on file sizes."""
    probe = folder / f".{secrets.token_hex(4)}{PARTIAL}"
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and any(
            entry.stat().st_size > limit - 2**16 for entry in os.scandir(folder) if entry.is_file()
        ):
            return True
    except (ImportError, OSError):
        pass
    try:
        handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            os.write(handle, bytes(2**16))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        return error.errno in _NO_SPACE
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return False


def reason(error: OSError) -> str:
    """What the system says, without number and path."""
    return error.strerror or str(error)
