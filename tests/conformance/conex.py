"""Vectors for what polices and audits congestion: a second congestion policer.

Written from RFC 7713 section 5.4.3 (a bucket that fills at a constant rate and that reports drain), table I
and figure 6 of Sanhaji et al. 2015, in fractions. Nothing of Evenflow is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
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


def conex(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    """All of them; `draws(seed).next` gives numbers in (0, 1)."""
    for n, harshness in enumerate(("strict", "mild", "soft")):
        for m, (about, lines) in enumerate(
            (
                ("charged on arrival, without a floor", {}),
                ("charged if they pass", {"charge": "pass"}),
                ("charged on arrival, with a floor", {"floor": "end"}),
            )
        ):
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
