"""The texts of `explain` for drops and marks on a page, from one trace and one run with values of queues."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..run.record import require_same
from ..run.recording import again_for_a_view, estimated_rows, watched_for, without_record
from ..scenario import paths
from .explain import LEAST_STEP_S, SAMPLES, SENDER, Event, _Flow, _paths_of_flows, _time, until

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record
    from ..scenario.scenario import Scenario

    Floats = NDArray[np.float64]

MOST_TEXTS = 200
"""Explained events of a page, spread over the run."""
MOST_FLOWS = 8
"""Flows whose events are explained: those with most."""
MOST_ROWS, MOST_VALUES = 400_000, 4_000_000
"""Rows of the trace, and values recorded at queues, about."""
MOST_HOPS = 4_000_000
"""Link crossings of a run above which no event is explained."""


@dataclass(frozen=True)
class Told:
    """The explanation of a drop or mark at a link."""

    time_s: float
    kind: str
    link: str
    text: str


def again(record: Record) -> tuple[list[Record], list[str], list[Told]]:
    """The run repeated for its page: further runs, sentences on what is missing, and explanations."""
    more, missing = again_for_a_view(record)
    added, told = of_run(record, more)
    return [*more, *added], missing, told


def of_run(record: Record, more: Sequence[Record] = ()) -> tuple[list[Record], list[Told]]:
    """Explanations of a run's drops and marks, and a repetition with their lists where the runs have none.

    The run is repeated up to three times with its seed.

    Args:
        more: other repetitions of the run.
    """
    scenario = record.scenario
    if scenario is None or not record.json.get("links") or record.json["packet_hops"] > MOST_HOPS:
        return [], []
    seed, plain = int(record.json["seed"]), without_record(record)
    wanted = ["open", "drop", "mark"]
    listed = next(
        (one for one in (record, *more) if all(f"events.{name}.flow" in one.series_names for name in wanted)), None
    )
    added: list[Record] = []
    if listed is None:
        listed = plain.set("record.events", wanted).run(seed)
        require_same(record, listed)
        added = [listed]
    counts = Counter(int(flow) for kind in wanted[1:] for flow in listed.arrays(f"events.{kind}.flow")[1])
    of_flow = _paths_of_flows(listed)
    return added, _told(record, plain, [of_flow[flow] for flow, _ in counts.most_common() if flow in of_flow])


def _told(record: Record, plain: Scenario, flows: Sequence[str]) -> list[Told]:
    if not flows:
        return []
    seed, duration = int(record.json["seed"]), plain.core.duration_s
    rows = {flow: estimated_rows(record)[str(paths.parse(flow)[1])] for flow in flows}
    end = duration * min(1.0, MOST_ROWS / max(1.0, rows[flows[0]]))  # a long run is explained from its start
    chosen: dict[str, str] = {}
    left = float(MOST_ROWS)
    for flow in flows:
        user = flow.rpartition(".flows[")[0]
        needed = 0.0 if user in chosen.values() else rows[flow] * end / duration
        if needed <= left and len(chosen) < MOST_FLOWS:
            left -= needed
            chosen[flow] = user
    step = max(LEAST_STEP_S, duration / SAMPLES)
    sender = [{"of": f"{flow}.{name}", "every": f"{step:.9g} s"} for flow in chosen for name in SENDER]
    wanted = plain.set("record", {"trace": sorted({*chosen.values()}), "events": ["open"]})
    traced = watched_for(until(wanted, end), sender).run(seed)
    trace, opened = traced.trace(), set(_paths_of_flows(traced).values())
    shared = [_Shared(plain, flow, seed, traced, trace) for flow in chosen if flow in opened]
    found = [
        (it, one)
        for one in shared
        for it in one.events
        if it.packet is not None and it.place.startswith("links.") and it.kind in ("drop", "mark")
    ]
    found.sort(key=lambda pair: (pair[0].time_s, pair[0].flow))
    observed = {(name, _link(it)): at for it, one in found for name, at in one._mechanism(it)[2].items()}
    values = sum(_decisions(record, link) for _, link in observed) * end / duration
    end *= min(1.0, MOST_VALUES / max(1.0, values))
    found = [(it, one) for it, one in found if one._end(it) <= end]
    found = found[:: max(1, -(-len(found) // MOST_TEXTS))]
    if not found:
        return []
    series = [{"of": name, "every": every} for (name, _), every in observed.items()]
    valued = watched_for(until(plain, end), series).run(seed)
    for one in (traced, valued):
        if one.json["window_s"] == record.json["window_s"]:
            require_same(record, one)
    return [Told(it.time_s, it.kind, _link(it), str(one.with_values(valued).explained(it))) for it, one in found]


def _link(event: Event) -> str:
    return str(paths.parse(event.place)[1])


def _decisions(record: Record, link: str) -> float:
    """Packets of the whole run that arrive at a copy of a link, about."""
    start, end = record.json["window_s"]
    one = record.json["links"][link]
    return float(one["arrived_packets"] / one["copies"] * end / (end - start)) if end > start else 0.0


class _Until:
    """Runs of one seed until an instant, as one record."""

    def __init__(self, records: Sequence[Record], end: float) -> None:
        self.json: dict[str, Any] = {"window_s": [0.0, end]}
        self._of = {name: one for one in records for name in one.series_names}
        self.series_names = list(self._of)

    def arrays(self, name: str) -> tuple[Floats, Floats]:
        times, values = self._of[name].arrays(name)
        count = int(times.searchsorted(self.json["window_s"][1], "right"))
        return times[:count], values[:count]


class _Shared(_Flow):
    """A flow of a run that is repeated once for all its flows and events."""

    def __init__(self, scenario: Scenario, path: str, seed: int, traced: Record, trace: Any) -> None:
        self.traced, self.trace = traced, trace
        self.all: list[tuple[float, str]] | None = None
        super().__init__(scenario, path, seed)

    def with_values(self, valued: Record) -> _Shared:
        self.valued = valued
        return self

    def _run(self, scenario: Scenario, series: Mapping[str, str]) -> Record:
        return self.traced

    def _again(self, event: Event, every: Mapping[str, str]) -> Record:
        return cast("Record", _Until([self.traced, self.valued], self._end(event)))

    def _rows(self, record: Record) -> list[dict[str, Any]]:
        """Rows of the sender, drops, marks, and arrivals of packets that were dropped or marked."""
        if isinstance(record, _Until):
            return self.rows[: bisect.bisect_right(self.rows, record.json["window_s"][1], key=_time)]
        import polars as pl

        mine = self.trace.filter(pl.col("flow") == self.number)
        action, backward = pl.col("action"), pl.col("backward")
        events = action.is_in(["drop", "mark"])
        seqs = mine.filter(events)["seq"].unique()
        kept = mine.filter(
            events
            | ((action == "send") & ~backward)
            | ((action == "receive") & backward)
            | ((action == "arrive") & pl.col("seq").is_in(seqs.implode()))
        )
        rows: list[dict[str, Any]] = kept.select([it for it in kept.columns if not it.startswith("outer")]).to_dicts()
        return rows

    def _reductions(self, record: Record, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[float, str]]:
        if self.all is None:
            self.all = list(super()._reductions(self.record, rows))
        return (it for it in self.all if it[0] <= record.json["window_s"][1])
