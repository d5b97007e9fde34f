"""Reports: one self-contained HTML file each, which opens offline."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..judge import claims
from ..scenario.toml_text import toml_text
from ..words import html_page, script_json
from . import one_claim
from .console import time_span

if TYPE_CHECKING:
    from jinja2 import Environment

    from ..papers.reproduce import Examined, Reproduction
    from ..run.study import Table
    from ..scenario.scenario import Scenario
    from .picture import Picture
    from .pictures import Choice

LARGEST_EMBEDDED_CSV = 300_000
"""Bytes of data a figure may carry inside the page; more is a link to the file beside it."""
LARGEST_EMBEDDED_VIEW = 1_500_000
"""Bytes of a run's view inside the page, likewise."""
MOST_IN_ALT = 3
"""Claims that a figure's alternative text names."""


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("evenflow.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = lambda value: "∞" if value is None else claims.number(value)
    made.filters["by_mean"] = claims.by_mean
    made.filters["in_words"] = claims.IN_WORDS.__getitem__
    made.filters["axes"] = _axes
    made.filters["script"] = lambda tree: Markup(script_json(tree))
    made.filters["accepted"] = lambda pair: claims.Check("", 0.0, pair[0], pair[1]).accepted
    return made


def _provenance() -> dict[str, Any]:
    from .. import _core

    return {"version": _core.__version__, "engine": _core.ENGINE_ID, "build": _core.BUILD_PROFILE}


def _uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def render(done: Reproduction) -> str:
    """The report of a reproduced paper."""
    document = done.to_json()
    rows = done.rows
    return html_page(
        _environment()
        .get_template("report.html.j2")
        .render(
            key=done.paper.key,
            title=done.paper.title,
            reference=done.paper.reference,
            summary=done.paper.summary,
            scale=done.scale,
            complete=document["complete"],
            warnings=[*done.warnings, *done.broken],
            counts=claims.count(rows),
            own=claims.by_own_number(rows),
            shown=claims.count([{**row, "apart": None} for row in rows]),
            history=done.paper.changes,
            history_of=lambda name: [change for change in done.paper.changes if change.concerns(name)],
            changes_of=lambda name: _changes_of(document["sensitivity"], name),
            examined_options=bool(document["sensitivity"]),
            differing=sum(1 for row in rows if row["relaxed"] not in (None, row["verdict"])),
            rows=rows,
            runs=sum(len(e.table) for e in done.examined),
            figures=[_figure(e, done, rows) for e in done.examined],
            deviations=[(d, d.said({e.experiment.id: e.table for e in done.examined})) for d in done.paper.deviations],
            options=done.paper.options,
            chosen=done.paper.chosen,
            level=f"{100 * done.paper.level:g} %",
            varied=done.varied,
            provenance=_provenance()
            | {
                "host": document["host"],
                "carried": done.rights,
                "jobs": done.jobs,
                "elapsed": time_span(done.elapsed_s),
                "cached": sum(e.table.cached for e in done.examined),
            },
        )
    )


def _changes_of(sensitivity: Sequence[dict[str, Any]], name: str) -> list[tuple[str, dict[str, Any]]]:
    """What options change about a claim: "option = value", and the change."""
    return [
        (f"{option['option']} = {option['value']}", change)
        for option in sensitivity
        for change in option["changes"]
        if change["id"] == name
    ]


def _axes(checks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Comparisons with their places on an axis of 100, which those with the same unit and accepted set share."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for check in checks:
        groups.setdefault((check["unit"], *check["accepted"]), []).append(check)
    found = []
    for group in groups.values():
        lo, hi = one_claim.axis(group)

        def at(value: float | None, lo: float = lo, hi: float = hi) -> float | None:
            return None if value is None else round(min(100.0, max(0.0, 100 * (value - lo) / (hi - lo))), 2)

        for check in group:
            start, end = at(check["accepted"][0]) or 0.0, at(check["accepted"][1])
            low, high = (at(bound) for bound in check["ci"])
            places = {
                "from": start,
                "wide": round((100.0 if end is None else end) - start, 2),
                "at": at(check["mean"]),
                "low": 0.0 if low is None else low,
                "high": 100.0 if high is None else high,
                "mode_places": [at(mode["value"]) for mode in check["modes"] if mode["value"] is not None],
                "said": one_claim.measured(check),
                "accepted_words": one_claim.accepted(check),
            }
            found.append({**check, **places})
    return found


def _figure(found: Examined, done: Reproduction, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    data, download = found.data, False
    if data:
        text = (done.out / data).read_bytes()
        if len(text) <= LARGEST_EMBEDDED_CSV:
            data, download = _uri("text/csv;charset=utf-8", text), True
    view = (done.out / found.view).read_bytes() if found.view else b""
    return {
        "id": found.experiment.id,
        "title": found.experiment.title,
        "caption": found.experiment.caption,
        "image": _uri("image/svg+xml", found.svg.encode()) if found.svg else "",
        "alt": _alt(found.experiment.title, [row for row in rows if found.experiment.id in row["experiments"]]),
        "broken": found.broken,
        "data": data,
        "download": download,
        "view": found.view,
        "viewed": found.viewed,
        "view_page": view.decode() if len(view) <= LARGEST_EMBEDDED_VIEW else "",
        "claims": [(row["id"], row["verdict"]) for row in rows if found.experiment.id in row["experiments"]],
        "runs": len(found.table),
        "points": len(found.table.points()),
        "seeds": _seeds(found.table),
        "durations": _durations(found.table),
        "elapsed": time_span(found.table.elapsed_s),
        "run_wall": time_span(found.table.run_wall_s),
    }


def _alt(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """A figure's alternative text: the verdicts of the claims on it, worst first. The caption describes the plot."""
    if not rows:
        return f"{title}. No claim uses this figure; its data file has the numbers."
    verdicts = [row["verdict"] for row in rows]
    counts = [f"{verdicts.count(verdict)} {words}" for verdict, words in claims.IN_WORDS.items() if verdict in verdicts]
    worst = [
        f"{row['id']} {claims.IN_WORDS[row['verdict']]}: {row['statement'] or row['expected']}"
        for row in claims.worst_first(rows)
    ]
    told = "; ".join(text.rstrip(".") for text in worst[:MOST_IN_ALT])
    claimed = "1 claim" if len(rows) == 1 else f"{len(rows)} claims"
    return f"{title}. {claimed}: {', '.join(counts)}. {told}{'; …' if len(worst) > MOST_IN_ALT else '.'}"


def _seeds(table: Table) -> str:
    seeds = sorted({run.seed for run in table})
    whole = seeds == list(range(seeds[0], seeds[-1] + 1))
    if len(seeds) == 1:
        return str(seeds[0])
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def _durations(table: Table) -> str:
    windows = sorted({tuple(run.json["window_s"]) for run in table if "window_s" in run.json})
    return "; ".join(f"{end:g} s, measured from {start:g} s" for start, end in windows[:3]) + (
        " …" if len(windows) > 3 else ""
    )


@dataclass(frozen=True)
class Drawn:
    """A figure of a study: its title, what it shows in words, its SVG, and its files by name."""

    title: str
    caption: str
    alt: str
    svg: str
    files: dict[str, bytes]


@dataclass(frozen=True)
class StudyFigures:
    """The figures of a study, and why some are missing."""

    drawn: list[Drawn]
    missing: list[str]


def study_figures(table: Table, choice: Choice | None = None) -> StudyFigures:
    """A figure for each quantity, over what is swept; never none without a reason."""
    from . import names, pictures, plots
    from .drawing import draw

    choice = choice or pictures.Choice()
    metrics = pictures.metrics_of(table, choice)
    by_quantity: dict[str, list[str]] = {}
    for metric in metrics:
        by_quantity.setdefault(names.metric(metric).quantity.words, []).append(metric)
    drawn, missing = [], []
    used: set[str] = set()
    for words, members in by_quantity.items():
        try:
            picture = pictures.of_table(table, replace(choice, metric=tuple(members)))
            figure = draw(picture)
        except UsageError as error:
            missing.append(f"{words}: {error}")
            continue
        svg = plots.svg(figure)
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "figure"
        name = name if name not in used else f"{name}-{len(used)}"
        used.add(name)
        files = {f"figures/{name}.svg": svg.encode(), f"figures/{name}.pdf": plots.rendered(figure, "pdf")}
        drawn.append(Drawn(_capital(words), _study_caption(picture), _study_alt(picture), svg, files))
    if not metrics:
        missing.append("the runs have no metric to draw")
    return StudyFigures(drawn, missing)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _study_caption(picture: Picture) -> str:
    unbounded = all(n < 2 for panel in picture.panels for line in panel.lines for n in line.n)
    if unbounded:
        return "One run each, so no interval is drawn."
    shape = {"line": "the band is", "interval": "the bar is"}.get(picture.kind, "bands and bars are")
    return f"Mean over replications; {shape} the 95 % confidence interval (Student t)."


def _study_alt(picture: Picture) -> str:
    """What a figure shows, for those who do not see it: where each line begins and ends, and its largest value."""
    import numpy as np

    said = []
    for panel in picture.panels[:4]:
        what = f"{panel.y.words}{f' of {panel.link}' if panel.link else ''}, {panel.title}".strip(", ")
        parts = []
        for line in panel.lines[:8]:
            good = np.flatnonzero(np.isfinite(line.y))
            if not len(good):
                continue
            places = [panel.categories[round(line.x[i])] if panel.categories else f"{line.x[i]:g}" for i in good]
            values = [f"{line.y[i]:.3g}" for i in good]
            words = f"{line.words}: " if line.words else ""
            if panel.categories:
                parts.append(words + ", ".join(f"{p} {v}" for p, v in zip(places[:8], values[:8], strict=True)))
            elif len(good) == 1:
                parts.append(f"{words}{values[0]} at {places[0]}")
            else:
                parts.append(f"{words}from {values[0]} at {places[0]} to {values[-1]} at {places[-1]}")
        unit = f" in {panel.y.shown}" if panel.y.shown else ""
        over = f" over {panel.x.title}" if panel.x.words else ""
        said.append(f"{_capital(what)}{unit}{over}. " + "; ".join(parts))
    return ". ".join(said) + "."


def _inline(svg: str, prefix: str, alt: str) -> str:
    """An SVG inside a page: text that can be searched, ids of its own, a width that follows the page."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)
    body = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', body)
    head, rest = body.split(">", 1)
    return f'{head} role="img" aria-label="{escape(alt, quote=True)}">{rest}'


def render_study(
    table: Table,
    scenario: Scenario,
    figures: StudyFigures | None = None,
    *,
    choice: Choice | None = None,
    command: str = "",
    headings: Sequence[str] | None = None,
) -> str:
    """Render a study: figures, a table of the chosen metrics, and the command that repeats it.

    Args:
        headings: of the metrics' columns; default: the metrics' names.
    """
    from markupsafe import Markup

    from . import map as maps
    from . import pictures, screens

    choice = choice or pictures.Choice()
    figures = figures or study_figures(table, choice)
    metrics = pictures.metrics_of(table, choice, times=True)
    labels = list(dict.fromkeys(name for point in table.points() for name in point))
    short = screens.short_labels(labels)
    shown = [
        {
            "title": drawn.title,
            "caption": drawn.caption,
            "svg": Markup(_inline(drawn.svg, f"f{number}", drawn.alt)),
            "files": list(drawn.files),
        }
        for number, drawn in enumerate(figures.drawn)
    ]
    rows = [
        {
            "names": [_shown(point["set"].get(name)) for name in labels],
            "n": point["n"],
            "cells": [screens.interval(metric, point["metrics"].get(metric)) for metric in metrics],
        }
        for point in table.to_json(metrics)["points"]
    ]
    return html_page(
        _environment()
        .get_template("study.html.j2")
        .render(
            title=scenario.title or "Study",
            source=scenario.source,
            points=len(rows),
            runs=len(table),
            figures=shown,
            missing=figures.missing,
            notes=[note.text for note, _ in table.notes()],
            labels=[short[name] for name in labels],
            metrics=headings or [screens.heading(metric) for metric in metrics],
            rows=rows,
            map=maps.of_table(table, scenario, metrics),
            command=command,
            seeds=_seeds(table),
            durations=_durations(table),
            scenario=toml_text(scenario.tree),
            engines=table.engines,
            provenance=_provenance(),
        )
    )


def render_map(found: dict[str, Any]) -> str:
    """The interactive table of `map.of_rows`, for another page."""
    return _environment().get_template("map.html.j2").render(map=found)


def _shown(found: Any) -> str:
    from . import names

    return "–" if found is None else names.value(found)
