"""Write what follows from the engine's declarative tables, and the ledger's counts into the README.

    python tools/generate.py            write everything
    python tools/generate.py --check    say what is stale and exit 1
    python tools/generate.py --readme   only the README's block
    python tools/generate.py --record PAPER  ship out/PAPER/ledger.json, of a whole run at --scale paper
    python tools/generate.py --experiments PAPER    ship out/PAPER's experiments, and the claims on these alone
    python tools/generate.py --sensitivity PAPER    ship what depends on its options, from out/PAPER-sensitivity
    python tools/generate.py --carried PAPER        ship by what right its ledger stands for this engine
    python tools/generate.py --record validation    ship out/validation/validation.json, of a whole `make validate`

Generated and checked in: python/evenflow/scenario/types.py, docs/mechanisms.md, docs/metrics.md,
docs/scenario.schema.json, the reasons in the validation that ships (validation/differences.toml), docs/tcp.md between
`<!-- profiles -->` and `<!-- /profiles -->`, docs/validation.md and docs/validation/*.md between
`<!-- validation:CHECK -->` and `<!-- /validation:CHECK -->`, README.md and docs/validation/papers.md between
`<!-- ledger:KEY -->` and `<!-- /ledger:KEY -->`, and the papers' READMEs between `<!-- sensitivity -->` and
`<!-- /sensitivity -->`, and between `<!-- history -->` and `<!-- /history -->`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import keyword
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import house
import validation_pages
from evenflow import _core, claims
from evenflow.judge.sensitivity import say_options
from evenflow.papers import TITLES, carry, load
from evenflow.papers.reproduce import COMPARISONS, LEDGER, read_ledger, ship, shipped_ledger
from evenflow.run import evidence
from evenflow.run.mechanism import METHODS

ROOT = Path(__file__).resolve().parent.parent
TYPES = ROOT / "python" / "evenflow" / "scenario" / "types.py"
METRICS = ROOT / "docs" / "metrics.md"
MECHANISMS = ROOT / "docs" / "mechanisms.md"
SCHEMA = ROOT / "docs" / "scenario.schema.json"
TCP = ROOT / "docs" / "tcp.md"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
CONFORMANCE = ROOT / "tests" / "conformance"
SENSITIVITY = ("sensitivity", "sensitivity_engine", "sensitivity_scale")

# Sections whose keys belong to every mechanism of a room, and are no tables of their own.
OF_ROOM = {"queue": "queue", "scheduler": "scheduler", "stage": "stage", "traffic": "traffic"}
OWN_TABLES = {
    "link": "Link",
    "jitter": "Jitter",
    "loss": "Loss",
    "reverse": "Reverse",
    "group": "Group",
    "record": "Recording",
    "series": "Series",
    "htb-class": "HtbClass",
    "htb-leaf": "HtbLeaf",
    "ecn-map": "EcnMap",
}
ACTS = {"forward": "forward", "backward": "backward", "both": "forward and backward"}
HEADINGS = {
    "queue": "Queues",
    "scheduler": "Schedulers",
    "stage": "Stages",
    "traffic": "Traffic",
    "adaptation": "Adaptation rules of video players",
    "congestion-control": "Congestion controls",
    "stack": "TCP",
    "scenario": "Tables of the scenario file",
}
QUANTITIES = {
    "rate",
    "duration",
    "bytes",
    "packets",
    "packets, bytes or time",
    "packets or time",
    "packets or bytes",
    "rate or packet rate",
}


def class_name(kind: str) -> str:
    """activity-aqm -> ActivityAqm."""
    return OWN_TABLES.get(kind) or "".join(part.capitalize() for part in re.split(r"[-_.]", kind))


def python_type(table: str, param: dict[str, str]) -> str:
    """The annotation of a parameter, from its type in words."""
    words, _, _ = param["type"].partition(", or { steps")  # quantities and whole numbers are tables, too
    if words in QUANTITIES:
        return "Quantity"
    if words == "number":
        return "Number"
    if words.startswith("number, or ") and words.endswith(" table"):
        return "Number | Table | Mapping[str, Any]"
    if words == "whole number":
        return "int | Mapping[str, Any]"
    if words.startswith("whole number or"):
        return f"int | Literal[{words.removeprefix('whole number or ')}]"
    if words.startswith("bytes, or one of "):
        names = ", ".join(json.dumps(w) for w in words.removeprefix("bytes, or one of ").split(", "))
        return f"Quantity | Literal[{names}]"
    if words == "flag":
        return "bool"
    if words.startswith("one of "):
        return f"Literal[{', '.join(json.dumps(w) for w in words.removeprefix('one of ').split(', '))}]"
    if words.startswith("list out of "):
        names = ", ".join(json.dumps(w) for w in words.removeprefix("list out of ").split(", "))
        return f"Sequence[Literal[{names}]]"
    if words == "list of names":
        return "Sequence[str]"
    if words == "list of rates, or MPD file":
        return "Sequence[str] | str"
    if words == "list of lists of bytes":
        return "Sequence[Sequence[Any]]"
    if words == "number per class":
        return "Mapping[str, float]"
    if words == "duration per class":
        return "Mapping[str, str]"
    if words.endswith(" tables by name"):
        return "Mapping[str, Table | Mapping[str, Any]]"
    if words.endswith("table, or list of them"):
        return "Table | Mapping[str, Any] | Sequence[Table | Mapping[str, Any]]"
    if words.startswith("list of ") and words.endswith(" tables"):
        return "Sequence[Table | Mapping[str, Any]]"
    if words.endswith(", or table with kind"):
        return "str | Table | Mapping[str, Any]"
    if words.endswith(" table") or words == "table":
        return "Table | Mapping[str, Any]"
    if words in ("text", 'duration or "packet"') or words.startswith('"user"') or words.endswith(" name"):
        return "str"
    raise SystemExit(f"{table}.{param['name']}: no Python type for “{words}”; teach tools/generate.py")


def types_py(schema: dict[str, Any]) -> str:
    """The module of dataclasses."""
    tables = schema["mechanisms"]
    sections = {t["kind"]: t for t in tables if t["room"] == "scenario"}
    out = [
        '"""A dataclass for each mechanism and table of a scenario. Generated by tools/generate.py: do not edit.',
        "",
        "Each may stand wherever its table may stand in `Scenario({...})`. What is not given is left to the engine.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping, Sequence",
        "from dataclasses import dataclass",
        "from typing import Any, ClassVar, Literal",
        "",
        "from .tables import Number, Quantity, Table",
        "",
    ]
    names: list[str] = []
    bodies: list[str] = []
    for table in tables:
        kind, room = table["kind"], table["room"]
        if room == "scenario" and kind not in OWN_TABLES:
            continue
        params = list(table["params"])
        if room in OF_ROOM:
            have = {p["name"] for p in params}
            shared = sections[OF_ROOM[room]]["params"]
            params += [p for p in shared if p["name"] != "kind" and p["name"] not in have]
        params = [p for p in params if p["type"] != "planned, not built"]
        name = class_name(kind)
        if name in names:
            name += class_name(room)
        names.append(name)
        bodies.append(dataclass_of(name, table, params, own=room in ("scenario", "stack")))
    used = "\n".join(bodies)
    out = [line for line in out if not _unused(line, used)]
    out.append("__all__ = [")
    out += [f'    "{name}",' for name in sorted(names)]
    out += ["]", "", ""]
    return formatted("\n".join(out) + "\n\n".join(bodies))


def _unused(line: str, used: str) -> bool:
    return line.startswith("from collections.abc") and "Sequence" not in used


def dataclass_of(name: str, table: dict[str, Any], params: list[dict[str, str]], *, own: bool) -> str:
    """One class."""
    lines = ["@dataclass(frozen=True, kw_only=True)", f"class {name}(Table):"]
    title = sentence(table["title"])
    lines.append(f'    """{title}')
    for text in (table["doc"], f"Source: {table['source']}." if table.get("source") else ""):
        if text:
            lines += ["", *wrapped(text, "    ")]
    if params:
        lines += ["", "    Attributes:"]
        for p in params:
            default = p["default"] or "none"
            limits = f"; {p['range']}" if p.get("range") and p["range"] not in ("any", "") else ""
            lines += wrapped(
                f"{field_name(p['name'])}: {p['doc']} ({p['type']}; default: {default}{limits})", "        ", "    "
            )
    lines.append('    """')
    lines.append("")
    if not own:
        lines += [f'    KIND: ClassVar[str | None] = "{table["kind"]}"', ""]
    for p in params:
        annotation = python_type(table["kind"], p)
        if p["default"] == "required":
            lines.append(f"    {field_name(p['name'])}: {annotation}")
        else:
            lines.append(f"    {field_name(p['name'])}: {annotation} | None = None")
    return "\n".join(lines).rstrip() + "\n"


def field_name(name: str) -> str:
    """A parameter's name in Python: `class` becomes `class_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def wrapped(text: str, indent: str, hang: str = "") -> list[str]:
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.wrap(text, 118, initial_indent=indent, subsequent_indent=indent + hang, break_long_words=False)


def formatted(source: str) -> str:
    """The source as ruff would write it, so that the check and the formatter never disagree."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TYPES), "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def mechanisms_md(schema: dict[str, Any]) -> str:
    """The reference of all mechanisms."""
    out = [
        "<!-- Generated by tools/generate.py from the engine's declarative tables: do not edit. -->",
        "",
        "# Mechanisms",
        "",
        "Every queue, scheduler, stage, traffic source and TCP of this version, with its parameters. The same text",
        "comes from `evenflow describe NAME`. Quantities are strings with units; `docs/scenario.schema.json` gives",
        "editors the grammar.",
        "",
    ]
    for room, heading in HEADINGS.items():
        tables = [t for t in schema["mechanisms"] if t["room"] == room]
        if not tables:
            continue
        out += [f"## {heading}", ""]
        for t in tables:
            out += [f"### `{t['kind']}`: {t['title']}", "", t["doc"], ""]
            if t.get("source") and room != "scenario":
                out += [f"Source: {t['source']}", ""]
            if t.get("acts"):
                out += [f"Acts on packets that cross it: {ACTS[t['acts']]}.", ""]
            out += grid(
                t["params"],
                ("name", "type", "default", "range", "doc"),
                ("Parameter", "Type", "Default", "Range", "Meaning"),
            )
            if t.get("presets"):
                names, *rows = t["presets"]
                out += ["Its presets, line by line:", ""]
                keys = ("name", *names[1:])
                out += grid([dict(zip(keys, row, strict=True)) for row in rows], keys, tuple(names))
            out += grid(t["observables"], ("name", "unit", "doc"), ("Observable", "Unit", "Meaning"))
            out += grid(t["counters"], ("name", "doc"), ("Counter", "Meaning"))
            if t.get("deviations"):
                out += ["Deviations:", ""]
                out += [f"- {d['what']} {d['why']}" for d in t["deviations"]]
                out.append("")
    out += stepping()
    return "\n".join(out).rstrip() + "\n"


METRICS_HEAD = """\
<!-- Generated by tools/generate.py from the engine's declarative tables: do not edit. -->

# Metrics

Every field of a record, as `evenflow run --json` prints it: its unit, its window, its formula. `W` is the length of the
window `[warmup, duration]`, `n` the number of users of the group; `G`, `S` and `L` stand for names of groups, stages
and links. Units are part of the names: `_bps` bit/s, `_s` seconds, `_packets` packets, `_bytes` bytes. What a run could
not define is `null` (the mean delay of no packets).

A packet has one size, used by every link, queue, meter and counter; *throughput* counts all bytes of data packets that
reach the end of the path, *goodput* application bytes delivered in order, each once. Counts are of the forward
direction, summed over the copies of a link; averages are means over copies. [measuring.md](measuring.md) says the rest:
edges of the window, what counts as what, copies, classes, series, histograms and lists of events.

"""

METRICS_TAIL = """\

## Over replications

A study gives, for every point and every metric that is a single number, the mean over replications, the standard
deviation `sd` (of a single run, with n - 1) and the 95 % confidence interval `ci95` = mean ± t(0.975, n - 1) · sd / √n,
Student's t; `n` counts the runs that could define the metric. Replication k of every point has seed k, and random
streams are named, so that what is exogenous (starting times, gaps, sizes) is common to all points: differences and
ratios of points are judged on pairs of equal seeds (`evenflow.stats`).

`wall_s`, `cpu_s`, `engine` and `record_version` are provenance: two equal records may differ in them, and they are left
out of `results.csv` and `results.parquet`.

*Since* is the version of the record (`record_version`) with which a field came. `record_hash` covers all fields of
its version; `record.hash_as_of(version)` covers those of an earlier one, so that runs of a later engine can be compared
with it.
"""


def metrics_md(schema: dict[str, Any]) -> str:
    """The reference of all metrics."""
    keys = ("name", "unit", "window", "formula", "doc", "since")
    rows = [{**metric, "since": str(metric["since"])} for metric in schema["metrics"]]
    lines = grid(rows, keys, ("Field", "Unit", "Window", "Formula", "Meaning", "Since"))
    return METRICS_HEAD + "\n".join(lines).rstrip() + "\n" + METRICS_TAIL


def stepping() -> list[str]:
    """How mechanisms are stepped by hand."""
    lines = ["## Stepping a mechanism by hand", ""]
    lines += [
        "`ef.mechanism(kind, **params)` gives the simulator's own object; every answer is a table.",
        "",
    ]
    rows = []
    for room, methods in METHODS.items():
        for method, arguments in methods.items():
            said = ", ".join(f"`{name}` ({what})" for name, what in arguments.items())
            rows.append({"name": f"{method}()", "room": room, "doc": said or "none"})
    return lines + grid(rows, ("room", "name", "doc"), ("Room", "Method", "Arguments; after the semicolon the default"))


def grid(rows: list[dict[str, str]], keys: tuple[str, ...], headings: tuple[str, ...]) -> list[str]:
    """A Markdown table, or nothing."""
    if not rows:
        return []

    def cell(key: str, row: dict[str, str]) -> str:
        text = (row.get(key) or "").replace("|", "\\|")
        return f"`{text}`" if key == "name" else text

    lines = [f"| {' | '.join(headings)} |", f"|{' --- |' * len(headings)}"]
    lines += [f"| {' | '.join(cell(k, row) for k in keys)} |" for row in rows]
    return [*lines, ""]


def ledger_of(name: str) -> Path:
    """The ledger that ships of a paper ("conex"), or of one of its choices ("conex-charge=pass")."""
    key, _, options = name.partition("-")
    return shipped_ledger(key).parent / options / LEDGER if options else shipped_ledger(key)


def ledgers(text: str) -> str:
    """A page with every ledger block filled from the shipped ledgers."""
    for key in dict.fromkeys(re.findall(r"<!-- ledger:(\S+) -->", text)):
        ledger = read_ledger(ledger_of(key))
        if ledger is None:
            block = f"The ledger of `{key}` at `--scale paper` has not been recorded yet.\n"
        else:
            c = claims.count(ledger["claims"])
            runs = sum(e["runs"] for e in ledger["experiments"])
            literal = f"{c.holds} | {c.holds_by_mean} | {c.fails} | {c.fails_by_mean} | {c.undecided}"
            wider = (
                f"{c.relaxed_holds} | {c.relaxed_holds_by_mean} | {c.relaxed_fails} | {c.relaxed_fails_by_mean} "
                f"| {c.relaxed_undecided}"
            )
            apart = f" {c.apart} more are counted apart: by construction, arithmetic or calibrated." if c.apart else ""
            block = (
                f"| claims of `{key}` | hold | of them by means | fail | of them by means | undecided |\n"
                "| --- | --: | --: | --: | --: | --: |\n"
                f"| by the paper's own words and numbers | {literal} |\n"
                f"| with the wider reading, where there is one | {wider} |\n\n"
                f"{c.judged} claims on {runs:,} runs at `--scale {ledger['scale']}`.{apart}\n"
            )
        pattern = re.compile(rf"(<!-- ledger:{key} -->\n).*?(<!-- /ledger:{key} -->)", re.DOTALL)
        text = pattern.sub(lambda m, block=block: m[1] + block + m[2], text)  # type: ignore[misc]
    return text


def sensitivity(key: str, text: str) -> str:
    """A paper's README with the table of its options and of the verdicts that change with them."""
    ledger = read_ledger(shipped_ledger(key)) or {}
    whole = bool(ledger.get("sensitivity"))
    if not whole:
        ledger = json.loads(alone(key).read_text(encoding="utf-8")) if alone(key).exists() else {}
    rows = ledger.get("sensitivity") or []
    lines = ["Not examined yet."]
    if rows:
        lines = [
            "| option | default | instead | scale | verdicts that change |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            changes = "; ".join(
                f"{c['id'].removeprefix(key + '-')} {c['before']} → {c['after']}" for c in row["changes"]
            )
            over = f" ({', '.join(row['over'])})" if row.get("over") else ""
            lines.append(
                f"| `{row['option']}` | {row['default']} | {row['value']} "
                f"| {row.get('scale', ledger['sensitivity_scale'])}{over} | {changes or 'none'} |"
            )
        scale, engine = ledger["sensitivity_scale"], ledger["sensitivity_engine"][:16]
        usual = "at full scale" if whole else f"at `--scale {scale}`"
        lines += [
            "",
            f"By the paper's own words and numbers: the verdict {usual} → one decided with that choice, at "
            f"`--scale {scale}` or where the column says so at the paper's (engine {engine}). What is undecided with "
            "few runs is left out.",
        ]
        if any(row.get("over") for row in rows):
            lines[-1] += " In brackets: the experiments whose claims were looked at, where it was not all of them."
        later = [f"`{row['option']}={row['value']}` by {row['engine'][:16]}" for row in rows if row.get("engine")]
        if later:
            lines[-1] += f" Examined later: {', '.join(later)}."
        made = {(row["option"], row["value"]) for row in rows}
        left = [f"`{o.name}={v}`" for o in load(key).options for v in o.values[1:] if (o.name, v) not in made]
        if left:
            lines[-1] += f" Not examined yet: {', '.join(left)}."
    start, end = "<!-- sensitivity -->", "<!-- /sensitivity -->"
    before, found, rest = text.partition(start)
    return before + start + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2] if found else text


def changes(key: str, text: str) -> str:
    """A paper's README with the table of every change of an expectation."""
    found = load(key).changes
    lines = ["No expectation has changed since it was first written down."]
    if found:
        lines = ["| date | claim | what changed | why | before | after |", "|---|---|---|---|---|---|"]
        for change in found:
            cells = (change.date, ", ".join(change.claims), change.what, change.why, change.before, change.after)
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    start, end = "<!-- history -->", "<!-- /history -->"
    before, there, rest = text.partition(start)
    return before + start + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2] if there else text


def record_validation() -> None:
    """Ship the results of a validation: of a whole one instead of what ships, of some parts beside it.

    Rows of parts name their engine where it is another. What a whole one lacks stays where the engine is the same.
    """
    path = ROOT / "out" / "validation" / "validation.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if found is None:
        sys.exit(f"{path.relative_to(ROOT)} is not there; run: make validate")
    if found["engine"] != _core.ENGINE_ID:
        sys.exit(f"{path.relative_to(ROOT)} is of another engine; run: make validate")
    shipped = evidence.shipped()
    if shipped is not None and (shipped["engine"] == found["engine"] or not found["whole"]):
        try:
            found = evidence.joined(shipped, found)
        except ValueError as error:
            sys.exit(f"{path.relative_to(ROOT)}: {error}")
    elif not found["whole"]:
        sys.exit(f"{path.relative_to(ROOT)} is not of a whole validation with ns-2 and ns-3; run: make validate")
    elif shipped is not None:
        here = {row["against"] for row in found["rows"]}
        for name in dict.fromkeys(row["against"] for row in shipped["rows"] if row["against"] not in here):
            count = sum(row["against"] == name for row in shipped["rows"])
            repeat = "make evidence NS3=/path/to/it" if name.startswith("ns-3") else "make evidence"
            print(
                f"left out: {count} rows against {name}, which are of another engine; repeat: {repeat}", file=sys.stderr
            )
    evidence.SHIPPED.write_text(validation_pages.document_of(found), encoding="utf-8")
    evidence.shipped.cache_clear()


def record(key: str) -> None:
    """Ship the ledger of a whole run at paper scale, without what only its report needs."""
    found = read_ledger(ROOT / "out" / key / LEDGER)
    if found is None or found["scale"] != "paper" or not found["complete"]:
        sys.exit(f"out/{key}/{LEDGER} is not that of a whole run; run: evenflow reproduce {key} --scale paper")
    place = ledger_of(key)
    before = read_ledger(place) or {}
    found |= {name: before[name] for name in SENSITIVITY if name in before}
    place.parent.mkdir(exist_ok=True)
    ship(found, place.parent)
    shutil.copy(ROOT / "out" / key / carry.RUNS, place.parent / carry.RUNS)
    (place.parent / carry.CARRIED).unlink(missing_ok=True)


def record_experiments(key: str) -> None:
    """Ship the runs of out/PAPER's experiments instead of those that ship, and the claims that look at these alone.

    A claim that looks at others too stands or falls with them: then the whole paper is run.
    """
    found = read_ledger(ROOT / "out" / key / LEDGER)
    place = ledger_of(key)
    shipped = read_ledger(place)
    if found is None or found["scale"] != "paper" or shipped is None:
        sys.exit(f"out/{key}/{LEDGER} is not of scale paper; run: evenflow reproduce {key} EXPERIMENT --scale paper")
    names = {row["id"] for row in found["experiments"]}
    again = {row["id"]: row for row in found["claims"] if row["experiments"] and names.issuperset(row["experiments"])}
    for claim in shipped["claims"]:
        if claim["id"] not in again and (torn := names.intersection(claim["experiments"])):
            sys.exit(
                f"{claim['id']} looks at {', '.join(sorted(torn))} and at others; run the whole paper and: "
                f"make ledger PAPER={key}"
            )
    checks = json.loads(gzip.decompress((place.parent / COMPARISONS).read_bytes()))
    for claim in shipped["claims"]:
        if claim["id"] in again:
            print(f"{claim['id']}: {claim['verdict']} before, {again[claim['id']]['verdict']} now")
    shipped["claims"] = [
        again[row["id"]] | {"engine": found["engine"]} if row["id"] in again else row | checks[row["id"]]
        for row in shipped["claims"]
    ]
    shipped["claims"] = claims.worst_first(say_options(shipped["claims"], shipped.get("sensitivity", [])))
    shipped["counts"] = claims.count(shipped["claims"]).to_json()
    rows = {row["id"]: row | {"engine": found["engine"]} for row in found["experiments"]}
    shipped["experiments"] = [rows.get(row["id"], row) for row in shipped["experiments"]]
    carry.replace_runs(place.parent / carry.RUNS, ROOT / "out" / key / carry.RUNS)
    ship(shipped, place.parent)


def record_carried(key: str) -> None:
    """Ship by what right the ledger that ships stands for this engine."""
    found = carry.right_to(read_ledger(ledger_of(key)) or {}, [ROOT / "out" / key])
    if found is None:
        sys.exit(f"out/{key}/{carry.CARRIED} is not of this engine; run: evenflow store carry --from ENGINE {key}")
    shutil.copy(ROOT / "out" / key / carry.CARRIED, ledger_of(key).parent / carry.CARRIED)


def alone(key: str) -> Path:
    """What depends on a paper's options, where no ledger ships that it could stand in."""
    return shipped_ledger(key).parent / "sensitivity.json"


def record_sensitivity(key: str) -> None:
    """Ship what depends on a paper's options, from a whole run of their values; into the ledger that ships.

    Where none ships yet it stands alone, and verdicts are compared with those of the same scale.
    """
    found = read_ledger(ROOT / "out" / f"{key}-sensitivity" / LEDGER)
    shipped = read_ledger(shipped_ledger(key))
    if found is None or not found["complete"] or not found["sensitivity"]:
        sys.exit(f"out/{key}-sensitivity/{LEDGER} is not that of a whole run; run: make sensitivity PAPER={key}")
    usual = {row["id"]: row["verdict"] for row in (shipped or found)["claims"]}
    for row in found["sensitivity"]:
        # with few runs much is undecided: what counts is a verdict that is decided, and not that of the whole run
        row["changes"] = [
            change | {"before": usual[change["id"]], "after": after}
            for change in row["changes"]
            if (after := change["after"].split()[0]) != usual[change["id"]]
            and (after != "undecided" or row.get("scale") == "paper")
        ]
    made = dict(zip(SENSITIVITY, (found["sensitivity"], found["engine"], found["scale"]), strict=True))
    if shipped is None:
        alone(key).write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return
    alone(key).unlink(missing_ok=True)
    shipped |= made
    shipped["claims"] = say_options(shipped["claims"], found["sensitivity"])
    shipped_ledger(key).write_text(json.dumps(shipped, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def profiles(text: str, schema: dict[str, Any]) -> str:
    """docs/tcp.md with the table of stack profiles: first where they differ, then what is common to all."""
    names = [p["name"] for p in schema["profiles"]]
    rows = [[p["lines"][i] for p in schema["profiles"]] for i in range(len(schema["profiles"][0]["lines"]))]

    def cell(line: dict[str, Any]) -> str:
        value = line["value"]
        if value == f"{2**40} B":
            return "unbounded"
        return ("no", "yes")[value] if isinstance(value, bool) else str(value)

    out = [f"- `{p['name']}`: {p['doc']}" for p in schema["profiles"]] + [""]
    out += ["| line | " + " | ".join(f"`{n}`" for n in names) + " | meaning |", "| --- " * (len(names) + 2) + "|"]
    same = []
    for row in rows:
        values = [cell(line) for line in row]
        meaning = f"{row[0]['doc']} ({row[0]['source']})".replace("|", "\\|")
        if len(set(values)) > 1:
            out.append(f"| `{row[0]['name']}` | {' | '.join(values)} | {meaning} |")
        else:
            same.append(f"`{row[0]['name']}` = {values[0]}")
    out += ["", f"The same in all: {', '.join(same)}."]
    start, end = "<!-- profiles -->", "<!-- /profiles -->"
    before, _, rest = text.partition(start)
    return before + start + "\n" + "\n".join(out) + "\n" + end + rest.partition(end)[2]


def vectors() -> str:
    """What the README of the conformance vectors says of each folder, and how many it has."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (.+?) \| (.+?) \|(.*)\|$", (CONFORMANCE / "README.md").read_text("utf-8"), re.M
    )
    found = []
    for folder, of, what, documents in rows:
        files = sorted(CONFORMANCE.glob(f"{folder}*.json" if folder.endswith("/") else f"{folder}.json"))
        if not files:
            sys.exit(f"tests/conformance/README.md: there is no {folder}")
        events = sum(len(json.loads(file.read_text("utf-8"))["events"]) for file in files)
        found.append(
            {
                "folder": folder.rstrip("/*"),
                "of": re.findall(r"`([^`]+)`", of),
                "what": what.replace("`", ""),
                "documents": documents.strip().replace("`", "") or "arithmetic",
                "vectors": len(files),
                "events": events,
            }
        )
    return "[\n" + ",\n".join(" " + json.dumps(row, ensure_ascii=False) for row in found) + "\n]\n"


def wanted(only_readme: bool) -> dict[Path, str]:
    """Every generated file and what it should hold."""
    files: dict[Path, str] = {}
    if not only_readme:
        schema = json.loads(_core.schema())
        files[TYPES] = types_py(schema)
        files[MECHANISMS] = mechanisms_md(schema)
        files[METRICS] = metrics_md(schema)
        files[TCP] = profiles(TCP.read_text(encoding="utf-8"), schema)
        files[SCHEMA] = json.dumps(json.loads(_core.json_schema()), indent=1, ensure_ascii=False) + "\n"
        if (validated := evidence.shipped()) is not None:
            files[evidence.SHIPPED] = validation_pages.document_of(validation_pages.quoted(validated))
        for page in validation_pages.pages():
            text = page.read_text(encoding="utf-8")
            files[page] = ledgers(validation_pages.filled(text))
        for key in TITLES:
            page = ROOT / "python" / "evenflow" / "papers" / key / "README.md"
            files[page] = ledgers(changes(key, sensitivity(key, page.read_text(encoding="utf-8"))))
        files[evidence.VECTORS] = vectors()
        files[CONTRIBUTING] = house.filled(CONTRIBUTING.read_text(encoding="utf-8"))
    if README.exists():
        files[README] = ledgers(README.read_text(encoding="utf-8"))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if anything is stale")
    parser.add_argument("--readme", action="store_true", help="only the README's block")
    parser.add_argument("--record", metavar="WHAT", help="ship the ledger of out/PAPER, or the validation")
    parser.add_argument(
        "--experiments", metavar="PAPER", help="ship out/PAPER's experiments, and the claims on these alone"
    )
    parser.add_argument("--sensitivity", metavar="PAPER", help="ship what depends on a paper's options")
    parser.add_argument("--carried", metavar="PAPER", help="ship by what right a paper's ledger stands for this engine")
    options = parser.parse_args()
    if options.carried:
        record_carried(options.carried)
    if options.experiments:
        record_experiments(options.experiments)
    if options.sensitivity:
        record_sensitivity(options.sensitivity)
    if options.record == "validation":
        record_validation()
    elif options.record:
        record(options.record)
    stale = []
    for path, text in wanted(options.readme).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'stale' if options.check else 'written'}: {path.relative_to(ROOT)}")
    if options.check and stale:
        sys.exit("Run: make generate")


if __name__ == "__main__":
    main()
