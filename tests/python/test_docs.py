"""What the pages say is so: snippets run as they stand, links lead somewhere, commands exist, fields are described."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT, environment
from evenflow import cli as command_line
from evenflow.mechanism import schema
from evenflow.record import PROVENANCE

sys.path.insert(0, str(ROOT / "tools"))
import words

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "papers").rglob("README.md")),
    ROOT / "benches" / "README.md",
    ROOT / "validation" / "README.md",
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every fenced block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def named(values: list[tuple[Path, int]]) -> dict[str, Any]:
    return {"argvalues": values, "ids": [f"{page.name}-{number}" for page, number in values]}


def blocks(language: str) -> dict[str, Any]:
    return named([(page, i) for page in PAGES for i, (kind, _) in enumerate(fences(page)) if kind == language])


def merged(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    """The page's complete scenario with the fragment's tables in place of its own; loose keys are those of a group."""
    tree = {**base, **{name: dict(base.get(name, {})) for name in ("links", "stages", "arrivals", "groups")}}
    for name, value in fragment.items():
        if name in ("links", "stages", "arrivals", "groups"):
            tree[name] |= value
        elif name in ("record", "sweep"):
            tree[name] = value
        else:
            tree["groups"]["heavy"] = {**tree["groups"]["heavy"], name: value}
    return tree


SOMETHING = (ROOT / "examples" / "scenarios" / "newreno-droptail.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "number"), **blocks("toml"))
def test_toml(page: Path, number: int) -> None:
    texts = [text for _, text in fences(page)]
    complete = [text for kind, text in fences(page) if kind == "toml" and "duration =" in text] or [SOMETHING]
    tree = tomllib.loads(texts[number])
    scenario = ef.Scenario(tree if "duration" in tree else merged(tomllib.loads(complete[0]), tree))
    scenario.check()
    record = scenario.with_settings({"duration": "7 s", "warmup": "0 s"}).run(seed=1)
    assert record.json["packet_hops"] > 0


@pytest.fixture
def clone(work: Path) -> Path:
    """A folder that looks like a clone to whoever reads examples in it."""
    (work / "examples").symlink_to(ROOT / "examples")
    return work


@pytest.mark.slow(
    "studies, the fluid model, figures", only="theory|figures.md-9|compare-|page-times|size-a|video-at-home|use-pandas"
)
@pytest.mark.parametrize(("page", "number"), **blocks("python"))
def test_python(page: Path, number: int, clone: Path) -> None:
    found = fences(page)
    code = found[number][1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=clone, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    after = found[number + 1] if number + 1 < len(found) else ("", "")
    if after[0] == "text" and not after[1].startswith("$"):
        assert done.stdout == after[1]


def commands(page: Path) -> list[tuple[str, str]]:
    """(command line of evenflow, what it prints) of every block that shows both."""
    shown = []
    for kind, text in fences(page):
        first, _, said = text.partition("\n")
        while first.endswith("\\"):
            more, _, said = said.partition("\n")
            first = first[:-1] + more.strip()
        if kind == "text" and (match := re.match(r"\$ (?:\.venv/bin/)?evenflow (.*)", first)):
            shown.append((match[1], said))
    return shown


def without_timing(text: str) -> list[str]:
    """Lines that depend neither on the machine nor on the path an engine takes; blanks and hashes left out."""
    text = re.sub(r"; scenario [0-9a-f]{16}$", "", text, flags=re.MULTILINE)
    return [line.rstrip() for line in text.splitlines() if line.strip() and " events · record " not in line]


@pytest.mark.slow("a study or a figure of one", only="figures|theory|compare-")
@pytest.mark.parametrize(("page", "number"), **named([(page, i) for page in PAGES for i in range(len(commands(page)))]))
def test_command(page: Path, number: int, clone: Path, cli: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    line, expected = commands(page)[number]
    done = cli(*shlex.split(line))
    assert done.code == (2 if "evenflow: " in expected else 0), done.err
    if expected.strip():
        assert without_timing(done.err + done.out) == without_timing(expected)


def test_the_first_scenario_is_the_file() -> None:
    text = next(text for kind, text in fences(ROOT / "README.md") if kind == "toml")
    assert text == (ROOT / "examples" / "scenarios" / "call.toml").read_text(encoding="utf-8")


def test_no_page_is_too_long() -> None:
    counts = words.pages()
    assert {name for name, count in counts.items() if count > words.MOST_OF_A_PAGE} == set()
    assert sum(counts.values()) <= words.MOST
    assert words.words((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) <= words.MOST_OF_A_PAGE


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
            if not target.startswith(("http://", "https://")):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_page_has_a_hash_of_results() -> None:
    """A hash of a run or of a scenario changes with the engine: pages leave it to the program."""
    for page in PAGES:
        text = re.sub(r"<!-- (sensitivity) -->.*?<!-- /\1 -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"(?i)\b(record|scenario|engine) [0-9a-f]{16}\b", text), page.name


def test_named_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`(?:\$ )?make ([a-z-]+)", text)) <= targets, page.name
        assert set(re.findall(r"`(?:\.venv/bin/)?evenflow ([a-z]+(?:-[a-z]+)*)", text)) <= set(command_line.COMMANDS), (
            page.name
        )


def test_every_field_of_a_record_is_described() -> None:
    """Each key of a record, names replaced, is a field of docs/metrics.md, and has a line in the page itself."""
    tree = ef.load(ROOT / "examples" / "scenarios" / "abc-default.toml").tree
    tree |= {"duration": "20 s", "warmup": "1 s"}
    tree["record"] = {"histograms": [f"links.bottleneck.queue.{name}" for name in ("packets", "at_drop")]}
    record = ef.Scenario(tree).run().json
    known = {metric["name"] for metric in schema()["metrics"]}
    observables = {
        o["name"] for table in schema()["mechanisms"] if table["room"] == "stage" for o in table["observables"]
    }

    def fields(of: str, found: dict[str, Any]) -> set[str]:
        names = set()
        for name, value in found.items():
            if name in ("drops", "marks"):
                names |= {f"{of}.{name}.REASON"} if value else set()
            elif name == "classes":
                for one in value.values():
                    names |= fields(f"{of}.classes.CLASS", one)
            elif of == "stages.S" and name in observables:
                names.add("stages.S.OBSERVABLE")
            else:
                names.add(f"{of}.{name}")
        return names

    used = {name for name in record if name not in ("groups", "links", "stages", "histograms", "event_reasons")}
    used |= {f"histograms.{name.replace('bottleneck', 'L')}" for name in record["histograms"]}
    for kind, letter in (("groups", "G"), ("links", "L"), ("stages", "S")):
        for one in record[kind].values():
            used |= fields(f"{kind}.{letter}", one)
    assert used <= known
    assert set(PROVENANCE) <= known
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in known)
