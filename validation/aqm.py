"""CoDel, PIE, FQ-CoDel, SFQ and DRR: what their documents promise, and the same on ns-3, ns-2 and a Linux kernel.

Laws, as in `laws`: CoDel's drop times, PIE's delay and probability, the bounds of fair queueing. What is accepted was
fixed before the first run, and docs/validation.md says what that changed. Where a law leaves nothing out nothing is
added.

Sources:
    RFC 8289, sections 5.5 and 5.6: when CoDel drops.
    RFC 8033, section 4.2: PIE's controller, which rests only where the delay is the reference.
    RFC 8290, sections 1.3, 4.1 and 4.2: FQ-CoDel serves new flows first.
    M. Shreedhar, G. Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM 1995: two flows that always
    have something to send differ, over any interval, by at most a quantum and two packets of the largest size.
    P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.

ns-3 has CoDel, PIE and FQ-CoDel (`ns3/aqm.cc`), ns-2 SFQ and DRR (`ns2/fair.tcl`). The kernel's four are asked in a
network namespace of the running kernel or, where that was built without them, of a user-mode one (`linux_aqm`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
from evenflow import Record, Scenario
from evenflow.stats import Interval
from laws import Bracket, Law, number, run
from peers import NotComparableError, quantity

HERE = Path(__file__).resolve().parent

# Laws.


@dataclass(frozen=True)
class Bound(Law):
    """A law that no run may break: what is measured is the worst of them."""

    def measured(self, seeds: Sequence[int], level: float = 0.95) -> Interval:
        """The largest over seeds, without an interval."""
        worst = super().measured(seeds, level)
        largest = max(self.measure(run(self.scenario, seed)) for seed in seeds)
        return Interval(mean=largest, lo=largest, hi=largest, n=worst.n, sd=0.0)


INTERVAL_S = 0.1  # RFC 8289 section 4.2
REFERENCE_S = 0.015  # RFC 8033 appendix A
SHREEDHAR = "Shreedhar and Varghese 1995"
FRAME = 1500


def drop_due(n: int, first: float = 1, interval: float = INTERVAL_S) -> float:
    """Seconds from the first to the n-th drop of a dropping phase that begins with the count `first`.

    After the k-th the next is due interval/√count later, and every drop raises the count (RFC 8289 section 5.6).
    """
    return sum(interval / math.sqrt(first + k) for k in range(n - 1))


def drop_times(record: Record) -> list[float]:
    """When packets were dropped, in s."""
    times: list[float] = record.arrays("events.drop.flow")[0].tolist()
    return times


def phases(times: Sequence[float], interval: float = INTERVAL_S) -> list[list[float]]:
    """Dropping phases: a pause half as long again as the n-th of any phase may be, interval/√n, ends one."""
    found: list[list[float]] = []
    for time in times:
        if found and time - found[-1][-1] <= 1.5 * interval / math.sqrt(len(found[-1])):
            found[-1].append(time)
        else:
            found.append([time])
    return found


def codel_drops(length: float = 1.0) -> Iterator[Law]:
    """The control law, under 2 % too many datagrams: a packet leaves every 0.12 ms, so a drop is that late at most.

    A drop is due interval/√n after the n-th was due, not after it was made, so lateness does not add up. The second
    phase, which begins within 16 intervals of the first's end, goes on with the first's drops less one as its count.
    """
    rate = 100e6
    late = 8 * FRAME / rate + 1e-9
    scenario = Scenario(
        {
            "duration": "12 s",
            "links": {"bottleneck": {"rate": f"{rate:g} bit/s", "queue": {"kind": "codel"}}},
            "groups": {
                "flow": {"users": 1, "path": ["bottleneck"], "traffic": {"kind": "cbr", "rate": "102 Mbit/s"}},
            },
            "record": {"events": ["drop"]},
        }
    )

    def until(n: int, record: Record) -> float:
        first = phases(drop_times(record))[0]
        return first[n - 1] - first[0]

    for n in (10, 100, 1000):
        due = drop_due(n)
        yield Law(
            "CoDel's control law",
            {"drop": n},
            ("codel",),
            "after the first (s)",
            "RFC 8289, section 5.6",
            Bracket(due, due + late, 0.0),
            scenario,
            functools.partial(until, n),
            random=False,
        )

    def again(n: int, record: Record) -> float:
        first, second = phases(drop_times(record))[:2]
        return (second[n - 1] - second[0]) / drop_due(n, len(first) - 1)

    yield Law(
        "CoDel's control law",
        {"drop": "30th of the second phase"},
        ("codel",),
        "after its first / due by the first phase's count",
        "RFC 8289, section 5.5",
        Bracket(1.0, 1.0 + late / drop_due(30, 1000), 0.0),
        scenario,
        functools.partial(again, 30),
        random=False,
    )


def pie_rests(length: float = 1.0) -> Iterator[Law]:
    """PIE's probability stands still, on average, only where the mean delay is the reference.

    Datagrams that nobody holds back make it 1 - C/load. The law leaves out that nothing is dropped while two packets
    wait, 2 % of the reference at 100 Mbit/s, and that below a probability of 0.2 PIE stands by while the delay is below
    half the reference (section 4.1). With TCP the probability varies, and steps of the correction's scale weigh delays
    unlike (section 4.2): 10 % is accepted.
    """
    source = "RFC 8033, section 4.2"
    for load in (1.2, 1.5, 2.0):
        scenario = Scenario(
            {
                "duration": f"{10 + 50 * length:g} s",
                "warmup": "10 s",
                "links": {"bottleneck": {"rate": "100 Mbit/s", "queue": {"kind": "pie"}}},
                "groups": {
                    "flow": {
                        "users": 1,
                        "path": ["bottleneck"],
                        "traffic": {"kind": "poisson", "rate": f"{100 * load:g} Mbit/s"},
                    },
                },
                "record": {"series": [{"of": "links.bottleneck.queue.probability", "every": "15 ms"}]},
            }
        )
        excess = 1 - 1 / load
        for metric, bracket, measure in (
            ("probability", Bracket(excess, excess, 0.02), probability),
            ("mean queue delay (s)", Bracket(REFERENCE_S, REFERENCE_S, 0.05), delay),
        ):
            yield Law("PIE at rest", {"load": f"{load:g} C"}, ("pie",), metric, source, bracket, scenario, measure)
    for flows in (5, 10, 20, 40):
        scenario = Scenario(
            {
                "duration": f"{20 + 180 * length:g} s",
                "warmup": "20 s",
                "links": {"bottleneck": {"rate": "20 Mbit/s", "delay": "30 ms", "queue": {"kind": "pie"}}},
                "groups": {
                    "flows": {
                        "users": flows,
                        "path": ["bottleneck"],
                        "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "2 s"]}},
                        "tcp": {"stack": "rfc", "congestion_control": "newreno"},
                    }
                },
            }
        )
        yield Law(
            "PIE at rest",
            {"NewReno flows": flows},
            ("pie", "newreno", "tcp", "rfc"),
            "mean queue delay (s)",
            source,
            Bracket(REFERENCE_S, REFERENCE_S, 0.1),
            scenario,
            delay,
        )


def probability(record: Record) -> float:
    """Mean of a rule's probability after the warm-up."""
    (name,) = record.series_names
    times, values = record.arrays(name)
    return float(np.mean(values[times > record.json["window_s"][0]]))


def delay(record: Record) -> float:
    """Mean wait, s."""
    return number(record, "links.bottleneck.queue_delay_s_mean")


FAIR: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "drr": ({"scheduler": {"kind": "drr", "per": "flow", "quantum": "1500 B"}, "limit": "1000 packets"}, 1500),
    "sfq": ({"scheduler": {"kind": "sfq", "quantum": "1514 B", "divisor": 65536}, "limit": "127 packets"}, 1520),
    "fq-codel": ({"kind": "fq-codel", "quantum": "1514 B", "flows": 65536, "limit": "1000 packets"}, 1514),
}
"""Queues by scheduler, and the bytes of their turns: SFQ's are whole multiples of 8. So many places never collide."""
LARGE, SMALL = 1504, 304
"""Packets that SFQ does not round up."""


def datagrams(path: Sequence[str], rate: float, size: int, kind: str = "poisson") -> dict[str, Any]:
    """A group of one user that nobody holds back."""
    traffic = {"kind": kind, "rate": f"{rate:g} bit/s", "packet": f"{size} B"}
    return {"users": 1, "path": list(path), "traffic": traffic}


def fairness(length: float = 1.0) -> Iterator[Law]:
    """Two flows that always wait, over every interval; five that ask for unlike rates; one that hardly asks.

    For the first CoDel's target is out of reach, so that FQ-CoDel's flows are never without packets.
    """
    for kind, (queue, quantum) in FAIR.items():
        idle = {"target": "100 s"} if kind == "fq-codel" else {}
        two = Scenario(
            {
                "duration": f"{1 + 20 * length:g} s",
                "warmup": "1 s",
                "links": {"bottleneck": {"rate": "10 Mbit/s", "queue": {**queue, **idle}}, "seen": {"delay": "0 s"}},
                "groups": {
                    "large": datagrams(("bottleneck", "seen"), 15e6, LARGE),
                    "small": datagrams(("bottleneck", "seen"), 15e6, SMALL),
                },
                "record": {"events": ["arrival"]},
            }
        )
        yield Bound(
            "service of two flows that wait",
            {"": kind},
            (kind,),
            "largest difference over any interval (B)",
            SHREEDHAR,
            Bracket(0.0, quantum + 2 * LARGE, 0.0),
            two,
            unfairness,
        )
        rates = (4e6, 6e6, 8e6, 10e6, 12e6)
        five = Scenario(
            {
                "duration": f"{2 + 20 * length:g} s",
                "warmup": "2 s",
                "links": {"bottleneck": {"rate": "10 Mbit/s", "queue": dict(queue)}},
                "groups": {f"f{n}": datagrams(("bottleneck",), rate, FRAME) for n, rate in enumerate(rates)},
            }
        )
        yield Law(
            "five flows that ask for 40 to 120 %",
            {"": kind},
            (kind,),
            "Jain's index",
            "Jain 1984" if kind == "drr" else "Jain 1984; McKenney 1990" if kind == "sfq" else "Jain 1984; RFC 8290",
            Bracket(1.0, 1.0, 0.001),
            five,
            jain_of_groups,
        )
    bulk = 10
    queue, quantum = FAIR["fq-codel"]
    turns = bulk * (quantum + FRAME)  # 24.1 ms: each turn may end with a packet that was begun with a byte of credit
    for gap, bound in ((0.04, FRAME), (0.005, turns + FRAME)):
        groups = {f"f{n}": datagrams(("bottleneck", "seen"), 3e6, FRAME) for n in range(bulk)}
        sparse = datagrams(("bottleneck", "seen"), 8 * SPARSE / gap, SPARSE, "cbr")
        scenario = Scenario(
            {
                "duration": f"{2 + 20 * length:g} s",
                "warmup": "2 s",
                "links": {"bottleneck": {"rate": "10 Mbit/s", "queue": dict(queue)}, "seen": {"delay": "0 s"}},
                "groups": {**groups, "sparse": sparse},
                "record": {"events": ["arrival"]},
            }
        )
        # Back after a round, it is new again and waits for the packet on the wire; sooner, for the others' turns too.
        yield Bound(
            "a sparse flow beside ten that wait",
            {"a packet every": f"{gap * 1e3:g} ms"},
            ("fq-codel",),
            "longest wait (s)",
            "RFC 8290, sections 4.1 and 4.2",
            Bracket(0.0, 8 * bound / 10e6, 0.0),
            scenario,
            longest_sparse_wait,
        )


SPARSE = 100
"""Bytes of a sparse flow's packets."""


def arrivals(record: Record) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Of data packets at links: when, whose (flows in the order of their groups' names), at which link (likewise)."""
    times, flows = record.arrays("events.arrival.flow")
    return times, flows, record.arrays("events.arrival.link")[1]


def unfairness(record: Record) -> float:
    """How far the service of two flows came apart over any interval of the measurement, bytes."""
    times, flows, links = arrivals(record)
    served = (links == 1) & (times > record.json["window_s"][0])
    ahead = np.cumsum(np.where(flows[served] == 0, LARGE, -SMALL))
    return float(np.ptp(np.concatenate(([0], ahead))))


def longest_sparse_wait(record: Record) -> float:
    """The longest wait of the last flow's packets, of which none may be lost, s."""
    times, flows, links = arrivals(record)
    mine = flows == flows.max()
    came, left = times[mine & (links == 0)], times[mine & (links == 1)]
    waits = left - came[: len(left)] - 8 * SPARSE / 10e6
    return float(waits[came[: len(left)] > record.json["window_s"][0]].max())


def jain(rates: Sequence[float]) -> float:
    """Fairness index (Jain 1984)."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def jain_of_groups(record: Record) -> float:
    """Of the groups' throughputs."""
    return jain([group["throughput_bps"] for group in record.json["groups"].values()])


def all_laws(length: float = 1.0) -> Iterator[Law]:
    """CoDel's, PIE's and the schedulers'."""
    return itertools.chain(codel_drops(length), pie_rests(length), fairness(length))


# ns-3.


class Ns3(peers.Ns3):
    """ns-3 with its queue disciplines at the bottleneck."""

    def __init__(self, tree: Path | None = None) -> None:
        super().__init__(tree)
        self.source = HERE / "ns3" / "aqm.cc"

    def arguments(self, scenario: Scenario, seed: int) -> list[str]:
        """What ns3/aqm.cc is told; raises `NotComparableError` where it cannot be."""
        tree = scenario.tree
        _only(tree["links"], {"access", "bottleneck"}, "links")
        access, link = tree["links"]["access"], tree["links"]["bottleneck"]
        _only(access, {"rate", "delay", "per"}, "links.access")
        _expect(access, {"per": "user"}, "links.access")
        _only(link, {"rate", "delay", "queue"}, "links.bottleneck")
        groups, shared = [], set()
        for name, group in tree["groups"].items():
            _expect(group, {"path": ["access", "bottleneck"]}, f"groups.{name}")
            traffic = group["traffic"]
            if traffic["kind"] == "poisson":
                _only(traffic, {"kind", "rate"}, f"groups.{name}.traffic")
                groups.append(f"{name}:{group['users']}:{quantity(traffic['rate']):.0f}")
                continue
            _expect(traffic, {"kind": "bulk"}, f"groups.{name}.traffic")
            _only(traffic, {"kind", "start"}, f"groups.{name}.traffic")
            first, last = map(quantity, traffic["start"]["uniform"])
            _expect({"first start": first}, {"first start": 0.0}, f"groups.{name}.traffic")
            _expect(group["tcp"], TCP, f"groups.{name}.tcp")
            _only(group["tcp"], {*TCP, "ecn"}, f"groups.{name}.tcp")
            shared.add((last, group["tcp"]["ecn"] == "classic"))
            groups.append(f"{name}:{group['users']}:0")
        if len(shared) > 1:
            raise NotComparableError("groups: expected one range of starts, and ECN for all or for none")
        start_max, ecn = shared.pop() if shared else (0.0, False)
        kind, attributes, quantum = discipline(link["queue"])
        options = {
            "groups": ",".join(groups),
            "accessRate": f"{quantity(access['rate']):.0f}bps",
            "accessDelay": f"{round(quantity(access['delay']) * 1e9)}ns",
            "rate": f"{quantity(link['rate']):.0f}bps",
            "delay": f"{round(quantity(link['delay']) * 1e9)}ns",
            "discipline": kind,
            "attributes": ",".join(f"{name}={value}" for name, value in attributes.items()),
            "quantum": f"{quantum:.0f}",
            "duration": repr(quantity(tree["duration"])),
            "warmup": repr(quantity(tree["warmup"])),
            "startMax": repr(start_max),
            "ecn": str(ecn).lower(),
            "run": seed,
        }
        return [f"--{key}={value}" for key, value in options.items()]

    def runs(self, scenario: Scenario, seeds: Sequence[int], *, fresh: bool) -> list[dict[str, Any]]:
        """Records by seed, two at a time."""
        binary = str(self.binary())
        commands = [[binary, *self.arguments(scenario, seed)] for seed in seeds]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(lambda command: peers.kept(self.source, command, fresh=fresh), commands))


SIDE_BY_SIDE = 2
TCP: Mapping[str, Any] = {
    "stack": "rfc",
    "congestion_control": "newreno",
    "sack": True,
    "initial_window": "10 packets",
    "ack_every": 2,
    "min_rto": "1 s",
    "max_window": "1 MiB",
    "mss": "1446 B",
    "header": "54 B",
    "byte_counting": False,
    "slow_start": "standard",
}
"""The TCP of ns3/aqm.cc, as far as a scenario can say it."""


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if more := sorted(set(table) - known):
        raise NotComparableError(f"{where}: {', '.join(more)} cannot be said to ns-3")


def _expect(table: Mapping[str, Any], expected: Mapping[str, Any], where: str) -> None:
    for key, value in expected.items():
        if table.get(key) != value:
            raise NotComparableError(f"{where}.{key}: expected {value!r}, found {table.get(key)!r}")


def discipline(queue: Mapping[str, Any]) -> tuple[str, dict[str, str | float | int], float]:
    """ns-3's type for a queue, its attributes, and FQ-CoDel's quantum in B; every line of the queue has to be said."""
    kind = queue["kind"]
    if kind not in QUEUES:
        raise NotComparableError(f"queue.kind: ns-3 has no {kind}")
    said, shared = QUEUES[kind], {"kind", "limit"}
    if set(queue) != {*said, *shared}:
        raise NotComparableError(f"queue: exactly {', '.join(sorted({*said, *shared}))} are compared")

    def milliseconds(name: str) -> str:
        return f"{quantity(queue[name]) * 1e3:g}ms"

    attributes: dict[str, str | float | int] = {"MaxSize": f"{quantity(queue['limit']):.0f}p"}
    if kind == "pie":
        attributes |= {
            "QueueDelayReference": milliseconds("target"),
            "Tupdate": milliseconds("period"),
            "A": queue["alpha"],
            "B": queue["beta"],
            "MaxBurstAllowance": milliseconds("max_burst"),
            "MeanPktSize": f"{quantity(queue['mean_packet']):.0f}",
            "UseEcn": str(queue["ecn_threshold"] > 0).lower(),
            "MarkEcnThreshold": queue["ecn_threshold"],
            "UseCapDropAdjustment": str(queue["cap"]).lower(),
        }
        return "ns3::PieQueueDisc", attributes, 0.0
    attributes |= {
        "Target": milliseconds("target"),
        "Interval": milliseconds("interval"),
        "UseEcn": str(queue["ecn"]).lower(),
    }
    if kind == "codel":
        attributes["MinBytes"] = f"{quantity(queue['max_packet']):.0f}"
        return "ns3::CoDelQueueDisc", attributes, 0.0
    attributes |= {"Flows": queue["flows"], "DropBatchSize": queue["drop_batch"]}
    return "ns3::FqCoDelQueueDisc", attributes, quantity(queue["quantum"])


CODEL: Mapping[str, Any] = {"target": "5 ms", "interval": "100 ms", "max_packet": "1500 B", "ecn": True}
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "codel": CODEL,
    "pie": {
        "target": "15 ms",
        "period": "15 ms",
        "alpha": 0.125,
        "beta": 1.25,
        "max_burst": "150 ms",
        "mean_packet": "1000 B",
        "ecn_threshold": 0.1,
        "cap": True,
    },
    "fq-codel": {**CODEL, "flows": 1024, "quantum": "1514 B", "drop_batch": 64},
}
"""The compared queues, every line said. ns-3 has a mean packet of 1000 B and the cap of RFC 8033 section 5.5."""


@dataclass(frozen=True)
class Point:
    """One point of a comparison."""

    name: str
    label: Mapping[str, str | int]
    of: tuple[str, ...]
    scenario: Scenario


def simulated() -> Iterator[Point]:
    """CoDel, PIE and FQ-CoDel with 1, 5 and 20 NewReno flows, dropping and marking, and with too many datagrams."""
    base = Scenario.load(HERE / "scenarios" / "aqm.toml")
    for kind, lines in QUEUES.items():
        queued = base.set("links.bottleneck.queue", {"kind": kind, "limit": "1000 packets", **lines})
        for ecn in ("off", "classic"):
            for flows in (1, 5, 20):
                scenario = queued.with_settings({"groups.flows.users": flows, "groups.flows.tcp.ecn": ecn})
                label: dict[str, str | int] = {"ECN": ecn, "flows": flows}
                yield Point(f"newreno-{kind}", label, (kind, "newreno", "tcp", "rfc"), scenario)
        for load in (12, 20):
            datagrams = {"users": 1, "path": ["access", "bottleneck"]} | {
                "traffic": {"kind": "poisson", "rate": f"{load} Mbit/s"}
            }
            beside = dict(queued.tree["groups"]) if kind == "fq-codel" else {}
            scenario = queued.set("groups", {**beside, "datagrams": datagrams})
            asked: dict[str, str | int] = {"datagrams": f"{load} Mbit/s"}
            yield Point(f"datagrams-{kind}", asked | ({"flows": 5} if beside else {}), (kind, "poisson"), scenario)


def metrics(record: Mapping[str, Any]) -> dict[str, float]:
    """What is compared of anybody's record."""
    link = record["links"]["bottleneck"]

    dropped = link["dropped_packets"] if "dropped_packets" in link else sum(link["drops"].values())
    marked = link["marked_packets"] if "marked_packets" in link else sum(link["marks"].values())
    found: dict[str, float] = {}
    for name, group in record["groups"].items():
        found[f"goodput of {name} (bit/s)"] = sum(group["users_goodput_bps"])
    found["mean queue delay (s)"] = link["queue_delay_s_mean"]
    found["drops per packet"] = dropped / link["arrived_packets"]
    found["marks per packet"] = marked / link["arrived_packets"]
    rates = record["groups"].get("flows", {}).get("users_goodput_bps", [])
    if len(rates) > 1:
        found["Jain's index"] = jain(rates)
    return found


# ns-2.

FAIR_SECONDS, FAIR_WARMUP, FAIR_RATE = 60, 10, 5e6


@dataclass(frozen=True)
class Fair:
    """Senders (bit/s, bytes of a packet) that nobody holds back, through ns-2's DRR or SFQ and through ours."""

    kind: str
    limit: int
    senders: Mapping[str, tuple[float, int]]

    @property
    def label(self) -> dict[str, str | int]:
        """As the table shows it."""
        asked = ", ".join(f"{rate / 1e6:g} Mbit/s" for rate, _ in self.senders.values())
        return {"senders": asked}

    @property
    def scenario(self) -> Scenario:
        """Ours."""
        scheduler = {"kind": self.kind} | ({"per": "flow", "quantum": "1500 B"} if self.kind == "drr" else {})
        limit = f"{self.limit} {'B' if self.kind == 'drr' else 'packets'}"
        queue = {"limit": limit, "scheduler": scheduler}
        return Scenario(
            {
                "duration": f"{FAIR_SECONDS} s",
                "warmup": f"{FAIR_WARMUP} s",
                "links": {"bottleneck": {"rate": f"{FAIR_RATE:g} bit/s", "queue": queue}},
                "groups": {name: datagrams(("bottleneck",), *sender) for name, sender in self.senders.items()},
            }
        )

    def runs(self, peer: peers.Ns2, seeds: Sequence[int], *, fresh: bool) -> list[dict[str, float]]:
        """ns-2's, by seed."""
        source = HERE / "ns2" / "fair.tcl"
        options = {
            "kind": self.kind.upper(),
            "senders": ",".join(f"{name}:{rate:.0f}:{size}" for name, (rate, size) in self.senders.items()),
            "rate": f"{FAIR_RATE:.0f}",
            "limit": self.limit,
            "quantum": 1500,
            "duration": FAIR_SECONDS,
            "warmup": FAIR_WARMUP,
        }
        command = [str(peer.binary), str(source), *(f"{key}={value}" for key, value in options.items())]
        records = [peers.kept(source, [*command, f"seed={seed}"], fresh=fresh) for seed in seeds]
        return [_of_senders(record["senders"]) for record in records]

    def ours(self, record: Record) -> dict[str, float]:
        """The same of a record of ours."""
        found = {}
        for name in self.senders:
            group = record.json["groups"][name]
            loss = group["losses"] / (group["losses"] + group["delivered_packets"])
            found[name] = {"rate_bps": group["throughput_bps"], "loss": loss}
        return _of_senders(found)


def _of_senders(senders: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    rates = {f"rate of {name} (bit/s)": sender["rate_bps"] for name, sender in senders.items()}
    return rates | {f"drops of {name} per packet": sender["loss"] for name, sender in senders.items()}


def fair() -> Iterator[Fair]:
    """DRR, where one asks for less than its share and one has small packets; SFQ with equal ones, which ns-2 counts."""
    unlike = {"a": (1e6, 1000), "b": (3e6, 1000), "c": (4e6, 500)}
    yield Fair("drr", 25_000, unlike)
    for rates in ((3e6, 4e6, 5e6), (1e6, 3e6, 4e6)):
        yield Fair("sfq", 100, {name: (rate, 1000) for name, rate in zip("abc", rates, strict=True)})
