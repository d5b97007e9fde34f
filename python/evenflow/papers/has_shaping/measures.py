"""The paper's five measures of a client in a run, and where to find a cell of its tables.

IS: instability, %. IF: infidelity, %. V: convergence time, s. CNG: falls of the slow-start threshold in 100 s. fr:
chunks that follow an off period longer than the sender's timeout, of all chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow import qoe
from evenflow.lab import Floats, Lab, Measure, Spot, plain, scaled

from . import network as net
from .network import CLIENT_1, CLIENT_2, JOINS_S, NONE, S3

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenflow.claims import Data
    from evenflow.study import Label, Run

    from .choices import Options

ONE, TWO = 1, 2
"""Client 1 and client 2, by the paper's words."""
METRICS = ("IS", "IF", "V", "CNG", "fr")
QUALITY = ("IS", "IF", "V")
"""What a viewer notices."""


# --- One client in one run ------------------------------------------------------------------------------------------


def _viewed(o: Options, run: Run, group: str, best: int) -> qoe.Adaptive | None:
    """The measures of a group's one user, from when he starts; None if he does not."""
    asked = run.json["groups"][group]["video"]["users_asked_s"][0]
    if asked is None:
        return None
    since = float(asked)
    end = JOINS_S if group == CLIENT_2 and run.labels.get("scenario") == S3 else net.DURATION_S
    return qoe.adaptive(
        run.record,
        group,
        optimal=best,
        ladder=[rate * 1e3 for rate in net.LADDER_KBPS],
        since=since,
        seconds=round(end - since),
        hold=net.HOLD_S,
        of=o.level,
    )


def group_of(o: Options, client: int, run: Run) -> str:
    """Which group is client 1, or client 2 (option `clients`, where nobody shapes)."""
    groups = (CLIENT_1, CLIENT_2)
    if CLIENT_2 not in run.json["groups"] or run.labels.get("method") != NONE or o.clients == "fixed":
        return groups[client - 1]
    first, second = (_viewed(o, run, group, net.TOP) for group in groups)
    if first is None or second is None:
        return groups[client - 1]
    if o.clients == "bitrate":
        swapped = second.bitrate_bps > first.bitrate_bps
    else:
        swapped = (second.infidelity or 0.0) < (first.infidelity or 0.0)
    return groups[(client - 1) ^ swapped]


def adaptive(o: Options, client: int, run: Run) -> qoe.Adaptive | None:
    """All measures of client 1, whose best level is 4, or of client 2, whose best is 3."""
    return _viewed(o, run, group_of(o, client, run), net.TOP if client == ONE else net.SECOND)


def value(o: Options, client: int, name: str, run: Run) -> float | None:
    """A measure by its short name."""
    seen = adaptive(o, client, run)
    if seen is None:
        return None
    rate = seen.congestion_rate_probed if o.rate == "probed" else seen.congestion_rate
    if name == "CNG" and o.rate == "loss":
        rate = qoe.congestion_rate(reductions(o, client, run), net.DURATION_S)
    found = {
        "IS": seen.instability,
        "IS_printed": seen.instability_printed,
        "IF": seen.infidelity,
        "IF_by_second": seen.infidelity_by_second,
        "V": seen.convergence_s,
        "CNG": rate,
        "CNG_raw": seen.congestion_rate,
        "CNG_probed": seen.congestion_rate_probed,
        "fr": seen.off_share,
        "startup_s": seen.startup_s,
        "stall_s": seen.stall_s,
        "bitrate_kbps": seen.bitrate_bps / 1e3,
        "switches": seen.switches,
        "chunks": seen.chunks,
    }[name]
    return None if found is None else float(found)


def reductions(o: Options, client: int, run: Run) -> int:
    """Windows that were reduced after losses and timeouts, of both ends of the client's connection."""
    told = run.json["groups"][group_of(o, client, run)]["senders"]["reductions"]
    return int(told["loss"]) + int(told["timeout"])


def of(o: Options, name: str, client: int = ONE) -> Measure:
    """The same as a measure of a run."""
    return partial(value, o, client, name)


def delay(o: Options, client: int, run: Run) -> float | None:
    """Mean time that the client's packets wait at the gateway, ms."""
    classes = run.json["links"][net.LINK]["classes"]
    found = classes.get(group_of(o, client, run)) or classes["home"]
    return scaled(found["queue_delay_s_mean"], 1e3)


def sender(name: str, client: int, run: Run) -> float:
    """A counter of the client's server: "timeouts", "idle_periods", …"""
    return float(run.json["groups"][(CLIENT_1, CLIENT_2)[client - 1]]["video"][f"users_{name}"][0])


def numbers(o: Options, clients: Sequence[int] = (ONE,)) -> Mapping[str, Measure]:
    """The numbers of a table, as columns."""
    names = (*METRICS, "IS_printed", "IF_by_second", "CNG_raw", "CNG_probed", "bitrate_kbps", "startup_s", "stall_s")
    found: dict[str, Measure] = {}
    for client in clients:
        for name in names:
            found[f"{name}_{client}" if len(clients) > 1 else name] = of(o, name, client)
    return found


# --- Cells ----------------------------------------------------------------------------------------------------------


def spot(o: Options, data: Data, experiment: str, **labels: Label) -> Spot:
    """The runs of a cell.

    With the option threshold=mixture a run of NewReno with RWTM in scenario 1 is one of figure 3's, with the lower
    threshold in 43 of 100.
    """
    mixed = labels.get("control") == net.NEWRENO and labels.get("method") == net.RWTM and o.threshold == "mixture"
    if not mixed:
        return Lab(data[f"has_shaping-{experiment}"]).at(**labels)
    lab = Lab(data["has_shaping-fig03"])
    low, high = (lab.at(threshold=float(segments)).runs for segments in net.MIXED)
    share = net.MIXED_SHARE
    # evenly spread: run n is low where the share's multiple passes a whole number
    chosen = [a if int((n + 1) * share) > int(n * share) else b for n, (a, b) in enumerate(zip(low, high, strict=True))]
    return Spot(chosen)


def cell(o: Options, data: Data, experiment: str, name: str, client: int = ONE, /, **labels: Label) -> Floats:
    """A measure in all runs of a cell: shape (seeds,)."""
    return spot(o, data, experiment, **labels).of(of(o, name, client))


def mean_of(*arrays: Floats) -> Floats:
    """The mean of arrays, element by element."""
    found: Floats = np.mean(np.array(arrays), axis=0)
    return found


def badness(cells: Mapping[str, Mapping[str, Floats]]) -> dict[str, Floats]:
    """How bad each of some combinations is: IS, IF and V, each over its mean over all of them, averaged.

    Args:
        cells: combination -> measure -> values of shape (seeds,).
    """
    scale = {name: float(np.mean([np.nanmean(values[name]) for values in cells.values()])) for name in QUALITY}
    return {key: mean_of(*(values[name] / scale[name] for name in QUALITY)) for key, values in cells.items()}


# --- Series ---------------------------------------------------------------------------------------------------------

WINDOW = f"groups.{CLIENT_1}.users[0].flows[0].window"
THRESHOLD = f"groups.{CLIENT_1}.users[0].flows[0].ssthresh"


def windows(run: Run) -> tuple[Floats, Floats, Floats]:
    """Instants (s), congestion window and slow-start threshold of client 1's server, segments.

    The threshold is not a number while it is unbounded.
    """
    times, window = run.series(WINDOW)
    threshold = np.array(run.series(THRESHOLD)[1], dtype=np.float64)
    threshold[~np.isfinite(threshold) | (threshold > 1e6)] = np.nan
    return times, np.asarray(window, dtype=np.float64), threshold


def falls(threshold: Floats) -> NDArray[np.intp]:
    """Where a series of the threshold falls: places of the first value after each fall."""
    known = np.where(np.isnan(threshold), np.inf, threshold)
    with np.errstate(invalid="ignore"):
        down = np.diff(known) < -1e-9
    found: NDArray[np.intp] = np.flatnonzero(down) + 1
    return found


def words(**labels: Any) -> str:
    """A cell in words: "NewReno, HTBM"."""
    return ", ".join(
        f"client {value}" if name == "client" else "without shaping" if value == NONE else plain(value)
        for name, value in labels.items()
    )
