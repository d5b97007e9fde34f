"""Figures 1 to 4: the network, drawn from the scenarios of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evenflow import plots
from evenflow.scenario import Scenario

from . import network as net
from . import runs
from .choices import Options
from .network import PHONES, REECN, Policer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenflow.study import Table

GREY = "0.45"
NODES = {"pgw": "PDN-GW", "sgw": "S-GW", "r1": "R1", "r2": "R2", "r3": "R3", "enb": "base station"}
"""Names of nodes as they stand in the names of links."""
WORDS = {
    "congestion-policer": "policer",
    "auditor": "dropper",
    "congestion-controller": "declares",
    "congestion-reporter": "counts",
}
"""What stages are called in the paper's figures."""
CELLS = 2
"""Base stations that are drawn; of more, the first and the last."""
TREE = Mapping[str, Any]


def end_to_end(o: Options) -> Scenario:
    """Terminals speak re-ECN (figure 2a)."""
    return net.bulk(o, REECN, 10, policer=Policer(), with_dropper=True)


def inside(o: Options) -> Scenario:
    """Gateway and base station do (figures 2b and 3)."""
    return net.inside(o, 10, policer=Policer(), with_dropper=True)


def plain(o: Options) -> Scenario:
    """Neither policer nor dropper (figures 1 and 4)."""
    return net.bulk(o, REECN, 10)


def _stops(tree: TREE) -> tuple[list[str], list[str], dict[str, list[str]]]:
    """Nodes in the order of packets, the links between them, and the stages at each node."""
    path = tree["groups"][PHONES]["path"]
    wired = [name for name in path if name in tree["links"] and name != net.RADIO]
    nodes = [wired[0].split("-")[0], *(name.split("-")[1] for name in wired)]
    at, there = 0, {name: list[str]() for name in nodes}
    for name in path:
        if name in tree["stages" if "stages" in tree else "links"] and name not in tree["links"]:
            there[nodes[at]].append(name)
        elif name in wired:
            at += 1
    return nodes, wired, there


def draw(ax: Axes, scenario: Scenario, *, rates: bool = False) -> None:
    """One direction of the network: nodes, links, what stands where, the tunnel, and two cells.

    Args:
        rates: rates, delays and queues are written on links.
    """
    tree = scenario.tree
    nodes, wired, there = _stops(tree)
    links = tree["links"]
    ax.set_axis_off()
    x = {name: 1.0 + 1.75 * i for i, name in enumerate(nodes)}
    edge = x[nodes[-1]]
    ax.set_xlim(-0.4, edge + 3.4)
    ax.set_ylim(-2.3, 2.2)
    users = tree["groups"][PHONES]["users"]
    each = int(links[net.RADIO]["per"].split()[0])
    count = -(-users // each)
    heights = (1.1, -1.1) if count > 1 else (0.0,)
    for name, (left, right) in zip(wired, pairwise(nodes), strict=True):
        link = links[name]
        narrow = name == net.LINK
        words = _said(link) if rates else "ECN marks" if narrow else ""
        if right == nodes[-1]:
            for y in heights:
                _line(ax, (x[left], 0.0), (edge, y), narrow)
            ax.text((x[left] + edge) / 2 - 0.25, 0.95, words, ha="right", va="bottom", fontsize=6.5)
        else:
            _line(ax, (x[left], 0.0), (x[right], 0.0), narrow)
            ax.text((x[left] + x[right]) / 2, 0.32, words, ha="center", va="bottom", fontsize=6.5)
    for name in nodes[:-1]:
        _box(ax, x[name], 0.0, NODES.get(name, name))
        _stand(ax, tree, there[name], x[name], -0.42)
    for number, y in enumerate(heights):
        which = (1, count)[number]
        _box(ax, edge, y, f"{NODES[nodes[-1]]} {which}" if count > 1 else NODES[nodes[-1]])
        up = number == 0
        _stand(ax, tree, there[nodes[-1]], edge, y + (0.42 if up else -0.42), up=up)
        phones = min(each, users - each * (which - 1))
        for k in range(phones):
            spread = (k - (phones - 1) / 2) * 0.3
            _line(ax, (edge + 0.5, y), (edge + 2.2, y + spread), False, radio=True)
            ax.plot(edge + 2.25, y + spread, marker="s", color=GREY, markersize=4)
        ax.text(edge + 2.4, y, f"{phones} phones", ha="left", va="center", fontsize=7)
    if count > CELLS:
        ax.text(edge, 0.0, "⋮", ha="center", va="center")
    if rates:
        radio = links[net.RADIO]
        loss = f"loss {radio['loss']}" if "loss" in radio else "errors: figure 13"
        said = f"radio: {radio['rate']}, {radio['delay']}; {loss}"
        ax.text(edge + 1.4, -2.2, said, ha="center", va="bottom", fontsize=6.5)
    _tunnel(ax, tree, there, nodes, x, heights[0])


def _tunnel(
    ax: Axes, tree: TREE, there: Mapping[str, Sequence[str]], nodes: Sequence[str], x: Mapping[str, float], y: float
) -> None:
    """A band from a tunnel's ingress to its egress, and the way of reports."""
    kinds = {name: tree["stages"][name]["kind"] for found in there.values() for name in found}
    into = [node for node in nodes if any(kinds[it] == "tunnel-ingress" for it in there[node])]
    if not into:
        return
    out = next(node for node in nodes if any(kinds[it] == "tunnel-egress" for it in there[node]))
    ends = [(x[into[0]], 0.0), (x[nodes[-2]], 0.0), (x[out], y)]
    ax.plot(
        *zip(*ends, strict=True), color=plots.COLOURS[0], linewidth=11, alpha=0.18, solid_capstyle="round", zorder=0
    )
    ax.text(x[into[0]] + 0.6, 0.85, "GTP-U tunnel of each phone", ha="left", fontsize=7, color=plots.COLOURS[0])
    if "congestion-reporter" in kinds.values():
        style = {"arrowstyle": "->", "color": plots.COLOURS[1], "linestyle": (0, (4, 2))}
        low, middle = -1.1, (x[into[0]] + x[out]) / 2
        ax.annotate("", (x[into[0]] + 0.3, low), (x[out] - 0.75, low), arrowprops=style)
        ax.text(middle, -1.4, "reports: received, marked, missing", ha="center", fontsize=7, color=plots.COLOURS[1])


def _said(link: TREE) -> str:
    """A link in words."""
    queue = link.get("queue", {})
    words = f"{link['rate']}\n{link['delay']}"
    return f"{words}\n{queue['kind'].upper()}, {queue['limit']}" if queue.get("kind") == "red" else words


def _stand(ax: Axes, tree: TREE, names: Sequence[str], x: float, y: float, up: bool = False) -> None:
    """What stands at a node, under it or above it; ends of tunnels are the band's."""
    said = [WORDS[kind] for name in names if (kind := tree["stages"][name]["kind"]) in WORDS]
    for number, words in enumerate(said):
        place = y + (1 if up else -1) * 0.34 * (number + 0.35)
        style = {"boxstyle": "round,pad=0.25", "facecolor": plots.COLOURS[1], "edgecolor": "none", "alpha": 0.25}
        ax.text(x, place, words, ha="center", va="center", fontsize=7, bbox=style)


def _box(ax: Axes, x: float, y: float, words: str) -> None:
    style = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": GREY}
    ax.text(x, y, words, ha="center", va="center", fontsize=8, bbox=style)


def _line(ax: Axes, start: tuple[float, float], end: tuple[float, float], narrow: bool, radio: bool = False) -> None:
    style: Any = (0, (1, 2)) if radio else "-"
    colour, width = (plots.COLOURS[3], 2.4) if narrow else (GREY, 1.0)
    ax.plot(*zip(start, end, strict=True), color=colour, linewidth=width, linestyle=style, zorder=1)


def fig01(table: Table) -> Figure:
    """The architecture."""
    return _one(plain(Options()))


def fig02(table: Table) -> Figure:
    """Where policer and dropper stand, end to end and inside the network."""
    made, axes = plots.figure(2, 1, size=(9.4, 6.4))
    for ax, title, scenario in zip(
        axes, ("a  end to end", "b  inside the network"), (end_to_end(Options()), inside(Options())), strict=True
    ):
        draw(ax, scenario)
        ax.set_title(title, loc="left")
    return made


def fig03(table: Table) -> Figure:
    """The framework inside the network."""
    return _one(inside(Options()))


def fig04(table: Table) -> Figure:
    """The simulation's set-up."""
    return _one(plain(Options()), rates=True)


def _one(scenario: Scenario, rates: bool = False) -> Figure:
    made, (ax,) = plots.figure(size=(9.4, 3.4))
    draw(ax, scenario, rates=rates)
    return made


def rows(scenario: Scenario) -> list[dict[str, Any]]:
    """The scenario's links, stages and groups."""
    tree = scenario.tree
    found: list[dict[str, Any]] = [
        {"what": f"link {name}", "rate": link["rate"], "delay": link["delay"], "per": link.get("per", "")}
        for name, link in tree["links"].items()
    ]
    found += [{"what": f"stage {name}", "kind": it["kind"]} for name, it in tree.get("stages", {}).items()]
    found += [
        {"what": f"group {name}", "users": group["users"], "path": " → ".join(group["path"])}
        for name, group in tree["groups"].items()
    ]
    return found


def one(o: Options, scale: str) -> list[Any]:
    """A study has runs; here they are those of figure 11 with policer and dropper, which are there anyhow."""
    return [point for point in runs.fig11(o, "quick") if point.labels["scheme"] == net.POLICED]
