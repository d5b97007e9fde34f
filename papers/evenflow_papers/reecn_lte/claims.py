"""What each claim compares; what is accepted, and the notes, are in claims.toml."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept, Claims
from evenflow.lab import Floats, rank_correlation
from evenflow.study import Run
from evenflow.values import Metric, Values, between, each, listed

from . import beside
from . import measures as m
from . import network as net
from .experiments import experiment
from .measures import DROPS, FAIR_LONG, FAIRNESS, GOODPUT, MARKED, PERCENT, RATE, SANCTIONS, WORDS, of_police, stage
from .network import DT, ECN, LINK, PHONES, POLICED, RED, REECN, Options

claim = Claims("reecn_lte", __file__, net.LEVEL, WORDS)
N = net.DECIDES

EXPERIMENTS = (
    *(f"fig{number:02d}" for number in range(5, 17)),
    *("x-rate", "x-bal", "x-cheat", "x-bleach", "x-cust", "x-gtp", "x-int", "x-prio", "x-mix"),
)
"""Required: twelve figures and nine experiments beyond them."""
N_BOTH, SCHEMES = {"n": (10, 100)}, {"scheme": net.SCHEMES}
DELAYS = {**N_BOTH, "delay": (5, 10, 20, 50, 100, 200), **SCHEMES}
CONDITIONS: Mapping[str, Mapping[str, Sequence[float | str]]] = {
    "fig05": {"n": (10, 100), "policer": ("A", "B", net.TIGHT), "r": (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8, 1e4)},
    "fig06": {"n": (10, 100), "marks": ("red", "fixed"), "p": (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)},
    "fig07": {"n": (10, 100), "greedy": (0.0, 0.2), "start": (0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 2e3, 2e5)},
    "fig08": {"n": (5, 10, 25, 50, 100, 200, 400), "scheme": net.SCHEMES},
    "fig08-background": {"background": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "scheme": net.SCHEMES},
    "fig09": DELAYS,
    "fig09-wired": DELAYS,
    "fig09-mixed": {**N_BOTH, **SCHEMES},
    "fig10": {**N_BOTH, "hops": (2, 4, 5, 6, 8, 10, 12), **SCHEMES},
    "fig10-narrow": {**N_BOTH, **SCHEMES},
    "fig11": {**N_BOTH, **SCHEMES},
    "fig13": {"n": (10, 100), "e": (0.0, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)},
    "fig14": {"n": (10, 100), "attackers": (net.HONEST, net.CHEAT, net.LEGACY)},
    "fig15": {"n": (10, 100), "attack": (0, 1)},
    "fig16": {"n": (20, 100, 200), "marks": ("red", "fixed"), "premium": (0, 1)},
    "x-cheat": {"declared": (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)},
    "x-gtp": {"lost": (0.0, 0.3)},
    "x-int": {"trips": (1, 2, 5, 10), "dropper": (0, 1)},
    "x-mix": {**N_BOTH, **SCHEMES},
    "x-tcp11": {"tcp": ("reno", "newreno", "sack"), "red": ("ns2", "uniform")},
}
"""Hops, round trips, loss, congestion, short and long flows, 10 and 100 flows: required values of each label."""


def stages(function: Any) -> Metric:
    """A metric of a run's stages."""
    return Metric(lambda run: float(function(run.json["stages"])))


# --- Protocol and accounting ------------------------------------------------------------------------------------------

PAPER_RULE: Mapping[str, Any] = {"lost": 0.0, "rule": "paper"}
claim(
    "c01",
    each("marks", "phones", Metric("groups.phones.marks")(**PAPER_RULE)),
    each("drops", "end of the tunnel", stages(lambda s: sum(s["out"]["drops"].values()))(**PAPER_RULE)),
)


def volume_error(run: Run) -> float:
    """Bytes of congestion at the gateway less marks and drops of the links; a packet marked twice counts once."""
    marks, drops = m.signals(run, "r1-sgw", LINK)
    found = run.json["stages"]
    twice = marks - found["out"]["marks_lost"]
    return float(found["gateway"]["congestion_volume"] - (marks + drops - twice) * (net.PACKET_BYTES + 40))


def told(run: Run, group: str) -> float:
    """Marks reported to a group's senders, those on SYNs too."""
    return float(run.json["groups"][group]["conex"]["told"]["mark"]["packets"])


def told_less_met(run: Run) -> float:
    """Marks reported to the senders of both paths less those behind the last queue."""
    met = run.json["stages"][net.GOT]
    return told(run, net.FAR) + told(run, net.NEAR) - float(met["cancelled"] + met["negative"])


def missing_less_drops(run: Run) -> float:
    """Packets missing between first and last meter less drops of the links."""
    gone = stage(run, net.SENT, "passed_packets") - stage(run, net.GOT, "passed_packets")
    return gone - m.signals(run, "pgw-r1", "r1-sgw", "sgw-r2", LINK)[1]


def sums(function: Any, run: str = "two paths") -> Values:
    """A number of x-adds."""
    return Metric(function)("x-adds", run=run)


claim(
    "c02",
    each("difference", "bytes, reports of the base station", Metric(volume_error)(**PAPER_RULE)),
    each(
        "difference", "marks, one queue", sums(lambda run: told(run, net.NEAR) - m.signals(run, LINK, of=net.NEAR)[0])
    ),
    each("difference", "marks, two paths", sums(told_less_met)),
    each("difference", "drops, two paths", sums(missing_less_drops)),
)


def prediction_error(run: Run) -> float:
    """Distance of the downstream congestion from the second queue's share of marks, less a fifth of that share."""
    link = run.json["links"][LINK]
    true = sum(link["marks"].values()) / link["arrived_packets"]
    return float(abs(run.json["stages"]["between"]["downstream_congestion"] - true) - 0.2 * true)


claim("c03", each("beyond", "between the queues", Metric(prediction_error)(p=0.0298)))
BALANCE = stages(lambda s: 100 * abs(s["behind"]["worth"]) / s["behind"]["marked_volume"])
claim("c04", each("share", "behind the last queue", BALANCE(p=0.0298)))


def credits(meter: str) -> Any:
    """Packets with FNE of a flow."""
    return lambda run: stage(run, meter, "credits") / run.json["groups"][PHONES]["users"]


def positive(run: Run) -> float:
    """Positive packets before the queues less positive and cancelled ones behind."""
    return stage(run, net.SENT, "positive") - stage(run, net.GOT, "positive") - stage(run, net.GOT, "cancelled")


def others(run: Run) -> float:
    """Neutral packets and FNE before the queues less these and negative ones behind."""
    sent, got = ([stage(run, at, what) for what in ("neutral", "credits", "negative")] for at in (net.SENT, net.GOT))
    return sum(sent) - sum(got)


claim(
    "c05",
    each("credits", "SYN and data", Metric(credits(net.METERS[0]))(p=0.0)),
    each("credits", "SYN-ACK and data", sums(credits(net.SENT), "answers")),
    each("difference", "positive, less positive and cancelled", sums(positive, "colours")),
    each("difference", "neutral and FNE, less both and negative", sums(others, "colours")),
)
claim("c06", each("share", "behind both", 100 * Metric("stages.behind.negative_fraction")(p=0.0298)))
WATCHED: Mapping[str, Any] = {"declared": 1.0, "policed": 0}


def slope(grid: list[float], curve: Floats) -> Floats:
    """Of the logarithm of a curve over that of its grid, run by run."""
    x, y = np.log(grid), np.log(curve)
    return np.array([np.polyfit(x, run, 1)[0] for run in y.T])


claim("c07", each("slope", "0.001 to 0.1", RATE(**WATCHED).reduce("p", slope)))
STARTS = {name: listed("{p:g}: {value}", m.declared(name)(**WATCHED, p=between(hi=0.01))) for name in ("mark", "loss")}
claim("c08", each("ratio", "p = {p:g}", m.RATE_RATIO(**WATCHED, p=between(hi=0.03))), **STARTS)
claim("c09", each("ratio", "p = {p:g}", Metric(m.spacing_ratio)(**WATCHED, p=between(hi=0.01))), **STARTS)


def beyond_declared(run: Run) -> float:
    """Bytes charged beyond those declared: dropped while empty, a report costs nothing; the packet that takes the
    level below zero does."""
    declared = stage(run, "police", "congestion_volume") + net.PACKET_BYTES * stage(run, "police", "credits")
    return max(0.0, stage(run, "police", "charged") - declared)


def first_alone(police: Any) -> float:
    """Seconds charged to flows that declare nothing beyond their SYN, which is FNE.

    Policer A may learn T from packets: the price of a SYN is what lowers the level before any token arrives. A later
    charge adds to the sum and lowers nothing, since the level has grown by then.
    """
    return float(police["charged"] - police["credits"] * (net.CHARGE_START - police["least_tokens"]))


def bytes_alone(run: Run) -> float:
    """The same of policer B, bytes."""
    return stage(run, "police", "charged") - net.HEADER_BYTES * stage(run, "police", "credits")


SILENT: Mapping[str, Any] = {"declared": 0.0}
claim(
    "c10",
    each("bytes", "policer B, all that is declared", Metric(beyond_declared)(policed=1)),
    each(
        "seconds",
        "policer A, nothing declared",
        stages(lambda s: first_alone(s["police"]))("x-charge", policer="A", **SILENT),
    ),
    each("bytes", "policer B, nothing declared", Metric(bytes_alone)("x-charge", policer="B", **SILENT)),
)
claim("c11", each("drift", "p = {p:g}", m.DRIFT(**WATCHED, p=[0.003, 0.01])))

# --- Policers ---------------------------------------------------------------------------------------------------------

INNOCENT = SANCTIONS(n=N)
claim(
    "c12",
    each(
        "step",
        "{before} to {after} s",
        INNOCENT.steps("depth") / INNOCENT.reduce("depth", lambda _, curve: max(1.0, float(np.mean(curve[0])))),
    ),
    each("drops", "{depth:g} s, for ten flows", (INNOCENT * 10).map(lambda v: v / N).at(depth=between(200))),
    first=Metric("stages.police.first_drop")(n=N, depth=1000.0),
    marks=Metric(lambda run: run.json["links"][LINK]["marks"].get("forced", 0))(n=N),
)


def to_drop(mbps: float) -> float:
    """1 − B / X."""
    return max(0.0, 1 - m.formula_mbps(0.01) / mbps)


FLOOD = m.FLOOD_DROPPED()
claim(
    "c13",
    each("difference", "{mbps:g} Mbit/s", FLOOD.map(lambda v, mbps: v - to_drop(mbps))),
    dropped=listed("{mbps:g} Mbit/s: {value}", FLOOD),
    formula=listed("{value}", FLOOD.map(lambda v, mbps: to_drop(mbps))),
    ingress=listed("{value}", FLOOD.map(lambda v, mbps: 1 - min(1.0, m.formula_mbps(0.01) / mbps) ** (2 / 3))),
)


def honest(metric: Metric, sanction: str) -> Values:
    """A metric of figure 14 with honest attackers."""
    return metric("fig14", sanction=sanction, n=N, attackers=net.HONEST)


SENT = Metric(m.attackers_sent)
claim("c14", each("ratio", "block", honest(SENT, "block") / honest(SENT, "none")))


def beyond_contract(run: Run) -> float:
    """Bytes that the user charged most was charged beyond bucket, rate times time and a packet."""
    groups = run.json["stages"]["police"]["groups"].values()
    most = max(max(group["users_charged"]) for group in groups)
    return float(most - (contract(run) + net.PACKET_BYTES))


def contract(run: Run) -> float:
    """Depth, and rate times time, bytes."""
    return net.CUST_DEPTH + net.CUST_R * m.window_s(run)


TEN_OVER_ONE = m.of_one(net.TEN)(policed=0) / m.of_one(net.ONE)(policed=0)
claim("c15", each("beyond", "the user charged most", Metric(beyond_contract)(policed=1)))
claim(
    "c16",
    each(
        "volume", "policed", of_police(net.TEN, "charged")(policed=1) / (Metric(contract)(policed=1) + net.PACKET_BYTES)
    ),
    each("goodput", "not policed", TEN_OVER_ONE),
    contract=Metric(contract)(policed=1),
    ten=of_police(net.TEN, "charged")(policed=1),
    one=of_police(net.ONE, "charged")(policed=1),
    emptied=of_police(net.ONE, "policed_buckets")(policed=1),
)


def precision(run: Run) -> float:
    """Share of attackers among as many users with the most congestion volume."""
    groups = run.json["stages"]["gateway"]["groups"]
    bad = groups[net.ATTACK]["users_congestion_volume"]
    everyone = [(v, True) for v in bad] + [(v, False) for v in groups[PHONES]["users_congestion_volume"]]
    first = sorted(everyone, key=lambda it: it[0], reverse=True)[: len(bad)]
    return sum(attacker for _, attacker in first) / len(bad)


claim(
    "c17",
    each("precision", "first ten", Metric(precision)(n=N)),
    each("link", "R2 to R3", m.AT_BOTTLENECK(n=N) / 100),
)

# --- The dropper ------------------------------------------------------------------------------------------------------


def of_dropper(what: str, per: str) -> Metric:
    """A counter of the dropper over another, or over its flows."""
    return Metric(lambda run: stage(run, "drop", what) / (stage(run, "drop", per) if per else users(run)))


def users(run: Run) -> float:
    """Flows of a run."""
    return float(run.json["groups"][PHONES]["users"])


TWICE: Mapping[str, Any] = {"declared": 2.0, "control": "TCP"}
CHEAT: Mapping[str, Any] = {"declared": 0.0, "control": "constant"}
PICKED = stages(lambda s: float(s["drop"]["sanctioned"]) / float(s["drop"]["arrived"]))
AUDITED = of_dropper("marks_met", "arrived")
claim(
    "c18",
    each("packets", "paper's formula", SANCTIONS(rule="paper", **TWICE)),
    strict=SANCTIONS(rule="strict", **TWICE),
    ratio=SANCTIONS(rule="ratio", **TWICE),
    **{what: of_dropper(what, "")(rule="ratio", **TWICE) for what in ("credits", "marks_met", "reports")},
)
claim(
    "c19",
    each("paper", "picked − marked", PICKED(rule="paper", **CHEAT) - AUDITED(rule="paper", **CHEAT)),
    strict=100 * PICKED(rule="strict", **CHEAT),
    credits=of_dropper("credits", "")(rule="strict", **CHEAT),
    picked=100 * PICKED(rule="paper", **CHEAT),
    met=100 * AUDITED(rule="paper", **CHEAT),
)
claim(
    "c20",
    each(
        "ratio",
        "{declared:g} declared",
        GOODPUT(rule="paper", control="TCP", declared=lambda d: d < 1)
        / GOODPUT(rule="paper", control="TCP", declared=1.0),
    ),
)
claim(
    "c21",
    each("ratio", "with over without", GOODPUT(trips=1, dropper=1) / GOODPUT(trips=1, dropper=0)),
    each("drops", "dropper", SANCTIONS(trips=1, dropper=1)),
)

# --- Inside the network -----------------------------------------------------------------------------------------------

HARM = stages(lambda s: float(s["out"]["marks"]) + float(sum(s["out"]["drops"].values())))
claim(
    "c22",
    each("paper", "paper's rule", HARM(lost=0.0, rule="paper")),
    each("rfc6040", "RFC 6040", HARM(lost=0.0, rule="rfc6040")),
)
UNKNOWN = stages(
    lambda s: s["report"]["marked"] + s["report"]["lost"] - (s["gateway"]["marked"] + s["gateway"]["lost"])
)
claim("c23", each("difference", "30 % lost", UNKNOWN(lost=0.3, rule="paper")))


def twice_marked(s: Any) -> float:
    """Packets marked before the tunnel that it did not lose, and those marked inside, less all that are marked."""
    share = s["report"]["received"] / s["into"]["wrapped"]
    return float(s["into"]["marked_before"] * share + s["report"]["marked_outside"] - s["report"]["marked"])


def either(run: Run) -> float:
    """Marked packets by the reporter less those that phones received or the egress lost."""
    stages, phones = run.json["stages"], run.json["groups"][PHONES]
    return float(stages["report"]["marked"] - phones["marks"] - stages["out"]["marks_lost"])


def lost(run: Run) -> float:
    """Lost packets by the reporter less drops of the links."""
    links = ("pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb")
    return float(run.json["stages"]["report"]["lost"] - m.signals(run, *links)[1])


OUTSIDE = stages(lambda s: s["report"]["marked"] - s["out"]["marks_lost"])
RECEIVED = stages(lambda s: s["report"]["received"] - s["out"]["unwrapped"])
claim(
    "c24",
    each("difference", "marked outside, two queues", OUTSIDE(**PAPER_RULE)),
    each("difference", "marked before, inside or both", Metric(either)("x-or")),
    each("both", "marked before and inside", stages(twice_marked)("x-or")),
    each("difference", "received", RECEIVED("x-or")),
    each("difference", "lost", Metric(lost)("x-or")),
)
claim(
    "c25",
    *(
        each(name, "5 over 1", metric(trips=5, dropper=0) / metric(trips=1, dropper=0))
        for name, metric in (("goodput", GOODPUT), ("fairness", FAIRNESS))
    ),
)
LOST_LEGACY, LOST_NEUTRAL, LOST_POSITIVE = (m.dropped_of(name)() for name in (net.NO_ECN, net.NEUTRAL, net.POSITIVE))
claim(
    "c26",
    each("step", "legacy − neutral", LOST_LEGACY - LOST_NEUTRAL),
    each("step", "neutral − positive", LOST_NEUTRAL - LOST_POSITIVE),
)
claim("c27", each("share", "{scheme:s}", m.AT_BOTTLENECK(n=N)))

# --- Figures 5 to 7 ---------------------------------------------------------------------------------------------------


def over_rate(policer: str, low: float, high: float) -> list[Any]:
    """Rank correlation of goodput with r, and its rise."""
    it = GOODPUT(policer=policer, n=N)
    return [
        each("rank", f"policer {policer}", it.reduce("r", rank_correlation)),
        each("rise", f"policer {policer}, {high:g} over {low:g}", it.at(r=high) / it.at(r=low)),
    ]


claim("c28", *over_rate("A", 0.25, 8.0), *over_rate("B", 30.0, 1e4))
LEAST_START = 3.5 * net.RTT_S / net.K
"""Price of a flow's first packets under policer A, s."""
claim(
    "c29",
    *(
        each(
            "rank",
            f"policer {policer}, {words}",
            GOODPUT(policer=policer, n=N, greedy=greedy, start=between(least)).reduce("start", rank_correlation),
        )
        for policer, least in (("A", LEAST_START), ("B", 0.0))
        for greedy, words in ((0.0, "all honest"), (0.2, "a fifth greedy"))
    ),
)
ALL_HONEST, FIFTH_GREEDY = (FAIRNESS(policer="A", n=N, greedy=greedy) for greedy in (0.0, 0.2))
GREEDY = {
    "honest": listed("{value} at {start:g} s", ALL_HONEST, ", "),
    "greedy": listed("{value} at {start:g} s", FIFTH_GREEDY, ", "),
}
claim(
    "c30",
    each("rank", "a fifth greedy", FIFTH_GREEDY.reduce("start", rank_correlation)),
    each("fall", "{before} − {after} s", -1.0 * FIFTH_GREEDY.last_less_first("start")),
    **GREEDY,
)
FIRST = m.FIRST_GREEDY(policer="A", n=N, greedy=0.2)
claim("c31", each("rank", "first sanction", FIRST.reduce("start", rank_correlation)), **GREEDY)


def at_high_over_low(marks: str) -> Values:
    """Goodput at p = 0.2 over that at 0.01."""
    return GOODPUT(marks=marks, n=N, p=0.2) / GOODPUT(marks=marks, n=N, p=0.01)


CONSTANT = {
    "ratio": at_high_over_low("fixed"),
    "low": FAIRNESS(marks="fixed", n=N, p=0.01),
    "high": FAIRNESS(marks="fixed", n=N, p=0.2),
}
claim("c32", each("ratio", "RED, 0.2 over 0.01", at_high_over_low("red")), **CONSTANT)
claim("c33", each("rank", "RED", FAIRNESS(marks="red", n=N).reduce("p", rank_correlation)), **CONSTANT)

# --- Figures 11 and 12 ------------------------------------------------------------------------------------------------

OTHERS = [RED, ECN, POLICED]


def of(scheme: str | list[str], metric: Metric) -> Values:
    """A metric of figure 11 by scheme."""
    return metric(scheme=scheme, n=N)


def less(metric: Metric, schemes: str | list[str], other: str) -> Values:
    """The same less that of another scheme."""
    return of(schemes, metric) - of(other, metric)


SWING = of(OTHERS, Metric(m.fluctuation))
claim("c34", each("ratio", "over {scheme:s}", of(DT, Metric(m.fluctuation)).at_points_of(SWING) / SWING))
claim("c35", each("difference", "{scheme:s}", less(PERCENT, OTHERS, DT)))
claim("c36", each("ratio", "RED over drop-tail", of(RED, GOODPUT) / of(DT, GOODPUT)))
claim("c37", each("difference", "{scheme:s} − red", less(GOODPUT, [ECN, POLICED], RED)))
claim("c38", each("difference", f"{POLICED} − ecn", less(PERCENT, POLICED, ECN)))
EARLY, LATE = m.between_s(0.0, 30.0), Metric(partial(m.last, 100.0))
claim("c39", each("difference", "0 to 30 s", 100.0 * (less(EARLY, ECN, POLICED) / of(POLICED, EARLY))))
claim("c40", each("difference", "last 100 s", -100.0 * (less(LATE, ECN, POLICED) / of(ECN, LATE))))
claim(
    "c41",
    each("drops", POLICED, of(POLICED, SANCTIONS)),
    each("later", f"{POLICED} − ecn", less(Metric(m.fair_after), POLICED, ECN)),
)
PAIRS = [(scheme, other) for scheme in (ECN, POLICED) for other in (RED, DT)]
claim(
    "c42",
    *(each("ratio", f"{scheme} over {other}", of(scheme, FAIRNESS) / of(other, FAIRNESS)) for scheme, other in PAIRS),
)
claim("c43", each("difference", "{scheme:s} − droptail", less(FAIRNESS, OTHERS, DT)))
claim(
    "c44",
    *(
        each(name, f"{name}, {scheme} − {other}", less(metric, scheme, other))
        for name, metric in (("goodput", GOODPUT), ("fairness", FAIRNESS))
        for scheme, other in PAIRS
    ),
)

# --- Figure 13 --------------------------------------------------------------------------------------------------------

RATES, FAIR = GOODPUT("fig13", scheme=net.INSIDE, n=N), FAIRNESS("fig13", scheme=net.INSIDE, n=N)
OVER_RENO = GOODPUT("fig13", scheme=net.RENO, n=N)
GAIN = (RATES - OVER_RENO) / OVER_RENO
claim(
    "c45",
    each("goodput", "goodput, e = {e:g}", RATES.at(e=between(hi=0.001)) / net.CAPACITY_MBPS),
    each("fairness", "fairness, e = {e:g}", FAIR.at(e=between(hi=0.001))),
)
claim(
    "c46",
    each("rank", "gain over Reno", GAIN.reduce("e", rank_correlation)),
    gain=listed("{value} % at {e:g}", 100 * GAIN, ", "),
)
THREE = GOODPUT(scheme=[net.INSIDE, net.END, net.RENO], n=N, e=between(0.05))
claim(
    "c47",
    each("ratio", "e = {e:g}", THREE.reduce("scheme", lambda _, curve: curve.max(axis=0) / curve.min(axis=0))),
)
claim("c48", each("ratio", "5 % over none", RATES.at(e=0.05) / RATES.at(e=0.0)))
claim("c49", each("ratio", "e = {e:g}", FAIR.at(e=lambda e: e > 0) / FAIR.at(e=0.0)))


def lost_by_radio(run: Run) -> float:
    """Radio losses over these, marks and other drops, %."""
    radio = float(run.json["links"][net.RADIO]["drops"].get("loss", 0))
    others = sum(m.signals(run)) - radio
    return float(100 * radio / (radio + others))


def not_by_marks(run: Run) -> float:
    """Reductions of windows that no mark caused, %."""
    found = run.json["groups"][PHONES]["senders"]["reductions"]
    return float(100 * (1 - found.get("mark", 0) / sum(found.values())))


def kept(sender: str) -> Values:
    """Goodput with radio errors of 5 % over that without, less the lost packets."""
    return GOODPUT("x-blind", sender=sender, e=0.05) / (GOODPUT("x-blind", sender=sender, e=0.0) * (1 - 0.05))


claim(
    "c50",
    *(
        each("share", f"{{scheme:s}}, {words}", Metric(share)(scheme=[net.INSIDE, net.END], n=N, e=0.05))
        for words, share in (("signals", lost_by_radio), ("reductions", not_by_marks))
    ),
    each("blind", "blind to losses", kept("blind")),
    each("sighted", REECN, kept(REECN)),
    goodputs=listed("{sender} with {e}: {value}", GOODPUT("x-blind")),
)
KNEE = 1.5 * (N * net.PACKET_BYTES * 8 / (net.CAPACITY_MBPS * 1e6 * net.RTT_S)) ** 2
"""Error rate at which radio losses equal those that a full link causes."""


def knee(grid: list[float], curve: Floats) -> Floats:
    """Error rate, by interpolation, at which each run has half of its goodput without errors, over the formula."""

    def of_run(values: Floats) -> float:
        half = values[0] / 2
        for (a, left), (b, right) in pairwise(list(zip(grid, values, strict=True))[1:]):
            if left >= half > right:
                part = (left - half) / (left - right)
                return math.exp(math.log(a) + part * (math.log(b) - math.log(a)))
        return math.nan

    return np.array([of_run(run) / KNEE for run in curve.T])


claim("c51", each("ratio", "half of the goodput", RATES.reduce("e", knee)))

# --- Figures 14 to 16 -------------------------------------------------------------------------------------------------

DROP, BLOCK = "drop-while-empty", "block"


def policed_over_free(metric: Metric, *sanctions: str, on: str = "fig14", **labels: Any) -> list[Any]:
    """A metric with a sanction over that without a policer."""
    return [
        each("ratio", s, metric(on, sanction=s, n=N, **labels) / metric(on, sanction="none", n=N, **labels))
        for s in sanctions
    ]


claim("c52", each("ratio", "attackers", honest(m.ATTACK_DURING, DROP) / honest(m.ATTACK_DURING, "none")))
claim("c53", *policed_over_free(m.VICTIMS_DURING, DROP, BLOCK, attackers=net.HONEST))
PARTS = [m.between_s(a, b, net.VICTIMS) for a, b in pairwise((100.0, 120.0, 160.0, 200.0))]
claim(
    "c54",
    each("ratio", BLOCK, honest(m.VICTIMS_DURING, BLOCK) / honest(m.VICTIMS_BEFORE, BLOCK)),
    drop_ratio=honest(m.VICTIMS_DURING, DROP) / honest(m.VICTIMS_BEFORE, DROP),
    **{
        f"{name}_{part}": honest(metric, s)
        for name, s in (("drop", DROP), ("block", BLOCK))
        for part, metric in zip(("before", "first", "middle", "last"), (m.VICTIMS_BEFORE, *PARTS), strict=True)
    },
    **{
        f"{name}_tokens": honest(of_police(net.ATTACK, "least_tokens"), s)
        for name, s in (("drop", DROP), ("block", BLOCK))
    },
)
claim("c55", *policed_over_free(m.PAGE, DROP, BLOCK, on="fig15", attack=1))
OFFERED = 10 * net.CAPACITY_MBPS / (N + N // 10) * (N // 10)
claim("c56", *(each("ratio", s, honest(m.ATTACK_EARLY, s) / OFFERED) for s in (DROP, BLOCK)))


def rate(name: str, marks: str, premium: int = 0) -> Values:
    """Throughput of a class in the last 200 s."""
    return m.between_s(100.0, 1e9, m.of_class(name))(marks=marks, n=N, premium=premium)


ORDERED = Metric(partial(m.in_order, tuple(net.CLASSES), 50.0, 20.0))
claim(
    "c57",
    *(each("ratio", f"{a} over {b}", rate(a, "red") / rate(b, "red")) for a, b in pairwise(net.CLASSES)),
    each("bins", "bins of 20 s in order", ORDERED(marks="red", n=N, premium=0)),
)
claim(
    "c58",
    *(
        each(
            marks,
            f"{marks}, {name}",
            rate(name, marks) / rate("one", marks) / math.sqrt(net.CLASSES["one"] / p),
        )
        for marks in ("red", "fixed")
        for name, p in net.CLASSES.items()
        if name != "one"
    ),
    met=listed(
        "{value}",
        m.of_classes(m.marked_of, tuple(net.CLASSES), marks="red", n=N, premium=0),
        ", ",
    ),
)
claim(
    "c59",
    *(each("ratio", f"over {name}", rate(net.PREMIUM, "red", 1) / rate(name, "red", 1)) for name in net.CLASSES),
    each("marks", "premium", Metric(f"groups.{net.PREMIUM}.marks")(marks="red", n=N, premium=1)),
    marks=listed("{upper}: {value}", Metric(f"groups.{net.PREMIUM}.marks")("x-premium")),
    rates=listed("{value}", m.of_group(net.PREMIUM)("x-premium"), ", "),
)

# --- Breadth ----------------------------------------------------------------------------------------------------------


@claim.measure("c60")
def covered(data: Data, accept: Accept, o: Options) -> list[Check]:
    """What section 4 of the dossier lists, less what the points at the paper's scale have."""
    there = {e.id.removeprefix("reecn_lte-"): [p.labels for p in e.points("paper")] for e in experiment.build(o)}
    found = [accept("missing", "experiments", float(len(set(EXPERIMENTS) - there.keys())))]
    for name, wanted in CONDITIONS.items():
        for label, values in wanted.items():
            have = {labels[label] for labels in there[name] if label in labels}
            found.append(accept("missing", f"{name}, {label}", float(len(set(values) - have))))
    return found


claim(
    "c61",
    each("rank", "goodput", GOODPUT(scheme=ECN, n=10).reduce("delay", rank_correlation)),
    each("fairness", "{before} − {after} ms", -1.0 * FAIRNESS(scheme=ECN, n=10).last_less_first("delay")),
)
HOPS, FAIR_HOPS = GOODPUT(scheme=REECN, n=N), FAIRNESS(scheme=REECN, n=N)
claim(
    "c62",
    each("ratio", "{hops:g} hops", HOPS.at(hops=lambda h: h <= 8 and h != 5) / HOPS.at(hops=5)),
    each("fairness", "2 − 8 hops", FAIR_HOPS.at(hops=2) - FAIR_HOPS.at(hops=8)),
)
claim(
    "c63",
    each("fairness", "{n}", FAIRNESS(scheme=REECN, n=between(50))),
    each("step", "{after} flows − {before} flows", MARKED(scheme=REECN).steps("n")),
)
claim("c64", each("ratio", "ECN over RED", of(ECN, DROPS) / of(RED, DROPS)))
claim(
    "c65",
    *(
        each(name, f"{name}, re-ecn over ecn", of(REECN, metric) / of(ECN, metric))
        for name, metric in (("goodput", GOODPUT), ("fairness", FAIRNESS))
    ),
)


def twice_over_once(policed: int) -> Values:
    """Goodput of flows that declare twice their congestion over that of honest ones."""
    return GOODPUT(p=0.01, declared=2.0, policed=policed) / GOODPUT(p=0.01, declared=1.0, policed=policed)


claim("c66", each("ratio", "2 over 1", twice_over_once(2)), charged_once=twice_over_once(1))
INSIDE = GOODPUT(scheme=net.INSIDE, washed=1) / GOODPUT(scheme=net.INSIDE, washed=0)
claim(
    "c67",
    each("positive", "between terminals", m.declared("mark")(scheme=REECN, washed=1)),
    each("ratio", "inside the network", INSIDE),
)
claim(
    "c68",
    each("fairness", "long flows", of(POLICED, FAIR_LONG) - of(RED, FAIR_LONG)),
    each("time", "short flows", of(POLICED, m.SHORT_FLOW) / of(RED, m.SHORT_FLOW)),
)
POINT = "{scheme:s}, {n}"
claim(
    "c69",
    each("utilisation", f"{POINT}: utilisation", PERCENT() / 100),
    each("fairness", f"{POINT}: FI", FAIRNESS()),
    each("goodput", f"{POINT}: goodput over throughput", GOODPUT() / RATE()),
)
beside.register(claim)
