"""How often does an audit accuse the honest? 10,240 flows; docs/conex.md. Auditors stand in a row and only count."""

from itertools import product
from typing import Any

import evenflow as ef

TRIPS, RATES, CREDITS = (10, 30, 100, 300), (0.0001, 0.001, 0.01, 0.03), ("flight", "window", "none")
COUNTS = ("sanctioned_flows", "seen_flows", "sanctioned", "arrived")
AUDITS: dict[str, dict[str, Any]] = {"balance": {}, "balance-late": {"delay": "600 ms"}}
AUDITS |= {
    "ratio": {"rule": "ratio", "delay": "600 ms", "cancelled": "counted"},
    "repeats": {"losses": "retransmissions"},
}


def scenario(trip: int, rate: float, what: str, window: int, reordered: bool, credit: str) -> ef.Scenario:
    marks = {"kind": "constant-probability", "probability": rate if what == "marks" else 0, "limit": "10000 packets"}
    line = {"rate": "1 Gbit/s", "delay": f"{trip / 2} ms", "queue": marks, "loss": rate if what == "losses" else 0}
    line |= {"jitter": {"normal": f"{trip / 100} ms", "order": "reorder"}} if reordered else {}
    stages = {name: {"kind": "auditor", "action": "class", "class": "be", **audit} for name, audit in AUDITS.items()}
    tcp = {"ecn": "accurate", "initial_window": f"{window} packets", "conex": {"unit": "packets", "credit": credit}}
    flows = {"kind": "upload", "size": "300 kB", "start": {"uniform": ["0 s", "1 s"]}}
    honest = {"users": 80, "path": ["line", *stages], "traffic": flows, "tcp": tcp}
    return ef.Scenario({"duration": "60 s", "links": {"line": line}, "stages": stages, "groups": {"honest": honest}})


if __name__ == "__main__":
    names = ("trip", "rate", "what", "window", "reordered", "credit")
    grid = list(product(TRIPS, RATES, ("marks", "losses"), (2, 10), (False, True), CREDITS))
    points = [ef.Point(dict(zip(names, point, strict=True)), scenario(*point)) for point in grid]
    table = ef.run_study(ef.Study(points, seeds=[1]))
    print("of 1000 flows, 10000 packets ", *(f"{name:>15}" for name in AUDITS))
    for credit, (name, values) in product(CREDITS, {"what": ("marks", "losses"), "trip": TRIPS, "rate": RATES}.items()):
        for value in values:
            part = table.where({"credit": credit, name: value})
            cells = []
            for audit in AUDITS:
                counts = [sum(run.metric(f"stages.{audit}.{what}") or 0 for run in part) for what in COUNTS]
                cells.append(f"{1e3 * counts[0] / counts[1]:.2f} {1e4 * counts[2] / counts[3]:7.2f}")
            print(f"credit {credit:7} {name:>5} {value!s:>8} ", *(f"{cell:>15}" for cell in cells))
