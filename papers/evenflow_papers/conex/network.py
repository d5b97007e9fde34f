"""The paper's network (Fig. 7) as scenarios: 100 users behind policers, one link of 100 Mbit/s.

Every experiment builds its points here, so that equal settings give equal scenarios and share their runs. This module
alone names the keys of ConEx senders, policers, auditors and players.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evenflow.lab import quantity
from evenflow.paper import Choices
from evenflow.scenario import Scenario


@dataclass(frozen=True)
class Options(Choices):
    """What the paper leaves open; see `choices.toml`."""

    charge: str = "arrival"
    floor: str = "none"
    level: str = "full"
    red_weight: str = "automatic"
    red_spread: str = "ns2"
    stack: str = "ns2-linux"
    rto: str = "any-ack"
    cubic: str = "linux-2.6.22"
    buffer: str = "fixed"
    gamma: float = 1.0
    leftover: str = "carry"
    ledbat_target: float = 25.0
    flows: str = "completed"
    video: str = "payload"


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
ON, NONE = "on", "none"
"""Values of the label ``policing``."""
CUBIC, COMPOUND, LEDBAT = "CUBIC", "Compound", "LEDBAT"
"""Values of the label ``control``."""

HEAVY, LIGHT, CROSS = "heavy", "light", "cross"
"""Groups, and the classes of their packets."""
LINK = "bottleneck"
LARGE, SMALL = "large", "small"
"""Groups by the size of their packets (`two_sizes`)."""
CHEAT = "cheat"
"""The heavy user who declares less congestion than he meets (`cheating`)."""
LAST = "last"
"""The heavy user who stays (`artefact`)."""
POLICERS = {name: f"police-{name}" for name in (HEAVY, LIGHT, LARGE, SMALL, CHEAT, LAST)}
"""One stage for each group, with a policer for each user."""
AUDITOR = "audit"
EXIT = "exit"
"""A delay for each user behind the bottleneck, where a series wants single users."""

LEVEL = 0.95
"""Confidence level of the paper's intervals (section IV-A)."""
RUNS = 30
"""Of a point (section IV-A)."""

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


# --- Variants and settings ------------------------------------------------------------------------------------------


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
    """What a point sets, by the names of its labels; defaults are Table II's values in bold, without policing.

    Attributes:
        r: filling rate, tokens/s; a token is a packet, or `PACKET_BYTES` where the policer counts bytes.
        depth: d, packets.
        harshness: "soft", "mild" or "strict" (Fig. 6).
        unit: what a policer counts: "packets" or "bytes".
        charges: whether credit costs a token as a report does: "free" or "charged". The paper's senders give none.
        flows: of a heavy user.
    """

    policing: str = NONE
    r: float = 0.0
    depth: float = float(WINDOW_PACKETS)
    harshness: str = MILD
    unit: str = "packets"
    charges: str = "free"
    variant: str = FULL
    rtt_ms: float = 100.0
    control: str = CUBIC
    queue_ms: float = 100.0
    min_threshold: float = 10.0
    max_threshold: float = 100.0
    max_probability: float = 1.0
    flows: int = 36

    def policer(self, o: Options) -> dict[str, Any]:
        """A congestion policer for each user (section III-F)."""
        if self.unit == "packets":
            rate, depth = quantity(self.r, "packets/s"), quantity(self.depth, "packets")
        else:
            rate = quantity(self.r * PACKET_BYTES * 8, "bit/s")
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
            **({} if self.charges == "free" else {"credit": self.charges}),
        }


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
    """ns-2's Linux agent, or its Sack1, with ConEx (section IV-A and `choices`)."""
    ecn = TABLE_3[variant].ecn
    stack = {"stack": "ns2-linux", "rto": o.rto} if o.stack == "ns2-linux" else {"stack": "ns2", "sack": True}
    # what is sent again is ECN-capable too, as ConEx over IPv4 has it: RED would drop it early otherwise
    made = {
        **stack,
        "congestion_control": control(o, cc),
        "ecn": ecn,
        "max_window": quantity(WINDOW_PACKETS * PAYLOAD_BYTES, "B"),
        "handshake": "none",
        "conex": conex(variant),
    }
    return made | other


# --- Networks -------------------------------------------------------------------------------------------------------


def _endless(users: int, flows: int, sender: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A group of users with endless flows."""
    traffic = {"kind": "bulk", "flows": flows, "start": dict(START), **more}
    return {"users": users, "traffic": traffic, "tcp": dict(sender)}


def bulk(o: Options, record: Table | None = None, duration_s: float = DURATION_S, **setting: Any) -> Scenario:
    """Section IV: ten heavy users with several endless flows each, 90 light ones with one."""
    s = Setting(**setting)
    sender = tcp(o, s.variant, s.control)
    groups = {HEAVY: _endless(HEAVY_USERS, s.flows, sender), LIGHT: _endless(LIGHT_USERS, 1, sender)}
    return _scenario(o, s, groups, record=record, duration_s=duration_s)


ALONE_S = 50.0
"""When all others stop."""
GOT = f"groups.{LAST}.users[0].flows[*].received_bytes"
"""What the user who stays receives."""


def artefact(o: Options, policing: str, r: float = 0.0) -> Scenario:
    """Section IV-B's warning: one heavy user, behind a strict policer, goes on when all others stop."""
    s = Setting(policing, r, harshness=STRICT)
    sender, stop = tcp(o, s.variant), {"until": quantity(ALONE_S, "s"), "end": "abort"}
    groups = {
        HEAVY: _endless(HEAVY_USERS - 1, s.flows, sender, **stop),
        LIGHT: _endless(LIGHT_USERS, 1, sender, **stop),
        LAST: _endless(1, s.flows, sender),
    }
    title = "One policed user, then nobody else"
    return _scenario(o, s, groups, record=every_second(GOT), duration_s=DURATION_S, title=title)


SMALL_BYTES = 300
"""A small packet on the wire (`two_sizes`)."""


def two_sizes(o: Options, unit: str, r: float) -> Scenario:
    """Users with packets of 1500 and of 300 B, behind policers that count packets or bytes.

    Five small packets carry less than a large one; a queue in packets marks each as likely as a large one.
    """
    s = Setting(ON, r, unit=unit)
    groups = {
        name: _endless(HEAVY_USERS, s.flows, tcp(o, s.variant, mss=quantity(size - HEADER_BYTES, "B")))
        for name, size in ((LARGE, PACKET_BYTES), (SMALL, SMALL_BYTES))
    }
    return _scenario(o, s, groups, duration_s=DURATION_S, title="Large and small packets")


ONCE, RENEWED = "window", "flight"
"""Credit where there is an auditor: a window once; or as much as is in flight, renewed (RFC 7786 section 4.2)."""
BOTH, ADVISED = "both", "advised"
"""Audits of losses and marks; and what docs/conex.md advises: such an audit, one account for all flows that have
declared nothing yet, and a policer that charges credit."""
CHEAT_RATE = 45.0


def cheating(o: Options, audit: str, credit: str, declared: float) -> Scenario:
    """Section IV with a heavy user who declares a share of his congestion, and an auditor at the egress or none."""
    advised = audit == ADVISED
    s = Setting(ON, CHEAT_RATE, charges="charged" if advised else "free")
    given = {} if audit == NONE else {"credit": credit}
    groups = {
        name: _endless(users, flows, tcp(o, s.variant, conex=conex(s.variant, declared=share, **given)))
        for name, users, flows, share in (
            (HEAVY, HEAVY_USERS - 1, s.flows, 1.0),
            (CHEAT, 1, s.flows, declared),
            (LIGHT, LIGHT_USERS, 1, 1.0),
        )
    }
    auditor = {"kind": "auditor", "per": "group", "audit": BOTH if advised else audit}
    auditor |= {"strangers": "together"} if advised else {}
    return _scenario(
        o,
        s,
        groups,
        auditor=None if audit == NONE else auditor,
        duration_s=DURATION_S,
        title="A heavy user who declares less",
    )


FLOW_PACKETS = 10
FLOW_BYTES = quantity(FLOW_PACKETS * PAYLOAD_BYTES, "B")
FLOW_GAP_MS = 6.0
FLOWS_DURATION_S = 600.0
CROSS_MBPS = 90.0
"""Section V."""


def short_flows(o: Options, policing: str = ON, r: float = RATES[-1], initial_window: int = 2) -> Scenario:
    """Section V: flows of ten packets, four of five of them heavy, beside 90 Mbit/s of datagrams."""
    s = Setting(policing, r, harshness=STRICT)
    own = {} if initial_window == 2 else {"initial_window": quantity(initial_window, "packets")}
    groups: dict[str, Any] = {
        name: {
            "users": users,
            "traffic": {"kind": "short-flows", "arrivals": "flows", "share": share, "size": FLOW_BYTES},
            "tcp": tcp(o, s.variant, conex=conex(s.variant, o.leftover), **own),
        }
        for name, users, share in ((HEAVY, HEAVY_USERS, 0.8), (LIGHT, LIGHT_USERS, 0.2))
    }
    packet, gap = quantity(PACKET_BYTES, "B"), {"jitter": 0.5}
    datagrams = {"kind": "cbr", "rate": quantity(CROSS_MBPS, "Mbit/s"), "packet": packet, "gap": gap}
    groups[CROSS] = {"users": 1, "path": [LINK], "traffic": datagrams}
    arrivals = {"flows": {"interval": {"gamma": [quantity(FLOW_GAP_MS, "ms"), o.gamma]}}}
    return _scenario(o, s, groups, arrivals=arrivals, duration_s=FLOWS_DURATION_S, title="Short flows")


def one_flow(o: Options) -> Scenario:
    """A single flow of ten packets in an empty network."""
    s = Setting()
    # one flow a minute at its very beginning, and none after it
    traffic = {"kind": "short-flows", "interval": "1 s", "until": "1.5 s", "size": FLOW_BYTES}
    groups = {LIGHT: {"users": 1, "traffic": traffic, "tcp": tcp(o, s.variant)}}
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
HEAVY_BYTES = tuple(f"links.{EXIT}[{user}].delivered_bytes" for user in range(HEAVY_USERS))
"""What each heavy user receives."""
ALL_BYTES = f"links.{LINK}.delivered_bytes"
TRACED = (NONE, 15.0, 5.0)
"""What figure 21 shows: no policing, and two filling rates."""


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


def video(o: Options, record: Table | None = None, **setting: Any) -> Scenario:
    """Section VI-C: ten heavy users with 20 flows each, 50 light ones who ask for a video in the second 100 s."""
    s = Setting(**{"variant": DT, "harshness": STRICT, "flows": VIDEO_HEAVY_FLOWS, **setting})
    player = {"users": VIDEO_LIGHT_USERS, "traffic": video_traffic(o), "tcp": tcp(o, s.variant, send_buffer="2 MB")}
    groups = {HEAVY: _endless(HEAVY_USERS, s.flows, tcp(o, s.variant, s.control)), LIGHT: player}
    return _scenario(o, s, groups, record=record, duration_s=VIDEO_DURATION_S, exits=True, title="A video evening")


def evening(o: Options, control: str, policing: str, r: float | str = NONE) -> Scenario:
    """Figures 21 and 22: with throughputs over time where figure 21 shows them."""
    record = every_second(*HEAVY_BYTES, ALL_BYTES) if r in TRACED else None
    return video(o, record, control=control, policing=policing, r=0.0 if r == NONE else r)


def ledbat(o: Options, target_ms: float) -> Scenario:
    """Figure 21 with another target of LEDBAT."""
    return evening(replace(o, ledbat_target=target_ms), LEDBAT, NONE)


SHOWN_USERS = 10
"""Users of each group whose congestion-volume is recorded."""
VOLUMES = {
    group: tuple(f"stages.{POLICERS[group]}[{user}].congestion_volume" for user in range(SHOWN_USERS))
    for group in (HEAVY, LIGHT)
}
TOKENS = f"stages.{POLICERS[HEAVY]}[0].tokens"


def volumes(o: Options, r: float) -> Scenario:
    """The default network, with the congestion-volumes of single users."""
    return bulk(o, every_second(*(name for names in VOLUMES.values() for name in names)), policing=ON, r=r)


def levels(o: Options, charge: str, r: float) -> Scenario:
    """A heavy user's bucket through a video evening."""
    return video(replace(o, charge=charge), every_second(TOKENS), policing=ON, r=r)


def low_rates(o: Options, level: str, duration_s: float, r: float) -> Scenario:
    """Section IV for longer, or with empty buckets at the start."""
    return bulk(replace(o, level=level), duration_s=duration_s, policing=ON, r=r)


RULES: Mapping[str, Mapping[str, str]] = {
    "charge on arrival": {"charge": "arrival", "floor": "none"},
    "charge what passes": {"charge": "pass", "floor": "none"},
    "charge on arrival, floor": {"charge": "arrival", "floor": "end"},
}
"""Values of the label ``rule``: what a charge may mean."""
REDS: Mapping[str, Mapping[str, str]] = {
    "as ns-2": {},
    "weight 0.002": {"red_weight": "0.002"},
    "spread as in 1993": {"red_spread": "floyd"},
    "independent marks": {"red_spread": "bernoulli"},
}
"""Values of the label ``red``: what the paper does not say of it."""


def chosen(o: Options, rule: str = "", red: str = "", **setting: Any) -> Scenario:
    """Section IV with other options."""
    return bulk(o.varied({**RULES.get(rule, {}), **REDS.get(red, {})}), **setting)


def every_second(*names: str) -> Table:
    """These series by second."""
    return {"series": [{"of": name, "every": "1 s"} for name in names]}


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
            **({EXIT: {"delay": quantity(ACCESS_MS, "ms"), "per": "user"}} if exits else {}),
        },
        "groups": {},
        **({"arrivals": dict(arrivals)} if arrivals else {}),
        **({"record": dict(record)} if record else {}),
    }
    stages: dict[str, Any] = {}
    ends = [LINK, *([EXIT] if exits else []), *([AUDITOR] if auditor else [])]
    for name, group in groups.items():
        police = [POLICERS[name]] if s.policing == ON and "path" not in group else []
        stages |= {it: s.policer(o) for it in police}
        path = ["access", *police, *ends]
        tree["groups"][name] = {"class": name, "path": path, **group}
    if auditor:
        stages[AUDITOR] = dict(auditor)
    return Scenario({**tree, **({"stages": stages} if stages else {})})
