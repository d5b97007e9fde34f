"""The paper's measures of a client in a run, and of its server's window; labels in words.

IS: instability, %. IF: infidelity, %. V: convergence time, s. CNG: falls of the slow-start threshold in 100 s. fr:
share of the chunks that follow an off period longer than the sender's timeout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenflow import qoe
from evenflow.lab import Floats, Vocabulary, plain, scaled
from evenflow.stats import jain
from evenflow.study import Label, Run
from evenflow.values import Metric, Shown, Values, joined

from . import network as net
from .network import CLIENT_1, CLIENT_2, METRICS, ONE, QUALITY, Options

if TYPE_CHECKING:
    import polars as pl

    from evenflow.record import Record

TITLES = {
    "IS": "instability IS (%)",
    "IF": "infidelity IF (%)",
    "V": "convergence time V (s)",
    "CNG": "congestion rate CNG (per 100 s)",
    "fr": "chunks behind off periods, fr",
}


def _lower(value: Label) -> str:
    return str(value).lower()


WORDS: Vocabulary = {
    "threshold": lambda v: f"threshold {plain(v)}",
    **dict.fromkeys(("control", "other", "measure", "scenario", "group", "setting", "line", "choice", "setup"), str),
    **{f"{name}:set": _lower for name in ("control", "method", "measure", "scenario")},
    "method": lambda v: "without shaping" if v == net.NONE else str(v),
    "client": lambda v: f"client {plain(v)}",
    "deviation_ms": lambda v: f"{plain(v)} ms",
}
"""Labels in words; `:set` is their form in the names of accepted sets."""
AXES = {"deviation_ms": "deviation of the round trip (ms)", "clients": "clients"}

# --- One client in one run ------------------------------------------------------------------------------------------


def _viewed(o: Options, run: Run, group: str, best: int) -> qoe.Adaptive | None:
    """The measures of a group's one user from its start; None if it does not start. The run keeps them."""
    key = "viewed", group, best, o.level
    if key not in run.memo:
        run.memo[key] = _measured(o, run, group, best)
    found: qoe.Adaptive | None = run.memo[key]
    return found


def _measured(o: Options, run: Run, group: str, best: int) -> qoe.Adaptive | None:
    asked = run.json["groups"][group]["video"]["users_asked_s"][0]
    if asked is None:
        return None
    end = net.JOINS_S if group == CLIENT_2 and run.labels.get("scenario") == net.S3 else net.DURATION_S
    return qoe.adaptive(
        run.record,
        group,
        optimal=best,
        ladder=[rate * 1e3 for rate in net.LADDER_KBPS],
        since=float(asked),
        seconds=round(end - float(asked)),
        hold=net.HOLD_S,
        of=o.level,
    )


def group_of(o: Options, client: int, run: Run) -> str:
    """The group of client 1 or 2; the option `clients` decides without shaping."""
    groups = (CLIENT_1, CLIENT_2)
    if CLIENT_2 not in run.json["groups"] or run.labels.get("method") != net.NONE or o.clients == "fixed":
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
    """All measures of client 1, whose best level is 4, or of client 2, whose best level is 3."""
    return _viewed(o, run, group_of(o, client, run), net.TOP if client == ONE else net.SECOND)


def value(o: Options, client: int, name: str, run: Run) -> float | None:
    """A measure by its short name."""
    o = net.settled(replace(o, setup=str(run.labels.get("setup", o.setup))))
    seen = adaptive(o, client, run)
    if seen is None:
        return None
    rate = seen.congestion_rate_probed if o.rate == "probed" else seen.congestion_rate
    if name == "CNG" and o.rate == "loss":
        cuts = run.json["groups"][group_of(o, client, run)]["senders"]["reductions"]
        rate = qoe.congestion_rate(int(cuts["loss"]) + int(cuts["timeout"]), net.DURATION_S)
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
    }[name]
    return None if found is None else float(found)


def measured(name: str, client: int = ONE) -> Metric:
    """A measure of a client by its short name."""
    return Metric(lambda run, o: value(o, client, name, run), TITLES.get(name, name))


OTHERS = ("IS_printed", "IF_by_second", "CNG_raw", "CNG_probed", "bitrate_kbps", "startup_s", "stall_s")
"""What tables have in addition to their measures."""
NUMBERS = {name: measured(name) for name in (*METRICS, *OTHERS)}


@Metric
def delay_ms(run: Run, o: Options) -> float | None:
    """Mean wait of client 1's packets at the gateway."""
    classes = run.json["links"][net.LINK]["classes"]
    found = classes.get(group_of(o, ONE, run)) or classes["home"]
    return scaled(found["queue_delay_s_mean"], 1e3)


def sender(name: str, run: Run) -> float:
    """A counter of client 1's server: "timeouts", "idle_periods"."""
    return float(run.json["groups"][CLIENT_1]["video"][f"users_{name}"][0])


@Metric
def advertised_mbps(run: Run) -> float:
    """Rate of the whole segments of the advertised window in a round trip."""
    stage = run.json["stages"][net.TUNER]
    segments = math.floor(stage["target_window"] / net.MSS_BYTES)
    return float(segments) * net.MSS_BYTES * 8 / float(stage["rtt"]) / 1e6


def of_users(function: Callable[[list[float]], float], name: str, run: Run) -> float:
    """A function of a number that each client has."""
    return function([float(group["video"][f"users_{name}"][0] or 0.0) for group in run.json["groups"].values()])


def mean(values: list[float]) -> float:
    """The mean as a plain number."""
    return float(np.mean(values))


WINDOW_SEGMENTS = Metric(f"stages.{net.TUNER}.target_window", per=net.MSS_BYTES)
"""The receive window that was advertised last."""
GOODPUT = Metric(f"groups.{CLIENT_1}.goodput_bps", "Mbit/s", per=1e6)
CLIENTS = {
    "fairness": Metric(partial(of_users, jain, "bitrate_bps"), "Jain's index of bitrates"),
    "bitrate_mbps": Metric(partial(of_users, mean, "bitrate_bps"), "bitrate of a client (Mbit/s)", per=1e6),
    "switches": Metric(partial(of_users, mean, "switches"), "changes of level a client"),
    "stall_s": Metric(partial(of_users, mean, "stall_s"), "stalled a client (s)"),
}

# --- A chunk's life -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Life:
    """Events at the ends of a client's connection: times (s) and values, each of shape (n,).

    Attributes:
        asked, heard: when the client's requests leave it, and when they reach the server.
        received: bytes of the present chunk, its header included, that have reached the client.
        acknowledged: the same, of which ACKs have reached the server.
        told: receive windows in ACKs that reach the server, segments; empty where they do not bind.
    """

    asked: Floats
    heard: Floats
    received: tuple[Floats, Floats]
    acknowledged: tuple[Floats, Floats]
    told: tuple[Floats, Floats]


def life_of(record: Record, since_s: float) -> Life:
    """The events in the trace of a run, from a time on."""
    import polars as pl

    there = record.trace().filter(pl.col("component") == "end")
    scales = there.filter(pl.col("scale").is_not_null())["scale"]
    ends = there.filter(pl.col("time_s") >= since_s)
    request = pl.col("backward") & (pl.col("payload") > 0)
    sent, came = pl.col("action") == "send", pl.col("action") == "receive"
    # a request acknowledges all of the chunks before it
    starts = np.unique(there.filter(request & sent)["ack"].to_numpy())

    def times(rows: pl.DataFrame) -> Floats:
        return rows["time_s"].to_numpy()

    def of_chunk(upto: Floats) -> Floats:
        found: Floats = upto - starts[np.maximum(np.searchsorted(starts, upto, side="left") - 1, 0)]
        return found

    data = ends.filter(~pl.col("backward") & came & (pl.col("payload") > 0))
    highest = np.maximum.accumulate((data["seq"] + data["payload"]).to_numpy().astype(np.float64))
    acks = ends.filter(pl.col("backward") & came & pl.col("ack").is_not_null())
    told = acks.filter(pl.col("window").is_not_null())
    windows = told["window"].to_numpy() * (2.0 ** int(scales[0]) if len(scales) else 1.0) / net.MSS_BYTES
    return Life(
        times(ends.filter(request & sent)),
        times(ends.filter(request & came)),
        (times(data), of_chunk(highest)),
        (times(acks), of_chunk(acks["ack"].to_numpy().astype(np.float64))),
        (times(told), np.asarray(windows, dtype=np.float64)),
    )


def arrays(values: Values, shown: Shown) -> list[tuple[dict[str, Any], Any]]:
    """Cells that have one value a seed."""
    return [(dict(labels), value) for labels, value in values.cells(shown)]


# --- Cells of the tables --------------------------------------------------------------------------------------------


def mixed(metric: Metric, on: str = "table02", /, **labels: Any) -> Values:
    """A metric at the points of a table.

    With threshold=mixture a run of NewReno with RWTM in scenario 1 is one of figure 3's: of 100 runs 43 have the lower
    threshold, evenly spread.
    """

    def cells(shown: Shown) -> Iterator[Any]:
        for kept, values in arrays(metric(on, **labels), shown):
            where = {**labels, **kept}
            here = "threshold" not in where and (where["control"], where["method"]) == (net.NEWRENO, net.RWTM)
            if here and shown.options.threshold == "mixture":
                low, high = (arrays(metric("fig03", threshold=it), shown)[0][1] for it in net.MIXED)
                numbers = np.arange(len(low))
                lower = np.floor((numbers + 1) * net.MIXED_SHARE) > np.floor(numbers * net.MIXED_SHARE)
                yield kept, np.where(lower, low, high)
            else:
                yield kept, values

    return Values(cells, metric.title)


def cell(names: str | tuple[str, ...], on: str = "table02", client: int = ONE, /, **labels: Any) -> Values:
    """Measures of a client in cells of a table, with the label `measure`."""
    them = (names,) if isinstance(names, str) else names
    return joined(*(mixed(measured(name, client), on, **labels).labelled(measure=name) for name in them))


def row_mean(grid: list[Any], curve: Floats) -> Floats:
    """The mean over a label, run by run (`Values.reduce`)."""
    found: Floats = np.mean(curve, axis=0)
    return found


def badness(*measures: Values) -> Values:
    """How bad each of some combinations is: each measure over its mean over all of them, averaged."""

    def found(shown: Shown) -> Iterator[Any]:
        over = []
        for cells in (arrays(it, shown) for it in measures):
            scale = float(np.mean([np.nanmean(values) for _, values in cells]))
            over.append([({k: v for k, v in at.items() if k != "measure"}, values / scale) for at, values in cells])
        for them in zip(*over, strict=True):
            yield them[0][0], np.mean(np.array([values for _, values in them]), axis=0)

    return Values(found, "IS, IF, V over their means")


def scores(lost: str = net.ACKS, on: str = "") -> dict[str, Values]:
    """Badness of the four combinations in scenarios 1 to 3, 4 and 5.

    Args:
        lost: the lost packets of scenario 4.
        on: the experiment that has all points, with a label `group`; otherwise those of the tables.
    """

    def values(name: str, group: str, table: str, along: str = "", **labels: Any) -> Values:
        found = cell(name, on, group=group, **labels) if on else cell(name, table, **labels)
        return found.reduce(along, row_mean) if along else found

    def near(deviation: float) -> bool:
        return deviation <= net.DEVIATIONS_MS[-1]

    sources: Mapping[str, tuple[str, str, dict[str, Any]]] = {
        "1 to 3": ("table05", "scenario", {"scenario": [net.S1, net.S2, net.S3]}),
        "4": ("table07", "", {"scenario": net.S4, "loss": lost}),
        "5": ("fig10", "deviation_ms", {"deviation_ms": near}),
    }
    return {
        group: badness(*(values(name, group, table, along, **labels) for name in QUALITY))
        for group, (table, along, labels) in sources.items()
    }


# --- The server's window --------------------------------------------------------------------------------------------

FIGURES = {
    "fig02": (net.NEWRENO, net.HTBM),
    "fig04": (net.VEGAS, net.HTBM),
    "fig05": (net.VEGAS, net.RWTM),
    "fig06": (net.ILLINOIS, net.HTBM),
    "fig07": (net.ILLINOIS, net.RWTM),
    "fig08": (net.CUBIC, net.HTBM),
    "fig09": (net.CUBIC, net.RWTM),
}
"""The combination of which a figure shows client 1's window in scenario 1."""
BUFFERING_S = 30.0
"""Before it the buffer cannot be full."""
AFTER_S = 45.0
"""From here Vegas with RWTM is to ask for level 4 mostly."""


def windows(run: Run) -> tuple[Floats, Floats, Floats]:
    """Times (s), congestion window and slow-start threshold (segments; NaN while it is unbounded)."""
    flow = f"groups.{CLIENT_1}.users[0].flows[0]"
    times, window = run.series(f"{flow}.window")
    threshold = np.array(run.series(f"{flow}.ssthresh")[1], dtype=np.float64)
    threshold[~np.isfinite(threshold) | (threshold > 1e6)] = np.nan
    return times, np.asarray(window, dtype=np.float64), threshold


def falls(threshold: Floats) -> NDArray[np.intp]:
    """Places of the first value after each fall of a series."""
    known = np.where(np.isnan(threshold), np.inf, threshold)
    with np.errstate(invalid="ignore"):
        down = np.diff(known) < -1e-9
    found: NDArray[np.intp] = np.flatnonzero(down) + 1
    return found


@Metric
def converged_s(run: Run, o: Options) -> float:
    """V, or NaN where the run never converges."""
    at = value(o, ONE, "V", run)
    return math.nan if at is None or at >= net.DURATION_S else at


def representative(runs: list[Run], o: Options) -> Run:
    """The run whose five measures are nearest to their means."""
    rows = np.array([[NUMBERS[name].of(run, o) for name in METRICS] for run in runs])
    return runs[qoe.most_representative(rows)]


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if values.size else math.nan


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else math.nan


@Metric
def avoidance(run: Run, o: Options) -> float:
    """Share of the time with the window above the threshold, after convergence less before it."""
    at = converged_s.of(run, o)
    times, window, threshold = windows(run)
    above = window > threshold
    return _mean(above[times > at].astype(np.float64)) - _mean(above[times <= at].astype(np.float64))


def falls_in_100_s(after: bool, run: Run, o: Options) -> float:
    """Falls of the threshold in 100 s before or after convergence, as a log every 50 ms has them."""
    at = converged_s.of(run, o)
    times, _, threshold = windows(run)
    late = times[falls(threshold)] > at
    length = net.DURATION_S - at if after else at
    return 100 * float(np.sum(late if after else ~late)) / length if length > 0 else math.nan


falls_before, falls_after = Metric(partial(falls_in_100_s, False)), Metric(partial(falls_in_100_s, True))


@Metric
def settled(run: Run, o: Options) -> float:
    """Median threshold after convergence, segments; of the second half of a run that never converges."""
    at = converged_s.of(run, o)
    times, _, threshold = windows(run)
    return _median(threshold[(times > (net.DURATION_S / 2 if math.isnan(at) else at)) & ~np.isnan(threshold)])


@Metric
def first(run: Run) -> float:
    """The first threshold that is not unbounded, segments."""
    threshold = windows(run)[2]
    known = threshold[~np.isnan(threshold)]
    return float(known[0]) if known.size else math.nan


@Metric
def last(run: Run) -> float:
    """The threshold at the end, segments."""
    return float(windows(run)[2][-1])


@Metric
def raised(run: Run) -> float:
    """The threshold at the end of the buffering less the first one, segments."""
    times, _, threshold = windows(run)
    return float(threshold[np.searchsorted(times, BUFFERING_S)]) - first.of(run)


@Metric
def step_down(run: Run, o: Options) -> float:
    """Median step by which the window falls in avoidance after convergence, segments."""
    at = converged_s.of(run, o)
    times, window, threshold = windows(run)
    down = -np.diff(window)
    return _median(down[(down > 0) & (times[1:] > at) & (window[:-1] > threshold[:-1])])


def reductions(run: Run) -> tuple[NDArray[np.intp], Floats]:
    """Places at which window and threshold fall together, and the window before each: CUBIC's last maximum."""
    _, window, threshold = windows(run)
    where = falls(threshold)
    down = where[window[where] < window[where - 1]]
    return down, np.asarray(window[down - 1], dtype=np.float64)


@Metric
def maximum(run: Run) -> float:
    """Median window just before a reduction, segments."""
    return _median(reductions(run)[1])


@Metric
def convex(run: Run) -> float:
    """Share of the time after the first reduction in which the window is above its last maximum."""
    where, before = reductions(run)
    window = windows(run)[1]
    if not where.size:
        return math.nan
    last_maximum = before[np.searchsorted(where, np.arange(where[0], window.size), side="right") - 1]
    return _mean((window[where[0] :] > last_maximum).astype(np.float64))


@Metric
def losses(run: Run) -> float:
    """Reductions of the window, those after an idle time not counted."""
    return float(reductions(run)[0].size)


@Metric
def early_falls(run: Run) -> float:
    """Falls of the threshold while the buffer fills; that from unbounded counts."""
    times, _, threshold = windows(run)
    return float(np.sum(times[falls(threshold)] <= BUFFERING_S))


def levels(run: Run) -> list[tuple[float, int]]:
    """When client 1 asks for another level, and for which one."""
    return [(float(at), int(level)) for at, level in run.json["groups"][CLIENT_1]["video"]["users_levels"][0]]


@Metric
def at_the_top(run: Run) -> float:
    """Share of the time after 45 s at which level 4 is asked for."""
    return float(np.mean(qoe.levels_at(levels(run), np.arange(AFTER_S, net.DURATION_S, 0.1)) == net.TOP))


@Metric
def longest_stretch(run: Run) -> float:
    """The longest time in one stretch at level 4, s."""
    changes = levels(run)
    ends = [*(at for at, _ in changes[1:]), net.DURATION_S]
    spans = [end - at for (at, level), end in zip(changes, ends, strict=True) if level == net.TOP]
    return max(spans, default=0.0)


timeouts, off_periods = Metric(partial(sender, "timeouts")), Metric(partial(sender, "idle_periods"))
