"""`store`: what is kept of finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import EvenflowError, UsageError
from .base import Jobs, Json, app, print_json, share

store = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What is kept of finished runs.")
app.add_typer(store, name="store")


@store.callback()
def start() -> None:
    """What is kept of finished runs."""


@store.command()
def carry(
    engine: Annotated[str, typer.Option("--from", metavar="ENGINE", help="The engine that made the runs: its id.")],
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...", help="Only these papers, or choices of one (conex-charge=pass); default: all it ran."
        ),
    ] = None,
    sample: Annotated[
        str, typer.Option(metavar="2%", help="Share of the runs that is repeated, in each stratum.")
    ] = "2%",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--except",
            metavar="EXPERIMENT",
            help="Its runs are another engine's by intent, and are made again. Repeatable.",
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Let an earlier engine's runs stand for this one, if a random sample gives the same numbers.

    Repeats a sample of the runs behind the papers' ledgers, stratified by experiment and mechanism, and compares the
    hashes with those of the engine that made them. One difference, and nothing is carried.

    Example: evenflow store carry --from fb34eed33a9989f0
    """
    from .. import papers as registry
    from ..papers import carry as work
    from ..papers.reproduce import shipped_ledger
    from ..run.store import Store, write_whole

    chosen = [registry.load_with_options(name) for name in papers or registry.with_ledgers(registry.TITLES)]
    places = {one.folder: (Path("out") / one.folder, shipped_ledger(one.key, one.chosen).parent) for one in chosen}
    part = share("--sample", sample)
    maker = work.named(engine, work.known_engines([folder for pair in places.values() for folder in pair]))
    wanted = [(one, work.runs_of(maker, *places[one.folder])) for one in chosen]
    missing = [paper.folder for paper, runs in wanted if not runs]
    if papers and missing:
        raise UsageError(f"Engine {maker} made no runs of {', '.join(missing)}.")
    with Store() as kept:
        found = work.carry(
            [(paper, runs) for paper, runs in wanted if runs],
            kept,
            sample=part,
            without=without or [],
            jobs=jobs,
            progress=not as_json,
            say=(lambda _: None) if as_json else (lambda line: print(line, flush=True)),
        )
    document = found.to_json()
    written: list[Path] = []
    if found.equal:
        for key in found.papers:
            written.append(places[key][0] / work.CARRIED)
            write_whole(written[-1], (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())
    if as_json:
        print_json({**document, "in_store": found.in_store})
    elif found.equal:
        print(work.sentence(document))
        print(f"{found.in_store:,} runs of the store count for this engine; written: {', '.join(map(str, written))}")
        if found.without_counterpart:
            print(f"{found.without_counterpart:,} runs have no counterpart among today's experiments.")
    if not found.equal:
        some = "\n  ".join(str(run) for run in found.different[: work.MOST_SHOWN])
        raise EvenflowError(
            f"Nothing is carried: {len(found.different):,} of {found.repeated:,} repeated runs differ from those of "
            f"engine {maker}:\n  {some}"
        )
