"""What the ledger says beside a verdict: its numbers come from the runs that are shown."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Collection, Mapping
from functools import cache, partial

import numpy as np

from evenflow.claims import Claim, Data, Judgement, judge
from evenflow.kit import Claims
from evenflow.lab import Lab, plain, quotient, short
from evenflow.study import Run, Table

from . import measures as m
from . import network as net
from . import runs as r
from .choices import Options
from .network import LINK, REECN

HEAD = "reecn_lte-"
BY_CHOICE = {"fig06": "x-tcp06", "fig11": "x-tcp11", "fig12": "x-tcp11", "fig16": "x-tcp16"}
"""The experiment that has a figure's runs for every TCP and RED."""
BESIDE = (*("fig05", "fig06", "fig07", "fig10", "fig11", "fig12", "fig13"), *("fig14", "fig15"))
"""Figures with ten flows beside a hundred."""
HUNDRED = ("x-blind",)
"""Experiments of a hundred flows alone, that a claim on such a figure is judged on too."""
RUNS = 10


def _per_flow(run: Run, what: str) -> float:
    """A counter of the dropper over its flows."""
    return m.stage(run, "drop", what) / float(run.json["groups"][net.PHONES]["users"])


def relabelled(table: Table, wanted: Mapping[str, object], made: Mapping[str, object]) -> Table:
    """The runs with some labels, which become others."""
    return Table(
        Run(run.point, {**{k: v for k, v in run.labels.items() if k not in wanted}, **made}, run.seed, run.record)  # type: ignore[dict-item]
        for run in table.runs
        if all(run.labels.get(name) == value for name, value in wanted.items())
    )


def other_choices(claim: Claim, data: Data) -> dict[str, dict[str, Table]]:
    """By "TCP, RED" the tables of a claim's figures with that choice."""
    there = {name.removeprefix(HEAD) for name in claim.experiments}
    if not has_choices(there) or any(HEAD + BY_CHOICE[name] not in data for name in there):
        return {}
    found: dict[str, dict[str, Table]] = {}
    for name in there:
        table = data[HEAD + BY_CHOICE[name]]
        for tcp, red in dict.fromkeys((str(run.labels["tcp"]), str(run.labels["red"])) for run in table.runs):
            made = found.setdefault(f"{tcp}, {red}", {})
            made[HEAD + name] = relabelled(table, {"tcp": tcp, "red": red}, {})
    return found


def ten_flows(claim: Claim, data: Data) -> dict[str, dict[str, Table]]:
    """By length of a run the tables of a claim's figures with ten flows in the place of a hundred."""
    there = {name.removeprefix(HEAD) for name in claim.experiments}
    if not has_ten(there) or any(HEAD + name not in data for name in there):
        return {}
    found: dict[str, dict[str, Table]] = {}
    for name in there - {*HUNDRED}:
        table = data[HEAD + name]
        # figures of one length have no label that says it
        labels = [run.labels for run in table.runs if run.labels["n"] == net.FLOWS[0]]
        for seconds in dict.fromkeys(it.get("seconds") for it in labels):
            made = found.setdefault(f"after {plain(seconds)} s" if seconds is not None else "runs as long", {})
            wanted = {"n": net.FLOWS[0], **({} if seconds is None else {"seconds": seconds})}
            made[HEAD + name] = relabelled(table, wanted, {"n": r.DECIDES})
    others = {HEAD + name: data[HEAD + name] for name in there & {*HUNDRED}}
    return {words: {**made, **others} for words, made in sorted(found.items())}


def has_choices(there: Collection[str]) -> bool:
    """Whether each of these experiments was run with every TCP and RED."""
    return bool(there) and {*there} <= BY_CHOICE.keys()


def has_ten(there: Collection[str]) -> bool:
    """Whether one of these experiments has ten flows beside a hundred, and all others that may be there."""
    return not {*BESIDE}.isdisjoint(there) and {*there} <= {*BESIDE, *HUNDRED}


def published_both_ways(claims: Claims) -> list[str]:
    """Claims that have other choices, or ten flows, beside their verdict."""
    tables = tomllib.loads(claims.file.read_text(encoding="utf-8"))
    return [name for name, it in tables.items() if has_choices(it.get("on", ())) or has_ten(it.get("on", ()))]


def verdicts(claim: Claim, tables: Mapping[str, Mapping[str, Table]]) -> str:
    """The literal verdict on each set of tables, with the comparison that decides it."""
    said = []
    for words, data in tables.items():
        found = judge(list(claim.literal(data)), scale="paper", paper_runs=RUNS, level=claim.level)
        said.append(f"{words}: {found.verdict} ({found.measured.partition('; ')[0]})")
    return "; ".join(said)


def beside(claim: Claim, data: Data) -> str:
    """The verdicts with other TCPs and REDs, and with ten flows."""
    choices, few = verdicts(claim, other_choices(claim, data)), verdicts(claim, ten_flows(claim, data))
    mixed = (
        ""
        if {*HUNDRED}.isdisjoint(name.removeprefix(HEAD) for name in claim.experiments)
        else (f" ({', '.join(HUNDRED)}: a hundred)")
    )
    parts = [f"By TCP and RED: {choices}." if choices else "", f"Ten flows{mixed}, {few}." if few else ""]
    return " ".join(part for part in parts if part)


def register(claims: Claims) -> None:
    """All notes."""

    @cache
    def built(o: Options) -> Mapping[str, Claim]:
        return {claim.id.removeprefix(HEAD): claim for claim in claims.build(o)}

    def lab(data: Data, name: str) -> Lab:
        return Lab(data[HEAD + name])

    for name in published_both_ways(claims):

        @claims.note(name, beside=True)
        def _(data: Data, judgement: Judgement, o: Options, name: str = name) -> str:
            return beside(built(o)[name], data)

    @claims.note("c30", "c31")
    def _greedy(data: Data, judgement: Judgement) -> str:
        """The honest ones beside."""
        it = lab(data, "fig07")
        grid, curve = it.curve("start", m.fairness, policer="A", n=r.DECIDES, greedy=0.0)
        first, last = (f"{short(values)} at {plain(x)} s" for x, values in ((grid[0], curve[0]), (grid[-1], curve[-1])))
        grid, curve = it.curve("start", m.fairness, policer="A", n=r.DECIDES, greedy=0.2)
        best = int(np.argmax([float(np.mean(values)) for values in curve]))
        with_them = ", ".join(f"{short(curve[i])} at {plain(grid[i])} s" for i in sorted({0, best, len(grid) - 1}))
        return f"All honest, FI is {first} and {last}; a fifth greedy, {with_them}."

    @claims.note("c32", "c33")
    def _constant(data: Data, judgement: Judgement) -> str:
        """The other meaning of p."""
        it = lab(data, "fig06")
        high, low = (it.at(marks="fixed", n=r.DECIDES, p=p) for p in (0.2, 0.01))
        ratio = quotient(high.of(m.goodput), low.of(m.goodput))
        return (
            f"With a constant probability goodput at 0.2 is {short(ratio)} times that at 0.01; "
            f"FI is {float(np.mean(low.of(m.fairness))):.4f} and {float(np.mean(high.of(m.fairness))):.4f}."
        )

    @claims.note("c12")
    def _depth(data: Data, judgement: Judgement) -> str:
        """When the innocent are sanctioned."""
        grid, first = lab(data, "x-depth").curve(
            "depth", lambda run: run.json["stages"]["police"]["first_drop"], n=r.DECIDES
        )
        marks = float(
            np.mean([run.json["links"][LINK]["marks"].get("forced", 0) for run in data[HEAD + "x-depth"].runs])
        )
        return (
            f"With a depth of {plain(grid[-1])} s the first packet is dropped after {short(first[-1])} s, mean over "
            f"the flows that lose one. RED's upper piece makes {short(marks)} marks in a run, in clusters."
        )

    @claims.note("c39", "c41", "c65")
    def _echoes(data: Data, judgement: Judgement) -> str:
        """What a start hears of one mark."""
        return (
            "RFC 3168's echo is repeated until CWR arrives, which no retransmission carries (section 6.1.5), and an "
            "ACK that carries it grows no window. Re-ECN's counter says each mark once, so that a flow is back sooner "
            "after its slow start."
        )

    @claims.note("c08", "c09")
    def _starts(data: Data, judgement: Judgement) -> str:
        """What a start meets that is hardly marked."""
        it, said = lab(data, "x-rate"), []
        for p in (q for q in it.grid("p", policed=0) if q <= 0.01):
            told = it.at(p=p, declared=1.0, policed=0)
            losses, marks = (told.of(partial(m.declared, of=of)) for of in ("loss", "mark"))
            said.append(f"{plain(p)}: {short(marks)} and {short(losses)}")
        return (
            "At a small p slow start goes on until a link before the marker drops a window's tail; ten flows start in "
            f"the measurement. Positive packets in a run for marks and for losses, by p: {'; '.join(said)}."
        )

    @claims.note("c16")
    def _allowance(data: Data, judgement: Judgement) -> str:
        """Who uses all that he may."""
        it = lab(data, "x-cust").at(policed=1)

        def of(group: str, what: str) -> str:
            return short(it.of(lambda run: float(run.json["stages"]["police"]["groups"][group][what])))

        may = m.CUST_DEPTH + m.CUST_R * float(np.mean(it.of(m.window_s)))
        return (
            f"Nobody is charged more than depth and tokens, {may:g} B, and a packet: with ten flows "
            f"{of(m.TEN, 'charged')} B, with one {of(m.ONE, 'charged')} B. Of those with one flow "
            f"{of(m.ONE, 'policed_buckets')} of all ever empty their bucket; the others leave part of theirs. The link "
            "is far from full, since those with ten flows are held down."
        )

    @claims.note("c54")
    def _recovery(data: Data, judgement: Judgement) -> str:
        """When the victims lose what they lose."""
        it, said = lab(data, "fig14"), []
        begin, end = net.ATTACK_S
        for s in ("drop-while-empty", "block"):
            spot = it.at(sanction=s, n=r.DECIDES, attackers="honest")
            edges = (begin, begin + 20, begin + 60, end)
            rates = [spot.of(m.mean_between(a, b, net.VICTIMS)) for a, b in itertools.pairwise(edges)]
            tokens = spot.of(lambda run: float(run.json["stages"]["police"]["groups"][net.ATTACK]["least_tokens"]))
            before = short(spot.of(m.victims_before))
            said.append(f"{s}: {', '.join(short(x) for x in rates)} (before: {before}; least tokens {short(tokens)} s)")
        return (
            "Until an attacker's tokens are gone it takes the link, and victims need 20 s to come back; where its "
            "level has gained what it was charged it takes the link for a round trip again. Victims, Mbit/s, in the "
            f"first 20 s of the attack, in the next 40 and in the last 40: {'; '.join(said)}."
        )

    @claims.note("c58")
    def _met(data: Data, judgement: Judgement) -> str:
        """What each class met."""
        spot = lab(data, "fig16").at(marks="red", n=r.DECIDES, premium=0)
        said = ", ".join(f"{100 * float(np.mean(spot.of(m.marked_of(name)))):.2f}" for name in net.CLASSES)
        return (
            "RED's upper piece marks every class alike, so that shares of marked packets are closer than 1 : 5 : 10 : "
            f"20: {said} %."
        )

    @claims.note("c67")
    def _round(data: Data, judgement: Judgement) -> str:
        """What a counter of three bits leaves open."""
        return (
            "Where an ACK covers more than seven segments the sender cannot know whether the counter has gone round, "
            "and takes it to have (draft on re-ECN, section 6.1.3); it then declares eight marks that nobody made."
        )

    @claims.note("c13")
    def _ingress(data: Data, judgement: Judgement) -> str:
        """What the formula counts, and what a policer at the ingress sees."""
        it, said = lab(data, "x-flood"), []
        for x in it.grid("mbps"):
            base = min(1.0, m.formula_mbps(0.01) / x)
            found = float(np.mean(it.at(mbps=x).of(m.flood_dropped)))
            said.append(f"{x:g} Mbit/s: {found:.3f} dropped, {1 - base:.3f} by the formula, {1 - base ** (2 / 3):.3f}")
        return (
            "A policer at the ingress counts the packets between two reports before it drops any, so that to it p "
            "looks less by the share that passes, and a flow is paid more: 1 − (B / X)^(2/3) instead of 1 − B / X. "
            + "; ".join(said)
            + " by that."
        )

    @claims.note("c18")
    def _ratio(data: Data, judgement: Judgement) -> str:
        """What the rule ratio asks before balances."""
        spot = lab(data, "x-cheat").at(rule="ratio", declared=2.0, control="TCP")
        per_flow = {what: partial(_per_flow, what=what) for what in ("credits", "marks_met", "reports")}
        given, met, told = (spot.of(measure) for measure in per_flow.values())
        return (
            "The rule ratio (draft-wagner-conex-audit) calls a flow guilty whose credit is used up, whatever its "
            f"balance is: a flow gives {short(given)} credits, meets {short(met)} marks and reports {short(told)}. The "
            "paper's formula and strict judge by the balance."
        )

    @claims.note("c19")
    def _silent(data: Data, judgement: Judgement) -> str:
        """What pays for a cheat's marks, and what the formula is told."""
        it = lab(data, "x-cheat")
        strict, paper = (it.at(rule=rule, declared=0.0, control="constant") for rule in ("strict", "paper"))
        credits = strict.of(lambda run: m.stage(run, "drop", "credits") / 10)
        seen = paper.of(lambda run: m.stage(run, "drop", "marks_met") / m.stage(run, "drop", "arrived"))
        picked = paper.of(lambda run: m.stage(run, "drop", "sanctioned") / m.stage(run, "drop", "arrived"))
        return (
            "A cheat whose packets are all dropped falls silent, and re-ECN has it send FNE after each second of "
            f"silence: {short(credits)} credits per flow, which pay for marks. By the paper's formula "
            f"{short(100 * picked)} % are picked; of the packets that the dropper audits {short(100 * seen)} % are "
            "marked."
        )

    @claims.note("c46")
    def _gain(data: Data, judgement: Judgement) -> str:
        """The gain itself."""
        it, said = lab(data, "fig13"), []
        for e in it.grid("e", scheme=r.INSIDE, n=r.DECIDES):
            mine, other = (it.at(scheme=s, n=r.DECIDES, e=e).of(m.goodput) for s in (r.INSIDE, r.RENO))
            said.append(f"{short(100 * quotient(mine - other, other))} % at {plain(e)}")
        return f"Gain over Reno: {', '.join(said)}."

    @claims.note("c51")
    def _half(data: Data, judgement: Judgement) -> str:
        """Where the formula and half of the goodput lie."""
        return (
            "The formula says where radio losses alone hold flows to the full link; goodput falls as one over the root "
            "of the error rate, so that half of it is at four times as many."
        )

    @claims.note("c59")
    def _premium(data: Data, judgement: Judgement) -> str:
        """Who marks a class of p = 0."""
        it, said = lab(data, "x-premium"), []
        for upper in ("gentle", "hard", "far"):
            spot = it.at(upper=upper)
            got = spot.of(lambda run: float(run.json["groups"][net.PREMIUM]["marks"]))
            said.append(f"{upper}: {short(got)} marks, {short(spot.of(m.of_group(net.PREMIUM)))} Mbit/s")
        return (
            "Above its upper threshold RED marks with a probability that rises to 1 for every class (gentle), or marks "
            "all (hard); with a threshold of twice as many packets (far) it gets there less often. "
            + "; ".join(said)
            + "."
        )

    @claims.note("c66")
    def _merged(data: Data, judgement: Judgement) -> str:
        """What one charge per round trip hides."""
        it = lab(data, "x-rate")
        twice, once = (it.at(p=0.01, declared=d, policed=2).of(m.goodput) for d in (2.0, 1.0))
        return (
            "Reports of twice as many marks come within the round trip in which policer A charges once. Where it "
            f"charges each of them, goodput is {short(quotient(twice, once))} of that of an honest flow."
        )

    @claims.note("c50")
    def _blind(data: Data, judgement: Judgement) -> str:
        """Goodput of the blind and of the others."""
        it = lab(data, "x-blind")
        said = []
        for sender in ("blind", REECN):
            without, with_them = (short(it.at(sender=sender, e=e).of(m.goodput)) for e in (0.0, 0.05))
            said.append(f"{sender}: {without} and {with_them}")
        return f"Goodput without errors and with 5 %, Mbit/s: {'; '.join(said)}."
