"""The house: who may use whom, drawn from the imports; and what an import costs."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import environment

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

ORDER = ("foundation", "scenario", "run", "judge", "show", "theory", "papers", "cli")
"""Each room uses only rooms before it."""
PUBLIC = {
    "claims": "judge", "kit": "judge", "lab": "judge", "marking": "theory", "mechanism": "run", "paper": "judge",
    "plots": "show", "record": "run", "reproduce": "papers", "store": "run", "study": "run", "sweep": "scenario",
    "types": "scenario",
}  # fmt: skip


def test_there_is_no_circle() -> None:
    assert house.circles(house.crates()) == []
    assert house.circles(house.python()) == []


def test_rooms_are_used_in_one_direction() -> None:
    for (user, used), files in house.python().items():
        if (user, used) not in house.SHORTCUTS:
            assert ORDER.index(used) < ORDER.index(user), f"{user} uses {used} in {sorted(files)}"


def test_a_shortcut_is_taken_where_it_is_declared_only() -> None:
    edges = house.python()
    for pair in house.SHORTCUTS:
        assert len(edges.get(pair, ())) <= 3, sorted(edges[pair])


def test_mechanisms_know_no_simulator() -> None:
    for user, used in house.crates():
        if user in ("base", "queue", "stage", "transport", "traffic", "scenario"):
            assert used not in ("sim", "python")


def test_a_circle_would_be_found() -> None:
    edges = {("a", "b"): {"x"}, ("b", "c"): {"x"}, ("c", "a"): {"x"}, ("c", "d"): {"x"}}
    assert house.circles(edges) == [["a", "b", "c"]]


def test_files_use_each_other_in_no_new_circle() -> None:
    found = {" ".join(one) for one in house.tangled_files()}
    assert not found - set(house.TANGLES), "new circles between files"
    assert not set(house.TANGLES) - found, "these are gone: take them off tools/house.py's list"


def test_a_circle_of_files_would_be_found(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::{b::{B as Other, new}, c};\n",
        "b.rs": '// crate::a::A\nconst TEXT: &str = "crate::a::A";\nfn f() { crate::c::part::g() }\n',
        "c.rs": "mod part;\nuse part::g;\n#[cfg(test)]\nmod tests {\n    use crate::b::new;\n}\n",
        "c/part.rs": "pub fn g() {}\n",
        "c/tests.rs": "use crate::a::A;\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    edges = {(("x", "a"), ("x", "b")), (("x", "a"), ("x", "c")), (("x", "b"), ("x", "c", "part"))}
    assert house.rust_files(tmp_path, "x") == edges
    assert house.tangles(edges) == []
    (tmp_path / "c" / "part.rs").write_text("use super::super::a::A;\n")
    found = house.rust_files(tmp_path, "x")
    assert found - edges == {(("x", "c", "part"), ("x", "a"))}
    assert house.tangles(found) == [["x.a", "x.b", "x.c.part"]]


def test_the_picture_is_that_of_the_imports() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert house.filled(page) == page, "Run: make generate"
    for room in ORDER:
        assert f"`{room}`" in page or f"`evenflow.{room}`" in page, f"CONTRIBUTING.md does not say what {room} is"


@pytest.mark.parametrize(("name", "room"), PUBLIC.items())
def test_public_names_stay(name: str, room: str) -> None:
    assert importlib.import_module(f"evenflow.{name}") is importlib.import_module(f"evenflow.{room}.{name}")


def test_an_import_is_quick_and_draws_nothing_heavy_in() -> None:
    script = (
        "import sys, evenflow\n"
        "heavy = {'polars', 'matplotlib', 'scipy', 'rich', 'jinja2', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print(len([m for m in sys.modules if m.startswith('evenflow.papers')]))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, env=environment(), capture_output=True, text=True)
    assert int(done.stdout) == 0, "no paper is imported before it is asked for"


HOW = (
    "apt-get install",
    "pip install",
    "rustup.rs",
    "run it on Linux",
    "run it under WSL",
    "run this test alone",
    "make ",
)
"""What a reader can do about a test that was skipped."""


def skips(text: str) -> Iterator[tuple[int, str | None]]:
    """Line and reason of each skip; None where another function says the reason."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("skip", "skipif", "importorskip"):
            continue
        said = [key.value for key in node.keywords if key.arg == "reason"]
        said += node.args[:1] if node.func.attr == "skip" and not said else []
        if said and isinstance(said[0], ast.Name):
            yield node.lineno, None
        else:
            parts = [part for one in said for part in ast.walk(one) if isinstance(part, ast.Constant)]
            yield node.lineno, "".join(str(part.value) for part in parts)


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("test_*.py")), ids=lambda file: str(file.name))
def test_a_skip_says_how_to_have_it_run(file: Path) -> None:
    for line, reason in skips(file.read_text(encoding="utf-8")):
        assert reason is None or any(way in reason for way in HOW), f"{file.name}:{line}: {reason!r}"


def test_a_skip_that_does_not_say_would_be_found() -> None:
    text = 'import pytest\npytest.skip("no cc")\npytest.importorskip("x")\npytest.skip(reason)\n'
    text += '@pytest.mark.skipif(True, reason=f"{x} is not there (sudo apt-get install x)")\ndef f(): ...\n'
    assert list(skips(text)) == [(2, "no cc"), (3, ""), (4, None), (5, " is not there (sudo apt-get install x)")]
