"""The record of one run: its numbers, and the series it was asked to keep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError, UsageError, nearest
from ..scenario import paths

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..scenario.scenario import Scenario
    from .histograms import Histogram
    from .notes import Note

PROVENANCE = ("engine", "folded", "wall_s", "cpu_s", "record_version")
"""Fields that say how a record came about and are no part of it: they may differ between two equal runs."""


TRACE = "trace."
"""Prefix of the columns of a trace."""
ACTIONS = ("send", "arrive", "leave", "pass", "mark", "hold", "drop", "receive")
"""Packet events, by the number in the column `trace.action`."""


def _refuse(*_: object, **__: object) -> Any:
    raise TypeError("a record cannot be changed; copy.deepcopy(record.json) can")


class _Table(dict[str, Any]):
    """A JSON object that cannot be changed; its copies can."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class _List(list[Any]):
    """A JSON array that cannot be changed; its copies can."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def _table(pairs: Sequence[tuple[str, Any]]) -> _Table:
    return _Table([(name, _list(value) if type(value) is list else value) for name, value in pairs])


def _list(values: list[Any]) -> _List:
    nested = list in set(map(type, values))
    return _List([_list(value) if type(value) is list else value for value in values] if nested else values)


class Record:
    """The results of a run. Fields: docs/metrics.md.

    Rates are in bit/s, times in s, queue lengths in packets; a metric that a run could not define is None.
    """

    __slots__ = ("_json", "_record_hash", "_series", "_text", "scenario")

    def __init__(self, text: str, record_hash: str, series: Mapping[str, tuple[bytes, bytes]] | None = None) -> None:
        self._text = text
        self._json: dict[str, Any] | None = None
        self._series: Mapping[str, tuple[bytes, bytes]] = series or {}
        self._record_hash = record_hash
        self.scenario: Scenario | None = None
        """The scenario, known for records of a run or a study."""

    def hash_as_of(self, version: int) -> str:
        """The hash over the fields that records have had since a version of the record (docs/metrics.md, *Since*).

        With the present version it is `record_hash`. An engine whose records have grown gives the hash of before for
        a run that measured the same.

        Raises:
            UsageError: records have no such version.
        """
        from .. import _core

        if not 1 <= version <= _core.RECORD_VERSION:
            raise UsageError(f"records have no version {version}: there are 1 to {_core.RECORD_VERSION}.")
        series = [(name, *self._series[name]) for name in self._series]
        return _core.record_hash(self._text, series, version)

    def copy(self) -> Record:
        """A copy of the record."""
        return Record(self._text, self.record_hash, self._series)

    @property
    def record_hash(self) -> str:
        """Hash of the fields that are equal on all machines, threads and event paths."""
        return self._record_hash

    @property
    def text(self) -> str:
        """The JSON text the core wrote."""
        return self._text

    @property
    def json(self) -> dict[str, Any]:
        """The record as `run --json` prints it; it cannot be changed, a `copy.deepcopy` of it can."""
        if self._json is None:
            self._json = json.loads(self._text, object_pairs_hook=_table)
        return self._json

    @property
    def notes(self) -> list[Note]:
        """Notes on the run (docs/measuring.md); [] if the scenario is unknown."""
        from . import notes

        return notes.of_run(self.scenario, self) if self.scenario is not None else []

    def metric(self, name: str) -> float | None:
        """A number by its dotted name ("groups.heavy.throughput_bps", "groups.light.users_goodput_bps[3]"); None =
        undefined.

        Raises:
            KeyError: no such metric; the message names the nearest.
        """
        return metric_of(self.json, name)

    def metrics(self) -> dict[str, float | None]:
        """Every single number of the record by dotted name, in the record's order, without lists and provenance."""
        return dict(flatten(self.json))

    @property
    def series_names(self) -> list[str]:
        """Names of recorded series, one for each copy."""
        return list(self._series)

    def arrays(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A series as arrays: times in s and values in the observable's unit, both of shape (n,).

        Raises:
            KeyError: not recorded; the message names the nearest.
        """
        import numpy as np

        if name not in self._series:
            guess = nearest(name, self._series)
            hint = f"did you mean “{guess}”?" if guess else f"recorded: {', '.join(self._series) or 'nothing'}."
            raise KeyError(f"no series “{name}”; {hint}")
        times, values = self._series[name]
        return np.frombuffer(times, dtype="<f8"), np.frombuffer(values, dtype="<f8")

    def series(self, name: str) -> pl.DataFrame:
        """A series as a frame with the columns `time_s` and `value`; of states and reasons also `word`."""
        import polars as pl

        times, values = self.arrays(name)
        frame = pl.DataFrame({"time_s": times, "value": values})
        words = self.words(name)
        return frame.with_columns(word=_in_words(frame["value"], words)) if words else frame

    def words(self, name: str) -> tuple[str, ...]:
        """The names of the values of a series of states or reasons: value 0 is the first. () for other series."""
        if name.startswith(("events.", TRACE)):
            return tuple(self.json["event_reasons"]) if name.endswith(".reason") else ()
        if not name.endswith((".recovery", ".state", ".app_limited")):
            return ()
        from .mechanism import states

        return states(self.scenario, name)

    @property
    def frame(self) -> pl.DataFrame:
        """All series below each other: columns `series`, `time_s`, `value`; with states or reasons also `word`."""
        import numpy as np
        import polars as pl

        if not self._series:
            return pl.DataFrame(schema={"series": pl.String, "time_s": pl.Float64, "value": pl.Float64})
        names = list(self._series)
        both = [self.arrays(name) for name in names]
        which = np.repeat(np.arange(len(names), dtype=np.uint32), [len(times) for times, _ in both])
        frame = pl.DataFrame(
            {
                "series": pl.Series(names).gather(which),
                "time_s": np.concatenate([times for times, _ in both]),
                "value": np.concatenate([values for _, values in both]),
            }
        )
        if not any(map(self.words, names)):
            return frame
        parts = [_in_words(pl.Series(values), self.words(name)) for name, (_, values) in zip(names, both, strict=True)]
        return frame.with_columns(word=pl.concat(parts))

    def with_histograms(self, *names: str) -> Record:
        """The record with these distributions. The run is repeated with the same seed if they are missing.

        Raises:
            ScenarioError: the scenario has no such distribution.
            UsageError: they were not recorded, and the scenario is unknown.
        """
        from . import histograms

        missing = [name for name in names if name not in (self.json.get("histograms") or {})]
        if not missing:
            return self
        if self.scenario is None:
            raise histograms.not_recorded(missing[0], self.json)
        again = histograms.requested(self.scenario, missing).run(int(self.json["seed"]))
        require_same(self, again)
        return again

    def delays(self, of: str) -> Histogram:
        """Delays of packets as arrays of shape (k,), in s: `low_s`, `high_s` and `count` of each bin.

        Args:
            of: "groups.call" (one-way delay), "groups.call.classes.voice", "groups.call.rtt" (TCP),
                "groups.web.transfers.completion", "links.line" or "links.line.classes.voice" (queueing delay).
                If it was not recorded, the run is repeated with the same seed.

        Raises:
            ScenarioError: the scenario has no such distribution.
            UsageError: it was not recorded, and the scenario is unknown.
        """
        from . import histograms

        name = histograms.full_name(of)
        found = histograms.of_record(self.with_histograms(name).json, name)
        return histograms.Histogram.merged(found)

    def packet_delays(self, of: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """When each data packet arrived, and its delay: times and delays in s, both of shape (n,).

        The run is repeated with the same seed, and its packets are traced.

        Args:
            of: "groups.call" (one-way delay), "links.line" or "links.line.classes.voice" (queueing delay).

        Raises:
            UsageError: no such packets; a link whose rate or delay varies; or the scenario is unknown.
            EvenflowError: more packets than a trace holds.
        """
        from . import packets

        return packets.delays(self, of)

    @property
    def is_traced(self) -> bool:
        """Whether `[record] trace` followed packets."""
        return f"{TRACE}action" in self._series

    def trace(self) -> pl.DataFrame:
        """Events of traced packets in order of time, a row each; absent values are null.

        Columns: docs/measuring/traces.md.

        Raises:
            UsageError: nothing was traced.
        """
        import polars as pl

        if not self.is_traced:
            raise UsageError('Nothing was traced; write record.trace = ["groups.NAME.users[0].flows[0]"].')
        names = [name for name in self._series if name.startswith(TRACE)]
        times, _ = self.arrays(names[0])
        raw = pl.DataFrame({"time_s": times, **{name.removeprefix(TRACE): self.arrays(name)[1] for name in names}})
        whole = pl.col(pl.Float64).exclude("time_s").fill_nan(None).cast(pl.Int64)
        frame = raw.with_columns(whole)

        def named(column: str, words: Sequence[str], above: str = "") -> pl.Expr:
            table = {number: above + word for number, word in enumerate(words)}
            return pl.col(column).replace_strict(table, default=None, return_dtype=pl.String)

        links = [paths.render((name,)) for name in self.json["links"]]
        stages = [paths.render((name,)) for name in self.json["stages"]]
        component = pl.coalesce(named("link", links, "links."), named("stage", stages, "stages."), pl.lit("end"))
        return frame.with_columns(
            named("action", ACTIONS),
            component.alias("component"),
            named("reason", self.json["event_reasons"]),
            pl.col("backward", "re").cast(pl.Boolean),
        ).select("time_s", "component", pl.exclude("time_s", "component", "link", "stage"))

    def plot(
        self,
        *metric: str,
        series: str | Sequence[str] = (),
        kind: str | None = None,
        panels: str | Sequence[str] = (),
        width: float | None = None,
        height: float | None = None,
    ) -> Figure:
        """The run as a figure: its series over time, or, where metrics are named, these (docs/figures.md).

        Args:
            metric: dotted names, with `*`, or their last segments: "users_throughput_bps". For a distribution over
                packets ("groups.call.delay") that was not recorded the run is repeated with the same seed.
            series: names of recorded series, likewise: "window"; default: all of them.
            kind: "timeline", "cdf", "ccdf", "box" or "interval"; default: what suits.
            panels: instead, several panels as KIND:NAME: "cdf:groups.call.delay", "time:links.line.queue.delay".
            width, height: inches, kept exactly; default: 6.4 inches, and the height that suits.

        Raises:
            UsageError: unknown names, every one of them with the nearest; or nothing to draw.
        """
        from ..show import methods

        return methods.plot_record(self, metric, series, kind, panels, width, height)

    def view(self, path: str | Path = "view.html", *, again: bool = True) -> Path:
        """Write the run as a page that opens offline: all series over one time axis (docs/figures.md).

        Args:
            path: of the page.
            again: repeat the run with the same seed if series, or a trace of video users, are missing. A record with an
                unknown scenario is shown as it is.

        Returns:
            the path.
        """
        from ..show import methods

        return methods.view_record(self, path, again=again)

    @property
    def series_file(self) -> Path | None:
        """Where the series are on disk; None where there are none, or where they are in memory."""
        found: Path | None = getattr(self._series, "path", None)
        return found

    @property
    def series_sha256(self) -> str | None:
        """The SHA-256 of that file."""
        found: str | None = getattr(self._series, "sha256", None)
        return found

    @property
    def raw_series(self) -> dict[str, tuple[bytes, bytes]]:
        """The series as little-endian f64 bytes: (times, values)."""
        return dict(self._series)

    def _repr_html_(self) -> str:
        from ..words import html_table, rate, share, time_span

        def delay(of: Mapping[str, Any]) -> str:
            found = [
                f"{p} {time_span(of[f'delay_s_{p}'])}" for p in ("p50", "p99") if of.get(f"delay_s_{p}") is not None
            ]
            return ", ".join(found) or "–"

        rows = [
            [
                name,
                str(g.get("users", "–")),
                rate(g.get("throughput_bps")),
                rate(g.get("goodput_bps")),
                share(g.get("loss_ratio")),
                delay(g),
            ]
            for name, g in self.json.get("groups", {}).items()
        ]
        rows += [
            [name, "–", "–", "–", f"{sum((link.get('drops') or {}).values()):,} dropped", self._waited(link)]
            for name, link in self.json.get("links", {}).items()
        ]
        title = (self.scenario.title if self.scenario is not None else "") or "A run"
        headings = ("", "users", "throughput per user", "goodput per user", "lost", "delay")
        notes = " ".join(f"{note.code}: {note.text}" for note in self.notes)
        return html_table(
            f"{title} · seed {self.json.get('seed')} · record {self.record_hash[:12]}", headings, rows, notes
        )

    @staticmethod
    def _waited(link: Mapping[str, Any]) -> str:
        from ..words import share, time_span

        return f"mean {time_span(link.get('queue_delay_s_mean'))}, utilisation {share(link.get('utilisation'))}"

    def __repr__(self) -> str:
        scenario = str(self.json.get("scenario_hash", ""))[:12]
        return f"<Record seed {self.json.get('seed')} of {scenario}: {self.record_hash[:12]}>"


def _in_words(values: pl.Series, words: Sequence[str]) -> pl.Series:
    """The names of numbered states; null for other values."""
    import polars as pl

    if not words:
        return pl.Series("word", [None] * len(values), dtype=pl.String)
    numbers = values.fill_nan(None).cast(pl.Int64)
    return numbers.replace_strict(dict(enumerate(words)), default=None, return_dtype=pl.String).rename("word")


def require_same(record: Record, again: Record) -> None:
    """Check that a run that was repeated to record more of it is the same run.

    Raises:
        EvenflowError: it is not, a defect.
    """
    apart = {*PROVENANCE, "scenario_hash", "record_hash", "events", "histograms"}
    first = {name: value for name, value in record.json.items() if name not in apart}
    if not _within(first, again.json):
        raise EvenflowError(
            f"Seed {record.json['seed']} did not give the same run when more of it was recorded. This is a defect; "
            "please report it."
        )


def _within(first: Any, second: Any) -> bool:
    """Whether a tree has every value of another; it may have more."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return all(name in second and _within(value, second[name]) for name, value in first.items())
    return bool(first == second)


def engine_of(tree: Mapping[str, Any]) -> str:
    """The id of the engine that made a record."""
    engine = tree.get("engine", "")
    return str(engine["id"]) if isinstance(engine, Mapping) else str(engine)


def flatten(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float | None]]:
    """Numbers of a record by dotted name; None stays None. Lists, texts and provenance are left out."""
    for name, value in tree.items():
        if not above and name in (*PROVENANCE, "seed"):
            continue
        plain = paths.render((name,))
        dotted = f"{above}.{plain}" if above else plain
        if isinstance(value, Mapping):
            yield from flatten(value, dotted)
        elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            yield dotted, value


OVER_USERS = (5, 50, 95)
"""Percentiles over the users of a group: "groups.G.users_throughput_bps_p5" is of its worst 5 %."""


def over_users(tree: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Names of percentiles over users, for each list that has a number of each user."""
    for name, value in tree.items():
        dotted = f"{above}.{paths.render((name,))}" if above else paths.render((name,))
        if isinstance(value, Mapping):
            yield from over_users(value, dotted)
        elif name.startswith("users_") and isinstance(value, list) and not any(map(_is_several, value)):
            yield from (f"{dotted}_p{percent}" for percent in OVER_USERS)


def derived(tree: Mapping[str, Any]) -> Iterator[str]:
    """Names of metrics that follow from others: percentiles over users, and the share of each of several groups."""
    yield from over_users(tree)
    groups = tree.get("groups", {})
    yield from (paths.render(("groups", group, SHARE)) for group in groups if len(groups) > 1)


SHARE = "throughput_share"
"""Throughput of all users of a group over that of all groups."""


def _derived(tree: Mapping[str, Any], name: str) -> float | None:
    """A metric that follows from others. KeyError if the name is none."""
    if not name.startswith("groups.") or not name.endswith(f".{SHARE}"):
        return _over_users(tree, name)
    rates = {group: found["throughput_bps"] * found["users"] for group, found in tree["groups"].items()}
    own, total = rates[paths.parse(name)[1]], sum(rates.values())
    return own / total if total else None


def _is_several(value: Any) -> bool:
    return isinstance(value, (list, str, bool, Mapping))


def _over_users(tree: Mapping[str, Any], name: str) -> float | None:
    """A percentile over users. KeyError if the name is none."""
    import numpy as np

    of, _, percent = name.rpartition("_p")
    if not percent.isdigit() or int(percent) not in OVER_USERS or not of.rpartition(".")[2].startswith("users_"):
        raise KeyError(name)
    known = [float(one) for one in paths.get(tree, paths.parse(of)) if one is not None]
    return float(np.percentile(known, int(percent))) if known else None


class NoMetric(KeyError):
    """A record has no such metric. The nearest name is searched when the message is read."""

    def __init__(self, name: str, tree: Mapping[str, Any]) -> None:
        super().__init__(name, tree)
        self._name, self._tree = name, tree

    def __str__(self) -> str:
        guess = nearest(self._name, [known for known, _ in flatten(self._tree)])
        hint = f"did you mean “{guess}”?" if guess else "see docs/metrics.md."
        return repr(f"no metric “{self._name}” in this record; {hint}")


def metric_of(tree: Mapping[str, Any], name: str) -> float | None:
    """The number at a dotted name of a record. KeyError with the nearest name where there is none."""
    try:
        value = paths.get(tree, paths.parse(name))
    except KeyError:
        # reasons a link never had to use are not in its table: nothing was dropped for them
        if ".drops." in name or ".marks." in name:
            parent = name.rpartition(".")[0]
            if paths.has(tree, paths.parse(parent)):
                return 0
        try:
            return _derived(tree, name)
        except KeyError:
            raise NoMetric(name, tree) from None
    if value is None or isinstance(value, (int, float)):
        return value
    raise KeyError(f"“{name}” is not a single number in this record.")
