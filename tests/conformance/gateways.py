"""Vectors for gateways: who has a session and what share, and the windows that a tuner lets pass.

Written a second time from Ben Ameur et al. 2016, section 2, and RFC 7323, section 2.2, in fractions. A tuner's whole
log of a connection is read again for each segment. Nothing of Evenflow is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from stages import SECOND, write

LADDER = (248_000, 456_000, 928_000, 1_632_000, 4_256_000)
Dice = Callable[[], float]


@dataclass(frozen=True)
class Line:
    """What all sessions get together, bit/s; the levels of the videos, or none: equal shares."""

    capacity: int
    ladder: tuple[int, ...] = ()
    margin: Fraction = Fraction(11, 10)

    def shares(self, count: int) -> list[Fraction]:
        """In the order of the sessions: the fairest share that is a level, then upgrades, one after another.

        Never more than there is: equal shares where not even the lowest level of all fits.
        """
        costs = [self.margin * bitrate for bitrate in self.ladder]
        if not costs or costs[0] * count > self.capacity:
            return [Fraction(self.capacity, count)] * count
        fair = max(k for k, cost in enumerate(costs) if cost * count <= self.capacity)
        levels, before = [fair] * count, None
        while levels != before:
            before = list(levels)
            for n in range(count):
                higher = [*levels[:n], levels[n] + 1, *levels[n + 1 :]]
                if higher[n] < len(costs) and sum(costs[k] for k in higher) <= self.capacity:
                    levels = higher
        return [costs[k] for k in levels]

    @property
    def head(self) -> dict[str, Any]:
        if not self.ladder:
            return {"policy": "equal", "rate_bps": self.capacity}
        return {
            "policy": "levels",
            "rate_bps": self.capacity,
            "ladder_bps": list(self.ladder),
            "margin": float(self.margin),
        }


@dataclass
class Session:
    key: int
    last: int
    open: set[int]


@dataclass
class Gate:
    """The sessions that are open, the oldest first."""

    line: Line
    idle: int
    by_flow: bool = False
    sessions: list[Session] = field(default_factory=list)
    asleep: set[int] = field(default_factory=set)

    def share(self, flow: int) -> Fraction | None:
        """What a connection may have, an equal part of its session's."""
        for session, share in zip(self.sessions, self.line.shares(len(self.sessions) or 1), strict=False):
            if flow in session.open:
                return share / len(session.open)
        return None

    def meet(self, at: int, user: int, flow: int, flags: str) -> None:
        """A segment passes."""
        mine = next((session for session in self.sessions if flow in session.open), None)
        ends = flags in ("fin", "rst")
        if mine is not None and not ends:
            mine.last = at
        elif mine is not None:
            mine.open.remove(flow)
            self.sessions = [session for session in self.sessions if session.open]
        elif flags == "syn" or (flow in self.asleep and not ends):
            key = flow if self.by_flow else user
            same = next((session for session in self.sessions if session.key == key), None)
            if same is None:
                same = Session(key, at, set())
                self.sessions.append(same)
            same.open.add(flow)
            same.last = at
        if flags != "other" or mine is None:
            self.asleep.discard(flow)

    def silent(self, at: int) -> None:
        """Ends who has said nothing for so long."""
        for session in self.sessions:
            if session.last + self.idle <= at:
                self.asleep |= session.open
        self.sessions = [session for session in self.sessions if session.last + self.idle > at]

    def set(self) -> list[list[float]]:
        shares = self.line.shares(len(self.sessions)) if self.sessions else []
        return [[session.key, float(share)] for session, share in zip(self.sessions, shares, strict=True)]


def manager(
    name: str,
    about: str,
    dice: Dice,
    line: Line,
    *,
    by_flow: bool = False,
    idle: int = 60,
    users: int = 4,
    count: int = 160,
) -> tuple[str, str]:
    """Segments of `users` with three connections each, in any order; what is set where somebody comes or goes."""
    gate, at = Gate(line, idle * SECOND, by_flow), 0
    events: list[dict[str, Any]] = []
    for n in range(count):
        at += int((0.01 + dice() * 3) * SECOND) if n % 40 != 39 else 2 * idle * SECOND
        while due := [s.last + gate.idle for s in gate.sessions if s.last + gate.idle < at]:
            gate.silent(min(due))
            events.append({"event": "silence", "at_ns": min(due), "expect": {"set": gate.set()}})
        user = int(dice() * users)
        flow = 3 * user + int(dice() * 3)
        flags = ("syn", "syn", "other", "other", "other", "fin", "rst")[int(dice() * 7)]
        before = len(gate.sessions)
        gate.meet(at, user, flow, flags)
        expect = {"set": gate.set() if len(gate.sessions) != before else None}
        segment = {"user": user, "flow": flow, "way": "up" if dice() < 0.5 else "down", "flags": flags}
        events.append({"event": "pass", "at_ns": at, **segment, "expect": expect})
    head = {**line.head, "session": "flow" if by_flow else "user", "idle_ns": gate.idle}
    return write("bandwidth-manager", name, about, head, events)


Segment = dict[str, Any]


def is_ack(segment: Segment) -> bool:
    """From the client, and no SYN."""
    return bool(segment["way"] == "up" and segment["flags"] != "syn")


def round_trips(log: list[Segment], by: str, tick: int) -> list[int]:
    """What the log of a connection tells of its round trip, ns, in order."""
    found = []
    syn: int | None = None
    asked: Segment | None = None
    for n, now in enumerate(log):
        if now["way"] == "up" and now["flags"] == "syn":
            syn = n
        if not is_ack(now):
            continue
        if syn is not None and not any(is_ack(between) for between in log[syn + 1 : n]):
            found.append(now["at_ns"] - log[syn]["at_ns"])
            asked = now if now["payload"] else asked
        elif by != "handshake" and asked is None:
            asked = now if now["payload"] else None
        elif by != "handshake" and asked is not None and now["ack"] > asked["ack"]:
            clocks = [other["stamp"] for other in log[:n] if other["way"] == "down" and other["flags"] == "syn"]
            if by == "request":
                found.append(now["at_ns"] - asked["at_ns"])
            elif syn is not None and clocks and not now["payload"]:
                passed = (now["stamp"] - clocks[-1]) % 2**32 * tick
                if passed <= now["at_ns"] - log[syn]["at_ns"]:
                    found.append(now["at_ns"] - log[syn]["at_ns"] - passed)
            asked = now if now["payload"] else None
    return found


def shift_of(log: list[Segment]) -> int | None:
    """By how much the client's windows are shifted: RFC 7323, section 2.2. None: not both SYNs have been seen."""
    scales = {segment["way"]: segment["scale"] for segment in log if segment["flags"] == "syn"}
    if len(scales) < 2:
        return None
    return 0 if None in scales.values() else scales["up"]


def window_of(log: list[Segment], share: Fraction | None, by: str, rounding: str, pure: bool, tick: int) -> int | None:
    """The field of the log's last segment as it leaves the gateway."""
    now = log[-1]
    told: int | None = now["window"]
    shift, trips = shift_of(log), round_trips(log, by, tick)
    if not is_ack(now) or now["flags"] == "rst" or (pure and now["payload"]):
        return told
    if shift is None or not trips or share is None:
        return told
    exact = share * trips[-1] / (8 * SECOND)
    size = max((segment["payload"] for segment in log if segment["way"] == "down"), default=0)
    units = exact / 2**shift
    if rounding != "none" and size:
        whole, rest = divmod(exact / size, 1)
        up = {"floor": False, "ceil": rest > 0, "nearest": rest >= Fraction(1, 2)}[rounding]
        assert min(rest, 1 - rest, abs(rest - Fraction(1, 2))) > Fraction(1, 10**9), "hangs on the last digits"
        segments = max(whole + up, 1)
        units = -(-(segments * size) // 2**shift) * Fraction(1)
    elif rounding != "none":
        units = -(-int(exact) // 2**shift) * Fraction(1)
    field = min(max(int(units), 1), 65_535)
    return field if told is None else min(told, field)


def talk(dice: Dice, user: int, flow: int, start: int) -> Iterator[Segment]:
    """The segments of a connection as they pass: a handshake, requests and what answers them, an end."""
    at, sent, got = start, 1, 1
    clock = int(dice() * 2**32)
    mss = (1448, 1460, 536)[int(dice() * 3)]
    whose = {"user": user, "flow": flow}

    def segment(way: str, flags: str, **more: Any) -> Segment:
        stamp = (clock + (at - start) // (4 * SECOND // 1000)) % 2**32
        rest = {"payload": 0, "ack": got, "window": None, "scale": None, "stamp": stamp, **more}
        return {"event": "pass", "at_ns": at, **whose, "way": way, "flags": flags, **rest}

    def later(least: float, most: float) -> int:
        return at + int((least + (most - least) * dice()) * SECOND)

    scales = (None if dice() < 0.2 else int(dice() * 10), None if dice() < 0.2 else int(dice() * 10))
    seen = dice()
    for _ in range(1 + (dice() < 0.3)):
        if seen > 0.1:
            yield segment("up", "syn", window=14_600, scale=scales[0], ack=0)
        at = later(0.02, 0.2)
    if seen < 0.9:
        yield segment("down", "syn", window=14_480, scale=scales[1])
    at = later(0.001, 0.02)
    shift = 0 if None in scales else scales[0] or 0
    room = min((1_048_576 if dice() < 0.7 else 20_000) >> shift, 65_535)
    if dice() < 0.8:
        yield segment("up", "ack", window=room)
    for _ in range(4):
        at = later(0.001, 1.0)
        yield segment("up", "ack", payload=250, window=room)
        sent += 250
        if dice() < 0.3:
            at = later(0.001, 0.02)
            yield segment("up", "ack", window=room)  # of what came before
        at = later(0.02, 0.2)
        for _ in range(1 + int(dice() * 4)):
            yield segment("down", "ack", payload=mss, ack=sent)
            got += mss
            at = later(0.0005, 0.01)
            if dice() < 0.7:
                empty = int(dice() * 60) if dice() < 0.2 else room
                echo = int(0.05 * SECOND * dice()) // (4 * SECOND // 1000)
                acked = segment("up", "ack", window=empty)
                yield {**acked, "stamp": (acked["stamp"] - echo) % 2**32}
    at = later(0.01, 0.5)
    yield segment("up", "fin" if dice() < 0.7 else "rst", window=room)
    at = later(0.01, 0.5)
    yield segment("up", "ack", window=room)


def tuner(
    name: str,
    about: str,
    dice: Dice,
    line: Line,
    *,
    by: str = "request",
    rounding: str = "none",
    pure: bool = False,
) -> tuple[str, str]:
    """Three users with two connections each; some SYNs have passed elsewhere."""
    gate, tick = Gate(line, 600 * SECOND), 4 * SECOND // 1000
    wire = [s for n in range(6) for s in talk(dice, n // 2, n, int(dice() * 3 * SECOND))]
    wire.sort(key=lambda segment: segment["at_ns"])
    logs: dict[int, list[Segment]] = {n: [] for n in range(6)}
    for now in wire:
        # of a session only the opener's SYN counts
        opens = now["flags"] == "syn" and now["way"] == "up"
        what = "syn" if opens else now["flags"] if now["flags"] in ("fin", "rst") else "other"
        gate.meet(now["at_ns"], now["user"], now["flow"], what)
        log = logs[now["flow"]]
        log.append({**now})
        window = window_of(log, gate.share(now["flow"]), by, rounding, pure, tick)
        if now["flags"] == "rst":
            log.pop()  # tells nothing
        now["expect"] = {"window": window}
    head = {**line.head, "round_trip": by, "rounding": rounding, "rewrites": "pure-acks" if pure else "acks"}
    return write("window-tuner", name, about, {**head, "tick_ns": tick, "idle_ns": gate.idle}, wire)


def gateways(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them; `draws(seed).next` gives numbers in (0, 1)."""
    home = Line(8_000_000, LADDER)
    other = Line(20_000_000, (300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000), Fraction(5, 4))
    yield manager("equal", "Equal shares of 8 Mbit/s.", draws(901).next, Line(8_000_000))
    yield manager("levels", "Five levels at 8 Mbit/s, four users.", draws(902).next, home)
    yield manager("many", "The same, twelve users: the lowest levels.", draws(903).next, home, users=12)
    yield manager("flows", "Six levels at 20 Mbit/s, each connection a session.", draws(904).next, other, by_flow=True)
    yield manager(
        "narrow", "1 Mbit/s: not even the lowest level of all fits.", draws(905).next, Line(1_000_000, LADDER), users=6
    )
    yield manager(
        "exact", "6476.8 kbit/s: levels 4 and 3 fit to the last bit.", draws(907).next, Line(6_476_800, LADDER)
    )
    yield manager("exact-one", "1795.2 kbit/s: level 3 fits to the last bit.", draws(908).next, Line(1_795_200, LADDER))
    yield manager(
        "exact-all",
        "3 Mbit/s and 1.25: any number of sessions up to six fills the line to the last bit.",
        draws(909).next,
        Line(3_000_000, (400_000, 600_000, 1_200_000, 2_400_000), Fraction(5, 4)),
        users=6,
    )
    yield manager("silence", "Sessions that say nothing for 5 s end.", draws(906).next, home, idle=5)
    yield tuner("handshake", "The handshake's round trip.", draws(911).next, home, by="handshake")
    yield tuner("request", "From a request to the ACK of its answer.", draws(912).next, home)
    yield tuner("timestamps", "By the server's timestamps, in ticks of 4 ms.", draws(913).next, home, by="timestamps")
    yield tuner("exact", "6476.8 kbit/s: levels 4 and 3 fit to the last bit.", draws(919).next, Line(6_476_800, LADDER))
    yield tuner("equal", "Equal shares of 8 Mbit/s.", draws(914).next, Line(8_000_000))
    yield tuner("floor", "Whole segments, down.", draws(915).next, other, rounding="floor")
    yield tuner("nearest", "Whole segments.", draws(926).next, other, rounding="nearest")
    yield tuner("ceil", "Whole segments, up.", draws(917).next, other, rounding="ceil")
    yield tuner("pure", "Requests are left alone.", draws(918).next, home, pure=True)
