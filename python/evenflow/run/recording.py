"""Series for figures and views of a run whose scenario names none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import EvenflowError, Interrupted, ScenarioError
from ..scenario import registry
from .record import require_same

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .record import Record

VALUES = 4_000_000
"""Most values that are recorded for a figure."""
SAMPLES = {"received_bytes": 150, "queue": 1500, "window": 1500}
"""Looks at a series over the run: rates are means over an interval, the rest are instants."""
RATES = 600
"""Looks at what only a view has, of counters; `SAMPLES["queue"]` of the rest."""
MOST_COPIES = 20
"""Users of a scenario up to whom a view looks at each queue, class and stage of a user."""
MOST_ROWS = 1_000_000
"""Of a trace; a run with more ends with a message."""
MOST_TRACES = 4
"""Runs in which users are followed one after another, because all together are too many."""
MOST_FOLLOWED = 200
"""Users who are followed in one run: the engine follows so many flows, and a page has room for no more."""
HELD = ("B", "s", "bit/s")
"""Units of observables that a view looks at in stages: what they hold, not what they have counted."""

Series: TypeAlias = "list[dict[str, str]]"


def recording(scenario: Scenario) -> tuple[Scenario, bool]:
    """The scenario as it is where it names series; else with rates, windows and queues recorded, and True.

    The series do not change what happens in the run.
    """
    tree = scenario.tree
    record = tree.get("record", {})
    if isinstance(record, dict) and record.get("series"):
        return scenario, False
    return watched_for(scenario, _wanted(tree, scenario.core.duration_s)), True


def watched_for(scenario: Scenario, wanted: Series) -> Scenario:
    """The scenario with these series, except those that it lacks."""
    while wanted:
        watched = scenario.set("record.series", wanted)
        try:
            watched.core  # noqa: B018  (validates)
        except ScenarioError as error:
            # skip series that this scenario lacks, such as the window of a flow without TCP
            refused = {int(m[1]) for path, _ in error.errors if (m := re.match(r"record\.series\[(\d+)\]", path))}
            if not refused:
                raise
            wanted = [entry for index, entry in enumerate(wanted) if index not in refused]
            continue
        return watched
    return scenario


def again_for_a_view(record: Record) -> tuple[list[Record], list[str]]:
    """The same run again, with what a view shows and the record does not have; and what could not be had, in sentences.

    Rates, windows, queues and what stages hold are recorded where the scenario names no series, and the packets of
    users who watch video are followed. None of this changes what happens: the records must agree in everything else.

    Raises:
        EvenflowError: they do not, a defect.
    """
    scenario = record.scenario
    if scenario is None:
        return [], []
    named = bool(scenario.tree.get("record", {}).get("series"))
    viewers = [] if record.is_traced else viewers_of(record)
    if named and not viewers:
        return [], []
    return _repeated(record, viewers, series=not named)


def watched_again(record: Record) -> tuple[list[Record], list[str]]:
    """`again_for_a_view` for a record with some series, such as those of a paper's figure: adds the others."""
    if record.scenario is None:
        return [], []
    return _repeated(record, [] if record.is_traced else viewers_of(record), series=True)


def _repeated(record: Record, viewers: Sequence[tuple[str, int]], *, series: bool) -> tuple[list[Record], list[str]]:
    plain = without_record(record)
    watched = viewing(plain) if series else plain
    seed = int(record.json["seed"])
    bunches = _bunches(viewers, estimated_rows(record))
    found: list[Record] = []
    left_out = [viewer for viewer in viewers if not any(viewer in bunch for bunch in bunches)]
    for bunch in bunches:
        try:
            found.append(_traced(plain if found else watched, bunch).run(seed))
        except Interrupted:
            raise
        except EvenflowError:  # more packets than a trace holds, or than fit into memory
            left_out = [*left_out, *bunch]
    if series and not found:
        found = [watched.run(seed)]
    for other in found:
        require_same(record, other)
    return found, [_too_many(len(left_out), len(viewers))] if left_out else []


def _bunches(viewers: Sequence[tuple[str, int]], rows: Mapping[str, float]) -> list[list[tuple[str, int]]]:
    """Sets of users to trace, a run each.

    One run traces all users if their rows fit. Otherwise each user has a separate run, or with many users one run
    traces as many as fit. `rows`: rows of a user of each group, about.
    """
    fit, filled = 0, 0.0
    for name, _ in viewers[:MOST_FOLLOWED]:
        filled += rows[name]
        if filled > MOST_ROWS:
            break
        fit += 1
    if fit < len(viewers) <= MOST_TRACES:
        return [[viewer] for viewer in viewers]
    return [list(viewers[:fit])] if fit else []


def estimated_rows(record: Record) -> dict[str, float]:
    """Estimated rows of a user's trace, by group.

    Each packet and its ACK has a row at both ends, and two at each component between.
    """
    assert record.scenario is not None
    start, end = (float(t) for t in record.json["window_s"])
    tree = record.scenario.tree["groups"]
    whole = end / (end - start) if end > start else 1.0
    return {
        name: 2.0 * whole * group["sent_packets"] / max(1, group["users"]) * (2 * len(tree[name]["path"]) + 2)
        for name, group in record.json["groups"].items()
    }


def without_record(record: Record) -> Scenario:
    """The scenario of a record, without what it records."""
    assert record.scenario is not None
    tree = record.scenario.tree
    return record.scenario if "record" not in tree else record.scenario.unset("record")


def _too_many(users: int, of: int) -> str:
    whose = "the users who watch" if users == of else f"{users} of the {of} users who watch"
    lost = "their ON and OFF, rates and buffers are not shown"
    return f"The packets of {whose} are too many to be followed, so that {lost}."


def viewers_of(record: Record) -> list[tuple[str, int]]:
    """Group and number of each user who watches video."""
    groups = record.json.get("groups", {})
    return [(name, user) for name in groups if "video" in groups[name] for user in range(int(groups[name]["users"]))]


def _traced(scenario: Scenario, users: Sequence[tuple[str, int]]) -> Scenario:
    from ..scenario import paths

    followed = [f"{paths.render(('groups', name))}.users[{user}]" for name, user in users]
    return scenario.with_settings({"record.trace": followed, "record.events": ["open", "drop"]})


def viewing(scenario: Scenario) -> Scenario:
    """The scenario with all that a view shows recorded, as far as it has it."""
    tree, duration_s = scenario.tree, scenario.core.duration_s
    return watched_for(scenario, [*_wanted(tree, duration_s), *_wanted_in_a_view(tree, duration_s)])


def _wanted(tree: Mapping[str, Any], duration_s: float) -> Series:
    from ..scenario import paths

    found: Series = []
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


def _wanted_in_a_view(tree: Mapping[str, Any], duration_s: float) -> Series:
    """Thresholds of senders, queues and rates of HTB's leaves, what stages hold; of users where there are few."""
    from ..scenario import paths
    from .mechanism import schema

    groups = tree.get("groups", {})
    users = sum(int(group.get("users", 1)) for group in groups.values())
    few = users <= MOST_COPIES
    looks, rates = _every(duration_s, SAMPLES["queue"]), _every(duration_s, RATES)
    found: Series = []
    for name, group in groups.items() if few else ():
        base = paths.render(("groups", name)) + ".users[*].flows"
        found.append({"of": f"{base}[*].ssthresh", "every": looks})
        # dynamically opened flows need explicit numbers: the first ones of a player
        found += [
            {"of": f"{base}[{n}].{leaf}", "every": looks}
            for n in range(_connections(group.get("traffic")))
            for leaf in ("window", "ssthresh")
        ]
    for name, link in tree.get("links", {}).items():
        if "per" in link and not few:
            continue
        base = paths.render(("links", name))
        queue = link.get("queue", {})
        scheduler = queue.get("scheduler", {}) if isinstance(queue, Mapping) else {}
        if isinstance(scheduler, Mapping) and registry.has(scheduler, "tree"):
            leaves = few and scheduler.get("per") in ("user", "flow")
            nodes = ["leaves[*]"] if leaves else [f"classes.{paths.render((c,))}" for c in scheduler.get("classes", {})]
            for node in nodes:
                found.append({"of": f"{base}.queue.{node}.packets", "every": looks})
                found.append({"of": f"{base}.queue.{node}.sent_bytes", "every": rates})
        if "rate" in link:
            found.append({"of": f"{base}.delivered_bytes", "every": rates})
    observed = {
        table["kind"]: [one["name"] for one in table.get("observables", []) if one.get("unit") in HELD]
        for table in schema()["mechanisms"]
        if table["room"] == "stage"
    }
    for name, stage in tree.get("stages", {}).items():
        if "per" not in stage or few:
            base = paths.render(("stages", name))
            found += [{"of": f"{base}.{leaf}", "every": looks} for leaf in observed.get(str(stage.get("kind")), [])]
    return found


def _connections(traffic: Any) -> int:
    """Over how many connections the players of a group fetch; 0 where its only traffic is none that plays."""
    if not isinstance(traffic, Mapping) or not registry.has(traffic, "plays"):
        return 0
    several = traffic.get("connections", 1)
    return several if isinstance(several, int) else 1


def interval(duration_s: float, looks: int) -> float:
    """A round interval that fits about so many times: 1, 2 or 5 times a power of ten of a second."""
    raw = duration_s / looks
    power = 10.0 ** math.floor(math.log10(raw))
    return max(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999), 1e-6)


def _every(duration_s: float, looks: int) -> str:
    return f"{interval(duration_s, looks):.9g} s"
