"""Claims c01 to c25: window dynamics, who gets what on one link, and marks one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, Spot, select, short, span
from evenflow.stats import mean_interval, ratio_of_means

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from ..measures import percent, probability, ratio, window, words
from ..network import LEVEL
from . import measures as sharing
from .measures import CONSTANT, NETWORK, TAGGED
from .runs import OVERFLOW, PROBABILITIES, PROBABILITY, TAGGED_START_S, TRADE_OFF, WEIGHTS

FAST, SLOW = TRADE_OFF[0], TRADE_OFF[-1]
"""Figure 1's two pairs."""
TOP = 10.0
"""The largest weight ratio of figures 3 and 4."""
LARGE = 6.0
"""From here on a weight ratio is large (c13)."""
FIGURES = {net.PI: "fig03", net.IPD: "fig04"}
RED_LB = (net.RED, net.LB)
LOSSLESS = (
    *("fig01", "fig03", "fig04", "x-phase", "x-burst", "x-windows", "x-marks"),
    *("fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11", "tab01", "tab02"),
)
"""Experiments whose losses are counted (c25): the paper's, and this topic's."""


# --- Figure 1 -------------------------------------------------------------------------------------------------------


def _spots(data: Data, place: str, *pairs: tuple[float, float]) -> list[Spot]:
    lab = Lab(data["wtp-fig01"])
    also = {"p": PROBABILITY} if place == CONSTANT else {}
    return [lab.at(place=place, increase=inc, decrease=dec, **also) for inc, dec in pairs]


@claims.measure("c01")
def _settles_faster(data: Data, accept: Accept) -> list[Check]:
    found = []
    for place, start_s in ((CONSTANT, 0.0), (NETWORK, TAGGED_START_S)):
        fast, slow = (sharing.settling_s(spot, start_s) for spot in _spots(data, place, FAST, SLOW))
        found.append(accept("ratio", place, ratio_of_means(slow, fast, LEVEL)))
    return found


@claims.measure("c02")
def _fluctuates_more(data: Data, accept: Accept) -> list[Check]:
    found = []
    for place in (CONSTANT, NETWORK):
        fast, slow = (sharing.variances(spot) for spot in _spots(data, place, FAST, SLOW))
        found.append(accept("ratio", place, sharing.root(ratio_of_means(fast, slow, LEVEL))))
    return found


def _windows_of(data: Data, place: str, *pairs: tuple[float, float]) -> list[Floats]:
    return [spot.of(partial(window, TAGGED)) for spot in _spots(data, place, *pairs)]


@claims.measure("c03")
def _same_mean(data: Data, accept: Accept) -> list[Check]:
    found = []
    for place, name in ((CONSTANT, "alone"), (NETWORK, "network")):
        fast, slow = _windows_of(data, place, FAST, SLOW)
        found.append(accept(name, place, ratio_of_means(fast, slow, LEVEL)))
    return found


@claims.measure("c04")
def _trade_off(data: Data, accept: Accept) -> list[Check]:
    spread = [sharing.variances(spot) for spot in _spots(data, CONSTANT, *TRADE_OFF)]
    found = [
        accept(
            "deviation",
            f"standard deviation, w_dec = {a[1]:g} → {b[1]:g}",
            sharing.root(ratio_of_means(y, x, LEVEL)),
        )
        for (a, x), (b, y) in pairwise(zip(TRADE_OFF, spread, strict=True))
    ]
    means = _windows_of(data, CONSTANT, *TRADE_OFF)
    return found + [
        accept("mean", f"mean at w_dec = {b[1]:g} over that at {a[1]:g}", ratio_of_means(y, x, LEVEL))
        for (a, x), (b, y) in combinations(list(zip(TRADE_OFF, means, strict=True)), 2)
    ]


@claims.measure("c05")
def _larger_probability(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["wtp-fig01"])
    spots = [lab.at(place=CONSTANT, p=p, increase=FAST[0], decrease=FAST[1]) for p in PROBABILITIES]
    settling = [sharing.settling_s(spot, 0.0) for spot in spots]
    # variance over squared mean: its ratios are those of std/mean, squared
    spread = [sharing.variances(spot) / sharing.mean_window(spot) ** 2 for spot in spots]
    found = []
    for (p, t, v), (q, u, w) in pairwise(zip(PROBABILITIES, settling, spread, strict=True)):
        found.append(accept("settling", f"settling time at p = {q:g} − at {p:g}", u - t))
        ratio = sharing.root(ratio_of_means(w, v, LEVEL))
        found.append(accept("fluctuation", f"std/mean at p = {q:g} over {p:g}", ratio))
    for p, v in zip(PROBABILITIES[:-1], spread[:-1], strict=True):
        ratio = sharing.root(ratio_of_means(v / p, spread[-1] / PROBABILITIES[-1], LEVEL))
        found.append(accept("law", f"std/mean over √p at p = {p:g}, over that at {PROBABILITIES[-1]:g}", ratio))
    return found


@claims.measure("c06")
def _mean_rate(data: Data, accept: Accept, o: Options) -> list[Check]:
    pairs = (*TRADE_OFF, *WEIGHTS)
    found = []
    for (inc, dec), spot in zip(pairs, _spots(data, CONSTANT, *pairs), strict=True):
        rates = spot.of(partial(measures.throughput, TAGGED)) / (8 * o.packet)
        expected = (inc * dec / PROBABILITY - 0.5) / (net.RTT_MS / 1e3)
        found.append(accept("rate", f"({inc:g},{dec:g})", rates / expected))
    return found


# --- Figures 3 and 4 ------------------------------------------------------------------------------------------------


class Shares:
    """Figure 3 or 4, by the form of control it is about, in the population that is judged."""

    def __init__(self, o: Options, data: Data, form: str = net.PI) -> None:
        self.o = o
        self.lab = Lab(data[f"wtp-{FIGURES[form]}"])

    def curve(self, marker: str, of: sharing.Of) -> tuple[list[float], Floats]:
        """A ratio over r: the grid, and values of shape (grid, seeds)."""
        return sharing.over_r(self.lab, self.o, self.o.population, marker, of)

    def at(self, marker: str, of: sharing.Of, r: float = TOP) -> Floats:
        """A ratio at one r, shape (seeds,)."""
        return sharing.at_r(self.lab, self.o, self.o.population, marker, of, r)

    def each(
        self, markers: Sequence[str], of: sharing.Of, least: float = 1, *, over_r: bool = False
    ) -> list[tuple[str, Floats]]:
        """A label and the values for each marker and r from `least`; over r if asked for."""
        found = []
        for marker in markers:
            grid, values = self.curve(marker, of)
            for r in select(grid, least):
                row = values[grid.index(r)]
                found.append((f"{marker}, {words(r=r)}", row / r if over_r else row))
        return found


def _steps(shares: Shares, accept: Accept) -> list[Check]:
    found = []
    for marker in net.MARKERS:
        grid, values = shares.curve(marker, sharing.of_throughput)
        found += [
            accept("step", f"{marker}, r = {a:g} → {b:g}", high - low)
            for (a, low), (b, high) in pairwise(zip(grid, values, strict=True))
        ]
    return found


def _apart(shares: Shares, accept: Accept, one: str, others: Sequence[str]) -> list[Check]:
    grid, values = shares.curve(one, sharing.of_throughput)
    return [
        accept("ratio", f"{words(r=r)}: {one} over {other}", row / shares.at(other, sharing.of_throughput, r))
        for other in others
        for r, row in zip(grid, values, strict=True)
    ]


@claims.measure("c07")
def _increasing(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _steps(Shares(o, data), accept)


@claims.measure("c08")
def _red_and_lb(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _apart(Shares(o, data), accept, net.RED, (net.LB,))


@claims.measure("c09")
def _near(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    return [accept("ratio", label, row) for label, row in shares.each(RED_LB, sharing.of_throughput, over_r=True)]


@claims.measure("c10")
def _above(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    return [accept("ratio", label, row) for label, row in shares.each(RED_LB, sharing.of_throughput, 3, over_r=True)]


@claims.measure("c11")
def _windows_as_weights(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    return [accept("ratio", label, row) for label, row in shares.each(RED_LB, sharing.of_windows, over_r=True)]


@claims.measure("c12")
def _as_predicted(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab, found = Lab(data["wtp-fig03"]), []
    for marker in net.MARKERS:
        grid, values = sharing.over_predicted(lab, o, o.population, marker, own=False)
        found += [accept("ratio", f"{marker}, {words(r=r)}", row) for r, row in zip(grid, values, strict=True)]
    return found


@claims.measure("c13")
def _vq_favours(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    grid, values = shares.curve(net.VQ, sharing.of_throughput)
    found = []
    for r in select(grid, LARGE):
        row = values[grid.index(r)]
        found.append(accept("above", f"VQ, {words(r=r)}: R − r", row - r))
        found += [
            accept("beyond", f"{words(r=r)}: VQ − {other}", row - shares.at(other, sharing.of_throughput, r))
            for other in RED_LB
        ]
    return found


@claims.measure("c14")
def _vq_varies(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    grid, values = shares.curve(net.VQ, sharing.of_throughput)
    rows = [grid.index(r) for r in select(grid, 5)]
    return [
        accept(
            "width",
            f"VQ over {other}",
            sharing.half_width_ratio(values[rows], shares.curve(other, sharing.of_throughput)[1][rows], LEVEL),
        )
        for other in RED_LB
    ]


@claims.measure("c15")
def _fewer_marks(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [accept("ratio", "VQ, r = 10: M over R", Shares(o, data).at(net.VQ, sharing.of_marks_per_packet))]


@claims.measure("c16")
def _lower_price(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data)
    return [accept("ratio", label, row) for label, row in shares.each((net.VQ,), sharing.of_probabilities, 2)]


@claims.measure("c17")
def _same_price(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [accept("ratio", label, row) for label, row in Shares(o, data).each(RED_LB, sharing.of_marks_per_packet)]


@claims.measure("c18")
def _vq_as_others(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _apart(Shares(o, data, net.IPD), accept, net.VQ, RED_LB)


@claims.measure("c19")
def _near_and_increasing(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data, net.IPD)
    near = [
        accept("near", f"{label}: R over r", row)
        for label, row in shares.each(net.MARKERS, sharing.of_throughput, over_r=True)
    ]
    return near + _steps(shares, accept)


@claims.measure("c20")
def _marks_as_weights(data: Data, accept: Accept, o: Options) -> list[Check]:
    shares = Shares(o, data, net.IPD)
    return [accept("ratio", label, row) for label, row in shares.each(net.MARKERS, sharing.of_marks, over_r=True)]


def _favour(o: Options, data: Data, form: str) -> Floats:
    """R of VQ over that of RED at the largest r."""
    shares = Shares(o, data, form)
    found: Floats = shares.at(net.VQ, sharing.of_throughput) / shares.at(net.RED, sharing.of_throughput)
    return found


@claims.measure("c21")
def _more_under_pi(data: Data, accept: Accept, o: Options) -> list[Check]:
    difference = _favour(o, data, net.PI) - _favour(o, data, net.IPD)
    return [accept("difference", "r = 10: R of VQ over RED, PI − IPD", difference)]


# --- Marks one after another ----------------------------------------------------------------------------------------


def _matched(lab: Lab, accept: Accept, r: float) -> list[Check]:
    """Marking probabilities of the other two markers beside RED's."""
    red = lab.at(form=net.PI, marker=net.RED, r=r).of(probability)
    return [
        accept(
            "matched",
            f"{words(r=r)}: p of {marker} over RED",
            lab.at(form=net.PI, marker=marker, r=r).of(probability) / red,
        )
        for marker in (net.VQ, net.LB)
    ]


@claims.measure("c22")
def _bursts_of_marks(data: Data, accept: Accept) -> list[Check]:
    lab, longer = Lab(data["wtp-x-marks"]), Lab(data["wtp-x-windows"])
    found = []
    for r in lab.grid("r", form=net.PI):
        lengths = {
            m: np.array([sharing.Packets(run).run_length() for run in lab.at(form=net.PI, marker=m, r=r).runs])
            for m in net.MARKERS
        }
        found += [
            accept("run", f"{words(r=r)}: mean run of marks, VQ over {other}", lengths[net.VQ] / lengths[other])
            for other in RED_LB
        ]
        # the same points, run longer and more often
        found += _matched(longer, accept, r)
    return found


@claims.measure("c23")
def _windows_swing(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["wtp-x-windows"])
    found = []
    for r in lab.grid("r", form=net.PI):
        swing = {m: sharing.window_numbers(lab.at(form=net.PI, marker=m, r=r))["all"] for m in net.MARKERS}
        found += [
            accept("difference", f"{words(r=r)}: std/mean of windows, VQ − {other}", swing[net.VQ] - swing[other])
            for other in RED_LB
        ]
        found += _matched(lab, accept, r)
    return found


@claims.measure("c24")
def _locked(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["wtp-x-phase"])
    return [
        accept(name, f"{found.size} seeds under {marker}", float((found >= 2).sum()))
        for name, marker in (("locked", net.VQ), ("red", net.RED))
        for found in [lab.at(marker=marker).of(sharing.largest_over_smallest)]
    ]


@claims.measure("c25")
def _nothing_lost(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("lost", f"wtp-{name}", float(sum(measures.losses(run) for run in data[f"wtp-{name}"])))
        for name in LOSSLESS
    ]


# --- What was found where a claim fails -----------------------------------------------------------------------------


@claims.note("c12")
def _prediction_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = Lab(data["wtp-fig03"])
    own = np.concatenate(
        [
            np.nanmean(sharing.over_predicted(lab, o, o.population, marker, own=True)[1], axis=1)
            for marker in net.MARKERS
        ]
    )
    ratios = [float(np.nanmean(row)) for _, row in Shares(o, data).each(net.MARKERS, sharing.of_probabilities)]
    return (
        f"The two classes are not marked alike: p_high/p_low is {span(ratios)} over all markers and r. With each "
        f"class's own probability in the formula it is off by {short(100 * float(np.abs(own - 1).max()))} % at most."
    )


def _sides(o: Options, data: Data) -> str:
    """Both forms in the population judged: R/r under VQ and RED, and p_high/p_low under VQ, at each large r."""
    found = []
    for form, words_of in ((net.PI, "Under proportional increase (PI)"), (net.IPD, "with inverse decrease (IPD)")):
        shares = Shares(o, data, form)
        grid = select(shares.curve(net.VQ, sharing.of_throughput)[0], LARGE)
        rows = [
            ", ".join(ratio(shares.at(marker, of, r) / (r if of is sharing.of_throughput else 1)) for r in grid)
            for marker, of in (
                (net.VQ, sharing.of_throughput),
                (net.RED, sharing.of_throughput),
                (net.VQ, sharing.of_probabilities),
            )
        ]
        found.append(f"{words_of} R/r under VQ is {rows[0]}, under RED {rows[1]}, and p_high/p_low under VQ {rows[2]}")
    at = ", ".join(f"{r:g}" for r in grid)
    return f"Population {o.population}, r = {at}. {'; '.join(found)}."


@claims.note("c15", "c16", "c18", "c19", "c21")
def _forms_note(data: Data, judgement: Judgement, o: Options) -> str:
    """What is found instead; the causes are under c13."""
    return f"{_sides(o, data)} Causes: see c13."


def _signs(data: Data, o: Options, form: str) -> str:
    """Over the map of base weights: in how many cells R under VQ, and the price of the heavy, is told apart, and "
    "how."""
    cells = sharing.base_weight_cells(Lab(data["wtp-x-base-weight"]), o, form)
    prices = [mean_interval(c.p_high_over_p_low, LEVEL) for c in cells]
    above, below = sum(c.beyond.lo > 0 for c in cells), sum(c.beyond.hi < 0 for c in cells)
    less, more = sum(i.hi < 1 for i in prices), sum(i.lo > 1 for i in prices)
    return (
        f"of {len(cells)} points R is above RED's in {above} and below in {below}, and heavy weights are marked less "
        "in "
        f"{less} and more in {more}"
    )


def _map_note(data: Data, o: Options) -> str:
    lab = Lab(data["wtp-x-base-weight"])
    cells = sharing.base_weight_cells(lab, o, net.PI)
    rows = []
    for base in lab.grid("base_weight"):
        mine = [c for c in cells if c.base_weight == base and c.population == "A"]
        said = "; ".join(f"r = {c.r:g}: {ratio(c.vq)} against {ratio(c.red)}" for c in mine)
        rows.append(f"base weight {base:g}, {said}")
    return (
        f"Over base weights, populations and r (wtp-x-base-weight): with PI {_signs(data, o, net.PI)}; with IPD "
        f"{_signs(data, o, net.IPD)}. R/r under VQ against RED, PI, population A: {'. '.join(rows)}. With PI the sign "
        "hangs "
        "on what the paper does not state."
    )


@claims.note("c13")
def _cause_note(data: Data, judgement: Judgement, o: Options) -> str:
    """The same with all that was tried and measured, as far as it was run."""
    if not {"wtp-x-base-weight", "wtp-x-burst", "wtp-x-marks"} <= set(data):
        return _sides(o, data)
    whole = _map_note(data, o)
    burst, marks = Lab(data["wtp-x-burst"]), Lab(data["wtp-x-marks"])
    spans, overflow = {}, {}
    for form in (net.PI, net.IPD):
        found = {
            str(labels["variant"]): sharing.of_variant(
                burst, o, str(labels["variant"]), form, net.VQ, TOP, sharing.of_probabilities
            )
            for labels, _ in burst.points()
        }
        means = {name: float(np.nanmean(v)) for name, v in found.items() if v is not None}
        overflow[form] = short(means.pop(OVERFLOW))
        spans[form] = span(list(means.values()))
    pi, ipd = (sharing.packet_numbers(marks.at(form=form, marker=net.VQ, r=TOP)) for form in (net.PI, net.IPD))

    def of_both(name: str, packets: Mapping[str, Floats]) -> str:
        return f"{short(packets[f'{name}_light'])} and {short(packets[f'{name}_heavy'])}"

    def over(above: Floats, below: Floats) -> str:
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing was marked the note says "undefined"
            return ratio(above / below)

    def alike(packets: Mapping[str, Floats]) -> str:
        return over(packets["p_heavy_if_alike"], packets["p_light_if_alike"])

    def priced(packets: Mapping[str, Floats]) -> str:
        return over(packets["p_heavy"], packets["p_light"])

    return (
        f"{_sides(o, data)} {whole} One thing at a time done otherwise at r = 10 (wtp-x-burst: "
        "population, "
        "marks at departure, round trips, access rate, packet size, slow start, gain) p_high/p_low is "
        f"{spans[net.PI]} (PI) and {spans[net.IPD]} (IPD); with marks of the overflow only, {overflow[net.PI]} and "
        f"{overflow[net.IPD]}. Cause (wtp-x-marks): VQ marks {short(pi['run_length'])} packets in a row, all windows "
        "answer at once, and who swings more with them is marked more. Packets per round trip vary by "
        f"{of_both('fluctuation', pi)} of their mean for weights 1 and 10 with PI, by {of_both('fluctuation', ipd)} "
        "with IPD. The times at which packets are sent, all packets of a time marked alike, give p_high/p_low "
        f"{alike(pi)} and {alike(ipd)}; measured there: {priced(pi)} and {priced(ipd)}. The paper's cause, packets "
        f"back to back, is the same for both weights with PI ({of_both('close', pi)} of their packets; IPD: "
        f"{of_both('close', ipd)}), and such packets are marked with {short(ipd['p_close_light'])}, others with "
        f"{short(ipd['p_other_light'])}."
    )


@claims.note("c14")
def _varies_note(data: Data, judgement: Judgement, o: Options) -> str:
    said = []
    for form, figure in FIGURES.items():
        lab, found = Lab(data[f"wtp-{figure}"]), []
        for population in "ABC":
            widths = {}
            for marker in net.MARKERS:
                grid, rows = sharing.over_r(lab, o, population, marker, sharing.of_throughput)
                kept = rows[[grid.index(r) for r in select(grid, 5)]]
                widths[marker] = float(np.mean([mean_interval(row, LEVEL).half_width for row in kept]))
            found.append(
                f"{widths[net.VQ] / widths[net.RED]:.1f} and {widths[net.VQ] / widths[net.LB]:.1f} in {population}"
            )
        said.append(f"{form}: {', '.join(found)}")
    return f"Mean half-width under VQ over those under RED and LB, r ≥ 5, by population: {'; '.join(said)}."


@claims.note("c23")
def _swing_note(data: Data, judgement: Judgement) -> str:
    lab = Lab(data["wtp-x-windows"])
    shares = []
    for r in lab.grid("r", form=net.PI):
        spot = lab.at(form=net.PI, marker=net.RED, r=r)
        marks = [run.json["links"][net.LINK]["marks"] for run in spot.runs]
        forced, every = (sum(m.get("forced", 0) for m in marks), sum(sum(m.values()) for m in marks))
        shares.append(f"{percent(forced / every)} of its marks at r = {r:g}, where p = {short(spot.of(probability))}")
    return (
        "RED's max_p is 0.1; what is needed beyond it comes from the rule that all packets are marked while the "
        f"queue is at B ({'; '.join(shares)}), in bursts as the virtual queue's."
    )


@claims.note("c24")
def _locked_note(data: Data, judgement: Judgement) -> str:
    lab = Lab(data["wtp-x-phase"])
    found = {m: lab.at(marker=m).of(sharing.largest_over_smallest) for m in (net.VQ, net.RED)}
    said = "; ".join(f"{m} median {np.median(v):.2f}, largest {v.max():.2f}" for m, v in found.items())
    return (
        f"Largest over smallest throughput: {said}. Under VQ all windows swing in phase, and stay equal: a fixed step "
        "for each mark brings them back to the same window."
    )
