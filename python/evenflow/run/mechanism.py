"""Step one mechanism directly, with the simulator's own object: a queue, stage, application, congestion control, …."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ScenarioError, UsageError, unknown
from ..scenario.registry import schema as schema
from . import evidence
from .samples import sample

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario

_PACKET = {
    "now_s": "time in s; 0",
    "bytes": "size in B; 1500",
    "cls": "traffic class; be",
    "id": "any number, returned by `dequeue`; 0",
    "label": "label from an earlier stage; 0",
}
_ECN = {"ecn": '"capable" (or "ect0"), "ect1", "not-capable" or "marked"; "capable"'}
_CROSSING = {
    **_PACKET,
    **_ECN,
    "re": "the RE flag; False",
    "conex": 'report bits (RFC 7837): letters of "LEC" for losses, marks and credit; none',
    "segment": '"syn", "syn-ack", "ack", "data", "fin" or "rst" of a TCP connection; a datagram',
    "window": "receive window as on the wire, 16 bits; none",
    "scale": "the window scale that a SYN announces; none",
    "outer": "the header of a tunnel around it: ecn, re, tunnel, sequence, bytes (of the packet's); none",
    "user": "number of the user; 0",
    "flow": "number of the flow; 0",
}
_EVENT = {
    "now_s": "time in s; 0",
    "flight": "bytes in flight; the window",
    "mss": "segment size in B; the stack's",
}
_TOLD = {
    "now_s": "time in s; 0",
    "conn": "the connection, by the number that the application has given it; 0",
    "end": 'at which end: "client" or "server"',
}
METHODS: dict[str, dict[str, dict[str, str]]] = {
    "queue": {
        "admit": {
            **_PACKET,
            **_ECN,
            "packets": "packets waiting; 0",
            "queue_bytes": "bytes waiting; 1500 for each packet",
            "rate_bps": "the link's rate in bit/s; 10e6",
            "idle_since_s": "start of the transmitter's idle time in s; busy",
        },
        "leave": {
            **_PACKET,
            **_ECN,
            "waited_s": "waiting time in s; 0",
            "queue_bytes": "bytes waiting behind it; 0",
        },
        "emptied": {"now_s": "time in s; 0"},
        "departed": {
            "now_s": "time in s; 0",
            "bytes": "size in B; 1500",
            "busy_s": "transmission time in s; 0",
        },
        "observe": {"now_s": "time in s; 0"},
    },
    "scheduler": {
        "enqueue": {
            **_PACKET,
            **_ECN,
            "queue": "a number instead of the class, for schedulers that hash",
            "dscp": "DSCP, a name or 0 to 63; that of the class's name",
            "source": "number of the source host; none",
            "destination": "number of the destination host; none",
            "segment": _CROSSING["segment"],
            "ack": "the next byte that it acknowledges; none",
            "ece": "the flag ECE; False",
            "cwr": "the flag CWR; False",
            "sack": "SACK blocks, a list of pairs; none",
            "stamp": "the timestamp that an ACK echoes; 0",
        },
        "dequeue": {"now_s": "time in s; 0"},
        "observe": {"now_s": "time in s; 0"},
    },
    "stage": {
        "forward": _CROSSING,
        "backward": _CROSSING,
        "wake": {"now_s": "time in s; 0"},
        "receive": {"now_s": "time in s; 0", "message": "a message that its peer has `sent`"},
        "observe": {"now_s": "time in s; 0"},
    },
    "traffic": {
        "start": {"now_s": "time in s; 0"},
        "arrival": {"now_s": "time in s; 0"},
        "timer": {"now_s": "time in s; 0", "number": "which alarm"},
        "opened": _TOLD,
        "received": {**_TOLD, "total": "total bytes that arrived at this end in order"},
        "acked": _TOLD,
        "room": _TOLD,
        "peer_closed": _TOLD,
        "reset": _TOLD,
        "closed": {"now_s": "time in s; 0", "conn": _TOLD["conn"]},
        "datagram": {**_TOLD, "tag": "its number; 0", "bytes": "size in B; 84"},
    },
    "adaptation": {
        "choose": {
            "ladder_bps": "the levels in bit/s, rising",
            "chunk_s": "seconds of video in a chunk; 2",
            "sizes_bytes": "sizes in B, a list of the levels' for each chunk; those that the bitrate gives",
            "next": "number of the requested chunk; 0",
            "buffer_s": "seconds of video in the playback buffer; 0",
            "capacity_s": "capacity of the buffer in seconds of video; 30",
            "throughputs_bps": "throughput of each chunk so far in bit/s, the latest last; none",
            "last": "level of the last chunk; none",
        },
    },
    "congestion-control": {
        "ack": {
            "now_s": "time in s; 0",
            "segments": "segments newly acknowledged; 1",
            "rtt_s": "the round-trip time it shows in s; none",
            "marks": "congestion marks it reports, which where single marks do not count keep the window as it is; 0",
            "una": "bytes acknowledged so far; those of the calls",
            "next": "end of what was sent in B; a window beyond",
            "mss": "segment size in B; the stack's",
        },
        "loss": _EVENT,
        "mark": _EVENT,
        "timeout": _EVENT,
        "set": {"cwnd": "window in B", "ssthresh": "slow-start threshold in B"},
    },
}
"""Methods of the mechanisms of a kind, with arguments and defaults."""

_LATEST_S = 1_000_000


class Mechanism:
    """A single mechanism; its methods are the Rust object's, called with keywords.

    `meter.forward(now_s=0.5, bytes=1500)` passes a packet to a meter. Parameters are as in a scenario ("3 s").
    Arguments and results are numbers in SI units; results come in a table. `seed=2` changes the random draws.

    A queue gets its backlog (`packets`, `queue_bytes`) and returns `verdict`, `reason` and the packet's new `ecn`.
    A rule with a timer first advances to `now_s` with the queue of this call. `link_rate="10 Mbit/s"` sets its
    link. `leave` and `emptied` are for rules that judge packets at the head of the queue, `departed` for rules that
    count sent packets.

    A stage returns for `forward` and `backward` its `verdict` ("pass", "mark", "drop", "hold"), the `reason`, the
    new fields of the packet and the `changed` ones. Every call may also return `sent` and `released` packets, `set`
    values and a time to `wake`.

    An application receives events of its connections, such as `opened(conn=0, end="client")`. It returns `calls`:
    tables whose `do` is "open", "write", "close", "abort", "timer", "transfer", …. `METHODS` and docs/mechanisms.md
    list all.
    """

    def __init__(self, kind: str, **params: Any) -> None:
        from .. import _core

        given = _trees(params)
        if wrong := list(_unfit(given)):
            raise UsageError(f"{kind}: {'; '.join(wrong)}")
        try:
            self._core = _core.Mechanism(kind, json.dumps(given))
        except ValueError as error:
            if kind not in kinds():
                raise unknown("mechanism", kind, kinds()) from None
            raise UsageError(f"{kind}: {error}") from None
        self.kind = kind
        self._methods = METHODS[self._core.room]

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)
        if method not in self._methods:
            raise unknown(f"method of {self.kind}", method, self._methods)
        known = self._methods[method]

        def call(**arguments: Any) -> Any:
            for name in arguments:
                if name not in known:
                    raise unknown(f"argument of {self.kind}.{method}", name, known)
            given = _trees(arguments)
            wrong = list(_unfit(given))
            now = given.get("now_s")
            # A rule with a timer advances to now_s tick by tick, without an end.
            if not wrong and isinstance(now, int | float) and now > _LATEST_S:
                wrong = [f"now_s must be at most {_LATEST_S}, it is {now:g}"]
            if wrong:
                raise UsageError(f"{self.kind}.{method}: {'; '.join(wrong)}")
            try:
                return json.loads(self._core.call(method, json.dumps(given)))
            except ValueError as error:
                raise UsageError(f"{self.kind}.{method}: {error}") from None

        call.__name__ = method
        call.__doc__ = "Arguments, with defaults:\n" + "\n".join(f"    {name}: {text}" for name, text in known.items())
        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._methods})

    def __repr__(self) -> str:
        return f"<Mechanism {self.kind}>"


def mechanism(kind: str, **params: Any) -> Mechanism:
    """Make a mechanism to step directly.

    Args:
        kind: as in a scenario: "activity-meter", "activity-aqm", "csfq", …
        params: its parameters, as in a scenario (`memory="3 s"`); for a congestion control also the `weight` of its
            user and the `stack` it stands on ("ns3.26").

    Raises:
        UsageError: no such kind (the nearest is named), or bad parameters.
    """
    return Mechanism(kind, **params)


def _unfit(given: Any, at: str = "") -> Iterator[str]:
    """Values that JSON cannot hold, with their places and reasons."""
    if isinstance(given, dict):
        for name, value in given.items():
            yield from _unfit(value, f"{at}.{name}" if at else str(name))
    elif isinstance(given, list | tuple):
        for index, value in enumerate(given):
            yield from _unfit(value, f"{at}[{index}]")
    elif isinstance(given, float):
        if not math.isfinite(given):
            yield f"{at} must be finite, it is {given}"
    elif isinstance(given, int):
        if abs(given) > sys.float_info.max:
            yield f"{at} is larger than any number here can be"
    elif given is not None and not isinstance(given, str):
        yield f"{at} must be a number, a text, a list or a table, not of type {type(given).__name__}"


def _trees(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value.to_tree() if hasattr(value, "to_tree") else value for name, value in params.items()}


def states(scenario: Scenario | None, series: str) -> tuple[str, ...]:
    """The names of the values of a state, as its table has them: "State: 0 Startup, 1 Drain."; () where unknown."""
    from ..scenario import paths

    found = {
        table["kind"]: tuple(word for _, word in re.findall(r"(\d) ([^,.]+)", one["doc"]))
        for table in schema()["mechanisms"]
        for one in table["observables"]
        if one["name"] == series.rpartition(".")[2] and one["doc"].startswith("State")
    }
    if len(found) == 1:
        return next(iter(found.values()))
    group = str(paths.parse(series)[1])
    traffic = json.loads(scenario.core.canonical)["groups"][group]["traffic"] if scenario is not None else []
    controls = [(one.get("tcp") or {}).get("congestion_control") for one in traffic]
    named = [one["kind"] if isinstance(one, dict) else one for one in controls]
    return next((found[kind] for kind in named if kind in found), ())


def kinds() -> list[str]:
    """The kinds of all mechanisms."""
    return [table["kind"] for table in schema()["mechanisms"]]


ALIASES: dict[str, tuple[str, ...]] = {
    "rtt": ("rtt_s_p50", "rtt_s_p99", "completion_s_p50", "completion_s_p99"),
    "latency": ("delay_s_p50", "delay_s_p99", "queue_delay_s_mean", "queue_delay_s_p99"),
    "delay": ("delay_s_p50", "delay_s_p99", "queue_delay_s_mean", "queue_delay_s_p99"),
    "queue_delay": ("queue_delay_s_mean", "queue_delay_s_p99"),
    "fct": ("completion_s_p50", "completion_s_p95", "completion_s_p99"),
    "plt": ("completion_s_p50", "completion_s_p95", "completion_s_p99"),
    "cwnd": ("window_packets_mean",),
    "goodput": ("goodput_bps",),
    "throughput": ("throughput_bps",),
    "loss": ("loss_ratio",),
    "rpm": ("responsiveness_rpm",),
    "qoo": ("quality_of_outcome",),
}
"""Usual names of metrics -> the last segments of the metrics of a record."""


def describe(name: str) -> dict[str, Any]:
    """The table of a mechanism or a TCP profile, or the definition of a metric.

    A mechanism also has an `example`, its `validation` (`evidence.of`) and its `vectors` (`evidence.vectors`).
    With an alias such as “rtt”, `alias` has it and `metrics` the metrics that it means.

    Raises:
        UsageError: unknown name. The message has the nearest name, or the owner of a parameter or observable.
    """

    def plain(text: str) -> str:
        return text.casefold().replace("_", "-")

    tables: list[dict[str, Any]] = [*schema()["mechanisms"], *schema()["metrics"]]
    for table in tables:
        if plain(str(table.get("kind") or table["name"])) == plain(name):
            if "kind" not in table:
                return table
            checked = {"validation": evidence.of(table["kind"]), "vectors": evidence.vectors(table["kind"])}
            return {**table, "example": sample(table), **checked, **_alias(name)}
    for profile in schema()["profiles"]:
        if profile["name"] == plain(name):
            made = _profile(profile)
            return {**made, "example": sample(made), "validation": evidence.of(profile["name"])}
    last = name.rpartition(".")[2]
    for end in ALIASES.get(last.casefold(), (last,)):
        for table in schema()["metrics"]:
            if table["name"].rpartition(".")[2] == end:
                return {**table, **_alias(name)}
    if planned := not_built(name):
        raise UsageError(planned)
    for what, key in (("an observable", "observables"), ("a parameter", "params")):
        owners = [table["kind"] for table in schema()["mechanisms"] if any(p["name"] == last for p in table[key])]
        if owners:
            raise UsageError(f"“{name}” is {what} of {', '.join(owners)}; try: evenflow describe {owners[0]}")
    raise unknown("mechanism or metric", name, [str(t.get("kind") or t["name"]) for t in tables + schema()["profiles"]])


def _alias(name: str) -> dict[str, Any]:
    """The metrics that a usual name means; empty for other names."""
    ends = ALIASES.get(name.casefold(), ())
    known = {m["name"].rpartition(".")[2]: m["name"] for m in reversed(schema()["metrics"])}
    found = [known[end] for end in ends if end in known]
    return {"alias": name, "metrics": found} if found else {}


def not_built(name: str) -> str:
    """A scenario's message for a mechanism that is planned; empty for other names."""
    from ..scenario.scenario import Scenario

    wrong = {"kind": name}
    tree = {
        "duration": "1 s",
        "links": {"line": {"rate": "1 Mbit/s", "queue": {**wrong, "scheduler": wrong}}},
        "stages": {"stage": wrong},
        "groups": {
            "a": {"users": 1, "path": ["line"], "traffic": wrong},
            "b": {"users": 1, "path": ["line"], "traffic": {"kind": "bulk"}, "tcp": {"congestion_control": name}},
            "c": {"users": 1, "path": ["line"], "traffic": {"kind": "bulk"}, "tcp": {"stack": name}},
            "d": {"users": 1, "path": ["line"], "traffic": {"kind": "has", "adaptation": name}},
        },
    }
    try:
        Scenario(tree).check()
    except ScenarioError as error:
        found = [message for _, message in error.errors if PLANNED in message]
        return "\n".join(dict.fromkeys(f"{message[0].upper()}{message[1:]}." for message in found))
    return ""


PLANNED = "planned, not built"


def _profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    """A stack profile in the form of a mechanism's table."""
    types = {p["name"]: p for table in schema()["mechanisms"] if table["kind"] == "tcp" for p in table["params"]}
    lines = [
        {
            **{key: types.get(line["name"], {}).get(key, "") for key in ("type", "range")},
            **{key: line[key] for key in ("name", "doc", "source")},
            "default": line["value"] if isinstance(line["value"], str) else json.dumps(line["value"]),
        }
        for line in profile["lines"]
    ]
    return {
        "kind": profile["name"],
        "room": "stack profile",
        "title": "TCP stack",
        "doc": profile["doc"],
        "source": "docs/tcp.md",
        "params": lines,
    }
