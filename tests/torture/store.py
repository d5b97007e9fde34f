"""Torture of the run cache: shared, killed, damaged, with failing disks and power cuts. `make torture` runs all of it.

    python tests/torture/store.py [share kills engines races flips folders io power] [--seed N] [--scale 0.1]

Each part prints a line with what was tried and what went wrong, and how to repeat it. A run is *reported* once the call
that keeps it has returned; a reported run must never be lost, changed, or computed a second time. The stand-in core of
tests/python computes, so that most of the time goes into the store; in `engines` the real one does.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent.parent / "python")]

import fake_core  # noqa: E402

fake_core.install()

from evenflow.errors import EvenflowError, StoreError  # noqa: E402
from evenflow.run import saved  # noqa: E402
from evenflow.run import store as store_module  # noqa: E402
from evenflow.run.files import write_whole  # noqa: E402
from evenflow.run.store import Store, key_of  # noqa: E402
from evenflow.run.study import Study, Table, run_study  # noqa: E402
from evenflow.scenario.scenario import Scenario  # noqa: E402

logging.getLogger("evenflow").setLevel(logging.CRITICAL)
SERIES = ["links.a.queue.packets", "links.b.queue.packets"]


class Wrong(Exception):
    """What must not happen."""


def scenario(sleep_s: float = 0.0, series: bool = False) -> Scenario:
    tree: dict[str, Any] = {"duration": "2 s", "links": {"bottleneck": {"delay": "5 ms"}}, "sleep": sleep_s}
    if series:
        tree["record"] = {"series": [{"of": name, "every": "1 s"} for name in SERIES]}
    return Scenario(tree)


def study(runs: int, sleep_s: float = 0.0, series: bool = False) -> Study:
    return Study.from_scenario(scenario(sleep_s, series), runs)


def hashes(table: Table) -> list[str]:
    return [run.record.record_hash for run in table]


def keys(of: Study) -> list[str]:
    return [key_of(of.points[0].scenario.hash, seed) for seed in of.seeds]


class Reporting(Store):
    """A store that writes down which runs it has reported: that it returned from keeping them."""

    log: Path

    def put_all(self, runs: Any) -> Any:
        done = super().put_all(runs)
        with self.log.open("ab", buffering=0) as file:
            file.write("".join(f"{key}\n" for key, *_ in runs).encode())
        return done


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def child(work: Callable[[], object]) -> int:
    """Do something in a process of its own; returns its id. It ends with 0, 1 (a sentence) or 2 (something else)."""
    pid = os.fork()
    if pid:
        return pid
    code = 2
    try:
        work()
        code = 0
    except EvenflowError as error:
        print(error, file=sys.stderr, flush=True)
        code = 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def joined(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# --- several processes, one study


def share(folder: Path, rng: random.Random, scale: float) -> str:
    """2, 4 and 16 processes on one study."""
    said = []
    for processes in (2, 4, 16):
        runs, place = max(40, int(300 * scale)), folder / str(processes)
        place.mkdir()
        of = study(runs, 0.02, series=True)
        os.environ["FAKE_LOG"] = str(place / "log")

        def work(place: Path = place, of: Study = of) -> None:
            with Store(place / "store") as store:
                table = run_study(of, store=store, jobs=2)
                (place / f"hashes-{os.getpid()}").write_text(json.dumps(hashes(table)))

        codes = [joined(pid) for pid in [child(work) for _ in range(processes)]]
        times = Counter(tuple(line.split()[:2]) for line in lines(place / "log"))
        equal = len({path.read_text() for path in place.glob("hashes-*")}) == 1
        if any(codes) or not equal or len(times) != runs or set(times.values()) != {1}:
            raise Wrong(f"{processes} processes: codes {codes}, equal {equal}, computed {Counter(times.values())}")
        said.append(f"{processes}: {runs} runs, each computed once")
    os.environ.pop("FAKE_LOG")
    return "; ".join(said)


# --- kills


def kills(folder: Path, rng: random.Random, scale: float) -> str:
    """Processes that share a study are killed at random instants, until it is done; then the next study."""
    wanted = max(10, int(200 * scale))
    killed = lost = doubled = studies = again = left = 0
    while killed < wanted:
        studies += 1
        place = folder / str(studies)
        place.mkdir()
        of = study(60, 0.01, series=True)
        os.environ["FAKE_LOG"] = str(place / "log")
        Reporting.log = place / "reported"

        def work(place: Path = place, of: Study = of) -> None:
            with Reporting(place / "store") as store:
                run_study(of, store=store, jobs=2)

        alive: list[int] = []
        while killed < wanted:
            while len(alive) < 2:
                alive.append(child(work))
            time.sleep(rng.uniform(0.005, 0.15))
            over = [pid for pid in alive if (found := os.waitpid(pid, os.WNOHANG)) and found[0]]
            alive = [pid for pid in alive if pid not in over]
            if over:
                break
            victim = rng.choice(alive)
            os.kill(victim, signal.SIGKILL)
            joined(victim)
            alive.remove(victim)
            killed += 1
            with Store(place / "store") as store:
                lost += sum(store.get(key) is None for key in set(lines(Reporting.log)))
        codes = [joined(pid) for pid in alive] + [joined(child(work))]
        if any(codes):
            raise Wrong(f"study {studies}: after the kills a process ended with {codes}")
        reported = Counter(lines(Reporting.log))
        doubled += sum(times > 1 for times in reported.values())
        again += sum(Counter(tuple(line.split()[:2]) for line in lines(place / "log")).values()) - 60
        with Store(place / "store") as store:
            lost += sum(store.get(key) is None for key in keys(of))
            run_study(of, store=store)
        left += len([p for p in (place / "store").rglob("*") if p.name.endswith(".partial")])
    os.environ.pop("FAKE_LOG")
    if lost or doubled:
        raise Wrong(f"{killed} kills: {lost} reported runs lost, {doubled} reported runs computed again")
    return (
        f"{killed} kills in {studies} studies of 60 runs: 0 reported runs lost, 0 computed again; {again} runs under "
        f"way at a kill were computed again; {left} files left in writing (swept after an hour)"
    )


# --- the real engine in several processes


REAL = """\
title = "Two users at one link"
duration = "20 s"
warmup = "1 s"

[links.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "24 packets" }

[groups.heavy]
users = 1
path = ["bottleneck"]
traffic = { kind = "bulk", flows = 4 }

[groups.light]
users = 2
path = ["bottleneck"]
traffic = { kind = "bulk", flows = 1 }

[record]
series = [{ of = "links.bottleneck.queue.packets", every = "100 ms" }]

[sweep]
replications = 10
"""


def commands(place: Path, processes: int, file: str) -> list[subprocess.Popen[str]]:
    """So many times `evenflow study` at once, on one store, each with results of its own."""
    (place / "f.toml").write_text(file, encoding="utf-8")
    command = [sys.executable, str(HERE / "logged_cli.py"), "log", "study", "f.toml", "--jobs", "2", "--quiet", "--out"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENFLOW")}
    return [
        subprocess.Popen(
            [*command, f"out/{number}"],
            cwd=place,
            env={**kept, "EVENFLOW_STORE": str(place / "store")},
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(processes)
    ]


def kept_in(store: Path) -> dict[tuple[str, int], str]:
    """The record hash of each run of a store."""
    with sqlite3.connect(f"file:{store / 'runs.sqlite3'}?mode=ro", uri=True, timeout=30) as db:
        return {(row[0], row[1]): row[2] for row in db.execute("SELECT scenario_hash, seed, record_hash FROM runs")}


def computed(place: Path) -> list[tuple[tuple[str, int], int]]:
    """Each run that was computed, and the process that did it, in time's order."""
    found = [line.split() for line in lines(place / "log")]
    return [((scenario, int(seed)), int(pid)) for scenario, seed, pid in found]


def results(folder: Path) -> dict[str, bytes]:
    """The tables that a study wrote."""
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def engines(folder: Path, rng: random.Random, scale: float) -> str:
    """4 and 16 times `evenflow study` on one store with the real engine, one of them killed; beside one alone."""
    points = max(4, int(20 * scale))
    file = REAL + '"links.bottleneck.delay" = [' + ", ".join(f'"{5 + n} ms"' for n in range(points)) + "]\n"
    runs = 10 * points
    alone = folder / "alone"
    alone.mkdir()
    began = time.monotonic()
    (process,) = commands(alone, 1, file)
    _, err = process.communicate()
    if process.returncode or len(computed(alone)) != runs:
        raise Wrong(f"one alone: code {process.returncode}, {len(computed(alone))} of {runs} runs\n{err}")
    wanted, tables = kept_in(alone / "store"), results(alone / "out" / "0")
    said = [f"{runs} runs alone in {time.monotonic() - began:.0f} s"]
    for count in (4, 16) if scale >= 1 else (4,):
        place = folder / str(count)
        place.mkdir()
        began = time.monotonic()
        alive = commands(place, count, file)
        at = rng.uniform(0.2, 0.7) * runs
        while len(computed(place)) < at and all(process.poll() is None for process in alive):
            time.sleep(0.01)
        working = {pid for _, pid in computed(place)}
        able = [process for process in alive if process.pid in working and process.poll() is None]
        if not able:
            raise Wrong(f"{count} processes: none is there to be killed; {[p.poll() for p in alive]}")
        victim = rng.choice(able)
        victim.kill()
        victim.communicate()
        there = set(kept_in(place / "store"))
        errors = [process.communicate()[1] for process in alive if process is not victim]
        took = time.monotonic() - began
        codes = [process.returncode for process in alive if process is not victim]
        times = Counter(run for run, _ in computed(place))
        under_way = {run for run, pid in computed(place) if pid == victim.pid} - there
        again = {run for run, number in times.items() if number > 1}
        where = f"{count} processes"
        if any(codes):
            raise Wrong(f"{where}: codes {codes}\n{''.join(errors)}")
        if kept_in(place / "store") != wanted:
            raise Wrong(f"{where}: other records than one alone")
        if not again <= under_way or max(times.values()) > 2 or len(times) != runs:
            raise Wrong(f"{where}: {len(times)} of {runs} runs, {len(again - under_way)} computed again without need")
        for number, process in enumerate(alive):
            if process is not victim and results(place / "out" / str(number)) != tables:
                raise Wrong(f"{where}: process {number} has other tables than one alone")
        shares = Counter(pid for _, pid in computed(place))
        said.append(
            f"{count} processes in {took:.0f} s, one killed with {len(there)} runs kept: each run "
            f"computed once, but {len(again)} that the dead one had not kept; {len(shares)} processes computed, "
            f"{min(shares.values())} to {max(shares.values())} runs each; records and tables as alone"
        )
    return "; ".join(said)


# --- races on a damaged store


def damage(file: Path, rng: random.Random) -> str:
    """Damage a closed database as a whole. Returns how."""
    data = bytearray(file.read_bytes())
    how = rng.choice(["no database", "header", "pages", "cut", "schema", "empty"])
    if how == "no database":
        data = bytearray(b"this is no database " * 500)
    elif how == "header":
        data[rng.randrange(16)] ^= 0xFF
    elif how == "pages":
        for at in range(4096, len(data), 4096):
            data[at : at + 64] = b"\xff" * 64
    elif how == "cut":
        del data[rng.randrange(100, len(data)) :]
    elif how == "schema":
        at = data.find(b"CREATE TABLE runs")
        data[at + rng.randrange(17)] ^= 1 << rng.randrange(8)
    else:
        data.clear()
    file.write_bytes(data)
    return how


def races(folder: Path, rng: random.Random, scale: float) -> str:
    """Four processes open a damaged database at once and keep 25 runs each."""
    rounds = max(6, int(120 * scale))
    hows: Counter[str] = Counter()
    for number in range(rounds):
        place = folder / str(number)
        of = study(100)
        before = study(40, series=True)
        with Store(place) as store:
            run_study(before, store=store, jobs=1)
        hows[damage(place / "runs.sqlite3", rng)] += 1
        start = time.monotonic() + 0.05

        def work(part: int, place: Path = place, of: Study = of, before: Study = before, start: float = start) -> None:
            time.sleep(max(0.0, start - time.monotonic()))
            one = Study(of.points, list(of.seeds)[25 * part : 25 * part + 25])
            with Store(place) as store:
                run_study(one, store=store, jobs=1)
                run_study(before, store=store, jobs=1)

        codes = [joined(pid) for pid in [child(lambda part=part: work(part)) for part in range(4)]]
        aside = len(list(place.glob("runs.sqlite3.damaged-[0-9]")))
        with Store(place) as store:
            lost = sum(store.get(key) is None for key in [*keys(of), *keys(before)])
        with sqlite3.connect(place / "runs.sqlite3") as db:
            sound = db.execute("PRAGMA integrity_check").fetchone()[0]
        if any(codes) or lost or aside > 1 or sound != "ok":
            raise Wrong(f"round {number} ({hows}): codes {codes}, {lost} runs lost, {aside} moved aside, {sound}")
        shutil.rmtree(place)
    how = ", ".join(f"{n} {name}" for name, n in sorted(hows.items()))
    return f"{rounds} openings by 4 processes at once ({how}): 0 runs lost, 0 errors, 0 good stores moved aside"


# --- flipped bits


REFUSED = (*range(60, 64), *range(68, 72))
"""Bytes of user_version and application_id in the header of a database."""
HEADER = zlib.compress(b"", store_module.LEVEL)[:2]
"""How a compressed record begins."""


def flips(folder: Path, rng: random.Random, scale: float) -> str:
    """One bit of a store is flipped; the study is run again, and once more, which must find all of it.

    A flipped version or application id is refused: the database may be of another version or program.
    """
    tries = max(20, int(300 * scale))
    of = study(40, series=True)
    model = folder / "model"
    with Store(model) as store:
        wanted = hashes(run_study(of, store=store, jobs=1))
        series = [run.record.raw_series for run in run_study(of, store=store)]
    seen: Counter[str] = Counter()
    recomputed = 0
    for number in range(tries):
        place = folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(model, place)
        kind = ("database", "first page", "record", "series")[number % 4]
        file = place / "runs.sqlite3"
        data = bytearray(file.read_bytes())
        if kind == "series":
            file = rng.choice(sorted(place.rglob("*.npz")))
            data = bytearray(file.read_bytes())
            at = rng.randrange(len(data))
        elif kind == "database":
            at = rng.randrange(len(data))
        elif kind == "first page":
            at = rng.randrange(4096)
        else:
            begin = rng.choice([i for i in range(len(data)) if data[i : i + 2] == HEADER])
            at = min(begin + rng.randrange(500), len(data) - 1)
        bit = rng.randrange(8)
        data[at] ^= 1 << bit
        file.write_bytes(data)
        where = f"try {number}: bit {bit} of byte {at} of {file.name}"
        for attempt in range(2):
            try:
                with Store(place) as store:
                    found = run_study(of, store=store, jobs=1)
                    if hashes(found) != wanted or [run.record.raw_series for run in found] != series:
                        raise Wrong(f"{where}: wrong results")
                    if attempt and (found.cached < 40 or store.recomputed or store.warnings):
                        raise Wrong(f"{where}: not mended: {found.cached} of 40, {store.warnings}")
                    if not attempt:
                        recomputed += 40 - found.cached
                        seen["moved aside" if store.warnings else "row" if found.cached < 40 else "harmless"] += 1
            except EvenflowError as error:
                if file.suffix != ".sqlite3" or at not in REFUSED or file.read_bytes() != data:
                    raise Wrong(f"{where}: {error}") from None
                seen["refused"] += 1
                break
    how = ", ".join(f"{n} {name}" for name, n in sorted(seen.items()))
    return f"{tries} flips ({how}; {recomputed} runs computed again): 0 wrong results, 0 stuck"


# --- failing calls and power cuts


def shim() -> Any:
    """The shim, if this process was started with it."""
    found = ctypes.CDLL(os.environ["LD_PRELOAD"])
    found.shim_failed.restype = ctypes.c_char_p
    found.shim_count.restype = ctypes.c_long
    found.shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    return found


def workload(place: Path) -> None:
    """What a store does in its life: opened, claimed from, put into one by one and together, read, carried, closed."""
    of = study(4, series=True)
    with Reporting(place) as store:
        run_study(of, store=store, jobs=1)
        run_study(study(3), store=store, jobs=1)
        store.carry([("later", keys(of)[0])], {"to": "later", "from": "now"})
        for key in keys(of):
            record = store.get(key)
            if record is not None:
                list(record.raw_series)
        store.provenance("later")
        store.made_by(fake_core.ENGINE_ID)


def filled(place: Path) -> Path:
    """A store that has one run already, and its list of reported runs."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    Reporting.log = place / "reported"
    Reporting.log.unlink(missing_ok=True)
    with Reporting(place / "store") as store:
        run_study(study(1, series=True), store=store, jobs=1)
    return place / "store"


def calls_of(place: Path, fresh: bool) -> int:
    """How many calls the workload makes."""
    store = filled(place) if not fresh else place / "store"
    if fresh:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        Reporting.log = place / "reported"
    counted = place / "count"

    def work() -> None:
        c = shim()
        c.shim_arm(str(store).encode(), 0, 0)
        workload(store)
        counted.write_text(str(c.shim_count()))

    if joined(child(work)):
        raise Wrong("the workload does not run even without errors")
    return int(counted.read_text())


def start(place: Path, fresh: bool) -> Path:
    if not fresh:
        return filled(place)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    Reporting.log = place / "reported"
    return place / "store"


def io(folder: Path, rng: random.Random, scale: float) -> str:
    """Every call fails once with EIO, and the disk is full from every call on; a new store, and one with runs."""
    place = folder / "place"
    tried = sentences = unhurt = 0
    for fresh in (False, True):
        for code in (errno.EIO, errno.ENOSPC):
            total = calls_of(place, fresh)
            step = 1 if scale >= 1 else max(1, round(1 / scale))
            for nth in range(1 + rng.randrange(step), total + 1, step):
                store = start(place, fresh)
                said = place / "said"

                def work(nth: int = nth, store: Path = store, said: Path = said, code: int = code) -> None:
                    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
                    store_module.BUSY_S = 2.0
                    c = shim()
                    c.shim_arm(str(store).encode(), nth, code)
                    try:
                        workload(store)
                    finally:
                        (place / "failed").write_text(c.shim_failed().decode())

                ended = joined(child(work))
                text, call = said.read_text(), (place / "failed").read_text()
                where = f"call {nth} of {total} ({call}, {errno.errorcode[code]}, {'new' if fresh else 'old'} store)"
                tried += 1
                if ended > 1 or "Traceback" in text:
                    raise Wrong(f"{where}: no sentence:\n{text}")
                full = "no space" in text.lower()
                if ended == 1 and (full if code == errno.EIO else not full and "or is full" not in text):
                    raise Wrong(f"{where}: {'called' if full else 'not called'} a full disk: {text}")
                sentences += ended == 1
                unhurt += ended == 0
                reported = set(lines(Reporting.log))
                with Store(store) as again:
                    lost = [key for key in reported if again.get(key) is None]
                    if lost or again.warnings:
                        raise Wrong(f"{where}: {len(lost)} reported runs lost; {text} {again.warnings}")
                    run_study(study(4, series=True), store=again, jobs=1)
                with Store(store) as third:
                    if run_study(study(4, series=True), store=third).cached < 4 or third.recomputed:
                        raise Wrong(f"{where}: not mended")
    return (
        f"{tried} failing calls: {sentences} sentences, {unhurt} without consequence, 0 tracebacks, 0 reported runs "
        "lost, 0 stores moved aside"
    )


def after_the_cut(shadow: Path, store: Path, to: Path, rng: random.Random | None) -> None:
    """What the disk holds: each name as of the last sync of its folder, each file as of its own.

    Args:
        rng: if given, each page that was written and not synced is on the disk with probability 1/2.
    """

    def rebuild(folder: Path, to: Path) -> None:
        to.mkdir()
        for line in lines(shadow / f"d{folder.stat().st_ino}"):
            inode, name = line.split(" ", 1)
            here = folder / name
            if here.is_dir():
                rebuild(here, to / name)
                continue
            synced = shadow / f"i{inode}"
            data = bytearray(synced.read_bytes()) if synced.exists() else bytearray()
            if rng is not None and here.is_file() and str(here.stat().st_ino) == inode:
                now = here.read_bytes()
                for at in range(0, len(now), 4096):
                    if now[at : at + 4096] != data[at : at + 4096] and rng.random() < 0.5:
                        data.extend(bytes(max(0, at + len(now[at : at + 4096]) - len(data))))
                        data[at : at + len(now[at : at + 4096])] = now[at : at + 4096]
            (to / name).write_bytes(data)

    if (shadow / f"d{store.parent.stat().st_ino}").exists():
        shutil.rmtree(to, ignore_errors=True)
        rebuild(store.parent, to)


def power(folder: Path, rng: random.Random, scale: float) -> str:
    """The power fails before a call; what was not synced is gone, or half of it is."""
    place, shadow, disk = folder / "place", folder / "shadow", folder / "disk"
    tried = reported_runs = 0
    total = calls_of(place, fresh=True)
    step = 1 if scale >= 1 else max(1, round(1 / scale))
    for torn in (False, True):
        for nth in range(1 + rng.randrange(step), total + 1, step):
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(shadow, ignore_errors=True)
            shutil.rmtree(disk, ignore_errors=True)
            (place / "root").mkdir(parents=True)
            shadow.mkdir()
            Reporting.log = folder / "reported"
            Reporting.log.unlink(missing_ok=True)
            store = place / "root" / "store"

            def work(nth: int = nth, store: Path = store) -> None:
                c = shim()
                c.shim_shadow(str(shadow).encode())
                c.shim_arm(str(store.parent).encode(), nth, 0)
                workload(store)

            ended = joined(child(work))
            if ended not in (0, 77):
                raise Wrong(f"call {nth}: ended with {ended}")
            tried += 1
            after_the_cut(shadow, store, disk, rng if torn else None)
            reported = set(lines(Reporting.log))
            where = f"power cut before call {nth} of {total}{', torn' if torn else ''}"
            try:
                with Store(disk / "store") as again:
                    lost = [key for key in reported if again.get(key) is None]
                    if lost or again.warnings:
                        raise Wrong(f"{where}: {len(lost)} of {len(reported)} reported runs lost; {again.warnings}")
                    run_study(study(4, series=True), store=again, jobs=1)
            except StoreError as error:
                raise Wrong(f"{where}: {error}") from None
            reported_runs += len(reported)
    return (
        f"{tried} power cuts, half of them with torn pages: 0 of {reported_runs} reported runs lost, 0 stores damaged"
    )


# --- result folders


def folders(folder: Path, rng: random.Random, scale: float) -> str:
    """Two processes write two studies into one folder, again and again, and are killed; then it is opened."""
    place = folder / "o"
    made = []
    for delay in (5, 9):
        of = scenario().set("links.bottleneck.delay", f"{delay} ms")
        table = run_study(Study.from_scenario(of, 20))
        made.append((saved.study_records(table), saved.study_head(table, of, place)))

    def work() -> None:
        while True:
            records, head = rng.choice(made)
            with saved.replacing(place):
                write_whole(place / saved.RECORDS, records)
                saved.seal(place, saved.STUDY, head, [saved.RECORDS])
            time.sleep(rng.uniform(0.0, 0.1))

    tries = max(20, int(300 * scale))
    seen: Counter[str] = Counter()
    for number in range(tries):
        alive = [child(work) for _ in range(2)]
        time.sleep(rng.uniform(0.01, 0.1))
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
            joined(pid)
        try:
            found = saved.open_(place)
        except EvenflowError:
            seen["refused"] += 1
            continue
        assert isinstance(found, Table)
        assert found.origin is not None
        if {run.json["scenario_hash"] for run in found} != {found.origin.scenario.hash}:
            raise Wrong(f"try {number}: head of one study, records of another")
        seen["whole"] += 1
    return f"{tries} pairs of writers killed: {seen['whole']} folders whole, {seen['refused']} refused, 0 mixed"


PARTS: dict[str, Callable[[Path, random.Random, float], str]] = {
    "share": share,
    "kills": kills,
    "engines": engines,
    "races": races,
    "flips": flips,
    "folders": folders,
    "io": io,
    "power": power,
}
NEED_SHIM = ("io", "power")


def with_shim(name: str, seed: int, scale: float) -> int:
    """Run a part in a process that has the shim."""
    with tempfile.TemporaryDirectory(prefix="evenflow-shim-") as folder:
        library = Path(folder) / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "shim.c", "-ldl"], check=True)
        command = [sys.executable, __file__, name, "--seed", str(seed), "--scale", str(scale)]
        return subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=struct.unpack("<H", os.urandom(2))[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the tries; 1: all")
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    failed = 0
    for name in given.parts:
        if name in NEED_SHIM and "LD_PRELOAD" not in os.environ:
            failed += with_shim(name, given.seed, given.scale) != 0
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="evenflow-torture-") as folder:
            try:
                said = PARTS[name](Path(folder), random.Random(f"{name}{given.seed}"), given.scale)
            except Wrong as error:
                failed += 1
                said = f"FAILED (--seed {given.seed} --scale {given.scale}): {error}"
        print(f"{name:7} {time.monotonic() - began:5.0f} s  {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
