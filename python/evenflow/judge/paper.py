"""A published paper as data: its experiments, its claims, and what it leaves open.

A paper package (`evenflow_papers.abc`) exposes one `PAPER` and uses the public Python API alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ..run.study import Labels, Point, Run, Study, Table
from ..stats import LEVEL
from .claims import Claim, Scale
from .history import Change

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Experiment:
    """One figure's worth of runs.

    Attributes:
        id: "abc-fig04".
        title: the varied and the measured quantities, in words.
        points: the points at a scale; quick may thin the grid.
        seeds: the seeds at a scale, the same for every point.
        figure: the finished runs as a `Picture`; None without a figure.
        caption: below the figure in the report: quantities, axis, band.
        data: the figure's numbers, one row a mark; None = every point's mean and interval of `metrics`.
        metrics: the metrics of the default `data`; empty = all that are numbers.
        shortened: True if quick runs are shorter than the paper's; claims then stay undecided.
        view: one of its runs, shown over time in the report (docs/figures.md); None = none.
    """

    id: str
    title: str
    points: Callable[[Scale], Sequence[Point]]
    seeds: Callable[[Scale], Sequence[int]]
    figure: Callable[[Table], Any] | None = None
    caption: str = ""
    data: Callable[[Table], pl.DataFrame] | None = None
    metrics: tuple[str, ...] = ()
    shortened: bool = False
    view: Callable[[Table], Run] | None = None

    def study(self, scale: Scale, most: int | None = None) -> Study:
        """The runs of this experiment at a scale, with its first `most` seeds."""
        return Study(list(self.points(scale)), list(self.seeds(scale))[:most])

    def left_out(self, scale: Scale) -> list[Labels]:
        """The labels of the paper's points that this scale leaves out."""
        if scale == "paper":
            return []
        there = [dict(point.labels) for point in self.points(scale)]
        return [point.labels for point in self.points("paper") if dict(point.labels) not in there]


@dataclass(frozen=True)
class Deviation:
    """A choice the paper leaves open, or a place where we knowingly differ.

    `sensitivity` says how much the claims depend on the choice: text, or a function of the experiments shown that takes
    its numbers from them.
    """

    id: str
    subject: str
    paper_says: str
    we_do: str
    alternatives: str
    sensitivity: str | Callable[[Mapping[str, Table]], str]

    def said(self, data: Mapping[str, Table]) -> str:
        """The sensitivity in words, from these experiments."""
        return self.sensitivity if isinstance(self.sensitivity, str) else self.sensitivity(data)


@dataclass(frozen=True)
class Option:
    """An open choice of the paper: `evenflow reproduce PAPER --option NAME=VALUE`.

    Attributes:
        name: "packet".
        values: as typed; the first is the default.
        subject: the choice, in words.
        why: the reason of the default.
        paper_scale: experiments ("fig03") whose sensitivity always uses the paper's scale, because few runs decide
            nothing.
        over: experiments whose sensitivity is tried; empty: all.
    """

    name: str
    values: tuple[str, ...]
    subject: str
    why: str
    paper_scale: tuple[str, ...] = ()
    over: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """The value taken where nothing else is asked for."""
        return self.values[0]


@dataclass(frozen=True)
class Choices:
    """One choice for each option of a paper: inherited by a frozen dataclass with a field an option.

    @dataclass(frozen=True)
    class Options(Choices):
        delay: float = 20.0
    """

    def varied(self, values: Mapping[str, str]) -> Self:
        """The same with other choices, as typed: each becomes what its field is."""
        return replace(self, **{name: type(getattr(self, name))(value) for name, value in values.items()})

    @classmethod
    def chosen(cls, values: Mapping[str, str]) -> Self:
        """From names and values as typed; both are already known to be among the paper's options."""
        return cls().varied(values)


def varied_by(*options: str) -> str:
    """Where a reader finds what depends on these options: a `Deviation`'s sensitivity in words."""
    names = " and ".join(f"“{name}”" for name in options)
    return f"Varied by the option{'s' if len(options) > 1 else ''} {names}: see the sensitivity table."


Parts: TypeAlias = "tuple[tuple[Experiment, ...], tuple[Claim, ...]]"


@dataclass(frozen=True)
class Paper:
    """A paper that one command reproduces.

    Attributes:
        key: "abc"; the package's name and the word on the command line.
        title: the short title.
        listed: its line in `evenflow papers`; empty = the title.
        reference: the full citation.
        runs: replications in the paper; a claim may have others.
        summary: two or three sentences for the report's head.
        level: the confidence level of its intervals.
        options: its open choices.
        build: experiments and claims for a choice of options (names and values that are not the default).
        chosen: the options that are not the default.
        changes: every change of an acceptance criterion (`kit.history`).
    """

    key: str
    title: str
    reference: str
    experiments: tuple[Experiment, ...]
    claims: tuple[Claim, ...]
    deviations: tuple[Deviation, ...] = ()
    runs: int = 10
    summary: str = ""
    listed: str = ""
    level: float = LEVEL
    options: tuple[Option, ...] = ()
    build: Callable[[Mapping[str, str]], Parts] | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def folder(self) -> str:
        """The name of its results' folder: the key, and the options that are not the default."""
        return "-".join([self.key, *(f"{name}={value}" for name, value in self.chosen.items())])

    def with_options(self, chosen: Mapping[str, str]) -> Paper:
        """The same paper with other choices.

        Raises:
            UsageError: no such option or value; all of them at once, with the nearest names.
        """
        from ..errors import UsageError, unknown

        if chosen and not self.options:
            raise UsageError(f"{self.key} leaves nothing to choose: it has no options.")
        known = {option.name: option for option in self.options}
        wrong: list[str] = []
        for name, value in chosen.items():
            if name not in known:
                wrong.append(str(unknown(f"option of {self.key}", name, list(known))))
            elif value not in known[name].values:
                wrong.append(str(unknown(f"value of the option {name}", value, known[name].values)))
        if wrong:
            raise UsageError("\n".join(wrong))
        others = {o.name: chosen[o.name] for o in self.options if chosen.get(o.name, o.default) != o.default}
        if self.build is None or others == self.chosen:
            return self
        experiments, claims = self.build(others)
        return replace(self, experiments=experiments, claims=claims, chosen=others)

    def experiment(self, name: str) -> Experiment:
        """An experiment by id; `-` and `_` are the same and the paper's key may be left out ("fig04").

        A panel stands for its figure: "fig04b" is "fig04", unless it is an id itself.

        Raises:
            UsageError: no such experiment; the message names the nearest.
        """
        from ..errors import unknown

        def plain(text: str) -> str:
            return text.casefold().replace("_", "-").removeprefix(f"{self.key.replace('_', '-')}-")

        for experiment in self.experiments:
            if plain(experiment.id) == plain(name):
                return experiment
        for experiment in self.experiments:
            if plain(name)[:-1] == plain(experiment.id) and plain(name)[-1] in "abcd":
                return experiment
        # compared without the key, which all of them share: it would hide how near they are
        there = [e.id.removeprefix(f"{self.key}-") for e in self.experiments]
        raise unknown(f"experiment of {self.key}", name, there, typed=plain(name), most=len(there))
