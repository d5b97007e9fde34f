"""One figure for each mechanism of the site's reference, with the scenario that made it.

`make docs` calls `figures`. The scenarios are those of `make bench` (benches/mechanisms.py), with fewer flows or a
shorter run. Figures are kept in out/mechanism-figures until the engine or this file changes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import evenflow as ef
import numpy as np
from evenflow import __version__, _core
from evenflow.show import names, plots
from evenflow.show.drawing import draw
from evenflow.show.names import Quantity
from evenflow.show.picture import Line, Panel, Picture

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "out" / "mechanism-figures"
sys.path.insert(0, str(ROOT / "benches"))
import mechanisms  # noqa: E402

QUEUE, RATE = "links.bottleneck.queue", "links.bottleneck.rate"
BACKLOG, FLOW, LEVELS = f"{QUEUE}.packets", "groups.all.users[0].flows[0]", "levels"
SEED = 1


@dataclass(frozen=True)
class Figure:
    """A figure, its caption, and its scenario as TOML."""

    svg: str
    caption: str
    scenario: str


@dataclass(frozen=True)
class Plan:
    """A scenario and the panels drawn of it: {legend: (scenario, series)}. Without a legend the line has no name."""

    caption: str
    scenario: ef.Scenario
    panels: Sequence[Mapping[str, tuple[ef.Scenario, str]]]


OBSERVED = {
    "activity-aqm": "threshold",
    "cake": "active_queues",
    "cobalt": "sojourn",
    "codel": "sojourn",
    "csfq": "alpha",
    "fq": "active_queues",
    "fq-codel": "active_queues",
    "fq-pie": "probability",
    "load-based": "probability",
    "pie": "probability",
    "red": "probability",
    "rem": "price",
    "virtual-queue": "virtual_length",
    "activity-meter": "activity",
    "auditor": "balance",
    "bandwidth-manager": "assigned",
    "congestion-controller": "congestion_volume",
    "congestion-meter": "congestion_volume",
    "congestion-policer": "tokens",
    "congestion-reporter": "marked",
    "csfq-edge": "label",
    "fair-activity-meter": "activity",
    "policer": "red",
    "rate-meter": "rate",
    "rewriter": "rewritten",
    "shaper": "packets",
    "tunnel-egress": "marks",
    "tunnel-ingress": "wrapped",
    "window-tuner": "target_window",
}
"""The observable in the lower panel."""
MARKED = {f"{QUEUE}.kind": "red", f"{QUEUE}.action": "mark", "groups.all.tcp.ecn": "accurate"}
CONEX = {"groups.all.tcp.conex": {"report": "loss-and-ecn", "unit": "packets", "credit": "first-and-third"}}
MARKERS = {
    "dctcp": {"kind": "codel", "ce_threshold": "3 ms"},
    "prague": {"kind": "codel", "ce_threshold": "1 ms"},
    "wtp": {"kind": "virtual-queue"},
}
"""Queues of controls that react to marks."""
NEEDS = {
    "auditor": MARKED | CONEX,
    "rewriter": MARKED,
    "congestion-policer": MARKED | CONEX,
    "congestion-meter": MARKED | {"groups.all.tcp.ecn": "re-ecn"} | CONEX,
    **dict.fromkeys(("congestion-controller", "congestion-reporter", "tunnel-egress", "tunnel-ingress"), MARKED),
}
"""Settings without which a stage has nothing to do: senders and queues with congestion marks."""


def base(**settings: Any) -> ef.Scenario:
    """The base work of `make bench` for ten seconds."""
    return mechanisms.base_scenario().with_settings({"duration": "10 s", "warmup": "0 s", **settings})


def flow(**settings: Any) -> ef.Scenario:
    """One flow of one user on 20 Mbit/s, with a buffer of one bandwidth-delay product."""
    given = {RATE: "20 Mbit/s", f"{QUEUE}.limit": "67 packets", "groups.all.users": 1, "groups.all.traffic.flows": 1}
    return base(**given, **settings)


def control(swap: mechanisms.Swap) -> Plan:
    one, queue = flow(duration="30 s").with_settings(swap.settings), "drop-tail"
    if rule := MARKERS.get(swap.name):
        one, queue = (
            one.with_settings({f"{QUEUE}.{key}": value for key, value in rule.items()}),
            f"{rule['kind']} that marks",
        )
    words = f"One flow on 20 Mbit/s, round trip 40 ms, {queue} with 67 packets (one bandwidth-delay product)."
    return Plan(words, one, [{"": (one, f"{FLOW}.window")}, {"": (one, BACKLOG)}])


def queue(swap: mechanisms.Swap) -> Plan:
    made, plain = base(**swap.settings), base()
    panels = [{swap.name: (made, BACKLOG), "droptail": (plain, BACKLOG)}]
    if swap.name == "droptail":
        panels = [{"": (plain, BACKLOG)}]
    if seen := OBSERVED.get(swap.name):
        panels.append({"": (made, f"{QUEUE}.{seen}")})
    return Plan("45 NewReno flows of nine users on 100 Mbit/s, round trip 40 ms, limit 333 packets.", made, panels)


def scheduler(swap: mechanisms.Swap) -> Plan:
    """A user with eight flows and a user with one, compared with FIFO."""
    light = {**base().get("groups.all"), "users": 1, "class": "light"}
    light["traffic"] = {**light["traffic"], "flows": 1}
    fifo = base(**{"groups.all.users": 1, "groups.all.traffic.flows": 8, "groups.light": light})
    rule = swap.settings.get(QUEUE, {}).get("scheduler", {"kind": "fifo"})
    rule |= {"strict": {"order": ["light", "be"]}, "medf": {"offsets": {"light": "0 ms", "be": "30 ms"}}}.get(
        swap.name, {}
    )
    made = fifo.with_settings({**swap.settings, f"{QUEUE}.scheduler": rule}) if swap.name != "fifo" else fifo
    lines = {"user with 8 flows": "all", "user with 1 flow": "light"}
    panels = [
        {
            f"{words}, {name}": (one, f"groups.{group}.users[0].flows[*].received_bytes")
            for words, group in lines.items()
        }
        for name, one in {swap.name: made, "fifo": fifo}.items()
    ]
    return Plan("Two users with NewReno flows on 100 Mbit/s, round trip 40 ms.", made, panels[: 2 - (made is fifo)])


def stage(swap: mechanisms.Swap) -> Plan:
    """Throughput with and without the stage, and the state of the stage."""
    needed = NEEDS.get(swap.name, {})
    plain = base(**{"groups.all.users": 2}).with_settings(needed)
    made = plain.with_settings(swap.settings).with_settings(needed)
    if swap.name == "auditor":  # it has to see the marks
        made = made.set("groups.all.path", ["access", "bottleneck", "meter"])
    [place] = [
        path for path, table in swap.settings.items() if path.startswith("stages.") and table["kind"] == swap.name
    ]
    copy = "[0]" if swap.settings[place].get("per") else ""
    rate = "groups.all.users[0].flows[*].received_bytes"
    if swap.name == "window-tuner":  # its flows open when they have data
        rate = "links.bottleneck.delivered_bytes"
    panels = [
        {f"with {swap.name}": (made, rate), "without": (plain, rate)},
        {"": (made, f"{place}{copy}.{OBSERVED[swap.name]}")},
    ]
    marks = " RED marks packets, and the senders react to marks." if needed else ""
    return Plan(f"One of two users with five NewReno flows each on 100 Mbit/s, round trip 40 ms.{marks}", made, panels)


def traffic(swap: mechanisms.Swap) -> Plan:
    one = base(**{"groups.all.users": 1, "duration": "20 s"}).with_settings(swap.settings)
    return Plan(
        "One user alone on 100 Mbit/s, round trip 40 ms.", one, [{"": (one, "links.bottleneck.delivered_bytes")}]
    )


def adaptation(swap: mechanisms.Swap) -> Plan:
    """A video player on a link whose rate falls for a minute."""
    steps = {"steps": [["0 s", "4 Mbit/s"], ["60 s", "1 Mbit/s"], ["120 s", "4 Mbit/s"]]}
    settings = {"groups.all.users": 1, "duration": "180 s", RATE: steps, f"{QUEUE}.limit": "20 packets"}
    player = {"groups.all.traffic.ladder": ["400 kbit/s", "800 kbit/s", "1.5 Mbit/s", "3 Mbit/s"]}
    player |= {"groups.all.traffic.buffer": "30 s", "groups.all.traffic.steady": "room"}
    one = base(**settings).with_settings(swap.settings).with_settings(player)
    words = "One player on 4, 1 and 4 Mbit/s. Levels 0 to 3 have 0.4, 0.8, 1.5 and 3 Mbit/s; the buffer holds 30 s."
    return Plan(words, one, [{"": (one, "links.bottleneck.delivered_bytes")}, {"": (one, LEVELS)}])


PLANS: dict[str, Callable[[mechanisms.Swap], Plan]] = {
    "congestion-control": control,
    "queue": queue,
    "scheduler": scheduler,
    "stage": stage,
    "traffic": traffic,
    "adaptation": adaptation,
}
BASES = {"congestion-control": "newreno", "queue": "droptail", "scheduler": "fifo", "traffic": "bulk"}
"""Kinds that the base has."""


def figures() -> dict[tuple[str, str], Figure]:
    """The figures by room and kind."""
    key = hashlib.sha256(f"{_core.ENGINE_ID} {__version__}".encode() + Path(__file__).read_bytes()).hexdigest()[:16]
    kept = KEPT / f"{key}.json"
    if kept.exists():
        return {tuple(name.split()): Figure(*one) for name, one in json.loads(kept.read_text("utf-8")).items()}
    swaps = [swap for swap in mechanisms.swaps() if swap.room in PLANS]
    swaps += [mechanisms.Swap(room, kind, {}) for room, kind in BASES.items()]
    found = {(swap.room, swap.name): drawn(PLANS[swap.room](swap)) for swap in swaps}
    KEPT.mkdir(parents=True, exist_ok=True)
    document = {f"{room} {kind}": [one.svg, one.caption, one.scenario] for (room, kind), one in found.items()}
    kept.write_text(json.dumps(document), encoding="utf-8")
    return found


def drawn(plan: Plan) -> Figure:
    """Run a plan and draw it."""
    wanted: dict[int, tuple[ef.Scenario, list[str]]] = {}
    for scenario, series in (line for panel in plan.panels for line in panel.values()):
        wanted.setdefault(id(scenario), (scenario, []))[1].append(series)
    records = {
        key: scenario.set(
            "record.series",
            [
                {"of": of, "every": "200 ms" if of.endswith("_bytes") else "20 ms"}
                for of in dict.fromkeys(series)
                if of != LEVELS
            ],
        ).run(seed=SEED)
        for key, (scenario, series) in wanted.items()
    }
    panels = [
        panel({words: (records[id(scenario)], series) for words, (scenario, series) in lines.items()})
        for lines in plan.panels
    ]
    picture = Picture("timeline", panels, 1, own_legends=True, size=(6.4, 1.9 * len(panels) + 0.5))
    scenario = "\n".join(f"{line}" for line in mechanisms.toml(plan.scenario.tree).splitlines())
    return Figure(plots.svg(draw(picture)), plan.caption, scenario)


def panel(lines: Mapping[str, tuple[ef.Record, str]]) -> Panel:
    """Lines of one quantity over time. Flows of a user are summed."""
    found = {words: values(record, series) for words, (record, series) in lines.items()}
    series = next(series for _, series in lines.values())
    title = Quantity("video level", "") if series == LEVELS else names.series(series.replace("[*]", "[0]")).quantity
    title = title.fitted([float(np.nanmax(y)) for _, y in found.values() if np.isfinite(y).any()])
    made = []
    for number, (words, (x, y)) in enumerate(found.items()):
        nothing = np.full(len(x), np.nan)
        made.append(
            Line(
                words,
                x,
                y * title.factor,
                nothing,
                nothing,
                np.ones(len(x), dtype=np.int64),
                colour=number,
                dash=number,
            )
        )
    return Panel(Quantity("time", "s", "s"), title, made)


def values(record: ef.Record, series: str) -> tuple[Any, Any]:
    """Times and values: counters of bytes as rates, levels as steps."""
    if series == LEVELS:
        changes = np.array(record.json["groups"]["all"]["video"]["users_levels_received"][0], dtype=float).reshape(
            -1, 2
        )
        end = float(record.json["window_s"][1])
        return np.repeat(np.append(changes[:, 0], end), 2)[1:-1], np.repeat(changes[:, 1], 2)
    members = [name for name in record.series_names if fnmatch(name.replace("[", "("), series.replace("[", "("))]
    found = [record.arrays(name) for name in members]
    total = np.sum([y for _, y in found], axis=0)
    return found[0][0], total * 8 / 0.2 if series.endswith("_bytes") else total
