"""What datagrams.py does, for a kernel that polices: told and answered in the same way.

A user-mode kernel needs other modules for it, and /proc, from which tc takes the tick in which it counts a policer's
burst (/proc/net/psched).
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import datagrams

MODULES = {"sch_ingress", "cls_matchall", "act_police"}
load_named = datagrams.load


def load(modules: Path, names: set[str]) -> None:
    """Those that it needs for its queues too."""
    ctypes.CDLL(None).mount(b"proc", b"/proc", b"proc", 0, None)
    load_named(modules, names | MODULES)


if __name__ == "__main__":
    datagrams.load = load
    datagrams.main()
