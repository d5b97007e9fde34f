"""The view of a run: an offline HTML page with a chart for each quantity that was recorded, over one time axis.

uPlot draws the charts (`templates/view.js`). The same record gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..scenario import paths
from ..words import counted, html_page, listed, rate, script_json
from . import following, names, pictures, plots
from .clicks import Told
from .following import Span
from .names import Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record

    Floats: TypeAlias = NDArray[np.float64]

VIEW = "view.html"
SOURCES = (
    *(f"show/{name}.py" for name in ("clicks", "explain", "following", "names", "view")),
    "show/equations.toml",
    *(f"show/templates/{name}" for name in ("base.html.j2", "view.html.j2", "view.js", "uplot/uPlot.iife.min.js")),
    "run/recording.py",
)
MOST_EACH = 12
"""Lines of one owner in a panel; more are replaced by their mean, minimum and maximum."""
MOST_SAMPLES, FEWEST, MOST_ON_PAGE = 20_000, 1_000, 400_000
"""Samples of a line: at most, at least; and of all lines together."""
DIGITS = 7
OTHERS = ("#000000", "#6B3A10", "#4B5560", "#00564A")
"""Colours of links and stages."""
USERS = plots.COLOURS[:5]
SECOND = {"ssthresh": "window", "probed_ssthresh": "probed_window"}
"""Observables that are drawn dashed in the panel of another."""
ORDER = (
    *("level", "buffer", "fetching", "stalled", "goodput", "arriving rate", "sent rate", "delivered rate"),
    *("congestion window", "round-trip time", "smoothed round-trip time", "advertised window", "computed window"),
    *("rate assigned", "queue length", "queue drain time"),
)
"""Panels from the top; others follow in the order of the record."""
LEVELS = {"asked": "users_levels", "received": "users_levels_received", "shown": "users_levels_shown"}
EXPLAINED = {
    "fetching": "fetching (ON: from a request to the last byte of its chunk)",
    "arriving rate": "arriving rate (payload of packets that arrive)",
    "buffer": "video in the buffer",
}
NOTHING = (
    "This run has no recorded series and no video. Name series under [record] in the scenario, then repeat the run."
)


@dataclass
class Line:
    """One quantity of a user, link or stage over time.

    Attributes:
        who: the owner; its lines have one colour.
        words: what tells the owner's lines apart: "asked", "flow 2".
        draw: "line" from sample to sample, "post" held until the next, "pre" of the interval before, "even"
            interpolated.
        spans: periods, in place of values.
        family: lines of one family may be summarised.
    """

    who: str
    words: str
    times: Floats
    values: Floats
    draw: str = "line"
    dash: int = 0
    spans: list[Span] | None = None
    series: str = ""
    family: str = ""
    samples: int = 0


@dataclass
class Panel:
    """Lines of one quantity. `kind`: "lines", "bars" of periods, or "marks" of instants; `names`: of whole values."""

    quantity: Quantity
    kind: str = "lines"
    lines: list[Line] = field(default_factory=list)
    names: dict[int, str] | None = None

    @property
    def title(self) -> str:
        """The heading."""
        words = EXPLAINED.get(self.quantity.words, self.quantity.words)
        if self.quantity.words == "congestion window" and any(line.dash == 1 for line in self.lines):
            words = "congestion window and slow-start threshold"
        return f"{words} ({self.quantity.shown})" if self.quantity.shown else words


@dataclass
class View:
    """Everything on the page."""

    title: str
    facts: str
    from_s: float
    to_s: float
    warmup_s: float
    panels: list[Panel]
    notes: list[str]
    key: str = ""
    told: Sequence[Told] = ()
    command: str = ""


def write(
    record: Record,
    path: str | Path,
    more: Sequence[Record] = (),
    notes: Sequence[str] = (),
    told: Sequence[Told] = (),
) -> Path:
    """Write the page of a run; arguments as of `page`."""
    from ..run.files import write_out

    target = Path(path)
    write_out(target, page(record, more, notes, told).encode())
    return target


def key(record: Record) -> str:
    """Identifies a page: the record, the engine that may repeat it, and the code that draws it."""
    from hashlib import sha256
    from importlib.resources import files

    from .. import _core

    made = sha256(f"{record.record_hash} {record.json.get('scenario_hash')} {_core.ENGINE_ID}".encode())
    for name in SOURCES:
        made.update(files("evenflow").joinpath(name).read_bytes())
    return made.hexdigest()[:24]


def is_of(path: Path, record: Record) -> bool:
    """Whether a file is the current page of this record."""
    try:
        return f'content="{key(record)}"' in path.read_text(encoding="utf-8")[:1000]
    except (OSError, ValueError):
        return False


def page(record: Record, more: Sequence[Record] = (), notes: Sequence[str] = (), told: Sequence[Told] = ()) -> str:
    """The page of a run.

    Args:
        more: repetitions of the run with further series or packets (`run.recording`).
        notes: sentences below the title.
        told: explanations of drops and marks (`clicks`).
    """
    return render(of_record(record, more, notes, told))


def of_record(
    record: Record, more: Sequence[Record] = (), notes: Sequence[str] = (), told: Sequence[Told] = ()
) -> View:
    """The content of the page."""
    tree, runs = record.json, (record, *more)
    from_s, to_s = (float(at) for at in tree.get("window_s") or (0, 0))
    panels = _Panels(record, [name for one in runs for name in one.series_names])
    for one in runs:
        panels.series_of(one)
    panels.videos()
    said = [*notes, *panels.packets([one for one in runs if one.is_traced])]
    any(panels.events_of(one) for one in runs)
    found = panels.in_order()
    if not found:
        said = [NOTHING, *notes]
    elif more:
        said.append(
            f"{'Further series' if record.series_names else 'The series'} come from a repeated run with the same seed."
        )
    if from_s > 0 and found:
        said.append(f"The dotted line at {from_s:g} s is the start of the measurement.")
    if thinned := _thinned(found):
        said.append(
            f"{listed(thinned)} {'have' if len(thinned) > 1 else 'has'} more samples than the page can show. The page "
            "has the first, minimum, maximum and last of each stretch; series.csv has all."
        )
    title = "A run"
    if record.scenario is not None:
        title = record.scenario.title or Path(record.scenario.source or title).stem
    file = Path(record.scenario.source or "FILE").name if record.scenario is not None else "FILE"
    command = f"evenflow explain {file} --seed {tree.get('seed')} --at "
    facts = f"Seed {tree.get('seed')} · record {record.record_hash} · {to_s:g} s, measured from {from_s:g} s"
    return View(title, facts, 0.0, to_s, from_s, found, said, key(record), told, command)


class _Panels:
    """Collects lines into panels."""

    def __init__(self, record: Record, series: Sequence[str]) -> None:
        self.record = record
        self.several = {name.rpartition(".flows[")[0] for name in series if re.search(r"\.flows\[[1-9]", name)}
        """Users with more than one recorded flow."""
        self.groups: dict[str, Any] = record.json.get("groups", {})
        self.panels: dict[tuple[str, str], Panel] = {}
        self.there: set[str] = set()

    def _add(self, words: str, line: Line, unit: str = "", kind: str = "lines") -> Panel:
        panel = self.panels.setdefault((words, unit), Panel(Quantity(words, unit, unit), kind))
        panel.lines.append(line)
        return panel

    def in_order(self) -> list[Panel]:
        """The panels, each in a unit that suits its values, with large families summarised."""
        import numpy as np

        for panel in self.panels.values():
            largest = [float(np.nanmax(one.values)) for one in panel.lines if np.isfinite(one.values).any()]
            if panel.kind == "lines" and panel.quantity.words != "buffer":
                panel.quantity = panel.quantity.fitted(largest)
                for line in panel.lines:
                    line.values = line.values * panel.quantity.factor
            families: dict[str, list[Line]] = {}
            for line in panel.lines:
                families.setdefault(line.family or line.series, []).append(line)
            if panel.kind == "lines":
                small = [one if len(one) <= MOST_EACH else _mean_and_range(one) for one in families.values()]
                panel.lines = [line for one in small for line in one]
        rank = {words: n for n, words in enumerate(ORDER)}
        return sorted(self.panels.values(), key=lambda panel: rank.get(panel.quantity.words, len(ORDER)))

    def user(self, group: str, number: int) -> str:
        """A user in words; the only user of a group has the group's name."""
        return group if int(self.groups.get(group, {}).get("users", 1)) == 1 else f"{group}, user {number}"

    def series_of(self, record: Record) -> None:
        """Recorded series, each in the panel of its quantity."""
        import numpy as np

        for name in [name for name in pictures.drawable(record) if name not in self.there]:
            self.there.add(name)
            named, parts = names.series(name), paths.parse(name)
            leaf = str(parts[-1])
            dash = int(leaf in SECOND)
            quantity = names.series(name[: -len(leaf)] + SECOND[leaf]).quantity if dash else named.quantity
            times, values = pictures._values(record, name, named)
            who, words = self._owner(parts)
            words = ", ".join(part for part in (words, "threshold" if dash else "") if part)
            draw = "pre" if named.counter else "line" if _regular(times) else "post"
            finite = np.where(np.isfinite(values), values, np.nan)
            line = Line(who, words, times, finite, draw, dash, series=name, family=f"{named.family}, {dash}")
            self._add(quantity.words, line, quantity.unit).quantity = quantity

    def _owner(self, parts: paths.Path) -> tuple[str, str]:
        """The owner of a series, and what tells its lines apart."""
        kind, name, rest = str(parts[0]), str(parts[1]), list(parts[2:-1])
        if kind == "groups" and len(rest) >= 4:
            several = paths.render(parts[:4]) in self.several
            return self.user(name, int(rest[1])), f"flow {rest[3]}" if several else ""
        if "leaves" in rest:
            number = int(rest[rest.index("leaves") + 1])
            users = self._users_of_leaves(name)
            return (self.user(*users[number]), name) if number < len(users) else (f"{name}, leaf {number}", "")
        if "classes" in rest:
            return name, f"class {rest[rest.index('classes') + 1]}"
        return name, ", ".join(f"copy {part}" for part in rest if isinstance(part, int))

    def _users_of_leaves(self, link: str) -> list[tuple[str, int]]:
        """The users of a link's scheduler leaves, in order; [] where the leaves belong to flows or are unknown."""
        tree: dict[str, Any] = self.record.scenario.tree if self.record.scenario else {"links": {link: {}}}
        queue = tree["links"][link].get("queue", {})
        scheduler = queue.get("scheduler", {}) if isinstance(queue, dict) else {}
        if not isinstance(scheduler, dict) or scheduler.get("per") != "user" or "per" in tree["links"][link]:
            return []
        crossing = sorted(name for name, group in tree["groups"].items() if {link, f"-{link}"} & set(group["path"]))
        return [(name, user) for name in crossing for user in range(int(tree["groups"][name].get("users", 1)))]

    def videos(self) -> None:
        """Levels requested, received and shown, by user."""
        import numpy as np

        for name in sorted(self.groups):
            video = self.groups[name].get("video") or {}
            for dash, (words, source) in enumerate(LEVELS.items()):
                for user, changes in enumerate(video.get(source) or ()):
                    if changes:
                        values = [math.nan if level is None else float(level) for _, level in changes]
                        times = np.array([float(at) for at, _ in changes])
                        who, family = self.user(name, user), f"{name}, {words}"
                        line = Line(who, words, times, np.array(values), "post", dash, family=family)
                        self._add("level", line).names = self._ladder()

    def _ladder(self) -> dict[int, str] | None:
        """Bitrates of the levels, where all groups have the same."""
        players = [one for name in self.groups if "video" in self.groups[name] for one in self._traffic(name)]
        found = {tuple(one["ladder"]) for one in players if "ladder" in one}
        if len(found) != 1:
            return None
        return {n: f"{n}: {rate(float(text.removesuffix(' bit/s')))}" for n, text in enumerate(found.pop())}

    def _traffic(self, group: str) -> list[dict[str, Any]]:
        return following.traffic_of(self.record, group)

    def packets(self, traced: Sequence[Record]) -> list[str]:
        """What traces show of users: fetches, arriving rate, advertised windows, buffers; returns what is missing."""
        import numpy as np

        missing, nothing = [], np.zeros(0)
        seen: set[tuple[str, int]] = set()
        for one in [one for record in traced for one in following.followed(record)]:
            if one.user in seen:
                continue
            seen.add(one.user)
            who, family = self.user(*one.user), one.user[0]
            if one.rate[1].any():
                self._add("arriving rate", Line(who, "", *one.rate, "pre", family=family), "bit/s")
            for number, (times, values) in enumerate(one.told, 1):
                words = f"connection {number}" if len(one.told) > 1 else ""
                self._add("advertised window", Line(who, words, times, values, "post", family=family), "B")
            if "video" not in self.groups[one.user[0]]:
                continue
            if one.fetched:
                self._add("fetching", Line(who, "", nothing, nothing, spans=one.fetched), kind="bars")
            held = following.buffer(self.record, one)
            if held is None:
                missing.append(who)
                continue
            instants, seconds = np.array(held.times), np.array(held.seconds)
            self._add("buffer", Line(who, "", instants, seconds, "even", family=family), "s")
            if held.stalls:
                self._add("stalled", Line(who, "", nothing, nothing, spans=held.stalls), kind="bars")
        if not missing:
            return []
        return [f"The buffer of {listed(missing)} is not shown: it does not follow from the packets alone."]

    def events_of(self, record: Record) -> bool:
        """Drops and marks, by link; whether there are any."""
        import numpy as np

        found = False
        for kind, words in (("drop", "packets dropped"), ("mark", "packets marked")):
            if f"events.{kind}.link" in record.series_names:
                times, which = record.arrays(f"events.{kind}.link")
                for number, link in enumerate(sorted(record.json.get("links", {}))):
                    mine = times[which == number]
                    if len(mine):
                        found = True
                        self._add(words, Line(link, "", mine, np.ones(len(mine))), kind="marks")
        return found


def _mean_and_range(lines: Sequence[Line]) -> list[Line]:
    """Mean, minimum and maximum of many lines."""
    import warnings

    import numpy as np

    lines = [one for one in lines if len(one.times)]
    first = lines[0]
    times = np.unique(np.concatenate([one.times for one in lines]))
    if len(times) > MOST_SAMPLES:
        times = np.linspace(times[0], times[-1], MOST_SAMPLES)
    rows = np.array([_sampled(one, times) for one in lines])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an instant at which no line has a value
        made = (np.nanmean(rows, axis=0), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0))
    before = f"{first.words}, " if first.draw == "post" and first.words else ""
    return [
        replace(
            first,
            who=first.who.partition(",")[0],
            words=before + words,
            times=times,
            values=values,
            dash=first.dash if words.startswith("mean") else 2,
            draw="line" if first.draw == "even" else first.draw,
            series="",
        )
        for words, values in zip((f"mean of {len(lines)}", "least", "largest"), made, strict=True)
    ]


def _sampled(line: Line, times: Floats) -> Floats:
    """Values of a line at other times."""
    import numpy as np

    if line.draw == "even":
        return np.interp(times, line.times, line.values, left=math.nan)
    at = np.searchsorted(line.times, times, side="right") - 1
    return np.asarray(np.where(at >= 0, line.values[np.maximum(at, 0)], math.nan))


# --- On the page ---------------------------------------------------------------------------------------------------


def thin(values: Floats, most: int) -> NDArray[np.int64]:
    """Indices of the samples to keep: of each stretch the first, the minimum, the maximum and the last."""
    import numpy as np

    if len(values) <= most:
        return np.arange(len(values))
    kept: set[int] = set()
    for start, end in pairwise(np.linspace(0, len(values), max(1, most // 4) + 1).astype(np.int64).tolist()):
        there = start + np.flatnonzero(~np.isnan(values[start:end]))
        kept |= {start, end - 1} if end > start else set()
        if len(there):
            kept |= {int(there[values[there].argmin()]), int(there[values[there].argmax()])}
    return np.array(sorted(kept))


def _thinned(panels: Sequence[Panel]) -> list[str]:
    """Thin lines that are too long for the page; returns their quantities."""
    most = max(FEWEST, min(MOST_SAMPLES, MOST_ON_PAGE // max(1, sum(len(panel.lines) for panel in panels))))
    found: dict[str, None] = {}
    for panel in panels:
        for line in panel.lines:
            line.samples = len(line.times) if line.spans is None else len(line.spans)
            if len(line.times) > most:
                kept = thin(line.values, most)
                line.times, line.values = line.times[kept], line.values[kept]
                found[panel.quantity.words] = None
    return list(found)


def _regular(times: Floats) -> dict[str, float] | None:
    """First instant and interval of equidistant samples."""
    import numpy as np

    if len(times) < 3:
        return None
    every = round(float(times[-1] - times[0]) / (len(times) - 1), 9)
    ideal = times[0] + every * np.arange(len(times))
    if every <= 0 or float(np.abs(ideal - times).max()) > 2e-8 * max(1.0, float(times[-1])):
        return None
    return {"from": round(float(times[0]), 9), "every": every}


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    found = float(f"{value:.{DIGITS}g}")
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


def _instants(times: Floats) -> list[float]:
    """Instants in ns steps that rise, so that a value may change twice at one time."""
    found: list[float] = []
    for at in times.tolist():
        found.append(round(max(at, found[-1] + 1e-9) if found else at, 9))
    return found


def _drawn(line: Line, kind: str, who: int) -> dict[str, Any]:
    found: dict[str, Any] = {"who": who, "words": line.words}
    if kind == "bars":
        return {**found, "spans": [[round(a, 9), round(b, 9)] for a, b in line.spans or ()]}
    if kind == "marks":
        return {**found, "t": [round(at, 9) for at in line.times.tolist()]}
    times = (_regular(line.times) if line.draw in ("line", "pre") else None) or _instants(line.times)
    return {**found, "dash": line.dash, "draw": line.draw, "t": times, "v": [_short(v) for v in line.values.tolist()]}


def _who(panels: Sequence[Panel]) -> dict[str, str]:
    """Owners and their colours: users first, then links and stages."""
    lines = [(panel, line) for panel in panels for line in panel.lines]
    users = dict.fromkeys(line.who for panel, line in lines if _is_user(panel, line))
    others = [who for who in dict.fromkeys(line.who for _, line in lines) if who not in users]
    found = {who: USERS[n % len(USERS)] for n, who in enumerate(users)}
    return found | {who: OTHERS[n % len(OTHERS)] for n, who in enumerate(others)}


def _is_user(panel: Panel, line: Line) -> bool:
    of_link = line.series.startswith(("links.", "stages.")) and ".leaves[" not in line.series
    return not of_link and panel.kind != "marks" and ", leaf " not in line.who


def document(view: View) -> dict[str, Any]:
    """The data of the page's script."""
    who = _who(view.panels)
    number = {owner: n for n, owner in enumerate(who)}
    return {
        "title": view.title,
        "from": view.from_s,
        "to": view.to_s,
        "warmup": view.warmup_s,
        "who": [{"words": owner, "colour": colour} for owner, colour in who.items()],
        "why": [{"t": round(it.time_s, 9), "kind": it.kind, "link": it.link, "text": it.text} for it in view.told],
        "explain": view.command,
        "panels": [
            {
                "title": panel.title,
                "words": panel.quantity.words,
                "unit": panel.quantity.shown,
                "kind": panel.kind,
                "names": panel.names,
                "lines": [_drawn(line, panel.kind, number[line.who]) for line in panel.lines],
            }
            for panel in view.panels
        ],
    }


def _rows(view: View) -> list[dict[str, Any]]:
    """The table of values over the whole run."""
    return [
        {
            "words": panel.quantity.words,
            "line": ": ".join(part for part in (line.who, line.words) if part),
            "unit": panel.quantity.shown,
            "samples": line.samples,
            "series": line.series,
            "key": f"{p}.{n}",
            **_statistics(line, panel.kind, view.to_s),
        }
        for p, panel in enumerate(view.panels)
        for n, line in enumerate(panel.lines)
    ]


def _statistics(line: Line, kind: str, end: float) -> dict[str, str]:
    """Minimum, mean over time, maximum, and a summary."""
    import numpy as np

    none = dict.fromkeys(("low", "mean", "high", "all"), "–")
    if kind == "bars":
        return {**none, "all": f"{_said(100 * sum(b - a for a, b in line.spans or ()) / end)} % ON" if end else "–"}
    if kind == "marks":
        return {**none, "all": str(line.samples)}
    good = ~np.isnan(line.values)
    if not good.any():
        return none
    values, weights = line.values[good], np.ones(int(good.sum()))
    if line.draw == "post":
        weights = np.diff(np.append(line.times, max(end, line.times[-1])))[good]
    elif line.draw == "even":
        values, weights = (line.values[1:] + line.values[:-1]) / 2, np.diff(line.times)
    mean = float((values * weights).sum() / weights.sum()) if weights.sum() > 0 else float(line.values[good].mean())
    low, high = _said(float(np.nanmin(line.values))), _said(float(np.nanmax(line.values)))
    return {"low": low, "mean": _said(mean), "high": high, "all": f"{low} to {high}"}


def _said(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def render(view: View) -> str:
    """The page as HTML."""
    from markupsafe import Markup

    from .report import _environment, _provenance

    environment = _environment()

    def file(name: str) -> Markup:
        assert environment.loader is not None
        return Markup(environment.loader.get_source(environment, name)[0])

    tree = document(view)
    quantities = listed([panel.quantity.words for panel in view.panels]) if view.panels else "nothing"
    page = environment.get_template("view.html.j2").render(
        title=view.title,
        facts=view.facts,
        key=view.key,
        notes=view.notes,
        panels=view.panels,
        clicks=any(panel.kind == "marks" for panel in view.panels),
        who=tree["who"],
        alt=f"{view.title}: {counted(len(view.panels), 'panel')} over one time axis, {quantities}. The table below has "
        "their values.",
        rows=_rows(view),
        data=Markup(script_json(tree)),
        library=file("uplot/uPlot.iife.min.js"),
        library_style=file("uplot/uPlot.min.css"),
        licence=file("uplot/LICENSE"),
        script=file("view.js"),
        provenance=_provenance(),
    )
    return html_page(page)
