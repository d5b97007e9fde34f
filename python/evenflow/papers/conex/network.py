"""The paper's network (Fig. 7) as scenarios: 100 users behind policers, one link of 100 Mbit/s.

Every experiment builds its points here, so that equal settings give equal scenarios and share their runs. This module
alone names the keys of ConEx senders, policers, auditors and players.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenflow.lab import quantity, seeds
from evenflow.scenario import Scenario

from .choices import Options

CAPACITY_MBPS = 100.0
"""The bottleneck (section IV-A)."""
ACCESS_MBPS = 1000.0
"""A user's access link; not stated."""
ACCESS_MS = 1.0
"""Its one-way delay; not stated."""
PACKET_BYTES = 1500
"""On the wire (section IV-A)."""
PAYLOAD_BYTES = 1460
HEADER_BYTES = 40
WINDOW_PACKETS = 45
"""The TCP window of 64 KB in packets (section IV-A)."""
HEAVY_USERS, LIGHT_USERS = 10, 90
"""Section IV-A."""
DURATION_S = 100.0
"""Section IV-A."""
START: Mapping[str, Any] = {"uniform": ["0 s", "300 ms"]}
"""Start of each flow (section IV-A)."""
AUTOMATIC_WEIGHT = 1.2e-4
"""1 − exp(−1/(10·R·C)) with R = 0.1 s and C = 8333 packets/s: ns-2's automatic rule for this link, also where the
round trip is another."""

DT, RED, ECN, FULL = "DTConEx", "REDConEx", "ECNConEx", "FullConEx"
VARIANTS = (DT, RED, ECN, FULL)
"""Values of the label ``variant`` (Table III)."""
SOFT, MILD, STRICT = "soft", "mild", "strict"
HARSHNESSES = (SOFT, MILD, STRICT)
"""Values of the label ``harshness`` (Fig. 6)."""
NONE = "none"
"""Value of a label where nobody is policed."""
CUBIC, COMPOUND, LEDBAT = "CUBIC", "Compound", "LEDBAT"
"""Values of the label ``control``."""

HEAVY, LIGHT, CROSS = "heavy", "light", "cross"
"""Groups, and the classes of their packets."""
LINK = "bottleneck"
LARGE, SMALL = "large", "small"
"""Groups by the size of their packets (`two_sizes`)."""
CHEAT = "cheat"
"""The heavy user who declares less congestion than he meets (`cheating`)."""
POLICERS = {name: f"police-{name}" for name in (HEAVY, LIGHT, LARGE, SMALL, CHEAT)}
"""One stage for each group, with a policer for each user."""
AUDITOR = "audit"
EXIT = "exit"
"""A delay for each user behind the bottleneck, where a series wants single users."""

LEVEL = 0.95
"""Confidence level of the paper's intervals (section IV-A)."""
SEEDS = seeds(30, 5)
"""30 runs a point (section IV-A), 5 for a first look."""
FEW_SEEDS = seeds(10, 5)
"""Of experiments beyond the paper, on which nothing is judged."""

RATES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 45.0, 90.0, 120.0, 180.0)
"""Filling rates, tokens/s (Table II)."""
RATES_QUICK = (1.0, 5.0, 15.0, 45.0, 90.0, 180.0)
DEPTHS = (5.0, 12.0, 23.0, 45.0, 90.0)
"""Packets (Table II)."""
RTTS_MS = (20.0, 50.0, 100.0, 150.0, 200.0)
CONTROLS = (CUBIC, COMPOUND)
QUEUES_MS = (10.0, 20.0, 50.0, 100.0, 200.0)
MIN_THRESHOLDS = (2.5, 5.0, 10.0, 20.0, 50.0)
"""Percent of the queue's length (Table II)."""
MAX_THRESHOLDS = (20.0, 40.0, 60.0, 80.0, 100.0)
PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 1.0)
FLOWS = (9, 18, 27, 36)
"""Flows of a heavy user (Fig. 18)."""

Table = Mapping[str, Any]


# --- Policers and variants ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Policer:
    """A congestion policer for each user (section III-F); defaults as in Table II.

    Attributes:
        rate: filling rate r, tokens/s; a token is a packet, or `PACKET_BYTES` where it counts bytes.
        depth: d, packets.
        harshness: "soft", "mild" or "strict" (Fig. 6).
        unit: "packets" or "bytes".
        credit: whether credit costs a token as a report does: "free" or "charged". The paper's senders give none.
    """

    rate: float
    depth: float = float(WINDOW_PACKETS)
    harshness: str = MILD
    unit: str = "packets"
    credit: str = "free"

    def table(self, o: Options) -> dict[str, Any]:
        """The stage."""
        if self.unit == "packets":
            rate, depth = quantity(self.rate, "packets/s"), quantity(self.depth, "packets")
        else:
            rate = quantity(self.rate * PACKET_BYTES * 8, "bit/s")
            depth = quantity(self.depth * PACKET_BYTES, "B")
        return {
            "kind": "congestion-policer",
            "per": "user",
            "rate": rate,
            "depth": depth,
            "harshness": self.harshness,
            "charge": o.charge,
            "floor": o.floor if o.charge == "arrival" else "none",
            "level": 1.0 if o.level == "full" else 0.0,
            **({} if self.credit == "free" else {"credit": self.credit}),
        }


@dataclass(frozen=True)
class Variant:
    """A step of deployment: what queue, sender and receiver do (Table III)."""

    queue: str
    sender: str
    receiver: str

    @property
    def changes(self) -> int:
        """How many elements must change: the sender always, then RED, ECN at router and ends, the receiver."""
        return 1 + (self.queue == "RED") + (self.sender != "No ECN") + (self.receiver == "Accurate ECN")

    @property
    def ecn(self) -> str:
        """How marks come back."""
        return {"No ECN": "off", "Classic ECN": "classic", "Accurate ECN": "accurate"}[self.receiver]


TABLE_3: Mapping[str, Variant] = {
    DT: Variant("DropTail", "No ECN", "No ECN"),
    RED: Variant("RED", "No ECN", "No ECN"),
    ECN: Variant("RED", "Accurate ECN", "Classic ECN"),
    FULL: Variant("RED", "Accurate ECN", "Accurate ECN"),
}
"""Table III."""


@dataclass(frozen=True)
class Setting:
    """What section IV varies; defaults are Table II's values in bold."""

    policer: Policer | None = None
    variant: str = FULL
    rtt_ms: float = 100.0
    control: str = CUBIC
    queue_ms: float = 100.0
    min_threshold: float = 10.0
    max_threshold: float = 100.0
    max_probability: float = 1.0
    flows: int = 36

    def varied(self, parameter: str, value: float) -> Setting:
        """The same with another value of one number."""
        changed: dict[str, Any] = {parameter: value}
        return replace(self, **changed)

    def policed(self, rate: float, harshness: str = MILD, depth: float = float(WINDOW_PACKETS)) -> Setting:
        """The same with a policer."""
        return replace(self, policer=Policer(rate, depth, harshness))


def limit_packets(queue_ms: float) -> int:
    """A queue's length in packets: 100 ms are 833."""
    return round(queue_ms / 1e3 * CAPACITY_MBPS * 1e6 / (8 * PACKET_BYTES))


def queue(o: Options, s: Setting) -> dict[str, Any]:
    """The bottleneck's queue (section IV-A): drop-tail, or RED that drops or marks."""
    length_ms = s.rtt_ms if o.buffer == "rtt" else s.queue_ms
    limit = limit_packets(length_ms)
    if TABLE_3[s.variant].queue == "DropTail":
        return {"kind": "droptail", "limit": quantity(limit, "packets")}
    packets = length_ms / 1e3 * CAPACITY_MBPS * 1e6 / (8 * PACKET_BYTES)
    return {
        "kind": "red",
        "variant": "ns2",
        "limit": quantity(limit, "packets"),
        "min_threshold": quantity(packets * s.min_threshold / 100, "packets"),
        "max_threshold": quantity(packets * s.max_threshold / 100, "packets"),
        "max_probability": s.max_probability,
        "weight": AUTOMATIC_WEIGHT if o.red_weight == "automatic" else float(o.red_weight),
        "spread": o.red_spread,
        "mean_packet": quantity(PACKET_BYTES, "B"),
        # early picks are marked where senders can be, and never dropped above the threshold (section IV-F)
        **({"action": "drop"} if TABLE_3[s.variant].ecn == "off" else {"action": "mark", "hard_drop": False}),
    }


def red_probability(share: float, s: Setting | None = None) -> float:
    """Fig. 2: probability of a mark or drop at an average queue that is this share of the buffer."""
    s = s or Setting()
    low, high = s.min_threshold / 100, s.max_threshold / 100
    if share < low:
        return 0.0
    return 1.0 if share > high else s.max_probability * (share - low) / (high - low)


def drop_probability(harshness: str, level: float, depth: float = float(WINDOW_PACKETS)) -> float:
    """Fig. 6: probability that a packet is dropped at a bucket's level, tokens."""
    if harshness == STRICT:
        return 1.0 if level <= 0 else 0.0
    end = depth / 10 if harshness == MILD else depth
    return min(max(-level / end, 0.0), 1.0)


# --- Senders --------------------------------------------------------------------------------------------------------


def control(o: Options, name: str) -> dict[str, Any]:
    """A congestion control by its label."""
    if name == CUBIC:
        return {"kind": "cubic", "form": o.cubic}
    if name == COMPOUND:
        return {"kind": "compound"}
    return {"kind": "ledbat", "form": "ns2", "target": quantity(o.ledbat_target, "ms")}


CARRY = "carry"
"""What a flow leaves unreported, the user's next one reports."""


def conex(variant: str, leftover: str = CARRY, **other: Any) -> dict[str, Any]:
    """What a ConEx sender reports: every loss, and marks where it is told of any (Table III).

    Args:
        leftover: only where a user has one flow after the other does it make a difference (`short_flows`).
    """
    report = "loss" if TABLE_3[variant].ecn == "off" else "loss-and-ecn"
    return {"report": report, "unit": "packets", "leftover": leftover, **other}


def tcp(o: Options, variant: str, cc: str = CUBIC, **other: Any) -> dict[str, Any]:
    """ns-2's Linux agent with ConEx (section IV-A and `choices`)."""
    ecn = TABLE_3[variant].ecn
    # what is sent again is ECN-capable too, as ConEx over IPv4 has it: RED would drop it early otherwise
    made = {
        "stack": "ns2-linux",
        "congestion_control": control(o, cc),
        "ecn": ecn,
        "max_window": quantity(WINDOW_PACKETS * PAYLOAD_BYTES, "B"),
        "handshake": "none",
        "rto": o.rto,
        "conex": conex(variant),
    }
    return made | other


# --- Networks -------------------------------------------------------------------------------------------------------


def bulk(
    o: Options,
    s: Setting,
    *,
    record: Table | None = None,
    duration_s: float = DURATION_S,
    title: str = "",
) -> Scenario:
    """Section IV: ten heavy users with several endless flows each, 90 light ones with one."""
    sender = tcp(o, s.variant, s.control)
    groups = {
        name: {
            "users": users,
            "class": name,
            "traffic": {"kind": "bulk", "flows": flows, "start": dict(START)},
            "tcp": sender,
        }
        for name, users, flows in ((HEAVY, HEAVY_USERS, s.flows), (LIGHT, LIGHT_USERS, 1))
    }
    return _scenario(o, s, groups, record=record, duration_s=duration_s, title=title)


def artefact(o: Options, policer: Policer | None, alone_s: float, duration_s: float, record: Table) -> Scenario:
    """Section IV-B's warning: one heavy user, ``last``, goes on when all others stop at `alone_s`."""
    s = Setting(policer)
    sender = tcp(o, s.variant)
    stop = {"until": quantity(alone_s, "s"), "end": "abort"}
    of = {HEAVY: (HEAVY_USERS - 1, s.flows, stop), LIGHT: (LIGHT_USERS, 1, stop), LAST: (1, s.flows, {})}
    groups = {
        name: {
            "users": users,
            "class": name,
            "traffic": {"kind": "bulk", "flows": flows, "start": dict(START), **until},
            "tcp": sender,
        }
        for name, (users, flows, until) in of.items()
    }
    return _scenario(o, s, groups, record=record, duration_s=duration_s, title="One policed user, then nobody else")


LAST = "last"
"""The heavy user who stays (`artefact`)."""


SMALL_BYTES = 300
"""A small packet on the wire (`two_sizes`)."""


def two_sizes(o: Options, policer: Policer) -> Scenario:
    """Users with packets of 1500 and of 300 B, all with one flow, behind policers that count packets or bytes.

    Five small packets carry less than a large one; a queue in packets marks each as likely as a large one.
    """
    s = Setting(policer)
    groups = {
        name: {
            "users": users,
            "class": name,
            "traffic": {"kind": "bulk", "flows": flows, "start": dict(START)},
            "tcp": tcp(o, s.variant, mss=quantity(size - HEADER_BYTES, "B")),
        }
        for name, users, flows, size in (
            (LARGE, HEAVY_USERS, s.flows, PACKET_BYTES),
            (SMALL, HEAVY_USERS, s.flows, SMALL_BYTES),
        )
    }
    return _scenario(o, s, groups, duration_s=DURATION_S, title="Large and small packets")


def cheating(
    o: Options, policer: Policer, declared: float, audit: str | None, credit: str = "window", strangers: str = "own"
) -> Scenario:
    """Section IV with a heavy user who declares a share of his congestion, and an auditor at the egress or none.

    Args:
        declared: the share, 1 for an honest user.
        audit: "loss", "ecn" or "both"; None: no auditor.
        credit: what everybody sends where there is an auditor: "window" once, or "flight", as much as is in flight
            (RFC 7786 section 4.2), renewed as it is used up.
        strangers: whether flows that have declared nothing yet have their "own" accounts, or one "together".
    """
    s = Setting(policer)
    given = {} if audit is None else {"credit": credit}
    groups = {
        name: {
            "users": users,
            "class": name,
            "traffic": {"kind": "bulk", "flows": flows, "start": dict(START)},
            "tcp": tcp(o, s.variant, conex=conex(s.variant, declared=share, **given)),
        }
        for name, users, flows, share in (
            (HEAVY, HEAVY_USERS - 1, s.flows, 1.0),
            (CHEAT, 1, s.flows, declared),
            (LIGHT, LIGHT_USERS, 1, 1.0),
        )
    }
    together = {} if strangers == "own" else {"strangers": strangers}
    auditor = None if audit is None else {"kind": "auditor", "per": "group", "audit": audit, **together}
    return _scenario(o, s, groups, auditor=auditor, duration_s=DURATION_S, title="A heavy user who declares less")


FLOW_PACKETS = 10
FLOW_GAP_MS = 6.0
FLOWS_DURATION_S = 600.0
CROSS_MBPS = 90.0
"""Section V."""


def short_flows(
    o: Options, policer: Policer | None, *, initial_window: int = 2, duration_s: float = FLOWS_DURATION_S
) -> Scenario:
    """Section V: flows of ten packets, four of five of them heavy, beside 90 Mbit/s of datagrams."""
    s = Setting(policer)
    own = {} if initial_window == 2 else {"initial_window": quantity(initial_window, "packets")}
    groups: dict[str, Any] = {
        name: {
            "users": users,
            "class": name,
            "traffic": {
                "kind": "short-flows",
                "arrivals": "flows",
                "share": share,
                "size": quantity(FLOW_PACKETS * PAYLOAD_BYTES, "B"),
            },
            "tcp": tcp(o, s.variant, conex=conex(s.variant, o.leftover), **own),
        }
        for name, users, share in ((HEAVY, HEAVY_USERS, 0.8), (LIGHT, LIGHT_USERS, 0.2))
    }
    groups[CROSS] = {
        "users": 1,
        "class": CROSS,
        "path": [LINK],
        "traffic": {
            "kind": "cbr",
            "rate": quantity(CROSS_MBPS, "Mbit/s"),
            "packet": quantity(PACKET_BYTES, "B"),
            "gap": {"jitter": 0.5},
        },
    }
    arrivals = {"flows": {"interval": {"gamma": [quantity(FLOW_GAP_MS, "ms"), o.gamma]}}}
    return _scenario(o, s, groups, arrivals=arrivals, duration_s=duration_s, title="Short flows")


def one_flow(o: Options) -> Scenario:
    """A single flow of ten packets in an empty network."""
    s = Setting()
    traffic = {
        "kind": "short-flows",
        # one flow a minute at its very beginning, and none after it
        "interval": "1 s",
        "until": "1.5 s",
        "size": quantity(FLOW_PACKETS * PAYLOAD_BYTES, "B"),
    }
    groups = {LIGHT: {"users": 1, "class": LIGHT, "traffic": traffic, "tcp": tcp(o, s.variant)}}
    return _scenario(o, s, groups, duration_s=5.0, title="One short flow")


VIDEO_HEAVY_FLOWS = 20
VIDEO_LIGHT_USERS = 50
VIDEO_DURATION_S = 600.0
VIDEO_ASKED_S = (100.0, 200.0)
VIDEO_KBPS = 1128.0
VIDEO_LENGTH_S = 300.0
VIDEO_BURST_S = 40.0
"""Section VI."""
PERIODS_S = (100.0, 500.0)
"""Ends of the first and the second period (section VI-C)."""


def video_traffic(o: Options) -> dict[str, Any]:
    """A video from the server of section VI-A to the player of section VI-B."""
    share = 1.0 if o.video == "payload" else PAYLOAD_BYTES / PACKET_BYTES
    return {
        "kind": "youtube",
        "bitrate": quantity(VIDEO_KBPS * share, "kbit/s"),
        "length": quantity(VIDEO_LENGTH_S, "s"),
        "burst": quantity(VIDEO_BURST_S, "s"),
        "chunk": "64 KiB",
        "pace": 1.25,
        "play_above": "2.2 s",
        "stall_below": "0.4 s",
        "start": {"uniform": [quantity(at, "s") for at in VIDEO_ASKED_S]},
    }


def video(
    o: Options, policer: Policer | None, cc: str = CUBIC, *, variant: str = DT, record: Table | None = None
) -> Scenario:
    """Section VI-C: ten heavy users with 20 flows each, 50 light ones who ask for a video in the second 100 s."""
    s = Setting(policer, variant=variant, control=cc, flows=VIDEO_HEAVY_FLOWS)
    groups = {
        HEAVY: {
            "users": HEAVY_USERS,
            "class": HEAVY,
            "traffic": {"kind": "bulk", "flows": s.flows, "start": dict(START)},
            "tcp": tcp(o, variant, cc),
        },
        LIGHT: {
            "users": VIDEO_LIGHT_USERS,
            "class": LIGHT,
            "traffic": video_traffic(o),
            "tcp": tcp(o, variant, send_buffer="2 MB"),
        },
    }
    return _scenario(o, s, groups, record=record, duration_s=VIDEO_DURATION_S, exits=True, title="A video evening")


def _scenario(
    o: Options,
    s: Setting,
    groups: Mapping[str, Mapping[str, Any]],
    *,
    duration_s: float,
    record: Table | None = None,
    arrivals: Table | None = None,
    exits: bool = False,
    auditor: Table | None = None,
    title: str = "",
) -> Scenario:
    """Fig. 7: sources, policers, the bottleneck; groups without a path of their own go all the way."""
    behind = quantity(s.rtt_ms / 2 - ACCESS_MS * (2 if exits else 1), "ms")
    tree: dict[str, Any] = {
        "title": title,
        "duration": quantity(duration_s, "s"),
        "warmup": "0 s",
        "links": {
            "access": {"rate": quantity(ACCESS_MBPS, "Mbit/s"), "delay": quantity(ACCESS_MS, "ms"), "per": "user"},
            LINK: {
                "rate": quantity(CAPACITY_MBPS, "Mbit/s"),
                "delay": behind,
                "queue": queue(o, s),
                "reverse": {"rate": quantity(ACCESS_MBPS, "Mbit/s"), "delay": behind},
            },
        },
        "groups": {},
    }
    if arrivals:
        tree["arrivals"] = dict(arrivals)
    if exits:
        tree["links"][EXIT] = {"delay": quantity(ACCESS_MS, "ms"), "per": "user"}
    for name, group in groups.items():
        stage = POLICERS.get(name, f"police-{name}")
        policed = s.policer is not None and "path" not in group
        if s.policer is not None and policed:
            tree.setdefault("stages", {})[stage] = s.policer.table(o)
        path: Sequence[str] = ["access", *([stage] if policed else []), LINK, *([EXIT] if exits else [])]
        if auditor is not None:
            path = [*path, AUDITOR]
        tree["groups"][name] = {"path": list(path), **group}
    if auditor is not None:
        tree.setdefault("stages", {})[AUDITOR] = dict(auditor)
    if record:
        tree["record"] = dict(record)
    return Scenario(tree)
