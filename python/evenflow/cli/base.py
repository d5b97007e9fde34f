"""Shared by the commands: the application, common options, reading of files and settings, JSON."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ..errors import ScenarioError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..run.place import Place
    from ..run.store import Store
    from ..scenario.scenario import Scenario

LARGEST_SEED = 2**63 - 1

app = typer.Typer(
    name="evenflow",
    help="When a network is full, who gets the bandwidth, and what does it feel like to them?",
    epilog="Exit codes: 0 success, 1 failure, 2 bad usage or scenario, 130 interrupted, 141 output pipe closed. "
    "With --strict: 3 a claim is not supported, 4 a claim is inconclusive.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def examples(*lines: str) -> str:
    """The examples at the end of a command's --help."""
    return "\b\n" + "\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def place(text: str) -> Path:
    """The path after `--out`. An empty text, as from an unset variable, is an error."""
    if not text.strip():
        raise typer.BadParameter("it is empty. Give a file or folder, or omit --out.")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise typer.BadParameter(f"{text}: there is no such home folder.") from None


def say(*lines: object, flush: bool = False) -> None:
    """Print lines; names from files lose their control characters (`words.clean`)."""
    from ..words import clean

    print(*(clean(line) for line in lines), sep="\n", flush=flush)


File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a value by its dotted path (TOML, else text). Repeatable."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide the notes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; errors too.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit 3 if a claim is not supported, else 4 if one is inconclusive.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, metavar="N", help="Parallel runs; default: one per core.")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Compute on other workers: dask://HOST:PORT, dask-local:4, slurm or slurm:PARTITION.",
    ),
]


def metric_paths(ctx: typer.Context, incomplete: str) -> list[str]:
    """Metrics for completion: of the file, study or run on the command line, else of all scenarios."""
    from ..run.preview import metric_names

    known: list[str] = []
    given = ctx.params.get("file") or ctx.params.get("target") or _typed()
    with contextlib.suppress(Exception):  # completion shows no messages
        target = Path(given or "")
        if given and target.is_file() and target.suffix == ".toml":
            from ..scenario.scenario import Scenario

            known = metric_names(Scenario.load(target))
        elif given:
            from ..run.record import Record
            from ..run.saved import open_

            found = open_(target)
            known = list(found.metrics()) if isinstance(found, Record) else found.metric_names()
        else:
            from ..run.mechanism import schema

            known = [str(metric["name"]) for metric in schema()["metrics"]]
    ends = [name.rpartition(".")[2] for name in known]
    return [name for name in dict.fromkeys([*known, *ends]) if name.startswith(incomplete)]


def _typed() -> str | None:
    """The file or folder on the command line, where Click did not parse it."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    with contextlib.suppress(ValueError):
        words = [word for word in shlex.split(line)[2:] if not word.startswith("-")]
        return next((word for word in words if Path(word).exists()), words[0] if words else None)
    return None


Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="A metric: name, end of a name, or pattern with *. Repeatable.",
        autocompletion=metric_paths,
    ),
]
X = Annotated[
    str | None, typer.Option("--x", metavar="PATH", help="The swept path of the x axis; for scatter a metric.")
]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="PATH", help="A swept path with a line per value. Repeatable.")
]


def load(file: Path, settings: Sequence[str] | None) -> tuple[Scenario, dict[str, Any]]:
    """The scenario with every `--set` applied, and these settings.

    Raises:
        ScenarioError: the file cannot be read, or a `--set` names a missing component; with all other errors.
    """
    from ..scenario.scenario import Scenario, parse_setting

    pins = dict(parse_setting(text) for text in settings or [])
    scenario = Scenario.load(file)
    unknown: list[tuple[str, str]] = []
    for path, value in pins.items():
        wrong = _no_such_component(scenario.tree, path)
        if wrong is not None:
            unknown.append(wrong)
        else:
            scenario = scenario.with_settings({path: value})
    if unknown:
        raise ScenarioError(list(dict.fromkeys([*unknown, *_other_errors(scenario)])), scenario.source)
    return scenario, {path: value for path, value in pins.items() if not path.startswith("sweep")}


def _other_errors(scenario: Scenario) -> list[tuple[str, str]]:
    try:
        scenario.check()
    except ScenarioError as error:
        return error.errors
    return []


def pairs(option: str, form: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Values of a repeatable `--option NAME=VALUE`, each name once."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{option} {text}: write {form}.")
        if name in found:
            raise UsageError(f"{option} {name} is given twice.")
        found[name] = value
    return found


def share(option: str, text: str) -> float:
    """A share as typed, "2%" or "0.02": above 0, at most 1."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 < value <= 1:
        raise UsageError(f"{option} {text}: write a share between 0 and 100 %, such as 2% or 0.02.")
    return value


def _no_such_component(tree: Mapping[str, Any], text: str) -> tuple[str, str] | None:
    """The error of a `--set` with a key of a missing link, stage, process or group. A whole new table is allowed."""
    from ..scenario import paths

    path = paths.parse(text)
    if len(path) < 3 or path[0] not in ("links", "stages", "arrivals", "groups"):
        return None
    known = paths.get(tree, path[:1]) if paths.has(tree, path[:1]) else {}
    if path[1] in known:
        return None
    guess = nearest(str(path[1]), known)
    hint = (
        f"did you mean {paths.render((path[0], guess))}?"
        if guess is not None
        else f"there are: {', '.join(map(str, known)) or 'none'}."
    )
    above = paths.render(path[:2])
    return above, f"--set: there is no {above} in the file; {hint}"


def checked_place(on: str | None, jobs: int | None) -> Place | None:
    """The workers of `--on`, checked before any run.

    Raises:
        UsageError: an unknown place, or one without `--jobs`.
    """
    if on is None:
        return None
    from ..run.place import place

    try:
        return place(on, jobs)
    except UsageError as error:
        raise UsageError(f"--on: {error}") from None


@contextlib.contextmanager
def workers_at(where: Place | None, jobs: int | None, store: Store) -> Iterator[dict[str, Any]]:
    """The options of `run_study` for computing there: `jobs` of this process, or an executor."""
    if where is None:
        yield {"jobs": jobs}
        return
    from ..run.cluster import workers

    with workers(where, jobs=jobs, folder=store.folder) as executor:
        yield {"executor": executor}


printed: list[bool] = []
"""Whether this command has printed its JSON document."""


def print_error(error: str, code: int, errors: Sequence[tuple[str, str]] = ()) -> None:
    """The JSON document of a command that failed, unless it has printed one."""
    if not printed:
        wrong = [{"path": path, "message": message} for path, message in errors]
        print_json({"error": error, "exit_code": code, **({"errors": wrong} if wrong else {})})


def print_json(document: Any) -> None:
    """One JSON document on standard output; control characters are escaped."""
    printed.append(True)
    plain = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"
    text = json.dumps(document, ensure_ascii=plain, indent=2, allow_nan=False)
    print(_OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


_OBEYED = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")


def stem(file: Path) -> str:
    """A study's name: the file's without `.toml`, and never a parent folder."""
    return file.stem if file.stem.strip(". ") else "study"


def with_any_terminal() -> None:
    """Replace characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) != "evenflow":
            reconfigure(errors="evenflow")


def open_streams() -> None:
    """Open the null device for closed standard streams (`>&-`); otherwise the next file would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            found = os.open(os.devnull, os.O_RDWR)
            if found != number:
                os.dup2(found, number)
                os.close(found)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115


_SHOWN_AS = {
    "·": ".", "–": "-", "—": "-", "−": "-", "─": "-", "━": "-", "│": "|", "×": "x", "±": "+/-", "µ": "u", "μ": "u",
    "“": '"', "”": '"', "‘": "'", "’": "'", "…": "...", "•": "*", "→": "->", "≤": "<=", "≥": ">=",
    "≈": "~", "\xa0": " ",
}  # fmt: skip


def _shown_as(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    from ..words import shown

    lacking = error.object[error.start : error.end]
    return "".join(_SHOWN_AS.get(c, "?" if c.isprintable() else shown(c)) for c in lacking), error.end


codecs.register_error("evenflow", _shown_as)


def complain(message: str) -> None:
    """A message on standard error, under the program's name."""
    from ..words import clean

    with errors_written():
        print(f"evenflow: {clean(message)}", file=sys.stderr)


@contextlib.contextmanager
def errors_written() -> Iterator[None]:
    """Ignore write errors of standard error, as on a full disk.

    Raises:
        BrokenPipeError: the pipe was closed.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        let_go(sys.stderr)


def let_go(*streams: TextIO) -> None:
    """Discard unwritten output: Python would try again at exit, and complain."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
