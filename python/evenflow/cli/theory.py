"""`theory`: the fluid model's prediction."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .base import LARGEST_SEED, File, Jobs, Json, Settings, app, examples, load, pairs, place, print_json, say, stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..theory import Prediction

MOST_POINTS = 2001
"""Of a trajectory in a file."""
TRAJECTORY_S = 60.0


@app.command(
    epilog=examples(
        "evenflow theory examples/scenarios/two-bottlenecks.toml --composed",
        "evenflow theory two-bottlenecks.toml --no-run --out out/theory",
    )
)
def theory(
    file: File,
    settings: Settings = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="First seed; default: 1.")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Number of seeds to simulate; default: 5, with --seed 1."),
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Predict only, without simulation.")] = False,
    composed: Annotated[
        bool,
        typer.Option(
            "--composed", help="In the corrected column, count the marks of several links on a packet as one."
        ),
    ] = False,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="GROUP=RATE",
            help="Initial rate of each connection of a group, packets/s; default: one per round trip. Repeatable.",
        ),
    ] = None,
    length: Annotated[float, typer.Option("--for", metavar="SECONDS", help="Length of the trajectory.")] = TRAJECTORY_S,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="DIR",
            help="Write figures and the trajectory (CSV) to this folder.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the fluid model's prediction with simulation.

    Rates, windows, prices and stability of weighted windows over links that mark.
    """
    import evenflow

    from ..run.store import Store
    from ..run.study import Point, Study, run_study

    if no_run and (seed is not None or replications is not None):
        raise UsageError("--no-run simulates nothing; remove --seed and --replications.")
    starts = _starts(start)
    if out is None and (starts or length != TRAJECTORY_S):
        raise UsageError("--start and --for need --out DIR, which writes the trajectory.")
    if not (math.isfinite(length) and length > 0):
        raise UsageError(f"--for {length:g}: give a number of seconds above 0.")
    scenario, _ = load(file, settings)
    scenario.check()
    if out is not None:
        from ..run.files import prepare

        prepare(out)
    with Store() as store:
        found = evenflow.theory(scenario, composed=composed, store=store, jobs=jobs, progress=not as_json)
        if not no_run:
            first = 1 if seed is None else seed
            count = replications or (5 if seed is None else 1)
            study = Study([Point({}, scenario)], range(first, first + count))
            found = found.compared(run_study(study, store=store, jobs=jobs, progress=not as_json, what=stem(file)))
    written = _write_theory(found, out, starts, length) if out is not None else []
    if as_json:
        print_json(found.to_json())
        return
    from ..show import screens

    screens.theory(found)
    if written:
        say(f"Written: {', '.join(str(path) for path in written)}")


def _starts(texts: Sequence[str] | None) -> dict[str, float]:
    """`--start GROUP=RATE`, each once."""
    found: dict[str, float] = {}
    for name, value in pairs("--start", "GROUP=RATE", texts).items():
        try:
            found[name] = float(value)
        except ValueError:
            raise UsageError(f"--start {name}={value}: the rate is a number of packets/s.") from None
    return found


def _write_theory(found: Prediction, folder: Path, starts: Mapping[str, float], length: float) -> list[Path]:
    """The overlay, and the trajectory where there is one."""
    from ..run.files import write_whole
    from ..show.plots import save
    from ..theory import plots

    written = [save(found.figure(), folder / "theory.svg")]
    document = folder / "theory.json"
    write_whole(document, (json.dumps(found.to_json(), ensure_ascii=False, indent=2) + "\n").encode())
    written.append(document)
    try:
        followed = found.trajectory(starts, length).thinned(MOST_POINTS)
    except UsageError:
        if starts or length != TRAJECTORY_S:
            raise
        return written  # the screen says why there is no verdict, and for the same reason there is no trajectory
    table = folder / "trajectory.csv"
    write_whole(table, plots.csv(found, followed).encode())
    return [*written, table, save(plots.paths(found, followed), folder / "trajectory.svg")]
