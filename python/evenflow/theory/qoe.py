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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UsageError, nearest

__all__ = [
    "MODELS",
    "Viewing",
    "convergence",
    "hossfeld_2013",
    "infidelity",
    "instability",
    "levels_at",
    "mok_2011",
    "of",
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
    up and down in all (of other video None).
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

    @property
    def mean_stall_s(self) -> float:
        """Mean length of a stall, 0 without any."""
        return self.stall_s / self.stalls if self.stalls else 0.0


def viewings(record: Record, group: str) -> list[Viewing]:
    """What each user of a group saw, in their order.

    Raises:
        UsageError: there is no such group, or its users watch no video.
    """
    groups: Mapping[str, Any] = record.json["groups"]
    if group not in groups:
        guess = nearest(group, groups)
        hint = f"did you mean “{guess}”?" if guess else f"there are {', '.join(groups)}."
        raise UsageError(f"no group “{group}”; {hint}")
    video = groups[group].get("video")
    if video is None:
        raise UsageError(f"the users of “{group}” watch no video, which is what a quality of experience is made of.")

    def column(name: str) -> Sequence[Any]:
        return video.get(f"users_{name}") or [None] * len(video["users_asked"])

    names = ("asked", "started", "finished", "startup_s", "stalls", "stall_s", "played_s", "waited_s", "bitrate_bps")
    adaptive = ("chunks", "switches", "switched_bps")
    return [Viewing(*row) for row in zip(*(column(name) for name in (*names, *adaptive)), strict=True)]


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


def _or_nan(x: float | None) -> float:
    return np.nan if x is None else x


MODELS: dict[str, Model] = {
    "hossfeld-2013": lambda seen: float(hossfeld_2013(seen.stalls, seen.mean_stall_s)),
    "mok-2011": _mok,
    "yin-2015": _yin,
}
"""Models by name: what a `Viewing` is worth. A model of your own is a function that `of` takes as it is."""


def of(record: Record, group: str, model: str | Model = "hossfeld-2013") -> Floats:
    """What each user of a group makes of what he saw, shape (users,).

    A user who asked for a video that never started has not a number: a model of stalls would call that perfect. So
    has one who asked for none.

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
        raise UsageError("instability needs the bitrates at two instants at least.")
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
    """
    right = np.asarray(levels) == np.asarray(optimal)
    k = len(right)
    for d in range(1, k - hold + 1):
        if right[d - 1 : d + hold].all():
            return d
    return k
