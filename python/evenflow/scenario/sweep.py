"""`[sweep]`: from one scenario to the points of a study.

Lists multiply, `[[sweep.together]]` tables move in step, `[sweep.cases.NAME]` holds named sets of overrides. Cases
are applied first, then what moves in step, then the grid, so that a grid may refine what a case has put in place.
Pinned paths (`--set`) come last and win.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ScenarioError, UsageError, nearest
from . import paths

if TYPE_CHECKING:
    from .scenario import Scenario

Label: TypeAlias = "str | float | int | bool"
Labels: TypeAlias = "Mapping[str, Label]"

DEFAULT_REPLICATIONS = 10
MOST_POINTS = 100_000
MOST_COMPARED = 1000
"""Points of a study whose scenarios are compared: of more, it would take longer than it is worth."""


@dataclass(frozen=True)
class Point:
    """One setting of a study: its labels ("groups.heavy.traffic.flows": 8) and the scenario to run."""

    labels: Labels
    scenario: Scenario


@dataclass(frozen=True)
class _Choice:
    """One position of an axis: what it is called, what it sets, and where in the file it stands."""

    labels: dict[str, Label]
    settings: tuple[tuple[paths.Path, Any, str], ...]
    """(path, value, place of the value in the file)"""


_Axis: TypeAlias = list[_Choice]


@dataclass
class Expansion:
    """The points of a sweep, or everything that is wrong with it."""

    points: list[Point] = field(default_factory=list)
    replications: int = DEFAULT_REPLICATIONS
    errors: list[tuple[str, str]] = field(default_factory=list)


def label_of(value: Any) -> Label:
    """How a swept value is shown: single values as they are, tables and lists as compact JSON."""
    if isinstance(value, (str, int, float, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def expand(scenario: Scenario, pins: Mapping[str, Any]) -> Expansion:
    """Expand and validate `[sweep]`; collects every error.

    Args:
        scenario: with or without `[sweep]`; without, it is the only point.
        pins: dotted path -> value that replaces any sweeping of that path.
    """
    tree = scenario.tree
    sweep = tree.pop("sweep", {})
    done = Expansion()
    if not isinstance(sweep, dict):
        done.errors.append(("sweep", "must be a table."))
        return done
    pinned = {paths.parse(path): value for path, value in pins.items()}
    done.errors += _long(sweep) or _odd(sweep)
    if done.errors:
        return done
    axes = _read(sweep, tree, pinned, done)
    if done.errors:
        return done
    total = 1
    for axis in axes:
        total *= len(axis)
    if total > MOST_POINTS:
        done.errors.append(("sweep", _too_many(total)))
        return done
    # a pin is in the tree already; only where a swept table would replace it must it be put back
    swept = {path for axis in axes for choice in axis for path, _, _ in choice.settings}
    last = {path: value for path, value in pinned.items() if any(path[: len(p)] == p for p in swept)}
    _build(scenario, tree, axes, last, done)
    if not done.errors and total <= MOST_COMPARED:
        _refuse_equals(axes, done)
    return done


def _long(table: Mapping[str, Any], above: paths.Path = ("sweep",)) -> list[tuple[str, str]]:
    """Lists that alone make too many points: found before anything is made of their values."""
    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += _long(value, (*above, key))
        elif isinstance(value, list) and len(value) > MOST_POINTS:
            found.append((paths.render((*above, key)), _too_many(len(value))))
    return found


def _too_many(points: int) -> str:
    return f"makes {points:,} points; the most is {MOST_POINTS:,}. Sweep fewer values, or split the study."


def _odd(sweep: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values that no scenario can have (dates, numbers that are none), at their places."""
    from .decoding import is_json, odd_keys, why_odd

    wrong = [(paths.render(path), "the key is not UTF-8 text.") for path in odd_keys(sweep, ("sweep",))]
    odd = [(path, value) for path, value in paths.leaves(sweep, ("sweep",)) if not is_json(value)]
    return wrong + [(paths.render(path), why_odd(value)) for path, value in odd]


def outline(scenario: Scenario) -> tuple[int, int, list[paths.Path]]:
    """How many points and replications a valid `[sweep]` has, and the paths it sets, without building the points."""
    tree = scenario.tree
    sweep = tree.pop("sweep", {})
    done = Expansion()
    axes = _read(sweep, tree, {}, done) if isinstance(sweep, dict) else []
    points = math.prod(len(axis) for axis in axes)
    swept = {path: None for axis in axes for choice in axis for path, _, _ in choice.settings}
    return points, done.replications, list(swept)


def settings(scenario: Scenario) -> dict[str, dict[Label, dict[str, Any]]]:
    """By label and value of a valid `[sweep]`: the dotted paths that the value sets."""
    tree = scenario.tree
    found: dict[str, dict[Label, dict[str, Any]]] = {}
    for axis in _read(tree.pop("sweep", {}), tree, {}, Expansion()):
        for choice in axis:
            sets = {paths.render(path): value for path, value, _ in choice.settings}
            for label, value in choice.labels.items():
                found.setdefault(label, {})[value] = {label: sets[label]} if label in sets else sets
    return found


def _read(
    sweep: dict[str, Any], tree: dict[str, Any], pinned: Mapping[paths.Path, Any], done: Expansion
) -> list[_Axis]:
    errors = done.errors
    cases: list[_Axis] = []
    steps: list[_Axis] = []
    grid: list[_Axis] = []
    swept: dict[paths.Path, str] = {}
    in_cases: list[paths.Path] = []
    below: dict[paths.Path, paths.Path] = {p[:depth]: p for p in pinned for depth in range(1, len(p))}
    """For a path one below it that has a value of its own, swept or pinned."""

    def claim(path: paths.Path, place: str) -> None:
        if path in swept:
            errors.append((place, f"is already swept by {swept[path]}."))
        above = [path[:depth] for depth in range(1, len(path))]
        whole = next((other for other in above if other in swept), None)
        part = below.get(path)
        if whole is not None:
            errors.append((place, _overlap(path, swept[whole], whole)))
        elif part is not None:
            errors.append((place, _overlap(part, swept.get(part, f"--set {paths.render(part)}"), path)))
        swept[path] = place
        for other in above:
            below.setdefault(other, path)

    rest = dict(sweep)
    replications = rest.pop("replications", DEFAULT_REPLICATIONS)
    if isinstance(replications, bool) or not isinstance(replications, int) or not 1 <= replications <= 1_000_000:
        errors.append(("sweep.replications", "must be a whole number of at least 1."))
    else:
        done.replications = replications

    named = rest.pop("cases", {})
    if not isinstance(named, dict):
        errors.append(("sweep.cases", "must hold tables, such as [sweep.cases.scheme]."))
        named = {}
    for name, choices in named.items():
        place = paths.render(("sweep", "cases", name))
        axis = _read_cases(name, place, choices, pinned, in_cases, errors)
        if axis:
            cases.append(axis)

    together = rest.pop("together", [])
    if not isinstance(together, list) or not all(isinstance(t, dict) for t in together):
        errors.append(("sweep.together", "is a list of tables: write [[sweep.together]]."))
        together = []
    for index, table in enumerate(together):
        place = f"sweep.together[{index}]"
        lists = [(p, at, v) for p, at, v in _lists(table, (), place, errors) if p not in pinned]
        for path, at, _ in lists:
            claim(path, at)
        lengths = {len(values) for _, _, values in lists}
        if len(lengths) > 1:
            said = ", ".join(f"{paths.render(p)} has {len(v)}" for p, _, v in lists)
            errors.append((place, f"lists that move in step must be equally long: {said}."))
        elif lists:
            steps.append(_step(lists))

    for path, at, values in _lists(rest, (), "sweep", errors):
        if path in pinned:
            continue
        claim(path, at)
        grid.append(
            [_Choice({paths.render(path): label_of(v)}, ((path, v, f"{at}[{i}]"),)) for i, v in enumerate(values)]
        )
        _refuse_repeats(at, values, errors)

    for path, at in swept.items():
        parent = path[:-1]
        if not isinstance(_at(tree, parent), (dict, list)) and not any(parent[: len(p)] == p for p in in_cases):
            guess = paths.nearest_table(tree, parent)
            known = guess if guess else ", ".join(str(k) for k, v in tree.items() if isinstance(v, dict))
            said = f"did you mean {known}?" if guess else f"known tables: {known}."
            errors.append((at, f"there is no {paths.render(parent)} in the scenario; {said}"))
    return [*cases, *steps, *grid]


def _overlap(part: paths.Path, other: str, whole: paths.Path) -> str:
    """Why two paths are not swept both: where the table is set after its part, the part's label says what is not so."""
    return (
        f"overlaps with {other}: {paths.render(part)} is a part of {paths.render(whole)}, and one would undo the "
        "other. Set only one of them, or write their combinations in [sweep.cases]."
    )


def _read_cases(
    name: str,
    place: str,
    choices: Any,
    pinned: Mapping[paths.Path, Any],
    in_cases: list[paths.Path],
    errors: list[tuple[str, str]],
) -> _Axis:
    if not isinstance(choices, dict) or not choices:
        errors.append((place, "must be a table of named cases, each a table of dotted paths and values."))
        return []
    axis: _Axis = []
    for case, overrides in choices.items():
        at = f"{place}.{paths.render((case,))}"
        if not isinstance(overrides, dict):
            errors.append(
                (at, 'must be a table of dotted paths and values, such as { "links.bottleneck.queue" = { … } }.')
            )
            continue
        settings: list[tuple[paths.Path, Any, str]] = []
        for key, value in overrides.items():
            path = _path(key, at, errors)
            if path is None or path in pinned:
                continue
            in_cases.append(path)
            settings.append((path, value, f"{at}.{_quoted(key)}"))
        axis.append(_Choice({name: case}, tuple(settings)))
    return axis


def _step(lists: Sequence[tuple[paths.Path, str, list[Any]]]) -> _Axis:
    return [
        _Choice(
            {paths.render(path): label_of(values[i]) for path, _, values in lists},
            tuple((path, values[i], f"{at}[{i}]") for path, at, values in lists),
        )
        for i in range(len(lists[0][2]))
    ]


def _lists(
    table: Mapping[str, Any], above: paths.Path, place: str, errors: list[tuple[str, str]]
) -> Iterator[tuple[paths.Path, str, list[Any]]]:
    """(swept path, its place in the file, its values): dotted keys may be quoted or not, so tables are walked into."""
    for key, value in table.items():
        path = _path(key, place, errors)
        if path is None:
            continue
        at = f"{place}.{_quoted(key)}"
        if isinstance(value, dict) and value:
            yield from _lists(value, (*above, *path), at, errors)
        elif not isinstance(value, list):
            errors.append((at, "a swept path needs a list of values."))
        elif not value:
            errors.append((at, "an empty list sweeps nothing."))
        else:
            yield (*above, *path), at, value


def _quoted(key: str) -> str:
    """A key as it stands in the file."""
    return paths.render((key,))


def _path(key: str, place: str, errors: list[tuple[str, str]]) -> paths.Path | None:
    try:
        return paths.parse(key)
    except UsageError as error:
        errors.append((place, str(error)))
        return None


def _refuse_repeats(at: str, values: Sequence[Any], errors: list[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for index, value in enumerate(values):
        text = json.dumps(value, sort_keys=True, default=str)
        if text in seen:
            errors.append((f"{at}[{index}]", f"{label_of(value)} is in the list twice."))
        seen.add(text)


def _at(tree: Any, path: paths.Path) -> Any:
    try:
        return paths.get(tree, path)
    except KeyError:
        return None


def _build(
    scenario: Scenario, tree: dict[str, Any], axes: list[_Axis], pinned: Mapping[paths.Path, Any], done: Expansion
) -> None:
    """All combinations; every point is validated and its errors are shown at the swept value that caused them."""
    from .decoding import decode

    bare = scenario.without_sweep()
    own = set(decode(tree, scenario.source)[1]) if axes else set()
    said: set[tuple[str, str]] = set()
    for choice in itertools.product(*axes):
        made = bare
        labels: dict[str, Label] = {}
        places: list[tuple[paths.Path, str]] = []
        broken = False
        for part in choice:
            labels.update(part.labels)
            for path, value, at in part.settings:
                try:
                    made = made.with_value(path, value)
                    places.append((path, at))
                except UsageError as error:
                    broken = True
                    _say(done, said, at, error.errors[0][1] if isinstance(error, ScenarioError) else str(error))
        for path, value in pinned.items():
            made = made.with_value(path, value)
        if broken:
            continue
        try:
            made.core  # noqa: B018  (validates)
        except ScenarioError as error:
            for where, message in error.errors:
                at = _blame(where, places) if (where, message) not in own else where
                _say(done, said, at, message)
            continue
        done.points.append(Point(labels, made))


def _refuse_equals(axes: list[_Axis], done: Expansion) -> None:
    """Two values, or two rows of lists in step, that make the same scenarios, such as "1 ms" and "0.001 s"."""
    made = [point.scenario.hash for point in done.points]
    after = len(made)
    for axis in axes:
        after //= len(axis)  # points between one value of this axis and its next
        settings = axis[0].settings
        swept = [path for path, _, _ in settings]
        if set(axis[0].labels) != {paths.render(path) for path in swept} or ("title",) in swept:
            continue  # cases, and what no scenario's hash knows
        first: dict[tuple[str, ...], _Choice] = {}
        for index, choice in enumerate(axis):
            mine = tuple(one for number, one in enumerate(made) if number // after % len(axis) == index)
            other = first.setdefault(mine, choice)
            if other is not choice:
                path, _, at = choice.settings[0]
                these, those = (", ".join(map(str, one.labels.values())) for one in (choice, other))
                what = paths.render(path) if len(swept) == 1 else "scenario"
                done.errors.append((at, f"{these} and {those} are the same {what}: one point twice."))


def _say(done: Expansion, said: set[tuple[str, str]], at: str, message: str) -> None:
    if (at, message) not in said:
        said.add((at, message))
        done.errors.append((at, message))


def _blame(where: str, places: Sequence[tuple[paths.Path, str]]) -> str:
    """The swept value an error belongs to.

    The last one set at, above or below the error's path; else the path itself.
    """
    try:
        path = paths.parse(where)
    except UsageError:
        return where
    for swept, at in reversed(places):
        if path[: len(swept)] == swept:
            rest = paths.render(path[len(swept) :])
            return f"{at}{'' if not rest or rest.startswith('[') else '.'}{rest}"
    for swept, at in reversed(places):
        if swept[: len(path)] == path and path:
            return at
    return where


def nearest_label(name: str, labels: Sequence[str]) -> str:
    """ "did you mean …?" for a label name that does not exist."""
    guess = nearest(name, labels)
    return f"did you mean “{guess}”?" if guess else f"labels: {', '.join(labels) or 'none'}."
