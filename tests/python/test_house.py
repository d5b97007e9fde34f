"""The house: who may use whom, drawn from the imports; and what an import costs."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import evenflow
import pytest
from conftest import environment

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

house.python = cache(house.python)  # the sources stay as they are

ORDER = ("foundation", "scenario", "run", "judge", "show", "theory", "papers", "cli")
"""Each room uses only rooms before it."""
PUBLIC = {
    "claims": "judge", "kit": "judge", "lab": "judge", "marking": "theory", "mechanism": "run", "paper": "judge",
    "record": "run", "reproduce": "papers", "store": "run", "study": "run", "sweep": "scenario",
    "types": "scenario", "qoe": "theory",
}  # fmt: skip


def test_there_is_no_circle() -> None:
    assert house.circles(house.crates()) == []
    assert house.circles(house.python()) == []


def test_rooms_are_used_in_one_direction() -> None:
    """Imports inside functions count; those of the declared convenience methods do not."""
    for (user, used), files in house.python().items():
        assert used != house.ENTRANCE, f"{sorted(files)} use a public module: use the one that defines the name"
        assert ORDER.index(used) < ORDER.index(user), f"{user} uses {used} in {sorted(files)}"


def test_convenience_methods_are_few_and_there() -> None:
    assert len(house.METHODS) <= 4
    for user, used in house.METHODS:
        path = house.PACKAGE.joinpath(*user.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = {id(node) for node in tree.body}
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and id(node) not in top
            and used in {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        ]
        assert found, f"{user} does not use {used} in a method: take it off tools/house.py's list"


def test_mechanisms_know_no_simulator() -> None:
    for user, used in house.crates():
        if user in ("base", "queue", "stage", "transport", "traffic", "scenario"):
            assert used not in ("sim", "python")


def test_each_file_of_rust_tests_is_compiled() -> None:
    """Crates with tests/all.rs have no other binary of tests: a file that it does not name would never run."""
    found = sorted((ROOT / "crates").glob("*/tests/all.rs"))
    assert len(found) >= 6
    for binary in found:
        named = set(re.findall(r"^mod (\w+);$", binary.read_text(encoding="utf-8"), re.M))
        assert named == {path.stem for path in binary.parent.iterdir() if path.suffix in (".rs", "")} - {"all"}, binary


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


def test_plots_has_every_name_of_its_room() -> None:
    public, room = (importlib.import_module(name) for name in ("evenflow.plots", "evenflow.show.plots"))
    names = [name for name in vars(room) if not name.startswith("_")]
    assert all(getattr(public, name) is getattr(room, name) for name in names)
    assert {public.study.__module__, public.series.__module__} == {"evenflow.plots"}


@pytest.mark.parametrize(("name", "room"), PUBLIC.items())
def test_public_modules_are_files(name: str, room: str) -> None:
    """A public module is a file of its name, and names what the package's module defines."""
    module = importlib.import_module(f"evenflow.{name}")
    behind = importlib.import_module(f"evenflow.{room}.{name}")
    assert module.__name__ == f"evenflow.{name}"
    assert module.__file__ == str(house.PACKAGE / f"{name}.py")
    assert sys.modules[module.__name__] is module
    assert "sys.modules" not in Path(module.__file__).read_text(encoding="utf-8")
    public = getattr(behind, "__all__", None) or [one for one in vars(behind) if not one.startswith("_")]
    for one in public:
        assert getattr(module, one) is getattr(behind, one), one


def test_a_public_module_is_what_the_package_has() -> None:
    assert evenflow.claims is sys.modules["evenflow.claims"]
    assert evenflow.plots is sys.modules["evenflow.plots"]
    assert callable(evenflow.study)
    assert callable(evenflow.mechanism)


def test_an_import_is_quick_and_draws_nothing_heavy_in() -> None:
    script = (
        "import sys, evenflow\n"
        "heavy = {'polars', 'matplotlib', 'scipy', 'rich', 'jinja2', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print(len([m for m in sys.modules if m.startswith(('evenflow.papers', 'evenflow_papers'))]))"
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
