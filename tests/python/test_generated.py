"""What is generated and checked in is not stale."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ROOT, environment
from evenflow import _core, types
from evenflow.tables import Table


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
