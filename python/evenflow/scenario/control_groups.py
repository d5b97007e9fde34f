"""What the control groups of this process leave of the memory: those of containers, SLURM steps and systemd scopes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class _Kind:
    """The names of one version of control groups."""

    filesystem: str
    limit: str
    taken: str
    cache: str
    """The line of memory.stat with the file pages that the kernel gives back before it kills."""
    usual: str
    """Where it is mounted, if /proc/self/mountinfo does not say."""


_V1 = _Kind("cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "/sys/fs/cgroup/memory")
_V2 = _Kind("cgroup2", "memory.max", "memory.current", "inactive_file", "/sys/fs/cgroup")


def left(root: Path = Path("/")) -> list[int]:
    """Bytes that each limit above this process leaves, of either version; none if there is no limit.

    Args:
        root: the folder in which /proc and /sys are.
    """
    found: list[int] = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path.startswith("/"):
            continue
        if "memory" in controllers.split(","):
            found += _along(_V1, path, root)
        elif not controllers and line.startswith("0:"):
            found += _along(_V2, path, root)
    return found


def _along(kind: _Kind, path: str, root: Path) -> list[int]:
    """The rests from the process's own group up to the top of what is mounted."""
    mount, top = _mounted(kind, root)
    below = PurePosixPath(path)
    # Without a namespace of groups, a container sees its own group mounted as the top.
    inside = below.relative_to(top) if below.is_relative_to(top) else PurePosixPath()
    if ".." in inside.parts:
        inside = PurePosixPath()
    at = root / mount.lstrip("/")
    found = []
    for group in (inside, *inside.parents):
        folder = at / group
        if group != inside and kind is _V1 and _text(folder / "memory.use_hierarchy").strip() == "0":
            break  # its limit is not that of the groups below
        rest = _rest(kind, folder)
        if rest is not None:
            found.append(rest)
    return found


def _rest(kind: _Kind, folder: Path) -> int | None:
    """Memory that one group leaves; None if it has no limit, or no readable one."""
    try:
        limit = int(_text(folder / kind.limit))
        taken = int(_text(folder / kind.taken))
    except ValueError:  # "max", or no file
        return None
    for line in _text(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == kind.cache and value.strip().isdecimal():
            taken -= int(value)
    return max(0, limit - max(0, taken))


def _mounted(kind: _Kind, root: Path) -> tuple[str, PurePosixPath]:
    """Where these groups are mounted, and which group is the top there."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        place, what = before.split(), after.split()
        if len(place) < 5 or len(what) < 3 or what[0] != kind.filesystem:
            continue
        if kind is _V2 or "memory" in what[2].split(","):
            return _unescaped(place[4]), PurePosixPath(_unescaped(place[3]))
    return kind.usual, PurePosixPath("/")


def _unescaped(text: str) -> str:
    """A path of mountinfo, which writes spaces in octal."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def _text(path: Path) -> str:
    """A file of the kernel, or nothing."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
