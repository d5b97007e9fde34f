"""Congestion policer and auditor, stepped by hand from Python."""

from __future__ import annotations

import evenflow as ef
import pytest
from evenflow.errors import EvenflowError
from evenflow.run import notes

REPORT = {"ecn": "ect1", "re": False}
NOT_MARKED = {"ecn": "ect1", "re": True}
CREDIT = {"ecn": "not-ect", "re": True}
MARKED = {"ecn": "ce", "re": True}


def test_a_congestion_policer_by_hand() -> None:
    """Two tokens, one a second, strict: the second report leaves none."""
    policer = ef.mechanism("congestion-policer", rate="1 packets/s", depth="2 packets", harshness="strict")
    seen = [
        policer.forward(now_s=t, **code) for t, code in ((0, REPORT), (0, REPORT), (0.5, NOT_MARKED), (0.5, REPORT))
    ]
    assert [answer["verdict"] for answer in seen] == ["pass", "drop", "pass", "drop"]
    assert [answer["tokens"] for answer in seen] == [1, 0, 0.5, -0.5]
    assert seen[1]["reason"] == "congestion_policed"
    assert seen[3]["congestion_volume"] == 4500
    assert policer.forward(now_s=0.5, ecn="ect0")["verdict"] == "pass"  # not ConEx


def test_a_share_is_dropped_between_empty_and_the_end() -> None:
    """Mild with 5 tokens: at a debt of a quarter of a packet a half is dropped."""
    policer = ef.mechanism("congestion-policer", rate="1 packets/s", depth="5 packets", level=0, seed=3)
    assert policer.forward(now_s=0.75, **REPORT)["tokens"] == -0.25
    drops = sum(policer.forward(now_s=0.75, **NOT_MARKED)["verdict"] == "drop" for _ in range(1000))
    assert drops == pytest.approx(500, abs=80)  # five standard errors of 16


def test_an_auditor_by_hand() -> None:
    """Credit for one, four marks, two segments that stay missing: a debt of five of ten. There are no timestamps."""
    auditor = ef.mechanism("auditor", seed=2, order="count")
    numbers = iter([0, 1, 2, 3, 4, 7, 8, 9])
    codes = [CREDIT, MARKED, MARKED, MARKED, MARKED, NOT_MARKED, NOT_MARKED, NOT_MARKED]
    seen = [auditor.forward(id=1500 * next(numbers), segment="data", **code) for code in codes]
    assert [answer["balance"] for answer in seen] == [1, 0, -1, -2, -3, -3, -3, -5]
    assert seen[-1]["losses_met"] == 2
    late = [auditor.forward(id=15_000, segment="data", **NOT_MARKED)["verdict"] for _ in range(1000)]
    assert late.count("drop") == pytest.approx(500, abs=80)
    assert auditor.forward(id=16_500, segment="data", **REPORT)["verdict"] == "pass"
    assert auditor.forward(id=16_500, segment="data", flow=5, **NOT_MARKED)["verdict"] == "pass"


def test_bits_of_ipv6_are_told_apart() -> None:
    auditor = ef.mechanism("auditor", encoding="ipv6", allowance="0 packets")
    assert auditor.forward(id=0, segment="data", re=True, conex="L")["balance"] == 0
    assert auditor.forward(id=1500, segment="data", re=True, ecn="ce")["balance"] == -1
    assert auditor.forward(id=3000, segment="data", re=True, conex="EC")["balance"] == 1
    with pytest.raises(EvenflowError, match='letters of "LEC"'):
        auditor.forward(id=3000, segment="data", re=True, conex="X")


def test_credit_that_nobody_counts_and_a_bucket_for_all_are_said() -> None:
    """Both are allowed."""
    tree = {
        "duration": "1 s",
        "links": {"line": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "codel", "limit": "100 packets"}}},
        "stages": {"police": {"kind": "congestion-policer", "rate": "9 packets/s", "depth": "9 packets"}},
    }
    group = {"users": 2, "path": ["police", "line"], "traffic": {"kind": "bulk"}}
    tcp = {"ecn": "accurate", "conex": {"credit": "flight"}}
    scenario = ef.Scenario(tree | {"groups": {"a": group | {"tcp": tcp}}})
    codes = {note.code: note.path for note in notes.of_scenario(scenario)}
    assert codes["credit-without-auditor"] == "groups.a"
    assert codes["shared-bucket"] == "stages.police"
    audited = {
        "stages.audit": {"kind": "auditor"},
        "groups.a.path": ["police", "line", "audit"],
        "stages.police.per": "user",
    }
    found = {note.code for note in notes.of_scenario(scenario.with_settings(audited))}
    assert not found & {"credit-without-auditor", "shared-bucket"}


@pytest.mark.parametrize(("unit", "mixed"), [("packets", False), ("bytes", True)])
def test_units_that_differ_between_sender_and_policer_are_said(unit: str, mixed: bool) -> None:
    """Allowed: what a wrong unit costs is an experiment (conex-x01)."""
    tree = {
        "duration": "1 s",
        "links": {"line": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "codel", "limit": "100 packets"}}},
        "stages": {
            "police": {"kind": "congestion-policer", "rate": "9 packets/s", "depth": "9 packets", "per": "user"}
        },
    }
    tcp = {"ecn": "accurate", "conex": {"unit": unit}}
    group = {"users": 2, "path": ["police", "line"], "traffic": {"kind": "bulk"}, "tcp": tcp}
    found = [
        note for note in notes.of_scenario(ef.Scenario(tree | {"groups": {"a": group}})) if note.code == "mixed-units"
    ]
    assert [note.path for note in found] == ["groups.a"] * mixed


def _mixed(unit: str, counts: str, credit: str = "none", **more: object) -> ef.Scenario:
    """Answers of 50 to 3000 B on lasting connections, one packet in a hundred marked; the auditor lets all pass."""
    audit = {"kind": "auditor", "allowance": counts, "audit": "ecn", "action": "class", "class": "be"}
    marks = {"kind": "constant-probability", "probability": 0.01, "action": "mark"}
    traffic = {
        "kind": "request-response",
        "request": "100 B",
        "response": {"uniform": ["50 B", "3000 B"]},
        "think": "10 ms",
    }
    tcp = {"ecn": "accurate", "conex": {"unit": unit, "credit": credit, **more}}
    return ef.Scenario(
        {
            "duration": "100 s",
            "links": {"line": {"rate": "100 Mbit/s", "delay": "20 ms", "queue": marks}},
            "stages": {"audit": audit},
            "groups": {"a": {"users": 20, "path": ["line", "audit"], "traffic": traffic, "tcp": tcp}},
        }
    )


@pytest.mark.slow("long runs", only="packets-")
@pytest.mark.parametrize(("unit", "counts"), [("bytes", "3 packets"), ("packets", "4500 B")])
def test_an_auditor_with_another_unit_sanctions_the_honest(unit: str, counts: str) -> None:
    """A mark on a large packet is no mark on a small one: the balance of a flow wanders (docs/conex.md)."""
    like = {"bytes": "4500 B", "packets": "3 packets"}[unit]
    seeds = range(1, 6)

    def sanctioned(allowance: str) -> int:
        records = [_mixed(unit, allowance).run(seed) for seed in seeds]
        return sum(record.json["stages"]["audit"]["sanctioned_flows"] for record in records)

    assert sanctioned(like) == 0
    assert sanctioned(counts) > 0
    notes_of = {a: [note.code for note in notes.of_scenario(_mixed(unit, a))] for a in (like, counts)}
    assert "mixed-units" in notes_of[counts]
    assert "mixed-units" not in notes_of[like]


def test_reports_of_losses_alone_before_an_auditor_of_marks() -> None:
    """All flows are sanctioned, and it is said; where marks are not audited neither happens."""
    scenario = _mixed("packets", "3 packets", report="loss")
    record = scenario.run(1)
    (note,) = [note for note in record.notes if note.code == "marks-not-reported"]
    assert note.path == "groups.a"
    assert "links.line" in note.text
    assert record.json["stages"]["audit"]["sanctioned_flows"] == 20
    other = scenario.set("stages.audit.audit", "loss").run(1)
    assert "marks-not-reported" not in {note.code for note in other.notes}
    assert other.json["stages"]["audit"]["sanctioned_flows"] == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["police", "line"], False),
        (["line", "police"], True),
        (["pure", "police", "line"], False),
        (["in", "line", "police", "out"], False),
    ],
)
def test_a_policer_behind_the_queue_that_marks_is_said(path: list[str], said: bool) -> None:
    """RFC 7713 section 5.4: policers stand at the ingress. In a tunnel it reads what the tunnel says."""
    tree = {
        "duration": "1 s",
        "links": {
            "line": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "codel", "limit": "100 packets"}},
            "pure": {"delay": "1 ms"},
        },
        "stages": {
            "police": {"kind": "congestion-policer", "rate": "9 packets/s", "depth": "9 packets"},
            "in": {"kind": "tunnel-ingress", "overhead": "ipip", "peer": "out"},
            "out": {"kind": "tunnel-egress"},
        },
    }
    tree["stages"] = {name: stage for name, stage in tree["stages"].items() if name in path}
    group = {
        "users": 1,
        "path": path,
        "traffic": {"kind": "bulk"},
        "tcp": {"ecn": "accurate", "conex": {"unit": "packets"}},
    }
    found = notes.of_scenario(ef.Scenario(tree | {"groups": {"a": group}}))
    places = [note.path for note in found if note.code == "policer-behind-queue"]
    assert places == ["groups.a.path"] * said
