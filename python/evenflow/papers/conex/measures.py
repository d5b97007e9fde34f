"""What figures and claims read from a run, one value each; and a figure's curves over the filling rate.

U: unfairness (Eq. 1). X: throughput of a user, payload in order, Mbit/s. D: mean queueing delay at the bottleneck, ms.
Reports: packets that a user's senders sent with Re-Echo, a second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.lab import Floats, Lab, Measure, Spot, Vocabulary, in_words, of_arrived, over, plain, scaled, select
from evenflow.stats import Interval, student_t

from .network import AUDITOR, CHEAT, HEAVY, LIGHT, LINK, NONE, POLICERS

if TYPE_CHECKING:
    from evenflow.study import Label, Run

    from .choices import Options

RUNS = 30
"""Of a point in the paper."""


# --- Users ----------------------------------------------------------------------------------------------------------


def throughput(group: str, run: Run) -> float:
    """X of a user of the group, Mbit/s."""
    return float(run.json["groups"][group]["goodput_bps"]) / 1e6


def unfairness(run: Run) -> float | None:
    """U: infinite where light users got nothing, undefined where nobody did."""
    return over(throughput(HEAVY, run), throughput(LIGHT, run))


def share_of_packets(run: Run) -> float:
    """Packets of the heavy users over all that arrived, %."""
    packets = {name: float(run.json["groups"][name]["delivered_packets"]) for name in (HEAVY, LIGHT)}
    return 100 * packets[HEAVY] / sum(packets.values())


def window_s(run: Run) -> float:
    """Length of the measurement, s."""
    start, end = run.json["window_s"]
    return float(end - start)


def _sent(group: str, run: Run, of: str) -> float:
    """Packets that reported losses, or marks, a user of the group and second."""
    found = run.json["groups"][group]
    return float(found["conex"]["reports"][of]["packets"]) / float(found["users"]) / window_s(run)


def loss_reports(group: str, run: Run) -> float:
    """Reports of a loss that a user of the group sent, a second."""
    return _sent(group, run, "loss")


def reports(group: str, run: Run) -> float:
    """Reports that a user of the group sent, a second: the congestion rate ρ."""
    return _sent(group, run, "loss") + _sent(group, run, "mark")


# --- Policers -------------------------------------------------------------------------------------------------------


def policer_drops(group: str, run: Run) -> float:
    """Packets that the group's policers dropped; none without policers."""
    stage = run.json.get("stages", {}).get(POLICERS[group])
    return float(sum(stage["drops"].values())) if stage else 0.0


def policed(group: str, run: Run) -> float | None:
    """Share of the packets reaching the group's policers that they dropped, %; undefined without policers."""
    stage = run.json.get("stages", {}).get(POLICERS[group])
    if stage is None:
        return None
    dropped = float(sum(stage["drops"].values()))
    arrived = dropped + float(stage["passed_packets"])
    return 100 * dropped / arrived if arrived else None


def policers_share(group: str, run: Run) -> float | None:
    """Share of the group's lost packets that its policers dropped, %."""
    mine = policer_drops(group, run)
    lost = mine + float(sum(_class(run, group)["drops"].values()))
    return 100 * mine / lost if lost else None


def first_drop(group: str, run: Run) -> float | None:
    """When the group's policers first dropped, mean over the users whose packets they did, s."""
    return run.metric(f"stages.{POLICERS[group]}.first_drop")


def gain(run: Run) -> float | None:
    """Throughput of the user who cheats over that of an honest heavy user."""
    honest = throughput(HEAVY, run)
    return throughput(CHEAT, run) / honest if honest else None


def sanctioned(group: str, run: Run) -> float | None:
    """Share of the group's packets reaching the auditor that it sanctioned, %; undefined without an auditor."""
    stage = run.json.get("stages", {}).get(AUDITOR)
    if stage is None:
        return None
    mine = stage["groups"][group]
    return 100 * float(mine["sanctioned"]) / float(mine["arrived"]) if mine["arrived"] else None


# --- The bottleneck -------------------------------------------------------------------------------------------------


def _class(run: Run, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.json["links"][LINK]["classes"][name]
    return found


def delay(run: Run) -> float | None:
    """D over all packets, ms."""
    return scaled(run.metric(f"links.{LINK}.queue_delay_s_mean"), 1e3)


def delay_of(group: str, run: Run) -> float | None:
    """D over the group's packets, ms."""
    return scaled(_class(run, group)["queue_delay_s_mean"], 1e3)


def arrived(group: str, run: Run) -> float:
    """Packets of a user of the group that reached the bottleneck, a second."""
    users = float(run.json["groups"][group]["users"])
    return float(_class(run, group)["arrived_packets"]) / users / window_s(run)


def lost(group: str, run: Run) -> float | None:
    """Share of the group's packets reaching the bottleneck that it dropped, %."""
    return scaled(of_arrived(_class(run, group), "drops"), 100)


def marked_of(group: str, run: Run) -> float | None:
    """Share of the group's packets reaching the bottleneck that it marked, %."""
    return scaled(of_arrived(_class(run, group), "marks"), 100)


def marked(run: Run) -> float | None:
    """Share of the packets reaching the bottleneck that it marked, 0 to 1."""
    return of_arrived(run.json["links"][LINK], "marks")


def met(group: str, run: Run) -> float:
    """Marks and losses of a user of the group at the bottleneck, a second."""
    found = _class(run, group)
    count = sum(found["marks"].values()) + sum(found["drops"].values())
    return float(count) / float(run.json["groups"][group]["users"]) / window_s(run)


def early_drops(run: Run) -> float:
    """Packets dropped at the bottleneck otherwise than by the full buffer."""
    drops = run.json["links"][LINK]["drops"]
    return float(sum(count for reason, count in drops.items() if reason != "limit"))


def utilisation(run: Run) -> float | None:
    """Busy share of the bottleneck, %."""
    return scaled(run.metric(f"links.{LINK}.utilisation"), 100)


# --- Short flows ----------------------------------------------------------------------------------------------------


def completion(o: Options, group: str, run: Run) -> float | None:
    """Mean completion time of a flow, s; with the option `flows` = all, those in progress count what they waited."""
    found = run.json["groups"][group]["transfers"]
    if o.flows == "completed":
        value = found["completion_s_mean"]
        return None if value is None else float(value)
    started = float(found["started"])
    # the number in progress, added up over time, is the time that all flows have spent
    return float(found["in_progress_mean"]) * window_s(run) / started if started else None


def completed(group: str, run: Run) -> float | None:
    """Flows completed over flows started, %."""
    found = run.json["groups"][group]["transfers"]
    return 100 * float(found["completed"]) / float(found["started"]) if found["started"] else None


def share_of_flows(run: Run) -> float | None:
    """Flows that heavy users started over all, %."""
    started = {name: float(run.json["groups"][name]["transfers"]["started"]) for name in (HEAVY, LIGHT)}
    total = sum(started.values())
    return 100 * started[HEAVY] / total if total else None


def reports_a_flow(group: str, run: Run) -> float | None:
    """Reports that the group's senders sent over its flows completed."""
    found = run.json["groups"][group]
    done = float(found["transfers"]["completed"])
    return reports(group, run) * float(found["users"]) * window_s(run) / done if done else None


# --- A figure's curves ----------------------------------------------------------------------------------------------


class Series:
    """The runs of a figure: curves over the filling rate r that differ by one label, and what is without policing."""

    def __init__(self, table: Any, label: str, *, shared: bool = False, **where: Label) -> None:
        """Curves by `label` among the points with the labels `where`.

        Args:
            shared: all curves have one and the same point without policing.
        """
        self.lab = Lab(table)
        self.label = label
        self.shared = shared
        self.where: dict[str, Label] = dict(where)

    def values(self) -> list[Label]:
        """The label's values, in the order of the points."""
        found: dict[Label, None] = {}
        for labels, _ in self.lab.points():
            if self.label in labels and all(labels.get(name) == value for name, value in self.where.items()):
                found.setdefault(labels[self.label])
        return [value for value in found if value != NONE]

    def free(self, value: Label) -> Spot:
        """Runs without policing."""
        if self.shared:
            return self.lab.at(policing=NONE, **{k: v for k, v in self.where.items() if k not in POLICER_LABELS})
        return self.lab.at(policing=NONE, **self.where, **{self.label: value})

    def at(self, value: Label, r: float) -> Spot:
        """Runs at a filling rate."""
        return self.lab.at(policing=ON, r=r, **self.where, **{self.label: value})

    def rates(self, lo: float = -math.inf, hi: float = math.inf, value: Label | None = None) -> list[float]:
        """The filling rates that all curves have, or one of them."""
        grids = [
            set(self.lab.grid("r", policing=ON, **self.where, **{self.label: it}))
            for it in (self.values() if value is None else [value])
        ]
        return select(sorted(set.intersection(*grids)), lo, hi) if grids else []

    def over_r(
        self, value: Label, measure: Measure, lo: float = -math.inf, hi: float = math.inf
    ) -> tuple[list[float], Floats]:
        """A curve: its filling rates, and values of shape (rates, seeds)."""
        grid = self.rates(lo, hi, value)
        return grid, np.array([self.at(value, r).of(measure) for r in grid])

    def across(self, r: float, measure: Measure) -> Floats:
        """All curves at one filling rate: shape (values, seeds)."""
        return np.array([self.at(value, r).of(measure) for value in self.values()])

    def words(self, value: Label) -> str:
        """A curve in words."""
        return words(**{**self.where, self.label: value})


ON = "on"
"""Value of the label ``policing`` with policers; `NONE` without."""
POLICER_LABELS = ("harshness", "depth", "rule")
"""Labels that say nothing about runs without policing."""


@dataclass(frozen=True)
class Figure:
    """What of a figure are curves over r."""

    label: str
    shared: bool = False
    where: Mapping[str, Label] = field(default_factory=dict)

    def series(self, table: Any) -> Series:
        """The curves of its finished runs."""
        return Series(table, self.label, shared=self.shared, **self.where)


def spread(values: Floats) -> Floats:
    """Largest less smallest along the first axis, run by run: shape (seeds,)."""
    found: Floats = np.max(values, axis=0) - np.min(values, axis=0)
    return found


def relative_spread(values: Floats) -> Floats:
    """The same over the mean along the first axis, run by run."""
    found: Floats = spread(values) / np.mean(values, axis=0)
    return found


def relative_half_width(values: Floats, level: float, runs: int = RUNS) -> Interval:
    """Half-width of the interval that `runs` runs have, by the spread of these, over the mean, %.

    Its own interval is that of the standard deviation of a normal sample (chi square); the mean is taken as known.
    """
    from scipy.special import chdtri

    used = np.asarray(values, dtype=np.float64)
    n, undefined = int(used.size), int(np.isnan(used).sum())
    mean = float(np.mean(used)) if n else math.nan
    if n < 2 or not math.isfinite(mean) or mean == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, math.nan, max(undefined, 1))
    sd = float(used.std(ddof=1))
    width = 100 * student_t(level, runs - 1) / math.sqrt(runs) * sd / abs(mean)

    def at(wanted: float) -> Interval:
        low, high = (math.sqrt((n - 1) / chdtri(n - 1, tail)) for tail in ((1 - wanted) / 2, (1 + wanted) / 2))
        return Interval(width, width * low, width * high, n, width / math.sqrt(2 * (n - 1)), again=at)

    return at(level)


# --- Words ----------------------------------------------------------------------------------------------------------

_WORDS: Vocabulary = {
    "harshness": str,
    "rule": str,
    "red": str,
    "variant": str,
    "control": str,
    "r": lambda v: f"r = {plain(v)}",
    "depth": lambda v: f"d = {plain(v)}",
    "rtt_ms": lambda v: f"RTT {plain(v)} ms",
    "queue_ms": lambda v: f"q = {plain(v)} ms",
    "min_threshold": lambda v: f"mTh = {plain(v)} %",
    "max_threshold": lambda v: f"MTh = {plain(v)} %",
    "max_probability": lambda v: f"p_max = {plain(v)}",
    "flows": lambda v: f"{plain(v)} flows",
}


def words(**labels: Label) -> str:
    """Labels as a reader says them: "soft, r = 15"."""
    return in_words(_WORDS, labels)


def mean_of(*arrays: Floats) -> Floats:
    """The mean of arrays, element by element."""
    found: Floats = np.mean(np.array(arrays), axis=0)
    return found


def in_percent(share: Measure) -> Measure:
    """A share as percent."""

    return lambda run: scaled(share(run), 100)


heavy_throughput: Measure = partial(throughput, HEAVY)
light_throughput: Measure = partial(throughput, LIGHT)
heavy_reports: Measure = partial(reports, HEAVY)
light_reports: Measure = partial(reports, LIGHT)
heavy_policed: Measure = partial(policed, HEAVY)
light_policed: Measure = partial(policed, LIGHT)
light_delay: Measure = partial(delay_of, LIGHT)
light_lost: Measure = partial(lost, LIGHT)
light_marked: Measure = partial(marked_of, LIGHT)
