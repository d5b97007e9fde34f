"""What ns-2 and ns-3 are told of the controls that listen to the delay and of DCTCP, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import peers  # noqa: E402
import validate  # noqa: E402
from peers import Dumbbell, NotComparableError  # noqa: E402
from reasons import UNKNOWN, Reasons  # noqa: E402

CASES = {(case.name, case.point.get("buffer", "")): case for case in validate.controls()}


def dumbbell(name: str, peer: str, buffer: str = "one BDP") -> Dumbbell:
    return Dumbbell.from_tree(CASES[name, buffer].scenarios[peer].tree)


def told(name: str, buffer: str = "one BDP") -> dict[str, str]:
    command = peers.Ns2().command(dumbbell(name, "ns-2", buffer), 1)
    return dict(argument.split("=", 1) for argument in command[2:])


def test_each_simulator_is_asked_for_what_it_has() -> None:
    has = {name.removesuffix("-alone"): set(case.scenarios) for (name, _), case in CASES.items() if "alone" in name}
    both = {"ns-2", "ns-3"}
    assert has == {"vegas": both, "illinois": both, "compound": {"ns-2"}, "ledbat": {"ns-3"}, "dctcp": {"ns-3"}}


def test_ns2_is_told_the_control_by_linuxs_name() -> None:
    one = told("vegas-alone", "half BDP")
    assert (one["agent"], one["groups"], one["limit"]) == ("linux", "flow:1:1:vegas", "21")
    assert told("compound-newreno")["groups"] == "compound:1:1:compound,newreno:1:1"


def test_a_control_that_is_not_as_shipped_is_refused() -> None:
    scenario = CASES["compound-alone", "one BDP"].scenarios["ns-2"]
    other = scenario.set("groups.flow.tcp.congestion_control", "compound")
    with pytest.raises(NotComparableError, match="low_window"):
        peers.Ns2().command(Dumbbell.from_tree(other.tree), 1)
    absent = scenario.set("groups.flow.tcp.congestion_control", "ledbat")
    with pytest.raises(NotComparableError, match="has no ledbat"):
        peers.Ns2().command(Dumbbell.from_tree(absent.tree), 1)


def test_dctcp_is_compared_with_single_marks_only() -> None:
    scenario = CASES["dctcp-alone", ""].scenarios["ns-3"]
    assert Dumbbell.from_tree(scenario.tree).stack.ecn
    with pytest.raises(NotComparableError, match="accurate"):
        Dumbbell.from_tree(scenario.set("groups.flow.tcp.ecn", "classic").tree)
    marks = CASES["vegas-alone", "one BDP"].scenarios["ns-3"].set("groups.flow.tcp.ecn", "accurate")
    with pytest.raises(NotComparableError, match="off or classic"):
        Dumbbell.from_tree(marks.tree)


def test_reasons_fit_the_rows_that_they_explain() -> None:
    reasons = Reasons()
    found = reasons.find("ns-3", "ledbat-alone", "goodput (bit/s)", {"buffer": "one BDP"})
    assert found.startswith("theirs: ns-3.37 limits the window")
    assert reasons.find("ns-3", "ledbat-alone", "loss", {"buffer": "one BDP"}) == UNKNOWN
