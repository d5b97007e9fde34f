"""CAKE beside a second implementation, written from tc-cake(8) and the behaviour of Linux' sch_cake."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import evenflow as ef
import pytest

BYTE = 1 << 16
"""A byte of credits."""

NAMED = {f"CS{n}": 8 * n for n in range(8)} | {f"AF{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)}
NAMED |= {"EF": 46, "VA": 44, "LE": 1, "TOS1": 1, "TOS2": 2, "TOS4": 4}
AF = {c: [f"AF{c}{d}" for d in (1, 2, 3)] for c in range(1, 5)}
TINS: dict[str, tuple[int, dict[int, list[str]]]] = {
    "besteffort": (0, {}),
    "diffserv3": (0, {1: ["CS1", "LE"], 2: ["TOS4", "VA", "EF", "CS6", "CS7"]}),
    "diffserv4": (
        0,
        {
            1: ["CS1", "LE"],
            2: [*AF[4], *AF[3], "CS3", *AF[2], "TOS4", "CS2"],
            3: ["CS7", "CS6", "EF", "VA", "CS5", "CS4"],
        },
    ),
    "diffserv8": (
        2,
        {
            0: ["LE"],
            1: ["CS1", *AF[1], "TOS2"],
            3: [*AF[4], *AF[3], "CS3"],
            4: [*AF[2], "TOS4"],
            5: ["CS2"],
            6: ["EF", "VA", "CS5", "CS4"],
            7: ["CS6", "CS7"],
        },
    ),
}


def tin_of(tins: str, dscp: int) -> int:
    """The tin of a DSCP: other code points have the first number."""
    if tins == "precedence":
        return dscp // 8
    usual, rest = TINS[tins]
    return next((tin for tin, names in rest.items() if dscp in [NAMED[name] for name in names]), usual)


@pytest.mark.parametrize("tins", [*TINS, "precedence"])
def test_tins_by_dscp(tins: str) -> None:
    cake = ef.mechanism("cake", tins=tins, isolation="flows")
    for dscp in range(64):
        assert cake.enqueue(id=dscp, queue=5, dscp=dscp)["queue"] // 1024 == tin_of(tins, dscp)
    assert cake.enqueue(id=64, queue=5, dscp="EF")["queue"] // 1024 == tin_of(tins, 46)
    assert cake.enqueue(id=65, queue=5, cls="ef")["queue"] // 1024 == tin_of(tins, 46)


@dataclass
class Flow:
    source: int
    destination: int
    packets: deque[tuple[int, int]] = field(default_factory=deque)
    deficit: int = 0
    kind: str = "idle"


@dataclass
class Tin:
    byte_ns: int
    quantum: int
    share: int
    new: list[int] = field(default_factory=list)
    old: list[int] = field(default_factory=list)
    flows: dict[int, Flow] = field(default_factory=dict)
    next: int = 0
    credit: int = 0


SCALES = {"besteffort": [1], "diffserv3": [1, 16, 4], "diffserv4": [1, 16, 2, 4]}


class Cake:
    """Tins, DRR++ with host loads and the shaper. Drops by COBALT are taken over from the tested implementation."""

    def __init__(self, tins: str, isolation: str, shaped: bool, ingress: bool) -> None:
        self.kind, self.isolation, self.ingress = tins, isolation, ingress
        rate = 1_000_000 if shaped else 0  # B/s
        self.byte_ns = 1000 if shaped else 0
        self.tins = [
            Tin(self.byte_ns * scale, max(300, min(1514, rate // scale // 4096)) if shaped else 1514, 1024 // scale)
            for scale in SCALES[tins]
        ]
        if tins == "besteffort":
            self.tins[0].share = 65535
        self.next = self.failsafe = self.packets = self.turn = 0

    def credits(self, tin: Tin, flow: Flow) -> int:
        sources = [f for f in tin.flows.values() if f.kind == "bulk" and f.source == flow.source]
        destinations = [f for f in tin.flows.values() if f.kind == "bulk" and f.destination == flow.destination]
        loads = [1]
        if self.isolation in ("dual-srchost", "triple-isolate"):
            loads.append(len(sources))
        if self.isolation in ("dual-dsthost", "triple-isolate"):
            loads.append(len(destinations))
        return tin.quantum * (65535 // max(loads))

    def arrive(self, now: int, number: int, size: int, dscp: int, key: int, source: int, destination: int) -> None:
        tin = self.tins[tin_of(self.kind, dscp)]
        flow = tin.flows.setdefault(key, Flow(source, destination))
        if not any(f.packets for f in tin.flows.values()):
            tin.next = max(tin.next, now)
            if not self.packets and self.next < now:
                self.next = self.failsafe = now
        if flow.kind == "idle":
            tin.new.append(key)
            flow.kind, flow.deficit = "sparse", self.credits(tin, flow)
        elif flow.kind == "waiting":
            flow.kind = "bulk"
        flow.packets.append((number, size))
        self.packets += 1

    def due(self) -> int:
        return min(self.next, self.failsafe)

    def choose(self, now: int) -> Tin:
        active = [tin for tin in self.tins if tin.new or tin.old]
        if self.byte_ns:
            ahead = [tin for tin in active if tin.next <= now]
            return ahead[-1] if ahead else min(reversed(active), key=lambda tin: tin.next)
        while True:
            tin = self.tins[self.turn]
            if tin.credit >= 0 and tin in active:
                return tin
            if tin.credit <= 0:
                tin.credit += tin.share
            self.turn = (self.turn + 1) % len(self.tins)

    def head(self, tin: Tin) -> int:
        while True:
            served = tin.new or tin.old
            flow = tin.flows[served[0]]
            if flow.deficit > 0:
                return served[0]
            if flow.kind == "sparse":
                flow.kind = "bulk" if flow.packets else "waiting"
            flow.deficit += self.credits(tin, flow)
            tin.old.append(served.pop(0))

    def charge(self, tin: Tin, flow: Flow, size: int, now: int, dropped: bool) -> None:
        flow.deficit -= size * BYTE
        tin.credit -= size
        self.next += size * self.byte_ns
        self.failsafe += 0 if dropped else size * self.byte_ns * 3 // 2
        time = size * tin.byte_ns
        tin.next = tin.next + time if tin.next < now else max(tin.next, now + time)

    def depart(self, now: int, dropped: list[int]) -> int | None:
        while self.packets and not (self.byte_ns and self.due() > now):
            tin = self.choose(now)
            while True:
                key = self.head(tin)
                flow = tin.flows[key]
                if not flow.packets:
                    (tin.new or tin.old).pop(0)
                    flow.kind = "idle"
                    break
                gone = False
                while flow.packets:
                    number, size = flow.packets.popleft()
                    self.packets -= 1
                    gone = number in dropped
                    if not gone:
                        self.charge(tin, flow, size, now, False)
                        return number
                    assert flow.packets, "the last packet is not dropped"
                    dropped.remove(number)
                    if self.ingress:
                        self.charge(tin, flow, size, now, True)
                        break
        return None


HOSTS = [(1, 10), (1, 11), (1, 12), (1, 13), (2, 14), (2, 10), (3, 10), (4, 15), (5, 16)]


@pytest.mark.parametrize("isolation", ["triple-isolate", "dual-srchost", "dual-dsthost", "flows"])
@pytest.mark.parametrize(("tins", "shaped", "ingress"), [
    ("diffserv3", True, False),
    ("diffserv4", True, True),
    ("diffserv4", False, False),
    ("besteffort", True, False),
])  # fmt: skip
@pytest.mark.parametrize("load", [0.8, 1.5])
def test_packets_leave_as_in_a_second_implementation(
    isolation: str, tins: str, shaped: bool, ingress: bool, load: float
) -> None:
    seed = len(isolation) + int(10 * load)
    rng = random.Random(seed)
    shaper = {"rate": "8 Mbit/s", "ingress": ingress} if shaped else {}
    ours = ef.mechanism("cake", tins=tins, isolation=isolation, seed=seed, **shaper)
    model = Cake(tins, isolation, shaped, ingress)
    now = free = sent = drops = 0

    def serve(until: int) -> None:
        nonlocal free, sent, drops
        while free <= until:
            got = ours.dequeue(now_s=free / 1e9)
            dropped = list(got["dropped"])
            drops += len(dropped)
            assert model.depart(free, dropped) == got["id"]
            assert not dropped
            if got["id"] is not None:
                sent += 1
                free += 300_000 if shaped else 1000 * int(got["bytes"])
            elif got.get("next_s") is not None:
                assert round(got["next_s"] * 1e9) == model.due()
                free = model.due()
            else:
                break
        free = max(free, until)

    for number in range(4000):
        now += int(rng.expovariate(load / 800_000))
        serve(now)
        flow = rng.choice([*range(9), *range(5), 0, 0])
        dscp = rng.choice([0, 0, 0, 8, 34, 46])
        size = rng.choice([60, 500, 1000, 1514])
        source, destination = HOSTS[flow]
        told = {"queue": flow, "dscp": dscp, "source": source, "destination": destination}
        answer = ours.enqueue(now_s=now / 1e9, id=number, bytes=size, ecn="not-capable", **told)
        assert "refused" not in answer
        assert "dropped" not in answer
        model.arrive(now, number, size, dscp, flow, source, destination)
    serve(now + 10**12)
    assert sent + drops == 4000
    assert drops > (20 if load > 1 else -1)


def redundant(waiting: list[dict[str, Any]], new: dict[str, Any], aggressive: bool) -> int | None:
    """The waiting ACK that the filter drops for `new`."""
    found: list[dict[str, Any]] = []
    if new.get("ack") is None:
        return None
    for old in [one for one in waiting if one["queue"] == new["queue"]]:
        if found and old["ece"] != found[0]["ece"]:
            found = found[1:] if len(found) > 1 else []
        if old["segment"] != "ack" or old["ack"] > new["ack"] or old["stamp"] > new["stamp"] > 0:
            continue
        inside = all(any(a <= c and d <= b for a, b in new["sack"]) and c >= old["ack"] for c, d in old["sack"])
        more = sum(b - a for a, b in new["sack"]) > sum(b - a for a, b in old["sack"])
        if inside and (more or old["ack"] < new["ack"]):
            found.append(old)
        if len(found) == 2:
            return int(found[0]["id"])
    alone = found and aggressive and waiting[-1] is found[0] and found[0]["ece"] == new["ece"]
    return int(found[0]["id"]) if alone else None


@pytest.mark.parametrize("ack_filter", ["filter", "aggressive"])
@pytest.mark.parametrize("seed", range(20))
def test_the_ack_filter_drops_as_a_second_implementation(ack_filter: str, seed: int) -> None:
    rng = random.Random(seed)
    ours = ef.mechanism("cake", isolation="flowblind", ack_filter=ack_filter)
    waiting: list[dict[str, Any]] = []
    ack, drops = [0, 0], 0
    for number in range(400):
        flow = rng.choice([0, 0, 1])
        ack[flow] += rng.choice([0, 0, 1, 2])
        at = ack[flow]
        block = lambda: (start := at + rng.randrange(1, 5), start + rng.randrange(1, 5))  # noqa: B023, E731
        packet: dict[str, Any] = {
            "id": number,
            "queue": flow,
            "segment": rng.choice(["ack"] * 12 + ["fin", "data"]),
            "ack": at,
            "ece": rng.random() < 0.15,
            "sack": [block() for _ in range(rng.choice([0, 0, 0, 1, 2]))],
            "stamp": number // 3 + 1,
        }
        expected = redundant(waiting, packet, ack_filter == "aggressive")
        answer = ours.enqueue(now_s=0, bytes=60, **packet)
        assert answer.get("dropped", []) == ([] if expected is None else [expected])
        waiting = [one for one in waiting if one["id"] != expected] + [packet]
        drops += expected is not None
        if rng.random() < 0.4:
            assert ours.dequeue(now_s=0)["id"] == waiting.pop(0)["id"]
    assert drops > 20


def test_host_isolation_needs_hosts() -> None:
    with pytest.raises(ef.UsageError, match='give source and destination, or isolation="flows"'):
        ef.mechanism("cake").enqueue(id=1)
    ef.mechanism("cake", isolation="flows").enqueue(id=1)


def scenario(groups: dict[str, Any], queue: dict[str, Any], duration: str = "12 s") -> ef.Scenario:
    link = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": {"kind": "cake", **queue}}
    common = {"users": 1, "path": ["line"], "traffic": {"kind": "bulk"}}
    return ef.Scenario({
        "duration": duration,
        "warmup": "2 s",
        "links": {"line": link},
        "groups": {name: {**common, **group} for name, group in groups.items()},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "queue", "path", "why"),
    [
        ({"a": {"dscp": "EG"}}, {}, "groups.a.dscp", '"EG" is no DSCP; did you mean "EF"'),
        ({"a": {"dscp": "af41"}}, {}, "groups.a.dscp", 'did you mean "AF41"'),
        ({"a": {"dscp": 64}}, {}, "groups.a.dscp", "64 is no DSCP; write a number from 0 to 63"),
        ({"a": {}}, {"rate": "20 Mbit/s"}, "links.line.queue.rate", "more than the link's 10000000 bit/s"),
        ({"a": {}}, {"overhead": "1600 B"}, "links.line.queue.overhead", "must be at least -64, at most 256 B"),
        ({"a": {}}, {"isolation": "triple"}, "links.line.queue.isolation", "triple-isolate"),
        ({"a": {}}, {"tins": "diffserv5"}, "links.line.queue.tins", "diffserv"),
        ({"a": {}}, {"memory_limit": "1 kB"}, "links.line.queue.memory_limit", "must hold a packet"),
        ({"a": {}}, {"scheduler": {"kind": "drr"}}, "links.line.queue.scheduler", "cake is a scheduler itself"),
    ],
)
def test_bad_input_says_where_and_why(groups: Any, queue: Any, path: str, why: str) -> None:
    with pytest.raises(ef.ScenarioError) as error:
        scenario(groups, queue).check()
    assert path in str(error.value)
    assert why in str(error.value)


def test_dscp_has_one_spelling_and_leaves_other_scenarios_alone() -> None:
    plain = scenario({"a": {}}, {})
    assert "dscp" not in plain.written_out().to_json()
    assert scenario({"a": {"dscp": 46}}, {}).hash == scenario({"a": {"dscp": "EF"}}, {}).hash != plain.hash
    inner = {"a": {"dscp": "CS1", "traffic": {"kind": "bulk", "dscp": "EF"}}}
    assert scenario(inner, {}).hash == scenario({"a": {"dscp": "EF"}}, {}).hash


def rates(record: ef.Record, *groups: str) -> list[float]:
    return [record.json["groups"][group]["throughput_bps"] / 1e6 for group in groups]


# A full buffer would make BLUE empty the queues of senders that never slow down.
BACKLOGGED = {"memory_limit": "500 MB"}


def datagrams(rate: str) -> dict[str, Any]:
    return {"kind": "poisson", "rate": rate, "packet": "1500 B"}


def test_two_hosts_share_equally_and_the_shaper_keeps_its_rate() -> None:
    def shares(isolation: str) -> list[float]:
        groups = {"one": {"traffic": datagrams("12 Mbit/s")}, "ten": {"traffic": [datagrams("6 Mbit/s")] * 10}}
        queue = {"rate": "8 Mbit/s", "overhead": "44 B", "framing": "atm", "isolation": isolation, **BACKLOGGED}
        return rates(ef.run(scenario(groups, queue, "6 s"), seed=1), "one", "ten")

    # Packets of 1500 bytes in 33 cells of 53 bytes.
    whole = 8 * 1500 / 1749
    assert shares("dual-srchost") == pytest.approx([whole / 2] * 2, rel=0.02)
    assert shares("flows") == pytest.approx([whole / 11, whole * 10 / 11], rel=0.02)


def test_tins_share_a_saturated_link() -> None:
    codes = {"rest": 0, "bulk": "CS1", "voice": "EF"}
    groups = {name: {"dscp": dscp, "traffic": datagrams("15 Mbit/s")} for name, dscp in codes.items()}
    shares = rates(ef.run(scenario(groups, {"rate": "9 Mbit/s", **BACKLOGGED}, "6 s"), seed=1), *codes)
    assert shares == pytest.approx([9 * 11 / 16, 9 / 16, 9 / 4], rel=0.01)


def test_the_ack_filter_replaces_other_drops_of_acks() -> None:
    found, drops = {}, {}
    for ack_filter in ("off", "filter", "aggressive"):
        back = {"rate": "100 kbit/s", "queue": {"kind": "cake", "ack_filter": ack_filter}}
        tree = scenario({"a": {}}, {}).tree
        tree["links"]["line"] |= {"rate": "20 Mbit/s", "reverse": back}
        record = ef.run(ef.Scenario(tree), seed=1)
        found[ack_filter] = rates(record, "a")[0]
        drops[ack_filter] = record.json["links"]["line"]["reverse"]["drops"]
    assert found["off"] < found["filter"] <= found["aggressive"] * 1.02
    assert "ack_filter" not in drops["off"]
    assert drops["filter"]["ack_filter"] > 1000 > 10 * drops["filter"].get("codel", 0)


def test_flows_of_all_modes_conserve_packets() -> None:
    for isolation, tins in itertools.product(("flowblind", "hosts", "triple-isolate"), ("diffserv8", "precedence")):
        groups = {f"g{n}": {"dscp": dscp} for n, dscp in enumerate(("LE", "AF41", "CS6"))}
        queue = {"isolation": isolation, "tins": tins, "rate": "9 Mbit/s", "ingress": True, "memory_limit": "60 kB"}
        record = ef.run(scenario(groups, queue, "6 s"), seed=2)
        assert record.json["links"]["line"]["utilisation"] > 0.7
