"""Names and units of metrics, series and swept paths, for axes, legends and headings.

Units come from the schema, which has no short names. A missing name is made from the path.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..scenario import paths

if TYPE_CHECKING:
    from ..scenario.sweep import Label

_STATISTICS = {
    "mean": "mean",
    "sd": "standard deviation",
    "p5": "5th percentile",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "maximum",
}
METRICS = {
    "goodput_bps": "goodput",
    "throughput_bps": "throughput",
    "throughput_share": "share of the throughput",
    "users_goodput_bps": "goodput per user",
    "users_throughput_bps": "throughput per user",
    "flows_throughput_bps": "throughput per flow",
    "sent_packets": "packets sent",
    "retransmits": "packets retransmitted",
    "losses": "packets lost",
    "marks": "packets marked",
    "drops": "packets dropped",
    "loss_ratio": "packets lost",
    "delivered_packets": "packets delivered",
    "arrived_packets": "packets offered",
    "passed_packets": "packets passed",
    "passed_bytes": "data passed",
    "window_packets_mean": "mean congestion window",
    "window_at_floor": "time with the window at its floor",
    "flows_dead": "connections given up",
    "utilisation": "utilisation",
    "queue_packets_mean": "mean queue length",
    **{f"queue_delay_s_{p}": f"{words} of queueing delay" for p, words in _STATISTICS.items()},
    "queue_delay_s_mean": "mean queueing delay",
    "queue_delay_s_max": "maximum queueing delay",
    **{f"delay_s_{p}": f"{words} of one-way delay" for p, words in _STATISTICS.items()},
    **{f"users_delay_s_{p}": f"{words} of one-way delay" for p, words in _STATISTICS.items()},
    **{f"rtt_s_{p}": f"{words} of round-trip time" for p, words in _STATISTICS.items()},
    **{f"completion_s_{p}": f"{words} of completion time" for p, words in _STATISTICS.items()},
    **{f"first_byte_s_{p}": f"{words} of time to first byte" for p, words in _STATISTICS.items()},
    "responsiveness_rpm": "responsiveness",
    "quality_of_outcome": "Quality of Outcome",
    "users": "users",
    "copies": "copies",
}
"""Last segment of a metric -> its name. Units come from the schema."""

SHARES = frozenset({"utilisation", "loss_ratio", "throughput_share", "window_at_floor"})
"""Metrics shown in per cent."""

RATES = {
    "received_bytes": "goodput",
    "delivered_bytes": "delivered rate",
    "arrived_bytes": "offered rate",
    "delivered_packets": "delivered packets",
    "sent_bytes": "sent rate",
    "sent_packets": "sent packets",
    "lent_bytes": "lent rate",
    "lent_packets": "lent packets",
    "borrowed_bytes": "borrowed rate",
    "borrowed_packets": "borrowed packets",
    "drops": "packets dropped",
    "marks": "packets marked",
}
"""Series of a counter's increase, drawn as a rate: bit/s for bytes, packets/s for packets."""

SERIES = {
    "queue.packets": "queue length",
    "queue.bytes": "queue length",
    "queue.wait": "queue drain time",
    "window": "congestion window",
    "ssthresh": "slow-start threshold",
    "probed_window": "congestion window",
    "probed_ssthresh": "slow-start threshold",
    "rtt": "round-trip time",
    "srtt": "smoothed round-trip time",
    "base_rtt": "base round-trip time",
    "flight": "data in flight",
    "recovery": "state of loss recovery",
    "bytes_in_flight": "data in flight",
    "sojourn": "sojourn time",
    "probability": "drop or mark probability",
    "tokens": "tokens",
    "activity": "activity",
    "rate": "measured rate",
    "delay": "estimated queueing delay",
    "w_max": "window before the last reduction",
    "target_window": "computed window",
    "assigned": "rate assigned",
    "links.rate": "rate",
    "draw": "number of the decision",
    "delivery_rate": "delivery rate",
    "receive_window": "receive window",
    "app_limited": "application-limited",
}

PATHS = {
    "delay": "one-way delay",
    "rate": "rate",
    "flows": "TCP flows",
    "users": "users",
    "limit": "queue limit",
    "queue": "queue",
    "scheduler": "scheduler",
    "congestion_control": "congestion control",
    "stack": "TCP stack",
    "loss": "random loss",
    "probability": "probability",
    "size": "file size",
    "packet": "packet size",
    "ecn": "ECN",
    "ack_every": "segments per ACK",
    "initial_window": "initial window",
    "max_window": "maximum window",
    "min_rto": "minimum retransmission timeout",
    "traffic": "traffic",
    "duration": "duration",
    "warmup": "warm-up",
    "start": "start",
}
"""Last segment of a swept path -> its name."""

_DISTRIBUTIONS = {
    "": {"delay": "one-way delay", "rtt": "round-trip time"},
    "queue": {"delay": "queueing delay"},
    "transfers": {"completion": "completion time", "first_byte": "time to first byte"},
}
"""Last two segments of a distribution over packets -> its name."""

UNITS: dict[str, tuple[str, float]] = {
    **{f"{p}bit/s": ("bit/s", f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
    **{f"{p}B/s": ("bit/s", 8 * f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{u: ("s", f) for u, f in (("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0))},
    "h": ("s", 3600.0),
    **{u: ("B", f) for u, f in (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9))},
    **{u: ("B", f) for u, f in (("KiB", 1024.0), ("MiB", 1024.0**2), ("GiB", 1024.0**3))},
    "packets": ("packets", 1.0),
    "packet": ("packets", 1.0),
}
"""Unit of a quantity -> its dimension's base unit, and what turns it into that."""

_LADDERS: dict[str, tuple[tuple[str, float], ...]] = {
    "bit/s": (("Gbit/s", 1e-9), ("Mbit/s", 1e-6), ("kbit/s", 1e-3), ("bit/s", 1.0)),
    "s": (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)),
    "B": (("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3), ("B", 1.0)),
}


@dataclass(frozen=True)
class Quantity:
    """What is on an axis: its name, the unit of the numbers behind it, the unit shown, and the factor between them."""

    words: str
    unit: str = ""
    shown: str = ""
    factor: float = 1.0

    @property
    def title(self) -> str:
        """The axis title: "mean queueing delay (ms)"."""
        return f"{self.words} ({self.shown})" if self.shown else self.words

    def fitted(self, values: Iterable[float]) -> Quantity:
        """The same with the prefix that suits these values: ms for milliseconds, Mbit/s for megabits.

        One axis has one unit: that of the largest value.
        """
        ladder = _LADDERS.get(self.unit)
        if ladder is None:
            return self
        most = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
        for shown, factor in ladder:
            if most * factor >= 1.0:
                return Quantity(self.words, self.unit, shown, factor)
        shown, factor = ladder[-1] if most else ladder[1]
        return Quantity(self.words, self.unit, shown, factor)


@dataclass(frozen=True)
class Named:
    """A metric or series for people: what it is, whose it is, and of which family its owner is."""

    quantity: Quantity
    owner: str = ""
    family: str = ""
    """Series of one family may be summed up: a group's flows, a link's copies."""
    counter: bool = False
    """The values are increases over an interval, drawn as a rate."""


@lru_cache(maxsize=1)
def _units() -> dict[str, str]:
    """Last segment of a metric or an observable -> unit, from the engine's tables."""
    from ..run.mechanism import schema

    found: dict[str, str] = {}
    published = schema()
    for table in published["mechanisms"]:
        for observable in table.get("observables", []):
            found.setdefault(observable["name"], str(observable.get("unit") or ""))
    for metric in published["metrics"]:
        # In `unit`: packets or bytes, as the stack of the group counts; the same words elsewhere are counts.
        if str(metric["name"]).startswith("histograms.") or metric["unit"] == "unit":
            continue
        last = str(metric["name"]).rpartition(".")[2]
        if last not in ("OBSERVABLE", "REASON"):
            found[last] = str(metric.get("unit") or "")
        elif last == "REASON":
            found[str(metric["name"]).split(".")[-2]] = str(metric.get("unit") or "")
    return found


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    """Kind of a mechanism -> its short name: the abbreviation that its title ends with, else the title."""
    from ..run.mechanism import schema

    rooms = ("queue", "scheduler", "congestion-control", "traffic")
    tables = [table for table in schema()["mechanisms"] if table["room"] in rooms]
    return {t["kind"]: t["title"].rstrip(")").rpartition("(")[2] for t in tables}


_SUFFIX = re.compile(r"_(bps|s|packets|bytes)(?=_|$)")


def _unit_of(leaf: str) -> str:
    known = _units().get(leaf)
    if known is None:
        by_suffix = {"bps": "bit/s", "s": "s", "packets": "packets", "bytes": "B"}
        match = _SUFFIX.search(leaf)
        known = by_suffix[match[1]] if match else ""
    return "" if known in ("1", "as declared") else known.partition(" or ")[0]


def _spaced(name: str) -> str:
    return name.replace("_", " ").strip()


def _measured(leaf: str, words: str | None = None) -> Quantity:
    unit = _unit_of(leaf)
    if words is None:
        bare = _SUFFIX.sub("", leaf) if leaf not in _units() or unit in _LADDERS else leaf
        words = METRICS.get(leaf) or _spaced(bare)
    if leaf in SHARES:
        return Quantity(words, "1", "%", 100.0)
    if unit in _LADDERS:
        return Quantity(words, unit, unit, 1.0)
    already = unit == "packets" and words.startswith("packets ")
    return Quantity(words, unit, "" if already else unit, 1.0)


def metric(name: str) -> Named:
    """A metric's name, unit and owner: "links.bottleneck.queue_delay_s_p99" is the 99th percentile of queueing delay
    in s, of bottleneck."""
    parts = [str(part) for part in paths.parse(name)]
    indices = [part for part in parts if part.isdigit()]
    parts = [part for part in parts if not part.isdigit()]
    room, owner, rest = (parts[0], parts[1], parts[2:]) if len(parts) > 2 else ("", "", parts[-1:])
    if "reverse" in rest[:-1]:
        owner, rest = f"{owner}, reverse", [part for part in rest if part != "reverse"]
    if len(rest) > 2 and "classes" in rest:
        at = rest.index("classes")
        owner, rest = f"{owner}, class {rest[at + 1]}", rest[at + 2 :]
    if indices:
        owner = f"{owner} {', '.join(indices)}"
    of, _, percent = name.rpartition("_p")
    if percent.isdigit() and rest[-1].startswith("users_") and rest[-1] not in _units():
        each = metric(of)
        return replace(each, quantity=replace(each.quantity, words=f"{each.quantity.words}, p{percent} over users"))
    words = _DISTRIBUTIONS.get(rest[-2] if len(rest) > 1 else "", {}).get(rest[-1])
    if words and room in ("groups", "links"):
        return Named(Quantity(words, "s", "s"), owner, room)
    if len(rest) > 1 and rest[-2] in ("drops", "marks"):
        base = _measured(rest[-2])
        return Named(Quantity(f"{base.words} ({_spaced(rest[-1])})", base.unit, base.shown), owner, room)
    return Named(_measured(rest[-1]), owner, room)


def series(name: str) -> Named:
    """A series' name, unit and owner: "groups.heavy.users[0].flows[3].window" is a congestion window in packets, of
    heavy's user 0, flow 3."""
    parts = paths.parse(name)
    if parts[0] == "events":
        return Named(Quantity(_spaced(str(parts[-1]))), str(parts[1]) if len(parts) > 1 else "", "events")
    leaf = str(parts[-1])
    room = str(parts[0])
    owner = str(parts[1]) if len(parts) > 1 else ""
    family = f"{room}.{owner}" if owner else room
    more = []
    rest = list(parts[2:-1])
    if rest and isinstance(rest[0], int):
        more.append(f"copy {rest.pop(0)}")
    while rest:
        part = rest.pop(0)
        if part in ("users", "flows", "leaves") and rest and isinstance(rest[0], int):
            more.append(f"{str(part)[:-1] if part != 'leaves' else 'leaf'} {rest.pop(0)}")
        elif part == "classes" and rest:
            more.append(f"class {rest.pop(0)}")
            family += f".{more[-1]}"
        elif part != "queue":
            more.append(str(part))
    who = ", ".join([owner, *more])
    in_queue = "queue" in parts[2:-1]
    if leaf in RATES:
        unit = "bit/s" if leaf.endswith("_bytes") else "packets/s"
        return Named(Quantity(RATES[leaf], unit, unit), who, family, counter=True)
    words = SERIES.get(f"queue.{leaf}" if in_queue else f"{room}.{leaf}") or SERIES.get(leaf)
    return Named(_measured(leaf, words or _spaced(leaf)), who, family)


def path(label: str, *, owner: bool = True) -> str:
    """A swept path in words: "links.bottleneck.delay" is "one-way delay of bottleneck"."""
    if "." not in label:
        return _spaced(label)
    try:
        parts = [part for part in paths.parse(label) if isinstance(part, str)]
    except UsageError:
        return label
    last = parts[-1]
    words = PATHS.get(last) or _spaced(last)
    if parts[0] in ("links", "groups", "stages") and len(parts) > 2:
        return f"{words} of {parts[1]}" if owner else words
    return words


def shortest(labels: Sequence[str]) -> dict[str, str]:
    """Words for several labels: without owners where that is unambiguous."""
    short = {label: path(label, owner=False) for label in labels}
    return {label: path(label) if list(short.values()).count(short[label]) > 1 else short[label] for label in labels}


def value(given: Label) -> str:
    """A swept value in words: "cubic" is CUBIC, a queue's table is its kind and what else it says."""
    if isinstance(given, bool):
        return "on" if given else "off"
    if isinstance(given, (int, float)):
        return f"{given:g}" if abs(given) < 1e6 else f"{given:,.0f}"
    if given[:1] in "{[":
        try:
            return _tree(json.loads(given))
        except ValueError:
            return given
    return _kinds().get(given, given)


def _tree(tree: Any) -> str:
    if isinstance(tree, dict):
        kind = tree.get("kind")
        rest = [f"{_spaced(str(k))} {_tree(v)}" for k, v in tree.items() if k != "kind"]
        return ", ".join(([_tree(kind)] if kind is not None else []) + rest) or "none"
    if isinstance(tree, list):
        return ", ".join(_tree(item) for item in tree)
    return value(tree)


def number(given: Label) -> tuple[float, str] | None:
    """A label as a number and the unit behind it; None where it is neither number nor quantity."""
    if isinstance(given, bool):
        return None
    if isinstance(given, (int, float)):
        return float(given), ""
    text, _, unit = given.strip().partition(" ")
    try:
        found = float(text)
    except ValueError:
        if given.strip().endswith("%"):
            try:
                return float(given.strip()[:-1]), "%"
            except ValueError:
                return None
        return None
    return (found, unit.strip()) if not unit or unit.strip() in UNITS else None


def axis(label: str, values: Sequence[Label], *, owner: bool = True) -> tuple[Quantity, list[float]] | None:
    """A swept label as an axis: its title, and its values as numbers of one unit.

    None where they are not numbers, or not of one dimension.
    """
    found = [number(v) for v in values]
    if not found or any(item is None for item in found):
        return None
    pairs = [item for item in found if item is not None]
    units = list(dict.fromkeys(unit for _, unit in pairs))
    words = path(label, owner=owner)
    if len(units) == 1:
        return Quantity(words, units[0], units[0]), [v for v, _ in pairs]
    dimensions = {UNITS[unit][0] if unit in UNITS else unit for unit in units}
    if len(dimensions) > 1:
        return None
    base = dimensions.pop()
    numbers = [v * UNITS[unit][1] for v, unit in pairs]
    fitted = Quantity(words, base, base).fitted(numbers)
    return fitted, [v * fitted.factor for v in numbers]
