"""`trace`: packets of chosen flows as a capture file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ScenarioError
from .base import LARGEST_SEED, File, Json, Settings, app, examples, load, place, print_json, say, stem

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario


@app.command(
    epilog=examples(
        "evenflow trace examples/scenarios/red-ecn.toml --set duration='\"2 s\"'",
        "evenflow trace red-ecn.toml --flow 'groups.heavy.users[0]' --out flow.pcapng",
        "evenflow trace lossy-tunnel.toml --at line --out inside.pcapng",
        "tshark -r flow.pcapng -Y 'ip.flags.rb == 1'",
    )
)
def trace(
    file: File,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="PATH",
            help="groups.NAME.users[0].flows[0], .users[0] or the group. Repeatable; default: the file's, or one.",
        ),
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="Capture point: start (of the path), end, both, or the name of a link (behind it).",
        ),
    ] = "start",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="The run's seed.")] = 1,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="FILE", help="Output file; default: out/NAME.pcapng.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the packets of chosen flows as a capture (pcapng).

    The file has the headers of every packet: IPv4 with ECN field and RE flag, or IPv6 with the ConEx option. TCP
    headers have flags, numbers, windows, timestamps and SACK blocks. Inside a tunnel the outer headers come first:
    GTP-U, VXLAN, GRE or IP in IP.
    """
    from ..run import capture
    from ..run.files import refuse_input, write_out

    path = out if out is not None else Path("out") / f"{stem(file)}.pcapng"
    refuse_input(path, [file])
    scenario, _ = load(file, settings)
    if flow:
        scenario = scenario.set("record.trace", flow)
    scenario.check()
    if not scenario.tree.get("record", {}).get("trace"):
        scenario = _with_one_flow(scenario)
    capture.check_place(at, scenario.tree.get("links", {}))
    record = scenario.run(seed, progress=not as_json)
    data = capture.pcapng(record, scenario, at)
    write_out(path, data)
    if as_json:
        print_json({"written": str(path), "bytes": len(data), "seed": seed, "record_hash": record.record_hash})
        return
    say("Written:", f"  {path}")


def _with_one_flow(scenario: Scenario) -> Scenario:
    """Trace the first flow of the first user, or all flows of that user where they open dynamically."""
    group = next(iter(scenario.tree.get("groups", {})), None)
    if group is None:
        return scenario
    user = f"groups.{group}.users[0]"  # names of groups need no quotes
    one = scenario.set("record.trace", [f"{user}.flows[0]"])
    try:
        one.check()
    except ScenarioError:
        one = scenario.set("record.trace", [user])
        one.check()
    return one
