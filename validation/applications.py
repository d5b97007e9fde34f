"""Laws of applications: what a ping takes beside datagrams, and what users who wait for answers come to.

Pollaczek and Khinchine (Kleinrock 1975): packets of any sizes that arrive as a Poisson process wait λ E[S²]/(2 (1 - ρ))
on average, S being the time of a transmission. Echo requests that come as such a process see that wait (PASTA).
Little (1961): so many are in progress as arrive in the time that one takes. For users who wait for each answer and
think before the next question it says: rate = users / (think + response). Both are identities of a run but for its
edges and, where users think, for the mean of the times that were drawn; the slack is that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenflow import Record, Scenario
from laws import Bracket, Law

RATE_BPS = 10e6
DELAY_S = 0.02
ECHO, DATAGRAM = 84, 1500
USERS, THINK_S = 12, 1.0
EDGE = 0.01


def transfers(record: Record, group: str = "users") -> dict[str, Any]:
    """What a record says of a group's transfers."""
    found: dict[str, Any] = record.json["groups"][group]["transfers"]
    return found


def pings() -> Iterator[Law]:
    """Round trips of echoes through a link that datagrams load."""
    echo, datagram = 8 * ECHO / RATE_BPS, 8 * DATAGRAM / RATE_BPS
    often = 20.0  # a second
    for load in (0.0, 0.3, 0.6, 0.9):
        others = load / datagram
        busy = others * datagram + often * echo
        wait = (others * datagram**2 + often * echo**2) / (2 * (1 - busy))
        expected = 1e3 * (2 * DELAY_S + 2 * echo + wait)
        groups: dict[str, Any] = {
            "users": {
                "users": 1,
                "path": ["path"],
                "traffic": {"kind": "ping", "interval": {"exponential": f"{1 / often} s"}},
            }
        }
        if load:
            sent = {"kind": "poisson", "rate": f"{load * RATE_BPS} bit/s", "packet": f"{DATAGRAM} B"}
            groups["others"] = {"users": 1, "path": ["path"], "traffic": sent}
        yield Law(
            name="a ping beside datagrams",
            point={"load": f"{load}"},
            of=("ping", "poisson"),
            metric="round trip (ms)",
            source="Kleinrock 1975",
            predicted=Bracket(expected, expected, 0.005),
            scenario=Scenario(
                {
                    "duration": "600 s",
                    "warmup": "10 s",
                    "links": {"path": {"rate": f"{RATE_BPS} bit/s", "delay": f"{DELAY_S} s"}},
                    "groups": groups,
                }
            ),
            measure=lambda record: 1e3 * transfers(record)["completion_s_mean"],
        )


def users() -> Iterator[Law]:
    """Transfers in progress, and rates of users who wait."""
    think = {"exponential": f"{THINK_S} s"}
    kinds: dict[str, dict[str, Any]] = {
        "request-response": {"response": "60 kB", "think": think},
        "web": {"page_size": "20 kB", "object_size": "10 kB", "objects": 4, "think": think},
        "short-flows": {"size": {"exponential": "30 kB"}, "interval": {"exponential": "1 s"}},
    }
    for kind, lines in kinds.items():
        closed = "think" in lines
        # A page is one transfer in `transfers`, whatever its objects.
        yield Law(
            name="users who wait for answers" if closed else "flows in progress",
            point={"traffic": kind},
            of=(kind,),
            metric="rate (think + response) / users" if closed else "in progress / (rate x time)",
            source="Little 1961",
            predicted=Bracket(1.0, 1.0, EDGE),
            scenario=Scenario(
                {
                    "duration": "420 s",
                    "warmup": "20 s",
                    "links": {"path": {"rate": "5 Mbit/s", "delay": "20 ms", "queue": {"limit": "60 packets"}}},
                    "groups": {"users": {"users": USERS, "path": ["path"], "traffic": {"kind": kind, **lines}}},
                }
            ),
            measure=closed_law if closed else open_law,
        )


def closed_law(record: Record) -> float:
    """Rate times (think + response), by users."""
    found = transfers(record)
    start, end = record.json["window_s"]
    return float(found["completed"] / (end - start) * (THINK_S + found["completion_s_mean"]) / USERS)


def open_law(record: Record) -> float:
    """In progress, by rate times time."""
    found = transfers(record)
    start, end = record.json["window_s"]
    return float(found["in_progress_mean"] / (found["completed"] / (end - start) * found["completion_s_mean"]))


def all_laws() -> Iterator[Law]:
    """All of them."""
    yield from pings()
    yield from users()
