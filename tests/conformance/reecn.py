"""Vectors for tunnels and for what re-ECN adds: policers, a dropper, the codes of a sender.

Written a second time from RFC 6040 (figures 1 to 4, quoted here as tables, where Evenflow has rules), 3GPP TS 29.281
section 5.1, draft-briscoe-conex-re-ecn-motiv-03 (appendices A and B), draft-briscoe-conex-re-ecn-tcp-04 section 6.1
and Zhang et al. 2011. Histories are kept whole and added up for each packet. Nothing of Evenflow is used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from stages import SECOND, write

FIELDS = ("not-ect", "ect0", "ect1", "ce")

# By inner field, in the order of FIELDS.
OUTWARD = {
    "rfc6040": ("not-ect", "ect0", "ect1", "ce"),
    "rfc6040-compatibility": ("not-ect", "not-ect", "not-ect", "not-ect"),
    "rfc3168": ("not-ect", "ect0", "ect1", "ect0"),
    "rfc4301": ("not-ect", "ect0", "ect1", "ce"),
    "paper": ("ect1", "ect0", "ect1", "ect1"),
}
FIGURE_4 = {
    "not-ect": ("not-ect", "not-ect", "not-ect", None),
    "ect0": ("ect0", "ect0", "ect1", "ce"),
    "ect1": ("ect1", "ect1", "ect1", "ce"),
    "ce": ("ce", "ce", "ce", "ce"),
}
FIGURE_2_4301 = {**FIGURE_4, "not-ect": ("not-ect",) * 4, "ect0": ("ect0", "ect0", "ect0", "ce")}
FIGURE_2_3168 = {**FIGURE_4, "ect0": ("ect0", "ect0", "ect0", "ce")}
INWARD = {
    "rfc6040": FIGURE_4,
    "rfc6040-compatibility": FIGURE_4,
    "rfc3168": FIGURE_2_3168,
    "rfc4301": FIGURE_2_4301,
    "paper": FIGURE_2_4301,
}
DANGEROUS = {("not-ect", "ect0"), ("not-ect", "ect1"), ("not-ect", "ce"), ("ce", "ect1")}


def missing(numbers: list[int], reordering: int) -> tuple[int, int]:
    """How many numbers are lost and how many came too late, of all that have come; the first number is 0.

    A number is lost when one that is `reordering` or more beyond it has come before it.
    """
    lost, late = 0, 0
    highest = -1
    come: set[int] = set()
    given_up: set[int] = set()
    for number in numbers:
        if number in given_up or number in come:
            late += number != highest
        come.add(number)
        highest = max(highest, number)
        given_up |= {n for n in range(highest - reordering + 1) if n not in come}
        lost = len(given_up)
    return lost, late


def tunnel(
    name: str, about: str, draws: Any, into: str, out: str, re: str, overhead: int, size: int, count: int = 120
) -> tuple[str, str]:
    """Packets that go in, are marked, lost or overtaken inside, and come out."""
    dice: Callable[[], float] = draws.next
    head = {"into": into, "out": out, "re": re, "overhead": overhead, "max_size": size, "reordering": 3}
    events: list[dict[str, Any]] = []
    inside: list[tuple[int, str, bool, str, bool, int]] = []
    arrived: list[int] = []
    sent = marks = lost_marks = dangerous = 0

    def come_out(packet: tuple[int, str, bool, str, bool, int]) -> None:
        nonlocal marks, lost_marks, dangerous
        number, inner, flag, outer, outer_flag, length = packet
        arrived.append(number)
        field = INWARD[out][inner][FIELDS.index(outer)]
        dangerous += (inner, outer) in DANGEROUS
        if outer == "ce" and inner != "ce":
            marks += field == "ce"
            lost_marks += field not in ("ce", None)
        lost, late = missing(arrived, 3)
        expect: dict[str, Any] = {"verdict": "drop" if field is None else "pass", "bytes": length}
        if field is not None:
            expect |= {"ecn": field, "re": outer_flag if re == "copy" else flag}
        expect |= {"marks": marks, "marks_lost": lost_marks, "dangerous": dangerous, "lost": lost, "late": late}
        events.append({"event": "out", "id": number, "ecn": outer, "re": outer_flag, "expect": expect})

    while sent < count:
        inner, flag, length = FIELDS[int(dice() * 4)], dice() < 0.5, 100 + int(dice() * 1400)
        outer = OUTWARD[into][FIELDS.index(inner)]
        event = {"event": "in", "bytes": length, "ecn": inner, "re": flag}
        if length + overhead > size:
            events.append({**event, "expect": {"verdict": "drop"}})
            continue
        outer_flag = {"copy": flag, "inner": False, "neutral": outer == "ect1"}[re]
        number, sent = sent, sent + 1
        expect = {"verdict": "pass", "bytes": length + overhead, "ecn": outer, "re": outer_flag}
        events.append({**event, "id": number, "expect": expect})
        if dice() < 0.25:
            outer = FIELDS[int(dice() * 4)]  # also what no queue does
        if dice() < 0.1:
            outer_flag = not outer_flag  # a middlebox
        inside.append((number, inner, flag, outer, outer_flag, length))
        fate = dice()
        if fate < 0.12:
            events.append({"event": "lost", "id": inside.pop()[0]})
        elif fate < 0.25:
            continue  # the next one overtakes it
        while inside and (fate >= 0.25 or len(inside) > 6):
            come_out(inside.pop())
    return write("tunnel", name, about, head, events)


def tunnels(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    for n, rules in enumerate(OUTWARD):
        about = f"Both ends by {rules}; every pair, losses and packets that overtake each other."
        yield tunnel(rules, about, draws(300 + n), rules, rules, "copy", 40, 65_535)
    yield tunnel(
        "mixed", "An ingress of the paper and an egress of RFC 6040.", draws(310), "paper", "rfc6040", "inner", 36, 1200
    )
    yield tunnel("neutral", "RE of its own outside.", draws(311), "paper", "paper", "neutral", 40, 1400)


# Names, codes and worths of the draft's section 4.2.
WORTH = {
    ("not-ect", True): 1,
    ("ect1", False): 1,
    ("ect1", True): 0,
    ("ce", False): 0,
    ("ce", True): -1,
}
FNE, RE_ECHO, RECT, CANCELLED, NEGATIVE = WORTH
LEGACY = (("not-ect", False), ("ect0", False), ("ect0", True))
K = math.sqrt(1.5)


@dataclass
class Arrival:
    at: float
    size: int
    code: tuple[str, bool]


@dataclass
class Bucket:
    """What came to one bucket, of which the level is added up anew each time it is asked for."""

    start: float
    depth: float
    born: float
    moves: list[tuple[float, float]] = field(default_factory=list)

    def level(self, now: float, rate: float, floor: float = -math.inf) -> float:
        level, last = self.start, self.born
        for at, cost in self.moves:
            level = max(min(self.depth, level + rate * (at - last)) - cost, floor)
            last = at
        return min(self.depth, level + rate * (now - last))


class PolicerA:
    """Appendix B.2: b += r dt - sqrt(N) T / k at positive and cancelled packets; sanctions of Zhang et al."""

    def __init__(self, start: float, depth: float, factor: float, rtt: float, merge: bool, action: str) -> None:
        self.bucket: Bucket | None = None
        self.start, self.depth, self.factor, self.rtt, self.merge = start, depth, factor, rtt, merge
        self.action, self.seen, self.charges, self.until = action, 0, list[tuple[float, int]](), -1.0

    def arrive(self, a: Arrival) -> str:
        if self.bucket is None:
            self.bucket = Bucket(self.start, self.depth, a.at)
        if a.at < self.until:
            return "drop"
        self.seen += 1
        charged = self.charges[-1][1] if self.charges else 0
        costs = WORTH[a.code] == 1 or a.code == CANCELLED
        if costs and not (self.merge and self.charges and a.at - self.charges[-1][0] < self.rtt):
            n = self.seen - charged
            self.charges.append((a.at, self.seen))
            self.bucket.moves.append((a.at, math.sqrt(n) * self.rtt / K))
            below = self.level(a.at) < 0
            if below and self.action == "block":
                self.until = math.inf
                return "pass"
            return "drop" if below else "pass"
        below = self.level(a.at) < 0
        if below and self.action == "block":
            self.until = math.inf
        return "drop" if below and self.action == "drop-while-empty" else "pass"

    def level(self, now: float) -> float:
        return self.bucket.level(now, self.factor, -self.depth) if self.bucket else self.start


class PolicerAPrime:
    """Bytes at r k s / (T sqrt(p)), p from the spacing of reports, credit left out; what passes costs its size."""

    def __init__(self, depth: float, factor: float, rtt: float, action: str) -> None:
        self.depth, self.factor, self.rtt, self.action = depth, factor, rtt, action
        self.tokens, self.all, self.spacings, self.last_report = depth, list[Arrival](), list[int](), 0

    def arrive(self, a: Arrival) -> str:
        before = self.all[-1].at if self.all else a.at
        self.all.append(a)
        open_spacing = len(self.all) - self.last_report
        mean: float | None = None
        for spacing in self.spacings:
            mean = spacing if mean is None else mean + 0.25 * (spacing - mean)
        n = float(open_spacing) if mean is None else max(mean, open_spacing)
        report = a.code in (RE_ECHO, CANCELLED)
        policed = mean is not None or report or a.at - self.all[0].at >= 2 * self.rtt
        if report:
            self.spacings.append(open_spacing)
            self.last_report = len(self.all)
        size = sum(b.size for b in self.all) / len(self.all)
        rate = self.factor * K * size / (self.rtt * math.sqrt(1 / n))
        self.tokens = min(self.depth, self.tokens + rate * (a.at - before))
        if not policed:
            return "pass"
        if self.tokens < 0 or (self.action == "drop-one" and self.tokens < a.size):
            return "drop" if self.action == "drop-while-empty" or self.tokens >= 0 else "pass"
        self.tokens -= a.size
        return "pass"

    def level(self, now: float) -> float:
        return self.tokens


class PolicerB:
    """Appendix B.1: bytes of positive, credit and cancelled packets; perhaps a second bucket for credit alone."""

    def __init__(self, rate: float, depth: float, credit: tuple[float, float] | None, action: str) -> None:
        self.rate, self.action, self.credit = rate, action, credit
        self.bucket = Bucket(depth, depth, 0.0)
        self.second = Bucket(credit[1], credit[1], 0.0) if credit else None

    def arrive(self, a: Arrival) -> str:
        now = self.level(a.at)
        if now < 0:
            return "drop" if self.action == "drop-while-empty" else "pass"
        if WORTH[a.code] != 1 and a.code != CANCELLED:
            return "pass"
        if self.second and self.credit and a.code == FNE:
            if self.second.level(a.at, self.credit[0]) < a.size:
                return "drop"
            self.second.moves.append((a.at, a.size))
        if self.action == "drop-one" and now < a.size:
            return "drop"
        self.bucket.moves.append((a.at, a.size))
        return "pass"

    def level(self, now: float) -> float:
        return self.bucket.level(now, self.rate)


def policed(
    name: str, about: str, draws: Any, head: dict[str, Any], policer: Any, gap: int, reports: float, count: int = 200
) -> tuple[str, str]:
    """One flow that begins with credit; packets of all sizes and codes."""
    dice: Callable[[], float] = draws.next
    events, at = [], 0
    for n in range(count):
        at += int(gap * (0.1 + 1.8 * dice())) + (gap * 40 if dice() < 0.02 else 0)
        u = dice()
        code = RE_ECHO if u < reports else RECT
        if u > 0.97:
            code = (FNE, CANCELLED, NEGATIVE)[int(dice() * 3)]
        if n in (0, 2):
            code = FNE
        size = (40, 576, 1000, 1500)[int(dice() * 4)]
        verdict = policer.arrive(Arrival(at / SECOND, size, code))
        expect = {"verdict": verdict, "tokens": policer.level(at / SECOND)}
        events.append({"at_ns": at, "bytes": size, "ecn": code[0], "re": code[1], "expect": expect})
    return write("reecn-policer", name, about, head, events)


def policers(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    ms = 1_000_000
    n = 320
    head: dict[str, Any]
    for action in ("drop-one", "drop-while-empty", "block"):
        for merge in (True, False):
            head = {"rule": "tcp-rate", "action": action, "event_merge": merge}
            factor = 0.3
            head |= {"start_s": 1.0, "most_s": 8.0, "factor": factor, "rtt_s": 0.2}
            n += 1
            a = PolicerA(1.0, 8.0, factor, 0.2, merge, action)
            name = f"a-{action}{'' if merge else '-draft'}"
            yield policed(name, "Policer A, in seconds.", draws(n), head, a, 60 * ms, 0.12)
    for action in ("drop-one", "drop-while-empty"):
        head = {"rule": "rate-bytes", "action": action, "depth": 9000, "factor": 0.8, "rtt_s": 0.1}
        n += 1
        prime = PolicerAPrime(9000.0, 0.8, 0.1, action)
        yield policed(f"a-prime-{action}", "Policer A', in bytes.", draws(n), head, prime, 15 * ms, 0.08)
    for action in ("drop-one", "drop-while-empty"):
        for credit in (None, (300.0, 1500.0)):
            head = {"rule": "volume", "action": action, "rate": 9000, "depth": 4000, "credit": credit}
            n += 1
            b = PolicerB(9000.0, 4000.0, credit, action)
            name = f"b-{action}{'-credit' if credit else ''}"
            yield policed(name, "Policer B, congestion-volume in bytes.", draws(n), head, b, 20 * ms, 0.25)


class Dropper:
    """Section 4.3: V-(t - lag) - V+ - V_FNE more than the allowance; what was dropped is not in V."""

    def __init__(self, rule: str, lag: int, allowance: float, weight: float, rho: float | None, idle: int) -> None:
        self.rule, self.lag, self.allowance, self.weight, self.rho, self.idle = rule, lag, allowance, weight, rho, idle
        self.flows: dict[int, list[tuple[int, tuple[str, bool], bool]]] = {}

    def arrive(self, at: int, flow: int, code: tuple[str, bool], draw: Callable[[], float]) -> tuple[bool, float]:
        """Whether it is dropped, and the balance of its flow before."""
        seen = self.flows.setdefault(flow, [])
        if seen and at - seen[-1][0] > self.idle:
            seen.clear()
        due = sum(c == NEGATIVE and t <= at - self.lag for t, c, dropped in seen if not dropped)
        paid = sum(WORTH[c] == 1 for _, c, dropped in seen if not dropped)
        guilty = due - paid > self.allowance
        share = 0.0
        if self.rule == "strict":
            share = float(code in (RECT, NEGATIVE))
        elif self.rule == "negative-only":
            share = float(code == NEGATIVE)
        elif WORTH[code] <= 0:
            averages = [0.0, 0.0, 0.0]
            for c in [c for _, c, _ in seen if c != FNE] + [code]:
                hits = (c == RE_ECHO, c in (RE_ECHO, CANCELLED), c in (NEGATIVE, CANCELLED))
                averages = [a + self.weight * (hit - a) for a, hit in zip(averages, hits, strict=True)]
            h, declared, p = averages
            share = min(1.0, max(0.0, (1 - (declared if self.rho is None else self.rho)) * p - h))
        dropped = guilty and (share >= 1 or (share > 0 and draw() < share))
        seen.append((at, code, dropped))
        return dropped, float(paid - due)


def droppers(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    for number, (rule, rho) in enumerate(
        (("strict", None), ("negative-only", None), ("paper", None), ("paper", 0.25)), start=340
    ):
        own = draws(number)
        dice: Callable[[], float] = own.next
        head: dict[str, Any] = {"rule": rule, "rho": rho, "delay_ns": SECOND // 5, "allowance": 2, "weight": 0.05}
        dropper = Dropper(rule, SECOND // 5, 2.0, 0.05, rho, SECOND)
        head["idle_ns"] = SECOND
        used: list[float] = []

        def draw(dice: Callable[[], float] = dice, used: list[float] = used) -> float:
            used.append(dice())
            return used[-1]

        events, at = [], 0
        for _ in range(300):
            at += int(12_000_000 * 2 * dice()) + (SECOND + 7 if dice() < 0.01 else 0)
            flow, u = int(dice() * 3), dice()
            # The third declares half of its congestion, the second none, the first all.
            honest = (0.16, 0.0, 0.08)[flow]
            code = RE_ECHO if u < honest else NEGATIVE if u < honest + 0.16 else RECT
            if u > 0.97:
                code = (FNE, CANCELLED)[int(dice() * 2)]
            if code == CANCELLED and not dropper.flows.get(flow):
                code = FNE
            dropped, _ = dropper.arrive(at, flow, code, draw)
            expect = {"dropped": dropped, "draws": len(used)}
            events.append({"at_ns": at, "flow": flow, "ecn": code[0], "re": code[1], "expect": expect})
        name = rule if rho is None else f"{rule}-rho"
        yield write("dropper", name, "Three flows: honest, silent, half.", head | {"draws": used}, events)


DROP_FIRST = {
    ("not-ect", False): 1,
    ("ect0", False): 2,
    ("ect0", True): 2,
    RECT: 3,
    CANCELLED: 3,
    NEGATIVE: 3,
    FNE: 4,
    RE_ECHO: 5,
}
"""Section 5.3, table 5; 4 and 5 "may merge", and here do not."""


def preferences(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """Packets of every code at a queue of any length: preference k from k steps on, the last at the limit alone."""
    for number, (name, step, limit) in enumerate((("ten", 10, 60), ("three", 3, 12)), start=360):
        dice: Callable[[], float] = draws(number).next
        head: dict[str, Any] = {"link": {"rate_bps": 10_000_000, "delay_ns": 0}, "draws": []}
        head["parameters"] = {"step": f"{step} packets"}
        events, at = [], 0
        for _ in range(240):
            at += 1 + int(800_000 * dice())
            code = list(DROP_FIRST)[int(dice() * 8)]
            # Often just below or at a threshold.
            waiting = min(limit, max(0, step * int(dice() * 6) - int(dice() * 2) + (dice() < 0.3) * int(dice() * step)))
            full = waiting == limit
            early = DROP_FIRST[code] < 5 and waiting >= DROP_FIRST[code] * step
            reason = "limit" if full else "early" if early else None
            expect = {"verdict": "drop" if reason else "accept", "reason": reason, "draws": 0}
            event: dict[str, Any] = {"event": "arrive", "at_ns": at, "bytes": 1000, "ecn": code[0], "re": code[1]}
            event |= {"waiting_packets": waiting, "waiting_bytes": 1000 * waiting, "full": full, "expect": expect}
            events.append(event)
        about = "Every code at a queue of any length; the order of drops."
        path, text = write("drop-preference", name, about, head, events)
        yield path, text.replace('"stage"', '"rule"', 1)


def meters(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """What a meter says after each packet, from all that have come (section 3 and appendix A of the draft)."""
    for number, name, marks in ((370, "few-marks", 0.03), (371, "many-marks", 0.5)):
        dice: Callable[[], float] = draws(number).next
        came: list[tuple[int, tuple[str, bool]]] = []
        events = []
        for n in range(150):
            code = RE_ECHO if dice() < 0.1 else RECT
            if dice() < marks:
                code = CANCELLED if code == RE_ECHO else NEGATIVE
            if n < 3 or dice() < 0.08:
                code = (FNE, *LEGACY)[int(dice() * 4)]
            came.append((40 + int(dice() * 1460), code))
            octets = {c: sum(size for size, other in came if other == c) for c in WORTH}
            all_but_credit = sum(octets.values()) - octets[FNE]
            path = Fraction(octets[RE_ECHO] + octets[CANCELLED], all_but_credit) if all_but_credit else None
            behind = Fraction(octets[CANCELLED] + octets[NEGATIVE], all_but_credit) if all_but_credit else None
            ahead = None if path is None or behind in (None, 1) else 1 - (1 - path) / (1 - behind)
            expect = {
                "worth": sum(WORTH[c] * total for c, total in octets.items()),
                "balance": octets[RE_ECHO] - octets[NEGATIVE],
                "path_congestion": None if path is None else float(path),
                "upstream_congestion": None if behind is None else float(behind),
                "downstream_congestion": None if ahead is None else float(ahead),
                "congestion_volume": octets[RE_ECHO] + octets[CANCELLED],
                "marked_volume": octets[CANCELLED] + octets[NEGATIVE],
                "others": sum(c not in WORTH for _, c in came),
            }
            events.append({"bytes": came[-1][0], "ecn": code[0], "re": code[1], "expect": expect})
        yield write("congestion-meter", name, "Every code, one packet after another.", {}, events)


def eecn(name: str, about: str, draws: Any, fne_is_ect: bool, train: int, count: int = 260) -> tuple[str, str]:
    """A sender, a queue that marks, a receiver that counts, ACKs of which trains are lost; losses and pauses.

    draft-briscoe-conex-re-ecn-tcp-04 sections 4.2, 5.3, 6.1.1, 6.1.3, 6.1.6 and 6.1.7.
    """
    dice: Callable[[], float] = draws.next
    events: list[dict[str, Any]] = []
    pending = said = ecc = known = waiting = 0
    at = last = 0
    while said < count:
        at += int(40_000_000 * dice()) + (int(SECOND * 1.5 * dice()) if dice() < 0.02 else 0)
        if dice() < 0.03:
            pending += 1  # a loss is declared too; what is sent again says nothing
            again = {"event": "send", "at_ns": at, "again": True, "expect": {"ecn": "not-ect", "re": False}}
            events.append(again)
            continue
        if pending > 0:
            code, pending = RE_ECHO, pending - 1
        elif said in (0, 2) or (said > 0 and at - last > SECOND):
            code = FNE
        else:
            code = RECT
        said, last = said + 1, at
        event = {"event": "send", "at_ns": at, "again": False, "expect": {"ecn": code[0], "re": code[1]}}
        if dice() < 0.12:
            after = {RE_ECHO: CANCELLED, RECT: NEGATIVE, FNE: NEGATIVE if fne_is_ect else None}[code]
            event["marked"] = None if after is None else {"ecn": after[0], "re": after[1]}
            if after is None:
                pending += 1  # the queue dropped it
                events += [event, {"event": "lost"}]
                continue
            ecc += 1
        events.append(event)
        waiting += 1
        if dice() < 1 / train:
            shown = ecc % 8
            least = (shown - known) % 8
            # The wrap may hide eight: as many as the newly acknowledged packets allow.
            new = least if waiting <= 7 else max(n for n in range(waiting + 1) if n % 8 == least)
            pending, known, waiting = pending + new, shown, 0
            events.append({"event": "ack", "eci": shown, "packets": 0, "expect": {"marks": new}})
            events[-1]["packets"] = sum(1 for e in _since_ack(events[:-1]))
    head = {"fne_is_ect": fne_is_ect}
    return write("eecn", name, about, head, events)


def _since_ack(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Packets that arrived since the last ACK that did."""
    for n in range(len(events) - 1, -1, -1):
        if events[n]["event"] == "ack":
            return
        lost = n + 1 < len(events) and events[n + 1]["event"] == "lost"
        if events[n]["event"] == "send" and not events[n]["again"] and not lost:
            yield events[n]


def senders(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    yield eecn("marks", "ACKs of one or two packets; FNE is dropped where a queue would mark.", draws(350), False, 2)
    yield eecn("trains", "Trains of ACKs are lost, and the counter wraps.", draws(351), False, 12)
    yield eecn("aware", "A queue that knows re-ECN marks FNE.", draws(352), True, 3)


@dataclass
class Came:
    """A packet that left the tunnel."""

    number: int
    outer: bool
    inner: bool
    size: int
    at: int


class Reports:
    """What the eNodeB says (Zhang et al. 2011 section III.B, step 3): cumulative counters, and a list of what is new.

    A report comes with the first packet, then with a packet or at an alarm when `every` has passed since the last one
    and something has come, and at once when `early` packets have met congestion since.
    """

    def __init__(self, every: int, early: int, listed: bool, numbered: bool) -> None:
        self.every, self.early, self.listed, self.numbered = every, early, listed, numbered
        self.came: list[Came] = []
        self.told: dict[str, Any] = {"hit": [], "packets": 0}
        self.due = 0

    def hit(self) -> list[int]:
        """Numbers of all that met congestion: marked by either field, or given up."""
        hit: list[int] = []
        gone: set[int] = set()
        come: set[int] = set()
        highest = -1
        for packet in self.came:
            come.add(packet.number)
            highest = max(highest, packet.number)
            if self.numbered:
                new = {n for n in range(highest - 3 + 1) if n not in come} - gone
                hit += sorted(new)
                gone |= new
            if packet.outer or packet.inner:
                hit.append(packet.number)
        return hit

    def arrive(self, packet: Came) -> dict[str, Any] | None:
        self.came.append(packet)
        new = len(self.hit()) - len(self.told["hit"])
        return self.report(packet.at) if new >= self.early or packet.at >= self.due else None

    def alarm(self) -> int | None:
        return self.due if len(self.came) > self.told["packets"] else None

    def report(self, now: int) -> dict[str, Any]:
        hit, last = self.hit(), self.came[-1]
        marked = [packet for packet in self.came if packet.outer or packet.inner]
        new = hit[len(self.told["hit"]) :]
        self.told = {"hit": hit, "packets": len(self.came)}
        self.due = now + self.every
        return {
            "last": last.number if self.numbered else None,
            "held_ns": now - last.at,
            "received": [len(self.came), sum(packet.size for packet in self.came)],
            "marked": [len(marked), sum(packet.size for packet in marked)],
            "marked_outside": sum(packet.outer for packet in marked),
            "lost": len(hit) - len(marked),
            "list": new if self.listed and self.numbered else [],
        }


@dataclass
class Went:
    """A packet that entered the tunnel."""

    number: int
    flow: int
    size: int
    at: int


class Gateway:
    """The PDN gateway (steps 4 and 5): what reports say is owed, and declared by a packet each."""

    def __init__(self, by_flow: bool, split: bool) -> None:
        self.by_flow, self.split = by_flow, split
        self.went: list[Went] = []
        self.said: dict[int, list[tuple[int, tuple[str, bool]]]] = {}
        self.charges: dict[int, Fraction] = {}
        self.known, self.marked, self.lost, self.stale, self.heard = 0, 0, 0, 0, 0
        self.covered = -1
        self.volume = self.unlisted = Fraction(0)
        self.rtt: Fraction | None = None
        self.echo: set[int] = set()
        self.echoed: dict[int, int] = {}

    def owes(self, account: int) -> Fraction:
        said = self.said.get(account, [])
        return self.charges.get(account, Fraction(0)) - sum(code == RE_ECHO for _, code in said)

    def send(self, packet: Went) -> tuple[str, bool]:
        self.went.append(packet)
        account = packet.flow if self.by_flow else -1
        said = self.said.setdefault(account, [])
        if self.owes(account) >= 1:
            code = RE_ECHO
        elif len(said) in (0, 2) or packet.at - said[-1][0] > SECOND:
            code = FNE
        else:
            code = RECT
        said.append((packet.at, code))
        return code

    def hear(self, report: dict[str, Any], now: int) -> None:
        self.heard += 1
        if report["received"][0] < self.known:
            self.stale += 1
            return
        self.known = report["received"][0]
        new = report["marked"][0] - self.marked + report["lost"] - self.lost
        self.marked, self.lost = report["marked"][0], report["lost"]
        if report["last"] is not None:
            sample = Fraction(now - self.went[report["last"]].at - report["held_ns"])
            self.rtt = sample if self.rtt is None else (7 * self.rtt + sample) / 8
        flows: dict[int, Fraction] = {}
        for number in report["list"]:
            packet = self.went[number]
            flows[packet.flow] = flows.get(packet.flow, Fraction(0)) + 1
            self.volume += packet.size
        rest = max(0, new - len(report["list"]))
        last = self.went[-1].number if report["last"] is None else report["last"]
        window = [packet for packet in self.went if self.covered < packet.number <= last]
        if rest and window:
            bytes_ = sum(packet.size for packet in window)
            for packet in window:
                flows[packet.flow] = flows.get(packet.flow, Fraction(0)) + Fraction(rest * packet.size, bytes_)
            self.volume += Fraction(rest * bytes_, len(window))
        self.unlisted += rest
        self.covered = max(self.covered, last)
        for flow, packets in flows.items():
            account = flow if self.by_flow else -1
            if self.by_flow:
                self.charges[account] = self.charges.get(account, Fraction(0)) + packets
            if self.split and (flow not in self.echoed or now - self.echoed[flow] >= (self.rtt or 0)):
                self.echo.add(flow)
                self.echoed[flow] = now
        if not self.by_flow:
            self.charges[-1] = self.charges.get(-1, Fraction(0)) + new

    def acknowledge(self, flow: int) -> bool:
        """Whether an acknowledgement of the flow that passes tells of congestion."""
        told = flow in self.echo
        self.echo.discard(flow)
        return told

    def seen(self) -> dict[str, Any]:
        accounts = set(self.charges) | set(self.said)
        return {
            "reports": self.heard,
            "stale": self.stale,
            "owed": float(sum(self.owes(account) for account in accounts)),
            "congestion_volume": float(self.volume),
            "unlisted": float(self.unlisted),
            "rtt_s": None if self.rtt is None else float(self.rtt) / SECOND,
        }


def reported(
    name: str, about: str, draws: Any, *, listed: bool, numbered: bool, by_flow: bool, split: bool, count: int = 160
) -> tuple[str, str]:
    """Packets of three flows through a tunnel that marks and loses some; reports of which some are lost or late."""
    dice: Callable[[], float] = draws.next
    every, early = 150_000_000, 5
    reports, gateway = Reports(every, early, listed, numbered), Gateway(by_flow, split)
    head = {"every_ns": every, "early": early, "list": listed, "numbered": numbered, "reordering": 3}
    head |= {"account": "flow" if by_flow else "bearer", "split": split}
    events: list[dict[str, Any]] = []
    # What is to come: when, in which order of things at one instant, what.
    agenda: list[tuple[int, int, str, Any]] = [(1_000_000, 0, "in", None)]
    sent = made = 0

    def add(at: int, what: str, about: Any = None) -> None:
        nonlocal made
        made += 1
        agenda.append((at, made, what, about))
        agenda.sort(key=lambda entry: entry[:2])

    def tell(report: dict[str, Any] | None, now: int) -> dict[str, Any] | None:
        if report is not None:
            events[-1]["report"] = reports.told["packets"]
            if dice() > 0.2:
                add(now + int(60_000_000 + (400_000_000 * dice() if dice() < 0.2 else 0)), "hear", dict(report))
        return report

    alarm: int | None = None
    while agenda:
        now, _, what, of = agenda.pop(0)
        if what == "in":
            flow, size, inner = int(dice() * 3), 140 + int(dice() * 1360), dice() < 0.04
            code = gateway.send(Went(sent, flow, size, now))
            event = {"event": "in", "at_ns": now, "id": sent, "flow": flow, "bytes": size, "marked": inner}
            event["expect"] = {"ecn": "ect1" if code == RECT else code[0], "re": code[1]}
            events.append(event)
            if dice() > 0.08:
                late = 30_000_000 + (40_000_000 if dice() < 0.1 else 0)
                add(now + late, "out", Came(sent, dice() < 0.1, inner, size, 0))
            sent += 1
            if sent < count:
                add(now + int(14_000_000 * dice()) + (int(1.6 * SECOND) if dice() < 0.01 else 0), "in")
        elif what == "out":
            of.at = now
            events.append({"event": "out", "at_ns": now, "id": of.number, "marked": of.outer})
            events[-1]["expect"] = tell(reports.arrive(of), now)
        elif what == "alarm":
            alarm = None
            if reports.alarm() is not None and now >= reports.due:
                events.append({"event": "alarm", "at_ns": now})
                events[-1]["expect"] = tell(reports.report(now), now)
        elif what == "hear":
            gateway.hear(of, now)
            events.append({"event": "hear", "at_ns": now, "report": of["received"][0], "expect": gateway.seen()})
            flow = int(dice() * 3)
            events.append({"event": "ack", "at_ns": now, "flow": flow, "expect": gateway.acknowledge(flow)})
        due = reports.alarm()
        if due is not None and (alarm is None or due != alarm):
            alarm = due
            add(due, "alarm")
    return write("report", name, about, head, events)


def feedback(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    for n, (name, listed, numbered, by_flow, split) in enumerate(
        (
            ("listed", True, True, False, False),
            ("listed-by-flow", True, True, True, True),
            ("unlisted-by-flow", False, True, True, False),
            ("unlisted", False, True, False, True),
            ("unnumbered", False, False, True, False),
        )
    ):
        about = "Three flows through a tunnel; reports that are lost, late and overtaken."
        own = draws(360 + n)
        yield reported(name, about, own, listed=listed, numbered=numbered, by_flow=by_flow, split=split)


def reecn(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    yield from tunnels(draws)
    yield from feedback(draws)
    yield from policers(draws)
    yield from droppers(draws)
    yield from senders(draws)
    yield from preferences(draws)
    yield from meters(draws)
