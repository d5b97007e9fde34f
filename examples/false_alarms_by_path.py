"""Where does the default audit accuse the honest? By round trip and rate of marks or losses; docs/conex/audits.md."""

from itertools import product
from typing import Any

import evenflow as ef

STACKS = {"rfc": "newreno", "linux": "cubic", "ns2-linux": "cubic"}
CREDITS = ("flight", "window", "half-in-slow-start", "none")
TRIPS, RATES, WINDOWS = (10, 30, 100, 300), (0.0001, 0.001, 0.01, 0.03), (2, 10)
COUNTS = ("stages.audit.sanctioned_flows", "stages.audit.seen_flows")
AUDIT = {"kind": "auditor", "action": "class", "class": "be"}
FLOWS = {"users": 80, "traffic": {"kind": "upload", "size": "300 kB", "start": {"uniform": ["0 s", "1 s"]}}}

names, points = ("what", "credit", "trip", "rate", "stack", "window"), []
for of in product(("marks", "losses"), CREDITS, TRIPS, RATES, STACKS, WINDOWS):
    what, credit, trip, rate, stack, window = of
    marks = {"kind": "constant-probability", "probability": rate if what == "marks" else 0, "limit": "10000 packets"}
    line = {"rate": "1 Gbit/s", "delay": f"{trip / 2} ms", "queue": marks, "loss": rate if what == "losses" else 0}
    tcp: dict[str, Any] = {"stack": stack, "congestion_control": STACKS[stack], "initial_window": f"{window} packets"}
    tcp |= {"ecn": "accurate", "conex": {"unit": "packets", "credit": credit}}
    groups = {"honest": FLOWS | {"path": ["line", "audit"], "tcp": tcp}}
    document = {"duration": "60 s", "links": {"line": line}, "stages": {"audit": AUDIT}, "groups": groups}
    points.append(ef.Point(dict(zip(names, of, strict=True)), ef.Scenario(document)))
table = ef.run_study(ef.Study(points, seeds=[1]))
print(f"{'flows accused of those seen':32}", *(f"{rate:>11}" for rate in RATES))
for what, credits, trip in product(("marks", "losses"), (CREDITS[:3], CREDITS[3:]), TRIPS):
    cells = []
    for rate in RATES:
        runs = [run for credit in credits for run in table.where(what=what, credit=credit, trip=trip, rate=rate)]
        accused, seen = (sum(run.metric(name) or 0 for run in runs) for name in COUNTS)
        cells.append(f"{accused:.0f} of {seen:.0f}")
    given = "credit" if len(credits) > 1 else "no credit"
    print(f"{what:9} {given:11} {trip:6} ms ", *(f"{cell:>11}" for cell in cells))
