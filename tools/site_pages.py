"""Hooks of `mkdocs build`: pages that other files hold, and links that leave the folder docs.

Copied pages: papers, CONTRIBUTING, CHANGELOG and other READMEs. Made pages: the tutorial from its notebook, the command
line, one page per mechanism from docs/mechanisms.md. Source files that a page links to are pages also.
"""

from __future__ import annotations

import csv
import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import evenflow as ef
import mechanism_figures
from evenflow import cli
from evenflow.show import map as maps
from evenflow.show import screens
from evenflow.show.report import render_map
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAPERS = ("abc", "wtp", "conex", "has_shaping", "reecn_lte")
COPIED = {
    **{f"papers/{key}.md": ROOT / f"papers/evenflow_papers/{key}/README.md" for key in PAPERS},
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changelog.md": ROOT / "CHANGELOG.md",
    "benches.md": ROOT / "benches/README.md",
    "conformance.md": ROOT / "tests/conformance/README.md",
    "validate.md": ROOT / "validation/README.md",
    "security.md": ROOT / "SECURITY.md",
}
"""Pages of the site -> files outside docs."""
PAGE_OF = {path: uri for uri, path in COPIED.items()} | {ROOT / "README.md": "index.md"}
FENCE = re.compile(r"^(```|~~~).*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#]*)(#[^)\s]*)?(\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".rs": "rust", ".json": "json", ".c": "c", ".tcl": "tcl", ".mpd": "xml"}
LARGEST_BYTES = 200_000


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from other files."""
    made = {uri: path.read_text(encoding="utf-8") for uri, path in COPIED.items()}
    made["cli.md"] = command_line()
    made |= mechanisms(files, config)
    made |= tutorial(files, config)
    texts = {DOCS / file.src_uri: file.content_string for file in files.documentation_pages()}
    texts |= {COPIED[uri]: text for uri, text in made.items() if uri in COPIED}
    for base, text in texts.items():
        for _, target, _, _ in LINK.findall(FENCE.sub("", text)):
            path = resolved(base, target)
            if path and path not in PAGE_OF and not path.is_relative_to(DOCS) and path.exists():
                made[uri_of(path)] = source_page(path)
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    return files


def resolved(base: Path, target: str) -> Path | None:
    """The file that a link names; None for addresses and anchors."""
    if not target or re.match(r"[a-z]+:", target):
        return None
    path = Path(os.path.normpath(base.parent / target))
    return path / "README.md" if path / "README.md" in PAGE_OF else path


def uri_of(path: Path) -> str:
    """The page of a file of the repository."""
    if path in PAGE_OF:
        return PAGE_OF[path]
    if path.is_relative_to(DOCS):
        uri = path.relative_to(DOCS).as_posix()
        return "tutorial.md" if uri == "tutorial.ipynb" else uri
    return f"source/{path.relative_to(ROOT).as_posix()}.md"


def source_page(path: Path) -> str:
    """A source file, or the names in a folder, as a page that search leaves out."""
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path.relative_to(ROOT)}\n\n"
    if path.is_dir():
        return head + "".join(f"- `{one.name}`\n" for one in sorted(path.iterdir()) if one.name[0] not in "._")
    if path.stat().st_size > LARGEST_BYTES:
        return f"{head}This file is in the repository.\n"
    return f"{head}~~~~{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}\n~~~~\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files outside docs lead to their pages; links into mechanisms.md to the mechanism's page."""
    uri = page.file.src_uri
    base = COPIED.get(uri, DOCS / uri)
    parts, at = [], 0
    for fence in [*FENCE.finditer(markdown), None]:
        text = markdown[at : fence.start() if fence else len(markdown)]
        parts.append(LINK.sub(lambda m: link(m, base, uri), text) if not uri.startswith("source/") else text)
        if fence:
            parts.append(fence[0])
            at = fence.end()
    return "".join(parts)


MAP = re.compile(r'<div data-map="([^"]+)" data-scenario="([^"]+)"></div>')


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Interactive tables in place of `<div data-map="FILE.csv" data-scenario="FILE.toml"></div>`."""
    return MAP.sub(lambda found: results_map((DOCS / page.file.src_uri).parent / found[1], found[2]), html)


def results_map(path: Path, scenario: str) -> str:
    """The table of a CSV file: labels, `n`, `record`, then mean and half 95 % interval (`:half`) of each metric."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    columns = list(lines[0])
    labels = columns[: columns.index("n")]
    metrics = [name for name in columns[len(labels) + 2 :] if ":" not in name]
    rows = [
        {
            "set": {label: line[label] for label in labels},
            "n": line["n"],
            "record": line["record"],
            "cells": [cell(metric, float(line[metric]), float(line[f"{metric}:half"])) for metric in metrics],
        }
        for line in lines
    ]
    options = maps.commands(ef.load(ROOT / scenario))
    found = maps.of_rows(rows, metrics, options, scenario)
    assert found, f"{path} has fewer than two swept paths"
    return render_map(found)


def cell(metric: str, mean: float, half: float) -> tuple[float, str]:
    return mean, screens.interval(metric, {"mean": mean, "ci95": (mean - half, mean + half)})


def link(found: re.Match[str], base: Path, uri: str) -> str:
    before, target, anchor, after = found[1], found[2], found[3] or "", found[4]
    path = resolved(base, target)
    if path is None:
        return found[0]
    leads = uri_of(path)
    if leads == "mechanisms.md" and (page := f"mechanisms/{anchor[1:]}.md") in PAGES:
        leads, anchor = page, ""
    if leads.startswith("source/"):
        anchor = ""
    return before + posixpath.relpath(leads, posixpath.dirname(uri) or ".") + anchor + after


PAGES: dict[str, str] = {}
"""One page for each mechanism."""
ROOMS = {
    "Queues": "queue",
    "Schedulers": "scheduler",
    "Stages": "stage",
    "Traffic": "traffic",
    "Adaptation rules of video players": "adaptation",
    "Congestion controls": "congestion-control",
}
"""Headings of mechanisms.md with figures -> rooms of the register."""


def mechanisms(files: Files, config: Any) -> dict[str, str]:
    """A page for each mechanism of docs/mechanisms.md with its figure, and an index in its place."""
    figures = mechanism_figures.figures()
    intro, *rooms = re.split(r"^## ", (DOCS / "mechanisms.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    index, nav = [intro], []
    PAGES.clear()
    for room in rooms:
        heading, _, rest = room.partition("\n")
        lead, *entries = re.split(r"^### ", rest, flags=re.MULTILINE)
        index += [f"## {heading}\n", lead]
        if entries:
            index.append("| kind | |\n| --- | --- |")
        titles = []
        for entry in entries:
            title, _, body = entry.partition("\n")
            kind = re.sub(r"`", "", title.partition(":")[0])
            name = kind if f"mechanisms/{kind}.md" not in PAGES else f"{kind}-{heading.lower().split()[0]}"
            if "```toml" not in body:
                line = ef.describe(kind).get("example", "") if not heading.startswith("Tables") else ""
                language = "python" if line.startswith("ef.") else "toml"
                body = (f"\n```{language}\n{line}\n```\n" if line else "") + body
            if figure := figures.get((ROOMS.get(heading, ""), kind)):
                files.append(File.generated(config, f"mechanisms/{name}.svg", content=figure.svg))
                lead, table, rest = body.partition("\n| Parameter")
                body = f"{lead}\n{figure_of(name, figure)}{table}{rest}"
            PAGES[f"mechanisms/{name}.md"] = f"# {title}\n{body}"
            index.append(f"| [`{kind}`](mechanisms/{name}.md) | {title.partition(':')[2].strip()} |")
            titles.append({kind: f"mechanisms/{name}.md"})
        index.append("")
        if titles:
            nav.append({heading: titles})
    PAGES["mechanisms.md"] = "\n".join(index)
    for one in config["nav"]:
        for place in one.get("Reference", ()):
            if place.get("Mechanisms") == "mechanisms.md":
                place["Mechanisms"] = ["mechanisms.md", *nav]
    return {uri: text for uri, text in PAGES.items() if uri != "mechanisms.md"}


def figure_of(name: str, figure: mechanism_figures.Figure) -> str:
    """The figure, its caption, and its scenario folded."""
    scenario = "\n".join(f"    {line}" for line in figure.scenario.splitlines())
    return (
        f"![{name} over time]({name}.svg)\n\n*{figure.caption}*\n\n"
        f'??? example "Scenario of the figure, seed 1"\n\n    ```toml\n{scenario}\n    ```\n'
    )


def on_page_read_source(page: Any, **_: Any) -> str | None:
    """The index of mechanisms in place of the long page."""
    return PAGES["mechanisms.md"] if page.file.src_uri == "mechanisms.md" else None


def command_line() -> str:
    """The help of every command."""
    text = ["# Command line", "", "The help texts of the program. `evenflow COMMAND --help` prints the same.", ""]
    groups = {group.name for group in cli.app.registered_groups}
    for command in ("", *cli.COMMANDS):
        shown = help_of(command)
        text += [f"## evenflow {command}".rstrip(), "", "```text", shown, "```", ""]
        if command in groups:
            for name in re.findall(r"^  ([a-z][a-z-]*)  ", shown.partition("Commands:")[2], re.MULTILINE):
                text += [f"### evenflow {command} {name}", "", "```text", help_of(command, name), "```", ""]
    return "\n".join(text)


def help_of(*command: str) -> str:
    words = [sys.executable, "-m", "evenflow", *filter(None, command), "--help"]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def tutorial(files: Files, config: Any) -> dict[str, str]:
    """The notebook with its outputs."""
    notebook = json.loads((DOCS / "tutorial.ipynb").read_text(encoding="utf-8"))
    text = []
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        text.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/svg+xml" in data:
                name = f"tutorial-{number}.svg"
                files.append(File.generated(config, name, content="".join(data["image/svg+xml"])))
                text.append(f"![Output of the cell above]({name})")
            elif shown := "".join(data["text/plain"]).strip():
                text.append(f"```text\n{shown}\n```")
    return {"tutorial.md": "\n\n".join(text)}
