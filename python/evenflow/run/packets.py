"""Delay of each packet over time, from a trace of a run that is repeated with the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..scenario import paths
from ..scenario.outline import Outline
from .histograms import full_name, is_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .record import Record


def delays(record: Record, of: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When each data packet arrived, and how long it was on its way: times and delays in s, both of shape (n,).

    Args:
        of: "groups.call": one-way delay, from the sender's host to the end of the path. "links.line" or
            "links.line.classes.voice": queueing delay, from the arrival at the link to the start of transmission.

    Raises:
        UsageError: no such group, link or class; a link whose rate or delay varies; or an unknown scenario.
        EvenflowError: the run has more packets than a trace holds.
    """
    import polars as pl

    name = full_name(of)
    if record.scenario is None:
        raise UsageError(f"{name}: the scenario of this record is unknown, so its packets cannot be traced.")
    scenario = record.scenario
    tree = Outline(scenario).tree
    room, owner, *rest = [str(part) for part in paths.parse(name)]
    if not is_one(name) or rest[-1] != "delay" or owner not in tree.get(room, {}):
        raise UsageError(f"“{name}” is no delay of packets; write groups.NAME or links.NAME.")
    if room == "groups" and rest[0] == "classes":
        raise UsageError(
            f"{name}: packets of one class cannot be traced; write groups.{owner}, or draw a distribution."
        )
    groups = _groups(tree, room, owner, rest[1] if rest[0] == "classes" else None)
    if not groups:
        raise UsageError(f"“{name}”: no group sends such packets.")
    traced = scenario.set("record", {"trace": [paths.render(("groups", group)) for group in groups]})
    rows = traced.run(int(record.json["seed"])).trace().filter((pl.col("payload") > 0) & ~pl.col("backward"))
    place = paths.render(("links", owner)) if room == "links" else "end"
    begin, end = ("arrive", "leave") if room == "links" else ("send", "receive")
    here = rows.filter(pl.col("component") == place).select("time_s", "flow", "seq", "size", "action")
    keys = ["flow", "seq", "size"]
    begun = here.filter(pl.col("action") == begin).with_columns(since=pl.col("time_s")).drop("action")
    ended = here.filter(pl.col("action") == end).drop("action")
    joined = ended.join_asof(begun, on="time_s", by=keys, check_sortedness=False).drop_nulls("since")
    took = pl.col("time_s") - pl.col("since")
    if room == "links":
        took = took - pl.col("size") * 8 / _constant(tree, owner, "rate") - _constant(tree, owner, "delay")
    found = joined.select("time_s", delay=took.clip(lower_bound=0.0))
    return found["time_s"].to_numpy(), found["delay"].to_numpy()


def _groups(tree: Mapping[str, Any], room: str, owner: str, cls: str | None) -> list[str]:
    """The groups whose packets are counted."""
    if room == "groups":
        return [owner]
    found = []
    for name, group in tree.get("groups", {}).items():
        classes = {str(one["class"]) for one in group["traffic"]}
        if owner not in group["path"] or (cls is not None and cls not in classes):
            continue
        if cls is not None and len(classes) > 1:
            raise UsageError(f"Group {name} sends packets of several classes; draw the delay of the group or the link.")
        found.append(name)
    return found


def _constant(tree: Mapping[str, Any], link: str, what: str) -> float:
    """The constant rate or delay of a link. A packet's trace does not have a rate or delay that varies."""
    table = tree["links"][link]
    value = table.get(what)
    if not isinstance(value, str) or "jitter" in table or "serve" in table:
        raise UsageError(
            f"links.{link}.{what} varies, so the queueing delay of a packet is not in its trace. Draw the one-way "
            f"delay of a group, or the series links.{link}.queue.wait."
        )
    return float(value.split()[0])
