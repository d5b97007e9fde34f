"""Results outlive an engine: finished runs of one engine stand for another one that gives the same numbers.

A refactored engine has another id, and no run of the engine before it counts any more. Where a paper's ledger was made
at full scale, the hash of each of its runs is kept beside it (`runs.json.xz`). `carry` repeats a random sample of them
with the engine of this process and compares the hashes. If every one is equal, the others stand, and ledger and report
say by what right; one difference, and nothing is carried.

The sample is stratified by experiment and by the mechanisms of a run's scenario, with at least one run of each stratum.
It depends on the two engines' ids alone, so it cannot be chosen. The comparison is always with the engine that
made a run, however often it was carried since.
"""

from __future__ import annotations

import json
import lzma
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError, UsageError, unknown
from ..run.files import write_whole
from ..run.progress import Progress, progress_bar
from ..run.record import engine_of
from ..run.study import Study, run_study

if TYPE_CHECKING:
    from ..judge.paper import Experiment, Paper
    from ..run.store import Store
    from ..run.study import Point, Table
    from ..scenario.scenario import Scenario
    from ..scenario.sweep import Labels

RUNS = "runs.json.xz"
CARRIED = "carried.json"
SAMPLE = 0.02
CONFIDENCE = 0.95
MOST_SHOWN = 5
"""Differing runs that are named."""


@dataclass(frozen=True)
class Kept:
    """A finished run of a paper: where it stands, who made it, what it measured."""

    experiment: str
    labels: str
    """The point's labels as JSON text, keys in order."""
    seed: int
    engine: str
    version: int
    """Version of the record that its hash covers."""
    record_hash: str


@dataclass(frozen=True)
class Planned:
    """A kept run and its point in the current version."""

    kept: Kept
    point: Point
    stratum: tuple[str, ...]


@dataclass(frozen=True)
class Different:
    """A run that this engine makes otherwise."""

    kept: Kept
    found: str

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value}" for name, value in json.loads(self.kept.labels).items())
        return f"{self.kept.experiment}, {where or 'its only point'}, seed {self.kept.seed}"


@dataclass(frozen=True)
class Carried:
    """The result of a sample of repeated runs."""

    engine: str
    to: str
    papers: tuple[str, ...]
    of: int
    repeated: int
    strata: int
    without_counterpart: int
    different: tuple[Different, ...]
    made_again: tuple[str, ...] = ()
    """Experiments that were left out, because this engine makes them otherwise by intent."""
    in_store: int = 0
    """Runs of the local store that count for this engine from now on."""

    @property
    def equal(self) -> bool:
        """Whether every repeated run gave the same record."""
        return not self.different

    @property
    def fewer_than(self) -> float:
        """At 95 % confidence, a smaller share of the runs than this differs, if none of the sample did."""
        return 1.0 - float((1 - CONFIDENCE) ** (1 / self.repeated))

    def to_json(self) -> dict[str, Any]:
        """The provenance that is kept with a ledger."""
        return {
            "from": self.engine,
            "to": self.to,
            "papers": list(self.papers),
            "of": self.of,
            "repeated": self.repeated,
            "strata": self.strata,
            "without_counterpart": self.without_counterpart,
            "made_again": list(self.made_again),
            "equal": self.equal,
            "fewer_than": self.fewer_than if self.equal else None,
            "confidence": CONFIDENCE,
            "different": [
                {"experiment": d.kept.experiment, "labels": json.loads(d.kept.labels), "seed": d.kept.seed}
                | {"expected": d.kept.record_hash, "found": d.found}
                for d in self.different
            ],
        }


def sentence(document: Mapping[str, Any]) -> str:
    """The provenance of carried runs in one sentence, from `Carried.to_json`."""
    share = math.ceil(1000 * document["fewer_than"]) / 10
    again = document.get("made_again", [])
    left = f" Recomputed by this engine: {', '.join(again)}." if again else ""
    return (
        f"Revalidated from engine {document['from']}: {document['repeated']:,} of {document['of']:,} runs repeated "
        f"with engine {document['to']}, all equal. "
        f"Fewer than {share:g} % differ, at {100 * document['confidence']:g} % confidence.{left}"
    )


# --- the runs that are kept beside a ledger


def write_runs(path: Path, paper: str, scale: str, tables: Mapping[str, Table]) -> None:
    """Write the hash of every run of a paper's finished experiments.

    Raises:
        StoreError: it cannot be written.
    """
    engines: dict[tuple[str, int], int] = {}
    experiments: dict[str, list[Any]] = {}
    for name, table in tables.items():
        points: dict[tuple[str, int], tuple[list[int], list[str]]] = {}
        for run in table:
            made = (engine_of(run.json), int(run.json.get("record_version", 0)))
            engine = engines.setdefault(made, len(engines))
            seeds, hashes = points.setdefault((_text(run.labels), engine), ([], []))
            seeds.append(run.seed)
            hashes.append(run.record.record_hash)
        experiments[name] = [
            [json.loads(labels), engine, seeds, hashes] for (labels, engine), (seeds, hashes) in points.items()
        ]
    document = {
        "paper": paper,
        "scale": scale,
        "engines": [{"id": engine, "record_version": version} for engine, version in engines],
        "experiments": experiments,
    }
    write_whole(path, lzma.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()))


def replace_runs(path: Path, by: Path) -> None:
    """Put the runs of the experiments in ``by`` in the place of those in ``path``.

    Raises:
        StoreError: it cannot be written.
    """
    ours, theirs = (json.loads(lzma.decompress(file.read_bytes())) for file in (path, by))
    engines = ours["engines"]
    for name, points in theirs["experiments"].items():
        ours["experiments"][name] = []
        for labels, engine, seeds, hashes in points:
            made = theirs["engines"][engine]
            if made not in engines:
                engines.append(made)
            ours["experiments"][name].append([labels, engines.index(made), seeds, hashes])
    write_whole(path, lzma.compress(json.dumps(ours, ensure_ascii=False, separators=(",", ":")).encode()))


def read_runs(path: Path) -> list[Kept]:
    """The runs beside a ledger at full scale; none where there is no file, or a ledger of another scale.

    Raises:
        EvenflowError: it is there and cannot be read.
    """
    try:
        document = json.loads(lzma.decompress(path.read_bytes()))
        if document["scale"] != "paper":
            return []
        engines = [(str(e["id"]), int(e["record_version"])) for e in document["engines"]]
        return [
            Kept(name, _text(labels), int(seed), engines[engine][0], engines[engine][1], str(record_hash))
            for name, points in document["experiments"].items()
            for labels, engine, seeds, hashes in points
            for seed, record_hash in zip(seeds, hashes, strict=True)
        ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise EvenflowError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (lzma.LZMAError, ValueError, KeyError, TypeError, IndexError):
        raise EvenflowError(f"{path} is damaged; run the paper again at --scale paper.") from None


def read_carried(path: Path) -> dict[str, Any] | None:
    """The provenance beside a ledger; None where there is none or where it is damaged: then nothing was carried."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        sentence(document)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(document)


def right_to(ledger: Mapping[str, Any], folders: Sequence[Path]) -> dict[str, Any] | None:
    """The provenance in one of these folders that lets this ledger stand for this engine, if there is one."""
    from .. import _core

    for folder in folders:
        found = read_carried(folder / CARRIED)
        if found and (found["from"], found["to"]) == (ledger.get("engine"), _core.ENGINE_ID):
            return found
    return None


def runs_of(engine: str, folder: Path, shipped: Path) -> list[Kept]:
    """A paper's runs, local or else shipped, if this engine made some; without those of the current engine.

    Experiments that were repeated later have runs of another engine.
    """
    from .. import _core

    for path in (folder / RUNS, shipped / RUNS):
        found = read_runs(path)
        if any(kept.engine == engine for kept in found):
            return [kept for kept in found if engine == _core.ENGINE_ID or kept.engine != _core.ENGINE_ID]
    return []


def known_engines(folders: Sequence[Path]) -> list[str]:
    """The engines that made the runs beside the ledgers in these folders."""
    return sorted({kept.engine for folder in folders for kept in read_runs(folder / RUNS)})


def provenance(tables: Iterable[Table], store: Store) -> list[dict[str, Any]]:
    """By what right runs of earlier engines among these stand for this one: a document for each earlier engine."""
    from .. import _core

    engines = {engine_of(run.json) for table in tables for run in table}
    return [document for document in store.provenance(_core.ENGINE_ID) if document["from"] in engines]


# --- carrying


def carry(
    papers: Sequence[tuple[Paper, Sequence[Kept]]],
    engine: str,
    store: Store,
    *,
    sample: float = SAMPLE,
    without: Sequence[str] = (),
    jobs: int | None = None,
    progress: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Carried:
    """Repeat a sample of these papers' runs; if every hash is equal, all runs count for this engine.

    Args:
        papers: each with its runs.
        engine: the engine that made them, except experiments that were repeated later.
        store: its runs of those papers count for this engine from now on.
        sample: share of each stratum's runs that is repeated, above 0 and at most 1.
        without: ids of experiments whose runs this engine makes otherwise by intent: they are made again, not carried.

    Raises:
        UsageError: nothing to carry.
        Interrupted: Ctrl-C; nothing was carried.
    """
    from .. import _core

    if not 0 < sample <= 1:
        raise UsageError(f"a sample of {sample:g}: write a share above 0 and up to 100 %.")
    if not any(runs for _, runs in papers):
        raise UsageError("nothing to carry.")
    if engine == _core.ENGINE_ID:
        raise UsageError(f"{engine} is this engine: its runs need not be carried.")
    if any(kept.version < 1 for _, runs in papers for kept in runs):
        raise UsageError(f"the runs by engine {engine} are older than versions of records: run the papers again.")
    known = dict.fromkeys(experiment.id for paper, _ in papers for experiment in paper.experiments)
    for name in without:
        if name not in known:
            raise unknown("experiment", name, list(known))
    planned: list[Planned] = []
    for paper, runs in papers:
        planned += _planned(paper, runs)
    # an equal run of another experiment would replace one that is to be repeated
    again = {_place(run) for run in planned if run.kept.experiment in without}
    planned = [run for run in planned if not again or _place(run) not in again]
    papers = [(paper, [kept for kept in runs if kept.experiment not in without]) for paper, runs in papers]
    if not planned:
        raise UsageError(f"none of the runs by engine {engine} has a counterpart in the current experiments.")
    drawn, strata = _drawn(planned, sample, f"{engine} {_core.ENGINE_ID}")
    say(f"Repeating {len(drawn):,} of {len(planned):,} runs by engine {engine}, {strata:,} strata.")
    different = tuple(_different(drawn, jobs, progress))
    found = Carried(
        engine=engine,
        to=_core.ENGINE_ID,
        papers=tuple(paper.folder for paper, _ in papers),
        of=len(planned),
        repeated=len(drawn),
        strata=strata,
        without_counterpart=sum(len(runs) for _, runs in papers) - len(planned),
        different=different,
        made_again=tuple(without),
    )
    if different:
        return found
    aliases = [alias for made in {run.kept.engine for run in planned} for alias in _aliases(planned, store, made)]
    store.carry(aliases, found.to_json())
    return Carried(**{**vars(found), "in_store": len(aliases)})


def _place(run: Planned) -> tuple[str, int]:
    """Equal runs have the same place: scenario and seed."""
    return run.point.scenario.hash, run.kept.seed


def _text(labels: Labels) -> str:
    return json.dumps(labels, sort_keys=True, ensure_ascii=False)


def _planned(paper: Paper, runs: Sequence[Kept]) -> Iterator[Planned]:
    """Kept runs with the current points of the same experiment and labels. Others are omitted."""
    experiments: dict[str, Experiment] = {experiment.id: experiment for experiment in paper.experiments}
    points: dict[tuple[str, str], Point] = {}
    for name in dict.fromkeys(kept.experiment for kept in runs):
        if name in experiments:
            points |= {(name, _text(point.labels)): point for point in experiments[name].points("paper")}
    kinds: dict[tuple[str, str], tuple[str, ...]] = {}
    for kept in runs:
        place = (kept.experiment, kept.labels)
        point = points.get(place)
        if point is not None:
            if place not in kinds:
                kinds[place] = tuple(sorted(mechanisms(point.scenario)))
            yield Planned(kept, point, (paper.folder, kept.experiment, *kinds[place]))


def mechanisms(scenario: Scenario) -> set[str]:
    """The kinds of queues, schedulers, stages, traffic, stacks and controls in a scenario."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            for name, below in value.items():
                if name in ("kind", "stack", "congestion_control") and isinstance(below, str):
                    found.add(below)
                look(below)
        elif isinstance(value, list):
            for below in value:
                look(below)

    look(json.loads(scenario.core.canonical))
    return found


def _drawn(planned: Sequence[Planned], sample: float, seed: str) -> tuple[list[Planned], int]:
    """A share of each stratum, at least one run of each; and how many strata there are."""
    strata: dict[tuple[str, ...], list[Planned]] = {}
    for run in planned:
        strata.setdefault(run.stratum, []).append(run)
    chance = random.Random(seed)
    drawn = [
        run for _, runs in sorted(strata.items()) for run in chance.sample(runs, math.ceil(sample * len(runs) - 1e-9))
    ]
    return drawn, len(strata)


def _different(drawn: Sequence[Planned], jobs: int | None, progress: bool) -> Iterator[Different]:
    """Those of the sample whose record is another with this engine."""
    by_seed: dict[int, list[Planned]] = {}
    for run in drawn:
        by_seed.setdefault(run.kept.seed, []).append(run)
    state = Progress(total=len(drawn))
    with progress_bar("carry", progress) as bar:
        for seed, runs in sorted(by_seed.items()):
            table = run_study(Study([run.point for run in runs], [seed]), jobs=jobs)
            for run, made in zip(runs, table, strict=True):
                found = made.record.hash_as_of(run.kept.version)
                if found != run.kept.record_hash:
                    yield Different(run.kept, found)
            state.done += len(runs)
            bar.update(state)


def _aliases(planned: Sequence[Planned], store: Store, engine: str) -> list[tuple[str, str]]:
    """Current key -> key of the run in the store that counts for it."""
    from ..run.store import key_of

    there: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for key, scenario_hash, seed, record_hash in store.made_by(engine):
        there.setdefault((seed, record_hash), []).append((scenario_hash, key))
    found = []
    for run in planned:
        today = run.point.scenario.hash
        candidates = there.get((run.kept.seed, run.kept.record_hash), [])
        # several scenarios may measure the same: that of this very scenario is preferred
        same = [key for scenario_hash, key in candidates if scenario_hash == today] or [k for _, k in candidates]
        if same:
            found.append((key_of(today, run.kept.seed), same[0]))
    return found


def named(engine: str, known: Sequence[str]) -> str:
    """The one engine whose id begins with these digits.

    Raises:
        UsageError: none does, or several do.
    """
    found = [name for name in known if name.startswith(engine.strip().casefold())] if engine.strip() else []
    if len(found) > 1:
        raise UsageError(f"several engines begin with {engine}: {', '.join(found)}.")
    if not found:
        raise unknown("engine", engine, known)
    return found[0]
