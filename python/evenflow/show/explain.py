"""Why a packet was dropped or marked, or a sender slowed down: `explain` repeats a run and reads recorded values.

The run is repeated with the same seed, a trace of one user, and every observable of the component, recorded at each of
its decisions. No value is computed a second time.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError, ScenarioError, UsageError, nearest
from ..run.recording import watched_for
from ..scenario import paths, registry
from . import following
from .names import Quantity
from .picture import Line, Mark, Panel, Picture

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record
    from ..scenario.scenario import Scenario

    Floats = NDArray[np.float64]

SENDER = ("window", "ssthresh", "flight", "recovery", "srtt")
"""Observables of a TCP flow that show its answer."""
SAMPLES = 100_000
"""Most instants at which a sender is observed."""
ANY_PACKET = ("active_queues", "new_queues", "flow_packets")
"""Observables of flow queues that are recorded at arrivals: no drop changes them, or they explain drops of arrivals."""
LEAST_STEP_S = 1e-4
"""Shortest time between them."""
STATES = {2: "marks", 3: "losses", 4: "timeout"}
"""States of loss recovery that begin with a reduction of the window -> its cause."""
STALL = "stall"
ANSWERS = {
    "marks": "The sender reduces its window after congestion marks.",
    "losses": "The sender detects a loss and starts fast recovery.",
    "timeout": "No ACK arrived before the retransmission timeout.",
    "control": "The congestion control reduces window and threshold without a loss.",
    "idle": "The sender was idle for longer than its timeout and restarts from a smaller window.",
    STALL: "The buffer of the player is empty.",
}
DOCUMENTS = {"timeout": "RFC 6298 section 5", "idle": "RFC 5681 section 4.1"}
"""Documents of reductions that are not the congestion control's."""
ANSWER_S = 3.5
"""Seconds after the event in which the sender's answer is looked for; at least four round trips."""
LONGEST_ANSWER_S = 20.0
"""Seconds after a chosen event that are traced: a trace holds a limited number of rows."""
IDLE_S = 0.2
"""Shortest pause that can be longer than a retransmission timeout."""
KINDS = ("drop", "mark", *ANSWERS)


@dataclass(frozen=True)
class Event:
    """An event of a flow.

    Attributes:
        number: 1, 2, … among the flow's events.
        kind: "drop" or "mark" of a packet; why the sender reduced its window: "marks", "losses", "timeout", "control",
            "idle"; "stall" of the flow's player.
        time_s: its instant.
        flow: the path of the flow.
        place: component and copy, "links.access[3]"; "end" for the sender, "player".
        reason: of a drop or mark.
        packet: the trace's row; None for the sender.
    """

    number: int
    kind: str
    time_s: float
    flow: str
    place: str
    reason: str = ""
    packet: dict[str, Any] | None = None


@dataclass(frozen=True)
class Explanation:
    """An event with its rule, the recorded values, and what followed.

    Attributes:
        event: the event.
        rule: what the rule does, in one sentence.
        law: its condition or equation; `filled`: with the recorded values and the parameters.
        source: document and section.
        before, after: observables at the last decision before, and at this one. CoDel, FQ-CoDel, COBALT and DualPI2
            decide at departure: at the drop or mark before, and at this one. `before` is empty for a random loss.
        parameters: of the mechanism, in the units of the scenario.
        answer: instants and sentences: what the sender did next.
        rtt_s: smoothed round-trip time at the event.
        record: the repeated run, with series and trace.
    """

    event: Event
    rule: str
    law: str
    filled: str
    source: str
    before: dict[str, float]
    after: dict[str, float]
    parameters: dict[str, Any]
    answer: list[tuple[float, str]]
    rtt_s: float
    record: Record = field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain data."""
        found = {name: getattr(self, name) for name in ("rule", "law", "filled", "source", "parameters")}
        return {
            "event": asdict(self.event),
            **found,
            "values": {name: _plain(value) for name, value in self.after.items()},
            "values_before": {name: _plain(value) for name, value in self.before.items()},
            "sender": [{"time_s": at, "text": text} for at, text in self.answer],
        }

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def events(scenario: Scenario, flow: str, seed: int = 1) -> list[Event]:
    """All drops, marks and window reductions of a flow.

    Args:
        flow: "groups.NAME.users[0].flows[0]".

    Raises:
        UsageError: the scenario has no such flow.
        EvenflowError: more packets than a trace holds.
    """
    return _Flow(scenario, flow, seed).events


def explain(
    scenario: Scenario,
    seed: int = 1,
    *,
    drop: int | None = None,
    mark: int | None = None,
    at: float | None = None,
    flow: str | None = None,
    event: int | None = None,
) -> Explanation:
    """Why something happened in a run, and what the sender did next.

    Args:
        scenario: of the run; it is repeated two or three times.
        seed: of the run.
        drop, mark: the number of a drop or mark, from 1: of the flow, or without one of all links.
        at: seconds: the event nearest to this instant.
        flow: "groups.NAME.users[0].flows[0]".
        event: the number of one of the flow's `events`.

    Raises:
        UsageError: no such event, or none chosen.
        EvenflowError: more packets than a trace holds.
    """
    chosen = {"drop": drop, "mark": mark, "at": at, "event": event}
    given = [name for name, value in chosen.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: choose the event by one of them.")
    if event is not None and flow is None:
        raise UsageError("event counts the events of a flow; name the flow too.")
    if at is not None and not 0 <= at <= scenario.core.duration_s:
        raise UsageError(f"at {at:g} s: the run lasts {scenario.core.duration_s:g} s.")
    time: float | None = None
    if flow is None:
        flow, time = _owner(scenario, seed, drop, mark, at)
    one = _Flow(scenario, flow, seed, math.inf if time is None else time + LONGEST_ANSWER_S)
    return one.explained(one.chosen(drop, mark, at, event, time))


# --- Choosing ------------------------------------------------------------------------------------------------------


def _owner(scenario: Scenario, seed: int, drop: int | None, mark: int | None, at: float | None) -> tuple[str, float]:
    """The flow and the instant of a drop or mark among those of all links; by default of the first one."""
    kinds = ["drop"] if drop is not None else ["mark"] if mark is not None else ["drop", "mark"]
    record = scenario.set("record", {"events": ["open", *kinds]}).run(seed)
    found = sorted(
        (float(time), kind, int(flow))
        for kind in kinds
        for time, flow in zip(*record.arrays(f"events.{kind}.flow"), strict=True)
    )
    if not found:
        raise UsageError(f"No link had a {' or '.join(kinds)}; name a flow to see drops of stages and its sender.")
    number = drop if drop is not None else mark
    if number is not None and not 1 <= number <= len(found):
        raise UsageError(f"{kinds[0]} {number}: there are {len(found)}, numbered from 1.")
    time, _, flow = min(found, key=lambda it: abs(it[0] - at)) if at is not None else found[(number or 1) - 1]
    return _paths_of_flows(record)[flow], time


def _paths_of_flows(record: Record) -> dict[int, str]:
    groups = sorted(record.json["groups"])
    opened = [record.arrays(f"events.open.{name}")[1].astype(int) for name in ("flow", "group", "user", "number")]
    return {
        int(flow): f"{paths.render(('groups', groups[group]))}.users[{user}].flows[{number}]"
        for flow, group, user, number in zip(*opened, strict=True)
    }


class _Flow:
    """A run with the trace of a flow's user and its sender's state."""

    def __init__(self, scenario: Scenario, path: str, seed: int, end: float = math.inf) -> None:
        parts = re.fullmatch(r"(groups\..+\.users\[\d+\])\.flows\[\d+\]", path)
        if parts is None:
            raise UsageError(f"flow “{path}”: write groups.NAME.users[0].flows[0].")
        group, groups = str(paths.parse(path)[1]), scenario.tree["groups"]
        if group not in groups:
            guess = nearest(group, groups)
            hint = f"did you mean “{guess}”?" if guess else f"there are {', '.join(groups)}."
            raise UsageError(f"flow “{path}”: there is no group “{group}”; {hint}")
        self.scenario, self.seed, self.path, self.user = scenario, seed, path, parts[1]
        self.step = max(LEAST_STEP_S, scenario.core.duration_s / SAMPLES)
        self.end = min(end, scenario.core.duration_s)
        try:
            self.record = self._run(until(scenario, self.end), {})
        except ScenarioError as error:
            said = [text for at, text in error.errors if at.startswith("record.trace")]
            if not said:
                raise
            raise UsageError(f"flow “{path}”: {said[0]}.") from None
        except EvenflowError as error:
            full = re.search(r"more than (\d+) rows by ([\d.]+) s", str(error))
            if full is None:
                raise
            raise UsageError(
                f"{self.user}: its packets fill a trace ({int(full[1]):,} rows) by {float(full[2]):.4g} s. Choose an "
                "event before by --drop, --mark or --at without --flow, or set a shorter duration."
            ) from None
        number = next((n for n, known in _paths_of_flows(self.record).items() if known == path), None)
        if number is None:
            raise UsageError(f"flow “{path}”: it never opened in this run.")
        self.number = number
        traffic = json.loads(scenario.core.canonical)["groups"][str(paths.parse(path)[1])]["traffic"]
        self.marks = any((one.get("tcp") or {}).get("ecn", "off") != "off" for one in traffic)
        self.rows = self._rows(self.record)
        self.events = self._events()

    def _run(self, scenario: Scenario, series: Mapping[str, str]) -> Record:
        sender = [{"of": f"{self.path}.{name}", "every": f"{self.step:.9g} s"} for name in SENDER]
        wanted = [*sender, *({"of": of, "every": every} for of, every in series.items())]
        bare = scenario.set("record", {"trace": [self.user], "events": ["open"]})
        return watched_for(bare, wanted).run(self.seed)

    def _rows(self, record: Record) -> list[dict[str, Any]]:
        import polars as pl

        mine = record.trace().filter(pl.col("flow") == self.number)
        return mine.select([name for name in mine.columns if not name.startswith("outer")]).to_dicts()

    def _events(self) -> list[Event]:
        found: list[tuple[float, str, str, str | None, dict[str, Any] | None]] = [
            (row["time_s"], row["action"], f"{row['component']}[{row['copy']}]", row["reason"], row)
            for row in self.rows
            if row["action"] in ("drop", "mark")
        ]
        found += [(time, kind, "end", "", None) for time, kind in self._reductions(self.record, self.rows)]
        found += [(start, STALL, "player", "", None) for start, _ in self._stalls()[1]]
        found.sort(key=lambda it: it[0])
        return [
            Event(n, kind, time, self.path, place, reason or "", row)
            for n, (time, kind, place, reason, row) in enumerate(found, 1)
        ]

    def _state(self, record: Record, name: str) -> tuple[Floats, Floats]:
        import numpy as np

        of = f"{self.path}.{name}"
        return record.arrays(of) if of in record.series_names else (np.array([]), np.array([]))

    def _reductions(self, record: Record, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[float, str]]:
        """When the sender reduced its window: at a change of state, with a lower threshold, or after a pause."""
        import numpy as np

        times, states = self._state(record, "recovery")
        if len(times) < 3:
            return
        thresholds, windows = (self._state(record, name)[1] for name in ("ssthresh", "window"))
        lower = np.diff(np.nan_to_num(thresholds, nan=1e300)) < 0
        for index in (int(it) + 1 for it in np.flatnonzero(np.diff(states) != 0)):
            if states[index] in STATES:
                cause = STATES[int(states[index])]
                yield _instant(rows, times[index - 1], times[index], cause), cause
        for index in (int(it) + 1 for it in np.flatnonzero(lower)):
            if states[index] < 2:
                cause = "marks" if self.marks else "control"
                yield _instant(rows, times[index - 1], times[index], cause), cause
        sent = [row["time_s"] for row in rows if row["action"] == "send" and not row["backward"]]
        for last, first in itertools.pairwise(sent):
            index = int(np.searchsorted(times, first))
            if first - last < IDLE_S or not 0 < index < len(times) - 1 or states[index] != 0:
                continue
            if min(windows[index : index + 2]) < windows[index - 1] and not lower[index - 1 : index + 1].any():
                yield first, "idle"

    def _stalls(self) -> tuple[list[following.Span], list[following.Span]]:
        """Transfers of the user's chunks, from request to last byte, and stalls of its player."""
        name, user = (paths.parse(self.path)[n] for n in (1, 3))
        several = following.followed(self.record) if "video" in self.record.json["groups"][name] else []
        one = next((it for it in several if it.user == (name, user)), None)
        held = following.buffer(self.record, one) if one is not None else None
        return ([], []) if one is None or held is None else (one.fetched, held.stalls)

    def _stall(self, event: Event) -> Explanation:
        transfers, stalls = self._stalls()
        end = next(end for start, end in stalls if start == event.time_s)
        asked, arrived = next(it for it in transfers if it[1] > event.time_s)
        answer = [
            (asked, f"The chunk in transfer was requested, {event.time_s - asked:.3f} s before the stall."),
            (arrived, f"Its last byte arrives after {arrived - asked:.3f} s."),
            (end, f"Playback resumes after {end - event.time_s:.3f} s."),
        ]
        answer += [
            (it.time_s, ANSWERS[it.kind]) for it in self.events if it.place == "end" and asked <= it.time_s <= end
        ]
        return Explanation(
            event, ANSWERS[STALL], "", "", "docs/measuring/video.md", {}, {}, {}, sorted(answer), 0.1, self.record
        )

    def chosen(
        self, drop: int | None, mark: int | None, at: float | None, event: int | None, time: float | None
    ) -> Event:
        """The event asked for; without a wish the first."""
        kind = "drop" if drop is not None else "mark" if mark is not None else None
        known = [it for it in self.events if kind is None or it.kind == kind]
        if not known:
            raise UsageError(f"{self.path} had no {kind or 'drop, mark or reduction of its window'}.")
        if time is not None:  # of a packet at a link
            return next(it for it in known if it.time_s == time and it.packet is not None)
        if at is not None:
            return min(known, key=lambda it: abs(it.time_s - at))
        number = next((n for n in (drop, mark, event) if n is not None), 1)
        if not 1 <= number <= len(known):
            raise UsageError(f"{kind or 'event'} {number}: {self.path} has {len(known)}, numbered from 1.")
        return known[number - 1]

    def explained(self, event: Event) -> Explanation:
        """The event with the values at its component and the sender's answer."""
        if event.kind == STALL:
            return self._stall(event)
        kind, table, every = self._mechanism(event)
        record = self._again(event, every)
        before, after = self._values(record, every, event)
        if event.packet is None:
            pairs = {name: self._around(record, name, event.time_s) for name in SENDER}
            before = {name: pair[0] for name, pair in pairs.items() if pair is not None}
            after = {name: pair[1] for name, pair in pairs.items() if pair is not None}
        variants = (kind, table.get("native", "step" if table.get("form") == "linux" else "ramp"))
        rule, law, source = _rule(variants, event)
        parameters = {name: value for name, value in _parameters(table).items() if name in law or name == "limit"}
        known = {**{name: _number(value) for name, value in parameters.items()}, **after}
        if event.packet is not None:
            known["size"] = float(event.packet["size"])
            law = _compared(_law(variants, event.reason), str(table.get("form", "")), law, after)
            waited = self._waited(event)
            if event.reason == "loss":
                before = {}
                after.pop("flow", None)
            elif waited > 0.0:
                after.setdefault("sojourn", waited)
                known.setdefault("sojourn", waited)
        filled = _filled(law, known)
        answer = sorted(self._answer(record, event))
        return Explanation(
            event, rule, law, filled, source, before, after, parameters, answer, self._srtt(event.time_s), record
        )

    def _again(self, event: Event, every: Mapping[str, str]) -> Record:
        """The run until the sender has answered, with these observables at each decision."""
        record = self._run(self._shorter(event), every)
        self._require_same(record, event)
        return record

    def _mechanism(self, event: Event) -> tuple[str, Mapping[str, Any], dict[str, str]]:
        """The kind at the event's component, its table, and its observables: path and `every` of each series."""
        from ..run.mechanism import schema

        tree = json.loads(self.scenario.core.canonical)
        if event.packet is None:
            group = paths.parse(self.path)[1]
            traffic = tree["groups"][group]["traffic"]
            controls = [(one.get("tcp") or {}).get("congestion_control") for one in traffic]
            kinds = [one["kind"] if isinstance(one, dict) else one for one in controls if one]
            return str(next(iter(kinds), "")), {}, {}
        room, name = paths.parse(event.place.rpartition("[")[0])[:2]
        table = tree[room][name]
        place = event.place if table.get("per", "shared") != "shared" else event.place.rpartition("[")[0]
        if room == "links":
            reverse = self._reverse(event.packet, str(name))
            direction = (table.get("reverse") or {}) if reverse else table
            place += ".reverse" if reverse else ""
            if event.reason == "loss":
                kind = next(it for it in ("every", "burst", "probability") if it in table["loss"])
                behind = ("flow", "draw", "probability", "stays")
                return kind, table["loss"], {f"{place}.loss.{name}": "departure" for name in behind}
            table = direction.get("queue") or {}
        kind = table.get("kind", "")
        found = [m for m in schema()["mechanisms"] if m["kind"] == kind and m["room"] in ("queue", "stage")]
        names = [one["name"] for m in found for one in m["observables"]]
        if room != "links":
            return kind, table, dict.fromkeys((f"{place}.{name}" for name in names), "packet")
        every = "departure" if registry.has(kind, "notes_departures") and not table.get("drop_early") else "packet"
        found_at = {"packets": "packet", "bytes": "packet", **dict.fromkeys([*names, "draw"] if found else [], every)}
        found_at |= {name: "packet" for name in found_at if name in ANY_PACKET}
        return kind, table, {f"{place}.queue.{name}": at for name, at in found_at.items()}

    def _reverse(self, packet: Mapping[str, Any], link: str) -> bool:
        """Whether a packet of the flow crosses a link against the direction in which the link is described."""
        hops = json.loads(self.scenario.core.canonical)["groups"][str(paths.parse(self.path)[1])]["path"]
        return bool(packet["backward"]) != (link not in hops)

    def _end(self, event: Event) -> float:
        """When the sender has answered."""
        return min(event.time_s + max(ANSWER_S, 4.0 * self._srtt(event.time_s)), self.end)

    def _shorter(self, event: Event) -> Scenario:
        """The scenario until the sender has answered."""
        return until(self.scenario, self._end(event))

    def _srtt(self, time: float) -> float:
        import numpy as np

        at, values = self._state(self.record, "srtt")
        index = int(np.searchsorted(at, time))
        near = values[max(0, index - 1) : index + 1]
        return float(near[-1]) if len(near) and np.isfinite(near[-1]) else 0.1

    def _require_same(self, record: Record, event: Event) -> None:
        rows = self._rows(record)
        if rows != self.rows[: len(rows)] and rows[: len(rows) - 1] != self.rows[: len(rows) - 1]:
            raise EvenflowError(
                f"The repeated run differs from the first before {event.time_s:.6f} s. Please report it."
            )

    def _waited(self, event: Event) -> float:
        """How long the packet of an event was in the queue."""
        return event.time_s - self._came(event)

    def _came(self, event: Event) -> float:
        """When the packet of an event arrived at the component."""
        assert event.packet is not None
        came = (row for row in _until(self.rows, event.time_s) if row["action"] == "arrive")
        return float(next((row["time_s"] for row in came if _same(row, event.packet)), event.time_s))

    def _note(self, record: Record, every: Mapping[str, str], event: Event) -> int:
        """The number of the event among drops and marks at departure; several may be at one instant."""
        import numpy as np

        if event.reason == "loss":
            return self._loss(record, next(iter(every)), event)
        name = next(name for name, at in every.items() if at == "departure" and name.endswith(".sojourn"))
        times, sojourns = record.arrays(name)
        off = np.abs(times - event.time_s) + np.abs(sojourns - self._waited(event))
        return int(np.argmin(off)) if len(off) and off.min() < 1e-6 else -1

    def _loss(self, record: Record, flows: str, event: Event) -> int:
        """The number of the event among the link's random losses, which are decided at the arrival.

        Several packets of the flow may arrive at one instant; they are lost in their order.
        """
        import numpy as np

        if flows not in record.series_names:
            return -1
        came = self._came(event)
        losses = (it for it in self.events[: event.number - 1] if (it.place, it.reason) == (event.place, "loss"))
        earlier = sum(self._came(it) == came and _way(it) == _way(event) for it in losses)
        times, of = record.arrays(flows)
        found = np.flatnonzero((np.abs(times - came) < 1e-10) & (of == self.number))
        return int(found[earlier]) if earlier < len(found) else -1

    def _decision(self, record: Record, every: Mapping[str, str], event: Event) -> int:
        """The number of the event among decisions at arrival: of several at one instant that with the least draw."""
        import numpy as np

        name = next((name for name, at in every.items() if at == "packet" and name.endswith(".draw")), "")
        if name not in record.series_names or "picked" not in _laws().get(event.reason, {}):
            return -1
        times, draws = record.arrays(name)
        first, last = (int(np.searchsorted(times, event.time_s, side)) for side in ("left", "right"))
        known = np.isfinite(draws[first:last])
        return first + int(np.argmin(np.where(known, draws[first:last], np.inf))) if known.any() else -1

    def _values(
        self, record: Record, every: Mapping[str, str], event: Event
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The observables at the last recorded decision before the event, and at it, or at the next one."""
        import numpy as np

        before: dict[str, float] = {}
        after: dict[str, float] = {}
        note = self._note(record, every, event) if "departure" in every.values() else -1
        decision = self._decision(record, every, event)
        for name in (name for name in every if name in record.series_names):
            times, values = record.arrays(name)
            first, last = (int(np.searchsorted(times, event.time_s, side)) for side in ("left", "right"))
            if every[name] == "departure":
                if not 0 <= note < len(times):
                    continue  # dropped at its arrival, or nothing is compared
                first, last = note, note + 1
            elif decision >= 0:
                first, last = decision, decision + 1
            short = name.rpartition(".")[2]
            if first > 0 and np.isfinite(values[first - 1]):
                before[short] = float(values[first - 1])
            index = last - 1 if last > first else last  # decisions at departure show at the next arrival
            if index < len(values) and np.isfinite(values[index]):
                after[short] = float(values[index])
        return before, after

    def _answer(self, record: Record, event: Event) -> Iterator[tuple[float, str]]:
        """What the sender did after the event, in order of time."""
        rows = self._rows(record)
        first = bisect.bisect_right(rows, event.time_s, key=_time)
        later = [row for row in rows[first:] if row["component"] == "end"]
        end = float(record.json["window_s"][1])
        if event.packet is not None and not event.packet["backward"] and event.packet["seq"] is not None:
            found = list(self._feedback(event.packet, event.kind, later))
            yield from found
            if event.kind == "mark" and found:  # a mark acts within a round trip after its echo, or not at all
                end = min(end, found[0][0] + self._srtt(event.time_s))
        if not len(self._state(record, "window")[0]):
            return  # datagrams have no sender that answers
        early = event.time_s - (self.step if event.packet is None else 0.0)
        reduced = next((it for it in sorted(self._reductions(record, rows)) if early <= it[0] <= end), None)
        if reduced is None:
            window = self._around(record, "window", end - self.step)
            now = "" if window is None else f" of {window[1]:.1f} packets"
            yield end, f"Until then the sender did not reduce its window{now}."
            return
        time, cause = reduced
        yield from self._trigger(rows, time, cause)
        window, threshold = (self._around(record, name, time) for name in ("window", "ssthresh"))
        text = ANSWERS[cause]
        if cause == "marks" and window is not None and window[1] >= window[0]:
            text = "The sender starts to reduce its window after congestion marks."
        if window is not None:
            text += f" Window {window[0]:.1f} → {window[1]:.1f} packets"
            text += "." if threshold is None else f", ssthresh {threshold[1]:.1f} packets."
        yield time, text
        times, states = self._state(record, "recovery")
        back = times[(times > time + self.step) & (states == 0)][:1]
        if len(back) and cause in ("losses", "timeout"):
            yield float(back[0]), "Recovery ends."

    def _trigger(self, rows: Sequence[dict[str, Any]], time: float, cause: str) -> Iterator[tuple[float, str]]:
        """What made the sender reduce its window."""
        wanted = {"action": "receive", "backward": True} if cause != "idle" else {"action": "send", "backward": False}
        before = (row for row in _until(rows, time) if row["component"] == "end" and wanted.items() <= row.items())
        last = next((row for row in before if cause != "idle" or row["time_s"] < time), None)
        if last is None:
            return
        at, ago = last["time_s"], f"{time - last['time_s']:.3f} s"
        if cause == "losses":
            blocks = [f"{last[f'sack_{n}_from']} to {last[f'sack_{n}_to']}" for n in (1, 2, 3) if last[f"sack_{n}_to"]]
            yield at, f"ACK {last['ack']} arrives" + (f" with SACK {', '.join(blocks)}." if blocks else ".")
        elif cause == "timeout":
            yield at, f"The last ACK before the timeout arrives, {ago} before."
        elif cause == "idle":
            yield at, f"The last packet before a pause of {ago} leaves."

    def _feedback(
        self, packet: Mapping[str, Any], kind: str, later: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[float, str]]:
        sends = [row for row in later if row["action"] == "send" and not row["backward"]]
        acks = [row for row in later if row["action"] == "receive" and row["backward"]]
        seq, payload = packet["seq"], packet["payload"] or 0
        if kind == "mark":
            echo = next((row for row in acks if (row["flags"] or 0) & 64 or (row["ack"] or 0) > seq), None)
            if echo is not None:
                yield echo["time_s"], "The ACK with its mark arrives at the sender."
            return
        hole = next((row for row in acks if any((row[f"sack_{n}_to"] or 0) > seq for n in (1, 2, 3))), None)
        again = next((row for row in sends if row["seq"] == seq and payload), None)
        if hole is not None and (again is None or hole["time_s"] <= again["time_s"]):
            yield hole["time_s"], "The first SACK beyond the lost packet arrives."
        if again is not None:
            yield again["time_s"], f"The sender retransmits bytes {seq} to {seq + payload}."
            filled = next((row for row in acks if (row["ack"] or 0) > seq and row["time_s"] > again["time_s"]), None)
            if filled is not None:
                yield filled["time_s"], "The retransmission is acknowledged."

    def _around(self, record: Record, name: str, time: float) -> tuple[float, float] | None:
        """An observable of the sender at the last sample before an event, and at the first one from it."""
        import numpy as np

        times, values = self._state(record, name)
        index = int(np.searchsorted(times, time))
        if not 0 < index < len(values) or not np.isfinite(values[index]):
            return None
        return float(values[index - 1]), float(values[index])


def until(scenario: Scenario, end: float) -> Scenario:
    """The scenario until an instant. Its packets are those of the whole run."""
    if end >= scenario.core.duration_s:
        return scenario
    return scenario.set("duration", f"{end:.9g} s").set("warmup", "0 s")


def _instant(rows: Sequence[dict[str, Any]], since: float, until: float, cause: str) -> float:
    """The time of a change between two samples: of the last ACK, or of the retransmission after a timeout."""
    wanted = ("end", "send", False) if cause == "timeout" else ("end", "receive", True)
    first = bisect.bisect_left(rows, since, key=_time)
    last = bisect.bisect_right(rows, until, key=_time)
    inside = [row["time_s"] for row in rows[first:last] if (row["component"], row["action"], row["backward"]) == wanted]
    return float(inside[-1]) if inside else float(until)


def _time(row: Mapping[str, Any]) -> float:
    return float(row["time_s"])


def _way(event: Event) -> Any:
    return event.packet and event.packet["backward"]


def _until(rows: Sequence[dict[str, Any]], time: float) -> Iterator[dict[str, Any]]:
    """The rows until an instant, the last one first."""
    return (rows[n] for n in range(bisect.bisect_right(rows, time, key=_time) - 1, -1, -1))


def _same(row: Mapping[str, Any], packet: Mapping[str, Any]) -> bool:
    """Whether two rows are of one transmission at one component."""
    return all(row[name] == packet[name] for name in ("component", "copy", "seq", "ack", "stamp", "backward", "size"))


# --- Figure --------------------------------------------------------------------------------------------------------


def picture(it: Explanation) -> Picture:
    """The two round trips before and after the event: the component, and the sender's window."""
    import numpy as np

    rtt = it.rtt_s
    panels: list[Panel] = []
    component = it.event.place if "[" in it.event.place else ""
    base = component.rpartition("[")[0] or "\0"
    queue = [name for name in it.record.series_names if name.startswith(base) and not name.startswith(it.event.flow)]
    wanted = [(queue[:1], ""), ([f"{it.event.flow}.{name}" for name in ("window", "ssthresh", "flight")], "packets")]
    for names_, unit in wanted:
        lines: list[Line] = []
        for name in (name for name in names_ if name in it.record.series_names):
            times, values = it.record.arrays(name)
            near = np.abs(times - it.event.time_s) <= 2 * rtt
            x, y = 1e3 * (times[near] - it.event.time_s), values[near]
            ones = np.ones(len(x), dtype=np.int64)
            lines.append(Line(name.rpartition(".")[2], x, y, y, y, ones, colour=len(lines)))
        if lines:
            words = lines[0].words if len(lines) == 1 else "sender"
            title = names_[0].rpartition(".")[0]
            y_axis = Quantity(f"{words} ({unit})" if unit else words)
            mark = Mark(x=0.0, words="" if panels else it.event.reason or it.event.kind)
            panels.append(Panel(Quantity("time from the event (ms)"), y_axis, lines, title, kind="steps", marks=[mark]))
    return Picture("steps", panels, columns=1)


# --- Rules in words ------------------------------------------------------------------------------------------------


@functools.cache
def _laws() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "equations.toml").read_text(encoding="utf-8"))


def _law(variants: Sequence[str], reason: str) -> Mapping[str, str]:
    """Entries of equations.toml for a reason, replaced by those of the mechanism's kind and of its native marking."""
    found = dict(_laws().get(reason, {}))
    for variant in variants:
        found |= _laws().get(f"{reason}.{variant}", {})
    return found


def _rule(variants: Sequence[str], event: Event) -> tuple[str, str, str]:
    """Sentence, equation and document of the rule behind an event."""
    from ..run.mechanism import schema

    kind, law = variants[0], _law(variants, event.reason)
    rooms = ("queue", "stage") if event.packet is not None else ("congestion-control",)
    found = [m for m in schema()["mechanisms"] if m["kind"] == kind and m["room"] in rooms]
    counters = {one["name"]: one["doc"] for m in found for one in m.get("counters", [])}
    if event.packet is None:
        return ANSWERS[event.kind], "", DOCUMENTS.get(event.kind) or next((m["source"] for m in found), "")
    doc = counters.get(event.reason, law.get("doc", ""))
    if law.get("drawn"):
        doc = f"{doc.rstrip('.')}, with {law['drawn']}."
    return doc, law.get("law", ""), law.get("source") or next((m["source"] for m in found), "")


def _compared(known: Mapping[str, str], form: str, law: str, values: Mapping[str, float]) -> str:
    """The equation with the comparison of the recorded number, if there is one."""
    found = known.get("summed" if form.startswith("rfc") else "picked")
    return f"{law}; {found}" if found and law and "draw" in values else law


def _parameters(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if isinstance(value, (int, float, str)) and name != "kind"}


def _number(value: Any) -> Any:
    """A quantity without its unit."""
    return value.split()[0] if isinstance(value, str) and value[:1].isdigit() else value


def _filled(law: str, known: Mapping[str, Any]) -> str:
    """The equation with values in the place of names."""

    def value(found: re.Match[str]) -> str:
        it = known.get(found[0], found[0])
        return f"{it:.4g}" if isinstance(it, float) else str(it)

    return re.sub(r"\b[a-z][a-z_]+\b", value, law)


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _lines(it: Explanation) -> Iterator[str]:
    event = it.event
    what = f"{event.kind} ({event.reason})" if event.packet is not None else ANSWERS[event.kind].rstrip(".")
    where = f" at {event.place}" if event.packet is not None else ""
    yield f"Event {event.number} of {event.flow}, {event.time_s:.6f} s: {what}{where}"
    if event.packet is not None:
        row = event.packet
        ecn = ("not ECT", "ECT(1)", "ECT(0)", "CE")[row["ecn"] or 0]
        first, length = row["seq"], row["payload"]
        what = f"bytes {first} to {first + length}" if length and first is not None else "no data"
        what = f"ACK {row['ack']}" if row["backward"] and row["ack"] is not None and not length else what
        yield f"  Packet   {what}, {row['size']} B on the wire, {ecn}"
    if it.after:
        changed = (
            f"{name} {it.before[name]:.5g} → {value:.5g}"
            if it.before.get(name, value) != value
            else f"{name} {value:.5g}"
            for name, value in it.after.items()
        )
        yield f"  State    {', '.join(changed)}"
    if it.event.packet is not None:
        yield f"  Rule     {it.rule}"
    if it.law:
        yield f"  Equation {it.law}"
        if it.filled != it.law:
            yield f"           {it.filled}"
    if it.source:
        yield f"  Source   {it.source}"
    for time, text in it.answer:
        yield f"  {time:.6f} s  {text}"
