"""`papers`, `reproduce` and `claims`: published papers and their results."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import EvenflowError, UsageError, unknown
from .base import Jobs, Json, On, Strict, app, checked_place, examples, pairs, place, print_json, say, workers_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..judge.paper import Paper


class ScaleOption(StrEnum):
    """Scales of a reproduction."""

    quick = "quick"
    paper = "paper"


class UntilOption(StrEnum):
    """When a reproduction stops adding seeds."""

    all = "all"
    decided = "decided"


@app.command(epilog=examples("evenflow papers"))
def papers(as_json: Json = False) -> None:
    """List the installed papers and their results."""
    from .. import papers as registry
    from ..judge import claims as claims_module
    from ..papers.reproduce import read_ledger, shipped_ledger

    rows: list[dict[str, Any]] = []
    for key in registry.installed():
        try:
            paper = registry.load(key)
        except EvenflowError as error:  # the other papers are listed all the same
            broken = {"key": key, "title": str(error), "reference": "", "experiments": 0, "claims": 0}
            rows.append({**broken, "counts": "–", "by_mean": "–"})
            continue
        shipped = read_ledger(shipped_ledger(key))
        row: dict[str, Any] = {"key": key, "title": paper.listed or paper.title, "reference": paper.reference}
        row |= {"experiments": len(paper.experiments), "claims": len(paper.claims)}
        if shipped is None:
            row |= {"counts": "not run at full scale yet", "by_mean": "–"}
        else:
            c = claims_module.count(shipped["claims"])
            row |= {"holds": c.holds, "fails": c.fails, "undecided": c.undecided, "apart": c.apart}
            row["counts"] = f"{c.holds} / {c.fails} / {c.undecided}"
            row["by_mean"] = f"{c.holds_by_mean} / {c.fails_by_mean} / –"
            if c.apart:
                row["counts"] += f" ({c.apart} apart)"
        rows.append(row)
    if as_json:
        print_json({"papers": rows})
    else:
        from ..show import screens

        screens.papers(
            rows, registry.missing() or "Results at the paper's own scale. `evenflow claims PAPER` lists every claim."
        )


@app.command(
    epilog=examples(
        "evenflow reproduce abc --scale quick",
        "evenflow reproduce abc fig04 fig08 --scale paper",
        "evenflow reproduce conex --scale paper --until decided",
        "evenflow reproduce wtp --option red_spread=ns2",
        "evenflow reproduce wtp --scale paper --on slurm:batch",
    )
)
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper's key; see: evenflow papers.")],
    experiments: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT]...", help="Only these; default: all.")
    ] = None,
    scale: Annotated[
        ScaleOption, typer.Option(help="quick: a few minutes; paper: the paper's own number of runs.")
    ] = ScaleOption.quick,
    until: Annotated[
        UntilOption,
        typer.Option(help="all: every seed of the scale; decided: add seeds only where a claim is inconclusive."),
    ] = UntilOption.all,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="Set a choice that the paper leaves open; see its README. Repeatable.",
        ),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Also try the other values of every option and list the verdicts that change."
        ),
    ] = False,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Folder of the report; default: ./out/<paper>.")
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Reproduce a paper: figures, judged claims, one report."""
    from .. import papers as registry
    from ..papers import reproduce as work

    examined = registry.load(paper)
    chosen: list[str] = []
    wrong: list[str] = []
    for name in experiments or []:
        try:
            chosen.append(examined.experiment(name).id)
        except UsageError as error:
            wrong.append(str(error))
    try:
        examined = examined.with_options(pairs("--option", "NAME=VALUE", options))
    except UsageError as error:
        wrong.append(str(error))
    if sensitivity and not examined.options:
        wrong.append(f"--sensitivity: {examined.key} has no options to vary.")
    if until is UntilOption.decided and (scale is not ScaleOption.paper or sensitivity):
        wrong.append("--until decided: needs --scale paper, without --sensitivity.")
    where = None
    try:
        where = checked_place(on, jobs)
    except UsageError as error:
        wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))
    if not as_json:
        count = len(chosen) or len(examined.experiments)
        say(f"{examined.reference}")
        say(f"Scale “{scale.value}”: {count} experiment{'s' if count != 1 else ''}.", flush=True)
        if examined.chosen:
            say("Options: " + ", ".join(f"{name} = {value}" for name, value in examined.chosen.items()) + ".")
        say(flush=True)
    from ..run.files import prepare
    from ..run.store import Store

    prepare(out or Path("out") / examined.folder)
    with Store() as store, workers_at(where, jobs, store) as elsewhere:
        done = work.reproduce(
            examined,
            scale=scale.value,
            until_decided=until is UntilOption.decided,
            experiments=chosen,
            out=out,
            store=store,
            progress=not as_json,
            sensitivity=sensitivity,
            say=(lambda _: None) if as_json else (lambda line: say(line, flush=True)),
            **elsewhere,
        )
    document = done.to_json()
    if as_json:
        print_json(document)
    else:
        from ..show import screens
        from ..show.console import time_span

        say()
        screens.ledger(document, brief=True, verdicts=("fails",))
        written = f" --out {done.out}" if out is not None or examined.chosen else ""
        say(f"All claims with their numbers: evenflow claims {examined.key}{written}")
        say(f"Took {time_span(done.elapsed_s)} {f'on {on}' if on else f'with {done.jobs} jobs'}. The report:")
        say((done.out / work.REPORT).resolve())
    if done.broken:
        raise EvenflowError(
            "Some claims or figures failed; please report these defects of Evenflow:\n  " + "\n  ".join(done.broken)
        )
    _leave(document, strict)


@app.command(
    epilog=examples(
        "evenflow claims abc",
        "evenflow claims wtp --out out/wtp --strict",
        "evenflow claims conex --option charge=pass",
    )
)
def claims(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper's key; see: evenflow papers.")],
    claim: Annotated[
        str | None,
        typer.Option("--claim", metavar="NAME", help="Show one claim with every comparison: c13, or abc-c13."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Results with another choice. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=place, metavar="DIR", help="Folder that `reproduce` wrote; default: ./out/<paper>."),
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """List a paper's claims with verdicts and numbers.

    Shows your last run. Without one, it shows the results that ship with the paper.
    """
    from .. import papers as registry
    from ..papers import carry
    from ..papers.reproduce import LEDGER, not_a_ledger, read_ledger, read_shipped, shipped_ledger

    key = registry.key_of(paper)
    chosen: Mapping[str, str] = {}
    name, again = key, key
    if options:
        examined = registry.load(key).with_options(pairs("--option", "NAME=VALUE", options))
        chosen, name = examined.chosen, examined.folder
        again = " ".join([key, *(f"--option {one}={value}" for one, value in chosen.items())])
    folder = out or Path("out") / name
    document = read_ledger(folder / LEDGER)
    own = document is not None
    told = f"From {folder / LEDGER}."
    if document is None and out is None:
        document = read_shipped(key, chosen)
        told = (
            "No run of yours was found; these results ship with the paper. "
            f"Run: evenflow reproduce {again} --scale quick"
        )
    if document is None:
        raise UsageError(f"{folder} has no results. Run: evenflow reproduce {again} --scale quick")
    try:
        from .. import _core

        if document.get("engine") != _core.ENGINE_ID:
            right = carry.right_to(document, [folder, shipped_ledger(key, chosen).parent])
            told += f" {carry.sentence(right)}" if right else " Another engine version computed them."
        for right in document.get("carried", []):
            told += f" {carry.sentence(right)}"
        if not document.get("complete", True):
            told += " Only some experiments were run; claims on the others are not listed."
        if claim is not None:
            document = _one(document, key, claim, registry.load(key))
        if as_json:
            from ..judge.claims import worst_first

            print_json({**document, "claims": worst_first(document["claims"])})
        elif claim is not None:
            from ..show import one_claim

            (row,) = document["claims"]
            shown = {name: document.get(name) or [] for name in ("sensitivity", "history")}
            text = one_claim.claim(row, scale=document.get("scale", "quick"), told=told, **shown)
            say(text)
        else:
            from ..show import screens

            screens.ledger(document)
            say(told)
    except EvenflowError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        if not own or os.environ.get("EVENFLOW_DEBUG"):
            raise
        raise not_a_ledger(folder / LEDGER) from None
    _leave(document, strict)


def _one(document: dict[str, Any], key: str, name: str, paper: Paper) -> dict[str, Any]:
    """The document reduced to one claim."""
    rows = {row["id"]: row for row in document["claims"]}
    short = {row_id.removeprefix(f"{key}-"): row_id for row_id in rows}
    wanted = name.strip().casefold().removeprefix(f"{key}-")
    if wanted not in short and wanted.removeprefix("c").isdigit():
        wanted = f"c{int(wanted.removeprefix('c')):02d}"
    if wanted not in short:
        raise unknown(f"claim of {key}", name, sorted(short))
    row = rows[short[wanted]]
    return {
        **document,
        "claims": [row],
        "sensitivity": [
            {**option, "changes": [change for change in option["changes"] if change["id"] == row["id"]]}
            for option in document.get("sensitivity") or []
        ],
        "history": [change.to_json() for change in paper.changes if change.concerns(row["id"])],
    }


def _leave(document: Mapping[str, Any], strict: bool) -> None:
    verdicts = {row["verdict"] for row in document["claims"]}
    if strict and "fails" in verdicts:
        raise typer.Exit(3)
    if strict and "undecided" in verdicts:
        raise typer.Exit(4)
