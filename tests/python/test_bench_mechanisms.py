"""What `make bench` says a mechanism costs: that every mechanism has its row, and how the table is put together."""

from __future__ import annotations

import copy
import importlib
import tomllib
from collections.abc import Mapping
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow.mechanism import schema


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("mechanisms")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return importlib.import_module("bench")


def record(packets: int = 1000, cpu_s: float = 1e-3) -> dict[str, Any]:
    link = {"delivered_packets": packets, "arrived_packets": 1250, "drops": {"limit": 200, "red": 50}}
    return {"cpu_s": cpu_s, "events": 3100, "links": {"bottleneck": {**link, "utilisation": 0.5}}}


def test_everything_in_the_register_has_a_row_but_the_base(costs: Any) -> None:
    rows = {(swap.room, swap.name) for swap in costs.swaps()}
    without = ("scenario", "stack")
    known = {(m["room"], m["kind"]) for m in schema()["mechanisms"] if m["room"] not in without}
    in_base = {("congestion-control", "newreno"), ("queue", "droptail"), ("scheduler", "fifo"), ("traffic", "bulk")}
    assert in_base <= known
    assert known - in_base == {row for row in rows if row[0] not in ("stack", "ecn", "link")}
    assert {name for room, name in rows if room == "stack"} == {p["name"] for p in schema()["profiles"]} - {"rfc"}
    assert {name for room, name in rows if room == "ecn"} == {
        "classic", "accurate", "per-packet", "re-ecn", "re-ecn-unlimited", "gateway",
    }  # fmt: skip
    assert {room for room, _ in rows} == set(costs.ROOMS)


def test_every_row_is_a_scenario_of_its_own(costs: Any) -> None:
    base = costs.base_scenario()
    hashes = {base.hash}
    for swap in costs.swaps():
        row = base.with_settings(swap.settings)
        row.check()
        # the two ends of a tunnel, or of reports, are one row, which each has
        assert row.hash not in hashes or swap.needs == "both ends", swap.name
        hashes.add(row.hash)


def test_what_a_link_can_do_has_its_rows(costs: Any) -> None:
    tables = {m["kind"]: {p["name"] for p in m["params"]} for m in schema()["mechanisms"] if m["room"] == "scenario"}
    changed = {path.removeprefix("links.bottleneck.") for row in costs.LINKS.values() for path in row}
    # What is left describes where a link stands, or is a queue.
    assert tables["link"] - changed == {"delay", "per", "queue", "reverse"}
    said = {key for row in costs.LINKS.values() for key in row.get("links.bottleneck.loss", {})}
    assert tables["loss"] - said == {"direction"}


def test_a_new_mechanism_gets_its_row(costs: Any) -> None:
    register = copy.deepcopy(schema())
    blank = {"observables": [], "counters": [], "deviations": [], "presets": [], "doc": "", "source": "", "title": ""}
    needs = [
        {"name": "floor", "type": "rate", "default": "required"},
        {"name": "mode", "type": "one of strong, weak", "default": "required"},
        {"name": "action", "type": "one of mark, drop", "default": "mark"},
        {"name": "extra", "type": "unheard of", "default": "absent: none"},
    ]
    register["mechanisms"].append({"room": "queue", "kind": "brand-new", "params": needs, **blank})
    [row] = [swap for swap in costs.swaps(register) if swap.name == "brand-new"]
    queue = {"kind": "brand-new", "floor": "11 Mbit/s", "mode": "strong", "action": "drop", "limit": "333 packets"}
    assert row.settings == {"links.bottleneck.queue": queue}
    needs[3]["default"] = "required"
    with pytest.raises(ValueError, match=r"brand-new requires extra \(unheard of\)"):
        costs.swaps(register)


def test_a_control_gets_the_feedback_that_it_needs(costs: Any) -> None:
    rows = {swap.name: swap for swap in costs.swaps() if swap.room == "congestion-control"}
    assert rows["vegas"].settings == {"groups.all.tcp.congestion_control": "vegas"}
    assert rows["dctcp"].settings["groups.all.tcp.ecn"] == "accurate"
    assert (rows["wtp"].settings["groups.all.tcp.ecn"], rows["wtp"].needs) == ("per-packet", "ecn = per-packet")


def test_rows_are_chosen_by_name_or_room(costs: Any) -> None:
    found = costs.swaps()
    assert costs.chosen(found, []) == found
    assert [swap.name for swap in costs.chosen(found, ["pie", "vegas"])] == ["vegas", "pie"]
    assert {swap.room for swap in costs.chosen(found, ["stage"])} == {"stage"}
    with pytest.raises(ValueError, match="no row is called 'pi'"):
        costs.chosen(found, ["pi"])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ["works", "mechanisms", "networks", "ledgers"]),
        ({"work": ["W1"]}, ["works"]),
        ({"mechanism": ["pie"]}, ["mechanisms"]),
        ({"network": ["chain"]}, ["networks"]),
        ({"ledgers": True}, ["ledgers"]),
        ({"against": "v0.1.0"}, []),
        ({"work": ["W1"], "mechanism": ["pie"]}, ["works", "mechanisms"]),
        ({"skip": ["works"]}, ["mechanisms", "networks", "ledgers"]),
        ({"skip": ["mechanisms", "ns-3"]}, ["works", "networks", "ledgers"]),
        ({"network": ["w2"], "skip": ["networks"]}, []),
    ],
)
def test_what_is_named_leaves_the_other_tables_out(bench: Any, given: dict[str, Any], wanted: list[str]) -> None:
    none = {"work": None, "mechanism": None, "network": None, "ledgers": False, "against": None, "skip": []}
    assert bench.tables_wanted(bench.argparse.Namespace(**{**none, **given})) == wanted


def test_what_callgrind_runs_is_the_same_scenario(costs: Any) -> None:
    base = costs.base_scenario()
    for swap in costs.swaps():
        row = base.with_settings(swap.settings)
        assert ef.Scenario(tomllib.loads(costs.toml(row.tree))) == row


def test_pairs_change_who_begins_and_compare_a_packet(costs: Any) -> None:
    """CPU: the base 1 us a packet; the other 3 ms for 2000 packets, 1.5 us."""
    base, other = costs.base_scenario(), costs.base_scenario().set("duration", "1 s")
    order: list[bool] = []

    def run(scenario: ef.Scenario) -> Mapping[str, Any]:
        order.append(scenario is base)
        return record() if scenario is base else record(2000, 3e-3)

    ratios, own, last = costs.pairs_of(base, other, 3, run)
    assert order == [True, False, False, True, True, False]
    assert ratios == pytest.approx([1.5, 1.5, 1.5])
    assert own == pytest.approx([1e-6, 1e-6, 1e-6])
    assert last["links"]["bottleneck"]["delivered_packets"] == 2000


def test_the_table(costs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """3000 instructions of the base, 3300 of PIE: a tenth more. 250 of 1250 packets lost: a fifth."""
    monkeypatch.setattr(costs, "count_instructions", lambda binary, trees, durations: [3000.0, 3300.0])
    found = costs.chosen(costs.swaps(), ["pie"])
    result = costs.costs(found, ROOT / "bench_run", quick=True, run=lambda _: record())
    assert (result.pairs, result.duration_s) == (costs.PAIRS_QUICK, costs.DURATION_QUICK_S)
    assert result.packets_per_cpu_s == pytest.approx(1e6)
    header, _, base, pie = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in costs.cost_table(result).splitlines()
    )
    assert base == ["base", "NewReno, drop-tail", "3000", "", "1.00 / 1.00 / 1.00", "3.10", "20.00%", "50.0%"]
    assert pie == ["queue", "pie", "3300", "+300 (+10.0%)", "1.00 / 1.00 / 1.00", "3.10", "20.00%", "50.0%"]
    assert len(header) == len(pie)
    assert "1000 ns" in costs.section(result)[1]


def test_without_a_counter_the_rest_is_measured(costs: Any) -> None:
    result = costs.costs(costs.chosen(costs.swaps(), ["pie"]), None, quick=True, run=lambda _: record())
    assert [row.instructions for row in result.rows] == [None]
    assert "| –" in costs.cost_table(result)
