"""Forms of comparison that the topics share: cells of a table, one combination against another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenflow import kit
from evenflow.claims import Check
from evenflow.kit import Accept
from evenflow.lab import Floats
from evenflow.study import Label

from . import network as net
from .measures import ONE, cell, words

if TYPE_CHECKING:
    from evenflow.claims import Data

    from .choices import Options

SHORT = {
    net.NEWRENO: "newreno",
    net.VEGAS: "vegas",
    net.ILLINOIS: "illinois",
    net.CUBIC: "cubic",
    net.NONE: "none",
    net.HTBM: "htbm",
    net.RWTM: "rwtm",
}
"""Controls and methods in the names of accepted sets."""
OF = {"IS": "is", "IF": "if", "V": "v", "CNG": "cng", "fr": "fr"}
"""Measures in the names of accepted sets."""
SCENARIOS = {net.S1: "s1", net.S2: "s2", net.S3: "s3", net.S4: "s4", net.WL: "wl"}


def label(name: str, scenario: str, control: str, method: str, client: int = ONE) -> str:
    """A cell of tables 2 to 8 in words, as its comparison is called: tables 2 to 4 are of scenario 1."""
    if scenario == net.S1:
        return f"{name}, {words(client=client, method=method, control=control)}"
    return f"{name}, {words(scenario=scenario, control=control, method=method)}"


def combinations(controls: Sequence[str] = net.CONTROLS, methods: Sequence[str] = net.SHAPED) -> list[tuple[str, str]]:
    """Controls with methods."""
    return [(control, method) for method in methods for control in controls]


def row(
    o: Options, data: Data, accept: Accept, name: str, method: str, client: int = ONE, prefix: str = ""
) -> list[Check]:
    """A row of tables 2 to 4: a measure of a client with one method, for the four controls."""
    return [
        accept(
            f"{prefix}{SHORT[control]}",
            label(name, net.S1, control, method, client),
            cell(o, data, "table02", name, client, scenario=net.S1, control=control, method=method),
        )
        for control in net.CONTROLS
    ]


def others(
    o: Options,
    data: Data,
    accept: Accept,
    experiment: str,
    name: str,
    scenarios: Sequence[str],
    **more: Label,
) -> list[Check]:
    """Cells of tables 5 to 8: sets are called "s2_cubic_htbm"; with several measures "if_s4_cubic_htbm"."""
    found = []
    for scenario in scenarios:
        for control in net.GOOD:
            for method in net.SHAPED:
                labels: dict[str, Label] = {"scenario": scenario, "control": control, "method": method, **more}
                key = f"{SCENARIOS[scenario]}_{SHORT[control]}_{SHORT[method]}"
                own = f"{OF[name]}_{key}"
                found.append(
                    accept(
                        own if own in accept.sets else key,
                        label(name, scenario, control, method),
                        cell(o, data, experiment, name, **labels),
                    )
                )
    return found


def most(accept: Accept, name: str, label: str, points: Sequence[tuple[str, Floats]]) -> Check:
    """At the share of the points that the claim's set `share` says, one comparison."""
    least = accept.set("share").lo
    assert least is not None, "a share has a least"
    return kit.most(accept, name, label, points, share=least)
