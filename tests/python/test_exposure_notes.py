"""Notes on scenarios in which congestion is reported, audited or shared out, and something does nothing."""

from __future__ import annotations

from collections.abc import Mapping

import evenflow as ef
import pytest
from evenflow.run import notes

CONEX = {"ecn": "accurate", "conex": {"unit": "packets", "credit": "flight"}}
RE_ECN = {"ecn": "re-ecn", "conex": {"unit": "packets", "credit": "first-and-third"}}
MARKS = {"kind": "codel", "limit": "100 packets", "ecn": True}


def scenario(tcp: Mapping[str, object] | None = None, **settings: object) -> ef.Scenario:
    """Two ConEx senders through a policer, a queue that marks and an auditor: nothing to note."""
    tree = {
        "duration": "1 s",
        "links": {
            "line": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": MARKS},
            "more": {"rate": "100 Mbit/s", "delay": "1 ms"},
        },
        "stages": {
            "police": {"kind": "congestion-policer", "rate": "9 packets/s", "depth": "9 packets", "per": "user"},
            "audit": {"kind": "auditor"},
        },
        "groups": {
            "a": {
                "users": 2,
                "path": ["police", "line", "audit", "more"],
                "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "0.01 s"]}},
                "tcp": tcp if tcp is not None else CONEX,
            }
        },
    }
    return ef.Scenario(tree).with_settings({key.replace("__", "."): value for key, value in settings.items()})


def said(of: ef.Scenario) -> dict[str, str]:
    """Codes and paths of notes on what does nothing, or on reports."""
    others = ("short-warmup", "no-randomness")
    return {note.code: note.path for note in notes.of_scenario(of) if note.code not in others}


RED = {"kind": "red", "limit": "100 packets", "action": "mark"}
DROPS = {"limit": "100 packets"}
HAS = {"kind": "has", "ladder": ["300 kbit/s", "1 Mbit/s"], "buffer": "30 s"}


@pytest.mark.parametrize(
    ("found", "given"),
    [
        ({}, {}),
        (
            {"no-credit-before-auditor": "groups.a"},
            {"groups__a__tcp": {"ecn": "accurate", "conex": {"unit": "packets"}}},
        ),
        ({}, {"groups__a__tcp": {"ecn": "accurate", "conex": {"unit": "packets"}}, "stages__audit__delay": "100 ms"}),
        (
            {"reports-refused": "groups.a.tcp.peer_ecn"},
            {"groups__a__tcp": CONEX | {"ecn": "classic", "peer_ecn": "off"}},
        ),
        ({"credit-is-dropped": "links.line.queue.action"}, {"links__line__queue": RED}),
        ({}, {"links__line__queue": RED | {"action": "mark-re-ecn"}}),
        (
            {"no-lag": "stages.audit.delay"},
            {
                "groups__a__tcp": RE_ECN,
                "links__line__queue": RED | {"action": "mark-re-ecn"},
                "stages__audit": {"kind": "auditor", "rule": "strict", "delay": "0 s"},
            },
        ),
        ({"losses-behind-auditor": "groups.a.path"}, {"links__more__queue": DROPS}),
        ({}, {"links__more__queue": DROPS, "stages__audit__audit": "ecn"}),
        (
            {"no-reports": "stages.audit", "never-marked": "groups.a.tcp.ecn"},
            {
                "groups__a__tcp": {"ecn": "accurate"},
                "links__line__queue": DROPS,
                "stages__police__legacy": "police",
            },
        ),
        (
            {"no-marks-to-audit": "stages.audit.audit"},
            {
                "groups__a__tcp": {"ecn": "off", "conex": {"report": "loss", "unit": "packets", "credit": "flight"}},
                "links__line__queue": DROPS,
                "stages__audit__audit": "ecn",
            },
        ),
        ({"on-no-path": "links.more"}, {"groups__a__path": ["police", "line", "audit"]}),
        (
            {"top-level-never": "groups.a.traffic.adaptation"},
            {"groups__a__traffic": HAS | {"adaptation": {"kind": "bba-0", "reservoir": "20 s", "cushion": "15 s"}}},
        ),
        ({}, {"groups__a__traffic": HAS | {"adaptation": {"kind": "bba-0"}}}),
        (
            {"top-level-never": "groups.a.traffic.adaptation"},
            {"groups__a__traffic": HAS | {"adaptation": {"kind": "bola", "target_buffer": "40 s"}}},
        ),
    ],
)
def test_what_does_nothing_is_noted(found: dict[str, str], given: dict[str, object]) -> None:
    assert said(scenario(**given)) == found


@pytest.mark.parametrize("handshake", ["none", "three-way"])
def test_a_tuner_without_sessions_is_noted_before_the_run(handshake: str) -> None:
    tuned = scenario(
        stages__tune={"kind": "window-tuner", "rate": "10 Mbit/s", "policy": "equal"},
        groups__a__path=["police", "line", "audit", "tune", "more"],
        groups__a__tcp=CONEX | {"handshake": handshake},
    )
    assert ("no-session" in said(tuned)) == (handshake == "none")
    assert [note.code for note in notes.of_run(tuned, tuned.run(seed=1))].count("no-session") == (handshake == "none")
