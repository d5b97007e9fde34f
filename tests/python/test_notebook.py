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


def texts(notebook: Any) -> list[str]:
    """What each cell of code says, without pictures, and without what is drawn for them."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            said = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs]
            found.append(
                re.sub(r" at 0x[0-9a-f]+", "", "".join(said))
            )  # where a kernel cuts a text is a matter of time
    return found


def test_it_can_be_read_where_nothing_runs(tutorial: Any) -> None:
    assert len([text for text in texts(tutorial) if text]) > 10
    pictures = [
        out for cell in tutorial.cells for out in cell.get("outputs", []) if "image/svg+xml" in out.get("data", {})
    ]
    assert len(pictures) >= 2
    assert not [out for cell in tutorial.cells for out in cell.get("outputs", []) if out.output_type == "error"]


def test_what_its_prose_says_is_in_its_outputs(tutorial: Any) -> None:
    prose = "".join(cell.source for cell in tutorial.cells if cell.cell_type == "markdown")
    claimed = re.search(r"gets ([\d.]+) times as much", prose)
    heavy = re.search(r"groups\.heavy\.throughput_bps\s+([\d.e+]+)", printed(tutorial))
    light = re.search(r"groups\.light\.throughput_bps\s+([\d.e+]+)", printed(tutorial))
    assert claimed is not None
    assert heavy is not None
    assert light is not None
    assert f"{float(heavy[1]) / float(light[1]):.1f}" == claimed[1]


@pytest.mark.slow("executes the tutorial")
def test_runs(tutorial: Any, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(work))  # this interpreter's kernel, whatever kernels a user has
    saved = texts(tutorial)
    client = NotebookClient(tutorial, timeout=LONGEST_S, resources={"metadata": {"path": str(work)}})
    before = cpu_of_children()
    client.execute()
    assert cpu_of_children() - before < LONGEST_S
    said = printed(tutorial)
    assert texts(tutorial) == saved, "the saved outputs are of another day: .venv/bin/python tools/tutorial.py"
    assert 'unknown key "limt"; did you mean "limit"?' in said
    marking = re.search(r"mark: .* (\d+) are lost, (\d+) marked", said)
    assert marking is not None
    assert 20 * int(marking[1]) < int(marking[2])
    policed = [line.split() for line in said.splitlines() if re.match(r" +\d+ +[\d.]+ Mbit/s", line)]
    assert [int(row[0]) for row in policed] == [80, 60, 40, 20]
    heavy, light = ([float(row[at]) for row in policed] for at in (1, 6))
    assert heavy == sorted(heavy, reverse=True)
    assert light == sorted(light)
    # a full bucket of 50 tokens adds to the rate over the 40 s of the window
    assert all(float(row[3]) <= int(row[0]) + 50 / 40 for row in policed), "more congestion than tokens"
    cells = {
        row[1]: (float(row[2]), float(row[3]))
        for row in re.finditer(r"(\w[\w ]+): phones ([\d.]+) .* flood ([\d.]+) ", said)
    }
    assert cells["a bucket a phone"][0] > 3 * cells["nobody polices"][0], "phones have what the flood took"
    assert cells["a bucket a phone"][1] < 1 < 30 < cells["nobody polices"][1]
    assert "metered 8.96" in said
    assert "'verdict': 'accept'" in said
    assert "'reason': 'activity'" in said
    assert "undecided | 1 of 5 comparisons" in said
    assert "\nholds | " in said
