"""Figures 1 to 4: the network, read from the scenarios of the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from evenflow.figures import Arrow, Box, Spec, diagram
from evenflow.lab import frame
from evenflow.scenario import Scenario
from evenflow.values import Shown

from . import network as net
from .network import PHONES, RADIO, REECN, Options, Policer

NODES = {"pgw": "PDN-GW", "sgw": "S-GW", "r1": "R1", "r2": "R2", "r3": "R3", "enb": "base station"}
"""Nodes by their names in links."""
WORDS = {
    "congestion-policer": "policer",
    "auditor": "dropper",
    "congestion-controller": "declares",
    "congestion-reporter": "counts",
}
"""Stages by their names in the paper's figures."""
STEP = 1.9
"""Distance of two nodes."""
SETUPS: Mapping[str, Callable[[Options], Scenario]] = {
    "": lambda o: net.bulk(o, REECN, 10),
    "end to end": lambda o: net.bulk(o, REECN, 10, policer=Policer(), with_dropper=True),
    "inside the network": lambda o: net.inside(o, 10, policer=Policer(), with_dropper=True),
}
"""Neither policer nor dropper; terminals that speak re-ECN (figure 2a); gateway and base station do (2b and 3)."""


def stops(tree: Mapping[str, Any]) -> tuple[list[str], list[str], dict[str, list[str]]]:
    """Nodes in the order of packets, the links between them, and the stages at each node."""
    path = tree["groups"][PHONES]["path"]
    wired = [name for name in path if name in tree["links"] and name != RADIO]
    nodes = [wired[0].split("-")[0], *(name.split("-")[1] for name in wired)]
    at, there = 0, {name: list[str]() for name in nodes}
    for name in path:
        if name in wired:
            at += 1
        elif name != RADIO:
            there[nodes[at]].append(name)
    return nodes, wired, there


def network(setup: str = "", rates: bool = False) -> Spec:
    """One direction of the network: nodes, links, stages, the tunnel, and the first and the last of the cells.

    Args:
        rates: rates, delays and queues of links are written on them.
    """
    tree = SETUPS[setup](Options()).tree
    nodes, wired, there = stops(tree)
    links, users = tree["links"], tree["groups"][PHONES]["users"]
    kinds = {name: tree["stages"][name]["kind"] for found in there.values() for name in found}
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    x = {name: STEP * i for i, name in enumerate(nodes)}
    edge = nodes[-1]
    each = int(links[RADIO]["per"].split()[0])
    cells = -(-users // each)
    ends = [(1.1, 1), (-1.1, cells)] if cells > 1 else [(0.0, 1)]

    def node(name: str, y: float, words: str, up: bool = False) -> None:
        boxes.append(Box(x[name], y, words))
        said = [WORDS[kinds[it]] for it in there[name] if kinds[it] in WORDS]
        boxes.extend(Box(x[name], y + (0.5 if up else -0.5) * place, word) for place, word in enumerate(said, 1))

    for name, (left, right) in zip(wired, pairwise(nodes), strict=True):
        queue = links[name].get("queue", {})
        red = f"\n{queue['kind'].upper()}, {queue['limit']}" if queue.get("kind") == "red" else ""
        marks = "ECN marks" if name == net.LINK else ""
        words = f"{links[name]['rate']}\n{links[name]['delay']}{red}" if rates else marks
        for y, number in ends if right == edge else [(0.0, 1)]:
            arrows.append(Arrow((x[left], 0.0), (x[right], y), words if number == 1 else "", head=False))
    for name in nodes[:-1]:
        node(name, 0.0, NODES[name])
    for y, number in ends:
        phones = min(each, users - each * (number - 1))
        for k in range(phones):
            spread = y + 0.3 * (k - (phones - 1) / 2)
            arrows.append(Arrow((x[edge], y), (x[edge] + 2.4, spread), head=False))
        node(edge, y, f"{NODES[edge]} {number}" if cells > 1 else NODES[edge], up=y > 0)
        boxes.append(Box(x[edge] + 2.9, y, f"{phones} phones", frame=False))
    if rates:
        radio = links[RADIO]
        loss = f"loss {radio['loss']}" if "loss" in radio else "errors: figure 13"
        boxes.append(Box(x[edge] + 1.2, -1.9, f"radio: {radio['rate']}, {radio['delay']}; {loss}", frame=False))
    if "tunnel-ingress" in kinds.values():
        into = next(name for name in nodes if any(kinds[it] == "tunnel-ingress" for it in there[name]))
        arrows.append(Arrow((x[into], 1.1), (x[edge] - 0.8, 1.1), "GTP-U tunnel of each phone"))
    if "congestion-reporter" in kinds.values():
        arrows.append(Arrow((x[edge] - 0.8, -1.5), (x[nodes[0]], -1.5), "reports: received, marked, missing"))
    return diagram(boxes, arrows, title=setup)


def rows(setup: str, shown: Shown) -> pl.DataFrame:
    """The scenario's links, stages and groups."""
    tree = SETUPS[setup](shown.options).tree
    found: list[dict[str, Any]] = [
        {"what": f"link {name}", "rate": link["rate"], "delay": link["delay"], "per": link.get("per", "")}
        for name, link in tree["links"].items()
    ]
    found += [{"what": f"stage {name}", "kind": it["kind"]} for name, it in tree.get("stages", {}).items()]
    found += [
        {"what": f"group {name}", "users": group["users"], "path": " → ".join(group["path"])}
        for name, group in tree["groups"].items()
    ]
    return frame(found)
