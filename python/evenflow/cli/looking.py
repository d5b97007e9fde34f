"""`list`, `describe`, `doctor`, `tunnel-table`: mechanisms, metrics and checks of this machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import UsageError, nearest
from .base import Json, app, examples, print_json

KINDS = {
    "mechanisms": ("queue", "scheduler", "stage"),
    "traffic": ("traffic", "adaptation"),
    "tcp": ("congestion-control", "stack"),
    "metrics": (),
    "queues": ("queue",),
    "schedulers": ("scheduler",),
    "stages": ("stage",),
    "controls": ("congestion-control",),
    "players": ("adaptation",),
}
"""Arguments of `list` -> the kinds of mechanisms that they list."""
EVERYTHING = ("mechanisms", "traffic", "tcp", "metrics")


@app.command("list", epilog=examples("evenflow list", "evenflow list queues", "evenflow list metrics delay"))
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"One of {', '.join(KINDS)}; default: all.",
            autocompletion=lambda incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
        ),
    ] = None,
    word: Annotated[str, typer.Argument(metavar="[WORD]", help="Only lines that contain this word.")] = "",
    as_json: Json = False,
) -> None:
    """List queues, schedulers, stages, traffic, TCP and metrics."""
    from ..show import screens

    kind = None if what is None else _kind(what)
    found = {each: _listed(each, word) for each in ([kind] if kind is not None else EVERYTHING)}
    if as_json:
        print_json({each: rows for each, (rows, _) in found.items()})
        return
    if not any(rows for rows, _ in found.values()):
        where = f"The list of {kind}" if kind else "No list"
        what = f"has no entry with “{word}”" if kind else f"has an entry with “{word}”"
        raise UsageError(f"{where} {what}. Try: evenflow list {kind or ''}".rstrip())
    for each, (rows, columns) in found.items():
        screens.listing("TCP" if each == "tcp" else each.capitalize(), rows, columns)
    screens.more("evenflow describe NAME")


def _kind(what: str) -> str:
    """The kind that was typed, in the singular or the plural."""
    for typed in (what.casefold(), f"{what.casefold()}s"):
        if typed in KINDS:
            return typed
    guess = nearest(what, KINDS)
    hint = f"Did you mean “{guess}”?" if guess else f"Choose one of {', '.join(KINDS)}."
    raise UsageError(f"Unknown list “{what}”. {hint}")


def _listed(what: str, word: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    from ..run.mechanism import ALIASES, schema

    kinds = KINDS[what]
    if what == "metrics":
        rows = schema()["metrics"]
        columns = ("name", "unit", "doc")
    else:
        rows = [m for m in schema()["mechanisms"] if m["room"] in kinds]
        rows.sort(key=lambda m: (kinds.index(m["room"]), m["kind"]))
        if "stack" in kinds:
            profiles = schema()["profiles"]
            rows += [{"kind": p["name"], "room": "TCP profile", "title": p["doc"]} for p in profiles]
        columns = ("kind", "room", "title")
    wanted = [word.casefold(), *(ALIASES.get(word.casefold(), ()) if what == "metrics" else ())]
    found = [row for row in rows if any(one in " ".join(str(row[c]) for c in columns).casefold() for one in wanted)]
    return found, columns


def _names(incomplete: str) -> list[str]:
    """Names for a shell that completes `describe`."""
    from ..run.mechanism import schema

    tables = [*schema()["mechanisms"], *schema()["profiles"], *schema()["metrics"]]
    names = [str(table.get("kind") or table["name"]) for table in tables]
    return sorted(name for name in names if name.startswith(incomplete))


@app.command(epilog=examples("evenflow describe codel", "evenflow describe codel --validation"))
def describe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mechanism or a metric.", autocompletion=_names)],
    validation: Annotated[bool, typer.Option("--validation", help="Show the checks against references.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show everything, with sources and deviations.")] = False,
    as_json: Json = False,
) -> None:
    """Describe a mechanism or a metric.

    Prints the parameters with units and defaults, and an example to copy.
    """
    from ..run.mechanism import describe as look_up

    found = look_up(name)
    if as_json:
        print_json(found)
        return
    from ..show import screens

    if validation and not everything:
        screens.checked(found)
    else:
        screens.mechanism(found, everything=everything)


@app.command(epilog=examples("evenflow doctor"))
def doctor(as_json: Json = False) -> None:
    """Check this machine: versions, memory, run cache."""
    from .doctor import examine

    rows = examine()
    if as_json:
        print_json({"checks": rows})
    else:
        from ..show import screens

        screens.doctor(rows)
    if any(row["state"] == "bad" for row in rows):
        raise typer.Exit(1)


@app.command("tunnel-table", epilog=examples("evenflow tunnel-table", "evenflow tunnel-table --json"))
def tunnel_table_(as_json: Json = False) -> None:
    """Show the ECN field through a tunnel, by rules."""
    from ..run.tunnels import tunnel_table

    found = tunnel_table()
    if as_json:
        print_json(found)
    else:
        from ..show import screens

        screens.tunnels(found)
