"""`plot`: figures of scenario files and of finished studies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError, nearest
from .base import LARGEST_SEED, By, Jobs, Json, Metric, Settings, X, app, examples, load, place, print_json, say, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..run.record import Record
    from ..run.study import Table
    from ..scenario.scenario import Scenario
    from ..show.picture import Picture
    from ..show.pictures import Choice

KINDS = ("line", "interval", "box", "cdf", "ccdf", "scatter", "timeline")
SUFFIXES = ("pdf", "svg", "png", "csv")
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
LEAST_IN, MOST_IN = 1.0, 40.0


@app.command(
    epilog=examples(
        "evenflow plot call.toml",
        "evenflow plot pie.toml codel.toml --metric groups.call.delay --kind cdf",
        "evenflow plot out/call --metric queue_delay_s_p99 --by scheme --out f.pdf",
    )
)
def plot(
    targets: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR…",
            help="Scenario files to run, or folders of finished studies or runs. Several are drawn in one figure.",
        ),
    ],
    metric: Metric = None,
    x: X = None,
    by: By = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="PATH", help="A swept path with a row of panels per value.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="PATH", help="A swept path with a column of panels per value.")
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(
            "--series", metavar="NAME", help="A recorded series: name, end of a name, or pattern with *. Repeatable."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="|".join(KINDS),
            help="Kind of figure; default: chosen by the data.",
            autocompletion=lambda incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="mean|each", help="Draw the mean with its interval, or each run too.")
    ] = "mean",
    over: Annotated[
        str | None, typer.Option("--over", metavar="runs", help="Distribution of one number per run, not of packets.")
    ] = None,
    panels: Annotated[
        str | None,
        typer.Option(
            "--panels",
            metavar="KIND:NAME,…",
            help="Several panels: cdf, ccdf, box or interval of a metric, time of a series or delay.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            parser=place,
            metavar="FILE",
            help="Output file: .pdf, .svg, .png, or .csv for the numbers; default: SVG and PDF.",
        ),
    ] = None,
    width: Annotated[
        str | None, typer.Option("--width", metavar="3.5in", help="Exact width: in, cm, mm or pt; default: 6.4in.")
    ] = None,
    height: Annotated[
        str | None, typer.Option("--height", metavar="2.4in", help="Exact height; default: chosen by the data.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="The run's seed.")] = 1,
    settings: Settings = None,
    replications: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, metavar="N", help="Seeds 1 to N of the file's sweep.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Draw a run or a study, or several in one figure.

    A run: rates, queue and windows over time. A study: means with 95 % intervals. With --x, --by, --rows or --columns
    the file's [sweep] runs as a study; cached runs are reused.
    """
    from ..show import pictures

    problems: list[str] = []
    sizes = [_size("--width", width, problems), _size("--height", height, problems)]
    _suffix(out, problems)
    if out is not None:
        from ..run.files import refuse_input
        from ..run.saved import sealed

        refuse_input(out, [path for target in targets for path in (target, *sealed(target))])
    choice = pictures.Choice(
        tuple(metric or ()),
        x,
        None if by is None else tuple(by),
        rows,
        columns,
        tuple(series or ()),
        kind,
        seeds,
        over,
        tuple(panels.split(",")) if panels else (),
    )
    problems += [f"--{text}" for text in choice.problems()]
    finished = [_is_finished(target) for target in targets]
    if settings and any(finished):
        problems.append("--set works with scenario files only; a finished study does not run again.")
    if len(targets) > 1:
        picture, where = _several(targets, choice, problems, settings or [], seed, replications, jobs)
    elif finished[0]:
        picture, where = _finished(targets[0], choice, problems)
    else:
        picture, where = _from_file(
            targets[0], choice, problems, settings or [], seed, replications, jobs, progress=not as_json
        )
    written = write(picture, out, where, sizes)
    if as_json:
        numbers = picture.frame().to_dicts()
        said = [note.to_json() for note in picture.notes]
        print_json({"files": [str(path) for path in written], "kind": picture.kind, "numbers": numbers, "notes": said})
        return
    for path in written:
        say(path)
    if picture.notes:
        from ..show import screens

        screens.notes(picture.notes)


def _is_finished(target: Path) -> bool:
    return target.is_dir() or not (target.suffix == ".toml" or target.is_file())


def _several(
    targets: Sequence[Path],
    choice: Choice,
    problems: list[str],
    settings: Sequence[str],
    seed: int,
    replications: int | None,
    jobs: int | None,
) -> tuple[Picture, Path]:
    """Several files or folders in one figure: a study with the label `file`."""
    from ..run.record import Record
    from ..run.saved import open_
    from ..run.store import Store
    from ..run.study import Run, Study, Table, run_study
    from ..show import pictures

    if not (choice.metric or choice.series or choice.panels):
        problems.append("name what to draw of several files: --metric, --series or --panels.")
    problems += [f"{target} is given twice." for target in dict.fromkeys(targets) if targets.count(target) > 1]
    ready: list[Any] = []
    for target in targets:
        if _is_finished(target):
            ready.append(open_(target))
        else:
            scenario, pins = load(target, settings)
            scenario.check()
            ready.append((_with_distributions(scenario, choice, problems), pins))
    _raise(problems)
    short = [stem(target) if target.suffix == ".toml" else target.name for target in targets]
    names = [str(target) if short.count(name) > 1 else name for target, name in zip(targets, short, strict=True)]
    runs: list[Run] = []
    with Store() as store:
        for name, found in zip(names, ready, strict=True):
            if isinstance(found, tuple):
                scenario, pins = found
                if replications is None:
                    found, _ = watched(scenario, seed, choice)
                else:
                    planned = Study.from_scenario(scenario, replications, pins)
                    found = run_study(planned, store=store, jobs=jobs, what=name)
            if isinstance(found, Record):
                found = Table([Run(0, {}, int(found.json["seed"]), found)])
            first = 1 + max((run.point for run in runs), default=-1)
            runs += [Run(first + run.point, {"file": name, **run.labels}, run.seed, run.record) for run in found]
        return pictures.of_table(Table(runs), choice), Path("out") / "plot"


def _finished(target: Path, choice: Choice, problems: list[str]) -> tuple[Picture, Path]:
    from ..run.record import Record
    from ..run.saved import open_
    from ..show import pictures

    found: Table | Record | None = None
    try:
        found = open_(target)
    except UsageError as error:
        problems.append(str(error))
    picture = None
    if found is not None:
        try:
            if isinstance(found, Record):
                picture = pictures.of_record(found, choice)
            else:
                picture = pictures.of_table(found, choice)
        except UsageError as error:
            problems += _each(error, problems)
    _raise(problems)
    assert picture is not None
    folder = target if target.is_dir() else target.parent
    return picture, folder / "plot"


def _from_file(
    file: Path,
    choice: Choice,
    problems: list[str],
    settings: Sequence[str],
    seed: int,
    replications: int | None,
    jobs: int | None,
    *,
    progress: bool,
) -> tuple[Picture, Path]:
    from ..run.histograms import is_one
    from ..run.study import Study, run_study
    from ..show import pictures

    scenario, pins = load(file, settings)
    scenario.check()
    by_label = bool(choice.by or choice.rows or choice.columns or (choice.x and choice.kind != "scatter"))
    over_points = "sweep" in scenario.tree and choice.kind in ("line", "interval", "box", "scatter")
    swept = by_label or over_points or replications is not None
    if by_label and "sweep" not in scenario.tree:
        problems.append(f"{file} has no [sweep]: --x, --by, --rows and --columns are for studies.")
    scenario = _with_distributions(scenario, choice, problems)
    planned = Study.from_scenario(scenario, replications, pins) if swept else None
    if problems or (planned and choice.kind not in (*pictures.DISTRIBUTIONS, "box")):  # those also draw lists
        points = [point.scenario for point in planned.points] if planned else [scenario]
        numbers = [name for name in choice.metric if not is_one(name)]
        problems += [f"--{text}" for text in pictures.unknown_metrics(points, numbers)]
    _raise(problems)
    where = Path("out") / stem(file) / "plot"
    if planned is None:
        record, telling = watched(scenario, seed, choice)
        return pictures.of_record(record, choice, telling=telling), where
    from ..run.store import Store

    with Store() as store:
        table = run_study(planned, store=store, jobs=jobs, progress=progress, what=stem(file))
        return pictures.of_table(table, choice), where


def _with_distributions(scenario: Scenario, choice: Choice, problems: list[str]) -> Scenario:
    """The scenario, with the distributions and series recorded that `--metric` and `--panels` need."""
    from ..run import histograms
    from ..run.recording import SAMPLES, interval
    from ..show import pictures

    if not (choice.metric or choice.panels):
        return scenario
    known = histograms.names(scenario)
    wrong: list[str] = []
    series = []
    for part in choice.parts():
        pictures.chosen("metric", [name for name in part.metric if histograms.is_one(name)], known, wrong)
        of_packets = [name for name in part.series if histograms.is_one(name) and name.endswith(".delay")]
        if choice.panels:
            pictures.chosen("series", of_packets, known, wrong)
            every = f"{interval(scenario.core.duration_s, SAMPLES['queue']):.9g} s"
            series += [{"of": name, "every": every} for name in part.series if name not in of_packets]
    problems += [f"--{text}" for text in wrong]
    ready = histograms.requested(scenario, pictures.needed(choice, known))
    already = ready.tree.get("record", {}).get("series") or []
    return ready.set("record.series", [*already, *series]) if series else ready


def watched(scenario: Scenario, seed: int, choice: Choice) -> tuple[Record, bool]:
    """A run with series to draw; True if the series were chosen automatically."""
    from ..run.recording import recording

    if choice.metric or choice.panels:
        return scenario.run(seed), False
    ready, chosen = recording(scenario)
    return ready.run(seed), chosen and not choice.series


def _each(error: UsageError, known: Sequence[str]) -> list[str]:
    """The problems of a message, without known ones."""
    lines = str(error).splitlines()
    lines = lines[1:] if len(lines) > 1 else lines
    said = {text.removeprefix("--") for text in known}
    return [f"--{line.strip()}" if _is_option(line) else line.strip() for line in lines if line.strip() not in said]


def _is_option(line: str) -> bool:
    words = ("metric", "series", "x", "by", "rows", "columns", "kind", "seeds", "over", "panels")
    return line.strip().split(" ")[0].rstrip(":") in words


def _raise(problems: Sequence[str]) -> None:
    if problems:
        head = f"{len(problems)} errors\n  " if len(problems) > 1 else ""
        raise UsageError(head + "\n  ".join(problems))


def _size(option: str, text: str | None, problems: list[str]) -> float | None:
    """A length in inches."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text)
    unit = match[2] or "in" if match else ""
    if match is None or unit not in INCHES:
        problems.append(f"{option} {text}: write a length such as 3.5in, 89mm, 8.9cm or 252pt.")
        return None
    found = float(match[1]) * INCHES[unit]
    if not LEAST_IN <= found <= MOST_IN:
        problems.append(f"{option} {text}: a figure is {LEAST_IN:g} to {MOST_IN:g} inches wide or high.")
        return None
    return found


def _suffix(out: Path | None, problems: list[str]) -> None:
    if out is None:
        return
    suffix = out.suffix.lstrip(".").lower()
    if suffix not in SUFFIXES:
        guess = nearest(suffix, SUFFIXES) if suffix else None
        hint = f" Did you mean .{guess}?" if guess else ""
        problems.append(f"--out {out}: figures are written as .pdf, .svg or .png, their numbers as .csv.{hint}")


def write(picture: Picture, out: Path | None, where: Path, sizes: Sequence[float | None]) -> list[Path]:
    """Write the figure, or its numbers; without a name an SVG and a PDF named like `where`."""
    from ..run.files import csv_bytes, write_out
    from ..show import plots
    from ..show.drawing import draw

    targets = [out] if out is not None else [where.with_suffix(".svg"), where.with_suffix(".pdf")]
    drawn: Any = None
    for path in targets:
        kind = path.suffix.lstrip(".").lower()
        if kind == "csv":
            write_out(path, csv_bytes(picture.frame()))
            continue
        drawn = drawn if drawn is not None else draw(picture, *sizes)
        write_out(path, plots.rendered(drawn, kind))
    return targets
