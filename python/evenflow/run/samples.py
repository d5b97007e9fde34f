"""TOML to copy for the scenario's own tables and for TCP profiles. The engine's tables have that of each mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    """TOML for a scenario with a link `bottleneck` and a group `users`; "" where a whole scenario is needed."""
    if table["room"] == "stack profile":
        return f'groups.users.tcp = {{ stack = "{table["kind"]}" }}'
    return str(table.get("example") or TABLES.get(str(table["kind"]), ""))
