"""Rates of a link from a file: `rate = { trace = "lte.down" }`.

Three formats, by the end of the name. `.csv`: a header `time_s,rate_bps` (or `time_ms`, `rate_kbps`, `rate_mbps`) and a
row for each change. `.json`: the list of `steps` of a scenario. Others: a trace of Mahimahi, an opportunity of 1504
bytes for each line, in ms. A scenario is read with the numbers in place of the name, so its hash does not depend on
files. `loop = true` repeats a CSV or JSON file; a Mahimahi trace is always repeated.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import paths
from .manifest import NotUnderstood, content, seconds

MOST_BYTES = 2**26
_KEYS = ("trace", "loop")
_TIMES_S = {"time_s": 1.0, "time_ms": 1e-3}
_RATES_BPS = {"rate_bps": 1.0, "rate_kbps": 1e3, "rate_mbps": 1e6}


def written_out(tree: Mapping[str, Any], source: str | None) -> tuple[Mapping[str, Any], list[tuple[paths.Path, str]]]:
    """A scenario's tree with the numbers of its traces in their place, and what is wrong with them.

    Names are relative to the scenario's file, or to the working folder where it has none. The tree itself stays.
    """
    errors: list[tuple[paths.Path, str]] = []
    found = list(_named(tree))
    if not found:
        return tree, errors
    tree = dict(tree)
    for path, rate in found:
        at: paths.Path = (*path, "trace")
        if unknown := [key for key in rate if key not in _KEYS]:
            errors += [((*path, key), f"is unknown here; a trace has {' and '.join(_KEYS)}.") for key in unknown]
        elif not isinstance(rate["trace"], str):
            errors.append((at, "the name of a file is needed."))
        elif not isinstance(rate.get("loop", False), bool):
            errors.append(((*path, "loop"), "true or false is needed."))
        else:
            file = (Path(source).parent if source else Path()) / rate["trace"]
            try:
                tree = paths.assigned(tree, path, _read(file, rate.get("loop"), seconds(tree.get("duration"))))
                continue
            except NotUnderstood as error:
                errors += [(at, f"{rate['trace']}: {reason}") for reason in error.reasons]
        tree = paths.assigned(tree, path, "1 Mbit/s")  # reported: the core finds the other errors
    return tree, errors


def _named(tree: Mapping[str, Any]) -> Iterator[tuple[paths.Path, Mapping[str, Any]]]:
    """Rates of links that name a file, and their paths."""
    links = tree.get("links")
    for name, link in links.items() if isinstance(links, Mapping) else ():
        for path, table in ((("links", name), link), (("links", name, "reverse"), _reverse(link))):
            rate = table.get("rate") if isinstance(table, Mapping) else None
            if isinstance(rate, Mapping) and "trace" in rate:
                yield (*path, "rate"), rate


def _reverse(link: Any) -> Any:
    return link.get("reverse") if isinstance(link, Mapping) else None


def _read(file: Path, loop: bool | None, duration_s: float | None) -> dict[str, Any]:
    """The rate of a file, as the core reads it.

    Raises:
        NotUnderstood: with the line.
    """
    try:
        text = content(file, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotUnderstood("is not a text file.") from None
    if file.suffix.lower() == ".json":
        steps = _json(text)
    elif file.suffix.lower() == ".csv":
        steps = _csv(text)
    elif loop is False:
        raise NotUnderstood("is a trace of Mahimahi, which is always repeated; remove loop.")
    else:
        return {"opportunities": _mahimahi(text)}
    return {"steps": _repeated(steps, duration_s) if loop else steps}


def _mahimahi(text: str) -> list[int]:
    """Delivery opportunities in ms."""
    found: list[int] = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.isascii() or not line.strip().isdigit():
            raise NotUnderstood(
                f'line {n} is "{line[:40]}", not a whole number of milliseconds. A trace of Mahimahi has one in each '
                "line; rates are in files that end in .csv or .json."
            )
        found.append(int(line))
        if len(found) > 1 and found[-1] < found[-2]:
            raise NotUnderstood(f"line {n} is earlier than the line before it.")
    if not found or not found[-1]:
        raise NotUnderstood("has no delivery opportunity later than 0 ms.")
    return found


def _csv(text: str) -> list[list[str]]:
    """Steps of a CSV file."""
    rows = csv.reader(text.splitlines())
    header = [name.strip().lower() for name in next(rows, [])]
    times = [(n, _TIMES_S[name]) for n, name in enumerate(header) if name in _TIMES_S]
    rates = [(n, _RATES_BPS[name]) for n, name in enumerate(header) if name in _RATES_BPS]
    if len(times) != 1 or len(rates) != 1:
        raise NotUnderstood(
            f"its first line must name one column of {', '.join(_TIMES_S)} and one of {', '.join(_RATES_BPS)}."
        )
    (time, second), (rate, bit) = times[0], rates[0]
    steps = []
    for row in rows:
        if not row:
            continue
        try:
            at, value = float(row[time]) * second, float(row[rate]) * bit
        except (ValueError, IndexError):
            raise NotUnderstood(f"line {rows.line_num} has no time and rate.") from None
        if not (math.isfinite(at) and math.isfinite(value) and at >= 0 and value >= 0):
            raise NotUnderstood(f"line {rows.line_num} has a negative or infinite number.")
        steps.append([f"{at!r} s", f"{value!r} bit/s"])
    return _checked(steps)


def _json(text: str) -> list[list[str]]:
    """Steps of a JSON file."""
    try:
        steps = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"is not JSON: {error}.") from None
    if not isinstance(steps, list) or not all(isinstance(step, list) and len(step) == 2 for step in steps):
        raise NotUnderstood('is not a list of steps: [["0 s", "10 Mbit/s"], …].')
    return _checked(steps)


def _checked(steps: list[list[str]]) -> list[list[str]]:
    """Steps whose times begin at zero and rise; the core checks the rates."""
    times = [seconds(at) for at, _ in steps]
    if not steps or times[0] != 0:
        raise NotUnderstood("its first rate must be at 0 s.")
    for n, (before, at) in enumerate(itertools.pairwise(times), 1):
        if at is None or before is None or at <= before:
            raise NotUnderstood(f"its times must rise: rate {n + 1} is not later than rate {n}.")
    return steps


def _repeated(steps: list[list[str]], duration_s: float | None) -> list[list[str]]:
    """Steps again and again until the end of the run; the last rate lasts as long as the one before it."""
    times = [seconds(at) or 0.0 for at, _ in steps]
    if len(steps) < 2:
        raise NotUnderstood("has one rate; remove loop.")
    period = 2 * times[-1] - times[-2]
    rounds = max(math.ceil((duration_s or 0.0) / period), 1)
    return [
        [f"{n * period + at!r} s", rate]
        for n in range(rounds)
        for at, (_, rate) in zip(times, steps, strict=True)
        if n == 0 or n * period + at < (duration_s or 0.0)
    ]
