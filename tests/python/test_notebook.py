"""The tutorial runs from top to bottom, in an empty folder, in under a minute, and says what its text says."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT, environment
from nbclient import NotebookClient

TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
LONGEST_S = 60


@pytest.fixture(scope="module")
def tutorial() -> Any:
    return nbformat.read(TUTORIAL, as_version=4)


def printed(notebook: Any) -> str:
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    return "".join(out.get("text", "") or str(out.get("data", {}).get("text/plain", "")) for out in outputs)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_outputs_are_stripped(tutorial: Any) -> None:
    for cell in tutorial.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_runs(tutorial: Any, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(work))  # this interpreter's kernel, whatever kernels a user has
    client = NotebookClient(tutorial, timeout=LONGEST_S, resources={"metadata": {"path": str(work)}})
    before = cpu_of_children()
    client.execute()
    assert cpu_of_children() - before < LONGEST_S
    said = printed(tutorial)
    assert 'unknown key "limt"; did you mean "limit"?' in said
    marking = re.search(r"mark: .* (\d+) are lost, (\d+) marked", said)
    assert marking is not None
    assert 20 * int(marking[1]) < int(marking[2])
    assert "metered 8.96" in said
    assert "'verdict': 'accept'" in said
    assert "'reason': 'activity'" in said
    assert "undecided | 1 of 5 comparisons" in said
    assert "\nholds | " in said
