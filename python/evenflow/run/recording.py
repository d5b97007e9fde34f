"""What a run records to be drawn, where its scenario names no series."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ..errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..scenario.scenario import Scenario

VALUES = 4_000_000
"""Most values that are recorded for a figure."""
SAMPLES = {"received_bytes": 150, "queue": 1500, "window": 1500}
"""Looks at a series over the run: rates are means over an interval, the rest are instants."""


def recording(scenario: Scenario) -> tuple[Scenario, bool]:
    """The scenario as it is where it names series; else with rates, windows and queues recorded, and True.

    The series do not change what happens in the run.
    """
    tree = scenario.tree
    record = tree.get("record", {})
    if isinstance(record, dict) and record.get("series"):
        return scenario, False
    core = scenario.core
    wanted = _wanted(tree, core.duration_s)
    while wanted:
        watched = scenario.set("record.series", wanted)
        try:
            watched.core  # noqa: B018  (validates)
        except ScenarioError as error:
            # what this version cannot record of this scenario, such as the window of a flow without TCP, is left out
            refused = {int(m[1]) for path, _ in error.errors if (m := re.match(r"record\.series\[(\d+)\]", path))}
            if not refused:
                raise
            wanted = [entry for index, entry in enumerate(wanted) if index not in refused]
            continue
        return watched, True
    return scenario, True


def figure_of_a_run(
    scenario: Scenario, seed: int, series: tuple[str, ...], width: float | None, height: float | None
) -> Figure:
    """`Scenario.plot`: run it and draw the run."""
    from ..show import pictures
    from ..show.drawing import draw

    ready, chosen = recording(scenario)
    choice = pictures.Choice(series=series)
    return draw(pictures.of_record(ready.run(seed), choice, telling=chosen and not series), width, height)


def _wanted(tree: dict[str, Any], duration_s: float) -> list[dict[str, str]]:
    from ..scenario import paths

    found: list[dict[str, str]] = []
    flows = 0
    for name, group in tree.get("groups", {}).items():
        users = int(group.get("users", 1))
        traffic = group.get("traffic", {})
        kinds = traffic if isinstance(traffic, list) else [traffic]
        flows += users * sum(int(t.get("flows", 1)) if isinstance(t.get("flows", 1), int) else 1 for t in kinds)
        base = paths.render(("groups", name)) + ".users[*].flows[*]"
        found.append({"of": f"{base}.received_bytes", "every": _every(duration_s, SAMPLES["received_bytes"])})
        found.append({"of": f"{base}.window", "every": _every(duration_s, SAMPLES["window"])})
    thin = max(1.0, flows * (SAMPLES["received_bytes"] + SAMPLES["window"]) / VALUES)
    if thin > 1:
        for entry, looks in zip(found, (SAMPLES["received_bytes"], SAMPLES["window"]) * len(found), strict=False):
            entry["every"] = _every(duration_s, max(20, int(looks / thin)))
    for name, link in tree.get("links", {}).items():
        if "rate" in link and "per" not in link:
            of = paths.render(("links", name)) + ".queue.packets"
            found.append({"of": of, "every": _every(duration_s, SAMPLES["queue"])})
    return found


def _every(duration_s: float, looks: int) -> str:
    """A round interval that looks about so many times: 1, 2 or 5 times a power of ten of a second."""
    raw = duration_s / looks
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return f"{max(step, 1e-6):.9g} s"
