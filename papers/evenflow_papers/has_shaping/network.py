"""The paper's home as scenarios: the only place that names the keys of gateway, server and player.

A server sends over a fast network, whose round trip jitters, to a gateway; behind it is a line of 8 Mbit/s and one or
two players. The gateway does nothing, shapes (HTBM), or tunes windows (RWTM).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evenflow import Scenario
from evenflow.lab import quantity
from evenflow.paper import Choices

Table = Mapping[str, Any]

LEVEL = 0.95
"""Confidence level of all intervals; the paper gives none."""
RUNS = 60
"""Of a cell in the paper (section 4)."""


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option of choices.toml."""

    setup: str = "calibrated"
    netem_none: str = "data-reorder"
    netem_htbm: str = "ack-keep"
    netem_rwtm: str = "ack-reorder"
    deviation: str = "packet"
    cache: str = "warm"
    playing: str = "P2"
    resume: str = "chunk"
    level: str = "asked"
    estimate: str = "request"
    threshold: str = "unbounded"
    clients: str = "bitrate"
    lost: str = "received"
    loss_place: str = "before"
    loss_law: str = "random"
    rate: str = "probed"
    tuner: str = "request"
    acks: str = "acks"
    rounding: str = "none"
    queue: str = "67"
    shaper: str = "line"
    ceil: str = "rate"
    htb: str = "shared"
    restart: str = "linux"


RECONSTRUCTED = {
    "netem_none": "data-reorder",
    "netem_htbm": "data-reorder",
    "netem_rwtm": "ack-reorder",
    "cache": "warm",
    "playing": "P2",
    "threshold": "120",
    "htb": "keep",
    "rate": "probed",
}
"""The options that setup=reconstructed fixes. They were chosen after seeing the paper's tables."""


def settled(o: Options) -> Options:
    """The options with those that the set-up fixes."""
    return replace(o, **RECONSTRUCTED) if o.setup == "reconstructed" else o


# --- Labels ---------------------------------------------------------------------------------------------------------

NEWRENO, VEGAS, ILLINOIS, CUBIC = "NewReno", "Vegas", "Illinois", "CUBIC"
CONTROLS = (NEWRENO, VEGAS, ILLINOIS, CUBIC)
GOOD = (CUBIC, ILLINOIS)
"""Controls that the paper follows beyond scenario 1."""
NONE, HTBM, RWTM = "none", "HTBM", "RWTM"
METHODS = (NONE, HTBM, RWTM)
SHAPED = (HTBM, RWTM)
S1, S2, S3, S4, WL = "S1", "S2", "S3", "S4", "WL"
"""Scenarios of section 3.2, and without loss (section 4.3)."""
ONE, TWO = 1, 2
"""Client 1 and client 2, by the paper's words."""
METRICS = ("IS", "IF", "V", "CNG", "fr")
QUALITY = METRICS[:3]
"""The measures that a viewer notices."""
ACKS, DATA, BOTH = "ACKs", "data", "both"
"""Which packets scenario 4 loses: those that the server receives, those that it sends, or both (A9)."""
CLIENT_1, CLIENT_2 = "client1", "client2"

# --- Numbers of sections 3.2 and 3.3 --------------------------------------------------------------------------------

LADDER_KBPS = (248.0, 456.0, 928.0, 1632.0, 4256.0)
TOP, SECOND = 4, 3
"""Best levels of client 1 and client 2."""
CHUNK_S = 2.0
BUFFER_CHUNKS = 15
SIGMA = 0.2
LINE_MBPS = 8.0
MARGIN = 1.1
RTT_MS = 100.0
JITTER_MS = 7.0
"""0.07 of the round trip."""
DURATION_S = 180.0
HOLD_S = 60
JOINS_S = 30.0
"""When client 2 starts (scenario 2), or leaves (scenario 3)."""
SETTLED_S = 20.0
"""After which a transfer without end has opened its window (`bulk`)."""
LOSS_S = (30.0, 31.0)
LOSS = 0.5
DEVIATIONS_MS = (0.0, 7.0, 14.0, 21.0, 28.0, 35.0, 42.0, 49.0)
"""Of the round trip in scenario 5: multiples of 7 ms, for the axis of the paper's figures is lost; the text names 14,
20, 35 and 40 ms."""
FAR_MS = 70.0
"""One more than the paper has."""

# --- What the paper does not give -----------------------------------------------------------------------------------

MSS_BYTES = 1448
PACKET_BYTES = 1500
FRAME_BYTES = 1514
"""With Ethernet's header, which tc counts and links here do not."""
WAN_MBPS = 100.0
START_MS = 100.0
"""Client 2 starts within so long of client 1 where both start together."""
REQUEST_BYTES, HEADER_BYTES, THINK_MS = 250, 300, 1.0
WINDOW = "256 KiB"
"""Of the clients: more than any queue here needs."""
PERIODIC_AFTER = 8
"""Chunks after which playing=P3 is periodic."""
SMOOTHED = 3
"""Chunks over which estimate=smoothed takes the harmonic mean."""
CACHED_REORDERING = 100
"""In segments, with cache=warm."""
OTHER_KBPS = 100.0
"""Of other traffic in the home with htb=other."""
MIXED = (27, 69)
"""Slow-start thresholds of figure 3, segments."""
MIXED_SHARE = 0.43
"""Of the first of them, by the infidelity of Table 2 (threshold=mixture)."""
LINK = "gateway"
MANAGER, TUNER = "manager", "tuner"
RECORD: Table = {
    "series": [
        {"of": f"groups.{CLIENT_1}.users[0].flows[0].{name}", "every": "50 ms"} for name in ("window", "ssthresh")
    ]
}
"""What figures 2 to 9 draw."""


def ladder() -> list[str]:
    """The levels' bitrates."""
    return [quantity(rate, "kbit/s") for rate in LADDER_KBPS]


def share_mbps(level: int) -> float:
    """What a client of this best level is given."""
    return MARGIN * LADDER_KBPS[level] / 1e3


# --- Parts ----------------------------------------------------------------------------------------------------------


def wan(o: Options, method: str, deviation_ms: float, loss: Table | None) -> dict[str, Any]:
    """The best-effort network: all of the round trip, with its deviation, on one side or half on each (A1).

    The deviation is that of each packet's delay, or of the run's (A2).
    """
    side, order = {NONE: o.netem_none, HTBM: o.netem_htbm, RWTM: o.netem_rwtm}[method].split("-")
    forward, back = {"ack": (0.0, RTT_MS), "data": (RTT_MS, 0.0), "split": (RTT_MS / 2, RTT_MS / 2)}[side]
    rate = quantity(WAN_MBPS, "Mbit/s")
    link: dict[str, Any] = {
        "rate": rate,
        "delay": quantity(forward, "ms"),
        "reverse": {"rate": rate, "delay": quantity(back, "ms")},
    }
    if deviation_ms > 0:
        of_each = deviation_ms / math.sqrt(2) if side == "split" else deviation_ms
    if deviation_ms > 0 and o.deviation == "run":
        for there, mean in ((link, forward), (link["reverse"], back)):
            if mean:
                there["delay"] = {"normal": [quantity(mean, "ms"), quantity(of_each, "ms")]}
    elif deviation_ms > 0:
        link["jitter"] = {
            "normal": quantity(of_each, "ms"),
            "order": order,
            "direction": {"ack": "reverse", "data": "forward", "split": "both"}[side],
        }
    if loss is not None and o.loss_place == "before":
        link["loss"] = dict(loss)
    return link


def changing(deviation_ms: float, loss: Table, at_s: float) -> dict[str, Any]:
    """The network of which the ACKs overtake one another up to an instant, and the data from it on: two links."""
    rate, half, none = quantity(WAN_MBPS, "Mbit/s"), quantity(RTT_MS / 2, "ms"), quantity(0.0, "ms")
    normal, at = quantity(deviation_ms, "ms"), quantity(at_s, "s")
    acks = {"normal": normal, "order": "reorder", "direction": "reverse", "until": at}
    data = {"normal": normal, "order": "reorder", "direction": "forward", "from": at}
    return {
        "wan": {"rate": rate, "delay": none, "reverse": {"rate": rate, "delay": half}, "jitter": acks, "loss": loss},
        "wan2": {"rate": rate, "delay": half, "reverse": {"rate": rate, "delay": none}, "jitter": data},
    }


def lost(o: Options, which: str) -> dict[str, Any]:
    """Scenario 4's second (A9, A10). `ACKS` is what the paper says, as the option `lost` reads it."""
    if which == ACKS:
        which = {"received": ACKS, "sent": DATA, "both": BOTH}[o.lost]
    law: dict[str, Any] = {"probability": LOSS} if o.loss_law == "random" else {"every": round(1 / LOSS)}
    direction = {ACKS: "reverse", DATA: "forward", BOTH: "both"}[which]
    return {**law, "from": quantity(LOSS_S[0], "s"), "until": quantity(LOSS_S[1], "s"), "direction": direction}


def limit(o: Options) -> str:
    """Of each SFQ: the bandwidth-delay product in packets (A16)."""
    return quantity(float(o.queue), "packets")


def gateway(o: Options, method: str) -> dict[str, Any]:
    """The line into the home: its SFQ, or HTB with a class and an SFQ for each session."""
    cost = {"overhead": quantity(FRAME_BYTES - PACKET_BYTES, "B")}
    leaf = {"kind": "sfq", "limit": limit(o)}
    line = quantity(LINE_MBPS, "Mbit/s")
    if method == HTBM:
        each: dict[str, Any] = {"parent": "home", "rate": quantity(share_mbps(0), "Mbit/s"), "leaf": leaf, **cost}
        if o.htb == "quantum":
            each["quantum"] = quantity(FRAME_BYTES, "B")
        scheduler = {
            "kind": "htb",
            "per": "user",
            "arithmetic": "ticks",
            "classes": {"home": {"rate": line, **cost}},
            "each": each,
        }
        # one SFQ for everybody would be as long as each is alone
        shared = {"limit": limit(o)} if o.htb == "shared" else {}
        return {"rate": quantity(WAN_MBPS, "Mbit/s"), "queue": {**shared, "scheduler": scheduler}}
    if o.shaper == "tbf":
        # tokens are of packets, and the line's rate is of frames
        bucket = {"kind": "tbf", "burst": quantity(FRAME_BYTES, "B"), "arithmetic": "real"}
        bucket["rate"] = quantity(LINE_MBPS * PACKET_BYTES / FRAME_BYTES, "Mbit/s")
        return {"rate": quantity(WAN_MBPS, "Mbit/s"), "queue": {"limit": limit(o), "scheduler": bucket}}
    if o.shaper == "htb":
        classes = {"home": {"rate": line, "leaf": leaf, **cost}}
        scheduler = {"kind": "htb", "per": "class", "arithmetic": "ticks", "classes": classes}
        return {"rate": quantity(WAN_MBPS, "Mbit/s"), "queue": {"scheduler": scheduler}}
    # the line's 8 Mbit/s are of frames, and links count packets
    rate = quantity(LINE_MBPS * PACKET_BYTES / FRAME_BYTES, "Mbit/s")
    return {"rate": rate, "queue": {"limit": limit(o), "scheduler": {"kind": "sfq", "per": "flow"}}}


def stages(o: Options, method: str) -> dict[str, Any]:
    """The bandwidth manager of section 3.3, which shapes or tunes windows."""
    knows = {"policy": "levels", "rate": quantity(LINE_MBPS, "Mbit/s"), "ladder": ladder(), "margin": MARGIN}
    if method == HTBM:
        change = {"change": "replace"} if o.htb == "flush" else {}
        ceil = {"ceil": quantity(LINE_MBPS, "Mbit/s")} if o.ceil == "line" else {}
        return {MANAGER: {"kind": "bandwidth-manager", "controls": LINK, **knows, **change, **ceil}}
    if method == RWTM:
        rounded = {} if o.rounding == "none" else {"rounding": o.rounding}
        return {TUNER: {"kind": "window-tuner", "round_trip": o.tuner, "rewrites": o.acks, **knows, **rounded}}
    return {}


CONTROL_NAMES = {NEWRENO: "newreno", VEGAS: "vegas", ILLINOIS: "illinois", CUBIC: "cubic"}


def tcp(o: Options, control: str, threshold: float | None = None) -> dict[str, Any]:
    """The server's TCP: Linux 3.2.

    Args:
        threshold: the first slow-start threshold, segments; None: unbounded, or what the option says.
    """
    if threshold is None and o.threshold not in ("unbounded", "mixture"):
        threshold = float(o.threshold)
    cached = {} if threshold is None else {"cached_ssthresh": int(threshold)}
    warm = {} if o.cache == "cold" else {"cached_reordering": CACHED_REORDERING}
    restart = {} if o.restart == "linux" else {"restart_after_idle": "halving-to-one"}
    made = {"stack": "linux3.2", "congestion_control": CONTROL_NAMES[control], "max_window": WINDOW}
    return {**made, **cached, **warm, **restart}


def player(o: Options, start: Any, until_s: float | None = None) -> dict[str, Any]:
    """A client of section 3.3 (A3, A5)."""
    rule: dict[str, Any] = {"kind": "aggressive-rate", "aggressiveness": SIGMA}
    if o.estimate == "smoothed":
        rule["window"] = SMOOTHED
    buffer = quantity(CHUNK_S * BUFFER_CHUNKS, "s")
    playing: dict[str, Any] = {}
    if o.playing == "P2":
        playing = {"play_at": buffer}
    if o.playing == "P3":
        playing = {"steady_after": PERIODIC_AFTER}
    if o.resume == "start" and o.playing == "P2":
        playing["resume_at"] = buffer
    return {
        "kind": "has",
        "ladder": ladder(),
        "adaptation": rule,
        "chunk": quantity(CHUNK_S, "s"),
        "buffer": buffer,
        "buffer_in": "chunks",
        "steady": "period",
        "measure_from": "first-byte" if o.estimate == "first-byte" else "request",
        "request": quantity(REQUEST_BYTES, "B"),
        "header": quantity(HEADER_BYTES, "B"),
        "service": {"uniform": ["0 ms", quantity(THINK_MS, "ms")]},
        "start": start,
        **playing,
        # a client that leaves closes its connection at once (A21)
        **({} if until_s is None else {"until": quantity(until_s, "s"), "end": "drain"}),
    }


# --- Scenarios ------------------------------------------------------------------------------------------------------


def home(
    o: Options,
    scenario: str,
    control: str,
    method: str,
    *,
    deviation_ms: float = JITTER_MS,
    loss: str | None = None,
    threshold: float | None = None,
    record: Table | None = None,
) -> Scenario:
    """A scenario of section 3.2.

    Args:
        scenario: S1 to S4, or WL; scenario 5 is WL with another `deviation_ms`.
        loss: of S4: which packets (`ACKS`, `DATA`, `BOTH`).
    """
    o = settled(o)
    losses = lost(o, loss or ACKS) if scenario == S4 else None
    players: dict[str, dict[str, Any]] = {CLIENT_1: player(o, "0 s")}
    if scenario in (S1, S3):
        start = {"uniform": ["1 ms", quantity(START_MS, "ms")]}
        players[CLIENT_2] = player(o, start, JOINS_S if scenario == S3 else None)
    if scenario == S2:
        players[CLIENT_2] = player(o, quantity(JOINS_S, "s"))
    sender = tcp(o, control, threshold)
    title = f"{scenario}, {control}, {'no shaping' if method == NONE else method}"
    return _network(o, method, players, sender, deviation_ms, losses=losses, record=record, title=title)


def drawn(o: Options, scenario: str, control: str, method: str, threshold: float | None = None) -> Scenario:
    """The scenario with window and threshold of client 1's server as series."""
    return home(o, scenario, control, method, threshold=threshold, record=RECORD)


def jittery(o: Options, control: str, method: str, deviation_ms: float = JITTER_MS) -> Scenario:
    """Scenario 5."""
    return home(o, WL, control, method, deviation_ms=deviation_ms)


def several(o: Options, control: str, method: str, clients: float) -> Scenario:
    """Scenario 1 with another number of clients."""
    o, players = settled(o), {}
    for n in range(int(clients)):
        start: Any = {"uniform": ["1 ms", quantity(START_MS, "ms")]} if n else "0 s"
        players[f"client{n + 1}"] = player(o, start)
    return _network(o, method, players, tcp(o, control), JITTER_MS, title=f"{clients:g} clients, {control}, {method}")


def bulk(o: Options, control: str) -> Scenario:
    """A transfer without end behind the tuner, in a network without deviation: the effect of a window (c78)."""
    o, players = settled(o), {CLIENT_1: {"kind": "bulk"}}
    return _network(o, RWTM, players, tcp(o, control), 0.0, title=f"A transfer, {control}", warmup_s=SETTLED_S)


def chunk(o: Options, control: str, method: str) -> Scenario:
    """A lone client in a network without deviation, with all that a chunk's life consists of as series."""
    flow = f"groups.{CLIENT_1}.users[0].flows[0]"
    looks = [{"of": f"{flow}.{name}", "every": "10 ms"} for name in ("window", "ssthresh")]
    looks += [{"of": f"links.{LINK}.queue.packets", "every": "10 ms"}]
    looks += [{"of": f"links.{LINK}.delivered_bytes", "every": "50 ms"}]
    if method == RWTM:
        looks += [{"of": f"stages.{TUNER}.target_window", "every": "10 ms"}]
    return home(o, WL, control, method, deviation_ms=0.0, record={"series": looks})


def followed(made: Scenario, until_s: float) -> Scenario:
    """The same run up to an instant, with every packet of client 1 in a trace; nothing else in it changes."""
    return made.with_settings({"duration": quantity(until_s, "s"), "record.trace": [f"groups.{CLIENT_1}.users[0]"]})


def _network(
    o: Options,
    method: str,
    players: Mapping[str, Table],
    sender: Table,
    deviation_ms: float,
    *,
    losses: Table | None = None,
    record: Table | None = None,
    title: str = "",
    warmup_s: float = 0.0,
) -> Scenario:
    """Figure 1: server, best-effort network, gateway, clients."""
    made = stages(o, method)
    network = {"wan": wan(o, method, deviation_ms, losses)}
    if o.setup == "reconstructed" and method == RWTM and losses is not None:
        # the loss replaces netem's queue, and data may overtake from then on
        network = changing(deviation_ms, losses, LOSS_S[0])
    path = [*network, *made, LINK]
    at_gateway = gateway(o, method)
    if losses is not None and o.loss_place == "after":
        at_gateway["loss"] = dict(losses)
    one_class = o.shaper == "htb" and method != HTBM
    tree: dict[str, Any] = {
        "title": title,
        "duration": quantity(DURATION_S, "s"),
        "warmup": quantity(warmup_s, "s"),
        "links": {**network, LINK: at_gateway},
        "stages": made,
        "groups": {
            name: {
                "users": 1,
                "class": "home" if one_class else name,
                "path": path,
                "traffic": dict(watched),
                "tcp": dict(sender),
            }
            for name, watched in players.items()
        },
    }
    if method == HTBM and o.htb == "other":
        tree["groups"]["other"] = {
            "users": 1,
            "class": "other",
            "path": path,
            "traffic": {
                "kind": "cbr",
                "rate": quantity(OTHER_KBPS, "kbit/s"),
                "packet": quantity(PACKET_BYTES, "B"),
            },
        }
    if not made:
        del tree["stages"]
    if record:
        tree["record"] = dict(record)
    return Scenario(tree)
