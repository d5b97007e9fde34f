"""Metrics, read from finished runs; labels of points in words; titles of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenflow.lab import Floats, Vocabulary, curve_of, of_arrived, optional, plain, scaled
from evenflow.stats import jain
from evenflow.study import Curve, Run
from evenflow.values import Metric, Values, joined, of_runs

from . import network as net
from .network import ATTACK, ATTACK_S, BIN_S, CAPACITY_MBPS, LINK, PHONES, THROUGHPUT, VICTIMS, WINDOW_S


def window_s(run: Run) -> float:
    """Length of the measurement, s."""
    start, end = run.json["window_s"]
    return float(end - start)


def stage(run: Run, name: str, what: str) -> float:
    """A counter of a stage, over all its copies."""
    found = run.json["stages"][name]
    return float(found[what]) * float(found.get("copies", 1))


def total(what: str, run: Run) -> float:
    """Rate of all users of all groups, Mbit/s."""
    return float(sum(g[what] * g["users"] for g in run.json["groups"].values()) / 1e6)


def fairness(run: Run) -> float:
    """Jain's index over all users."""
    return float(jain([rate for g in run.json["groups"].values() for rate in g["users_goodput_bps"]]))


def of_group(group: str) -> Metric:
    """Goodput of all users of a group."""

    def measure(run: Run) -> float:
        found = run.json["groups"][group]
        return float(found["goodput_bps"] * found["users"] / 1e6)

    return Metric(measure, "goodput of a class (Mbit/s)")


def of_one(group: str) -> Metric:
    """Goodput of one user of a group."""
    return Metric(lambda run: float(run.json["groups"][group]["goodput_bps"]) / 1e6)


def signals(run: Run, *links: str, of: str | None = None) -> tuple[float, float]:
    """Marks and drops of links, of all packets or those of one class."""
    found = [run.json["links"][name] for name in links or run.json["links"]]
    if of is not None:
        found = [it["classes"][of] for it in found if of in it["classes"]]
    return float(sum(sum(it["marks"].values()) for it in found)), float(sum(sum(it["drops"].values()) for it in found))


def sanctions(run: Run) -> float:
    """Packets that policer and dropper dropped."""
    found = run.json.get("stages", {})
    return float(sum(sum(found[name]["drops"].values()) for name in ("police", "drop") if name in found))


def at_bottleneck(run: Run) -> float:
    """Marks and drops of R2 to R3 over those of all links, %."""
    every = sum(signals(run))
    return 100 * sum(signals(run, LINK)) / every if every else math.nan


def each(run: Run, of: str) -> tuple[Floats, Floats]:
    """Ends of the bins, s, and the values of all series whose name begins and ends so, shape (series, bins)."""
    head, _, tail = of.partition("[*]")
    names = [n for n in run.record.series_names if (n.startswith(head) and n.endswith(tail))]
    return run.series(names[0])[0], np.array([run.series(name)[1] for name in names])


def bins(run: Run, of: str = THROUGHPUT) -> tuple[Floats, Floats]:
    """Ends of the bins, s, and the rate in each, Mbit/s, summed over all series whose name begins and ends so."""
    times, values = each(run, of)
    rates: Floats = values.sum(axis=0) * 8 / BIN_S / 1e6
    return times, rates


def of_class(name: str) -> str:
    """The series of a class of figure 16."""
    return f"groups.{name}.users[*].flows[0].received_bytes"


def levels(stage: str, group: str, run: Run) -> tuple[Floats, Floats]:
    """A series of every flow's copy of a stage: its times, and the mean over the flows of a group.

    Copies are numbered as users are: group by group, in the order of their names.
    """
    groups = run.json["groups"]
    names = sorted(groups)
    first = sum(int(groups[name]["users"]) for name in names[: names.index(group)])
    copies = range(first, first + int(groups[group]["users"]))
    found = [run.series(f"stages.{stage}[{copy}].{net.LEVELS[stage]}") for copy in copies]
    return found[0][0], np.mean([values for _, values in found], axis=0)


def over_time(series: Callable[[Run], tuple[Floats, Floats]]) -> Callable[[list[Run]], Curve]:
    """A quantity over time, its mean over the runs and its interval."""

    def curve(runs: list[Run]) -> Curve:
        found = [series(run) for run in runs]
        return curve_of(found[0][0], np.array([values for _, values in found]).T, net.LEVEL)

    return curve


def rates(of: str = THROUGHPUT, **labels: Any) -> Values:
    """Rates over time."""
    return of_runs(over_time(partial(bins, of=of)), **labels)


def fair_after(run: Run) -> float:
    """When a flow first had its share of the link for 10 s, mean over flows, s; never counts as the run's end."""
    times, values = each(run, VICTIMS)
    there = values * 8 / WINDOW_S / 1e6 >= CAPACITY_MBPS / len(values)
    return float(np.mean([times[np.argmax(it)] if it.any() else times[-1] for it in there]))


def fairness_over(seconds: float, run: Run) -> float:
    """Jain's index over windows of this length, mean over the windows of the run."""
    _, values = each(run, VICTIMS)
    count = round(seconds / WINDOW_S)
    parts = [values[:, i : i + count].sum(axis=1) for i in range(0, values.shape[1] - count + 1, count)]
    found = [jain(part) for part in parts if part.sum() > 0]
    return float(np.mean(found)) if found else math.nan


def in_order(names: Sequence[str], start: float, length: float, run: Run) -> float:
    """Share of the bins of this length from `start` on in which each class has more than the next, %."""
    found = [bins(run, of_class(name)) for name in names]
    times, count = found[0][0], round(length / BIN_S)
    rates = np.array([rate for _, rate in found])[:, times > start]
    means = [rates[:, i : i + count].mean(axis=1) for i in range(0, rates.shape[1] - count + 1, count)]
    return 100 * float(np.mean([(np.diff(it) < 0).all() for it in means]))


def mean_between(start: float, end: float, of: str, run: Run) -> float:
    """Rate between two instants, Mbit/s."""
    times, rates = bins(run, of)
    return float(np.mean(rates[(times > start) & (times <= end)]))


def between_s(start: float, end: float, of: str = THROUGHPUT) -> Metric:
    """The same as a metric."""
    return Metric(partial(mean_between, start, end, of))


def last(seconds: float, run: Run) -> float:
    """Rate in so many seconds before a run's end, whatever its length, Mbit/s."""
    end = run.json["window_s"][1]
    return mean_between(end - seconds, end, THROUGHPUT, run)


def fluctuation(run: Run) -> float:
    """Deviation over the bins from 20 s on, Mbit/s."""
    times, rates = bins(run)
    return float(np.std(rates[times > 20.0], ddof=1))


def attackers_sent(run: Run) -> float:
    """Packets of the attackers that reached R2; a record has no class of which no packet arrived."""
    found = run.json["links"][LINK]["classes"].get(ATTACK)
    return float(found["arrived_packets"]) if found else 0.0


def completion_s(group: str, quantile: str, run: Run) -> float | None:
    """A quantile of the time of a group's transfers, s."""
    value = run.json["groups"][group]["transfers"][f"completion_s_{quantile}"]
    return None if value is None else float(value)


def wait_ms(run: Run) -> float:
    """Mean wait of the long flows' packets at R2, ms: a round trip less the path's delays."""
    classes = run.json["links"][LINK]["classes"]
    return 1e3 * float(classes.get(PHONES, classes.get(net.USUAL))["queue_delay_s_mean"])


def share_of(what: str, name: str) -> Metric:
    """Share of a class's packets that R2 to R3 marked ("marks") or dropped ("drops"), %."""
    return Metric(lambda run: scaled(of_arrived(run.json["links"][LINK]["classes"][name], what), 100))


marked_of, dropped_of = partial(share_of, "marks"), partial(share_of, "drops")


def declared(of: str) -> Metric:
    """Positive packets for "mark" or for "loss"."""
    return Metric(f"groups.{PHONES}.conex.reports.{of}.packets")


def of_police(group: str, what: str) -> Metric:
    """What the policer counted for a group; undefined where it counted nothing."""

    def measure(run: Run) -> float | None:
        value = run.json["stages"]["police"]["groups"][group][what]
        return None if value is None else float(value)

    return Metric(measure)


def formula_mbps(p: float) -> float:
    """k s / (T sqrt(p)), Mbit/s."""
    return net.K * net.PACKET_BYTES * 8 / (net.RTT_S * math.sqrt(p)) / 1e6


def rate_ratio(run: Run) -> float:
    """Rate on the wire over the formula."""
    users = float(run.json["groups"][PHONES]["users"])
    return total("throughput_bps", run) / users / formula_mbps(float(run.labels["p"]))


def spacing_ratio(run: Run) -> float:
    """Mean time between positive packets over sqrt(N) T / k."""
    positives, packets = stage(run, "police", "reports"), stage(run, "police", "arrived")
    users = run.json["groups"][PHONES]["users"]
    return float((window_s(run) * users / positives) / (math.sqrt(packets / positives) * net.RTT_S / net.K))


def drift(run: Run) -> float:
    """Tokens gained per second and flow."""
    return float(run.json["stages"]["police"]["tokens"] - net.CHARGE_START) / window_s(run)


def flood_dropped(run: Run) -> float:
    """Share of an unresponsive source's packets that the policer dropped."""
    found = run.json["stages"]["police"]
    dropped = float(sum(found["drops"].values()))
    return dropped / (dropped + float(found["passed_packets"]))


GOODPUT = Metric(partial(total, "goodput_bps"), "goodput (Mbit/s)")
PERCENT = Metric(lambda run: 100 * total("goodput_bps", run) / CAPACITY_MBPS, "utilisation (%)")
RATE = Metric(partial(total, "throughput_bps"))
FAIRNESS = Metric(fairness, "Jain's index")
MARKED = Metric(lambda run: of_arrived(run.json["links"][LINK], "marks"), "share marked")
DROPS = Metric(lambda run: signals(run, LINK)[1])
SANCTIONS = Metric(sanctions)
AT_BOTTLENECK = Metric(at_bottleneck)
LONG = Metric(of_group(PHONES).measure, "goodput of the long flows (Mbit/s)")
FAIR_LONG = Metric(
    lambda run: float(jain(run.json["groups"][PHONES]["users_goodput_bps"])), "Jain's index of the long flows"
)
PAGE = Metric(partial(completion_s, net.WEB, "p50"), "median time of a page (s)")
PAGE_P95 = Metric(partial(completion_s, net.WEB, "p95"), "95th percentile of a page's time (s)")
SHORT_FLOW = Metric(optional(partial(completion_s, net.SHORT, "p50")), "median time of a short flow (s)")
WAIT = Metric(wait_ms, "mean wait at R2 (ms); the path has 600 ms")
RATE_RATIO = Metric(rate_ratio, "rate over k s / (T √p)")
DRIFT = Metric(drift, "drift of tokens (tokens/s)")
FLOOD_DROPPED = Metric(flood_dropped, "share dropped")
FIRST_GREEDY = of_police(net.GREEDY, "first_drop")
VICTIMS_BEFORE, VICTIMS_DURING = (between_s(start, end, VICTIMS) for start, end in ((50.0, ATTACK_S[0]), ATTACK_S))
ATTACK_DURING = between_s(*ATTACK_S, net.ATTACKERS)
TEN_TRIPS_S = ATTACK_S[0] + 10 * net.RTT_S
ATTACK_EARLY = between_s(TEN_TRIPS_S - 1e-9, TEN_TRIPS_S + BIN_S, net.ATTACKERS)
"""The first bin that begins ten round trips after the start."""


def of_classes(measure: Callable[[str], Metric], names: Sequence[str], **labels: Any) -> Values:
    """A metric of each class, with the class as a label."""
    return joined(*(measure(name)(**labels).labelled(cls=name) for name in names))


NAMES: Mapping[str, str] = {
    net.DT: "drop-tail",
    net.RED: "RED",
    net.ECN: "ECN",
    net.REECN: "re-ECN",
    net.POLICED: "re-ECN, policed",
    net.INSIDE: "re-ECN inside the network",
    "blind": "blind to losses",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "none": "no policer",
    "drop-one": "policer drops one packet",
    "drop-while-empty": "policer drops while empty",
    "block": "policer blocks",
    "probability": "policer drops a share",
    net.DEMOTE: "policer lets go last",
    net.HONEST: "honest attackers",
    net.CHEAT: "attackers that declare nothing",
    net.LEGACY: "attackers without ECN",
    net.SINGLE: "one attacker of 45 Mbit/s",
    "paper": "the paper's formula",
    "gentle": "rises to 1",
    "hard": "marks all",
    "far": "out of reach",
    net.TIGHT: "A, tight bucket",
    net.ONE: "one flow",
    net.TEN: "ten flows",
    **{name: f"p = {p:g}" for name, p in {**net.CLASSES, net.PREMIUM: 0.0}.items()},
}
"""Values of labels in words."""
CHOSEN: Mapping[str, Mapping[Any, str]] = {
    "marks": {"red": "p as RED's maximum", "fixed": "constant p"},
    "red": {"uniform": "RED spread uniformly", "ns2": "ns-2's RED"},
    "greedy": {0.0: "all honest", 0.2: "a fifth greedy"},
    "attack": {0: "no attack", 1: "attack"},
    "washed": {0: "fields left alone", 1: "fields cleared"},
    "policed": {0: "no policer", 1: "policer B"},
    "premium": {0: "four classes", 1: "with a premium class"},
    "control": {"TCP": "TCP", "constant": "constant window"},
    "radio": {"independent": "independent errors", "bursts": "bursts of five", "RLC": "repaired by RLC"},
    "packets": {net.POSITIVE: "declaring", net.NEUTRAL: "neutral", net.NO_ECN: "not ECN-capable"},
}
WORDS: Vocabulary = {
    "n": lambda v: f"{plain(v)} flows",
    "seconds": lambda v: f"{plain(v)} s",
    "policer": lambda v: f"policer {NAMES.get(str(v), v)}",
    "who": str,
    "at": str,
    "e": lambda v: f"radio errors of {100 * float(v):g} %",
    **{name: words.__getitem__ for name, words in CHOSEN.items()},
    **dict.fromkeys(("scheme", "sanction", "attackers", "sender", "rule", "tcp", "cls", "upper"),
                    lambda v: NAMES.get(str(v), plain(v))),
}  # fmt: skip
AXES = {
    "n": "number of flows",
    "p": "marking probability p",
    "e": "radio error rate",
    "hops": "wired hops",
    "background": "share of the link sent at a constant rate",
    "depth": "depth of the bucket (s)",
    "mbps": "rate offered (Mbit/s)",
    "declared": "share of its congestion that a flow declares",
    "trips": "round trips per report",
    "outer": "outer field",
    "inner": "inner field",
}
