"""CAKE, fq and FQ-PIE of a Linux kernel: rates, drops, marks and delays of each sender, compared with ours.

`linux_queues` explains how a kernel is asked. CAKE shapes by itself. CAKE without a shaper, fq and FQ-PIE are below an
HTB of 5 Mbit/s. Senders do not react. As in a scenario, a group of senders has one destination, and each user of it a
source. Linux updates PIE's probabilities in ticks, so the period is 20 ms (`linux_aqm`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from evenflow import Record, Scenario
from linux_aqm import PIE
from linux_queues import DEVICE, Asked, Packets, Sender

RATE = 5e6
RUNS = 5
BUCKET = 3_028  # bytes, two frames: a larger one is a second queue where loads are below the rate
SECONDS, WARMUP = 30.0, 10.0
BULK, AF21, AF41, EF, CS6 = 8, 18, 34, 46, 48  # DSCPs
Seen = tuple[float, float, float, float]
"""Rate (bit/s), drops per packet, marks per packet, mean delay (s), of a packet that left, of one flow."""


@dataclass(frozen=True)
class Load:
    """Flows that are alike: `users` of one group with `flows` each."""

    sender: Sender
    users: int = 1
    flows: int = 1

    def told(self, group: int, first: int) -> list[Sender]:
        """For the kernel: its flows. Users are counted from `first`."""
        return [
            replace(self.sender, source=first + user, destination=group)
            for user in range(self.users)
            for _ in range(self.flows)
        ]

    def group(self, name: str) -> dict[str, Any]:
        """For ours."""
        traffic = {
            "kind": self.sender.kind,
            "rate": f"{self.sender.rate:g} bit/s",
            "packet": f"{self.sender.size} B",
            "ecn_capable": self.sender.ecn_capable,
        }
        head = {"users": self.users, "path": ["link"], "class": name, "dscp": self.sender.dscp}
        return {**head, "traffic": [traffic] * self.flows}


@dataclass(frozen=True)
class Case:
    """One comparison: the kernel's discipline as arguments of `tc`, and our queue.

    `shapes`: the discipline has the rate, not an HTB above it. `leaves` (bit/s) is the least that leaves.
    """

    name: str
    of: str
    discipline: Sequence[str]
    queue: Mapping[str, Any]
    loads: Mapping[str, Load]
    shapes: bool = True
    leaves: float = RATE
    seconds: float = SECONDS
    warmup: float = WARMUP

    @cached_property
    def flows(self) -> list[tuple[str, Sender]]:
        """Each flow with the name of its load."""
        found: list[tuple[str, Sender]] = []
        users = 0
        for group, (name, load) in enumerate(self.loads.items()):
            found += [(name, sender) for sender in load.told(group, users)]
            users += load.users
        return found

    @cached_property
    def asked(self) -> Asked:
        """The kernel's run."""
        rate = f"{RATE:.0f}bit"
        if self.shapes:
            tc: list[Sequence[str]] = [("qdisc", "add", *DEVICE, "root", *self.discipline)]
        else:
            shape = ("htb", "rate", rate, "ceil", rate, "burst", f"{BUCKET}b", "cburst", f"{BUCKET}b")
            tc = [
                ("qdisc", "add", *DEVICE, "root", "handle", "1:", "htb", "default", "1"),
                ("class", "add", *DEVICE, "parent", "1:", "classid", "1:1", *shape, "quantum", "1514"),
                ("qdisc", "add", *DEVICE, "parent", "1:1", *self.discipline),
            ]
        return Asked(tc, [sender for _, sender in self.flows], self.leaves, self.seconds, self.warmup)

    @cached_property
    def scenario(self) -> Scenario:
        """The same for ours."""
        queue = {"kind": self.of, **self.queue}
        if self.shapes:
            queue["rate"] = f"{RATE:g} bit/s"
        link = {"rate": "1 Gbit/s" if self.shapes else f"{RATE:g} bit/s", "queue": queue}
        return Scenario(
            {
                "duration": f"{self.seconds} s",
                "warmup": f"{self.warmup} s",
                "links": {"link": link},
                "groups": {f"g{n}": load.group(f"g{n}") for n, load in enumerate(self.loads.values())},
            }
        )

    @property
    def check(self) -> str:
        """The comparison's name."""
        return f"linux-{self.of}"

    def seen(self, packets: Packets) -> dict[str, dict[str, float]]:
        """Metrics of each load in a kernel's run."""
        measured = self.asked.measured(packets)
        last = {int(packet[0]): packet[1] for packet in packets if packet[3] <= self.warmup}
        found: dict[str, list[Seen]] = {name: [] for name in self.loads}
        for n, ((name, sender), mine) in enumerate(zip(self.flows, measured, strict=True)):
            bits = 8 * sender.size * len(mine) / (self.seconds - self.warmup)
            passed = [packet[1] for packet in mine]
            sent = passed[-1] - last.get(n, passed[0] - 1) if passed else 0
            lost = 1 - len(mine) / sent if sent else 0.0
            marked = sum(packet[4] for packet in mine) / len(mine) if mine else 0.0
            delay = fmean(packet[3] - packet[2] for packet in mine) if mine else 0.0
            found[name].append((bits, lost, marked, delay))
        return {name: named([fmean(values) for values in zip(*seen, strict=True)]) for name, seen in found.items()}

    def seen_of_ours(self, record: Record) -> dict[str, dict[str, float]]:
        """The same in our record."""
        found = {}
        for n, (name, load) in enumerate(self.loads.items()):
            seen = record.json["links"]["link"]["classes"][f"g{n}"]
            passed, flows = seen["delivered_packets"], load.users * load.flows
            lost = sum(seen["drops"].values())
            found[name] = named(
                [
                    8 * load.sender.size * passed / (self.seconds - self.warmup) / flows,
                    lost / (lost + passed) if passed else 0.0,
                    sum(seen["marks"].values()) / passed if passed else 0.0,
                    seen["queue_delay_s_mean"] or 0.0,
                ]
            )
        return found


def named(seen: Sequence[float]) -> dict[str, float]:
    """As metrics."""
    names = ("rate (bit/s)", "drops per packet", "marks per packet", "mean delay (s)")
    return dict(zip(names, seen, strict=True))


def poisson(rate: float, size: int = 1014, dscp: int = 0, ecn_capable: bool = False) -> Load:
    """One flow."""
    return Load(Sender(rate, size, dscp=dscp, ecn_capable=ecn_capable))


THREE = {"1 Mbit/s": poisson(1e6), "3 Mbit/s": poisson(3e6), "4 Mbit/s, 514 B": poisson(4e6, 514)}
ONE_HOST = {"1 flow of a host": poisson(3e6), "10 flows of a host": Load(Sender(1e6), flows=10)}
ONE_SERVER = {"1 host to its server": poisson(3e6), "4 hosts to one server": Load(Sender(2e6), users=4)}
TINS = {"best effort": poisson(5e6), "bulk": poisson(1e6, dscp=BULK), "voice": poisson(3e6, dscp=EF)}


def cake() -> Iterator[Case]:
    """CAKE: rates, tins, hosts, framing, marks, a full buffer; then without its shaper, and fq."""

    def case(name: str, told: str, queue: Mapping[str, Any], loads: Mapping[str, Load], leaves: float = RATE) -> Case:
        discipline = ("cake", "bandwidth", f"{RATE:.0f}bit", *told.split())
        return Case(name, "cake", discipline, queue, loads, leaves=leaves)

    flat = {"tins": "besteffort"}
    yield case("besteffort", "besteffort", flat, THREE)
    yield case("diffserv3", "diffserv3", {}, TINS)
    voice = {"best effort": poisson(6e6), "voice": poisson(1e6, 214, EF)}
    yield case("diffserv3, little voice", "diffserv3", {}, voice)
    four = {
        "best effort": poisson(2e6),
        "bulk": poisson(1e6, dscp=BULK),
        "video": poisson(4e6, dscp=AF41),
        "voice": poisson(2e6, dscp=EF),
    }
    tins = case("diffserv4", "diffserv4", {"tins": "diffserv4"}, four)
    yield tins
    eight = {
        "best effort": poisson(4e6),
        "video": poisson(1e6, dscp=AF41),
        "low latency": poisson(0.5e6, dscp=AF21),
        "voice": poisson(0.5e6, 214, EF),
        "control": poisson(1e6, dscp=CS6),
    }
    yield case("diffserv8", "diffserv8", {"tins": "diffserv8"}, eight)
    hosts = case("triple-isolate", "besteffort triple-isolate", flat, ONE_HOST)
    yield hosts
    for settled in (tins, hosts):
        # Queues of the beginning are short of signals: the mean delay shows when the first one came.
        yield replace(settled, name=f"{settled.name}, seconds 3 to 10", seconds=10.0, warmup=3.0)
    yield case("triple-isolate, servers", "besteffort triple-isolate", flat, ONE_SERVER)
    dual = {**flat, "isolation": "dual-srchost"}
    yield case("dual-srchost, servers", "besteffort dual-srchost", dual, ONE_SERVER)
    yield case("flows", "besteffort flows", {**flat, "isolation": "flows"}, ONE_HOST)
    yield case("ingress", "besteffort ingress", {**flat, "ingress": True}, THREE, leaves=0.6 * RATE)
    # Ethernet's header, 14 B, counts in Evenflow's packets, not in Linux with `overhead`.
    atm = {**flat, "overhead": "44 B", "framing": "atm"}
    yield case("overhead 58 atm", "besteffort overhead 58 atm", atm, THREE, leaves=0.8 * RATE)
    yield case("memory 230 kB", "besteffort memlimit 230000", {**flat, "memory_limit": "230 kB"}, THREE)
    mild = {"4.6 Mbit/s, ECT": poisson(4.6e6, ecn_capable=True)}
    yield case("ECN", "besteffort", flat, mild, leaves=0.9 * RATE)
    discipline = ("cake", "unlimited", "diffserv3")
    yield Case("diffserv3, unlimited", "cake", discipline, {}, TINS, shapes=False)
    yield Case("fq", "fq", ("fq", "limit", "10000", "flow_limit", "100"), {}, THREE, shapes=False)


def fq_pie() -> Iterator[Case]:
    """FQ-PIE: drops, marks, and two loads that are far apart; then the first seconds of the last."""
    span = (60.0, 30.0)  # the probability needs seconds to settle

    def case(
        name: str,
        told: str,
        queue: Mapping[str, Any],
        loads: Mapping[str, Load],
        leaves: float,
        time: tuple[float, float],
    ) -> Case:
        parameters = [*PIE[2:-1], "limit", "10240", "flows", "1024", "quantum", "1514"]
        ours = {"period": "20 ms", "limit": "10240 packets", **queue}
        discipline = ("fq_pie", *parameters, told)
        return Case(name, "fq-pie", discipline, ours, loads, False, leaves, *time)

    yield case("drops", "noecn", {}, THREE, RATE, span)
    marked = {"4.9 Mbit/s, ECT": poisson(4.9e6, ecn_capable=True)}
    yield case("ECN", "ecn", {"ecn": True}, marked, 0.94 * RATE, span)
    two = {"0.3 Mbit/s": poisson(0.3e6), "7 Mbit/s": poisson(7e6)}
    yield case("0.3 and 7 Mbit/s", "noecn", {}, two, RATE, span)
    yield case("0.3 and 7 Mbit/s, first 5 s", "noecn", {}, two, 0.9 * RATE, (5.0, 0.0))
