"""How the price of a link follows its load: three markers, and ever more users who are willing to pay.

Load-based marking lies on the line it was given; a virtual queue and RED have whatever curve the traffic gives them,
and the fluid model takes theirs from such a study.
"""

import evenflow as ef
from evenflow.marking import marking_curve, marking_study

MARKERS = {
    "load-based": {"kind": "load-based", "target": 0.6, "gain": 0.71},
    "virtual queue": {"kind": "virtual-queue"},
    "RED": {"kind": "red", "variant": "floyd", "max_probability": 0.1, "gentle": True, "action": "mark-everything"},
}
USER = {
    "path": ["bottleneck"],
    "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}},
    "tcp": {"congestion_control": "wtp", "ecn": "per-packet", "ack_every": 1},
}


def scenario(marker: dict) -> ef.Scenario:
    groups = {"light": {**USER, "users": 1}, "heavy": {**USER, "users": 1, "weight": 6}}
    link = {"rate": "10 Mbit/s", "delay": "100 ms", "queue": marker}
    return ef.Scenario({"duration": "120 s", "warmup": "40 s", "links": {"bottleneck": link}, "groups": groups})


def main() -> None:
    figure, (ax,) = ef.plots.figure()
    for name, marker in MARKERS.items():
        curve = marking_curve(marking_study(scenario(marker), flows=(2, 4, 6, 8, 12), replications=3).run())
        curve.draw(ax, label=name)
        rows = curve.frame().select("utilisation", "probability").iter_rows()
        print(f"{name}: " + ", ".join(f"{load:.0%} costs {price:.3f}" for load, price in rows))
    ef.plots.name_axes(ax, "utilisation", "marking probability")
    print(ef.plots.save(figure, "out/examples/marking_curve.svg"))


if __name__ == "__main__":
    main()
