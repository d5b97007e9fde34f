"""Laws of congestion policing with real TCP senders: what passes an empty bucket, what that leaves of a rate, and what
short flows meet.

    Where a user's bucket stays empty, the reports that pass come to the filling rate r: nothing is filled in vain, and
    with `charge = "pass"` nothing but what passes takes anything out (RFC 7713 section 5.4.3; Sanhaji et al. 2015,
    section III.C). It is counted behind the policer, by a meter of codes. What is left out is what the bucket holds at
    both ends: its depth over what has come, less than the 2 % that are accepted.
    Then the user's packets pass at X = r/p, where p is the reports that his senders make a packet: the policer picks
    packets without looking at what they report. Reports and drops come in bursts, the same ones: 5 % are accepted.
    Short flows (Sanhaji et al. 2015, section V) beside datagrams that nobody can hold back: what is offered beyond the
    line, 10 of 110 Mbit/s, must be dropped of the 90 that are not ECN-capable, and RED marks as it drops: a ninth of
    the packets, 0.111. A heavy user's 0.8 x 166.7 / 10 flows a second of ten packets then meet 133 x 0.111 = 14.8 marks
    a second, 14.7 with the 0.11 of the paper's own arithmetic. The number of flows is drawn, in 300 s to 1.6 %; RED's
    marks are spread evenly and drops are not quite; 5 % are accepted.

The widths were fixed before the first run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenflow import Record, Scenario
from laws import Bracket, Law

OF = ("congestion-policer", "conex", "congestion-meter")
DEPTH = 45
CAPACITY_MBPS = 20
FULL = 167
"""Packets that 100 ms of the line hold."""
TCP: dict[str, Any] = {
    "stack": "ns2-linux",
    "congestion_control": "cubic",
    "handshake": "none",
    "max_window": "64 KiB",
}


def crowd(rate: float, seconds: float) -> Scenario:
    """A fifth of the paper's network: two heavy users with 36 flows each, 18 light ones with one, all policed."""
    tcp = {**TCP, "ecn": "accurate", "conex": {"unit": "packets"}}
    traffic = {"kind": "bulk", "start": {"uniform": ["0 s", "300 ms"]}}
    police = {
        "kind": "congestion-policer",
        "per": "user",
        "rate": f"{rate:g} packets/s",
        "depth": f"{DEPTH} packets",
        "charge": "pass",
        "level": 0,
    }
    queue = {
        "kind": "red",
        "variant": "ns2",
        "limit": f"{FULL} packets",
        "min_threshold": f"{FULL / 10:g} packets",
        "max_threshold": f"{FULL} packets",
        "max_probability": 1.0,
        "weight": 0.002,
        "action": "mark",
    }
    return Scenario(
        {
            "duration": f"{seconds:g} s",
            "links": {
                "access": {"rate": "1 Gbit/s", "delay": "1 ms", "per": "user"},
                "line": {"rate": f"{CAPACITY_MBPS} Mbit/s", "delay": "49 ms", "queue": queue},
            },
            "stages": {"police": police, "passed": {"kind": "congestion-meter", "per": "user"}},
            "groups": {
                name: {
                    "users": users,
                    "path": ["access", "police", "passed", "line"],
                    "traffic": {**traffic, "flows": flows},
                    "tcp": tcp,
                }
                for name, users, flows in (("heavy", 2, 36), ("light", 18, 1))
            },
        }
    )


def seconds_of(record: Record) -> float:
    """The time that was measured."""
    start, end = record.json["window_s"]
    return float(end - start)


def passed(record: Record, *codes: str) -> float:
    """Packets of these codes a second behind the policer, of a heavy user."""
    meter = record.json["stages"]["passed"]["groups"]["heavy"]
    each = [sum(meter[f"users_{code}"][user] for code in codes) for user in range(2)]
    return sum(each) / len(each) / seconds_of(record)


def reports_passed(record: Record) -> float:
    """Reports a second that pass, of a heavy user."""
    return passed(record, "positive", "cancelled")


def rate_times_share(record: Record) -> float:
    """X p / r, of which all but the first is told by others than the meter: p by the senders."""
    group = record.json["groups"]["heavy"]
    reports = group["conex"]["reports"]
    share = (reports["loss"]["packets"] + reports["mark"]["packets"]) / group["sent_packets"]
    return passed(record, "positive", "cancelled", "neutral", "negative") * share


def empty_buckets(length: float = 1.0) -> Iterator[Law]:
    """Heavy users who would meet 180 marks a second, and may have 10 to 90."""
    for rate in (10, 20, 45, 90):
        scenario = crowd(rate, 400 * length)
        yield Law(
            "reports that pass an empty bucket",
            {"r": rate},
            OF,
            "reports that pass (1/s)",
            "RFC 7713 section 5.4.3; Sanhaji et al. 2015 section III.C",
            Bracket(rate, rate, 0.02),
            scenario,
            reports_passed,
        )
        yield Law(
            "X = r/p behind an empty bucket",
            {"r": rate},
            OF,
            "packets that pass x reports a packet (1/s)",
            "RFC 7713 section 5.4.3; Sanhaji et al. 2015 section III.C",
            Bracket(rate, rate, 0.05),
            scenario,
            rate_times_share,
        )


PACKET, PAYLOAD = 1500, 1450
OFFERED_MBPS, CROSS_MBPS, LINE_MBPS = 110, 90, 100
FLOWS_PER_S, HEAVY_SHARE, HEAVY_USERS, FLOW_PACKETS = 1000 / 6, 0.8, 10, 10


def short_flows(seconds: float) -> Scenario:
    """Figure 20's network without a policer (section V)."""
    tcp = {**TCP, "ecn": "accurate", "conex": {"unit": "packets", "leftover": "carry"}}
    queue = {
        "kind": "red",
        "variant": "ns2",
        "limit": "833 packets",
        "min_threshold": "83.3 packets",
        "max_threshold": "833 packets",
        "max_probability": 1.0,
        "weight": 1.2e-4,
        "action": "mark",
    }
    flows = {"kind": "short-flows", "arrivals": "flows", "size": f"{FLOW_PACKETS * PAYLOAD} B"}
    datagrams = {"kind": "cbr", "rate": f"{CROSS_MBPS} Mbit/s", "packet": f"{PACKET} B", "gap": {"jitter": 0.5}}
    groups: dict[str, Any] = {
        name: {"users": users, "path": ["access", "line"], "traffic": {**flows, "share": share}, "tcp": tcp}
        for name, users, share in (("heavy", HEAVY_USERS, HEAVY_SHARE), ("light", 90, 1 - HEAVY_SHARE))
    }
    groups["datagrams"] = {"users": 1, "path": ["line"], "traffic": datagrams}
    return Scenario(
        {
            "duration": f"{seconds:g} s",
            "warmup": f"{seconds / 15:g} s",
            "arrivals": {"flows": {"interval": {"gamma": [f"{1000 / FLOWS_PER_S:g} ms", 1.0]}}},
            "links": {
                "access": {"rate": "1 Gbit/s", "delay": "1 ms", "per": "user"},
                "line": {"rate": f"{LINE_MBPS} Mbit/s", "delay": "49 ms", "queue": queue},
            },
            "groups": groups,
        }
    )


def marks_of_heavy(record: Record) -> float:
    """Marks a second of a heavy user."""
    return float(record.json["groups"]["heavy"]["marks"]) / HEAVY_USERS / seconds_of(record)


def figure_20(length: float = 1.0) -> Iterator[Law]:
    """Marks of a heavy user's short flows."""
    share = (OFFERED_MBPS - LINE_MBPS) / CROSS_MBPS
    packets = FLOWS_PER_S * HEAVY_SHARE / HEAVY_USERS * FLOW_PACKETS
    yield Law(
        "marks of short flows beside datagrams",
        {},
        ("red", "short-flows", "conex"),
        "marks of a heavy user (1/s)",
        "Sanhaji et al. 2015 section V, figure 20",
        Bracket(packets * 0.11, packets * share, 0.05),
        short_flows(300 * length),
        marks_of_heavy,
    )


def all_laws(length: float = 1.0) -> Iterator[Law]:
    """All of them; `length` scales how long they are run."""
    yield from empty_buckets(length)
    yield from figure_20(length)
