"""What viewers make of a video, from what a record says that they saw.

A run measures when video played, stalled and was waited for, and at which bitrates it was asked for
(`groups.G.video`). What that is worth to a viewer is a model, and models differ: they are plain functions here, which
take arrays and can be asked without a run.

>>> import evenflow as ef
>>> round(float(ef.qoe.hossfeld_2013(stalls=1, mean_stall_s=1.0)), 3)
3.991

Not here: ITU-T P.1203, which needs the instants of all stalls and what the codec made of each second.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UsageError, nearest

__all__ = [
    "MODELS",
    "Adaptive",
    "Viewing",
    "adaptive",
    "assigned",
    "congestion_rate",
    "convergence",
    "hossfeld_2013",
    "infidelity",
    "infidelity_continuous",
    "instability",
    "levels_at",
    "mok_2011",
    "most_representative",
    "of",
    "off_share",
    "viewings",
    "yin_2015",
]

if TYPE_CHECKING:
    from ..run.record import Record

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Viewing:
    """What one viewer saw in the window of a run.

    Videos asked for, started and shown to their end; the mean time to a start (None: nothing started); stalls and their
    length in all; time played and waited for a start; mean bitrate of what was asked for (None: nothing). Of adaptive
    video the chunks asked for, how many had another level than the one before, and by how many bit/s the bitrate went
    up and down in all (of other video None); when the first video was asked for, and the changes of level that were
    asked for, came in and were shown, (instant in s, level) each, for `levels_at`; the bitrates of the levels and the
    end of the window (None where the record does not tell them), and what works out the level that a manager gave.
    """

    asked: int
    started: int
    finished: int
    startup_s: float | None
    stalls: int
    stall_s: float
    played_s: float
    waited_s: float
    bitrate_bps: float | None
    chunks: int | None = None
    switches: int | None = None
    switched_bps: float | None = None
    asked_s: float | None = None
    levels: Sequence[tuple[float, int]] | None = None
    levels_received: Sequence[tuple[float, int]] | None = None
    levels_shown: Sequence[tuple[float, int]] | None = None
    ladder_bps: Sequence[float] | None = None
    until_s: float | None = None
    manager: Callable[[], Sequence[tuple[float, int]]] | None = field(default=None, repr=False, compare=False)

    @property
    def best(self) -> Sequence[tuple[float, int]]:
        """The changes of the best level: what the one stage of policy “levels” gave (`adaptive`).

        Raises:
            UsageError: there is none, or what it gave cannot be told from the record.
        """
        if self.manager is None:
            raise UsageError("the best level is not known: there are no levels, or no manager that gives them.")
        return self.manager()

    @property
    def mean_stall_s(self) -> float:
        """Mean length of a stall, 0 without any."""
        return self.stall_s / self.stalls if self.stalls else 0.0


def viewings(record: Record, group: str) -> list[Viewing]:
    """What each user of a group saw, in their order.

    Raises:
        UsageError: there is no such group, or its users watch no video.
    """
    video = _video(record, group)

    def column(name: str) -> Sequence[Any]:
        return video.get(f"users_{name}") or [None] * len(video["users_asked"])

    names = ("asked", "started", "finished", "startup_s", "stalls", "stall_s", "played_s", "waited_s", "bitrate_bps")
    of_adaptive = ("chunks", "switches", "switched_bps", "asked_s", "levels", "levels_received", "levels_shown")
    seen = [Viewing(*row) for row in zip(*(column(name) for name in (*names, *of_adaptive)), strict=True)]
    if "users_levels" not in video:
        return seen
    try:
        ladder = _ladder(record, group)
    except UsageError:
        ladder = None
    until = float(record.json["window_s"][1])
    return [
        replace(one, ladder_bps=ladder, until_s=until, manager=partial(_by_manager, record, group, user, "manager"))
        for user, one in enumerate(seen)
    ]


def _video(record: Record, group: str) -> Mapping[str, Any]:
    """What a record says of a group's video."""
    groups: Mapping[str, Any] = record.json["groups"]
    if group not in groups:
        guess = nearest(group, groups)
        hint = f"did you mean “{guess}”?" if guess else f"there are {', '.join(groups)}."
        raise UsageError(f"no group “{group}”; {hint}")
    video = groups[group].get("video")
    if video is None:
        raise UsageError(f"the users of “{group}” watch no video; name a group with traffic youtube or has.")
    found: Mapping[str, Any] = video
    return found


def hossfeld_2013(stalls: ArrayLike, mean_stall_s: ArrayLike) -> Floats:
    """Opinion on a scale of five by the number N and mean length L of stalls: 3.5 exp(-(0.15 L + 0.19) N) + 1.5.

    Hoßfeld, Schatz, Biersack and Plissonneau 2013 (LNCS 7754, pp. 264-301), as equation 2 of Sanhaji et al. 2015.
    From crowds who saw YouTube videos of 30 s with up to six stalls; the wait before the start does not count. Arrays
    broadcast.
    """
    n, length = np.asarray(stalls, float), np.asarray(mean_stall_s, float)
    return np.asarray(3.5 * np.exp(-(0.15 * length + 0.19) * n) + 1.5)


def mok_2011(startup_s: ArrayLike, stalls: ArrayLike, mean_stall_s: ArrayLike, watched_s: ArrayLike) -> Floats:
    """Opinion on a scale of five: 4.23 - 0.0672 T - 0.742 F - 0.106 D, each of three levels.

    Mok, Chan and Chang 2011 (IM 2011, section V): T is 1 for a start within 1 s, 2 within 5 s, else 3; F for up to
    0.02 stalls per second, up to 0.15, else; D for stalls of up to 5 s, up to 10 s, else. Stalls are counted over
    `watched_s`, the time played and stalled. Arrays broadcast.
    """

    def level(x: ArrayLike, low: float, high: float) -> Floats:
        x = np.asarray(x, float)
        return np.where(np.isnan(x), np.nan, 1.0 + (x > low) + (x > high))

    n, watched = np.asarray(stalls, float), np.asarray(watched_s, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        frequency = np.where(n == 0, 0.0, n / watched)
    delays = (level(startup_s, 1, 5), level(frequency, 0.02, 0.15), level(mean_stall_s, 5, 10))
    return np.asarray(4.23 - 0.0672 * delays[0] - 0.742 * delays[1] - 0.106 * delays[2])


def yin_2015(
    bitrate_bps: ArrayLike,
    chunks: ArrayLike,
    switched_bps: ArrayLike,
    stall_s: ArrayLike,
    startup_s: ArrayLike,
    *,
    switching: float = 1.0,
    stalling: float = 3000.0,
    starting: float = 3000.0,
) -> Floats:
    """Quality of adaptive video in kbit/s times chunks: that of all chunks, less switches, stalls and the start.

    Yin, Jindal, Sekar and Sinopoli 2015 (SIGCOMM), equation 5, quality being the bitrate in kbit/s. The weights are
    λ, μ and μs; the defaults are those of its section 7.1, "balanced"; (3, 3000, 3000) avoids instability, (1, 6000,
    6000) stalls.

    Args:
        bitrate_bps: mean over the chunks asked for.
        switched_bps: sum of what the bitrate changed by from one chunk to the next.
        stall_s: in all. Arrays broadcast.
    """
    quality = np.asarray(bitrate_bps, float) * np.asarray(chunks, float) / 1e3
    switches = switching * np.asarray(switched_bps, float) / 1e3
    return np.asarray(
        quality - switches - stalling * np.asarray(stall_s, float) - starting * np.asarray(startup_s, float)
    )


Model = Callable[[Viewing], float]


def _mok(seen: Viewing) -> float:
    watched = seen.played_s + seen.stall_s
    return float(mok_2011(_or_nan(seen.startup_s), seen.stalls, seen.mean_stall_s, watched))


def _yin(seen: Viewing) -> float:
    if seen.chunks is None:
        raise UsageError("model “yin-2015” is of adaptive video: chunks that have levels.")
    given = (_or_nan(seen.bitrate_bps), seen.chunks, seen.switched_bps or 0.0, seen.stall_s, _or_nan(seen.startup_s))
    return float(yin_2015(*given))


def _watched(seen: Viewing, model: str) -> tuple[float, int, Sequence[tuple[float, int]]] | None:
    """From when on, for how many whole seconds, and the changes of level, of adaptive video; None where the viewer's
    first request is not in the window, from which on these models look."""
    if seen.levels is None:
        raise UsageError(f"model “{model}” is of adaptive video: chunks that have levels.")
    if seen.until_s is None:
        raise UsageError(f"model “{model}” needs the end of the window (until_s), which this viewing does not tell.")
    if seen.asked_s is None:
        return None
    seconds = max(1, round(seen.until_s - seen.asked_s))
    return float(seen.asked_s), seconds, [(float(at), int(level)) for at, level in seen.levels]


def _unstable(seen: Viewing) -> float:
    name = "ben-ameur-2016-is"
    watched = _watched(seen, name)
    if seen.ladder_bps is None:
        raise UsageError(f"model “{name}” needs the bitrates of the levels, which the record does not tell.")
    if watched is None:
        return math.nan
    since, seconds, changes = watched
    levels = levels_at(changes, since + np.arange(seconds + 1))
    return instability(np.asarray(seen.ladder_bps, float)[levels])


def _unfaithful(seen: Viewing) -> float:
    watched = _watched(seen, "ben-ameur-2016-if")
    if watched is None:
        return math.nan
    since, seconds, changes = watched
    return infidelity_continuous(changes, list(seen.best), since, since + seconds)


def _or_nan(x: float | None) -> float:
    return np.nan if x is None else x


MODELS: dict[str, Model] = {
    "hossfeld-2013": lambda seen: float(hossfeld_2013(seen.stalls, seen.mean_stall_s)),
    "mok-2011": _mok,
    "yin-2015": _yin,
    "ben-ameur-2016-is": _unstable,
    "ben-ameur-2016-if": _unfaithful,
}
"""Models by name: what a `Viewing` is worth; of the last two, instability and infidelity in percent, less is better,
not a number where the viewer's first request came before the window. A model of your own is a function that `of` takes
as it is."""


def of(record: Record, group: str, model: str | Model = "hossfeld-2013") -> Floats:
    """What each user of a group makes of what he saw, shape (users,).

    A user who asked for a video that never started has not a number: a model of stalls would call that perfect. So
    has one who asked for none; and, by the models of Ben Ameur et al. 2016, which look from the first request on, one
    whose first request came before the window (`adaptive` looks at him from `since` on).

    Args:
        model: a name in `MODELS`, or a function of a `Viewing`.

    Raises:
        UsageError: no such group or model, the group watches no video, or the model does not fit its kind.
    """
    if isinstance(model, str):
        if model not in MODELS:
            guess = nearest(model, MODELS)
            hint = f"did you mean “{guess}”?" if guess else f"there are {', '.join(MODELS)}."
            raise UsageError(f"no QoE model “{model}”; {hint}")
        model = MODELS[model]
    seen = viewings(record, group)
    shown = [one.played_s > 0 or one.stalls > 0 for one in seen]
    return np.array([model(one) if any_ else np.nan for one, any_ in zip(seen, shown, strict=True)])


# --- adaptive video -------------------------------------------------------------------------------------------------


def levels_at(changes: Sequence[tuple[float, int]], instants: ArrayLike, first: int = 0) -> NDArray[np.int64]:
    """The level that was asked for last at each of some instants (s); `first` before anything was.

    Args:
        changes: (instant in s, level) of each request for another level: `groups.G.video.users_levels[n]` of a record.
    """
    times = np.array([at for at, _ in changes], float)
    levels = np.array([first, *(level for _, level in changes)], int)
    return levels[np.searchsorted(times, np.asarray(instants, float), side="right")]


def instability(bitrates_bps: ArrayLike, *, weights: str = "early") -> float:
    """How much a video's bitrate changes over time, in percent, by bitrates at 0, 1, …, K s.

    Ben Ameur et al. 2016, equation 1, with weights that fall from K to 1 over time ("early": the reading by which the
    tables of the paper can have been computed), or rise ("late": the equation as printed).
    """
    q = np.asarray(bitrates_bps, float)
    k = len(q) - 1
    if k < 1:
        raise UsageError("instability needs bitrates at two or more instants.")
    falling = np.arange(k, 0, -1, dtype=float)
    if weights == "early":
        jumps, rates = np.abs(np.diff(q)), q[:-1]
        return float(100 * (jumps @ falling) / (rates @ falling))
    if weights == "late":
        # w(i) = K - i, of |Q(K-i) - Q(K-i-1)| from i = 0 and of Q(K-i) from i = 1, where w(K) = 0.
        reverse = q[::-1]
        return float(100 * (np.abs(np.diff(reverse)) @ falling) / (reverse[1:k] @ falling[1:]))
    raise UsageError(f"weights are “early” or “late”, not “{weights}”.")


def infidelity(levels: ArrayLike, optimal: ArrayLike) -> float:
    """Share of the time in which another level than the best is asked for, in percent, by levels at 1, 2, …, K s.

    Ben Ameur et al. 2016, equation 2. With levels at finer instants it is the share of them. `optimal` broadcasts.
    """
    return float(100 * np.mean(np.asarray(levels) != np.asarray(optimal)))


def convergence(levels: ArrayLike, optimal: ArrayLike, hold: int = 60) -> int:
    """After how many seconds the best level is reached and held for `hold` more, by levels at 1, 2, …, K s; K if never.

    Ben Ameur et al. 2016, equation 3: the smallest d for which the level is optimal at d, d + 1, …, d + hold, all
    within K.

    Raises:
        UsageError: `hold` is no whole number of at least 0.
    """
    if why := _wrong_hold(hold):
        raise UsageError(f"{why}.")
    right = np.asarray(levels) == np.asarray(optimal)
    k = len(right)
    for d in range(1, k - hold + 1):
        if right[d - 1 : d + hold].all():
            return d
    return k


def _wrong_hold(hold: Any) -> str:
    """What is wrong with T."""
    whole = isinstance(hold, (int, np.integer)) and not isinstance(hold, bool)
    return "" if whole and hold >= 0 else f"hold must be a whole number of seconds of at least 0, it is {hold!r}"


def infidelity_continuous(
    changes: Sequence[tuple[float, int]],
    optimal: int | Sequence[tuple[float, int]],
    since_s: float,
    until_s: float,
    first: int = 0,
) -> float:
    """The same in continuous time, from `since_s` to `until_s`: share of the time at another level than the best.

    Args:
        changes: (instant in s, level) of each change; `first` is the level before.
        optimal: the best level, or its changes likewise.
    """
    if until_s <= since_s:
        raise UsageError("a share of the time needs an end behind its beginning.")
    best = [(since_s, optimal)] if isinstance(optimal, int) else optimal
    inner = {float(at) for at, _ in (*changes, *best) if since_s < at < until_s}
    edges = np.array([since_s, *sorted(inner), until_s])
    wrong = levels_at(changes, edges[:-1], first) != levels_at(best, edges[:-1])
    return float(100 * np.sum(np.diff(edges)[wrong]) / (until_s - since_s))


def assigned(
    sessions: Sequence[tuple[float, float]],
    *,
    rate_bps: float,
    ladder_bps: Sequence[float],
    margin: float = 1.1,
) -> list[list[tuple[float, int]]]:
    """The level that a manager of policy “levels” gives each session: its changes, as `optimal` is given.

    Ben Ameur et al. 2016, section 2.6, as `bandwidth-manager` and `window-tuner` do it: the highest level that fits
    into an equal share, then a level more for one after another, in the order of their opening, while all of them fit.

    >>> assigned([(0, 60), (20, 60)], rate_bps=8e6, ladder_bps=[248e3, 456e3, 928e3, 1632e3, 4256e3])
    [[(0, 4)], [(20, 3)]]

    Args:
        sessions: when each opens and closes, in s.
        rate_bps: what all get together.
        ladder_bps: the bitrates of the levels, rising.
        margin: times which a level's bitrate is given.
    """
    line, costs = Fraction(str(rate_bps)), [Fraction(str(margin)) * Fraction(str(bitrate)) for bitrate in ladder_bps]
    found: list[list[tuple[float, int]]] = [[] for _ in sessions]
    for at in sorted({instant for session in sessions for instant in session}):
        there = [n for n, (opens, closes) in enumerate(sessions) if opens <= at < closes]
        there.sort(key=lambda n: sessions[n][0])
        fair = max((k for k, cost in enumerate(costs) if cost * len(there) <= line), default=0)
        levels, before = [fair] * len(there), None
        while levels != before:
            before = list(levels)
            for n, level in enumerate(levels):
                others = sum((costs[k] for k in levels), Fraction()) - costs[level]
                if level + 1 < len(costs) and others + costs[level + 1] <= line:
                    levels[n] += 1
        for n, level in zip(there, levels, strict=True):
            if not found[n] or found[n][-1][1] != level:
                found[n].append((at, level))
    return found


def congestion_rate(falls: int, seconds: float) -> float:
    """Falls of a sender's slow-start threshold in 100 s (Ben Ameur et al. 2016, equation 4).

    Args:
        seconds: over which they were counted.

    Raises:
        UsageError: `seconds` is not more than 0, or there are less than no falls.
    """
    wrong = [f"seconds must be finite and more than 0, it is {seconds:g}"] if not 0 < seconds < math.inf else []
    wrong += [f"falls must be at least 0, it is {falls}"] if falls < 0 else []
    if wrong:
        raise UsageError(f"no congestion rate: {'; '.join(wrong)}.")
    return 100 * falls / seconds


def off_share(idle_periods: int, chunks: int) -> float:
    """Share of the chunks that follow an off period longer than the sender's timeout (Ben Ameur et al. 2016, fr_OFF*).

    Not a number where there is no chunk.
    """
    return idle_periods / chunks if chunks else math.nan


@dataclass(frozen=True)
class Adaptive:
    """The measures of Ben Ameur et al. 2016, section 3.2, of one viewer, and what they leave out.

    Instability in percent with early weights, by which the tables of the paper can have been computed, and as equation
    1 is printed; infidelity in percent in continuous time and by seconds, and the convergence time in s (all of the
    time where it never converges), these three None where nobody said what is best; falls of the slow-start threshold
    in 100 s as the kernel has them and as its probe sees them; the share of chunks behind a long off period; the wait
    for the start (None: nothing started); stalls and their length in all; the time average of the bitrate asked for;
    how often the level changed; chunks that came in whole.
    """

    instability: float
    instability_printed: float
    infidelity: float | None
    infidelity_by_second: float | None
    convergence_s: int | None
    congestion_rate: float
    congestion_rate_probed: float
    off_share: float
    startup_s: float | None
    stalls: int
    stall_s: float
    bitrate_bps: float
    switches: int
    chunks: int

    def captions(self) -> dict[str, float]:
        """The five measures as the paper prints them under its figures: cut after two decimals, and not rounded."""
        told = {
            "IS": self.instability,
            "IF": self.infidelity,
            "V": self.convergence_s,
            "fr": self.off_share,
            "CNG": self.congestion_rate,
        }
        # What is a decimal but for the last digits of its binary form is one.
        return {name: math.floor(x * 100 + 1e-6) / 100 for name, x in told.items() if x is not None and x == x}


def adaptive(
    record: Record,
    group: str,
    user: int = 0,
    *,
    optimal: int | Sequence[tuple[float, int]] | str | None = None,
    ladder: Sequence[float] | None = None,
    since: float | None = None,
    seconds: int | None = None,
    hold: int = 60,
    of: str = "asked",
) -> Adaptive:
    """The measures of one viewer of adaptive video.

    What is counted (falls, off periods, stalls, chunks) is counted over the window of the run, so a run whose window is
    the viewer's own time fits best.

    Args:
        optimal: the best level, numbered from 0, or its changes: (instant of the run in s, level). Whoever assigns
            levels knows it: “manager” is what the one stage of policy “levels” gives, where all that crosses it are
            players that stay.
        ladder: bitrates of the levels in bit/s; default: those of the scenario.
        since: when the viewer began, in s of the run; default: his first request.
        seconds: K, how long he is looked at; default: to the end of the window, in whole seconds.
        hold: T in s, how long the best level must be kept to count as reached; at least 0.
        of: the level that is "asked" for, "received" or "shown".

    Raises:
        UsageError: no such group or user, its video is not adaptive, nothing was asked for, the ladder is not known or
            has not the levels asked for or called best, or an argument makes no sense; all that is wrong at once.
    """
    video = _video(record, group)
    if "users_levels" not in video:
        raise UsageError(f"the video of “{group}” has no levels; these measures are of adaptive video.")
    since, seconds, bitrates, changes = _looked_at(
        record, group, user, video, since, seconds, ladder, of, optimal, hold
    )
    levels = levels_at(changes, since + np.arange(seconds + 1))
    edges = np.array([since, *(at for at, _ in changes if since < at < since + seconds), since + seconds])
    mean = float(bitrates[levels_at(changes, edges[:-1])] @ np.diff(edges)) / seconds
    distances: dict[str, Any] = {"infidelity": None, "infidelity_by_second": None, "convergence_s": None}
    if optimal is not None:
        if isinstance(optimal, str):
            optimal = _by_manager(record, group, user, optimal)
        best = [(-math.inf, optimal)] if isinstance(optimal, int) else list(optimal)
        wanted = levels_at(best, since + np.arange(1, seconds + 1))
        distances = {
            "infidelity": infidelity_continuous(changes, best, since, since + seconds),
            "infidelity_by_second": infidelity(levels[1:], wanted),
            "convergence_s": convergence(levels[1:], wanted, hold),
        }
    chunks = video["users_chunks_received"][user]
    return Adaptive(
        instability=instability(bitrates[levels]),
        instability_printed=instability(bitrates[levels], weights="late") if seconds > 1 else math.nan,
        **distances,
        congestion_rate=congestion_rate(video["users_threshold_falls"][user], seconds),
        congestion_rate_probed=congestion_rate(video["users_probed_threshold_falls"][user], seconds),
        off_share=off_share(video["users_idle_periods"][user], chunks),
        startup_s=video["users_startup_s"][user],
        stalls=video["users_stalls"][user],
        stall_s=video["users_stall_s"][user],
        bitrate_bps=mean,
        switches=video["users_switches"][user],
        chunks=chunks,
    )


def _looked_at(
    record: Record,
    group: str,
    user: int,
    video: Mapping[str, Any],
    since: float | None,
    seconds: int | None,
    ladder: Sequence[float] | None,
    of: str,
    optimal: int | Sequence[tuple[float, int]] | str | None,
    hold: int,
) -> tuple[float, int, Floats, list[tuple[float, int]]]:
    """From when on, for how many seconds, the bitrates, and the changes of level; or all that is wrong with a call."""
    wrong: list[str] = []
    users = len(video["users_levels"])
    there = 0 <= user < users
    if not there:
        wrong.append(f"“{group}” has {users} user{'s' if users != 1 else ''}, numbered from 0; there is no {user}")
    lists = {"asked": "users_levels", "received": "users_levels_received", "shown": "users_levels_shown"}
    if of not in lists:
        wrong.append(f"levels are {', '.join(f'“{name}”' for name in lists)}, not “{of}”")
    changes = [(float(at), int(level)) for at, level in video[lists[of]][user]] if there and of in lists else []
    if since is None and there:
        since = video["users_asked_s"][user]
        if since is None and video["users_levels"][user]:
            wrong.append(f"the first request of user {user} of “{group}” came before the window: give since")
        elif since is None:
            wrong.append(f"user {user} of “{group}” asked for no video in the window: give since")
    if seconds is None and since is not None:
        seconds = round(float(record.json["window_s"][1]) - since)
    if seconds is not None and seconds < 1:
        wrong.append(f"user {user} of “{group}” is measured for {seconds} s; at least one second is needed")
    wrong += [why] if (why := _wrong_hold(hold)) else []
    try:
        bitrates = np.asarray(_ladder(record, group) if ladder is None else ladder, float)
    except UsageError as error:
        raise UsageError("; ".join([*wrong, str(error)])) from None
    highest = max((level for _, level in changes), default=0)
    if highest >= len(bitrates):
        wrong.append(f"level {highest} was asked for, but the ladder has {len(bitrates)} levels")
    best = [optimal] if isinstance(optimal, int) else []
    if optimal is not None and not isinstance(optimal, (int, str)):
        best = [level for _, level in optimal]
    odd = [level for level in dict.fromkeys(best) if not 0 <= level < len(bitrates)]
    if odd:
        told = ", ".join(map(str, odd))
        wrong.append(f"optimal is {told}, but the ladder has {len(bitrates)} levels, numbered from 0")
    if wrong or since is None or seconds is None:
        raise UsageError(f"{'; '.join(wrong)}.")
    return since, seconds, bitrates, changes


def _by_manager(record: Record, group: str, user: int, word: str) -> list[tuple[float, int]]:
    """The level that the stage of policy “levels” gives a viewer. A session opens with the first request."""
    if word != "manager" or record.scenario is None:
        raise UsageError("optimal is a level, its changes, or “manager” with a record that knows its scenario.")
    tree = json.loads(record.scenario.core.canonical)
    groups = tree["groups"]
    names = [name for name, stage in tree.get("stages", {}).items() if stage.get("policy") == "levels"]
    names = [name for name in names if name in groups[group]["path"]]
    if len(names) != 1:
        raise UsageError(
            f"{len(names) or 'no'} stages of policy “levels” are on the path of “{group}”; give the changes."
        )
    stage, start, end = tree["stages"][names[0]], float(record.json["window_s"][0]), float(record.json["window_s"][1])
    sessions: list[tuple[float, float]] = []
    own = 0
    for name, table in groups.items():
        if names[0] not in {leg.removeprefix("-") for leg in table["path"]}:
            continue
        traffic = table["traffic"] if isinstance(table["traffic"], list) else [table["traffic"]]
        stays = all("adaptation" in one and not {"until", "length", "arrivals"} & set(one) for one in traffic)
        if not stays or len(traffic) > 1 or start > 0 or "per" in stage or stage.get("session", "user") != "user":
            raise UsageError(
                f"The record does not show the shares that {names[0]} assigned. “manager” needs players without until "
                "and length, no other traffic, and no warmup. Give the changes with ef.qoe.assigned(sessions, …)."
            )
        if name == group:
            own = len(sessions) + user
        asked = record.json["groups"][name]["video"]["users_asked_s"]
        sessions += [(end if at is None else float(at), end) for at in asked]
    ladder = [float(rate.removesuffix(" bit/s")) for rate in stage["ladder"]]
    line = float(str(stage["rate"]).removesuffix(" bit/s"))
    return assigned(sessions, rate_bps=line, ladder_bps=ladder, margin=stage["margin"])[own]


def _ladder(record: Record, group: str) -> list[float]:
    """Bitrates of the levels of a group's video, by the scenario of its record."""
    if record.scenario is None:
        raise UsageError("the record does not know its scenario: give ladder, the bitrates of the levels in bit/s.")
    traffic = json.loads(record.scenario.core.canonical)["groups"][group]["traffic"]
    found = [one["ladder"] for one in (traffic if isinstance(traffic, list) else [traffic]) if "ladder" in one]
    if any(one != found[0] for one in found):
        raise UsageError(f"the users of “{group}” watch videos of several ladders: give ladder.")
    return [float(rate.removesuffix(" bit/s")) for rate in found[0]]


def most_representative(rows: ArrayLike) -> int:
    """Which of some runs is nearest to the mean of all, by measures of shape (runs, measures).

    Each difference is taken in standard deviations; a measure that does not vary does not count. Of two that are as
    near the first; runs with a measure that is not a number are left out.
    """
    x = np.asarray(rows, float)
    known = np.isfinite(x).all(axis=1)
    if x.ndim != 2 or not known.any():
        raise UsageError("no run has all measures.")
    mean, spread = x[known].mean(axis=0), x[known].std(axis=0)
    far = (((x - mean) / np.where(spread > 0, spread, np.inf)) ** 2).sum(axis=1)
    return int(np.argmin(np.where(known, far, np.inf)))
