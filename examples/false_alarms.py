"""How often does an audit accuse the honest? 10,480 flows of each stack and kind of credit; docs/conex.md. Auditors only count."""

from itertools import product
from typing import Any

import evenflow as ef

STACKS, CREDITS = {"rfc": "newreno", "linux": "cubic", "ns2-linux": "cubic"}, ("flight", "window", "half-in-slow-start", "none")
COUNTS = ("sanctioned_flows", "seen_flows", "sanctioned", "arrived")
AUDITS: dict[str, dict[str, Any]] = {"balance": {}, "count": {"order": "count"}, "late": {"delay": "600 ms"}}
AUDITS |= {"ratio": {"rule": "ratio", "delay": "600 ms"}, "repeats": {"losses": "retransmissions"}}
FLOWS = {"users": 80, "traffic": {"kind": "upload", "size": "300 kB", "start": {"uniform": ["0 s", "1 s"]}}}
LINES: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {}
for what, trip, rate in product(("marks", "losses"), (10, 30, 100, 300), (0.0001, 0.001, 0.01, 0.03)):
    marks = {"kind": "constant-probability", "probability": rate if what == "marks" else 0, "limit": "10000 packets"}
    line = {"rate": "1 Gbit/s", "delay": f"{trip / 2} ms", "queue": marks, "loss": rate if what == "losses" else 0}
    for where, more in (("", {}), (" reordered", {"jitter": {"normal": f"{trip / 100} ms", "order": "reorder"}})):
        LINES.setdefault(what + where, []).append(("60 s", line | more, FLOWS))
for speed, limit in product((20, 100), (60, 100, 400)):
    line = {"rate": f"{speed} Mbit/s", "delay": "20 ms", "queue": {"kind": "red", "action": "mark", "limit": f"{limit} packets"}}
    bulk = {"users": 20, "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "1 s"]}}}
    LINES.setdefault("queue (RED)", []).append(("20 s", line, bulk))


def point(labels: dict[str, Any], duration: str, line: dict[str, Any], group: dict[str, Any], window: int) -> ef.Point:
    stages = {name: {"kind": "auditor", "action": "class", "class": "be", **audit} for name, audit in AUDITS.items()}
    tcp = {"stack": labels["stack"], "congestion_control": STACKS[labels["stack"]], "initial_window": f"{window} packets"}
    tcp |= {"ecn": "accurate", "conex": {"unit": "packets", "credit": labels["credit"]}}
    groups = {"honest": group | {"path": ["line", *stages], "tcp": tcp}}
    return ef.Point(labels, ef.Scenario({"duration": duration, "links": {"line": line}, "stages": stages, "groups": groups}))


if __name__ == "__main__":
    kinds = [dict(zip(("stack", "credit", "where"), kind, strict=True)) for kind in product(STACKS, CREDITS, LINES)]
    grid = [point(k | {"n": n, "window": w}, *one, w) for k in kinds for n, one in enumerate(LINES[k["where"]]) for w in (2, 10)]
    table = ef.run_study(ef.Study(grid, seeds=[1]))
    print("of 1000 flows, 10000 packets                   ", *(f"{name:>15}" for name in AUDITS))
    for kind in kinds:
        of = {a: [sum(run.metric(f"stages.{a}.{c}") or 0 for run in table.where(kind)) for c in COUNTS] for a in AUDITS}
        cells = [f"{1e3 * n[0] / n[1]:.2f} {1e4 * n[2] / n[3]:7.2f}" for n in of.values()]
        print("{stack:9} {credit:18} {where:18}".format(**kind), *(f"{cell:>15}" for cell in cells))
