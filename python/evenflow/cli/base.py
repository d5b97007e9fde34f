"""What the commands share: the application, options that several of them have, reading files and settings, JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..scenario.scenario import Scenario

LARGEST_SEED = 2**63 - 1

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


def load(file: Path, settings: Sequence[str] | None) -> tuple[Scenario, dict[str, Any]]:
    """The scenario with every `--set` applied, and these settings."""
    from ..scenario.scenario import Scenario, parse_setting

    pins = dict(parse_setting(text) for text in settings or [])
    scenario = Scenario.load(file)
    for path in pins:
        _ask_about_new(scenario.tree, path)
    swept = {path: value for path, value in pins.items() if not path.startswith("sweep")}
    return scenario.with_settings(pins), swept


def pairs(option: str, form: str, texts: Sequence[str] | None) -> dict[str, str]:
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


def _ask_about_new(tree: Mapping[str, Any], text: str) -> None:
    """`--set` may create keys; a new link, stage or group that resembles one there is is more likely a slip."""
    from ..scenario import paths

    path = paths.parse(text)
    if len(path) < 2 or path[0] not in ("links", "stages", "groups"):
        return
    there = paths.get(tree, path[:1]) if paths.has(tree, path[:1]) else {}
    guess = nearest(str(path[1]), there) if path[1] not in there else None
    if guess is not None:
        above = paths.render(path[:2])
        print(f"evenflow: --set: {above} is new; did you mean {paths.render((path[0], guess))}?", file=sys.stderr)


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def complain(message: str) -> None:
    """A message on standard error, under the program's name."""
    print(f"evenflow: {message}", file=sys.stderr)
