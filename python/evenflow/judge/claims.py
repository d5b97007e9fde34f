"""Claims: published statements as predicates over a study, judged *holds*, *fails* or *undecided*.

Screens write supported, not supported and inconclusive. A claim has one or many comparisons. Each has a confidence
interval and an accepted set [lo, hi].

- It holds if every interval lies inside at the claim's level.
- It fails if one lies outside at confidence 1 − (1 − level)/m, with m sampled comparisons.
- Otherwise it is undecided with fewer runs than the paper's. The row has the number of runs that would decide it.
- With as many runs the means decide (`by_mean`): it holds if all lie inside. If one lies outside, a single comparison
  fails. Several stay undecided, because the largest of many means often falls outside by chance.

Undefined or infinite values leave a comparison undecided. Runs shorter than the paper's decide nothing. Fewer runs than
the paper's cannot show an absence, a count over all runs, or a claim on a larger grid. They also cannot decide where
the shipped runs have several modes.

*Literal* is the strict criterion, from the paper's own words and numbers. *Relaxed* is the lenient one, where a reason
is given. With several modes, the mean decides the strict criterion and the median may decide the lenient one.
The page docs/verdicts.md has the reasons, and the rule's error rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..stats import LEVEL, Interval, Mode, mean_interval, median_interval, modes, runs_needed

if TYPE_CHECKING:
    from ..run.study import Table
    from ..stats import Floats

Scale: TypeAlias = Literal["quick", "paper"]
Data: TypeAlias = "Mapping[str, Table]"
"""Finished experiments by id. A claim sees those it names in `experiments`."""


class Verdict(StrEnum):
    """The result for a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


IN_WORDS = {"holds": "supported", "fails": "not supported", "undecided": "inconclusive"}
"""Verdicts as screens and reports write them; JSON keeps the keys."""

WORST_FIRST = {Verdict.FAILS: 0, Verdict.UNDECIDED: 1, Verdict.HOLDS: 2}


@dataclass(frozen=True)
class Check:
    """One comparison of a measured value with what is accepted.

    Attributes:
        label: the point in words ("50 ms, 20 flows").
        values: one value a seed, shape (n,); or an exact float (an analytic result, a count). Or a ready `Interval`
            (`stats.ratio_of_means`, `stats.difference`, `stats.median_interval`).
        lo, hi: the accepted set, closed; None = open on that side.
        unit: shown behind the measured value.
        parts: of a comparison that counts others (`kit.most`), these.
        left_out: ignore runs with undefined values, if the claim allows it. Otherwise they leave it undecided.
        of: the name of the accepted set, where the claim has several.
    """

    label: str
    values: Floats | Sequence[float] | float | Interval
    lo: float | None = None
    hi: float | None = None
    unit: str = ""
    parts: tuple[Check, ...] = ()
    left_out: bool = False
    of: str = ""

    @property
    def runs(self) -> Floats | None:
        """The value of each run, where there is one."""
        import numpy as np

        if isinstance(self.values, Interval):
            return self.values.runs
        if isinstance(self.values, (int, float)):
            return None
        return np.asarray(self.values, dtype=np.float64).ravel()

    def by_median(self) -> Check:
        """The same comparison of the median instead of the mean; itself where it has no values by run."""
        runs = self.runs
        return self if runs is None else replace(self, values=median_interval(runs))

    def interval(self, level: float = LEVEL) -> Interval:
        """The confidence interval judged."""
        if isinstance(self.values, Interval):
            return self.values.at(level)
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
    """A check and what became of it.

    `interval` is at the claim's level, `to_fail` at the confidence at which one of its comparisons fails the claim.
    `close`: neither wholly inside nor outside, with as many runs as the paper's. `modes`: what the runs fall into.
    `open`: why nothing can be said, whatever the interval: undefined, infinite, bistable in fewer runs.
    """

    check: Check
    interval: Interval
    verdict: Verdict
    close: bool = False
    runs_to_decide: int | None = None
    to_fail: Interval | None = None
    modes: tuple[Mode, ...] = ()
    open: str = ""

    @property
    def mean_inside(self) -> bool:
        """Whether the mean lies in the accepted set."""
        return _lo(self.check) <= self.interval.mean <= _hi(self.check)

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

    @property
    def bistable(self) -> str:
        """The modes in words: "0.64 in 5 of 10 runs, 1.56 in 5"; empty for a single mode."""
        if not self.modes:
            return ""
        unit = f" {self.check.unit}" if self.check.unit else ""
        first, *others = self.modes
        said = [f"{number(first.value)}{unit} in {first.runs} of {first.of} runs"]
        return ", ".join([*said, *(f"{number(m.value)}{unit} in {m.runs}" for m in others)])

    def to_json(self) -> dict[str, Any]:
        """Plain data for the ledger; a bound that is not finite becomes null."""
        i, wide = self.interval, self.to_fail or self.interval
        return {
            "label": self.check.label,
            "mean": _finite(i.mean),
            "ci": [_finite(i.lo), _finite(i.hi)],
            "ci_to_fail": [_finite(wide.lo), _finite(wide.hi)],
            "n": i.n,
            "undefined": i.undefined,
            "accepted": [self.check.lo, self.check.hi],
            "unit": self.check.unit,
            "verdict": str(self.verdict),
            "close": self.close,
            "runs_to_decide": self.runs_to_decide,
            "modes": [{"value": _finite(m.value), "runs": m.runs, "share": m.share} for m in self.modes],
            "open": self.open,
        }


@dataclass(frozen=True)
class Judgement:
    """A claim's verdict with the numbers behind it.

    `by_mean`: holds or fails by its means, although an interval straddles an edge. `close`: one does. `runs_to_decide`:
    of the undecided checks, the most expensive one's number; None if no number of runs is foreseeable.
    """

    verdict: Verdict
    measured: str
    expected: str
    why: str
    outcomes: tuple[Outcome, ...] = ()
    close: bool = False
    runs_to_decide: int | None = None
    by_mean: bool = False

    @property
    def worst(self) -> Outcome | None:
        """The comparison that decided the verdict, or the first one."""
        return min(self.outcomes, key=_worst, default=None)


def _worst(o: Outcome) -> tuple[int, int, int]:
    """Clearly outside, by the mean, undecided with the mean outside, what cannot be said, inside: in this order."""
    astray = o.verdict is Verdict.UNDECIDED and not o.open and not o.mean_inside
    return WORST_FIRST[o.verdict], int(o.close) if o.verdict is Verdict.FAILS else int(not astray), int(not o.close)


def _lo(check: Check) -> float:
    return -math.inf if check.lo is None else check.lo


def _hi(check: Check) -> float:
    return math.inf if check.hi is None else check.hi


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


@dataclass(frozen=True)
class Circumstances:
    """Circumstances of a claim, apart from its numbers.

    Attributes:
        scale: for the text of `why`; the number of runs decides.
        paper_runs: the paper's replications; with as many, the means decide if an interval includes a limit.
        level: the paper's confidence level, else 0.95.
        shortened: the runs are shorter than the paper's and decide no sampled comparison.
        thinner: the runs cover part of the claim's grid, so it cannot hold.
        fewer: there are fewer runs than the paper's, even if no comparison shows it. A count over all runs cannot hold.
        absence: the claim states an absence.
        bistable: labels of comparisons with several modes in the shipped results.
    """

    scale: Scale
    paper_runs: int
    level: float = LEVEL
    shortened: bool = False
    thinner: bool = False
    fewer: bool = False
    absence: bool = False
    bistable: Collection[str] = ()


def _outcome(check: Check, at: Circumstances, m: int) -> Outcome:
    """One comparison of a claim with `m` sampled ones."""
    i = check.interval(at.level)
    sampled = _sampled(i)
    wide = check.interval(1 - (1 - at.level) / m) if sampled and m > 1 else i
    lo, hi = _lo(check), _hi(check)
    few = sampled and i.n + (0 if check.left_out else i.undefined) < at.paper_runs
    runs = check.runs
    found = modes(runs) if runs is not None else ()
    made = Outcome(check, i, Verdict.UNDECIDED, to_fail=wide, modes=found, open=_open(check, i, few, at))
    if made.open:
        return made
    # an open side accepts an infinite bound only if the interval is a real one: one run has no interval at all
    real = not sampled or math.isfinite(i.lo) or math.isfinite(i.hi)
    if real and lo <= i.lo and i.hi <= hi:
        return replace(made, verdict=Verdict.HOLDS)
    if real and (wide.hi < lo or wide.lo > hi):
        return replace(made, verdict=Verdict.FAILS)
    inside = made.mean_inside
    needed = runs_needed(i, check.lo, check.hi, at.level if inside else 1 - (1 - at.level) / max(m, 1))
    if few:
        return replace(made, runs_to_decide=needed)
    if inside:
        return replace(made, verdict=Verdict.HOLDS, close=True)
    single = m == 1 and len(check.parts) < 2
    return replace(
        made,
        verdict=Verdict.FAILS if single else Verdict.UNDECIDED,
        close=True,
        runs_to_decide=None if single else needed,
    )


def _sampled(i: Interval) -> bool:
    return not (i.n == 0 and i.sd == 0.0)


def _open(check: Check, i: Interval, few: bool, at: Circumstances) -> str:
    """Why nothing can be said whatever the interval; empty if something can."""
    of = i.n + i.undefined
    if not _sampled(i):
        return "undefined" if math.isnan(i.mean) else ""
    if i.n == 0:
        return "undefined in every run" if of else "no runs"
    if i.undefined and not check.left_out:
        return f"undefined in {i.undefined} of {of} runs"
    if not math.isfinite(i.mean):
        return "infinite in a run"
    if at.shortened:
        return f"runs at scale “{at.scale}” are shorter than the paper's, so they cannot decide"
    if few and check.label in at.bistable:
        return "the shipped results have several modes, so it takes the paper's number of runs"
    if i.n < min(2, at.paper_runs):
        return "one run has no interval"
    return ""


def judge_one(check: Check, *, paper_runs: int, level: float = LEVEL, shortened: bool = False) -> Outcome:
    """The verdict rule for a claim of one comparison (module docstring)."""
    return _outcome(check, Circumstances("paper", paper_runs, level, shortened), 1)


def judge(
    checks: Sequence[Check],
    *,
    scale: Scale,
    paper_runs: int,
    level: float = LEVEL,
    shortened: bool = False,
    thinner: bool = False,
    fewer: bool = False,
    absence: bool = False,
    bistable: Collection[str] = (),
) -> Judgement:
    """Judge a claim over one or many comparisons.

    Args:
        checks: at least one; none gives *undecided*.
        scale, paper_runs, level, shortened, thinner, fewer, absence, bistable: see `Circumstances`.
    """
    at = Circumstances(scale, paper_runs, level, shortened, thinner, fewer, absence, bistable)
    m = sum(_sampled(check.interval(level)) for check in checks)
    outcomes = tuple(_outcome(check, at, m) for check in checks)
    if not outcomes:
        return Judgement(Verdict.UNDECIDED, "nothing", "", "Nothing was compared.")
    order = sorted(outcomes, key=_worst)
    clear = [o for o in outcomes if o.verdict is Verdict.FAILS and not o.close]
    verdict, by_mean, guard = order[0].verdict, False, ""
    if not clear and verdict is not Verdict.UNDECIDED:
        by_mean = any(o.close for o in outcomes)
    if verdict is Verdict.HOLDS:
        guard = _guard(outcomes, at)
        if guard:
            verdict, by_mean = Verdict.UNDECIDED, False
    needed = [o.runs_to_decide for o in outcomes if o.verdict is Verdict.UNDECIDED]
    runs = None
    if verdict is Verdict.UNDECIDED and None not in needed:
        runs = max((n for n in needed if n is not None), default=None)
    return Judgement(
        verdict=verdict,
        measured=_together([(o.check.label, o.measured) for o in order]),
        expected=_together(_distinct([(o.check.label, o.check.accepted) for o in order])),
        why=" ".join(part for part in (guard or _why(order, at, m, verdict, runs, by_mean), _modes(order)) if part),
        outcomes=outcomes,
        close=any(o.close for o in outcomes),
        runs_to_decide=runs,
        by_mean=by_mean,
    )


def _guard(outcomes: Sequence[Outcome], at: Circumstances) -> str:
    """Why runs that lie inside do not decide the claim; empty if they do."""
    sampled = [o.interval for o in outcomes if _sampled(o.interval)]
    few = at.fewer or any(i.n + i.undefined < at.paper_runs for i in sampled)
    if at.absence and few:
        return f"No counterexample was seen. To show that something is absent takes the paper's {at.paper_runs} runs."
    if at.fewer and len(sampled) < len(outcomes):
        return (
            "Within the accepted range so far. A count over all runs has no interval; it takes the paper's "
            f"{at.paper_runs} runs a point."
        )
    if at.thinner:
        return f"Within the accepted range at every point of scale “{at.scale}”, a part of the claim's grid."
    return ""


def _modes(order: Sequence[Outcome], most: int = 3) -> str:
    """The row's sentence about bistable points; empty if there are none."""
    torn = [o for o in order if o.modes]
    if not torn:
        return ""
    said = [f"{o.check.label}: {o.bistable}" if o.check.label else o.bistable for o in torn[:most]]
    more = f"; and {len(torn) - most} more" if len(torn) > most else ""
    return f"Bistable: {'; '.join(said)}{more}."


def _together(parts: Sequence[tuple[str, str]], most: int = 3) -> str:
    """At most three comparisons, the deciding ones first, and how many more there are."""
    shown = [f"{label}: {text}" if label else text for label, text in parts[:most]]
    if len(parts) > most:
        shown.append(f"and {len(parts) - most} more")
    return "; ".join(shown)


def _distinct(parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """One accepted set said once, without a label, where all comparisons share it."""
    return [("", parts[0][1])] if len({text for _, text in parts}) == 1 else list(parts)


def _named(outcomes: Sequence[Outcome], most: int = 6, shown: int = 3) -> str:
    """Labels in brackets: all of up to six, else the first three and how many more; empty without any."""
    labels = [o.check.label for o in outcomes if o.check.label]
    if len(labels) > most:
        labels = [*labels[:shown], f"and {len(labels) - shown} more"]
    return f" ({'; '.join(labels)})" if labels else ""


def _why(order: Sequence[Outcome], at: Circumstances, m: int, verdict: Verdict, runs: int | None, by_mean: bool) -> str:
    first = order[0]
    where = _named([first])
    if verdict is Verdict.HOLDS:
        close = sum(o.close for o in order)
        return f"Decided by the mean only: {_of(close, len(order), 'interval')} a limit." if by_mean else ""
    if verdict is Verdict.FAILS:
        if by_mean:
            return f"The mean is outside the accepted range{where}; the interval includes the limit."
        outside = [o for o in order if o.verdict is Verdict.FAILS]
        level = f" at {100 * (1 - (1 - at.level) / m):.4g} % confidence" if m > 1 else ""
        of = f"{len(outside)} of {len(order)} comparisons" if len(order) > 1 else "The comparison"
        return f"{of} {'are' if len(outside) > 1 else 'is'} outside the accepted range{level}{_named(outside)}."
    if all(o.open for o in order if o.verdict is Verdict.UNDECIDED):
        alike = [o for o in order if o.open == first.open]
        return f"{first.open[0].upper()}{first.open[1:]}{_named(alike)}."
    mine = [o for o in order if o.verdict is Verdict.UNDECIDED and not o.open]
    where = _named(mine)
    need = f"about {runs} runs would decide it" if runs is not None else "the number of runs needed cannot be estimated"
    of = f"{len(mine)} of {len(order)} comparisons" if len(order) > 1 else "The comparison"
    count = mine[0].interval.n
    if mine[0].close:
        return (
            f"{of} {'have' if len(mine) > 1 else 'has'} a mean outside the accepted range, with the limit in the "
            f"interval{where}. With many comparisons, some mean falls outside by chance; {need}."
        )
    if runs is None:
        need += " from so few runs"
    return (
        f"{of} {'are' if len(mine) > 1 else 'is'} inconclusive after {count} run{'s' if count != 1 else ''}{where}: "
        f"{need} (the paper used {at.paper_runs})."
    )


def _of(part: int, whole: int, what: str) -> str:
    if whole == 1:
        return f"the {what} includes"
    return f"{part} of {whole} {what}s include{'s' if part == 1 else ''}"


@dataclass(frozen=True)
class Claim:
    """One published statement.

    Attributes:
        id: "abc-c49".
        source: the place in the paper: "Fig. 5a", "section IV-G4".
        statement: the claim in Evenflow's words.
        expected: the paper's number or relation, in words.
        tolerance: the accepted range around it, and its reason.
        experiments: ids of the experiments it is judged on; empty for an analytic claim.
        literal: the comparisons of the paper's own words and numbers.
        relaxed: those of the lenient criterion; `relaxed_reading` explains it.
        note: the investigation: text, or a function of the data and the strict judgement. It comes first in `why` of a
            claim that does not hold.
        beside: text for any verdict, such as the verdict with other options; in the same form, after the note.
        paper_runs: replications in the paper; None = the paper's default (`Paper.runs`).
        quote: the paper's own sentence.
        judged: the predicate in words.
        apart: the reason to exclude it from counts: `by-construction`, `arithmetic`, `calibrated` or `ours`.
        absence: it states an absence, which fewer runs than the paper's cannot show.
        relaxed_of: the subject of the lenient criterion, if it is not a larger set for the same comparisons: "other
            runs" or "another quantity". The better verdict then counts.
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
    beside: Callable[[Data, Judgement], str] | str = ""
    paper_runs: int | None = None
    level: float = LEVEL
    quote: str = ""
    judged: str = ""
    apart: str | None = None
    absence: bool = False
    relaxed_of: str | None = None


@dataclass(frozen=True)
class Early:
    """A judgement with fewer runs than the paper's, repeated as runs are added.

    Attributes:
        runs: seeds so far.
        of: the paper's seeds.
        looks: judgements before the last run. Their intervals share the error, so all of them are valid together
            (Bonferroni): an early verdict is false with at most the probability 1 − level.
    """

    runs: int
    of: int
    looks: int

    def level(self, level: float) -> float:
        """The confidence level of each early judgement of a claim at this level."""
        return 1 - (1 - level) / self.looks


MEDIAN = "Where runs fall into modes, the median replaces the mean."
"""The lenient criterion of a claim with bistable points, by rule."""


@dataclass(frozen=True)
class Entry:
    """A judged claim: one row of the ledger."""

    claim: Claim
    literal: Judgement
    relaxed: Judgement | None = None
    early_runs: int | None = None
    """Runs after which it was decided, if these are fewer than the paper's (`reproduce --until decided`)."""
    broken: str = field(default="")
    """Not empty if the predicate failed: a defect of Evenflow, reported and left undecided."""
    median: bool = False
    """The lenient criterion comes from the rule: the median at points with several modes."""

    @property
    def decided(self) -> bool:
        """Whether more runs cannot change a row: the strict verdict is final, and the lenient one if it differs."""
        relaxed = self.relaxed if self.literal.verdict is Verdict.FAILS else None
        return Verdict.UNDECIDED not in (self.literal.verdict, (relaxed or self.literal).verdict)

    @property
    def relaxed_reading(self) -> str | None:
        """The lenient criterion in words."""
        own = self.claim.relaxed_reading
        if not self.median:
            return own
        return f"{own} {MEDIAN}" if own else MEDIAN

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
            "by_mean": self.literal.by_mean,
            "apart": self.claim.apart,
            "relaxed_reading": self.relaxed_reading,
            "relaxed_measured": self.relaxed.measured if self.relaxed else None,
            "relaxed_by_mean": self.relaxed.by_mean if self.relaxed else None,
            **({} if self.early_runs is None else {"early_runs": self.early_runs}),
            "quote": self.claim.quote,
            "judged": self.claim.judged,
            "checks": [o.to_json() for o in self.literal.outcomes],
            "relaxed_checks": [o.to_json() for o in self.relaxed.outcomes] if self.relaxed else None,
        }
        return row


def judge_claim(
    claim: Claim,
    data: Data,
    *,
    scale: Scale,
    paper_runs: int,
    shortened: bool = False,
    fewer: bool = False,
    early: Early | None = None,
    bistable: Collection[str] = (),
) -> Entry:
    """Judge a claim by both criteria.

    An early judgement uses wider intervals, and never decides by the mean.

    A predicate that raises is a defect of Evenflow: the row becomes *undecided*, and the others are still judged. A
    predicate that needs more points than `data` has is detected by `table.noticing_gaps`.
    """
    from ..run.table import noticing_gaps

    runs, level = claim.paper_runs or paper_runs, claim.level
    if early is not None:
        runs, level = max(runs, early.of), early.level(claim.level)

    def verdict_of(predicate: Callable[[Data], Sequence[Check]], median: bool = False) -> Judgement:
        with noticing_gaps() as gaps:
            checks = list(predicate(data))
        if median:
            checks = [check.by_median() if check.label in torn else check for check in checks]
        return judge(
            checks,
            scale=scale,
            paper_runs=runs,
            level=level,
            shortened=shortened,
            thinner=bool(gaps),
            fewer=fewer,
            absence=claim.absence,
            bistable=bistable,
        )

    try:
        literal = verdict_of(claim.literal)
        torn = {o.check.label for o in literal.outcomes if o.modes}
        relaxed = verdict_of(claim.relaxed) if claim.relaxed is not None else None
        if relaxed is not None and claim.relaxed_of is not None:
            relaxed = better(literal, relaxed)
        by_rule = False
        if torn and literal.verdict is not Verdict.HOLDS:
            median = verdict_of(claim.relaxed or claim.literal, median=True)
            by_rule = (
                better(relaxed or literal, median) is median and median.verdict is not (relaxed or literal).verdict
            )
            relaxed = median if by_rule else relaxed
        said = _noted(claim, data, literal, scale)
        entry = Entry(claim, literal, relaxed, median=by_rule)
        when = ""
        if early is not None and entry.decided:
            entry = replace(entry, early_runs=early.runs)
            when = f"Decided early, with {early.runs} of {early.of} runs and intervals at {100 * level:.4g} %."
        why = " ".join(part for part in (said, literal.why, when) if part)
        return replace(entry, literal=replace(literal, why=why))
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        why = f"Could not be judged, a defect of Evenflow: {said}"
        return Entry(claim, Judgement(Verdict.UNDECIDED, "nothing", "", why), broken=said)


class NotRun(KeyError):
    """A note asks for an experiment that is not among those shown."""


class _Shown(dict[str, "Table"]):
    def __missing__(self, name: str) -> Table:
        raise NotRun(name)


def _noted(claim: Claim, data: Data, literal: Judgement, scale: Scale) -> str:
    """A claim's note where it does not hold, and the text for any verdict.

    A computed note names its runs, and is empty for fewer than three of several.
    """
    notes = [claim.beside] if literal.verdict is Verdict.HOLDS else [claim.note, claim.beside]
    runs = max((_runs(data[name]) for name in claim.experiments if name in data), default=0)
    typed = [note.strip() for note in notes if not callable(note)]
    computed = [note for note in notes if callable(note)]
    if scale == "quick" and 1 < runs < FEW_FOR_A_NOTE:
        computed = []
    told: list[str] = []
    missing: list[str] = []
    for note in computed:
        try:
            told.append(note(_Shown(data), literal).strip())
        except NotRun as error:
            missing.append(f"Its explanation needs the experiment {error.args[0]}, which was not run.")
    said = " ".join(filter(None, told))
    if said and scale != "paper" and runs:
        several = f"{runs} runs a point" if runs > 1 else "one run a point"
        said = f"At scale “{scale}”, {several}: {said}"
    return " ".join(filter(None, (*typed, said, *dict.fromkeys(missing))))


FEW_FOR_A_NOTE = 3
"""With fewer runs than this a note about how runs differ is about nothing."""


def _runs(table: Table) -> int:
    counts: dict[int, int] = {}
    for run in table.runs:
        counts[run.point] = counts.get(run.point, 0) + 1
    return max(counts.values(), default=0)


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
    """Number of claims per verdict, by the strict criterion and by the lenient one where defined.

    Excluded claims count in `apart` and `total` only.
    """

    holds: int
    fails: int
    undecided: int
    relaxed_holds: int
    relaxed_fails: int
    relaxed_undecided: int
    close: int
    holds_by_mean: int = 0
    fails_by_mean: int = 0
    relaxed_holds_by_mean: int = 0
    relaxed_fails_by_mean: int = 0
    apart: int = 0

    @property
    def judged(self) -> int:
        """Claims that count."""
        return self.holds + self.fails + self.undecided

    @property
    def total(self) -> int:
        """All claims, with excluded ones."""
        return self.judged + self.apart

    def to_json(self) -> dict[str, Any]:
        """`counts` of a ledger."""
        return {
            "literal": {
                "holds": self.holds,
                "fails": self.fails,
                "undecided": self.undecided,
                "holds_by_mean": self.holds_by_mean,
                "fails_by_mean": self.fails_by_mean,
            },
            "relaxed": {
                "holds": self.relaxed_holds,
                "fails": self.relaxed_fails,
                "undecided": self.relaxed_undecided,
                "holds_by_mean": self.relaxed_holds_by_mean,
                "fails_by_mean": self.relaxed_fails_by_mean,
            },
            "close": self.close,
            "by_mean": self.holds_by_mean + self.fails_by_mean,
            "apart": self.apart,
        }


OURS = "(ours)"
"""In a tolerance: its number is not the paper's."""


def by_mean(number: int) -> str:
    """ " (6 by the mean only)", or nothing."""
    return f" ({number} by the mean only)" if number else ""


def by_own_number(rows: Sequence[Mapping[str, Any]]) -> int:
    """Claims that count and whose criterion has a number that the paper does not print."""
    return sum(OURS in (row.get("tolerance") or "") for row in rows if not row.get("apart"))


def count(rows: Sequence[Mapping[str, Any]]) -> Counts:
    """Count ledger rows. A claim without a relaxed reading counts with its literal verdict in both."""
    counted = [row for row in rows if not row.get("apart")]

    def literal(row: Mapping[str, Any]) -> tuple[Verdict, bool]:
        return Verdict(row["verdict"]), bool(row.get("by_mean"))

    def relaxed(row: Mapping[str, Any]) -> tuple[Verdict, bool]:
        return (Verdict(row["relaxed"]), bool(row.get("relaxed_by_mean"))) if row.get("relaxed") else literal(row)

    one, other = [literal(row) for row in counted], [relaxed(row) for row in counted]

    def of(found: Sequence[tuple[Verdict, bool]], verdict: Verdict, by_mean: bool = False) -> int:
        return sum(v is verdict and (mean or not by_mean) for v, mean in found)

    return Counts(
        holds=of(one, Verdict.HOLDS),
        fails=of(one, Verdict.FAILS),
        undecided=of(one, Verdict.UNDECIDED),
        relaxed_holds=of(other, Verdict.HOLDS),
        relaxed_fails=of(other, Verdict.FAILS),
        relaxed_undecided=of(other, Verdict.UNDECIDED),
        close=sum(1 for row in counted if row.get("close")),
        holds_by_mean=of(one, Verdict.HOLDS, True),
        fails_by_mean=of(one, Verdict.FAILS, True),
        relaxed_holds_by_mean=of(other, Verdict.HOLDS, True),
        relaxed_fails_by_mean=of(other, Verdict.FAILS, True),
        apart=len(rows) - len(counted),
    )
