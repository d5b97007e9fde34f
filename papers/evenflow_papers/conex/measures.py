"""Metrics, read from finished runs; labels of points in words; titles of axes.

U: unfairness (Eq. 1). X: throughput of a user, payload in order, Mbit/s. D: mean queueing delay at the bottleneck, ms.
Reports: packets that a user's senders sent with Re-Echo, a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenflow import qoe
from evenflow.lab import Floats, Vocabulary, curve_of, of_arrived, over, plain, scaled
from evenflow.stats import Interval, jain, student_t
from evenflow.study import Curve, Label, Run
from evenflow.values import Metric, Values, joined

from . import network as net
from .network import ALL_BYTES, HEAVY, HEAVY_BYTES, LIGHT, LINK, NONE, ON, POLICERS, Options

USERS = (HEAVY, LIGHT)
"""The two groups of the paper's figures."""


def of_groups(
    function: Callable[..., float | None], title: str = "", names: Sequence[str] = USERS
) -> dict[str, Metric]:
    """A metric of each group; the title may have `{group}` in it."""
    return {name: Metric(partial(function, name), title.format(group=name)) for name in names}


# --- Users ----------------------------------------------------------------------------------------------------------


def throughput(group: str, run: Run) -> float:
    """X of a user of the group, Mbit/s."""
    return float(run.json["groups"][group]["goodput_bps"]) / 1e6


def share_of_packets(run: Run) -> float:
    """Packets of the heavy users over all that arrived, %."""
    packets = [float(run.json["groups"][name]["delivered_packets"]) for name in USERS]
    return 100 * packets[0] / sum(packets)


def window_s(run: Run) -> float:
    """Length of the measurement, s."""
    start, end = run.json["window_s"]
    return float(end - start)


def sent(of: str, group: str, run: Run) -> float:
    """Packets that reported losses ("loss"), or marks ("mark"), a user of the group and second."""
    found = run.json["groups"][group]
    return float(found["conex"]["reports"][of]["packets"]) / float(found["users"]) / window_s(run)


def reports(group: str, run: Run) -> float:
    """Reports that a user of the group sent, a second: the congestion rate ρ."""
    return sent("loss", group, run) + sent("mark", group, run)


# --- Policers and auditors ------------------------------------------------------------------------------------------


def policed(group: str, run: Run) -> float | None:
    """Share of the packets reaching the group's policers that they dropped, %; undefined without policers."""
    stage = run.json.get("stages", {}).get(POLICERS[group])
    if stage is None:
        return None
    dropped = float(sum(stage["drops"].values()))
    arrived = dropped + float(stage["passed_packets"])
    return 100 * dropped / arrived if arrived else None


def policers_share(run: Run) -> float | None:
    """Share of the heavy users' lost packets that their policers dropped, %."""
    stage = run.json.get("stages", {}).get(POLICERS[HEAVY])
    mine = float(sum(stage["drops"].values())) if stage else 0.0
    lost = mine + float(sum(at_link(run, HEAVY)["drops"].values()))
    return 100 * mine / lost if lost else None


def gain(run: Run) -> float | None:
    """Throughput of the user who cheats over that of an honest heavy user."""
    honest = throughput(HEAVY, run)
    return throughput(net.CHEAT, run) / honest if honest else None


def sanctioned(group: str, run: Run) -> float | None:
    """Share of the group's packets reaching the auditor that it sanctioned, %; undefined without an auditor."""
    stage = run.json.get("stages", {}).get(net.AUDITOR)
    if stage is None:
        return None
    mine = stage["groups"][group]
    return 100 * float(mine["sanctioned"]) / float(mine["arrived"]) if mine["arrived"] else None


# --- The bottleneck -------------------------------------------------------------------------------------------------


def at_link(run: Run, group: str) -> Mapping[str, Any]:
    """What the bottleneck counted for a group."""
    found: Mapping[str, Any] = run.json["links"][LINK]["classes"][group]
    return found


def delay_of(group: str, run: Run) -> float | None:
    """D over the group's packets, ms."""
    return scaled(at_link(run, group)["queue_delay_s_mean"], 1e3)


def arrived(group: str, run: Run) -> float:
    """Packets of a user of the group that reached the bottleneck, a second."""
    users = float(run.json["groups"][group]["users"])
    return float(at_link(run, group)["arrived_packets"]) / users / window_s(run)


def share_at_link(what: str, group: str, run: Run) -> float | None:
    """Share of the group's packets reaching the bottleneck that it dropped ("drops") or marked ("marks"), %."""
    return scaled(of_arrived(at_link(run, group), what), 100)


def met(run: Run) -> float:
    """Marks and losses of a light user at the bottleneck, a second."""
    found = at_link(run, LIGHT)
    count = sum(found["marks"].values()) + sum(found["drops"].values())
    return float(count) / float(run.json["groups"][LIGHT]["users"]) / window_s(run)


def early_drops(run: Run) -> float:
    """Packets dropped at the bottleneck otherwise than by the full buffer."""
    drops = run.json["links"][LINK]["drops"]
    return float(sum(count for reason, count in drops.items() if reason != "limit"))


# --- Short flows ----------------------------------------------------------------------------------------------------


def completion(group: str, run: Run, o: Options) -> float | None:
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
    started = [float(run.json["groups"][name]["transfers"]["started"]) for name in USERS]
    return 100 * started[0] / sum(started) if sum(started) else None


def reports_a_flow(group: str, run: Run) -> float | None:
    """Reports that the group's senders sent over its flows completed."""
    found = run.json["groups"][group]
    done = float(found["transfers"]["completed"])
    return reports(group, run) * float(found["users"]) * window_s(run) / done if done else None


# --- Videos ---------------------------------------------------------------------------------------------------------

Part = tuple[float, float]
BEFORE, FIRST, SETTLED = (50.0, 100.0), (0.0, net.PERIODS_S[0]), (20.0, net.PERIODS_S[0])
ASKING, WATCHING = (200.0, 300.0), (200.0, 400.0)
SECOND, SECOND_SETTLED, THIRD = net.PERIODS_S, (220.0, net.PERIODS_S[1]), (net.PERIODS_S[1], 600.0)
"""Parts of the run, s."""
BIN_S = 5.0
"""Of throughputs over time."""


def mbps(run: Run, names: Sequence[str], part: Part) -> float:
    """Bytes of these series in a part of the run, Mbit/s."""
    times = run.series(names[0])[0]
    inside = (times > part[0] + 1e-9) & (times <= part[1] + 1e-9)
    total = sum(float(run.series(name)[1][inside].sum()) for name in names)
    return total * 8 / 1e6 / (part[1] - part[0])


def in_part(group: str, part: Part, run: Run) -> float:
    """Throughput of a user of the group in a part of the run, all bytes of packets, Mbit/s."""
    heavy = mbps(run, HEAVY_BYTES, part)
    if group == HEAVY:
        return heavy / net.HEAVY_USERS
    return (mbps(run, [ALL_BYTES], part) - heavy) / net.VIDEO_LIGHT_USERS


def heavy_share(run: Run) -> float:
    """The heavy users' share of the throughput in the second period, %."""
    return 100 * mbps(run, HEAVY_BYTES, SECOND_SETTLED) / mbps(run, [ALL_BYTES], SECOND_SETTLED)


def by_time(group: str, run: Run) -> tuple[Floats, Floats]:
    """Middles of the bins, and the throughput of a user of the group in each, Mbit/s."""
    times = run.series(ALL_BYTES)[0]
    bins = np.ceil(times / BIN_S - 1e-9).astype(int) - 1
    size = int(bins.max()) + 1

    def summed(name: str) -> Floats:
        return np.asarray(np.bincount(bins, weights=run.series(name)[1], minlength=size), dtype=np.float64)

    mine: Floats = np.sum([summed(name) for name in HEAVY_BYTES], axis=0)
    users = net.HEAVY_USERS if group == HEAVY else net.VIDEO_LIGHT_USERS
    found: Floats = (mine if group == HEAVY else summed(ALL_BYTES) - mine) * 8 / 1e6 / BIN_S / users
    middles: Floats = BIN_S * (np.arange(size, dtype=np.float64) + 0.5)
    return middles, found


def quality(run: Run) -> float:
    """Mean QoE of the light users by equation 2."""
    return float(np.nanmean(qoe.of(run.record, LIGHT, model="hossfeld-2013")))


def stalls(run: Run) -> float:
    """Stalls a light user."""
    found = run.json["groups"][LIGHT]["video"]["users_stalls"]
    return float(sum(found)) / len(found)


def finished(by_s: float, run: Run) -> float:
    """Videos played to the end by then, % of the users."""
    ends = run.json["groups"][LIGHT]["video"]["users_finished_s"]
    return 100.0 * sum(1 for end in ends if end is not None and end <= by_s) / len(ends)


# --- Series ---------------------------------------------------------------------------------------------------------


def received(run: Run) -> tuple[Floats, Floats]:
    """Ends of the seconds, and what the user who stays received in each, Mbit/s."""
    names = [name for name in run.record.series_names if name.startswith(f"groups.{net.LAST}.")]
    total: Floats = np.sum([run.series(name)[1] for name in names], axis=0)
    return run.series(names[0])[0], total * 8 / 1e6


def volume(group: str, run: Run) -> tuple[Floats, Floats]:
    """Times, and the mean congestion-volume of a user of the group so far, kB."""
    found = [run.series(name) for name in net.VOLUMES[group]]
    total: Floats = np.mean([values for _, values in found], axis=0) / 1e3
    return found[0][0], total


def over_time(series: Callable[[Run], tuple[Floats, Floats]]) -> Callable[[list[Run]], Curve]:
    """A quantity over time, its mean over the runs and its interval."""

    def curve(runs: list[Run]) -> Curve:
        found = [series(run) for run in runs]
        return curve_of(found[0][0], np.array([values for _, values in found]).T, net.LEVEL)

    return curve


def single_runs(series: Callable[[Run], tuple[Floats, Floats]]) -> Callable[[list[Run]], list[Curve]]:
    """A quantity over time, run by run."""
    return lambda runs: [over_time(series)([run]) for run in runs]


def mean_and_runs(series: Callable[[Run], tuple[Floats, Floats]]) -> Callable[[list[Run]], list[Curve]]:
    """Its mean, and each run."""
    return lambda runs: [over_time(series)(runs), *single_runs(series)(runs)]


# --- Statistics -----------------------------------------------------------------------------------------------------


def spread(values: Floats) -> Floats:
    """Largest less smallest along the first axis, run by run: shape (seeds,)."""
    found: Floats = np.max(values, axis=0) - np.min(values, axis=0)
    return found


def relative_spread(values: Floats) -> Floats:
    """The same over the mean along the first axis, run by run."""
    found: Floats = spread(values) / np.mean(values, axis=0)
    return found


def relative_half_width(values: Floats, runs: int = net.RUNS) -> Interval:
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
    width = 100 * student_t(net.LEVEL, runs - 1) / math.sqrt(runs) * sd / abs(mean)

    def at(wanted: float) -> Interval:
        low, high = (math.sqrt((n - 1) / chdtri(n - 1, tail)) for tail in ((1 - wanted) / 2, (1 + wanted) / 2))
        return Interval(width, width * low, width * high, n, width / math.sqrt(2 * (n - 1)), again=at)

    return at(net.LEVEL)


def ranks_agree(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation; equal values share their mean rank. Undefined where all are equal.

    Videos without a stall all have the same quality, so that ties are the rule at low filling rates.
    """
    from scipy.stats import rankdata

    if np.isnan(a).any() or np.isnan(b).any():
        return math.nan
    x, y = rankdata(a), rankdata(b)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def ranks_over(grid: Sequence[float], curve: Floats) -> Floats:
    """Rank correlation of each run's curve with its x: shape (seeds,)."""
    return np.array([ranks_agree(np.asarray(grid, dtype=np.float64), run) for run in np.asarray(curve).T])


# --- Metrics --------------------------------------------------------------------------------------------------------

X = of_groups(throughput, "throughput of a {group} user (Mbit/s)")
U = Metric(lambda run: over(throughput(HEAVY, run), throughput(LIGHT, run)), "unfairness U")
PACKETS = Metric(share_of_packets)
REPORTS = of_groups(reports)
LOSS_REPORTS = Metric(partial(sent, "loss", HEAVY))
DROPPED = of_groups(policed, "{group} users' packets policed (%)", tuple(POLICERS))
POLICERS_SHARE = Metric(policers_share)
FIRST_DROP = Metric(f"stages.{POLICERS[HEAVY]}.first_drop")
D = Metric(lambda run: scaled(run.metric(f"links.{LINK}.queue_delay_s_mean"), 1e3), "mean queueing delay (ms)")
MARKED = Metric(lambda run: of_arrived(run.json["links"][LINK], "marks"))
UTILISATION = Metric(lambda run: scaled(run.metric(f"links.{LINK}.utilisation"), 100))
MET = Metric(met)
LIGHT_DELAY = Metric(partial(delay_of, LIGHT), "mean queueing delay (ms)")
LIGHT_MARKED = Metric(partial(share_at_link, "marks", LIGHT))
LOST = of_groups(partial(share_at_link, "drops"), "{group} user's packets lost in the queue (%)")
ARRIVED = Metric(partial(arrived, HEAVY))
COMPLETION = of_groups(completion, "completion time of a flow (s)")
COMPLETED = of_groups(completed, "flows completed (%)")
A_FLOW = of_groups(reports_a_flow, "reports sent per flow")
QUALITY = Metric(quality, "mean QoE")
STALLS = Metric(stalls, "stalls per user")
STALL_S = Metric(f"groups.{LIGHT}.video.stall_s_mean", "stall (s)")
GAIN = Metric(gain, "throughput over an honest user's")
SANCTIONED = of_groups(sanctioned, "{group} users' packets sanctioned (%)", (net.CHEAT, HEAVY, LIGHT))
SIZES = of_groups(throughput, names=(net.LARGE, net.SMALL))


def jain_of_heavy(run: Run) -> float:
    """Jain's index of the heavy users' throughputs, once they have settled."""
    return jain([mbps(run, [name], SETTLED) for name in HEAVY_BYTES])


def over_r(metric: Callable[..., Values], r: Any = None, **labels: Any) -> Values:
    """A metric without policing, with a label r that says so, and at filling rates."""
    rates = {} if r is None else {"r": r}
    free = metric(policing=NONE, **labels).labelled(r=NONE)
    return joined(free, metric(policing=ON, **rates, **labels))


# --- Words ----------------------------------------------------------------------------------------------------------


def or_free(value: Label, words: str) -> str:
    """A label in words; `NONE` is no policing."""
    return "no policing" if value == NONE else words.format(plain(value))


AUDITS: Mapping[str, str] = {
    NONE: "no audit",
    "loss": "audit of losses",
    "ecn": "audit of marks",
    net.BOTH: "audit of both",
    net.ADVISED: "as advised",
}
WORDS: Vocabulary = {
    **dict.fromkeys(("rule", "red", "variant", "control", "group", "who", "case"), str),
    "harshness": lambda v: or_free(v, "{}"),
    "r": lambda v: or_free(v, "r = {}"),
    "depth": lambda v: or_free(v, "d = {}"),
    "charge": lambda v: {"arrival": "charged on arrival", "pass": "what passes is charged"}[str(v)],
    "rtt_ms": lambda v: f"RTT {plain(v)} ms",
    "queue_ms": lambda v: f"q = {plain(v)} ms",
    "min_threshold": lambda v: f"mTh = {plain(v)} %",
    "max_threshold": lambda v: f"MTh = {plain(v)} %",
    "max_probability": lambda v: f"p_max = {plain(v)}",
    "flows": lambda v: f"{plain(v)} flows",
    "unit": lambda v: f"policer counts {v}",
    "level": lambda v: f"{v} bucket",
    "duration_s": lambda v: f"{plain(v)} s",
    "target_ms": lambda v: f"target {plain(v)} ms",
    "initial_window": lambda v: f"{plain(v)} packets",
    "audit": lambda v: AUDITS[str(v)],
    "credit": lambda v: ", credit renewed" if v == net.RENEWED else "",
}
"""Labels as a reader says them."""
AXES = {
    "r": "filling rate r (tokens/s)",
    "declared": "share that the cheat declares",
    "share": "average queue (share of the buffer)",
    "level": f"level of the bucket (tokens; depth {net.WINDOW_PACKETS})",
}
