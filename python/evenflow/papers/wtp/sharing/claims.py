"""Claims c01 to c25: window dynamics, who gets what on one link, and marks one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from evenflow.claims import Check, Claim, Data, Judgement, number
from evenflow.lab import Floats, Lab, Spot, rising, select, within
from evenflow.stats import mean_interval, ratio_of_means

from .. import measures
from .. import network as net
from ..choices import Options
from ..ledger import claim
from ..measures import probability, window, words
from ..network import LEVEL
from . import measures as sharing
from .measures import CONSTANT, NETWORK, TAGGED
from .runs import OVERFLOW, PROBABILITIES, PROBABILITY, TAGGED_START_S, TRADE_OFF, WEIGHTS

FIG1, FIG3, FIG4 = ("fig01",), ("fig03",), ("fig04",)
BOTH = ("fig03", "fig04")
EXPLAINED = ("fig03", "fig04", "x-burst", "x-marks")
"""What a claim about the virtual queue's favour is judged on, and what its note quotes."""
MINE = ("fig01", "fig03", "fig04", "x-phase", "x-burst", "x-windows", "x-marks")
OF_OTHERS = ("fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11", "tab01", "tab02")
"""The paper's other experiments: they lose nothing either."""
FAST, SLOW = TRADE_OFF[0], TRADE_OFF[-1]
"""Figure 1's two pairs."""
TOP = 10.0
"""The largest weight ratio of figures 3 and 4."""

EXCHANGED = (
    "The two forms exchanged: judged on the runs of the other form. What the paper says of the virtual queue under "
    "proportional increase is what we find with inversely proportional decrease, and the other way round, for a "
    "reason: the queue marks everything for about a round trip, so a connection is marked more the more its window "
    "swings with these bursts; windows of all weights swing alike under proportional increase, with inversely "
    "proportional decrease those of small weights swing most."
)


# --- Figure 1 -------------------------------------------------------------------------------------------------------


def _spots(data: Data, place: str, *pairs: tuple[float, float]) -> list[Spot]:
    lab = Lab(data["wtp-fig01"])
    also = {"p": PROBABILITY} if place == CONSTANT else {}
    return [lab.at(place=place, increase=inc, decrease=dec, **also) for inc, dec in pairs]


def _settles_faster(data: Data) -> list[Check]:
    found = []
    for place, start_s in ((CONSTANT, 0.0), (NETWORK, TAGGED_START_S)):
        fast, slow = (sharing.settling_s(spot, start_s) for spot in _spots(data, place, FAST, SLOW))
        found.append(Check(f"{place}: settling time of (1,4) over (4,1)", ratio_of_means(slow, fast, LEVEL), lo=2.5))
    return found


def _fluctuates_more(data: Data) -> list[Check]:
    found = []
    for place in (CONSTANT, NETWORK):
        fast, slow = (sharing.variances(spot) for spot in _spots(data, place, FAST, SLOW))
        ratio = sharing.root(ratio_of_means(fast, slow, LEVEL))
        found.append(Check(f"{place}: standard deviation of (4,1) over (1,4)", ratio, lo=1.5))
    return found


def _windows_of(data: Data, place: str, *pairs: tuple[float, float]) -> list[Floats]:
    return [spot.of(partial(window, TAGGED)) for spot in _spots(data, place, *pairs)]


def _same_mean(data: Data) -> list[Check]:
    found = []
    for place, share in ((CONSTANT, 0.05), (NETWORK, 0.10)):
        fast, slow = _windows_of(data, place, FAST, SLOW)
        lo, hi = within(1, share)
        label = f"{place}: mean window of (4,1) over (1,4)"
        found.append(Check(label, ratio_of_means(fast, slow, LEVEL), lo=lo, hi=hi))
    return found


def _trade_off(data: Data) -> list[Check]:
    lo, hi = within(1, 0.05)
    spread = [sharing.variances(spot) for spot in _spots(data, CONSTANT, *TRADE_OFF)]
    found = [
        Check(f"w_dec = {a[1]:g} → {b[1]:g}: standard deviation", sharing.root(ratio_of_means(y, x, LEVEL)), hi=1)
        for (a, x), (b, y) in pairwise(zip(TRADE_OFF, spread, strict=True))
    ]
    means = _windows_of(data, CONSTANT, *TRADE_OFF)
    return found + [
        Check(f"w_dec = {b[1]:g}: mean window over that at {a[1]:g}", ratio_of_means(y, x, LEVEL), lo=lo, hi=hi)
        for (a, x), (b, y) in combinations(list(zip(TRADE_OFF, means, strict=True)), 2)
    ]


def _larger_probability(data: Data) -> list[Check]:
    lab = Lab(data["wtp-fig01"])
    spots = [lab.at(place=CONSTANT, p=p, increase=FAST[0], decrease=FAST[1]) for p in PROBABILITIES]
    settling = [sharing.settling_s(spot, 0.0) for spot in spots]
    # variance over squared mean: its ratios are those of std/mean, squared
    spread = [sharing.variances(spot) / sharing.mean_window(spot) ** 2 for spot in spots]
    found = []
    for (p, t, v), (q, u, w) in pairwise(zip(PROBABILITIES, settling, spread, strict=True)):
        found.append(Check(f"settling time at p = {q:g} − at {p:g}", u - t, hi=0, unit="s"))
        found.append(Check(f"std/mean at p = {q:g} over {p:g}", sharing.root(ratio_of_means(w, v, LEVEL)), lo=1))
    lo, hi = within(1, 0.15)
    for p, v in zip(PROBABILITIES[:-1], spread[:-1], strict=True):
        ratio = sharing.root(ratio_of_means(v / p, spread[-1] / PROBABILITIES[-1], LEVEL))
        label = f"std/mean over √p at p = {p:g}, over that at {PROBABILITIES[-1]:g}"
        found.append(Check(label, ratio, lo=lo, hi=hi))
    return found


def _mean_rate(o: Options, data: Data) -> list[Check]:
    lo, hi = within(1, 0.05)
    pairs = (*TRADE_OFF, *WEIGHTS)
    found = []
    for (inc, dec), spot in zip(pairs, _spots(data, CONSTANT, *pairs), strict=True):
        rates = spot.of(partial(measures.throughput, TAGGED)) / (8 * o.packet)
        expected = (inc * dec / PROBABILITY - 0.5) / (net.RTT_MS / 1e3)
        found.append(Check(f"({inc:g},{dec:g}): rate over (w/p − ½)/T", rates / expected, lo=lo, hi=hi))
    return found


# --- Figures 3 and 4 ------------------------------------------------------------------------------------------------


class Shares:
    """Figure 3 or 4 in the population that is judged."""

    def __init__(self, o: Options, data: Data, figure: str) -> None:
        self.o = o
        self.lab = Lab(data[f"wtp-{figure}"])

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


RED_LB = (net.RED, net.LB)


def _increasing(o: Options, data: Data, figure: str) -> list[Check]:
    shares = Shares(o, data, figure)
    found = []
    for marker in net.MARKERS:
        found += rising(marker, *shares.curve(marker, sharing.of_throughput), x=" of r")
    return found


def _apart(o: Options, data: Data, figure: str, one: str, others: Sequence[str], share: float) -> list[Check]:
    shares, (lo, hi) = Shares(o, data, figure), within(1, share)
    grid, values = shares.curve(one, sharing.of_throughput)
    return [
        Check(f"{words(r=r)}: R of {one} over {other}", row / shares.at(other, sharing.of_throughput, r), lo=lo, hi=hi)
        for other in others
        for r, row in zip(grid, values, strict=True)
    ]


def _near(o: Options, data: Data, figure: str, markers: Sequence[str], share: float) -> list[Check]:
    lo, hi = within(1, share)
    shares = Shares(o, data, figure)
    return [
        Check(f"{label}: R over r", values, lo=lo, hi=hi)
        for label, values in shares.each(markers, sharing.of_throughput, over_r=True)
    ]


def _above(o: Options, data: Data) -> list[Check]:
    shares = Shares(o, data, "fig03")
    found = []
    for marker in RED_LB:
        grid, values = shares.curve(marker, sharing.of_throughput)
        found += [Check(f"{marker}, {words(r=r)}: R − r", values[grid.index(r)] - r, lo=0) for r in select(grid, 3)]
    return found


def _windows_as_weights(o: Options, data: Data) -> list[Check]:
    lo, hi = within(1, 0.04)
    return [
        Check(f"{label}: ratio of windows over r", values, lo=lo, hi=hi)
        for label, values in Shares(o, data, "fig03").each(RED_LB, sharing.of_windows, over_r=True)
    ]


def _as_predicted(o: Options, data: Data, *, own: bool) -> list[Check]:
    lo, hi = within(1, 0.03)
    lab, found = Lab(data["wtp-fig03"]), []
    for marker in net.MARKERS:
        grid, values = sharing.over_predicted(lab, o, o.population, marker, own=own)
        found += [
            Check(f"{marker}, {words(r=r)}: R over the prediction", row, lo=lo, hi=hi)
            for r, row in zip(grid, values, strict=True)
        ]
    return found


def _vq_favours(o: Options, data: Data, figure: str) -> list[Check]:
    shares = Shares(o, data, figure)
    grid, values = shares.curve(net.VQ, sharing.of_throughput)
    found = []
    for r in select(grid, 6):
        mine = values[grid.index(r)]
        found.append(Check(f"VQ, {words(r=r)}: R − r", mine - r, lo=0))
        found += [
            Check(f"{words(r=r)}: R of VQ − of {other}", mine - shares.at(other, sharing.of_throughput, r), lo=0)
            for other in RED_LB
        ]
    return found


def _vq_varies(o: Options, data: Data, figure: str) -> list[Check]:
    shares = Shares(o, data, figure)
    grid, values = shares.curve(net.VQ, sharing.of_throughput)
    rows = [grid.index(r) for r in select(grid, 5)]
    return [
        Check(
            f"half-width of R of VQ over {other}, mean over r ≥ 5",
            sharing.half_width_ratio(values[rows], shares.curve(other, sharing.of_throughput)[1][rows], LEVEL),
            lo=1.5,
        )
        for other in RED_LB
    ]


def _fewer_marks(o: Options, data: Data, figure: str) -> list[Check]:
    return [Check("VQ, r = 10: M over R", Shares(o, data, figure).at(net.VQ, sharing.of_marks_per_packet), hi=0.95)]


def _lower_price(o: Options, data: Data, figure: str) -> list[Check]:
    return [
        Check(f"{label}: p of the high weight over the low", values, hi=1)
        for label, values in Shares(o, data, figure).each((net.VQ,), sharing.of_probabilities, 2)
    ]


def _same_price(o: Options, data: Data) -> list[Check]:
    lo, hi = within(1, 0.04)
    return [
        Check(f"{label}: M over R", values, lo=lo, hi=hi)
        for label, values in Shares(o, data, "fig03").each(RED_LB, sharing.of_marks_per_packet)
    ]


def _near_and_increasing(o: Options, data: Data, figure: str) -> list[Check]:
    return [*_near(o, data, figure, net.MARKERS, 0.20), *_increasing(o, data, figure)]


def _marks_as_weights(o: Options, data: Data, figure: str) -> list[Check]:
    return [
        Check(f"{label}: M over r", values, lo=0.9, hi=1.2)
        for label, values in Shares(o, data, figure).each(net.MARKERS, sharing.of_marks, over_r=True)
    ]


def _favour(o: Options, data: Data, figure: str) -> Floats:
    """R of VQ over that of RED at the largest r."""
    shares = Shares(o, data, figure)
    found: Floats = shares.at(net.VQ, sharing.of_throughput) / shares.at(net.RED, sharing.of_throughput)
    return found


def _more_under(o: Options, data: Data, more: str, less: str) -> list[Check]:
    names = {"fig03": net.PI, "fig04": net.IPD}
    label = f"r = 10: R of VQ over RED, {names[more]} − {names[less]}"
    return [Check(label, _favour(o, data, more) - _favour(o, data, less), lo=0)]


# --- Marks one after another ----------------------------------------------------------------------------------------


def _matched(lab: Lab, r: float) -> list[Check]:
    """Marking probabilities of the three markers within 20 % of RED's."""
    lo, hi = within(1, 0.20)
    red = lab.at(form=net.PI, marker=net.RED, r=r).of(probability)
    return [
        Check(
            f"{words(r=r)}: p of {marker} over RED",
            lab.at(form=net.PI, marker=marker, r=r).of(probability) / red,
            lo=lo,
            hi=hi,
        )
        for marker in (net.VQ, net.LB)
    ]


def _bursts_of_marks(data: Data) -> list[Check]:
    lab, longer = Lab(data["wtp-x-marks"]), Lab(data["wtp-x-windows"])
    found = []
    for r in lab.grid("r", form=net.PI):
        lengths = {
            m: np.array([sharing.Packets(run).run_length() for run in lab.at(form=net.PI, marker=m, r=r).runs])
            for m in net.MARKERS
        }
        found += [
            Check(f"{words(r=r)}: mean run of marks, VQ over {other}", lengths[net.VQ] / lengths[other], lo=2)
            for other in RED_LB
        ]
        # the same points, run longer and more often
        found += _matched(longer, r)
    return found


def _windows_swing(data: Data, most: float = TOP) -> list[Check]:
    lab = Lab(data["wtp-x-windows"])
    found = []
    for r in select(lab.grid("r", form=net.PI), hi=most):
        swing = {m: sharing.window_numbers(lab.at(form=net.PI, marker=m, r=r))["all"] for m in net.MARKERS}
        found += [
            Check(f"{words(r=r)}: std/mean of windows, VQ − {other}", swing[net.VQ] - swing[other], lo=0)
            for other in RED_LB
        ]
        found += _matched(lab, r)
    return found


def _locked(data: Data, least: float = 2.0) -> list[Check]:
    lab = Lab(data["wtp-x-phase"])
    found = {m: lab.at(marker=m).of(sharing.largest_over_smallest) for m in (net.VQ, net.RED)}
    label = "seeds of {} with a ratio of 2 or more"
    return [
        Check(label.format(f"{found[net.VQ].size} under VQ"), float((found[net.VQ] >= least).sum()), lo=1),
        Check(label.format(f"{found[net.RED].size} under RED"), float((found[net.RED] >= least).sum()), hi=0),
    ]


def _nothing_lost(data: Data) -> list[Check]:
    return [
        Check(f"wtp-{name}: packets lost", float(sum(measures.losses(run) for run in data[f"wtp-{name}"])), lo=0, hi=0)
        for name in (*MINE, *OF_OTHERS)
    ]


# --- What was found where a claim fails -----------------------------------------------------------------------------


def _mean(values: Floats) -> str:
    """A mean as a note says it: three digits."""
    if np.isnan(values).all():
        return "undefined"
    return number(float(f"{float(np.nanmean(values)):.3g}"))


def _prediction_note(o: Options, data: Data, judgement: Judgement) -> str:
    lab = Lab(data["wtp-fig03"])
    own = np.concatenate(
        [sharing.over_predicted(lab, o, o.population, marker, own=True)[1].mean(axis=1) for marker in net.MARKERS]
    )
    shares = Shares(o, data, "fig03")
    ratios = [values.mean() for _, values in shares.each(net.MARKERS, sharing.of_probabilities)]
    return (
        "The two classes are not marked alike: p_high/p_low lies between "
        f"{number(float(min(ratios)))} and {number(float(max(ratios)))} over all markers and r. With each class's own "
        f"probability the prediction is off by {number(100 * float(np.abs(own - 1).max()))} % at most."
    )


def _sides(o: Options, data: Data) -> list[str]:
    """Both forms in the population judged: R/r under VQ and RED, and p_high/p_low under VQ, at r = 10."""
    found = []
    for figure, form in (("fig03", "proportional increase (PI)"), ("fig04", "inversely proportional decrease (IPD)")):
        shares = Shares(o, data, figure)
        found.append(
            f"with {form} R/r is {_mean(shares.at(net.VQ, sharing.of_throughput) / TOP)} "
            f"(RED {_mean(shares.at(net.RED, sharing.of_throughput) / TOP)}) and p_high/p_low "
            f"{_mean(shares.at(net.VQ, sharing.of_probabilities))}"
        )
    return found


def _forms_note(o: Options, data: Data, judgement: Judgement) -> str:
    """Why the virtual queue favours large weights with the other form, in one sentence."""
    return f"Under VQ at r = 10 {'; '.join(_sides(o, data))}. Why: see wtp-c13."


def _cause_note(o: Options, data: Data, judgement: Judgement) -> str:
    """The same with all that was tried and measured."""
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
        overflow[form] = number(means.pop(OVERFLOW))
        spans[form] = f"{number(min(means.values()))} to {number(max(means.values()))}"
    pi, ipd = (sharing.packet_numbers(marks.at(form=form, marker=net.VQ, r=TOP)) for form in (net.PI, net.IPD))

    def of_both(name: str, packets: Mapping[str, Floats]) -> str:
        return f"{_mean(packets[f'{name}_light'])} and {_mean(packets[f'{name}_heavy'])}"

    def over(above: Floats, below: Floats) -> str:
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing was marked the note says "undefined"
            return _mean(above / below)

    def alike(packets: Mapping[str, Floats]) -> str:
        return over(packets["p_heavy_if_alike"], packets["p_light_if_alike"])

    def priced(packets: Mapping[str, Floats]) -> str:
        return over(packets["p_heavy"], packets["p_light"])

    return (
        f"Under VQ at r = 10 {'; '.join(_sides(o, data))}: the paper's sign, with the other form. One thing at a time "
        "done otherwise (wtp-x-burst: population, marks at departure, round trips, access rate, packet size, slow "
        "start) p_high/p_low, the marking probability of the high weight over that of the low, is "
        f"{spans[net.PI]} (PI) and {spans[net.IPD]} (IPD); "
        f"with marks of the overflow only, {overflow[net.PI]} and {overflow[net.IPD]}. Cause (wtp-x-marks): VQ marks "
        f"{_mean(pi['run_length'])} packets in a row, all windows answer at once, and who swings more with them is "
        "marked more. Packets per round trip vary by "
        f"{of_both('fluctuation', pi)} of their mean for weights 1 and 10 with PI, by {of_both('fluctuation', ipd)} "
        f"with IPD. The times at which packets are sent, all packets of a time marked alike, give p_high/p_low "
        f"{alike(pi)} and {alike(ipd)}; measured there: {priced(pi)} and {priced(ipd)}. The paper's cause, packets "
        f"back to back, is the same for both weights with PI ({of_both('close', pi)} of their packets; IPD: "
        f"{of_both('close', ipd)}), and such packets are marked less than others "
        f"({_mean(ipd['p_close_light'])} against {_mean(ipd['p_other_light'])})."
    )


def _varies_note(o: Options, data: Data, judgement: Judgement) -> str:
    said = []
    for figure, form in (("fig03", net.PI), ("fig04", net.IPD)):
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
    return (
        "Mean half-width under VQ over those under RED and LB, r ≥ 5, by population: "
        f"{'; '.join(said)}. VQ varies more where one large weight meets nine small ones, and with IPD."
    )


def _swing_note(data: Data, judgement: Judgement) -> str:
    lab = Lab(data["wtp-x-windows"])
    shares = []
    for r in lab.grid("r", form=net.PI):
        marks = [run.json["links"][net.LINK]["marks"] for run in lab.at(form=net.PI, marker=net.RED, r=r).runs]
        forced, every = (sum(m.get("forced", 0) for m in marks), sum(sum(m.values()) for m in marks))
        shares.append(f"{100 * forced / every:.0f} % of its marks at r = {r:g}")
    return (
        "p grows with r beyond RED's max_p = 0.1; RED then marks by the rule that all packets are marked while the "
        f"queue is at B ({', '.join(shares)}), in bursts as the virtual queue does."
    )


def _locked_note(data: Data, judgement: Judgement) -> str:
    lab = Lab(data["wtp-x-phase"])
    found = {m: lab.at(marker=m).of(sharing.largest_over_smallest) for m in (net.VQ, net.RED)}
    said = "; ".join(f"{m} median {np.median(v):.2f}, largest {v.max():.2f}" for m, v in found.items())
    return (
        f"Largest over smallest throughput: {said}. Under VQ all windows swing in phase, and stay equal: a fixed step "
        "for each mark brings them back to the same window. So it is with weights 3 and 6, gains 1 and 2, 4 and 40 "
        "connections, other access rates and packet sizes, and with MulTCP (20 seeds each): at most 1.3 under VQ. The "
        "most unequal equals stand beside one of weight 10 with inversely proportional decrease (wtp-fig04, "
        "population B): 1.6."
    )


def claims(o: Options) -> tuple[Claim, ...]:
    """This block's claims."""
    forms_note = partial(_forms_note, o)
    cause_note = partial(_cause_note, o)
    return (
        claim(
            1,
            "section 3, Fig. 1",
            "A larger increase with a smaller decrease weight settles faster.",
            expected="(4,1) faster than (1,4); theory: 4 times",
            tolerance="ratio of settling times ≥ 2.5 (first time at 90 % of the mean), both settings",
            on=FIG1,
            literal=_settles_faster,
        ),
        claim(
            2,
            "section 3, Fig. 1",
            "A larger increase with a smaller decrease weight makes the window fluctuate more in the steady state.",
            expected="(4,1) more than (1,4); theory: 2 times",
            tolerance="ratio of standard deviations ≥ 1.5, both settings",
            on=FIG1,
            literal=_fluctuates_more,
        ),
        claim(
            3,
            "section 3, Fig. 1",
            "The mean window is the same for (4,1) and (1,4).",
            expected="equal",
            tolerance="±5 % under independent marks, ±10 % in the network",
            on=FIG1,
            literal=_same_mean,
        ),
        claim(
            4,
            "section 3",
            "With the product fixed, a larger decrease weight gives smaller fluctuations and the same mean.",
            expected="standard deviation falls along w_dec = 1, 2, 4; mean equal",
            tolerance="sign; mean within ±5 %",
            on=FIG1,
            literal=_trade_off,
        ),
        claim(
            5,
            "section 3",
            "A larger marking probability makes the window settle faster and fluctuate more relative to its mean.",
            expected="settling time falls and std/mean grows with p, as √p",
            tolerance="strict order at p = 0.02, 0.05, 0.1; std/mean ∝ √p within ±15 %",
            on=FIG1,
            literal=_larger_probability,
        ),
        claim(
            6,
            "section 3, Eq. 5",
            "At equal round trip and marking probability the mean rate is proportional to w_inc·w_dec.",
            expected="(w/p − ½)/T",
            tolerance="±5 %; the half packet is the fraction of a window that is not sent",
            on=FIG1,
            literal=partial(_mean_rate, o),
        ),
        claim(
            7,
            "section 5.1, Fig. 3a",
            "Under proportional increase the throughput ratio increases with the weight ratio, for each marker.",
            expected="increasing",
            tolerance="every step",
            on=FIG3,
            literal=partial(_increasing, o, figure="fig03"),
        ),
        claim(
            8,
            "section 5.1, Fig. 3a",
            "RED and load-based marking give roughly the same throughput ratio.",
            expected="roughly the same",
            tolerance="≤ 5 % apart at every r",
            on=FIG3,
            literal=partial(_apart, o, figure="fig03", one=net.RED, others=(net.LB,), share=0.05),
        ),
        claim(
            9,
            "Fig. 3a",
            "Under RED and load-based marking the throughput ratio is close to the weight ratio.",
            expected="R ≈ r",
            tolerance="±15 % up to r = 10; the half packet alone makes 12 % there",
            on=FIG3,
            literal=partial(_near, o, figure="fig03", markers=RED_LB, share=0.15),
        ),
        claim(
            10,
            "section 5.1, Fig. 3a",
            "Under RED and load-based marking the throughput ratio lies above the weight ratio.",
            expected="R > r",
            tolerance="interval above r, r ≥ 3",
            on=FIG3,
            literal=partial(_above, o),
        ),
        claim(
            11,
            "section 5.1",
            "The ratio of windows is the weight ratio: the excess throughput comes from the window's granularity.",
            expected="Wr = r under RED and load-based marking",
            tolerance="±4 %",
            on=FIG3,
            literal=partial(_windows_as_weights, o),
        ),
        claim(
            12,
            "section 5.1 (derived)",
            "The throughput ratio is that of windows whose fraction of a packet is never sent.",
            expected="(r/p − ½)/(1/p − ½) with the measured p",
            tolerance="±3 %, all markers",
            on=FIG3,
            literal=partial(_as_predicted, o, own=False),
            relaxed=partial(_as_predicted, o, own=True),
            reading=(
                "(r/p_high − ½)/(1/p_low − ½) with each class's own measured probability: identical round trips keep "
                "the two classes in one place of the marker's rhythm, so that their probabilities differ by up to 3 %."
            ),
            note=partial(_prediction_note, o),
        ),
        claim(
            13,
            "section 5.1, Fig. 3a",
            "Under proportional increase the virtual queue favours large weights: its throughput ratio lies above the "
            "weight ratio and above those of the other markers.",
            expected="R_VQ > r, R_VQ > R_RED, R_VQ > R_LB for large r",
            tolerance="sign of paired differences, r ≥ 6",
            on=EXPLAINED,
            literal=partial(_vq_favours, o, figure="fig03"),
            relaxed=partial(_vq_favours, o, figure="fig04"),
            reading=EXCHANGED,
            note=cause_note,
        ),
        claim(
            14,
            "section 5.1, Fig. 3a",
            "The virtual queue's throughput ratio varies more between runs than those of RED and load-based marking.",
            expected="larger intervals at large r",
            tolerance="half-widths at least 1.5 times as large, mean over r ≥ 5",
            on=BOTH,
            literal=partial(_vq_varies, o, figure="fig03"),
            relaxed=partial(_vq_varies, o, figure="fig04"),
            reading=EXCHANGED,
            note=partial(_varies_note, o),
        ),
        claim(
            15,
            "section 5.1, Fig. 3b",
            "Under the virtual queue and proportional increase a connection with a large weight receives fewer marks "
            "than its share of the packets.",
            expected="M < R for large R",
            tolerance="M/R ≤ 0.95 at r = 10",
            on=EXPLAINED,
            literal=partial(_fewer_marks, o, figure="fig03"),
            relaxed=partial(_fewer_marks, o, figure="fig04"),
            reading=EXCHANGED,
            note=forms_note,
        ),
        claim(
            16,
            "section 5.1, Fig. 3b",
            "Under the virtual queue and proportional increase the marking probability is smaller for a connection "
            "with a larger weight.",
            expected="p_high < p_low",
            tolerance="sign, every r ≥ 2",
            on=EXPLAINED,
            literal=partial(_lower_price, o, figure="fig03"),
            relaxed=partial(_lower_price, o, figure="fig04"),
            reading=EXCHANGED,
            note=forms_note,
        ),
        claim(
            17,
            "section 5.1, Fig. 3b",
            "Under RED and load-based marking all connections see the same marking probability.",
            expected="M = R",
            tolerance="±4 %",
            on=FIG3,
            literal=partial(_same_price, o),
        ),
        claim(
            18,
            "section 5.1, Fig. 4a",
            "With inversely proportional decrease the virtual queue behaves like RED and load-based marking.",
            expected="R_VQ close to R_RED and R_LB",
            tolerance="≤ 10 % apart",
            on=EXPLAINED,
            literal=partial(_apart, o, figure="fig04", one=net.VQ, others=RED_LB, share=0.10),
            relaxed=partial(_apart, o, figure="fig03", one=net.VQ, others=RED_LB, share=0.10),
            reading=EXCHANGED,
            note=forms_note,
        ),
        claim(
            19,
            "section 5.1, Fig. 4a",
            "With inversely proportional decrease the throughput ratio increases with the weight ratio and is near it.",
            expected="R increasing, near r, all markers",
            tolerance="every step; ±20 % of r",
            on=EXPLAINED,
            literal=partial(_near_and_increasing, o, figure="fig04"),
            relaxed=partial(_near_and_increasing, o, figure="fig03"),
            reading=EXCHANGED,
            note=forms_note,
        ),
        claim(
            20,
            "section 5.1, Fig. 4b",
            "With inversely proportional decrease the ratio of marks is roughly proportional to the weight ratio.",
            expected="M ∝ r, all markers",
            tolerance="M/r within 0.9 to 1.2",
            on=FIG4,
            literal=partial(_marks_as_weights, o, figure="fig04"),
        ),
        claim(
            21,
            "section 5.1",
            "The virtual queue's favour for large weights is larger under proportional increase than with inversely "
            "proportional decrease.",
            expected="R_VQ/R_RED at r = 10 larger under PI than under IPD",
            tolerance="sign",
            on=EXPLAINED,
            literal=partial(_more_under, o, more="fig03", less="fig04"),
            relaxed=partial(_more_under, o, more="fig04", less="fig03"),
            reading=EXCHANGED,
            note=forms_note,
        ),
        claim(
            22,
            "section 5.1",
            "Marks come in bursts under the virtual queue and are spread out under RED and load-based marking.",
            expected="longer runs of marked packets under VQ",
            tolerance="mean run at least twice that of RED and LB; marking probabilities within 20 %",
            on=("x-marks", "x-windows"),
            literal=_bursts_of_marks,
        ),
        claim(
            23,
            "section 5.1",
            "Windows fluctuate more under the virtual queue than under RED and load-based marking.",
            expected="std/mean of windows larger under VQ, proportional increase",
            tolerance="sign, at marking probabilities within 20 %",
            on=("x-windows",),
            literal=_windows_swing,
            relaxed=partial(_windows_swing, most=4.0),
            reading=(
                "At r = 4 alone, where p ≈ 0.11 is about what RED's max_p = 0.1 can give. At r = 10 RED needs twice "
                "that, and gets it by marking all packets while its queue is at B: in bursts, as the virtual queue."
            ),
            note=_swing_note,
        ),
        claim(
            24,
            "section 4.2",
            "The virtual queue does not avoid synchronised phases, which can make equal connections very unequal; RED "
            "was introduced to avoid them.",
            expected="some seeds with very unequal throughputs under VQ, none under RED",
            tolerance="largest over smallest throughput ≥ 2; exploratory: the paper shows no data",
            on=("x-phase",),
            literal=_locked,
            note=_locked_note,
        ),
        claim(
            25,
            "section 5",
            "No packet is lost in any experiment.",
            expected="0 losses",
            tolerance="exact",
            on=(*MINE, *OF_OTHERS),
            literal=_nothing_lost,
        ),
    )
