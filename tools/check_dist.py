"""Check built packages before they are published: `python tools/check_dist.py dist`."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

WHEEL = ("evenflow/_core", "evenflow/py.typed", "licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "licenses/NOTICE")
SDIST = (
    "Cargo.toml",
    "Cargo.lock",
    "crates/python/Cargo.toml",
    "python/evenflow/__init__.py",
    "LICENSE-MIT",
    "PKG-INFO",
)


def faults(path: Path) -> list[str]:
    """Missing files, and wheels that are not abi3."""
    if path.suffix == ".whl":
        names, needed = zipfile.ZipFile(path).namelist(), WHEEL
        found = [] if "-cp311-abi3-" in path.name or "-none-any" in path.name else ["not abi3 for CPython 3.11"]
    else:
        with tarfile.open(path) as archive:
            names, needed, found = archive.getnames(), SDIST, []
    if path.name.startswith("evenflow_papers"):
        needed = ()
    return found + [f"without {name}" for name in needed if not any(name in one for one in names)]


def main(folder: Path) -> int:
    paths = sorted(path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz")))
    wrong = [f"{path.name}: {fault}" for path in paths for fault in faults(path)]
    print(*wrong or [f"{len(paths)} packages are complete"], sep="\n")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
