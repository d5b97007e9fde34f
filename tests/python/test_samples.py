"""Every example that `describe` prints is part of a scenario that runs."""

from __future__ import annotations

import tomllib
from typing import Any

import evenflow as ef
import pytest
from conftest import Cli
from evenflow.mechanism import schema

BASE = """\
duration = "2 s"
groups.users.users = 2
groups.users.path = ["bottleneck"]
groups.users.traffic.kind = "bulk"
links.bottleneck.rate = "10 Mbit/s"
links.bottleneck.delay = "5 ms"
"""
TABLES = schema()["mechanisms"]
NAMES = [t["kind"] for t in TABLES if t["kind"] != "scenario"] + [p["name"] for p in schema()["profiles"]]


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """`more` over `base`; a table of another kind replaces one."""
    out = dict(base) if more.get("kind") in (None, base.get("kind")) else {}
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _merged(out[key], value) if both else value
    return out


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_and_names_the_mechanism(name: str) -> None:
    example = ef.describe(name)["example"]
    added = tomllib.loads(example)
    tree = _merged(tomllib.loads(BASE), added)
    for stage in added.get("stages", {}):  # a single line of a stage
        if stage not in tree["groups"]["users"]["path"]:
            tree["groups"]["users"]["path"].insert(0, stage)
    scenario = ef.Scenario(tree)
    scenario.check()
    assert scenario.run(1).json["packet_hops"] > 0
    room = next((t["room"] for t in TABLES if t["kind"] == name), "stack profile")
    if room not in ("scenario", "stack"):
        assert f'"{name}"' in example
        assert name in scenario.core.canonical


@pytest.mark.parametrize(
    "table", [t for t in TABLES if t["room"] not in ("scenario", "stack")], ids=lambda t: t["kind"]
)
def test_it_is_short(table: dict[str, Any]) -> None:
    assert table["example"].count("\n") < 8


def test_describe_prints_it_whole(cli: Cli) -> None:
    assert ef.describe("red")["example"] in cli("describe", "red").out
