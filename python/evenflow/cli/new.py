"""`new paper`: a template for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import Json, app, print_json, say

new = typer.Typer(
    name="new",
    help="Create a template for reproducing a paper.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(new, name="new")


@new.callback()
def start() -> None:
    """Create a template for reproducing a paper."""


@new.command()
def paper(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The paper's key, and the new folder's name.")],
    where: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Parent folder; default: the current one.")
    ] = Path(),
    as_json: Json = False,
) -> None:
    """Create a template of a paper: scenarios, runs, figures, claims as data, and a passing test."""
    from ..papers import plain_key, skeleton

    written = skeleton.copy(name, where)
    folder = where / name
    if as_json:
        print_json({"paper": plain_key(name), "folder": str(folder), "files": [str(path) for path in written]})
        return
    say(f"{folder}: {len(written)} files. Next:")
    say(f"  cd {folder} && python -m pytest       # judges its claims on a few runs, before installation")
    say("  pip install -e .                     # then `evenflow papers` lists it")
    say(f"  evenflow reproduce {plain_key(name)} --scale quick")
    say("docs/how-to/judge-your-paper.md describes the files.")
