"""What a trace shows of a user: when it fetched, the arriving rate, advertised windows, and its player's buffer.

The buffer follows from the chunks, because a player plays one second per second. It is returned only where it plays
as long and stalls as often as the record reports.
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
"""Intervals of a run for the arriving rate."""
SYN = 2
CLOSE_S = 1e-6
"""Largest difference from the record's playing time."""
SEND, RECEIVE = ACTIONS.index("send"), ACTIONS.index("receive")
Span: TypeAlias = "tuple[float, float]"
User: TypeAlias = "tuple[str, int]"


@dataclass
class Followed:
    """A traced user.

    Attributes:
        fetched: from each request, or its connection's SYN, to the last byte of the answer.
        rate: ends of intervals, and payload received in each, bit/s.
        told: for each connection the instants at which the sender received another window, and the windows, B.
    """

    user: User
    fetched: list[Span]
    rate: tuple[Floats, Floats]
    told: list[tuple[Floats, Floats]] = field(default_factory=list)


@dataclass(frozen=True)
class Buffer:
    """Seconds of video in a player's buffer, linear between instants; and its stalls."""

    times: list[float]
    seconds: list[float]
    stalls: list[Span]


def followed(record: Record) -> list[Followed]:
    """The users of a trace, in the order of groups and users; `[record] events = ["open"]` maps flows to users."""
    import numpy as np

    if not record.is_traced or "events.open.flow" not in record.series_names:
        return []
    groups = sorted(record.json["groups"])
    opened = [record.arrays(f"events.open.{name}")[1].astype(int) for name in ("flow", "group", "user")]
    user_of = {int(flow): (groups[group], int(user)) for flow, group, user in zip(*opened, strict=True)}
    at_ends = np.isnan(record.arrays(f"{TRACE}link")[1]) & np.isnan(record.arrays(f"{TRACE}stage")[1])
    columns = ("action", "flow", "backward", "payload", "flags", "window", "scale", "seq")
    rows = {name: record.arrays(TRACE + name)[1][at_ends] for name in columns}
    rows["time"] = record.arrays(f"{TRACE}action")[0][at_ends]
    found: dict[User, list[dict[str, Floats]]] = {}
    for flow in [flow for flow in np.unique(rows["flow"]) if int(flow) in user_of]:
        mine = rows["flow"] == flow
        found.setdefault(user_of[int(flow)], []).append({name: column[mine] for name, column in rows.items()})
    end = float(record.json["window_s"][1])
    return [_of_user(user, found[user], end) for user in sorted(found)]


def _of_user(user: User, flows: Sequence[dict[str, Floats]], end: float) -> Followed:
    import numpy as np

    step = interval(end, RATES)
    edges: Floats = np.arange(1.0, max(1, round(end / step)) + 1) * step
    arrived, payload = (np.concatenate([flow[name][_arrivals(flow)] for flow in flows]) for name in ("time", "payload"))
    sums = np.bincount(np.searchsorted(edges, arrived - 1e-12), payload, minlength=len(edges))[: len(edges)]
    told = [window for flow in flows if (window := _told(flow))[0].size]
    fetched = united([span for flow in flows for span in _fetched(flow)])
    return Followed(user, fetched, (edges, np.asarray(sums * (8.0 / step), dtype=np.float64)), told)


def _arrivals(flow: Mapping[str, Floats]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (flow["action"] == RECEIVE) & (flow["backward"] == 0) & (flow["payload"] > 0)
    return found


def _fetched(flow: Mapping[str, Floats]) -> list[Span]:
    """From each request of a connection to the last byte before the next; the first includes the handshake."""
    import numpy as np

    sent = (flow["action"] == SEND) & (flow["backward"] == 1)
    asks = sent & (flow["payload"] > 0)
    times, numbers = flow["time"][asks], flow["seq"][asks]
    times = times[numbers > np.maximum.accumulate(np.concatenate([[-1.0], numbers]))[:-1]]
    arrived = flow["time"][_arrivals(flow)]
    if not len(times) or not len(arrived):
        return []
    # a request in several packets is one
    times = times[np.concatenate([[True], np.diff(np.searchsorted(arrived, times, side="right")) > 0])]
    first = np.searchsorted(arrived, times, side="right")
    # data that arrives at the instant of the next request triggered that request
    stops = np.append(first[1:], len(arrived))
    opens = flow["time"][sent & (flow["flags"].astype(int) & SYN > 0)]
    starts = np.concatenate([opens[:1], times[1:]]) if len(opens) else times
    pairs = zip(starts, first, stops, strict=True)
    return [(float(start), float(arrived[stop - 1])) for start, begin, stop in pairs if stop > begin]


def _told(flow: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Scaled windows that the sender receives, where they change."""
    import numpy as np

    backward, opens = flow["backward"] == 1, flow["flags"].astype(int) & SYN > 0
    scales = flow["scale"][backward & opens & ~np.isnan(flow["scale"])]
    received = backward & ~opens & (flow["action"] == RECEIVE) & ~np.isnan(flow["window"])
    values = flow["window"][received] * (2.0 ** scales[0] if len(scales) else 1.0)
    changes = np.diff(values, prepend=np.nan) != 0
    return flow["time"][received][changes], values[changes]


def united(spans: Sequence[Span]) -> list[Span]:
    """Periods in order, overlapping ones merged."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


# --- The player's buffer -------------------------------------------------------------------------------------------


def buffer(record: Record, one: Followed) -> Buffer | None:
    """The buffer of a user, from the arrivals of its chunks.

    None where it does not follow from them (several videos or connections, abandoned chunks, an unknown scenario),
    or where it contradicts the record.
    """
    group, user = one.user
    video = record.json["groups"][group].get("video") or {}
    traffic = _player(record, group)
    if traffic is None or not one.fetched or video["users_asked"][user] != 1:
        return None
    from_s, end = (float(t) for t in record.json["window_s"])
    end_s = min(end, _seconds(traffic.get("until")) or end)
    chunk = _seconds(traffic["chunk"]) or 0.0
    start, resume = (_seconds(traffic.get(name)) or chunk for name in ("play_at", "resume_at"))
    length = _seconds(traffic.get("length"))
    chunks = -(-length // chunk) if length else None
    # the trace does not show whether the last chunk was complete at the end
    for last in (len(one.fetched), len(one.fetched) - 1):
        instants = [at for _, at in one.fetched[:last] if at <= end_s]
        held, spans = play(instants, one.fetched[0][0], chunk, start, resume, end_s, chunks)
        shown = sum(max(0.0, min(b, end) - max(a, from_s)) for a, b in spans)
        if (
            sum(from_s < at <= end for at in instants) == video["users_chunks_received"][user]
            and sum(from_s <= a for a, _ in held.stalls) == video["users_stalls"][user]
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
    """A buffer that receives a chunk at each instant, and the periods in which it plays.

    Args:
        asked: time of the first request.
        start, resume: seconds in the buffer at which playing starts, and resumes after a stall.
        chunks: of the whole video; None: endless.
    """
    buffer, spans = Buffer([asked], [0.0], []), []
    held, last, threshold = 0.0, asked, start
    playing: float | None = None
    stalled: float | None = None

    def note(at: float) -> None:
        buffer.times.append(at)
        buffer.seconds.append(held)

    for number, now in enumerate([*instants, end], 1):
        final = number > len(instants)
        empty = last + held
        if playing is not None and empty < now - 1e-12:
            spans.append((playing, empty))
            held, playing = 0.0, None
            note(empty)
            if not final or chunks is None or len(instants) < chunks:
                stalled, threshold = empty, resume
        elif playing is not None:
            held = max(0.0, empty - now)
        last = now
        note(now)
        if final:
            break
        held += chunk
        note(now)
        if playing is None and (held >= threshold - 1e-9 or number == chunks):
            playing = now
            if stalled is not None:
                buffer.stalls.append((stalled, now))
                stalled = None
    spans += [(playing, end)] if playing is not None else []
    buffer.stalls.extend([(stalled, end)] if stalled is not None else [])
    return buffer, spans


def traffic_of(record: Record, group: str) -> list[dict[str, Any]]:
    """Traffic of a group's users, with every default; [] where the scenario is unknown."""
    if record.scenario is None:
        return []
    found = json.loads(record.scenario.core.canonical)["groups"][group]["traffic"]
    return list(found) if isinstance(found, list) else [found]


def _player(record: Record, group: str) -> dict[str, Any] | None:
    """The only traffic of a group, where it is a player with one connection that abandons no chunk."""
    kinds = traffic_of(record, group)
    if len(kinds) != 1 or not kinds[0].get("adaptation"):
        return None
    several = kinds[0].get("connections", 1) not in (1, "one", "none", None)
    return None if several or kinds[0].get("abandon") not in (None, "never", "none") else kinds[0]


def _seconds(text: Any) -> float | None:
    """A duration of the canonical scenario; None where it is absent or drawn."""
    return float(text.removesuffix(" s")) if isinstance(text, str) and text.endswith(" s") else None
