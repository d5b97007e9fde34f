"""Values of a queue that change on the way: `{ steps = [[time, value], …] }`."""

from __future__ import annotations

import json
from typing import Any

import evenflow as ef
import pytest
from conftest import Cli
from evenflow import _core

STEPS = [["0 s", "2 Mbit/s"], ["10 s", "8 Mbit/s"], ["20 s", "1 Mbit/s"]]
BROUGHT = (2e6 + 8e6 + 1e6) * 10 / 8
"""Bytes that these rates bring in 30 s."""


def scenario(queue: dict[str, Any], *classes: str, rate: Any = "100 Mbit/s") -> ef.Scenario:
    """Each class sends 10 Mbit/s of packets of 1000 B for 30 s."""
    groups = {
        name: {
            "users": 1,
            "class": name,
            "path": ["l"],
            "traffic": {"kind": "cbr", "rate": "10 Mbit/s", "packet": "1000 B"},
        }
        for name in classes
    }
    return ef.Scenario({"duration": "30 s", "links": {"l": {"rate": rate, "queue": queue}}, "groups": groups})


def record_of(given: ef.Scenario) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_core.run(given.core, 1).json)
    return found


def sent_bytes(record: dict[str, Any], group: str) -> float:
    return float(record["groups"][group]["throughput_bps"]) * 30 / 8


def test_a_token_bucket_follows_the_integral_of_its_rate() -> None:
    queue = {"limit": "50 packets", "scheduler": {"kind": "tbf", "rate": {"steps": STEPS}, "burst": "3000 B"}}
    found = record_of(scenario(queue, "a"))
    assert BROUGHT - 2000 <= sent_bytes(found, "a") <= BROUGHT + 3000
    assert set(found["links"]["l"]["drops"]) == {"limit"}


@pytest.mark.parametrize("change", ["keep", "replace"])
def test_a_class_of_a_tree_follows_it_and_the_other_sees_nothing(change: str) -> None:
    classes = {"a": {"rate": {"steps": STEPS}, "leaf": {"limit": "100 packets"}}, "b": {"rate": "1 Mbit/s"}}
    queue = {"change": change, "scheduler": {"kind": "htb", "classes": classes}}
    found = record_of(scenario(queue, "a", "b"))
    # a full bucket, and a packet by which it may be overdrawn: once more for each time that the class is made anew
    most = BROUGHT + (1600 + 1000) * (3 if change == "replace" else 1)
    assert BROUGHT - 2000 <= sent_bytes(found, "a") <= most
    assert sent_bytes(found, "b") == pytest.approx(1e6 * 30 / 8, abs=8000)
    waited = found["links"]["l"]["drops"].get("reconfigured", 0)
    # both leaves are full by 10 s, of 100 and of 1000 packets, but for one that has just left
    full = 0 if change == "keep" else 2 * (100 + 1000)
    assert full - 4 <= waited <= full


def test_what_waits_stays_where_a_limit_falls() -> None:
    queue = {"limit": {"steps": [["0 s", "100 packets"], ["15 s", "10 packets"]]}}
    found = record_of(scenario(queue, "a", rate="5 Mbit/s"))
    drops = found["links"]["l"]["drops"]
    assert set(drops) == {"limit"}
    # 100 of 1000 B take 160 ms, 10 take 16 ms, half of the time each but for the filling
    assert found["links"]["l"]["queue_delay_s_mean"] == pytest.approx((0.160 + 0.016) / 2, rel=0.02)
    assert found["links"]["l"]["queue_delay_s_max"] == pytest.approx(0.160, rel=0.01)


def test_the_limit_of_a_leaf_falls() -> None:
    limit = {"steps": [["0 s", "100 packets"], ["15 s", "10 packets"]]}
    classes = {"a": {"rate": "5 Mbit/s", "leaf": {"kind": "sfq", "limit": limit}}}
    found = record_of(scenario({"scheduler": {"kind": "htb", "classes": classes}}, "a", rate="5 Mbit/s"))
    # as above: 160 ms and 16 ms, half of the time each
    assert found["links"]["l"]["queue_delay_s_mean"] == pytest.approx((0.160 + 0.016) / 2, rel=0.05)
    assert found["links"]["l"]["queue_delay_s_max"] == pytest.approx(0.160, rel=0.05)


def test_a_higher_rate_wakes_what_waited_for_tokens_at_the_lower_one() -> None:
    # 800 bit/s: the second packet would wait 10 s for its tokens; at 1 s the rate becomes a thousand times as high
    rate = {"steps": [["0 s", "800 bit/s"], ["1 s", "800 kbit/s"]]}
    queue = {"scheduler": {"kind": "tbf", "rate": rate, "burst": "1000 B"}}
    found = record_of(scenario(queue, "a"))
    assert sent_bytes(found, "a") == pytest.approx(29 * 1e5, abs=2000)


def test_the_canonical_form_is_a_scenario_with_the_same_hash() -> None:
    classes = {"a": {"rate": {"steps": STEPS}, "prio": {"steps": [["0 s", 1], ["5 s", 2]]}}}
    given = scenario({"scheduler": {"kind": "htb", "classes": classes}}, "a")
    again = ef.Scenario(json.loads(given.core.canonical))
    assert again.hash == given.hash
    assert given.hash != scenario({"scheduler": {"kind": "htb", "classes": {"a": {"rate": "2 Mbit/s"}}}}, "a").hash


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        (
            {"scheduler": {"kind": "tbf", "rate": {"steps": [["0 s", "2 MB"]]}, "burst": "3 kB"}},
            "queue.scheduler.rate.steps[0][1]",
        ),
        ({"scheduler": {"kind": "drr", "quantum": {"steps": [["0 s", "1500 B"]]}}}, "nothing of drr can"),
        (
            {"scheduler": {"kind": "htb", "r2q": {"steps": [["0 s", 1]]}, "classes": {"a": {"rate": "1 Mbit/s"}}}},
            "r2q cannot change during the run",
        ),
        (
            {
                "scheduler": {
                    "kind": "htb",
                    "classes": {
                        "a": {"rate": "1 Mbit/s", "leaf": {"kind": "sfq", "quantum": {"steps": [["0 s", "1514 B"]]}}}
                    },
                }
            },
            "leaf.quantum: quantum cannot change during the run",
        ),
        ({"limit": {"steps": [["0 s", "5 packets"], ["0 s", "6 packets"]]}}, "steps must be in order of time"),
        ({"limit": {"steps": [["1 s", "5 packets"]]}}, 'the first step must be at "0 s"'),
        ({"limit": {"steps": []}}, "must have at least one limit"),
        ({"limit": {"steps": [["0 s", "5 packets"], ["9 s", "0 packets"]]}}, "limit.steps[1][1]: a queue of zero"),
        ({"limit": "5 packets", "change": "replace"}, "is for steps, and this queue has none"),
        (
            {
                "scheduler": {
                    "kind": "htb",
                    "classes": {"a": {"rate": {"steps": STEPS}, "ceil": "5 Mbit/s"}},
                }
            },
            "must be at least rate: 5000000 bit/s is less than 8000000 bit/s",
        ),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(queue: dict[str, Any], says: str) -> None:
    with pytest.raises(ef.ScenarioError) as caught:
        scenario(queue, "a").check()
    assert says in str(caught.value)


def test_all_errors_at_once(cli: Cli) -> None:
    queue = {
        "limit": {"steps": [["0 s", "0 packets"]]},
        "scheduler": {"kind": "tbf", "rate": {"steps": [["0 s", "1 Mbit/s"], ["1 s", 5]]}, "mtu": {"steps": 1}},
    }
    with pytest.raises(ef.ScenarioError) as caught:
        scenario(queue, "a").check()
    for says in ("limit.steps[0][1]", "rate.steps[1][1]", "mtu cannot change", "scheduler.burst"):
        assert says in str(caught.value)
