"""Traced packets as a capture file (pcapng), for Wireshark and its like."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..scenario.scenario import Scenario
    from .record import Record

PLACES = ("start", "end", "both")
"""Where packets are seen: at the start of their group's path, at its end, at both; or behind a link, by its name."""

_SEND, _LEAVE, _RECEIVE = 0, 2, 7  # events at an end or link, as numbers of a trace (docs/measuring)


def check_place(at: str, links: Iterable[str] = ()) -> None:
    """Raises UsageError unless `at` is one of `PLACES` or of `links`, with or without "links." before it."""
    places = [*PLACES, *links]
    if at not in places and at.removeprefix("links.") not in places:
        near = nearest(at, places)
        hint = f"Did you mean “{near}”?" if near else f"Valid places are {', '.join(places)}."
        raise UsageError(f"There is no capture point “{at}”. {hint}")


def pcapng(record: Record, scenario: Scenario, at: str = "start") -> bytes:
    """The packets of `[record] trace` as a capture.

    Addresses and ports encode numbers of flows; payload is left out. The report of a ConEx packet is in its header and
    in a comment, because an IPv4 Re-Echo does not tell loss from mark.

    Args:
        record: a run of `scenario` in which packets were traced.
        at: "start" or "end" of the path, "both" as two interfaces, or a link's name. Behind a link, packets have the
            headers of tunnels around it.

    Raises:
        UsageError: nothing was traced, or ConEx packets of both versions of IP.
    """
    links = list(record.json["links"])
    check_place(at, links)
    prefix = "trace."
    names = [name for name in record.series_names if name.startswith(prefix)]
    if not names:
        raise UsageError('Nothing was traced; write record.trace = ["groups.NAME.users[0].flows[0]"].')
    times, _ = record.arrays(names[0])
    columns = {name.removeprefix(prefix): record.arrays(name)[1] for name in names}
    action, backward = columns["action"], columns["backward"] != 0
    start = np.where(backward, action == _RECEIVE, action == _SEND)
    end = np.where(backward, action == _SEND, action == _RECEIVE)
    if at in PLACES:
        rows = {"start": start, "end": end, "both": start | end}[at]
    else:
        rows = (action == _LEAVE) & (columns["link"] == links.index(at.removeprefix("links.")))
    columns |= {
        "time_s": times,
        "interface": (end & (at == "both")).astype(float),
        "ipv6": np.full(times.shape, float(_over_ipv6(scenario))),
    }
    interfaces = ["start", "end"] if at == "both" else [at]
    return _core.capture(interfaces, {name: column[rows].astype("<f8").tobytes() for name, column in columns.items()})


def _over_ipv6(scenario: Scenario) -> bool:
    """Whether the ConEx senders that are traced use the option of IPv6."""
    tree = json.loads(scenario.core.canonical)
    groups = {re.split(r"[.\[]", name)[1].strip('"') for name in tree["record"].get("trace", [])}
    encodings = {
        traffic["tcp"]["conex"]["encoding"]
        for name in groups & set(tree["groups"])
        for traffic in tree["groups"][name]["traffic"]
        if "conex" in traffic.get("tcp", {})
    }
    if len(encodings) > 1:
        raise UsageError("ConEx senders over IPv4 and over IPv6 are traced; trace one of the groups at a time.")
    return encodings == {"ipv6"}
