"""Figure 1 and tables 2 to 4 as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow import plots
from evenflow.lab import Lab

from .. import network as net
from .. import verdicts
from ..choices import Options
from ..drawing import GREY, cells, compared, legend_below
from ..measures import METRICS, ONE, QUALITY, of
from ..published import TABLE_2, TABLE_3, TABLE_4

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table

METHOD_WORDS = {net.NONE: "without shaping", net.HTBM: "HTBM", net.RWTM: "RWTM"}
PRINTED = {1: {**TABLE_2, **TABLE_4}, 2: TABLE_3}


def rows(o: Options, client: int, names: tuple[str, ...], table: Table) -> pl.DataFrame:
    """A table's cells, as measured here and as printed; measures that it does not have beside."""
    lab = Lab(table)
    beside = ("IS_printed", "IF_by_second", "CNG_raw", "CNG_probed", "bitrate_kbps", "startup_s", "stall_s")
    return compared(
        o,
        [
            (
                {"client": client, "measure": name, "method": method, "control": control},
                lab.at(scenario=net.S1, control=control, method=method).of(of(o, name, client)),
                PRINTED[client].get((name, method, control)),
            )
            for name in (*names, *beside)
            for method in net.METHODS
            for control in net.CONTROLS
        ],
    )


def table(o: Options, client: int, names: tuple[str, ...], found: Table) -> Figure:
    """A panel a measure: four controls, three methods."""
    lab = Lab(found)
    figure, axes = plots.figure(1, len(names), size=(3.8 * len(names), 3.6))
    for ax, name, title in zip(axes, names, "abcde", strict=False):
        series = {
            METHOD_WORDS[method]: [
                lab.at(scenario=net.S1, control=control, method=method).of(of(o, name, client))
                for control in net.CONTROLS
            ]
            for method in net.METHODS
        }
        printed = {
            METHOD_WORDS[method]: [PRINTED[client].get((name, method, control)) for control in net.CONTROLS]
            for method in net.METHODS
        }
        outside = {
            METHOD_WORDS[method]: [
                verdicts.outside(
                    verdicts.of(o, {"client": client, "measure": name, "method": method, "control": control}, values)
                )
                for control, values in zip(net.CONTROLS, series[METHOD_WORDS[method]], strict=True)
            ]
            for method in net.METHODS
        }
        cells(ax, name, net.CONTROLS, series, printed, outside, title=title)
    legend_below(figure, axes[0], 6)
    return figure


# --- Figure 1 -------------------------------------------------------------------------------------------------------


def fig01_rows(o: Options) -> list[dict[str, Any]]:
    """The scenario's links, stages and groups."""
    tree = net.scenario(o, net.S1, net.CUBIC, net.HTBM).tree
    found: list[dict[str, Any]] = [
        {
            "what": f"link {name}",
            "rate": link.get("rate", ""),
            "delay": link.get("delay", ""),
            "back": link.get("reverse", {}).get("delay", ""),
            "jitter": link.get("jitter", {}).get("normal", ""),
        }
        for name, link in tree["links"].items()
    ]
    found += [{"what": f"stage {name}", "kind": stage["kind"]} for name, stage in tree["stages"].items()]
    found += [{"what": f"group {name}", "path": " → ".join(group["path"])} for name, group in tree["groups"].items()]
    return found


def fig01(table: Table) -> Figure:
    """The home, from the scenario of the run."""
    tree = net.scenario(Options(), net.S1, net.CUBIC, net.HTBM).tree
    wan, gateway = tree["links"]["wan"], tree["links"][net.LINK]
    figure, (ax,) = plots.figure(size=(8.6, 2.8))
    ax.set_axis_off()
    ax.set_xlim(0, 10)
    ax.set_ylim(0.3, 3.4)
    _box(ax, 0.8, 1.8, "HAS server\nLinux 3.2")
    jitter = wan["jitter"]["normal"]
    _arrow(ax, (1.35, 1.8), (4.2, 1.8), f"best-effort network, {wan['rate']}\n{net.RTT_MS:g} ms ± {jitter}")
    home = gateway["queue"]["scheduler"]["classes"]["home"]["rate"]
    leaf = gateway["queue"]["scheduler"]["each"]["leaf"]
    _box(ax, 5.1, 1.8, f"home gateway\nbandwidth manager\nHTB {home}, or windows\nSFQ {leaf['limit']}")
    for y, name, level in ((2.7, "client 1", net.TOP), (0.9, "client 2", net.SECOND)):
        rate = f"{net.share_mbps(level) * 1e3:.6g} kbit/s"
        _arrow(ax, (6.05, 1.8), (8.55, y))
        ax.text(7.1, y + (0.0 if y > 1.8 else -0.1), rate, ha="center", fontsize=7)
        _box(ax, 9.1, y, f"{name}\nbest level {level}")
    return figure


def _box(ax: Axes, x: float, y: float, words: str) -> None:
    style = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": GREY}
    ax.text(x, y, words, ha="center", va="center", fontsize=8, bbox=style)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], words: str = "") -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY})
    if words:
        ax.text((start[0] + end[0]) / 2, start[1] + 0.12, words, ha="center", va="bottom", fontsize=7)


SECOND_TABLE, THIRD_TABLE, FOURTH_TABLE = (ONE, QUALITY), (2, QUALITY), (ONE, METRICS[3:])
"""Client and measures of tables 2, 3 and 4."""
