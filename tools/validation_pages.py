"""The tables of docs/validation.md and docs/validation/*.md, from the validation that ships.

A fence `<!-- validation:NAME -->` … `<!-- /validation:NAME -->` holds one table: `summary`, `theory`, `programs`,
`releases` (what a newer ns-3 changes), or a check's name. Below each table stand its differences with their reasons.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenflow.run import evidence

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "validation"))

from reasons import Reasons  # noqa: E402

TOPICS = ROOT / "validation" / "topics.toml"
THEORY = "theory"
STAR = r" \*"  # beside what differs
FENCE = re.compile(r"(<!-- validation:([a-z0-9-]+) -->\n\n).*?(<!-- /validation:\2 -->)", re.DOTALL)
LIGHTS = {name: f'<span class="{name}">●&nbsp;{name}</span>' for name in ("agree", "explained", "open")}
CAUSES = {"theirs": "{against}", "ours": "Evenflow", "both": "both", "unknown": "unknown", "the law": "the law"}

Row = Mapping[str, Any]


def pages() -> list[Path]:
    """The summary and its topic pages."""
    return [ROOT / "docs" / "validation.md", *sorted((ROOT / "docs" / "validation").glob("*.md"))]


def filled(text: str) -> str:
    """A page with its tables from the shipped validation."""
    shipped = evidence.shipped()
    document = quoted(shipped) if shipped else None
    rows: Sequence[Row] = document["rows"] if document else []
    names = Names(document["programs"] if document else {})

    def block(name: str) -> str:
        if name == "summary":
            return "\n".join(summary_of(rows, names))
        if name == "programs":
            return "\n".join(names.listed())
        if name == "releases":
            return "\n".join(releases_of(rows, names))
        found = [
            row for row in rows if (row["against"] == THEORY if name == THEORY else is_of(row, name)) and not exact(row)
        ]
        if not found:
            return "Not recorded yet.\n"
        table = theory_of(found) if name == THEORY else points_of(found, names)
        return "\n".join([*table, *differences_of(found, names)])

    return FENCE.sub(lambda m: m[1] + block(m[2]) + "\n" + m[3], text)


def quoted(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the reasons that validation/differences.toml gives today."""
    known = Reasons()

    def why(row: Row) -> str:
        if row["verdict"] == "agrees":
            return ""
        return known.find(row["against"], row["check"], row["metric"], row["point"])

    return {**document, "rows": [{**row, "reason": why(row)} for row in document["rows"]]}


def document_of(found: Mapping[str, Any]) -> str:
    """The shipped results as text, one row per line."""
    packed = evidence.packed(found)
    lines = [json.dumps(row, ensure_ascii=False) for row in packed.pop("rows")]
    text = json.dumps(packed, ensure_ascii=False, indent=1).removesuffix("\n}")
    listed = ",\n  ".join(lines)
    return f'{text},\n "rows": [\n  {listed}\n ]\n}}\n'


def is_of(row: Row, check: str) -> bool:
    """Whether a row is of this check."""
    return bool(row["check"] == check)


def exact(row: Row) -> bool:
    """One of the textbook queues: all agree, and the summary counts them."""
    return bool(row["check"].startswith("M/"))


class Names:
    """How the pages name the programs: with their releases, in a fixed order."""

    def __init__(self, programs: Mapping[str, str]) -> None:
        self.programs = programs

    def of(self, against: str) -> str:
        """ "ns-3" is the packaged one: "ns-3.37"."""
        release = re.search(r"libns3-dev (3\.\d+)", self.programs.get(against, ""))
        return f"ns-{release[1]}" if release and against == "ns-3" else against

    def sorted(self, found: Iterable[str]) -> list[str]:
        """Theory, ns-2, the releases of ns-3, Linux."""
        known = (THEORY, "ns-2", "ns-3")
        return sorted(
            dict.fromkeys(found),
            key=lambda name: (known.index(name) if name in known else 4 if name == "Linux" else 3, name),
        )

    def listed(self) -> list[str]:
        """Name and version of each program."""
        return [f"- {self.of(name)}: {text}" for name, text in self.programs.items()] + [""]


def topics() -> list[dict[str, Any]]:
    """The parts of the summary."""
    with TOPICS.open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["topic"]
    return found


def topic_of(check: str, known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The part that a check belongs to: by its whole name, or else by the beginning of it."""
    whole = [topic for topic in known if check in topic["checks"]]
    found = whole or [topic for topic in known if check.startswith(tuple(topic["checks"]))]
    if len(found) != 1:
        raise SystemExit(f"validation/topics.toml: the check “{check}” belongs to {len(found)} parts, expected one")
    return found[0]


def summary_of(rows: Sequence[Row], names: Names) -> list[str]:
    """A line for each part: how many numbers agree with whom, and the differences that matter."""
    known = topics()
    against = names.sorted(row["against"] for row in rows)
    of = {topic["part"]: [row for row in rows if topic_of(row["check"], known) is topic] for topic in known}
    lines = [
        f"| part | | {' | '.join(names.of(name) for name in against)} | differences that matter |",
        f"| --- | --- |{' --: |' * len(against)} --- |",
    ]

    def counts(found: Sequence[Row]) -> str:
        cells = []
        for name in against:
            numbers = [row for row in found if row["against"] == name]
            agree = sum(row["verdict"] == "agrees" for row in numbers)
            cells.append(f"{agree} of {len(numbers)}" if numbers else "")
        return " | ".join(cells)

    for topic in known:
        found = of[topic["part"]]
        part = f"[{topic['part']}](validation/{topic['page']})"
        lines.append(f"| {part} | {light(found)} | {counts(found)} | {topic['differences']} |")
    lines.append(f"| **all** | | {counts(rows)} | |")
    return [*lines, ""]


def light(rows: Sequence[Row]) -> str:
    """A part's light: green if all numbers agree, red if a difference has no known reason."""
    differ = [row for row in rows if row["verdict"] != "agrees"]
    unknown = any(row["reason"].partition(":")[0] in ("", "unknown") for row in differ)
    return LIGHTS["open" if unknown else "explained" if differ else "agree"]


def theory_of(rows: Sequence[Row]) -> list[str]:
    """Laws: predicted, accepted beyond that, measured."""
    lines = ["| law | metric | predicted | ± | measured | verdict |", "| --- | --- | --: | --: | --: | --- |"]
    for row in rows:
        theirs = row["theirs"]
        alone = theirs["lo"] == theirs["hi"]
        predicted = short(theirs["mean"]) if alone else f"{short(theirs['lo'])} to {short(theirs['hi'])}"
        cells = [
            f"{row['check']}: {evidence.place(row)}".removesuffix(": "),
            row["metric"],
            predicted,
            f"{row['tolerance']:.1%}",
            f"{short(row['ours']['mean'])} [{short(row['ours']['lo'])}, {short(row['ours']['hi'])}]",
            row["verdict"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def points_of(rows: Sequence[Row], names: Names) -> list[str]:
    """A check with other programs: a line per point and program, a column per metric (reference, then Evenflow)."""
    metrics = [m for m in dict.fromkeys(row["metric"] for row in rows) if not m.startswith("throughput ")]
    lines = [f"| point | against | {' | '.join(metrics)} |", f"| --- | --- |{' --: |' * len(metrics)}"]
    order = names.sorted(row["against"] for row in rows)
    points: dict[str, dict[str, dict[str, Row]]] = {}
    for row in rows:
        points.setdefault(evidence.place(row), {}).setdefault(row["against"], {})[row["metric"]] = row
    for place, by_program in points.items():
        for against in sorted(by_program, key=order.index):
            found = by_program[against]
            cells = [cell(found[metric]) if metric in found else "" for metric in metrics]
            lines.append(f"| {place} | {names.of(against)} | {' | '.join(cells)} |")
    return [*lines, ""]


def cell(row: Row) -> str:
    """Reference / Evenflow, with a star where they differ."""
    return f"{short(row['theirs']['mean'])} / {short(row['ours']['mean'])}{'' if row['verdict'] == 'agrees' else STAR}"


def differences_of(rows: Sequence[Row], names: Names) -> list[str]:
    """The reasons of what differs, each once: against whom, of what, how often, on whose side the cause is."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] != "agrees":
            found.setdefault((row["against"], row["reason"]), []).append(row)
    lines = []
    for against in names.sorted(name for name, _ in found):
        for (name, reason), members in found.items():
            if name == against:
                whose, _, why = reason.partition(": ")
                cause = CAUSES.get(whose, whose).format(against=names.of(against))
                metrics = ", ".join(dict.fromkeys(row["metric"] for row in members))
                said = why[:1].upper() + why[1:]
                lines.append(
                    f"- **{names.of(against)}**, {len(members)} of {sum(row['against'] == against for row in rows)} "
                    f"numbers ({metrics}); cause: {cause}. {said}{'' if said.endswith('.') else '.'}"
                )
    return [*lines, ""] if lines else []


def releases_of(rows: Sequence[Row], names: Names) -> list[str]:
    """Differences between the releases of ns-3, by check."""
    newer = [
        name for name in names.sorted(row["against"] for row in rows) if name.startswith("ns-3") and name != "ns-3"
    ]
    if not newer:
        return ["Not recorded yet.", ""]
    key = lambda row: (row["check"], evidence.place(row), row["metric"])  # noqa: E731
    old = {key(row): row for row in rows if row["against"] == "ns-3"}
    lines: list[str] = []
    for name in newer:
        new = {key(row): row for row in rows if row["against"] == name}
        both = [(old[k], new[k]) for k in old if k in new]
        gone = [(b, a["verdict"] == "agrees") for b, a in both if b["verdict"] != "agrees"]
        of_ns3 = [agrees for b, agrees in gone if b["reason"].startswith("theirs:")]
        more = sum(b["verdict"] == "agrees" != a["verdict"] for b, a in both)
        lines += [
            f"Of {len(both)} numbers {len(gone)} differ from {names.of('ns-3')}. {sum(ok for _, ok in gone)} of these "
            f"agree with {name}, {sum(not ok for _, ok in gone)} still differ, and {more} others differ from {name} "
            f"only. Of the {len(of_ns3)} differences whose cause is in {names.of('ns-3')}, {sum(of_ns3)} vanish and "
            f"{len(of_ns3) - sum(of_ns3)} remain.",
            "",
        ]
        lines += [
            f"| check | numbers | differ from {names.of('ns-3')} | of these agree with {name} | still differ | "
            f"only {name} differs |",
            "| --- | --: | --: | --: | --: | --: |",
        ]
        for check in [*dict.fromkeys(before["check"] for before, _ in both), ""]:
            chosen = [pair for pair in both if check in ("", pair[0]["check"])]
            differs = [(b["verdict"] != "agrees", a["verdict"] != "agrees") for b, a in chosen]
            if not any(b or a for b, a in differs):
                continue
            counts = (
                len(chosen),
                sum(b for b, _ in differs),
                sum(b and not a for b, a in differs),
                sum(b and a for b, a in differs),
                sum(a and not b for b, a in differs),
            )
            lines.append(f"| {check or '**all**'} | {' | '.join(map(str, counts))} |")
        lines += [
            "",
            f"| check and point | metric | {names.of('ns-3')} | {name} | Evenflow |",
            "| --- | --- | --: | --: | --: |",
        ]
        for before, after in both:
            if before["verdict"] == after["verdict"] == "agrees":
                continue
            where = f"{before['check']}: {evidence.place(before)}".removesuffix(": ")
            shown = [
                f"{short(row['theirs']['mean'])}{'' if row['verdict'] == 'agrees' else STAR}" for row in (before, after)
            ]
            lines.append(f"| {where} | {before['metric']} | {' | '.join(shown)} | {short(after['ours']['mean'])} |")
        lines.append("")
    return lines


def short(value: float | None) -> str:
    """Three or four digits."""
    if value is None:
        return "–"
    return f"{value:.4g}" if abs(value) >= 1000 or value == 0 else f"{value:.3g}"
