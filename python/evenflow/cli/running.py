"""`run` and `study`: scenarios of a file, once or over a grid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .base import (
    LARGEST_SEED,
    By,
    File,
    Jobs,
    Json,
    Metric,
    On,
    Quiet,
    Settings,
    X,
    app,
    checked_place,
    examples,
    load,
    place,
    print_json,
    share,
    stem,
    workers_at,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..run.notes import Note
    from ..run.record import Record
    from ..run.study import Study
    from ..scenario.scenario import Scenario
    from ..show.pictures import Choice


@app.command(
    epilog=examples(
        "evenflow run examples/scenarios/call.toml",
        "evenflow run call.toml --seed 3 --set links.line.delay='\"50 ms\"'",
        "evenflow run call.toml --set links.line.queue.kind=codel --plot",
    )
)
def run(
    file: File,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The run's seed.")] = 1,
    settings: Settings = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Also draw rates, queue and windows over time: an SVG and a PDF.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="DIR",
            help="Write the record, its series (Parquet, CSV), the figure and a page to view the run (view.html) here.",
        ),
    ] = None,
    view: Annotated[
        bool,
        typer.Option(
            "--view/--no-view",
            help="With --out: write the page too. A run with video is repeated for it, which takes longer.",
        ),
    ] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """One run: rates, shares, delay, and where the queue was."""
    scenario, _ = load(file, settings)
    scenario.check()
    if out is not None:
        from ..run.store import prepare
        from ..scenario.scenario import WRITTEN, require_memory

        prepare(out)
        require_memory(scenario, copies=WRITTEN)
    record = scenario.run(seed, progress=not as_json)
    from ..run import notes

    found = [*notes.left_out(scenario, record, written=out is not None), *record.notes]
    written = _write_run(scenario, record, seed, file, out, found, view) if plot or out is not None else []
    if as_json:
        document = {**record.json, "record_hash": record.record_hash}
        print_json({**document, "notes": [note.to_json() for note in found]})
        return
    from ..show import screens

    screens.run(scenario, record, _instability(record))
    if not quiet:
        screens.notes(found)
    if written:
        print("Written:", *written, sep="\n  ")


def _instability(record: Record) -> dict[str, float]:
    """Mean over the viewers of a group who have one, in percent; only of adaptive video."""
    adaptive = [name for name, group in record.json["groups"].items() if "users_levels" in (group.get("video") or {})]
    if not adaptive:
        return {}
    from ..theory import qoe

    found = {}
    for name in adaptive:
        try:
            each = qoe.of(record, name, "ben-ameur-2016-is")
        except UsageError:
            continue  # its users watch videos of several ladders
        known = each[each == each]
        if len(known):
            found[name] = float(known.mean())
    return found


def _write_run(
    scenario: Scenario, record: Record, seed: int, file: Path, out: Path | None, notes: Sequence[Note], viewed: bool
) -> list[Path]:
    """The figure, and with a folder the record, its series and the view too.

    A run without series is repeated for the figure and the view with series that are chosen for them, and one in which
    video is watched with its packets followed: same seed, same packets, but the record that is shown stays that of the
    file.
    """
    from ..run.recording import again_for_a_view
    from ..run.saved import run_files
    from ..run.store import write_whole
    from ..show import pictures, view
    from .plotting import watched, write

    folder = out if out is not None else Path("out") / stem(file)
    written = []
    choice = pictures.Choice()
    drawn, telling = record, False
    if out is not None:
        for name, data in run_files(record, notes).items():
            write_whole(folder / name, data)
            written.append(folder / name)
    if out is not None and viewed:
        more, missing = again_for_a_view(record)
        written.append(view.write(record, folder / view.VIEW, more, missing))
        if more and not pictures.drawable(record):
            drawn, telling = more[0], True
    elif not pictures.drawable(record):
        drawn, telling = watched(scenario, seed, choice)
    picture = pictures.of_record(drawn, choice, telling=telling)
    return [*written, *write(picture, None, folder / "plot", (None, None))]


@app.command(
    epilog=examples(
        "evenflow study examples/scenarios/abc-default.toml",
        "evenflow study abc.toml --replications 20 --out out/twenty",
        "evenflow study abc.toml --metric queue_delay_s_p99 --x delay",
        "evenflow study abc.toml --precision 2% --precision-of 'groups.*.goodput_bps'",
        "evenflow study abc.toml --on dask://login1:8786",
    )
)
def study(
    file: File,
    replications: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000_000, metavar="N", help="Seeds 1 to N for every point; default: the file's, else 10."
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="2%", help="Replicate until the 95 % interval is ± this share of the mean; at most 200 times."
        ),
    ] = None,
    precision_of: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC", help="What must be that precise; * matches any; default: groups.*.throughput_bps."
        ),
    ] = None,
    settings: Settings = None,
    metric: Metric = None,
    x: X = None,
    by: By = None,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Where results go; default: ./out/<study>.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a [sweep]: every point with every seed, none twice.

    Each run is kept as it finishes: interrupted, the same command goes on from there.
    """
    from ..run.store import Store
    from ..run.study import BrokenRuns, run_study
    from ..run.study import Study as Planned

    where = checked_place(on, jobs)
    scenario, pins = load(file, settings)
    wanted = _precision(precision, precision_of, replications)
    planned = Planned.from_scenario(scenario, replications, pins)
    folder = out or Path("out") / stem(file)
    from ..run.store import prepare
    from ..show import pictures
    from ..show.export import write_study

    _names_of_sweep(planned, x, by)
    prepare(folder)
    choice = pictures.Choice(tuple(metric or ()), x, None if by is None else tuple(by))
    with Store() as store:
        with workers_at(where, jobs, store) as elsewhere:
            broken: BrokenRuns | None = None
            try:
                table = run_study(
                    planned, store=store, progress=not as_json, precision=wanted, what=stem(file), **elsewhere
                )
            except BrokenRuns as error:
                if not error.table.runs:
                    raise
                table, broken = error.table, error  # results of the rest, then the error
        command = _command(file, settings, replications, precision, precision_of, choice)
        written = write_study(table, scenario, folder, choice=choice, command=command, store=store)
    if as_json:
        from ..show.export import notes_json

        print_json({**table.to_json(), "notes": notes_json(table)})
        if broken is not None:
            raise broken
        return
    from ..show import screens
    from ..show.console import time_span
    from ..words import counted

    screens.study(table, pictures.metrics_of(table, choice))
    if not quiet:
        screens.notes_of_study(table)
    stored = f", {table.cached} of them from the store" if table.cached else ""
    print(f"{counted(len(table), 'run')} in {time_span(table.elapsed_s)}{stored}.")
    print("Results:", *(f"  {path}" for path in written), sep="\n")
    if broken is not None:
        raise broken


def _names_of_sweep(planned: Study, x: str | None, by: list[str] | None) -> None:
    """Misspelt labels are found before anything runs, all of them."""
    from ..show import pictures

    labels = list(dict.fromkeys(name for point in planned.points for name in point.labels))
    pictures.check_labels(labels, x, by or ())


def _command(
    file: Path,
    settings: list[str] | None,
    replications: int | None,
    precision: str | None,
    precision_of: str | None,
    choice: Choice,
) -> str:
    """The command that gives these results again, without what changes nothing in them."""
    import shlex

    words = ["evenflow", "study", str(file)]
    for option, given in (
        ("--replications", replications),
        ("--precision", precision),
        ("--precision-of", precision_of),
        ("--x", choice.x),
    ):
        words += [option, str(given)] if given is not None else []
    for option, several in (("--set", settings), ("--metric", choice.metric), ("--by", choice.by)):
        for given in several or ():
            words += [option, given]
    return shlex.join(words)


def _precision(text: str | None, of: str | None, replications: int | None) -> Any:
    from ..run.study import DEFAULT_PRECISION_OF, Precision

    if text is None:
        if of is not None:
            raise UsageError("--precision-of says what must be precise; give --precision 2% with it.")
        return None
    if replications is not None:
        raise UsageError("--precision finds the number of replications by itself; leave --replications out.")
    value = share("--precision", text)
    if value == 1:
        raise UsageError(f"--precision {text}: write a share between 0 and 100 %, such as 2% or 0.02.")
    return Precision(value, of or DEFAULT_PRECISION_OF)
