"""`make validate`: Evenflow beside ns-3, ns-2 and theory, every difference with its reason.

Two tables. Simulators: scenario, metric, theirs, ours, verdict; two results agree when their 95 % intervals over seeds
overlap or their means are within 5 % (chunk times beside a kernel: by means alone). Theory: predicted, measured, their
ratio, verdict. A difference is explained from differences.toml or is called unknown; none is left blank. Results of
ns-2 and ns-3 are kept under out/comparators, keyed by program and arguments, so a second call is quick.
With `--recorded` the other programs' values are those that ship, and only Evenflow runs.
"""

from __future__ import annotations

import argparse
import copy
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))

import applications  # noqa: E402
import aqm  # noqa: E402
import conex_flows  # noqa: E402
import conex_ground  # noqa: E402
import conex_laws  # noqa: E402
import conex_policed  # noqa: E402
import flows as short_flows  # noqa: E402
import laws  # noqa: E402
import linux  # noqa: E402
import linux_aqm  # noqa: E402
import linux_cake  # noqa: E402
import linux_chunks  # noqa: E402
import linux_dialogue  # noqa: E402
import linux_queues  # noqa: E402
import linux_tunnels  # noqa: E402
import numpy as np  # noqa: E402
import peers  # noqa: E402
import players  # noqa: E402
import policing  # noqa: E402
import reecn  # noqa: E402
import shapers  # noqa: E402
import testbeds  # noqa: E402
import theory  # noqa: E402
import wtp  # noqa: E402
from evenflow import Record, Scenario, _core, plots  # noqa: E402
from evenflow.run import evidence  # noqa: E402
from evenflow.stats import Interval, mean_interval  # noqa: E402
from reasons import Reasons  # noqa: E402

SCENARIOS = ROOT / "validation" / "scenarios"
EXAMPLES = ROOT / "examples" / "scenarios"
CLOSE = 0.05
OUR_SEEDS = range(1, 11)
THEORY = "theory"
DRAWN_S = 120  # s of a figure: some ten cycles of a CUBIC window

KernelCase = linux_aqm.Case | shapers.Case | policing.Case
AnyKernelCase = TypeVar("AnyKernelCase", bound=KernelCase | linux_cake.Case)
Metrics = Mapping[str, float]
Label = Mapping[str, str | int]


@dataclass(frozen=True)
class Row:
    """One metric at one point: theirs (a peer's interval, or what a formula says) beside ours.

    `of` names the mechanisms that the row is evidence for. `bracket` is what a law accepts; `source` where it is from.
    `program` is the peer's name in `Validation.described`, where it is another. Means agree within `within`, too;
    with `means` they alone count, since an interval of three runs that differ reaches anything.
    """

    scenario: str
    point: Label
    metric: str
    peer: str
    theirs: Interval
    ours: Interval
    of: tuple[str, ...]
    why: str = ""
    source: str = ""
    bracket: laws.Bracket | None = None
    program: str = ""
    within: float = 0.0
    means: bool = False

    @property
    def difference(self) -> float:
        """Ours relative to theirs."""
        if self.theirs.mean == 0:
            return 0.0 if self.ours.mean == 0 else math.inf
        return self.ours.mean / self.theirs.mean - 1

    @property
    def agrees(self) -> bool:
        """Intervals overlap (unless means alone count), or means within 5 % or a number; a law accepts or not."""
        if self.bracket is not None:
            return self.bracket.accepts(self.ours)
        overlap = not self.means and self.theirs.lo <= self.ours.hi and self.ours.lo <= self.theirs.hi
        near = abs(self.ours.mean - self.theirs.mean) <= self.within
        return overlap or near or abs(self.difference) <= CLOSE


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Seen:
    """Anybody's record, with the fields of `evenflow run --json`; `series` (windows in segments) where it has them.

    `frames` says whether it counts whole packets by user: ns-2's does not.
    """

    json: Mapping[str, Any]
    frames: bool = True
    series: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(record: Record) -> Seen:
        """Ours. Windows and the queue are recorded together, so that one list of times holds for all."""
        found = {name: record.arrays(name) for name in record.series_names}
        if not found:
            return Seen(record.json)
        times = next(iter(found.values()))[0]
        queue = [values for name, (_, values) in found.items() if name.startswith("links.")]
        windows = [values for name, (_, values) in found.items() if name.endswith(".window")]
        return Seen(record.json, series={"times": times, "queue": queue[0], "windows": windows})

    @staticmethod
    def theirs(peer: peers.Ns2 | peers.Ns3, record: Mapping[str, Any]) -> Seen:
        """Another simulator's, which samples from zero on."""
        series = dict(record.get("series", {}))
        if series:
            series["times"] = [series["every_s"] * k for k in range(len(series["queue"]))]
        return Seen(record, frames=peer.family != "ns-2", series=series)

    @property
    def link(self) -> Mapping[str, Any]:
        """The bottleneck."""
        found: Mapping[str, Any] = self.json["links"]["bottleneck"]
        return found

    @property
    def drops(self) -> float:
        """Drops per packet that arrived at the bottleneck."""
        link = self.link
        dropped = link["dropped_packets"] if "dropped_packets" in link else sum(link["drops"].values())
        return float(dropped) / float(link["arrived_packets"])

    @property
    def marks(self) -> float:
        """Marks per packet that arrived at the bottleneck."""
        link = self.link
        marked = link["marked_packets"] if "marked_packets" in link else sum(link["marks"].values())
        return float(marked) / float(link["arrived_packets"])

    @property
    def goodputs(self) -> list[float]:
        """Of every user, bit/s."""
        if "flows_goodput_bps" in self.json:
            return list(self.json["flows_goodput_bps"])
        return [rate for group in self.json["groups"].values() for rate in group["users_goodput_bps"]]


def between_two(seen: Seen) -> dict[str, float]:
    """A user of the one group beside one of the other (CUBIC, heavy, zero first), and the queue."""
    first, second = sorted(seen.json["groups"], key=lambda name: name in ("light", "newreno", "one"))
    one, two = seen.json["groups"][first], seen.json["groups"][second]
    found: dict[str, float] = {}
    for rate in ("throughput", "goodput") if seen.frames else ("goodput",):
        over, under = one[f"{rate}_bps"], two[f"{rate}_bps"]
        found[f"{rate} {first}/{second}"] = over / under if under else math.inf
    found["mean queue (packets)"] = seen.link["queue_packets_mean"]
    found["utilisation"] = seen.link["utilisation"]
    found["loss"] = seen.drops
    return found


def of_a_crowd(seen: Seen) -> dict[str, float]:
    """Like flows through RED: what the queue does, and whether they share alike (Jain 1984, fairness index)."""
    rates = seen.goodputs
    return {
        "utilisation": seen.link["utilisation"],
        "mean queue (packets)": seen.link["queue_packets_mean"],
        "marks per packet": seen.marks,
        "drops per packet": seen.drops,
        "Jain's index": sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)),
    }


def of_one(seen: Seen) -> dict[str, float]:
    """One flow: rate, losses, queue, and the window's mean and extremes of samples after the warm-up."""
    after = np.asarray(seen.series["times"]) >= seen.json["window_s"][0]
    window = np.asarray(seen.series["windows"][0])[after]
    return {
        "goodput (bit/s)": seen.goodputs[0],
        "mean queue (packets)": seen.link["queue_packets_mean"],
        "losses per packet": seen.drops,
        "mean window (segments)": float(window.mean()),
        "highest window (segments)": float(window.max()),
        "lowest window (segments)": float(window.min()),
    }


def of_one_marked(seen: Seen) -> dict[str, float]:
    """One flow whose packets are marked and never lost."""
    found = of_one(seen)
    del found["losses per packet"]
    return {**found, "marks per packet": seen.marks}


def of_a_lossy_link(seen: Seen) -> dict[str, float]:
    """One flow that random losses alone hold back."""
    return {"goodput (bit/s)": seen.goodputs[0]}


def named(check: str, label: Label) -> str:
    """A comparison and its point, for readers."""
    point = ", ".join(f"{key} {value}".strip() for key, value in label.items())
    return f"{check}: {point}" if point else check


def keyed(label: Label) -> str:
    """A point as a key, in any order of its settings."""
    return json.dumps(dict(label), sort_keys=True)


def intervals(records: Sequence[Metrics]) -> dict[str, Interval]:
    """Mean and 95 % interval over seeds of each metric that all records have."""
    names = [name for name in records[0] if all(name in record for record in records)]
    return {name: mean_interval([record[name] for record in records]) for name in names}


class Ours:
    """Runs of Evenflow. The last scenario's records are kept: several comparisons may use them."""

    def __init__(self) -> None:
        self._last: tuple[str, tuple[int, ...]] = ("", ())
        self._records: list[Record] = []

    def __call__(self, scenario: Scenario, seeds: Sequence[int]) -> list[Record]:
        """Records in seed order. Two threads at most: the machine may be shared."""
        if self._last != (scenario.hash, tuple(seeds)):
            scenario.check()
            with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
                self._records = list(pool.map(scenario.run, seeds))
            self._last = scenario.hash, tuple(seeds)
        return self._records


ours = Ours()


@dataclass(frozen=True)
class Point:
    """One comparison: Evenflow's scenario, and the metrics of its records and of another program's runs.

    `of` names the mechanisms that it is evidence for. One seed: nothing is drawn at random, and there is no interval.
    `theirs` may raise `linux.InvalidError`.
    """

    check: str
    label: Label
    of: tuple[str, ...]
    scenario: Scenario
    mine: Callable[[Record], Metrics]
    theirs: Callable[[], Sequence[Metrics]]
    seeds: int = len(OUR_SEEDS)
    within: float = 0.0
    means: bool = False


@dataclass(frozen=True)
class Shipped:
    """The other programs' values in the package: a stand-in for a program."""

    name: str
    family: str


@dataclass(frozen=True)
class Case:
    """One point of a comparison: the scenario for each simulator that runs it, and what is compared.

    Scenarios differ between simulators only in what ours has to follow: the stack, RED's variant.
    """

    name: str
    point: Label
    of: tuple[str, ...]
    scenarios: Mapping[str, Scenario]
    metrics: Callable[[Seen], Metrics]


# What a scenario written for ns-3 becomes for ns-2's agents: packets of 1500 B all the same.
AS_NS2 = {"stack": "ns2", "initial_window": "1 packet", "ack_every": 1, "mss": "1460 B", "header": "40 B"}
AS_NS2_NEWRENO = AS_NS2 | {
    "sack": False,
    "ack_every": 2,
    "min_rto": "1 s",
    "max_window": f"{90 * 1460} B",
    "byte_counting": False,
    "slow_start": "standard",
}
AS_NS2_LINUX = AS_NS2 | {
    "stack": "ns2-linux",
    "initial_window": "2 packets",
    "min_rto": "200 ms",
    "mss": "1450 B",
    "header": "50 B",
}


def control_of(group: Mapping[str, Any]) -> str:
    """The congestion control of a group with one kind of traffic."""
    control = group["tcp"]["congestion_control"]
    return str(control if isinstance(control, str) else control["kind"])


def for_each(scenario: Scenario, as_ns2: Mapping[str, Any]) -> dict[str, Scenario]:
    """The scenario as it stands for ns-3, and with ns-2's lines in every group for ns-2."""
    changed = {
        f"groups.{group}.tcp.{line}": value for group in scenario.tree["groups"] for line, value in as_ns2.items()
    }
    if as_ns2["stack"] == "ns2-linux" and "cubic" in scenario.tree["groups"]:
        changed["groups.cubic.tcp.congestion_control"] = {"kind": "cubic", "beta": 0.8}
    if "variant" in scenario.tree["links"]["bottleneck"].get("queue", {}):
        changed["links.bottleneck.queue.variant"] = "ns2"
    return {"ns-3": scenario, "ns-2": scenario.with_settings(changed)}


def newreno() -> Iterator[Case]:
    """1 to 32 NewReno flows of one user against one flow of another, two round-trip times."""
    base = Scenario.load(EXAMPLES / "newreno-droptail.toml")
    for delay in ("5 ms", "50 ms"):
        for flows in (1, 2, 4, 8, 16, 32):
            scenario = base.set("links.bottleneck.delay", delay).set("groups.heavy.traffic.flows", flows)
            point = {"delay": delay, "flows": flows}
            both = for_each(scenario, AS_NS2_NEWRENO)
            yield Case("newreno-droptail", point, ("newreno", "tcp", "droptail"), both, between_two)


def poisson() -> Iterator[Case]:
    """Two Poisson users, 175 % of the link."""
    scenario = Scenario.load(EXAMPLES / "poisson-droptail.toml")
    yield Case("poisson-droptail", {}, ("poisson", "droptail"), {"ns-3": scenario, "ns-2": scenario}, between_two)


def red() -> Iterator[Case]:
    """NewReno through RED: 2 to 40 flows with ECN, 10 and 20 without, two round-trip times."""
    base = Scenario.load(SCENARIOS / "red.toml")
    for delay, rtt in (("9.9 ms", "20 ms"), ("49.9 ms", "100 ms")):
        for flows in (2, 5, 10, 20, 40):
            scenario = base.with_settings({"links.bottleneck.delay": delay, "groups.flows.users": flows})
            point: Label = {"RTT": rtt, "flows": flows}
            yield Case("red-ecn", point, ("red", "newreno", "tcp"), for_each(scenario, AS_NS2), of_a_crowd)
            if flows in (10, 20):
                dropping = {"links.bottleneck.queue.action": "drop", "groups.flows.tcp.ecn": "off"}
                both = for_each(scenario.with_settings(dropping), AS_NS2)
                yield Case("red-drop", point, ("red", "newreno", "tcp"), both, of_a_crowd)


def cubic() -> Iterator[Case]:
    """One CUBIC flow and a buffer of one bandwidth-delay product."""
    both = for_each(Scenario.load(SCENARIOS / "cubic.toml"), AS_NS2_LINUX)
    yield Case("cubic-alone", {}, ("cubic", "tcp"), both, of_one)


def share() -> Iterator[Case]:
    """CUBIC's share beside as many NewReno flows."""
    base = Scenario.load(SCENARIOS / "share.toml")
    for flows in (1, 2, 4):
        scenario = base.with_settings({f"groups.{name}.traffic.flows": flows for name in ("cubic", "newreno")})
        both = for_each(scenario, AS_NS2_LINUX)
        yield Case("cubic-newreno", {"flows of each": flows}, ("cubic", "newreno", "tcp"), both, between_two)


def loss() -> Iterator[Case]:
    """NewReno with SACK where packets are lost at random."""
    base = Scenario.load(SCENARIOS / "loss.toml")
    for probability in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2):
        both = for_each(base.set("links.bottleneck.loss", probability), AS_NS2)
        point = {"loss": f"{probability:g}"}
        yield Case("newreno-loss", point, ("newreno", "tcp"), both, of_a_lossy_link)


CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "ns-2": peers.NS2_CONTROLS,
    "ns-3": {**peers.NS3_CONTROLS, "ledbat": {"target": "25 ms"}},
}
BUFFERS = {"half": 21, "one": 42, "two": 83}
"""Buffers of the controls' link in packets, by bandwidth-delay products (41.7 packets)."""
STEP_PACKETS = 20
"""Waiting packets from which DCTCP's link marks: above a seventh of the product (Alizadeh 2010, section 3.4)."""


def controls() -> Iterator[Case]:
    """Vegas, Illinois, Compound, LEDBAT, DCTCP, each as a simulator ships it: alone, and beside NewReno."""
    base = Scenario.load(SCENARIOS / "controls.toml")
    both = for_each(base, AS_NS2_LINUX)
    for control in ("vegas", "illinois", "compound", "ledbat", "dctcp"):
        table = {
            peer: {"kind": control, **settings[control]} for peer, settings in CONTROLS.items() if control in settings
        }
        alone = {peer: both[peer].set("groups.flow.tcp.congestion_control", table[peer]) for peer in table}
        if control == "dctcp":
            # A step: RED of the present length, with no room between its thresholds.
            queue = {
                "kind": "red",
                "variant": "ns3",
                "limit": "200 packets",
                "min_threshold": f"{STEP_PACKETS - 0.5:g} packets",
                "max_threshold": f"{STEP_PACKETS} packets",
                "max_probability": 1.0,
                "weight": 1.0,
                "action": "mark",
            }
            settings = {"links.bottleneck.queue": queue, "groups.flow.tcp.ecn": "accurate"}
            marked = {peer: scenario.with_settings(settings) for peer, scenario in alone.items()}
            yield Case("dctcp-alone", {}, ("dctcp", "red", "tcp"), marked, of_one_marked)
            continue
        for name, packets in BUFFERS.items():
            behind = {
                peer: scenario.set("links.bottleneck.queue.limit", f"{packets} packets")
                for peer, scenario in alone.items()
            }
            point = {"buffer": f"{name} BDP"}
            yield Case(f"{control}-alone", point, (control, "tcp"), behind, of_one)
            if name != "half":
                beside = {peer: beside_newreno(scenario, control) for peer, scenario in behind.items()}
                yield Case(f"{control}-newreno", point, (control, "newreno", "tcp"), beside, between_two)


def beside_newreno(scenario: Scenario, control: str) -> Scenario:
    """The flow of a scenario under its control's name, and one of NewReno beside it."""
    tree = copy.deepcopy(dict(scenario.tree))
    flow = tree["groups"].pop("flow")
    flow["traffic"]["start"] = {"uniform": ["0 s", "5 s"]}
    tree["groups"] = {control: flow, "newreno": copy.deepcopy(flow)}
    tree["groups"]["newreno"]["tcp"]["congestion_control"] = "newreno"
    tree["duration"], tree["record"] = "400 s", {}
    return Scenario(tree)


COMPARISONS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "newreno": newreno,
    "poisson": poisson,
    "red": red,
    "cubic": cubic,
    "share": share,
    "loss": loss,
    "controls": controls,
}

PLAYERS = "players"
AGAINST = ("ns-3", "ns-2", "Linux", PLAYERS, testbeds.PEER, THEORY)
"""Whom it is compared with."""

ALONE = {
    "wtp": "ns-2",
    "flows": "ns-2",
    "conex": "ns-2",
    "conex-flows": "ns-2",
    "conex-policed": "ns-2",
    "reecn": "ns-2",
    "queues": THEORY,
    "laws": THEORY,
    "applications": THEORY,
    "conex-laws": THEORY,
    **dict.fromkeys(
        (
            "linux",
            "bbr",
            "windows",
            "dialogues",
            "chunks",
            "cake",
            "fq-pie",
            "shapers",
            "changes",
            "policing",
            "tunnels",
        ),
        "Linux",
    ),
    "players": PLAYERS,
    "testbeds": testbeds.PEER,
}
"""Parts that are compared with one of them alone."""

PARTS = (
    *COMPARISONS,
    "wtp",
    "conex",
    "conex-flows",
    "conex-policed",
    "reecn",
    "flows",
    "queues",
    "laws",
    "applications",
    "conex-laws",
    "aqm",
    "linux",
    "bbr",
    "windows",
    "dialogues",
    "chunks",
    "cake",
    "fq-pie",
    "shapers",
    "changes",
    "policing",
    "tunnels",
    "players",
    "testbeds",
)


class Validation:
    """All comparisons, in the order of the table."""

    def __init__(
        self,
        our_seeds: Sequence[int],
        ns2_seeds: int,
        ns3_seeds: int,
        fresh: bool,
        out: Path,
        ns3_tree: Path | None = None,
        against: Sequence[str] = AGAINST,
        programs: Sequence[players.Program] = (),
        recorded: Mapping[str, Any] | None = None,
    ) -> None:
        self.our_seeds = our_seeds
        self.programs = programs
        self.ns3_tree = ns3_tree
        self.against = against
        self.fresh = fresh
        self.out = out
        self.reasons = Reasons()
        self.skipped: dict[str, str] = {}
        self.described: dict[str, str] = {}
        self.recorded: dict[tuple[str, str, str], dict[str, Interval]] | None = None
        self.peers: list[tuple[peers.Ns2 | peers.Ns3 | Shipped, Sequence[int]]] = []
        if recorded is not None:
            self.use(recorded)
            return
        wanted: list[tuple[peers.Ns2 | peers.Ns3, int]] = [(peers.Ns3(ns3_tree), ns3_seeds), (peers.Ns2(), ns2_seeds)]
        for peer, seeds in wanted:
            reason = peer.missing() if seeds > 0 and peer.family in against else "not asked for"
            if reason is None:
                self.peers.append((peer, range(1, seeds + 1)))
                self.described[peer.name] = f"{peer.describe()}; {seeds} seeds"
            else:
                self.skipped[peer.name] = reason

    def use(self, document: Mapping[str, Any]) -> None:
        """Take the other programs' values from shipped results."""
        self.recorded = {}
        for row in document["rows"]:
            key = (row["check"], keyed(row["point"]), row["against"])
            self.recorded.setdefault(key, {})[row["metric"]] = Interval(**row["theirs"], sd=math.nan)
        for name, text in document["programs"].items():
            family = "ns-3" if name.startswith("ns-3") else name
            if family.partition(":")[0] in self.against:
                self.described[name] = text
            if family in ("ns-2", "ns-3") and family in self.against:
                self.peers.append((Shipped(name, family), ()))

    def there(self, program: str, machine: Any, *needs: Any) -> bool:
        """Whether a program can run, or was recorded. Keeps its description, or why not."""
        if self.recorded is not None:
            return program in self.described
        reason = machine.missing(*needs)
        if reason is None:
            self.described[program] = machine.describe()
        else:
            self.skipped[program] = reason
        return reason is None

    def measured(
        self, check: str, label: Label, peer: str, program: str, runs: Callable[[], Sequence[Metrics]]
    ) -> Mapping[str, Interval]:
        """Another program's intervals by metric; none where it cannot measure them."""
        say(named(check, label))
        found: Mapping[str, Interval] = {}
        try:
            found = intervals(runs()) if self.recorded is None else self.recorded.pop((check, keyed(label), peer), {})
            why = "" if found else "not recorded"
        except linux.InvalidError as error:
            why = str(error)
        if why:
            self.skipped[f"{program or peer}, {named(check, label)}"] = why
        return found

    def compare(self, peer: str, points: Iterable[Point], program: str = "") -> Iterator[Row]:
        """A row for each metric of points that another program has too."""
        for it in points:
            theirs = self.measured(it.check, it.label, peer, program, it.theirs)
            if not theirs:
                continue
            records = ours(it.scenario, self.our_seeds[: it.seeds])
            mine = intervals([it.mine(record) for record in records])
            for metric, found in theirs.items():
                if metric not in mine:
                    self.skipped[f"{program or peer}, {named(it.check, it.label)}, {metric}"] = "undefined in Evenflow"
                    continue
                own = mine[metric] if it.seeds > 1 else Interval.exact(mine[metric].mean)
                row = Row(it.check, it.label, metric, peer, found, own, it.of)
                yield self.explained(replace(row, program=program, within=it.within, means=it.means))

    def simulators(self, part: str) -> Iterator[Row]:
        """One comparison with the other simulators."""
        for case in COMPARISONS[part]():
            yield from self.case(case)
        if part == "poisson" and THEORY in self.against:
            yield from self.poisson_theory()

    def case(self, case: Case) -> Iterator[Row]:
        """One point on every simulator that is here."""
        drawn: dict[str, Seen] = {}
        for peer, seeds in self.peers:
            if peer.family not in case.scenarios:
                continue  # it has no such control
            scenario = case.scenarios[peer.family]
            dumbbell = peers.Dumbbell.from_tree(scenario.tree)

            def theirs(
                peer: Any = peer, seeds: Sequence[int] = seeds, dumbbell: peers.Dumbbell = dumbbell
            ) -> list[Metrics]:
                found = [peers.remembered(peer, dumbbell, seed, fresh=self.fresh) for seed in seeds]
                seen = [Seen.theirs(peer, record) for record in found]
                drawn[peer.name] = seen[0]
                return [case.metrics(it) for it in seen]

            def mine(record: Record, frames: bool = peer.family != "ns-2") -> Metrics:
                return case.metrics(replace(Seen.of(record), frames=frames))

            of = (*case.of, dumbbell.stack.profile) if "tcp" in case.of else case.of
            yield from self.compare(peer.name, [Point(case.name, case.point, of, scenario, mine, theirs)])
            if peer.name in drawn:
                drawn[f"Evenflow, stack {dumbbell.stack.profile}"] = Seen.of(ours(scenario, self.our_seeds)[0])
        if any(seen.series for seen in drawn.values()):
            self.draw(case.name, drawn)

    def ns2(self, points: Callable[[Any, Sequence[int]], Iterator[Point]]) -> Iterator[Row]:
        """Points beside ns-2."""
        for peer, seeds in self.peers:
            if peer.family == "ns-2":
                yield from self.compare(peer.name, points(peer, seeds))

    def wtp(self) -> Iterator[Row]:
        """Willingness to pay under a virtual queue and RED, beside ns-2's TCP with the same windows."""

        def points(peer: Any, seeds: Sequence[int]) -> Iterator[Point]:
            for label, of, scenario in wtp.points():
                theirs = functools.partial(wtp.runs_of_ns2, peer, scenario, seeds, fresh=self.fresh)
                yield Point(wtp.NAME, label, of, scenario, wtp.metrics_of_ours, theirs)

        yield from self.ns2(points)

    def flows(self) -> Iterator[Row]:
        """Completion times of short flows beside ns-2's."""

        def points(peer: Any, seeds: Sequence[int]) -> Iterator[Point]:
            for it in short_flows.points():
                theirs = functools.partial(short_flows.runs_of_ns2, peer, it, seeds, fresh=self.fresh)
                yield Point(short_flows.NAME, it.label, it.of, it.scenario, short_flows.metrics_of_ours, theirs)

        yield from self.ns2(points)

    def conex(self) -> Iterator[Row]:
        """Sanhaji's network without a policer, beside ns-2's Agent/TCP/Linux."""
        yield from self.of_sanhaji(conex_ground, lambda it: it.scenario)

    def conex_flows(self) -> Iterator[Row]:
        """Sanhaji's figure 20 without a policer, beside ns-2's Agent/TCP/Linux."""
        yield from self.of_sanhaji(conex_flows, lambda it: it)

    def conex_policed(self) -> Iterator[Row]:
        """Sanhaji's congestion policers compared with a policer in ns-2."""
        yield from self.of_sanhaji(conex_policed, lambda it: it.scenario)

    def of_sanhaji(self, part: Any, asked: Callable[[Any], Any]) -> Iterator[Row]:
        """Points of a module about Sanhaji's network; `asked` is what its function for ns-2 takes."""

        def points(peer: Any, seeds: Sequence[int]) -> Iterator[Point]:
            for it in part.points():
                theirs = functools.partial(part.runs_of_ns2, peer, asked(it), seeds, fresh=self.fresh)
                yield Point(part.NAME, it.label, part.OF, it.scenario, part.metrics_of_ours, theirs, part.OUR_SEEDS)

        yield from self.ns2(points)

    def reecn(self) -> Iterator[Row]:
        """Zhang's network without re-ECN, beside ns-2's Reno, NewReno and SACK; one flow beside the laws as well."""

        def points(peer: Any, seeds: Sequence[int]) -> Iterator[Point]:
            parts = (
                (reecn.NAME, reecn.points(), reecn.metrics_of_ours, reecn.metrics_of_ns2),
                (reecn.WINDOW, reecn.alone(), reecn.window_of_ours, reecn.window_of_ns2),
            )
            for name, cases, of_ours, of_ns2 in parts:
                for it in cases:

                    def theirs(it: Any = it, of_ns2: Callable[[Any], Metrics] = of_ns2) -> list[Metrics]:
                        return [of_ns2(run) for run in reecn.runs_of_ns2(peer, it.scenario, seeds, fresh=self.fresh)]

                    yield Point(name, it.label, it.of, it.scenario, of_ours, theirs, reecn.OUR_SEEDS)

        yield from self.ns2(points)
        if THEORY in self.against:
            for it in reecn.alone():
                records = ours(it.scenario, self.our_seeds[: reecn.OUR_SEEDS])
                sent = mean_interval([reecn.window_of_ours(record)[reecn.SENT] for record in records])
                row = Row(reecn.WINDOW, it.label, reecn.SENT, THEORY, it.law.interval, sent, it.of)
                yield self.explained(replace(row, source=it.source, bracket=it.law))

    def linux(self) -> Iterator[Row]:
        """The profile `linux` beside the TCP of the kernel this runs on."""
        yield from self.kernel_tcp("Linux", linux.points(), ("tcp", "linux"))

    def bbr(self) -> Iterator[Row]:
        """BBRv1 beside the kernel's, alone and beside CUBIC."""
        yield from self.kernel_tcp("Linux: BBR", linux.bbr(), ("tcp", "linux"), ("cubic", "bbr1"))

    def windows(self) -> Iterator[Row]:
        """Connections whose receive window is rewritten on the way, beside the kernel's."""
        yield from self.kernel_tcp("Linux: windows", linux.windows(), ("rewriter", "tcp", "linux"))

    def kernel_tcp(
        self,
        program: str,
        cases: Iterable[tuple[str, Label, Scenario]],
        about: tuple[str, ...],
        controls: Sequence[str] = ("cubic", "newreno"),
    ) -> Iterator[Row]:
        """Bulk flows beside the kernel's TCP."""
        kernel = linux.Linux()
        if not self.there(program, kernel, controls):
            return
        for name, label, scenario in cases:
            dumbbell = linux.Dumbbell.from_scenario(scenario)
            of = (*about, *dict.fromkeys(control_of(group) for group in scenario.tree["groups"].values()))
            mine = functools.partial(linux.metrics_of_ours, dumbbell=dumbbell)
            theirs = functools.partial(kernel.metrics, dumbbell, fresh=self.fresh)
            point = Point(name, label, of, scenario, mine, theirs)
            yield from self.compare(kernel.name, [point], "" if program == kernel.name else program)

    def dialogues(self) -> Iterator[Row]:
        """Requests and responses beside the kernel's TCP."""
        kernel = linux_dialogue.Kernel()
        program = f"{kernel.name}: dialogues"
        if not self.there(program, kernel):
            return
        of = ("tcp", "linux", "cubic", "request-response")
        for label, scenario in linux_dialogue.points():
            theirs = functools.partial(kernel.metrics, scenario, fresh=self.fresh)
            point = Point("linux-dialogue", label, of, scenario, linux_dialogue.metrics_of_ours, theirs)
            yield from self.compare(kernel.name, [point], program)

    def chunks(self) -> Iterator[Row]:
        """Chunks of video over kept connections beside kernels' TCP and HTB."""
        for kind in linux_chunks.KERNELS:
            kernel = linux_chunks.Kernel(kind)
            program = f"{kernel.name}: chunks, {kind} kernel"
            if not self.there(program, kernel):
                continue
            cases = list(linux_chunks.points(kind))
            measured = iter(()) if self.recorded is not None else kernel.metrics(cases, fresh=self.fresh)
            for case in cases:
                runs = next(measured, [])
                for check, within, means in linux_chunks.CHECKS:

                    def theirs(runs: Any = runs, check: str = check) -> list[Metrics]:
                        if isinstance(runs, linux.InvalidError):
                            raise runs
                        return [linux_chunks.part_of(run, check) for run in runs]

                    def mine(record: Record, check: str = check) -> Metrics:
                        return linux_chunks.part_of(linux_chunks.metrics_of_ours(record), check)

                    label: Label = {"kernel": kind, **case.label}
                    of = ("tcp", "linux", case.control, "request-response", "htb", *case.stages)
                    point = Point(check, label, of, case.scenario, mine, theirs, 1, within, means)
                    yield from self.compare(kernel.name, [point], program)

    def shapers(self) -> Iterator[Row]:
        """HTB and TBF beside a kernel's."""
        yield from self.kernel_queues("shapers", [case for case in shapers.points() if not case.steps])

    def changes(self) -> Iterator[Row]:
        """The same where classes and filters change on the way."""
        yield from self.kernel_queues("changes", [case for case in shapers.points() if case.steps])

    def policing(self) -> Iterator[Row]:
        """Policers beside a kernel's."""
        yield from self.kernel_queues("policing", list(policing.points()))

    def tunnels(self) -> Iterator[Row]:
        """The ECN field through a kernel's tunnels."""
        kernel = linux_tunnels.Kernel()
        program = f"{kernel.name}: tunnels"
        if self.recorded is None and (reason := kernel.missing()) is not None:
            self.skipped[program] = reason
            return
        of = ("tunnel-ingress", "tunnel-egress")
        for device in linux_tunnels.DEVICES:
            label = {"device": device}

            def runs(device: str = device) -> list[Metrics]:
                return [linux_tunnels.metrics(kernel.look(device, fresh=self.fresh))]

            theirs = self.measured(linux_tunnels.NAME, label, kernel.name, program, runs)
            for metric, mine in linux_tunnels.ours().items() if theirs else ():
                both = Interval.exact(theirs[metric].mean), Interval.exact(mine)
                row = Row(linux_tunnels.NAME, label, metric, kernel.name, *both, of, program=program)
                yield self.explained(row)
        if kernel.asked:
            self.described[program] = kernel.describe()

    def players(self) -> Iterator[Row]:
        """Adaptation rules beside sabre and pensieve, decision by decision."""
        for program in self.programs:
            if (reason := program.missing()) is not None:
                self.skipped[program.name] = reason
                continue
            try:
                compared = list(players.compared(program))
            except Exception as error:  # somebody else's program: whatever it raises is no traceback of this one
                self.skipped[program.name] = f"{program.place} does not run: {type(error).__name__}: {error}"
                continue
            self.described[program.name] = program.describe()
            for what, rule, counts in compared:
                say(
                    f"{program.name}: {what}: {counts.alike} of {counts.decisions} alike, others {dict(counts.because)}"
                )
                label = {"what": what, "decisions": counts.decisions, "alike": counts.alike}
                both = Interval.exact(0.0), Interval.exact(float(counts.unexplained))
                row = Row(players.NAME, label, "decisions unexplained", program.name, *both, (rule,))
                yield replace(row, why="; ".join(f"{why}: {n}" for why, n in counts.because.most_common()))

    def testbeds(self) -> Iterator[Row]:
        """Shares of two flows that others measured."""
        self.described[testbeds.PEER] = testbeds.DESCRIBED
        for cell in testbeds.cells():
            say(f"{cell.check} {cell.point}")
            mine = mean_interval([cell.share(record) for record in ours(cell.scenario, testbeds.SEEDS)])
            measured = Interval.exact(cell.measured)
            row = Row(cell.check, cell.point, testbeds.METRIC, testbeds.PEER, measured, mine, cell.of)
            yield self.explained(replace(row, within=testbeds.WITHIN, means=True))

    def cake(self) -> Iterator[Row]:
        """CAKE beside a kernel's."""
        yield from self.kernel_senders("cake", list(linux_cake.cake()))

    def fq_pie(self) -> Iterator[Row]:
        """FQ-PIE beside a kernel's."""
        yield from self.kernel_senders("fq-pie", list(linux_cake.fq_pie()))

    def kernel_senders(self, part: str, cases: Sequence[linux_cake.Case]) -> Iterator[Row]:
        """Queues beside a kernel's, a point for each sender."""

        def points(case: linux_cake.Case, runs: Callable[[], Sequence[linux_queues.Packets]]) -> Iterator[Point]:
            for name in case.loads:

                def theirs(name: str = name) -> list[Metrics]:
                    return [case.seen(packets)[name] for packets in runs()]

                def mine(record: Record, name: str = name) -> Metrics:
                    return case.seen_of_ours(record)[name]

                label = {"set-up": case.name, "sender": name}
                yield Point(case.check, label, (case.of,), case.scenario, mine, theirs)

        yield from self.beside_kernel(part, cases, linux_cake.RUNS, points)

    def kernel_queues(self, part: str, cases: Sequence[KernelCase]) -> Iterator[Row]:
        """Queues beside a kernel's, a point for each set-up."""

        def points(case: KernelCase, runs: Callable[[], Sequence[linux_queues.Packets]]) -> Iterator[Point]:
            def theirs() -> list[Metrics]:
                return [case.metrics(packets) for packets in runs()]

            yield Point(case.check, case.point, (case.of,), case.scenario, case.metrics_of_ours, theirs)

        yield from self.beside_kernel(part, cases, linux_queues.RUNS, points)

    def beside_kernel(
        self,
        part: str,
        cases: Sequence[AnyKernelCase],
        runs: int,
        points: Callable[[AnyKernelCase, Callable[[], Sequence[linux_queues.Packets]]], Iterator[Point]],
    ) -> Iterator[Row]:
        """The points of each case. A kernel runs a case once."""
        kernel = linux_queues.Kernel({case.of: case.asked for case in cases}, runs)
        program = f"{kernel.name}: {part}"
        if not self.there(program, kernel):
            return
        for case in cases:
            measured = functools.cache(functools.partial(kernel.runs, case.asked, fresh=self.fresh))
            yield from self.compare(kernel.name, points(case, measured), program)

    def draw(self, name: str, drawn: Mapping[str, Seen]) -> None:
        """Windows and queues over time, one panel above the other, as a figure."""
        figure, axes = plots.figure(len(drawn), size=(7.0, 1.7 * len(drawn) + 0.4), sharex=True, sharey=True)
        with plots.style():
            for ax, (simulator, seen) in zip(axes, drawn.items(), strict=True):
                ax.plot(seen.series["times"], seen.series["windows"][0], label="window (segments)")
                ax.plot(seen.series["times"], seen.series["queue"], lw=0.8, label="waiting (packets)")
                ax.set_title(simulator, loc="left")
                ax.axvspan(0, seen.json["window_s"][0], color="#f2f2f2", lw=0)
            axes[0].legend(loc="upper right", ncol=2)
            axes[-1].set_xlabel("time (s); the shaded part is not measured")
            axes[-1].set_xlim(0, DRAWN_S)
        self.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.out / f"{name}.png", dpi=150)

    def explained(self, row: Row) -> Row:
        """With a reason where the two differ."""
        if row.agrees:
            return row
        return replace(row, why=self.reasons.find(row.peer, row.scenario, row.metric, row.point))

    def poisson_theory(self) -> Iterator[Row]:
        """The two Poisson users are M/D/1/25: 24 waiting, one in transmission."""
        (case,) = poisson()
        model = theory.Model("D", 1.75, 25)
        mine = intervals([between_two(Seen.of(record)) for record in ours(case.scenarios["ns-3"], self.our_seeds)])
        exact = {
            "throughput zero/one": 10 / 7.5,
            "mean queue (packets)": model.waiting,
            "utilisation": model.utilisation,
            "loss": model.loss,
        }
        for metric, value in exact.items():
            row = Row(case.name, {}, metric, THEORY, Interval.exact(value), mine[metric], case.of, source="M/D/1/25")
            yield self.explained(row)

    def queues(self) -> Iterator[Row]:
        """Single queues against their formulas."""
        for index, model in enumerate(theory.MODELS):
            say(model.name)
            # Arrival gaps come from streams that all scenarios share: seeds of their own keep the queues independent.
            seeds = [100 * index + seed for seed in self.our_seeds]
            for found in theory.compare(model, seeds, duration_s=2000):
                exact = Interval.exact(found.theory)
                of = ("poisson", "droptail")
                source = "Kleinrock 1975, Tijms 2003"
                yield self.explained(
                    Row(model.name, {}, found.metric, THEORY, exact, found.measured, of, source=source)
                )

    def laws(self) -> Iterator[Row]:
        """Windows against their formulas."""
        for family in laws.FAMILIES.values():
            yield from self.law_rows(family(1.0))

    def applications(self) -> Iterator[Row]:
        """Pings, and users who wait, against their formulas."""
        yield from self.law_rows(applications.all_laws())

    def conex_laws(self) -> Iterator[Row]:
        """What congestion policers let pass, and what short flows meet, against their formulas."""
        yield from self.law_rows(conex_laws.all_laws())

    def law_rows(self, found: Iterable[laws.Law]) -> Iterator[Row]:
        """A row for each law."""
        for law in found:
            point = {key: value for key, value in law.point.items() if value != ""}
            say(f"{law.name} {', '.join(map(str, point.values()))}: {law.metric}")
            yield self.explained(
                Row(
                    law.name,
                    point,
                    law.metric,
                    THEORY,
                    law.predicted.interval,
                    law.measured(self.our_seeds),
                    law.of,
                    source=law.source,
                    bracket=law.predicted,
                )
            )

    def aqm(self) -> Iterator[Row]:
        """CoDel, PIE, FQ-CoDel, SFQ and DRR: laws, ns-3's, ns-2's and a kernel's."""
        if THEORY in self.against:
            yield from self.law_rows(aqm.all_laws())
        for peer, seeds in self.peers:
            yield from self.compare(peer.name, self.aqm_points(peer, seeds))
        if "Linux" in self.against:
            yield from self.kernel_queues("aqm", list(linux_aqm.points()))

    def aqm_points(self, peer: Any, seeds: Sequence[int]) -> Iterator[Point]:
        """CoDel, PIE and FQ-CoDel for ns-3, DRR and SFQ for ns-2."""
        if peer.family == "ns-3":
            program = aqm.Ns3(self.ns3_tree)
            for it in aqm.simulated():

                def theirs(it: Any = it) -> list[Metrics]:
                    return [aqm.metrics(record) for record in program.runs(it.scenario, seeds, fresh=self.fresh)]

                yield Point(it.name, it.label, it.of, it.scenario, lambda record: aqm.metrics(record.json), theirs)
        else:
            for fair in aqm.fair():
                runs = functools.partial(fair.runs, peer, seeds, fresh=self.fresh)
                yield Point(f"datagrams-{fair.kind}", fair.label, (fair.kind,), fair.scenario, fair.ours, runs)


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def shown(interval: Interval) -> str:
    """Mean and 95 % interval; an exact value alone."""
    if interval.n == 0:
        if interval.lo == interval.hi:
            return number(interval.mean)
        return f"{number(interval.lo)} to {number(interval.hi)}"
    return f"{number(interval.mean)} [{number(interval.lo)}, {number(interval.hi)}]"


def grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def simulators_table(rows: Sequence[Row]) -> str:
    """Beside other simulators."""
    return grid(
        ["scenario", "metric", "against", "theirs", "ours", "difference", "verdict", "why"],
        [
            [
                named(row.scenario, row.point),
                row.metric,
                row.peer,
                shown(row.theirs),
                shown(row.ours),
                f"{row.difference:+.1%}",
                "agrees" if row.agrees else "**differs**",
                row.why,
            ]
            for row in rows
        ],
    )


def theory_table(rows: Sequence[Row]) -> str:
    """Beside formulas."""
    return grid(
        ["check", "metric", "predicted", "accepted", "measured", "ratio", "verdict", "source", "why"],
        [
            [
                named(row.scenario, row.point),
                row.metric,
                shown(row.theirs),
                "" if row.bracket is None else f"± {row.bracket.slack:.1%}",
                shown(row.ours),
                f"{row.difference + 1:.3f}",
                "agrees" if row.agrees else "**differs**",
                row.source,
                row.why,
            ]
            for row in rows
        ],
    )


def report(validation: Validation, rows: Sequence[Row]) -> str:
    """The whole Markdown document."""
    against = sorted({row.peer for row in rows})
    counts = [
        f"- {peer}: {sum(row.agrees for row in rows if row.peer == peer)} of "
        f"{sum(row.peer == peer for row in rows)} rows agree"
        for peer in against
    ]
    exact = [row for row in rows if row.peer == THEORY and row.bracket is None]
    if exact:
        inside = sum(row.ours.lo <= row.theirs.mean <= row.ours.hi for row in exact)
        counts.append(f"- queues: {inside} of {len(exact)} exact values lie inside our 95 % interval (chance: 95 %)")
    described = [f"- {name}: {text}" for name, text in validation.described.items()]
    skipped = [f"- {name} skipped: {reason}" for name, reason in validation.skipped.items()]
    parts = [
        "# Evenflow beside ns-3, ns-2 and theory",
        "Two results agree when their 95 % intervals over seeds overlap or their means are within 5 % (chunk times: "
        "means alone). Ratios are "
        "of the first group's user to the second's; the queue is the time average of waiting packets, the one in "
        f"transmission not counted. Ours: {len(validation.our_seeds)} seeds of engine {_core.ENGINE_ID[:16]}.",
        "\n".join(described + skipped) or "No other simulator ran.",
        "\n".join(counts),
    ]
    simulated = [row for row in rows if row.peer != THEORY]
    computed = [row for row in rows if row.peer == THEORY]
    if simulated:
        parts += ["## Other simulators", simulators_table(simulated)]
    if computed:
        parts += [
            "## Theory",
            "Where a tolerance is given it was fixed before the run (validation/laws.py says why); a range is what two "
            "published constants allow, and the ratio is to its middle.",
            theory_table(computed),
        ]
    return "\n\n".join(parts)


def document(validation: Validation, rows: Sequence[Row], parts: Sequence[str]) -> dict[str, Any]:
    """The same as data: what `evenflow describe` shows once tools/generate.py --record has shipped it."""
    return {
        "engine": _core.ENGINE_ID,
        "parts": list(parts),
        "whole": validation.recorded is None
        and set(parts) >= {part for part in PARTS if ALONE.get(part) not in ("Linux", PLAYERS, testbeds.PEER)}
        and set(validation.against) == set(AGAINST)
        and {"ns-2", "ns-3"} <= set(validation.described),
        "programs": validation.described,
        "skipped": validation.skipped,
        "rows": [
            {
                "of": list(row.of),
                "check": row.scenario,
                "point": dict(row.point),
                "against": row.peer,
                "metric": row.metric,
                "theirs": span(row.theirs),
                "ours": span(row.ours),
                "tolerance": row.bracket.slack if row.bracket is not None else CLOSE,
                **({"within": row.within} if row.within else {}),
                **({"judged": "means"} if row.means else {}),
                "verdict": "agrees" if row.agrees else "differs",
                "reason": " ".join(row.why.split()),
                "source": row.source,
                **({"program": row.program} if row.program else {}),
            }
            for row in rows
        ],
    }


def span(interval: Interval) -> dict[str, float | int | None]:
    """A mean with its interval, to six digits; what nothing can be said about is null."""
    ends = {key: getattr(interval, key) for key in ("mean", "lo", "hi")}
    rounded = {key: float(f"{end:.6g}") if math.isfinite(end) else None for key, end in ends.items()}
    return {**rounded, "n": interval.n}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="validate.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="these comparisons alone")
    parser.add_argument("--ns3-seeds", type=int, default=5, help="0 leaves ns-3 out; a run takes about 5 s")
    parser.add_argument("--ns2-seeds", type=int, default=10, help="0 leaves ns-2 out")
    parser.add_argument(
        "--ns3",
        type=Path,
        metavar="TREE",
        help="a built source tree or installation of ns-3 instead of the packaged one",
    )
    parser.add_argument("--sabre", type=Path, metavar="DIR", help="a clone of sabre, for the part players")
    parser.add_argument("--pensieve", type=Path, metavar="DIR", help="a clone of pensieve, for the part players")
    parser.add_argument("--against", nargs="+", choices=AGAINST, default=AGAINST, help="these alone")
    parser.add_argument("--fresh", action="store_true", help="do not use kept results of ns-2 and ns-3")
    parser.add_argument("--recorded", action="store_true", help="the other programs' values are those that ship")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "validation", help="folder of the table")
    arguments = parser.parse_args()
    recorded = evidence.shipped() if arguments.recorded else None
    if arguments.recorded and recorded is None:
        parser.error("--recorded: nothing is recorded; run make evidence")
    if arguments.recorded and (arguments.ns3 or arguments.sabre or arguments.pensieve or PLAYERS in arguments.part):
        parser.error("--recorded: not with --ns3, --sabre, --pensieve or the part players, which run other programs")
    asked = arguments.part or [part for part in PARTS if ALONE.get(part) in (None, *arguments.against)]
    chosen = [part for part in PARTS if part in asked]
    seeds = arguments.ns2_seeds, arguments.ns3_seeds
    validation = Validation(
        OUR_SEEDS,
        *seeds,
        arguments.fresh,
        arguments.out,
        arguments.ns3,
        arguments.against,
        () if arguments.recorded else (players.sabre(arguments.sabre), players.pensieve(arguments.pensieve)),
        recorded,
    )
    if arguments.ns3 is not None and (reason := peers.Ns3(arguments.ns3).missing()):
        sys.exit(f"validate.py: {reason}")
    rows: list[Row] = []
    for part in chosen:
        made = getattr(validation, part.replace("-", "_"), functools.partial(validation.simulators, part))
        rows += made()
    compared = {(row.scenario, row.peer) for row in rows}
    for check, point, peer in validation.recorded or ():
        if (check, peer) in compared and peer != THEORY and peer != testbeds.PEER:
            validation.skipped[f"{peer}, {check}: {point}"] = "recorded, but no longer compared"
    text = report(validation, rows)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "validation.md").write_text(text + "\n", encoding="utf-8")
    found = document(validation, rows, chosen)
    (arguments.out / "validation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(text)
    say(f"written: {arguments.out / 'validation.md'} and validation.json")


if __name__ == "__main__":
    main()
