"""`ef.sender`: the sending end of a connection, driven by scripts; numbers worked out by hand from the RFCs."""

from __future__ import annotations

from typing import Any

import evenflow as ef
import pytest
from evenflow.errors import UsageError
from evenflow.scenario import types

RTT = 0.05


def opened(segments: int, **stack: Any) -> ef.Sender:
    """A sender with segments of 1000 B that has had its SYN-ACK at 50 ms."""
    tcp = ef.sender(mss=1000, **stack)
    tcp.open(0.0)
    tcp.write(0.0, 1000 * segments)
    tcp.ack(RTT, 0)
    return tcp


def numbers(answer: dict[str, Any]) -> list[float]:
    return [segment["seq"] / 1000 for segment in answer["segments"] if segment["payload"]]


def test_the_handshake_and_the_initial_window() -> None:
    tcp = ef.sender("rfc", "newreno", 1000)
    assert tcp.deadline() is None
    syn = tcp.open(0.0)
    assert [(s["flags"], s["size"]) for s in syn["segments"]] == [(["SYN"], 60)]
    assert (syn["state"]["life"], tcp.deadline()) == ("opening", 1.0)  # RFC 6298 section 2.1
    assert tcp.write(0.0, 30_000)["segments"] == []
    answer = tcp.ack(RTT, 0)
    assert answer["segments"][0]["flags"] == ["ACK"]
    assert numbers(answer) == list(range(10))  # RFC 6928
    state = answer["state"]
    assert (state["life"], state["recovery"], state["cwnd"], state["ssthresh"]) == ("open", "open", 10, None)
    assert (state["unacked"], state["una"], state["next"]) == (10, 0, 10_000)
    assert (state["rtt"], state["min_rtt"]) == (RTT, RTT)


def test_slow_start_by_one_segment_an_ack() -> None:
    tcp = opened(40)
    assert numbers(tcp.ack(0.1, 2000)) == [10, 11, 12]  # RFC 5681 equation 2 with L = 1: two acknowledged, one more
    answer = tcp.ack(0.101, 4000)
    assert (numbers(answer), answer["state"]["cwnd"]) == ([13, 14, 15], 12)


def test_fast_retransmit_and_recovery_with_sack() -> None:
    tcp = opened(40, reduction="at-once")
    assert numbers(tcp.ack(0.1, 0, [(1000, 2000)])) == [10]  # limited transmit, RFC 3042
    assert numbers(tcp.ack(0.101, 0, [(1000, 3000)])) == [11]
    answer = tcp.ack(0.102, 0, [(1000, 4000)])
    assert [(s["seq"], s["again"]) for s in answer["segments"]] == [(0, True)]
    state = answer["state"]
    # Half of the ten in flight before limited transmit (RFC 5681 section 3.2).
    assert (state["recovery"], state["ssthresh"], state["cwnd"]) == ("recovery", 5, 5)
    assert (state["unacked"], state["sacked"], state["lost"], state["retransmitted"]) == (12, 3, 1, 1)
    state = tcp.ack(0.15, 12_000)["state"]
    assert (state["recovery"], state["lost"], state["sacked"], state["retransmitted"]) == ("open", 0, 0, 0)
    # Segment 11 left at 101 ms and was acknowledged at 150 ms.
    assert (state["retransmitted_in_all"], state["min_rtt"]) == (1, 0.049)


def test_a_timeout_and_its_backoff() -> None:
    tcp = opened(3)
    assert tcp.deadline() == pytest.approx(RTT + 1)  # RFC 6298 section 2.4
    assert tcp.wake(1.0)["segments"] == []
    answer = tcp.wake(1.05)
    assert [(s["seq"], s["again"], s["now"]) for s in answer["segments"]] == [(0, True, 1.05)]
    assert (answer["state"]["recovery"], answer["state"]["cwnd"], answer["state"]["lost"]) == ("loss", 1, 3)
    assert tcp.deadline() == pytest.approx(3.05)  # section 5.5
    late = tcp.ack(3.2, 3000)  # a timer that was due went off before
    assert [s["now"] for s in late["segments"]] == [pytest.approx(3.05)]
    assert late["state"]["unacked"] == 0


def test_limited_transmit_without_sack() -> None:
    tcp = opened(40, sack=False)
    assert numbers(tcp.ack(0.1, 1000)) == [10, 11]
    assert [numbers(tcp.ack(t, 1000)) for t in (0.101, 0.102)] == [[12], [13]]
    answer = tcp.ack(0.103, 1000)
    assert (answer["segments"][0]["seq"], answer["segments"][0]["again"]) == (1000, True)
    assert answer["state"]["sacked"] == 3


def test_a_zero_window_is_probed() -> None:
    tcp = opened(12)
    assert tcp.ack(0.1, 10_000, window=0)["segments"] == []
    due = tcp.deadline()
    assert due is not None
    probe = tcp.wake(due)["segments"]
    assert [(s["seq"], s["payload"]) for s in probe] == [(10_000, 1)]  # RFC 9293 section 3.8.6.1
    assert tcp.ack(due + 0.05, 10_000, window=0)["segments"] == []
    assert numbers(tcp.ack(due + 0.06, 10_000, window=5000)) == [10, 11]


def test_marks_and_which_packets_are_capable() -> None:
    tcp = opened(40, ecn="accurate", ect="1", ecn_on_control=True)
    answer = tcp.ack(0.1, 1000, ece=True)
    assert (answer["state"]["marks"], answer["state"]["cwnd"]) == (1, 5)
    assert tcp.ack(0.11, 2000, ace=6)["state"]["marks"] == 1  # the counter stays at 5 + 1
    assert {s["ecn"] for s in ef.sender(ecn="accurate", ecn_on_control=True).open()["segments"]} == {"ect0"}
    assert ef.sender(ecn="accurate").open()["segments"][0]["flags"] == ["SYN", "ECE", "CWR", "AE"]


def test_every_stack_and_control_opens() -> None:
    for stack in ("rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux"):
        tcp = ef.sender(stack, types.Cubic())
        tcp.open()
        tcp.write(0, 100_000)
        answer = tcp.ack(0.02, 0)
        assert answer["state"]["unacked"] >= 1, stack
        first = answer["segments"][1]
        after = tcp.ack(0.04, first["seq"] + first["payload"])["state"]
        assert after["una"] == first["payload"], stack
        assert after["min_rtt"] == pytest.approx(0.02), stack


def test_what_cannot_be_is_refused_with_a_sentence() -> None:
    for make, message in [
        (lambda: ef.sender("linus"), "linux"),
        (lambda: ef.sender(congestion_control="cubik"), "cubic"),
        (lambda: ef.sender(initial_windw="4 packets"), "initial_window"),
        (lambda: ef.sender(mss=0), "mss"),
        (lambda: ef.sender(ecn_on_control=True), "no effect with ecn"),
        (lambda: ef.sender(ect="2", ecn="accurate"), "ect"),
        (lambda: ef.sender().ack(0, 0), "call open first"),
        (lambda: ef.sender().open(float("nan")), "finite"),
        (lambda: ef.sender().open(-1), "between 0 and"),
        (lambda: ef.sender().open(1e12), "between 0 and"),
        (lambda: ef.sender().write(0, 1.5), "whole number"),  # type: ignore[arg-type]
        (lambda: opened(3).ack(0.1, 4000), "3000 bytes sent"),
        (lambda: opened(3).ack(0.1, 0, [(2000, 1000)]), "not a range"),
        (lambda: opened(3).ack(0.1, 0, [(0, 1000)] * 4), "3 blocks"),
        (lambda: opened(3).ack(0.01, 0), "time must not decrease"),
        (lambda: opened(3).ack(0.1, 0, ace=9), "0 to 7"),
        (lambda: opened(3).ack(0.1, 0, sack=[(1, 2, 3)]), "pairs"),  # type: ignore[list-item]
    ]:
        with pytest.raises(UsageError, match=message):
            make()
