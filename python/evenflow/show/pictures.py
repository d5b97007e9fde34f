"""What a figure shows, as data: panels, lines, intervals. `drawing` draws it; `Picture.frame` gives its numbers.

A record is drawn over time. A table is drawn over a swept label: a mean and its 95 % interval for each point. Which
metric, which axis and which lines is chosen by `Choice`; what is left open is what tells most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import stats
from ..errors import UsageError, nearest
from ..run import histograms, notes
from ..run.histograms import Histogram
from ..run.mechanism import ALIASES, schema
from ..run.preview import metric_names
from ..run.recording import interval
from ..run.table import _keyword, _lists
from ..scenario import paths as paths_
from . import names, plots
from .names import Named, Quantity
from .picture import Line, Panel, Picture, Scale, scaled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record
    from ..run.study import Run, Table
    from ..scenario.scenario import Scenario
    from ..scenario.sweep import Label, Labels

    Floats: TypeAlias = NDArray[np.float64]

KINDS = ("line", "interval", "box", "cdf", "ccdf", "scatter", "timeline")
DISTRIBUTIONS = ("cdf", "ccdf")
TIME = "time"
PANELS = ("cdf", "ccdf", "box", "interval")
"""Kinds of the panels of a figure of several; also `TIME`."""
INTERVALS = 200
"""Intervals of a run in which delays of packets are drawn over time."""
SEEDS = ("mean", "each")
MANY = 8
"""Flows or copies of one owner that are drawn each for itself; of more, the mean and the range are drawn."""
FEW = 4
"""The same where nobody asked for single flows."""
BLACK = len(plots.COLOURS) - 1
"""The colour of a link's only line: groups have the others."""
MOST_LINES = 7
"""Lines in a panel before a swept label makes columns of panels by itself."""
MOST_PANELS = 36
QUANTILES = 400
"""Quantiles of a run that stand for its packets in a box."""
TIMES = 400
"""Instants to which series are brought that were not looked at at the same times."""


@dataclass(frozen=True)
class Choice:
    """The figure asked for; None or empty: a default.

    Attributes:
        metric: dotted names, with `*`, or their last segments ("utilisation").
        x: the label along the axis; with `kind="scatter"` a metric.
        by: labels that make the lines.
        rows, columns: labels that make rows and columns of panels.
        series: names of recorded series, with `*`, or their last segments ("window").
        kind: one of `KINDS`.
        seeds: "mean" over runs, or "each" run as well.
        over: "runs": of one number per run; None: of packets, users or time where there are distributions of them.
        panels: several figures in one, each as KIND:NAME: "cdf:groups.call.delay", "time:links.line.queue.delay".
    """

    metric: tuple[str, ...] = ()
    x: str | None = None
    by: tuple[str, ...] | None = None
    rows: str | None = None
    columns: str | None = None
    series: tuple[str, ...] = ()
    kind: str | None = None
    seeds: str = "mean"
    over: str | None = None
    panels: tuple[str, ...] = ()

    def parts(self) -> list[Choice]:
        """The choice of each panel; the choice itself without panels."""
        found = []
        for text in self.panels:
            kind, _, name = text.partition(":")
            whole = replace(self, panels=(), kind="timeline" if kind == TIME else kind)
            found.append(replace(whole, series=(name,)) if kind == TIME else replace(whole, metric=(name,)))
        return found or [self]

    def problems(self) -> list[str]:
        """Errors that do not depend on the data."""
        found = []
        if self.kind is not None and self.kind not in KINDS:
            found.append(f"kind “{self.kind}”: {_did_you_mean(self.kind, KINDS)}")
        if self.seeds not in SEEDS:
            found.append(f"seeds “{self.seeds}”: {_did_you_mean(self.seeds, SEEDS)}")
        if self.over not in (None, "runs"):
            found.append(f"over “{self.over}”: write over = “runs”, or leave it out.")
        if self.series and self.metric:
            found.append("series and metric: a figure shows the one or the other.")
        if self.series and self.kind not in (None, "timeline", *DISTRIBUTIONS):
            found.append(f"series are drawn over time, as cdf or as ccdf, not as {self.kind}.")
        if self.kind == "timeline" and self.metric:
            found.append("metrics are of the whole window; a timeline shows series.")
        for text in self.panels:
            kind, _, name = text.partition(":")
            if kind not in (*PANELS, TIME) or not name:
                hint = "" if kind in (*PANELS, TIME) else f"{_did_you_mean(kind, (*PANELS, TIME))} "
                found.append(f"panels “{text}”: {hint}write KIND:NAME, such as cdf:groups.call.delay.")
        others = [name for name in ("metric", "series", "kind", "rows", "columns", "x") if getattr(self, name)]
        if self.panels and others:
            found.append(f"panels: remove {', '.join(others)}; each panel names its kind and metric.")
        return found

    def distributions(self, known: Sequence[str]) -> list[str]:
        """The distributions over packets that `metric` names, of these. Without a kind only full names count."""
        if self.over == "runs" or self.kind not in (*DISTRIBUTIONS, "box", None) or (self.x and not self.kind):
            return []
        return [name for pattern in self.metric if self.kind or "." in pattern for name in matching(pattern, known)]


# --- Names that people type ----------------------------------------------------------------------------------------


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    guess = nearest(name, known)
    if guess is None:  # people type the end of a name
        ends = {k.rpartition(".")[2]: k for k in sorted(known, key=lambda k: -k.count("."))}
        end = nearest(name.rpartition(".")[2], ends)
        guess = None if end is None else ends[end]
    if guess is not None:
        return f"did you mean “{guess}”?"
    listed = ", ".join(list(known)[:12]) + (", …" if len(known) > 12 else "")
    if not known:
        return "there are none."
    return f"the only valid name is {listed}." if len(known) == 1 else f"valid names are {listed}."


def matching(pattern: str, known: Iterable[str]) -> list[str]:
    """The names that a pattern stands for: the name itself, `*` for anything, or the last segments of names."""
    everything = list(known)
    if pattern in set(everything):
        return [pattern]
    # [0] is an index and no set of letters, so fnmatch will not do
    form = ".*".join(re.escape(part) for part in pattern.replace("[*]", "*").split("*"))
    ends = re.compile(rf"(?:.*\.)?{form}(?:\[\d+\])?")
    found = [name for name in everything if ends.fullmatch(name)]
    if "*" in pattern:
        return found
    # "utilisation" is of links, not of their reverse directions: the names with least in front
    depth = min((name.count(".") for name in found), default=0)
    return [name for name in found if name.count(".") == depth]


def chosen(what: str, patterns: Sequence[str], known: Sequence[str], problems: list[str]) -> list[str]:
    """The names that patterns stand for, each once; what matches nothing is a problem with the nearest name."""
    found: dict[str, None] = {}
    for pattern in patterns:
        names_of = matching(pattern, known)
        if not names_of and what != "series":
            names_of = [name for end in ALIASES.get(pattern.casefold(), ()) for name in matching(end, known)]
        if not names_of and what == "series":
            problems.append(f"series “{pattern}” was not recorded: {_did_you_mean(pattern, known)}")
        elif not names_of and pattern.casefold() in ALIASES:
            meant = ", ".join(ALIASES[pattern.casefold()])
            problems.append(f"{what} “{pattern}” stands for {meant}. This scenario has none of them.")
        elif not names_of:
            problems.append(f"{what} “{pattern}”: {_did_you_mean(pattern, known)} `evenflow list metrics` shows all.")
        found.update(dict.fromkeys(names_of))
    return list(found)


def _label(what: str, name: str, known: Sequence[str], problems: list[str]) -> str | None:
    if name in known:
        return name
    by_keyword = {_keyword(label): label for label in known}
    if name in by_keyword:
        return by_keyword[name]
    ends = [label for label in known if label.endswith(f".{name}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        problems.append(f"{what} “{name}”: could be {', '.join(ends)}.")
    else:
        problems.append(f"{what} “{name}”: {_did_you_mean(name, known)}")
    return None


def _raise(problems: Sequence[str]) -> None:
    if problems:
        count = f"{len(problems)} errors in what to draw:\n  " if len(problems) > 1 else ""
        raise UsageError(count + "\n  ".join(problems))


# --- Several panels, and packets over time ---------------------------------------------------------------------------


def _panels(found: Sequence[Picture]) -> Picture:
    """Several figures as panels of one, with letters."""
    panels = [
        replace(panel, kind=panel.kind or picture.kind, title=panel.title or panel.row)
        for picture in found
        for panel in picture.panels
    ]
    for letter, panel in zip("abcdefghijklmnopqrstuvwxyz", panels, strict=False):
        panel.title = f"{letter}   {panel.title}".rstrip()
    notes = [note for picture in found for note in picture.notes]
    title = next((picture.legend_title for picture in found if picture.legend_title), "")
    warmup = max(picture.warmup_s for picture in found)
    return Picture("panels", panels, min(2, len(panels)), title, warmup_s=warmup, notes=notes)


def _over_time(choice: Choice, recorded: Sequence[str]) -> bool:
    """Whether a choice names one delay of packets that no series has: it is read from a trace."""
    if len(choice.series) != 1 or choice.kind not in (None, "timeline"):
        return False
    [name] = choice.series
    return histograms.is_one(name) and name.endswith(".delay") and name not in recorded


def _packets_over_time(table: Table, labels: Sequence[str], choice: Choice) -> Picture:
    """Delays of packets over time, of the first run of each point: median, and from 5 to 95 % of an interval."""
    import numpy as np

    problems = choice.problems()
    asked = _asked_labels(choice, labels, problems, x_is_metric=False)
    _raise(problems)
    by, cells, _ = _combinations(table, labels, asked, 1, "several points would be mixed in a line")
    if len(cells) > 1:
        raise UsageError("delays of packets are drawn over time in one panel: use by, and at most seven points.")
    [name] = choice.series
    points = _runs_by_point(table)
    settings = list(dict.fromkeys(_key(point, by) for point, _ in points))
    named = names.metric(name)
    start, end = (float(t) for t in points[0][1][0].json["window_s"])
    edges = np.arange(0.0, end, interval(end, INTERVALS))
    found = []
    for point, runs in points:
        times, delays = runs[0].record.packet_delays(name)
        at = np.searchsorted(edges, times, side="right") - 1
        there = np.unique(at)
        shares = np.array([np.quantile(delays[at == i], (0.5, 0.05, 0.95)) for i in there]).reshape(-1, 3)
        found.append((_key(point, by), edges[there], shares))
    quantity = named.quantity.fitted([float(shares[:, 0].max()) for _, _, shares in found if len(shares)])
    lines = []
    for key, times, shares in found:
        middle, lo, hi = (shares * quantity.factor).T
        setting = settings.index(key)
        words = _in_words(key, by) if len(settings) > 1 else ""
        n = np.ones(len(times), dtype=np.int64)
        lines.append(Line(words, times, middle, lo, hi, n, setting, setting, words))
    axis = replace(quantity, words=f"{quantity.words}, p50 and p5–p95")
    panel = Panel(Quantity("time", "s", "s"), axis, lines, link=named.owner)
    return Picture("timeline", [panel], 1, ", ".join(names.path(n) for n in by), warmup_s=start)


# --- Records -------------------------------------------------------------------------------------------------------


def of_record(record: Record, choice: Choice | None = None, *, telling: bool = False) -> Picture:
    """A run as a figure: its series over time; with `metric`, its numbers.

    Args:
        telling: the series were recorded to be drawn, so leave out what tells little: of links the one with the
            longest queue, and flows of a user together.

    Raises:
        UsageError: unknown names, every one of them; or nothing to draw.
    """
    choice = choice or Choice()
    problems = choice.problems()
    if choice.panels:
        _raise(problems)
        return _panels([of_record(record, part) for part in choice.parts()])
    if _over_time(choice, drawable(record)):
        return _packets_over_time(_alone(record), [], choice)
    for option in ("x", "by", "rows", "columns"):
        if getattr(choice, option) and choice.kind != "scatter":
            problems.append(f"{option}: one run has no swept labels; it is for studies.")
    if choice.metric:
        _raise(problems)
        if record.scenario is not None and (wanted := choice.distributions(histograms.names(record.scenario))):
            record = record.with_histograms(*wanted)
        return of_table(_alone(record), choice)
    recorded = drawable(record)
    if not recorded and not choice.series and choice.kind in (None, "interval", "box"):
        _raise(problems)
        return of_table(_alone(record), replace(choice, kind=choice.kind or "interval"))
    if not recorded:
        problems.append("this run recorded no series; name them under [record] in the scenario, or draw a metric.")
    wanted = chosen("series", choice.series or ("*",), recorded, problems) if recorded else []
    _raise(problems)
    if telling:
        wanted = _telling(record, wanted) or wanted
    if choice.kind in DISTRIBUTIONS:
        return _cdf_of_series(_alone(record), wanted, [], choice)
    by_quantity: dict[str, list[str]] = {}
    for name in wanted:
        by_quantity.setdefault(names.series(name).quantity.title, []).append(name)
    panels = []
    owners = list(dict.fromkeys(names.series(name).family for name in wanted))
    owners.sort(key=lambda family: not family.startswith("groups."))
    for members in by_quantity.values():
        lines = _series_lines(record, members, by_user=telling)
        panels.append(_time_panel(names.series(members[0]), lines, owners, record.words(members[0])))
    window = record.json.get("window_s") or [0.0, 0.0]
    return Picture("timeline", panels, 1, warmup_s=float(window[0]), own_legends=True)


def _alone(record: Record) -> Table:
    """A run as a table of one point."""
    from ..run.study import Run, Table

    return Table([Run(0, {}, int(record.json.get("seed") or 0), record)])


def drawable(record: Record) -> list[str]:
    """The series of a record that have a value at a time; lists of events are none."""
    return [name for name in record.series_names if not name.startswith(("events.", "trace."))]


def _telling(record: Record, wanted: Sequence[str]) -> list[str]:
    """Rates, the queue of the link with the longest one, windows: in this order, without series for views only."""
    links = record.json.get("links", {})
    parts = [paths_.parse(name) for name in wanted]
    queues = [owner for room, owner, *rest in parts if room == "links" and rest[-2:] == ["queue", "packets"]]
    longest = max(queues, key=lambda name: links[name].get("queue_delay_s_mean") or 0.0, default=None)
    order = ("received_bytes", "packets", "window")
    found = []
    for name in wanted:
        room, owner, *rest = paths_.parse(name)
        told = room == "groups" or (room == "links" and owner == longest and rest[-2:] == ["queue", "packets"])
        if told and rest[-1] in order:
            found.append(name)
    return sorted(found, key=lambda n: order.index(n.rpartition(".")[2]))


@dataclass
class _Path:
    """Something over time: its words, its values, and a range where it stands for many."""

    words: str
    times: Floats
    values: Floats
    lo: Floats | None = None
    hi: Floats | None = None
    owner: str = ""


def _values(record: Record, name: str, named: Named) -> tuple[Floats, Floats]:
    """A series as it is drawn: increases of counters as rates."""
    import numpy as np

    times, values = record.arrays(name)
    if not named.counter or not len(times):
        return times, values
    every = float(np.median(np.diff(times))) if len(times) > 1 else float(times[0]) or 1.0
    return times, values * ((8.0 if name.endswith("_bytes") else 1.0) / every)


def _series_lines(record: Record, members: Sequence[str], *, by_user: bool = False) -> list[_Path]:
    """The lines of one quantity: each series, or where an owner has many of them their mean and range."""
    families: dict[str, list[_Path]] = {}
    users: dict[tuple[str, str], list[_Path]] = {}
    for name in members:
        named = names.series(name)
        times, values = _values(record, name, named)
        path = _Path(named.owner, times, values, owner=named.family)
        if by_user and named.counter and ", flow " in named.owner:
            users.setdefault((named.family, named.owner.partition(", flow ")[0]), []).append(path)
        else:
            families.setdefault(named.family, []).append(path)
    for (family, user), flows in users.items():
        families.setdefault(family, []).append(_sum(user, flows))
    lines: list[_Path] = []
    for family, paths in families.items():
        owner = paths_.parse(family)[1] if "." in family else family
        if len(paths) > (FEW if by_user else MANY):
            lines.append(_mean_and_range(_many(str(owner), paths), paths))
        elif len(paths) == 1:
            lines.append(replace(paths[0], words=paths[0].words if not by_user else str(owner)))
        else:
            lines += paths
    return lines


def _many(owner: str, paths: Sequence[_Path]) -> str:
    what = "flows" if ", flow " in paths[0].words else "users" if ", user " in paths[0].words else "copies"
    return f"{owner}: mean and range of {len(paths)} {what}"


def _together(paths: Sequence[_Path]) -> tuple[Floats, NDArray[np.float64]]:
    """Times, and values of shape (paths, times): as they are where the times agree, else held from look to look."""
    import numpy as np

    first = paths[0].times
    if all(len(p.times) == len(first) and np.array_equal(p.times, first) for p in paths):
        return first, np.array([p.values for p in paths])
    filled = [p for p in paths if len(p.times)]
    if not filled:
        return np.zeros(0), np.zeros((len(paths), 0))
    times = np.linspace(min(p.times[0] for p in filled), max(p.times[-1] for p in filled), TIMES)
    rows = []
    for p in paths:
        at = np.searchsorted(p.times, times, side="right") - 1
        rows.append(np.where(at >= 0, p.values[np.maximum(at, 0)], np.nan) if len(p.times) else np.full(TIMES, np.nan))
    return times, np.array(rows)


def _sum(words: str, paths: Sequence[_Path]) -> _Path:
    times, values = _together(paths)
    return _Path(words, times, values.sum(axis=0), owner=paths[0].owner)


def _mean_and_range(words: str, paths: Sequence[_Path]) -> _Path:
    import warnings

    import numpy as np

    times, values = _together(paths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an instant at which no flow has a value yet
        return _Path(
            words,
            times,
            np.nanmean(values, axis=0),
            np.nanmin(values, axis=0),
            np.nanmax(values, axis=0),
            owner=paths[0].owner,
        )


def _time_panel(named: Named, paths: Sequence[_Path], owners: Sequence[str], words: Sequence[str] = ()) -> Panel:
    """A panel of lines over time. An owner with one line has one colour in all panels."""
    import numpy as np

    families = [p.owner for p in paths]
    single = len(set(families)) == len(families) and len(owners) <= len(plots.COLOURS)

    highest = [float(np.nanmax(p.values)) for p in paths if len(p.values) and np.isfinite(p.values).any()]
    quantity = named.quantity.fitted(highest)
    lines = []
    for number, p in enumerate(paths):
        index = owners.index(p.owner) if single else number
        link = len(paths) == 1 and not p.owner.startswith("groups.")
        nothing = np.full(len(p.times), np.nan)
        lines.append(
            Line(
                p.words,
                p.times,
                p.values * quantity.factor,
                nothing if p.lo is None else p.lo * quantity.factor,
                nothing if p.hi is None else p.hi * quantity.factor,
                np.ones(len(p.times), dtype=np.int64),
                colour=BLACK if link else index,
                dash=0 if len(paths) == 1 else index,
            )
        )
    # a mean and range says in the legend what it is of; a single thing is named on the axis
    only = lines[0].words if len(lines) == 1 and paths[0].lo is None else ""
    return Panel(Quantity("time", "s", "s"), quantity, lines, link=only, y_categories=words)


# --- Tables --------------------------------------------------------------------------------------------------------


def of_table(table: Table, choice: Choice | None = None) -> Picture:
    """Finished runs as a figure.

    Raises:
        UsageError: unknown names, every one of them; or a choice that leaves several points in one place.
    """
    choice = choice or Choice()
    problems = choice.problems()
    if choice.panels:
        _raise(problems)
        return _panels([of_table(table, part) for part in choice.parts()])
    labels = list(dict.fromkeys(name for point in table.points() for name in point))
    if choice.kind == "timeline" or choice.series:
        return _of_series(table, labels, choice, problems)
    kind = choice.kind
    known = [*table.metric_names(), *table.derived_names()]
    lists = _list_names(table) if kind in (None, *DISTRIBUTIONS, "box") and choice.metric else []
    of_packets = choice.distributions(_recorded(table))
    metrics = _metrics(choice, [*known, *lists], of_packets, problems) if choice.metric else chief(table)
    x_metrics: list[str] = []
    if kind == "scatter":
        if choice.x is None:
            problems.append("a scatter plot needs a metric for x, and one for y.")
        else:
            x_metrics = chosen("x", (choice.x,), known, problems)
    asked = _asked_labels(choice, labels, problems, x_is_metric=kind == "scatter")
    _raise(problems)
    if kind is None and any(name in lists or name in of_packets for name in metrics):
        kind = "cdf"
    if kind == "scatter":
        return _scatter(table, labels, x_metrics, metrics, asked, choice)
    if kind in DISTRIBUTIONS:
        return _cdf(table, labels, metrics, asked, replace(choice, kind=kind))
    return _over(table, labels, metrics, asked, choice, kind)


def _recorded(table: Table) -> list[str]:
    """The distributions over packets that runs of a table recorded."""
    return list(dict.fromkeys(name for run in table.runs for name in histograms.recorded(run.json)))


def _metrics(choice: Choice, known: Sequence[str], of_packets: Sequence[str], problems: list[str]) -> list[str]:
    """The metrics of `metric`: distributions over packets before numbers and lists of a run."""
    numbers = []
    for pattern in choice.metric:
        if choice.over is None and histograms.is_one(pattern) and pattern not in of_packets:
            problems.append(
                f'metric “{pattern}” was not recorded. Add record.histograms = ["{pattern}"] to the scenario and run '
                "it again."
            )
        elif not matching(pattern, of_packets):
            numbers.append(pattern)
    numbers += [metric for name in of_packets for metric in histograms.metrics_behind(name) if "users_" in metric]
    packets = [name for name in of_packets if not name.endswith(histograms.USERS)]
    return [*packets, *chosen("metric", numbers, known, problems)]


def needed(choice: Choice, known: Sequence[str]) -> list[str]:
    """The distributions, of those `known`, that a run must record to draw a choice."""
    return [
        name for part in choice.parts() for name in (*part.distributions(known), *needed_by_metrics(part.metric, known))
    ]


def needed_by_metrics(metric: Sequence[str], known: Sequence[str]) -> list[str]:
    """The distributions without which a record does not have these metrics."""
    behind = {name: of for of in known for name in histograms.metrics_behind(of)}
    over_users = re.compile(r"(users_delay_s_p\d+)_p\d+$")
    meant = [name for pattern in metric for name in ALIASES.get(pattern.casefold(), (pattern,))]
    asked = ("classes.", "users_delay_s", histograms.RESPONSIVENESS, histograms.OUTCOME)
    rare = [over_users.sub(r"\1", pattern) for pattern in meant if any(one in pattern for one in asked)]
    return [behind[name] for pattern in rare for name in matching(pattern, behind)]


def metrics_of(table: Table, choice: Choice, *, times: bool = False) -> list[str]:
    """The metrics that a choice names; without names those that tell most, and for tables `times` of each group.

    Raises:
        UsageError: unknown names, every one of them.
    """
    if not choice.metric:
        return [*chief(table), *(table.group_times() if times else [])]
    problems: list[str] = []
    found = chosen("metric", choice.metric, [*table.metric_names(), *table.derived_names()], problems)
    _raise(problems)
    return found


def check_labels(labels: Sequence[str], x: str | None, by: Sequence[str]) -> None:
    """Raise a UsageError for names of labels that do not exist, all of them."""
    problems: list[str] = []
    if x is not None:
        _label("x", x, labels, problems)
    for name in by:
        _label("by", name, labels, problems)
    _raise(problems)


def unknown_metrics(scenarios: Iterable[Scenario], metrics: Sequence[str]) -> list[str]:
    """A message for each metric that no scenario can have. Names that end as a documented metric may appear late."""
    scenarios = list(scenarios)
    ends = {str(metric["name"]).rpartition(".")[2] for metric in schema()["metrics"]}

    def may_appear(name: str) -> bool:
        documented = any(fnmatchcase(end, name.rpartition(".")[2]) for end in ends)
        return (documented or re.search(r"drops|marks", name) is not None) and _has_component(scenarios, name)

    asked = [name for name in metrics if name.casefold() not in ALIASES and not may_appear(name)]
    known: dict[str, None] = {}
    problems: list[str] = []
    for scenario in scenarios if asked else ():
        found = metric_names(scenario)
        known.update(dict.fromkeys([*found, *histograms.names(scenario)]))
        problems = []
        chosen("metric", asked, list(known), problems)
        if not problems or not found:
            return []
    return problems


def _has_component(scenarios: Sequence[Scenario], metric: str) -> bool:
    """Whether a scenario has the group, link or stage that the metric names; true if it names none."""
    kind, _, rest = metric.partition(".")
    if kind not in ("groups", "links", "stages") or "*" in rest.partition(".")[0]:
        return True
    names = {name for scenario in scenarios for name in scenario.tree.get(kind, {})}
    return any(metric.startswith(paths_.render((kind, name)) + ".") for name in names)


def chief(table: Table) -> list[str]:
    """The metrics that tell most: each group's throughput; utilisation and delay of the link with the longest queue."""
    known = table.metric_names()
    found = [n for n in known if n.startswith("groups.") and n.endswith(".throughput_bps")]
    delays: dict[str, float] = {}
    for run in table.runs:
        for name, link in run.json.get("links", {}).items():
            delays[name] = delays.get(name, 0.0) + (link.get("queue_delay_s_mean") or 0.0)
    if delays:
        link = paths_.render(("links", max(delays, key=lambda n: delays[n])))
        found += [f"{link}.utilisation", f"{link}.queue_delay_s_mean"]
    return found


def _list_names(table: Table) -> list[str]:
    found: dict[str, None] = {}
    for run in table.runs[:1] + table.runs[-1:]:
        found.update(dict.fromkeys(_lists(run.json)))
    return [name for name in found if name not in ("window_s", "event_reasons") and not name.startswith("histograms.")]


@dataclass
class _Asked:
    x: str | None
    by: list[str] | None
    rows: str | None
    columns: str | None


def _asked_labels(choice: Choice, labels: Sequence[str], problems: list[str], *, x_is_metric: bool) -> _Asked:
    def one(what: str, name: str | None) -> str | None:
        return None if name is None else _label(what, name, labels, problems)

    asked = _Asked(
        None if x_is_metric else one("x", choice.x),
        None if choice.by is None else [name for name in (one("by", n) for n in choice.by) if name is not None],
        one("rows", choice.rows),
        one("columns", choice.columns),
    )
    used = [n for n in (asked.x, asked.rows, asked.columns, *(asked.by or [])) if n is not None]
    problems += [f"“{name}” is asked for twice." for name in dict.fromkeys(n for n in used if used.count(n) > 1)]
    return asked


def _determined(table: Table, label: str, used: Sequence[str]) -> bool:
    """Whether a label follows from others: it moves in step with them, or never changes."""
    seen: dict[tuple[Any, ...], Any] = {}
    for point in table.points():
        key = tuple(point.get(name) for name in used)
        if seen.setdefault(key, point.get(label)) != point.get(label):
            return False
    return True


def _free(table: Table, labels: Sequence[str], used: Sequence[str]) -> list[str]:
    """The labels that still change once these are given, without those that follow from others."""
    free: list[str] = []
    for label in labels:
        if label not in used and not _determined(table, label, [*used, *free]):
            free.append(label)
    return free


def _everywhere(table: Table, label: str) -> bool:
    """Whether all points have this label. Studies that share a figure may sweep different ones."""
    return all(label in point for point, _ in _runs_by_point(table))


def _require_everywhere(table: Table, **labels: str | None) -> None:
    for option, label in labels.items():
        if label is not None and not _everywhere(table, label):
            text = "some studies of this figure do not sweep it. Draw them in separate figures."
            raise UsageError(f"{option} “{label}”: {text}")


def _default_x(table: Table, labels: Sequence[str], *, numbers_only: bool) -> str | None:
    """The swept label with most values, one with numbers before one without."""
    best: tuple[bool, int, str] | None = None
    for name in labels:
        values = table.label_values(name)
        numeric = names.axis(name, values) is not None
        if len(values) > 1 and (numeric or not numbers_only) and (best is None or (numeric, len(values)) > best[:2]):
            best = (numeric, len(values), name)
    return None if best is None else best[2]


def _facet(table: Table, free: list[str], asked: _Asked, per_panel: int) -> None:
    """Where lines would be too many, a label of few values makes columns of panels."""
    if asked.by is not None or asked.columns is not None or asked.rows is not None:
        return
    while len(free) > 1 and (shared := [name for name in free if _everywhere(table, name)]):
        lines = per_panel
        for name in free:
            lines *= len(table.label_values(name))
        if lines <= MOST_LINES:
            return
        few = min(shared, key=lambda name: len(table.label_values(name)))
        if len(table.label_values(few)) > 6:
            return
        if asked.columns is None:
            asked.columns = few
        elif asked.rows is None:
            asked.rows = few
        else:
            return
        free.remove(few)


def _key(point: Labels, by: Sequence[str]) -> tuple[Any, ...]:
    return tuple(point.get(name) for name in by)


def _in_words(values: Sequence[Label | None], by: Sequence[str]) -> str:
    """ "CoDel, 50 ms". Of several labels a bare number has its name in front: "CoDel, TCP flows 8"."""
    parts = []
    for name, found in zip(by, values, strict=True):
        if found is None:
            continue
        bare = isinstance(found, (int, float)) and len(by) > 1
        text = names.value(found)
        parts.append(f"{names.path(name, owner=False)} {text}" if bare else text)
    return ", ".join(parts)


def _is_number(found: Label) -> bool:
    return names.number(found) is not None


@dataclass
class _Cell:
    """A panel's place: labels that hold in it, and its words."""

    where: dict[str, Any]
    title: str
    row: str = ""


def _cells(table: Table, asked: _Asked) -> tuple[list[_Cell], int]:
    _require_everywhere(table, rows=asked.rows, columns=asked.columns)
    rows = table.label_values(asked.rows) if asked.rows else [None]
    columns = table.label_values(asked.columns) if asked.columns else [None]
    cells = []
    for r in rows:
        for c in columns:
            where: dict[str, Any] = {}
            if asked.rows is not None and r is not None:
                where[asked.rows] = r
            if asked.columns is not None and c is not None:
                where[asked.columns] = c
            row = _facet_words(asked.rows, r) if asked.rows is not None and r is not None else ""
            title = _facet_words(asked.columns, c) if asked.columns is not None and c is not None else ""
            cells.append(_Cell(where, title or row, row if title else ""))
    if len(cells) > MOST_PANELS:
        raise UsageError(f"{len(cells)} panels are too many for a figure; {MOST_PANELS} are allowed.")
    return cells, len(columns)


def _facet_words(name: str, found: Label) -> str:
    return f"{names.path(name, owner=False)} {names.value(found)}" if _is_number(found) else names.value(found)


def _runs_by_point(table: Table) -> list[tuple[Labels, list[Run]]]:
    found: dict[int, tuple[Labels, list[Run]]] = {}
    for run in table.runs:
        found.setdefault(run.point, (run.labels, []))[1].append(run)
    return list(found.values())


def _number(run: Run, metric: str) -> float:
    try:
        value = run.metric(metric)
    except KeyError:
        return math.nan  # a group or a reason that this point does not have
    return math.nan if value is None else float(value)


def _single(run: Run, metric: str) -> list[float]:
    return [_number(run, metric)]


def _list(run: Run, metric: str) -> Sequence[float]:
    """The entries of a list, a single number, or quantiles that stand for the packets of a histogram."""
    if metric in (run.json.get("histograms") or {}):
        packets = Histogram.merged(histograms.of_record(run.json, metric))
        each: Sequence[float] = packets.quantile([(i + 0.5) / QUANTILES for i in range(QUANTILES)])
        return each
    found: Any = run.json
    for part in paths_.parse(metric):
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, list):
        return [math.nan if v is None else float(v) for v in found]
    return [_number(run, metric)]


def _by_quantity(metrics: Sequence[str]) -> dict[str, list[tuple[str, Named]]]:
    found: dict[str, list[tuple[str, Named]]] = {}
    for metric in metrics:
        named = names.metric(metric)
        found.setdefault(named.quantity.title, []).append((metric, named))
    return found


def _over(
    table: Table, labels: Sequence[str], metrics: Sequence[str], asked: _Asked, choice: Choice, kind: str | None
) -> Picture:
    """A metric over a swept label: means with intervals, or boxes."""
    import numpy as np

    swept = [name for name in labels if len(table.label_values(name)) > 1]
    rest = [name for name in swept if name not in (asked.rows, asked.columns, *(asked.by or []))]
    shared = [name for name in rest if _everywhere(table, name)]
    x = asked.x or _default_x(table, shared, numbers_only=kind == "line")
    _require_everywhere(table, x=x)
    if kind == "line" and x is None:
        raise UsageError(
            "kind “line”: nothing is swept that has numbers"
            f" ({', '.join(swept) or 'nothing is swept'}); kind “interval” draws dots with intervals."
        )
    values: list[Label] = table.label_values(x) if x else [""]
    along = names.axis(x, values) if x else None
    if kind == "line" and along is None:
        raise UsageError(f"kind “line”: the values of {x} are no numbers of one unit; use kind “interval”.")
    if kind is None:
        kind = "line" if along is not None else "interval"
    by_quantity = _by_quantity(metrics)
    most = max(len(members) for members in by_quantity.values())
    fixed = [n for n in (x, asked.rows, asked.columns) if n is not None]
    free = _free(table, labels, fixed)
    if asked.by is None:
        _facet(table, free, asked, most)
        by = [n for n in free if n not in (asked.rows, asked.columns)]
    else:
        by = asked.by
        left = _free(table, labels, [*fixed, *by])
        if left:
            raise UsageError(
                f"several points are in the same place: they differ in {', '.join(left)}. Add them to --by, --rows or "
                "--columns, or run the study with one value of each."
            )
    cells, columns = _cells(table, asked)
    points = _runs_by_point(table)
    numeric = along is not None and kind == "line"
    places = {value: along[1][i] if numeric and along else float(i) for i, value in enumerate(values)}
    settings = list(dict.fromkeys(_key(point, by) for point, _ in points))
    panels = []
    for cell in cells:
        for members in by_quantity.values():
            found: dict[tuple[int, int], dict[float, list[Floats]]] = {}
            for point, runs in points:
                if any(point.get(name) != value for name, value in cell.where.items()):
                    continue
                at = places[point[x]] if x else 0.0
                for owner, (metric, _) in enumerate(members):
                    values_of = _single if kind != "box" or choice.over == "runs" else _list
                    each = [np.array(values_of(run, metric)) for run in runs]
                    found.setdefault((settings.index(_key(point, by)), owner), {})[at] = each
            named = members[0][1]
            means = [_mean(values) for group in found.values() for each in group.values() for values in each]
            quantity = named.quantity.fitted(means)
            if kind == "box":
                quantity = replace(quantity, words=f"{quantity.words}, over {_box_over(members[0][0], choice)}")
            lines = []
            for (setting, owner), group in found.items():
                line = _line(group, quantity.factor, kind, choice.seeds)
                line.binned = histograms.is_one(members[owner][0])
                _call(line, settings, setting, by, [n for _, n in members], owner, most)
                lines.append(line)
            axis = along[0] if along is not None else Quantity(names.path(x) if x else "")
            categories = [] if numeric else [_category(v) for v in values]
            owner_words = members[0][1].owner if len(members) == 1 else ""
            panels.append(Panel(axis, quantity, lines, cell.title, cell.row, categories, owner_words))
    _one_unit(panels)
    if kind == "box":
        _boxes_over_decades(panels)
    if not x:
        panels = [_owners_as_categories(panel) for panel in panels]
    title = ", ".join(names.path(n, owner=len(by) == 1) for n in by)
    wide = columns if asked.columns else 1 if asked.rows else 2 if len(panels) > 1 else 1
    if asked.columns and len(by_quantity) > 1:
        panels = [p for r in range(0, len(cells), columns) for p in _transposed(panels, r, columns, len(by_quantity))]
    return Picture(kind, panels, wide, title, warmup_s=0.0, faceted=bool(asked.rows or asked.columns))


def _transposed(panels: list[Panel], first: int, columns: int, quantities: int) -> list[Panel]:
    """Panels of a row of cells: one row for each quantity."""
    return [panels[(first + c) * quantities + q] for q in range(quantities) for c in range(columns)]


def _category(value: Label) -> str:
    return names.value(value)


def _owners_as_categories(panel: Panel) -> Panel:
    """Nothing is swept: whose the number is stands on the axis."""
    import numpy as np

    plain: dict[str, Any] = {"colour": 0, "dash": 0, "owner": "", "setting": ""}
    lines = [replace(line, x=np.full(len(line.x), float(i)), **plain) for i, line in enumerate(panel.lines)]
    words = [line.words or panel.link or panel.y.words for line in panel.lines]
    return replace(panel, lines=[replace(line, words="") for line in lines], categories=words)


def _call(
    line: Line,
    settings: Sequence[tuple[Any, ...]],
    setting: int,
    by: Sequence[str],
    members: Sequence[Named],
    owner: int,
    most: int,
) -> None:
    """A line's words and looks: what was set has a colour and a marker, whose it is has dashes.

    Where all panels have one owner, dashes follow what was set.
    """
    whose = members[owner].owner if len(members) > 1 else ""
    put = _in_words(settings[setting], by) if len(settings) > 1 else ""
    line.words = ", ".join(part for part in (whose, put) if part)
    if len(settings) > len(plots.COLOURS) and most > 1:
        line.colour = line.dash = setting * len(members) + owner  # too many for two ways of telling them apart
        return
    line.owner, line.setting = whose, put
    line.colour = setting if len(settings) > 1 else owner
    line.dash = setting if most == 1 else owner
    if len(settings) == len(members) == 1 < most:
        line.colour = BLACK  # the legend of other panels has the first colour for their first owner


def _mean(values: Floats) -> float:
    import numpy as np

    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _line(group: Mapping[float, list[Floats]], factor: float, kind: str, seeds: str) -> Line:
    """Means over runs. Several values of a run depend on each other: its mean counts once."""
    import numpy as np

    xs = sorted(group)
    samples = [np.concatenate(group[x]) * factor for x in xs]
    found = [stats.mean_interval([_mean(values) * factor for values in group[x]]) for x in xs]
    shown = kind == "box" or seeds == "each"
    return Line(
        "",
        np.array(xs),
        np.array([i.mean for i in found]),
        np.array([i.lo if math.isfinite(i.lo) else math.nan for i in found]),
        np.array([i.hi if math.isfinite(i.hi) else math.nan for i in found]),
        np.array([i.n for i in found], dtype=np.int64),
        samples=samples if shown else [],
    )


def _one_unit(panels: Sequence[Panel]) -> None:
    """Panels of one quantity have one unit: that of the largest value."""
    least: dict[str, Quantity] = {}
    for panel in panels:
        known = least.get(panel.y.words)
        if known is None or (panel.y.factor < known.factor and panel.y.unit == known.unit):
            least[panel.y.words] = panel.y
    for panel in panels:
        wanted = least[panel.y.words]
        if wanted.unit == panel.y.unit and wanted.factor != panel.y.factor:
            panel.lines = [scaled(line, wanted.factor / panel.y.factor) for line in panel.lines]
            panel.y = wanted


def _combinations(
    table: Table, labels: Sequence[str], asked: _Asked, per_panel: int, problem: str
) -> tuple[list[str], list[_Cell], int]:
    """The labels of lines and the cells of panels, where no label is along the axis."""
    fixed = [n for n in (asked.rows, asked.columns) if n is not None]
    if asked.by is None:
        free = _free(table, labels, fixed)
        _facet(table, free, asked, per_panel)
        by = [n for n in free if n not in (asked.rows, asked.columns)]
    else:
        by = asked.by
        left = _free(table, labels, [*fixed, *by])
        if left:
            raise UsageError(f"{problem}: they differ in {', '.join(left)}. Add them to --by, --rows or --columns.")
    cells, columns = _cells(table, asked)
    return by, cells, columns


def _cdf(table: Table, labels: Sequence[str], metrics: Sequence[str], asked: _Asked, choice: Choice) -> Picture:
    """Distributions: over packets, of a metric over runs, of a list over its entries."""
    if choice.x is not None:
        raise UsageError(f"kind “{choice.kind}”: the metric is along the axis; leave x out.")

    def values(run: Run, metric: str) -> _Spread:
        import numpy as np

        if metric in (run.json.get("histograms") or {}):
            return _Spread.of_histogram(Histogram.merged(histograms.of_record(run.json, metric)))
        return _Spread.of_values(np.array(_list(run, metric)))

    return _distributions(table, labels, metrics, names.metric, values, asked, choice)


def _cdf_of_series(table: Table, series: Sequence[str], labels: Sequence[str], choice: Choice) -> Picture:
    """Distributions of series over time, within the window."""
    problems: list[str] = []
    asked = _asked_labels(choice, labels, problems, x_is_metric=False)
    _raise(problems)

    def values(run: Run, name: str) -> _Spread:
        times, found = _values(run.record, name, names.series(name))
        start = float((run.json.get("window_s") or [0.0])[0])
        return _Spread.of_values(found[times > start])

    return _distributions(table, labels, series, names.series, values, asked, choice)


@dataclass
class _Spread:
    """The distribution function of one run: shares in per cent at or below values, both ascending."""

    at: Floats
    share: Floats
    n: int
    binned: bool = False

    @staticmethod
    def of_values(found: Floats) -> _Spread:
        import numpy as np

        kept = np.sort(found[np.isfinite(found)])
        at = np.unique(kept)
        return _Spread(at, 100 * np.searchsorted(kept, at, side="right") / max(1, len(kept)), len(kept))

    @staticmethod
    def of_histogram(found: Histogram) -> _Spread:
        at, share = found.cdf()
        return _Spread(at, 100 * share, found.total, binned=True)

    def below(self, grid: Floats) -> Floats:
        """The shares at or below other values."""
        import numpy as np

        if self.binned:
            return np.interp(grid, self.at, self.share, left=0.0)
        return np.concatenate([[0.0], self.share])[np.searchsorted(self.at, grid, side="right")]

    def quantile(self, percent: float) -> float:
        """The value that a share does not exceed."""
        import numpy as np

        return float(self.at[min(int(np.searchsorted(self.share, percent - 1e-9)), len(self.at) - 1)])


def _distributions(
    table: Table,
    labels: Sequence[str],
    wanted: Sequence[str],
    named_of: Callable[[str], Named],
    values: Callable[[Run, str], _Spread],
    asked: _Asked,
    choice: Choice,
) -> Picture:
    by_quantity: dict[str, list[tuple[str, Named]]] = {}
    for name in wanted:
        named = named_of(name)
        by_quantity.setdefault(named.quantity.title, []).append((name, named))
    most = max(len(members) for members in by_quantity.values())
    by, cells, columns = _combinations(table, labels, asked, most, "several points would be mixed in a line")
    points = _runs_by_point(table)
    settings = list(dict.fromkeys(_key(point, by) for point, _ in points))
    alone: dict[str, None] = {}
    panels = []
    for cell in cells:
        for members in by_quantity.values():
            lines: list[Line] = []
            quantity = members[0][1].quantity
            data: list[tuple[int, int, list[_Spread]]] = []
            for point, runs in points:
                if any(point.get(name) != value for name, value in cell.where.items()):
                    continue
                for owner, (name, _) in enumerate(members):
                    each = [values(run, name) for run in runs]
                    data.append((settings.index(_key(point, by)), owner, [it for it in each if len(it.at)]))
            everything = [it for _, _, found in data for it in found]
            quantity = quantity.fitted([it.quantile(99.0) for it in everything])
            over = _over_what(members[0][0], everything, choice)
            alone.update(dict.fromkeys(name for name, _ in members if over == "runs"))
            for setting, owner, found in data:
                line = _ecdf([replace(it, at=it.at * quantity.factor) for it in found], choice.seeds)
                if choice.kind == "ccdf":
                    line = _complement(line)
                _call(line, settings, setting, by, [n for _, n in members], owner, most)
                lines.append(line)
            link = members[0][1].owner if len(members) == 1 else ""
            panel = Panel(quantity, Quantity(f"{str(choice.kind).upper()} over {over}", "1", "%"), lines, cell.title)
            panel.row, panel.link = cell.row, link
            panel.x_scale = _decades(everything, quantity.factor)
            panel.y_scale = _tail(lines) if choice.kind == "ccdf" else None
            panels.append(panel)
    title = ", ".join(names.path(n) for n in by)
    wide = columns if asked.columns else 2 if len(panels) > 1 else 1
    said = [notes.over_runs(name, len(table), _within(table, name)) for name in alone] if choice.over is None else []
    faceted = bool(asked.rows or asked.columns)
    return Picture(choice.kind or "cdf", panels, wide, title, faceted=faceted, notes=said)


def _over_what(name: str, found: Sequence[_Spread], choice: Choice) -> str:
    """The sample of a distribution, the end of its axis title."""
    if any(it.binned for it in found):
        return histograms.sampled(name)
    if choice.series:
        return "time"
    what = name.rpartition(".")[2].partition("_")[0]
    if what in ("users", "flows"):
        return what
    return "runs" if all(it.n == 1 for it in found) else "values"


def _box_over(name: str, choice: Choice) -> str:
    """The sample of a box: packets, round trips, users, flows or runs."""
    if histograms.is_one(name):
        return histograms.sampled(name)
    what = name.rpartition(".")[2].partition("_")[0]
    return what if what in ("users", "flows") and choice.over is None else "runs"


def _within(table: Table, metric: str) -> str:
    """A distribution within runs that tells more than a metric: over packets, or over users; "" if there is none."""
    above, _, leaf = metric.rpartition(".")
    field = leaf.rpartition("_s_")[0]
    if field in ("delay", "rtt", "queue_delay", "completion", "first_byte"):
        return f"{above}.{field}".replace("queue_delay", "queue.delay")
    each = f"{above}.users_{leaf}"
    return each if each in _list_names(table) else ""


SPAN = 30.0
"""Ratio of the largest 99th percentile to the smallest median from which delays are on a logarithmic axis."""


def _decades(found: Sequence[_Spread], factor: float) -> Scale | None:
    """A logarithmic axis for delays of packets that differ by decades."""
    delays = [it for it in found if it.binned]
    medians = [m for it in delays if (m := it.quantile(50.0)) > 0]
    if not medians or max(it.quantile(99.0) for it in delays) < SPAN * min(medians):
        return None
    least = min(v for it in delays if (v := max(it.quantile(1.0), min(medians) / 1e3)) > 0)
    return Scale(log=True, lo=least * factor, hi=max(float(it.at[-1]) for it in delays) * factor)


def _boxes_over_decades(panels: Sequence[Panel]) -> None:
    """Logarithmic axes for boxes of packets' delays that differ by decades; panels share one."""
    import numpy as np

    samples = [each for panel in panels for line in panel.lines if line.binned for each in line.samples if len(each)]
    low, middle, high = (np.array([np.nanpercentile(each, share) for each in samples]) for share in (5, 50, 95))
    if not len(samples) or not min(middle) > 0 or max(high) < SPAN * min(middle):
        return
    scale = Scale(log=True, lo=float(max(min(low), min(middle) / 100)) / 1.5, hi=float(max(high)) * 1.5)
    for panel in panels:
        if any(line.binned for line in panel.lines):
            panel.y_scale, panel.kind = scale, "box"


def _complement(line: Line) -> Line:
    """The share above each value; NaN where it is 0, which a logarithmic axis does not have."""
    import numpy as np

    def above(share: Floats) -> Floats:
        return np.where(share < 100.0, 100.0 - share, np.nan)

    each = [(x, above(y)) for x, y in line.each]
    return replace(line, y=above(line.y), lo=above(line.hi), hi=above(line.lo), each=each)


def _tail(lines: Sequence[Line]) -> Scale:
    """From 100 % down to the smallest share above."""
    import numpy as np

    least = min((float(np.nanmin(line.y)) for line in lines if np.isfinite(line.y).any()), default=1.0)
    return Scale(log=True, lo=min(max(least, 1e-4), 50.0), hi=100.0)


def _ecdf(runs: Sequence[_Spread], seeds: str) -> Line:
    """A distribution function in per cent, with a 95 % interval.

    Several values a run: each run's function, mean and Student-t interval over runs. One value a run: one function,
    and the band of Dvoretzky, Kiefer, Wolfowitz and Massart. Many values of a single run depend on each other: no band.
    """
    import numpy as np

    if not runs:
        nothing = np.zeros(0)
        return Line("", nothing, nothing, nothing, nothing, np.zeros(0, dtype=np.int64))
    everything = np.unique(np.concatenate([it.at for it in runs]))
    binned = runs[0].binned
    grid = everything if len(everything) <= TIMES or binned else np.quantile(everything, np.linspace(0, 1, TIMES))
    each = np.array([it.below(grid) for it in runs])
    single = all(it.n == 1 for it in runs)
    mean = each.mean(axis=0)
    lo = hi = np.full(len(grid), np.nan)
    if single and len(runs) > 1:
        band = 100 * math.sqrt(math.log(2 / 0.05) / (2 * len(runs)))
        lo, hi = np.maximum(mean - band, 0.0), np.minimum(mean + band, 100.0)
    elif len(runs) > 1:
        intervals = [stats.mean_interval(column) for column in each.T]
        lo = np.array([max(i.lo, 0.0) for i in intervals])
        hi = np.array([min(i.hi, 100.0) for i in intervals])
    n = np.full(len(grid), len(runs), dtype=np.int64)
    # from zero up at the smallest value
    grid, n = np.concatenate([grid[:1], grid]), np.concatenate([n[:1], n])
    mean, lo, hi = (np.concatenate([[start], a]) for start, a in ((0.0, mean), (lo[0], lo), (hi[0], hi)))
    each = np.concatenate([np.zeros((len(each), 1)), each], axis=1)
    line = Line("", grid, mean, lo, hi, n, binned=binned)
    if seeds == "each" and not single:
        line.each = [(grid, row) for row in each]
    return line


def _scatter(
    table: Table,
    labels: Sequence[str],
    x_metrics: Sequence[str],
    metrics: Sequence[str],
    asked: _Asked,
    choice: Choice,
) -> Picture:
    """One metric over another: a point's means with both intervals, and each run where asked for."""
    import numpy as np

    pairs = _pairs(x_metrics, metrics)
    if (
        len({names.metric(y).quantity.title for _, y in pairs}) > 1
        or len({names.metric(x).quantity.title for x, _ in pairs}) > 1
    ):
        raise UsageError("a scatter plot has one quantity along each axis; name one metric for each.")
    points = _runs_by_point(table)
    if asked.by is None:
        free = _free(table, labels, [n for n in (asked.rows, asked.columns) if n])
        words_only = [n for n in free if names.axis(n, table.label_values(n)) is None]
        asked.by = words_only or free[:1]
    by = asked.by
    cells, columns = _cells(table, asked)
    settings = list(dict.fromkeys(_key(point, by) for point, _ in points))
    x_named, y_named = names.metric(pairs[0][0]), names.metric(pairs[0][1])
    everything = [(_number(run, x), _number(run, y)) for x, y in pairs for run in table.runs]
    x_quantity = x_named.quantity.fitted([x for x, _ in everything])
    y_quantity = y_named.quantity.fitted([y for _, y in everything])
    panels = []
    for cell in cells:
        lines = []
        for setting, key in enumerate(settings):
            for owner, (x, y) in enumerate(pairs):
                found = [
                    (
                        [_number(run, x) * x_quantity.factor for run in runs],
                        [_number(run, y) * y_quantity.factor for run in runs],
                    )
                    for point, runs in points
                    if _key(point, by) == key and all(point.get(n) == v for n, v in cell.where.items())
                ]
                if not found:
                    continue
                across = [stats.mean_interval(np.array(xs)) for xs, _ in found]
                up = [stats.mean_interval(np.array(ys)) for _, ys in found]

                def bound(of: Sequence[stats.Interval], name: str) -> Floats:
                    return np.array([v if math.isfinite(v := getattr(i, name)) else math.nan for i in of])

                owners = [names.metric(b) for _, b in pairs]
                line = Line(
                    "",
                    bound(across, "mean"),
                    bound(up, "mean"),
                    bound(up, "lo"),
                    bound(up, "hi"),
                    np.array([i.n for i in up], dtype=np.int64),
                    x_lo=bound(across, "lo"),
                    x_hi=bound(across, "hi"),
                )
                _call(line, settings, setting, by, owners, owner, len(pairs))
                if choice.seeds == "each":
                    line.each = [(np.array(xs), np.array(ys)) for xs, ys in found]
                lines.append(line)
        panels.append(
            Panel(x_quantity, y_quantity, lines, cell.title, cell.row, link=y_named.owner if len(pairs) == 1 else "")
        )
    if len(pairs) == 1 and x_named.owner != y_named.owner:
        for panel in panels:
            panel.x = replace(panel.x, words=f"{panel.x.words} of {x_named.owner}")
    return Picture(
        "scatter", panels, columns, ", ".join(names.path(n) for n in by), faceted=bool(asked.rows or asked.columns)
    )


def _pairs(x_metrics: Sequence[str], metrics: Sequence[str]) -> list[tuple[str, str]]:
    """Metrics of the same owner go together; one that is alone goes with all."""
    if len(x_metrics) == 1:
        return [(x_metrics[0], y) for y in metrics]
    if len(metrics) == 1:
        return [(x, metrics[0]) for x in x_metrics]
    owners = {names.metric(x).owner: x for x in x_metrics}
    found = [(owners[names.metric(y).owner], y) for y in metrics if names.metric(y).owner in owners]
    if not found:
        raise UsageError("a scatter plot: no group or link has both metrics.")
    return found


def _of_series(table: Table, labels: Sequence[str], choice: Choice, problems: list[str]) -> Picture:
    """Series of a study over time: mean over runs and its interval, or each run."""
    import numpy as np

    recorded: dict[str, None] = {}
    for _, runs in _runs_by_point(table):
        recorded.update(dict.fromkeys(drawable(runs[0].record)))
    if _over_time(choice, list(recorded)):
        return _packets_over_time(table, labels, choice)
    if not recorded:
        problems.append(
            "this study recorded no series; name them under [record] in the scenario and run it again, "
            "or draw a metric."
        )
        _raise(problems)
    wanted = chosen("series", choice.series or ("*",), list(recorded), problems)
    if choice.kind in DISTRIBUTIONS:
        _raise(problems)
        return _cdf_of_series(table, wanted, labels, choice)
    if choice.x is not None:
        problems.append("x: a timeline has time along the axis; leave it out.")
    asked = _asked_labels(replace(choice, x=None), labels, problems, x_is_metric=False)
    _raise(problems)
    by_quantity: dict[str, list[str]] = {}
    for name in wanted:
        by_quantity.setdefault(names.series(name).quantity.title, []).append(name)
    owners = max(min(len({names.series(n).family for n in m}), len(m)) for m in by_quantity.values())
    by, cells, columns = _combinations(table, labels, asked, owners, "several points would be mixed in a line")
    points = _runs_by_point(table)
    settings = list(dict.fromkeys(_key(point, by) for point, _ in points))
    panels = []
    for cell in cells:
        for members in by_quantity.values():
            paths: dict[tuple[int, str], list[_Path]] = {}
            for point, runs in points:
                if any(point.get(name) != value for name, value in cell.where.items()):
                    continue
                for run in runs:
                    there = set(run.record.series_names)
                    for path in _series_lines(run.record, [n for n in members if n in there]):
                        paths.setdefault((settings.index(_key(point, by)), path.words), []).append(path)
            who = list(dict.fromkeys(words for _, words in paths))
            named = names.series(members[0])
            highest = [float(np.nanmax(p.values)) for ps in paths.values() for p in ps if np.isfinite(p.values).any()]
            quantity = named.quantity.fitted(highest)
            lines = []
            for (setting, words), found in paths.items():
                owner = words if len(who) > 1 else ""
                put = _in_words(settings[setting], by) if len(settings) > 1 else ""
                text = ", ".join(t for t in (owner, put) if t)
                times, values = _together(found)
                intervals = [stats.mean_interval(column) for column in values.T * quantity.factor]
                colour = setting if len(settings) > 1 else who.index(words)
                dash = setting if len(who) == 1 else who.index(words)
                line = Line(
                    text,
                    times,
                    np.array([i.mean for i in intervals]),
                    np.array([i.lo if math.isfinite(i.lo) else math.nan for i in intervals]),
                    np.array([i.hi if math.isfinite(i.hi) else math.nan for i in intervals]),
                    np.array([i.n for i in intervals], dtype=np.int64),
                    colour,
                    dash,
                    put,
                    owner,
                )
                if choice.seeds == "each":
                    line.each = [(p.times, p.values * quantity.factor) for p in found]
                lines.append(line)
            link = who[0] if len(who) == 1 else ""
            panels.append(Panel(Quantity("time", "s", "s"), quantity, lines, cell.title, cell.row, link=link))
    window = table.runs[0].json.get("window_s") or [0.0, 0.0]
    wide = columns if asked.columns else 1
    if asked.columns and len(by_quantity) > 1:
        panels = [p for r in range(0, len(cells), columns) for p in _transposed(panels, r, columns, len(by_quantity))]
    _one_unit(panels)
    faceted = bool(asked.rows or asked.columns)
    return Picture(
        "timeline", panels, wide, ", ".join(names.path(n) for n in by), warmup_s=float(window[0]), faceted=faceted
    )
