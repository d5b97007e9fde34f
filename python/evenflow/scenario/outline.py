"""What a scenario amounts to before it is run: who crosses which link, round-trip times, queue limits as times.

Read from the canonical scenario, in which units are SI and defaults are written out.
Times are in s, rates in bit/s, sizes in bytes. Where a quantity is drawn, its mean is taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from . import paths, registry

if TYPE_CHECKING:
    from .scenario import Scenario

Tree: TypeAlias = "Mapping[str, Any]"

LAWS = ("uniform", "normal", "exponential", "gamma", "pareto", "lognormal")
"""Random distributions; `values` is dealt in turn."""


def mean_of(quantity: Any) -> float:
    """The mean of a canonical quantity: "0.1 s", 3, {"uniform": ["0 s", "5 s"]}, …."""
    if isinstance(quantity, Mapping):
        ((law, value),) = quantity.items()
        if law == "exponential":
            return mean_of(value)
        if law in ("normal", "gamma", "pareto", "lognormal"):
            return mean_of(value[0])
        return sum(mean_of(v) for v in value) / len(value)  # uniform: of both ends; values: of all
    if isinstance(quantity, str):
        return float(quantity.split()[0])
    return float(quantity)


def least_of(quantity: Any) -> float:
    """The least value of a canonical quantity that can be relied on: of a law without a least value, its mean."""
    if isinstance(quantity, Mapping):
        ((law, value),) = quantity.items()
        return min(map(mean_of, value)) if law in ("uniform", "values") else mean_of(quantity)
    return mean_of(quantity)


def most_of(quantity: Any) -> float:
    """A practical upper bound of a canonical quantity. It is the largest value, mean plus two deviations, three means
    of an exponential, or the 95th percentile of a heavy tail."""
    if isinstance(quantity, Mapping):
        ((law, value),) = quantity.items()
        if law == "exponential":
            return 3 * mean_of(value)
        if law == "normal":
            return mean_of(value[0]) + 2 * mean_of(value[1])
        if law == "gamma":
            return mean_of(value[0]) * (1 + 2 / math.sqrt(value[1]))
        if law == "pareto":
            return float(mean_of(value[0]) * (value[1] - 1) / value[1] * float(20 ** (1 / value[1])))
        if law == "lognormal":
            return mean_of(value[0]) * math.exp(1.645 * value[1] - value[1] ** 2 / 2)
        return max(map(mean_of, value))
    return mean_of(quantity)


def is_random(quantity: Any) -> bool:
    """Whether a canonical quantity is drawn."""
    return isinstance(quantity, Mapping) and any(law in quantity for law in LAWS)


@dataclass(frozen=True, eq=False)
class Way:
    """One direction of a link.

    Attributes:
        name: the link.
        forward: whether it is the direction in which the link was declared.
        table: `rate`, `delay` and `queue` of this direction, canonical.
        per: for whom there is a copy; "" where everybody shares one.
        is_written: whether the file describes this direction; a reverse one that it does not is as the forward one.
        marks: whether its queue may mark ECN-capable packets.
    """

    name: str
    forward: bool
    table: Tree
    per: str
    is_written: bool = True
    marks: bool = False

    @property
    def path(self) -> str:
        """Its place in the file: "links.access", "links.access.reverse"."""
        return paths.render(("links", self.name)) + ("" if self.forward else ".reverse")

    @property
    def steps(self) -> list[tuple[float, float]]:
        """(since when, rate); one step where the rate does not change or is a trace (its mean); none without a rate."""
        rate = self.table.get("rate")
        if rate is None:
            return []
        if isinstance(rate, Mapping) and "steps" in rate:
            return [(mean_of(at), mean_of(value)) for at, value in rate["steps"]]
        if isinstance(rate, Mapping) and "opportunities" in rate:
            at, size = rate["opportunities"], mean_of(rate["bytes"])
            return [(0.0, len(at) * size * 8000 / at[-1])]
        return [(0.0, mean_of(rate))]

    @property
    def rate(self) -> float | None:
        """The first rate that is not zero, or None for pure delay."""
        return next((rate for _, rate in self.steps if rate), None)

    @property
    def delay(self) -> float:
        """Propagation."""
        return mean_of(self.table["delay"])

    @property
    def queue(self) -> Tree:
        """The queue's table; empty where there is none."""
        queue: Tree = self.table.get("queue") or {}
        return queue

    @property
    def kind(self) -> str:
        """The admission rule; "" without a queue."""
        return str(self.queue.get("kind", ""))

    @property
    def scheduler(self) -> Tree:
        """The scheduler's table."""
        found: Tree = self.queue.get("scheduler") or {"kind": registry.default("scheduler")}
        return found

    @property
    def is_unlimited(self) -> bool:
        """Whether the backlog is unlimited. Leaves of `htb` and a `tbf` with latency have separate limits."""
        if self.rate is None or "limit" in self.queue:
            return False
        return not registry.has(self.scheduler, "tree") and "latency" not in self.scheduler

    @property
    def limit(self) -> str | None:
        """The limit as it is in the canonical scenario: "24 packets"."""
        limit = self.queue.get("limit")
        return limit if isinstance(limit, str) else None

    def limit_s(self, packet: float) -> float | None:
        """How long a queue at its limit takes to empty at the line rate, for packets of this size."""
        if self.limit is None or not self.rate:
            return None
        number, unit = self.limit.split()
        if unit == "s":
            return float(number)
        return float(number) * (packet if unit == "packets" else 1) * 8 / self.rate

    @property
    def keeps_flows_apart(self) -> bool:
        """Whether its scheduler serves flows or users in turn."""
        return registry.has(self.kind, "in_turn") or (
            registry.has(self.scheduler, "in_turn") and self.scheduler.get("per") in ("user", "flow")
        )


def _leaves(scheduler: Tree) -> Iterator[Tree]:
    for leaf in [scheduler.get("each"), *(scheduler.get("classes") or {}).values()]:
        if isinstance(leaf, Mapping) and isinstance(leaf.get("leaf"), Mapping):
            yield leaf["leaf"]


@dataclass(frozen=True, eq=False)
class Source:
    """One kind of traffic of a group.

    Attributes:
        group: the group's name.
        index: its place in the group's list of traffic.
        path: its place in the file.
        table: its canonical table.
        users: how many send it.
        flows: how many of it a user has.
        ways: the directions of links that data crosses, in order.
        back: those that acknowledgements cross.
        processing: mean time in the host.
    """

    group: str
    index: int
    path: str
    table: Tree
    users: int
    flows: int
    ways: tuple[Way, ...]
    back: tuple[Way, ...]
    processing: float = 0.0

    @property
    def kind(self) -> str:
        """Of the traffic."""
        return str(self.table["kind"])

    @property
    def tcp(self) -> Tree | None:
        """The stack, or None for datagrams."""
        found: Tree | None = self.table.get("tcp")
        return found

    @property
    def control(self) -> str:
        """The congestion control; "" for datagrams."""
        return str(self.tcp["congestion_control"]["kind"]) if self.tcp else ""

    @property
    def packet(self) -> float:
        """Mean size of a data packet."""
        if self.tcp is not None:
            return mean_of(self.tcp["mss"]) + mean_of(self.tcp["header"])
        return mean_of(self.table["packet"])

    @property
    def ack(self) -> float:
        """Size of an acknowledgement, or of the reply of a ping; 0 for other datagrams."""
        if registry.has(self.kind, "replies"):
            return self.packet
        return mean_of(self.tcp["header"]) if self.tcp else 0.0

    @property
    def is_ecn_capable(self) -> bool:
        """Whether its packets may be marked."""
        if self.tcp is not None:
            return bool(self.tcp["ecn"] != "off")
        return bool(self.table.get("ecn_capable"))

    @property
    def propagation_s(self) -> float:
        """Out and back (datagrams without answers: out only), without queues and transmission."""
        return sum(way.delay for way in (*self.ways, *(self.back if self.ack else ())))

    @property
    def round_trip_s(self) -> float:
        """Of one packet and its acknowledgement where nothing waits: propagation, transmission, mean processing."""
        sending = sum(self.packet * 8 / way.rate for way in self.ways if way.rate)
        if self.ack:
            sending += sum(self.ack * 8 / way.rate for way in self.back if way.rate)
        return self.propagation_s + sending + self.processing

    @property
    def narrowest(self) -> Way | None:
        """The slowest link on its way, at the rate it starts with."""
        return min((way for way in self.ways if way.rate), key=lambda way: way.rate or math.inf, default=None)

    @property
    def bandwidth_delay(self) -> float | None:
        """Bytes that fill the narrowest link of its way for a round trip; None for datagrams, or without a rate."""
        narrowest = self.narrowest
        if self.tcp is None or narrowest is None or not narrowest.rate:
            return None
        return narrowest.rate * self.round_trip_s / 8

    @property
    def count(self) -> int:
        """Sources of all users together."""
        return self.users * self.flows


class Outline:
    """A valid scenario's links and sources, with what follows from them.

    Raises:
        ScenarioError: the scenario is not valid.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._random_at: dict[tuple[str, bool], bool] = {}
        self.tree: Tree = json.loads(scenario.core.canonical)
        self.duration = mean_of(self.tree.get("duration", "0 s"))
        self.warmup = mean_of(self.tree.get("warmup", "0 s"))

    @cached_property
    def ways(self) -> dict[tuple[str, bool], Way]:
        """Both directions of every link."""
        found = {}
        for name, link in self.tree.get("links", {}).items():
            per = str(link.get("per", ""))
            forward, reverse = self.scenario.core.marks[name]
            found[name, True] = Way(name, True, link, per, marks=forward)
            back = link.get("reverse") or {key: link[key] for key in ("rate", "delay") if key in link}
            found[name, False] = Way(name, False, back, per, "reverse" in link, reverse)
        return found

    @cached_property
    def sources(self) -> list[Source]:
        """Every kind of traffic of every group, in the order of the canonical scenario."""
        written = self.scenario.tree.get("groups", {})
        return [source for name in self.tree.get("groups", {}) for source in self._sources(name, written)]

    @cached_property
    def by_group(self) -> dict[str, list[Source]]:
        """The sources of each group."""
        found: dict[str, list[Source]] = {}
        for source in self.sources:
            found.setdefault(source.group, []).append(source)
        return found

    def _sources(self, name: str, groups: Tree) -> Iterator[Source]:
        group = self.tree["groups"][name]
        legs = [(leg.removeprefix("-"), not leg.startswith("-")) for leg in group.get("path", [])]
        legs = [leg for leg in legs if leg[0] in self.tree["links"]]
        ways = tuple(self.ways[leg] for leg in legs)
        back = tuple(self.ways[link, not forward] for link, forward in reversed(legs))
        written = groups.get(name, {}).get("traffic")
        for index, traffic in enumerate(group.get("traffic", [])):
            place: tuple[str | int, ...] = ("groups", name, "traffic")
            if isinstance(written, list):
                place = (*place, index)
            yield Source(
                name,
                index,
                paths.render(place),
                traffic,
                int(group["users"]),
                int(traffic.get("flows", 1)),
                ways,
                back,
                mean_of(group.get("processing", 0)),
            )

    @cached_property
    def _crossing(self) -> dict[tuple[str, bool], list[Source]]:
        """By direction of a link, so that many groups at many links are looked through once."""
        found: dict[tuple[str, bool], list[Source]] = {}
        for source in self.sources:
            for key in {(way.name, way.forward): None for way in source.ways}:
                found.setdefault(key, []).append(source)
        return found

    @cached_property
    def _answering(self) -> dict[tuple[str, bool], list[Source]]:
        found: dict[tuple[str, bool], list[Source]] = {}
        for source in self.sources:
            if source.tcp is not None:
                for key in {(way.name, way.forward): None for way in source.back}:
                    found.setdefault(key, []).append(source)
        return found

    @cached_property
    def _counts(self) -> dict[tuple[str, bool], float]:
        return {key: sum(source.count for source in sources) for key, sources in self._crossing.items()}

    def crossing(self, way: Way) -> list[Source]:
        """The sources whose data crosses a direction of a link."""
        return self._crossing.get((way.name, way.forward), [])

    def is_random_at(self, way: Way) -> bool:
        """Whether something of those who cross it is random for each packet: hosts, gaps or sizes."""
        key = (way.name, way.forward)
        if key not in self._random_at:
            self._random_at[key] = any(
                "processing" in self.tree["groups"][source.group]
                or registry.draws(source.table)
                or is_random(source.table.get("packet"))
                for source in self.crossing(way)
            )
        return self._random_at[key]

    def answering(self, way: Way) -> list[Source]:
        """The sources whose acknowledgements cross a direction of a link."""
        return self._answering.get((way.name, way.forward), [])

    def largest_packet(self, way: Way) -> float:
        """The largest mean size of a packet that crosses it; 0 without traffic."""
        sizes = [source.packet for source in self.crossing(way)] + [source.ack for source in self.answering(way)]
        return max(sizes, default=0.0)

    def sharing(self, way: Way, source: Source) -> float:
        """How many sources share the copy of a link that one of `source` crosses."""
        key = (way.name, way.forward)
        if not way.per:
            return self._counts.get(key, 0)
        own = [other for other in self.by_group[source.group] if key in {(w.name, w.forward) for w in other.ways}]
        flows = sum(other.flows for other in own)
        if way.per == "flow":
            return 1
        if way.per == "user":
            return flows
        users = source.users if way.per == "group" else min(source.users, int(way.per.split()[0]))
        return users * flows

    def full_s(self, way: Way) -> float | None:
        """Time to empty a full queue of this direction; None without a limit or a rate."""
        return way.limit_s(max((source.packet for source in self.crossing(way)), default=self.largest_packet(way)))

    def described(self) -> list[Way]:
        """Every direction of a link that the file describes, links in the order of their names."""
        return [way for way in self.ways.values() if way.forward or way.is_written]

    def to_json(self, points: int, replications: int) -> dict[str, Any]:
        """Output of `check --json` for a valid scenario with so large a sweep: SI units, means of random quantities."""
        core = self.scenario.core
        document: dict[str, Any] = {"scenario_hash": core.hash, "title": self.scenario.title}
        document |= {"duration_s": self.duration, "warmup_s": self.warmup, "memory_bytes": core.memory_bytes}
        document |= {"points": points, "replications": replications, "random": self.randomness()}
        document["links"] = {
            way.name if way.forward else f"-{way.name}": {
                "rate_bps": way.rate,
                "rate_changes": len(way.steps) > 1,
                "delay_s": way.delay,
                "per": way.per or None,
                "queue": way.kind or None,
                "scheduler": way.scheduler["kind"],
                "limit": way.limit,
                "limit_s": self.full_s(way),
                "sources": sum(source.count for source in self.crossing(way)),
            }
            for way in self.described()
        }
        document["traffic"] = [
            {
                "group": source.group,
                "users": source.users,
                "kind": source.kind,
                "flows": source.flows,
                "stack": source.tcp["stack"] if source.tcp else None,
                "congestion_control": source.control or None,
                "path": list(self.tree["groups"][source.group]["path"]),
                "round_trip_s": source.round_trip_s if source.tcp else None,
                "one_way_s": sum(way.delay for way in source.ways),
                "bandwidth_delay_bytes": source.bandwidth_delay,
                "packet_bytes": source.packet,
            }
            for source in self.sources
        ]
        return document

    def place_of_tcp(self, source: Source) -> str:
        """Where in the file the stack of a source is, or may be written."""
        group = self.scenario.tree.get("groups", {}).get(source.group, {})
        traffic = group.get("traffic")
        own = traffic[source.index] if isinstance(traffic, list) else traffic
        if isinstance(own, Mapping) and "tcp" in own:
            return f"{source.path}.tcp"
        return paths.render(("groups", source.group, "tcp"))

    def _as_written(self, path: paths.Path) -> str:
        """A path of the canonical scenario as the file has it: a single table of traffic is no list there."""
        is_traffic = len(path) > 3 and path[0] == "groups" and path[2] == "traffic"
        if is_traffic and not isinstance(self.scenario.tree["groups"][path[1]].get("traffic"), list):
            path = (*path[:3], *path[4:])
        return paths.render(path)

    def randomness(self) -> list[str]:
        """Paths of random quantities; empty where every seed gives the same run."""
        found = [self._as_written(path) for path in _laws(self.tree)]
        found += [source.path for source in self.sources if registry.draws(source.table)]
        found += [
            paths.render(("groups", one.group, "tcp"))
            for one in self.sources
            if one.tcp and registry.draws(one.tcp["congestion_control"])
        ]
        for way in self.ways.values():
            flows = sum(source.count for source in self.crossing(way))
            rules = [way.queue, way.scheduler, *_leaves(way.scheduler)]
            found += [f"{way.path}.queue" for rule in rules if _draws(rule, flows)]
        for name, link in self.tree.get("links", {}).items():
            loss = link.get("loss") or {}
            if "jitter" in link or ("probability" in loss and loss["probability"] not in (0, 1)):
                found.append(paths.render(("links", name)))
        for name, stage in self.tree.get("stages", {}).items():
            if registry.draws(stage):
                found.append(paths.render(("stages", name)))
        return list(dict.fromkeys(found))


def _laws(tree: Any, above: paths.Path = ()) -> Iterator[paths.Path]:
    if isinstance(tree, Mapping):
        if len(tree) == 1 and is_random(tree):
            yield above
            return
        for name, value in tree.items():
            yield from _laws(value, (*above, str(name)))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _laws(value, (*above, index))


def _draws(rule: Tree, flows: int) -> bool:
    """Whether a queue or scheduler draws: for its decisions, or a hash by which several flows may meet."""
    return registry.draws(rule) or (registry.has(rule, "hashes") and flows > 1)
