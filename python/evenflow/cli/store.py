"""`store`: the run cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import EvenflowError, UsageError
from .base import Jobs, Json, app, print_json, say, share

store = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Manage the run cache.")
app.add_typer(store, name="store")


@store.callback()
def start() -> None:
    """Manage the run cache."""


@store.command()
def carry(
    engine: Annotated[str, typer.Option("--from", metavar="ENGINE", help="Id of the engine that computed the runs.")],
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...", help="Only these papers, or choices of one (conex-charge=pass); default: all it ran."
        ),
    ] = None,
    sample: Annotated[str, typer.Option(metavar="2%", help="Share of the runs to repeat, in each stratum.")] = "2%",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--except",
            metavar="EXPERIMENT",
            help="An experiment that changed on purpose; its runs are recomputed. Repeatable.",
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Revalidate an earlier engine's runs by sampling.

    Repeats a random sample of the papers' runs, stratified by experiment and mechanism. If every record hash is equal,
    the earlier runs count for this engine. One difference rejects them all.

    Example: evenflow store carry --from fb34eed33a9989f0
    """
    from .. import papers as registry
    from ..papers import carry as work
    from ..papers.reproduce import shipped_ledger
    from ..run.files import write_whole
    from ..run.store import Store

    chosen = [registry.load_with_options(name) for name in papers or registry.with_ledgers(registry.installed())]
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
            maker,
            kept,
            sample=part,
            without=without or [],
            jobs=jobs,
            progress=not as_json,
            say=(lambda _: None) if as_json else (lambda line: say(line, flush=True)),
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
        say(work.sentence(document))
        say(f"{found.in_store:,} cached runs count for this engine; written: {', '.join(map(str, written))}")
        if found.without_counterpart:
            say(f"{found.without_counterpart:,} runs have no counterpart in the current experiments.")
    if not found.equal:
        some = "\n  ".join(str(run) for run in found.different[: work.MOST_SHOWN])
        raise EvenflowError(
            f"Revalidation failed: {len(found.different):,} of {found.repeated:,} repeated runs differ from those of "
            f"engine {maker}:\n  {some}"
        )
