"""`demo`: the headline question on one line, one figure of one paper beside its claims, and all papers' results."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .base import Jobs, Json, app, examples, place, print_json, say

if TYPE_CHECKING:
    from ..run.study import Table
    from ..show.picture import Picture

SCENARIO = Path(__file__).with_name("demo.toml")
COLUMNS = {
    "groups.eight.throughput_bps": "8 connections (Mbit/s)",
    "groups.one.throughput_bps": "1 connection (Mbit/s)",
    "groups.call.transfers.completion_s_p50": "call round trip p50 (ms)",
    "groups.call.transfers.completion_s_p99": "call round trip p99 (ms)",
    "groups.web.transfers.completion_s_p50": "page time p50 (ms)",
    "groups.web.transfers.completion_s_p95": "page time p95 (ms)",
}
"""Metrics of the page's table, and their headings."""
SCREEN = {
    "groups.eight.throughput_bps": ("8 connections", 1e-6, 2),
    "groups.one.throughput_bps": ("1 connection", 1e-6, 2),
    "groups.call.transfers.completion_s_p50": ("call p50", 1e3, 1),
    "groups.call.transfers.completion_s_p99": ("call p99", 1e3, 1),
    "groups.web.transfers.completion_s_p50": ("page p50", 1, 2),
    "groups.web.transfers.completion_s_p95": ("page p95", 1, 2),
}
"""Metrics of the screen: heading, factor of the unit, decimals."""
PANELS = (
    (
        "throughput",
        "bit/s",
        {"8 connections": "groups.eight.throughput_bps", "1 connection": "groups.one.throughput_bps"},
    ),
    ("call round trip", "s", {p: f"groups.call.transfers.completion_s_{p}" for p in ("p50", "p99")}),
    ("page time", "s", {p: f"groups.web.transfers.completion_s_{p}" for p in ("p50", "p95")}),
)
PAPER, EXPERIMENT = "abc", "fig11"


@app.command(epilog=examples("evenflow demo"))
def demo(
    jobs: Jobs = None,
    out: Annotated[
        Path | None, typer.Option(parser=place, metavar="DIR", help="Folder of the two pages; default: ./out/demo.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare five queues, and reproduce one figure of a paper.

    Two downloads, a call and a web user share 10 Mbit/s. The command prints throughput, delay and page times, and
    writes them as a page. It takes about 20 seconds.
    """
    from ..run.files import prepare
    from ..run.store import Store
    from ..run.study import Study, run_study
    from ..scenario.scenario import Scenario
    from ..show import plots, report
    from ..show.drawing import draw
    from ..show.export import write_study
    from ..show.pictures import Choice

    scenario = Scenario(tomllib.loads(SCENARIO.read_text(encoding="utf-8")))
    out = out or Path("out") / "demo"
    prepare(out)
    with Store() as store:
        if not as_json:
            say(scenario.title, "Two downloads, a call and a web user share a line of 10 Mbit/s:", flush=True)
        table = run_study(Study.from_scenario(scenario), store=store, jobs=jobs, progress=not as_json, what="demo")
        picture = draw(_picture(table))
        svg = plots.svg(picture)
        alt = "Throughput of two downloads, round-trip time of a call and page times under five queues."
        caption = "Mean over 10 runs; the bar is the 95 % confidence interval (Student t)."
        drawn = report.Drawn("Five queues", caption, alt, svg, {"figures/demo.svg": svg.encode()})
        write_study(
            table,
            scenario,
            out,
            choice=Choice(tuple(COLUMNS)),
            command="evenflow demo",
            store=store,
            figures=report.StudyFigures([drawn], []),
            headings=[*COLUMNS.values()],
        )
        if as_json:
            print_json(table.to_json())
            return
        _screen(table)
        say(f"Page with the figure: {(out / 'report.html').resolve()}", flush=True)
        _one_figure(store, jobs, out / PAPER)
    from .papers import papers

    say("", "Papers reproduced so far, at their own scale:", flush=True)
    papers()


def _screen(table: Table) -> None:
    """The table in 100 columns."""
    from ..show.console import console, grid

    rows = []
    for point in table.points():
        found = [(table.interval(metric, point), factor, digits) for metric, (_, factor, digits) in SCREEN.items()]
        rows.append([str(point["queue"]), *(f"{i.mean * f:.{d}f} ± {i.half_width * f:.{d}f}" for i, f, d in found)])
    out = console()
    grid(out, ["queue", *(heading for heading, _, _ in SCREEN.values())], rows, right=tuple(range(1, len(SCREEN) + 1)))
    out.print("Throughput in Mbit/s, round-trip time of the call in ms, load time of a page in s.")
    out.print("[dim]mean ± half-width of the 95 % confidence interval over 10 runs[/dim]")


def _picture(table: Table) -> Picture:
    """Three panels: throughput, round trip of the call, page time. Each has a row for each queue."""
    import numpy as np

    from ..show.names import Quantity
    from ..show.picture import Line, Panel, Picture

    points = table.points()
    panels = []
    for title, unit, metrics in PANELS:
        found = {words: [table.interval(metric, point) for point in points] for words, metric in metrics.items()}
        quantity = Quantity(title, unit).fitted([i.mean for several in found.values() for i in several])
        lines = []
        for number, (words, several) in enumerate(found.items()):
            mean, lo, hi = (
                np.array([getattr(i, end) for i in several]) * quantity.factor for end in ("mean", "lo", "hi")
            )
            count = np.array([i.n for i in several])
            lines.append(Line(words, np.arange(len(points), dtype=float), mean, lo, hi, count, colour=number))
        names: list[Any] = [point["queue"] for point in points]
        panels.append(Panel(Quantity(""), quantity, lines, categories=names))
    return Picture("interval", panels, 1, own_legends=True, size=(5.0, 5.2))


def _one_figure(store: Any, jobs: int | None, out: Path) -> None:
    """One experiment of one paper: its runs, its figure and the claims on it."""
    from .. import papers as registry
    from ..papers import reproduce as work
    from ..show import screens

    if registry.missing():
        return
    paper = registry.load(PAPER)
    say("", f"One figure of one paper: {paper.reference}", flush=True)
    done = work.reproduce(
        paper, scale="paper", experiments=[EXPERIMENT], out=out, store=store, jobs=jobs, progress=True,
        say=lambda line: say(line, flush=True),
    )  # fmt: skip
    screens.ledger(done.to_json(), brief=True)
    say(f"Page with the figure beside its claims: {(done.out / work.REPORT).resolve()}", flush=True)
