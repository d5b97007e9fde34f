"""A paper's claims: `claims.toml` has the criteria, Python the measurements.

    claim = Claims("abc", __file__, words=WORDS)
    claim("c43", each("relative", "{f0}: queue with ABC over without", Q(scheme=ABC) / Q(scheme=NO_ABC)))

`claims.toml` has one table per claim: its place in the paper, the accepted range with its reason, and a note. A change
can be reviewed without programming. `build` checks file and code against each other, and reports all errors.
"""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from string import Formatter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..errors import EvenflowError, nearest
from ..stats import LEVEL, Interval
from .claims import Check, Claim, number
from .history import history
from .lab import extremum_difference, plain
from .values import Said, Shown, filled

if TYPE_CHECKING:
    from ..stats import Floats
    from .claims import Data, Judgement
    from .compare import Comparison
    from .lab import Vocabulary
    from .values import Named

__all__ = [
    "APART",
    "OF",
    "Accept",
    "Claims",
    "ClaimsError",
    "MostOf",
    "Set",
    "extremum",
    "history",
    "most",
]

Values: TypeAlias = "Floats | Sequence[float] | float | Interval"
Measure: TypeAlias = "Callable[..., Sequence[Check]]"
"""`(data, accept)`, or `(data, accept, options)` in a paper whose options change what is measured."""
Note: TypeAlias = "Callable[..., str]"
"""`(data, judgement)`, or `(data, judgement, options)`."""
M = TypeVar("M", bound=Callable[..., Any])

APART = ("by-construction", "arithmetic", "calibrated", "ours")
"""Reasons to exclude a claim: true by construction, arithmetic on printed numbers, or used for calibration. `ours`: no
sentence of the paper states it."""
OF = ("other runs", "another quantity")
"""Subjects of a lenient criterion that is not a larger set for the same comparisons."""

MOST_MISSES = 4
"""Points outside the accepted set that a note names."""
LEFT_OUT = "left out"
CLAIM = (
    *("source", "quote", "statement", "expected", "judged", "on"),
    *("apart", "runs", "absence", "undefined", "note", "note_of", "literal", "wider"),
)
LITERAL = ("tolerance", "accepted")
WIDER = ("reading", "accepted", "of")
SET = ("min", "max", "unit", "about", "share", "by")


class ClaimsError(EvenflowError, ValueError):
    """The two halves of a paper's claims do not fit; the message has everything that is wrong, a line each."""


@dataclass(frozen=True)
class Set:
    """An accepted set: closed, None = open on that side."""

    lo: float | None = None
    hi: float | None = None
    unit: str = ""

    def contains(self, other: Set) -> bool:
        """Whether every value of the other set is in this one, to within rounding of the decimals typed."""
        lo, hi = _bounds(self)
        other_lo, other_hi = _bounds(other)
        slack = 1e-12 * max((abs(x) for x in (lo, hi, other_lo, other_hi) if math.isfinite(x)), default=0.0)
        return lo <= other_lo + slack and other_hi <= hi + slack


def _bounds(it: Set) -> tuple[float, float]:
    return (-math.inf if it.lo is None else it.lo), (math.inf if it.hi is None else it.hi)


@dataclass(frozen=True)
class Accept:
    """The accepted sets of one reading of one claim, by name; called, it makes a comparison with one of them."""

    claim: str
    sets: Mapping[str, Set]
    left_out: bool = False
    """Runs in which a value is undefined are left out, as the claim says; otherwise they leave it undecided."""

    def __call__(self, name: str, label: str, values: Values, *, unit: str = "", times: float = 1.0) -> Check:
        """Compare `values` with the set `name`.

        Args:
            label: where it was measured, in words a reader understands ("50 ms, 20 flows").
            values: one a seed, shape (n,); or a float that needs no sampling; or an `Interval` of `stats`.
            unit: shown behind the value; the set's own if empty.
            times: the set is in multiples of this ("as many times as it has flows").
        """
        accepted = self.set(name)
        lo = None if accepted.lo is None else accepted.lo * times
        hi = None if accepted.hi is None else accepted.hi * times
        return Check(label, values, lo=lo, hi=hi, unit=unit or accepted.unit, left_out=self.left_out, of=name)

    def set(self, name: str) -> Set:
        """The set itself: the range of an `extremum`, say.

        Raises:
            ClaimsError: the claim has no such set; the message names the nearest.
        """
        if name not in self.sets:
            raise ClaimsError(f"{self.claim}: no accepted set is called “{name}”.{_meant(name, self.sets)}")
        return self.sets[name]


def _meant(name: str, known: Iterable[str]) -> str:
    guess = nearest(name, known)
    return f" Did you mean “{guess}”?" if guess else f" There are: {', '.join(known) or 'none'}."


# --- Forms of comparison --------------------------------------------------------------------------------------------


def extremum(
    accept: Accept, name: str, label: str, grid: Sequence[float], curve: Floats, *, lowest: bool = False, unit: str = ""
) -> Check:
    """That a curve is highest (or lowest) inside a range of x: the set `name` is the range.

    Compared are the best point inside and the best one outside, as a difference that must be positive. Both are chosen
    for each seed by the means of the other seeds, so that the choice does not favour the value tested.
    """
    it = accept.set(name)
    lo, hi = _bounds(it)
    values = extremum_difference(grid, curve, lo, hi, lowest=lowest)
    where = f"{plain(grid[0]) if it.lo is None else plain(lo)} to {plain(grid[-1]) if it.hi is None else plain(hi)}"
    what = "lowest" if lowest else "highest"
    difference = "outside − inside" if lowest else "inside − outside"
    return Check(f"{label}: {what} at {where}, {difference}", values, lo=0.0, unit=unit, left_out=accept.left_out)


def most(
    accept: Accept, name: str, label: str, points: Sequence[tuple[str, Values]], *, share: float, unit: str = ""
) -> Check:
    """Compare the share of points inside the set with a least share.

    With K points, k = ⌈share·K⌉ must lie inside. The comparison holds if k intervals lie inside at confidence
    1 − (1 − level)/(K − k + 1). It fails if K − k + 1 lie outside at 1 − (1 − level)/k. This is the partial conjunction
    test with Bonferroni's correction: Y. Benjamini and R. Heller, Biometrics 64, 2008, theorem 1. For k = K it is the
    rule of `judge`. It needs no independence of the points, which share their seeds.

    Args:
        share: of the points, in (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of the points lies in (0, 1], not {share!r}")
    inside = [accept(name, where, values, unit=unit) for where, values in points]
    return Check(label, MostOf(inside, share).interval(LEVEL), lo=share, parts=tuple(inside))


@dataclass(frozen=True)
class MostOf:
    """The share of comparisons that lie inside their sets, with an interval at any level (`most`).

    One that is undefined or infinite in a run is neither surely inside nor surely outside.
    """

    checks: Sequence[Check]
    share: float

    def interval(self, level: float) -> Interval:
        """The share of means inside. The bounds count points clearly inside, and points not clearly outside."""
        of = len(self.checks)
        if not of:
            return Interval(math.nan, -math.inf, math.inf, 0, math.nan)
        k = max(1, math.ceil(self.share * of - 1e-9))
        surely = [c.interval(1 - (1 - level) / (of - k + 1)) for c in self.checks]
        surely_not = [c.interval(1 - (1 - level) / k) for c in self.checks]
        known = [
            math.isfinite(i.mean) and (c.left_out or not i.undefined) for c, i in zip(self.checks, surely, strict=True)
        ]
        inside = sum(
            k and _lo(c) <= i.lo and i.hi <= _hi(c) for k, c, i in zip(known, self.checks, surely, strict=True)
        )
        outside = sum(
            k and (i.hi < _lo(c) or i.lo > _hi(c)) for k, c, i in zip(known, self.checks, surely_not, strict=True)
        )
        mean = sum(k and _lo(c) <= i.mean <= _hi(c) for k, c, i in zip(known, self.checks, surely, strict=True))
        sampled = [i for i in surely if not (i.n == 0 and i.sd == 0.0)]
        n = min((i.n + i.undefined for i in sampled), default=0)
        sd = math.nan if sampled else 0.0
        return Interval(mean / of, inside / of, 1 - outside / of, n, sd, again=self.interval)


def _lo(check: Check) -> float:
    return -math.inf if check.lo is None else check.lo


def _hi(check: Check) -> float:
    return math.inf if check.hi is None else check.hi


# --- Claims as data -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claims:
    """The claims of one `claims.toml`, and the functions that measure them.

    Attributes:
        key: of the paper; claim `c46` is "abc-c46", the experiment `fig04` is "abc-fig04".
        where: the folder of `claims.toml`, or a file in it (`__file__`).
        level: the paper's confidence level.
        words: the paper's labels in words.
    """

    key: str
    where: str | Path
    level: float = LEVEL
    words: Vocabulary = field(default_factory=dict, repr=False)
    _compared: dict[tuple[str, str], tuple[Comparison, ...]] = field(default_factory=dict, repr=False)
    _said: dict[str, Mapping[str, Named]] = field(default_factory=dict, repr=False)
    _measures: dict[tuple[str, str], Measure] = field(default_factory=dict, repr=False)
    _notes: dict[str, Note] = field(default_factory=dict, repr=False)
    _beside: dict[str, Note] = field(default_factory=dict, repr=False)
    _twice: list[str] = field(default_factory=list, repr=False)

    @property
    def file(self) -> Path:
        """`claims.toml`."""
        where = Path(self.where)
        return (where if where.is_dir() else where.parent) / "claims.toml"

    def __call__(self, name: str, /, *comparisons: Comparison, **values: Named) -> None:
        """Set a claim's comparisons, and the measured values in its note.

        Args:
            name: "c46".
            comparisons: of the strict criterion, and of the lenient one if it has no others.
            values: by their names in the note.
        """
        self._compare(name, "literal", comparisons)
        self._said[name] = values

    def wider(self, name: str, /, *comparisons: Comparison) -> None:
        """Set the comparisons of a lenient criterion, if they differ."""
        self._compare(name, "wider", comparisons)

    def _compare(self, name: str, reading: str, comparisons: tuple[Comparison, ...]) -> None:
        if comparisons and (name, reading) in self._compared:
            self._twice.append(f"{name}: its {reading} reading is measured twice.")
        if comparisons:
            self._compared[name, reading] = comparisons

    def said(self, name: str) -> Mapping[str, Named]:
        """The measured values in a note."""
        return self._said.get(name, {})

    def measure(self, *ids: str, reading: str = "literal") -> Callable[[M], M]:
        """Decorator: this function measures these claims.

        Without a separate function the lenient criterion uses the strict one's measurement with its own sets.

        Args:
            ids: "c46", or several that differ only in the accepted sets.
            reading: "literal" or "wider".
        """

        def keep(function: M) -> M:
            for name in ids:
                if (name, reading) in self._measures:
                    self._twice.append(f"{name}: its {reading} reading is measured twice.")
                if reading not in ("literal", "wider"):
                    self._twice.append(f"{name}: a reading is “literal” or “wider”, not “{reading}”.")
                self._measures[name, reading] = function
            return function

        return keep

    def note(self, *ids: str, beside: bool = False) -> Callable[[M], M]:
        """Decorator: this function writes the note of these claims, from the data shown.

        Args:
            ids: "c46", or several.
            beside: not why a claim does not hold, but what is published beside its verdict whatever that is; a claim
                may have both.
        """
        notes, what = (self._beside, "two notes beside its verdict") if beside else (self._notes, "two notes")

        def keep(function: M) -> M:
            for name in ids:
                if name in notes:
                    self._twice.append(f"{name}: it has {what}.")
                notes[name] = function
            return function

        return keep

    def build(self, options: Any = None) -> tuple[Claim, ...]:
        """Every claim, in the order of the file, once all modules that measure are imported.

        Args:
            options: handed to measures and notes that take a third argument.

        Raises:
            ClaimsError: file and code do not fit each other.
        """
        tables, bad, wrong = _read(self.file)
        wrong += self._twice
        for name, reading in (*self._measures, *self._compared):
            if name in bad:
                continue
            if name not in tables:
                wrong.append(f"{name}: it is measured, but {self.file.name} has no such claim.{_meant(name, tables)}")
            elif reading == "wider" and "wider" not in tables[name]:
                wrong.append(f"{name}: a lenient criterion is measured, but there is no [{name}.wider].")
        wrong += [
            f"{name}: it has a note, but {self.file.name} has no such claim.{_meant(name, tables)}"
            for name in dict.fromkeys((*self._notes, *self._beside))
            if name not in tables and name not in bad
        ]
        built = []
        for name, table in tables.items():
            found, problems = self._claim(name, table, options)
            wrong += problems
            if found is not None:
                built.append(found)
        if wrong:
            raise ClaimsError(f"{self.file}:\n" + "\n".join(f"  {line}" for line in dict.fromkeys(wrong)))
        return tuple(built)

    def _claim(self, name: str, table: Mapping[str, Any], options: Any) -> tuple[Claim | None, list[str]]:
        wrong: list[str] = []
        measure = self._measured(name, "literal", table)
        if measure is None:
            wrong.append(f"{name}: nothing measures it.")
        literal, wider = table.get("literal", {}), table.get("wider")
        sets = _sets(f"{name}.literal", literal.get("accepted", {}), wrong)
        strings = _strings(measure) if measure is not None else set()
        compared = [n for it in self._compared.get((name, "literal"), ()) for n in (it.name, *it.needs)]
        wrong += [
            f"{name}.literal: nothing is compared with the set “{s}”."
            for s in sets
            if not (_named(s, strings) if not compared else any(_may_be(template, s) for template in compared))
        ]
        wrong += [
            f"{name}: no accepted set is called “{it}”.{_meant(it, sets)}"
            for it in compared
            if not any(_may_be(it, accepted) for accepted in sets)
        ]
        known = (*self.said(table.get("note_of", name)), *sets, *OF_EVERY_NOTE)
        wrong += [
            f"{name}.note: there is no value “{field}”.{_meant(field, known)}"
            for field in _fields(table.get("note", ()))
            if field not in known and name not in self._notes
        ]
        wider_sets: dict[str, Set] | None = None
        other = self._measured(name, "wider", table)
        if wider is not None:
            wider_sets, more = _wider(name, sets, wider, other)
            wrong += more
        if wrong or measure is None:
            return None, wrong
        left_out = "undefined" in table
        relaxed = None
        if wider_sets is not None:
            relaxed = _bound(other or measure, Accept(name, wider_sets, left_out), options)
        note, beside = self._notes.get(name), self._beside.get(name)
        text = table.get("note", "")
        if note is None and any(_fields(text)):
            note = self._templated(name, table)
        return Claim(
            id=f"{self.key}-{name}",
            source=table["source"],
            statement=table["statement"],
            expected=table["expected"],
            tolerance=literal["tolerance"],
            experiments=tuple(f"{self.key}-{it}" for it in table.get("on", ())),
            literal=_bound(measure, Accept(name, sets, left_out), options),
            relaxed=relaxed,
            relaxed_reading=wider["reading"] if wider is not None else None,
            relaxed_of=wider.get("of") if wider is not None else None,
            note=_with_options(note, options)
            if note is not None
            else text
            if isinstance(text, str)
            else " ".join(text),
            beside=_with_options(beside, options) if beside is not None else "",
            paper_runs=table.get("runs"),
            level=self.level,
            quote=table.get("quote", ""),
            judged=table["judged"],
            apart=table.get("apart"),
            absence=table.get("absence", False),
        ), []

    def _measured(self, name: str, reading: str, table: Mapping[str, Any]) -> Measure | None:
        comparisons = self._compared.get((name, reading))
        if comparisons is None:
            return self._measures.get((name, reading))
        first = (table.get("on") or [""])[0]

        def measure(data: Data, accept: Accept, options: Any) -> list[Check]:
            shown = Shown(self.key, data, first, options)
            return [check for it in comparisons for check in it.checks(shown, accept, self.words)]

        return measure

    def _templated(self, name: str, table: Mapping[str, Any]) -> Note:
        """A claim's note from its template: a sentence whose values are not there is left out."""
        parts = [table["note"]] if isinstance(table["note"], str) else table["note"]
        first, values = (table.get("on") or [""])[0], self.said(table.get("note_of", name))

        def note(data: Data, judged: Judgement, options: Any) -> str:
            return filled(parts, values, Shown(self.key, data, first, options), self.words, _of_judgement(judged))

        return note


OF_EVERY_NOTE = ("means", "points", "missed", "misses")


def _fields(note: str | Sequence[str]) -> Iterator[str]:
    """The names of the values that a note quotes."""
    for part in [note] if isinstance(note, str) else note:
        yield from (name for _, name, _, _ in Formatter().parse(part) if name)


def _of_judgement(judged: Judgement) -> dict[str, Any]:
    """Values for every note: `points`, `missed`, `misses`, `means`, and the means by accepted set."""
    missed = [o for o in judged.outcomes if not o.mean_inside]
    shown = "; ".join(f"{o.check.label} {number(o.interval.mean)}" for o in missed[:MOST_MISSES])
    more = f"; and {len(missed) - MOST_MISSES} more" if len(missed) > MOST_MISSES else ""
    means: dict[str, list[float]] = {}
    for o in judged.outcomes:
        means.setdefault(o.check.of, []).append(o.interval.mean)
    return {
        **{name: Said(found) for name, found in means.items()},
        "means": Said([o.interval.mean for o in judged.outcomes]),
        "points": len(judged.outcomes),
        "missed": len(missed),
        "misses": shown + more,
    }


def _may_be(template: str, name: str) -> bool:
    """Whether a template of labels may be this name of a set."""
    parts = (re.escape(part) for part in re.split(r"\{[^}]*\}", template))
    return re.fullmatch(".+".join(parts), name) is not None


def _bound(measure: Measure, accept: Accept, options: Any) -> Callable[[Data], Sequence[Check]]:
    measured = _with_options(measure, options)

    def predicate(data: Data) -> Sequence[Check]:
        return list(measured(data, accept))

    return predicate


def _with_options(function: Callable[..., Any], options: Any) -> Callable[..., Any]:
    asked = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return (lambda data, second: function(data, second, options)) if len(asked) > 2 else function


def _wider(
    name: str, literal: Mapping[str, Set], table: Mapping[str, Any], other: Measure | None
) -> tuple[dict[str, Set], list[str]]:
    """The lenient criterion's sets; missing ones are the strict criterion's."""
    wrong: list[str] = []
    own = _sets(f"{name}.wider", table.get("accepted", {}), wrong)
    if "of" in table:
        if other is None:
            wrong.append(f'{name}.wider: of = “{table["of"]}” needs a function that measures it (reading="wider").')
        return ({**literal, **own} if own else dict(literal)), wrong
    if other is not None:
        wrong.append(f"{name}.wider: a separate function measures it, so `of` is needed: {' or '.join(OF)}.")
    if not own and not wrong:
        wrong.append(f"{name}.wider: equal to the strict criterion.")
    for it, accepted in own.items():
        if it not in literal:
            wrong.append(f"{name}.wider: the strict criterion has no set “{it}”.{_meant(it, literal)}")
        elif not accepted.contains(literal[it]):
            wrong.append(f"{name}.wider: the set “{it}” does not contain the strict one.")
    return {**literal, **own}, wrong


def _read(file: Path) -> tuple[dict[str, dict[str, Any]], set[str], list[str]]:
    """The tables that can be used, the names of those that cannot, and what is wrong with them."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ClaimsError(f"{file} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise ClaimsError(f"{file}: {error}") from None
    wrong: list[str] = []
    good: dict[str, dict[str, Any]] = {}
    bad: set[str] = set()
    for name, table in document.items():
        if not isinstance(table, dict):
            wrong.append(f"{name}: a claim is a table: [{name}].")
            bad.add(name)
            continue
        before = len(wrong)
        _keys(name, table, CLAIM, ("source", "statement", "expected", "judged", "literal"), wrong)
        for part, known, needed in (("literal", LITERAL, LITERAL), ("wider", WIDER, ("reading",))):
            if part not in table:
                continue
            if isinstance(table[part], dict):
                _keys(f"{name}.{part}", table[part], known, needed, wrong)
                if not isinstance(table[part].get("accepted", {}), dict):
                    wrong.append(f"{name}.{part}.accepted: named sets, such as {{ elsewhere = {{ min = 0 }} }}.")
            else:
                wrong.append(f"{name}.{part}: a table, [{name}.{part}].")
        _types(name, table, wrong)
        if len(wrong) == before:
            good[name] = table
        else:
            bad.add(name)
    for name, table in good.items():
        other = good.get(table.get("note_of", name), {})
        if "note_of" in table and ("note" in table or "note" not in other):
            wrong.append(f"{name}.note_of: another claim with a note, and no note here.")
        elif "note_of" in table:
            table["note"] = other["note"]
    return good, bad, wrong


def _keys(where: str, table: Mapping[str, Any], known: Sequence[str], needed: Sequence[str], wrong: list[str]) -> None:
    wrong += [f"{where}: {key} is not a key.{_meant(key, known)}" for key in table if key not in known]
    wrong += [f"{where}: {key} is missing." for key in needed if key not in table]


def _types(name: str, table: Mapping[str, Any], wrong: list[str]) -> None:
    texts = ("source", "quote", "statement", "expected", "judged")
    wrong += [
        f"{name}.{key}: a text, and not an empty one." for key in texts if key in table and not _is_text(table[key])
    ]
    on = table.get("on", [])
    if not (isinstance(on, list) and all(isinstance(it, str) for it in on)):
        wrong.append(f'{name}.on: a list of experiments, such as ["fig04"].')
    if "apart" in table and table["apart"] not in APART:
        wrong.append(f"{name}.apart: one of {', '.join(APART)}, not {table['apart']!r}.")
    if "runs" in table and not (type(table["runs"]) is int and table["runs"] > 0):
        wrong.append(f"{name}.runs: a number of runs, not {table['runs']!r}.")
    note = table.get("note", "-")
    if not (_is_text(note) or (isinstance(note, list) and note and all(map(_is_text, note)))):
        wrong.append(f"{name}.note: a text, or a list of sentences.")
    if table.get("undefined", LEFT_OUT) != LEFT_OUT:
        wrong.append(f"{name}.undefined: “{LEFT_OUT}”, or nothing; not {table['undefined']!r}.")
    if not isinstance(table.get("absence", False), bool):
        wrong.append(f"{name}.absence: true or false, not {table['absence']!r}.")
    for part, key in (("literal", "tolerance"), ("wider", "reading")):
        inside = table.get(part)
        if isinstance(inside, dict) and key in inside and not _is_text(inside[key]):
            wrong.append(f"{name}.{part}.{key}: a text, and not an empty one.")
    wider = table.get("wider")
    if isinstance(wider, dict) and "of" in wider and wider["of"] not in OF:
        wrong.append(f"{name}.wider.of: {' or '.join(OF)}, not {wider['of']!r}.")


def _sets(where: str, tables: Mapping[str, Any], wrong: list[str]) -> dict[str, Set]:
    found = {}
    for name, it in tables.items():
        try:
            found[name] = _set(it)
        except ValueError as error:
            wrong.append(f"{where}.accepted.{name}: {error}")
    return found


def _set(it: Any) -> Set:
    """A set as typed: a number (exactly that), bounds, or a value and how far from it.

    `{ min, max }`; `{ about, share }`, with share = 0.15 for ± 15 %; `{ about, by }`. A unit where useful.
    """
    if _is_number(it):
        return Set(float(it), float(it))
    if not isinstance(it, dict):
        raise ValueError(f"a number, or a table with {', '.join(SET)}; not {it!r}.")
    wrong: list[str] = []
    _keys("", it, SET, (), wrong)
    if wrong:
        raise ValueError(" ".join(line.removeprefix(": ") for line in wrong))
    bad = [key for key in it if key != "unit" and not _is_number(it[key])]
    if bad:
        raise ValueError(f"{bad[0]} is a number, not {it[bad[0]]!r}.")
    unit = it.get("unit", "")
    if not isinstance(unit, str):
        raise ValueError(f"unit is a text, not {unit!r}.")
    if "about" in it:
        if ("share" in it) == ("by" in it) or "min" in it or "max" in it:
            raise ValueError("about goes with share (0.15 for ± 15 %) or with by, and with nothing else.")
        half = abs(it["about"]) * it["share"] if "share" in it else it["by"]
        if half < 0:
            raise ValueError("a distance is not negative.")
        return Set(it["about"] - half, it["about"] + half, unit)
    if "share" in it or "by" in it:
        raise ValueError("share and by go with about.")
    if "min" not in it and "max" not in it:
        raise ValueError("min or max or both; a set that accepts anything decides nothing.")
    lo, hi = it.get("min"), it.get("max")
    if lo is not None and hi is not None and lo > hi:
        raise ValueError(f"min = {lo} is above max = {hi}.")
    return Set(None if lo is None else float(lo), None if hi is None else float(hi), unit)


def _is_text(it: Any) -> bool:
    return isinstance(it, str) and bool(it.strip())


def _is_number(it: Any) -> bool:
    return isinstance(it, (int, float)) and not isinstance(it, bool) and math.isfinite(it)


# --- Which sets a function names ------------------------------------------------------------------------------------


def _named(name: str, strings: set[str]) -> bool:
    """Whether a function that has these string constants can ask for the set.

    It says the name, or puts it together from a beginning or an end that it says.
    """
    pieces = [s for s in strings if len(s.strip()) > 1]
    return name in strings or any(name.startswith(s) or name.endswith(s) for s in pieces)


def _strings(function: Callable[..., Any]) -> set[str]:
    """The string constants of a function, of what it is given, and of the functions of its package that it uses."""
    return set(_walk(function, set()))


def _walk(it: Any, seen: set[int]) -> Iterator[str]:
    if id(it) in seen:
        return
    seen.add(id(it))
    if isinstance(it, str):
        yield it
    elif isinstance(it, partial):
        for part in (it.func, it.args, it.keywords):
            yield from _walk(part, seen)
    elif isinstance(it, Mapping):
        for part in (*it.keys(), *it.values()):
            yield from _walk(part, seen)
    elif isinstance(it, (tuple, list, set, frozenset)):
        for part in it:
            yield from _walk(part, seen)
    elif isinstance(it, CodeType):
        yield from _walk(it.co_consts, seen)
    elif isinstance(it, FunctionType):
        yield from _walk(it.__code__, seen)
        yield from _walk((it.__defaults__ or (), it.__kwdefaults__ or {}), seen)
        for cell in it.__closure__ or ():
            yield from _walk(cell.cell_contents, seen)
        for name in _names(it.__code__):
            used = it.__globals__.get(name)
            same = _package(getattr(used, "__module__", None)) == _package(it.__module__)
            if isinstance(used, (str, tuple, list, set, frozenset, dict)) or same:
                yield from _walk(used, seen)


def _package(module: str | None) -> str:
    """The top-level package of a module."""
    return (module or "").partition(".")[0]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)
