"""Vectors for what polices and audits congestion: a second congestion policer, a second auditor.

Written from RFC 7713 section 5.4.3 (a bucket that fills at a constant rate and that reports drain), table I
and figure 6 of Sanhaji et al. 2015, in fractions; the auditor from RFC 7713 section 5.5 and draft-wagner-conex-audit-02
sections 2.2 to 2.4. It keeps the history of each flow and adds it up for each packet, where Evenflow keeps sums.
Nothing of Evenflow is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from stages import SECOND, bursts, write

Draw = Callable[[], Fraction]

CODES = (
    ("not-ect", False),
    ("not-ect", True),
    ("ect1", False),
    ("ect1", True),
    ("ect0", False),
    ("ect0", True),
    ("ce", False),
    ("ce", True),
)
"""ECN field and RE flag, as table I has them."""
NOT_CONEX = {("not-ect", False), ("ect0", False), ("ect0", True)}
RE_ECHO, CREDIT, NOT_MARKED = ("ect1", False), ("not-ect", True), ("ect1", True)
CANCELLED, NEGATIVE = ("ce", False), ("ce", True)


@dataclass
class Policer:
    """One user's bucket; rate in tokens a second, and tokens are packets or bytes."""

    rate: Fraction
    depth: Fraction
    harshness: str
    charge: str = "arrival"
    floor: str = "none"
    level: Fraction = Fraction(1)
    action: str = "drop"
    credit: str = "free"
    cancelled: str = "charged"
    legacy: str = "pass"
    bytes: bool = False

    def __post_init__(self) -> None:
        self.tokens, self.last = self.level * self.depth, 0

    def share(self) -> Fraction:
        """Figure 6: which share of the packets is dropped at this level."""
        if self.tokens > 0:
            return Fraction(0)
        if self.harshness == "strict":
            return Fraction(1)
        span = self.depth / 10 if self.harshness == "mild" else self.depth
        return min(Fraction(1), -self.tokens / span)

    def at(self, now: int) -> Fraction:
        """Tokens come continuously, and what finds no room is lost."""
        return min(self.depth, self.tokens + self.rate * (now - self.last) / SECOND)

    def pay(self, cost: int) -> None:
        self.tokens -= cost
        if self.floor == "end":
            lowest = {"strict": Fraction(0), "mild": -self.depth / 10, "soft": -self.depth}[self.harshness]
            self.tokens = max(self.tokens, lowest)

    def arrive(self, now: int, size: int, code: tuple[str, bool], draw: Draw) -> tuple[str, tuple[str, bool]]:
        """The verdict and the codepoint afterwards."""
        of_legacy = code in NOT_CONEX or (code == CANCELLED and self.cancelled == "free")
        if of_legacy and self.legacy == "pass":
            return "pass", code
        self.tokens, self.last = self.at(now), now
        costly = not of_legacy and (code in (RE_ECHO, CANCELLED) or (code == CREDIT and self.credit == "charged"))
        cost = (size if self.bytes else 1) if costly else 0
        if self.charge == "arrival":
            self.pay(cost)
        share = self.share()
        if share == 0 or (share < 1 and draw() >= share):
            if self.charge == "pass":
                self.pay(cost)
            return "pass", code
        if self.action == "mark" and code[0] != "not-ect":
            return ("pass", code) if code[0] == "ce" else ("mark", ("ce", code[1]))
        return ("class" if self.action == "class" else "drop"), code


def policer(
    name: str,
    about: str,
    draws: Any,
    *,
    unit: str = "packets",
    rate: int,
    depth: int,
    reports: float = 0.25,
    others: float = 0.1,
    load: float = 1.5,
    count: int = 150,
    **lines: str,
) -> tuple[str, str]:
    """`rate` in packets or bytes a second; a share of the packets are `reports`, and `others` of any code."""
    own = draws.next
    policer = Policer(Fraction(rate), Fraction(depth), bytes=unit == "bytes", **_typed(lines))
    head: dict[str, Any] = {"unit": unit, "rate": rate, "depth": depth, **lines}
    mean = Fraction(779 if unit == "bytes" else 1) * Fraction(reports)
    gap = int(mean * SECOND / rate / Fraction(load))
    used: list[float] = []

    def draw() -> Fraction:
        used.append(own())
        return Fraction(str(used[-1]))

    events = []
    for at, size in bursts(own, gap, count):
        dice = own()
        code = RE_ECHO if dice < reports else CODES[int(own() * 8)] if dice < reports + others else NOT_MARKED
        verdict, after = policer.arrive(at, size, code, draw)
        expect = {
            "verdict": verdict,
            "ecn": after[0],
            "re": after[1],
            "tokens": float(policer.at(at)),
            "draws": len(used),
        }
        events.append({"event": "arrive", "at_ns": at, "bytes": size, "ecn": code[0], "re": code[1], "expect": expect})
    return write("congestion-policer", name, about, head | {"draws": used}, events)


def _typed(lines: dict[str, str]) -> dict[str, Any]:
    return {key: Fraction(value) if key == "level" else value for key, value in lines.items()}


@dataclass
class Event:
    """What a packet of a flow showed and said, by kind, in packets or bytes."""

    at: int
    amounts: dict[str, Fraction]


@dataclass
class Cell:
    """Bytes below the highest number that have not come, or have come again; with timestamps."""

    first: int
    end: int
    since: int  # when the first segment from beyond it came
    clock: int  # and what that showed
    beyond: int = 0  # segments that have come from beyond it
    before_all: bool = False  # below the first segment of all: perhaps it was never missing
    paid: tuple[int, Fraction] | None = None  # it was sent again, which was counted then and as so much


class Flow:
    """All that an auditor has seen of a flow."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.arrived: list[tuple[int, int]] = []  # of segments: first and last byte but one
        self.mss = 0
        self.credit = Fraction(0)
        self.p = self.x = Fraction(0)
        self.last = 0
        self.lost_before: set[tuple[int, int]] = set()
        self.cells: list[Cell] = []  # with timestamps: what is missing, or was sent again

    def total(self, kind: str, until: int | None = None) -> Fraction:
        due = (e for e in self.events if until is None or e.at <= until)
        return sum((e.amounts.get(kind, Fraction(0)) for e in due), Fraction(0))

    def missing(self, reordering: int) -> list[tuple[int, int]]:
        """Gaps in all numbers below the highest, beyond each of which so many segments have come since it opened.

        Segments from beyond that came while the gap was part of a larger one count.
        """
        have: list[tuple[int, int]] = []
        for first, end in sorted(self.arrived):
            if have and first <= have[-1][1]:
                have[-1] = (have[-1][0], max(have[-1][1], end))
            else:
                have.append((first, end))
        start = self.arrived[0][0] if self.arrived else 0  # what was before that, nobody knows
        gaps = [(a[1], b[0]) for a, b in pairwise(have) if b[0] > start]
        return [gap for gap in gaps if sum(first >= gap[1] for first, _ in self.arrived) >= reordering]


@dataclass
class Auditor:
    """At the egress. Amounts are packets, or bytes of whole packets."""

    rule: str = "balance"
    audit: str = "both"
    bytes: bool = False
    allowance: Fraction = Fraction(3)
    limit: Fraction = Fraction(10)
    delay: int = 0
    losses: str = "gaps"
    reordering: int = 3
    order: str = "timestamps"
    reordering_window: int = SECOND // 10
    repair: int = 3 * SECOND
    own_drops: str = "free"
    strangers: str = "own"
    encoding: str = "ipv4"
    weight: Fraction = Fraction(1, 100)
    cancelled: str = "left-out"
    idle: int = 60 * SECOND

    def __post_init__(self) -> None:
        self.flows: dict[int, Flow] = {}

    def said(self, code: tuple[str, bool], bits: str) -> tuple[set[str], bool] | None:
        """Which reports a packet carries (L, E, C) and whether it is marked; None: it is not ConEx."""
        if self.encoding == "ipv6":
            return (set(bits), code[0] == "ce") if code[1] or bits else None
        if code in NOT_CONEX:
            return None
        return {RE_ECHO: {"E"}, CANCELLED: {"E"}, CREDIT: {"C"}}.get(code, set()), code in (CANCELLED, NEGATIVE)

    def losses_of(self, flow: Flow, first: int, payload: int, size: int) -> Fraction:
        end = first + payload
        flow.mss = max(flow.mss, payload)
        highest = max((e for _, e in flow.arrived), default=first)
        known = set(flow.missing(self.reordering))
        fills = any(a < end and first < b for a, b in self.gaps(flow) if (a, b) not in known)
        again = end <= highest and not fills
        flow.arrived.append((first, end))
        if self.losses == "retransmissions":
            return Fraction((size if self.bytes else 1) if again else 0)
        fresh = [gap for gap in flow.missing(self.reordering) if not self.counted(flow, gap)]
        lost = sum(b - a for a, b in fresh)
        flow.lost_before |= set(fresh)
        if not lost:
            return Fraction(0)
        packets = -(-lost // flow.mss)
        return Fraction(lost + packets * (size - payload) if self.bytes else packets)

    def by_clock(
        self, flow: Flow, now: int, first: int, payload: int, size: int, clock: int
    ) -> tuple[Fraction, list[tuple[int, Fraction]]]:
        """What is lost, and what of earlier losses was none: when it was counted, and as how much.

        An original was sent before whatever overtook it, so its clock shows no more; what shows more was sent again.
        Nobody is late by more than the window. What nobody has sent again after so long is lost all the same.
        """
        end, one = first + payload, Fraction(size if self.bytes else 1)
        flow.mss = max(flow.mss, payload)
        begun, top = bool(flow.arrived), max((e for _, e in flow.arrived), default=first)
        flow.arrived.append((first, end))
        if not begun:
            flow.cells += [Cell(0, first, now, clock, before_all=True)] if first else []
        elif first > top:
            flow.cells.append(Cell(top, first, now, clock))
        touched = [cell for cell in flow.cells if cell.first < end and first < cell.end] if first < top else []
        repaired, back, original = [], [], False
        for cell in touched:
            newer = clock > cell.clock or now - cell.since > self.reordering_window
            if cell.paid:
                if not newer and first <= cell.first and cell.end <= end:
                    flow.cells.remove(cell)
                    back.append(cell.paid)
                    original = True
                continue
            flow.cells.remove(cell)
            for a, b in ((cell.first, first), (end, cell.end)):
                if a < b:
                    flow.cells.append(replace(cell, first=a, end=b))
            if newer:
                paid = (now, one)
                repaired.append(replace(cell, first=max(first, cell.first), end=min(end, cell.end), paid=paid))
            else:
                original = True
        flow.cells += repaired if len(repaired) == 1 else []
        again = end <= top and begun and (bool(repaired) or not original)
        for cell in flow.cells:
            cell.beyond += first >= cell.end
        gone = [c for c in flow.cells if self.is_over(c, now)]
        flow.cells = [c for c in flow.cells if c not in gone]
        missing = sum(c.end - c.first for c in gone if not c.before_all and not c.paid)
        if self.losses == "retransmissions":
            return one if again else Fraction(0), back
        packets = -(-missing // flow.mss)
        silent = Fraction(missing + packets * (size - payload) if self.bytes else packets)
        return silent + (one if repaired else 0), back

    def is_over(self, cell: Cell, now: int) -> bool:
        if cell.before_all or cell.paid:
            return now - cell.since >= self.reordering_window
        return cell.beyond >= self.reordering and now - cell.since >= self.repair

    def gaps(self, flow: Flow) -> list[tuple[int, int]]:
        return flow.missing(0)

    @staticmethod
    def counted(flow: Flow, gap: tuple[int, int]) -> bool:
        return any(a <= gap[0] and gap[1] <= b for a, b in flow.lost_before)

    def balance(self, flow: Flow, now: int) -> Fraction:
        due = now - self.delay
        loss = flow.total("loss", due) - flow.total("L")
        mark = flow.total("mark", due) - flow.total("E")
        owed = max(loss, Fraction(0)) + max(mark, Fraction(0)) if self.encoding == "ipv6" else loss + mark
        return flow.total("C") - owed

    def arrive(
        self,
        now: int,
        number: int,
        size: int,
        payload: int,
        first: int,
        code: tuple[str, bool],
        bits: str,
        draw: Draw,
        clock: int = 0,
    ) -> tuple[str, Fraction | None]:
        """The verdict (pass, sanction) and the balance of the flow afterwards."""
        read = self.said(code, bits)
        if payload == 0 or read is None:
            return "pass", None
        says, marked = read
        for old in [n for n, flow in self.flows.items() if now - flow.last > self.idle]:
            del self.flows[old]
        if number not in self.flows and self.encoding == "ipv4" and code == CANCELLED:
            return "pass", None  # of RFC 3168
        key = number if number in self.flows or says or self.strangers == "own" else -1
        flow = self.flows.setdefault(key, Flow())
        flow.last = now
        amount = Fraction(size if self.bytes else 1)
        seen = dict.fromkeys(says, amount)
        if marked and self.audit != "loss":
            seen["mark"] = amount
        none = Fraction(0)
        if self.audit != "ecn" and key != -1:
            back: list[tuple[int, Fraction]] = []
            if self.order == "count":
                lost = self.losses_of(flow, first, payload, size)
            else:
                lost, back = self.by_clock(flow, now, first, payload, size, clock)
            if lost:
                seen["loss"] = lost
            none = sum((much for _, much in back), Fraction(0))
            for when, much in back:  # it never was one
                past = next(event for event in flow.events if event.at == when and "loss" in event.amounts)
                past.amounts["loss"] -= much
        flow.events.append(Event(now, seen))
        reports = amount * len(says & {"L", "E"})
        flow.credit = max(flow.credit + (amount if "C" in says else 0) - reports, Fraction(0))
        marks, losses = seen.get("mark", Fraction(0)), seen.get("loss", Fraction(0)) - none
        echoes = {"L", "E"} & says
        if self.cancelled == "left-out" and marks and "E" in says:
            marks, echoes = Fraction(0), echoes - {"E"}
        flow.p += self.weight * (marks + losses - flow.p)
        flow.x += self.weight * (amount * len(echoes) - flow.x)
        balance = self.balance(flow, now)
        share = self.of_balance(balance, says, marked) if self.rule == "balance" else self.of_ratio(flow, now, says)
        picked = share >= 1 or (share > 0 and draw() < share)
        if picked and self.own_drops == "counted":
            flow.events.append(Event(now, {"loss": amount}))
        return ("sanction" if picked else "pass"), balance

    def of_balance(self, balance: Fraction, says: set[str], marked: bool) -> Fraction:
        if len(says) - marked > 0 or balance >= -self.allowance:
            return Fraction(0)
        return min(Fraction(1), -balance / self.limit)

    def of_ratio(self, flow: Flow, now: int, says: set[str]) -> Fraction:
        """Sections 2.3 and 2.4; every instant is a time-out, and there is an allowance."""
        due, failed = now - self.delay, set()
        if flow.credit == 0:
            failed.add("C")
        if self.encoding == "ipv6":
            failed |= {"L"} if flow.total("loss", due) > flow.total("L") + self.allowance else set()
            failed |= {"E"} if flow.total("mark", due) > flow.total("E") + self.allowance else set()
            exempt = failed <= says
        else:
            met = flow.total("loss", due) + flow.total("mark", due)
            failed |= {"E"} if met > flow.total("E") + self.allowance else set()
            exempt = bool(says)
        if not failed or exempt or flow.p == 0:
            return Fraction(0)
        return max(Fraction(0), (flow.p - flow.x) / flow.p)


EXACT = ("allowance", "limit", "weight")
RENAMED = {
    "delay": "delay_ns",
    "idle": "idle_ns",
    "reordering_window": "reordering_window_ns",
    "repair": "repair_ns",
}


@dataclass
class Traffic:
    """What flows do that send in turn: shares of their packets that are marked, lost, overtaken by one to five others,
    sent again; what share of their congestion they declare; how often they give credit, or a packet has any code.
    """

    unit: str = "packets"
    flows: int = 3
    marked: float = 0.06
    lost: float = 0.03
    overtaken: float = 0.0
    again: float = 0.05
    declared: float = 0.6
    credit: float = 0.05
    any_code: float = 0.0
    pause: int = 0
    count: int = 220
    repaired: float = 0.0  # of what is lost: sent again
    needless: float = 0.0  # of what is overtaken: sent again all the same
    old_clock: float = 0.0  # of what is sent again: shows the clock of its original


def auditor(name: str, about: str, draws: Any, traffic: Traffic, **lines: Any) -> tuple[str, str]:
    """`lines` as in a scenario, with plain numbers and times in ns."""
    own = draws.next
    exact: dict[str, Any] = {key: Fraction(str(value)) if key in EXACT else value for key, value in lines.items()}
    auditor = Auditor(bytes=traffic.unit == "bytes", **exact)
    bits = auditor.encoding == "ipv6"
    used: list[float] = []
    events: list[dict[str, Any]] = []
    flows = range(traffic.flows)
    sent, owed = [0 for _ in flows], [0.0 for _ in flows]
    waiting: list[list[Any]] = []
    unrepaired: list[tuple[int, tuple[Any, ...]]] = []
    clocks = auditor.order == "timestamps"
    at = 0

    def draw() -> Fraction:
        used.append(own())
        return Fraction(str(used[-1]))

    def deliver(flow: int, payload: int, first: int, code: tuple[str, bool], says: str, clock: int = 0) -> None:
        verdict, balance = auditor.arrive(at, flow, payload + 52, payload, first, code, says, draw, clock)
        event = {"event": "arrive", "at_ns": at, "flow": flow, "bytes": payload + 52, "payload": payload, "seq": first}
        expect: dict[str, Any] = {"verdict": verdict, "draws": len(used)}
        if balance is not None:
            expect["balance"] = float(balance)
        more: dict[str, Any] = {"bits": says} if bits else {}
        more |= {"stamp": clock} if clocks else {}
        events.append({**event, "ecn": code[0], "re": code[1], **more, "expect": expect})

    for number in range(traffic.count):
        at += int(2_000_000 * (0.2 + 1.6 * own())) + 7
        if traffic.pause and number == traffic.count // 2:
            at += traffic.pause
        flow = int(own() * traffic.flows)
        payload = (1448, 1448, 1448, 500)[int(own() * 4)]
        first, clock, repairs = sent[flow], at // 1_000_000, False
        if clocks and unrepaired and unrepaired[0][0] <= number:
            _, (flow, payload, first, old) = unrepaired.pop(0)
            repairs = True
            clock = old if own() < traffic.old_clock else clock
        elif own() < traffic.again and first > 20_000:
            first -= 1448 * (1 + int(own() * 9))
        else:
            sent[flow] += payload
        report = owed[flow] >= 1
        owed[flow] -= report
        credit = own() < traffic.credit
        if bits:
            code, says = ("ect0", True), (("L" if own() < 0.5 else "E") if report else "") + ("C" if credit else "")
        else:
            code, says = (RE_ECHO if report else CREDIT if credit else NOT_MARKED), ""
        if own() < traffic.any_code:
            code, says = CODES[int(own() * 8)], ""
        if own() < traffic.lost:
            owed[flow] += own() < traffic.declared
            if clocks and own() < traffic.repaired:
                unrepaired.append((number + 6 + int(own() * 12), (flow, payload, first, clock)))
            continue
        if own() < traffic.marked and code[0] != "not-ect":
            code = ("ce", code[1])
            owed[flow] += own() < traffic.declared
        packet = (flow, payload, first, code, says, *([clock] if clocks else []))
        if not repairs and own() < traffic.overtaken:
            if clocks and own() < traffic.needless:
                unrepaired.insert(0, (number + 1, (flow, payload, first, clock)))
            waiting.append([1 + int(own() * 5), packet])
            continue
        deliver(*packet)
        for late in waiting:
            late[0] -= 1
        for late in [late for late in waiting if late[0] == 0]:
            deliver(*late[1])
        waiting = [late for late in waiting if late[0] > 0]
    shown = {RENAMED.get(key, key): float(value) if key in EXACT else value for key, value in lines.items()}
    return write("auditor", name, about, {"unit": traffic.unit, **shown, "draws": used}, events)


def conex(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them; `draws(seed).next` gives numbers in (0, 1)."""
    readings: tuple[tuple[str, dict[str, Any]], ...] = (
        ("charged on arrival, without a floor", {}),
        ("charged if they pass", {"charge": "pass"}),
        ("charged on arrival, with a floor", {"floor": "end"}),
    )
    for n, harshness in enumerate(("strict", "mild", "soft")):
        for m, (about, lines) in enumerate(readings):
            yield policer(
                f"{harshness}-p{m + 1}",
                f"Reports in packets, {harshness}, {about}.",
                draws(200 + 3 * n + m),
                rate=45,
                depth=5,
                harshness=harshness,
                **lines,
            )
    yield policer(
        "bytes",
        "Tokens are bytes: a report costs its size.",
        draws(210),
        unit="bytes",
        rate=67_500,
        depth=7_500,
        harshness="mild",
        floor="end",
    )
    yield policer(
        "codepoints",
        "All eight codepoints, Credit and 11/0 charged, packets that are not ConEx policed.",
        draws(211),
        rate=20,
        depth=4,
        harshness="soft",
        charge="pass",
        others=0.6,
        credit="charged",
        legacy="police",
    )
    yield policer(
        "codepoints-free",
        "All eight codepoints, Credit free, 11/0 not ConEx.",
        draws(212),
        rate=20,
        depth=4,
        harshness="mild",
        others=0.6,
        floor="end",
        cancelled="free",
    )
    yield policer(
        "empty-at-first",
        "The bucket is empty at first, a deep one.",
        draws(213),
        rate=45,
        depth=45,
        harshness="soft",
        level="0",
        load=3,
    )
    yield policer(
        "marked",
        "What is picked is marked; what cannot be is dropped.",
        draws(214),
        rate=45,
        depth=5,
        harshness="mild",
        charge="pass",
        action="mark",
        others=0.4,
    )
    yield policer(
        "class",
        "What is picked goes on in another class.",
        draws(215),
        rate=45,
        depth=5,
        harshness="strict",
        floor="end",
        action="class",
    )
    ms = SECOND // 1000
    both = Traffic(declared=0.2, marked=0.1, credit=0.02)
    reordered = Traffic(overtaken=0.08, lost=0.1, declared=0.1, credit=0.02)
    count: dict[str, Any] = {"order": "count"}  # they have no timestamps
    yield auditor("balance", "The rule balance, marks and losses.", draws(230), both, limit=8, allowance=2, **count)
    yield auditor(
        "balance-late",
        "Reports may be late; packets are overtaken.",
        draws(231),
        Traffic(overtaken=0.08, declared=0.3),
        delay=80 * ms,
        limit=6,
        allowance=1,
        **count,
    )
    yield auditor(
        "balance-ecn",
        "Marks alone, no allowance.",
        draws(232),
        Traffic(marked=0.15),
        audit="ecn",
        limit=4,
        allowance=0,
        **count,
    )
    yield auditor(
        "balance-loss", "Losses alone, by gaps.", draws(233), reordered, audit="loss", limit=5, allowance=1, **count
    )
    yield auditor(
        "balance-again",
        "Losses alone, by what comes again.",
        draws(234),
        Traffic(overtaken=0.08, again=0.12, credit=0.02, declared=0.3),
        audit="loss",
        losses="retransmissions",
        limit=12,
        allowance=2,
        reordering=2,
        **count,
    )
    yield auditor(
        "balance-bytes",
        "In bytes.",
        draws(235),
        Traffic(unit="bytes", overtaken=0.04),
        limit=9_000,
        allowance=1_500,
        delay=20 * ms,
        **count,
    )
    yield auditor(
        "balance-ipv6",
        "Bits: losses and marks apart.",
        draws(236),
        Traffic(marked=0.1),
        encoding="ipv6",
        limit=6,
        allowance=1,
        **count,
    )
    yield auditor(
        "balance-strangers",
        "Flows that declare nothing have one account.",
        draws(237),
        Traffic(flows=12, declared=0.4, credit=0.01),
        strangers="together",
        limit=9,
        allowance=2,
        **count,
    )
    yield auditor(
        "balance-codes",
        "All eight codepoints.",
        draws(238),
        Traffic(any_code=0.3, marked=0.1),
        limit=6,
        allowance=1,
        **count,
    )
    yield auditor(
        "balance-idle",
        "Silent flows are forgotten.",
        draws(239),
        Traffic(pause=61 * SECOND, marked=0.12),
        limit=6,
        allowance=1,
        **count,
    )
    yield auditor(
        "ratio",
        "The rule ratio, marks and losses.",
        draws(240),
        both,
        rule="ratio",
        delay=60 * ms,
        weight=0.1,
        cancelled="counted",
        allowance=0,
        **count,
    )
    yield auditor(
        "ratio-ipv6",
        "The rule ratio, with bits: three tests.",
        draws(241),
        Traffic(marked=0.1, credit=0.15),
        rule="ratio",
        delay=60 * ms,
        weight=0.05,
        cancelled="counted",
        allowance=1,
        encoding="ipv6",
        **count,
    )
    yield auditor(
        "ratio-bytes",
        "The rule ratio in bytes, marks alone.",
        draws(242),
        Traffic(unit="bytes", marked=0.12, credit=0.1),
        rule="ratio",
        audit="ecn",
        delay=40 * ms,
        weight=0.05,
        cancelled="counted",
        allowance=1_500,
        **count,
    )
    yield auditor(
        "ratio-left-out",
        "The rule ratio as it is by default: reports that met a mark are in neither average.",
        draws(243),
        Traffic(marked=0.25, lost=0.02, declared=0.7, credit=0.1),
        rule="ratio",
        delay=60 * ms,
        weight=0.1,
        allowance=0,
        **count,
    )
    repaired = Traffic(overtaken=0.15, lost=0.1, repaired=0.7, needless=0.4, again=0.02, declared=0.15, credit=0.02)
    clock: dict[str, Any] = {"order": "timestamps", "reordering_window": 15 * ms, "repair": 90 * ms}
    yield auditor(
        "timestamps", "Losses alone, by timestamps.", draws(243), repaired, audit="loss", limit=6, allowance=1, **clock
    )
    yield auditor(
        "timestamps-again",
        "What comes again, by timestamps; some show the clock of their originals.",
        draws(244),
        replace(repaired, old_clock=0.5, again=0.1, credit=0.05),
        audit="loss",
        losses="retransmissions",
        limit=6,
        allowance=1,
        **clock,
    )
    yield auditor(
        "timestamps-bytes",
        "Marks and losses in bytes, by timestamps; reports may be late, and so may what takes a loss back.",
        draws(245),
        replace(repaired, unit="bytes", marked=0.05, flows=2),
        limit=9_000,
        allowance=1_500,
        delay=30 * ms,
        reordering=1,
        **clock,
    )
    yield auditor(
        "timestamps-ratio",
        "The rule ratio, with bits, by timestamps.",
        draws(246),
        replace(repaired, marked=0.05, credit=0.15),
        rule="ratio",
        delay=60 * ms,
        weight=0.05,
        cancelled="counted",
        allowance=1,
        encoding="ipv6",
        **clock,
    )
    yield auditor(
        "own-drops",
        "What it drops counts as lost.",
        draws(247),
        replace(repaired, marked=0.1, declared=0.7, credit=0.04),
        limit=6,
        allowance=1,
        own_drops="counted",
        **clock,
    )
    yield by_hand()


def by_hand() -> tuple[str, str]:
    """Worked out on paper: five segments of 1000 bytes, sent 1 ms apart, and what may become of the second.

    Every flow but the last gives a credit with its first segment: its balance is 1 as long as nothing is lost.
    """
    ms = SECOND // 1000
    stories: tuple[tuple[tuple[int, int, int, int], ...], ...] = (
        # flow 0: the second comes last, with the clock of 2 ms: late, not lost
        ((11, 0, 1, 1), (13, 2, 3, 1), (14, 3, 4, 1), (15, 4, 5, 1), (16, 1, 2, 1)),
        # flow 1: it comes last, with a clock that is later than that of the third: it was lost
        ((11, 0, 1, 1), (13, 2, 3, 1), (14, 3, 4, 1), (15, 4, 5, 1), (33, 1, 20, 0)),
        # flow 2: it was sent again needlessly, and the original comes after all
        ((11, 0, 1, 1), (13, 2, 3, 1), (14, 3, 4, 1), (33, 1, 20, 0), (34, 1, 2, 1)),
        # flow 3: it comes with its old clock, but 101 ms after the third: nobody is so late
        ((11, 0, 1, 1), (13, 2, 3, 1), (14, 3, 4, 1), (15, 4, 5, 1), (114, 1, 2, 0)),
        # flow 4: it never comes; 3 s after the third it is lost, and what comes then changes nothing
        ((11, 0, 1, 1), (13, 2, 3, 1), (3012, 3, 3000, 1), (3013, 4, 3001, 0), (3014, 1, 3002, 0)),
        # flow 5: the first to come is the second; what was sent before it is late, not lost
        ((12, 1, 2, 1), (13, 0, 1, 1), (14, 2, 3, 1), (15, 3, 4, 1), (16, 4, 5, 1)),
        # flow 6: a clock that wraps: 2 is later than 2^32 - 3
        ((11, 0, 2**32 - 5, 1), (13, 2, 2**32 - 3, 1), (14, 3, 2**32 - 2, 1), (15, 4, 2**32 - 1, 1), (33, 1, 2, 0)),
        # flow 7: ten never come, and 10 is the limit
        ((11, 0, 1, 0), (13, 11, 3, 0), (14, 12, 4, 0), (3013, 13, 3001, -10)),
    )
    arrivals = sorted((at, flow, n) for flow, story in enumerate(stories) for n, (at, *_) in enumerate(story))
    events = []
    for at, flow, n in arrivals:
        _, segment, clock, balance = stories[flow][n]
        event = {"event": "arrive", "at_ns": at * ms, "flow": flow, "bytes": 1052, "payload": 1000}
        code = CREDIT if n == 0 and flow != 7 else NOT_MARKED
        expect = {"verdict": "sanction" if balance == -10 else "pass", "draws": 0, "balance": float(balance)}
        events.append({**event, "seq": 1000 * segment, "ecn": code[0], "re": code[1], "stamp": clock, "expect": expect})
    about = "Worked out on paper: late, sent again, both, too late, never, before the first, a clock that wraps."
    return write("auditor", "timestamps-by-hand", about, {"unit": "packets", "audit": "loss", "draws": []}, events)
