"""Claims: published statements as predicates over a study, judged *holds*, *fails* or *undecided*.

The rule, for one comparison with confidence interval I and accepted set A = [lo, hi]: I inside A holds; I outside A
fails; otherwise it is undecided with fewer runs than the paper's, and the row says how many runs would decide it;
with the paper's number of runs the mean decides and the row is flagged *close*. A claim over many comparisons fails
if any fails, else is undecided if any is. Runs shorter than the paper's decide nothing.

*Literal* is the paper's own words and numbers. *Relaxed* is a second reading, where there is reason for one; both are
shown and the literal one is counted first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..stats import LEVEL, Interval, mean_interval, runs_needed

if TYPE_CHECKING:
    from ..run.study import Table
    from ..stats import Floats

Scale: TypeAlias = Literal["quick", "paper"]
Data: TypeAlias = "Mapping[str, Table]"
"""Finished experiments by id. A claim sees those it names in `experiments`."""


class Verdict(StrEnum):
    """What the runs say about a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


WORST_FIRST = {Verdict.FAILS: 0, Verdict.UNDECIDED: 1, Verdict.HOLDS: 2}


@dataclass(frozen=True)
class Check:
    """One comparison of a measured value with what is accepted.

    Attributes:
        label: where it was measured, in words a reader of the ledger understands ("50 ms, 20 flows").
        values: one value a seed, shape (n,); or a float that needs no sampling (an analytic result, an exact
            count); or a ready `Interval` (`stats.ratio_of_means`, `stats.difference`, `stats.median_interval`).
        lo, hi: the accepted set, closed; None = open on that side.
        unit: shown behind the measured value.
        parts: of a comparison that counts others (`kit.most`), these.
    """

    label: str
    values: Floats | Sequence[float] | float | Interval
    lo: float | None = None
    hi: float | None = None
    unit: str = ""
    parts: tuple[Check, ...] = ()

    def interval(self, level: float = LEVEL) -> Interval:
        """The confidence interval judged."""
        if isinstance(self.values, Interval):
            return self.values if level == LEVEL and self.values.again is None else self.values.at(level)
        if isinstance(self.values, (int, float)):
            return Interval.exact(float(self.values))
        return mean_interval(self.values, level)

    @property
    def accepted(self) -> str:
        """The accepted set in words: "≥ 0.99", "0.9 to 1.1"."""
        if self.lo is None and self.hi is None:
            return "anything"
        unit = f" {self.unit}" if self.unit else ""
        if self.lo is None:
            return f"≤ {number(self.hi)}{unit}"
        if self.hi is None:
            return f"≥ {number(self.lo)}{unit}"
        if self.lo == self.hi:
            return f"{number(self.lo)}{unit}"
        return f"{number(self.lo)} to {number(self.hi)}{unit}"


@dataclass(frozen=True)
class Outcome:
    """A check and what became of it."""

    check: Check
    interval: Interval
    verdict: Verdict
    close: bool = False
    runs_to_decide: int | None = None

    @property
    def measured(self) -> str:
        """ "1.08 [1.02, 1.14] Mbit/s", without the brackets where nothing was sampled."""
        i = self.interval
        unit = f" {self.check.unit}" if self.check.unit else ""
        if i.n == 0 and not math.isnan(i.mean):
            return f"{number(i.mean)}{unit}"
        if math.isnan(i.mean):
            return "undefined in every run"
        bounds = f" [{number(i.lo)}, {number(i.hi)}]" if math.isfinite(i.lo) and math.isfinite(i.hi) else ""
        return f"{number(i.mean)}{bounds}{unit}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for the ledger; a bound that is not finite becomes null."""
        i = self.interval
        return {
            "label": self.check.label,
            "mean": _finite(i.mean),
            "ci": [_finite(i.lo), _finite(i.hi)],
            "n": i.n,
            "accepted": [self.check.lo, self.check.hi],
            "unit": self.check.unit,
            "verdict": str(self.verdict),
            "close": self.close,
            "runs_to_decide": self.runs_to_decide,
        }


@dataclass(frozen=True)
class Judgement:
    """A claim's verdict with the numbers behind it.

    `close`: decided by a mean although the interval straddles an edge. `runs_to_decide`: of the undecided checks,
    the most expensive one's number; None if no number of runs is foreseeable.
    """

    verdict: Verdict
    measured: str
    expected: str
    why: str
    outcomes: tuple[Outcome, ...] = ()
    close: bool = False
    runs_to_decide: int | None = None

    @property
    def worst(self) -> Outcome | None:
        """The comparison that decided the verdict, or the first one."""
        return min(self.outcomes, key=lambda o: (WORST_FIRST[o.verdict], not o.close), default=None)


def number(value: float | None) -> str:
    """A number for the ledger: four digits, a proper minus sign."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return text.replace("-", "−")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def judge_one(check: Check, *, paper_runs: int, level: float = LEVEL, shortened: bool = False) -> Outcome:
    """The verdict rule for one comparison (module docstring)."""
    i = check.interval(level)
    lo = -math.inf if check.lo is None else check.lo
    hi = math.inf if check.hi is None else check.hi
    sampled = not (i.n == 0 and i.sd == 0.0)
    if math.isnan(i.mean):
        return Outcome(check, i, Verdict.UNDECIDED)
    if sampled and shortened:
        return Outcome(check, i, Verdict.UNDECIDED)
    # an open side accepts an infinite bound only if the interval is a real one: one run has no interval at all
    real = not sampled or math.isfinite(i.lo) or math.isfinite(i.hi)
    if real and lo <= i.lo and i.hi <= hi:
        return Outcome(check, i, Verdict.HOLDS)
    if real and (i.hi < lo or i.lo > hi):
        return Outcome(check, i, Verdict.FAILS)
    if sampled and i.n < min(2, paper_runs):
        return Outcome(check, i, Verdict.UNDECIDED)  # the others are undefined: one value has no interval to speak of
    if sampled and i.n + i.undefined < paper_runs:
        return Outcome(check, i, Verdict.UNDECIDED, runs_to_decide=runs_needed(i, check.lo, check.hi, level))
    return Outcome(check, i, Verdict.HOLDS if lo <= i.mean <= hi else Verdict.FAILS, close=sampled)


def judge(
    checks: Sequence[Check],
    *,
    scale: Scale,
    paper_runs: int,
    level: float = LEVEL,
    shortened: bool = False,
) -> Judgement:
    """Judge a claim over one or many comparisons.

    Args:
        checks: at least one; none gives *undecided*.
        scale: only worded into `why`: what counts is the number of runs.
        paper_runs: replications the paper used; with as many, the mean decides where the interval straddles an edge.
        level: the paper's confidence level, else 0.95.
        shortened: the runs lasted less than the paper's, so that nothing sampled is decided by them.
    """
    outcomes = tuple(judge_one(c, paper_runs=paper_runs, level=level, shortened=shortened) for c in checks)
    if not outcomes:
        return Judgement(Verdict.UNDECIDED, "nothing", "", "Nothing was compared.")
    order = sorted(outcomes, key=lambda o: (WORST_FIRST[o.verdict], not o.close))
    verdict = order[0].verdict
    needed = [o.runs_to_decide for o in outcomes if o.verdict is Verdict.UNDECIDED]
    runs = max((n for n in needed if n is not None), default=None) if None not in needed else None
    return Judgement(
        verdict=verdict,
        measured=_together([(o.check.label, o.measured) for o in order]),
        expected=_together(_distinct([(o.check.label, o.check.accepted) for o in order])),
        why=_why(order, scale=scale, runs=runs, shortened=shortened, paper_runs=paper_runs),
        outcomes=outcomes,
        close=any(o.close for o in outcomes),
        runs_to_decide=runs,
    )


def _together(parts: Sequence[tuple[str, str]], most: int = 3) -> str:
    """At most three comparisons, the deciding ones first, and how many more there are."""
    shown = [f"{label}: {text}" if label else text for label, text in parts[:most]]
    if len(parts) > most:
        shown.append(f"and {len(parts) - most} more")
    return "; ".join(shown)


def _distinct(parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """One accepted set said once, without a label, where all comparisons share it."""
    return [("", parts[0][1])] if len({text for _, text in parts}) == 1 else list(parts)


def _why(order: Sequence[Outcome], *, scale: Scale, runs: int | None, shortened: bool, paper_runs: int) -> str:
    verdict = order[0].verdict
    mine = [o for o in order if o.verdict is verdict]
    where = f" ({mine[0].check.label})" if mine[0].check.label else ""
    of = f"{len(mine)} of {len(order)} comparisons" if len(order) > 1 else "The comparison"
    if verdict is Verdict.HOLDS:
        return "Decided by the mean: an interval straddles the edge." if any(o.close for o in order) else ""
    if verdict is Verdict.FAILS:
        how = "by the mean, its interval straddles the edge" if mine[0].close else "its interval lies outside"
        return f"{of} outside what is accepted{where}: {how}."
    if shortened:
        return f"Runs at scale “{scale}” are shorter than the paper's and decide nothing."
    if math.isnan(mine[0].interval.mean):
        return f"Undefined in every run{where}."
    count = mine[0].interval.n
    need = f"about {runs} runs would decide it" if runs is not None else "no number of runs is foreseeable from so few"
    return f"{of} undecided with {count} run{'s' if count != 1 else ''}{where}: {need} (the paper used {paper_runs})."


@dataclass(frozen=True)
class Claim:
    """One published statement.

    Attributes:
        id: "abc-c49".
        source: where the paper says it: "Fig. 5a", "section IV-G4".
        statement: what is claimed, in our words.
        expected: the paper's number or relation, in words.
        tolerance: what is accepted around it, and by what right.
        experiments: ids of the experiments it is judged on; empty for an analytic claim.
        literal: the comparisons of the paper's own words and numbers.
        relaxed: those of a second reading, and `relaxed_reading`: what that reading is and why there is one.
        note: the investigation: text, or a function of the data and the literal judgement; used as `why` of a claim
            that does not hold, in front of what the verdict rule itself says.
        paper_runs: replications in the paper; None = the paper's default (`Paper.runs`).
        quote: the paper's own sentence.
        judged: the predicate in words.
        apart: why the claim is counted apart: "by-construction", "arithmetic" or "calibrated".
        absence: it says that something is absent, which fewer runs than the paper's never show.
        relaxed_of: what the second reading is of, if not a larger set for the same comparisons: "other runs" or
            "another quantity"; its verdict is then the better of the two.
    """

    id: str
    source: str
    statement: str
    expected: str
    tolerance: str
    experiments: tuple[str, ...]
    literal: Callable[[Data], Sequence[Check]]
    relaxed: Callable[[Data], Sequence[Check]] | None = None
    relaxed_reading: str | None = None
    note: Callable[[Data, Judgement], str] | str = ""
    paper_runs: int | None = None
    level: float = LEVEL
    quote: str = ""
    judged: str = ""
    apart: str | None = None
    absence: bool = False
    relaxed_of: str | None = None


Predicate: TypeAlias = Callable[[Data], Sequence[Check]]


@dataclass(frozen=True)
class Writer:
    """How a paper's claims are written down: one call each, so that nothing is left out.

    Attributes:
        key: of the paper; claim 7 is "abc-c07", experiment "fig04" is "abc-fig04".
        level: the paper's confidence level.
    """

    key: str
    level: float = LEVEL

    def __call__(
        self,
        number: int,
        source: str,
        statement: str,
        *,
        expected: str,
        tolerance: str,
        literal: Predicate,
        on: Sequence[str] = (),
        relaxed: Predicate | None = None,
        reading: str | None = None,
        note: Callable[[Data, Judgement], str] | str = "",
    ) -> Claim:
        """Claim `number`, judged on the experiments named in `on`.

        `reading` says what the relaxed reading is and why there is one; both or neither must be given.
        """
        if (relaxed is None) != (reading is None):
            raise ValueError(f"c{number:02d}: a relaxed reading needs both a predicate and an explanation")
        return Claim(
            id=f"{self.key}-c{number:02d}",
            source=source,
            statement=statement,
            expected=expected,
            tolerance=tolerance,
            experiments=tuple(f"{self.key}-{name}" for name in on),
            literal=literal,
            relaxed=relaxed,
            relaxed_reading=reading,
            note=note,
            level=self.level,
        )


@dataclass(frozen=True)
class Entry:
    """A judged claim: one row of the ledger."""

    claim: Claim
    literal: Judgement
    relaxed: Judgement | None = None
    broken: str = field(default="")
    """Not empty if the predicate itself failed: a defect of ours, reported and left undecided."""

    def to_json(self) -> dict[str, Any]:
        """The row as `reproduce --json` and `claims --json` give it."""
        row: dict[str, Any] = {
            "id": self.claim.id,
            "verdict": str(self.literal.verdict),
            "relaxed": str(self.relaxed.verdict) if self.relaxed else None,
            "measured": self.literal.measured,
            "expected": self.claim.expected,
            "tolerance": self.claim.tolerance,
            "source": self.claim.source,
            "why": self.literal.why,
            "statement": self.claim.statement,
            "experiments": list(self.claim.experiments),
            "close": self.literal.close,
            "runs_to_decide": self.literal.runs_to_decide,
            "relaxed_reading": self.claim.relaxed_reading,
            "relaxed_measured": self.relaxed.measured if self.relaxed else None,
            "checks": [o.to_json() for o in self.literal.outcomes],
            "relaxed_checks": [o.to_json() for o in self.relaxed.outcomes] if self.relaxed else None,
        }
        return row


def judge_claim(claim: Claim, data: Data, *, scale: Scale, paper_runs: int, shortened: bool = False) -> Entry:
    """Judge both readings of a claim.

    A predicate that raises is a defect of ours: the row becomes *undecided* and says so, the others are still judged.
    """
    runs = claim.paper_runs or paper_runs

    def verdict_of(predicate: Callable[[Data], Sequence[Check]]) -> Judgement:
        return judge(list(predicate(data)), scale=scale, paper_runs=runs, level=claim.level, shortened=shortened)

    try:
        literal = verdict_of(claim.literal)
        relaxed = verdict_of(claim.relaxed) if claim.relaxed is not None else None
        if relaxed is not None and claim.relaxed_of is not None:
            relaxed = better(literal, relaxed)
        if literal.verdict is not Verdict.HOLDS:
            note = claim.note(data, literal) if callable(claim.note) else claim.note
            literal = replace(literal, why=" ".join(part for part in (note.strip(), literal.why) if part))
        return Entry(claim, literal, relaxed)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        why = f"Could not be judged, a defect of Evenflow: {said}"
        return Entry(claim, Judgement(Verdict.UNDECIDED, "nothing", "", why), broken=said)


def better(one: Judgement, other: Judgement) -> Judgement:
    """The judgement that says more for the paper; the other one if they say the same."""
    return one if WORST_FIRST[one.verdict] > WORST_FIRST[other.verdict] else other


def worst_first(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ledger rows.

    False before undecided before true; within these, those that not even the relaxed reading saves first; else as
    given.
    """

    def rank(row: dict[str, Any]) -> tuple[int, int, int]:
        relaxed = row.get("relaxed") or row["verdict"]
        return WORST_FIRST[Verdict(row["verdict"])], WORST_FIRST[Verdict(relaxed)], 0 if row.get("close") else 1

    return sorted(rows, key=rank)


@dataclass(frozen=True)
class Counts:
    """How many claims hold, fail and are undecided, by the literal reading and by the wider one where there is one."""

    holds: int
    fails: int
    undecided: int
    relaxed_holds: int
    relaxed_fails: int
    relaxed_undecided: int
    close: int

    @property
    def total(self) -> int:
        """Claims judged."""
        return self.holds + self.fails + self.undecided


def count(rows: Sequence[Mapping[str, Any]]) -> Counts:
    """Count ledger rows. A claim without a relaxed reading counts with its literal verdict in both."""
    literal = [Verdict(row["verdict"]) for row in rows]
    relaxed = [Verdict(row.get("relaxed") or row["verdict"]) for row in rows]
    return Counts(
        holds=literal.count(Verdict.HOLDS),
        fails=literal.count(Verdict.FAILS),
        undecided=literal.count(Verdict.UNDECIDED),
        relaxed_holds=relaxed.count(Verdict.HOLDS),
        relaxed_fails=relaxed.count(Verdict.FAILS),
        relaxed_undecided=relaxed.count(Verdict.UNDECIDED),
        close=sum(1 for row in rows if row.get("close")),
    )
