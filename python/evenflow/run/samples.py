"""A line to copy for every mechanism: valid TOML for a scenario with a link `bottleneck` and a group `users`.

Of an adaptation rule it is the Python call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUEUES = {
    "activity-aqm": 'limit = "24 packets"',
    "constant-probability": "probability = 0.01",
    "csfq": 'limit = "24 packets"',
    "droptail": 'limit = "50 packets"',
    "fq-codel": "",
    "load-based": "target = 0.9",
    "red": 'limit = "100 packets", min_threshold = "20 packets", max_threshold = "60 packets", action = "drop"',
    "rem": 'limit = "100 packets"',
    "virtual-queue": 'limit = "100 packets"',
}
SCHEDULERS = {
    "drr": 'per = "user"',
    "htb": 'per = "user", classes = { home = { rate = "8 Mbit/s" } }, each = { parent = "home", rate = "1 Mbit/s", '
    'ceil = "8 Mbit/s" }',
    "medf": 'per = "class", offsets = { be = "0 ms" }',
    "sfq": 'per = "flow"',
    "strict": 'per = "class", order = ["be"]',
    "tbf": 'rate = "8 Mbit/s", burst = "10 kB", latency = "50 ms"',
}
STAGES = {
    "bandwidth-manager": 'rate = "8 Mbit/s", controls = "bottleneck"',
    "congestion-controller": 'peer = "report"',
    "congestion-reporter": 'peer = "gateway", every = "50 ms"',
    "congestion-policer": 'rate = "120 packets/s", depth = "45 packets", per = "user"',
    "policer": 'rate = "5 Mbit/s", burst = "60 kB", per = "user"',
    "rewriter": 'ecn = "not-ect"',
    "tunnel-egress": 'peer = "into"',
    "tunnel-ingress": 'peer = "out", overhead = "gtp-u-sequence"',
    "shaper": 'rate = "5 Mbit/s", burst = "10 kB", latency = "50 ms", per = "user"',
    "window-tuner": 'rate = "8 Mbit/s"',
}
TRAFFIC = {
    "bulk": 'flows = 4, start = { uniform = ["0 s", "1 s"] }',
    "cbr": 'rate = "100 kbit/s", packet = "200 B"',
    "has": 'ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"], adaptation = "bola"',
    "poisson": 'rate = "2 Mbit/s"',
    "request-response": 'response = "20 kB", think = { exponential = "1 s" }',
    "short-flows": 'interval = { exponential = "1 s" }, size = { pareto = ["15 kB", 1.3] }',
    "upload": 'size = "2 MB"',
    "web": 'page_size = "10 kB", objects = 8, object_size = "20 kB", think = { exponential = "5 s" }',
    "youtube": 'bitrate = "2.5 Mbit/s", length = "120 s"',
}
CONTROLS = {
    "constant": 'window = "10 packets"',
    "wtp": "gain = 0.5",
}
NEEDS = {"wtp": 'ecn = "per-packet", ack_every = 1', "dctcp": 'ecn = "accurate"'}
"""Required parameters of a control."""
TABLES = {
    "abandon": 'groups.users.traffic = { kind = "has", ladder = ["1 Mbit/s", "5 Mbit/s"], '
    'abandon = { how = "drain" } }',
    "arrivals": 'arrivals.flows = { interval = { gamma = ["6 ms", 0.5] } }',
    "conex": 'groups.users.tcp.conex = { report = "loss" }',
    "gap": 'groups.users.traffic = { kind = "cbr", rate = "100 kbit/s", gap = { jitter = 0.5 } }',
    "ecn-map": 'stages.rewriter = { kind = "rewriter", ecn_map = { ce = "ect0" } }',
    "jitter": 'links.bottleneck.jitter = { normal = "1 ms" }',
    "loss": "links.bottleneck.loss = { probability = 0.01 }",
    "reverse": 'links.bottleneck.reverse = { rate = "1 Mbit/s", delay = "5 ms" }',
    "link": 'links.bottleneck = { rate = "10 Mbit/s", delay = "5 ms", queue = { limit = "50 packets" } }',
    "queue": 'links.bottleneck.queue = { kind = "codel", limit = "1000 packets" }',
    "scheduler": 'links.bottleneck.queue.scheduler = { kind = "drr", per = "user" }',
    "stage": 'stages.meter = { kind = "activity-meter", per = "user" }',
    "group": 'groups.users = { users = 2, path = ["bottleneck"], traffic = { kind = "bulk" } }',
    "traffic": 'groups.users.traffic = { kind = "bulk", flows = 4 }',
    "record": 'record.series = [{ of = "links.bottleneck.queue.packets", every = "10 ms" }]',
    "series": 'record.series = [{ of = "links.bottleneck.queue.packets", every = "10 ms" }]',
    "htb-class": 'links.bottleneck.queue.scheduler = { kind = "htb", per = "class", classes = { be = { rate = '
    '"8 Mbit/s" } } }',
    "htb-leaf": 'links.bottleneck.queue.scheduler = { kind = "htb", per = "class", classes = { be = { rate = '
    '"8 Mbit/s", leaf = { kind = "codel" } } } }',
}


def sample(table: Mapping[str, Any]) -> str:
    """The line for a table of the schema or a stack profile; "" where there is none to copy (a whole scenario)."""
    kind, room = str(table["kind"]), str(table["room"])
    if room == "queue":
        return "links.bottleneck.queue = " + _table(kind, QUEUES.get(kind, 'limit = "1000 packets"'))
    if room == "scheduler":
        return f"links.bottleneck.queue.scheduler = {_table(kind, SCHEDULERS.get(kind, ''))}"
    if room == "stage":
        return f"stages.{kind} = " + _table(kind, STAGES.get(kind, 'per = "user"'))
    if room == "traffic":
        return f"groups.users.traffic = {_table(kind, TRAFFIC.get(kind, ''))}"
    if room == "congestion-control":
        more = CONTROLS.get(kind, "")
        named = _table(kind, more) if more else f'"{kind}"'
        if kind in NEEDS:
            return f"groups.users.tcp = {{ congestion_control = {named}, {NEEDS[kind]} }}"
        return f"groups.users.tcp.congestion_control = {named}"
    if room == "adaptation":
        # In a scenario it is a line of a player: traffic = { kind = "has", ladder = […], adaptation = "…" }.
        return f'ef.mechanism("{kind}").choose(ladder_bps=[1e6, 3e6], buffer_s=20, throughputs_bps=[2e6], last=0)'
    if room == "stack":
        return 'groups.users.tcp = { stack = "linux", congestion_control = "cubic" }'
    if room == "stack profile":
        return f'groups.users.tcp = {{ stack = "{kind}" }}'
    return TABLES.get(kind, "")


def _table(kind: str, more: str) -> str:
    return f'{{ kind = "{kind}"{", " if more else ""}{more} }}'
