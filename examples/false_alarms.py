"""How often does an audit accuse the honest? 10,480 flows a stack and kind of credit; docs/conex/audits.md."""

from itertools import product
from typing import Any

import evenflow as ef

STACKS = {"rfc": "newreno", "linux": "cubic", "ns2-linux": "cubic"}
CREDITS = ("flight", "window", "half-in-slow-start", "none")
COUNTS = ("sanctioned_flows", "seen_flows", "sanctioned", "arrived")
AUDIT: dict[str, dict[str, Any]] = {"balance": {}, "count": {"order": "count"}, "late": {"delay": "600 ms"}}
AUDIT |= {"ratio": AUDIT["late"] | {"rule": "ratio", "cancelled": "counted"}, "repeats": {"losses": "retransmissions"}}
STAGES = {name: {"kind": "auditor", "action": "class", "class": "be", **audit} for name, audit in AUDIT.items()}
FLOWS = {"users": 80, "traffic": {"kind": "upload", "size": "300 kB", "start": {"uniform": ["0 s", "1 s"]}}}
BULK = {"users": 20, "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "1 s"]}}}
LINES: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {}
for what, trip, rate in product(("marks", "losses"), (10, 30, 100, 300), (0.0001, 0.001, 0.01, 0.03)):
    marks = {"kind": "constant-probability", "probability": rate if what == "marks" else 0, "limit": "10000 packets"}
    line = {"rate": "1 Gbit/s", "delay": f"{trip / 2} ms", "queue": marks, "loss": rate if what == "losses" else 0}
    for where, more in (("", {}), (" reordered", {"jitter": {"normal": f"{trip / 100} ms", "order": "reorder"}})):
        LINES.setdefault(what + where, []).append(("60 s", line | more, FLOWS))
for speed, limit in product((20, 100), (60, 100, 400)):
    red = {"kind": "red", "action": "mark", "limit": f"{limit} packets"}
    line = {"rate": f"{speed} Mbit/s", "delay": "20 ms", "queue": red}
    LINES.setdefault("queue (RED)", []).append(("20 s", line, BULK))

points, names = [], ("stack", "credit", "where")
for stack, credit, where in product(STACKS, CREDITS, LINES):
    for n, ((duration, line, group), window) in enumerate(product(LINES[where], (2, 10))):
        tcp = {"stack": stack, "congestion_control": STACKS[stack], "initial_window": f"{window} packets"}
        tcp |= {"ecn": "accurate", "conex": {"unit": "packets", "credit": credit}}
        honest = {"honest": group | {"path": ["line", *STAGES], "tcp": tcp}}
        document = {"duration": duration, "links": {"line": line}, "stages": STAGES, "groups": honest}
        points.append(ef.Point({"stack": stack, "credit": credit, "where": where, "n": n}, ef.Scenario(document)))
table = ef.run_study(ef.Study(points, seeds=[1]))
print("of 1000 flows, 10000 packets                   ", *(f"{name:>15}" for name in AUDIT))
for row in product(STACKS, CREDITS, LINES):
    part = table.where(dict(zip(names, row, strict=True)))
    of = [[sum(run.metric(f"stages.{audit}.{count}") or 0 for run in part) for count in COUNTS] for audit in AUDIT]
    print("{:9} {:18} {:18}".format(*row), *(f"{1e3 * n[0] / n[1]:7.2f} {1e4 * n[2] / n[3]:7.2f}" for n in of))
