"""tools/compare_ledgers.py: equal results are equal, and each kind of difference is found."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli, announce
from evenflow.papers import carry
from test_reproduce import TINY

sys.path.insert(0, str(ROOT / "tools"))
import compare_ledgers

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a result is kept after the first test."""
    return tmp_path_factory.mktemp("reproduced") / "kept"


@pytest.fixture
def results(cli: Cli, fake: object, work: Path, reproduced: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two equal results, `a` and `b`, and the document of the first."""
    announce(monkeypatch, TINY)
    if not reproduced.exists():
        done = cli("reproduce", "tiny", "--out", "a", "--json")
        assert done.code == 0, done.err
        (work / "a.json").write_text(done.out, encoding="utf-8")
        shutil.copytree("a", "b")
        shutil.copytree(work, reproduced)
    shutil.copytree(reproduced, work, dirs_exist_ok=True)
    return work


def compared(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    capfd.readouterr()
    code = compare_ledgers.main(list(arguments))
    return code, capfd.readouterr().out.splitlines()


def test_equal_results(results: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(capfd, "a", "b") == (0, ["5 claims, 2 figures, 12 runs compared: no differences."])
    assert compared(capfd, "a.json", "b") == (0, ["5 claims, no figures, no runs compared: no differences."])


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in document["claims"] if row["id"] == name)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (
            lambda d: row(d, "tiny-holds").update(verdict="fails"),
            "claims: tiny-holds: verdict: holds before, fails after",
        ),
        (lambda d: row(d, "tiny-holds").update(by_mean=7), "claims: tiny-holds: by_mean: "),
        (lambda d: row(d, "tiny-fails").update(relaxed=None), "claims: tiny-fails: relaxed: holds before, None after"),
        (lambda d: row(d, "tiny-analytic")["checks"][0].update(mean=2.0001), "claims: tiny-analytic: checks 1: mean: "),
        (lambda d: row(d, "tiny-analytic")["checks"].clear(), "claims: tiny-analytic: checks: 1 before, 0 after"),
        (lambda d: d["claims"].remove(row(d, "tiny-open")), "claims: tiny-open: only before"),
        (lambda d: d["claims"].append({**row(d, "tiny-open"), "id": "tiny-new"}), "claims: tiny-new: only after"),
        (lambda d: d["experiments"][0].update(runs=5), "experiments: tiny-one: runs: "),
        (lambda d: d.update(scale="paper"), "scale: quick before, paper after"),
    ],
)
def test_a_different_ledger(results: Path, capfd: pytest.CaptureFixture[str], edit: Edit, found: str) -> None:
    for name in ("b/ledger.json", "a.json"):
        document = json.loads((results / name).read_text(encoding="utf-8"))
        edit(document)
        (results / name).write_text(json.dumps(document), encoding="utf-8")
    code, lines = compared(capfd, "a", "b")
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith(found)
    assert lines[1].endswith("compared: 1 difference.")
    assert compared(capfd, "a.json", "b")[0] == 0, "the same edit in both"


def test_the_order_of_comparisons_may_differ(results: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads((results / "b" / "ledger.json").read_text(encoding="utf-8"))
    checks = [{**row(document, "tiny-holds")["checks"][0], "label": label} for label in "xy"]
    for folder, them in (("a", checks), ("b", checks[::-1])):
        row(document, "tiny-holds")["checks"] = them
        (results / folder / "ledger.json").write_text(json.dumps(document), encoding="utf-8")
    assert compared(capfd, "a", "b")[0] == 0


def test_a_note_may_differ(results: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads((results / "b" / "ledger.json").read_text(encoding="utf-8"))
    row(document, "tiny-fails")["why"] = "Other words."
    document["elapsed_s"] = 1e6
    (results / "b" / "ledger.json").write_text(json.dumps(document), encoding="utf-8")
    assert compared(capfd, "a", "b")[0] == 0


def test_different_figures(results: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = results / "b" / "figures" / "tiny-one.csv"
    head, first, *rest = file.read_text(encoding="utf-8").splitlines()
    cells = first.split(",")
    number = head.split(",").index("mean")
    cells[number] = repr(float(cells[number]) * (1 + 1e-10))
    file.write_text("\n".join([head, ",".join(cells), *rest]), encoding="utf-8")
    code, lines = compared(capfd, "a", "b")
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith("figures: tiny-one 1: mean: ")
    assert compared(capfd, "a", "b", "--tolerance", "1e-9")[0] == 0
    file.write_text("\n".join([head, first, *rest[:-1]]), encoding="utf-8")
    assert compared(capfd, "a", "b")[1][0].startswith("figures: tiny-one: ")
    file.unlink()
    assert compared(capfd, "a", "b")[1][0] == "figures: tiny-one: only before"
    shutil.rmtree(file.parent)
    assert len(compared(capfd, "a", "b")[1]) == 3, "a result without figures is not taken for one that needs none"


def test_a_different_run(results: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = compare_ledgers.runs(results / "a" / carry.RUNS)
    place = next(iter(experiments["tiny-two"]))
    experiments["tiny-two"][place] = "0"
    real = compare_ledgers.runs
    monkeypatch.setattr(compare_ledgers, "runs", lambda file: experiments if file.parent.name == "b" else real(file))
    code, lines = compared(capfd, "a", "b")
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith(f"run: tiny-two: {place}: ")
    assert lines[0].endswith(" before, 0 after")


def test_shipped_ledgers(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shipped = ROOT / "papers" / "evenflow_papers" / "reecn_lte"
    for name in ("ledger.json", "comparisons.json.gz", "runs.json.xz"):
        shutil.copy(shipped / name, work)
    assert compared(capfd, str(shipped), ".")[0] == 0
    comparisons = json.loads(gzip.decompress((work / "comparisons.json.gz").read_bytes()))
    name = next(name for name, parts in comparisons.items() if len(parts["checks"]) == 1)
    comparisons[name]["checks"][0]["n"] += 1
    (work / "comparisons.json.gz").write_bytes(gzip.compress(json.dumps(comparisons).encode()))
    code, lines = compared(capfd, str(shipped), ".")
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith(f"claims: {name}: checks 1: n: ")


def test_a_missing_result(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        compare_ledgers.main(["nowhere", "nowhere"])
    assert left.value.code == 2
    assert "nowhere cannot be read: No such file" in capfd.readouterr().err
