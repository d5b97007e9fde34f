"""Beyond the paper: more clients, a chunk's life, what rules make of a buffer, losses in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import evenflow as ef
from evenflow import plots
from evenflow.claims import Scale
from evenflow.lab import Floats, Lab, curve_of, frame
from evenflow.paper import Experiment
from evenflow.stats import jain
from evenflow.study import Labels, Point

from .. import network as net
from ..choices import Options
from ..drawing import GREY, legend_below
from ..grids import BAND, LINES, cell, experiment
from ..measures import QUALITY, numbers
from ..transitions import figures as tabled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenflow.record import Record
    from evenflow.study import Run, Table

CLIENTS = (1, 2, 3, 4, 6, 8)
BOTH_WAYS: tabled.Series = {"half of both lost": {"scenario": net.S4, "loss": net.BOTH}}
LIFE_S = (60.0, 66.0)
"""Three chunks of the steady state."""
LIFE_WORDS = ("of the chunk (MB)", "window (segments)", "waiting (packets)", "arriving (Mbit/s)")
"""Axes of a chunk's life."""
RULES: Mapping[str, Mapping[str, Any]] = {
    "aggressive-rate": {"aggressiveness": net.SIGMA},
    "rate": {},
    "bba-0": {},
    "bola": {},
    "mpc": {},
    "robust-mpc": {},
    "dynamic": {},
}
"""Adaptation rules, as they come."""
STEADY_MBPS = (1.5, 3.0, 4.5)
"""Throughputs of all earlier chunks at which rules are asked."""


# --- More clients ---------------------------------------------------------------------------------------------------


def clients(o: Options, scale: Scale) -> list[Point]:
    """One to eight clients that start together."""
    return [
        Point({"control": net.ILLINOIS, "method": method, "clients": float(n)}, net.several(o, net.ILLINOIS, method, n))
        for method in net.METHODS
        for n in CLIENTS
    ]


def _users(run: Run, name: str) -> list[float]:
    return [float(group["video"][f"users_{name}"][0] or 0.0) for group in run.json["groups"].values()]


def fairness(run: Run) -> float:
    """Jain's index of the clients' mean bitrates."""
    return jain(_users(run, "bitrate_bps"))


def mean_bitrate(run: Run) -> float:
    """Mean bitrate of a client, Mbit/s."""
    return float(np.mean(_users(run, "bitrate_bps"))) / 1e6


def switches(run: Run) -> float:
    """Changes of level, a client."""
    return float(np.mean(_users(run, "switches")))


def stalled(run: Run) -> float:
    """Stalls, s a client."""
    return float(np.mean(_users(run, "stall_s")))


CLIENT_NUMBERS = {"fairness": fairness, "bitrate_mbps": mean_bitrate, "switches": switches, "stall_s": stalled}
CLIENT_WORDS = {
    "fairness": "Jain's index of bitrates",
    "bitrate_mbps": "bitrate of a client (Mbit/s)",
    "switches": "changes of level a client",
    "stall_s": "stalled a client (s)",
}


def x01(table: Table) -> Figure:
    """Fairness, bitrate, changes and stalls over the number of clients."""
    lab = Lab(table)
    figure, axes = plots.figure(1, 4, size=(13.0, 3.3))
    for ax, (name, measure), title in zip(axes, CLIENT_NUMBERS.items(), "abcd", strict=True):
        for index, method in enumerate(net.METHODS):
            grid, values = lab.curve("clients", measure, control=net.ILLINOIS, method=method)
            label = "without shaping" if method == net.NONE else method
            plots.band(ax, curve_of(grid, values, net.LEVEL), label=label, index=index)
        plots.name_axes(ax, "clients", CLIENT_WORDS[name], title=title, legend=False)
    legend_below(figure, axes[0], 3)
    return figure


# --- A chunk's life -------------------------------------------------------------------------------------------------


def life(o: Options, scale: Scale) -> list[Point]:
    """A lone client in a round trip without deviation."""
    return [
        Point({"control": net.ILLINOIS, "method": method}, net.chunk(o, net.ILLINOIS, method)) for method in net.SHAPED
    ]


@dataclass(frozen=True)
class Life:
    """What happens at the ends of a client's connection: instants (s) and values, each of shape (n,).

    Attributes:
        asked, heard: when the client's requests leave it, and when they come to the server.
        received: bytes of the present chunk, its header included, that have come to the client.
        acknowledged: likewise, of which the server has heard.
        told: receive windows in the ACKs that the server hears, segments; empty where they do not bind.
    """

    asked: Floats
    heard: Floats
    received: tuple[Floats, Floats]
    acknowledged: tuple[Floats, Floats]
    told: tuple[Floats, Floats]


def life_of(record: Record, since_s: float) -> Life:
    """The same from the trace of a run, from an instant on."""
    import polars as pl

    trace = record.trace()
    there = trace.filter(pl.col("component") == "end")
    scales = there.filter(pl.col("scale").is_not_null())["scale"]
    ends = there.filter(pl.col("time_s") >= since_s)
    request = pl.col("backward") & (pl.col("payload") > 0)
    came = pl.col("action") == "receive"

    def instants(rows: pl.DataFrame) -> Floats:
        return rows["time_s"].to_numpy()

    asked = ends.filter(request & (pl.col("action") == "send"))
    data = ends.filter(~pl.col("backward") & came & (pl.col("payload") > 0))
    # a request acknowledges all of the chunks before it
    starts = np.unique(there.filter(request & (pl.col("action") == "send"))["ack"].to_numpy())

    def of_chunk(upto: Floats) -> Floats:
        found: Floats = upto - starts[np.maximum(np.searchsorted(starts, upto, side="left") - 1, 0)]
        return found

    acks = ends.filter(pl.col("backward") & came & pl.col("ack").is_not_null())
    told = acks.filter(pl.col("window").is_not_null())
    windows = told["window"].to_numpy() * (2.0 ** int(scales[0]) if len(scales) else 1.0) / net.MSS_BYTES
    highest = np.maximum.accumulate((data["seq"] + data["payload"]).to_numpy().astype(np.float64))
    return Life(
        instants(asked),
        instants(ends.filter(request & came)),
        (instants(data), of_chunk(highest)),
        (instants(acks), of_chunk(acks["ack"].to_numpy().astype(np.float64))),
        (instants(told), np.asarray(windows, dtype=np.float64)),
    )


def x02(o: Options, table: Table) -> Figure:
    """Requests and ACKs, windows, what waits at the gateway and what comes in, beside each other.

    Requests, ACKs and windows told are read from the same runs made again up to the end of the look, with a trace.
    """
    lab = Lab(table)
    figure, axes = plots.figure(4, 2, size=(10.0, 8.6), sharex=True)
    cwnd, waiting, arriving = (
        f"groups.{net.CLIENT_1}.users[0].flows[0].window",
        f"links.{net.LINK}.queue.packets",
        f"links.{net.LINK}.delivered_bytes",
    )
    blue, red, green, _, violet, brown, black = plots.COLOURS
    for column, method in enumerate(net.SHAPED):
        (run,) = lab.at(control=net.ILLINOIS, method=method).runs[:1]
        again = net.followed(net.chunk(o, net.ILLINOIS, method), LIFE_S[1]).run(run.seed)
        seen = life_of(again, LIFE_S[0])

        def series(name: str, of: Run = run) -> tuple[Floats, Floats]:
            times, values = of.series(name)
            inside = (times >= LIFE_S[0]) & (times <= LIFE_S[1])
            return times[inside], np.asarray(values, dtype=np.float64)[inside]

        mine = axes[column::2]
        times, values = seen.received
        mine[0].step(times, values / 1e6, where="post", color=green, linewidth=1.0, label="data at the client")
        times, values = seen.acknowledged
        mine[0].step(times, values / 1e6, where="post", color=red, linestyle="--", label="ACKs at the server")
        mine[1].plot(*series(cwnd), color=blue, linewidth=1.2, label="congestion window")
        if seen.told[0].size:
            mine[1].step(*seen.told, where="post", color=black, linestyle="--", label="window told in ACKs")
        mine[2].plot(*series(waiting), color=violet, linewidth=0.8, label="packets that wait at the gateway")
        times, values = series(arriving)
        mine[3].plot(times, values * 8 / 0.05 / 1e6, color=brown, linewidth=1.0, label="rate into the home")
        for ax, words in zip(mine, LIFE_WORDS, strict=True):
            for instants, colour, dash, label in (
                (seen.asked, "black", "-", "request leaves the client"),
                (seen.heard, GREY, ":", "request comes to the server"),
            ):
                for at in instants:
                    ax.axvline(at, color=colour, linewidth=0.8, linestyle=dash, label=label, zorder=0.5)
            last = ax is mine[-1]
            plots.name_axes(
                ax, "time (s)" if last else "", words, title=method if ax is mine[0] else None, legend=False
            )
            ax.set_xlim(*LIFE_S)
    for left, right in zip(axes[::2], axes[1::2], strict=True):
        # side by side on one scale
        top = max(left.get_ylim()[1], right.get_ylim()[1])
        left.set_ylim(0, top)
        right.set_ylim(0, top)
    legend_below(figure, axes[1], 4)
    return figure


# --- Level against buffer -------------------------------------------------------------------------------------------


def asked() -> list[dict[str, Any]]:
    """Which level each rule asks for, by the buffer, at three steady throughputs."""
    ladder = [rate * 1e3 for rate in net.LADDER_KBPS]
    found: list[dict[str, Any]] = []
    for name, given in RULES.items():
        for mbps in STEADY_MBPS:
            rule = ef.mechanism(name, **given)
            level = 0
            for buffer in np.arange(0.0, net.CHUNK_S * net.BUFFER_CHUNKS + 0.1, 0.5):
                told = {"ladder_bps": ladder, "buffer_s": float(buffer), "throughputs_bps": [mbps * 1e6] * 5}
                level = int(rule.choose(**told, last=level)["level"])
                found.append({"rule": name, "throughput_mbps": mbps, "buffer_s": float(buffer), "level": level})
    return found


def x03(table: Table) -> Figure:
    """A panel a throughput, a line a rule."""
    rows = asked()
    figure, axes = plots.figure(1, len(STEADY_MBPS), size=(12.0, 3.5))
    for ax, mbps in zip(axes, STEADY_MBPS, strict=True):
        for index, name in enumerate(RULES):
            mine = [row for row in rows if row["rule"] == name and row["throughput_mbps"] == mbps]
            # lines of equal level would hide each other
            ax.step(
                [row["buffer_s"] for row in mine],
                [row["level"] + 0.05 * (index - 3) for row in mine],
                where="post",
                color=plots.COLOURS[index],
                linestyle=plots.DASHES[index % len(plots.DASHES)],
                label=name,
            )
        ax.set_yticks(range(len(net.LADDER_KBPS)))
        plots.name_axes(ax, "buffer (s)", "level asked for", title=f"{mbps:g} Mbit/s", zero=False, legend=False)
    legend_below(figure, axes[0], 7)
    return figure


# --- Experiments ----------------------------------------------------------------------------------------------------


def both_ways(o: Options, scale: Scale) -> list[Point]:
    """Scenario 4 with losses in both directions."""
    return [cell(o, net.S4, control, method, loss=net.BOTH) for control in net.GOOD for method in net.SHAPED]


def _once(scale: Scale) -> Sequence[int]:
    return [1]


def _any(o: Options, scale: Scale) -> list[Point]:
    labels: Labels = {"control": net.CUBIC, "method": net.RWTM}
    return [Point(labels, net.scenario(o, net.WL, net.CUBIC, net.RWTM))]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    return (
        experiment(
            "x01",
            "More clients",
            partial(clients, o),
            x01,
            "One to eight clients with Illinois that start together, without shaping and with both methods. (a) Jain's "
            f"index of their mean bitrates, (b) bitrate, (c) changes of level, (d) stalls. {LINES}",
            CLIENT_NUMBERS,
            net.FEW_SEEDS,
        ),
        experiment(
            "x02",
            "A chunk's life",
            partial(life, o),
            partial(x02, o),
            "A lone client with Illinois, a round trip without deviation: three chunks of the steady state "
            "with HTBM (left) and RWTM (right). From above: bytes of the chunk that have come to the client, and "
            "that the server knows of by ACKs; congestion window, and the receive window told in ACKs (with HTBM the "
            "client's own 256 KiB, which no ACK lowers); packets that wait at the gateway; rate at which data arrives "
            "in 50 ms. "
            "Vertical lines: a request leaves the client (whole), and comes to the server a round trip later (dotted).",
            numbers(o),
            _once,
        ),
        Experiment(
            "has_shaping-x03",
            "Which level rules ask for",
            partial(_any, o),
            _once,
            x03,
            "Each adaptation rule asked by hand, while the buffer fills and all earlier chunks came at one "
            "rate. Lines are drawn apart where levels are equal.",
            lambda table: frame(asked()),
        ),
        Experiment(
            "has_shaping-x04",
            "Losses in both directions",
            partial(both_ways, o),
            net.SEEDS,
            partial(tabled.table, o, QUALITY, BOTH_WAYS),
            f"Scenario 4 with half of the packets of both directions lost for a second. {', '.join(QUALITY)}. {BAND}",
            partial(tabled.rows, o, QUALITY, BOTH_WAYS),
        ),
    )
