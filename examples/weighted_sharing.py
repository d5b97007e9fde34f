"""Four users who pay for one, two, four and eight shares, under ABC and under DRR.

A group's `weight` multiplies its meter's reference rate (ABC) and its quantum (DRR).
"""

import evenflow as ef

WEIGHTS = (1, 2, 4, 8)
METER = {"kind": "activity-meter", "per": "user"}
SCHEMES = {
    "ABC": {"kind": "activity-aqm", "limit": "24 packets"},
    "DRR per user": {"limit": "96 packets", "scheduler": {"kind": "drr", "per": "user"}},
}


def scenario(queue: dict) -> ef.Scenario:
    user = {
        "users": 1,
        "path": ["meter", "bottleneck"],
        "traffic": {"kind": "bulk", "flows": 2, "start": {"uniform": ["0 s", "5 s"]}},
        "tcp": {"stack": "ns3.26"},
    }
    groups = {f"weight-{weight}": {**user, "weight": weight} for weight in WEIGHTS}
    link = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": queue}
    tree = {"duration": "120 s", "warmup": "20 s", "links": {"bottleneck": link}, "groups": groups}
    return ef.Scenario({**tree, "stages": {"meter": METER}})


def main() -> None:
    fair = 10.0 / sum(WEIGHTS)
    for name, queue in SCHEMES.items():
        table = ef.run_study(ef.Study([ef.Point({}, scenario(queue))], seeds=range(1, 6)))
        print(f"{name} (one fair share is {fair:.2f} Mbit/s)")
        for weight in WEIGHTS:
            rate = table.interval(f"groups.weight-{weight}.throughput_bps")
            print(f"  weight {weight}: {rate.mean / 1e6:.2f} ± {rate.half_width / 1e6:.2f} Mbit/s")


if __name__ == "__main__":
    main()
