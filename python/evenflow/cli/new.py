"""`new paper`: the first files of something of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import Json, app, print_json

new = typer.Typer(
    name="new",
    help="First steps: the files of a paper of your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(new, name="new")


@new.callback()
def start() -> None:
    """First steps: the files of a paper of your own."""


@new.command()
def paper(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The paper's key, and the new folder's name.")],
    where: Annotated[Path, typer.Option("--in", metavar="DIR", help="Where the folder goes; default: here.")] = Path(),
    as_json: Json = False,
) -> None:
    """A skeleton of a paper to re-examine: scenarios, runs, figures, claims as data, and a test that passes."""
    from ..papers import plain_key, skeleton

    written = skeleton.copy(name, where)
    folder = where / name
    if as_json:
        print_json({"paper": plain_key(name), "folder": str(folder), "files": [str(path) for path in written]})
        return
    print(f"{folder}: {len(written)} files. Next:")
    print(f"  cd {folder} && python -m pytest       # its claims are judged on a few runs; nothing is installed")
    print("  pip install -e .                     # then `evenflow papers` lists it")
    print(f"  evenflow reproduce {plain_key(name)} --scale quick")
    print("CONTRIBUTING.md, “How to add a paper”, goes through the files.")
