"""What is generated and checked in is not stale."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, environment
from evenflow import _core, types
from evenflow.scenario.tables import Table


def test_nothing_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate.py", "--check"], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_mechanism_has_a_dataclass_with_all_its_parameters() -> None:
    by_kind = {cls.KIND: cls for cls in Table.__subclasses__() if cls.KIND}
    for table in json.loads(_core.schema())["mechanisms"]:
        if table["room"] in ("scenario", "stack"):
            continue
        fields = {name.removesuffix("_") for name in by_kind[table["kind"]].__dataclass_fields__}
        assert {p["name"] for p in table["params"]} <= fields


def test_only_what_is_given_is_written() -> None:
    assert types.Droptail().to_tree() == {"kind": "droptail"}
    assert types.Link(rate="1 Mbit/s", queue=types.Droptail(limit="3 packets")).to_tree() == {
        "rate": "1 Mbit/s",
        "queue": {"kind": "droptail", "limit": "3 packets"},
    }


def test_the_stub_has_what_the_engine_has() -> None:
    stub = (ROOT / "python" / "evenflow" / "_core.pyi").read_text()
    for name in dir(_core):
        if not name.startswith("_") or name == "__version__":
            assert name in stub, name


def test_conformance_vectors_are_what_the_model_writes() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "conformance" / "make_vectors.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("ns"), reason="ns-2 is not installed; on Debian and Ubuntu: apt-get install ns2")
def test_the_model_of_red_agrees_with_ns2() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "conformance" / "compare_ns2.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
