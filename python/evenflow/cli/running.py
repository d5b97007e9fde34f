"""`run` and `study`: a scenario once, or over a sweep."""

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
    say,
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
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="The run's seed.")] = 1,
    settings: Settings = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Also draw rates, queue and windows over time (SVG and PDF).")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="DIR",
            help="Write the record, series (Parquet, CSV), a figure and view.html to this folder.",
        ),
    ] = None,
    view: Annotated[
        bool,
        typer.Option(
            "--view/--no-view",
            help="With --out: write view.html too. It repeats the run.",
        ),
    ] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario once: throughput, loss, delay, bottleneck."""
    scenario, _ = load(file, settings)
    scenario.check()
    if out is not None:
        from ..run.files import prepare
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
        say("Written:", *(f"  {path}" for path in written))


def _instability(record: Record) -> dict[str, float]:
    """Mean instability of a group's viewers in percent; adaptive video only."""
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
    """Write the figure; with a folder also the record, its series and the view.

    A run without series is repeated with chosen series for the figure and the view, and a run with video with a packet
    trace. Seed and packets are the same, and the shown record stays that of the file.
    """
    from ..run.files import write_whole
    from ..run.saved import RECORD, replacing, run_files, run_head, seal
    from ..show import clicks, pictures, view
    from .plotting import watched, write

    choice = pictures.Choice()
    drawn, telling = record, False
    files = {} if out is None else run_files(record)
    if out is not None and viewed:
        more, missing, told = clicks.again(record)
        files[view.VIEW] = view.page(record, more, missing, told).encode()
        if more and not pictures.drawable(record):
            drawn, telling = more[0], True
    elif not pictures.drawable(record):
        drawn, telling = watched(scenario, seed, choice)
    picture = pictures.of_record(drawn, choice, telling=telling)
    if out is None:
        return write(picture, None, Path("out") / stem(file) / "plot", (None, None))
    with replacing(out):
        for name, data in files.items():
            write_whole(out / name, data)
        figures = write(picture, None, out / "plot", (None, None))  # not sealed: `evenflow plot DIR` draws them again
        head = seal(out, RECORD, run_head(record, notes), files)
    return [head, *(out / name for name in files), *figures]


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
            metavar="2%", help="Replicate until the 95 % interval is ± this share of the mean, up to 200 times."
        ),
    ] = None,
    precision_of: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Metrics of --precision; * matches any; default: groups.*.throughput_bps."),
    ] = None,
    settings: Settings = None,
    metric: Metric = None,
    x: X = None,
    by: By = None,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Folder of the results; default: ./out/<study>.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a parameter sweep. Finished runs are cached.

    Every point of [sweep] runs with every seed. After an interrupt the same command continues.
    """
    from ..run.store import Store
    from ..run.study import BrokenRuns, run_study
    from ..run.study import Study as Planned

    where = checked_place(on, jobs)
    scenario, pins = load(file, settings)
    wanted = _precision(precision, precision_of, replications)
    planned = Planned.from_scenario(scenario, replications, pins)
    if metric:
        from ..run import histograms
        from ..show import pictures

        needed = pictures.needed_by_metrics(metric, histograms.names(planned.points[0].scenario))
        if needed:
            scenario = histograms.requested(scenario, needed)
            planned = Planned.from_scenario(scenario, replications, pins)
    folder = out or Path("out") / stem(file)
    from ..run.files import prepare
    from ..show import pictures
    from ..show.export import write_study

    _names_of_sweep(planned, x, by)
    if wrong := pictures.unknown_metrics((point.scenario for point in planned.points), metric or ()):
        raise UsageError("\n".join(wrong))
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

    screens.study(table, pictures.metrics_of(table, choice, times=True))
    if not quiet:
        screens.notes_of_study(table)
    stored = f", {table.cached} from the cache" if table.cached else ""
    say(f"{counted(len(table), 'run')} in {time_span(table.elapsed_s)}{stored}.")
    say("Results:", *(f"  {path}" for path in written))
    if broken is not None:
        raise broken


def _names_of_sweep(planned: Study, x: str | None, by: list[str] | None) -> None:
    """Report all misspelt labels before any run."""
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
    """The command that repeats these results, without options that do not change them."""
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
            raise UsageError("--precision-of needs --precision, such as --precision 2%.")
        return None
    if replications is not None:
        raise UsageError("--precision sets the number of replications; remove --replications.")
    value = share("--precision", text)
    if value == 1:
        raise UsageError(f"--precision {text}: write a share between 0 and 100 %, such as 2% or 0.02.")
    return Precision(value, of or DEFAULT_PRECISION_OF)
