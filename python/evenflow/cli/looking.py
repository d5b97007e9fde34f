"""`list`, `describe` and `doctor`: what there is, what it means, what this host can do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .base import Json, app, print_json


class Listed(StrEnum):
    """What `list` can list."""

    mechanisms = "mechanisms"
    traffic = "traffic"
    tcp = "tcp"
    metrics = "metrics"


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """What there is: mechanisms, traffic, tcp, metrics."""
    from ..run.mechanism import schema
    from ..show import screens

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
        print_json({what.value: rows})
    else:
        screens.listing(what.value.capitalize(), rows, columns)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mechanism or a metric.")], as_json: Json = False
) -> None:
    """Parameters, units, defaults and sources of a mechanism; formula and window of a metric."""
    from ..run.mechanism import describe as look_up

    found = look_up(name)
    if as_json:
        print_json(found)
    else:
        from ..show import screens

        screens.mechanism(found)


@app.command()
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
