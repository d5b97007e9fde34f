"""Rates of links from files: traces of Mahimahi, CSV and JSON."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest

TREE: dict[str, Any] = {
    "duration": "20 s",
    "links": {"line": {"delay": "10 ms", "queue": {"limit": "60 packets"}, "rate": {"trace": "t"}}},
    "groups": {
        "all": {
            "users": 3,
            "path": ["line"],
            "traffic": {"kind": "poisson", "rate": "450 kbit/s", "packet": {"uniform": ["60 B", "1500 B"]}},
        }
    },
    "record": {"trace": ["groups.all"]},
}


def opportunities(seed: int) -> list[int]:
    """A made-up trace whose rate changes each 100 ms."""
    draw = random.Random(seed)
    found = [0]
    for part in range(70):
        found += sorted(draw.randrange(part * 100, part * 100 + 100) for _ in range(draw.choice([0, 1, 5, 20, 40])))
    return [*found, 7000]


def departures(trace: list[int], arrivals: list[tuple[float, int]], most: int, until: float) -> list[float]:
    """When packets of (arrival, size) leave a link of Mahimahi.

    Each line is 1504 bytes of service; a packet may span lines. Written from the format alone: a list of
    opportunities in order, a queue, and the rest of the packet in service.
    """
    times = []
    waiting: list[int] = []
    left = n = 0
    base = 0
    while base / 1000 <= until:
        for ms in trace:
            now = (base + ms) / 1000
            while n < len(arrivals) and arrivals[n][0] <= now:
                if len(waiting) < most:
                    waiting.append(arrivals[n][1])
                n += 1
            budget = 1504
            while budget and (left or waiting):
                left = left or waiting.pop(0)
                part = min(left, budget)
                left, budget = left - part, budget - part
                if not left:
                    times.append(now)
        base += trace[-1]
    return times


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_trace_of_mahimahi_is_read_as_by_a_second_reader(tmp_path: Path, seed: int) -> None:
    trace = opportunities(seed)
    (tmp_path / "t").write_text("".join(f"{ms}\n" for ms in trace))
    record = ef.Scenario(TREE, source=str(tmp_path / "s.toml")).run(seed)
    rows = record.trace().to_pandas()
    line = rows[(rows["component"] == "links.line") & (rows["action"] == "arrive")]
    received = rows[(rows["component"] == "end") & (rows["action"] == "receive")]
    ours = sorted(received["time_s"] - 0.010)
    theirs = [t for t in departures(trace, list(zip(line["time_s"], line["size"], strict=True)), 60, 20) if t <= 19.99]
    assert record.metric("links.line.drops.limit") > 0
    assert ours == pytest.approx(theirs, abs=1e-9)


def steps(tmp_path: Path, name: str, text: str, **more: Any) -> Any:
    (tmp_path / name).write_text(text)
    tree = {**TREE, "links": {"line": {"delay": "10 ms", "rate": {"trace": name, **more}}}}
    return ef.Scenario(tree, source=str(tmp_path / "s.toml")).written_out().get("links.line.rate")


def test_rates_of_a_csv_file(tmp_path: Path) -> None:
    text = "time_ms,signal,rate_mbps\n0,-80,5\n\n250,-90,0\n500,-85,2.5\n"
    once = [["0.0 s", "5000000.0 bit/s"], ["0.25 s", "0.0 bit/s"], ["0.5 s", "2500000.0 bit/s"]]
    assert steps(tmp_path, "a.csv", text) == {"steps": once}
    looped = steps(tmp_path, "a.csv", text, loop=True)["steps"]
    assert len(looped) == 26 * 3 + 2  # 20 s are 26 rounds of 0.75 s, and half a second
    assert looped[3:5] == [["0.75 s", "5000000.0 bit/s"], ["1.0 s", "0.0 bit/s"]]


def test_rates_of_a_json_file(tmp_path: Path) -> None:
    assert steps(tmp_path, "a.json", '[["0 s", "5 Mbit/s"], ["3 s", "1 Mbit/s"]]')["steps"][1] == ["3 s", "1 Mbit/s"]


def test_the_hash_is_that_of_the_numbers(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t").write_text("1\n2\n5\n" if folder == "a" else "1\n2\n6\n")
    a, b = (ef.Scenario(TREE, source=str(tmp_path / folder / "s.toml")) for folder in ("a", "b"))
    numbers = ef.Scenario(TREE).set("links.line.rate", {"opportunities": [1, 2, 5]})
    assert a.hash == numbers.hash != b.hash
    assert ef.Scenario(json.loads(a.to_json())).hash == a.hash


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a", None, "there is no such file"),
        ("a", "1\n2.5\n", 'line 2 is "2.5", not a whole number'),
        ("a", "5\n4\n", "line 2 is earlier"),
        ("a", "0\n0\n", "no delivery opportunity later than 0"),
        ("a.csv", "time,rate\n0,1\n", "must name one column of time_s, time_ms and one of rate_bps"),
        ("a.csv", "time_s,rate_bps\n0,1e6\n1,x\n", "line 3 has no time and rate"),
        ("a.csv", "time_s,rate_bps\n0,1e6\n1,-5\n", "line 3 has a negative"),
        ("a.csv", "time_s,rate_bps\n1,1e6\n", "first rate must be at 0 s"),
        ("a.csv", "time_s,rate_bps\n0,1e6\n2,2e6\n2,3e6\n", "rate 3 is not later than rate 2"),
        ("a.json", '{"a": 1}', "is not a list of steps"),
        ("a.json", "[", "is not JSON"),
    ],
)
def test_a_file_that_is_not_understood(tmp_path: Path, name: str, text: str | None, reason: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    tree = {**TREE, "links": {"line": {"delay": "10 ms", "rate": {"trace": name}}}, "duration": "x"}
    with pytest.raises(ef.ScenarioError) as found:
        ef.Scenario(tree, source=str(tmp_path / "s.toml")).check()
    errors = dict(found.value.errors)
    assert reason in errors["links.line.rate.trace"]
    assert "duration" in errors  # all errors at once


@pytest.mark.parametrize(
    ("rate", "path", "reason"),
    [
        ({"trace": 5}, "links.line.rate.trace", "the name of a file is needed"),
        ({"trace": "a", "lop": True}, "links.line.rate.lop", "a trace has trace and loop"),
        ({"trace": "a", "loop": 1}, "links.line.rate.loop", "true or false is needed"),
        ({"trace": "a", "loop": False}, "links.line.rate.trace", "always repeated"),
    ],
)
def test_keys_of_a_trace(tmp_path: Path, rate: Any, path: str, reason: str) -> None:
    (tmp_path / "a").write_text("1\n")
    tree = {**TREE, "links": {"line": {"delay": "10 ms", "rate": rate}}}
    with pytest.raises(ef.ScenarioError) as found:
        ef.Scenario(tree, source=str(tmp_path / "s.toml")).check()
    assert reason in dict(found.value.errors)[path]


def test_limits_in_products_of_bandwidth_and_delay(tmp_path: Path) -> None:
    tree = {
        "duration": "1 s",
        "links": {
            "near": {"delay": "5 ms"},
            "line": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": {"limit": "0.5 BDP"}},
        },
        "groups": {
            name: {"users": 1, "path": path, "traffic": {"kind": "bulk"}}
            for name, path in (("a", ["line"]), ("b", ["near", "line"]))
        },
    }
    scenario = ef.Scenario(tree)
    # The longest path: 50 ms of propagation, and a segment and an ACK at 10 Mbit/s.

    limit = float(scenario.written_out().get("links.line.queue.limit").removesuffix(" B"))
    assert 0.5 * 10e6 / 8 * 0.050 < limit < 0.5 * 10e6 / 8 * 0.052
    doubled = float(scenario.set("links.line.queue.limit", "1 BDP").written_out().get("links.line.queue.limit")[:-2])
    assert doubled == pytest.approx(2 * limit, abs=1)
    for link, reason in (
        ({"rate": "10 Mbit/s", "queue": {"limit": "0 BDP"}}, "must be above 0"),
        ({"rate": "10 Mbit/s", "queue": {"limit": "1 bdp"}}, "unknown unit"),
    ):
        with pytest.raises(ef.ScenarioError, match=reason):
            scenario.set("links.line", link).check()
    with pytest.raises(ef.ScenarioError, match="no path crosses this link"):
        scenario.set("links.other", tree["links"]["line"]).check()
