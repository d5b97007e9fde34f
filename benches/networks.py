"""`make bench`: what policing a whole network costs: each beside the same network without it, in paired runs.

Senders that expose congestion, those who police and audit them, tunnels and reports, each where a paper puts them.
Other than in `mechanisms.py` several things change at once, and there is a target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evenflow as ef
from measuring import Spread, say, table
from mechanisms import Run, count_instructions, pairs_of, run
from peers import ROOT

POLICED = ROOT / "benches" / "works" / "w2-red.toml"

# The chain of Zhang et al. 2011: five wired links and a radio link, each way; 50 Mbit/s in its middle.
PHONES = 100
NARROW = "r2-r3"
CHAIN_S = 60.0

# Two durations, whose difference leaves out set-up and slow start.
CALLGRIND_DURATIONS_S = {"w2": (5.0, 10.0), "chain": (20.0, 30.0)}
CALLGRIND_DURATIONS_QUICK_S = {"w2": (5.0, 6.0), "chain": (20.0, 22.0)}
DURATIONS_QUICK_S = {"w2": 10.0, "chain": 30.0}
PAIRS, PAIRS_QUICK = 9, 3


@dataclass(frozen=True)
class Network:
    """A network with what it is to have, and without.

    `least` is the share of the other's speed that it must have, `most_instructions` what a bottleneck packet may take;
    None: nothing was asked.
    """

    name: str
    family: str
    link: str
    without: ef.Scenario
    scenario: ef.Scenario
    least: float | None = None
    most_instructions: float | None = None


@dataclass
class Cost:
    """The cost of a network. `speed` is packets per CPU-second divided by those without stages, over pairs of runs."""

    name: str
    speed: Spread
    least: float | None
    instructions: float | None
    instructions_without: float | None
    most_instructions: float | None
    events_per_packet: float


@dataclass
class Costs:
    """A row for each network."""

    pairs: int
    rows: list[Cost]


def policed_w2() -> ef.Scenario:
    """W2 whose senders report all congestion, with a policer for each user."""
    work = ef.load(POLICED)
    settings: dict[str, Any] = {
        "stages.police": {"kind": "congestion-policer", "per": "user", "rate": "20 packets/s", "depth": "45 packets"}
    }
    for group in ("heavy", "light"):
        settings[f"groups.{group}.tcp.conex"] = {"unit": "packets", "credit": "window"}
        settings[f"groups.{group}.path"] = ["access", "police", "bottleneck"]
    return work.with_settings(settings)


def policer(rtt: dict[str, Any]) -> dict[str, Any]:
    """Policer A: what TCP would send at the marks that a flow reports, a bucket of seconds for each flow."""
    return {
        "kind": "congestion-policer",
        "per": "user",
        "rule": "tcp-rate",
        "factor": 1.0,
        "start": "20 s",
        "most": "400 s",
        "action": "drop-one",
        "strangers": "own",
        **rtt,
    }


def chain(**given: Any) -> ef.Scenario:
    """The chain; `given` goes to `evenflow.lte`."""
    return ef.lte(users=PHONES, flavour="newreno", duration=f"{CHAIN_S:g} s", **given)


def networks() -> list[Network]:
    plain = chain(scheme="ecn")
    dropper = {"kind": "auditor", "rule": "strict", "per": "user", "delay": "1.2 s"}
    end_to_end = chain(policer=policer({"rtt": "600 ms"}), dropper=dropper)
    inside = chain(deployment="infrastructure", policer=policer({"rtt_from": "report"}))
    return [
        Network("W2, ConEx senders, policer", "w2", "bottleneck", ef.load(POLICED), policed_w2(), 0.8, 3500),
        Network("chain, re-ECN senders", "chain", NARROW, plain, chain()),
        Network("chain, re-ECN end to end, policer, dropper", "chain", NARROW, plain, end_to_end, 0.73),
        Network("chain, tunnels, reports, policer inside", "chain", NARROW, plain, inside, 0.53),
    ]


def chosen(names: Sequence[str]) -> list[Network]:
    """The networks called so, or of works called so ("w2", "chain"); all for no names.

    Raises:
        ValueError: nothing is called so.
    """
    found = networks()
    known = {network.name for network in found} | {network.family for network in found}
    for name in names:
        if name not in known:
            raise ValueError(f"no network is called {name!r}; there are {', '.join(map(repr, sorted(known)))}")
    return [network for network in found if not names or network.name in names or network.family in names]


def costs(found: Sequence[Network], binary: Path | None, quick: bool, run: Run = run) -> Costs:
    """Each network: pairs of timed runs, then instructions where there is a `binary` to count them."""
    pairs = PAIRS_QUICK if quick else PAIRS
    rows = []
    for network in found:
        say(f"  {network.name} ...")
        both = [network.without, network.scenario]
        if quick:
            both = [one.set("duration", f"{DURATIONS_QUICK_S[network.family]:g} s") for one in both]
        ratios, _, record = pairs_of(both[0], both[1], pairs, run, network.link)
        counts: Sequence[float | None] = (None, None)
        if binary is not None:
            durations = CALLGRIND_DURATIONS_QUICK_S if quick else CALLGRIND_DURATIONS_S
            counts = count_instructions(binary, both, durations[network.family], network.link)
        rows.append(
            Cost(
                network.name,
                Spread.of([1 / ratio for ratio in ratios]),
                network.least,
                counts[1],
                counts[0],
                network.most_instructions,
                record["events"] / record["links"][network.link]["delivered_packets"],
            )
        )
    return Costs(pairs, rows)


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def cost_table(result: Costs) -> str:
    header = [
        "network",
        "speed ratio (min / median / max)",
        "at least",
        "instructions per packet",
        "without",
        "at most",
        "events per packet",
    ]
    lines = []
    for row in result.rows:
        least, most, count = "–", "–", "–"
        if row.least is not None:
            least = f"{row.least:g}: {_verdict(row.speed.median >= row.least)}"
        if row.instructions is not None:
            count = f"{row.instructions:.0f}"
            if row.most_instructions is not None:
                most = f"{row.most_instructions:g}: {_verdict(row.instructions <= row.most_instructions)}"
        before = "–" if row.instructions_without is None else f"{row.instructions_without:.0f}"
        lines.append([row.name, row.speed.text(), least, count, before, most, f"{row.events_per_packet:.2f}"])
    return table(header, lines)


def section(result: Costs) -> list[str]:
    """The report's part: paragraphs of Markdown."""
    return [
        "## Cost of policing",
        "Each network is compared with the same network without stages and with plain ECN senders. *Speed* is "
        f"bottleneck packets per CPU-second of the event loop, in {result.pairs} pairs of runs. The chain is "
        f"`evenflow.lte`, {PHONES} phones behind six links each way.",
        cost_table(result),
    ]
