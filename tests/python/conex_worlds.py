"""Made-up runs of the congestion exposure paper: a world in which its statements are true, and one in which not.

Both are functions from a figure's labels to a few numbers, from which records are made. Nothing is simulated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from evenflow.lab import Floats
from evenflow.record import Record
from evenflow.study import Labels, Run, Table
from evenflow_papers.conex import PAPER
from evenflow_papers.conex import network as net
from evenflow_papers.conex.network import ALL_BYTES, ALONE_S, GOT, HEAVY_BYTES, TOKENS, VOLUMES

RUNS = 6
"""Seeds of a made-up point, and what the claims are told that the paper had."""


@dataclass(frozen=True)
class Facts:
    """What a made-up run says; the units are those of the paper's measures."""

    u: float = 36.0
    light_mbps: float | None = None
    packets_percent: float = 80.0
    heavy_reports: float = 181.0
    light_reports: float = 5.0
    loss_reports: float = 3.0
    heavy_policed: float | None = None
    light_policed: float | None = None
    policers_share: float = 90.0
    first_drop: float | None = 1.0
    delay: float = 43.0
    light_delay: float | None = None
    light_lost: float = 0.5
    light_marked: float = 27.0
    marked: float = 0.27
    early: float = 0.0


Shape = Callable[[str, Labels], Facts]
"""Figure ("fig08") and labels -> facts."""


def exposed(losses: float, marks: float) -> dict[str, Any]:
    """What a group's senders reported."""
    return {"reports": {"loss": {"packets": losses}, "mark": {"packets": marks}, "credit": {"packets": 0}}}


def tree(f: Facts, noise: float) -> dict[str, Any]:
    """A record with these facts; throughputs fill the link, as in the network."""
    u = f.u * (1 + noise)
    light = 100 / (10 * u + 90) if f.light_mbps is None else f.light_mbps
    conex = {
        net.HEAVY: (10, f.loss_reports, f.heavy_reports - f.loss_reports),
        net.LIGHT: (90, f.light_reports / 10, 0.9 * f.light_reports),
    }
    groups = {
        name: {
            "users": users,
            "goodput_bps": 1e6 * light * (u if name == net.HEAVY else 1),
            "delivered_packets": 10 * (f.packets_percent if name == net.HEAVY else 100 - f.packets_percent),
            "conex": exposed(100 * users * lost, 100 * users * marks),
        }
        for name, (users, lost, marks) in conex.items()
    }
    stages: dict[str, Any] = {}
    heavy_drops = 100.0
    for name, share in ((net.HEAVY, f.heavy_policed), (net.LIGHT, f.light_policed)):
        if share is not None:
            stages[net.POLICERS[name]] = {
                "drops": {"congestion_policed": 100 * share},
                "passed_packets": 10_000 - 100 * share,
                "first_drop": f.first_drop,
            }
    if f.heavy_policed:
        heavy_drops = 100 * f.heavy_policed * (100 - f.policers_share) / f.policers_share
    light_delay = f.delay if f.light_delay is None else f.light_delay
    link = {
        "queue_delay_s_mean": f.delay / 1e3,
        "utilisation": 0.99,
        "arrived_packets": 100_000,
        "marks": {"early": 100_000 * f.marked},
        "drops": {"limit": 10, "early": f.early},
        "classes": {
            net.LIGHT: {
                "queue_delay_s_mean": light_delay / 1e3,
                "arrived_packets": 100_000,
                "drops": {"limit": 1000 * f.light_lost},
                "marks": {"early": 1000 * f.light_marked},
            },
            net.HEAVY: {
                "queue_delay_s_mean": f.delay / 1e3,
                "arrived_packets": 100_000,
                "drops": {"limit": heavy_drops},
                "marks": {"early": 100_000 * f.marked},
            },
        },
    }
    return {"window_s": [0.0, 100.0], "groups": groups, "stages": stages, "links": {net.LINK: link}}


def a_run(
    document: Mapping[str, Any],
    labels: Labels | None = None,
    point: int = 0,
    seed: int = 1,
    recorded: Mapping[str, tuple[bytes, bytes]] | None = None,
) -> Run:
    """A run with this record."""
    return Run(point, labels or {}, seed, Record(json.dumps(document), "", recorded))


def series(times: Floats | Sequence[float], values: Floats | Sequence[float]) -> tuple[bytes, bytes]:
    """A recorded series."""
    return np.asarray(times, "<f8").tobytes(), np.asarray(values, "<f8").tobytes()


# --- Where the paper is right ---------------------------------------------------------------------------------------

LEVELS = dict(zip(net.RATES, (2, 1.5, 1, 1.2, 1.5, 3, 4.5, 6, 7.5, 9, 13, 20, 25, 34), strict=True))
"""Unfairness over r: the optimum is at 3."""


def _policed(labels: Labels) -> dict[str, Any]:
    if labels["policing"] == net.NONE:
        return {}
    return {"heavy_policed": 20.0, "light_policed": 0.5, "loss_reports": 10.0}


def _factor(value: Any, values: Sequence[Any], factors: Sequence[float]) -> float:
    return float(dict(zip(values, factors, strict=True))[value])


def right(figure: str, labels: Labels) -> Facts:
    """The paper's statements about figures 8 to 19 are true."""
    free = labels["policing"] == net.NONE
    r = 180.0 if free else float(labels["r"])
    facts = Facts(**_policed(labels))
    u = 36.0 if free else float(LEVELS[r])
    if figure in ("fig08", "fig09", "fig10", "fig11"):
        if free:
            return facts
        harshness = str(labels["harshness"])
        if r < 180:
            u *= _factor(harshness, net.HARSHNESSES, (1.0, 0.85, 0.7))
        depth = float(labels.get("depth", 45.0))
        if harshness != net.STRICT and figure != "fig08":
            u *= _factor(depth, net.DEPTHS, (0.8, 0.85, 0.9, 1.0, 1.1))
        return replace(facts, u=u, first_drop=depth / 10)
    if figure == "fig12":
        rtt = float(labels["rtt_ms"])
        reports = _factor(rtt, net.RTTS_MS, (346, 335, 181, 109, 80))
        if free:
            return replace(facts, heavy_reports=reports)
        u *= _factor(rtt, net.RTTS_MS, (0.3, 0.5, 0.9, 0.95, 1.0))
        return replace(facts, u=u, heavy_policed=_factor(rtt, net.RTTS_MS, (30, 25, 20, 15, 10)))
    if figure == "fig13":
        compound = labels["control"] == net.COMPOUND
        if not free:
            u = 16 + r / 20 - (2 if compound else 0)
        return replace(facts, u=u, light_marked=20.0 if compound else 27.0)
    if figure == "fig14":
        q = float(labels["queue_ms"])
        u *= 1.0 if free else _factor(q, net.QUEUES_MS, (0.6, 0.7, 0.8, 0.9, 1.0))
        marked = _factor(q, net.QUEUES_MS, (0.49, 0.44, 0.29, 0.21, 0.17))
        return replace(facts, u=u, delay=q * (0.1 + 0.4 * r / 180), marked=marked)
    if figure in ("fig15", "fig16"):
        low = figure == "fig15"
        name, values = ("min_threshold", net.MIN_THRESHOLDS) if low else ("max_threshold", net.MAX_THRESHOLDS)
        value = float(labels[name])
        slight = _factor(value, values, (0.92, 0.94, 0.96, 0.98, 1.0))
        wait = _factor(value, values, (10, 15, 20, 30, 40) if low else (16, 22, 28, 34, 40))
        facts = replace(facts, u=u if free else u * slight, delay=wait * (0.2 + 0.8 * r / 180) * (1.01 if free else 1))
        if not low and value == 20:
            kept = 0.7 * 100 / (10 * facts.u + 90) if not free else None
            facts = replace(facts, light_marked=75.0, light_mbps=kept)
        return facts
    if figure == "fig17":
        p = float(labels["max_probability"])
        wait = _factor(p, net.PROBABILITIES, (99, 83, 60, 50, 43)) * (0.3 + 0.7 * r / 180)
        reports = _factor(p, net.PROBABILITIES, (72, 99, 130, 151, 181))
        policed = 20.0
        if not free:
            u *= _factor(p, net.PROBABILITIES, (1.08, 1.06, 1.04, 1.02, 1.0))
            if p <= 0.25 and r >= 90:
                u, policed = (33.2 if p < 0.2 else 33.0), 0.5
        return replace(facts, u=u, delay=wait, heavy_reports=reports, heavy_policed=None if free else policed)
    assert figure in ("fig18", "fig19", "tab04")
    flows, variant = int(labels["flows"]), str(labels["variant"])
    u *= flows / 36
    if not free:
        u *= _factor(variant, net.VARIANTS, (0.6 if r <= 45 else 1.02, 1.0, 0.85, 0.8))
        if r >= {9: 90, 18: 120, 27: 180, 36: 999}[flows]:
            u = float(flows)
    reports = flows * _factor(variant, net.VARIANTS, (1.5, 2.4, 3.9, 5.0))
    fall = 0.2 + 0.8 * r / 180
    wait = (98.0 if free or r >= 45 else 80.0) if variant == net.DT else fall * (25 if variant == net.RED else 43)
    lost = _factor(variant, net.VARIANTS, (7.8, 11.7, 0.5, 0.5)) * (0.05 + 0.95 * r / 180)
    return replace(facts, u=u, heavy_reports=reports, light_delay=wait, light_lost=lost)


# --- Where it is wrong ----------------------------------------------------------------------------------------------


def wrong(figure: str, labels: Labels) -> Facts:
    """The opposite of each statement about figures 8 to 19."""
    free = labels["policing"] == net.NONE
    r = 180.0 if free else float(labels["r"])
    facts = Facts(
        u=20.0,
        packets_percent=50.0,
        early=5.0,
        loss_reports=30.0 if free else 10.0,
        heavy_policed=None if free else 0.01,
        light_policed=None if free else 0.05,
        policers_share=10.0,
    )
    if figure in ("fig08", "fig09", "fig10", "fig11"):
        if free:
            return facts
        harshness, depth = str(labels["harshness"]), float(labels.get("depth", 45.0))
        u = 15.0 if r == 1 else 41 - r / 9
        u *= _factor(harshness, net.HARSHNESSES, (1.0, 1.05, 1.1))
        if harshness == net.STRICT and r == 180:
            u = 5.0
        if figure != "fig08":
            u = 22 + r / 1000 + _factor(depth, net.DEPTHS, (30, 22, 14, 6, 1)) * (2 if harshness == net.STRICT else 1)
        return replace(facts, u=u, first_drop=100 - depth)
    if figure == "fig12":
        rtt = float(labels["rtt_ms"])
        reports = _factor(rtt, net.RTTS_MS, (80, 109, 181, 335, 346))
        u = 36.0 if free else _factor(rtt, net.RTTS_MS, (34, 33, 32, 31, 30.5))
        policed = None if free else _factor(rtt, net.RTTS_MS, (10, 15, 20, 25, 30))
        return replace(facts, u=u, heavy_reports=reports, heavy_policed=policed)
    if figure == "fig13":
        compound = labels["control"] == net.COMPOUND
        u = (40 - r / 20) if compound else (16 + r / 20)
        return replace(facts, u=u, light_marked=27.0 if compound else 20.0)
    if figure == "fig14":
        q = float(labels["queue_ms"])
        u = _factor(q, net.QUEUES_MS, (20, 16, 12, 8, 4))
        marked = _factor(q, net.QUEUES_MS, (0.17, 0.21, 0.29, 0.44, 0.49))
        return replace(facts, u=u, marked=marked, delay=20.0 if free else 50 - r / 10)
    if figure in ("fig15", "fig16"):
        low = figure == "fig15"
        name, values = ("min_threshold", net.MIN_THRESHOLDS) if low else ("max_threshold", net.MAX_THRESHOLDS)
        value = float(labels[name])
        u = 20.0 if free else (10.0 if r == 180 else _factor(value, values, (20, 16, 12, 8, 4)))
        facts = replace(facts, u=u, delay=20.0 if free else 50 - r / 10)
        if not low and value == 20:
            facts = replace(facts, light_marked=10.0, light_mbps=0.2 if free else 1.0)
        return facts
    if figure == "fig17":
        p = float(labels["max_probability"])
        u = 20.0 if free else _factor(p, net.PROBABILITIES, (4, 8, 12, 16, 20))
        wait = _factor(p, net.PROBABILITIES, (50, 51, 52, 53, 54)) + (0.0 if free else 40 - r / 9)
        return replace(facts, u=u, delay=wait, heavy_policed=None if free else 5.0)
    assert figure in ("fig18", "fig19", "tab04")
    flows, variant = int(labels["flows"]), str(labels["variant"])
    u = 36.0
    if not free:
        # Full: worse with r falling and flows rising; ECN below it and the other way round; RED lowest; DT highest
        u = {
            net.DT: 60.0,
            net.RED: 2.0,
            net.ECN: 30 - r / 20,
            net.FULL: (20.0 if flows == 9 else 32.0 + flows / 2) + r / 20,
        }[variant]
    reports = 1000 / flows * _factor(variant, net.VARIANTS, (5.0, 3.9, 2.4, 1.5))
    wait = _factor(variant, net.VARIANTS, (20, 80, 60, 62)) + (180 - r) / 20
    lost = _factor(variant, net.VARIANTS, (5, 2, 9, 14)) * (1.0 if r == 180 else 2.0)
    return replace(facts, u=u, heavy_reports=reports, light_delay=wait, light_lost=lost)


# --- Short flows, videos, and the rest ------------------------------------------------------------------------------


def short_flows(true: bool, labels: Labels, noise: float) -> dict[str, Any]:
    """A run of figure 20 or of its initial windows."""
    free = labels.get("policing") == net.NONE
    r = float(labels.get("r", 180.0))
    window = float(labels.get("initial_window", 2))
    low = not free and r <= 10
    if true:
        took = {net.HEAVY: 1.64 if r == 1 and not free else (1.2 if low else 0.38), net.LIGHT: 0.375 if low else 0.38}
        policed, p99, share, a_flow = (15.0 if low else 0.0), 3.0, 0.8, (1.0 if window == 2 else 0.6)
    else:
        took = {net.HEAVY: 0.6 if low else 0.8, net.LIGHT: 0.7 if low else (0.5 if free else 0.9)}
        policed, p99, share, a_flow = (0.0 if low else 5.0), 0.5, 0.5, (0.6 if window == 2 else 1.0)
    groups, stages = {}, {}
    for name, users, part in ((net.HEAVY, 10, share), (net.LIGHT, 90, 1 - share)):
        completed = 100_000 * part
        groups[name] = {
            "users": users,
            "goodput_bps": 1e6,
            "transfers": {
                "started": completed * 1.01,
                "completed": completed,
                "completion_s_mean": took[name] * (1 + noise),
                "completion_s_max": p99 * (1 + noise),
                "in_progress_mean": 10.0,
            },
            "conex": exposed(0.1 * a_flow * completed, 0.9 * a_flow * completed),
        }
        if not free:
            mine = policed if name == net.HEAVY else 0.0
            stages[net.POLICERS[name]] = {
                "drops": {"congestion_policed": 100 * mine * (1 + noise)},
                "passed_packets": 10_000 - 100 * mine,
            }
    link = {"queue_delay_s_mean": 0.03}
    return {"window_s": [0.0, 600.0], "groups": groups, "stages": stages, "links": {net.LINK: link}}


def video(true: bool, labels: Labels, noise: float) -> tuple[dict[str, Any], dict[str, tuple[bytes, bytes]]]:
    """A run of figures 21 and 22, or of LEDBAT's targets, and its series."""
    ledbat = labels.get("control") == net.LEDBAT or "target_ms" in labels
    free = ledbat or labels["policing"] == net.NONE
    r = 999.0 if free else float(labels["r"])
    ledbat_policed = ledbat and labels.get("policing") == net.ON
    users = net.VIDEO_LIGHT_USERS
    if true:
        # heavy user's Mbit/s in [0, 100], (100, 200], (200, 500], (500, 600]
        rates = (10, 9, 8, 8.5) if free and not ledbat else (10, 9, 3 + r / 10, 7)
        rates = (10, 5, 2, 10) if ledbat else rates
        stalls = 20 if free and not ledbat else (0 if ledbat or r < 15 else round(r / 10))
        length, ends = (10.0 if free else 1 + r / 100), (None if free and not ledbat else 480.0)
        reports = 0.1 if ledbat else 20.0
    else:
        rates = (5, 5, 2, 9) if free and not ledbat else (10, 9, 4 - r / 100, 1)
        rates = (2, 5, 10, 1) if ledbat else rates
        stalls = 1 if free and not ledbat else (15 if ledbat else max(1, round(19 - r / 10)))
        length, ends = (2.0 if free else 10 - r / 20), (300.0 if free and not ledbat else None)
        reports = 40.0 if ledbat else 20.0
    watched = {
        **{f"users_{seen}": [1] * users for seen in ("asked", "started", "finished")},
        **{f"users_{seen}": [1.0] * users for seen in ("startup_s", "played_s", "waited_s", "bitrate_bps")},
        "users_stalls": [stalls] * users,
        "users_stall_s": [stalls * length * (1 + noise)] * users,
        "stall_s_mean": length * (1 + noise) if stalls else None,
        "users_finished_s": [ends] * users,
        "finished": 0 if ends is None else users,
    }
    groups = {
        net.HEAVY: {
            "users": 10,
            "goodput_bps": 1e6 * (2 if ledbat == true else 1) * (1 if true or not ledbat_policed else 0.5),
            "conex": exposed(reports * 6000, 0),
        },
        net.LIGHT: {"users": users, "goodput_bps": 1e6, "video": watched},
    }
    times = np.arange(1.0, 601.0)
    rate = np.select([times <= 100, times <= 200, times <= 500], rates[:3], rates[3]) * (1 + noise)
    recorded = {}
    for user, name in enumerate(HEAVY_BYTES):
        uneven = 1.0 if true else (1.9 if user < 5 else 0.1)
        recorded[name] = series(times, (rate * uneven * 1e6 / 8).tolist())
    whole = 100.0 if true else 80.0
    recorded[ALL_BYTES] = series(times, [whole * 1e6 / 8] * times.size)
    dropped = 0 if ledbat and true else 5
    police = {"drops": {"congestion_policed": dropped}, "passed_packets": 95}
    stages = {net.POLICERS[net.HEAVY]: police} if ledbat_policed or not free else {}
    return {"window_s": [0.0, 600.0], "groups": groups, "stages": stages, "links": {net.LINK: {}}}, recorded


def artefact(true: bool, labels: Labels, noise: float) -> tuple[dict[str, Any], dict[str, tuple[bytes, bytes]]]:
    """A run of the user who stays, and its series."""
    times = np.arange(1.0, 101.0)
    rate = np.full(times.size, 8e6)
    if labels["policing"] != net.NONE:
        late = ALONE_S + ((10 + float(labels["r"]) / 5) if true else 2)
        rate = np.where(times > late, 8e6, 1e5)
    name = GOT.replace("[*]", "[0]")
    return {"window_s": [0.0, 100.0], "groups": {}}, {name: series(times, ((1 + noise) * rate / 8).tolist())}


def volumes(noise: float) -> tuple[dict[str, Any], dict[str, tuple[bytes, bytes]]]:
    """A run whose congestion-volumes grow evenly."""
    times = np.arange(1.0, 101.0)
    recorded = {
        name: series(times, times * (1e5 if group == net.HEAVY else 1e3) * (1 + noise))
        for group, names in VOLUMES.items()
        for name in names
    }
    return tree(Facts(heavy_policed=20.0, light_policed=0.5), noise), recorded


def levels(rate: float, noise: float) -> tuple[dict[str, Any], dict[str, tuple[bytes, bytes]]]:
    """A run in which a bucket goes down."""
    times = np.arange(1.0, 601.0)
    return tree(Facts(heavy_policed=20.0, light_policed=0.5), noise), {TOKENS: series(times, 45 - times / rate)}


def sizes(unit: str, noise: float) -> dict[str, Any]:
    """A run with large and small packets."""
    groups = {
        net.LARGE: {"users": 10, "goodput_bps": 5e6 * (1 + noise)},
        net.SMALL: {"users": 10, "goodput_bps": 9e5 if unit == "packets" else 4e6},
    }
    return {"window_s": [0.0, 100.0], "groups": groups, "stages": {}}


def cheating(audit: str, declared: float, noise: float) -> dict[str, Any]:
    """A run with a user who declares a share of his congestion."""
    names = (net.HEAVY, net.CHEAT, net.LIGHT)
    groups = {name: {"users": 1, "goodput_bps": 1e6} for name in names}
    if audit == net.NONE:
        groups[net.CHEAT]["goodput_bps"] = 1e6 * (2 - declared) * (1 + noise)
        return {"window_s": [0.0, 100.0], "groups": groups, "stages": {}}
    accounts = {name: {"sanctioned": 10 * (name == net.CHEAT), "arrived": 100} for name in names}
    stages = {net.AUDITOR: {"drops": {}, "passed_packets": 100, "groups": accounts}}
    return {"window_s": [0.0, 100.0], "groups": groups, "stages": stages}


# --- Tables ---------------------------------------------------------------------------------------------------------


def table(name: str, true: bool) -> Table:
    """The made-up runs of an experiment, on the grid of a first look."""
    experiment = PAPER.experiment(name)
    short = experiment.id.removeprefix("conex-")
    runs = []
    for place, point in enumerate(experiment.points("quick")):
        for seed in range(1, RUNS + 1):
            z = (seed - (RUNS + 1) / 2) / RUNS
            noise = (0.001 if true else 0.25) * z
            recorded = None
            if short in ("fig20", "x03"):
                document = short_flows(true, point.labels, 0.01 * z)
            elif short == "x-empty":
                document = short_flows(true, {"policing": net.NONE}, 0.0)
                document["groups"][net.LIGHT]["transfers"]["completion_s_mean"] = 0.3012 if true else 0.4
            elif short in ("fig21", "fig22", "x06", "x-incentive", "x-video"):
                document, recorded = video(true, point.labels, 0.01 * z)
            elif short == "x-volume":
                document, recorded = volumes(0.01 * z)
            elif short == "x-level":
                document, recorded = levels(float(point.labels["r"]), 0.01 * z)
            elif short == "x02":
                document = cheating(str(point.labels["audit"]), float(point.labels["declared"]), 0.01 * z)
            elif short == "x01":
                document = sizes(str(point.labels["unit"]), 0.01 * z)
            elif short == "x-artefact":
                document, recorded = artefact(true, point.labels, 0.01 * z)
            else:
                shape = right if true else wrong
                figure, labels = _like(short, point.labels)
                document = tree(shape(figure, labels), noise)
            runs.append(a_run(document, point.labels, place, seed, recorded))
    return Table(runs)


def _like(short: str, labels: Labels) -> tuple[str, Labels]:
    """Experiments beyond the paper's look like a figure of it."""
    if short in ("x04", "x-left") or short.startswith(("fig02", "fig06", "fig07", "tab01", "tab02", "tab03")):
        return "fig08", {"harshness": net.MILD, **labels}
    if short == "x05":
        return "fig14", {**labels, "queue_ms": 100.0}
    return short, labels
