"""A scenario: links, stages, groups of users, traffic and durations, as plain data.

The Rust core is the judge of what is valid; this module reads files, changes values by dotted path and brings all
errors together.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EvenflowError, ScenarioError, UsageError
from . import control_groups, paths
from .decoding import decode, is_json, is_text, why_odd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .. import _core
    from ..run.record import Record


class Scenario:
    """An immutable value around the tree of a scenario file (docs/scenarios.md).

    `Scenario(tree)` accepts what TOML can hold: strings with units, numbers, booleans, lists, tables; and the generated
    dataclasses of `evenflow.types` anywhere a table may stand. Nothing is checked until `check`, `core`, `hash` or
    `run`.
    """

    __slots__ = ("_core", "_tree", "source")

    def __init__(self, tree: Mapping[str, Any], *, source: str | None = None) -> None:
        if not isinstance(tree, Mapping):
            text = f"a scenario is a table of links and groups, not a {type(tree).__name__}."
            raise ScenarioError([("", text)], source)
        self._tree: dict[str, Any] = {}
        for name, value in tree.items():
            try:
                self._tree[str(name)] = _plain(value, 1)
            except ScenarioError as error:
                raise ScenarioError([(paths.render((str(name),)), error.errors[0][1])], source) from None
        self._core: _core.Scenario | None = None
        self.source = source
        """The file it was read from, for messages."""

    @staticmethod
    def load(path: str | Path) -> Scenario:
        """Read a TOML file.

        Raises:
            ScenarioError: no such file, a folder, not UTF-8, or not TOML (with the line).
        """
        name, text = str(path), ""
        try:
            text = _read(Path(path)).decode("utf-8").removeprefix("\ufeff")  # some editors begin with a mark
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            return Scenario(tomllib.loads(text), source=name)
        except FileNotFoundError:
            raise ScenarioError([("", _missing(Path(path)))], name) from None
        except IsADirectoryError:
            raise ScenarioError([("", "is a folder; a scenario is one TOML file.")], name) from None
        except UnicodeDecodeError as error:
            raise ScenarioError([("", f"is not UTF-8 text (byte {error.start}).")], name) from None
        except tomllib.TOMLDecodeError as error:
            from .toml_errors import told

            raise ScenarioError([told(text, error)], name) from None
        except ScenarioError as error:
            raise ScenarioError(error.errors, name) from None
        except (RecursionError, ValueError) as error:
            raise ScenarioError([("", _unread(error))], name) from None
        except OSError as error:
            raise ScenarioError([("", f"cannot be read: {error.strerror or error}.")], name) from None

    @property
    def tree(self) -> dict[str, Any]:
        """A copy of the tree: changing it changes nothing here."""
        return {name: paths.copied(value) for name, value in self._tree.items()}

    @property
    def title(self) -> str:
        """The file's `title`, or ""."""
        title = self._tree.get("title", "")
        return title if isinstance(title, str) else ""

    def get(self, path: str) -> Any:
        """The value at a dotted path.

        KeyError where there is none (a default not written out has no place in the tree).
        """
        return paths.copied(paths.get(self._tree, paths.parse(path)))

    def set(self, path: str, value: Any) -> Scenario:
        """A copy with one value replaced; tables on the way are made as needed.

        Raises:
            UsageError: not a path, or it leads through something that is not a table.
        """
        return self.with_settings({path: value})

    def unset(self, path: str) -> Scenario:
        """A copy without the value at a path. KeyError where there is none."""
        tree = self.tree
        paths.remove(tree, paths.parse(path))
        return Scenario(tree, source=self.source)

    def with_settings(self, settings: Mapping[str, Any]) -> Scenario:
        """A copy with several values replaced, in order."""
        made = self
        for path, value in settings.items():
            made = made.with_value(paths.parse(path), value)
        return made

    def with_value(self, path: paths.Path, value: Any) -> Scenario:
        """`set` for a path that is parsed. The rest of the tree is shared: nobody changes one that is kept.

        Raises:
            UsageError: it leads through something that is not a table.
            ScenarioError: the value lies deeper than anything that has a meaning.
        """
        try:
            plain = _plain(value, len(path))
        except ScenarioError as error:
            raise ScenarioError([(paths.render(path[:1]), error.errors[0][1])], self.source) from None
        return self._like(paths.assigned(self._tree, path, plain))

    def without_sweep(self) -> Scenario:
        """A copy without `[sweep]`; shares the rest."""
        return self._like({name: value for name, value in self._tree.items() if name != "sweep"})

    def _like(self, tree: dict[str, Any]) -> Scenario:
        """A scenario of the same file with a plain tree, which is not copied."""
        made = object.__new__(Scenario)
        made._tree, made.source, made._core = tree, self.source, None
        return made

    @property
    def core(self) -> _core.Scenario:
        """The validated scenario of the Rust core (checked once, then kept).

        Raises:
            ScenarioError: with every error of the scenario; `[sweep]` is not looked at.
        """
        if self._core is None:
            found, errors = decode(self._tree, self.source)
            if found is None:
                raise ScenarioError(errors, self.source)
            self._core = found
        return self._core

    def check(self) -> None:
        """Validate everything, `[sweep]` included.

        Raises:
            ScenarioError: with every error of the scenario and of its sweep.
        """
        found, errors = decode(self._tree, self.source)
        if "sweep" in self._tree:
            from .sweep import expand

            known = set(errors)
            # the sweep's own errors; those the file has by itself are said once
            errors += [e for e in expand(self, {}).errors if e not in known]
        if errors:
            raise ScenarioError(errors, self.source)
        self._core = found

    @property
    def hash(self) -> str:
        """The canonical scenario's hash: units, defaults, key order, title and `[sweep]` do not matter."""
        return self.core.hash

    def run(self, seed: int = 1, *, progress: bool = False) -> Record:
        """One run: the same scenario and seed give the same record on any machine.

        Args:
            progress: a bar on the terminal, from two seconds on.

        Raises:
            ScenarioError: it is not valid.
            EvenflowError: it needs more memory than there is, or an invariant broke.
            Interrupted: Ctrl-C.
        """
        from ..run.engine import run_here

        return run_here(self, seed, progress=progress)

    def plot(
        self,
        *,
        seed: int = 1,
        series: str | Sequence[str] = (),
        width: float | None = None,
        height: float | None = None,
    ) -> Figure:
        """One run as a figure: rates, queue and windows over time; what `[record]` names where it names series.

        Args:
            seed: of the run.
            series: names of series, with `*`, or their last segments; default: all, or what tells most.
            width, height: inches, kept exactly.
        """
        from ..show import methods

        return methods.plot_scenario(self, seed, series, width, height)

    def written_out(self) -> Scenario:
        """The scenario with the numbers of the files that it names, video manifests and rate traces, in their place.

        It is itself where there are none, or where one of them is not understood.
        """
        from .written import written_out

        tree, errors = written_out(self._tree, self.source)
        return self if errors or tree is self._tree else Scenario(tree, source=self.source)

    def to_json(self) -> str:
        """The tree as JSON text, as the core and remote workers take it, written out.

        Raises:
            ScenarioError: with every value that JSON does not have (dates, infinity), `[sweep]` included.
        """
        tree = self.written_out()._tree
        try:
            return json.dumps(tree, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            odd = [(path, value) for path, value in paths.leaves(tree) if not is_json(value)]
            raise ScenarioError([(paths.render(path), why_odd(value)) for path, value in odd], self.source) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._tree == other._tree

    def __hash__(self) -> int:
        return _hash(self._tree)

    def __repr__(self) -> str:
        groups = self._tree.get("groups")
        names = ", ".join(groups) if isinstance(groups, dict) else ""
        return f"<Scenario {self.title or self.source or 'untitled'!r}: groups {names or 'none'}>"

    def _repr_html_(self) -> str:
        from ..words import html_table, plain, rate, time_span
        from .outline import Outline

        title = self.title or self.source or "A scenario"
        try:
            outline = Outline(self)
        except ScenarioError as error:
            return html_table(title, ("", "error"), [[path, message] for path, message in error.errors])
        rows = [
            [
                way.name if way.forward else f"{way.name}, reverse",
                rate(way.rate),
                time_span(way.delay),
                way.limit or "–",
            ]
            for way in outline.described()
        ]
        rows += [
            [
                f"{source.group}: {plain(source.users)} × {source.flows} {source.kind}",
                source.control or "–",
                time_span(source.round_trip_s) if source.tcp else "–",
                "–",
            ]
            for source in outline.sources
        ]
        headings = ("", "rate, or control", "delay, or round trip", "limit")
        return html_table(f"{title} · {plain(outline.duration)} s from {plain(outline.warmup)} s", headings, rows)

    def __getstate__(self) -> tuple[dict[str, Any], str | None]:
        return self.written_out()._tree, self.source

    def __setstate__(self, state: tuple[dict[str, Any], str | None]) -> None:
        self._tree, self.source = state
        self._core = None


def _hash(value: Any) -> int:
    """Of a plain tree: the same for all that are equal, whatever their order."""
    if isinstance(value, dict):
        return hash(frozenset((name, _hash(item)) for name, item in value.items()))
    if isinstance(value, list):
        return hash(tuple(map(_hash, value)))
    try:
        return hash(value)
    except TypeError:
        return hash(type(value))


_SINGLE = frozenset({str, int, float, bool})


def _plain(value: Any, depth: int = 0) -> Any:
    """A deep copy in plain dicts and lists, with generated dataclasses written out.

    Raises:
        ScenarioError: deeper than anything that has a meaning.
    """
    if type(value) in _SINGLE:
        return value
    if depth > paths.DEEPEST:
        raise ScenarioError([("", f"tables and lists are nested more than {paths.DEEPEST} deep.")])
    if is_dataclass(value) and hasattr(value, "to_tree"):
        return _plain(value.to_tree(), depth)
    if isinstance(value, Mapping):
        return {str(name): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if hasattr(value, "item") and callable(value.item) and getattr(value, "ndim", None) == 0:
        return value.item()  # a NumPy scalar
    return value


LARGEST_FILE = 2**26
"""Bytes of a scenario file: one of 10^5 groups has 2 * 10^7."""


def _read(path: Path) -> bytes:
    """A file that ends. Pipes are read (`<(…)`, /dev/stdin); one that nobody writes to would be waited for.

    Raises:
        ScenarioError: it is longer than any scenario, or such a pipe.
    """
    # Opened without waiting a pipe without a writer is empty at once; what `<(…)` gives has a writer already.
    is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ScenarioError([("", f"is longer than {LARGEST_FILE >> 20} MiB, the largest scenario file.")])
    if is_pipe and not data:
        raise ScenarioError([("", "is an empty pipe; a scenario is one TOML file.")])
    return data


def _unread(error: Exception) -> str:
    """Of a file that the reader of TOML gives up on without saying where."""
    if isinstance(error, RecursionError):
        return f"tables and lists are nested more than {paths.DEEPEST} deep."
    if "digits" in str(error):
        return "a whole number in it has more than 4,300 digits."
    return f"cannot be read: {error}."


def _missing(path: Path) -> str:
    from ..errors import nearest

    try:
        beside = [p.name for p in path.parent.iterdir() if p.suffix == ".toml"]
    except OSError:
        return "there is no such file, nor its folder."
    guess = nearest(path.name, beside)
    return f"there is no such file. Did you mean {path.with_name(guess)}?" if guess else "there is no such file."


def parse_setting(text: str) -> tuple[str, Any]:
    """Split `path=value` as `--set` takes it: the value is read as TOML, else it is a string.

    Raises:
        UsageError: no `=`, or no path before it.
    """
    if not is_text(text):
        raise UsageError(f"--set {text!a}: is not UTF-8 text.")
    path, equals, value = _split_setting(text)
    if not equals:
        raise UsageError(f'--set {text}: write path=value, such as --set links.bottleneck.delay="50 ms".')
    paths.parse(path)
    try:
        read = tomllib.loads(f"value = {value}")
        _plain(read)
    except tomllib.TOMLDecodeError:
        return path, value.strip()
    except ScenarioError as error:
        raise UsageError(f"--set {path}: {error.errors[0][1]}") from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"--set {path}: {_unread(error).replace(' in it ', ' ')}") from None
    return path, read["value"] if len(read) == 1 else value.strip()


def _split_setting(text: str) -> tuple[str, str, str]:
    """Split at the first `=` outside quotes."""
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "=":
            return text[:at].strip(), "=", text[at + 1 :]
    return text, "", ""


def available_memory() -> int | None:
    """Bytes this process may still take.

    What the kernel calls available, or the rest of a control group around it or of the process's own limit
    (`ulimit -v`) if less; None if unknown.
    """
    free = [*_below_limit(), *control_groups.left()]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    return min(free) if free else None


def _below_limit() -> list[int]:
    """What RLIMIT_AS leaves of the address space, if there is such a limit and the kernel says what is taken."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return []
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return []
    return [max(0, limit - taken)]


HELD = 1
"""Memory for a run's series in addition to the engine's bound, in multiples of their bytes: arrays grow by doubling."""
WRITTEN = 10
"""The same with a run's folder: a frame, Parquet and CSV."""
STORED = 3
"""The same with the run cache: a file that is put together in memory, of one run at a time."""


def require_memory(scenario: Scenario, at_once: int = 1, *, copies: int = HELD) -> None:
    """Refuse runs that need more memory than is free, by a lower bound. Runs have a limit of their own.

    Args:
        at_once: runs at the same time.
        copies: memory for the series of one run, in multiples of their bytes: `HELD`, `WRITTEN`, `STORED`.

    Raises:
        EvenflowError: with the bound, the free memory, and values that would fit.
    """
    from .fitting import needed, that_fit

    need = scenario.core.memory_bytes
    require_bytes(need, at_once, needed(scenario, copies) - need, lambda free: that_fit(scenario, copies, free))


def require_bytes(
    need: int, at_once: int = 1, more: int = 0, what_fits: Callable[[int], list[str]] = lambda _: []
) -> None:
    """Refuse runs of which each would need so many bytes, and `more` in addition. See `require_memory`."""
    free = available_memory()
    if free is None or need * at_once + more <= free:
        return
    one = at_once == 1 or need + more > free
    fits = (free - more) // need if need else 0
    if fits >= 1:
        advice = f"Use --jobs {fits}."
    elif values := what_fits(free):
        advice = f"It would fit with {', or '.join(values)}; or use a machine with more memory."
    else:
        advice = "Use fewer users or flows, a longer interval of series, a shorter duration, or more memory."
    beside = f", {gib(more)} of it for series while they are written" if more > need * (1 if one else at_once) else ""
    raise EvenflowError(
        f"{'One run' if one else f'{at_once} runs at once'} of this scenario would need at least "
        f"{gib(need * (1 if one else at_once) + more)} of memory{beside}; {gib(free)} are free here. {advice}"
    )


def gib(count: int) -> str:
    """Bytes of memory, for a sentence."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
