"""What figures and claims read from a run, one value each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.lab import Floats, Measure, of_arrived
from evenflow.stats import jain

from .network import (
    ATTACK,
    ATTACK_S,
    ATTACKERS,
    BIN_S,
    CAPACITY_MBPS,
    LINK,
    PACKET_BYTES,
    PHONES,
    RTT_S,
    THROUGHPUT,
    USUAL,
    VICTIMS,
    WINDOW_S,
    K,
)

if TYPE_CHECKING:
    from evenflow.study import Run

METERS = ("before", "router", "between", "core", "behind", "station", "phone")
"""Of x-bal: before the first link, and behind each; the second and the fourth link mark."""
FAR, NEAR = "far", "near"
SENT, GOT = "sent", "got"
"""Meters of x-adds, before the first link and behind the last that marks."""
OUTSIDE, QUIET = "internet", "trickle"
"""Of x-or: the link before the tunnel, and a source that keeps reports coming."""
UNDER = "understating"
LEVELS = {"police": "tokens", "drop": "balance"}
"""What x-levels records of every flow."""
ONE, TEN = "one-flow", "ten-flows"
CUST_R, CUST_DEPTH = 50.0, 2e4
"""Policer B of x-cust: bytes of congestion a second, and its depth."""
CHARGE_START = 1e5
"""Tokens that policer A of x-charge begins with, s."""
POSITIVE, NEUTRAL, LEGACY = "positive", "neutral", "legacy"


def _group(run: Run, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.json["groups"][name]
    return found


def window_s(run: Run) -> float:
    """Length of the measurement, s."""
    start, end = run.json["window_s"]
    return float(end - start)


def stage(run: Run, name: str, what: str) -> float:
    """A counter of a stage, over all its copies."""
    found = run.json["stages"][name]
    return float(found[what]) * float(found.get("copies", 1))


def of_group(group: str) -> Measure:
    """Goodput of all users of a group, Mbit/s."""
    return lambda run: _group(run, group)["goodput_bps"] * _group(run, group)["users"] / 1e6


def goodput(run: Run) -> float:
    """Goodput of all flows, Mbit/s."""
    return float(sum(g["goodput_bps"] * g["users"] for g in run.json["groups"].values()) / 1e6)


def throughput(run: Run) -> float:
    """On the wire at the receivers, Mbit/s."""
    return float(sum(g["throughput_bps"] * g["users"] for g in run.json["groups"].values()) / 1e6)


def fairness(run: Run) -> float:
    """Jain's index over all users."""
    return float(jain([rate for g in run.json["groups"].values() for rate in g["users_goodput_bps"]]))


def fairness_of(group: str) -> Measure:
    """Jain's index over the users of a group."""
    return lambda run: float(jain(_group(run, group)["users_goodput_bps"]))


def utilisation(run: Run) -> float:
    """Goodput over capacity times time, %."""
    return 100 * goodput(run) / CAPACITY_MBPS


def marked(run: Run) -> float | None:
    """Share of the packets at R2 to R3 that it marked."""
    return of_arrived(run.json["links"][LINK], "marks")


def queue_drops(run: Run) -> float:
    """Packets dropped at R2 to R3."""
    return float(sum(run.json["links"][LINK]["drops"].values()))


def sanctions(run: Run) -> float:
    """Packets that policer and dropper dropped."""
    found = run.json.get("stages", {})
    return float(sum(sum(found[name]["drops"].values()) for name in ("police", "drop") if name in found))


def at_bottleneck(run: Run) -> float:
    """Marks and drops of R2 to R3 over those of all links, %."""
    links = run.json["links"]
    each = {name: sum(it["marks"].values()) + sum(it["drops"].values()) for name, it in links.items()}
    total = sum(each.values())
    return 100 * each[LINK] / total if total else math.nan


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


def fair_after(run: Run) -> float:
    """When a flow first had its share of the link for 10 s, mean over flows, s; never counts as the run's end."""
    times, values = each(run, VICTIMS)
    there = values * 8 / WINDOW_S / 1e6 >= CAPACITY_MBPS / len(values)
    return float(np.mean([times[np.argmax(it)] if it.any() else times[-1] for it in there]))


def fairness_over(window_s: float) -> Measure:
    """Jain's index over windows of this length, mean over the windows of the run."""

    def measure(run: Run) -> float:
        _, values = each(run, VICTIMS)
        count = round(window_s / WINDOW_S)
        parts = [values[:, i : i + count].sum(axis=1) for i in range(0, values.shape[1] - count + 1, count)]
        found = [jain(part) for part in parts if part.sum() > 0]
        return float(np.mean(found)) if found else math.nan

    return measure


def in_order(names: Sequence[str], start: float = 50.0, length: float = 20.0) -> Measure:
    """Share of the bins of this length from `start` on in which each class has more than the next."""

    def measure(run: Run) -> float:
        found = [bins(run, f"groups.{name}.users[*].flows[0].received_bytes") for name in names]
        times, count = found[0][0], round(length / BIN_S)
        rates = np.array([rate for _, rate in found])[:, times > start]
        means = [rates[:, i : i + count].mean(axis=1) for i in range(0, rates.shape[1] - count + 1, count)]
        return float(np.mean([(np.diff(it) < 0).all() for it in means]))

    return measure


def mean_between(start: float, end: float, of: str = THROUGHPUT) -> Measure:
    """Rate between two instants, Mbit/s."""
    return lambda run: _between(run, start, end, of)


def last(length: float) -> Measure:
    """Rate in so many seconds before a run's end, whatever its length, Mbit/s."""
    return lambda run: _between(run, run.json["window_s"][1] - length, run.json["window_s"][1], THROUGHPUT)


def _between(run: Run, start: float, end: float, of: str) -> float:
    times, rates = bins(run, of)
    return float(np.mean(rates[(times > start) & (times <= end)]))


def fluctuation(run: Run) -> float:
    """Deviation over the bins from 20 s on, Mbit/s."""
    times, rates = bins(run)
    return float(np.std(rates[times > 20.0], ddof=1))


victims_during = mean_between(*ATTACK_S, VICTIMS)
victims_settled = mean_between(ATTACK_S[0] + 10, ATTACK_S[1], VICTIMS)
victims_before = mean_between(50.0, ATTACK_S[0], VICTIMS)
attack_during = mean_between(*ATTACK_S, ATTACKERS)
attack_early = mean_between(ATTACK_S[0] + 10 * RTT_S - 1e-9, ATTACK_S[0] + 10 * RTT_S + BIN_S, ATTACKERS)
"""The first bin that begins ten round trips after the start."""


def attackers_sent(run: Run) -> float:
    """Packets of the attackers that reached R2; a class of which none came is not in a record."""
    found = run.json["links"][LINK]["classes"].get(ATTACK)
    return float(found["arrived_packets"]) if found else 0.0


def page_median(run: Run) -> float | None:
    """Median time of a page, s."""
    value = _group(run, "web")["transfers"]["completion_s_p50"]
    return None if value is None else float(value)


def page_p95(run: Run) -> float | None:
    """95th percentile of a page's time, s."""
    value = _group(run, "web")["transfers"]["completion_s_p95"]
    return None if value is None else float(value)


def wait_ms(run: Run) -> float:
    """Mean wait of the long flows' packets at R2, ms: what a round trip has beyond the path's."""
    classes = run.json["links"][LINK]["classes"]
    return 1e3 * float(classes.get(PHONES, classes.get(USUAL))["queue_delay_s_mean"])


def levels(run: Run, stage: str, what: str, group: str) -> tuple[Floats, Floats]:
    """A series of every flow's copy of a stage: its times, and the mean over the flows of a group.

    Copies are numbered as users are: group by group, in the order of their names.
    """
    groups = run.json["groups"]
    names = sorted(groups)
    first = sum(int(groups[name]["users"]) for name in names[: names.index(group)])
    found = [run.series(f"stages.{stage}[{first + i}].{what}") for i in range(int(groups[group]["users"]))]
    return found[0][0], np.mean([values for _, values in found], axis=0)


def marked_of(name: str) -> Measure:
    """Share of a class's packets that R2 to R3 marked."""
    return lambda run: of_arrived(run.json["links"][LINK]["classes"][name], "marks")


def short_median(run: Run) -> float | None:
    """Median time of a short flow, s."""
    value = _group(run, "short")["transfers"]["completion_s_p50"]
    return None if value is None else float(value)


def declared(run: Run, of: str) -> float:
    """Positive packets for "mark" or for "loss"."""
    return float(run.json["groups"][PHONES]["conex"]["reports"][of]["packets"])


def first_greedy(run: Run) -> float | None:
    """When a greedy flow was first sanctioned, mean over those that were, s."""
    value = run.json["stages"]["police"]["groups"]["greedy"]["first_drop"]
    return None if value is None else float(value)


def formula_mbps(p: float) -> float:
    """k s / (T sqrt(p)), Mbit/s."""
    return K * PACKET_BYTES * 8 / (RTT_S * math.sqrt(p)) / 1e6


def rate_ratio(p: float) -> Measure:
    """Rate on the wire over the formula."""
    return lambda run: throughput(run) / _group(run, PHONES)["users"] / formula_mbps(p)


def spacing_ratio(run: Run) -> float:
    """Mean time between positive packets over sqrt(N) T / k."""
    positives, packets = stage(run, "police", "reports"), stage(run, "police", "arrived")
    users = _group(run, PHONES)["users"]
    return float((window_s(run) * users / positives) / (math.sqrt(packets / positives) * RTT_S / K))


def drift(run: Run) -> float:
    """Tokens gained per second and flow."""
    found = run.json["stages"]["police"]
    return float(found["tokens"] - 1e5) / window_s(run)


def class_rate(name: str, start: float = 100.0, end: float = 1e9) -> Measure:
    """Throughput of a class, Mbit/s."""
    return mean_between(start, end, f"groups.{name}.users[*].flows[0].received_bytes")


def dropped_of(name: str) -> Measure:
    """Share of a class's packets that the queue dropped, %."""

    def measure(run: Run) -> float | None:
        share = of_arrived(run.json["links"][LINK]["classes"][name], "drops")
        return None if share is None else 100 * share

    return measure


GENERAL: Mapping[str, Measure] = {
    "goodput_mbps": goodput,
    "fairness": fairness,
    "utilisation_percent": utilisation,
    "marked": marked,
    "queue_drops": queue_drops,
    "sanctions": sanctions,
}
"""The numbers of every figure."""


def flood_dropped(run: Run) -> float:
    """Share of an unresponsive source's packets that the policer dropped."""
    found = run.json["stages"]["police"]
    dropped = float(sum(found["drops"].values()))
    return dropped / (dropped + float(found["passed_packets"]))


def of_one(group: str) -> Measure:
    """Goodput of one user of a group, Mbit/s."""
    return lambda run: float(run.json["groups"][group]["goodput_bps"]) / 1e6
