"""`make validate`: Evenflow beside ns-3, ns-2 and queueing theory, every difference with its reason.

One table: scenario, metric, theirs, ours, verdict. Two results agree when their 95 % intervals over seeds overlap or
their means are within 5 %. A difference is explained from differences.toml or is called unknown; none is left blank.
Results of ns-2 and ns-3 are kept under out/comparators, keyed by program and arguments, so a second call is quick.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))

import linux  # noqa: E402
import peers  # noqa: E402
import theory  # noqa: E402
from evenflow import Scenario  # noqa: E402
from evenflow.stats import Interval, mean_interval  # noqa: E402

FLOWS = (1, 2, 4, 8, 16, 32)
DELAYS = ("5 ms", "50 ms")
CLOSE = 0.05
OUR_SEEDS = range(1, 11)
UNKNOWN = "unknown: not yet looked into"

Metrics = Mapping[str, float]
Label = Mapping[str, str | int]


@dataclass(frozen=True)
class Row:
    """One metric at one point: theirs (a peer's interval, or an exact value of no width) beside ours."""

    scenario: str
    point: Label
    metric: str
    peer: str
    theirs: Interval
    ours: Interval
    why: str

    @property
    def difference(self) -> float:
        """Ours relative to theirs."""
        if self.theirs.mean == 0:
            return 0.0 if self.ours.mean == 0 else math.inf
        return self.ours.mean / self.theirs.mean - 1

    @property
    def agrees(self) -> bool:
        """Intervals overlap, or means within 5 %."""
        overlap = self.theirs.lo <= self.ours.hi and self.ours.lo <= self.theirs.hi
        return overlap or abs(self.difference) <= CLOSE


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def metrics_of(record: Mapping[str, Any], pair: Sequence[str], *, frames: bool) -> dict[str, float]:
    """The compared metrics of anybody's record.

    Args:
        record: with the fields of `evenflow run --json`.
        pair: two groups, whose users' rates are divided.
        frames: the record counts whole packets by user (ns-2's does not).
    """
    first, second = (record["groups"][name] for name in pair)
    ratio = "/".join(pair)
    link = record["links"]["bottleneck"]
    drops = link["dropped_packets"] if "dropped_packets" in link else sum(link["drops"].values())
    found: dict[str, float] = {}
    for rate in ("throughput", "goodput") if frames else ("goodput",):
        over, under = first[f"{rate}_bps"], second[f"{rate}_bps"]
        found[f"{rate} {ratio}"] = over / under if under else math.inf
    found["mean queue (packets)"] = link["queue_packets_mean"]
    found["utilisation"] = link["utilisation"]
    found["loss"] = drops / link["arrived_packets"]
    return found


def intervals(records: Sequence[Metrics]) -> dict[str, Interval]:
    """Mean and 95 % interval of each metric over seeds."""
    return {name: mean_interval([record[name] for record in records]) for name in records[0]}


def ours(scenario: Scenario, seeds: Sequence[int]) -> list[Mapping[str, Any]]:
    """Our records, in seed order, two threads at most: the machine may be shared."""
    scenario.check()
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        return [record.json for record in pool.map(scenario.run, seeds)]


class Reasons:
    """differences.toml: known reasons by peer, scenario, metric and point; the first entry that fits is quoted."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._entries: list[dict[str, Any]] = tomllib.load(file).get("difference", [])

    def find(self, peer: str, scenario: str, metric: str, point: Label) -> str:
        """The reason, or that it is unknown."""
        for entry in self._entries:
            if entry["peer"] != peer or entry["scenario"] != scenario or not metric.startswith(tuple(entry["metrics"])):
                continue
            if all(point.get(key) in allowed for key, allowed in entry.get("where", {}).items()):
                return f"{entry['whose']}: {entry['why']}"
        return UNKNOWN


class Validation:
    """All comparisons, in the order of the table."""

    def __init__(self, our_seeds: Sequence[int], ns2_seeds: int, ns3_seeds: int, fresh: bool) -> None:
        self.our_seeds = our_seeds
        self.fresh = fresh
        self.reasons = Reasons(ROOT / "validation" / "differences.toml")
        self.skipped: dict[str, str] = {}
        self.described: dict[str, str] = {}
        self.peers: list[tuple[peers.Ns2 | peers.Ns3, Sequence[int]]] = []
        wanted: list[tuple[peers.Ns2 | peers.Ns3, int]] = [(peers.Ns3(), ns3_seeds), (peers.Ns2(), ns2_seeds)]
        for peer, seeds in wanted:
            reason = peer.missing() if seeds > 0 else "not asked for"
            if reason is None:
                self.peers.append((peer, range(1, seeds + 1)))
                self.described[peer.name] = f"{peer.describe()}; {seeds} seeds"
            else:
                self.skipped[peer.name] = reason

    def point(self, name: str, scenario: Scenario, label: Label) -> Iterator[Row]:
        """One scenario on every simulator."""
        say(f"{name} {dict(label) or ''}")
        records = ours(scenario, self.our_seeds)
        dumbbell = peers.Dumbbell.from_tree(scenario.tree)
        pair = [group.name for group in dumbbell.groups]
        for peer, seeds in self.peers:
            frames = peer.name != "ns-2"
            mine = intervals([metrics_of(record, pair, frames=frames) for record in records])
            found = [peers.remembered(peer, dumbbell, seed, fresh=self.fresh) for seed in seeds]
            for metric, theirs in intervals([metrics_of(record, pair, frames=frames) for record in found]).items():
                yield self.row(name, label, metric, peer.name, theirs, mine[metric])

    def linux(self) -> Iterator[Row]:
        """The profile `linux` beside the TCP of the kernel this runs on."""
        kernel = linux.Linux()
        if (reason := kernel.missing()) is not None:
            self.skipped[kernel.name] = reason
            return
        self.described[kernel.name] = kernel.describe()
        for name, label, scenario in linux.points():
            say(f"{name} {label}")
            dumbbell = linux.Dumbbell.from_scenario(scenario)
            try:
                found = kernel.metrics(dumbbell, fresh=self.fresh)
            except linux.InvalidError as error:
                self.skipped[f"{kernel.name}: {name} {label}"] = str(error)
                continue
            scenario.check()
            mine = intervals([linux.metrics_of_ours(scenario.run(seed), dumbbell) for seed in self.our_seeds])
            for metric, theirs in intervals(found).items():
                yield self.row(name, label, metric, kernel.name, theirs, mine[metric])

    def row(self, scenario: str, label: Label, metric: str, peer: str, theirs: Interval, mine: Interval) -> Row:
        """The row, with a reason where the two differ."""
        plain = Row(scenario, label, metric, peer, theirs, mine, "")
        if plain.agrees:
            return plain
        return Row(scenario, label, metric, peer, theirs, mine, self.reasons.find(peer, scenario, metric, label))

    def newreno(self) -> Iterator[Row]:
        """1 to 32 NewReno flows of one user against one flow of another, two round-trip times."""
        base = Scenario.load(ROOT / "examples" / "scenarios" / "newreno-droptail.toml")
        for delay in DELAYS:
            for flows in FLOWS:
                scenario = base.set("links.bottleneck.delay", delay).set("groups.heavy.traffic.flows", flows)
                yield from self.point("newreno-droptail", scenario, {"delay": delay, "flows": flows})

    def poisson(self) -> Iterator[Row]:
        """Two Poisson users, 175 % of the link: both simulators and M/D/1/25 (24 waiting, one in transmission)."""
        scenario = Scenario.load(ROOT / "examples" / "scenarios" / "poisson-droptail.toml")
        yield from self.point("poisson-droptail", scenario, {})
        model = theory.Model("D", 1.75, 25)
        records = ours(scenario, self.our_seeds)
        mine = intervals([metrics_of(record, ("zero", "one"), frames=True) for record in records])
        exact = {
            "throughput zero/one": 10 / 7.5,
            "mean queue (packets)": model.waiting,
            "utilisation": model.utilisation,
            "loss": model.loss,
        }
        for metric, value in exact.items():
            yield self.row("poisson-droptail", {}, metric, "M/D/1/25", Interval.exact(value), mine[metric])

    def theory(self) -> Iterator[Row]:
        """Single queues against their formulas."""
        for index, model in enumerate(theory.MODELS):
            say(model.name)
            # Arrival gaps come from streams that all scenarios share: seeds of their own keep the queues independent.
            seeds = [100 * index + seed for seed in self.our_seeds]
            for row in theory.compare(model, seeds, duration_s=2000):
                exact = Interval.exact(row.theory)
                yield self.row(model.name, {}, row.metric, "theory", exact, row.measured)


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def shown(interval: Interval) -> str:
    """Mean and 95 % interval; an exact value alone."""
    if interval.n == 0:
        return number(interval.mean)
    return f"{number(interval.mean)} [{number(interval.lo)}, {number(interval.hi)}]"


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    lines = ["| scenario | metric | against | theirs | ours | difference | verdict | why |", "|" + "---|" * 8]
    for row in rows:
        label = ", ".join(f"{key} {value}" for key, value in row.point.items())
        verdict = "agrees" if row.agrees else "**differs**"
        cells = [
            f"{row.scenario}{': ' if label else ''}{label}",
            row.metric,
            row.peer,
            shown(row.theirs),
            shown(row.ours),
            f"{row.difference:+.1%}",
            verdict,
            row.why,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(validation: Validation, rows: Sequence[Row]) -> str:
    """The whole Markdown document."""
    against = sorted({row.peer for row in rows})
    counts = [
        f"- {peer}: {sum(row.agrees for row in rows if row.peer == peer)} of "
        f"{sum(row.peer == peer for row in rows)} rows agree"
        for peer in against
    ]
    exact = [row for row in rows if row.peer == "theory"]
    if exact:
        inside = sum(row.ours.lo <= row.theirs.mean <= row.ours.hi for row in exact)
        counts.append(f"- theory: {inside} of {len(exact)} exact values lie inside our 95 % interval (chance: 95 %)")
    described = [f"- {name}: {text}" for name, text in validation.described.items()]
    skipped = [f"- {name} skipped: {reason}" for name, reason in validation.skipped.items()]
    return "\n\n".join(
        [
            "# Evenflow beside ns-3, ns-2 and queueing theory",
            "Two results agree when their 95 % intervals over seeds overlap or their means are within 5 %. Ratios are "
            "of the first group's user to the second's; the queue is the time average of waiting packets, the one in "
            f"transmission not counted. Ours: {len(validation.our_seeds)} seeds.",
            "\n".join(described + skipped) or "No other simulator ran.",
            "\n".join(counts),
            markdown(rows),
        ]
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="validate.py", description=(__doc__ or "").split("\n\n")[0])
    parts = ("newreno", "poisson", "theory", "linux")
    parser.add_argument("part", nargs="*", choices=[*parts, []], help="these comparisons alone")
    parser.add_argument("--ns3-seeds", type=int, default=5, help="0 leaves ns-3 out; a run takes about 4 s")
    parser.add_argument("--ns2-seeds", type=int, default=10, help="0 leaves ns-2 out")
    parser.add_argument("--fresh", action="store_true", help="do not use kept results of ns-2 and ns-3")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "validation", help="folder of the table")
    arguments = parser.parse_args()
    validation = Validation(OUR_SEEDS, arguments.ns2_seeds, arguments.ns3_seeds, arguments.fresh)
    chosen: list[Callable[[], Iterator[Row]]] = [
        getattr(validation, part) for part in parts if part in (arguments.part or parts)
    ]
    rows = [row for comparison in chosen for row in comparison()]
    text = report(validation, rows)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "validation.md").write_text(text + "\n", encoding="utf-8")
    decoded = [asdict(row) | {"agrees": row.agrees, "difference": row.difference} for row in rows]
    (arguments.out / "validation.json").write_text(json.dumps(decoded, indent=1) + "\n", encoding="utf-8")
    print(text)
    say(f"written: {arguments.out / 'validation.md'} and validation.json")


if __name__ == "__main__":
    main()
