"""Claims c26 to c48: figures 5 to 7 and Table 1, two links and different round trips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from evenflow.claims import Check, Claim, Data
from evenflow.lab import Floats, Lab, Measure, rising, select, within
from evenflow.study import Label, Run

from .. import measures
from .. import network as net
from ..choices import Options
from ..ledger import claim
from .figures import CELLS, Cell, column, priced_ratio
from .runs import RTT23_MS, RTTS_MS

SMALL = 6.0
"""Up to here the paper sees no difference between the markers (section 5.1: “larger than approximately 6”)."""


HALF_PACKET = 0.5


def rate_ratio(weights: tuple[float, float], rtts_ms: tuple[float, float], prices: tuple[float, float]) -> float:
    """Eq. 1 for two connections: (w̄ / T p) of the first over that of the second."""
    (w, v), (t, u), (p, q) = weights, rtts_ms, prices
    return (w / (t * p)) / (v / (u * q))


def _r(data: Data, o: Options, name: str, **labels: float | str) -> tuple[list[float], Floats]:
    """R over r: the grid, and values of shape (grid, seeds)."""
    return Lab(data[f"wtp-{name}"]).curve("r", measures.long_ratio(o), **labels)


def _panels(name: str) -> list[dict[str, float | str]]:
    return [{}] if name == "fig06" else [{"rtt12_ms": rtt} for rtt in RTTS_MS]


def _each(name: str, markers: Sequence[str] = net.MARKERS) -> list[dict[str, float | str]]:
    """Labels of every curve of a figure."""
    return [{**panel, "marker": marker} for panel in _panels(name) for marker in markers]


# --- Figure 5 -------------------------------------------------------------------------------------------------------


def _rises(o: Options, name: str, data: Data, curves: Sequence[dict[str, float | str]]) -> list[Check]:
    return [
        check
        for labels in curves
        for check in rising(f"{measures.words(**labels)}: R", *_r(data, o, name, **labels), x=" of r")
    ]


def _spread(o: Options, data: Data) -> list[Check]:
    """Highest less lowest of the three markers' means, over the mean of all three, by seed."""
    found = []
    for panel in _panels("fig05"):
        curves = {marker: _r(data, o, "fig05", **panel, marker=marker) for marker in net.MARKERS}
        for i, r in enumerate(select(curves[net.RED][0], hi=SMALL)):
            at = {marker: values[i] for marker, (_, values) in curves.items()}
            order = sorted(at, key=lambda marker: float(np.mean(at[marker])))
            middle = sum(at.values()) / len(at)
            label = f"{measures.words(**panel, r=r)}: {order[-1]} − {order[0]} over the mean"
            found.append(Check(label, (at[order[-1]] - at[order[0]]) / middle, hi=0.20))
    return found


def _vq_among_them(o: Options, data: Data) -> list[Check]:
    found = []
    for panel in _panels("fig05"):
        grid, red = _r(data, o, "fig05", **panel, marker=net.RED)
        _, lb = _r(data, o, "fig05", **panel, marker=net.LB)
        _, vq = _r(data, o, "fig05", **panel, marker=net.VQ)
        found += [
            Check(f"{measures.words(**panel, r=r)}: VQ to mean of RED and LB", v / ((a + b) / 2), lo=0.85, hi=1.15)
            for r, a, b, v in zip(grid, red, lb, vq, strict=True)
            if r <= SMALL
        ]
    return found


def _below_diagonal(o: Options, data: Data) -> list[Check]:
    return [
        Check(f"{measures.words(**labels, r=r)}: r − R", r - values, lo=0)
        for labels in _each("fig05")
        for r, values in zip(*_r(data, o, "fig05", **labels), strict=True)
    ]


def _slope(o: Options, rtt: float, slack: float, data: Data, red_at_four: float | None = None) -> list[Check]:
    """R over r; `red_at_four` replaces the lower bound of RED at r = 4."""
    slope = rtt / (rtt + RTT23_MS)
    return [
        Check(
            f"{measures.words(marker=marker, r=r)}: R / r",
            values / r,
            lo=red_at_four if red_at_four is not None and (marker, r) == (net.RED, 4) else slope - slack,
            hi=slope + slack,
        )
        for marker in net.MARKERS
        for r, values in zip(*_r(data, o, "fig05", rtt12_ms=rtt, marker=marker), strict=True)
        if r <= SMALL
    ]


def _lb_behind(o: Options, name: str, ratios: Sequence[float], data: Data) -> list[Check]:
    """R under RED and VQ less R under LB, paired by seed."""
    found = []
    for panel in _panels(name):
        grid, lb = _r(data, o, name, **panel, marker=net.LB)
        for marker in (net.RED, net.VQ):
            _, other = _r(data, o, name, **panel, marker=marker)
            found += [
                Check(f"{measures.words(**panel, r=r)}: R under {marker} − under LB", b - a, lo=0)
                for r, a, b in zip(grid, lb, other, strict=True)
                if r in ratios
            ]
    return found


def _second_price(data: Data) -> list[Check]:
    lab = Lab(data["wtp-fig05"])
    p23 = measures.probability_at(net.R23)
    found = [
        Check(
            f"{measures.words(marker=net.LB, rtt12_ms=rtt, r=10)}: p23",
            lab.at(marker=net.LB, rtt12_ms=rtt, r=10).of(p23),
            lo=0.03,
        )
        for rtt in RTTS_MS
    ]
    for labels in _each("fig05", (net.RED, net.VQ)):
        grid, curve = lab.curve("r", p23, **labels)
        found += [
            Check(f"{measures.words(**labels, r=r)}: p23", values, hi=0.002)
            for r, values in zip(grid, curve, strict=True)
        ]
    return found


# --- Figures 6 and 7 ------------------------------------------------------------------------------------------------


def _on_diagonal(o: Options, data: Data) -> list[Check]:
    return [
        Check(f"{measures.words(**labels, r=r)}: R / r", values / r, lo=0.9, hi=1.1)
        for labels in _each("fig06")
        for r, values in zip(*_r(data, o, "fig06", **labels), strict=True)
        if r <= 4
    ]


def _lb_behind_corrected(o: Options, data: Data) -> list[Check]:
    grid, lb = _r(data, o, "fig06", marker=net.LB)
    _, red = _r(data, o, "fig06", marker=net.RED)
    return [
        *_lb_behind(o, "fig06", select(grid, 8), data),
        Check("r = 10: R under LB over R under RED", lb[grid.index(10)] / red[grid.index(10)], hi=0.85),
    ]


def _rises_in_seven(o: Options, rtt: float, data: Data) -> list[Check]:
    return _rises(o, "fig07", data, [{"rtt12_ms": rtt, "marker": marker} for marker in net.MARKERS])


# --- Table 1 --------------------------------------------------------------------------------------------------------


def _cell(o: Options, cell: Cell, data: Data) -> list[Check]:
    spot = Lab(data["wtp-tab01"]).at(rtt12_ms=cell.rtt12_ms)
    values = spot.of(column(o, cell.column))
    return [Check("", values, lo=cell.paper - cell.slack, hi=cell.paper + cell.slack)]


def _papers_arithmetic(data: Data) -> list[Check]:
    found = []
    for rtt, expected in ((200, 0.236), (100, 0.250)):
        p12, p23 = (next(c.paper for c in CELLS if (c.rtt12_ms, c.column) == (rtt, name)) for name in ("p12", "p23"))
        ratio = rate_ratio((1, 1), (rtt + RTT23_MS, rtt), (p12 + p23, p12))
        found.append(Check(measures.words(rtt12_ms=rtt), round(ratio, 3), lo=expected, hi=expected))
    return found


def _theory_of_table(o: Options, data: Data) -> list[Check]:
    lab = Lab(data["wtp-tab01"])
    found = []
    for rtt in RTTS_MS:
        spot = lab.at(rtt12_ms=rtt)
        predicted = spot.of(priced_ratio) * rtt / (rtt + RTT23_MS)
        found.append(
            Check(
                f"{measures.words(rtt12_ms=rtt)}: theory over measured R",
                predicted / spot.of(measures.long_ratio(o)),
                lo=0.94,
                hi=1.06,
            )
        )
    return found


def _sum_of_links(run: Run) -> float | None:
    first, second = (measures.probability(run, link) for link in (net.R12, net.R23))
    return None if first is None or second is None else first + second


def _price_of_both(what: str, measure: Measure, data: Data) -> list[Check]:
    lab = Lab(data["wtp-tab01"])
    return [
        Check(
            f"{measures.words(rtt12_ms=rtt)}: {what}",
            lab.at(rtt12_ms=rtt).of(measure),
            lo=expected - 0.004,
            hi=expected + 0.004,
        )
        for rtt, expected in ((200, 0.065), (100, 0.084))
    ]


def _symmetric(data: Data) -> list[Check]:
    spot = Lab(data["wtp-tab01"]).at(rtt12_ms=100)
    first, second = (spot.of(measures.probability_at(link)) for link in (net.R12, net.R23))
    lo, hi = within(1, 0.05)
    return [Check("p12 over p23", first / second, lo=lo, hi=hi)]


# --- Other networks -------------------------------------------------------------------------------------------------


Predicted: TypeAlias = "Callable[[Mapping[str, Label], Run], float | None]"


def _elsewhere(o: Options, data: Data, predicted: Predicted) -> list[Check]:
    """Measured R over the predicted one, at every point."""
    return [
        Check(
            f"{measures.words(**labels)}: R over predicted",
            spot.of(measures.long_ratio(o)) / spot.of(partial(predicted, labels)),
            lo=0.9,
            hi=1.1,
        )
        for labels, spot in Lab(data["wtp-x-topology"]).points()
    ]


def _by_price(labels: Mapping[str, Label], run: Run) -> float | None:
    found = priced_ratio(run)
    return None if found is None else float(labels["r"]) * found


def _by_price_and_half_packet(labels: Mapping[str, Label], run: Run) -> float | None:
    """As windows are sent in whole packets: (w̄ / p − ½) / T of each class."""
    long = measures.long_class(run)
    p, q = (measures.group_probability(group, run) for group in (long, "one"))
    if not p or not q:
        return None
    longer = 1 + (2 if long == "all" else 1) * RTT23_MS / net.RTT_MS
    return (float(labels["r"]) * longer / p - HALF_PACKET) / (1 / q - HALF_PACKET) / longer


PRICES_NOTE = (
    "What fixes p is that windows fill the links: with 1000 B packets p = 0.042 on both links would need some 15 ms of "
    "waiting, where RED's thresholds of 5 and 15 packets leave 6.6 ms under the rule of 1993 (p = 0.0456), 8.3 ms with "
    "independent marks (0.0448, accepted) and 9.9 ms under ns-2's (0.0442, accepted). Smaller packets do it as well: "
    "at 920 B p is 0.0423 on both links (0.0220 and 0.0415 at 200 ms). Access rate, start, B, and a spread of round "
    "trips by 5 % move p by less than 0.0003."
)
SUM_NOTE = (
    "As for the two cells that are added: 0.0912 at 100 ms; 0.0897 with independent marks, 0.0884 under ns-2's "
    "count rule, 0.0846 with packets of 920 B. The cells may be 0.003 off each, their sum only 0.004."
)
ELSEWHERE_NOTE = (
    "At large r the short connections' windows are of 4 to 6 packets, and sending whole packets costs half of one: R "
    "is up to 15 % above the ratio by price alone. With the half packet all points but one are within 10 %: load-based "
    "marking of 5 Mbit/s at r = 10 needs more than its largest price (0.284), so that the link is full and waiting "
    "(40 ms in the mean) makes up for the price that is missing. Over three links alone virtual queue gives R = 1.74 "
    "for equal weights and 7.7 at r = 4, as the two classes meet prices of 0.061 and 0.037 (0.174 and 0.101): their "
    "round trips, 200 and 400 ms, lock. With round trips spread by 25 % R is 0.98 and 4.2. The prices, which the claim "
    "uses, account for it."
)


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    by_r = "every step of r, paired by seed"
    fig05, fig06, fig07, tab01 = ("fig05",), ("fig06",), ("fig07",), ("tab01",)

    def cell(number: int, index: int) -> Claim:
        c = CELLS[index]
        what = {"R": "throughput ratio of both links to R1–R2", "p12": "p at R1–R2", "p23": "p at R2–R3"}[c.column]
        return claim(
            number,
            "Table 1",
            f"RED, equal weights, {measures.words(rtt12_ms=c.rtt12_ms)}: {what}.",
            expected=f"{c.paper}",
            tolerance=f"± {c.slack}: " + ("5 %" if c.column == "R" else "rounding and packet size"),
            literal=partial(_cell, o, c),
            note=PRICES_NOTE if c.column != "R" else "",
            on=tab01,
        )

    return (
        claim(
            26,
            "Fig. 5",
            "Over two links, too, willingness to pay controls throughput: R rises with r under each marker, with both "
            "round trips.",
            expected="rising",
            tolerance=by_r,
            literal=lambda data: _rises(o, "fig05", data, _each("fig05")),
            on=fig05,
        ),
        claim(
            27,
            "section 5.1, Fig. 5",
            "All three markers differentiate roughly alike for small r.",
            expected="the same R",
            tolerance="highest and lowest at most 20 % of the mean apart, r ≤ 6",
            literal=partial(_spread, o),
            on=fig05,
        ),
        claim(
            28,
            "section 5.1, Fig. 5",
            "Virtual queue behaves as the other two although the increase is proportional.",
            expected="the others' mean",
            tolerance="± 15 %, r ≤ 6",
            literal=partial(_vq_among_them, o),
            on=fig05,
        ),
        claim(
            29,
            "section 5.1, Fig. 5",
            "R lies below the diagonal, as the longer connections have the longer round trip.",
            expected="R < r",
            tolerance="exact, every r and marker",
            literal=partial(_below_diagonal, o),
            on=fig05,
        ),
        *(
            claim(
                number,
                f"section 5.1, Fig. 5{panel}",
                f"R is the ratio of round trips times r: {words}.",
                expected=f"R / r = {slope:.3g}",
                tolerance=f"± {slack}, r ≤ 6",
                literal=partial(_slope, o, rtt, slack),
                relaxed=partial(_slope, o, rtt, slack, red_at_four=0.55) if rtt == 200 else None,
                reading="A wider bound for RED at r = 4, from 0.55 on, set before the first run."
                if rtt == 200
                else None,
                on=fig05,
            )
            for number, panel, rtt, slope, slack, words in (
                (30, "a", 200, 2 / 3, 0.07, "two thirds at 200 and 300 ms"),
                (31, "b", 100, 1 / 2, 0.06, "one half at 100 and 200 ms"),
            )
        ),
        claim(
            32,
            "section 5.1, Fig. 5",
            "For large r load-based marking gives a smaller R than RED and virtual queue.",
            expected="R_LB < R_RED, R_VQ",
            tolerance="at r = 8 and 10, beyond the interval of the paired difference, both panels",
            literal=partial(_lb_behind, o, "fig05", (8, 10)),
            on=fig05,
        ),
        claim(
            33,
            "section 5.1",
            "The cause: at large r load-based marking marks at the second link as well, the other two do not.",
            expected="p23 > 0 under LB, 0 under RED and VQ",
            tolerance="LB at least 0.03 at r = 10, the others at most 0.002 at every r",
            literal=_second_price,
            on=fig05,
        ),
        claim(
            34,
            "section 5.1, Fig. 6",
            "With willingness to pay in proportion to the round trip R is r, for small r.",
            expected="R = r",
            tolerance="± 10 %, r ≤ 4",
            literal=partial(_on_diagonal, o),
            on=fig06,
        ),
        claim(
            35,
            "section 5.1, Fig. 6",
            "For large r load-based marking falls behind here as well.",
            expected="R_LB < R_RED, R_VQ",
            tolerance="r ≥ 8, beyond the interval of the paired difference; R_LB / R_RED at most 0.85 at r = 10",
            literal=partial(_lb_behind_corrected, o),
            on=fig06,
        ),
        *(
            claim(
                number,
                f"section 5.1, Fig. 7{panel}",
                f"With connections over either link and over both, {measures.words(rtt12_ms=rtt)}: R rises with r "
                "under each marker.",
                expected="rising",
                tolerance=by_r,
                literal=partial(_rises_in_seven, o, rtt),
                on=fig07,
            )
            for number, panel, rtt in ((36, "a", 200), (37, "b", 100))
        ),
        *(cell(38 + index, index) for index in range(len(CELLS))),
        claim(
            44,
            "section 5.1, after Table 1",
            "Theory predicts R from the marking probabilities of Table 1: (w̄ / T p) of one class over that of the "
            "other.",
            expected="0.236 at 200 ms, 0.25 at 100 ms",
            tolerance="exact to three digits: arithmetic on the paper's numbers",
            literal=_papers_arithmetic,
        ),
        claim(
            45,
            "section 5.1",
            "Theory with measured marking probabilities agrees with the measured R.",
            expected="agreement (the paper's cells: 2 % and 0.4 %)",
            tolerance="6 %, with the share of marks that each class received itself",
            literal=partial(_theory_of_table, o),
            on=tab01,
        ),
        claim(
            46,
            "section 5.1",
            "A connection over both links pays the sum of their prices.",
            expected="p12 + p23 = 0.065 at 200 ms, 0.084 at 100 ms",
            tolerance="± 0.004",
            literal=partial(_price_of_both, "p12 + p23", _sum_of_links),
            relaxed=partial(_price_of_both, "marks per packet", partial(measures.group_probability, "both")),
            reading="What these connections' own packets met, instead of the sum that theory takes for it.",
            note=SUM_NOTE,
            on=tab01,
        ),
        claim(
            47,
            "Table 1",
            "With equal round trips on both links their marking probabilities are equal.",
            expected="p12 = p23 at 100 ms",
            tolerance="± 5 %",
            literal=_symmetric,
            on=tab01,
        ),
        claim(
            48,
            "section 5.1, last sentence",
            "Other topologies and capacities lead to the same conclusions: Fig. 6 with 5 and 20 Mbit/s behind R2 and "
            "over three links, R is the ratio of willingness to pay times the inverse one of prices.",
            expected="R = r p_short / p_long",
            tolerance="± 10 % with measured prices, every r and marker; the paper shows no data",
            literal=partial(_elsewhere, o, predicted=_by_price),
            relaxed=partial(_elsewhere, o, predicted=_by_price_and_half_packet),
            reading="With the half packet that a window loses when it is sent in whole packets, to which section 5.1 "
            "puts down what lies above the diagonal on one link.",
            note=ELSEWHERE_NOTE,
            on=("x-topology",),
        ),
    )
