"""Terminal screens: one function each, with plain data as arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError
from ..judge import claims
from ..run import evidence
from ..run.tunnels import FROM
from ..scenario import registry
from ..scenario.outline import mean_of
from ..words import counted, listed
from . import names
from .console import clean, console, grid, plain, rate, share, table, time_span

if TYPE_CHECKING:
    from rich.console import Console

    from ..run.notes import Note
    from ..run.record import Record
    from ..run.study import Table
    from ..run.tunnels import TunnelTable
    from ..scenario.outline import Outline, Source, Way
    from ..scenario.scenario import Scenario
    from ..theory import Prediction

COLOUR = {"fails": "bold red", "undecided": "dim", "holds": "green"}


def _escaped(text: object) -> str:
    from rich.markup import escape

    return escape(clean(text))


MOST_ROWS = 200
"""Of groups or links on a screen."""
MOST_NOTES = 20
"""Of one code."""


def _begin(out: Console, rows: Sequence[Sequence[str]], what: str) -> Sequence[Sequence[str]]:
    """The first rows of a long table, with a line that says how many there are."""
    if len(rows) > MOST_ROWS:
        out.print(f"The first {MOST_ROWS} of {len(rows):,} {what}; --json prints all.")
    return rows[:MOST_ROWS]


def run(scenario: Scenario, record: Record, instability: Mapping[str, float] | None = None) -> None:
    """One run: rates, shares, transfers, video, delay and the bottleneck.

    Args:
        instability: in percent, of groups with adaptive video for which it is known.
    """
    doc = record.json
    out = console()
    start, end = doc.get("window_s", [0, 0])
    title = _escaped(scenario.title or scenario.source or "Scenario")
    out.print(f"[bold]{title}[/bold] · seed {doc.get('seed')} · measured from {plain(start)} s to {plain(end)} s")

    groups: Mapping[str, Any] = doc.get("groups", {})
    total = sum((g.get("throughput_bps") or 0.0) * (g.get("users") or 0) for g in groups.values())
    rows: list[Sequence[str]] = []
    for name, g in groups.items():
        users = g.get("users") or 0
        part = (g.get("throughput_bps") or 0.0) * users / total if total else None
        delivered = (g.get("delivered_packets") or 0) or None
        marked = (g.get("marks") or 0) / delivered if delivered else None
        rows.append(
            (
                _escaped(name),
                plain(users),
                rate(g.get("throughput_bps")),
                share(part),
                rate(g.get("goodput_bps")),
                share(g.get("loss_ratio")),
                share(marked) if g.get("marks") else "–",
            )
        )
    headings = ("group", "users", "throughput per user", "share", "goodput per user", "lost", "marked")
    grid(out, headings, _begin(out, rows, "groups"), right=(1, 2, 3, 4, 5, 6))
    _delays(out, groups)
    _transfers(out, groups, scenario.tree.get("groups", {}))
    _videos(out, groups, instability or {})

    links = list(_links(doc))
    rows = [
        (
            _escaped(name),
            share(link.get("utilisation")),
            f"{plain(link.get('queue_packets_mean'))} packets",
            time_span(link.get("queue_delay_s_mean")),
            time_span(link.get("queue_delay_s_p99")),
            time_span(link.get("queue_delay_s_max")),
            _reasons(link.get("drops")),
        )
        for name, link in links
    ]
    headings = ("link", "utilisation", "mean queue", "mean delay", "p99 delay", "max delay", "dropped")
    grid(out, headings, _begin(out, rows, "links"), right=(1, 2, 3, 4, 5, 6), text=(2, 6))
    out.print()
    out.print(_where_the_queue_was(links))
    dead = sum(g.get("flows_dead") or 0 for g in groups.values())
    if dead:
        out.print(
            f"[yellow]{dead} TCP connection{'s' if dead > 1 else ''} gave up after too many timeouts in a row.[/yellow]"
        )
    speed = f"{time_span(doc.get('wall_s'))} for {plain(doc.get('events'))} events"
    from .. import _core

    build = "" if _core.BUILD_PROFILE == "release" else f" · [yellow]{_core.BUILD_PROFILE} build: slow[/yellow]"
    out.print(f"[dim]{speed} · record {record.record_hash[:16]} · scenario {scenario.hash[:16]}[/dim]{build}")


def _delays(out: Console, groups: Mapping[str, Any]) -> None:
    """One-way delays of data packets and round-trip times of TCP, each where a group has them."""
    known = [
        (f"{field}_{of}", f"{words} {of}" if of == "p50" else of)
        for field, words in (("delay_s", "one-way delay"), ("rtt_s", "RTT"))
        if any(g.get(f"{field}_p50") is not None for g in groups.values())
        for of in ("p50", "p95", "p99")
    ]
    rows = [
        (_escaped(name), *(time_span(g.get(field)) for field, _ in known))
        for name, g in groups.items()
        if any(g.get(field) is not None for field, _ in known)
    ]
    if rows:
        headings = ("group", *(words for _, words in known))
        grid(out, headings, _begin(out, rows, "groups"), right=tuple(range(1, len(headings))))


def _transfers(out: Console, groups: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Completion times of each group with transfers: pages, requests, short flows, pings."""
    rows = [
        (
            _escaped(name),
            f"{plain(found.get('completed'))} of {plain(found.get('started'))}",
            *(time_span(found.get(f"first_byte_s_{of}")) for of in ("p50", "p95")),
            *(time_span(found.get(f"completion_s_{of}")) for of in ("p50", "p95", "p99", "max")),
        )
        for name, g in groups.items()
        if (found := g.get("transfers")) is not None
    ]
    if not rows:
        return
    times = {
        registry.table_of(traffic).get("completion", "completion time")
        for name, g in groups.items()
        if g.get("transfers") is not None
        for traffic in _several(written.get(name, {}).get("traffic"))
    }
    time = times.pop() if len(times) == 1 else "completion time"
    columns = ("first byte p50", "p95", f"{time} p50", "p95", "p99", "max")
    grid(out, ("group", "transfers completed", *columns), _begin(out, rows, "groups"), right=tuple(range(1, 8)))


def _several(traffic: Any) -> list[Mapping[str, Any]]:
    """The kinds of traffic of a group, as a list."""
    return list(traffic) if isinstance(traffic, list) else [traffic or {}]


def _videos(out: Console, groups: Mapping[str, Any], instability: Mapping[str, float]) -> None:
    """Start-up, stalls and bitrate of each group with video, over all its users."""
    rows: list[Sequence[str]] = []
    for name, g in groups.items():
        video = g.get("video")
        if video is None:
            continue
        percent = instability.get(name)
        rows.append(
            (
                _escaped(name),
                f"{plain(video.get('started'))} of {plain(video.get('asked'))}",
                time_span(video.get("startup_s_mean")),
                time_span(video.get("startup_s_max")),
                plain(video.get("stalls")),
                time_span(video.get("stalled_s")),
                rate(video.get("bitrate_bps")),
                plain(video.get("switches")),
                share(percent / 100 if percent is not None else None),
            )
        )
    if not rows:
        return
    headings = ["group", "videos started", "mean start-up", "max start-up", "stalls", "stalled", "mean bitrate"]
    if any("switches" in (g.get("video") or {}) for g in groups.values()):
        headings += ["switches", "instability"]  # of adaptive video alone
    rows = [row[: len(headings)] for row in rows]
    grid(out, headings, _begin(out, rows, "groups with video"), right=tuple(range(1, len(headings))))


def notes(found: Sequence[Note]) -> None:
    """Notes: settings without effect, and reasons that the numbers do not show."""
    _notes([(note, "") for note in found])


def notes_of_study(results: Table) -> None:
    """Notes of a study, each once, with the number of its points."""
    points = len(results.points())
    _notes(
        [
            (note, "" if len(places) == points else f" (at {len(places)} of {points} points)")
            for note, places in results.notes()
        ]
    )


def _notes(found: Sequence[tuple[Note, str]]) -> None:
    if not found:
        return
    from rich.padding import Padding

    out = console()
    out.print("\n[bold]Notes[/bold]")
    shown: dict[str, int] = {}
    for note, where in found:
        shown[note.code] = shown.get(note.code, 0) + 1
        if shown[note.code] > MOST_NOTES:
            continue
        path = f" [dim]{_escaped(note.path)}[/dim]" if note.path else ""
        out.print(f"[yellow]{note.code}[/yellow]{path}{where}")
        out.print(Padding(_escaped(note.text), (0, 0, 0, 2), expand=False))
    for code, count in shown.items():
        if count > MOST_NOTES:
            out.print(f"[yellow]{code}[/yellow]: {count - MOST_NOTES:,} more; --json prints all")


def check(outline: Outline) -> None:
    """A checked scenario: links and limits, groups and round trips, the sweep."""
    out = console()
    scenario = outline.scenario
    title = _escaped(scenario.title or scenario.source or "Scenario")
    out.print(f"[bold]{title}[/bold] · valid · {plain(outline.duration)} s, measured from {plain(outline.warmup)} s")
    rows = [
        (
            _escaped(way.name if way.forward else f"{way.name}, reverse"),
            f"per {way.per}" if way.per else "shared",
            (rate(way.rate) if way.rate else "–") + (", steps" if len(way.steps) > 1 else ""),
            time_span(way.delay),
            _queue(way),
            _limit(outline, way),
        )
        for way in outline.described()
    ]
    headings: tuple[str, ...] = ("link", "copies", "rate", "delay", "queue", "limit (empties in)")
    grid(out, headings, _begin(out, rows, "links"), right=(2, 3, 5), text=(4, 5))
    lines = []
    for source in outline.sources:
        path = " → ".join(outline.tree["groups"][source.group]["path"])
        fills = source.bandwidth_delay
        trip = time_span(source.round_trip_s) if source.tcp else "–"
        filled = f"{plain(fills / source.packet)} packets" if fills is not None else "–"
        lines.append((_escaped(source.group), plain(source.users), _sends(source), _escaped(path), trip, filled))
    headings = ("group", "users", "traffic per user", "path", "round trip", "bandwidth-delay product")
    grid(out, headings, _begin(out, lines, "kinds of traffic"), right=(1, 4, 5), text=(2, 3))
    from ..scenario.sweep import outline as planned

    points, replications, _ = planned(scenario)
    if "sweep" in scenario.tree:
        out.print(f"\\[sweep] has {points:,} points and {replications:,} seeds: {points * replications:,} runs.")
    random = outline.randomness()
    if random:
        more = f" and {len(random) - 3} more" if len(random) > 3 else ""
        out.print(f"Random: {_escaped(', '.join(random[:3]))}{more}.")
    out.print(
        "[dim]round trip: without queueing; bandwidth-delay product: of the narrowest link; "
        f"scenario {scenario.hash[:16]}[/dim]"
    )


def _limit(outline: Outline, way: Way) -> str:
    """ "50 packets (6 ms)"."""
    if way.limit is None:
        return "none" if way.is_unlimited else "–"
    full = outline.full_s(way)
    return way.limit if full is None or way.limit.endswith(" s") else f"{way.limit} ({time_span(full)})"


def _queue(way: Way) -> str:
    """An admission rule and its scheduler: "red, drr per user"."""
    if way.rate is None:
        return "–"
    scheduler, fifo = way.scheduler, registry.default("scheduler")
    served = "" if scheduler["kind"] == fifo else scheduler["kind"]
    if served and "per" in scheduler:
        served += f" per {scheduler['per']}"
    return ", ".join(part for part in (way.kind or fifo, served) if part)


def _sends(source: Source) -> str:
    """ "8 × bulk, newreno (rfc)", "poisson 7.5 Mbit/s", "ping"."""
    many = f"{source.flows:,} × " if source.flows > 1 else ""
    if source.tcp is not None:
        return f"{many}{source.kind}, {source.control} ({source.tcp['stack']})"
    if "rate" not in source.table:
        return f"{many}{source.kind}"
    return f"{many}{source.kind} {rate(mean_of(source.table['rate']))}"


def _links(doc: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every link, and its reverse direction where packets queued there."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for name, link in doc.get("links", {}).items():
        found.append((name, link))
        back = link.get("reverse") or {}
        if (back.get("queue_packets_mean") or 0.0) >= 0.1 or any((back.get("drops") or {}).values()):
            found.append((f"{name}, reverse", back))
    return found


def _reasons(counts: Mapping[str, int] | None) -> str:
    parts = [f"{n:,} {_escaped(reason.replace('_', ' '))}" for reason, n in (counts or {}).items() if n]
    return ", ".join(parts) or "none"


def _where_the_queue_was(links: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    if not links:
        return "The scenario has no link with a queue."
    name, link = max(links, key=lambda pair: pair[1].get("queue_delay_s_mean") or 0.0)
    delay = link.get("queue_delay_s_mean")
    if not delay or delay < 1e-4:
        return "No link delayed packets by more than 0.1 ms on average."
    return (
        f"Bottleneck: [bold]{_escaped(name)}[/bold]. Mean queue {plain(link.get('queue_packets_mean'))} packets "
        f"({time_span(delay)}), utilisation {share(link.get('utilisation'))}."
    )


def study(results: Table, metrics: Sequence[str] | None = None, titles: Sequence[str] | None = None) -> None:
    """Mean and 95 % interval of the chief metrics at every point; `titles` replace the metrics' names."""
    from .pictures import chief

    out = console()
    chosen = list(metrics) if metrics is not None else chief(results)
    labels = list(dict.fromkeys(name for point in results.points() for name in point))
    short = short_labels(labels)
    headings = titles or [heading(name) for name in chosen]
    keys = len(labels) + 1
    points = results.to_json(chosen)["points"]
    most = 60
    rows = [
        (
            *(_escaped(names.value(point["set"][name]) if name in point["set"] else "–") for name in labels),
            str(point["n"]),
            *(interval(name, point["metrics"].get(name)) for name in chosen),
        )
        for point in points[:most]
    ]
    grid(
        out,
        [*(short[n].replace(".", " ").replace("_", " ") for n in labels), "n", *headings],
        rows,
        keys=keys,
        right=tuple(range(len(labels), keys + len(chosen))),
        text=tuple(range(len(labels))),
    )
    if len(points) > most:
        out.print(f"… and {len(points) - most} more points; all are in results.csv.")
    out.print("[dim]mean ± half-width of the 95 % confidence interval over n runs[/dim]")


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Labels by as many of their last segments as tell them apart."""
    found: dict[str, str] = {}
    for label in labels:
        parts = label.split(".")
        for take in range(1, len(parts) + 1):
            tail = ".".join(parts[-take:])
            if sum(other == tail or other.endswith(f".{tail}") for other in labels) == 1:
                break
        found[label] = ".".join(parts[-max(take, min(2, len(parts))) :])
    return found


def heading(metric: str) -> str:
    """A metric's name for people, with its unit: "bottleneck mean queueing delay (ms)", "call RTT p99 (ms)"."""
    named = names.metric(metric)
    words, statistic = named.quantity.words, metric.rpartition("_")[2]
    if re.fullmatch(r"p\d+", statistic) and not words.endswith(" over users"):
        words = f"{words.partition(' of ')[2] or words} {statistic}"
    title = names.Quantity(words, "", _unit(named), 1.0).title
    return f"{named.owner} {title}" if named.owner else title


def _unit(named: names.Named) -> str:
    """Tables have one unit for a kind of number, whatever its size: Mbit/s, ms, per cent."""
    return {"bit/s": "Mbit/s", "s": "ms"}.get(named.quantity.unit, named.quantity.shown)


def factor(metric: str) -> float:
    """The factor from a metric to the unit of its heading."""
    quantity = names.metric(metric).quantity
    return {"bit/s": 1e-6, "s": 1e3}.get(quantity.unit, quantity.factor)


def interval(metric: str, found: Mapping[str, Any] | None) -> str:
    """ "4.91 ± 0.03", in the unit of the heading; mean and half-width end at the same digit."""
    if found is None or found["mean"] is None:
        return "–"
    by = factor(metric)
    mean = found["mean"] * by
    lo, hi = found["ci95"]
    if lo is None or hi is None:
        return _digits(mean, _decimals(mean, 4))
    half = (hi - lo) / 2 * by
    if half < 1e-9 * abs(mean) or half == 0:  # what rounding leaves of equal values
        return f"{_digits(mean, _decimals(mean, 4))} ± 0"
    last = min(_decimals(half, 2), max(_decimals(mean, SIGNIFICANT), 0))
    least = 10.0**-last
    return f"{_digits(mean, last)} ± {_digits(half, last) if half >= least / 2 else f'< {_digits(least, last)}'}"


SIGNIFICANT = 5
"""Most digits of a mean in a table, leading zeros not counted."""


def _decimals(value: float, significant: int) -> int:
    """Digits after the point that show a number to so many significant ones, trailing zeros included."""
    if value == 0:
        return 0
    return max(0, significant - 1 - math.floor(math.log10(abs(float(f"{value:.{significant - 1}e}")))))


def _digits(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"


def ledger(document: Mapping[str, Any], *, brief: bool = False, verdicts: Sequence[str] = ("fails", "holds")) -> None:
    """A paper's claims: counts, then the decided ones, worst first, then the inconclusive ones in a line each.

    Args:
        brief: leave out measured values, reasons and inconclusive claims.
        verdicts: of the claims in the first table.
    """
    out = console()
    out.print(counts(document))
    rows = claims.worst_first([row for row in document["claims"] if not row.get("apart")])
    made = table("verdict", "claim", "statement" if brief else "statement, measured value, accepted range")
    made.columns[0].min_width, made.columns[1].max_width = 17, 22
    for row in rows:
        if row["verdict"] not in verdicts:
            continue
        text = _escaped(row.get("statement") or row["expected"])
        if not brief:
            text += f"\nmeasured {_escaped(_cut(row['measured'], 200))}; accepted {_escaped(_cut(_accepted(row), 160))}"
            text += f"\n[dim]{_escaped(_cut(row['why']))}[/dim]" if row.get("why") else ""
        made.add_row(_verdict(row), f"{_escaped(row['id'])}\n[dim]{_escaped(row['source'])}[/dim]", text)
    if made.row_count:
        out.print(made)
    inconclusive = [row for row in rows if row["verdict"] == "undecided"]
    if inconclusive and not brief:
        _inconclusive(out, inconclusive)
    excluded = [row["id"] for row in document["claims"] if row.get("apart")]
    if excluded and not brief:
        out.print(f"[dim]Not counted: {_escaped(', '.join(excluded))}[/dim]")
    if document.get("sensitivity"):
        out.print(_sensitivity(document["sensitivity"]))


def _verdict(row: Mapping[str, Any]) -> str:
    """The verdict by the strict criterion, and by the lenient one where that differs."""
    word = claims.IN_WORDS[row["verdict"]]
    text = f"[{COLOUR[row['verdict']]}]{word}[/]" + ("\n[dim]by the mean only[/]" if row.get("by_mean") else "")
    if row.get("relaxed") not in (None, row["verdict"]):
        text += f"\n[dim]lenient: {claims.IN_WORDS[row['relaxed']]}[/]"
    return text


def _inconclusive(out: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """A grey line for each inconclusive claim, with the number of runs that would decide it."""
    made = table("claim", "inconclusive: statement", "runs to decide", right=(2,))
    for row in rows:
        needed = row.get("runs_to_decide")
        cells = (row["id"], _cut(row.get("statement") or row["expected"], 100), f"about {needed:,}" if needed else "–")
        made.add_row(*(f"[dim]{_escaped(cell)}[/dim]" for cell in cells))
    out.print(made)


def _sensitivity(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Which verdicts change with which other choice."""
    made = table("option", "value", "instead of", "changed verdicts: strict (lenient)")
    for row in rows:
        changes = "; ".join(f"{c['id']} {c['before']} → {c['after']}" for c in row["changes"]) or "none"
        present = row.get("instead_of", row["default"])  # older results have no other value than the default
        made.add_row(*(_escaped(str(text)) for text in (row["option"], row["value"], present)), _escaped(changes))
    return made


def _accepted(row: Mapping[str, Any]) -> str:
    tolerance = row.get("tolerance") or ""
    return f"{row['expected']} ({tolerance})" if tolerance else str(row["expected"])


def _cut(text: str, most: int = 240) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + " …"


def counts(document: Mapping[str, Any]) -> str:
    """One paragraph: how many claims are supported, not supported and inconclusive."""
    c, own = claims.count(document["claims"]), claims.by_own_number(document["claims"])
    scale = _escaped(document.get("scale", "quick"))
    strict = ((c.holds, c.holds_by_mean), (c.fails, c.fails_by_mean), (c.undecided, 0))
    lenient = (
        (c.relaxed_holds, c.relaxed_holds_by_mean),
        (c.relaxed_fails, c.relaxed_fails_by_mean),
        (c.relaxed_undecided, 0),
    )

    def said(numbers: Sequence[tuple[int, int]]) -> str:
        words = claims.IN_WORDS.values()
        return ", ".join(f"{n} {w}{claims.by_mean(m)}" for (n, m), w in zip(numbers, words, strict=True))

    lines = [
        f"[bold]{counted(c.judged, 'claim')} at scale “{scale}”: {said(strict)}.[/bold]",
        *([f"{own} use a number that the paper does not print, marked {claims.OURS}."] if own else []),
        f"Lenient criteria, where defined: {said(lenient)}.",
    ]
    if c.apart:
        lines.append(
            f"{counted(c.apart, 'claim')} not counted: by construction, arithmetic, calibrated or not the paper's."
        )
    if c.undecided and scale == "quick":
        lines.append("Inconclusive means: needs more runs. Use --scale paper for the paper's own number.")
    return "\n".join(lines)


def papers(rows: Sequence[Mapping[str, Any]], after: str) -> None:
    """The installed papers with their shipped results, and a line ``after`` them."""
    out = console()
    keys = ("holds", "fails", "undecided", "apart")
    cells = [
        (_escaped(row["title"]), *(str(row.get(key, "–")) for key in keys), f"evenflow reproduce {row['key']}")
        for row in rows
    ]
    headings = ("paper", *(claims.IN_WORDS[key] for key in keys[:3]), "not counted", "command")
    if rows:
        grid(out, headings, cells, right=(1, 2, 3, 4), text=(0,))
    out.print(_escaped(after))


def listing(title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Names and one line each."""
    out = console()
    out.print(f"\n[bold]{title}[/bold]")
    headings = [{"kind": "name", "room": "category", "doc": "meaning"}.get(c, c) for c in columns]
    grid(out, headings, [[_escaped(row.get(c, "")) for c in columns] for row in rows], text=(len(columns) - 1,))


ALARMS = {"dangerous": " (!!!)", "possibly-dangerous": " (!)"}


def tunnels(found: TunnelTable) -> None:
    """The ECN field at the ingress and the egress of a tunnel, under each set of rules."""
    out = console()
    fields, rules = found["fields"], {name: found["rules"][name] for name in FROM}
    out.print("\n[bold]Ingress[/bold]: outer field by inner field")
    rows = [[_escaped(inner), *(_escaped(rules[name]["ingress"][inner]) for name in rules)] for inner in fields]
    grid(out, ["inner", *rules], rows)
    out.print("\n[bold]Egress[/bold]: resulting field by inner and outer field")
    pairs = [(inner, outer) for inner in fields for outer in fields]
    rows = [
        [
            _escaped(inner),
            _escaped(outer) + ALARMS.get(found["alarms"][inner][outer] or "", ""),
            *(_escaped(rules[name]["egress"][inner][outer] or "drop") for name in rules),
        ]
        for inner, outer in pairs
    ]
    grid(out, ["inner", "outer", *rules], rows, keys=2)
    out.print("RFC 6040 calls these pairs: (!!!) always potentially dangerous, (!) possibly dangerous.")
    for name in rules:
        out.print(f"[dim]{name}: {FROM[name]}[/dim]")


def more(command: str) -> None:
    """The command that prints more."""
    console().print(f"[dim]More with: {_escaped(command)}[/dim]")


MOST_PARAMETERS = 30
"""Of a mechanism on one screen."""


def mechanism(found: Mapping[str, Any], *, everything: bool = False) -> None:
    """A mechanism on one screen, or a metric's definition.

    Args:
        everything: add ranges, sources, observables, counters, deviations and validation.
    """
    out = console()
    if found.get("alias"):
        out.print(f"As a metric, “{_escaped(found['alias'])}” is an alias of {listed(found['metrics'])}.\n")
    if "kind" not in found:
        out.print(f"[bold]{_escaped(found['name'])}[/bold] ({_escaped(found.get('unit') or 'no unit')})")
        for field in ("doc", "formula", "window"):
            if found.get(field):
                out.print(f"{field}: {_escaped(found[field])}" if field != "doc" else _escaped(found[field]))
        return
    out.print(f"[bold]{_escaped(found['kind'])}[/bold] · {_escaped(found['title'])} · {_escaped(found['room'])}\n")
    acts = {"both": "both directions"}.get(found.get("acts", ""), f"the {found.get('acts')} direction")
    texts = (
        found.get("doc"),
        f"Source: {found['source']}" if found.get("source") else "",
        f"Acts on packets in {acts}." if found.get("acts") else "",
    )
    for text in texts:
        if text:
            out.print(_escaped(text))
    if found.get("example"):
        out.print("\n[bold]Example[/bold]")
        out.print(_escaped(found["example"]), soft_wrap=True)  # never broken, so that it can be copied
    if found.get("params"):
        _parameters(out, found["params"], everything=everything)
    if not everything:
        more_options = ["--all"] + (["--validation"] if _is_checked(found) else [])
        more(f"evenflow describe {found['kind']} {' or '.join(more_options)}")
        return
    if found.get("presets"):
        names, *rows = found["presets"]
        grid(out, names, [[_escaped(cell) for cell in row] for row in rows], text=tuple(range(1, len(names))))
    if found.get("observables"):
        cells = [
            [_escaped(o["name"]), _escaped(o.get("unit") or "–"), _escaped(o["doc"])] for o in found["observables"]
        ]
        grid(out, ("observable", "unit", "meaning"), cells, text=(2,))
    for heading, key in (("Counters", "counters"), ("Deviations", "deviations")):
        if found.get(key):
            out.print(f"[bold]{heading}[/bold]")
            for item in found[key]:
                first, second = (
                    (item.get("name"), item.get("doc")) if key == "counters" else (item.get("what"), item.get("why"))
                )
                out.print(f"  {_escaped(first)}: {_escaped(second)}")
    if _is_checked(found):
        checked(found)


def _parameters(out: Console, params: Sequence[Mapping[str, Any]], *, everything: bool) -> None:
    """The parameters: a line each, or with range and source."""
    if everything:
        cells = []
        for p in params:
            meaning = _escaped(p["doc"]) + (f" [dim]({_escaped(p['source'])})[/dim]" if p.get("source") else "")
            cells.append([*(_escaped(p.get(k) or "–") for k in ("name", "type", "default", "range")), meaning])
        grid(out, ("parameter", "type", "default", "range", "meaning"), cells, text=(1, 2, 3, 4))
        return
    rows = [[str(p["name"]), _cut(str(p.get("default") or "–"), 24), str(p["doc"])] for p in params[:MOST_PARAMETERS]]
    space = max(20, out.width - 10 - sum(max(len(row[i]) for row in rows) for i in (0, 1)))
    grid(
        out,
        ("parameter", "default", "meaning"),
        [[*map(_escaped, row[:2]), _escaped(_cut(row[2], space))] for row in rows],
    )
    if len(params) > MOST_PARAMETERS:
        out.print(f"[dim]{len(params) - MOST_PARAMETERS} more parameters: --all[/dim]")


def _is_checked(found: Mapping[str, Any]) -> bool:
    return bool(found.get("validation", {}).get("rows") or found.get("vectors"))


def checked(found: Mapping[str, Any]) -> None:
    """The checks of a mechanism against references."""
    if not _is_checked(found):
        console().print(f"No validation of {_escaped(found.get('kind') or found['name'])} is recorded.")
    if found.get("validation", {}).get("rows"):
        validation(found["validation"])
    if found.get("vectors"):
        vectors(found["vectors"])


def vectors(found: Sequence[Mapping[str, Any]]) -> None:
    """Conformance vectors of a mechanism."""
    out = console()
    said = "tests/conformance: a second implementation from these documents; every vector must match"
    out.print(f"[bold]Conformance vectors[/bold] [dim]({said})[/dim]")
    cells = [
        [
            _escaped(row["folder"]),
            str(row["vectors"]),
            f"{row['events']:,}",
            *map(_escaped, (row["what"], row["documents"])),
        ]
        for row in found
    ]
    grid(out, ("folder", "vectors", "events", "what", "from"), cells, right=(1, 2), text=(0, 3, 4))


def validation(found: Mapping[str, Any]) -> None:
    """Checks of a mechanism against references, and the reasons of differences."""
    out = console()
    engines = " and ".join(engine[:16] for engine in found["engines"])
    out.print(f"[bold]Validation[/bold] [dim](engine {engines}; docs/validation.md)[/dim]")
    cells = []
    for line in evidence.summary(found["rows"]):
        row = line["farthest"]
        where = f"{row['metric']}{' at ' if row['point'] else ''}{evidence.place(row)}"
        away = evidence.difference(row)
        far = f"{away:+.1%}, {where}" if away is not None else where
        agree = f"{line['agree']} of {line['numbers']}"
        cells.append([_escaped(line["check"]), _escaped(line["against"]), agree, _escaped(far)])
    grid(out, ("check", "against", "agree", "largest deviation from reference"), cells, right=(2,), text=(0, 1, 3))
    for reason, rows in evidence.differing(found["rows"]).items():
        against = ", ".join(dict.fromkeys(f"{row['check']} against {row['against']}" for row in rows))
        out.print(f"  [yellow]{len(rows)} differ[/yellow], {_escaped(against)}: {_escaped(reason)}")


def theory(found: Prediction) -> None:
    """Prediction and simulation: rates, windows, prices, links, stability, warnings."""
    out = console()
    document = found.to_json()
    scenario = found.scenario
    title = _escaped(scenario.title or scenario.source or "Scenario")
    seeds = document.get("seeds")
    told = "not simulated"
    if seeds:
        window = f"{plain(scenario.core.warmup_s)} s to {plain(scenario.core.duration_s)} s"
        told = f"{_seeds(seeds)}, measured from {window}"
    out.print(f"[bold]{title}[/bold] · fluid model · {told}\n")

    rows: list[list[str]] = []
    for name, r in document["routes"].items():
        measured = r["simulated"]
        rows.append(
            [
                _escaped(name),
                str(r["flows"]),
                time_span(r["rtt_s"]),
                plain(r["weight"]),
                rate(r["pure"]["rate_bps"]),
                rate(r["corrected"]["rate_bps"]),
                _with_interval(measured and measured["rate_bps"], rate),
                *(_off(r["difference"][column]) for column in ("pure", "corrected")),
            ]
        )
    rates = (
        "flows",
        "round trip",
        "weight",
        "rate: pure",
        "corrected",
        "simulated",
        "pure deviation",
        "corrected deviation",
    )
    grid(out, ("route", *rates), rows, right=tuple(range(1, 9)))

    rows = []
    halves: tuple[tuple[str, Callable[[float | None], str]], ...] = (("window_packets", plain), ("price", _price))
    for name, r in document["routes"].items():
        measured = r["simulated"] or {}
        cells = []
        for what, show in halves:
            cells += [show(r["pure"][what]), show(r["corrected"][what]), _with_interval(measured.get(what), show)]
        rows.append([_escaped(name), *cells])
    windows = ("window: pure", "corrected", "simulated", "price: pure", "corrected", "simulated")
    grid(out, ("route", *windows), rows, right=tuple(range(1, 7)))

    shown = {n: k for n, k in document["links"].items() if k["marking"] is not None or k["pure"]["saturated"]}
    if shown:
        rows = []
        thirds = (("utilisation", share), ("price", _price), ("queue_delay_s", time_span))
        for name, k in shown.items():
            measured = k["simulated"] or {}
            cells = []
            for what, show in thirds:
                columns = ("corrected",) if what == "queue_delay_s" else ("pure", "corrected")
                cells.append(" / ".join(_held(k[column], what, show) for column in columns))
                cells.append(_with_interval(measured.get(what), show))
            rows.append([_escaped(name), *cells])
        loads = ("load: predicted", "simulated", "price: predicted", "simulated", "queue: predicted", "simulated")
        grid(out, ("link", *loads), rows, right=tuple(range(1, 7)))
        for line in _marking(shown):
            out.print(line)
    _settles(out, document["stability"])
    if document["composed"]:
        out.print("Corrected column: marks of several links on one packet are one mark (--composed).")
    for warning in document["warnings"]:
        out.print(f"[yellow]{_escaped(warning)}[/yellow]")
    out.print(
        "[dim]rates per connection; predictions pure / corrected; ± half-width of the 95 % interval; "
        "deviation: predicted / simulated − 1; "
        f"scenario {scenario.hash[:16]}[/dim]"
    )


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"seeds {seeds[0]} to {seeds[-1]}"


def _price(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _off(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:+.1f} %"


def _held(state: Mapping[str, Any], what: str, show: Callable[[float | None], str]) -> str:
    """A number of a link's state, or that there is none because it is saturated."""
    return "saturated" if state["saturated"] and what == "utilisation" else show(state[what])


def _with_interval(found: Mapping[str, Any] | None, show: Callable[[float | None], str]) -> str:
    """A mean as people read it, and half its interval as a share of it."""
    if not found or found["mean"] is None:
        return "–"
    lo, hi = found["ci95"]
    if lo is None or hi is None or not found["mean"]:
        return show(found["mean"])
    return f"{show(found['mean'])} ± {(hi - lo) / 2 / abs(found['mean']) * 100:.2g} %"


def _marking(links: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Where each link's price comes from, links with the same price together."""
    told: dict[str, list[str]] = {}
    for name, link in links.items():
        m = link["marking"]
        if m is None:
            continue
        if "form" in m:
            text = f"{m['form']} (closed form)"
        else:
            falls = "" if m["increasing"] else "; its load is not monotonic in its price"
            text = (
                f"measured curve {m['measured']}, sha256 {m['sha256'][:12]}, prices from {m['first']:.3g} to "
                f"{m['top']:.3g}, {time_span(m['rtt_s'])} round trip{falls}"
            )
        told.setdefault(f"{m['kind']}, {text}", []).append(_escaped(name))
    return [f"{', '.join(names)}: {_escaped(text)}" for text, names in told.items()]


def _settles(out: Any, found: Mapping[str, Any]) -> None:
    """The verdict, and what it rests on."""
    if found["why"]:
        out.print(f"[bold]Stability: no verdict[/bold] · {_escaped(found['why'])}.")
        return
    verdict, averaged = found["verdict"], found["verdict_averaged"]
    more = f"; with the markers' averaging as delay: {averaged}" if averaged != verdict else ""
    out.print(f"[bold]Stability: {_escaped(verdict)}[/bold]{_escaped(more)}")
    for route in found["routes"]:
        plain_one, late = route["plain"], route["averaged"]
        text = f"  {route['route']}: {plain_one['value']:.3g}, bound {plain_one['bound']:.3g}"
        if late is not None:
            text += f"; with averaging, {time_span(late['delay_s'])} of delay: {late['value']:.3g}"
        out.print(f"{_escaped(text)}")
    if found["routes"]:
        out.print(f"[dim]  {_escaped(found['routes'][0]['plain']['basis'])}[/dim]")


def doctor(rows: Sequence[Mapping[str, str]]) -> None:
    """Checks of this machine."""
    out = console()
    made = table("", "check", "result")
    marks = {"yes": "[green]✓[/]", "no": "[dim]–[/]", "bad": "[red]✗[/]"}
    for row in rows:
        made.add_row(marks[row["state"]], _escaped(row["what"]), _escaped(row["found"]))
    out.print(made)


def error(problem: EvenflowError) -> None:
    """A sentence on standard error, as it is: no wrapping, no colour, so that it can be searched for."""
    import sys

    print(f"evenflow: {problem}", file=sys.stderr)
