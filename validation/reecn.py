"""The network of Zhang et al. 2011 without re-ECN, beside ns-2: drop-tail, RED and ECN with Reno, NewReno and SACK.

Which scheme of figures 11 and 12 is ahead hangs on how TCP repairs losses, so the schemes that re-ECN is compared with
have to be right before any claim on them is believed. The scenarios are those of the paper's package: `network.bulk`
with 10 and 100 flows, and `network.wide`, one flow whose packets are lost or marked with one probability (c07, c08),
which theory knows as well. ns-2 has no re-ECN.

Two lines are ns-2's. What is sent again is ECN-capable (the paper's option `retransmissions = "ect"`), and a RED that
marks drops where its average picks every packet (`hard_drop`); `ns2/reecn.tcl` says the rest.

`make validate PARTS=reecn` compares; `.venv/bin/python validation/reecn.py` prints our side alone.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import laws
import numpy as np
from evenflow import Record, Scenario
from evenflow_papers.reecn_lte import network as net
from evenflow_papers.reecn_lte.network import Options
from peers import NotComparableError, Ns2, kept, quantity

SOURCE = Path(__file__).resolve().parent / "ns2" / "reecn.tcl"
NAME, WINDOW = "reecn-ground", "reecn-window"
NS2_SEEDS, OUR_SEEDS = 3, 5
FLAVOURS = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
SCHEMES = {net.DT: "drop-tail", net.RED: "RED", net.ECN: "ECN"}
SPREADS = {"uniform": "uniform", "ns2": "ns-2's"}
"""RED by the paper's option `red`: spread and weight."""
WAITS = {"floyd": 0, "ns2": 1}
"""Queue/RED's `wait_` for the spreads that ns-2 has."""
PROBABILITIES = (1e-3, 1e-2)
ALONE_S, WARMUP_S = 3600.0, 200.0
"""Of the one flow: 200 windows of p = 0.001, and what its start takes."""
AFTER_S = 20.0
"""Bins before that are not among those whose deviation c34 judges."""
SENT = "packets sent in a round trip"
PAYLOAD_BYTES = net.PACKET_BYTES - net.HEADER_BYTES

Label = dict[str, str | int]


@dataclass(frozen=True)
class Case:
    """One point of figures 11 and 12."""

    flavour: str
    scheme: str
    flows: int
    red: str = "uniform"
    min_rto_s: int = 1

    @property
    def label(self) -> Label:
        """As the table shows it."""
        found: Label = {"TCP": FLAVOURS[self.flavour], "queue": SCHEMES[self.scheme], "flows": self.flows}
        if self.red != "uniform":
            found["spread"] = SPREADS[self.red]
        return found if self.min_rto_s == 1 else {**found, "least timeout": f"{self.min_rto_s} s"}

    @property
    def of(self) -> tuple[str, ...]:
        """What it is evidence for."""
        return ("newreno", "tcp", "ns2", "droptail" if self.scheme == net.DT else "red")

    @property
    def scenario(self) -> Scenario:
        """Ours: the paper's."""
        o = Options(flavour=self.flavour, red=self.red, retransmissions="ect")
        hard = {"hard_drop": True} if self.scheme == net.ECN else {}
        queue = net.queue(o, self.scheme, **hard)
        scenario = net.bulk(o, self.scheme, self.flows, record=net.series(net.THROUGHPUT), queue=queue)
        return scenario.set(f"groups.{net.PHONES}.tcp.min_rto", f"{self.min_rto_s} s")


@dataclass(frozen=True)
class Alone:
    """One flow whose packets are lost, or marked, with one probability."""

    flavour: str
    signal: str
    p: float

    @property
    def label(self) -> Label:
        """As the table shows it."""
        return {"TCP": FLAVOURS[self.flavour], self.signal: f"{self.p:g}"}

    of = ("newreno", "tcp", "ns2")

    @property
    def scenario(self) -> Scenario:
        """Ours: the paper's wide link, with a queue that drops or marks."""
        o = Options(flavour=self.flavour, retransmissions="ect", duration=ALONE_S)
        lost = self.signal == "lost"
        return net.wide(o, self.p).with_settings(
            {
                "warmup": f"{WARMUP_S:g} s",
                "groups.phones.tcp": net.tcp(o, net.RED if lost else net.ECN),
                f"links.{net.LINK}.queue.action": "drop" if lost else "mark",
            }
        )

    @property
    def law(self) -> laws.Bracket:
        """Packets sent in a round trip: the square-root law, of losses from 1e-2 on down to Padhye's formula."""
        found = laws.square_root(self.p, 1)
        if self.signal == "lost" and self.p >= 1e-2:
            lo = net.RTT_S * laws.padhye(self.p, 1, net.RTT_S, timeout=1.0)
            return laws.Bracket(min(found.lo, lo), found.hi, found.slack)
        return found

    @property
    def source(self) -> str:
        """Whose law."""
        return "Mathis 1997, table 1" + (
            "; Padhye 1998, equation 30" if self.law.lo < laws.square_root(self.p, 1).lo else ""
        )


def points() -> Iterator[Case]:
    """Every TCP and queue with 10 and 100 flows; with 100 RED by ns-2's rule too, and drop-tail with 3 s at least.

    A timeout of 1 s is short for a round trip of 0.6 s: whether the timer starts again at a fast retransmit then shows.
    """
    every = [(flavour, scheme) for flavour in FLAVOURS for scheme in SCHEMES]
    many = max(net.FLOWS)
    yield from (Case(*each, flows) for flows in net.FLOWS for each in every)
    yield from (Case(flavour, scheme, many, "ns2") for flavour in FLAVOURS for scheme in (net.RED, net.ECN))
    yield from (Case(flavour, net.DT, many, min_rto_s=3) for flavour in FLAVOURS)


def alone() -> Iterator[Alone]:
    """Every TCP, losses and marks, each probability."""
    yield from (Alone(tcp, signal, p) for tcp in FLAVOURS for signal in ("lost", "marked") for p in PROBABILITIES)


# A sender of `evenflow.scenario.lte`, as ns2/reecn.tcl has it.
STACK: Mapping[str, Any] = {
    "stack": "ns2",
    "congestion_control": "newreno",
    "mss": "960 B",
    "header": "40 B",
    "initial_window": "2 packets",
    "max_window": "100 MB",
    "ack_every": 1,
    "handshake": "three-way",
}


def arguments(scenario: Scenario, seed: int) -> list[str]:
    """What ns2/reecn.tcl is told; raises `NotComparableError` where it cannot be."""
    tree = scenario.tree
    if tree.get("stages") or len(tree["groups"]) != 1:
        raise NotComparableError("ns-2 has one group and no stages")
    ((name, group),) = tree["groups"].items()
    said = dict(group["tcp"])
    min_rto = said.pop("min_rto")
    spoken = said.pop("ecn")
    if spoken not in ("off", "classic"):
        raise NotComparableError(f"groups.{name}.tcp.ecn: ns-2 has no {spoken}")
    ecn = spoken == "classic"
    if said.pop("ecn_on_retransmissions", False) is not ecn:
        raise NotComparableError(f"groups.{name}.tcp.ecn_on_retransmissions: ns-2's are ECN-capable where all are")
    agent = "sack" if said.pop("sack", False) else "newreno"
    if said.pop("partial_ack", "next-hole") == "ends-recovery":
        agent = "reno"
    if said != STACK:
        different = sorted(key for key in {*said, *STACK} if said.get(key) != STACK.get(key))
        raise NotComparableError(f"groups.{name}.tcp: ns-2 has one stack; {', '.join(different)} differ from it")
    cells = {link["per"] for link in tree["links"].values() if "per" in link}
    if len(cells) != 1:
        raise NotComparableError("links: expected one size of cells")
    queue = tree["links"][net.LINK]["queue"]
    options: dict[str, Any] = {
        "agent": agent,
        "links": ",".join(_link(tree["links"][link]) for link in group["path"]),
        "narrow": list(group["path"]).index(net.LINK),
        "flows": group["users"],
        "cell": cells.pop().removesuffix(" users"),
        "ecn": int(ecn),
        "minrto": f"{quantity(min_rto):g}",
        "start_max": f"{quantity(group['traffic']['start']['uniform'][1]):g}",
        "warmup": f"{quantity(tree['warmup']):g}",
        "duration": f"{quantity(tree['duration']):g}",
        "bin": f"{net.BIN_S:g}",
        "seed": seed,
        **_queue(queue, ecn),
    }
    return [f"{key}={value}" for key, value in options.items()]


def _link(link: Mapping[str, Any]) -> str:
    # What `lte` leaves without a limit never fills.
    limit = quantity(link["queue"]["limit"]) if "queue" in link else 1_000_000
    of_a_cell = ":cell" if "per" in link else ""
    return f"{quantity(link['rate']):.0f}:{quantity(link['delay']):g}:{limit:.0f}{of_a_cell}"


def _queue(queue: Mapping[str, Any], ecn: bool) -> dict[str, Any]:
    kind, marks = queue["kind"], queue.get("action") == "mark"
    if kind == "droptail":
        return {"queue": "droptail"}
    if marks != ecn or queue["action"] not in ("mark", "drop"):
        raise NotComparableError("queue.action: mark with ECN, drop without")
    if kind == "constant-probability":
        return {"queue": "droptail", "marked" if marks else "loss": repr(queue["probability"])}
    if queue["spread"] not in WAITS or not queue["gentle"] or (marks and not queue["hard_drop"]):
        raise NotComparableError("queue: ns-2's RED is spread as ns2 or floyd, gentle, and drops at the top")
    return {
        "queue": "ecn" if marks else "red",
        "least": f"{quantity(queue['min_threshold']):g}",
        "most": f"{quantity(queue['max_threshold']):g}",
        "probability": queue["max_probability"],
        "weight": queue["weight"],
        "wait": WAITS[queue["spread"]],
    }


def runs_of_ns2(peer: Ns2, scenario: Scenario, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, Any]]:
    """Records of ns-2's runs, in seed order, one after the other."""
    commands = [[str(peer.binary), str(SOURCE), *arguments(scenario, seed)] for seed in seeds[:NS2_SEEDS]]
    return [kept(SOURCE, command, fresh=fresh) for command in commands]


def metrics_of_ns2(record: Mapping[str, Any]) -> dict[str, float]:
    """The compared metrics of a record of ns2/reecn.tcl."""
    counts = {name: float(record[name]) for name in ("arrived", "dropped", "marked", "again", "timeouts")}
    bins = np.diff([0.0, *record["delivered_bytes"]])
    return _compared(record, record["goodputs_bps"], bins, **counts)


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours."""
    link, group = record.json["links"][net.LINK], record.json["groups"][net.PHONES]
    _, bins = record.arrays(net.THROUGHPUT)
    return _compared(
        link,
        group["users_goodput_bps"],
        bins,
        arrived=float(link["arrived_packets"]),
        dropped=float(sum(link["drops"].values())),
        marked=float(sum(link["marks"].values())),
        again=float(group["retransmits"]),
        timeouts=float(group["senders"]["timeouts"]),
    )


def _compared(
    link: Mapping[str, Any],
    goodputs: Sequence[float],
    bins: Sequence[float] | np.ndarray[Any, Any],
    *,
    arrived: float,
    dropped: float,
    marked: float,
    again: float,
    timeouts: float,
) -> dict[str, float]:
    rates = np.asarray(goodputs)
    late = np.asarray(bins)[round(AFTER_S / net.BIN_S) :] * 8 / net.BIN_S / 1e6
    found = {
        "goodput (Mbit/s)": float(rates.sum()) / 1e6,
        "utilisation": float(link["utilisation"]),
        "deviation of 5 s (Mbit/s)": float(np.std(late, ddof=1)),
        "mean queue (packets)": float(link["queue_packets_mean"]),
        "drops per packet": dropped / arrived,
        "Jain's index": float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "retransmissions per packet": again / arrived,
        "timeouts of a flow": timeouts / len(rates),
    }
    return {**found, "marks per packet": marked / arrived} if marked else found


def window_of_ns2(record: Mapping[str, Any]) -> dict[str, float]:
    """Packets sent in a round trip, by one flow that meets losses or marks alone."""
    return _window(record["sent"] / record["seconds"], record["goodputs_bps"][0])


def window_of_ours(record: Record) -> dict[str, float]:
    """The same of ours."""
    start, end = record.json["window_s"]
    arrived = record.json["links"][net.LINK]["arrived_packets"]
    return _window(arrived / (end - start), record.json["groups"][net.PHONES]["users_goodput_bps"][0])


def _window(sent: float, goodput: float) -> dict[str, float]:
    return {
        SENT: net.RTT_S * sent,
        "packets delivered in a round trip": net.RTT_S * goodput / 8 / PAYLOAD_BYTES,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each point")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    for cases, measure in ((list(points()), metrics_of_ours), (list(alone()), window_of_ours)):
        head: list[str] = []
        for case in cases:
            runs = [measure(case.scenario.run(seed)) for seed in seeds]
            if not head:
                head = [*runs[0], *([] if "marks per packet" in runs[0] or len(runs[0]) < 3 else ["marks per packet"])]
                print(f"| point | {' | '.join(head)} |\n| --- |{' --: |' * len(head)}")
            means = (statistics.fmean(run.get(name, 0.0) for run in runs) for name in head)
            point = ", ".join(f"{key} {value}" for key, value in case.label.items())
            print(f"| {point} | {' | '.join(f'{mean:.3g}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
