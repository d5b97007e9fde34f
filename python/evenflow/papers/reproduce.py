"""Reproduce a paper: run its experiments, draw its figures, judge its claims, write one report."""

from __future__ import annotations

import gzip
import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError, Interrupted
from ..judge import claims
from ..run.files import csv_bytes, prepare, read_json, write_whole
from ..run.scheduler import default_jobs
from ..run.store import Store
from ..run.study import Table, run_study
from ..words import counted
from . import carry

if TYPE_CHECKING:
    from ..judge.claims import Entry, Scale
    from ..judge.paper import Experiment, Paper
    from ..judge.sensitivity import Varied

LEDGER = "ledger.json"
VERDICTS = ("holds", "fails", "undecided")
COMPARISONS = "comparisons.json.gz"
"""Beside a ledger that ships: every comparison of every row, packed."""
REPORT = "report.html"
LOOKS = (5, 10, 20, 40, 80, 160)
"""Seeds after which `until_decided` judges."""


@dataclass
class Examined:
    """One experiment after its runs.

    `svg` and the file names are empty without a figure, and `view` without a view. Paths are relative to the output
    folder.
    """

    experiment: Experiment
    table: Table
    svg: str = ""
    figure: str = ""
    data: str = ""
    view: str = ""
    viewed: str = ""
    """Which run the view is of, in words."""
    broken: str = ""
    """Not empty if drawing failed: a defect of Evenflow, shown in the report."""


@dataclass
class Reproduction:
    """Everything that was found, and where it was written."""

    paper: Paper
    scale: Scale
    out: Path
    examined: list[Examined]
    entries: list[Entry]
    elapsed_s: float
    jobs: int
    warnings: list[str] = field(default_factory=list)
    until_decided: bool = False
    varied: list[Varied] = field(default_factory=list)
    """Verdicts that depend on the paper's open choices, if requested."""

    carried: list[dict[str, Any]] = field(default_factory=list)
    """By what right runs of earlier engines stand for this one, where there are some."""

    @property
    def rights(self) -> list[str]:
        """The same in sentences."""
        return [carry.sentence(document) for document in self.carried]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The ledger, worst first; a claim that an option decides says so."""
        from ..judge.sensitivity import say_options

        varied = [row.to_json() for row in self.varied]
        if not varied and not self.paper.chosen:
            varied = (read_ledger(shipped_ledger(self.paper.key)) or {}).get("sensitivity") or []
        return claims.worst_first(say_options([entry.to_json() for entry in self.entries], varied))

    @property
    def broken(self) -> list[str]:
        """Figures and claims that failed by a defect of Evenflow."""
        figures = [f"figure {e.experiment.id}: {e.broken}" for e in self.examined if e.broken]
        return figures + [f"claim {e.claim.id}: {e.broken}" for e in self.entries if e.broken]

    def to_json(self) -> dict[str, Any]:
        """The document of `reproduce --json`, also written as `ledger.json`."""
        from .. import _core

        counts = claims.count(self.rows)
        return {
            "paper": self.paper.key,
            "title": self.paper.title,
            "scale": self.scale,
            **({"until": "decided"} if self.until_decided else {}),
            "options": dict(self.paper.chosen),
            "level": self.paper.level,
            "complete": len(self.examined) == len(self.paper.experiments),
            "engine": _core.ENGINE_ID,
            "build": _core.BUILD_PROFILE,
            "version": _core.__version__,
            "carried": self.carried,
            "host": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "jobs": self.jobs,
            "elapsed_s": round(self.elapsed_s, 3),
            "counts": counts.to_json(),
            "claims": self.rows,
            "experiments": [
                {
                    "id": e.experiment.id,
                    "title": e.experiment.title,
                    "runs": len(e.table),
                    "wall_s": round(e.table.elapsed_s, 3),
                    "cached": e.table.cached,
                    "run_wall_s": round(e.table.run_wall_s, 3),
                    "figure": e.figure or None,
                    "data": e.data or None,
                    **({"view": e.view} if e.view else {}),
                }
                for e in self.examined
            ],
            "sensitivity": [varied.to_json() for varied in self.varied],
            "history": [change.to_json() for change in self.paper.changes],
            "report": str(self.out / REPORT),
        }


def reproduce(
    paper: Paper,
    *,
    scale: Scale = "quick",
    until_decided: bool = False,
    experiments: Sequence[str] = (),
    out: Path | None = None,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    sensitivity: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Reproduction:
    """Run a paper's experiments and judge the claims that they bear on.

    Args:
        paper: as it is; with other choices where it leaves some open: `paper.with_options({…})`.
        until_decided: add seeds in rounds (`LOOKS`), only to experiments with an undecided claim. Verdicts before the
            last seed use wider intervals (docs/verdicts.md).
        experiments: ids; none = all. Claims that need others are left out.
        out: where the report, the figures and their data go; default `./out/<paper>`, and the choices that are not
            the default.
        sensitivity: afterwards also take every option's other values, one at a time, and say which verdicts change.
        store: where finished runs are kept; default: `Store()`.
        progress: bars on the terminal.
        say: is told what happens, a line at a time.

    Raises:
        UsageError: no such experiment.
        StoreError: nothing can be written; finished runs are kept.
        Interrupted: Ctrl-C; finished runs are kept.
    """
    started = time.perf_counter()
    chosen = [paper.experiment(name) for name in experiments] or list(paper.experiments)
    chosen = list({e.id: e for e in chosen}.values())
    out = Path("out") / paper.folder if out is None else out
    prepare(out)  # before the first run, not after the last
    own = store is None
    store = store or Store()
    run = partial(run_study, store=store, jobs=jobs, executor=executor, progress=progress)
    try:
        examined, early = _run(paper, chosen, scale, until_decided, run, out, say)
        tables = {e.experiment.id: e.table for e in examined}
        entries = [early.get(it.claim.id, it) for it in _judge(paper, tables, scale, until_decided)]
        varied: list[Varied] = []
        if sensitivity:
            from ..judge.sensitivity import examine

            varied = examine(
                paper,
                tables,
                entries,
                _judge,
                scale=scale,
                store=store,
                jobs=jobs,
                executor=executor,
                progress=progress,
                say=say,
            )
        done = Reproduction(
            paper,
            scale,
            out,
            examined,
            entries,
            time.perf_counter() - started,
            jobs or default_jobs(),
            list(store.warnings),
            until_decided,
            varied,
        )
        from ..show.report import render

        done.carried = carry.provenance(tables.values(), store)
        carry.write_runs(out / carry.RUNS, paper.key, scale, tables)
        write_whole(out / LEDGER, (json.dumps(done.to_json(), ensure_ascii=False, indent=1) + "\n").encode())
        write_whole(out / REPORT, render(done).encode())
        return done
    finally:
        if own:
            store.close()


def _run(
    paper: Paper,
    chosen: Sequence[Experiment],
    scale: Scale,
    until_decided: bool,
    run: Callable[..., Table],
    out: Path,
    say: Callable[[str], None],
) -> tuple[list[Examined], dict[str, Entry]]:
    """The experiments after their runs, and early verdicts by claim."""
    found: dict[str, Examined] = {}
    early: dict[str, Entry] = {}
    drawn: list[Future[None]] = []
    longest = max(len(list(e.seeds(scale))) for e in chosen)
    rounds = [n for n in LOOKS if n < longest] if until_decided else []
    with ThreadPoolExecutor(1, "figures") as artist:

        def finish(it: Examined) -> None:
            """Draw the figure while the next experiment runs. A figure that cannot be written ends all."""
            for figure in drawn:
                figure.result()
            drawn.append(artist.submit(_draw, it, out))
            _view(it, out)

        for most in (*rounds, longest):
            wanted = [e for e in chosen if e.id not in found or _is_open(e, paper, found, early)]
            for number, experiment in enumerate(wanted, 1):
                table = run(experiment.study(scale, most), what=f"{number}/{len(wanted)} {experiment.id}")
                table.left_out = tuple(experiment.left_out(scale))
                found[experiment.id] = Examined(experiment, table)
                if not rounds:
                    finish(found[experiment.id])
                say(_said(number, len(wanted), found[experiment.id]))
            if most < longest:
                judged = _judge(paper, {name: it.table for name, it in found.items()}, scale, until_decided)
                early |= {it.claim.id: it for it in judged if it.decided and it.claim.id not in early}
                say(f"{len(early)} of {counted(len(judged), 'claim')} decided with up to {counted(most, 'seed')}.")
        for it in found.values() if rounds else ():
            finish(it)
        for figure in drawn:
            figure.result()
    return list(found.values()), early


def _is_open(experiment: Experiment, paper: Paper, found: Mapping[str, Examined], early: Mapping[str, Entry]) -> bool:
    """Whether an undecided claim needs more seeds of the experiment."""
    table = found[experiment.id].table
    if len({run.seed for run in table.runs}) == len(list(experiment.seeds("paper"))):
        return False
    return any(
        experiment.id in claim.experiments and claim.id not in early and found.keys() >= set(claim.experiments)
        for claim in paper.claims
    )


def _said(number: int, of: int, found: Examined) -> str:
    from ..show.console import time_span

    stored = f", {found.table.cached} from the store" if found.table.cached else ""
    runs = f"{counted(len(found.table), 'run')} in {time_span(found.table.elapsed_s)}{stored}"
    return f"[{number}/{of}] {found.experiment.id}: {runs} · {found.experiment.title}"


def _draw(found: Examined, out: Path) -> None:
    """Draw the figure and write its numbers. A figure that fails must not cost the claims."""
    experiment = found.experiment
    if experiment.figure is not None:
        from ..show import plots
        from ..show.drawing import draw

        try:
            found.svg = plots.svg(draw(experiment.figure(found.table)))
        except Exception as error:
            found.broken = f"{type(error).__name__}: {error}"
        if found.svg:
            found.figure = f"figures/{experiment.id}.svg"
            write_whole(out / found.figure, found.svg.encode())
    try:
        if experiment.data is not None:
            data = experiment.data(found.table)
        else:
            data = found.table.summary(list(experiment.metrics) or None)
        text = csv_bytes(data)
    except Exception as error:
        found.broken = f"{type(error).__name__}: {error}"
        return
    found.data = f"figures/{experiment.id}.csv"
    write_whole(out / found.data, text)


def _view(found: Examined, out: Path) -> None:
    """Write the view of the run that the experiment names. One that fails must not cost the claims."""
    if found.experiment.view is None:
        return
    from ..run.recording import watched_again
    from ..show import names, view

    try:
        run = found.experiment.view(found.table)
        target = f"views/{found.experiment.id}.html"
        if not view.is_of(out / target, run.record):
            more, missing = watched_again(run.record)
            view.write(run.record, out / target, more, missing)
    except Interrupted:
        raise
    except Exception as error:
        found.broken = found.broken or f"{type(error).__name__}: {error}"
        return
    labels = [f"{names.path(name)} {names.value(label)}" for name, label in run.labels.items()]
    found.view, found.viewed = target, ", ".join([*labels, f"seed {run.seed}"])


def _judge(paper: Paper, tables: Mapping[str, Table], scale: Scale, until_decided: bool = False) -> list[Entry]:
    examined = [e for e in paper.experiments if e.id in tables]
    shortened = {e.id for e in examined if e.shortened and scale == "quick"}
    seeds = {e.id: (len({run.seed for run in tables[e.id].runs}), len(list(e.seeds("paper")))) for e in examined}
    fewer = {name for name, (there, of) in seeds.items() if there < of}
    bistable = _bistable(paper) if fewer else {}

    def judged(claim: claims.Claim) -> Entry:
        few = not fewer.isdisjoint(claim.experiments)
        early = None
        if few and until_decided:
            runs, of = max((seeds[name] for name in claim.experiments), key=lambda it: it[1])
            early = claims.Early(runs, of, sum(look < of for look in LOOKS))
        return claims.judge_claim(
            claim,
            tables,
            scale=scale,
            paper_runs=paper.runs,
            shortened=not shortened.isdisjoint(claim.experiments),
            fewer=few,
            early=early,
            bistable=bistable.get(claim.id, ()),
        )

    return [judged(claim) for claim in paper.claims if all(name in tables for name in claim.experiments)]


def _bistable(paper: Paper) -> dict[str, frozenset[str]]:
    """For each claim the comparisons whose runs fall into modes in the ledger that ships."""
    shipped = read_comparisons(paper.key, paper.chosen) or read_comparisons(paper.key)
    return {
        name: frozenset(check["label"] for part in parts.values() for check in part or () if check.get("modes"))
        for name, parts in shipped.items()
    }


def shipped_ledger(key: str, chosen: Mapping[str, str] | None = None) -> Path:
    """The ledger that comes with the package: the maintainers' run at `--scale paper`.

    A choice of options (`{"charge": "pass"}`) has a separate folder in that of the paper: `charge=pass`.
    """
    from . import folder

    if not chosen:
        return folder(key) / LEDGER
    return folder(key) / "-".join(f"{name}={value}" for name, value in chosen.items()) / LEDGER


def _shipped(key: str, chosen: Mapping[str, str] | None) -> Path:
    return shipped_ledger(key, chosen) if chosen else shipped_ledger(key)


def read_shipped(key: str, chosen: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """The ledger that ships, or that of a choice of options, each row with its comparisons; None if there is none."""
    document = read_ledger(_shipped(key, chosen))
    if document is None:
        return None
    comparisons = read_comparisons(key, chosen)
    empty: dict[str, Any] = {"checks": [], "relaxed_checks": None}
    return {**document, "claims": [row | comparisons.get(row["id"], empty) for row in document["claims"]]}


def read_comparisons(key: str, chosen: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """By claim `checks` and `relaxed_checks`, as a ledger's rows have them; empty if they were not recorded."""
    try:
        found = json.loads(gzip.decompress(_shipped(key, chosen).with_name(COMPARISONS).read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return dict(found)


def ship(document: Mapping[str, Any], folder: Path) -> None:
    """Write a ledger to ship: `ledger.json` without its comparisons, and these packed beside it."""
    rows, comparisons = [], {}
    for row in document["claims"]:
        comparisons[row["id"]] = {name: row.get(name) for name in ("checks", "relaxed_checks")}
        rows.append({name: value for name, value in row.items() if name not in ("checks", "relaxed_checks")})
    kept = {name: value for name, value in document.items() if name != "report"} | {"claims": rows}
    packed = json.dumps(comparisons, ensure_ascii=False, separators=(",", ":")).encode()
    write_whole(folder / COMPARISONS, gzip.compress(packed, mtime=0))
    write_whole(folder / LEDGER, (json.dumps(kept, ensure_ascii=False, indent=1) + "\n").encode())


def read_ledger(path: Path) -> dict[str, Any] | None:
    """A ledger file, or None if there is none.

    Raises:
        EvenflowError: it is there and cannot be read.
    """
    try:
        document = read_json(path)
        if not isinstance(document, dict) or not _is_ledger(document):
            raise ValueError
        return document
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EvenflowError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise not_a_ledger(path) from None


_TEXTS = ("measured", "expected", "tolerance", "source", "why", "statement", "apart", "relaxed_reading", "quote",
          "judged", "relaxed_measured")  # fmt: skip
"""Of a row: a text, null, or not there. A ledger of an earlier version has fewer."""


def _is_ledger(document: Mapping[str, Any]) -> bool:
    """Whether the document has the types of a ledger. The file may come from another program."""

    def texts(table: Mapping[str, Any], names: Iterable[str]) -> bool:
        return all(isinstance(table.get(name, ""), (str, type(None))) for name in names)

    def tables(found: Any) -> bool:
        return found is None or (isinstance(found, list) and all(isinstance(item, dict) for item in found))

    rows = document["claims"]
    return (
        isinstance(rows, list)
        and tables(rows)
        and all(isinstance(row["id"], str) and row["verdict"] in VERDICTS for row in rows)
        and all(row.get("relaxed") is None or row["relaxed"] in VERDICTS for row in rows)
        and all(texts(row, _TEXTS) and tables(row.get("checks")) and tables(row.get("relaxed_checks")) for row in rows)
        and texts(document, ("paper", "title", "scale", "engine"))
        and all(tables(document.get(name)) for name in ("sensitivity", "carried", "history"))
    )


def not_a_ledger(path: Path) -> EvenflowError:
    """The sentence for a ledger that was damaged."""
    return EvenflowError(f"{path} is not a ledger, or damaged; remove it and run the paper again.")
