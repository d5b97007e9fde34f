"""Who gets what a household leaves? Three of them on a line of 12 Mbit/s, shaped by a hierarchical token bucket.

Each is promised a rate. While everyone sends, each gets what it is promised; when the largest is quiet, the others
borrow its share in the ratio of their own, up to their ceilings.
"""

import evenflow as ef

RATES = {"small": 2, "middle": 4, "large": 6}  # Mbit/s
CEILINGS = {"no ceiling": 12, "ceiling of 5 Mbit/s": 5}


def scenario(ceiling: float, active: list[str]) -> ef.Scenario:
    classes = {"line": {"rate": "12 Mbit/s"}}
    for name, rate in RATES.items():
        leaf = {"kind": "sfq", "limit": "60 packets"}
        most = f"{max(rate, ceiling)} Mbit/s"
        classes[name] = {"parent": "line", "rate": f"{rate} Mbit/s", "ceil": most, "leaf": leaf}
    shaper = {"kind": "htb", "per": "class", "classes": classes}
    link = {"rate": "100 Mbit/s", "delay": "10 ms", "queue": {"scheduler": shaper}}
    traffic = {"kind": "bulk", "flows": 4, "start": {"uniform": ["0 s", "1 s"]}}
    late = {**traffic, "start": "1000 s"}  # after the end: quiet
    used = {name: traffic if name in active else late for name in RATES}
    groups = {name: {"users": 1, "class": name, "path": ["line"], "traffic": used[name]} for name in RATES}
    return ef.Scenario({"duration": "30 s", "warmup": "10 s", "links": {"line": link}, "groups": groups})


def main() -> None:
    for words, active in {"Everyone sends": [*RATES], "The large one is quiet": ["small", "middle"]}.items():
        print(f"{words}:")
        for ceiling, most in CEILINGS.items():
            table = ef.run_study(ef.Study([ef.Point({}, scenario(most, active))], seeds=range(1, 6)))
            rates = {name: table.interval(f"groups.{name}.throughput_bps") for name in RATES}
            told = ", ".join(f"{name} {1e-6 * r.mean:.2f} ± {1e-6 * r.half_width:.2f}" for name, r in rates.items())
            print(f"  {ceiling}: {told} Mbit/s")


if __name__ == "__main__":
    main()
