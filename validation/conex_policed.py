"""Congestion policers of Sanhaji et al. 2015 compared with a policer in ns-2 (`ns2/policed.tcl`).

The network is the paper's: ten heavy users with 36 CUBIC flows, 90 light users with one, 100 Mbit/s. Senders report
losses (DTConEx, REDConEx). Points: three drop functions, two meanings of a charge, two filling rates, behind
drop-tail; the soft policer at a higher rate; the mild policer behind RED.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from conex_ground import WAITS
from evenflow import Record, Scenario
from evenflow_papers.conex import network as net
from peers import NotComparableError, Ns2, kept, quantity

SOURCE = Path(__file__).with_name("ns2") / "policed.tcl"
NAME = "conex-policed"
OF = ("congestion-policer", "cubic", "tcp", "ns2-linux")
NS2_SEEDS, OUR_SEEDS = 5, 10
DURATION_S = 40.0
RATES = (5.0, 10.0, 15.0, 20.0, 30.0)
RED_RATES = (15.0, 30.0)
CHARGES = ("arrival", "pass")
EQUAL, UNEQUAL = "1 ms", "0.5 to 1.5 ms"
"""Propagation of the users' access links. Equal delays put all flows in lockstep."""
VARIANTS = {net.DT: "droptail", net.RED: "red"}
"""Variants without marks, as ns2/policed.tcl names them."""
SENDER: Mapping[str, Any] = net.tcp(net.Options(), net.DT)
"""The sender of ns2/policed.tcl."""


@dataclass(frozen=True)
class Point:
    """One comparison; `harshness` "none" has no policer."""

    variant: str
    harshness: str
    charge: str
    r: float
    access: str = EQUAL

    @property
    def label(self) -> dict[str, str | int]:
        """For the table."""
        of = {"variant": self.variant, "harshness": self.harshness, "charge": self.charge}
        return {**of, "access": self.access, "r": f"{self.r:g}"}

    @property
    def scenario(self) -> Scenario:
        """The scenario of the paper's reproduction."""
        o = net.Options(charge=self.charge)
        found = net.bulk(
            o, variant=self.variant, policing=net.ON, r=self.r, harshness=self.harshness, duration_s=DURATION_S
        )
        return found if self.access == EQUAL else found.set("links.access.delay", {"uniform": ["0.5 ms", "1.5 ms"]})


def points() -> Iterator[Point]:
    """Every comparison."""
    for access, harshness, charge in product((EQUAL, UNEQUAL), net.HARSHNESSES, CHARGES):
        yield from (Point(net.DT, harshness, charge, r, access) for r in RATES)
    for charge in CHARGES:
        yield from (Point(net.RED, net.MILD, charge, r) for r in RED_RATES)


def arguments(scenario: Scenario, seed: int) -> list[str]:
    """Arguments of ns2/policed.tcl; raises `NotComparableError` where ns-2 has no counterpart."""
    tree = scenario.tree
    access, link = tree["links"]["access"], tree["links"][net.LINK]
    groups, starts, policers = [], set(), []
    for name, group in tree["groups"].items():
        said = group["tcp"]
        if said != SENDER:
            different = sorted(key for key in {*said, *SENDER} if said.get(key) != SENDER.get(key))
            raise NotComparableError(f"groups.{name}.tcp: ns-2 has one sender; {', '.join(different)} differ from it")
        if list(group["path"]) != ["access", net.POLICERS[name], net.LINK]:
            raise NotComparableError(f"groups.{name}.path: expected access, policer, bottleneck")
        starts.add(quantity(group["traffic"]["start"]["uniform"][1]))
        groups.append(f"{name}:{group['users']}:{group['traffic']['flows']}")
        policers.append(dict(tree["stages"][net.POLICERS[name]]))
    if len(starts) != 1 or any(policer != policers[0] for policer in policers):
        raise NotComparableError("groups: expected one range of starts and one kind of policer")
    least, most = map(
        quantity, access["delay"]["uniform"] if isinstance(access["delay"], dict) else 2 * [access["delay"]]
    )
    delay = (least + most) / 2
    options: dict[str, Any] = {
        "groups": ",".join(groups),
        "rtt": repr(round(2 * (delay + quantity(link["delay"])), 9)),
        "access_delay": repr(delay),
        **({"access_jitter": repr(round(most - least, 9))} if most > least else {}),
        "start_max": repr(starts.pop()),
        "duration": f"{quantity(tree['duration']):g}",
        "seed": seed,
        **_queue(link["queue"]),
        **_policer(policers[0]),
    }
    return [f"{key}={value}" for key, value in options.items()]


def _queue(queue: Mapping[str, Any]) -> dict[str, Any]:
    limit = f"{quantity(queue['limit']):.0f}"
    if queue["kind"] == "droptail":
        return {"variant": "droptail", "limit": limit}
    if queue["action"] != "drop" or queue["spread"] not in WAITS:
        raise NotComparableError("queue: expected RED that drops, spread as ns2 or floyd")
    return {
        "variant": "red",
        "limit": limit,
        "least": f"{quantity(queue['min_threshold']):g}",
        "most": f"{quantity(queue['max_threshold']):g}",
        "probability": queue["max_probability"],
        "weight": queue["weight"],
        "wait": WAITS[queue["spread"]],
    }


def _policer(policer: Mapping[str, Any]) -> dict[str, Any]:
    expected = {"kind": "congestion-policer", "per": "user", "floor": "none", "level": 1.0}
    known = {*expected, "rate", "depth", "harshness", "charge"}
    rate, _, unit = str(policer.get("rate")).partition(" ")
    if set(policer) != known or unit != "packets/s" or any(policer[key] != value for key, value in expected.items()):
        raise NotComparableError("stages: ns-2 has a full bucket for each user, in packets, without a floor")
    return {
        "harshness": policer["harshness"],
        "charge": policer["charge"],
        "r": rate,
        "depth": f"{quantity(policer['depth']):g}",
    }


def runs_of_ns2(peer: Ns2, scenario: Scenario, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, float]]:
    """Metrics of ns-2's runs, in seed order."""
    commands = [[str(peer.binary), str(SOURCE), *arguments(scenario, seed)] for seed in seeds[:NS2_SEEDS]]
    return [metrics_of_ns2(kept(SOURCE, command, fresh=fresh)) for command in commands]


def metrics_of_ns2(record: Mapping[str, Any]) -> dict[str, float]:
    """The compared metrics of a record of ns2/policed.tcl."""
    groups = {
        name: {
            "goodput": group["goodput_bps"],
            "reports": _mean(group["users_reports"]),
            "policed": _mean(group["users_policed"]),
        }
        for name, group in record["groups"].items()
    }
    return _compared(record, record["dropped"] / record["arrived"], groups, record["duration_s"])


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of an Evenflow record."""
    link = record.json["links"][net.LINK]
    start, end = record.json["window_s"]
    groups = {
        name: {
            "goodput": record.json["groups"][name]["goodput_bps"],
            "reports": stage["reports"],
            "policed": stage["policed"],
        }
        for name, stage in ((name, record.json["stages"][net.POLICERS[name]]) for name in (net.HEAVY, net.LIGHT))
    }
    return _compared(link, sum(link["drops"].values()) / link["arrived_packets"], groups, end - start)


def _compared(
    link: Mapping[str, Any], drops: float, groups: Mapping[str, Mapping[str, float]], seconds: float
) -> dict[str, float]:
    heavy, light = groups[net.HEAVY], groups[net.LIGHT]
    return {
        "U": heavy["goodput"] / light["goodput"],
        "reports of a heavy user (1/s)": heavy["reports"] / seconds,
        "policed packets of a heavy user (1/s)": heavy["policed"] / seconds,
        "reports of a light user (1/s)": light["reports"] / seconds,
        "policed packets of a light user (1/s)": light["policed"] / seconds,
        "drops per packet": drops,
        "utilisation": link["utilisation"],
        "mean queue (packets)": link["queue_packets_mean"],
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
