"""`trace`: packets of chosen flows as a capture file. `explain`: why a packet was dropped."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ScenarioError, UsageError
from .base import LARGEST_SEED, File, Json, Settings, app, examples, load, place, print_json, say, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..scenario.scenario import Scenario
    from ..show.explain import Event

MOST_EVENTS = 40
"""Events of a flow that are listed on the screen."""


@app.command(
    epilog=examples(
        "evenflow trace examples/scenarios/red-ecn.toml --set duration='\"2 s\"'",
        "evenflow trace red-ecn.toml --flow 'groups.heavy.users[0]' --out flow.pcapng",
        "evenflow trace lossy-tunnel.toml --at core --out inside.pcapng",
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


@app.command(
    epilog=examples(
        "evenflow explain examples/scenarios/call.toml --drop 100",
        "evenflow explain red-ecn.toml --mark 1 --set duration='\"5 s\"'",
        "evenflow explain call.toml --flow 'groups.download.users[0].flows[0]'",
        "evenflow explain call.toml --at 12.1s --out why.svg",
    )
)
def explain(
    file: File,
    drop: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The N-th drop, of all links or of --flow.")
    ] = None,
    mark: Annotated[int | None, typer.Option(min=1, metavar="N", help="The N-th mark, likewise.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="The event nearest to this time: 12.1s.")] = None,
    flow: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="groups.NAME.users[0].flows[0]. Alone: list the events of the flow."),
    ] = None,
    event: Annotated[int | None, typer.Option(min=1, metavar="N", help="The N-th event in the list of --flow.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="The run's seed.")] = 1,
    settings: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place, metavar="FILE", help="Draw four round trips around the event: SVG, PDF, PNG or CSV."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain a drop, mark, window reduction or stall.

    The output has the values of the rule at its decision, and the answer of the sender. The run is repeated with the
    same seed. Without a choice the first drop or mark of a link is explained.
    """
    from ..run.files import refuse_input
    from ..show import explain as explaining
    from .plotting import _raise, _suffix, write

    problems: list[str] = []
    _suffix(out, problems)
    _raise(problems)
    if out is not None:
        refuse_input(out, [file])
    scenario, _ = load(file, settings)
    scenario.check()
    if flow is not None and (drop, mark, at, event) == (None, None, None, None) and out is None:
        found = explaining.events(scenario, flow, seed)
        if as_json:
            print_json({"flow": flow, "seed": seed, "events": [asdict(it) for it in found]})
        else:
            _list_events(flow, found)
        return
    time = None if at is None else _seconds(at)
    it = explaining.explain(scenario, seed, drop=drop, mark=mark, at=time, flow=flow, event=event)
    if as_json:
        print_json({"seed": seed, **it.to_json()})
    else:
        say(str(it))
    if out is not None:
        written = write(explaining.picture(it), out, out, (None, None))
        if not as_json:
            say("Written:", *(f"  {path}" for path in written))


def _list_events(flow: str, found: Sequence[Event]) -> None:
    """The first events, and how to explain one."""
    if not found:
        say(f"{flow}: no packet was dropped or marked, and the sender never reduced its window.")
        return
    for it in found[:MOST_EVENTS]:
        say(f"{it.number:6}  {it.time_s:12.6f} s  {it.kind:8} {it.reason:20} {it.place}")
    if len(found) > MOST_EVENTS:
        say(f"   … {len(found) - MOST_EVENTS} more; --json lists all.")
    say("", "Explain one: add --event N.")


def _seconds(text: str) -> float:
    """A time as typed: "12.1s", "350 ms" or "12.1" (seconds)."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|ms|us|)\s*", text)
    if found is None:
        raise UsageError(f"--at {text}: write a time such as 12.1s or 350ms.")
    return float(found[1]) * {"s": 1.0, "": 1.0, "ms": 1e-3, "us": 1e-6}[found[2]]
