"""`list`, `describe`, `doctor`, `tunnel-table`: what there is, what it means, what this host can do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from .base import Json, app, examples, print_json


class Listed(StrEnum):
    """What `list` can list."""

    mechanisms = "mechanisms"
    traffic = "traffic"
    tcp = "tcp"
    metrics = "metrics"


@app.command("list", epilog=examples("evenflow list", "evenflow list tcp"))
def list_(
    what: Annotated[Listed | None, typer.Argument(help="What to list; default: everything.")] = None,
    as_json: Json = False,
) -> None:
    """What there is: mechanisms, traffic, tcp, metrics."""
    from ..show import screens

    found = {each: _listed(each) for each in ([what] if what is not None else list(Listed))}
    if as_json:
        print_json({each.value: rows for each, (rows, _) in found.items()})
        return
    for each, (rows, columns) in found.items():
        screens.listing(each.value.capitalize() if each is not Listed.tcp else "TCP", rows, columns)
    screens.more("evenflow describe NAME")


def _listed(what: Listed) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    from ..run.mechanism import schema

    rooms = {
        Listed.mechanisms: ("queue", "scheduler", "stage"),
        Listed.traffic: ("traffic", "adaptation"),
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
    return rows, columns


def _names(incomplete: str) -> list[str]:
    """What `describe` knows, for a shell that completes."""
    from ..run.mechanism import schema

    tables = [*schema()["mechanisms"], *schema()["profiles"], *schema()["metrics"]]
    names = [str(table.get("kind") or table["name"]) for table in tables]
    return sorted(name for name in names if name.startswith(incomplete))


@app.command(epilog=examples("evenflow describe codel", "evenflow describe links.L.queue_delay_s_p99"))
def describe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mechanism or a metric.", autocompletion=_names)],
    as_json: Json = False,
) -> None:
    """A mechanism's parameters and sources, or a metric's formula.

    Parameters with units, ranges and defaults, a line to copy, and what it was checked against.
    """
    from ..run.mechanism import describe as look_up

    found = look_up(name)
    if as_json:
        print_json(found)
    else:
        from ..show import screens

        screens.mechanism(found)


@app.command(epilog=examples("evenflow doctor"))
def doctor(as_json: Json = False) -> None:
    """What this host can do."""
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
    """What tunnels do to congestion marks, by five sets of rules."""
    from ..run.tunnels import tunnel_table

    found = tunnel_table()
    if as_json:
        print_json(found)
    else:
        from ..show import screens

        screens.tunnels(found)
