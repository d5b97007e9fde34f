"""`run` and `study`: scenarios of a file, once or over a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from .base import LARGEST_SEED, File, Jobs, Json, Quiet, Settings, app, examples, load, print_json, share


@app.command(
    epilog=examples(
        "evenflow run examples/scenarios/call.toml",
        "evenflow run call.toml --seed 3 --set links.line.delay='\"50 ms\"'",
        "evenflow run call.toml --set 'links.line.queue={kind=\"codel\"}' --json",
    )
)
def run(
    file: File,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The run's seed.")] = 1,
    settings: Settings = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """One run: rates, shares, delay, and where the queue was."""
    scenario, _ = load(file, settings)
    scenario.check()
    record = scenario.run(seed, progress=not as_json)
    from ..run import notes

    found = [*notes.left_out(scenario, record), *record.notes]
    if as_json:
        document = {**record.json, "record_hash": record.record_hash}
        print_json({**document, "notes": [note.to_json() for note in found]})
    else:
        from ..show import screens

        screens.run(scenario, record)
        if not quiet:
            screens.notes(found)


@app.command(
    epilog=examples(
        "evenflow study examples/scenarios/abc-default.toml",
        "evenflow study abc.toml --replications 20 --out out/twenty",
        "evenflow study abc.toml --precision 2% --precision-of 'groups.*.goodput_bps'",
    )
)
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
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a [sweep]: every point with every seed, none twice.

    Each run is kept as it finishes: interrupted, the same command goes on from there.
    """
    from ..run.store import Store
    from ..run.study import Study, run_study

    scenario, pins = load(file, settings)
    wanted = _precision(precision, precision_of, replications)
    planned = Study.from_scenario(scenario, replications, pins)
    folder = out or Path("out") / file.stem
    from ..run.store import prepare
    from ..show.export import write_study

    prepare(folder)
    with Store() as store:
        table = run_study(planned, store=store, jobs=jobs, progress=not as_json, precision=wanted, what=file.stem)
        written = write_study(table, scenario, folder)
    if as_json:
        from ..show.export import notes_json

        print_json({**table.to_json(), "notes": notes_json(table)})
        return
    from ..show import screens
    from ..show.console import time_span

    screens.study(table)
    if not quiet:
        screens.notes_of_study(table)
    stored = f", {table.cached} of them from the store" if table.cached else ""
    print(f"{len(table)} runs in {time_span(table.elapsed_s)}{stored}.")
    print("Results:", *(f"  {path}" for path in written), sep="\n")


def _precision(text: str | None, of: str | None, replications: int | None) -> Any:
    from ..run.study import DEFAULT_PRECISION_OF, Precision

    if text is None:
        if of is not None:
            raise UsageError("--precision-of says what must be precise; give --precision 2% with it.")
        return None
    if replications is not None:
        raise UsageError("--precision finds the number of replications by itself; leave --replications out.")
    value = share("--precision", text)
    if value == 1:
        raise UsageError(f"--precision {text}: write a share between 0 and 100 %, such as 2% or 0.02.")
    return Precision(value, of or DEFAULT_PRECISION_OF)
