"""The paper's metrics: numbers of a run, and quantities that are chosen among points.

R: throughput of a connection of the high weight over one of the low (Figs. 3a to 7); M: the same of received marks
(Figs. 3b, 4b); Wr: the same of mean windows. p: marked arrivals over arrivals at a link; ρ: its busy share; queueing
delay: waiting time before transmission, ms (Table 2). All of [60, 180] s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenflow import theory
from evenflow.errors import EvenflowError
from evenflow.lab import Floats, Vocabulary, chosen_by_others, of_arrived, optional, over, plain
from evenflow.stats import Interval, student_t
from evenflow.study import Curve
from evenflow.values import Metric, Shown, Values, of_runs, points, with_labels

from . import network as net
from .network import LINK, Options

if TYPE_CHECKING:
    from evenflow.scenario import Scenario
    from evenflow.study import Label, Run
    from evenflow.values import Wanted

Flags: TypeAlias = NDArray[np.bool_]


def _weight(mix: Any) -> str:
    return "" if mix == net.MIXED else f"weight {mix}"


WORDS: Vocabulary = {
    **dict.fromkeys(("marker", "form", "topology", "control", "experiment", "variant", "how", "name"), str),
    **dict.fromkeys(("group", "kind", "part", "column", "figure", "place", "panel"), str),
    "population": lambda v: f"population {v}",
    "base_weight": lambda v: f"base weight {plain(v)}",
    "r": lambda v: f"r = {plain(v)}",
    "w": lambda v: f"weight {plain(v)}",
    "n": lambda v: f"{plain(v)} connections",
    "load": lambda v: f"N = {plain(v)}",
    "rtt_ms": lambda v: f"{plain(v)} ms",
    "rtt12_ms": lambda v: f"RTT of R1–R2 {plain(v)} ms",
    "theta": lambda v: f"θ = {plain(v)}",
    "buffer": lambda v: f"B = {plain(v)} packets",
    "t_avg": lambda v: f"t_avg = {plain(v)} s",
    "max_p": lambda v: f"largest probability {plain(v)}",
    "reaction": lambda v: f", {v}" if v else "",
    "weights": lambda v: f", {_weight(v)}" if _weight(v) else "",
    "weights:first": lambda v: f"{_weight(v)}, " if _weight(v) else "",
    "weights:alone": _weight,
    "mix": lambda v: "" if net.TABLE_MIXES[str(v)] == net.MIXED else f"{v}, ",
    "mix:of": lambda v: "" if net.TABLE_MIXES[str(v)] == net.MIXED else f"{v}: ",
    "marker:long": lambda v: {net.RED: "RED", net.VQ: "virtual queue", net.LB: "load-based"}[str(v)],
    "form:long": lambda v: {net.PI: "proportional increase", net.IPD: "inverse decrease"}[str(v)],
    "name:sent": lambda v: {"light": "weight 1", "heavy": "weight 10"}.get(
        str(v), "share of all packets that are marked"
    ),
    "kind:theory": lambda v: f", {v}" if v else "",
    "population:long": lambda v: {"A": "5 and 5", "B": "9 and 1", "C": "weights 1 to 10"}[str(v)],
}
AXES: Mapping[str, str] = {
    "r": "weight ratio r",
    "w": "weight w of every connection",
    "buffer": "buffer B (packets)",
    "load": "connections N",
    "p": "marking probability p",
    "value": "a (T + t_avg)",
}

# --- Numbers of a run -----------------------------------------------------------------------------------------------


def throughput(run: Run, group: str) -> float | None:
    """Mean throughput of a connection of the group, bit/s."""
    return run.metric(f"groups.{group}.throughput_bps")


def rate(run: Run, group: str, o: Options) -> float | None:
    """What the throughput ratio consists of: the class mean, or one connection's, as the option `ratio` says."""
    if o.ratio != "tagged":
        return throughput(run, group)
    found = run.json["groups"][group]["flows_throughput_bps"]
    return float(found[0]) if found else None


def marks(run: Run, group: str) -> float:
    """Mean number of marks that a connection of the group received."""
    found = run.json["groups"][group]
    return float(found["marks"]) / float(found["users"])


def window(run: Run, group: str) -> float | None:
    """Mean congestion window of the group, packets."""
    return run.metric(f"groups.{group}.window_packets_mean")


def price(run: Run, group: str) -> float | None:
    """Share of the group's packets that arrived with a mark: the price of its whole path."""
    found = run.json["groups"][group]
    return float(found["marks"]) / float(found["delivered_packets"]) if found["delivered_packets"] else None


def probability(run: Run, link: str = LINK) -> float | None:
    """p: share of the packets arriving at a link that it marked."""
    return of_arrived(run.json["links"][link], "marks")


def losses(run: Run) -> float:
    """Data packets dropped anywhere, all groups."""
    return float(sum(group["losses"] for group in run.json["groups"].values()))


def metric(function: Callable[..., float | None], name: str, title: str = "", per: float = 1.0) -> Metric:
    """A number of a group or link; undefined in a network without it."""
    return Metric(optional(lambda run: function(run, name)), title, per)


def mbps(group: str) -> Metric:
    """Throughput of a connection, Mbit/s."""
    return metric(throughput, group, per=1e6)


def at_link(link: str) -> tuple[Metric, Metric, Metric]:
    """p, ρ and mean delay in ms of a link."""
    return (
        metric(probability, link, "marking probability p"),
        Metric(optional(lambda run: run.metric(f"links.{link}.utilisation")), "utilisation ρ"),
        Metric(optional(lambda run: run.metric(f"links.{link}.queue_delay_s_mean")), per=1e-3),
    )


P, RHO, _ = at_link(LINK)
P12, RHO12, DELAY12 = at_link(net.R12)
P23, RHO23, DELAY23 = at_link(net.R23)
P34, RHO34, _ = at_link(net.R34)
DELAYS = {"mean": "average", "max": "maximum", "sd": "standard deviation"}
"""A column of Table 2 as a run's record names it, and in words."""


def delay(what: str) -> Metric:
    """Queueing delay, ms; `what` is mean, max or sd."""

    def measure(run: Run) -> float | None:
        found = run.metric(f"links.{LINK}.queue_delay_s_{what}")
        return None if found is None else found * 1e3

    return Metric(measure, f"{DELAYS[what]} (ms)")


DELAY = {what: delay(what) for what in DELAYS}


def with_service(what: str) -> Metric:
    """Queueing delay with the packet's own transmission, ms (0.8 ms for 1000 B)."""
    return Metric(lambda run, o: DELAY[what].of(run) + o.packet * 8 / (net.CAPACITY_MBPS * 1e3))


# --- Ratios of two classes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two classes of a run: the groups above and below, and the ratio of their weights."""

    above: str
    below: str
    r: float
    o: Options

    def ratio(self, run: Run, of: Callable[[Run, str], float | None]) -> float | None:
        """A number of the class above over that of the class below."""
        return over(of(run, self.above), of(run, self.below))


def of_throughput(run: Run, it: Pair) -> float | None:
    """R."""
    return over(rate(run, it.above, it.o), rate(run, it.below, it.o))


def of_marks(run: Run, it: Pair) -> float | None:
    """M."""
    return it.ratio(run, marks)


def of_windows(run: Run, it: Pair) -> float | None:
    """Wr."""
    return it.ratio(run, window)


def _over(top: float | None, bottom: float | None) -> float | None:
    return None if top is None or not bottom else top / bottom


def of_prices(run: Run, it: Pair) -> float | None:
    """Share of packets marked, a connection of the high weight over one of the low."""
    return _over(price(run, it.above), price(run, it.below))


def of_marks_per_packet(run: Run, it: Pair) -> float | None:
    """M over R."""
    return _over(of_marks(run, it), of_throughput(run, it))


def with_half_a_packet(r: float, p_high: float, p_low: float, base: float = 1.0) -> float:
    """(r w/p_high − ½)/(w/p_low − ½): the throughput ratio of windows whose fraction of a packet is never sent.

    `base` is w, the lower weight.
    """
    return (r * base / p_high - 0.5) / (base / p_low - 0.5)


def over_predicted(run: Run, it: Pair, *, own: bool) -> float:
    """R over `with_half_a_packet` with measured probabilities: each class's own, or the link's."""
    found = of_throughput(run, it)
    high, low = (price(run, group) if own else probability(run) for group in (it.above, it.below))
    if found is None or high is None or low is None:
        return math.nan
    return found / with_half_a_packet(it.r, high, low, it.o.base_weight)


@dataclass(frozen=True)
class Ratio:
    """A ratio of two classes. Called with labels it gives values over r; a ladder is one point with every r."""

    of: Callable[[Run, Pair], float | None]
    title: str = ""

    def __call__(self, on: str = "", /, r: Wanted | None = None, **labels: Wanted) -> Values:
        """Its values at the points with these labels."""

        def cells(shown: Shown) -> Iterator[tuple[dict[str, Label], Floats]]:
            for kept, runs in points(shown.table(on), labels):
                for it in pairs(runs[0], shown.options):
                    found = [self.of(run, it) for run in runs]
                    yield {**kept, "r": it.r}, np.array([math.nan if v is None else v for v in found], dtype=float)

        values = Values(cells, self.title)
        return values if r is None else values.at(r=r)

    def judged(self, on: str = "", /, **labels: Wanted) -> Values:
        """Its values in the population that the claims are about."""
        every = self(on, **labels)
        return Values(
            lambda shown: [
                ({name: it for name, it in known.items() if name != "population"}, value)
                for known, value in every.cells(shown)
                if known["population"] == shown.options.population
            ],
            self.title,
        )

    def top(self, run: Run, o: Options) -> float | None:
        """Its value in a run; of a ladder that of the highest weight."""
        return self.of(run, pairs(run, o)[-1])


def pairs(run: Run, o: Options) -> list[Pair]:
    """The pairs of a run: one, or each weight of a ladder with the lowest."""
    groups = run.json["groups"]
    if "w1" in groups:
        return [Pair(f"w{w}", "w1", float(w), o) for w in range(1, 11) if f"w{w}" in groups]
    return [Pair("heavy", "light", float(run.labels.get("r", math.nan)), o)]


R = Ratio(of_throughput, "throughput ratio R")
M = Ratio(of_marks, "ratio of received marks M")
WR = Ratio(of_windows)
PRICES = Ratio(of_prices, "marking probability, high weight over low")
M_OVER_R = Ratio(of_marks_per_packet, "M over R")
OVER_LINK, OVER_OWN = (Ratio(partial(over_predicted, own=own)) for own in (False, True))
AT_FLOOR = Ratio(lambda run, it: run.metric(f"groups.{it.below}.window_at_floor"))
"""Share of the time that the low weight's windows are at their floor of one packet."""


def by_r(values: Values) -> Values:
    """Values over r."""
    return values.map(lambda v, r: v / r)


def largest_over_smallest(run: Run) -> float:
    """Largest over smallest throughput of ten equal connections."""
    rates = run.json["groups"]["equal"]["flows_throughput_bps"]
    return float(max(rates)) / float(min(rates)) if min(rates) > 0 else math.inf


UNEQUAL = Metric(largest_over_smallest)
FEW = 6
"""With fewer runs the certainty of a ratio of half-widths is unknown."""


def half_width_ratio(one: Floats, other: Floats, level: float = net.LEVEL) -> Interval:
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


def width(one: Values, other: Values) -> Values:
    """`half_width_ratio` of two curves over r."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], Interval]]:
        a, b = (np.array([value for _, value in values.cells(shown)]) for values in (one, other))
        yield {}, half_width_ratio(a, b)

    return Values(found)


def root(i: Interval) -> Interval:
    """Of an interval of a ratio of variances that of the ratio of standard deviations."""
    return i.map(lambda value: math.copysign(math.sqrt(abs(value)), value))


def distance(gap: Floats) -> Floats:
    """Each run's gap, counted along the sign of the other runs' mean: |mean gap|, not chosen by the value itself."""
    others = (np.nansum(gap) - gap) / max(1, gap.size - 1)
    found: Floats = np.where(others < 0, -gap, gap)
    return found


# --- Recorded series ------------------------------------------------------------------------------------------------

SETTLED = 0.9
"""Share of the mean window at which a connection counts as settled."""


def steady(run: Run, name: str = net.WINDOW) -> Floats:
    """A series from the end of the warm-up to the end of the run; undefined values are 0."""
    times, values = run.series(name)
    found: Floats = np.nan_to_num(values[times > float(run.json["window_s"][0]) + 1e-9])
    return found


def mean_window(runs: list[Run]) -> float:
    """Mean of the tagged connection's window over all runs, packets."""
    return float(np.mean([steady(run).mean() for run in runs]))


def variances(runs: list[Run]) -> Floats:
    """Mean square deviation of the tagged connection's window from its mean over all runs, one a run, packets².

    From the mean over all runs: a run lasts few time constants, so that its own mean would take a part of the variance.
    """
    mean = mean_window(runs)
    return np.array([float(((steady(run) - mean) ** 2).mean()) for run in runs])


def relative_variances(runs: list[Run]) -> Floats:
    """The same over the squared mean: its ratios are those of std/mean, squared."""
    found: Floats = variances(runs) / mean_window(runs) ** 2
    return found


def settling_s(runs: list[Run]) -> Floats:
    """Time from the start until the window first reaches `SETTLED` of its mean, s, one a run; NaN if it never does."""
    goal = SETTLED * mean_window(runs)
    start_s = net.TAGGED_START_S if net.OTHERS in runs[0].json["groups"] else 0.0

    def first(run: Run) -> float:
        times, values = run.record.arrays(net.WINDOW)
        reached = times[(times > start_s) & (values >= goal)]
        return float(reached[0]) - start_s if reached.size else math.nan

    return np.array([first(run) for run in runs])


def variation(values: Floats, ddof: int = 1) -> float | None:
    """Standard deviation over mean."""
    return float(values.std(ddof=ddof) / values.mean()) if values.mean() > 0 else None


def _windows(run: Run, group: str = "") -> list[Floats]:
    names = [name for name in run.record.series_names if name.endswith(".window")]
    return [steady(run, name) for name in names if not group or name.split(".")[1] == group]


def swing(run: Run, group: str) -> float:
    """Standard deviation over mean of a connection's window, mean over the group's connections."""
    of_each = [variation(values, 0) for values in _windows(run, group)]
    return float(np.mean(np.array(of_each, dtype=float)))


def swing_of_all(run: Run) -> float:
    """The same over all connections of a pair."""
    groups = ("light", "heavy")
    sizes = [run.json["groups"][group]["users"] for group in groups]
    return float(np.average([swing(run, group) for group in groups], weights=sizes))


SWING = {**{group: metric(swing, group, "std / mean of a window") for group in ("light", "heavy")}}
SWING_OF_ALL = Metric(swing_of_all)


def queue_fluctuation(run: Run) -> float | None:
    """Standard deviation over mean of the queue averaged over round trips of 20 samples."""
    values = steady(run, net.QUEUE_SERIES)
    return variation(values[: len(values) // 20 * 20].reshape(-1, 20).mean(axis=1))


def window_fluctuation(run: Run) -> float | None:
    """Standard deviation over mean of the sum of all windows, sampled once a round trip."""
    return variation(np.sum(_windows(run), axis=0))


def arrivals(run: Run, o: Options) -> Floats:
    """Packets that arrived at the link in each bin of the measured time, shape (bins,)."""
    found: Floats = steady(run, net.ARRIVED_SERIES) / o.packet
    return found


def arrival_variance(run: Run, o: Options) -> float:
    """Variance of the number of packets in a bin."""
    return float(arrivals(run, o).var(ddof=1))


def dispersion(run: Run, o: Options) -> float | None:
    """Index of dispersion of arrivals: variance over mean of the counts; 1 for Poisson arrivals."""
    counts = arrivals(run, o)
    return float(counts.var(ddof=1)) / float(counts.mean()) if counts.any() else None


def marking_periods(run: Run) -> tuple[int, float]:
    """Marking periods that begin in the window, and the time marked in it, s; sampled at packets."""
    times, values = run.series(net.MARKING_SERIES)
    kept = times > float(run.json["window_s"][0])
    t, on = times[kept], values[kept] > 0.5
    return int((on[1:] & ~on[:-1]).sum()), float(np.diff(t)[on[:-1]].sum())


def periods_per_s(run: Run) -> float:
    """Beginnings of marking periods per second."""
    start, end = run.json["window_s"]
    return marking_periods(run)[0] / (float(end) - float(start))


def period_s(run: Run) -> float | None:
    """Mean length of a marking period, s."""
    begins, marked = marking_periods(run)
    return marked / begins if begins else None


QUEUE_SD, WINDOWS_SD = (Metric(optional(it)) for it in (queue_fluctuation, window_fluctuation))
OFTEN = Metric(optional(periods_per_s), "marking periods per second")
LONG = Metric(optional(period_s), "mean length of a marking period (s)")


def response_s(with_step: Run, without: Run) -> float:
    """From the step until the probability, averaged over a second, has come half of its way; NaN if it never does.

    Its way is measured from the same run (equal seed) without the step: until the step the two are one, and with long
    averaging intervals the probability swings by itself as much as the step moves it.
    """
    times, values = with_step.series(net.PROBABILITY_SERIES)
    moved = np.nan_to_num(values) - np.nan_to_num(without.series(net.PROBABILITY_SERIES)[1])
    after = float(moved[times > net.STEP_S + 40].mean())
    mean = np.convolve(moved, np.ones(10) / 10)[: len(moved)]
    there = (times > net.STEP_S) & (mean >= after / 2)
    return float(times[there][0] - net.STEP_S) if there.any() else math.nan


def _responses(shown: Shown) -> Iterator[tuple[Mapping[str, Label], Floats]]:
    table = shown.table("x-lb")
    wanted = {"alpha": 0.71, "rho0": 0.6}
    without = {labels["t_avg"]: runs for labels, runs in points(table, {"panel": "no step", **wanted})}
    for labels, runs in points(table, {"panel": "step", **wanted}):
        both = zip(runs, without[labels["t_avg"]], strict=True)
        yield labels, np.array([response_s(stepped, still) for stepped, still in both])


RESPONSE = Values(_responses)
"""`response_s` by t_avg."""


def backlog(run: Run) -> float:
    """Most packets that waited in the ten seconds after the step."""
    times, values = run.series(net.QUEUE_SERIES)
    return float(values[(times > net.STEP_S) & (times <= net.STEP_S + 10)].max())


def bare(x: Floats, y: Floats) -> Curve:
    """A curve without runs and intervals."""
    nothing = np.full(len(x), math.nan)
    return Curve(np.asarray(x, float), np.asarray(y, float), nothing, nothing, np.zeros(len(x), dtype=np.int64))


def load_sd(run: Run) -> float:
    """Standard deviation of the marker's load over the intervals after the warm-up."""
    times, loads = run.series(net.LOAD_SERIES)
    # the value at the very end of the warm-up is of an interval before it
    return float(loads[times > net.WARMUP_S].std())


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
        here = (links == sorted(run.json["links"]).index(LINK)) & (times > start) & (times <= end)
        self.time_s, self.flow, self.marked = times[here], flows[here].astype(int), marked[here] > 0
        sizes = {name: int(run.json["groups"][name]["users"]) for name in sorted(run.json["groups"])}
        ends = np.cumsum(list(sizes.values()))
        self._flows = {name: range(int(e) - size, int(e)) for (name, size), e in zip(sizes.items(), ends, strict=True)}
        self._window_s = (float(start), float(end))

    def run_lengths(self) -> Floats:
        """Numbers of marked packets in a row, in their order."""
        steps = np.diff(np.concatenate([[0], self.marked.astype(int), [0]]))
        lengths: Floats = (np.flatnonzero(steps == -1) - np.flatnonzero(steps == 1)).astype(np.float64)
        return lengths

    def run_length(self) -> float:
        """Mean number of marked packets in a row."""
        lengths = self.run_lengths()
        return float(lengths.mean()) if lengths.size else math.nan

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
        """That share if within each bin all groups' packets were marked alike.

        Then only the time at which a group sends more or less than usual can distinguish it.
        """
        all_of_them, marked = self.counts(np.ones_like(self.marked), bin_s), self.counts(self.marked, bin_s)
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
        shares = (close, hit[close], hit[~close])
        one, two, three = (float(it.mean()) if it.size else math.nan for it in shares)
        return one, two, three


CLOSE_S = 0.1e-3
"""Packets sent back to back over 100 Mbit/s are 0.08 ms apart; the single link needs 0.8 ms for one."""


def packet_row(run: Run) -> dict[str, float]:
    """Numbers of a run whose arrivals are recorded; of each class by its name."""
    packets = Packets(run)
    row = {"p": float(packets.marked.mean()), "run_length": packets.run_length()}
    for group in ("light", "heavy"):
        row[f"p_{group}"] = packets.share_marked(group)
        row[f"p_{group}_if_alike"] = packets.share_marked_if_alike(group, net.RTT_S / 10)
        row[f"fluctuation_{group}"] = packets.fluctuation(group, net.RTT_S)
        close = packets.close_behind(group, CLOSE_S)
        row |= dict(zip((f"close_{group}", f"p_close_{group}", f"p_other_{group}"), close, strict=True))
    for end in ("", "_if_alike"):
        heavy, light = row[f"p_heavy{end}"], row[f"p_light{end}"]
        row[f"p_high_over_p_low{end}"] = heavy / light if light > 0 else math.nan
    return row


def of_packets(name: str, **labels: Wanted) -> Values:
    """A number of `packet_row`."""
    return Metric(lambda run: packet_row(run)[name])("x-marks", **labels)


# --- Marking probability against utilisation ------------------------------------------------------------------------

SATURATED = 0.995
"""A load-based marker at a utilisation of 1 marks with its largest probability, whatever the load: no point of a
curve."""
BRANCH_N = 8
"""RED's curve folds back where few connections leave it few marks: with always-busy connections its utilisation falls
until about N = 8 and rises from there. Statements about RED's curve are judged on that second branch."""


@dataclass(frozen=True)
class LoadCurve:
    """Marking probability p against utilisation ρ, one curve a seed.

    Attributes:
        weights: total weight of the connections over that of N = 1, shape (k,), ascending: N of the mixture.
        rho, p: shape (k, seeds).
    """

    weights: Floats
    rho: Floats
    p: Floats

    def _only(self, kept: Flags) -> LoadCurve:
        return LoadCurve(self.weights[kept], self.rho[kept], self.p[kept])

    @property
    def unsaturated(self) -> LoadCurve:
        """Without the points at which the link is always busy."""
        return self._only(self.rho.mean(axis=1) < SATURATED)

    @property
    def branch(self) -> LoadCurve:
        """The unsaturated part from N = 8 on (`BRANCH_N`)."""
        return self.unsaturated._only(self.unsaturated.weights >= BRANCH_N - 0.5)

    def between(self, lo: float = 0.0, hi: float = 1.0) -> LoadCurve:
        """The points whose mean utilisation lies in [lo, hi]."""
        middle = self.rho.mean(axis=1)
        return self._only((middle >= lo) & (middle <= hi))

    def up_to(self, p: float) -> LoadCurve:
        """The points whose mean marking probability is at most `p`."""
        return self._only(self.p.mean(axis=1) <= p)

    @property
    def least(self) -> Floats:
        """The least utilisation, at the load that the other seeds choose."""
        return chosen_by_others(self.rho, range(len(self.rho)), lowest=True)

    @property
    def begins(self) -> float:
        """The least utilisation of the means at which packets are marked."""
        return float(self.rho.mean(axis=1)[self.p.mean(axis=1) > 1e-4].min(initial=math.inf))

    def rho_at(self, p: float) -> Floats:
        """Utilisation at a marking probability, shape (seeds,), linear between neighbouring loads; NaN outside."""
        return np.array([_crossing(x, y, p) for x, y in zip(self.p.T, self.rho.T, strict=True)])

    def p_at(self, rho: float) -> Floats:
        """Marking probability at a utilisation, shape (seeds,), linear between neighbouring loads; NaN outside."""
        return np.array([_crossing(x, y, rho) for x, y in zip(self.rho.T, self.p.T, strict=True)])

    def line(self) -> Line:
        """The straight line of least squares through the points of each seed."""
        return Line.through(self.rho, self.p)

    def slope(self, lo: float = 0.0, hi: float = 1.0) -> Floats:
        """Of the line through the points with these utilisations."""
        return self.between(lo, hi).line().slope

    def curvature(self) -> Floats:
        """Quadratic coefficient of the parabola of least squares, for each seed; above 0 is convex."""
        if len(self.rho) < 3:
            return np.full(self.rho.shape[1], np.nan)
        return np.array([np.polyfit(x, y, 2)[0] for x, y in zip(self.rho.T, self.p.T, strict=True)])


def _crossing(x: Floats, y: Floats, at: float) -> float:
    """`y` where `x` rises through `at`, the last time it does."""
    for i in range(len(x) - 2, -1, -1):
        if x[i] <= at <= x[i + 1] and x[i] < x[i + 1]:
            return float(y[i] + (at - x[i]) / (x[i + 1] - x[i]) * (y[i + 1] - y[i]))
    return math.nan


@dataclass(frozen=True)
class Line:
    """Straight lines of least squares, one a seed, each of shape (seeds,).

    Attributes:
        slope: change of p per utilisation.
        foot: utilisation at which the line meets p = 0.
        r2: share of p's variance that it explains.
    """

    slope: Floats
    foot: Floats
    r2: Floats

    @staticmethod
    def through(rho: Floats, p: Floats) -> Line:
        """Through points of shape (k, seeds); NaN from fewer than two points, and from two an R² of NaN."""
        nothing = np.full(rho.shape[1], np.nan)
        if len(rho) < 2:
            return Line(nothing, nothing, nothing)
        x, y = rho - rho.mean(axis=0), p - p.mean(axis=0)
        slope = (x * y).sum(axis=0) / (x * x).sum(axis=0)
        foot = rho.mean(axis=0) - p.mean(axis=0) / slope
        r2 = (x * y).sum(axis=0) ** 2 / ((x * x).sum(axis=0) * (y * y).sum(axis=0)) if len(rho) > 2 else nothing
        return Line(slope, foot, r2)


def load_curves(on: str = "", /, *, branch: bool = False, whole: bool = False, **labels: Wanted) -> Values:
    """A `LoadCurve` for each set of labels: its unsaturated part, RED's branch, or the whole."""

    def found(shown: Shown) -> Iterator[tuple[Mapping[str, Label], Any]]:
        both = zip(RHO(on, **labels).curves(shown, "n"), P(on, **labels).curves(shown, "n"), strict=True)
        for (rest, ns, rho), (_, _, p) in both:
            scale = net.mean_weight(str(rest["weights"])) / net.MEAN_WEIGHT
            curve = LoadCurve(np.array(ns) * scale, rho, p)
            yield rest, curve if whole else curve.branch if branch else curve.unsaturated

    return Values(found)


def curve(marker: str, on: str = "", /, **labels: Any) -> Values:
    """The part of a marker's curves that claims are about."""
    return load_curves(on, branch=marker == net.RED, **{"marker": marker, **labels})


def p_at(curves: Values, grid: Iterable[float]) -> Values:
    """Marking probabilities at utilisations, label `rho`."""
    return Values(lambda shown: [({**at, "rho": x}, it.p_at(x)) for at, it in curves.cells(shown) for x in grid])


def rho_at(curves: Values, grid: Iterable[float]) -> Values:
    """Utilisations at marking probabilities, label `p`."""
    return Values(lambda shown: [({**at, "p": x}, it.rho_at(x)) for at, it in curves.cells(shown) for x in grid])


JUDGED, FOLD, BUSY = "", ", fewer than eight connections", ", always busy"


def parts(values: Callable[..., Values], *, folds: bool = False, **labels: Wanted) -> Values:
    """Values over n with the label `part`: the judged part of a curve, its fold under RED, its saturated end."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], Floats]]:
        both = zip(RHO(**labels).curves(shown, "n"), values(**labels).curves(shown, "n"), strict=True)
        for (rest, ns, rho), (_, _, wanted) in both:
            scale = net.mean_weight(str(rest["weights"])) / net.MEAN_WEIGHT if rest["weights"] in net.MIXES else np.inf
            busy = rho.mean(axis=1) >= SATURATED
            few = (np.array(ns) * scale < BRANCH_N - 0.5) & ~busy & (folds and rest.get("marker", net.RED) == net.RED)
            # up to the first judged point, so that the fold is part of the curve
            fold = few | (np.roll(few, 1) & ~busy & few.any())
            for part, kept in ((JUDGED, ~busy & ~few), (FOLD, fold & few.any()), (BUSY, busy)):
                places = np.flatnonzero(kept)
                # loads apart from each other are not joined by a line
                for at, piece in zip(places, np.cumsum(np.diff(places, prepend=places[:1]) > 1), strict=True):
                    yield {**rest, "part": part, "piece": int(piece), "n": ns[at]}, wanted[at]

    return Values(found)


# --- Table 2 and Fig. 11 --------------------------------------------------------------------------------------------

TARGET = 0.90
"""Utilisation of the rows (caption of Table 2)."""
NEAR = 0.01
"""How far from it a row may be."""
NEIGHBOURS = 2
"""Points of the scan to either side of a row's N over which its local slope is taken."""
PAPER: Mapping[str, tuple[float, float, float]] = {
    net.RED_5: (26.9, 89.6, 26.4),
    net.RED_3: (5.3, 22.4, 3.6),
    net.VQ_95: (8.6, 39.4, 6.2),
    net.LB_07: (6.3, 38.4, 4.8),
}
"""Table 2: average, maximum, standard deviation, ms."""
FACTOR = {net.RED_5: 2.5, net.RED_3: 1.6, net.VQ_95: 1.6, net.LB_07: 1.6}
"""Accepted around the cells of a row; more for RED's first, whose load, weights and round trips decide most."""


def operating_point(rho: Floats) -> int:
    """Where a row of Table 2 is read: the place whose mean utilisation is nearest to 0.90; `rho` of shape (N, seeds).

    Places before that of the least utilisation are not considered. There few connections with large windows leave
    marks so far apart that a RED link runs full: utilisation falls with load and 0.90 is met twice. Only the branch on
    which load and marking probability grow together is a curve as in the paper's Figs. 8 and 9. A marker that nowhere
    runs as low as 0.90 is thereby read at its least utilisation.
    """
    mean = rho.mean(axis=1)
    lowest = int(np.argmin(mean))
    return lowest + int(np.argmin(np.abs(mean[lowest:] - TARGET)))


def at_load(of: Metric, on: str = "tab02", /, *, places: bool = False, **labels: Wanted) -> Values:
    """A metric where a row is read; with `places` labelled with N, ρ, and a word if ρ is not 0.90."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], Floats]]:
        both = zip(RHO(on, **labels).curves(shown, "n"), of(on, **labels).curves(shown, "n"), strict=True)
        for (rest, ns, rho), (_, _, rows) in both:
            at = operating_point(rho)
            mean = float(rho[at].mean())
            word = ", the least it reaches" if mean > TARGET else ", the nearest to 0.90 of the scan"
            place = {"n": ns[at], "rho": mean, "place": word if abs(mean - TARGET) > NEAR else ""}
            yield {**rest, **(place if places else {})}, rows[at]

    return Values(found, of.title)


def local_slope(marker: str) -> Values:
    """dp/dρ of a row around its N, one value a seed.

    The quotient of the least-squares trends of p and of ρ over the nearest N of the scan: both follow N, so that the
    noise of ρ does not flatten the slope as it would in a regression of p on ρ.
    """

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], Floats]]:
        rhos, ps = (it("tab02", marker=marker).curves(shown, "n") for it in (RHO, P))
        for (rest, ns, rho), (_, _, p) in zip(rhos, ps, strict=True):
            at = operating_point(rho)
            near = slice(max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1)
            x = np.asarray(ns[near]) - np.mean(ns[near])
            with np.errstate(divide="ignore", invalid="ignore"):  # a link that is full at every N has no slope
                yield rest, (x @ p[near]) / (x @ rho[near])

    return Values(found)


def log_slope(grid: list[float], rates: Floats) -> Floats:
    """d log rate / d log p by least squares, one value a seed."""
    x = np.log(grid)
    x = x - x.mean()
    slope: Floats = (x @ np.log(rates)) / float(x @ x)
    return slope


# --- Two links, and theory ------------------------------------------------------------------------------------------

CELLS = {
    (200, "R"): (0.231, 0.012),
    (200, "p12"): (0.023, 0.002),
    (200, "p23"): (0.042, 0.003),
    (100, "R"): (0.251, 0.012),
    (100, "p12"): (0.042, 0.003),
    (100, "p23"): (0.042, 0.003),
}
"""Table 1, row by row: by round trip of R1–R2 and column the paper's value, and what is accepted to either side."""
LINKS = {"p12": net.R12, "p23": net.R23}


def long_class(run: Run) -> str:
    """The class that crosses every link of a chain: ``both`` of two, ``all`` of three."""
    return "all" if "all" in run.json["groups"] else "both"


def long_ratio(run: Run, o: Options) -> float | None:
    """R of Figs. 5 to 7: a connection over all links to one over R1–R2 alone."""
    return over(rate(run, long_class(run), o), rate(run, "one", o))


LONG_R = Metric(long_ratio, "throughput ratio R")
LONG_R2 = Metric(lambda run, o: over(rate(run, "both", o), rate(run, "two", o)), "throughput ratio R")
COLUMNS = {"R": LONG_R, "p12": P12, "p23": P23}
"""Columns of Table 1."""


def priced_ratio(run: Run) -> float | None:
    """The ratio that theory gives for equal weights per second: the prices' inverse one (Eq. 1)."""
    return _over(price(run, "one"), price(run, long_class(run)))


def half_packet_ratio(run: Run) -> float | None:
    """The same for windows of whole packets: (w̄ / p − ½) / T of each class."""
    long = long_class(run)
    p, q = (price(run, group) for group in (long, "one"))
    if not p or not q:
        return None
    longer = net.rtt_of(long) / net.RTT_MS
    return (float(run.labels["r"]) * longer / p - 0.5) / (1 / q - 0.5) / longer


def rate_ratio(weights: tuple[float, float], rtts_ms: tuple[float, float], prices: tuple[float, float]) -> float:
    """Eq. 1 for two connections: (w̄ / T p) of the first over that of the second."""
    (w, v), (t, u), (p, q) = weights, rtts_ms, prices
    return (w / (t * p)) / (v / (u * q))


PURE, CORRECTED = "pure", "corrected"


@dataclass(frozen=True)
class Expected:
    """A prediction of the fluid theory for a scenario, in one of its columns; None: no prediction.

    Attributes:
        bps: throughput of one connection, by group.
        price: marking probability, by link.
    """

    bps: Mapping[str, float | None]
    price: Mapping[str, float | None]

    def ratio(self, above: str = "both", below: str = "one") -> float | None:
        """Throughput of a connection of one group to that of one of another."""
        return _over(self.bps[above], self.bps[below])


@lru_cache(maxsize=1024)
def expected(scenario: Scenario) -> Mapping[str, Expected]:
    """The prediction by column; nothing where a marker's curve is not among those that were measured before."""
    try:
        found = theory(scenario, measure=False)
    except EvenflowError:
        return {}
    return {
        column: Expected(
            {part.name: found.rate_bps(part.name, column) for part in found.fluid.routes},
            {part.name: found.price(part.name, column) for part in found.fluid.links},
        )
        for column in (PURE, CORRECTED)
    }


def predictions(figure: str, labels: Mapping[str, Label], o: Options) -> Mapping[str, Expected]:
    """The prediction for a point of Figs. 3, 5, 6, 7 or Table 1."""
    return expected(with_labels(net.by_figure, {"figure": figure, **labels}, o))


def theories(what: Callable[[Expected], float | None], on: str = "", /, **labels: Wanted) -> Values:
    """Both columns of theory at each point, label `kind`."""

    def found(shown: Shown) -> Iterator[tuple[dict[str, Label], Interval]]:
        for kept, runs in points(shown.table(on), labels):
            for column, it in predictions(on or shown.first, runs[0].labels, shown.options).items():
                value = what(it)
                if value is not None:
                    yield {**kept, "kind": f"theory, {column}"}, Interval.exact(value)

    return Values(found)


def over_fluid(run: Run, o: Options) -> float | None:
    """Rate of the only connection over the equation's, which starts as the connection does.

    Slow start ends with the first mark, at a window of about 1/p.
    """
    from .equations import window_rate

    p, up, down = (float(run.labels[name]) for name in ("p", "increase", "decrease"))
    value = throughput(run, "alone")
    expected = window_rate(p, up, down, 1.0 if o.start == "none" else 1 / p, net.WARMUP_S, net.DURATION_S)
    return None if value is None else value / (8 * o.packet) / expected


OVER_FLUID = Metric(over_fluid)
SETTLING, VARIANCES, RELATIVE = (partial(of_runs, it) for it in (settling_s, variances, relative_variances))
"""By point of figure 1."""
