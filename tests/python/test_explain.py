"""`evenflow explain`: values are those of the decision, and counts agree with the record."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT, Cli
from evenflow.errors import UsageError
from evenflow.show import clicks
from evenflow.show.explain import Event, Explanation, events, explain, picture

CALL = ROOT / "examples/scenarios/call.toml"
TAIL = {"kind": "droptail", "limit": "30 packets"}
FLOW = "groups.g.users[0].flows[0]"


def scenario(queue: dict[str, Any], *, users: int = 4, **tcp: Any) -> ef.Scenario:
    """Eight bulk flows over a queue."""
    return ef.Scenario(
        {
            "duration": "8 s",
            "links": {"line": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": queue}},
            "groups": {
                "g": {
                    "users": users,
                    "path": ["line"],
                    "traffic": {"kind": "bulk", "flows": 2},
                    "tcp": {"congestion_control": "cubic", **tcp},
                }
            },
        }
    )


def of_reason(world: ef.Scenario, kind: str, reason: str) -> Explanation:
    """The explanation of the last drop or mark with this reason in the first five seconds."""
    record = world.set("record", {"events": ["open", kind]}).run(1)
    times, reasons = record.arrays(f"events.{kind}.reason")
    names = [record.json["event_reasons"][int(number)] for number in reasons]
    found = [n for n, (time, name) in enumerate(zip(times, names, strict=True), 1) if name == reason and time < 5]
    assert found, (kind, reason)
    it = explain(world, 1, drop=found[-1]) if kind == "drop" else explain(world, 1, mark=found[-1])
    assert (it.event.kind, it.event.reason, it.event.time_s) == (kind, reason, times[found[-1] - 1])
    return it


def test_full_queue() -> None:
    it = of_reason(scenario(TAIL), "drop", "limit")
    assert it.after["packets"] == 30
    assert it.filled == "30 + 1 > 30"
    assert it.rule == "The queue was full."


def test_red_shows_its_average_and_probability() -> None:
    red = {"kind": "red", "limit": "100 packets", "min_threshold": "5 packets", "max_threshold": "20 packets"}
    it = of_reason(scenario({**red, "max_probability": 0.1}), "drop", "early")
    # Floyd and Jacobson 1993, section 4, from the recorded average
    assert it.after["probability"] == pytest.approx(0.1 * (it.after["average"] - 5) / 15, rel=1e-9)
    assert it.after["count"] == 0 < it.before["count"]
    assert it.parameters["max_threshold"] == "20 packets"
    assert 0 < it.after["draw"] <= it.after["spread_probability"]
    assert it.law.endswith("; draw <= spread_probability")
    assert f"{it.after['draw']:.4g} <= {it.after['spread_probability']:.4g}" in it.filled


def test_codel_shows_the_wait_of_the_packet_and_its_count() -> None:
    it = of_reason(scenario({"kind": "codel", "limit": "200 packets"}), "drop", "codel")
    assert it.event.packet is not None
    assert it.after["dropping"] == 1
    # The count and the sojourn time are those of the dropped packet itself.
    trace = it.record.trace()
    arrived = trace.filter(trace["action"] == "arrive", trace["seq"] == it.event.packet["seq"])["time_s"]
    assert min(abs(arrived - (it.event.time_s - it.after["sojourn"]))) < 1e-9
    assert it.after["count"] >= 1
    assert it.after["drop_next"] >= it.before["drop_next"]


@pytest.mark.parametrize("ecn", ["off", "classic"])
def test_fq_codel_shows_the_codel_of_the_packets_queue(ecn: str) -> None:
    kind = "drop" if ecn == "off" else "mark"
    it = of_reason(scenario({"kind": "fq-codel", "limit": "2000 packets"}, ecn=ecn), kind, "codel")
    assert it.event.packet is not None
    trace = it.record.trace()
    arrived = trace.filter(trace["action"] == "arrive", trace["seq"] == it.event.packet["seq"])["time_s"]
    assert min(abs(arrived - (it.event.time_s - it.after["sojourn"]))) < 1e-9
    assert it.after["dropping"] == 1 <= it.after["count"]
    assert it.after["active_queues"] >= 1


def test_cobalt_shows_both_controllers() -> None:
    cobalt = {"kind": "cobalt", "limit": "60 packets"}
    codel = of_reason(scenario(cobalt), "drop", "codel")
    assert codel.after["sojourn"] >= 0.005
    assert codel.after["count"] >= 1
    blue = of_reason(scenario(cobalt), "drop", "blue")
    assert blue.after["draw"] < blue.after["probability"]
    assert blue.law.endswith("; draw < probability")


def test_fq_shows_the_full_queue_and_the_late_packet() -> None:
    full = of_reason(scenario({"kind": "fq", "flow_limit": "20 packets"}), "drop", "flow_limit")
    assert full.after["flow_packets"] == 20
    late = of_reason(scenario({"kind": "fq", "ce_threshold": "3 ms"}, ecn="classic"), "mark", "ce_threshold")
    assert late.after["sojourn"] > 0.003


def test_fq_pie_shows_the_pie_of_the_packets_queue() -> None:
    it = of_reason(scenario({"kind": "fq-pie", "limit": "500 packets"}), "drop", "pie")
    assert it.after["draw"] < it.after["flow_probability"]
    assert it.law.endswith("; draw < flow_probability")
    assert it.after["flow_packets"] <= it.after["packets"]


@pytest.mark.parametrize("queue", [TAIL, {"kind": "fq-codel", "limit": "200 packets"}])
@pytest.mark.parametrize(("loss", "law"), [(0.01, "draw < probability"), ({"every": 50}, "a multiple of every")])
def test_random_loss_shows_its_number(queue: dict[str, Any], loss: Any, law: str) -> None:
    it = of_reason(scenario(queue).set("links.line.loss", loss), "drop", "loss")
    assert it.law.endswith(law)
    assert not it.before
    if loss == 0.01:
        assert it.after["draw"] < it.after["probability"] == 0.01
        assert it.filled == f"{it.after['draw']:.4g} < 0.01"
    else:
        assert it.filled.endswith("a multiple of 50")


def test_loss_in_bursts_shows_its_state() -> None:
    world = scenario(TAIL).set("links.line.loss", {"probability": 0.02, "burst": 4})
    it = of_reason(world, "drop", "loss")
    assert it.source == "Gilbert 1960; Elliott 1963"
    assert it.after["draw"] < it.after["probability"]
    assert (it.after["stays"] == 1) == (it.after["probability"] == 0.75)


@pytest.mark.parametrize("against", [False, True])
def test_reverse_direction_shows_its_own_queue(against: bool) -> None:
    """Drops of ACKs, and of data on a path that crosses the link backwards."""
    narrow = {"rate": "1 Mbit/s" if against else "100 kbit/s", "queue": {"kind": "codel", "limit": "30 packets"}}
    world = scenario({"kind": "droptail", "limit": "60 packets"}).set("links.line.reverse", narrow)
    world = world.set("groups.g.path", ["-line"] if against else ["line"])
    record = world.set("record", {"events": ["open", "drop"]}).run(1)
    assert record.json["links"]["line"]["reverse"]["drops"]["codel"] > 5
    for reason in ("codel", "limit"):
        it = of_reason(world, "drop", reason)
        assert it.event.packet is not None
        assert it.event.packet["backward"] != against
        if reason == "limit":
            assert it.filled == "30 + 1 > 30"
        else:
            assert it.after["sojourn"] >= 0.005
            assert it.after["dropping"] == 1
        assert ("  Packet   ACK " in str(it)) != against


@pytest.mark.parametrize(
    ("queue", "kind", "reason", "law"),
    [
        ({"kind": "pie", "limit": "200 packets"}, "drop", "pie", lambda v: min(0, v["probability"] - v["draw"])),
        (
            {"kind": "dualpi2", "limit": "500 packets"},
            "drop",
            "pi2",
            lambda v: v["classic_probability"] - v["base_probability"] ** 2,
        ),
        (
            {"kind": "rem", "limit": "200 packets", "base": 1.01},
            "mark",
            "price",
            lambda v: v["probability"] - (1 - 1.01 ** -v["price"]),
        ),
        (
            {"kind": "load-based", "limit": "100 packets", "gain": 0.5, "target": 0.6},
            "mark",
            "load",
            lambda v: v["probability"] - 0.5 * (v["load"] - 0.6),
        ),
        ({"kind": "virtual-queue", "limit": "100 packets"}, "mark", "virtual", lambda v: v["marking"] - 1),
        ({"kind": "constant-probability", "limit": "100 packets", "probability": 0.01}, "mark", "constant", None),
        ({**TAIL, "scheduler": {"kind": "drr", "per": "flow"}}, "drop", "pushed_out", None),
    ],
)  # fmt: skip
def test_each_rule(queue: dict[str, Any], kind: str, reason: str, law: Any) -> None:
    it = of_reason(scenario(queue, ecn="classic" if kind == "mark" else "off"), kind, reason)
    assert it.rule
    assert it.source
    assert it.after["packets"] >= 0
    if law is not None:
        assert law(it.after) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("form", ["rfc9332", "linux"])
def test_dualpi2_shows_the_number_of_its_decision(form: str) -> None:
    queue = {"kind": "dualpi2", "limit": "500 packets", "form": form}
    it = of_reason(scenario(queue, ecn="accurate", congestion_control="prague"), "mark", "coupled")
    if form == "linux":
        assert it.after["draw"] < it.after["coupled_probability"]
        assert it.law.endswith("; draw < coupled_probability")
    else:
        assert it.after["draw"] > 1
        assert it.law.endswith("; draw > 1")
    assert it.after["sojourn"] > 0


@pytest.mark.parametrize("native", ["ramp", "step"])
def test_dualpi2_shows_the_rule_of_its_l_queue(native: str) -> None:
    queue = {"kind": "dualpi2", "limit": "500 packets", "native": native}
    it = of_reason(scenario(queue, ecn="accurate", congestion_control="prague"), "mark", "native")
    if native == "ramp":
        ramp = min(1, (it.after["sojourn"] - 800e-6) / 400e-6)
        assert it.after["native_probability"] == pytest.approx(ramp, abs=1e-5)
        assert it.law == "native_probability = min(1, (sojourn - min_threshold) / range); draw > 1"
    else:
        assert it.after["sojourn"] > 1e-3
        assert it.law == "sojourn > step"
    assert ("- 0.0008) / 0.0004" if native == "ramp" else "> 0.001") in it.filled


def test_events_before_a_trace_is_full_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is traced until shortly after the chosen event."""
    world = scenario(TAIL, users=1).set("duration", "300 s")
    monkeypatch.setattr("evenflow.show.explain.LONGEST_ANSWER_S", 5.0)
    it = ef.explain(world, drop=1)
    assert it.event.time_s < 10
    assert it.record.json["window_s"][1] < 16
    with pytest.raises(UsageError, match=r"^groups\.g\.users\[0\]: its packets fill a trace \(1,000,000 rows\) by \d"):
        ef.explain(world, flow=it.event.flow, drop=1)


def test_constant_probability_shows_its_number() -> None:
    queue = {"kind": "constant-probability", "limit": "100 packets", "probability": 0.01}
    it = of_reason(scenario(queue, ecn="classic"), "mark", "constant")
    assert it.law == "probability; draw <= probability"
    assert it.filled == f"0.01; {it.after['draw']:.4g} <= 0.01"
    assert it.after["draw"] <= 0.01


def test_stages_show_their_tokens() -> None:
    world = ef.load(ROOT / "examples/scenarios/catching-a-cheat.toml").set("duration", "5 s").set("warmup", "0 s")
    flow = "groups.cheat.users[0].flows[0]"
    found = [it for it in events(world, flow) if it.place.startswith("stages.police")]
    it = explain(world, flow=flow, event=found[0].number)
    assert it.event.reason == "congestion_policed"
    assert it.after["tokens"] <= 0
    assert it.after["policed"] == it.before["policed"] + 1


def test_sender_answers_a_drop() -> None:
    it = of_reason(scenario(TAIL), "drop", "limit")
    assert it.event.packet is not None
    seq = it.event.packet["seq"]
    texts = {text.split(".")[0]: at for at, text in it.answer}
    again = next(at for text, at in texts.items() if text.startswith(f"The sender retransmits bytes {seq} to"))
    sack = texts["The first SACK beyond the lost packet arrives"]
    # the path has a base round trip of 40 ms
    assert it.event.time_s + 0.04 < sack <= again
    assert [at for at, _ in it.answer] == sorted(at for at, _ in it.answer)


def counted(world: ef.Scenario, group: str, users: int, flows: int) -> Counter[str]:
    paths = [f"groups.{group}.users[{user}].flows[{flow}]" for user in range(users) for flow in range(flows)]
    return Counter(it.kind for path in paths for it in events(world, path))


def test_losses_and_timeouts_are_those_of_the_record() -> None:
    world = scenario({"kind": "droptail", "limit": "10 packets"}, users=1)
    found = counted(world, "g", 1, 2)
    reductions = world.run(1).json["groups"]["g"]["senders"]["reductions"]
    assert found["losses"] == reductions["loss"] > 5
    assert found["timeout"] == reductions["timeout"] > 0


def test_marks_are_those_of_the_record() -> None:
    world = scenario(
        {"kind": "constant-probability", "limit": "100 packets", "probability": 0.01}, users=1, ecn="classic"
    )
    assert counted(world, "g", 1, 2)["marks"] == world.run(1).json["groups"]["g"]["senders"]["threshold_falls"] > 5


def video(rate: str) -> ef.Scenario:
    player = {"kind": "has", "ladder": ["1 Mbit/s", "2 Mbit/s"], "chunk": "2 s", "buffer": "8 s", "adaptation": "rate"}
    tree = {
        "duration": "60 s",
        "links": {"line": {"rate": rate, "delay": "20 ms", "queue": {"kind": "droptail", "limit": "50 packets"}}},
        "groups": {"g": {"users": 1, "path": ["line"], "traffic": player, "tcp": {"stack": "linux"}}},
    }
    return ef.Scenario(tree)


def test_restarts_after_idle_are_those_of_the_record() -> None:
    world = video("10 Mbit/s")
    assert counted(world, "g", 1, 1)["idle"] == world.run(1).json["groups"]["g"]["senders"]["restarts"] > 3
    it = explain(world, flow=FLOW, event=next(it.number for it in events(world, FLOW) if it.kind == "idle"))
    assert any("before a pause" in text for _, text in it.answer)
    assert it.after["window"] < it.before["window"]


def test_stalls_of_a_player() -> None:
    world = video("0.9 Mbit/s")
    stalls = [it for it in events(world, FLOW) if it.kind == "stall"]
    assert len(stalls) == world.run(1).json["groups"]["g"]["video"]["users_stalls"][0] > 1
    it = explain(world, flow=FLOW, event=stalls[0].number)
    (asked, first), (arrived, second) = it.answer[0], it.answer[-2]
    assert first.startswith("The chunk in transfer was requested")
    assert second.startswith("Its last byte arrives")
    assert asked < it.event.time_s < arrived


def test_figure_shows_queue_and_window_around_the_event() -> None:
    it = of_reason(scenario(TAIL), "drop", "limit")
    queue, sender = picture(it).panels
    assert [line.words for line in sender.lines] == ["window", "ssthresh", "flight"]
    assert max(abs(queue.lines[0].x)) <= 2e3 * it.rtt_s
    assert max(queue.lines[0].y) == 30


def test_datagrams_have_no_answer() -> None:
    world = ef.load(CALL).with_settings({"duration": "8 s", "warmup": "0 s"})
    flow = "groups.call.users[0].flows[0]"
    found = events(world, flow)
    assert {it.kind for it in found} == {"drop"}
    assert explain(world, flow=flow, drop=1).answer == []


def test_choices_are_checked() -> None:
    world = scenario(TAIL)
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"drop": 1, "mark": 1}, "drop and mark"),
        ({"event": 1}, "name the flow"),
        ({"drop": 10**6}, "numbered from 1"),
        ({"mark": 1}, "No link had a mark"),
        ({"flow": "g"}, "write groups.NAME.users[0].flows[0]"),
        ({"flow": "groups.h.users[0].flows[0]"}, "there is no group “h”; there are g."),
        ({"flow": "groups.g.users[0].flows[7]"}, "never opened"),
        ({"flow": "groups.g.users[9].flows[0]"}, "index 9 is out of range"),
        ({"at": 9.0}, "the run lasts 8 s"),
        ({"flow": FLOW, "event": 10**6}, "numbered from 1"),
    ]
    for wrong, said in wrongs:
        with pytest.raises(UsageError, match=re.escape(said)):
            explain(world, 1, **wrong)


def test_command(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "why.svg"
    done = cli("explain", str(CALL), "--drop", "100", "--out", str(figure))
    assert done.code == 0
    assert "The queue was full." in done.out
    assert figure.read_bytes().startswith(b"<?xml")
    flow = "groups.download.users[0].flows[0]"
    listed = json.loads(cli("explain", str(CALL), "--flow", flow, "--json").out)["events"]
    assert [it["number"] for it in listed] == list(range(1, len(listed) + 1))
    at = listed[3]["time_s"]
    found = json.loads(cli("explain", str(CALL), "--flow", flow, "--at", f"{at}s", "--json").out)
    assert Event(**found["event"]).time_s == at
    assert cli("explain", str(CALL), "--at", "noon").code == 2
    refused = cli("explain", str(CALL), "--out", "why.txt")
    assert (refused.code, refused.out) == (2, "")


# --- On a page -----------------------------------------------------------------------------------------------------


def told(world: ef.Scenario) -> list[clicks.Told]:
    """The explanations of a run's page; each text is that of `explain`."""
    _, found = clicks.of_run(world.run(1))
    for it in found[:: max(1, len(found) // 3)]:
        number, flow = re.match(r"Event (\d+) of (\S+),", it.text).groups()  # type: ignore[union-attr]
        it_again = explain(world, flow=flow, event=int(number))
        assert it.text == str(it_again)
        assert (it.time_s, it.kind, f"links.{it.link}[0]") == (
            it_again.event.time_s,
            it_again.event.kind,
            it_again.event.place,
        )
    return found


def test_texts_of_a_page_are_those_of_explain() -> None:
    found = told(ef.load(CALL).with_settings({"duration": "6 s", "warmup": "0 s"}))
    assert len(found) > 20
    assert {it.kind for it in found} == {"drop"}
    # datagrams and TCP
    assert {it.text.split(".")[1] for it in found} == {"call", "download"}
    marking = {"kind": "constant-probability", "limit": "100 packets", "probability": 0.01}
    found = told(scenario(marking, users=1, ecn="classic"))
    assert {it.kind for it in found} == {"mark"}


def test_long_runs_are_explained_from_their_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clicks, "MOST_ROWS", 10_000)
    monkeypatch.setattr(clicks, "MOST_TEXTS", 10)
    found = told(ef.load(CALL).with_settings({"duration": "30 s", "warmup": "0 s"}))
    assert 3 < len(found) <= 10
    assert max(it.time_s for it in found) < 20


def test_huge_runs_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clicks, "MOST_HOPS", 10)
    assert clicks.of_run(scenario(TAIL).run(1)) == ([], [])
