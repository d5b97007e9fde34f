"""The view of one run: a page of its own on which everything a run recorded stands over one time axis.

The page has its data and its script in it: it opens offline, is zoomed and printed without a server, and the same
record gives the same bytes. What is on it is decided here; `templates/view.js` draws it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..scenario import paths
from ..words import counted, html_page, listed, rate
from . import following, names, pictures, plots
from .following import Span
from .names import Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..run.record import Record

    Floats: TypeAlias = NDArray[np.float64]

VIEW = "view.html"
SOURCES = (
    "run/recording.py",
    "show/following.py",
    "show/names.py",
    "show/view.py",
    "show/templates/base.html.j2",
    "show/templates/view.html.j2",
    "show/templates/view.js",
)
MOST_EACH = 12
"""Lines of one owner in a panel; of more, the mean, the least and the largest are drawn."""
MOST_SAMPLES = 20_000
"""Samples of a line on the page."""
MOST_ON_PAGE = 400_000
"""Samples of all lines together; each keeps at least `FEWEST`."""
FEWEST = 1_000
DIGITS = 7
OTHERS = ("#000000", "#6B3A10", "#4B5560", "#00564A")
"""Colours of links and stages; users have the house's first five."""
USERS = plots.COLOURS[:5]
SECOND = {"ssthresh": "window", "probed_ssthresh": "probed_window"}
"""Observables that stand in the panel of another, dashed."""
ORDER = (
    "level",
    "buffer",
    "fetching",
    "stalled",
    "goodput",
    "arriving rate",
    "sent rate",
    "delivered rate",
    "congestion window",
    "round-trip time",
    "smoothed round-trip time",
    "window told",
    "window worked out",
    "rate assigned",
    "queue length",
    "backlog over rate",
)
"""Panels from the top, by their first words; others follow in the order of the record."""
ASKED, RECEIVED, SHOWN = "asked", "received", "shown"
LEVELS = {ASKED: "users_levels", RECEIVED: "users_levels_received", SHOWN: "users_levels_shown"}
EXPLAINED = {
    "fetching": "fetching (ON: from a request to the last byte of its chunk)",
    "arriving rate": "arriving rate (payload of packets that arrive)",
    "window told": "window told to the sender",
    "buffer": "video in the buffer",
}
NOTHING = (
    "This run recorded no series, and nobody watched video in it, so that there is nothing to show over time. Name "
    "series under [record] in its scenario and run it again."
)


@dataclass
class Line:
    """Something over time.

    Attributes:
        who: whose it is; lines of one owner have one colour.
        words: what is said beside the owner: "asked", "flow 2".
        draw: "line" from sample to sample, "post" held until the next, "pre" of the interval before, "even" changing
            evenly.
        spans: periods, in place of values.
        series: the name in the record, where it is one.
        family: what it may be summed up with.
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
    """Lines of one quantity. `kind`: "lines", "bars" of periods, or "marks" of instants."""

    quantity: Quantity
    kind: str = "lines"
    lines: list[Line] = field(default_factory=list)
    names: dict[int, str] | None = None
    """What whole values are called: the bitrates of levels."""

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


def write(record: Record, path: str | Path, more: Sequence[Record] = (), notes: Sequence[str] = ()) -> Path:
    """Write the page of a run; arguments as of `page`."""
    from ..run.store import write_whole

    target = Path(path)
    write_whole(target, page(record, more, notes).encode())
    return target


def key(record: Record) -> str:
    """What a page follows from: the record, the engine that may run it again, and the code that draws it."""
    from hashlib import sha256
    from importlib.resources import files

    from .. import _core

    made = sha256(f"{record.record_hash} {record.json.get('scenario_hash')} {_core.ENGINE_ID}".encode())
    for name in SOURCES:
        made.update(files("evenflow").joinpath(name).read_bytes())
    return made.hexdigest()[:24]


def is_of(path: Path, record: Record) -> bool:
    """Whether a page that was written is still the one of this record."""
    try:
        return f'content="{key(record)}"' in path.read_text(encoding="utf-8")[:1000]
    except (OSError, ValueError):
        return False


def write_again(record: Record, path: str | Path, *, again: bool = True) -> Path:
    """Write the page of a run; what its record lacks is had by running it again (`run.recording`)."""
    from ..run.recording import again_for_a_view

    more, missing = again_for_a_view(record) if again else ([], [])
    return write(record, path, more, missing)


def page(record: Record, more: Sequence[Record] = (), notes: Sequence[str] = ()) -> str:
    """The page of a run.

    Args:
        more: the same run again, with series or packets that the record does not have (`run.recording`).
        notes: sentences below the title.
    """
    return render(of_record(record, more, notes))


def of_record(record: Record, more: Sequence[Record] = (), notes: Sequence[str] = ()) -> View:
    """What the page of a run shows."""
    tree = record.json
    window = tree.get("window_s") or [0.0, 0.0]
    panels = _Panels(record, [name for one in (record, *more) for name in one.series_names])
    for one in (record, *more):
        panels.series_of(one)
    panels.videos()
    missing = panels.packets([one for one in (record, *more) if one.is_traced])
    for one in (record, *more):
        if panels.events_of(one):
            break
    found = panels.in_order()
    said = [*notes, *missing]
    if not found:
        said = [NOTHING, *notes]
    elif more:
        said.append(
            f"{'What its record does not hold was' if record.series_names else 'Its series were'} recorded by running "
            "it again with the same seed; everything else came out the same."
        )
    if window[0] > 0 and found:
        said.append(f"A dotted line stands at {window[0]:g} s, where the measurement begins.")
    found = [_summed_up(panel) for panel in found]
    if thinned := _thinned(found):
        said.append(
            f"{listed(thinned)} {'have' if len(thinned) > 1 else 'has'} more samples than a page holds: of each "
            "stretch the first, the least, the largest and the last are here, and series.csv or the record has all."
        )
    title = "A run"
    if record.scenario is not None:
        title = record.scenario.title or Path(record.scenario.source or title).stem
    facts = f"Seed {tree.get('seed')} · record {record.record_hash} · {window[1]:g} s, measured from {window[0]:g} s"
    return View(title, facts, 0.0, float(window[1]), float(window[0]), found, said, key(record))


class _Panels:
    """Panels as they fill up."""

    def __init__(self, record: Record, series: Sequence[str]) -> None:
        self.record = record
        self.several = {name.rpartition(".flows[")[0] for name in series if re.search(r"\.flows\[[1-9]", name)}
        """Users of whom more than one flow was recorded."""
        self.groups: dict[str, Any] = record.json.get("groups", {})
        self.panels: dict[tuple[str, str], Panel] = {}
        self.there: set[str] = set()

    def _panel(self, words: str, unit: str = "", kind: str = "lines") -> Panel:
        return self.panels.setdefault((words, unit), Panel(Quantity(words, unit, unit), kind))

    def in_order(self) -> list[Panel]:
        """The panels that have lines, each in the unit that suits its values."""
        import numpy as np

        rank = {words: n for n, words in enumerate(ORDER)}
        filled = [panel for panel in self.panels.values() if panel.lines]
        for panel in filled:
            largest = [float(np.nanmax(one.values)) for one in panel.lines if np.isfinite(one.values).any()]
            if panel.kind == "lines" and panel.quantity.words != "buffer":
                panel.quantity = panel.quantity.fitted(largest)
                for line in panel.lines:
                    line.values = line.values * panel.quantity.factor
        return sorted(filled, key=lambda panel: rank.get(panel.quantity.words, len(ORDER)))

    def user(self, group: str, number: int) -> str:
        """A user in words; the only one of a group has the group's name."""
        return group if int(self.groups.get(group, {}).get("users", 1)) == 1 else f"{group}, user {number}"

    def series_of(self, record: Record) -> None:
        """Recorded series, each in the panel of its quantity."""
        for name in pictures.drawable(record):
            if name not in self.there:
                self.there.add(name)
                self._series(record, name)

    def _series(self, record: Record, name: str) -> None:
        import numpy as np

        named = names.series(name)
        parts = paths.parse(name)
        leaf = str(parts[-1])
        times, values = pictures._values(record, name, named)
        quantity, dash = named.quantity, 0
        if leaf in SECOND:
            dash = 1
            quantity = names.series(name[: -len(leaf)] + SECOND[leaf]).quantity
        whose, words = self._owner(parts)
        if dash:
            words = ", ".join(part for part in (words, "threshold") if part)
        panel = self._panel(quantity.words, quantity.unit)
        panel.quantity = quantity
        regular = _steady(times) is not None
        draw = "pre" if named.counter else "line" if regular else "post"
        finite = np.where(np.isfinite(values), values, np.nan)
        panel.lines.append(Line(whose, words, times, finite, draw, dash, series=name, family=f"{named.family}, {dash}"))

    def _owner(self, parts: paths.Path) -> tuple[str, str]:
        """Whose a series is, and what else is to be said: a user and his flow, a link and its class."""
        room, name, rest = str(parts[0]), str(parts[1]), list(parts[2:-1])
        if room == "groups" and len(rest) >= 4:
            user, flow = int(rest[1]), int(rest[3])
            several = paths.render(parts[:4]) in self.several
            return self.user(name, user), f"flow {flow}" if several else ""
        if "leaves" in rest:
            number = int(rest[rest.index("leaves") + 1])
            users = self._users_of_leaves(name)
            if number < len(users):
                return self.user(*users[number]), name
            return f"{name}, leaf {number}", ""
        if "classes" in rest:
            return name, f"class {rest[rest.index('classes') + 1]}"
        copy = [f"copy {part}" for part in rest if isinstance(part, int)]
        return name, ", ".join(copy)

    def _users_of_leaves(self, link: str) -> list[tuple[str, int]]:
        """The users whose leaves a link's scheduler has, in their order; [] where they are flows', or not known."""
        scenario = self.record.scenario
        if scenario is None:
            return []
        tree = scenario.tree
        queue = tree["links"][link].get("queue", {})
        scheduler = queue.get("scheduler", {}) if isinstance(queue, dict) else {}
        if not isinstance(scheduler, dict) or scheduler.get("per") != "user" or "per" in tree["links"][link]:
            return []
        crossing = sorted(name for name, group in tree["groups"].items() if {link, f"-{link}"} & set(group["path"]))
        return [(name, user) for name in crossing for user in range(int(tree["groups"][name].get("users", 1)))]

    def videos(self) -> None:
        """Levels asked for, received and shown, by user."""
        import numpy as np

        for name in sorted(self.groups):
            video = self.groups[name].get("video") or {}
            for dash, (words, key) in enumerate(LEVELS.items()):
                for user, changes in enumerate(video.get(key) or ()):
                    known = [(float(at), math.nan if level is None else float(level)) for at, level in changes]
                    if not known:
                        continue
                    times, levels = (np.array(column) for column in zip(*known, strict=True))
                    panel = self._panel("level")
                    family = f"{name}, {words}"
                    panel.lines.append(Line(self.user(name, user), words, times, levels, "post", dash, family=family))
        if ("level", "") in self.panels:
            self._panel("level").names = self._ladder()

    def _ladder(self) -> dict[int, str] | None:
        """Bitrates of levels, where all groups have the same."""
        found = [
            tuple(one["ladder"])
            for name in sorted(self.groups)
            if "video" in self.groups[name]
            for one in following.traffic_of(self.record, name)
            if "ladder" in one
        ]
        if not found or any(one != found[0] for one in found):
            return None
        return {n: f"{n}: {rate(float(text.removesuffix(' bit/s')))}" for n, text in enumerate(found[0])}

    def packets(self, traced: Sequence[Record]) -> list[str]:
        """What the packets of users tell: when they fetch, what arrives, the windows they tell, their buffers."""
        import numpy as np

        missing = []
        nothing = np.zeros(0)
        seen: set[tuple[str, int]] = set()
        for record in traced:
            for one in following.followed(record):
                if one.user in seen:
                    continue
                seen.add(one.user)
                group = one.user[0]
                whose = self.user(*one.user)
                if one.rate[1].any():
                    panel = self._panel("arriving rate", "bit/s")
                    panel.lines.append(Line(whose, "", *one.rate, "pre", family=group))
                for number, (times, values) in enumerate(one.told):
                    words = f"connection {number + 1}" if len(one.told) > 1 else ""
                    self._panel("window told", "B").lines.append(
                        Line(whose, words, times, values, "post", family=group)
                    )
                if "video" not in self.groups[group]:
                    continue
                if one.fetched:
                    self._panel("fetching", kind="bars").lines.append(
                        Line(whose, "", nothing, nothing, spans=one.fetched, family=group)
                    )
                held = following.buffer(self.record, one)
                if held is None:
                    missing.append(whose)
                    continue
                panel = self._panel("buffer", "s")
                instants, seconds = np.array(held.times), np.array(held.seconds)
                panel.lines.append(Line(whose, "", instants, seconds, "even", family=group))
                if held.stalls:
                    bars = self._panel("stalled", kind="bars").lines
                    bars.append(Line(whose, "", nothing, nothing, spans=held.stalls, family=group))
        if not missing:
            return []
        return [f"The buffer of {listed(missing)} is not shown: it does not follow from the packets alone."]

    def events_of(self, record: Record) -> bool:
        """Drops and marks, at the links where they were."""
        import numpy as np

        links = sorted(record.json.get("links", {}))
        found = False
        for kind, words in (("drop", "packets dropped"), ("mark", "packets marked")):
            if f"events.{kind}.link" not in record.series_names:
                continue
            times, which = record.arrays(f"events.{kind}.link")
            for number, link in enumerate(links):
                mine = times[which == number]
                if len(mine):
                    found = True
                    self._panel(words, kind="marks").lines.append(Line(link, "", mine, np.ones(len(mine)), family=link))
        return found


def _summed_up(panel: Panel) -> Panel:
    """Where a family has many lines, its mean, least and largest in their place."""
    if panel.kind != "lines":
        return panel
    families: dict[str, list[Line]] = {}
    for line in panel.lines:
        families.setdefault(line.family or line.series, []).append(line)
    lines: list[Line] = []
    for members in families.values():
        lines += members if len(members) <= MOST_EACH else _mean_and_range(members)
    return replace(panel, lines=lines)


def _mean_and_range(lines: Sequence[Line]) -> list[Line]:
    import warnings

    import numpy as np

    held = [one for one in lines if len(one.times)]
    first = held[0]
    if all(np.array_equal(one.times, first.times) for one in held):
        times, rows = first.times, np.array([one.values for one in held])
    else:
        times = np.unique(np.concatenate([one.times for one in held]))
        if len(times) > MOST_SAMPLES:
            times = np.linspace(times[0], times[-1], MOST_SAMPLES)
        rows = np.array([_held_at(one, times) for one in held])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an instant at which none has a value yet
        made = (np.nanmean(rows, axis=0), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0))
    whose = first.who.partition(",")[0]
    what = ", ".join(part for part in (first.words if first.draw == "post" else "", "") if part)
    words = (f"mean of {len(lines)}", "least", "largest")
    draw = first.draw if first.draw != "even" else "line"
    return [
        replace(
            first,
            who=whose,
            words=f"{what}, {said}" if what else said,
            times=times,
            values=values,
            dash=dash,
            draw=draw,
            series="",
        )
        for said, values, dash in zip(words, made, (first.dash, 2, 2), strict=True)
    ]


def _held_at(line: Line, times: Floats) -> Floats:
    import numpy as np

    if line.draw == "even":
        return np.interp(times, line.times, line.values, left=math.nan)
    at = np.searchsorted(line.times, times, side="right") - 1
    return np.asarray(np.where(at >= 0, line.values[np.maximum(at, 0)], math.nan))


# --- On the page ---------------------------------------------------------------------------------------------------


def thin(values: Floats, most: int) -> NDArray[np.int64]:
    """Which of many samples stay: of each stretch the first, the least, the largest and the last, in their order."""
    import numpy as np

    if len(values) <= most:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), max(1, most // 4) + 1).astype(np.int64)
    kept: set[int] = set()
    for start, end in pairwise(edges):
        if start == end:
            continue
        kept.update((int(start), int(end) - 1))
        there = np.flatnonzero(~np.isnan(values[start:end]))
        if len(there):
            stretch = values[start:end][there]
            kept.update((int(start + there[stretch.argmin()]), int(start + there[stretch.argmax()])))
    return np.array(sorted(kept))


def _thinned(panels: Sequence[Panel]) -> list[str]:
    """Thin lines that are too long for the page; of which quantities there were some."""
    lines = [line for panel in panels for line in panel.lines]
    most = max(FEWEST, min(MOST_SAMPLES, MOST_ON_PAGE // max(1, len(lines))))
    found: dict[str, None] = {}
    for panel in panels:
        for line in panel.lines:
            line.samples = len(line.spans) if line.spans is not None else len(line.times)
            if len(line.times) > most:
                kept = thin(line.values, most)
                line.times, line.values = line.times[kept], line.values[kept]
                found[panel.quantity.words] = None
    return list(found)


def _steady(times: Floats) -> tuple[float, float] | None:
    """First instant and interval of samples that are equally far apart; None where they are not."""
    import numpy as np

    if len(times) < 3:
        return None
    every = round(float(times[-1] - times[0]) / (len(times) - 1), 9)
    ideal = times[0] + every * np.arange(len(times))
    if every <= 0 or float(np.abs(ideal - times).max()) > 2e-8 * max(1.0, float(times[-1])):
        return None
    return round(float(times[0]), 9), every


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    found = float(f"{value:.{DIGITS}g}")
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


def _numbers(values: Iterable[float]) -> list[float | int | None]:
    return [_short(value) for value in values]


def _times(line: Line) -> Any:
    steady = _steady(line.times) if line.draw in ("line", "pre") else None
    if steady is not None:
        return {"from": steady[0], "every": steady[1]}
    return [float(f"{at:.9f}") for at in line.times.tolist()]


def _drawn(line: Line, kind: str, who: int) -> dict[str, Any]:
    found: dict[str, Any] = {"who": who, "words": line.words}
    if kind == "bars":
        return {**found, "spans": [[float(f"{a:.9f}"), float(f"{b:.9f}")] for a, b in line.spans or ()]}
    if kind == "marks":
        return {**found, "t": [float(f"{at:.9f}") for at in line.times.tolist()]}
    return {**found, "dash": line.dash, "draw": line.draw, "t": _times(line), "v": _numbers(line.values.tolist())}


def _who(panels: Sequence[Panel]) -> dict[str, str]:
    """Owners and their colours: users first, in the order in which they appear, then links and stages."""
    users = [line.who for panel in panels for line in panel.lines if _is_user(panel, line)]
    others = [line.who for panel in panels for line in panel.lines]
    found: dict[str, str] = {}
    for owner in users:
        found.setdefault(owner, USERS[len(found) % len(USERS)])
    n = len(found)
    for owner in others:
        found.setdefault(owner, OTHERS[(len(found) - n) % len(OTHERS)])
    return found


def _is_user(panel: Panel, line: Line) -> bool:
    of_link = line.series.startswith(("links.", "stages.")) and ".leaves[" not in line.series
    return not of_link and panel.kind != "marks" and ", leaf " not in line.who


def document(view: View) -> dict[str, Any]:
    """What the page's script is given."""
    who = _who(view.panels)
    number = {owner: n for n, owner in enumerate(who)}
    return {
        "title": view.title,
        "from": view.from_s,
        "to": view.to_s,
        "warmup": view.warmup_s,
        "who": [{"words": owner, "colour": colour} for owner, colour in who.items()],
        "panels": [
            {
                "title": panel.title,
                "words": panel.quantity.words,
                "unit": panel.quantity.shown,
                "kind": panel.kind,
                **({"names": {str(n): text for n, text in panel.names.items()}} if panel.names else {}),
                "lines": [_drawn(line, panel.kind, number[line.who]) for line in panel.lines],
            }
            for panel in view.panels
        ],
    }


def _embedded(tree: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _rows(view: View) -> list[dict[str, Any]]:
    """The table of values over the whole run."""
    found = []
    for p, panel in enumerate(view.panels):
        for n, line in enumerate(panel.lines):
            row: dict[str, Any] = {
                "words": panel.quantity.words,
                "whose": ": ".join(part for part in (line.who, line.words) if part),
                "unit": panel.quantity.shown,
                "samples": line.samples,
                "series": line.series,
                "key": f"{p}.{n}",
                "least": "–",
                "mean": "–",
                "most": "–",
            }
            if panel.kind == "bars":
                on = sum(b - a for a, b in line.spans or ())
                row["all"] = f"{_said(100 * on / view.to_s)} % ON" if view.to_s else "–"
            elif panel.kind == "marks":
                row["all"] = str(line.samples)
            else:
                row |= _statistics(line, view.to_s)
            found.append(row)
    return found


def _statistics(line: Line, end: float) -> dict[str, str]:
    import numpy as np

    good = ~np.isnan(line.values)
    if not good.any():
        return {"all": "–"}
    values = line.values[good]
    mean = float(values.mean())
    if line.draw == "post":
        lasts = np.diff(np.append(line.times, max(end, line.times[-1])))[good]
        mean = float((values * lasts).sum() / lasts.sum()) if lasts.sum() > 0 else mean
    if line.draw == "even":
        whole = float(line.times[-1] - line.times[0])
        area = float((np.diff(line.times) * (line.values[1:] + line.values[:-1]) / 2).sum())
        mean = area / whole if whole > 0 else mean
    least, most = _said(float(values.min())), _said(float(values.max()))
    return {"least": least, "mean": _said(mean), "most": most, "all": f"{least} to {most}"}


def _said(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def render(view: View) -> str:
    """The page."""
    from markupsafe import Markup

    from .report import _environment, _provenance

    environment = _environment()
    script = environment.loader.get_source(environment, "view.js")[0] if environment.loader else ""
    tree = document(view)
    quantities = listed([panel.quantity.words for panel in view.panels]) if view.panels else "nothing"
    page = environment.get_template("view.html.j2").render(
        title=view.title,
        facts=view.facts,
        key=view.key,
        notes=view.notes,
        panels=view.panels,
        who=tree["who"],
        alt=f"{view.title}: {counted(len(view.panels), 'panel')} over one time axis, {quantities}. The table below has "
        "their values.",
        rows=_rows(view),
        data=Markup(_embedded(tree)),
        script=Markup(script),
        provenance=_provenance(),
    )
    return html_page(page)
