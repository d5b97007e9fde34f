"""Run docs/tutorial.ipynb from top to bottom and save it with its outputs, so that it can be read where nothing runs.

    .venv/bin/python tools/tutorial.py

To be called after changes of the notebook, or of the engine where they change its numbers; a test says when.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIAL = Path(__file__).resolve().parent.parent / "docs" / "tutorial.ipynb"
TIMEOUT_S = 120


def execute(notebook: Any, folder: Path) -> None:
    """Every cell, in a folder."""
    os.environ.setdefault("JUPYTER_DATA_DIR", str(folder))  # this interpreter's kernel, whatever kernels a user has
    NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(folder)}}).execute()


def joined(outputs: list[Any]) -> list[Any]:
    """A cell's output as one text. A kernel cuts it at random places."""
    found: list[Any] = []
    for out in outputs:
        last = found[-1] if found else None
        if last is not None and last.output_type == out.output_type == "stream" and last.name == out.name:
            last.text += out.text
        else:
            found.append(out)
    return found


def plain(notebook: Any) -> Any:
    """Without what differs from run to run: times, and versions of the language."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main() -> None:
    """Run and save."""
    notebook = nbformat.read(TUTORIAL, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
    nbformat.write(plain(notebook), TUTORIAL)
    print(TUTORIAL)


if __name__ == "__main__":
    main()
