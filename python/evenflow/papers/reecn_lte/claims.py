"""All claims of the paper: what is expected stands in `claims.toml`, what is measured here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data
from evenflow.kit import Accept, Claims
from evenflow.lab import Floats, Lab, Measure, plain, quotient, rank_correlation

from . import measures as m
from . import network as net
from . import notes
from . import runs as r
from .choices import Options
from .experiments import experiments
from .network import DT, ECN, LEVEL, LINK, POLICED, RED, REECN

if TYPE_CHECKING:
    from evenflow.study import Run

claims = Claims("reecn_lte", __file__, LEVEL)

N = 100
"""The flows that decide."""


def lab(data: Data, name: str) -> Lab:
    """The runs of an experiment."""
    return Lab(data[f"reecn_lte-{name}"])


EXPERIMENTS = (
    *(f"fig{number:02d}" for number in range(5, 17)),
    *("x-rate", "x-bal", "x-cheat", "x-bleach", "x-cust", "x-gtp", "x-int", "x-prio", "x-mix"),
)
"""What is to be there: twelve figures and nine experiments beyond them."""
CONDITIONS: Mapping[str, Mapping[str, Sequence[float | str]]] = {
    "fig05": {"n": (10, 100), "policer": ("A", "B", r.TIGHT), "r": (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8, 1e4)},
    "fig06": {"n": (10, 100), "marks": ("red", "fixed"), "p": (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)},
    "fig07": {"n": (10, 100), "greedy": (0.0, 0.2), "start": (0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 2e3, 2e5)},
    "fig08": {"n": (5, 10, 25, 50, 100, 200, 400), "scheme": net.SCHEMES},
    "fig08-background": {"background": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "scheme": net.SCHEMES},
    "fig09": {"n": (10, 100), "delay": (5, 10, 20, 50, 100, 200), "scheme": net.SCHEMES},
    "fig09-wired": {"n": (10, 100), "delay": (5, 10, 20, 50, 100, 200), "scheme": net.SCHEMES},
    "fig09-mixed": {"n": (10, 100), "scheme": net.SCHEMES},
    "fig10": {"n": (10, 100), "hops": (2, 4, 5, 6, 8, 10, 12), "scheme": net.SCHEMES},
    "fig10-narrow": {"n": (10, 100), "scheme": net.SCHEMES},
    "fig11": {"n": (10, 100), "scheme": net.SCHEMES},
    "fig13": {"n": (10, 100), "e": (0.0, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)},
    "fig14": {"n": (10, 100), "attackers": (net.HONEST, net.CHEAT, net.LEGACY)},
    "fig15": {"n": (10, 100), "attack": (0, 1)},
    "fig16": {"n": (20, 100, 200), "marks": ("red", "fixed"), "premium": (0, 1)},
    "x-cheat": {"declared": (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)},
    "x-gtp": {"lost": (0.0, 0.3)},
    "x-int": {"trips": (1, 2, 5, 10), "dropper": (0, 1)},
    "x-mix": {"n": (10, 100), "scheme": net.SCHEMES},
    "x-tcp11": {"tcp": ("reno", "newreno", "sack"), "red": ("uniform", "ns2")},
}
"""Hops, round trips, loss, congestion, short and long flows, 10 and 100 flows: which values of which label."""


def _of(json_path: str) -> Measure:
    return lambda run: run.metric(json_path)


# --- Protocol and accounting ----------------------------------------------------------------------------------------


@claims.measure("c01")
def _untouched(data: Data, accept: Accept) -> list[Check]:
    spot = lab(data, "x-gtp").at(lost=0.0, rule="paper")
    return [
        accept("marks", "phones", spot.of(_of("groups.phones.marks"))),
        accept(
            "drops", "end of the tunnel", spot.of(lambda run: float(sum(run.json["stages"]["out"]["drops"].values())))
        ),
    ]


def _signals(run: Run, *links: str, of: str | None = None) -> tuple[float, float]:
    """Marks and drops of links, of all packets or those of one class."""
    found = [run.json["links"][name] for name in links]
    if of is not None:
        found = [it["classes"][of] for it in found if of in it["classes"]]
    return float(sum(sum(it["marks"].values()) for it in found)), float(sum(sum(it["drops"].values()) for it in found))


def _told(run: Run, group: str) -> float:
    """Marks that a group's senders have heard of, those on SYNs too."""
    return float(run.json["groups"][group]["conex"]["told"]["mark"]["packets"])


@claims.measure("c02")
def _adds_up(data: Data, accept: Accept) -> list[Check]:
    def volume(run: Run) -> float:
        marks, drops = _signals(run, "r1-sgw", LINK)
        stages = run.json["stages"]
        twice = marks - stages["out"]["marks_lost"]
        return float(stages["gateway"]["congestion_volume"] - (marks + drops - twice) * (net.PACKET_BYTES + 40))

    def one_queue(run: Run) -> float:
        return _told(run, m.NEAR) - _signals(run, LINK, of=m.NEAR)[0]

    def two_paths(run: Run) -> float:
        met = run.json["stages"][m.GOT]
        return _told(run, m.FAR) + _told(run, m.NEAR) - float(met["cancelled"] + met["negative"])

    def lost(run: Run) -> float:
        gone = m.stage(run, m.SENT, "passed_packets") - m.stage(run, m.GOT, "passed_packets")
        return gone - _signals(run, "pgw-r1", "r1-sgw", "sgw-r2", LINK)[1]

    paths = lab(data, "x-adds").at(run="two paths")
    return [
        accept(
            "difference", "bytes, reports of the base station", lab(data, "x-gtp").at(lost=0.0, rule="paper").of(volume)
        ),
        accept("difference", "marks, one queue", paths.of(one_queue)),
        accept("difference", "marks, two paths", paths.of(two_paths)),
        accept("difference", "drops, two paths", paths.of(lost)),
    ]


@claims.measure("c03")
def _predicts(data: Data, accept: Accept) -> list[Check]:
    def beyond(run: Run) -> float:
        link = run.json["links"][LINK]
        true = sum(link["marks"].values()) / link["arrived_packets"]
        return float(abs(run.json["stages"]["between"]["downstream_congestion"] - true) - 0.2 * true)

    return [accept("beyond", "between the queues", lab(data, "x-bal").at(p=0.0298).of(beyond))]


@claims.measure("c04")
def _balanced(data: Data, accept: Accept) -> list[Check]:
    def share(run: Run) -> float:
        meter = run.json["stages"]["behind"]
        return float(100 * abs(meter["worth"]) / meter["marked_volume"])

    return [accept("share", "behind the last queue", lab(data, "x-bal").at(p=0.0298).of(share))]


@claims.measure("c05")
def _credit(data: Data, accept: Accept) -> list[Check]:
    def credits(stage: str) -> Measure:
        return lambda run: m.stage(run, stage, "credits") / run.json["groups"][net.PHONES]["users"]

    def positive(run: Run) -> float:
        return m.stage(run, m.SENT, "positive") - m.stage(run, m.GOT, "positive") - m.stage(run, m.GOT, "cancelled")

    def others(run: Run) -> float:
        sent, got = ([m.stage(run, at, what) for what in ("neutral", "credits", "negative")] for at in (m.SENT, m.GOT))
        return sum(sent) - sum(got)

    it = lab(data, "x-adds")
    colours = it.at(run="colours")
    return [
        accept("credits", "SYN and data", lab(data, "x-bal").at(p=0.0).of(credits(m.METERS[0]))),
        accept("credits", "SYN-ACK and data", it.at(run="answers").of(credits(m.SENT))),
        accept("difference", "positive, less positive and cancelled", colours.of(positive)),
        accept("difference", "neutral and FNE, less both and negative", colours.of(others)),
    ]


@claims.measure("c06")
def _composed(data: Data, accept: Accept) -> list[Check]:
    return [accept("share", "behind both", 100 * lab(data, "x-bal").at(p=0.0298).of("stages.behind.negative_fraction"))]


def _rates(data: Data, most: float = 1.0) -> list[tuple[float, Floats]]:
    it = lab(data, "x-rate")
    return [(p, it.at(p=p, declared=1.0, policed=0).of(m.throughput)) for p in it.grid("p", policed=0) if p <= most]


@claims.measure("c07")
def _slope(data: Data, accept: Accept) -> list[Check]:
    found = _rates(data)
    x = np.log([p for p, _ in found])
    y = np.log(np.array([values for _, values in found]))
    return [accept("slope", "0.001 to 0.1", np.array([np.polyfit(x, run, 1)[0] for run in y.T]))]


@claims.measure("c08")
def _formula(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-rate")
    return [
        accept("ratio", f"p = {p:g}", it.at(p=p, declared=1.0, policed=0).of(m.rate_ratio(p)))
        for p in it.grid("p", policed=0)
        if p <= 0.03
    ]


@claims.measure("c09")
def _spacing(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-rate")
    return [
        accept("ratio", f"p = {p:g}", it.at(p=p, declared=1.0, policed=0).of(m.spacing_ratio))
        for p in it.grid("p", policed=0)
        if p <= 0.01
    ]


@claims.measure("c10")
def _only_positive(data: Data, accept: Accept) -> list[Check]:
    def beyond(run: Run) -> float:
        # Dropped while empty, a report costs nothing; the packet that takes the level below zero does.
        charged = m.stage(run, "police", "charged")
        declared = m.stage(run, "police", "congestion_volume") + net.PACKET_BYTES * m.stage(run, "police", "credits")
        return max(0.0, charged - declared)

    # What flows pay that declare nothing: their SYN is FNE, and nothing else.
    def first_alone(run: Run) -> float:
        # Policer A may learn T from packets: the price of a SYN is what lowers the level before any token has come.
        # What is charged later adds to the sum and lowers nothing, since the level has grown by then.
        police = run.json["stages"]["police"]
        return float(police["charged"] - police["credits"] * (m.CHARGE_START - police["least_tokens"]))

    def bytes_alone(run: Run) -> float:
        return m.stage(run, "police", "charged") - net.HEADER_BYTES * m.stage(run, "police", "credits")

    it = lab(data, "x-charge")
    return [
        accept("bytes", "policer B, all that is declared", lab(data, "x-cust").at(policed=1).of(beyond)),
        accept("seconds", "policer A, nothing declared", it.at(policer="A", declared=0.0).of(first_alone)),
        accept("bytes", "policer B, nothing declared", it.at(policer="B", declared=0.0).of(bytes_alone)),
    ]


@claims.measure("c11")
def _drift(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-rate")
    return [accept("drift", f"p = {p:g}", it.at(p=p, declared=1.0, policed=0).of(m.drift)) for p in (0.003, 0.01)]


# --- Policers -------------------------------------------------------------------------------------------------------


@claims.measure("c12")
def _depth(data: Data, accept: Accept) -> list[Check]:
    grid, curve = lab(data, "x-depth").curve("depth", m.sanctions, n=N)
    first = max(1.0, float(np.mean(curve[0])))
    found = [
        accept("step", f"{plain(a)} to {plain(b)} s", (curve[i + 1] - curve[i]) / first)
        for i, (a, b) in enumerate(pairwise(grid))
    ]
    found += [
        accept("drops", f"{plain(depth)} s, for ten flows", values * 10 / N)
        for depth, values in zip(grid, curve, strict=True)
        if depth >= 200
    ]
    return found


@claims.measure("c13")
def _unresponsive(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-flood")
    return [
        accept(
            "difference", f"{x:g} Mbit/s", it.at(mbps=x).of(m.flood_dropped) - max(0.0, 1 - m.formula_mbps(0.01) / x)
        )
        for x in it.grid("mbps")
    ]


@claims.measure("c14")
def _spared(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig14")
    policed, free = (it.at(sanction=s, n=N, attackers="honest").of(m.attackers_sent) for s in ("block", "none"))
    return [accept("ratio", "block", quotient(policed, free))]


@claims.measure("c15")
def _capped(data: Data, accept: Accept) -> list[Check]:
    def beyond(run: Run) -> float:
        groups = run.json["stages"]["police"]["groups"].values()
        most = max(max(group["users_charged"]) for group in groups)
        return float(most - (m.CUST_DEPTH + m.CUST_R * m.window_s(run) + net.PACKET_BYTES))

    return [accept("beyond", "the user charged most", lab(data, "x-cust").at(policed=1).of(beyond))]


@claims.measure("c16")
def _per_customer(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-cust")

    def volume(run: Run) -> float:
        groups = run.json["stages"]["police"]["groups"]
        return float(groups[m.TEN]["charged"]) / float(groups[m.ONE]["charged"])

    def rates(run: Run) -> float:
        groups = run.json["groups"]
        return float(groups[m.TEN]["goodput_bps"]) / float(groups[m.ONE]["goodput_bps"])

    return [
        accept("volume", "policed", it.at(policed=1).of(volume)),
        accept("goodput", "not policed", it.at(policed=0).of(rates)),
    ]


@claims.measure("c17")
def _found(data: Data, accept: Accept) -> list[Check]:
    def precision(run: Run) -> float:
        groups = run.json["stages"]["gateway"]["groups"]
        bad = groups[net.ATTACK]["users_congestion_volume"]
        everyone = [(v, True) for v in bad] + [(v, False) for v in groups[net.PHONES]["users_congestion_volume"]]
        first = sorted(everyone, key=lambda it: it[0], reverse=True)[: len(bad)]
        return sum(attacker for _, attacker in first) / len(bad)

    spot = lab(data, "x-rank").at(n=N)
    return [
        accept("precision", "first ten", spot.of(precision)),
        accept("link", "R2 to R3", spot.of(m.at_bottleneck) / 100),
    ]


# --- The dropper ----------------------------------------------------------------------------------------------------


@claims.measure("c18")
def _positive_flows(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-cheat")
    return [
        accept("packets", rule, it.at(rule=rule, declared=2.0, control="TCP").of(m.sanctions))
        for rule in ("strict", "ratio", "paper")
    ]


def _picked(run: Run) -> float:
    found = run.json["stages"]["drop"]
    return float(found["sanctioned"]) / float(found["arrived"])


@claims.measure("c19")
def _negative_flows(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-cheat")
    strict, paper = (it.at(rule=rule, declared=0.0, control="constant") for rule in ("strict", "paper"))
    return [
        accept("strict", "strict", 100 * strict.of(_picked)),
        accept("paper", "paper's formula", paper.of(_picked) - paper.of(m.marked)),
    ]


@claims.measure("c20")
def _no_gain(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-cheat")
    found = []
    for rule in ("strict", "ratio"):
        honest = it.at(rule=rule, declared=1.0, control="TCP").of(m.goodput)
        for share in it.grid("declared", rule=rule, control="TCP"):
            if share < 1:
                mine = it.at(rule=rule, declared=share, control="TCP").of(m.goodput)
                found.append(accept("ratio", f"{rule}, {share:g}", quotient(mine, honest)))
    return found


@claims.measure("c21")
def _not_needed(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-int")
    without, with_it = it.at(trips=1, dropper=0), it.at(trips=1, dropper=1)
    return [
        accept("ratio", "with over without", quotient(with_it.of(m.goodput), without.of(m.goodput))),
        accept("drops", "dropper", with_it.of(m.sanctions)),
    ]


# --- Inside the network ---------------------------------------------------------------------------------------------


@claims.measure("c22")
def _outer_marks(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-gtp")

    def harm(run: Run) -> float:
        out = run.json["stages"]["out"]
        return float(out["marks"]) + float(sum(out["drops"].values()))

    paper, other = it.at(lost=0.0, rule="paper"), it.at(lost=0.0, rule="rfc6040")
    return [accept("paper", "paper's rule", paper.of(harm)), accept("rfc6040", "RFC 6040", other.of(harm))]


@claims.measure("c23")
def _reliable(data: Data, accept: Accept) -> list[Check]:
    def difference(run: Run) -> float:
        stages = run.json["stages"]
        counted, known = (sum(stages[name][what] for what in ("marked", "lost")) for name in ("report", "gateway"))
        return float(counted - known)

    return [accept("difference", "30 % lost", lab(data, "x-gtp").at(lost=0.3, rule="paper").of(difference))]


@claims.measure("c24")
def _once(data: Data, accept: Accept) -> list[Check]:
    def outside(run: Run) -> float:
        return float(run.json["stages"]["report"]["marked"] - run.json["stages"]["out"]["marks_lost"])

    def either(run: Run) -> float:
        stages, phones = run.json["stages"], run.json["groups"][net.PHONES]
        return float(stages["report"]["marked"] - phones["marks"] - stages["out"]["marks_lost"])

    def both(run: Run) -> float:
        # Those marked before the tunnel that it did not lose, and those marked inside, less all that are marked.
        stages = run.json["stages"]
        share = stages["report"]["received"] / stages["into"]["wrapped"]
        return float(
            stages["into"]["marked_before"] * share + stages["report"]["marked_outside"] - stages["report"]["marked"]
        )

    def received(run: Run) -> float:
        return float(run.json["stages"]["report"]["received"] - run.json["stages"]["out"]["unwrapped"])

    def lost(run: Run) -> float:
        names = ("pgw-r1", "r1-sgw", "sgw-r2", LINK, "r3-enb")
        return float(run.json["stages"]["report"]["lost"] - _signals(run, *names)[1])

    spot = lab(data, "x-or").at(marked=3)
    return [
        accept("difference", "marked outside, two queues", lab(data, "x-gtp").at(lost=0.0, rule="paper").of(outside)),
        accept("difference", "marked before, inside or both", spot.of(either)),
        accept("both", "marked before and inside", spot.of(both)),
        accept("difference", "received", spot.of(received)),
        accept("difference", "lost", spot.of(lost)),
    ]


@claims.measure("c25")
def _seldom(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-int")
    often, seldom = it.at(trips=1, dropper=0), it.at(trips=5, dropper=0)
    return [
        accept(name, "5 over 1", quotient(seldom.of(of), often.of(of)))
        for name, of in (("goodput", m.goodput), ("fairness", m.fairness))
    ]


@claims.measure("c26")
def _preference(data: Data, accept: Accept) -> list[Check]:
    spot = lab(data, "x-prio").at(queue="drop-preference")
    legacy, neutral, positive = (spot.of(m.dropped_of(name)) for name in (m.LEGACY, m.NEUTRAL, m.POSITIVE))
    return [
        accept("step", "legacy − neutral", legacy - neutral),
        accept("step", "neutral − positive", neutral - positive),
        accept("ratio", "positive over legacy", quotient(positive, legacy)),
    ]


@claims.measure("c27")
def _one_bottleneck(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig11")
    return [accept("share", s, it.at(scheme=s, n=N).of(m.at_bottleneck)) for s in (*net.SCHEMES, POLICED)]


# --- Figures 5 to 7 -------------------------------------------------------------------------------------------------


@claims.measure("c28")
def _over_r(data: Data, accept: Accept) -> list[Check]:
    it, found = lab(data, "fig05"), []
    for rule, low, high in (("A", 0.25, 8.0), ("B", 30.0, 1e4)):
        grid, curve = it.curve("r", m.goodput, policer=rule, n=N)
        found.append(accept("rank", f"policer {rule}", rank_correlation(grid, curve)))
        ratio = quotient(curve[grid.index(high)], curve[grid.index(low)])
        found.append(accept("rise", f"policer {rule}, {plain(high)} over {plain(low)}", ratio))
    return found


LEAST_START = 3.5 * net.RTT_S / net.K
"""What the first packets of a flow cost under policer A, s."""


@claims.measure("c29")
def _over_start(data: Data, accept: Accept) -> list[Check]:
    it, found = lab(data, "fig07"), []
    for rule in ("A", "B"):
        for greedy in (0.0, 0.2):
            grid, curve = it.curve("start", m.goodput, policer=rule, n=N, greedy=greedy)
            keep = [i for i, x in enumerate(grid) if rule == "B" or x >= LEAST_START]
            rank = rank_correlation([grid[i] for i in keep], curve[keep])
            found.append(accept("rank", f"policer {rule}, {'a fifth greedy' if greedy else 'all honest'}", rank))
    return found


@claims.measure("c30")
def _less_fair(data: Data, accept: Accept) -> list[Check]:
    grid, curve = lab(data, "fig07").curve("start", m.fairness, policer="A", n=N, greedy=0.2)
    return [
        accept("rank", "a fifth greedy", rank_correlation(grid, curve)),
        accept("fall", f"{plain(grid[0])} − {plain(grid[-1])} s", curve[0] - curve[-1]),
    ]


@claims.measure("c31")
def _later(data: Data, accept: Accept) -> list[Check]:
    grid, curve = lab(data, "fig07").curve("start", m.first_greedy, policer="A", n=N, greedy=0.2)
    return [accept("rank", "first sanction", rank_correlation(grid, curve))]


@claims.measure("c32")
def _less_with_p(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig06")
    high, low = (it.at(marks="red", n=N, p=p).of(m.goodput) for p in (0.2, 0.01))
    return [accept("ratio", "RED, 0.2 over 0.01", quotient(high, low))]


@claims.measure("c33")
def _fairer_with_p(data: Data, accept: Accept) -> list[Check]:
    grid, curve = lab(data, "fig06").curve("p", m.fairness, marks="red", n=N)
    return [accept("rank", "RED", rank_correlation(grid, curve))]


# --- Figures 11 and 12 ----------------------------------------------------------------------------------------------


def _by_scheme(data: Data, measure: Measure, name: str = "fig11") -> dict[str, Floats]:
    it = lab(data, name)
    return {s: it.at(scheme=s, n=N).of(measure) for s in (DT, RED, ECN, REECN, POLICED)}


@claims.measure("c34")
def _fluctuates(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.fluctuation)
    return [accept("ratio", f"over {s}", quotient(found[DT], found[s])) for s in (RED, ECN, POLICED)]


@claims.measure("c35")
def _lowest(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.utilisation)
    return [accept("difference", s, found[s] - found[DT]) for s in (RED, ECN, POLICED)]


@claims.measure("c36")
def _red_above(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.goodput)
    return [accept("ratio", "RED over drop-tail", quotient(found[RED], found[DT]))]


@claims.measure("c37")
def _red_below(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.goodput)
    return [accept("difference", f"{s} − red", found[s] - found[RED]) for s in (ECN, POLICED)]


@claims.measure("c38")
def _alike(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.utilisation)
    return [accept("difference", f"{POLICED} − ecn", found[POLICED] - found[ECN])]


def _part(data: Data, measure: Measure, sign: float) -> Floats:
    found = _by_scheme(data, measure)
    return 100 * sign * quotient(found[ECN] - found[POLICED], found[POLICED] if sign > 0 else found[ECN])


@claims.measure("c39")
def _early(data: Data, accept: Accept) -> list[Check]:
    return [accept("difference", "0 to 30 s", _part(data, m.mean_between(0.0, 30.0), 1.0))]


@claims.measure("c40")
def _late(data: Data, accept: Accept) -> list[Check]:
    return [accept("difference", "last 100 s", _part(data, m.last(100.0), -1.0))]


@claims.measure("c41")
def _slow_start(data: Data, accept: Accept) -> list[Check]:
    later = _by_scheme(data, m.fair_after)
    return [
        accept("drops", POLICED, _by_scheme(data, m.sanctions)[POLICED]),
        accept("later", f"{POLICED} − ecn", later[POLICED] - later[ECN]),
    ]


@claims.measure("c42")
def _fairer(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.fairness, "fig12")
    return [accept(other, f"{s} − {other}", found[s] - found[other]) for s in (ECN, POLICED) for other in (RED, DT)]


@claims.measure("c43")
def _least_fair(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.fairness, "fig12")
    return [accept("difference", f"{s} − droptail", found[s] - found[DT]) for s in (RED, ECN, POLICED)]


@claims.measure("c44")
def _together(data: Data, accept: Accept) -> list[Check]:
    rates, fair = (_by_scheme(data, of, "fig12") for of in (m.goodput, m.fairness))
    steps = list(pairwise((DT, RED, ECN, POLICED)))
    return [
        *(accept("goodput", f"{a} to {b}", 100 * (quotient(rates[b], rates[a]) - 1)) for a, b in steps),
        *(accept("fairness", f"{a} to {b}", fair[b] - fair[a]) for a, b in steps),
    ]


# --- Figure 13 ------------------------------------------------------------------------------------------------------


def _errors(data: Data, scheme: str, measure: Measure) -> tuple[list[float], Floats]:
    return lab(data, "fig13").curve("e", measure, scheme=scheme, n=N)


@claims.measure("c45")
def _few_errors(data: Data, accept: Accept) -> list[Check]:
    found = []
    for name, of, scale in (("goodput", m.goodput, net.CAPACITY_MBPS), ("fairness", m.fairness, 1.0)):
        grid, curve = _errors(data, r.INSIDE, of)
        found += [
            accept(name, f"{name}, e = {e:g}", values / scale)
            for e, values in zip(grid, curve, strict=True)
            if e <= 0.001
        ]
    return found


@claims.measure("c46")
def _shrinks(data: Data, accept: Accept) -> list[Check]:
    grid, mine = _errors(data, r.INSIDE, m.goodput)
    other = _errors(data, r.RENO, m.goodput)[1]
    return [accept("rank", "gain over Reno", rank_correlation(grid, quotient(mine - other, other)))]


@claims.measure("c47")
def _undifferentiated(data: Data, accept: Accept) -> list[Check]:
    curves = [_errors(data, s, m.goodput) for s in (r.INSIDE, r.END, r.RENO)]
    found = []
    for i, e in enumerate(curves[0][0]):
        if e >= 0.05:
            each = np.array([curve[i] for _, curve in curves])
            found.append(accept("ratio", f"e = {e:g}", each.max(axis=0) / each.min(axis=0)))
    return found


@claims.measure("c48")
def _falls(data: Data, accept: Accept) -> list[Check]:
    grid, curve = _errors(data, r.INSIDE, m.goodput)
    return [accept("ratio", "5 % over none", quotient(curve[grid.index(0.05)], curve[grid.index(0.0)]))]


@claims.measure("c49")
def _constant(data: Data, accept: Accept) -> list[Check]:
    grid, curve = _errors(data, r.INSIDE, m.fairness)
    return [
        accept("ratio", f"e = {e:g}", quotient(values, curve[0]))
        for e, values in zip(grid, curve, strict=True)
        if e > 0
    ]


@claims.measure("c50")
def _cause(data: Data, accept: Accept) -> list[Check]:
    def share(run: Run) -> float:
        links = run.json["links"]
        radio = float(links["radio"]["drops"].get("loss", 0))
        others = sum(sum(link["marks"].values()) + sum(link["drops"].values()) for link in links.values()) - radio
        return float(100 * radio / (radio + others))

    def cuts(run: Run) -> float:
        found = run.json["groups"][net.PHONES]["senders"]["reductions"]
        return float(100 * (1 - found.get("mark", 0) / sum(found.values())))

    it, blind = lab(data, "fig13"), lab(data, "x-blind")
    e = 0.05

    def kept(sender: str) -> Floats:
        with_errors, without = (blind.at(sender=sender, e=at).of(m.goodput) for at in (e, 0.0))
        return quotient(with_errors, (1 - e) * without)

    return [
        *(accept("share", f"{s}, signals", it.at(scheme=s, n=N, e=e).of(share)) for s in (r.INSIDE, r.END)),
        *(accept("share", f"{s}, reductions", it.at(scheme=s, n=N, e=e).of(cuts)) for s in (r.INSIDE, r.END)),
        accept("blind", "blind to losses", kept("blind")),
        accept("sighted", REECN, kept(REECN)),
    ]


@claims.measure("c51")
def _knee(data: Data, accept: Accept) -> list[Check]:
    grid, curve = _errors(data, r.INSIDE, m.goodput)
    formula = 1.5 * (N * net.PACKET_BYTES * 8 / (net.CAPACITY_MBPS * 1e6 * net.RTT_S)) ** 2

    def knee(values: Floats) -> float:
        half = values[0] / 2
        for (a, left), (b, right) in pairwise(list(zip(grid, values, strict=True))[1:]):
            if left >= half > right:
                part = (left - half) / (left - right)
                return math.exp(math.log(a) + part * (math.log(b) - math.log(a)))
        return math.nan

    return [accept("ratio", "half of the goodput", np.array([knee(run) / formula for run in curve.T]))]


# --- Figures 14 to 16 -----------------------------------------------------------------------------------------------


def _attack(data: Data, measure: Measure, sanction: str) -> Floats:
    return lab(data, "fig14").at(sanction=sanction, n=N, attackers="honest").of(measure)


@claims.measure("c52")
def _throttled(data: Data, accept: Accept) -> list[Check]:
    policed, free = (_attack(data, m.attack_during, s) for s in ("drop-while-empty", "none"))
    return [accept("ratio", "attackers", quotient(policed, free))]


@claims.measure("c53")
def _victims(data: Data, accept: Accept) -> list[Check]:
    free = _attack(data, m.victims_during, "none")
    return [
        accept("ratio", s, quotient(_attack(data, m.victims_during, s), free)) for s in ("drop-while-empty", "block")
    ]


@claims.measure("c54")
def _stable(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("ratio", s, quotient(_attack(data, of, s), _attack(data, m.victims_before, s)))
        for s, of in (("drop-while-empty", m.victims_during), ("block", m.victims_settled))
    ]


@claims.measure("c55")
def _faster(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig15")
    free = it.at(sanction="none", n=N, attack=1).of(m.page_median)
    return [
        accept("ratio", s, quotient(it.at(sanction=s, n=N, attack=1).of(m.page_median), free))
        for s in ("drop-while-empty", "block")
    ]


@claims.measure("c56")
def _answer(data: Data, accept: Accept) -> list[Check]:
    offered = 10 * net.CAPACITY_MBPS / (N + N // 10) * (N // 10)
    return [accept("ratio", s, _attack(data, m.attack_early, s) / offered) for s in ("drop-while-empty", "block")]


def _classes(data: Data, marks: str, premium: int = 0) -> dict[str, Floats]:
    spot = lab(data, "fig16").at(marks=marks, n=100, premium=premium)
    names = (*net.CLASSES, *((net.PREMIUM,) if premium else ()))
    return {name: spot.of(m.class_rate(name)) for name in names}


@claims.measure("c57")
def _separated(data: Data, accept: Accept) -> list[Check]:
    found = _classes(data, "red")
    ordered = lab(data, "fig16").at(marks="red", n=N, premium=0).of(m.in_order(tuple(net.CLASSES)))
    return [
        *(accept("ratio", f"{a} over {b}", quotient(found[a], found[b])) for a, b in pairwise(net.CLASSES)),
        accept("bins", "bins of 20 s in order", 100 * ordered),
    ]


@claims.measure("c58")
def _ratios(data: Data, accept: Accept) -> list[Check]:
    checks = []
    for marks in ("red", "fixed"):
        found = _classes(data, marks)
        for name, p in list(net.CLASSES.items())[1:]:
            wanted = math.sqrt(net.CLASSES["one"] / p)
            checks.append(accept(marks, f"{marks}, {name}", quotient(found[name], found["one"]) / wanted))
    return checks


@claims.measure("c59")
def _premium(data: Data, accept: Accept) -> list[Check]:
    found = _classes(data, "red", premium=1)
    marks = lab(data, "fig16").at(marks="red", n=100, premium=1).of(_of(f"groups.{net.PREMIUM}.marks"))
    return [
        *(accept("ratio", f"over {name}", quotient(found[net.PREMIUM], found[name])) for name in net.CLASSES),
        accept("marks", "premium", marks),
    ]


# --- Breadth --------------------------------------------------------------------------------------------------------


@claims.measure("c60")
def _covered(data: Data, accept: Accept, o: Options) -> list[Check]:
    """What section 4 of the dossier lists, less what the points at the paper's scale have."""
    there = {e.id.removeprefix("reecn_lte-"): [p.labels for p in e.points("paper")] for e in experiments(o)}
    found = [accept("missing", "experiments", float(len(set(EXPERIMENTS) - there.keys())))]
    for name, wanted in CONDITIONS.items():
        for label, values in wanted.items():
            have = {labels[label] for labels in there[name] if label in labels}
            found.append(accept("missing", f"{name}, {label}", float(len(set(values) - have))))
    return found


@claims.measure("c61")
def _over_delay(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig09")
    grid, rates = it.curve("delay", m.goodput, scheme=ECN, n=10)
    fair = it.curve("delay", m.fairness, scheme=ECN, n=10)[1]
    return [
        accept("rank", "goodput", rank_correlation(grid, rates)),
        accept("fairness", f"{plain(grid[0])} − {plain(grid[-1])} ms", fair[0] - fair[-1]),
    ]


@claims.measure("c62")
def _over_hops(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig10")
    grid, rates = it.curve("hops", m.goodput, scheme=REECN, n=N)
    fair = it.curve("hops", m.fairness, scheme=REECN, n=N)[1]
    five = rates[grid.index(5)]
    found = [
        accept("ratio", f"{plain(h)} hops", quotient(values, five))
        for h, values in zip(grid, rates, strict=True)
        if h <= 8 and h != 5
    ]
    return [*found, accept("fairness", "2 − 8 hops", fair[grid.index(2)] - fair[grid.index(8)])]


@claims.measure("c63")
def _over_flows(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "fig08")
    grid, fair = it.curve("n", m.fairness, scheme=REECN)
    marks = it.curve("n", m.marked, scheme=REECN)[1]
    return [
        *(accept("fairness", f"{plain(n)} flows", v) for n, v in zip(grid, fair, strict=True) if n >= 50),
        *kit.order(accept, "step", [(f"{plain(n)} flows", v) for n, v in zip(grid, marks, strict=True)]),
    ]


@claims.measure("c64")
def _marks_instead(data: Data, accept: Accept) -> list[Check]:
    found = _by_scheme(data, m.queue_drops)
    return [accept("ratio", "ECN over RED", quotient(found[ECN], found[RED]))]


@claims.measure("c65")
def _no_control(data: Data, accept: Accept) -> list[Check]:
    return [
        accept(name, f"{name}, re-ecn over ecn", quotient(found[REECN], found[ECN]))
        for name, found in (("goodput", _by_scheme(data, m.goodput)), ("fairness", _by_scheme(data, m.fairness)))
    ]


@claims.measure("c66")
def _slower(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-rate")
    twice, once = (it.at(p=0.01, declared=d, policed=1).of(m.goodput) for d in (2.0, 1.0))
    return [accept("ratio", "2 over 1", quotient(twice, once))]


@claims.measure("c67")
def _washed(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-bleach")

    inside = [it.at(scheme=r.INSIDE, washed=w).of(m.goodput) for w in (1, 0)]
    return [
        accept("positive", "between terminals", it.at(scheme=REECN, washed=1).of(partial(m.declared, of="mark"))),
        accept("ratio", "inside the network", quotient(*inside)),
    ]


@claims.measure("c68")
def _mixed(data: Data, accept: Accept) -> list[Check]:
    it = lab(data, "x-mix")
    mine, red = it.at(scheme=POLICED, n=N), it.at(scheme=RED, n=N)
    long = m.fairness_of(net.PHONES)
    return [
        accept("fairness", "long flows", mine.of(long) - red.of(long)),
        accept("time", "short flows", quotient(mine.of(m.short_median), red.of(m.short_median))),
    ]


@claims.measure("c69")
def _bounds(data: Data, accept: Accept) -> list[Check]:
    found = []
    for labels, spot in lab(data, "fig08").points():
        words = f"{labels['scheme']}, {plain(labels['n'])} flows"
        found += [
            accept("utilisation", f"{words}: utilisation", spot.of(m.utilisation) / 100),
            accept("fairness", f"{words}: FI", spot.of(m.fairness)),
            accept("goodput", f"{words}: goodput over throughput", quotient(spot.of(m.goodput), spot.of(m.throughput))),
        ]
    return found


notes.register(claims)
