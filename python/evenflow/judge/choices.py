"""A paper from its folder: `choices.toml`, `claims.toml`, `history.toml`, and Python.

`choices.toml` describes the paper and its open choices:

    [paper]                     # title, reference, summary; optional listed, runs and level
    [option.NAME]               # an option: values (the default first), subject, why
    [deviation.ID]              # a fixed choice: subject, paper_says, we_do, alternatives, sensitivity

A deviation may name the `option` that varies it, or several, instead of a sensitivity or before it.
A sensitivity may quote measured values, as notes do: `on` names their experiment, `claim("ID", x=…)` gives them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import EvenflowError, nearest
from ..run.study import Table
from ..stats import LEVEL
from .experiments import Experiments
from .history import history
from .kit import Claims
from .paper import Choices, Deviation, Option, Paper, Parts, varied_by
from .values import Shown, filled

FILE = "choices.toml"
PAPER = ("title", "reference", "summary", "listed", "runs", "level")
OPTION = ("values", "subject", "why", "paper_scale", "over")
DEVIATION = ("subject", "paper_says", "we_do", "alternatives", "sensitivity", "on", "option")
NEEDED = {"paper": PAPER[:3], "option": OPTION[:3], "deviation": DEVIATION[:4]}


def assembled(experiments: Experiments, claims: Claims, options: type[Choices] = Choices) -> Paper:
    """The paper of a folder.

    Raises:
        EvenflowError: a file is not as it should be, or does not fit the others.
    """
    folder = claims.file.parent
    found = _read(folder / FILE)
    about = found["paper"]

    def build(chosen: Mapping[str, str]) -> Parts:
        o = options.chosen(chosen)
        return experiments.build(o), claims.build(o)

    made, judged = build({})
    return Paper(
        key=claims.key,
        title=about["title"],
        listed=about.get("listed", ""),
        reference=about["reference"],
        experiments=made,
        claims=judged,
        deviations=tuple(_deviation(name, it, claims) for name, it in found.get("deviation", {}).items()),
        runs=about.get("runs", 10),
        summary=about["summary"].strip(),
        level=about.get("level", LEVEL),
        options=tuple(_option(name, it) for name, it in found.get("option", {}).items()),
        build=build,
        changes=history(folder),
    )


def _option(name: str, it: Mapping[str, Any]) -> Option:
    values, paper_scale, over = (tuple(it.get(key, ())) for key in ("values", "paper_scale", "over"))
    return Option(name, values, it["subject"], it["why"], paper_scale, over)


def _deviation(name: str, it: Mapping[str, Any], claims: Claims) -> Deviation:
    options, sensitivity = (_list(it.get(key, ())) for key in ("option", "sensitivity"))
    said, on = [*([varied_by(*options)] if options else ()), *sensitivity], it.get("on")
    return Deviation(
        id=name,
        **{key: it[key] for key in ("subject", "paper_says", "we_do", "alternatives")},
        sensitivity=partial(_sensitivity, name, said, on, claims) if on else " ".join(said),
    )


def _list(it: str | Sequence[str]) -> Sequence[str]:
    return [it] if isinstance(it, str) else it


def _sensitivity(name: str, parts: Sequence[str], on: str, claims: Claims, data: Mapping[str, Table]) -> str:
    needs = f"Its numbers need {claims.key}-{on} at the paper's scale."
    if not any(run for table in [data.get(f"{claims.key}-{on}")] if table is not None for run in table.runs):
        return needs
    return filled(parts, claims.said(name), Shown(claims.key, data, on), claims.words) or needs


def _read(file: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise EvenflowError(f"{file} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise EvenflowError(f"{file}: {error}") from None
    wrong = [f"{name}: there is no such part; paper, option, deviation." for name in document if name not in NEEDED]
    if "paper" not in document:
        wrong.append("[paper] is missing.")
    tables = {"paper": document.get("paper", {})}
    for part in ("option", "deviation"):
        tables |= {f"{part}.{name}": it for name, it in document.get(part, {}).items()}
    for where, table in tables.items():
        part = where.partition(".")[0]
        known = {"paper": PAPER, "option": OPTION, "deviation": DEVIATION}[part]
        wrong += [f"{where}: {key} is missing." for key in NEEDED[part] if key not in table]
        if part == "deviation" and not {"sensitivity", "option"} & table.keys():
            wrong.append(f"{where}: sensitivity is missing, or the option that varies it.")
        wrong += [
            f"{where}: {key} is not a key." + (f" Did you mean “{guess}”?" if (guess := nearest(key, known)) else "")
            for key in table
            if key not in known
        ]
    if wrong:
        raise EvenflowError(f"{file}:\n" + "\n".join(f"  {line}" for line in wrong))
    return document
