"""Which ns-3 the comparisons are built against: the packaged one, or that of a tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from evenflow.run import evidence

sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import ns3_library  # noqa: E402
import peers  # noqa: E402
import validate  # noqa: E402
from ns3_library import MODULES, MissingError, Ns3Library  # noqa: E402


def tree(root: Path, release: str, profile: str = "", *, at: str = "build", without: str = "") -> Path:
    """A folder that looks like a built ns-3."""
    (root / at / "include" / "ns3").mkdir(parents=True)
    (root / at / "include" / "ns3" / "core-module.h").touch()
    (root / at / "lib").mkdir()
    for module in MODULES:
        if module != without:
            (root / at / "lib" / f"libns{release}-{module}{profile}.so").touch()
    return root


@pytest.mark.parametrize(
    ("release", "profile", "at", "name", "standard"),
    [
        ("3-dev", "", "build", "ns-3-dev", "c++23"),
        ("3-dev", "-default", "build", "ns-3-dev", "c++23"),
        ("3.48", "", "", "ns-3.48", "c++23"),
        ("3.37", "-optimized", "build", "ns-3.37", "c++17"),
    ],
)
def test_a_tree_or_a_prefix_is_found(
    tmp_path: Path, release: str, profile: str, at: str, name: str, standard: str
) -> None:
    peer = peers.Ns3(tree(tmp_path, release, profile, at=at))
    assert peer.library is not None
    assert (peer.name, peer.family, peer.library.standard) == (name, "ns-3", standard)
    assert (profile.removeprefix("-") or "release") in peer.library.built
    libraries = [flag for flag in peer.library.flags if flag.endswith(".so")]
    assert len(libraries) == len(MODULES)
    assert all(Path(found).exists() for found in libraries)
    assert f"-Wl,-rpath,{tmp_path / at / 'lib'}" in peer.library.flags


def test_what_is_no_ns3_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        Ns3Library.of_tree(tmp_path / "none")
    with pytest.raises(MissingError, match="neither a built source tree"):
        Ns3Library.of_tree(tmp_path)
    with pytest.raises(MissingError, match="without the modules traffic-control"):
        Ns3Library.of_tree(tree(tmp_path, "3.48", without="traffic-control"))
    assert "built without" in str(peers.Ns3(tmp_path).missing())


def test_a_rebuilt_tree_is_another_ns3(tmp_path: Path) -> None:
    import os

    library = Ns3Library.of_tree(tree(tmp_path, "3.48"))
    before = library.identity
    os.utime(library.file("internet"), ns=(1, 1))
    assert library.identity != before


def test_a_commit_is_named(tmp_path: Path) -> None:
    tree(tmp_path, "3-dev")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["tag", "ns-3.48"]):
        subprocess.run([*git, *command], check=True)
    assert Ns3Library.of_tree(tmp_path).built.startswith("ns-3.48 of 20")
    inside = tree(tmp_path / "prefix" / "deeper", "3-dev", at="")
    assert Ns3Library.of_tree(inside).built == "ns-3-dev, release profile"


def test_without_a_tree_it_is_the_packaged_one(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = Ns3Library(
        "3.37", Path("/usr/include"), Path("/usr/lib"), "libns3-dev 3.37-2 as packaged", packaged=True
    )
    monkeypatch.setattr(ns3_library.Ns3Library, "packaged_one", staticmethod(lambda: packaged))
    peer = peers.Ns3()
    assert (peer.name, peer.library) == ("ns-3", packaged)
    assert packaged.flags[0] == "-lns3-applications"


def test_validation_stops_at_a_tree_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["validate.py", "loss", "--ns3", str(tmp_path), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="neither a built source tree"):
        validate.main()
    assert not (tmp_path / "out").exists()


def test_parts_follow_whom_they_are_compared_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(validate.Validation, "simulators", lambda self, part: seen.append(part) or iter(()))
    monkeypatch.setattr(validate.Validation, "aqm", lambda self: seen.append("aqm") or iter(()))
    for part in ("wtp", "laws", "queues", "linux", "shapers"):
        monkeypatch.setattr(validate.Validation, part, lambda self, part=part: seen.append(part) or iter(()))
    monkeypatch.setattr(sys, "argv", ["validate.py", "--against", "ns-3", "--out", str(tmp_path)])
    validate.main()
    assert seen == [*validate.COMPARISONS, "aqm"]


def test_recorded_values_replace_the_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*_: object, **__: object) -> None:
        raise AssertionError("another program ran")

    monkeypatch.setattr(peers, "remembered", measured)
    monkeypatch.setattr(validate.linux_tunnels.Kernel, "look", measured)
    document = evidence.shipped()
    assert document is not None
    gone = {**document["rows"][0], "check": "poisson-droptail", "against": "ns-2", "point": {"load": 3}}
    monkeypatch.setattr(evidence, "shipped", lambda: {**document, "rows": [*document["rows"], gone]})
    parts = ["poisson", "tunnels"]
    monkeypatch.setattr(sys, "argv", ["validate.py", *parts, "--recorded", "--out", str(tmp_path)])
    validate.main()
    found = json.loads((tmp_path / "validation.json").read_text(encoding="utf-8"))
    checks = {row["check"] for row in found["rows"]}
    before = {key_of(row): row["theirs"] for row in document["rows"] if row["check"] in checks}
    assert {key_of(row): row["theirs"] for row in found["rows"]} == before
    assert {row["against"] for row in found["rows"]} == {"ns-2", "ns-3", "ns-3-dev", "Linux", "theory"}
    assert not found["whole"]
    assert found["skipped"] == {'ns-2, poisson-droptail: {"load": 3}': "recorded, but no longer compared"}


def key_of(row: Any) -> tuple[str, str, str, str]:
    return row["check"], json.dumps(row["point"]), row["against"], row["metric"]
