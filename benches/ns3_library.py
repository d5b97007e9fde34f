"""Find ns-3: the packaged one, or a tree that was built or installed.

Nothing is built here but our own scenario programs; a tree without libraries is refused with the reason.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

MODULES = ("applications", "internet", "point-to-point", "traffic-control", "network", "stats", "core", "bridge")


class MissingError(RuntimeError):
    """There is no ns-3 to build against in the place that was named."""


def package_version(package: str) -> str:
    """Name and version of a Debian package, or its name alone."""
    try:
        query = ["dpkg-query", "-W", "-f", "${Package} ${Version}", package]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return package


@dataclass(frozen=True)
class Ns3Library:
    """One installation of ns-3: its release, headers and libraries, and the words that identify it."""

    release: str  # "3.37", "3-dev"
    include: Path
    folder: Path
    built: str
    packaged: bool = False

    @staticmethod
    def packaged_one() -> Ns3Library | None:
        """The packaged ns-3, where there is one. Debian names its library libns3-core.so.37."""
        for folder in (Path("/usr/lib"), Path("/usr/local/lib"), *sorted(Path("/usr/lib").glob("*-linux-gnu"))):
            for found in sorted(folder.glob("libns3*-core*.so*")):
                match = re.match(r"libns3(?:-core\.so\.|\.)(\d+)", found.name)
                roots = (folder.parent / "include", Path("/usr/include"))
                include = next((root for root in roots if (root / "ns3" / "core-module.h").exists()), None)
                if match and include:
                    built = f"{package_version('libns3-dev')} as packaged (optimised, asserts off, logging compiled in)"
                    return Ns3Library(f"3.{match[1]}", include, folder, built, packaged=True)
        return None

    @staticmethod
    def of_tree(tree: Path) -> Ns3Library:
        """The ns-3 of a built source tree or of an installation prefix; raises `MissingError` with the reason."""
        if not tree.is_dir():
            raise MissingError(f"NS3={tree}: no such folder")
        places = [(root / "include", root / lib) for root in (tree / "build", tree) for lib in ("lib", "lib64")]
        for include, folder in places:
            cores = sorted(folder.glob("libns3*-core*.so"), key=lambda path: (len(path.name), path.name))
            if not cores or not (include / "ns3" / "core-module.h").exists():
                continue
            # libns3.48-core.so, libns3-dev-core.so, or libns3-dev-core-default.so, by version and profile
            match = re.fullmatch(r"libns(3[.\w-]*?)-core(?:-(\w+))?\.so", cores[0].name)
            if match is None:
                continue
            library = Ns3Library(match[1], include, folder, _built(tree, match[1], match[2]))
            missing = [module for module in MODULES if not library.file(module).exists()]
            if missing:
                raise MissingError(f"NS3={tree}: built without the modules {', '.join(missing)}")
            return library
        raise MissingError(
            f"NS3={tree} is neither a built source tree nor an installation prefix. A tree has "
            "build/lib/libns3*-core.so and build/include/ns3; a prefix has lib and include/ns3. "
            f"Modules needed: {', '.join(MODULES)}."
        )

    @property
    def name(self) -> str:
        """How results name it: "ns-3" for the packaged one, with its release for one of a tree."""
        return "ns-3" if self.packaged else f"ns-{self.release}"

    @property
    def standard(self) -> str:
        """The C++ that its headers need."""
        minor = re.match(r"3\.(\d+)", self.release)
        return "c++17" if minor and int(minor[1]) <= 41 else "c++23"

    def file(self, module: str) -> Path:
        """A module's library. A profile other than release or optimized is a suffix of all names."""
        prefix = "libns3" if self.packaged else f"libns{self.release}"
        plain = self.folder / f"{prefix}-{module}.so"
        if plain.exists():
            return plain
        return next(iter(sorted(self.folder.glob(f"{prefix}-{module}-*.so"))), plain)

    @property
    def flags(self) -> list[str]:
        """For the compiler and its linker."""
        if self.packaged:
            return [f"-lns3-{module}" for module in MODULES]
        libraries = [str(self.file(module)) for module in MODULES]
        return ["-isystem", str(self.include), *libraries, f"-Wl,-rpath,{self.folder}"]

    @property
    def identity(self) -> str:
        """Changes when another ns-3 is built in the same place."""
        if self.packaged:
            return self.release
        stamps = [(str(path), path.stat().st_mtime_ns) for path in map(self.file, MODULES)]
        return f"{self.built} {stamps}"


def _built(tree: Path, release: str, profile: str | None) -> str:
    """The source of a tree: its commit, where git knows one."""
    git = ["git", "-C", str(tree)]
    said = []
    for command in (
        ["describe", "--tags", "--always"],
        ["log", "-1", "--format=%cs"],
        ["rev-parse", "--show-toplevel"],
    ):
        done = subprocess.run([*git, *command], capture_output=True, text=True, check=False)
        said.append(done.stdout.strip() if done.returncode == 0 else "")
    commit, date, top = said
    # a prefix may lie inside another repository
    own = bool(commit) and Path(top).resolve() in (tree.resolve(), tree.resolve().parent)
    where = f"{commit} of {date}" if own else f"ns-{release}"
    return f"{where}, {'release' if profile is None else profile} profile"
