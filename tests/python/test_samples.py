"""The line that `describe` gives to copy is a scenario's, for every mechanism there is."""

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
RULES = [t["kind"] for t in schema()["mechanisms"] if t["room"] == "adaptation"]
NAMES = [t["kind"] for t in schema()["mechanisms"] if t["kind"] not in ("scenario", *RULES)]
NAMES += [p["name"] for p in schema()["profiles"]]


ENDS = {
    "congestion-controller": ("report", "congestion-reporter"),
    "congestion-reporter": ("gateway", "congestion-controller"),
    "tunnel-ingress": ("out", "tunnel-egress"),
    "tunnel-egress": ("into", "tunnel-ingress"),
}
"""The other end of a tunnel or of reports, by the name that the sample has for it."""


def _parsed(line: str) -> tuple[str, Any]:
    path, _, value = line.partition(" = ")
    return path, tomllib.loads("x = " + value)["x"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_valid_and_names_the_mechanism(name: str) -> None:
    line = ef.describe(name)["example"]
    assert "\n" not in line
    path, value = _parsed(line)
    scenario = ef.Scenario(tomllib.loads(BASE)).set(path, value)
    if name in ENDS:
        other = ENDS[name]
        scenario = scenario.set(f"stages.{other[0]}", {"kind": other[1]})
        ends = [path.split(".")[1], other[0]]
        into, out = ends if name in ("tunnel-ingress", "congestion-controller") else ends[::-1]
        scenario = scenario.set("groups.users.path", [into, "bottleneck", out])
    elif path.startswith("stages."):
        scenario = scenario.set("groups.users.path", [path.split(".")[1], "bottleneck"])
    if name == "bandwidth-manager":  # it gives shares to queues that the base has not
        scenario = scenario.set(*_parsed(ef.describe("htb")["example"]))
    scenario.check()
    assert scenario.run(1).json["packet_hops"] > 0
    room = next((t["room"] for t in schema()["mechanisms"] if t["kind"] == name), "stack profile")
    if room not in ("scenario", "stack"):
        assert f'"{name}"' in line
        assert name in scenario.core.canonical


@pytest.mark.parametrize("name", RULES)
def test_the_call_of_an_adaptation_rule_works(name: str) -> None:
    assert eval(ef.describe(name)["example"], {"ef": ef})["level"] in (0, 1)


def test_describe_prints_it_whole(cli: Cli) -> None:
    done = cli("describe", "red")
    assert ef.describe("red")["example"] in done.out.splitlines()
