"""`check`: validate a file without running it."""

from __future__ import annotations

from typing import Any

import typer

from ..errors import ScenarioError
from .base import File, Json, Quiet, Settings, app, examples, load, print_json


@app.command(epilog=examples("evenflow check examples/scenarios/abc-default.toml"))
def check(file: File, settings: Settings = None, quiet: Quiet = False, as_json: Json = False) -> None:
    """Validate a scenario and show how it was read.

    Prints links, groups, round-trip times, bandwidth-delay products, queue limits as times, and notes. Exit code 0:
    valid, 2: invalid. With --json the document lists the errors.
    """
    from ..run import notes
    from ..scenario import sweep
    from ..scenario.outline import Outline

    try:
        scenario, _ = load(file, settings)
        scenario.check()
    except ScenarioError as error:
        if not as_json:
            raise
        wrong = [{"path": path, "message": message} for path, message in error.errors]
        print_json({"valid": False, "source": str(file), "errors": wrong})
        raise typer.Exit(2) from None
    outline = Outline(scenario)
    found = notes.of_scenario(scenario, outline)
    if as_json:
        points, replications, _ = sweep.outline(scenario)
        document: dict[str, Any] = {"valid": True, "source": str(file), **outline.to_json(points, replications)}
        print_json({**document, "notes": [note.to_json() for note in found]})
    else:
        from ..show import screens

        screens.check(outline)
        if not quiet:
            screens.notes(found)
