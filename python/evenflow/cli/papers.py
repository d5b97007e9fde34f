"""`papers`, `reproduce` and `claims`: published papers and their ledgers."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import EvenflowError, UsageError, unknown
from ..words import clean
from .base import Jobs, Json, On, Strict, app, checked_place, examples, pairs, place, print_json, workers_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..judge.paper import Paper


class ScaleOption(StrEnum):
    """How much of a paper."""

    quick = "quick"
    paper = "paper"


@app.command(epilog=examples("evenflow papers"))
def papers(as_json: Json = False) -> None:
    """What can be reproduced."""
    from .. import papers as registry
    from ..judge import claims as claims_module
    from ..papers.reproduce import read_ledger, shipped_ledger

    rows: list[dict[str, Any]] = []
    for key in registry.known():
        try:
            paper = registry.load(key)
        except EvenflowError as error:  # a package of somebody else's: the other papers are listed all the same
            broken = {"key": key, "title": str(error), "reference": "", "experiments": 0, "claims": 0}
            rows.append({**broken, "counts": "–", "by_mean": "–"})
            continue
        title = registry.TITLES.get(key, paper.title)
        shipped = read_ledger(shipped_ledger(key))
        row: dict[str, Any] = {"key": key, "title": title, "reference": paper.reference}
        row |= {"experiments": len(paper.experiments), "claims": len(paper.claims)}
        if shipped is None:
            row |= {"counts": "not run at full scale yet", "by_mean": "–"}
        else:
            c = claims_module.count(shipped["claims"])
            row["counts"] = f"{c.holds} / {c.fails} / {c.undecided}"
            row["by_mean"] = f"{c.holds_by_mean} / {c.fails_by_mean} / –"
            if c.apart:
                row["counts"] += f" ({c.apart} apart)"
        rows.append(row)
    if as_json:
        print_json({"papers": rows})
    else:
        from ..show import screens

        screens.papers(rows)


@app.command(
    epilog=examples(
        "evenflow reproduce abc --scale quick",
        "evenflow reproduce abc fig04 fig08 --scale paper",
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
        ScaleOption, typer.Option(help="A few minutes' worth, or the paper's own runs.")
    ] = ScaleOption.quick,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="Choose otherwise where the paper leaves a choice; see its README. Repeatable.",
        ),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Also try every option's other values and say which verdicts change."),
    ] = False,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Where the report goes; default: ./out/<paper>.")
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Re-examine a paper: figures, judged claims, one report.

    Its experiments are run, its figures drawn, its claims judged.
    """
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
    where = None
    try:
        where = checked_place(on, jobs)
    except UsageError as error:
        wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))
    if not as_json:
        count = len(chosen) or len(examined.experiments)
        print(f"{examined.reference}")
        print(f"Scale “{scale.value}”: {count} experiment{'s' if count != 1 else ''}.", flush=True)
        if examined.chosen:
            print("Chosen: " + ", ".join(f"{name} = {value}" for name, value in examined.chosen.items()) + ".")
        print(flush=True)
    from ..run.store import Store, prepare

    prepare(out or Path("out") / examined.folder)
    with Store() as store, workers_at(where, jobs, store) as elsewhere:
        done = work.reproduce(
            examined,
            scale=scale.value,
            experiments=chosen,
            out=out,
            store=store,
            progress=not as_json,
            sensitivity=sensitivity,
            say=(lambda _: None) if as_json else (lambda line: print(line, flush=True)),
            **elsewhere,
        )
    document = done.to_json()
    if as_json:
        print_json(document)
    else:
        from ..show import screens
        from ..show.console import time_span

        print()
        screens.ledger(document, only_failing=True)
        written = f" --out {done.out}" if out is not None or examined.chosen else ""
        print(f"All claims with their numbers: evenflow claims {examined.key}{written}")
        print(f"Took {time_span(done.elapsed_s)} {f'on {on}' if on else f'with {done.jobs} jobs'}. The report:")
        print((done.out / work.REPORT).resolve())
    if done.broken:
        raise EvenflowError(
            "Not everything could be judged; these are defects of Evenflow:\n  " + "\n  ".join(done.broken)
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
        typer.Option("--claim", metavar="NAME", help="One claim whole, with every comparison: c13, or abc-c13."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="The ledger of another choice. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Where `reproduce` wrote; default: ./out/<paper>.")
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """A paper's claims with their numbers, worst first.

    As last judged here; where nothing was run yet, the ledger that ships with Evenflow.
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
            "Nothing was run here yet; this is the ledger that ships with Evenflow. "
            f"Run: evenflow reproduce {again} --scale quick"
        )
    if document is None:
        raise UsageError(f"There is no ledger in {folder}. Run: evenflow reproduce {again} --scale quick")
    try:
        from .. import _core

        if document.get("engine") != _core.ENGINE_ID:
            right = carry.right_to(document, [folder, shipped_ledger(key, chosen).parent])
            told += f" {carry.sentence(right)}" if right else " It was made by another build of the engine."
        for right in document.get("carried", []):
            told += f" {carry.sentence(right)}"
        if not document.get("complete", True):
            told += " Only some experiments were run; claims that need others are not listed."
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
            print(clean(text))
        else:
            from ..show import screens

            screens.ledger(document)
            print(clean(told))
    except EvenflowError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        if not own or os.environ.get("EVENFLOW_DEBUG"):
            raise
        raise not_a_ledger(folder / LEDGER) from None
    _leave(document, strict)


def _one(document: dict[str, Any], key: str, name: str, paper: Paper) -> dict[str, Any]:
    """The document with one claim, and of the rest what is about it."""
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
