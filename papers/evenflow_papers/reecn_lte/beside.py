"""Verdicts beside a claim's own: with every TCP and RED, and with ten flows instead of a hundred."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from functools import cache

from evenflow.claims import Claim, Data, Judgement, judge
from evenflow.kit import Claims
from evenflow.lab import plain
from evenflow.study import Run, Table

from .network import DECIDES, FLOWS, Options

HEAD = "reecn_lte-"
BY_CHOICE = {"fig06": "x-tcp06", "fig11": "x-tcp11", "fig12": "x-tcp11", "fig16": "x-tcp16"}
"""The experiment that has a figure's runs for every TCP and RED."""
BESIDE = (*("fig05", "fig06", "fig07", "fig10", "fig11", "fig12", "fig13"), *("fig14", "fig15"))
"""Figures with ten flows as well as a hundred."""
HUNDRED = {"x-blind"}
"""Experiments of a hundred flows alone, that a claim on such a figure is judged on too."""
RUNS = 10

Tables = dict[str, dict[str, Table]]


def relabelled(table: Table, wanted: Mapping[str, object], made: Mapping[str, object]) -> Table:
    """The runs with some labels, which become others."""
    return Table(
        Run(run.point, {**{k: v for k, v in run.labels.items() if k not in wanted}, **made}, run.seed, run.record)  # type: ignore[dict-item]
        for run in table.runs
        if all(run.labels.get(name) == value for name, value in wanted.items())
    )


def has_choices(there: Collection[str]) -> bool:
    """Whether each of these experiments was run with every TCP and RED."""
    return bool(there) and {*there} <= BY_CHOICE.keys()


def has_ten(there: Collection[str]) -> bool:
    """Whether these experiments have ten flows as well as a hundred, but for those of a hundred alone."""
    return not {*BESIDE}.isdisjoint(there) and {*there} <= {*BESIDE, *HUNDRED}


def figures(claim: Claim) -> set[str]:
    """The experiments that a claim is judged on."""
    return {name.removeprefix(HEAD) for name in claim.experiments}


def other_choices(claim: Claim, data: Data) -> Tables:
    """By "TCP, RED" the tables of a claim's figures with that choice."""
    there = figures(claim)
    found: Tables = {}
    if not has_choices(there) or any(HEAD + BY_CHOICE[name] not in data for name in there):
        return found
    for name in there:
        table = data[HEAD + BY_CHOICE[name]]
        for tcp, red in dict.fromkeys((str(run.labels["tcp"]), str(run.labels["red"])) for run in table.runs):
            found.setdefault(f"{tcp}, {red}", {})[HEAD + name] = relabelled(table, {"tcp": tcp, "red": red}, {})
    return found


def ten_flows(claim: Claim, data: Data) -> Tables:
    """By length of a run the tables of a claim's figures with ten flows in the place of a hundred."""
    there = figures(claim)
    found: Tables = {}
    if not has_ten(there) or any(HEAD + name not in data for name in there):
        return found
    for name in there - HUNDRED:
        table = data[HEAD + name]
        for seconds in dict.fromkeys(run.labels.get("seconds") for run in table.runs if run.labels["n"] == FLOWS[0]):
            words = "runs as long" if seconds is None else f"after {plain(seconds)} s"
            wanted = {"n": FLOWS[0], **({} if seconds is None else {"seconds": seconds})}
            found.setdefault(words, {})[HEAD + name] = relabelled(table, wanted, {"n": DECIDES})
    others = {HEAD + name: data[HEAD + name] for name in there & HUNDRED}
    return {words: {**made, **others} for words, made in sorted(found.items())}


def verdicts(claim: Claim, tables: Tables) -> str:
    """The literal verdict on each set of tables, with the comparison that decides it."""
    said = []
    for words, data in tables.items():
        found = judge(list(claim.literal(data)), scale="paper", paper_runs=RUNS, level=claim.level)
        said.append(f"{words}: {found.verdict} ({found.measured.partition('; ')[0]})")
    return "; ".join(said)


def register(claims: Claims) -> None:
    """These verdicts beside every claim on such figures."""

    @cache
    def built(o: Options) -> Mapping[str, Claim]:
        return {claim.id.removeprefix(HEAD): claim for claim in claims.build(o)}

    for name, table in tomllib.loads(claims.file.read_text(encoding="utf-8")).items():
        there = table.get("on", ())
        if not has_choices(there) and not has_ten(there):
            continue

        @claims.note(name, beside=True)
        def _(data: Data, judgement: Judgement, o: Options, name: str = name) -> str:
            claim = built(o)[name]
            choices, few = verdicts(claim, other_choices(claim, data)), verdicts(claim, ten_flows(claim, data))
            mixed = " (x-blind: a hundred)" if figures(claim) & HUNDRED else ""
            parts = [f"By TCP and RED: {choices}." if choices else "", f"Ten flows{mixed}, {few}." if few else ""]
            return " ".join(part for part in parts if part)
