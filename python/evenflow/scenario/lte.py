"""The user plane of an LTE network as a plain scenario (Zhang et al. 2011, section IV): a shape, filled in.

What comes out is data like any other scenario: it can be written to a file, changed by paths, and read without this
module. Nothing here is known to the engine.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import Any

from .. import _core
from ..errors import ScenarioError, nearest
from .registry import has
from .scenario import Scenario

Table = Mapping[str, Any]

SCHEMES = ("re-ecn", "ecn", "red", "droptail")
DEPLOYMENTS = ("end-to-end", "infrastructure")
FLAVOURS = ("reno", "newreno", "sack")
DIRECTIONS = ("down", "up")

BOTTLENECK = "r2-r3"
RADIO = "radio"
WIRED = ("pgw-r1", "r1-sgw", "sgw-r2", BOTTLENECK, "r3-enb")
"""The links of one direction, from the packet gateway to a base station."""
POLICE, GATEWAY, REPORT, INTO, OUT, DROP = "police", "gateway", "report", "into", "out", "drop"
"""Names of the stages."""
STAGES = {
    POLICE: ("policer", "congestion-policer"),
    DROP: ("dropper", "auditor"),
    GATEWAY: ("gateway", "congestion-controller"),
    REPORT: ("report", "congestion-reporter"),
}
"""The argument that each comes from, and its kind; tunnels have none."""
STAGES_BY_ARGUMENT = dict(STAGES.values())
ACTIONS = {"re-ecn": "mark-re-ecn", "ecn": "mark", "red": "drop"}
"""RED's action on a picked packet. Queues of re-ECN treat its credit (FNE) as ECN-capable."""
ECN = {"re-ecn": "re-ecn", "ecn": "classic", "red": "off", "droptail": "off"}


def marker(scheme: str = "re-ecn", **changed: Any) -> dict[str, Any]:
    """The queue of a link that may fill: 250 packets, RED from 31 to 94, gentle, or drop-tail of the same length.

    Args:
        scheme: "re-ecn" and "ecn" mark, "red" drops, "droptail" has no RED.
        changed: further settings of the queue `red`, or others in their place.
    """
    if scheme == "droptail":
        return {"kind": "droptail", "limit": "250 packets", **changed}
    return {
        "kind": "red",
        "action": ACTIONS[scheme],
        "limit": "250 packets",
        "min_threshold": "31 packets",
        "max_threshold": "94 packets",
        "max_probability": 0.1,
        "weight": 0.002,
        "gentle": True,
        "hard_drop": False,
        "spread": "floyd",
        **changed,
    }


def sender(scheme: str = "re-ecn", flavour: str = "reno", **changed: Any) -> dict[str, Any]:
    """ns-2's TCP of 1000-byte packets, an ACK for each, a minimum timeout of 1 s, and an unlimited window.

    Args:
        scheme: how marks come back: re-ECN's counter and reports, RFC 3168's echo, or not at all.
        flavour: "reno" ends a recovery with the first new ACK, "newreno" repairs a hole per round trip, "sack" many.
        changed: further settings of `tcp`, or others in their place.
    """
    found: dict[str, Any] = {
        "stack": "ns2",
        "congestion_control": "newreno",
        "mss": "960 B",
        "header": "40 B",
        "initial_window": "2 packets",
        "max_window": "100 MB",
        "min_rto": "1 s",
        "ack_every": 1,
        "handshake": "three-way",
        "ecn": ECN[scheme],
    }
    if flavour == "sack":
        found["sack"] = True
    elif flavour == "reno":
        found["partial_ack"] = "ends-recovery"
    if scheme == "re-ecn":
        found["conex"] = {"unit": "packets", "credit": "first-and-third"}
    return {**found, **changed}


def lte(
    groups: Mapping[str, Table] | None = None,
    *,
    users: int = 10,
    per_cell: int = 5,
    scheme: str = "re-ecn",
    deployment: str = "end-to-end",
    flavour: str = "reno",
    policer: Table | None = None,
    dropper: Table | None = None,
    gateway: Table | None = None,
    report: Table | None = None,
    queue: Table | None = None,
    radio: Table | None = None,
    hops: int = 5,
    delay: str = "20 ms",
    bottleneck: str = "50 Mbit/s",
    rate: str = "100 Mbit/s",
    **more: Any,
) -> Scenario:
    """An LTE network as a scenario: phones behind base stations, S-GW and packet gateway, routers R1 to R3.

    Downlink: packet gateway, R1, S-GW, R2, R3, base station, phone. Links have 100 Mbit/s and 20 ms, R2 to R3 has
    50 Mbit/s; the radio link of a cell has 100 Mbit/s and 200 ms. All of it may be changed in what is returned.

    >>> import evenflow as ef
    >>> cell = ef.lte(users=10, policer={"kind": "congestion-policer", "rule": "volume", "rate": "800 bit/s",
    ...                                  "depth": "60 kB", "per": "user"})
    >>> cell.tree["groups"]["phones"]["path"]
    ['police', 'pgw-r1', 'r1-sgw', 'sgw-r2', 'r2-r3', 'r3-enb', 'radio']

    Args:
        groups: name -> a group's table; `users`, `path`, `traffic`, `tcp` and `class` are filled in where they are
            missing. `direction = "up"` in it sends from phones to the gateway. None: one group "phones" that downloads.
        users: phones of a group that does not say it.
        per_cell: phones of a base station.
        scheme: "re-ecn", "ecn", "red" or "droptail": the queues' and the senders'.
        deployment: "end-to-end": senders and phones speak re-ECN. "infrastructure": packet gateway and base station
            do, in the header of a GTP-U tunnel for each phone; senders stand at the gateway, which tells them of
            marks, or know nothing of it (`gateway = {"mode": "police"}`). Scheme re-ecn alone.
        flavour: "reno", "newreno" or "sack".
        policer: a stage `congestion-policer` where packets enter the network.
        dropper: a stage `auditor` before the last link: before the radio downlink, behind R1 uplink.
        gateway, report: changes to the stages `congestion-controller` and `congestion-reporter`.
        queue: the queue from R2 to R3 (`marker`). Other links hold 1000 packets.
        radio: changes to the radio link, such as `loss`.
        hops: wired links, 2 to 64; those of R1 and the S-GW go first, more routers stand between S-GW and R2.
        delay, bottleneck, rate: of wired links; of R2 to R3; of all others.
        more: further sections of the scenario (`duration`, `record`, …). `links` and `stages` are changes to those that
            are there, setting by setting, unless a table says its `kind`, which replaces the one there; names that are
            not there are added. `radio`, `policer`, `dropper`, `gateway` and `report` are shorter ways to some of them,
            in both directions.

    Raises:
        ScenarioError: with everything that is wrong.
    """
    given, wrong = _groups(groups)
    tables = {
        "policer": policer,
        "dropper": dropper,
        "gateway": gateway,
        "report": report,
        "queue": queue,
        "radio": radio,
    }
    wrong += [
        *_unknown(more),
        *(it for name, table in tables.items() if table is not None for it in _tabled(name, table)),
        *(it for name, kind in STAGES.values() for it in _kind(name, tables[name], kind)),
        *(it for name in ("links", "stages") if name in more for it in _tabled(name, more[name])),
        *_named("scheme", scheme, SCHEMES),
        *_named("deployment", deployment, DEPLOYMENTS),
        *_named("flavour", flavour, FLAVOURS),
        *_counted("users", users, 1, 1_000_000),
        *_counted("per_cell", per_cell, 1, 1_000_000),
        *_counted("hops", hops, 2, 64),
    ]
    if deployment == "infrastructure" and scheme in SCHEMES and scheme != "re-ecn":
        wrong.append(("deployment", f"infrastructure is re-ECN between gateway and base station; scheme is {scheme}"))
    for name, changes in (("gateway", gateway), ("report", report)):
        if changes is not None and deployment == "end-to-end":
            wrong.append((name, "there is none with deployment = “end-to-end”"))
    ways = {name: table.pop("direction", "down") for name, table in given.items()}
    for name, way in ways.items():
        wrong += _named(f"groups.{name}.direction", way, DIRECTIONS)
    mode = gateway.get("mode", "split") if isinstance(gateway, Mapping) else "split"
    if deployment == "infrastructure" and mode == "split" and "up" in ways.values():
        wrong.append(("gateway.mode", "split: senders of the uplink are phones and do not stand at the gateway"))

    # From here on valid values replace wrong ones, so that the rest is checked too.
    told = {path for path, _ in wrong}
    inside = (
        _meant(deployment, DEPLOYMENTS, DEPLOYMENTS[int(gateway is not None or report is not None)]) == "infrastructure"
    )
    scheme = "re-ecn" if inside else _meant(scheme, SCHEMES, "re-ecn")
    flavour = _meant(flavour, FLAVOURS, "reno")
    users, per_cell, hops = (
        default if name in told else value
        for name, value, default in (("users", users, 10), ("per_cell", per_cell, 5), ("hops", hops, 5))
    )
    ways = {name: _meant(way, DIRECTIONS, "down") for name, way in ways.items()}
    policer, dropper, gateway, report = (
        _standing(name, tables[name], kind) for name, kind in STAGES_BY_ARGUMENT.items()
    )
    queue, radio = (it if isinstance(it, Mapping) else None for it in (queue, radio))
    if "gateway.mode" in told:
        mode, gateway = "police", {**(gateway or {}), "mode": "police"}
    more = {name: it for name, it in more.items() if name not in told}

    links: dict[str, Any] = {}
    stages: dict[str, Any] = {}
    made: dict[str, Any] = {}
    for name, table in given.items():
        way = ways[name]
        route, mine = _links(way, scheme, per_cell, hops, delay, bottleneck, rate, queue, radio)
        links.update(mine)
        path, here = _stages(way, route, inside, policer, dropper, gateway, report)
        stages.update(here)
        spoken = scheme if not inside else "red"
        tcp = sender(spoken, flavour, **({"ecn": "gateway" if mode == "split" else "off"} if inside else {}))
        made[name] = {
            "users": int(users),
            "class": name,
            "path": path,
            "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}},
            **table,
        }
        if not has(made[name]["traffic"], "datagrams"):
            mine = table.get("tcp", {})
            # a sender that gets marks otherwise reports nothing unless its group says so
            if "ecn" in mine and "conex" not in mine:
                tcp.pop("conex", None)
            made[name]["tcp"] = {**tcp, **mine}
    tree = {"title": "LTE user plane", "duration": "300 s", "warmup": "0 s", **more}
    tree["links"] = _changed(links, more.get("links", {}))
    tree["stages"] = _changed(stages, more.get("stages", {}))
    tree["groups"] = made
    if not tree["stages"]:
        del tree["stages"]
    scenario = Scenario(tree)
    try:
        scenario.check()
    except ScenarioError as error:
        paths = {name: made[name]["path"] for name, table in given.items() if "path" not in table}
        found = _as_given(error.errors, more, radio, queue, paths)
        wrong += [(path, reason) for path, reason in found if not _caused(path, told, tables)]
    if wrong:
        raise ScenarioError(wrong)
    return scenario


def _changed(there: Mapping[str, Any], changes: Table) -> dict[str, Any]:
    """Links or stages with changes to those that are there; others are added.

    A table that says its kind stands in the place of the one that is there, since settings of one kind mean nothing to
    another.
    """

    def changed(old: Any, new: Any) -> Any:
        if not isinstance(old, Mapping) or not isinstance(new, Mapping) or "kind" in new:
            return new
        return {**old, **{key: changed(old.get(key), value) for key, value in new.items()}}

    return {**there, **{name: changed(there.get(name), new) for name, new in changes.items()}}


def _meant(value: Any, known: Sequence[str], default: str) -> str:
    """A name if it is known, else the one that is likely meant, or the default."""
    if value in known:
        return str(value)
    return (nearest(value, known) if isinstance(value, str) else None) or default


def _standing(name: str, table: Any, kind: str) -> Table | None:
    """The table of a place, with its kind added where missing or mistyped. None where the kind is another."""
    if not isinstance(table, Mapping):
        return None
    if not _kind(name, table, kind):
        return table
    given = table.get("kind", kind)
    return {**table, "kind": kind} if isinstance(given, str) and nearest(given, [kind]) else None


def _caused(path: str, told: Collection[str], tables: Mapping[str, Any]) -> bool:
    """Whether an error comes of what stands in the place of something wrong, instead of what was given."""
    if any(path == it or path.startswith(f"{it}.") for it in told):
        return True
    name, _, rest = path.partition(".")
    # of a stage whose kind was filled in, only what was given can be wrong
    return f"{name}.kind" in told and rest.partition(".")[0] not in (tables.get(name) or {})


def _groups(groups: Any) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str]]]:
    """A copy of every group, without what is no table though it should be; and what is wrong."""
    if groups is None:
        return {"phones": {}}, []
    if wrong := _tabled("groups", groups):
        return {"phones": {}}, wrong
    if not groups:
        return {"phones": {}}, [("groups", "at least one group is needed; None is one that downloads, called phones")]
    given: dict[str, dict[str, Any]] = {}
    for name, table in groups.items():
        if not isinstance(name, str):
            wrong.append(("groups", f"a group's name is text, not {name!r}"))
            continue
        mine = _tabled(f"groups.{name}", table)
        given[name] = {} if mine else dict(table)
        for part in ("traffic", "tcp"):
            if part in given[name] and (bad := _tabled(f"groups.{name}.{part}", given[name][part])):
                mine += bad
                del given[name][part]
        wrong += mine
    return given or {"phones": {}}, wrong


def _as_given(
    errors: Sequence[tuple[str, str]],
    more: Table,
    radio: Table | None,
    queue: Table | None,
    paths: Mapping[str, Sequence[str]],
) -> list[tuple[str, str]]:
    """Errors by the name of their argument. An error of all links appears once.

    Args:
        errors: by paths in the scenario.
        more, radio, queue: the arguments.
        paths: those that were filled in, by group.
    """

    def renamed(path: str) -> str:
        section, _, rest = path.partition(".")
        name, _, what = rest.partition(".")
        mine = name.removeprefix("up-")
        key = what.partition(".")[0]
        if section not in ("stages", "links", "groups") or _says(more.get(section, {}), (name, mine), key):
            return path
        if section == "stages" and mine in STAGES:
            return ".".join(filter(None, (STAGES[mine][0], what)))
        if section == "links" and mine == RADIO and key in (radio or {}):
            return f"{RADIO}.{what}"
        if section == "links" and mine == BOTTLENECK and key == "queue" and queue is not None:
            return what
        if section == "links" and key in ("rate", "delay") and (mine, key) != (RADIO, "delay"):
            return "bottleneck" if key == "rate" and mine == BOTTLENECK else key
        hop = what.removeprefix("path[").removesuffix("]")
        if section == "groups" and name in paths and hop.isdigit():
            return STAGES.get(paths[name][int(hop)].removeprefix("up-"), (path,))[0]
        return path

    return list(dict.fromkeys((renamed(path), message) for path, message in errors))


def _says(section: Table, names: Sequence[str], key: str) -> bool:
    """Whether a setting is of the section that was given: a change to what is there, or all of what stands there."""
    given = [section[name] for name in dict.fromkeys(names) if name in section]
    return any(not isinstance(it, Mapping) or key in it or "kind" in it or not key for it in given)


@cache
def _sections() -> list[str]:
    """The sections of a scenario, read once: the schema is long."""
    return [*json.loads(_core.json_schema())["properties"]]


def _unknown(more: Table) -> list[tuple[str, str]]:
    """Names that are neither an argument nor a section of a scenario."""
    sections = _sections()
    own = [name for name in inspect.signature(lte).parameters if name != "more"]
    found = []
    for name in more.keys() - {*sections}:
        guess = nearest(name, [*own, *sections])
        tail = f"Did you mean “{guess}”?" if guess else f"Known: {', '.join([*own, *sections])}."
        found.append((name, f"there is no such argument. {tail}"))
    return sorted(found)


def _kind(name: str, table: Any, kind: str) -> list[tuple[str, str]]:
    """Errors where a place has another kind. Gateway and report are changes and need no kind."""
    if not isinstance(table, Mapping) or ("kind" not in table and name in ("gateway", "report")):
        return []
    if "kind" not in table:
        return [(f"{name}.kind", f"is required: “{kind}”")]
    given = table["kind"]
    return [] if given == kind else [(f"{name}.kind", f"{given!r} does not stand here; write “{kind}”")]


def _links(
    way: str,
    scheme: str,
    per_cell: int,
    hops: int,
    delay: str,
    bottleneck: str,
    rate: str,
    queue: Table | None,
    radio: Table | None,
) -> tuple[list[str], dict[str, Any]]:
    """Names of one direction's links in the order of its packets, and the links."""
    cell = f"{int(per_cell)} users"
    extra = [f"router{n}" for n in range(1, hops - len(WIRED) + 1)]
    first = max(0, len(WIRED) - hops)
    chain = [*WIRED[first:2], *extra, *WIRED[max(2, first) :]]
    links: dict[str, Any] = {}
    for name in chain:
        narrow = name == BOTTLENECK
        links[name] = {
            "rate": bottleneck if narrow else rate,
            "delay": delay,
            "queue": dict(marker(scheme) if queue is None else queue)
            if narrow
            else {"kind": "droptail", "limit": "1000 packets"},
        }
        if name == WIRED[-1]:
            links[name]["per"] = cell
    links[RADIO] = {"rate": rate, "delay": "200 ms", "per": cell, **(radio or {})}
    if way == "down":
        return list(links), links
    # Uplink packets have separate links. The reverse path of a link carries acknowledgements and has another queue.
    back = {f"up-{name}": links[name] for name in reversed(list(links))}
    return list(back), back


def _stages(
    way: str,
    route: Sequence[str],
    inside: bool,
    policer: Table | None,
    dropper: Table | None,
    gateway: Table | None,
    report: Table | None,
) -> tuple[list[str], dict[str, Any]]:
    """One direction's path and its stages."""
    up = way == "up"
    name = (lambda it: f"up-{it}") if up else (lambda it: it)
    wired = [it for it in route if not it.endswith(RADIO)]
    before: list[str] = []
    behind: list[str] = []
    stages: dict[str, Any] = {}

    def stand(where: list[str], it: str, table: Table) -> None:
        where.append(name(it))
        stages[name(it)] = dict(table)

    if inside:
        tunnel = {"ecn": "paper", "per": "user"}
        stand(before, INTO, {"kind": "tunnel-ingress", "peer": name(OUT), "overhead": "gtp-u-sequence", **tunnel})
        told = {
            "kind": "congestion-controller",
            "peer": name(REPORT),
            "per": "user",
            "mode": "split",
            **(gateway or {}),
        }
        stand(before, GATEWAY, told)
    if policer is not None:
        stand(before, POLICE, policer)
    if dropper is not None:
        stand(behind, DROP, dropper)
    if inside:
        stand(behind, REPORT, {"kind": "congestion-reporter", "peer": name(GATEWAY), "per": "user", **(report or {})})
        stand(behind, OUT, {"kind": "tunnel-egress", "peer": name(INTO), **tunnel})
    ends = [name(RADIO)]
    return ([*ends, *before, *wired, *behind] if up else [*before, *wired, *behind, *ends]), stages


def _named(path: str, value: Any, known: Sequence[str]) -> list[tuple[str, str]]:
    if value in known:
        return []
    guess = nearest(value, known) if isinstance(value, str) else None
    tail = f"Did you mean “{guess}”?" if guess else f"Known: {', '.join(known)}."
    return [(path, f"there is no “{value}”. {tail}")]


def _counted(path: str, value: Any, least: int, most: int) -> list[tuple[str, str]]:
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return []
    return [(path, f"{value!r} is not a whole number from {least} to {most}")]


def _tabled(path: str, value: Any) -> list[tuple[str, str]]:
    return [] if isinstance(value, Mapping) else [(path, f"a table is needed, not {value!r}")]
