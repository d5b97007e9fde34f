"""Measure the curves that ship with the fluid model: the markers and round trips of Siris et al. 2002, figures 3 to 7.

Run after a change of the engine (`make curves`): a curve tells which engine made it. Takes one or two minutes.
"""

from __future__ import annotations

from evenflow.scenario import Scenario
from evenflow.theory import curves, markers
from evenflow_papers.wtp import network as scenarios
from evenflow_papers.wtp.network import Options

ROUND_TRIPS_MS = (150, 200, 250, 300)
"""Means over the connections of a link. One link: 200. Two links: 250 and 300 with 200 ms between R1 and R2, 150 and
200 with 100 ms. The values also apply where the second link has separate connections."""


def wanted(marker: scenarios.Table, rtt_ms: float) -> markers.Wanted:
    """The curve that the fluid model will need."""
    import json

    groups = {"one": scenarios.Connections(1, scenarios.wtp(Options()))}
    scenario: Scenario = scenarios.single_link(Options(), marker, groups, rtt_ms=rtt_ms)
    tree = json.loads(scenario.core.canonical)
    tcp = tree["groups"]["one"]["traffic"][0]["tcp"]
    return markers.Wanted.of(tree["links"][scenarios.LINK]["queue"], 10e6, 1000, rtt_ms / 1e3, tcp)


def main() -> None:
    for old in curves.SHIPPED.glob("*.json"):
        old.unlink()
    for name in (scenarios.RED, scenarios.VQ):
        for rtt_ms in ROUND_TRIPS_MS:
            curve = curves.save(curves.measure(wanted(scenarios.standard(Options())[name], rtt_ms)), curves.SHIPPED)
            assert curve.file is not None
            print(f"{curve.file.name}: prices {curve.first:.4f} to {curve.top:.3f}")


if __name__ == "__main__":
    main()
