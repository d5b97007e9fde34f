"""Made-up runs of the paper on re-ECN: a world where its statements are true, and one where they are not.

Both are functions from an experiment and its labels to a few numbers, of which records are made. Nothing is run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from evenflow.record import Record
from evenflow.study import Labels, Run, Table
from evenflow_papers.reecn_lte import PAPER, measures
from evenflow_papers.reecn_lte import network as net
from evenflow_papers.reecn_lte.experiments import ERRORS

RUNS = 4
"""Seeds of a made-up point, and what the claims are told that the paper had."""
SERIES = "groups.{}.users[0].flows[0].received_bytes"
Facts = dict[str, Any]


def table(experiment: str, true: bool) -> Table:
    """The runs of an experiment in one of the worlds."""
    found = []
    for number, point in enumerate(PAPER.experiment(experiment).points("paper")):
        for seed in range(1, RUNS + 1):
            noise = 1 + 1e-4 * (seed - 2.5)
            facts = world(experiment.removeprefix("reecn_lte-"), point.labels, true)
            found.append(Run(number, point.labels, seed, record(facts, noise)))
    return Table(found)


def record(f: Facts, noise: float) -> Record:
    """A record with these facts."""
    users = 100
    spread = math.sqrt(1 / f.get("fairness", 0.99) - 1)
    rate = 1e6 * f.get("goodput", 40.0) * noise / users
    phones = {
        "users": users,
        "goodput_bps": rate,
        "throughput_bps": rate / 0.96,
        "users_goodput_bps": [rate * (1 + spread * (1 if i % 2 else -1)) for i in range(users)],
        "marks": f.get("heard", 0),
        "senders": {"reductions": f.get("reductions", {"loss": 100, "mark": 0, "timeout": 0})},
        "conex": {"reports": {"mark": {"packets": f.get("positive", 0)}, "loss": {"packets": 0}}},
    }
    mark = 1000 * f.get("marked", 10.0) * noise
    drops = {"limit": f.get("queue_drops", 100.0) * noise}
    link = {
        "arrived_packets": 1e6,
        "marks": {"early": mark},
        "drops": drops,
        "classes": {
            name: {"arrived_packets": 1000, "drops": {"limit": 10 * v}} for name, v in f.get("dropped", {}).items()
        },
    }
    link["classes"] |= f.get("classes", {})
    links = {net.LINK: link, "radio": {"arrived_packets": 1e6, "marks": {}, "drops": {"loss": f.get("radio", 0)}}}
    links |= f.get("links", {})
    document = {
        "window_s": [0.0, 300.0],
        "groups": {net.PHONES: phones, **f.get("groups", {})},
        "stages": {
            "police": {"drops": {"x": f.get("sanctions", 0) * noise}, "first_drop": 10.0},
            **f.get("stages", {}),
        },
        "links": links,
    }
    if "first_greedy" in f:
        document["stages"]["police"]["groups"] = {"greedy": {"first_drop": f["first_greedy"] * noise}}
    series = {}
    for name, (every, mbps) in f.get("series", {}).items():
        times = np.arange(1, round(300 / every) + 1) * every
        series[name] = (times.astype("<f8").tobytes(), (mbps(times) * noise * every * 1e6 / 8).astype("<f8").tobytes())
    return Record(json.dumps(document), "", series)


def level(value: float) -> Any:
    """The same rate all the time."""
    return lambda times: np.full(len(times), value)


def world(name: str, labels: Labels, true: bool) -> Facts:
    """What a run says."""
    known = FIGURES.get(name)
    return {} if known is None else known(labels, true)


def fig05(labels: Labels, true: bool) -> Facts:
    rise = math.log(float(labels["r"]) + 1)
    return {"goodput": 20 + 2 * rise if true else 40 - 2 * rise}


def fig06(labels: Labels, true: bool) -> Facts:
    p = float(labels["p"])
    return (
        {"goodput": 40 * (1 - p**0.25) + 1, "fairness": 0.9 + 0.05 * p}
        if true
        else {"goodput": 40 + p, "fairness": 0.95 - 0.05 * p}
    )


def fig07(labels: Labels, true: bool) -> Facts:
    up = math.log(float(labels["start"]) + 1)
    if true:
        return {"goodput": 30 + up, "fairness": 0.98 - 0.02 * up, "first_greedy": 10 + up}
    return {"goodput": 40 - up, "fairness": 0.8 + 0.01 * up, "first_greedy": 30 - up}


def fig08(labels: Labels, true: bool) -> Facts:
    n = math.log(float(labels["n"]))
    return {"fairness": 0.99, "marked": 5 * n} if true else {"fairness": 0.8, "marked": 50 - 5 * n}


def fig09(labels: Labels, true: bool) -> Facts:
    d = math.log(float(labels["delay"]))
    return {"goodput": 40 - d, "fairness": 0.99 - 0.01 * d} if true else {"goodput": 30 + d, "fairness": 0.9 + 0.01 * d}


def fig10(labels: Labels, true: bool) -> Facts:
    h = float(labels["hops"])
    return {"fairness": 0.99 - 0.001 * h} if true else {"goodput": 10 + 3 * h, "fairness": 0.9 + 0.001 * h}


ORDER = {net.DT: 0, net.RED: 1, net.ECN: 2, net.REECN: 2, net.POLICED: 2}


def fig11(labels: Labels, true: bool) -> Facts:
    s = str(labels["scheme"])
    step = ORDER[s]
    policed = s == net.POLICED
    if true:
        goodput, fairness, swing, fair_s = (
            (30, 37, 40)[step],
            (0.70, 0.80, 0.99)[step],
            (8, 4, 3)[step],
            30 if policed else 20,
        )
        early, late = (24.9 if policed else 25), (40.1 if policed else 40)
        sanctions, drops = 50 if policed else 0, {net.RED: 1000, net.ECN: 100}.get(s, 100)
        elsewhere = 0
    else:
        goodput, fairness, swing, fair_s = (
            (40, 30, 25)[step],
            (0.99, 0.97, 0.9)[step],
            (2, 4, 5)[step],
            10 if policed else 30,
        )
        goodput -= 8 * (s == net.REECN) + 5 * policed
        early, late = (30 if policed else 25), (30 if policed else 40)
        sanctions, drops, elsewhere = 0, {net.RED: 100, net.ECN: 1000}.get(s, 100), 1e6
    fairness -= 0.1 * (s == net.REECN and not true)

    def rate(times: Any) -> Any:
        base = np.where(times <= 30, early, np.where(times > 200, late, 35.0))
        return base + swing * np.where((times / 5).astype(int) % 2, 1, -1) * (times > 30) * (times <= 200)

    share = 50 / 100
    return {
        "goodput": goodput,
        "fairness": fairness,
        "sanctions": sanctions,
        "queue_drops": drops,
        "links": {"pgw-r1": {"arrived_packets": 1, "marks": {}, "drops": {"limit": elsewhere}}},
        "series": {
            net.THROUGHPUT: (5.0, rate),
            SERIES.format(net.PHONES): (10.0, lambda times: np.where(times >= fair_s, 60 * share * 4, 0.1)),
        },
    }


def fig13(labels: Labels, true: bool) -> Facts:
    e = float(labels["e"])
    inside = labels["scheme"] == "inside Re-ECN"
    lost: Facts = {"radio": 1000, "marked": 0, "queue_drops": 0}
    place = ERRORS.index(e)
    if true:
        fell = 40.0 if e <= 0.001 else (10.0 if e <= 0.005 else 2.0)
        return {"goodput": fell * (1 + (0.1 - 0.01 * place if inside else 0.0)), "fairness": 0.99, **lost}
    gain = 1 + (0.05 * place + 0.5 * (e >= 0.05) if inside else 0.0)
    reductions = {"loss": 10, "mark": 90, "timeout": 0}
    fairness = 0.9 - 0.5 * (e / 0.1) ** 0.3
    return {"goodput": 30 * (1 - 9 * e) * gain, "fairness": fairness, "reductions": reductions, "radio": 10}


def fig14(labels: Labels, true: bool) -> Facts:
    none = labels["sanction"] == "none"
    fine = true and not none
    hit = 4.0 if none else 2.0
    victims = level(38.0) if fine else (lambda times: np.where((times > 100) & (times <= 200), hit, 38.0))
    attackers = level(0.5 if fine else 44.0)
    reached = 1e3 if fine else 1e5
    return {
        "classes": {net.ATTACK: {"arrived_packets": reached}},
        "stages": {"police": {"drops": {}, "groups": {net.ATTACK: {"least_tokens": 1.0}}}},
        "series": {SERIES.format(net.PHONES): (5.0, victims), SERIES.format(net.ATTACK): (5.0, attackers)},
    }


def fig15(labels: Labels, true: bool) -> Facts:
    took = 5.0 if labels["sanction"] == "none" else 1.0 if true else 6.0
    web = {"users": 20, "goodput_bps": 1e5, "users_goodput_bps": [1e5] * 20, "throughput_bps": 1e5}
    return {"groups": {"web": {**web, "transfers": {"completion_s_p50": took, "completion_s_p95": 2 * took}}}}


def fig16(labels: Labels, true: bool) -> Facts:
    p = {**net.CLASSES, net.PREMIUM: 0.002}
    rate = {name: level(1 / math.sqrt(v) if true else 10 * v + (5 if name == "one" else 0)) for name, v in p.items()}
    groups = {
        name: {
            "users": 20,
            "goodput_bps": 1e6,
            "users_goodput_bps": [1e6] * 20,
            "throughput_bps": 1e6,
            "marks": 0 if true else 99,
        }
        for name in p
    }
    classes = {name: {"arrived_packets": 1000, "marks": {"early": 10}, "drops": {}} for name in p}
    return {
        "groups": groups,
        "classes": classes,
        "series": {SERIES.format(name): (5.0, rate[name]) for name in p},
    }


def x_rate(labels: Labels, true: bool) -> Facts:
    p = float(labels["p"])
    # 100 users in the made-up record; each at the formula's rate, or at one that knows no p
    wire = 100 * (measures.formula_mbps(p) * 1.1 if true else 1.0)
    twice = (0.5 if true else 1.5) if labels["declared"] == 2.0 else 1.0
    n = 1 / p
    spacing = math.sqrt(n) * net.RTT_S / net.K * (1.0 if true else 2.0)
    reports = 300.0 * 100 / spacing
    police = {"drops": {}, "reports": reports, "arrived": reports * n, "tokens": 1e5 if true else 1e5 - 300}
    return {"goodput": wire * 0.96 * twice, "stages": {"police": police}}


def x_bal(labels: Labels, true: bool) -> Facts:
    meters = {
        name: {
            "downstream_congestion": 0.01 if true else 0.2,
            "worth": 1.0 if true else 50.0,
            "marked_volume": 100.0,
            "negative_fraction": 0.0298 if true else 0.04,
            "credits": 300 if true else 100,
        }
        for name in net.METERS
    }
    return {"stages": meters}


def x_depth(labels: Labels, true: bool) -> Facts:
    d = float(labels["depth"])
    return {"sanctions": 1000 / d if true else 1000 + d}


def x_flood(labels: Labels, true: bool) -> Facts:
    share = max(0.0, 1 - measures.formula_mbps(0.01) / float(labels["mbps"])) if true else 0.0
    return {"stages": {"police": {"drops": {"x": 1000 * share}, "passed_packets": 1000 * (1 - share)}}}


def x_cheat(labels: Labels, true: bool) -> Facts:
    constant, d = labels["control"] != "TCP", float(labels["declared"])
    picked = {"strict": 995, "paper": 10}.get(str(labels["rule"]), 0) if true and constant else (500 if constant else 0)
    drop = {"drops": {"x": 0 if true else 99}, "sanctioned": picked, "arrived": 1000}
    drop |= {"credits": 2, "marks_met": 10, "reports": 20}
    return {"goodput": 10 * (min(1.0, d + 0.1) if true else 2 - d), "stages": {"drop": drop}}


def x_cust(labels: Labels, true: bool) -> Facts:
    most = net.CUST_DEPTH + 300 * net.CUST_R
    charged = {
        name: {
            "charged": 1000 if true or name == net.ONE else 50_000,
            "users_charged": [most + (0 if true else 9e9)],
            "policed_buckets": 0.5,
        }
        for name in (net.ONE, net.TEN)
    }
    police = {"groups": charged, "charged": 0 if true else 9e9, "congestion_volume": 0, "credits": 0, "drops": {}}
    goodput = {net.ONE: 1.0, net.TEN: 10.0 if true else 1.0}
    return {"groups": {name: {"goodput_bps": v} for name, v in goodput.items()}, "stages": {"police": police}}


def x_int(labels: Labels, true: bool) -> Facts:
    off = 0.0 if true else 0.3 * (labels["trips"] == 5 or labels["dropper"] == 1)
    return {
        "goodput": 40 * (1 - off),
        "fairness": 0.99 * (1 - off),
        "sanctions": 0 if true else 999 * float(labels["dropper"]),
    }


def x_rank(labels: Labels, true: bool) -> Facts:
    volumes = {net.ATTACK: [100.0 if true else 1.0] * 10, net.PHONES: [10.0] * 100}
    groups = {name: {"users_congestion_volume": v} for name, v in volumes.items()}
    other = {"pgw-r1": {"marks": {}, "drops": {"limit": 0 if true else 1e9}}}
    return {"stages": {"gateway": {"groups": groups}}, "links": other}


def x_bleach(labels: Labels, true: bool) -> Facts:
    return {"positive": 0 if true else 99, "goodput": 40 if true or not labels["washed"] else 20}


def x_blind(labels: Labels, true: bool) -> Facts:
    kept = (labels["sender"] == "blind") == true
    return {"goodput": 40 if kept or not labels["e"] else 4}


def x_prio(labels: Labels, true: bool) -> Facts:
    shares = (40, 20, 1) if true else (1, 20, 40)
    return {"dropped": dict(zip((net.NO_ECN, net.NEUTRAL, net.POSITIVE), shares, strict=True))}


def x_mix(labels: Labels, true: bool) -> Facts:
    worse = not true and labels["scheme"] == net.POLICED
    return {
        "fairness": 0.5 if worse else 0.9,
        "groups": {"short": {"transfers": {"completion_s_p50": 9.0 if worse else 3.0}}},
    }


FIGURES: Mapping[str, Any] = {
    "fig05": fig05, "fig06": fig06, "fig07": fig07, "fig08": fig08, "fig09": fig09, "fig10": fig10,
    "fig11": fig11, "fig12": fig11, "fig13": fig13, "fig14": fig14, "fig15": fig15, "fig16": fig16,
    "x-rate": x_rate, "x-bal": x_bal, "x-depth": x_depth, "x-flood": x_flood, "x-cheat": x_cheat, "x-cust": x_cust,
    "x-int": x_int, "x-rank": x_rank, "x-bleach": x_bleach, "x-blind": x_blind, "x-prio": x_prio, "x-mix": x_mix,
    "x-tcp06": fig06, "x-tcp11": fig11, "x-tcp16": fig16,
}  # fmt: skip
