"""Managers of bandwidth and tuners of windows on the way of real connections."""

from __future__ import annotations

import json
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow import _core

LADDER = ["248 kbit/s", "456 kbit/s", "928 kbit/s", "1632 kbit/s", "4256 kbit/s"]


def example(name: str) -> ef.Scenario:
    return ef.load(ROOT / "examples" / "scenarios" / f"{name}.toml")


def record_of(given: ef.Scenario) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_core.run(given.core, 1).json)
    return found


@pytest.mark.parametrize("name", ["home-shaped", "home-tuned"])
def test_the_first_session_keeps_level_4_and_the_second_gets_3(name: str) -> None:
    found = record_of(example(name))
    (stage,) = found["stages"].values()
    assert (stage["sessions"], stage["opened"]) == (2, 2)
    assert stage["assigned"] == pytest.approx(4681.6e3 + 1795.2e3)
    first, second = found["groups"]["clients"]["video"]["users_levels"]
    assert (first[-1][1], second[-1][1]) == (4, 3)
    assert max(level for _, level in second) == 3


def test_a_tuned_window_leaves_no_queue_where_a_class_has_one() -> None:
    waits = {name: record_of(example(name))["links"]["gateway"] for name in ("home-shaped", "home-tuned")}
    assert waits["home-tuned"]["queue_delay_s_mean"] < 0.01 < 0.05 < waits["home-shaped"]["queue_delay_s_mean"]
    assert waits["home-tuned"]["drops"] == {}


def tuned_download(**tuner: Any) -> dict[str, Any]:
    tree = {
        "duration": "40 s",
        "warmup": "10 s",
        "links": {"wan": {"rate": "100 Mbit/s", "delay": "50 ms"}},
        "stages": {"tuner": {"kind": "window-tuner", "rate": "4681.6 kbit/s", **tuner}},
        "groups": {
            "g": {
                "users": 1,
                "path": ["tuner", "wan"],
                "traffic": {"kind": "bulk", "until": "40 s"},
                "tcp": {"stack": "linux3.2", "max_window": "256 KiB"},
            }
        },
    }
    return record_of(ef.Scenario(tree))


def test_goodput_is_the_window_in_whole_segments_over_the_round_trip() -> None:
    found = tuned_download()
    rtt = found["stages"]["tuner"]["rtt"]
    assert rtt == pytest.approx(0.1, rel=0.01)
    assert found["stages"]["tuner"]["target_window"] == pytest.approx(4681.6e3 * rtt / 8, abs=1)
    whole = found["stages"]["tuner"]["target_window"] // 128 * 128 // 1448 * 1448
    assert found["groups"]["g"]["goodput_bps"] == pytest.approx(whole * 8 / 0.1002, rel=0.02)


def test_rounding_up_lets_one_segment_more_go() -> None:
    down, up = (tuned_download(rounding=way)["groups"]["g"]["goodput_bps"] for way in ("floor", "ceil"))
    assert 1.01 < up / down < 41 / 40 + 0.005  # the odd one waits for a second, or for a delayed ACK


def test_a_tuner_that_sees_no_syn_says_so() -> None:
    given = example("home-tuned").with_settings({"groups.clients.tcp.handshake": "none"})
    run = ef.run(given)
    assert run.json["stages"]["tuner"]["rewritten"] == 0
    assert "windows-left-alone" in {note.code for note in run.notes}


def test_a_manager_shares_equally_and_gives_all_to_who_stays() -> None:
    """Two downloads of 40 s and 20 s at 8 Mbit/s: 4 each while both are there, then 8."""
    tree = {
        "duration": "40 s",
        "links": {
            "l": {
                "rate": "100 Mbit/s",
                "delay": "5 ms",
                "queue": {
                    "scheduler": {
                        "kind": "htb",
                        "per": "user",
                        "classes": {"all": {"rate": "8 Mbit/s"}},
                        "each": {"parent": "all", "rate": "100 kbit/s"},
                    }
                },
            }
        },
        "stages": {"m": {"kind": "bandwidth-manager", "rate": "8 Mbit/s", "controls": "l"}},
        "groups": {
            name: {
                "users": 1,
                "path": ["l", "m"],
                "traffic": {"kind": "bulk", "until": until},
                "tcp": {"stack": "linux"},
            }
            for name, until in (("long", "40 s"), ("short", "20 s"))
        },
    }
    found = record_of(ef.Scenario(tree))
    assert found["stages"]["m"]["changes"] >= 3
    mbytes = {name: group["throughput_bps"] * 40 / 8e6 for name, group in found["groups"].items()}
    # the short one has megabytes to drain when it is told to end; behind the queue its FIN is seen when it has
    assert 10 < mbytes["short"] < 12
    assert sum(mbytes.values()) == pytest.approx(8 * 40 / 8, rel=0.02)


def test_a_manager_and_a_tuner_by_hand() -> None:
    manager = ef.mechanism("bandwidth-manager", rate="8 Mbit/s", policy="levels", ladder=LADDER)
    (set_,) = manager.backward(segment="syn", scale=7)["set"]
    assert (set_["rate_bps"], set_["ceil_bps"]) == pytest.approx((4681.6e3, 4681.6e3))
    tuner = ef.mechanism("window-tuner", rate="4681.6 kbit/s", round_trip="handshake")
    tuner.backward(now_s=0.0, segment="syn", window=14_600, scale=7)
    tuner.forward(now_s=0.09, segment="syn-ack", window=14_480, scale=7)
    assert tuner.backward(now_s=0.1, segment="ack", window=2048)["window"] == 457  # 58,520 B in units of 128 B
    assert tuner.backward(now_s=0.2, segment="ack", window=300)["window"] == 300  # never raised


def test_where_not_all_lowest_levels_fit_the_note_says_what_each_gets() -> None:
    few = example("home-tuned").with_settings({"stages.tuner.rate": "500 kbit/s", "duration": "10 s"})
    (note,) = [note for note in ef.run(few).notes if note.code == "least-levels"]
    assert note.path == "stages.tuner"
    assert "2 sessions" in note.text
    assert "546 kbit/s" in note.text
    assert "250 kbit/s" in note.text
    assert not [note for note in ef.run(example("home-tuned")).notes if note.code == "least-levels"]
    assigned = ef.run(few.with_settings({"duration": "40 s"})).json["stages"]["tuner"]["assigned"]
    assert assigned == pytest.approx(500e3)


def notes_of(name: str, **settings: Any) -> dict[str, ef.Note]:
    given = example(name).with_settings({"duration": "5 s", **settings})
    return {note.code: note for note in ef.run(given).notes}


def test_a_manager_that_sees_no_syn_says_so() -> None:
    note = notes_of("home-shaped", **{"groups.clients.tcp.handshake": "none"})["no-session"]
    assert note.path == "stages.manager"
    assert "clients opens connections without a handshake" in note.text
    assert "no-session" not in notes_of("home-shaped")
    late = {"groups.clients.traffic.start": "9 s"}
    found = notes_of("home-shaped", **late)
    assert found["starts-after-the-end"].path == "groups.clients.traffic.start"
    assert "starts-after-the-end" not in notes_of("home-shaped", **{"groups.clients.traffic.start": "4 s"})


def test_a_tuner_that_data_cross_backward_says_so() -> None:
    upload = {"users": 1, "path": ["-gateway", "-tuner", "-wan"], "traffic": {"kind": "bulk"}}
    assert notes_of("home-tuned", **{"groups.up": upload})["tuner-against-data"].path == "stages.tuner"
    upload["path"] = ["-gateway", "-wan"]
    assert "tuner-against-data" not in notes_of("home-tuned", **{"groups.up": upload})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"stages.manager.rate": "200 Mbit/s"}, "the class home carries 8 Mbit/s"),
        ({"links.gateway.rate": "6 Mbit/s"}, "the link gateway carries 6 Mbit/s"),
        ({"links.gateway.queue.scheduler.classes": {"home": {"rate": "5 Mbit/s", "ceil": "7 Mbit/s"}}}, "7 Mbit/s"),
        ({}, ""),
    ],
)
def test_a_manager_of_more_than_there_is_says_so(settings: dict[str, Any], says: str) -> None:
    found = notes_of("home-shaped", **settings)
    assert ("more-than-the-line" in found) == bool(says)
    assert not says or says in found["more-than-the-line"].text


def test_a_class_obeys_one_stage() -> None:
    other = {"kind": "bandwidth-manager", "rate": "8 Mbit/s", "controls": "gateway"}
    steps = {"steps": [["0 s", "8 Mbit/s"], ["9 s", "4 Mbit/s"]]}
    for settings, path, says in (
        (
            {"stages.other": other, "groups.clients.path": ["wan", "manager", "other", "gateway"]},
            "stages.other.controls",
            "controls this direction",
        ),
        ({"links.gateway.queue.scheduler.classes": {"home": {"rate": steps}}}, "stages.manager.controls", "has steps"),
    ):
        with pytest.raises(ef.ScenarioError) as caught:
            example("home-shaped").with_settings(settings).check()
        (found,) = caught.value.errors
        assert found[0] == path
        assert says in found[1]


def test_datagrams_alone_have_no_window_to_tune() -> None:
    datagrams = {"users": 1, "path": ["tuner", "wan"], "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    with pytest.raises(ef.ScenarioError) as caught:
        example("home-tuned").with_settings({"groups": {"calls": datagrams}}).check()
    ((path, why),) = caught.value.errors
    assert path == "stages.tuner"
    assert "no packet that crosses this stage has a receive window" in why


@pytest.mark.parametrize("name", ["home-shaped", "home-tuned"])
@pytest.mark.parametrize(
    ("rate", "users", "levels"),
    [("1795.2 kbit/s", 1, [3]), ("6476.8 kbit/s", 2, [4, 3]), ("5385.6 kbit/s", 3, [3, 3, 3])],
)
def test_levels_that_fill_the_line_are_given(name: str, rate: str, users: int, levels: list[int]) -> None:
    stage = "manager" if name == "home-shaped" else "tuner"
    settings = {f"stages.{stage}.rate": rate, "groups.clients.users": users, "groups.clients.traffic.start": "0 s"}
    found = ef.run(example(name).with_settings({**settings, "duration": "5 s"})).json["stages"][stage]
    assert found["assigned"] == pytest.approx(float(rate.split()[0]) * 1e3, rel=1e-12)
    assert found["assigned"] <= float(rate.split()[0]) * 1e3 * (1 + 1e-15)
    ladder = [248e3, 456e3, 928e3, 1632e3, 4256e3]
    given = ef.qoe.assigned([(0, 5)] * users, rate_bps=float(rate.split()[0]) * 1e3, ladder_bps=ladder)
    assert [changes[0][1] for changes in given] == levels


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        ({"kind": "bandwidth-manager", "rate": "8 Mbit/s"}, "controls: is required"),
        ({"kind": "bandwidth-manager", "rate": "8 Mbit/s", "controls": "wan"}, "has no queue whose share could be set"),
        ({"kind": "window-tuner", "rate": "8 Mbit/s", "policy": "levels"}, "ladder: is required"),
        ({"kind": "window-tuner", "rate": "8 Mbit/s", "ladder": LADDER}, 'is only for policy = "levels"'),
        ({"kind": "window-tuner", "rate": "8 Mbit/s", "policy": "levels", "ladder": LADDER[::-1]}, "must rise"),
        (
            {"kind": "window-tuner", "rate": "200 kbit/s", "policy": "levels", "ladder": LADDER},
            "a session's share at the lowest level",
        ),
        ({"kind": "window-tuner", "rate": "8 Mbit/s", "round_trip": "ping"}, "round_trip"),
    ],
)
def test_what_cannot_be_is_refused(stage: dict[str, Any], says: str) -> None:
    with pytest.raises(ef.ScenarioError) as caught:
        example("home-tuned").with_settings({"stages.tuner": stage}).check()
    assert says in str(caught.value)
