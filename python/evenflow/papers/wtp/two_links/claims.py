"""Claims c26 to c48: figures 5 to 7 and Table 1, two links and different round trips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import TypeAlias

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, Measure, select, short
from evenflow.study import Label, Run

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from .figures import CELLS, Cell, column, priced_ratio
from .runs import CHAIN, NARROW, RTT23_MS, RTTS_MS

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


def _rises(accept: Accept, o: Options, name: str, data: Data, curves: Sequence[dict[str, float | str]]) -> list[Check]:
    return [
        accept("step", f"{measures.words(**labels)}: r = {a:g} → {b:g}", high - low)
        for labels in curves
        for (a, low), (b, high) in pairwise(zip(*_r(data, o, name, **labels), strict=True))
    ]


@claims.measure("c26")
def _controls(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _rises(accept, o, "fig05", data, _each("fig05"))


@claims.measure("c27")
def _alike(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for panel in _panels("fig05"):
        curves = {marker: _r(data, o, "fig05", **panel, marker=marker) for marker in net.MARKERS}
        for i, r in enumerate(select(curves[net.RED][0], hi=SMALL)):
            found += [
                accept("ratio", f"{measures.words(**panel, r=r)}: {one} over {other}", curves[one][1][i] / below[1][i])
                for one, other in combinations(net.MARKERS, 2)
                for below in [curves[other]]
            ]
    return found


@claims.measure("c28")
def _vq_among_them(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = []
    for panel in _panels("fig05"):
        grid, red = _r(data, o, "fig05", **panel, marker=net.RED)
        _, lb = _r(data, o, "fig05", **panel, marker=net.LB)
        _, vq = _r(data, o, "fig05", **panel, marker=net.VQ)
        found += [
            accept("ratio", measures.words(**panel, r=r), v / ((a + b) / 2))
            for r, a, b, v in zip(grid, red, lb, vq, strict=True)
            if r <= SMALL
        ]
    return found


@claims.measure("c29")
def _below_diagonal(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept("gap", measures.words(**labels, r=r), r - values)
        for labels in _each("fig05")
        for r, values in zip(*_r(data, o, "fig05", **labels), strict=True)
    ]


def _slope(accept: Accept, o: Options, rtt: float, data: Data) -> list[Check]:
    return [
        accept("slope", f"{measures.words(marker=marker, r=r)}: R / r", values / r)
        for marker in net.MARKERS
        for r, values in zip(*_r(data, o, "fig05", rtt12_ms=rtt, marker=marker), strict=True)
        if r <= SMALL
    ]


@claims.measure("c30")
def _two_thirds(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _slope(accept, o, RTTS_MS[0], data)


@claims.measure("c31")
def _one_half(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _slope(accept, o, RTTS_MS[1], data)


def _lb_behind(accept: Accept, o: Options, name: str, ratios: Sequence[float], data: Data) -> list[Check]:
    """R under RED and VQ less R under LB, paired by seed."""
    found = []
    for panel in _panels(name):
        grid, lb = _r(data, o, name, **panel, marker=net.LB)
        for marker in (net.RED, net.VQ):
            _, other = _r(data, o, name, **panel, marker=marker)
            found += [
                accept("difference", f"{measures.words(**panel, r=r)}: R under {marker} − under LB", b - a)
                for r, a, b in zip(grid, lb, other, strict=True)
                if r in ratios
            ]
    return found


@claims.measure("c32")
def _behind(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _lb_behind(accept, o, "fig05", (8, 10), data)


@claims.measure("c33")
def _second_price(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["wtp-fig05"])
    p23 = measures.probability_at(net.R23)
    found = [
        accept(
            "lb",
            f"{measures.words(marker=net.LB, rtt12_ms=rtt, r=10)}: p23",
            lab.at(marker=net.LB, rtt12_ms=rtt, r=10).of(p23),
        )
        for rtt in RTTS_MS
    ]
    for labels in _each("fig05", (net.RED, net.VQ)):
        grid, curve = lab.curve("r", p23, **labels)
        found += [
            accept("others", f"{measures.words(**labels, r=r)}: p23", values)
            for r, values in zip(grid, curve, strict=True)
        ]
    return found


# --- Figures 6 and 7 ------------------------------------------------------------------------------------------------


@claims.measure("c34")
def _on_diagonal(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept("ratio", f"{measures.words(**labels, r=r)}: R / r", values / r)
        for labels in _each("fig06")
        for r, values in zip(*_r(data, o, "fig06", **labels), strict=True)
        if r <= 4
    ]


@claims.measure("c35")
def _lb_behind_corrected(data: Data, accept: Accept, o: Options) -> list[Check]:
    grid, lb = _r(data, o, "fig06", marker=net.LB)
    _, red = _r(data, o, "fig06", marker=net.RED)
    return [
        *_lb_behind(accept, o, "fig06", select(grid, 8), data),
        accept("ratio", "r = 10: R under LB over R under RED", lb[grid.index(10)] / red[grid.index(10)]),
    ]


def _rises_in_seven(accept: Accept, o: Options, rtt: float, data: Data) -> list[Check]:
    return _rises(accept, o, "fig07", data, [{"rtt12_ms": rtt, "marker": marker} for marker in net.MARKERS])


@claims.measure("c36")
def _three_classes(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _rises_in_seven(accept, o, RTTS_MS[0], data)


@claims.measure("c37")
def _three_classes_near(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _rises_in_seven(accept, o, RTTS_MS[1], data)


# --- Table 1 --------------------------------------------------------------------------------------------------------


def _cell(index: int) -> None:
    cell: Cell = CELLS[index]

    @claims.measure(f"c{38 + index}")
    def measured(data: Data, accept: Accept, o: Options) -> list[Check]:
        spot = Lab(data["wtp-tab01"]).at(rtt12_ms=cell.rtt12_ms)
        return [accept("cell", "", spot.of(column(o, cell.column)))]


for _index in range(len(CELLS)):
    _cell(_index)


@claims.measure("c44")
def _papers_arithmetic(data: Data, accept: Accept) -> list[Check]:
    found = []
    for rtt, name in ((200, "at 200 ms"), (100, "at 100 ms")):
        p12, p23 = (next(c.paper for c in CELLS if (c.rtt12_ms, c.column) == (rtt, which)) for which in ("p12", "p23"))
        ratio = rate_ratio((1, 1), (rtt + RTT23_MS, rtt), (p12 + p23, p12))
        found.append(accept(name, measures.words(rtt12_ms=rtt), round(ratio, 3)))
    return found


@claims.measure("c45")
def _theory_of_table(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = Lab(data["wtp-tab01"])
    found = []
    for rtt in RTTS_MS:
        spot = lab.at(rtt12_ms=rtt)
        predicted = spot.of(priced_ratio) * rtt / (rtt + RTT23_MS)
        found.append(accept("ratio", measures.words(rtt12_ms=rtt), predicted / spot.of(measures.long_ratio(o))))
    return found


def _sum_of_links(run: Run) -> float | None:
    first, second = (measures.probability(run, link) for link in (net.R12, net.R23))
    return None if first is None or second is None else first + second


def _price_of_both(accept: Accept, what: str, measure: Measure, data: Data) -> list[Check]:
    lab = Lab(data["wtp-tab01"])
    return [
        accept(name, f"{measures.words(rtt12_ms=rtt)}: {what}", lab.at(rtt12_ms=rtt).of(measure))
        for rtt, name in ((200, "at 200 ms"), (100, "at 100 ms"))
    ]


@claims.measure("c46")
def _price(data: Data, accept: Accept) -> list[Check]:
    return _price_of_both(accept, "p12 + p23", _sum_of_links, data)


@claims.measure("c46", reading="wider")
def _price_met(data: Data, accept: Accept) -> list[Check]:
    return _price_of_both(accept, "marks per packet", partial(measures.group_probability, "both"), data)


@claims.measure("c47")
def _symmetric(data: Data, accept: Accept) -> list[Check]:
    spot = Lab(data["wtp-tab01"]).at(rtt12_ms=100)
    first, second = (spot.of(measures.probability_at(link)) for link in (net.R12, net.R23))
    return [accept("ratio", "p12 over p23", first / second)]


# --- Other networks -------------------------------------------------------------------------------------------------


Predicted: TypeAlias = "Callable[[Mapping[str, Label], Run], float | None]"


def _elsewhere(accept: Accept, o: Options, data: Data, predicted: Predicted) -> list[Check]:
    """Measured R over the predicted one, at every point."""
    return [
        accept("ratio", measures.words(**labels), spot.of(measures.long_ratio(o)) / spot.of(partial(predicted, labels)))
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


@claims.measure("c48")
def _other_networks(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _elsewhere(accept, o, data, _by_price)


@claims.measure("c48", reading="wider")
def _other_networks_in_packets(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _elsewhere(accept, o, data, _by_price_and_half_packet)


# --- What was found where a claim fails -----------------------------------------------------------------------------


@claims.note("c39", "c40", "c42", "c43")
def _prices_note(data: Data, judgement: Judgement) -> str:
    said = [
        "What fixes p is that windows fill the links: the less packets wait, the smaller windows are, and the more "
        "marks "
        "there have to be."
    ]
    if "wtp-x-table" in data:
        lab = Lab(data["wtp-x-table"])
        rows = []
        for how in dict.fromkeys(str(labels["how"]) for labels, _ in lab.points()):
            at = [lab.at(how=how, rtt12_ms=rtt) for rtt in RTTS_MS]
            prices = [
                short(spot.of(measures.probability_at(link)))
                for spot, link in ((at[0], net.R12), (at[0], net.R23), (at[1], net.R12), (at[1], net.R23))
            ]
            wait = short(at[1].of(partial(measures.delay_ms, "mean", link=net.R12)))
            rows.append(f"{how}: {', '.join(prices)} (a wait of {wait} ms at 100 ms)")
        said.append(
            "One thing at a time done otherwise (wtp-x-table), p12 and p23 at 200 ms, then at 100 ms: "
            f"{'; '.join(rows)}."
        )
    return " ".join(said)


@claims.note("c46")
def _sum_note(data: Data, judgement: Judgement) -> str:
    return (
        "As for the two cells that are added: each may be 0.002 or 0.003 off, their sum only 0.004. What each choice "
        "makes of them is under c42 and in wtp-x-table."
    )


@claims.note("c48")
def _elsewhere_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = Lab(data["wtp-x-topology"])
    off: dict[str, list[tuple[float, str]]] = {"price": [], "half": []}
    for labels, spot in lab.points():
        for name, predicted in (("price", _by_price), ("half", _by_price_and_half_packet)):
            ratio = spot.of(measures.long_ratio(o)) / spot.of(partial(predicted, labels))
            off[name].append((float(ratio.mean()), measures.words(**labels)))
    far = max(off["price"])
    beyond = [f"{words} {short(value)}" for value, words in off["half"] if abs(value - 1) > 0.1]
    said = [
        f"Largest R over the ratio by price alone: {short(far[0])} ({far[1]}). Sending whole packets costs half of "
        "one, and the "
        "short connections' windows are of few packets.",
        f"With the half packet, beyond 10 %: {', '.join(beyond) or 'none'}.",
    ]
    if lab.has(topology=NARROW, marker=net.LB, r=10):
        full = lab.at(topology=NARROW, marker=net.LB, r=10)
        rho, p, wait = (
            short(full.of(measure))
            for measure in (
                partial(measures.utilisation, link=net.R23),
                measures.probability_at(net.R23),
                partial(measures.delay_ms, "mean", link=net.R23),
            )
        )
        said.append(
            f"Load-based marking of 5 Mbit/s at r = 10 stands at ρ = {rho} and p = {p}, the most it can mark, and "
            f"{wait} ms of "
            "waiting makes up for the price that is missing."
        )
    for r in (1, 4):
        if lab.has(topology=CHAIN, marker=net.VQ, r=r):
            spot = lab.at(topology=CHAIN, marker=net.VQ, r=r)
            one, every = (short(spot.of(partial(measures.group_probability, name))) for name in ("one", "all"))
            said.append(
                f"Over three links alone virtual queue gives R = {short(spot.of(measures.long_ratio(o)))} at r = {r}, "
                "as the "
                f"short connections meet a price of {one} and the long ones {every}."
            )
    return " ".join(said)
