"""A new paper's first files: `evenflow new paper NAME` copies what lies here, with the name put in."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from ...errors import UsageError

HERE = Path(__file__).parent
SUFFIX = ".template"


def copy(name: str, where: Path) -> list[Path]:
    """Write the files of a paper `name` into the folder `where/NAME`, which must not be there.

    Returns:
        The files written, relative to the folder.

    Raises:
        UsageError: the name is no name for a package, or is taken; the folder is there. All of it at once.
    """
    from .. import installed, plain_key

    package, wrong = plain_key(name), []
    if not re.fullmatch("[a-z][a-z0-9_]*", package) or keyword.iskeyword(package):
        wrong.append(f"“{name}” is no name for a paper: letters, digits, - and _, a letter first.")
    elif package in installed():
        wrong.append(f"There is a paper {package} already.")
    elif package in (*sys.stdlib_module_names, "tests") or find_spec(package) is not None:
        wrong.append(f"There is a Python package {package} already.")
    folder = where / name
    if not wrong and folder.exists():
        wrong.append(f"{folder} is there already; remove it or take another name.")
    if wrong:
        raise UsageError("\n".join(wrong))
    written = []
    for source in sorted(HERE.rglob(f"*{SUFFIX}")):
        inside = str(source.relative_to(HERE)).removesuffix(SUFFIX).replace("PACKAGE", package)
        text = source.read_text(encoding="utf-8")
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            text.replace("PACKAGE", package).replace("DISTRIBUTION", package.replace("_", "-")), encoding="utf-8"
        )
        written.append(Path(inside))
    return written
