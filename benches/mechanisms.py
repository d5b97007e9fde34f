"""`make bench`: the cost of a mechanism, measured by changing one thing of a base work.

The rows come from the engine's own register of mechanisms, so that one that is added later has its row. A row
changes settings as `evenflow run --set` does. A mechanism has its defaults. `SETTINGS` has required parameters, or
`FILLED` by their type.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evenflow as ef
from evenflow.mechanism import schema
from measuring import Spread, instructions_per_packet, say, table
from peers import ROOT

BASE = ROOT / "benches" / "works" / "base.toml"
SEED = 1

QUEUE = "links.bottleneck.queue"
TCP = "groups.all.tcp"
STAGE = "stages.meter"

FILLED: dict[str, Any] = {
    "rate": "11 Mbit/s",  # a ninth of the bottleneck: a user's share
    "bytes": "15 kB",
    "number": 0.001,
    "duration": "10 ms",
    "packets": "10 packets",
    "rate or packet rate": "11 Mbit/s",
    "packets or bytes": "30 kB",
    "list of names": ["be"],
    "duration per class": {"be": "10 ms"},
}
"""Values of required parameters, by type."""

PLAYER: dict[str, Any] = {
    "kind": "has",
    "ladder": ["2 Mbit/s", "5 Mbit/s", "11 Mbit/s", "20 Mbit/s"],
    "chunk": "0.5 s",
    "buffer": "4 s",
}
SETTINGS: list[dict[str, Any]] = [
    {
        "kind": "htb",
        "per": "user",
        "classes": {"root": {"rate": "100 Mbit/s"}},
        "each": {"parent": "root", "rate": "10 Mbit/s", "ceil": "100 Mbit/s"},
    },
    {"kind": "tbf", "rate": "95 Mbit/s"},
    {"kind": "bandwidth-manager", "rate": "100 Mbit/s", "controls": "bottleneck"},
    {"kind": "congestion-policer", "rate": "120 packets/s", "depth": "45 packets", "per": "user"},
    {"kind": "rewriter", "ecn": "not-ect"},
    {"kind": "shaper", "limit": "100 packets"},
    {"kind": "window-tuner", "rate": "100 Mbit/s"},
    PLAYER,
    {"kind": "ping", "interval": "1 ms"},
    {"kind": "short-flows", "interval": {"exponential": "11 ms"}},
    {"kind": "web", "objects": 8, "object_size": "15 kB"},
    {"kind": "youtube", "bitrate": "11 Mbit/s", "burst": "4 s"},
]
"""Tables of mechanisms that need more than `FILLED`, or would have nothing to do."""

LINKS: dict[str, dict[str, Any]] = {
    "jitter, in order": {"links.bottleneck.jitter": {"normal": "1 ms"}},
    "jitter, reordering": {"links.bottleneck.jitter": {"normal": "1 ms", "order": "reorder"}},
    "jitter, correlated": {"links.bottleneck.jitter": {"normal": "1 ms", "correlation": 0.5}},
    "loss": {"links.bottleneck.loss": {"probability": 0.001}},
    "loss in a window": {"links.bottleneck.loss": {"probability": 0.002, "from": "3 s", "until": "4 s"}},
    "loss in bursts": {"links.bottleneck.loss": {"probability": 0.001, "burst": 5}},
    "loss, retransmitted": {
        "links.bottleneck.loss": {"probability": 0.001, "retransmissions": 3, "retransmission_delay": "1 ms"}
    },
    "loss of every 1000th": {"links.bottleneck.loss": {"every": 1000}},
    "service in grants": {"links.bottleneck.serve": {"kind": "grants", "every": "1 ms"}},
    "rate in steps": {"links.bottleneck.rate": {"steps": [["0 s", "100 Mbit/s"], ["2 s", "95 Mbit/s"]]}},
    "rate in steps, new rate": {
        "links.bottleneck.rate": {"steps": [["0 s", "100 Mbit/s"], ["2 s", "95 Mbit/s"]]},
        "links.bottleneck.in_flight": "new-rate",
    },
}
"""Effects of a link in addition to queueing."""

ROOMS = ("congestion-control", "stack", "ecn", "queue", "scheduler", "stage", "link", "traffic", "adaptation")

# Two durations; their difference leaves out set-up, slow start and the repairs after it, which last until 2 s. From
# 2.5 s on half a second of the base, or two, cost the same a packet within 0.5 %.
CALLGRIND_DURATIONS_S = (2.5, 5.0)
CALLGRIND_DURATIONS_QUICK_S = (2.5, 3.5)
PAIRS, PAIRS_QUICK = 9, 3
DURATION_QUICK_S = 10.0


@dataclass(frozen=True)
class Swap:
    """One change of the base work: dotted paths with their values. `needs` is what has to come along, in words."""

    room: str
    name: str
    settings: Mapping[str, Any]
    needs: str = ""


@dataclass
class Cost:
    """The cost of a swap. `cpu_ratio` is CPU time per bottleneck packet divided by the base's, over pairs of runs.

    `instructions` are a bottleneck packet's, exact; None where they could not be counted. `loss` is drops by arrivals
    at the bottleneck, `utilisation` its busy share.
    """

    room: str
    name: str
    needs: str
    settings: dict[str, Any]
    instructions: float | None
    cpu_ratio: Spread
    events_per_packet: float
    loss: float
    utilisation: float


@dataclass
class Costs:
    """The base by itself (its `cpu_ratio` is that of the base beside itself) and a row for each swap."""

    pairs: int
    duration_s: float
    packets_per_cpu_s: float
    base: Cost
    rows: list[Cost] = field(default_factory=list)


# --- the rows ------------------------------------------------------------------------------------------------------


def base_scenario() -> ef.Scenario:
    return ef.load(BASE)


def _choices(kind: str) -> list[str]:
    """The words of a parameter's type "one of a, b, c"."""
    listed = kind.removeprefix("one of ")
    return listed.split(", ") if listed != kind else []


def _parameters(mechanism: Mapping[str, Any]) -> dict[str, Any]:
    """Those that a mechanism requires, and `action = "drop"` where it has the choice: the base's flows have no ECN."""
    own = next(({**one} for one in SETTINGS if one["kind"] == mechanism["kind"]), {})
    own.pop("kind", None)
    found: dict[str, Any] = {}
    for parameter in mechanism["params"]:
        name, (kind, _, _) = parameter["name"], parameter["type"].partition(", or { steps")
        if parameter["default"] == "required" and name not in own:
            words = _choices(kind)
            if not words and kind not in FILLED:
                raise ValueError(
                    f"{mechanism['kind']} requires {name} ({kind}), which mechanisms.py cannot fill in; "
                    "give it in SETTINGS, or its type in FILLED"
                )
            found[name] = words[0] if words else FILLED[kind]
        elif name == "action" and "drop" in _choices(kind):
            found[name] = "drop"
    return {**found, **own}


def _queue(base: ef.Scenario, **given: Any) -> dict[str, Any]:
    return {QUEUE: {**given, "limit": base.get(f"{QUEUE}.limit")}}


def _stage(base: ef.Scenario, given: Mapping[str, Any]) -> dict[str, Any]:
    """A stage of each user before the bottleneck."""
    *before, last = base.get("groups.all.path")
    return {STAGE: {**given, "per": "user"}, "groups.all.path": [*before, "meter", last]}


def _tunnel(base: ef.Scenario) -> dict[str, Any]:
    """A tunnel of GTP-U around the bottleneck, for each user."""
    *before, last = base.get("groups.all.path")
    ends = {
        "into": {"kind": "tunnel-ingress", "peer": "out", "overhead": "gtp-u-sequence"},
        "out": {"kind": "tunnel-egress"},
    }
    stages = {f"stages.{name}": {**end, "per": "user"} for name, end in ends.items()}
    return {**stages, "groups.all.path": [*before, "into", last, "out"]}


def _reports(base: ef.Scenario, mode: str = "police") -> dict[str, Any]:
    """The loop of reports around all links, for each user, without a tunnel."""
    ends = {
        "gateway": {"kind": "congestion-controller", "peer": "report", "mode": mode},
        "report": {"kind": "congestion-reporter", "every": "20 ms"},
    }
    stages = {f"stages.{name}": {**end, "per": "user"} for name, end in ends.items()}
    return {**stages, "groups.all.path": ["gateway", *base.get("groups.all.path"), "report"]}


def _refused(base: ef.Scenario, settings: Mapping[str, Any]) -> ef.ScenarioError | None:
    try:
        base.with_settings(settings).check()
    except ef.ScenarioError as error:
        return error
    return None


def _control(base: ef.Scenario, given: dict[str, Any], feedbacks: Sequence[str]) -> Swap:
    """A control; with the first feedback that it accepts, where it refuses the base's."""
    name = given["kind"]
    settings = {f"{TCP}.congestion_control": given if len(given) > 1 else name}
    if _refused(base, settings) is not None:
        for feedback in feedbacks:
            further = {**settings, f"{TCP}.ecn": feedback}
            if _refused(base, further) is None:
                return Swap("congestion-control", name, further, f"ecn = {feedback}")
    return Swap("congestion-control", name, settings)


def swaps(register: Mapping[str, Any] | None = None) -> list[Swap]:
    """A row for everything in the register (the engine's, if not told otherwise) that is not in the base already.

    Raises:
        ValueError: a mechanism requires a parameter of a type that is not known here.
    """
    register = schema() if register is None else register
    base = base_scenario()
    tables: dict[str, dict[str, Any]] = {}
    for mechanism in register["mechanisms"]:
        tables.setdefault(mechanism["room"], {})[mechanism["kind"]] = mechanism

    def others(room: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The mechanisms of a room but the base's, with what they are given."""
        for kind, mechanism in tables.get(room, {}).items():
            if kind != (base.get(path) if path else None):
                yield kind, {"kind": kind, **_parameters(mechanism)}

    [ecn] = [p for p in tables["stack"]["tcp"]["params"] if p["name"] == "ecn"]
    feedbacks = [word for word in _choices(ecn["type"]) if word != "off"]
    found = [_control(base, given, feedbacks) for _, given in others("congestion-control", f"{TCP}.congestion_control")]
    profiles = [profile["name"] for profile in register["profiles"]]
    found += [Swap("stack", n, {f"{TCP}.stack": n}) for n in profiles if n != base.get(f"{TCP}.stack")]
    reports = {f"{TCP}.conex": {"report": "loss", "unit": "packets", "credit": "first-and-third"}}
    for word in feedbacks:
        further, beside = (reports, "conex") if word.startswith("re-ecn") else ({}, "")
        if word == "gateway":
            further, beside = _reports(base, "split"), "a gateway and its reports"
        found.append(Swap("ecn", word, {f"{TCP}.ecn": word, **further}, beside))
    for kind, given in others("queue", f"{QUEUE}.kind"):
        # a queue that reads labels has a stage that writes them, as in its example
        stages = tomllib.loads(tables["queue"][kind].get("example", "")).get("stages", {}).values()
        beside = next((stage["kind"] for stage in stages), "")
        stage = _stage(base, {"kind": beside}) if beside else {}
        found.append(Swap("queue", kind, {**_queue(base, **given), **stage}, beside))
    for kind, given in others("scheduler", ""):
        if "default" not in tables["scheduler"][kind].get("traits", ()):
            found.append(Swap("scheduler", kind, _queue(base, kind="droptail", scheduler=given)))
    for kind, given in others("stage", ""):
        if tables["stage"][kind].get("peers"):
            made = _tunnel(base) if tables["stage"][kind]["mouth"] else _reports(base)
            found.append(Swap("stage", kind, made, "both ends"))
            continue
        stage = _stage(base, given)
        if "controls" not in given:
            found.append(Swap("stage", kind, stage))
            continue
        tree = next(one for one in SETTINGS if "tree" in tables["scheduler"].get(one["kind"], {}).get("traits", ()))
        shared = {key: value for key, value in stage[STAGE].items() if key != "per"}
        found.append(
            Swap("stage", kind, {**stage, STAGE: shared, **_queue(base, kind="droptail", scheduler=tree)}, tree["kind"])
        )
    found += [Swap("link", name, settings) for name, settings in LINKS.items()]
    for kind, given in others("traffic", "groups.all.traffic.kind"):
        takes = {parameter["name"] for parameter in tables["traffic"][kind]["params"]}
        found.append(_traffic(base, given, takes))
    player = {**PLAYER, "buffer": "6 s", "start": base.get("groups.all.traffic.start")}
    for kind, _ in others("adaptation", ""):
        found.append(Swap("adaptation", kind, {"groups.all.traffic": {**player, "adaptation": kind}}, PLAYER["kind"]))
    return found


def _traffic(base: ef.Scenario, given: dict[str, Any], takes: set[str]) -> Swap:
    """Other traffic, with what it shares with the base's; datagrams have no TCP."""
    kept = {key: value for key, value in base.get("groups.all.traffic").items() if key in takes}
    settings = {"groups.all.traffic": {**kept, **given}}
    if _refused(base, settings) is not None:
        group = {key: value for key, value in base.get("groups.all").items() if key != "tcp"}
        settings = {"groups.all": {**group, "traffic": settings["groups.all.traffic"]}}
    return Swap("traffic", given["kind"], settings)


def chosen(found: Sequence[Swap], names: Sequence[str]) -> list[Swap]:
    """The swaps called so, or of rooms called so; all for no names.

    Raises:
        ValueError: nothing is called so.
    """
    known = {swap.name for swap in found} | {swap.room for swap in found}
    for name in names:
        if name not in known:
            raise ValueError(f"no row is called {name!r}; there are {', '.join(sorted(known))}")
    return [swap for swap in found if not names or swap.name in names or swap.room in names]


def toml(tree: Mapping[str, Any]) -> str:
    """A scenario's tree as TOML, one line for each top-level key. (Python's own library only reads it.)"""
    return "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in tree.items())


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


# --- measuring -----------------------------------------------------------------------------------------------------

Run = Callable[[ef.Scenario], Mapping[str, Any]]
"""A scenario to its record, CPU seconds included."""


def run(scenario: ef.Scenario) -> Mapping[str, Any]:
    return scenario.run(SEED).json


def _per_packet(record: Mapping[str, Any], link: str) -> float:
    return float(record["cpu_s"] / record["links"][link]["delivered_packets"])


def _cost(swap: Swap, ratios: Sequence[float], record: Mapping[str, Any], instructions: float | None) -> Cost:
    link = record["links"]["bottleneck"]
    return Cost(
        room=swap.room,
        name=swap.name,
        needs=swap.needs,
        settings=dict(swap.settings),
        instructions=instructions,
        cpu_ratio=Spread.of(ratios),
        events_per_packet=record["events"] / link["delivered_packets"],
        loss=sum(link["drops"].values()) / link["arrived_packets"],
        utilisation=link["utilisation"],
    )


def pairs_of(
    base: ef.Scenario, other: ef.Scenario, pairs: int, run: Run, link: str = "bottleneck"
) -> tuple[list[float], list[float], Any]:
    """Runs in turn, each pair beginning with the other one: ratios of CPU a packet, the base's, the other's record."""
    ratios, own = [], []
    record: Mapping[str, Any] = {}
    for pair in range(pairs):
        first, second = (base, other) if pair % 2 == 0 else (other, base)
        records = run(first), run(second)
        reference, record = records if pair % 2 == 0 else (records[1], records[0])
        own.append(_per_packet(reference, link))
        ratios.append(_per_packet(record, link) / own[-1])
    return ratios, own, record


def count_instructions(
    binary: Path, trees: Sequence[ef.Scenario], durations_s: tuple[float, float], link: str = "bottleneck"
) -> list[float]:
    """Instructions a packet of each scenario. They are exact, so that several may be counted at once."""
    with tempfile.TemporaryDirectory() as folder:

        def count(job: tuple[int, ef.Scenario]) -> float:
            path = Path(folder) / f"{job[0]}.toml"
            path.write_text(toml(job[1].tree), encoding="utf-8")
            return instructions_per_packet(binary, path, durations_s, SEED, link)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(count, enumerate(trees)))


def costs(found: Sequence[Swap], binary: Path | None, quick: bool, run: Run = run) -> Costs:
    """The base and every swap: pairs of timed runs, then instructions where there is a `binary` to count them."""
    base = base_scenario()
    if quick:
        base = base.set("duration", f"{DURATION_QUICK_S:g} s")
    pairs = PAIRS_QUICK if quick else PAIRS
    all_swaps = [Swap("base", "NewReno, drop-tail", {}), *found]
    scenarios = [base.with_settings(swap.settings) for swap in all_swaps]
    counts: list[float | None] = [None] * len(scenarios)
    if binary is not None:
        say("counting instructions ...")
        durations = CALLGRIND_DURATIONS_QUICK_S if quick else CALLGRIND_DURATIONS_S
        counts = list(count_instructions(binary, scenarios, durations))
    rows, speeds = [], []
    for swap, scenario, count in zip(all_swaps, scenarios, counts, strict=True):
        ratios, own, record = pairs_of(base, scenario, pairs, run)
        speeds += own
        rows.append(_cost(swap, ratios, record, count))
        say(f"  {swap.room} {swap.name}: {rows[-1].cpu_ratio.median:.2f}")
    duration_s = base.core.duration_s
    return Costs(pairs, duration_s, 1 / statistics.median(speeds), rows[0], rows[1:])


# --- the table -----------------------------------------------------------------------------------------------------


def cost_table(result: Costs) -> str:
    """A row for the base and for each swap, in Markdown."""
    header = [
        "",
        "change",
        "instructions per packet",
        "above base",
        "CPU a packet by the base's (min / median / max)",
        "events per packet",
        "loss",
        "utilisation",
    ]
    base = result.base.instructions
    lines = []
    for row in (result.base, *result.rows):
        count, more = "–", "–"
        if row.instructions is not None and base is not None:
            count, more = (
                f"{row.instructions:.0f}",
                f"{row.instructions - base:+.0f} ({row.instructions / base - 1:+.1%})",
            )
        lines.append(
            [
                row.room,
                row.name + (f" (with {row.needs})" if row.needs else ""),
                count,
                more if row is not result.base else "",
                row.cpu_ratio.text(),
                f"{row.events_per_packet:.2f}",
                f"{row.loss:.2%}",
                f"{row.utilisation:.1%}",
            ]
        )
    return table(header, lines)


def section(result: Costs) -> list[str]:
    """The report's part: paragraphs of Markdown."""
    return [
        "## Cost of a mechanism",
        "Base: benches/works/base.toml (45 NewReno flows of nine users, profile rfc, 100 Mbit/s, drop-tail). Each row "
        "changes one setting; a mechanism has its defaults. CPU time is that of the event loop, in "
        f"{result.pairs} pairs of runs of {result.duration_s:g} s. A packet of the base took "
        f"{1e9 / result.packets_per_cpu_s:.0f} ns (median). The row *base* shows the error of a ratio. "
        "A row includes the effect on the flows: more losses cause more retransmissions.",
        cost_table(result),
    ]
