"""Cases that come in and go out as a person's do: the text as a file, `--set`, commands, and readers of what was kept.

What a case does stands in its text, one step a line in a comment, so that a failure that is kept as a file runs again:

    #$ ["run", "fuzz.toml", "--set", "duration=\\"1 s\\""]     a command
    #$ ["@kept"]                                     a study, a run, a ledger and a store in the folder
    #$ ["@json", "o/study.json", 17, null]           a value of a document, by the number of its place, or by its path
    #$ ["@cell", "o/records.parquet", "record", 5, -1]     the same of a document in a column; or a text for all of it
    #$ ["@bytes", "store/runs.sqlite3", 0.3, "00ff"] bytes of a file, at a share of its length
    #$ ["@row", "document", "x"]                     a column of the rows of a store
    #$ ["@write", "crlf"]                            the file with other ends of lines, or with a mark at its beginning
    #$ ["@terminal", "ascii"]                        what the terminal knows of letters

What must hold: no exception escapes, no sentence calls itself a defect, exit codes are those that are documented,
refusals say why, JSON parses, no control character reaches the screen, and every path of a tree, and in a message, is
one that the program reads.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import io
import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = "#$ "
FILE = "fuzz.toml"
MOST_POINTS = 3
"""A study of more is not run."""
CODES = {0, 1, 2, 130}
STRICT = {3, 4}
DEFECT = re.compile(r"A defect of Evenflow|This is a defect|are defects of Evenflow|Traceback \(most recent")
LONGEST = 2000
"""Letters of a line of a message."""

Step = list[Any]


class Raw(str):
    """A value as it stands in TOML."""


# --- text


def inline(value: Any) -> str:
    """A value in TOML, dates and numbers that are none included."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{inline(str(key))} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(map(_letter, value)) + '"'
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return json.dumps(value)


def _letter(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp"):
        return f"\\U{ord(letter):08x}"
    return letter


def toml(tree: dict[str, Any]) -> str:
    """A tree as TOML, one line for each top-level key."""
    return "".join(f"{inline(str(key))} = {inline(value)}\n" for key, value in tree.items())


def split(text: str) -> tuple[list[Step], str]:
    """The steps of a case, and its text without them. A line that is none is a comment."""
    steps: list[Step] = []
    rest: list[str] = []
    for line in text.split("\n"):
        step = None
        if line.startswith(MARK):
            with contextlib.suppress(ValueError):
                step = json.loads(line.removeprefix(MARK))
        if isinstance(step, list) and step and isinstance(step[0], str):
            steps.append(step)
        else:
            rest.append(line)
    return steps, "\n".join(rest)


def join(steps: list[Step], rest: str) -> str:
    """The inverse of `split`."""
    return "".join(f"{MARK}{json.dumps(step)}\n" for step in steps) + rest


# --- making


HOSTILE = [
    "\x1b[31mred",
    "\u202egnp",
    "\x9b2J",
    "$\\frac$",
    "=cmd|' /C calc'!A0",
    "a.b",
    "",
    " ",
    "é",
    "\U0001f600",
    "n" * 300,
]
ODD = [
    *(Raw(text) for text in ("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "inf", "nan", "-inf", "-0.0", "1e400")),
    Raw("0x" + "f" * 600),
    *(True, {}, [], [[]], {"a": 1}, "", 0, -1, 1e300, 2**63),
    *HOSTILE,
]
"""Leaves that no sweep has."""
DOCUMENTS = [None, -1, 0, True, 1e300, float("nan"), 10**400, "", [], {}, [1, 2], {"a": 1}, [[]], *HOSTILE, "gone"]
"""Values that no document has."""
BROKEN = [
    *("=", "", "a", "[0]=1", "duration='", 'title="""x', "duration=1 s\nwarmup=2", "sweep=1", "groups.new={}"),
    *('"\\U0001F600"=3', 'groups."\\x"=3', 'groups."\\ud800"=3', "title=\udcff", "\udcff=1", "sweep.replications=2"),
    *(f"a[{'9' * 5000}]=1", f"duration={'9' * 5000}", f"a={'[' * 3000}{']' * 3000}", f"{'a.' * 3000}a=1"),
]
"""Settings that are none."""
KINDS = ["line", "interval", "box", "cdf", "scatter", "timeline", "pie"]
METRICS = ["throughput_bps", "groups.*.goodput_bps", "utilisation", "queue_delay_s_p99", "nothing", "[", ""]
"""Not all of them at once: a study has a figure of each, which takes as long as they are many."""


def _path(path: tuple[Any, ...]) -> str:
    """A path as a person writes it, quoted where a key is unusual. The program's own function is what is tried."""
    parts = [
        f"[{key}]" if isinstance(key, int) else key if re.fullmatch(r"[\w-]+", key, re.ASCII) else inline(key)
        for key in path
    ]
    return ".".join(parts).replace(".[", "[")


def _leaves(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else None
    if items is None:
        yield above, tree
        return
    for key, value in items:
        yield from _leaves(value, (*above, key))


def _near(value: Any, rng: random.Random) -> Any:
    """A value much like one, and accepted where it is."""
    found = re.fullmatch(r"([0-9.]+)( .+)", value) if isinstance(value, str) else None
    if found:
        return f"{float(found[1]) * rng.choice([0.5, 0.75, 1.25, 2, 3]):g}{found[2]}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + rng.choice([1, 2, 3])
    return value


def sweep(tree: dict[str, Any], rng: random.Random, calm: bool) -> dict[str, Any]:
    """A `[sweep]` of a tree: lists, steps together, cases; and unless it is to be calm, what is none of these."""
    found = [(path, value) for path, value in _leaves(tree) if path and path[0] != "sweep"]
    numbers = [one for one in found if _near(one[1], random.Random(0)) != one[1]] or found
    made: dict[str, Any] = {}
    odd = not calm and rng.random() < 0.6

    def values(value: Any, count: int) -> Any:
        if odd and rng.random() < 0.5:
            return rng.choice([[rng.choice(ODD) for _ in range(count)], rng.choice(ODD), [value] * count])
        return list(dict.fromkeys([value, *(_near(value, rng) for _ in range(count - 1))])) if count else []

    def one() -> tuple[str, Any]:
        path, value = rng.choice(numbers if calm or rng.random() < 0.8 else found)
        if not calm and rng.random() < 0.2:
            return rng.choice(
                [_path(path[:-1]) or "links", "groups[0].users", "gone.away", "a..b", '"\\x"', *HOSTILE]
            ), value
        return _path(path), value

    if not found:
        return {"replications": 1}
    what = rng.random()
    if what < 0.5:
        for _ in range(rng.choice([1, 1, 1, 2])):
            path, value = one()
            made[path] = values(value, rng.choice([1, 2, 2, 3]))
    elif what < 0.7:
        count = rng.choice([1, 2, 3])
        tables = []
        for _ in range(rng.choice([1, 1, 2])):
            pairs = [one() for _ in range(rng.choice([1, 2, 3]))]
            tables.append({path: [_near(value, rng) for _ in range(count)] for path, value in pairs})
        made["together"] = rng.choice(ODD) if odd and rng.random() < 0.3 else tables
    elif calm or what < 0.9:
        names = ["a", "b", *HOSTILE] if rng.random() < 0.5 else ["a", "b c", "d"]
        cases = {}
        for name in rng.sample(names, rng.choice([1, 2, 3])):
            path, value = one()
            cases[name] = {path: rng.choice(ODD) if odd else _near(value, rng)}
        made["cases"] = {rng.choice(["scheme", *HOSTILE]): cases}
    else:
        path, value = one()
        made[path] = rng.choice([{"from": 1, "to": 3}, {"values": [1, 2]}, {"uniform": [value, value]}, [value], value])
    if rng.random() < 0.3:
        made["replications"] = rng.choice(ODD) if odd else rng.choice([1, 2])
    return made


def setting(tree: dict[str, Any], rng: random.Random, calm: bool) -> str:
    """A `--set`; a calm one sets what there is to a value like that which it has."""
    if not calm and rng.random() < 0.25:
        return rng.choice(BROKEN)
    path, value = rng.choice(list(_leaves(tree)) or [(("duration",), "1 s")])
    if calm:
        return f"{_path(path)}={inline(_near(value, rng))}"
    if rng.random() < 0.3:
        path = (*path[: rng.randrange(len(path) + 1)], rng.choice(["more", 0, 7, *HOSTILE]))
    new = rng.choice(ODD) if rng.random() < 0.6 else _near(value, rng)
    text = _path(path)
    if rng.random() < 0.1:
        text = text.replace(".", rng.choice(["..", ". ", " . ", '."']), 1)
    return f"{text}={inline(new) if rng.random() < 0.8 else str(new)}"


def commands(tree: dict[str, Any], rng: random.Random, settings: list[str], calm: bool) -> Iterator[Step]:
    """One or two commands, and what opens what they wrote."""
    given = [word for text in settings for word in ("--set", text)]
    csv = [
        "--out",
        rng.choice(["f.csv", "f.csv", "f.svg"] if calm else ["f.csv", "f.svg", "f.png", "f.pdf", "f.gif", "f"]),
    ]
    kind = ["--kind", rng.choice(KINDS[:3] if calm else KINDS)]
    metric = ["--metric", rng.choice(METRICS[:3] if calm else METRICS)]
    how = rng.choice([[], [], ["--json"], ["--quiet"]])
    what = rng.random()
    if rng.random() < 0.6:
        yield ["check", FILE, *given, *rng.choice([[], ["--json"], ["--quiet"]])]
    if what < 0.45:
        yield ["run", FILE, *given, *how]
    elif what < 0.52:
        yield ["run", FILE, *given, "--out", "r2", *rng.choice([[], ["--no-view"]])]
        yield ["plot", "r2", *csv]
    elif what < 0.64:
        yield [
            "study",
            FILE,
            *given,
            "--replications",
            "1",
            "--jobs",
            "1",
            "--out",
            "o2",
            *rng.choice([[], metric]),
            *how,
        ]
        yield ["plot", "o2", *csv, *rng.choice([[], kind, metric])]
    elif what < 0.85:
        swept = [key for key in tree.get("sweep", {}) if key not in ("together", "cases", "replications")] or ["scheme"]
        more = rng.choice([[], kind, metric, ["--series", "*"]])
        more = more + rng.choice([[], ["--x", rng.choice(swept)], ["--by", rng.choice(swept)], ["--json"]])
        yield ["plot", FILE, *given, "--replications", "1", "--jobs", "1", *csv, *more]
    elif what < 0.93:
        yield ["theory", FILE, *given, *rng.choice([[], ["--json"]])]
    elif what < 0.98:
        place = rng.choice(
            ["start", "end", "both", *tree.get("links", {})] if isinstance(tree.get("links"), dict) else ["x"]
        )
        yield ["trace", FILE, *given, *rng.choice([[], ["--json"], ["--at", str(place)]])]


def damaged(text: str, rng: random.Random) -> tuple[str, list[Step]]:
    """The text with what no tree can have."""
    what = rng.choice(["deep", "dotted", "digits", "hex", "latin", "twice", "bom", "crlf", "bom"])
    lines = text.splitlines()
    if what in ("bom", "crlf"):
        return text, [["@write", what]]
    if what == "twice" and lines:
        return text + rng.choice(lines) + "\n", []
    added = {
        "deep": f"a = {'[' * 3000}{']' * 3000}",
        "dotted": "x." * rng.choice([70, 2000]) + "y = 1",
        "digits": f"more = {'9' * 5000}",
        "hex": f"more = 0x{'9' * 5000}",
    }.get(what, 'title2 = "\udcff"')
    return rng.choice([f"{added}\n{text}", f"{text}{added}\n"]), []


def make(tree: dict[str, Any], rng: random.Random, scramble: Callable[[str, random.Random], str]) -> str:
    """A case that begins with a tree. Every other one is calm: most of these are accepted, so that what comes after a
    run is reached too."""
    calm = rng.random() < 0.5
    if rng.random() < 0.7:
        tree = {**tree, "sweep": sweep(tree, rng, calm)}
    if rng.random() < 0.15:
        tree = {"title": rng.choice(HOSTILE), **tree}
    before: list[Step] = [["@terminal", rng.choice(["ascii", "latin-1"])]] if rng.random() < 0.1 else []
    settings = [setting(tree, rng, calm) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
    steps = list(commands(tree, rng, settings, calm)) or [["check", FILE]]
    text = toml(tree)
    what = rng.random()
    if not calm and what < 0.15:
        text = scramble(text, rng)
    elif not calm and what < 0.35:
        text, more = damaged(text, rng)
        before += more
    return join([*before, *steps], text)


CARRIED = {
    "to": "0123456789abcdef",
    "papers": ["wtp"],
    "of": 19171,
    "repeated": 412,
    "strata": 73,
    "without_counterpart": 0,
    "made_again": [],
    "equal": True,
    "fewer_than": 0.007,
    "confidence": 0.95,
    "different": [],
}
"""What revalidates a ledger for another engine."""

KEPT = """\
title = "Kept"
duration = "200 ms"
warmup = "20 ms"
[links.l]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "codel", limit = "30 packets" }
[groups.g]
users = 1
path = ["l"]
traffic = { kind = "bulk" }
[record]
series = [{ of = "links.l.queue.packets", every = "10 ms" }]
[sweep]
"groups.g.users" = [1, 2, 3]
"""
"""What `@kept` is made of."""


def reader(rng: random.Random) -> str:
    """A case that damages what was kept, and reads it."""
    steps: list[Step] = [["@kept"]]
    of_study = [
        ["plot", "o", "--out", rng.choice(["f.csv", "f.csv", "f.svg"])],
        ["plot", "o", "--out", "f.csv", "--kind", rng.choice(KINDS)],
        ["plot", "o", "--out", "f.csv", "--metric", rng.choice(METRICS)],
        ["plot", "o", "--out", "f.csv", "--json"],
        ["plot", "o", "--out", "f.csv", "--series", "*"],
    ]
    of_run = [["plot", "r", "--out", "f.csv"], ["plot", "r", "--out", "f.csv", "--metric", rng.choice(METRICS)]]
    of_ledger = [
        ["claims", "wtp"],
        ["claims", "wtp", "--json"],
        ["claims", "wtp", "--claim", rng.choice(["c01", "c02", "c13"])],
        ["claims", "wtp", "--strict"],
    ]
    of_store = [
        ["plot", FILE, "--x", "groups.g.users", "--replications", "1", "--jobs", "1", "--out", "f.csv"],
        ["study", FILE, "--replications", "1", "--jobs", "1", "--out", "o2"],
    ]

    def edit(name: str) -> Step:
        return ["@json", name, rng.randrange(10**6), rng.choice(DOCUMENTS)]

    def bytes_of(name: str) -> Step:
        return ["@bytes", name, rng.random(), rng.choice(["00", "ff", "", "7b", "5b" * 3000, "gone"])]

    what = rng.choice(
        ["study", "study", "record", "records", "run", "run", "ledger", "ledger", "ledger", "carried", "store", "store"]
    )
    count = rng.choice([1, 1, 2])
    if what == "study":
        edits = [edit("o/study.json") for _ in range(count)] if rng.random() < 0.85 else [bytes_of("o/study.json")]
        read = of_study
    elif what == "record":
        column = rng.choice(["record", "record", "record", "labels"])
        edits = [
            ["@cell", "o/records.parquet", column, rng.randrange(10**6), rng.choice(DOCUMENTS)] for _ in range(count)
        ]
        read = of_study
    elif what == "records":
        columns = ["point", "seed", "labels", "record_hash", "series", "record"]
        values = ["gone", "", "x", "{}", "null", "[1]", None, "\x1b[31m", -1, 1.5]
        edits = [["@cell", "o/records.parquet", rng.choice(columns), rng.choice(values)]]
        if rng.random() < 0.3:
            edits = [bytes_of("o/records.parquet")]
        read = of_study
    elif what == "run":
        edits = [edit("r/record.json") for _ in range(count)]
        if rng.random() < 0.3:
            edits = [bytes_of(rng.choice(["r/record.json", "r/series.parquet"]))]
        read = of_run
    elif what in ("ledger", "carried"):
        name = "out/wtp/ledger.json" if what == "ledger" else "out/wtp/carried.json"
        edits = [edit(name) for _ in range(count)] if rng.random() < 0.85 else [bytes_of(name)]
        if what == "carried":
            edits.append(["@engine", "out/wtp/ledger.json"])
        read = of_ledger
    else:
        columns = ["key", "scenario_hash", "seed", "engine", "record_hash", "series_sha256", "document", "checksum"]
        edits = [["@row", rng.choice(columns), rng.choice([None, -1, 0.5, "", "x\x1b[31m", {"hex": "ff00"}, "gone"])]]
        if rng.random() < 0.5:
            names = ["store/runs.sqlite3", "store/runs.sqlite3", "store/series/*/*.npz", "store/store.lock"]
            edits = [bytes_of(rng.choice(names))]
        read = of_store if rng.random() < 0.3 else of_store[:1]
    return join([*steps, *edits, rng.choice(read)], KEPT)


# --- doing


class Wrong(Exception):
    """What must hold does not."""


def run(arguments: list[str], terminal: str = "utf-8") -> tuple[int, str, str]:
    """One command in this process: its exit code, and what it wrote.

    Raises:
        Wrong: something came out that was not meant to.
    """
    from evenflow.cli import invoke

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=terminal, newline="") for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = invoke(arguments)
            out.flush()
            err.flush()
    except BaseException as error:
        raise Wrong(f"{type(error).__name__} escapes: {error}") from None
    said = [stream.buffer.getvalue().decode(terminal, "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return code, said[0], said[1]


def command(arguments: list[str], terminal: str = "utf-8") -> int:
    """The same, with all that must hold of what it wrote.

    Raises:
        Wrong: something does not.
    """
    code, out, err = run(arguments, terminal)
    defect = DEFECT.search(out + err)
    if defect:
        raise Wrong((out + err)[defect.start() :][:300])
    if code not in CODES and not ("--strict" in arguments and code in STRICT):
        raise Wrong(f"exit code {code}")
    if code in (1, 2, 130) and not err.strip() and not ("--json" in arguments and out.strip()):
        raise Wrong(f"exit code {code} without a word")
    for name, text in (("output", out), ("errors", err)):
        bad = next((letter for letter in text if letter != "\n" and _obeyed(letter)), None)
        if bad is not None:
            at = text.index(bad)
            raise Wrong(f"U+{ord(bad):04X} on the screen, in {name}: {text[max(0, at - 60) : at + 20]!r}")
    if any(len(line) > LONGEST for line in err.splitlines()):
        raise Wrong(f"a line of {max(map(len, err.splitlines()))} letters among the errors")
    if "--json" in arguments and (code in (0, *STRICT) or out.strip()):
        try:
            json.loads(out, parse_constant=_no_constant)
        except ValueError as error:
            raise Wrong(f"the JSON does not parse: {error}") from None
    return code


def _obeyed(letter: str) -> bool:
    """Whether a terminal obeys a letter instead of showing it."""
    return not letter.isprintable() and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def library(file: Path, settings: list[str]) -> int:
    """The file, its paths, its settings and its sweep by themselves; how many points it has, 0 if it is not valid.

    Raises:
        Wrong: something does not hold.
    """
    from evenflow.errors import EvenflowError, ScenarioError
    from evenflow.scenario import paths, scenario, sweep

    def readable(errors: list[tuple[str, str]]) -> None:
        for path, said in errors:
            try:
                paths.parse(path or "x")
            except EvenflowError as error:
                raise Wrong(f"a path in a message is none: {path!r}: {said!r}: {error}") from None

    try:
        loaded = scenario.Scenario.load(file)
    except ScenarioError as error:
        readable(error.errors)
        return 0
    tree = loaded.tree
    for path in _places(tree):
        text = paths.render(path)
        if paths.parse(text) != path:
            raise Wrong(f"a path is read as another: {path!r}, {text!r}")
    pins = {}
    for text in settings:
        with contextlib.suppress(EvenflowError):
            path, value = scenario.parse_setting(text)
            changed = loaded.with_settings({path: value})
            loaded = changed
            if not path.startswith("sweep"):
                pins[path] = value
    done = sweep.expand(loaded, pins)
    readable(done.errors)
    for point in done.points:
        if not all(isinstance(label, str | int | float) for label in point.labels.values()):
            raise Wrong(f"labels that are none: {point.labels!r}")
    return 0 if done.errors else len(done.points)


def shown(file: Path) -> None:
    """What else a scenario can be asked for in Python."""
    from evenflow.errors import EvenflowError
    from evenflow.scenario.scenario import Scenario

    with contextlib.suppress(EvenflowError):
        loaded = Scenario.load(file)
        (hash(loaded), repr(loaded), loaded._repr_html_(), loaded.hash, loaded.to_json())


def _places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from _places(value, (*above, key))


def outcome(text: str, home: Path, stage: Callable[[str], None]) -> str:
    """What became of a case with steps: `ways`, or `FAILED: why`.

    Args:
        home: a folder of this process, in which the case has one that is new.
        stage: told before each step, which has the time of a case.
    """
    steps, rest = split(text)
    if not (home / "kept").is_dir() and any(step == ["@kept"] for step in steps):
        stage("importing")
        keep(home / "kept")
    case = home / "case"
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir(parents=True)
    for name in ("film.mpd",):
        shutil.copy(Path(__file__).parents[2] / "examples/scenarios" / name, case)
    os.environ["EVENFLOW_STORE"] = "store"
    os.chdir(case)
    at, after = "library", ""
    try:
        data = rest.encode("utf-8", "surrogateescape")
        if ["@write", "crlf"] in steps:
            data = data.replace(b"\n", b"\r\n")
        Path(FILE).write_bytes((b"\xef\xbb\xbf" if ["@write", "bom"] in steps else b"") + data)
        commands = [step for step in steps if not step[0].startswith("@")]
        settings = [word for step in commands[:1] for flag, word in itertools.pairwise(step) if flag == "--set"]
        points = library(Path(FILE), settings)
        terminal = "utf-8"
        for step in steps:
            at = step[0]
            if at == "@terminal":
                terminal = step[1]
            elif at.startswith("@"):
                damage(step, home / "kept")
                after = f" after {at} {step[1]}" if len(step) > 2 else after
            elif points <= MOST_POINTS or at not in ("study", "plot"):
                stage(f"way {at}")
                command([str(word) for word in step], terminal)
        at = "shown"
        shown(Path(FILE))
    except Wrong as error:
        return f"FAILED: {at}{after}: {error}"
    except BaseException as error:
        return f"FAILED: {at}{after}: {type(error).__name__}: {str(error)[:200]}"
    finally:
        os.chdir(home)
    return "ways"


def keep(folder: Path) -> None:
    """A study, a run, a ledger with what stands beside it, and a store."""
    from evenflow.papers.reproduce import shipped_ledger

    made = folder.with_name("being made")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    os.environ["EVENFLOW_STORE"] = "store"
    os.chdir(made)
    Path(FILE).write_text(KEPT, "utf-8")
    for words in (["study", FILE, "--replications", "1", "--jobs", "1", "--out", "o"], ["run", FILE, "--out", "r"]):
        code, _, err = run(words)
        if code:
            raise Wrong(f"{words}: {err}")
    Path("out/wtp").mkdir(parents=True)
    ledger = shipped_ledger("wtp")
    shutil.copy(ledger, "out/wtp")
    engine = json.loads(ledger.read_text("utf-8"))["engine"]
    Path("out/wtp/carried.json").write_text(json.dumps({"from": engine, **CARRIED}), "utf-8")
    os.chdir(folder.parent)
    made.rename(folder)


def damage(step: Step, kept: Path) -> None:
    """Any other step. One that finds nothing to change changes nothing."""
    what, *rest = step
    if what == "@kept":
        shutil.copytree(kept, ".", dirs_exist_ok=True)
    elif what == "@json":
        name, number, value = rest
        document = json.loads(Path(name).read_text("utf-8"))
        Path(name).write_text(json.dumps(edited(document, number, value)), "utf-8")
    elif what == "@engine":
        document = json.loads(Path(rest[0]).read_text("utf-8"))
        if isinstance(document, dict):
            Path(rest[0]).write_text(json.dumps({**document, "engine": "0" * 16}), "utf-8")
    elif what == "@bytes":
        name, share, new = rest
        for path in sorted(Path().glob(name)):
            data = path.read_bytes()
            at = int(share * len(data))
            path.write_bytes(data[:at] if new == "gone" else data[:at] + bytes.fromhex(new) + data[at + 1 :])
    elif what == "@cell":
        _cell(*rest)
    elif what == "@row":
        column, value = rest
        with contextlib.closing(sqlite3.connect("store/runs.sqlite3")) as db, contextlib.suppress(sqlite3.Error):
            if value == "gone":
                db.execute(f"ALTER TABLE runs RENAME COLUMN {column} TO was")
            else:
                db.execute(
                    f"UPDATE OR IGNORE runs SET {column} = ?",
                    (bytes.fromhex(value["hex"]) if isinstance(value, dict) else value,),
                )
            db.commit()


def _cell(name: str, column: str, *change: Any) -> None:
    import polars as pl

    frame = pl.read_parquet(name)
    if len(change) == 2:
        texts = frame[column].to_list()
        texts[0] = json.dumps(edited(json.loads(texts[0]), *change))
        frame = frame.with_columns(pl.Series(column, texts))
    elif change[0] == "gone":
        frame = frame.drop(column)
    else:
        frame = frame.with_columns(pl.lit(change[0]).alias(column))
    frame.write_parquet(name)


def edited(document: Any, place: int | list[Any], value: Any) -> Any:
    """A document with one value changed, or taken out: at a path, or at the place of a number. Places of one shape (any
    row of a list) count as one there, so that long lists do not hide the rest."""
    shapes: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for path in _places(document):
        shapes.setdefault(tuple("#" if isinstance(key, int) else key for key in path), path)
    if not shapes:
        return value
    path = list(shapes.values())[place % len(shapes)] if isinstance(place, int) else tuple(place)
    document = copy.deepcopy(document)
    here = document
    for key in path[:-1]:
        here = here[key]
    if value == "gone":
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return document


def parses(text: str) -> dict[str, Any] | None:
    """The tree of a text, if it has one."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
