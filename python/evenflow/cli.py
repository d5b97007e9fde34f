"""The command line. Exit codes: 0 done, whatever the verdicts; 1 the tool failed; 2 bad usage or bad scenario; 130
Ctrl-C. With --strict also 3 (a claim is false; wins) and 4 (one is undecided).

Everything heavy is imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import math
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .errors import EvenflowError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .scenario import Scenario
    from .theory import Prediction

COMMANDS = ("run", "study", "papers", "reproduce", "claims", "list", "describe", "theory", "doctor")
LARGEST_SEED = 2**63 - 1
MOST_POINTS = 2001
"""Of a trajectory in a file."""

app = typer.Typer(
    name="evenflow",
    help="When a network is full, who gets the bandwidth, and what does it feel like to them?",
    epilog="Exit codes: 0 done, whatever the verdicts; 1 the tool failed; 2 bad usage or bad scenario; "
    "130 interrupted; with --strict: 3 a claim is false, 4 one is undecided.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class ScaleOption(StrEnum):
    """How much of a paper."""

    quick = "quick"
    paper = "paper"


class Listed(StrEnum):
    """What `list` can list."""

    mechanisms = "mechanisms"
    traffic = "traffic"
    tcp = "tcp"
    metrics = "metrics"


File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Change a value by dotted path; read as TOML, else as text. Repeatable."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 3 if a claim is false, else 4 if one is undecided.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, metavar="N", help="Runs at once; default: one a core.")]


@app.callback(invoke_without_command=True)
def start(version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    """When a network is full, who gets the bandwidth, and what does it feel like to them?"""
    if version:
        from . import _core

        print(f"evenflow {_core.__version__} (engine {_core.ENGINE_ID}, {_core.BUILD_PROFILE} build)")
        raise typer.Exit


@app.command()
def run(
    file: File,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The run's seed.")] = 1,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """One run: rates, shares, delay, and where the queue was."""
    scenario, _ = _load(file, settings)
    scenario.check()
    record = scenario.run(seed)
    if as_json:
        _print_json({**record.json, "record_hash": record.record_hash})
    else:
        from . import screens

        screens.run(scenario, record)


@app.command()
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
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where results go; default: ./out/<study>.")] = None,
    as_json: Json = False,
) -> None:
    """Run a scenario's [sweep]: every point with every seed, kept as it finishes, never computed twice."""
    from .store import Store
    from .study import Study, run_study

    scenario, pins = _load(file, settings)
    wanted = _precision(precision, precision_of, replications)
    planned = Study.from_scenario(scenario, replications, pins)
    folder = out or Path("out") / file.stem
    from .export import prepare, write_study

    prepare(folder)
    with Store() as store:
        table = run_study(planned, store=store, jobs=jobs, progress=not as_json, precision=wanted, what=file.stem)
        written = write_study(table, scenario, folder)
    if as_json:
        _print_json(table.to_json())
        return
    from . import screens
    from .console import time_span

    screens.study(table)
    stored = f", {table.cached} of them from the store" if table.cached else ""
    print(f"{len(table)} runs in {time_span(table.elapsed_s)}{stored}.")
    print(f"Results: {', '.join(str(path) for path in written)}")


@app.command()
def papers(as_json: Json = False) -> None:
    """What can be reproduced."""
    from . import claims as claims_module
    from . import papers as registry
    from .reproduce import read_ledger, shipped_ledger

    rows: list[dict[str, Any]] = []
    for key, title in registry.TITLES.items():
        paper = registry.load(key)
        shipped = read_ledger(shipped_ledger(key))
        row: dict[str, Any] = {"key": key, "title": title, "reference": paper.reference}
        row |= {"experiments": len(paper.experiments), "claims": len(paper.claims)}
        if shipped is None:
            row["counts"] = "not run at full scale yet"
        else:
            c = claims_module.count(shipped["claims"])
            row["counts"] = f"{c.holds} / {c.fails} / {c.undecided}"
        rows.append(row)
    if as_json:
        _print_json({"papers": rows})
    else:
        from . import screens

        screens.papers(rows)


@app.command()
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
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the report goes; default: ./out/<paper>.")
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Run a paper's experiments, draw its figures, judge its claims, write one report."""
    from . import papers as registry
    from . import reproduce as work

    examined = registry.load(paper)
    chosen: list[str] = []
    wrong: list[str] = []
    for name in experiments or []:
        try:
            chosen.append(examined.experiment(name).id)
        except UsageError as error:
            wrong.append(str(error))
    try:
        examined = examined.with_options(_pairs("--option", "NAME=VALUE", options))
    except UsageError as error:
        wrong.append(str(error))
    if sensitivity and not examined.options:
        wrong.append(f"--sensitivity: {examined.key} has no options to vary.")
    if wrong:
        raise UsageError("\n".join(wrong))
    if not as_json:
        count = len(chosen) or len(examined.experiments)
        print(f"{examined.reference}")
        print(f"Scale “{scale.value}”: {count} experiment{'s' if count != 1 else ''}.", flush=True)
        if examined.chosen:
            print("Chosen: " + ", ".join(f"{name} = {value}" for name, value in examined.chosen.items()) + ".")
        print(flush=True)
    done = work.reproduce(
        examined,
        scale=scale.value,
        experiments=chosen,
        out=out,
        jobs=jobs,
        progress=not as_json,
        sensitivity=sensitivity,
        say=(lambda _: None) if as_json else (lambda line: print(line, flush=True)),
    )
    document = done.to_json()
    if as_json:
        _print_json(document)
    else:
        from . import screens
        from .console import time_span

        print()
        screens.ledger(document, only_failing=True)
        where = f" --out {done.out}" if out is not None or examined.chosen else ""
        print(f"All claims with their numbers: evenflow claims {examined.key}{where}")
        print(f"Took {time_span(done.elapsed_s)} with {done.jobs} jobs. The report:")
        print((done.out / work.REPORT).resolve())
    if done.broken:
        raise EvenflowError(
            "Not everything could be judged; these are defects of Evenflow:\n  " + "\n  ".join(done.broken)
        )
    _leave(document, strict)


@app.command()
def claims(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper's key; see: evenflow papers.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where `reproduce` wrote; default: ./out/<paper>.")
    ] = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """The ledger: a paper's claims, worst first, as last judged here, else as shipped."""
    from . import papers as registry
    from .reproduce import LEDGER, read_ledger, shipped_ledger

    key = registry.key_of(paper)
    folder = out or Path("out") / key
    document = read_ledger(folder / LEDGER)
    told = f"From {folder / LEDGER}."
    if document is None and out is None:
        document = read_ledger(shipped_ledger(key))
        told = (
            "Nothing was run here yet; this is the ledger that ships with Evenflow. "
            f"Run: evenflow reproduce {key} --scale quick"
        )
    if document is None:
        raise UsageError(f"There is no ledger in {folder}. Run: evenflow reproduce {key} --scale quick")
    from . import _core

    if document.get("engine") != _core.ENGINE_ID:
        told += " It was made by another build of the engine."
    if not document.get("complete", True):
        told += " Only some experiments were run; claims that need others are not listed."
    if as_json:
        from .claims import worst_first

        _print_json({**document, "claims": worst_first(document["claims"])})
    else:
        from . import screens

        screens.ledger(document)
        print(told)
    _leave(document, strict)


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """What there is: mechanisms, traffic, tcp, metrics."""
    from . import screens
    from .mechanism import schema

    rooms = {
        Listed.mechanisms: ("queue", "scheduler", "stage"),
        Listed.traffic: ("traffic",),
        Listed.tcp: ("congestion-control", "stack"),
    }
    if what is Listed.metrics:
        rows = schema()["metrics"]
        columns = ("name", "unit", "doc")
    else:
        rows = [m for m in schema()["mechanisms"] if m["room"] in rooms[what]]
        rows.sort(key=lambda m: (rooms[what].index(m["room"]), m["kind"]))
        if what is Listed.tcp:
            rows += [{"kind": p["name"], "room": "stack profile", "title": p["doc"]} for p in schema()["profiles"]]
        columns = ("kind", "room", "title")
    if as_json:
        _print_json({what.value: rows})
    else:
        screens.listing(what.value.capitalize(), rows, columns)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mechanism or a metric.")], as_json: Json = False
) -> None:
    """Parameters, units, defaults and sources of a mechanism; formula and window of a metric."""
    from .mechanism import describe as look_up

    found = look_up(name)
    if as_json:
        _print_json(found)
    else:
        from . import screens

        screens.mechanism(found)


@app.command()
def theory(
    file: File,
    settings: Settings = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Simulate from this seed on; default: 1.")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Simulate so many seeds; default: 5, with --seed 1."),
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Predict only; simulate nothing of this scenario.")] = False,
    composed: Annotated[
        bool, typer.Option("--composed", help="Corrected column: marks of several links on one packet are one mark.")
    ] = False,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="GROUP=RATE",
            help="The trajectory starts with this rate of each of the group's connections, packets/s; default: one a "
            "round trip. Repeatable.",
        ),
    ] = None,
    length: Annotated[float, typer.Option("--for", metavar="SECONDS", help="How long the trajectory is.")] = 60.0,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the figure and the trajectory, as figures and CSV, into this folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """The fluid prediction of weighted windows over links that mark, beside the run; and whether it settles."""
    import evenflow

    from .store import Store
    from .study import Point, Study, run_study

    if no_run and (seed is not None or replications is not None):
        raise UsageError("--no-run simulates nothing; leave --seed and --replications out.")
    starts = _starts(start)
    if out is None and (starts or length != 60.0):
        raise UsageError("--start and --for say where the trajectory begins and ends; --out DIR writes it.")
    if not (math.isfinite(length) and length > 0):
        raise UsageError(f"--for {length:g}: give a number of seconds above 0.")
    scenario, _ = _load(file, settings)
    scenario.check()
    if out is not None:
        from .export import prepare

        prepare(out)
    with Store() as store:
        found = evenflow.theory(scenario, composed=composed, store=store, jobs=jobs, progress=not as_json)
        if not no_run:
            first = 1 if seed is None else seed
            count = replications or (5 if seed is None else 1)
            study = Study([Point({}, scenario)], range(first, first + count))
            found = found.compared(run_study(study, store=store, jobs=jobs, progress=not as_json, what=file.stem))
    written = _write_theory(found, out, starts, length) if out is not None else []
    if as_json:
        _print_json(found.to_json())
        return
    from . import screens

    screens.theory(found)
    if written:
        print(f"Written: {', '.join(str(path) for path in written)}")


def _starts(texts: Sequence[str] | None) -> dict[str, float]:
    """`--start GROUP=RATE`, each once."""
    found: dict[str, float] = {}
    for name, value in _pairs("--start", "GROUP=RATE", texts).items():
        try:
            found[name] = float(value)
        except ValueError:
            raise UsageError(f"--start {name}={value}: the rate is a number of packets/s.") from None
    return found


def _write_theory(found: Prediction, folder: Path, starts: Mapping[str, float], length: float) -> list[Path]:
    """The overlay, and the trajectory where there is one."""
    from .plots import save
    from .store import write_whole
    from .theory import plots

    written = [save(found.figure(), folder / "theory.svg")]
    document = folder / "theory.json"
    write_whole(document, (json.dumps(found.to_json(), ensure_ascii=False, indent=2) + "\n").encode())
    written.append(document)
    try:
        followed = found.trajectory(starts, length).thinned(MOST_POINTS)
    except UsageError:
        if starts:
            raise
        return written  # the screen says why there is no verdict, and for the same reason there is no trajectory
    table = folder / "trajectory.csv"
    write_whole(table, plots.csv(found, followed).encode())
    return [*written, table, save(plots.paths(found, followed), folder / "trajectory.svg")]


@app.command()
def doctor(as_json: Json = False) -> None:
    """What this host can do."""
    from .doctor import examine

    rows = examine()
    if as_json:
        _print_json({"checks": rows})
    else:
        from . import screens

        screens.doctor(rows)
    if any(row["state"] == "bad" for row in rows):
        raise typer.Exit(1)


def _load(file: Path, settings: Sequence[str] | None) -> tuple[Scenario, dict[str, Any]]:
    """The scenario with every `--set` applied, and these settings."""
    from .scenario import Scenario, parse_setting

    pins = dict(parse_setting(text) for text in settings or [])
    scenario = Scenario.load(file)
    for path in pins:
        _ask_about_new(scenario.tree, path)
    swept = {path: value for path, value in pins.items() if not path.startswith("sweep")}
    return scenario.with_settings(pins), swept


def _pairs(option: str, form: str, texts: Sequence[str] | None) -> dict[str, str]:
    """What a repeatable `--option NAME=VALUE` says, each name once."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{option} {text}: write {form}.")
        if name in found:
            raise UsageError(f"{option} {name} is given twice.")
        found[name] = value
    return found


def _ask_about_new(tree: Mapping[str, Any], text: str) -> None:
    """`--set` may create keys; a new link, stage or group that resembles one there is is more likely a slip."""
    from . import paths

    path = paths.parse(text)
    if len(path) < 2 or path[0] not in ("links", "stages", "groups"):
        return
    there = paths.get(tree, path[:1]) if paths.has(tree, path[:1]) else {}
    guess = nearest(str(path[1]), there) if path[1] not in there else None
    if guess is not None:
        above = paths.render(path[:2])
        print(f"evenflow: --set: {above} is new; did you mean {paths.render((path[0], guess))}?", file=sys.stderr)


def _precision(text: str | None, of: str | None, replications: int | None) -> Any:
    from .study import DEFAULT_PRECISION_OF, Precision

    if text is None:
        if of is not None:
            raise UsageError("--precision-of says what must be precise; give --precision 2% with it.")
        return None
    if replications is not None:
        raise UsageError("--precision finds the number of replications by itself; leave --replications out.")
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise UsageError(f"--precision {text}: write a share between 0 and 100 %, such as 2% or 0.02.")
    return Precision(value, of or DEFAULT_PRECISION_OF)


def _leave(document: Mapping[str, Any], strict: bool) -> None:
    verdicts = {row["verdict"] for row in document["claims"]}
    if strict and "fails" in verdicts:
        raise typer.Exit(3)
    if strict and "undecided" in verdicts:
        raise typer.Exit(4)


def _print_json(document: Any) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def _complain(message: str) -> None:
    print(f"evenflow: {message}", file=sys.stderr)


def _unknown_command(arguments: Sequence[str]) -> str | None:
    """Typer says “No such command”; we say which one is near."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    if word is None or word in COMMANDS:
        return None
    guess = nearest(word, COMMANDS)
    return f"There is no command “{word}”. " + (
        f"Did you mean “{guess}”?" if guess else f"There are: {', '.join(COMMANDS)}."
    )


# Typer carries its own copy of Click or uses the real one, as versions go; its errors share this base either way.
_CLICK_ERROR = typer.BadParameter.__mro__[2]


def invoke(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Never raises, never prints a traceback (`EVENFLOW_DEBUG=1` lets it through).
    """
    wrong = _unknown_command(arguments)
    if wrong is not None:
        _complain(wrong)
        return 2
    try:
        code = app(args=list(arguments), prog_name="evenflow", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except EvenflowError as error:
        _complain(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _complain("Interrupted. Finished runs are kept; the same command goes on from there.")
        return 130
    except BrokenPipeError:
        # the reader left (`| head`): nothing to say, and nothing more to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        _complain("There is not enough memory for this. Use fewer jobs, or a smaller scenario.")
        return 1
    except OSError as error:
        _complain(f"{error.filename or 'The system'}: {error.strerror or error}.")
        return 1
    except Exception as error:
        if isinstance(error, _CLICK_ERROR):
            return _usage(error)
        if os.environ.get("EVENFLOW_DEBUG"):
            raise
        _complain(
            f"A defect of Evenflow: {type(error).__name__}: {error}. Please report it; EVENFLOW_DEBUG=1 shows where."
        )
        return 1


def _usage(error: Exception) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if message:
        _complain(message)
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ != "NoArgsIsHelpError":
        print(f"Try: {context.command_path} --help", file=sys.stderr)
    return int(getattr(error, "exit_code", 2))


def main() -> NoReturn:
    """The console script."""
    sys.exit(invoke(sys.argv[1:]))


if __name__ == "__main__":
    main()
