"""Vectors for tunnels and for what re-ECN adds: policers, a dropper, the codes of a sender.

Written a second time from RFC 6040 (figures 1 to 4, quoted here as tables, where Evenflow has rules), 3GPP TS 29.281 section 5.1,
draft-briscoe-conex-re-ecn-motiv-03 (appendices A and B), draft-briscoe-conex-re-ecn-tcp-04 section 6.1 and Zhang et al. 2011. Histories are
kept whole and added up for each packet. Nothing of Evenflow is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stages import write

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
    """How many numbers are lost, and how many came too late, from all that have come, unwrapped, the first number being 0.

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


def reecn(draws: Callable[[int], Any]) -> Iterator[tuple[str, str]]:
    yield from tunnels(draws)
