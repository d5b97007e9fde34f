"""What figures 1, 3 and 4 are about: ratios over the weight ratio, a window's dynamics, marks one after another.

Populations A and B have groups ``light`` and ``heavy`` and one point for each weight ratio r; population C is a
single point whose group ``w5`` has five times the weight of ``w1``. `over_r` reads all three alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenflow import theory
from evenflow.errors import EvenflowError
from evenflow.lab import Floats, Measure
from evenflow.stats import Interval, mean_interval, student_t

from .. import network as net
from ..measures import at_floor, group_probability, marks_ratio, probability, throughput_ratio, window_ratio


def _share(chosen: NDArray[np.bool_]) -> float:
    """Share of true values; undefined where there are none."""
    return float(chosen.mean()) if chosen.size else math.nan


if TYPE_CHECKING:
    from evenflow.lab import Lab, Spot
    from evenflow.study import Label, Run

    from ..choices import Options

Of: TypeAlias = "Callable[[Options, str, str], Measure]"
"""A ratio, given who is above and who below."""

Flags: TypeAlias = NDArray[np.bool_]

LADDER = tuple(float(weight) for weight in range(1, 11))
"""Weights of population C."""
TAGGED, OTHERS = "tagged", "others"
"""Figure 1's connection, and those around it."""
WINDOW = f"groups.{TAGGED}.users[0].flows[0].window"
CONSTANT, NETWORK = "constant probability", "among ten"
"""Values of the label ``place`` of figure 1: independent marks, or one of ten connections under load-based marking."""
SETTLED = 0.9
"""Share of the mean window at which a connection counts as settled."""


# --- Ratios over the weight ratio -----------------------------------------------------------------------------------


def of_throughput(o: Options, above: str, below: str) -> Measure:
    """R."""
    return throughput_ratio(o, above, below)


def of_marks(o: Options, above: str, below: str) -> Measure:
    """M."""
    return marks_ratio(above, below)


def of_windows(o: Options, above: str, below: str) -> Measure:
    """Wr."""
    return window_ratio(above, below)


def of_probabilities(o: Options, above: str, below: str) -> Measure:
    """Share of packets marked, a connection of the high weight over one of the low."""

    def ratio(run: Run) -> float | None:
        top, bottom = group_probability(above, run), group_probability(below, run)
        return None if top is None or not bottom else top / bottom

    return ratio


def of_marks_per_packet(o: Options, above: str, below: str) -> Measure:
    """M over R."""

    def ratio(run: Run) -> float | None:
        marks, rate = marks_ratio(above, below)(run), throughput_ratio(o, above, below)(run)
        return None if marks is None or not rate else marks / rate

    return ratio


def over_r(lab: Lab, o: Options, population: str, marker: str, of: Of) -> tuple[list[float], Floats]:
    """A ratio over the weight ratio: the grid, and the values of shape (grid, seeds)."""
    if population == "C":
        spot = lab.at(population="C", marker=marker)
        return list(LADDER), np.array([spot.of(of(o, f"w{weight:g}", "w1")) for weight in LADDER])
    return lab.curve("r", of(o, "heavy", "light"), population=population, marker=marker)


def at_r(lab: Lab, o: Options, population: str, marker: str, of: Of, r: float) -> Floats:
    """The values at one weight ratio, shape (seeds,)."""
    grid, values = over_r(lab, o, population, marker, of)
    found: Floats = values[grid.index(r)]
    return found


def of_variant(lab: Lab, o: Options, variant: str, form: str, marker: str, r: float, of: Of) -> Floats | None:
    """A ratio of one of the variants of the virtual queue's favour, shape (seeds,); None: not on this scale's grid."""
    wanted = {"variant": variant, "form": form, "marker": marker}
    if lab.has(**wanted, population="C"):
        return lab.at(**wanted).of(of(o, f"w{r:g}", "w1"))
    return lab.at(**wanted, r=r).of(of(o, "heavy", "light")) if lab.has(**wanted, r=r) else None


@dataclass(frozen=True)
class Cell:
    """A point of the map of base weights: R/r under the virtual queue and under RED, one value a seed.

    Attributes:
        p_high_over_p_low: marking probability of the high weight over that of the low under the virtual queue.
        light_at_floor: share of the time that the low weight's windows stand at one packet under the virtual queue.
        beyond: the paired difference of the two, with its interval.
    """

    base_weight: float
    population: str
    r: float
    vq: Floats
    red: Floats
    p_high_over_p_low: Floats
    light_at_floor: Floats

    @property
    def beyond(self) -> Interval:
        """R/r under the virtual queue less that under RED, paired by seed."""
        return mean_interval(self.vq - self.red, net.LEVEL)


LEAST_R = 5.0
"""The map's weight ratios begin here."""


def base_weight_cells(lab: Lab, o: Options, form: str) -> list[Cell]:
    """Every point of the map (`wtp-x-base-weight`) for one form of control, by base weight, population and r."""
    found = []
    for base in lab.grid("base_weight", form=form):
        for population in "ABC":
            at: dict[str, Label] = {"form": form, "base_weight": base, "population": population}
            for r in LADDER:
                if r < LEAST_R or not lab.has(**at, marker=net.VQ, **_point_of(population, r)):
                    continue
                above, below = (f"w{r:g}", "w1") if population == "C" else ("heavy", "light")
                vq, red = (lab.at(**at, marker=marker, **_point_of(population, r)) for marker in (net.VQ, net.RED))
                of_r = throughput_ratio(o, above, below)
                prices = of_probabilities(o, above, below)
                found.append(
                    Cell(
                        base,
                        population,
                        r,
                        vq.of(of_r) / r,
                        red.of(of_r) / r,
                        vq.of(prices),
                        vq.of(partial(at_floor, below)),
                    )
                )
    return found


def _point_of(population: str, r: float) -> dict[str, Label]:
    """A ladder is one point for every r."""
    return {} if population == "C" else {"r": r}


def with_half_a_packet(r: float, p_high: float, p_low: float, base: float = 1.0) -> float:
    """(r w/p_high − ½)/(w/p_low − ½): the throughput ratio of windows whose fraction of a packet is never sent.

    `base` is w, the lower weight.
    """
    return (r * base / p_high - 0.5) / (base / p_low - 0.5)


def over_predicted(lab: Lab, o: Options, population: str, marker: str, *, own: bool) -> tuple[list[float], Floats]:
    """R over what `with_half_a_packet` makes of measured marking probabilities, shape (grid, seeds).

    `own`: with each class's own probability, else with the link's for both.
    """
    grid, ratios = over_r(lab, o, population, marker, of_throughput)
    found = []
    for r, row in zip(grid, ratios, strict=True):
        if population == "C":
            spot, above, below = lab.at(population="C", marker=marker), f"w{r:g}", "w1"
        else:
            spot, above, below = lab.at(population=population, marker=marker, r=r), "heavy", "light"
        prices = [spot.of(partial(group_probability, name) if own else probability) for name in (above, below)]
        found.append(
            [x / with_half_a_packet(r, high, low, o.base_weight) for x, high, low in zip(row, *prices, strict=True)]
        )
    return grid, np.array(found)


FEW = 6
"""With fewer runs nothing can be said about how certain a ratio of half-widths is."""


@dataclass(frozen=True)
class Predicted:
    """What the fluid theory says of a pair: rates of a connection of each class in bit/s, None: no prediction."""

    light_bps: float | None
    heavy_bps: float | None

    @property
    def ratio(self) -> float | None:
        """R."""
        return self.heavy_bps / self.light_bps if self.heavy_bps is not None and self.light_bps else None


@cache
def predicted(o: Options, form: str, marker: str, r: float) -> tuple[Predicted, Predicted] | None:
    """The fluid theory's two columns, pure and corrected, for a point of figure 3 or 4, population A.

    None where the marker's curve is not known (with other options than the usual ones): a figure measures none.
    """
    scenario = net.single_link(o, net.standard(o)[marker], net.pair(o, "A", r, net.wtp(o, form), o.base_weight))
    try:
        found = theory(scenario, measure=False)
    except EvenflowError:
        return None

    def column(name: str) -> Predicted:
        return Predicted(found.rate_bps("light", name), found.rate_bps("heavy", name))

    return column("pure"), column("corrected")


def half_width_ratio(one: Floats, other: Floats, level: float) -> Interval:
    """Half-width of the interval of `one` over that of `other`, both of shape (points, seeds), mean over the points.

    The interval is the jackknife's over seeds: B. Efron and C. Stein, "The jackknife estimate of variance" (1981).
    """

    def statistic(a: Floats, b: Floats) -> float:
        return float(np.mean(a.std(axis=1, ddof=1) / b.std(axis=1, ddof=1)))

    n = one.shape[1]
    found = statistic(one, other)
    if n < FEW:
        return Interval(found, -math.inf, math.inf, n, math.nan)
    without = np.array([statistic(np.delete(one, k, 1), np.delete(other, k, 1)) for k in range(n)])
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    half = student_t(level, n - 1) * error
    again = partial(half_width_ratio, one, other)
    return Interval(found, found - half, found + half, n, error * math.sqrt(n), again=again)


def root(i: Interval) -> Interval:
    """Of an interval of a ratio of variances that of the ratio of standard deviations."""

    def of(value: float) -> float:
        return math.copysign(math.sqrt(abs(value)), value)

    return i.map(of)


# --- A window's dynamics --------------------------------------------------------------------------------------------


def steady(run: Run, name: str = WINDOW) -> Floats:
    """A recorded window in the measured time, packets."""
    times, values = run.record.arrays(name)
    start, end = run.json["window_s"]
    found: Floats = values[(times > start) & (times <= end)]
    return found


def mean_window(spot: Spot) -> float:
    """Mean of the tagged connection's window in the measured time over all runs, packets."""
    return float(np.mean([steady(run).mean() for run in spot.runs]))


def variances(spot: Spot) -> Floats:
    """Mean square deviation of the tagged connection's window from its mean over all runs, one a run, packets².

    From the mean over all runs: a run lasts few time constants, so its own mean would take a part of the variance.
    """
    mean = mean_window(spot)
    return np.array([float(((steady(run) - mean) ** 2).mean()) for run in spot.runs])


def settling_s(spot: Spot, start_s: float) -> Floats:
    """Time from the start until the window first reaches `SETTLED` of its mean, s, one a run; NaN if it never does."""
    goal = SETTLED * mean_window(spot)

    def first(run: Run) -> float:
        times, values = run.record.arrays(WINDOW)
        reached = times[(times > start_s) & (values >= goal)]
        return float(reached[0]) - start_s if reached.size else math.nan

    return np.array([first(run) for run in spot.runs])


def relative_deviation(groups: tuple[str, ...]) -> Measure:
    """Standard deviation over mean of a connection's recorded window, mean over the groups' connections."""

    def share(run: Run) -> float | None:
        names = [name for name in run.record.series_names if name.split(".")[1] in groups and name.endswith(".window")]
        found = [float(values.std() / values.mean()) for values in (steady(run, name) for name in names)]
        return float(np.mean(found)) if found else None

    return share


def window_numbers(spot: Spot) -> dict[str, Floats]:
    """`relative_deviation` of each class of a pair and of all connections, one value a run; and the link's p."""
    groups = ("light", "heavy")
    found = {group: spot.of(relative_deviation((group,))) for group in groups}
    sizes = {group: spot.runs[0].json["groups"][group]["users"] for group in groups}
    found["all"] = np.average([found[g] for g in groups], axis=0, weights=[sizes[g] for g in groups])
    return found | {"p": spot.of(probability)}


# --- Marks one after another ----------------------------------------------------------------------------------------


class Packets:
    """The packets that arrived at the single link in the measured time, in their order.

    Attributes:
        time_s, flow, marked: arrays of shape (packets,); flows are numbered by the names of groups, then users.
    """

    def __init__(self, run: Run) -> None:
        times, links = run.record.arrays("events.arrival.link")
        flows, marked = run.record.arrays("events.arrival.flow")[1], run.record.arrays("events.arrival.marked")[1]
        start, end = run.json["window_s"]
        # links are numbered by their names, and "access" comes before "bottleneck"
        here = (links == sorted(run.json["links"]).index("bottleneck")) & (times > start) & (times <= end)
        self.time_s, self.flow, self.marked = times[here], flows[here].astype(int), marked[here] > 0
        sizes = {name: run.json["groups"][name]["users"] for name in sorted(run.json["groups"])}
        ends = np.cumsum(list(sizes.values()))
        self._flows = {name: range(int(e) - size, int(e)) for (name, size), e in zip(sizes.items(), ends, strict=True)}
        self._window_s = (float(start), float(end))

    def run_length(self) -> float:
        """Mean number of marked packets in a row."""
        lengths = self.run_lengths()
        return float(lengths.mean()) if lengths.size else math.nan

    def run_lengths(self) -> Floats:
        """Numbers of marked packets in a row, in their order."""
        steps = np.diff(np.concatenate([[0], self.marked.astype(int), [0]]))
        lengths: Floats = (np.flatnonzero(steps == -1) - np.flatnonzero(steps == 1)).astype(np.float64)
        return lengths

    def of(self, group: str) -> Flags:
        """Which packets are the group's."""
        flows = self._flows[group]
        mine: Flags = (self.flow >= flows.start) & (self.flow < flows.stop)
        return mine

    def counts(self, chosen: Flags, bin_s: float) -> Floats:
        """Number of the chosen packets in each bin of the measured time."""
        start, end = self._window_s
        bins = start + bin_s * np.arange(round((end - start) / bin_s) + 1)
        return np.histogram(self.time_s[chosen], bins)[0].astype(np.float64)

    def share_marked(self, group: str) -> float:
        """Share of the group's packets that were marked."""
        return float(self.marked[self.of(group)].mean())

    def share_marked_if_alike(self, group: str, bin_s: float) -> float:
        """What that share would be if within each bin all groups' packets were marked alike.

        Then nothing but the time at which a group sends more or less than usual can distinguish it.
        """
        everyone = np.ones_like(self.marked)
        all_of_them, marked = self.counts(everyone, bin_s), self.counts(self.marked, bin_s)
        share = np.divide(marked, all_of_them, out=np.zeros_like(marked), where=all_of_them > 0)
        mine = self.counts(self.of(group), bin_s)
        return float((mine * share).sum() / mine.sum())

    def fluctuation(self, group: str, bin_s: float) -> float:
        """Standard deviation over mean of the group's packets per bin."""
        mine = self.counts(self.of(group), bin_s)
        return float(mine.std() / mine.mean())

    def close_behind(self, group: str, within_s: float) -> tuple[float, float, float]:
        """Packets that arrive within `within_s` of the same connection's last one.

        Returns:
            Their share of the group's packets; the share of them that is marked; the same of all other packets.
        """
        near, marked = [], []
        for flow in self._flows[group]:
            mine = self.flow == flow
            near.append(np.diff(self.time_s[mine]) < within_s)
            marked.append(self.marked[mine][1:])
        close, hit = np.concatenate(near), np.concatenate(marked)
        return _share(close), _share(hit[close]), _share(hit[~close])


def _quotient(above: float, below: float) -> float:
    """Undefined where the class below was never marked."""
    return above / below if below > 0 else math.nan


def largest_over_smallest(run: Run) -> float:
    """Largest over smallest throughput of the connections of group ``equal``."""
    rates = run.json["groups"]["equal"]["flows_throughput_bps"]
    return float(max(rates)) / float(min(rates)) if min(rates) > 0 else math.inf


CLOSE_S = 0.1e-3
"""Packets sent back to back over 100 Mbit/s are 0.08 ms apart; the single link needs 0.8 ms for one."""
ROUND_TRIP_S = 0.2


def packet_numbers(spot: Spot) -> dict[str, Floats]:
    """What `Packets` says of a point whose arrivals are recorded, one value a run; of each class by its name."""
    found: dict[str, list[float]] = {}
    for run in spot.runs:
        packets = Packets(run)
        row = {"p": float(packets.marked.mean()), "run_length": packets.run_length()}
        for group in ("light", "heavy"):
            row[f"p_{group}"] = packets.share_marked(group)
            row[f"p_{group}_if_alike"] = packets.share_marked_if_alike(group, ROUND_TRIP_S / 10)
            row[f"fluctuation_{group}"] = packets.fluctuation(group, ROUND_TRIP_S)
            close = packets.close_behind(group, CLOSE_S)
            row |= dict(zip((f"close_{group}", f"p_close_{group}", f"p_other_{group}"), close, strict=True))
        row["p_high_over_p_low"] = _quotient(row["p_heavy"], row["p_light"])
        row["p_high_over_p_low_if_alike"] = _quotient(row["p_heavy_if_alike"], row["p_light_if_alike"])
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}
