"""The network of Sanhaji et al. 2015 without a policer, beside ns-2: 450 CUBIC flows with windows of three packets.

How many marks and losses a second a heavy user meets there decides which refill rates of a policer hurt, so this ground
has to be right before any policed run is believed. Four variants (Table III): drop-tail, RED that drops, RED that marks
with classic ECN, RED that marks with accurate ECN. ns-2 has the first three (`ns2/conex.tcl`). Around the defaults of
Table II one thing is changed at a time: round trip, buffer, RED's lower and upper threshold and probability, and what
the paper leaves open, RED's weight and the spread of its marks.

`make validate PARTS=conex` compares; `.venv/bin/python validation/conex_ground.py` prints our side alone, all four
variants.
"""

from __future__ import annotations

import argparse
import copy
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from peers import NotComparableError, Ns2, kept, quantity

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "ns2" / "conex.tcl"
NAME = "conex-ground"
OF = ("red", "cubic", "tcp", "ns2-linux")
NS2_SEEDS, OUR_SEEDS = 3, 5
VARIANTS = {"drop-tail": "droptail", "RED": "red", "ECN": "ecn", "Full": None}
"""The variants of Table III, and what ns2/conex.tcl calls them: it has no accurate feedback."""
PACKETS_PER_SECOND = 100e6 / 12_000
WAITS = {"floyd": 0, "ns2": 1}
"""Queue/RED's `wait_` for the spreads that ns-2 has."""
GROUPS = ("heavy", "light")

Label = dict[str, str | int]


@dataclass(frozen=True)
class Case:
    """One point: the variant, what is changed of Table II's defaults (RTT and q in ms, mTh and MTh shares of q)."""

    variant: str
    changed: str = ""
    value: float | str = 0.0

    @property
    def label(self) -> Label:
        """As the table shows it."""
        if not self.changed:
            return {"variant": self.variant}
        unit = " ms" if self.changed in ("RTT", "q") else ""
        shown = f"{100 * float(self.value):g} %" if self.changed in ("mTh", "MTh") else f"{self.value}{unit}"
        return {"variant": self.variant, self.changed: shown}

    def of(self, name: str, default: float) -> float:
        """This parameter here."""
        return float(self.value) if self.changed == name else default

    @property
    def scenario(self) -> Scenario:
        """Ours, made of scenarios/conex.toml."""
        tree = copy.deepcopy(dict(Scenario.load(HERE / "scenarios" / "conex.toml").tree))
        bottleneck = tree["links"]["bottleneck"]
        limit = round(self.of("q", 100) * 1e-3 * PACKETS_PER_SECOND)
        bottleneck["delay"] = f"{self.of('RTT', 100) / 2 - 1:g} ms"
        queue = bottleneck["queue"]
        queue |= {
            "limit": f"{limit} packets",
            "min_threshold": f"{self.of('mTh', 0.1) * limit:g} packets",
            "max_threshold": f"{self.of('MTh', 1) * limit:g} packets",
            "max_probability": self.of("p_max", 1.0),
            "weight": self.of("weight", 1.2e-4),
            "spread": self.value if self.changed == "spread" else "ns2",
            "action": "mark" if self.variant in ("ECN", "Full") else "drop",
        }
        if self.variant == "drop-tail":
            bottleneck["queue"] = {"kind": "droptail", "limit": queue["limit"]}
        for group in GROUPS:
            tcp = tree["groups"][group]["tcp"]
            tcp["ecn"] = {"ECN": "classic", "Full": "accurate"}.get(self.variant, "off")
            if tcp["ecn"] == "off":
                del tcp["ecn_on_retransmissions"]
        return Scenario(tree)


def cases(variants: Sequence[str] = tuple(VARIANTS)) -> Iterator[Case]:
    """The defaults and one change at a time, variant by variant."""
    changes: dict[str, Sequence[float | str]] = {
        "RTT": (20, 50, 150, 200),
        "q": (10, 20, 50, 200),
        "p_max": (0.1, 0.25, 0.5, 0.75),
        "mTh": (0.025, 0.05, 0.2, 0.5),
        "MTh": (0.2, 0.4, 0.6, 0.8),
        "weight": (0.002,),
        "spread": ("floyd", "bernoulli"),
    }
    for variant in variants:
        yield Case(variant)
        for name, values in changes.items():
            if variant != "drop-tail" or name in ("RTT", "q"):
                yield from (Case(variant, name, value) for value in values)


# The stack of scenarios/conex.toml as ns2/conex.tcl has it. Its packets are 1450 B and 50 of headers: 1500 as well.
STACK: Mapping[str, Any] = {
    "stack": "ns2-linux",
    "congestion_control": "cubic",
    "handshake": "none",
    "mss": "1460 B",
    "header": "40 B",
    "max_window": "65700 B",
    "initial_window": "2 packets",
    "ack_every": 1,
    "reduction": "rate-halving",
    "rto": "any-ack",
    "min_rto": "200 ms",
}


def arguments(scenario: Scenario, seed: int) -> list[str]:
    """What ns2/conex.tcl is told; raises `NotComparableError` where it cannot be."""
    tree = scenario.tree
    access, bottleneck = tree["links"]["access"], tree["links"]["bottleneck"]
    queue = bottleneck["queue"]
    groups, ecn, starts = [], set(), set()
    for name, group in tree["groups"].items():
        said = {key: value for key, value in group["tcp"].items() if key not in ("ecn", "ecn_on_retransmissions")}
        if said != STACK:
            different = sorted(key for key in {*said, *STACK} if said.get(key) != STACK.get(key))
            raise NotComparableError(f"groups.{name}.tcp: ns-2 has one stack; {', '.join(different)} differ from it")
        marks = group["tcp"]["ecn"]
        if marks == "accurate":
            raise NotComparableError(f"groups.{name}.tcp.ecn: ns-2 has no accurate feedback")
        if marks == "classic" and not group["tcp"].get("ecn_on_retransmissions"):
            raise NotComparableError(f"groups.{name}.tcp.ecn_on_retransmissions: ns-2's are ECN-capable")
        ecn.add(marks == "classic")
        starts.add(quantity(group["traffic"]["start"]["uniform"][1]))
        groups.append(f"{name}:{group['users']}:{group['traffic']['flows']}")
    if len(ecn) != 1 or len(starts) != 1:
        raise NotComparableError("groups: expected one ECN and one range of starts")
    options: dict[str, Any] = {
        "groups": ",".join(groups),
        "rtt": repr(round(2 * (quantity(access["delay"]) + quantity(bottleneck["delay"])), 9)),
        "access_delay": repr(quantity(access["delay"])),
        "limit": f"{quantity(queue['limit']):.0f}",
        "start_max": repr(starts.pop()),
        "duration": f"{quantity(tree['duration']):g}",
        "seed": seed,
    }
    marking = ecn.pop()
    if queue["kind"] == "droptail":
        options["variant"] = "droptail"
    else:
        if (queue["action"] == "mark") != marking:
            raise NotComparableError("queue.action: RED marks with ECN and drops without")
        if queue["spread"] not in WAITS:
            raise NotComparableError("queue.spread: ns-2 has ns2 and floyd")
        options |= {
            "variant": "ecn" if marking else "red",
            "least": f"{quantity(queue['min_threshold']):g}",
            "most": f"{quantity(queue['max_threshold']):g}",
            "probability": queue["max_probability"],
            "weight": queue["weight"],
            "wait": WAITS[queue["spread"]],
        }
    return [f"{key}={value}" for key, value in options.items()]


def points() -> Iterator[Case]:
    """Those that ns-2 has."""
    for case in cases([variant for variant, theirs in VARIANTS.items() if theirs]):
        if case.value != "bernoulli":
            yield case


def runs_of_ns2(peer: Ns2, scenario: Scenario, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, float]]:
    """Metrics of ns-2's runs, in seed order, one after the other."""
    commands = [[str(peer.binary), str(SOURCE), *arguments(scenario, seed)] for seed in seeds[:NS2_SEEDS]]
    return [metrics_of_ns2(kept(SOURCE, command, fresh=fresh)) for command in commands]


def metrics_of_ns2(record: Mapping[str, Any]) -> dict[str, float]:
    """The compared metrics of a record of ns2/conex.tcl."""
    seconds = record["duration_s"]
    groups = {
        name: {
            "users": group["users"],
            "goodput": group["goodput_bps"],
            "marked": group["marked"] + group["dropped"],
            "again": group["again"],
            "reductions": group["reductions"],
        }
        for name, group in record["groups"].items()
    }
    return _compared(record, record["marked"], record["dropped"], record["arrived"], groups, seconds)


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours. A timeout is a reduction each time, as ns-2 counts it."""
    link = record.json["links"]["bottleneck"]
    start, end = record.json["window_s"]
    groups = {}
    for name in GROUPS:
        group = record.json["groups"][name]
        senders = group["senders"]
        groups[name] = {
            "users": group["users"],
            "goodput": group["goodput_bps"],
            "marked": group["marks"] + group["losses"],
            "again": group["retransmits"],
            "reductions": senders["reductions"]["loss"] + senders["reductions"]["mark"] + senders["timeouts"],
        }
    marked, dropped = sum(link["marks"].values()), sum(link["drops"].values())
    return _compared(link, marked, dropped, link["arrived_packets"], groups, end - start)


def _compared(
    link: Mapping[str, Any],
    marked: float,
    dropped: float,
    arrived: float,
    groups: Mapping[str, Mapping[str, float]],
    seconds: float,
) -> dict[str, float]:
    found = {
        "utilisation": link["utilisation"],
        "mean queue (packets)": link["queue_packets_mean"],
        "marks per packet": marked / arrived,
        "drops per packet": dropped / arrived,
        "goodput heavy/light": groups["heavy"]["goodput"] / groups["light"]["goodput"],
    }
    for name in GROUPS:
        group = groups[name]
        each = group["users"] * seconds
        found[f"marks and losses of a {name} user (1/s)"] = group["marked"] / each
        found[f"retransmissions of a {name} user (1/s)"] = group["again"] / each
        found[f"reductions of a {name} user (1/s)"] = group["reductions"] / each
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each point")
    parser.add_argument("--variant", choices=list(VARIANTS), action="append", help="this variant (may be repeated)")
    options = parser.parse_args()
    head: list[str] = []
    for case in cases(options.variant or tuple(VARIANTS)):
        runs = [metrics_of_ours(case.scenario.run(seed)) for seed in range(1, options.seeds + 1)]
        if not head:
            head = list(runs[0])
            print(f"| point | {' | '.join(head)} |\n| --- |{' --: |' * len(head)}")
        means = (statistics.fmean(run[name] for run in runs) for name in head)
        point = ", ".join(f"{key} {value}" for key, value in case.label.items()).removeprefix("variant ")
        print(f"| {point} | {' | '.join(f'{mean:.3g}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
