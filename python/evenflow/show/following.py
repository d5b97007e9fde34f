"""What a trace tells of a user: when his chunks were fetched, at which rate data came, which windows he told.

What a player's buffer held follows from the chunks, since it plays one second a second. It is given only where it plays
as long, and stalls as often, as the record of the run says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..run.record import ACTIONS, TRACE
from ..run.recording import interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record

    Floats: TypeAlias = NDArray[np.float64]

RATES = 600
"""Intervals of a run over which the rate of what arrives is taken."""
SYN = 2
CLOSE_S = 1e-6
"""As far as the time that was played may differ from the record's: sums of many numbers."""
Span: TypeAlias = "tuple[float, float]"
User: TypeAlias = "tuple[str, int]"


@dataclass
class Followed:
    """A user whose packets were followed.

    Attributes:
        fetched: from each request, or the opening of its connection, to the last byte that answers it.
        rate: ends of intervals, and payload that arrived in each, bit/s.
        told: for each connection the instants at which its sender heard of another window, and these, B.
    """

    user: User
    fetched: list[Span]
    rate: tuple[Floats, Floats]
    told: list[tuple[Floats, Floats]] = field(default_factory=list)


@dataclass(frozen=True)
class Buffer:
    """What a player's buffer holds: seconds of video, a line between instants; and when it stalled."""

    times: list[float]
    seconds: list[float]
    stalls: list[Span]


def followed(record: Record) -> list[Followed]:
    """The users of a record with a trace whose flows are known, in the order of groups and users.

    Which user's a flow is stands in the list of openings (`[record] events = ["open"]`).
    """
    import numpy as np

    if not record.is_traced or "events.open.flow" not in record.series_names:
        return []
    groups = sorted(record.json["groups"])
    opened = {name: record.arrays(f"events.open.{name}")[1].astype(int) for name in ("flow", "group", "user")}
    whose: dict[int, User] = {
        int(flow): (groups[group], int(user))
        for flow, group, user in zip(opened["flow"], opened["group"], opened["user"], strict=True)
    }
    at_ends = np.isnan(record.arrays(f"{TRACE}link")[1]) & np.isnan(record.arrays(f"{TRACE}stage")[1])
    columns = ("action", "flow", "backward", "payload", "flags", "window", "scale", "seq")
    rows = {name: record.arrays(TRACE + name)[1][at_ends] for name in columns}
    rows["time"] = record.arrays(f"{TRACE}action")[0][at_ends]
    end = float(record.json["window_s"][1])
    found: dict[User, list[dict[str, Floats]]] = {}
    for flow in np.unique(rows["flow"]):
        user = whose.get(int(flow))
        if user is not None:
            mine = rows["flow"] == flow
            found.setdefault(user, []).append({name: column[mine] for name, column in rows.items()})
    return [_of_user(user, found[user], end) for user in sorted(found)]


def _of_user(user: User, flows: Sequence[dict[str, Floats]], end: float) -> Followed:
    import numpy as np

    spans = [span for flow in flows for span in _fetched(flow)]
    arrived = [flow["time"][_arrivals(flow)] for flow in flows]
    payload = [flow["payload"][_arrivals(flow)] for flow in flows]
    step = interval(end, RATES)
    edges = np.arange(1, max(1, round(end / step)) + 1) * step
    which = np.searchsorted(edges, np.concatenate(arrived) - 1e-12)
    sums = np.bincount(which, np.concatenate(payload), minlength=len(edges))[: len(edges)]
    told = [window for flow in flows if (window := _told(flow))[0].size]
    rate = np.asarray(sums * (8.0 / step), dtype=np.float64)
    return Followed(user, united(spans), (np.asarray(edges, dtype=np.float64), rate), told)


def _arrivals(flow: Mapping[str, Floats]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (
        (flow["action"] == ACTIONS.index("receive")) & (flow["backward"] == 0) & (flow["payload"] > 0)
    )
    return found


def _fetched(flow: Mapping[str, Floats]) -> list[Span]:
    """From each request of a connection to the last byte before the next; the first with the opening of it."""
    import numpy as np

    sent = (flow["action"] == ACTIONS.index("send")) & (flow["backward"] == 1)
    asks = sent & (flow["payload"] > 0)
    times, numbers = flow["time"][asks], flow["seq"][asks]
    new = numbers > np.maximum.accumulate(np.concatenate([[-1.0], numbers[:-1]])) if len(numbers) else asks[:0]
    times = times[new]
    arrived = flow["time"][_arrivals(flow)]
    if not len(times) or not len(arrived):
        return []
    # a request in several packets is one
    behind = np.searchsorted(arrived, times, side="right")
    times = times[np.concatenate([[True], np.diff(behind) > 0])]
    opens = flow["time"][sent & (flow["flags"].astype(int) & SYN > 0)]
    found = []
    for n, start in enumerate(times):
        # what arrives at the instant of the next request made the client ask
        stop = np.searchsorted(arrived, times[n + 1], side="right") if n + 1 < len(times) else len(arrived)
        first = np.searchsorted(arrived, start, side="right")
        if stop > first:
            found.append((float(opens[0] if n == 0 and len(opens) else start), float(arrived[stop - 1])))
    return found


def _told(flow: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Windows as the sender hears of them, with their scale, where they change."""
    import numpy as np

    backward, opens = flow["backward"] == 1, flow["flags"].astype(int) & SYN > 0
    scales = flow["scale"][backward & opens & ~np.isnan(flow["scale"])]
    heard = backward & ~opens & (flow["action"] == ACTIONS.index("receive")) & ~np.isnan(flow["window"])
    values = flow["window"][heard] * (2.0 ** scales[0] if len(scales) else 1.0)
    changes = np.concatenate([[True], np.diff(values) != 0]) if len(values) else heard[:0]
    return flow["time"][heard][changes], values[changes]


def united(spans: Sequence[Span]) -> list[Span]:
    """Periods in order, those that overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


# --- The player's buffer -------------------------------------------------------------------------------------------


def buffer(record: Record, one: Followed) -> Buffer | None:
    """What the buffer of a user held, from the instants at which his chunks were there.

    None where that does not follow: more than one video or connection at a time, chunks that were given up, a scenario
    that is not known; or where it does not play and stall as the record says.
    """
    group, user = one.user
    video = record.json["groups"][group].get("video") or {}
    traffic = _player(record, group)
    if traffic is None or not one.fetched or video["users_asked"][user] != 1:
        return None
    from_s, end = (float(t) for t in record.json["window_s"])
    until = _seconds(traffic.get("until"))
    end_s = min(end, until) if until is not None else end
    chunk = _seconds(traffic["chunk"]) or 0.0
    start, resume = (_seconds(traffic.get(name)) or chunk for name in ("play_at", "resume_at"))
    length = _seconds(traffic.get("length"))
    chunks = -(-length // chunk) if length else None
    # whether the last chunk came in whole before the end is not seen
    for last in (len(one.fetched), len(one.fetched) - 1):
        instants = [at for _, at in one.fetched[:last] if at <= end_s]
        held, spans = play(instants, one.fetched[0][0], chunk, start, resume, end_s, chunks)
        shown = sum(max(0.0, min(b, end) - max(a, from_s)) for a, b in spans)
        stalls = sum(from_s <= a for a, _ in held.stalls)
        there = sum(from_s < at <= end for at in instants)
        if (
            there == video["users_chunks_received"][user]
            and stalls == video["users_stalls"][user]
            and abs(shown - video["users_played_s"][user]) <= CLOSE_S
        ):
            return held
    return None


def play(
    instants: Sequence[float],
    asked: float,
    chunk: float,
    start: float,
    resume: float,
    end: float,
    chunks: float | None = None,
) -> tuple[Buffer, list[Span]]:
    """A buffer into which a chunk comes at each instant, and when it is played.

    Args:
        asked: when the video is asked for.
        start, resume: seconds in the buffer from which it plays, and plays on after a stall.
        chunks: of the whole video; None: without end.
    """
    times, seconds, stalls, spans = [asked], [0.0], [], []
    held, last, threshold = 0.0, asked, start
    playing: float | None = None
    stalled: float | None = None

    def until(now: float, whole: bool) -> None:
        nonlocal held, last, playing, stalled, threshold
        if playing is not None:
            empty = last + held
            if empty < now - 1e-12:
                spans.append((playing, empty))
                times.append(empty)
                seconds.append(0.0)
                held, playing = 0.0, None
                if not whole:
                    stalled, threshold = empty, resume
            else:
                held = max(0.0, held - (now - last))
        last = now

    for number, now in enumerate(instants, 1):
        until(now, whole=False)
        times.append(now)
        seconds.append(held)
        held += chunk
        times.append(now)
        seconds.append(held)
        if playing is None and (held >= threshold - 1e-9 or number == chunks):
            playing = now
            if stalled is not None:
                stalls.append((stalled, now))
                stalled = None
    until(end, whole=chunks is not None and len(instants) >= chunks)
    times.append(end)
    seconds.append(held)
    if playing is not None:
        spans.append((playing, end))
    if stalled is not None:
        stalls.append((stalled, end))
    return Buffer(times, seconds, stalls), spans


def traffic_of(record: Record, group: str) -> list[dict[str, Any]]:
    """What the users of a group send, with every default; [] where the scenario is not known."""
    if record.scenario is None:
        return []
    found = json.loads(record.scenario.core.canonical)["groups"][group]["traffic"]
    return list(found) if isinstance(found, list) else [found]


def _player(record: Record, group: str) -> dict[str, Any] | None:
    """The only traffic of a group, where it is a player that fetches over one connection and gives nothing up."""
    kinds = traffic_of(record, group)
    if len(kinds) != 1 or kinds[0].get("kind") != "has":
        return None
    several = kinds[0].get("connections", 1) not in (1, "one", "none", None)
    return None if several or kinds[0].get("abandon") not in (None, "never", "none") else kinds[0]


def _seconds(text: Any) -> float | None:
    """A duration as the scenario's canonical form writes it; None where there is none, or it is drawn."""
    if not isinstance(text, str) or not text.endswith(" s"):
        return None
    return float(text.removesuffix(" s"))
