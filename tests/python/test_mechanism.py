"""Mechanisms stepped by hand, and what the engine says about itself."""

from __future__ import annotations

import math

import evenflow as ef
import numpy as np
import pytest
from evenflow.errors import UsageError
from evenflow.mechanism import METHODS, schema


def test_the_meter_by_hand() -> None:
    """A steady 1 Mbit/s for 60 s: the activity is log2(1 Mbit/s / 10 kbit/s), whatever the memory."""
    meter = ef.mechanism("activity-meter", memory="3 s", reference_rate="10 kbit/s", start="first-packet")
    for k in range(5000):
        answer = meter.forward(now_s=k * 0.012, bytes=1500)
    assert answer["label"] == pytest.approx(math.log2(1e6 / 1e4), abs=0.02)


def test_red_by_hand() -> None:
    """Weight 1: the average is the queue. 10 of 5 to 15 packets is half-way to max_probability."""
    red = ef.mechanism(
        "red", variant="floyd", weight=1, max_probability=0.1, action="mark", min_threshold="5 packets", seed=7
    )
    below = red.admit(packets=4)
    assert (below["verdict"], below["probability"], below["ecn"]) == ("accept", 0, "capable")
    answers = [red.admit(packets=10) for _ in range(2000)]
    assert answers[0]["probability"] == pytest.approx(0.05)
    marks = [a for a in answers if a["verdict"] == "mark"]
    assert all(a["reason"] == "early" and a["ecn"] == "marked" and a["count"] == 0 for a in marks)
    # Gaps uniform on 1 to 1/p - 1 have mean 1/(2p) = 10 and standard deviation 5.5.
    assert len(marks) == pytest.approx(200, abs=5 * 5.5 / 10 * math.sqrt(200))
    forced = red.admit(packets=15, ecn="not-capable")
    assert (forced["verdict"], forced["reason"], forced["ecn"]) == ("drop", "forced", "not-capable")


def test_idle_time_lowers_the_average() -> None:
    red = ef.mechanism("red", variant="ns2", weight=0.5, link_rate="4 Mbit/s")
    assert red.admit(packets=16)["average"] == 8
    # 500 bytes take 1 ms: three of them and the arriving packet.
    assert red.admit(packets=0, now_s=1.0035, idle_since_s=1.0)["average"] == 0.5


def test_a_virtual_queue_marks_what_leaves() -> None:
    queue = ef.mechanism(
        "virtual-queue",
        mark="busy-departure",
        buffer="2 packets",
        buffer_factor=1,
        link_rate="12 Mbit/s",
        rate_factor=1,
    )
    for _ in range(3):
        assert queue.admit(now_s=0.0)["verdict"] == "accept"
    assert queue.leave(now_s=0.0019) == {
        "verdict": "mark",
        "reason": "virtual",
        "ecn": "marked",
        "virtual_length": pytest.approx(0.1),
        "marking": 1,
    }
    assert queue.leave(now_s=0.0019, ecn="not-capable")["verdict"] == "pass"
    assert queue.leave(now_s=0.002)["verdict"] == "pass"


def test_a_rule_with_a_clock_catches_up() -> None:
    load = ef.mechanism("load-based", interval="0.5 s", link_rate="10 Mbit/s")
    for k in range(400):
        load.admit(now_s=k / 1000, bytes=1250)
    assert load.observe(now_s=0.49)["load"] == 0
    assert load.observe(now_s=0.5)["load"] == pytest.approx(0.8)
    assert load.observe(now_s=0.5)["probability"] == pytest.approx(0.71 * 0.2)
    counting = ef.mechanism("load-based", count="departures", link_rate="10 Mbit/s")
    counting.departed(now_s=0.1, bytes=1250, busy_s=0.001)
    assert counting.observe(now_s=0.5)["load"] == pytest.approx(0.002)
    rem = ef.mechanism("rem", period="2 ms", link_rate="10 Mbit/s")
    # Three updates, each 0.001 * (0.1 * (50 - 20) - 2.5).
    assert rem.admit(now_s=0.0075, packets=50)["price"] == pytest.approx(0.0015)


def test_constant_probability_marks_its_share() -> None:
    coin = ef.mechanism("constant-probability", probability=0.25)
    marks = sum(coin.admit()["verdict"] == "mark" for _ in range(2000))
    assert marks == pytest.approx(500, abs=5 * math.sqrt(2000 * 0.25 * 0.75))
    with pytest.raises(UsageError, match="not-capable"):
        coin.admit(ecn="yes")


def test_presets_are_told() -> None:
    presets = next(table["presets"] for table in schema()["mechanisms"] if table["kind"] == "red")
    assert presets[0] == ["setting", "ns2", "ns3", "linux", "floyd"]
    assert all(len(row) == 5 for row in presets)


def test_codel_by_hand() -> None:
    """RFC 8289: a drop after 100 ms above the target, the second 100 ms later, the third 100 / sqrt(2) ms later."""
    codel = ef.mechanism("codel", ecn=False)

    def leave(now_s: float) -> str:
        verdict: str = codel.leave(now_s=now_s, waited_s=0.006, queue_bytes=9000)["verdict"]
        return verdict

    assert leave(1.0) == "pass"
    assert leave(1.0999) == "pass"
    assert [leave(1.1), leave(1.1)] == ["drop", "pass"]
    assert leave(1.1999) == "pass"
    assert [leave(1.2), leave(1.2)] == ["drop", "pass"]
    assert [leave(1.2707), leave(1.2708)] == ["pass", "drop"]
    assert codel.observe()["count"] == 3
    assert codel.emptied()["dropping"] == 0


def test_pie_by_hand() -> None:
    """RFC 8033: 30 ms of delay, none before, are worth (0.125 * 0.015 + 1.25 * 0.03) / 2048."""
    pie = ef.mechanism("pie", latency="link-rate", link_rate="10 Mbit/s")
    answer = pie.admit(now_s=0.0, packets=25, queue_bytes=37_500)
    assert (answer["verdict"], answer["probability"]) == ("accept", 0)
    answer = pie.admit(now_s=0.016, packets=25, queue_bytes=37_500)
    assert answer["probability"] == pytest.approx(0.039375 / 2048)
    assert answer["burst_allowance"] == pytest.approx(0.135)


def test_queues_that_hash_say_where() -> None:
    """Two flows in FQ-CoDel: the one that comes later goes first once the other has used its quantum."""
    queue = ef.mechanism("fq-codel", seed=3)
    places = [queue.enqueue(now_s=0.0, id=n, queue=0)["queue"] for n in range(3)]
    assert len(set(places)) == 1
    assert queue.enqueue(now_s=0.0, id=9, queue=1, bytes=100)["queue"] != places[0]
    served = [queue.dequeue(now_s=0.001) for _ in range(5)]
    assert [answer["id"] for answer in served] == [0, 1, 9, 2, None]
    assert all(answer["dropped"] == [] and answer["marked"] is None for answer in served)
    with pytest.raises(UsageError, match="enqueue"):
        queue.admit()
    sfq = ef.mechanism("sfq", quantum="1500 B")
    for n in range(4):
        sfq.enqueue(id=n, queue=n % 2)
    assert [sfq.dequeue()["id"] for _ in range(4)] == [0, 1, 2, 3]


def test_shapers_say_when_to_ask_again() -> None:
    """8 Mbit/s is a byte a microsecond; a class may overdraw its 1600 bytes by a packet, a filter may not."""
    classes = {"all": {"rate": "8 Mbit/s"}, "be": {"rate": "1 Mbit/s", "ceil": "8 Mbit/s", "parent": "all"}}
    tree = ef.mechanism("htb", classes=classes)
    for n in range(3):
        tree.enqueue(cls="be", id=n, bytes=1000)
    assert [tree.dequeue()["id"] for _ in range(2)] == [0, 1]
    assert tree.dequeue() == {"id": None, "bytes": None, "next_s": pytest.approx(400e-6)}
    assert tree.dequeue(now_s=400e-6)["id"] == 2
    with pytest.raises(UsageError, match="no leaf"):
        tree.enqueue(cls="all")
    users = ef.mechanism("htb", per="user", each={"rate": "8 Mbit/s"}, queues=3)
    users.enqueue(queue=2, id=7)
    assert users.dequeue()["id"] == 7
    bucket = ef.mechanism("tbf", rate="8 Mbit/s", burst="1600 B")
    for n in range(2):
        bucket.enqueue(id=n, bytes=1000)
    assert bucket.enqueue(bytes=1601) == {"refused": "too_large"}
    assert bucket.dequeue()["id"] == 0
    assert bucket.dequeue()["next_s"] == pytest.approx(400e-6)


def test_wrong_use_names_what_there_is() -> None:
    with pytest.raises(UsageError, match="activity-meter"):
        ef.mechanism("activity-metre")
    with pytest.raises(UsageError, match="memory"):
        ef.mechanism("activity-meter", memmory="3 s")
    with pytest.raises(UsageError, match="forward"):
        ef.mechanism("activity-meter").nosuch()
    with pytest.raises(UsageError, match="now_s"):
        ef.mechanism("activity-meter").forward(now=3.0)


def test_every_method_of_the_table_is_there() -> None:
    web = ef.mechanism("web", page_size="10 kB")
    web.start()
    makers = {
        "queue": ef.mechanism("droptail", limit="24 packets"),
        "scheduler": ef.mechanism("fifo"),
        "stage": ef.mechanism("activity-meter", memory="3 s", reference_rate="10 kbit/s"),
        "traffic": web,
        "adaptation": ef.mechanism("bola"),
        "congestion-control": ef.mechanism("newreno"),
    }
    assert makers.keys() == METHODS.keys()
    for room, made in makers.items():
        # A connection that is closed is told nothing more.
        for method, arguments in sorted(METHODS[room].items(), key=lambda item: item[0] == "closed"):
            numbers: dict[str, object] = {name: 1 for name in arguments if name != "cls"}
            if room == "traffic":
                numbers |= {name: value for name, value in (("conn", 0), ("end", "client")) if name in arguments}
            lists = {"ladder_bps": [1, 2], "throughputs_bps": [1], "sizes_bytes": [[1, 2]], "sack": [[1, 2]]}
            numbers |= {name: value for name, value in lists.items() if name in arguments}
            if "cls" in arguments:
                numbers["cls"] = "be"
            words = {"ecn": "marked", "segment": "ack", "re": True, "conex": "LE", "outer": None}
            numbers |= {name: value for name, value in words.items() if name in arguments}
            if method == "receive":
                continue  # a meter has no peer
            assert isinstance(getattr(made, method)(**numbers), dict)


def test_an_application_by_hand() -> None:
    """A request and its response over a new connection, round-trip time 100 ms, then a thought of 1 s."""
    user = ef.mechanism("request-response", request="350 B", response="10 kB", think="1 s")
    assert user.start()["calls"] == [{"do": "transfer", "what": "started"}, {"do": "open", "conn": 0}]
    asks = {"do": "write", "conn": 0, "end": "client", "bytes": 350}
    assert user.opened(now_s=0.1, conn=0, end="client")["calls"] == [asks]
    answers = {"do": "write", "conn": 0, "end": "server", "bytes": 10_000}
    assert user.received(now_s=0.15, conn=0, end="server", total=350)["calls"] == [answers]
    assert user.received(now_s=0.2, conn=0, end="client", total=1_448)["calls"] == []
    done = {"do": "transfer", "what": "completed", "bytes": 10_000, "first_byte_s": 0.2, "took_s": 0.3}
    (said, alarm) = user.received(now_s=0.3, conn=0, end="client", total=10_000)["calls"]
    assert (said, alarm["at_s"]) == (done, 1.3)
    assert user.timer(now_s=1.3, number=alarm["number"])["calls"][1:] == [asks]
    with pytest.raises(UsageError, match="connection 7 is not open; open: 0"):
        user.opened(conn=7, end="client")
    with pytest.raises(UsageError, match='end must be "client" or "server"'):
        user.opened(conn=0, end="middle")
    with pytest.raises(UsageError, match="without think time and without patience"):
        ef.mechanism("web", page_size="10 kB", patience="0 s")
    with pytest.raises(UsageError, match="is no application"):
        ef.mechanism("bulk")


def test_a_rewriter_by_hand() -> None:
    """RFC 7323: a window is shifted as its own end has said, if both have; RFC 3168 section 18: marks are erased."""
    tuner = ef.mechanism("rewriter", window="20 kB")
    assert tuner.forward(segment="syn", window=65_535, scale=7)["window"] == 65_535
    assert tuner.backward(segment="ack", window=500)["window"] == 500  # one SYN of two has been seen
    assert tuner.backward(segment="syn-ack", window=65_535, scale=3)["changed"] == []
    answer = tuner.backward(segment="ack", window=500)
    assert (answer["window"], answer["changed"], answer["rewritten"]) == (20_000 >> 3, ["window"], 1)
    eraser = ef.mechanism("rewriter", ecn_map={"ce": "ect1"}, re=False)
    answer = eraser.forward(ecn="ce", re=True)
    assert (answer["verdict"], answer["codepoint"], answer["re"]) == ("pass", "ect1", False)
    assert (sorted(answer["changed"]), answer["marks_erased"]) == (["codepoint", "ecn", "re"], 1)
    marker = ef.mechanism("rewriter", ecn="ce", direction="reverse")
    assert marker.forward(ecn="ect0")["verdict"] == "pass"
    answer = marker.backward(ecn="ect0")
    assert (answer["verdict"], answer["reason"], answer["codepoint"]) == ("mark", "rewritten", "ce")
    with pytest.raises(UsageError, match="changes nothing; give one of"):
        ef.mechanism("rewriter")
    with pytest.raises(UsageError, match="segment must be one of syn, syn-ack"):
        tuner.forward(segment="sin")


def test_two_stages_talk_by_hand() -> None:
    """What one has sent the other receives; the answer comes back 30 ms later. Held packets are released in order."""
    near, far = ef.mechanism("probe-stage", every="10 ms"), ef.mechanism("probe-stage")
    (sent,) = near.wake(now_s=0.01)["sent"]
    assert (sent["to"], sent["bytes"]) == ("peer", 100)
    (answer,) = far.receive(now_s=0.03, message=sent["message"])["sent"]
    assert near.receive(now_s=0.04, message=answer["message"])["rtt"] == pytest.approx(0.03)
    holder = ef.mechanism("probe-stage", hold="5 ms")
    assert [holder.forward(now_s=t, id=n)["verdict"] for n, t in enumerate((0.001, 0.002))] == ["hold", "hold"]
    answer = holder.wake(now_s=0.006)
    assert (answer["released"], answer["wake_s"], answer["held"]) == ([0], pytest.approx(0.007), 1)
    dropper = ef.mechanism("probe-stage", drop_every=2)
    verdicts = [dropper.forward(flow=n)["verdict"] for n in range(4)]
    assert verdicts == ["pass", "drop", "pass", "drop"]
    assert "probe-stage" not in {table["kind"] for table in schema()["mechanisms"]}


def test_an_adaptation_rule_by_hand() -> None:
    """BOLA between buffers of 10 and 30 s leaves the lowest of these levels at 11.93 s."""
    bola = ef.mechanism("bola")
    ladder = [248e3, 456e3, 928e3, 1_632e3, 4_256e3]
    assert [bola.choose(ladder_bps=ladder, buffer_s=s)["level"] for s in (11.9, 12.0)] == [0, 1]
    with pytest.raises(UsageError, match="must rise"):
        bola.choose(ladder_bps=[2, 1])
    with pytest.raises(UsageError, match="last must be a level from 0 to 1, not 2"):
        bola.choose(ladder_bps=[1, 2], last=2)
    with pytest.raises(UsageError, match="throughputs_bps must be a list"):
        bola.choose(ladder_bps=[1, 2], throughputs_bps=3)
    with pytest.raises(UsageError, match="throughputs_bps must be more than 0, one is -1"):
        bola.choose(ladder_bps=[1, 2], throughputs_bps=[-1.0])
    with pytest.raises(UsageError, match="more than minimum_buffer"):
        ef.mechanism("bola", minimum_buffer="40 s")


def test_numbers_that_json_does_not_have() -> None:
    """The core is called in JSON; where such a number stands is said, not what its parser makes of it."""
    bola = ef.mechanism("bola")
    infinite, none = float("inf"), float("nan")
    with pytest.raises(UsageError) as caught:
        bola.choose(
            ladder_bps=[1, 2], throughputs_bps=[1.0, infinite, none], buffer_s=-infinite, sizes_bytes=[[10**400]]
        )
    assert str(caught.value) == (
        "bola.choose: throughputs_bps[1] must be finite, it is inf; throughputs_bps[2] must be finite, it is nan; "
        "buffer_s must be finite, it is -inf; sizes_bytes[0][0] is larger than any number here can be"
    )
    with pytest.raises(UsageError, match="ladder_bps must be a number, a text, a list or a table, not of type ndarray"):
        bola.choose(ladder_bps=np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match=r"bola: target_buffer\.values\[0\] must be finite, it is nan"):
        ef.mechanism("bola", target_buffer={"values": [none]})


def test_cubic_by_hand() -> None:
    """RFC 9438: a loss at 100 segments leaves 70; K = cbrt(30 / 0.4) = 4.217 s."""
    cubic = ef.mechanism("cubic", stack="rfc", slow_start="standard")
    cubic.set(cwnd=100 * 1448, ssthresh=1448)
    assert cubic.loss(now_s=1.0)["cwnd"] == pytest.approx(70 * 1448)
    answer = cubic.ack(now_s=1.1, rtt_s=0.1)
    assert answer["k"] == pytest.approx(4.2172, abs=1e-4)
    assert answer["w_max"] == 100
    assert cubic.timeout(now_s=2.0)["cwnd"] == 1448
    linux = ef.mechanism("cubic", stack="linux")
    assert linux.set()["cwnd"] == 10 * 1448
    linux.set(cwnd=101 * 1448)
    assert linux.mark()["cwnd"] == 70 * 1448  # 101 * 717 / 1024 = 70.7


def test_weighted_controls_by_hand() -> None:
    """Siris et al. 2002: 10 + 0.5 * (4 / 10 - f); Crowcroft and Oechslin 1998: 16 * (4 - 1/2) / 4."""
    wtp = ef.mechanism("wtp", weight=4, stack="ns2")
    assert wtp.set(cwnd=14600)["cwnd"] == 14600
    assert wtp.ack()["cwnd"] == pytest.approx(10.2 * 1460)
    wtp.set(cwnd=14600)
    assert wtp.ack(marks=1)["cwnd"] == pytest.approx(9.7 * 1460)
    with pytest.raises(UsageError, match="marks=1"):
        wtp.mark()
    wtp = ef.mechanism("wtp", weight=4, marked_ack="none", stack="ns2")
    wtp.set(cwnd=14600, ssthresh=1460)
    assert wtp.ack()["cwnd"] == pytest.approx(10.2 * 1460)
    wtp.set(cwnd=14600)
    assert wtp.ack(marks=1)["cwnd"] == pytest.approx(9.5 * 1460)
    wtp.set(cwnd=20 * 1460)
    assert wtp.timeout()["cwnd"] == 1460
    assert [wtp.ack()["cwnd"] / 1460 for _ in range(10)] == [2, 3, 4, 5, 6, 7, 8, 9, 10, pytest.approx(10.2)]
    multcp = ef.mechanism("multcp", weight=4, stack="ns2")
    multcp.set(cwnd=16 * 1460, ssthresh=1460)
    assert multcp.ack(marks=1)["cwnd"] == 16 * 1460
    assert multcp.mark()["cwnd"] == 14 * 1460
    with pytest.raises(UsageError, match="at least 1"):
        ef.mechanism("multcp", weight=0.5)
    with pytest.raises(UsageError, match="there are rfc"):
        ef.mechanism("newreno", stack="nosuch")
    constant = ef.mechanism("constant", window="7 packets")
    assert constant.timeout()["cwnd"] == constant.ack()["cwnd"] == 7 * 1446


def test_modules_and_functions_of_one_name() -> None:
    import importlib

    importlib.import_module("evenflow.study")
    importlib.import_module("evenflow.mechanism")
    assert callable(ef.study)
    assert callable(ef.mechanism)


def test_everything_public_exists() -> None:
    assert set(ef.__all__) <= set(dir(ef))
    for name in ef.__all__:
        thing = getattr(ef, name)
        assert isinstance(thing, str) or thing.__doc__, name
    with pytest.raises(AttributeError, match="nosuch"):
        _ = ef.nosuch


def test_every_mechanism_is_documented_to_the_last_parameter() -> None:
    for table in schema()["mechanisms"]:
        assert table["title"], table["kind"]
        assert table["doc"], table["kind"]
        for param in table["params"]:
            assert param["doc"], (table["kind"], param["name"])
            assert param["type"], (table["kind"], param["name"])


def test_every_metric_has_a_formula_and_a_window() -> None:
    for metric in schema()["metrics"]:
        assert {"name", "unit", "window", "formula", "doc"} <= set(metric)
        assert metric["doc"], metric["name"]
        if metric["unit"]:
            assert metric["window"], metric["name"]


@pytest.mark.parametrize("kind", ["codel", "pie"])
def test_a_time_without_end_is_refused(kind: str) -> None:
    # Such a rule's clock would go on for ever.
    for late in (1e300, 2**64, math.inf, math.nan):
        with pytest.raises(UsageError, match="now_s must be"):
            ef.mechanism(kind).observe(now_s=late)
    with pytest.raises(UsageError, match="codel: max_packet must be finite, it is nan"):
        ef.mechanism("codel", max_packet=math.nan)


def test_methods_complete_and_say_their_arguments() -> None:
    control = ef.mechanism("cubic")
    assert {"ack", "loss", "mark", "timeout", "set", "kind"} <= set(dir(control))
    assert "rtt_s: the round-trip time" in (control.ack.__doc__ or "")
    assert {"admit", "leave", "emptied"} <= set(dir(ef.mechanism("codel")))
